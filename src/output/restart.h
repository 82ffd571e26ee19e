/* The restart file: named sections of bytes, each with a checksum, and one over all.
 *
 *   head      "mdmini restart", version, byte order; its checksum
 *   section   name, number of bytes; checksum of these; the bytes, filled up to a multiple of 8; their checksum
 *   end       a section of that name: the checksum over the checksums of all sections, in order
 *
 * Numbers are little endian. A file is written as FILE.tmp, flushed to the disk, and renamed
 * once, so that FILE is a complete restart file at every moment; the one before it stays as FILE.prev, if
 * the writer knows that it is valid. */
#ifndef MD_OUTPUT_RESTART_H
#define MD_OUTPUT_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { MD_RESTART_VERSION = 1, MD_RESTART_NAME_BYTES = 24 };

typedef struct MdRestart MdRestart;

/* --- writing: any failure is kept, and told by md_restart_commit --- */

/* Begins FILE.tmp. keep: FILE is known to be a good one, of another moment, and stays as FILE.prev; else FILE.prev stays as
 * it is, which may be all that is left. NULL, with the problem in errors (MD_ERROR_OUTPUT). */
MdRestart *md_restart_create(const char *path, bool keep, MdErrors *errors);
/* Begins a section of so many bytes, which follow in pieces. */
MdStatus md_restart_begin(MdRestart *restart, const char *name, uint64_t n_bytes);
MdStatus md_restart_write(MdRestart *restart, const void *data, uint64_t n_bytes);
/* Ends the file and renames it to FILE; frees restart in any case. After a failure, of writing or before (so_far), FILE and
 * FILE.prev are as before and FILE.tmp is removed. Exception: *stands, the new file is FILE, but keeping the one before as
 * FILE.prev, or flushing the folder, failed. */
MdStatus md_restart_commit(MdRestart *restart, MdStatus so_far, bool *stands);

/* --- reading --- */

/* Opens a file and checks all of it. NULL when it is none, is damaged or of a newer version: the reason is in errors
 * (MD_ERROR_INPUT), and the older generation, where there is one, is named. */
MdRestart *md_restart_open(const char *path, MdErrors *errors);
/* Bytes of a section; UINT64_MAX when there is none of that name. */
uint64_t md_restart_bytes(const MdRestart *restart, const char *name);
/* Makes the section the one that is read, from its beginning. An error when it is not there, or not of n_bytes. */
MdStatus md_restart_find(MdRestart *restart, const char *name, uint64_t n_bytes);
MdStatus md_restart_read(MdRestart *restart, void *data, uint64_t n_bytes);
/* Goes on by so many bytes of the section that is read. */
MdStatus md_restart_skip(MdRestart *restart, uint64_t n_bytes);
/* A section as text, from malloc; NULL when it is not there. */
char *md_restart_text(MdRestart *restart, const char *name);
void md_restart_close(MdRestart *restart); /* accepts NULL */

#endif
