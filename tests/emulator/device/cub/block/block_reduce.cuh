/* cub::BlockReduce, as the toolkit's default does it: warps by shuffles, then the first thread over the warps. It shows
 * whether the storage is used again without a barrier; it is not CUB. */
#ifndef EMULATOR_CUB_BLOCK_REDUCE_CUH
#define EMULATOR_CUB_BLOCK_REDUCE_CUH

namespace cub {

template <class T, int THREADS> class BlockReduce {
  public:
    struct TempStorage {
        T of_warp[(THREADS + 31) / 32];
    };
    explicit BlockReduce(TempStorage &storage) : storage(storage) {}

    /* The result is that of thread 0; every thread of the block must call it. */
    template <class Combine> T Reduce(T value, Combine combine) {
        static_assert(THREADS % 32 == 0, "blocks of whole warps");
        const int t = (int)threadIdx.x;
        for (unsigned distance = 16; distance > 0; distance /= 2)
            value = combine(value, emulator_shfl_down(EMULATOR_WHERE, 0xffffffffu, value, distance));
        if (t % 32 == 0) storage.of_warp[t / 32] = value;
        __syncthreads();
        if (t == 0)
            for (int warp = 1; warp < THREADS / 32; warp++) value = combine(value, storage.of_warp[warp]);
        return value;
    }
    T Sum(T value) {
        return Reduce(value, [](T a, T b) { return a + b; });
    }

  private:
    TempStorage &storage;
};

} // namespace cub

#endif
