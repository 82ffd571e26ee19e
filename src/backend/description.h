/* The description of a device by its backend, for `mdmini --device`: facts in the order in which they are shown. */
#ifndef MD_BACKEND_DESCRIPTION_H
#define MD_BACKEND_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

enum { MD_MAX_DEVICE_FACTS = 48, MD_DEVICE_TEXT = 256 };

typedef struct MdDeviceFact {
    const char *key, *what, *unit; /* in JSON; for people; "" without a unit */
    int n;                         /* numbers; 0: a text */
    bool is_yes_or_no;
    int64_t numbers[3];
    char text[MD_DEVICE_TEXT];
} MdDeviceFact;

typedef struct MdDescription {
    char name[MD_DEVICE_TEXT];
    int n;
    MdDeviceFact facts[MD_MAX_DEVICE_FACTS];
} MdDescription;

void md_describe_text(MdDescription *description, const char *key, const char *what, const char *text);
void md_describe_number(MdDescription *description, const char *key, const char *what, int64_t number,
                        const char *unit);
void md_describe_three(MdDescription *description, const char *key, const char *what, const int64_t numbers[3]);
void md_describe_yes(MdDescription *description, const char *key, const char *what, bool is_so);

#endif
