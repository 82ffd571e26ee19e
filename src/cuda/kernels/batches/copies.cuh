/* Several processes (parallel.transport = direct): an atom has copies on other GPUs, and the block that moves it stores its position
 * there. */
#ifndef MD_CUDA_COPIES_CUH
#define MD_CUDA_COPIES_CUH

#include "cuda/kernels/border.cuh"

/* Where the rank that has a copy keeps its position, among the first ones, or with `to` among the second. */
__device__ inline Vec4<Pair> *place_of_copy(const CudaArguments &a, CudaCopy copy, int64_t to) {
    const CudaDomain &domain = a.domain;
    const int side = side_of_copy(copy);
    Vec4<Pair> *position = (Vec4<Pair> *)domain.peers->position[side] + (to == 0 ? 0 : domain.table->stride_of[side]);
    return position + domain.table->to[side] + number_of_copy(copy);
}

/* The next copy of the same atom. */
__device__ inline CudaCopy copy_after(const CudaArguments &a, CudaCopy copy) {
    if (!has_another(copy)) return CUDA_NO_COPY;
    return a.domain.next_copy[a.domain.table->out[side_of_copy(copy)] + number_of_copy(copy)];
}

/* visit(place) for each copy of an atom, from this one on. */
template <class Visit>
__device__ inline void for_copies(const CudaArguments &a, CudaCopy copy, int64_t to, Visit visit) {
    for (; copy != CUDA_NO_COPY; copy = copy_after(a, copy)) visit(place_of_copy(a, copy, to));
}

/* Places of all copies were sent n times. By one thread. */
__device__ inline void count_places(const CudaArguments &a, int n) {
    a.status->n_places_sent += (unsigned long long)n * (unsigned long long)a.domain.table->out[CUDA_SIDES];
}

#endif
