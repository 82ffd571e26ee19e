/* The reader of decks: layers, overrides, origins, what has no effect, what the effective deck gives back, and decks and
 * coordinates in files. */
#define _XOPEN_SOURCE 700
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "layers.h"

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
    CHECK(refused(WORDS("layer1.txt:2: ensemble.target: has no effect",
                        "ensemble.thermostat = rescale or csvr or nose-hoover or langevin"),
                  "[ensemble]\ntarget = 2\n", NULL));
    CHECK(refused(WORDS("command line: ensemble.target: has no effect"), "[ensemble]\nthermostat = none\n",
                  "ensemble.target=2"));
    CHECK(refused(WORDS("layer1.txt:3: ensemble.relaxation: has no effect",
                        "ensemble.thermostat = csvr or nose-hoover or langevin"),
                  "[ensemble]\nthermostat = rescale\nrelaxation = 0.1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:3: ensemble.relaxation: read 0.009; allowed: from 0.01"),
                  "[ensemble]\nthermostat = csvr\nrelaxation = 0.009\n[run]\ntimestep = 0.005\n", NULL));
    CHECK(refused(WORDS("layer1.txt:3: ensemble.friction: read 51; allowed: up to 50"),
                  "[ensemble]\nthermostat = langevin\nfriction = 51\n[run]\ntimestep = 0.005\n", NULL));
    CHECK(refused(WORDS("layer1.txt:3: ensemble.friction: has no effect", "ensemble.thermostat = langevin"),
                  "[ensemble]\nthermostat = csvr\nfriction = 1\n", NULL));
    CHECK(refused(
        WORDS("layer1.txt:3: ensemble.every: has no effect", "ensemble.thermostat = rescale or csvr or nose-hoover"),
        "[ensemble]\nthermostat = langevin\nevery = 5\n", NULL));
    CHECK(refused(WORDS("layer1.txt:4: ensemble.friction: ensemble.relaxation is given, too (layer1.txt:3)"),
                  "[ensemble]\nthermostat = langevin\nrelaxation = 1\nfriction = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:3: ensemble.friction: read \"-1\"", "allowed: a number above 0"),
                  "[ensemble]\nthermostat = langevin\nfriction = -1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:3: ensemble.target: read \"-1\""),
                  "[ensemble]\nthermostat = rescale\ntarget = 1 -1\n", NULL));
    MdDeck *deck = READ(NULL, "[ensemble]\nthermostat = langevin\nrelaxation = 2\n",
                        "ensemble.friction=0.5"); /* the layer on top */
    CHECK(md_is_auto(md_deck_config(deck)->ensemble_relaxation) && md_config_relaxation(md_deck_config(deck)) == 1);
    md_deck_destroy(deck);
    deck = READ(NULL, "[ensemble]\nthermostat = csvr\n[run]\ntimestep = 0.004\n");
    CHECK(md_config_relaxation(md_deck_config(deck)) == 0.4);
    md_deck_destroy(deck);
    static const char *const wrong[] = {"0", "-0.1", "nan", "inf", "none", "0.1 0.2"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char *text = md_format("[ensemble]\nthermostat = csvr\nrelaxation = %s\n", wrong[k]);
        CHECK(refused(WORDS("layer1.txt:3: ensemble.relaxation: read \"", "allowed: a number above 0"), text, NULL));
        free(text);
    }
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
    deck = READ(&messages, "#\n", "potential.cutoff=3", "potential.form=wca");
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

static char *override_of(int option, const char *value) { return md_format("%s=%s", md_option_name(option), value); }

/* A value that is neither the default nor off. */
static const char *other_value(const MdOptionRow *row) {
    if (row->type == MD_TYPE_PATH) return "some.txt";
    for (int k = 0; row->words[k]; k++)
        if (!same_text(row->words[k], row->default_text) && !same_text(row->words[k], "off")) return row->words[k];
    return "7";
}

/* An option that has no effect on that ground: its default passes, and another value is refused. */
static void check_nothing(int option, const char *ground) {
    const MdOptionRow *row = md_option_row(option);
    char *messages = NULL, *something = override_of(option, other_value(row));
    char *nothing = override_of(option, row->default_text[0] ? row->default_text : "\"\"");
    check_context("%s beside %s", row->name, ground);
    MdDeck *deck = READ(NULL, "#\n", ground, nothing);
    if (CHECK(deck != NULL)) {
        char *text = md_deck_effective_text(deck, NULL, NULL), *comment = md_format("\n# %s ", row->key);
        CHECK(strstr(text, comment) != NULL);
        free(comment);
        free(text);
    }
    md_deck_destroy(deck);
    deck = READ(&messages, "#\n", ground, something);
    CHECK(deck == NULL && strstr(messages, "has no effect: it needs ") && strstr(messages, row->name));
    free(messages);
    md_deck_destroy(deck);
    free(something);
    free(nothing);
}

/* All that have no effect on that ground; how many that are. */
static int check_ground(int other, const char *value) {
    char *ground = override_of(other, value);
    MdDeck *deck = READ(NULL, "#\n", ground); /* NULL: the ground has none itself */
    int n = 0;
    for (int option = 0; deck && option < MD_N_OPTIONS; option++) {
        if (option == other || md_option_has_effect(md_deck_config(deck), option)) continue;
        check_nothing(option, ground);
        n++;
    }
    md_deck_destroy(deck);
    free(ground);
    return n;
}

static void test_nothing(void) {
    int n = 0;
    for (int other = 0; other < MD_N_OPTIONS; other++) {
        const MdOptionRow *row = md_option_row(other);
        for (int k = 0; row->type == MD_TYPE_CHOICE && row->words[k]; k++) n += check_ground(other, row->words[k]);
        if (row->type == MD_TYPE_INT && row->low == 0) n += check_ground(other, "0");
    }
    check_context("off");
    CHECK(n > 1000);
    MdDeck *deck = READ(NULL, "#\n", "launch.persistent=on", "launch.graph=off"); /* also where it is not the default */
    CHECK(deck != NULL);
    md_deck_destroy(deck);
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
                 {MD_OPTION_neighbor_sorted, MD_OPTION_force_kernel, rows},
                 {MD_OPTION_neighbor_capacity, MD_OPTION_force_kernel, search},
                 {MD_OPTION_report_neighbors, MD_OPTION_force_kernel, "list list-split brick auto"},
                 {MD_OPTION_memory_brick_grid, MD_OPTION_memory_sort, "brick"},
                 {MD_OPTION_memory_brick_cells, MD_OPTION_memory_sort, "brick"},
                 {MD_OPTION_neighbor_distances, MD_OPTION_force_kernel, "brick"},
                 {MD_OPTION_neighbor_every, MD_OPTION_neighbor_rebuild, "every"},
                 {MD_OPTION_force_threads_per_atom, MD_OPTION_force_kernel, shared},
                 {MD_OPTION_force_partial_sums, MD_OPTION_force_kernel, split},
                 {MD_OPTION_reduce_addressing, MD_OPTION_reduce_method, trees},
                 {MD_OPTION_launch_registers, MD_OPTION_launch_bounds, "off"},
                 {MD_OPTION_launch_graph, MD_OPTION_launch_persistent, "off auto"},
                 {MD_OPTION_launch_barrier, MD_OPTION_launch_persistent, "on auto"},
                 {MD_OPTION_launch_passes, MD_OPTION_launch_persistent, "off auto"},
                 {MD_OPTION_launch_passes, MD_OPTION_launch_fuse, "step auto"}};
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
            CHECK(strstr(text, "the cpu backend has no such switch") && !strstr(text, "\n# sort"));
            free(text);
        }
        md_deck_destroy(deck);
        free(override);
    }
}

/* Messages of those who know values alone. */
static void test_places(void) {
    static const struct {
        const char *message, *placed;
    } cases[] = {
        {"reduce.scratch=per-call: needs launch.graph=off and force.unroll=1, but launch.graph is on, force.unroll is "
         "4: "
         "change that, or take reduce.scratch=static",
         "layer1.txt:2: reduce.scratch=per-call: needs launch.graph=off and force.unroll=1, but launch.graph is on "
         "(command "
         "line), force.unroll is 4 (default): change that, or take reduce.scratch=static"},
        {"reduce.method=cub: needs memory.sort=none, but memory.sort is cell; take it",
         "reduce.method=cub: needs memory.sort=none, but memory.sort is cell (auto: default); take it"},
        {"run.backend: it has none;  and launch.graph is on",
         "run.backend: it has none;  and launch.graph is on (command line)"},
        {"launch.graph=on: launch.graph is on (somewhere) and force.energy is",
         "command line: launch.graph=on: launch.graph is on (somewhere) and force.energy is"},
        {"layer1.txt:2: reduce.scratch: and launch.graph is on",
         "layer1.txt:2: reduce.scratch: and launch.graph is on"},
        {"GPU 0 has no room; launch.graph is on", "GPU 0 has no room; launch.graph is on"},
        {"", ""},
    };
    MdDeck *deck = READ(NULL, "[reduce]\nscratch = per-call\n", "launch.graph=on");
    if (!CHECK(deck != NULL)) return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *placed = md_deck_place(deck, cases[k].message);
        check_context("%s", cases[k].message);
        CHECK(same_text(placed, cases[k].placed));
        free(placed);
    }
    MdErrors *errors = md_errors_create();
    md_fail(errors, MD_ERROR_INPUT, "%s", cases[1].message);
    md_errors_finish(errors, md_deck_place, deck);
    md_fail(errors, MD_ERROR_INPUT, "%s", cases[0].message);
    CHECK(same_text(md_errors_text(errors, 0), cases[1].message) &&
          same_text(md_errors_text(errors, 1), cases[0].placed));
    md_errors_destroy(errors);
    md_deck_destroy(deck);
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
        ("[system]\nstart = file\nfile = ../coordinates/a b.xyz\nbox = 5 6 7\n[potential]\npairs = \"1 1 1 1; "
         "1 2 # 3\"\n"),
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
                 {"2\nnote=\"a \\\" Lattice=\\\"9\\\" b\"\nA 0 0 0\nA 1 1 1\n", 3, MD_BOUNDARY_OPEN},
                 {"2\nCubic lattice, no pbc\nA 0 0 0\nA 1 1 1\n", 3, MD_BOUNDARY_OPEN},
                 {"2\nlattice = {9 0 0 0 9 0 0 0 9}\nA 0 0 0\nA 1 1 1\n", 3, MD_BOUNDARY_PERIODIC},
                 {"2\nPBC=[T, T, F]\nA 0 0 0\nA 1 1 1\n", 3, MD_BOUNDARY_PERIODIC},
                 {"nan 1\n2 3\n", 2, MD_BOUNDARY_OPEN},
                 {"0\n", 3, MD_BOUNDARY_OPEN}, /* refused by the reader of XYZ */
                 {"1.5\n2.5\n", 0, 0},
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
    /* A name that is in inputs/, or near to one that is here; far from any there is no hint. */
    write_file("inputs/melt.txt", "#\n");
    write_file("eam.txt", "#\n");
    deck = READ_FILES(&messages, "melt.txt", "ea.txt", "argon.txt", "spam.txt");
    CHECK(deck == NULL && strstr(messages, "; did you mean \"inputs/melt.txt\"?"));
    CHECK(strstr(messages, "ea.txt: cannot be read: No such file or directory; did you mean \"eam.txt\"?") != NULL);
    CHECK(strstr(messages, "argon.txt: cannot be read: No such file or directory\n") != NULL);
    CHECK(strstr(messages, "spam.txt: cannot be read: No such file or directory\n") != NULL);
    free(messages);
    unlink("inputs/melt.txt");
    deck = READ_FILES(&messages, "melt.txt");
    CHECK(deck == NULL && strstr(messages, "melt.txt: cannot be read: No such file or directory\n"));
    free(messages);
    unlink("eam.txt");
    write_file("a=b", "[run]\nsteps = 11\n"); /* a file whose name looks like an override */
    deck = READ_FILES(&messages, "./a=b");
    CHECK(deck != NULL && md_deck_config(deck)->run_steps == 11);
    md_deck_destroy(deck);
    free(messages);
}

int main(void) {
    test_layers();
    test_moot();
    test_nothing();
    test_grounds();
    test_lacking();
    test_places();
    test_round_trip();

    char pattern[] = "/tmp/mdmini-test-deck-XXXXXX";
    md_require(mkdtemp(pattern) && chdir(pattern) == 0 && mkdir("decks", 0777) == 0 && mkdir("inputs", 0777) == 0);
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
    char *decks = md_format("%s/decks", folder), *inputs = md_format("%s/inputs", folder);
    CHECK(rmdir(decks) == 0 && rmdir(inputs) == 0 && rmdir(folder) == 0); /* the reader left nothing behind */
    free(inputs);
    free(decks);
    free(folder);
    return check_finish();
}
