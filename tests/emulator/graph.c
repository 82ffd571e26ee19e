/* Graphs: the operations of a capture, in the order in which they were issued. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

static EmulatorGraph *graphs; /* and the executable ones */

EmulatorGraph *emulator_graph_create(void) {
    EmulatorGraph *graph = calloc(1, sizeof *graph);
    if (!graph) emulator_fail("no memory");
    graph->next = graphs;
    graphs = graph;
    return graph;
}

static EmulatorGraph *resolve(void *handle, bool executable) {
    for (EmulatorGraph *g = graphs; g; g = g->next)
        if ((void *)g == handle && g->executable == executable) return g;
    emulator_fail("%p is no %sgraph", handle, executable ? "executable " : "");
}

static void destroy(EmulatorGraph *graph) {
    EmulatorGraph **link = &graphs;
    while (*link != graph) link = &(*link)->next;
    *link = graph->next;
    emulator_queue_free(&graph->ops);
    free(graph);
}

void emulator_graph_run(EmulatorGraph *graph) {
    for (EmulatorOp *op = graph->ops.first; op; op = op->next) emulator_op_run(op);
}

static EmulatorOp *copy_of(const EmulatorOp *op) {
    EmulatorOp *copy = emulator_op(op->kind);
    *copy = *op;
    copy->next = NULL;
    if (op->kind != EMULATOR_OP_LAUNCH) return copy;
    copy->launch.arguments = emulator_copy_arguments(op->launch.function->kernel, op->launch.arguments);
    return copy;
}

EMULATOR_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph,
                                                       unsigned long long flags) {
    (void)flags;
    emulator_enter();
    EmulatorGraph *from = resolve(graph, false), *to = emulator_graph_create();
    to->executable = true;
    to->n_ops = from->n_ops;
    for (const EmulatorOp *op = from->ops.first; op; op = op->next) emulator_queue_append(&to->ops, copy_of(op));
    *executable = (cudaGraphExec_t)to;
    emulator_leave();
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000 /* before, it had five parameters */
EMULATOR_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                              unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
#endif

EMULATOR_API cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    emulator_enter();
    EmulatorOp *op = emulator_op(EMULATOR_OP_GRAPH);
    op->graph = resolve(executable, true);
    cudaError_t error = emulator_issue(stream, op);
    emulator_leave();
    return error;
}

EMULATOR_API cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    (void)stream;
    emulator_enter();
    resolve(executable, true);
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
    emulator_enter();
    EmulatorGraph *g = resolve(graph, false);
    if (nodes) emulator_fail("cudaGraphGetNodes gives the number of nodes only");
    *n = g->n_ops;
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    emulator_enter();
    destroy(resolve(graph, false));
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    emulator_enter();
    EmulatorGraph *graph = resolve(executable, true);
    emulator_drain_all(); /* it may be queued */
    destroy(graph);
    emulator_leave();
    return cudaSuccess;
}

EMULATOR_API size_t emulator_graphs_that_call(cudaHostFn_t function) {
    size_t n = 0;
    emulator_enter();
    for (const EmulatorGraph *g = graphs; g; g = g->next)
        for (const EmulatorOp *op = g->ops.first; op; op = op->next)
            n += op->kind == EMULATOR_OP_CALL && op->function == function;
    emulator_leave();
    return n;
}

size_t emulator_report_graphs(void) {
    size_t n = 0;
    for (EmulatorGraph *g = graphs; g; g = g->next) n++;
    if (n > 0) fprintf(stderr, "emulator: %zu graphs not destroyed\n", n);
    return n;
}
