/* Where a result comes from: program, build, machine, batch job, command. Written to the JSON report and, as JSON text,
 * to the trajectory. */
#ifndef MD_REPORT_PROVENANCE_H
#define MD_REPORT_PROVENANCE_H

#include "backend/backend.h"
#include "base/json.h"

/* The folder from which the kernels of a GPU are read in place of those in the program, by the environment variable
 * MDMINI_KERNELS; NULL where they are the program's own. */
const char *md_kernels_folder(const MdMachine *machine);

/* Adds the object `provenance` (key may be NULL at the top). */
void md_provenance_write(MdJson *json, const char *key, const char *command, const MdBackendOps *ops,
                         const MdMachine *machine);

#endif
