/* The choices of `auto` in the stage force, and the limits of a system or driver. */
#include "cuda/context/shared.h"
#include "cuda/device/check.h"
#include "cuda/device/device.h"
#include "cuda/device/nvrtc.h"
#include "cuda/plan/resolve.h"

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
        /* A request for several threads a row is a request for the kernel that has them. */
        const bool split = config->force_threads_per_atom != MD_THREADS_AUTO || few;
        config->force_kernel = split ? MD_KERNEL_LIST_SPLIT : MD_KERNEL_LIST;
        md_choices_add(choices, "force.kernel", split ? "list-split" : "list",
                       few     ? "one thread a row would leave most of the %lld resident threads idle"
                       : split ? "threads per row were requested; %lld threads are resident"
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
    return cuda_nvrtc_version() >= 12010 && driver >= 12010 ? 32764 : 4096;
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
    return md_fail(errors, MD_ERROR_INPUT,
                   "memory.load=texture: a texture holds %lld positions in this layout, fewer than the %lld atoms: "
                   "take memory.load=global or ldg",
                   (long long)(most / per_atom), (long long)(copies * plan->n_atoms));
}

/* The needs of kernels/batches/step_local.cuh. */
static MdStatus check_barrier(const MdConfig *config, MdErrors *errors) {
    const int capability = cuda_device_compute_capability(), compiler = cuda_nvrtc_version();
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
