#include "system/eam_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "system/eam_read.h"

static const double funcfl_pair = 27.2 * 0.529; /* eV angstrom: hartree and bohr as funcfl files take them */

/* --- tables of the result ---------------------------------------------------------------------------------------- */

static double *density_of(const MdEamFile *file, int maker, int at) {
    return file->density + ((size_t)at * (size_t)file->n_elements + (size_t)maker) * (size_t)file->n_r;
}

static double *pair_of(const MdEamFile *file, int a, int b) {
    return file->pair + ((size_t)a * (size_t)file->n_elements + (size_t)b) * (size_t)file->n_r;
}

static void allocate(MdEamFile *file, int n_elements, int n_rho, int n_r) {
    const size_t n = (size_t)n_elements;
    file->n_elements = n_elements;
    file->n_rho = n_rho;
    file->n_r = n_r;
    file->name = md_alloc(n, sizeof *file->name, "names of elements");
    file->mass = md_alloc(n, sizeof *file->mass, "masses of elements");
    file->embedding = md_alloc(n * (size_t)n_rho, sizeof(double), "embedding functions");
    file->density = md_alloc(n * n * (size_t)n_r, sizeof(double), "densities");
    file->pair = md_alloc(n * n * (size_t)n_r, sizeof(double), "pair energies");
}

static void set_element(MdEamFile *file, int e, const char *name, double mass) {
    memcpy(file->name[e], name, MD_TYPE_NAME_SIZE);
    file->mass[e] = mass;
}

/* The density of an element, made alike at all. */
static void spread_density(MdEamFile *file, int maker) {
    for (int at = 1; at < file->n_elements; at++)
        memcpy(density_of(file, maker, at), density_of(file, maker, 0), (size_t)file->n_r * sizeof(double));
}

/* --- setfl and fs ------------------------------------------------------------------------------------------------ */

/* Copies a block; the values after it. */
static const double *take(double *to, const double *values, int n) {
    memcpy(to, values, (size_t)n * sizeof *to);
    return values + n;
}

static const double *take_element(MdEamFile *file, int e, const double *values) {
    values = take(file->embedding + (size_t)e * (size_t)file->n_rho, values, file->n_rho);
    const int n_densities = file->kind == MD_EAM_FS ? file->n_elements : 1;
    for (int at = 0; at < n_densities; at++) values = take(density_of(file, e, at), values, file->n_r);
    if (n_densities == 1) spread_density(file, e);
    return values;
}

static void take_setfl(MdEamFile *file, const MdEamTables *t) {
    file->kind = t->kind;
    file->d_rho = t->d_rho;
    file->d_r = t->d_r;
    file->cutoff = t->cutoff;
    file->rho_max = (t->n_rho - 1) * t->d_rho;
    allocate(file, t->n_elements, t->n_rho, t->n_r);
    const double *values = t->values;
    for (int e = 0; e < t->n_elements; e++) {
        set_element(file, e, t->name[e], t->mass[e]);
        values = take_element(file, e, values);
    }
    for (int a = 0; a < t->n_elements; a++)
        for (int b = 0; b <= a; b++) {
            values = take(pair_of(file, a, b), values, t->n_r);
            take(pair_of(file, b, a), pair_of(file, a, b), t->n_r);
        }
}

/* --- funcfl ------------------------------------------------------------------------------------------------------ */

/* Four-point Lagrange interpolation of a table onto another spacing; beyond its end its last value. The points are
 * numbered from 1, and the middle two of the four are k and k + 1, except at the ends, as LAMMPS has it. */
static double lagrange(const double *y, int n, double d, double x) {
    const double place = x / d + 1;
    const int k = (int)fmax(fmin(place, n - 2), 2);
    const double p = fmin(place - k, 2), *at = y + k - 1;
    return -p * (p - 1) * (p - 2) / 6 * at[-1] + (p * p - 1) * (p - 2) / 2 * at[0] - p * (p + 1) * (p - 2) / 2 * at[1] +
           p * (p * p - 1) / 6 * at[2];
}

static void regrid(double *to, int n_to, double d_to, const double *y, int n, double d) {
    for (int k = 0; k < n_to; k++) to[k] = lagrange(y, n, d, k * d_to);
}

/* Coarsest spacings, longest ranges, one point fewer than these have. */
static void set_common_grid(MdEamFile *file, const MdEamTables *tables, int n) {
    double reach = 0;
    for (int e = 0; e < n; e++) {
        const MdEamTables *t = &tables[e];
        file->d_rho = fmax(file->d_rho, t->d_rho);
        file->d_r = fmax(file->d_r, t->d_r);
        file->cutoff = fmax(file->cutoff, t->cutoff);
        file->rho_max = fmax(file->rho_max, (t->n_rho - 1) * t->d_rho);
        reach = fmax(reach, (t->n_r - 1) * t->d_r);
    }
    allocate(file, n, (int)(file->rho_max / file->d_rho + 0.5), (int)(reach / file->d_r + 0.5));
}

static void set_funcfl_pair(MdEamFile *file, int a, int b, const double *charge_a, const double *charge_b) {
    for (int k = 0; k < file->n_r; k++)
        pair_of(file, a, b)[k] = pair_of(file, b, a)[k] = funcfl_pair * charge_a[k] * charge_b[k];
}

static void take_funcfl(MdEamFile *file, const MdEamTables *tables, int n) {
    file->kind = MD_EAM_FUNCFL;
    set_common_grid(file, tables, n);
    double *charge = md_alloc((size_t)n * (size_t)file->n_r, sizeof *charge, "charges of funcfl files");
    for (int e = 0; e < n; e++) {
        const MdEamTables *t = &tables[e];
        const double *z = t->values + t->n_rho, *density = z + t->n_r;
        set_element(file, e, t->name[0], t->mass[0]);
        regrid(file->embedding + (size_t)e * (size_t)file->n_rho, file->n_rho, file->d_rho, t->values, t->n_rho,
               t->d_rho);
        regrid(charge + (size_t)e * (size_t)file->n_r, file->n_r, file->d_r, z, t->n_r, t->d_r);
        regrid(density_of(file, e, 0), file->n_r, file->d_r, density, t->n_r, t->d_r);
        spread_density(file, e);
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++)
            set_funcfl_pair(file, a, b, charge + (size_t)a * (size_t)file->n_r, charge + (size_t)b * (size_t)file->n_r);
    md_free(charge);
}

/* --- several files ----------------------------------------------------------------------------------------------- */

static bool may_join(const MdEamTables *tables, const char *const *paths, int n, MdErrors *errors) {
    for (int k = 0; k < n && n > 1; k++) {
        if (tables[k].kind != MD_EAM_FUNCFL) {
            md_fail(errors, MD_ERROR_INPUT,
                    "%s: a setfl or fs file holds all elements of an alloy: give it alone, or funcfl files only",
                    paths[k]);
            return false;
        }
        for (int other = 0; other < k; other++)
            if (strcmp(tables[other].name[0], tables[k].name[0]) == 0) {
                md_fail(errors, MD_ERROR_INPUT, "%s: element %s, as in %s; each file of an alloy has another element",
                        paths[k], tables[k].name[0], paths[other]);
                return false;
            }
    }
    return true;
}

static char *joined(const char *const *paths, int n) {
    MdText text = {0};
    for (int k = 0; k < n; k++) md_text_add(&text, "%s%s", k ? ", " : "", paths[k]);
    return md_text_take(&text);
}

MdEamFile *md_eam_file_read(const char *const *paths, int n_paths, MdErrors *errors) {
    MdEamTables *tables = md_alloc((size_t)n_paths, sizeof *tables, "EAM files");
    MdEamFile *file = md_alloc(1, sizeof *file, "EAM tables");
    file->path = joined(paths, n_paths);
    bool done = n_paths > 0;
    for (int k = 0; k < n_paths; k++) done = md_eam_tables_read(paths[k], &tables[k], &file->notes, errors) && done;
    done = done && may_join(tables, paths, n_paths, errors);
    if (done && tables[0].kind == MD_EAM_FUNCFL) take_funcfl(file, tables, n_paths);
    else if (done) take_setfl(file, tables);
    for (int k = 0; k < n_paths; k++) md_eam_tables_free(&tables[k]);
    md_free(tables);
    if (done) return file;
    md_eam_file_free(file);
    return NULL;
}

void md_eam_file_free(MdEamFile *file) {
    if (!file) return;
    md_free(file->name);
    md_free(file->mass);
    md_free(file->embedding);
    md_free(file->density);
    md_free(file->pair);
    md_notes_free(&file->notes);
    free(file->path);
    md_free(file);
}

/* --- elements ---------------------------------------------------------------------------------------------------- */

static int find(const MdEamFile *file, const char *name) {
    for (int e = 0; e < file->n_elements; e++)
        if (strcmp(file->name[e], name) == 0) return e;
    return -1;
}

/* The names, or those not in use, separated by commas; free with free(). */
static char *names_of(const MdEamFile *file, const bool *used) {
    MdText text = {0};
    for (int e = 0; e < file->n_elements; e++)
        if (!used || !used[e]) md_text_add(&text, "%s%s", text.length ? ", " : "", file->name[e]);
    return md_text_take(&text);
}

static void note_unused(MdEamFile *file, const int *element, int n) {
    bool *used = md_alloc((size_t)file->n_elements, sizeof *used, "elements in use");
    for (int k = 0; k < n; k++) used[element[k]] = true;
    char *names = names_of(file, used);
    if (*names) md_notes_add(&file->notes, "%s: elements that are not used: %s", file->path, names);
    free(names);
    md_free(used);
}

MdStatus md_eam_file_choose(MdEamFile *file, const char *const *names, int n, int *element, MdErrors *errors) {
    MdStatus status = MD_OK;
    char *all = names_of(file, NULL);
    for (int k = 0; k < n; k++) {
        element[k] = find(file, names[k]);
        if (element[k] < 0)
            status = md_fail(errors, MD_ERROR_INPUT, "%s: no element `%s`; it has %s (case matters)", file->path,
                             names[k], all);
    }
    free(all);
    if (status == MD_OK) note_unused(file, element, n);
    return status;
}
