/* The control groups of this process, of version 1 or 2: the limits of a container or a batch system. Each group on the
 * way to the root may set a limit; the tightest one counts. */
#ifndef MD_BASE_CGROUP_H
#define MD_BASE_CGROUP_H

#include <stdint.h>

/* The group that allows the least time of processors (the quota of the CFS scheduler). */
typedef struct MdCgroupCpu {
    double processors; /* quota over period; INFINITY: no group has a quota, and the next are 0 */
    uint64_t mark;     /* processes of one host that have the same share the quota */
    /* So far, by all its processes: */
    int64_t n_periods, n_throttled; /* those in which they ran, and in which the quota was used up */
    double throttled_s;             /* time that they were kept from running */
} MdCgroupCpu;
MdCgroupCpu md_cgroup_cpu(void);

/* Threads that each of n processes may have under a quota of so many processors: at least one. */
int md_cgroup_share(double processors, int n);

/* Bytes of memory that the groups still allow; UINT64_MAX: no limit. */
uint64_t md_cgroup_memory_rest(void);

/* Bytes of main memory that this process may still take: the smaller of the system's free memory and the
 * limit of the control group; UINT64_MAX if neither can be read. */
uint64_t md_host_memory_available_bytes(void);

/* Bytes of a line of /proc/meminfo, by its word; -1: it does not say. */
int64_t md_host_meminfo_bytes(const char *word);

/* /sys, or the folder that MDMINI_SYS names instead, in which self/cgroup and self/mountinfo then stand for those of
 * /proc/self. */
const char *md_sys_folder(void);

#endif
