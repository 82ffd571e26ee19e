/* Where a result comes from: program, build, machine, batch job, command. Written to the JSON report and, as JSON text,
 * to the trajectory. */
#ifndef MD_REPORT_PROVENANCE_H
#define MD_REPORT_PROVENANCE_H

#include "backend/backend.h"
#include "base/json.h"

/* Adds the object `provenance` (key may be NULL at the top). */
void md_provenance_write(MdJson *json, const char *key, const char *command, const MdBackendOps *ops,
                         const MdMachine *machine);

#endif
