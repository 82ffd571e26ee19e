#include "system/potential.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "system/text_lines.h"

/* Plain parameters of one pair, before they become coefficients. */
typedef struct PairWords {
    double epsilon, sigma, cutoff;
    bool explicit_cutoff, given;
} PairWords;

typedef struct PairTable {
    int n_types;
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
            table_set(table, a, b, (PairWords){.epsilon = mean_epsilon, .sigma = mean_sigma, .cutoff = cutoff});
        }
}

/* One entry `i j epsilon sigma [cutoff]` of potential.pairs; text is ended by a zero. */
static MdStatus table_read_entry(const MdProblems *problems, PairTable *table, char *text) {
    const int option = MD_OPTION_potential_pairs;
    double numbers[5];
    int n = 0;
    size_t length;
    char *word;
    for (char *rest = text; md_text_word(&rest, &word, &length);)
        if (n == 5 || !md_text_number(word, length, &numbers[n++]))
            return md_problem(problems, option, "`%s`: an entry is `i j epsilon sigma [cutoff]`, decimal numbers alone",
                              text);
    if (n < 4)
        return md_problem(problems, option, "`%s`: %d numbers; an entry is `i j epsilon sigma [cutoff]`", text, n);
    for (int k = 0; k < 2; k++)
        if (!(numbers[k] >= 1 && numbers[k] <= table->n_types && numbers[k] == floor(numbers[k])))
            return md_problem(problems, option, "`%s`: type %g; types are the whole numbers from 1 to %d", text,
                              numbers[k], table->n_types);
    for (int k = 2; k < n; k++)
        if (!(numbers[k] > 0 && isfinite(numbers[k])))
            return md_problem(problems, option, "`%s`: %g; epsilon, sigma and cutoff are numbers above 0", text,
                              numbers[k]);
    int a = (int)numbers[0] - 1, b = (int)numbers[1] - 1;
    if (table->at[a][b].given)
        return md_problem(problems, option, "`%s`: the pair %d %d stands twice", text, a + 1, b + 1);
    table_set(table, a, b,
              (PairWords){.epsilon = numbers[2],
                          .sigma = numbers[3],
                          .cutoff = n == 5 ? numbers[4] : table->at[a][b].cutoff,
                          .explicit_cutoff = n == 5,
                          .given = true});
    return MD_OK;
}

static MdStatus table_read_pairs(const MdProblems *problems, PairTable *table, const char *text) {
    MdStatus status = MD_OK;
    char *copy = md_copy_text(text);
    for (char *entry = copy; entry;) {
        char *next = strchr(entry, ';');
        if (next) *next++ = 0;
        while (isspace((unsigned char)*entry)) entry++;
        for (char *end = entry + strlen(entry); end > entry && isspace((unsigned char)end[-1]);) *--end = 0;
        bool last = next == NULL; /* a `;` at the end closes the last entry and opens none */
        if (*entry && table_read_entry(problems, table, entry)) status = MD_ERROR_INPUT;
        if (!*entry && !last) status = md_problem(problems, MD_OPTION_potential_pairs, "`%s`: an empty entry", text);
        entry = next;
    }
    free(copy);
    return status;
}

static bool fits_double(const MdPair_d *pair) {
    bool fits = isfinite(pair->energy_shift) && isfinite(pair->force_shift);
    for (int k = 0; k < MD_FORM_NUMBERS; k++) fits = fits && isnormal(pair->p[k]);
    return fits;
}

/* Whether floats hold the numbers of the form, and forces from half of the distance of contact to where they still matter. */
static bool fits_single(const MdForm *form, const MdPair_d *pair) {
    const MdPair_f single = md_pair_to_single(*pair);
    const double contact = md_pair_reach(form, pair, 0),
                 ends[] = {contact / 2, fmin(fmax(pair->cutoff, 2 * contact), 10 * contact)};
    bool fits = true;
    for (int k = 0; k < MD_FORM_NUMBERS; k++) fits = fits && isnormal(single.p[k]);
    for (int k = 0; k < 2 && fits; k++) {
        const double right = md_pair_force(form, pair, ends[k] * ends[k]),
                     found = md_pair_force_in_single(form, &single, (float)(ends[k] * ends[k]));
        fits = isnormal((float)found) && isnormal((float)found / single.p[0]) &&
               fabs(found - right) <= 1e-5 * md_pair_shape(form, pair, ends[k]).size_du / ends[k];
    }
    return fits;
}

static MdStatus table_to_potential(const MdProblems *problems, const PairTable *table, MdPotential *potential) {
    const bool is_double = md_deck_config(problems->deck)->run_precision == MD_PRECISION_DOUBLE;
    potential->cutoff_max = 0;
    for (int a = 0; a < table->n_types; a++)
        for (int b = 0; b < table->n_types; b++) {
            PairWords words = table->at[a][b];
            MdPair_d pair = md_pair_make(potential->form, (double[]){words.epsilon, words.sigma}, words.cutoff,
                                         potential->shift == MD_SHIFT_ENERGY, potential->shift == MD_SHIFT_FORCE);
            const bool fits = fits_double(&pair);
            if (!fits || (!is_double && !fits_single(potential->form, &pair)))
                return md_problem(problems, MD_OPTION_potential_sigma,
                                  "pair %d %d: epsilon %g, sigma %g, cutoff %g give coefficients beyond the range of "
                                  "%s precision; use reduced units, with values near 1",
                                  a + 1, b + 1, words.epsilon, words.sigma, words.cutoff, fits ? "single" : "double");
            potential->pair[a * table->n_types + b] = pair;
            if (words.cutoff > potential->cutoff_max) potential->cutoff_max = words.cutoff;
        }
    return MD_OK;
}

/* Weeks, Chandler, Andersen, J. Chem. Phys. 54, 5237 (1971): the cutoff is the minimum of each pair. */
static MdStatus table_cut_wca(const MdProblems *problems, const MdForm *form, PairTable *table) {
    MdStatus status = MD_OK;
    for (int a = 0; a < table->n_types; a++)
        for (int b = 0; b < table->n_types; b++) {
            PairWords *words = &table->at[a][b];
            if (words->explicit_cutoff && a <= b)
                status =
                    md_problem_by(problems, MD_OPTION_potential_pairs, MD_OPTION_potential_form,
                                  "pair %d %d has a cutoff of %g, but wca has its own, 2^(1/6) sigma: leave it out",
                                  a + 1, b + 1, words->cutoff);
            words->cutoff = md_form_minimum_of(form, (double[]){words->epsilon, words->sigma});
        }
    return status;
}

MdStatus md_potential_make(const MdProblems *problems, int n_types, MdPotential *potential) {
    const MdConfig *config = md_deck_config(problems->deck);
    bool wca = config->potential_form == MD_POTENTIAL_WCA;
    *potential = (MdPotential){.n_types = n_types,
                               .shift = wca ? MD_SHIFT_ENERGY : config->potential_shift,
                               .form = md_form(config->potential_form)};
    PairTable table = {.n_types = n_types};
    double epsilon[MD_MAX_TYPES], sigma[MD_MAX_TYPES];
    MdStatus read_epsilon =
        md_problem_spread(problems, MD_OPTION_potential_epsilon, &config->potential_epsilon, n_types, "types", epsilon);
    MdStatus read_sigma =
        md_problem_spread(problems, MD_OPTION_potential_sigma, &config->potential_sigma, n_types, "types", sigma);
    if (read_epsilon || read_sigma) return MD_ERROR_INPUT;

    table_mix(&table, config->potential_mixing, epsilon, sigma, config->potential_cutoff);
    MdStatus status = table_read_pairs(problems, &table, config->potential_pairs);
    if (wca && table_cut_wca(problems, potential->form, &table)) status = MD_ERROR_INPUT;
    return status ? status : table_to_potential(problems, &table, potential);
}

MdStatus md_potential_from_config(const MdDeck *deck, int n_types, MdPotential *potential, MdErrors *errors) {
    MdProblems problems = {deck, errors};
    return md_potential_make(&problems, n_types, potential);
}
