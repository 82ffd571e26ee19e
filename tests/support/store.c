#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"

static uint64_t section_bytes(uint64_t row_bytes, int64_t n_rows) {
    return row_bytes * (n_rows == MD_STATE_COMMON ? 1 : (uint64_t)n_rows);
}

static MdStatus save_begin(MdState *state, const char *name, uint64_t row_bytes, int64_t n_rows) {
    Store *store = (Store *)state;
    const uint64_t n_bytes = section_bytes(row_bytes, n_rows);
    Section *section = &store->sections[store->n_sections++];
    snprintf(section->name, sizeof section->name, "%s", name);
    section->begin = store->n;
    section->n_bytes = n_bytes;
    return MD_OK;
}

static MdStatus save_move(MdState *state, void *data, uint64_t n_bytes) {
    Store *store = (Store *)state;
    if (store->n + n_bytes > store->room) {
        store->room = 2 * (store->n + n_bytes);
        store->bytes = realloc(store->bytes, store->room);
        md_require(store->bytes);
    }
    memcpy(store->bytes + store->n, data, n_bytes);
    store->n += n_bytes;
    return MD_OK;
}

static MdStatus load_begin(MdState *state, const char *name, uint64_t row_bytes, int64_t n_rows) {
    Store *store = (Store *)state;
    const uint64_t n_bytes = section_bytes(row_bytes, n_rows);
    for (int k = 0; k < store->n_sections; k++) {
        if (strcmp(store->sections[k].name, name) != 0) continue;
        store->at = store->sections[k].begin;
        return CHECK(store->sections[k].n_bytes == n_bytes) ? MD_OK : MD_ERROR_INTERNAL;
    }
    return CHECK(false && "a section that was not saved") ? MD_OK : MD_ERROR_INTERNAL;
}

static MdStatus load_move(MdState *state, void *data, uint64_t n_bytes) {
    Store *store = (Store *)state;
    memcpy(data, store->bytes + store->at, n_bytes);
    store->at += n_bytes;
    return MD_OK;
}

bool store_save(Store *store, const WalkRun *run, int64_t step) {
    *store = (Store){.state = {.step = step, .begin = save_begin, .move = save_move}};
    bool ok = walk_ok(run, run->ops->save(run->context, &store->state));
    size_t n_bytes = 0;
    for (int k = 0; k < store->n_sections; k++) n_bytes += store->sections[k].n_bytes;
    return ok && CHECK(n_bytes == store->n); /* all sections are full */
}

bool store_load(Store *store, const WalkRun *run, const MdSystem *system) {
    const size_t n = (size_t)system->n_atoms;
    int32_t *ids = md_alloc(n, sizeof *ids, "ids"), *type = md_alloc(n, sizeof *type, "types of rows");
    bool ok = load_begin(&store->state, "id", sizeof *ids, system->n_atoms) == MD_OK &&
              load_move(&store->state, ids, n * sizeof *ids) == MD_OK;
    for (size_t i = 0; ok && i < n; i++) type[i] = system->type[ids[i]];
    store->state.loading = store->state.same_list = true;
    store->state.fixed[MD_COLUMN_type] = type;
    store->state.path = "a state in memory";
    store->state.errors = run->errors;
    store->state.begin = load_begin;
    store->state.move = load_move;
    ok = ok && walk_ok(run, run->ops->load(run->context, &store->state));
    md_free(ids);
    md_free(type);
    return ok;
}

void store_check_same(const Store *a, const Store *b) {
    CHECK(a->n_sections == b->n_sections && a->n == b->n);
    for (int k = 0; k < a->n_sections && a->n == b->n; k++) {
        const Section *section = &a->sections[k];
        if (!CHECK(memcmp(a->bytes + section->begin, b->bytes + section->begin, section->n_bytes) == 0))
            printf("section %s differs\n", section->name);
    }
}

void store_free(Store *store) {
    free(store->bytes);
    *store = (Store){0};
}
