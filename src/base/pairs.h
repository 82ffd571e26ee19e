/* The `key=value` pairs of a line, as extended XYZ has them (https://github.com/libAtoms/extxyz):
 *
 *   a key or value ends at a blank; blanks may stand around the `=`; a key without `=` has no value;
 *   one in double quotes may hold blanks, with \ before ", \ and any other character that stands for itself, \n for a
 *   line's end; single quotes serve as well, as ASE takes them;
 *   a value in [brackets] or {braces} is an array, and may hold others. */
#ifndef MD_BASE_PAIRS_H
#define MD_BASE_PAIRS_H

#include <stdbool.h>

typedef struct MdKeyValue {
    char *key;
    char *value;      /* without its quotes or outer brackets; NULL: the key stands alone */
    bool is_unclosed; /* the value begins with a quote or bracket that does not end */
} MdKeyValue;

/* The next pair of *text, which is moved after it; false at the end. Key and value are made in the text itself, which is overwritten. */
bool md_key_value_next(char **text, MdKeyValue *pair);

#endif
