/* Particles on their way in and out of the backend, by id. */
#include <math.h>
#include <string.h>

#include "cpu/context.h"

/* Particles per volume; along an open axis of the extent that they have, but no less than the cutoff. */
double md_cpu_density(const MdSystem *system) {
    double volume = 1;
    for (int a = 0; a < system->box.dimension; a++) {
        double ends[2] = {-INFINITY, -INFINITY}; /* -least, most */
        for (int64_t i = 0; i < system->n_own; i++) {
            ends[0] = fmax(ends[0], -system->position[3 * i + a]);
            ends[1] = fmax(ends[1], system->position[3 * i + a]);
        }
        md_comm_max(system->comm, ends, 2);
        volume *=
            system->box.periodic[a] ? system->box.length[a] : fmax(ends[0] + ends[1], system->potential.cutoff_max);
    }
    return (double)system->n_atoms / volume;
}

void md_cpu_copy_particles(MdCpuContext *c, const MdSystem *system) {
#define FILL(name, number, components, what, traits, cuda, when) md_cpu_fill_column(c, MD_COLUMN_##name, system->name);
    MD_SYSTEM_COLUMNS(FILL)
#undef FILL
    for (int64_t i = 0; i < c->n_atoms; i++) c->id[i] = (int32_t)(system->first + i);
}

static void put(void *array, int precision, int64_t at, double value) {
    if (precision == MD_FILE_PRECISION_SINGLE) ((float *)array)[at] = (float)value;
    else ((double *)array)[at] = value;
}

/* Wraps a position as the frame will show it: in single precision a hair below the length rounds up to it. */
static double wrap_position(double x, double length, int precision, int32_t *image) {
    double turns = floor(x / length);
    if (!(fabs(turns) < 1e9)) turns = 0; /* blown up: shown as it is */
    x -= turns * length;
    if (x < 0) x = 0;
    if (x >= length || (precision == MD_FILE_PRECISION_SINGLE && (float)x >= (float)length)) {
        x = 0;
        turns += 1;
    }
    *image += (int32_t)turns;
    return x;
}

/* Each particle has its own rows. */
void md_cpu_gather(const MdCpuContext *c, const MdFrame *frame, int32_t *ids) {
    if (ids) memcpy(ids, c->id, (size_t)c->n_atoms * sizeof *ids);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < c->n_atoms; i++)
        for (int a = 0; a < 3; a++) {
            const int64_t at = 3 * (ids ? i : (int64_t)c->id[i]) + a;
            int32_t image = c->image[a][i];
            double x = md_cpu_state(c, c->position, a, i);
            if (c->box.periodic[a]) x = wrap_position(x, c->box.length[a], frame->precision, &image);
            if (frame->position) put(frame->position, frame->precision, at, x);
            if (frame->velocity) put(frame->velocity, frame->precision, at, md_cpu_state(c, c->velocity, a, i));
            if (frame->force)
                put(frame->force, frame->precision, at,
                    c->pair_double ? ((double *)c->force[a])[i] : (double)((float *)c->force[a])[i]);
            if (frame->image) frame->image[at] = image;
        }
}
