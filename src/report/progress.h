/* Progress of the time loop on the terminal: a bar with speed and time left, or a plain line now and then. */
#ifndef MD_REPORT_PROGRESS_H
#define MD_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct MdProgress MdProgress;

typedef struct MdProgressSpec {
    int mode;                /* MD_PROGRESS_AUTO, ...; auto: bar on a terminal, unless it is a dumb one; else lines */
    int64_t n_steps;         /* of the run */
    FILE *stream;            /* standard error */
    bool terminal;           /* isatty(fileno(stream)) */
    double (*clock_s)(void); /* md_clock_s; a test brings its own */
} MdProgressSpec;

/* Looks at TERM (dumb), the locale (a bar of blocks where it is UTF-8, else ASCII) and the width of the terminal. */
MdProgress *md_progress_create(const MdProgressSpec *spec);
void md_progress_destroy(MdProgress *progress); /* accepts NULL; takes the bar away */

/* After each step, with the number of steps done. Costs nothing to speak of: the clock is looked at only after so many
 * steps as take about a tenth of the time between two displays. */
void md_progress_update(MdProgress *progress, int64_t step);

/* Removes the bar, so that lines can be written, until resume; the next update that is
 * due draws it again. For any thread. Accept NULL. */
void md_progress_pause(MdProgress *progress);
void md_progress_resume(MdProgress *progress);

#endif
