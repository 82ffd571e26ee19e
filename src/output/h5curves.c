/* /parameters/mdmini/analysis: curves (curves.h) as H5MD has observables: step, time and value, and besides the error and the number of
 * blocks. They are not in /observables, as MDAnalysis reads a value of each of those with each frame, and fails where there is none.
 * They have their room from the start, so that later only bytes change that are there. */
#include <stdlib.h>

#include "base/memory.h"
#include "output/h5file.h"

static const char folder[] = "parameters/mdmini/analysis";

static char *path_of(const MdCurves *c, const char *name) { return md_format("%s/%s/%s", folder, c->title, name); }

/* Whether they are there, of this shape. */
static bool are_there(const MdH5md *file, const MdCurves *c) {
    char *path = md_format("%s/%s", folder, c->title), *value = path_of(c, "value");
    hsize_t extent[2] = {0, 0};
    const bool is_there =
        H5Lexists(file->file, folder, H5P_DEFAULT) > 0 && H5Lexists(file->file, path, H5P_DEFAULT) > 0;
    hid_t set = is_there ? H5Dopen2(file->file, value, H5P_DEFAULT) : -1;
    hid_t space = set >= 0 ? H5Dget_space(set) : -1;
    if (space >= 0 && H5Sget_simple_extent_ndims(space) == 2) H5Sget_simple_extent_dims(space, extent, NULL);
    if (space >= 0) H5Sclose(space);
    if (set >= 0) H5Dclose(set);
    free(path);
    free(value);
    return extent[0] == (hsize_t)c->n_points && extent[1] == (hsize_t)c->n_kinds;
}

static void put(MdH5Calls *calls, const MdH5md *file, const MdCurves *c, const char *name, hid_t type, int n_kinds,
                MdQuantity unit, const void *values, bool is_new) {
    char *path = path_of(c, name);
    if (is_new) md_h5_put(calls, file->file, path, NULL, type, type, c->n_points, n_kinds, values);
    hid_t set = H5_CALL(calls, H5Dopen2(file->file, path, H5P_DEFAULT));
    if (is_new) md_h5_put_unit(calls, set, md_unit_in_h5md(c->units, unit));
    else H5_CALL(calls, H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5_CALL(calls, H5Dclose(set));
    free(path);
}

static void put_curves(MdH5Calls *calls, const MdH5md *file, const MdCurves *c) {
    const bool is_new = !are_there(file, c);
    char *path = md_format("%s/%s", folder, c->title);
    if (is_new && H5Lexists(file->file, folder, H5P_DEFAULT) > 0 && H5Lexists(file->file, path, H5P_DEFAULT) > 0)
        H5_CALL(calls, H5Ldelete(file->file, path, H5P_DEFAULT));
    for (int a = 0; a < c->n_axes; a++)
        put(calls, file, c, c->axis[a].name, H5T_NATIVE_DOUBLE, 0, c->axis[a].unit, c->axis[a].values, is_new);
    put(calls, file, c, "value", H5T_NATIVE_DOUBLE, c->n_kinds, c->unit, c->mean, is_new);
    put(calls, file, c, "error", H5T_NATIVE_DOUBLE, c->n_kinds, c->unit, c->error, is_new);
    put(calls, file, c, c->blocks, H5T_NATIVE_INT64, 0, MD_NO_UNIT, c->n_blocks, is_new);
    free(path);
}

void md_h5_put_curves(MdH5Calls *calls, const MdH5md *file, MdCurves *const *curves, int n) {
    for (int k = 0; k < n && !calls->failed; k++) put_curves(calls, file, curves[k]);
}

double md_h5_curves_bytes(MdCurves *const *curves, int n) {
    double bytes = 0;
    for (int k = 0; k < n; k++) /* and a header of each dataset */
        bytes += (curves[k]->n_axes + 3) * 1024.0 +
                 8.0 * curves[k]->n_points * (curves[k]->n_axes + 1 + 2 * curves[k]->n_kinds);
    return bytes;
}

MdStatus md_h5md_put_curves(MdH5md *file, MdCurves *const *curves, int n, MdErrors *errors) {
    MdH5Calls calls = md_h5_calls(file->path, errors);
    if (!file->broken) md_h5_put_curves(&calls, file, curves, n);
    return calls.failed ? MD_ERROR_OUTPUT : MD_OK;
}
