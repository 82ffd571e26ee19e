/* States for tests: disordered and uneven on purpose, so that a wrong list or kernel shows. */
#ifndef MD_TESTS_STATE_H
#define MD_TESTS_STATE_H

#include "backend/backend.h"

/* A deck from `section.key=value` words (NULL ends the list); stops the test when it cannot be read. */
MdDeck *state_deck(const char *const *words);

/* The system that a deck describes; stops the test when it cannot be made. */
MdSystem *state_system(const MdDeck *deck);

/* A square or simple cubic lattice of n_atoms or somewhat more, its axes of different length, whose atoms were shaken by
 * up to `shake` of the spacing along each axis. One seventh of the atoms next to a lower face of the box lie exactly on
 * it (0) or on the last number below the upper one; when uneven, the upper half of the last axis has lost two thirds
 * of its atoms. No axis is shorter than 2 (cutoff + skin): for few atoms it has just that length, the smallest legal
 * one, and there are more atoms. Types differ in mass, depth, size and cutoff, type 0 has the cutoff of the shape. */
typedef struct StateShape {
    int dimension;
    int64_t n_atoms; /* at least */
    double density, shake, cutoff, skin;
    bool periodic[3], uneven;
    int n_types;
    int shift;
    uint64_t seed;
} StateShape;
MdSystem *state_shaken(const StateShape *shape);

/* What a plan of this system would say. */
MdSystemPlan state_plan(const MdSystem *system);

/* A configuration with every default, for use with a system made by state_shaken; the caller changes fields. */
MdConfig state_config(void);

#endif
