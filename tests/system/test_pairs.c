/* The key=value pairs of a line (base/pairs.h). */
#include <stdio.h>
#include <string.h>

#include "base/pairs.h"
#include "check.h"

/* The pairs as `key|value;`, `key;` for one alone, `key|value!` where a quote or bracket does not end. */
static void check_pairs(const char *line, const char *expected) {
    char text[512], found[512] = "";
    char *rest = strcpy(text, line);
    for (MdKeyValue pair; md_key_value_next(&rest, &pair);) {
        strcat(found, pair.key);
        if (pair.value) strcat(strcat(found, "|"), pair.value);
        strcat(found, pair.is_unclosed ? "!" : ";");
    }
    check_context("%s", line);
    if (!CHECK(strcmp(found, expected) == 0)) printf("found %s, expected %s\n", found, expected);
}

int main(void) {
    check_pairs("", "");
    check_pairs(" \t ", "");
    check_pairs("a=1 b = 2  c= 3\td =4", "a|1;b|2;c|3;d|4;");
    check_pairs("a=\"1 2\" b=\"\" c='x y' d", "a|1 2;b|;c|x y;d;");
    check_pairs("a=\"x \\\" b=\\\"1\\\" y\" c=\"\\\\\" \"k y\"=1", "a|x \" b=\"1\" y;c|\\;k y|1;");
    check_pairs("a=[1, 2] b=[[1,2],[3, 4]] c={5 6}", "a|1, 2;b|[1,2],[3, 4];c|5 6;");
    check_pairs("a=[\"]\", 2] b=[{] c", "a|\"]\", 2;b|{;c;");
    check_pairs("it's Tom's a=it's 'tis b", "it's;Tom's;a|it's;'tis;b;");
    check_pairs("a=b=c == d", "a|b=c;|=;d;");
    check_pairs("a=\"it is \"me\"\" b=2", "a|it is me\"\";b|2;");
    check_pairs("a=\"1 2", "a|\"1!2;");
    check_pairs("a=[1 2", "a|[1!2;");
    check_pairs("\"a b", "\"a;b;");
    check_pairs("a=", "a|;");
    check_pairs("a\\=b=c", "a=b|c;");
    check_pairs("a=\"x\\ny\"", "a|x\ny;");
    return check_finish();
}
