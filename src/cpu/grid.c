/* The cells.
 *
 * They are one list range wide along y and z, and a quarter of it along x, the axis along which they follow each other
 * in memory: a row of atoms then looks through nine runs of slots that overhang its range by little. Where the box is
 * too short for cells that the range does not meet twice, the axis is one cell and the nearest image decides. Along an
 * open axis the cells cover the bulk of the atoms (the bounding box, or where that would take too many cells, the mean
 * and three standard deviations, found anew without those outside); whatever lies beyond belongs to the outer cells,
 * which are open to infinity, so that an atom that has flown away costs nothing. */
#include <math.h>
#include <string.h>

#include "cpu/context.h"

/* Covers the rounding of position to cell. */
static const double width_margin = 1 + 1e-6;

int64_t md_cpu_cells_limit(int64_t n_atoms) {
    int64_t limit = 2 * n_atoms + 1024;
    return limit < INT32_MAX ? limit : INT32_MAX;
}

static double position_at(const MdCpuContext *c, int axis, int64_t i) {
    return c->state_double ? ((const double *)c->position[axis])[i] : (double)((const float *)c->position[axis])[i];
}

static void bounding_range(const MdCpuContext *c, int axis, double *low, double *high) {
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < c->n_atoms; i++) {
        double x = position_at(c, axis, i);
        if (!(fabs(x) < 1e15)) continue; /* blown up or NaN: the fault is known, any cell will do */
        if (x < least) least = x;
        if (x > most) most = x;
    }
    *low = least <= most ? least : 0;
    *high = least <= most ? most : 0;
}

/* Narrows low, high to mean +- 3 deviations of the atoms inside them, until that changes little. */
static void bulk_range(const MdCpuContext *c, int axis, double *low, double *high) {
    for (int round = 0; round < 10; round++) {
        double n = 0, sum = 0, sum_sq = 0, middle = 0.5 * (*low + *high);
        for (int64_t i = 0; i < c->n_atoms; i++) {
            double x = position_at(c, axis, i);
            if (!(x >= *low && x <= *high)) continue;
            n += 1;
            sum += x - middle;
            sum_sq += (x - middle) * (x - middle);
        }
        if (n < 1) return;
        double mean = sum / n, deviation = sqrt(fmax(sum_sq / n - mean * mean, 0));
        double new_low = fmax(*low, middle + mean - 3 * deviation);
        double new_high = fmin(*high, middle + mean + 3 * deviation);
        bool settled = new_high - new_low > 0.9 * (*high - *low);
        *low = new_low;
        *high = new_high;
        if (settled) return;
    }
}

/* Cells of at least range / reach along an axis from low to high. */
static void divide_axis(MdCpuContext *c, int axis, double range, double low, double high, int32_t reach) {
    MdCpuGrid *grid = &c->grid;
    double cells = floor((high - low) * reach / range);
    bool periodic = c->box.periodic[axis];
    int64_t limit = md_cpu_cells_limit(c->n_atoms);
    int32_t n = cells >= 1 ? cells < (double)limit ? (int32_t)cells : (int32_t)limit : 1;
    if (periodic && n < 2 * reach + 1) n = 1;
    grid->n[axis] = n;
    grid->reach[axis] = n == 1 ? 0 : reach;
    grid->wraps[axis] = periodic;
    grid->low[axis] = low;
    grid->per_length[axis] = n > 1 ? n / (high - low) : 0;
}

int64_t md_cpu_count_cells(const MdCpuGrid *grid) {
    double cells = (double)grid->n[0] * grid->n[1] * grid->n[2];
    return cells < 9e18 ? (int64_t)cells : INT64_MAX;
}

void md_cpu_make_grid(MdCpuContext *c) {
    MdCpuGrid *grid = &c->grid;
    const double range = (c->cutoff + c->skin) * width_margin;
    const int64_t limit = md_cpu_cells_limit(c->n_atoms);
    double low[3], high[3], coarser[3] = {1, 1, 1};
    int32_t reach[3] = {MD_CPU_REACH, 1, 1};
    c->far_apart = false;
    for (int a = 0; a < 3; a++) {
        low[a] = 0;
        high[a] = c->box.length[a];
        if (!c->box.periodic[a]) {
            bounding_range(c, a, &low[a], &high[a]);
            if (high[a] - low[a] > 0.5 * c->period[a]) c->far_apart = true;
        }
    }
    for (bool narrowed = false;;) {
        for (int a = 0; a < 3; a++) {
            divide_axis(c, a, range * coarser[a], low[a], high[a], reach[a]);
            /* Short axes: fewer and wider cells before none at all. */
            while (c->box.periodic[a] && grid->n[a] == 1 && reach[a] > 1)
                divide_axis(c, a, range * coarser[a], low[a], high[a], --reach[a]);
        }
        if (md_cpu_count_cells(grid) <= limit) return;
        if (!narrowed) {
            for (int a = 0; a < c->box.dimension; a++)
                if (!c->box.periodic[a]) bulk_range(c, a, &low[a], &high[a]);
            narrowed = true;
        } else if (reach[0] > 1) {
            reach[0]--;
        } else { /* a thin gas: cells much wider than the range still hold few atoms */
            int widest = 0;
            for (int a = 1; a < 3; a++)
                if (grid->n[a] > grid->n[widest]) widest = a;
            coarser[widest] *= 2;
        }
    }
}

int32_t md_cpu_cell_of(const MdCpuContext *c, int64_t i) {
    const MdCpuGrid *grid = &c->grid;
    int32_t at[3];
    for (int a = 0; a < 3; a++) {
        double x = (position_at(c, a, i) - grid->low[a]) * grid->per_length[a];
        at[a] = x >= grid->n[a] ? grid->n[a] - 1 : x >= 1 ? (int32_t)x : 0; /* NaN: cell 0 */
    }
    return (at[2] * grid->n[1] + at[1]) * grid->n[0] + at[0];
}

int md_cpu_find_runs(const MdCpuContext *c, int32_t cell, MdCpuRun runs[MD_CPU_MAX_RUNS]) {
    const MdCpuGrid *grid = &c->grid;
    if (c->search == MD_SEARCH_BRUTE) { /* one cell, whose slots are the memory as it lies */
        runs[0] = (MdCpuRun){0, (int32_t)c->n_atoms, grid->wraps[0] || grid->wraps[1] || grid->wraps[2]};
        return 1;
    }
    const int32_t nx = grid->n[0], ny = grid->n[1], nz = grid->n[2], reach = grid->reach[0];
    const int32_t cx = cell % nx, cy = cell / nx % ny, cz = cell / nx / ny;
    bool always = false; /* an axis of one cell: its neighbours may be on either side */
    for (int a = 0; a < 3; a++) always |= grid->wraps[a] && grid->n[a] == 1;
    int n_runs = 0;
    for (int32_t dz = -grid->reach[2]; dz <= grid->reach[2]; dz++)
        for (int32_t dy = -grid->reach[1]; dy <= grid->reach[1]; dy++) {
            int32_t z = cz + dz, y = cy + dy;
            bool outside_z = z < 0 || z >= nz, outside_y = y < 0 || y >= ny;
            if ((outside_z && !grid->wraps[2]) || (outside_y && !grid->wraps[1])) continue;
            const int64_t row = (int64_t)((z + nz) % nz * ny + (y + ny) % ny) * nx;
            const int32_t *start = c->cell_start + row;
            const bool crosses = always || outside_z || outside_y;
            const int32_t first = cx - reach, last = cx + reach; /* inclusive */
            const int32_t low = first < 0 ? 0 : first, high = last >= nx ? nx - 1 : last;
            runs[n_runs++] = (MdCpuRun){start[low], start[high + 1], crosses};
            if (grid->wraps[0] && first < 0) runs[n_runs++] = (MdCpuRun){start[nx + first], start[nx], true};
            if (grid->wraps[0] && last >= nx) runs[n_runs++] = (MdCpuRun){start[0], start[last - nx + 1], true};
        }
    return n_runs;
}

int32_t md_cpu_cell_of_slot(const MdCpuContext *c, int64_t slot) {
    int64_t low = 0, high = md_cpu_count_cells(&c->grid); /* cell_start[low] <= slot < cell_start[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (c->cell_start[middle] <= slot) low = middle;
        else high = middle;
    }
    return (int32_t)low;
}

void md_cpu_measure_cells(MdCpuContext *c) {
    const int64_t n_cells = md_cpu_count_cells(&c->grid);
    int64_t most = 0;
    for (int32_t cell = 0; cell < n_cells; cell++) {
        if (c->cell_start[cell] == c->cell_start[cell + 1]) continue;
        MdCpuRun runs[MD_CPU_MAX_RUNS];
        int64_t n = 0;
        for (int r = md_cpu_find_runs(c, cell, runs); r-- > 0;) n += runs[r].end - runs[r].start;
        most = n > most ? n : most;
    }
    if (most + MD_CPU_SPARE > c->around_room) md_cpu_allocate_around(c, most + most / 10);
}
