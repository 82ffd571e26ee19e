/* Arrays of the cpu backend: one function makes them all, and, with `counting` set, only adds up their sizes; so the
 * estimate cannot differ from what is taken. */
#include "cpu/context.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"

void *md_cpu_take(MdCpuContext *c, int64_t count, size_t size, const char *what) {
    c->host_bytes += (uint64_t)count * size;
    return c->counting ? NULL : md_alloc((size_t)count, size, what);
}

void md_cpu_release(MdCpuContext *c, void *memory, int64_t count, size_t size) {
    c->host_bytes -= (uint64_t)count * size;
    md_free(memory);
}

/* Periods of places along open axes, in ranges of the list. Atoms of one row stay together within a tenth of it
 * whatever they do between two builds, and it is still resolved to 64 / 2^32 of the range. */
static const double open_period_ranges = 64;

void md_cpu_configure(MdCpuContext *c, const MdConfig *config, int64_t n_atoms, const MdBox *box,
                      const MdPotential *potential) {
    c->n_threads = config->run_threads == MD_AUTO_INT ? omp_get_max_threads() : (int)config->run_threads;
    c->precision = config->run_precision;
    c->state_double = c->precision != MD_PRECISION_SINGLE;
    c->pair_double = c->precision == MD_PRECISION_DOUBLE;
    c->timestep = config->run_timestep;
    c->cutoff = potential->cutoff_max;
    c->skin = config->neighbor_skin;
    c->fault_distance = MD_FAULT_SHARE * potential->cutoff_min;
    c->sort = config->memory_sort;
    c->search = config->neighbor_search;
    c->write = config->neighbor_write;
    c->order = config->neighbor_order;
    c->rebuild = config->neighbor_rebuild;
    c->every = config->neighbor_every;
    c->n_atoms = n_atoms;
    c->n_blocks = (n_atoms + MD_CPU_BLOCK - 1) / MD_CPU_BLOCK;
    c->n_padded = c->n_blocks * MD_CPU_BLOCK;
    c->box = *box;
    c->potential = *potential;
    c->fault.step = -1;
    for (int a = 0; a < 3; a++)
        c->period[a] = box->periodic[a] ? box->length[a] : open_period_ranges * (c->cutoff + c->skin);
    const int n_pairs = potential->n_types * potential->n_types;
    for (int k = 0; k < n_pairs; k++) {
        const MdPair_d *p = &potential->pair[k];
        const double fields[9] = {p->cutoff_sq, p->force_12,     p->force_6,     p->energy_12, p->energy_6,
                                  p->cutoff,    p->energy_shift, p->force_shift, p->truncation};
        for (int f = 0; f < 9; f++) {
            c->table_d[f][k] = fields[f];
            c->table_f[f][k] = (float)fields[f];
        }
    }
}

int64_t md_cpu_first_capacity(const MdCpuContext *c, const MdConfig *config, double density) {
    if (config->neighbor_capacity != MD_AUTO_INT) return config->neighbor_capacity;
    const double range = c->cutoff + c->skin, pi = 3.14159265358979323846;
    const double sphere = c->box.dimension == 2 ? pi * range * range : 4 * pi / 3 * range * range * range;
    /* A fifth and sixteen above the mean: rows of a dense fluid stay below, those of a thin gas too. */
    const double room = 1.2 * density * sphere + 16;
    return room < (double)c->n_atoms ? (int64_t)room : c->n_atoms;
}

void md_cpu_allocate(MdCpuContext *c, int64_t capacity) {
    const size_t state = c->state_double ? sizeof(double) : sizeof(float);
    const size_t real = c->pair_double ? sizeof(double) : sizeof(float);
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t), word = sizeof(int32_t);
    const int64_t n = c->n_padded, n_slots = n + MD_CPU_SPARE;
    for (int a = 0; a < 3; a++) {
        c->position[a] = md_cpu_take(c, n, state, "positions");
        c->velocity[a] = md_cpu_take(c, n, state, "velocities");
        c->built_at[a] = md_cpu_take(c, n, state, "positions at the build");
        c->force[a] = md_cpu_take(c, n, real, "forces");
        c->image[a] = md_cpu_take(c, n, word, "images");
        c->candidate[a] = md_cpu_take(c, n_slots, step, "positions by cell");
    }
    c->place = md_cpu_take(c, n, 4 * step, "positions for the pair loops");
    c->type = md_cpu_take(c, n, word, "types");
    c->id = md_cpu_take(c, n, word, "ids");
    c->scratch_word = md_cpu_take(c, n, word, "scratch");
    if (c->state_double) c->scratch_double = md_cpu_take(c, n, sizeof(double), "scratch");
    c->cell_start = md_cpu_take(c, md_cpu_cells_limit(c->n_atoms) + 1, word, "cells");
    c->cell = md_cpu_take(c, n, word, "cells of atoms");
    c->slot_of = md_cpu_take(c, n, word, "slots of atoms");
    c->atom_in = md_cpu_take(c, n_slots, word, "atoms of slots");
    c->count = md_cpu_take(c, n, word, "row lengths");
    c->crosses = md_cpu_take(c, n / MD_CPU_SLICE, 1, "slice marks");
    c->partial = md_cpu_take(c, c->n_blocks, sizeof *c->partial, "sums of blocks");
    md_cpu_allocate_list(c, capacity);
}

void md_cpu_free(MdCpuContext *c) {
    for (int a = 0; a < 3; a++) {
        md_free(c->position[a]);
        md_free(c->velocity[a]);
        md_free(c->built_at[a]);
        md_free(c->force[a]);
        md_free(c->image[a]);
        md_free(c->candidate[a]);
    }
    md_free(c->place);
    md_free(c->type);
    md_free(c->id);
    md_free(c->scratch_word);
    md_free(c->scratch_double);
    md_free(c->cell_start);
    md_free(c->cell);
    md_free(c->slot_of);
    md_free(c->atom_in);
    md_free(c->count);
    md_free(c->crosses);
    md_free(c->partial);
    md_free(c->entries);
    md_free(c->buffers);
    md_free(c);
}
