/* The reader of decks: defaults, every type, layers, overrides, origins, what the effective deck gives back,
 * and for every row of the table a value that must be refused. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "deck/reader.h"

/* All messages, one a line; text from malloc. */
static char *join_messages(const MdErrors *errors) {
    MdText text = {0};
    for (int k = 0; k < md_errors_count(errors); k++) md_text_add(&text, "%s\n", md_errors_text(errors, k));
    return md_text_take(&text);
}

static bool is_deck(const char *layer) {
    return strchr("[#", layer[0]) || (layer[0] && layer[strlen(layer) - 1] == '\n');
}

/* Reads layers that are in memory: what begins with a section or a comment or ends with a newline is the text
 * of a deck, called layer1.txt, layer2.txt ...; everything else is an override. NULL, with the messages, when
 * there are problems. */
static MdDeck *read_layers(const char *const *layers, int n, char **messages) {
    MdErrors *errors = md_errors_create();
    MdDeck *deck = md_deck_create();
    int n_files = 0;
    for (int k = 0; k < n; k++) {
        if (is_deck(layers[k])) {
            char *name = md_format("layer%d.txt", ++n_files);
            md_deck_read_text(deck, name, "/nowhere/inputs", layers[k], strlen(layers[k]), errors);
            free(name);
        } else {
            if (k == 0 || is_deck(layers[k - 1])) deck->n_layers++;
            md_deck_read_override(deck, layers[k], errors);
        }
    }
    md_deck_check(deck, errors);
    bool failed = md_errors_count(errors) > 0;
    if (messages) *messages = join_messages(errors);
    md_errors_destroy(errors);
    if (!failed) return deck;
    md_deck_destroy(deck);
    return NULL;
}

#define READ(messages, ...)                                                                                            \
    read_layers((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),       \
                messages)

static bool same_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Whether the layers are refused with a message that holds each of the words. */
static bool refused(const char *const *words, const char *first, const char *second) {
    char *messages = NULL;
    const char *layers[] = {first, second};
    MdDeck *deck = read_layers(layers, second ? 2 : 1, &messages);
    bool good = deck == NULL;
    for (int k = 0; words[k]; k++) good = good && strstr(messages, words[k]);
    if (!good) printf("    said: %s", messages);
    free(messages);
    md_deck_destroy(deck);
    return good;
}
#define WORDS(...)                                                                                                     \
    (const char *const[]) { __VA_ARGS__, NULL }

static void test_defaults(void) {
    MdDeck *deck = READ(NULL, "# nothing but this\n");
    check_context("defaults");
    if (!CHECK(deck != NULL)) return;
    const MdConfig *config = md_deck_config(deck);
    CHECK(config->system_dimension == 3);
    CHECK(config->system_start == MD_START_FCC);
    CHECK(same_text(config->system_file, ""));
    CHECK(config->system_cells.n == 1 && config->system_cells.values[0] == 10);
    CHECK(config->system_atoms == MD_AUTO_INT);
    CHECK(md_is_auto(config->system_density));
    CHECK(config->system_box.n == 0);
    CHECK(config->system_boundary.n == 1 && config->system_boundary.values[0] == MD_BOUNDARY_PERIODIC);
    CHECK(config->run_timestep == 0.005);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        check_context("%s", md_option_name(k));
        CHECK(same_text(md_deck_origin(deck, k), "default"));
        char *text = md_deck_value_text(deck, k);
        bool number = md_option_row(k)->type == MD_TYPE_REAL || md_option_row(k)->type == MD_TYPE_REALS;
        const char *expected = md_option_row(k)->default_text;
        if (number && strcmp(expected, "auto") != 0) CHECK(strtod(text, NULL) == strtod(expected, NULL));
        else CHECK(same_text(text, expected[0] ? expected : "\"\""));
        free(text);
    }
    md_deck_destroy(deck);
}

static void test_types(void) {
    MdDeck *deck = READ(NULL, "[system] # a comment\r\n"
                              "dimension = 2\r\n"
                              "\tstart=random\n"
                              "  atoms = 2.5e3 \n"
                              "box = 1e2 .5e+3\n"
                              "boundary = periodic   open\n"
                              "seed = 9007199254740991\n"
                              "\n"
                              "[potential]\n"
                              "pairs = 1 2 0.5 0.88; 2 2 1 1# no comment\n"
                              "[run]\n"
                              "timestep = 1.0000000000000002e-3\n"
                              "[output]\n"
                              "name = \"a # b\\\\ \\\"c\\\"\"   # quoted\n"
                              "velocities_every = 500\n"
                              "[system]\n"
                              "temperature = 0");
    check_context("types");
    if (!CHECK(deck != NULL)) return;
    const MdConfig *config = md_deck_config(deck);
    CHECK(config->system_dimension == 2);
    CHECK(config->system_atoms == 2500);
    CHECK(config->system_box.n == 2 && config->system_box.values[0] == 100 && config->system_box.values[1] == 500);
    CHECK(config->system_boundary.n == 2 && config->system_boundary.values[1] == MD_BOUNDARY_OPEN);
    CHECK(config->system_seed == 9007199254740991);
    CHECK(same_text(config->potential_pairs, "1 2 0.5 0.88; 2 2 1 1# no comment"));
    CHECK(config->run_timestep == 1.0000000000000002e-3);
    CHECK(same_text(config->output_name, "a # b\\ \"c\""));
    CHECK(config->output_velocities_every == 500);
    CHECK(config->system_temperature == 0);
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_system_atoms), "layer1.txt:4"));
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_system_temperature), "layer1.txt:17"));
    md_deck_destroy(deck);
}

/* Whole numbers in every notation, and what only looks like one. */
static void test_whole_numbers(void) {
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } cases[] = {{"0", 0},
                 {"7", 7},
                 {"+7", 7},
                 {"007", 7},
                 {"1e3", 1000},
                 {"2.5E3", 2500},
                 {"3.0", 3},
                 {"0.5e1", 5},
                 {"1000e-2", 10},
                 {"1e15", 1000000000000000},
                 {"0e99999999999", 0},
                 {"2.5", -1},
                 {"25e-1", -1},
                 {"1e16", -1},
                 {"-1", -1},
                 {"1e", -1},
                 {"e3", -1},
                 {"0x10", -1},
                 {"1 2", -1},
                 {"1,000", -1},
                 {"9223372036854775808", -1},
                 {"1e400", -1},
                 {"1e9999999999999999999", -1},
                 {"nan", -1},
                 {"inf", -1},
                 {".", -1},
                 {"1.", 1},
                 {"1000000000000001", -1},
                 {"99999999999999999999999999999999999999", -1},
                 {"--1", -1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text = md_format("run.steps=%s", cases[k].text), *messages = NULL;
        MdDeck *deck = READ(&messages, "#\n", text);
        check_context("%s", text);
        if (cases[k].value < 0) {
            CHECK(deck == NULL && strstr(messages, "command line: run.steps: read \"") &&
                  strstr(messages, "allowed: a whole number from 0 to 1e15"));
        } else {
            CHECK(deck != NULL && md_deck_config(deck)->run_steps == cases[k].value);
        }
        md_deck_destroy(deck);
        free(messages);
        free(text);
    }
}

static void test_real_numbers(void) {
    static const struct {
        const char *text;
        double value; /* -1: refused */
    } cases[] = {{"0.1", 0.1}, {"1", 1},      {"1e-3", 1e-3}, {".5", 0.5},   {"4.9406564584124654e-324", 5e-324},
                 {"0", -1},    {"-1", -1},    {"1e-400", -1}, {"1e400", -1}, {"nan", -1},
                 {"inf", -1},  {"0x1p3", -1}, {"1d0", -1},    {"1,5", -1},   {"1.5 # no comment here", -1},
                 {"auto", -1}, {"1.2.3", -1}, {"-0.0", -1},   {"1_0", -1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text = md_format("run.timestep=%s", cases[k].text);
        MdDeck *deck = READ(NULL, "[run]\n", text);
        check_context("%s", text);
        if (cases[k].value < 0) CHECK(deck == NULL);
        else CHECK(deck != NULL && md_deck_config(deck)->run_timestep == cases[k].value);
        md_deck_destroy(deck);
        free(text);
    }
}

static void test_layers(void) {
    MdDeck *deck = READ(NULL, "[run]\nsteps = 1\ntimestep = 0.1\nprecision = single\n", "[run]\nsteps = 2\n",
                        "run.timestep=0.3", "run.timestep=0.2", "[run]\nthreads = 4\n");
    check_context("layers");
    if (!CHECK(deck != NULL)) return;
    CHECK(md_deck_config(deck)->run_steps == 2);
    CHECK(md_deck_config(deck)->run_timestep == 0.2);
    CHECK(md_deck_config(deck)->run_precision == MD_PRECISION_SINGLE);
    CHECK(md_deck_config(deck)->run_threads == 4);
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_run_steps), "layer2.txt:2"));
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_run_timestep), "command line"));
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_run_precision), "layer1.txt:4"));
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_run_threads), "layer3.txt:2"));
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_run_device), "default"));
    md_deck_destroy(deck);
}

/* A key without effect: refused, unless a later layer made it so. */
static void test_moot(void) {
    check_context("moot");
    CHECK(refused(WORDS("layer1.txt:2: ensemble.target: has no effect", "ensemble.thermostat = rescale"),
                  "[ensemble]\ntarget = 2\n", NULL));
    CHECK(refused(WORDS("command line: ensemble.target: has no effect"), "[ensemble]\nthermostat = none\n",
                  "ensemble.target=2"));
    CHECK(refused(WORDS("layer2.txt:2: neighbor.every: has no effect"), "[neighbor]\nrebuild = host-check\n",
                  "[neighbor]\nevery = 3\n"));
    CHECK(refused(WORDS("run.threads: has no effect", "run.backend = cpu or auto"),
                  "[run]\nbackend = cuda\nthreads = 2\n", NULL));
    CHECK(refused(WORDS("output.velocities_every: has no effect", "output.frames_every above 0"),
                  "[output]\nframes_every = 0\nvelocities_every = 10\n", NULL));
    CHECK(refused(WORDS("layer1.txt:4: neighbor.order: has no effect", "force.kernel = list or list-split or auto",
                        "force.kernel is pairs (layer1.txt:2)"),
                  "[force]\nkernel = pairs\n[neighbor]\norder = row\n", NULL));
    CHECK(refused(WORDS("command line: report.neighbors: has no effect"), "[force]\nkernel = cluster\n",
                  "report.neighbors=rows.txt"));
    /* One group of overrides is one layer, whatever its order. */
    char *messages = NULL;
    MdDeck *deck = READ(&messages, "#\n", "potential.cutoff=3", "potential.form=wca");
    CHECK(deck == NULL && strstr(messages, "potential.cutoff: has no effect"));
    free(messages);
    /* A misspelled word must not bring other complaints after it. */
    deck = READ(&messages, "[ensemble]\nthermostat = rescal\ntarget = 2\n");
    CHECK(deck == NULL && !strstr(messages, "no effect"));
    free(messages);
    deck = READ(&messages, "[ensemble]\nthermostatt = rescale\ntarget = 2\n");
    CHECK(deck == NULL && !strstr(messages, "no effect"));
    free(messages);

    deck = READ(NULL, "[ensemble]\nthermostat = rescale\ntarget = 2 3\n", "ensemble.thermostat=none");
    if (!CHECK(deck != NULL)) return;
    CHECK(md_deck_config(deck)->ensemble_target.n == 1);
    CHECK(same_text(md_deck_origin(deck, MD_OPTION_ensemble_target), "default"));
    char *text = md_deck_effective_text(deck, NULL, NULL);
    CHECK(strstr(text, "\n# target ") != NULL);
    free(text);
    md_deck_destroy(deck);
    CHECK(refused(WORDS("layer1.txt:3: ensemble.target: read 3 values"),
                  "[ensemble]\nthermostat = rescale\ntarget = 1 2 3\n", NULL));
}

/* Which options keep their effect with each value of another, as the reference page tells it. */
static void test_grounds(void) {
    static const char rows[] = "list list-split auto", split[] = "list-split auto", shared[] = "list-split brick auto",
                      search[] = "list list-split cluster brick auto",
                      trees[] = "global shared shared-dynamic syncwarp";
    static const struct {
        int option, other;
        const char *values; /* blanks between them */
    } cases[] = {{MD_OPTION_neighbor_search, MD_OPTION_force_kernel, search},
                 {MD_OPTION_neighbor_threads_per_atom, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_write, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_list, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_order, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_index, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_sorted, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_capacity, MD_OPTION_force_kernel, search},
                 {MD_OPTION_report_neighbors, MD_OPTION_force_kernel, "list list-split brick auto"},
                 {MD_OPTION_memory_brick_cells, MD_OPTION_memory_sort, "brick"},
                 {MD_OPTION_neighbor_bank_order, MD_OPTION_force_kernel, "brick"},
                 {MD_OPTION_neighbor_every, MD_OPTION_neighbor_rebuild, "every"},
                 {MD_OPTION_force_threads_per_atom, MD_OPTION_force_kernel, shared},
                 {MD_OPTION_force_partial_sums, MD_OPTION_force_kernel, split},
                 {MD_OPTION_reduce_addressing, MD_OPTION_reduce_method, trees},
                 {MD_OPTION_launch_graph, MD_OPTION_launch_persistent, "off auto"}};
    MdDeck *deck = READ(NULL, "# nothing but this\n");
    MdConfig config = *md_deck_config(deck);
    int n_moot = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int other = cases[k].other, standing = md_switch_value(&config, other);
        char *padded = md_format(" %s ", cases[k].values);
        for (int value = 0; md_switch_words(other)[value]; value++) {
            char *word = md_format(" %s ", md_switch_words(other)[value]);
            check_context("%s with %s =%s", md_option_name(cases[k].option), md_option_name(other), word);
            md_switch_set(&config, other, value);
            bool expected = strstr(padded, word) != NULL;
            char *lack = md_option_lack(&config, cases[k].option);
            CHECK(md_option_has_effect(&config, cases[k].option) == expected && (lack == NULL) == expected);
            n_moot += !expected;
            free(lack);
            free(word);
        }
        md_switch_set(&config, other, standing);
        free(padded);
    }
    check_context("grounds");
    CHECK(n_moot > 0);
    /* Switches without such a condition have an effect whatever else is set. */
    CHECK(md_option_has_effect(&config, MD_OPTION_force_unroll) &&
          md_option_has_effect(&config, MD_OPTION_memory_sort));
    md_deck_destroy(deck);
}

/* What a backend lacks stands in the effective deck as a comment where it would be refused or say nothing. */
static void test_lacking(void) {
    static const struct {
        const char *backend, *line; /* what the deck says of the backend; how the switch stands there */
    } cases[] = {{"cpu", "\n# space"}, {"auto", "\nspace "}};
    bool lacking[MD_N_OPTIONS] = {0};
    lacking[MD_OPTION_memory_space] = lacking[MD_OPTION_memory_load] = true;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *override = md_format("run.backend=%s", cases[k].backend);
        MdDeck *deck = READ(NULL, "[memory]\nspace = mapped\n", override);
        check_context("%s", override);
        if (CHECK(deck != NULL)) {
            char *text = md_deck_effective_text(deck, lacking, "cpu");
            CHECK(strstr(text, cases[k].line) && strstr(text, "\n# load"));
            CHECK(strstr(text, "the cpu backend has no such stage") && !strstr(text, "\n# sort"));
            free(text);
        }
        md_deck_destroy(deck);
        free(override);
    }
}

static void test_messages(void) {
    check_context("messages");
    CHECK(
        refused(WORDS("layer1.txt:1: [sytem]: no such section", "did you mean \"system\"?"), "[sytem]\na = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: run.setps: no such key", "allowed: steps, timestep", "did you mean \"steps\"?"),
                  "[run]\nsetps = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: system.steps: no such key", "did you mean \"run.steps\"?"),
                  "[system]\nsteps = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: run.precision: read \"Double\"; allowed: double, single, mixed; did "
                        "you mean \"double\"?"),
                  "[run]\nprecision = Double\n", NULL));
    CHECK(refused(WORDS("layer1.txt:3: run.steps: given twice; the first is in line 2"),
                  "[run]\nsteps = 1\nsteps = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:4: run.steps: given twice; the first is in line 2"),
                  "[run]\nsteps = x\n[run]\nsteps = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: run.steps: no value"), "[run]\nsteps = # 5\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: read \"steps\"; there is no \"=\""), "[run]\nsteps # = 5\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: there is no key before \"=\""), "[run]\n = 5\n", NULL));
    CHECK(refused(WORDS("layer1.txt:1: steps: a key before any [section]", "run.steps"), "steps = 5\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: read \"[run\"; a section is written [name]"), "[system]\n[run\n", NULL));
    CHECK(refused(WORDS("layer1.txt: the file is empty"), " \r\n\t\n", NULL));
    CHECK(refused(WORDS("layer1.txt:1: read \"1 2 3 4\"; expected: [section]"), "1 2 3 4\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: byte 0x01: this is not a text file"), "[run]\n\001 = 5\n", NULL));
    CHECK(refused(WORDS("layer1.txt:1: the file begins with a byte order mark"), "\xef\xbb\xbf[run]\n", NULL));
    CHECK(refused(WORDS("command line: steps: no section", "run.steps"), "#\n", "steps=5"));
    CHECK(refused(WORDS("command line: every: no section", "ensemble.every, neighbor.every"), "#\n", "every=5"));
    CHECK(refused(WORDS("command line: run.steps: no value"), "#\n", "run.steps="));
    CHECK(refused(WORDS("command line: output.directory: read \"\"\"\""), "#\n", "output.directory=\"\""));
    CHECK(refused(WORDS("command line: output.name: read \"a\\x0ab\""), "#\n", "output.name=a\nb"));
    /* All problems of all layers at once. */
    CHECK(refused(WORDS("layer1.txt:2: run.steps", "layer1.txt:3: run.timestep", "command line: [rnu]"),
                  "[run]\nsteps = -1\ntimestep = 0\n", "rnu.steps=1"));
}

static void test_many_problems(void) {
    MdText text = {0};
    md_text_add(&text, "[run]\n");
    for (int k = 0; k < 25; k++) md_text_add(&text, "nonsense%d = 1\n", k);
    char *messages = NULL;
    check_context("many problems");
    CHECK(READ(&messages, text.text) == NULL);
    CHECK(strstr(messages, "layer1.txt:21: run.nonsense19: ") && !strstr(messages, "nonsense20"));
    CHECK(strstr(messages, "layer1.txt: and 5 more problems\n") != NULL);
    free(messages);
    free(text.text);

    text = (MdText){0};
    md_text_add(&text, "[run]\n#%70000s\nsteps = 5\n", "");
    CHECK(refused(WORDS("layer1.txt:2: a line of 70001 bytes"), text.text, NULL));
    free(text.text);

    text = (MdText){0};
    md_text_add(&text, "output.name=x%5000s", "y");
    CHECK(refused(WORDS("output.name: read 5001 bytes; allowed: at most 4096"), "#\n", text.text));
    free(text.text);

    text = (MdText){0};
    md_text_add(&text, "[ensemble]\nthermostat = rescale\ntarget =");
    for (int k = 0; k <= MD_MAX_LIST; k++) md_text_add(&text, " 1");
    CHECK(refused(WORDS("layer1.txt:3: ensemble.target: read more than 64 entries"), text.text, NULL));
    free(text.text);
}

static void test_times(void) {
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"0", 0},        {"90", 90},        {"0.5", 0.5},       {"1:30", 90},
                 {"90:00", 5400}, {"1:00:05", 3605}, {"24:00:00", 86400}};
    static const char *const wrong[] = {
        "1:60", "1:5", "1:005", ":30", "1:", "1:00:00:00", "-1:00", "1:30.5", "1:60:00", "auto"};
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
        char *word = md_format("run.walltime=%s", times[k].text);
        MdDeck *deck = READ(NULL, "#\n", word);
        check_context("%s", word);
        if (CHECK(deck)) CHECK(md_deck_config(deck)->run_walltime == times[k].seconds);
        md_deck_destroy(deck);
        free(word);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char *word = md_format("run.walltime=%s", wrong[k]);
        check_context("%s", word);
        CHECK(refused(WORDS("run.walltime", "H:MM:SS"), "#\n", word));
        free(word);
    }
}

/* A value that the row must refuse, whatever its type. */
static const char *bad_value(const MdOptionRow *row) {
    return row->type == MD_TYPE_TEXT || row->type == MD_TYPE_PATH ? "\"no end" : "1x";
}

static void test_every_row(void) {
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        check_context("%s", row->name);
        char *deck = md_format("[%s]\n%s = %s\n", row->section, row->key, bad_value(row));
        char *allowed = md_option_allowed(row),
             *where = md_format("layer1.txt:2: %s: read \"%s\"", row->name, bad_value(row));
        CHECK(refused(WORDS(where, allowed), deck, NULL));
        free(deck);
        /* One beyond each limit. */
        bool number = row->type <= MD_TYPE_TIME || row->type == MD_TYPE_INTS || row->type == MD_TYPE_REALS;
        for (int side = 0; number && side < 2; side++) {
            if (side && row->high == MD_NO_LIMIT) continue;
            double limit = side ? row->high * 1.5 + 1 : row->low == MD_ABOVE_ZERO ? 0 : row->low - 1;
            deck = md_format("%s=%.0f", row->name, limit);
            CHECK(refused(WORDS(row->name, allowed), "#\n", deck));
            free(deck);
        }
        free(allowed);
        free(where);
    }
}

/* Bit for bit: field by field, as the structure has gaps and pointers. */
static void check_same_config(const MdDeck *a, const MdDeck *b) {
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        const char *x = (const char *)md_deck_config(a) + row->offset,
                   *y = (const char *)md_deck_config(b) + row->offset;
        size_t size = row->type == MD_TYPE_REALS                                  ? sizeof(MdRealList)
                      : row->type == MD_TYPE_INTS || row->type == MD_TYPE_CHOICES ? sizeof(MdIntList)
                      : row->type == MD_TYPE_CHOICE                               ? sizeof(int)
                                                                                  : sizeof(int64_t);
        bool text = row->type == MD_TYPE_TEXT || row->type == MD_TYPE_PATH;
        check_context("%s", row->name);
        if (text) CHECK(same_text(*(char *const *)x, *(char *const *)y));
        else CHECK(memcmp(x, y, size) == 0);
    }
}

static void test_round_trip(void) {
    static const char *const decks[] = {
        "# all defaults\n",
        "[system]\nstart = random\natoms = 1e5\nbox = 0.1 0.30000000000000004 3.3333333333333335e8\n"
        "boundary = open periodic open\ntypes = 2\nfractions = 0.1 0.9\ntemperature = "
        "1e-300\nmin_distance=-0\n"
        "[ensemble]\nthermostat = rescale\ntarget = 0.7 1.23456789012345678\n[run]\nsteps = 999999999999999\n"
        "[output]\nname = \"\\\"x\\\" \\\\ # y \"\ndirectory = a # b\n[report]\nneighbors = \"\"\n",
        "[system]\nstart = file\nfile = ../coordinates/a b.xyz\nbox = 5 6 7\n[potential]\npairs = \"1 1 1 1; "
        "1 2 # 3\"\n",
        "[potential]\nform = wca\n[output]\nframes_every = 0\n[run]\nbackend = cuda\ndevice = 3\n"};
    for (size_t k = 0; k < sizeof decks / sizeof *decks; k++) {
        char *messages = NULL;
        MdDeck *first = READ(&messages, decks[k]);
        check_context("deck %zu: %s", k, messages);
        free(messages);
        if (!CHECK(first != NULL)) continue;
        char *text = md_deck_effective_text(first, NULL, NULL);
        for (int row = 0; row < MD_N_OPTIONS; row++) { /* every key is there */
            char *key = md_format("%s ", md_option_row(row)->key);
            CHECK(strstr(text, key) != NULL);
            free(key);
        }
        MdDeck *second = READ(&messages, text);
        check_context("effective deck %zu: %s", k, messages);
        if (CHECK(second != NULL)) {
            check_same_config(first, second);
            char *moot = md_deck_effective_text(second, NULL, NULL);
            /* What was a comment stays one. */
            for (int row = 0; row < MD_N_OPTIONS; row++) {
                char *a = md_option_lack(md_deck_config(first), row), *b = md_option_lack(md_deck_config(second), row);
                CHECK((a == NULL) == (b == NULL));
                free(a);
                free(b);
            }
            free(moot);
        }
        free(messages);
        free(text);
        md_deck_destroy(first);
        md_deck_destroy(second);
    }
}

/* --- through files --- */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    md_require(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static MdDeck *read_arguments(const char *const *arguments, int n, char **messages) {
    MdErrors *errors = md_errors_create();
    char *copies[8];
    for (int k = 0; k < n; k++) copies[k] = md_copy_text(arguments[k]);
    MdDeck *deck = md_deck_read(n, copies, errors);
    for (int k = 0; k < n; k++) free(copies[k]);
    CHECK((deck == NULL) == (md_errors_count(errors) > 0));
    CHECK(md_errors_status(errors) == (deck ? MD_OK : MD_ERROR_INPUT));
    *messages = join_messages(errors);
    md_errors_destroy(errors);
    return deck;
}

#define READ_FILES(messages, ...)                                                                                      \
    read_arguments((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),    \
                   messages)

static void test_paths(const char *folder) {
    char *messages = NULL, *expected = md_format("%s/points.txt", folder);
    MdDeck *deck = READ_FILES(&messages, "decks/a.txt", "output.name=b");
    check_context("paths: %s", messages);
    if (CHECK(deck != NULL)) {
        CHECK(same_text(md_deck_config(deck)->system_file, expected)); /* seen from the deck */
        CHECK(same_text(md_deck_config(deck)->report_neighbors, "rows.txt"));
        CHECK(same_text(md_deck_name(deck), "a"));
        CHECK(same_text(md_deck_origin(deck, MD_OPTION_system_file), "decks/a.txt:3"));
    }
    md_deck_destroy(deck);
    free(messages);
    deck = READ_FILES(&messages, "decks/a.txt", "system.file=./points.txt"); /* seen from here */
    CHECK(deck != NULL && same_text(md_deck_config(deck)->system_file, expected));
    md_deck_destroy(deck);
    free(messages);
    free(expected);
}

static void test_coordinates(const char *folder) {
    static const struct {
        const char *text;
        int dimension; /* 0: refused */
        int boundary;
    } cases[] = {{"# x y\n\n 1.5 -2e3 # first\n3 4\n", 2, MD_BOUNDARY_OPEN},
                 {"1\t2\t3\r\n4 5 6\r\n", 3, MD_BOUNDARY_OPEN},
                 {"2\ncomment\nA 0 0 0\nA 1 1 1\n", 3, MD_BOUNDARY_OPEN},
                 /* a box of its own: what the deck says, here the default, stays */
                 {"2\npbc=\"T T F\" Lattice=\"9 0 0 0 9 0 0 0 9\"\nA 0 0 0\nA 1 1 1\n", 3, MD_BOUNDARY_PERIODIC},
                 {"2\nnoLattice=\"\"\nA 0 Lattice=\nA 1 1 1\n", 3, MD_BOUNDARY_OPEN},
                 {"nan 1\n2 3\n", 2, MD_BOUNDARY_OPEN},
                 {"1.5\n2.5\n", 0, 0},
                 {"0\n", 0, 0},
                 {"-3\n\n", 0, 0},
                 {"1 2 3 4\n", 0, 0},
                 {"A 1 2\n", 0, 0},
                 {"1,2\n3,4\n", 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *messages = NULL, *path = md_format("%s/coordinates.xy.txt", folder);
        write_file("coordinates.xy.txt", cases[k].text);
        MdDeck *deck = READ_FILES(&messages, "decks/layer.txt", "./coordinates.xy.txt", "system.temperature=2");
        check_context("coordinates %zu: %s", k, messages);
        if (cases[k].dimension == 0) {
            CHECK(deck == NULL && strstr(messages, "expected: [section] (a deck), two or three numbers"));
        } else if (CHECK(deck != NULL)) {
            const MdConfig *config = md_deck_config(deck);
            bool open = cases[k].boundary == MD_BOUNDARY_OPEN;
            CHECK(config->system_start == MD_START_FILE);
            CHECK(same_text(config->system_file, path));
            CHECK(config->system_dimension == cases[k].dimension);
            CHECK(config->system_boundary.n == 1 && config->system_boundary.values[0] == cases[k].boundary);
            CHECK(config->run_steps == 7 && config->system_temperature == 2);
            CHECK(
                same_text(md_deck_origin(deck, MD_OPTION_system_boundary), open ? "./coordinates.xy.txt" : "default"));
            CHECK(same_text(md_deck_name(deck), "layer"));
        }
        md_deck_destroy(deck);
        free(messages);
        free(path);
    }
}

static void test_files(void) {
    char *messages = NULL;
    MdDeck *deck = READ_FILES(&messages, "run.steps=5");
    check_context("files: %s", messages);
    CHECK(deck == NULL && strstr(messages, "no input file: call it as mdmini FILE..."));
    free(messages);
    deck = READ_FILES(&messages, "nowhere.txt", "decks", "no=where/x");
    CHECK(deck == NULL && strstr(messages, "nowhere.txt: cannot be read: No such file or directory"));
    CHECK(strstr(messages, "decks: cannot be read: Is a directory") != NULL);
    CHECK(strstr(messages, "command line: no: no section") != NULL);
    free(messages);
    /* Overrides that stand together are one layer: here none of the two came later. */
    deck = READ_FILES(&messages, "decks/layer.txt", "potential.cutoff=3", "potential.form=wca");
    CHECK(deck == NULL && strstr(messages, "command line: potential.cutoff: has no effect"));
    free(messages);
    write_file("a=b", "[run]\nsteps = 11\n"); /* a file whose name looks like an override */
    deck = READ_FILES(&messages, "./a=b");
    CHECK(deck != NULL && md_deck_config(deck)->run_steps == 11);
    md_deck_destroy(deck);
    free(messages);
}

int main(void) {
    test_defaults();
    test_types();
    test_whole_numbers();
    test_real_numbers();
    test_layers();
    test_moot();
    test_grounds();
    test_lacking();
    test_messages();
    test_many_problems();
    test_times();
    test_every_row();
    test_round_trip();

    char pattern[] = "/tmp/mdmini-test-deck-XXXXXX";
    md_require(mkdtemp(pattern) && chdir(pattern) == 0 && mkdir("decks", 0777) == 0);
    char *folder = getcwd(NULL, 0);
    write_file("decks/a.txt", "[system]\nstart = file\nfile = ../points.txt\n[report]\nneighbors = rows.txt\n");
    write_file("decks/layer.txt", "[run]\nsteps = 7\n[system]\ncells = 3\n");
    write_file("points.txt", "0 0 0\n1 1 1\n");
    test_paths(folder);
    test_coordinates(folder);
    test_files();
    static const char *const left[] = {"decks/a.txt", "decks/layer.txt", "points.txt", "coordinates.xy.txt", "a=b"};
    for (size_t k = 0; k < sizeof left / sizeof *left; k++) unlink(left[k]);
    md_require(chdir("/") == 0);
    char *decks = md_format("%s/decks", folder);
    CHECK(rmdir(decks) == 0 && rmdir(folder) == 0); /* the reader left nothing behind */
    free(decks);
    free(folder);
    return check_finish();
}
