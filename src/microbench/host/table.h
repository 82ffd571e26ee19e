/* The ceilings of a machine: elementary kernels, each in its naive and its best form, one row each. Measuring, checks,
 * --list-ceilings, inputs/CEILINGS.md and the tests walk the table; every build has that of every backend. */
#ifndef MD_CEILINGS_TABLE_H
#define MD_CEILINGS_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "deck/deck.h"

/* The figure of a row: a rate by its bytes, operations or elements; or the time of an element. */
typedef enum MdCeilingUnit { MD_GB_PER_S, MD_GFLOP_PER_S, MD_G_PER_S, MD_MICROSECONDS } MdCeilingUnit;

/* A figure of the data sheet, computed from properties that the device reports. */
typedef enum MdSheet {
    MD_SHEET_NONE,
    MD_SHEET_MEMORY,
    MD_SHEET_SHARED,
    MD_SHEET_SINGLE,
    MD_SHEET_DOUBLE,
} MdSheet;

/* The figures that a roofline needs. Of several rows that measure one, the largest counts. */
typedef enum MdRoof {
    MD_ROOF_NONE,
    MD_ROOF_MEMORY,
    MD_ROOF_L2,
    MD_ROOF_SHARED,
    MD_ROOF_SINGLE,
    MD_ROOF_DOUBLE,
    MD_N_ROOFS
} MdRoof;

/* Threads of the cpu. */
typedef enum MdCeilingThreads { MD_THREADS_ONE, MD_THREADS_ALL, MD_THREADS_SWEEP } MdCeilingThreads;

typedef struct MdCeiling {
    const char *backend, *group, *variant;
    MdCeilingUnit unit;
    double bytes, operations;  /* of an element: bytes that must move, arithmetic operations */
    int64_t size, quick_size;  /* elements, or those along an edge; of --quick */
    int dimension;             /* 1, or that the elements are size^dimension */
    bool each;                 /* every thread has so many elements */
    MdCeilingThreads threads;  /* cpu: one, all, or 1, 2, 4 and so on up to all */
    MdSheet sheet;             /* the figure is compared with it */
    MdRoof roof;               /* the number of a roofline that it measures */
    bool sums;                 /* adds up in single precision: its rounding is told as well */
    bool outgrows;             /* the size is that of arrays, and grows until each is four times all last caches */
    int parameter;             /* of the kernel: a stride, a number of chains, ... */
    const char *shows, *check; /* a line each: the lesson; the expected result */
} MdCeiling;

/* A row by number, backend by backend and group by group; NULL after the last. */
const MdCeiling *md_ceiling_row(int k);

/* Whether the row is meant by a name: of its group, also as `GROUP:*`, or `GROUP:VARIANT`, its own; blanks may follow the colon. */
bool md_ceiling_is_named(const MdCeiling *row, const char *name);

/* The description of a group, in a line; NULL: there is no such group. */
const char *md_ceiling_group(const char *name);
/* Their names, in order; NULL after the last. */
const char *md_ceiling_group_name(int k);

const char *md_ceiling_unit(MdCeilingUnit unit);
const char *md_sheet_name(MdSheet sheet);
const char *md_roof_name(MdRoof roof);
MdCeilingUnit md_roof_unit(MdRoof roof);

/* Elements that a call works on, by all threads together. */
double md_ceiling_elements(const MdCeiling *row, int64_t size, int n_threads);

/* The figure, in the row's unit, of a call on so many elements that took so long. */
double md_ceiling_figure(const MdCeiling *row, double n_elements, double seconds);

/* --list-ceilings. */
void md_ceilings_print(FILE *stream, MdListFormat format);

/* Internal: rows of a backend, ended by one without a name. They are in rows_*.def, as ROW(how, group, variant, ...): the rest
 * as below, optional fields last. The file that runs a row includes it as well, for `how`: for the cpu the kernel; for a
 * GPU the fields of that file in brackets, () if the name is enough. */
extern const MdCeiling md_ceilings_cpu[], md_ceilings_cuda[];
#define MD_CEILING_HOW(...) __VA_ARGS__
#define MD_CEILING_ROW(backend_, group_, variant_, unit_, bytes_, operations_, size_, quick_size_, dimension_,         \
                       parameter_, shows_, ...)                                                                        \
    {.backend = backend_,                                                                                              \
     .group = group_,                                                                                                  \
     .variant = variant_,                                                                                              \
     .unit = unit_,                                                                                                    \
     .bytes = bytes_,                                                                                                  \
     .operations = operations_,                                                                                        \
     .size = size_,                                                                                                    \
     .quick_size = quick_size_,                                                                                        \
     .dimension = dimension_,                                                                                          \
     .parameter = parameter_,                                                                                          \
     .shows = shows_,                                                                                                  \
     .check = __VA_ARGS__},

#endif
