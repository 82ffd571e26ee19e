/* The whole contract of a backend: a table of operations on a context. The integrator, the output and the verification
 * use nothing else. Particles are in the backend, in its own order and precision; outside of it they are in the order
 * of ids.
 *
 * Operations return MD_OK or put a message into the errors given at creation. */
#ifndef MD_BACKEND_BACKEND_H
#define MD_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/description.h"
#include "backend/ring.h"
#include "backend/state.h"
#include "backend/variants.h"
#include "base/status.h"
#include "base/trace.h"
#include "deck/deck.h"
#include "physics/observe.h"
#include "physics/thermo.h"
#include "system/system.h"

typedef struct MdMemory {
    uint64_t host_bytes, device_bytes;
} MdMemory;

typedef struct MdMachine {
    char name[128];              /* processor or GPU, for the log */
    char details[256];           /* threads and instruction set, or driver, compute capability, clocks */
    uint64_t device_total_bytes; /* 0 for the cpu */
    uint64_t device_free_bytes;
    int n_threads;                                    /* of the steps on the cpu; 0 on a GPU */
    char device_uuid[48], device_bus_id[24];          /* of the GPU: `GPU-...`, `0000:1b:00.0`; empty: not known */
    int device_number, n_devices, compute_capability; /* as CUDA counts; GPUs that are seen; 90 for 9.0 */
} MdMachine;

/* Where particles are asked for: each pointer that is not NULL is filled, rows in id order. Arrays of `real` are float
 * or double as `precision` says (MD_FILE_PRECISION_SINGLE, _DOUBLE). */
typedef struct MdFrame {
    int64_t step;
    double time;
    int precision;
    void *position; /* real [n_atoms][3], wrapped into [0, length) along periodic axes */
    void *velocity; /* real [n_atoms][3] */
    void *force;    /* real [n_atoms][3] */
    int32_t *image; /* [n_atoms][3] */
} MdFrame;

/* The neighbour list by id: row i is ids[offsets[i] .. offsets[i + 1]), in the order in which it is stored. */
typedef struct MdRows {
    int64_t n_atoms;
    int64_t *offsets; /* [n_atoms + 1]; 64 bits: a list has more entries than 2^31 */
    int32_t *ids;
} MdRows;

/* The first thing that went wrong in the motion itself; step -1 while nothing has. */
typedef struct MdFault {
    int64_t step;
    int32_t id;          /* the particle */
    double displacement; /* that it would have moved in the step, sigma; NaN when not finite */
} MdFault;

/* Quantities of a frame, as bits. */
enum { MD_FRAME_POSITION = 1, MD_FRAME_VELOCITY = 2, MD_FRAME_FORCE = 4, MD_FRAME_IMAGE = 8 };

/* A sample of an analysis, of the present state. Bits of quantities: 1 << MD_OBSERVE_... (physics/observe.h). */
typedef struct MdObservation {
    unsigned quantities, origins; /* the present state becomes the origin of the latter first */
    int row;                      /* of the rows of sums, which are kept until `observed` takes them */
    bool counts_pairs;            /* a histogram of the distances of pairs as well */
    int count_row;                /* of the rows of histograms, which are kept until `counted` takes them */
} MdObservation;

enum { MD_COUNTED_ROWS = 32 };
enum { MD_OBSERVED_ROWS = 1024 }; /* of samples of every tenth step of a million atoms an H200 takes a second to fill them */

/* The result of a request in its slot of the ring (ring.h). */
typedef struct MdOutput {
    bool arrived;  /* false: a fault came before, and nothing ever will */
    MdSums sums;   /* as sum gives them */
    MdFault fault; /* found up to this step: sums and frame are not to be used */
    MdFrame frame; /* its arrays are the frame buffer, NULL for quantities that were not asked for; time is not set */
    double copy_s; /* that the way to the host took; 0 where there is none, NaN where it was not measured */
} MdOutput;

typedef struct MdStageTime {
    char stage[16];   /* sort, neighbor, force, integrate, reduce, gather */
    char asked[256];  /* the switches of the stage as configured, `kernel=auto unroll=4` */
    char ran[256];    /* and as they ran: without `auto` */
    int64_t calls;    /* to effect */
    int64_t replayed; /* and besides: they found the stop flag set, and were issued again (cuda/batches/steps.c) */
    int64_t timed;    /* of both, */
    double timed_s;
    int64_t alone; /* of both, besides: timed, and like no others: a GPU's first, and those that made graphs */
    double alone_s;
    double seconds; /* and so of all, if those timed were like the rest (md_stage_extend); NaN where none was timed */
} MdStageTime;

/* One kernel as it was compiled and launched. */
typedef struct MdKernelUse {
    char stage[16], name[48];
    int block_size, registers, blocks_per_sm; /* threads; per thread; resident at once, by the occupancy API */
    int64_t shared_bytes, local_bytes;        /* per block, static and dynamic; per thread: spills and stack */
    double occupancy;                         /* theoretical: resident warps over the most that an SM holds */
    char limited_by[48]; /* what keeps more blocks away: `registers, shared`; `full`: the occupancy is 1 */
    int64_t launches;
} MdKernelUse;

/* Kernels that were compiled when the run began. */
typedef struct MdCompilation {
    int n_compiled, n_kept; /* files: compiled now; found in the cache of an earlier run, or installed */
    int n_installed;        /* of the latter */
    double seconds;         /* host clock, until all were loaded; files side by side */
    char folder[3072];      /* of the cache; "": there is none */
    bool is_written;        /* it takes what is compiled */
} MdCompilation;

enum { MD_MAX_STAGES = 14, MD_MAX_KERNELS = 64, MD_MAX_CHOICES = 24 };

/* The choice for an `auto`. */
typedef struct MdChoice {
    char option[40], value[24]; /* `force.kernel`, `list-split` */
    char reason[256];
} MdChoice;

typedef struct MdChoices {
    int n;
    MdChoice rows[MD_MAX_CHOICES];
} MdChoices;

/* Work of one call, counted by kernels compiled for that; -1 where there is nothing to count. */
typedef struct MdCounters {
    int64_t force_pairs_tested, force_pairs_inside, force_atomics; /* tested: distances computed */
    int64_t search_pairs_tested, search_pairs_inside,
        search_atomics;               /* of a build of the list; inside: within its range */
    int64_t list_entries, list_bytes; /* that the force kernel reads */
} MdCounters;

/* The share of one of several processes in a run, and the time of its messages. Zeros for one process. */
typedef struct MdRankStatistics {
    int64_t n_atoms, n_halo; /* own atoms, and copies of those of others: as of the last list */
    int64_t n_migrated;      /* atoms that it has sent to another process since the start */
    int64_t halo_bytes;      /* that it has sent for the copies that others have */
    double exchange_seconds; /* in which atoms moved and halos were made or brought up to date */
    double wait_seconds; /* in messages and agreements, those of the exchange among them: the way of the bytes, too */
} MdRankStatistics;

typedef struct MdStatistics {
    int64_t n_rebuilds;        /* after the first build */
    int64_t n_late_rebuilds;   /* found a displacement above half the skin: pairs may have been missed before */
    int64_t n_overflows;       /* times that the list had to grow */
    double overflow_seconds;   /* of this process, host clock: to make room, as far as no stage has it */
    int64_t n_grid_barriers;   /* batches that used the barrier of the grid instead of launch.barrier = local */
    int64_t n_rolled_back;     /* batches that rolled back: the list was too old earlier than speculated (step.cu) */
    int64_t capacity;          /* entries a row has room for; 0: there is no list */
    double neighbors_per_atom; /* mean row length at the last build, each pair counted in both rows; NaN: no list */
    int64_t n_entries;         /* of the list at the last build, as stored */
    int n_stages;
    MdStageTime stages[MD_MAX_STAGES];
    int n_kernels;
    MdKernelUse kernels[MD_MAX_KERNELS];
    MdCompilation compilation;
    MdChoices choices;                 /* choices made after resolve: of sizes that depend on the compiled kernels */
    uint64_t host_bytes, device_bytes; /* held by the context's own arrays */
    MdRankStatistics rank;
} MdStatistics;

typedef struct MdBackendOps {
    const char *name;      /* as in run.backend */
    bool bits_follow_grid; /* the same deck may give other bits on another parallel.grid */

    /* Whether there is a machine for it here; describes it. comm: which GPU is that of this rank. A problem goes to errors. */
    MdStatus (*probe)(const MdConfig *config, const MdComm *comm, MdMachine *machine, MdErrors *errors);

    /* Describes its device of that number, from 0; description is empty before. False: it has no such. Why it has none at all goes
     * to errors. */
    bool (*describe)(const MdConfig *config, int number, MdDescription *description, MdErrors *errors);

    /* Turns every `auto` of a switch into its value, in config, and adds the reason to choices (may
     * be NULL). Then checks all switches (md_variants_check, and the limits of the machine) for this system.
     * Deterministic: the same system on the same machine gets the same answer. Allocates nothing that stays. */
    MdStatus (*resolve)(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors);

    /* Bytes that create will take for this plan (its own arrays only). config as resolved, here and in create. */
    MdMemory (*estimate)(const MdConfig *config, const MdSystemPlan *plan);

    /* By how much a coordinate may be off as the pairs see it, sigma. extent: the largest coordinate of an atom with a partner,
     * or periodic edge; spread: the longest stretch from atom to atom along an open axis. config as resolved. */
    double (*rounding)(const MdConfig *config, const MdBox *box, double extent, double spread);

    /* Unit roundoff of a position as one step hands it to the next. config as resolved. */
    double (*position_roundoff)(const MdConfig *config);

    /* Copies the particles of system. Builds no list and computes no force yet. asked: the configuration before resolve,
     * for the report. MD_STOPPED when that takes long and the run is to stop (base/stop.h). */
    MdStatus (*create)(void **context, const MdConfig *config, const MdConfig *asked, const MdSystem *system,
                       MdErrors *errors);
    void (*destroy)(void *context);

    /* Makes n_steps steps of velocity Verlet from first_step on, each: v += f/m dt/2; x += v dt; update_neighbors;
     * compute_forces; v += f/m dt/2. A thermostat on each atom acts in the midst of the drift (physics/bath_atoms.h), with the noise of the
     * number of the step, and adds to the heat of the sums. with_energy: energy and virial too, in the last of them. Remembers the first particle that
     * moves further than md_fault_distance or not to a finite place; steps after that are not made, or mean nothing. On a GPU the
     * steps are issued on return, and not all done: operations that return sums or particles wait for them (finish). */
    MdStatus (*advance)(void *context, int64_t first_step, int64_t n_steps, bool with_energy);
    /* Builds the list if there is none, or if the rule of neighbor.rebuild says so at this step. Wraps positions at a
     * build and counts images. */
    MdStatus (*update_neighbors)(void *context, int64_t step);
    /* Builds the list again, as update_neighbors does when it is due: for timing. Invalidates the forces until
     * compute_forces. */
    MdStatus (*rebuild)(void *context);
    /* Forces; with_energy: energy and virial too, for the next sums. (With force.energy = every-step always.) */
    MdStatus (*compute_forces)(void *context, bool with_energy);
    /* v += f/m dt; x += v dt, with the forces as they are: for timing. */
    MdStatus (*integrate)(void *context);
    /* Totals; potential and virial are those of the last compute_forces with energy. Waits for the device. */
    MdStatus (*sum)(void *context, MdSums *sums);
    /* v = factor v + shift */
    MdStatus (*scale_velocities)(void *context, double factor, const double shift[3]);
    /* v = keep v + push F/m, x += move v, but no atom moves further than `most`, nor by a way that overflows: a step of a
     * minimisation. In double precision. The list stays as it is: the caller knows when it must be built again (rebuild). Invalidates
     * the forces until compute_forces, if move is not 0. */
    MdStatus (*descend)(void *context, double keep, double push, double move, double most);
    /* Issues a sample of the state after the last step that was made; each row once between two calls of observed. The
     * deck asks for its quantities (section analysis). The state keeps its bits. Does not wait for the device. */
    MdStatus (*observe)(void *context, const MdObservation *observation);
    /* The sums over all atoms of the first rows, sums [n_rows][MD_OBSERVE_N][types], the same bits on any number of ranks for the same
     * state; quantities that a row has no sample of are 0. Waits for the device. Collective. */
    MdStatus (*observed)(void *context, int n_rows, double *sums);
    /* The histograms of the first rows, counts [n_rows][kinds][bins] of system/pair_count.h, over all atoms: each pair is counted from both
     * sides, so that numbers are even. Waits for the device. Collective. */
    MdStatus (*counted)(void *context, int n_rows, int64_t *counts);
    /* Particles by id, into host memory; of several processes each gets those of its block of ids (md_comm_block_begin), and numbers
     * that are NaN for an id that no process has. Waits for the device. Collective. */
    MdStatus (*gather)(void *context, MdFrame *frame);
    /* Bytes that output_create will take, beyond those of create. */
    MdMemory (*output_estimate)(const MdConfig *config, const MdSystemPlan *plan, const MdRingSpec *spec);
    /* Allocates the slots of the ring and its frame buffers, once; destroy frees them. Too little memory is an input
     * error. ring: the caller's; must live as long as there are steps. */
    MdStatus (*output_create)(void *context, MdRing *ring);
    /* The producer: issues the work that fills the slot of a request from the current particles, at the end of a step with energy.
     * Does not wait for the device, unless the memory of the slot forces it to (output.host_memory = pageable). Calls md_ring_begin
     * before and md_ring_end after that (ring.h); if it fails it has called neither. */
    MdStatus (*output_begin)(void *context, const MdOutputRequest *request);
    /* The consumer, in the order of output_begin, each once: waits until the slot is its own (WRITING), and returns its content.
     * Only this operation may be called by another thread while the steps go on. */
    MdStatus (*output_wait)(void *context, const MdOutputRequest *request, MdOutput *output);
    /* The producer: on return output_wait gives everything that was asked for without its further help; it may so wait for the
     * consumer. Waits for the device. */
    MdStatus (*output_settle)(void *context);
    /* The whole state after a step, for a restart file (state.h). Waits for the device; later steps keep their bits. */
    MdStatus (*save)(void *context, MdState *state);
    /* The same into a context that has just been created. With state->same_list the step after state->step can follow, and
     * with deterministic switches every bit from then on is that of the context that was saved; else list and forces are
     * still to be made (md_verlet_start). check_list: whether it would refuse the saved data of the list. */
    MdStatus (*load)(void *context, MdState *state);
    MdStatus (*check_list)(const MdConfig *config, const MdSystemPlan *plan, MdState *state);
    /* The list as it stands (cutoff plus skin as built), by id, each pair in the rows where it is stored; free with
     * md_rows_free. With a force kernel that has no list: an input error. */
    MdStatus (*export_rows)(void *context, MdRows *rows);
    /* Counts the work of one force call with energy off, and of one build of the list, on the particles as they are.
     * Forces, list and sums afterwards are valid as before. */
    MdStatus (*count)(void *context, MdCounters *counters);
    /* Looks without waiting: may be a few steps behind the device; after sum or gather it is exact. */
    MdFault (*fault)(void *context);
    /* Waits for all that was issued: for the clock of the caller. */
    MdStatus (*finish)(void *context);
    /* Of several processes: collective. */
    void (*statistics)(void *context, MdStatistics *statistics);
    /* From now on times every call of a stage and records it on tracks of trace, and the host's waits for the device.
     * With NULL that ends: waits for pending work, so that the tracks are complete. */
    void (*trace)(void *context, MdTrace *trace);

    MdVariantTable (*variants)(void);
    /* Versions of its libraries, for --version and the provenance; empty if it has none. Returns
     * buffer. */
    const char *(*libraries)(char *buffer, size_t size);
} MdBackendOps;

/* A particle that moves further than this in one step, sigma: the time step is too large. By a quarter of the largest cutoff
 * it passes others before they can turn it. Smaller cutoffs set no limit: a pair that is cut at almost nothing has no force
 * that could make a motion unstable. Within half the skin no list misses a pair, however small all cutoffs are.
 * config: as resolved. */
static inline double md_fault_distance(const MdConfig *config, const MdPotential *potential) {
    return fmax(0.25 * potential->cutoff_max, 0.5 * config->neighbor_skin);
}

/* For resolve: force.arithmetic = auto where division is slow, as on a GPU: fast except for pairs in double. */
void md_resolve_arithmetic(MdConfig *config, MdChoices *choices);

/* For resolve: memory.sort = auto becomes this order, for this reason. */
void md_resolve_sort(MdConfig *config, int sort, const char *reason, MdChoices *choices);

/* For resolve: neighbor.predict = auto, when it is known whether there is a list (or force.kernel is `auto` still). */
void md_resolve_predict(MdConfig *config, MdChoices *choices);

/* The factor of lengths that were measured in reduced units: 1, or the largest distance of contact, sigma, in other units. */
double md_length_scale(const MdConfig *config, const MdPotential *potential);

/* For resolve: neighbor.skin = auto, with the skin, in sigma, that the backend has found to be the fastest where displacements are
 * watched; less where the box has no room for it. */
void md_resolve_skin(MdConfig *config, const MdSystemPlan *plan, double fastest, MdChoices *choices);

/* For resolve: records the choice for option; reason is a printf format. */
void md_choices_add(MdChoices *choices, const char *option, const char *value, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));

void md_rows_free(MdRows *rows);

/* Sets seconds by what was timed. */
void md_stage_extend(MdStageTime *stage);

/* Bytes of these quantities (MD_FRAME_*) of all particles, as MdFrame holds them. */
uint64_t md_frame_bytes(int64_t n_atoms, unsigned quantities, int precision);

/* The difference of two readings: counts and times of after minus those of before. */
void md_statistics_subtract(MdStatistics *after, const MdStatistics *before);

#endif
