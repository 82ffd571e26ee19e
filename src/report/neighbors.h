/* report.neighbors: the first neighbour list as text, as tutorials do to check a list and to draw bonds. */
#ifndef MD_REPORT_NEIGHBORS_H
#define MD_REPORT_NEIGHBORS_H

#include "backend/backend.h"

/* One line for each atom, `i count j1 j2 ...`: ids from 0, rows sorted, the plain cutoff of each pair of types (no
 * skin), after two comment lines. Taken from the backend's own list at the positions of system. MD_ERROR_OUTPUT when the
 * file cannot be written. */
MdStatus md_neighbors_write(const char *path, const MdBackendOps *ops, void *context, const MdSystem *system,
                            MdErrors *errors);

#endif
