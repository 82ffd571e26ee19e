#include "report/history.h"

#include <math.h>
#include <stdlib.h>

#include "base/status.h"

void md_history_add(MdHistory *history, const MdThermo *row) {
    if (history->n == history->capacity) {
        history->capacity = history->capacity ? 2 * history->capacity : 256;
        MdThermo *grown = realloc(history->rows, history->capacity * sizeof *grown);
        if (!grown) md_panic("no memory for the thermo rows");
        history->rows = grown;
    }
    history->rows[history->n++] = *row;
}

void md_history_free(MdHistory *history) {
    free(history->rows);
    *history = (MdHistory){0};
}

double md_history_drift(const MdHistory *history) {
    if (history->n < 2) return NAN;
    double n = (double)history->n, mean_step = 0, mean_energy = 0, above = 0, below = 0;
    for (size_t k = 0; k < history->n; k++) {
        mean_step += (double)history->rows[k].step / n;
        mean_energy += history->rows[k].conserved / n;
    }
    for (size_t k = 0; k < history->n; k++) {
        double s = (double)history->rows[k].step - mean_step;
        above += s * (history->rows[k].conserved - mean_energy);
        below += s * s;
    }
    return above / below;
}

double md_history_drift_error(const MdHistory *history) {
    const size_t rows = history->n / MD_DRIFT_BLOCKS, first = history->n - rows * MD_DRIFT_BLOCKS;
    if (rows < 2) return NAN;
    const double drift = md_history_drift(history), share = (2 + 1 / ((double)rows * (double)rows)) / 3;
    double last_step = 0, last_energy = 0, variance = 0;
    for (int block = 0; block < MD_DRIFT_BLOCKS; block++) {
        double step = 0, energy = 0;
        for (size_t k = 0; k < rows; k++) {
            const MdThermo *row = &history->rows[first + (size_t)block * rows + k];
            step += (double)row->step / (double)rows;
            energy += row->conserved / (double)rows;
        }
        const double steps = step - last_step, moved = energy - last_energy - drift * steps;
        if (block > 0)
            variance += moved * moved / (share * steps) / (MD_DRIFT_BLOCKS - 2); /* as many, less the slope */
        last_step = step;
        last_energy = energy;
    }
    return sqrt(1.2 * variance / (double)(history->rows[history->n - 1].step - history->rows[0].step));
}
