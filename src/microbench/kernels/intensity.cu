/* Arithmetic intensity: operations for each byte moved. Each element is read, goes through a.parameter multiply-adds and is
 * written: 2 operations each, 8 bytes in all. Few of them: memory sets the pace; many: arithmetic does. The multiply-adds of an
 * element wait for one another; 64 warps a multiprocessor fill the gaps. */
#include "microbench/kernels/ceiling.cuh"

CEILING(intensity) {
    const long long i = thread_index();
    if (i < a.n) a.b[i] = raise(a.a[i], a.one, a.parameter);
}
