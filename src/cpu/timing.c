/* The stages of the cpu backend: names, times, spans of the trace. */
#include <stdio.h>

#include "base/clock.h"
#include "cpu/context.h"

static const char *const stage_names[MD_CPU_N_STAGES] = {"sort",   "neighbor", "force", "integrate", "reduce",
                                                         "gather", "observe",  "halo",  "migrate"};

static const MdTraceKind stage_kinds[MD_CPU_N_STAGES] = {
    [MD_CPU_SORT] = MD_TRACE_LIST,       [MD_CPU_NEIGHBOR] = MD_TRACE_LIST, [MD_CPU_FORCE] = MD_TRACE_STEPS,
    [MD_CPU_INTEGRATE] = MD_TRACE_STEPS, [MD_CPU_REDUCE] = MD_TRACE_GATHER, [MD_CPU_GATHER] = MD_TRACE_GATHER,
    [MD_CPU_OBSERVE] = MD_TRACE_GATHER,  [MD_CPU_HALO] = MD_TRACE_STEPS,    [MD_CPU_MIGRATE] = MD_TRACE_LIST};

void md_cpu_add_time(MdCpuContext *c, int stage, double start_s) {
    MdStageTime *time = &c->statistics.stages[stage];
    const double end_s = md_clock_s();
    time->timed_s += end_s - start_s;
    time->seconds = time->timed_s;
    md_trace_span(c->track, stage_kinds[stage], stage_names[stage], start_s, end_s, c->step);
}

void md_cpu_end_stage(MdCpuContext *c, int stage, double start_s) {
    c->statistics.stages[stage].calls++;
    c->statistics.stages[stage].timed++;
    md_cpu_add_time(c, stage, start_s);
}

void md_cpu_name_stages(MdCpuContext *c, const MdConfig *config, const MdConfig *asked) {
    c->statistics.n_stages = md_cpu_has_ranks(c) ? MD_CPU_N_STAGES : MD_CPU_HALO;
    for (int s = 0; s < c->statistics.n_stages; s++) {
        MdStageTime *stage = &c->statistics.stages[s];
        snprintf(stage->stage, sizeof stage->stage, "%s", stage_names[s]);
        md_variants_describe(md_cpu_variants(), stage->stage, asked, stage->asked, sizeof stage->asked);
        md_variants_describe(md_cpu_variants(), stage->stage, config, stage->ran, sizeof stage->ran);
    }
}
