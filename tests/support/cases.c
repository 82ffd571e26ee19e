#include "cases.h"

#include <math.h>
#include <string.h>

#include "check.h"

const Case cases_table[] = {
    {"3-D", {3, 1001, 0.8442, 0.10, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_NONE, 1}, 0, false, false},
    {"3-D uneven, shift force",
     {3, 1400, 0.80, 0.12, 2.5, 0.3, {true, true, true}, true, 1, MD_SHIFT_FORCE, 2},
     0,
     false,
     true},
    {"3-D mixed boundary, 2 types",
     {3, 900, 0.80, 0.12, 2.5, 0.3, {true, false, true}, true, 2, MD_SHIFT_ENERGY, 3},
     0,
     false,
     true},
    {"3-D open, 3 types",
     {3, 600, 0.70, 0.12, 2.2, 0.4, {false, false, false}, true, 3, MD_SHIFT_NONE, 4},
     0,
     false,
     false},
    {"2-D uneven", {2, 1001, 0.80, 0.12, 2.5, 0.3, {true, true, false}, true, 1, MD_SHIFT_ENERGY, 5}, 0, false, true},
    {"2-D mixed boundary, 2 types",
     {2, 500, 0.75, 0.12, 2.5, 0.3, {false, true, false}, false, 2, MD_SHIFT_FORCE, 6},
     0,
     false,
     false},
    /* more cells than the square of the smallest block, so that sums of blocks of them fill more than one block */
    {"2-D dilute, many cells",
     {2, 1200, 0.12, 0.30, 2.5, 0.3, {true, true, false}, false, 1, MD_SHIFT_ENERGY, 9},
     0,
     false,
     false},
    {"smallest box 3-D", {3, 256, 0.80, 0.10, 2.5, 0.3, {true, true, true}, false, 1, MD_SHIFT_NONE, 7}, 0, true, true},
    {"smallest box 2-D",
     {2, 36, 0.80, 0.10, 2.5, 0.3, {true, true, false}, false, 1, MD_SHIFT_NONE, 8},
     0,
     true,
     false},
    {"3-D switch", {3, 900, 0.80, 0.12, 2.5, 0.3, {true, true, true}, true, 1, MD_SHIFT_SWITCH, 10}, 0, false, false},
};
const int cases_count = sizeof cases_table / sizeof cases_table[0];

static double next_below(double x) { return nextafter(x, 0); }

/* Velocities with all components different, total momentum not zero. */
static void set_velocities(MdSystem *system) {
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int a = 0; a < 3; a++)
            system->velocity[3 * i + a] =
                a < system->box.dimension ? sin(1.7 * (double)i + 2.1 * a) + 0.1 * (a + 1) : 0;
}

/* Puts atoms on faces, edges and a corner: coordinate 0, or the last number below the length, which in single precision
 * is the length itself. Those that would come nearer than 0.8 to another stay where they are. */
static int put_on_faces(MdSystem *system) {
    int n_moved = 0;
    for (int64_t i = 0; i < system->n_atoms; i += 5) {
        double old[3], *x = system->position + 3 * i, nearest = 1e300;
        memcpy(old, x, sizeof old);
        for (int a = 0; a < system->box.dimension; a++)
            if ((i / 5 + 1) >> a & 1) x[a] = x[a] < system->box.length[a] / 2 ? 0 : next_below(system->box.length[a]);
        for (int64_t j = 0; j < system->n_atoms; j++) {
            if (j == i) continue;
            double r_sq = 0;
            for (int a = 0; a < 3; a++) {
                double d = md_nearest_image_d(x[a] - system->position[3 * j + a], system->box.length[a],
                                              md_box_inverse(&system->box, a));
                r_sq += d * d;
            }
            nearest = fmin(nearest, r_sq);
        }
        if (nearest < 0.8 * 0.8) memcpy(x, old, sizeof old);
        else n_moved++;
    }
    return n_moved;
}

MdSystem *cases_make(const Case *c, MdConfig *config) {
    MdSystem *system = state_shaken(&c->shape);
    if (c->first_atoms) {
        CHECK(system->n_atoms >= c->first_atoms);
        system->n_atoms = system->n_own = c->first_atoms;
    }
    int n_faces = put_on_faces(system);
    if (!c->first_atoms) CHECK(n_faces > 0);
    set_velocities(system);
    for (int64_t k = 0; k < 3 * system->n_atoms; k++) /* as after a way through several boxes */
        if (system->box.periodic[k % 3]) system->image[k] = (int32_t)(k % 7) - 3;
    config->neighbor_skin = c->shape.skin;
    config->analysis_pressure = c->has_tensor ? MD_PRESSURE_TENSOR : MD_PRESSURE_SCALAR;
    if (c->smallest_box) {
        double shortest = 1e300;
        for (int a = 0; a < system->box.dimension; a++) shortest = fmin(shortest, system->box.length[a]);
        double skin = shortest / 2 - system->potential.cutoff_max;
        while (2 * (system->potential.cutoff_max + skin) > shortest) skin = next_below(skin);
        CHECK(skin > 0);
        config->neighbor_skin = skin;
    }
    return system;
}
