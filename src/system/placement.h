/* Random placement: particles put in one after another, each at least a distance from all before it (random sequential
 * addition; Widom, J. Chem. Phys. 44, 3888 (1966)). */
#ifndef MD_SYSTEM_PLACEMENT_H
#define MD_SYSTEM_PLACEMENT_H

#include <stdint.h>

#include "base/status.h"
#include "physics/box.h"
#include "system/random.h"

/* Fills position [n_atoms][3], inside the box. Returns how many were placed: fewer than n_atoms if MD_PLACEMENT_TRIES tries of one atom
 * failed. */
int64_t md_placement_fill(const MdBox *box, double min_distance, int64_t n_atoms, MdRandom *random, double *position);

/* Near the densest random packing most tries fail: 10000 of them reach 95 per cent of it and take milliseconds. */
enum { MD_PLACEMENT_TRIES = 10000 };

#endif
