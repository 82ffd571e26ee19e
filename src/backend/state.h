/* The whole state of a backend on its way into a restart file or out of it. The backend names its sections; where they
 * go is not its business. Particles stand in the order of memory, so that a run goes on in the order that it had.
 *
 * These are the columns of physics/columns.def that are saved: positions as they are, not wrapped; velocities of the whole step, so
 * that no half kick is pending. Every backend reads them from any other. Other sections have the data from which a backend makes
 * exactly the same list again.
 *
 * Of several processes each has its rows, which stand in the file in the order of ranks; loading, each gets as many of them
 * as any other, of any owner, and the first list sends the particles to their domains. Saving and loading are
 * then collective: all processes begin the same sections. */
#ifndef MD_BACKEND_STATE_H
#define MD_BACKEND_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "system/columns.h"

typedef struct MdState MdState;
struct MdState {
    bool loading;
    /* loading: the same backend with the same switches has saved this, so that its list can be made again as it was */
    bool same_list;
    int64_t step; /* that the state belongs to */
    /* loading: fixed columns of the rows of this process, with numbers as in MdSystem; NULL for others */
    const void *fixed[MD_N_COLUMNS];
    bool
        begins_anew[MD_N_COLUMNS]; /* loading: the file does not have the column, or an earlier use of it; it is zero */
    const char *path; /* loading: the file, for md_range_check of counts and indices */
    MdErrors *errors;
    /* Begins a section of so many rows of this process, or finds it: an error when it is not there or of another size. n_rows =
     * MD_STATE_COMMON: one row, which is the same in all processes. */
    MdStatus (*begin)(MdState *state, const char *name, uint64_t row_bytes, int64_t n_rows);
    /* The next bytes of it, from data or into data. */
    MdStatus (*move)(MdState *state, void *data, uint64_t bytes);
};

enum { MD_STATE_COMMON = -1 };

/* A section of one array of rows, or of one row that is the same in all processes. */
MdStatus md_state_array(MdState *state, const char *name, void *data, uint64_t row_bytes, int64_t n);
MdStatus md_state_common(MdState *state, const char *name, void *data, uint64_t bytes);

/* A section of n rows of 1 or 3 numbers of `size` bytes, which lie apart: arrays[axis][i]. */
MdStatus md_state_arrays(MdState *state, const char *name, void *const *arrays, int components, int64_t n, size_t size);

/* Rows of three numbers that are double in memory and of `size` bytes (float or double) in the section. */
MdStatus md_state_rows(MdState *state, const char *name, double *rows, int64_t n, size_t size);

#endif
