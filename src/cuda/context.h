/* The cuda backend from inside: its context, and what the stages offer each other. Only files of this folder see it.
 *
 * One host thread uses a context; all work goes to its one stream, so that stages follow each other without a word.
 * The host waits in three places only: for a decision at a rebuild (and with host-check once a step), for sums, and
 * for particles that leave the device. */
#ifndef MD_CUDA_CONTEXT_H
#define MD_CUDA_CONTEXT_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "backend/backend.h"
#include "cuda/precision.h"

/* A CUDA call that fails is an internal fault: it stops the run with the expression, the place and the device. */
void cuda_check(cudaError_t error, const char *expression, const char *file, int line);
#define CUDA_CHECK(expression) cuda_check((expression), #expression, __FILE__, __LINE__)

/* Launches kernel (in parentheses when it has template arguments) on the stream of the context, checks the launch. */
#define CUDA_LAUNCH(context, kernel, n_blocks, n_threads, ...)                                                         \
    do {                                                                                                               \
        (kernel)<<<(unsigned)(n_blocks), (unsigned)(n_threads), 0, (context)->stream>>>(__VA_ARGS__);                  \
        cuda_check(cudaGetLastError(), "launch of " #kernel, __FILE__, __LINE__);                                      \
    } while (0)

/* Calls function<precision>(context, ...). */
#define CUDA_BY_PRECISION(context, function, ...)                                                                      \
    do {                                                                                                               \
        switch ((context)->precision) {                                                                                \
        case MD_PRECISION_SINGLE: function<CudaSingle>(__VA_ARGS__); break;                                            \
        case MD_PRECISION_MIXED: function<CudaMixed>(__VA_ARGS__); break;                                              \
        default: function<CudaDouble>(__VA_ARGS__); break;                                                             \
        }                                                                                                              \
    } while (0)

/* Threads of a block. 256 for kernels that stream through memory. 128 where threads differ in the work they have, as
 * rows differ in length: a smaller block is replaced sooner when its slowest warp is done. */
enum { CUDA_BLOCK = 256, CUDA_ROW_BLOCK = 128 };

/* The particles in the order of the moment; types by precision, see CudaView. */
struct CudaParticles {
    void *position; /* as pairs see it; w: type */
    void *state;    /* mixed: the positions in double; NULL otherwise, then position is the state */
    void *velocity; /* w: 1/mass */
    void *force;    /* w: 0 */
    CudaTag *tag;
};

template <class P> struct CudaView {
    Vec4<typename P::Pair> *position;
    Vec4<typename P::State> *state;
    Vec4<typename P::State> *velocity;
    Vec4<typename P::Pair> *force;
    CudaTag *tag;
    explicit CudaView(const CudaParticles &particles)
        : position((Vec4<typename P::Pair> *)particles.position),
          state((Vec4<typename P::State> *)(P::has_copy ? particles.state : particles.position)),
          velocity((Vec4<typename P::State> *)particles.velocity), force((Vec4<typename P::Pair> *)particles.force),
          tag(particles.tag) {}
};

/* The box as kernels take it; inverse 0: open axis (physics/box.h). */
template <class T> struct CudaBox { T length[3], inverse[3]; };

/* Cells in row-major order, x fastest. Their edges are at least the range of the list, so that neighbours are in
 * adjacent cells. Particles beyond the origin or the end of an open axis belong to its first or last cell. */
struct CudaGrid {
    int n[3];
    int wraps[3]; /* periodic axis */
    double origin[3], inverse_edge[3];
};

/* Full list: entry k of row i is entries[i * row_stride + k * entry_stride]. 64 bits: a list has more than 2^31. */
struct CudaList {
    int32_t *entries;
    int32_t *counts; /* may exceed capacity while a build overflows */
    int64_t row_stride, entry_stride;
    int32_t capacity;
};

/* What kernels find out and the host reads. */
struct CudaMeasures {           /* zeroed before each build; every member grows by an integer atomicMax or atomicAdd */
    unsigned long long entries; /* of the list */
    unsigned moved_sq;          /* float bits: largest squared displacement since the build */
    int32_t largest_count;      /* of a row */
    unsigned high[3], low[3];   /* float keys (block.h) of the largest x, and of the largest -x */
};
struct CudaWatch {
    CudaMeasures measures;
    unsigned long long fault_step, fault_key; /* all bits set: none; key: id, then the displacement as float bits */
};

enum CudaStage { CUDA_SORT, CUDA_NEIGHBOR, CUDA_FORCE, CUDA_INTEGRATE, CUDA_REDUCE, CUDA_GATHER, CUDA_N_STAGES };

enum { CUDA_N_SPANS = 32, CUDA_MAX_BLOCKS = 32 };

struct CudaSpan { /* one timed call of a stage */
    cudaEvent_t begin, end;
    int stage;
    bool pending;
};

struct CudaTimer { /* of one stage */
    int64_t calls, timed;
    double timed_s;
};

/* Sums over particles, in the order of the totals. */
enum {
    CUDA_POTENTIAL,
    CUDA_TRUNCATION,
    CUDA_VIRIAL,
    CUDA_PAIRS,
    CUDA_KINETIC,
    CUDA_MOMENTUM,
    CUDA_FORCE_SQ = CUDA_MOMENTUM + 3,
    CUDA_N_TOTALS
};
enum { CUDA_PAIR_TOTALS = 4, CUDA_ATOM_TOTALS = 5, CUDA_MAX_SUM_BLOCKS = 1024 };

struct CudaContext {
    MdErrors *errors;
    int device;
    cudaStream_t stream;

    /* what is simulated */
    int precision;
    int n_atoms;
    MdBox box;
    MdPotential potential;
    double timestep, range, skin, fault_distance; /* range: cutoff_max + skin */

    /* switches */
    int sort, search, write, list_order, rebuild;
    int64_t every, capacity; /* capacity: MD_AUTO_INT, or as asked */

    /* particles */
    CudaParticles now, spare; /* spare: what a reordering writes; only with memory.sort = cell */
    void *reference;          /* Vec4<Pair>: the positions of the last build */
    void *pairs;              /* CudaPotential::Pair [n_types * n_types] */

    /* cells, only where something needs them */
    CudaGrid grid;
    int max_cells;
    int32_t *cell;       /* [n_atoms] cell of a particle */
    int32_t *arrival;    /* [n_atoms] how many came to that cell before it: any order */
    int32_t *slot_id;    /* [n_atoms] ids by cell, within a cell in order of arrival */
    int32_t *slot_atom;  /* [n_atoms] particles by cell, within a cell by id */
    int32_t *slot_cell;  /* [n_atoms] cell of a slot */
    int32_t *cell_start; /* [max_cells + 1] first slot of each cell */
    void *scan_scratch;
    size_t scan_scratch_bytes;

    CudaList list;
    bool built;
    bool lateness_sent; /* the displacement at the last use before a build by count is on its way to the host */

    /* measures, sums, particles on their way out */
    CudaWatch *d_watch, *h_watch;
    int *d_fault_raised;          /* the device's address of: */
    volatile int *h_fault_raised; /* mapped, so that the host can look without waiting */
    MdFault fault;
    cudaEvent_t watched;
    double *partials, *d_totals, *h_totals;
    void *staging;      /* [n_atoms][3] of 8 bytes */
    char *h_staging[2]; /* CUDA_CHUNK_BYTES each */
    cudaEvent_t chunk_copied[2];

    /* books */
    struct {
        void *data;
        size_t bytes;
    } blocks[CUDA_MAX_BLOCKS];
    uint64_t device_bytes, host_bytes;
    CudaTimer timers[CUDA_N_STAGES];
    CudaSpan spans[CUDA_N_SPANS];
    int next_span;
    int open_span; /* -1: the stage that runs is not timed */
    int64_t n_builds, n_late_rebuilds, n_overflows, n_entries;
};

/* --- memory.cu --- */
enum { CUDA_CHUNK_BYTES = 4 << 20 }; /* large enough for the full rate of the bus, small enough to pin */

/* Fixes grid bounds, strides and capacity of the list from the switches, and allocates every array. On failure the
 * message is in errors, and cuda_memory_free cleans up. */
MdStatus cuda_memory_allocate(CudaContext *context);
void cuda_memory_free(CudaContext *context);
/* The same sizes without a device. */
MdMemory cuda_memory_estimate(CudaContext *context);
/* Makes room for rows of at least `count` entries; the list is lost. */
MdStatus cuda_memory_grow_list(CudaContext *context, int32_t count);
/* Device to host through the pinned chunks, after all work issued so far; waits. */
void cuda_memory_download(CudaContext *context, void *host, const void *device, size_t bytes);
/* Copies the watch to the host; with wait, h_watch is valid on return, otherwise after `watched`. */
void cuda_watch_read(CudaContext *context, bool wait);

/* --- device.cu --- */
MdStatus cuda_device_choose(const MdConfig *config, int *device, MdErrors *errors);
MdStatus cuda_device_probe(const MdConfig *config, MdMachine *machine, MdErrors *errors);

/* --- timing.cu --- */
void cuda_timing_create(CudaContext *context);
void cuda_timing_destroy(CudaContext *context);
void cuda_timing_begin(CudaContext *context, CudaStage stage);
void cuda_timing_end(CudaContext *context);
double cuda_timing_seconds(CudaContext *context, CudaStage stage); /* NaN: never timed */

/* --- the stages --- */
bool cuda_sort_needs_cells(const CudaContext *context);
size_t cuda_sort_scratch_bytes(int n_cells); /* what the scan needs; asks the device */
void cuda_sort_particles(CudaContext *context);
MdStatus cuda_neighbor_update(CudaContext *context, int64_t step);
MdStatus cuda_neighbor_export(CudaContext *context, MdRows *rows);
void cuda_force_compute(CudaContext *context, bool with_energy);
int cuda_force_blocks(int n_atoms);
void cuda_integrate_kick_drift(CudaContext *context, int64_t step);
void cuda_integrate_kick(CudaContext *context);
void cuda_integrate_scale(CudaContext *context, double factor);
MdFault cuda_integrate_fault(CudaContext *context);
/* totals[first + q] = sum of partials[q * n_partials ...] for n_sums sums: the second pass. */
void cuda_reduce_finish(CudaContext *context, int first, int n_sums, int n_partials);
void cuda_reduce_sums(CudaContext *context, MdSums *sums);
/* Displacements since the last build and the bounding box, into the watch. */
void cuda_reduce_measure(CudaContext *context);
void cuda_gather_import(CudaContext *context, const MdSystem *system);
void cuda_gather_frame(CudaContext *context, MdFrame *frame);

/* --- variants.cu --- */
MdVariantTable cuda_variants(void);
/* The switch values as asked, and the variant that runs, of one stage. */
void cuda_variant_describe(const CudaContext *context, CudaStage stage, MdStageTime *time);

static inline int cuda_blocks(int64_t n, int threads) { return (int)((n + threads - 1) / threads); }

template <class T> CudaBox<T> cuda_box(const MdBox &box) {
    CudaBox<T> result;
    for (int a = 0; a < 3; a++) {
        result.length[a] = (T)box.length[a];
        result.inverse[a] = (T)md_box_inverse(&box, a);
    }
    return result;
}

#endif
