/* Saves the whole state of the cuda backend in a restart file (state_file.h). */
#include <string.h>

#include "base/memory.h"
#include "cuda/stages/state_file.h"

static size_t raw_bytes(const CudaContext *context) { return 3 * (size_t)context->n_own * sizeof(double); }

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
    cuda_gather_download(context, CUDA_K_gather_export_raw, rows, 3 * sizeof *rows);
    return md_state_rows(state, raw_names[which], rows, context->n_own, raw_size(context, which));
}

static MdStatus save_columns(CudaContext *context, MdState *state) {
    const size_t n = (size_t)context->n_own;
    CudaColumn columns[MD_N_COLUMNS];
    const int n_columns = cuda_columns(context, &context->arguments.now, columns);
    MdStatus status = MD_OK;
    for (int k = 0; k < n_columns && status == MD_OK; k++) {
        const MdColumn *column = &md_columns[columns[k].column];
        const size_t bytes = md_column_bytes(columns[k].column, context->config.run_precision);
        if (!(column->traits & MD_COLUMN_SAVED)) continue;
        void *rows = md_alloc(n, bytes, "restart file");
        cuda_memory_download(context, rows, *columns[k].array, n * bytes);
        status = md_state_array(state, column->name, rows, bytes, context->n_own);
        md_free(rows);
    }
    return status;
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
    if (status == MD_OK) status = save_columns(context, state);
    if (status == MD_OK) status = save_list(context, state);
    cuda_memory_end(context, CUDA_STAGING);
    md_free(rows);
    return status;
}
