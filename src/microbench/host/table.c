#include "microbench/host/table.h"

#include <math.h>
#include <string.h>

/* Groups in the order of the tables. */
static const struct {
    const char *name, *about;
} groups[] = {
    {"bandwidth", "main memory, by the pattern of access"},
    {"transpose", "a matrix transposed: reads or writes go against the order of memory"},
    {"reduction", "the sum of an array: the ladder from atomic additions to registers"},
    {"banks", "shared memory: bank conflicts by stride"},
    {"atomics", "atomic additions, from one address for all threads to one address each"},
    {"paths", "ways to read a small table: constant, read-only and texture path, by the index"},
    {"branch", "the cost of a branch: by warp and by lane on a GPU, predicted or not on a CPU"},
    {"occupancy", "the number of threads that hides the latency of memory, and the idle part of a grid"},
    {"intensity",
     "a roofline by arithmetic intensity, from memory bound to compute bound; and by the number of threads"},
    {"arithmetic", "operations per second, with and without fused multiply-add, by independent chains"},
    {"operations",
     "throughput by operation: division, roots, sines, conversions, integers, warps, halves, tensor cores"},
    {"matrix", "the product of two matrices: the same arithmetic, with more and more use of each number loaded"},
    {"transfer", "copies between host and device: kinds of host memory, directions"},
    {"streams", "copies, kernels and the host, concurrently"},
    {"unified", "unified memory: page faults, prefetch, advice, more than fits"},
    {"latency", "the time of one launch, barrier, copy, wait or load"},
    {"random", "random numbers by cuRAND, on the host and on the device"},
    {"peers", "messages between two processes, and between their GPUs: mpirun -n 2 mdmini --ceilings peers"},
};

const char *md_ceiling_group_name(int k) { return k < (int)(sizeof groups / sizeof groups[0]) ? groups[k].name : NULL; }

const char *md_ceiling_group(const char *name) {
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++)
        if (strcmp(groups[k].name, name) == 0) return groups[k].about;
    return NULL;
}

bool md_ceiling_is_named(const MdCeiling *row, const char *name) {
    const size_t n = strlen(row->group);
    if (strncmp(row->group, name, n) != 0) return false;
    if (name[n] != ':') return name[n] == '\0';
    const char *variant = name + n + 1 + strspn(name + n + 1, " ");
    return strcmp(variant, "*") == 0 || strcmp(variant, row->variant) == 0;
}

const MdCeiling *md_ceiling_row(int k) {
    const MdCeiling *const tables[] = {md_ceilings_cpu, md_ceilings_cuda};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const MdCeiling *row = tables[t]; row->variant; row++)
            if (k-- == 0) return row;
    return NULL;
}

const char *md_ceiling_unit(MdCeilingUnit unit) {
    static const char *const words[] = {
        [MD_GB_PER_S] = "GB/s", [MD_GFLOP_PER_S] = "GFLOP/s", [MD_G_PER_S] = "G/s", [MD_MICROSECONDS] = "us"};
    return words[unit];
}

const char *md_sheet_name(MdSheet sheet) {
    static const char *const words[] = {[MD_SHEET_NONE] = NULL,
                                        [MD_SHEET_MEMORY] = "memory bandwidth",
                                        [MD_SHEET_SHARED] = "shared-memory bandwidth",
                                        [MD_SHEET_SINGLE] = "peak in single precision",
                                        [MD_SHEET_DOUBLE] = "peak in double precision"};
    return words[sheet];
}

const char *md_roof_name(MdRoof roof) {
    static const char *const words[] = {[MD_ROOF_NONE] = NULL,
                                        [MD_ROOF_MEMORY] = "memory_bandwidth",
                                        [MD_ROOF_L2] = "l2_bandwidth",
                                        [MD_ROOF_SHARED] = "shared_bandwidth",
                                        [MD_ROOF_SINGLE] = "peak_single",
                                        [MD_ROOF_DOUBLE] = "peak_double"};
    return words[roof];
}

MdCeilingUnit md_roof_unit(MdRoof roof) {
    return roof == MD_ROOF_SINGLE || roof == MD_ROOF_DOUBLE ? MD_GFLOP_PER_S : MD_GB_PER_S;
}

double md_ceiling_elements(const MdCeiling *row, int64_t size, int n_threads) {
    return pow((double)size, row->dimension) * (row->each ? n_threads : 1);
}

double md_ceiling_figure(const MdCeiling *row, double n_elements, double seconds) {
    switch (row->unit) {
    case MD_GB_PER_S: return 1e-9 * row->bytes * n_elements / seconds;
    case MD_GFLOP_PER_S: return 1e-9 * row->operations * n_elements / seconds;
    case MD_G_PER_S: return 1e-9 * n_elements / seconds;
    default: return 1e6 * seconds / n_elements;
    }
}
