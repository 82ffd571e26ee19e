/* Default runs of many sizes on the cuda backend: none is refused, whatever the GPU has, and no block of bricks needs more shared
 * memory than there is. Where bricks were asked for that do not fit, the way out that is named leads out. Nothing runs; in the
 * build with the emulated GPU this is repeated for several GPUs (tests/CMakeLists.txt), and some of them run. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"
#include "system/system.h"
#include "walk.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/stages/stages.h"

static const MdBackendOps *ops;

static const char *const solids[] = {"4",  "6",  "8",  "10", "13", "16",  "20",  "25",
                                     "30", "36", "40", "50", "63", "100", "159", "400"},
                         *const planes[] = {"20", "50", "100", "200", "500", "2000"};
static const char *const precisions[] = {"mixed", "single", "double"}, *const skins[] = {"0.3", "auto", "0.5", "0.8"},
                         *const rules[] = {"device-check", "every", "host-check"};
enum { N_SOLIDS = sizeof solids / sizeof *solids, N_PLANES = sizeof planes / sizeof *planes, MAX_WORDS = 20 };

typedef struct Words {
    char text[MAX_WORDS][64];
    int n;
} Words;

static void add(Words *words, const char *key, const char *value) {
    md_require(words->n < MAX_WORDS);
    char *text = words->text[words->n++];
    md_require(snprintf(text, sizeof *words->text, "%s=%s", key, value) < (int)sizeof *words->text);
}

/* Of a system in three dimensions, or in two from N_SOLIDS on. */
static Words words_of(const char *density, int size, const char *precision, const char *skin, const char *rule) {
    const bool is_plane = size >= N_SOLIDS;
    Words words = {.n = 0};
    add(&words, "system.density", density);
    add(&words, "system.cells", is_plane ? planes[size - N_SOLIDS] : solids[size]);
    add(&words, "system.dimension", is_plane ? "2" : "3");
    add(&words, "system.start", is_plane ? "square" : "fcc");
    add(&words, "run.precision", precision);
    add(&words, "neighbor.skin", skin);
    add(&words, "neighbor.rebuild", rule);
    return words;
}

static void name_check(const Words *words) {
    char text[1024] = "";
    for (int k = 0; k < words->n; k++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " %s", words->text[k]);
    }
    check_context("default run%s", text);
}

/* Whether the backend accepts it; else with the message. So does it what is no system: a box that is smaller than the cutoff. */
static bool resolve(const Words *words, MdConfig *config, char *message, size_t size) {
    const char *list[MAX_WORDS + 1] = {NULL};
    for (int k = 0; k < words->n; k++) list[k] = words->text[k];
    MdDeck *deck = state_deck(list);
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    *config = *md_deck_config(deck);
    name_check(words);
    const bool is_system = md_system_plan(deck, NULL, &plan, errors) == MD_OK,
               is_accepted = !is_system || ops->resolve(config, &plan, NULL, errors) == MD_OK;
    snprintf(message, size, "%s", is_accepted ? "" : md_errors_text(errors, 0));
    if (is_system && is_accepted && config->force_kernel == MD_KERNEL_BRICK)
        CHECK(cuda_brick_shared_bytes(config, &plan) <= (size_t)cuda_device_shared_bytes());
    md_errors_destroy(errors);
    md_deck_destroy(deck);
    return is_accepted;
}

static bool has_fast_doubles(int capability) { return capability == 90 || capability == 100; }

static void test_default_runs(int capability) {
    int n_runs = 0, n_refused = 0, n_bricks = 0;
    char message[1024];
    for (int run = 0; run < (N_SOLIDS + N_PLANES) * 3 * 4 * 3; run++) {
        const Words words = words_of("0.8442", run / 36, precisions[run / 12 % 3], skins[run / 3 % 4], rules[run % 3]);
        MdConfig config;
        const bool is_accepted = resolve(&words, &config, message, sizeof message);
        if (!CHECK(is_accepted)) printf("%s\n", message);
        CHECK(config.neighbor_distances != MD_DISTANCES_MATRIX || has_fast_doubles(capability));
        n_runs++, n_refused += !is_accepted;
        n_bricks += is_accepted && config.force_kernel == MD_KERNEL_BRICK;
    }
    printf("%d default runs, %d of them in bricks: %d refused\n", n_runs, n_bricks, n_refused);
    check_context("default runs");
    CHECK(n_bricks > 0);
}

/* The same at what has long lists or many atoms in a cell: no bricks where a block has no room for them. */
static void test_crowds(void) {
    static const char *const cutoffs[] = {"3.5", "5", "7"}, *const densities[] = {"0.3", "1.2"};
    char message[1024];
    for (int run = 0; run < (N_SOLIDS + N_PLANES) * 6; run++) {
        Words words = words_of(densities[run / 3 % 2], run / 6, "double", "0.5", "device-check");
        MdConfig config;
        add(&words, "potential.cutoff", cutoffs[run % 3]);
        if (!CHECK(resolve(&words, &config, message, sizeof message))) printf("%s\n", message);
    }
}

/* `force.kernel=auto and launch.passes=auto, without memory.staging and ...`: only what was asked for is in the way. */
static void take_way_out(const char *message, Words *words) {
    const char *at = strstr(message, ": take ");
    bool is_out = false;
    if (!CHECK(at != NULL)) return;
    for (at += strlen(": take "); *at; at += strspn(at, " ,\n")) {
        char word[64];
        const size_t length = strcspn(at, " ,\n"), key_length = strcspn(at, "= ,\n");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        is_out = is_out || strcmp(word, "without") == 0;
        if (!strchr(word, '.')) continue;
        int k = 0;
        while (k < words->n && (strncmp(words->text[k], word, key_length) != 0 || words->text[k][key_length] != '='))
            k++;
        if (!CHECK(k < words->n)) return;
        if (is_out) memmove(words->text[k], words->text[--words->n], sizeof *words->text);
        else memcpy(words->text[k], word, sizeof word);
    }
}

static void test_ways_out(void) {
    static const char *const asked[][5][2] = {
        {{"memory.sort", "brick"}, {"memory.brick_cells", "8"}},
        {{"memory.sort", "brick"}, {"memory.brick_cells", "4"}, {"launch.passes", "queue"}},
        {{"memory.sort", "brick"}, {"memory.brick_grid", "device"}},
        {{"memory.sort", "brick"}, {"memory.brick_grid", "device"}, {"memory.brick_cells", "1"}},
        {{"potential.cutoff", "7"}, {"launch.passes", "queue"}, {"memory.staging", "async"}},
        {{"launch.block_size", "1024"},
         {"launch.persistent", "on"},
         {"memory.sort", "brick"},
         {"memory.brick_cells", "4"}}};
    enum { N_ASKED = sizeof asked / sizeof *asked };
    int n_refused = 0;
    for (int run = 0; run < N_ASKED * N_SOLIDS * 3; run++) {
        Words words = words_of("0.8442", run / 3 % N_SOLIDS, precisions[run % 3], "0.5", "device-check");
        char message[1024];
        MdConfig config;
        add(&words, "force.kernel", "brick");
        for (int k = 0; k < 5 && asked[run / 3 / N_SOLIDS][k][0]; k++)
            add(&words, asked[run / 3 / N_SOLIDS][k][0], asked[run / 3 / N_SOLIDS][k][1]);
        if (resolve(&words, &config, message, sizeof message) || !strstr(message, "force.kernel=brick: ")) continue;
        n_refused++;
        take_way_out(message, &words);
        char again[1024];
        if (!CHECK(resolve(&words, &config, again, sizeof again))) printf("%s\nthen %s\n", message, again);
    }
    printf("%d runs with bricks that were asked for had no room: each was told a way out\n", n_refused);
    check_context("ways out");
    CHECK(n_refused > 0);
}

int main(void) {
    const MdConfig base = state_config();
    MdMachine machine;
    MdErrors *errors = md_errors_create();
    ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    if (CHECK(ops->probe(&base, NULL, &machine, errors) == MD_OK)) {
        test_default_runs(machine.compute_capability);
        test_crowds();
        test_ways_out();
    }
    md_errors_destroy(errors);
    return check_finish();
}

#else
int main(void) { return walk_no_cuda(); }
#endif
