/* The run goes into a restart file. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/file.h"

/* --- the state of the backend ---------------------------------------------------------------------------------------- */

/* The state of all processes on its way into one file: rank 0 writes its rows, then those that the others send it, in pieces and
 * one rank after the other. The others wait: they have their rows in memory, and no process has memory for all rows. */
typedef struct Saving {
    MdState state;
    MdRestart *file; /* NULL: rank 0 has it */
    const MdSystem *system;
    int64_t *bytes; /* [ranks] of the section under way; NULL: none is, or it is the same in all */
    char *piece;    /* on its way; [piece_bytes] */
    int64_t filled;
} Saving;

static const int64_t piece_bytes = 1 << 22;

static void pass_piece(Saving *to, int rank, bool is_sent, int64_t bytes) {
    const MdMessage message = {.rank = rank, .is_sent = is_sent, .data = to->piece, .bytes = bytes};
    md_comm_begin(to->system->comm, &message, 1);
    md_comm_end(to->system->comm);
}

static void end_section(Saving *to) {
    MdComm *comm = to->system->comm;
    if (!to->bytes) return;
    if (!md_comm_is_root(comm) && to->filled > 0) pass_piece(to, 0, true, to->filled);
    for (int rank = 1; md_comm_is_root(comm) && rank < md_comm_size(comm); rank++)
        for (int64_t left = to->bytes[rank]; left > 0; left -= piece_bytes) {
            const int64_t n = left < piece_bytes ? left : piece_bytes;
            pass_piece(to, rank, false, n);
            md_restart_write(to->file, to->piece, (uint64_t)n); /* a failure is kept until the commit */
        }
    md_free(to->bytes);
    to->bytes = NULL;
    to->filled = 0;
}

static MdStatus save_begin(MdState *state, const char *name, uint64_t row_bytes, int64_t n_rows) {
    Saving *to = (Saving *)state;
    const MdComm *comm = to->system->comm;
    int64_t own = (int64_t)row_bytes * n_rows, all = 0;
    end_section(to);
    if (n_rows == MD_STATE_COMMON) {
        if (to->file) md_restart_begin(to->file, name, row_bytes);
        return MD_OK;
    }
    to->bytes = md_alloc((size_t)md_comm_size(comm), sizeof *to->bytes, "sections of ranks");
    md_comm_allgather(comm, &own, sizeof own, to->bytes);
    for (int rank = 0; rank < md_comm_size(comm); rank++) all += to->bytes[rank];
    if (to->file) md_restart_begin(to->file, name, (uint64_t)all);
    return MD_OK;
}

static MdStatus save_move(MdState *state, void *data, uint64_t bytes) {
    Saving *to = (Saving *)state;
    if (to->file) md_restart_write(to->file, data, bytes);
    if (to->file || !to->bytes) return MD_OK; /* a section that is the same in all is rank 0's */
    for (const char *from = data, *end = from + bytes; from < end;) {
        const int64_t room = piece_bytes - to->filled, n = end - from < room ? end - from : room;
        memcpy(to->piece + to->filled, from, (size_t)n);
        to->filled += n;
        from += n;
        if (to->filled < piece_bytes) continue;
        pass_piece(to, 0, true, to->filled);
        to->filled = 0;
    }
    return MD_OK;
}

/* --- the run ------------------------------------------------------------------------------------------------------- */

static void put(MdRestart *file, const char *name, const void *data, uint64_t n_bytes) {
    if (md_restart_begin(file, name, n_bytes) == MD_OK) md_restart_write(file, data, n_bytes);
}

static void put_text(MdRestart *file, const char *name, const char *text) { put(file, name, text, strlen(text)); }

static void put_run(MdRestart *file, const MdRecord *r, const MdBathSaved *bath, const MdStatistics *now) {
    MdRunNumbers run = {.step = r->step,
                        .n_frames = r->resume.n_frames,
                        .n_xyz_frames = r->resume.n_xyz_frames,
                        .n_rebuilds = r->resume.before.n_rebuilds + now->n_rebuilds,
                        .n_late_rebuilds = r->resume.before.n_late_rebuilds + now->n_late_rebuilds,
                        .n_overflows = r->resume.before.n_overflows + now->n_overflows,
                        .heat = bath->heat};
    memcpy(run.run_id, r->resume.run_id, sizeof run.run_id);
    put(file, "run", &run, sizeof run);
    if (md_bath_traits(r->config->ensemble_thermostat) & MD_BATH_HAS_CHAIN)
        put(file, "chain", bath->state, sizeof bath->state);
}

static void put_system(MdRestart *file, const MdSystemPlan *plan, const MdSystem *system) {
    MdSystemNumbers numbers = {.n_atoms = plan->n_atoms,
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
    const MdTables *tables = plan->potential.tables;
    if (tables) put(file, "potential", &tables->checksum, sizeof tables->checksum);
}

/* A section of all rows, and one of their tensors, if there are any. */
static void put_history(MdRestart *file, const MdRecord *r) {
    const MdHistory *history = &r->history;
    md_restart_begin(file, "thermo", history->n * MD_THERMO_SAVED_BYTES);
    for (size_t k = 0; k < history->n; k++) md_restart_write(file, &history->rows[k], MD_THERMO_SAVED_BYTES);
    if (r->config->analysis_pressure != MD_PRESSURE_TENSOR) return;
    md_restart_begin(file, "pressure_tensor", history->n * sizeof history->rows->pressure_tensor);
    for (size_t k = 0; k < history->n; k++)
        md_restart_write(file, history->rows[k].pressure_tensor, sizeof history->rows->pressure_tensor);
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

static void put_analysis(MdRestart *file, const MdAnalysis *analysis) {
    MdAnalysisPart parts[MD_ANALYSIS_PARTS];
    const int n = md_analysis_parts(analysis, parts);
    for (int k = 0; k < n; k++) put(file, parts[k].section, parts[k].state, parts[k].bytes);
}

/* Besides the columns, the position at the last rebuild, which backends keep in either precision. */
uint64_t md_checkpoint_bytes(const MdRecord *r) {
    const int precision = r->config->run_precision;
    uint64_t bytes = 3 * md_number_bytes(MD_NUMBER_STATE, precision);
    for (int k = 0; k < MD_N_COLUMNS; k++) {
        if (!md_column_is_there(k, r->config)) continue;
        if (md_columns[k].traits & MD_COLUMN_SAVED) bytes += md_column_bytes(k, precision);
        if (md_columns[k].traits & MD_COLUMN_FIXED) bytes += md_system_column_bytes(k);
    }
    return (uint64_t)r->plan.n_atoms * bytes;
}

/* Everything except the particles: known to rank 0. */
static void put_head(MdRestart *file, const MdRecord *r, const MdSystem *system, const MdBathSaved *bath,
                     const MdStatistics *now) {
    char *switches = md_bits_switches(r), *origin = md_bits_origin(r);
    put_text(file, "name", md_deck_name(r->deck));
    put_text(file, "deck", r->effective_deck);
    put_text(file, "switches", switches);
    put_text(file, "origin", origin);
    put_run(file, r, bath, now);
    put_system(file, &r->plan, system);
    put(file, "checks", &r->verification, MD_VERIFICATION_SAVED_BYTES);
    put_history(file, r);
    put_sessions(file, r);
    put_analysis(file, r->analysis);
    free(switches);
    free(origin);
}

MdStatus md_checkpoint_save(const MdRecord *r, const MdSystem *system, const MdBathSaved *bath, void *context,
                            bool *stands) {
    const bool is_root = md_comm_is_root(system->comm);
    *stands = false;
    /* An unchecked file may be damaged, and one of the same step is no older generation. */
    const int64_t before = r->resume.good_step;
    MdRestart *file = is_root ? md_restart_create(r->files.restart, before >= 0 && before != r->step, r->errors) : NULL;
    MdStatus status = md_comm_worst_status(system->comm, is_root && !file ? MD_ERROR_OUTPUT : MD_OK, r->errors);
    if (status != MD_OK) return status;
    MdStatistics now;
    r->ops->statistics(context, &now);
    if (is_root) put_head(file, r, system, bath, &now);
    Saving to = {.state = {.step = r->step, .begin = save_begin, .move = save_move},
                 .file = file,
                 .system = system,
                 .piece = md_alloc((size_t)piece_bytes, 1, "restart file")};
    for (int k = 0; k < MD_N_COLUMNS && status == MD_OK; k++)
        if (md_columns[k].traits & MD_COLUMN_FIXED) /* blocks: by id */
            status = md_state_array(&to.state, md_columns[k].name, md_system_column(system, k),
                                    md_system_column_bytes(k), system->n_own);
    if (status == MD_OK) status = r->ops->save(context, &to.state);
    end_section(&to);
    md_free(to.piece);
    return is_root ? md_restart_commit(file, status, stands) : status;
}
