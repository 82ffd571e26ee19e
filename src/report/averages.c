#include "report/averages.h"

#include <math.h>

enum { N_PIECES = MD_AVERAGE_ROWS }; /* halves of blocks */
enum { FIRST_OF_TENSOR = 3 };
static const double least_ratio = 1.04; /* of 20 independent means, in 99 % of cases */

static double value_of(const MdThermo *row, int quantity) {
    if (quantity >= FIRST_OF_TENSOR) return row->pressure_tensor[quantity - FIRST_OF_TENSOR];
    return quantity == 0 ? row->temperature : quantity == 1 ? row->potential : row->pressure;
}

static MdAverage quantity_of(int quantity, int dimension) {
    static const struct {
        const char *key, *label;
    } words[] = {
        {"temperature", "temperature"}, {"potential_energy", "potential energy"}, {"pressure", "pressure"},
        {"pressure_xx", "pressure xx"}, {"pressure_yy", "pressure yy"},           {"pressure_zz", "pressure zz"},
        {"pressure_xy", "pressure xy"}, {"pressure_xz", "pressure xz"},           {"pressure_yz", "pressure yz"}};
    return (MdAverage){.key = words[quantity].key,
                       .label = words[quantity].label,
                       .quantity = quantity == 0   ? MD_TEMPERATURE
                                   : quantity == 1 ? MD_ENERGY
                                                   : md_unit_pressure(dimension)};
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

/* The mean and its error. */
static void average_rows(MdAverage *average, const MdThermo *rows, size_t n, int quantity) {
    average->error = NAN;
    const double start = value_of(&rows[0], quantity); /* equal rows have no error at all */
    for (size_t k = 0; k < n; k++) average->mean += (value_of(&rows[k], quantity) - start) / (double)n;
    average->mean += start;
    if (!isfinite(average->mean))
        average->why = isfinite(rows->pressure) ? "rows without it" : "an open box has no pressure";
    else if (n < MD_AVERAGE_ROWS) average->why = "too few rows (20 are needed)";
    else find_error(average, rows, n, quantity);
}

MdAverages md_averages(const MdHistory *history, int dimension, bool has_tensor) {
    MdAverages found = {0};
    const size_t n_all = history->n;
    size_t first = 0;
    while (first < n_all && 2 * history->rows[first].step < history->rows[n_all - 1].step) first++;
    const MdThermo *rows = history->rows + first;
    const size_t n = n_all - first;
    if (n == 0) return found;
    found.n_rows = (int64_t)n;
    found.from_step = rows[0].step;
    found.to_step = rows[n - 1].step;
    for (int quantity = 0; quantity < (has_tensor ? MD_MOST_AVERAGES : FIRST_OF_TENSOR); quantity++) {
        if (quantity >= FIRST_OF_TENSOR && !md_tensor_has(dimension, quantity - FIRST_OF_TENSOR)) continue;
        MdAverage *average = &found.of[found.n++];
        *average = quantity_of(quantity, dimension);
        average_rows(average, rows, n, quantity);
    }
    return found;
}
