/* The potential of a system: the pairs of all types, and of a many-body form the densities and what they give.
 *
 * A form with MD_FORM_EMBEDS has the energy
 *   E = sum over pairs phi(r) + sum over atoms F(rho_i),   rho_i = sum over neighbours j of g(r_ij),
 * phi and g of the form's file with numbers of their own, each truncated by potential.shift, or all three from a potential file: the
 * embedded-atom method (Daw, Baskes, Phys. Rev. B 29, 6443 (1984)). With F = -strength sqrt(rho) (Finnis,
 * Sinclair, Phil. Mag. A 50, 45 (1984)) and powers for phi and g it is that of Sutton and Chen, Phil. Mag. Lett. 61, 139 (1990). The force on
 * atom i from j is that of a pair potential with U' = phi' + F'(rho_i) g_ij' + F'(rho_j) g_ji'. Of an alloy from a file g_ij, the density
 * that j makes at i, differs from g_ji.
 *
 * What messages and limits need to know of a pair (its contact, its well) is then that of the effective pair, phi + F'(rho_i) g_ij + F'(rho_j) g_ji at
 * the density of an even crystal: it has the same forces near that density. */
#ifndef MD_PHYSICS_POTENTIAL_H
#define MD_PHYSICS_POTENTIAL_H

#include <stdint.h>

#include "physics/form.h"
#include "physics/spline.h"

/* The functions of a potential file; entry [a * n_types + b]. Those of r have their points at the same r. */
typedef struct MdTables {
    MdSpline pair[MD_MAX_TYPES * MD_MAX_TYPES];    /* r phi(r) */
    MdSpline density[MD_MAX_TYPES * MD_MAX_TYPES]; /* g, that an atom of b makes at an atom of a */
    MdSpline embedding[MD_MAX_TYPES];              /* F */
    double mass[MD_MAX_TYPES];
    char element[MD_MAX_TYPES][32];
    char *note;        /* what the log says of the file */
    uint64_t checksum; /* of all functions */
} MdTables;

/* Parameters of every type pair; entry [a * n_types + b]. */
typedef struct MdPotential {
    int n_types;
    int shift; /* MD_SHIFT_... */
    const MdForm *form;
    MdPair_d pair[MD_MAX_TYPES * MD_MAX_TYPES];
    double cutoff_max; /* over all pairs, sigma */
    /* Of a form with MD_FORM_EMBEDS: g, that an atom of b makes at an atom of a; of F by type; of the effective pair F'(rho) of a. */
    MdPair_d density[MD_MAX_TYPES * MD_MAX_TYPES];
    double strength[MD_MAX_TYPES], slope[MD_MAX_TYPES * MD_MAX_TYPES];
    MdTables *tables; /* NULL: phi, g and F are formulas. Copies of the potential share them */
} MdPotential;

bool md_potential_embeds(const MdPotential *potential);
/* The pair of the same types the other way round. */
int md_potential_turned(const MdPotential *potential, int k);

/* Of pair k as it is truncated: energy, and force over distance, positive when repulsive, at a squared distance below that of the cutoff;
 * of its density g and -g'/r. */
double md_potential_energy_at(const MdPotential *potential, int k, double r_sq);
double md_potential_force_at(const MdPotential *potential, int k, double r_sq);
double md_potential_density_at(const MdPotential *potential, int k, double r_sq);
double md_potential_density_force_at(const MdPotential *potential, int k, double r_sq);
/* phi and g with their derivatives and the sizes of their terms. */
MdShape md_potential_pair_shape(const MdPotential *potential, int k, double r);
MdShape md_potential_density_shape(const MdPotential *potential, int k, double r);

/* F, F' and F'' at a density; 0 where there is none: no pair is near then. */
typedef struct MdEmbedding {
    double u, du, ddu;
} MdEmbedding;
MdEmbedding md_potential_embedding(const MdPotential *potential, int type, double rho);

/* Fills slope; number_density: atoms per volume. */
void md_potential_set_slopes(MdPotential *potential, int dimension, double number_density);

/* Of pair k, or of its effective pair, U and its derivatives without shift. */
MdShape md_potential_shape(const MdPotential *potential, int k, double r);
/* The distance at which U, seen from large distances, first reaches an energy: as near as two particles come with that energy. U is
 * taken without its cutoff. INFINITY: it is above that energy up to 1,000 cutoffs. */
double md_potential_reach(const MdPotential *potential, int k, double energy);
/* The distance where U is zero, and the depth of the well: sigma and epsilon of Lennard-Jones. Without a well half of the cutoff, and
 * U there. */
double md_potential_contact(const MdPotential *potential, int k);
double md_potential_scale(const MdPotential *potential, int k);
/* The force with which it ends at the cutoff, as potential.shift truncates it. */
double md_potential_edge_force(const MdPotential *potential, int k);

#endif
