/* Writing JSON: enough for reports, numbers that read back to the same bits, NaN as null. */
#ifndef MD_BASE_JSON_H
#define MD_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct MdJson MdJson;

MdJson *md_json_create(void);
void md_json_destroy(MdJson *json);

/* Every value takes a key inside an object, NULL inside an array and at the top. */
void md_json_begin_object(MdJson *json, const char *key);
void md_json_end_object(MdJson *json);
void md_json_begin_array(MdJson *json, const char *key);
void md_json_end_array(MdJson *json);
void md_json_text(MdJson *json, const char *key, const char *value); /* NULL becomes null */
void md_json_int(MdJson *json, const char *key, int64_t value);
void md_json_real(MdJson *json, const char *key, double value);
void md_json_bool(MdJson *json, const char *key, bool value);

void md_json_raw(MdJson *json, const char *key, const char *value); /* value is JSON already */

/* The text so far; stays the object's. */
const char *md_json_string(const MdJson *json);

/* Writes the text aside and renames it to path, so that a reader never sees half of it. */
MdStatus md_json_save(const MdJson *json, const char *path, MdErrors *errors);

#endif
