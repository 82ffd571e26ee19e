/* mdmini: arguments, plan, run, report, exit code. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "report/listing.h"
#include "report/report.h"
#include "simulation.h"

static char *join_arguments(int n, char *const *arguments) {
    char *text = md_copy_text("mdmini");
    for (int k = 0; k < n; k++) {
        char *longer = md_format("%s %s", text, arguments[k]);
        free(text);
        text = longer;
    }
    return text;
}

/* GCC's OpenMP waits at a barrier by spinning for milliseconds. On a machine that others use as well that is deadly: a
 * thread that waits takes the core of the one it waits for, and steps take thirty times as long; a shorter spin
 * costs nothing measurable on a quiet machine. The library reads its settings before main, so the program sets them
 * and starts itself again, once. Whoever sets one of the two variables keeps what was set. */
static void calm_openmp(char **argv) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) execv("/proc/self/exe", argv);
    /* where that is not possible, the run goes on as it is */
}

/* Plans and, unless only a check is wanted, runs. */
static int run(int n_arguments, char *const *arguments, bool check_only) {
    MdErrors *errors = md_errors_create();
    MdLog *log = md_log_create(stdout);
    char *command = join_arguments(n_arguments, arguments);
    MdSimulation *simulation = NULL;
    MdDeck *deck = md_deck_read(n_arguments, arguments, errors);
    if (deck) simulation = md_simulation_plan(deck, false, command, log, errors);
    if (simulation && check_only) md_report_plan(&simulation->record);
    if (simulation && !check_only) {
        MdStatus status = md_simulation_run(simulation);
        md_report_run(&simulation->record, status);
    }
    md_errors_print(errors, stderr);
    int code = (int)md_errors_status(errors);
    md_simulation_destroy(simulation);
    md_deck_destroy(deck);
    md_log_destroy(log);
    md_errors_destroy(errors);
    free(command);
    return code;
}

int main(int argc, char **argv) {
    calm_openmp(argv);
    /* A file-size limit, or a reader that went away, is then a failed write, with a message, not a death. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    bool check_only = false;
    int n = 0;
    for (int k = 1; k < argc; k++) {
        MdListFormat format;
        bool listed = true;
        if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) md_print_help(stdout);
        else if (strcmp(argv[k], "--version") == 0) md_print_version(stdout);
        else if (md_parse_listing(argv[k], "--list-options", &format)) md_options_print(stdout, format);
        else if (md_parse_listing(argv[k], "--list-variants", &format)) md_print_variants(stdout, format);
        else listed = false;
        if (listed) return fflush(stdout) == 0 && !ferror(stdout) ? MD_OK : MD_ERROR_OUTPUT;
        if (strcmp(argv[k], "--check") == 0) {
            check_only = true;
        } else if (argv[k][0] == '-' && argv[k][1] != '\0') {
            fprintf(stderr, "mdmini: error: unknown argument %s; see mdmini --help\n", argv[k]);
            return MD_ERROR_INPUT;
        } else {
            argv[n++] = argv[k];
        }
    }
    return run(n, argv, check_only);
}
