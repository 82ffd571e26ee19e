/* What machine and device did while a loop ran: their state before and after it, samples on the way, energy.
 *
 * A thread of its own opens NVML while the run is set up, and takes samples during the loop: the first when it begins,
 * then one each interval. The loop neither waits for it nor knows of it; what the samples cost is measured. A driver that is
 * ill can hold a call for ever: no other thread calls NVML, and one that waits for the answer gives up after a limit. From
 * then on what is not known yet is missing, and the thread is left behind. */
#ifndef MD_SENSORS_SENSORS_H
#define MD_SENSORS_SENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cgroup.h"
#include "sensors/host.h"
#include "sensors/nvml.h"

/* What is sampled. */
enum {
    MD_SAMPLE_SM_MHZ,
    MD_SAMPLE_MEMORY_MHZ,
    MD_SAMPLE_TEMPERATURE_C,
    MD_SAMPLE_POWER_W,
    MD_SAMPLE_CPU_MHZ,
    MD_N_SAMPLED
};

typedef struct MdSpread {
    double min, median, max; /* NaN where there are none */
    const char *missing;     /* and then why */
} MdSpread;

typedef struct MdSensorState {
    bool taken;
    MdHostState host;
    MdGpuState gpu; /* with a GPU alone */
} MdSensorState;

typedef struct MdSamples {
    int64_t n;
    double first_after_s;     /* that the first was complete, from the beginning of the loop */
    double cost_s, longest_s; /* that all took together, in their own thread; the longest */
    const char *missing;      /* why there are none */
    MdSpread spread[MD_N_SAMPLED];
    int64_t n_throttle, throttled[MD_GPU_N_THROTTLE]; /* samples that told of clocks; of these with each reason, */
    int64_t n_held_back;                              /* and with any of MD_GPU_HELD_BACK */
    const char *throttle_missing;
} MdSamples;

/* Of the device that made the steps: the GPU, or the processors. */
typedef struct MdEnergy {
    MdReading joules;
    const char *of, *method;
    MdReading seconds;      /* that they are of: the loop, as this clock sees it */
    double uncertain_share; /* of the joules, at most: the counter is renewed at intervals; NaN where there are none */
} MdEnergy;

typedef struct MdConditions {
    MdSensorState before, after;
    double interval_s;       /* 0: no samples were wanted */
    double open_s;           /* that it took to find the device, in a thread of its own */
    double outside_s;        /* that the run waited for the sensors, before the loop and after it */
    const char *gpu_missing; /* why nothing is known of the GPU, or that there is none; NULL: it is asked */
    MdSamples samples;
    MdEnergy energy;
    MdCgroupCpu quota; /* of the control group; what it counts, over the loop */
} MdConditions;

typedef struct MdSensorsSpec {
    bool gpu;                  /* that the steps run on; false: on the processors */
    const char *uuid, *bus_id; /* of it, as CUDA names it */
    double interval_s;         /* between samples; 0: none */
    double limit_s;            /* that an answer is waited for */
} MdSensorsSpec;

/* Nothing that NVML is asked takes longer on a sound machine, and a run that is to end soon can afford it. */
#define MD_SENSORS_LIMIT_S 5

typedef struct MdSensors MdSensors;

/* Returns at once. */
MdSensors *md_sensors_open(const MdSensorsSpec *spec);
void md_sensors_close(MdSensors *sensors); /* accepts NULL */

/* The GPU; waits until it is known. NULL: the steps run on the processors. */
const MdGpuFacts *md_sensors_gpu(MdSensors *sensors);

/* Around the loop, once. What they take themselves is outside of it. md_sensors_end waits for nothing: between it and
 * md_sensors_finish the caller saves what must not be lost. */
void md_sensors_begin(MdSensors *sensors);
void md_sensors_end(MdSensors *sensors);
/* The state after the loop; nothing where there was none. */
void md_sensors_finish(MdSensors *sensors);

/* What came of it; before md_sensors_finish everything is missing. */
const MdConditions *md_sensors_conditions(const MdSensors *sensors);

#endif
