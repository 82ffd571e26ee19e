#include "microbench/stages/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "microbench/stages/measure.h"
#include "microbench/stages/states.h"
#include "microbench/stages/table.h"
#include "report/provenance.h"
#include "report/report.h"

/* --- the operations ------------------------------------------------------------------------------------------------ */

static MdStatus run_rebuild(const MdBackendOps *ops, void *context, MdFrame *frame) {
    (void)frame;
    return ops->rebuild(context);
}

static MdStatus run_forces(const MdBackendOps *ops, void *context, MdFrame *frame) {
    (void)frame;
    return ops->compute_forces(context, false);
}

static MdStatus run_motion(const MdBackendOps *ops, void *context, MdFrame *frame) {
    (void)frame;
    return ops->integrate(context);
}

static MdStatus run_sum(const MdBackendOps *ops, void *context, MdFrame *frame) {
    (void)frame;
    MdSums sums;
    return ops->sum(context, &sums);
}

static MdStatus run_gather(const MdBackendOps *ops, void *context, MdFrame *frame) {
    return ops->gather(context, frame);
}

static const MdBenchStage bench_stages[] = {
    {.name = "sort",
     .call = "a rebuild: sort and search",
     .stages = {"sort", "memory", "launch"},
     .work = {"sort", "neighbor"},
     .run = run_rebuild},
    {.name = "neighbor",
     .call = "a rebuild: sort and search",
     .stages = {"neighbor", "memory", "launch"},
     .work = {"sort", "neighbor"},
     .run = run_rebuild},
    {.name = "force",
     .call = "forces, without energy",
     .stages = {"force", "memory", "launch"},
     .work = {"force"},
     .run = run_forces},
    {.name = "integrate",
     .call = "half kick, drift, half kick",
     .stages = {"integrate", "memory", "launch"},
     .work = {"integrate"},
     .run = run_motion,
     .only_moves = true},
    {.name = "reduce",
     .call = "kinetic energy and momentum summed, read by the host",
     .stages = {"reduce", "memory", "launch"},
     .work = {"reduce"},
     .run = run_sum},
    {.name = "gather",
     .call = "positions and velocities by id, to the host",
     .stages = {"gather", "memory", "launch"},
     .work = {"gather"},
     .run = run_gather},
    {.name = "step",
     .call = "a whole step without a rebuild",
     .stages = {"step", "sort", "neighbor", "force", "integrate", "memory", "launch"},
     .work = {"step"},
     .whole_steps = true},
};

const MdBenchStage *md_bench_stage(int k) {
    return k < (int)(sizeof bench_stages / sizeof bench_stages[0]) ? &bench_stages[k] : NULL;
}

MdStatus md_bench_find(const char *name, MdErrors *errors) {
    const MdBenchStage *stage;
    if (strcmp(name, "all") == 0) return MD_OK;
    for (int k = 0; (stage = md_bench_stage(k)) != NULL; k++)
        if (strcmp(stage->name, name) == 0) return MD_OK;
    MdText known = {0};
    MdNearest nearest = md_nearest_begin(name);
    md_nearest_offer(&nearest, "all");
    for (int k = 0; (stage = md_bench_stage(k)) != NULL; k++) {
        md_nearest_offer(&nearest, stage->name);
        md_text_add(&known, ", %s", stage->name);
    }
    char *question = md_nearest_question(md_nearest_name(&nearest));
    MdStatus status =
        md_fail(errors, MD_ERROR_INPUT, "--bench %s: no such stage; allowed: all%s%s", name, known.text, question);
    free(question);
    free(known.text);
    return status;
}

/* --- the whole ----------------------------------------------------------------------------------------------------- */

/* A base that cannot be timed is a failure, too: there is nothing to compare with. (One that is refused is bad input.) */
static int count_failed(const MdBenchCases *cases) {
    const MdBenchState base = cases->rows[0].state;
    int n = base != MD_BENCH_TIMED && base != MD_BENCH_FAILED && base != MD_BENCH_REFUSED;
    for (int k = 0; k < cases->n; k++) n += cases->rows[k].state == MD_BENCH_FAILED;
    return n;
}

/* All stages that were asked for on one configuration; how many cases failed. */
static int run_configuration(MdRecord *r, const char *wanted, const char *configuration, const MdSystem *system,
                             MdJson *json) {
    const MdBenchStage *stage;
    int n_failed = 0;
    for (int k = 0; (stage = md_bench_stage(k)) != NULL; k++) {
        if (strcmp(wanted, "all") != 0 && strcmp(wanted, stage->name) != 0) continue;
        MdBenchCases cases = md_bench_cases(r, stage);
        md_bench_measure(r, stage, system, &cases);
        md_bench_print(r->log, stage, configuration, &cases);
        const MdBenchCase *base = &cases.rows[0];
        if (base->state == MD_BENCH_REFUSED)
            md_fail(r->errors, MD_ERROR_INPUT, "%s, %s: the deck's own setting: %s", stage->name, configuration,
                    base->reason);
        md_bench_write(json, stage, configuration, &cases);
        n_failed += count_failed(&cases);
        md_bench_cases_free(&cases);
    }
    return n_failed;
}

static MdJson *begin_json(const MdRecord *r, const char *stage, int64_t melt_steps) {
    MdJson *json = md_json_create();
    md_json_begin_object(json, NULL);
    md_json_text(json, "bench", stage);
    md_json_int(json, "n_atoms", r->plan.n_atoms);
    md_json_int(json, "melt_steps", melt_steps);
    md_json_text(json, "backend", r->ops->name);
    md_json_raw(json, "provenance", r->provenance);
    md_json_text(json, "effective_deck", r->effective_deck);
    md_json_begin_array(json, "cases");
    return json;
}

MdStatus md_bench_run(MdRecord *r, const char *stage, int64_t melt_steps) {
    if (melt_steps == MD_AUTO_INT) melt_steps = r->config->run_steps;
    MdSystem *ordered = md_system_create(r->deck, &r->plan, r->errors);
    if (!ordered || md_files_prepare(r->deck, &r->files, r->log, r->errors) != MD_OK) {
        md_system_destroy(ordered);
        return md_errors_status(r->errors);
    }
    double confidence;
    md_bench_interval(MD_BENCH_ROUNDS, &confidence);
    r->sensors = md_provenance_watch(&r->machine, r->config);
    md_provenance_compose(r);
    md_report_head(r);
    md_log(r->log,
           "bench     %s; each variant set in the deck's own setting (base); medians of %d rounds\n"
           "          and their %.1f %% intervals; base: us per call of the base in the same rounds\n"
           "          speed: that of the base is 1; =: not distinguishable; GB/s, GFLOP/s: model over time\n",
           stage, MD_BENCH_ROUNDS, 100 * confidence);
    if (md_variants_have(r->ops->variants(), MD_OPTION_launch_graph))
        md_log(r->log, "          parts of a step are issued one by one: launch.graph=off, launch.persistent=off;\n"
                       "          integrate: memory.allocation=once\n");
    MdJson *json = begin_json(r, stage, melt_steps);
    md_sensors_begin(r->sensors);
    int n_failed = run_configuration(r, stage, "ordered", ordered, json);
    MdSystem *melted = md_bench_melt(r, ordered, melt_steps);
    if (melted) {
        MdSystem *shuffled = md_bench_shuffle(r, melted);
        n_failed += run_configuration(r, stage, "melted", melted, json);
        n_failed += run_configuration(r, stage, "shuffled", shuffled, json);
        md_system_destroy(shuffled);
    }
    md_json_end_array(json);
    md_sensors_end(r->sensors);
    md_sensors_finish(r->sensors);
    md_provenance_write_loop(json, r);
    const bool passed = n_failed == 0 && melted && md_errors_status(r->errors) == MD_OK;
    md_json_text(json, "verdict", passed ? "PASSED" : "FAILED");
    md_json_end_object(json);
    md_json_save(json, r->files.json, r->errors);
    md_json_destroy(json);
    md_system_destroy(melted);
    md_system_destroy(ordered);
    md_log(r->log, "\n");
    md_provenance_log_loop(r);
    md_log(r->log, "\nverdict: %s\n", passed ? "PASSED" : "FAILED");
    if (n_failed > 0) md_fail(r->errors, MD_ERROR_PHYSICS, "%d of the timed variants failed their check", n_failed);
    return md_errors_status(r->errors);
}
