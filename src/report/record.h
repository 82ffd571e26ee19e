/* The record of a run: its request, its plan, its results. The simulation fills it, the reports
 * read it; neither includes the other. */
#ifndef MD_REPORT_RECORD_H
#define MD_REPORT_RECORD_H

#include <stdio.h>

#include "analysis/analysis.h"
#include "backend/backend.h"
#include "base/log.h"
#include "integrate/minimize.h"
#include "output/files.h"
#include "output/pipeline.h"
#include "report/balance.h"
#include "report/history.h"
#include "report/verify.h"
#include "sensors/sensors.h"

/* One process of a run that is stopped and resumed. */
typedef struct MdSession {
    int64_t from_step, to_step;
    double loop_seconds;
} MdSession;

enum { MD_MAX_SESSIONS = 1024 }; /* later ones are added to the last */

/* The message library of a run. */
typedef struct MdResume {
    char run_id[24];                  /* of the run from its very start, 16 digits */
    const char *from;                 /* the restart file; NULL: this process began the run */
    int64_t from_step;                /* where this process began */
    int64_t n_sessions;               /* before this one, in sessions */
    MdSession *sessions;              /* from md_alloc; room for MD_MAX_SESSIONS */
    MdStatistics before;              /* counts of the processes before; no times */
    int64_t n_frames, n_xyz_frames;   /* in the files, of steps up to that of the restart file */
    int64_t n_missing, n_xyz_missing; /* frames due up to that step that were not in the files then */
    MdTrajectoryContinued continued;  /* the changes to these files */
    bool list_verified;               /* the list was made for the verification: a run that goes on has another */
    bool same_list;                   /* backend and switches are those of before: the list goes on as it was */
    bool begins_anew[MD_N_COLUMNS];   /* of an analysis whose sums are not those of the restart file */
    char *difference;                 /* why bits are not as if it had never stopped, from malloc; NULL: they are */
    const char *stopped;              /* the cause of an early end: SIGTERM, ...; NULL: none */
    bool reported;                    /* the report of all its steps is there, and stays unless something fails now */
    bool file_valid;                  /* files.restart is of this run */
    bool frames_lost;                 /* and frames before it may be missing in the files */
    int64_t file_step;                /* and of this step */
    int64_t good_step;                /* of files.restart as this process has read or written it; -1: it has not */
    int n_files;                      /* restart files written by this process */
    double seconds, longest_seconds;  /* that writing them took; the longest */
} MdResume;

/* More threads in lockstep than processors: they take turns, and each waits for threads that are not running. */
typedef struct MdCrowd {
    int n_processes, n_threads, n_processors;
} MdCrowd;

typedef struct MdRecord {
    const MdDeck *deck;     /* deck, log and errors are the caller's */
    const MdConfig *config; /* as it runs: resolved, no `auto` in its switches */
    const MdConfig *asked;  /* as the deck says */
    MdChoices choices;
    struct MdComm *comm; /* the caller's; NULL: one process */
    MdLog *log;
    MdErrors *errors;

    /* known after planning: nothing large is allocated yet and no file touched */
    MdSystemPlan plan;
    const MdBackendOps *ops;
    bool lacking[MD_N_OPTIONS]; /* switches of missing stages, and keys that need another backend */
    MdMachine machine;
    MdCrowd crowd;          /* the worst of all hosts; no threads: none is crowded */
    int n_in_group;         /* of several processes: how many share the quota of this one's control group */
    MdMemory memory;        /* announced, for this process */
    uint64_t host_of_ranks; /* main memory of all processes of this host */
    MdFiles files;
    const char *command; /* the caller's */
    char *effective_deck, *provenance;
    MdSensors *sensors;        /* from md_provenance_watch; NULL until then */
    char *no_gpu;              /* why a plan to check has no GPU to ask; NULL: it has, or needs none */
    char *backend_reason;      /* why run.backend = auto takes the cpu; NULL when it was not asked or took the GPU */
    int64_t n_frames;          /* that can still come */
    uint64_t trajectory_bytes; /* that they take in the file */
    uint64_t trajectory_there; /* bytes of the frames that the file of a resumed run has */

    MdResume resume;

    /* the run */
    MdHistory history;
    FILE *table; /* NAME.csv, by report/table.h; NULL: not open */
    MdVerification verification;
    MdTail tail;                 /* of the system, once it is made */
    MdMinimization minimization; /* of run.minimize; zeros: none in this process */
    MdAnalysis *analysis;        /* its sums, in all processes */
    int64_t step;                /* the last one completed */
    bool files_ready;            /* existing files are moved, the log is open: the report may write */
    double setup_seconds, loop_seconds, verify_seconds;
    MdRandomCost random;          /* of the start, within the set-up */
    MdPipelineStatistics written; /* rows and frames of the loop only */
    MdStatistics statistics;      /* of the loop only, and of this process */
    MdBalance balance;            /* of the loop only, over several processes */
    MdCounters counters;          /* of the last configuration, where they were asked for */
    bool counted;
} MdRecord;

#endif
