/* Measuring the rows of a backend: prepared, checked, warmed up, timed, checked again.
 *
 * Several processes measure the group peers together: all prepare, run and check the same rows, as often as each other.
 * A time is that of the slowest rank, and a result is right where it is right on all. */
#ifndef MD_CEILINGS_MEASURE_H
#define MD_CEILINGS_MEASURE_H

#include "microbench/host/table.h"
#include "parallel/comm.h"

enum { MD_CEILING_ROUNDS = 9, MD_CEILING_FEWEST = 6, MD_CEILING_REASON = 256 };

/* A row as it is run. */
typedef struct MdCeilingCase {
    const MdCeiling *row;
    int64_t size;      /* elements, or those along an edge */
    int n_threads;     /* of the cpu; 1 on a GPU */
    double n_elements; /* of a call, of all threads */
    bool quick;
} MdCeilingCase;

/* The rounding error of a sum of equal numbers in single precision: 1e8 times 1.23, as in a course. */
#define MD_CEILING_NUMBER 1.23f
enum { MD_CEILING_NUMBERS = 100000000 };
typedef struct MdCeilingSum {
    int64_t n; /* 0: not for this row */
    double value, result;
} MdCeilingSum;

/* The functions of a backend for its rows. */
typedef struct MdCeilingsBackend {
    const char *name;
    double budget_s;   /* of all rows: after it there is no round but the first of all */
    int element_bytes; /* of the arrays of rows that outgrow the caches */
    /* Prepares the machine; problems that a user can solve go to errors. comm: the processes, which outlive it. */
    MdStatus (*open)(void **machine, const MdConfig *config, bool quick, MdComm *comm, MdErrors *errors);
    void (*close)(void *machine);
    int (*most_threads)(const void *machine);
    /* Of all caches of the last level together; NaN: unknown. */
    double (*cache_bytes)(const void *machine);
    /* The device's limits by its own properties, in GB/s and GFLOP/s; NaN: not reported. */
    double (*sheet)(const void *machine, MdSheet sheet);
    /* Memory and data for a row; NULL, with the reason, if it cannot run here. This and the following functions are collective,
     * and either all ranks get NULL or none. */
    void *(*prepare)(void *machine, const MdCeilingCase *c, char reason[MD_CEILING_REASON]);
    /* Seconds of n_calls calls. */
    double (*run)(void *prepared, int64_t n_calls);
    /* Whether the result is right, after any number of calls, of which the last has not yet been checked; if not, the
     * wrong value. Overwrites it, so that the next check is of later calls. */
    bool (*check)(void *prepared, char reason[MD_CEILING_REASON]);
    /* Of rows that say so. */
    void (*sum)(void *prepared, MdCeilingSum *sum);
    void (*release)(void *prepared);
} MdCeilingsBackend;

typedef enum MdCeilingState { MD_CEILING_PASSED, MD_CEILING_FAILED, MD_CEILING_LEFT_OUT } MdCeilingState;

typedef struct MdCeilingResult {
    MdCeilingCase of;
    MdCeilingState state;
    char reason[MD_CEILING_REASON]; /* of rows that failed or were left out */
    int n_rounds;
    double samples[MD_CEILING_ROUNDS];      /* seconds of a call in each round */
    int64_t n_calls;                        /* of a batch */
    double seconds;                         /* median of a call */
    double figure, figure_low, figure_high; /* in the row's unit; NaN where there is none */
    double confidence;                      /* that the interval has */
    MdCeilingSum sum;
    double sheet; /* of the data sheet, in the same unit; NaN: unknown, or nothing to compare */
} MdCeilingResult;

typedef struct MdCeilingResults {
    int n, room;
    MdCeilingResult *rows;
} MdCeilingResults;

/* Whether a row is asked for: by names of groups, or of rows (md_ceiling_is_named); no names are all of them. */
typedef struct MdCeilingsChoice {
    int n_names;
    const char *const *names;
    bool quick;
    MdComm *comm; /* the ranks that measure them together */
} MdCeilingsChoice;

/* So many elements has a row: of its table, or as many as it takes to outgrow caches of so many bytes (McCalpin, STREAM: each
 * array at least four times the caches). */
int64_t md_ceiling_outgrown(const MdCeiling *row, int element_bytes, double cache_bytes);

/* Collective. Whether it holds on all ranks; where not, all have the reason of the first on which it does not. */
bool md_ceilings_agree(const MdComm *comm, bool holds, char reason[MD_CEILING_REASON]);
/* Why rows of the group peers cannot run: there is only one process. */
#define MD_CEILINGS_ALONE "needs two processes: mpirun -n 2 mdmini --ceilings peers"

/* Measures the rows of a backend and adds their results, in the order of the table. Turns are in the order of the names, rows with
 * little work first: all a first round, then each the others; if nothing is named, each all its rounds. Rows that need more time than
 * the budget are left out, or have fewer rounds. */
void md_ceilings_measure(const MdCeilingsBackend *backend, void *machine, const MdCeilingsChoice *choice,
                         MdCeilingResults *results);
/* Adds the rows of a backend as left out. */
void md_ceilings_leave_out(const char *backend, const char *reason, const MdCeilingsChoice *choice,
                           MdCeilingResults *results);
void md_ceilings_free(MdCeilingResults *results);

#endif
