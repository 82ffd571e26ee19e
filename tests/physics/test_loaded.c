/* The kernels of the cuda backend as the driver has loaded them: their occupancy is what the program computes, and switches that
 * are the driver's or the compiler's to obey have reached it: memory.carveout, launch.registers. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "state.h"
#include "walk.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/device/occupancy.h"
#include "cuda/stages/stages.h"

static const MdBackendOps *ops;
static MdSystem *the_system;

static bool create(WalkRun *run, const MdConfig *config) { return walk_create(run, ops, config, the_system); }

/* How often this text is said of what limits a kernel. */
static int count_limits(const WalkRun *run, const char *text) {
    static MdStatistics statistics;
    int n = 0;
    ops->statistics(run->context, &statistics);
    for (int k = 0; k < statistics.n_kernels; k++) n += strstr(statistics.kernels[k].limited_by, text) != NULL;
    return n;
}

/* Blocks that a multiprocessor holds: as computed, and as the driver says. */
static void test_occupancy(int kernel, int block_size, int precision) {
    MdConfig config = state_config();
    config.force_kernel = kernel;
    config.launch_block_size = block_size;
    config.run_precision = precision;
    WalkRun run;
    check_context("force.kernel=%s, launch.block_size=%s", md_switch_words(MD_OPTION_force_kernel)[kernel],
                  md_switch_words(MD_OPTION_launch_block_size)[block_size]);
    if (!create(&run, &config)) return;
    const CudaContext *context = run.context;
    const CudaMultiprocessor sm = cuda_multiprocessor(context->device);
    int n_kernels = 0;
    for (int id = 0; id < CUDA_N_KERNELS; id++) {
        const CudaKernel *k = &context->kernels[id];
        if (!k->function) continue;
        n_kernels++;
        const CudaOccupancy occupancy =
            cuda_occupancy(&sm, k->block_size, k->registers, k->static_shared + k->dynamic_shared);
        if (!CHECK(cuda_occupancy_blocks(&occupancy) == k->blocks_per_sm))
            printf("    kernel %d: %d threads of %d registers, %zu bytes: %d blocks by the driver, %d computed\n", id,
                   k->block_size, k->registers, k->static_shared + k->dynamic_shared, k->blocks_per_sm,
                   cuda_occupancy_blocks(&occupancy));
    }
    CHECK(n_kernels > 5 && count_limits(&run, "") == n_kernels);
    if (block_size == MD_BLOCK_SIZE_32) CHECK(count_limits(&run, "blocks") > 0);
    walk_destroy(&run);
}

static void test_carveout(int carveout, int expected) {
    MdConfig config = state_config();
    config.memory_carveout = carveout;
    WalkRun run;
    check_context("memory.carveout=%s", md_switch_words(MD_OPTION_memory_carveout)[carveout]);
    if (!create(&run, &config)) return;
    const CudaContext *context = run.context;
    for (int id = 0; id < CUDA_N_KERNELS; id++) {
        int has = 1000;
        if (!context->kernels[id].function) continue;
        CHECK(context->driver.function_attribute(&has, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                                 context->kernels[id].function) == CUDA_SUCCESS);
        CHECK(has == expected);
    }
    walk_destroy(&run);
}

static void test_registers(int most) {
    MdConfig config = state_config();
    config.launch_bounds = MD_OFF;
    config.launch_registers = most;
    WalkRun run;
    check_context("launch.registers=%d", most);
    if (!create(&run, &config)) return;
    const CudaContext *context = run.context;
    for (int id = 0; id < CUDA_N_KERNELS; id++)
        if (context->kernels[id].function) CHECK(context->kernels[id].registers <= most);
    walk_destroy(&run);
}

int main(void) {
    static const int kernels[] = {MD_KERNEL_PAIRS_TILED, MD_KERNEL_LIST, MD_KERNEL_BRICK},
                     blocks[] = {MD_BLOCK_SIZE_32, MD_BLOCK_SIZE_256, MD_BLOCK_SIZE_1024, MD_BLOCK_SIZE_AUTO};
    const MdConfig base = state_config();
    const StateShape shape = {3, 500, 0.80, 0.12, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_ENERGY, 31};
    ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    the_system = state_shaken(&shape);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
            test_occupancy(kernels[k], blocks[b], b % 2 ? MD_PRECISION_DOUBLE : MD_PRECISION_MIXED);
    test_carveout(MD_CARVEOUT_DRIVER, CU_SHAREDMEM_CARVEOUT_DEFAULT);
    test_carveout(MD_CARVEOUT_L1, CU_SHAREDMEM_CARVEOUT_MAX_L1);
    test_carveout(MD_CARVEOUT_SHARED, CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
    test_registers(32);
    md_system_destroy(the_system);
    return check_finish();
}
#else
int main(void) { return walk_no_cuda(); }
#endif
