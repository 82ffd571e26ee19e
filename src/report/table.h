/* NAME.csv: the thermo table for spreadsheets and plots, with the columns of the log. A row is there as soon as it is in the
 * log. A resumed run writes the rows of before anew, so that the table is always that of the whole run. */
#ifndef MD_REPORT_TABLE_H
#define MD_REPORT_TABLE_H

#include "report/record.h"

/* Writes head and rows so far; keeps the file open. MD_ERROR_OUTPUT when it cannot. */
MdStatus md_table_open(MdRecord *record);
void md_table_add(MdRecord *record, const MdThermo *row);
/* MD_ERROR_OUTPUT when some row could not be written. Nothing where it is not open. */
MdStatus md_table_close(MdRecord *record);

#endif
