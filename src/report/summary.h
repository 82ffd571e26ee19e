/* NAME.json: the result of a run for programs. */
#ifndef MD_REPORT_SUMMARY_H
#define MD_REPORT_SUMMARY_H

#include "report/record.h"

/* Writes the file aside and renames it, so that a reader never sees half of it; a failure goes to the errors of the
 * record. */
void md_summary_write(MdRecord *record, MdStatus status, MdVerdict verdict);

#endif
