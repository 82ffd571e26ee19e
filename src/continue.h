/* The trajectory files of a run, and how one that is resumed goes on with them. */
#ifndef MD_CONTINUE_H
#define MD_CONTINUE_H

#include "report/record.h"

/* The files of frames as planned; types and masses are there once the system is (NULL before). */
MdTrajectorySpec md_trajectory_of_run(const MdRecord *record, const MdSystem *system);

/* Whether the files that have frames of the run are there (MD_ERROR_INPUT). */
MdStatus md_continue_check(const MdRecord *record);

/* Whether all steps of the run are made, and the report of that stands there, which is the one that has the times of the steps. Not
 * one that left the verification out, which is wanted now. */
bool md_continue_is_reported(const MdRecord *record);

/* Whether NAME.h5 has to be copied, as far as the decks of before and of now tell. */
bool md_continue_copies(const MdRecord *record);

/* The continued files, and the part of them that stays. */
void md_continue_plan(const MdRecord *record, MdTrajectorySpec *spec);

#endif
