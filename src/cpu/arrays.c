/* Arrays of the cpu backend: one function makes them all, and, with `counting` set, only adds up their sizes; so the
 * estimate cannot differ from the allocation. */
#include <string.h>

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

/* X(array, entries, bytes of one, name): besides those of the columns. Arrays of atoms have n_places entries, so that scratch can replace
 * any of them. */
#define KEPT_ARRAYS(X)                                                                                                 \
    X(place, c->n_places, place, "positions for the pair loops")                                                       \
    X(atom_in, c->n_places, word, "atoms of slots")                                                                    \
    X(table, md_cpu_table_size(&c->potential), step, "potential tables")                                               \
    X(slope, md_potential_embeds(&c->potential) ? c->n_places : 0, step, "slopes of densities")                        \
    X(count, c->kernel == MD_KERNEL_LIST ? c->atom_room : 0, word, "row lengths")                                      \
    X(crosses, c->kernel == MD_KERNEL_LIST ? c->atom_room / MD_CPU_SLICE : 0, 1, "slice marks")                        \
    X(block_order, c->atom_room / MD_CPU_BLOCK, word, "order of blocks")                                               \
    X(partial, c->atom_room / MD_CPU_BLOCK, sizeof *c->partial, "sums of blocks")                                      \
    X(observed, count_samples(c), sizeof *c->observed, "samples")                                                      \
    X(counted, MD_COUNTED_ROWS *(int64_t)md_pair_count_size(&c->pair_count), sizeof *c->counted, "pair counts")        \
    X(pair_atoms, c->pair_count.n_bins ? c->n_places : 0, sizeof *c->pair_atoms, "atoms of pairs")                     \
    X(pair_start, c->pair_count.n_bins ? md_pair_count_cells(&c->pair_count) + 2 : 0, word, "cells of pairs")          \
    X(cell_start, c->cell_room, word, "cells")
#define REBUILD_ARRAYS(X)                                                                                              \
    X(candidate[0], c->kernel == MD_KERNEL_LIST ? c->n_places : 0, step, "positions by cell")                          \
    X(candidate[1], c->kernel == MD_KERNEL_LIST ? c->n_places : 0, step, "positions by cell")                          \
    X(candidate[2], c->kernel == MD_KERNEL_LIST ? c->n_places : 0, step, "positions by cell")                          \
    X(cell, c->n_places, word, "cells of atoms")                                                                       \
    X(slot_of, c->n_places, word, "slots of atoms")                                                                    \
    X(scratch_word, c->n_places, word, "scratch")                                                                      \
    X(scratch_double, c->state_double || c->is_there[MD_COLUMN_msd_origin] ? c->n_places : 0, sizeof(double),          \
      "scratch")                                                                                                       \
    X(rank, count_ranked(c), word, "order of cells")                                                                   \
    X(ranked, count_ranked(c), sizeof(MdCpuRanked), "order of cells")
#define ALL_ARRAYS(X)                                                                                                  \
    KEPT_ARRAYS(X)                                                                                                     \
    REBUILD_ARRAYS(X)
#define SIZES                                                                                                          \
    const size_t word = sizeof(int32_t), step = c->pair_double ? sizeof(double) : sizeof(int32_t);                     \
    const size_t place = (c->layout == MD_LAYOUT_AOS ? 3 : 4) * step;                                                  \
    (void)word, (void)step, (void)place;
#define TAKE(array, count, size, what)    c->array = md_cpu_take(c, count, size, what);
#define RELEASE(array, count, size, what) c->array = md_cpu_release(c, c->array, count, size);

static int64_t count_samples(const MdCpuContext *c) {
    const bool is_asked = c->is_there[MD_COLUMN_msd_origin] || c->is_there[MD_COLUMN_vacf_origin];
    return is_asked ? (int64_t)MD_OBSERVED_ROWS * MD_OBSERVE_N * c->potential.n_types : 0;
}

static int64_t count_ranked(const MdCpuContext *c) {
    return c->sort == MD_SORT_MORTON || c->sort == MD_SORT_HILBERT ? c->cell_room : 0;
}

/* made: the arrays that are refilled after each list; with memory.allocation = per-call they live within a step. Else the others. */
static bool is_of(const MdCpuContext *c, int array, bool made) {
    return md_cpu_is_there(c, array) && ((md_cpu_column(array)->traits & MD_COLUMN_MADE) != 0) == made;
}

static void take_columns(MdCpuContext *c, bool made) {
    for (int k = 0; k < MD_CPU_N_ARRAYS; k++)
        if (is_of(c, k, made))
            c->arrays[k] = md_cpu_take(c, c->n_places, md_cpu_number_bytes(c, k), md_cpu_column(k)->what);
}

static void release_columns(MdCpuContext *c, bool made) {
    for (int k = 0; k < MD_CPU_N_ARRAYS; k++)
        if (is_of(c, k, made)) c->arrays[k] = md_cpu_release(c, c->arrays[k], c->n_places, md_cpu_number_bytes(c, k));
}

void md_cpu_take_forces(MdCpuContext *c) { take_columns(c, true); }
void md_cpu_release_forces(MdCpuContext *c) { release_columns(c, true); }

static void take_buffers(MdCpuContext *c) {
    c->buffers = md_cpu_take(c, md_cpu_buffer_entries(c), sizeof(int32_t), "row buffers");
}

void md_cpu_take_rebuild(MdCpuContext *c) {
    SIZES
    REBUILD_ARRAYS(TAKE)
    take_buffers(c);
    c->ranked_reach = -1;
}

void md_cpu_release_rebuild(MdCpuContext *c) {
    SIZES
    REBUILD_ARRAYS(RELEASE)
    c->buffers = md_cpu_release(c, c->buffers, md_cpu_buffer_entries(c), sizeof(int32_t));
}

/* --- room that grows ------------------------------------------------------------------------------------------------ */

/* An existing array grows and keeps its content; the rest is zero. */
static void *resize(MdCpuContext *c, void *array, int64_t before, int64_t now, size_t size, const char *what) {
    if (!array || before == now) return array;
    void *larger = md_cpu_take(c, now, size, what);
    memcpy(larger, array, (size_t)(before < now ? before : now) * size);
    md_cpu_release(c, array, before, size);
    return larger;
}

/* A tenth more than is needed now, so that it does not grow again soon. */
static int64_t room_beyond(int64_t n) { return n + n / 10; }

static void grow(MdCpuContext *c, int64_t n_atoms, int64_t n_halo, int64_t n_cells) {
    enum { MOST_ARRAYS = 64 };
    int64_t before[MOST_ARRAYS];
    SIZES
    int k = 0;
#define COUNT(array, count, size, what) before[k++] = (count);
    ALL_ARRAYS(COUNT)
#undef COUNT
    const bool has_buffers = c->buffers != NULL;
    const int64_t capacity = c->capacity, places_before = c->n_places;
    md_cpu_release_list(c);
    md_cpu_set_room(c, n_atoms, n_halo, n_cells);
    for (int a = 0; a < MD_CPU_N_ARRAYS; a++)
        c->arrays[a] =
            resize(c, c->arrays[a], places_before, c->n_places, md_cpu_number_bytes(c, a), md_cpu_column(a)->what);
    k = 0;
#define RESIZE(array, count, size, what) c->array = resize(c, c->array, before[k], (count), (size), (what)), k++;
    ALL_ARRAYS(RESIZE)
#undef RESIZE
    /* The parts of memory.layout = soa have moved. Atoms get their positions again; entries without an atom have type 0. */
    if (!c->counting) memset(c->place, 0, (size_t)c->n_places * place);
    md_cpu_allocate_list(c, capacity);
    if (has_buffers) take_buffers(c);
    c->ranked_reach = -1;
}

void md_cpu_make_room(MdCpuContext *c, int64_t n_atoms, int64_t n_halo, int64_t n_cells) {
    const bool atoms = n_atoms > c->atom_room, halo = n_halo > c->halo_room, cells = n_cells + 1 > c->cell_room;
    if (atoms || halo || cells)
        grow(c, atoms ? room_beyond(n_atoms) : c->atom_room, halo ? room_beyond(n_halo) : c->halo_room,
             cells ? n_cells + n_cells / 10 : c->cell_room - 1);
}

void md_cpu_allocate(MdCpuContext *c, const MdConfig *config, double density) {
    SIZES
    take_columns(c, false);
    KEPT_ARRAYS(TAKE)
    md_cpu_allocate_list(c, first_capacity(c, config, density));
    if (c->kernel == MD_KERNEL_CELL) md_cpu_allocate_around(c, first_around(c, density));
    if (c->per_call && !c->counting) return; /* the estimate is that of the moment when they are all there */
    md_cpu_take_forces(c);
    md_cpu_take_rebuild(c);
}

void md_cpu_free(MdCpuContext *c) {
    SIZES
    md_cpu_release_rebuild(c);
    md_cpu_release_list(c);
    release_columns(c, true);
    release_columns(c, false);
    KEPT_ARRAYS(RELEASE)
    md_free(c->around);
    md_free(c->around_atoms);
    md_free(c);
}
