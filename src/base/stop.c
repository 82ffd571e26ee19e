#define _POSIX_C_SOURCE 200809L
#include "base/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

/* The first of the signals that came; 0: none. Handlers run on any thread. */
static atomic_int requested;
static atomic_llong first_ns; /* when SIGTERM or SIGINT came for the first time; 0: not yet */

/* Senders that mean one stop may signal twice: timeout(1) and batch systems signal the process and then its group. */
static const long long echo_ns = 200000000;

static const struct {
    int signal;
    const char *name;
} watched[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGUSR1, "SIGUSR1"}, {SIGALRM, "the walltime"}};
enum { N_WATCHED = sizeof watched / sizeof *watched };

static void note(int signal) {
    int none = 0;
    atomic_compare_exchange_strong(&requested, &none, signal);
    if (signal != SIGTERM && signal != SIGINT) return;
    long long first = 0, now = (long long)(1e9 * md_clock_s());
    if (!atomic_compare_exchange_strong(&first_ns, &first, now) && now - first > echo_ns) _exit(128 + signal);
}

/* With the default action, which the system has set again (SA_RESETHAND). Process 1 of a container has none: it goes on. */
static void end(int signal) {
    raise(signal);
    _exit(128 + signal);
}

static void mask(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(how, &set, NULL);
}

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_flags = flags}, before;
    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
    action.sa_handler = handler;
    for (int k = 0; k < N_WATCHED && !(flags & SA_NODEFER); k++) sigaddset(&action.sa_mask, watched[k].signal);
    sigaction(signal, &action, NULL);
    mask(SIG_UNBLOCK, signal);
}

void md_stop_start(void) {
    handle(SIGTERM, end, SA_RESETHAND | SA_NODEFER);
    handle(SIGINT, end, SA_RESETHAND | SA_NODEFER);
    mask(SIG_BLOCK, SIGUSR1);
}

void md_stop_release(void) { mask(SIG_UNBLOCK, SIGUSR1); }

void md_stop_watch(void) {
    for (int k = 0; k < N_WATCHED; k++) handle(watched[k].signal, note, SA_RESTART);
}

void md_stop_after(double seconds) {
    struct itimerval timer = {0};
    if (seconds > 1e9) seconds = 1e9;
    if (seconds > 0) {
        timer.it_value.tv_sec = (time_t)seconds;
        timer.it_value.tv_usec = (suseconds_t)(1e6 * (seconds - (double)timer.it_value.tv_sec));
    }
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) {
        note(SIGALRM);
        return;
    }
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool md_stop_requested(void) { return atomic_load_explicit(&requested, memory_order_relaxed) != 0; }

int md_stop_signal(void) { return atomic_load(&requested); }

void md_stop_request(int signal) {
    int none = 0;
    atomic_compare_exchange_strong(&requested, &none, signal);
}

bool md_stop_timed_out(void) { return atomic_load(&requested) == SIGALRM; }

const char *md_stop_reason(void) {
    const int signal = atomic_load(&requested);
    for (int k = 0; k < N_WATCHED; k++)
        if (watched[k].signal == signal) return watched[k].name;
    return NULL;
}
