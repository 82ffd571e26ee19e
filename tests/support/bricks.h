/* Bricks as tests have them: systems, and what is in the context of the cuda backend after a build. */
#ifndef MD_TEST_BRICKS_H
#define MD_TEST_BRICKS_H

#ifdef MDMINI_HAVE_CUDA
#include "cuda/stages/stages.h"
#include "walk.h"

/* A cube of edge^3 atoms at this spacing, somewhat shaken, in the corner of a periodic box. */
MdSystem *bricks_crowd(int edge, double spacing, double box);
/* memory.brick_grid = cells. */
MdConfig bricks_config(int cells, int distances);
/* Rows against all pairs, at the places of the list; false: there are no rows. */
bool bricks_check_list(const WalkRun *run, const MdSystem *system);
/* The same, and what bricks stage against what is in range of them, and the numbers by which they stage images. */
bool bricks_check_rows(const WalkRun *run, const MdSystem *system);
/* Into how many turns conflicts of banks split the reads of eight threads that are served at once, of rows side by side, a thread a
 * row; on the average (atoms of 16 bytes). */
double bricks_read_turns(CudaContext *context);
/* Moves the atoms of the system to where the last list took them to be (vec4, mixed precision). Returns the longest way. */
double bricks_move_to_places(CudaContext *context, MdSystem *system);
#endif

#endif
