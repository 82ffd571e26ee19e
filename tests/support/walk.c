#include "walk.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "integrate/verlet.h"

/* --- the switches, from the table --------------------------------------------------------------------------------- */

#define WORD(name, word) word,
#define OPTION(section, key, type, value, low, high, set, unit, kind, help)                                            \
    static const char *const words_##section##_##key[] = {MD_CHOICES_##set(WORD) NULL};
#include "deck/options.def"
#undef OPTION

enum { IS_INT, IS_INT_AUTO, IS_REAL, IS_REAL_AUTO, IS_CHOICE, IS_CHOICES, IS_INTS, IS_REALS, IS_TEXT, IS_PATH };

static const struct Option {
    const char *name;
    int type;
    MdOptionKind kind;
    size_t offset;
    const char *const *words;
} options[] = {
#define OPTION(section, key, type, value, low, high, set, unit, kind, help)                                            \
    {#section "." #key, IS_##type, MD_KIND_##kind, offsetof(MdConfig, section##_##key), words_##section##_##key},
#include "deck/options.def"
#undef OPTION
};

/* A switch: a choice that may not change the physics. Which backend is walked is the caller's choice. */
static bool is_switch(const struct Option *option) {
    return option->type == IS_CHOICE && option->kind == MD_KIND_PERFORMANCE && strcmp(option->name, "run.backend") != 0;
}

static const struct Option *switch_at(int k) {
    for (int row = 0; row < MD_N_OPTIONS; row++)
        if (is_switch(&options[row]) && k-- == 0) return &options[row];
    return NULL;
}

static int *choice_field(MdConfig *config, const struct Option *option) {
    return (int *)(void *)((char *)config + option->offset);
}

static bool has_word(const char *list, const char *word, char separator) {
    size_t length = strlen(word);
    for (const char *at = list; at && (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == separator) && (at[length] == separator || at[length] == '\0')) return true;
    return false;
}

static void set_backend(MdConfig *config, const char *name) {
    for (int k = 0; words_run_backend[k]; k++)
        if (strcmp(words_run_backend[k], name) == 0) config->run_backend = k;
}

/* --- backends ----------------------------------------------------------------------------------------------------- */

static bool can_run(const MdBackendOps *ops, const MdConfig *base) {
    MdConfig config = *base;
    MdMachine machine;
    MdErrors *errors = md_errors_create();
    set_backend(&config, ops->name);
    const char *wanted = getenv("MDMINI_TEST_BACKENDS");
    if (wanted && !has_word(wanted, ops->name, ',')) {
        printf("backend %s left out: MDMINI_TEST_BACKENDS=%s\n", ops->name, wanted);
        md_errors_destroy(errors);
        return false;
    }
    bool runs = ops->probe(&config, &machine, errors) == MD_OK;
    if (runs) printf("backend %s: %s, %s\n", ops->name, machine.name, machine.details);
    if (!runs) {
        const char *why = md_errors_count(errors) ? md_errors_text(errors, 0) : "no reason given";
        printf("backend %s SKIPPED: %s\n", ops->name, why);
        if (has_word(wanted, ops->name, ',')) {
            check_context("MDMINI_TEST_BACKENDS lists %s", ops->name);
            CHECK(!"a backend that must run");
        }
    }
    md_errors_destroy(errors);
    return runs;
}

const MdBackendOps *walk_backend(const MdBackendOps *previous, const MdConfig *base) {
    const MdBackendOps *const *ops = md_backends();
    if (!previous) { /* a listed backend that is not even built in */
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%s", getenv("MDMINI_TEST_BACKENDS") ? getenv("MDMINI_TEST_BACKENDS") : "");
        for (char *name = strtok(wanted, ","); name; name = strtok(NULL, ",")) {
            check_context("MDMINI_TEST_BACKENDS lists %s", name);
            CHECK(md_backend_find(name) != NULL);
        }
    } else {
        while (*ops && *ops != previous) ops++;
        if (*ops) ops++;
    }
    for (; *ops; ops++)
        if (can_run(*ops, base)) return *ops;
    return NULL;
}

/* --- the product -------------------------------------------------------------------------------------------------- */

void walk_begin(Walk *walk, const MdBackendOps *ops, const MdConfig *base, const char *fixed) {
    memset(walk, 0, sizeof *walk);
    walk->ops = ops;
    walk->base = *base;
    walk->fixed = fixed;
    set_backend(&walk->base, ops->name);
    for (int k = 0; switch_at(k); k++) {
        md_require(k < WALK_MAX_SWITCHES);
        walk->choice[k] = has_word(fixed, switch_at(k)->name, ' ') ? *choice_field(&walk->base, switch_at(k)) : 0;
    }
}

/* Like an odometer, the first switch fastest. */
static bool advance(Walk *walk) {
    if (!walk->started) return walk->started = true;
    for (int k = 0; switch_at(k); k++) {
        const struct Option *option = switch_at(k);
        if (has_word(walk->fixed, option->name, ' ')) continue;
        if (option->words[++walk->choice[k]]) return true;
        walk->choice[k] = 0;
    }
    return false;
}

static void check_coverage(const Walk *walk) {
    for (int k = 0; switch_at(k); k++)
        for (int w = 0; switch_at(k)->words[w]; w++) {
            if (has_word(walk->fixed, switch_at(k)->name, ' ')) continue;
            check_context("%s never ran %s=%s", walk->ops->name, switch_at(k)->name, switch_at(k)->words[w]);
            CHECK(walk->ran[k][w]);
        }
}

bool walk_next(Walk *walk) {
    while (advance(walk)) {
        walk->config = walk->base;
        int length = snprintf(walk->name, sizeof walk->name, "%s", walk->ops->name);
        for (int k = 0; switch_at(k); k++) {
            *choice_field(&walk->config, switch_at(k)) = walk->choice[k];
            length += snprintf(walk->name + length, sizeof walk->name - (size_t)length, " %s=%s", switch_at(k)->name,
                               switch_at(k)->words[walk->choice[k]]);
        }
        MdMachine machine;
        MdErrors *errors = md_errors_create();
        bool accepted = walk->ops->probe(&walk->config, &machine, errors) == MD_OK;
        if (!accepted) printf("refused: %s: %s\n", walk->name, md_errors_text(errors, 0));
        md_errors_destroy(errors);
        if (!accepted) continue;
        for (int k = 0; switch_at(k); k++) walk->ran[k][walk->choice[k]] = true;
        check_context("%s", walk->name);
        return true;
    }
    check_coverage(walk);
    return false;
}

/* Whether the combination has all the values that select this variant. */
static bool is_selected(const Walk *walk, const MdVariant *variant) {
    char switches[256];
    snprintf(switches, sizeof switches, "%s", variant->switches);
    for (char *word = strtok(switches, " "); word; word = strtok(NULL, " "))
        if (!has_word(walk->name, word, ' ')) return false;
    return true;
}

bool walk_deterministic(const Walk *walk) {
    MdVariantTable table = walk->ops->variants();
    bool deterministic = true;
    for (int row = 0; row < table.n_rows; row++) {
        int n_selected = 0;
        for (int other = 0; other < table.n_rows; other++)
            if (strcmp(table.rows[row].stage, table.rows[other].stage) == 0)
                n_selected += is_selected(walk, &table.rows[other]);
        if (!CHECK(n_selected == 1)) printf("stage %s has %d variants for this\n", table.rows[row].stage, n_selected);
        if (is_selected(walk, &table.rows[row]) && !table.rows[row].deterministic) deterministic = false;
    }
    return deterministic;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

bool walk_ok(const WalkRun *run, MdStatus status) {
    if (CHECK(status == MD_OK)) return true;
    md_errors_print(run->errors, stdout);
    return false;
}

bool walk_create(WalkRun *run, const MdBackendOps *ops, const MdConfig *config, const MdSystem *system) {
    *run = (WalkRun){.ops = ops, .errors = md_errors_create()};
    if (walk_ok(run, ops->create(&run->context, config, system, run->errors))) return true;
    walk_destroy(run);
    return false;
}

void walk_destroy(WalkRun *run) {
    if (run->context) run->ops->destroy(run->context);
    md_errors_destroy(run->errors);
    *run = (WalkRun){0};
}

bool walk_prepare(const WalkRun *run) { return walk_ok(run, md_verlet_start(run->ops, run->context, true)); }

bool walk_steps(const WalkRun *run, int64_t first, int64_t n) {
    for (int64_t step = first; step < first + n; step++)
        if (!walk_ok(run, md_verlet_step(run->ops, run->context, step, step == first + n - 1))) return false;
    return true;
}
