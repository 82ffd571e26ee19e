/* Cross checks of several options. Those of the particles and the potential need the box and the coordinates
 * and are in system/. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "deck/reader.h"

/* An option that has an effect only while another has one of some values. To give it without effect is an error, as nothing
 * is ignored, unless it asks for nothing; and a layer on top may take the ground from under it. */
typedef struct Need {
    int option, other;
    unsigned values; /* bit v: choice v of the other serves; of a number, bit 1: any above 0; of a list, bit 0: auto */
    int also;        /* a number that is an alternative if it is above 0; else `other` itself */
} Need;

#define NEED(option, other, values)                                                                                    \
    { MD_OPTION_##option, MD_OPTION_##other, (values), MD_OPTION_##other }
#define NEED_EITHER(option, other, also)                                                                               \
    { MD_OPTION_##option, MD_OPTION_##other, ABOVE_ZERO, MD_OPTION_##also }
#define NEED_FRAMES(option) NEED_EITHER(option, output_frames_every, output_xyz_every)
#define BIT(value) (1u << (value))
#define LATTICES                                                                                                       \
    (BIT(MD_START_SQUARE) | BIT(MD_START_HEXAGONAL) | BIT(MD_START_SC) | BIT(MD_START_BCC) | BIT(MD_START_FCC))
#define ABOVE_ZERO BIT(1)
#define NOT_GIVEN  BIT(0)
/* What auto may become counts as what it is. Rows: a list with a row for each atom, as the switches of the list say; a
 * cluster kernel keeps pairs of clusters and a brick kernel rows in another form, which are searched for as well. */
#define ROWS       (BIT(MD_KERNEL_LIST) | BIT(MD_KERNEL_LIST_SPLIT) | BIT(MD_KERNEL_AUTO))
#define SPLIT      (BIT(MD_KERNEL_LIST_SPLIT) | BIT(MD_KERNEL_AUTO))
#define SHARED     (SPLIT | BIT(MD_KERNEL_BRICK)) /* rows that several threads may share */
#define SEARCH     (ROWS | BIT(MD_KERNEL_CLUSTER) | BIT(MD_KERNEL_BRICK))
/* Reductions that add by strides over memory; in registers there is nothing to address. */
#define TREES      (BIT(MD_METHOD_GLOBAL) | BIT(MD_METHOD_SHARED) | BIT(MD_METHOD_SHARED_DYNAMIC) | BIT(MD_METHOD_SYNCWARP))
/* Frames that are copied to the host; into mapped memory the kernels write. */
#define COPIED     (BIT(MD_HOST_MEMORY_PAGEABLE) | BIT(MD_HOST_MEMORY_PINNED) | BIT(MD_HOST_MEMORY_WRITE_COMBINED))

/* Forms of epsilon and sigma, the others, and those whose cutoff is the deck's. */
#define MIXES_BIT(name, word, file, words, traits, formula) | ((traits)&MD_FORM_MIXES ? BIT(MD_POTENTIAL_##name) : 0)
#define OTHER_BIT(name, word, file, words, traits, formula) | ((traits) & (MD_FORM_MIXES | MD_FORM_TABLES) ? 0 : BIT(MD_POTENTIAL_##name))
#define FREE_BIT(name, word, file, words, traits, formula)  | ((traits) & (MD_FORM_OWN_CUTOFF | MD_FORM_TABLES) ? 0 : BIT(MD_POTENTIAL_##name))
#define TABLE_BIT(name, word, file, words, traits, formula) | ((traits)&MD_FORM_TABLES ? BIT(MD_POTENTIAL_##name) : 0)
#define MIXES                                      (0 MD_FORMS(MIXES_BIT))
#define OTHERS                                     (0 MD_FORMS(OTHER_BIT))
#define FREE_CUTOFF                                (0 MD_FORMS(FREE_BIT))
#define TABLES                                     (0 MD_FORMS(TABLE_BIT))

/* Thermostats, those with a relaxation time, and those that act on each atom or every some steps. */
#define BATH_BIT(name, ...)                         | BIT(MD_THERMOSTAT_##name)
#define RELAXES_BIT(name, word, file, traits, help) | ((traits)&MD_BATH_RELAXES ? BIT(MD_THERMOSTAT_##name) : 0)
#define ATOM_BIT(name, word, file, traits, help)    | ((traits)&MD_BATH_BY_ATOM ? BIT(MD_THERMOSTAT_##name) : 0)
#define BATHS                                       (0 MD_BATHS(BATH_BIT))
#define RELAXING                                    (0 MD_BATHS(RELAXES_BIT))
#define BY_ATOM                                     (0 MD_BATHS(ATOM_BIT))
#define BY_SUMS                                     (BATHS & ~BY_ATOM)
#define CHAIN_BIT(name, word, file, traits, help)   | ((traits)&MD_BATH_HAS_CHAIN ? BIT(MD_THERMOSTAT_##name) : 0)
#define CHAINS                                      (0 MD_BATHS(CHAIN_BIT))

static const Need needs[] = {
    NEED(system_file, system_start, BIT(MD_START_FILE)),
    NEED(system_cells, system_start, LATTICES),
    NEED(system_atoms, system_start, BIT(MD_START_RANDOM)),
    NEED(system_min_distance, system_start, BIT(MD_START_RANDOM)),
    NEED(system_density, system_start, LATTICES | BIT(MD_START_RANDOM)),
    NEED(system_box, system_start, BIT(MD_START_RANDOM) | BIT(MD_START_FILE)),
    NEED(potential_epsilon, potential_form, MIXES),
    NEED(potential_epsilon, potential_epsilon_kelvin, NOT_GIVEN),
    NEED(potential_epsilon_kelvin, potential_form, MIXES),
    NEED(potential_epsilon_kelvin, system_units, BIT(MD_UNITS_METAL)),
    NEED(potential_sigma, potential_form, MIXES),
    NEED(potential_mixing, potential_form, MIXES),
    NEED(potential_parameters, potential_form, OTHERS),
    NEED(potential_pairs, potential_form, MIXES | OTHERS),
    NEED(potential_file, potential_form, TABLES),
    NEED(potential_elements, potential_form, TABLES),
    NEED(potential_cutoff, potential_form, FREE_CUTOFF),
    NEED(potential_shift, potential_form, FREE_CUTOFF),
    NEED(potential_switch_from, potential_form, FREE_CUTOFF),
    NEED(potential_switch_from, potential_shift, BIT(MD_SHIFT_SWITCH)),
    NEED(run_threads, run_backend, BIT(MD_BACKEND_CPU) | BIT(MD_BACKEND_AUTO)),
    NEED(run_device, run_backend, BIT(MD_BACKEND_CUDA) | BIT(MD_BACKEND_AUTO)),
    NEED(run_minimize_force, run_minimize, BIT(MD_MINIMIZE_STEEPEST) | BIT(MD_MINIMIZE_FIRE)),
    NEED(run_minimize_steps, run_minimize, BIT(MD_MINIMIZE_STEEPEST) | BIT(MD_MINIMIZE_FIRE)),
    NEED(ensemble_target, ensemble_thermostat, BATHS),
    NEED(ensemble_every, ensemble_thermostat, BY_SUMS),
    NEED(ensemble_relaxation, ensemble_thermostat, RELAXING),
    NEED(ensemble_friction, ensemble_thermostat, BY_ATOM),
    NEED(ensemble_chain, ensemble_thermostat, CHAINS),
    NEED(ensemble_last_step, ensemble_thermostat, BATHS),
    NEED(memory_brick_grid, memory_sort, BIT(MD_SORT_BRICK)),
    NEED(memory_brick_cells, memory_sort, BIT(MD_SORT_BRICK)),
    NEED(memory_staging, force_kernel, BIT(MD_KERNEL_BRICK)),
    NEED(neighbor_search, force_kernel, SEARCH),
    NEED(neighbor_threads_per_atom, force_kernel, ROWS),
    NEED(neighbor_write, force_kernel, ROWS),
    NEED(neighbor_list, force_kernel, ROWS),
    NEED(neighbor_order, force_kernel, ROWS),
    NEED(neighbor_sorted, force_kernel, ROWS),
    NEED(neighbor_distances, force_kernel, BIT(MD_KERNEL_BRICK)),
    NEED(neighbor_capacity, force_kernel, SEARCH),
    NEED(neighbor_every, neighbor_rebuild, BIT(MD_REBUILD_EVERY)),
    NEED(force_threads_per_atom, force_kernel, SHARED),
    NEED(force_partial_sums, force_kernel, SPLIT),
    NEED(reduce_addressing, reduce_method, TREES),
    NEED(launch_registers, launch_bounds, BIT(MD_OFF)), /* bounds of a kernel go before a cap of all */
    NEED(launch_registers, run_backend, BIT(MD_BACKEND_CUDA) | BIT(MD_BACKEND_AUTO)),
    NEED(launch_graph, launch_persistent, BIT(MD_PERSISTENT_OFF) | BIT(MD_PERSISTENT_AUTO)),
    NEED(launch_barrier, launch_persistent, BIT(MD_PERSISTENT_ON) | BIT(MD_PERSISTENT_AUTO)),
    NEED(launch_passes, launch_persistent, BIT(MD_PERSISTENT_OFF) | BIT(MD_PERSISTENT_AUTO)),
    NEED(launch_passes, launch_fuse, BIT(MD_FUSE_STEP) | BIT(MD_FUSE_AUTO)),
    NEED(output_velocities_every, output_frames_every, ABOVE_ZERO),
    NEED(output_forces_every, output_frames_every, ABOVE_ZERO),
    NEED(output_images_every, output_frames_every, ABOVE_ZERO),
    NEED(output_xyz_velocities, output_xyz_every, ABOVE_ZERO),
    NEED(output_compression, output_frames_every, ABOVE_ZERO),
    NEED(parallel_frames, output_frames_every, ABOVE_ZERO),
    NEED_FRAMES(output_precision),
    NEED_FRAMES(output_unwrapped),
    NEED(output_streams, output_pipeline, BIT(MD_ON)),
    NEED(output_streams, output_host_memory, COPIED),
    NEED(output_slots, output_pipeline, BIT(MD_ON)),
    NEED_FRAMES(output_slots),
    NEED(output_commit_frames, output_frames_every, ABOVE_ZERO),
    NEED(output_commit_seconds, output_frames_every, ABOVE_ZERO),
    NEED(report_neighbors, force_kernel, ROWS | BIT(MD_KERNEL_BRICK)),
    NEED_EITHER(analysis_msd_from, analysis_msd_every, analysis_vacf_every),
    NEED(analysis_msd_lags, analysis_msd_every, ABOVE_ZERO),
    NEED(analysis_vacf_lags, analysis_vacf_every, ABOVE_ZERO),
    NEED(analysis_rdf_from, analysis_rdf_every, ABOVE_ZERO),
    NEED(analysis_rdf_bins, analysis_rdf_every, ABOVE_ZERO),
    NEED(analysis_rdf_max, analysis_rdf_every, ABOVE_ZERO),
    NEED(analysis_rdf_types, analysis_rdf_every, ABOVE_ZERO),
};
enum { N_NEEDS = sizeof needs / sizeof *needs };

static bool value_serves(const MdConfig *config, int other, unsigned values) {
    const MdOptionRow *row = md_option_row(other);
    const void *field = (const char *)config + row->offset;
    int value = row->type == MD_TYPE_CHOICE  ? *(const int *)field
                : row->type == MD_TYPE_REALS ? ((const MdRealList *)field)->n > 0
                                             : *(const int64_t *)field > 0;
    return values >> value & 1;
}

static bool need_holds(const MdConfig *config, const Need *need) {
    return value_serves(config, need->other, need->values) ||
           (need->also != need->other && value_serves(config, need->also, ABOVE_ZERO));
}

/* `run.backend = cpu or auto`, `output.frames_every above 0`. */
static char *describe_need(const Need *need) {
    const MdOptionRow *other = md_option_row(need->other);
    if (need->also != need->other) return md_format("%s or %s above 0", other->name, md_option_name(need->also));
    if (other->type == MD_TYPE_REALS) return md_format("%s = auto", other->name);
    if (other->type != MD_TYPE_CHOICE) return md_format("%s above 0", other->name);
    MdText text = {0};
    md_text_add(&text, "%s = ", other->name);
    const char *separator = "";
    for (int value = 0; other->words[value]; value++) {
        if (!(need->values >> value & 1)) continue;
        md_text_add(&text, "%s%s", separator, other->words[value]);
        separator = " or ";
    }
    return md_text_take(&text);
}

/* The first need of the option that does not hold; NULL when all do. */
static const Need *find_lack(const MdConfig *config, int option) {
    for (int k = 0; k < N_NEEDS; k++)
        if (needs[k].option == option && !need_holds(config, &needs[k])) return &needs[k];
    return NULL;
}

bool md_option_has_effect(const MdConfig *config, int option) { return find_lack(config, option) == NULL; }

bool md_option_is_of_other_backend(int option, const char *backend) {
    MdConfig config = {.run_backend = strcmp(backend, "cpu") == 0 ? MD_BACKEND_CPU : MD_BACKEND_CUDA};
    for (int k = 0; k < N_NEEDS; k++)
        if (needs[k].option == option && needs[k].other == MD_OPTION_run_backend && !need_holds(&config, &needs[k]))
            return true;
    return false;
}

char *md_option_lack(const MdConfig *config, int option) {
    const Need *need = find_lack(config, option);
    return need ? describe_need(need) : NULL;
}

static void check_need(MdDeck *deck, const Need *need, MdErrors *errors) {
    if (deck->doubtful[need->option] || deck->doubtful[need->other] || deck->doubtful[need->also]) return;
    if (need_holds(&deck->config, need) || md_deck_asks_nothing(deck, need->option)) return;
    if (deck->layer[need->option] < deck->layer[need->other] || deck->layer[need->option] < deck->layer[need->also]) {
        md_deck_reset(deck, need->option);
        return;
    }
    char *needed = describe_need(need), *found = md_deck_value_text(deck, need->other);
    const bool is_open = strcmp(found, "auto") == 0; /* even if it would become the needed value */
    md_fail(errors, MD_ERROR_INPUT, "%s: %s: has no effect: it needs %s%s, but %s is %s (%s)%s",
            md_deck_origin(deck, need->option), md_option_name(need->option), needed, is_open ? " by name" : "",
            md_option_name(need->other), found, md_deck_origin(deck, need->other),
            is_open ? ", which the system decides later: name it" : "");
    free(needed);
    free(found);
}

/* Images belong to wrapped positions: a reader adds them up, and H5MD wants them at the same steps. */
static void check_images(const MdDeck *deck, MdErrors *errors) {
    const MdConfig *c = &deck->config;
    if (deck->doubtful[MD_OPTION_output_images_every] || deck->doubtful[MD_OPTION_output_frames_every]) return;
    if (c->output_images_every > 0 && c->output_images_every != c->output_frames_every)
        md_fail(errors, MD_ERROR_INPUT,
                "%s: output.images_every: read %lld; H5MD ties images to positions, so allowed: 0, and %lld as "
                "output.frames_every (%s)",
                md_deck_origin(deck, MD_OPTION_output_images_every), (long long)c->output_images_every,
                (long long)c->output_frames_every, md_deck_origin(deck, MD_OPTION_output_frames_every));
    if (c->output_unwrapped == MD_ON && c->output_images_every > 0)
        md_fail(errors, MD_ERROR_INPUT,
                "%s: output.unwrapped: on, and output.images_every above 0 (%s): a reader would "
                "unwrap twice; take one of them",
                md_deck_origin(deck, MD_OPTION_output_unwrapped), md_deck_origin(deck, MD_OPTION_output_images_every));
}

/* The compiler raises a smaller cap to this, with a warning that is not shown. */
enum { LEAST_REGISTERS = 24 };

static void check_registers(const MdDeck *deck, MdErrors *errors) {
    const int64_t most = deck->config.launch_registers;
    if (most == 0 || most >= LEAST_REGISTERS || deck->doubtful[MD_OPTION_launch_registers]) return;
    md_fail(errors, MD_ERROR_INPUT,
            "%s: launch.registers: read %lld; the compiler gives a thread %d registers at least, so allowed: 0 (no "
            "cap), and %d to 255",
            md_deck_origin(deck, MD_OPTION_launch_registers), (long long)most, LEAST_REGISTERS, LEAST_REGISTERS);
}

static void check_grid(const MdDeck *deck, MdErrors *errors) {
    const int n = deck->config.parallel_grid.n;
    if (n == 0 || n == 3) return;
    md_fail(errors, MD_ERROR_INPUT, "%s: parallel.grid: read %d number%s; allowed: three, or auto",
            md_deck_origin(deck, MD_OPTION_parallel_grid), n, n == 1 ? "" : "s");
}

/* One of both: what a layer on top gives replaces the other. */
static void check_friction(MdDeck *deck, MdErrors *errors) {
    enum { FRICTION = MD_OPTION_ensemble_friction, RELAXATION = MD_OPTION_ensemble_relaxation };
    const MdConfig *c = &deck->config;
    if (deck->doubtful[FRICTION] || deck->doubtful[RELAXATION]) return;
    if (md_is_auto(c->ensemble_friction) || md_is_auto(c->ensemble_relaxation)) return;
    if (deck->layer[FRICTION] != deck->layer[RELAXATION]) {
        md_deck_reset(deck, deck->layer[FRICTION] < deck->layer[RELAXATION] ? FRICTION : RELAXATION);
        return;
    }
    md_fail(errors, MD_ERROR_INPUT,
            "%s: ensemble.friction: ensemble.relaxation is given, too (%s): take one of them, as friction = 1 / (2 relaxation)",
            md_deck_origin(deck, FRICTION), md_deck_origin(deck, RELAXATION));
}

/* Numbers as in the deck. */
static void check_relaxation(const MdDeck *deck, MdErrors *errors) {
    const MdConfig *c = &deck->config;
    const bool by_friction = !md_is_auto(c->ensemble_friction);
    const int option = by_friction ? MD_OPTION_ensemble_friction : MD_OPTION_ensemble_relaxation;
    if (deck->doubtful[MD_OPTION_ensemble_thermostat] || deck->doubtful[option] ||
        deck->doubtful[MD_OPTION_run_timestep])
        return;
    const double most = 0.25 / c->run_timestep, least = 2 * c->run_timestep; /* friction = 1 / (2 relaxation) */
    const bool is_long = by_friction ? c->ensemble_friction <= most : md_config_relaxation(c) >= least;
    if (!((RELAXING & ~CHAINS) >> c->ensemble_thermostat & 1) || is_long) return;
    char *found = md_deck_value_text(deck, option), limit[MD_NUMBER_BYTES];
    md_fail(errors, MD_ERROR_INPUT,
            "%s: %s: read %s; allowed: %s %s, so that the kinetic energy relaxes in two time steps or more",
            md_deck_origin(deck, option), md_option_name(option), found, by_friction ? "up to" : "from",
            by_friction ? md_number_at_most(limit, most) : md_number_at_least(limit, least));
    free(found);
}

static bool is_ramp(const MdConfig *config) {
    const MdRealList *target = &config->ensemble_target;
    return target->n == 2 && target->values[0] != target->values[1];
}

/* An analysis with windows needs two samples at least. */
static void check_windows(const MdDeck *deck, int every, int64_t steps, MdErrors *errors) {
    const MdConfig *c = &deck->config;
    const int from = MD_OPTION_analysis_msd_from;
    if (steps == 0 || deck->doubtful[every] || deck->doubtful[from] || deck->doubtful[MD_OPTION_run_steps]) return;
    if (c->analysis_msd_from + steps <= c->run_steps) return;
    md_fail(
        errors, MD_ERROR_INPUT,
        "%s: %s: read %lld, but from %s = %lld (%s) on the run has no second sample: run.steps is %lld (%s); allowed: "
        "0 (none), or a sum of both up to run.steps",
        md_deck_origin(deck, every), md_option_name(every), (long long)steps, md_option_name(from),
        (long long)c->analysis_msd_from, md_deck_origin(deck, from), (long long)c->run_steps,
        md_deck_origin(deck, MD_OPTION_run_steps));
}

/* Whether the chain's oscillation is slow beside so many steps, over which it is advanced at once. */
static bool chain_is_slow(const MdConfig *c, int64_t every) {
    return md_config_relaxation(c) >= 4 * ((double)every * c->run_timestep);
}

static void refuse_chain_time(const MdDeck *deck, MdErrors *errors) {
    char *found = md_deck_value_text(deck, MD_OPTION_ensemble_relaxation), limit[MD_NUMBER_BYTES];
    md_fail(errors, MD_ERROR_INPUT,
            "%s: ensemble.relaxation: read %s; allowed with this thermostat: from %s, four time steps, over which its "
            "chain is advanced at once",
            md_deck_origin(deck, MD_OPTION_ensemble_relaxation), found,
            md_number_at_least(limit, 4 * deck->config.run_timestep));
    free(found);
}

static void refuse_every(const MdDeck *deck, MdErrors *errors) {
    const MdConfig *c = &deck->config;
    const double time = md_config_relaxation(c);
    int64_t most = (int64_t)floor(time / 4 / c->run_timestep) + 1;
    while (!chain_is_slow(c, most)) most--;
    char apart[MD_NUMBER_BYTES], found[MD_NUMBER_BYTES];
    md_fail(errors, MD_ERROR_INPUT,
            "%s: ensemble.every: read %lld, a time of %s, but the relaxation time is %s (%s); allowed: up to a "
            "quarter of it, %lld",
            md_deck_origin(deck, MD_OPTION_ensemble_every), (long long)c->ensemble_every,
            md_number_at_least(apart, (double)c->ensemble_every * c->run_timestep), md_number_at_most(found, time),
            md_deck_origin(deck, MD_OPTION_ensemble_relaxation), (long long)most);
}

/* A chain is advanced from action to action: its oscillation must be slow beside that. */
static void check_chain(const MdDeck *deck, MdErrors *errors) {
    const MdConfig *c = &deck->config;
    if (deck->doubtful[MD_OPTION_ensemble_thermostat] || deck->doubtful[MD_OPTION_ensemble_relaxation] ||
        deck->doubtful[MD_OPTION_ensemble_every] || deck->doubtful[MD_OPTION_run_timestep])
        return;
    if (!(CHAINS >> c->ensemble_thermostat & 1)) return;
    if (!chain_is_slow(c, 1))
        refuse_chain_time(deck, errors);
    else if (!chain_is_slow(c, c->ensemble_every))
        refuse_every(deck, errors);
    if (c->ensemble_target.values[0] <= 0 && !is_ramp(c) && !deck->doubtful[MD_OPTION_ensemble_target])
        md_fail(errors, MD_ERROR_INPUT, "%s: ensemble.target: read 0; the masses of a chain need a temperature above 0",
                md_deck_origin(deck, MD_OPTION_ensemble_target));
}

/* A ramp from 0 begins with nothing to scale, and one to 0 ends in velocities that are rounding alone. */
static void refuse_ramp(const MdDeck *deck, MdErrors *errors) {
    char *found = md_deck_value_text(deck, MD_OPTION_ensemble_target);
    const double *target = deck->config.ensemble_target.values, other = 1e-3 * fmax(target[0], target[1]);
    const bool is_to = target[1] <= 0;
    md_fail(errors, MD_ERROR_INPUT,
            "%s: ensemble.target: read %s: a ramp %s 0; allowed: two temperatures above 0, for example %g %g; one "
            "temperature may be 0 if it is no ramp",
            md_deck_origin(deck, MD_OPTION_ensemble_target), found, is_to ? "to" : "from", is_to ? target[0] : other,
            is_to ? other : target[1]);
    free(found);
}

static void check_target(const MdDeck *deck, MdErrors *errors) {
    const MdRealList *target = &deck->config.ensemble_target;
    if (deck->doubtful[MD_OPTION_ensemble_target]) return;
    if (target->n > 2)
        md_fail(errors, MD_ERROR_INPUT, "%s: ensemble.target: read %d values; allowed: one, or two for a ramp",
                md_deck_origin(deck, MD_OPTION_ensemble_target), target->n);
    else if (BATHS >> deck->config.ensemble_thermostat & 1 && is_ramp(&deck->config) &&
             fmin(target->values[0], target->values[1]) <= 0)
        refuse_ramp(deck, errors);
}

/* There is a sample. */
static void check_rdf(const MdDeck *deck, MdErrors *errors) {
    const MdConfig *c = &deck->config;
    const int from = MD_OPTION_analysis_rdf_from;
    if (c->analysis_rdf_every == 0 || deck->doubtful[from] || deck->doubtful[MD_OPTION_run_steps]) return;
    if (c->analysis_rdf_from <= c->run_steps) return;
    md_fail(errors, MD_ERROR_INPUT,
            "%s: analysis.rdf_from: read %lld, but run.steps is %lld (%s), so that there is no sample; allowed: 0 to "
            "run.steps",
            md_deck_origin(deck, from), (long long)c->analysis_rdf_from, (long long)c->run_steps,
            md_deck_origin(deck, MD_OPTION_run_steps));
}

void md_deck_check(MdDeck *deck, MdErrors *errors) {
    for (int k = 0; k < N_NEEDS; k++) check_need(deck, &needs[k], errors);
    check_images(deck, errors);
    check_registers(deck, errors);
    check_grid(deck, errors);
    check_friction(deck, errors);
    check_relaxation(deck, errors);
    check_rdf(deck, errors);
    check_windows(deck, MD_OPTION_analysis_msd_every, deck->config.analysis_msd_every, errors);
    check_windows(deck, MD_OPTION_analysis_vacf_every, deck->config.analysis_vacf_every, errors);
    check_chain(deck, errors);
    check_target(deck, errors);
}
