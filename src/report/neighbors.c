#include "report/neighbors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool inside_cutoff(const MdSystem *system, int64_t i, int64_t j) {
    const MdPotential *potential = &system->potential;
    double r_sq = 0;
    for (int a = 0; a < 3; a++) {
        double d = md_nearest_image_d(system->position[3 * i + a] - system->position[3 * j + a], system->box.length[a],
                                      md_box_inverse(&system->box, a));
        r_sq += d * d;
    }
    return r_sq < potential->pair[system->type[i] * potential->n_types + system->type[j]].cutoff_sq;
}

static int compare_ids(const void *a, const void *b) {
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static void write_rows(FILE *file, const MdRows *rows, const MdSystem *system) {
    fprintf(file, "# neighbours within the cutoff at the first step: i count j1 j2 ...; ids from 0\n");
    fprintf(file, "# %lld atoms\n", (long long)rows->n_atoms);
    for (int64_t i = 0; i < rows->n_atoms; i++) {
        /* Compacts the row to the atoms inside the cutoff. */
        int32_t *row = rows->ids + rows->offsets[i];
        int64_t length = rows->offsets[i + 1] - rows->offsets[i], n = 0;
        for (int64_t k = 0; k < length; k++)
            if (inside_cutoff(system, i, row[k])) row[n++] = row[k];
        qsort(row, (size_t)n, sizeof *row, compare_ids);
        fprintf(file, "%lld %lld", (long long)i, (long long)n);
        for (int64_t k = 0; k < n; k++) fprintf(file, " %d", row[k]);
        fputc('\n', file);
    }
}

MdStatus md_neighbors_write(const char *path, const MdBackendOps *ops, void *context, const MdSystem *system,
                            MdErrors *errors) {
    MdRows rows;
    MdStatus status = ops->export_rows(context, &rows);
    if (status != MD_OK) return status;
    FILE *file = fopen(path, "w");
    int reason = file ? 0 : errno;
    if (file) {
        errno = 0;
        write_rows(file, &rows, system);
        if (ferror(file)) reason = errno ? errno : EIO;
        if (fclose(file) != 0 && !reason) reason = errno;
    }
    if (reason) status = md_fail(errors, MD_ERROR_OUTPUT, "%s: %s", path, strerror(reason));
    md_rows_free(&rows);
    return status;
}
