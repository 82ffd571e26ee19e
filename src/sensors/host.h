/* The processor and the machine around a run, as Linux tells them. */
#ifndef MD_SENSORS_HOST_H
#define MD_SENSORS_HOST_H

#include "sensors/reading.h"

typedef struct MdHostFacts {
    MdReadText model, governor;       /* of the processor; of its clocks */
    MdReading n_cpus, n_cpus_allowed; /* logical processors: of the machine, and allowed for this process */
    MdReading quota;                  /* processors whose time its control group may use */
    MdReading memory_bytes;
} MdHostFacts;

typedef struct MdHostState {
    MdReading load_1min, load_5min, load_15min; /* processes that run or wait, of the whole machine */
    MdReading cpu_mhz;                          /* mean over the processors that this process may use */
    MdReading memory_available_bytes;           /* to this process, its control group heeded */
} MdHostState;

/* The model of the processor, from /proc/cpuinfo. */
MdReadText md_host_cpu_model(void);

/* Logical processors: of the machine (0: the system does not say), and allowed for this process, by the affinity
 * that it was started with. */
int md_host_cpus(void);
int md_host_cpus_allowed(void);

MdHostFacts md_host_facts(void);
MdHostState md_host_state(void);
MdReading md_host_cpu_mhz(void);

/* Of the last level: one cache, as processor 0 sees it; all of the machine, as far as they are alike. */
typedef struct MdHostCaches {
    MdReading last_bytes, all_bytes;
} MdHostCaches;
MdHostCaches md_host_caches(void);

#endif
