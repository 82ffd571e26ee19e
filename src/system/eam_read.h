/* One EAM file as it stands; eam_file.h says how the formats are and what is refused. */
#ifndef MD_SYSTEM_EAM_READ_H
#define MD_SYSTEM_EAM_READ_H

#include <stdbool.h>

#include "base/status.h"
#include "system/notes.h"
#include "system/system.h"

typedef enum MdEamKind { MD_EAM_FUNCFL, MD_EAM_SETFL, MD_EAM_FS } MdEamKind;

typedef struct MdEamTables {
    MdEamKind kind;
    int n_elements;
    char (*name)[MD_TYPE_NAME_SIZE];
    double *mass;
    int n_rho, n_r; /* 5 at least */
    double d_rho, d_r, cutoff;
    double *values; /* the blocks in the order of the file */
} MdEamTables;

/* False, with the first problem in errors, when it cannot be used; md_eam_tables_free in any case. */
bool md_eam_tables_read(const char *path, MdEamTables *tables, MdNotes *notes, MdErrors *errors);
void md_eam_tables_free(MdEamTables *tables);

#endif
