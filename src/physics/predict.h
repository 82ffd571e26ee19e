/* neighbor.predict = velocity: a list of where atoms will be, midway to the next one.
 *
 * A list of all pairs within cutoff + skin of each other, at places one for each atom, has every pair within the cutoff as long as no
 * atom is further than half the skin from its place: each of a pair takes up half of it. That the atoms were ever at these
 * places is not asked. (Verlet, Phys. Rev. 159, 98 (1967), counts from where they were when the list was made, as
 * everybody has since.) Who takes places ahead of the atoms lets them come up to these, and then go on as far beyond: the
 * list lasts twice as long where they fly straight on, and half as long again in a liquid, where they turn.
 *
 * The place is the present one and the way that the present velocity makes in half of the interval; the interval is said
 * to be as long as the last one was. If it is not, or the velocity changes, the list is as good, for it is watched how far
 * atoms are from their places: it ends sooner. One thing must hold at once, when nobody has watched yet: no place is further
 * from its atom than half the skin. MD_PREDICT_SHARE of it is the most, and leaves the atom some steps in any direction. */
#ifndef MD_PHYSICS_PREDICT_H
#define MD_PHYSICS_PREDICT_H

#include "physics/real.h"

#define MD_PREDICT_SHARE 0.9

/* How far ahead the places are, in time, if the last list was in use for so many steps. */
MD_HD double md_predict_time(double n_steps, double timestep) { return 0.5 * n_steps * timestep; }

/* What share of the way an atom is to go ahead, by the square of all of it and that of half the skin. 0 also for who has no way
 * that is a number: then the place is the present one. In C the names end in _d and _f. */
#ifdef __cplusplus
#define MD_PREDICT_NAME(suffix) md_predict_scale
#else
#define MD_PREDICT_NAME(suffix) md_predict_scale##suffix
#endif
MD_HD double MD_PREDICT_NAME(_d)(double way_sq, double half_skin_sq) {
    const double most_sq = MD_PREDICT_SHARE * MD_PREDICT_SHARE * half_skin_sq;
    return way_sq <= most_sq ? 1 : way_sq < 1e30 ? sqrt(most_sq / way_sq) : 0;
}
MD_HD float MD_PREDICT_NAME(_f)(float way_sq, float half_skin_sq) {
    const float most_sq = (float)(MD_PREDICT_SHARE * MD_PREDICT_SHARE) * half_skin_sq;
    return way_sq <= most_sq ? 1 : way_sq < 1e30f ? sqrtf(most_sq / way_sq) : 0;
}

#endif
