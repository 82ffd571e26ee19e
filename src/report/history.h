/* The thermo rows of a run, kept for the report and for the judgement of conservation. */
#ifndef MD_REPORT_HISTORY_H
#define MD_REPORT_HISTORY_H

#include <stddef.h>

#include "physics/thermo.h"

typedef struct MdHistory {
    size_t n, capacity;
    MdThermo *rows;
} MdHistory;

void md_history_add(MdHistory *history, const MdThermo *row);
void md_history_free(MdHistory *history);

/* Slope of the conserved energy by least squares over all rows: epsilon per particle and step; NaN with fewer than two
 * rows. */
double md_history_drift(const MdHistory *history);

#endif
