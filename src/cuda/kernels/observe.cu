/* Stage observe: sums over atoms that an analysis samples while the run goes (physics/observe.h).
 *
 * Ladder, of which only the last rung is here:
 *   frames           positions, images and velocities by id go to the host, which finds displacements: 40 bytes an atom across the
 *                    bus, and scattered writes to pack them
 *   a kernel each    k_integrate_kick for whole velocities, then one kernel a quantity, then one that finishes the sums
 *   one kernel       reads what an atom has once, in the order of memory, and writes it only at an origin. The half kick that is
 *                    still due is made in registers, so that the next step need not know of the sample. Sums are whole quanta, which
 *                    atomics may add in any order, so there are no partial sums and no second kernel.
 * The reference of an atom is a column (physics/columns.def), so that it moves with the atom and needs no search by id. */
#if MD_RDF_BINS
#include "cuda/kernels/count_pairs.cuh"
#endif
#include "cuda/kernels/integrate.cuh"
#include "cuda/kernels/stale.cuh"
#include "physics/observe.h"

#if MD_HAS_MSD || MD_HAS_VACF
constexpr int n_quantities = MD_HAS_MSD + MD_HAS_VACF, velocity_at = MD_HAS_MSD; /* in the sums of a thread */

__device__ inline bool is_due(unsigned quantities, int quantity) { return quantities >> quantity & 1; }

/* Sums by type, without an index that is only known at run time. */
__device__ inline void add_of_type(MdSplitSum (&sums)[MD_N_TYPES], int type, double value) {
    for (int t = 0; t < MD_N_TYPES; t++)
        add_split<MD_ALL_BITS, MD_OBSERVE_SIZE>(sums[t], MD_N_TYPES == 1 || t == type ? value : 0.0);
}

/* The square of the displacement; at an origin 0. */
__device__ inline double displacement_of(const CudaArguments &a, int64_t i) {
    const Vec3<State> x = load_position(a.now, i);
    const CudaTag tag = a.now.tag[i];
    double *origin = (double *)a.now.msd_origin + 3 * i;
    const double now[3] = {md_unwrapped((double)x.x, tag.ix, a.length[0]),
                           md_unwrapped((double)x.y, tag.iy, a.length[1]),
                           md_unwrapped((double)x.z, tag.iz, a.length[2])};
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double d = is_due(a.origins, MD_OBSERVE_DISPLACEMENT) ? 0 : now[axis] - origin[axis];
        if (is_due(a.origins, MD_OBSERVE_DISPLACEMENT)) origin[axis] = now[axis];
        sum += d * d;
    }
    return sum;
}

/* At the end of the step. */
__device__ inline Vec3<Pair> velocity_of(const CudaArguments &a, int64_t i) {
    if (keeps_velocity && a.kept_step > 0) {
        const Pair *kept = kept_velocity(a, i);
        return Vec3<Pair>{kept[0], kept[1], kept[2]};
    }
    Full<Pair> v = load_velocity(a.now, i);
    if (a.kick_first) half_kick(a, load<Pair>(a.now.force, i), &v);
    return v.v;
}

/* The product of the velocities. */
__device__ inline double velocities_of(const CudaArguments &a, int64_t i) {
    const Vec3<Pair> v = velocity_of(a, i);
    const Pair now[3] = {v.x, v.y, v.z};
    Pair *first = (Pair *)a.now.vacf_origin + 3 * i;
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        const Pair then = is_due(a.origins, MD_OBSERVE_VELOCITY) ? now[axis] : first[axis];
        if (is_due(a.origins, MD_OBSERVE_VELOCITY)) first[axis] = then;
        sum += (double)now[axis] * (double)then;
    }
    return sum;
}

/* Samples the quantities a.observe. Those of a.origins have their origin here. */
/* Reads position, tag, msd_origin [n], velocity, force, vacf_origin [n]; writes msd_origin, vacf_origin [n], observed [row]. */
MD_KERNEL k_observe_motion(MD_ARGUMENTS) {
    constexpr int quantity_parts = MD_N_TYPES * MD_SPLIT_PARTS, n_parts = n_quantities * quantity_parts;
    /* Velocities that were kept count if a later step has stopped the device, which will not make theirs again. */
    const bool are_kept = keeps_velocity && a.kept_step > 0;
    if (are_kept ? a.status->stopped && a.status->step <= a.kept_step : comes_again(a)) return;
    MdSplitSum sums[n_quantities][MD_N_TYPES] = {};
    for (int64_t i = thread_index(); i < own_atoms(a); i += grid_size()) {
        const int type = load_type(a.now, i);
#if MD_HAS_MSD
        if (is_due(a.observe, MD_OBSERVE_DISPLACEMENT)) add_of_type(sums[0], type, displacement_of(a, i));
#endif
#if MD_HAS_VACF
        if (is_due(a.observe, MD_OBSERVE_VELOCITY)) add_of_type(sums[velocity_at], type, velocities_of(a, i));
#endif
    }
    double parts[n_parts];
    for (int k = 0; k < n_parts; k++) {
        const int of_type = k / MD_SPLIT_PARTS;
        parts[k] = sums[of_type / MD_N_TYPES][of_type % MD_N_TYPES].part[k % MD_SPLIT_PARTS];
    }
    block_sum<n_parts>(a, parts);
    if (threadIdx.x != 0) return;
    double *row = a.observed + a.observed_row * MD_OBSERVE_N * quantity_parts;
    for (int k = 0; k < n_parts; k++) {
        const int quantity = k / quantity_parts < velocity_at ? MD_OBSERVE_DISPLACEMENT : MD_OBSERVE_VELOCITY;
        if (is_due(a.observe, quantity)) atomicAdd(&row[quantity * quantity_parts + k % quantity_parts], parts[k]);
    }
}
#endif
