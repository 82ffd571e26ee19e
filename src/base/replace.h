/* Files that appear whole or not at all. */
#ifndef MD_BASE_REPLACE_H
#define MD_BASE_REPLACE_H

#include <stdio.h>

#include "base/status.h"

/* Has write(file, data) write aside, to path.tmp, and renames that to path, so that a reader never sees half of it.
 * MD_ERROR_OUTPUT when something failed, which write need not look for; then nothing is left behind. */
MdStatus md_replace_file(const char *path, void (*write)(FILE *file, const void *data), const void *data,
                         MdErrors *errors);

#endif
