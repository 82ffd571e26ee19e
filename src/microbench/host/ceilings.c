#include "backends/backends.h"
#include "microbench/host/ceilings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/version.h"
#include "microbench/host/report.h"
#include "output/files.h"
#include "report/conditions.h"
#include "report/provenance.h"

static const int known_options[] = {
    MD_OPTION_run_backend, MD_OPTION_run_device,      MD_OPTION_run_threads,      MD_OPTION_output_directory,
    MD_OPTION_output_name, MD_OPTION_output_existing, MD_OPTION_parallel_timeout, -1};

/* All of a run. */
typedef struct Ceilings {
    const MdCeilingsBackend *const *backends;
    const MdDeck *deck;
    const char *command;
    MdCeilingsChoice choice;
    MdFiles files;
    MdCeilingResults results;
    const MdBackendOps *ops; /* of the provenance: the GPU, where one was measured */
    MdMachine machine;
    MdSensors *sensors; /* on it */
    MdLog *log;
    MdErrors *errors;
} Ceilings;

static void offer(MdText *known, MdNearest *nearest, const char *quote, const char *name) {
    md_nearest_offer(nearest, name);
    md_text_add(known, "%s%s%s%s", known->length ? ", " : "; allowed: ", quote, name, quote);
}

/* Rows of a group; rows of both backends count once. */
static void offer_rows(MdText *known, MdNearest *nearest, const char *group) {
    const MdCeiling *row, *other;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        bool again = false;
        for (int j = 0; j < k && (other = md_ceiling_row(j)) != NULL; j++)
            again = again || (strcmp(other->group, row->group) == 0 && strcmp(other->variant, row->variant) == 0);
        if (!again && strcmp(row->group, group) == 0) offer(known, nearest, "\"", row->variant);
    }
}

/* A row that is so named; of a backend, or, NULL, of any. */
static const MdCeiling *find_row(const char *name, const char *backend) {
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++)
        if (md_ceiling_is_named(row, name) && (!backend || strcmp(row->backend, backend) == 0)) break;
    return row;
}

static MdStatus check_name(const char *name, MdErrors *errors) {
    if (find_row(name, NULL)) return MD_OK;
    const char *colon = strchr(name, ':'), *group;
    char *word = md_format("%.*s", (int)(colon ? (size_t)(colon - name) : strlen(name)), name);
    const bool of_group = md_ceiling_group(word) != NULL;
    MdText known = {0};
    MdNearest nearest = md_nearest_begin(of_group ? colon + 1 + strspn(colon + 1, " ") : word);
    if (of_group) offer_rows(&known, &nearest, word);
    for (int k = 0; !of_group && (group = md_ceiling_group_name(k)) != NULL; k++) offer(&known, &nearest, "", group);
    char *question = md_nearest_question(md_nearest_name(&nearest));
    MdStatus status = md_fail(errors, MD_ERROR_INPUT, "--ceilings %s: no such %s%s%s", name,
                              of_group ? "row of this group" : "group", *question ? "" : known.text, question);
    free(question);
    free(known.text);
    free(word);
    return status;
}

/* Names of which only the other backend has rows; beside others their rows are left out. */
static void check_backend(const Ceilings *c) {
    const int backend = md_deck_config(c->deck)->run_backend;
    const char *asked = backend == MD_BACKEND_CPU ? "cpu" : "cuda", *const *names = c->choice.names;
    bool any = backend == MD_BACKEND_AUTO;
    for (int k = 0; k < c->choice.n_names; k++) any = any || find_row(names[k], asked);
    for (int k = 0; !any && k < c->choice.n_names; k++)
        md_fail(c->errors, MD_ERROR_INPUT, "--ceilings %s: this is of the %s backend; run.backend is %s", names[k],
                find_row(names[k], NULL)->backend, asked);
}

/* Rows of several processes are one group; all other groups are measured by one process. */
static void check_processes(const Ceilings *c) {
    const int n = md_comm_size(c->choice.comm);
    bool all_are_peers = c->choice.n_names > 0;
    for (int k = 0; k < c->choice.n_names; k++)
        all_are_peers = all_are_peers && strcmp(find_row(c->choice.names[k], NULL)->group, "peers") == 0;
    if (n > 1 && !all_are_peers && md_errors_status(c->errors) == MD_OK)
        md_fail(c->errors, MD_ERROR_INPUT,
                "--ceilings measures one process, and %d were started: start one, or name the group of messages "
                "between several, --ceilings peers",
                n);
}

/* Whether there is a machine for a backend; then its name is logged, and it is that of the provenance. */
static bool find_machine(Ceilings *c, const char *backend, const MdBackendOps *ops, MdErrors *errors) {
    MdMachine machine = {0};
    if (!ops) md_fail(errors, MD_ERROR_INPUT, "run.backend: this program was built without the %s backend", backend);
    if (!ops || ops->probe(md_deck_config(c->deck), c->choice.comm, &machine, errors) != MD_OK) return false;
    md_log(c->log, "%-9s %s; %s\n", backend, machine.name, machine.details);
    c->ops = ops;
    c->machine = machine;
    return true;
}

/* One backend: its rows, or why they are left out. */
static void measure_backend(Ceilings *c, const MdCeilingsBackend *backend) {
    void *machine = NULL;
    const int first = c->results.n;
    const MdStatus own = backend->open(&machine, md_deck_config(c->deck), c->choice.quick, c->choice.comm, c->errors);
    if (md_comm_worst_status(c->choice.comm, own, c->errors) != MD_OK) {
        if (own == MD_OK) backend->close(machine);
        return;
    }
    md_ceilings_measure(backend, machine, &c->choice, &c->results);
    backend->close(machine);
    md_ceilings_log(c->log, &c->results, first);
}

/* All of a backend. */
static void leave_out(Ceilings *c, const char *backend, const char *reason) {
    md_ceilings_leave_out(backend, reason, &c->choice, &c->results);
    md_log(c->log, "\nleft out  all of %s: %s\n", backend, reason);
}

static void measure(Ceilings *c) {
    const int backend = md_deck_config(c->deck)->run_backend;
    MdErrors *reasons = backend == MD_BACKEND_CUDA ? c->errors : md_errors_create();
    MdComm *comm = c->choice.comm;
    const bool has_cpu = backend != MD_BACKEND_CUDA && find_machine(c, "cpu", md_backend_find("cpu"), c->errors);
    bool has_cuda = backend != MD_BACKEND_CPU && find_machine(c, "cuda", md_backend_find("cuda"), reasons);
    if (md_comm_worst_status(comm, md_errors_status(c->errors), c->errors) == MD_OK) {
        char reason[MD_CEILING_REASON] = "";
        if (!has_cuda && backend != MD_BACKEND_CPU) snprintf(reason, sizeof reason, "%s", md_errors_text(reasons, 0));
        const char *why = backend == MD_BACKEND_CPU ? "run.backend = cpu"
                          : has_cuda                ? reason
                                                    : md_errors_text(reasons, 0);
        has_cuda = md_ceilings_agree(comm, has_cuda, reason);
        c->sensors = md_provenance_watch(&c->machine, md_deck_config(c->deck));
        md_sensors_begin(c->sensors);
        for (const MdCeilingsBackend *const *b = c->backends; *b; b++)
            if (strcmp((*b)->name, "cuda") == 0 ? has_cuda : has_cpu) measure_backend(c, *b);
        md_sensors_end(c->sensors);
        md_sensors_finish(c->sensors);
        if (!has_cpu) leave_out(c, "cpu", "run.backend = cuda");
        if (!has_cuda) leave_out(c, "cuda", why);
    }
    if (reasons != c->errors) md_errors_destroy(reasons);
}

static int count(const Ceilings *c, MdCeilingState state) {
    int n = 0;
    for (int k = 0; k < c->results.n; k++) n += c->results.rows[k].state == state;
    return n;
}

static void write_json(const Ceilings *c, bool passed) {
    MdJson *json = md_json_create();
    md_json_begin_object(json, NULL);
    md_json_text(json, "format", "mdmini-ceilings 1");
    md_json_bool(json, "quick", c->choice.quick); /* then its figures mean nothing */
    md_json_int(json, "ranks", md_comm_size(c->choice.comm));
    md_json_text(json, "verdict", passed ? "PASSED" : "FAILED");
    md_json_int(json, "left_out", count(c, MD_CEILING_LEFT_OUT)); /* rows of which it does not speak */
    const MdOrigin origin = {.command = c->command, .ops = c->ops, .machine = &c->machine, .sensors = c->sensors};
    const MdReading n_atom_steps = md_no_reading("there are no atoms");
    md_provenance_write(json, "provenance", &origin);
    md_conditions_write(json, md_sensors_conditions(c->sensors), c->machine.device_total_bytes > 0, &n_atom_steps);
    md_ceilings_write(json, &c->results);
    md_json_end_object(json);
    md_json_save(json, c->files.json, c->errors);
    md_json_destroy(json);
}

static void log_head(const Ceilings *c) {
    const MdVersion *version = md_version();
    md_log(c->log, "mdmini %s (%s%s)\n", version->version, version->commit, version->dirty ? ", dirty" : "");
    md_log(
        c->log,
        "ceilings  median of up to %d rounds; spread: of its interval of 95 %% confidence or more; data sheet: share\n"
        "          of the limit computed from the properties of the device; size: elements, or repetitions%s\n",
        MD_CEILING_ROUNDS, c->choice.quick ? "; --quick: tiny sizes, figures that mean nothing" : "");
    if (md_comm_size(c->choice.comm) > 1)
        md_log(c->log, "ranks     %d, joined by %s; times are those of the slowest\n", md_comm_size(c->choice.comm),
               md_comm_library(c->choice.comm));
}

static void run(Ceilings *c) {
    md_comm_set_patience(c->choice.comm, md_deck_config(c->deck)->parallel_timeout);
    log_head(c);
    measure(c);
    if (c->results.n == 0) return; /* the errors say why */
    if (!md_comm_is_root(c->choice.comm)) return;
    const int n_failed = count(c, MD_CEILING_FAILED);
    const bool nothing = count(c, MD_CEILING_PASSED) + n_failed == 0;
    if (nothing && md_errors_status(c->errors) == MD_OK)
        md_fail(c->errors, MD_ERROR_INPUT, "no row can be measured here: the reasons are above");
    if (nothing || md_files_prepare(c->deck, &c->files, c->log, c->errors) != MD_OK) return;
    const bool passed = n_failed == 0 && md_errors_status(c->errors) == MD_OK;
    if (count(c, MD_CEILING_PASSED) > 0) md_ceilings_log_roofs(c->log, &c->results);
    md_conditions_log_load(c->log, md_sensors_conditions(c->sensors));
    write_json(c, passed);
    const int n_left_out = count(c, MD_CEILING_LEFT_OUT);
    char *without = n_left_out ? md_format(", without the %d rows left out", n_left_out) : md_copy_text("");
    md_log(c->log, "\n%d measured, %d failed, %d left out; written to %s\nverdict: %s%s\n", count(c, MD_CEILING_PASSED),
           n_failed, n_left_out, c->files.json, passed ? "PASSED" : "FAILED", without);
    free(without);
    if (n_failed > 0) md_fail(c->errors, MD_ERROR_PHYSICS, "%d of the results are wrong", n_failed);
}

MdStatus md_ceilings_run(const MdCeilingsBackend *const *backends, int n_arguments, char *const *arguments, bool quick,
                         const char *command, MdComm *comm, MdLog *log, MdErrors *errors) {
    char **words = md_alloc((size_t)n_arguments + 1, sizeof *words, "arguments");
    const char **names = md_alloc((size_t)n_arguments + 1, sizeof *names, "arguments");
    int n_words = 0, n_names = 0;
    for (int k = 0; k < n_arguments; k++) {
        if (strchr(arguments[k], '=')) words[n_words++] = arguments[k];
        else if (check_name(arguments[k], errors) == MD_OK) names[n_names++] = arguments[k];
    }
    Ceilings c = {.backends = backends,
                  .command = command,
                  .choice = {n_names, names, quick, comm},
                  .log = log,
                  .errors = errors};
    MdDeck *deck = md_deck_read_overrides("ceilings", "--ceilings", known_options, n_words, words, errors);
    const MdFilesUse use = {.ceilings = true};
    c.deck = deck;
    if (deck) md_errors_finish(errors, md_deck_place, deck);
    if (deck) check_backend(&c);
    check_processes(&c);
    if (deck && md_comm_is_root(comm)) md_files_plan(deck, &use, &c.files, errors);
    if (md_comm_worst_status(comm, md_errors_status(errors), errors) == MD_OK) run(&c);
    md_files_free(&c.files);
    md_ceilings_free(&c.results);
    md_sensors_close(c.sensors);
    md_errors_finish(errors, NULL, NULL); /* errors outlive the deck */
    md_deck_destroy(deck);
    md_free(words);
    md_free(names);
    return md_comm_worst_status(comm, md_errors_status(errors), errors);
}
