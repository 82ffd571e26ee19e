/* The parameters of all type pairs. Internal to src/system; the public form is in system.h. */
#ifndef MD_SYSTEM_POTENTIAL_H
#define MD_SYSTEM_POTENTIAL_H

#include "system/problem.h"
#include "system/system.h"

/* For n_types types, which a coordinate file may have set instead of the deck. names: of the types, of a file; NULL: there are none. */
MdStatus md_potential_make(const MdProblems *problems, int n_types, const char (*names)[MD_TYPE_NAME_SIZE],
                           MdPotential *potential);

/* potential_file.c: the same of a form whose functions are those of potential.file. */
MdStatus md_potential_read(const MdProblems *problems, const char (*names)[MD_TYPE_NAME_SIZE], MdPotential *potential);

#endif
