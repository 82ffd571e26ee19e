/* A mean over blocks that come one after the other, and its standard error. */
#ifndef MD_ANALYSIS_MEAN_H
#define MD_ANALYSIS_MEAN_H

#include <math.h>
#include <stdint.h>

/* Mean, and sum of squared deviations from it (B. P. Welford, Technometrics 4, 419 (1962)). Begins as zeros; its bytes go into restart
 * files. */
typedef struct MdMean {
    int64_t n;
    double mean, deviation_sq;
} MdMean;

static inline void md_mean_add(MdMean *mean, double value) {
    const double before = value - mean->mean;
    mean->mean += before / (double)++mean->n;
    mean->deviation_sq += before * (value - mean->mean);
}

static inline double md_mean_value(const MdMean *mean) { return mean->n > 0 ? mean->mean : (double)NAN; }

/* NaN for fewer than two blocks. */
static inline double md_mean_error(const MdMean *mean) {
    const double n = (double)mean->n;
    return mean->n > 1 ? sqrt(mean->deviation_sq / (n * (n - 1))) : (double)NAN;
}

#endif
