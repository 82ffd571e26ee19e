/* One GPU's readings from the driver's management library (NVML, libnvidia-ml.so.1). The library is part of the driver, and
 * is loaded when the program runs; the build does not need it. Functions and numbers as in the NVML API Reference
 * Guide (docs.nvidia.com/deploy/nvml-api). */
#ifndef MD_SENSORS_NVML_H
#define MD_SENSORS_NVML_H

#include "sensors/reading.h"

typedef struct MdNvml MdNvml;

/* Properties that do not change during a run. */
typedef struct MdGpuFacts {
    const char *missing;                 /* why nothing of the GPU is known; NULL: it is asked */
    MdReadText name, uuid, driver, nvml; /* driver: `580.65.06`; nvml: version of the library */
    MdReading mig, ecc, persistence;     /* modes: 1 on, 0 off */
    MdReading power_limit_w, power_limit_default_w;
    MdReading sm_mhz_max, memory_mhz_max;
} MdGpuFacts;

/* Cheap readings while the GPU computes. */
typedef struct MdGpuPulse {
    MdReading sm_mhz, memory_mhz, temperature_c, power_w;
    MdReading energy_j; /* since the driver was loaded */
    MdReading throttle; /* a whole number: bit k for md_gpu_throttle_name(k) */
} MdGpuPulse;

typedef struct MdGpuState {
    MdGpuPulse pulse;
    MdReading ecc_corrected, ecc_uncorrected;           /* errors of memory since the driver was loaded */
    MdReading n_processes, processes_bytes;             /* that compute on the device, this one among them */
    MdReading n_other_processes, other_processes_bytes; /* without this one */
} MdGpuState;

/* Why clocks are not as high as they could be; NULL ends the list. */
enum { MD_GPU_N_THROTTLE = 9 };
const char *md_gpu_throttle_name(int bit);
/* Bits of the reasons that throttle a busy GPU: power, heat, the board. (Not: idle clocks, and clocks set by a user.) */
#define MD_GPU_HELD_BACK 0xfcu

/* Opens the library and finds the GPU by its UUID (`GPU-...`), else by its PCI bus id. Takes some 20 ms where there is a
 * driver. Never NULL: a failure is the reason of every missing reading. */
MdNvml *md_nvml_open(const char *uuid, const char *bus_id);
/* The same without a GPU: why (a text that stays) is the reason of every missing reading. */
MdNvml *md_nvml_absent(const char *why);
void md_nvml_close(MdNvml *nvml); /* accepts NULL */

MdGpuFacts md_nvml_facts(const MdNvml *nvml);
MdGpuPulse md_nvml_pulse(const MdNvml *nvml);
MdGpuState md_nvml_state(const MdNvml *nvml);
MdReading md_nvml_energy(const MdNvml *nvml);

#endif
