/* Stage neighbor, host side: the rule when the list is built anew, growth after an overflow, and the way out of the list
 * by id. The kernels and their ladder stand in kernels/neighbor.cu.
 *
 * A thread that is past the capacity keeps counting but writes nothing; the host reads the largest count, grows the
 * list and repeats the search. */
#include <string.h>

#include "base/memory.h"
#include "cuda/context.h"

static void search(CudaContext *context) {
    const CudaList *list = &context->arguments.list;
    size_t bytes = (size_t)context->n_atoms * sizeof(int32_t);
    if (context->config.neighbor_write == MD_LIST_WRITE_ATOMIC)
        CUDA_CHECK(cudaMemsetAsync(list->counts, 0, bytes, context->stream));
    if (context->config.neighbor_search == MD_SEARCH_BRUTE)
        cuda_launch(context, CUDA_K_neighbor_brute, context->n_atoms);
    else cuda_launch(context, CUDA_K_neighbor_cell, context->n_atoms);
}

static void zero_measures(CudaContext *context) {
    CUDA_CHECK(cudaMemsetAsync(&context->arguments.watch->measures, 0, sizeof(CudaMeasures), context->stream));
}

static MdStatus search_until_it_fits(CudaContext *context) {
    for (;;) {
        cuda_timing_begin(context, CUDA_NEIGHBOR);
        zero_measures(context);
        search(context);
        cuda_launch_blocks(context, CUDA_K_neighbor_count, cuda_reduce_blocks(context));
        cuda_watch_read(context, true);
        cuda_timing_end(context);
        int32_t largest = context->h_watch->measures.largest_count;
        context->n_entries = (int64_t)context->h_watch->measures.entries;
        if (largest <= context->arguments.list.capacity) return MD_OK;
        MdStatus status = cuda_memory_grow_list(context, largest);
        if (status != MD_OK) return status;
    }
}

/* Largest displacement since the build as the watch on the host has it; true: more than half the skin. */
static bool moved_too_far(const CudaContext *context) {
    float moved_sq;
    memcpy(&moved_sq, &context->h_watch->measures.moved_sq, sizeof moved_sq);
    return moved_sq > context->arguments.halt_sq;
}

static bool needs_bounds(const CudaContext *context) {
    bool open = false;
    for (int axis = 0; axis < context->box.dimension; axis++) open = open || !context->box.periodic[axis];
    return open && cuda_sort_needs_cells(context);
}

MdStatus cuda_neighbor_build(CudaContext *context) {
    if (context->lateness_sent) {
        CUDA_CHECK(cudaEventSynchronize(context->watched));
        context->lateness_sent = false;
        if (moved_too_far(context)) context->n_late_rebuilds++;
    }
    if (needs_bounds(context)) {
        cuda_reduce_measure(context);
        cuda_watch_read(context, true);
    }
    /* After a fault the motion is over: the old list is still safe to use, a new one could be of any size. */
    if (context->h_signals->fault) return MD_OK;
    cuda_memory_begin(context, CUDA_REBUILD);
    cuda_sort_particles(context);
    MdStatus status = search_until_it_fits(context);
    cuda_memory_end(context, CUDA_REBUILD);
    if (status != MD_OK) return status;
    context->built = true;
    context->n_builds++;
    return MD_OK;
}

bool cuda_neighbor_acts(const CudaContext *context, int64_t step) {
    int64_t every = context->config.neighbor_every;
    return context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK || step % every == 0 || (step + 1) % every == 0;
}

MdStatus cuda_neighbor_update(CudaContext *context, int64_t step) {
    int64_t every = context->config.neighbor_every;
    if (!context->built) return cuda_neighbor_build(context);
    if (context->config.neighbor_rebuild == MD_REBUILD_HOST_CHECK) {
        /* kick_drift has measured and sent the displacement of this step; the one wait of the step. The build comes
         * before the forces that would have missed a pair, so that none of these rebuilds is late. */
        CUDA_CHECK(cudaEventSynchronize(context->watched));
        return moved_too_far(context) ? cuda_neighbor_build(context) : MD_OK;
    }
    if (step % every == 0) return cuda_neighbor_build(context);
    /* The list is used as it is. How far atoms are from where it was built at the last use before the next build tells
     * whether that build comes late; the host looks when it builds. */
    if ((step + 1) % every == 0) {
        cuda_reduce_measure(context);
        cuda_watch_read(context, false);
        context->lateness_sent = true;
    }
    return MD_OK;
}

MdStatus cuda_neighbor_export(CudaContext *context, MdRows *rows) {
    if (!context->built) return md_fail(context->errors, MD_ERROR_INTERNAL, "there is no neighbour list yet");
    const CudaList *list = &context->arguments.list;
    int64_t n = context->n_atoms, last = n - 1;
    size_t n_stored = (size_t)(last * list->row_stride + (list->capacity - 1) * list->entry_stride + 1);
    CudaTag *tags = md_alloc((size_t)n, sizeof *tags, "ids for the export of the list");
    int32_t *counts = md_alloc((size_t)n, sizeof *counts, "row lengths for the export of the list");
    int32_t *entries = md_alloc(n_stored, sizeof *entries, "export of the list");
    cuda_memory_download(context, tags, context->arguments.now.tag, (size_t)n * sizeof *tags);
    cuda_memory_download(context, counts, list->counts, (size_t)n * sizeof *counts);
    cuda_memory_download(context, entries, list->entries, n_stored * sizeof *entries);

    memset(rows, 0, sizeof *rows);
    rows->n_atoms = n;
    rows->offsets = md_alloc((size_t)n + 1, sizeof *rows->offsets, "offsets of rows");
    for (int64_t i = 0; i < n; i++) rows->offsets[tags[i].id + 1] = counts[i];
    for (int64_t id = 0; id < n; id++) rows->offsets[id + 1] += rows->offsets[id];
    rows->ids = md_alloc((size_t)rows->offsets[n], sizeof *rows->ids, "ids of rows");
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            rows->ids[rows->offsets[tags[i].id] + k] = tags[entries[i * list->row_stride + k * list->entry_stride]].id;
    md_free(tags);
    md_free(counts);
    md_free(entries);
    return MD_OK;
}
