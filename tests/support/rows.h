/* A list as a set of pairs, against brute force. */
#ifndef MD_TESTS_ROWS_H
#define MD_TESTS_ROWS_H

#include "backend/backend.h"

double rows_distance(const MdSystem *system, const double *position, int64_t i, int64_t j);
/* How far the pair precision may be off in a distance: the `position` line of tolerance.h. */
double rows_distance_error(const MdSystem *system, const double *position, int precision);
/* The list as a matrix: how often row i names j. False when rows are not a list at all. */
bool rows_count_entries(const MdRows *rows, int64_t n, unsigned char *count);
/* Number of pairs that are wrong: absent though nearer than their cutoff plus reach_in, present though further than the
 * largest cutoff plus reach_out, named twice, by themselves, in a full list by one row only, in a half list by both. The first
 * is printed when `tell`. */
int64_t rows_count_wrong(const MdSystem *system, const double *position, const unsigned char *count, bool half,
                         double reach_in, double reach_out, bool tell);

#endif
