#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cpu/reference.h"

Judge judge_make(const MdSystem *system, const double *position, const double *velocity, const MdConfig *config) {
    Judge judge = {.system = system};
    judge.force = md_alloc((size_t)system->n_atoms * 3, sizeof(double), "reference forces");
    md_reference_forces(system, position, judge.force, &judge.sums);
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double mass = system->mass[system->type[i]];
        for (int a = 0; a < 3; a++) {
            double v = velocity[3 * i + a], f = judge.force[3 * i + a];
            judge.sums.kinetic += mass * v * v / 2;
            judge.sums.momentum[a] += mass * v;
            judge.sums.force_sq_mass += f * f / mass;
        }
        for (int k = 0; k < MD_N_TENSOR; k++)
            judge.sums.kinetic_tensor[k] +=
                mass * velocity[3 * i + MD_TENSOR_FIRST_AXIS(k)] * velocity[3 * i + MD_TENSOR_SECOND_AXIS(k)];
    }
    for (int k = 0; k < MD_N_TENSOR && config->analysis_pressure != MD_PRESSURE_TENSOR; k++)
        judge.sums.kinetic_tensor[k] = judge.sums.virial_tensor[k] = 0;
    judge.tolerance = tolerance_make(system, position, velocity, config);
    return judge;
}

void judge_free(Judge *judge) {
    md_free(judge->force);
    tolerance_free(&judge->tolerance);
}

static int is_off(const char *what, int64_t atom, double value, double expected, double tolerance, bool tell) {
    if (fabs(value - expected) <= tolerance) return 0;
    if (tell)
        printf("%s %lld: %.17g, reference %.17g, off by %.3g, allowed %.3g\n", what, (long long)atom, value, expected,
               fabs(value - expected), tolerance);
    return 1;
}

int judge_count_faults(const Judge *judge, const double *force, const MdSums *sums, bool tell) {
    const Tolerance *t = &judge->tolerance;
    int n = 0;
    for (int64_t k = 0; force && k < 3 * judge->system->n_atoms; k++)
        n += is_off("force on atom", k / 3, force[k], judge->force[k], t->force[k / 3], tell && n == 0);
    if (!sums) return n;
    const MdSums *expected = &judge->sums;
    n += is_off("pairs", 0, sums->pairs, expected->pairs, t->pairs, tell);
    n += is_off("potential", 0, sums->potential, expected->potential, t->potential, tell);
    n += is_off("truncation", 0, sums->truncation, expected->truncation, t->truncation, tell);
    n += is_off("virial", 0, sums->virial, expected->virial, t->virial, tell);
    n += is_off("kinetic", 0, sums->kinetic, expected->kinetic, t->kinetic, tell);
    n += is_off("force_sq_mass", 0, sums->force_sq_mass, expected->force_sq_mass, t->force_sq_mass, tell);
    for (int k = 0; k < MD_N_TENSOR; k++) {
        n += is_off("virial tensor", k, sums->virial_tensor[k], expected->virial_tensor[k], t->virial_tensor, tell);
        n += is_off("kinetic tensor", k, sums->kinetic_tensor[k], expected->kinetic_tensor[k], t->kinetic_tensor, tell);
    }
    for (int a = 0; a < 3; a++) n += is_off("momentum", a, sums->momentum[a], expected->momentum[a], t->momentum, tell);
    return n;
}

/* --- gathering between guards ------------------------------------------------------------------------------------- */

enum { GUARD_BYTES = 256 }; /* a store of a whole warp or vector past the end lands in it */
static const unsigned char guard_byte = 0xA5;

static void *guarded(size_t bytes) {
    unsigned char *block = md_alloc(bytes + 2 * GUARD_BYTES, 1, "guarded array");
    memset(block, guard_byte, bytes + 2 * GUARD_BYTES);
    return block + GUARD_BYTES;
}

static void check_guards(const void *array, size_t bytes) {
    const unsigned char *block = (const unsigned char *)array - GUARD_BYTES;
    int n_changed = 0;
    for (size_t k = 0; k < GUARD_BYTES; k++)
        n_changed += (block[k] != guard_byte) + (block[GUARD_BYTES + bytes + k] != guard_byte);
    CHECK(n_changed == 0);
}

static void free_guarded(void *array) {
    if (array) md_free((unsigned char *)array - GUARD_BYTES);
}

bool judge_gather(const WalkRun *run, const MdSystem *system, Gathered *gathered) {
    size_t n = (size_t)system->n_atoms * 3, reals = n * sizeof(double), ints = n * sizeof(int32_t);
    *gathered = (Gathered){guarded(reals), guarded(reals), guarded(reals), guarded(ints)};
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE,
                     .position = gathered->position,
                     .velocity = gathered->velocity,
                     .force = gathered->force,
                     .image = gathered->image};
    bool ok = walk_ok(run, run->ops->gather(run->context, &frame));
    check_guards(gathered->position, reals), check_guards(gathered->velocity, reals);
    check_guards(gathered->force, reals), check_guards(gathered->image, ints);
    /* In single precision the upper face itself may be what a place just below it rounds to. */
    int n_outside = 0;
    for (size_t k = 0; ok && k < n; k++)
        if (system->box.periodic[k % 3])
            n_outside += !(gathered->position[k] >= 0 && gathered->position[k] < system->box.length[k % 3]);
    CHECK(n_outside == 0);

    /* The same in single precision: each number rounded once, but for the upper face, which wraps to 0. */
    float *single[3] = {guarded(n * sizeof(float)), guarded(n * sizeof(float)), guarded(n * sizeof(float))};
    MdFrame narrow = {
        .precision = MD_FILE_PRECISION_SINGLE, .position = single[0], .velocity = single[1], .force = single[2]};
    ok = ok && walk_ok(run, run->ops->gather(run->context, &narrow));
    int n_differ = 0;
    for (size_t k = 0; ok && k < n; k++) {
        bool face = system->box.periodic[k % 3] && (float)gathered->position[k] >= (float)system->box.length[k % 3];
        n_differ += single[0][k] != (float)gathered->position[k] && !(face && single[0][k] == 0);
        n_differ += single[1][k] != (float)gathered->velocity[k];
        n_differ += single[2][k] != (float)gathered->force[k];
        n_outside +=
            system->box.periodic[k % 3] && !(single[0][k] >= 0 && (double)single[0][k] < system->box.length[k % 3]);
    }
    CHECK(n_differ == 0);
    CHECK(n_outside == 0);
    for (int k = 0; k < 3; k++) {
        check_guards(single[k], n * sizeof(float));
        free_guarded(single[k]);
    }
    return ok;
}

void judge_gathered_free(Gathered *gathered) {
    free_guarded(gathered->position), free_guarded(gathered->velocity);
    free_guarded(gathered->force), free_guarded(gathered->image);
}

bool judge_run(const WalkRun *run, const MdSystem *system, bool with_sums) {
    Gathered gathered;
    MdSums sums;
    bool ok = judge_gather(run, system, &gathered) && walk_ok(run, run->ops->sum(run->context, &sums));
    if (ok) {
        Judge judge = judge_make(system, gathered.position, gathered.velocity, &run->config);
        ok = CHECK(judge_count_faults(&judge, gathered.force, with_sums ? &sums : NULL, true) == 0);
        judge_free(&judge);
    }
    judge_gathered_free(&gathered);
    return ok;
}

double *judge_places(const MdSystem *system, const MdConfig *config, const Gathered *now, int64_t age) {
    const double step = config->run_timestep, ahead = 0.5 * (double)age * step, most = 0.9 * config->neighbor_skin / 2;
    double *place = md_alloc((size_t)(3 * system->n_atoms), sizeof *place, "places");
    memcpy(place, now->position, (size_t)(3 * system->n_atoms) * sizeof *place);
    for (int64_t i = 0; config->neighbor_predict == MD_PREDICT_VELOCITY && i < system->n_atoms; i++) {
        double way[3], length = 0;
        for (int a = 0; a < 3; a++) {
            const double kick = 0.5 * step * now->force[3 * i + a] / system->mass[system->type[i]];
            way[a] = ahead * (now->velocity[3 * i + a] - kick);
            length = hypot(length, way[a]);
        }
        for (int a = 0; a < 3; a++) place[3 * i + a] += length > most ? way[a] * most / length : way[a];
    }
    return place;
}
