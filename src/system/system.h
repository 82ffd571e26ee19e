/* The particles on the host, in the order of their ids, in double precision: the start of a run, and the input of
 * its verification. During a run the particles live in the backend.
 *
 * With several processes each makes a block of the ids, with the bits that one process makes for them. All of them call functions
 * that are marked collective. */
#ifndef MD_SYSTEM_SYSTEM_H
#define MD_SYSTEM_SYSTEM_H

#include <stdint.h>

#include "base/block.h"
#include "base/status.h"
#include "deck/deck.h"
#include "parallel/comm.h"
#include "physics/box.h"
#include "physics/potential.h"
#include "system/columns.h"
#include "system/random.h"

/* The source of a column's numbers in a system. */
#define MD_SYSTEM_WORD                                                int32_t
#define MD_SYSTEM_STATE                                               double
#define MD_SYSTEM_PAIR                                                double
#define MD_SYSTEM_DOUBLE                                                    double
#define MD_SYSTEM_FIELD(name, number, components, what, traits, cuda, when) MD_SYSTEM_##number *name;

typedef struct MdSystem {
    int64_t n_atoms;      /* of all processes */
    int64_t first, n_own; /* ids of the rows of the arrays: first .. first + n_own - 1; one process: 0, n_atoms */
    MdComm *comm;         /* of these processes; NULL: one */
    MdBox box;
    MdPotential potential;
    double mass[MD_MAX_TYPES]; /* of each type */
    MdRandomCost random;       /* of md_system_create */
    /* Columns of physics/columns.def, rows in the order of ids. position: double [n_own][3], sigma; in [0, length) along periodic axes.
     * velocity: double [n_own][3], sigma/tau. image: int32_t [n_own][3]; unwrapped position = position + image * length. type: int32_t
     * [n_own], 0 .. n_types - 1. */
    MD_SYSTEM_COLUMNS(MD_SYSTEM_FIELD)
} MdSystem;

/* A column that the system has, and the bytes of a row of it. */
void *md_system_column(const MdSystem *system, int column);
size_t md_system_column_bytes(int column);

/* Names of types: the symbols of an XYZ file, Ar, Kr, ... otherwise. */
enum { MD_TYPE_NAME_SIZE = 32 };

/* The system of a configuration, known before anything large is allocated. */
typedef struct MdSystemPlan {
    int64_t n_atoms;
    MdComm *comm; /* of the processes that have parts of it; NULL: one has all. The caller sets it */
    MdBox box;
    MdPotential potential;
    char type_name[MD_MAX_TYPES][MD_TYPE_NAME_SIZE];
    double density; /* particles per (bounding) volume, for estimates */
    /* Of the start: the largest coordinate or periodic edge; along an open axis, from atom to atom. */
    double extent, spread;
    /* Thermal speed of the heaviest type along an axis, sigma/tau; 0: at rest, or not known (a resumed run). */
    double slowest;
    int alike[2];                        /* two types that nothing tells apart; twice the same: there are none */
    const struct MdRandomSource *random; /* of positions, types and velocities; NULL: our own Philox */
    bool file_velocities;                /* the coordinate file brings velocities, and system.temperature leaves them */
    /* The remedy for a file whose atoms have one coordinate along that axis: two dimensions; NULL: not such a file. */
    const char *flat[3];
    char *file_note; /* parts of the coordinate file that are interpreted specially, or ignored; from malloc, or NULL */
} MdSystemPlan;

/* Checks everything that the configuration says of the system, reading a coordinate file once if there is one, and
 * fills plan. random: where random numbers come from, see there. Problems (contradictions, a box smaller than twice cutoff plus skin along a periodic axis, bad rows, two
 * atoms at one point) go to errors, with the origin of the key from deck. */
MdStatus md_system_plan(const MdDeck *deck, const struct MdRandomSource *random, MdSystemPlan *plan, MdErrors *errors);
/* Frees the members of a plan. */
void md_system_plan_free(MdSystemPlan *plan);

/* Whether nearest images are unique within cutoff and skin; for a skin that the deck leaves to the backend
 * (neighbor.skin = auto), of which md_system_plan knows nothing yet. */
MdStatus md_system_check_range(const MdDeck *deck, const MdSystemPlan *plan, double skin, MdErrors *errors);

/* Positions, types and velocities of the ids of this process, as planned. Collective. NULL, with the problem in errors, when random
 * placement finds no room or the file has changed, in any process. */
MdSystem *md_system_create(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors);
/* Allocates the planned particles; the caller fills positions, velocities, types. */
MdSystem *md_system_allocate(const MdSystemPlan *plan, const double mass[MD_MAX_TYPES]);
void md_system_destroy(MdSystem *system);

/* Tail corrections of energy per atom and pressure: of a uniform fluid beyond the cutoffs of all pairs of types. NaN where an axis is
 * open. Collective. */
MdTail md_system_tail(const MdSystem *system);

/* Gathers the rows [n_own] of all processes to [n_atoms] on rank 0: from md_alloc; NULL elsewhere. Collective. */
void *md_system_collect(const MdSystem *system, const void *own, size_t row_bytes);

/* Bytes of host memory that the particles of this process take. While they are made, each process also holds for a moment, of
 * all particles: the positions of start = random (24 bytes, with several processes, and 16 to 20 of its search), the rows of
 * start = file (28 and more), and one byte of each where types are shuffled. */
static inline uint64_t md_system_bytes(const MdSystemPlan *plan) {
#define MD_SYSTEM_BYTES(name, number, components, what, traits, cuda, when) +(components) * sizeof(MD_SYSTEM_##number)
    return (uint64_t)md_comm_block_size(plan->comm, plan->n_atoms) * (0 MD_SYSTEM_COLUMNS(MD_SYSTEM_BYTES));
#undef MD_SYSTEM_BYTES
}

/* Parameters of all type pairs from the options of section potential, with the mixing rule, for so many types. */
/* names: of the types, elements of a potential file; NULL: not known. */
MdStatus md_potential_from_config(const MdDeck *deck, int n_types, const char (*names)[MD_TYPE_NAME_SIZE],
                                  MdPotential *potential, MdErrors *errors);
void md_potential_free(MdPotential *potential);

#endif
