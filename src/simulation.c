#define _POSIX_C_SOURCE 200809L
#include "simulation.h"

#include <stdlib.h>
#include <unistd.h>

#include "backend/ranks.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/nvtx.h"
#include "base/stop.h"
#include "continue.h"
#include "integrate/minimize.h"
#include "integrate/verlet.h"
#include "output/schedule.h"
#include "parallel/comm.h"
#include "report/curves.h"
#include "report/neighbors.h"
#include "report/provenance.h"
#include "report/report.h"
#include "report/table.h"

enum { UNEVEN = 10 }; /* times parallel.timeout, outside the loop: one rank may have more to do, as rank 0 that reads */

void md_simulation_destroy(MdSimulation *s) {
    if (!s) return;
    md_progress_destroy(s->progress);
    if (s->record.ops && s->context) s->record.ops->destroy(s->context);
    md_trace_destroy(s->trace);
    md_system_destroy(s->system);
    md_free(s->all_types);
    if (s->record.table) fclose(s->record.table);
    md_history_free(&s->record.history);
    md_analysis_destroy(s->record.analysis);
    md_system_plan_free(&s->record.plan);
    md_files_free(&s->record.files);
    md_sensors_close(s->record.sensors);
    free(s->record.effective_deck);
    free(s->record.provenance);
    free(s->record.no_gpu);
    md_free(s->record.balance.gpus);
    free(s->record.backend_reason);
    md_free(s->record.resume.sessions);
    free(s->record.resume.difference);
    md_free(s);
}

/* --- several processes ---------------------------------------------------------------------------------------------- */

/* All do the same from here on, or end. */
static MdStatus agree(MdSimulation *s, MdStatus status) {
    return md_comm_worst_status(s->record.comm, status, s->record.errors);
}

static bool is_root(const MdSimulation *s) { return md_comm_is_root(s->record.comm); }

/* The same for the causes of an end, and for the length of the calls. */
static MdStatus sync_loop(MdSimulation *s, MdStatus status) {
    return md_loop_sync(&s->sync, s->record.comm, status, s->record.errors);
}

/* --- set-up --------------------------------------------------------------------------------------------------------- */

/* A thermo row from the writer of the pipeline. */
static void take_row(void *user, const MdThermo *row) {
    MdSimulation *s = user;
    md_history_add(&s->record.history, row);
    md_progress_pause(s->progress);
    md_report_thermo(&s->record, row);
    md_table_add(&s->record, row);
    md_progress_resume(s->progress);
}

/* A part of the whole run on the timeline, until now. */
static void trace_phase(MdSimulation *s, const char *name, double begin_s) {
    md_trace_span(md_trace_track(s->trace, MD_TRACE_HOST, "phases"), MD_TRACE_PHASE, name, begin_s, md_clock_s(), -1);
}

/* The timeline of the run, for any kind of end. */
static MdStatus save_trace(MdSimulation *s) {
    if (!s->trace || !s->context || !is_root(s)) return MD_OK;
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

/* The samples that are due, before a thermostat or the output of the step touches anything. */
static MdStatus observe(MdSimulation *s, int64_t step) {
    return md_analysis_observe(s->record.analysis, s->record.ops, s->context, step);
}

/* judge: md_verify_forces or md_verify_motion. */
static MdStatus verify(MdSimulation *s, int64_t step,
                       MdStatus (*judge)(MdVerification *, const MdBackendOps *, void *, const MdSystem *,
                                         const MdConfig *, int64_t)) {
    if (s->record.config->report_verify != MD_ON) return MD_OK;
    double start = md_clock_s();
    MdStatus status = judge(&s->record.verification, s->record.ops, s->context, s->system, s->record.config, step);
    s->record.verify_seconds += md_clock_s() - start;
    return agree(s, status);
}

static MdStatus create_pipeline(MdSimulation *s) {
    MdTrajectorySpec trajectory = md_trajectory_of_run(&s->record, s->system);
    if (s->record.comm && md_schedule_all_quantities(s->record.config)) {
        s->all_types = md_system_collect(s->system, s->system->type, sizeof *s->all_types);
        trajectory.h5md.type = s->all_types;
    }
    if (s->resumed) md_continue_plan(&s->record, &trajectory);
    const MdPipelineSpec spec = {.ops = s->record.ops,
                                 .context = s->context,
                                 .config = s->record.config,
                                 .box = &s->record.plan.box,
                                 .n_atoms = s->record.plan.n_atoms,
                                 .comm = s->record.comm,
                                 .trajectory = trajectory.h5_path || trajectory.xyz_path ? &trajectory : NULL,
                                 .take_row = take_row,
                                 .user = s,
                                 .trace = s->trace};
    MdCurves *curves[MD_MAX_CURVES];
    trajectory.h5md.curves = curves;
    trajectory.h5md.n_curves = md_analysis_curves(s->record.analysis, s->record.config, curves);
    s->pipeline = md_pipeline_create(&spec, s->record.errors);
    for (int k = 0; k < trajectory.h5md.n_curves; k++) md_curves_destroy(curves[k]);
    if (s->pipeline) s->record.resume.continued = md_trajectory_continued(md_pipeline_files(s->pipeline));
    return agree(s, s->pipeline ? MD_OK : md_errors_status(s->record.errors));
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

/* The backend first: if it cannot run, no file has been changed. */
static MdStatus set_up(MdSimulation *s) {
    MdRecord *r = &s->record;
    MdStatus status = r->ops->create(&s->context, r->config, r->asked, s->system, r->errors);
    if (status == MD_OK && md_stop_requested()) status = MD_STOPPED; /* nothing has been touched */
    status = agree(s, status);
    if (status != MD_OK) return status;
    md_trace_name_process(s->trace, MD_TRACE_DEVICE, r->machine.name);
    if (s->trace) r->ops->trace(s->context, s->trace);
    /* A resumed run may still be refused; then the old log and report do not change. */
    if (s->resumed) status = agree(s, md_checkpoint_load(s->resumed, r, s->system, s->context));
    md_thermostat_weigh(&s->thermostat, s->system);
    md_analysis_weigh(r->analysis, s->system);
    if (status == MD_OK)
        status = md_thermostat_check_motion(&s->thermostat, r->ops, s->context, r->step, r->deck, r->errors);
    if (status == MD_OK) md_provenance_compose(r);
    if (status == MD_OK) /* existing files are moved */
        status = agree(s, is_root(s) ? md_files_prepare(r->deck, &r->files, r->log, r->errors) : MD_OK);
    if (status == MD_OK && s->resumed) status = create_pipeline(s);
    if (status == MD_OK)
        status = agree(s, is_root(s) ? md_log_open(r->log, r->files.log, s->resumed != NULL, r->errors) : MD_OK);
    if (status != MD_OK) return status;
    r->files_ready = true;
    r->ops->statistics(s->context, &r->statistics);
    if (is_root(s)) md_report_head(r);
    status = agree(s, is_root(s) ? md_table_open(r) : MD_OK);
    if (status == MD_OK && !s->resumed) status = create_pipeline(s);
    if (status == MD_OK) md_files_hold(&r->files);
    if (status == MD_OK) status = start(s);
    /* A run that was stopped before this is verified when it is resumed. */
    status = sync_loop(s, status);
    if (status == MD_OK && r->step == 0 && r->verification.n_checks == 0 && !s->sync.is_stopping) {
        status = verify(s, 0, md_verify_forces);
        if (status == MD_STOPPED) status = MD_OK; /* the loop makes no step then */
    }
    return status == MD_OK ? r->ops->finish(s->context) : status;
}

/* The next step after which there is something to do: at the latest in some tenths of a second, to look whether the run is to stop. */
static int64_t next_stop(const MdSimulation *s) {
    const int64_t output = md_schedule_next(s->record.config, s->record.step),
                  thermostat = md_thermostat_next(&s->thermostat, s->record.step),
                  due = output < thermostat ? output : thermostat, look = s->record.step + s->sync.steps_per_call;
    return due < look ? due : look;
}

/* Calls grow until it is known how long a step takes: the device is waited for until then, and no longer. */
static MdStatus adapt_call(MdSimulation *s, int64_t n_steps, double begin_s) {
    if (s->sync.is_calibrated || n_steps < s->sync.steps_per_call) return MD_OK;
    const double walltime = s->record.config->run_walltime, wanted = walltime > 0 ? fmin(0.15, walltime / 40) : 0.15;
    const MdStatus status = s->record.ops->finish(s->context);
    const double seconds = md_clock_s() - begin_s;
    s->sync.is_calibrated = seconds > wanted / 16;
    if (s->sync.is_calibrated) s->sync.steps_per_call = (int64_t)fmax(1, (double)n_steps * wanted / seconds);
    else s->sync.steps_per_call *= 8;
    return status;
}

static bool has_fault(MdSimulation *s) {
    s->record.verification.fault = s->record.ops->fault(s->context);
    return s->record.verification.fault.step >= 0;
}

/* Some steps, and the work due after the last of them. */
static MdStatus advance(MdSimulation *s) {
    const int64_t first = s->record.step + 1, step = next_stop(s), n_steps = step - first + 1;
    const double start_s = md_clock_s();
    MdStatus status = s->record.ops->advance(s->context, first, n_steps, md_schedule_mask(s->record.config, step) != 0);
    if (status == MD_OK) status = adapt_call(s, n_steps, start_s);
    status = sync_loop(s, status);
    if (status == MD_OK && has_fault(s)) status = MD_ERROR_PHYSICS;
    if (status == MD_OK) status = observe(s, step);
    if (status != MD_OK) return status;
    /* Output comes first, or it would show the target. After an error of it the state may be kept (rescue): scaled, too. */
    const MdStatus written = agree(s, put_output(s, step));
    s->record.step = step;
    if (written == MD_OK || written == MD_ERROR_OUTPUT)
        status = md_thermostat_apply(&s->thermostat, s->record.ops, s->context, step);
    if (has_fault(s)) return MD_ERROR_PHYSICS; /* the thermostat may have waited for it */
    return written == MD_OK ? status : written;
}

/* Time reserved from run.walltime: for a restart file, known after the first one, and a share for all else. */
static void set_time_limit(const MdSimulation *s) {
    const double walltime = s->record.config->run_walltime, gone = md_clock_s() - s->start_s;
    const double reserve = fmin(60, walltime / 20) + 2 * s->record.resume.longest_seconds;
    if (walltime > 0) md_stop_after(walltime - reserve - gone);
}

/* Frames in the files; a file that this process does not touch keeps its number. */
static void note_frames(MdSimulation *s) {
    int64_t n_h5, n_xyz;
    md_trajectory_frames(md_pipeline_files(s->pipeline), &n_h5, &n_xyz);
    if (s->record.files.h5) s->record.resume.n_frames = n_h5;
    if (s->record.files.xyz) s->record.resume.n_xyz_frames = n_xyz;
}

/* The state after all steps; the files have all output up to here. */
static MdStatus write_restart(MdSimulation *s) {
    MdResume *resume = &s->record.resume;
    MdStatus status = s->record.ops->finish(s->context);
    if (status == MD_OK) status = md_analysis_collect(s->record.analysis, s->record.ops, s->context);
    if (status != MD_OK) return status;
    if (has_fault(s)) return MD_ERROR_PHYSICS;
    MdBathSaved bath;
    status = md_thermostat_save(&s->thermostat, s->record.ops, s->context, &bath);
    if (status != MD_OK) return status;
    const double save_s = md_clock_s();
    md_nvtx_begin("restart file", s->record.step);
    bool stands;
    status = agree(s, md_checkpoint_save(&s->record, s->system, &bath, s->context, &stands));
    md_comm_broadcast(s->record.comm, &stands, sizeof stands);
    md_nvtx_end();
    MdTraceTrack *track = md_trace_track(s->trace, MD_TRACE_HOST, "restart files");
    md_trace_span(track, MD_TRACE_WRITE, "save", save_s, md_clock_s(), s->record.step);
    if (stands) {
        resume->file_valid = true;
        resume->file_step = resume->good_step = s->record.step;
        resume->n_files++;
    }
    return status;
}

static MdStatus write_curves(MdSimulation *s) {
    return agree(s, is_root(s) ? md_report_curves(&s->record, md_pipeline_files(s->pipeline)) : MD_OK);
}

/* Commits the output first, so that a restart file never knows of a frame that is not there. */
static MdStatus checkpoint(MdSimulation *s) {
    MdResume *resume = &s->record.resume;
    const double start_s = md_clock_s();
    MdStatus status = agree(s, md_pipeline_commit(s->pipeline, s->record.errors));
    note_frames(s);
    if (status == MD_OK) status = write_restart(s);
    if (status == MD_OK) status = write_curves(s);
    const double seconds = md_clock_s() - start_s;
    resume->seconds += seconds;
    if (status == MD_OK && seconds > resume->longest_seconds) {
        resume->longest_seconds = seconds;
        set_time_limit(s);
    }
    return status;
}

static MdStatus drain(MdSimulation *s) { return agree(s, md_pipeline_drain(s->pipeline, s->record.errors)); }

/* After frames could not be written: if there is no restart file yet, the state is saved, if there is room, and
 * only the frames that did not get into the file are lost. */
static void rescue(MdSimulation *s) {
    if (s->record.resume.file_valid || s->resumed) return;
    /* Where the frames are well, it was a restart file that found no room. */
    if (drain(s) == MD_OK) return;
    note_frames(s);
    if (write_restart(s) == MD_OK) s->record.resume.frames_lost = true;
}

/* The clock runs until the last row and frame are written. */
static MdStatus run_loop(MdSimulation *s) {
    const MdConfig *config = s->record.config;
    /* The restart file of the stopped run exists. */
    MdStatus status = s->resumed ? MD_OK : agree(s, put_output(s, 0)), drained = drain(s);
    if (status == MD_OK) status = drained;
    if (status == MD_OK && !s->resumed) status = observe(s, 0);
    MdStatistics before;
    s->record.ops->statistics(s->context, &before);
    (void)md_pipeline_take_statistics(s->pipeline); /* of the set-up before the loop */
    md_sensors_begin(s->record.sensors);
    double start = md_clock_s();
    if (status == MD_OK) status = md_loop_sync_begin(&s->sync, s->record.errors);
    md_comm_set_patience(s->record.comm, config->parallel_timeout);
    if (status == MD_OK) status = sync_loop(s, status);
    while (status == MD_OK && s->record.step < config->run_steps && !s->sync.is_stopping) {
        status = advance(s);
        s->record.loop_seconds = md_clock_s() - start;
        if (status == MD_OK && md_schedule_restart(config, s->record.step)) status = checkpoint(s);
        md_progress_update(s->progress, s->record.step);
    }
    if (status == MD_OK) status = s->record.ops->finish(s->context);
    if (status == MD_OK) status = md_analysis_collect(s->record.analysis, s->record.ops, s->context);
    drained = drain(s);
    md_comm_set_patience(s->record.comm, UNEVEN * config->parallel_timeout);
    if (status == MD_OK) status = drained;
    s->record.loop_seconds = md_clock_s() - start;
    trace_phase(s, "loop", start);
    md_sensors_end(s->record.sensors);
    s->record.verification.fault = s->record.ops->fault(s->context); /* exact now */
    if (s->record.verification.fault.step >= 0) s->record.step = s->record.verification.fault.step - 1;
    /* The remaining work: steps, or their verification. */
    if (s->sync.is_stopping && (s->record.step < config->run_steps || config->report_verify == MD_ON))
        s->record.resume.stopped = md_stop_reason();
    s->record.ops->statistics(s->context, &s->record.statistics);
    s->late_at_end = s->record.statistics.n_late_rebuilds;
    md_statistics_subtract(&s->record.statistics, &before);
    md_balance_gather(s->record.comm, &s->record.statistics, &s->record.balance);
    s->record.written = md_pipeline_take_statistics(s->pipeline);
    md_progress_destroy(s->progress);
    s->progress = NULL;
    return status;
}

/* The work of the last configuration, where report.counters asks for it: after the loop, so that no timing knows of it. */
static MdStatus count_work(MdSimulation *s) {
    if (s->record.config->report_counters != MD_ON) return MD_OK;
    s->record.counted = true;
    MdStatus status = s->record.ops->count(s->context, &s->record.counters);
    md_ranks_add_counters(s->record.comm, &s->record.counters);
    return agree(s, status);
}

/* The last step, judged with a list that is certainly fresh: at a multiple of its interval the rule of neighbor.rebuild
 * = every makes a new one, and the safe rule has kept a good one. The start was judged before the loop. */
static MdStatus verify_end(MdSimulation *s) {
    if (s->record.config->report_verify != MD_ON) return MD_OK;
    if (s->record.step == 0) {
        s->record.verification.complete = true;
        return MD_OK;
    }
    int64_t every = s->record.config->neighbor_every;
    MdStatus status = s->record.ops->update_neighbors(s->context, (s->record.step + every - 1) / every * every);
    MdStatistics after;
    s->record.ops->statistics(s->context, &after);
    s->record.statistics.n_late_rebuilds += after.n_late_rebuilds - s->late_at_end;
    if (status == MD_OK) status = verify(s, s->record.step, md_verify_forces);
    MdSums sums;
    if (status == MD_OK) status = s->record.ops->sum(s->context, &sums); /* verify leaves forces with energy */
    if (s->trace) s->record.ops->trace(s->context, NULL);                /* the next step is not one of the run */
    if (status == MD_OK) status = verify(s, s->record.step, md_verify_motion);
    if (status != MD_OK) return status;
    const MdBox *box = &s->record.plan.box;
    const int64_t n_atoms = s->record.plan.n_atoms;
    MdThermo end =
        md_thermo_from_sums(&sums, box, n_atoms, md_config_degrees(s->record.config, n_atoms, box->dimension),
                            s->record.step, s->record.config->run_timestep, s->thermostat.heat);
    if (is_root(s)) /* the rank that has the rows */
        md_verify_conservation(&s->record.verification, &s->record.history, &end, s->system, s->record.config);
    s->record.verification.complete = true;
    md_comm_broadcast(s->record.comm, &s->record.verification, sizeof s->record.verification);
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

/* Writes the final report of this process into its trajectory, if it reached its loop. */
static void describe(MdSimulation *s) {
    if (!is_root(s) || !md_sensors_conditions(s->record.sensors)->after.taken) return;
    char *text = md_provenance_describe(&s->record);
    md_trajectory_describe(md_pipeline_files(s->pipeline), text);
    free(text);
}

/* A run that is resumed has done it. */
static MdStatus minimize(MdSimulation *s) {
    MdRecord *r = &s->record;
    if (s->resumed || r->config->run_minimize == MD_MINIMIZE_OFF) return MD_OK;
    return md_minimize(r->ops, r->asked, &r->plan, s->system, &r->minimization, r->errors);
}

static MdStatus run_phases(MdSimulation *s) {
    double start = md_clock_s();
    md_comm_set_patience(s->record.comm, UNEVEN * s->record.config->parallel_timeout);
    set_time_limit(s);
    s->system = s->resumed ? md_checkpoint_system(s->resumed, &s->record.plan, s->record.errors)
                           : md_system_create(s->record.deck, &s->record.plan, s->record.errors);
    const MdStatus made = agree(s, s->system ? MD_OK : md_errors_status(s->record.errors));
    if (made != MD_OK) return made;
    s->record.random = s->system->random;
    s->record.tail = md_system_tail(s->system);
    MdStatus status = minimize(s);
    if (status == MD_OK) status = set_up(s);
    s->record.setup_seconds = md_clock_s() - start - s->record.verify_seconds - s->record.minimization.seconds;
    trace_phase(s, "set-up", start);
    if (status == MD_STOPPED) return status; /* before anything was touched */
    if (status == MD_OK) {
        MdProgressSpec spec = {.mode = is_root(s) ? s->record.config->output_progress : MD_PROGRESS_OFF,
                               .n_steps = s->record.config->run_steps,
                               .stream = stderr,
                               .terminal = isatty(STDERR_FILENO) == 1,
                               .clock_s = md_clock_s};
        s->progress = md_progress_create(&spec);
        status = run_loop(s);
        if (status == MD_ERROR_OUTPUT) rescue(s);
    }
    if (status == MD_OK && s->record.verification.fault.step < 0) status = write_curves(s);
    MdStatus saved = MD_OK;
    if (status == MD_OK && (s->record.resume.stopped || s->record.config->restart_every != 0 || s->resumed))
        saved = checkpoint(s);
    /* A run that came to its end is good without its last restart file. */
    const bool complete = status == MD_OK && saved == MD_ERROR_OUTPUT && !s->record.resume.stopped;
    if (complete)
        md_warn(s->record.log, "the restart file of the end could not be written: the run is complete, but cannot be "
                               "extended from there\n");
    else if (status == MD_OK) status = saved;
    md_sensors_finish(s->record.sensors); /* may wait for a driver that hangs: the state is saved */
    /* The file is closed before anything else can go wrong. */
    if (status == MD_OK) note_frames(s);
    describe(s);
    start = md_clock_s();
    MdStatus closed = agree(s, md_pipeline_close(s->pipeline, s->record.errors));
    trace_phase(s, "close", start);
    start = md_clock_s();
    if (status == MD_OK && s->record.resume.stopped) return closed == MD_OK ? MD_STOPPED : closed;
    if (status == MD_OK) status = count_work(s);
    if (status == MD_OK) status = verify_end(s);
    if (status == MD_STOPPED) status = leave_verification(s);
    trace_phase(s, "check", start);
    if (status == MD_OK && md_verify_verdict(&s->record.verification) == MD_VERDICT_FAILED) status = MD_ERROR_PHYSICS;
    if (status == MD_OK) status = saved;
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
    s->record.sensors = md_provenance_watch(&s->record.machine, s->record.config);
    if (s->record.files.trace) s->trace = md_trace_create(MD_TRACE_EVENTS);
    MdStatus status = run_phases(s), traced = save_trace(s);
    if (status == MD_STOPPED) status = check_walltime(s);
    return traced == MD_OK || (status != MD_OK && status != MD_STOPPED) ? status : traced;
}
