/* Averages over the second half of the thermo table, and their errors. */
#ifndef MD_REPORT_AVERAGES_H
#define MD_REPORT_AVERAGES_H

#include "base/units.h"
#include "report/history.h"

enum { MD_AVERAGE_BLOCKS = 10, MD_AVERAGE_ROWS = 2 * MD_AVERAGE_BLOCKS, MD_MOST_AVERAGES = 3 + MD_N_TENSOR };

typedef struct MdAverage {
    const char *key, *label; /* of NAME.json and of the log */
    MdQuantity quantity;     /* of mean and error, which are in the units inside */
    double mean;             /* NaN: an open box has no pressure, rows of before have no tensor */
    double error;            /* standard error of the mean; NaN: not known, */
    const char *why;         /* for this reason; else NULL */
} MdAverage;

typedef struct MdAverages {
    int64_t n_rows, from_step, to_step; /* 0 rows: there are no averages */
    int n;                              /* of these: */
    MdAverage of[MD_MOST_AVERAGES];     /* temperature, potential energy, pressure, and the components of its tensor */
} MdAverages;

/* Over the rows from half of the last step on.
 *
 * Rows that follow each other are correlated, so the error comes from means of MD_AVERAGE_BLOCKS blocks of rows
 * (H. Flyvbjerg and H. G. Petersen, J. Chem. Phys. 91, 461 (1989); ten to thirty blocks: B. Schmeiser, Operations Research
 * 30, 556 (1982)). It has MD_AVERAGE_BLOCKS - 1 degrees of freedom. Blocks must be much longer than the correlation: means of
 * half blocks are tested by the ratio of J. von Neumann (Ann. Math. Stat. 12, 367 (1941)), whose lowest 1 % are refused. A
 * drift is refused in the same way. Of rows with a correlation exp(-1/20), 100 rows are refused in 9 of 10 cases. */
MdAverages md_averages(const MdHistory *history, int dimension, bool has_tensor);

#endif
