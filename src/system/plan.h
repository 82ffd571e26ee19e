/* The complete plan of a system, checked by md_system_plan and used by md_system_create. Internal to src/system. */
#ifndef MD_SYSTEM_PLAN_H
#define MD_SYSTEM_PLAN_H

#include "system/coordinates.h"
#include "system/lattice.h"
#include "system/problem.h"
#include "system/system.h"

typedef struct MdLayout {
    MdSystemPlan plan;
    const MdLattice *lattice; /* NULL: not a lattice */
    int64_t cells[3];
    double constant; /* of the lattice, sigma */
    double mass[MD_MAX_TYPES];
    double fraction[MD_MAX_TYPES];
} MdLayout;

/* coordinates receives the atoms of the file, wrapped into the box, when start = file, else NULL. */
MdStatus md_layout_make(const MdDeck *deck, const struct MdRandomSource *random, MdLayout *layout,
                        MdCoordinates **coordinates, MdErrors *errors);

#endif
