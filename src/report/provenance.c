#define _POSIX_C_SOURCE 200809L
#include "report/provenance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/version.h"
#include "deck/hash.h"
#include "output/h5md.h"
#include "report/conditions.h"
#include "report/facts.h"

/* Environment variables of batch systems about the job. */
static const char *const job_variables[] = {"SLURM_JOB_ID",        "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID",
                                            "SLURM_RESTART_COUNT", "PBS_JOBID",          "PBS_ARRAY_INDEX",
                                            "LSB_JOBID",           "LSB_JOBINDEX"};

const char *md_kernels_folder(const MdMachine *machine) {
    const char *folder = getenv("MDMINI_KERNELS");
    return machine->device_total_bytes > 0 && folder && *folder ? folder : NULL;
}

MdSensors *md_provenance_watch(const MdMachine *machine, const MdConfig *config) {
    const MdSensorsSpec spec = {.gpu = machine->device_total_bytes > 0,
                                .uuid = machine->device_uuid,
                                .bus_id = machine->device_bus_id,
                                .interval_s = config->report_sample_seconds,
                                .limit_s = MD_SENSORS_LIMIT_S};
    return md_sensors_open(&spec);
}

static void write_build(MdFacts *facts) {
    MdJson *json = facts->json;
    const MdVersion *v = md_version();
    char hdf5[32];
    md_json_text(json, "program", "mdmini");
    md_json_text(json, "version", v->version);
    md_json_text(json, "commit", v->commit);
    md_json_bool(json, "dirty", v->dirty);
    md_json_text(json, "build_type", v->build_type);
    md_json_text(json, "c_compiler", v->c_compiler);
    md_json_text(json, "c_flags", v->c_flags);
    if (v->cuda[0]) md_json_text(json, "cuda", v->cuda);
    md_json_text(json, "hdf5", md_h5md_library_version(hdf5));
    if (v->mpi[0]) md_json_text(json, "mpi", v->mpi);
    else md_facts_lack(facts, "mpi", "the program was built without MPI");
}

static void write_job(MdFacts *facts) {
    static const char none[] = "no variable of a batch job is set (Slurm, PBS, LSF)";
    bool any = false;
    for (size_t k = 0; k < sizeof job_variables / sizeof job_variables[0]; k++) {
        const char *value = getenv(job_variables[k]);
        any = any || value;
        if (value) md_json_text(facts->json, job_variables[k], value);
    }
    if (!any) md_facts_lack(facts, "batch_job", none);
}

static void write_hash(MdFacts *facts, const char *key, const MdDeckHash *hash) {
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIx64, hash->value);
    if (hash->missing) md_facts_lack(facts, key, hash->missing);
    else md_json_text(facts->json, key, digits);
}

/* The keys that are in the one, and the keys that are not in the other: the shorter lists. */
static void write_deck(MdFacts *facts, const MdDeck *deck) {
    if (!deck) {
        md_facts_lack(facts, "deck_hash", "the result comes from no deck");
        return;
    }
    const MdDeckHash physics = md_deck_hash(deck, true), all = md_deck_hash(deck, false);
    md_facts_enter(facts, "deck_hash");
    md_json_text(facts->json, "method", "XXH64 of the lines `key = value`, files that are read by their content");
    write_hash(facts, "physics", &physics);
    write_hash(facts, "all", &all);
    md_json_begin_array(facts->json, "physics_keys");
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (physics.holds[k]) md_json_text(facts->json, NULL, md_option_name(k));
    md_json_end_array(facts->json);
    md_json_begin_array(facts->json, "all_without");
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (!all.holds[k]) md_json_text(facts->json, NULL, md_option_name(k));
    md_json_end_array(facts->json);
    md_facts_leave(facts);
}

static void write_gpu(MdFacts *facts, const MdMachine *machine, const MdGpuFacts *gpu) {
    if (!gpu) {
        md_facts_lack(facts, "gpu", "the steps do not run on a GPU");
        return;
    }
    char capability[16];
    snprintf(capability, sizeof capability, "%d.%d", machine->compute_capability / 10,
             machine->compute_capability % 10);
    md_facts_enter(facts, "gpu");
    md_json_text(facts->json, "name", machine->name);
    md_json_text(facts->json, "uuid", gpu->uuid.missing ? machine->device_uuid : gpu->uuid.text);
    md_json_text(facts->json, "bus_id", machine->device_bus_id);
    md_json_int(facts->json, "number", machine->device_number);
    md_json_text(facts->json, "compute_capability", capability);
    md_json_int(facts->json, "memory_bytes", (int64_t)machine->device_total_bytes);
    md_facts_text(facts, "driver", &gpu->driver);
    md_facts_text(facts, "nvml", &gpu->nvml);
    md_facts_text(facts, "nvml_name", &gpu->name);
    md_facts_bool(facts, "mig", &gpu->mig);
    md_facts_bool(facts, "ecc", &gpu->ecc);
    md_facts_bool(facts, "persistence_mode", &gpu->persistence);
    md_facts_real(facts, "power_limit_w", &gpu->power_limit_w);
    md_facts_real(facts, "power_limit_default_w", &gpu->power_limit_default_w);
    md_facts_real(facts, "sm_mhz_max", &gpu->sm_mhz_max);
    md_facts_real(facts, "memory_mhz_max", &gpu->memory_mhz_max);
    md_facts_leave(facts);
}

static void write_cpu(MdFacts *facts, const MdMachine *machine) {
    const MdHostFacts host = md_host_facts();
    const MdReading threads =
        machine->n_threads > 0 ? md_reading(machine->n_threads) : md_no_reading("the steps run on a GPU");
    md_facts_enter(facts, "cpu");
    md_facts_text(facts, "model", &host.model);
    md_facts_int(facts, "processors", &host.n_cpus);
    md_facts_int(facts, "processors_allowed", &host.n_cpus_allowed);
    md_facts_real(facts, "processors_quota", &host.quota);
    md_facts_int(facts, "threads", &threads);
    md_facts_text(facts, "governor", &host.governor);
    md_facts_int(facts, "memory_bytes", &host.memory_bytes);
    md_json_bool(facts->json, "sys_is_real", getenv("MDMINI_SYS") == NULL);
    md_facts_leave(facts);
}

void md_provenance_write(MdJson *json, const char *key, const MdOrigin *from) {
    char buffer[192];
    MdFacts facts = md_facts_begin(json, key);
    write_build(&facts);
    md_json_text(json, "command", from->command);
    md_json_text(json, "backend", from->ops->name);
    md_json_text(json, "backend_libraries", from->ops->libraries(buffer, sizeof buffer));
    md_json_text(json, "machine", from->machine->name);
    md_json_text(json, "machine_details", from->machine->details);
    md_json_text(json, "kernels_folder", md_kernels_folder(from->machine)); /* null: those of the program */
    const bool named = gethostname(buffer, sizeof buffer) == 0;
    buffer[sizeof buffer - 1] = '\0';
    if (named) md_json_text(json, "host", buffer);
    else md_facts_lack(&facts, "host", "the system does not say");
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        md_json_text(json, "started", buffer);
    write_job(&facts);
    write_deck(&facts, from->deck);
    write_gpu(&facts, from->machine, md_sensors_gpu(from->sensors));
    write_cpu(&facts, from->machine);
    md_facts_finish(&facts);
}

void md_provenance_compose(MdRecord *r) {
    const MdOrigin origin = {
        .command = r->command, .ops = r->ops, .machine = &r->machine, .deck = r->deck, .sensors = r->sensors};
    MdJson *json = md_json_create();
    md_provenance_write(json, NULL, &origin);
    free(r->provenance);
    r->provenance = md_copy_text(md_json_string(json));
    md_json_destroy(json);
}

/* Of this process, as all times are; those to which the energy belongs. */
static MdReading count_atom_steps(const MdRecord *r) {
    const double n_steps = (double)(r->step - r->resume.from_step);
    if (md_balance_count_hosts(r->comm) > 1)
        return md_no_reading("the steps ran on several hosts, and the energy is that of one");
    return n_steps > 0 ? md_reading(n_steps * (double)r->plan.n_atoms) : md_no_reading("the loop made no step");
}

void md_provenance_write_loop(MdJson *json, const MdRecord *r) {
    const MdReading n_atom_steps = count_atom_steps(r);
    md_conditions_write(json, md_sensors_conditions(r->sensors), r->machine.device_total_bytes > 0, &n_atom_steps);
}

void md_provenance_log_loop(const MdRecord *r) {
    const MdReading n_atom_steps = count_atom_steps(r);
    const MdGpuFacts *gpu = md_sensors_gpu(r->sensors);
    md_conditions_log(r->log, md_sensors_conditions(r->sensors), gpu ? &gpu->power_limit_w : NULL, &n_atom_steps);
}

char *md_provenance_describe(const MdRecord *r) {
    MdJson *json = md_json_create();
    md_json_begin_object(json, NULL);
    md_json_int(json, "from_step", r->resume.from_step);
    md_json_int(json, "to_step", r->step);
    md_json_real(json, "loop_seconds", r->loop_seconds);
    md_json_raw(json, "provenance", r->provenance);
    md_provenance_write_loop(json, r);
    md_json_end_object(json);
    char *text = md_copy_text(md_json_string(json));
    md_json_destroy(json);
    return text;
}
