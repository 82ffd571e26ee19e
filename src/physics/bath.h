/* Thermostats: their arguments and results.
 *
 * A bath is a row of baths.def and a file in baths/ with one function, md_bath_<file>. There are two kinds:
 *   without MD_BATH_BY_ATOM  it is called every ensemble.every steps, and returns the new kinetic energy, and the factor of all
 *                            velocities (integrate/thermostat.c);
 *   with MD_BATH_BY_ATOM     it is called once, and returns how each atom is changed in each step (bath_atoms.h).
 * Random numbers follow from key and step, so that a run that is resumed, or has more ranks, draws the same. A bath with
 * MD_BATH_HAS_CHAIN has a state, which is in restart files and the same on all ranks; the others have none. What
 * rank 0 gets counts for all: the C libraries of two hosts differ in the last bit of an exponential. */
#ifndef MD_PHYSICS_BATH_H
#define MD_PHYSICS_BATH_H

#include <stdint.h>

#include "physics/baths.def"

enum { MD_BATH_STATE = 16 };

typedef struct MdBathCall {
    /* Time since it acted last over the relaxation time of the kinetic energy; NaN without MD_BATH_RELAXES. */
    double elapsed;
    /* Without MD_BATH_BY_ATOM: */
    double kinetic;     /* energy of the motion without that of the whole, epsilon: above 0 */
    double temperature; /* the target, epsilon/k */
    double target;      /* mean kinetic energy there, degrees k T / 2 */
    double degrees;     /* of freedom: 2 at least */
    uint64_t key, step; /* of random numbers */
    /* MD_BATH_HAS_CHAIN, with temperature above 0: */
    int chain;     /* its length */
    double *state; /* [MD_BATH_STATE], first 0; the call makes that after the action of it */
} MdBathCall;

/* MD_BATH_HAS_CHAIN: the share of the kinetic energy that an action may take from what is conserved, by its finite steps. */
static const double md_bath_chain_lost = 1e-8;

/* What a run must know of its thermostat to go on. */
typedef struct MdBathSaved {
    double heat; /* energy put in so far, epsilon, all particles */
    double state[MD_BATH_STATE];
} MdBathSaved;

typedef struct MdBathChange {
    /* Without MD_BATH_BY_ATOM: */
    double kinetic; /* energy afterwards */
    double factor;  /* of the velocities: its square is the ratio of the energies */
    double heat;    /* MD_BATH_HAS_CHAIN: energy that the chain has lost, epsilon */
    /* MD_BATH_BY_ATOM: the probability of an atom to be changed in a step, 1 for langevin, less for collisions (Andersen, as
     * tests/run/test_added.py adds it); then v becomes keep v + sqrt(drawn k T / m) times a normal number in each direction.
     * drawn = 1 - keep^2: this leaves the canonical distribution as it is. */
    double share, keep, drawn;
} MdBathChange;

typedef MdBathChange MdBath(const MdBathCall *call);

#define MD_DECLARE_BATH(name, word, file, ...) MdBath md_bath_##file;
MD_BATHS(MD_DECLARE_BATH)
#undef MD_DECLARE_BATH

/* Of MD_THERMOSTAT_..., of which the first is none. */
typedef struct MdBathRow {
    MdBath *bath; /* NULL: none */
    int traits;
} MdBathRow;

static inline MdBathRow md_bath_row(int thermostat) {
#define MD_BATH_ROW(name, word, file, traits, help) {md_bath_##file, traits},
    const MdBathRow rows[] = {{0, 0}, MD_BATHS(MD_BATH_ROW)};
#undef MD_BATH_ROW
    return rows[thermostat];
}

/* Traits alone, for code that is linked without the baths. */
static inline int md_bath_traits(int thermostat) {
#define MD_BATH_TRAITS(name, word, file, traits, help) traits,
    const int all[] = {0, MD_BATHS(MD_BATH_TRAITS)};
#undef MD_BATH_TRAITS
    return all[thermostat];
}

#endif
