/* The particles of a restart file for several processes: side by side the types of their blocks are those of the run. */
#include "checkpoint/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "check.h"
#include "integrate/verlet.h"
#include "state.h"
#include "thread_ranks.h"

static const char *const path = "checkpoint-blocks.restart";

/* The state of the cpu backend before the first step. */
static MdSystem *save(void) {
    const char *const words[] = {"system.cells=5",  "system.density=0.8442", "system.types=3", "system.masses=1 2 3",
                                 "run.backend=cpu", "run.threads=1",         "run.steps=10",   NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    MdRecord r = {.deck = deck,
                  .asked = md_deck_config(deck),
                  .ops = md_backend_find("cpu"),
                  .errors = md_errors_create(),
                  .resume.good_step = -1,
                  .effective_deck = md_deck_effective_text(deck, NULL, NULL),
                  .files.restart = md_copy_text(path)};
    MdConfig config = *r.asked;
    r.config = &config;
    r.resume.sessions = md_alloc(MD_MAX_SESSIONS, sizeof *r.resume.sessions, "sessions");
    const MdBathSaved bath = {0};
    void *context = NULL;
    bool stands = false;
    CHECK(md_system_plan(deck, md_backend_random(), &r.plan, r.errors) == MD_OK &&
          r.ops->resolve(&config, &r.plan, &r.choices, r.errors) == MD_OK &&
          r.ops->create(&context, &config, r.asked, system, r.errors) == MD_OK &&
          md_verlet_start(r.ops, context, false) == MD_OK &&
          md_checkpoint_save(&r, system, &bath, context, &stands) == MD_OK && stands);
    md_errors_print(r.errors, stdout);
    r.ops->destroy(context);
    md_free(r.resume.sessions);
    free(r.files.restart);
    free(r.effective_deck);
    md_errors_destroy(r.errors);
    md_deck_destroy(deck);
    return system;
}

static double largest_place(const MdSystem *system) {
    double largest = 0;
    for (int64_t k = 0; k < 3 * system->n_own; k++) largest = fmax(largest, fabs(system->position[k]));
    return largest;
}

typedef struct Part {
    MdCheckpoint *checkpoint; /* a file that is open has one reader */
    MdSystemPlan plan;
    MdErrors *errors;
    MdSystem *system;
} Part;

static void read_part(MdComm *comm, void *argument) {
    Part *part = argument;
    part->plan.comm = comm;
    part->system = md_checkpoint_system(part->checkpoint, &part->plan, part->errors);
}

static void test_blocks(const MdSystemPlan *plan, const MdSystem *saved, int n_ranks, MdErrors *errors) {
    Part parts[MOST_THREAD_RANKS];
    void *arguments[MOST_THREAD_RANKS] = {0};
    int64_t next = 0;
    for (int rank = 0; rank < n_ranks; rank++) {
        parts[rank] = (Part){md_checkpoint_open(path, errors), *plan, errors, NULL};
        arguments[rank] = &parts[rank];
    }
    run_thread_ranks(n_ranks, read_part, arguments);
    for (int rank = 0; rank < n_ranks; rank++) {
        const MdSystem *s = parts[rank].system;
        check_context("process %d of %d", rank, n_ranks);
        md_require(s != NULL);
        CHECK(s->n_atoms == saved->n_atoms && s->first == next);
        CHECK(memcmp(s->type, saved->type + s->first, (size_t)s->n_own * sizeof *s->type) == 0);
        CHECK(largest_place(s) > 0);
        next += s->n_own;
        md_system_destroy(parts[rank].system);
        md_checkpoint_close(parts[rank].checkpoint);
    }
    CHECK(next == saved->n_atoms);
}

int main(void) {
    MdErrors *errors = md_errors_create();
    MdSystem *saved = save();
    MdCheckpoint *checkpoint = md_checkpoint_open(path, errors);
    md_require(checkpoint != NULL);
    MdDeck *deck = md_checkpoint_deck(checkpoint, 0, NULL, errors);
    MdSystemPlan plan;
    CHECK(md_checkpoint_plan(checkpoint, deck, &plan, errors) == MD_OK);
    for (int n_ranks = 2; n_ranks <= 7; n_ranks++) test_blocks(&plan, saved, n_ranks, errors);
    unlink(path);
    md_checkpoint_close(checkpoint);
    md_deck_destroy(deck);
    md_system_destroy(saved);
    md_errors_destroy(errors);
    return check_finish();
}
