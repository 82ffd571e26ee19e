/* The whole run into a restart file and out of it. What the backend adds stands in backend/state.h, the form of the file in
 * output/restart.h. */
#ifndef MD_CHECKPOINT_H
#define MD_CHECKPOINT_H

#include "report/record.h"

typedef struct MdCheckpoint MdCheckpoint; /* a restart file that a run is resumed from */

/* Opens and checks the file. NULL, with the reason in errors (MD_ERROR_INPUT). */
MdCheckpoint *md_checkpoint_open(const char *path, MdErrors *errors);
void md_checkpoint_close(MdCheckpoint *checkpoint); /* accepts NULL */

/* Its deck with the arguments as layers on top; NULL when they ask for what cannot change. */
MdDeck *md_checkpoint_deck(const MdCheckpoint *checkpoint, int n_arguments, char *const *arguments, MdErrors *errors);

/* What the files of the resumed run are for, and which of them hold frames of it. */
MdFilesUse md_checkpoint_files(const MdCheckpoint *checkpoint, bool bench);

/* The system as it was planned: a coordinate file is not read again. */
MdStatus md_checkpoint_plan(MdCheckpoint *checkpoint, const MdDeck *deck, MdSystemPlan *plan, MdErrors *errors);

/* Fills what the record says of the run so far (record->resume, history, verification), and whether the bits go on as
 * they would have; after planning. */
MdStatus md_checkpoint_recall(MdCheckpoint *checkpoint, MdRecord *record);

/* The same for a run that begins: it gets its number. */
MdStatus md_checkpoint_name(MdRecord *record);

/* The particles for the backend to be created with: types, masses and places; the rest comes with md_checkpoint_load. Of several
 * processes each gets those of its block of ids. NULL, with the problem in errors. Collective. */
MdSystem *md_checkpoint_system(MdCheckpoint *checkpoint, const MdSystemPlan *plan, MdErrors *errors);

/* The state of the backend; list and forces with record->resume.same_list only (MdBackendOps.load). */
MdStatus md_checkpoint_load(MdCheckpoint *checkpoint, const MdRecord *record, const MdSystem *system, void *context);

/* Whether that would find anything against particles and list, by what is known without the backend's context. kinetic: energy, without
 * the motion of the whole. Collective. */
MdStatus md_checkpoint_check(MdCheckpoint *checkpoint, const MdRecord *record, double *kinetic);

/* Writes record->files.restart at record->step. heat: that of the thermostat. The bits of the run stay what they are. *stands:
 * whether the file is that of this step now (see md_restart_commit). */
MdStatus md_checkpoint_save(const MdRecord *record, const MdSystem *system, double heat, void *context, bool *stands);

/* Bytes of a restart file, but for its text and the thermo table. */
uint64_t md_checkpoint_bytes(const MdRecord *record);

/* The thermostat's heat as it was saved. */
double md_checkpoint_heat(const MdCheckpoint *checkpoint);

#endif
