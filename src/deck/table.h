/* Inside the deck module: a row of the option table as data, and the names in it. */
#ifndef MD_DECK_TABLE_H
#define MD_DECK_TABLE_H

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "base/memory.h"
#include "deck/deck.h"

/* Limits as options.def writes them. Ranges are inclusive, so "above zero" is the smallest positive number. */
#define MD_ABOVE_ZERO DBL_TRUE_MIN
#define MD_NO_LIMIT   INFINITY

typedef enum MdOptionType {
    MD_TYPE_INT,
    MD_TYPE_INT_AUTO,
    MD_TYPE_REAL,
    MD_TYPE_REAL_AUTO,
    MD_TYPE_TIME,
    MD_TYPE_CHOICE,
    MD_TYPE_CHOICES,
    MD_TYPE_INTS,
    MD_TYPE_REALS,
    MD_TYPE_TEXT,
    MD_TYPE_PATH
} MdOptionType;

typedef struct MdOptionRow {
    const char *section, *key, *name; /* name: `section.key` */
    MdOptionType type;
    const char *default_text;
    double low, high;
    const char *const *words; /* of a choice, by value; NULL ends them */
    const char *unit;
    MdOptionKind kind;
    const char *help;
    size_t offset; /* of the field in MdConfig */
} MdOptionRow;

const MdOptionRow *md_option_row(int option);

/* Number of the row; -1 when there is none. */
int md_option_find(const char *section, const char *key);

/* A key that the table no longer has. */
typedef struct MdFormerKey {
    const char *section, *key;
    const char *value; /* as which the program now always runs */
    const char *reason;
} MdFormerKey;
const MdFormerKey *md_former_key(const char *section, const char *key); /* NULL: never was one */

/* The meaning of a name in other programs: `; did you mean "NAME"?`, or `; mdmini has no SUCH`; text from malloc, NULL: unknown.
 * For a name of a key or a section, also as `section.key`; and of a value of an option. */
char *md_foreign_name(const char *read);
char *md_foreign_value(const MdOptionRow *option, const char *read);

/* First row of the section, which is also where its rows begin: they stand together. -1 when there is none. */
int md_section_find(const char *section);
/* The row after the last one of the section that begins at `first`. */
int md_section_end(int first);

/* The allowed values, in words: "a whole number from 2 to 3"; text from malloc. */
char *md_option_allowed(const MdOptionRow *row);
bool md_option_takes_auto(const MdOptionRow *row);

/* The kind in words: "physics". */
const char *md_kind_word(MdOptionKind kind);

/* Value of a word of a choice; -1 when it is none. */
int md_option_word(const MdOptionRow *row, const char *word);

/* --- words for messages --- */

/* n bytes of input as they can be shown: control characters as \xNN, cut after about `limit` bytes. From malloc. */
char *md_show_text(const char *text, size_t n, size_t limit);
enum { MD_SHOW_VALUE = 60, MD_SHOW_PATH = 4096 }; /* limits */

/* A text as one word of a command for a POSIX shell, quoted where it needs that; from malloc. */
char *md_shell_word(const char *text);
/* The same for a path, which no program takes for an option: -x is ./-x. */
char *md_shell_path(const char *path);

#endif
