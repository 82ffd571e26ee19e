/* The product of matrices by cuBLAS, the library that the rows of the group are compared with. It is found when the program
 * runs, so that neither building nor starting needs it. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "microbench/cuda/results.h"

/* As cublas_api.h declares them: a status is 0 for success, an operation 0 for "not transposed". */
typedef struct Blas {
    void *library, *handle;
    int (*create)(void **);
    int (*destroy)(void *);
    int (*set_stream)(void *, cudaStream_t);
    int (*multiply)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int,
                    const float *, float *, int);
} Blas;

static bool find(Blas *blas) {
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {{"cublasCreate_v2", offsetof(Blas, create)},
                     {"cublasDestroy_v2", offsetof(Blas, destroy)},
                     {"cublasSetStream_v2", offsetof(Blas, set_stream)},
                     {"cublasSgemm_v2", offsetof(Blas, multiply)}};
    char name[32];
    snprintf(name, sizeof name, "libcublas.so.%d", CUDART_VERSION / 1000);
    blas->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        void *function = blas->library ? dlsym(blas->library, functions[k].name) : NULL;
        if (!function) return false;
        memcpy((char *)blas + functions[k].offset, &function, sizeof function);
    }
    return true; /* the library stays loaded until the program ends */
}

/* Matrices of cuBLAS lie column after column, so that ours are transposed ones to it: (a c)^T = c^T a^T. In single precision
 * throughout: tensor cores with shorter numbers are used where a program asks for them (cuBLAS, cublasSetMathMode). */
static void multiply(CudaCeiling *c) {
    const Blas *blas = c->extra;
    const CudaCeilingArguments *a = &c->arguments;
    const int n = (int)a->width;
    const float one = 1, zero = 0;
    md_require(blas->multiply(blas->handle, 0, 0, n, n, n, &one, a->c, n, a->a, n, &zero, a->b, n) == 0);
}

static double run_products(CudaCeiling *c, int64_t n_calls) { return cuda_ceiling_time(c, n_calls, multiply); }

static void release(CudaCeiling *c) {
    Blas *blas = c->extra;
    if (blas->handle) md_require(blas->destroy(blas->handle) == 0);
    md_free(blas);
}

static bool open_blas(CudaCeiling *c, char *reason) {
    Blas *blas = md_alloc(1, sizeof *blas, "cuBLAS");
    c->extra = blas;
    c->release = release;
    if (!find(blas)) {
        snprintf(reason, MD_CEILING_REASON, "libcublas.so.%d is not found: name its folder in LD_LIBRARY_PATH",
                 CUDART_VERSION / 1000);
        return false;
    }
    const int status = blas->create(&blas->handle);
    if (status != 0) {
        blas->handle = NULL;
        snprintf(reason, MD_CEILING_REASON, "cuBLAS does not begin here (status %d)", status);
        return false;
    }
    md_require(blas->set_stream(blas->handle, c->m->stream) == 0);
    return true;
}

bool cuda_ceiling_prepare_blas(CudaCeiling *c, char *reason) {
    if (!open_blas(c, reason)) return false;
    c->run = run_products;
    c->check = cuda_ceiling_check_product;
    c->arguments.a = c->m->d_source[0];
    c->arguments.c = c->m->d_source[1];
    c->arguments.width = c->of.size;
    c->arguments.b = cuda_ceiling_take(c, (size_t)(c->of.size * c->of.size) * sizeof(float), reason);
    return c->arguments.b != NULL;
}
