/* Files read into memory. */
#ifndef MD_BASE_STREAM_H
#define MD_BASE_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* Reads up to so many bytes of the stream (SIZE_MAX: all), ended by a zero; from malloc. NULL, with errno
 * set, when reading fails. */
char *md_stream_read(FILE *file, size_t limit, size_t *size);

/* The same of all of a file. */
char *md_file_read(const char *path, size_t *size);

#endif
