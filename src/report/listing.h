/* --help, --version, --list-variants. */
#ifndef MD_REPORT_LISTING_H
#define MD_REPORT_LISTING_H

#include <stdbool.h>
#include <stdio.h>

#include "deck/deck.h"

void md_print_help(FILE *stream);
void md_print_version(FILE *stream);
void md_print_variants(FILE *stream, MdListFormat format);

/* Whether argument is name, name=text, name=json or, where there is a page of it, name=markdown; anything else after `=` ends
 * the program with exit code 2 and a message. */
bool md_parse_listing(const char *argument, const char *name, bool has_page, MdListFormat *format);

#endif
