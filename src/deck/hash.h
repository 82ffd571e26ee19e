/* Fingerprints of a deck: equal for runs that were asked for the same, wherever their files lie. */
#ifndef MD_DECK_HASH_H
#define MD_DECK_HASH_H

#include <stdint.h>

#include "deck/deck.h"

typedef struct MdDeckHash {
    uint64_t value;
    const char *missing;      /* why there is none; NULL: it is known */
    bool holds[MD_N_OPTIONS]; /* the keys that are in it */
} MdDeckHash;

/* XXH64 of the lines `section.key = value`, a newline after each, in the order of the table, as the effective deck writes
 * values. It has the keys that have an effect (only those of kind physics, or all), except names and folders of output
 * files. An input file counts by its content: `section.key = ` and XXH64 of its bytes, as 16 digits. */
MdDeckHash md_deck_hash(const MdDeck *deck, bool physics_alone);

#endif
