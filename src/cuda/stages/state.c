/* Particles into the cuda backend; its whole state, into a restart file and out of it. The kernels stand in kernels/gather_state.cuh.
 *
 * The list is not kept, but what it was made from: the places at the last build in the order of memory, and the grid. From
 * these the same kernels make the same rows with their entries in the same order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/range.h"
#include "cuda/stages/array_table.h"

/* Of the whole box. Without gaps: its bytes go into the file. */
typedef struct ListState {
    int32_t n[3], wraps[3];
    double origin[3], inverse_edge[3];
    int32_t n_bricks[3], brick_cells; /* 0 without bricks */
    int64_t brick_grid;
    int64_t age; /* steps since the list was made */
} ListState;

static const char *const raw_names[] = {[CUDA_RAW_POSITION] = "position",
                                        [CUDA_RAW_VELOCITY] = "velocity",
                                        [CUDA_RAW_FORCE] = "force",
                                        [CUDA_RAW_REFERENCE] = "cuda built at"};

static size_t raw_size(const CudaContext *context, int which) {
    return which == CUDA_RAW_POSITION || which == CUDA_RAW_VELOCITY ? context->facts.state_size
                                                                    : context->facts.pair_size;
}

static size_t raw_bytes(const CudaContext *context) { return 3 * (size_t)context->n_own * sizeof(double); }

/* --- out ------------------------------------------------------------------------------------------------------------ */

/* Image and id travel together; in the file they are apart. */
static MdStatus save_tags(CudaContext *context, MdState *state) {
    const size_t n = (size_t)context->n_own;
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    int32_t *words = md_alloc(3 * n, sizeof *words, "restart file");
    cuda_memory_download(context, tags, context->arguments.now.tag, n * sizeof *tags);
    for (size_t i = 0; i < n; i++) words[i] = tags[i].id;
    MdStatus status = md_state_array(state, "id", words, sizeof *words, context->n_own);
    for (size_t i = 0; i < n; i++) {
        words[3 * i] = tags[i].ix;
        words[3 * i + 1] = tags[i].iy;
        words[3 * i + 2] = tags[i].iz;
    }
    if (status == MD_OK) status = md_state_array(state, "image", words, 3 * sizeof *words, context->n_own);
    md_free(tags);
    md_free(words);
    return status;
}

static MdStatus save_raw(CudaContext *context, MdState *state, int which, double *rows) {
    context->arguments.raw_quantity = which;
    context->arguments.out = context->staging;
    cuda_launch(context, CUDA_K_gather_export_raw, context->room);
    cuda_memory_download(context, rows, context->staging, raw_bytes(context));
    return md_state_rows(state, raw_names[which], rows, context->n_own, raw_size(context, which));
}

static MdStatus save_list(CudaContext *context, MdState *state) {
    const CudaGrid *grid = &context->arguments.grid;
    ListState list;
    memset(&list, 0, sizeof list);
    for (int a = 0; a < 3; a++) {
        list.n[a] = context->comm ? context->arguments.domain.n_all[a] : grid->n[a];
        list.wraps[a] = context->box.periodic[a];
        list.origin[a] = grid->origin[a];
        list.inverse_edge[a] = grid->inverse_edge[a];
        list.n_bricks[a] = grid->n_bricks[a] * context->domain.grid[a];
    }
    list.brick_cells = context->brick_cells;
    list.brick_grid = context->brick_grid;
    cuda_status_read(context, true);
    list.age = (int64_t)context->h_status->step + context->h_status->drifted - context->h_status->built_step;
    return md_state_common(state, "cuda list", &list, sizeof list);
}

MdStatus cuda_state_save(CudaContext *context, MdState *state) {
    double *rows = md_alloc(1, raw_bytes(context), "restart file");
    cuda_memory_need_forces(context);
    cuda_memory_begin(context, CUDA_STAGING);
    MdStatus status = save_tags(context, state);
    for (int which = CUDA_RAW_POSITION; which <= CUDA_RAW_REFERENCE && status == MD_OK; which++)
        status = save_raw(context, state, which, rows);
    if (status == MD_OK) status = save_list(context, state);
    cuda_memory_end(context, CUDA_STAGING);
    md_free(rows);
    return status;
}

/* --- in ------------------------------------------------------------------------------------------------------------- */

/* To staging, and the kernel that reads it there. The next upload waits for that on the stream; who changes the host array has to
 * wait for it. */
static void upload(CudaContext *context, CudaKernelId kernel, const void *host, size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(context->staging, host, bytes, cudaMemcpyDefault, context->stream));
    context->arguments.in = context->staging;
    cuda_launch(context, kernel, context->room);
}

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

void cuda_state_import(CudaContext *context, const MdSystem *system) {
    size_t n = (size_t)context->n_own, vectors = 3 * n * sizeof(double);
    for (int t = 0; t < system->potential.n_types; t++) context->arguments.inverse_mass_of[t] = 1 / system->mass[t];
    cuda_memory_begin(context, CUDA_STAGING);
    context->arguments.n = (int32_t)system->first;
    upload(context, CUDA_K_gather_import_types, system->type, n * sizeof(int32_t));
    upload(context, CUDA_K_gather_import_positions, system->position, vectors);
    upload(context, CUDA_K_gather_import_velocities, system->velocity, vectors);
    upload(context, CUDA_K_gather_import_images, system->image, 3 * n * sizeof(int32_t));
    import_parameters(context);
    context->places_stale = true;
    cuda_memory_end(context, CUDA_STAGING);
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* host arrays may go now */
}

static void import(CudaContext *context, CudaKernelId kernel, const void *host, size_t bytes) {
    upload(context, kernel, host, bytes);
    CUDA_CHECK(cudaStreamSynchronize(context->stream)); /* host and staging are used again */
}

/* Types, masses, images and ids in the order of the file. *ids: for the caller to free. */
static MdStatus load_tags(CudaContext *context, MdState *state, int32_t **ids) {
    const size_t n = (size_t)context->n_own;
    int32_t *words = md_alloc(3 * n, sizeof *words, "restart file");
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    *ids = md_alloc(n, sizeof **ids, "restart file");
    MdStatus status = md_state_array(state, "id", *ids, sizeof **ids, context->n_own);
    if (status == MD_OK) {
        import(context, CUDA_K_gather_import_types, state->type, n * sizeof *state->type);
        status = md_state_array(state, "image", words, 3 * sizeof *words, context->n_own);
    }
    for (size_t i = 0; status == MD_OK && i < n; i++)
        tags[i] = (CudaTag){words[3 * i], words[3 * i + 1], words[3 * i + 2], (*ids)[i]};
    if (status == MD_OK) {
        CUDA_CHECK(
            cudaMemcpyAsync(context->arguments.now.tag, tags, n * sizeof *tags, cudaMemcpyDefault, context->stream));
        CUDA_CHECK(cudaStreamSynchronize(context->stream));
        context->places_stale = true;
    }
    md_free(words);
    md_free(tags);
    return status;
}

/* row: of each particle in memory its row in the file; NULL: they are in the same order. */
static void order_by(const int32_t *row, int64_t n, double *rows) {
    if (!row) return;
    double *ordered = md_alloc(3 * (size_t)n, sizeof *ordered, "restart file");
    for (int64_t i = 0; i < n; i++) memcpy(ordered + 3 * i, rows + 3 * (int64_t)row[i], 3 * sizeof *rows);
    memcpy(rows, ordered, 3 * (size_t)n * sizeof *rows);
    md_free(ordered);
}

static MdStatus load_raw(CudaContext *context, MdState *state, int which, const int32_t *row, double *rows) {
    MdStatus status = md_state_rows(state, raw_names[which], rows, context->n_own, raw_size(context, which));
    if (status != MD_OK) return status;
    order_by(row, context->n_own, rows);
    context->arguments.raw_quantity = which;
    import(context, CUDA_K_gather_import_raw, rows, raw_bytes(context));
    context->has_forces = which == CUDA_RAW_FORCE;
    return MD_OK;
}

/* The list was made again from its places. Several processes that have saved them have had them in another order: what is
 * still to come from the file goes where the particles are now. From md_alloc; NULL: in the order of the file. */
static int32_t *find_order(CudaContext *context, const int32_t *ids) {
    const size_t n = (size_t)context->n_own;
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    int32_t *row_of = md_alloc(n, sizeof *row_of, "restart file"), *row = md_alloc(n, sizeof *row, "restart file");
    bool same = true;
    cuda_memory_download(context, tags, context->arguments.now.tag, n * sizeof *tags);
    for (size_t i = 0; i < n; i++) row_of[ids[i]] = (int32_t)i;
    for (size_t i = 0; i < n; i++) {
        row[i] = row_of[tags[i].id];
        same = same && tags[i].id == ids[i];
    }
    md_free(tags);
    md_free(row_of);
    if (same) md_free(row);
    return same ? NULL : row;
}

/* Of the list that was made again: what the next one goes by. Steps of this context begin with 0. */
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
    import(context, CUDA_K_gather_import_raw, places, raw_bytes(context));
    const MdStatus status = cuda_neighbor_build_again(context, grid);
    set_age(context, list->age);
    context->n_overflows = 0; /* they were counted when it was made for the first time */
    context->overflow_s = 0;
    return status;
}

static MdStatus load_list(CudaContext *context, MdState *state, const int32_t *ids, double *rows, int32_t **row) {
    ListState list;
    MdStatus status = read_list(context, state, &list);
    if (status == MD_OK) status = load_raw(context, state, CUDA_RAW_REFERENCE, NULL, rows);
    if (status != MD_OK) return status;
    const CudaGrid grid = grid_of(context, &list);
    status = make_list(context, &list, &grid, rows);
    if (status == MD_OK) *row = find_order(context, ids);
    return status;
}

/* --- in, several processes: each reads a part of the file, and sends each particle to where its list is made ------------ */

typedef struct Restored {
    double raw[CUDA_RAW_REFERENCE + 1][3];
    int32_t image[3], id, type;
} Restored;

static int by_id(const void *one, const void *other) {
    const int32_t a = ((const Restored *)one)->id, b = ((const Restored *)other)->id;
    return (a > b) - (a < b);
}

/* The rows of the file that are this one's to read. */
static MdStatus read_rows(CudaContext *context, MdState *state, Restored *rows, ListState *list) {
    const int64_t n = context->n_own;
    int32_t *words = md_alloc(3 * (size_t)n, sizeof *words, "restart file");
    double *numbers = md_alloc(3 * (size_t)n, sizeof *numbers, "restart file");
    MdStatus status = read_list(context, state, list);
    if (status == MD_OK) status = md_state_array(state, "id", words, sizeof *words, n);
    for (int64_t i = 0; status == MD_OK && i < n; i++) rows[i].id = words[i];
    if (status == MD_OK) status = md_state_array(state, "image", words, 3 * sizeof *words, n);
    for (int64_t i = 0; status == MD_OK && i < n; i++) {
        memcpy(rows[i].image, words + 3 * i, sizeof rows[i].image);
        rows[i].type = state->type[i];
    }
    for (int which = CUDA_RAW_POSITION; which <= CUDA_RAW_REFERENCE && status == MD_OK; which++) {
        status = md_state_rows(state, raw_names[which], numbers, n, raw_size(context, which));
        for (int64_t i = 0; status == MD_OK && i < n; i++)
            memcpy(rows[i].raw[which], numbers + 3 * i, sizeof rows[i].raw[which]);
    }
    md_free(words);
    md_free(numbers);
    return status;
}

/* To the owners of their places of the last build: from md_alloc, with *n of them. */
static Restored *deal_rows(CudaContext *context, const Restored *rows, const CudaGrid *grid, int64_t *n) {
    const int size = md_comm_size(context->comm);
    int64_t *bytes = md_alloc(2 * (size_t)size, sizeof *bytes, "restart file"), n_sorted = 0;
    int32_t *owner = md_alloc((size_t)context->n_own, sizeof *owner, "restart file");
    Restored *sorted = md_alloc((size_t)context->n_own, sizeof *sorted, "restart file");
    for (int i = 0; i < context->n_own; i++)
        owner[i] = cuda_domain_owner(context, grid, rows[i].raw[CUDA_RAW_REFERENCE]);
    for (int rank = 0; rank < size; rank++)
        for (int i = 0; i < context->n_own; i++) {
            if (owner[i] != rank) continue;
            sorted[n_sorted++] = rows[i];
            bytes[rank] += (int64_t)sizeof *sorted;
        }
    Restored *own = md_comm_alltoallv(context->comm, sorted, bytes, bytes + size);
    *n = 0;
    for (int rank = 0; rank < size; rank++) *n += bytes[size + rank] / (int64_t)sizeof *own;
    md_free(sorted);
    md_free(owner);
    md_free(bytes);
    return own;
}

/* Types, masses, images and ids. */
static void import_tags(CudaContext *context, const Restored *rows) {
    const size_t n = (size_t)context->n_own;
    int32_t *types = md_alloc(n, sizeof *types, "restart file");
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    for (size_t i = 0; i < n; i++) {
        types[i] = rows[i].type;
        tags[i] = (CudaTag){rows[i].image[0], rows[i].image[1], rows[i].image[2], rows[i].id};
    }
    import(context, CUDA_K_gather_import_types, types, n * sizeof *types);
    CUDA_CHECK(cudaMemcpyAsync(context->arguments.now.tag, tags, n * sizeof *tags, cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    md_free(types);
    md_free(tags);
}

static void pick(const Restored *rows, int which, int64_t n, double *numbers) {
    for (int64_t i = 0; i < n; i++) memcpy(numbers + 3 * i, rows[i].raw[which], sizeof rows[i].raw[which]);
}

/* The rows as the particles are in memory now. */
static void order_rows(CudaContext *context, Restored *rows) {
    const size_t n = (size_t)context->n_own;
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    Restored *ordered = md_alloc(n, sizeof *ordered, "restart file");
    qsort(rows, n, sizeof *rows, by_id);
    cuda_memory_download(context, tags, context->arguments.now.tag, n * sizeof *tags);
    for (size_t i = 0; i < n; i++) {
        const Restored wanted = {.id = tags[i].id}, *row = bsearch(&wanted, rows, n, sizeof *rows, by_id);
        md_require(row != NULL); /* it has its atoms before it makes its list, and nobody leaves */
        ordered[i] = *row;
    }
    memcpy(rows, ordered, n * sizeof *rows);
    md_free(ordered);
    md_free(tags);
}

static MdStatus import_rows(CudaContext *context, Restored *rows, const ListState *list, const CudaGrid *grid) {
    double *numbers = md_alloc(1, raw_bytes(context), "restart file");
    import_tags(context, rows);
    pick(rows, CUDA_RAW_REFERENCE, context->n_own, numbers);
    const MdStatus status = make_list(context, list, grid, numbers);
    if (status == MD_OK) order_rows(context, rows);
    for (int which = CUDA_RAW_POSITION; which <= CUDA_RAW_FORCE && status == MD_OK; which++) {
        pick(rows, which, context->n_own, numbers);
        context->arguments.raw_quantity = which;
        import(context, CUDA_K_gather_import_raw, numbers, raw_bytes(context));
    }
    context->has_forces = true;
    context->halo.is_stale = true;
    md_free(numbers);
    return status;
}

static MdStatus load_domain(CudaContext *context, MdState *state) {
    ListState list;
    Restored *rows = md_alloc((size_t)context->n_own, sizeof *rows, "restart file"), *own = NULL;
    MdStatus status = cuda_domain_agree(context, read_rows(context, state, rows, &list));
    if (status == MD_OK) {
        const CudaGrid grid = grid_of(context, &list);
        int64_t n;
        own = deal_rows(context, rows, &grid, &n);
        const bool grows = n > context->room;
        const bool released = cuda_peers_release(context, grows);
        if (grows) status = cuda_memory_grow_atoms(context, n);
        status = cuda_peers_take(context, released, status);
        if (status == MD_OK) {
            cuda_domain_set_own(context, n);
            status = import_rows(context, own, &list, &grid);
        }
    }
    md_free(own);
    md_free(rows);
    return status;
}

MdStatus cuda_state_load(CudaContext *context, MdState *state) {
    if (context->comm && state->same_list) return load_domain(context, state);
    double *rows = md_alloc(1, raw_bytes(context), "restart file");
    int32_t *ids = NULL, *row = NULL;
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_memory_begin(context, CUDA_STAGING);
    MdStatus status = load_tags(context, state, &ids);
    if (status == MD_OK && state->same_list) status = load_list(context, state, ids, rows, &row);
    for (int which = CUDA_RAW_POSITION; which <= CUDA_RAW_FORCE && status == MD_OK; which++)
        status = load_raw(context, state, which, row, rows);
    cuda_memory_end(context, CUDA_STAGING);
    md_free(rows);
    md_free(ids);
    md_free(row);
    return status;
}
