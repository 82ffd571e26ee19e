#include "microbench/stages/judge.h"

#include <stdio.h>

#include "integrate/verlet.h"

/* Steps whose conservation is judged, and after which forces are compared again: enough that a wrong drift, kick or sum
 * shows far above the limits, and that a lattice, whose forces are all zero, is one no more. */
enum { MOTION_STEPS = 10 };

static MdStatus add_row(const MdBackendOps *ops, void *context, const MdSystem *system, const MdConfig *config,
                        int64_t step, MdHistory *history) {
    MdSums sums;
    MdStatus status = ops->sum(context, &sums);
    if (status != MD_OK) return status;
    MdThermo row = md_thermo_from_sums(&sums, &system->box, system->n_atoms,
                                       md_config_degrees(config, system->n_atoms, system->box.dimension), step,
                                       config->run_timestep, 0);
    md_history_add(history, &row);
    return MD_OK;
}

/* Some steps, the last judged on a list that was just built, as a run judges its end. */
static MdStatus check_motion(MdVerification *v, const MdBackendOps *ops, void *context, const MdSystem *system,
                             const MdConfig *config) {
    MdHistory history = {0};
    MdStatus status = add_row(ops, context, system, config, 0, &history);
    if (status == MD_OK) status = ops->advance(context, 1, MOTION_STEPS, false);
    if (status == MD_OK) status = ops->rebuild(context);
    if (status == MD_OK) status = md_verify_forces(v, ops, context, system, config, MOTION_STEPS);
    if (status == MD_OK) status = add_row(ops, context, system, config, MOTION_STEPS, &history);
    if (status == MD_OK) status = md_verify_motion(v, ops, context, system, config, MOTION_STEPS);
    if (status == MD_OK) md_verify_conservation(v, &history, &history.rows[history.n - 1], system, config);
    v->fault = ops->fault(context);
    md_history_free(&history);
    return status;
}

/* The first check that failed, in words. */
static void tell_failure(const MdVerification *v, char *text, size_t size) {
    if (v->fault.step >= 0) {
        snprintf(text, size, "atom %d went astray in step %lld", v->fault.id, (long long)v->fault.step);
        return;
    }
    for (int k = 0; k < v->n_checks; k++)
        if (!md_check_passed(&v->checks[k])) {
            snprintf(text, size, "%s: %.3g of %.3g", v->checks[k].name, v->checks[k].value, v->checks[k].limit);
            return;
        }
}

void md_bench_judge(const MdBackendOps *ops, const MdSystem *system, MdBenchCase *c) {
    MdErrors *errors = md_errors_create();
    MdVerification v = {.fault = {.step = -1}};
    void *context = NULL;
    MdStatus status = ops->create(&context, &c->config, &c->asked, system, errors);
    if (status == MD_OK) status = md_verlet_start(ops, context, true);
    if (status == MD_OK) status = md_verify_forces(&v, ops, context, system, &c->config, 0);
    if (status == MD_OK) status = check_motion(&v, ops, context, system, &c->config);
    v.complete = true;
    const bool passed = status == MD_OK && md_verify_verdict(&v) == MD_VERDICT_PASSED;
    c->state = passed ? MD_BENCH_PASSED : status == MD_ERROR_INPUT ? MD_BENCH_REFUSED : MD_BENCH_FAILED;
    if (status != MD_OK)
        snprintf(c->reason, sizeof c->reason, "%s",
                 md_errors_count(errors) ? md_errors_text(errors, 0) : "the backend stopped");
    else if (c->state == MD_BENCH_FAILED) tell_failure(&v, c->reason, sizeof c->reason);
    if (context) ops->destroy(context);
    md_errors_destroy(errors);
}
