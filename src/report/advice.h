/* Advice for the user: sentences for the log. Each names a remedy that works. */
#ifndef MD_REPORT_ADVICE_H
#define MD_REPORT_ADVICE_H

#include "report/record.h"

/* Of the deck, in lines that begin with prefix: types that nothing tells apart. */
void md_advice_log_types(const MdRecord *record, const char *prefix);

/* Of the deck: pairs that are cut where they still repel; NULL: there are none. From malloc. */
char *md_advice_cutoffs(const MdRecord *record);

/* Of the deck: a thermostat that never acts; NULL: it does, or there is none. From malloc. */
char *md_advice_thermostat(const MdRecord *record);

/* Whether there are tail corrections. note: their values, or why there are none. */
bool md_advice_tail(const MdRecord *record, const char **note);

/* Of the row of step 0: atoms that are too close to each other, or do not feel each other. */
void md_advice_log_start(const MdRecord *record, const MdThermo *first);

/* Why a motion was stopped. */
void md_advice_log_fault(const MdRecord *record);
/* The share by which the temperature of the velocities is too low for the positions, because of the time step, of the type whose atoms
 * oscillate fastest; NaN: not known. note: a
 * warning, from malloc, or NULL. */
double md_advice_time_step(const MdRecord *record, char **note);
/* Remedies if the conserved energy has changed by more than its limit. */
void md_advice_log_energy(const MdRecord *record);

/* The verdict, or, if there is none, the missing checks and how to get one. status: that of the run. */
void md_advice_log_verdict(const MdRecord *record, MdVerdict verdict, MdStatus status);

#endif
