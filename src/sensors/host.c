#define _GNU_SOURCE 1 /* sched_getaffinity, getloadavg */
#include "sensors/host.h"

#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"

MdReadText md_host_cpu_model(void) {
    MdReadText model = md_no_text("/proc/cpuinfo does not say");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %95[^\n]", model.text) == 1) {
            model.missing = NULL;
            break;
        }
    if (file) fclose(file);
    return model;
}

/* The processors that any thread of this process may use: threads of OpenMP may each be bound to one. */
static bool find_cpus(cpu_set_t *cpus) {
    DIR *tasks = opendir("/proc/self/task");
    CPU_ZERO(cpus);
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        cpu_set_t of_thread;
        const int id = atoi(task->d_name); /* 0: `.` and `..` */
        if (id > 0 && sched_getaffinity(id, sizeof of_thread, &of_thread) == 0) CPU_OR(cpus, cpus, &of_thread);
    }
    if (tasks) closedir(tasks);
    return CPU_COUNT(cpus) > 0;
}

/* The first line of a file of a processor; false: there is none. */
static bool read_line(int cpu, const char *name, char *line, int size) {
    char path[512];
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/%s", md_sys_folder(), cpu, name);
    FILE *file = fopen(path, "r");
    const bool read = file && fgets(line, size, file);
    if (file) fclose(file);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}

static const char no_cpufreq[] = "there is no cpufreq here, as on most virtual machines";

static MdReadText read_governor(const cpu_set_t *cpus) {
    MdReadText governor = md_no_text(no_cpufreq);
    char line[48];
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus) || !read_line(cpu, "cpufreq/scaling_governor", line, sizeof line)) continue;
        if (!governor.missing && strcmp(line, governor.text) != 0) {
            snprintf(governor.text, sizeof governor.text, "not the same on all processors");
            break;
        }
        snprintf(governor.text, sizeof governor.text, "%s", line);
        governor.missing = NULL;
    }
    return governor;
}

/* OpenMP knows them from before it bound threads. */
int md_host_cpus_allowed(void) { return omp_get_num_procs(); }

int md_host_cpus(void) {
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 0;
}

MdHostFacts md_host_facts(void) {
    cpu_set_t cpus;
    const int n = md_host_cpus();
    const int64_t memory = md_host_meminfo_bytes("MemTotal:");
    const double quota = md_cgroup_cpu().processors;
    MdHostFacts facts = {.model = md_host_cpu_model(),
                         .governor = md_no_text("the system does not say which processors are used"),
                         .n_cpus = n > 0 ? md_reading(n) : md_no_reading("the system does not say"),
                         .n_cpus_allowed = md_reading(md_host_cpus_allowed()),
                         .quota = isfinite(quota) ? md_reading(quota) : md_no_reading("no control group has a quota"),
                         .memory_bytes =
                             memory < 0 ? md_no_reading("/proc/meminfo does not say") : md_reading((double)memory)};
    if (find_cpus(&cpus)) facts.governor = read_governor(&cpus);
    return facts;
}

/* The same of a cache of processor 0. */
static bool read_cache(int index, const char *name, char line[256]) {
    char path[64];
    snprintf(path, sizeof path, "cache/index%d/%s", index, name);
    return read_line(0, path, line, 256);
}

/* Processors in a list of ranges: `0-7,64-71`. */
static int count_listed(const char *list) {
    int n = 0;
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
        int first, last;
        const int found = sscanf(at, "%d-%d", &first, &last);
        n += found == 2 ? last - first + 1 : found == 1;
    }
    return n;
}

MdHostCaches md_host_caches(void) {
    static const char none[] = "/sys/devices/system/cpu/cpu0/cache does not say";
    MdHostCaches caches = {md_no_reading(none), md_no_reading(none)};
    char line[256];
    int deepest = 0;
    for (int index = 0; read_cache(index, "level", line); index++) {
        const int level = atoi(line);
        long long size;
        char unit = 'B';
        if (level <= deepest || !read_cache(index, "size", line) || sscanf(line, "%lld%c", &size, &unit) < 1) continue;
        const double bytes = (double)size * (unit == 'K' ? 1024 : unit == 'M' ? 1048576 : unit == 'G' ? 1073741824 : 1);
        const int n_cpus = md_host_cpus();
        const int n_sharing = read_cache(index, "shared_cpu_list", line) ? count_listed(line) : 0;
        deepest = level;
        caches.last_bytes = md_reading(bytes);
        caches.all_bytes = md_reading(bytes * (n_sharing > 0 ? fmax(1, ceil((double)n_cpus / n_sharing)) : 1));
    }
    return caches;
}

/* Where there is no cpufreq; in a virtual machine it is the value that the host gives. */
static MdReading read_cpuinfo_mhz(void) {
    double sum = 0, value;
    int n = 0;
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "cpu MHz : %lf", &value) == 1) sum += value, n++;
    if (file) fclose(file);
    return n ? md_reading(sum / n) : md_no_reading("neither cpufreq nor /proc/cpuinfo says");
}

/* A sample of them: each costs an interrupt of that processor. */
MdReading md_host_cpu_mhz(void) {
    enum { MAX_SAMPLED = 16 };
    cpu_set_t cpus;
    char line[48];
    double sum = 0;
    int n = 0, seen = 0;
    if (!find_cpus(&cpus)) return read_cpuinfo_mhz();
    const int stride = (CPU_COUNT(&cpus) + MAX_SAMPLED - 1) / MAX_SAMPLED;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &cpus) || seen++ % stride != 0) continue;
        if (!read_line(cpu, "cpufreq/scaling_cur_freq", line, sizeof line)) break;
        sum += 1e-3 * strtod(line, NULL), n++;
    }
    return n ? md_reading(sum / n) : read_cpuinfo_mhz();
}

MdHostState md_host_state(void) {
    MdHostState state;
    double load[3];
    const int n = getloadavg(load, 3);
    MdReading *readings[3] = {&state.load_1min, &state.load_5min, &state.load_15min};
    for (int k = 0; k < 3; k++) *readings[k] = k < n ? md_reading(load[k]) : md_no_reading("the system does not say");
    const uint64_t available = md_host_memory_available_bytes();
    state.cpu_mhz = md_host_cpu_mhz();
    state.memory_available_bytes =
        available < UINT64_MAX ? md_reading((double)available) : md_no_reading("the system does not say");
    return state;
}
