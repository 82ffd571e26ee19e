/* Numbers as text; numbers in order. */
#ifndef MD_BASE_NUMBER_H
#define MD_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { MD_NUMBER_BYTES = 32 }; /* the longest double in 17 digits takes 25 with its end */

/* The shortest of the forms with 15, 16 and 17 digits that reads back to the same bits. Returns text. */
const char *md_number_write(char text[MD_NUMBER_BYTES], double value);

/* A limit for a message: the next number of six digits that is not above, or not below, `value` (above 0). What is within the printed limit
 * is within the limit. Returns text. */
const char *md_number_at_most(char text[MD_NUMBER_BYTES], double value);
const char *md_number_at_least(char text[MD_NUMBER_BYTES], double value);

/* An amount of memory or disk in the unit that suits it: `512 bytes`, `30.0 KiB`, `38.1 MiB`, `1.50 GiB`. For a call of
 * printf: md_bytes(n).text. */
typedef struct MdBytes {
    char text[MD_NUMBER_BYTES];
} MdBytes;
MdBytes md_bytes(uint64_t bytes);

/* Ascending. */
void md_sort_reals(double *values, size_t n);

#endif
