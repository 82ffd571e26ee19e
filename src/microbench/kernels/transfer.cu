/* Work for the copies to overlap with, and reads and writes of memory that lies elsewhere (mapped, unified). */
#include "microbench/kernels/ceiling.cuh"

/* b = 3 a after a.parameter multiply-adds that change nothing. a and b may be one array. */
CEILING(transfer_scale) {
    const long long i = thread_index();
    if (i >= a.n) return;
    float x = a.a[i];
    for (int step = 0; step < a.parameter; step++) x = x * a.one + (a.one - 1);
    a.b[i] = 3 * a.one * x;
}

CEILING(transfer_add) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = a.a[i] + a.c[i];
}

/* Adds 1 to every element, in as few threads as the GPU holds. */
RESIDENT_CEILING(transfer_increment) {
    for (long long i = thread_index(); i < a.n; i += grid_size()) a.b[i] += a.one;
}
