/* The root: what a run is made of, in which order it is set up, and the step loop: which steps are asked for, and what is due
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
    MdConfig resolved; /* what record.config points to */
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

/* What a plan is made for: a run; --bench, which leaves a file of its own and makes no run; --check, which makes none
 * either, and may so be asked for where the GPU is not. */
typedef enum MdPurpose { MD_TO_RUN, MD_TO_BENCH, MD_TO_CHECK } MdPurpose;

/* plan.c: reads what the deck asks for and checks all of it against this machine: system, backend, memory, files.
 * Problems go to errors; nothing is touched. Without the GPU that the deck asks for a plan to check has what can be told
 * of it all the same, and record.no_gpu. resumed: what the run goes on from, which stays the caller's; NULL: from its
 * beginning. command: the command line, for the provenance; stays the caller's, as comm does. Collective; NULL, on all ranks, when
 * there are problems on any. */
MdSimulation *md_simulation_plan(const MdDeck *deck, MdPurpose purpose, MdCheckpoint *resumed, const char *command,
                                 struct MdComm *comm, MdLog *log, MdErrors *errors);

/* plan.c: for a run that is only checked, what the run would find against the files that it goes on with
 * (MD_ERROR_INPUT, in the record's errors), and what would become of them. Touches nothing. Collective. */
MdStatus md_simulation_check_files(MdSimulation *simulation);

/* Runs what was planned; fills everything the report needs. The status is that of the run: MD_ERROR_PHYSICS for a run
 * that blew up or failed its verification, MD_ERROR_OUTPUT when output could not be written. */
MdStatus md_simulation_run(MdSimulation *simulation);

void md_simulation_destroy(MdSimulation *simulation);

#endif
