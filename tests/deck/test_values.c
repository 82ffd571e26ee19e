/* The values of a deck: defaults, every type, messages, and for every row of the table a value that must be refused. */
#include "check.h"
#include "layers.h"

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

/* Words of other programs, whatever letter is nearer, and slips: an override, and how its message ends. */
static void test_hints(void) {
    static const char *const cases[][2] = {
        {"run.backend=gpu", "; did you mean \"cuda\"?"},
        {"run.backend=GPU", "; did you mean \"cuda\"?"},
        {"run.backend=Nvidia", "; did you mean \"cuda\"?"},
        {"run.backend=OpenMP", "; did you mean \"cpu\"?"},
        {"run.precision=fp32", "; did you mean \"single\"?"},
        {"run.precision=half", "; mdmini has no half precision"},
        {"potential.form=lj/cut", "; did you mean \"lj\"?"},
        {"potential.form=Lennard-Jones", "; did you mean \"lj\"?"},
        {"ensemble.thermostat=nvt", "; did you mean \"csvr\"?"},
        {"ensemble.thermostat=v-rescale", "; did you mean \"csvr\"?"},
        {"ensemble.thermostat=temp/rescale", "; did you mean \"rescale\"?"},
        {"ensemble.thermostat=sd", "; did you mean \"langevin\"?"},
        {"ensemble.thermostat=fix_langevin", "; did you mean \"langevin\"?"},
        {"ensemble.collision_rate=1", "; did you mean \"ensemble.thermostat = langevin, ensemble.friction\"?"},
        {"ensemble.thermostat=NPT", "; mdmini has no barostat: the box stays as it is"},
        {"ensemble.thermostat=berendsen", "; mdmini has no such thermostat"},
        {"neighbor.sorted=yes", "; did you mean \"on\"?"},
        {"system.boundary=p p p", "; did you mean \"periodic\"?"},
        {"run.dt=1", "; did you mean \"run.timestep\"?"},
        {"run.nsteps=1", "; did you mean \"steps\"?"}, /* a slip in its own section goes first */
        {"system.n=1", "; did you mean \"system.cells, system.atoms\"?"},
        {"output.thermo=1", "; did you mean \"output.thermo_every\"?"},
        {"output.commit=1", "; did you mean \"output.commit_frames, output.commit_seconds\"?"},
        {"output.dump=1", "; did you mean \"output.frames_every\"?"},
        {"output.dump_every=1", "; did you mean \"output.frames_every\"?"},
        {"output.nstxout-compressed=1", "; did you mean \"output.frames_every\"?"},
        {"run.ensemble=nvt",
         "; did you mean \"ensemble.thermostat = none (NVE) or csvr or nose-hoover or langevin (NVT)\"?"},
        {"ensemble=nvt",
         "; did you mean \"ensemble.thermostat = none (NVE) or csvr or nose-hoover or langevin (NVT)\"?"},
        {"ensemble.name=nvt",
         "; did you mean \"ensemble.thermostat = none (NVE) or csvr or nose-hoover or langevin (NVT)\"?"},
        {"neighbor.rlist=2.8", "; did you mean \"neighbor.skin (rlist less potential.cutoff)\"?"},
        {"neighbor.binsize=1", "; mdmini has no such key: cells follow from cutoff and skin"},
        {"potential.shift=yes", "; did you mean \"energy\"?"},
        {"potential.shift=true", "; did you mean \"energy\"?"},
        {"potential.form=coulomb", "; mdmini has no charges"},
        {"potential.tail=yes", "; mdmini has no such key: the log tells tail corrections, and no number has them"},
        {"run.nt=4", "; did you mean \"run.threads\"?"},
        {"output.restart=1", ": output.restart: no such key; did you mean \"restart.every\"?"},
        {"system.boundary=p p f", "; did you mean \"periodic periodic open\"?"},
        {"ensemble.tau=1", "; did you mean \"ensemble.relaxation (for langevin: damp / 2)\"?"},
        {"ensemble.gamma=1", "; did you mean \"ensemble.thermostat = langevin, ensemble.friction\"?"},
        {"ensemble.temperature=1", "; did you mean \"ensemble.target\"?"},
        {"run.temperature=1", "; did you mean \"system.temperature\"?"},
        {"potential.r_cut=1", "; did you mean \"potential.cutoff\"?"},
        {"restart.write=1", "; did you mean \"restart.every\"?"},
        {"ensemble.barostat=1", "; mdmini has no barostat: the box stays as it is"},
        {"output.rdf_every=1", "; did you mean \"analysis.rdf_every\"?"},
        {"output.MSD_every=1", "; did you mean \"analysis.msd_every\"?"},
        {"units=lj", "; did you mean \"system.units\"?"},
        {"units.style=lj", "; did you mean \"system.units\"?"},
        {"barostat.target=1", "; mdmini has no barostat: the box stays as it is"},
        {"md.dt=1", "; did you mean \"run.timestep\"?"},
        {"md.steps=1", "; did you mean \"run.steps\"?"},
        {"dt=1", "; did you mean \"run.timestep\"?"},
        {"ensemble.thermostatt=none", "; did you mean \"thermostat\"?"},
        {"system.tmeperatrue=1", "; did you mean \"temperature\"?"},
        {"output.abc_every=1", "progress"}, /* no hint: the list of what is allowed ends so */
        {"system.thermostart=1", "masses"},
        {"run.precision=triple", "mixed"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *said = NULL;
        MdDeck *deck = READ(&said, "#\n", cases[k][0]);
        const size_t n = strlen(said) - 1, n_end = strlen(cases[k][1]); /* less the newline */
        check_context("%s: %s", cases[k][0], said);
        CHECK(deck == NULL && n > n_end && strncmp(said + n - n_end, cases[k][1], n_end) == 0);
        md_deck_destroy(deck);
        free(said);
    }
    check_context("hints");
    CHECK(refused(
        WORDS("layer1.txt:1: integrator: a key before any [section]; mdmini has no integrator but velocity Verlet"),
        "integrator = md\n", NULL));
    CHECK(refused(WORDS("layer1.txt:1: read \"units lj\"", "(XYZ); did you mean \"system.units\"?"), "units lj\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: a script of LAMMPS; mdmini reads decks"), "#\nunits lj\npair_style lj/cut 2.5\n",
                  NULL));
    CHECK(refused(WORDS("layer1.txt:1: [thermo]: no such section", "did you mean \"output.thermo_every\"?"),
                  "[thermo]\nevery = 5\n", NULL));
}

static void test_messages(void) {
    check_context("messages");
    CHECK(
        refused(WORDS("layer1.txt:1: [sytem]: no such section", "did you mean \"system\"?"), "[sytem]\na = 1\n", NULL));
    CHECK(refused(WORDS("layer1.txt:2: run.setps: no such key", "allowed: steps, timestep", "did you mean \"steps\"?"),
                  "[run]\nsetps = 1\n", NULL));
    CHECK(!refused(WORDS("did you mean \"cuda\"?"), "[run]\nprecision = gpu\n", NULL));
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
    CHECK(
        refused(WORDS("run.steps: read \"1,000\"", "; numbers are written without commas"), "#\n", "run.steps=1,000"));
    CHECK(refused(WORDS("run.timestep: read \"0,005\"", "; numbers are written without commas"), "#\n",
                  "run.timestep=0,005"));
    CHECK(refused(WORDS("system.cells: read \"4,4,4\"", "separated by blanks; numbers are written without commas"),
                  "#\n", "system.cells=4,4,4"));
    CHECK(refused(WORDS("command line: steps: no section", "run.steps"), "#\n", "steps=5"));
    CHECK(refused(WORDS("command line: every: no section", "ensemble.every, neighbor.every"), "#\n", "every=5"));
    CHECK(refused(WORDS("command line: run.steps: no value"), "#\n", "run.steps="));
    CHECK(refused(WORDS("command line: output.directory: read \"\"\"\""), "#\n", "output.directory=\"\""));
    CHECK(refused(WORDS("command line: output.name: read \"a\\x0ab\""), "#\n", "output.name=a\nb"));
    /* All problems of all layers at once. */
    CHECK(refused(WORDS("layer1.txt:2: run.steps", "layer1.txt:3: run.timestep", "command line: [rnu]"),
                  "[run]\nsteps = -1\ntimestep = 0\n", "rnu.steps=1"));
}

/* The deck in a restart file names every key, and older files those of their time. */
static void test_former_key(void) {
    static const char *const layers[] = {"[launch]\ndependent = off\n", "[launch]\ndependent = on\n"};
    char *argument = "launch.dependent=off";
    check_context("a former key");
    for (int k = 0; k < 2; k++)
        CHECK(refused(WORDS("layer1.txt:2: launch.dependent: no longer a key", "runs as with off"), layers[k], NULL));
    for (int k = 0; k < 3; k++) { /* saved as the program still runs; otherwise; asked for anew */
        const MdDeckSaved saved = {.path = "run.restart", .name = "run", .text = layers[k % 2]};
        MdErrors *errors = md_errors_create();
        MdDeck *deck = md_deck_resume(&saved, k == 2, &argument, errors);
        char *messages = join_messages(errors);
        check_context("a former key, case %d", k);
        CHECK((deck != NULL) == (k < 2));
        if (k == 2) CHECK(strstr(messages, "command line: launch.dependent: no"));
        free(messages);
        md_errors_destroy(errors);
        md_deck_destroy(deck);
    }
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

int main(void) {
    test_defaults();
    test_types();
    test_whole_numbers();
    test_real_numbers();
    test_hints();
    test_messages();
    test_former_key();
    test_many_problems();
    test_times();
    test_every_row();
    return check_finish();
}
