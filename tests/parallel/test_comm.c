/* What ranks find together, with threads in the place of processes: values, what one deals to another, agreement. And what launchers tell
 * of themselves, and what becomes of processes that MPI does not join. */
#define _POSIX_C_SOURCE 200809L
#include "parallel/comm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "parallel/engine.h"
#include "parallel/launcher.h"
#include "parallel/rows.h"
#include "physics/split_sum.h"
#include "thread_ranks.h"

enum { MOST_RANKS = 7 };

typedef struct Result {
    double largest[2], sum, exact;
    int64_t count;
    char told[32];
    bool dealt;
    MdStatus own, agreed;
    MdErrors *errors;
} Result;

/* Terms of which a plain sum would lose bits, in another division for each number of ranks. */
static double term(int64_t k) { return k % 3 == 0 ? 1e3 * (double)(k + 1) : k % 3 == 1 ? -1e3 * (double)k : 0.1; }
enum { N_TERMS = 999 };

static void find_values(MdComm *comm, void *argument) {
    Result *result = argument;
    const int rank = md_comm_rank(comm);
    result->largest[0] = -rank;
    result->largest[1] = rank == 1 ? (double)NAN : rank;
    result->sum = rank + 0.5;
    result->count = (int64_t)1 << (40 + rank);
    md_comm_max(comm, result->largest, 2);
    md_comm_add_doubles(comm, &result->sum, 1);
    md_comm_add_integers(comm, &result->count, 1);
    MdSplitSum sum = {{0}};
    double shift[MD_SPLIT_PARTS];
    md_split_shifts(md_split_bits(N_TERMS), 20, shift);
    const int64_t begin = md_comm_block_begin(comm, N_TERMS), n = md_comm_block_size(comm, N_TERMS);
    for (int64_t k = begin; k < begin + n; k++) md_split_add(&sum, term(k), shift);
    md_comm_add_doubles(comm, sum.part, MD_SPLIT_PARTS);
    result->exact = md_split_value(&sum);
    snprintf(result->told, sizeof result->told, rank == 0 ? "of rank 0" : "of rank %d", rank);
    md_comm_broadcast(comm, result->told, sizeof result->told);
}

/* Each rank sends to rank r as many rows as their ranks make together: sender, receiver, place. They stand in any order, and others
 * between them go nowhere. */
static void deal(MdComm *comm, void *argument) {
    enum { WIDTH = 3 };
    Result *result = argument;
    const int rank = md_comm_rank(comm), size = md_comm_size(comm);
    int32_t out[2 * MOST_RANKS * 2 * MOST_RANKS][WIDTH], to[2 * MOST_RANKS * 2 * MOST_RANKS];
    int n = 0;
    for (int k = 0; k < 2 * MOST_RANKS; k++)
        for (int r = size - 1; r >= 0; r--, n++) {
            to[n] = k < rank + r ? r : -1;
            out[n][0] = rank, out[n][1] = r, out[n][2] = k;
        }
    MdDeal rows = md_deal_create(comm, to, n);
    int32_t(*in)[WIDTH] = md_deal_rows(&rows, out, sizeof *in), (*next)[WIDTH] = in;
    result->dealt = true;
    for (int r = 0; r < size; r++) {
        result->dealt = result->dealt && rows.in[r] == rank + r;
        for (int k = 0; k < rank + r; k++, next++)
            result->dealt = result->dealt && next[0][0] == r && next[0][1] == rank && next[0][2] == k;
    }
    result->dealt = result->dealt && next == in + rows.n_in;
    int32_t(*back)[WIDTH] = md_deal_back(&rows, in, sizeof *in);
    const int32_t none[WIDTH] = {0};
    for (int k = 0; k < n; k++)
        result->dealt = result->dealt && memcmp(back[k], to[k] < 0 ? none : out[k], sizeof none) == 0;
    md_free(in);
    md_free(back);
    md_deal_destroy(&rows);
}

static void agree(MdComm *comm, void *argument) {
    Result *result = argument;
    result->errors = md_errors_create();
    if (result->own == MD_ERROR_INPUT) md_fail(result->errors, result->own, "the same for all");
    if (result->own == MD_ERROR_OUTPUT) md_fail(result->errors, result->own, "the disk of rank %d", md_comm_rank(comm));
    result->agreed = md_comm_worst_status(comm, result->own, result->errors);
}

static void run(int n, void (*what)(MdComm *, void *), Result *results) {
    void *arguments[MOST_RANKS];
    for (int rank = 0; rank < n; rank++) arguments[rank] = &results[rank];
    if (n > 1) run_thread_ranks(n, what, arguments);
    else what(NULL, &results[0]); /* one process */
}

static void test_values(int n) {
    Result results[MOST_RANKS];
    memset(results, 0, sizeof results);
    run(n, find_values, results);
    check_context("values of %d ranks", n);
    const double exact = (double)(N_TERMS / 3 * (long double)0.1); /* the others cancel */
    for (int rank = 0; rank < n; rank++) {
        const Result *r = &results[rank];
        CHECK(r->largest[0] == 0 && r->largest[1] == (n <= 2 ? 0 : n - 1));
        CHECK(r->sum == n * (n - 1) / 2 + 0.5 * n && r->count == ((int64_t)1 << (40 + n)) - ((int64_t)1 << 40));
        CHECK(r->exact == exact && strcmp(r->told, "of rank 0") == 0);
    }
    run(n, deal, results);
    for (int rank = 0; rank < n; rank++) CHECK(results[rank].dealt);
}

static void test_agreement(void) {
    Result results[4] = {{.own = MD_ERROR_INPUT}, {.own = MD_ERROR_INPUT}, {.own = MD_OK}, {.own = MD_ERROR_OUTPUT}};
    run(4, agree, results);
    check_context("agreement");
    for (int rank = 0; rank < 4; rank++) CHECK(results[rank].agreed == MD_ERROR_INPUT);
    const MdErrors *told = results[0].errors; /* its own message once, and that of rank 3 with its name */
    CHECK(md_errors_count(told) == 2 && strcmp(md_errors_text(told, 0), "the same for all") == 0);
    CHECK(strcmp(md_errors_text(told, 1), "rank 3 (thread 3): the disk of rank 3") == 0);
    for (int rank = 0; rank < 4; rank++) md_errors_destroy(results[rank].errors);
    Result fine[3] = {{.own = MD_OK}, {.own = MD_OK}, {.own = MD_OK}},
           stopped[2] = {{.own = MD_OK}, {.own = MD_STOPPED}};
    run(3, agree, fine);
    run(2, agree, stopped);
    for (int rank = 0; rank < 3; rank++) {
        CHECK(fine[rank].agreed == MD_OK && md_errors_count(fine[rank].errors) == 0);
        md_errors_destroy(fine[rank].errors);
    }
    for (int rank = 0; rank < 2; rank++) {
        CHECK(stopped[rank].agreed == MD_STOPPED);
        md_errors_destroy(stopped[rank].errors);
    }
}

/* --- launchers ------------------------------------------------------------------------------------------------------- */

#define BATCH    "SLURM_PROCID=0 SLURM_LOCALID=0 " /* in a batch script, which mpirun hands on */
#define OPEN_MPI "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_RANK=1 "
#define HYDRA    "PMI_SIZE=4 PMI_RANK=3 MPI_LOCALRANKID=1 PMI_FD=8 "
#define STEP     "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 SLURM_LOCALID=1 "
#define PRTERUN  "PMIX_RANK=3 PMIX_NAMESPACE=prterun-host-17@1 "

static const struct {
    const char *environment;
    int processes, rank, local_rank;
} launched[] = {
    {"", 1, 0, 0},
    {BATCH, 1, 0, 0},
    {STEP, 4, 3, 1},
    {STEP "PMIX_RANK=3 PMIX_NAMESPACE=slurm.pmix.17.0", 4, 3, 1},
    {STEP "PMI_SIZE=4 PMI_RANK=3 PMI_FD=8", 4, 3, 1},
    {OPEN_MPI, 4, 3, 1},
    {BATCH OPEN_MPI "PMIX_RANK=3 PMIX_NAMESPACE=17", 4, 3, 1},
    {BATCH HYDRA "SLURM_STEP_NUM_TASKS=1", 4, 3, 1},
    {BATCH HYDRA "SLURM_STEP_NUM_TASKS=2", 4, 3, 1},
    {BATCH "MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_RANK=3 MV2_COMM_WORLD_LOCAL_RANK=1", 4, 3, 1},
    {BATCH "PMI_SIZE=4 PMI_RANK=3 PMI_LOCAL_RANK=1", 4, 3, 1},
    {PRTERUN, 0, 3, 3},
    {BATCH PRTERUN, 0, 3, 3},
    {BATCH PRTERUN "SLURM_STEP_NUM_TASKS=2", 0, 3, 3},
    {"PMIX_RANK=3", 0, 3, 3},
    {"PMIX_NAMESPACE=17", 0, 0, 0},
    {BATCH "PMI_ID=3 PMI_PORT=host:17 MPI_LOCALRANKID=1", 0, 3, 1},
    {"PMI_ID=3", 1, 0, 0},
    {STEP "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 PMIX_RANK=0 PMIX_NAMESPACE=17", 1,
     3, 1}, /* in each task mpirun -n 1 */
    {STEP "MDMINI_ALONE=1", 1, 3, 1},
    {PRTERUN "MDMINI_ALONE=1", 1, 3, 3},
    {OPEN_MPI "MDMINI_ALONE=0", 4, 3, 1},
    {"PMI_SIZE=x PMI_RANK=-1 MPI_LOCALRANKID=", 1, 0, 0},
};

static void change_environment(const char *words, bool set) {
    char text[256], *at = NULL;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at)) {
        char *value = strchr(word, '=');
        *value = '\0';
        if (set) setenv(word, value + 1, 1);
        else unsetenv(word);
    }
}

static void test_launchers(void) {
    for (size_t k = 0; k < sizeof launched / sizeof *launched; k++) {
        check_context("%s", launched[k].environment);
        change_environment(launched[k].environment, true);
        CHECK(md_launcher_processes() == launched[k].processes);
        CHECK(md_launcher_rank() == launched[k].rank);
        CHECK(md_comm_node_rank(NULL) == launched[k].local_rank);
        change_environment(launched[k].environment, false);
    }
}

static int n_started, n_ended;
static bool start_alone(MdComm *comm, MdErrors *errors) {
    (void)errors;
    comm->size = 1;
    strcpy(comm->library, getenv("LIBRARY"));
    n_started++;
    return true;
}
static void finish_alone(MdComm *comm) {
    (void)comm;
    n_ended++;
}

/* Processes of which MPI sees only one. NULL: it may be alone. */
static const struct {
    const char *environment, *told, *hint;
    bool speaks;
} unjoined[] = {
    {PRTERUN "LIBRARY=MPICH", "4 or more processes were started, but MPI (MPICH) sees only one: ", "--mpi=pmi2", false},
    {"PMIX_RANK=1 LIBRARY=Intel(R)", "2 or more processes were started, but MPI (Intel(R)) sees only one", "--mpi=pmi2",
     true},
    {"PMIX_RANK=0 LIBRARY=MPICH", NULL, NULL, false},
    {"PMI_ID=0 PMI_PORT=host:17 LIBRARY=MPICH", NULL, NULL, false},
    {STEP "LIBRARY=MPICH", "4 processes were started, but MPI (MPICH) sees only one: ", "--mpi=pmi2", false},
    {"SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 LIBRARY=MPICH", "4 processes were started, but", "--mpi=pmi2", true},
};

static void test_unjoined(void) {
    static const MdCommEngine alone = {.start = start_alone, .finish = finish_alone};
    for (size_t k = 0; k < sizeof unjoined / sizeof *unjoined; k++) {
        MdErrors *errors = md_errors_create();
        check_context("%s", unjoined[k].environment);
        change_environment(unjoined[k].environment, true);
        CHECK(!md_comm_create(&alone, errors));
        CHECK(n_started == (int)k + 1);
        CHECK(n_ended == n_started);
        CHECK(md_errors_count(errors) == (unjoined[k].told != NULL));
        if (unjoined[k].told && CHECK(md_errors_count(errors) == 1)) {
            CHECK(strstr(md_errors_text(errors, 0), unjoined[k].told));
            CHECK(strstr(md_errors_text(errors, 0), unjoined[k].hint));
            CHECK(md_launcher_speaks() == unjoined[k].speaks);
        }
        change_environment(unjoined[k].environment, false);
        md_errors_destroy(errors);
    }
    MdErrors *errors = md_errors_create();
    check_context("a program without MPI");
    setenv("PMIX_RANK", "0", 1);
    CHECK(!md_comm_create(NULL, errors) && md_errors_count(errors) == 0);
    setenv("PMIX_RANK", "1", 1);
    CHECK(
        !md_comm_create(NULL, errors) && md_errors_count(errors) == 1 &&
        strstr(md_errors_text(errors, 0), "2 or more processes were started, but this program was built without MPI"));
    unsetenv("PMIX_RANK");
    md_errors_destroy(errors);
}

int main(void) {
    for (int n = 1; n <= MOST_RANKS; n++) test_values(n);
    test_agreement();
    test_launchers();
    test_unjoined();
    return check_finish();
}
