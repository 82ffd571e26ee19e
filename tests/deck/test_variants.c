/* The check of switches against a table of variants, on a table made for it, where every answer is known; and what is
 * taken for granted of the tables of the backends themselves. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backends/backends.h"
#include "base/memory.h"
#include "check.h"
#include "deck/reader.h"

static const MdVariant rows[] = {
    {"force", "force.kernel=list", "", "", 1, 10, 4, 20, "-"},
    {"force", "force.kernel=cell", "neighbor.rebuild=every run.precision=single|mixed", "", 2, 0, 0, 0, "-"},
    {"force", "force.unroll=1", "", "", 0, 0, 0, 0, "-"},
    {"force", "force.unroll=4", "", "force.arithmetic=ieee", 0, 0, 0, 0, "-"},
    {"neighbor", "neighbor.write=atomic", "", "neighbor.sorted=on", 0, 0, 8, 0, "-"},
    {"neighbor", "neighbor.write=nonatomic", "neighbor.list=full", "", 0, 0, 4, 0, "-"},
    {"gather", "", "", "", 60, 0, 0, 0, "-"},
    {"integrate", "neighbor.rebuild=every", "", "", 192, 18, 0, 0, "-"},
    {"integrate", "neighbor.rebuild=device-check", "", "", 192, 18, 0, 0, "-"},
    {"step", "launch.graph=off", "", "", 0, 0, 0, 0, "-"},
    {"step", "launch.graph=on", "", "", 0, 0, 0, 0, "-"},
};
static const MdVariantTable table = {rows, sizeof rows / sizeof rows[0]};

static MdErrors *errors;

/* The deck of one text and, on top of it, one override (NULL: none), without its own cross checks in the way. */
static MdDeck *read_deck(const char *text, const char *override) {
    MdErrors *own = md_errors_create();
    MdDeck *deck = md_deck_create();
    md_deck_read_text(deck, "deck.txt", "/nowhere", text, strlen(text), own);
    if (override) {
        deck->n_layers++;
        md_deck_read_override(deck, override, own);
    }
    md_deck_check(deck, own);
    check_context("%s %s", text, override ? override : "");
    for (int k = 0; k < md_errors_count(own); k++) printf("    %s\n", md_errors_text(own, k));
    md_require(md_errors_count(own) == 0);
    md_errors_destroy(own);
    return deck;
}

/* Whether status and messages say the same: nothing, or one message with all the words. */
static bool said(MdStatus status, const char *const *words) {
    int n = md_errors_count(errors);
    bool good = words[0] ? status == MD_ERROR_INPUT && n == 1 : status == MD_OK && n == 0;
    for (int k = 0; good && words[k]; k++) good = strstr(md_errors_text(errors, 0), words[k]) != NULL;
    for (int k = 0; !good && k < n; k++) printf("    said: %s\n", md_errors_text(errors, k));
    md_errors_destroy(errors);
    errors = md_errors_create();
    return good;
}

static void test_check(void) {
    static const struct {
        const char *deck, *words[5];
    } cases[] = {
        {"[force]\nkernel = list\n", {NULL}},
        {"[force]\nkernel = auto\n", {NULL}}, /* resolve's to replace */
        {"[force]\nkernel = cell\n[neighbor]\nrebuild = every\n", {NULL}},
        {"[force]\nkernel = pairs\n", {"force.kernel=pairs: the test backend does not have it", "work here: list"}},
        {"[force]\nunroll = 8\nkernel = list\n",
         {"force.unroll=8: the test backend does not have it", "values that work here: 1, 4"}},
        {"[force]\nkernel = cell\n",
         {"force.kernel=cell: needs neighbor.rebuild=every, but neighbor.rebuild is device-check: change that, or take "
          "force.kernel=list"}},
        {"[force]\nkernel = cell\n[run]\nprecision = double\n",
         {"needs neighbor.rebuild=every and run.precision=single or mixed", "neighbor.rebuild is device-check",
          "run.precision is double", "or take force.kernel=list"}},
        {"[neighbor]\nlist = half\n", {"neighbor.write=nonatomic: needs neighbor.list=full", "neighbor.write=atomic"}},
        {"[neighbor]\nlist = half\nwrite = atomic\n", {NULL}},
        /* Rows have no write to check where there are no rows. */
        {"[force]\nkernel = cell\n[neighbor]\nrebuild = every\n[memory]\nspace = mapped\n", {NULL}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        MdDeck *deck = read_deck(cases[k].deck, NULL);
        CHECK(said(md_variants_check(table, "test", md_deck_config(deck), errors), cases[k].words));
        md_deck_destroy(deck);
    }
    /* A switch without effect is not checked: half rows are nothing that a kernel of cells could mind. */
    MdDeck *deck = read_deck("[force]\nkernel = cell\n[neighbor]\nrebuild = every\n", NULL);
    MdConfig config = *md_deck_config(deck);
    config.neighbor_list = MD_LIST_HALF;
    CHECK(said(md_variants_check(table, "test", &config, errors), (const char *const[]){NULL}));
    md_deck_destroy(deck);
}

static void test_selected(void) {
    MdDeck *deck = read_deck("[neighbor]\nwrite = atomic\n[force]\nkernel = list\narithmetic = ieee\n", NULL);
    MdConfig config = *md_deck_config(deck);
    char text[64];
    CHECK(!md_variants_deterministic(table, &config)); /* atomic, not sorted */
    config.neighbor_sorted = MD_ON;
    CHECK(md_variants_deterministic(table, &config));
    config.force_arithmetic = MD_ARITHMETIC_FAST;
    CHECK(!md_variants_deterministic(table, &config));
    config.force_unroll = MD_UNROLL_1;
    CHECK(md_variants_deterministic(table, &config));
    md_variants_describe(table, "neighbor", &config, text, sizeof text);
    CHECK(strcmp(text, "write=atomic") == 0);
    md_variants_describe(table, "force", &config, text, sizeof text);
    CHECK(strcmp(text, "kernel=list unroll=1") == 0);
    MdWork force = md_variants_work(table, "force", &config, 100, 1000),
           neighbor = md_variants_work(table, "neighbor", &config, 100, 1000),
           gather = md_variants_work(table, "gather", &config, 100, 1000);
    CHECK(force.bytes == 4100 && force.flops == 21000 && neighbor.bytes == 8000 && gather.bytes == 6000);
    MdWork step = md_variants_work(table, "step", &config, 100, 1000); /* force and integrate */
    CHECK(step.bytes == 4100 + 19200 && step.flops == 21000 + 1800);
    for (int k = 0; k < 3; k++) { /* operations are those of Lennard-Jones */
        MdConfig other = config;
        other.potential_form = k == 0 ? MD_POTENTIAL_MORSE : k == 1 ? MD_POTENTIAL_LJ : MD_POTENTIAL_WCA;
        other.potential_shift = k == 1 ? MD_SHIFT_SWITCH : MD_SHIFT_FORCE;
        force = md_variants_work(table, "force", &other, 100, 1000);
        step = md_variants_work(table, "step", &other, 100, 1000);
        CHECK(force.bytes == 4100 && step.bytes == 4100 + 19200);
        CHECK(k == 2 ? force.flops == 21000 && step.flops == 21000 + 1800 : isnan(force.flops) && isnan(step.flops));
    }

    config.force_kernel = MD_KERNEL_CELL; /* no rows: what shapes them is not selected */
    config.neighbor_sorted = MD_OFF;
    CHECK(md_variants_deterministic(table, &config));
    md_variants_describe(table, "neighbor", &config, text, sizeof text);
    CHECK(text[0] == '\0');
    CHECK(md_variants_work(table, "neighbor", &config, 100, 1000).bytes == 0);
    md_deck_destroy(deck);
}

/* Without the machine: `auto` may become what is needed, and what is given is held against what is given. */
static void test_check_open(void) {
    static const MdVariant open_rows[] = {
        {"force", "force.kernel=list", "", "", 0, 0, 0, 0, "-"},
        {"force", "force.kernel=cell", "memory.sort=cell|brick neighbor.rebuild=every", "", 0, 0, 0, 0, "-"},
        {"sort", "memory.sort=none", "", "", 0, 0, 0, 0, "-"},
        {"sort", "memory.sort=cell", "", "", 0, 0, 0, 0, "-"},
    };
    static const MdVariantTable open_table = {open_rows, sizeof open_rows / sizeof open_rows[0]};
    static const struct {
        const char *deck, *words[4];
    } cases[] = {
        {"[force]\nkernel = auto\n", {NULL}},
        {"[force]\nkernel = cell\n[memory]\nsort = auto\n[neighbor]\nrebuild = every\n", {NULL}},
        {"[force]\nkernel = cell\n[memory]\nsort = none\n[neighbor]\nrebuild = every\n",
         {"needs memory.sort=cell or brick, but memory.sort is none", "or take force.kernel=list"}},
        {"[force]\nkernel = cell\n[memory]\nsort = auto\n",
         {"force.kernel=cell: needs neighbor.rebuild=every, but neighbor.rebuild is device-check:"}},
        {"[memory]\nsort = hilbert\n", {"memory.sort=hilbert: the test backend does not have it"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        MdDeck *deck = read_deck(cases[k].deck, NULL);
        check_context("open: %s", cases[k].deck);
        CHECK(said(md_variants_check_open(open_table, "test", md_deck_config(deck), errors), cases[k].words));
        md_deck_destroy(deck);
    }
}

/* Switches that the backend lacks: this table has no memory.space. */
static void test_given(void) {
    CHECK(md_variants_lack(table, MD_OPTION_memory_space) && !md_variants_lack(table, MD_OPTION_force_kernel));
    CHECK(!md_variants_lack(table, MD_OPTION_run_precision) && !md_variants_lack(table, MD_OPTION_neighbor_skin));
    static const struct {
        const char *deck, *override, *words[4];
    } cases[] = {
        {"[memory]\nspace = mapped\n", NULL, {NULL}},
        {"[memory]\nspace = mapped\n", "run.backend=cpu", {NULL}},
        {"[run]\nbackend = cpu\n", NULL, {NULL}},
        {"[run]\nbackend = cpu\n[memory]\nspace = mapped\n",
         NULL,
         {"deck.txt:4: memory.space: has no effect: the test backend has no such switch", "(run.backend: deck.txt:2)",
          "leave it out"}},
        {"[run]\nbackend = cpu\n", "memory.space=mapped", {"command line: memory.space: has no effect"}},
        {"[run]\nbackend = cpu\n", "memory.space=device", {NULL}}, /* the default */
        {"[run]\nbackend = cpu\n", "launch.bounds=off", {NULL}},   /* without them it runs anyhow */
        {"[run]\nbackend = cpu\n[memory]\nspace = device\n", "run.backend=auto", {NULL}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        MdDeck *deck = read_deck(cases[k].deck, cases[k].override);
        CHECK(said(md_variants_check_given(table, "test", deck, errors), cases[k].words));
        md_deck_destroy(deck);
    }
}

/* What auto became: list rows are there, or not. */
static void test_grounds(void) {
    static const struct {
        const char *deck;
        int kernel;
        const char *words[3];
    } cases[] = {
        {"[neighbor]\nwrite = atomic\n", MD_KERNEL_LIST, {NULL}},
        {"[neighbor]\nwrite = nonatomic\n", MD_KERNEL_CELL, {NULL}}, /* the default: no other run was asked for */
        {"[neighbor]\nwrite = atomic\n",
         MD_KERNEL_CELL,
         {"deck.txt:2: neighbor.write: has no effect: it needs force.kernel = list or list-split or auto"}},
        {"[force]\npartial_sums = atomic\n", MD_KERNEL_LIST, {NULL}}, /* the table has no such switch at all */
        {"[launch]\ngraph = off\n", MD_KERNEL_LIST, {NULL}},          /* a resident kernel is no graph either */
        {"[launch]\ngraph = on\n", MD_KERNEL_LIST, {"deck.txt:2: launch.graph: has no effect: it needs launch.pers"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        MdDeck *deck = read_deck(cases[k].deck, NULL);
        MdConfig resolved = *md_deck_config(deck);
        resolved.force_kernel = cases[k].kernel;
        resolved.launch_persistent = MD_PERSISTENT_ON;
        CHECK(said(md_variants_check_grounds(table, deck, &resolved, errors), cases[k].words));
        md_deck_destroy(deck);
    }
}

/* --- the tables of the backends ----------------------------------------------------------------------------------- */

static const char stages[] = " memory sort neighbor force integrate reduce gather halo output launch step ";

static void test_table(const char *backend, MdVariantTable own) {
    MdDeck *deck = read_deck("# defaults\n", NULL);
    CHECK(own.n_rows > 0);
    for (int k = 0; k < own.n_rows; k++) {
        const MdVariant *row = &own.rows[k];
        char *stage = md_format(" %s ", row->stage);
        check_context("%s: %s %s", backend, row->stage, row->value);
        CHECK(strstr(stages, stage) != NULL);
        CHECK(row->cost[0] != '\0');
        CHECK(isfinite(row->bytes_per_atom + row->bytes_per_entry + row->flops_per_entry));
        /* What tests all pairs, or walks cells without a list, has no operations that N and E could tell. */
        const bool walks = strncmp(row->value, "force.kernel=pairs", 18) == 0 ||
                           strncmp(row->value, "neighbor.search=brute", 21) == 0 ||
                           strcmp(row->value, "force.kernel=cell") == 0;
        CHECK(walks ? isnan(row->flops_per_atom) : isfinite(row->flops_per_atom));
        /* Words that do not exist panic. */
        md_variant_selected(row, md_deck_config(deck));
        md_condition_holds(row->value, md_deck_config(deck));
        md_condition_holds(row->needs, md_deck_config(deck));
        if (strcmp(row->deterministic, "no") != 0) md_condition_holds(row->deterministic, md_deck_config(deck));
        for (int j = 0; j < k; j++) { /* no value twice, and the rows of a switch stand together */
            CHECK(!row->value[0] || strcmp(own.rows[j].value, row->value) != 0);
            size_t key = strcspn(row->value, "=") + 1;
            bool same = row->value[0] && strncmp(own.rows[j].value, row->value, key) == 0;
            CHECK(!same || strncmp(own.rows[k - 1].value, row->value, key) == 0);
            CHECK(!same || strcmp(own.rows[j].stage, row->stage) == 0);
        }
        free(stage);
    }
    md_deck_destroy(deck);
}

/* The presets go together on the cuda backend: naive.txt with each prefix of the ladder above it, and fast.txt. On a
 * machine without a GPU this table is all that can be asked. What is not in it yet, test_switches.py tells. */
static void check_layers(const char *source, char *const *layers, int n) {
    char *arguments[64];
    MdErrors *own = md_errors_create();
    MdVariantTable cuda;
    md_require(n < 64 && strcmp(md_backend_table(1, &cuda), "cuda") == 0);
    for (int k = 0; k < n; k++) arguments[k] = md_format("%s/inputs/%s", source, layers[k]);
    MdDeck *deck = md_deck_read(n, arguments, own);
    check_context("%s", layers[n - 1]);
    if (deck) md_variants_check(cuda, "cuda", md_deck_config(deck), own);
    bool good = deck != NULL;
    for (int k = 0; k < md_errors_count(own); k++)
        good = good && strstr(md_errors_text(own, k), "the cuda backend does not have it");
    if (!CHECK(good))
        for (int k = 0; k < md_errors_count(own); k++) printf("    %s\n", md_errors_text(own, k));
    for (int k = 0; k < n; k++) free(arguments[k]);
    md_deck_destroy(deck);
    md_errors_destroy(own);
}

static int is_rung(const struct dirent *entry) { return strncmp(entry->d_name, "ladder-", 7) == 0; }

static void test_presets(const char *source) {
    char *layers[64] = {"melt.txt", "presets/naive.txt"}, *fast[] = {"melt.txt", "presets/fast.txt"};
    char *folder = md_format("%s/inputs/presets", source);
    struct dirent **entries;
    int n = scandir(folder, &entries, is_rung, alphasort);
    md_require(n > 0 && n < 60);
    check_layers(source, fast, 2);
    check_layers(source, layers, 2);
    for (int k = 0; k < n; k++) {
        layers[2 + k] = md_format("presets/%s", entries[k]->d_name);
        check_layers(source, layers, 3 + k);
        free(entries[k]);
    }
    for (int k = 0; k < n; k++) free(layers[2 + k]);
    free(entries);
    free(folder);
}

int main(void) {
    const char *source = getenv("MDMINI_SOURCE");
    if (!source) {
        printf("skipped: MDMINI_SOURCE does not name the source tree\n");
        return CHECK_SKIPPED;
    }
    errors = md_errors_create();
    test_check();
    test_check_open();
    test_selected();
    test_given();
    test_grounds();
    MdVariantTable own;
    const char *name;
    for (int k = 0; (name = md_backend_table(k, &own)) != NULL; k++) test_table(name, own);
    test_presets(source);
    md_errors_destroy(errors);
    return check_finish();
}
