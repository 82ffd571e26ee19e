/* The parameters of all type pairs. Internal to src/system; the public form is in system.h. */
#ifndef MD_SYSTEM_POTENTIAL_H
#define MD_SYSTEM_POTENTIAL_H

#include "system/problem.h"
#include "system/system.h"

/* For n_types types, which a coordinate file may have set instead of the deck. */
MdStatus md_potential_make(const MdProblems *problems, int n_types, MdPotential *potential);

#endif
