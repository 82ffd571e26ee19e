/* mdmini: arguments, plan, run or bench, report, exit code. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/stop.h"
#include "deck/table.h"
#include "microbench/microbench.h"
#include "parallel/comm.h"
#include "parallel/comm_mpi.h"
#include "parallel/launcher.h"
#include "report/devices.h"
#include "report/listing.h"
#include "report/report.h"
#include "simulation.h"

/* The command, as it can be pasted into a shell. */
static char *join_arguments(int n, char *const *arguments) {
    MdText text = {0};
    md_text_add(&text, "mdmini");
    for (int k = 0; k < n; k++) {
        char *word = md_shell_word(arguments[k]);
        md_text_add(&text, " %s", word);
        free(word);
    }
    return md_text_take(&text);
}

/* The words that are no layers. Those that run nothing make no steps and measure nothing. */
static const struct {
    const char *text;
    bool has_value, runs_nothing;
} words[] = {{"--bench", true, false},         {"--ceilings", false, false},    {"--check", false, true},
             {"--device", false, true},        {"--help", false, true},         {"-h", false, true},
             {"--list-ceilings", false, true}, {"--list-options", false, true}, {"--list-variants", false, true},
             {"--melt", true, false},          {"--quick", false, false},       {"--recover", true, true},
             {"--restart", true, false},       {"--version", false, true}};
enum { N_WORDS = sizeof words / sizeof *words };

/* Whether a word runs nothing, be it with a format after it. */
static bool runs_nothing(char *const *argv) {
    for (int k = 1; argv[0] && argv[k]; k++)
        for (int w = 0; w < N_WORDS; w++)
            if (words[w].runs_nothing && strncmp(argv[k], words[w].text, strlen(words[w].text)) == 0) return true;
    return false;
}

/* GCC's OpenMP waits at a barrier by spinning for milliseconds. On a shared machine that is very slow: a
 * waiting thread takes the core of the one it waits for, and steps take thirty times as long; a shorter spin
 * costs nothing measurable on a quiet machine. The library reads its settings before main, so the program sets them
 * and starts itself again, once. A variable that the user sets is kept. */
static void calm_openmp(char **argv) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY") || runs_nothing(argv)) return;
    /* The library has bound this thread to one processor by now, which the program started again would take for all that
     * there are. Threads that are bound have a core each, and may spin. */
    if (getenv("OMP_PROC_BIND") || getenv("OMP_PLACES") || getenv("GOMP_CPU_AFFINITY")) return;
    if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) execv("/proc/self/exe", argv);
    /* where that is not possible, the run goes on as it is */
}

/* Arguments of every command. */
typedef struct Program {
    const char *command; /* as it can be pasted into a shell */
    MdComm *comm;
    MdErrors *errors;
    MdLog *log;
    FILE *out, *err; /* the visible output of this process: of rank 0 all, of the others nothing */
} Program;

/* The commands of the command line, besides layers. */
typedef struct Request {
    bool check_only;
    const char *restart; /* the file to go on from; NULL: a new run */
    const char *bench;   /* the stage; NULL: a run */
    int64_t melt_steps;  /* of the bench */
    bool ceilings, quick;
} Request;

/* Plans and, unless only a check is wanted, runs. */
static MdStatus run(int n_arguments, char *const *arguments, const Request *request, const Program *program) {
    MdErrors *errors = program->errors;
    MdComm *comm = program->comm;
    MdSimulation *simulation = NULL;
    MdDeck *deck = NULL;
    MdStatus status = MD_OK;
    const MdPurpose purpose = request->bench ? MD_TO_BENCH : request->check_only ? MD_TO_CHECK : MD_TO_RUN;
    if (purpose != MD_TO_RUN) md_stop_release();
    MdCheckpoint *resumed = request->restart ? md_checkpoint_open(request->restart, errors) : NULL;
    if (resumed) deck = md_checkpoint_deck(resumed, n_arguments, arguments, errors);
    else if (!request->restart && (!request->bench || md_bench_find(request->bench, errors) == MD_OK))
        deck = md_deck_read(n_arguments, arguments, errors);
    if (deck) md_errors_finish(errors, md_deck_place, deck);
    if (md_comm_worst_status(comm, deck ? MD_OK : md_errors_status(errors), errors) != MD_OK) {
        md_errors_finish(errors, NULL, NULL);
        md_deck_destroy(deck);
        deck = NULL;
    }
    if (deck) simulation = md_simulation_plan(deck, purpose, resumed, program->command, comm, program->log, errors);
    if (purpose == MD_TO_RUN) md_stop_watch();
    if (simulation && request->check_only) {
        if (md_simulation_check_files(simulation) == MD_OK && md_comm_is_root(comm))
            md_report_plan(&simulation->record);
        /* Only the text was requested. */
        const int fault = md_log_terminal_fault(program->log);
        if (fault) md_fail(errors, MD_ERROR_OUTPUT, "standard output: %s", strerror(fault));
    } else if (simulation && request->bench) {
        md_bench_run(&simulation->record, request->bench, request->melt_steps);
    } else if (simulation) {
        status = md_simulation_run(simulation);
        if (md_comm_is_root(comm)) md_report_run(&simulation->record, status);
    }
    if (md_errors_count(errors)) status = md_errors_status(errors);
    status = md_comm_worst_status(comm, status, errors);
    md_errors_print(errors, program->err);
    md_simulation_destroy(simulation);
    md_errors_finish(errors, NULL, NULL); /* they outlive the deck */
    md_deck_destroy(deck);
    md_checkpoint_close(resumed);
    return status;
}

#ifdef MDMINI_HAVE_MPI
static const struct MdCommEngine *const engine = &md_comm_mpi;
#else
static const struct MdCommEngine *const engine = NULL;
#endif

/* The exit code after printing. A reader that closed the pipe (`| head`) is no error, as with the log. */
static MdStatus end_information(MdErrors *errors) {
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE) return MD_OK;
    return md_fail(errors, MD_ERROR_OUTPUT, "standard output: %s", strerror(errno));
}

/* mdmini --recover FILE */
static MdStatus recover(const char *path, MdErrors *errors) {
    md_stop_release();
    MdH5mdRecovery recovery;
    if (md_h5md_recover(path, &recovery, errors) != MD_OK) return md_errors_status(errors);
    char *text = md_h5md_describe_recovery(path, &recovery);
    fputs(text, stdout);
    free(text);
    return end_information(errors);
}

/* Prints help, version or a list; whether argument asked for that. */
static bool print_information(const char *argument, FILE *stream) {
    MdListFormat format;
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) md_print_help(stream);
    else if (strcmp(argument, "--version") == 0) md_print_version(stream);
    else if (md_parse_listing(argument, "--list-options", true, &format)) md_options_print(stream, format);
    else if (md_parse_listing(argument, "--list-variants", true, &format)) md_print_variants(stream, format);
    else if (md_parse_listing(argument, "--list-ceilings", true, &format)) md_ceilings_print(stream, format);
    else if (md_parse_listing(argument, "--device", false, &format)) md_devices_print(stream, format);
    else return false;
    return true;
}

/* A listing with other words beside it, which would change nothing, is refused. */
static MdStatus check_listing(int argc, char *const *argv, int k, MdErrors *errors) {
    const bool is_list = strncmp(argv[k], "--list-", strlen("--list-")) == 0;
    if (argc == 2 || (!is_list && strncmp(argv[k], "--device", strlen("--device")) != 0)) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "%s must be the only argument, without %s (formats: =json%s); see mdmini --help", argv[k],
                   argv[k > 1 ? 1 : 2], is_list ? ", =markdown" : "");
}

/* A whole number from 0; -1 for anything else. */
static int64_t read_steps(const char *text) {
    char *end;
    errno = 0;
    const long long steps = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    return steps < 0 || *end || errno ? -1 : steps;
}

static char *nearest_argument(const char *argument) {
    MdNearest nearest = md_nearest_begin(argument);
    for (int w = 0; w < N_WORDS; w++)
        if (words[w].text[1] == '-') md_nearest_offer(&nearest, words[w].text);
    return md_nearest_question(md_nearest_name(&nearest));
}

/* An argument that begins with `-`, and that main does not take; next: the one after it, or NULL. */
static MdStatus refuse_argument(const char *argument, const char *next, MdErrors *errors) {
    bool known = false;
    for (int w = 0; w < N_WORDS; w++) known = known || (words[w].has_value && strcmp(argument, words[w].text) == 0);
    if (!known) {
        char *question = nearest_argument(argument);
        md_fail(errors, MD_ERROR_INPUT, "unknown argument %s%s", argument,
                *question ? question : "; see mdmini --help");
        free(question);
        return MD_ERROR_INPUT;
    }
    if (next && strcmp(argument, "--melt") == 0)
        return md_fail(errors, MD_ERROR_INPUT, "--melt: read \"%s\"; allowed: a whole number from 0; see mdmini --help",
                       next);
    return md_fail(errors, MD_ERROR_INPUT, "%s%s; see mdmini --help", argument,
                   !next                                ? ": no value"
                   : strcmp(argument, "--recover") == 0 ? " FILE must be the only argument"
                                                        : " is given twice");
}

/* Words that contradict each other. */
static MdStatus check_request(const Request *r, const Program *program) {
    const char *problem = NULL;
    if (r->bench && r->check_only) problem = "--check and --bench exclude each other";
    else if (!r->bench && r->melt_steps != MD_AUTO_INT) problem = "--melt belongs to --bench";
    else if (r->bench && r->restart) problem = "--restart and --bench exclude each other";
    else if (r->ceilings && (r->check_only || r->bench || r->restart))
        problem = "--ceilings excludes --check, --bench and --restart";
    else if (r->quick && !r->ceilings) problem = "--quick belongs to --ceilings";
    if (problem) return md_fail(program->errors, MD_ERROR_INPUT, "%s; see mdmini --help", problem);
    const int n = md_comm_size(program->comm);
    if (n == 1 || !r->bench) return MD_OK;
    return md_fail(program->errors, MD_ERROR_INPUT, "--bench measures one process, and %d were started", n);
}

/* Executes the command of the arguments. Only rank 0 does commands other than a run. */
static MdStatus dispatch(int argc, char **argv, const Program *program) {
    const bool is_root = md_comm_is_root(program->comm);
    MdErrors *errors = program->errors;
    Request request = {.melt_steps = MD_AUTO_INT};
    int n = 0;
    for (int k = 1; k < argc; k++) {
        const char *next = argv[k + 1]; /* NULL after the last */
        if (check_listing(argc, argv, k, errors) != MD_OK) return MD_ERROR_INPUT;
        if (print_information(argv[k], program->out)) return is_root ? end_information(errors) : MD_OK;
        if (strcmp(argv[k], "--recover") == 0 && argc == 3 && next) return is_root ? recover(next, errors) : MD_OK;
        if (strcmp(argv[k], "--check") == 0) {
            request.check_only = true;
        } else if (strcmp(argv[k], "--bench") == 0 && next && !request.bench) {
            request.bench = argv[++k];
        } else if (strcmp(argv[k], "--ceilings") == 0) {
            request.ceilings = true;
        } else if (strcmp(argv[k], "--quick") == 0) {
            request.quick = true;
        } else if (strcmp(argv[k], "--restart") == 0 && next && !request.restart) {
            request.restart = argv[++k];
        } else if (strcmp(argv[k], "--melt") == 0 && read_steps(next) >= 0) {
            request.melt_steps = read_steps(argv[++k]);
        } else if (argv[k][0] == '-' && argv[k][1] != '\0') {
            return refuse_argument(argv[k], next, errors);
        } else {
            argv[n++] = argv[k];
        }
    }
    if (check_request(&request, program) != MD_OK) return MD_ERROR_INPUT;
    if (!request.ceilings) return run(n, argv, &request, program);
    md_stop_release();
    return md_microbench_ceilings(n, argv, request.quick, program->command, program->comm, program->log, errors);
}

/* Processes with other arguments are other runs, which a launcher has only started together. */
static MdStatus check_same(MdComm *comm, const char *command, MdErrors *errors) {
    const int n = md_comm_size(comm);
    const uint64_t own = md_checksum(command, strlen(command));
    uint64_t *all = md_alloc((size_t)n, sizeof *all, "checksums");
    md_comm_allgather(comm, &own, sizeof own, all);
    bool same = true;
    for (int rank = 1; rank < n; rank++) same = same && all[rank] == all[0];
    md_free(all);
    if (same) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "%d processes were started together, with different arguments: give all the same to join them to "
                   "one run, or set "
                   "MDMINI_ALONE=1 to run each independently",
                   n);
}

int main(int argc, char **argv) {
    md_memory_start();
    md_stop_start();
    calm_openmp(argv);
    /* A file-size limit, or a reader that went away, is then a failed write, with a message, not a death. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    char *command = join_arguments(argc - 1, argv + 1);
    MdErrors *errors = md_errors_create();
    MdComm *comm = md_comm_create(engine, errors);
    MdStatus status = md_errors_status(errors);
    const bool speaks = status == MD_OK ? md_comm_is_root(comm) : md_launcher_speaks();
    FILE *nowhere = speaks ? NULL : fopen("/dev/null", "w");
    const Program program = {.command = command,
                             .comm = comm,
                             .errors = errors,
                             .log = md_log_create(speaks ? stdout : nowhere),
                             .out = speaks ? stdout : nowhere,
                             .err = speaks ? stderr : nowhere};
    if (status == MD_OK) status = check_same(comm, command, errors);
    if (status == MD_OK) status = dispatch(argc, argv, &program);
    md_errors_print(errors, program.err);
    md_log_destroy(program.log);
    md_errors_destroy(errors);
    md_comm_destroy(comm);
    if (nowhere) fclose(nowhere);
    free(command);
    return (int)status;
}
