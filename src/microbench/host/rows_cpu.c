/* The rows of the cpu. An element of the arrays is a double of 8 bytes, unless stated otherwise.
 *
 * Sizes: arrays of 2^24 doubles are 128 MiB, and grow with the caches of the machine in rows for main memory; arrays
 * that must stay in a cache are 128 KiB a thread. Sizes of --quick are odd where kernels have edges to get right. */
#include "microbench/host/table.h"

#define ROW(kernel_, ...) MD_CEILING_ROW("cpu", __VA_ARGS__)

/* CHAINS: whole registers and chains of every instruction set. */
enum { MILLION = 1 << 20, ARRAY = 16 * MILLION, CACHED = 16384, CHAINS = 192 };

const MdCeiling md_ceilings_cpu[] = {
#include "microbench/host/rows_cpu.def"
    {0}};
