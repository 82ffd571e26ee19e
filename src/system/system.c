#include "system/system.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "system/placement.h"
#include "system/plan.h"
#include "system/velocity.h"

MdSystem *md_system_allocate(const MdSystemPlan *plan, const double mass[MD_MAX_TYPES]) {
    MdSystem *system = md_alloc(1, sizeof *system, "the system");
    system->n_atoms = plan->n_atoms;
    system->comm = plan->comm;
    system->first = md_comm_block_begin(plan->comm, plan->n_atoms);
    system->n_own = md_comm_block_size(plan->comm, plan->n_atoms);
    const size_t n = (size_t)system->n_own;
    system->box = plan->box;
    system->potential = plan->potential;
    memcpy(system->mass, mass, sizeof system->mass);
#define ALLOCATE(name, number, components, what, traits, cuda, when)                                                   \
    system->name = md_alloc((components)*n, sizeof *system->name, what);
    MD_SYSTEM_COLUMNS(ALLOCATE)
#undef ALLOCATE
    return system;
}

void md_system_destroy(MdSystem *system) {
    if (!system) return;
#define FREE(name, number, components, what, traits, cuda, when) md_free(system->name);
    MD_SYSTEM_COLUMNS(FREE)
#undef FREE
    md_free(system);
}

size_t md_system_column_bytes(int column) {
    const MdColumn *c = &md_columns[column];
    return (size_t)c->components * (c->number == MD_NUMBER_WORD ? sizeof(MD_SYSTEM_WORD) : sizeof(MD_SYSTEM_STATE));
}

void *md_system_column(const MdSystem *system, int column) {
#define RETURN(name, number, components, what, traits, cuda, when)                                                     \
    case MD_COLUMN_##name: return system->name;
    switch (column) {
        MD_SYSTEM_COLUMNS(RETURN)
    default: md_panic("a column that no system has");
    }
#undef RETURN
}

MdTail md_system_tail(const MdSystem *system) {
    const int n_types = system->potential.n_types;
    const double volume = md_box_volume(&system->box);
    double count[MD_MAX_TYPES] = {0};
    MdTail tail = {0, 0};
    if (md_potential_embeds(&system->potential)) return tail;
    for (int64_t i = 0; i < system->n_own; i++) count[system->type[i]]++;
    md_comm_add_doubles(system->comm, count, n_types);
    for (int k = 0; k < n_types * n_types; k++) {
        const double pairs = count[k / n_types] * count[k % n_types] / volume;
        const MdTail of_pair = md_pair_tail(system->potential.form, &system->potential.pair[k], system->box.dimension);
        tail.energy += pairs * of_pair.energy / (double)system->n_atoms;
        tail.pressure += pairs * of_pair.pressure / volume;
    }
    return tail;
}

void *md_system_collect(const MdSystem *system, const void *own, size_t row_bytes) {
    const int size = md_comm_size(system->comm);
    const bool is_root = md_comm_is_root(system->comm);
    int64_t *out = md_alloc(2 * (size_t)size, sizeof *out, "particles of all processes"), *in = out + size;
    void *all = md_alloc(is_root ? (size_t)system->n_atoms : 0, row_bytes, "particles of all processes");
    out[0] = system->n_own;
    for (int rank = 0; is_root && rank < size; rank++)
        in[rank] = md_block_begin(system->n_atoms, rank + 1, size) - md_block_begin(system->n_atoms, rank, size);
    md_comm_alltoallv(system->comm, own, out, all, in, row_bytes);
    md_free(out);
    if (is_root) return all;
    md_free(all);
    return NULL;
}

/* Each position depends on all before it: every process makes all of them, and keeps its own. */
static MdStatus fill_random_places(const MdProblems *problems, MdRandom *random, MdSystem *system) {
    double distance = md_deck_config(problems->deck)->system_min_distance;
    const bool has_all = system->n_own == system->n_atoms;
    double *places = has_all ? system->position : md_alloc(3 * (size_t)system->n_atoms, sizeof *places, "positions");
    int64_t n = md_placement_fill(&system->box, distance, system->n_atoms, random, places);
    if (!has_all) {
        memcpy(system->position, places + 3 * system->first, 3 * (size_t)system->n_own * sizeof *places);
        md_free(places);
    }
    if (n == system->n_atoms) return MD_OK;
    double volume = 1;
    for (int a = 0; a < system->box.dimension; a++) volume *= system->box.length[a];
    return md_problem(
        problems, MD_OPTION_system_min_distance,
        "random placement at least %g apart came to %" PRId64 " of %" PRId64 " particles, density %.4g of "
        "%.4g, and found no room for the next in %d tries: take a smaller system.min_distance, a lower "
        "density, or a lattice",
        distance, n, system->n_atoms, (double)n / volume, (double)system->n_atoms / volume, MD_PLACEMENT_TRIES);
}

/* Exact counts by largest remainder. */
static void count_types(const double *fraction, int n_types, int64_t n, int64_t *count) {
    int64_t n_given = 0;
    double rest[MD_MAX_TYPES];
    for (int t = 0; t < n_types; t++) {
        double part = fraction[t] * (double)n;
        count[t] = (int64_t)floor(part);
        rest[t] = part - (double)count[t];
        n_given += count[t];
    }
    for (; n_given < n; n_given++) {
        int most = 0;
        for (int t = 1; t < n_types; t++)
            if (rest[t] > rest[most]) most = t;
        count[most]++;
        rest[most] -= 1;
    }
}

/* A shuffle (Fisher and Yates) of the types of all particles, in every process, for each swap hangs on those before it. */
static void fill_types(const double *fraction, int n_types, MdRandom *random, MdSystem *system) {
    const int64_t n = system->n_atoms;
    int64_t count[MD_MAX_TYPES], i = 0;
    unsigned char *type = md_alloc((size_t)n, sizeof *type, "types of all particles");
    count_types(fraction, n_types, n, count);
    for (int t = 0; t < n_types; t++)
        for (int64_t k = 0; k < count[t] && i < n; k++) type[i++] = (unsigned char)t;
    for (i = n - 1; i > 0; i--) {
        double u;
        md_random_uniform(random, &u, 1);
        int64_t other = (int64_t)((1 - u) * (double)(i + 1));
        unsigned char swapped = type[i];
        type[i] = type[other];
        type[other] = swapped;
    }
    for (i = 0; i < system->n_own; i++) system->type[i] = type[system->first + i];
    md_free(type);
}

static MdStatus fill_from_file(const MdCoordinates *coordinates, const MdSystemPlan *plan, const char *path,
                               MdSystem *system, MdErrors *errors) {
    if (coordinates->n_atoms != plan->n_atoms)
        return md_fail(errors, MD_ERROR_INPUT,
                       "%s: held %" PRId64 " atoms when it was checked and holds %" PRId64 " now", path, plan->n_atoms,
                       coordinates->n_atoms);
    const size_t first = (size_t)system->first, n = (size_t)system->n_own;
    memcpy(system->position, coordinates->position + 3 * first, 3 * n * sizeof(double));
    if (plan->file_velocities && coordinates->velocity)
        memcpy(system->velocity, coordinates->velocity + 3 * first, 3 * n * sizeof(double));
    if (coordinates->type) memcpy(system->type, coordinates->type + first, n * sizeof(int32_t));
    return MD_OK;
}

/* A generator for one purpose; NULL with the problem in errors. */
static MdRandom *random_for(const MdProblems *problems, const MdSystemPlan *plan, int stream) {
    const MdConfig *config = md_deck_config(problems->deck);
    return md_random_create(plan->random, config->system_generator, (uint64_t)config->system_seed, stream,
                            problems->errors);
}

/* Positions and types of the ids of this process. */
static MdStatus fill_places(const MdProblems *problems, const MdLayout *layout, const MdCoordinates *coordinates,
                            const MdSystemPlan *plan, MdSystem *system) {
    const MdConfig *config = md_deck_config(problems->deck);
    MdStatus status = MD_OK;
    if (layout->lattice) {
        md_lattice_fill(layout->lattice, layout->cells, layout->constant, system->first, system->n_own,
                        system->position);
    } else if (coordinates) {
        status = fill_from_file(coordinates, plan, config->system_file, system, problems->errors);
    } else {
        MdRandom *random = random_for(problems, plan, MD_STREAM_PLACEMENT);
        status = random ? fill_random_places(problems, random, system) : MD_ERROR_INPUT;
        md_random_destroy(random, &system->random);
    }
    if (status) return status;

    int n_types = layout->plan.potential.n_types;
    if (n_types > 1 && !(coordinates && coordinates->type)) {
        MdRandom *random = random_for(problems, plan, MD_STREAM_TYPE);
        if (!random) return MD_ERROR_INPUT;
        fill_types(layout->fraction, n_types, random, system);
        md_random_destroy(random, &system->random);
    }
    return MD_OK;
}

/* Of all processes together, after positions and types. */
static MdStatus fill_velocities(const MdProblems *problems, const MdLayout *layout, const MdSystemPlan *plan,
                                MdSystem *system) {
    const MdConfig *config = md_deck_config(problems->deck);
    const double temperature = config->system_temperature;
    if (layout->plan.file_velocities) {
        md_velocity_remove_momentum(system);
        return MD_OK;
    }
    MdRandom *random = random_for(problems, plan, MD_STREAM_VELOCITY);
    if (!random) return MD_ERROR_INPUT;
    md_velocity_fill(system, md_is_auto(temperature) ? 1 : temperature,
                     md_config_degrees(config, system->n_atoms, system->box.dimension), random);
    md_random_destroy(random, &system->random);
    return MD_OK;
}

MdSystem *md_system_create(const MdDeck *deck, const MdSystemPlan *plan, MdErrors *errors) {
    const MdProblems problems = {deck, errors};
    MdLayout layout;
    MdCoordinates *coordinates = NULL;
    MdSystem *system = NULL;
    MdStatus status = md_layout_make(deck, plan->random, &layout, &coordinates, errors);
    if (status == MD_OK) {
        md_potential_free(&layout.plan.potential);
        layout.plan.potential = plan->potential; /* a potential file is read once */
        layout.plan.comm = plan->comm;
        system = md_system_allocate(&layout.plan, layout.mass);
        status = fill_places(&problems, &layout, coordinates, plan, system);
    }
    md_coordinates_destroy(coordinates);
    status =
        md_comm_worst_status(plan->comm, status, errors); /* a file may be read by one process and not by another */
    if (status == MD_OK) status = fill_velocities(&problems, &layout, plan, system);
    if (status == MD_OK) return system;
    md_system_destroy(system);
    return NULL;
}
