#define _POSIX_C_SOURCE 200809L
#include "base/cgroup.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/blanks.h"
#include "base/checksum.h"
#include "base/memory.h"

const char *md_sys_folder(void) {
    const char *folder = getenv("MDMINI_SYS");
    return folder && *folder ? folder : "/sys";
}

/* --- files of numbers ----------------------------------------------------------------------------------------------- */

/* The first number of a file, or that after a word; -1 where there is none, as in `max`. */
static int64_t read_number(const char *folder, const char *name, const char *word) {
    char *path = md_format("%s/%s", folder, name), line[256];
    FILE *file = fopen(path, "r");
    const size_t length = word ? strlen(word) : 0;
    int64_t number = -1;
    while (file && number < 0 && fgets(line, sizeof line, file))
        if (!word || (strncmp(line, word, length) == 0 && line[length] == ' '))
            if (sscanf(line + length, "%" SCNd64, &number) != 1) number = -1;
    if (file) fclose(file);
    free(path);
    return number;
}

/* The second number of a line such as `20000 100000`. */
static int64_t read_period(const char *folder) {
    char *path = md_format("%s/cpu.max", folder);
    FILE *file = fopen(path, "r");
    int64_t period;
    if (!file || fscanf(file, "%*d %" SCNd64, &period) != 1) period = -1;
    if (file) fclose(file);
    free(path);
    return period;
}

/* --- the groups ----------------------------------------------------------------------------------------------------- */

/* In mountinfo, blanks and the like are written as \040. */
static void decode(char *text) {
    char *to = text;
    for (const char *from = text; *from;) {
        unsigned code;
        const bool is_code = from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1;
        *to++ = is_code ? (char)code : *from;
        from += is_code ? 4 : 1;
    }
    *to = '\0';
}

static FILE *open_of_self(const char *name) {
    const bool is_real = strcmp(md_sys_folder(), "/sys") == 0;
    char *path = md_format("%s/self/%s", is_real ? "/proc" : md_sys_folder(), name);
    FILE *file = fopen(path, "r");
    free(path);
    return file;
}

/* The folder where the group at `path` is mounted, or the first one of its hierarchy, where none has it: in a container the
 * mount may begin at the group itself. top: the length of the part that is no group. NULL: not mounted. */
static char *find_folder(const char *controller, bool unified, const char *path, size_t *top) {
    FILE *file = open_of_self("mountinfo");
    char *line = NULL, *folder = NULL;
    size_t room = 0;
    bool is_found = false;
    while (file && !is_found && getline(&line, &room, file) > 0) {
        int root, root_end, point, point_end, type, options = 0;
        char *rest = strstr(line, " - ");
        line[strcspn(line, "\n")] = '\0';
        if (!rest || sscanf(line, "%*d %*d %*s %n%*s%n %n%*s%n", &root, &root_end, &point, &point_end) < 0 ||
            sscanf(rest, " - %n%*s %*s %n", &type, &options) < 0 || options == 0)
            continue;
        const char *kind = rest + type;
        if (unified ? strncmp(kind, "cgroup2 ", 8) != 0
                    : strncmp(kind, "cgroup ", 7) != 0 || !md_text_has_word(rest + options, ",", controller))
            continue;
        line[root_end] = line[point_end] = '\0';
        decode(line + root);
        decode(line + point);
        const char *at = line + root, *mounted = line + point;
        const size_t length = strcmp(at, "/") == 0 ? 0 : strlen(at);
        is_found = strncmp(path, at, length) == 0 && (path[length] == '/' || path[length] == '\0');
        if (folder && !is_found) continue;
        free(folder);
        const bool in_sys = strncmp(mounted, "/sys/", 5) == 0;
        const char *sys = in_sys ? md_sys_folder() : "";
        mounted += in_sys ? 4 : 0;
        *top = strlen(sys) + strlen(mounted);
        folder = md_format("%s%s%s", sys, mounted, is_found && strcmp(path + length, "/") != 0 ? path + length : "");
    }
    free(line);
    if (file) fclose(file);
    return folder;
}

/* Calls visit for each group of this process with that controller, from its own to that at the top of the mount. */
static void visit_groups(const char *controller, void (*visit)(void *user, const char *folder, bool unified),
                         void *user) {
    FILE *file = open_of_self("cgroup");
    char *line = NULL;
    size_t room = 0, top = 0;
    while (file && getline(&line, &room, file) > 0) { /* `0::/path` is version 2, `4:cpu,cpuacct:/path` version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        const bool unified = strcmp(line, "0:") == 0;
        if (!unified && !md_text_has_word(names + 1, ",", controller)) continue;
        char *folder = find_folder(controller, unified, path, &top);
        for (char *end = folder; end;) {
            visit(user, folder, unified);
            end = strlen(folder) > top ? strrchr(folder, '/') : NULL;
            if (end) *end = '\0';
        }
        free(folder);
    }
    free(line);
    if (file) fclose(file);
}

/* --- limits --------------------------------------------------------------------------------------------------------- */

static void find_quota(void *user, const char *folder, bool unified) {
    MdCgroupCpu *cpu = user;
    const int64_t quota = read_number(folder, unified ? "cpu.max" : "cpu.cfs_quota_us", NULL);
    const int64_t period = unified ? read_period(folder) : read_number(folder, "cpu.cfs_period_us", NULL);
    if (quota <= 0 || period <= 0 || (double)quota / (double)period >= cpu->processors) return;
    cpu->processors = (double)quota / (double)period;
    struct stat group = {0};
    stat(folder, &group);
    const uint64_t numbers[2] = {group.st_dev, group.st_ino};
    cpu->mark = md_checksum(numbers, sizeof numbers);
    cpu->n_periods = read_number(folder, "cpu.stat", "nr_periods");
    cpu->n_throttled = read_number(folder, "cpu.stat", "nr_throttled");
    cpu->throttled_s = 1e-6 * (double)read_number(folder, "cpu.stat", "throttled_usec");
    if (!unified) cpu->throttled_s = 1e-9 * (double)read_number(folder, "cpu.stat", "throttled_time");
}

MdCgroupCpu md_cgroup_cpu(void) {
    MdCgroupCpu cpu = {.processors = INFINITY};
    visit_groups("cpu", find_quota, &cpu);
    return cpu;
}

int md_cgroup_share(double processors, int n) {
    if (processors >= (double)INT32_MAX) return INT32_MAX;
    const int threads = (int)ceil(processors - 1e-9) / n;
    return threads > 1 ? threads : 1;
}

static void find_rest(void *user, const char *folder, bool unified) {
    uint64_t *least = user;
    const int64_t limit = read_number(folder, unified ? "memory.max" : "memory.limit_in_bytes", NULL);
    const int64_t used = read_number(folder, unified ? "memory.current" : "memory.usage_in_bytes", NULL);
    if (limit < 0 || used < 0) return;
    /* Pages of files that the kernel gives back when memory is asked for. */
    const int64_t inactive = read_number(folder, "memory.stat", "inactive_file");
    const int64_t held = used - (inactive < 0 ? 0 : inactive < used ? inactive : used);
    const uint64_t rest = limit > held ? (uint64_t)(limit - held) : 0;
    if (rest < *least) *least = rest;
}

uint64_t md_cgroup_memory_rest(void) {
    uint64_t least = UINT64_MAX;
    visit_groups("memory", find_rest, &least);
    return least;
}

int64_t md_host_meminfo_bytes(const char *word) {
    const int64_t kibibytes = read_number("/proc", "meminfo", word);
    return kibibytes < 0 ? -1 : 1024 * kibibytes;
}

uint64_t md_host_memory_available_bytes(void) {
    const int64_t available = md_host_meminfo_bytes("MemAvailable:");
    const uint64_t rest = md_cgroup_memory_rest();
    return available >= 0 && (uint64_t)available < rest ? (uint64_t)available : rest;
}
