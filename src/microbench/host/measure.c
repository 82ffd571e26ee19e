#include "microbench/host/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "microbench/stages/measure.h"

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

bool md_ceilings_agree(const MdComm *comm, bool holds, char reason[MD_CEILING_REASON]) {
    typedef struct Answer {
        bool holds;
        char reason[MD_CEILING_REASON - 24]; /* the number of the rank comes before it */
    } Answer;
    if (!comm) return holds;
    Answer own = {.holds = holds}, *all = md_alloc((size_t)md_comm_size(comm), sizeof *all, "ceilings");
    if (!holds) snprintf(own.reason, sizeof own.reason, "%.*s", (int)sizeof own.reason - 1, reason);
    md_comm_allgather(comm, &own, sizeof own, all);
    int rank = 0;
    while (rank < md_comm_size(comm) && all[rank].holds) rank++;
    holds = rank == md_comm_size(comm);
    if (!holds) snprintf(reason, MD_CEILING_REASON, "rank %d: %s", rank, all[rank].reason);
    md_free(all);
    return holds;
}

/* Seconds of the slowest rank: so all ranks decide alike. */
static double slowest(const MdComm *comm, double seconds) {
    md_comm_max(comm, &seconds, 1);
    return seconds;
}

/* The rows of a backend in progress: named rows all get a first round before any gets a second. */
typedef struct Tour {
    const MdCeilingsBackend *backend;
    void *machine;
    const MdCeilingsChoice *choice;
    double start_s;
    bool is_last; /* the rounds after the first; all of them where there is one turn */
} Tour;

static bool is_spent(const Tour *t) {
    return slowest(t->choice->comm, md_clock_s() - t->start_s) >= t->backend->budget_s;
}

/* Calls of a batch that is long enough; two in a row must be, as one may have been held up. */
static int64_t find_batch(const Tour *t, void *prepared) {
    int64_t n_calls = 1;
    for (int n_long = 0;;) {
        const double seconds = slowest(t->choice->comm, t->backend->run(prepared, n_calls));
        n_long = seconds < batch_s ? 0 : n_long + 1;
        if (n_long == 2 || seconds > row_limit_s || (n_long == 0 && n_calls == MOST_CALLS)) return n_calls;
        if (is_spent(t)) return n_calls;
        if (n_long == 1) continue;
        const double wanted = 1.2 * (double)n_calls * batch_s / fmax(seconds, 1e-7);
        n_calls = (int64_t)fmin(fmax(wanted, 2.0 * (double)n_calls), MOST_CALLS);
    }
}

/* The first round of a row, or the following ones: fewer if they are long, or the time is spent. */
static void time_rounds(const Tour *t, void *prepared, MdCeilingResult *result) {
    const bool quick = t->choice->quick;
    if (result->n_calls == 0) result->n_calls = quick ? 1 : find_batch(t, prepared);
    const int most = !t->is_last ? 1 : quick ? QUICK_ROUNDS : MD_CEILING_ROUNDS;
    const double start_s = md_clock_s();
    while (result->n_rounds < most) {
        const bool is_long =
            result->n_rounds >= MD_CEILING_FEWEST && slowest(t->choice->comm, md_clock_s() - start_s) >= row_limit_s;
        if (is_long || (result->n_rounds > 0 && is_spent(t))) break;
        const double seconds = slowest(t->choice->comm, t->backend->run(prepared, result->n_calls));
        result->samples[result->n_rounds++] = seconds / (double)result->n_calls;
    }
}

/* Median and interval of the rounds; of one there is no interval. */
static void summarize(MdCeilingResult *result) {
    const double n_elements = result->of.n_elements, least = 1e-12; /* a clock may show no time at all */
    double low, high;
    result->confidence = md_bench_summarize(result->samples, result->n_rounds, &low, &result->seconds, &high);
    result->seconds = fmax(result->seconds, least);
    result->figure = md_ceiling_figure(result->of.row, n_elements, result->seconds);
    if (result->n_rounds == 1) return;
    const double a = md_ceiling_figure(result->of.row, n_elements, fmax(low, least));
    const double b = md_ceiling_figure(result->of.row, n_elements, fmax(high, least));
    result->figure_low = fmin(a, b);
    result->figure_high = fmax(a, b);
}

static bool is_right(const Tour *t, void *prepared, MdCeilingResult *result) {
    return md_ceilings_agree(t->choice->comm, t->backend->check(prepared, result->reason), result->reason);
}

static bool leave_if_spent(const Tour *t, MdCeilingResult *result) {
    if (!is_spent(t)) return false;
    if (result->n_rounds == 0)
        snprintf(result->reason, sizeof result->reason, "the %.0f s for this part are spent; to measure them name %s",
                 t->backend->budget_s, t->choice->n_names ? "fewer rows" : "their group");
    return true;
}

/* One turn of a row, which may be the first that is measured at all, however long that takes. Results are right after the
 * first call, and after the last. */
static void measure_case(const Tour *t, bool is_first, MdCeilingResult *result) {
    char reason[MD_CEILING_REASON] = "";
    if (!is_first && leave_if_spent(t, result)) return;
    void *prepared = t->backend->prepare(t->machine, &result->of, reason);
    if (!prepared && result->n_rounds == 0) memcpy(result->reason, reason, sizeof reason);
    if (!prepared) return;
    (void)slowest(t->choice->comm, t->backend->run(prepared, 1)); /* all have ended: their writes are complete */
    bool right = result->n_rounds > 0 || is_right(t, prepared, result);
    const bool timed = right && (is_first || !leave_if_spent(t, result));
    if (timed) {
        time_rounds(t, prepared, result);
        right = is_right(t, prepared, result);
        if (right && t->is_last && result->of.row->sums) t->backend->sum(prepared, &result->sum);
    }
    t->backend->release(prepared);
    if (right && !timed) return;
    result->state = right ? MD_CEILING_PASSED : MD_CEILING_FAILED;
    result->sheet = t->backend->sheet(t->machine, result->of.row->sheet);
    if (right) summarize(result);
    else result->figure = result->figure_low = result->figure_high = result->seconds = NAN;
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

/* When a case has its turn: by kind, then by the name that chooses it, then by work, then in the order of the table. */
typedef struct Turn {
    int kind; /* 0: roofs, where nothing is named; 2: numbers of threads between one and all, which are missed least */
    int name;
    double work;
    MdCeilingResult *result;
} Turn;

static int compare_turns(const void *a, const void *b) {
    const Turn *x = a, *y = b;
    if (x->kind != y->kind) return x->kind - y->kind;
    if (x->name != y->name) return x->name - y->name;
    if (x->work != y->work) return x->work < y->work ? -1 : 1;
    return (x->result > y->result) - (x->result < y->result);
}

static Turn turn_of(const MdCeilingsChoice *choice, MdCeilingResult *result, int most_threads) {
    const MdCeilingCase *c = &result->of;
    const bool is_between = c->n_threads > 1 && c->n_threads < most_threads;
    const bool is_roof = choice->n_names == 0 && c->row->roof != MD_ROOF_NONE;
    Turn turn = {.kind = is_between ? 2 : !is_roof,
                 .work = (c->row->bytes + c->row->operations) * c->n_elements,
                 .result = result};
    while (turn.name < choice->n_names && !md_ceiling_is_named(c->row, choice->names[turn.name])) turn.name++;
    return turn;
}

void md_ceilings_measure(const MdCeilingsBackend *backend, void *machine, const MdCeilingsChoice *choice,
                         MdCeilingResults *results) {
    const int first = results->n;
    list_cases(backend, machine, choice, results);
    const int n = results->n - first;
    Turn *turns = md_alloc((size_t)n + 1, sizeof *turns, "ceilings");
    for (int k = 0; k < n; k++) turns[k] = turn_of(choice, &results->rows[first + k], backend->most_threads(machine));
    qsort(turns, (size_t)n, sizeof *turns, compare_turns);
    const bool one_turn = n == 1 || choice->n_names == 0;
    Tour tour = {backend, machine, choice, md_clock_s(), one_turn};
    bool any = false;
    for (;; tour.is_last = true) {
        for (int k = 0; k < n; k++) {
            MdCeilingResult *result = turns[k].result;
            if (tour.is_last && !one_turn && result->state != MD_CEILING_PASSED) continue;
            measure_case(&tour, !any, result);
            any = any || result->state != MD_CEILING_LEFT_OUT;
        }
        if (tour.is_last) break;
    }
    md_free(turns);
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
