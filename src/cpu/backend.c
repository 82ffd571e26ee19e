/* The cpu backend: OpenMP threads over blocks of atoms, vector registers within them.
 *
 * The table of operations is at the end; each operation takes the time of its stage and calls the kernels: kernels.inc, and
 * form.inc for forces. context.h describes them; variants.c lists the variants. By default the list is full:
 * both atoms of a pair compute it, and each thread writes to its own rows only. That is twice the arithmetic, but in
 * full registers, without lock, private copies or scattered additions, and no result depends on the number of threads. */
#include "cpu/backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cpu/context.h"

static MdStatus create(void **context, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                       MdErrors *errors) {
    MdCpuInstructions set;
    MdStatus status = md_cpu_find_instructions(&set, errors);
    if (status != MD_OK) return status;
    MdCpuContext *c = md_alloc(1, sizeof *c, "cpu backend");
    c->errors = errors;
    c->comm = system->comm;
    md_cpu_configure(c, config, system->n_atoms, system->n_own, &system->box, &system->potential);
    memcpy(c->mass, system->mass, sizeof c->mass);
    c->bath = md_heat_bath_make(config, system);
    c->kernels = md_cpu_kernels(set, c->precision);
    c->forces = md_cpu_forces(set, config->potential_form, c->pair_double);
    md_cpu_allocate(c, config, md_cpu_density(system));
    md_cpu_fill_table(c);
    md_cpu_copy_particles(c, system);
    md_cpu_name_stages(c, config, asked);
    c->statistics.neighbors_per_atom = NAN; /* until there is a list */
    *context = c;
    return MD_OK;
}

static void destroy(void *context) {
    if (!context) return;
    md_cpu_output_free(context);
    md_cpu_free_halo(context);
    md_cpu_free(context);
}

/* Of those that the drift found: the velocity afterwards is another. */
static void find_fault_with_bath(MdCpuContext *c, int64_t step) {
    c->fault = (MdFault){.step = step, .id = INT32_MAX};
    for (int64_t b = 0; b < c->n_blocks; b++) {
        if (c->partial[b].n_faults == 0 || c->partial[b].fault_id >= c->fault.id) continue;
        c->fault.id = c->partial[b].fault_id;
        c->fault.displacement = c->partial[b].fault_displacement;
    }
}

/* Keeps the fault of the own particle with the smallest id, so that the answer does not depend on threads. */
static void find_fault(MdCpuContext *c, int64_t step) {
    if (c->bath.facts) {
        find_fault_with_bath(c, step);
        return;
    }
    c->fault = (MdFault){.step = step, .id = INT32_MAX};
    for (int64_t i = 0; i < c->n_atoms; i++) {
        double v_sq = 0;
        for (int a = 0; a < 3; a++) {
            const double v = md_cpu_state(c, c->velocity, a, i);
            v_sq += v * v;
        }
        const double displacement = sqrt(v_sq) * c->timestep;
        if (displacement <= c->fault_distance || c->id[i] >= c->fault.id) continue;
        c->fault.id = c->id[i];
        c->fault.displacement = isfinite(displacement) ? displacement : NAN;
    }
    if (c->fault.id == INT32_MAX) c->fault.step = -1; /* the limit itself, rounded to the other side */
}

/* Before the first forces, and where they have been given back: zeros. */
static void need_forces(MdCpuContext *c) {
    if (!c->force[0]) md_cpu_take_forces(c);
}

static void kick_drift(MdCpuContext *c, int64_t step) {
    const double start_s = md_clock_s();
    c->step = step;
    need_forces(c);
    c->kernels->kick_drift(c, c->kick_waits ? 2 : 1);
    c->kick_waits = false;
    if (c->per_call) md_cpu_release_forces(c); /* they are not read after this */
    int64_t n_faults = 0;
    for (int64_t b = 0; b < c->n_blocks; b++) {
        n_faults += c->partial[b].n_faults;
        c->heat += c->partial[b].heat;
    }
    if (n_faults > 0 && c->fault.step < 0) find_fault(c, step);
    if (!md_cpu_has_ranks(c)) c->halted = c->fault.step >= 0;
    c->halo.is_stale = true;
    if (c->rebuild == MD_REBUILD_DEVICE_CHECK && c->built) c->largest_sq = md_cpu_largest_displacement_sq(c);
    md_cpu_end_stage(c, MD_CPU_INTEGRATE, start_s);
}

/* The blocks of one sum as a tree. */
static MdCpuSum add_blocks(const MdCpuContext *c, int which, int64_t begin, int64_t end) {
    if (end == begin) return (MdCpuSum){0}; /* a domain without atoms */
    if (end - begin == 1) return c->partial[begin].sum[which];
    const int64_t middle = begin + (end - begin) / 2;
    MdCpuSum sum = add_blocks(c, which, begin, middle), other = add_blocks(c, which, middle, end);
    md_cpu_sum_merge(&sum, &other, &c->accumulate);
    return sum;
}

static MdSplitSum total(const MdCpuContext *c, int which) {
    const MdCpuSum sum = add_blocks(c, which, 0, c->n_blocks);
    return md_cpu_sum_value(&sum);
}

/* Of pairs, and of a many-body form of the densities. */
static MdSplitSum total_potential(const MdCpuContext *c) {
    MdCpuSum sum = add_blocks(c, MD_CPU_POTENTIAL, 0, c->n_blocks);
    if (md_potential_embeds(&c->potential)) {
        const MdCpuSum embedding = add_blocks(c, MD_CPU_EMBEDDING, 0, c->n_blocks);
        md_cpu_sum_merge(&sum, &embedding, &c->accumulate);
    }
    return md_cpu_sum_value(&sum);
}

/* An exchange of the halo; meanwhile the pass over blocks that need none of it. Returns how many blocks are done. */
static int64_t exchange(MdCpuContext *c, void (*begin)(MdCpuContext *c), void (*end)(MdCpuContext *c), int pass,
                        bool with_energy) {
    double start_s = md_clock_s();
    begin(c);
    md_cpu_add_time(c, MD_CPU_HALO, start_s);
    start_s = md_clock_s();
    if (c->overlap) {
        c->forces(c, pass, with_energy, 0, c->n_interior);
        md_cpu_add_time(c, MD_CPU_FORCE, start_s); /* a call of the stage is all blocks */
        start_s = md_clock_s();
    }
    end(c);
    md_cpu_end_stage(c, MD_CPU_HALO, start_s);
    return c->overlap ? c->n_interior : 0;
}

/* A pass over all blocks; returns when that over the last ones began. */
static double make_pass(MdCpuContext *c, int pass, bool with_energy) {
    int64_t n_done = 0;
    if (md_cpu_has_ranks(c) && pass == MD_CPU_EMBEDDED)
        n_done = exchange(c, md_cpu_begin_slopes, md_cpu_end_slopes, pass, with_energy);
    if (md_cpu_has_ranks(c) && pass != MD_CPU_EMBEDDED && c->halo.is_stale)
        n_done = exchange(c, md_cpu_begin_halo, md_cpu_end_halo, pass, with_energy);
    const double start_s = md_clock_s();
    c->forces(c, pass, with_energy, n_done, c->n_blocks);
    return start_s;
}

static MdStatus compute_forces(void *context, bool with_energy) {
    MdCpuContext *c = context;
    if (!c->built) return md_fail(c->errors, MD_ERROR_INTERNAL, "forces were asked for before a neighbour list");
    md_cpu_finish_kick(c);
    const bool energy = with_energy || c->energy_always;
    if (c->per_call) md_cpu_release_forces(c);
    need_forces(c);
    const bool embeds = md_potential_embeds(&c->potential);
    if (embeds) md_cpu_add_time(c, MD_CPU_FORCE, make_pass(c, MD_CPU_DENSITIES, energy));
    const double start_s = make_pass(c, embeds ? MD_CPU_EMBEDDED : MD_CPU_PAIRS, energy);
    if (energy) {
        c->pair_sums = (MdSumParts){.potential = total_potential(c),
                                    .truncation = total(c, MD_CPU_TRUNCATION),
                                    .virial = total(c, MD_CPU_VIRIAL)};
        for (int k = 0; k < MD_N_TENSOR && c->has_tensor; k++)
            c->pair_sums.virial_tensor[k] = total(c, MD_CPU_VIRIAL_TENSOR + k);
        for (int64_t b = 0; b < c->n_blocks; b++) c->pair_sums.pairs.part[0] += c->partial[b].pairs;
    }
    md_cpu_end_stage(c, MD_CPU_FORCE, start_s);
    return MD_OK;
}

static void kick(MdCpuContext *c) {
    const double start_s = md_clock_s();
    md_cpu_finish_kick(c);
    need_forces(c);
    if (c->fuse) c->kick_waits = true;
    else c->kernels->kick(c);
    md_cpu_end_stage(c, MD_CPU_INTEGRATE, start_s);
}

static MdStatus advance(void *context, int64_t first_step, int64_t n_steps, bool with_energy) {
    MdCpuContext *c = context;
    MdStatus status = MD_OK;
    for (int64_t k = 0; k < n_steps && status == MD_OK && !c->halted; k++) {
        kick_drift(c, first_step + k);
        status = md_cpu_update_neighbors(c, first_step + k);
        if (status == MD_OK) status = compute_forces(c, with_energy && k == n_steps - 1);
        if (status == MD_OK) kick(c);
    }
    return status;
}

static MdStatus integrate(void *context) {
    MdCpuContext *c = context;
    kick_drift(c, c->step);
    kick(c);
    return MD_OK;
}

/* Of the own atoms. */
static void sum_own(MdCpuContext *c, MdSumParts *sums) {
    md_cpu_finish_kick(c);
    need_forces(c);
    const double start_s = md_clock_s();
    c->kernels->sum(c);
    *sums = c->pair_sums;
    sums->kinetic = total(c, MD_CPU_KINETIC);
    sums->force_sq_mass = total(c, MD_CPU_FORCE_SQ_MASS);
    for (int a = 0; a < 3; a++) sums->momentum[a] = total(c, MD_CPU_MOMENTUM + a);
    for (int k = 0; k < MD_N_TENSOR && c->has_tensor; k++)
        sums->kinetic_tensor[k] = total(c, MD_CPU_KINETIC_TENSOR + k);
    sums->heat = md_heat_bath_sum(&c->bath, c->heat);
    md_cpu_end_stage(c, MD_CPU_REDUCE, start_s);
}

static MdStatus sum(void *context, MdSums *sums) {
    MdCpuContext *c = context;
    MdSumParts own;
    sum_own(c, &own);
    *sums = md_ranks_sums(c->comm, &own);
    return MD_OK;
}

static MdStatus scale_velocities(void *context, double factor, const double shift[3]) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    md_cpu_finish_kick(c);
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < c->n_atoms; i++) {
            const double v = md_cpu_state(c, c->velocity, a, i) * factor + shift[a];
            if (c->state_double) ((double *)c->velocity[a])[i] = v;
            else ((float *)c->velocity[a])[i] = (float)v;
        }
    md_cpu_end_stage(c, MD_CPU_INTEGRATE, start_s);
    return MD_OK;
}

/* In double. */
static void descend_atom(MdCpuContext *c, int64_t i, double keep, double push, double move, double most) {
    const double by_mass = push / c->mass[c->type[i]];
    double v[3], v_sq = 0;
    for (int a = 0; a < 3; a++) {
        v[a] = keep * ((const double *)c->velocity[a])[i] + by_mass * ((const double *)c->force[a])[i];
        v_sq += v[a] * v[a];
        ((double *)c->velocity[a])[i] = v[a];
    }
    const double way = move * sqrt(v_sq), scale = way > most ? most / way : 1;
    if (way <= 1e300) /* not NaN, and no overflow */
        for (int a = 0; a < 3; a++) ((double *)c->position[a])[i] += scale * move * v[a];
}

static MdStatus descend(void *context, double keep, double push, double move, double most) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    md_require(c->precision == MD_PRECISION_DOUBLE);
    md_cpu_finish_kick(c);
    need_forces(c);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t i = 0; i < c->n_atoms; i++) descend_atom(c, i, keep, push, move, most);
    if (move != 0) {
        c->kernels->place_atoms(c);
        c->halo.is_stale = true;
    }
    md_cpu_end_stage(c, MD_CPU_INTEGRATE, start_s);
    return MD_OK;
}

/* By id; of several ranks in the order of memory, with the ids beside them. */
static void gather_own(MdCpuContext *c, const MdFrame *frame, int32_t *ids) {
    md_cpu_finish_kick(c);
    need_forces(c);
    const double start_s = md_clock_s();
    md_cpu_gather(c, frame, ids);
    md_cpu_end_stage(c, MD_CPU_GATHER, start_s);
}

static MdStatus gather(void *context, MdFrame *frame) {
    MdCpuContext *c = context;
    if (!md_cpu_has_ranks(c)) {
        gather_own(c, frame, NULL);
        return MD_OK;
    }
    MdPart part = {0};
    md_part_prepare(&part, md_frame_quantities(frame), frame->precision, c->n_atoms);
    gather_own(c, &part.frame, part.ids);
    md_ranks_deal(c->comm, &part, c->n_all, frame);
    md_part_free(&part);
    return MD_OK;
}

static MdStatus output_begin(void *context, const MdOutputRequest *request) {
    MdCpuContext *c = context;
    MdCpuSlot *slot = &c->output.slots[request->slot];
    md_ring_begin(c->output.ring, request);
    sum_own(c, &slot->sums);
    slot->step = request->step;
    slot->fault = c->fault;
    if (request->frame >= 0) {
        MdFrame frame = md_cpu_output_frame(c, request);
        gather_own(c, &frame, md_cpu_output_ids(c, request));
    }
    md_ring_end(c->output.ring, request);
    return MD_OK;
}

static MdStatus observe(void *context, const MdObservation *observation) {
    MdCpuContext *c = context;
    md_cpu_finish_kick(c);
    const double start_s = md_clock_s();
    if (observation->quantities) md_cpu_observe(c, observation);
    if (observation->counts_pairs) md_cpu_count_pairs(c, observation->count_row);
    md_cpu_end_stage(c, MD_CPU_OBSERVE, start_s);
    return MD_OK;
}

static MdStatus counted(void *context, int n_rows, int64_t *counts) {
    MdCpuContext *c = context;
    const size_t n = (size_t)n_rows * md_pair_count_size(&c->pair_count);
    memcpy(counts, c->counted, n * sizeof *counts);
    md_comm_add_integers(c->comm, counts, (int)n);
    return MD_OK;
}

static MdStatus observed(void *context, int n_rows, double *sums) {
    MdCpuContext *c = context;
    md_ranks_split_sums(c->comm, c->observed, n_rows * MD_OBSERVE_N * c->potential.n_types, sums);
    return MD_OK;
}

static MdStatus count(void *context, MdCounters *counters) {
    MdCpuContext *c = context;
    md_cpu_finish_kick(c);
    if (!c->built) return md_fail(c->errors, MD_ERROR_INTERNAL, "work was to be counted before a neighbour list");
    md_cpu_count(c, counters);
    return MD_OK;
}

static MdStatus save(void *context, MdState *state) {
    md_cpu_finish_kick(context);
    need_forces(context);
    return md_cpu_save(context, state);
}

static MdStatus load(void *context, MdState *state) {
    need_forces(context);
    return md_cpu_load(context, state);
}

static MdStatus export_rows(void *context, MdRows *rows) { return md_cpu_export_rows(context, rows); }

static MdFault get_fault(void *context) {
    const MdCpuContext *c = context;
    return md_ranks_first_fault(c->comm, c->fault);
}

static MdStatus finish(void *context) {
    md_cpu_finish_kick(context); /* everything else has ended when it returned */
    return MD_OK;
}

static void get_statistics(void *context, MdStatistics *statistics) {
    MdCpuContext *c = context;
    c->statistics.capacity = c->capacity;
    c->statistics.host_bytes = c->host_bytes;
    if (md_cpu_has_ranks(c)) {
        c->statistics.rank.n_atoms = c->n_atoms;
        c->statistics.rank.n_halo = c->halo.n_atoms;
        c->statistics.rank.wait_seconds = md_comm_waited(c->comm);
    }
    *statistics = c->statistics;
    md_ranks_agree_statistics(c->comm, c->n_atoms, statistics);
}

static void record(void *context, MdTrace *trace) {
    ((MdCpuContext *)context)->track = md_trace_track(trace, MD_TRACE_HOST, "steps");
}

static const char *libraries(char *buffer, size_t size) {
    snprintf(buffer, size, "OpenMP %d", _OPENMP); /* year and month of the standard */
    return buffer;
}

const MdBackendOps md_backend_cpu = {.name = "cpu",
                                     .probe = md_cpu_probe,
                                     .describe = md_cpu_describe,
                                     .resolve = md_cpu_resolve,
                                     .estimate = md_cpu_estimate,
                                     .rounding = md_cpu_rounding,
                                     .position_roundoff = md_cpu_position_roundoff,
                                     .create = create,
                                     .destroy = destroy,
                                     .advance = advance,
                                     .update_neighbors = md_cpu_update_neighbors,
                                     .rebuild = md_cpu_rebuild,
                                     .compute_forces = compute_forces,
                                     .integrate = integrate,
                                     .sum = sum,
                                     .scale_velocities = scale_velocities,
                                     .descend = descend,
                                     .observe = observe,
                                     .observed = observed,
                                     .counted = counted,
                                     .gather = gather,
                                     .output_estimate = md_cpu_output_estimate,
                                     .output_create = md_cpu_output_create,
                                     .output_begin = output_begin,
                                     .output_wait = md_cpu_output_wait,
                                     .output_settle = md_cpu_output_settle,
                                     .save = save,
                                     .load = load,
                                     .check_list = md_cpu_check_list,
                                     .export_rows = export_rows,
                                     .count = count,
                                     .fault = get_fault,
                                     .finish = finish,
                                     .statistics = get_statistics,
                                     .trace = record,
                                     .variants = md_cpu_variants,
                                     .libraries = libraries};
