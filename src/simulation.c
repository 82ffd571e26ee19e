#define _POSIX_C_SOURCE 200809L
#include "simulation.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "integrate/verlet.h"
#include "output/schedule.h"
#include "report/neighbors.h"
#include "report/provenance.h"
#include "report/report.h"

/* --- planning: nothing large is allocated, no file is touched --------------------------------------------------- */

/* The backend asked for. auto takes the GPU if it can run there, else the cpu, and the log says why. */
static MdStatus choose_backend(MdSimulation *s) {
    int choice = s->config->run_backend;
    if (choice != MD_BACKEND_CPU) {
        const MdBackendOps *cuda = md_backend_find("cuda");
        MdErrors *reasons = md_errors_create();
        if (!cuda)
            md_fail(reasons, MD_ERROR_INPUT, "run.backend: this program was built without the cuda backend; use cpu");
        if (cuda && cuda->probe(s->config, &s->machine, reasons) == MD_OK) s->ops = cuda;
        if (!s->ops && choice == MD_BACKEND_AUTO) s->backend_reason = md_copy_text(md_errors_text(reasons, 0));
        for (int k = 0; !s->ops && choice == MD_BACKEND_CUDA && k < md_errors_count(reasons); k++)
            md_fail(s->errors, MD_ERROR_INPUT, "%s", md_errors_text(reasons, k));
        md_errors_destroy(reasons);
        if (s->ops) return MD_OK;
        if (choice == MD_BACKEND_CUDA) return MD_ERROR_INPUT;
    }
    s->ops = md_backend_find("cpu");
    return s->ops->probe(s->config, &s->machine, s->errors);
}

static MdH5mdSpec trajectory_spec(const MdSimulation *s) {
    const MdConfig *c = s->config;
    MdH5mdSpec spec = {.n_atoms = s->plan.n_atoms,
                       .box = s->plan.box,
                       .n_types = s->plan.potential.n_types,
                       .precision = c->output_precision,
                       .velocities = c->output_velocities == MD_ON,
                       .forces = c->output_forces == MD_ON,
                       .images = c->output_images == MD_ON,
                       .n_frames = md_schedule_count(c->output_frames_every, c->run_steps),
                       .deck = s->effective_deck,
                       .provenance = s->provenance};
    for (int t = 0; t < spec.n_types; t++) spec.type_name[t] = s->plan.type_name[t];
    if (s->system) {
        spec.type = s->system->type;
        spec.mass = s->system->mass;
    }
    return spec;
}

/* What the program takes at its peak: program and libraries, the particles on the host, the backend, the frame slots
 * and the verification (whose five arrays come on top of all that). */
static MdMemory estimate_memory(const MdSimulation *s) {
    const uint64_t program = UINT64_C(24) << 20; /* text, HDF5, OpenMP stacks as touched; the driver's part is below */
    const uint64_t driver = UINT64_C(100) << 20; /* a CUDA context on the host side, as measured with driver 580 */
    uint64_t n = (uint64_t)s->plan.n_atoms;
    MdMemory memory = s->ops->estimate(s->config, &s->plan);
    MdH5mdSpec spec = trajectory_spec(s);
    memory.host_bytes += program + md_system_bytes(&s->plan);
    if (s->machine.device_total_bytes) memory.host_bytes += driver;
    if (s->files.h5) memory.host_bytes += md_pipeline_bytes(&spec);
    if (s->config->report_verify == MD_ON) memory.host_bytes += md_verify_bytes(n);
    return memory;
}

static MdStatus check_memory(MdSimulation *s) {
    uint64_t available = md_host_memory_available_bytes();
    MdStatus status = MD_OK;
    const double gibi = 1024.0 * 1024.0 * 1024.0;
    if (s->memory.host_bytes > available)
        status = md_fail(s->errors, MD_ERROR_INPUT,
                         "%lld atoms need %.2f GiB of main memory, but %.2f GiB are available: fewer atoms, or a "
                         "machine with more memory",
                         (long long)s->plan.n_atoms, (double)s->memory.host_bytes / gibi, (double)available / gibi);
    if (s->memory.device_bytes > s->machine.device_free_bytes && s->machine.device_total_bytes)
        status = md_fail(s->errors, MD_ERROR_INPUT,
                         "%lld atoms need %.2f GiB on the GPU, but %.2f GiB of %s are free: fewer atoms, a smaller "
                         "neighbor.skin, or run.backend = cpu",
                         (long long)s->plan.n_atoms, (double)s->memory.device_bytes / gibi,
                         (double)s->machine.device_free_bytes / gibi, s->machine.name);
    return status;
}

/* A trajectory that cannot fit is refused before the first step, not noticed after the last one that did. */
static MdStatus check_disk(MdSimulation *s) {
    if (!s->files.h5) return MD_OK;
    MdH5mdSpec spec = trajectory_spec(s);
    s->n_frames = spec.n_frames;
    s->trajectory_bytes = (uint64_t)spec.n_frames * md_pipeline_bytes(&spec);
    struct statvfs disk;
    if (statvfs(s->config->output_directory, &disk) != 0) return MD_OK; /* the folder was looked at already */
    const double gibi = 1024.0 * 1024.0 * 1024.0, free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)spec.n_frames * (double)md_pipeline_bytes(&spec) <= free_bytes) return MD_OK;
    return md_fail(s->errors, MD_ERROR_INPUT,
                   "%s: output.frames_every: %lld frames need %.2f GiB, but %.2f GiB are free in %s: fewer frames, or "
                   "another output.directory",
                   md_deck_origin(s->deck, MD_OPTION_output_frames_every), (long long)spec.n_frames,
                   (double)spec.n_frames * (double)md_pipeline_bytes(&spec) / gibi, free_bytes / gibi,
                   s->config->output_directory);
}

static char *compose_provenance(const MdSimulation *s, const char *command) {
    MdJson *json = md_json_create();
    md_provenance_write(json, NULL, command, s->ops, &s->machine);
    char *text = md_copy_text(md_json_string(json));
    md_json_destroy(json);
    return text;
}

MdSimulation *md_simulation_plan(const MdDeck *deck, const char *argument_text, MdLog *log, MdErrors *errors) {
    MdSimulation *s = md_alloc(1, sizeof *s, "simulation");
    s->deck = deck;
    s->asked = md_deck_config(deck);
    s->resolved = *s->asked;
    s->config = &s->resolved;
    s->log = log;
    s->errors = errors;
    s->verification.fault.step = -1;
    /* All of these are tried, so that all problems are shown together. */
    MdStatus planned = md_system_plan(deck, &s->plan, errors);
    MdStatus chosen = choose_backend(s);
    MdStatus filed = md_files_plan(deck, &s->files, errors);
    MdStatus resolved =
        planned == MD_OK && chosen == MD_OK ? s->ops->resolve(&s->resolved, &s->plan, &s->choices, errors) : MD_OK;
    if (planned == MD_OK && chosen == MD_OK && filed == MD_OK && resolved == MD_OK) {
        s->effective_deck = md_deck_effective_text(deck);
        s->provenance = compose_provenance(s, argument_text);
        s->memory = estimate_memory(s);
        s->thermostat = md_thermostat_make(s->config);
        MdStatus memory = check_memory(s), disk = check_disk(s);
        if (memory == MD_OK && disk == MD_OK) return s;
    }
    md_simulation_destroy(s);
    return NULL;
}

void md_simulation_destroy(MdSimulation *s) {
    if (!s) return;
    md_progress_destroy(s->progress);
    if (s->ops && s->context) s->ops->destroy(s->context);
    md_system_destroy(s->system);
    md_history_free(&s->history);
    md_files_free(&s->files);
    free(s->effective_deck);
    free(s->provenance);
    free(s->backend_reason);
    md_free(s);
}

/* --- the run ---------------------------------------------------------------------------------------------------- */

static MdThermo thermo_row(const MdSimulation *s, const MdSums *sums, int64_t step) {
    return md_thermo_from_sums(sums, &s->plan.box, s->plan.n_atoms, step, s->config->run_timestep, s->thermostat.heat);
}

/* Thermo row and frame of the present step, as far as they are due. */
static MdStatus write_output(MdSimulation *s, int64_t step) {
    bool thermo_due = md_schedule_thermo(s->config, step), frame_due = md_schedule_frame(s->config, step);
    if (!thermo_due && !frame_due) return MD_OK;
    MdSums sums;
    MdStatus status = s->ops->sum(s->context, &sums);
    if (status != MD_OK) return status;
    s->verification.fault = s->ops->fault(s->context); /* exact now: rows and frames after a fault are not written */
    if (s->verification.fault.step >= 0) return MD_ERROR_PHYSICS;
    MdThermo row = thermo_row(s, &sums, step);
    if (thermo_due) {
        md_history_add(&s->history, &row);
        md_progress_clear(s->progress);
        md_report_thermo(s, &row);
    }
    if (frame_due && s->pipeline) status = md_pipeline_put(s->pipeline, s->ops, s->context, &row, s->errors);
    return status;
}

static MdStatus verify(MdSimulation *s, int64_t step) {
    if (s->config->report_verify != MD_ON) return MD_OK;
    double start = md_clock_s();
    MdStatus status = md_verify_forces(&s->verification, s->ops, s->context, s->system, s->config, step);
    s->verify_seconds += md_clock_s() - start;
    return status;
}

static MdStatus set_up(MdSimulation *s) {
    MdStatus status = md_files_prepare(s->deck, &s->files, s->log, s->errors);
    if (status == MD_OK) status = md_log_open(s->log, s->files.log, s->errors);
    if (status != MD_OK) return status;
    s->files_ready = true;
    md_report_head(s);
    s->ops->create(&s->context, s->config, s->asked, s->system, s->errors);
    if (!s->context) return md_errors_status(s->errors);
    if (s->files.h5) {
        MdH5mdSpec spec = trajectory_spec(s);
        s->pipeline = md_pipeline_create(s->files.h5, &spec, s->errors);
        if (!s->pipeline) return MD_ERROR_OUTPUT;
    }
    status = md_verlet_start(s->ops, s->context, true);
    if (status == MD_OK && s->files.neighbors)
        status = md_neighbors_write(s->files.neighbors, s->ops, s->context, s->system, s->errors);
    if (status == MD_OK) status = verify(s, 0);
    if (status == MD_OK) status = s->ops->finish(s->context);
    return status;
}

/* One step, and what is due after it. */
static MdStatus advance(MdSimulation *s, int64_t step) {
    bool with_energy = md_schedule_thermo(s->config, step) || md_schedule_frame(s->config, step);
    MdStatus status = md_verlet_step(s->ops, s->context, step, with_energy);
    if (status == MD_OK)
        status = md_thermostat_apply(&s->thermostat, s->ops, s->context, step, s->plan.n_atoms, s->plan.box.dimension);
    if (status != MD_OK) return status;
    s->verification.fault = s->ops->fault(s->context);
    if (s->verification.fault.step >= 0) return MD_ERROR_PHYSICS;
    s->step = step;
    return write_output(s, step);
}

static MdStatus run_loop(MdSimulation *s) {
    MdStatus status = write_output(s, 0);
    double frames_before = s->pipeline ? md_pipeline_seconds(s->pipeline) : 0;
    MdStatistics before;
    s->ops->statistics(s->context, &before);
    double start = md_clock_s();
    for (int64_t step = 1; status == MD_OK && step <= s->config->run_steps; step++) {
        status = advance(s, step);
        md_progress_update(s->progress, step);
    }
    if (status == MD_OK) status = s->ops->finish(s->context);
    s->loop_seconds = md_clock_s() - start;
    s->ops->statistics(s->context, &s->statistics);
    md_statistics_subtract(&s->statistics, &before);
    if (s->pipeline) s->frame_seconds = md_pipeline_seconds(s->pipeline) - frames_before;
    md_progress_destroy(s->progress);
    s->progress = NULL;
    return status;
}

/* The last step, judged with a list that is certainly fresh: at a multiple of its interval the rule of neighbor.rebuild
 * = every makes a new one, and the safe rule has kept a good one. */
static MdStatus verify_end(MdSimulation *s) {
    if (s->config->report_verify != MD_ON) return MD_OK;
    int64_t every = s->config->neighbor_every;
    MdStatistics before, after;
    s->ops->statistics(s->context, &before);
    MdStatus status = s->ops->update_neighbors(s->context, (s->step + every - 1) / every * every);
    s->ops->statistics(s->context, &after);
    s->statistics.n_late_rebuilds += after.n_late_rebuilds - before.n_late_rebuilds;
    if (status == MD_OK && s->step > 0) status = verify(s, s->step);
    MdSums sums;
    if (status == MD_OK) status = s->ops->sum(s->context, &sums); /* verify leaves forces with energy */
    if (status != MD_OK) return status;
    MdThermo end = thermo_row(s, &sums, s->step);
    if (s->step > 0) md_verify_conservation(&s->verification, &s->history, &end, s->system, s->config);
    s->verification.complete = true;
    return MD_OK;
}

MdStatus md_simulation_run(MdSimulation *s) {
    double start = md_clock_s();
    s->system = md_system_create(s->deck, &s->plan, s->errors);
    if (!s->system) return md_errors_status(s->errors);
    MdStatus status = set_up(s);
    s->setup_seconds = md_clock_s() - start - s->verify_seconds;
    if (status == MD_OK) {
        MdProgressSpec spec = {.mode = s->config->output_progress,
                               .n_steps = s->config->run_steps,
                               .stream = stderr,
                               .terminal = isatty(STDERR_FILENO) == 1,
                               .clock_s = md_clock_s};
        s->progress = md_progress_create(&spec);
        status = run_loop(s);
    }
    /* The file is closed before anything else can go wrong. */
    MdStatus closed = md_pipeline_close(s->pipeline, s->errors);
    if (status == MD_OK) status = verify_end(s);
    if (status == MD_OK && md_verify_verdict(&s->verification) == MD_VERDICT_FAILED) status = MD_ERROR_PHYSICS;
    return status == MD_OK ? closed : status;
}
