#include "system/potential.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "system/text_lines.h"

enum { MOST_WORDS = 5 };

/* Plain parameters of one pair, before they become coefficients. */
typedef struct PairWords {
    double numbers[MOST_WORDS], cutoff;
    bool explicit_cutoff, given, named; /* named: in potential.pairs */
} PairWords;

/* The words of the form, `depth alpha n>3`. */
typedef struct FormWords {
    int n;
    char text[96], names[96]; /* as an entry has them, and in a sentence */
    double least[MOST_WORDS]; /* numbers are above that */
} FormWords;

static FormWords read_words(const MdForm *form) {
    FormWords w = {0};
    char *copy = md_copy_text(form->words), *word;
    size_t length;
    for (char *rest = copy; md_text_word(&rest, &word, &length); w.n++) {
        md_require(w.n < MOST_WORDS);
        const size_t name = strcspn(word, "> "), at = strlen(w.text), of = strlen(w.names);
        if (word[name] == '>') w.least[w.n] = strtod(word + name + 1, NULL);
        snprintf(w.text + at, sizeof w.text - at, "%s%.*s", at ? " " : "", (int)name, word);
        snprintf(w.names + of, sizeof w.names - of, "%s%.*s", of ? ", " : "", (int)name, word);
    }
    free(copy);
    return w;
}

typedef struct PairTable {
    int n_types;
    FormWords words;
    PairWords at[MD_MAX_TYPES][MD_MAX_TYPES];
} PairTable;

static void table_set(PairTable *table, int a, int b, PairWords words) {
    table->at[a][b] = words;
    table->at[b][a] = words;
}

static void table_mix(PairTable *table, int rule, const double *epsilon, const double *sigma, double cutoff) {
    for (int a = 0; a < table->n_types; a++)
        for (int b = a; b < table->n_types; b++) {
            /* like types exactly as written: sqrt(x * x) may differ from x in the last bit */
            double mean_epsilon = a == b ? epsilon[a] : sqrt(epsilon[a] * epsilon[b]);
            double mean_sigma = a == b                        ? sigma[a]
                                : rule == MD_MIXING_GEOMETRIC ? sqrt(sigma[a] * sigma[b])
                                                              : (sigma[a] + sigma[b]) / 2;
            table_set(table, a, b, (PairWords){.numbers = {mean_epsilon, mean_sigma}, .cutoff = cutoff, .given = true});
        }
}

/* Numbers of the form, each above its least. */
static MdStatus check_numbers(const MdProblems *problems, int option, const FormWords *words, const double *numbers,
                              const char *text) {
    for (int k = 0; k < words->n; k++)
        if (!(numbers[k] > 0 && isfinite(numbers[k])))
            return md_problem(problems, option, "`%s`: %g; %s and cutoff are numbers above 0", text, numbers[k],
                              words->names);
        else if (!(numbers[k] > words->least[k]))
            return md_problem(problems, option, "`%s`: %g; number %d of `%s` is a number above %g", text, numbers[k],
                              k + 1, words->text, words->least[k]);
    return MD_OK;
}

/* One entry of potential.pairs: two types, the numbers of the form, a cutoff or none. text is ended by a zero. */
static MdStatus table_read_entry(const MdProblems *problems, PairTable *table, char *text,
                                 bool stands[MD_MAX_TYPES][MD_MAX_TYPES]) {
    const int option = MD_OPTION_potential_pairs;
    const FormWords *words = &table->words;
    double numbers[MOST_WORDS + 3];
    int n = 0;
    size_t length;
    char *word;
    for (char *rest = text; md_text_word(&rest, &word, &length);)
        if (n == words->n + 3 || !md_text_number(word, length, &numbers[n++]))
            return md_problem(problems, option, "`%s`: an entry is `i j %s [cutoff]`, only decimal numbers", text,
                              words->text);
    if (n < words->n + 2)
        return md_problem(problems, option, "`%s`: %d numbers; an entry is `i j %s [cutoff]`", text, n, words->text);
    for (int k = 0; k < 2; k++)
        if (!(numbers[k] >= 1 && numbers[k] <= table->n_types && numbers[k] == floor(numbers[k])))
            return md_problem(problems, option, "`%s`: type %g; types are the whole numbers from 1 to %d", text,
                              numbers[k], table->n_types);
    const bool has_cutoff = n == words->n + 3;
    if (has_cutoff && !(numbers[n - 1] > 0 && isfinite(numbers[n - 1])))
        return md_problem(problems, option, "`%s`: %g; %s and cutoff are numbers above 0", text, numbers[n - 1],
                          words->names);
    if (check_numbers(problems, option, words, numbers + 2, text) != MD_OK) return MD_ERROR_INPUT;
    int a = (int)numbers[0] - 1, b = (int)numbers[1] - 1;
    if (stands[a][b]) return md_problem(problems, option, "`%s`: the pair %d %d is given twice", text, a + 1, b + 1);
    stands[a][b] = stands[b][a] = true;
    PairWords pair = {.cutoff = has_cutoff ? numbers[n - 1] : table->at[a][b].cutoff,
                      .explicit_cutoff = has_cutoff,
                      .given = true,
                      .named = true};
    memcpy(pair.numbers, numbers + 2, (size_t)words->n * sizeof *numbers);
    table_set(table, a, b, pair);
    return MD_OK;
}

static MdStatus table_read_pairs(const MdProblems *problems, PairTable *table, const char *text) {
    MdStatus status = MD_OK;
    bool stands[MD_MAX_TYPES][MD_MAX_TYPES] = {{false}};
    char *copy = md_copy_text(text);
    for (char *entry = copy; entry;) {
        char *next = strchr(entry, ';');
        if (next) *next++ = 0;
        while (isspace((unsigned char)*entry)) entry++;
        for (char *end = entry + strlen(entry); end > entry && isspace((unsigned char)end[-1]);) *--end = 0;
        bool last = next == NULL; /* a `;` at the end closes the last entry and opens none */
        if (*entry && table_read_entry(problems, table, entry, stands)) status = MD_ERROR_INPUT;
        if (!*entry && !last) status = md_problem(problems, MD_OPTION_potential_pairs, "`%s`: an empty entry", text);
        entry = next;
    }
    free(copy);
    return status;
}

static bool fits_double(const MdPair_d *pair) {
    bool fits = isfinite(pair->energy_shift) && isfinite(pair->force_shift) && isfinite(pair->switch_rate);
    for (int k = 0; k < MD_FORM_NUMBERS; k++) fits = fits && isnormal(pair->p[k]);
    return fits;
}

/* Whether floats hold the numbers of the form, and its forces from half of the distance of contact to where they still matter. */
static bool fits_single(const MdForm *form, MdPair_d pair) {
    const double rate = pair.switch_rate;
    pair.force_shift = pair.switch_rate = 0; /* with these the force at the cutoff may be exactly 0 */
    const MdPair_f single = md_pair_to_single(pair);
    const double contact = md_pair_contact(form, &pair),
                 ends[] = {contact / 2, fmin(fmax(pair.cutoff, 2 * contact), 10 * contact)};
    bool fits = rate == 0 || isnormal((float)rate);
    for (int k = 0; k < MD_FORM_NUMBERS; k++) fits = fits && isnormal(single.p[k]);
    for (int k = 0; k < 2 && fits; k++) {
        const double right = md_pair_force(form, &pair, ends[k] * ends[k]),
                     found = md_pair_force_in_single(form, &single, (float)(ends[k] * ends[k])),
                     room = 1e-5 * md_pair_shape(form, &pair, ends[k]).size_du / ends[k];
        const bool cancels = fabs(right) <= room; /* at a minimum */
        fits = (cancels || (isnormal((float)found) && isnormal((float)found / single.p[0]))) &&
               fabs(found - right) <= room;
    }
    return fits;
}

static char *list_numbers(const PairWords *words, int n) {
    MdText text = {0};
    for (int k = 0; k < n; k++) md_text_add(&text, "%s%g", k ? " " : "", words->numbers[k]);
    return md_text_take(&text);
}

/* Of a form that embeds, with the words epsilon, a, n, m, c (physics/potential.h). Like types say what F is. */
static void make_density(MdPotential *potential, int k, const PairWords *words, double switch_from) {
    const double *w = words->numbers, numbers[] = {1, w[1], w[3]};
    potential->density[k] = md_pair_make(potential->form, numbers, words->cutoff, potential->shift, switch_from);
    potential->density[k].truncation = 0;
    if (k / potential->n_types == k % potential->n_types) potential->strength[k / potential->n_types] = w[0] * w[4];
}

/* Whether the numbers of a pair, or of its density, are within the range of the precision, and its formulas agree. */
static MdStatus check_pair(const MdProblems *problems, int option, const PairTable *table, int a, int b,
                           const MdForm *form, const MdPair_d *pair) {
    const bool is_double = md_deck_config(problems->deck)->run_precision == MD_PRECISION_DOUBLE,
               fits = fits_double(pair);
    double r;
    if (!fits || (!is_double && !fits_single(form, *pair))) {
        char *numbers = list_numbers(&table->at[a][b], table->words.n);
        const MdStatus status =
            md_problem(problems, option,
                       "pair %d %d: %s = %s, cutoff %g give coefficients beyond the range of "
                       "%s precision; use reduced units, with values near 1",
                       a + 1, b + 1, table->words.text, numbers, pair->cutoff, fits ? "single" : "double");
        free(numbers);
        return status;
    }
    if (md_pair_is_consistent(form, pair, &r)) return MD_OK;
    return md_fail(problems->errors, MD_ERROR_INTERNAL,
                   "potential.form = %s: force, energy and their derivatives do not agree at a distance of "
                   "%g (src/physics/forms/%s.inc; the truncation: src/physics/pair.inc)",
                   form->word, r, form->file);
}

static MdStatus table_to_potential(const MdProblems *problems, int option, const PairTable *table,
                                   MdPotential *potential) {
    const MdConfig *config = md_deck_config(problems->deck);
    const bool is_auto = md_is_auto(config->potential_switch_from), embeds = md_potential_embeds(potential);
    potential->cutoff_max = 0;
    for (int a = 0; a < table->n_types; a++)
        for (int b = 0; b < table->n_types; b++) {
            const int k = a * table->n_types + b;
            const PairWords words = table->at[a][b];
            const double from = is_auto ? 0.8 * words.cutoff : config->potential_switch_from;
            if (potential->shift == MD_SHIFT_SWITCH && !(from <= 0.99 * words.cutoff))
                return md_problem(problems, MD_OPTION_potential_switch_from,
                                  "%g, but the cutoff of the pair %d %d is %g: a switch begins at 0.99 of it or before",
                                  from, a + 1, b + 1, words.cutoff);
            if (embeds && !(words.numbers[2] > words.numbers[3] / 2))
                return md_problem(problems, option,
                                  "pair %d %d: n = %g and m = %g; atoms fall into each other unless n is above m / 2",
                                  a + 1, b + 1, words.numbers[2], words.numbers[3]);
            potential->pair[k] = md_pair_make(potential->form, words.numbers, words.cutoff, potential->shift, from);
            if (embeds) make_density(potential, k, &words, from);
            MdStatus status = check_pair(problems, option, table, a, b, potential->form, &potential->pair[k]);
            if (status == MD_OK && embeds)
                status = check_pair(problems, option, table, a, b, potential->form, &potential->density[k]);
            if (status != MD_OK) return status;
            if (words.cutoff > potential->cutoff_max) potential->cutoff_max = words.cutoff;
        }
    return MD_OK;
}

/* The cutoff is the minimum of each pair. */
static MdStatus table_cut_own(const MdProblems *problems, const MdForm *form, PairTable *table) {
    MdStatus status = MD_OK;
    for (int a = 0; a < table->n_types; a++)
        for (int b = 0; b < table->n_types; b++) {
            PairWords *words = &table->at[a][b];
            if (words->explicit_cutoff && a <= b)
                status = md_problem_by(problems, MD_OPTION_potential_pairs, MD_OPTION_potential_form,
                                       "pair %d %d has a cutoff of %g, but %s has its own, %g: leave it out", a + 1,
                                       b + 1, words->cutoff, form->word, md_form_minimum_of(form, words->numbers));
            words->cutoff = md_form_minimum_of(form, words->numbers);
        }
    return status;
}

/* epsilon and sigma of each type, mixed; or potential.parameters, for all pairs. */
static MdStatus table_begin(const MdProblems *problems, const MdForm *form, PairTable *table) {
    const MdConfig *config = md_deck_config(problems->deck);
    const MdRealList *numbers = &config->potential_parameters;
    double epsilon[MD_MAX_TYPES], sigma[MD_MAX_TYPES];
    if (form->traits & MD_FORM_MIXES) {
        const bool in_kelvin = config->potential_epsilon_kelvin.n > 0;
        const MdStatus read_epsilon =
            md_problem_spread(problems, in_kelvin ? MD_OPTION_potential_epsilon_kelvin : MD_OPTION_potential_epsilon,
                              &config->potential_epsilon, table->n_types, "types", epsilon);
        const MdStatus read_sigma = md_problem_spread(problems, MD_OPTION_potential_sigma, &config->potential_sigma,
                                                      table->n_types, "types", sigma);
        if (read_epsilon || read_sigma) return MD_ERROR_INPUT;
        table_mix(table, config->potential_mixing, epsilon, sigma, config->potential_cutoff);
        return MD_OK;
    }
    if (numbers->n > 0 && numbers->n != table->words.n)
        return md_problem(problems, MD_OPTION_potential_parameters, "%d numbers; %s takes `%s`", numbers->n, form->word,
                          table->words.text);
    PairWords words = {.cutoff = config->potential_cutoff, .given = numbers->n > 0};
    for (int k = 0; k < numbers->n; k++) words.numbers[k] = numbers->values[k];
    for (int a = 0; a < table->n_types; a++)
        for (int b = 0; b < table->n_types; b++) table->at[a][b] = words;
    char *text = list_numbers(&words, table->words.n);
    const MdStatus status =
        words.given ? check_numbers(problems, MD_OPTION_potential_parameters, &table->words, words.numbers, text)
                    : MD_OK;
    free(text);
    return status;
}

/* Pairs that nothing has given numbers to; numbers for all pairs that no pair needs. */
static MdStatus table_check(const MdProblems *problems, const MdForm *form, const PairTable *table) {
    int n_left = 0;
    for (int k = 0; k < table->n_types * table->n_types; k++)
        n_left += !table->at[k / table->n_types][k % table->n_types].named;
    if (n_left == 0 && md_deck_config(problems->deck)->potential_parameters.n > 0)
        return md_problem_by(problems, MD_OPTION_potential_parameters, MD_OPTION_potential_pairs,
                             "has no effect: potential.pairs has the numbers of each pair; leave one of them out");
    for (int a = 0; a < table->n_types; a++)
        for (int b = a; b < table->n_types; b++)
            if (!table->at[a][b].given)
                return md_problem_by(problems, MD_OPTION_potential_parameters, MD_OPTION_potential_form,
                                     "%s takes `%s`; give them, or those of the pair %d %d in potential.pairs",
                                     form->word, table->words.text, a + 1, b + 1);
    return MD_OK;
}

MdStatus md_potential_make(const MdProblems *problems, int n_types, const char (*names)[MD_TYPE_NAME_SIZE],
                           MdPotential *potential) {
    const MdConfig *config = md_deck_config(problems->deck);
    const MdForm *form = md_form(config->potential_form);
    const bool cuts = form->traits & MD_FORM_OWN_CUTOFF;
    const int option = form->traits & MD_FORM_MIXES ? MD_OPTION_potential_sigma : MD_OPTION_potential_parameters;
    *potential =
        (MdPotential){.n_types = n_types, .shift = cuts ? MD_SHIFT_ENERGY : config->potential_shift, .form = form};
    if (form->traits & MD_FORM_TABLES) return md_potential_read(problems, names, potential);
    if (form->traits & MD_FORM_EMBEDS && config->potential_shift == MD_SHIFT_NONE && config->run_steps > 0)
        return md_problem_by(
            problems, MD_OPTION_potential_shift, MD_OPTION_potential_form,
            "with %s densities would jump at the cutoff, and no energy is conserved: take energy, force "
            "or switch; none is for run.steps = 0",
            form->word);
    PairTable table = {.n_types = n_types, .words = read_words(form)};
    MdStatus status = table_begin(problems, form, &table);
    if (status != MD_OK) return status;
    status = table_read_pairs(problems, &table, config->potential_pairs);
    if (cuts && table_cut_own(problems, form, &table)) status = MD_ERROR_INPUT;
    if (status == MD_OK) status = table_check(problems, form, &table);
    return status ? status : table_to_potential(problems, option, &table, potential);
}

MdStatus md_potential_from_config(const MdDeck *deck, int n_types, const char (*names)[MD_TYPE_NAME_SIZE],
                                  MdPotential *potential, MdErrors *errors) {
    MdProblems problems = {deck, errors};
    return md_potential_make(&problems, n_types, names, potential);
}
