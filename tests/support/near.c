#include "near.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Cells at least one reach wide, and no more of them than some per atom: an atom far out in the open makes wide ones. */
static void divide(Near *near, const MdSystem *system, double reach) {
    const int64_t most = (int64_t)ceil(2 * pow((double)system->n_atoms, 1.0 / system->box.dimension));
    for (int a = 0; a < 3; a++) {
        double low = 0, high = system->box.length[a];
        near->periodic[a] = system->box.periodic[a];
        for (int64_t i = 0; !near->periodic[a] && i < system->n_atoms; i++) {
            low = i ? fmin(low, near->position[3 * i + a]) : near->position[a];
            high = i ? fmax(high, near->position[3 * i + a]) : near->position[a];
        }
        const double fit = floor((high - low) / (reach * (1 + 1e-9))); /* the rounding of a place over a width */
        near->n[a] = a >= system->box.dimension || !(fit >= 1) ? 1 : fit < (double)most ? (int64_t)fit : most;
        near->low[a] = low;
        near->per_length[a] = high > low ? (double)near->n[a] / (high - low) : 0;
    }
}

static void place(const Near *near, int64_t i, int64_t cell[3]) {
    for (int a = 0; a < 3; a++) {
        const int64_t c = (int64_t)floor((near->position[3 * i + a] - near->low[a]) * near->per_length[a]);
        cell[a] = c < 0 ? 0 : c >= near->n[a] ? near->n[a] - 1 : c;
    }
}

static int64_t number(const Near *near, const int64_t cell[3]) {
    return (cell[2] * near->n[1] + cell[1]) * near->n[0] + cell[0];
}

Near near_make(const MdSystem *system, const double *position, double reach) {
    Near near = {.position = position};
    const int64_t n = system->n_atoms;
    int64_t cell[3];
    divide(&near, system, reach);
    const size_t n_cells = (size_t)(near.n[0] * near.n[1] * near.n[2]);
    near.start = md_alloc(n_cells + 2, sizeof *near.start, "cells of a test");
    near.atom = md_alloc((size_t)n, sizeof *near.atom, "cells of a test");
    near.found = md_alloc((size_t)n, sizeof *near.found, "cells of a test");
    memset(near.start, 0, (n_cells + 2) * sizeof *near.start);
    /* Counted two places up, so that filling in moves each start up to where it belongs. */
    for (int64_t i = 0; i < n; i++) place(&near, i, cell), near.start[number(&near, cell) + 2]++;
    for (size_t c = 2; c < n_cells + 2; c++) near.start[c] += near.start[c - 1];
    for (int64_t i = 0; i < n; i++) place(&near, i, cell), near.atom[near.start[number(&near, cell) + 1]++] = i;
    return near;
}

void near_free(Near *near) { md_free(near->start), md_free(near->atom), md_free(near->found); }

/* The cells along an axis that can hold partners, each once. Returns how many. */
static int around(const Near *near, int axis, int64_t cell, int64_t cells[3]) {
    int n = 0;
    for (int64_t c = cell - 1; c <= cell + 1; c++) {
        const bool outside = c < 0 || c >= near->n[axis];
        if (outside && (!near->periodic[axis] || near->n[axis] < 3)) continue;
        cells[n++] = (c + near->n[axis]) % near->n[axis];
    }
    return n;
}

int64_t near_find(Near *near, int64_t i) {
    int64_t cell[3], cells[3][3], n = 0;
    int n_cells[3];
    place(near, i, cell);
    for (int a = 0; a < 3; a++) n_cells[a] = around(near, a, cell[a], cells[a]);
    for (int z = 0; z < n_cells[2]; z++)
        for (int y = 0; y < n_cells[1]; y++)
            for (int x = 0; x < n_cells[0]; x++) {
                const int64_t at[3] = {cells[0][x], cells[1][y], cells[2][z]}, c = number(near, at);
                const int64_t n_here = near->start[c + 1] - near->start[c];
                memcpy(near->found + n, near->atom + near->start[c], (size_t)n_here * sizeof *near->found);
                n += n_here;
            }
    return n;
}
