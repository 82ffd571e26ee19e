/* Files of LAMMPS' pair_style table: sections of rows `index r energy force`.
 *
 * A section is a line that begins with its name, a line of parameters, N rows. Parameters: N, and where the rows
 * are: R lo hi (even in r), RSQ lo hi (even in r squared) or none (anywhere, ascending). FPRIME (slopes of the force
 * at both ends) is read and not used (noted): a cubic Hermite interpolation from energies and forces needs no such
 * slopes. Blank lines and `#` comments are ignored; a line that begins with a number is a row. The index is not
 * looked at. A row with R or RSQ is at the distance that these give, as in LAMMPS: that of the file may be rounded,
 * and differs by no more than 1e-6 of it. */
#ifndef MD_SYSTEM_TABLE_FILE_H
#define MD_SYSTEM_TABLE_FILE_H

#include "base/status.h"
#include "system/notes.h"

typedef struct MdTableFile {
    int n;                      /* rows, 2 at least */
    double *r, *energy, *force; /* [n], in the units of the file; r ascends and is above 0 */
    MdNotes notes, warnings;    /* lines for the log */
} MdTableFile;

/* Reads a section. units: `lj` or `metal`: a UNITS tag in the first line must be that. cutoff: what the rows have to
 * reach. NULL, with the problems in errors (`file:line: text`), when it cannot be used: no such section, fewer or
 * more rows than N, fewer than four columns, words that are no finite numbers, r not above zero, not ascending or
 * not that of R or RSQ, a last row before the cutoff. Rows whose force is not minus the slope of the energy,
 * anywhere but at the ends, are a warning. */
MdTableFile *md_table_file_read(const char *path, const char *section, const char *units, double cutoff,
                                MdErrors *errors);
void md_table_file_free(MdTableFile *table); /* accepts NULL */

#endif
