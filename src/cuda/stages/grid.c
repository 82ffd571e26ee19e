/* The grid of cells, and of bricks where the sort is by bricks: how many along each axis, for a box or for the extent of the
 * particles along open axes. */
#include <math.h>
#include <string.h>

#include "cuda/stages/stages.h"

/* Finding bricks for multiprocessors takes longer than a list of few atoms may: what was found is kept for the next one, which
 * along periodic axes is the same. */
static bool is_kept(const CudaContext *context, const double extent[3]) {
    const CudaKeptGrid *kept = &context->kept_grid;
    return kept->n[0] > 0 && kept->brick_cells == context->brick_cells && kept->brick_grid == context->brick_grid &&
           memcmp(kept->extent, extent, sizeof kept->extent) == 0;
}

void cuda_grid_set_edges(CudaGrid *grid) {
    for (int a = 0; a < 3; a++) grid->edge[a] = grid->inverse_edge[a] > 0 ? 1 / grid->inverse_edge[a] : 0;
}

static void divide_into_bricks(const CudaContext *context, const double extent[3], CudaGrid *grid) {
    const int dimension = context->box.dimension, cells = context->brick_cells;
    const int on_each = cuda_bricks_on_each(context->brick_grid);
    if (on_each > 0) {
        const CudaDivision division =
            cuda_divide_by_device(extent, dimension, context->range, cells, on_each * cuda_device_multiprocessors());
        for (int a = 0; a < 3; a++) {
            grid->n[a] = (int)fmin(grid->n[a], division.cells[a]);
            grid->n_bricks[a] = (int)fmin(grid->n[a], division.bricks[a]);
        }
    } else {
        for (int a = 0; a < 3; a++) grid->n_bricks[a] = a < dimension ? (grid->n[a] + cells - 1) / cells : 1;
    }
}

void cuda_grid_fill(CudaContext *context, const double extent[3], CudaGrid *grid) {
    CudaKeptGrid *kept = &context->kept_grid;
    if (!is_kept(context, extent)) {
        for (int a = 0; a < 3; a++) grid->n[a] = (int)cuda_cells_along(extent[a], context->range);
        while ((double)grid->n[0] * grid->n[1] * grid->n[2] > context->max_cells) {
            int longest = grid->n[0] >= grid->n[1] && grid->n[0] >= grid->n[2] ? 0 : grid->n[1] >= grid->n[2] ? 1 : 2;
            grid->n[longest] -= (grid->n[longest] + 7) / 8;
        }
        if (context->facts.sorts_bricks) divide_into_bricks(context, extent, grid);
        kept->brick_cells = context->brick_cells;
        kept->brick_grid = context->brick_grid;
        memcpy(kept->extent, extent, sizeof kept->extent);
        memcpy(kept->n, grid->n, sizeof kept->n);
        memcpy(kept->n_bricks, grid->n_bricks, sizeof kept->n_bricks);
    }
    for (int a = 0; a < 3; a++) {
        grid->n[a] = kept->n[a];
        grid->n_bricks[a] = kept->n_bricks[a];
        grid->inverse_edge[a] = extent[a] > 0 ? grid->n[a] / extent[a] : 0;
    }
    cuda_grid_set_edges(grid);
}

static float key_value(unsigned key) {
    unsigned bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The box along open axes is that of the particles, as measured. */
void cuda_grid_plan(CudaContext *context) {
    CudaGrid *grid = &context->arguments.grid;
    double extent[3];
    for (int a = 0; a < 3; a++) {
        grid->wraps[a] = context->box.periodic[a];
        grid->origin[a] = 0;
        extent[a] = context->box.length[a];
        if (a >= context->box.dimension) {
            extent[a] = 0;
        } else if (!grid->wraps[a]) {
            const CudaMeasures *measures = &context->h_status->measures;
            grid->origin[a] = -(double)key_value(measures->low[a]);
            extent[a] = (double)key_value(measures->high[a]) - grid->origin[a];
        }
    }
    cuda_grid_fill(context, extent, grid);
}

int cuda_grid_most_cells(CudaContext *context) {
    /* Where atoms are crowded in a void, bricks of few cells still hold few atoms if cells stay small. */
    const int64_t most = (context->facts.has_bricks ? 8 : 1) * (int64_t)context->n_atoms;
    context->max_cells = (int)(most > 1 << 30 ? 1 << 30 : most > 64 ? most : 64);
    double n_cells = 1; /* whatever the bricks: they may come to be those of other cells */
    for (int a = 0; a < context->box.dimension; a++) {
        if (!context->box.periodic[a]) return context->max_cells; /* its extent is that of the particles */
        n_cells *= cuda_cells_along(context->box.length[a], context->range);
    }
    cuda_grid_plan(context);
    return (int)fmin(n_cells, context->max_cells);
}

size_t cuda_sort_few_counts(const CudaContext *context) {
    return (size_t)(context->max_cells < CUDA_FEW_CELLS ? context->max_cells + 1 : CUDA_FEW_CELLS);
}
