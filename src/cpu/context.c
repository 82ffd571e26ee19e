/* The context of the cpu backend: values from the configuration, and counted memory. */
#include "cpu/context.h"

#include "base/memory.h"
#include "cpu/threads.h"

void *md_cpu_take(MdCpuContext *c, int64_t count, size_t size, const char *what) {
    c->host_bytes += (uint64_t)count * size;
    return c->counting ? NULL : md_alloc((size_t)count, size, what);
}

void *md_cpu_release(MdCpuContext *c, void *memory, int64_t count, size_t size) {
    if (!memory) return NULL;
    c->host_bytes -= (uint64_t)count * size;
    md_free(memory);
    return NULL;
}

void md_cpu_allocate_around(MdCpuContext *c, int64_t room) {
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t);
    c->around = md_cpu_release(c, c->around, 4 * c->n_threads * c->around_room, step);
    c->around_atoms = md_cpu_release(c, c->around_atoms, c->n_threads * c->around_room, sizeof(int32_t));
    /* A register may reach past the last atom; whole lines, so that no two threads write to one. */
    c->around_room = (room + MD_CPU_SPARE + 15) / 16 * 16;
    c->around = md_cpu_take(c, 4 * c->n_threads * c->around_room, step, "atoms around a cell");
    c->around_atoms = md_cpu_take(c, c->n_threads * c->around_room, sizeof(int32_t), "atoms around a cell");
}

/* Periods of pair positions along open axes, in ranges of the list. Between two builds the atoms of one row always
 * stay together within a tenth of it, and it is still resolved to 64 / 2^32 of the range. */
static const double open_period_ranges = 64;

static int64_t whole_blocks(int64_t n) { return (n + MD_CPU_BLOCK - 1) / MD_CPU_BLOCK * MD_CPU_BLOCK; }

void md_cpu_set_room(MdCpuContext *c, int64_t n_atoms, int64_t n_halo, int64_t n_cells) {
    c->atom_room = whole_blocks(n_atoms);
    c->halo_room = whole_blocks(n_halo);
    c->cell_room = n_cells + 1;
    c->n_places = c->atom_room + c->halo_room + MD_CPU_SPARE;
}

int64_t md_cpu_share(int64_t n_all, const MdComm *comm) {
    const int size = md_comm_size(comm);
    return (n_all + size - 1) / size;
}

void md_cpu_set_atoms(MdCpuContext *c, int64_t n_atoms) {
    c->n_atoms = n_atoms;
    c->n_blocks = (n_atoms + MD_CPU_BLOCK - 1) / MD_CPU_BLOCK;
    c->n_padded = c->n_blocks * MD_CPU_BLOCK;
}

/* The domain of this rank; for an estimate, which knows of no others, that of the first. */
static void place_domain(MdCpuContext *c, const MdConfig *config) {
    int grid[3];
    for (int a = 0; a < 3; a++) grid[a] = config->parallel_grid.n > a ? (int)config->parallel_grid.values[a] : 1;
    md_domain_place(&c->domain, grid, md_comm_rank(c->comm), c->box.periodic);
}

/* Copies around a domain of n atoms, for a box of even density; grows if they are too few. */
static int64_t first_halo(const MdCpuContext *c, int64_t n_atoms) {
    const double range = c->cutoff + c->skin;
    double own = 1, all = 1;
    for (int a = 0; a < c->box.dimension; a++) {
        const double length = c->box.length[a] / c->domain.grid[a];
        own *= length;
        all *= length + (md_domain_is_cut(&c->domain, a) ? 2 * range : 0);
    }
    return (int64_t)((double)n_atoms * (all / own - 1));
}

/* Coefficients of a function, as the next ones of the table; returns where the ones after them are. */
static int64_t put_function(MdCpuContext *c, int64_t at, const MdSpline *spline) {
    const int64_t n = 4 * (spline->n - 1);
    for (int64_t i = 0; i < n; i++)
        if (c->pair_double) ((double *)c->table)[at + i] = spline->pieces[i / 4].c[i % 4];
        else ((float *)c->table)[at + i] = (float)spline->pieces[i / 4].c[i % 4];
    return at + n;
}

void md_cpu_fill_table(MdCpuContext *c) {
    const MdPotential *p = &c->potential;
    const MdTables *tables = p->tables;
    const int kinds = tables ? p->n_types * p->n_types : 0;
    int64_t at = 0;
    for (int k = 0; k < kinds; k++) at = put_function(c, at, &tables->pair[k]);
    for (int k = 0; k < kinds; k++) at = put_function(c, at, &tables->density[k]);
    for (int k = 0; k < kinds; k++) at = put_function(c, at, &tables->density[md_potential_turned(p, k)]);
    for (int t = 0; tables && t < p->n_types; t++) at = put_function(c, at, &tables->embedding[t]);
    md_require(at == md_cpu_table_size(p));
}

void md_cpu_configure(MdCpuContext *c, const MdConfig *config, int64_t n_all, int64_t n_atoms, const MdBox *box,
                      const MdPotential *potential) {
    c->n_threads = md_cpu_threads(config);
    c->precision = config->run_precision;
    c->state_double = c->precision != MD_PRECISION_SINGLE;
    c->pair_double = c->precision == MD_PRECISION_DOUBLE;
    for (int k = 0; k < MD_CPU_N_COLUMNS; k++) c->is_there[k] = k >= MD_N_COLUMNS || md_column_is_there(k, config);
    c->timestep = config->run_timestep;
    c->cutoff = potential->cutoff_max;
    c->skin = config->neighbor_skin;
    c->fault_distance = md_fault_distance(config, potential);
    c->kernel = config->force_kernel;
    c->sort = config->memory_sort;
    /* A kernel without a list has its own way to find pairs, and meets each from both sides. */
    c->search = c->kernel == MD_KERNEL_LIST   ? config->neighbor_search
                : c->kernel == MD_KERNEL_CELL ? MD_SEARCH_CELL
                                              : MD_SEARCH_BRUTE;
    c->list = c->kernel == MD_KERNEL_LIST ? config->neighbor_list : MD_LIST_FULL;
    c->write = config->neighbor_write;
    c->sorted = config->neighbor_sorted == MD_ON;
    c->rebuild = config->neighbor_rebuild;
    c->predict = config->neighbor_predict;
    c->layout = config->memory_layout;
    c->per_call = config->memory_allocation == MD_ALLOCATION_PER_CALL;
    c->cutoff_test = config->force_cutoff_test;
    c->arithmetic = config->force_arithmetic;
    c->has_tensor = config->analysis_pressure == MD_PRESSURE_TENSOR;
    c->energy_always = config->force_energy == MD_ENERGY_EVERY_STEP;
    c->accumulate.how = config->reduce_accumulate;
    md_split_shifts(md_split_bits(n_all) + MD_SPLIT_TERMS_OF_ATOM, MD_SPLIT_SIZE, c->accumulate.shift);
    c->fuse = config->launch_fuse == MD_FUSE_ON;
    c->overlap = config->parallel_overlap == MD_ON;
    c->every = config->neighbor_every;
    c->n_all = n_all;
    c->box = *box;
    c->potential = *potential;
    c->pair_count = md_pair_count(config, box, potential, n_all);
    place_domain(c, config);
    md_cpu_set_atoms(c, n_atoms);
    const int64_t room = n_atoms == n_all ? n_atoms : n_atoms + n_atoms / 10;
    md_cpu_set_room(c, room, first_halo(c, room), md_cpu_cells_limit(room));
    c->fault.step = -1;
    for (int a = 0; a < 3; a++)
        c->period[a] = box->periodic[a] ? box->length[a] : open_period_ranges * (c->cutoff + c->skin);
}
