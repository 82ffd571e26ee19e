/* In place of cub/block/block_reduce.cuh of the toolkit: the result is that of thread 0, and the storage may be used again
 * after a barrier. */
#ifndef EMULATOR_CUB_BLOCK_REDUCE_CUH
#define EMULATOR_CUB_BLOCK_REDUCE_CUH

namespace cub {

template <class T, int THREADS> class BlockReduce {
  public:
    struct TempStorage {
        T of_thread[THREADS];
    };
    __device__ explicit BlockReduce(TempStorage &place) : storage(place) {}

    template <class Combine> __device__ T Reduce(T value, Combine combine) {
        storage.of_thread[threadIdx.x] = value;
        __syncthreads(); /* all values are there before thread 0 reads them */
        if (threadIdx.x == 0)
            for (int t = 1; t < THREADS; t++) value = combine(value, storage.of_thread[t]);
        return value;
    }

  private:
    TempStorage &storage;
};

} // namespace cub
#endif
