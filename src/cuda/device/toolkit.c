#include "cuda/device/toolkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/nvrtc.h"

const char *cuda_toolkit_header(const MdConfig *config) {
    if (config->reduce_method == MD_METHOD_COOPERATIVE) return CUDA_GROUPS_HEADER;
    if (config->reduce_method == MD_METHOD_CUB) return CUDA_CUB_HEADER;
    return NULL;
}

static bool has_file(const char *folder, const char *name) {
    char path[2 * CUDA_TOOLKIT_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* CUDA 13 keeps its C++ libraries in a separate folder. */
static bool has_header(const char *folder, const char *header) {
    char part[CUDA_TOOLKIT_BYTES];
    snprintf(part, sizeof part, "cccl/%s", header);
    return has_file(folder, header) || has_file(folder, part);
}

bool cuda_toolkit_find(const char *header, char folder[CUDA_TOOLKIT_BYTES]) {
    for (const char *at = MDMINI_CUDA_INCLUDE; *at;) { /* folders with colons between */
        size_t length = strcspn(at, ":");
        if (length < CUDA_TOOLKIT_BYTES) {
            memcpy(folder, at, length);
            folder[length] = '\0';
            if (has_header(folder, header)) return true;
        }
        at += length + (at[length] == ':');
    }
    const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) {
        const char *root = getenv(variables[k]);
        if (!root || !root[0]) continue;
        int length = snprintf(folder, CUDA_TOOLKIT_BYTES, "%s/include", root);
        if (length < CUDA_TOOLKIT_BYTES && has_header(folder, header)) return true;
    }
    return false;
}

MdStatus cuda_toolkit_resolve(const MdConfig *config, MdErrors *errors) {
    const char *header = cuda_toolkit_header(config);
    char folder[CUDA_TOOLKIT_BYTES];
    const int version = cuda_nvrtc_version();
    if (!header) return MD_OK;
    if (config->reduce_method == MD_METHOD_CUB && version < CUDA_CUB_VERSION)
        return md_fail(errors, MD_ERROR_INPUT,
                       "reduce.method=cub: needs NVRTC 12.6, and this program has %d.%d: take reduce.method=global, "
                       "shared, shared-dynamic, syncwarp, shuffle or cooperative, or build with a newer toolkit",
                       version / 1000, version % 1000 / 10);
    if (cuda_toolkit_find(header, folder)) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "reduce.method=%s: %s of the CUDA toolkit is not found (looked in %s, $CUDA_HOME/include and "
                   "$CUDA_PATH/include): name the toolkit by CUDA_HOME, or take reduce.method=global, shared, "
                   "shared-dynamic, syncwarp or shuffle",
                   md_switch_words(MD_OPTION_reduce_method)[config->reduce_method], header, MDMINI_CUDA_INCLUDE);
}
