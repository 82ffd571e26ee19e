#include "system/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/table.h"
#include "system/potential.h"
#include "system/random.h"
#include "system/velocity.h"

/* That no option is given which has no effect with system.start, the deck module has seen to. */

static const char axis_name[] = "xyz";

/* --- boundaries and boxes ---------------------------------------------------------------------------------------- */

static MdStatus plan_boundary(const MdProblems *problems, MdBox *box) {
    const MdIntList *words = &md_deck_config(problems->deck)->system_boundary;
    if (words->n != 1 && words->n != box->dimension)
        return md_problem(problems, MD_OPTION_system_boundary,
                          "%d words; one for each of the %d axes is needed, or one "
                          "for all",
                          words->n, box->dimension);
    for (int a = 0; a < box->dimension; a++)
        box->periodic[a] = words->values[words->n == 1 ? 0 : a] == MD_BOUNDARY_PERIODIC;
    return MD_OK;
}

/* system.box into length; has_box says whether it was given. */
static MdStatus plan_box(const MdProblems *problems, const MdBox *box, double length[3], bool *has_box) {
    const MdRealList *list = &md_deck_config(problems->deck)->system_box;
    *has_box = list->n > 0;
    if (list->n != 0 && list->n != box->dimension)
        return md_problem(problems, MD_OPTION_system_box, "%d numbers; one for each of the %d axes is needed", list->n,
                          box->dimension);
    for (int a = 0; a < list->n; a++) length[a] = list->values[a];
    return MD_OK;
}

/* Whether any layer has a key of [system]. */
static bool gives_system(const MdDeck *deck) {
    const int first = md_section_find("system");
    for (int k = first; k < md_section_end(first); k++)
        if (md_deck_layer(deck, k) > 0) return true;
    return false;
}

static MdStatus plan_lattice(const MdProblems *problems, MdLayout *layout) {
    const MdConfig *config = md_deck_config(problems->deck);
    const MdLattice *lattice = layout->lattice;
    MdBox *box = &layout->plan.box;
    if (lattice->dimension != box->dimension)
        return md_problem_by(problems, MD_OPTION_system_start, MD_OPTION_system_dimension,
                             "%s is a lattice of %d dimensions, and system.dimension is "
                             "%d",
                             md_option_row(MD_OPTION_system_start)->words[lattice->start], lattice->dimension,
                             box->dimension);
    MdStatus status = MD_OK;
    const MdIntList *cells = &config->system_cells;
    if (cells->n != 1 && cells->n != box->dimension)
        status = md_problem(problems, MD_OPTION_system_cells,
                            "%d numbers; one for each of the %d axes is needed, or "
                            "one for all",
                            cells->n, box->dimension);
    if (md_is_auto(config->system_density) && !gives_system(problems->deck)) {
        char *layer = md_shell_path(md_deck_file(problems->deck, 0));
        status = md_fail(problems->errors, MD_ERROR_INPUT,
                         "no key of [system] is given, so there is no system: %s can stand after a deck, as a layer of "
                         "switches on top of it: mdmini DECK %s",
                         md_deck_file(problems->deck, 0), layer);
        free(layer);
    } else if (md_is_auto(config->system_density))
        status = md_problem_by(problems, MD_OPTION_system_density, MD_OPTION_system_start,
                               "a lattice needs it: it sets the lattice constant; "
                               "0.8442 is that of the well known melt");
    if (status) return status;

    double n_atoms = lattice->n_basis;
    layout->constant = md_lattice_constant(lattice, config->system_density);
    for (int a = 0; a < box->dimension; a++) {
        layout->cells[a] = cells->values[cells->n == 1 ? 0 : a];
        n_atoms *= (double)layout->cells[a];
        box->length[a] = (double)layout->cells[a] * lattice->edge[a] * layout->constant;
    }
    if (n_atoms < 2 || n_atoms > 2e9)
        return md_problem(problems, MD_OPTION_system_cells, "%.0f atoms; from 2 to 2e9 are possible", n_atoms);
    layout->plan.n_atoms = (int64_t)n_atoms;
    return MD_OK;
}

static MdStatus plan_random(const MdProblems *problems, MdLayout *layout) {
    const MdConfig *config = md_deck_config(problems->deck);
    MdBox *box = &layout->plan.box;
    bool has_box, has_density = !md_is_auto(config->system_density);
    MdStatus status = MD_OK;
    if (plan_box(problems, box, box->length, &has_box)) return MD_ERROR_INPUT;
    if (config->system_atoms == MD_AUTO_INT)
        status = md_problem_by(problems, MD_OPTION_system_atoms, MD_OPTION_system_start,
                               "system.start = random needs their number");
    if (has_box == has_density)
        status =
            md_problem_by(problems, MD_OPTION_system_density, has_box ? MD_OPTION_system_box : MD_OPTION_system_start,
                          "system.start = random needs either system.density or "
                          "system.box, %s",
                          has_box ? "not both" : "and none is given");
    if (status) return status;
    layout->plan.n_atoms = config->system_atoms;
    double edge = pow((double)config->system_atoms / config->system_density, 1.0 / box->dimension);
    for (int a = 0; a < box->dimension && !has_box; a++) box->length[a] = edge;
    return MD_OK;
}

/* An axis is periodic unless the deck or the file (pbc) opens it. A periodic axis takes its length from system.box or
 * from the file's Lattice; an open one may do without, and takes the extent of the atoms. */
static MdStatus plan_file_box(const MdProblems *problems, const MdCoordinates *c, MdSystemPlan *plan) {
    const char *path = md_deck_config(problems->deck)->system_file;
    MdBox *box = &plan->box;
    double given[3], low[3], high[3];
    bool has_box;
    if (plan_box(problems, box, given, &has_box)) return MD_ERROR_INPUT;
    md_coordinates_extent(c, low, high);
    MdStatus status = MD_OK;
    for (int a = 0; a < box->dimension; a++) {
        if (c->has_pbc && !c->pbc[a]) box->periodic[a] = false;
        const bool has_edge = c->has_lattice && c->lattice[a] > 0;
        if (has_box && has_edge && fabs(given[a] - c->lattice[a]) > 1e-9 * given[a])
            status = md_problem(problems, MD_OPTION_system_box, "%.12g along %c, but the Lattice of %s says %.12g",
                                given[a], axis_name[a], path, c->lattice[a]);
        if (has_box) box->length[a] = given[a];
        else if (has_edge) box->length[a] = c->lattice[a];
        else if (!box->periodic[a])
            box->length[a] = fmax(high[a] - low[a], 1); /* atoms in a row or a plane have no extent across it */
        else
            status =
                md_problem_by(problems, MD_OPTION_system_boundary, MD_OPTION_system_file,
                              "is periodic along %c, and a periodic boundary "
                              "needs a box: %s%sgive system.box, or Lattice=\"...\" in the comment line of %s, or take "
                              "system.boundary = open",
                              axis_name[a], plan->flat[a] ? plan->flat[a] : "", plan->flat[a] ? ", or " : "", path);
    }
    return status;
}

static bool moves_along_z(const MdCoordinates *c) {
    bool moves = false;
    for (int64_t i = 0; i < c->n_atoms; i++)
        moves = moves || (c->velocity && c->velocity[3 * i + 2] != 0) || (c->momentum && c->momentum[3 * i + 2] != 0);
    return moves;
}

/* In two dimensions z has to be 0. */
static void find_flat(MdCoordinates *c, MdSystemPlan *plan) {
    static const char *const advice[] = {
        "take system.dimension = 2 with x as the third column, of 0 (all atoms have one x)",
        "take system.dimension = 2 with y as the third column, of 0 (all atoms have one y)",
        "take system.dimension = 2 (all atoms have one z)",
        "take system.dimension = 2 with all z and their velocities 0 (all atoms have one z)"};
    double low[3], high[3];
    if (plan->box.dimension == 2) return;
    md_coordinates_extent(c, low, high);
    const bool is_ready = low[2] + c->origin[2] == 0 && !moves_along_z(c);
    for (int a = 0; a < 3; a++)
        if (low[a] == high[a]) plan->flat[a] = advice[a < 2 ? a : is_ready ? 2 : 3];
    if (plan->flat[2]) md_coordinates_note(c, "for a two-dimensional system %s", plan->flat[2]);
}

/* Into the units inside, which momenta of ASE have already. */
static void convert_velocities(const MdConfig *config, MdCoordinates *c) {
    if (config->system_units == MD_UNITS_LJ) return;
    const char *unit = c->velocity_per_fs ? "angstrom/fs" : md_config_unit(config, MD_VELOCITY);
    const double inside = (c->velocity_per_fs ? 1e3 : 1) / md_config_factor(config, MD_VELOCITY);
    for (int64_t k = 0; k < 3 * c->n_atoms && c->velocity; k++) c->velocity[k] *= inside;
    if (c->velocity) md_coordinates_note(c, "velocities are in %s", unit);
    if (c->momentum) md_coordinates_note(c, "momenta are in sqrt(amu eV), the unit of ASE");
}

static MdStatus plan_file(const MdProblems *problems, MdLayout *layout, MdCoordinates **coordinates) {
    const MdConfig *config = md_deck_config(problems->deck);
    MdBox *box = &layout->plan.box;
    if (!config->system_file[0])
        return md_problem_by(problems, MD_OPTION_system_file, MD_OPTION_system_start,
                             "system.start = file needs the name of a coordinate file");
    size_t n_bytes;
    const char *stream = md_deck_stream(problems->deck, &n_bytes);
    MdCoordinates *c = md_coordinates_read(config->system_file, stream, n_bytes, box->dimension, problems->errors);
    if (!c) return MD_ERROR_INPUT;
    *coordinates = c;
    if (stream) md_coordinates_note(c, "they came through a pipe: keep them, to repeat this run");
    layout->plan.n_atoms = c->n_atoms;
    convert_velocities(config, c);
    const bool moves = c->velocity || c->momentum;
    layout->plan.file_velocities = moves && md_is_auto(config->system_temperature);
    if (moves && !layout->plan.file_velocities)
        md_coordinates_note(c, "their velocities are not used: system.temperature is given");
    find_flat(c, &layout->plan);
    if (plan_file_box(problems, c, &layout->plan)) return MD_ERROR_INPUT;
    return md_coordinates_settle(c, box, config->system_file, problems->errors);
}

/* --- types ------------------------------------------------------------------------------------------------------- */

/* The file names types by whole numbers that are not 1, 2, ...: a deck that refers to types by number, or to types that the file
 * lacks, may mean those names, and is refused; else the note lists them. */
static MdStatus check_numbered(const MdProblems *problems, MdCoordinates *c, int n_types) {
    bool are_numbers = true, is_renumbered = false;
    MdText text = {0};
    for (int t = 0; t < c->n_types; t++) {
        are_numbers = are_numbers && c->symbol[t][strspn(c->symbol[t], "0123456789")] == '\0';
        is_renumbered = is_renumbered || strtoll(c->symbol[t], NULL, 10) != t + 1;
        md_text_add(&text, "%s`%s` is type %d", t ? ", " : "", c->symbol[t], t + 1);
    }
    is_renumbered = is_renumbered && are_numbers;
    char *told = md_text_take(&text);
    MdStatus status = MD_OK;
    const bool by_number = *md_deck_config(problems->deck)->potential_pairs != '\0';
    if (is_renumbered && (by_number || n_types > c->n_types))
        status = md_problem_by(problems, by_number ? MD_OPTION_potential_pairs : MD_OPTION_system_types,
                               MD_OPTION_system_file,
                               "in %s %s, so that a number may mean either: name the types there by the numbers from 1 "
                               "to %d, or by letters",
                               md_deck_config(problems->deck)->system_file, told, c->n_types);
    else if (is_renumbered) md_coordinates_note(c, "types count from 1: %s", told);
    free(told);
    return status;
}

/* A file with symbols sets the number of types where the deck has the default of one. */
static MdStatus plan_n_types(const MdProblems *problems, MdCoordinates *coordinates, int *n_types) {
    const MdConfig *config = md_deck_config(problems->deck);
    *n_types = (int)config->system_types;
    if (!coordinates || coordinates->n_types == 0) return MD_OK;
    if (config->system_fractions.n != 1)
        return md_problem_by(problems, MD_OPTION_system_fractions, MD_OPTION_system_file,
                             "the types are those of the symbols in %s: leave "
                             "fractions out",
                             config->system_file);
    if (*n_types == 1) *n_types = coordinates->n_types;
    if (coordinates->n_types > *n_types)
        return md_problem_by(problems, MD_OPTION_system_types, MD_OPTION_system_file,
                             "%d, but %s has %d different symbols", *n_types, config->system_file,
                             coordinates->n_types);
    return check_numbered(problems, coordinates, *n_types);
}

static MdStatus plan_fractions(const MdProblems *problems, int n_types, double *fraction) {
    const MdRealList *list = &md_deck_config(problems->deck)->system_fractions;
    if (md_problem_spread(problems, MD_OPTION_system_fractions, list, n_types, "types", fraction))
        return MD_ERROR_INPUT;
    double sum = 0;
    for (int t = 0; t < n_types; t++) {
        if (list->n == 1 && n_types > 1) fraction[t] = 1.0 / n_types;
        sum += fraction[t];
    }
    bool one_for_all = list->n == 1 && list->values[0] != 1;
    if (one_for_all)
        return md_problem(problems, MD_OPTION_system_fractions, "%g; a single number must be 1: equal shares",
                          list->values[0]);
    if (fabs(sum - 1) > 1e-6)
        return md_problem(problems, MD_OPTION_system_fractions, "they sum to %.9g; 1 is needed", sum);
    return MD_OK;
}

/* unit: ` amu`, or nothing. */
static void note_masses(MdCoordinates *c, const char *unit) {
    MdText text = {0};
    for (int t = 0; t < c->n_types; t++) md_text_add(&text, "%s%s %.9g", t ? ", " : "", c->symbol[t], c->mass[t]);
    char *masses = md_text_take(&text);
    md_coordinates_note(c, "masses are its own: %s%s", masses, unit);
    free(masses);
}

/* Masses of the file, where it has them; a deck that gives others contradicts it. Momenta become velocities. */
static MdStatus plan_masses(const MdProblems *problems, MdLayout *layout, int n_types, MdCoordinates *c) {
    const MdRealList *list = &md_deck_config(problems->deck)->system_masses;
    const char *path = md_deck_config(problems->deck)->system_file;
    static const MdRealList one = {.n = 1, .values = {1}};
    const bool given = list->n > 0, is_metal = md_deck_config(problems->deck)->system_units != MD_UNITS_LJ;
    const MdTables *tables = layout->plan.potential.tables;
    for (int t = 0; tables && !given && t < n_types; t++) layout->mass[t] = tables->mass[t];
    if (layout->plan.potential.form->traits & MD_FORM_TABLES && !given && !(c && c->mass[0] > 0)) return MD_OK;
    if (is_metal && !given && !(c && c->mass[0] > 0))
        return md_problem_by(problems, MD_OPTION_system_masses, MD_OPTION_system_units,
                             "metal units have no default: give it, in amu; for example 39.948 for argon");
    MdStatus status =
        md_problem_spread(problems, MD_OPTION_system_masses, given ? list : &one, n_types, "types", layout->mass);
    if (!c || status) return status;
    const bool in_file = c->mass[0] > 0;
    for (int t = 0; t < c->n_types && in_file; t++) {
        if (given && fabs(layout->mass[t] - c->mass[t]) > 1e-9 * c->mass[t])
            status = md_problem(problems, MD_OPTION_system_masses, "%.9g for %s, but %s says %.9g; leave the key out",
                                layout->mass[t], c->symbol[t], path, c->mass[t]);
        layout->mass[t] = c->mass[t];
    }
    if (in_file) note_masses(c, md_config_unit_after(md_deck_config(problems->deck), MD_MASS));
    if (c->momentum && layout->plan.file_velocities && !in_file && !given)
        status = md_problem_by(problems, MD_OPTION_system_masses, MD_OPTION_system_file,
                               "%s has momenta and no masses; a velocity is momentum / mass: give system.masses (1 in "
                               "reduced units), or a column masses",
                               path);
    if (status || !layout->plan.file_velocities) return status;
    return md_coordinates_use_masses(c, layout->mass, path, problems->errors);
}

/* Names of types that have none from a file. They are elements, because ASE opens no XYZ file with other names. */
static const char *const default_names[MD_MAX_TYPES] = {"Ar", "Kr", "Xe", "Ne", "He", "Rn", "Cl", "F"};

static MdStatus plan_types(const MdProblems *problems, MdLayout *layout, MdCoordinates *coordinates) {
    int n_types;
    if (plan_n_types(problems, coordinates, &n_types)) return MD_ERROR_INPUT;
    const bool has_names = coordinates && coordinates->n_types == n_types;
    for (int t = 0; t < n_types; t++) {
        bool named = coordinates && t < coordinates->n_types;
        snprintf(layout->plan.type_name[t], MD_TYPE_NAME_SIZE, "%s", named ? coordinates->symbol[t] : default_names[t]);
    }
    MdStatus status =
        md_potential_make(problems, n_types, has_names ? layout->plan.type_name : NULL, &layout->plan.potential);
    const MdTables *tables = layout->plan.potential.tables;
    for (int t = 0; t < n_types && tables && !has_names; t++)
        snprintf(layout->plan.type_name[t], MD_TYPE_NAME_SIZE, "%s", tables->element[t]);
    if (plan_masses(problems, layout, n_types, coordinates)) status = MD_ERROR_INPUT;
    if (plan_fractions(problems, n_types, layout->fraction)) status = MD_ERROR_INPUT;
    return status;
}

/* --- temperature ------------------------------------------------------------------------------------------------- */

static MdStatus check_temperature(const MdProblems *problems, const MdSystemPlan *plan) {
    const MdConfig *config = md_deck_config(problems->deck);
    if (config->system_units == MD_UNITS_LJ || plan->file_velocities || !md_is_auto(config->system_temperature))
        return MD_OK;
    return md_problem_by(problems, MD_OPTION_system_temperature, MD_OPTION_system_units,
                         "metal units have no default: give it, in K; for example 94.4 for liquid argon");
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

/* As for system.box. */
static const double longest_box = 1e9;

/* The option that sets the size of the box. */
static int size_option(const MdConfig *config) {
    return md_lattice_find(config->system_start)   ? MD_OPTION_system_cells
           : config->system_box.n                  ? MD_OPTION_system_box
           : config->system_start == MD_START_FILE ? MD_OPTION_system_file
                                                   : MD_OPTION_system_atoms;
}

static MdStatus check_largest_box(const MdProblems *problems, const MdBox *box) {
    MdStatus status = MD_OK;
    for (int a = 0; a < box->dimension; a++)
        if (!(box->length[a] <= longest_box))
            status = md_problem(problems, size_option(md_deck_config(problems->deck)),
                                "the box would be %.9g long along %c; %g is the most that coordinates "
                                "can tell apart: more density or fewer cells",
                                box->length[a], axis_name[a], longest_box);
    return status;
}

/* `system.cells = 4` or `take a larger box`: cells of the lattice that make a box of at least that length. */
static char *larger_box(const MdConfig *config, const MdBox *box, double least) {
    const MdIntList *cells = &config->system_cells;
    MdText text = {0};
    if (!md_lattice_find(config->system_start)) return md_copy_text("a larger box");
    md_text_add(&text, "system.cells =");
    for (int a = 0; a < cells->n; a++) {
        int64_t most = cells->values[a];
        for (int b = 0; b < box->dimension; b++) {
            const double n = (double)cells->values[cells->n == 1 ? 0 : b], needed = ceil(n * least / box->length[b]);
            if ((cells->n == 1 || a == b) && box->periodic[b] && (int64_t)needed > most) most = (int64_t)needed;
        }
        md_text_add(&text, " %" PRId64, most);
    }
    return md_text_take(&text);
}

/* Nearest images are unique only when no axis is shorter than twice the reach of the list. The shortest is reported. */
MdStatus md_system_check_range(const MdDeck *deck, const MdSystemPlan *plan, double skin, MdErrors *errors) {
    const MdProblems problems = {deck, errors};
    const MdConfig *config = md_deck_config(deck);
    const MdBox *box = &plan->box;
    double cutoff = plan->potential.cutoff_max, least = 2 * (cutoff + skin);
    int shortest = -1;
    md_require(skin >= 0); /* an unresolved `auto` would pass every comparison */
    for (int a = 0; a < box->dimension; a++)
        if (box->periodic[a] && box->length[a] < (shortest < 0 ? least : box->length[shortest])) shortest = a;
    if (shortest < 0) return MD_OK;
    char *larger = larger_box(config, box, least);
    const char *flat = plan->flat[shortest];
    md_problem_by(&problems, size_option(config), MD_OPTION_neighbor_skin,
                  "the box is %.9g long along %c, but a periodic axis needs at least %.9g = 2 (cutoff %g + skin %g): "
                  "%s%stake %s, a smaller potential.cutoff or neighbor.skin, or system.boundary = open",
                  box->length[shortest], axis_name[shortest], least, cutoff, skin, flat ? flat : "",
                  flat ? ", or " : "", larger);
    free(larger);
    return MD_ERROR_INPUT;
}

/* Where the particles are: extent, spread, and how many there are in the volume that they really fill, which along an open axis
 * of a file is that from atom to atom. */
static void plan_room(MdSystemPlan *plan, const MdCoordinates *coordinates) {
    const MdBox *box = &plan->box;
    double low[3] = {0, 0, 0}, high[3], volume = 1;
    memcpy(high, box->length, sizeof high);
    if (coordinates) md_coordinates_extent(coordinates, low, high);
    plan->extent = plan->spread = 0;
    for (int a = 0; a < box->dimension; a++) {
        const double farthest = fmax(fabs(low[a]), fabs(high[a])), wide = high[a] - low[a];
        plan->extent = fmax(plan->extent, box->periodic[a] ? box->length[a] : farthest);
        if (!box->periodic[a]) plan->spread = fmax(plan->spread, wide);
        volume *= coordinates && !box->periodic[a] ? fmax(wide, 1) : box->length[a];
    }
    plan->density = (double)plan->n_atoms / volume;
    md_potential_set_slopes(&plan->potential, box->dimension, plan->density);
}

static bool is_same_pair(const MdPotential *potential, int a, int b, int partner) {
    const int i = a * potential->n_types + partner, j = b * potential->n_types + partner;
    return memcmp(&potential->pair[i], &potential->pair[j], sizeof(MdPair_d)) == 0 &&
           memcmp(&potential->density[i], &potential->density[j], sizeof(MdPair_d)) == 0;
}

/* The first two types of the same mass and the same pairs with each other and with all others. */
static void find_alike(const MdLayout *layout, int alike[2]) {
    const MdPotential *potential = &layout->plan.potential;
    const int n = potential->n_types;
    alike[0] = alike[1] = 0;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            bool same = layout->mass[a] == layout->mass[b] && potential->strength[a] == potential->strength[b];
            for (int partner = 0; partner < n; partner++) same = same && is_same_pair(potential, a, b, partner);
            if (!same) continue;
            alike[0] = a;
            alike[1] = b;
            return;
        }
}

MdStatus md_layout_make(const MdDeck *deck, const struct MdRandomSource *random, MdLayout *layout,
                        MdCoordinates **coordinates, MdErrors *errors) {
    const MdConfig *config = md_deck_config(deck);
    const MdProblems problems = {deck, errors};
    MdBox box = {.dimension = (int)config->system_dimension, .length = {1, 1, 1}};
    *layout = (MdLayout){
        .plan.box = box, .plan.random = random, .lattice = md_lattice_find(config->system_start), .cells = {1, 1, 1}};
    *coordinates = NULL;

    MdStatus generator = md_random_check(random, config->system_generator, errors);
    MdStatus boundary = plan_boundary(&problems, &layout->plan.box), start;
    if (layout->lattice) start = plan_lattice(&problems, layout);
    else if (config->system_start == MD_START_RANDOM) start = plan_random(&problems, layout);
    else start = plan_file(&problems, layout, coordinates);
    MdStatus types = plan_types(&problems, layout, *coordinates);
    if (start == MD_OK && check_temperature(&problems, &layout->plan)) start = MD_ERROR_INPUT;
    /* A skin that the backend chooses is checked later; now only the cutoff must fit. */
    double skin = md_is_auto(config->neighbor_skin) ? 0 : config->neighbor_skin;
    if (!generator && !boundary && !start && !types && check_largest_box(&problems, &layout->plan.box) == MD_OK &&
        md_system_check_range(deck, &layout->plan, skin, errors) == MD_OK) {
        plan_room(&layout->plan, *coordinates);
        layout->plan.slowest = md_velocity_slowest(config, &layout->plan, layout->mass, *coordinates);
        find_alike(layout, layout->plan.alike);
        return MD_OK;
    }
    md_potential_free(&layout->plan.potential);
    md_coordinates_destroy(*coordinates);
    *coordinates = NULL;
    return MD_ERROR_INPUT;
}

MdStatus md_system_plan(const MdDeck *deck, const struct MdRandomSource *random, MdSystemPlan *plan, MdErrors *errors) {
    MdLayout layout;
    MdCoordinates *coordinates;
    if (md_layout_make(deck, random, &layout, &coordinates, errors)) return MD_ERROR_INPUT;
    *plan = layout.plan;
    if (coordinates && coordinates->note) plan->file_note = md_copy_text(coordinates->note);
    md_coordinates_destroy(coordinates);
    return MD_OK;
}

void md_system_plan_free(MdSystemPlan *plan) {
    md_potential_free(&plan->potential);
    free(plan->file_note);
    plan->file_note = NULL;
}
