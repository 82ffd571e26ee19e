/* The parts of the reader of XYZ: comment line, columns, rows. Internal to src/system. */
#ifndef MD_SYSTEM_XYZ_READ_H
#define MD_SYSTEM_XYZ_READ_H

#include "system/coordinates_rows.h"

/* The use of a column. */
typedef enum XyzRole {
    XYZ_SPECIES,
    XYZ_TYPE,
    XYZ_NUMBER,
    XYZ_POSITION,
    XYZ_VELOCITY,
    XYZ_MOMENTUM,
    XYZ_MASS,
    XYZ_ID,
    XYZ_N_ROLES,
    XYZ_UNUSED
} XyzRole;

typedef struct XyzColumns {
    int n;                  /* columns of a row */
    bool exact;             /* a row has n columns, not more: Properties were given */
    bool velocity_per_fs;   /* the column of velocities is `vel`, which GPUMD writes and dynasor reads in angstrom/fs */
    int first[XYZ_N_ROLES]; /* where the columns of each role begin; -1: there are none */
    int count[XYZ_N_ROLES];
    unsigned char *role; /* [n], from malloc */
} XyzColumns;

/* Reads an XYZ file whose first line, the number of atoms, is `line`; problems go to lines. */
void md_coordinates_read_xyz(MdLines *lines, char *line, int dimension, MdCoordinates *c);

/* The columns of plain XYZ. */
XyzColumns md_xyz_plain_columns(void);

/* Takes the columns from the value of Properties; names of those that are not used are added to *unused. Without
 * columns for position and species it is a problem of the line. */
void md_xyz_read_properties(MdLines *lines, char *text, int dimension, XyzColumns *columns, char **unused);

/* Adds a name to a list for the note, `a, b`; text from malloc, NULL: nothing yet. */
void md_xyz_list_name(char **list, const char *name);

/* Reads the comment line: box, boundaries and columns. */
void md_xyz_read_comment(MdLines *lines, char *comment, int dimension, XyzColumns *columns, MdCoordinates *c);

/* The chemical symbol of an atomic number, X for 0 (as ASE has it); NULL: there is none. */
const char *md_element_symbol(long long number);

#endif
