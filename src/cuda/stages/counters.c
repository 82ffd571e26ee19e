/* The work of a force call and of a build of the list, counted by kernels that are compiled for that: those which are
 * timed do not pay for it. */
#include <string.h>

#include "cuda/stages/stages.h"

static void zero_counters(CudaContext *context) {
    CUDA_CHECK(
        cudaMemsetAsync(context->arguments.counters, 0, CUDA_N_COUNTS * sizeof(unsigned long long), context->stream));
}

static void read_counters(CudaContext *context, unsigned long long counts[CUDA_N_COUNTS]) {
    cuda_memory_download(context, counts, context->arguments.counters, CUDA_N_COUNTS * sizeof *counts);
}

static void count_forces(CudaContext *context, MdCounters *counters) {
    unsigned long long counts[CUDA_N_COUNTS];
    zero_counters(context);
    cuda_memory_begin(context, CUDA_FORCES);
    cuda_force_issue(context, false);
    read_counters(context, counts);
    counters->force_pairs_tested = (int64_t)counts[CUDA_COUNT_TESTED];
    counters->force_pairs_inside = (int64_t)counts[CUDA_COUNT_INSIDE];
    counters->force_atomics = (int64_t)counts[CUDA_COUNT_ATOMICS];
}

static MdStatus count_search(CudaContext *context, MdCounters *counters) {
    unsigned long long counts[CUDA_N_COUNTS];
    double has_grown; /* with any rank */
    do {              /* the search that found room for all, on all ranks */
        const int64_t n_overflows = context->n_overflows;
        zero_counters(context);
        MdStatus status = cuda_neighbor_build(context, true);
        if (status != MD_OK) return status;
        has_grown = n_overflows != context->n_overflows;
        md_comm_max(context->comm, &has_grown, 1);
    } while (has_grown > 0);
    read_counters(context, counts);
    counters->search_pairs_tested = (int64_t)counts[CUDA_COUNT_TESTED];
    counters->search_pairs_inside = (int64_t)counts[CUDA_COUNT_INSIDE];
    counters->search_atomics = (int64_t)counts[CUDA_COUNT_ATOMICS];
    counters->list_entries = (int64_t)context->h_status->measures.entries;
    counters->list_bytes = counters->list_entries * (int64_t)sizeof(int32_t);
    return MD_OK;
}

static MdStatus count(CudaContext *context, MdCounters *counters) {
    CudaUncounted plain;
    MdStatus status = cuda_kernels_begin_counting(context, &plain);
    if (status == MD_OK) {
        count_forces(context, counters);
        if (context->facts.has_list) status = count_search(context, counters);
    }
    cuda_kernels_end_counting(context, &plain);
    return status;
}

MdStatus cuda_counters_take(CudaContext *context, MdCounters *counters) {
    *counters = (MdCounters){-1, -1, -1, -1, -1, -1, -1, -1};
    /* This work is not counted for the run, except that its last list was used for too long. */
    CudaTimer timers[CUDA_N_STAGES];
    const int64_t n_builds = context->n_builds, n_overflows = context->n_overflows;
    const double overflow_s = context->overflow_s;
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_timing_book(context);
    memcpy(timers, context->timers, sizeof timers);

    MdStatus status = count(context, counters);
    if (status == MD_OK) cuda_force_issue(context, false); /* the order of the atoms is another now */

    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_timing_book(context);
    memcpy(context->timers, timers, sizeof timers);
    context->n_builds = n_builds;
    context->n_overflows = n_overflows;
    context->overflow_s = overflow_s;
    return status;
}
