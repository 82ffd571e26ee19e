/* Several processes (parallel.transport = direct): an atom has copies on other GPUs, and the block that moves it stores its position
 * there. */
#ifndef MD_CUDA_COPIES_CUH
#define MD_CUDA_COPIES_CUH

#include "cuda/kernels/domain.cuh"

/* Of a side: the first copy of an atom of this rank there, the offset to the same copy among the second positions, and the first one for
 * that side among all. In shared memory: loading them in each step would be too slow. */
struct CopiesOfSide {
    Vec4<Pair> *position;
    int32_t stride, out;
};
__device__ inline CopiesOfSide *copies_of_sides(void) {
    __shared__ CopiesOfSide s_sides[CUDA_SIDES];
    return s_sides;
}

/* By all threads of a block, before any stores copies. */
__device__ inline void find_copies(const CudaArguments &a) {
    const CudaHaloTable &table = *a.domain.table;
    const int side = (int)threadIdx.x;
    if (side < CUDA_SIDES)
        copies_of_sides()[side] = CopiesOfSide{(Vec4<Pair> *)a.domain.peers->position[side] + table.to[side],
                                               table.stride_of[side], table.out[side]};
    __syncthreads(); /* all are there */
}

/* Where the rank that has a copy keeps its position, among the first ones, or with `to` among the second. */
__device__ inline Vec4<Pair> *place_of_copy(CudaCopy copy, int64_t to) {
    const CopiesOfSide &side = copies_of_sides()[side_of_copy(copy)];
    return side.position + (to == 0 ? 0 : side.stride) + number_of_copy(copy);
}

/* The next copy of the same atom. */
__device__ inline CudaCopy copy_after(const CudaArguments &a, CudaCopy copy) {
    if (!has_another(copy)) return CUDA_NO_COPY;
    return a.domain.next_copy[copies_of_sides()[side_of_copy(copy)].out + number_of_copy(copy)];
}

/* visit(place) for each copy of an atom, from this one on. */
template <class Visit>
__device__ inline void for_copies(const CudaArguments &a, CudaCopy copy, int64_t to, Visit visit) {
    for (; copy != CUDA_NO_COPY; copy = copy_after(a, copy)) visit(place_of_copy(copy, to));
}

/* Positions of all copies were sent n times. By one thread. */
__device__ inline void count_places(const CudaArguments &a, int n) {
    a.status->n_places_sent += (unsigned long long)n * (unsigned long long)a.domain.table->out[CUDA_SIDES];
}

#endif
