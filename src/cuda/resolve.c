/* What `auto` becomes, and what this machine forbids. */
#include "cuda/context.h"
#include "cuda/variants.h"

MdStatus cuda_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    (void)plan;
    if (config->force_kernel == MD_KERNEL_AUTO) {
        config->force_kernel = MD_KERNEL_LIST;
        md_choices_add(choices, "force.kernel", "list", "one thread a row fills the GPU");
    }
    if (config->launch_persistent == MD_PERSISTENT_AUTO) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off", "steps are launched one by one");
    }
    return md_variants_check(md_cuda_variants(), "cuda", config, errors);
}
