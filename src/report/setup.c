#define _POSIX_C_SOURCE 200809L
#include "report/setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cgroup.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/version.h"
#include "deck/units.h"
#include "physics/bath.h"
#include "report/advice.h"
#include "report/balance.h"
#include "report/places.h"
#include "report/provenance.h"
#include "report/summary.h"

/* The options that are such, in lines that begin with prefix; nothing where there are none. */
static void log_options(MdRecord *r, const char *prefix, const char *head, bool (*is_such)(const MdRecord *, int)) {
    int n = 0, column = 0;
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (!is_such(r, k)) continue;
        const char *name = md_option_name(k);
        if (n == 0) md_log(r->log, "%s          %s", prefix, head);
        if (n == 0 || column + (int)strlen(name) > 90) {
            md_log(r->log, "%s\n%s         ", n ? "," : "", prefix);
            column = 10;
        } else md_log(r->log, ",");
        md_log(r->log, " %s", name);
        column += (int)strlen(name) + 2;
        n++;
    }
    if (n) md_log(r->log, "\n");
}

static void log_unused(MdRecord *r, const char *prefix) {
    char *head = md_format("not used by the %s backend:", r->ops->name);
    log_options(r, prefix, head, md_record_lacks);
    free(head);
    log_options(r, prefix, "not used by one process:", md_record_has_for_ranks);
}

/* An `auto` that the GPU decides. */
static bool is_open(const MdRecord *r, int option) {
    if (md_option_kind(option) != MD_KIND_PERFORMANCE || r->lacking[option]) return false;
    char *value = md_deck_value_text(r->deck, option);
    const bool open = strcmp(value, "auto") == 0 && md_option_has_effect(r->config, option);
    free(value);
    return open;
}

/* One line behind a prefix, which makes it a comment; else as many as the width takes. */
static void log_text(MdRecord *r, const char *prefix, const char *head, const char *text) {
    if (*prefix) md_log(r->log, "%s%s %s\n", prefix, head, text);
    else md_log_wrapped(r->log, head, text);
}

static void log_warning(MdRecord *r, const char *prefix, const char *text) { log_text(r, prefix, "warning:", text); }

/* Parts of the coordinate file that are interpreted specially, or ignored. */
static void log_file_note(MdRecord *r, const char *prefix) {
    if (!r->plan.file_note) return;
    char *text = md_format("coordinates of %s: %s", r->config->system_file, r->plan.file_note);
    log_text(r, prefix, "start    ", text);
    free(text);
}

static void log_potential_note(MdRecord *r, const char *prefix) {
    const MdTables *tables = r->plan.potential.tables;
    if (!tables) return;
    MdText text = {0};
    md_text_add(&text, "%s, cutoff %.6g angstrom:", r->config->potential_file, r->plan.potential.cutoff_max);
    for (int t = 0; t < r->plan.potential.n_types; t++)
        md_text_add(&text, "%s %s %.6g amu", t ? "," : "", tables->element[t], tables->mass[t]);
    if (*tables->note) md_text_add(&text, "; %s", tables->note);
    char *all = md_text_take(&text);
    log_text(r, prefix, "potential", all);
    free(all);
}

/* Where the number of threads was given: ` (run.threads: melt.txt:7)`. */
static char *threads_origin(const MdRecord *r) {
    if (r->asked->run_threads != MD_AUTO_INT)
        return md_format(" (run.threads: %s)", md_deck_origin(r->deck, MD_OPTION_run_threads));
    return md_copy_text(getenv("OMP_NUM_THREADS") ? " (OMP_NUM_THREADS)" : "");
}

/* More threads than processors, by affinity or by the places of OpenMP, or by the quota of a control group. */
static void warn_of_threads(MdRecord *r, const char *prefix) {
    static const char *const placing[] = {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
    const MdCrowd *crowd = &r->crowd;
    char *origin = threads_origin(r);
    if (crowd->n_threads > 0) {
        const bool alone = crowd->n_processes == 1;
        const int n = crowd->n_threads / crowd->n_processes, n_cpus = crowd->n_processors;
        MdText text = {0};
        if (!alone) md_text_add(&text, "%d processes of ", crowd->n_processes);
        md_text_add(&text,
                    "%d thread%s%s on the %d processor%s that %s may use: they take turns and wait for each other, "
                    "which is slow",
                    n, n == 1 ? "" : "s", alone ? origin : "", n_cpus, n_cpus == 1 ? "" : "s",
                    alone ? "this process" : "they");
        if (alone) md_text_add(&text, "; %d would be enough", n_cpus);
        for (size_t k = 0, n_set = 0; k < sizeof placing / sizeof *placing; k++)
            if (getenv(placing[k]))
                md_text_add(&text, "%s %s=%s", n_set++ ? "," : ". Threads are placed by", placing[k],
                            getenv(placing[k]));
        char *all = md_text_take(&text);
        log_warning(r, prefix, all);
        free(all);
    }
    const double quota = md_cgroup_cpu().processors;
    const int n_in_group = r->comm ? r->n_in_group : 1, n_each = md_cgroup_share(quota, n_in_group);
    const int n_at_most = md_cgroup_share(quota, 1);
    if (r->machine.n_threads > n_each || n_in_group > n_at_most) {
        const int n = r->machine.n_threads;
        char *processes = n_in_group > 1 ? md_format("%d processes of ", n_in_group) : md_copy_text("");
        char *text = md_format(
            "%s%d thread%s%s, but the quota of the control group is the time of %.3g processors: they "
            "are throttled, which is slow; %d would be enough",
            processes, n, n == 1 ? "" : "s", origin, quota, n_in_group > n_at_most ? n_at_most : n_in_group * n_each);
        log_warning(r, prefix, text);
        free(text);
        free(processes);
    }
    free(origin);
}

/* A full disk is refused beforehand; a limit that the user has set is his to raise while the run goes on. */
static void warn_of_file_size(MdRecord *r, const char *prefix) {
    struct rlimit limit;
    if (r->config->output_compression != MD_COMPRESSION_NONE || getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY || r->trajectory_there + r->trajectory_bytes <= limit.rlim_cur)
        return;
    char *text =
        md_format("the limit of file sizes (ulimit -f) is %s: the run will end with an error when %s has come to that; "
                  "raise it, or take fewer frames",
                  md_bytes((uint64_t)limit.rlim_cur).text, r->files.h5);
    log_warning(r, prefix, text);
    free(text);
}

void md_setup_warn(MdRecord *r, const char *prefix, char *text) {
    if (text) log_warning(r, prefix, text);
    free(text);
}

/* The units of all numbers, and the constants that they rest on. */
static void log_units(MdRecord *r, const char *prefix) {
    if (r->config->system_units == MD_UNITS_LJ) return;
    md_log(r->log,
           "%sunits     metal: angstrom, eV, ps, amu, K, %s; CODATA 2018: k = %.10g eV/K, 1 amu = %.11g kg,\n"
           "%s          1 eV = %.10g J; inside angstrom, eV, amu, and so %.10g ps\n",
           prefix, md_config_unit(r->config, md_unit_pressure(r->plan.box.dimension)), md_boltzmann / md_electronvolt,
           md_amu, prefix, md_electronvolt, md_config_factor(r->config, MD_TIME));
}

/* What it does in this run, with what the deck leaves to the default. */
static void log_thermostat(MdRecord *r, const char *prefix) {
    const MdConfig *c = r->config;
    const int traits = md_bath_traits(c->ensemble_thermostat);
    if (!(traits & MD_BATH_RELAXES)) return;
    const double time = md_config_relaxation(c), factor = md_config_factor(c, MD_TIME);
    const bool is_default = md_is_auto(c->ensemble_relaxation) && md_is_auto(c->ensemble_friction);
    char *word = md_config_value_text(c, MD_OPTION_ensemble_thermostat);
    md_log(r->log, "%sthermostat %s: relaxation time of the kinetic energy %.6g %s%s", prefix, word, factor * time,
           md_config_unit(c, MD_TIME), is_default ? " (100 steps, the default)" : "");
    if (traits & MD_BATH_BY_ATOM)
        md_log(r->log, ", friction %.6g %s, in each step; temperature of D N degrees of freedom\n",
               1 / (2 * factor * time), md_config_unit(c, MD_RATE));
    else if (traits & MD_BATH_HAS_CHAIN)
        md_log(r->log, "; every %lld steps, chain of %lld; conserved: total energy and that of the chain\n",
               (long long)c->ensemble_every, (long long)c->ensemble_chain);
    else md_log(r->log, "; every %lld steps\n", (long long)c->ensemble_every);
    free(word);
}

void md_setup_log(MdRecord *r, const char *prefix) {
    const MdVersion *version = md_version();
    const MdBox *box = &r->plan.box;
    char *precision = md_deck_value_text(r->deck, MD_OPTION_run_precision);
    md_log(r->log, "%smdmini %s (%s%s)\n", prefix, version->version, version->commit, version->dirty ? ", dirty" : "");
    if (r->no_gpu)
        md_log(r->log, "%sbackend   %s, %s precision: no GPU to check it with\n%s          (%s)\n", prefix,
               r->ops->name, precision, prefix, r->no_gpu);
    else
        md_log(r->log, "%sbackend   %s, %s precision: %s; %s\n", prefix, r->ops->name, precision, r->machine.name,
               r->machine.details);
    free(precision);
    const char *kernels = md_kernels_folder(&r->machine);
    if (kernels) md_log(r->log, "%skernels   of %s (MDMINI_KERNELS): NOT those of this program\n", prefix, kernels);
    warn_of_threads(r, prefix);
    md_balance_log_ranks(r->log, prefix, r->comm, r->config, r->plan.n_atoms, r->balance.gpus);
    md_setup_warn(r, prefix, md_balance_warning(r->comm, r->config, r->balance.gpus));
    if (r->backend_reason) md_log(r->log, "%s          (auto: %s)\n", prefix, r->backend_reason);
    log_unused(r, prefix);
    log_units(r, prefix);
    md_log(r->log, "%ssystem    %lld atoms in %d dimensions, box", prefix, (long long)r->plan.n_atoms, box->dimension);
    for (int a = 0; a < box->dimension; a++)
        md_log(r->log, " %s%.6g%s", a ? "x " : "", box->length[a], box->periodic[a] ? "" : " (open)");
    md_log(r->log, "%s, %d type%s\n", md_config_unit_after(r->config, MD_LENGTH), r->plan.potential.n_types,
           r->plan.potential.n_types == 1 ? "" : "s");
    if (r->plan.potential.n_types > 1) {
        md_log(r->log, "%stypes    ", prefix);
        for (int t = 0; t < r->plan.potential.n_types; t++) md_log(r->log, " %d = %s", t + 1, r->plan.type_name[t]);
        md_log(r->log, "\n");
    }
    md_advice_log_types(r, prefix);
    md_setup_warn(r, prefix, md_advice_cutoffs(r));
    md_setup_warn(r, prefix, md_advice_thermostat(r));
    md_setup_warn(r, prefix, md_places_warning(r));
    md_setup_warn(r, prefix, md_places_warning_of_motion(r));
    if (r->plan.file_velocities)
        md_log(r->log, "%sstart     velocities are those of %s, less their mean\n", prefix, r->config->system_file);
    log_thermostat(r, prefix);
    log_file_note(r, prefix);
    log_potential_note(r, prefix);
    if (r->no_gpu) md_log(r->log, "%smemory    not known without the GPU", prefix);
    else md_log(r->log, "%smemory    %s of main memory", prefix, md_bytes(r->memory.host_bytes).text);
    if (r->comm && !r->no_gpu)
        md_log(r->log, " for rank 0, %s for all ranks of its host", md_bytes(r->host_of_ranks).text);
    if (r->memory.device_bytes) md_log(r->log, ", %s on the GPU", md_bytes(r->memory.device_bytes).text);
    md_log(r->log, "\n");
    if (r->files.h5)
        md_log(r->log, "%strajectory %lld frames%s, %s\n", prefix, (long long)r->n_frames,
               r->trajectory_there ? " to come" : "", md_bytes(r->trajectory_bytes).text);
    if (r->files.h5) warn_of_file_size(r, prefix);
    if (r->files.lock_fault)
        md_log(r->log,
               "%slocks     the file system has none (%s): two runs of one name are not noticed, nor programs that "
               "read %s\n",
               prefix, strerror(r->files.lock_fault), r->files.h5 ? r->files.h5 : r->files.json);
}

void md_setup_log_open(MdRecord *r) {
    log_options(r, "# ", "nor the choices for these keys, which are auto:", is_open);
}
