/* The machine and the device during a loop: their state before and after it, samples during it, energy.
 *
 * A separate thread opens NVML while the run is set up, and takes samples during the loop: the first when it begins,
 * then one each interval. The loop does not wait for it; the cost of the samples is measured. With a broken driver
 * a call may never return: no other thread calls NVML, and a thread that waits for the answer gives up after a limit. From
 * then on further readings are missing, and the thread is abandoned. */
#ifndef MD_SENSORS_SENSORS_H
#define MD_SENSORS_SENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cgroup.h"
#include "sensors/host.h"
#include "sensors/nvml.h"

/* One sample. */
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
    MdGpuState gpu; /* only with a GPU */
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
    double open_s;           /* to find the device, in a separate thread */
    double outside_s;        /* that the run waited for the sensors, before the loop and after it */
    const char *gpu_missing; /* why nothing is known of the GPU, or that there is none; NULL: it is asked */
    MdSamples samples;
    MdEnergy energy;
    MdCgroupCpu quota; /* of the control group; its counters, over the loop */
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

/* Around the loop, once. Their own time is outside of it. md_sensors_end does not wait: between it and
 * md_sensors_finish the caller saves data that must not be lost. */
void md_sensors_begin(MdSensors *sensors);
void md_sensors_end(MdSensors *sensors);
/* The state after the loop; nothing where there was none. */
void md_sensors_finish(MdSensors *sensors);

/* The results; before md_sensors_finish everything is missing. */
const MdConditions *md_sensors_conditions(const MdSensors *sensors);

#endif
