/* Lattices: the unit cells of options system.start, system.cells and system.density. */
#ifndef MD_SYSTEM_LATTICE_H
#define MD_SYSTEM_LATTICE_H

#include <stdint.h>

#include "physics/box.h"

/* A unit cell: edges in units of the lattice constant, atoms as shares of the edges. */
typedef struct MdLattice {
    int start; /* MD_START_FCC, ... */
    int dimension;
    double edge[3];
    int n_basis;
    double basis[4][3];
} MdLattice;

/* NULL when start is no lattice. */
const MdLattice *md_lattice_find(int start);

/* Lattice constant at a density (particles per area or volume), sigma. */
double md_lattice_constant(const MdLattice *lattice, double density);

/* Atoms in ids order: cell by cell, x fastest, and within a cell in the order of the basis; the first atom of a cell is
 * at its corner. Fills position [n][3] with the atoms first .. first + n - 1. */
void md_lattice_fill(const MdLattice *lattice, const int64_t cells[3], double constant, int64_t first, int64_t n,
                     double *position);

#endif
