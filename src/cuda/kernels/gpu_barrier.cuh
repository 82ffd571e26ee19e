/* parallel.transport = direct: a barrier between GPUs. Each writes a word to all others and waits for theirs: then all have reached
 * the barrier, and their earlier stores into each other's memory are visible.
 *
 * A word has the number of the barrier and, below it, a number of the rank that wrote it: so all find the largest of all with it.
 * There are two sets of words in turn: no GPU can write those of the barrier after next before all have read these. A release at
 * system scope takes some two microseconds on NVLink (two H100), which all blocks wait for together. */
#ifndef MD_CUDA_GPU_BARRIER_CUH
#define MD_CUDA_GPU_BARRIER_CUH

#include "cuda/kernels/system_words.cuh"

/* Of the numbers of all ranks. */
struct OfRanks {
    unsigned largest, bits; /* any of them has */
};

/* By the threads of one block, after all that this GPU stores. Of a silent rank all bits are taken: nothing is sorted. */
__device__ inline OfRanks gpu_barrier(const CudaArguments &a, unsigned own) {
    __shared__ OfRanks s_all;
    CudaPeers *peers = a.domain.peers;
    const unsigned epoch = peers->epoch + 1, turn = epoch % 2;
    if (threadIdx.x == 0) s_all = OfRanks{own, own};
    __syncthreads(); /* all have read the epoch, and the number is there */
    for (int other = (int)threadIdx.x; other < a.domain.n_ranks; other += MD_BLOCK) {
        if (other == a.domain.rank) continue;
        ptx_st_release_sys(&peers->mailbox[other]->words[turn][a.domain.rank], (unsigned long long)epoch << 32 | own);
        const unsigned long long *word = &peers->mailbox[a.domain.rank]->words[turn][other];
        unsigned long long seen;
        Patience patience;
        bool is_silent = false;
        while (!is_silent && (unsigned)((seen = ptx_ld_acquire_sys(word)) >> 32) != epoch)
            is_silent = patience.is_over(a, 1 + other);
        if (!is_silent) atomicMax(&s_all.largest, (unsigned)seen);
        atomicOr(&s_all.bits, is_silent ? ~0u : (unsigned)seen);
    }
    __syncthreads(); /* all have answered */
    if (threadIdx.x == 0) peers->epoch = epoch;
    return s_all;
}

/* Whether this block is the last of the grid to come here. The stores of the other blocks are then visible to all GPUs after the next barrier. */
__device__ inline bool is_last_block(const CudaArguments &a) {
    __shared__ bool s_last;
    __syncthreads(); /* all threads have stored */
    if (threadIdx.x == 0) {
        __threadfence_system();
        s_last = atomicAdd(&a.domain.peers->n_blocks, 1u) == gridDim.x - 1;
        if (s_last) {
            a.domain.peers->n_blocks = 0;
            __threadfence_system();
        }
    }
    __syncthreads(); /* the answer is there */
    return s_last;
}

#endif
