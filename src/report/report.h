/* What a run tells: the log's head, thermo table, timing table and verdict, and NAME.json. */
#ifndef MD_REPORT_REPORT_H
#define MD_REPORT_REPORT_H

#include "simulation.h"

/* --check: the effective deck, the machine and the memory it needs. */
void md_report_plan(MdSimulation *simulation);

/* The head of the log. */
void md_report_head(MdSimulation *simulation);

/* One line of the thermo table; the first, of step 0, comes with the heading. */
void md_report_thermo(MdSimulation *simulation, const MdThermo *row);

/* After the run: timings, verification, verdict, files; writes NAME.json. What went wrong with the physics
 * or with the log goes into the errors of the simulation. */
void md_report_run(MdSimulation *simulation, MdStatus status);

#endif
