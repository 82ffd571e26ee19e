/* What a user can do about what the run finds: sentences for the log. Each names a way that works. */
#ifndef MD_REPORT_ADVICE_H
#define MD_REPORT_ADVICE_H

#include "report/record.h"

/* Of the deck, in lines that begin with prefix: types that nothing tells apart. */
void md_advice_log_types(const MdRecord *record, const char *prefix);

/* Of the deck: pairs that are cut where they still repel; NULL: there are none. From malloc. */
char *md_advice_cutoffs(const MdRecord *record);

/* Of the deck: a thermostat that never acts; NULL: it does, or there is none. From malloc. */
char *md_advice_thermostat(const MdRecord *record);

/* Whether there are tail corrections. note: what they are, or why there are none. */
bool md_advice_tail(const MdRecord *record, const char **note);

/* Of the row of step 0: atoms that are too close to each other, or do not feel each other. */
void md_advice_log_start(const MdRecord *record, const MdThermo *first);

/* Of a motion that was stopped: what it was, and why. */
void md_advice_log_fault(const MdRecord *record);
/* Of the time step and the stiffness of what the atoms are in at the end: by which share the temperature is too low for it; NaN:
 * not known. note: NULL, or from malloc, that this is much. */
double md_advice_time_step(const MdRecord *record, char **note);
/* Where the conserved energy has changed by more than its limit: what helps. */
void md_advice_log_energy(const MdRecord *record);

/* The verdict, and where there is none what was not checked, and how to get one. status: that of the run. */
void md_advice_log_verdict(const MdRecord *record, MdVerdict verdict, MdStatus status);

#endif
