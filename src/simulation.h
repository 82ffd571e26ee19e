/* The root: what a run is made of, in which order it is set up, and the step loop. The only place that knows a step. */
#ifndef MD_SIMULATION_H
#define MD_SIMULATION_H

#include "backend/backend.h"
#include "base/log.h"
#include "integrate/thermostat.h"
#include "output/files.h"
#include "output/pipeline.h"
#include "report/history.h"
#include "report/progress.h"
#include "report/verify.h"

typedef struct MdSimulation {
    const MdDeck *deck;     /* deck, log and errors are the caller's */
    const MdConfig *config; /* as it runs: resolved, no `auto` in its switches */
    const MdConfig *asked;  /* as the deck says */
    MdConfig resolved;
    MdChoices choices;
    MdLog *log;
    MdErrors *errors;

    /* known after planning: nothing large is allocated yet and no file touched */
    MdSystemPlan plan;
    const MdBackendOps *ops;
    MdMachine machine;
    MdMemory memory; /* announced, for the whole program */
    MdFiles files;
    char *effective_deck, *provenance;
    char *backend_reason;      /* why run.backend = auto takes the cpu; NULL when it was not asked or took the GPU */
    int64_t n_frames;          /* planned */
    uint64_t trajectory_bytes; /* that they take in the file */

    /* the run */
    MdSystem *system;
    void *context;
    MdPipeline *pipeline;
    MdProgress *progress;
    MdThermostat thermostat;
    MdHistory history;
    MdVerification verification;
    int64_t step;     /* the last one completed */
    bool files_ready; /* what was in the way is moved, the log is open: the report may write */
    double setup_seconds, loop_seconds, verify_seconds;
    double frame_seconds;    /* host time of writing frames inside the loop */
    MdStatistics statistics; /* of the loop alone */
} MdSimulation;

/* Reads what the deck asks for and checks all of it against this machine: system, backend, memory, files. Problems go
 * to errors; nothing is touched. argument_text: the command line, for the provenance. NULL when there are problems. */
MdSimulation *md_simulation_plan(const MdDeck *deck, const char *argument_text, MdLog *log, MdErrors *errors);

/* Runs what was planned; fills everything the report needs. The status is that of the run: MD_ERROR_PHYSICS for a run
 * that blew up or failed its verification, MD_ERROR_OUTPUT when output could not be written. */
MdStatus md_simulation_run(MdSimulation *simulation);

void md_simulation_destroy(MdSimulation *simulation);

#endif
