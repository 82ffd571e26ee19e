#define _POSIX_C_SOURCE 200809L
#include "design.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"

enum { MAX_SWITCHES = 64, MAX_VALUES = 16, MAX_ROWS = 1024, MAX_PURPOSE = 80, MAX_TRIES = 3 };

typedef uint32_t Set; /* bit v: value v */

typedef struct Row {
    unsigned char value[MAX_SWITCHES];
    bool effective[MAX_SWITCHES]; /* beside what every auto became */
    char purpose[MAX_PURPOSE];
} Row;

/* What is known of a pair of values. */
typedef enum PairState { PAIR_IMPOSSIBLE, PAIR_MOOT, PAIR_OPEN, PAIR_COVERED, PAIR_REFUSED, N_PAIR_STATES } PairState;

typedef unsigned char PairTable[MAX_SWITCHES][MAX_VALUES][MAX_SWITCHES][MAX_VALUES];

struct Design {
    const MdBackendOps *ops;
    const MdConfig *base;
    const char *fixed;
    const MdSystemPlan *plans;
    int n_plans;
    int n_switches, option[MAX_SWITCHES]; /* rows of the option table */
    Set values[MAX_SWITCHES];             /* that there are, */
    Set skipped[MAX_SWITCHES];            /* and those that this GPU lacks */
    Set with[MAX_SWITCHES][MAX_VALUES]
            [MAX_SWITCHES];                 /* values of the second switch that can go with that of the first */
    uint64_t tied[MAX_SWITCHES];            /* bit y: its values rule out some of switch y */
    Set effect[MAX_SWITCHES][MAX_SWITCHES]; /* values of the second beside which the first has an effect */
    PairTable pair;                         /* PairState */
    bool lacks;                             /* what was asked for */
    int n_rows;
    Row row[MAX_ROWS];
    uint64_t random;
};

static bool in(Set set, int value) { return set >> value & 1; }
static Set just(int value) { return (Set)1 << value; }
static int first_of(Set set) { return __builtin_ctz(set); }
static int last_of(Set set) { return 31 - __builtin_clz(set); }
static bool is_single(Set set) { return set && !(set & (set - 1)); }

static const char *word(const Design *d, int s, int value) { return md_switch_words(d->option[s])[value]; }

static bool is_auto(const Design *d, int s, int value) { return strcmp(word(d, s, value), "auto") == 0; }

static Set autos_of(const Design *d, int s) {
    Set autos = 0;
    for (Set rest = d->values[s]; rest; rest &= rest - 1)
        if (is_auto(d, s, first_of(rest))) autos |= just(first_of(rest));
    return autos;
}

/* xorshift64*: ties are broken by it, always in the same way. */
static unsigned next_random(Design *d) {
    d->random ^= d->random >> 12, d->random ^= d->random << 25, d->random ^= d->random >> 27;
    return (unsigned)(d->random * 0x2545F4914F6CDD1Du >> 33);
}

/* --- the table as sets -------------------------------------------------------------------------------------------- */

static bool names(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    return false;
}

static int switch_of(const Design *d, int option) {
    for (int s = 0; s < d->n_switches; s++)
        if (d->option[s] == option) return s;
    return -1;
}

/* Reads one term `key=value|value` of a condition; returns what follows, NULL at the end. */
static const char *read_term(const char *condition, int *option, Set *set) {
    char term[256], *rest;
    condition += strspn(condition, " ");
    size_t length = strcspn(condition, " ");
    if (length == 0) return NULL;
    md_require(length < sizeof term);
    memcpy(term, condition, length), term[length] = '\0';
    *option = md_option_by_name(strtok_r(term, "=", &rest));
    md_require(*option >= 0);
    *set = 0;
    for (char *value; (value = strtok_r(NULL, "|", &rest)) != NULL;)
        for (int v = 0; md_switch_words(*option)[v]; v++)
            if (strcmp(md_switch_words(*option)[v], value) == 0) *set |= just(v);
    return condition + length;
}

/* The switches that the table has, and those of their values that have a row. `auto` needs none, and a switch that is
 * not in the table at all but for every backend, run.precision, has all its values. */
static void find_values(Design *d, MdVariantTable table, const MdConfig *base, const char *fixed) {
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        bool for_all = option == MD_OPTION_run_precision, in_table = md_variants_have(table, option);
        if (option == MD_OPTION_run_backend || !md_option_is_switch(option) || (!in_table && !for_all)) continue;
        md_require(d->n_switches < MAX_SWITCHES);
        int s = d->n_switches++, row_option;
        d->option[s] = option;
        for (int v = 0; md_switch_words(option)[v]; v++) {
            md_require(v < MAX_VALUES);
            if (!in_table || is_auto(d, s, v)) d->values[s] |= just(v);
        }
        Set set;
        for (int k = 0; k < table.n_rows; k++)
            if (read_term(table.rows[k].value, &row_option, &set) && row_option == option) d->values[s] |= set;
        if (names(fixed, md_option_name(option))) {
            Set held = just(md_switch_value(base, option)) & d->values[s];
            d->values[s] = held ? held : just(last_of(d->values[s])); /* a backend may lack the value of base */
        }
    }
}

/* with[x][v][y]: the needs of the rows of x=v, and of those of each value of y. An `auto` can serve every need: what it
 * becomes is the backend's to choose well. */
static void find_needs(Design *d, MdVariantTable table) {
    for (int x = 0; x < d->n_switches; x++)
        for (int v = 0; v < MAX_VALUES; v++) memcpy(d->with[x][v], d->values, sizeof d->values);
    for (int k = 0; k < table.n_rows; k++) {
        int option, other;
        Set value, allowed;
        if (!read_term(table.rows[k].value, &option, &value)) continue;
        int x = switch_of(d, option), y;
        md_require(x >= 0 && is_single(value));
        int v = first_of(value);
        for (const char *at = table.rows[k].needs; (at = read_term(at, &other, &allowed)) != NULL;) {
            if ((y = switch_of(d, other)) < 0) continue; /* a stage that this backend has not: cannot be wrong */
            for (int w = 0; w < MAX_VALUES; w++) {
                if (!in(d->values[y], w) || in(allowed, w) || is_auto(d, y, w)) continue;
                d->with[x][v][y] &= ~just(w);
                d->with[y][w][x] &= ~just(v);
                d->tied[x] |= (uint64_t)1 << y, d->tied[y] |= (uint64_t)1 << x;
            }
        }
    }
}

/* effect[x][y]: each switch is put to each of its values, all others at their defaults, and md_option_has_effect asked
 * for each switch. */
static void find_effects(Design *d) {
    MdConfig config = state_config();
    for (int x = 0; x < d->n_switches; x++)
        for (int y = 0; y < d->n_switches; y++) {
            int held = md_switch_value(&config, d->option[y]);
            Set effective = 0;
            for (int w = 0; md_switch_words(d->option[y])[w]; w++) { /* also those that a fixed switch does not take */
                md_switch_set(&config, d->option[y], w);
                if (md_option_has_effect(&config, d->option[x])) effective |= just(w);
            }
            md_switch_set(&config, d->option[y], held);
            d->effect[x][y] = effective ? effective : d->values[y]; /* none: it is another switch that matters */
        }
}

/* --- completing combinations -------------------------------------------------------------------------------------- */

/* Takes out values that no value left of some other switch goes with; false when a switch has none left. */
static bool propagate(const Design *d, Set left[MAX_SWITCHES]) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int x = 0; x < d->n_switches; x++)
            for (Set rest = left[x]; rest; rest &= rest - 1) {
                int v = first_of(rest);
                for (uint64_t ties = d->tied[x]; ties; ties &= ties - 1)
                    if (!(d->with[x][v][__builtin_ctzll(ties)] & left[__builtin_ctzll(ties)])) {
                        left[x] &= ~just(v);
                        changed = true;
                        break;
                    }
            }
    }
    for (int x = 0; x < d->n_switches; x++)
        if (!left[x]) return false;
    return true;
}

/* Whether a combination within `left` exists: exact, by trying. */
static bool solvable(const Design *d, const Set left[MAX_SWITCHES]) {
    Set now[MAX_SWITCHES];
    memcpy(now, left, sizeof now);
    if (!propagate(d, now)) return false;
    for (int s = 0; s < d->n_switches; s++) {
        if (is_single(now[s])) continue;
        for (Set rest = now[s]; rest; rest &= rest - 1) {
            now[s] = just(first_of(rest));
            if (solvable(d, now)) return true;
        }
        return false;
    }
    return true;
}

static bool narrow(const Design *d, Set left[MAX_SWITCHES], int s, int value) {
    Set now[MAX_SWITCHES];
    memcpy(now, left, sizeof now);
    now[s] &= just(value);
    if (!now[s] || !propagate(d, now)) return false;
    memcpy(left, now, sizeof now);
    return true;
}

/* The combination within `left` that is nearest to what is wanted: each switch in turn at that value if it can be, else
 * at the highest that can. */
static void complete_near(const Design *d, Set left[MAX_SWITCHES], const unsigned char *wanted, Row *row) {
    for (int s = 0; s < d->n_switches; s++) {
        Set rest = left[s], before[MAX_SWITCHES];
        memcpy(before, left, sizeof before);
        for (int v = in(rest, wanted[s]) ? wanted[s] : last_of(rest);; v = last_of(rest)) {
            if (narrow(d, left, s, v) && solvable(d, left)) break;
            memcpy(left, before, sizeof before);
            rest &= ~just(v);
            md_require(rest != 0);
        }
        row->value[s] = (unsigned char)first_of(left[s]);
    }
}

/* --- what the backend itself says --------------------------------------------------------------------------------- */

static void apply(const Design *d, const Row *row, MdConfig *config) {
    for (int s = 0; s < d->n_switches; s++) md_switch_set(config, d->option[s], row->value[s]);
}

/* Whether some system is accepted; which switches have an effect there goes into row. */
static bool accepted(const Design *d, Row *row, char *reason, size_t size) {
    for (int k = 0; k < d->n_plans; k++) {
        MdConfig config = *d->base;
        MdErrors *errors = md_errors_create();
        apply(d, row, &config);
        bool ok = d->ops->resolve(&config, &d->plans[k], NULL, errors) == MD_OK;
        if (!ok) snprintf(reason, size, "%s", md_errors_count(errors) ? md_errors_text(errors, 0) : "no reason given");
        md_errors_destroy(errors);
        for (int s = 0; s < d->n_switches; s++) row->effective[s] = md_option_has_effect(&config, d->option[s]);
        if (ok) return true;
    }
    return false;
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* What else a combination with x=v and y=w is to heed. */
enum { WITH_EFFECT = 1, WITHOUT_AUTO = 2 };

/* The widest sets for it; false when there is none. */
static bool begin_pair(const Design *d, int x, int v, int y, int w, int heed, Set left[MAX_SWITCHES]) {
    memcpy(left, d->values, sizeof d->values);
    for (int s = 0; s < d->n_switches; s++) {
        if (heed & WITH_EFFECT) left[s] &= d->effect[x][s] & d->effect[y][s];
        if (heed & WITHOUT_AUTO && s != x && s != y) left[s] &= ~autos_of(d, s);
    }
    left[x] &= just(v), left[y] &= just(w);
    for (int s = 0; s < d->n_switches; s++)
        if (!left[s]) return false;
    return propagate(d, left) && solvable(d, left);
}

/* Calls for each pair of values of two switches, x < y. */
#define FOR_PAIRS(d, x, v, y, w)                                                                                       \
    for (int x = 0; x < (d)->n_switches; x++)                                                                          \
        for (int v = 0; v < MAX_VALUES; v++)                                                                           \
            for (int y = x + 1; in((d)->values[x], v) && y < (d)->n_switches; y++)                                     \
                for (int w = 0; w < MAX_VALUES; w++)                                                                   \
                    if (in((d)->values[y], w))

static void set_pair(PairTable table, int x, int v, int y, int w, int state) {
    table[x][v][y][w] = table[y][w][x][v] = (unsigned char)state;
}

static void classify_pairs(Design *d) {
    int n[N_PAIR_STATES] = {0};
    Set left[MAX_SWITCHES];
    FOR_PAIRS(d, x, v, y, w) {
        PairState state = begin_pair(d, x, v, y, w, WITH_EFFECT, left) ? PAIR_OPEN
                          : begin_pair(d, x, v, y, w, 0, left)         ? PAIR_MOOT
                                                                       : PAIR_IMPOSSIBLE;
        set_pair(d->pair, x, v, y, w, state);
        n[state]++;
        if (state == PAIR_IMPOSSIBLE)
            printf("# %s: ruled out by the needs in the table: %s=%s with %s=%s\n", d->ops->name,
                   md_option_name(d->option[x]), word(d, x, v), md_option_name(d->option[y]), word(d, y, w));
    }
    printf("# %s: %d pairs of values to cover, %d without effect together, %d ruled out\n", d->ops->name, n[PAIR_OPEN],
           n[PAIR_MOOT], n[PAIR_IMPOSSIBLE]);
}

/* Number of open pairs that x=v makes with what is settled already. */
static int gain_of(const Design *d, const Set left[MAX_SWITCHES], int x, int v) {
    int gain = 0;
    for (int y = 0; y < d->n_switches; y++)
        gain += y != x && is_single(left[y]) && d->pair[x][v][y][first_of(left[y])] == PAIR_OPEN;
    return gain;
}

/* Settles one switch at the value that covers most, of those after which a combination still exists. */
static void settle(Design *d, Set left[MAX_SWITCHES], int x) {
    for (Set rest = left[x]; rest;) {
        int best = -1, best_gain = -1;
        unsigned n_equal = 0;
        for (Set values = rest; values; values &= values - 1) {
            int v = first_of(values), gain = gain_of(d, left, x, v);
            if (gain > best_gain) n_equal = 0;
            if (gain < best_gain || (n_equal++ && next_random(d) % n_equal)) continue;
            best = v, best_gain = gain;
        }
        Set before[MAX_SWITCHES];
        memcpy(before, left, sizeof before);
        if (narrow(d, left, x, best) && solvable(d, left)) return;
        memcpy(left, before, sizeof before);
        rest &= ~just(best);
    }
    md_panic("a design without a way on"); /* begin_pair saw that there is one */
}

/* Marks what the row covers: pairs of values that both have an effect in it. */
static void mark_covered(Design *d, const Row *row) {
    for (int x = 0; x < d->n_switches; x++)
        for (int y = x + 1; y < d->n_switches; y++)
            if (row->effective[x] && row->effective[y] && d->pair[x][row->value[x]][y][row->value[y]] == PAIR_OPEN)
                set_pair(d->pair, x, row->value[x], y, row->value[y], PAIR_COVERED);
}

static Row *add_row(Design *d) {
    md_require(d->n_rows < MAX_ROWS);
    return &d->row[d->n_rows++];
}

/* A combination with this pair, and as many other open ones as come along. */
static Row complete_pair(Design *d, Set left[MAX_SWITCHES]) {
    int order[MAX_SWITCHES];
    Row row = {.purpose = "pairs"};
    for (int k = 0; k < d->n_switches; k++) {
        int other = (int)(next_random(d) % (unsigned)(k + 1));
        order[k] = order[other], order[other] = k;
    }
    for (int k = 0; k < d->n_switches; k++) settle(d, left, order[k]);
    for (int s = 0; s < d->n_switches; s++) row.value[s] = (unsigned char)first_of(left[s]);
    return row;
}

static void add_pair(Design *d, int x, int v, int y, int w) {
    char pair[192], reason[512] = "an auto makes it one without effect";
    Set left[MAX_SWITCHES];
    for (int try = 0; try < MAX_TRIES && d->pair[x][v][y][w] == PAIR_OPEN; try++) {
        /* Tried again, it has no auto that could choose wrong. */
        if (try == 0 || !begin_pair(d, x, v, y, w, WITH_EFFECT | WITHOUT_AUTO, left))
            begin_pair(d, x, v, y, w, WITH_EFFECT, left);
        Row row = complete_pair(d, left);
        if (!accepted(d, &row, reason, sizeof reason) || !row.effective[x] || !row.effective[y]) continue;
        *add_row(d) = row;
        mark_covered(d, &row);
    }
    bool covered = d->pair[x][v][y][w] == PAIR_COVERED, chooses = is_auto(d, x, v) || is_auto(d, y, w);
    /* A fixed switch has its value in every row, but beside another fixed one it may be without effect. */
    bool fixed = names(d->fixed, md_option_name(d->option[x])) || names(d->fixed, md_option_name(d->option[y]));
    /* What only some auto could allow, that may never choose so. */
    bool by_auto = !begin_pair(d, x, v, y, w, WITH_EFFECT | WITHOUT_AUTO, left);
    snprintf(pair, sizeof pair, "%s=%s with %s=%s", md_option_name(d->option[x]), word(d, x, v),
             md_option_name(d->option[y]), word(d, y, w));
    check_context("%s, a pair that the table allows: %s", d->ops->name, pair);
    CHECK(covered || chooses || fixed || by_auto);
    if (covered) return;
    printf("# %s: refused: %s: %s\n", d->ops->name, pair, reason);
    set_pair(d->pair, x, v, y, w, PAIR_REFUSED);
}

/* --- what this GPU lacks ------------------------------------------------------------------------------------------ */

static void skip_value(Design *d, int s, int value, const char *why) {
    d->values[s] &= ~just(value);
    d->skipped[s] |= just(value);
    printf("# %s: skipped: %s\n", d->ops->name, why);
}

/* Whether the backend refuses the value alone, since it takes another GPU: then it says so first. */
static bool is_lacking(const Design *d, int s, int value, char *reason, size_t size) {
    unsigned char wanted[MAX_SWITCHES];
    char name[96];
    Set left[MAX_SWITCHES];
    Row row;
    if (!begin_pair(d, s, value, s, value, WITH_EFFECT, left)) return false;
    for (int k = 0; k < d->n_switches; k++) wanted[k] = (unsigned char)md_switch_value(d->base, d->option[k]);
    complete_near(d, left, wanted, &row);
    snprintf(name, sizeof name, "%s=%s: needs compute capability", md_option_name(d->option[s]), word(d, s, value));
    return !accepted(d, &row, reason, size) && strncmp(reason, name, strlen(name)) == 0;
}

/* Leaves them out, and what needs them: what no auto can make possible is not to be left to one. */
static void skip_lacking(Design *d, MdVariantTable table) {
    char why[512];
    Set left[MAX_SWITCHES], possible[MAX_SWITCHES] = {0};
    bool any = false;
    for (int s = 0; s < d->n_switches; s++)
        for (Set rest = d->values[s]; rest; rest &= rest - 1)
            if (begin_pair(d, s, first_of(rest), s, first_of(rest), WITHOUT_AUTO, left))
                possible[s] |= just(first_of(rest));
    for (int s = 0; s < d->n_switches; s++)
        for (Set rest = possible[s]; rest && !is_single(d->values[s]); rest &= rest - 1)
            if (is_lacking(d, s, first_of(rest), why, sizeof why)) skip_value(d, s, first_of(rest), why), any = true;
    while (any) {
        any = false;
        find_needs(d, table);
        for (int s = 0; s < d->n_switches; s++)
            for (Set rest = possible[s] & d->values[s]; rest && !is_single(d->values[s]); rest &= rest - 1) {
                if (begin_pair(d, s, first_of(rest), s, first_of(rest), WITHOUT_AUTO, left)) continue;
                snprintf(why, sizeof why, "%s=%s: needs what was skipped", md_option_name(d->option[s]),
                         word(d, s, first_of(rest)));
                skip_value(d, s, first_of(rest), why), any = true;
            }
    }
}

static void add_pairs(Design *d) {
    FOR_PAIRS(d, x, v, y, w)
    if (d->pair[x][v][y][w] == PAIR_OPEN) add_pair(d, x, v, y, w);
}

/* --- singles ------------------------------------------------------------------------------------------------------ */

static bool is_there(const Design *d, const Row *row) {
    for (int k = 0; k < d->n_rows; k++)
        if (memcmp(d->row[k].value, row->value, (size_t)d->n_switches) == 0) return true;
    return false;
}

/* A value that fixed switches rule out is left out. Beside naive or fixed values an `auto` may choose what cannot go with
 * them, and a fixed `auto` may become one beside which the value has no effect; from base alone it must run. */
static void add_single(Design *d, const unsigned char *wanted, int s, int value, bool naive) {
    const char *from = naive ? "naive" : "base";
    char reason[512] = "ruled out by the table, or without effect beside what an auto chose";
    bool can_run = false, possible = !d->fixed;
    Set left[MAX_SWITCHES];
    for (int heed = WITH_EFFECT; !can_run && heed <= (WITH_EFFECT | WITHOUT_AUTO); heed += WITHOUT_AUTO) {
        if (!begin_pair(d, s, value, s, value, heed, left)) continue;
        possible = true;
        Row row;
        complete_near(d, left, wanted, &row);
        snprintf(row.purpose, sizeof row.purpose, "%s=%s alone, from %s", md_option_name(d->option[s]),
                 word(d, s, value), from);
        can_run = accepted(d, &row, reason, sizeof reason) && row.effective[s];
        if (can_run && !is_there(d, &row)) *add_row(d) = row;
    }
    if (!possible) return;
    check_context("%s %s=%s, from %s", d->ops->name, md_option_name(d->option[s]), word(d, s, value), from);
    bool needs_auto = d->fixed && !begin_pair(d, s, value, s, value, WITH_EFFECT | WITHOUT_AUTO, left);
    CHECK(can_run || needs_auto || ((naive || d->fixed) && is_auto(d, s, value)));
    if (!can_run) printf("# refused: %s\n", reason);
}

/* Every value alone. run.precision stays where base has it, also in the naive configuration: much needs it not to be
 * double. */
static void add_singles(Design *d, const MdConfig *base) {
    unsigned char wanted[2][MAX_SWITCHES];
    for (int s = 0; s < d->n_switches; s++) {
        wanted[0][s] = (unsigned char)md_switch_value(base, d->option[s]);
        wanted[1][s] = d->option[s] == MD_OPTION_run_precision ? wanted[0][s] : (unsigned char)first_of(d->values[s]);
    }
    for (int from = 0; from < 2; from++)
        for (int s = 0; s < d->n_switches; s++)
            for (Set rest = d->values[s]; rest; rest &= rest - 1)
                add_single(d, wanted[from], s, first_of(rest), from == 1);
}

/* --- one combination ---------------------------------------------------------------------------------------------- */

static const char *asked_only(void) { return getenv("MDMINI_TEST_ONLY"); }

bool design_is_narrowed(void) { return asked_only() != NULL; }

static void add_only(Design *d, const MdConfig *base) {
    unsigned char wanted[MAX_SWITCHES];
    char reason[512] = "ruled out by the table";
    Set left[MAX_SWITCHES], set;
    bool can_run = true, is_skipped = false;
    int option;
    memcpy(left, d->values, sizeof left);
    for (int s = 0; s < d->n_switches; s++) wanted[s] = (unsigned char)md_switch_value(base, d->option[s]);
    for (const char *at = asked_only(); (at = read_term(at, &option, &set)) != NULL;) {
        int s = switch_of(d, option);
        if (names(d->fixed, md_option_name(option))) continue;
        is_skipped = is_skipped || (s >= 0 && (d->skipped[s] & set));
        can_run = can_run && s >= 0 && is_single(set) && narrow(d, left, s, first_of(set));
    }
    if (can_run && solvable(d, left)) {
        Row row = {.purpose = "asked for"};
        complete_near(d, left, wanted, &row);
        if (accepted(d, &row, reason, sizeof reason)) *add_row(d) = row;
    }
    check_context("MDMINI_TEST_ONLY=%s", asked_only());
    d->lacks = is_skipped;
    if (d->n_rows == 0 && !CHECK(d->fixed || is_skipped)) printf("# refused: %s\n", reason);
}

/* --- for the walk ------------------------------------------------------------------------------------------------- */

Design *design_create(const MdBackendOps *ops, const MdConfig *base, DesignKind kind, const char *fixed,
                      const MdSystemPlan *plans, int n_plans) {
    Design *d = md_alloc(1, sizeof *d, "a covering design");
    d->ops = ops, d->base = base, d->fixed = fixed;
    d->plans = plans, d->n_plans = n_plans;
    d->random = 0x9E3779B97F4A7C15u;
    find_values(d, ops->variants(), base, fixed);
    find_needs(d, ops->variants());
    find_effects(d);
    skip_lacking(d, ops->variants());
    if (design_is_narrowed()) add_only(d, base);
    else if (kind == DESIGN_SINGLES) add_singles(d, base);
    else {
        classify_pairs(d);
        add_pairs(d);
    }
    printf("# %s: %d combinations for %s\n", ops->name, d->n_rows,
           design_is_narrowed()     ? asked_only()
           : kind == DESIGN_SINGLES ? "each value alone"
                                    : "all pairs of values");
    return d;
}

void design_destroy(Design *design) { md_free(design); }

bool design_lacks(const Design *design) { return design->lacks; }

int design_count(const Design *design) { return design->n_rows; }

void design_apply(const Design *design, int k, MdConfig *config) { apply(design, &design->row[k], config); }

const char *design_purpose(const Design *design, int k) { return design->row[k].purpose; }

void design_describe(const Design *design, int k, char *text, size_t size) {
    const Row *row = &design->row[k];
    size_t length = 0;
    text[0] = '\0';
    /* What has an effect by what an auto became alone may not be given beside the auto. */
    MdConfig asked = state_config();
    design_apply(design, k, &asked);
    for (int s = 0; s < design->n_switches && length < size; s++)
        if (row->effective[s] && md_option_has_effect(&asked, design->option[s]))
            length += (size_t)snprintf(text + length, size - length, "%s%s=%s", length ? " " : "",
                                       md_option_name(design->option[s]), word(design, s, row->value[s]));
}
