/* Where the time of a run went: stages, kernels, what `auto` became, and the work that was counted. */
#ifndef MD_REPORT_TIMINGS_H
#define MD_REPORT_TIMINGS_H

#include "report/record.h"

void md_timings_log(MdRecord *record);

#endif
