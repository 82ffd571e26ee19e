/* What the report says over the ranks: of figures that differ from rank to rank, and of the time that a rank waits. */
#define _POSIX_C_SOURCE 200809L
#include "report/balance.h"

#include <time.h>

#include "check.h"
#include "thread_ranks.h"

enum { N_RANKS = 3 };

static MdBalance balances[N_RANKS];
static MdRankSpread waits[N_RANKS];
static int n_hosts[N_RANKS];

/* Rank r has (r + 1)^2 times what rank 0 has. */
static void share(MdComm *comm, void *argument) {
    const int rank = md_comm_rank(comm), times = (rank + 1) * (rank + 1);
    const MdStatistics own = {
        .n_stages = 2,
        .stages = {{.stage = "sort", .seconds = 100}, {.stage = "force", .seconds = 0.5 * times}},
        .rank = {.n_atoms = 10 * times, .n_halo = 20 * times, .halo_bytes = 30 * times, .exchange_seconds = times}};
    (void)argument;
    md_balance_gather(comm, &own, &balances[rank]);
    n_hosts[rank] = md_balance_count_hosts(comm);
    if (rank == 1) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* the others wait for it */
    md_balance_gather(comm, &own, &balances[rank]);
    const MdStatistics waited = {.rank = {.wait_seconds = md_comm_waited(comm)}};
    MdBalance balance;
    md_balance_gather(comm, &waited, &balance);
    waits[rank] = balance.figures[MD_BALANCE_WAIT_S];
}

static void check_spread(int figure, double unit, const char *what) {
    check_context("%s", what);
    for (int rank = 0; rank < N_RANKS; rank++) {
        const MdRankSpread *spread = &balances[rank].figures[figure];
        CHECK_NEAR(spread->min, unit, 1e-12);
        CHECK_NEAR(spread->mean, unit * 14 / 3, 1e-12);
        CHECK_NEAR(spread->max, unit * 9, 1e-12);
    }
}

int main(void) {
    run_thread_ranks(N_RANKS, share, NULL);
    check_spread(MD_BALANCE_ATOMS, 10, "atoms");
    check_spread(MD_BALANCE_HALO, 20, "halo atoms");
    check_spread(MD_BALANCE_BYTES, 30, "bytes");
    check_spread(MD_BALANCE_FORCE_S, 0.5, "seconds of the forces");
    check_spread(MD_BALANCE_EXCHANGE_S, 1, "seconds of the exchange");
    check_spread(MD_BALANCE_MIGRATED, 0, "nobody has moved");
    check_context("waiting: who is waited for waits less");
    CHECK(waits[0].min < waits[0].max && waits[0].max > 0.1);
    check_context("hosts: threads are of one each");
    for (int rank = 0; rank < N_RANKS; rank++) CHECK(n_hosts[rank] == N_RANKS);
    CHECK(md_balance_count_hosts(NULL) == 1);
    return check_finish();
}
