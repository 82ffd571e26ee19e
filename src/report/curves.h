/* The results of the analysis of a run (analysis/analysis.h): files, log and JSON. */
#ifndef MD_REPORT_CURVES_H
#define MD_REPORT_CURVES_H

#include "base/json.h"
#include "report/record.h"

/* Whether the system has what the deck asks for. */
MdStatus md_curves_check(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors);

/* NAME.msd.csv and so on, and the trajectory, whose writer is at rest (NULL: none), as far as the sums have come. */
MdStatus md_report_curves(const MdRecord *record, MdTrajectory *trajectory);

void md_curves_log(MdRecord *record);

/* The keys of it, into the object that is open. */
void md_curves_json(MdJson *json, const MdRecord *record);

#endif
