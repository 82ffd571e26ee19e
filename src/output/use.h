/* The purpose of the output files of a command. */
#ifndef MD_OUTPUT_USE_H
#define MD_OUTPUT_USE_H

#include <stdbool.h>
#include <stdint.h>

/* A new run; --bench, which writes only NAME.bench.json; --ceilings, which writes only NAME.json; a resumed
 * run. */
typedef struct MdFilesUse {
    bool bench, ceilings;
    const char *resumed;  /* the restart file; NULL: a new run. The caller's, as long as MdFiles */
    int64_t from_step;    /* where a run that is resumed begins */
    bool has_h5, has_xyz; /* of a run that is resumed: there are frames in these */
} MdFilesUse;

#endif
