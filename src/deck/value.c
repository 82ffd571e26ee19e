/* Values. Numbers are read by a strict grammar of our own: strtod alone would take hexadecimal, `infinity`, leading
 * blanks and the decimal comma of a locale, and say nothing when an integer does not fit. */
#define _XOPEN_SOURCE 700
#include "deck/value.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "base/number.h"

enum { MAX_TEXT_BYTES = 4096 }; /* the longest path of Linux */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* [sign] digits [. digits] [e [sign] digits], with at least one digit before the exponent, and nothing else. */
static bool is_number(const char *text) {
    const char *c = text + (*text == '+' || *text == '-');
    int digits = 0;
    for (; is_digit(*c); c++) digits = 1;
    if (*c == '.')
        for (c++; is_digit(*c); c++) digits = 1;
    if (!digits) return false;
    if (*c == 'e' || *c == 'E') {
        c++;
        c += *c == '+' || *c == '-';
        if (!is_digit(*c)) return false;
        while (is_digit(*c)) c++;
    }
    return *c == '\0';
}

static bool in_range(const MdOptionRow *row, double value) { return value >= row->low && value <= row->high; }

/* *value = 10 * *value + digit; false when that does not fit. */
static bool append_digit(int64_t *value, int digit) {
    if (*value > (INT64_MAX - digit) / 10) return false;
    *value = 10 * *value + digit;
    return true;
}

/* A whole number, however it is written (1000, 1e3, 2.5e3), without a detour through floating point. */
static bool read_whole(const char *text, int64_t *value) {
    if (!is_number(text)) return false;
    const char *c = text + (*text == '+' || *text == '-');
    int64_t whole = 0;
    long n_fraction = 0, n_zeros = 0; /* digits after the point; zeros at the end, held back until a digit follows */
    for (bool fraction = false; is_digit(*c) || *c == '.'; c++) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        n_fraction += fraction;
        if (*c == '0') {
            n_zeros++;
            continue;
        }
        for (; n_zeros > 0 && whole > 0; n_zeros--)
            if (!append_digit(&whole, 0)) return false;
        n_zeros = 0;
        if (!append_digit(&whole, *c - '0')) return false;
    }
    long exponent = *c ? strtol(c + 1, NULL, 10) : 0; /* saturates */
    if (whole == 0) {
        *value = 0;
        return true;
    }
    if (exponent > 1000000 || exponent < -1000000) return false;
    for (long power = n_zeros + exponent - n_fraction; power != 0; power--)
        if (power < 0 || !append_digit(&whole, 0)) return false;
    *value = *text == '-' ? -whole : whole;
    return true;
}

static bool read_integer(const MdOptionRow *row, const char *text, int64_t *value) {
    return read_whole(text, value) && in_range(row, (double)*value);
}

static bool read_real(const MdOptionRow *row, const char *text, double *value) {
    if (!is_number(text)) return false;
    *value = strtod(text, NULL);
    if (isinf(*value)) return false;
    /* A number too small for a double is not zero. */
    const char *first = strpbrk(text, "123456789eE");
    if (*value == 0 && first && is_digit(*first)) return false;
    return in_range(row, *value);
}

/* Digits, their value below limit: a field of H:MM:SS. */
static bool read_field(const char **text, int64_t limit, int64_t *value) {
    const char *c = *text;
    *value = 0;
    for (; is_digit(*c) && *value < limit; c++) *value = 10 * *value + (*c - '0');
    const bool good = c > *text && *value < limit;
    *text = c;
    return good;
}

/* Seconds as a number, or with minutes and hours before them: M:SS, H:MM:SS. The last fields have two digits. */
static bool read_time(const MdOptionRow *row, const char *text, double *value) {
    if (!strchr(text, ':')) return read_real(row, text, value);
    int64_t total = 0, field = 0;
    const char *c = text;
    if (!read_field(&c, INT64_C(1000000000), &total)) return false;
    for (int n_fields = 1; *c; n_fields++) {
        if (n_fields == 3 || *c != ':') return false;
        const char *begin = ++c;
        if (!read_field(&c, 60, &field) || c - begin != 2) return false;
        total = 60 * total + field;
    }
    *value = (double)total;
    return in_range(row, *value);
}

/* Once output.xyz_velocities had the word on for velo. */
static int read_choice(const MdOptionRow *row, const char *word) {
    const bool is_former = strcmp(row->name, "output.xyz_velocities") == 0 && strcmp(word, "on") == 0;
    return md_option_word(row, is_former ? "velo" : word);
}

/* Entry k of a list. */
static bool read_entry(const MdOptionRow *row, const char *word, int k, MdValue *value) {
    if (row->type == MD_TYPE_REALS) return read_real(row, word, &value->reals.values[k]);
    if (row->type == MD_TYPE_INTS) return read_integer(row, word, &value->integers.values[k]);
    int choice = md_option_word(row, word);
    value->integers.values[k] = choice;
    return choice >= 0;
}

/* A mistake from habits of other programs: the sign of a comment, commas, or a unit after the number; NULL: none. */
static const char *find_habit(const MdOptionRow *row, const char *read) {
    if (strpbrk(read, ";!") || strstr(read, "//")) return "; comments begin with #, after a blank";
    const bool number = row->type <= MD_TYPE_REAL_AUTO || row->type == MD_TYPE_INTS || row->type == MD_TYPE_REALS;
    char *end;
    strtod(read, &end);
    const bool suffix = end > read && isalpha((unsigned char)end[*end == ' ']);
    if (number && strchr(read, ',') && read[strspn(read, "+-.,eE0123456789")] == '\0')
        return "; numbers are written without commas";
    if (!number || !suffix) return NULL;
    return row->kind == MD_KIND_PHYSICS ? "; only a number, no suffix: system.units says the units"
                                        : "; only a number, no suffix";
}

/* The problem with a value: `read "x"; allowed: ...; did you mean "y"?`. */
static char *refuse(const MdOptionRow *row, const char *read) {
    char *shown = md_show_text(read, strlen(read), MD_SHOW_VALUE), *allowed = md_option_allowed(row);
    MdNearest nearest = md_nearest_begin(read);
    const bool number = isdigit((unsigned char)*read); /* one is no slip for another */
    for (int k = 0; row->words[k] && !number; k++) md_nearest_offer(&nearest, row->words[k]);
    if (md_option_takes_auto(row)) md_nearest_offer(&nearest, "auto");
    const char *habit = find_habit(row, read);
    char *hint = habit ? md_copy_text(habit)
                       : md_foreign_value(row, read); /* however near another may look (gpu is one letter from cpu) */
    if (!hint) hint = md_nearest_question(md_nearest_name(&nearest));
    char *problem = md_format("read \"%s\"; allowed: %s%s", shown, allowed, hint);
    free(hint);
    free(shown);
    free(allowed);
    return problem;
}

static char *read_list(const MdOptionRow *row, const char *text, MdValue *value) {
    char *copy = md_copy_text(text), *rest = NULL, *foreign = md_foreign_value(row, text); /* `p p f` */
    char *problem = foreign ? refuse(row, text) : NULL;
    int n = 0;
    for (char *word = strtok_r(copy, " \t", &rest); word && !problem; word = strtok_r(NULL, " \t", &rest), n++) {
        if (n == MD_MAX_LIST)
            problem = md_format("read more than %d entries; allowed: at most %d", MD_MAX_LIST, MD_MAX_LIST);
        else if (!read_entry(row, word, n, value)) problem = refuse(row, word);
    }
    free(foreign);
    free(copy);
    *(row->type == MD_TYPE_REALS ? &value->reals.n : &value->integers.n) = n;
    return problem;
}

/* "..." without its quotes, \" and \\ inside taken back; NULL when it does not end where the text ends. */
static char *unquote(const char *text) {
    char *plain = md_copy_text(text + 1), *to = plain;
    for (const char *c = text + 1; *c; c++) {
        if (*c == '"') {
            *to = '\0';
            if (c[1] == '\0') return plain;
            break;
        }
        if (*c == '\\' && (c[1] == '"' || c[1] == '\\')) c++;
        *to++ = *c;
    }
    free(plain);
    return NULL;
}

char *md_path_absolute(const char *folder, const char *path) {
    char *joined;
    if (path[0] == '/') {
        joined = md_copy_text(path);
    } else {
        char *here = folder ? md_copy_text(folder) : getcwd(NULL, 0);
        joined = md_format("%s/%s", here ? here : ".", path);
        free(here);
    }
    char *resolved = realpath(joined, NULL);
    if (!resolved) return joined;
    free(joined);
    return resolved;
}

static char *read_text(const MdOptionRow *row, const char *text, const char *folder, MdValue *value) {
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) return refuse(row, text);
    if (strlen(text) > MAX_TEXT_BYTES)
        return md_format("read %zu bytes; allowed: at most %d", strlen(text), MAX_TEXT_BYTES);
    char *plain = text[0] == '"' ? unquote(text) : md_copy_text(text);
    bool none_allowed = row->default_text[0] == '\0';
    if (!plain || (plain[0] == '\0' && !none_allowed)) {
        free(plain);
        return refuse(row, text);
    }
    value->text = plain;
    if (row->type == MD_TYPE_PATH && row->kind == MD_KIND_PHYSICS && plain[0]) {
        value->text = md_path_absolute(folder, plain);
        free(plain);
    }
    return NULL;
}

char *md_value_read(const MdOptionRow *row, const char *text, const char *folder, MdValue *value) {
    bool ok = true, automatic = md_option_takes_auto(row) && strcmp(text, "auto") == 0;
    memset(value, 0, sizeof *value); /* lists are compared and copied whole */
    switch (row->type) {
    case MD_TYPE_INT:
    case MD_TYPE_INT_AUTO:
        if (automatic) value->integer = MD_AUTO_INT;
        else ok = read_integer(row, text, &value->integer);
        break;
    case MD_TYPE_REAL:
    case MD_TYPE_REAL_AUTO:
        if (automatic) value->real = NAN;
        else ok = read_real(row, text, &value->real);
        break;
    case MD_TYPE_TIME: ok = read_time(row, text, &value->real); break;
    case MD_TYPE_CHOICE: ok = (value->choice = read_choice(row, text)) >= 0; break;
    case MD_TYPE_CHOICES:
    case MD_TYPE_INTS:
    case MD_TYPE_REALS: return automatic ? NULL : read_list(row, text, value);
    case MD_TYPE_TEXT:
    case MD_TYPE_PATH: return read_text(row, text, folder, value);
    }
    return ok ? NULL : refuse(row, text);
}

void md_value_store(const MdOptionRow *row, MdConfig *config, const MdValue *value) {
    void *field = (char *)config + row->offset;
    switch (row->type) {
    case MD_TYPE_INT:
    case MD_TYPE_INT_AUTO: *(int64_t *)field = value->integer; break;
    case MD_TYPE_REAL:
    case MD_TYPE_REAL_AUTO:
    case MD_TYPE_TIME: *(double *)field = value->real; break;
    case MD_TYPE_CHOICE: *(int *)field = value->choice; break;
    case MD_TYPE_CHOICES:
    case MD_TYPE_INTS: *(MdIntList *)field = value->integers; break;
    case MD_TYPE_REALS: *(MdRealList *)field = value->reals; break;
    case MD_TYPE_TEXT:
    case MD_TYPE_PATH:
        free(*(char **)field);
        *(char **)field = value->text;
        break;
    }
}

static void add_real(MdText *text, double value) {
    char number[MD_NUMBER_BYTES];
    md_text_add(text, "%s", md_number_write(number, value));
}

static void add_quoted(MdText *text, const char *plain) {
    size_t n = strlen(plain);
    bool bare = n > 0 && plain[0] != '"' && !strpbrk(plain, "#") && plain[0] != ' ' && plain[n - 1] != ' ';
    if (bare) {
        md_text_add(text, "%s", plain);
        return;
    }
    md_text_add(text, "\"");
    for (const char *c = plain; *c; c++) md_text_add(text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    md_text_add(text, "\"");
}

char *md_value_write(const MdOptionRow *row, const MdConfig *config) {
    const void *field = (const char *)config + row->offset;
    const MdIntList *integers = field;
    const MdRealList *reals = field;
    MdText text = {0};
    int64_t integer;
    switch (row->type) {
    case MD_TYPE_INT:
    case MD_TYPE_INT_AUTO:
        integer = *(const int64_t *)field;
        if (integer == MD_AUTO_INT) md_text_add(&text, "auto");
        else md_text_add(&text, "%lld", (long long)integer);
        break;
    case MD_TYPE_REAL:
    case MD_TYPE_REAL_AUTO:
    case MD_TYPE_TIME:
        if (md_is_auto(*(const double *)field)) md_text_add(&text, "auto");
        else add_real(&text, *(const double *)field);
        break;
    case MD_TYPE_CHOICE: md_text_add(&text, "%s", row->words[*(const int *)field]); break;
    case MD_TYPE_CHOICES:
        for (int k = 0; k < integers->n; k++) md_text_add(&text, "%s%s", k ? " " : "", row->words[integers->values[k]]);
        break;
    case MD_TYPE_INTS:
        for (int k = 0; k < integers->n; k++)
            md_text_add(&text, "%s%lld", k ? " " : "", (long long)integers->values[k]);
        break;
    case MD_TYPE_REALS:
        for (int k = 0; k < reals->n; k++) {
            if (k) md_text_add(&text, " ");
            add_real(&text, reals->values[k]);
        }
        break;
    case MD_TYPE_TEXT:
    case MD_TYPE_PATH: add_quoted(&text, *(char *const *)field); break;
    }
    if (text.length == 0) md_text_add(&text, "auto"); /* an empty list */
    return md_text_take(&text);
}
