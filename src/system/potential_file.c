/* Potentials of a file (potential.file): the elements of the types, and the tables of physics/potential.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "system/eam_file.h"
#include "system/potential.h"
#include "system/text_lines.h"

/* The elements of the types, in the order of types; name[k] points into copy, names or the file. */
static MdStatus find_elements(const MdProblems *problems, const MdEamFile *file, int n_types,
                              const char (*names)[MD_TYPE_NAME_SIZE], char *copy, const char *name[MD_MAX_TYPES]) {
    int n = 0;
    size_t length;
    for (char *word, *rest = copy; md_text_word(&rest, &word, &length); n++)
        if (n < MD_MAX_TYPES) {
            if (word[length]) rest++; /* the blank becomes the end of the word */
            word[length] = '\0';
            name[n] = word;
        }
    if (n > 0 && n != n_types)
        return md_problem(problems, MD_OPTION_potential_elements, "%d elements; there %s %d type%s", n,
                          n_types == 1 ? "is" : "are", n_types, n_types == 1 ? "" : "s");
    for (int t = 0; n == 0 && t < n_types && names; t++) name[t] = names[t];
    if (n > 0 || names) return MD_OK;
    if (n_types > 1)
        return md_problem_by(problems, MD_OPTION_potential_elements, MD_OPTION_system_types,
                             "%d types need an element each; for example `%s %s`", n_types, file->name[0],
                             file->name[file->n_elements > 1 ? 1 : 0]);
    name[0] = file->name[0];
    return MD_OK;
}

static MdSpline make_spline(MdChecksum *sum, int n, double dx, double line_from, const double *y) {
    MdCubic *pieces = md_alloc((size_t)n - 1, sizeof *pieces, "a potential table");
    md_spline_pieces(n, y, pieces);
    md_checksum_add(sum, &dx, sizeof dx);
    md_checksum_add(sum, &line_from, sizeof line_from);
    md_checksum_add(sum, y, (size_t)n * sizeof *y);
    return (MdSpline){.n = n, .dx = dx, .line_from = line_from, .pieces = pieces};
}

static char *join(const MdNotes *notes) {
    MdText text = {0};
    for (int k = 0; k < notes->n; k++) md_text_add(&text, "%s%s", k ? "; " : "", notes->text[k]);
    return md_text_take(&text);
}

/* element: of each type, its number in the file. */
static void fill(const MdEamFile *file, const int *element, MdPotential *potential) {
    const int n = potential->n_types;
    MdTables *tables = md_alloc(1, sizeof *tables, "potential tables");
    *tables = (MdTables){.note = join(&file->notes)};
    MdChecksum sum = md_checksum_begin();
    md_checksum_add(&sum, &file->cutoff, sizeof file->cutoff);
    for (int k = 0; k < n * n; k++) {
        const size_t at = (size_t)(element[k / n] * file->n_elements + element[k % n]) * (size_t)file->n_r;
        tables->pair[k] = make_spline(&sum, file->n_r, file->d_r, (double)INFINITY, file->pair + at);
        tables->density[k] = make_spline(&sum, file->n_r, file->d_r, (double)INFINITY, file->density + at);
        potential->pair[k] = potential->density[k] =
            (MdPair_d){.cutoff_sq = file->cutoff * file->cutoff, .cutoff = file->cutoff, .p = {1, 1, 1, 1}};
    }
    for (int t = 0; t < n; t++) {
        const double *f = file->embedding + (size_t)element[t] * (size_t)file->n_rho;
        tables->embedding[t] = make_spline(&sum, file->n_rho, file->d_rho, file->rho_max, f);
        tables->mass[t] = file->mass[element[t]];
        snprintf(tables->element[t], sizeof tables->element[t], "%s", file->name[element[t]]);
    }
    tables->checksum = md_checksum_value(&sum);
    potential->tables = tables;
    potential->cutoff_max = file->cutoff;
    potential->shift = MD_SHIFT_NONE;
}

MdStatus md_potential_read(const MdProblems *problems, const char (*names)[MD_TYPE_NAME_SIZE], MdPotential *potential) {
    const MdConfig *config = md_deck_config(problems->deck);
    const char *path = config->potential_file, *name[MD_MAX_TYPES];
    int element[MD_MAX_TYPES];
    if (!*path)
        return md_problem_by(problems, MD_OPTION_potential_file, MD_OPTION_potential_form,
                             "%s needs a potential file: setfl, fs or funcfl of LAMMPS", potential->form->word);
    if (config->system_units == MD_UNITS_LJ)
        return md_problem_by(problems, MD_OPTION_system_units, MD_OPTION_potential_file,
                             "lj, but potential files are in angstrom and eV: take metal");
    MdEamFile *file = md_eam_file_read(&path, 1, problems->errors);
    if (!file) return MD_ERROR_INPUT;
    char *copy = md_copy_text(config->potential_elements);
    MdStatus status = find_elements(problems, file, potential->n_types, names, copy, name);
    if (status == MD_OK) status = md_eam_file_choose(file, name, potential->n_types, element, problems->errors);
    if (status == MD_OK) fill(file, element, potential);
    free(copy);
    md_eam_file_free(file);
    return status;
}

void md_potential_free(MdPotential *potential) {
    MdTables *tables = potential->tables;
    if (!tables) return;
    for (int k = 0; k < MD_MAX_TYPES * MD_MAX_TYPES; k++) {
        md_free((void *)tables->pair[k].pieces);
        md_free((void *)tables->density[k].pieces);
    }
    for (int t = 0; t < MD_MAX_TYPES; t++) md_free((void *)tables->embedding[t].pieces);
    free(tables->note);
    md_free(tables);
    potential->tables = NULL;
}
