/* What macros cannot do: after preprocessing, the words of CUDA C++ that need to be understood are replaced.
 *
 *   __global__                        goes; the name that follows is a kernel
 *   __launch_bounds__(n, ...)         goes; n belongs to the kernel
 *   __shared__ T x[..]                becomes thread_local: one place for all variables, which the emulator can fill,
 *                                     save and restore
 *   extern __shared__ T x[]           becomes a pointer to the dynamic shared memory */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

typedef struct Text {
    char *data;
    size_t length, room;
} Text;

static void put(Text *text, const char *data, size_t length) {
    if (text->length + length + 1 > text->room) {
        text->room = 2 * (text->length + length + 1);
        text->data = realloc(text->data, text->room);
        if (!text->data) abort();
    }
    memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = 0;
}

static void put_text(Text *text, const char *data) { put(text, data, strlen(data)); }

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool word_is(const char *word, size_t length, const char *other) {
    return strlen(other) == length && memcmp(word, other, length) == 0;
}

/* The end of what begins with ( or [ at `at`. */
static const char *past_brackets(const char *at) {
    int depth = 0;
    for (; *at; at++) {
        if (*at == '(' || *at == '[') depth++;
        if ((*at == ')' || *at == ']') && --depth == 0) return at + 1;
    }
    return at;
}

static const char *past_blanks(const char *at) {
    while (isspace((unsigned char)*at)) at++;
    return at;
}

static const char *past_literal(const char *at) {
    char quote = *at++;
    while (*at && *at != quote && *at != '\n') at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* Finds a whole word in the text from `from` on and blanks it. */
static bool take_word(Text *text, size_t from, const char *word) {
    size_t length = strlen(word);
    for (char *at = text->data + from; (at = strstr(at, word)); at += length)
        if ((at == text->data || !is_word(at[-1])) && !is_word(at[length]) &&
            past_blanks(at + length)[0] != '"') { /* extern "C" stays */
            memset(at, ' ', length);
            return true;
        }
    return false;
}

/* From behind `extern __shared__` to the semicolon: T x[]; `before` is what stood in front of the words. */
static const char *put_dynamic(Text *out, const char *at) {
    const char *end = strchr(at, ';'), *bracket = end;
    if (!end) return at;
    for (const char *p = at; p < end; p++)
        if (*p == '[') {
            bracket = p;
            break;
        }
    const char *name_end = bracket;
    while (name_end > at && isspace((unsigned char)name_end[-1])) name_end--;
    const char *name = name_end;
    while (name > at && is_word(name[-1])) name--;
    /* attributes of alignment mean nothing for the pointer */
    Text type = {NULL, 0, 0};
    for (const char *p = at; p < name;) {
        size_t length = 0;
        while (p + length < name && is_word(p[length])) length++;
        if (word_is(p, length, "alignas") || word_is(p, length, "__attribute__"))
            p = past_brackets(past_blanks(p + length));
        else {
            put(&type, p, length ? length : 1);
            p += length ? length : 1;
        }
    }
    put_text(out, type.data ? type.data : "");
    put_text(out, "*const ");
    put(out, name, (size_t)(name_end - name));
    put_text(out, " = (");
    put_text(out, type.data ? type.data : "");
    put_text(out, "*)emulator_self->dynamic_shared");
    free(type.data);
    return end;
}

typedef struct Kernels {
    Text entries;
    char seen[16384]; /* names, each between blanks */
} Kernels;

static void add_kernel(Kernels *kernels, const char *name, size_t length, const Text *bounds) {
    char word[256];
    snprintf(word, sizeof word, " %.*s ", (int)length, name);
    if (strstr(kernels->seen, word) || strlen(kernels->seen) + length + 3 > sizeof kernels->seen)
        return; /* declared before */
    strcat(kernels->seen, word);
    const char *parts[] = {"    {\"", "\", &EmulatorEntry<&", ">::call, EmulatorEntry<&", ">::n, EmulatorEntry<&"};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        put_text(&kernels->entries, parts[k]);
        put(&kernels->entries, name, length);
    }
    put_text(&kernels->entries, ">::bytes, ");
    put_text(&kernels->entries, bounds->length ? bounds->data : "0");
    put_text(&kernels->entries, "},\n");
}

/* The first argument of __launch_bounds__. */
static void first_argument(Text *bounds, const char *open, const char *close) {
    int depth = 0;
    const char *end = open + 1;
    for (; end < close - 1; end++) {
        if (strchr("([{", *end)) depth++;
        if (strchr(")]}", *end)) depth--;
        if (*end == ',' && depth == 0) break;
    }
    bounds->length = 0;
    put_text(bounds, "(");
    put(bounds, open + 1, (size_t)(end - open - 1));
    put_text(bounds, ")");
}

static void put_footer(Text *out, const Kernels *kernels) {
    put_text(out, "\n# 1 \"emulator\"\nstatic const EmulatorKernel emulator_kernels[] = {\n");
    put_text(out, kernels->entries.data ? kernels->entries.data : "");
    put_text(out, "    {nullptr, nullptr, 0, nullptr, 0}};\n"
                  "static thread_local char emulator_anchor;\n"
                  "extern \"C\" __attribute__((visibility(\"default\"))) void emulator_touch_shared() {\n"
                  "    *(volatile char *)&emulator_anchor = 0;\n}\n"
                  "extern \"C\" __attribute__((visibility(\"default\"))) const EmulatorProgram emulator_program;\n"
                  "const EmulatorProgram emulator_program = {&emulator_services, &emulator_self, emulator_kernels,\n"
                  "    sizeof emulator_kernels / sizeof emulator_kernels[0] - 1};\n");
}

char *emulator_rewrite(const char *source) {
    Text out = {NULL, 0, 0}, bounds = {NULL, 0, 0};
    Kernels *kernels = calloc(1, sizeof *kernels);
    size_t statement = 0; /* where in out the present one begins */
    bool kernel = false;  /* a name is awaited */
    if (!kernels) abort();
    put_text(&out, "");
    for (const char *at = source; *at;) {
        if (*at == '"' || *at == '\'') {
            const char *end = past_literal(at);
            put(&out, at, (size_t)(end - at));
            at = end;
            continue;
        }
        if (!is_word(*at)) {
            if (strchr(";{}", *at)) statement = out.length + 1;
            if (*at == ';' || *at == '{') kernel = false;
            put(&out, at++, 1);
            continue;
        }
        size_t length = 0;
        while (is_word(at[length])) length++;
        const char *end = at + length, *next = past_blanks(end);
        if (word_is(at, length, "__global__")) {
            kernel = true;
            bounds.length = 0;
        } else if (word_is(at, length, "__launch_bounds__")) {
            end = past_brackets(next);
            first_argument(&bounds, next, end);
        } else if (word_is(at, length, "__shared__")) {
            if (take_word(&out, statement, "extern")) end = put_dynamic(&out, end);
            else put_text(&out, "thread_local");
        } else {
            if (kernel && *next == '(' && !word_is(at, length, "__attribute__") && !word_is(at, length, "alignas")) {
                add_kernel(kernels, at, length, &bounds);
                kernel = false;
            }
            if (word_is(at, length, "__attribute__") || word_is(at, length, "alignas")) end = past_brackets(next);
            put(&out, at, (size_t)(end - at));
        }
        at = end;
    }
    put_footer(&out, kernels);
    free(kernels->entries.data);
    free(kernels);
    free(bounds.data);
    return out.data;
}
