/* Host clock for timing. */
#ifndef MD_BASE_CLOCK_H
#define MD_BASE_CLOCK_H

/* Seconds of the monotonic clock, from an arbitrary start. */
double md_clock_s(void);

#endif
