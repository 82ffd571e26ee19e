#define _POSIX_C_SOURCE 200809L
#include "sensors/sensors.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/nvtx.h"
#include "base/threads.h"
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

/* Those in -ING but SAMPLING are the work of the thread, which goes to the next one; the others it leaves when it is told. */
typedef enum Phase { OPENING, PARKED, BEGINNING, SAMPLING, ENDING, ENDED, LOOKING, LOOKED, CLOSING } Phase;

typedef struct Kept {
    int n, stride, until_next;
    double values[MAX_KEPT];
} Kept;

struct MdSensors {
    MdSensorsSpec spec;
    MdNvml *nvml;        /* the thread's own, as the next; NULL: no GPU */
    MdPowercap powercap; /* read by others when the thread is done with it */

    pthread_t thread;
    bool threaded;
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t changed;
    Phase phase;
    const char *lost;  /* why the thread is no longer waited for; its later results are ignored */
    bool gone, orphan; /* the thread is done; it is to free this */

    MdGpuFacts gpu;
    MdConditions conditions;
    double begin_s, end_s;
    MdReading begin_j, end_j;                               /* NVML's counter */
    Kept *kept;                                             /* [MD_N_SAMPLED] */
    double power_j, power_s, last_power_w, last_power_at_s; /* power over time, by samples */
    const char *energy_missing;                             /* a fault of the counter on the way */
    double last_energy_j, late_s; /* late: after the end of the loop that the counter was read */
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

static void add_pulse(MdSensors *s, const MdGpuPulse *pulse, double now_s) {
    add_value(s, MD_SAMPLE_SM_MHZ, &pulse->sm_mhz);
    add_value(s, MD_SAMPLE_MEMORY_MHZ, &pulse->memory_mhz);
    add_value(s, MD_SAMPLE_TEMPERATURE_C, &pulse->temperature_c);
    add_value(s, MD_SAMPLE_POWER_W, &pulse->power_w);
    add_throttle(&s->conditions.samples, &pulse->throttle);
    add_power(s, &pulse->power_w, now_s);
    add_energy(s, &pulse->energy_j);
}

/* With the mutex, which is free while the device is asked. */
static void take_sample(MdSensors *s) {
    MdSamples *samples = &s->conditions.samples;
    MdGpuPulse pulse = {0};
    MdReading mhz = {0};
    pthread_mutex_unlock(&s->mutex);
    const double start_s = md_clock_s();
    if (s->nvml) pulse = md_nvml_pulse(s->nvml);
    else mhz = md_host_cpu_mhz(), md_powercap_read(&s->powercap, start_s);
    const double end_s = md_clock_s(), took_s = end_s - start_s;
    pthread_mutex_lock(&s->mutex);
    if (s->lost) return;
    if (s->nvml) add_pulse(s, &pulse, end_s);
    else add_value(s, MD_SAMPLE_CPU_MHZ, &mhz);
    if (samples->n++ == 0) samples->first_after_s = end_s - s->begin_s;
    samples->cost_s += took_s;
    if (took_s > samples->longest_s) samples->longest_s = took_s;
}

static void find_median(MdSpread *spread, Kept *kept) {
    if (kept->n == 0) return;
    md_sort_reals(kept->values, (size_t)kept->n);
    spread->median = 0.5 * (kept->values[(kept->n - 1) / 2] + kept->values[kept->n / 2]);
}

/* --- the thread ----------------------------------------------------------------------------------------------------- */

static void find_device(MdSensors *s) {
    if (!s->spec.gpu) {
        char folder[200];
        snprintf(folder, sizeof folder, "%s/class/powercap", md_sys_folder());
        md_powercap_open(&s->powercap, folder);
        return;
    }
    s->nvml = md_nvml_open(s->spec.uuid, s->spec.bus_id);
}

static void set_phase(MdSensors *s, Phase phase) {
    s->phase = phase;
    pthread_cond_broadcast(&s->changed);
}

/* The tasks of the thread, each with the mutex, which is free while the device is asked. */

static void open_device(MdSensors *s) {
    pthread_mutex_unlock(&s->mutex);
    const double start_s = md_clock_s();
    find_device(s);
    const MdGpuFacts gpu = s->nvml ? md_nvml_facts(s->nvml) : (MdGpuFacts){0};
    const double took_s = md_clock_s() - start_s;
    pthread_mutex_lock(&s->mutex);
    if (s->lost || s->phase != OPENING) return;
    s->conditions.open_s = took_s;
    s->gpu = gpu;
    set_phase(s, PARKED);
}

static void begin(MdSensors *s) {
    pthread_mutex_unlock(&s->mutex);
    MdGpuState state = {0};
    MdReading joules = {0};
    if (s->nvml) state = md_nvml_state(s->nvml);
    if (s->nvml) joules = md_nvml_energy(s->nvml);
    const double now_s = md_clock_s();
    if (!s->nvml) md_powercap_start(&s->powercap, now_s);
    pthread_mutex_lock(&s->mutex);
    if (s->lost || s->phase != BEGINNING) return;
    s->conditions.before.gpu = state;
    s->begin_s = now_s;
    s->begin_j = joules;
    if (s->nvml) add_energy(s, &joules);
    if (s->nvml) add_power(s, &state.pulse.power_w, now_s);
    set_phase(s, SAMPLING);
}

static struct timespec instant(double at_s) {
    return (struct timespec){.tv_sec = (time_t)at_s, .tv_nsec = (long)(1e9 * (at_s - floor(at_s)))};
}

/* With the mutex. */
static void wait_until(MdSensors *s, double due_s) {
    const struct timespec until = instant(due_s);
    while (s->phase == SAMPLING && md_clock_s() < due_s) pthread_cond_timedwait(&s->changed, &s->mutex, &until);
}

/* A sample that comes late is not made up for. */
static void sample_loop(MdSensors *s) {
    double due_s = s->begin_s;
    if (s->conditions.samples.missing) pthread_cond_wait(&s->changed, &s->mutex);
    else
        while (s->phase == SAMPLING && !s->lost) {
            take_sample(s);
            due_s = fmax(due_s + s->spec.interval_s, md_clock_s());
            wait_until(s, due_s);
        }
}

/* The energy to here; the power, where there is no counter. */
static void end(MdSensors *s) {
    pthread_mutex_unlock(&s->mutex);
    MdGpuPulse pulse = {0};
    if (s->nvml) pulse.energy_j = md_nvml_energy(s->nvml);
    const double now_s = md_clock_s();
    if (!s->nvml) md_powercap_read(&s->powercap, now_s);
    else if (pulse.energy_j.missing) pulse = md_nvml_pulse(s->nvml);
    pthread_mutex_lock(&s->mutex);
    if (s->lost || s->phase != ENDING) return;
    s->late_s = now_s - s->end_s;
    s->end_s = now_s;
    s->end_j = pulse.energy_j;
    if (s->nvml && pulse.energy_j.missing) add_power(s, &pulse.power_w, now_s);
    set_phase(s, ENDED);
}

static void look(MdSensors *s) {
    pthread_mutex_unlock(&s->mutex);
    MdGpuState state = {0};
    if (s->nvml) state = md_nvml_state(s->nvml);
    pthread_mutex_lock(&s->mutex);
    if (s->lost || s->phase != LOOKING) return;
    s->conditions.after.gpu = state;
    set_phase(s, LOOKED);
}

static void destroy(MdSensors *s) {
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    md_free(s->kept);
    md_free(s);
}

static void *watch(void *user) {
    MdSensors *s = user;
    md_nvtx_name_thread("sensors");
    pthread_mutex_lock(&s->mutex);
    while (s->phase != CLOSING && !s->lost) {
        if (s->phase == OPENING) open_device(s);
        else if (s->phase == BEGINNING) begin(s);
        else if (s->phase == SAMPLING) sample_loop(s);
        else if (s->phase == ENDING) end(s);
        else if (s->phase == LOOKING) look(s);
        else pthread_cond_wait(&s->changed, &s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
    md_nvml_close(s->nvml);
    pthread_mutex_lock(&s->mutex);
    s->gone = true;
    pthread_cond_broadcast(&s->changed);
    const bool orphan = s->orphan;
    pthread_mutex_unlock(&s->mutex);
    if (orphan) destroy(s);
    return NULL;
}

static const char no_answer[] = "NVML did not answer";

/* The known properties of a GPU before it has answered. */
static void lack_gpu(MdSensors *s, const char *why) {
    MdNvml *absent = md_nvml_absent(why);
    s->gpu = md_nvml_facts(absent);
    s->conditions.before.gpu = s->conditions.after.gpu = md_nvml_state(absent);
    md_nvml_close(absent);
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
    lack_gpu(s, no_answer);
    s->threaded = md_threads_begin(&s->thread, watch, s);
    if (!s->threaded) {
        s->gone = true;
        s->lost = "cannot create the thread of the sensors";
        lack_gpu(s, s->lost);
    }
    return s;
}

/* --- the thread that waits ---------------------------------------------------------------------------------------- */

/* The thread of a driver that hangs is left to itself. */
void md_sensors_close(MdSensors *s) {
    if (!s) return;
    pthread_mutex_lock(&s->mutex);
    set_phase(s, CLOSING);
    const struct timespec until = instant(md_clock_s() + s->spec.limit_s);
    while (!s->gone && !s->lost)
        if (pthread_cond_timedwait(&s->changed, &s->mutex, &until) == ETIMEDOUT) s->lost = "closed";
    const bool gone = s->gone, threaded = s->threaded;
    const pthread_t thread = s->thread; /* an orphan may be gone as soon as it can */
    s->orphan = !gone;
    pthread_mutex_unlock(&s->mutex);
    if (!gone) pthread_detach(thread);
    else if (threaded) pthread_join(thread, NULL);
    if (gone) destroy(s);
}

/* With the mutex: whether the thread did it in time, as far as it was not given up before. */
static bool await(MdSensors *s, Phase phase) {
    const struct timespec until = instant(md_clock_s() + s->spec.limit_s);
    while (!s->lost && s->phase < phase) {
        if (pthread_cond_timedwait(&s->changed, &s->mutex, &until) != ETIMEDOUT || s->phase >= phase) continue;
        s->lost = s->spec.gpu ? no_answer : "the system did not answer";
    }
    return !s->lost;
}

const MdGpuFacts *md_sensors_gpu(MdSensors *s) {
    const double start_s = md_clock_s();
    pthread_mutex_lock(&s->mutex);
    const bool opening = s->phase == OPENING && !s->lost;
    await(s, PARKED);
    if (opening) s->conditions.outside_s += md_clock_s() - start_s;
    pthread_mutex_unlock(&s->mutex);
    return s->spec.gpu ? &s->gpu : NULL;
}

/* --- around the loop ------------------------------------------------------------------------------------------------ */

/* Why there will be no samples; NULL: there will be. With the mutex. */
static const char *sampling_obstacle(const MdSensors *s) {
    if (s->spec.interval_s <= 0) return "report.sample_seconds = 0";
    if (s->lost) return s->lost;
    return s->spec.gpu ? s->gpu.missing : NULL;
}

void md_sensors_begin(MdSensors *s) {
    MdSamples *samples = &s->conditions.samples;
    const double start_s = md_clock_s();
    s->conditions.before.host = md_host_state();
    pthread_mutex_lock(&s->mutex);
    await(s, PARKED);
    s->conditions.before.taken = true;
    s->conditions.gpu_missing = s->spec.gpu ? s->gpu.missing : "the steps do not run on a GPU";
    samples->missing = sampling_obstacle(s);
    for (int k = 0; k < MD_N_SAMPLED; k++) samples->spread[k].missing = samples->missing;
    samples->throttle_missing = samples->missing;
    if (!s->lost) set_phase(s, BEGINNING);
    if (!await(s, SAMPLING)) s->begin_s = md_clock_s();
    s->conditions.quota = md_cgroup_cpu();
    s->conditions.outside_s += md_clock_s() - start_s;
    pthread_mutex_unlock(&s->mutex);
}

void md_sensors_end(MdSensors *s) {
    pthread_mutex_lock(&s->mutex);
    s->end_s = md_clock_s();
    if (s->phase == SAMPLING) set_phase(s, ENDING);
    pthread_mutex_unlock(&s->mutex);
    MdCgroupCpu *quota = &s->conditions.quota, before = *quota;
    *quota = md_cgroup_cpu();
    quota->n_periods -= before.n_periods;
    quota->n_throttled -= before.n_throttled;
    quota->throttled_s -= before.throttled_s;
}

/* Joules that are known to be more than a guess; their counter may be so old, and was read so late. */
static void judge(MdEnergy *energy, double joules, double age_s, double late_s) {
    static const char still[] = "the loop was too short: the counter did not move";
    static const char coarse[] = "the loop was too short for a counter that is renewed at intervals";
    energy->uncertain_share = (2 * age_s + late_s) / energy->seconds.value;
    energy->joules = joules <= 0                               ? md_no_reading(still)
                     : energy->uncertain_share > MAX_UNCERTAIN ? md_no_reading(coarse)
                                                               : md_reading(joules);
    if (energy->joules.missing) energy->uncertain_share = (double)NAN;
}

static void settle_counter(MdEnergy *energy, double joules, double late_s) {
    if (joules < 0) energy->joules = md_no_reading(counter_fell);
    else judge(energy, joules, NVML_ENERGY_AGE_S, late_s);
}

/* The counter, or else the power over time. */
static void settle_gpu(MdSensors *s) {
    static const char shared[] = "the counter is that of the whole GPU, of which this run has an instance (MIG)";
    MdEnergy *energy = &s->conditions.energy;
    const char *missing = s->begin_j.missing ? s->begin_j.missing : s->end_j.missing;
    if (s->gpu.mig.value == 1) energy->joules = md_no_reading(shared);
    else if (s->energy_missing) energy->joules = md_no_reading(s->energy_missing);
    else if (!missing) settle_counter(energy, s->end_j.value - s->begin_j.value, s->late_s);
    else if (s->power_s > 0 && s->conditions.samples.n > 0) {
        energy->method = "samples of the power over time (NVML)";
        judge(energy, s->power_j * energy->seconds.value / s->power_s, NVML_POWER_AGE_S, s->late_s);
    } else energy->joules = md_no_reading(missing);
}

static void settle_processors(MdSensors *s) {
    MdEnergy *energy = &s->conditions.energy;
    if (s->powercap.missing) energy->joules = md_no_reading(s->powercap.missing);
    else judge(energy, s->powercap.joules, RAPL_AGE_S, s->late_s);
}

static void settle_samples(MdSensors *s) {
    static const char short_loop[] = "the loop ended before the first sample";
    MdSamples *samples = &s->conditions.samples;
    if (samples->n == 0 && !samples->missing) samples->missing = s->lost ? s->lost : short_loop;
    for (int k = 0; k < MD_N_SAMPLED; k++) {
        if (samples->n == 0) samples->spread[k].missing = samples->missing;
        find_median(&samples->spread[k], &s->kept[k]);
    }
    if (samples->n == 0) samples->throttle_missing = samples->missing;
}

void md_sensors_finish(MdSensors *s) {
    MdEnergy *energy = &s->conditions.energy;
    const double start_s = md_clock_s();
    if (!s->conditions.before.taken) return;
    s->conditions.after.host = md_host_state();
    pthread_mutex_lock(&s->mutex);
    const bool ended = await(s, ENDED);
    if (ended) set_phase(s, LOOKING);
    await(s, LOOKED); /* later readings stay missing */
    s->conditions.after.taken = true;
    energy->seconds = md_reading(s->end_s - s->begin_s);
    if (!ended) energy->joules = md_no_reading(s->lost);
    else if (s->spec.gpu) settle_gpu(s);
    else settle_processors(s);
    settle_samples(s);
    s->conditions.outside_s += md_clock_s() - start_s;
    pthread_mutex_unlock(&s->mutex);
}

const MdConditions *md_sensors_conditions(const MdSensors *s) { return &s->conditions; }
