/* The cpu backend: OpenMP threads over blocks of atoms, vector registers within them.
 *
 * The table of operations is at the end; each operation takes the time of its stage and calls the kernels, which
 * kernels.inc holds and context.h describes. Forces need no lock and no private copies, because the list is full: both
 * atoms of a pair compute it, and each thread writes to its own rows only. That is twice the arithmetic, but in full
 * registers and without scattered additions, and no result depends on the number of threads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cpu/context.h"

static const char *const stage_names[MD_CPU_N_STAGES] = {"sort", "neighbor", "force", "integrate", "reduce", "gather"};

static void end_stage(MdCpuContext *c, int stage, double start_s) {
    c->statistics.stages[stage].calls++;
    c->statistics.stages[stage].seconds += md_clock_s() - start_s;
}

static MdStatus probe(const MdConfig *config, MdMachine *machine, MdErrors *errors) {
    MdCpuInstructions set;
    MdStatus status = md_cpu_find_instructions(&set, errors);
    if (status != MD_OK) return status;
    memset(machine, 0, sizeof *machine);
    snprintf(machine->name, sizeof machine->name, "processor of unknown name");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file) {
        char line[256];
        while (fgets(line, sizeof line, file))
            if (sscanf(line, "model name : %127[^\n]", machine->name) == 1) break;
        fclose(file);
    }
    MdCpuContext c = {0};
    const MdBox box = {.dimension = 3};
    const MdPotential potential = {.n_types = 1};
    md_cpu_configure(&c, config, 0, &box, &potential);
    snprintf(machine->details, sizeof machine->details, "%d thread%s, instruction set %s", c.n_threads,
             c.n_threads == 1 ? "" : "s", md_cpu_instructions_name(set));
    return MD_OK;
}

static MdMemory estimate(const MdConfig *config, const MdSystemPlan *plan) {
    MdCpuContext c = {.counting = true};
    md_cpu_configure(&c, config, plan->n_atoms, &plan->box, &plan->potential);
    md_cpu_allocate(&c, md_cpu_first_capacity(&c, config, plan->density));
    return (MdMemory){.host_bytes = c.host_bytes};
}

/* Particles per volume; along an open axis of the extent that they have, but no less than the cutoff. */
static double density_of(const MdSystem *system) {
    double volume = 1;
    for (int a = 0; a < system->box.dimension; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < system->n_atoms; i++) {
            low = fmin(low, system->position[3 * i + a]);
            high = fmax(high, system->position[3 * i + a]);
        }
        volume *= system->box.periodic[a] ? system->box.length[a] : fmax(high - low, system->potential.cutoff_max);
    }
    return (double)system->n_atoms / volume;
}

static void copy_particles(MdCpuContext *c, const MdSystem *system) {
    for (int64_t i = 0; i < c->n_atoms; i++) {
        for (int a = 0; a < 3; a++) {
            const double x = system->position[3 * i + a], v = system->velocity[3 * i + a];
            if (c->state_double) {
                ((double *)c->position[a])[i] = x;
                ((double *)c->velocity[a])[i] = v;
            } else {
                ((float *)c->position[a])[i] = (float)x;
                ((float *)c->velocity[a])[i] = (float)v;
            }
            c->image[a][i] = system->image[3 * i + a];
        }
        c->type[i] = system->type[i];
        c->id[i] = (int32_t)i;
    }
}

static void name_stages(MdCpuContext *c, const MdConfig *config, const MdConfig *asked) {
    c->statistics.n_stages = MD_CPU_N_STAGES;
    for (int s = 0; s < MD_CPU_N_STAGES; s++) {
        MdStageTime *stage = &c->statistics.stages[s];
        snprintf(stage->stage, sizeof stage->stage, "%s", stage_names[s]);
        md_variants_describe(md_cpu_variants(), stage->stage, asked, stage->asked, sizeof stage->asked);
        md_variants_describe(md_cpu_variants(), stage->stage, config, stage->ran, sizeof stage->ran);
    }
}

static MdStatus resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    (void)plan;
    md_resolve_arithmetic(config, choices);
    if (config->force_kernel == MD_KERNEL_AUTO) {
        config->force_kernel = MD_KERNEL_LIST;
        md_choices_add(choices, "force.kernel", "list", "the fastest of this backend at every size");
    }
    return md_variants_check(md_cpu_variants(), "cpu", config, errors);
}

static MdStatus count(void *context, MdCounters *counters) {
    (void)context;
    *counters = (MdCounters){-1, -1, -1, -1, -1, -1, -1, -1};
    return MD_OK;
}

static MdStatus create(void **context, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                       MdErrors *errors) {
    MdCpuInstructions set;
    MdStatus status = md_cpu_find_instructions(&set, errors);
    if (status != MD_OK) return status;
    MdCpuContext *c = md_alloc(1, sizeof *c, "cpu backend");
    c->errors = errors;
    md_cpu_configure(c, config, system->n_atoms, &system->box, &system->potential);
    memcpy(c->mass, system->mass, sizeof c->mass);
    c->kernels = md_cpu_kernels(set, c->precision);
    md_cpu_allocate(c, md_cpu_first_capacity(c, config, density_of(system)));
    copy_particles(c, system);
    name_stages(c, config, asked);
    *context = c;
    return MD_OK;
}

static void destroy(void *context) {
    if (context) md_cpu_free(context);
}

/* Keeps the fault of the particle with the smallest id, so that the answer does not depend on threads. */
static void find_fault(MdCpuContext *c, int64_t step) {
    c->fault = (MdFault){.step = step, .id = INT32_MAX};
    for (int64_t i = 0; i < c->n_atoms; i++) {
        double v_sq = 0;
        for (int a = 0; a < 3; a++) {
            double v = c->state_double ? ((double *)c->velocity[a])[i] : (double)((float *)c->velocity[a])[i];
            v_sq += v * v;
        }
        const double displacement = sqrt(v_sq) * c->timestep;
        if (displacement <= c->fault_distance || c->id[i] >= c->fault.id) continue;
        c->fault.id = c->id[i];
        c->fault.displacement = isfinite(displacement) ? displacement : NAN;
    }
    if (c->fault.id == INT32_MAX) c->fault.step = -1; /* the limit itself, rounded to the other side */
}

static double largest_displacement_sq(const MdCpuContext *c) {
    double largest = 0;
    for (int64_t b = 0; b < c->n_blocks; b++) largest = fmax(largest, c->partial[b].displacement_sq);
    return largest;
}

static MdStatus kick_drift(void *context, int64_t step) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    c->kernels->kick_drift(c);
    int64_t n_faults = 0;
    for (int64_t b = 0; b < c->n_blocks; b++) n_faults += c->partial[b].n_faults;
    if (n_faults > 0 && c->fault.step < 0) find_fault(c, step);
    if (c->rebuild == MD_REBUILD_DEVICE_CHECK && c->have_list) c->largest_sq = largest_displacement_sq(c);
    end_stage(c, MD_CPU_INTEGRATE, start_s);
    return MD_OK;
}

static bool rebuild_is_due(const MdCpuContext *c, int64_t step) {
    if (!c->have_list) return true;
    if (c->rebuild == MD_REBUILD_EVERY) return step % c->every == 0 && step != c->last_build_step;
    return 2 * sqrt(c->largest_sq) > c->skin;
}

static MdStatus rebuild(void *context) {
    MdCpuContext *c = context;
    double start_s = md_clock_s();
    c->kernels->wrap(c);
    md_cpu_sort_atoms(c);
    c->kernels->place_atoms(c);
    end_stage(c, MD_CPU_SORT, start_s);
    start_s = md_clock_s();
    md_cpu_build_list(c);
    end_stage(c, MD_CPU_NEIGHBOR, start_s);
    return MD_OK;
}

static MdStatus update_neighbors(void *context, int64_t step) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    if (!rebuild_is_due(c, step)) {
        /* The list will be used as it is. How far atoms are from where it was built matters for the count of late
         * rebuilds; between fixed rebuilds it grows, so the last use tells. */
        if (c->rebuild == MD_REBUILD_EVERY && (step + 1) % c->every == 0) {
            c->kernels->find_displacements(c);
            c->largest_sq = largest_displacement_sq(c);
            end_stage(c, MD_CPU_NEIGHBOR, start_s);
        }
        c->used_sq = c->largest_sq;
        return MD_OK;
    }
    /* After a fault the motion is over: the old list is still safe to use, a new one could be of any size. */
    if (c->have_list && c->fault.step >= 0) return MD_OK;
    if (c->have_list) {
        c->statistics.n_rebuilds++;
        if (2 * sqrt(c->used_sq) > c->skin) c->statistics.n_late_rebuilds++;
    }
    c->last_build_step = step;
    return rebuild(c);
}

static MdStatus compute_forces(void *context, bool with_energy) {
    MdCpuContext *c = context;
    if (!c->have_list) return md_fail(c->errors, MD_ERROR_INTERNAL, "forces were asked for before a neighbour list");
    const double start_s = md_clock_s();
    c->kernels->compute_forces(c, with_energy);
    if (with_energy) {
        c->pair_sums = (MdSums){0};
        for (int64_t b = 0; b < c->n_blocks; b++) {
            c->pair_sums.pairs += c->partial[b].pairs;
            c->pair_sums.potential += c->partial[b].potential;
            c->pair_sums.truncation += c->partial[b].truncation;
            c->pair_sums.virial += c->partial[b].virial;
        }
    }
    end_stage(c, MD_CPU_FORCE, start_s);
    return MD_OK;
}

static MdStatus kick(void *context) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    c->kernels->kick(c);
    end_stage(c, MD_CPU_INTEGRATE, start_s);
    return MD_OK;
}

static MdStatus sum(void *context, MdSums *sums) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    c->kernels->sum(c);
    *sums = c->pair_sums;
    for (int64_t b = 0; b < c->n_blocks; b++) {
        sums->kinetic += c->partial[b].kinetic;
        sums->force_sq_mass += c->partial[b].force_sq_mass;
        for (int a = 0; a < 3; a++) sums->momentum[a] += c->partial[b].momentum[a];
    }
    end_stage(c, MD_CPU_REDUCE, start_s);
    return MD_OK;
}

static MdStatus scale_velocities(void *context, double factor) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < c->n_atoms; i++) {
            if (c->state_double) ((double *)c->velocity[a])[i] *= factor;
            else ((float *)c->velocity[a])[i] = (float)((double)((float *)c->velocity[a])[i] * factor);
        }
    end_stage(c, MD_CPU_INTEGRATE, start_s);
    return MD_OK;
}

static void put(void *array, int precision, int64_t at, double value) {
    if (precision == MD_FILE_PRECISION_SINGLE) ((float *)array)[at] = (float)value;
    else ((double *)array)[at] = value;
}

/* Wraps a position as the frame will show it: in single precision a hair below the length rounds up to it. */
static double wrap_position(double x, double length, int precision, int32_t *image) {
    double turns = floor(x / length);
    if (!(fabs(turns) < 1e9)) turns = 0; /* blown up: shown as it is */
    x -= turns * length;
    if (x < 0) x = 0;
    if (x >= length || (precision == MD_FILE_PRECISION_SINGLE && (float)x >= (float)length)) {
        x = 0;
        turns += 1;
    }
    *image += (int32_t)turns;
    return x;
}

static MdStatus gather(void *context, MdFrame *frame) {
    MdCpuContext *c = context;
    const double start_s = md_clock_s();
    for (int64_t i = 0; i < c->n_atoms; i++)
        for (int a = 0; a < 3; a++) {
            const int64_t at = 3 * (int64_t)c->id[i] + a;
            int32_t image = c->image[a][i];
            double x, v;
            if (c->state_double) {
                x = ((double *)c->position[a])[i];
                v = ((double *)c->velocity[a])[i];
            } else {
                x = (double)((float *)c->position[a])[i];
                v = (double)((float *)c->velocity[a])[i];
            }
            if (c->box.periodic[a]) x = wrap_position(x, c->box.length[a], frame->precision, &image);
            if (frame->position) put(frame->position, frame->precision, at, x);
            if (frame->velocity) put(frame->velocity, frame->precision, at, v);
            if (frame->force)
                put(frame->force, frame->precision, at,
                    c->pair_double ? ((double *)c->force[a])[i] : (double)((float *)c->force[a])[i]);
            if (frame->image) frame->image[at] = image;
        }
    end_stage(c, MD_CPU_GATHER, start_s);
    return MD_OK;
}

static MdStatus export_rows(void *context, MdRows *rows) { return md_cpu_export_rows(context, rows); }
static MdFault get_fault(void *context) { return ((MdCpuContext *)context)->fault; }

static MdStatus finish(void *context) {
    (void)context; /* every operation has ended when it returns */
    return MD_OK;
}

static void get_statistics(void *context, MdStatistics *statistics) {
    MdCpuContext *c = context;
    c->statistics.capacity = c->capacity;
    c->statistics.host_bytes = c->host_bytes;
    *statistics = c->statistics;
}

static const char *libraries(char *buffer, size_t size) {
    snprintf(buffer, size, "OpenMP %d", _OPENMP); /* year and month of the standard */
    return buffer;
}

const MdBackendOps md_backend_cpu = {.name = "cpu",
                                     .probe = probe,
                                     .resolve = resolve,
                                     .estimate = estimate,
                                     .create = create,
                                     .destroy = destroy,
                                     .kick_drift = kick_drift,
                                     .update_neighbors = update_neighbors,
                                     .rebuild = rebuild,
                                     .compute_forces = compute_forces,
                                     .kick = kick,
                                     .sum = sum,
                                     .scale_velocities = scale_velocities,
                                     .gather = gather,
                                     .export_rows = export_rows,
                                     .count = count,
                                     .fault = get_fault,
                                     .finish = finish,
                                     .statistics = get_statistics,
                                     .variants = md_cpu_variants,
                                     .libraries = libraries};
