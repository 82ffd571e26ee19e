/* Names of the output files, and what happens to files that exist already. */
#ifndef MD_OUTPUT_FILES_H
#define MD_OUTPUT_FILES_H

#include "base/log.h"
#include "deck/deck.h"

/* What the files are for: a new run; --bench, which leaves NAME.bench.json alone; --ceilings, which leaves NAME.json
 * alone; a run that is resumed. */
typedef struct MdFilesUse {
    bool bench, ceilings;
    const char *resumed;  /* the restart file; NULL: a new run. The caller's, as long as MdFiles */
    int64_t from_step;    /* where a run that is resumed begins */
    bool has_h5, has_xyz; /* of a run that is resumed: there are frames in these */
} MdFilesUse;

typedef struct MdFiles {
    char *h5, *json, *log;         /* paths; h5 NULL when no trajectory is asked for */
    char *xyz, *neighbors, *trace; /* NULL when not asked for; of a run that is resumed, the trace from there on has a
                                      file of its own, FILE.fromSTEP.json for FILE.json */
    char *restart;                 /* restart.file, or NAME.restart; NULL for bench */
    MdFilesUse use;
    struct {
        const char *path;
        int descriptor;
    } held[3]; /* by md_files_hold */
    int n_held;
} MdFiles;

/* Checks that the folder exists and can be written to and that, with output.existing = refuse, none of the files is
 * there, but for what a resumed run goes on with; nor, whatever that option says, one that a running program writes.
 * Touches nothing. */
MdStatus md_files_plan(const MdDeck *deck, const MdFilesUse *use, MdFiles *files, MdErrors *errors);

/* Moves what is in the way, which the files that a resumed run goes on with are not: output.existing = backup renames all
 * files of the run together to NAME.k.h5, .json, .log with the smallest k that none of them has, and the log says so;
 * overwrite removes report, restart files and a trajectory that this run does not write, which belong to another run from
 * now on. */
MdStatus md_files_prepare(const MdDeck *deck, const MdFiles *files, MdLog *log, MdErrors *errors);

/* A file that was deleted, moved or replaced takes all that is written to it, and nobody ever sees it. What happened to
 * the open file that was at path; NULL while it is there. */
const char *md_files_lost(const char *path, int descriptor);

/* Keeps hold of trajectory, XYZ file and log, which are there now, until md_files_free. */
void md_files_hold(MdFiles *files);
/* MD_ERROR_OUTPUT for the first of them that is lost. */
MdStatus md_files_check_held(const MdFiles *files, MdErrors *errors);

/* The mark of a file that a running program writes, an advisory lock that goes with the open file: false where another
 * program holds it. Not all file systems have locks: then nobody is told. */
bool md_files_lock(int descriptor);
/* Whether another program holds it. Readers go on undisturbed. */
bool md_files_in_use(int descriptor);

/* Whether two paths lead to the same place, the file itself existing or not. */
bool md_files_same(const char *a, const char *b);

/* A path as seen from the root, for messages; free(). */
char *md_files_absolute(const char *path);

/* The folder of a path; free(). */
char *md_folder_of(const char *path);

/* Brings the folder of a file to the disk: a new name there is on the disk when the folder is. False with errno; some file
 * systems cannot do that, and are taken at their word. */
bool md_files_sync_folder(const char *path);

void md_files_free(MdFiles *files);

#endif
