#define _DEFAULT_SOURCE 1
#include "sensors/powercap.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No processor takes more; a larger value means that the counter was reset. */
static const double most_watts = 2000;

/* The first line of FOLDER/ZONE/NAME; 0, or why it cannot be read. */
static int read_line(const char *folder, const char *zone, const char *name, char line[48]) {
    char path[256];
    if (snprintf(path, sizeof path, "%s/%s/%s", folder, zone, name) >= (int)sizeof path) return ENAMETOOLONG;
    FILE *file = fopen(path, "r");
    if (!file) return errno;
    const bool read = fgets(line, 48, file) != NULL;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return read ? 0 : EIO;
}

static bool read_number(const char *path, uint64_t *value) {
    FILE *file = fopen(path, "r");
    const bool read = file && fscanf(file, "%" SCNu64, value) == 1;
    if (file) fclose(file);
    return read;
}

/* intel-rapl:0, of a package, and intel-rapl:0:2, of a part of it. Others hold limits, or show the same again. */
static int is_zone(const struct dirent *entry) { return strncmp(entry->d_name, "intel-rapl:", 11) == 0; }

/* The figure of a package includes its parts, except the memory. */
static bool counts(const char *zone, const char *name) {
    const bool part = strchr(zone + 11, ':') != NULL;
    return part ? strcmp(name, "dram") == 0 : strncmp(name, "package", 7) == 0;
}

static void add_zone(MdPowercap *p, const char *folder, const char *zone) {
    char name[48], range[48];
    if (read_line(folder, zone, "name", name) != 0 || !counts(zone, name) || p->n == MD_POWERCAP_ZONES) return;
    MdPowercapZone *z = &p->zones[p->n];
    if (read_line(folder, zone, "max_energy_range_uj", range) != 0) range[0] = '\0';
    snprintf(z->name, sizeof z->name, "%s", name);
    z->range_uj = strtoull(range, NULL, 10);
    if (snprintf(z->path, sizeof z->path, "%s/%s/energy_uj", folder, zone) >= (int)sizeof z->path) return;
    p->n++;
    errno = 0;
    if (read_number(z->path, &z->last_uj)) return;
    p->missing = errno == EACCES || errno == EPERM ? "no permission to read the counters of /sys/class/powercap"
                                                   : "the counters of /sys/class/powercap cannot be read";
}

void md_powercap_open(MdPowercap *p, const char *folder) {
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_zone, alphasort);
    *p = (MdPowercap){0};
    for (int k = 0; k < n; k++) {
        add_zone(p, folder, entries[k]->d_name);
        free(entries[k]);
    }
    free(entries);
    if (n < 0) p->missing = "there is no /sys/class/powercap here";
    else if (p->n == 0) p->missing = "/sys/class/powercap has no counter of a processor";
}

void md_powercap_start(MdPowercap *p, double now_s) {
    p->joules = 0;
    p->last_s = now_s;
    for (int k = 0; k < p->n && !p->missing; k++)
        if (!read_number(p->zones[k].path, &p->zones[k].last_uj))
            p->missing = "the counters of /sys/class/powercap cannot be read any more";
}

/* Of one counter, since the last reading. */
static double used_uj(MdPowercap *p, MdPowercapZone *zone, double seconds) {
    uint64_t now = 0;
    if (!read_number(zone->path, &now)) {
        p->missing = "the counters of /sys/class/powercap cannot be read any more";
        return 0;
    }
    const double most_uj = 1e6 * most_watts * (seconds > 1 ? seconds : 1), last = (double)zone->last_uj;
    double used = (double)now - last;
    if (used < 0) used += (double)zone->range_uj;
    if (used < 0 || ((uint64_t)now < zone->last_uj && used > most_uj))
        p->missing = "a counter of /sys/class/powercap went backwards";
    else if (zone->range_uj > 0 && most_uj > (double)zone->range_uj)
        p->missing =
            "so long between two readings that a counter of /sys/class/powercap may have wrapped more than once";
    zone->last_uj = now;
    return used;
}

void md_powercap_read(MdPowercap *p, double now_s) {
    double sum = 0;
    for (int k = 0; k < p->n && !p->missing; k++) sum += used_uj(p, &p->zones[k], now_s - p->last_s);
    if (!p->missing) p->joules += 1e-6 * sum;
    p->last_s = now_s;
}
