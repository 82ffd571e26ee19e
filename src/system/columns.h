/* The table of columns (physics/columns.def), for code that goes through it. */
#ifndef MD_SYSTEM_COLUMNS_H
#define MD_SYSTEM_COLUMNS_H

#include <stddef.h>

#include "deck/config.h"
#include "physics/columns.def"

typedef enum MdNumber { MD_NUMBER_WORD, MD_NUMBER_STATE, MD_NUMBER_PAIR, MD_NUMBER_DOUBLE } MdNumber;
typedef enum MdWhen { MD_WHEN_ALWAYS, MD_WHEN_MSD, MD_WHEN_VACF } MdWhen;

typedef struct MdColumn {
    const char *name, *what;
    MdNumber number;
    int components;
    unsigned traits;
    MdWhen when;
} MdColumn;

#define MD_COLUMN_ENTRY(name, number, components, what, traits, cuda, when)                                            \
    {#name, what, MD_NUMBER_##number, components, traits, MD_WHEN_##when},
#define MD_COLUMN_INDEX(name, number, components, what, traits, cuda, when) MD_COLUMN_##name,

enum { MD_COLUMNS(MD_COLUMN_INDEX) MD_N_COLUMNS };
extern const MdColumn md_columns[MD_N_COLUMNS];

/* Whether the atoms of a run have the column. */
bool md_column_is_there(int column, const MdConfig *config);

/* Bytes of a number at a run.precision (MD_PRECISION_...), and of a column of one atom. */
size_t md_number_bytes(MdNumber number, int precision);
size_t md_column_bytes(int column, int precision);

#endif
