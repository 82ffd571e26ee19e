/* The cells.
 *
 * They are one list range wide along y and z, and a quarter of it along x, the axis along which they follow each other
 * in memory: a row of atoms then looks through nine runs of slots that overhang its range by little. Where the box is
 * too short for cells that the range does not meet twice, the axis is one cell and the nearest image decides. Along an
 * open axis the cells cover the bulk of the atoms (the bounding box, or where that would take too many cells, the mean
 * and three standard deviations, found again without those outside); atoms beyond belong to the outer cells,
 * which are open to infinity, so that an atom that has flown away costs nothing.
 *
 * With several ranks the grid is that of the whole box, the same as with one, and each rank sees the cells of its domain and
 * those around it. The sums over atoms that define the grid are of whole numbers, so they are the same on any number of
 * ranks. */
#include <math.h>
#include <string.h>

#include "cpu/context.h"

/* Covers the rounding of position to cell. */
static const double width_margin = 1 + 1e-6;

static double position_at(const MdCpuContext *c, int axis, int64_t i) {
    return c->state_double ? ((const double *)c->position[axis])[i] : (double)((const float *)c->position[axis])[i];
}

static void bounding_range(const MdCpuContext *c, int axis, double *low, double *high) {
    double ends[2] = {-INFINITY, -INFINITY}; /* -least, most */
    for (int64_t i = 0; i < c->n_atoms; i++) {
        double x = position_at(c, axis, i);
        if (!(fabs(x) < 1e15)) continue; /* blown up or NaN: the fault is known, any cell will do */
        ends[0] = fmax(ends[0], -x);
        ends[1] = fmax(ends[1], x);
    }
    md_comm_max(c->comm, ends, 2);
    *low = isfinite(ends[0]) ? -ends[0] : 0;
    *high = isfinite(ends[1]) ? ends[1] : 0;
}

/* Narrows low, high to mean +- 3 deviations of the atoms inside them, until that changes little. */
static void bulk_range(const MdCpuContext *c, int axis, double *low, double *high) {
    const double steps = 1 << 15; /* of the range: squares of 2^31 atoms fit into 62 bits */
    for (int round = 0; round < 10; round++) {
        const double per_step = (*high - *low) / steps;
        if (!(per_step > 0)) return;
        int64_t sums[3] = {0}; /* atoms, their positions in steps, squares of these */
        for (int64_t i = 0; i < c->n_atoms; i++) {
            double x = position_at(c, axis, i);
            if (!(x >= *low && x <= *high)) continue;
            const int64_t step = (int64_t)((x - *low) / per_step);
            sums[0]++;
            sums[1] += step;
            sums[2] += step * step;
        }
        md_comm_add_integers(c->comm, sums, 3);
        if (sums[0] < 1) return;
        const double n = (double)sums[0], mean = (double)sums[1] / n;
        const double deviation = sqrt(fmax((double)sums[2] / n - mean * mean, 0)) + 1; /* the width of a step more */
        const double new_low = fmax(*low, *low + (mean - 3 * deviation) * per_step);
        const double new_high = fmin(*high, *low + (mean + 3 * deviation) * per_step);
        const bool settled = new_high - new_low > 0.9 * (*high - *low);
        *low = new_low;
        *high = new_high;
        if (settled) return;
    }
}

/* Cells of a periodic axis at least range / reach wide, or of just that width from low to high. */
static int32_t count_along(bool periodic, double range, double low, double high, int32_t reach, int64_t limit) {
    const double cells = floor((high - low) * reach / range) + (periodic ? 0 : 1);
    const int32_t n = cells >= 1 ? cells < (double)limit ? (int32_t)cells : (int32_t)limit : 1;
    return periodic && n < 2 * reach + 1 ? 1 : n;
}

static void divide_axis(MdCpuContext *c, int axis, double range, double low, double high, int32_t reach) {
    MdCpuGrid *grid = &c->grid;
    const bool periodic = c->box.periodic[axis];
    const int32_t n = count_along(periodic, range, low, high, reach, md_cpu_cells_limit(c->n_all));
    grid->n[axis] = n;
    grid->reach[axis] = n == 1 ? 0 : reach;
    grid->wraps[axis] = periodic;
    grid->low[axis] = low;
    grid->per_length[axis] = n == 1 ? 0 : periodic ? n / (high - low) : reach / range;
}

static const int32_t first_reach[3] = {MD_CPU_REACH, 1, 1};

void md_cpu_first_cells(const MdBox *box, double range, int32_t cells[3], int32_t reach[3]) {
    for (int a = 0; a < 3; a++) {
        reach[a] = first_reach[a];
        do cells[a] = count_along(box->periodic[a], range * width_margin, 0, box->length[a], reach[a], INT32_MAX);
        while (box->periodic[a] && cells[a] == 1 && --reach[a] > 0);
        if (cells[a] == 1) reach[a] = 0;
    }
}

static int64_t count_cells(const int32_t n[3]) {
    double cells = (double)n[0] * n[1] * n[2];
    return cells < 9e18 ? (int64_t)cells : INT64_MAX;
}

int64_t md_cpu_count_cells(const MdCpuContext *c) { return count_cells(c->n_cells); }

/* Whether the axis could have half its cells; where a periodic one is cut, each domain needs as many as the list reaches over. */
static bool can_be_coarser(const MdCpuContext *c, int axis) {
    const int32_t n = c->grid.n[axis] / 2, reach = c->grid.reach[axis];
    const bool is_bound = c->box.periodic[axis] && md_domain_is_cut(&c->domain, axis);
    return n >= 1 && (!is_bound || (n >= 2 * reach + 1 && n >= c->domain.grid[axis] * reach));
}

/* Of a thin gas: cells much wider than the range still hold few atoms. -1: none can be. */
static int find_widest(const MdCpuContext *c) {
    int widest = -1;
    for (int a = 0; a < 3; a++)
        if (can_be_coarser(c, a) && (widest < 0 || c->grid.n[a] > c->grid.n[widest])) widest = a;
    return widest;
}

void md_cpu_make_grid(MdCpuContext *c) {
    MdCpuGrid *grid = &c->grid;
    const double range = (c->cutoff + c->skin) * width_margin;
    const int64_t limit = md_cpu_cells_limit(c->n_all);
    double low[3], high[3], coarser[3] = {1, 1, 1};
    int32_t reach[3];
    memcpy(reach, first_reach, sizeof reach);
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
        if (count_cells(grid->n) <= limit) return;
        if (!narrowed) {
            for (int a = 0; a < c->box.dimension; a++)
                if (!c->box.periodic[a]) bulk_range(c, a, &low[a], &high[a]);
            narrowed = true;
        } else if (reach[0] > 1) {
            reach[0]--;
        } else {
            const int widest = find_widest(c);
            if (widest < 0) return; /* more cells than atoms, but no more than the domains need */
            coarser[widest] *= 2;
        }
    }
}

/* Each domain must be as thick as the reach of the list. If an open axis has too few cells, cells that are always empty follow the
 * last one: atoms beyond belong to the last one, as with one process. */
void md_cpu_divide_grid(MdCpuContext *c) {
    int32_t cells[3];
    for (int a = 0; a < 3; a++) {
        const int32_t reach = c->grid.reach[a], least = c->domain.grid[a] * (reach > 1 ? reach : 1);
        cells[a] = !c->box.periodic[a] && c->grid.n[a] < least ? least : c->grid.n[a];
    }
    md_domain_divide(&c->domain, cells, c->grid.reach);
    for (int a = 0; a < 3; a++) {
        c->first_cell[a] = c->domain.begin[a] - c->domain.halo[a];
        c->n_cells[a] = c->domain.end[a] - c->domain.begin[a] + 2 * c->domain.halo[a];
    }
}

void md_cpu_find_cell(const MdCpuContext *c, int64_t i, int32_t at[3]) {
    const MdCpuGrid *grid = &c->grid;
    for (int a = 0; a < 3; a++) {
        double x = (position_at(c, a, i) - grid->low[a]) * grid->per_length[a];
        at[a] = x >= grid->n[a] ? grid->n[a] - 1 : x >= 1 ? (int32_t)x : 0; /* NaN: cell 0 */
    }
}

int32_t md_cpu_cell_number(const MdCpuContext *c, const int32_t at[3]) {
    return (at[2] * c->n_cells[1] + at[1]) * c->n_cells[0] + at[0];
}

/* Whether the cells from first to last (as of the domain) along an axis lie, in part, across the end of the box. */
static bool is_across(const MdCpuContext *c, int axis, int32_t first, int32_t last) {
    return c->grid.wraps[axis] && (first + c->first_cell[axis] < 0 || last + c->first_cell[axis] >= c->grid.n[axis]);
}

int md_cpu_find_runs(const MdCpuContext *c, int32_t cell, MdCpuRun runs[MD_CPU_MAX_RUNS]) {
    const MdCpuGrid *grid = &c->grid;
    if (c->search == MD_SEARCH_BRUTE) { /* one cell, whose slots are the memory as it lies */
        const int crosses = grid->wraps[0] | grid->wraps[1] << 1 | grid->wraps[2] << 2;
        runs[0] = (MdCpuRun){0, (int32_t)c->n_atoms, crosses};
        return 1;
    }
    const int32_t nx = c->n_cells[0], ny = c->n_cells[1], nz = c->n_cells[2], reach = grid->reach[0];
    const int32_t cx = cell % nx, cy = cell / nx % ny, cz = cell / nx / ny;
    bool wraps[3];
    int always = 0; /* an axis of one cell: its neighbours may be on either side */
    for (int a = 0; a < 3; a++) {
        wraps[a] = grid->wraps[a] && !md_domain_is_cut(&c->domain, a); /* else the halo is there */
        always |= (grid->wraps[a] && grid->n[a] == 1) << a;
    }
    int n_runs = 0;
    for (int32_t dz = -grid->reach[2]; dz <= grid->reach[2]; dz++)
        for (int32_t dy = -grid->reach[1]; dy <= grid->reach[1]; dy++) {
            const int32_t z = cz + dz, y = cy + dy;
            if (((z < 0 || z >= nz) && !wraps[2]) || ((y < 0 || y >= ny) && !wraps[1])) continue;
            const int64_t row = (int64_t)((z + nz) % nz * ny + (y + ny) % ny) * nx;
            const int32_t *start = c->cell_start + row;
            const int crosses = always | is_across(c, 2, z, z) << 2 | is_across(c, 1, y, y) << 1;
            const int32_t first = cx - reach, last = cx + reach; /* inclusive */
            const int32_t low = first < 0 ? 0 : first, high = last >= nx ? nx - 1 : last;
            /* In ascending order, across the end of the box as well: as a halo has them. */
            if (wraps[0] && first < 0) runs[n_runs++] = (MdCpuRun){start[nx + first], start[nx], crosses | 1};
            runs[n_runs++] = (MdCpuRun){start[low], start[high + 1], crosses | is_across(c, 0, low, high)};
            if (wraps[0] && last >= nx) runs[n_runs++] = (MdCpuRun){start[0], start[last - nx + 1], crosses | 1};
        }
    return n_runs;
}

int32_t md_cpu_cell_of_slot(const MdCpuContext *c, int64_t slot) {
    int64_t low = 0, high = md_cpu_count_cells(c); /* cell_start[low] <= slot < cell_start[high] */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (c->cell_start[middle] <= slot) low = middle;
        else high = middle;
    }
    return (int32_t)low;
}

void md_cpu_measure_cells(MdCpuContext *c) {
    const int64_t n_cells = md_cpu_count_cells(c);
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
