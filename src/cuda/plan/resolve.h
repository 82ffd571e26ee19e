/* The choices of `auto` on this GPU, and its limits: the operation resolve of backend.h. */
#ifndef MD_CUDA_RESOLVE_H
#define MD_CUDA_RESOLVE_H

#include "backend/backend.h"

MdStatus cuda_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors);
/* Several processes: the transport, and the switches that run over them. Collective. */
MdStatus cuda_ranks_resolve(MdConfig *config, const MdComm *comm, MdChoices *choices, MdErrors *errors);
/* Why GPUs cannot store in each other's memory, the same on all ranks; empty: they can. Collective. */
enum { CUDA_REASON = 200 };
void cuda_ranks_judge_direct(const MdComm *comm, char reason[CUDA_REASON]);
/* parallel.grid, for the skin as it is; *part, the box, becomes the part of it that each process has. */
MdStatus cuda_ranks_divide(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors,
                           MdBox *part);
/* The part of the stage force. */
void cuda_force_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices);
MdStatus cuda_force_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors);
/* And of memory. */
MdStatus cuda_memory_check(const MdConfig *config, const MdComm *comm, MdErrors *errors);

#endif
