/* Changes to the files of a resumed run: removed frames, and a rewritten trajectory. */
#ifndef MD_REPORT_CONTINUED_H
#define MD_REPORT_CONTINUED_H

#include "base/json.h"
#include "report/record.h"

/* Into the log; each line begins with prefix, and long ones are wrapped where there is none. */
void md_continued_log(const MdRecord *record, const char *prefix);

/* The keys of it, into the object that is open. */
void md_continued_write(MdJson *json, const MdRecord *record);

#endif
