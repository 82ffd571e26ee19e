#include "system/lattice.h"

#include <stddef.h>

#include "deck/choices.h"

/* The hexagonal lattice in the rectangular cell of two atoms, a times a sqrt(3). */
static const MdLattice lattices[] = {
    {MD_START_SQUARE, 2, {1, 1, 0}, 1, {{0, 0, 0}}},
    {MD_START_HEXAGONAL, 2, {1, 1.7320508075688772, 0}, 2, {{0, 0, 0}, {0.5, 0.5, 0}}},
    {MD_START_SC, 3, {1, 1, 1}, 1, {{0, 0, 0}}},
    {MD_START_BCC, 3, {1, 1, 1}, 2, {{0, 0, 0}, {0.5, 0.5, 0.5}}},
    {MD_START_FCC, 3, {1, 1, 1}, 4, {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}}},
};

const MdLattice *md_lattice_find(int start) {
    for (size_t k = 0; k < sizeof lattices / sizeof *lattices; k++)
        if (lattices[k].start == start) return &lattices[k];
    return NULL;
}

double md_lattice_constant(const MdLattice *lattice, double density) {
    double unit_volume = 1; /* of a cell with lattice constant 1 */
    for (int a = 0; a < lattice->dimension; a++) unit_volume *= lattice->edge[a];
    return pow(lattice->n_basis / (density * unit_volume), 1.0 / lattice->dimension);
}

void md_lattice_fill(const MdLattice *lattice, const int64_t cells[3], double constant, int64_t first, int64_t n,
                     double *position) {
    const int64_t cell = first / lattice->n_basis;
    int64_t at[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / cells[0] / cells[1]};
    int b = (int)(first % lattice->n_basis);
    for (int64_t i = 0; i < n; i++) {
        for (int a = 0; a < 3; a++) *position++ = ((double)at[a] + lattice->basis[b][a]) * lattice->edge[a] * constant;
        if (++b < lattice->n_basis) continue;
        b = 0;
        for (int a = 0; a < 3 && ++at[a] == cells[a] && a < 2; a++) at[a] = 0;
    }
}
