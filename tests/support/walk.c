#include "backends/backends.h"
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "integrate/verlet.h"
#include "state.h"

/* --- backends ----------------------------------------------------------------------------------------------------- */

/* Whether a list with separators has the name. */
static bool lists(const char *list, char separator, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == separator) && (at[length] == separator || at[length] == '\0')) return true;
    return false;
}

static int backend_value(const char *name) {
    const char *const *words = md_switch_words(MD_OPTION_run_backend);
    for (int value = 0; words[value]; value++)
        if (strcmp(words[value], name) == 0) return value;
    md_panic("no backend of the name %s", name);
}

static int n_created; /* contexts, of all walks */
static int n_lacking; /* walks that ask for another GPU */

static bool can_run(const MdBackendOps *ops, const MdConfig *base) {
    MdConfig config = *base;
    MdMachine machine;
    MdErrors *errors = md_errors_create();
    config.run_backend = backend_value(ops->name);
    const char *wanted = getenv("MDMINI_TEST_BACKENDS");
    if (wanted && !lists(wanted, ',', ops->name)) {
        printf("backend %s left out: MDMINI_TEST_BACKENDS=%s\n", ops->name, wanted);
        md_errors_destroy(errors);
        return false;
    }
    bool runs = ops->probe(&config, NULL, &machine, errors) == MD_OK;
    if (runs) printf("backend %s: %s, %s\n", ops->name, machine.name, machine.details);
    if (!runs) {
        const char *why = md_errors_count(errors) ? md_errors_text(errors, 0) : "no reason given";
        printf("backend %s SKIPPED: %s\n", ops->name, why);
        if (lists(wanted, ',', ops->name)) {
            check_context("MDMINI_TEST_BACKENDS lists %s", ops->name);
            CHECK(false && "a backend that must run");
        }
    }
    md_errors_destroy(errors);
    return runs;
}

const MdBackendOps *walk_backend(const MdBackendOps *previous, const MdConfig *base) {
    const MdBackendOps *const *ops = md_backends();
    if (!previous) { /* a listed backend that is not even built in */
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%s", getenv("MDMINI_TEST_BACKENDS") ? getenv("MDMINI_TEST_BACKENDS") : "");
        for (char *name = strtok(wanted, ","); name; name = strtok(NULL, ",")) {
            check_context("MDMINI_TEST_BACKENDS lists %s", name);
            CHECK(md_backend_find(name) != NULL);
        }
    } else {
        while (*ops && *ops != previous) ops++;
        if (*ops) ops++;
    }
    for (; *ops; ops++)
        if (can_run(*ops, base)) return *ops;
    if (getenv("MDMINI_TEST_SYSTEM")) {
        check_context("MDMINI_TEST_SYSTEM=%s", getenv("MDMINI_TEST_SYSTEM"));
        CHECK(n_created + n_lacking > 0); /* a run on something, or on nothing that this GPU could */
    }
    return NULL;
}

const MdBackendOps *walk_cuda(const MdConfig *base) {
    const MdBackendOps *ops = NULL;
    while ((ops = walk_backend(ops, base)) != NULL)
        if (strcmp(ops->name, "cuda") == 0) return ops;
    return NULL;
}

int walk_no_cuda(void) {
    if (lists(getenv("MDMINI_TEST_BACKENDS"), ',', "cuda")) return check_finish();
    printf("skipped: there is no GPU, or no cuda backend, or MDMINI_TEST_BACKENDS leaves it out\n");
    return CHECK_SKIPPED;
}

bool walk_gpu_has(const MdBackendOps *ops, int compute_capability, const char *value) {
    const MdConfig config = state_config();
    MdMachine machine = {0};
    MdErrors *errors = md_errors_create();
    CHECK(ops->probe(&config, NULL, &machine, errors) == MD_OK);
    md_errors_destroy(errors);
    const bool has = machine.compute_capability >= compute_capability;
    if (!has)
        printf("skipped: %s needs compute capability %d.%d\n", value, compute_capability / 10, compute_capability % 10);
    return has;
}

int64_t walk_launches(const MdStatistics *statistics, const char *name) {
    for (int k = 0; k < statistics->n_kernels; k++)
        if (strcmp(statistics->kernels[k].name, name) == 0) return statistics->kernels[k].launches;
    return 0;
}

bool walk_wants(const char *system_name) {
    const char *wanted = getenv("MDMINI_TEST_SYSTEM");
    return !wanted || lists(wanted, '|', system_name);
}

/* Without launch bounds the compiler takes the registers that it likes, and only then a GPU knows that blocks of the size which was
 * asked for cannot have them. The message that such a combination ends with. */
static const char too_few_registers[] = "registers a thread, which allows";

/* --- combinations ------------------------------------------------------------------------------------------------- */

/* k and n of MDMINI_TEST_SHARD=k/n; 0 and 1 without. */
static void read_shard(int *k, int *n) {
    const char *text = getenv("MDMINI_TEST_SHARD");
    *k = 0, *n = 1;
    if (text && (sscanf(text, "%d/%d", k, n) != 2 || *k < 0 || *k >= *n))
        md_panic("MDMINI_TEST_SHARD=%s: k/n with k from 0 to n - 1 is needed", text);
}

bool walk_first_shard(void) {
    int k, n;
    read_shard(&k, &n);
    return k == 0 && !design_is_narrowed();
}

void walk_begin(Walk *walk, const MdBackendOps *ops, const MdConfig *base, DesignKind kind, const char *fixed,
                const MdSystemPlan *plans, int n_plans) {
    *walk = (Walk){.ops = ops, .design = design_create(ops, base, kind, fixed, plans, n_plans), .k = -1};
    walk->n = design_count(walk->design);
    n_lacking += design_lacks(walk->design);
}

bool walk_next(Walk *walk) {
    int shard, n_shards;
    read_shard(&shard, &n_shards);
    if (walk->k >= 0) {
        check_context("%s", walk->name);
        const bool may_not_run = getenv("MDMINI_TEST_SYSTEM") || strstr(walk->refusal, too_few_registers);
        if (!may_not_run) CHECK(walk->n_created > 0);
        if (walk->n_created == 0) printf("never ran: %s: %s\n", walk->name, walk->refusal);
    }
    walk->k = walk->k < 0 ? shard : walk->k + n_shards;
    walk->n_created = 0;
    walk->refusal[0] = '\0';
    if (walk->k >= walk->n) {
        design_destroy(walk->design);
        return false;
    }
    int length =
        snprintf(walk->name, sizeof walk->name, "%s %s: ", walk->ops->name, design_purpose(walk->design, walk->k));
    design_describe(walk->design, walk->k, walk->name + length, sizeof walk->name - (size_t)length);
    return true;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

bool walk_ok(const WalkRun *run, MdStatus status) {
    if (CHECK(status == MD_OK)) return true;
    md_errors_print(run->errors, stdout);
    return false;
}

/* MD_ERROR_INPUT when resolve refuses, or registers are too few; a failed check when the context cannot be made otherwise. */
static MdStatus begin_run(WalkRun *run, const MdBackendOps *ops, const MdConfig *asked, const MdSystem *system) {
    MdSystemPlan plan = state_plan(system);
    MdConfig named = *asked;
    named.run_backend = backend_value(ops->name);
    *run = (WalkRun){.ops = ops, .config = named, .asked = named, .errors = md_errors_create()};
    MdStatus status = ops->resolve(&run->config, &plan, NULL, run->errors);
    if (status != MD_OK) return status;
    status = ops->create(&run->context, &run->config, &named, system, run->errors);
    if (status == MD_ERROR_INPUT && named.launch_bounds == MD_OFF && md_errors_count(run->errors) == 1 &&
        strstr(md_errors_text(run->errors, 0), too_few_registers))
        return status;
    if (walk_ok(run, status)) n_created++;
    return status == MD_ERROR_INPUT ? MD_ERROR_INTERNAL : status;
}

const double walk_no_shift[3] = {0, 0, 0};

bool walk_create(WalkRun *run, const MdBackendOps *ops, const MdConfig *asked, const MdSystem *system) {
    MdStatus status = begin_run(run, ops, asked, system);
    if (status == MD_ERROR_INPUT) walk_ok(run, status);
    if (status != MD_OK) walk_destroy(run);
    return status == MD_OK;
}

bool walk_create_next(Walk *walk, WalkRun *run, const char *system_name, const MdConfig *base, const MdSystem *system) {
    if (!walk_wants(system_name)) return false;
    MdConfig asked = *base;
    design_apply(walk->design, walk->k, &asked);
    check_context("%s, N %lld: %s", system_name, (long long)system->n_atoms, walk->name);
    MdStatus status = begin_run(run, walk->ops, &asked, system);
    if (status == MD_OK) walk->n_created++;
    else if (md_errors_count(run->errors))
        snprintf(walk->refusal, sizeof walk->refusal, "%s", md_errors_text(run->errors, 0));
    if (status != MD_OK) walk_destroy(run);
    return status == MD_OK;
}

bool walk_has_rows(const WalkRun *run) {
    const int kernel = run->config.force_kernel;
    return kernel == MD_KERNEL_LIST || kernel == MD_KERNEL_LIST_SPLIT || kernel == MD_KERNEL_BRICK;
}

void walk_destroy(WalkRun *run) {
    if (run->context) run->ops->destroy(run->context);
    md_errors_destroy(run->errors);
    *run = (WalkRun){0};
}

/* Only the search knows how many atoms a brick of an uneven system has: a deck that asks for bricks that are too large is refused then. */
static bool has_too_large_bricks(const WalkRun *run) {
    const bool chose_bricks =
        run->asked.memory_brick_grid != MD_BRICK_GRID_AUTO || run->asked.memory_brick_cells != MD_BRICK_CELLS_AUTO;
    return chose_bricks && md_errors_count(run->errors) == 1 &&
           strstr(md_errors_text(run->errors, 0), "atoms of a brick and around it, and can stage");
}

bool walk_prepare(const WalkRun *run) {
    const MdStatus status = md_verlet_start(run->ops, run->context, true);
    if (status != MD_ERROR_INPUT || !has_too_large_bricks(run)) return walk_ok(run, status);
    printf("not run: %s\n", md_errors_text(run->errors, 0));
    return false;
}

bool walk_steps(const WalkRun *run, int64_t first, int64_t n) {
    return walk_ok(run, run->ops->advance(run->context, first, n, true));
}

bool walk_quiet_steps(const WalkRun *run, int64_t first, int64_t n) {
    return walk_ok(run, run->ops->advance(run->context, first, n, false));
}
