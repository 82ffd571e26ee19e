#define _POSIX_C_SOURCE 200809L
#include "report/provenance.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/version.h"
#include "output/h5md.h"

/* What batch systems tell of the job. */
static const char *const job_variables[] = {"SLURM_JOB_ID",        "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID",
                                            "SLURM_RESTART_COUNT", "PBS_JOBID",          "LSB_JOBID"};

const char *md_kernels_folder(const MdMachine *machine) {
    const char *folder = getenv("MDMINI_KERNELS");
    return machine->device_total_bytes > 0 && folder && *folder ? folder : NULL;
}

void md_provenance_write(MdJson *json, const char *key, const char *command, const MdBackendOps *ops,
                         const MdMachine *machine) {
    const MdVersion *v = md_version();
    char buffer[128];
    md_json_begin_object(json, key);
    md_json_text(json, "program", "mdmini");
    md_json_text(json, "version", v->version);
    md_json_text(json, "commit", v->commit);
    md_json_bool(json, "dirty", v->dirty);
    md_json_text(json, "build_type", v->build_type);
    md_json_text(json, "c_compiler", v->c_compiler);
    md_json_text(json, "c_flags", v->c_flags);
    if (v->cuda[0]) md_json_text(json, "cuda", v->cuda);
    char hdf5[32];
    md_json_text(json, "hdf5", md_h5md_library_version(hdf5));
    md_json_text(json, "command", command);
    md_json_text(json, "backend", ops->name);
    md_json_text(json, "backend_libraries", ops->libraries(buffer, sizeof buffer));
    md_json_text(json, "machine", machine->name);
    md_json_text(json, "machine_details", machine->details);
    md_json_text(json, "kernels_folder", md_kernels_folder(machine)); /* null: those of the program */
    if (gethostname(buffer, sizeof buffer) == 0) {
        buffer[sizeof buffer - 1] = '\0';
        md_json_text(json, "host", buffer);
    }
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        md_json_text(json, "started", buffer);
    for (size_t k = 0; k < sizeof job_variables / sizeof job_variables[0]; k++)
        if (getenv(job_variables[k])) md_json_text(json, job_variables[k], getenv(job_variables[k]));
    md_json_end_object(json);
}
