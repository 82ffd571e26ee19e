/* What `auto` becomes on this GPU, and what it forbids: the operation resolve of backend.h. */
#ifndef MD_CUDA_RESOLVE_H
#define MD_CUDA_RESOLVE_H

#include "backend/backend.h"

MdStatus cuda_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors);
/* The part of the stage force. */
void cuda_force_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices);
MdStatus cuda_force_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors);
/* And of memory. */
MdStatus cuda_memory_check(const MdConfig *config, MdErrors *errors);

#endif
