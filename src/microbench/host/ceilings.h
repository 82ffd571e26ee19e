/* mdmini --ceilings: the limits of this machine by elementary kernels, and how far naive code stays below them.
 *
 * Rows of the table (table.h) are measured one after the other: memory is filled with known numbers, one call is checked,
 * calls are timed in batches that are long against the clock, round after round, and the result is checked again. A row that
 * fails a check is shown as FAILED and has no figure.
 *
 * The group peers is measured by several processes together; all else by one. */
#ifndef MD_CEILINGS_CEILINGS_H
#define MD_CEILINGS_CEILINGS_H

#include "base/log.h"
#include "deck/deck.h"
#include "microbench/host/measure.h"

/* Collective. backends: the built-in ones, ended by NULL. arguments: names of groups or rows, and
 * `section.key=value` of the few allowed options. Rank 0 writes ceilings.json, or NAME.json with output.name. The
 * status, the same on all ranks, is MD_ERROR_PHYSICS when a result was wrong. */
MdStatus md_ceilings_run(const MdCeilingsBackend *const *backends, int n_arguments, char *const *arguments, bool quick,
                         const char *command, MdComm *comm, MdLog *log, MdErrors *errors);

#endif
