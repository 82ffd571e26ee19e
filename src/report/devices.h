/* mdmini --device: what processor and GPUs are here, and what they allow. */
#ifndef MD_REPORT_DEVICES_H
#define MD_REPORT_DEVICES_H

#include <stdio.h>

#include "deck/deck.h"

/* As text or JSON. */
void md_devices_print(FILE *stream, MdListFormat format);

#endif
