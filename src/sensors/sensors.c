#define _POSIX_C_SOURCE 200809L
#include "sensors/sensors.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/nvtx.h"
#include "sensors/powercap.h"

/* Of samples that are kept for the median: when there are more, every other one goes, and from then on every other one
 * comes. */
enum { MAX_KEPT = 4096 };

/* How old a counter may be when it is read. NVML: it is renewed every tenth of a second on recent GPUs, as is the power, which
 * since Ampere is a mean over a second (Yang, Adamek, Armour, SC24, "Accurate and Convenient Energy Measurements for
 * GPUs"). RAPL: every millisecond (Intel SDM, volume 3B, on RAPL). */
#define NVML_ENERGY_AGE_S 0.1
#define NVML_POWER_AGE_S  1.0
#define RAPL_AGE_S        0.001
/* More uncertain than this it is no figure. */
#define MAX_UNCERTAIN     0.25

typedef enum Phase { OPENING, PARKED, SAMPLING, CLOSING } Phase;

typedef struct Kept {
    int n, stride, until_next;
    double values[MAX_KEPT];
} Kept;

struct MdSensors {
    MdSensorsSpec spec;
    MdNvml *nvml; /* NULL: no GPU; made by the thread, before it is parked for the first time */
    MdGpuFacts gpu;
    MdPowercap powercap;
    MdConditions conditions;
    double begin_s;
    MdReading begin_j; /* NVML's counter */

    pthread_t thread;
    bool threaded;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    Phase phase;
    bool busy; /* the thread takes samples: what they fill is its own */

    Kept *kept;                                             /* [MD_N_SAMPLED] */
    double power_j, power_s, last_power_w, last_power_at_s; /* power over time, by samples */
    const char *energy_missing;                             /* a fault of the counter on the way */
    double last_energy_j;
};

/* --- samples -------------------------------------------------------------------------------------------------------- */

static void keep(Kept *kept, double value) {
    if (kept->until_next-- > 0) return;
    kept->until_next = kept->stride - 1;
    kept->values[kept->n++] = value;
    if (kept->n < MAX_KEPT) return;
    for (int k = 0; k < MAX_KEPT / 2; k++) kept->values[k] = kept->values[2 * k];
    kept->n = MAX_KEPT / 2;
    kept->stride *= 2;
}

static void add_value(MdSensors *s, int which, const MdReading *reading) {
    MdSpread *spread = &s->conditions.samples.spread[which];
    if (reading->missing) {
        if (s->kept[which].n == 0) spread->missing = reading->missing;
        return;
    }
    spread->missing = NULL;
    if (s->kept[which].n == 0 || reading->value < spread->min) spread->min = reading->value;
    if (s->kept[which].n == 0 || reading->value > spread->max) spread->max = reading->value;
    keep(&s->kept[which], reading->value);
}

static void add_throttle(MdSamples *samples, const MdReading *throttle) {
    samples->throttle_missing = throttle->missing;
    if (throttle->missing) return;
    const uint64_t bits = (uint64_t)throttle->value;
    samples->n_throttle++;
    samples->n_held_back += (bits & MD_GPU_HELD_BACK) != 0;
    for (int k = 0; k < MD_GPU_N_THROTTLE; k++) samples->throttled[k] += (int64_t)(bits >> k & 1);
}

/* By the trapezoidal rule. */
static void add_power(MdSensors *s, const MdReading *power, double now_s) {
    if (power->missing || now_s < s->last_power_at_s) return;
    if (isfinite(s->last_power_w)) {
        s->power_j += 0.5 * (s->last_power_w + power->value) * (now_s - s->last_power_at_s);
        s->power_s += now_s - s->last_power_at_s;
    }
    s->last_power_w = power->value;
    s->last_power_at_s = now_s;
}

static const char counter_fell[] = "NVML: the energy counter went backwards";

static void add_energy(MdSensors *s, const MdReading *energy) {
    if (energy->missing) return;
    if (energy->value < s->last_energy_j) s->energy_missing = counter_fell;
    s->last_energy_j = energy->value;
}

static void take_sample(MdSensors *s) {
    MdSamples *samples = &s->conditions.samples;
    const double start_s = md_clock_s();
    if (s->nvml) {
        const MdGpuPulse pulse = md_nvml_pulse(s->nvml);
        add_value(s, MD_SAMPLE_SM_MHZ, &pulse.sm_mhz);
        add_value(s, MD_SAMPLE_MEMORY_MHZ, &pulse.memory_mhz);
        add_value(s, MD_SAMPLE_TEMPERATURE_C, &pulse.temperature_c);
        add_value(s, MD_SAMPLE_POWER_W, &pulse.power_w);
        add_throttle(samples, &pulse.throttle);
        add_power(s, &pulse.power_w, md_clock_s());
        add_energy(s, &pulse.energy_j);
    } else {
        const MdReading mhz = md_host_cpu_mhz();
        add_value(s, MD_SAMPLE_CPU_MHZ, &mhz);
        md_powercap_read(&s->powercap, start_s);
    }
    const double end_s = md_clock_s(), took_s = end_s - start_s;
    if (samples->n++ == 0) samples->first_after_s = end_s - s->begin_s;
    samples->cost_s += took_s;
    if (took_s > samples->longest_s) samples->longest_s = took_s;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_median(MdSpread *spread, Kept *kept) {
    if (kept->n == 0) return;
    qsort(kept->values, (size_t)kept->n, sizeof(double), compare);
    spread->median = 0.5 * (kept->values[(kept->n - 1) / 2] + kept->values[kept->n / 2]);
}

/* --- the thread ----------------------------------------------------------------------------------------------------- */

static void find_device(MdSensors *s) {
    if (!s->spec.gpu) {
        char folder[200];
        snprintf(folder, sizeof folder, "%s/class/powercap", md_host_sys());
        md_powercap_open(&s->powercap, folder);
        return;
    }
    s->nvml = md_nvml_open(s->spec.uuid, s->spec.bus_id);
    s->gpu = md_nvml_facts(s->nvml);
}

static void open_device(MdSensors *s) {
    const double start_s = md_clock_s();
    find_device(s);
    s->conditions.open_s = md_clock_s() - start_s;
}

static void set_phase(MdSensors *s, Phase phase) {
    s->phase = phase;
    pthread_cond_broadcast(&s->changed);
}

/* With the mutex. */
static void wait_until(MdSensors *s, double due_s) {
    const struct timespec until = {.tv_sec = (time_t)due_s, .tv_nsec = (long)(1e9 * (due_s - floor(due_s)))};
    while (s->phase == SAMPLING && md_clock_s() < due_s) pthread_cond_timedwait(&s->changed, &s->mutex, &until);
}

/* With the mutex, which is free while a sample is taken. A sample that comes late is not made up for. */
static void sample_loop(MdSensors *s) {
    double due_s = s->begin_s;
    s->busy = true;
    while (s->phase == SAMPLING) {
        pthread_mutex_unlock(&s->mutex);
        take_sample(s);
        const double now_s = md_clock_s();
        pthread_mutex_lock(&s->mutex);
        due_s = fmax(due_s + s->spec.interval_s, now_s);
        wait_until(s, due_s);
    }
    s->busy = false;
    pthread_cond_broadcast(&s->changed);
}

static void *watch(void *user) {
    MdSensors *s = user;
    md_nvtx_name_thread("sensors");
    open_device(s);
    pthread_mutex_lock(&s->mutex);
    if (s->phase == OPENING) set_phase(s, PARKED);
    while (s->phase != CLOSING) {
        if (s->phase == SAMPLING) sample_loop(s);
        else pthread_cond_wait(&s->changed, &s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* Signals of the run stay with the thread of the steps. */
static bool start_thread(MdSensors *s) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(&s->thread, NULL, watch, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

static const char no_loop[] = "the loop did not come to its end";

MdSensors *md_sensors_open(const MdSensorsSpec *spec) {
    MdSensors *s = md_alloc(1, sizeof *s, "sensors");
    MdConditions *c = &s->conditions;
    s->spec = *spec;
    s->kept = md_alloc(MD_N_SAMPLED, sizeof *s->kept, "samples");
    s->last_power_w = s->last_energy_j = (double)NAN;
    c->interval_s = spec->interval_s;
    c->samples = (MdSamples){.missing = no_loop, .first_after_s = (double)NAN, .throttle_missing = no_loop};
    for (int k = 0; k < MD_N_SAMPLED; k++) {
        s->kept[k].stride = 1;
        c->samples.spread[k] = (MdSpread){(double)NAN, (double)NAN, (double)NAN, no_loop};
    }
    c->energy = (MdEnergy){.joules = md_no_reading(no_loop),
                           .of = "all processors of the machine, and their memory where it is counted",
                           .method = "energy counters (RAPL, /sys/class/powercap)",
                           .seconds = md_no_reading(no_loop),
                           .uncertain_share = (double)NAN};
    if (spec->gpu) c->energy.of = "GPU", c->energy.method = "energy counter (NVML)";
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* that of md_clock_s */
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    s->threaded = start_thread(s);
    if (!s->threaded) open_device(s);
    return s;
}

static void await_device(MdSensors *s) {
    pthread_mutex_lock(&s->mutex);
    const bool opening = s->threaded && s->phase == OPENING;
    const double start_s = md_clock_s();
    while (s->threaded && s->phase == OPENING) pthread_cond_wait(&s->changed, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
    if (opening) s->conditions.outside_s += md_clock_s() - start_s;
}

void md_sensors_close(MdSensors *s) {
    if (!s) return;
    pthread_mutex_lock(&s->mutex);
    set_phase(s, CLOSING);
    pthread_mutex_unlock(&s->mutex);
    if (s->threaded) pthread_join(s->thread, NULL);
    md_nvml_close(s->nvml);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    md_free(s->kept);
    md_free(s);
}

const MdGpuFacts *md_sensors_gpu(MdSensors *s) {
    await_device(s);
    return s->nvml ? &s->gpu : NULL;
}

/* --- around the loop ------------------------------------------------------------------------------------------------ */

static MdSensorState take_state(const MdSensors *s) {
    MdSensorState state = {.taken = true, .host = md_host_state()};
    if (s->nvml) state.gpu = md_nvml_state(s->nvml);
    return state;
}

void md_sensors_begin(MdSensors *s) {
    MdSamples *samples = &s->conditions.samples;
    await_device(s);
    const double start_s = md_clock_s();
    s->conditions.before = take_state(s);
    s->conditions.gpu_missing = s->nvml ? s->gpu.missing : "the steps do not run on a GPU";
    samples->missing = s->spec.interval_s <= 0     ? "report.sample_seconds = 0"
                       : !s->threaded              ? "the system gave no thread for them"
                       : s->nvml && s->gpu.missing ? s->gpu.missing
                                                   : NULL;
    for (int k = 0; k < MD_N_SAMPLED; k++) samples->spread[k].missing = samples->missing;
    samples->throttle_missing = samples->missing;
    s->begin_s = md_clock_s();
    if (s->nvml) {
        s->begin_j = md_nvml_energy(s->nvml);
        add_energy(s, &s->begin_j);
        add_power(s, &s->conditions.before.gpu.pulse.power_w, s->begin_s);
    } else {
        md_powercap_start(&s->powercap, s->begin_s);
    }
    s->conditions.outside_s += md_clock_s() - start_s;
    pthread_mutex_lock(&s->mutex);
    if (!samples->missing) set_phase(s, SAMPLING);
    pthread_mutex_unlock(&s->mutex);
}

/* Joules that are known to be more than a guess. */
static void judge(MdEnergy *energy, double joules, double age_s) {
    static const char still[] = "the loop was too short: the counter did not move";
    static const char coarse[] = "the loop was too short for a counter that is renewed at intervals";
    energy->uncertain_share = 2 * age_s / energy->seconds.value;
    energy->joules = joules <= 0                               ? md_no_reading(still)
                     : energy->uncertain_share > MAX_UNCERTAIN ? md_no_reading(coarse)
                                                               : md_reading(joules);
    if (energy->joules.missing) energy->uncertain_share = (double)NAN;
}

static void settle_counter(MdEnergy *energy, double joules) {
    if (joules < 0) energy->joules = md_no_reading(counter_fell);
    else judge(energy, joules, NVML_ENERGY_AGE_S);
}

/* The counter, or else the power over time. */
static void settle_gpu(MdSensors *s, const MdReading *end_j) {
    static const char shared[] = "the counter is that of the whole GPU, of which this run has an instance (MIG)";
    MdEnergy *energy = &s->conditions.energy;
    if (s->gpu.mig.value == 1) energy->joules = md_no_reading(shared);
    else if (s->energy_missing) energy->joules = md_no_reading(s->energy_missing);
    else if (!s->begin_j.missing && !end_j->missing) settle_counter(energy, end_j->value - s->begin_j.value);
    else if (s->power_s > 0 && s->conditions.samples.n > 0) {
        energy->method = "samples of the power over time (NVML)";
        judge(energy, s->power_j * energy->seconds.value / s->power_s, NVML_POWER_AGE_S);
    } else energy->joules = md_no_reading(s->begin_j.missing ? s->begin_j.missing : end_j->missing);
}

static void settle_processors(MdSensors *s) {
    MdEnergy *energy = &s->conditions.energy;
    if (s->powercap.missing) energy->joules = md_no_reading(s->powercap.missing);
    else judge(energy, s->powercap.joules, RAPL_AGE_S);
}

static void stop_sampling(MdSensors *s) {
    pthread_mutex_lock(&s->mutex);
    if (s->phase == SAMPLING) set_phase(s, PARKED);
    while (s->busy) pthread_cond_wait(&s->changed, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

void md_sensors_end(MdSensors *s) {
    static const char short_loop[] = "the loop ended before the first sample";
    MdSamples *samples = &s->conditions.samples;
    MdEnergy *energy = &s->conditions.energy;
    const MdReading end_j = s->nvml ? md_nvml_energy(s->nvml) : md_no_reading(NULL);
    const double end_s = md_clock_s();
    energy->seconds = md_reading(end_s - s->begin_s);
    stop_sampling(s);
    if (!s->nvml) md_powercap_read(&s->powercap, end_s);
    s->conditions.after = take_state(s);
    if (s->nvml) {
        add_power(s, &s->conditions.after.gpu.pulse.power_w, end_s);
        settle_gpu(s, &end_j);
    } else settle_processors(s);
    if (samples->n == 0 && !samples->missing) samples->missing = short_loop;
    for (int k = 0; k < MD_N_SAMPLED; k++) {
        if (samples->n == 0) samples->spread[k].missing = samples->missing;
        find_median(&samples->spread[k], &s->kept[k]);
    }
    if (samples->n == 0) samples->throttle_missing = samples->missing;
    s->conditions.outside_s += md_clock_s() - s->begin_s - energy->seconds.value;
}

const MdConditions *md_sensors_conditions(const MdSensors *s) { return &s->conditions; }
