#include "output/curves.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/replace.h"

MdCurves *md_curves_create(int n_points, int n_kinds, int n_axes) {
    const size_t n = (size_t)n_points, all = n * (size_t)n_kinds;
    MdCurves *c = md_alloc(1, sizeof *c, "curves");
    md_require(n_axes <= MD_CURVE_AXES);
    c->n_points = n_points;
    c->n_kinds = n_kinds;
    c->n_axes = n_axes;
    for (int a = 0; a < n_axes; a++) c->axis[a].values = md_alloc(n, sizeof(double), "curves");
    c->kind = md_alloc((size_t)n_kinds, sizeof *c->kind, "curves");
    c->is_plain = md_alloc((size_t)n_kinds, sizeof *c->is_plain, "curves");
    c->n_blocks = md_alloc(n, sizeof *c->n_blocks, "curves");
    c->mean = md_alloc(all, sizeof *c->mean, "curves");
    c->error = md_alloc(all, sizeof *c->error, "curves");
    return c;
}

void md_curves_destroy(MdCurves *c) {
    if (!c) return;
    for (int a = 0; a < c->n_axes; a++) md_free(c->axis[a].values);
    md_free(c->kind);
    md_free(c->is_plain);
    md_free(c->n_blocks);
    md_free(c->mean);
    md_free(c->error);
    md_free(c);
}

/* An unknown number is an empty field. */
static void write_number(FILE *file, double value) {
    char text[MD_NUMBER_BYTES];
    fprintf(file, ",%s", isfinite(value) ? md_number_write(text, value) : "");
}

static void write_heading(FILE *file, const MdCurves *c) {
    for (int a = 0; a < c->n_axes; a++) {
        const char *unit = md_unit_name(c->units, c->axis[a].unit);
        fprintf(file, "%s%s (%s)", a ? "," : "", c->axis[a].name, *unit ? unit : "steps");
    }
    fprintf(file, ",%s", c->blocks);
    char *unit = c->unit == MD_NO_UNIT ? md_copy_text("") : md_format(" (%s)", md_unit_name(c->units, c->unit));
    for (int k = 0; k < c->n_kinds; k++) {
        fprintf(file, ",%s%s", c->kind[k], unit);
        if (!c->is_plain[k]) fprintf(file, ",error of %s%s", c->kind[k], unit);
    }
    free(unit);
    fputc('\n', file);
}

static void write_all(FILE *file, const void *data) {
    const MdCurves *c = data;
    write_heading(file, c);
    for (int p = 0; p < c->n_points; p++) {
        char text[MD_NUMBER_BYTES];
        fputs(md_number_write(text, c->axis[0].values[p]), file);
        for (int a = 1; a < c->n_axes; a++) write_number(file, c->axis[a].values[p]);
        fprintf(file, ",%lld", (long long)c->n_blocks[p]);
        for (int k = 0; k < c->n_kinds; k++) {
            write_number(file, c->mean[p * c->n_kinds + k]);
            if (!c->is_plain[k]) write_number(file, c->error[p * c->n_kinds + k]);
        }
        fputc('\n', file);
    }
}

MdStatus md_curves_write(const MdCurves *curves, const char *path, MdErrors *errors) {
    return md_replace_file(path, write_all, curves, errors);
}
