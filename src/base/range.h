/* Numbers that are read from a file and used as counts or indices. */
#ifndef MD_BASE_RANGE_H
#define MD_BASE_RANGE_H

#include "base/status.h"

typedef struct MdRange {
    const char *what;
    double value, least, most; /* NaN lies outside */
} MdRange;

/* MD_ERROR_INPUT, with file, name and number, for the first of n that lies outside. */
MdStatus md_range_check(const MdRange *ranges, size_t n, const char *path, MdErrors *errors);

#define MD_RANGE_CHECK(ranges, path, errors)                                                                           \
    md_range_check((ranges), sizeof(ranges) / sizeof *(ranges), (path), (errors))

#endif
