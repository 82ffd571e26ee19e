#define _DEFAULT_SOURCE 1
#include "checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/version.h"
#include "deck/table.h"
#include "output/path.h"
#include "output/restart.h"
#include "output/schedule.h"

/* Numbers of the run; no gaps, as the bytes go into the file. */
typedef struct RunNumbers {
    int64_t step, n_frames, n_xyz_frames;
    int64_t n_rebuilds, n_late_rebuilds, n_overflows;
    double heat; /* of the thermostat */
    char run_id[24];
} RunNumbers;

typedef struct SystemNumbers {
    int64_t n_atoms, dimension, periodic[3], n_types, file_velocities;
    double length[3], mass[MD_MAX_TYPES], density;
    char type_name[MD_MAX_TYPES][MD_TYPE_NAME_SIZE];
} SystemNumbers;

struct MdCheckpoint {
    MdRestart *file;
    char *path, *name, *deck, *switches, *origin;
    RunNumbers run;
    SystemNumbers system;
};

/* --- what the bits hang on ------------------------------------------------------------------------------------------ */

/* What cannot change a bit: where it runs, how closely it is watched, how output gets into its files, and where the random
 * numbers of the start were made. */
static bool shapes_bits(int option) {
    return md_option_kind(option) == MD_KIND_PERFORMANCE && strncmp(md_option_name(option), "output.", 7) != 0 &&
           option != MD_OPTION_run_backend && option != MD_OPTION_run_threads && option != MD_OPTION_run_device &&
           option != MD_OPTION_check_kernels && option != MD_OPTION_system_random;
}

/* `key=value` a line: the backend, and the switches as they run. */
static char *compose_switches(const MdRecord *r) {
    char *text =
        md_format("%sbackend=%s\n", r->resume.list_verified ? "list=made for the verification\n" : "", r->ops->name);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (!shapes_bits(k) || !md_option_has_effect(r->config, k) || r->lacking[k]) continue;
        char *value = md_config_value_text(r->config, k);
        char *longer = md_format("%s%s=%s\n", text, md_option_name(k), value);
        free(text);
        free(value);
        text = longer;
    }
    return text;
}

/* `what: value` a line. The last part of the details of a cpu is its instruction set. */
static char *compose_origin(const MdRecord *r) {
    const MdVersion *version = md_version();
    const char *last = strrchr(r->machine.details, ',');
    return md_format("program: %s (%s%s)\nmachine: %s%s\n", version->version, version->commit,
                     version->dirty ? ", dirty" : "", r->machine.name, last ? last : "");
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line != '\0');
}

/* The line of text that begins with the key (up to = or :) that `line` begins with; NULL: none does. */
static const char *find_key(const char *text, const char *line) {
    const size_t n = strcspn(line, "=:\n");
    while (*text && strncmp(text, line, n + 1) != 0) text = next_line(text);
    return *text ? text : NULL;
}

/* Whether the line is of a key that is no more, with the value that everything has now. */
static bool is_former(const char *line) {
    char section[32], key[32], value[32];
    if (sscanf(line, "%31[^.=:\n].%31[^=:\n]=%31[^\n]", section, key, value) != 3) return false;
    const MdFormerKey *former = md_former_key(section, key);
    return former && strcmp(former->value, value) == 0;
}

/* The lines in which the texts differ, in words; NULL when they are the same. From malloc. */
static char *find_difference(const char *before, const char *now) {
    MdText text = {0};
    for (const char *was = before; *was; was = next_line(was)) {
        const char *is = find_key(now, was), *joint = text.length ? "; " : "";
        const int n = (int)strcspn(was, "\n"), m = is ? (int)strcspn(is, "\n") : 0;
        if (!is && is_former(was)) continue;
        if (!is) md_text_add(&text, "%sit was %.*s, which has no part in it now", joint, n, was);
        else if (n != m || strncmp(was, is, (size_t)n) != 0)
            md_text_add(&text, "%sit was %.*s and is %.*s", joint, n, was, m, is);
    }
    for (const char *is = now; *is; is = next_line(is))
        if (!find_key(before, is))
            md_text_add(&text, "%sit is %.*s, which had no part in it before", text.length ? "; " : "",
                        (int)strcspn(is, "\n"), is);
    if (text.length) return md_text_take(&text);
    return NULL;
}

/* --- opening -------------------------------------------------------------------------------------------------------- */

static MdStatus read_section(MdCheckpoint *c, const char *name, void *data, uint64_t n_bytes) {
    MdStatus status = md_restart_find(c->file, name, n_bytes);
    return status == MD_OK ? md_restart_read(c->file, data, n_bytes) : status;
}

MdCheckpoint *md_checkpoint_open(const char *path, MdErrors *errors) {
    MdCheckpoint *c = md_alloc(1, sizeof *c, "restart file");
    c->file = md_restart_open(path, errors);
    if (c->file) {
        c->path = md_copy_text(path);
        c->name = md_restart_text(c->file, "name");
        c->deck = md_restart_text(c->file, "deck");
        c->switches = md_restart_text(c->file, "switches");
        c->origin = md_restart_text(c->file, "origin");
        if (!c->name || !c->deck || !c->switches || !c->origin)
            md_fail(errors, MD_ERROR_INPUT, "%s: holds no run that could be resumed", path);
        else if (read_section(c, "run", &c->run, sizeof c->run) == MD_OK &&
                 read_section(c, "system", &c->system, sizeof c->system) == MD_OK)
            return c;
    }
    md_checkpoint_close(c);
    return NULL;
}

void md_checkpoint_close(MdCheckpoint *c) {
    if (!c) return;
    md_restart_close(c->file);
    free(c->path);
    free(c->name);
    free(c->deck);
    free(c->switches);
    free(c->origin);
    md_free(c);
}

double md_checkpoint_heat(const MdCheckpoint *c) { return c->run.heat; }

MdDeck *md_checkpoint_deck(const MdCheckpoint *c, int n_arguments, char *const *arguments, MdErrors *errors) {
    const MdDeckSaved saved = {.path = c->path, .name = c->name, .text = c->deck};
    MdDeck *deck = md_deck_resume(&saved, n_arguments, arguments, errors);
    if (!deck || md_deck_config(deck)->run_steps >= c->run.step) return deck;
    md_fail(errors, MD_ERROR_INPUT, "%s: run.steps: read %" PRId64 ", but step %" PRId64 " is done already",
            md_deck_origin(deck, MD_OPTION_run_steps), md_deck_config(deck)->run_steps, c->run.step);
    md_deck_destroy(deck);
    return NULL;
}

MdFilesUse md_checkpoint_files(const MdCheckpoint *c, bool bench) {
    return (MdFilesUse){.bench = bench,
                        .resumed = c->path,
                        .from_step = c->run.step,
                        .has_h5 = c->run.n_frames > 0,
                        .has_xyz = c->run.n_xyz_frames > 0};
}

/* --- the system ----------------------------------------------------------------------------------------------------- */

MdStatus md_checkpoint_plan(MdCheckpoint *c, const MdDeck *deck, MdSystemPlan *plan, MdErrors *errors) {
    const SystemNumbers *s = &c->system;
    *plan = (MdSystemPlan){.n_atoms = s->n_atoms,
                           .box.dimension = (int)s->dimension,
                           .density = s->density,
                           .file_velocities = s->file_velocities != 0};
    for (int a = 0; a < 3; a++) {
        plan->box.length[a] = s->length[a];
        plan->box.periodic[a] = s->periodic[a] != 0;
        if (plan->box.periodic[a]) plan->extent = fmax(plan->extent, plan->box.length[a]);
    }
    memcpy(plan->type_name, s->type_name, sizeof plan->type_name);
    MdStatus status = md_potential_from_config(deck, (int)s->n_types, &plan->potential, errors);
    const double skin = md_deck_config(deck)->neighbor_skin;
    if (status == MD_OK) status = md_system_check_range(deck, plan, md_is_auto(skin) ? 0 : skin, errors);
    return status;
}

/* ids are used as indices: each must be there once. */
static bool is_permutation(const int32_t *ids, int64_t n) {
    char *seen = md_alloc((size_t)n, 1, "ids");
    bool good = true;
    for (int64_t i = 0; good && i < n; i++) {
        good = ids[i] >= 0 && ids[i] < n && !seen[ids[i]];
        if (good) seen[ids[i]] = 1;
    }
    md_free(seen);
    return good;
}

/* Places by id, as far as the first room of the list hangs on where atoms are. */
static MdStatus read_places(MdCheckpoint *c, MdSystem *system, MdErrors *errors) {
    const size_t n = (size_t)system->n_atoms;
    int32_t *ids = md_alloc(n, sizeof *ids, "ids");
    const uint64_t bytes = md_restart_bytes(c->file, "position");
    const size_t size = bytes == 3 * n * sizeof(float) ? sizeof(float) : sizeof(double);
    MdStatus status = read_section(c, "id", ids, n * sizeof *ids);
    if (status == MD_OK && !is_permutation(ids, system->n_atoms))
        status = md_fail(errors, MD_ERROR_INPUT, "%s: ids are not 0 to %zu", c->path, n - 1);
    if (status == MD_OK) status = md_restart_find(c->file, "position", 3 * n * size);
    for (size_t i = 0; status == MD_OK && i < n; i++) {
        double row[3];
        float single[3];
        status = md_restart_read(c->file, size == sizeof(float) ? (void *)single : (void *)row, 3 * size);
        for (int a = 0; a < 3; a++)
            system->position[3 * (size_t)ids[i] + (size_t)a] = size == sizeof(float) ? (double)single[a] : row[a];
    }
    md_free(ids);
    return status;
}

MdSystem *md_checkpoint_system(MdCheckpoint *c, const MdSystemPlan *plan, MdErrors *errors) {
    MdSystem *system = md_system_allocate(plan, c->system.mass);
    MdStatus status = read_section(c, "type", system->type, (uint64_t)plan->n_atoms * sizeof *system->type);
    if (status == MD_OK) status = read_places(c, system, errors);
    if (status == MD_OK) return system;
    md_system_destroy(system);
    return NULL;
}

/* --- the record ----------------------------------------------------------------------------------------------------- */

/* The last row of a run that ended is there because it was the last; extended, the run is one that never ended. */
static void drop_last_row(MdRecord *r) {
    MdHistory *history = &r->history;
    if (history->n < 2 || history->rows[history->n - 1].step != r->step) return;
    const int64_t every_before = md_deck_config(md_deck_before(r->deck))->output_thermo_every;
    if (!md_schedule_stays(every_before, r->config->output_thermo_every, r->step, r->config->run_steps)) history->n--;
}

static MdStatus read_history(MdCheckpoint *c, MdRecord *r) {
    const uint64_t bytes = md_restart_bytes(c->file, "thermo");
    const uint64_t n = bytes / sizeof(MdThermo);
    MdStatus status = md_restart_find(c->file, "thermo", n * sizeof(MdThermo));
    for (uint64_t k = 0; status == MD_OK && k < n; k++) {
        MdThermo row;
        status = md_restart_read(c->file, &row, sizeof row);
        if (status == MD_OK) md_history_add(&r->history, &row);
    }
    return status;
}

static MdStatus read_sessions(MdCheckpoint *c, MdResume *resume) {
    const uint64_t n = md_restart_bytes(c->file, "sessions") / sizeof(MdSession);
    resume->n_sessions = n < MD_MAX_SESSIONS ? (int64_t)n : MD_MAX_SESSIONS;
    return read_section(c, "sessions", resume->sessions, (uint64_t)resume->n_sessions * sizeof(MdSession));
}

static void judge_bits(const MdCheckpoint *c, MdRecord *r) {
    MdResume *resume = &r->resume;
    char *switches = compose_switches(r), *origin = compose_origin(r);
    resume->difference = find_difference(c->switches, switches);
    resume->same_list = !resume->difference;
    if (!resume->difference) resume->difference = find_difference(c->origin, origin);
    if (!resume->difference && !md_variants_deterministic(r->ops->variants(), r->config))
        resume->difference = md_copy_text("its switches do not give the same bits twice");
    free(switches);
    free(origin);
}

/* Frames that were due up to the step of the restart file and were not in the file of `n_there`: it was full, or lost. Only the
 * process that begins a run leaves a restart file behind such frames. */
static int64_t count_missing(const MdRecord *r, int64_t every, int64_t n_there) {
    const int64_t step = r->resume.from_step, last = md_deck_config(md_deck_before(r->deck))->run_steps;
    if (every == 0 || r->resume.n_sessions != 1) return 0;
    const int64_t due = step / every + 1 + (step == last && step % every != 0);
    return due > n_there ? due - n_there : 0;
}

MdStatus md_checkpoint_recall(MdCheckpoint *c, MdRecord *r) {
    MdResume *resume = &r->resume;
    resume->from = c->path;
    r->step = resume->from_step = c->run.step;
    resume->good_step = r->files.restart && md_path_same(c->path, r->files.restart) ? c->run.step : -1;
    resume->n_frames = c->run.n_frames;
    resume->n_xyz_frames = c->run.n_xyz_frames;
    memcpy(resume->run_id, c->run.run_id, sizeof resume->run_id);
    resume->before.n_rebuilds = c->run.n_rebuilds;
    resume->before.n_late_rebuilds = c->run.n_late_rebuilds;
    resume->before.n_overflows = c->run.n_overflows;
    judge_bits(c, r);
    MdStatus status = read_section(c, "checks", &r->verification, sizeof r->verification);
    if (status == MD_OK) status = read_history(c, r);
    if (status == MD_OK) status = read_sessions(c, resume);
    const MdConfig *before = md_deck_config(md_deck_before(r->deck));
    resume->n_missing = count_missing(r, before->output_frames_every, resume->n_frames);
    resume->n_xyz_missing = count_missing(r, before->output_xyz_every, resume->n_xyz_frames);
    drop_last_row(r);
    return status;
}

MdStatus md_checkpoint_name(MdRecord *r) {
    r->resume.good_step = -1;
    uint64_t number = 0;
    /* Where the system has no random numbers yet, time and process tell two runs apart as well. */
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid();
    snprintf(r->resume.run_id, sizeof r->resume.run_id, "%016" PRIx64, number);
    return MD_OK;
}

/* --- the state of the backend ---------------------------------------------------------------------------------------- */

typedef struct FileState {
    MdState state;
    MdRestart *file;
} FileState;

static MdStatus save_begin(MdState *state, const char *name, uint64_t bytes) {
    return md_restart_begin(((FileState *)state)->file, name, bytes);
}
static MdStatus save_move(MdState *state, void *data, uint64_t bytes) {
    return md_restart_write(((FileState *)state)->file, data, bytes);
}
static MdStatus load_begin(MdState *state, const char *name, uint64_t bytes) {
    return md_restart_find(((FileState *)state)->file, name, bytes);
}
static MdStatus load_move(MdState *state, void *data, uint64_t bytes) {
    return md_restart_read(((FileState *)state)->file, data, bytes);
}

MdStatus md_checkpoint_load(MdCheckpoint *c, const MdRecord *r, const MdSystem *system, void *context) {
    FileState from = {.state = {.loading = true,
                                .same_list = r->resume.same_list,
                                .step = c->run.step,
                                .type = system->type,
                                .begin = load_begin,
                                .move = load_move},
                      .file = c->file};
    return r->ops->load(context, &from.state);
}

/* --- saving --------------------------------------------------------------------------------------------------------- */

static void put(MdRestart *file, const char *name, const void *data, uint64_t n_bytes) {
    if (md_restart_begin(file, name, n_bytes) == MD_OK) md_restart_write(file, data, n_bytes);
}

static void put_text(MdRestart *file, const char *name, const char *text) { put(file, name, text, strlen(text)); }

static void put_run(MdRestart *file, const MdRecord *r, double heat, void *context) {
    MdStatistics now;
    r->ops->statistics(context, &now);
    RunNumbers run = {.step = r->step,
                      .n_frames = r->resume.n_frames,
                      .n_xyz_frames = r->resume.n_xyz_frames,
                      .n_rebuilds = r->resume.before.n_rebuilds + now.n_rebuilds,
                      .n_late_rebuilds = r->resume.before.n_late_rebuilds + now.n_late_rebuilds,
                      .n_overflows = r->resume.before.n_overflows + now.n_overflows,
                      .heat = heat};
    memcpy(run.run_id, r->resume.run_id, sizeof run.run_id);
    put(file, "run", &run, sizeof run);
}

static void put_system(MdRestart *file, const MdSystemPlan *plan, const MdSystem *system) {
    SystemNumbers numbers = {.n_atoms = plan->n_atoms,
                             .dimension = plan->box.dimension,
                             .n_types = plan->potential.n_types,
                             .file_velocities = plan->file_velocities,
                             .density = plan->density};
    for (int a = 0; a < 3; a++) {
        numbers.length[a] = plan->box.length[a];
        numbers.periodic[a] = plan->box.periodic[a];
    }
    memcpy(numbers.mass, system->mass, sizeof numbers.mass);
    memcpy(numbers.type_name, plan->type_name, sizeof numbers.type_name);
    put(file, "system", &numbers, sizeof numbers);
    put(file, "type", system->type, (uint64_t)plan->n_atoms * sizeof *system->type);
}

/* Those before, and this one as far as it is; one that finds all done is none. */
static void put_sessions(MdRestart *file, const MdRecord *r) {
    const MdResume *resume = &r->resume;
    if (resume->reported) {
        put(file, "sessions", resume->sessions, (uint64_t)resume->n_sessions * sizeof(MdSession));
        return;
    }
    const uint64_t before = (uint64_t)(resume->n_sessions < MD_MAX_SESSIONS ? resume->n_sessions : MD_MAX_SESSIONS - 1);
    MdSession now = {resume->from_step, r->step, r->loop_seconds};
    if (resume->n_sessions == MD_MAX_SESSIONS) {
        now.from_step = resume->sessions[before].from_step;
        now.loop_seconds += resume->sessions[before].loop_seconds;
    }
    if (md_restart_begin(file, "sessions", (before + 1) * sizeof now) != MD_OK) return;
    md_restart_write(file, resume->sessions, before * sizeof now);
    md_restart_write(file, &now, sizeof now);
}

/* Of a particle: type, id, image; place and velocity; force, and the place at the last rebuild, which backends keep in either
 * precision. */
uint64_t md_checkpoint_bytes(const MdRecord *r) {
    const MdConfig *c = r->config;
    const uint64_t real = c->run_precision == MD_PRECISION_SINGLE ? sizeof(float) : sizeof(double);
    const uint64_t pair = c->run_precision == MD_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
    return (uint64_t)r->plan.n_atoms * (5 * sizeof(int32_t) + 9 * real + 3 * pair);
}

MdStatus md_checkpoint_save(const MdRecord *r, const MdSystem *system, double heat, void *context, bool *stands) {
    *stands = false;
    /* A file that nobody has checked may be damaged, and one of the same step is no older generation. */
    const int64_t before = r->resume.good_step;
    MdRestart *file = md_restart_create(r->files.restart, before >= 0 && before != r->step, r->errors);
    if (!file) return MD_ERROR_OUTPUT;
    char *switches = compose_switches(r), *origin = compose_origin(r);
    put_text(file, "name", md_deck_name(r->deck));
    put_text(file, "deck", r->effective_deck);
    put_text(file, "switches", switches);
    put_text(file, "origin", origin);
    put_run(file, r, heat, context);
    put_system(file, &r->plan, system);
    put(file, "checks", &r->verification, sizeof r->verification);
    put(file, "thermo", r->history.rows, r->history.n * sizeof *r->history.rows);
    put_sessions(file, r);
    free(switches);
    free(origin);
    FileState to = {.state = {.step = r->step, .begin = save_begin, .move = save_move}, .file = file};
    return md_restart_commit(file, r->ops->save(context, &to.state), stands);
}
