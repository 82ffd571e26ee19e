/* What the log says of the conditions of a loop on the processors. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "report/conditions.h"
#include "sensors/host.h"

/* Whether the log has the text after a loop that began with such a load, and was throttled in so many periods of 282. */
static bool says(const char *text, MdReading load, bool taken, int n_throttled) {
    MdConditions *c = md_alloc(1, sizeof *c, "conditions");
    c->energy.joules = md_no_reading("not measured");
    c->before.taken = taken;
    c->before.host.load_1min = load;
    c->quota = (MdCgroupCpu){.processors = 0.2, .n_periods = 282, .n_throttled = n_throttled, .throttled_s = 3.25};
    char said[4096] = "";
    FILE *stream = tmpfile();
    md_require(stream != NULL);
    MdLog *log = md_log_create(stream);
    const MdReading n_atom_steps = md_no_reading("no steps");
    md_conditions_log(log, c, NULL, &n_atom_steps);
    rewind(stream);
    said[fread(said, 1, sizeof said - 1, stream)] = '\0';
    md_log_destroy(log);
    fclose(stream);
    md_free(c);
    CHECK(strstr(said, "energy    not known: not measured\n") != NULL);
    return strstr(said, text) != NULL;
}

int main(void) {
    const int n_cpus = md_host_cpus();
    CHECK(n_cpus >= 1 && md_host_cpus_allowed() >= 1 && md_host_cpus_allowed() <= n_cpus);
    CHECK(says("warning: the machine was busy before (load ", md_reading(n_cpus + 0.5), true, 0));
    CHECK(!says("warning", md_reading(n_cpus), true, 0) && !says("warning", md_reading(0), true, 0));
    CHECK(!says("warning", md_reading(1e6), false, 44)); /* the run did not get there */
    CHECK(!says("warning", md_no_reading("the system does not say"), true, 0));
    CHECK(says("the quota of the control group is the time of 0.2 processors: its processes were throttled in 44 of "
               "282 periods of the loop, for 3.25 s in all\n",
               md_reading(0), true, 44));
    return check_finish();
}
