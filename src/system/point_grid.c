#include "system/point_grid.h"

#include "base/memory.h"
#include "base/status.h"

struct MdPointGrid {
    MdBox box;
    double side[3];
    int64_t n_cells[3]; /* along a periodic axis; 0: open, without bounds */
    uint64_t mask;      /* buckets - 1 */
    int64_t n_points, capacity;
    const double **point; /* [capacity] */
    int32_t *first;       /* [buckets] newest point of a bucket, -1: none */
    int32_t *next;        /* [capacity] the one before it in the same bucket */
};

MdPointGrid *md_point_grid_create(const MdBox *box, double side, int64_t n_points) {
    md_require(n_points >= 0 && n_points <= INT32_MAX && side > 0);
    MdPointGrid *grid = md_alloc(1, sizeof *grid, "a grid of points");
    grid->box = *box;
    for (int a = 0; a < 3; a++) {
        grid->side[a] = side;
        if (!box->periodic[a]) continue;
        grid->n_cells[a] = (int64_t)(box->length[a] / side);
        if (grid->n_cells[a] < 1) grid->n_cells[a] = 1;
        grid->side[a] = box->length[a] / (double)grid->n_cells[a];
    }
    uint64_t n_buckets = 16;
    while (n_buckets < (uint64_t)n_points) n_buckets *= 2;
    grid->mask = n_buckets - 1;
    grid->capacity = n_points;
    grid->point = md_alloc((size_t)n_points, sizeof *grid->point, "a grid of points");
    grid->first = md_alloc(n_buckets, sizeof *grid->first, "a grid of points");
    grid->next = md_alloc((size_t)n_points, sizeof *grid->next, "a grid of points");
    for (uint64_t k = 0; k < n_buckets; k++) grid->first[k] = -1;
    return grid;
}

void md_point_grid_destroy(MdPointGrid *grid) {
    if (!grid) return;
    md_free(grid->point);
    md_free(grid->first);
    md_free(grid->next);
    md_free(grid);
}

static uint64_t grid_bucket(const MdPointGrid *grid, const int64_t cell[3]) {
    uint64_t hash = 0;
    for (int a = 0; a < 3; a++) {
        /* Neighbouring cells far apart: multiply and fold, with the constant of splitmix64. */
        hash = (hash ^ (uint64_t)cell[a]) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 29;
    }
    return hash & grid->mask;
}

static int64_t grid_cell(const MdPointGrid *grid, int axis, double x) {
    double cell = floor(x / grid->side[axis]);
    md_require(fabs(cell) < 9e18);
    return (int64_t)cell;
}

/* Into 0 .. n - 1 along a periodic axis. */
static int64_t grid_wrap(const MdPointGrid *grid, int axis, int64_t cell) {
    int64_t n = grid->n_cells[axis];
    return n ? ((cell % n) + n) % n : cell;
}

void md_point_grid_add(MdPointGrid *grid, const double *point) {
    md_require(grid->n_points < grid->capacity);
    int64_t cell[3];
    for (int a = 0; a < 3; a++) cell[a] = grid_wrap(grid, a, grid_cell(grid, a, point[a]));
    uint64_t bucket = grid_bucket(grid, cell);
    int32_t number = (int32_t)grid->n_points++;
    grid->point[number] = point;
    grid->next[number] = grid->first[bucket];
    grid->first[bucket] = number;
}

static bool grid_near(const MdPointGrid *grid, const double *p, const double *q, double distance_sq) {
    double r_sq = 0;
    for (int a = 0; a < 3; a++) {
        double d = md_nearest_image_d(p[a] - q[a], grid->box.length[a], md_box_inverse(&grid->box, a));
        r_sq += d * d;
    }
    return r_sq < distance_sq;
}

int64_t md_point_grid_find(const MdPointGrid *grid, const double *place, double distance) {
    int64_t low[3], high[3];
    for (int a = 0; a < 3; a++) {
        low[a] = grid_cell(grid, a, place[a] - distance);
        high[a] = grid_cell(grid, a, place[a] + distance);
        /* all cells of the axis, each once */
        if (grid->n_cells[a] && high[a] - low[a] >= grid->n_cells[a]) {
            low[a] = 0;
            high[a] = grid->n_cells[a] - 1;
        }
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++)
            for (int64_t x = low[0]; x <= high[0]; x++) {
                const int64_t cell[3] = {grid_wrap(grid, 0, x), grid_wrap(grid, 1, y), grid_wrap(grid, 2, z)};
                for (int32_t k = grid->first[grid_bucket(grid, cell)]; k >= 0; k = grid->next[k])
                    if (grid_near(grid, place, grid->point[k], distance * distance)) return k;
            }
    return -1;
}
