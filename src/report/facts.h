/* Facts in a JSON report: unknown values are null, and the object `missing` beside the facts says why, by path
 * (`before.gpu.power_w`). */
#ifndef MD_REPORT_FACTS_H
#define MD_REPORT_FACTS_H

#include "base/json.h"
#include "sensors/reading.h"

enum { MD_MAX_MISSING = 96, MD_FACT_PATH = 64 };

typedef struct MdFacts {
    MdJson *json;
    char path[MD_FACT_PATH]; /* of the object that is being written, within that of md_facts_begin */
    int n_missing;
    struct {
        char path[MD_FACT_PATH];
        const char *why;
    } missing[MD_MAX_MISSING];
} MdFacts;

/* Begins an object of facts (key NULL at the top); md_facts_finish adds `missing` and ends it. */
MdFacts md_facts_begin(MdJson *json, const char *key);
void md_facts_finish(MdFacts *facts);

/* An object inside it. */
void md_facts_enter(MdFacts *facts, const char *key);
void md_facts_leave(MdFacts *facts);

void md_facts_lack(MdFacts *facts, const char *key, const char *why); /* why stays the caller's */
void md_facts_real(MdFacts *facts, const char *key, const MdReading *reading);
void md_facts_int(MdFacts *facts, const char *key, const MdReading *reading);
void md_facts_bool(MdFacts *facts, const char *key, const MdReading *reading);
void md_facts_text(MdFacts *facts, const char *key, const MdReadText *text);

#endif
