/* Saves the whole run in a restart file, and loads it. backend/state.h has the part of the backend, output/restart.h the
 * form of the file. */
#ifndef MD_CHECKPOINT_H
#define MD_CHECKPOINT_H

#include "physics/bath.h"
#include "report/record.h"

typedef struct MdCheckpoint MdCheckpoint; /* a restart file that a run is resumed from */

/* Opens and checks the file. NULL, with the reason in errors (MD_ERROR_INPUT). */
MdCheckpoint *md_checkpoint_open(const char *path, MdErrors *errors);
void md_checkpoint_close(MdCheckpoint *checkpoint); /* accepts NULL */

/* Its deck with the arguments as layers on top; NULL if they change an option that must not change. */
MdDeck *md_checkpoint_deck(const MdCheckpoint *checkpoint, int n_arguments, char *const *arguments, MdErrors *errors);

/* The purpose of each file of the resumed run, and which of them have frames of it. */
MdFilesUse md_checkpoint_files(const MdCheckpoint *checkpoint, bool bench);

/* The system as it was planned: a coordinate file is not read again. */
MdStatus md_checkpoint_plan(MdCheckpoint *checkpoint, const MdDeck *deck, MdSystemPlan *plan, MdErrors *errors);

/* Fills the record's data of the run so far (record->resume, history, verification), and whether the bits continue as
 * without the stop; after planning. */
MdStatus md_checkpoint_recall(MdCheckpoint *checkpoint, MdRecord *record);

/* The same for a run that begins: it gets its number. */
MdStatus md_checkpoint_name(MdRecord *record);

/* The particles for the backend to be created with: types, masses and positions; the rest comes with md_checkpoint_load. Of several
 * processes each gets those of its block of ids. NULL, with the problem in errors. Collective. */
MdSystem *md_checkpoint_system(MdCheckpoint *checkpoint, const MdSystemPlan *plan, MdErrors *errors);

/* The state of the backend; list and forces with record->resume.same_list only (MdBackendOps.load). */
MdStatus md_checkpoint_load(MdCheckpoint *checkpoint, const MdRecord *record, const MdSystem *system, void *context);

/* Whether md_checkpoint_load would refuse particles or list, as far as known without the backend's context. kinetic: energy, without
 * the motion of the whole. Collective. */
MdStatus md_checkpoint_check(MdCheckpoint *checkpoint, const MdRecord *record, double *kinetic);

/* Writes record->files.restart at record->step. bath: of the thermostat. The bits of the run do not change. *stands:
 * whether the file is that of this step now (see md_restart_commit). */
MdStatus md_checkpoint_save(const MdRecord *record, const MdSystem *system, const MdBathSaved *bath, void *context,
                            bool *stands);

/* Bytes of a restart file, without its text and the thermo table. */
uint64_t md_checkpoint_bytes(const MdRecord *record);

/* The thermostat's as it was saved. */
MdStatus md_checkpoint_bath(MdCheckpoint *checkpoint, const MdConfig *config, MdBathSaved *bath, MdErrors *errors);

#endif
