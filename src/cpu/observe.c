/* Samples of an analysis (physics/observe.h): sums over the own atoms, each thread its own. */
#include <string.h>

#include "base/memory.h"
#include "cpu/context.h"
#include "physics/observe.h"

/* The square of the displacement; at an origin 0. */
static double displacement_of(MdCpuContext *c, int64_t i, bool is_origin) {
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        const double now = md_unwrapped(md_cpu_state(c, c->position, a, i), c->image[a][i], c->box.length[a]);
        if (is_origin) c->msd_origin[a][i] = now;
        sum += (now - c->msd_origin[a][i]) * (now - c->msd_origin[a][i]);
    }
    return sum;
}

static double velocities_of(MdCpuContext *c, int64_t i, bool is_origin) {
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        const double now = md_cpu_state(c, c->velocity, a, i);
        double *wide = (double *)c->vacf_origin[a] + i;
        float *narrow = (float *)c->vacf_origin[a] + i;
        if (is_origin && c->pair_double) *wide = now;
        else if (is_origin) *narrow = (float)now;
        sum += now * (c->pair_double ? *wide : (double)*narrow);
    }
    return sum;
}

static void observe_atom(MdCpuContext *c, int64_t i, const MdObservation *observation, const double *shift,
                         MdSplitSum *sums) {
    const int n_types = c->potential.n_types, type = c->type[i];
    if (observation->quantities >> MD_OBSERVE_DISPLACEMENT & 1)
        md_split_add(&sums[MD_OBSERVE_DISPLACEMENT * n_types + type],
                     displacement_of(c, i, observation->origins >> MD_OBSERVE_DISPLACEMENT & 1), shift);
    if (observation->quantities >> MD_OBSERVE_VELOCITY & 1)
        md_split_add(&sums[MD_OBSERVE_VELOCITY * n_types + type],
                     velocities_of(c, i, observation->origins >> MD_OBSERVE_VELOCITY & 1), shift);
}

void md_cpu_observe(MdCpuContext *c, const MdObservation *observation) {
    double shift[MD_SPLIT_PARTS];
    const int n_sums = MD_OBSERVE_N * c->potential.n_types;
    MdSplitSum *row = c->observed + (int64_t)observation->row * n_sums;
    md_split_shifts(md_split_bits(c->n_all), MD_OBSERVE_SIZE, shift);
    memset(row, 0, (size_t)n_sums * sizeof *row);
#pragma omp parallel num_threads(c->n_threads)
    {
        MdSplitSum own[MD_OBSERVE_N * MD_MAX_TYPES] = {{{0}}};
#pragma omp for schedule(static)
        for (int64_t i = 0; i < c->n_atoms; i++) observe_atom(c, i, observation, shift, own);
#pragma omp critical
        for (int k = 0; k < n_sums * MD_SPLIT_PARTS; k++)
            row[k / MD_SPLIT_PARTS].part[k % MD_SPLIT_PARTS] += own[k / MD_SPLIT_PARTS].part[k % MD_SPLIT_PARTS];
    }
}
