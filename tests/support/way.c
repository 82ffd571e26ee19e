#include "way.h"

#include <stdio.h>

#include "check.h"
#include "state.h"

const Way way_one_by_one = {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_OFF, MD_PASSES_KERNELS};
const Way way_call_by_call = {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_ON, MD_PASSES_KERNELS};
const Way ways_ahead[N_WAYS_AHEAD] = {{MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_ON, MD_PASSES_KERNELS},
                                      {MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_ON, MD_PASSES_KERNELS},
                                      {MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP, MD_PASSES_KERNELS},
                                      {MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS},
                                      {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS}};
const Way ways_queued[N_WAYS_QUEUED] = {{MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_QUEUE},
                                        {MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_QUEUE}};

void way_take(MdConfig *config, Way way) {
    config->launch_graph = way.graph;
    config->launch_persistent = way.persistent;
    config->launch_fuse = way.fuse;
    config->launch_passes = way.passes;
}

const char *way_text(Way way) {
    static char text[96];
    snprintf(text, sizeof text, "graph %s, persistent %s, fuse %s, passes %s",
             md_switch_words(MD_OPTION_launch_graph)[way.graph],
             md_switch_words(MD_OPTION_launch_persistent)[way.persistent],
             md_switch_words(MD_OPTION_launch_fuse)[way.fuse], md_switch_words(MD_OPTION_launch_passes)[way.passes]);
    return text;
}

MdFault way_collision(const MdBackendOps *ops, const MdSystem *system, int kernel, int every, Way way) {
    enum { COLD_STEPS = 16, HOT_STEPS = 36 };
    MdConfig config = state_config();
    WalkRun run;
    config.run_precision = MD_PRECISION_DOUBLE;
    config.neighbor_skin = 0.75;
    config.neighbor_rebuild = every > 0 ? MD_REBUILD_EVERY : MD_REBUILD_DEVICE_CHECK;
    if (every > 0) config.neighbor_every = every;
    config.force_kernel = kernel;
    way_take(&config, way);
    check_context("a fault in a batch: every %d, %s", every, way_text(way));
    if (!walk_create(&run, ops, &config, system)) return (MdFault){.step = -1};
    CHECK(walk_prepare(&run) && walk_steps(&run, 1, COLD_STEPS) && walk_ok(&run, ops->finish(run.context)));
    CHECK(walk_ok(&run, ops->scale_velocities(run.context, WAY_WARMER, walk_no_shift)));
    CHECK(walk_steps(&run, COLD_STEPS + 1, HOT_STEPS) && walk_ok(&run, ops->finish(run.context)));
    const MdFault fault = ops->fault(run.context);
    walk_destroy(&run);
    return fault;
}
