/* How a run that is resumed goes on with its trajectory files. */
#ifndef MD_CONTINUE_H
#define MD_CONTINUE_H

#include "report/record.h"

/* Whether the files that have frames of the run are there (MD_ERROR_INPUT). */
MdStatus md_continue_check(const MdRecord *record);

/* Whether all steps of the run are made, and the report of that stands there, which is the one that has the times of the steps. Not
 * one that left the verification out, which is wanted now. */
bool md_continue_is_reported(const MdRecord *record);

/* Whether NAME.h5 has to be copied, as far as the decks of before and of now tell. */
bool md_continue_copies(const MdRecord *record);

/* Which files are continued, and what stays of them. */
void md_continue_plan(const MdRecord *record, MdTrajectorySpec *spec);

#endif
