/* Shared by the kernels of the cpu backend, for the instruction set that the including file is compiled for. */
#ifndef MD_CPU_KERNEL_PARTS_H
#define MD_CPU_KERNEL_PARTS_H

#include <math.h>
#include <omp.h>
#include <string.h>

#include "cpu/approximate.h"
#include "cpu/context.h"
#include "cpu/lanes.h"

/* The parameters of a pair, each in all lanes. */
typedef struct MdPairLanes_f {
    MD_PAIR_FIELDS(MdLanes_f)
} MdPairLanes_f;
typedef struct MdPairLanes_d {
    MD_PAIR_FIELDS(MdLanes_d)
} MdPairLanes_d;

typedef MdIndex_f MdCoord_f;
typedef MdLanes_d MdCoord_d;

enum { MD_CPU_PAIR_FIELDS = sizeof(MdPair_f) / sizeof(float) };
MD_INLINE MdPair_f pair_parameters_f(MdPair_d pair) { return md_pair_to_single(pair); }
MD_INLINE MdPair_d pair_parameters_d(MdPair_d pair) { return pair; }

/* The switches of a pair loop, constant or read at run time. */
typedef struct MdCpuForm {
    int layout, shift;
    bool half, typed, energy, fast;
    bool tensor;  /* with energy: the virial tensor as well */
    bool usual;   /* one type, forces without a shift, no energy, full list */
    int crosses;  /* double: a bit for each axis along which the nearest image is not always the plain difference */
    bool density, embeds; /* of a many-body form the first pass, which adds up densities, and the second */
    bool tabulated;       /* the functions of a many-body form are tables */
} MdCpuForm;

MD_INLINE MdCpuForm md_cpu_form_of(const MdCpuContext *c) {
    MdCpuForm form = {.layout = c->layout,
                      .half = c->list == MD_LIST_HALF,
                      .typed = c->potential.n_types > 1,
                      .shift = c->potential.shift,
                      .fast = c->arithmetic == MD_ARITHMETIC_FAST,
                      .energy = c->wants_energy,
                      .tensor = c->wants_energy && c->has_tensor};
    form.usual = !form.typed && !MD_SHIFTS_FORCE(form.shift) && !form.energy && !form.half;
    return form;
}

/* A compiled copy of a force loop: assigned fields are constants, the others are read at run time. */
#define MD_COPY(name, kernel, ...)                                                                                     \
    static void MD_SUFFIX(name)(const MdCpuContext *c, const MD_SUFFIX(Frame) * frame, int64_t block) {                \
        MdCpuForm form = md_cpu_form_of(c);                                                                            \
        (void)(__VA_ARGS__);                                                                                           \
        MD_SUFFIX(add_block_##kernel)(c, frame, block, form);                                                          \
    }
#define MD_USUAL                                                                                                       \
    form.usual = true, form.shift = MD_SHIFT_NONE, form.half = form.typed = form.energy = form.tensor = false

/* Pair positions by memory.layout: x, y, z and type of an atom are at these indices of steps. */
typedef struct MdCpuPlaces {
    const void *base;
    int64_t n;           /* from one array to the next: soa */
    const int32_t *type; /* aos keeps types apart */
} MdCpuPlaces;
MD_INLINE int64_t md_cpu_place_index(int layout, int64_t n, int64_t i, int k) {
    return layout == MD_LAYOUT_VEC4 ? 4 * i + k : layout == MD_LAYOUT_AOS ? 3 * i + k : k * n + i;
}

/* A type in the room of a step, whose bits are those of a whole number of the same size. */
MD_INLINE int32_t md_cpu_type_step_f(int32_t type) { return type; }
MD_INLINE double md_cpu_type_step_d(int32_t type) {
    const int64_t whole = type;
    double step;
    memcpy(&step, &whole, sizeof step);
    return step;
}
MD_INLINE int64_t md_cpu_step_type_f(int32_t step) { return step; }
MD_INLINE int64_t md_cpu_step_type_d(double step) {
    int64_t type;
    memcpy(&type, &step, sizeof type);
    return type;
}

/* The atoms around a cell, copied side by side: the room of one thread. */
typedef struct MdCpuAround {
    MdCpuPlaces places; /* soa */
    void *copy;
    int32_t *atoms; /* which they are, in memory; filled while far_apart */
    int64_t n, own; /* own + slot: where the atom of a slot of the cell is among them */
    int crosses;    /* as in MdCpuRun */
} MdCpuAround;
MD_INLINE MdCpuAround md_cpu_around_of(const MdCpuContext *c, int thread) {
    const size_t step = c->pair_double ? sizeof(double) : sizeof(int32_t);
    MdCpuAround around = {.copy = (char *)c->around + step * (size_t)(4 * thread * c->around_room),
                          .atoms = c->around_atoms + thread * c->around_room};
    around.places = (MdCpuPlaces){around.copy, c->around_room, NULL};
    return around;
}

MD_INLINE int64_t md_cpu_block_end(const MdCpuContext *c, int64_t block) {
    return (block + 1) * MD_CPU_BLOCK < c->n_atoms ? (block + 1) * MD_CPU_BLOCK : c->n_atoms;
}

/* Adds the sums of a row: a pair that stands in two rows counts half in each. */
MD_INLINE void md_cpu_add_row(const MdCpuContext *c, MdCpuPartial *partial, double pairs, double energy,
                              double truncation, double virial) {
    const double share = c->list == MD_LIST_HALF ? 1 : 0.5;
    partial->pairs += share * pairs;
    md_cpu_sum_add(&partial->sum[MD_CPU_POTENTIAL], share * energy, &c->accumulate);
    md_cpu_sum_add(&partial->sum[MD_CPU_TRUNCATION], share * truncation, &c->accumulate);
    md_cpu_sum_add(&partial->sum[MD_CPU_VIRIAL], share * virial, &c->accumulate);
}
MD_INLINE void md_cpu_add_tensor(const MdCpuContext *c, MdCpuPartial *partial, const double tensor[MD_N_TENSOR]) {
    const double share = c->list == MD_LIST_HALF ? 1 : 0.5;
    for (int k = 0; k < MD_N_TENSOR; k++)
        md_cpu_sum_add(&partial->sum[MD_CPU_VIRIAL_TENSOR + k], share * tensor[k], &c->accumulate);
}
MD_INLINE void md_cpu_keep_sums(MdCpuPartial *to, const MdCpuPartial *sums) {
    to->pairs = sums->pairs;
    for (int k = MD_CPU_POTENTIAL; k < MD_CPU_END_OF_PAIRS; k++) to->sum[k] = sums->sum[k];
}

/* Entry k of the row of atom i. */
MD_INLINE int32_t *md_cpu_entry(const MdCpuContext *c, int64_t i, int64_t k) {
    return c->entries + i / MD_CPU_SLICE * MD_CPU_SLICE * c->stride + k * MD_CPU_SLICE + i % MD_CPU_SLICE;
}

/* turns (1: the period) as a whole number of 2^-32, modulo 2^32. Adding 1.5 * 2^52 leaves the whole number in the low
 * bits of a double: conversion without a conversion instruction, which AVX2 does not have for vectors. */
MD_INLINE int32_t md_cpu_whole_number(double turns) {
    const double shift = 0x1.8p52;
    turns -= (turns + shift) - shift;
    double shifted = turns * 0x1p32 + shift;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return (int32_t)(uint32_t)bits;
}

/* Four registers at a time in the usual case, then one at a time; `body(k)` handles entries from k on. */
#define MD_UNROLLED(usual, k, step, n, body)                                                                           \
    for (; (usual) && k + 4 * (step) <= (n); k += 4 * (step)) {                                                        \
        _Pragma("GCC unroll 4") for (int part = 0; part < 4; part++) body(k + part * (step));                          \
    }                                                                                                                  \
    for (; k < (n); k += (step)) body(k)

#define LANES(name) MD_SUFFIX(md_lanes_##name)
#define MD_VEC      MD_SUFFIX(MdLanes)
#define MD_COORD    MD_SUFFIX(MdCoord)
#define MD_WIDTH    MD_SUFFIX(MD_LANES)

#endif
