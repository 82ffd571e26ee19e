#include "base/version.h"

#include "mdmini_build.h" /* generated at each build: MD_BUILD_COMMIT, MD_BUILD_DIRTY; and at configure time */

const MdVersion *md_version(void) {
    static const MdVersion version = {MD_BUILD_VERSION, MD_BUILD_COMMIT,     MD_BUILD_DIRTY,
                                      MD_BUILD_TYPE,    MD_BUILD_C_COMPILER, MD_BUILD_C_FLAGS,
                                      MD_BUILD_CUDA,    MD_BUILD_HDF5,       MD_BUILD_MPI};
    return &version;
}
