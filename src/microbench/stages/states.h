/* The configurations on which variants are timed. */
#ifndef MD_BENCH_STATES_H
#define MD_BENCH_STATES_H

#include "report/record.h"

/* The system after n_steps with the deck's own setting, thermostat included; velocities and images too. NULL, with the
 * problem in the errors of the record, when the run went wrong. */
MdSystem *md_bench_melt(const MdRecord *record, const MdSystem *start, int64_t n_steps);

/* The same particles in random order. */
MdSystem *md_bench_shuffle(const MdRecord *record, const MdSystem *system);

#endif
