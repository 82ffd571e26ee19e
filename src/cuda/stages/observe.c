/* Stage observe, host side; the kernel and its ladder are in kernels/observe.cu.
 *
 * A sample is one launch at the end of a step, into its row of sums on the device. The host takes many rows at once, when it has to
 * wait anyway or there is no row left: until then nothing waits for a sample. */
#include "base/memory.h"
#include "cuda/stages/array_table.h"

void cuda_observe_issue(CudaContext *context, const MdObservation *observation, int64_t kept_step) {
    CudaArguments *a = &context->arguments;
    if (observation->counts_pairs) cuda_count_issue(context, observation->count_row);
    if (!observation->quantities) return;
    cuda_timing_begin(context, CUDA_OBSERVE);
    cuda_reduce_begin_extremes(context);
    a->observe = observation->quantities;
    a->origins = observation->origins;
    a->observed_row = observation->row;
    a->kick_first = context->kick_open;
    a->kept_step = (unsigned long long)kept_step;
    cuda_launch_blocks(context, CUDA_K_observe_motion, cuda_sum_blocks(context, CUDA_K_observe_motion));
    cuda_reduce_end_extremes(context);
    cuda_timing_end(context);
}

void cuda_observe_take(CudaContext *context, int n_rows, double *sums) {
    const size_t n = (size_t)n_rows * cuda_row_sums(context);
    MdSplitSum *parts = md_alloc(n, sizeof *parts, "samples");
    cuda_memory_download(context, parts, context->arguments.observed, n * sizeof *parts);
    cuda_memory_clear_samples(context);
    md_ranks_split_sums(context->comm, parts, (int)n, sums);
    md_free(parts);
}
