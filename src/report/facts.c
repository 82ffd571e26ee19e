#include "report/facts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

MdFacts md_facts_begin(MdJson *json, const char *key) {
    md_json_begin_object(json, key);
    return (MdFacts){.json = json};
}

void md_facts_finish(MdFacts *facts) {
    md_json_begin_object(facts->json, "missing");
    for (int k = 0; k < facts->n_missing; k++) md_json_text(facts->json, facts->missing[k].path, facts->missing[k].why);
    md_json_end_object(facts->json);
    md_json_end_object(facts->json);
}

void md_facts_enter(MdFacts *facts, const char *key) {
    const size_t length = strlen(facts->path);
    snprintf(facts->path + length, sizeof facts->path - length, "%s.", key);
    md_json_begin_object(facts->json, key);
}

void md_facts_leave(MdFacts *facts) {
    char *last = facts->path + strlen(facts->path) - 1; /* the dot */
    *last = '\0';
    last = strrchr(facts->path, '.');
    if (last) last[1] = '\0';
    else facts->path[0] = '\0';
    md_json_end_object(facts->json);
}

void md_facts_lack(MdFacts *facts, const char *key, const char *why) {
    md_json_text(facts->json, key, NULL);
    md_require(facts->n_missing < MD_MAX_MISSING);
    snprintf(facts->missing[facts->n_missing].path, MD_FACT_PATH, "%s%s", facts->path, key);
    facts->missing[facts->n_missing++].why = why;
}

void md_facts_real(MdFacts *facts, const char *key, const MdReading *reading) {
    if (reading->missing) md_facts_lack(facts, key, reading->missing);
    else md_json_real(facts->json, key, reading->value);
}

void md_facts_int(MdFacts *facts, const char *key, const MdReading *reading) {
    if (reading->missing) md_facts_lack(facts, key, reading->missing);
    else md_json_int(facts->json, key, (int64_t)reading->value);
}

void md_facts_bool(MdFacts *facts, const char *key, const MdReading *reading) {
    if (reading->missing) md_facts_lack(facts, key, reading->missing);
    else md_json_bool(facts->json, key, reading->value != 0);
}

void md_facts_text(MdFacts *facts, const char *key, const MdReadText *text) {
    if (text->missing) md_facts_lack(facts, key, text->missing);
    else md_json_text(facts->json, key, text->text);
}
