/* What runs where: the lines of the log about program, machine and particles, before the first step. */
#ifndef MD_REPORT_SETUP_H
#define MD_REPORT_SETUP_H

#include "report/record.h"

/* Backend, device, processes, particles, memory and files, with warnings; each line begins with prefix: "", or "# " in a deck. */
void md_setup_log(MdRecord *record, const char *prefix);
/* In a deck: the options that are still auto, as the GPU decides them. */
void md_setup_log_open(MdRecord *record);
/* text: NULL, or from md_format; it is freed. */
void md_setup_warn(MdRecord *record, const char *prefix, char *text);

#endif
