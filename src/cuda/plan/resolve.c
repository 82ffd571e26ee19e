/* The choices of `auto`, and the limits of this machine. */
#include <stdio.h>
#include <string.h>

#include "cuda/bricks/bricks.h"
#include "cuda/device/device.h"
#include "cuda/plan/resolve.h"
#include "cuda/device/toolkit.h"
#include "cuda/plan/variants.h"

/* Whether the table and the GPU allow config; else the first reason, without the remedies: auto takes
 * one. */
static bool is_possible(const MdConfig *config, const MdSystemPlan *plan, char *reason, size_t size) {
    MdErrors *errors = md_errors_create();
    const bool possible = md_variants_check(md_cuda_variants(), "cuda", config, errors) == MD_OK &&
                          cuda_force_check(config, plan, errors) == MD_OK;
    if (!possible) {
        const char *text = md_errors_text(errors, 0), *ways_out = strstr(text, ": change that");
        snprintf(reason, size, "%.*s", ways_out ? (int)(ways_out - text) : (int)size, text);
    }
    md_errors_destroy(errors);
    return possible && !cuda_brick_lacks_room(config, plan, reason, size);
}

/* The needs of a requested queue. */
static void resolve_for_queue(MdConfig *config, MdChoices *choices) {
    static const char *const reason = "launch.passes = queue was given";
    if (config->launch_passes != MD_PASSES_QUEUE) return;
    if (config->launch_persistent == MD_PERSISTENT_AUTO) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off", "%s", reason);
    }
    if (config->launch_fuse == MD_FUSE_AUTO) {
        config->launch_fuse = MD_FUSE_STEP;
        md_choices_add(choices, "launch.fuse", "step", "%s", reason);
    }
}

/* Whether each block of the resident kernel holds its brick, with launch.barrier = local. */
static bool is_held(const MdConfig *config, const MdSystemPlan *plan) {
    const CudaTarget target = {.config = config,
                               .box = &plan->box,
                               .potential = &plan->potential,
                               .n_atoms = plan->n_atoms,
                               .n_sms = cuda_device_multiprocessors()};
    return cuda_brick_is_held(&target);
}

static bool gains_by_local(const MdConfig *config, const MdSystemPlan *plan) {
    return is_held(config, plan) &&
           (config->neighbor_rebuild == MD_REBUILD_EVERY || cuda_brick_suits_speculation(config, plan));
}

static void resolve_persistent(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->launch_persistent != MD_PERSISTENT_AUTO) return;
    const int64_t most = cuda_most_resident(config->memory_brick_grid, config);
    if (config->launch_graph == MD_GRAPH_ON) { /* without a graph, a resident kernel is still possible */
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off", "launch.graph = on was given");
        return;
    }
    char reason[sizeof choices->rows[0].reason];
    config->launch_persistent = MD_PERSISTENT_ON;
    MdConfig fused = *config; /* which auto makes possible */
    const bool over_ranks = md_config_has_domains(config);
    if (over_ranks && fused.launch_barrier == MD_BARRIER_AUTO) fused.launch_barrier = MD_BARRIER_LOCAL;
    if (fused.launch_fuse == MD_FUSE_AUTO)
        fused.launch_fuse = fused.launch_barrier == MD_BARRIER_LOCAL ? MD_FUSE_STEP : MD_FUSE_ON;
    if (over_ranks && (fused.launch_barrier != MD_BARRIER_LOCAL || !gains_by_local(&fused, plan))) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(
            choices, "launch.persistent", "off",
            "blocks would need barriers of all GPUs: they cannot hold their bricks, or cannot do without them "
            "where displacements are checked");
    } else if (!is_possible(&fused, plan, reason, sizeof reason)) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off", "%s", reason);
    } else if (plan->n_atoms > most) {
        config->launch_persistent = MD_PERSISTENT_OFF;
        md_choices_add(choices, "launch.persistent", "off",
                       "more atoms than the %lld that are resident at once, or that it is faster for", (long long)most);
    } else {
        md_choices_add(choices, "launch.persistent", "on",
                       "no more atoms than the %lld that are resident at once, or that it is faster for",
                       (long long)most);
    }
}

/* A graph wherever everything else allows it and no resident kernel makes the steps. */
static void resolve_graph(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->launch_graph != MD_GRAPH_AUTO) return;
    char reason[sizeof choices->rows[0].reason];
    config->launch_graph = MD_GRAPH_ON;
    if (config->launch_persistent == MD_PERSISTENT_ON) {
        config->launch_graph = MD_GRAPH_OFF;
        md_choices_add(choices, "launch.graph", "off", "the resident kernel makes the steps");
    } else if (!is_possible(config, plan, reason, sizeof reason)) {
        config->launch_graph = MD_GRAPH_OFF;
        md_choices_add(choices, "launch.graph", "off", "%s", reason);
    } else {
        md_choices_add(choices, "launch.graph", "on", "nothing that a step does needs the host");
    }
}

/* Integration along with the forces, where that was measured to be faster (run/results/h200): the resident kernel saves a
 * barrier a step by it, bricks a trip of forces and velocities through memory. */
static void resolve_fuse(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->launch_fuse != MD_FUSE_AUTO) return;
    char reason[sizeof choices->rows[0].reason];
    config->launch_fuse = MD_FUSE_STEP;
    if (!is_possible(config, plan, reason, sizeof reason)) {
        config->launch_fuse = MD_FUSE_ON;
        md_choices_add(choices, "launch.fuse", "on", "%s", reason);
    } else if (config->launch_persistent == MD_PERSISTENT_ON) {
        md_choices_add(choices, "launch.fuse", "step", "a barrier less in each step of the resident kernel");
    } else if (config->force_kernel != MD_KERNEL_BRICK) {
        config->launch_fuse = MD_FUSE_ON;
        md_choices_add(choices, "launch.fuse", "on",
                       "step gains with bricks or a resident kernel, and here is neither");
    } else {
        md_choices_add(choices, "launch.fuse", "step", "forces of bricks stay in registers until they have been used");
    }
}

/* Blocks of the resident kernel wait for those around them, where that gains. */
static void resolve_barrier(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->launch_barrier != MD_BARRIER_AUTO) return;
    const bool is_resident = config->launch_persistent == MD_PERSISTENT_ON;
    char reason[sizeof choices->rows[0].reason];
    config->launch_barrier = MD_BARRIER_LOCAL;
    const bool possible = is_resident && is_possible(config, plan, reason, sizeof reason),
               holds = possible && is_held(config, plan), gains = possible && gains_by_local(config, plan);
    if (!gains) config->launch_barrier = MD_BARRIER_GRID;
    if (!is_resident) return; /* no barrier at all */
    const char *why =
        gains      ? "blocks run ahead of blocks that they do not need"
        : holds    ? "with the check of displacements only one brick a multiprocessor gains, and of smaller blocks"
        : possible ? "a block cannot hold its brick and its staged atoms, and would wait for all others as well"
                   : reason;
    md_choices_add(choices, "launch.barrier", gains ? "local" : "grid", "%s", why);
}

/* Atoms a multiprocessor between which the queue was ahead of a kernel a pass (melts on an H200, loops every 20 steps: 8 % at
 * 256,000 atoms, 12 at a million, 2 at 4 million, 16 in two dimensions, with 665 it lost 20; when needed 4, 8, 0 and 17 %,
 * and with 990 it lost 22; run/results/h200): few bricks wait for each other, and with many the blocks that are left at the
 * end of a pass are few among so many. Where the device checks displacements, a kernel a pass does that with registers that
 * it needs for pairs, and with 124,000 (16 million atoms) the queue was 4 % ahead still; more were not tried. */
static const int64_t least_queued = 1500, most_queued = 50000, most_queued_checked = 125000;

static void resolve_passes(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->launch_passes != MD_PASSES_AUTO) return;
    char reason[sizeof choices->rows[0].reason] = "";
    const bool has_effect = md_option_has_effect(config, MD_OPTION_launch_passes);
    config->launch_passes = MD_PASSES_QUEUE;
    const bool possible = has_effect && is_possible(config, plan, reason, sizeof reason);
    const int64_t on_each = possible ? plan->n_atoms / cuda_device_multiprocessors() : 0;
    const int64_t most = config->neighbor_rebuild == MD_REBUILD_EVERY ? most_queued : most_queued_checked;
    const bool queues = possible && (plan->comm || (on_each >= least_queued && on_each <= most));
    config->launch_passes = queues ? MD_PASSES_QUEUE : MD_PASSES_KERNELS;
    if (!has_effect) return;
    if (!possible) md_choices_add(choices, "launch.passes", "kernels", "%s", reason);
    else if (plan->comm)
        md_choices_add(choices, "launch.passes", "queue",
                       "several processes: a kernel a pass has a barrier of all GPUs");
    else
        md_choices_add(choices, "launch.passes", queues ? "queue" : "kernels",
                       "%lld atoms a multiprocessor: a queue was faster with %lld to %lld of them", (long long)on_each,
                       (long long)least_queued, (long long)most);
}

/* One thread a row leaves most of the GPU idle below that share of the resident threads, and takes as long for few rows as
 * for many. On an H200 (270,336 threads): melt of 4,000 atoms 0.038 ms by warps against 0.163, of 32,000 0.106 against
 * 0.152. */
static const long long warps_below = 4; /* a quarter */

static void resolve_search(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->neighbor_threads_per_atom != MD_ROW_THREADS_AUTO ||
        !md_option_has_effect(config, MD_OPTION_neighbor_threads_per_atom))
        return;
    const long long resident = cuda_device_resident_threads();
    char reason[sizeof choices->rows[0].reason];
    config->neighbor_threads_per_atom = MD_ROW_THREADS_32;
    const bool possible = is_possible(config, plan, reason, sizeof reason);
    if (possible && warps_below * plan->n_atoms < resident) {
        md_choices_add(choices, "neighbor.threads_per_atom", "32",
                       "one thread a row would leave most of the %lld resident threads idle", resident);
        return;
    }
    config->neighbor_threads_per_atom = MD_ROW_THREADS_1;
    if (!possible) md_choices_add(choices, "neighbor.threads_per_atom", "1", "%s", reason);
    else
        md_choices_add(choices, "neighbor.threads_per_atom", "1", "enough rows for the %lld threads that are resident",
                       resident);
}

/* Whether anything was asked for that bricks do not have, the form of the list, or that asks for list-split: threads that
 * share a row. */
static bool suits_bricks(const MdConfig *config) {
    return config->neighbor_search == MD_SEARCH_CELL && config->neighbor_write == MD_LIST_WRITE_NONATOMIC &&
           config->neighbor_list == MD_LIST_FULL && config->neighbor_order == MD_LIST_ORDER_COLUMN &&
           config->neighbor_sorted == MD_OFF && config->neighbor_threads_per_atom == MD_ROW_THREADS_AUTO &&
           config->force_threads_per_atom == MD_THREADS_AUTO && config->force_partial_sums == MD_PARTIAL_SUMS_SHUFFLE;
}

/* Bricks where there are enough of them for all multiprocessors, which are the fastest (run/results/h200), and blocks have room
 * for them. */
static bool takes_bricks(const MdConfig *config, const MdSystemPlan *plan) {
    if (config->force_kernel != MD_KERNEL_AUTO) return config->force_kernel == MD_KERNEL_BRICK;
    return suits_bricks(config) && cuda_brick_fits(config, plan) &&
           (config->memory_sort == MD_SORT_BRICK ||
            (config->memory_sort == MD_SORT_AUTO && cuda_brick_is_enough(config, plan)));
}

/* And the order of the particles that the force kernel likes. */
static void resolve_order(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices) {
    if (config->force_kernel == MD_KERNEL_AUTO && takes_bricks(config, plan)) {
        config->force_kernel = MD_KERNEL_BRICK;
        md_choices_add(choices, "force.kernel", "brick",
                       config->memory_sort == MD_SORT_BRICK ? "particles were requested in the order of bricks"
                                                            : "there are bricks for the multiprocessors");
    }
    const bool has_bricks = config->force_kernel == MD_KERNEL_BRICK;
    md_resolve_sort(config, has_bricks ? MD_SORT_BRICK : MD_SORT_CELL,
                    has_bricks ? "force.kernel = brick needs it" : "neighbours share cache lines", choices);
}

/* The fastest for melts on an H200 (run/results/h200) of 0.2 to 0.8 for 4,000 atoms, of 0.6 and 0.7 for 6,912, of 0.6 to 0.8 for
 * 10,976, of 0.5 and 0.6 for 19,652 and 32,000 (27,436 are 1 % faster with 0.6), of 0.4 and 0.6 for 70,304, and in bricks of 0.3 to
 * 0.5 for a million: a rebuild takes a small system longer than many steps, so that rare ones pay for long rows. A million atoms
 * are as fast with 0.36 as with 0.4, and take 9 bytes each less. */
static double fastest_skin(const MdConfig *config, const MdSystemPlan *plan) {
    MdConfig in_bricks = *config;
    const double skin = plan->n_atoms < 16000                                ? 0.7
                        : plan->n_atoms < 50000                              ? 0.5
                        : plan->n_atoms < 200000 || plan->box.dimension == 2 ? 0.4
                                                                             : 0.36;
    in_bricks.neighbor_skin = skin * md_length_scale(config, &plan->potential);
    if (takes_bricks(&in_bricks, plan)) return skin;
    return plan->n_atoms < 16000 ? 0.8 : 0.5;
}

static MdStatus resolve_all(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    md_resolve_skin(config, plan, fastest_skin(config, plan), choices);
    resolve_order(config, plan, choices);
    resolve_for_queue(config, choices);
    cuda_force_resolve(config, plan, choices);
    resolve_search(config, plan, choices);
    cuda_brick_resolve(config, plan, choices);
    md_resolve_predict(config, choices);
    md_resolve_arithmetic(config, choices);
    resolve_persistent(config, plan, choices);
    resolve_graph(config, plan, choices);
    resolve_fuse(config, plan, choices);
    resolve_barrier(config, plan, choices);
    resolve_passes(config, plan, choices);
    cuda_brick_resolve_staging(config, choices);
    MdStatus status = md_variants_check(md_cuda_variants(), "cuda", config, errors);
    if (status == MD_OK) status = cuda_memory_check(config, plan->comm, errors);
    if (status == MD_OK) status = cuda_toolkit_resolve(config, errors);
    if (status == MD_OK) status = cuda_brick_check(config, plan, errors);
    return status == MD_OK ? cuda_force_check(config, plan, errors) : status;
}

/* Switches whose `auto` may have room where bricks as they were asked for have none; the last ones have no effect without those
 * after them. */
static const int ways_out[] = {MD_OPTION_memory_brick_cells, MD_OPTION_memory_brick_grid, MD_OPTION_neighbor_distances,
                               MD_OPTION_launch_block_size,  MD_OPTION_launch_barrier,    MD_OPTION_launch_persistent,
                               MD_OPTION_launch_fuse,        MD_OPTION_memory_sort,       MD_OPTION_memory_staging,
                               MD_OPTION_launch_passes,      MD_OPTION_force_kernel};
enum { N_WAYS_OUT = sizeof ways_out / sizeof ways_out[0] };

static int auto_value(int option) {
    int value = 0;
    while (strcmp(md_switch_words(option)[value], "auto") != 0) value++;
    return value;
}

/* Whether everything that is named still has an effect: a deck in which something has none is refused. */
static bool keeps_effects(const MdConfig *asked, const MdConfig *changed) {
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!md_option_is_switch(option) || md_option_has_effect(changed, option)) continue;
        const bool is_named = strcmp(md_switch_words(option)[md_switch_value(changed, option)], "auto") != 0;
        if (is_named && md_option_has_effect(asked, option)) return false;
    }
    return true;
}

/* `force.kernel=auto and launch.passes=auto, without memory.staging`: a switch that has no effect may not be named at all. */
static void describe_change(const MdConfig *asked, const MdConfig *changed, char *text, size_t size) {
    size_t length = 0;
    for (int is_out = 0; is_out <= 1; is_out++) {
        int n = 0;
        for (int k = 0; k < N_WAYS_OUT; k++) {
            const int option = ways_out[k];
            if (md_switch_value(asked, option) == md_switch_value(changed, option) ||
                md_option_has_effect(changed, option) == is_out)
                continue;
            length += (size_t)snprintf(text + length, size - length, "%s%s%s",
                                       n++ > 0  ? " and "
                                       : is_out ? ", without "
                                                : "",
                                       md_option_name(option), is_out ? "" : "=auto");
        }
    }
}

/* Whether the system is accepted with `auto` for the switches first .. last - 1 of these; and the changes for that. */
static bool is_way_out(const MdConfig *asked, const MdSystemPlan *plan, int first, int last, char *text, size_t size) {
    MdConfig changed = *asked;
    for (int k = first; k < last; k++) md_switch_set(&changed, ways_out[k], auto_value(ways_out[k]));
    describe_change(asked, &changed, text, size);
    if (!keeps_effects(asked, &changed)) return false;
    char lack[256];
    MdErrors *errors = md_errors_create();
    const bool is_accepted =
        resolve_all(&changed, plan, NULL, errors) == MD_OK && !cuda_brick_lacks_room(&changed, plan, lack, sizeof lack);
    md_errors_destroy(errors);
    return is_accepted;
}

/* One switch, or else as few as there are from the end of the list: the kernel and its dependent switches. */
static void find_way_out(const MdConfig *asked, const MdSystemPlan *plan, char *text, size_t size) {
    for (int k = 0; k < N_WAYS_OUT; k++)
        if (is_way_out(asked, plan, k, k + 1, text, size)) return;
    for (int k = N_WAYS_OUT - 2; k >= 0; k--)
        if (is_way_out(asked, plan, k, N_WAYS_OUT, text, size)) return;
    snprintf(text, size, "a smaller potential.cutoff or neighbor.skin");
}

MdStatus cuda_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    MdSystemPlan part = *plan; /* of this process's part, as a separate system */
    char lack[256], way_out[512];
    part.n_atoms = (plan->n_atoms + md_comm_size(plan->comm) - 1) / md_comm_size(plan->comm);
    MdStatus status = cuda_ranks_resolve(config, plan->comm, choices, errors);
    if (status == MD_OK && plan->comm) md_resolve_skin(config, plan, fastest_skin(config, &part), choices);
    if (status == MD_OK) status = cuda_ranks_divide(config, plan, choices, errors, &part.box);
    if (status != MD_OK) return status;
    const MdConfig asked = *config;
    status = resolve_all(config, &part, choices, errors);
    if (status != MD_OK || !cuda_brick_lacks_room(config, &part, lack, sizeof lack)) return status;
    find_way_out(&asked, &part, way_out, sizeof way_out);
    return md_fail(errors, MD_ERROR_INPUT, "force.kernel=brick: %s: take %s", lack, way_out);
}
