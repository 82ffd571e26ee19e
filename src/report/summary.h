/* NAME.json: the result of a run for programs. */
#ifndef MD_REPORT_SUMMARY_H
#define MD_REPORT_SUMMARY_H

#include "report/record.h"

/* Whether the deck gives an option for which the backend has no use, or one of several processes where there is one. */
bool md_record_lacks(const MdRecord *record, int option);
bool md_record_has_for_ranks(const MdRecord *record, int option);

/* Writes the file aside and renames it, so that a reader never sees half of it; a failure goes to the errors of the
 * record. */
void md_summary_write(MdRecord *record, MdStatus status, MdVerdict verdict);

#endif
