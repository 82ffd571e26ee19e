/* The content of a restart file besides the state of the backend. */
#ifndef MD_CHECKPOINT_FILE_H
#define MD_CHECKPOINT_FILE_H

#include "checkpoint/checkpoint.h"
#include "output/restart.h"

/* Numbers of the run; no gaps, as the bytes go into the file. */
typedef struct MdRunNumbers {
    int64_t step, n_frames, n_xyz_frames;
    int64_t n_rebuilds, n_late_rebuilds, n_overflows;
    double heat; /* of the thermostat */
    char run_id[24];
} MdRunNumbers;

typedef struct MdSystemNumbers {
    int64_t n_atoms, dimension, periodic[3], n_types, file_velocities;
    double length[3], mass[MD_MAX_TYPES], density;
    char type_name[MD_MAX_TYPES][MD_TYPE_NAME_SIZE];
} MdSystemNumbers;

/* Of a thermo row; the tensors have their own section. */
enum { MD_THERMO_SAVED_BYTES = offsetof(MdThermo, pressure_tensor) };

struct MdCheckpoint {
    MdRestart *file;
    void *fixed[MD_N_COLUMNS]; /* fixed columns of the rows that this process reads */
    char *path, *name, *deck, *switches, *origin;
    MdRunNumbers run;
    MdSystemNumbers system;
};

/* --- bits.c: everything that the bits of a run depend on; texts are from malloc --- */
char *md_bits_switches(const MdRecord *record); /* `key=value` a line: the backend, and the switches as they run */
char *md_bits_origin(const MdRecord *record);   /* `what: value` a line: program, machine, domains */
char *md_bits_difference(const char *before, const char *now); /* lines that differ, in words; NULL: none */

/* --- particles.c --- */
/* Makes those rows of a section the next to be read that this process has. */
MdStatus md_checkpoint_find_rows(MdRestart *file, const MdSystem *system, const char *name, uint64_t row_bytes);
/* Of the velocities, without that of the motion of the whole. system: from md_checkpoint_system. Collective. */
MdStatus md_checkpoint_kinetic(MdCheckpoint *checkpoint, const MdSystem *system, double *kinetic);

#endif
