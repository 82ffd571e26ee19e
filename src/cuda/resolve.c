/* What `auto` becomes, and what this machine forbids. */
#include "cuda/context.h"
#include "cuda/variants.h"

/* The resident kernel where one thread an atom fits on the GPU, and everything else allows it. */
static void resolve_persistent(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->launch_persistent != MD_PERSISTENT_AUTO) return;
    int device = 0, n_sms = 0, threads_per_sm = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&n_sms, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    const int64_t resident = (int64_t)n_sms * threads_per_sm / 2; /* at 64 registers a thread */
    config->launch_persistent = MD_PERSISTENT_ON;
    MdErrors *reasons = md_errors_create();
    if (md_variants_check(md_cuda_variants(), "cuda", config, reasons) != MD_OK) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off", "%.150s", md_errors_text(reasons, 0));
    } else if (plan->n_atoms > resident) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off",
                       "more atoms than the %lld threads that are resident at once", (long long)resident);
    } else {
        md_choices_add(choices, "launch.persistent", "on", "all atoms have a thread among the %lld that are resident",
                       (long long)resident);
    }
    md_errors_destroy(reasons);
}

MdStatus cuda_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    if (config->force_kernel == MD_KERNEL_AUTO) {
        config->force_kernel = MD_KERNEL_LIST;
        md_choices_add(choices, "force.kernel", "list", "one thread a row fills the GPU");
    }
    resolve_persistent(config, plan, choices);
    return md_variants_check(md_cuda_variants(), "cuda", config, errors);
}
