/* The rows of the cpu: memory and its content, the call, and the expected result.
 *
 * Arrays are filled by the threads that will work on them, part by part, so that on a machine of several memories each
 * part lies near its thread. Numbers are small and whole: sums are exact in any order. */
#define _POSIX_C_SOURCE 200809L
#include "microbench/cpu/ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "cpu/context.h"
#include "cpu/threads.h"
#include "microbench/cpu/backend.h"
#include "sensors/host.h"

typedef struct Machine {
    int most_threads;
    MdCpuCeilingKernel *const *kernels;
    MdComm *comm;
} Machine;

/* --- machine ------------------------------------------------------------------------------------------------------- */

static MdCpuCeilingKernel *const *kernels_of(MdCpuInstructions set) {
#ifdef MDMINI_CPU_V4
    if (set == MD_CPU_V4) return md_cpu_ceilings_v4();
#endif
#ifdef MDMINI_CPU_V3
    if (set == MD_CPU_V3) return md_cpu_ceilings_v3();
#endif
    (void)set;
    return md_cpu_ceilings_baseline();
}

static MdStatus open_machine(void **machine, const MdConfig *config, bool quick, MdComm *comm, MdErrors *errors) {
    (void)quick;
    MdCpuInstructions set;
    MdStatus status = md_cpu_find_instructions(&set, errors);
    if (status != MD_OK) return status;
    Machine *m = md_alloc(1, sizeof *m, "ceilings");
    m->most_threads = md_cpu_threads(config);
    m->kernels = kernels_of(set);
    m->comm = comm;
    *machine = m;
    return MD_OK;
}

static int most_threads(const void *machine) { return ((const Machine *)machine)->most_threads; }

static double cache_bytes(const void *machine) {
    (void)machine;
    return md_host_caches().all_bytes.value;
}

/* Processors tell neither the channels of their memory nor the clock that they keep under load. */
static double sheet(const void *machine, MdSheet which) {
    (void)machine, (void)which;
    return NAN;
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

static bool is_of(const MdCpuCeiling *c, const char *group) { return strcmp(c->of.row->group, group) == 0; }
static bool is(const MdCpuCeiling *c, const char *variant) { return strcmp(c->of.row->variant, variant) == 0; }

/* Elements of the array that is read. */
static int64_t source_length(const MdCpuCeiling *c) {
    if (is_of(c, "transpose")) return c->n * c->width;
    if (strncmp(c->of.row->variant, "stride", 6) == 0) return c->n * c->of.row->parameter;
    if (strncmp(c->of.row->variant, "gather", 6) == 0) return 4 * c->n;
    if (is_of(c, "peers")) return c->of.row->parameter;
    return c->of.row->each ? (int64_t)c->of.row->parameter * c->of.n_threads : c->n;
}

static double source_value(int64_t i) { return (double)(i * 7 % 61); }

/* Zeros and ones, of which single precision holds the sum exactly. */
static float small_number(int64_t i) { return i * 7 % 61 < 15 ? 1 : 0; }

static void fill_sources(MdCpuCeiling *c) {
    const int64_t n = source_length(c);
#pragma omp parallel for num_threads(c->of.n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        c->a[i] = source_value(i);
        if (c->b) c->b[i] = -1;
        if (c->c) c->c[i] = source_value(i + 5);
        if (is_of(c, "peers")) c->a[i] = source_value(i + 5 * md_comm_rank(c->comm));
    }
}

/* Memory that no thread has touched. */
static void *take(size_t bytes) {
    void *pointer = NULL;
    if (posix_memalign(&pointer, 4096, bytes) != 0) md_panic("no memory for ceilings (%zu bytes)", bytes);
    return pointer;
}

/* --- inputs of branches and gathers -------------------------------------------------------------------------------- */

/* Steele, Lea, Flood 2014 (SplitMix64): random enough for a predictor and for a cache. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int compare_numbers(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void make_numbers(MdCpuCeiling *c, int32_t below, bool sorted) {
    uint64_t state = 1;
    for (int64_t i = 0; i < c->n; i++) c->index[i] = (int32_t)(next_random(&state) % (uint64_t)below);
    if (sorted) qsort(c->index, (size_t)c->n, sizeof *c->index, compare_numbers);
}

static void fill_index(MdCpuCeiling *c) {
    const int kind = c->of.row->parameter;
    if (is_of(c, "bandwidth") && kind > 0) make_numbers(c, (int32_t)(4 * c->n), kind == 1);
    else if (is_of(c, "branch") && kind >= 2) make_numbers(c, 256, kind == 2);
    else
        for (int64_t i = 0; i < c->n; i++)
            c->index[i] = (int32_t)(is_of(c, "branch") ? (kind == 0 || i % 2 ? 200 : 100) : i);
}

/* A chain that no cache holds, if it is one of main memory; each entry has its own line. */
static int64_t count_places(const MdCpuCeiling *c) {
    const int64_t n = c->of.row->parameter / MD_CPU_LINE;
    const double last_bytes = md_host_caches().last_bytes.value, line_bytes = MD_CPU_LINE * sizeof(int64_t);
    if (!is(c, "memory") || c->of.quick || isnan(last_bytes)) return n;
    return (int64_t)fmax((double)n, ceil(4 * last_bytes / line_bytes));
}

/* One cycle through all entries in random order (Sattolo 1986). */
static void fill_chain(MdCpuCeiling *c) {
    uint64_t state = 1;
    for (int64_t i = 0; i < c->n_places; i++) c->chain[i * MD_CPU_LINE] = i * MD_CPU_LINE;
    for (int64_t i = c->n_places - 1; i > 0; i--) {
        int64_t *to = c->chain + i * MD_CPU_LINE,
                *from = c->chain + (int64_t)(next_random(&state) % (uint64_t)i) * MD_CPU_LINE;
        const int64_t swapped = *to;
        *to = *from;
        *from = swapped;
    }
}

static void fill_matrices(MdCpuCeiling *c) {
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->n; j++) {
            c->f[i * c->n + j] = (float)((3 * i + j) % 7);
            c->g[i * c->n + j] = (float)((i + 5 * j) % 8);
            c->h[i * c->n + j] = -1;
        }
}

/* --- messages between processes ----------------------------------------------------------------------------------- */

/* of.size exchanges with the partner, both ways at once. */
static void run_messages(MdCpuCeiling *c) {
    const int64_t bytes = c->of.row->parameter * (int64_t)sizeof *c->a;
    const MdMessage messages[] = {{.rank = c->partner, .data = c->b, .bytes = bytes},
                                  {.rank = c->partner, .is_sent = true, .data = c->a, .bytes = bytes}};
    for (int64_t k = 0; k < c->n && c->partner >= 0; k++) {
        md_comm_begin(c->comm, messages, 2);
        md_comm_end(c->comm);
    }
}

/* of.size agreements on a number of 8 bytes, as a run has them. The last rank has the largest number. */
static void run_agreements(MdCpuCeiling *c) {
    for (int64_t k = 0; k < c->n; k++) {
        c->results[0] = source_value(c->n_calls + k) + md_comm_rank(c->comm);
        md_comm_max(c->comm, c->results, 1);
    }
}

/* --- a row --------------------------------------------------------------------------------------------------------- */

typedef struct Prepared {
    MdCpuCeiling c;
    MdCpuCeilingKernel *run;
} Prepared;

static uint64_t needed_bytes(const MdCpuCeiling *c) {
    const uint64_t n = (uint64_t)c->n;
    if (is_of(c, "matrix")) return 3 * n * n * sizeof(float);
    if (is_of(c, "latency")) return (uint64_t)c->n_places * MD_CPU_LINE * sizeof(int64_t);
    return 3 * (uint64_t)source_length(c) * sizeof(double) + n * sizeof(int32_t);
}

static void fill(MdCpuCeiling *c) {
    const size_t n = (size_t)c->n, lines = (size_t)c->of.n_threads * MD_CPU_LINE + MD_CPU_LINE;
    c->results = md_alloc(lines, sizeof *c->results, "ceilings");
    c->counts = md_alloc(lines, sizeof *c->counts, "ceilings");
    if (is_of(c, "matrix")) {
        c->f = take(n * n * sizeof *c->f);
        c->g = take(n * n * sizeof *c->g);
        c->h = take(n * n * sizeof *c->h);
        fill_matrices(c);
    } else if (c->n_places > 0) {
        c->chain = take((size_t)c->n_places * MD_CPU_LINE * sizeof *c->chain);
        fill_chain(c);
    } else if (c->of.row->sums) {
        c->f = take(n * sizeof *c->f);
        for (int64_t i = 0; i < c->n; i++) c->f[i] = small_number(i);
    } else if (is_of(c, "peers") || is_of(c, "bandwidth") || is_of(c, "transpose") || is_of(c, "reduction")) {
        const size_t bytes = (size_t)source_length(c) * sizeof *c->a;
        c->a = take(bytes);
        if (c->of.row->bytes > 12 || is_of(c, "peers")) c->b = take(bytes);
        if (is(c, "triad")) c->c = take(bytes);
        if (is(c, "write")) c->b = take(bytes);
        fill_sources(c);
    }
    if (is_of(c, "branch") || strncmp(c->of.row->variant, "gather", 6) == 0) {
        c->index = take(n * sizeof *c->index);
        fill_index(c);
    }
}

static void *prepare(void *machine, const MdCeilingCase *of, char reason[MD_CEILING_REASON]) {
    const Machine *m = machine;
    MdCpuCeiling c = {.of = *of, .n = of->size, .width = of->size, .one = 1, .comm = m->comm};
    if (is_of(&c, "transpose")) c.width += of->row->parameter;
    if (is_of(&c, "latency") && of->row->parameter > 1) c.n_places = count_places(&c);
    const char *why = of->size > of->row->size || c.n_places * MD_CPU_LINE > of->row->parameter
                          ? " for arrays of four times the caches"
                          : "";
    const uint64_t bytes = needed_bytes(&c), available = md_host_memory_available_bytes();
    if (bytes > available / 2)
        snprintf(reason, MD_CEILING_REASON, "needs %s of main memory%s, and half of the free memory is %s",
                 md_bytes(bytes).text, why, md_bytes(available / 2).text);
    if (is_of(&c, "peers") && !m->comm) snprintf(reason, MD_CEILING_REASON, MD_CEILINGS_ALONE);
    if (!md_ceilings_agree(m->comm, !*reason, reason)) return NULL;
    c.partner = md_comm_rank(m->comm) < 2 ? 1 - md_comm_rank(m->comm) : -1;
    fill(&c);
    Prepared *prepared = md_alloc(1, sizeof *prepared, "ceilings");
    *prepared = (Prepared){c, !is_of(&c, "peers")             ? m->kernels[of->row - md_ceilings_cpu]
                              : is(&c, "all-reduce, 8 bytes") ? run_agreements
                                                              : run_messages};
    return prepared;
}

static double run(void *prepared, int64_t n_calls) {
    Prepared *p = prepared;
    double unused = 0;
    md_comm_max(p->c.comm, &unused, 1); /* several processes begin together */
    const double start_s = md_clock_s();
    for (int64_t k = 0; k < n_calls; k++) {
        p->run(&p->c);
        p->c.n_calls++;
    }
    return md_clock_s() - start_s;
}

static void release(void *prepared) {
    Prepared *p = prepared;
    void *const taken[] = {p->c.a, p->c.b, p->c.c, p->c.f, p->c.g, p->c.h, p->c.index, p->c.chain};
    for (size_t k = 0; k < sizeof taken / sizeof taken[0]; k++) free(taken[k]);
    md_free(p->c.results);
    md_free(p->c.counts);
    md_free(p);
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

static bool equal(const char *what, double is_value, double expected, char reason[MD_CEILING_REASON]) {
    if (is_value == expected) return true;
    snprintf(reason, MD_CEILING_REASON, "%s is %.17g and should be %.17g", what, is_value, expected);
    return false;
}

/* Of the elements of one call, in all threads: on large machines a check by one thread would take longer than the row. */
static double sum_of_sources(const MdCpuCeiling *c, int64_t first, int64_t n, int64_t stride) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += source_value(c->index ? c->index[i] : first + i * stride);
    return sum;
}

/* Sums of whole numbers: exact in any order. Of an array that is read again and again, a pass is as good as any. */
static bool check_sum(MdCpuCeiling *c, char *reason) {
    const int stride = strncmp(c->of.row->variant, "stride", 6) == 0 ? c->of.row->parameter : 1;
    const int64_t n = c->of.row->each ? c->of.row->parameter : c->n, n_passes = (c->n + n - 1) / n;
    for (int t = 0; t < (c->of.row->each ? c->of.n_threads : 1); t++) {
        const double expected = (double)n_passes * sum_of_sources(c, t * n, n, stride);
        if (!equal("the sum", c->results[t * MD_CPU_LINE], expected, reason)) return false;
        c->results[t * MD_CPU_LINE] = NAN;
    }
    return true;
}

static bool check_single(MdCpuCeiling *c, char *reason) {
    double expected = 0;
    for (int64_t i = 0; i < c->n; i++) expected += (double)small_number(i);
    const bool right = equal("the sum", c->results[0], expected, reason);
    c->results[0] = NAN;
    return right;
}

static double array_value(const MdCpuCeiling *c, int64_t i) {
    const double s = 3, a = source_value(i), addend = source_value(i + 5);
    if (is_of(c, "peers")) return source_value(i + 5 * c->partner);
    return is(c, "write") ? s : is(c, "copy") ? a : is(c, "scale") ? s * a : a + s * addend;
}

static bool check_array(MdCpuCeiling *c, char *reason) {
    int64_t first_bad = INT64_MAX;
    const int64_t n = is_of(c, "peers") ? c->partner >= 0 ? c->of.row->parameter : 0 : c->n;
#pragma omp parallel for schedule(static) reduction(min : first_bad)
    for (int64_t i = 0; i < n; i++) {
        if (c->b[i] != array_value(c, i) && i < first_bad) first_bad = i;
        else c->b[i] = NAN;
    }
    return first_bad == INT64_MAX || equal("an element", c->b[first_bad], array_value(c, first_bad), reason);
}

static bool check_agreement(MdCpuCeiling *c, char *reason) {
    const double largest = source_value(c->n_calls + c->n - 2) + md_comm_size(c->comm) - 1; /* of the last call */
    const bool right = equal("the largest number", c->results[0], largest, reason);
    c->results[0] = NAN;
    return right;
}

static bool check_transpose(MdCpuCeiling *c, char *reason) {
    for (int64_t row = 0; row < c->n; row++)
        for (int64_t column = 0; column < c->n; column++) {
            const int64_t from = is(c, "copy") ? row * c->width + column : column * c->width + row;
            if (!equal("an element", c->b[row * c->width + column], source_value(from), reason)) return false;
            c->b[row * c->width + column] = NAN;
        }
    return true;
}

static bool check_branch(MdCpuCeiling *c, char *reason) {
    double sum = 0, passed = 0;
    for (int64_t i = 0; i < c->n; i++)
        if (c->index[i] >= 128) sum += c->index[i], passed++;
    const bool right =
        equal("the sum", c->results[0], sum, reason) && equal("the count", c->results[1], passed, reason);
    c->results[0] = c->results[1] = NAN;
    return right;
}

static bool check_arithmetic(MdCpuCeiling *c, char *reason) {
    for (int t = 0; t < c->of.n_threads; t++) {
        if (!equal("the sum of the chains", c->results[t * MD_CPU_LINE], (double)c->n, reason)) return false;
        c->results[t * MD_CPU_LINE] = NAN;
    }
    return true;
}

/* A wrong C has C x = A (B x) by chance only (Freivalds 1977); all numbers are whole, so that both sides are exact. */
static bool check_matrix(MdCpuCeiling *c, char *reason) {
    const int64_t n = c->n;
    double *x = md_alloc((size_t)(2 * n), sizeof *x, "a check"), *y = x + n;
    uint64_t state = (uint64_t)c->n_calls;
    bool right = true;
    for (int64_t i = 0; i < n; i++) x[i] = (double)(next_random(&state) % 1024);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) y[i] += (double)c->g[i * n + k] * x[k];
    for (int64_t i = 0; i < n && right; i++) {
        double product = 0, expected = 0;
        for (int64_t k = 0; k < n; k++) {
            product += (double)c->h[i * n + k] * x[k];
            expected += (double)c->f[i * n + k] * y[k];
            c->h[i * n + k] = NAN;
        }
        right = equal("an element of C x", product, expected, reason);
    }
    md_free(x);
    return right;
}

/* The counts of threads: each in its own line, or all in one. */
static bool check_counts(MdCpuCeiling *c, char *reason) {
    const int kind = is_of(c, "atomics") ? c->of.row->parameter : 0, threads = c->of.n_threads;
    const int step = kind < 2 ? MD_CPU_LINE : 1, n_places = kind < 3 ? threads : 1;
    const double expected = (double)c->n * (double)c->n_calls * (kind < 3 ? 1 : threads);
    for (int t = 0; t < n_places; t++) {
        if (!equal("a count", (double)c->counts[t * step], expected, reason)) return false;
        c->counts[t * step] = 0;
    }
    return true;
}

/* Follows all calls since the last check. */
static bool check_chain(MdCpuCeiling *c, char *reason) {
    for (int64_t i = 0; i < c->n * c->n_calls; i++) c->checked_at = c->chain[c->checked_at];
    const bool right = equal("the position in the chain", (double)c->at, (double)c->checked_at, reason);
    c->at = c->checked_at;
    return right;
}

static bool check(void *prepared, char reason[MD_CEILING_REASON]) {
    MdCpuCeiling *c = &((Prepared *)prepared)->c;
    bool right;
    if (is_of(c, "transpose")) right = check_transpose(c, reason);
    else if (is_of(c, "branch")) right = check_branch(c, reason);
    else if (is_of(c, "arithmetic")) right = check_arithmetic(c, reason);
    else if (is_of(c, "matrix")) right = check_matrix(c, reason);
    else if (is_of(c, "atomics") || (is_of(c, "latency") && !c->chain)) right = check_counts(c, reason);
    else if (is_of(c, "latency")) right = check_chain(c, reason);
    else if (c->of.row->sums) right = check_single(c, reason);
    else if (is(c, "all-reduce, 8 bytes")) right = check_agreement(c, reason);
    else right = c->b ? check_array(c, reason) : check_sum(c, reason);
    c->n_calls = 0;
    return right;
}

/* The sum of numbers 1.23 in single precision. */
static void sum(void *prepared, MdCeilingSum *sum) {
    Prepared *p = prepared;
    const MdCpuCeiling kept = p->c;
    const int64_t n = kept.of.quick ? kept.n : MD_CEILING_NUMBERS;
    if (3 * (uint64_t)n * sizeof(float) > md_host_memory_available_bytes()) return;
    p->c.n = n;
    p->c.f = take((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) p->c.f[i] = MD_CEILING_NUMBER;
    p->run(&p->c);
    *sum = (MdCeilingSum){.n = n, .value = (double)MD_CEILING_NUMBER, .result = kept.results[0]};
    free(p->c.f);
    p->c = kept;
}

const MdCeilingsBackend md_ceilings_of_cpu = {.name = "cpu",
                                              .budget_s = 30,
                                              .open = open_machine,
                                              .close = md_free,
                                              .element_bytes = sizeof(double),
                                              .most_threads = most_threads,
                                              .cache_bytes = cache_bytes,
                                              .sheet = sheet,
                                              .prepare = prepare,
                                              .run = run,
                                              .check = check,
                                              .sum = sum,
                                              .release = release};
