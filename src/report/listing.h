/* What the program says of itself: --help, --version, --list-variants. Each returns the exit code. */
#ifndef MD_REPORT_LISTING_H
#define MD_REPORT_LISTING_H

#include <stdbool.h>
#include <stdio.h>

#include "deck/deck.h"

int md_print_help(FILE *stream);
int md_print_version(FILE *stream);
int md_print_variants(FILE *stream, MdListFormat format);

/* Whether argument is name, name=text, name=json or name=markdown; anything else after `=` ends the program with exit
 * code 2 and a message. */
bool md_parse_listing(const char *argument, const char *name, MdListFormat *format);

#endif
