#include "backends/backends.h"

#include <stdio.h>
#include <string.h>

#include "cpu/backend.h"
#include "cuda/backend.h"
#include "cuda/device/random_curand.h"
#include "cuda/plan/variants.h"

const MdBackendOps *const *md_backends(void) {
    static const MdBackendOps *const backends[] = {&md_backend_cpu,
#ifdef MDMINI_HAVE_CUDA
                                                   &md_backend_cuda,
#endif
                                                   NULL};
    return backends;
}

const MdBackendOps *md_backend_find(const char *name) {
    for (const MdBackendOps *const *ops = md_backends(); *ops; ops++)
        if (strcmp((*ops)->name, name) == 0) return *ops;
    return NULL;
}

const char *md_backend_table(int k, MdVariantTable *table) {
    static const char *const names[] = {"cpu", "cuda"};
    if (k < 0 || k > 1) return NULL;
    *table = k == 0 ? md_backend_cpu.variants() : md_cuda_variants();
    return names[k];
}

const MdRandomSource *md_backend_random(void) {
#ifdef MDMINI_HAVE_CUDA
    return &cuda_random_on_host;
#else
    return NULL;
#endif
}

const MdRandomSource *md_backend_random_on_device(char *reason, size_t size) {
#ifdef MDMINI_HAVE_CUDA
    return cuda_random_has_device(reason, size) ? &cuda_random_on_device : NULL;
#else
    snprintf(reason, size, "this program was built without the cuda backend");
    return NULL;
#endif
}
