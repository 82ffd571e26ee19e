/* How steps are issued to the device, and again after the device has stopped itself.
 *
 * A step with output, and one with a build, is issued separately: drift, list, forces. The steps between are issued in batches
 * (batch.c). The second half kick of a step waits for the first one of the next, unless the step has output.
 *
 * A step with a sample of an analysis leaves its forces to the next batch, where it can: samples.c.
 *
 * neighbor.rebuild=device-check. The host does not wait to learn whether the list still holds. The integration finds the
 * largest displacement; the force kernel after it reads that, and when it is more than half the skin computes nothing and
 * raises `stopped` (in device memory, for the kernels after it, which then do nothing either, and in mapped memory, for
 * the host). So the device stops before the forces for which the list is too old. The host, which is some
 * steps ahead (ahead.c), sees the flag in passing or at the next wait. It rolls back to that step, builds the list, and issues
 * the rest once more. The journal has the steps that may be issued again: which of them need energies, and the
 * output requested at their ends.
 *
 * A build that does not fit. The host does not wait to learn that either: it issues sort and search and goes on. If the
 * list has too little room, the device stops in the same way, after the sort; the host makes room, repeats the
 * search, and rolls back to that step. The sort would not bear to be repeated: so the host looks whether a build has had room
 * before it issues the next one, by when that is long past. */
#include "cuda/batches/ahead.h"
#include "cuda/batches/batch.h"
#include "cuda/batches/samples.h"
#include "cuda/batches/steps.h"

/* --- needs of a step ------------------------------------------------------------------------------------------------ */

static bool wants_energy(const CudaContext *context, int64_t step) {
    if (cuda_journal_knows(context, step)) return context->journal[step % CUDA_JOURNAL_STEPS].wants_energy;
    return (step == context->last_step && context->last_step_wants_energy) ||
           context->config.force_energy == MD_ENERGY_EVERY_STEP;
}

/* Whether the host has to do something about the list between drift and forces of a step. */
static bool acts_on_list(const CudaContext *context, int64_t step) {
    return !context->facts.checks_on_device && cuda_neighbor_acts(context, step + context->step_offset);
}

/* Whether a sample ends a batch after the forces of a step, unless these begin the batch and positions are sampled before it. */
static bool ends_batch(const CudaContext *context, int64_t step) {
    const bool begins = context->facts.leaves_open && context->is_drifted && step == context->step;
    return cuda_journal_observes(context, step) && !begins;
}

/* Whether a batch ends with the drift of a step since its forces wait for what comes next. */
static bool is_left_open(const CudaContext *context, int64_t step) {
    if (cuda_journal_observes(context, step)) return context->facts.leaves_open;
    return context->leaves_open && step == context->last_step;
}

/* Whether a step can be the first of a batch; and in one batch with the one before it. */
static bool may_begin(const CudaContext *context, int64_t step) {
    return !wants_energy(context, step) && !acts_on_list(context, step);
}

static bool may_follow(const CudaContext *context, int64_t step) {
    return may_begin(context, step) && !is_left_open(context, step);
}

/* --- the device has stopped ------------------------------------------------------------------------------------------ */

/* The result of the last list is known. */
static void confirm(CudaContext *context) {
    if (context->comm && context->unconfirmed) cuda_domain_confirm(context);
    context->unconfirmed = false;
}

/* After a fault the motion is over, and it stays as it is: a fault is told before the stop after it. The devices of several processes
 * stop at the same step; their hosts look at the same steps as well, when it is known, so that all do the same then. */
static bool needs_list(CudaContext *context) {
    if (context->comm && context->facts.checks_on_device) {
        cuda_wait_stream(context, "wait: steps");
        confirm(context);
    }
    if (context->comm && context->unconfirmed) return false;
    return context->h_host_status->stopped && !cuda_has_fault(context);
}

/* The journal's step from now on. */
static CudaJournalStep *know_step(CudaContext *context, int64_t step) {
    CudaJournalStep *now = cuda_journal_entry(context, step);
    if (!cuda_journal_knows(context, step)) {
        const bool energy = wants_energy(context, step);
        *now = (CudaJournalStep){.step = step, .wants_energy = energy};
    }
    return now;
}

/* The forces of a step come next, the first of n_before steps of a batch before it. */
static void note_step(CudaContext *context, int64_t step, int n_before) {
    CudaJournalStep *now = know_step(context, step);
    for (int stage = 0; stage < CUDA_N_STAGES; stage++) now->calls[stage] = context->timers[stage].calls;
    now->calls[CUDA_STEP] += n_before;
}

/* Rolls back to the step at whose forces the device has stopped, and makes the missing list. Work issued from there on
 * had no effect. */
static MdStatus roll_back(CudaContext *context) {
    const uint64_t stopped = context->h_host_status->stopped;
    const bool is_old = CUDA_STOP_WHY(stopped) == CUDA_STOPPED_STALE;
    const int64_t step = is_old ? (int64_t)CUDA_STOP_STEP(stopped) : context->built_step;
    md_require(cuda_journal_knows(context, step));
    cuda_timing_drop(context);
    cuda_memory_end(context, CUDA_FORCES); /* forces of a later step have not been written */
    for (int stage = 0; stage < CUDA_N_STAGES; stage++)
        context->timers[stage].replayed +=
            context->timers[stage].calls - cuda_journal_entry(context, step)->calls[stage];
    context->step = step;
    context->is_drifted = true;
    context->kick_open = false;
    context->is_batch_drift = false;
    MdStatus status = is_old ? cuda_neighbor_build(context, false) : cuda_neighbor_fit(context);
    if (status == MD_OK && is_old) cuda_ahead_note_build(context, step);
    note_step(context, step, 0); /* the device may stop again before they are issued */
    return status;
}

/* Waits until it is known whether the device has stopped: with device-check that may be as late as in the last step; else
 * at the last build, which in the course of the steps is over by then. */
static void wait_to_know(CudaContext *context) {
    if (context->facts.checks_on_device) cuda_wait_stream(context, "wait: steps");
    else if (context->unconfirmed && cudaEventQuery(context->searched) != cudaSuccess)
        cuda_wait_event(context, context->searched, "wait: rebuild");
    (void)cudaGetLastError(); /* not ready is no fault */
    confirm(context);
}

/* --- steps ---------------------------------------------------------------------------------------------------------- */

static void close_kick(CudaContext *context) {
    if (context->kick_open) cuda_integrate_kick(context);
    context->kick_open = false;
}

static void begin_step(CudaContext *context) {
    context->step++;
    cuda_integrate_drift(context, context->kick_open);
    context->kick_open = false;
    context->is_drifted = true;
    context->is_batch_drift = false;
}

/* Whether a batch can begin with the forces of a step whose drift is done: on a list that was built for it, or with an analysis on an
 * older one, too, where the device has the number of the step from the batch before. */
static bool can_begin_forced(const CudaContext *context, int64_t step) {
    const bool is_new = context->built_step == step;
    return context->facts.fuses_steps && !wants_energy(context, step) &&
           (is_new ? context->unconfirmed || context->comm : context->facts.leaves_open && context->is_batch_drift);
}

/* Steps from the present one on that can be one batch; at the first with a drift that is done the forces come first. */
static CudaBatch find_batch(const CudaContext *context) {
    const bool is_drifted = context->is_drifted;
    const int64_t first = is_drifted ? context->step : context->step + 1;
    const bool begins = is_drifted ? can_begin_forced(context, first) : context->kick_open && may_begin(context, first);
    if (!context->facts.batches || !begins) return (CudaBatch){0};
    int64_t n = 1;
    while (n <= CUDA_GRAPH_STEPS && first + n <= context->last_step && !ends_batch(context, first + n - 1) &&
           may_follow(context, first + n))
        n++;
    return cuda_batch_plan(context, first, n, is_drifted,
                           first + n <= context->last_step && !ends_batch(context, first + n - 1));
}

static void issue_batch(CudaContext *context, const CudaBatch *batch) {
    const bool begins_forced = context->is_drifted;
    if (begins_forced) cuda_sample_positions(context);
    for (int k = 0; k < batch->n_steps; k++) note_step(context, batch->first + k, k);
    context->step = batch->first + batch->n_steps - 1;
    cuda_batch_issue(context, batch);
    context->kick_open = context->has_forces;
    context->is_drifted = !context->has_forces;
    context->step += context->is_drifted;
    context->is_batch_drift = context->is_drifted;
    if (begins_forced) cuda_sample_kept(context, batch);
    cuda_sample_end(context);
}

/* The list of a step whose drift is done; false: the device has stopped before, or that failed. */
static bool take_list(CudaContext *context, MdStatus *status) {
    const int64_t step = context->step;
    if (context->facts.checks_on_device) {
        cuda_ahead_wait(context, step);
        return !needs_list(context);
    }
    const bool acts = acts_on_list(context, step) && context->built_step != step;
    const int64_t n_builds = context->n_builds;
    if (acts) wait_to_know(context);
    if (needs_list(context)) return false;
    if (acts) *status = cuda_neighbor_update(context, step + context->step_offset);
    if (acts && (context->unconfirmed || (context->comm && context->n_builds > n_builds)))
        cuda_ahead_note_build(context, step);
    return *status == MD_OK;
}

/* The forces of a step whose drift is done, and the work requested at its end. */
static void end_step(CudaContext *context) {
    note_step(context, context->step, 0);
    const CudaJournalStep *now = cuda_journal_entry(context, context->step);
    cuda_force_compute(context, now->wants_energy);
    context->is_drifted = false;
    context->kick_open = true;
    cuda_sample_end(context);
    if (!now->has_output) return;
    close_kick(context);
    cuda_output_issue(context, &now->output);
}

/* The next batch or step, as far as it goes before it is known that the device has stopped. */
static MdStatus issue_next(CudaContext *context) {
    MdStatus status = MD_OK;
    /* A rollback to the last build must find its step in the journal. */
    if (context->unconfirmed && context->step - context->built_step >= CUDA_JOURNAL_STEPS / 2) wait_to_know(context);
    if (needs_list(context)) return MD_OK;
    if (!context->is_drifted) {
        const CudaBatch batch = find_batch(context);
        if (batch.n_steps > 0 && context->facts.checks_on_device)
            cuda_ahead_wait(context, batch.first + batch.n_steps - 1);
        if (needs_list(context)) return MD_OK;
        if (batch.n_steps > 0) {
            issue_batch(context, &batch);
            return MD_OK;
        }
        begin_step(context);
    }
    if (!take_list(context, &status)) return status;
    const CudaBatch batch = find_batch(context);
    if (batch.n_steps == 0) {
        end_step(context);
        return MD_OK;
    }
    if (batch.first != context->built_step && context->facts.checks_on_device)
        cuda_ahead_wait(context, batch.first + batch.n_steps - 1);
    issue_batch(context, &batch);
    return MD_OK;
}

static bool has_steps_left(const CudaContext *context) {
    return context->step < context->last_step || (context->is_drifted && !context->leaves_open);
}

/* A part of the requested work that has had no effect yet; false: there is none. */
static bool go_on(CudaContext *context, MdStatus *status) {
    if (cuda_has_fault(context) || *status != MD_OK) return false;
    if (needs_list(context)) *status = roll_back(context);
    else if (has_steps_left(context)) *status = issue_next(context);
    else return false;
    return true;
}

static MdStatus settle(CudaContext *context) {
    MdStatus status = MD_OK;
    context->leaves_open = false;
    do {
        while (go_on(context, &status)) continue;
        if (status == MD_OK) wait_to_know(context);
    } while (status == MD_OK && needs_list(context));
    cuda_journal_entry(context, context->step)->has_output = false; /* it never has to be issued again */
    cuda_journal_entry(context, context->step)->has_observation = false;
    return status;
}

/* --- the operations ------------------------------------------------------------------------------------------------- */

MdStatus cuda_steps_advance(CudaContext *context, int64_t first_step, int64_t n_steps, bool with_energy) {
    MdStatus status = MD_OK;
    context->step_offset = first_step - (context->last_step + 1); /* the device counts from the start of the context */
    context->arguments.step_offset = context->step_offset;
    context->last_step += n_steps;
    context->last_step_wants_energy = with_energy;
    context->leaves_open = context->facts.leaves_open && !with_energy;
    while (go_on(context, &status)) continue;
    return status;
}

MdStatus cuda_steps_update_neighbors(CudaContext *context, int64_t step) {
    MdStatus status = cuda_steps_finish(context); /* a kick that is due needs its forces */
    if (status != MD_OK || (context->built && context->facts.checks_on_device)) return status;
    return !context->built || cuda_neighbor_acts(context, step) ? cuda_neighbor_update(context, step) : MD_OK;
}

MdStatus cuda_steps_rebuild(CudaContext *context) {
    MdStatus status = cuda_steps_finish(context); /* a kick that is due needs its forces */
    if (status == MD_OK) status = cuda_neighbor_build(context, true);
    context->built_step = context->step;
    return status;
}

void cuda_steps_compute_forces(CudaContext *context, bool with_energy) {
    CudaJournalStep *now = cuda_journal_entry(context, context->step);
    note_step(context, context->step, 0);
    with_energy = with_energy || context->config.force_energy == MD_ENERGY_EVERY_STEP;
    now->wants_energy = now->wants_energy || with_energy; /* should the step be issued again */
    cuda_force_compute(context, with_energy);
}

void cuda_steps_integrate(CudaContext *context) {
    cuda_integrate_drift(context, context->kick_open);
    context->kick_open = true;
}

MdStatus cuda_steps_settle(CudaContext *context) {
    const MdStatus status = settle(context);
    cuda_timing_break(context);
    return status;
}

MdStatus cuda_steps_finish(CudaContext *context) {
    const MdStatus status = cuda_steps_settle(context);
    if (status == MD_OK) close_kick(context);
    return status;
}

void cuda_steps_observe(CudaContext *context, const MdObservation *observation) {
    const bool is_open = context->is_drifted && context->step == context->last_step;
    if (!is_open && !cuda_journal_knows(context, context->step)) return; /* after a fault, which ends the run */
    CudaJournalStep *now = know_step(context, context->step);
    now->has_observation = true;
    now->observation = *observation;
    cuda_sample_end(context); /* unless it is open: then as it goes on */
}

MdStatus cuda_steps_output_settle(void *opaque) {
    CudaContext *context = opaque;
    const MdStatus status = cuda_steps_settle(context);
    cuda_wait_stream(context, "wait: steps");
    /* After an error or a fault nothing is issued again (go_on): SKIPPED slots stay SKIPPED. */
    if (status != MD_OK || context->h_host_status->stopped || cuda_has_fault(context))
        md_ring_abandon(context->output.ring);
    return status;
}

MdStatus cuda_steps_output_begin(void *opaque, const MdOutputRequest *request) {
    CudaContext *context = opaque;
    CudaJournalStep *now = cuda_journal_entry(context, context->step);
    /* The journal has room for one request a step: an earlier one must be complete. Several processes, unless kernels
     * read data packed by other GPUs: hosts must know how many atoms are on each. */
    const bool is_read = context->config.parallel_transport == MD_TRANSPORT_DIRECT && cuda_output_joins(context);
    MdStatus status = now->has_output || (context->comm && !is_read) ? settle(context) : MD_OK;
    if (status != MD_OK) return status;
    /* So the step is in no batch. After a fault it was not made. */
    md_require(now->wants_energy || cuda_has_fault(context));
    now->has_output = true;
    now->output = *request;
    close_kick(context);
    cuda_output_issue(context, request);
    return MD_OK;
}
