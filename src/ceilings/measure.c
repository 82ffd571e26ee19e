#include "ceilings/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench/measure.h"

static const double batch_s = 5e-3;    /* a clock reading takes 1e-7, a wait for a GPU 1e-5 */
static const double row_limit_s = 0.3; /* of the rounds of a row, where the fewest take less */
/* Six rounds: their extremes enclose the median at 96.9 %. */
enum { MOST_CALLS = 1 << 20, QUICK_ROUNDS = 3 };

static MdCeilingResult *add(MdCeilingResults *results, const MdCeilingCase *c) {
    if (results->n == results->room) {
        const int room = 2 * results->room + 64;
        MdCeilingResult *rows = md_alloc((size_t)room, sizeof *rows, "ceilings");
        if (results->n > 0) memcpy(rows, results->rows, (size_t)results->n * sizeof *rows);
        md_free(results->rows);
        results->rows = rows;
        results->room = room;
    }
    MdCeilingResult *result = &results->rows[results->n++];
    *result = (MdCeilingResult){.of = *c,
                                .state = MD_CEILING_LEFT_OUT,
                                .seconds = NAN,
                                .figure = NAN,
                                .figure_low = NAN,
                                .figure_high = NAN,
                                .confidence = NAN,
                                .sheet = NAN};
    return result;
}

int64_t md_ceiling_outgrown(const MdCeiling *row, int element_bytes, double cache_bytes) {
    int64_t size = row->size;
    while (row->outgrows && (double)size * element_bytes < 4 * cache_bytes) size *= 2;
    return size;
}

/* machine: NULL where there is none. */
static MdCeilingCase case_of(const MdCeiling *row, int n_threads, bool quick, const MdCeilingsBackend *backend,
                             const void *machine) {
    const int64_t size = quick     ? row->quick_size
                         : machine ? md_ceiling_outgrown(row, backend->element_bytes, backend->cache_bytes(machine))
                                   : row->size;
    return (MdCeilingCase){row, size, n_threads, md_ceiling_elements(row, size, n_threads), quick};
}

static bool is_chosen(const MdCeiling *row, const char *backend, const MdCeilingsChoice *choice) {
    bool chosen = choice->n_names == 0;
    for (int k = 0; k < choice->n_names; k++) chosen = chosen || md_ceiling_is_named(row, choice->names[k]);
    return chosen && strcmp(row->backend, backend) == 0;
}

static int compare_reals(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool md_ceilings_agree(const MdComm *comm, bool holds, char reason[MD_CEILING_REASON]) {
    typedef struct Answer {
        bool holds;
        char reason[MD_CEILING_REASON - 24]; /* the number of the rank comes before it */
    } Answer;
    if (!comm) return holds;
    Answer own = {.holds = holds}, *all = md_alloc((size_t)md_comm_size(comm), sizeof *all, "ceilings");
    if (!holds) snprintf(own.reason, sizeof own.reason, "%.*s", (int)sizeof own.reason - 1, reason);
    md_comm_gather(comm, &own, sizeof own, all);
    int rank = 0;
    while (rank < md_comm_size(comm) && all[rank].holds) rank++;
    holds = rank == md_comm_size(comm);
    if (!holds) snprintf(reason, MD_CEILING_REASON, "rank %d: %s", rank, all[rank].reason);
    md_free(all);
    return holds;
}

/* Seconds of the slowest rank: what is decided by a time is decided alike by all. */
static double slowest(const MdComm *comm, double seconds) {
    md_comm_largest(comm, &seconds, 1);
    return seconds;
}

/* Calls of a batch that is long enough; two in a row must be, as one may have been held up. */
static int64_t find_batch(const MdCeilingsBackend *backend, void *prepared, const MdComm *comm) {
    int64_t n_calls = 1;
    for (int n_long = 0;;) {
        const double seconds = slowest(comm, backend->run(prepared, n_calls));
        n_long = seconds < batch_s ? 0 : n_long + 1;
        if (n_long == 2 || seconds > row_limit_s || (n_long == 0 && n_calls == MOST_CALLS)) return n_calls;
        if (n_long == 1) continue;
        const double wanted = 1.2 * (double)n_calls * batch_s / fmax(seconds, 1e-7);
        n_calls = (int64_t)fmin(fmax(wanted, 2.0 * (double)n_calls), MOST_CALLS);
    }
}

/* The rounds of a row; fewer where they are long. */
static void time_rounds(const MdCeilingsBackend *backend, void *prepared, const MdCeilingsChoice *choice,
                        MdCeilingResult *result) {
    const bool quick = choice->quick;
    double samples[MD_CEILING_ROUNDS];
    result->n_calls = quick ? 1 : find_batch(backend, prepared, choice->comm);
    const int most = quick ? QUICK_ROUNDS : MD_CEILING_ROUNDS, fewest = quick ? QUICK_ROUNDS : MD_CEILING_FEWEST;
    const double start_s = md_clock_s();
    int n = 0;
    while (n < most && (n < fewest || slowest(choice->comm, md_clock_s() - start_s) < row_limit_s))
        samples[n++] = slowest(choice->comm, backend->run(prepared, result->n_calls)) / (double)result->n_calls;
    qsort(samples, (size_t)n, sizeof samples[0], compare_reals);
    const int k = md_bench_interval(n, &result->confidence);
    const double n_elements = result->of.n_elements, least = 1e-12; /* a clock may show no time at all */
    result->n_rounds = n;
    result->seconds = fmax(md_bench_median(samples, n), least);
    const double a = md_ceiling_figure(result->of.row, n_elements, fmax(samples[k - 1], least));
    const double b = md_ceiling_figure(result->of.row, n_elements, fmax(samples[n - k], least));
    result->figure = md_ceiling_figure(result->of.row, n_elements, result->seconds);
    result->figure_low = fmin(a, b);
    result->figure_high = fmax(a, b);
}

/* Seconds of preparing and timing: checks are long on machines of many threads, and no reason to leave out rows. */
static double measure_case(const MdCeilingsBackend *backend, void *machine, const MdCeilingsChoice *choice,
                           MdCeilingResult *result) {
    const MdComm *comm = choice->comm;
    double start_s = md_clock_s();
    void *prepared = backend->prepare(machine, &result->of, result->reason);
    if (!prepared) return slowest(comm, md_clock_s() - start_s);
    (void)slowest(comm, backend->run(prepared, 1)); /* all have ended: what others write is there */
    double seconds = md_clock_s() - start_s;
    bool right = md_ceilings_agree(comm, backend->check(prepared, result->reason), result->reason);
    if (right) {
        start_s = md_clock_s();
        time_rounds(backend, prepared, choice, result);
        seconds += md_clock_s() - start_s;
        right = md_ceilings_agree(comm, backend->check(prepared, result->reason), result->reason);
        if (right && result->of.row->sums) backend->sum(prepared, &result->sum);
    }
    backend->release(prepared);
    result->state = right ? MD_CEILING_PASSED : MD_CEILING_FAILED;
    result->sheet = backend->sheet(machine, result->of.row->sheet);
    if (!right) result->figure = result->figure_low = result->figure_high = result->seconds = NAN;
    return slowest(comm, seconds);
}

/* Lists the cases of the chosen rows, in the order of the table. */
static void list_cases(const MdCeilingsBackend *backend, void *machine, const MdCeilingsChoice *choice,
                       MdCeilingResults *results) {
    const int most = backend->most_threads(machine);
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        if (!is_chosen(row, backend->name, choice)) continue;
        int n_threads = row->threads == MD_THREADS_ALL ? most : 1;
        for (bool last = false; !last; n_threads = 2 * n_threads < most ? 2 * n_threads : most) {
            const MdCeilingCase c = case_of(row, n_threads, choice->quick, backend, machine);
            add(results, &c);
            last = row->threads != MD_THREADS_SWEEP || n_threads == most;
        }
    }
}

/* The numbers of threads between one and all come last, as they are missed least where the time is short. Roofs are always
 * measured: they are the best over all of them. */
void md_ceilings_measure(const MdCeilingsBackend *backend, void *machine, const MdCeilingsChoice *choice,
                         MdCeilingResults *results) {
    const int most = backend->most_threads(machine), first = results->n;
    double spent_s = 0;
    list_cases(backend, machine, choice, results);
    for (int turn = 0; turn < 2; turn++)
        for (int k = first; k < results->n; k++) {
            MdCeilingResult *result = &results->rows[k];
            const bool is_roof = result->of.row->roof != MD_ROOF_NONE;
            const bool is_between = result->of.n_threads > 1 && result->of.n_threads < most && !is_roof;
            if (is_between != (turn == 1)) continue;
            if (spent_s < backend->budget_s || is_roof) spent_s += measure_case(backend, machine, choice, result);
            else
                snprintf(result->reason, sizeof result->reason,
                         "the %.0f s for this part are spent: name its group to measure it", backend->budget_s);
        }
}

void md_ceilings_leave_out(const char *backend, const char *reason, const MdCeilingsChoice *choice,
                           MdCeilingResults *results) {
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        if (!is_chosen(row, backend, choice)) continue;
        const MdCeilingCase c = case_of(row, 1, choice->quick, NULL, NULL);
        snprintf(add(results, &c)->reason, MD_CEILING_REASON, "%s", reason);
    }
}

void md_ceilings_free(MdCeilingResults *results) {
    md_free(results->rows);
    *results = (MdCeilingResults){0};
}
