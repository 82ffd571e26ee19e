/* A reading of the machine: the figure, or the reason why there is none. A missing figure is never
 * zero. */
#ifndef MD_SENSORS_READING_H
#define MD_SENSORS_READING_H

#include <math.h>

typedef struct MdReading {
    double value;        /* NaN where there is none, */
    const char *missing; /* and then why, a text that stays; else NULL */
} MdReading;

typedef struct MdReadText {
    char text[96];
    const char *missing;
} MdReadText;

static inline MdReading md_reading(double value) { return (MdReading){.value = value}; }
static inline MdReading md_no_reading(const char *why) { return (MdReading){.value = (double)NAN, .missing = why}; }
static inline MdReadText md_no_text(const char *why) { return (MdReadText){.missing = why}; }

#endif
