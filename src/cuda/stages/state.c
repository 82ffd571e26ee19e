/* Particles into the cuda backend; its whole state, into a restart file and out of it. The kernels stand in kernels/gather.cu.
 *
 * The list is not kept, but what it was made from: the places at the last build in the order of memory, and the grid. From
 * these the same kernels make the same rows with their entries in the same order. */
#include <string.h>

#include "base/memory.h"
#include "cuda/stages/stages.h"

/* Without gaps: its bytes go into the file. */
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

static size_t raw_bytes(const CudaContext *context) { return 3 * (size_t)context->n_atoms * sizeof(double); }

/* --- out ------------------------------------------------------------------------------------------------------------ */

/* Image and id travel together; in the file they are apart. */
static MdStatus save_tags(CudaContext *context, MdState *state) {
    const size_t n = (size_t)context->n_atoms;
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    int32_t *words = md_alloc(3 * n, sizeof *words, "restart file");
    cuda_memory_download(context, tags, context->arguments.now.tag, n * sizeof *tags);
    for (size_t i = 0; i < n; i++) words[i] = tags[i].id;
    MdStatus status = md_state_array(state, "id", words, n * sizeof *words);
    for (size_t i = 0; i < n; i++) {
        words[3 * i] = tags[i].ix;
        words[3 * i + 1] = tags[i].iy;
        words[3 * i + 2] = tags[i].iz;
    }
    if (status == MD_OK) status = md_state_array(state, "image", words, 3 * n * sizeof *words);
    md_free(tags);
    md_free(words);
    return status;
}

static MdStatus save_raw(CudaContext *context, MdState *state, int which, double *rows) {
    context->arguments.raw_quantity = which;
    context->arguments.out = context->staging;
    cuda_launch(context, CUDA_K_gather_export_raw, context->n_atoms);
    cuda_memory_download(context, rows, context->staging, raw_bytes(context));
    return md_state_rows(state, raw_names[which], rows, context->n_atoms, raw_size(context, which));
}

static MdStatus save_list(CudaContext *context, MdState *state) {
    const CudaGrid *grid = &context->arguments.grid;
    ListState list;
    memset(&list, 0, sizeof list);
    for (int a = 0; a < 3; a++) {
        list.n[a] = grid->n[a];
        list.wraps[a] = grid->wraps[a];
        list.origin[a] = grid->origin[a];
        list.inverse_edge[a] = grid->inverse_edge[a];
        list.n_bricks[a] = grid->n_bricks[a];
    }
    list.brick_cells = context->brick_cells;
    list.brick_grid = context->brick_grid;
    cuda_status_read(context, true);
    list.age = (int64_t)context->h_status->step + context->h_status->drifted - context->h_status->built_step;
    return md_state_array(state, "cuda list", &list, sizeof list);
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
    cuda_launch(context, kernel, context->n_atoms);
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
    size_t n = (size_t)context->n_atoms, vectors = 3 * n * sizeof(double);
    for (int t = 0; t < system->potential.n_types; t++) context->arguments.inverse_mass_of[t] = 1 / system->mass[t];
    cuda_memory_begin(context, CUDA_STAGING);
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
    const size_t n = (size_t)context->n_atoms;
    int32_t *words = md_alloc(3 * n, sizeof *words, "restart file");
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    *ids = md_alloc(n, sizeof **ids, "restart file");
    MdStatus status = md_state_array(state, "id", *ids, n * sizeof **ids);
    for (size_t i = 0; status == MD_OK && i < n; i++) words[i] = state->type[(*ids)[i]];
    if (status == MD_OK) {
        import(context, CUDA_K_gather_import_types, words, n * sizeof *words);
        status = md_state_array(state, "image", words, 3 * n * sizeof *words);
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

static MdStatus load_raw(CudaContext *context, MdState *state, int which, double *rows) {
    MdStatus status = md_state_rows(state, raw_names[which], rows, context->n_atoms, raw_size(context, which));
    if (status != MD_OK) return status;
    context->arguments.raw_quantity = which;
    import(context, CUDA_K_gather_import_raw, rows, raw_bytes(context));
    context->has_forces = which == CUDA_RAW_FORCE;
    return MD_OK;
}

/* The search needs the order of memory that it has had: the sort of particles that are sorted must leave them. */
static MdStatus check_order(CudaContext *context, const int32_t *ids) {
    const size_t n = (size_t)context->n_atoms;
    CudaTag *tags = md_alloc(n, sizeof *tags, "restart file");
    bool same = true;
    cuda_memory_download(context, tags, context->arguments.now.tag, n * sizeof *tags);
    for (size_t i = 0; i < n; i++) same = same && tags[i].id == ids[i];
    md_free(tags);
    if (same) return MD_OK;
    return md_fail(context->errors, MD_ERROR_INTERNAL, "the order of the restart file could not be made again");
}

/* Of the list that was made again: what the next one goes by. Steps of this context begin with 0. */
static void set_age(CudaContext *context, int64_t age) {
    const long long built_step = -age;
    context->built_step = -age;
    CUDA_CHECK(cudaMemcpyAsync(&context->arguments.status->built_step, &built_step, sizeof built_step,
                               cudaMemcpyDefault, context->stream));
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
}

static MdStatus load_list(CudaContext *context, MdState *state, const int32_t *ids, double *rows) {
    ListState list;
    MdStatus status = md_state_array(state, "cuda list", &list, sizeof list);
    if (status == MD_OK) status = load_raw(context, state, CUDA_RAW_REFERENCE, rows);
    if (status != MD_OK) return status;
    context->arguments.raw_quantity = CUDA_RAW_POSITION; /* and there the particles are while the list is made */
    import(context, CUDA_K_gather_import_raw, rows, raw_bytes(context));
    CudaGrid grid;
    for (int a = 0; a < 3; a++) {
        grid.n[a] = list.n[a];
        grid.wraps[a] = list.wraps[a];
        grid.origin[a] = list.origin[a];
        grid.inverse_edge[a] = list.inverse_edge[a];
        grid.n_bricks[a] = list.n_bricks[a];
    }
    context->brick_cells = list.brick_cells;
    context->brick_grid = (int)list.brick_grid;
    status = cuda_neighbor_build_again(context, &grid);
    set_age(context, list.age);
    context->n_overflows = 0; /* they were counted when it was made for the first time */
    context->overflow_s = 0;
    return status == MD_OK ? check_order(context, ids) : status;
}

MdStatus cuda_state_load(CudaContext *context, MdState *state) {
    double *rows = md_alloc(1, raw_bytes(context), "restart file");
    int32_t *ids = NULL;
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_memory_begin(context, CUDA_STAGING);
    MdStatus status = load_tags(context, state, &ids);
    if (status == MD_OK && state->same_list) status = load_list(context, state, ids, rows);
    for (int which = CUDA_RAW_POSITION; which <= CUDA_RAW_FORCE && status == MD_OK; which++)
        status = load_raw(context, state, which, rows);
    cuda_memory_end(context, CUDA_STAGING);
    md_free(rows);
    md_free(ids);
    return status;
}
