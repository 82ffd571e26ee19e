/* Paths and folders of output files. */
#ifndef MD_OUTPUT_PATH_H
#define MD_OUTPUT_PATH_H

#include <stdbool.h>

/* Whether two paths name the same file, which need not exist. */
bool md_path_same(const char *a, const char *b);

/* The folder of a path; free(). */
char *md_path_folder(const char *path);

/* Brings the folder of a file to the disk: a new name there is on the disk when the folder is. False with errno; some file
 * systems cannot do that, and are taken at their word. */
bool md_path_sync_folder(const char *path);

/* Writes to a file that was deleted, moved or replaced succeed, but are lost. Returns what happened to
 * the open file that was at path; NULL while it is there. */
const char *md_path_lost(const char *path, int descriptor);

#endif
