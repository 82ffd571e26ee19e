/* Room for the bricks of a uniform system, before anything is known of the particles. */
#include <math.h>

#include "cuda/stages/stages.h"

CudaBricks cuda_brick_room(const CudaContext *context, int32_t atoms) {
    CudaBricks bricks = context->arguments.bricks;
    cuda_brick_set_room(&bricks, &context->config, context->brick_cells, context->box.dimension, atoms);
    return bricks;
}

void cuda_brick_plan(CudaContext *context) {
    if (!context->facts.sorts_bricks) return;
    const CudaDivision division =
        cuda_divide(&context->config, &context->share, context->range, cuda_device_multiprocessors());
    context->brick_cells = cuda_brick_cells[context->config.memory_brick_cells];
    context->brick_grid = context->config.memory_brick_grid;
    context->arguments.bricks =
        cuda_brick_room(context, cuda_division_room(&division, context->n_share, context->range));
}

/* No more slices than that, unless most bricks have an atom or two: whole ones, and one of each brick that is begun. */
int64_t cuda_brick_most_slices(int64_t n_atoms, double n_bricks) {
    return n_atoms / 32 + 1 + (int64_t)fmin(n_bricks, (double)(n_atoms / 16)); /* most of very many bricks are void */
}

/* Slices of a brick that has so many atoms on the average, with that deviation: one if it has any, one more beyond 32, ... */
static double slices_of_brick(double atoms, double deviation) {
    double sum = 0;
    for (double full = 0; full < atoms + 6 * deviation; full += 32)
        sum += 0.5 * erfc((full - atoms) / (deviation * sqrt(2)));
    return sum;
}

/* The slices that will be filled, and six deviations of the partly filled ones in all bricks. The atoms of a brick fluctuate, in a
 * liquid by a third of their root, in a gas by all of it. A crystal, whose bricks are all alike, may take more, and gets them at the first build. */
static int64_t planned_slices(const CudaDivision *division, int64_t n_atoms, double n_bricks) {
    double filled = 0;
    for (int size = 0; size < 1 << 3; size++) { /* bricks that are large along an axis, or not */
        double count = 1, atoms = (double)n_atoms;
        for (int a = 0; a < 3; a++) {
            const double small = floor(division->cells[a] / division->bricks[a]),
                         n_large = division->cells[a] - small * division->bricks[a];
            const bool is_large = (size >> a & 1) != 0;
            count *= is_large ? n_large : division->bricks[a] - n_large;
            atoms *= (small + is_large) / division->cells[a];
        }
        if (count > 0 && atoms > 0)
            filled += count * fmax(slices_of_brick(atoms, sqrt(atoms) / 3), slices_of_brick(atoms, sqrt(atoms)));
    }
    const double planned = filled + 6 * 0.29 * sqrt(n_bricks) + 1,
                 most = (double)cuda_brick_most_slices(n_atoms, n_bricks);
    return (int64_t)fmin(planned, most);
}

void cuda_brick_plan_tables(CudaContext *context) {
    if (!context->facts.has_bricks) return;
    CudaArguments *a = &context->arguments;
    const int64_t n = context->n_share;
    const CudaDivision division =
        cuda_divide(&context->config, &context->share, context->range, cuda_device_multiprocessors());
    const double n_bricks =
        fmin(cuda_division_bricks(&division), context->max_cells); /* open axes: of the box as it stands */
    int32_t bricks[3];
    for (int axis = 0; axis < 3; axis++) bricks[axis] = (int32_t)fmin(division.bricks[axis], n_bricks);
    context->max_bricks = (int64_t)n_bricks;
    context->max_steps = cuda_domain_count(context, bricks);
    a->bricks.source_capacity = (int64_t)fmin(a->bricks.capacity * n_bricks, 27.0 * (double)n);
    a->bricks.slice_capacity = planned_slices(&division, n, n_bricks);
}
