#include "cuda/context/facts.h"

#include "backend/variants.h"
#include "cuda/context/shared.h"
#include "physics/split_sum.h"

static bool has_rows(const MdConfig *config) {
    return config->force_kernel == MD_KERNEL_LIST || config->force_kernel == MD_KERNEL_LIST_SPLIT;
}

static bool adds_forces(const MdConfig *config) {
    const bool split = config->force_kernel == MD_KERNEL_LIST_SPLIT;
    return (has_rows(config) && config->neighbor_list == MD_LIST_HALF) ||
           (split && config->force_partial_sums == MD_PARTIAL_SUMS_ATOMIC);
}

static void state_order(const MdConfig *config, CudaFacts *facts) {
    const int sort = config->memory_sort;
    const bool searched =
        md_option_has_effect(config, MD_OPTION_neighbor_search) && config->neighbor_search == MD_SEARCH_CELL;
    facts->sorts_bricks = sort == MD_SORT_BRICK;
    facts->reorders = sort != MD_SORT_NONE;
    facts->places_cells = sort == MD_SORT_MORTON || sort == MD_SORT_HILBERT || sort == MD_SORT_BRICK;
    facts->needs_cells = facts->reorders || searched || config->force_kernel == MD_KERNEL_CELL || facts->has_clusters ||
                         facts->has_bricks;
}

/* Samples of velocities need the forces of the step; positions are there before them. A queue keeps the velocities where a sort moves
 * their origins to: in memory that only the sort needs. */
static void state_samples(const MdConfig *config, CudaFacts *facts) {
    const bool samples_velocities = config->analysis_vacf_every > 0, samples = facts->observes || facts->counts_pairs;
    const bool may_begin_forced = facts->fuses_steps && !facts->is_resident && !md_config_has_domains(config);
    facts->keeps_velocity = samples_velocities && may_begin_forced && facts->queues;
    facts->leaves_open = samples && may_begin_forced && (!samples_velocities || facts->keeps_velocity);
}

CudaFacts cuda_facts(const MdConfig *config) {
    CudaFacts facts = {
        .has_clusters = config->force_kernel == MD_KERNEL_CLUSTER,
        .has_bricks = config->force_kernel == MD_KERNEL_BRICK,
        .adds_forces = adds_forces(config),
        .threads_per_atom =
            md_option_has_effect(config, MD_OPTION_force_threads_per_atom) ? 1 << config->force_threads_per_atom : 1,
        .pair_size = config->run_precision == MD_PRECISION_DOUBLE ? sizeof(double) : sizeof(float),
        .state_size = config->run_precision == MD_PRECISION_SINGLE ? sizeof(float) : sizeof(double),
        .sum_parts = config->reduce_accumulate == MD_ACCUMULATE_REPRODUCIBLE ? MD_SPLIT_PARTS : 1,
        .pair_sums = CUDA_PAIR_TOTALS(config->analysis_pressure == MD_PRESSURE_TENSOR),
        .atom_sums = CUDA_ATOM_TOTALS(config->analysis_pressure == MD_PRESSURE_TENSOR),
        .observes = config->analysis_msd_every > 0 || config->analysis_vacf_every > 0,
        .counts_pairs = config->analysis_rdf_every > 0,
        .halves = md_option_has_effect(config, MD_OPTION_neighbor_list) && config->neighbor_list == MD_LIST_HALF,
        .has_matrices = config->neighbor_distances == MD_DISTANCES_MATRIX,
        .rows_per_warp = CUDA_ROWS_PER_WARP(config->memory_brick_grid),
        .checks_on_device = config->neighbor_rebuild == MD_REBUILD_DEVICE_CHECK,
        .is_resident = config->launch_persistent == MD_PERSISTENT_ON,
        .fuses_steps = config->launch_fuse == MD_FUSE_STEP,
        .queues = config->launch_passes == MD_PASSES_QUEUE};
    facts.batches = config->launch_graph == MD_GRAPH_ON || facts.is_resident || facts.fuses_steps;
    facts.lists_copies = md_config_has_domains(config) && (facts.is_resident || facts.queues);
    facts.stops_itself = facts.is_resident || facts.queues;
    facts.may_roll_back = facts.is_resident && config->launch_barrier == MD_BARRIER_LOCAL && facts.checks_on_device;
    facts.has_list = has_rows(config) || facts.has_clusters || facts.has_bricks;
    state_order(config, &facts);
    state_samples(config, &facts);
    return facts;
}

double cuda_list_range(const MdConfig *config, const MdPotential *potential) {
    return potential->cutoff_max + config->neighbor_skin;
}
