#define _POSIX_C_SOURCE 200809L
#include "state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backends.h"
#include "base/memory.h"

static _Noreturn void stop(const char *what, MdErrors *errors) {
    printf("%s\n", what);
    if (errors) md_errors_print(errors, stdout);
    exit(1);
}

MdDeck *state_deck(const char *const *words) {
    enum { MAX_WORDS = 62 };
    char path[] = "/tmp/mdmini_state_XXXXXX";
    int file = mkstemp(path);
    static const char text[] = "# a deck without keys: every option has its default\n[system]\n";
    if (file < 0 || write(file, text, sizeof text - 1) != (ssize_t)(sizeof text - 1)) stop("cannot write a deck", NULL);
    close(file);
    char *arguments[MAX_WORDS + 1] = {path};
    int n = 1;
    for (; words && words[n - 1]; n++) {
        if (n > MAX_WORDS) stop("too many words for a deck", NULL);
        arguments[n] = md_copy_text(words[n - 1]);
    }
    MdErrors *errors = md_errors_create();
    MdDeck *deck = md_deck_read(n, arguments, errors);
    unlink(path);
    if (!deck) stop("the deck of a test cannot be read:", errors);
    for (int k = 1; k < n; k++) free(arguments[k]);
    md_errors_destroy(errors);
    return deck;
}

MdSystem *state_system(const MdDeck *deck) {
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    MdSystem *system = md_system_plan(deck, md_backend_random(), &plan, errors) == MD_OK
                           ? md_system_create(deck, &plan, errors)
                           : NULL;
    if (!system) stop("the system of a test cannot be made:", errors);
    md_system_plan_free(&plan);
    md_errors_destroy(errors);
    return system;
}

MdConfig state_config(void) {
    static MdDeck *deck; /* kept until the end: its texts are the configuration's */
    if (!deck) deck = state_deck(NULL);
    return *md_deck_config(deck);
}

/* Random numbers that owe nothing to the code under test: splitmix64 (Steele, Lea, Flood, OOPSLA 2014), in [0, 1). */
static double next_uniform(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Types that differ in depth, size and cutoff; the first pair has the cutoff of the shape, which is the largest. */
static void make_potential(const StateShape *shape, MdPotential *potential) {
    int n = shape->n_types;
    *potential = (MdPotential){
        .n_types = n, .shift = shape->shift, .form = md_form(MD_POTENTIAL_LJ), .cutoff_max = shape->cutoff};
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double cutoff = shape->cutoff * (1 - 0.05 * (a + b));
            const double words[] = {1 + 0.2 * (a + b), 1 - 0.03 * (a + b)};
            potential->pair[a * n + b] = md_pair_make(potential->form, words, cutoff, shape->shift, 0.8 * cutoff);
        }
}

/* Box and cells: axes of different length, none shorter than the smallest legal one. */
static void make_box(const StateShape *shape, MdBox *box, int64_t cells[3]) {
    int d = shape->dimension;
    double spacing = pow(shape->density, -1.0 / d);
    double n_sites = (double)shape->n_atoms * (shape->uneven ? 1.6 : 1); /* see keeps_atom: 2/3 stay, with chance */
    int64_t n = (int64_t)ceil(pow(n_sites, 1.0 / d));
    *box = (MdBox){.dimension = d, .length = {1, 1, 1}};
    for (int a = 0; a < 3; a++) cells[a] = 1;
    for (int a = 0; a < d; a++) {
        double least = 2 * (shape->cutoff + shape->skin);
        box->periodic[a] = shape->periodic[a];
        box->length[a] = (double)(n + a) * spacing;
        if (box->length[a] < least) box->length[a] = least;
        cells[a] = (int64_t)ceil(box->length[a] / spacing - 1e-9);
    }
}

/* Uneven: of the upper half along the last axis two atoms out of three go. */
static bool keeps_atom(const StateShape *shape, const int64_t cells[3], const int64_t cell[3], int64_t site) {
    int last = shape->dimension - 1;
    return !shape->uneven || 2 * cell[last] < cells[last] || site % 3 == 0;
}

/* One seventh of the atoms next to a lower face go to just that face, or through it to the last number below length. */
static void put_on_face(const MdSystem *system, const int64_t cell[3], int64_t site, double *position) {
    if (site % 7 != 0) return;
    for (int a = 0; a < system->box.dimension; a++)
        if (cell[a] == 0) {
            position[a] = site % 2 ? 0 : nextafter(system->box.length[a], 0);
            return;
        }
}

static int64_t place_atoms(const StateShape *shape, const int64_t cells[3], MdSystem *system) {
    uint64_t random = shape->seed;
    int64_t n = 0, site = 0;
    for (int64_t z = 0; z < cells[2]; z++)
        for (int64_t y = 0; y < cells[1]; y++)
            for (int64_t x = 0; x < cells[0]; x++, site++) {
                const int64_t cell[3] = {x, y, z};
                if (!keeps_atom(shape, cells, cell, site)) continue;
                double *position = system->position + 3 * n, *velocity = system->velocity + 3 * n;
                for (int a = 0; a < shape->dimension; a++) {
                    double spacing = system->box.length[a] / (double)cells[a];
                    /* a quarter above the face, so that an atom put on the face meets no other */
                    position[a] = ((double)cell[a] + 0.25 + shape->shake * (2 * next_uniform(&random) - 1)) * spacing;
                    position[a] -= system->box.length[a] * floor(position[a] / system->box.length[a]);
                    if (position[a] >= system->box.length[a]) position[a] = 0; /* rounding of a tiny negative place */
                    velocity[a] = 2 * next_uniform(&random) - 1;
                }
                put_on_face(system, cell, site, position);
                system->type[n++] = (int32_t)(next_uniform(&random) * shape->n_types);
            }
    return n;
}

/* Takes the total momentum out of the velocities. */
static void stop_drift(MdSystem *system) {
    double momentum[3] = {0, 0, 0}, mass = 0;
    for (int64_t i = 0; i < system->n_atoms; i++) {
        double m = system->mass[system->type[i]];
        mass += m;
        for (int a = 0; a < 3; a++) momentum[a] += m * system->velocity[3 * i + a];
    }
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int a = 0; a < 3; a++) system->velocity[3 * i + a] -= momentum[a] / mass;
}

MdSystem *state_shaken(const StateShape *shape) {
    if (shape->n_types < 1 || shape->n_types > MD_MAX_TYPES || !(shape->density > 0) || shape->cutoff <= 0)
        stop("a state without types, density or cutoff", NULL);
    int64_t cells[3];
    MdBox box;
    make_box(shape, &box, cells);
    size_t n_sites = (size_t)(cells[0] * cells[1] * cells[2]);
    MdSystem *system = md_alloc(1, sizeof *system, "a system");
    system->box = box;
    make_potential(shape, &system->potential);
    for (int t = 0; t < shape->n_types; t++) system->mass[t] = 1 + 0.5 * t;
    system->position = md_alloc(3 * n_sites, sizeof(double), "positions");
    system->velocity = md_alloc(3 * n_sites, sizeof(double), "velocities");
    system->image = md_alloc(3 * n_sites, sizeof(int32_t), "images");
    system->type = md_alloc(n_sites, sizeof(int32_t), "types");
    system->n_atoms = system->n_own = place_atoms(shape, cells, system);
    if (system->n_atoms < shape->n_atoms) stop("a state with too few atoms", NULL);
    stop_drift(system);
    return system;
}

MdSystemPlan state_plan(const MdSystem *system) {
    MdSystemPlan plan = {.n_atoms = system->n_atoms, .box = system->box, .potential = system->potential};
    double volume = 1; /* along an open axis that of the particles, but no less than the cutoff */
    for (int a = 0; a < system->box.dimension; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < system->n_atoms; i++) {
            low = fmin(low, system->position[3 * i + a]);
            high = fmax(high, system->position[3 * i + a]);
        }
        volume *= system->box.periodic[a] ? system->box.length[a] : fmax(high - low, system->potential.cutoff_max);
    }
    plan.density = (double)system->n_atoms / volume;
    for (int t = 0; t < system->potential.n_types; t++)
        snprintf(plan.type_name[t], sizeof plan.type_name[t], "%c", 'A' + t);
    return plan;
}
