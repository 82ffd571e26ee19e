#define _POSIX_C_SOURCE 200809L
#include "simulation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/nvtx.h"
#include "base/stop.h"
#include "continue.h"
#include "integrate/verlet.h"
#include "output/schedule.h"
#include "report/neighbors.h"
#include "report/provenance.h"
#include "report/report.h"

/* --- planning: nothing large is allocated, no file is touched --------------------------------------------------- */

/* The backend asked for. auto takes the GPU if it can run there, else the cpu, and the log says why. */
static MdStatus choose_backend(MdSimulation *s) {
    int choice = s->record.config->run_backend;
    if (choice != MD_BACKEND_CPU) {
        const MdBackendOps *cuda = md_backend_find("cuda");
        MdErrors *reasons = md_errors_create();
        if (!cuda)
            md_fail(reasons, MD_ERROR_INPUT, "run.backend: this program was built without the cuda backend; use cpu");
        if (cuda && cuda->probe(s->record.config, &s->record.machine, reasons) == MD_OK) s->record.ops = cuda;
        if (!s->record.ops && choice == MD_BACKEND_AUTO)
            s->record.backend_reason = md_copy_text(md_errors_text(reasons, 0));
        for (int k = 0; !s->record.ops && choice == MD_BACKEND_CUDA && k < md_errors_count(reasons); k++)
            md_fail(s->record.errors, MD_ERROR_INPUT, "%s", md_errors_text(reasons, k));
        md_errors_destroy(reasons);
        if (s->record.ops) return MD_OK;
        if (choice == MD_BACKEND_CUDA) return MD_ERROR_INPUT;
    }
    s->record.ops = md_backend_find("cpu");
    return s->record.ops->probe(s->record.config, &s->record.machine, s->record.errors);
}

/* The switches as they will run, checked against what the backend has and what the deck gives. */
static MdStatus resolve(MdSimulation *s, bool planned) {
    MdRecord *r = &s->record;
    MdVariantTable table = r->ops->variants();
    for (int k = 0; k < MD_N_OPTIONS; k++) r->lacking[k] = md_variants_lack(table, k);
    MdStatus given = md_variants_check_given(table, r->ops->name, r->deck, r->errors);
    if (!planned) return given;
    MdStatus status = r->ops->resolve(&s->resolved, &r->plan, &r->choices, r->errors);
    if (status == MD_OK) status = md_variants_check_grounds(table, r->deck, r->config, r->errors);
    if (status == MD_OK) status = md_system_check_range(r->deck, &r->plan, r->config->neighbor_skin, r->errors);
    return status == MD_OK ? given : status;
}

static MdTrajectorySpec trajectory_spec(const MdSimulation *s) {
    const MdConfig *c = s->record.config;
    MdTrajectorySpec spec = {.h5_path = s->record.files.h5,
                             .xyz_path = s->record.files.xyz,
                             .xyz_velocities = c->output_xyz_velocities == MD_ON,
                             .h5md = {.n_atoms = s->record.plan.n_atoms,
                                      .box = s->record.plan.box,
                                      .n_types = s->record.plan.potential.n_types,
                                      .precision = c->output_precision,
                                      .compression = c->output_compression,
                                      .unwrapped = c->output_unwrapped == MD_ON,
                                      .every = {c->output_frames_every, c->output_velocities_every,
                                                c->output_forces_every, c->output_images_every},
                                      .last_step = c->run_steps,
                                      .commit_frames = c->output_commit_frames,
                                      .commit_seconds = c->output_commit_seconds,
                                      .run_id = s->record.resume.run_id,
                                      .deck = s->record.effective_deck,
                                      .provenance = s->record.provenance}};
    for (int t = 0; t < spec.h5md.n_types; t++) spec.h5md.type_name[t] = s->record.plan.type_name[t];
    if (s->system) {
        spec.h5md.type = s->system->type;
        spec.h5md.mass = s->system->mass;
    }
    return spec;
}

/* What the program takes at its peak: program and libraries, the particles on the host, the backend, the frame slots
 * and the verification (whose five arrays come on top of all that). */
static MdMemory estimate_memory(const MdSimulation *s) {
    const uint64_t program = UINT64_C(24) << 20; /* text, HDF5, OpenMP stacks as touched; the driver's part is below */
    const uint64_t driver = UINT64_C(100) << 20; /* a CUDA context on the host side, as measured with driver 580 */
    uint64_t n = (uint64_t)s->record.plan.n_atoms;
    MdMemory memory = s->record.ops->estimate(s->record.config, &s->record.plan);
    const MdSlotSpec slot_spec = md_pipeline_slots(s->record.config);
    const MdMemory slots = s->record.ops->slots_estimate(s->record.config, &s->record.plan, &slot_spec);
    memory.host_bytes += program + md_system_bytes(&s->record.plan);
    if (s->record.machine.device_total_bytes) memory.host_bytes += driver;
    memory.host_bytes += slots.host_bytes;
    memory.device_bytes += slots.device_bytes;
    if (s->record.files.trace) memory.host_bytes += md_trace_bytes(MD_TRACE_EVENTS);
    /* One after the other: the verification, and a device's state on its way to or from a restart file, where rows, tags,
     * ids and types of all particles stand side by side (src/cuda/state.c). */
    const uint64_t verify = s->record.config->report_verify == MD_ON ? md_verify_bytes(n) : 0;
    const uint64_t state = s->record.machine.device_total_bytes ? 56 * n : 0;
    memory.host_bytes += verify > state ? verify : state;
    return memory;
}

static MdStatus check_memory(MdSimulation *s) {
    uint64_t available = md_host_memory_available_bytes();
    MdStatus status = MD_OK;
    const double gibi = 1024.0 * 1024.0 * 1024.0;
    if (s->record.memory.host_bytes > available)
        status = md_fail(s->record.errors, MD_ERROR_INPUT,
                         "%lld atoms need %.2f GiB of main memory, but %.2f GiB are available: fewer atoms, or a "
                         "machine with more memory",
                         (long long)s->record.plan.n_atoms, (double)s->record.memory.host_bytes / gibi,
                         (double)available / gibi);
    if (s->record.memory.device_bytes > s->record.machine.device_free_bytes && s->record.machine.device_total_bytes)
        status = md_fail(s->record.errors, MD_ERROR_INPUT,
                         "%lld atoms need %.2f GiB on the GPU, but %.2f GiB of %s are free: fewer atoms, a smaller "
                         "neighbor.skin, or run.backend = cpu",
                         (long long)s->record.plan.n_atoms, (double)s->record.memory.device_bytes / gibi,
                         (double)s->record.machine.device_free_bytes / gibi, s->record.machine.name);
    return status;
}

/* A trajectory that cannot fit is refused before the first step, not noticed after the last one that did. */
static MdStatus check_disk(MdSimulation *s) {
    if (!s->record.files.h5) return MD_OK;
    const MdTrajectorySpec spec = trajectory_spec(s);
    s->record.n_frames = md_schedule_count(s->record.config->output_frames_every, 0, s->record.config->run_steps);
    s->record.trajectory_bytes = md_h5md_bytes(&spec.h5md, 0);
    /* What is in a file that goes on as it is has its room already; one that is copied needs it once more. */
    const int64_t from = s->resumed && !md_continue_copies(&s->record) ? s->record.step + 1 : 0;
    const uint64_t needed = md_h5md_bytes(&spec.h5md, from);
    struct statvfs disk;
    if (statvfs(s->record.config->output_directory, &disk) != 0) return MD_OK; /* the folder was looked at already */
    const double gibi = 1024.0 * 1024.0 * 1024.0, free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    /* How much compression will save nobody knows. */
    if (spec.h5md.compression != MD_COMPRESSION_NONE || (double)needed <= free_bytes) return MD_OK;
    const int64_t n_frames =
        md_schedule_count(s->record.config->output_frames_every, from, s->record.config->run_steps);
    return md_fail(s->record.errors, MD_ERROR_INPUT,
                   "%s: output.frames_every: %lld frames need %.2f GiB, but %.2f GiB are free in %s: fewer frames, or "
                   "another output.directory",
                   md_deck_origin(s->record.deck, MD_OPTION_output_frames_every), (long long)n_frames,
                   (double)needed / gibi, free_bytes / gibi, s->record.config->output_directory);
}

static char *compose_provenance(const MdSimulation *s, const char *command) {
    MdJson *json = md_json_create();
    md_provenance_write(json, NULL, command, s->record.ops, &s->record.machine);
    char *text = md_copy_text(md_json_string(json));
    md_json_destroy(json);
    return text;
}

MdSimulation *md_simulation_plan(const MdDeck *deck, bool bench, MdCheckpoint *resumed, const char *argument_text,
                                 MdLog *log, MdErrors *errors) {
    MdSimulation *s = md_alloc(1, sizeof *s, "simulation");
    s->record.deck = deck;
    s->record.asked = md_deck_config(deck);
    s->resolved = *s->record.asked;
    s->record.config = &s->resolved;
    s->record.log = log;
    s->record.errors = errors;
    s->record.verification.fault.step = -1;
    s->start_s = md_clock_s();
    s->resumed = resumed;
    s->record.resume.sessions = md_alloc(MD_MAX_SESSIONS, sizeof(MdSession), "sessions");
    const MdFilesUse use = resumed ? md_checkpoint_files(resumed, bench) : (MdFilesUse){.bench = bench};
    /* All of these are tried, so that all problems are shown together. */
    MdStatus planned = resumed ? md_checkpoint_plan(resumed, deck, &s->record.plan, errors)
                               : md_system_plan(deck, &s->record.plan, errors);
    MdStatus chosen = choose_backend(s);
    MdStatus filed = md_files_plan(deck, &use, &s->record.files, errors);
    MdStatus resolved = chosen == MD_OK ? resolve(s, planned == MD_OK) : MD_OK;
    if (planned == MD_OK && chosen == MD_OK && filed == MD_OK && resolved == MD_OK) {
        MdStatus recalled = resumed ? md_checkpoint_recall(resumed, &s->record) : md_checkpoint_name(&s->record);
        s->record.effective_deck = md_deck_effective_text(deck, s->record.lacking, s->record.ops->name);
        s->record.provenance = compose_provenance(s, argument_text);
        s->record.memory = estimate_memory(s);
        s->thermostat = md_thermostat_make(s->record.config);
        if (resumed) s->thermostat.heat = md_checkpoint_heat(resumed);
        MdStatus memory = check_memory(s), disk = check_disk(s),
                 there = resumed ? md_continue_check(&s->record) : MD_OK;
        if (recalled == MD_OK && memory == MD_OK && disk == MD_OK && there == MD_OK) return s;
    }
    md_simulation_destroy(s);
    return NULL;
}

void md_simulation_destroy(MdSimulation *s) {
    if (!s) return;
    md_progress_destroy(s->progress);
    if (s->record.ops && s->context) s->record.ops->destroy(s->context);
    md_trace_destroy(s->trace);
    md_system_destroy(s->system);
    md_history_free(&s->record.history);
    md_files_free(&s->record.files);
    free(s->record.effective_deck);
    free(s->record.provenance);
    free(s->record.backend_reason);
    md_free(s->record.resume.sessions);
    free(s->record.resume.difference);
    md_free(s);
}

/* --- the run ---------------------------------------------------------------------------------------------------- */

/* A thermo row from the writer of the pipeline. */
static void take_row(void *user, const MdThermo *row) {
    MdSimulation *s = user;
    md_history_add(&s->record.history, row);
    md_progress_pause(s->progress);
    md_report_thermo(&s->record, row);
    md_progress_resume(s->progress);
}

/* A part of the whole run on the timeline, until now. */
static void trace_phase(MdSimulation *s, const char *name, double begin_s) {
    MdTraceTrack *phases = md_trace_track(s->trace, MD_TRACE_HOST, "phases");
    md_trace_span(phases, MD_TRACE_PHASE, name, begin_s, md_clock_s(), -1);
}

/* The timeline of what was run, however it ended. */
static MdStatus save_trace(MdSimulation *s) {
    if (!s->trace || !s->context) return MD_OK;
    s->record.ops->trace(s->context, NULL);
    if (!s->record.files_ready) return MD_OK;
    if (md_trace_dropped(s->trace) > 0)
        md_warn(s->record.log, "the trace holds %lld events; %lld later ones found no room in it\n",
                (long long)md_trace_count(s->trace), (long long)md_trace_dropped(s->trace));
    return md_trace_save(s->trace, s->record.files.trace, s->record.errors);
}

/* Thermo row and frame of the present step, as far as they are due: asked for; the pipeline writes them. */
static MdStatus put_output(MdSimulation *s, int64_t step) {
    const unsigned due = md_schedule_mask(s->record.config, step);
    return due ? md_pipeline_put(s->pipeline, step, due, s->thermostat.heat, s->record.errors) : MD_OK;
}

static MdStatus verify(MdSimulation *s, int64_t step) {
    if (s->record.config->report_verify != MD_ON) return MD_OK;
    double start = md_clock_s();
    MdStatus status =
        md_verify_forces(&s->record.verification, s->record.ops, s->context, s->system, s->record.config, step);
    s->record.verify_seconds += md_clock_s() - start;
    return status;
}

static MdStatus create_pipeline(MdSimulation *s) {
    MdTrajectorySpec trajectory = trajectory_spec(s);
    if (s->resumed) md_continue_plan(&s->record, &trajectory);
    const MdPipelineSpec spec = {.ops = s->record.ops,
                                 .context = s->context,
                                 .config = s->record.config,
                                 .box = &s->record.plan.box,
                                 .n_atoms = s->record.plan.n_atoms,
                                 .trajectory = trajectory.h5_path || trajectory.xyz_path ? &trajectory : NULL,
                                 .take_row = take_row,
                                 .user = s,
                                 .trace = s->trace};
    s->pipeline = md_pipeline_create(&spec, s->record.errors);
    return s->pipeline ? MD_OK : md_errors_status(s->record.errors);
}

/* List and forces: of the first configuration, or of that at which the run was stopped. */
static MdStatus start(MdSimulation *s) {
    const MdBackendOps *ops = s->record.ops;
    if (s->record.resume.same_list) return MD_OK; /* they came with the state */
    MdStatus status = md_verlet_start(ops, s->context, true);
    if (status == MD_OK && s->record.files.neighbors && !s->resumed)
        status = md_neighbors_write(s->record.files.neighbors, ops, s->context, s->system, s->record.errors);
    return status;
}

/* The backend first: what it finds that it cannot run is known before any file is touched. */
static MdStatus set_up(MdSimulation *s) {
    MdStatus status =
        s->record.ops->create(&s->context, s->record.config, s->record.asked, s->system, s->record.errors);
    if (status == MD_OK && md_stop_requested()) status = MD_STOPPED; /* nothing has been touched */
    if (status != MD_OK) return status;
    md_trace_name_process(s->trace, MD_TRACE_DEVICE, s->record.machine.name);
    if (s->trace) s->record.ops->trace(s->context, s->trace);
    /* What is resumed may still be refused, and then log and report of before stay as they are. */
    if (s->resumed) status = md_checkpoint_load(s->resumed, &s->record, s->system, s->context);
    if (status == MD_OK) status = md_files_prepare(s->record.deck, &s->record.files, s->record.log, s->record.errors);
    if (status == MD_OK && s->resumed) status = create_pipeline(s);
    if (status == MD_OK) status = md_log_open(s->record.log, s->record.files.log, s->resumed != NULL, s->record.errors);
    if (status != MD_OK) return status;
    s->record.files_ready = true;
    md_report_head(&s->record);
    if (!s->resumed) status = create_pipeline(s);
    if (status == MD_OK) status = start(s);
    /* A run that was stopped before this is verified when it is resumed. */
    if (status == MD_OK && s->record.step == 0 && s->record.verification.n_checks == 0 && !md_stop_requested()) {
        status = verify(s, 0);
        if (status == MD_STOPPED) status = MD_OK; /* the loop makes no step then */
    }
    if (status == MD_OK) status = s->record.ops->finish(s->context);
    return status;
}

/* One step, and what is due after it. */
static MdStatus advance(MdSimulation *s, int64_t step) {
    bool with_energy = md_schedule_mask(s->record.config, step) != 0;
    MdStatus status = md_verlet_step(s->record.ops, s->context, step, with_energy);
    if (status == MD_OK)
        status = md_thermostat_apply(&s->thermostat, s->record.ops, s->context, step, s->record.plan.n_atoms,
                                     s->record.plan.box.dimension);
    if (status != MD_OK) return status;
    s->record.verification.fault = s->record.ops->fault(s->context);
    if (s->record.verification.fault.step >= 0) return MD_ERROR_PHYSICS;
    s->record.step = step;
    return put_output(s, step);
}

/* Of run.walltime: what a restart file takes is known when one was written, and a share is left for all else. */
static void set_time_limit(const MdSimulation *s) {
    const double walltime = s->record.config->run_walltime, gone = md_clock_s() - s->start_s;
    const double reserve = fmin(60, walltime / 20) + 2 * s->record.resume.longest_seconds;
    if (walltime > 0) md_stop_after(walltime - reserve - gone);
}

/* Frames in the files; one that this process leaves alone keeps its number. */
static void note_frames(MdSimulation *s) {
    int64_t n_h5, n_xyz;
    md_pipeline_frames(s->pipeline, &n_h5, &n_xyz);
    if (s->record.files.h5) s->record.resume.n_frames = n_h5;
    if (s->record.files.xyz) s->record.resume.n_xyz_frames = n_xyz;
}

/* The state as it is, after all steps; the files hold what was noted. */
static MdStatus write_restart(MdSimulation *s) {
    MdResume *resume = &s->record.resume;
    MdStatus status = s->record.ops->finish(s->context);
    if (status != MD_OK) return status;
    s->record.verification.fault = s->record.ops->fault(s->context);
    if (s->record.verification.fault.step >= 0) return MD_ERROR_PHYSICS;
    const double save_s = md_clock_s();
    md_nvtx_begin("restart file", s->record.step);
    status = md_checkpoint_save(&s->record, s->system, s->thermostat.heat, s->context);
    md_nvtx_end();
    MdTraceTrack *track = md_trace_track(s->trace, MD_TRACE_HOST, "restart files");
    md_trace_span(track, MD_TRACE_WRITE, "save", save_s, md_clock_s(), s->record.step);
    if (status != MD_OK) return status;
    resume->file_valid = true;
    resume->file_step = resume->good_step = s->record.step;
    resume->n_files++;
    return MD_OK;
}

/* Commits the output first, so that a restart file never knows of a frame that is not there. */
static MdStatus checkpoint(MdSimulation *s) {
    MdResume *resume = &s->record.resume;
    const double start_s = md_clock_s();
    MdStatus status = md_pipeline_commit(s->pipeline, s->record.errors);
    note_frames(s);
    if (status == MD_OK) status = write_restart(s);
    const double seconds = md_clock_s() - start_s;
    resume->seconds += seconds;
    if (status == MD_OK && seconds > resume->longest_seconds) {
        resume->longest_seconds = seconds;
        set_time_limit(s);
    }
    return status;
}

/* After frames could not be written: where there is nothing yet to resume from, the state is kept, if there is room, and
 * what is lost are the frames that did not get into the file. */
static void rescue(MdSimulation *s) {
    if (s->record.resume.file_valid || s->resumed) return;
    /* Where the frames are well, it was a restart file that found no room. */
    if (md_pipeline_drain(s->pipeline, s->record.errors) == MD_OK) return;
    note_frames(s);
    if (write_restart(s) == MD_OK) s->record.resume.frames_lost = true;
}

/* The clock runs until the last row and frame are written. */
static MdStatus run_loop(MdSimulation *s) {
    const MdConfig *config = s->record.config;
    /* What was written when the run was stopped is there. */
    MdStatus status = s->resumed ? MD_OK : put_output(s, 0), drained = md_pipeline_drain(s->pipeline, s->record.errors);
    if (status == MD_OK) status = drained;
    MdStatistics before;
    MdPipelineStatistics written_before;
    s->record.ops->statistics(s->context, &before);
    md_pipeline_statistics(s->pipeline, &written_before);
    double start = md_clock_s();
    while (status == MD_OK && s->record.step < config->run_steps && !md_stop_requested()) {
        status = advance(s, s->record.step + 1);
        s->record.loop_seconds = md_clock_s() - start;
        if (status == MD_OK && md_schedule_restart(config, s->record.step)) status = checkpoint(s);
        md_progress_update(s->progress, s->record.step);
    }
    if (status == MD_OK) status = s->record.ops->finish(s->context);
    drained = md_pipeline_drain(s->pipeline, s->record.errors);
    if (status == MD_OK) status = drained;
    s->record.loop_seconds = md_clock_s() - start;
    trace_phase(s, "loop", start);
    s->record.verification.fault = s->record.ops->fault(s->context); /* exact now */
    if (s->record.verification.fault.step >= 0 && s->record.step >= s->record.verification.fault.step)
        s->record.step = s->record.verification.fault.step - 1; /* the host was ahead */
    /* What is left to do: steps, or their verification. */
    if (s->record.step < config->run_steps || config->report_verify == MD_ON)
        s->record.resume.stopped = md_stop_reason();
    s->record.ops->statistics(s->context, &s->record.statistics);
    md_statistics_subtract(&s->record.statistics, &before);
    md_pipeline_statistics(s->pipeline, &s->record.written);
    md_pipeline_statistics_subtract(&s->record.written, &written_before);
    md_progress_destroy(s->progress);
    s->progress = NULL;
    return status;
}

/* The work of the last configuration, where report.counters asks for it: after the loop, so that no timing knows of it. */
static MdStatus count_work(MdSimulation *s) {
    if (s->record.config->report_counters != MD_ON) return MD_OK;
    s->record.counted = true;
    return s->record.ops->count(s->context, &s->record.counters);
}

/* The last step, judged with a list that is certainly fresh: at a multiple of its interval the rule of neighbor.rebuild
 * = every makes a new one, and the safe rule has kept a good one. */
static MdStatus verify_end(MdSimulation *s) {
    if (s->record.config->report_verify != MD_ON) return MD_OK;
    int64_t every = s->record.config->neighbor_every;
    MdStatistics before, after;
    s->record.ops->statistics(s->context, &before);
    MdStatus status = s->record.ops->update_neighbors(s->context, (s->record.step + every - 1) / every * every);
    s->record.ops->statistics(s->context, &after);
    s->record.statistics.n_late_rebuilds += after.n_late_rebuilds - before.n_late_rebuilds;
    if (status == MD_OK && s->record.step > 0) status = verify(s, s->record.step);
    MdSums sums;
    if (status == MD_OK) status = s->record.ops->sum(s->context, &sums); /* verify leaves forces with energy */
    if (status != MD_OK) return status;
    MdThermo end = md_thermo_from_sums(&sums, &s->record.plan.box, s->record.plan.n_atoms, s->record.step,
                                       s->record.config->run_timestep, s->thermostat.heat);
    if (s->record.step > 0)
        md_verify_conservation(&s->record.verification, &s->record.history, &end, s->system, s->record.config);
    s->record.verification.complete = true;
    return MD_OK;
}

/* Stopped while the last step was verified, which is left to the process that resumes. */
static MdStatus leave_verification(MdSimulation *s) {
    MdResume *resume = &s->record.resume;
    resume->stopped = md_stop_reason();
    if (resume->file_valid && resume->file_step == s->record.step) return MD_STOPPED;
    resume->list_verified = true;
    MdStatus status = write_restart(s);
    return status == MD_OK ? MD_STOPPED : status;
}

static MdStatus run_phases(MdSimulation *s) {
    double start = md_clock_s();
    set_time_limit(s);
    s->system = s->resumed ? md_checkpoint_system(s->resumed, &s->record.plan, s->record.errors)
                           : md_system_create(s->record.deck, &s->record.plan, s->record.errors);
    if (!s->system) return md_errors_status(s->record.errors);
    MdStatus status = set_up(s);
    s->record.setup_seconds = md_clock_s() - start - s->record.verify_seconds;
    trace_phase(s, "set-up", start);
    if (status == MD_OK) {
        MdProgressSpec spec = {.mode = s->record.config->output_progress,
                               .n_steps = s->record.config->run_steps,
                               .stream = stderr,
                               .terminal = isatty(STDERR_FILENO) == 1,
                               .clock_s = md_clock_s};
        s->progress = md_progress_create(&spec);
        status = run_loop(s);
        if (status == MD_ERROR_OUTPUT) rescue(s);
    }
    if (status == MD_OK && (s->record.resume.stopped || s->record.config->restart_every > 0 || s->resumed))
        status = checkpoint(s);
    /* The file is closed before anything else can go wrong. */
    if (status == MD_OK) note_frames(s);
    start = md_clock_s();
    MdStatus closed = md_pipeline_close(s->pipeline, s->record.errors);
    trace_phase(s, "close", start);
    start = md_clock_s();
    if (status == MD_OK && s->record.resume.stopped) return closed == MD_OK ? MD_STOPPED : closed;
    if (status == MD_OK) status = count_work(s);
    if (status == MD_OK) status = verify_end(s);
    if (status == MD_STOPPED) status = leave_verification(s);
    trace_phase(s, "check", start);
    if (status == MD_OK && md_verify_verdict(&s->record.verification) == MD_VERDICT_FAILED) status = MD_ERROR_PHYSICS;
    return status == MD_OK || (status == MD_STOPPED && closed != MD_OK) ? closed : status;
}

/* A time that is too short for a single step would have a batch system requeue the run for ever. Once may be an accident of
 * a slow machine, as far as there is a restart file that remembers it. */
static MdStatus check_walltime(const MdSimulation *s) {
    const MdResume *resume = &s->record.resume;
    if (!md_stop_timed_out() || s->record.step > resume->from_step) return MD_STOPPED;
    const MdSession *last = resume->n_sessions > 0 ? &resume->sessions[resume->n_sessions - 1] : NULL;
    if (s->record.files_ready && !(last && last->from_step == last->to_step)) return MD_STOPPED;
    return md_fail(
        s->record.errors, MD_ERROR_INPUT,
        "%s: run.walltime: %g s are over before the run makes a step, or ends its verification%s: give it more",
        md_deck_origin(s->record.deck, MD_OPTION_run_walltime), s->record.config->run_walltime,
        s->record.files_ready ? ", twice in a row" : "");
}

MdStatus md_simulation_run(MdSimulation *s) {
    md_nvtx_name_thread("steps");
    if (s->record.files.trace) s->trace = md_trace_create(MD_TRACE_EVENTS);
    MdStatus status = run_phases(s), traced = save_trace(s);
    if (status == MD_STOPPED) status = check_walltime(s);
    return traced == MD_OK || (status != MD_OK && status != MD_STOPPED) ? status : traced;
}
