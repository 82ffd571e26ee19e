/* Stage integrate: velocity Verlet, and the tests of displacements and faults.
 *
 * Ladder (launch.fuse):
 *   off   half kick, drift, largest displacement and the other half kick are separate kernels: each reads its
 *         arrays and writes them back.
 *   on    the second half kick of a step waits for the first of the next one, and both are one kernel with the drift and
 *         the displacement, while everything is in registers: velocity and position are read and written once a step.
 *         Its maximum goes through the block (reduce.cuh) to one integer atomicMax. If velocities are needed
 *         in between, the half kick is done separately. */
#include "cuda/kernels/descend.cuh"
#include "cuda/kernels/integrate.cuh"

constexpr bool has_check = MD_SW_neighbor_rebuild != MD_REBUILD_EVERY;

/* Half kick, or after the forces of another step the half kick that is still due before it; drift; displacement. */
/* Reads velocity, position, force, reference [n]; writes velocity, position [n], measures.moved_sq. */
MD_KERNEL k_integrate_kick_drift(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* the whole grid: written by an earlier kernel */
    float moved_sq[1] = {0};
    Heat heat;
    const int i = thread_index();
    if (i < own_atoms(a)) moved_sq[0] = integrate_atom(a, i, a.kick_first, has_check, &heat);
    if (i == 0) a.status->drifted = 1;
    add_heat(a, heat);
    if (has_check) {
        block_max<1>(a, moved_sq); /* the whole block, as the reduction needs */
        if (threadIdx.x == 0) atomicMax(&a.status->measures.moved_sq, __float_as_uint(moved_sq[0]));
    }
}

/* Reads velocity, force [n]; writes velocity [n]. */
MD_KERNEL k_integrate_kick(MD_ARGUMENTS) {
    if (a.status->stopped) return;
    const int i = thread_index();
    if (i >= own_atoms(a)) return;
    Full<Pair> v = load_velocity(a.now, i);
    half_kick(a, load<Pair>(a.now.force, i), &v);
    store<Pair>(a.now.velocity, i, v.v, v.w);
}

/* Reads velocity, position [n]; writes position [n], with a thermostat on each atom velocity [n]. */
MD_KERNEL k_integrate_drift(MD_ARGUMENTS) {
    if (a.status->stopped) return;
    Heat heat;
    const int i = thread_index();
    if (i == 0) a.status->drifted = 1;
    if (i < own_atoms(a)) {
        const Motion motion = Motion{0, 0, 0, false};
        Moving moving = {load_velocity(a.now, i), load_position(a.now, i)};
        drift(a, i, draw_noise(a, i, motion.step), load_type(a.now, i), motion, &moving, &heat);
        if (has_bath) store<Pair>(a.now.velocity, i, moving.v.v, moving.v.w);
        store_position(a.now, i, moving.x, load_type(a.now, i));
    }
    add_heat(a, heat);
}

/* Reads position, reference [n]; writes measures.moved_sq. */
MD_KERNEL k_integrate_check(MD_ARGUMENTS) {
    if (a.status->stopped) return;
    const int i = thread_index();
    float moved_sq[1] = {0};
    if (i < own_atoms(a)) moved_sq[0] = displacement_sq(load<Pair>(a.now.position, i), load<Pair>(a.reference, i));
    block_max<1>(a, moved_sq);
    if (threadIdx.x == 0) atomicMax(&a.status->measures.moved_sq, __float_as_uint(moved_sq[0]));
}

/* Reads velocity [n], factor, shift; writes velocity [n]. */
MD_KERNEL k_integrate_scale(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= own_atoms(a)) return;
    Full<Pair> v = load_velocity(a.now, i);
    v.v.x = (Pair)((double)v.v.x * a.factor + a.shift[0]);
    v.v.y = (Pair)((double)v.v.y * a.factor + a.shift[1]);
    v.v.z = (Pair)((double)v.v.z * a.factor + a.shift[2]);
    store<Pair>(a.now.velocity, i, v.v, v.w);
}
