/* Variants: one implementation of a stage. Each backend has one table per stage; dispatch, --list-variants, tests and
 * reports walk it. What is not in a table does not exist; what is in it is tested. */
#ifndef MD_BACKEND_VARIANTS_H
#define MD_BACKEND_VARIANTS_H

#include <stdbool.h>

typedef struct MdVariant {
    const char *stage;    /* sort, neighbor, force, reduce, integrate, gather */
    const char *name;     /* unique within backend and stage */
    const char *switches; /* the switch values that select it: `neighbor.search=cell neighbor.write=atomic` */
    const char *needs;    /* what it requires of others, or "" */
    bool deterministic;   /* same input, same machine: same bits */
    double bytes_per_atom,
        flops_per_atom; /* main-memory traffic and operations per call: a model, explained where the table stands */
    double bytes_per_entry, flops_per_entry; /* and per entry of the neighbour list */
    const char *cost;                        /* one line: what it pays for */
} MdVariant;

typedef struct MdVariantTable {
    const MdVariant *rows;
    int n_rows;
} MdVariantTable;

#endif
