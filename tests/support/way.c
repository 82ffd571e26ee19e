#include "way.h"

#include <stdio.h>

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
