/* The option table as data, made from options.def and choices.def. */
#include "deck/table.h"

#include <stdlib.h>
#include <string.h>

#define X(name, word, ...)   word,
#define FORM                 X
#define BATH                 X
#define CHOICES(set, values) static const char *const words_##set[] = {values NULL};
#include "deck/choices.def"
CHOICES(NONE, )
CHOICES(SHIFT, MD_SHIFTS(X))

#define OPTION(section, key, type, value, low, high, set, unit, kind, help)                                            \
    {#section,       #key,        #section "." #key,                                                                   \
     MD_TYPE_##type, value,       low,                                                                                 \
     high,           words_##set, unit,                                                                                \
     MD_KIND_##kind, help,        offsetof(MdConfig, section##_##key)},
static const MdOptionRow rows[MD_N_OPTIONS] = {
#include "deck/options.def"
};
#undef OPTION

const MdOptionRow *md_option_row(int option) {
    md_require(option >= 0 && option < MD_N_OPTIONS);
    return &rows[option];
}

const char *md_option_name(int option) { return md_option_row(option)->name; }
MdOptionKind md_option_kind(int option) { return md_option_row(option)->kind; }

int md_option_by_name(const char *name) {
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (strcmp(rows[k].name, name) == 0) return k;
    return -1;
}

bool md_option_is_switch(int option) {
    const MdOptionRow *row = md_option_row(option);
    return row->type == MD_TYPE_CHOICE && row->kind == MD_KIND_PERFORMANCE && option != MD_OPTION_system_random;
}

const char *const *md_switch_words(int option) {
    md_require(md_option_is_switch(option));
    return rows[option].words;
}

int md_switch_value(const MdConfig *config, int option) {
    md_require(md_option_is_switch(option));
    return *(const int *)(const void *)((const char *)config + rows[option].offset);
}

void md_switch_set(MdConfig *config, int option, int value) {
    md_require(md_option_is_switch(option));
    *(int *)(void *)((char *)config + rows[option].offset) = value;
}

int md_option_find(const char *section, const char *key) {
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (strcmp(rows[k].section, section) == 0 && strcmp(rows[k].key, key) == 0) return k;
    return -1;
}

static const MdFormerKey former_keys[] = {
    {"launch", "dependent", "off",
     "programmatic dependent launch gained less than 2 %, and lost as much at other sizes"},
    {"memory", "carry", "swap", "with copy a reordering took a second pass, to save 32 bytes an atom"},
    {"neighbor", "bank_order", "auto",
     "matrices make rows in that order anyway, and by threads it cost a rebuild as much as forces gained"},
    {"neighbor", "index", "32", "16 halved the bytes of the list of force.kernel = list, and no run was faster by it"},
    {"neighbor", "rows_per_warp", "auto",
     "16 rows, or 8 with memory.brick_grid = device and device-2; the other choice was up to 3 % slower"},
};

const MdFormerKey *md_former_key(const char *section, const char *key) {
    for (size_t k = 0; k < sizeof former_keys / sizeof *former_keys; k++)
        if (strcmp(former_keys[k].section, section) == 0 && strcmp(former_keys[k].key, key) == 0)
            return &former_keys[k];
    return NULL;
}

int md_section_find(const char *section) {
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (strcmp(rows[k].section, section) == 0) return k;
    return -1;
}

int md_section_end(int first) {
    int end = first;
    while (end < MD_N_OPTIONS && strcmp(rows[end].section, rows[first].section) == 0) end++;
    return end;
}

const char *md_kind_word(MdOptionKind kind) {
    static const char *const words[] = {"physics", "performance", "output", "debug"};
    return words[kind];
}

int md_option_word(const MdOptionRow *row, const char *word) {
    for (int value = 0; row->words[value]; value++)
        if (strcmp(row->words[value], word) == 0) return value;
    return -1;
}

bool md_option_takes_auto(const MdOptionRow *row) {
    bool list = row->type == MD_TYPE_INTS || row->type == MD_TYPE_REALS || row->type == MD_TYPE_CHOICES;
    return row->type == MD_TYPE_INT_AUTO || row->type == MD_TYPE_REAL_AUTO ||
           (list && strcmp(row->default_text, "auto") == 0);
}

/* A limit as one would write it: 1e15, not 1e+15. */
static void add_limit(MdText *text, double limit) {
    char number[32];
    snprintf(number, sizeof number, "%g", limit);
    if (strtod(number, NULL) != limit) snprintf(number, sizeof number, "%.17g", limit);
    char *exponent = strstr(number, "e+");
    if (exponent) {
        const char *digits = exponent + 2 + strspn(exponent + 2, "0");
        memmove(exponent + 1, digits, strlen(digits) + 1);
    }
    md_text_add(text, "%s", number);
}

static void add_range(MdText *text, const MdOptionRow *row) {
    if (row->low == MD_ABOVE_ZERO) {
        md_text_add(text, " above 0");
    } else {
        md_text_add(text, " from ");
        add_limit(text, row->low);
    }
    if (row->high == MD_NO_LIMIT) return;
    md_text_add(text, row->low == MD_ABOVE_ZERO ? ", up to " : " to ");
    add_limit(text, row->high);
}

static void add_words(MdText *text, const MdOptionRow *row) {
    for (int k = 0; row->words[k]; k++) md_text_add(text, "%s%s", k ? ", " : "", row->words[k]);
}

char *md_option_allowed(const MdOptionRow *row) {
    MdText text = {0};
    switch (row->type) {
    case MD_TYPE_INT:
    case MD_TYPE_INT_AUTO: md_text_add(&text, "a whole number"); break;
    case MD_TYPE_REAL:
    case MD_TYPE_REAL_AUTO: md_text_add(&text, "a number"); break;
    case MD_TYPE_TIME: md_text_add(&text, "seconds, M:SS or H:MM:SS,"); break;
    case MD_TYPE_INTS: md_text_add(&text, "whole numbers"); break;
    case MD_TYPE_REALS: md_text_add(&text, "numbers"); break;
    case MD_TYPE_CHOICE: add_words(&text, row); break;
    case MD_TYPE_CHOICES:
        md_text_add(&text, "one or more of ");
        add_words(&text, row);
        break;
    case MD_TYPE_TEXT: md_text_add(&text, "text, \"\" for none"); break;
    case MD_TYPE_PATH: md_text_add(&text, "a path%s", row->default_text[0] ? "" : ", \"\" for none"); break;
    }
    bool number = row->type <= MD_TYPE_TIME, numbers = row->type == MD_TYPE_INTS || row->type == MD_TYPE_REALS;
    if (number || numbers) add_range(&text, row);
    if (numbers) md_text_add(&text, ", separated by blanks");
    if (md_option_takes_auto(row)) md_text_add(&text, ", or auto");
    return md_text_take(&text);
}
