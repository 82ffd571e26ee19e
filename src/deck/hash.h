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
 * values. In it are the keys that have an effect (of kind physics alone, or all), but for names and folders of the files that are
 * written. A file that is read stands for its content: `section.key = ` and XXH64 of its bytes, as 16 digits. */
MdDeckHash md_deck_hash(const MdDeck *deck, bool physics_alone);

#endif
