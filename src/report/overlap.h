/* The cost of output for the steps, and the share of its work that overlapped with them. */
#ifndef MD_REPORT_OVERLAP_H
#define MD_REPORT_OVERLAP_H

#include "base/json.h"
#include "report/record.h"

/* Lines of the log, and the object `output` of the JSON report. */
void md_overlap_log(MdRecord *record);
void md_overlap_write(MdJson *json, const MdRecord *record);

#endif
