/* Graphs: work that is issued by one call of the host, with gaps of half a microsecond between its kernels.
 *
 * Kernels of a graph keep the arguments that they were captured with, so that the graph serves while these last: two are kept
 * of each kind, since a rebuild swaps the two copies of the particles, and those of the counts of few cells. */
#include <stddef.h>
#include <string.h>

#include "cuda/stages/stages.h"

bool cuda_graph_serves(const CudaContext *context) {
    return context->config.launch_graph == MD_GRAPH_ON || context->config.launch_persistent == MD_PERSISTENT_ON;
}

/* The current arguments as far as a graph depends on them. Arguments that differ from call to call are at their end; the function
 * that issues the work sets them. */
static void lasting_arguments(const CudaContext *context, bool reads_grid, CudaArguments *arguments) {
    const size_t lasting = offsetof(CudaArguments, n);
    memcpy(arguments, &context->arguments, lasting);
    memset((char *)arguments + lasting, 0, sizeof *arguments - lasting);
    if (reads_grid) return;
    memset(&arguments->grid, 0, sizeof arguments->grid);
    arguments->cell_count = NULL;
}

static void capture(CudaContext *context, CudaGraph *kept, CudaGraphWork issue, int n) {
    cudaGraph_t graph;
    if (context->open_span) context->open_span->is_alone = true;
    if (kept->exec) CUDA_CHECK(cudaGraphExecDestroy(kept->exec));
    memset(kept->launches, 0, sizeof kept->launches);
    context->capturing = kept;
    CUDA_CHECK(cudaStreamBeginCapture(context->stream, cudaStreamCaptureModeThreadLocal));
    issue(context, n);
    CUDA_CHECK(cudaStreamEndCapture(context->stream, &graph));
    context->capturing = NULL;
    CUDA_CHECK(cudaGraphInstantiateWithFlags(&kept->exec, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
}

static CudaGraph *find_graph(CudaContext *context, CudaGraphs *graphs, bool reads_grid, CudaGraphWork issue, int n) {
    CudaArguments arguments;
    lasting_arguments(context, reads_grid, &arguments);
    for (int k = 0; k < CUDA_KEPT_GRAPHS; k++) {
        CudaGraph *kept = &graphs->kept[k];
        if (kept->exec && memcmp(&kept->arguments, &arguments, sizeof arguments) == 0) return kept;
    }
    CudaGraph *oldest = &graphs->kept[graphs->next];
    graphs->next = (graphs->next + 1) % CUDA_KEPT_GRAPHS;
    capture(context, oldest, issue, n);
    memcpy(&oldest->arguments, &arguments, sizeof arguments);
    return oldest;
}

void cuda_graph_launch(CudaContext *context, CudaGraphs *graphs, bool reads_grid, CudaGraphWork issue, int n) {
    const CudaGraph *graph = find_graph(context, graphs, reads_grid, issue, n);
    cuda_nccl_begin_launch(context->halo.nccl);
    CUDA_CHECK(cudaGraphLaunch(graph->exec, context->stream));
    cuda_nccl_end_launch(context->halo.nccl, context->stream);
    for (int id = 0; id < CUDA_N_KERNELS; id++) context->kernels[id].launches += graph->launches[id];
}

/* A kernel that finds nothing to do. */
static void issue_idle(CudaContext *context, int n) {
    context->arguments.n = n;
    cuda_launch_blocks(context, CUDA_K_sort_scan_sums, 1);
}

void cuda_graph_prepare(CudaContext *context) {
    CudaGraph first = {0};
    if (!cuda_graph_serves(context)) return;
    capture(context, &first, issue_idle, 0);
    CUDA_CHECK(cudaGraphLaunch(first.exec, context->stream)); /* not counted */
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    CUDA_CHECK(cudaGraphExecDestroy(first.exec));
}

void cuda_graph_destroy(CudaGraphs *graphs) {
    for (int k = 0; k < CUDA_KEPT_GRAPHS; k++)
        if (graphs->kept[k].exec) CUDA_CHECK(cudaGraphExecDestroy(graphs->kept[k].exec));
}
