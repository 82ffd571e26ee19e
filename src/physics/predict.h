/* neighbor.predict = velocity: a list of where atoms will be, midway to the next one.
 *
 * Give each atom a list position, and list all pairs of list positions within cutoff + skin. The list has every pair within the cutoff
 * as long as no atom is further than half the skin from its list position. The atoms need not have been at these
 * positions. (Verlet, Phys. Rev. 159, 98 (1967), takes the positions when the list was made, as is usual.) List positions
 * ahead of the atoms let them approach, and then go as far beyond: the list lasts twice as long if atoms fly straight on,
 * and 1.5 times as long in a liquid, where they turn.
 *
 * The list position is the present position plus the present velocity times half of the interval; the interval is assumed to be
 * as long as the last one. If it is not, or the velocity changes, the list is still correct, because the distance of atoms from
 * their list positions is checked: it only ends sooner. One condition must hold from the start: no list position is further
 * from its atom than half the skin. The limit is MD_PREDICT_SHARE of it, which leaves the atom some steps in any direction. */
#ifndef MD_PHYSICS_PREDICT_H
#define MD_PHYSICS_PREDICT_H

#include "physics/real.h"

#define MD_PREDICT_SHARE 0.9

/* How far ahead list positions are, in time, if the last list was in use for so many steps. */
MD_HD double md_predict_time(double n_steps, double timestep) { return 0.5 * n_steps * timestep; }

/* The share of its predicted displacement by which a list position is ahead, from the squares of that displacement and of half the
 * skin. 0 if the displacement is no number: then the list position is the present one. In C the names end in _d and _f. */
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
