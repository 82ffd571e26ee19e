/* Compares a backend with the reference at the places where the backend's particles are. */
#ifndef MD_TESTS_JUDGE_H
#define MD_TESTS_JUDGE_H

#include "tolerance.h"
#include "walk.h"

/* What the reference says of one state, and how far a backend of this configuration may be from it. */
typedef struct Judge {
    const MdSystem *system;
    double *force; /* [n_atoms][3] */
    MdSums sums;   /* kinetic parts included */
    Tolerance tolerance;
} Judge;

Judge judge_make(const MdSystem *system, const double *position, const double *velocity, const MdConfig *config);
void judge_free(Judge *judge);

/* Number of force components and of sums that are out of tolerance; the first is printed when `tell`. Sums may be NULL.
 * No check is counted: planted faults are judged by it, too. */
int judge_count_faults(const Judge *judge, const double *force, const MdSums *sums, bool tell);

/* What a backend holds, by id, in double precision. Gathering checks the guards round each array. */
typedef struct Gathered {
    double *position, *velocity, *force; /* [n_atoms][3] */
    int32_t *image;                      /* [n_atoms][3] */
} Gathered;
bool judge_gather(const WalkRun *run, const MdSystem *system, Gathered *gathered);
void judge_gathered_free(Gathered *gathered);

/* Where neighbor.predict = velocity takes the atoms to be for a list that was made now, when the one before was `age` steps old:
 * on their way by the velocities of the drift that brought them here, for half of that time, but never further than nine
 * tenths of half the skin. Without, where they are. [n_atoms][3], to be freed. */
double *judge_places(const MdSystem *system, const MdConfig *config, const Gathered *now, int64_t age);

/* Checks forces and, if they are fresh, sums of a backend against the reference at the gathered places. */
bool judge_run(const WalkRun *run, const MdSystem *system, bool with_sums);

#endif
