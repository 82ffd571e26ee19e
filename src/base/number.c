#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *md_number_write(char text[MD_NUMBER_BYTES], double value) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, MD_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}

enum { LIMIT_DIGITS = 6 };

static const char *write_limit(char text[MD_NUMBER_BYTES], double value, double side) {
    snprintf(text, MD_NUMBER_BYTES, "%.*g", LIMIT_DIGITS, value);
    const double last_digit = pow(10, floor(log10(value)) - (LIMIT_DIGITS - 1));
    if (side * (strtod(text, NULL) - value) < 0)
        snprintf(text, MD_NUMBER_BYTES, "%.*g", LIMIT_DIGITS, value + side * last_digit);
    return text;
}

const char *md_number_at_most(char text[MD_NUMBER_BYTES], double value) { return write_limit(text, value, -1); }
const char *md_number_at_least(char text[MD_NUMBER_BYTES], double value) { return write_limit(text, value, 1); }

MdBytes md_bytes(uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    MdBytes result;
    double amount = (double)bytes;
    size_t unit = 0;
    while (amount >= 1024 && unit + 1 < sizeof units / sizeof *units) amount /= 1024, unit++;
    snprintf(result.text, sizeof result.text, "%.*f %s", unit == 0 ? 0 : amount < 10 ? 2 : 1, amount, units[unit]);
    return result;
}

static int compare_reals(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void md_sort_reals(double *values, size_t n) { qsort(values, n, sizeof *values, compare_reals); }
