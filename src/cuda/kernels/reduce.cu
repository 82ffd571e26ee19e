/* Stage reduce: sums and extremes over all particles.
 *
 * Ladder: the method within a block is in reduce.cuh. Beyond it:
 *   per_thread   one: a thread a particle, as many blocks and partial sums as it takes
 *                grid-stride: each thread sums a stride of the particles in registers before the block adds up: a fixed
 *                number of blocks, and the tree weighs nothing
 *   finish       host: the partial sums of blocks travel over the bus, the host adds them in order
 *                atomic: blocks add to the total by atomicAdd, in order of arrival, which differs from run to run
 *                two-pass: a second, small kernel adds them in the order of the blocks
 *                Extremes finish by an integer atomicMax in any case: exact, and free of order.
 *   scratch      per-call: room for partial sums is allocated and freed at each call, which waits for the device
 *                static: once, at start
 * The number of blocks depends on the number of particles only, so the same input gives the same bits (except with atomic, unless
 * reduce.accumulate = reproducible). */
#include "cuda/kernels/reduce.cuh"

/* Kinetic energy, momentum and the sum of F^2/m. */
/* Reads velocity, force [n]; writes totals or partials [5, blocks]. */
MD_KERNEL k_reduce_sums(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* forces may not be there */
    Sum sums[atom_totals] = {};
    for (int64_t i = thread_index(); i < own_atoms(a); i += grid_size()) { /* 64 bits: a last stride may pass 2^31 */
        const Full<Pair> v = load_velocity(a.now, i);
        const Vec3<Pair> f = load<Pair>(a.now.force, i);
        const double vx = (double)v.v.x, vy = (double)v.v.y, vz = (double)v.v.z;
        const double inverse_mass = (double)v.w, mass = 1 / inverse_mass;
        const double fx = (double)f.x, fy = (double)f.y, fz = (double)f.z;
        add(sums[0], 0.5 * mass * (vx * vx + vy * vy + vz * vz));
        add(sums[1], mass * vx);
        add(sums[2], mass * vy);
        add(sums[3], mass * vz);
        add(sums[4], (fx * fx + fy * fy + fz * fz) * inverse_mass);
        if constexpr (has_tensor) {
            add(sums[CUDA_KINETIC_TENSOR + MD_XX], mass * vx * vx);
            add(sums[CUDA_KINETIC_TENSOR + MD_YY], mass * vy * vy);
            add(sums[CUDA_KINETIC_TENSOR + MD_ZZ], mass * vz * vz);
            add(sums[CUDA_KINETIC_TENSOR + MD_XY], mass * vx * vy);
            add(sums[CUDA_KINETIC_TENSOR + MD_XZ], mass * vx * vz);
            add(sums[CUDA_KINETIC_TENSOR + MD_YZ], mass * vy * vz);
        }
    }
    add_to_totals<pair_totals>(a, sums);
}

#if MD_SW_reduce_finish == MD_FINISH_TWO_PASS
/* Block q adds up the a.n partial sums of part q, into total a.first_total + q. */
/* Reads partials [parts, a.n]; writes totals [parts]. */
MD_KERNEL k_reduce_finish(MD_ARGUMENTS) {
    double sum[1] = {};
    const double *mine = a.partials + (int64_t)blockIdx.x * a.n;
    for (int k = (int)threadIdx.x; k < a.n; k += MD_BLOCK) sum[0] += mine[k];
    block_sum<1>(a, sum);
    if (threadIdx.x == 0) a.totals[a.first_total + blockIdx.x] = sum[0];
}
#endif

/* The last kernel of a step with output: the sums and the fault go to the slot of the ring, and at last the number of the step, by
 * which the host knows that all is there. One block. */
/* Reads totals, status.fault_key, status.heat; writes row, in memory of the host. */
MD_KERNEL k_reduce_seal(MD_ARGUMENTS) {
    const int t = (int)threadIdx.x;
    constexpr int n = (pair_totals + atom_totals) * sum_parts;
    static_assert(has_tensor || n <= 32, "a block has a thread for each");
    if (t < n) a.row->totals[t] = a.totals[t];
    if constexpr (n > 32)
        for (int k = t + MD_BLOCK; k < n; k += MD_BLOCK) a.row->totals[k] = a.totals[k];
    if (t > 0) return;
    a.row->fault_step = a.status->fault_step;
    a.row->fault_key = a.status->fault_key[a.status->fault_step % CUDA_GRAPH_STEPS];
    a.row->heat = (long long)a.status->heat;
    /* With the stop flag set, sums and particles are those of another step, and this step comes again. */
    a.row->step = a.status->stopped ? -1 : a.row_step;
}

/* The bounding box. */
/* Reads position [n]; writes measures.high, measures.low [3]. */
MD_KERNEL k_reduce_measure(MD_ARGUMENTS) {
    const float none = __int_as_float((int)0xff800000); /* minus infinity */
    float extreme[6] = {none, none, none, none, none, none};
    for (int64_t i = thread_index(); i < own_atoms(a); i += grid_size()) {
        const Vec3<Pair> x = load<Pair>(a.now.position, i);
        const float place[3] = {(float)x.x, (float)x.y, (float)x.z};
        for (int k = 0; k < 3; k++) {
            extreme[k] = fmaxf(extreme[k], place[k]);
            extreme[3 + k] = fmaxf(extreme[3 + k], -place[k]);
        }
    }
    block_max<6>(a, extreme);
    if (threadIdx.x == 0)
        for (int k = 0; k < 3; k++) {
            atomicMax(&a.status->measures.high[k], float_key(extreme[k]));
            atomicMax(&a.status->measures.low[k], float_key(extreme[3 + k]));
        }
}
