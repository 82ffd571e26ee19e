/* Walks every backend, and within it the product of all values of all switches that options.def declares: a new value,
 * switch or backend is covered without a change here.
 *
 * A backend that cannot run here is skipped with its reason. MDMINI_TEST_BACKENDS (names separated by commas) chooses:
 * a backend that it lists must run, the others are left out. A combination that a backend refuses is printed; that each
 * value of each switch ran at least once is checked. */
#ifndef MD_TESTS_WALK_H
#define MD_TESTS_WALK_H

#include "backend/backend.h"

enum { WALK_MAX_SWITCHES = 32, WALK_MAX_WORDS = 32 };

typedef struct Walk {
    const MdBackendOps *ops;
    MdConfig base;   /* the caller's, with the backend set */
    MdConfig config; /* base with the switches of this combination */
    char name[512];  /* backend and switch values, for messages */
    int choice[WALK_MAX_SWITCHES];
    bool ran[WALK_MAX_SWITCHES][WALK_MAX_WORDS];
    const char *fixed; /* see walk_begin */
    bool started;
} Walk;

/* The backends of md_backends() that can run base, one after the other: pass NULL first, then what came back; NULL
 * after the last. Prints why one is skipped. */
const MdBackendOps *walk_backend(const MdBackendOps *previous, const MdConfig *base);

/* Starts the product for one backend. Switches named in `fixed` (blanks between them; NULL: none) keep the value of
 * base. */
void walk_begin(Walk *walk, const MdBackendOps *ops, const MdConfig *base, const char *fixed);
/* The next combination that the backend accepts, in walk->config, and as check_context; false after the last, when the
 * coverage has been checked. */
bool walk_next(Walk *walk);

/* Whether all variants that the combination selects promise the same bits for the same input; checks that each
 * stage of the table has exactly one. */
bool walk_deterministic(const Walk *walk);

/* A context with the particles of system; NULL, as a failed check, when it cannot be made. Messages of the backend go
 * to *errors, to be destroyed by walk_destroy. */
typedef struct WalkRun {
    const MdBackendOps *ops;
    void *context;
    MdErrors *errors;
} WalkRun;
bool walk_create(WalkRun *run, const MdBackendOps *ops, const MdConfig *config, const MdSystem *system);
void walk_destroy(WalkRun *run);

/* Checks a status and prints the messages when it is not MD_OK. */
bool walk_ok(const WalkRun *run, MdStatus status);

/* List and forces (with energy) of the state as created. */
bool walk_prepare(const WalkRun *run);
/* Steps first .. first + n - 1 (the first of a run is 1), with energy at the last. */
bool walk_steps(const WalkRun *run, int64_t first, int64_t n);

#endif
