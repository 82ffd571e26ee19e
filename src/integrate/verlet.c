#include "integrate/verlet.h"

MdStatus md_verlet_start(const MdBackendOps *ops, void *context, bool with_energy) {
    MdStatus status = ops->update_neighbors(context, 0);
    if (status == MD_OK) status = ops->compute_forces(context, with_energy);
    return status;
}
