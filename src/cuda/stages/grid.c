/* The grid of cells, and of bricks where the sort is by bricks: how many along each axis, for a box or for the extent of the
 * particles along open axes. */
#include <math.h>
#include <string.h>

#include "cuda/stages/stages.h"

/* Finding bricks for multiprocessors takes too long for a list of few atoms: the result is kept for the next one, which
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

/* Of the part of this process, the whole with one. */
static void divide(CudaContext *context, const double extent[3], CudaGrid *grid) {
    CudaKeptGrid *kept = &context->kept_grid;
    for (int a = 0; a < 3; a++) grid->n[a] = (int)cuda_cells_along(extent[a], context->range);
    while (cuda_domain_count(context, grid->n) > context->max_cells) {
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

void cuda_grid_fill(CudaContext *context, const double extent[3], CudaGrid *grid) {
    const CudaKeptGrid *kept = &context->kept_grid;
    double whole[3], part[3];
    memcpy(whole, extent, sizeof whole);
    cuda_domain_share(context, whole, part);
    if (!is_kept(context, part)) divide(context, part, grid);
    for (int a = 0; a < 3; a++) {
        const int n = kept->n[a] * context->domain.grid[a];
        grid->n[a] = kept->n[a];
        grid->n_bricks[a] = kept->n_bricks[a];
        grid->inverse_edge[a] = whole[a] > 0 ? n / whole[a] : 0;
    }
    cuda_grid_set_edges(grid);
    if (context->comm) cuda_domain_set_cells(context, grid);
}

void cuda_grid_extent(const CudaContext *context, double extent[3]) {
    const CudaGrid *grid = &context->arguments.grid;
    const int32_t *n = context->comm ? context->arguments.domain.n_all : grid->n;
    for (int a = 0; a < 3; a++) extent[a] = grid->inverse_edge[a] > 0 ? n[a] / grid->inverse_edge[a] : 0;
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
            double ends[2] = {(double)key_value(measures->low[a]), (double)key_value(measures->high[a])};
            md_comm_max(context->comm, ends, 2);
            grid->origin[a] = -ends[0];
            extent[a] = ends[1] - grid->origin[a];
        }
    }
    cuda_grid_fill(context, extent, grid);
}

int cuda_grid_most_cells(CudaContext *context) {
    /* Where atoms are crowded in a void, bricks of few cells still hold few atoms if cells stay small. */
    const int64_t most = (context->facts.has_bricks ? 8 : 1) * (int64_t)context->n_share;
    context->max_cells = (int)(most > 1 << 30 ? 1 << 30 : most > 64 ? most : 64);
    int32_t n[3] = {1, 1, 1}; /* independent of bricks: they may later consist of other cells */
    for (int a = 0; a < context->box.dimension; a++) {
        if (!context->box.periodic[a]) return context->max_cells; /* its extent is that of the particles */
        n[a] = (int32_t)cuda_cells_along(context->share.length[a], context->range);
    }
    const int64_t n_cells = cuda_domain_count(context, n);
    cuda_grid_plan(context);
    return n_cells < context->max_cells ? (int)n_cells : context->max_cells;
}

size_t cuda_sort_few_counts(const CudaContext *context) {
    return (size_t)(context->max_cells < CUDA_FEW_CELLS ? context->max_cells + 1 : CUDA_FEW_CELLS);
}
