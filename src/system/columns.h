/* The table of columns (physics/columns.def), for code that goes through it. */
#ifndef MD_SYSTEM_COLUMNS_H
#define MD_SYSTEM_COLUMNS_H

#include <stddef.h>

#include "physics/columns.def"

typedef enum MdNumber { MD_NUMBER_WORD, MD_NUMBER_STATE, MD_NUMBER_PAIR } MdNumber;

typedef struct MdColumn {
    const char *name, *what;
    MdNumber number;
    int components;
    unsigned traits;
} MdColumn;

#define MD_COLUMN_ENTRY(name, number, components, what, traits, cuda)                                                  \
    {#name, what, MD_NUMBER_##number, components, traits},
#define MD_COLUMN_INDEX(name, number, components, what, traits, cuda) MD_COLUMN_##name,

enum { MD_COLUMNS(MD_COLUMN_INDEX) MD_N_COLUMNS };
extern const MdColumn md_columns[MD_N_COLUMNS];

/* Bytes of a number at a run.precision (MD_PRECISION_...), and of a column of one atom. */
size_t md_number_bytes(MdNumber number, int precision);
size_t md_column_bytes(int column, int precision);

#endif
