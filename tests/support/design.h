/* Covering designs over the switches of a backend: which combinations of switch values the tests run, since the full
 * product is out of reach.
 *
 * Parameters are the switches that the backend's variants table has (and run.precision), values those that have a row in
 * it, and `auto`. What a row needs of other switches rules combinations out; a key that has no effect beside another
 * value (md_option_has_effect) covers nothing there. The same table gives the same design, in every process. */
#ifndef MD_TESTS_DESIGN_H
#define MD_TESTS_DESIGN_H

#include "backend/backend.h"

typedef enum DesignKind {
    DESIGN_SINGLES, /* each value alone, from base and from the naive configuration (every switch at its first value) */
    DESIGN_PAIRS    /* all pairs of values of two switches */
} DesignKind;

typedef struct Design Design;

/* The combinations that the backend's resolve accepts for one at least of the systems in plans, with base for all that
 * is no switch. One that it refuses although the table allows it is replaced, up to three times for each pair; a value or
 * a pair that is still without a combination is a failed check, with the reason. (But for pairs with an `auto`: what it
 * becomes may be what cannot go with the other value.) That the table rules out no value altogether is checked, too;
 * which pairs it rules out is printed. Values that take another GPU ("needs compute capability 9.0") are skipped by name.
 *
 * Switches that are named in `fixed` (blanks between them; NULL: none) keep the value of base, or the
 * last that the backend has when it lacks that one. */
Design *design_create(const MdBackendOps *ops, const MdConfig *base, DesignKind kind, const char *fixed,
                      const MdSystemPlan *plans, int n_plans);
void design_destroy(Design *design);

/* MDMINI_TEST_ONLY="key=value ..." makes one combination only, whatever the kind: the nearest to base with these
 * values. Those of `fixed` switches do not matter, and there may be none that goes with what is fixed. */
bool design_is_narrowed(void);
/* Whether it names a value that takes another GPU: there is no combination then. */
bool design_lacks(const Design *design);

int design_count(const Design *design);

/* Sets the switches of combination k in config. */
void design_apply(const Design *design, int k, MdConfig *config);

/* What combination k is there for, `memory.layout=aos alone, from base` or `pairs`. */
const char *design_purpose(const Design *design, int k);

/* The values of combination k, `memory.space=device memory.layout=aos ...`, without switches that have no effect. */
void design_describe(const Design *design, int k, char *text, size_t size);

#endif
