/* Messages between the GPUs of two processes. Each has the memory of the others mapped (CudaPeers); ranks 0 and 1
 * exchange.
 *
 * Numbers that others wait for grow from call to call, so that nothing needs to be reset: w.width is the last one
 * before the call, w.parameter how many follow. Wrong numbers are counted in w.counts[0], received ones in w.counts[1]. */
#include "cuda/kernels/gpu_barrier.cuh"
#include "microbench/kernels/arguments.h"

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_st_relaxed_sys(unsigned long long *place, unsigned long long value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(place), "l"(value) : "memory");
}
__device__ inline unsigned long long ptx_ld_relaxed_sys(const unsigned long long *place) {
    unsigned long long value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(place) : "memory");
    return value;
}
#endif

#define PEERS_KERNEL(name) MD_KERNEL k_peers_##name(MD_ARGUMENTS, const CudaCeilingArguments w)

/* Where rank 0 or 1 receives, as this GPU has it mapped. */
__device__ inline unsigned long long *inbox_of(const CudaArguments &a, int rank) {
    return (unsigned long long *)a.domain.peers->inbox[rank];
}

/* The number that a rank sends: different in each round, at each index and from each rank. */
__device__ inline unsigned payload(unsigned round, unsigned i, int rank) {
    return round * 2654435761u ^ i * 40503u ^ (unsigned)rank << 31;
}

__device__ inline void count(const CudaCeilingArguments &w, unsigned n_bad, unsigned n_came) {
    if (n_bad != 0) atomicAdd(w.counts, n_bad);
    atomicAdd(w.counts + 1, n_came);
}

/* --- a word to and fro, by one thread: its upper half has the number of the round --------------------------------- */

/* Ordered: a number beside it is stored before it, and read after it. */
template <bool IS_ORDERED> __device__ inline void go_to_and_fro(const CudaArguments &a, const CudaCeilingArguments &w) {
    const int rank = a.domain.rank, other = 1 - rank;
    unsigned long long *to = inbox_of(a, other), *own = inbox_of(a, rank);
    unsigned n_bad = 0, n_came = 0;
    for (unsigned k = 1; k <= (unsigned)w.parameter; k++) {
        const unsigned round = (unsigned)w.width + k;
        const unsigned long long sent = (unsigned long long)round << 32 | payload(round, 0, rank);
        for (int turn = 0; turn < 2; turn++) {
            if (turn == rank) {
                if (IS_ORDERED) *(volatile unsigned long long *)(to + 1) = payload(round, 1, rank);
                if (IS_ORDERED) ptx_st_release_sys(to, sent);
                else ptx_st_relaxed_sys(to, sent);
                continue;
            }
            unsigned long long seen;
            Patience patience;
            do seen = IS_ORDERED ? ptx_ld_acquire_sys(own) : ptx_ld_relaxed_sys(own);
            while (seen >> 32 != round && !patience.is_over(a, 1 + other));
            if (seen >> 32 != round) return; /* the host ends the run */
            n_came++;
            n_bad += (unsigned)seen != payload(round, 0, other);
            if (IS_ORDERED) n_bad += *(volatile unsigned long long *)(own + 1) != payload(round, 1, other);
        }
    }
    count(w, n_bad, n_came);
}

PEERS_KERNEL(flag_relaxed) { go_to_and_fro<false>(a, w); }
PEERS_KERNEL(flag_ordered) { go_to_and_fro<true>(a, w); }

/* --- w.n words of 16 bytes: the upper half has the tag, which is the round, and the number of the word ------------ */

/* There are two copies by turns. A thread stores words of the round after next only when it has seen the next ones of
 * the same numbers, which the thread on the other side stores when it has seen these. All blocks must be resident. */
PEERS_KERNEL(words) {
    const int rank = a.domain.rank, other = 1 - rank;
    const unsigned n = (unsigned)w.n;
    unsigned n_bad = 0, n_came = 0;
    for (unsigned k = 1; k <= (unsigned)w.parameter; k++) {
        const unsigned round = (unsigned)w.width + k;
        const unsigned long long tag = (unsigned long long)round << 32;
        unsigned long long *to = inbox_of(a, other) + 2ull * n * (round & 1),
                           *own = inbox_of(a, rank) + 2ull * n * (round & 1);
        for (unsigned i = (unsigned)thread_index(); i < n; i += (unsigned)grid_size())
            ptx_st_relaxed_sys_b128(to + 2 * i, payload(round, i, rank), tag | i);
        for (unsigned i = (unsigned)thread_index(); i < n; i += (unsigned)grid_size()) {
            unsigned long long low, high;
            Patience patience;
            do ptx_ld_relaxed_sys_b128(own + 2 * i, &low, &high);
            while (high >> 32 != round && !patience.is_over(a, 1 + other));
            if (high >> 32 != round) return; /* the host ends the run */
            n_came++;
            n_bad += low != payload(round, i, other) || (unsigned)high != i;
        }
    }
    count(w, n_bad, n_came);
}

/* --- w.n floats of w.a to where the other receives ---------------------------------------------------------------- */

PEERS_KERNEL(stores) {
    const int n = (int)w.n, n_vectors = n / 4;
    float *to = (float *)inbox_of(a, 1 - a.domain.rank);
    for (int i = thread_index(); i < n_vectors; i += grid_size()) ((float4 *)to)[i] = ((const float4 *)w.a)[i];
    for (int i = 4 * n_vectors + thread_index(); i < n; i += grid_size()) to[i] = w.a[i];
}

/* --- a barrier of all ranks, by one block, as k_halo_barrier has it ----------------------------------------------- */

/* Before it each stores the number of the barrier at the next rank, in two words by turns. The ranks take turns to
 * have the largest number, which all must receive. */
PEERS_KERNEL(barrier) {
    const int rank = a.domain.rank, n = a.domain.n_ranks;
    const unsigned epoch = a.domain.peers->epoch + 1, largest_rank = epoch % (unsigned)n;
    volatile unsigned *next = (volatile unsigned *)inbox_of(a, rank + 1 < n ? rank + 1 : 0) + epoch % 2;
    if (threadIdx.x == 0) *next = epoch;
    __threadfence_system(); /* it is there before the barrier is over */
    const unsigned largest = gpu_barrier(a, (unsigned)rank == largest_rank ? 1000 + epoch : epoch).largest;
    if (threadIdx.x != 0) return;
    const unsigned came = ((volatile unsigned *)inbox_of(a, rank))[epoch % 2];
    count(w, largest != 1000 + epoch || came != epoch, 1);
}
