/* Saves the whole state of the cpu backend in a restart file, and loads it.
 *
 * The list itself is not kept: it is several times the size of all else. Its input is kept: the grid, and the positions at the last
 * build in the order of memory. From these the search makes the same rows with their entries in the
 * same order. Ranks take any rows of the file, and send the atoms to the domains of these positions. */
#include <math.h>
#include <string.h>

#include "base/range.h"
#include "cpu/context.h"

/* State besides the arrays; no padding, as its bytes go into the file. */
typedef struct ListState {
    MdCpuGrid grid;
    int64_t far_apart;
    int64_t last_build_step, capacity;
    double largest_sq, used_sq;
} ListState;

_Static_assert(sizeof(MdCpuGrid) == 80, "the grid has three flags and five bytes after them");

static MdStatus move_particles(MdCpuContext *c, MdState *state) {
    MdStatus status = MD_OK;
    for (int k = 0; k < MD_N_COLUMNS && status == MD_OK; k++) {
        const MdColumn *column = &md_columns[k];
        const int first = md_cpu_first_array(k);
        if (!c->is_there[k] || (state->loading && state->begins_anew[k])) continue;
        if (column->traits & MD_COLUMN_FIXED && state->loading) md_cpu_fill_column(c, k, state->fixed[k]);
        if (column->traits & MD_COLUMN_SAVED)
            status = md_state_arrays(state, column->name, &c->arrays[first], column->components, c->n_atoms,
                                     md_cpu_number_bytes(c, first));
    }
    return status;
}

static MdStatus move_built_at(MdCpuContext *c, MdState *state) {
    return md_state_arrays(state, "cpu built at", c->built_at, 3, c->n_atoms,
                           md_number_bytes(MD_NUMBER_STATE, c->precision));
}

/* The same on all ranks, as the section is. */
static double largest_capacity(const MdCpuContext *c) {
    double capacity = (double)c->capacity;
    md_comm_max(c->comm, &capacity, 1);
    return capacity;
}

MdStatus md_cpu_save(MdCpuContext *c, MdState *state) {
    ListState list;
    memset(&list, 0, sizeof list);
    for (int a = 0; a < 3; a++) {
        list.grid.n[a] = c->grid.n[a];
        list.grid.reach[a] = c->grid.reach[a];
        list.grid.wraps[a] = c->grid.wraps[a];
        list.grid.low[a] = c->grid.low[a];
        list.grid.per_length[a] = c->grid.per_length[a];
    }
    list.far_apart = c->far_apart;
    list.last_build_step = c->last_build_step;
    list.capacity = (int64_t)largest_capacity(c);
    list.largest_sq = c->largest_sq;
    list.used_sq = c->used_sq;
    MdStatus status = move_particles(c, state);
    if (status == MD_OK) status = md_state_common(state, "cpu list", &list, sizeof list);
    return status == MD_OK ? move_built_at(c, state) : status;
}

/* Checks as in grid.c: cells are as wide as the reach of the list, and as many as the domains need. A bool is read only if its byte
 * is 0 or 1. */
static MdStatus check_axis(const MdCpuContext *c, const MdState *state, const MdCpuGrid *grid, int a) {
    const bool periodic = c->box.periodic[a];
    const int32_t n = grid->n[a], reach = grid->reach[a], domains = c->domain.grid[a];
    const int32_t most_reach = n == 1 ? 0 : a == 0 ? MD_CPU_REACH : 1;
    const double per_length = reach / (c->cutoff + c->skin), whole = n / c->box.length[a];
    const bool fills = periodic && n > 1; /* else there is one cell, or the last one is open */
    const MdRange ranges[] = {
        {"cells that the list reaches over", reach, n > 1, most_reach},
        {"cells along an axis", n, periodic ? fmax(n > 1 ? 2.0 * reach + 1 : 1, domains * fmax(reach, 1)) : 1, 1e9},
        {"wrap around an axis", *(const unsigned char *)&grid->wraps[a], periodic, periodic},
        {"origin of the cells", grid->low[a], periodic ? 0 : -1e15, periodic ? 0 : 1e15},
        {"cells per length", grid->per_length[a], fills ? whole * (1 - 1e-9) : 0,
         fills ? fmin(whole * (1 + 1e-9), per_length) : per_length}};
    return MD_RANGE_CHECK(ranges, state->path, state->errors);
}

/* most: of entries of a row. */
static MdStatus read_list(const MdCpuContext *c, MdState *state, int64_t most, ListState *list) {
    MdStatus status = md_state_common(state, "cpu list", list, sizeof *list);
    for (int a = 0; status == MD_OK && a < 3; a++) status = check_axis(c, state, &list->grid, a);
    if (status != MD_OK) return status;
    const double cells = (double)list->grid.n[0] * list->grid.n[1] * list->grid.n[2],
                 limit = fmax((double)md_cpu_cells_limit(c->n_all), 1 << 20), row = 1.1 * (double)c->n_all + 16;
    const MdRange ranges[] = {
        {"cells", cells, 1, limit}, /* domains may need more of them than atoms do */
        {"far apart", (double)list->far_apart, 0, 1},
        {"step of the list", (double)list->last_build_step, -1, (double)state->step + (double)c->every},
        {"entries of a row", (double)list->capacity, 0, fmax(row, (double)most)},
        {"square of a displacement", list->largest_sq, 0, 1e300},
        {"square of a displacement", list->used_sq, 0, 1e300}};
    return MD_RANGE_CHECK(ranges, state->path, state->errors);
}

MdStatus md_cpu_check_list(const MdConfig *config, const MdSystemPlan *plan, MdState *state) {
    MdCpuContext c = {.comm = plan->comm};
    ListState list;
    md_cpu_configure(&c, config, plan->n_atoms, md_cpu_share(plan->n_atoms, plan->comm), &plan->box, &plan->potential);
    const MdStatus status = read_list(&c, state, config->neighbor_capacity, &list);
    return status == MD_OK
               ? state->begin(state, "cpu built at", 3 * (c.state_double ? sizeof(double) : sizeof(float)), 0)
               : status;
}

/* Makes the same list again: by the same search, from the same positions in the same order. */
static void restore_list(MdCpuContext *c, const ListState *list) {
    md_cpu_trade_places(c);
    c->grid = list->grid;
    c->far_apart = list->far_apart != 0;
    if (c->kernel == MD_KERNEL_LIST && list->capacity > c->capacity) {
        md_cpu_allocate_list(c, list->capacity);
        if (!c->per_call) c->buffers = md_cpu_take(c, md_cpu_buffer_entries(c), sizeof(int32_t), "row buffers");
    }
    if (c->per_call) md_cpu_take_rebuild(c);
    c->moves_forces = true;
    md_cpu_arrange_atoms(c);
    c->moves_forces = false;
    c->kernels->place_atoms(c);
    if (c->kernel == MD_KERNEL_LIST) md_cpu_build_list(c);
    if (c->kernel == MD_KERNEL_CELL) md_cpu_measure_cells(c);
    if (c->per_call) md_cpu_release_rebuild(c);
    md_cpu_trade_places(c);
    c->built = true;
    c->last_build_step = list->last_build_step;
    c->largest_sq = list->largest_sq;
    c->used_sq = list->used_sq;
}

MdStatus md_cpu_load(MdCpuContext *c, MdState *state) {
    ListState list;
    MdStatus status = move_particles(c, state);
    if (status == MD_OK && state->same_list) status = read_list(c, state, c->capacity, &list);
    if (status == MD_OK && state->same_list) status = move_built_at(c, state);
    if (status != MD_OK) return status;
    if (state->same_list) restore_list(c, &list);
    c->halo.is_stale = true;
    c->kernels->place_atoms(c);
    return MD_OK;
}
