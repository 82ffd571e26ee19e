/* The timings of a run: stages, kernels, the choices of `auto`, and the counted work. */
#ifndef MD_REPORT_TIMINGS_H
#define MD_REPORT_TIMINGS_H

#include "report/record.h"

void md_timings_log(MdRecord *record);

#endif
