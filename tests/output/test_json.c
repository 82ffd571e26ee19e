/* JSON text: exact forms, and every double back to its bits; amounts of memory in words.
 *
 * `test_json FILE` writes a sample for test_json_python.py. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "base/json.h"
#include "base/number.h"

static void check_text(MdJson *json, const char *expected) {
    if (!CHECK(strcmp(md_json_string(json), expected) == 0))
        printf("  it is:    %s\n  expected: %s\n", md_json_string(json), expected);
    md_json_destroy(json);
}

static void check_real(double value, const char *expected) {
    MdJson *json = md_json_create();
    md_json_real(json, NULL, value);
    check_text(json, expected);
}

static void check_quoted(const char *value, const char *expected) {
    MdJson *json = md_json_create();
    md_json_text(json, NULL, value);
    check_text(json, expected);
}

static double random_double(void) {
    static uint64_t state = 88172645463325252u;
    double value;
    do { /* xorshift64 (Marsaglia 2003): every bit pattern but zero, so all exponents and denormals */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(&value, &state, sizeof value);
    } while (!isfinite(value));
    return value;
}

static void test_forms(void) {
    check_real(1, "1.0");
    check_real(-0.0, "-0.0");
    check_real(0.1, "0.1");
    check_real(1e300, "1e+300");
    check_real(1.0 / 3, "0.3333333333333333");
    check_real(NAN, "null");
    check_real(-INFINITY, "null");
    check_quoted("plain", "\"plain\"");
    check_quoted("a\"b\\c\nd\te\rf\x01g\x7f", "\"a\\\"b\\\\c\\nd\\te\\u000df\\u0001g\\u007f\"");
    check_quoted("Gr\xc3\xb6\xc3\x9f"
                 "e \xe2\x82\xac \xf0\x9d\x84\x9e",
                 "\"Gr\xc3\xb6\xc3\x9f"
                 "e \xe2\x82\xac \xf0\x9d\x84\x9e\"");
    /* Not UTF-8: a byte that starts nothing, a cut sequence, an overlong slash, a surrogate, above U+10FFFF. */
    check_quoted("\xff", "\"\\ufffd\"");
    check_quoted("\xe2\x82", "\"\\ufffd\\ufffd\"");
    check_quoted("\xc0\xaf", "\"\\ufffd\\ufffd\"");
    check_quoted("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check_quoted("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    check_quoted(NULL, "null");
}

static void test_layout(void) {
    MdJson *json = md_json_create();
    md_json_begin_object(json, NULL);
    md_json_int(json, "n", INT64_MIN);
    md_json_begin_array(json, "steps");
    md_json_int(json, NULL, 0);
    md_json_int(json, NULL, 100);
    md_json_end_array(json);
    md_json_begin_array(json, "stages");
    md_json_begin_object(json, NULL);
    md_json_bool(json, "ran", true);
    md_json_end_object(json);
    md_json_end_array(json);
    md_json_begin_object(json, "empty");
    md_json_end_object(json);
    md_json_end_object(json);
    check_text(json, "{\n  \"n\": -9223372036854775808,\n  \"steps\": [0, 100],\n  \"stages\": [\n    {\n      "
                     "\"ran\": true\n    }\n  ],\n  \"empty\": {}\n}\n");
}

static void test_round_trip(void) {
    for (int k = 0; k < 20000; k++) {
        double value = random_double();
        MdJson *json = md_json_create();
        md_json_real(json, NULL, value);
        double back = strtod(md_json_string(json), NULL);
        check_context("%a", value);
        bool good = CHECK(memcmp(&back, &value, sizeof value) == 0);
        md_json_destroy(json);
        if (!good) break;
    }
}

/* Numbers beside their hexadecimal form, and every byte but zero in texts. */
static void write_sample(const char *path) {
    MdJson *json = md_json_create();
    md_json_begin_object(json, NULL);
    md_json_begin_array(json, "numbers");
    for (int k = 0; k < 2000; k++) {
        double value = k == 0 ? -0.0 : k == 1 ? DBL_MIN / 3 : k == 2 ? DBL_MAX : k == 3 ? 12345678 : random_double();
        char *text = md_format("%a", value);
        md_json_begin_array(json, NULL);
        md_json_text(json, NULL, text);
        md_json_real(json, NULL, value);
        md_json_end_array(json);
        free(text);
    }
    md_json_end_array(json);
    md_json_begin_array(json, "bytes");
    for (int byte = 1; byte < 256; byte++) md_json_text(json, NULL, (const char[]){(char)byte, 'x', 0});
    md_json_end_array(json);
    md_json_text(json, "name \"1\"",
                 "Gr\xc3\xb6\xc3\x9f"
                 "e\n");
    md_json_int(json, "largest", INT64_MAX);
    md_json_bool(json, "no", false);
    md_json_real(json, "nothing", NAN);
    md_json_end_object(json);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(md_json_string(json), file) >= 0);
    if (file) fclose(file);
    md_json_destroy(json);
}

static void test_amounts(void) {
    const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},
                 {1023, "1023 bytes"},
                 {30720, "30.0 KiB"},
                 {1 << 20, "1.00 MiB"},
                 {39951205, "38.1 MiB"},
                 {UINT64_C(3) << 29, "1.50 GiB"},
                 {UINT64_MAX, "16384.0 PiB"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        CHECK(strcmp(md_bytes(cases[k].bytes).text, cases[k].text) == 0);
}

int main(int n, char **arguments) {
    if (n == 2) {
        write_sample(arguments[1]);
        return check_finish();
    }
    test_amounts();
    test_forms();
    test_layout();
    test_round_trip();
    return check_finish();
}
