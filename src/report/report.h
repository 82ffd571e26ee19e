/* The output of a run for its user: the log's head, thermo table, timing table and verdict, and NAME.json. */
#ifndef MD_REPORT_REPORT_H
#define MD_REPORT_REPORT_H

#include "report/record.h"

/* --check: the effective deck, the machine and the memory it needs. */
void md_report_plan(MdRecord *record);

/* The head of the log. */
void md_report_head(MdRecord *record);

/* One line of the thermo table; the first, of step 0, comes with the heading. */
void md_report_thermo(MdRecord *record, const MdThermo *row);

/* After the run: timings, verification, verdict, files; writes NAME.json. Failures of the physics
 * or of the log go into the errors of the record. */
void md_report_run(MdRecord *record, MdStatus status);

#endif
