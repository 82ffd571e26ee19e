/* Quantities that an analysis samples while the run goes: sums over the atoms of each type. */
#ifndef MD_PHYSICS_OBSERVE_H
#define MD_PHYSICS_OBSERVE_H

#include "physics/split_sum.h"

/* By number, and as bits: the square of the displacement from the origin of the atom, and the product of its velocity with that at
 * the origin. */
enum { MD_OBSERVE_DISPLACEMENT, MD_OBSERVE_VELOCITY, MD_OBSERVE_N };

/* Terms are 2^20 on average at most: a displacement of a thousand sigma. Sums are always in parts of whole quanta, so that atomics and
 * ranks add them in any order. */
#define MD_OBSERVE_SIZE 20

/* The coordinate without the jumps at the boundary. In double: `position` may have fewer digits than the way through many boxes. */
MD_HD double md_unwrapped(double position, int image, double length) { return position + (double)image * length; }

#endif
