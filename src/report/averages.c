#include "report/averages.h"

#include <math.h>

enum { N_PIECES = MD_AVERAGE_ROWS };    /* halves of blocks */
static const double least_ratio = 1.04; /* of 20 independent means, in 99 % of cases */

static double value_of(const MdThermo *row, int quantity) {
    return quantity == 0 ? row->temperature : quantity == 1 ? row->potential : row->pressure;
}

/* Sets error, or why there is none. Blocks differ by a row where n is no multiple of their number. */
static void find_error(MdAverage *average, const MdThermo *rows, size_t n, int quantity) {
    double off[N_PIECES] = {0}, last = 0, moved = 0, spread = 0, variance = 0;
    for (int p = 0; p < N_PIECES; p++) {
        const size_t first = (size_t)p * n / N_PIECES, end = (size_t)(p + 1) * n / N_PIECES;
        for (size_t k = first; k < end; k++) off[p] += value_of(&rows[k], quantity) - average->mean;
        const double mean = off[p] / (double)(end - first);
        if (p > 0) moved += (mean - last) * (mean - last);
        spread += mean * mean;
        last = mean;
    }
    for (int b = 0; b < MD_AVERAGE_BLOCKS; b++) {
        const double share = (off[2 * b] + off[2 * b + 1]) / (double)n;
        variance += share * share * MD_AVERAGE_BLOCKS / (MD_AVERAGE_BLOCKS - 1);
    }
    if (moved < least_ratio * spread) average->why = "the rows drift, or are correlated for too long";
    else average->error = sqrt(variance);
}

MdAverages md_averages(const MdHistory *history, int dimension) {
    MdAverages found = {.of = {{.key = "temperature", .label = "temperature", .quantity = MD_TEMPERATURE},
                               {.key = "potential_energy", .label = "potential energy", .quantity = MD_ENERGY},
                               {.key = "pressure", .label = "pressure", .quantity = md_unit_pressure(dimension)}}};
    const size_t n_all = history->n;
    size_t first = 0;
    while (first < n_all && 2 * history->rows[first].step < history->rows[n_all - 1].step) first++;
    const MdThermo *rows = history->rows + first;
    const size_t n = n_all - first;
    if (n == 0) return found;
    found.n_rows = (int64_t)n;
    found.from_step = rows[0].step;
    found.to_step = rows[n - 1].step;
    for (int quantity = 0; quantity < MD_N_AVERAGES; quantity++) {
        MdAverage *average = &found.of[quantity];
        average->error = NAN;
        const double start = value_of(&rows[0], quantity); /* equal rows have no error at all */
        for (size_t k = 0; k < n; k++) average->mean += (value_of(&rows[k], quantity) - start) / (double)n;
        average->mean += start;
        if (!isfinite(average->mean)) average->why = "an open box has no pressure";
        else if (n < MD_AVERAGE_ROWS) average->why = "too few rows (20 are needed)";
        else find_error(average, rows, n, quantity);
    }
    return found;
}
