/* Loads and multiply-adds that wait for each other: rows of the group latency that are a kernel of one thread. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "microbench/cuda/row.h"

enum { LINE = 128 / sizeof(uint64_t), MULTIPLY_ADDS = 1 << 20 };

/* Entries of the chain: those of the row; in memory so many that L2 holds only a quarter of their lines. */
static int64_t count_places(const CudaCeiling *c) {
    const int64_t outgrown = 4 * (int64_t)c->m->l2_bytes / (LINE * (int64_t)sizeof(uint64_t));
    const bool grows = cuda_row_is(c, "load, memory") && !c->of.quick;
    return grows && outgrown > c->of.row->parameter ? outgrown : c->of.row->parameter;
}

/* One cycle through all entries in random order (Sattolo 1986): the next one of each. */
static int *make_cycle(int64_t n_places) {
    int *next = malloc((size_t)n_places * sizeof *next);
    if (!next) md_panic("out of memory");
    uint64_t state = 1;
    for (int64_t i = 0; i < n_places; i++) next[i] = (int)i;
    for (int64_t i = n_places - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth, MMIX */
        const int64_t other = (int64_t)((state >> 33) % (uint64_t)i);
        const int swapped = next[i];
        next[i] = next[other];
        next[other] = swapped;
    }
    return next;
}

/* The chain in global memory. If the chain must be in memory, the lines in L2 from writing it are evicted. */
static bool make_lines(CudaCeiling *c, int64_t n_places, char *reason) {
    const size_t bytes = (size_t)n_places * LINE * sizeof(uint64_t);
    uint64_t *d_lines = cuda_ceiling_take(c, bytes, reason);
    if (!d_lines) return false;
    uint64_t *lines = md_alloc(bytes, 1, "ceilings");
    for (int64_t i = 0; i < n_places; i++) lines[i * LINE] = (uint64_t)(uintptr_t)(d_lines + c->index[i] * LINE);
    CUDA_CHECK(cudaMemcpy(d_lines, lines, bytes, cudaMemcpyDefault));
    md_free(lines);
    c->extra = d_lines;
    const uint64_t first = (uint64_t)(uintptr_t)d_lines;
    CUDA_CHECK(cudaMemcpy(c->arguments.counts, &first, sizeof first, cudaMemcpyDefault));
    return !cuda_row_is(c, "load, memory") || cuda_ceiling_take(c, 2 * (size_t)c->m->l2_bytes, reason);
}

/* c->result is the entry that the chain had reached at the last check. */
static bool check_chain(CudaCeiling *c, char *reason) {
    uint64_t reached = 0;
    CUDA_CHECK(cudaMemcpy(&reached, c->arguments.counts, sizeof reached, cudaMemcpyDefault));
    int64_t at = (int64_t)c->result;
    for (int64_t k = 0; k < c->n * c->n_calls; k++) at = c->index[at];
    c->result = (double)at;
    const uint64_t expected =
        c->extra ? (uint64_t)(uintptr_t)((uint64_t *)c->extra + at * LINE) : (uint64_t)at * sizeof *c->index;
    return cuda_ceiling_equal("the position in the chain", (double)reached, (double)expected, reason);
}

static bool check_steps(CudaCeiling *c, char *reason) {
    uint64_t reached = 0;
    CUDA_CHECK(cudaMemcpy(&reached, c->arguments.counts, sizeof reached, cudaMemcpyDefault));
    c->result = fmod(c->result + (double)c->n * (double)c->n_calls, MULTIPLY_ADDS);
    return cuda_ceiling_equal("the count of multiply-adds", (double)reached, c->result, reason);
}

bool cuda_ceiling_prepare_chase(CudaCeiling *c, char *reason) {
    const bool adds = cuda_row_is(c, "multiply-add, dependent"), shared = cuda_row_is(c, "load, shared memory");
    const int64_t n_places = count_places(c);
    c->run = cuda_ceiling_run_kernel;
    c->check = adds ? check_steps : check_chain;
    c->grid[0] = c->grid[1] = c->block[0] = c->block[1] = 1;
    c->arguments.n = c->n;
    c->arguments.parameter = c->of.row->parameter;
    c->arguments.counts = cuda_ceiling_take(c, sizeof(uint64_t), reason);
    if (!c->arguments.counts) return false;
    if (!adds) c->index = make_cycle(n_places);
    if (shared) {
        const size_t bytes = (size_t)n_places * sizeof *c->index;
        c->arguments.index = cuda_ceiling_take(c, bytes, reason);
        if (!c->arguments.index) return false;
        CUDA_CHECK(cudaMemcpy(c->arguments.index, c->index, bytes, cudaMemcpyDefault));
    } else if (!adds && !make_lines(c, n_places, reason)) return false;
    return cuda_ceiling_load(c, "chase",
                             adds                         ? "k_chase_multiply_add"
                             : shared                     ? "k_chase_shared"
                             : cuda_row_is(c, "load, L2") ? "k_chase_load_l2"
                                                          : "k_chase_load",
                             reason);
}
