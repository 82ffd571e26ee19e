/* Several processes (parallel.transport = direct): an atom has copies on other GPUs, and the block that moves it stores its position
 * there. */
#ifndef MD_CUDA_COPIES_CUH
#define MD_CUDA_COPIES_CUH

#include "cuda/kernels/domain.cuh"

/* visit(place) for each copy of an atom, among the positions of the rank that has it: in the first ones, or with `to` in the second.
 * word: that of the atom in CudaDomain.copies_of. */
template <class Visit>
__device__ inline void for_copies(const CudaArguments &a, unsigned word, int64_t to, Visit visit) {
    const CudaDomain &domain = a.domain;
    const CudaCopy *copy = domain.copies + word / CUDA_SIDES;
    for (int k = 0; k < (int)(word % CUDA_SIDES); k++) {
        const int side = (int)(copy[k] >> CUDA_COPY_BITS), number = (int)(copy[k] & ((1u << CUDA_COPY_BITS) - 1));
        Vec4<Pair> *position =
            (Vec4<Pair> *)domain.peers->position[side] + (to == 0 ? 0 : domain.table->stride_of[side]);
        visit(position + domain.table->to[side] + number);
    }
}

/* Places of all copies were sent n times. By one thread. */
__device__ inline void count_places(const CudaArguments &a, int n) {
    a.status->n_places_sent += (unsigned long long)n * (unsigned long long)a.domain.table->out[CUDA_SIDES];
}

#endif
