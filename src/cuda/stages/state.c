/* Loads particles into the cuda backend, and its whole state from a restart file (state_file.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/range.h"
#include "cuda/stages/array_table.h"
#include "cuda/stages/state_file.h"
#include "parallel/rows.h"

/* Those of physics/columns.def that CudaParticles packs are named below; the others go through the table. */
#define PACKED_COLUMN(name, number, components, what, traits, cuda, when) PACKED_COLUMN_##cuda
#define PACKED_COLUMN_PACKED                                        +1
#define PACKED_COLUMN_ARRAY                                         +0
_Static_assert(MD_COLUMNS(PACKED_COLUMN) == 6, "a packed column that the cuda backend does not know");

static void import_parameters(CudaContext *context) {
    int n_pairs = context->potential.n_types * context->potential.n_types;
    size_t size = context->facts.pair_size == sizeof(float) ? sizeof(MdPair_f) : sizeof(MdPair_d);
    for (int k = 0; k < n_pairs; k++) {
        MdPair_f single = md_pair_to_single(context->potential.pair[k]);
        const void *pair = size == sizeof single ? (const void *)&single : (const void *)&context->potential.pair[k];
        memcpy(context->pair_table + (size_t)k * size, pair, size);
    }
    CUDA_CHECK(cudaMemcpyAsync((void *)(uintptr_t)context->arguments.pairs, context->pair_table, (size_t)n_pairs * size,
                               cudaMemcpyDefault, context->stream));
    cuda_kernels_set_parameters(context);
}

/* rows: [n_own] of a column in the precision of the run. */
static void set_column(CudaContext *context, void *array, const void *rows, size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(array, rows, (size_t)context->n_own * bytes, cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* the rows may go now */
}

/* rows: [n_own] with numbers as in MdSystem. */
static void fill_column(CudaContext *context, int column, void *array, const void *rows) {
    const size_t bytes = md_column_bytes(column, context->config.run_precision),
                 n = (size_t)context->n_own * (size_t)md_columns[column].components;
    if (bytes == md_system_column_bytes(column)) {
        set_column(context, array, rows, bytes);
        return;
    }
    float *single = md_alloc(n, sizeof *single, "columns");
    for (size_t k = 0; k < n; k++) single[k] = (float)((const double *)rows)[k];
    set_column(context, array, single, bytes);
    md_free(single);
}

/* Those that the system gives; the others begin as zero. */
static void import_columns(CudaContext *context, const MdSystem *system) {
    CudaColumn columns[MD_N_COLUMNS];
    const int n = cuda_columns(context, &context->arguments.now, columns);
    (void)system; /* a table without such columns */
    for (int k = 0; k < n; k++)
        CUDA_CHECK(
            cudaMemsetAsync(*columns[k].array, 0,
                            (size_t)context->n_own * md_column_bytes(columns[k].column, context->config.run_precision),
                            context->stream));
#define ARRAY_COLUMN(name, number, components, when)                                                                   \
    fill_column(context, MD_COLUMN_##name, context->arguments.now.name, system->name);
    MD_SYSTEM_COLUMNS(MD_ARRAY_COLUMN)
#undef ARRAY_COLUMN
}

void cuda_state_import(CudaContext *context, const MdSystem *system) {
    const size_t vector = 3 * sizeof(double);
    for (int t = 0; t < system->potential.n_types; t++) context->arguments.inverse_mass_of[t] = 1 / system->mass[t];
    cuda_memory_begin(context, CUDA_STAGING);
    context->arguments.n = (int32_t)system->first;
    cuda_gather_upload(context, CUDA_K_gather_import_types, system->type, sizeof(int32_t));
    cuda_gather_upload(context, CUDA_K_gather_import_positions, system->position, vector);
    cuda_gather_upload(context, CUDA_K_gather_import_velocities, system->velocity, vector);
    cuda_gather_upload(context, CUDA_K_gather_import_images, system->image, 3 * sizeof(int32_t));
    import_columns(context, system);
    import_parameters(context);
    context->places_stale = true;
    cuda_memory_end(context, CUDA_STAGING);
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* host arrays may go now */
}

/* The host array may go, or change, on return. */
static void import(CudaContext *context, CudaKernelId kernel, const void *host, size_t row_bytes) {
    cuda_gather_upload(context, kernel, host, row_bytes);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
}

/* Data of the restored list that the next one depends on. Steps of this context begin with 0. */
static void set_age(CudaContext *context, int64_t age) {
    const long long built_step = -age;
    context->built_step = -age;
    CUDA_CHECK(cudaMemcpyAsync(&context->arguments.status->built_step, &built_step, sizeof built_step,
                               cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
}

/* The list's grid, of the whole box; of several processes the part of this one, if domains divide it evenly. Else they have the
 * grid that they would make, for the same list with its entries in another order. */
static CudaGrid grid_of(CudaContext *context, const ListState *list) {
    CudaGrid grid;
    bool even = !context->comm || list->brick_grid == MD_BRICK_GRID_CELLS;
    if (even) {
        context->brick_cells = list->brick_cells;
        context->brick_grid = (int)list->brick_grid;
    }
    for (int a = 0; a < 3; a++) {
        const int n = context->domain.grid[a];
        grid.n[a] = list->n[a] / n;
        grid.wraps[a] = list->wraps[a];
        grid.origin[a] = list->origin[a];
        grid.inverse_edge[a] = list->inverse_edge[a];
        grid.n_bricks[a] = list->n_bricks[a];
        if (list->brick_cells > 0 &&
            list->brick_grid == MD_BRICK_GRID_CELLS) /* other ranks may have had more of them */
            grid.n_bricks[a] = (grid.n[a] + list->brick_cells - 1) / list->brick_cells;
        even = even && list->n[a] % n == 0;
    }
    if (context->comm && !even) {
        double extent[3];
        for (int a = 0; a < 3; a++) extent[a] = list->inverse_edge[a] > 0 ? list->n[a] / list->inverse_edge[a] : 0;
        cuda_grid_fill(context, extent, &grid);
    } else if (context->comm) cuda_domain_set_cells(context, &grid);
    return grid;
}

/* Ranges as grid.c makes cells and bricks. */
static MdStatus check_axis(const CudaContext *context, const MdState *state, const ListState *list, int a) {
    const bool periodic = context->box.periodic[a], is_there = a < context->box.dimension,
               has_bricks = context->facts.sorts_bricks;
    const double n = list->n[a], whole = periodic ? n / context->box.length[a] : 0;
    double most = is_there ? 1e15 : 0; /* cells per length of an open axis */
    if (n > context->domain.grid[a]) most = 1 / context->range;
    const double fewest = is_there ? ceil(n / fmax(list->brick_cells, 1)) : 1, tiles = is_there ? n : 1;
    const MdRange ranges[] = {
        {"cells along an axis", n, 1, is_there ? 1e6 : context->domain.grid[a]},
        {"wrap around an axis", list->wraps[a], periodic, periodic},
        {"origin of the cells", list->origin[a], periodic ? 0 : -1e15, periodic ? 0 : 1e15},
        {"cells per length", list->inverse_edge[a], periodic ? whole * (1 - 1e-9) : 0,
         periodic ? whole * (1 + 1e-9) : most},
        {"bricks along an axis", list->n_bricks[a], has_bricks ? fewest : 0, has_bricks ? tiles : 0}};
    return MD_RANGE_CHECK(ranges, state->path, state->errors);
}

/* Cells that nothing is sorted into: they are counted all the same. */
static MdStatus check_unused(const MdState *state, const ListState *list) {
    MdStatus status = MD_OK;
    for (int a = 0; status == MD_OK && a < 3; a++) { /* the product is a whole number of 32 bits */
        const MdRange ranges[] = {{"cells along an axis", list->n[a], 0, 1024},
                                  {"bricks along an axis", list->n_bricks[a], 0, 1024}};
        status = MD_RANGE_CHECK(ranges, state->path, state->errors);
    }
    return status;
}

static MdStatus read_list(const CudaContext *context, MdState *state, ListState *list) {
    MdStatus status = md_state_common(state, "cuda list", list, sizeof *list);
    if (status != MD_OK) return status;
    const double every = (double)context->config.neighbor_every;
    const MdRange ranges[] = {{"cells of a brick", list->brick_cells, context->facts.sorts_bricks, 8},
                              {"memory.brick_grid", (double)list->brick_grid, 0, MD_BRICK_GRID_DEVICE_2},
                              {"age of the list", (double)list->age, -every, (double)state->step}};
    status = MD_RANGE_CHECK(ranges, state->path, state->errors);
    if (status == MD_OK && !context->facts.needs_cells) return check_unused(state, list);
    int32_t n[3];
    for (int a = 0; status == MD_OK && a < 3; a++) {
        status = check_axis(context, state, list, a);
        n[a] = list->n[a] / context->domain.grid[a];
    }
    if (status != MD_OK) return status;
    const MdRange cells[] = {{"cells", (double)cuda_domain_count(context, n), 1, context->max_cells}};
    return MD_RANGE_CHECK(cells, state->path, state->errors);
}

MdStatus cuda_state_check_list(CudaContext *context, MdState *state) {
    ListState list;
    cuda_arrays_plan(context);
    const MdStatus status = read_list(context, state, &list);
    if (status != MD_OK) return status;
    return state->begin(state, raw_names[CUDA_RAW_REFERENCE], 3 * raw_size(context, CUDA_RAW_REFERENCE), 0);
}

static MdStatus make_list(CudaContext *context, const ListState *list, const CudaGrid *grid, const double *places) {
    context->arguments.raw_quantity = CUDA_RAW_POSITION; /* there the particles are while the list is made */
    import(context, CUDA_K_gather_import_raw, places, 3 * sizeof *places);
    const MdStatus status = cuda_neighbor_build_again(context, grid);
    set_age(context, list->age);
    context->n_overflows = 0; /* they were counted when it was made for the first time */
    context->overflow_s = 0;
    return status;
}

/* --- the rows of the file, on their way to where the particles are ---------------------------------------------------------- */

typedef struct Loading {
    CudaContext *context;
    MdState *state;
    int64_t n_rows;     /* that this process reads */
    const MdDeal *deal; /* several processes: to where the list of the particle is made; NULL: they stay */
    int32_t *ids;       /* of the particles as they came */
    int32_t *row;       /* of each particle in memory the one of these that it is; NULL: they are in the same order */
} Loading;

/* From md_alloc, for each particle in memory. Collective: status, of the reading of rows, becomes that of all. */
static void *arrive(const Loading *l, MdStatus *status, void *rows, size_t bytes) {
    void *arrived = rows;
    if (l->deal) {
        *status = cuda_domain_agree(l->context, *status);
        arrived = *status == MD_OK ? md_deal_rows(l->deal, rows, bytes) : NULL;
        md_free(rows);
    }
    if (!l->row || *status != MD_OK) return arrived;
    const size_t n = (size_t)l->context->n_own;
    char *ordered = md_alloc(n, bytes, "restart file");
    for (size_t i = 0; i < n; i++) memcpy(ordered + i * bytes, (char *)arrived + (size_t)l->row[i] * bytes, bytes);
    md_free(arrived);
    return ordered;
}

static void *read_column(const Loading *l, int column, MdStatus *status) {
    const size_t bytes = md_column_bytes(column, l->context->config.run_precision);
    void *rows = md_alloc((size_t)l->n_rows, bytes, "restart file");
    if (*status == MD_OK) *status = md_state_array(l->state, md_columns[column].name, rows, bytes, l->n_rows);
    return arrive(l, status, rows, bytes);
}

static double *read_raw(const Loading *l, int which, MdStatus *status) {
    double *rows = md_alloc(3 * (size_t)l->n_rows, sizeof *rows, "restart file");
    if (*status == MD_OK)
        *status = md_state_rows(l->state, raw_names[which], rows, l->n_rows, raw_size(l->context, which));
    return arrive(l, status, rows, 3 * sizeof *rows);
}

/* A fixed column, with numbers as in MdSystem. */
static void *take_fixed(const Loading *l, int column, MdStatus *status) {
    const size_t bytes = md_system_column_bytes(column);
    void *rows = md_alloc((size_t)l->n_rows, bytes, "restart file");
    memcpy(rows, l->state->fixed[column], (size_t)l->n_rows * bytes);
    return arrive(l, status, rows, bytes);
}

static void import_raw(CudaContext *context, int which, const double *rows) {
    context->arguments.raw_quantity = which;
    import(context, CUDA_K_gather_import_raw, rows, 3 * sizeof *rows);
}

static MdStatus load_raw(const Loading *l, int which) {
    MdStatus status = MD_OK;
    double *rows = read_raw(l, which, &status);
    if (status == MD_OK) import_raw(l->context, which, rows);
    md_free(rows);
    l->context->has_forces = status == MD_OK && which == CUDA_RAW_FORCE;
    return status;
}

/* Types, masses, images and ids, before the others. */
static MdStatus load_tags(Loading *l) {
    CudaContext *context = l->context;
    const size_t n = (size_t)context->n_own;
    MdStatus status = MD_OK;
    l->ids = read_column(l, MD_COLUMN_id, &status);
    int32_t(*images)[3] = read_column(l, MD_COLUMN_image, &status), *types = take_fixed(l, MD_COLUMN_type, &status);
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    for (size_t i = 0; status == MD_OK && i < n; i++)
        tags[i] = (CudaTag){images[i][0], images[i][1], images[i][2], l->ids[i]};
    if (status == MD_OK) {
        import(context, CUDA_K_gather_import_types, types, sizeof *types);
        CUDA_CHECK(
            cudaMemcpyAsync(context->arguments.now.tag, tags, n * sizeof *tags, cudaMemcpyDefault, context->stream));
        CUDA_CHECK(cudaStreamSynchronize(context->stream));
        context->places_stale = true;
    }
    md_free(images);
    md_free(types);
    md_free(tags);
    return status;
}

static MdStatus load_columns(Loading *l) {
    CudaColumn columns[MD_N_COLUMNS];
    const int n = cuda_columns(l->context, &l->context->arguments.now, columns);
    MdStatus status = MD_OK;
    for (int k = 0; k < n && status == MD_OK; k++) {
        const int column = columns[k].column;
        const bool is_fixed = md_columns[column].traits & MD_COLUMN_FIXED;
        if (!is_fixed && !(md_columns[column].traits & MD_COLUMN_SAVED)) continue;
        if (l->state->begins_anew[column]) continue;
        void *rows = is_fixed ? take_fixed(l, column, &status) : read_column(l, column, &status);
        if (status == MD_OK && is_fixed) fill_column(l->context, column, *columns[k].array, rows);
        else if (status == MD_OK)
            set_column(l->context, *columns[k].array, rows, md_column_bytes(column, l->context->config.run_precision));
        md_free(rows);
    }
    return status;
}

/* An id, and where it stands. */
typedef struct Found {
    int32_t id, row;
} Found;

static int by_id(const void *one, const void *other) {
    const int32_t a = ((const Found *)one)->id, b = ((const Found *)other)->id;
    return (a > b) - (a < b);
}

/* The list was made again from its positions. Several processes may have saved atoms in another order: the other columns
 * of the file go where the particles are now. */
static void find_order(Loading *l) {
    const size_t n = (size_t)l->context->n_own;
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    Found *found = md_alloc(n, sizeof *found, "restart file");
    bool same = true;
    cuda_memory_download(l->context, tags, l->context->arguments.now.tag, n * sizeof *tags);
    for (size_t i = 0; i < n; i++) {
        found[i] = (Found){l->ids[i], (int32_t)i};
        same = same && tags[i].id == l->ids[i];
    }
    if (!same) {
        l->row = md_alloc(n, sizeof *l->row, "restart file");
        qsort(found, n, sizeof *found, by_id);
        for (size_t i = 0; i < n; i++) {
            const Found wanted = {.id = tags[i].id}, *row = bsearch(&wanted, found, n, sizeof *found, by_id);
            md_require(row != NULL); /* a process has its atoms before it makes its list, and no atom leaves */
            l->row[i] = row->row;
        }
    }
    md_free(found);
    md_free(tags);
}

/* Several processes: each reads a part of the file, and sends each particle to the rank that makes its rows, by its position at the last
 * build. There is room for the received ones. */
static MdStatus deal_rows(CudaContext *context, const CudaGrid *grid, const double *places, MdDeal *deal) {
    int32_t *owner = md_alloc((size_t)context->n_own, sizeof *owner, "restart file");
    for (int i = 0; i < context->n_own; i++) owner[i] = cuda_domain_owner(context, grid, places + 3 * (int64_t)i);
    *deal = md_deal_create(context->comm, owner, context->n_own);
    md_free(owner);
    const bool grows = deal->n_in > context->room;
    const bool released = cuda_peers_release(context, grows);
    const MdStatus status =
        cuda_peers_take(context, released, grows ? cuda_memory_grow_atoms(context, deal->n_in) : MD_OK);
    if (status == MD_OK) cuda_domain_set_own(context, deal->n_in);
    return status;
}

static MdStatus load_particles(Loading *l) {
    MdStatus status = MD_OK;
    for (int which = CUDA_RAW_POSITION; which <= CUDA_RAW_FORCE && status == MD_OK; which++)
        status = load_raw(l, which);
    return status;
}

/* Particles at the positions of their list, the list, and then their state at this step. places: of the rows, at the last build; from
 * md_alloc. */
static MdStatus load_by_list(Loading *l, const ListState *list, double *places) {
    CudaContext *context = l->context;
    const CudaGrid grid = grid_of(context, list);
    MdDeal deal = {0};
    MdStatus status = MD_OK;
    if (context->comm) {
        status = deal_rows(context, &grid, places, &deal);
        l->deal = &deal;
        places = arrive(l, &status, places, 3 * sizeof *places);
    }
    if (status == MD_OK) status = load_tags(l);
    if (status == MD_OK) status = load_columns(l);
    if (status == MD_OK) {
        import_raw(context, CUDA_RAW_REFERENCE, places);
        context->has_forces = false;
        status = cuda_domain_agree(context, make_list(context, list, &grid, places));
    }
    if (status == MD_OK) find_order(l);
    if (status == MD_OK) status = load_particles(l);
    context->halo.is_stale = true;
    md_deal_destroy(&deal);
    md_free(places);
    return status;
}

static MdStatus load_with_list(Loading *l) {
    ListState list;
    MdStatus status = read_list(l->context, l->state, &list);
    double *places = read_raw(l, CUDA_RAW_REFERENCE, &status);
    status = cuda_domain_agree(l->context, status);
    if (status == MD_OK) return load_by_list(l, &list, places);
    md_free(places);
    return status;
}

/* The list is made again afterwards. */
static MdStatus load_without_list(Loading *l) {
    MdStatus status = load_tags(l);
    if (status == MD_OK) status = load_columns(l);
    return status == MD_OK ? load_particles(l) : status;
}

MdStatus cuda_state_load(CudaContext *context, MdState *state) {
    Loading loading = {.context = context, .state = state, .n_rows = context->n_own};
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_memory_begin(context, CUDA_STAGING);
    const MdStatus status = state->same_list ? load_with_list(&loading) : load_without_list(&loading);
    cuda_memory_end(context, CUDA_STAGING);
    md_free(loading.ids);
    md_free(loading.row);
    return status;
}
