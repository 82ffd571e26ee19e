/* Batches: many steps without energies that are issued in one go.
 *
 * Ladder
 *   launch.fuse=off            a kernel for each part of the integration
 *   launch.fuse=on             one kernel for all of it (kernels/integrate.cu), the second half kick of a step waiting
 *                              for the first of the next
 *   launch.fuse=step           and with that the forces before it, wherever steps are made in batches
 *   launch.passes=queue        all of these of a batch in one launch (kernels/batches/step_queue.cuh)
 *   launch.graph=on            a batch is issued as one graph of some kernels: one call of the host for all of them, and gaps of
 *                              half a microsecond between kernels; a list is a graph, too, where the host does not wait
 *                              for it
 *   launch.persistent=on       a batch is one resident kernel (kernels/batches/step.cu) with grid-wide barriers instead
 *                              of launches
 *
 * Every step of a batch begins with the second half kick of the step before it. Where forces and drift are one kernel
 * (launch.fuse = step), a batch may begin with the forces of a step whose drift is done, and end with the drift of the step after it.
 * Such a kernel reads the positions of one buffer and writes those of the other; a batch must end in buffer 0. A separate drift can
 * read either buffer, so a batch that begins with forces has an even number of these kernels. */
#include "base/nvtx.h"
#include "cuda/batches/ahead.h"
#include "cuda/batches/batch.h"

/* --- contents of a batch -------------------------------------------------------------------------------------------- */

static bool is_even(int64_t n) { return n % 2 == 0; }

CudaBatch cuda_batch_plan(const CudaContext *context, int64_t first, int64_t n_steps, bool is_drifted,
                          bool is_followed) {
    const int64_t most = cuda_ahead_batch_steps(context, first);
    bool drifts = context->facts.fuses_steps && is_followed && n_steps <= most;
    int n = (int)(n_steps < most ? n_steps : most);
    if (is_drifted) {
        drifts = drifts && is_even(n);
        if (!drifts && is_even(n)) n--;
        if (n == 1) n = 0; /* that is no batch */
    }
    return (CudaBatch){first, n, (is_drifted ? CUDA_BEGINS_FORCED : 0) | (drifts ? CUDA_ENDS_DRIFTED : 0)};
}

/* --- how it is issued ----------------------------------------------------------------------------------------------- */

static void issue_steps(CudaContext *context, int n_steps) {
    for (int step = 0; step < n_steps; step++) {
        cuda_integrate_issue(context, true);
        cuda_force_issue(context, false);
    }
}

/* n kernels of forces, kicks and drift each; kernels/batches/step.cu. */
static void issue_fused(CudaContext *context, int n) {
    if (context->facts.queues) {
        if (n > 0) cuda_halo_update(context, n % 2);
        context->arguments.n = n;
        context->arguments.buffer = n % 2;
        if (n > 0) cuda_launch_filling(context, CUDA_K_step_queue, n * cuda_force_items(context));
        if (n > 0 && context->facts.checks_on_device) cuda_launch(context, CUDA_K_step_bring_back, context->room);
        if (n > 0) cuda_halo_forget(context); /* unless it is checked, other GPUs may still be storing theirs */
        return;
    }
    for (int left = n; left > 0; left--) {
        cuda_halo_update(context, left % 2);
        context->arguments.buffer = left % 2;
        cuda_launch_blocks(context, CUDA_K_step_pass, cuda_force_blocks(context, CUDA_K_step_pass));
        context->halo.is_stale = true;
    }
}

/* Separate forces after n passes. Passes of a queue have stored the positions of copies: after a barrier of all GPUs, which ends a
 * checked queue, they are complete. */
static void end_with_forces(CudaContext *context, int n) {
    if (context->comm && context->facts.queues && n > 0) {
        if (!context->facts.checks_on_device) cuda_halo_barrier(context);
        cuda_halo_begin(context);
    }
    cuda_force_issue(context, false);
}

/* A drift, and n of these. */
static void issue_moves(CudaContext *context, int n) {
    context->arguments.buffer = n % 2;
    cuda_launch(context, CUDA_K_step_drift, context->room);
    context->halo.is_stale = true;
    issue_fused(context, n);
}

static void issue_whole_steps(CudaContext *context, int n_steps) {
    if (!context->facts.fuses_steps) {
        issue_steps(context, n_steps);
        return;
    }
    issue_moves(context, n_steps - 1);
    end_with_forces(context, n_steps - 1);
}

static void issue_forced_steps(CudaContext *context, int n_steps) {
    issue_fused(context, n_steps - 1);
    end_with_forces(context, n_steps - 1);
}

static const CudaGraphWork batch_work[CUDA_N_BATCHES] = {[0] = issue_whole_steps,
                                                         [CUDA_BEGINS_FORCED] = issue_forced_steps,
                                                         [CUDA_ENDS_DRIFTED] = issue_moves,
                                                         [CUDA_BEGINS_FORCED | CUDA_ENDS_DRIFTED] = issue_fused};

/* A batch between two builds by count is one graph, since it comes again. Other batches are of any length: they are cut into
 * graphs of powers of two, the largest first, so that a few graphs serve for all; but a queue is not cut. The grid, which every build of
 * a system with an open axis measures again, is read by one of the force kernels and by the queue only. */
static void issue_graphs(CudaContext *context, const CudaBatch *batch) {
    const bool queues = context->facts.queues, in_parts = context->facts.checks_on_device && !queues;
    const bool reads_grid = context->config.force_kernel == MD_KERNEL_CELL || queues;
    int n = in_parts ? CUDA_BATCH_STEPS : batch->n_steps; /* a part */
    for (int left = batch->n_steps; left > 0; left -= n) {
        while (n > left) n /= 2;
        const int begins = batch->kind & CUDA_BEGINS_FORCED;
        const int kind = n == left ? batch->kind : begins ? CUDA_BEGINS_FORCED | CUDA_ENDS_DRIFTED : 0;
        /* A graph does not depend on earlier work; but after a list forces come first, if nothing checks displacements. */
        if (begins && !context->facts.checks_on_device) cuda_halo_begin(context);
        else cuda_halo_forget(context);
        cuda_graph_launch(context, &context->batch_graphs[kind][n], reads_grid, batch_work[kind], n);
    }
}

static void issue_resident(CudaContext *context, const CudaBatch *batch) {
    CudaArguments *a = &context->arguments;
    /* The first drift overwrites copies at once: no GPU may still compute with them. Behind a list none does. */
    if (context->comm && (batch->kind & CUDA_BEGINS_FORCED) == 0) cuda_halo_barrier(context);
    a->n = batch->n_steps;
    a->begins = (batch->kind & CUDA_BEGINS_FORCED) != 0;
    a->drifts = (batch->kind & CUDA_ENDS_DRIFTED) != 0;
    a->speculative = cuda_ahead_speculative_steps(context, batch->first);
    a->barrier_word = (int32_t)(context->kernels[CUDA_K_step_resident].launches % 2);
    cuda_launch_resident(context, CUDA_K_step_resident, cuda_force_blocks(context, CUDA_K_step_resident));
}

void cuda_batch_issue(CudaContext *context, const CudaBatch *batch) {
    md_nvtx_begin("issue steps", batch->n_steps);
    cuda_timing_begin(context, CUDA_STEP);
    cuda_memory_begin(context, CUDA_FORCES);
    if (context->facts.is_resident) issue_resident(context, batch);
    else if (context->config.launch_graph == MD_GRAPH_ON) issue_graphs(context, batch);
    else batch_work[batch->kind](context, batch->n_steps);
    cuda_timing_end_batch(context, batch->n_steps);
    md_nvtx_end();
    context->has_forces = !(batch->kind & CUDA_ENDS_DRIFTED);
    if (context->config.launch_graph == MD_GRAPH_ON || context->facts.is_resident) cuda_halo_forget(context);
    context->halo.is_stale = !context->has_forces;
}

void cuda_batch_destroy(CudaContext *context) {
    for (int kind = 0; kind < CUDA_N_BATCHES; kind++)
        for (int n = 0; n <= CUDA_GRAPH_STEPS; n++) cuda_graph_destroy(&context->batch_graphs[kind][n]);
    cuda_graph_destroy(&context->list_graphs);
}
