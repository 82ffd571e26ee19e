/* Inside the deck module: one value, from text, to text, and into its field. */
#ifndef MD_DECK_VALUE_H
#define MD_DECK_VALUE_H

#include "deck/table.h"

typedef union MdValue {
    int64_t integer;
    double real;
    int choice;
    MdIntList integers; /* of INTS and CHOICES */
    MdRealList reals;
    char *text; /* of TEXT and PATH, from malloc */
} MdValue;

/* Reads text (blanks at its ends removed, not empty) as a value of the row. A relative path is taken from `folder`
 * where the row says so. NULL when it could; else the problem, `read "x"; allowed: ...`, from malloc. */
char *md_value_read(const MdOptionRow *row, const char *text, const char *folder, MdValue *value);

/* Puts the value into its field; the field owns it from then on, and its old value is freed. */
void md_value_store(const MdOptionRow *row, MdConfig *config, const MdValue *value);

/* The field's value as written in a deck; text from malloc. */
char *md_value_write(const MdOptionRow *row, const MdConfig *config);

/* An absolute path for `path` seen from `folder` (NULL: the working directory), links resolved where the file exists;
 * text from malloc. */
char *md_path_absolute(const char *folder, const char *path);

#endif
