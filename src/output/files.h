/* Names of the output files, and what happens to files that exist already. */
#ifndef MD_OUTPUT_FILES_H
#define MD_OUTPUT_FILES_H

#include "base/log.h"
#include "deck/deck.h"

typedef struct MdFiles {
    char *h5, *json, *log;         /* paths; h5 NULL when no trajectory is asked for */
    char *xyz, *neighbors, *trace; /* NULL when not asked for */
    char *restart;                 /* restart.file, or NAME.restart; NULL for bench */
    bool bench;                    /* json alone, NAME.bench.json */
} MdFiles;

/* What the files are for: a new run; one that is resumed, whose files are there; --bench, which leaves NAME.bench.json
 * alone. */
typedef enum MdFilesUse { MD_FILES_RUN, MD_FILES_RESUME, MD_FILES_BENCH } MdFilesUse;

/* Checks that the folder exists and can be written to and that, with output.existing = refuse, none of the files is
 * there. Touches nothing. */
MdStatus md_files_plan(const MdDeck *deck, MdFilesUse use, MdFiles *files, MdErrors *errors);

/* Moves what is in the way: output.existing = backup renames all files of the run together to NAME.k.h5, .json, .log
 * with the smallest k that none of them has, and the log says so. */
MdStatus md_files_prepare(const MdDeck *deck, const MdFiles *files, MdLog *log, MdErrors *errors);

/* A file that was deleted, moved or replaced takes all that is written to it, and nobody ever sees it. What happened to
 * the open file that was at path; NULL while it is there. */
const char *md_files_lost(const char *path, int descriptor);

/* Whether two paths lead to the same place, the file itself existing or not. */
bool md_files_same(const char *a, const char *b);

void md_files_free(MdFiles *files);

#endif
