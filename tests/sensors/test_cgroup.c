/* What control groups allow, of files of this test in place of /sys and /proc/self: versions 1 and 2, groups in groups, and
 * mounts that begin at a group, as containers have them. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cgroup.h"
#include "base/memory.h"
#include "base/status.h"
#include "check.h"
#include "sensors/sensors.h"

static char top[] = "cgroup-XXXXXX";

/* Writes a file below the folder that stands for /sys, with the folders that it needs. */
static void put(const char *name, const char *text) {
    char *path = md_format("%s/%s", top, name);
    for (char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    md_require(file && fputs(text, file) >= 0 && fclose(file) == 0);
    free(path);
}

static void be(const char *groups, const char *mounts) {
    put("self/cgroup", groups);
    put("self/mountinfo", mounts);
}

static bool allows(double processors) { return fabs(md_cgroup_cpu().processors - processors) < 1e-12; }

static const char unified[] = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void test_version_2(void) {
    put("fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("fs/cgroup/a/cpu.max", "250000 100000\n");
    put("fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_periods 282\nnr_throttled 44\nthrottled_usec 1500000\nnr_bursts 0\n");
    be("0::/a/b\n", unified);
    const MdCgroupCpu cpu = md_cgroup_cpu();
    CHECK(cpu.processors == 2.5 && cpu.n_periods == 282 && cpu.n_throttled == 44 && cpu.throttled_s == 1.5);
    be("0::/a\n", unified);
    CHECK(allows(2.5) && md_cgroup_cpu().mark == cpu.mark); /* one group, seen from two */
    put("fs/cgroup/a/b/cpu.max", "20000 100000\n");         /* the tightest, wherever it is */
    be("0::/a/b\n", unified);
    CHECK(allows(0.2) && md_cgroup_cpu().mark != cpu.mark);
    put("fs/cgroup/a/b/cpu.max", "400000 100000\n");
    CHECK(allows(2.5));
    put("fs/cgroup/a/cpu.max", "max 100000\n");
    put("fs/cgroup/a/b/cpu.max", "max\n");
    CHECK(md_cgroup_cpu().processors == INFINITY);
    be("0::/not/there\n", unified);
    CHECK(md_cgroup_cpu().processors == INFINITY);
}

/* In a container: a name space whose top is the group, a mount that begins there, or one whose groups have other names. */
static void test_containers(void) {
    put("fs/cgroup/cpu.max", "300000 100000\n");
    be("0::/\n", unified);
    CHECK(allows(3));
    be("0::/../../b\n", unified);
    CHECK(allows(3));
    be("0::/docker/4f\n", "25 1 0:22 /docker/4f /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    CHECK(allows(3));
    be("0::/docker/4f2\n", "25 1 0:22 /docker/4f /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    CHECK(allows(3));
    put("fs/cgroup/of this/cpu.max", "70000 10000\n");
    be("0::/\n", "25 1 0:22 / /sys/fs/cgroup/of\\040this rw - cgroup2 cgroup rw\n");
    CHECK(allows(7));
    char *path = md_format("%s/fs/cgroup/cpu.max", top);
    remove(path);
    free(path);
}

static void test_version_1(void) {
    static const char mounts[] = "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                 "31 1 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                                 "32 1 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "33 1 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    put("fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    put("fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_periods 10\nnr_throttled 3\nthrottled_time 2500000000\n");
    put("fs/cgroup/cpuset/job/cpu.cfs_quota_us", "1\n"); /* another controller: not its files */
    be("5:cpuset:/job\n4:cpuacct,cpu:/job/task:1\n3:memory:/\n1:name=systemd:/\n0::/\n", mounts);
    const MdCgroupCpu cpu = md_cgroup_cpu();
    CHECK(cpu.processors == 1.5 && cpu.n_periods == 10 && cpu.n_throttled == 3 && cpu.throttled_s == 2.5);
    be("4:cpu,cpuacct:/\n", mounts);
    CHECK(md_cgroup_cpu().processors == INFINITY && md_cgroup_cpu().n_periods == 0);
    be("4:cpu,cpuacct:/job\n", "32 1 0:28 /job /sys/fs/cgroup/cpu,cpuacct/job ro - cgroup cgroup rw,cpu,cpuacct\n");
    CHECK(allows(1.5));
}

static void test_memory(void) {
    put("fs/cgroup/memory/job/memory.limit_in_bytes", "1000000\n");
    put("fs/cgroup/memory/job/memory.usage_in_bytes", "700000\n");
    put("fs/cgroup/memory/job/memory.stat", "cache 1\ntotal_inactive_file 7\ninactive_file 100000\n");
    put("fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("fs/cgroup/memory/memory.usage_in_bytes", "800000\n");
    be("3:memory:/job\n", "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    CHECK(md_cgroup_memory_rest() == 400000 && md_host_memory_available_bytes() == 400000);
    put("fs/cgroup/a/memory.max", "5000\n");
    put("fs/cgroup/a/memory.current", "6000\n");
    put("fs/cgroup/a/b/memory.max", "max\n");
    put("fs/cgroup/a/b/memory.current", "6000\n");
    be("0::/a/b\n", unified);
    CHECK(md_cgroup_memory_rest() == 0);
    be("0::/\n", unified);
    CHECK(md_cgroup_memory_rest() == UINT64_MAX && md_host_memory_available_bytes() > 1000000);
}

static void test_shares(void) {
    CHECK(md_cgroup_share(0.2, 1) == 1 && md_cgroup_share(1, 1) == 1 && md_cgroup_share(1.5, 1) == 2);
    CHECK(md_cgroup_share(8, 3) == 2 && md_cgroup_share(2, 4) == 1 && md_cgroup_share(INFINITY, 2) == INT32_MAX);
}

/* What the group was throttled during a loop, before which it was so already. */
static void test_loop(void) {
    put("fs/cgroup/cpu.max", "50000 100000\n");
    put("fs/cgroup/cpu.stat", "nr_periods 100\nnr_throttled 90\nthrottled_usec 4000000\n");
    be("0::/\n", unified);
    const MdSensorsSpec spec = {.limit_s = 60};
    MdSensors *sensors = md_sensors_open(&spec);
    md_sensors_begin(sensors);
    put("fs/cgroup/cpu.stat", "nr_periods 182\nnr_throttled 134\nthrottled_usec 5500000\n");
    md_sensors_end(sensors);
    put("fs/cgroup/cpu.stat", "nr_periods 300\nnr_throttled 300\nthrottled_usec 9500000\n");
    md_sensors_finish(sensors);
    const MdCgroupCpu quota = md_sensors_conditions(sensors)->quota;
    CHECK(quota.processors == 0.5 && quota.n_periods == 82 && quota.n_throttled == 44 && quota.throttled_s == 1.5);
    md_sensors_close(sensors);
}

int main(void) {
    md_require(mkdtemp(top) != NULL);
    setenv("MDMINI_SYS", top, 1);
    be("", "");
    CHECK(md_cgroup_cpu().processors == INFINITY && md_cgroup_memory_rest() == UINT64_MAX);
    test_version_2();
    test_containers();
    test_version_1();
    test_memory();
    test_shares();
    test_loop();
    char *command = md_format("rm -r %s", top);
    CHECK(system(command) == 0);
    free(command);
    return check_finish();
}
