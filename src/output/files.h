/* Names of the output files, and the handling of files that exist already. */
#ifndef MD_OUTPUT_FILES_H
#define MD_OUTPUT_FILES_H

#include "base/log.h"
#include "deck/deck.h"
#include "output/lock.h"
#include "output/use.h"

typedef struct MdFiles {
    char *h5, *json, *log, *csv;   /* paths; h5 NULL when no trajectory is asked for */
    char *msd, *vacf, *rdf;        /* curves of an analysis; NULL when not requested */
    char *xyz, *neighbors, *trace; /* NULL when not requested; the trace of a resumed run is FILE.fromSTEP.json
                                      for FILE.json */
    char *h5_aside; /* new name of an old h5 that is rewritten and has content of other programs; else NULL */
    char *restart;  /* restart.file, or NAME.restart; NULL for bench */
    bool h5_there;  /* the run goes on with a trajectory, be there frames in it or not */
    int lock_fault; /* md_lock_fault of the trajectory, or of the report where there is none */
    MdFilesUse use;
    struct {
        const char *path;
        int descriptor;
    } held[4]; /* by md_files_hold */
    int n_held;
    MdNameLock locks[4]; /* from md_files_prepare on: of NAME, and of files with their own paths */
    int n_locks;
} MdFiles;

/* Checks that the folder exists and can be written to and that, with output.existing = refuse, none of the files
 * exists, except those that a resumed run continues; that, with any value of that option, no other run of this name is under
 * way; and that no other program has a trajectory open that is to be overwritten or continued. Changes nothing. */
MdStatus md_files_plan(const MdDeck *deck, const MdFilesUse *use, MdFiles *files, MdErrors *errors);

/* Locks the names of this run's files, checks again, and moves existing files, except those that a resumed run continues:
 * output.existing = backup renames all
 * files of the run together to NAME.k.h5, .json, .log, .csv with the smallest k that none of them has, and the log says so;
 * overwrite removes report, restart files, and the trajectory and XYZ file of a run where this one writes none, which belong to
 * another run from now on. */
MdStatus md_files_prepare(const MdDeck *deck, MdFiles *files, MdLog *log, MdErrors *errors);

/* Bytes that md_files_prepare and the beginning of the run give back to the disk of the folder: of files of another run, with
 * output.existing = overwrite. */
uint64_t md_files_replaced_bytes(const MdDeck *deck, const MdFiles *files, const char *folder);

/* Keeps hold of trajectory, XYZ file, log and table, which are there now, until md_files_free. */
void md_files_hold(MdFiles *files);
/* MD_ERROR_OUTPUT for the first of them that is lost. */
MdStatus md_files_check_held(const MdFiles *files, MdErrors *errors);

/* The file of curves of this name (curves.h). */
const char *md_files_curves(const MdFiles *files, const char *name);

void md_files_free(MdFiles *files);

#endif
