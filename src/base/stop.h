/* When to stop early: signals and the time that the run was given.
 *
 * SIGTERM, SIGINT, SIGUSR1 and the end of the time only leave a mark, which the step loop looks at: a load from memory.
 * A second SIGTERM or SIGINT ends the process at once with 128 + signal; so does the first one as long as input is read,
 * when there is nothing to save and the process may wait for a pipe without end. */
#ifndef MD_BASE_STOP_H
#define MD_BASE_STOP_H

#include <stdbool.h>

/* At the start of the program: SIGTERM and SIGINT end it, SIGUSR1 waits for md_stop_watch, also across exec. A signal that
 * the caller of the program ignores stays ignored. */
void md_stop_start(void);
/* Takes the signals over, for a run whose input has been read. */
void md_stop_watch(void);
/* SIGUSR1 ends the process: it is no run. */
void md_stop_release(void);

/* Stops after so many seconds from now; a later call replaces an earlier one. At most 0: at once. */
void md_stop_after(double seconds);

bool md_stop_requested(void);
/* The number of the signal, or of the signal that the end of the time counts as; 0: no stop is requested. */
int md_stop_signal(void);
/* As if that signal had come: another process of the run has got it. */
void md_stop_request(int signal);
/* Because the time was over. */
bool md_stop_timed_out(void);
/* "SIGTERM", "the walltime"; NULL: no stop is requested. */
const char *md_stop_reason(void);

#endif
