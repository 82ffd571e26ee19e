/* The rung of the ladder of reduction.cu that names its threads: tiles of cooperative groups, whose reduce knows the
 * instructions of the architecture. It needs headers of the toolkit, which the other kernels do without. */
#include "microbench/kernels/ceiling.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;
constexpr int block = 256;

CEILING(reduction_groups) {
    __shared__ float s[block / 32];
    const cg::thread_block all = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(all);
    const int t = (int)threadIdx.x;
    float x = thread_index() < a.n ? a.a[thread_index()] : 0;
    x = cg::reduce(warp, x, cg::plus<float>());
    if (warp.thread_rank() == 0) s[t / 32] = x;
    all.sync(); /* the sums of all warps are there */
    if (t >= 32) return;
    x = cg::reduce(warp, t < block / 32 ? s[t] : 0.0f, cg::plus<float>());
    if (t == 0) a.b[blockIdx.x] = x;
}
