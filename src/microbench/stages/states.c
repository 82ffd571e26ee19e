#include "microbench/stages/states.h"

#include <string.h>

#include "base/memory.h"
#include "integrate/thermostat.h"
#include "integrate/verlet.h"
#include "system/random.h"

static MdSystem *copy_system(const MdSystem *system) {
    const size_t n = (size_t)system->n_atoms;
    MdSystem *copy = md_alloc(1, sizeof *copy, "a configuration");
    *copy = *system;
    copy->position = md_alloc(3 * n, sizeof(double), "positions");
    copy->velocity = md_alloc(3 * n, sizeof(double), "velocities");
    copy->image = md_alloc(3 * n, sizeof(int32_t), "periodic images");
    copy->type = md_alloc(n, sizeof(int32_t), "types");
    memcpy(copy->position, system->position, 3 * n * sizeof(double));
    memcpy(copy->velocity, system->velocity, 3 * n * sizeof(double));
    memcpy(copy->image, system->image, 3 * n * sizeof(int32_t));
    memcpy(copy->type, system->type, n * sizeof(int32_t));
    return copy;
}

MdSystem *md_bench_melt(const MdRecord *r, const MdSystem *start, int64_t n_steps) {
    MdSystem *melted = copy_system(start);
    MdThermostat thermostat = md_thermostat_make(r->config, &r->plan);
    void *context = NULL;
    md_thermostat_weigh(&thermostat, start);
    MdStatus status = r->ops->create(&context, r->config, r->asked, start, r->errors);
    if (status == MD_OK) status = md_verlet_start(r->ops, context, false);
    for (int64_t step = 0, next; status == MD_OK && step < n_steps; step = next) {
        next = md_thermostat_next(&thermostat, step);
        if (next > n_steps) next = n_steps;
        status = r->ops->advance(context, step + 1, next - step, false);
        if (status == MD_OK) status = md_thermostat_apply(&thermostat, r->ops, context, next);
    }
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE,
                     .position = melted->position,
                     .velocity = melted->velocity,
                     .image = melted->image};
    if (status == MD_OK) status = r->ops->gather(context, &frame);
    if (status == MD_OK && r->ops->fault(context).step >= 0)
        status =
            md_fail(r->errors, MD_ERROR_PHYSICS, "the run to the melted configuration became unstable at step %lld",
                    (long long)r->ops->fault(context).step);
    if (context) r->ops->destroy(context);
    if (status == MD_OK) return melted;
    md_system_destroy(melted);
    return NULL;
}

MdSystem *md_bench_shuffle(const MdRecord *r, const MdSystem *system) {
    MdSystem *shuffled = copy_system(system);
    MdRandom *random = md_random_create(NULL, MD_GENERATOR_PHILOX, 1, MD_STREAM_SHUFFLE, r->errors);
    for (int64_t i = system->n_atoms - 1; i > 0; i--) { /* Fisher and Yates */
        double u;
        md_random_uniform(random, &u, 1);
        const int64_t j = (int64_t)((1 - u) * (double)(i + 1));
        for (int a = 0; a < 3; a++) {
            const double x = shuffled->position[3 * i + a], v = shuffled->velocity[3 * i + a];
            const int32_t image = shuffled->image[3 * i + a];
            shuffled->position[3 * i + a] = shuffled->position[3 * j + a];
            shuffled->velocity[3 * i + a] = shuffled->velocity[3 * j + a];
            shuffled->image[3 * i + a] = shuffled->image[3 * j + a];
            shuffled->position[3 * j + a] = x;
            shuffled->velocity[3 * j + a] = v;
            shuffled->image[3 * j + a] = image;
        }
        const int32_t type = shuffled->type[i];
        shuffled->type[i] = shuffled->type[j];
        shuffled->type[j] = type;
    }
    md_random_destroy(random, NULL);
    return shuffled;
}
