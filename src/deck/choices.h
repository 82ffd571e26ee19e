/* The named values of options (choices.def) as constants: each set is an enum. The words are in table.c. */
#ifndef MD_DECK_CHOICES_H
#define MD_DECK_CHOICES_H

#include "physics/baths.def"
#include "physics/forms.def"

#define X(name, word)        MD_##name,
#define FORM(name, ...)      MD_POTENTIAL_##name,
#define BATH(name, ...)      MD_THERMOSTAT_##name,
#define CHOICES(set, values) enum { values };
#include "deck/choices.def"
#undef X
#undef FORM
#undef BATH
#undef CHOICES

#endif
