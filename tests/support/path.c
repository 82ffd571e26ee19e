#include "path.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "cpu/reference.h"

static void wrap(const MdSystem *system, const double *position, double *wrapped) {
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) {
        double length = system->box.length[k % 3];
        wrapped[k] = position[k];
        if (!system->box.periodic[k % 3]) continue;
        wrapped[k] -= floor(position[k] / length) * length;
        if (wrapped[k] >= length) wrapped[k] = 0;
    }
}

/* The noise of an atom in the drift to a step. */
static void draw(const MdBathAtoms *bath, int precision, int64_t step, int64_t i, double normal[3]) {
    uint32_t words[4];
    float single[3];
    md_noise_words_of_atom(bath->keys, (uint64_t)step, (uint32_t)i, MD_NOISE_NORMAL, words);
    md_noise_normals_d(words, normal);
    md_noise_normals_f(words, single);
    for (int a = 0; a < 3 && precision != MD_PRECISION_DOUBLE; a++) normal[a] = (double)single[a];
}

/* BAOAB: friction and noise between two half drifts. */
static void drift_with_bath(const MdSystem *system, double dt, const MdBathAtoms *bath, int precision, int64_t step,
                            double *position, double *velocity, double heat[2]) {
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double normal[3], before = 0, after = 0, *x = position + 3 * i, *v = velocity + 3 * i;
        const double mass = system->mass[system->type[i]],
                     width = sqrt(bath->drawn * md_ramp_at(&bath->target, step) / mass);
        draw(bath, precision, step, i, normal);
        const bool acts = step <= bath->last_action &&
                          (bath->share == 1 || md_noise_collides(bath->keys, (uint64_t)step, (uint32_t)i, bath->share));
        for (int a = 0; a < system->box.dimension; a++) {
            before += mass * v[a] * v[a] / 2;
            x[a] += v[a] * dt / 2;
            if (acts) v[a] = bath->keep * v[a] + width * normal[a];
            x[a] += v[a] * dt / 2;
            after += mass * v[a] * v[a] / 2;
        }
        heat[0] += after - before;
        heat[1] += fabs(after - before);
    }
}

/* One way: position and velocity come with the start and leave with the end. */
static void follow(const MdSystem *system, double dt, int n_steps, const MdBathAtoms *bath, int precision,
                   double *position, double *velocity, double heat[2]) {
    const int64_t n = 3 * system->n_atoms;
    double *force = md_alloc((size_t)n, sizeof *force, "forces on a path");
    double *wrapped = md_alloc((size_t)n, sizeof *wrapped, "places on a path");
    MdSums sums;
    for (int step = 0; step <= n_steps; step++) {
        wrap(system, position, wrapped);
        md_reference_forces(system, wrapped, force, &sums);
        for (int64_t k = 0; k < n; k++) {
            double kick = force[k] * dt / 2 / system->mass[system->type[k / 3]];
            if (step > 0) velocity[k] += kick;
            if (step == n_steps) continue;
            velocity[k] += kick;
            if (!bath) position[k] += velocity[k] * dt;
        }
        if (bath && step < n_steps) drift_with_bath(system, dt, bath, precision, step + 1, position, velocity, heat);
    }
    md_free(force);
    md_free(wrapped);
}

static double *begin(const double *values, double factor, int64_t n) {
    double *copy = md_alloc((size_t)n, sizeof *copy, "a path");
    for (int64_t k = 0; k < n; k++) copy[k] = factor * values[k];
    return copy;
}

Path path_follow(const MdSystem *system, double factor, double dt, int n_steps, const MdBathAtoms *bath,
                 int precision) {
    const int64_t n = 3 * system->n_atoms;
    const double off = 1e-7; /* small beside the way on which forces change, large beside rounding */
    Path path = {.system = system, .dt = dt, .n_steps = n_steps, .growth = {1, 0}};
    path.position = begin(system->position, 1, n), path.velocity = begin(system->velocity, factor, n);
    double heat[2] = {0}, other_heat[2] = {0};
    follow(system, dt, n_steps, bath, precision, path.position, path.velocity, heat);
    path.heat = heat[0], path.heat_size = heat[1];
    double *position = begin(system->position, 1, n), *velocity = begin(system->velocity, factor, n);
    for (int64_t k = 0; k < n; k++) {
        if (k % 3 < system->box.dimension) position[k] += (k * 7 / 3) % 2 ? off : -off;
        path.moved = fmax(path.moved, fabs(path.position[k] - system->position[k]));
    }
    follow(system, dt, n_steps, bath, precision, position, velocity, other_heat);
    for (int64_t k = 0; k < n; k++) {
        path.growth[0] = fmax(path.growth[0], fabs(position[k] - path.position[k]) / off);
        path.growth[1] = fmax(path.growth[1], fabs(velocity[k] - path.velocity[k]) / off);
    }
    md_free(position);
    md_free(velocity);
    for (int k = 0; k < system->potential.n_types * system->potential.n_types; k++) {
        const MdPair_d *pair = &system->potential.pair[k];
        path.jump = fmax(path.jump, fabs(md_pair_force(system->potential.form, pair, pair->cutoff_sq) * pair->cutoff));
    }
    return path;
}

void path_free(Path *path) {
    md_free(path->position);
    md_free(path->velocity);
}

/* Each step may be off, in places by two roundings (the sum, the wrap), in velocities by four of its own and by
 * the tolerance of the forces at either end of the way, whichever is larger, twice that, since atoms may be nearer in
 * between. One pair of an atom may cross the cutoff a step sooner or later. An error of a velocity is one of a place that is
 * as large as what it makes of it until the end. */
bool path_check(const Path *path, const Judge *start, const MdConfig *config, const Gathered *gathered) {
    const MdSystem *system = path->system;
    const int64_t n = system->n_atoms;
    double *wrapped = begin(path->position, 1, 3 * n), lightest = 1e300, force_error = 0, speed = 0;
    wrap(system, path->position, wrapped);
    Tolerance end = tolerance_make(system, wrapped, path->velocity, config);
    for (int64_t i = 0; i < n; i++) {
        lightest = fmin(lightest, system->mass[system->type[i]]);
        force_error = fmax(force_error, 2 * fmax(end.force[i], start->tolerance.force[i]));
        for (int a = 0; a < 3; a++) speed = fmax(speed, fabs(path->velocity[3 * i + a]));
    }
    const double steps = path->n_steps + 1;
    const double u = tolerance_place_roundoff(config->run_precision) + DBL_EPSILON / 2;
    const double of_speed = tolerance_velocity_roundoff(config->run_precision) + DBL_EPSILON / 2;
    const double place = steps * 2 * u * tolerance_extent(system, path->position);
    const double kick =
        steps * (4 * of_speed * speed + path->dt / lightest * force_error) + path->dt / lightest * path->jump;
    const double error = place + kick * path->dt * steps;
    const double allowed[2] = {path->growth[0] * error, path->growth[1] * error + kick};
    bool ok = CHECK(allowed[0] < 0.05 * path->moved); /* else it says nothing */
    for (int64_t k = 0; ok && k < 3 * n; k++) {
        double length = system->box.periodic[k % 3] ? system->box.length[k % 3] : 0;
        double start_image = system->image[k] * length;
        ok = CHECK_NEAR(gathered->position[k] + gathered->image[k] * length - start_image, path->position[k],
                        allowed[0]) &&
             CHECK_NEAR(gathered->velocity[k], path->velocity[k], allowed[1]);
    }
    tolerance_free(&end);
    md_free(wrapped);
    return ok;
}
