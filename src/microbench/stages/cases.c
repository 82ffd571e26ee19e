#include "microbench/stages/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool bears_on(const MdBenchStage *stage, const MdVariant *row) {
    for (int k = 0; stage->stages[k]; k++)
        if (strcmp(stage->stages[k], row->stage) == 0) return true;
    return false;
}

/* Sets `section.key=word`. */
static int set_value(MdConfig *config, const char *value) {
    char name[64];
    const char *equals = strchr(value, '=');
    snprintf(name, sizeof name, "%.*s", (int)(equals - value), value);
    const int option = md_option_by_name(name);
    md_require(option >= 0);
    const char *const *words = md_switch_words(option);
    int word = 0;
    while (words[word] && strcmp(words[word], equals + 1) != 0) word++;
    md_require(words[word]);
    md_switch_set(config, option, word);
    return option;
}

/* All problems as one line. */
static void join_errors(const MdErrors *errors, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (int k = 0; k < md_errors_count(errors) && length < size; k++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", k ? "; " : "", md_errors_text(errors, k));
}

/* The switches that differ from the base, except the one that was set; whether that one does. */
static bool compare(MdBenchCase *c, const MdConfig *base, int option) {
    size_t length = 0;
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (!md_option_is_switch(k) || k == option) continue;
        const int value = md_switch_value(&c->config, k);
        if (value == md_switch_value(base, k) || length >= sizeof c->with) continue;
        length += (size_t)snprintf(c->with + length, sizeof c->with - length, "%s%s=%s", length ? " " : "",
                                   md_option_name(k), md_switch_words(k)[value]);
    }
    return length > 0 || md_switch_value(&c->config, option) != md_switch_value(base, option);
}

/* All pairs take N^2 tests: more than these are minutes a call, on one core and on a GPU. */
static const double most_pairs_host = 2e10, most_pairs_device = 2e12;

static bool takes_too_long(const MdRecord *r, const char *variant) {
    const double n = (double)r->plan.n_atoms;
    const bool all_pairs =
        strncmp(variant, "force.kernel=pairs", 18) == 0 || strncmp(variant, "neighbor.search=brute", 21) == 0;
    return all_pairs && n * n > (r->machine.device_total_bytes ? most_pairs_device : most_pairs_host);
}

static void resolve(const MdRecord *r, MdBenchCase *c) {
    c->config = c->asked;
    MdErrors *errors = md_errors_create();
    if (r->ops->resolve(&c->config, &r->plan, NULL, errors) != MD_OK) {
        c->state = MD_BENCH_REFUSED;
        join_errors(errors, c->reason, sizeof c->reason);
    }
    md_errors_destroy(errors);
}

/* The value with the force kernel of the base, where it has an effect with that; else with the choice of auto. */
static int resolve_value(const MdRecord *r, const MdBenchCase *base, const char *variant, MdBenchCase *c) {
    *c = (MdBenchCase){.variant = variant, .asked = base->asked};
    const int option = set_value(&c->asked, variant);
    if (option != MD_OPTION_force_kernel) {
        c->asked.force_kernel = base->config.force_kernel;
        resolve(r, c);
        char *lack = md_option_lack(&c->config, option);
        const bool serves = c->state != MD_BENCH_REFUSED && !lack;
        free(lack);
        if (serves) return option;
    }
    *c = (MdBenchCase){.variant = variant, .asked = base->asked};
    set_value(&c->asked, variant);
    resolve(r, c);
    return option;
}

static void make_case(const MdRecord *r, const MdBenchStage *stage, const MdBenchCase *base, const char *variant,
                      MdBenchCase *c) {
    const int option = resolve_value(r, base, variant, c);
    if (c->state == MD_BENCH_REFUSED) return;
    char *lack = md_option_lack(&c->config, option);
    if (lack) {
        c->state = MD_BENCH_MOOT;
        snprintf(c->reason, sizeof c->reason, "needs %s", lack);
    } else if (!compare(c, &base->config, option)) {
        c->state = MD_BENCH_SAME;
    } else if (stage->only_moves && c->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK &&
               base->config.neighbor_rebuild != MD_REBUILD_HOST_CHECK) {
        c->state = MD_BENCH_SKIPPED;
        snprintf(c->reason, sizeof c->reason, "the host waits for its check after the move: see --bench step");
    } else if (stage->only_moves && c->config.memory_allocation != MD_ALLOCATION_ONCE) {
        c->state = MD_BENCH_SKIPPED;
        snprintf(c->reason, sizeof c->reason,
                 "forces that live for one step cannot serve every call: see --bench step");
    } else if (takes_too_long(r, variant)) {
        c->state = MD_BENCH_SKIPPED;
        snprintf(c->reason, sizeof c->reason, "%.1e pairs a call: take fewer atoms", pow((double)r->plan.n_atoms, 2));
    }
    free(lack);
}

MdBenchCases md_bench_cases(const MdRecord *r, const MdBenchStage *stage) {
    MdVariantTable table = r->ops->variants();
    MdBenchCases cases = {1, md_alloc((size_t)table.n_rows + 1, sizeof *cases.rows, "cases of the benchmark")};
    MdBenchCase *base = &cases.rows[0];
    *base = (MdBenchCase){.variant = "base", .asked = *r->asked};
    if (!stage->whole_steps) { /* a part is issued separately */
        base->asked.launch_graph = MD_GRAPH_OFF;
        base->asked.launch_persistent = MD_PERSISTENT_OFF;
    }
    if (stage->only_moves) base->asked.memory_allocation = MD_ALLOCATION_ONCE;
    resolve(r, base);
    for (int k = 0; k < table.n_rows; k++)
        if (table.rows[k].value[0] && bears_on(stage, &table.rows[k]))
            make_case(r, stage, base, table.rows[k].value, &cases.rows[cases.n++]);
    return cases;
}

void md_bench_cases_free(MdBenchCases *cases) {
    md_free(cases->rows);
    *cases = (MdBenchCases){0};
}
