/* The cuda backend: the operations of backend.h on its context (context/context.h). Each
 * stage has its file. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/backend.h"
#include "cuda/batches/batch.h"
#include "cuda/batches/steps.h"
#include "cuda/plan/resolve.h"
#include "cuda/plan/variants.h"
#include "cuda/device/versions.h"

/* Numbers of threads are ints where an atom has one. The margin is for loops that stride by a grid of up to
 * CUDA_MAX_SUM_BLOCKS blocks, or by one that is resident; sums by larger grids count in 64 bits. */
static const int64_t max_atoms = INT_MAX - 2 * (int64_t)CUDA_MAX_SUM_BLOCKS * 1024;

static void configure(CudaContext *context, const MdConfig *config, int64_t n_atoms, MdComm *comm, const MdBox *box,
                      const MdPotential *potential) {
    CudaArguments *a = &context->arguments;
    context->config = *config;
    context->facts = cuda_facts(config);
    context->n_all = n_atoms;
    context->box = *box;
    context->potential = *potential;
    context->range = cuda_list_range(config, potential);
    context->fault = (MdFault){-1, -1, NAN};
    cuda_domain_configure(context, comm);
    a->n_own = a->n_stored = a->stride = context->room;
    for (int axis = 0; axis < 3; axis++) {
        a->length[axis] = box->length[axis];
        a->inverse[axis] = md_box_inverse(box, axis);
        a->length_f[axis] = (float)a->length[axis];
        a->rest_f[axis] = (float)(a->length[axis] - (double)a->length_f[axis]);
        a->inverse_f[axis] = (float)a->inverse[axis];
    }
    const double fault_distance = md_fault_distance(config, potential);
    a->half_step = 0.5 * config->run_timestep;
    a->whole_step = config->run_timestep;
    a->fault_sq = fault_distance * fault_distance;
    a->range_sq = context->range * context->range;
    a->half_step_f = (float)a->half_step;
    a->whole_step_f = (float)a->whole_step;
    a->fault_sq_f = (float)a->fault_sq;
    a->stale_sq = (float)(0.25 * config->neighbor_skin * config->neighbor_skin);
    cuda_count_plan(context, n_atoms);
    cuda_brick_plan(context); /* kernels are told of the room */
}

/* Of the whole system, if this GPU can have its part. */
static int64_t most_atoms(const MdSystemPlan *plan) {
    const int64_t most = max_atoms * md_comm_size(plan->comm);
    return plan->n_atoms < most ? plan->n_atoms : most;
}

static MdMemory estimate(const MdConfig *config, const MdSystemPlan *plan) {
    CudaContext context = {0};
    configure(&context, config, most_atoms(plan), plan->comm, &plan->box, &plan->potential);
    return cuda_memory_estimate(&context);
}

/* Pairs see floats, or doubles. In a brick they are measured from its corner, which in a wide box is far from its atoms: cells are
 * no more than atoms. In mixed precision eight bits more of a position count there (kernels/bricks/tile.cuh). */
static double rounding(const MdConfig *config, const MdBox *box, double extent, double spread) {
    const double unit = config->run_precision == MD_PRECISION_DOUBLE ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    if (config->force_kernel != MD_KERNEL_BRICK) return unit * extent;
    if (config->run_precision != MD_PRECISION_MIXED || config->memory_layout != MD_LAYOUT_VEC4)
        return unit * (extent + spread);
    double of_brick = spread;
    for (int axis = 0; axis < box->dimension; axis++)
        if (box->periodic[axis]) of_brick = fmax(of_brick, box->length[axis]);
    return unit * (extent / 256 + of_brick);
}

/* In mixed precision a position has CUDA_LOW_BITS more than the 24 of a float (kernels/common.cuh). */
static double position_roundoff(const MdConfig *config) {
    return config->run_precision == MD_PRECISION_DOUBLE  ? DBL_EPSILON / 2
           : config->run_precision == MD_PRECISION_MIXED ? ldexp(FLT_EPSILON / 2, -CUDA_LOW_BITS)
                                                         : FLT_EPSILON / 2;
}

static MdMemory output_estimate(const MdConfig *config, const MdSystemPlan *plan, const MdRingSpec *spec) {
    CudaContext context = {0};
    configure(&context, config, most_atoms(plan), plan->comm, &plan->box, &plan->potential);
    return cuda_output_estimate(&context, spec);
}

static void destroy(void *opaque) {
    CudaContext *context = opaque;
    if (!context) return;
    if (context->stream) CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_batch_destroy(context);
    cuda_timing_destroy(context);
    cuda_textures_destroy(context);
    cuda_output_destroy(context);
    cuda_nccl_destroy(context->halo.nccl); /* when no graph has messages any more */
    cuda_peers_destroy(context);
    cuda_memory_free(context);
    cuda_kernels_destroy(context);
    if (context->status_copied) CUDA_CHECK(cudaEventDestroy(context->status_copied));
    if (context->searched) CUDA_CHECK(cudaEventDestroy(context->searched));
    for (int k = 0; k < 2; k++)
        if (context->chunk_copied[k]) CUDA_CHECK(cudaEventDestroy(context->chunk_copied[k]));
    if (context->stream) CUDA_CHECK(cudaStreamDestroy(context->stream));
    md_free(context);
}

/* Kernels first, then memory: so unsupported switches are refused before anything is allocated. */
static MdStatus set_up(CudaContext *context) {
    MdStatus status = cuda_kernels_create(context);
    if (status != MD_OK) return status;
    CUDA_CHECK(cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking));
    cuda_trace_name_stream(context->stream, "compute stream");
    CUDA_CHECK(cudaEventCreateWithFlags(&context->status_copied, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&context->searched, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaEventCreateWithFlags(&context->chunk_copied[k], cudaEventDisableTiming));
    cuda_timing_create(context);
    context->arguments.n_force_items = cuda_force_items(context);
    MdStatus allocated = cuda_memory_allocate(context);
    if (allocated == MD_OK && context->config.parallel_transport == MD_TRANSPORT_DIRECT && context->comm)
        allocated = cuda_peers_create(context);
    if (allocated == MD_OK && context->config.parallel_transport == MD_TRANSPORT_NCCL && context->comm)
        allocated = cuda_halo_join(context);
    if (allocated != MD_OK) return allocated;
    cuda_textures_create(context);
    cuda_graph_prepare(context);
    return MD_OK;
}

static MdStatus create(void **opaque, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                       MdErrors *errors) {
    *opaque = NULL;
    int device = 0;
    MdStatus status = cuda_device_choose(config, system->comm, &device, errors);
    if (status != MD_OK) return status;
    if (system->n_atoms / md_comm_size(system->comm) > max_atoms)
        return md_fail(errors, MD_ERROR_INPUT, "run.backend=cuda: %lld atoms, at most %lld are possible on one GPU",
                       (long long)system->n_atoms, (long long)max_atoms);
    CUDA_CHECK(cudaSetDevice(device));
    CudaContext *context = md_alloc(1, sizeof *context, "cuda context");
    context->errors = errors;
    context->device = device;
    context->n_sms = cuda_device_multiprocessors();
    context->compute_capability = cuda_device_compute_capability();
    context->asked = *asked;
    configure(context, config, system->n_atoms, system->comm, &system->box, &system->potential);
    status = set_up(context);
    if (status != MD_OK) {
        destroy(context);
        return status;
    }
    if (context->comm) cuda_domain_set_own(context, system->n_own);
    context->arguments.bath = md_heat_bath_make(config, system);
    cuda_state_import(context, system);
    *opaque = context;
    return MD_OK;
}

static MdStatus advance(void *context, int64_t first_step, int64_t n_steps, bool with_energy) {
    return cuda_steps_advance(context, first_step, n_steps, with_energy);
}

static MdStatus update_neighbors(void *context, int64_t step) { return cuda_steps_update_neighbors(context, step); }

static MdStatus rebuild(void *context) { return cuda_steps_rebuild(context); }

/* The forces of a step that was left open. */
static MdStatus close_step(CudaContext *context) { return context->is_drifted ? cuda_steps_settle(context) : MD_OK; }

static MdStatus compute_forces(void *opaque, bool with_energy) {
    CudaContext *context = opaque;
    md_require(context->built);
    MdStatus status = close_step(context);
    if (status == MD_OK) cuda_steps_compute_forces(context, with_energy);
    return status;
}

static MdStatus integrate(void *context) {
    MdStatus status = close_step(context);
    if (status == MD_OK) cuda_steps_integrate(context);
    return status;
}

static MdStatus sum(void *context, MdSums *sums) {
    MdStatus status = cuda_steps_finish(context);
    MdSumParts own;
    if (status != MD_OK) return status;
    cuda_reduce_sums(context, &own);
    *sums = md_ranks_sums(((CudaContext *)context)->comm, &own);
    return MD_OK;
}

static MdStatus scale_velocities(void *context, double factor, const double shift[3]) {
    MdStatus status = cuda_steps_finish(context);
    if (status == MD_OK) cuda_integrate_scale(context, factor, shift);
    return status;
}

static MdStatus descend(void *context, double keep, double push, double move, double most) {
    MdStatus status = cuda_steps_finish(context);
    if (status == MD_OK) cuda_integrate_descend(context, keep, push, move, most);
    return status;
}

static MdStatus observe(void *context, const MdObservation *observation) {
    cuda_steps_observe(context, observation);
    return MD_OK;
}

static MdStatus counted(void *context, int n_rows, int64_t *counts) {
    MdStatus status = cuda_steps_finish(context);
    if (status == MD_OK) cuda_count_take(context, n_rows, counts);
    return status;
}

static MdStatus observed(void *context, int n_rows, double *sums) {
    MdStatus status = cuda_steps_finish(context);
    if (status == MD_OK) cuda_observe_take(context, n_rows, sums);
    return status;
}

static MdStatus gather(void *context, MdFrame *frame) {
    MdStatus status = cuda_steps_finish(context);
    if (status == MD_OK) cuda_gather_frame(context, frame);
    return status;
}

static MdStatus export_rows(void *context, MdRows *rows) {
    MdStatus status = cuda_steps_finish(context);
    return status == MD_OK ? cuda_neighbor_export(context, rows) : status;
}

static MdStatus count(void *context, MdCounters *counters) {
    MdStatus status = cuda_steps_finish(context);
    return status == MD_OK ? cuda_counters_take(context, counters) : status;
}

static MdStatus save(void *context, MdState *state) {
    MdStatus status = cuda_steps_finish(context);
    return status == MD_OK ? cuda_state_save(context, state) : status;
}

static MdStatus check_list(const MdConfig *config, const MdSystemPlan *plan, MdState *state) {
    CudaContext context = {0};
    configure(&context, config, most_atoms(plan), plan->comm, &plan->box, &plan->potential);
    return cuda_state_check_list(&context, state);
}

static MdStatus load(void *context, MdState *state) { return cuda_state_load(context, state); }

static MdFault fault(void *opaque) {
    CudaContext *context = opaque;
    return md_ranks_first_fault(context->comm, cuda_integrate_fault(context));
}

static MdStatus finish(void *opaque) {
    CudaContext *context = opaque;
    MdStatus status = cuda_steps_finish(context);
    cuda_wait_stream(context, "wait: device");
    return status;
}

/* The switches of all launches, with the sizes of blocks that auto became. */
static void describe_launch(const CudaContext *context, MdStageTime *time) {
    static const char is_auto[] = "block_size=auto";
    char ran[sizeof time->ran], sizes[sizeof time->ran / 2];
    snprintf(time->stage, sizeof time->stage, "launch");
    md_variants_describe(md_cuda_variants(), time->stage, &context->asked, time->asked, sizeof time->asked);
    md_variants_describe(md_cuda_variants(), time->stage, &context->config, ran, sizeof ran);
    time->seconds = NAN; /* no stage that takes time */
    const char *at = strstr(ran, is_auto);
    cuda_kernels_describe_blocks(context, sizes, sizeof sizes);
    if (at)
        snprintf(time->ran, sizeof time->ran, "%.*sblock_size=%s%s", (int)(at - ran), ran, sizes,
                 at + sizeof is_auto - 1);
    else snprintf(time->ran, sizeof time->ran, "%s", ran);
}

/* The counts of messages by the host, and by kernels, from the status. */
static void describe_rank(const CudaContext *context, MdStatistics *statistics) {
    const CudaDeviceStatus *status = context->h_status;
    MdRankStatistics *rank = &statistics->rank;
    *rank = context->rank;
    rank->n_migrated += (int64_t)status->n_migrated;
    rank->halo_bytes += (int64_t)(status->n_rows_sent * cuda_domain_row_bytes(context) +
                                  status->n_places_sent * 4 * context->facts.pair_size);
    rank->wait_seconds = md_comm_waited(context->comm);
    md_ranks_agree_statistics(context->comm, context->n_own, statistics);
}

static void statistics(void *opaque, MdStatistics *statistics) {
    CudaContext *context = opaque;
    const MdVariantTable table = md_cuda_variants();
    memset(statistics, 0, sizeof *statistics);
    statistics->n_rebuilds = context->n_builds > 0 ? context->n_builds - 1 : 0;
    statistics->n_overflows = context->n_overflows;
    statistics->overflow_seconds = context->overflow_s;
    cuda_neighbor_statistics(context, statistics);
    statistics->n_grid_barriers = context->h_status->n_grid_barriers;
    statistics->n_rolled_back = context->h_status->n_rolled_back;
    const MdMemory held = cuda_memory_held(context);
    statistics->host_bytes = held.host_bytes + cuda_output_host_bytes(context);
    statistics->device_bytes = held.device_bytes;
    statistics->n_stages = context->comm ? CUDA_N_STAGES : CUDA_HALO;
    for (int stage = 0; stage < statistics->n_stages; stage++) {
        MdStageTime *time = &statistics->stages[stage];
        snprintf(time->stage, sizeof time->stage, "%s", cuda_stage_names[stage]);
        md_variants_describe(table, time->stage, &context->asked, time->asked, sizeof time->asked);
        md_variants_describe(table, time->stage, &context->config, time->ran, sizeof time->ran);
        cuda_timing_report(context, (CudaStage)stage, time);
    }
    describe_launch(context, &statistics->stages[statistics->n_stages++]);
    cuda_kernels_report(context, statistics);
    if (context->comm) describe_rank(context, statistics);
}

static void trace(void *context, MdTrace *trace) { cuda_timing_trace(context, trace); }

const MdBackendOps md_backend_cuda = {.name = "cuda",
                                      .bits_follow_grid = true, /* bricks are those of a domain */
                                      .probe = cuda_device_probe,
                                      .describe = cuda_device_describe,
                                      .resolve = cuda_resolve,
                                      .estimate = estimate,
                                      .rounding = rounding,
                                      .position_roundoff = position_roundoff,
                                      .create = create,
                                      .destroy = destroy,
                                      .advance = advance,
                                      .update_neighbors = update_neighbors,
                                      .rebuild = rebuild,
                                      .compute_forces = compute_forces,
                                      .integrate = integrate,
                                      .sum = sum,
                                      .scale_velocities = scale_velocities,
                                      .descend = descend,
                                      .observe = observe,
                                      .observed = observed,
                                      .counted = counted,
                                      .gather = gather,
                                      .output_estimate = output_estimate,
                                      .output_create = cuda_output_create,
                                      .output_begin = cuda_steps_output_begin,
                                      .output_wait = cuda_output_wait,
                                      .output_settle = cuda_steps_output_settle,
                                      .save = save,
                                      .load = load,
                                      .check_list = check_list,
                                      .export_rows = export_rows,
                                      .count = count,
                                      .fault = fault,
                                      .finish = finish,
                                      .statistics = statistics,
                                      .trace = trace,
                                      .variants = md_cuda_variants,
                                      .libraries = md_cuda_versions};
