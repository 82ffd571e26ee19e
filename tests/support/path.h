/* The way of each atom over some steps by the reference: velocity Verlet in double precision with the judge's forces; and
 * how far a backend may end from it. */
#ifndef MD_TESTS_PATH_H
#define MD_TESTS_PATH_H

#include "backend/heat_bath.h"
#include "judge.h"

typedef struct Path {
    const MdSystem *system;
    double dt;
    int n_steps;
    double *position, *velocity; /* [n_atoms][3] at the end; positions are not wrapped */
    double growth[2];            /* of an error in the places: how large it is in the end, in places, in velocities */
    double jump;                 /* of a force, when a pair crosses the cutoff */
    double moved;                /* the longest way along one axis */
    double heat, heat_size;      /* of a thermostat on each atom; and the sum of its sizes, of each atom in each step */
} Path;

/* From the places of the system, with its velocities times `factor`. bath: with noise in this precision; NULL: none. */
Path path_follow(const MdSystem *system, double factor, double dt, int n_steps, const MdBathAtoms *bath, int precision);
void path_free(Path *path);

/* Checks places (images included) and velocities of a backend at the end. `start` judges the forces at the begin of the way
 * for the configuration of the backend. */
bool path_check(const Path *path, const Judge *start, const MdConfig *config, const Gathered *gathered);

#endif
