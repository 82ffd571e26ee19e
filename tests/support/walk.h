/* Walks every backend, and within it a covering design of its switches (design.h): a new value, switch or backend is
 * covered without a change here.
 *
 * A backend that cannot run here is skipped with its reason. MDMINI_TEST_BACKENDS (names separated by commas) chooses:
 * a backend that it lists must run, the others are left out. MDMINI_TEST_SHARD=k/n (k from 0) walks every n-th
 * combination only, so that n processes share the work. MDMINI_TEST_ONLY="key=value ..." walks one combination and does
 * nothing else (design.h), MDMINI_TEST_SYSTEM="name|name" walks on systems of these names only (one at
 * least must be run): for tests/gpu/mutants.py, which wants the shortest way to a failure. */
#ifndef MD_TESTS_WALK_H
#define MD_TESTS_WALK_H

#include "backend/backend.h"
#include "design.h"

/* The backends of md_backends() that can run base, one after the other: pass NULL first, then what came back; NULL
 * after the last. Prints why one is skipped. */
const MdBackendOps *walk_backend(const MdBackendOps *previous, const MdConfig *base);

/* The cuda backend, if it is among these; else NULL. */
const MdBackendOps *walk_cuda(const MdConfig *base);
/* What a test of the cuda backend alone ends with where that gives NULL: a failure if MDMINI_TEST_BACKENDS lists it, else "skipped". */
int walk_no_cuda(void);

/* Whether the GPU has the compute capability (90 for 9.0) that the value needs; where not, prints that it is skipped. */
bool walk_gpu_has(const MdBackendOps *ops, int compute_capability, const char *value);

/* How often the kernel of that name was launched; 0 also for one that is not there. */
int64_t walk_launches(const MdStatistics *statistics, const char *name);

/* Whether MDMINI_TEST_SYSTEM, where it is set, has this name. */
bool walk_wants(const char *system_name);

/* Whether this process does what is not shared out: the first shard does, unless there is one combination only. */
bool walk_first_shard(void);

typedef struct Walk {
    const MdBackendOps *ops;
    Design *design;
    int k, n;        /* combination, of how many */
    int n_created;   /* contexts of this combination so far */
    char name[2048]; /* backend, purpose and switch values, for messages */
    char refusal[512];
} Walk;

/* Starts a design for one backend: see design_create. plans of the systems on which it will be tried; kept by the
 * caller until the end, as base is. */
void walk_begin(Walk *walk, const MdBackendOps *ops, const MdConfig *base, DesignKind kind, const char *fixed,
                const MdSystemPlan *plans, int n_plans);
/* The next combination of this shard; false after the last. Checks that the one before ran on one system at least. */
bool walk_next(Walk *walk);

/* A context with the particles of system. Messages of the backend go to errors. */
typedef struct WalkRun {
    const MdBackendOps *ops;
    void *context;
    MdConfig config; /* as resolved */
    MdConfig asked;
    MdErrors *errors;
} WalkRun;

/* For scale_velocities, where it is the factor that matters. */
extern const double walk_no_shift[3];

/* With the configuration asked for; false, as a failed check, when it cannot be made. */
bool walk_create(WalkRun *run, const MdBackendOps *ops, const MdConfig *asked, const MdSystem *system);
/* With the switches of the combination and all else as in base; sets the check context to name and system. False when
 * the backend refuses it for this system. */
bool walk_create_next(Walk *walk, WalkRun *run, const char *system_name, const MdConfig *base, const MdSystem *system);
void walk_destroy(WalkRun *run);

/* Whether the force kernel that runs has rows of neighbours. */
bool walk_has_rows(const WalkRun *run);

/* Checks a status and prints the messages when it is not MD_OK. */
bool walk_ok(const WalkRun *run, MdStatus status);

/* List and forces (with energy) of the state as created. False without a failed check: the bricks that were asked for are too large. */
bool walk_prepare(const WalkRun *run);
/* Steps first .. first + n - 1 (the first of a run is 1), with energy at the last. */
bool walk_steps(const WalkRun *run, int64_t first, int64_t n);
/* Without energies, also of the last one: so no drift stands at the end of what is issued. */
bool walk_quiet_steps(const WalkRun *run, int64_t first, int64_t n);

#endif
