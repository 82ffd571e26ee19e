#include "system/placement.h"

#include "system/point_grid.h"

/* Uniform in [0, length) along each axis; the random numbers lie in (0, 1]. */
static void random_place(const MdBox *box, MdRandom *random, double *place) {
    double u[3] = {0, 0, 0};
    md_random_uniform(random, u, (size_t)box->dimension);
    for (int a = 0; a < 3; a++) {
        place[a] = a < box->dimension ? (1 - u[a]) * box->length[a] : 0;
        if (!(place[a] < box->length[a])) place[a] = 0; /* rounding of the product */
    }
}

int64_t md_placement_fill(const MdBox *box, double min_distance, int64_t n_atoms, MdRandom *random, double *position) {
    double volume = 1;
    for (int a = 0; a < box->dimension; a++) volume *= box->length[a];
    double spacing = pow(volume / (double)n_atoms, 1.0 / box->dimension);
    MdPointGrid *grid = md_point_grid_create(box, fmax(min_distance, spacing), n_atoms);
    int64_t n = 0;
    for (int tries = 0; n < n_atoms && tries < MD_PLACEMENT_TRIES; tries++) {
        double *place = position + 3 * n;
        random_place(box, random, place);
        if (md_point_grid_find(grid, place, min_distance) >= 0) continue;
        md_point_grid_add(grid, place);
        n++;
        tries = -1;
    }
    md_point_grid_destroy(grid);
    return n;
}
