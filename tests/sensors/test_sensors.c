/* What src/sensors says of a GPU that a stand-in for NVML plays (support/nvml_stand_in.c), and of processors whose counters are
 * files of this test. Every field has its value, or the reason that it is missing.
 *
 * `test_sensors old` is run with a stand-in that lacks later functions, `test_sensors none` without any. */
#define _DEFAULT_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "check.h"
#include "sensors/powercap.h"
#include "sensors/sensors.h"

static const char uuid[] = "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", bus_id[] = "0000:00:00.0";

static bool is(MdReading reading, double value) { return !reading.missing && reading.value == value; }
static bool lacks(const char *missing, const char *word) { return missing && strstr(missing, word); }
static bool unknown(MdReading reading, const char *word) {
    return isnan(reading.value) && lacks(reading.missing, word);
}

static void sleep_s(double seconds) {
    const struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&time, NULL);
}

/* A loop of so many seconds on the GPU of this script. The stand-in forgets what it was asked when it is unloaded. */
static MdConditions watch(const char *script, double loop_s, double interval_s) {
    const MdSensorsSpec spec = {.gpu = true, .uuid = uuid, .bus_id = bus_id, .interval_s = interval_s, .limit_s = 30};
    setenv("NVML_SCRIPT", script, 1);
    MdSensors *sensors = md_sensors_open(&spec);
    CHECK(md_sensors_gpu(sensors) != NULL);
    md_sensors_begin(sensors);
    sleep_s(loop_s);
    md_sensors_end(sensors);
    md_sensors_finish(sensors);
    const MdConditions conditions = *md_sensors_conditions(sensors);
    md_sensors_close(sensors);
    return conditions;
}

/* --- the GPU -------------------------------------------------------------------------------------------------------- */

static void test_facts(void) {
    setenv("NVML_SCRIPT",
           "nvmlDeviceGetEnforcedPowerLimit=650000;nvmlDeviceGetClockInfo.1=1755;nvmlDeviceGetEccMode=0;"
           "nvmlDeviceGetCurrentClocksEventReasons=36;nvmlDeviceGetTotalEccErrors.corrected=3;"
           "nvmlDeviceGetTotalEccErrors.uncorrected=1;nvmlDeviceGetComputeRunningProcesses=own/1000,17/200,18/30",
           1);
    MdNvml *nvml = md_nvml_open(uuid, bus_id);
    const MdGpuFacts facts = md_nvml_facts(nvml);
    const MdGpuState state = md_nvml_state(nvml);
    CHECK(!facts.missing && strcmp(facts.driver.text, "999.88.77") == 0 && strcmp(facts.nvml.text, "stand-in") == 0);
    CHECK(strcmp(facts.name.text, "GPU of the stand-in") == 0 && strcmp(facts.uuid.text, uuid) == 0);
    CHECK(is(facts.mig, 0) && is(facts.ecc, 0) && is(facts.persistence, 1));
    CHECK(is(facts.power_limit_w, 650) && is(facts.power_limit_default_w, 700));
    CHECK(is(facts.sm_mhz_max, 1980) && is(facts.memory_mhz_max, 2619));
    CHECK(is(state.pulse.sm_mhz, 1755) && is(state.pulse.memory_mhz, 2619) && is(state.pulse.temperature_c, 41));
    CHECK(is(state.pulse.power_w, 500) && is(state.pulse.throttle, 36) && !state.pulse.energy_j.missing);
    CHECK(is(state.ecc_corrected, 3) && is(state.ecc_uncorrected, 1));
    CHECK(is(state.n_processes, 3) && is(state.processes_bytes, 1230));
    CHECK(is(state.n_other_processes, 2) && is(state.other_processes_bytes, 230));
    md_nvml_close(nvml);
}

/* An answer that is refused is missing, and the others are there. */
static void test_refused(void) {
    setenv("NVML_SCRIPT",
           "nvmlDeviceGetEnforcedPowerLimit=!4;nvmlDeviceGetTotalEccErrors.corrected=!3;nvmlDeviceGetMigMode=!3;"
           "nvmlDeviceGetClockInfo.2=!15;nvmlSystemGetDriverVersion=!999;nvmlDeviceGetPowerUsage=!4;"
           "nvmlDeviceGetComputeRunningProcesses=17/200",
           1);
    MdNvml *nvml = md_nvml_open(uuid, bus_id);
    const MdGpuFacts facts = md_nvml_facts(nvml);
    const MdGpuState state = md_nvml_state(nvml);
    CHECK(unknown(facts.power_limit_w, "no permission") && unknown(facts.mig, "not supported"));
    CHECK(is(facts.power_limit_default_w, 700) && lacks(facts.driver.missing, "another error"));
    CHECK(unknown(state.ecc_corrected, "not supported") && is(state.ecc_uncorrected, 0));
    CHECK(unknown(state.pulse.memory_mhz, "fallen off the bus") && is(state.pulse.sm_mhz, 1980));
    CHECK(unknown(state.pulse.power_w, "no permission"));
    CHECK(is(state.n_processes, 1) && unknown(state.n_other_processes, "this process is not among"));
    md_nvml_close(nvml);
    setenv("NVML_SCRIPT", "nvmlDeviceGetComputeRunningProcesses=own/18446744073709551615", 1);
    nvml = md_nvml_open(uuid, bus_id);
    const MdGpuState hidden = md_nvml_state(nvml);
    CHECK(is(hidden.n_other_processes, 0) && unknown(hidden.processes_bytes, "memory of a process"));
    md_nvml_close(nvml);
}

static void test_device(void) {
    setenv("NVML_SCRIPT", "", 1);
    MdNvml *nvml = md_nvml_open("GPU-of-an-instance", bus_id); /* by the bus id */
    CHECK(!md_nvml_facts(nvml).missing);
    md_nvml_close(nvml);
    nvml = md_nvml_open("GPU-of-another", "0000:01:00.0");
    MdGpuFacts facts = md_nvml_facts(nvml);
    CHECK(lacks(facts.missing, "knows no GPU") && unknown(facts.power_limit_w, "knows no GPU"));
    CHECK(strcmp(facts.driver.text, "999.88.77") == 0); /* known all the same */
    md_nvml_close(nvml);
    setenv("NVML_SCRIPT", "nvmlInit_v2=!18", 1);
    nvml = md_nvml_open(uuid, bus_id);
    facts = md_nvml_facts(nvml);
    CHECK(lacks(facts.missing, "different versions") && lacks(facts.driver.missing, "different versions"));
    md_nvml_close(nvml);
}

/* 1500, 1700, 1600 MHz: before the loop, in its samples, after it. */
static void test_samples(void) {
    const MdConditions c = watch("nvmlDeviceGetClockInfo.1=1111,1500,1700,1600;"
                                 "nvmlDeviceGetCurrentClocksEventReasons=0,4,0,36,1",
                                 0.5, 0.1);
    const MdSamples *samples = &c.samples;
    const MdSpread *sm = &samples->spread[MD_SAMPLE_SM_MHZ];
    CHECK(c.before.taken && c.after.taken && is(c.before.gpu.pulse.sm_mhz, 1111) && is(c.after.gpu.pulse.sm_mhz, 1600));
    /* On a busy machine samples come late, but the first one comes when the loop begins. */
    CHECK(!samples->missing && samples->n >= 3 && samples->n <= 6 && samples->first_after_s < 0.1);
    CHECK(sm->min == 1500 && sm->max == 1700 && sm->median == 1600);
    CHECK(samples->cost_s > 0 && samples->longest_s > 0 && samples->cost_s < 0.1);
    CHECK(samples->n_throttle == samples->n && samples->throttled[2] == 2 && samples->throttled[5] == 1);
    CHECK(samples->n_held_back == 2 && samples->throttled[0] == samples->n - 3); /* idle is not held back */
    CHECK(strcmp(md_gpu_throttle_name(2), "power_cap") == 0 &&
          strcmp(md_gpu_throttle_name(5), "thermal_software") == 0);
}

/* Of more samples than are kept, those kept are still spread over the whole loop: what grows steadily has its median in the
 * middle. */
static void test_many_samples(void) {
    MdConditions c = {0};
    for (double loop_s = 0.5; c.samples.n <= 6000 && loop_s < 30; loop_s *= 2) /* a busy machine takes longer */
        c = watch("nvmlDeviceGetTemperature.0=ramp:0:1000", loop_s, 1e-6);
    const MdSpread *heat = &c.samples.spread[MD_SAMPLE_TEMPERATURE_C];
    CHECK(c.samples.n > 6000); /* 4096 are kept */
    CHECK_NEAR((heat->median - heat->min) / (heat->max - heat->min), 0.5, 0.2);
}

static void test_no_samples(void) {
    MdConditions c = watch("", 0.01, 0);
    CHECK(c.samples.n == 0 && lacks(c.samples.missing, "sample_seconds"));
    CHECK(lacks(c.samples.spread[MD_SAMPLE_SM_MHZ].missing, "sample_seconds") && isnan(c.samples.first_after_s));
    c = watch("nvmlDeviceGetClockInfo.1=!4", 0.05, 0.1);
    CHECK(c.samples.n == 1 && lacks(c.samples.spread[MD_SAMPLE_SM_MHZ].missing, "no permission"));
    CHECK(c.samples.spread[MD_SAMPLE_MEMORY_MHZ].median == 2619);
}

/* The script makes 400 J a second: of a loop that may have been longer than it was asked to be. */
static bool near_watts(const MdConditions *c, double watts) {
    return fabs(c->energy.joules.value / c->energy.seconds.value - watts) < 0.05 * watts;
}

static void test_energy(void) {
    MdConditions c = watch("nvmlDeviceGetTotalEnergyConsumption=ramp:5000:400", 4, 0.2); /* room for what is late */
    CHECK(!c.energy.joules.missing && near_watts(&c, 400) && strstr(c.energy.method, "counter"));
    /* The counter's age at both ends, and what it was read late. */
    CHECK(c.energy.uncertain_share >= 0.2 / c.energy.seconds.value && c.energy.uncertain_share < 0.25);
    c = watch("nvmlDeviceGetTotalEnergyConsumption=ramp:5000:400", 0.2, 0.1);
    CHECK(unknown(c.energy.joules, "too short") && isnan(c.energy.uncertain_share));
    c = watch("nvmlDeviceGetTotalEnergyConsumption=5000", 1, 0.2);
    CHECK(unknown(c.energy.joules, "did not move"));
    c = watch("nvmlDeviceGetTotalEnergyConsumption=900000,900100,900200,700,800", 1, 0.2);
    CHECK(unknown(c.energy.joules, "backwards"));
    c = watch("nvmlDeviceGetTotalEnergyConsumption=1,900000,700,9900000", 1, 0.2); /* seen by a sample alone */
    CHECK(unknown(c.energy.joules, "backwards"));
    c = watch("nvmlDeviceGetTotalEnergyConsumption=900000,900000,800000", 1, 0); /* seen by no sample */
    CHECK(unknown(c.energy.joules, "backwards"));
    c = watch("nvmlDeviceGetMigMode=1", 1, 0.2);
    CHECK(unknown(c.energy.joules, "MIG"));
}

/* A second that a loop lasts is what a reading of the power is a mean of: only long loops have a figure. */
static void test_power(void) {
    const MdConditions c = watch("nvmlDeviceGetTotalEnergyConsumption=!3;nvmlDeviceGetPowerUsage=300000", 8.1, 0.5);
    CHECK(!c.energy.joules.missing && near_watts(&c, 300) && strstr(c.energy.method, "power"));
}

static void test_no_power(void) {
    MdConditions c = watch("nvmlDeviceGetTotalEnergyConsumption=!3;nvmlDeviceGetPowerUsage=300000", 1, 0.2);
    CHECK(unknown(c.energy.joules, "too short") && strstr(c.energy.method, "power"));
    c = watch("nvmlDeviceGetTotalEnergyConsumption=!3;nvmlDeviceGetPowerUsage=!4", 1, 0.2);
    CHECK(unknown(c.energy.joules, "not supported"));
}

/* A call that never comes back: whoever waits for it gives up, and what was known until then is there. */
static MdConditions watch_hang(const char *script, double limit_s) {
    const MdSensorsSpec spec = {.gpu = true, .uuid = uuid, .bus_id = bus_id, .interval_s = 0.05, .limit_s = limit_s};
    setenv("NVML_SCRIPT", script, 1);
    const double start_s = md_clock_s();
    MdSensors *sensors = md_sensors_open(&spec);
    CHECK(md_sensors_gpu(sensors) != NULL);
    md_sensors_begin(sensors);
    sleep_s(0.2);
    const double end_s = md_clock_s();
    md_sensors_end(sensors);
    CHECK(md_clock_s() - end_s < 0.5 * limit_s); /* waits for nothing */
    md_sensors_finish(sensors);
    const MdConditions conditions = *md_sensors_conditions(sensors);
    md_sensors_close(sensors);
    CHECK(md_clock_s() - start_s < 0.2 + 5 * limit_s);
    return conditions;
}

static void hang_in_open(void) {
    const MdConditions c = watch_hang("nvmlInit_v2=hang", 2);
    CHECK(lacks(c.gpu_missing, "did not answer") && lacks(c.samples.missing, "did not answer"));
    CHECK(c.before.taken && c.after.taken && unknown(c.energy.joules, "did not answer"));
}

static void hang_before_loop(void) {
    const MdConditions c = watch_hang("nvmlDeviceGetTemperature.0=hang", 2);
    CHECK(!c.gpu_missing && c.samples.n == 0 && lacks(c.samples.missing, "did not answer"));
    CHECK(unknown(c.before.gpu.pulse.sm_mhz, "did not answer") && unknown(c.energy.joules, "did not answer"));
}

static void hang_in_second_sample(void) {
    const MdConditions c = watch_hang("nvmlDeviceGetTemperature.0=41,42,hang", 2);
    CHECK(is(c.before.gpu.pulse.sm_mhz, 1980) && c.samples.n == 1);
    CHECK(c.samples.spread[MD_SAMPLE_TEMPERATURE_C].median == 42);
    CHECK(unknown(c.after.gpu.pulse.sm_mhz, "did not answer") && unknown(c.energy.joules, "did not answer"));
    CHECK(c.energy.seconds.value >= 0.2 && c.after.taken);
}

static void hang_after_loop(void) {
    const MdConditions c = watch_hang("nvmlDeviceGetTotalEccErrors.corrected=0,hang", 2);
    CHECK(c.samples.n >= 1 && !lacks(c.energy.joules.missing, "did not answer"));
    CHECK(unknown(c.after.gpu.ecc_corrected, "did not answer"));
}

static void hang_in_close(void) {
    const MdConditions c = watch_hang("nvmlShutdown=hang", 2);
    CHECK(is(c.after.gpu.pulse.sm_mhz, 1980));
}

/* The answer comes when nobody waits any more, and the thread cleans up behind itself. */
static void answer_too_late(void) {
    const MdConditions c = watch_hang("nvmlDeviceGetTemperature.0=41,late:5000", 1);
    CHECK(c.samples.n == 0 && lacks(c.samples.missing, "did not answer"));
    sleep_s(5);
}

/* What sleeps for seconds, each in a process of its own, all at once. A library that hangs needs one: it is not unloaded, and
 * remembers what it was asked. */
static void (*const sleepers[])(void) = {test_power,      test_no_power,    test_energy,
                                         hang_in_open,    hang_before_loop, hang_in_second_sample,
                                         hang_after_loop, hang_in_close,    answer_too_late};
enum { N_SLEEPERS = sizeof sleepers / sizeof sleepers[0] };

static void start_sleepers(pid_t *children) {
    for (int k = 0; k < N_SLEEPERS; k++) {
        fflush(stdout);
        children[k] = fork();
        if (children[k] == 0) {
            sleepers[k]();
            exit(check_finish());
        }
    }
}

static void wait_for_sleepers(const pid_t *children) {
    for (int k = 0; k < N_SLEEPERS; k++) {
        int status = -1;
        check_context("number %d of those that sleep", k);
        CHECK(children[k] > 0 && waitpid(children[k], &status, 0) == children[k] && status == 0);
    }
}

/* A driver of years ago. */
static void test_old(void) {
    setenv("NVML_SCRIPT", "nvmlDeviceGetCurrentClocksThrottleReasons=8", 1);
    MdNvml *nvml = md_nvml_open(uuid, bus_id);
    const MdGpuState state = md_nvml_state(nvml);
    CHECK(is(state.pulse.throttle, 8)); /* by the name of then */
    CHECK(unknown(state.pulse.energy_j, "lacks nvmlDeviceGetTotalEnergyConsumption"));
    CHECK(unknown(state.n_processes, "lacks nvmlDeviceGetComputeRunningProcesses"));
    md_nvml_close(nvml);
}

static void test_none(void) {
    const MdConditions c = watch("", 0.1, 0.05);
    CHECK(lacks(c.gpu_missing, "no NVML library") && unknown(c.energy.joules, "no NVML library"));
    CHECK(c.samples.n == 0 && lacks(c.samples.missing, "no NVML library"));
}

/* --- the processors ------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/test_sensors_XXXXXX";

static void put(const char *zone, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/class/powercap/%s", folder, zone);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/class/powercap/%s/%s", folder, zone, name);
    FILE *file = fopen(path, "w");
    if (!CHECK(file != NULL)) return;
    fputs(text, file);
    fclose(file);
}

static void put_zone(const char *zone, const char *name, const char *energy) {
    put(zone, "name", name);
    put(zone, "max_energy_range_uj", "262143328850\n");
    put(zone, "energy_uj", energy);
}

static MdPowercap open_zones(void) {
    char path[256];
    MdPowercap powercap;
    snprintf(path, sizeof path, "%s/class/powercap", folder);
    md_powercap_open(&powercap, path);
    return powercap;
}

static void test_powercap(void) {
    MdPowercap p = open_zones();
    CHECK(lacks(p.missing, "there is no"));
    char path[256];
    snprintf(path, sizeof path, "%s/class", folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/class/powercap", folder);
    mkdir(path, 0755);
    p = open_zones();
    CHECK(lacks(p.missing, "no counter"));
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    put_zone("intel-rapl:0:0", "core\n", "7\n"); /* in the package's */
    put_zone("intel-rapl:0:1", "dram\n", "500000\n");
    put_zone("intel-rapl:1", "psys\n", "7\n"); /* the packages again */
    put_zone("intel-rapl-mmio:0", "package-0\n", "7\n");
    p = open_zones();
    CHECK(!p.missing && p.n == 2);
    md_powercap_start(&p, 10);
    put_zone("intel-rapl:0", "package-0\n", "26000000\n");
    put_zone("intel-rapl:0:1", "dram\n", "1500000\n");
    put_zone("intel-rapl:0:0", "core\n", "700000000\n");
    md_powercap_read(&p, 11);
    CHECK(!p.missing && fabs(p.joules - 26) < 1e-9);
    /* Begins anew behind its range. */
    put_zone("intel-rapl:0", "package-0\n", "262143000000\n");
    p = open_zones();
    md_powercap_start(&p, 20);
    put_zone("intel-rapl:0", "package-0\n", "671150\n");
    md_powercap_read(&p, 20.2);
    CHECK(!p.missing && fabs(p.joules - 1) < 1e-9);
    /* Set back: as a new beginning it would be 262 kJ in a fifth of a second. */
    md_powercap_start(&p, 30);
    put_zone("intel-rapl:0", "package-0\n", "600000\n");
    md_powercap_read(&p, 30.2);
    CHECK(lacks(p.missing, "backwards"));
    /* In ten minutes it may have begun anew twice. */
    p = open_zones();
    md_powercap_start(&p, 40);
    put_zone("intel-rapl:0", "package-0\n", "800000\n");
    md_powercap_read(&p, 640);
    CHECK(lacks(p.missing, "more than once"));
    p = open_zones();
    unlink(p.zones[0].path);
    md_powercap_start(&p, 50);
    CHECK(lacks(p.missing, "cannot be read any more"));
    CHECK(lacks(open_zones().missing, "cannot be read"));
}

/* A loop of 2.5 J. */
static MdSensors *run_loop(const MdSensorsSpec *spec, double half_s) {
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    MdSensors *sensors = md_sensors_open(spec);
    CHECK(md_sensors_gpu(sensors) == NULL);
    md_sensors_begin(sensors);
    sleep_s(half_s);
    put_zone("intel-rapl:0", "package-0\n", "3500000\n");
    sleep_s(half_s);
    md_sensors_end(sensors);
    md_sensors_finish(sensors);
    return sensors;
}

/* The energy of a loop on the processors, from the same files. On a busy machine the thread of the sensors comes late: longer loops. */
static void test_processors(void) {
    const MdSensorsSpec spec = {.interval_s = 0.02, .limit_s = 30};
    setenv("MDMINI_SYS", folder, 1);
    double half_s = 0.05;
    MdSensors *sensors = run_loop(&spec, half_s);
    while (md_sensors_conditions(sensors)->samples.n < 1 && half_s < 10) {
        md_sensors_close(sensors);
        sensors = run_loop(&spec, half_s *= 2);
    }
    const MdConditions *c = md_sensors_conditions(sensors);
    CHECK(fabs(c->energy.joules.value - 2.5) < 1e-9 && strstr(c->energy.method, "RAPL") && c->samples.n >= 1);
    CHECK(lacks(c->gpu_missing, "do not run on a GPU") && !c->before.host.load_1min.missing);
    CHECK(c->before.host.memory_available_bytes.value > 1e6);
    md_sensors_close(sensors);
    const MdHostFacts facts = md_host_facts();
    CHECK(lacks(facts.governor.missing, "cpufreq") && facts.n_cpus.value >= 1 && facts.memory_bytes.value > 1e6);
    unsetenv("MDMINI_SYS");
    /* A loop that ends by a fault before it began. */
    sensors = md_sensors_open(&spec);
    CHECK(unknown(md_sensors_conditions(sensors)->energy.joules, "did not come to its end"));
    md_sensors_close(sensors);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "old") == 0) test_old();
    else if (argc > 1 && strcmp(argv[1], "none") == 0) test_none();
    else {
        if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
        pid_t children[N_SLEEPERS];
        start_sleepers(children);
        test_facts();
        test_refused();
        test_device();
        test_samples();
        test_many_samples();
        test_no_samples();
        test_powercap();
        test_processors();
        wait_for_sleepers(children);
        char *command = md_format("rm -r %s", folder);
        CHECK(system(command) == 0);
        free(command);
    }
    return check_finish();
}
