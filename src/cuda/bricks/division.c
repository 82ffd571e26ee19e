#include "cuda/bricks/division.h"

#include <math.h>

double cuda_cells_along(double extent, double range) {
    const double edge = range * (1 + 1e-6); /* rounding must not part neighbours by two cells */
    return fmin(fmax(floor(extent / edge), 1), 1e6);
}

const int cuda_brick_cells[] = {[MD_BRICK_CELLS_1] = 1, [MD_BRICK_CELLS_2] = 2, [MD_BRICK_CELLS_3] = 3,
                                [MD_BRICK_CELLS_4] = 4, [MD_BRICK_CELLS_6] = 6, [MD_BRICK_CELLS_8] = 8};

/* Edges of the largest brick. */
static void largest_edges(const CudaDivision *division, double edges[3]) {
    for (int a = 0; a < 3; a++)
        edges[a] = a < division->dimension
                       ? ceil(division->cells[a] / division->bricks[a]) * division->length[a] / division->cells[a]
                       : 0;
}

double cuda_division_bricks(const CudaDivision *division) {
    return division->bricks[0] * division->bricks[1] * division->bricks[2];
}

static double volume_of(const CudaDivision *division, const double edges[3]) {
    double volume = 1;
    for (int a = 0; a < division->dimension; a++) volume *= edges[a];
    return volume;
}

/* Of all points no further than `range` from a box with these edges, by Steiner's formula: in three dimensions e1 e2 e3 + 2
 * range (e1 e2 + e2 e3 + e3 e1) + pi range^2 (e1 + e2 + e3) + 4/3 pi range^3, in two e1 e2 + 2 range (e1 + e2) + pi
 * range^2. */
static double volume_around(const CudaDivision *division, const double edges[3], double range) {
    const double pi = 3.14159265358979323846, sum = edges[0] + edges[1] + edges[2],
                 faces = edges[0] * edges[1] + edges[1] * edges[2] + edges[2] * edges[0];
    if (division->dimension == 2) return faces + 2 * range * sum + pi * range * range;
    return volume_of(division, edges) + 2 * range * faces + pi * range * range * sum +
           4.0 / 3 * pi * range * range * range;
}

double cuda_division_largest(const CudaDivision *division, int64_t n_atoms) {
    double atoms = (double)n_atoms;
    for (int a = 0; a < division->dimension; a++)
        atoms *= ceil(division->cells[a] / division->bricks[a]) / division->cells[a];
    return atoms;
}

double cuda_division_candidates(const CudaDivision *division, int64_t n_atoms) {
    double atoms = (double)n_atoms;
    for (int a = 0; a < division->dimension; a++)
        atoms *= (ceil(division->cells[a] / division->bricks[a]) + 2) / division->cells[a];
    return atoms;
}

double cuda_division_staged(const CudaDivision *division, int64_t n_atoms, double range) {
    double edges[3];
    largest_edges(division, edges);
    return fmin(cuda_division_candidates(division, n_atoms),
                (double)n_atoms * volume_around(division, edges, range) / volume_of(division, division->length));
}

CudaDivision cuda_divide_by_cells(const double length[3], int dimension, double range, int cells) {
    CudaDivision division = {.dimension = dimension, .cells = {1, 1, 1}, .bricks = {1, 1, 1}};
    for (int a = 0; a < dimension; a++) {
        division.length[a] = length[a];
        division.cells[a] = cuda_cells_along(length[a], range);
        division.bricks[a] = ceil(division.cells[a] / cells);
    }
    return division;
}

/* How long a block takes for its brick, in units of the time for the atoms of a unit of its volume: staged atoms count
 * at each step, and candidates of the search at each list. From clocks in the resident kernel at 32,000 atoms
 * (run/results/h200). */
double cuda_division_time(const CudaDivision *division, double range) {
    double edges[3], around[3] = {0, 0, 0};
    largest_edges(division, edges);
    for (int a = 0; a < division->dimension; a++) around[a] = edges[a] + 2 * division->length[a] / division->cells[a];
    return volume_of(division, edges) + 0.06 * volume_around(division, edges, range) +
           0.004 * volume_of(division, around);
}

/* No more bricks than so many, with `cells` cells along every axis that has room for them, such that the largest one takes the least
 * time. */
CudaDivision cuda_divide_by_device(const double length[3], int dimension, double range, int cells, int most_bricks) {
    const CudaDivision most = cuda_divide_by_cells(length, dimension, range, 1);
    CudaDivision best = most;
    double best_time = INFINITY, room[3];
    for (int a = 0; a < 3; a++) room[a] = fmax(floor(most.cells[a] / cells), 1);
    for (double x = 1; x <= fmin(room[0], most_bricks); x++)
        for (double y = 1; y <= room[1] && x * y <= most_bricks; y++) {
            CudaDivision division = most;
            division.bricks[0] = x;
            division.bricks[1] = y;
            division.bricks[2] = fmin(room[2], floor(most_bricks / (x * y)));
            for (int a = 0; a < dimension; a++) division.cells[a] = fmin(most.cells[a], cells * division.bricks[a]);
            const double time = cuda_division_time(&division, range);
            if (time < best_time) {
                best_time = time;
                best = division;
            }
        }
    return best;
}

CudaDivision cuda_divide(const MdConfig *config, const MdBox *box, double range, int n_sms) {
    const int cells = cuda_brick_cells[config->memory_brick_cells];
    const int on_each = cuda_bricks_on_each(config->memory_brick_grid);
    if (on_each > 0) return cuda_divide_by_device(box->length, box->dimension, range, cells, on_each * n_sms);
    return cuda_divide_by_cells(box->length, box->dimension, range, cells);
}

/* Atoms for which a brick of so many is to have threads. The number fluctuates, in a liquid by a third of its root, and one atom
 * more than threads would cost another round, and the barrier of the grid. Melts on an H200 with some once, 1.4 times, and twice
 * the root more: 4,000 atoms 299,800, 299,900 and 294,600 steps/s, 32,000 142,600, 148,200 and 148,100
 * (run/results/h200/LOG.md). */
double cuda_brick_likely_rows(double rows, int threads_per_atom) {
    return threads_per_atom == 1 ? 1.03 * rows : rows + 1.4 * sqrt(rows);
}

/* Room for so many and some more, and no more than most. */
int32_t cuda_brick_room_for(double staged, int32_t most) { return (int32_t)fmin(ceil(staged / 64) * 64, most); }

/* Room for the staged atoms of a block, until their number is known: liquids differ by a few dozen atoms, and with room for
 * many more there would be fewer blocks on a multiprocessor. */
int32_t cuda_division_room(const CudaDivision *division, int64_t n_atoms, double range) {
    const double staged = cuda_division_staged(division, n_atoms, range);
    return cuda_brick_room_for(fmin(1.02 * staged + 64, 27 * (double)n_atoms), CUDA_MAX_STAGED);
}

bool cuda_brick_cells_fit(int cells, int dimension) { return pow(cells + 2, dimension) <= CUDA_BRICK_STENCIL; }
