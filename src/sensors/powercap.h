/* Energy of the processors, by the counters that Linux shows under /sys/class/powercap (RAPL: Intel, and AMD since Zen): of all
 * packages, and of their memory where it has a counter. They count everything that runs on the machine. On most systems only
 * root may read them. */
#ifndef MD_SENSORS_POWERCAP_H
#define MD_SENSORS_POWERCAP_H

#include <stdint.h>

enum { MD_POWERCAP_ZONES = 32 };

typedef struct MdPowercapZone {
    char path[256]; /* of its counter */
    char name[48];  /* package-0, dram */
    uint64_t range_uj, last_uj;
} MdPowercapZone;

typedef struct MdPowercap {
    const char *missing; /* why the energy is not known; NULL: it is */
    int n;
    MdPowercapZone zones[MD_POWERCAP_ZONES];
    double joules; /* since md_powercap_start */
    double last_s; /* of the last reading, by md_clock_s */
} MdPowercap;

/* folder: /sys/class/powercap. */
void md_powercap_open(MdPowercap *powercap, const char *folder);

/* The counters from 0. */
void md_powercap_start(MdPowercap *powercap, double now_s);

/* Adds the energy used since the last reading. A counter wraps at its range, which takes minutes; a counter that was reset is
 * recognised by the power that a wrap would mean. */
void md_powercap_read(MdPowercap *powercap, double now_s);

#endif
