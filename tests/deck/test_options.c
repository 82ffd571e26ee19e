/* The option table as it is shown: inputs/README.md is what the program prints, the text fits a terminal, and the JSON
 * holds every row. When the page differs, print it anew: `mdmini --list-options=markdown > inputs/README.md`. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "deck/reader.h"

static char *print_options(MdListFormat format) {
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    md_require(stream != NULL);
    md_options_print(stream, format);
    fclose(stream);
    return text;
}

/* A whole file; NULL when there is none. */
static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    MdText text = {0};
    for (int c; (c = fgetc(file)) != EOF;) md_text_add(&text, "%c", c);
    fclose(file);
    return md_text_take(&text);
}

static void test_page(const char *source) {
    char *path = md_format("%s/inputs/README.md", source), *page = read_file(path),
         *printed = print_options(MD_LIST_MARKDOWN);
    check_context("%s", path);
    if (CHECK(page != NULL) && !CHECK(strcmp(page, printed) == 0)) {
        size_t k = 0, line = 1;
        for (; page[k] && page[k] == printed[k]; k++) line += page[k] == '\n';
        printf("    differs first in line %zu; mdmini --list-options=markdown > inputs/README.md\n", line);
    }
    free(path);
    free(page);
    free(printed);
}

static void test_text(void) {
    char *text = print_options(MD_LIST_TEXT);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        check_context("%s", line);
        CHECK(strlen(line) <= 100);
    }
    free(text);
    text = print_options(MD_LIST_TEXT);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        char *start = md_format("\n  %s = ", md_option_row(k)->key);
        check_context("%s", md_option_name(k));
        CHECK(strstr(text, start) != NULL);
        free(start);
    }
    free(text);
}

static void test_json(void) {
    char *text = print_options(MD_LIST_JSON), *at = text;
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        char *start =
            md_format("\"section\": \"%s\",\n    \"key\": \"%s\"", md_option_row(k)->section, md_option_row(k)->key);
        check_context("%s", md_option_name(k));
        char *found = strstr(at, start);
        if (CHECK(found != NULL)) at = found + 1; /* in the order of the table */
        free(start);
    }
    free(text);
}

/* What the rest of the module takes for granted of the table itself. */
static void test_table(void) {
    MdDeck *deck = md_deck_create();
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        check_context("%s", row->name);
        CHECK(md_option_find(row->section, row->key) == k); /* no name twice */
        int first = md_section_find(row->section);
        CHECK(first <= k && k < md_section_end(first)); /* the rows of a section stand together */
        CHECK(row->help[0] != '\0');
        CHECK(row->low <= row->high);
        bool choice = row->type == MD_TYPE_CHOICE || row->type == MD_TYPE_CHOICES;
        CHECK(choice == (row->words[0] != NULL));
        /* The default stands there as it would be written: a value is compared with it as text. */
        CHECK(md_deck_asks_nothing(deck, k));
    }
    md_deck_destroy(deck);
}

int main(void) {
    const char *source = getenv("MDMINI_SOURCE");
    if (!source) {
        printf("skipped: MDMINI_SOURCE does not name the source tree\n");
        return CHECK_SKIPPED;
    }
    test_table();
    test_page(source);
    test_text();
    test_json();
    return check_finish();
}
