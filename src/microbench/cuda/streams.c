/* Streams: kernels side by side, and the host beside a kernel. Copies in chunks, of the same group, are in transfer.c. Timed by
 * the clock of the host, as several streams are no matter of events. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "microbench/cuda/results.h"

/* Multiply-adds of a kernel, one after the other: some hundred microseconds, a hundred times the launch. A step of the host, a
 * product and a sum, takes about as long. With --quick they are so few that an emulator is soon done. */
enum { BLOCK = 256, STEPS = 1 << 17, QUICK_STEPS = 16 };

/* of.size kernels of one block, each on its own elements, in the streams by turns. */
static double run_kernels(CudaCeiling *c, int64_t n_calls) {
    const int n_streams = c->of.row->parameter;
    const double start_s = md_clock_s();
    for (int64_t call = 0; call < n_calls; call++)
        for (int64_t k = 0; k < c->n; k++) {
            CudaCeilingArguments a = c->arguments;
            a.a += k * BLOCK;
            a.b += k * BLOCK;
            cuda_ceiling_launch(c, &a, c->streams[k % n_streams]);
        }
    for (int k = 0; k < n_streams; k++) CUDA_CHECK(cudaStreamSynchronize(c->streams[k]));
    return md_clock_s() - start_s;
}

/* x = x * 1 + 1, each waiting for the one before: the number of steps. */
static double work_on_host(const CudaCeiling *c) {
    const double one = (double)c->arguments.one;
    double x = 0;
    for (int k = 0; k < c->arguments.parameter; k++) x = x * one + one;
    return x;
}

/* of.size times a kernel and the work of the host: when the kernel has ended, or while it runs. */
static double run_host(CudaCeiling *c, int64_t n_calls) {
    const bool beside = cuda_row_is(c, "host beside");
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls * c->n; k++) {
        cuda_ceiling_launch(c, &c->arguments, c->streams[0]);
        if (!beside) CUDA_CHECK(cudaStreamSynchronize(c->streams[0]));
        c->result = work_on_host(c);
        if (beside) CUDA_CHECK(cudaStreamSynchronize(c->streams[0]));
    }
    return md_clock_s() - start_s;
}

static bool check_host(CudaCeiling *c, char *reason) {
    const double steps = c->result;
    c->result = NAN;
    return cuda_ceiling_check_elements(c, reason) &&
           cuda_ceiling_equal("the host's result", steps, c->arguments.parameter, reason);
}

bool cuda_ceiling_prepare_streams(CudaCeiling *c, char *reason) {
    const bool host = cuda_row_has(c, "host ");
    if (cuda_row_has(c, "in, kernel, out")) return cuda_ceiling_prepare_transfer(c, reason);
    c->run = host ? run_host : run_kernels;
    c->check = host ? check_host : cuda_ceiling_check_elements;
    c->release = cuda_ceiling_release_streams;
    c->expected = cuda_ceiling_is_tripled;
    c->n_out = host ? BLOCK : c->n * BLOCK;
    c->arguments.a = c->m->d_source[0];
    c->arguments.n = BLOCK;
    c->arguments.parameter = c->of.quick ? QUICK_STEPS : STEPS;
    c->arguments.b = cuda_ceiling_take(c, (size_t)c->n_out * sizeof *c->arguments.b, reason);
    if (!c->arguments.b) return false;
    cuda_ceiling_make_streams(c, c->of.row->parameter);
    cuda_ceiling_shape(c, BLOCK);
    return cuda_ceiling_load(c, "transfer", "k_transfer_scale", reason);
}
