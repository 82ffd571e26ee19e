/* The root: the parts of a run, the order of its set-up, and the step loop: the steps to make, and the work due
 * after them. */
#ifndef MD_SIMULATION_H
#define MD_SIMULATION_H

#include "checkpoint/checkpoint.h"
#include "integrate/thermostat.h"
#include "output/pipeline.h"
#include "parallel/loop_sync.h"
#include "report/progress.h"
#include "report/record.h"

typedef struct MdSimulation {
    MdRecord record;
    MdConfig resolved; /* target of record.config */
    MdSystem *system;
    /* Of all processes, on rank 0, for the files of frames; NULL: the system has them, or there are none. */
    int32_t *all_types;
    void *context; /* of the backend */
    MdPipeline *pipeline;
    MdTrace *trace;       /* NULL when not asked for */
    MdProgress *progress; /* the writer of the pipeline takes its bar away for a line */
    MdThermostat thermostat;
    MdLoopSync sync;
    int64_t late_at_end;   /* late rebuilds by the end of the loop, with those before it */
    MdCheckpoint *resumed; /* NULL: the run begins */
    double start_s;        /* of the program, by md_clock_s */
} MdSimulation;

/* The purpose of a plan: a run; --bench, which writes another file and makes no run; --check, which makes none
 * either, and works without the GPU. */
typedef enum MdPurpose { MD_TO_RUN, MD_TO_BENCH, MD_TO_CHECK } MdPurpose;

/* plan.c: reads the deck and checks all of it against this machine: system, backend, memory, files.
 * Problems go to errors; nothing is changed. Without the GPU of the deck a plan for --check has as much as
 * possible, and record.no_gpu. resumed: the restart file, which the caller keeps; NULL: from the
 * beginning. command: the command line, for the provenance; stays the caller's, as comm does. Collective; NULL, on all ranks, when
 * there are problems on any. */
MdSimulation *md_simulation_plan(const MdDeck *deck, MdPurpose purpose, MdCheckpoint *resumed, const char *command,
                                 struct MdComm *comm, MdLog *log, MdErrors *errors);

/* plan.c: for --check: the problems with the files that the run would continue
 * (MD_ERROR_INPUT, in the record's errors), and the changes to them. Changes nothing. Collective. */
MdStatus md_simulation_check_files(MdSimulation *simulation);

/* Runs the plan; fills everything the report needs. The status is that of the run: MD_ERROR_PHYSICS for a run
 * that blew up or failed its verification, MD_ERROR_OUTPUT when output could not be written. */
MdStatus md_simulation_run(MdSimulation *simulation);

void md_simulation_destroy(MdSimulation *simulation);

#endif
