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

enum { MD_DRIFT_BLOCKS = 20 };

/* Slope of the conserved energy by least squares over all rows, and its standard error: epsilon per particle and step;
 * NaN with fewer than two rows, and the error with fewer than two rows a block.
 *
 * The error takes the energy, apart from its slope b, for a random walk: pairs that cross the cutoff, where the force
 * jumps, and roundings kick it independently of each other. Its variance per step, v, is measured between means m_k of
 * MD_DRIFT_BLOCKS blocks of r rows, d steps apart: <(m_k+1 - m_k - b d)^2> = (2 + 1/r^2)/3 v d; of the slope over T
 * steps it makes the variance 6/5 v / T. Both follow from <x(s) x(t)> = v min(s, t). Fluctuations that do not add up are
 * overestimated by it. */
double md_history_drift(const MdHistory *history);
double md_history_drift_error(const MdHistory *history);

#endif
