/* analysis.pressure = tensor: the virial tensor of a row of pairs. */
#ifndef MD_CUDA_TENSOR_CUH
#define MD_CUDA_TENSOR_CUH

#include "cuda/kernels/reduce.cuh"

/* A thread's part of it, in the precision of pairs as the force is: six fused multiply-adds a pair, where sums in double take six
 * conversions and additions. */
struct RowTensor {
    Pair part[has_tensor ? MD_N_TENSOR : 1];

    /* opaque: no product is that of the force, whose bits depend on whether it is fused */
    __device__ void add_pair(Pair force, const Vec3<Pair> &d) {
        const Pair f = opaque(force);
        const Pair fx = f * d.x, fy = f * d.y;
        part[MD_XX] += fx * d.x;
        part[MD_YY] += fy * d.y;
        part[MD_XY] += fx * d.y;
        if (MD_DIMENSION == 2) return;
        part[MD_ZZ] += f * d.z * d.z;
        part[MD_XZ] += fx * d.z;
        part[MD_YZ] += fy * d.z;
    }

    /* factor: that visit has left out. */
    __device__ void end_row(Pair factor, Sum (&sums)[pair_totals]) {
        for (int k = 0; k < MD_N_TENSOR; k++) {
            add(sums[CUDA_VIRIAL_TENSOR + k], (double)(factor * part[k]));
            part[k] = 0;
        }
    }
};

#endif
