/* The conditions and the energy of a loop, from the sensors, for the report. run/REPORT.md explains
 * each key. */
#ifndef MD_REPORT_CONDITIONS_H
#define MD_REPORT_CONDITIONS_H

#include "base/json.h"
#include "base/log.h"
#include "sensors/sensors.h"

/* Adds the objects `conditions` and `energy`, and the number `joules_per_atom_step`. n_atom_steps: of the loop; NaN, with the
 * reason, where there are none. */
void md_conditions_write(MdJson *json, const MdConditions *conditions, bool gpu, const MdReading *n_atom_steps);

/* A line or two, and a warning where the GPU was held back, or the processors were busy with other things. power_limit_w:
 * of the GPU; NULL: the steps ran on the processors. */
void md_conditions_log(MdLog *log, const MdConditions *conditions, const MdReading *power_limit_w,
                       const MdReading *n_atom_steps);

/* A warning of processes that run or wait as the measurement begins, on a machine that has fewer processors than these. A run
 * before it, of as many threads as there are, stays below. */
void md_conditions_log_load(MdLog *log, const MdConditions *conditions);

#endif
