/* How a box is divided into bricks of cells: shape.c makes room for them, choices.c chooses among them. */
#ifndef MD_CUDA_BRICK_DIVISION_H
#define MD_CUDA_BRICK_DIVISION_H

#include "deck/deck.h"
#include "cuda/context/shared.h"
#include "physics/box.h"

/* memory.brick_cells as a number: [value of the switch]. */
extern const int cuda_brick_cells[];

/* memory.brick_grid = device, device-2: bricks for each multiprocessor; cells: 0. */
static inline int cuda_bricks_on_each(int brick_grid) { return brick_grid; }
_Static_assert(MD_BRICK_GRID_CELLS == 0 && MD_BRICK_GRID_DEVICE == 1 && MD_BRICK_GRID_DEVICE_2 == 2,
               "kernels take the value to be bricks for each multiprocessor, too");

/* Cells of an axis that long, for a list of that range, while they are not too many in all. */
double cuda_cells_along(double extent, double range);

/* How a box is divided along each axis: bricks, and the cells that these share out among them, as evenly as can be. */
typedef struct CudaDivision {
    int dimension;
    double length[3], cells[3], bricks[3];
} CudaDivision;

double cuda_division_bricks(const CudaDivision *division);
/* In a uniform system: atoms of the largest brick, those of the cells around it with it (as several images where the box is
 * small), and those of them that its block stages. */
double cuda_division_largest(const CudaDivision *division, int64_t n_atoms);
double cuda_division_candidates(const CudaDivision *division, int64_t n_atoms);
double cuda_division_staged(const CudaDivision *division, int64_t n_atoms, double range);
/* How long a block takes for its brick, in units of the time for the atoms of a unit of its volume. */
double cuda_division_time(const CudaDivision *division, double range);
/* memory.brick_grid = cells: as many cells as the box has room for, in bricks of so many along each edge. */
CudaDivision cuda_divide_by_cells(const double length[3], int dimension, double range, int cells);
/* device, device-2: no more bricks than so many. */
CudaDivision cuda_divide_by_device(const double length[3], int dimension, double range, int cells, int most_bricks);
/* As config has it, of which nothing is auto any more. */
CudaDivision cuda_divide(const MdConfig *config, const MdBox *box, double range, int n_sms);

/* Atoms for which a brick of so many is to have threads. */
double cuda_brick_likely_rows(double rows, int threads_per_atom);
/* Room for so many staged atoms and some more, and no more than most. */
int32_t cuda_brick_room_for(double staged, int32_t most);
/* Room for the staged atoms of a block, until their number is known. */
int32_t cuda_division_room(const CudaDivision *division, int64_t n_atoms, double range);
/* Whether a block can look into so many cells along each edge, and those around. */
bool cuda_brick_cells_fit(int cells, int dimension);

#endif
