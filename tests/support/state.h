/* States for tests: disordered and uneven on purpose, so that a wrong list or kernel shows. */
#ifndef MD_TESTS_STATE_H
#define MD_TESTS_STATE_H

#include "backend/backend.h"

/* A deck from `section.key=value` words (NULL ends the list); stops the test when it cannot be read. */
MdDeck *state_deck(const char *const *words);

/* The system that a deck describes; stops the test when it cannot be made. */
MdSystem *state_system(const MdDeck *deck);

/* A lattice of about n atoms in dimension 2 or 3 whose atoms were shaken by up to `shake` of the spacing, with every
 * seventh atom exactly on a face of the box and, when uneven, one half of the box emptied of two thirds of its atoms. */
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

/* A configuration with every default, for use with a system made by state_shaken; the caller changes fields. */
MdConfig state_config(void);

#endif
