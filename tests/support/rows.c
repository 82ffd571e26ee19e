#include "rows.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tolerance.h"

double rows_distance(const MdSystem *system, const double *position, int64_t i, int64_t j) {
    double d[3], wraps[3];
    return sqrt(tolerance_separation(system, position, i, j, d, wraps));
}

static double cutoff_of(const MdSystem *system, int64_t i, int64_t j) {
    return system->potential.pair[system->type[i] * system->potential.n_types + system->type[j]].cutoff;
}

double rows_distance_error(const MdSystem *system, const double *position, int precision) {
    double u = tolerance_roundoff(precision) + DBL_EPSILON / 2, extent = tolerance_extent(system, position);
    return sqrt(system->box.dimension) * u * (4 * extent + system->potential.cutoff_max);
}

bool rows_count_entries(const MdRows *rows, int64_t n, unsigned char *count) {
    memset(count, 0, (size_t)(n * n));
    if (!CHECK(rows->n_atoms == n) || !CHECK(rows->offsets[0] == 0)) return false;
    for (int64_t i = 0; i < n; i++)
        if (rows->offsets[i] > rows->offsets[i + 1]) return CHECK(false && "offsets in order");
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = rows->offsets[i]; k < rows->offsets[i + 1]; k++) {
            if (rows->ids[k] < 0 || rows->ids[k] >= n) return CHECK(false && "ids of atoms");
            if (count[i * n + rows->ids[k]] < 2) count[i * n + rows->ids[k]]++;
        }
    return true;
}

int64_t rows_count_wrong(const MdSystem *system, const double *position, const unsigned char *count, bool half,
                         double reach_in, double reach_out, bool tell) {
    int64_t n = system->n_atoms, n_wrong = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            int here = count[i * n + j], there = count[j * n + i];
            double r = i == j ? 0 : rows_distance(system, position, i, j);
            bool absent = i != j && here + there == 0 && r < cutoff_of(system, i, j) + reach_in;
            bool too_far = here + there > 0 && r > system->potential.cutoff_max + reach_out;
            bool paired = half ? here + there < 2 : here == there && here < 2;
            if (!absent && !too_far && paired && (i != j || here == 0)) continue;
            if (tell && n_wrong == 0)
                printf("pair %lld %lld at %.9g: %d in one row, %d in the other\n", (long long)i, (long long)j, r, here,
                       there);
            n_wrong++;
        }
    return n_wrong;
}
