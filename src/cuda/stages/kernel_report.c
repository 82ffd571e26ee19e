/* The report of a run on its kernels: blocks and their reason, registers, occupancy and its limit, launches. */
#include <stdio.h>
#include <unistd.h>

#include "cuda/device/cache.h"
#include "cuda/device/occupancy.h"
#include "cuda/stages/kernels.h"

void cuda_kernels_describe_blocks(const CudaContext *context, char *text, size_t size) {
    size_t length = 0;
    for (int unit = 0; unit < CUDA_N_UNITS; unit++) {
        if (!context->modules[unit]) continue;
        length += (size_t)snprintf(text + length, size - length, "%s%s:%d", length > 0 ? "," : "",
                                   cuda_stage_names[unit], cuda_unit_block(context, unit));
        md_require(length < size);
    }
}

/* The choice of launch.block_size = auto in each unit. */
static void report_choices(const CudaContext *context, int threads_per_sm, MdChoices *choices) {
    choices->n = 0;
    if (context->config.launch_block_size != MD_BLOCK_SIZE_AUTO) return;
    for (int unit = 0; unit < CUDA_N_UNITS; unit++) {
        if (!context->modules[unit]) continue;
        const int block = cuda_unit_block(context, unit), first = cuda_unit_first_block(context, unit);
        char value[16];
        snprintf(value, sizeof value, "%d", block);
        if (cuda_unit_is_of_bricks(&context->config, unit)) {
            const bool by_matrix = unit == CUDA_NEIGHBOR && context->config.neighbor_distances == MD_DISTANCES_MATRIX;
            const int threads = by_matrix               ? context->facts.rows_per_warp
                                : unit == CUDA_NEIGHBOR ? 1 /* the search has one a row */
                                                        : context->facts.threads_per_atom;
            md_choices_add(choices, "launch.block_size", value,
                           block < first ? "stage %s: as many as there are registers for"
                           : by_matrix   ? "stage %s: a warp for %d atoms of a brick at a time, and enough to stage it"
                           : threads > 1
                               ? "stage %s: %d threads for each atom of a brick"
                               : "stage %s: a thread for each atom of a brick, or for two where blocks take turns",
                           cuda_stage_names[unit], threads);
            continue;
        }
        md_choices_add(
            choices, "launch.block_size", value,
            "stage %s: of %d down to %d the most threads on a multiprocessor, %.0f of %d by the occupancy API",
            cuda_stage_names[unit], first, CUDA_SMALLEST_BLOCK, cuda_unit_resident_threads(context, unit, block),
            threads_per_sm);
    }
}

void cuda_kernels_report(const CudaContext *context, MdStatistics *statistics) {
    const CudaMultiprocessor sm = cuda_multiprocessor(context->device);
    report_choices(context, sm.threads, &statistics->choices);
    CudaCache cache;
    cuda_cache_open(&cache);
    statistics->compilation = (MdCompilation){.n_compiled = atomic_load(&context->n_compiled),
                                              .n_kept = atomic_load(&context->n_kept),
                                              .n_installed = atomic_load(&context->n_installed),
                                              .seconds = context->kernels_s};
    snprintf(statistics->compilation.folder, sizeof statistics->compilation.folder, "%s", cache.folder);
    statistics->compilation.is_written = cache.folder[0] && access(cache.folder, W_OK | X_OK) == 0;
    statistics->n_kernels = 0;
    for (int id = 0; id < CUDA_N_KERNELS; id++) {
        const CudaKernel *kernel = &context->kernels[id];
        if (!kernel->function) continue;
        const size_t shared = kernel->static_shared + kernel->dynamic_shared;
        md_require(statistics->n_kernels < MD_MAX_KERNELS);
        MdKernelUse *use = &statistics->kernels[statistics->n_kernels++];
        snprintf(use->stage, sizeof use->stage, "%s", cuda_stage_names[cuda_kernel_unit((CudaKernelId)id)]);
        snprintf(use->name, sizeof use->name, "%s", cuda_kernel_symbol((CudaKernelId)id));
        use->block_size = kernel->block_size;
        use->registers = kernel->registers;
        use->blocks_per_sm = kernel->blocks_per_sm;
        use->shared_bytes = (int64_t)shared;
        use->local_bytes = (int64_t)kernel->local_bytes;
        use->occupancy = (double)kernel->blocks_per_sm * kernel->block_size / sm.threads;
        use->launches = kernel->launches;
        CudaOccupancy occupancy = cuda_occupancy(&sm, kernel->block_size, kernel->registers, shared);
        if (context->config.memory_carveout == MD_CARVEOUT_L1 &&
            kernel->blocks_per_sm < cuda_occupancy_blocks(&occupancy))
            occupancy.by_shared = kernel->blocks_per_sm; /* of the memory that L1 leaves */
        _Static_assert(sizeof use->limited_by == CUDA_LIMITS_BYTES, "room for limits");
        cuda_occupancy_limits(&sm, &occupancy, kernel->block_size, use->limited_by);
    }
}
