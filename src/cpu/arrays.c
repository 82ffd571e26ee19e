/* Arrays of the cpu backend: one function makes them all, and, with `counting` set, only adds up their sizes; so the
 * estimate cannot differ from what is taken. */
#include "base/memory.h"
#include "cpu/context.h"

/* Room for a number of atoms: a fifth and sixteen above the mean. Rows of a dense fluid stay below, those of a thin gas
 * too. */
static int64_t room_for(const MdCpuContext *c, double mean) {
    const double room = 1.2 * mean + 16;
    return room < (double)c->n_atoms ? (int64_t)room : c->n_atoms;
}

static int64_t first_capacity(const MdCpuContext *c, const MdConfig *config, double density) {
    const double range = c->cutoff + c->skin, pi = 3.14159265358979323846;
    const double sphere = c->box.dimension == 2 ? pi * range * range : 4 * pi / 3 * range * range * range;
    if (c->kernel != MD_KERNEL_LIST) return 0;
    if (config->neighbor_capacity != MD_AUTO_INT) return config->neighbor_capacity;
    return room_for(c, c->list == MD_LIST_HALF ? density * sphere / 2 : density * sphere);
}

static int64_t first_around(const MdCpuContext *c, double density) {
    const double range = c->cutoff + c->skin, width = 2 + 1.0 / MD_CPU_REACH;
    /* The cells around and that in their midst, as they are in a long box; those of a short one are up to half wider. */
    const double cells = c->box.dimension == 2 ? 3 * width * range * range : 9 * width * range * range * range;
    return c->kernel == MD_KERNEL_CELL ? room_for(c, density * cells) : 0;
}

/* X(array, entries, bytes of one, name) */
#define FORCE_ARRAYS(X)                                                                                                \
    X(force[0], c->n_padded, real, "forces")                                                                           \
    X(force[1], c->n_padded, real, "forces")                                                                           \
    X(force[2], c->n_padded, real, "forces")
#define REBUILD_ARRAYS(X)                                                                                              \
    X(candidate[0], n_slots, step, "positions by cell")                                                                \
    X(candidate[1], n_slots, step, "positions by cell")                                                                \
    X(candidate[2], n_slots, step, "positions by cell")                                                                \
    X(cell, c->n_places, word, "cells of atoms")                                                                       \
    X(slot_of, c->n_padded, word, "slots of atoms")                                                                    \
    X(scratch_word, c->n_places, word, "scratch")                                                                      \
    X(scratch_double, c->state_double ? c->n_padded : 0, sizeof(double), "scratch")                                    \
    X(rank, n_ranked, word, "order of cells")                                                                          \
    X(ranked, n_ranked, sizeof(MdCpuRanked), "order of cells")                                                         \
    X(buffers, md_cpu_buffer_entries(c), word, "row buffers")
#define TAKE(array, count, size, what)    c->array = md_cpu_take(c, count, size, what);
#define RELEASE(array, count, size, what) c->array = md_cpu_release(c, c->array, count, size);

void md_cpu_take_forces(MdCpuContext *c) {
    const size_t real = c->pair_double ? sizeof(double) : sizeof(float);
    FORCE_ARRAYS(TAKE)
}

void md_cpu_release_forces(MdCpuContext *c) {
    const size_t real = c->pair_double ? sizeof(double) : sizeof(float);
    FORCE_ARRAYS(RELEASE)
}

static int64_t count_ranked(const MdCpuContext *c) {
    return c->sort == MD_SORT_MORTON || c->sort == MD_SORT_HILBERT ? md_cpu_cells_limit(c->n_atoms) : 0;
}

void md_cpu_take_rebuild(MdCpuContext *c) {
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t), word = sizeof(int32_t);
    const int64_t n_slots = c->kernel == MD_KERNEL_LIST ? c->n_places : 0, n_ranked = count_ranked(c);
    REBUILD_ARRAYS(TAKE)
    c->ranked_grid = (MdCpuGrid){.n = {0, 0, 0}};
}

void md_cpu_release_rebuild(MdCpuContext *c) {
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t), word = sizeof(int32_t);
    const int64_t n_slots = c->kernel == MD_KERNEL_LIST ? c->n_places : 0, n_ranked = count_ranked(c);
    REBUILD_ARRAYS(RELEASE)
}

void md_cpu_allocate(MdCpuContext *c, const MdConfig *config, double density) {
    const size_t state = c->state_double ? sizeof(double) : sizeof(float);
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t), word = sizeof(int32_t);
    const int64_t n = c->n_padded, n_rows = c->kernel == MD_KERNEL_LIST ? n : 0;
    for (int a = 0; a < 3; a++) {
        c->position[a] = md_cpu_take(c, n, state, "positions");
        c->velocity[a] = md_cpu_take(c, n, state, "velocities");
        c->built_at[a] = md_cpu_take(c, n, state, "places of the last build");
        c->image[a] = md_cpu_take(c, c->n_places, word, "images");
    }
    c->place = md_cpu_take(c, c->n_places, (c->layout == MD_LAYOUT_AOS ? 3 : 4) * step, "positions for the pair loops");
    c->type = md_cpu_take(c, c->n_places, word, "types");
    c->id = md_cpu_take(c, c->n_places, word, "ids");
    c->cell_start = md_cpu_take(c, md_cpu_cells_limit(c->n_atoms) + 1, word, "cells");
    c->atom_in = md_cpu_take(c, c->n_places, word, "atoms of slots");
    c->count = md_cpu_take(c, n_rows, word, "row lengths");
    c->crosses = md_cpu_take(c, n_rows / MD_CPU_SLICE, 1, "slice marks");
    c->partial = md_cpu_take(c, c->n_blocks, sizeof *c->partial, "sums of blocks");
    md_cpu_allocate_list(c, first_capacity(c, config, density));
    if (c->kernel == MD_KERNEL_CELL) md_cpu_allocate_around(c, first_around(c, density));
    if (c->per_call && !c->counting) return; /* the estimate is that of the moment when they are all there */
    md_cpu_take_forces(c);
    md_cpu_take_rebuild(c);
}

void md_cpu_free(MdCpuContext *c) {
    md_cpu_output_free(c);
    md_cpu_release_forces(c);
    md_cpu_release_rebuild(c);
    for (int a = 0; a < 3; a++) {
        md_free(c->position[a]);
        md_free(c->velocity[a]);
        md_free(c->built_at[a]);
        md_free(c->image[a]);
    }
    md_free(c->place);
    md_free(c->type);
    md_free(c->id);
    md_free(c->cell_start);
    md_free(c->atom_in);
    md_free(c->count);
    md_free(c->crosses);
    md_free(c->partial);
    md_free(c->entries);
    md_free(c->around);
    md_free(c->around_atoms);
    md_free(c);
}
