#include "report/history.h"

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
