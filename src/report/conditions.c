#include "report/conditions.h"

#include <stdlib.h>

#include "base/memory.h"
#include "report/facts.h"
#include "sensors/host.h"

static const char *const sampled[MD_N_SAMPLED] = {[MD_SAMPLE_SM_MHZ] = "sm_mhz",
                                                  [MD_SAMPLE_MEMORY_MHZ] = "memory_mhz",
                                                  [MD_SAMPLE_TEMPERATURE_C] = "temperature_c",
                                                  [MD_SAMPLE_POWER_W] = "power_w",
                                                  [MD_SAMPLE_CPU_MHZ] = "cpu_mhz"};

/* --- JSON ----------------------------------------------------------------------------------------------------------- */

static void write_throttle(MdFacts *facts, const MdReading *throttle) {
    if (throttle->missing) {
        md_facts_lack(facts, "throttle", throttle->missing);
        return;
    }
    md_json_begin_array(facts->json, "throttle");
    for (int k = 0; k < MD_GPU_N_THROTTLE; k++)
        if ((uint64_t)throttle->value >> k & 1) md_json_text(facts->json, NULL, md_gpu_throttle_name(k));
    md_json_end_array(facts->json);
}

static void write_gpu_state(MdFacts *facts, const MdGpuState *gpu) {
    md_facts_enter(facts, "gpu");
    md_facts_real(facts, "sm_mhz", &gpu->pulse.sm_mhz);
    md_facts_real(facts, "memory_mhz", &gpu->pulse.memory_mhz);
    md_facts_real(facts, "temperature_c", &gpu->pulse.temperature_c);
    md_facts_real(facts, "power_w", &gpu->pulse.power_w);
    write_throttle(facts, &gpu->pulse.throttle);
    md_facts_int(facts, "ecc_errors_corrected", &gpu->ecc_corrected);
    md_facts_int(facts, "ecc_errors_uncorrected", &gpu->ecc_uncorrected);
    md_facts_int(facts, "processes", &gpu->n_processes);
    md_facts_int(facts, "processes_bytes", &gpu->processes_bytes);
    md_facts_int(facts, "other_processes", &gpu->n_other_processes);
    md_facts_int(facts, "other_processes_bytes", &gpu->other_processes_bytes);
    md_facts_leave(facts);
}

static void write_state(MdFacts *facts, const char *key, const MdSensorState *state, const char *gpu_missing) {
    if (!state->taken) {
        md_facts_lack(facts, key, "the run did not get there");
        return;
    }
    md_facts_enter(facts, key);
    if (gpu_missing) md_facts_lack(facts, "gpu", gpu_missing);
    else write_gpu_state(facts, &state->gpu);
    md_facts_real(facts, "cpu_mhz", &state->host.cpu_mhz);
    md_facts_real(facts, "load_1min", &state->host.load_1min);
    md_facts_real(facts, "load_5min", &state->host.load_5min);
    md_facts_real(facts, "load_15min", &state->host.load_15min);
    md_facts_int(facts, "memory_available_bytes", &state->host.memory_available_bytes);
    md_facts_leave(facts);
}

static void write_spread(MdFacts *facts, const char *key, const MdSpread *spread) {
    if (spread->missing) {
        md_facts_lack(facts, key, spread->missing);
        return;
    }
    md_json_begin_object(facts->json, key);
    md_json_real(facts->json, "min", spread->min);
    md_json_real(facts->json, "median", spread->median);
    md_json_real(facts->json, "max", spread->max);
    md_json_end_object(facts->json);
}

/* The share of the samples with each reason that there was. */
static void write_throttled(MdFacts *facts, const MdSamples *samples) {
    if (samples->n_throttle == 0) {
        md_facts_lack(facts, "throttle", samples->throttle_missing);
        return;
    }
    md_json_begin_object(facts->json, "throttle");
    for (int k = 0; k < MD_GPU_N_THROTTLE; k++)
        if (samples->throttled[k] > 0)
            md_json_real(facts->json, md_gpu_throttle_name(k),
                         (double)samples->throttled[k] / (double)samples->n_throttle);
    md_json_end_object(facts->json);
}

static void write_samples(MdFacts *facts, const MdConditions *c, bool gpu) {
    const MdSamples *samples = &c->samples;
    md_facts_enter(facts, "during");
    md_json_int(facts->json, "samples", samples->n);
    md_json_real(facts->json, "interval_seconds", c->interval_s);
    if (samples->n == 0) md_facts_lack(facts, "first_after_seconds", samples->missing);
    else md_json_real(facts->json, "first_after_seconds", samples->first_after_s);
    md_json_real(facts->json, "cost_seconds", samples->cost_s);
    md_json_real(facts->json, "longest_seconds", samples->longest_s);
    if (c->gpu_missing) {
        md_facts_lack(facts, "gpu", c->gpu_missing);
    } else {
        md_facts_enter(facts, "gpu");
        for (int k = 0; k < MD_SAMPLE_CPU_MHZ; k++) write_spread(facts, sampled[k], &samples->spread[k]);
        write_throttled(facts, samples);
        md_facts_leave(facts);
    }
    if (gpu) md_facts_lack(facts, "cpu_mhz", "sampled where the steps run on the processors");
    else write_spread(facts, sampled[MD_SAMPLE_CPU_MHZ], &samples->spread[MD_SAMPLE_CPU_MHZ]);
    if (c->quota.processors > 0 && isfinite(c->quota.processors)) {
        md_json_begin_object(facts->json, "cpu_quota");
        md_json_real(facts->json, "processors", c->quota.processors);
        md_json_int(facts->json, "periods", c->quota.n_periods);
        md_json_int(facts->json, "throttled_periods", c->quota.n_throttled);
        md_json_real(facts->json, "throttled_seconds", c->quota.throttled_s);
        md_json_end_object(facts->json);
    } else md_facts_lack(facts, "cpu_quota", "no control group has a quota");
    md_facts_leave(facts);
}

static MdReading per_atom_step(const MdReading *joules, const MdReading *n_atom_steps) {
    if (joules->missing) return *joules;
    return n_atom_steps->missing ? *n_atom_steps : md_reading(joules->value / n_atom_steps->value);
}

static void write_energy(MdJson *json, const MdEnergy *energy, const MdReading *n_atom_steps) {
    const MdReading specific = per_atom_step(&energy->joules, n_atom_steps);
    const MdReading watts =
        energy->joules.missing ? energy->joules : md_reading(energy->joules.value / energy->seconds.value);
    const MdReading *joules = &energy->joules;
    const MdReading uncertain = joules->missing ? *joules : md_reading(energy->uncertain_share);
    MdFacts facts = md_facts_begin(json, "energy");
    md_json_text(json, "of", energy->of);
    md_json_text(json, "method", energy->method);
    md_facts_real(&facts, "seconds", &energy->seconds);
    md_facts_real(&facts, "joules", joules);
    md_facts_real(&facts, "joules_per_atom_step", &specific);
    md_facts_real(&facts, "mean_watts", &watts);
    md_facts_real(&facts, "uncertain_share", &uncertain);
    md_facts_finish(&facts);
}

void md_conditions_write(MdJson *json, const MdConditions *c, bool gpu, const MdReading *n_atom_steps) {
    const MdReading specific = per_atom_step(&c->energy.joules, n_atom_steps);
    md_json_real(json, "joules_per_atom_step", specific.value);
    write_energy(json, &c->energy, n_atom_steps);
    MdFacts facts = md_facts_begin(json, "conditions");
    md_json_real(json, "open_seconds", c->open_s);
    md_json_real(json, "outside_seconds", c->outside_s);
    write_state(&facts, "before", &c->before, c->gpu_missing);
    write_samples(&facts, c, gpu);
    write_state(&facts, "after", &c->after, c->gpu_missing);
    md_facts_finish(&facts);
}

/* --- the log -------------------------------------------------------------------------------------------------------- */

static void log_gpu(MdLog *log, const MdSamples *samples, const MdReading *power_limit_w) {
    const MdSpread *sm = &samples->spread[MD_SAMPLE_SM_MHZ], *memory = &samples->spread[MD_SAMPLE_MEMORY_MHZ];
    const MdSpread *heat = &samples->spread[MD_SAMPLE_TEMPERATURE_C], *power = &samples->spread[MD_SAMPLE_POWER_W];
    if (sm->missing) {
        md_log(log, "clocks    not known: %s\n", sm->missing);
        return;
    }
    md_log(log, "clocks    SM %.0f MHz (%.0f to %.0f)", sm->median, sm->min, sm->max);
    if (!memory->missing) md_log(log, ", memory %.0f MHz", memory->median);
    if (!heat->missing) md_log(log, ", %.0f C", heat->max);
    if (!power->missing) md_log(log, ", %.0f W", power->median);
    if (!power->missing && !power_limit_w->missing) md_log(log, " of %.0f W", power_limit_w->value);
    md_log(log, "; %lld samples\n", (long long)samples->n);
}

static void log_throttle(MdLog *log, const MdSamples *samples) {
    MdText names = {0};
    if (samples->n_held_back == 0) return;
    for (int k = 0; k < MD_GPU_N_THROTTLE; k++)
        if (samples->throttled[k] > 0 && (MD_GPU_HELD_BACK >> k & 1))
            md_text_add(&names, "%s%s", names.length ? ", " : "", md_gpu_throttle_name(k));
    char *list = md_text_take(&names);
    md_warn(log, "the GPU was throttled in %.0f %% of the samples (%s): the speed is that of a throttled GPU\n",
            100 * (double)samples->n_held_back / (double)samples->n_throttle, list);
    free(list);
}

static void log_energy(MdLog *log, const MdEnergy *energy, const MdReading *n_atom_steps) {
    const MdReading specific = per_atom_step(&energy->joules, n_atom_steps);
    if (energy->joules.missing) {
        md_log(log, "energy    not known: %s\n", energy->joules.missing);
        return;
    }
    md_log(log, "energy    %.4g J", energy->joules.value);
    if (!specific.missing) md_log(log, ", %.3g J per atom-step", specific.value);
    md_log(log, ", %.0f W: %s\n", energy->joules.value / energy->seconds.value, energy->method);
}

void md_conditions_log_load(MdLog *log, const MdConditions *c) {
    const MdReading *load = &c->before.host.load_1min;
    const int n_cpus = md_host_cpus();
    if (!c->before.taken || load->missing || n_cpus == 0 || load->value <= n_cpus) return;
    md_warn(log, "the machine was busy before (load %.1f, %d processor%s): the speed is that of a busy machine\n",
            load->value, n_cpus, n_cpus == 1 ? "" : "s");
}

static void log_quota(MdLog *log, const MdCgroupCpu *quota) {
    if (quota->n_throttled > 0)
        md_warn(
            log,
            "the quota of the control group is the time of %.3g processors: its processes were throttled in %lld of "
            "%lld periods of the loop, for %.2f s in all\n",
            quota->processors, (long long)quota->n_throttled, (long long)quota->n_periods, quota->throttled_s);
}

void md_conditions_log(MdLog *log, const MdConditions *c, const MdReading *power_limit_w,
                       const MdReading *n_atom_steps) {
    if (power_limit_w) {
        log_gpu(log, &c->samples, power_limit_w);
        log_throttle(log, &c->samples);
    } else {
        md_conditions_log_load(log, c);
    }
    if (c->before.taken) log_quota(log, &c->quota);
    log_energy(log, &c->energy, n_atom_steps);
}
