/* The inside of the cuda backend: its context, used by all of it; stages.h has the stages. Only files of src/cuda and
 * tests include it.
 *
 * Host code is C11; the kernels are in kernels/ and are compiled when the program starts, for exactly the switches of
 * the run (kernels.c). One host thread uses a context; all kernels go to its one stream, so that stages follow each other
 * without synchronisation. There are also the copy stream, and the writer thread, which waits for its copies (output.c). The
 * host rarely waits: with host-check once a step, for a decision at some rebuilds (neighbor.c), and if sums or
 * particles are needed at once. */
#ifndef MD_CUDA_CONTEXT_H
#define MD_CUDA_CONTEXT_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdint.h>

#include "backend/heat_bath.h"
#include "backend/ranks.h"
#include "cuda/context/facts.h"
#include "cuda/device/driver.h"
#include "cuda/device/nccl.h"
#include "cuda/context/shared.h"
#include "parallel/comm.h"
#include "parallel/domain.h"
#include "system/pair_count.h"

typedef enum CudaStage {
    CUDA_SORT,
    CUDA_NEIGHBOR,
    CUDA_FORCE,
    CUDA_INTEGRATE,
    CUDA_REDUCE,
    CUDA_GATHER,
    CUDA_STEP, /* batches of steps: graphs, the resident kernel */
    CUDA_OBSERVE,
    CUDA_HALO, /* of several processes, as the following */
    CUDA_MIGRATE,
    CUDA_N_STAGES
} CudaStage;

/* --- kernels.c --- */

/* Every kernel: its name in kernels/<unit>.cu is k_<unit>_<name>; it is there under the condition (variants.h). */
#define CUDA_KERNELS(X)                                                                                                \
    X(sort, look_ahead, "neighbor.predict=velocity")                                                                   \
    X(sort, wrap, "")                                                                                                  \
    X(sort, curve, "memory.sort=morton|hilbert|brick")                                                                 \
    X(sort, bin, "")                                                                                                   \
    X(sort, scan_tiles, "")                                                                                            \
    X(sort, scan_sums, "")                                                                                             \
    X(sort, scan_finish, "")                                                                                           \
    X(sort, scatter, "")                                                                                               \
    X(sort, rank, "")                                                                                                  \
    X(sort, rank_few, "force.kernel=list|list-split|cluster|brick")                                                    \
    X(neighbor, brute, "neighbor.search=brute force.kernel=pairs|pairs-tiled|list|list-split|cell|cluster")            \
    X(neighbor, brute_tiled,                                                                                           \
      "neighbor.search=brute-tiled force.kernel=pairs|pairs-tiled|list|list-split|cell|cluster")                       \
    X(neighbor, cell, "neighbor.search=cell force.kernel=pairs|pairs-tiled|list|list-split|cell")                      \
    X(neighbor, cluster, "force.kernel=cluster")                                                                       \
    X(neighbor, brick, "force.kernel=brick")                                                                           \
    X(neighbor, sort_rows, "neighbor.sorted=on force.kernel=pairs|pairs-tiled|list|list-split|cell|cluster")           \
    X(neighbor, count, "force.kernel=list|list-split|cluster")                                                         \
    X(force, plain, "")                                                                                                \
    X(force, energy, "")                                                                                               \
    X(integrate, kick_drift, "")                                                                                       \
    X(integrate, kick, "")                                                                                             \
    X(integrate, drift, "")                                                                                            \
    X(integrate, check, "")                                                                                            \
    X(integrate, scale, "")                                                                                            \
    X(integrate, descend, "run.precision=double")                                                                      \
    X(reduce, sums, "")                                                                                                \
    X(reduce, finish, "reduce.finish=two-pass")                                                                        \
    X(reduce, measure, "")                                                                                             \
    X(reduce, seal, "")                                                                                                \
    X(gather, import_types, "")                                                                                        \
    X(gather, import_positions, "")                                                                                    \
    X(gather, import_velocities, "")                                                                                   \
    X(gather, import_images, "")                                                                                       \
    X(gather, import_raw, "")                                                                                          \
    X(gather, export_raw, "")                                                                                          \
    X(gather, places, "output.pack=shared|padded")                                                                     \
    X(gather, ids, "")                                                                                                 \
    X(gather, joined, "parallel.transport=nccl|direct")                                                                \
    X(gather, positions_single, "")                                                                                    \
    X(gather, positions_double, "")                                                                                    \
    X(gather, images_single, "")                                                                                       \
    X(gather, images_double, "")                                                                                       \
    X(gather, velocities_single, "")                                                                                   \
    X(gather, velocities_double, "")                                                                                   \
    X(gather, forces_single, "")                                                                                       \
    X(gather, forces_double, "")                                                                                       \
    X(step, resident, "launch.persistent=on")                                                                          \
    X(step, drift, "launch.fuse=step launch.persistent=off")                                                           \
    X(step, pass, "launch.fuse=step launch.persistent=off launch.passes=kernels")                                      \
    X(step, queue, "launch.fuse=step launch.persistent=off launch.passes=queue")                                       \
    X(step, bring_back, "launch.fuse=step launch.persistent=off launch.passes=queue neighbor.rebuild=device-check")    \
    X(observe, motion, "")                                                                                             \
    X(observe, pair_cells, "")                                                                                         \
    X(observe, pair_lines, "")                                                                                         \
    X(observe, pair_atoms, "")                                                                                         \
    X(observe, pairs, "")                                                                                              \
    X(halo, border, "")                                                                                                \
    X(halo, arrive, "")                                                                                                \
    X(halo, sum, "")                                                                                                   \
    X(halo, pack, "parallel.transport=staged|cuda-aware|nccl")                                                         \
    X(halo, unpack, "parallel.transport=nccl")                                                                         \
    X(halo, push, "parallel.transport=direct")                                                                         \
    X(halo, barrier, "parallel.transport=direct")                                                                      \
    X(halo, found, "parallel.transport=nccl")                                                                          \
    X(halo, end, "parallel.transport=nccl|direct")                                                                     \
    X(migrate, leave, "")                                                                                              \
    X(migrate, arrive, "")                                                                                             \
    X(migrate, take, "parallel.transport=nccl|direct")                                                                 \
    X(migrate, count, "parallel.transport=nccl")

typedef enum CudaKernelId {
#define CUDA_KERNEL_ID(unit, name, condition) CUDA_K_##unit##_##name,
    CUDA_KERNELS(CUDA_KERNEL_ID)
#undef CUDA_KERNEL_ID
        CUDA_N_KERNELS
} CudaKernelId;

enum { CUDA_N_UNITS = CUDA_N_STAGES }; /* one a stage */

typedef struct CudaKernel {
    CUfunction function; /* NULL: not there under these switches */
    int block_size, registers, blocks_per_sm;
    size_t static_shared, dynamic_shared, local_bytes;
    int64_t launches;
} CudaKernel;

/* --- timing.c --- */

enum { CUDA_SAMPLED_SPANS = 64, CUDA_TRACED_SPANS = 512, CUDA_MAX_BLOCKS = 96 };

typedef struct CudaSpan { /* one timed call of a stage, or a copy */
    cudaEvent_t begin, end;
    int timer;              /* stage whose timer it goes to; CUDA_N_STAGES: none */
    int n_calls;            /* that it encloses */
    int64_t step;           /* the last one that had been begun when it was issued */
    bool pending, is_alone; /* is_alone: the first one, or a graph was made in it */
    int n_lists;            /* sort and search in one: so many, with n_calls steps between them; 0: it is a stage */
    MdTraceTrack *track;    /* NULL: only timed */
    MdTraceKind kind;
    const char *name;
} CudaSpan;

typedef struct CudaTimer {   /* of one stage */
    int64_t calls;           /* issued */
    int64_t replayed, timed; /* of these: found the device stopped and were issued again; were timed */
    double timed_s;
    int64_t alone; /* timed as well, and like no others */
    double alone_s;
} CudaTimer;

/* --- trace.c --- */

typedef struct CudaTrace {
    MdTrace *trace; /* NULL: none, and no tracks */
    MdTraceTrack *steps, *compute, *copy;
    cudaEvent_t base, spare;
    double base_s;            /* when base was, by the clock of the device */
    double origin_s, error_s; /* moment at which both clocks say the same, give or take so much */
} CudaTrace;

/* --- batches --- */

/* The beginning and the end of a batch of steps. */
enum {
    CUDA_BEGINS_FORCED = 1, /* forces: the drift of its first step is done */
    CUDA_ENDS_DRIFTED = 2,  /* the drift of the step after the last one, by launch.fuse = step */
    CUDA_N_BATCHES = 4
};

typedef struct CudaJournalStep {
    int64_t step;
    bool wants_energy;
    bool has_output; /* at its end, after the second half kick, which so does not wait for the next step */
    MdOutputRequest output;
    bool has_observation; /* at its end, before the output; the half kick waits */
    MdObservation observation;
    int64_t calls[CUDA_N_STAGES]; /* of the timers, before its forces */
} CudaJournalStep;

enum {
    CUDA_INTERVALS = 32,      /* between builds that are remembered */
    CUDA_JOURNAL_STEPS = 256, /* more than the host ever runs ahead */
    CUDA_KEPT_GRAPHS = 2      /* a rebuild swaps the two copies of the particles, and of counts */
};

typedef struct CudaGraph {
    cudaGraphExec_t exec; /* NULL: none */
    CudaArguments arguments;
    int launches[CUDA_N_KERNELS]; /* in it */
} CudaGraph;

typedef struct CudaGraphs { /* of the same work */
    CudaGraph kept[CUDA_KEPT_GRAPHS];
    int next; /* that is replaced */
} CudaGraphs;

typedef struct CudaPartials { /* sums of blocks until somebody asks for them, with reduce.finish = host */
    double *sums;             /* [quantity][part][n], on the device */
    int64_t n;                /* blocks; 0: nothing was summed yet */
} CudaPartials;

/* The sums of a step on their way to the host. With reduce.finish = host the partial sums of pairs and then of atoms
 * follow the head. */
typedef struct CudaRow {
    CudaRowHead *d_head, *h_head; /* h_head: pinned */
    bool adds;                    /* the host adds up n_pairs and n_atoms partial sums of each quantity */
    int64_t n_pairs, n_atoms;
    int n_parts, pair_sums, atom_sums; /* of each sum; sums over pairs and over atoms */
    const MdBathAtoms *bath;
} CudaRow;

/* --- output.c --- */

/* A slot of the ring (backend/ring.h) in this backend: a device and a pinned buffer of sums, and events. */
typedef struct CudaSlot {
    CudaRow row;
    cudaEvent_t packed, copy_begun, copied;
    int64_t step_offset; /* see CudaContext */
} CudaSlot;

/* Of several processes, whose hosts put a frame together, each has its own atoms in it, in the order of memory, and after the
 * quantities their ids. */
typedef struct CudaFrameBuffer {
    char *device, *host;
    int64_t room, n; /* rows; as of its last issue */
} CudaFrameBuffer;

typedef struct CudaOutput {
    MdRing *ring; /* the caller's; may be gone when the context goes */
    MdRingSpec spec;
    CudaSlot *slots; /* [spec.n_slots]; NULL: there are none */
    char *d_rows, *h_rows;
    CudaFrameBuffer *frames; /* [spec.n_frames] */
    MdPart whole;            /* several processes whose hosts put frames together: the rows that the consumer writes */
    cudaEvent_t joined_copied; /* and whose GPUs do: the end of the last copy from shared device buffers */
    bool copies_frames;        /* output.host_memory is not mapped */
    cudaStream_t copy_stream;  /* that of the context, or its own */
} CudaOutput;

/* --- domain.c, migrate.c, halo.c --- */

enum { CUDA_SENT_TABLES = 8 };

/* Of several processes. */
typedef struct CudaHalo {
    CudaHaloTable table;        /* content of the device, now or after issued work */
    CudaHaloTable *sent_tables; /* [CUDA_SENT_TABLES] pinned: on their way there and back */
    int64_t n_uploads;
    char *h_out, *h_in;   /* [row_room] rows on their way, pinned */
    unsigned *h_moved_sq; /* pinned: a largest displacement on its way */
    bool is_stale;        /* atoms have moved since positions were exchanged */
    bool wants_room;      /* lists by kernels: the next list needs more room than there is, with some rank */
    bool has_fault;       /* of some rank: agreed, so that all end at the same step */
    int pushed_copy;      /* parallel.transport = direct: of the positions, the last one that is there; -1: either */
    CudaPeers *h_peers;   /* memory of the device; and the mapped part of it */
    void *mapped[4 * CUDA_MOST_PEERS];
    int n_mapped;
    CudaMailbox *mailbox; /* the own one, and the inbox after it */
    CudaNccl *nccl;       /* parallel.transport = nccl */
    int n_unwaited;       /* exchanges that were issued since the host waited for one */
} CudaHalo;

/* How an extent was last divided into cells and bricks. */
typedef struct CudaKeptGrid {
    double extent[3];
    int32_t n[3], n_bricks[3];
    int brick_grid, brick_cells;
} CudaKeptGrid;

typedef struct CudaContext {
    MdErrors *errors;
    CudaFacts facts;
    MdConfig config; /* resolved; its texts and lists belong to the caller */
    MdConfig asked;
    int device, n_sms, compute_capability; /* 90 for 9.0 */
    cudaStream_t stream;
    CudaDriver driver;
    CUmodule modules[CUDA_N_UNITS];
    atomic_int n_compiled, n_kept; /* files of kernels: compiled by this run, taken from the cache */
    atomic_int n_installed;        /* of the latter: installed with the program */
    double kernels_s;              /* until they were ready */
    CudaKernel kernels[CUDA_N_KERNELS];
    CUresult refused; /* check.kernels = off: the error of the first failed launch, */
    const char *refused_kernel;

    /* the simulated system */
    int64_t n_all; /* atoms of all processes */
    int n_own;     /* of this one, as of the last list; of one process: all */
    int room;      /* that arrays and launches have room for, with the halo */
    int n_share;   /* its averages, */
    MdBox share;   /* and its part of the box, as a separate box: bricks, rows and blocks are planned for them */
    MdBox box;
    MdPairCount pair_count; /* of the whole system */
    MdPotential potential;
    double range; /* cuda_list_range */

    MdComm *comm; /* NULL: one process */
    MdDomain domain;
    CudaHalo halo;
    MdRankStatistics rank;

    CudaArguments arguments; /* the arguments of kernels; the host's view of all device arrays */
    unsigned char pair_table[MD_MAX_TYPES * MD_MAX_TYPES * sizeof(MdPair_d)]; /* second argument of the force kernels */

    /* cells, only where something needs them */
    int max_cells;
    /* [max_cells + 1], zero but in a sort, and after them twice as many as few cells are: those of the last sort of few,
     * and zeros for the next one (sort.c) */
    int32_t *cell_counts;
    int few_counted, counts_buffer; /* cells of the last sort of few, and which buffer has its counts */
    int few_keys;    /* of each cell, in the sort that was prepared last; 0: it goes as that of many cells */
    CudaGrid placed; /* the grid that cell_place was made for */
    CudaKeptGrid kept_grid;
    int brick_grid, brick_cells;   /* as the switches say; cells, and fewer, where bricks would hold too much */
    int64_t max_bricks, max_steps; /* that there is room for; and for steps of them, with those around a domain */

    bool built;
    bool unconfirmed; /* a build was issued, and its room was not checked yet: known after */
    cudaEvent_t searched;

    /* the steps, see batches/steps.c */
    int64_t step;                /* the last one that was begun, counted from the start of the context */
    int64_t step_offset;         /* additional counts of the caller */
    bool is_drifted;             /* its drift is issued, and its forces are not */
    bool kick_open;              /* its second half kick is still to be issued */
    bool is_batch_drift;         /* that drift ended a batch, of which another can begin with forces */
    int64_t last_step;           /* the last requested step, */
    bool last_step_wants_energy; /* whether with energy, */
    bool leaves_open;            /* and whether its forces wait for what comes next */
    int64_t built_step;          /* of the last build in these steps, */
    int64_t intervals[CUDA_INTERVALS],
        n_intervals;                             /* steps that lists were good for, the last ones in turn; how many */
    CudaJournalStep journal[CUDA_JOURNAL_STEPS]; /* of step s: [s % CUDA_JOURNAL_STEPS] */
    CudaGraph *capturing;                        /* that launches go into; NULL: none */
    CudaGraphs batch_graphs[CUDA_N_BATCHES][CUDA_GRAPH_STEPS + 1]; /* [kind][n]: of the forces of n steps */
    CudaGraphs list_graphs;                                        /* sort and search in one */

    /* measures, sums, particles on their way out */
    CudaDeviceStatus *h_status;
    volatile CudaHostStatus *h_host_status; /* mapped, so that the host can look without waiting */
    MdFault fault;
    cudaEvent_t status_copied;
    CudaRow sums; /* for threads that wait for them */
    CudaPartials pair_partials, atom_partials;
    bool places_stale; /* arguments.place_of_id, which one process has, is of an earlier order of the particles */
    bool has_forces;   /* those of arguments.now.force are of the particles: not between a sort and the next forces */
    int64_t tree_threads; /* for so many threads there is room in arguments.tree */
    void *staging;        /* [CUDA_STAGED_ROWS, or room][3] of 8 bytes */
    char *h_staging[2];   /* CUDA_CHUNK_BYTES each */
    cudaEvent_t chunk_copied[2];

    CudaOutput output;

    /* books */
    struct {
        void *data;
        size_t bytes;
        bool pooled;
    } blocks[CUDA_MAX_BLOCKS];
    uint64_t array_bytes, most_array_bytes; /* of blocks: now, and at most so far */
    CudaTimer timers[CUDA_N_STAGES];
    CudaSpan spans[CUDA_TRACED_SPANS]; /* a ring of n_spans */
    int n_spans, next_span;
    CudaSpan *open_span; /* NULL: the stage that runs is not timed */
    int64_t n_batches;   /* that were issued, of any number of steps */
    CudaTrace trace;
    int64_t n_builds, n_overflows;
    int32_t list_slack; /* entries beyond the longest row that the last growth of the list made room for */
    double overflow_s;  /* of the host, to make room; the search that comes again is in its stage */
} CudaContext;

static inline int64_t cuda_blocks(int64_t n, int threads) { return (n + threads - 1) / threads; }

#endif
