/* The cuda backend: the operations of backend.h on a context of this folder. What the stages do, and in which variants,
 * stands in the file of each. */
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/context.h"
#include "cuda/versions.h"

/* Thread indices are ints, and a grid-stride loop adds one whole grid to the last of them. */
static const int64_t max_atoms = INT_MAX - 2 * (int64_t)CUDA_MAX_SUM_BLOCKS * CUDA_BLOCK;

static void configure(CudaContext *context, const MdConfig *config, int64_t n_atoms, const MdBox *box,
                      const MdPotential *potential) {
    context->precision = config->run_precision;
    context->n_atoms = (int)n_atoms;
    context->box = *box;
    context->potential = *potential;
    context->timestep = config->run_timestep;
    context->skin = config->neighbor_skin;
    context->range = potential->cutoff_max + config->neighbor_skin;
    context->fault_distance = MD_FAULT_SHARE * potential->cutoff_min;
    context->fault = MdFault{-1, -1, NAN};
    context->sort = config->memory_sort;
    context->search = config->neighbor_search;
    context->write = config->neighbor_write;
    context->list_order = config->neighbor_order;
    context->rebuild = config->neighbor_rebuild;
    context->every = config->neighbor_every;
    context->capacity = config->neighbor_capacity;
}

static MdMemory estimate(const MdConfig *config, const MdSystemPlan *plan) {
    CudaContext context = {};
    configure(&context, config, plan->n_atoms < max_atoms ? plan->n_atoms : max_atoms, &plan->box, &plan->potential);
    return cuda_memory_estimate(&context);
}

static void destroy(void *opaque) {
    CudaContext *context = (CudaContext *)opaque;
    if (!context) return;
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_timing_destroy(context);
    cuda_memory_free(context);
    CUDA_CHECK(cudaEventDestroy(context->watched));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaEventDestroy(context->chunk_copied[k]));
    CUDA_CHECK(cudaStreamDestroy(context->stream));
    md_free(context);
}

static MdStatus create(void **opaque, const MdConfig *config, const MdSystem *system, MdErrors *errors) {
    *opaque = NULL;
    int device = 0;
    MdStatus status = cuda_device_choose(config, &device, errors);
    if (status != MD_OK) return status;
    if (system->n_atoms > max_atoms)
        return md_fail(errors, MD_ERROR_INPUT, "run.backend=cuda: %lld atoms, at most %lld are possible on one GPU",
                       (long long)system->n_atoms, (long long)max_atoms);
    CUDA_CHECK(cudaSetDevice(device));
    CudaContext *context = (CudaContext *)md_alloc(1, sizeof *context, "cuda context");
    context->errors = errors;
    context->device = device;
    configure(context, config, system->n_atoms, &system->box, &system->potential);
    CUDA_CHECK(cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreateWithFlags(&context->watched, cudaEventDisableTiming));
    for (int k = 0; k < 2; k++) CUDA_CHECK(cudaEventCreateWithFlags(&context->chunk_copied[k], cudaEventDisableTiming));
    cuda_timing_create(context);
    status = cuda_memory_allocate(context);
    if (status != MD_OK) {
        destroy(context);
        return status;
    }
    cuda_gather_import(context, system);
    *opaque = context;
    return MD_OK;
}

static MdStatus kick_drift(void *context, int64_t step) {
    cuda_integrate_kick_drift((CudaContext *)context, step);
    return MD_OK;
}

static MdStatus update_neighbors(void *context, int64_t step) {
    return cuda_neighbor_update((CudaContext *)context, step);
}

static MdStatus compute_forces(void *opaque, bool with_energy) {
    CudaContext *context = (CudaContext *)opaque;
    md_require(context->built);
    cuda_force_compute(context, with_energy);
    return MD_OK;
}

static MdStatus kick(void *context) {
    cuda_integrate_kick((CudaContext *)context);
    return MD_OK;
}

static MdStatus sum(void *context, MdSums *sums) {
    cuda_reduce_sums((CudaContext *)context, sums);
    return MD_OK;
}

static MdStatus scale_velocities(void *context, double factor) {
    cuda_integrate_scale((CudaContext *)context, factor);
    return MD_OK;
}

static MdStatus gather(void *context, MdFrame *frame) {
    cuda_gather_frame((CudaContext *)context, frame);
    return MD_OK;
}

static MdStatus export_rows(void *context, MdRows *rows) { return cuda_neighbor_export((CudaContext *)context, rows); }

static MdFault fault(void *context) { return cuda_integrate_fault((CudaContext *)context); }

static MdStatus finish(void *context) {
    CUDA_CHECK(cudaStreamSynchronize(((CudaContext *)context)->stream));
    return MD_OK;
}

static void statistics(void *opaque, MdStatistics *statistics) {
    CudaContext *context = (CudaContext *)opaque;
    memset(statistics, 0, sizeof *statistics);
    statistics->n_rebuilds = context->n_builds > 0 ? context->n_builds - 1 : 0;
    statistics->n_late_rebuilds = context->n_late_rebuilds;
    statistics->n_overflows = context->n_overflows;
    statistics->capacity = context->list.capacity;
    statistics->neighbors_per_atom = (double)context->n_entries / context->n_atoms;
    statistics->host_bytes = context->host_bytes;
    statistics->device_bytes = context->device_bytes;
    statistics->n_stages = CUDA_N_STAGES;
    for (int stage = 0; stage < CUDA_N_STAGES; stage++) {
        MdStageTime *time = &statistics->stages[stage];
        cuda_variant_describe(context, (CudaStage)stage, time);
        time->calls = context->timers[stage].calls;
        time->seconds = cuda_timing_seconds(context, (CudaStage)stage);
    }
}

extern const MdBackendOps md_backend_cuda = {"cuda",
                                             cuda_device_probe,
                                             estimate,
                                             create,
                                             destroy,
                                             kick_drift,
                                             update_neighbors,
                                             compute_forces,
                                             kick,
                                             sum,
                                             scale_velocities,
                                             gather,
                                             export_rows,
                                             fault,
                                             finish,
                                             statistics,
                                             cuda_variants,
                                             md_cuda_versions};
