/* Stage force, host side; the kernels and their ladder stand in kernels/force.cu. */
#include "cuda/stages/stages.h"
#include "cuda/plan/variants.h"

static bool has_rows(const MdConfig *config) {
    return config->force_kernel == MD_KERNEL_LIST || config->force_kernel == MD_KERNEL_LIST_SPLIT;
}

bool cuda_force_has_clusters(const CudaContext *context) { return context->config.force_kernel == MD_KERNEL_CLUSTER; }

bool cuda_force_has_bricks(const CudaContext *context) { return context->config.force_kernel == MD_KERNEL_BRICK; }

bool cuda_force_has_list(const CudaContext *context) {
    return has_rows(&context->config) || cuda_force_has_clusters(context) || cuda_force_has_bricks(context);
}

/* Whether forces are added up in memory, by atomics. */
static bool adds(const MdConfig *config) {
    const bool split = config->force_kernel == MD_KERNEL_LIST_SPLIT;
    return (has_rows(config) && config->neighbor_list == MD_LIST_HALF) ||
           (split && config->force_partial_sums == MD_PARTIAL_SUMS_ATOMIC);
}

int cuda_force_row_threads(const MdConfig *config) {
    return md_option_has_effect(config, MD_OPTION_force_threads_per_atom) ? 1 << config->force_threads_per_atom : 1;
}

int64_t cuda_force_items(const CudaContext *context) {
    switch (context->config.force_kernel) {
    case MD_KERNEL_CELL: return 32 * (int64_t)cuda_sort_count_cells(&context->arguments.grid); /* a warp each */
    case MD_KERNEL_CLUSTER: return 32 * cuda_blocks(context->n_atoms, CUDA_CLUSTER);
    case MD_KERNEL_BRICK: return cuda_brick_count(&context->arguments.grid);
    default: return (int64_t)context->n_atoms * cuda_force_row_threads(&context->config);
    }
}

/* Stages may have blocks of different sizes. */
int64_t cuda_force_blocks(const CudaContext *context, CudaKernelId id) {
    const int64_t items = cuda_force_items(context);
    return cuda_force_has_bricks(context) ? items : cuda_blocks(items, context->kernels[id].block_size);
}

int64_t cuda_force_sum_blocks(const CudaContext *context) {
    const int64_t blocks = cuda_force_blocks(context, CUDA_K_force_energy);
    return cuda_force_has_bricks(context) && blocks > CUDA_MAX_SUM_BLOCKS ? CUDA_MAX_SUM_BLOCKS : blocks;
}

int64_t cuda_force_most_blocks(const CudaContext *context) {
    if (context->config.force_kernel == MD_KERNEL_CELL) return context->max_cells;
    if (cuda_force_has_bricks(context)) return CUDA_MAX_SUM_BLOCKS;
    return cuda_blocks(cuda_force_items(context), 32);
}

size_t cuda_force_shared_bytes(const CudaContext *context, int block) {
    const MdConfig *config = &context->config;
    const size_t threads = (size_t)block;
    if (config->force_kernel == MD_KERNEL_PAIRS_TILED || config->force_kernel == MD_KERNEL_CELL)
        return threads * 4 * context->pair_size; /* an atom each */
    if (config->force_kernel == MD_KERNEL_BRICK) return cuda_brick_force_bytes(&context->arguments.bricks, config);
    if (cuda_force_row_threads(config) > 1 && config->force_partial_sums == MD_PARTIAL_SUMS_SHARED)
        return threads * 3 * context->pair_size;
    return 0;
}

size_t cuda_pair_size(const MdConfig *config) {
    return config->run_precision == MD_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
}
size_t cuda_state_size(const MdConfig *config) {
    return config->run_precision == MD_PRECISION_SINGLE ? sizeof(float) : sizeof(double);
}

bool cuda_force_may_go_back(const MdConfig *config) {
    return config->launch_persistent == MD_PERSISTENT_ON && config->launch_barrier == MD_BARRIER_LOCAL &&
           config->neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;
}

/* HeldAtom of kernels/batches/step_brick.cuh, for each row that a block of the resident kernel holds. */
size_t cuda_force_held_bytes(const MdConfig *config, int block) {
    if (config->force_kernel != MD_KERNEL_BRICK || config->launch_fuse != MD_FUSE_STEP) return 0;
    const size_t state = cuda_state_size(config), pair = cuda_pair_size(config), moving = 3 * state + 4 * pair;
    const size_t bytes = (cuda_force_may_go_back(config) ? 3 * state : 0) + moving + 3 * pair;
    return (size_t)(block / cuda_force_row_threads(config)) * ((bytes + state - 1) / state * state);
}

void cuda_force_zero(CudaContext *context) {
    const size_t n = (size_t)context->n_atoms * context->pair_size;
    const int layout = context->config.memory_layout;
    const CudaVectors *force = &context->arguments.now.force;
    for (int part = 0; part < (layout == MD_LAYOUT_SOA ? 3 : 1); part++)
        CUDA_CHECK(cudaMemsetAsync(force->part[part], 0,
                                   layout == MD_LAYOUT_SOA   ? n
                                   : layout == MD_LAYOUT_AOS ? 3 * n
                                                             : 4 * n,
                                   context->stream));
}

void cuda_force_issue(CudaContext *context, bool with_energy) {
    const CudaKernelId kernel = with_energy ? CUDA_K_force_energy : CUDA_K_force_plain;
    const int64_t blocks = with_energy ? cuda_force_sum_blocks(context) : cuda_force_blocks(context, kernel);
    if (adds(&context->config)) cuda_force_zero(context);
    if (with_energy) cuda_reduce_begin(context, CUDA_POTENTIAL, CUDA_PAIR_TOTALS, blocks);
    cuda_launch_blocks(context, kernel, blocks);
    if (with_energy) cuda_reduce_finish(context, CUDA_POTENTIAL, CUDA_PAIR_TOTALS, blocks);
    context->has_forces = true;
}

/* --- before the run ------------------------------------------------------------------------------------------------ */

/* Below this share of the resident threads, one thread a row leaves too much of the GPU idle: several share a row then. On
 * an H200 (270,336 threads; run/results/h200) the melt of 32,000 atoms is faster with one thread a row, by 17 per cent
 * against 16 of them, the melt of 4,000 is faster with several. */
static const long long split_below = 16; /* a sixteenth */

/* As few threads a row as fill the GPU. Each still has several entries: more than 16 would mostly add up their parts. */
static void choose_kernel(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    const long long resident = cuda_device_resident_threads();
    int log2_threads = 0;
    while (log2_threads < 4 && (long long)plan->n_atoms << log2_threads < resident) log2_threads++;
    const bool few = split_below * plan->n_atoms < resident;
    if (config->force_kernel == MD_KERNEL_AUTO) {
        /* Who asks for several threads a row asks for the kernel that has them. */
        const bool split = config->force_threads_per_atom != MD_THREADS_AUTO || few;
        config->force_kernel = split ? MD_KERNEL_LIST_SPLIT : MD_KERNEL_LIST;
        md_choices_add(choices, "force.kernel", split ? "list-split" : "list",
                       few     ? "one thread a row would leave most of the %lld resident threads idle"
                       : split ? "threads per row were asked for; %lld threads are resident"
                               : "one thread a row: enough for the %lld threads that are resident",
                       resident);
    }
    if (config->force_kernel != MD_KERNEL_LIST_SPLIT || config->force_threads_per_atom != MD_THREADS_AUTO) return;
    config->force_threads_per_atom = log2_threads;
    md_choices_add(choices, "force.threads_per_atom", md_switch_words(MD_OPTION_force_threads_per_atom)[log2_threads],
                   "the fewest, up to 16, that fill the %lld resident threads with %lld rows", resident,
                   (long long)plan->n_atoms);
}

/* Bytes that the parameters of a kernel may take. */
static size_t most_argument_bytes(void) {
    int driver = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    return cuda_compile_version() >= 12010 && driver >= 12010 ? 32764 : 4096;
}

static MdStatus check_arguments(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    if (config->memory_parameters != MD_PARAMETERS_ARGUMENT) return MD_OK;
    const size_t size = config->run_precision == MD_PRECISION_DOUBLE ? sizeof(MdPair_d) : sizeof(MdPair_f);
    const int n_types = plan->potential.n_types;
    const size_t bytes = sizeof(CudaArguments) + (size_t)(n_types * n_types) * size;
    if (bytes <= most_argument_bytes()) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "memory.parameters=argument: the parameters of %d types take %zu bytes, and a kernel has room for "
                   "%zu with this driver: take memory.parameters=global or constant",
                   n_types, bytes, most_argument_bytes());
}

static MdStatus check_texels(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    if (config->memory_load != MD_LOAD_TEXTURE) return MD_OK;
    const int64_t most = INT64_C(1) << 27; /* of a linear texture, on every GPU since 2012 */
    const bool twice = config->run_precision == MD_PRECISION_DOUBLE;
    const int64_t per_atom = config->memory_layout == MD_LAYOUT_AOS             ? 3
                             : config->memory_layout == MD_LAYOUT_VEC4 && twice ? 2
                                                                                : 1;
    const int64_t copies = config->launch_fuse == MD_FUSE_STEP ? 2 : 1;
    if (copies * plan->n_atoms <= most / per_atom) return MD_OK;
    return md_fail(
        errors, MD_ERROR_INPUT,
        "memory.load=texture: a texture holds %lld positions in this layout, fewer than the %lld atoms: take "
        "memory.load=global or ldg",
        (long long)(most / per_atom), (long long)(copies * plan->n_atoms));
}

/* What kernels/batches/step_local.cuh is made of. */
static MdStatus check_barrier(const MdConfig *config, MdErrors *errors) {
    const int capability = cuda_device_compute_capability(), compiler = cuda_compile_version();
    if (config->launch_barrier != MD_BARRIER_LOCAL || (capability >= 70 && compiler >= 12030)) return MD_OK;
    return md_fail(
        errors, MD_ERROR_INPUT,
        "launch.barrier=local: needs compute capability 7.0 and CUDA 12.3, and here are %d.%d and %d.%d: take grid",
        capability / 10, capability % 10, compiler / 1000, compiler % 1000 / 10);
}

void cuda_force_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->force_kernel == MD_KERNEL_AUTO || config->force_kernel == MD_KERNEL_LIST_SPLIT)
        choose_kernel(config, plan, choices);
}

MdStatus cuda_force_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    MdStatus status = check_arguments(config, plan, errors);
    if (check_barrier(config, errors) != MD_OK) status = MD_ERROR_INPUT;
    return check_texels(config, plan, errors) == MD_OK ? status : MD_ERROR_INPUT;
}
