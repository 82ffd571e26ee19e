/* Where a result comes from: program, build, machine, batch job, command, deck. Written to the JSON report and, as JSON text,
 * to the trajectory. run/REPORT.md explains each key. */
#ifndef MD_REPORT_PROVENANCE_H
#define MD_REPORT_PROVENANCE_H

#include "base/json.h"
#include "report/record.h"

/* The folder from which the kernels of a GPU are read instead of those in the program, by the environment variable
 * MDMINI_KERNELS; NULL: the program's own. */
const char *md_kernels_folder(const MdMachine *machine);

/* Starts sensors for the machine that makes the steps, as report.sample_seconds asks; md_sensors_close. Call soon: they find
 * the GPU while the set-up goes on. */
MdSensors *md_provenance_watch(const MdMachine *machine, const MdConfig *config);

/* The origin of a result. */
typedef struct MdOrigin {
    const char *command; /* the command line */
    const MdBackendOps *ops;
    const MdMachine *machine;
    const MdDeck *deck; /* NULL: it comes from none */
    MdSensors *sensors; /* are waited for */
} MdOrigin;

/* Adds it as an object (key may be NULL at the top). */
void md_provenance_write(MdJson *json, const char *key, const MdOrigin *origin);

/* Fills record->provenance, the same as JSON text. */
void md_provenance_compose(MdRecord *record);

/* The results of the sensors for the loop of the record, for the report and for the log (report/conditions.h). */
void md_provenance_write_loop(MdJson *json, const MdRecord *record);
void md_provenance_log_loop(const MdRecord *record);

/* This process, for the trajectory, once the loop has ended: its steps, provenance, conditions and energy as JSON text;
 * free(). */
char *md_provenance_describe(const MdRecord *record);

#endif
