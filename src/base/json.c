#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/replace.h"

enum { MAX_DEPTH = 32 };

struct MdJson {
    MdText text;
    int depth;
    struct {
        bool array, filled;
        bool broken; /* each entry is on its own line */
    } level[MAX_DEPTH];
};

static void append_text(MdJson *json, const char *text) { md_text_add(&json->text, "%s", text); }

static void new_line(MdJson *json) {
    append_text(json, "\n");
    for (int i = 0; i < json->depth; i++) append_text(json, "  ");
}

MdJson *md_json_create(void) {
    MdJson *json = md_alloc(1, sizeof *json, "JSON text");
    append_text(json, "");
    return json;
}

void md_json_destroy(MdJson *json) {
    if (!json) return;
    free(json->text.text);
    md_free(json);
}

/* Length of the UTF-8 sequence at text, 0 when it is not one (RFC 3629: no overlong forms, no surrogates). */
static size_t utf8_length(const unsigned char *text) {
    unsigned char a = text[0], b = text[1];
    size_t length = a < 0x80 ? 1 : a >= 0xC2 && a <= 0xDF ? 2 : (a & 0xF0) == 0xE0 ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
    for (size_t k = 1; k < length; k++) /* stops at the final zero */
        if ((text[k] & 0xC0) != 0x80) return 0;
    bool outside =
        (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) || (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F);
    return outside ? 0 : length;
}

static void append_quoted(MdJson *json, const char *value) {
    append_text(json, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c;) {
        size_t length = utf8_length(c);
        char escape[8] = {'\\', (char)*c, 0};
        if (*c == '\n') escape[1] = 'n';
        else if (*c == '\t') escape[1] = 't';
        else if (*c < 0x20 || *c == 0x7F) snprintf(escape, sizeof escape, "\\u%04x", *c);
        else if (*c != '"' && *c != '\\') escape[0] = 0;
        if (length == 0) append_text(json, "\\ufffd"); /* the replacement character */
        else if (escape[0]) append_text(json, escape);
        else md_text_add(&json->text, "%.*s", (int)length, (const char *)c);
        c += length ? length : 1;
    }
    append_text(json, "\"");
}

/* The text before a value: comma, line break, key. Entries of an object, and objects in an array, take a line each;
 * numbers and words in an array share one. */
static void before_value(MdJson *json, const char *key, bool container) {
    if (json->depth == 0) {
        md_require(!key && json->text.length == 0);
        return;
    }
    int d = json->depth - 1;
    md_require(json->level[d].array == !key);
    bool own_line = !json->level[d].array || container;
    if (json->level[d].filled) append_text(json, own_line ? "," : ", ");
    if (own_line) {
        new_line(json);
        json->level[d].broken = true;
    }
    json->level[d].filled = true;
    if (!key) return;
    append_quoted(json, key);
    append_text(json, ": ");
}

static void begin(MdJson *json, const char *key, bool array) {
    before_value(json, key, true);
    md_require(json->depth < MAX_DEPTH);
    json->level[json->depth].array = array;
    json->level[json->depth].filled = json->level[json->depth].broken = false;
    json->depth++;
    append_text(json, array ? "[" : "{");
}

static void end(MdJson *json, bool array) {
    md_require(json->depth > 0 && json->level[json->depth - 1].array == array);
    json->depth--;
    if (json->level[json->depth].broken) new_line(json);
    append_text(json, array ? "]" : "}");
    if (json->depth == 0) append_text(json, "\n");
}

void md_json_begin_object(MdJson *json, const char *key) { begin(json, key, false); }
void md_json_end_object(MdJson *json) { end(json, false); }
void md_json_begin_array(MdJson *json, const char *key) { begin(json, key, true); }
void md_json_end_array(MdJson *json) { end(json, true); }

void md_json_text(MdJson *json, const char *key, const char *value) {
    before_value(json, key, false);
    if (value) append_quoted(json, value);
    else append_text(json, "null");
}

void md_json_int(MdJson *json, const char *key, int64_t value) {
    before_value(json, key, false);
    md_text_add(&json->text, "%" PRId64, value);
}

void md_json_raw(MdJson *json, const char *key, const char *value) {
    before_value(json, key, false);
    append_text(json, value);
}

/* JSON has no NaN and no infinity. */
void md_json_real(MdJson *json, const char *key, double value) {
    before_value(json, key, false);
    if (!isfinite(value)) {
        append_text(json, "null");
        return;
    }
    char text[MD_NUMBER_BYTES];
    append_text(json, md_number_write(text, value));
    if (!strpbrk(text, ".e")) append_text(json, ".0"); /* so that readers see a real, and -0 keeps its sign */
}

void md_json_bool(MdJson *json, const char *key, bool value) {
    before_value(json, key, false);
    append_text(json, value ? "true" : "false");
}

const char *md_json_string(const MdJson *json) { return json->text.text; }

static void write_text(FILE *file, const void *text) { fputs(text, file); }

MdStatus md_json_save(const MdJson *json, const char *path, MdErrors *errors) {
    return md_replace_file(path, write_text, json->text.text, errors);
}
