#include "backend/state.h"

#include <string.h>

enum { BLOCK_ROWS = 4096 };

MdStatus md_state_array(MdState *state, const char *name, void *data, uint64_t row_bytes, int64_t n) {
    MdStatus status = state->begin(state, name, row_bytes, n);
    return status == MD_OK ? state->move(state, data, row_bytes * (uint64_t)n) : status;
}

MdStatus md_state_common(MdState *state, const char *name, void *data, uint64_t bytes) {
    MdStatus status = state->begin(state, name, bytes, MD_STATE_COMMON);
    return status == MD_OK ? state->move(state, data, bytes) : status;
}

/* size is a constant where this is called, so that the copies become moves. */
static inline void copy_block(void *const *arrays, int components, int64_t first, int64_t n, size_t size, char *block,
                              bool loading) {
    for (int axis = 0; axis < components; axis++) {
        char *entry = (char *)arrays[axis] + (size_t)first * size, *row = block + (size_t)axis * size;
        for (int64_t i = 0; i < n; i++, row += (size_t)components * size, entry += size) {
            if (loading) memcpy(entry, row, size);
            else memcpy(row, entry, size);
        }
    }
}

MdStatus md_state_arrays(MdState *state, const char *name, void *const *arrays, int components, int64_t n,
                         size_t size) {
    char block[BLOCK_ROWS * 3 * sizeof(double)];
    const uint64_t row = (uint64_t)components * size;
    MdStatus status = state->begin(state, name, row, n);
    for (int64_t first = 0; status == MD_OK && first < n; first += BLOCK_ROWS) {
        const int64_t rows = n - first < BLOCK_ROWS ? n - first : BLOCK_ROWS;
        for (int pass = 0; pass < 2 && status == MD_OK; pass++) { /* out: copy, move; in: move, copy */
            if ((pass == 0) == state->loading) status = state->move(state, block, (uint64_t)rows * row);
            else if (size == 8) copy_block(arrays, components, first, rows, 8, block, state->loading);
            else copy_block(arrays, components, first, rows, 4, block, state->loading);
        }
    }
    return status;
}

MdStatus md_state_rows(MdState *state, const char *name, double *rows, int64_t n, size_t size) {
    if (size == sizeof(double)) return md_state_array(state, name, rows, 3 * size, n);
    float block[BLOCK_ROWS * 3];
    MdStatus status = state->begin(state, name, 3 * size, n);
    for (int64_t first = 0; status == MD_OK && first < 3 * n; first += 3 * BLOCK_ROWS) {
        const int64_t count = 3 * n - first < 3 * BLOCK_ROWS ? 3 * n - first : 3 * BLOCK_ROWS;
        for (int64_t k = 0; k < count && !state->loading; k++) block[k] = (float)rows[first + k];
        status = state->move(state, block, (uint64_t)count * size);
        for (int64_t k = 0; k < count && state->loading; k++) rows[first + k] = (double)block[k];
    }
    return status;
}
