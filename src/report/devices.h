/* mdmini --device: the processor and the GPUs of this machine, and what they support. */
#ifndef MD_REPORT_DEVICES_H
#define MD_REPORT_DEVICES_H

#include <stdio.h>

#include "deck/deck.h"

/* As text or JSON. */
void md_devices_print(FILE *stream, MdListFormat format);

#endif
