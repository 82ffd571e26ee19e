/* The states on which every combination of switches is judged: disordered and uneven, 2-D and 3-D, periodic and open,
 * one type and several, the smallest legal box, with atoms on faces. */
#ifndef MD_TESTS_CASES_H
#define MD_TESTS_CASES_H

#include "state.h"

typedef struct Case {
    const char *name;
    StateShape shape;
    int64_t first_atoms; /* only these, if not 0 */
    bool smallest_box;   /* cutoff plus skin is just half of the shortest edge */
    bool has_tensor;     /* analysis.pressure = tensor */
} Case;

extern const Case cases_table[];
extern const int cases_count;

/* The state, with velocities that differ in all components, and the skin that goes with it in config. */
MdSystem *cases_make(const Case *c, MdConfig *config);

#endif
