/* Stage integrate: a step of a minimisation (integrate/minimize.h), in double precision. */
#ifndef MD_CUDA_DESCEND_CUH
#define MD_CUDA_DESCEND_CUH

#include "cuda/kernels/common.cuh"

/* factor: keep; shift: push, move, most (descend in backend/backend.h). */
/* Reads velocity, force, position [n], factor, shift; writes velocity, position [n]. */
MD_KERNEL k_integrate_descend(MD_ARGUMENTS) {
    const int i = thread_index();
    if (i >= own_atoms(a)) return;
    Full<Pair> full = load_velocity(a.now, i);
    const Vec3<Pair> f = load<Pair>(a.now.force, i);
    const double by_mass = a.shift[0] * (double)full.w, move = a.shift[1], most = a.shift[2];
    const Vec3<double> v = {a.factor * full.v.x + by_mass * f.x, a.factor * full.v.y + by_mass * f.y,
                            a.factor * full.v.z + by_mass * f.z};
    store<Pair>(a.now.velocity, i, {(Pair)v.x, (Pair)v.y, (Pair)v.z}, full.w);
    const double way = move * sqrt(v.x * v.x + v.y * v.y + v.z * v.z), scale = way > most ? move * most / way : move;
    if (move == 0 || !(way <= 1e300)) return; /* NaN, or it overflows */
    const Vec3<State> x = load_position(a.now, i);
    store_position(
        a.now, i,
        storable(Vec3<State>{(State)(x.x + scale * v.x), (State)(x.y + scale * v.y), (State)(x.z + scale * v.z)}),
        load_type(a.now, i));
}

#endif
