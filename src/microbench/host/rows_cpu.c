/* The ceilings of the cpu. An element of the arrays is a double of 8 bytes, where nothing else is said.
 *
 * Sizes: arrays of 2^24 doubles are 128 MiB, and grow with the caches of the machine where main memory is meant; what is
 * meant to stay in a cache is 128 KiB a thread. Sizes of --quick are odd where kernels have edges to get right. */
#include "microbench/host/table.h"

/* group, variant, unit, bytes, operations, size, quick size, dimension, parameter; then what is seldom given */
#define ROW(group_, variant_, unit_, bytes_, operations_, size_, quick_, dimension_, parameter_, ...)                  \
    {                                                                                                                  \
        .backend = "cpu", .group = group_, .variant = variant_, .unit = unit_, .bytes = bytes_,                        \
        .operations = operations_, .size = size_, .quick_size = quick_, .dimension = dimension_,                       \
        .parameter = parameter_, __VA_ARGS__                                                                           \
    }
#define ALL      .threads = MD_THREADS_ALL
#define SWEEP    .threads = MD_THREADS_SWEEP
#define EACH     .each = true
#define OUTGROWS .outgrows = true
#define SUMS     .sums = true

/* CHAINS: whole registers and chains of every instruction set. */
/* An element is an exchange of so many doubles. */
#define MESSAGE(variant, n_exchanges, n_doubles)                                                                       \
    ROW("peers", variant, MD_MICROSECONDS, 8 * (n_doubles), 0, n_exchanges, 5, 1, n_doubles,                           \
        .shows = "memory of ranks 0 and 1 exchanged by MPI, both ways at once: time of an exchange",                   \
        .check = "every element")

enum { MILLION = 1 << 20, ARRAY = 16 * MILLION, CACHED = 16384, CHAINS = 192 };

const MdCeiling md_ceilings_cpu[] = {
    ROW("bandwidth", "read", MD_GB_PER_S, 8, 1, ARRAY, 1003, 1, 0, ALL, OUTGROWS,
        .shows = "an array summed: nothing is written", .check = "the sum, exactly"),
    ROW("bandwidth", "write", MD_GB_PER_S, 8, 0, ARRAY, 1003, 1, 0, ALL, OUTGROWS,
        .shows = "an array set: caches read each line before they write it, unless stores pass them by",
        .check = "every element"),
    ROW("bandwidth", "copy", MD_GB_PER_S, 16, 0, ARRAY, 1003, 1, 0, SWEEP, OUTGROWS,
        .shows = "b = a: how many threads it takes to fill the memory bus", .check = "every element"),
    ROW("bandwidth", "scale", MD_GB_PER_S, 16, 1, ARRAY, 1003, 1, 0, ALL, OUTGROWS,
        .shows = "b = s a: arithmetic is free here", .check = "every element"),
    ROW("bandwidth", "triad", MD_GB_PER_S, 24, 2, ARRAY, 1003, 1, 0, SWEEP, OUTGROWS, .roof = MD_ROOF_MEMORY,
        .shows = "b = a + s c (McCalpin, STREAM): the bandwidth that a roofline takes", .check = "every element"),
    ROW("bandwidth", "read, cached", MD_GB_PER_S, 8, 1, ARRAY, CACHED, 1, CACHED, ALL, EACH, .roof = MD_ROOF_L2,
        .shows = "128 KiB a thread, again and again: what the L2 cache delivers", .check = "the sum, exactly"),
    ROW("bandwidth", "stride 2", MD_GB_PER_S, 8, 1, ARRAY / 2, 503, 1, 2, ALL,
        .shows = "every second element: half of each cache line is moved for nothing", .check = "the sum, exactly"),
    ROW("bandwidth", "stride 4", MD_GB_PER_S, 8, 1, ARRAY / 4, 503, 1, 4, ALL,
        .shows = "a quarter of each line is used", .check = "the sum, exactly"),
    ROW("bandwidth", "stride 8", MD_GB_PER_S, 8, 1, ARRAY / 8, 503, 1, 8, ALL,
        .shows = "one element a line of 64 bytes: an eighth is left", .check = "the sum, exactly"),
    ROW("bandwidth", "stride 16", MD_GB_PER_S, 8, 1, ARRAY / 16, 503, 1, 16, ALL,
        .shows = "every second line, which prefetchers may fetch in vain", .check = "the sum, exactly"),
    ROW("bandwidth", "gather, in order", MD_GB_PER_S, 12, 1, 4 * MILLION, 1003, 1, 0, ALL,
        .shows = "a[index[i]], the index counts up: what the indirection itself costs", .check = "the sum, exactly"),
    ROW("bandwidth", "gather, sorted", MD_GB_PER_S, 12, 1, 4 * MILLION, 1003, 1, 1, ALL,
        .shows = "random places out of four times as many elements, in ascending order", .check = "the sum, exactly"),
    ROW("bandwidth", "gather, random", MD_GB_PER_S, 12, 1, 4 * MILLION, 1003, 1, 2, ALL,
        .shows = "the same places in random order: a line for each element", .check = "the sum, exactly"),

    ROW("transpose", "copy", MD_GB_PER_S, 16, 0, 4096, 83, 2, 0, ALL, .shows = "b = a: what a transpose could reach",
        .check = "every element"),
    ROW("transpose", "writes strided", MD_GB_PER_S, 16, 0, 4096, 83, 2, 0, ALL,
        .shows = "reads along rows, writes down columns: a line for each element written", .check = "every element"),
    ROW("transpose", "reads strided", MD_GB_PER_S, 16, 0, 4096, 83, 2, 0, ALL,
        .shows = "the other way round: a line for each element read", .check = "every element"),
    ROW("transpose", "blocked", MD_GB_PER_S, 16, 0, 4096, 83, 2, 0, ALL,
        .shows = "blocks of 32 x 32 stay in the L1 cache: lines are used whole", .check = "every element"),
    ROW("transpose", "blocked, padded", MD_GB_PER_S, 16, 0, 4096, 83, 2, 8, ALL,
        .shows = "and rows are a line longer: columns no longer fall into the same set of the cache",
        .check = "every element"),

    ROW("reduction", "atomic", MD_GB_PER_S, 8, 1, MILLION / 4, 1003, 1, 0, ALL,
        .shows = "every element added to one number of all threads: they take turns", .check = "the sum, exactly"),
    ROW("reduction", "one sum", MD_GB_PER_S, 8, 1, ARRAY, 1003, 1, 0,
        .shows = "one thread, one sum: an addition waits for the one before it", .check = "the sum, exactly"),
    ROW("reduction", "eight sums", MD_GB_PER_S, 8, 1, ARRAY, 1003, 1, 0,
        .shows = "eight independent sums: additions overlap", .check = "the sum, exactly"),
    ROW("reduction", "vector", MD_GB_PER_S, 8, 1, ARRAY, 1003, 1, 0,
        .shows = "eight vector registers: loads are the limit", .check = "the sum, exactly"),
    ROW("reduction", "threads", MD_GB_PER_S, 8, 1, ARRAY, 1003, 1, 0, ALL,
        .shows = "each thread its own part, joined at the end: memory is the limit", .check = "the sum, exactly"),
    ROW("reduction", "single precision", MD_GB_PER_S, 4, 1, ARRAY, 1003, 1, 0, SUMS,
        .shows = "one sum in single precision: what is added is lost once the sum is 2^24 times as large",
        .check = "the sum, exactly"),
    ROW("reduction", "single precision, compensated", MD_GB_PER_S, 4, 1, ARRAY, 1003, 1, 0, SUMS,
        .shows = "what each addition loses is kept and added to the next number (Kahan 1965)",
        .check = "the sum, exactly"),

    ROW("branch", "always", MD_G_PER_S, 4, 1, 4 * MILLION, 1003, 1, 0, .shows = "a branch that always goes one way",
        .check = "sum and count of what passed"),
    ROW("branch", "alternating", MD_G_PER_S, 4, 1, 4 * MILLION, 1003, 1, 1,
        .shows = "every second time: the predictor learns the pattern", .check = "sum and count of what passed"),
    ROW("branch", "sorted", MD_G_PER_S, 4, 1, 4 * MILLION, 1003, 1, 2,
        .shows = "random numbers above a threshold, sorted: one turn", .check = "sum and count of what passed"),
    ROW("branch", "random", MD_G_PER_S, 4, 1, 4 * MILLION, 1003, 1, 3,
        .shows = "the same numbers unsorted: every second guess is wrong", .check = "sum and count of what passed"),
    ROW("branch", "select", MD_G_PER_S, 4, 1, 4 * MILLION, 1003, 1, 4,
        .shows = "the same without a branch: adds the number or zero", .check = "sum and count of what passed"),

    ROW("arithmetic", "single, one chain", MD_GFLOP_PER_S, 0, 2, CHAINS << 14, CHAINS * 5, 1, 1, ALL, EACH,
        .shows = "each multiply-add waits for the one before: latency", .check = "every chain, exactly"),
    ROW("arithmetic", "single, not fused", MD_GFLOP_PER_S, 0, 2, CHAINS << 19, CHAINS * 5, 1, 2, ALL, EACH,
        .shows = "twelve chains; multiplications and additions apart: half the peak at most",
        .check = "every chain, exactly"),
    ROW("arithmetic", "single", MD_GFLOP_PER_S, 0, 2, CHAINS << 19, CHAINS * 5, 1, 12, SWEEP, EACH,
        .roof = MD_ROOF_SINGLE, .shows = "twelve chains of multiply-adds, fused where the processor can",
        .check = "every chain, exactly"),
    ROW("arithmetic", "double, one chain", MD_GFLOP_PER_S, 0, 2, CHAINS << 14, CHAINS * 5, 1, 1, ALL, EACH,
        .shows = "each multiply-add waits for the one before: latency", .check = "every chain, exactly"),
    ROW("arithmetic", "double, not fused", MD_GFLOP_PER_S, 0, 2, CHAINS << 19, CHAINS * 5, 1, 2, ALL, EACH,
        .shows = "twelve chains; multiplications and additions apart: half the peak at most",
        .check = "every chain, exactly"),
    ROW("arithmetic", "double", MD_GFLOP_PER_S, 0, 2, CHAINS << 19, CHAINS * 5, 1, 12, SWEEP, EACH,
        .roof = MD_ROOF_DOUBLE, .shows = "twelve chains of multiply-adds, fused where the processor can",
        .check = "every chain, exactly"),

    ROW("matrix", "ijk", MD_GFLOP_PER_S, 0, 2, 512, 64, 3, 0, ALL,
        .shows = "the formula as it stands: the inner loop goes down a column", .check = "C x = A (B x), exactly"),
    ROW("matrix", "ikj", MD_GFLOP_PER_S, 0, 2, 512, 64, 3, 0, ALL,
        .shows = "two loops exchanged: the inner loop goes along rows, in vector registers",
        .check = "C x = A (B x), exactly"),
    ROW("matrix", "blocked", MD_GFLOP_PER_S, 0, 2, 512, 64, 3, 0, ALL,
        .shows = "a block of C in registers: a number loaded is used many times", .check = "C x = A (B x), exactly"),

    ROW("atomics", "plain, own line", MD_G_PER_S, 0, 1, MILLION, 1003, 1, 0, ALL, EACH,
        .shows = "each thread counts in memory of its own, without atomics", .check = "every count"),
    ROW("atomics", "own line", MD_G_PER_S, 0, 1, MILLION, 1003, 1, 1, ALL, EACH,
        .shows = "atomic additions that nobody else wants: the price of the instruction", .check = "every count"),
    ROW("atomics", "one line", MD_G_PER_S, 0, 1, MILLION, 1003, 1, 2, ALL, EACH,
        .shows = "numbers of their own, but in one cache line: false sharing", .check = "every count"),
    ROW("atomics", "one number", MD_G_PER_S, 0, 1, MILLION, 1003, 1, 3, ALL, EACH,
        .shows = "one number for all: the line travels from core to core", .check = "the total count"),
    ROW("atomics", "critical section", MD_G_PER_S, 0, 1, MILLION / 16, 1003, 1, 4, ALL, EACH,
        .shows = "the same behind a lock", .check = "the total count"),

    ROW("latency", "L1 cache", MD_MICROSECONDS, 8, 0, MILLION, 1003, 1, 1 << 11,
        .shows = "a load whose address is the result of the load before, in 16 KiB", .check = "where the chain leads"),
    ROW("latency", "memory", MD_MICROSECONDS, 8, 0, MILLION / 4, 1003, 1, 1 << 23,
        .shows = "the same in 64 MiB or four times the last cache: neither caches nor prefetch help",
        .check = "where the chain leads"),
    ROW("latency", "barrier", MD_MICROSECONDS, 0, 0, 1000, 13, 1, 0, ALL, .shows = "all threads wait for each other",
        .check = "every thread was there each time"),
    ROW("latency", "parallel region", MD_MICROSECONDS, 0, 0, 1000, 13, 1, 1, ALL,
        .shows = "threads called, and waited for: fork and join", .check = "every thread was there each time"),

    MESSAGE("MPI, 8 bytes", 1000, 1),
    MESSAGE("MPI, 32 KB", 200, 4000),
    MESSAGE("MPI, 256 KB", 50, 32000),
    MESSAGE("MPI, 2 MB", 10, 250000),
    ROW("peers", "all-reduce, 8 bytes", MD_MICROSECONDS, 8, 0, 1000, 5, 1, 0,
        .shows = "all ranks learn the largest of their numbers, as a run agrees on when to build its lists",
        .check = "the largest number"),
    {0}};
