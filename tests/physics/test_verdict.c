/* Faults that are planted turn the verdict red, in a crystal at rest as well, whose forces cancel and whose momentum is that of
 * rounding: a pair whose force is lost on one side, a force of the wrong sign, a place that is not the one given, an atom that does not
 * move in a step, or too far. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "report/tolerance.h"
#include "report/verify.h"
#include "state.h"
#include "walk.h"

typedef enum Plant { NOTHING, PAIR_LOST, FORCE_NEGATED, PLACE_MOVED, STEP_LOST, STEP_TOO_LONG, N_PLANTS } Plant;
static const char *const plant_names[N_PLANTS] = {"nothing",       "a pair lost on one side", "a force negated",
                                                  "a place moved", "an atom left behind",     "an atom moved too far"};

enum { ATOM = 77 };

/* What stands between the backend and its judge. */
static struct {
    const MdBackendOps *ops;
    const MdSystem *system;
    Plant plant;
    double before[3]; /* of the atom, before the step */
} planted;

/* The force of its nearest neighbour on the atom. */
static void force_of_nearest(double force[3]) {
    const MdSystem *system = planted.system;
    double least = INFINITY;
    for (int64_t j = 0; j < system->n_atoms; j++) {
        double d[3], r_sq = 0;
        for (int a = 0; a < 3; a++) {
            d[a] = md_nearest_image_d(system->position[3 * ATOM + a] - system->position[3 * j + a],
                                      system->box.length[a], md_box_inverse(&system->box, a));
            r_sq += d[a] * d[a];
        }
        if (j == ATOM || r_sq >= least) continue;
        least = r_sq;
        for (int a = 0; a < 3; a++) force[a] = md_pair_force(system->potential.form, &system->potential.pair[0], r_sq) * d[a];
    }
}

static MdStatus gather_planted(void *context, MdFrame *frame) {
    const MdStatus status = planted.ops->gather(context, frame);
    double *force = frame->force, *position = frame->position, lost[3];
    force_of_nearest(lost);
    for (int a = 0; force && a < 3; a++) {
        if (planted.plant == PAIR_LOST) force[3 * ATOM + a] -= lost[a];
        if (planted.plant == FORCE_NEGATED) force[3 * ATOM + a] *= -1;
    }
    /* By more than it is rounded, and far less than what shows in the energy of single precision. */
    if (position && planted.plant == PLACE_MOVED) position[3 * ATOM] += 1e-5;
    if (position && frame->velocity) memcpy(planted.before, position + 3 * ATOM, sizeof planted.before);
    for (int a = 0; position && !frame->velocity && !force && a < 3; a++) { /* after the step */
        double *x = &position[3 * ATOM + a];
        if (planted.plant == STEP_LOST) *x = planted.before[a];
        if (planted.plant == STEP_TOO_LONG) *x += 0.01 * (*x - planted.before[a]);
    }
    return status;
}

/* Verdict of the start, and of a step from there. */
static MdVerdict judge(const MdBackendOps *ops, MdConfig *config, const MdSystem *system, Plant plant,
                       MdVerification *verification) {
    WalkRun run;
    MdBackendOps between = *ops;
    between.gather = gather_planted;
    planted.ops = ops;
    planted.system = system;
    planted.plant = plant;
    *verification = (MdVerification){.fault.step = -1, .complete = true};
    if (!walk_create(&run, ops, config, system)) return MD_VERDICT_NOT_CHECKED;
    CHECK(walk_prepare(&run) &&
          walk_ok(&run, md_verify_forces(verification, &between, run.context, system, &run.config, 0)) &&
          walk_ok(&run, md_verify_motion(verification, &between, run.context, system, &run.config, 1)));
    *config = run.config;
    walk_destroy(&run);
    return md_verify_verdict(verification);
}

/* The momentum, per atom, of a force that was lost on one side in one step, beside the limit of a crystal that is at rest for so
 * many steps. */
static void test_momentum(const MdConfig *config, const MdSystem *system, const MdVerification *start) {
    double lost[3], size_sq = 0;
    force_of_nearest(lost);
    for (int a = 0; a < 3; a++) size_sq += lost[a] * lost[a];
    for (int is_lost = 0; is_lost <= 1; is_lost++) {
        MdVerification verification = *start;
        MdHistory history = {0};
        const MdThermo first = {0};
        const double noise = 0.1 * md_tolerance_unit(config->run_precision);
        const MdThermo end = {.step = 1,
                              .time = config->run_timestep,
                              .temperature = noise * noise,
                              .momentum =
                                  is_lost ? sqrt(size_sq) * config->run_timestep / (double)system->n_atoms : noise};
        md_history_add(&history, &first);
        md_verify_conservation(&verification, &history, &end, system, config);
        CHECK(md_verify_verdict(&verification) == (is_lost ? MD_VERDICT_FAILED : MD_VERDICT_PASSED));
        md_history_free(&history);
    }
}

static void test(const MdBackendOps *ops, const char *kind, const char *const *words) {
    static const int precisions[] = {MD_PRECISION_SINGLE, MD_PRECISION_MIXED, MD_PRECISION_DOUBLE};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const bool at_rest = strcmp(kind, "crystal") == 0;
    for (int p = 0; p < 3; p++)
        for (int plant = 0; plant < N_PLANTS; plant++) {
            MdConfig config = *md_deck_config(deck);
            MdVerification verification;
            /* What is wrong with a force or a step of 0 may be seen by its rounding. */
            if (at_rest && plant != NOTHING && plant != PAIR_LOST && plant != PLACE_MOVED) continue;
            config.run_precision = precisions[p];
            check_context("%s, %s, precision %d: %s", ops->name, kind, precisions[p], plant_names[plant]);
            const MdVerdict verdict = judge(ops, &config, system, (Plant)plant, &verification);
            CHECK(verdict == (plant == NOTHING ? MD_VERDICT_PASSED : MD_VERDICT_FAILED));
            if (at_rest && plant == NOTHING) test_momentum(&config, system, &verification);
        }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

int main(void) {
    const char *crystal[] = {"system.density=0.8442", "system.cells=5", "system.temperature=0", NULL};
    const char *gas[] = {"system.start=random", "system.atoms=500", "system.density=0.7", NULL};
    const MdConfig config = state_config();
    for (const MdBackendOps *ops = NULL; (ops = walk_backend(ops, &config)) != NULL;) {
        test(ops, "crystal", crystal);
        test(ops, "random places", gas);
    }
    return check_finish();
}
