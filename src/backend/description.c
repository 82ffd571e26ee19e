#include "backend/description.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

static MdDeviceFact *add(MdDescription *description, const char *key, const char *what, const char *unit) {
    md_require(description->n < MD_MAX_DEVICE_FACTS);
    MdDeviceFact *fact = &description->facts[description->n++];
    *fact = (MdDeviceFact){.key = key, .what = what, .unit = unit};
    return fact;
}

void md_describe_text(MdDescription *description, const char *key, const char *what, const char *text) {
    MdDeviceFact *fact = add(description, key, what, "");
    snprintf(fact->text, sizeof fact->text, "%s", text);
}

void md_describe_number(MdDescription *description, const char *key, const char *what, int64_t number,
                        const char *unit) {
    MdDeviceFact *fact = add(description, key, what, unit);
    fact->n = 1;
    fact->numbers[0] = number;
}

void md_describe_three(MdDescription *description, const char *key, const char *what, const int64_t numbers[3]) {
    MdDeviceFact *fact = add(description, key, what, "");
    fact->n = 3;
    memcpy(fact->numbers, numbers, sizeof fact->numbers);
}

void md_describe_yes(MdDescription *description, const char *key, const char *what, bool is_so) {
    MdDeviceFact *fact = add(description, key, what, "");
    fact->n = 1;
    fact->is_yes_or_no = true;
    fact->numbers[0] = is_so;
}
