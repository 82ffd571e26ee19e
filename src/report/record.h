/* What a run knows of itself: what was asked, what was planned, what came of it. The simulation fills it, the reports
 * read it; neither knows the other. */
#ifndef MD_REPORT_RECORD_H
#define MD_REPORT_RECORD_H

#include "backend/backend.h"
#include "base/log.h"
#include "output/files.h"
#include "output/pipeline.h"
#include "report/history.h"
#include "report/verify.h"

typedef struct MdRecord {
    const MdDeck *deck;     /* deck, log and errors are the caller's */
    const MdConfig *config; /* as it runs: resolved, no `auto` in its switches */
    const MdConfig *asked;  /* as the deck says */
    MdChoices choices;
    MdLog *log;
    MdErrors *errors;

    /* known after planning: nothing large is allocated yet and no file touched */
    MdSystemPlan plan;
    const MdBackendOps *ops;
    bool lacking[MD_N_OPTIONS]; /* switches of stages that the backend does not have */
    MdMachine machine;
    MdMemory memory; /* announced, for the whole program */
    MdFiles files;
    char *effective_deck, *provenance;
    char *backend_reason;      /* why run.backend = auto takes the cpu; NULL when it was not asked or took the GPU */
    int64_t n_frames;          /* planned */
    uint64_t trajectory_bytes; /* that they take in the file */

    /* the run */
    MdHistory history;
    MdVerification verification;
    int64_t step;     /* the last one completed */
    bool files_ready; /* what was in the way is moved, the log is open: the report may write */
    double setup_seconds, loop_seconds, verify_seconds;
    MdPipelineStatistics written; /* rows and frames of the loop alone */
    MdStatistics statistics;      /* of the loop alone */
    MdCounters counters;          /* of the last configuration, where they were asked for */
    bool counted;
} MdRecord;

#endif
