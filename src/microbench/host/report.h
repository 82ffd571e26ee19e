/* Ceilings for people and for programs. */
#ifndef MD_CEILINGS_REPORT_H
#define MD_CEILINGS_REPORT_H

#include "backend/backend.h"
#include "base/json.h"
#include "base/log.h"
#include "microbench/host/measure.h"

/* The rows of a backend from `first` on, with a heading for each group; then the rows left out, with the reasons. */
void md_ceilings_log(MdLog *log, const MdCeilingResults *results, int first);

/* The figures of the roofline, one line each. */
void md_ceilings_log_roofs(MdLog *log, const MdCeilingResults *results);

/* Adds `ceilings` and `results` to the object that is open. */
void md_ceilings_write(MdJson *json, const MdCeilingResults *results);

#endif
