/* How steps are issued to the device, and how the device stops itself.
 *
 * Ladder
 *   launch.fuse=off            a kernel for each part of the integration
 *   launch.fuse=on             one kernel for all of it (kernels/integrate.cu), the second half kick of a step waiting
 *                              for the first of the next
 *   launch.fuse=step           and with that the forces before it, wherever steps are made in batches
 *   launch.passes=queue        all of these of a batch in one launch (kernels/batches/step_queue.cuh)
 *   launch.graph=on            steps that nobody looks at are held back and issued as one graph of some kernels: one
 *                              call of the host for all of them, and gaps of half a microsecond between kernels;
 *                              sort and search are graphs, too, where the host does not wait for them
 *   launch.persistent=on       the same steps by one resident kernel (kernels/batches/step.cu) with a barrier over the whole
 *                              grid in place of the launches
 *
 * neighbor.rebuild=device-check. The host does not wait to learn whether the list still holds. The integration finds the
 * largest displacement; the force kernel after it reads that, and when it is more than half the skin computes nothing,
 * raises `halted` (in device memory, for the kernels behind it, which then do nothing either, and in mapped memory, for
 * the host). So the device stands still at the moment before the forces that the list would have got wrong. The host,
 * which is some steps ahead, sees the flag in passing or at the next wait, builds the list, and issues again what had
 * no effect: the journal is the number of the last step, how far it went, which steps wanted energies, and what output was
 * asked for at their ends (output.c). What was issued beyond the halt is wasted (an idle kernel takes some two
 * microseconds), so the host runs ahead by a few steps only; with batches as far as the list lasted the last time, and
 * from there on by an eighth of that at a time. A kernel that stops itself in the midst of a batch wastes a pass or two
 * at most (with launch.barrier = local, where a list lasts shorter than any of late, those until then), and its batches are
 * as long as they may be.
 *
 * A build that does not fit. The host does not wait to learn that either: it issues sort and search and goes on. Where the
 * list has no room for what was found the device halts in the same way, behind the sort; the host makes room, repeats the
 * search, and issues again what came after it. The sort would not bear that: so the host looks whether a build has had room
 * before it issues the next one, by when that is long past. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/nvtx.h"
#include "cuda/batches/steps.h"

enum {
    BATCH_STEPS = 16, /* launches of a graph of 16 steps cost the host as much as one step issued by itself */
    /* of a kernel that stops itself, and where it is known how long the list will serve */
    LONG_BATCH_STEPS = CUDA_GRAPH_STEPS,
    RUN_AHEAD_STEPS = 4 /* of the host, in steps issued one by one */
};

static bool checks_on_device(const CudaContext *context) {
    return context->config.neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;
}
static bool is_resident(const CudaContext *context) { return context->config.launch_persistent == MD_PERSISTENT_ON; }
static bool in_passes(const CudaContext *context) { return context->config.launch_fuse == MD_FUSE_STEP; }
static bool in_queue(const CudaContext *context) { return context->config.launch_passes == MD_PASSES_QUEUE; }
/* Whether the kernel of a batch stops in its midst, so that some steps more in it cost hardly anything. */
static bool stops_itself(const CudaContext *context) { return is_resident(context) || in_queue(context); }
static bool batches(const CudaContext *context) {
    return context->config.launch_graph == MD_GRAPH_ON || is_resident(context) || in_passes(context);
}
static CudaJournalStep *entry(CudaContext *context, int64_t step) {
    return &context->journal[step % CUDA_JOURNAL_STEPS];
}
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* --- how far ahead ------------------------------------------------------------------------------------------------- */

static int64_t most_batch_steps(const CudaContext *context) {
    const bool is_known = context->config.neighbor_rebuild == MD_REBUILD_EVERY;
    return stops_itself(context) || is_known ? LONG_BATCH_STEPS : BATCH_STEPS;
}

/* Steps that the last list was good for; of the first one nobody knows. */
static int64_t last_interval(const CudaContext *context) {
    return context->n_intervals > 0 ? context->intervals[(context->n_intervals - 1) % CUDA_INTERVALS] : 0;
}

/* Steps that may be wasted when the list fails: a quarter of what it lasted the last time, or has lasted by now. */
static int64_t slack(const CudaContext *context, int64_t step) {
    return larger(larger(last_interval(context), step - context->built_step) / 4, 2);
}

/* Steps from `step` on that the list is expected to be good for: as many after its build as the last one was. */
static int64_t safe_steps(const CudaContext *context, int64_t step) {
    return context->built_step + last_interval(context) - step;
}

/* Steps of the batch that begins with step `first`. */
static int64_t batch_steps(const CudaContext *context, int64_t first) {
    if (!checks_on_device(context) || stops_itself(context)) return most_batch_steps(context);
    const int64_t safe = safe_steps(context, first), doubtful = slack(context, first) / 2;
    return smaller(safe > 0 ? safe : doubtful, most_batch_steps(context));
}

/* How far before the device the host may be when it issues `step`: two batches keep the device busy, as long as the list is
 * expected to serve for both. A kernel that stops itself tells at its end how far it came. */
static int64_t run_ahead(const CudaContext *context, int64_t step) {
    if (!batches(context)) return RUN_AHEAD_STEPS;
    const int64_t safe = safe_steps(context, (int64_t)context->h_signals->step), most = most_batch_steps(context);
    return smaller(larger(safe, stops_itself(context) ? most : slack(context, step)), 2 * most);
}

static void book_build(CudaContext *context, int64_t step) {
    context->intervals[context->n_intervals++ % CUDA_INTERVALS] = step - context->built_step;
    context->built_step = step;
}

/* --- single steps -------------------------------------------------------------------------------------------------- */

/* The integration up to the drift; kick_first: with the second half kick of the step before. */
static void issue_drift(CudaContext *context, bool kick_first) {
    const int n = context->n_atoms;
    context->arguments.kick_first = kick_first;
    if (context->config.launch_fuse != MD_FUSE_OFF) {
        cuda_launch(context, CUDA_K_integrate_kick_drift, n);
        return;
    }
    if (kick_first) cuda_launch(context, CUDA_K_integrate_kick, n);
    cuda_launch(context, CUDA_K_integrate_kick, n);
    cuda_launch(context, CUDA_K_integrate_drift, n);
    if (context->config.neighbor_rebuild != MD_REBUILD_EVERY) cuda_launch(context, CUDA_K_integrate_check, n);
}

static void time_drift(CudaContext *context, bool kick_first) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    cuda_reduce_begin_extremes(context);
    issue_drift(context, kick_first);
    cuda_reduce_end_extremes(context);
    cuda_memory_end(context, CUDA_FORCES);
    cuda_timing_end(context);
    if (context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK) cuda_watch_read(context, false);
}

static void time_forces(CudaContext *context, bool with_energy) {
    cuda_timing_begin(context, CUDA_FORCE);
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_force_issue(context, with_energy);
    cuda_timing_end(context);
}

/* --- batches ------------------------------------------------------------------------------------------------------- */

static void issue_steps(CudaContext *context, int n_steps) {
    for (int step = 0; step < n_steps; step++) {
        issue_drift(context, true);
        cuda_force_issue(context, false);
    }
}

/* launch.fuse = step: kernels/batches/step.cu. Each pass takes the positions from one copy to the other; the last one of a batch leaves
 * them in the first. */
static void issue_passes(CudaContext *context, int n) {
    if (in_queue(context)) {
        context->arguments.n = n;
        context->arguments.first = n % 2;
        if (n > 0) cuda_launch_filling(context, CUDA_K_step_queue, n * cuda_force_items(context));
        if (n > 0 && checks_on_device(context)) cuda_launch(context, CUDA_K_step_bring_back, context->n_atoms);
        return;
    }
    for (int left = n; left > 0; left--) {
        context->arguments.first = left % 2;
        cuda_launch_blocks(context, CUDA_K_step_pass, cuda_force_blocks(context, CUDA_K_step_pass));
    }
}

static void issue_moves(CudaContext *context, int n) {
    context->arguments.first = n % 2;
    cuda_launch(context, CUDA_K_step_drift, context->n_atoms);
    issue_passes(context, n);
}

static void issue_whole_steps(CudaContext *context, int n_steps) {
    if (!in_passes(context)) {
        issue_steps(context, n_steps);
        return;
    }
    issue_moves(context, n_steps - 1);
    cuda_force_issue(context, false);
}

static void issue_forced_steps(CudaContext *context, int n_steps) {
    issue_passes(context, n_steps - 1);
    cuda_force_issue(context, false);
}

static const CudaGraphWork batch_work[CUDA_N_BATCHES] = {[0] = issue_whole_steps,
                                                         [CUDA_BEGINS_FORCED] = issue_forced_steps,
                                                         [CUDA_ENDS_DRIFTED] = issue_moves,
                                                         [CUDA_BEGINS_FORCED | CUDA_ENDS_DRIFTED] = issue_passes};

/* A batch between two builds by count is one graph, since it comes again. Other batches are of any length: graphs of powers
 * of two, the largest first, of which few serve for all; but a queue is to go on over all of them. The grid, which every build of
 * a system with an open axis measures anew, is read by one of the force kernels and by the queue only. */
static void issue_graphs(CudaContext *context, int n_steps, int kind) {
    const bool reads_grid = context->config.force_kernel == MD_KERNEL_CELL || in_queue(context);
    for (int n = n_steps; n_steps > 0; n_steps -= n) {
        if (checks_on_device(context) && !in_queue(context))
            for (n = BATCH_STEPS; n > n_steps;) n /= 2;
        const int part = n == n_steps ? kind : kind & CUDA_BEGINS_FORCED ? CUDA_BEGINS_FORCED | CUDA_ENDS_DRIFTED : 0;
        cuda_graph_launch(context, &context->batch_graphs[part][n], reads_grid, batch_work[part], n);
    }
}

/* Of a batch that begins with the forces of step `first`: passes up to the last step before the one at which the shortest list
 * that is remembered had to go. Each pass more spares a barrier, as long as there is no list that lasts shorter still, which
 * costs some dozen passes made again. */
static int trusted_passes(const CudaContext *context, int64_t first) {
    const int64_t n = smaller(context->n_intervals, CUDA_INTERVALS);
    int64_t shortest = n > 0 ? context->intervals[0] : 0;
    for (int64_t k = 1; k < n; k++) shortest = smaller(shortest, context->intervals[k]);
    return (int)larger(context->built_step + shortest - 1 - first, 0);
}

static void issue_resident(CudaContext *context, int n_steps, int kind) {
    CudaArguments *a = &context->arguments;
    a->n = n_steps;
    a->begins = (kind & CUDA_BEGINS_FORCED) != 0;
    a->drifts = (kind & CUDA_ENDS_DRIFTED) != 0;
    a->trusted = trusted_passes(context, context->last_held - n_steps + 1);
    a->first = (int32_t)(context->kernels[CUDA_K_step_resident].launches % 2);
    cuda_launch_resident(context, CUDA_K_step_resident, cuda_force_blocks(context, CUDA_K_step_resident));
}

static void issue_batch(CudaContext *context, int n_steps, int kind) {
    if (is_resident(context)) issue_resident(context, n_steps, kind);
    else if (context->config.launch_graph == MD_GRAPH_ON) issue_graphs(context, n_steps, kind);
    else batch_work[kind](context, n_steps);
}

/* As if nothing were held back: on a device that stands still it would have no effect; the journal has it. */
static void drop_held(CudaContext *context) {
    context->n_held = 0;
    context->first_drifted = false;
    context->drift_held = false;
}

/* The first pass of a batch may compute forces, where the drift before them is done, if the passes leave the positions in the
 * first copy: an even number of them. Otherwise, as between rebuilds an odd number of steps apart, those forces come by
 * themselves. */
static void begin_batch(CudaContext *context) {
    const int n_moves = context->n_held - !context->drift_held;
    if (!context->first_drifted || (n_moves > 0 && n_moves % 2 == 0)) return;
    entry(context, context->last_held - context->n_held + 1)->issued = CUDA_SINGLY;
    context->first_drifted = false;
    context->n_held--;
    time_forces(context, false);
}

/* Issues what was held back. The drift behind a batch is that of its last pass, where forces and drift are one kernel. */
static void flush(CudaContext *context) {
    begin_batch(context);
    const int n_steps = context->n_held;
    const bool drift = context->drift_held, with_drift = drift && n_steps > 0 && in_passes(context);
    const int kind = (context->first_drifted ? CUDA_BEGINS_FORCED : 0) | (with_drift ? CUDA_ENDS_DRIFTED : 0);
    drop_held(context);
    if (n_steps > 0) {
        for (int k = 0; k < n_steps; k++) entry(context, context->last_held - k)->issued = CUDA_IN_BATCH;
        md_nvtx_begin("issue steps", n_steps);
        cuda_timing_begin(context, CUDA_STEP);
        cuda_memory_begin(context, CUDA_FORCES);
        issue_batch(context, n_steps, kind);
        cuda_timing_end_batch(context, n_steps);
        md_nvtx_end();
        context->has_forces = !with_drift;
    }
    if (drift) entry(context, context->step)->issued = with_drift ? CUDA_AFTER_BATCH : CUDA_SINGLY;
    if (drift && !with_drift) time_drift(context, true);
}

static void hold_one(CudaContext *context, int64_t step) {
    entry(context, step)->issued = CUDA_HELD;
    context->last_held = step;
    context->n_held++;
}

/* Holds back a whole step. */
static void hold(CudaContext *context, int64_t step) {
    hold_one(context, step);
    const int64_t most = batch_steps(context, step - context->n_held + 1);
    const bool fits = !context->first_drifted || most % 2 == 1; /* see begin_batch */
    if (context->n_held >= (fits ? most : larger(most - 1, 3))) flush(context);
}

/* Computes the forces of a step whose drift is issued, or holds them back for a batch. That may begin with those of a list for
 * which nobody waits: the sort before it tells the device what step they are of. */
static void add_forces(CudaContext *context, int64_t step) {
    const bool wants_energy = entry(context, step)->wants_energy;
    flush(context);
    if (in_passes(context) && context->unconfirmed && context->built_step == step && !wants_energy) {
        context->first_drifted = true;
        hold_one(context, step);
    } else {
        time_forces(context, wants_energy);
    }
}

enum { LOOKS = 100 }; /* at mapped memory, for one at the stream, which takes the time of dozens */

static bool is_behind(const CudaContext *context, int64_t step) {
    return step - (int64_t)context->h_signals->step > run_ahead(context, step) && !context->h_signals->halted;
}

/* Waits while the device is too far behind `step`. */
static void wait_for_device(CudaContext *context, int64_t step) {
    const double begin_s = md_clock_s();
    bool waits = false, idle = false;
    while (!idle && is_behind(context, step)) {
        int look = 0;
        while (look < LOOKS && is_behind(context, step)) look++;
        cudaError_t error = cudaStreamQuery(context->stream); /* keeps work moving, and tells of errors */
        waits = true;
        idle = error == cudaSuccess;
        if (!idle && error != cudaErrorNotReady) CUDA_CHECK(error);
        (void)cudaGetLastError();
    }
    if (waits) cuda_wait_record(context, "wait: steps", begin_s);
}

/* --- the device stands still --------------------------------------------------------------------------------------- */

/* The second half kick by itself, for who looks at the end of the step. */
static void time_kick(CudaContext *context) {
    cuda_timing_begin(context, CUDA_INTEGRATE);
    cuda_launch(context, CUDA_K_integrate_kick, context->n_atoms);
    cuda_timing_end(context);
}

/* What was asked for at the end of a step. */
static void add_output(CudaContext *context, const CudaJournalStep *step) {
    if (!step->has_output) return;
    flush(context);
    if (step->kicked) time_kick(context);
    cuda_output_issue(context, &step->output);
}

/* A drift whose step before is in the journal. */
static void add_drift(CudaContext *context, int64_t step) {
    flush(context);
    entry(context, step)->issued = CUDA_SINGLY;
    time_drift(context, !entry(context, step - 1)->kicked);
}

/* A whole step: held back for a batch where that is possible, else issued. */
static void add_step(CudaContext *context, int64_t step) {
    const CudaJournalStep *now = entry(context, step);
    if (batches(context) && !now->wants_energy && !entry(context, step - 1)->kicked) {
        hold(context, step);
    } else {
        add_drift(context, step);
        add_forces(context, step);
    }
    add_output(context, now);
}

/* The present step, as far as it has gone. */
static void add_last(CudaContext *context, int64_t step) {
    if (context->progress == CUDA_FORCED) {
        add_step(context, step);
    } else if (batches(context) && !entry(context, step - 1)->kicked) {
        entry(context, step)->issued = CUDA_HELD;
        context->drift_held = true;
    } else {
        add_drift(context, step);
    }
}

/* Books what found the device halted at the forces of `first`: it is not to count as calls. */
static void book_undone(CudaContext *context, int64_t first) {
    for (int64_t step = first; step <= context->step; step++) {
        const bool forced = step < context->step || context->progress == CUDA_FORCED;
        const CudaJournalStep *undone = entry(context, step);
        const CudaIssue issued = undone->issued;
        if (issued == CUDA_IN_BATCH) context->timers[CUDA_STEP].undone++;
        if ((issued == CUDA_SINGLY || issued == CUDA_AFTER_BATCH) && forced) context->timers[CUDA_FORCE].undone++;
        if (issued == CUDA_SINGLY && step > first) context->timers[CUDA_INTEGRATE].undone++;
        if (!undone->has_output || issued == CUDA_HELD) continue;
        if (undone->kicked) context->timers[CUDA_INTEGRATE].undone++;
        context->timers[CUDA_REDUCE].undone++;
        if (undone->output.frame >= 0) context->timers[CUDA_GATHER].undone++;
    }
}

/* Makes the list that the device lacks, and issues again what came after the drift of that step: all of it, unless the
 * device stops again. Some may be held back. */
static MdStatus resume(CudaContext *context) {
    const uint64_t halted = context->h_signals->halted;
    const bool is_old = CUDA_HALT_WHY(halted) == CUDA_HALTED_OLD;
    int64_t step = is_old ? (int64_t)CUDA_HALT_STEP(halted) : context->built_step;
    drop_held(context);
    cuda_timing_drop(context);
    if (context->h_signals->fault) return MD_OK; /* it is told before the halt behind it */
    cuda_memory_end(context, CUDA_FORCES);       /* nobody has written those that a later step asked for */
    book_undone(context, step);
    MdStatus status = is_old ? cuda_neighbor_build(context, false) : cuda_neighbor_fit(context);
    if (status != MD_OK) return status;
    if (is_old) book_build(context, step);
    if (step == context->step && context->progress == CUDA_DRIFTED)
        return MD_OK; /* its forces were not asked for yet */
    for (int64_t later = step + 1; later <= context->step; later++) entry(context, later)->issued = CUDA_HELD;
    entry(context, step)->issued = CUDA_SINGLY;
    add_forces(context, step);
    add_output(context, entry(context, step));
    while (++step < context->step) {
        add_step(context, step);
        wait_for_device(context, step);
        if (context->h_signals->halted) return MD_OK;
    }
    if (step == context->step) add_last(context, step);
    if (!batches(context)) flush(context);
    return MD_OK;
}

/* After a fault the motion is over, and it stays as it is. */
static bool needs_list(const CudaContext *context) { return context->h_signals->halted && !context->h_signals->fault; }

/* Waits until it is known whether the device stands still: with device-check that may be as late as in the last step; else
 * at the last build, which in the course of the steps is over by then. */
static void wait_to_know(CudaContext *context) {
    if (checks_on_device(context)) cuda_wait_stream(context, "wait: steps");
    else if (context->unconfirmed && cudaEventQuery(context->searched) != cudaSuccess)
        cuda_wait_event(context, context->searched, "wait: rebuild");
    (void)cudaGetLastError(); /* not ready is no fault */
    context->unconfirmed = false;
}

/* On return all that was asked for so far is issued, to effect, and with device-check done. */
static MdStatus settle(CudaContext *context) {
    MdStatus status = MD_OK;
    if (context->h_signals->halted) drop_held(context);
    flush(context);
    wait_to_know(context);
    while (needs_list(context) && status == MD_OK) {
        status = resume(context);
        if (!context->h_signals->halted) flush(context);
        wait_to_know(context);
    }
    return status;
}

/* --- the operations ------------------------------------------------------------------------------------------------ */

void cuda_steps_kick_drift(CudaContext *context, int64_t step) {
    const bool kick_first = context->kick_due;
    context->step++; /* as the device counts: from the start of the context */
    context->step_offset = step - context->step;
    context->progress = CUDA_DRIFTED;
    context->kick_due = false;
    entry(context, context->step)->has_output = false;
    entry(context, context->step)->kicked = false;
    /* Held back only with a half kick before it: all steps of a batch are the same. */
    if (batches(context) && kick_first) {
        entry(context, context->step)->issued = CUDA_HELD;
        context->drift_held = true;
        return;
    }
    entry(context, context->step)->issued = CUDA_SINGLY;
    time_drift(context, kick_first);
}

MdStatus cuda_steps_update_neighbors(CudaContext *context, int64_t step) {
    MdStatus status = MD_OK;
    if (context->built && checks_on_device(context)) {
        wait_for_device(context, context->step);
        while (needs_list(context) && status == MD_OK) {
            status = resume(context);
            wait_for_device(context, context->step);
        }
        return status;
    }
    const bool acts = !context->built || cuda_neighbor_acts(context, step);
    const bool is_far = context->step - context->built_step >= CUDA_JOURNAL_STEPS / 2;
    if (acts || (context->unconfirmed && is_far)) status = settle(context);
    if (acts && status == MD_OK) status = cuda_neighbor_update(context, step);
    if (acts && context->unconfirmed) book_build(context, context->step);
    return status;
}

MdStatus cuda_steps_rebuild(CudaContext *context) {
    MdStatus status = cuda_steps_finish(context); /* a kick that is due needs its forces */
    if (status == MD_OK) status = cuda_neighbor_build(context, true);
    context->built_step = context->step;
    return status;
}

void cuda_steps_compute_forces(CudaContext *context, bool with_energy) {
    with_energy = with_energy || context->config.force_energy == MD_ENERGY_EVERY_STEP;
    entry(context, context->step)->wants_energy = with_energy;
    context->progress = CUDA_FORCED;
    if (context->drift_held && !with_energy) {
        context->drift_held = false;
        hold(context, context->step);
        return;
    }
    add_forces(context, context->step);
}

void cuda_steps_kick(CudaContext *context) { context->kick_due = true; }

MdStatus cuda_steps_settle(CudaContext *context) {
    const MdStatus status = settle(context);
    cuda_timing_break(context);
    return status;
}

MdStatus cuda_steps_finish(CudaContext *context) {
    MdStatus status = cuda_steps_settle(context);
    if (status != MD_OK || !context->kick_due) return status;
    context->kick_due = false;
    time_kick(context);
    return MD_OK;
}

MdStatus cuda_steps_output(CudaContext *context, const MdOutputRequest *request) {
    CudaJournalStep *now = entry(context, context->step);
    /* The journal has room for one request a step: of another before it nothing may be left to do. */
    MdStatus status = now->has_output ? settle(context) : MD_OK;
    if (status != MD_OK) return status;
    flush(context);
    *now = (CudaJournalStep){.wants_energy = now->wants_energy,
                             .issued = now->issued,
                             .has_output = true,
                             .kicked = context->kick_due,
                             .output = *request};
    context->kick_due = false;
    add_output(context, now);
    return MD_OK;
}

void cuda_steps_destroy(CudaContext *context) {
    for (int kind = 0; kind < CUDA_N_BATCHES; kind++)
        for (int n = 0; n <= CUDA_GRAPH_STEPS; n++) cuda_graph_destroy(&context->batch_graphs[kind][n]);
    cuda_graph_destroy(&context->sort_graphs);
    cuda_graph_destroy(&context->search_graphs);
    cuda_graph_destroy(&context->list_graphs);
}
