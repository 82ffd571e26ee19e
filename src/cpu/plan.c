/* Decided before anything is allocated: whether the run is possible here, the values of `auto`, the memory. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "cpu/context.h"
#include "cpu/threads.h"
#include "sensors/host.h"

MdStatus md_cpu_probe(const MdConfig *config, const MdComm *comm, MdMachine *machine, MdErrors *errors) {
    (void)comm;
    MdCpuInstructions set;
    MdStatus status = md_cpu_find_instructions(&set, errors);
    if (status == MD_OK) status = md_cpu_set_threads(md_cpu_threads(config), errors);
    if (status != MD_OK) return status;
    memset(machine, 0, sizeof *machine);
    snprintf(machine->name, sizeof machine->name, "processor of unknown name");
    const MdReadText model = md_host_cpu_model();
    if (!model.missing) snprintf(machine->name, sizeof machine->name, "%s", model.text);
    MdCpuContext c = {0};
    const MdBox box = {.dimension = 3};
    const MdPotential potential = {.n_types = 1};
    md_cpu_configure(&c, config, 0, 0, &box, &potential);
    snprintf(machine->details, sizeof machine->details, "%d thread%s, instruction set %s", c.n_threads,
             c.n_threads == 1 ? "" : "s", md_cpu_instructions_name(set));
    machine->n_threads = c.n_threads;
    return MD_OK;
}

static void describe_bytes(MdDescription *d, const char *key, const char *what, const MdReading *bytes) {
    if (bytes->missing) md_describe_text(d, key, what, "not known");
    else md_describe_number(d, key, what, (int64_t)bytes->value, "bytes");
}

bool md_cpu_describe(const MdConfig *config, int number, MdDescription *description, MdErrors *errors) {
    (void)config;
    MdCpuInstructions set;
    if (number > 0 || md_cpu_find_instructions(&set, errors) != MD_OK) return false;
    const MdHostFacts host = md_host_facts();
    const MdHostCaches caches = md_host_caches();
    snprintf(description->name, sizeof description->name, "%s",
             host.model.missing ? "processor of unknown name" : host.model.text);
    md_describe_number(description, "logical_processors", "logical processors", md_host_cpus(), "");
    md_describe_number(description, "threads", "of these, granted to this program", md_threads_granted(), "");
    md_describe_text(description, "instruction_set", "instruction set of the kernels", md_cpu_instructions_name(set));
    describe_bytes(description, "cache_bytes", "cache of the last level", &caches.last_bytes);
    describe_bytes(description, "all_caches_bytes", "all caches of the last level", &caches.all_bytes);
    describe_bytes(description, "memory_bytes", "main memory", &host.memory_bytes);
    return true;
}

/* Positions are floats or doubles. */
double md_cpu_position_roundoff(const MdConfig *config) {
    return config->run_precision == MD_PRECISION_SINGLE ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
}

/* Except in double precision, pair positions are whole numbers (context.h), 2^32 to a periodic edge; along an open axis they are as
 * good as a float of the distance. */
double md_cpu_rounding(const MdConfig *config, const MdBox *box, double extent, double spread) {
    (void)spread; /* nothing is measured from a far corner */
    double longest = 0;
    for (int a = 0; a < box->dimension; a++)
        if (box->periodic[a]) longest = fmax(longest, box->length[a]);
    return md_cpu_position_roundoff(config) * extent +
           (config->run_precision == MD_PRECISION_DOUBLE ? 0 : longest * 0x1p-33);
}

MdMemory md_cpu_estimate(const MdConfig *config, const MdSystemPlan *plan) {
    MdCpuContext c = {.counting = true, .comm = plan->comm};
    md_cpu_configure(&c, config, plan->n_atoms, md_cpu_share(plan->n_atoms, plan->comm), &plan->box, &plan->potential);
    md_cpu_allocate(&c, config, plan->density);
    if (plan->comm) c.host_bytes += md_cpu_halo_bytes(&c) + md_cpu_migrate_bytes(&c);
    return (MdMemory){.host_bytes = c.host_bytes};
}

/* Skins between 0.2 and 0.5, melt of 32,000 atoms, neighbor.rebuild = device-check: fewer rebuilds pay for longer rows up
 * to 0.4, and both ways from there it gets slower by a tenth or so; 0.3 where lists last longer anyway. */
static double fastest_skin(const MdConfig *config) {
    return config->neighbor_predict == MD_PREDICT_VELOCITY ? 0.3 : 0.4;
}

/* The divider works beside the rest of a pair, and the steps that refine a guess do not: melt of 32,000 atoms, mixed
 * precision, the forces take 7 per cent longer with guesses (AVX-512 and AVX2 alike). */
static void resolve_arithmetic(MdConfig *config, MdChoices *choices) {
    if (config->force_arithmetic != MD_ARITHMETIC_AUTO) return;
    config->force_arithmetic = MD_ARITHMETIC_IEEE;
    md_choices_add(choices, "force.arithmetic", "ieee", "the faster of this backend in every precision");
}

static void resolve_fuse(MdConfig *config, MdChoices *choices) {
    if (config->launch_fuse != MD_FUSE_AUTO) return;
    config->launch_fuse = MD_FUSE_ON;
    md_choices_add(choices, "launch.fuse", "on", "one pass over main memory instead of several");
}

/* --- several ranks -------------------------------------------------------------------------------------------------- */

/* Atoms of other ranks are copies here, and their rows are on those ranks: kernels that write to both rows of a pair, or go through
 * all atoms, have no version for domains. */
static MdStatus check_ranks(const MdConfig *config, MdErrors *errors) {
    const struct {
        int option, value, needed;
    } rows[] = {{MD_OPTION_force_kernel, config->force_kernel, MD_KERNEL_LIST},
                {MD_OPTION_neighbor_search, config->neighbor_search, MD_SEARCH_CELL},
                {MD_OPTION_neighbor_list, config->neighbor_list, MD_LIST_FULL},
                {MD_OPTION_neighbor_write, config->neighbor_write, MD_LIST_WRITE_NONATOMIC}};
    MdStatus status = MD_OK;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].value != rows[k].needed)
            status = md_fail(errors, MD_ERROR_INPUT, "%s: %s does not run over several processes; take %s",
                             md_option_name(rows[k].option), md_switch_words(rows[k].option)[rows[k].value],
                             md_switch_words(rows[k].option)[rows[k].needed]);
    if (config->memory_sort == MD_SORT_NONE)
        status = md_fail(errors, MD_ERROR_INPUT,
                         "memory.sort: none keeps the order in which atoms came, and over several processes they come "
                         "and go; take cell");
    return status;
}

/* --- many-body forms ------------------------------------------------------------------------------------------------ */

/* Two passes over the rows of a full list, by registers. */
static MdStatus check_embedding(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors) {
    const struct {
        int option, value, needed;
    } rows[] = {{MD_OPTION_force_kernel, config->force_kernel, MD_KERNEL_LIST},
                {MD_OPTION_neighbor_list, config->neighbor_list, MD_LIST_FULL},
                {MD_OPTION_force_cutoff_test, config->force_cutoff_test, MD_CUTOFF_TEST_SELECT}};
    const char *form = plan->potential.form->word;
    MdStatus status = MD_OK;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].value != rows[k].needed)
            status = md_fail(errors, MD_ERROR_INPUT, "%s: %s does not run with potential.form = %s; take %s",
                             md_option_name(rows[k].option), md_switch_words(rows[k].option)[rows[k].value], form,
                             md_switch_words(rows[k].option)[rows[k].needed]);
    return status;
}

static MdDomainShape shape_of(const MdConfig *config, const MdSystemPlan *plan) {
    MdDomainShape shape = {.unit = md_config_unit(config, MD_LENGTH),
                           .dimension = plan->box.dimension,
                           .n_per_node = md_comm_node_size(plan->comm)};
    memcpy(shape.length, plan->box.length, sizeof shape.length);
    memcpy(shape.periodic, plan->box.periodic, sizeof shape.periodic);
    md_cpu_first_cells(&plan->box, plan->potential.cutoff_max + config->neighbor_skin, shape.cells, shape.reach);
    return shape;
}

MdStatus md_cpu_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    resolve_arithmetic(config, choices);
    resolve_fuse(config, choices);
    md_resolve_sort(config, MD_SORT_CELL, "the order that is made soonest", choices);
    md_resolve_predict(config, choices);
    md_resolve_skin(config, plan, fastest_skin(config), choices);
    if (config->force_kernel == MD_KERNEL_AUTO) {
        config->force_kernel = MD_KERNEL_LIST;
        md_choices_add(choices, "force.kernel", "list", "the fastest of this backend at every size");
    }
    /* A variant that has no version for several processes may not exist at all: it is refused once, with the value that works. */
    if (md_potential_embeds(&plan->potential) && check_embedding(config, plan, errors) != MD_OK) return MD_ERROR_INPUT;
    const MdStatus ranks = plan->comm ? check_ranks(config, errors) : MD_OK;
    const MdStatus checked = ranks == MD_OK ? md_variants_check(md_cpu_variants(), "cpu", config, errors) : ranks;
    const MdDomainShape shape = shape_of(config, plan);
    const MdStatus divided = md_ranks_resolve_grid(config, plan->comm, &shape, choices, errors);
    return checked != MD_OK ? checked : divided;
}
