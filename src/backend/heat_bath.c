#include "backend/heat_bath.h"

#include <math.h>
#include <string.h>

#include "deck/deck.h"
#include "parallel/comm.h"
#include "physics/bath.h"
#include "system/random.h"

_Static_assert(MD_BATH_TYPES >= MD_MAX_TYPES, "each type has its numbers");

static bool acts(const MdConfig *config) { return md_bath_traits(config->ensemble_thermostat) & MD_BATH_BY_ATOM; }

static MdBathChange change_of(const MdConfig *config) {
    const MdBathCall call = {.elapsed = config->run_timestep / md_config_relaxation(config)};
    return md_bath_row(config->ensemble_thermostat).bath(&call);
}

static int facts_of(const MdConfig *config, double share) {
    const MdRealList *target = &config->ensemble_target;
    const bool changes =
        config->ensemble_last_step != MD_AUTO_INT || target->values[0] != target->values[target->n - 1];
    return MD_BATH_ACTS | (changes ? MD_BATH_CHANGES : 0) | (share < 1 ? MD_BATH_SHARES : 0);
}

int md_heat_bath_facts(const MdConfig *config) { return acts(config) ? facts_of(config, change_of(config).share) : 0; }

double md_heat_bath_quantum(const MdConfig *config) {
    const MdRamp target = md_config_target(config);
    const double unknown = config->system_units == MD_UNITS_LJ ? 1 : 0,
                 start = md_is_auto(config->system_temperature) ? unknown : config->system_temperature;
    int exponent;
    frexp(fmax(start, fmax(target.from, target.to)), &exponent);
    return ldexp(1, exponent - 24);
}

MdBathAtoms md_heat_bath_make(const MdConfig *config, const MdSystem *system) {
    MdBathAtoms bath;
    memset(&bath, 0, sizeof bath); /* kernels that are kept are compared by the bytes of their arguments */
    if (!acts(config)) return bath;
    const MdBathChange change = change_of(config);
    const bool ends = config->ensemble_last_step != MD_AUTO_INT;
    bath.facts = facts_of(config, change.share);
    bath.dimension = system->box.dimension;
    bath.share = change.share;
    bath.keep = change.keep;
    bath.drawn = change.drawn;
    bath.target = md_config_target(config);
    bath.last_action = ends ? config->ensemble_last_step : INT64_MAX;
    md_philox_keys(md_random_stream_seed((uint64_t)config->system_seed, MD_STREAM_BATH), MD_NOISE_ROUNDS, bath.keys);
    bath.quantum = md_heat_bath_quantum(config);
    bath.keep_f = (float)bath.keep;
    for (int t = 0; t < system->potential.n_types; t++) {
        bath.root[t] = 1 / sqrt(system->mass[t]);
        bath.quanta[t] = 0.5 * system->mass[t] / bath.quantum;
        bath.width[t] = md_bath_width(&bath, 0, bath.root[t]);
        bath.quanta_f[t] = (float)bath.quanta[t];
        bath.width_f[t] = (float)bath.width[t];
    }
    md_comm_broadcast(system->comm, &bath, sizeof bath);
    return bath;
}

/* Parts of whole quanta, exact in a double. */
MdSplitSum md_heat_bath_sum(const MdBathAtoms *bath, int64_t quanta) {
    const int64_t low = quanta & 0xffffffff;
    return (MdSplitSum){{(double)(quanta - low) * bath->quantum, (double)low * bath->quantum, 0}};
}
