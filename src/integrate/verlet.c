#include "integrate/verlet.h"

MdStatus md_verlet_start(const MdBackendOps *ops, void *context, bool with_energy) {
    MdStatus status = ops->update_neighbors(context, 0);
    if (status == MD_OK) status = ops->compute_forces(context, with_energy);
    return status;
}

MdStatus md_verlet_step(const MdBackendOps *ops, void *context, int64_t step, bool with_energy) {
    MdStatus status = ops->kick_drift(context, step);
    if (status == MD_OK) status = ops->update_neighbors(context, step);
    if (status == MD_OK) status = ops->compute_forces(context, with_energy);
    if (status == MD_OK) status = ops->kick(context);
    return status;
}
