/* A restart file is opened, and the run is taken from it: deck, plan, record, the state of the backend. */
#define _DEFAULT_SOURCE 1
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/range.h"
#include "checkpoint/file.h"
#include "output/path.h"
#include "output/schedule.h"

static MdStatus read_section(MdCheckpoint *c, const char *name, void *data, uint64_t n_bytes) {
    MdStatus status = md_restart_find(c->file, name, n_bytes);
    return status == MD_OK ? md_restart_read(c->file, data, n_bytes) : status;
}

/* A step more than any run may have, so that counts of steps never overflow; numbers beyond are none of a run. */
static const double most_steps = 1e15, most_length = 1e15;

static MdStatus check_run(const MdCheckpoint *c, MdErrors *errors) {
    const MdRunNumbers *run = &c->run;
    const double frames = (double)run->step + 1, counts = 1e18;
    const MdRange ranges[] = {
        {"step", (double)run->step, 0, most_steps},
        {"frames", (double)run->n_frames, 0, frames},
        {"frames of the XYZ file", (double)run->n_xyz_frames, 0, frames},
        {"rebuilds", (double)run->n_rebuilds, 0, counts},
        {"late rebuilds", (double)run->n_late_rebuilds, 0, counts},
        {"overflows", (double)run->n_overflows, 0, counts},
        {"heat of the thermostat", run->heat, -1e300, 1e300},
        {"length of the run's key", (double)strnlen(run->run_id, sizeof run->run_id), 0, sizeof run->run_id - 1}};
    return MD_RANGE_CHECK(ranges, c->path, errors);
}

static MdStatus check_system(const MdCheckpoint *c, MdErrors *errors) {
    const MdSystemNumbers *s = &c->system;
    const MdRange ranges[] = {{"particles", (double)s->n_atoms, 1, INT32_MAX},
                              {"dimension", (double)s->dimension, 2, 3},
                              {"types", (double)s->n_types, 1, MD_MAX_TYPES},
                              {"velocities of a file", (double)s->file_velocities, 0, 1},
                              {"density", s->density, DBL_MIN, DBL_MAX}};
    MdStatus status = MD_RANGE_CHECK(ranges, c->path, errors);
    for (int a = 0; status == MD_OK && a < 3; a++) {
        const bool there = a < s->dimension;
        const MdRange axis[] = {{"periodic axis", (double)s->periodic[a], 0, there},
                                {"length of the box", s->length[a], there ? DBL_MIN : 0, most_length}};
        status = MD_RANGE_CHECK(axis, c->path, errors);
    }
    for (int t = 0; status == MD_OK && t < s->n_types; t++) {
        const size_t length = strnlen(s->type_name[t], MD_TYPE_NAME_SIZE);
        const MdRange type[] = {{"mass", s->mass[t], DBL_MIN, DBL_MAX},
                                {"length of a type's name", (double)length, 0, MD_TYPE_NAME_SIZE - 1}};
        status = MD_RANGE_CHECK(type, c->path, errors);
    }
    for (int k = 0; k < MD_N_COLUMNS && status == MD_OK; k++)
        if (md_columns[k].traits & MD_COLUMN_FIXED)
            status = md_restart_find(c->file, md_columns[k].name, (uint64_t)s->n_atoms * md_system_column_bytes(k));
    return status;
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
                 read_section(c, "system", &c->system, sizeof c->system) == MD_OK && check_run(c, errors) == MD_OK &&
                 check_system(c, errors) == MD_OK)
            return c;
    }
    md_checkpoint_close(c);
    return NULL;
}

void md_checkpoint_close(MdCheckpoint *c) {
    if (!c) return;
    md_restart_close(c->file);
    for (int k = 0; k < MD_N_COLUMNS; k++) md_free(c->fixed[k]);
    free(c->path);
    free(c->name);
    free(c->deck);
    free(c->switches);
    free(c->origin);
    md_free(c);
}

MdStatus md_checkpoint_bath(MdCheckpoint *c, const MdConfig *config, MdBathSaved *bath, MdErrors *errors) {
    *bath = (MdBathSaved){.heat = c->run.heat};
    if (!(md_bath_traits(config->ensemble_thermostat) & MD_BATH_HAS_CHAIN)) return MD_OK;
    MdStatus status = read_section(c, "chain", bath->state, sizeof bath->state);
    for (int k = 0; status == MD_OK && k < MD_BATH_STATE; k++) {
        const MdRange range[] = {{"chain of the thermostat", bath->state[k], -1e300, 1e300}};
        status = MD_RANGE_CHECK(range, c->path, errors);
    }
    return status;
}

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

/* A potential file must have the functions that the run had. */
static MdStatus check_potential(MdCheckpoint *c, const MdDeck *deck, const MdTables *tables, MdErrors *errors) {
    uint64_t before;
    if (!tables) return MD_OK;
    const MdStatus status = read_section(c, "potential", &before, sizeof before);
    if (status != MD_OK || before == tables->checksum) return status;
    return md_fail(errors, MD_ERROR_INPUT,
                   "%s: potential.file: %s has other functions than in the run that is resumed, and the physics cannot "
                   "change on the way",
                   md_deck_origin(deck, MD_OPTION_potential_file), md_deck_config(deck)->potential_file);
}

MdStatus md_checkpoint_plan(MdCheckpoint *c, const MdDeck *deck, MdSystemPlan *plan, MdErrors *errors) {
    const MdSystemNumbers *s = &c->system;
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
    const int64_t dimension = md_deck_config(deck)->system_dimension;
    const MdRange asked[] = {{"dimension", (double)s->dimension, (double)dimension, (double)dimension}};
    MdStatus status = MD_RANGE_CHECK(asked, c->path, errors);
    if (status == MD_OK)
        status = md_potential_from_config(deck, (int)s->n_types, plan->type_name, &plan->potential, errors);
    if (status == MD_OK) status = check_potential(c, deck, plan->potential.tables, errors);
    if (status == MD_OK) md_potential_set_slopes(&plan->potential, plan->box.dimension, plan->density);
    const double skin = md_deck_config(deck)->neighbor_skin;
    if (status == MD_OK) status = md_system_check_range(deck, plan, md_is_auto(skin) ? 0 : skin, errors);
    return status;
}

/* --- the record ----------------------------------------------------------------------------------------------------- */

/* The last row of a run that ended is there because it was the last; extended, the run is one that never ended. */
static void drop_last_row(MdRecord *r) {
    MdHistory *history = &r->history;
    if (history->n < 2 || history->rows[history->n - 1].step != r->step) return;
    const int64_t every_before = md_deck_config(md_deck_before(r->deck))->output_thermo_every;
    if (!md_schedule_stays(every_before, r->config->output_thermo_every, r->step, r->config->run_steps)) history->n--;
}

static MdStatus read_tensors(MdCheckpoint *c, MdHistory *history) {
    const uint64_t bytes = sizeof history->rows->pressure_tensor;
    MdStatus status = md_restart_find(c->file, "pressure_tensor", history->n * bytes);
    for (size_t k = 0; k < history->n && status == MD_OK; k++)
        status = md_restart_read(c->file, history->rows[k].pressure_tensor, bytes);
    return status;
}

/* Rows of a run that had no tensor, or of an older program, have none. */
static MdStatus read_history(MdCheckpoint *c, MdRecord *r) {
    const uint64_t bytes = md_restart_bytes(c->file, "thermo");
    const uint64_t n = bytes / MD_THERMO_SAVED_BYTES;
    MdStatus status = md_restart_find(c->file, "thermo", n * MD_THERMO_SAVED_BYTES);
    double least = 0;
    for (uint64_t k = 0; status == MD_OK && k < n; k++) {
        MdThermo row = {0};
        for (int component = 0; component < MD_N_TENSOR; component++) row.pressure_tensor[component] = NAN;
        status = md_restart_read(c->file, &row, MD_THERMO_SAVED_BYTES);
        const MdRange step[] = {{"step of a thermo row", (double)row.step, least, (double)c->run.step}};
        if (status == MD_OK) status = MD_RANGE_CHECK(step, c->path, r->errors);
        if (status == MD_OK) md_history_add(&r->history, &row);
        least = (double)row.step + 1;
    }
    if (status == MD_OK && md_restart_bytes(c->file, "pressure_tensor") != UINT64_MAX)
        status = read_tensors(c, &r->history);
    return status;
}

/* The checks of the start; there must be room for those of the end. A bool is read only if its byte is 0 or 1. */
static MdStatus read_checks(MdCheckpoint *c, MdRecord *r) {
    MdVerification *v = &r->verification;
    MdStatus status = read_section(c, "checks", v, MD_VERIFICATION_SAVED_BYTES);
    if (status != MD_OK) return status;
    enum { ROOM = sizeof v->checks / sizeof *v->checks };
    const MdRange ranges[] = {{"checks", (double)v->n_checks, 0, ROOM / 2},
                              {"complete", *(const unsigned char *)&v->complete, 0, 1},
                              {"step of a fault", (double)v->fault.step, -1, -1}};
    status = MD_RANGE_CHECK(ranges, c->path, r->errors);
    for (int k = 0; status == MD_OK && k < v->n_checks; k++) {
        const size_t room = sizeof v->checks[k].name, length = strnlen(v->checks[k].name, room);
        const MdRange check[] = {{"length of a check's name", (double)length, 0, (double)room - 1},
                                 {"step of a check", (double)v->checks[k].step, -1, (double)c->run.step}};
        status = MD_RANGE_CHECK(check, c->path, r->errors);
    }
    return status;
}

static MdStatus read_sessions(MdCheckpoint *c, MdRecord *r) {
    MdResume *resume = &r->resume;
    const uint64_t n = md_restart_bytes(c->file, "sessions") / sizeof(MdSession);
    resume->n_sessions = n < MD_MAX_SESSIONS ? (int64_t)n : MD_MAX_SESSIONS;
    MdStatus status = read_section(c, "sessions", resume->sessions, (uint64_t)resume->n_sessions * sizeof(MdSession));
    for (int64_t k = 0; status == MD_OK && k < resume->n_sessions; k++) {
        const MdSession *session = &resume->sessions[k];
        const MdRange ranges[] = {{"last step of a process", (double)session->to_step, 0, (double)c->run.step},
                                  {"first step of a process", (double)session->from_step, 0, (double)session->to_step},
                                  {"seconds of a process", session->loop_seconds, 0, DBL_MAX}};
        status = MD_RANGE_CHECK(ranges, c->path, r->errors);
    }
    return status;
}

/* Whether the file has sums of the same samples: those are read. */
static bool has_sums(MdCheckpoint *c, const MdAnalysisPart *part, MdStatus *status) {
    if (md_restart_bytes(c->file, part->section) != part->bytes) return false;
    char *read = md_alloc(part->bytes, 1, "analysis");
    *status = read_section(c, part->section, read, part->bytes);
    const bool same = *status == MD_OK && memcmp(read, part->state, part->head_bytes) == 0;
    if (same) memcpy(part->state, read, part->bytes);
    md_free(read);
    return same;
}

/* Whether an option has another value than in the run before: then that is told. */
static bool tell_change(const MdCheckpoint *c, const MdAnalysisPart *part, int option, MdRecord *r) {
    char *value = md_deck_value_text(r->deck, option), *was = md_deck_value_text(md_deck_before(r->deck), option);
    const bool changed = strcmp(value, was) != 0;
    if (changed)
        md_fail(r->errors, MD_ERROR_INPUT,
                "%s: %s: read %s, but it is %s in the run that is resumed (%s), whose sums go on with that only: take "
                "it, or begin anew with %s above %lld",
                md_deck_origin(r->deck, option), md_option_name(option), value, was, c->path,
                md_option_name(part->options[0]), (long long)r->step);
    free(value);
    free(was);
    return changed;
}

static MdStatus refuse_sums(const MdCheckpoint *c, const MdAnalysisPart *part, MdRecord *r) {
    const int *options = part->options, every = options[1];
    bool told = false;
    for (int k = 0; md_restart_bytes(c->file, part->section) > 0 && options[k] >= 0; k++)
        told |= tell_change(c, part, options[k], r);
    if (told) return MD_ERROR_INPUT;
    return md_fail(r->errors, MD_ERROR_INPUT,
                   "%s: %s: %s, of step %lld, has no sums that could go on: begin anew with %s above %lld",
                   md_deck_origin(r->deck, every), md_option_name(every), c->path, (long long)r->step,
                   md_option_name(options[0]), (long long)r->step);
}

/* Other sums than those of the file begin after its step. */
static MdStatus read_analysis(MdCheckpoint *c, MdRecord *r) {
    MdAnalysisPart parts[MD_ANALYSIS_PARTS];
    const int n = md_analysis_parts(r->analysis, parts);
    MdStatus status = MD_OK;
    for (int k = 0; k < n && status == MD_OK; k++) {
        const MdAnalysisPart *part = &parts[k];
        if (has_sums(c, part, &status) || status != MD_OK) continue;
        if (part->column >= 0) r->resume.begins_anew[part->column] = true;
        if (part->from > r->step) continue;
        status = refuse_sums(c, part, r);
    }
    return status;
}

static void judge_bits(const MdCheckpoint *c, MdRecord *r) {
    MdResume *resume = &r->resume;
    char *switches = md_bits_switches(r), *origin = md_bits_origin(r);
    resume->difference = md_bits_difference(c->switches, switches);
    resume->same_list = !resume->difference;
    if (!resume->difference) resume->difference = md_bits_difference(c->origin, origin);
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
    MdStatus status = read_checks(c, r);
    if (status == MD_OK) status = read_history(c, r);
    if (status == MD_OK) status = read_sessions(c, r);
    if (status == MD_OK) status = read_analysis(c, r);
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

typedef struct Loading {
    MdState state;
    MdRestart *file;
    const MdSystem *system;
} Loading;

static MdStatus load_begin(MdState *state, const char *name, uint64_t row_bytes, int64_t n_rows) {
    const Loading *from = (Loading *)state;
    if (n_rows == MD_STATE_COMMON) return md_restart_find(from->file, name, row_bytes);
    return md_checkpoint_find_rows(from->file, from->system, name, row_bytes);
}

static MdStatus load_move(MdState *state, void *data, uint64_t bytes) {
    return md_restart_read(((Loading *)state)->file, data, bytes);
}

static Loading begin_loading(MdCheckpoint *c, const MdRecord *r, const MdSystem *system) {
    Loading from = {.state = {.loading = true,
                              .same_list = r->resume.same_list,
                              .step = c->run.step,
                              .path = c->path,
                              .errors = r->errors,
                              .begin = load_begin,
                              .move = load_move},
                    .file = c->file,
                    .system = system};
    for (int k = 0; k < MD_N_COLUMNS; k++) {
        from.state.fixed[k] = c->fixed[k];
        from.state.begins_anew[k] = r->resume.begins_anew[k];
    }
    return from;
}

MdStatus md_checkpoint_load(MdCheckpoint *c, const MdRecord *r, const MdSystem *system, void *context) {
    Loading from = begin_loading(c, r, system);
    return r->ops->load(context, &from.state);
}

MdStatus md_checkpoint_check(MdCheckpoint *c, const MdRecord *r, double *kinetic) {
    MdSystem *system = md_checkpoint_system(c, &r->plan, r->errors);
    if (!system) return MD_ERROR_INPUT;
    Loading from = begin_loading(c, r, system);
    MdStatus status = MD_OK;
    for (int k = 0; k < MD_N_COLUMNS && status == MD_OK; k++)
        if (md_columns[k].traits & MD_COLUMN_SAVED && md_column_is_there(k, r->config) && !r->resume.begins_anew[k])
            status = md_checkpoint_find_rows(c->file, system, md_columns[k].name,
                                             md_column_bytes(k, r->config->run_precision));
    if (status == MD_OK && r->resume.same_list && !r->no_gpu)
        status = r->ops->check_list(r->config, &r->plan, &from.state);
    status = md_comm_worst_status(r->comm, status, r->errors);
    if (status == MD_OK) status = md_checkpoint_kinetic(c, system, kinetic);
    md_system_destroy(system);
    return status;
}
