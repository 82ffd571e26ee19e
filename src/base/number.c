#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>

const char *md_number_write(char text[MD_NUMBER_BYTES], double value) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, MD_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}
