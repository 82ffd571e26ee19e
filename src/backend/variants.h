/* Variants: the implementations of each switch in a backend. One table a backend, one row for each value of each switch that some
 * stage of it implements; the check at start, dispatch, --list-variants, tests, the micro-benchmark and the reference
 * page walk it. A variant that is not in the table does not run; each one in it is tested.
 *
 * Conditions (needs, deterministic) are terms separated by blanks, all of which must hold; a term is `key=value` or
 * `key=value|value`. */
#ifndef MD_BACKEND_VARIANTS_H
#define MD_BACKEND_VARIANTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "deck/deck.h"

/* Instead of a figure: work that follows neither the atoms nor the entries of a list (all pairs, or cells without a
 * list). report.counters = on counts it. */
#define MD_NO_MODEL NAN

typedef struct MdVariant {
    const char *stage;         /* memory, sort, neighbor, force, integrate, reduce, gather, halo, output, step,
                                * launch */
    const char *value;         /* the switch and its value, `force.kernel=list`; "" for a stage without a switch */
    const char *needs;         /* the condition under which it can run; "" always */
    const char *deterministic; /* "" same input, same machine: same bits; else the condition for that, or "no" */
    /* Main-memory traffic and operations of one call of the stage: a model, explained where the table stands. Rows add
     * up: a stage takes the sum over the rows that are selected. */
    double bytes_per_atom, flops_per_atom;
    double bytes_per_entry, flops_per_entry; /* and per entry of the neighbour list */
    const char *cost;                        /* one line on its cost */
} MdVariant;

typedef struct MdVariantTable {
    const MdVariant *rows;
    int n_rows;
} MdVariantTable;

/* Whether a condition holds. A key or a value that does not exist panics: the tables are tested. */
bool md_condition_holds(const char *condition, const MdConfig *config);

/* Whether config selects the row: its value is set, and the switch has an effect with the other values (rows
 * without a switch always are selected). */
bool md_variant_selected(const MdVariant *row, const MdConfig *config);

/* Whether the backend has this switch at all. */
bool md_variants_have(MdVariantTable table, int option);

/* Whether the option is a switch of a stage that the backend does not have, so that it can have no effect there. Where it
 * runs and in which precision ([run]) is no stage. */
bool md_variants_lack(MdVariantTable table, int option);

/* The deck gives a switch that the backend lacks, in the layer that names the backend or above it: nothing is ignored, so
 * that is an error. Below it, or with run.backend = auto, the switch is meant for another backend and passes. */
MdStatus md_variants_check_given(MdVariantTable table, const char *backend, const MdDeck *deck, MdErrors *errors);

/* After resolve: the choice for an `auto` must not make a switch pointless that the deck sets to another value than its
 * default (neighbor.order = row while auto took a kernel without a list). Switches that the deck sets to `off` are
 * satisfied (launch.graph = off while a resident kernel makes the steps). */
MdStatus md_variants_check_grounds(MdVariantTable table, const MdDeck *deck, const MdConfig *resolved,
                                   MdErrors *errors);

/* Every switch that has an effect must have a value with a row whose needs hold; `auto` passes (resolve replaces it, where
 * it has an effect). Each problem goes to errors as `force.kernel=cluster: needs neighbor.search=cell, but ...; take ...`,
 * with the remedies: the values of this switch that would work, and the changes that would make this one work. `backend`
 * for the message. */
MdStatus md_variants_check(MdVariantTable table, const char *backend, const MdConfig *config, MdErrors *errors);

/* Whether a switch has a value that the backend does not have, however the others stand: one of another backend. */
bool md_variants_lack_value(MdVariantTable table, const MdConfig *config);

/* The same without resolve, which needs the machine: `auto` counts as the value that other switches need. */
MdStatus md_variants_check_open(MdVariantTable table, const char *backend, const MdConfig *config, MdErrors *errors);

/* Whether all selected rows promise the same bits. */
bool md_variants_deterministic(MdVariantTable table, const MdConfig *config);

/* The selected values of a stage, `kernel=list unroll=4`, as far as `size` holds. */
void md_variants_describe(MdVariantTable table, const char *stage, const MdConfig *config, char *text, size_t size);

/* Bytes and operations of one call of a stage by the model; NaN where it has none: operations of forces other than Lennard-Jones, or
 * with shift = switch. Of the stage step: force and integrate. */
typedef struct MdWork {
    double bytes, flops;
} MdWork;
MdWork md_variants_work(MdVariantTable table, const char *stage, const MdConfig *config, double n_atoms,
                        double n_entries);

#endif
