/* Shared by the host and the kernels of the cuda backend: plain structures, read as C11 by one and as CUDA C by the
 * other. Every kernel takes one CudaArguments by value; members that differ from call to call are at its end. */
#ifndef MD_CUDA_SHARED_H
#define MD_CUDA_SHARED_H

#include <stdint.h>

#include "physics/columns.def"
#include "physics/bath_atoms.h"
#include "physics/pair_cells.h"
#include "physics/tensor.h"

/* Numbers of three components, in the layout of memory.layout:
 *   aos   part[0]: packed xyz, [n][3]
 *   soa   part[0..2]: one array a component, [n]
 *   vec4  part[0]: aligned vectors of four, [n][4]; each array says what the fourth is */
typedef struct CudaVectors {
    void *part[3];
} CudaVectors;

/* Data of a particle that take part in no formula: read only at rebuilds and for output. */
typedef struct CudaTag {
#ifdef __cplusplus
    alignas(16)
#else
    _Alignas(16)
#endif
        int32_t ix; /* periodic image */
    int32_t iy, iz;
    int32_t id;
} CudaTag;

/* Mixed precision: bits of a coordinate beyond those of a float. Those of three and the type are in a word of 32. */
enum { CUDA_LOW_BITS = 9 };

/* The particles in the order of the moment. */
typedef struct CudaParticles {
    CudaVectors position; /* as pairs see it: Pair; fourth: a word, see low; twice, see common.cuh; not in spare */
    CudaVectors velocity; /* Pair; fourth: 1/mass */
    CudaVectors force;    /* Pair; fourth: 0; not in spare; often the second copy of the positions: see arrays.c */
    int32_t *type;        /* [n]; NULL with vec4, where the word has it */
    void *inverse_mass;   /* Pair [n]; NULL with vec4 */
    uint32_t *low;        /* [n], mixed precision: the word of the bits that position lacks; NULL with vec4 */
    CudaTag *tag;
    unsigned long long texture[3]; /* texture objects over position, with memory.load = texture; not in spare */
#define ARRAY_COLUMN(name, number, components, when) void *name; /* [n][components]; NULL: not there */
    MD_COLUMNS(MD_ARRAY_COLUMN)
#undef ARRAY_COLUMN
} CudaParticles;

/* Cells are numbered in row-major order, x fastest. Their edges are at least the range of the list, so that neighbours are in
 * adjacent cells. Particles beyond the origin or the end of an open axis belong to its first or last cell. */
typedef struct CudaGrid {
    int32_t n[3];
    int32_t wraps[3];                           /* periodic axis */
    double origin[3], inverse_edge[3], edge[3]; /* edges along an axis without extent: 0 */
    /* With memory.sort = brick: among so many the cells of an axis are shared out, as evenly as can be. */
    int32_t n_bricks[3];
} CudaGrid;

/* Several processes (parallel/domain.h): the sides of a domain, itself in the middle. */
enum { CUDA_SIDES = 27 };
/* parallel.transport = direct: ranks of a node, at most. */
enum { CUDA_MOST_PEERS = 64 };

/* Several processes: the result of any rank at a list: no room for an atom or a copy, so that nothing was sorted; none for an entry; perhaps
 * none for an atom at the next list; a fault; a block that needs barriers of the grid. */
enum {
    CUDA_LIST_LACKS_ROOM = 1,
    CUDA_LIST_FULL = 2,
    CUDA_LIST_WANTS_ROOM = 4,
    CUDA_LIST_FAULT = 8,
    CUDA_LIST_NEEDS_BARRIER = 16,
    CUDA_LIST_BITS = 5 /* so many */
};

/* parallel.transport = nccl: the room of a side for copies is a multiple of CUDA_ROOM_UNIT. Its room for atoms that change their owner is
 * 1/CUDA_ROOM_UNIT of that, and CUDA_LEAST_MIGRANTS. */
enum { CUDA_ROOM_UNIT = 16, CUDA_LEAST_MIGRANTS = 128 };

/* Bytes of an atom on its way to another rank; column_bytes: of its columns that have an array each. */
#define CUDA_ATOM_ROW_BYTES(pair_size, column_bytes)                                                                   \
    ((8 * (pair_size) + sizeof(CudaTag) + (column_bytes) + 15) / 16 * 16)

/* Data that differ from list to list, in device memory: kernels keep their arguments. With direct and nccl kernels count all
 * of it if there is room; otherwise the host does. */
typedef struct CudaHaloTable {
    int32_t n_own, n_stored;   /* atoms of the domain, and with the copies after them */
    int32_t n_slots, n_sorted; /* the same before they are sorted: slots in memory, some of which are free */
    /* atoms that other ranks own now, and that a side has copies of: zero between two lists */
    int32_t n_leaving, n_border[CUDA_SIDES];
    int32_t lacks_room;    /* lists by kernels: for an atom or a copy, with any rank (direct), with this one (nccl) */
    int32_t needs_barrier; /* launch.persistent: some rank has a block that cannot do without, see needs_grid_barrier */
    int32_t out[CUDA_SIDES + 1]; /* first atom for each side, in what is sent; all of them */
    int32_t in[CUDA_SIDES + 1];  /* first copy from each side, after the own atoms; all of them */
    int32_t row_in[CUDA_SIDES];  /* where the rows of these are received, */
    int32_t n_rows;              /* and how many there is room for */
    /* parallel.transport = direct, in the memory of the rank on a side: where it receives rows, and how many it has room for there; its
     * first copy among its positions, and the offset of their second copy */
    int32_t row_to[CUDA_SIDES], row_most[CUDA_SIDES], to[CUDA_SIDES], stride_of[CUDA_SIDES];
    /* parallel.transport = nccl: first entry for each side in sent arrays, and from each in received ones, with spare
     * room: a message has the length of its room, which the host knows */
    int32_t room_out[CUDA_SIDES + 1], room_in[CUDA_SIDES + 1];
    int32_t n_migrants[CUDA_SIDES]; /* atoms that leave to each side; zero between two lists */
    int32_t n_migrants_in[CUDA_SIDES], n_copies_in[CUDA_SIDES]; /* atoms and copies that come from there */
    uint32_t found[CUDA_LIST_BITS]; /* the results of all ranks: CUDA_LIST_..., a word each */
} CudaHaloTable;

/* Of a frame: the quantities, by the bits of MD_FRAME_..., and with several processes the ids of the rows. */
enum { CUDA_N_QUANTITIES = 4, CUDA_FRAME_IDS = CUDA_N_QUANTITIES, CUDA_FRAME_COLUMNS };

enum { CUDA_GRAPH_STEPS = 64 }; /* the most of a batch */

/* With device-check: data shared by blocks of a queue, or of the resident kernel with launch.barrier = local (a fault only), before a
 * grid-wide synchronisation. Zero, or all bits set, between launches, except after a fault, and
 * with several processes except the check of the last launch. */
typedef struct CudaQueueCheck {
    unsigned stop; /* the first pass for which the list is too old; all bits set: none */
    unsigned far;  /* float bits: the largest squared displacement by the last pass, if that is too large */
    unsigned made[CUDA_GRAPH_STEPS];          /* [pass] bricks that are through, */
    unsigned ranks_through[CUDA_GRAPH_STEPS]; /* and other ranks that are, with all bricks */
    unsigned long long fault_step;            /* that of CudaDeviceStatus, if it is not of a step that is replayed */
} CudaQueueCheck;

/* parallel.transport = direct: memory that other GPUs write into. */
typedef struct CudaMailbox {
    unsigned long long words[2][CUDA_MOST_PEERS]; /* [turn][rank], kernels/gpu_barrier.cuh */
    int32_t n_copies[CUDA_SIDES];                 /* that come from each side */
    int32_t to[CUDA_SIDES], stride[CUDA_SIDES]; /* where the rank on each side has those that it gets: CudaHaloTable */
    uint32_t n_atoms;                           /* that come: rows of the inbox after it */
    int32_t n_rows[CUDA_MOST_PEERS];            /* that each rank has packed for a frame: all are told */
    CudaQueueCheck check[2];                    /* launch.passes = queue: in turn, CudaPeers.turn; without the fault */
} CudaMailbox;

enum { CUDA_MAILBOX_BYTES = 4096 }; /* the inbox after it is aligned */

/* The same, as this GPU has it mapped. */
typedef struct CudaPeers {
    CudaMailbox *mailbox[CUDA_MOST_PEERS]; /* of each rank, the own one as well */
    void *inbox[CUDA_MOST_PEERS];          /* rows of atoms that come to it, [CudaDomain.inbox_room] */
    void *rows[CUDA_SIDES];                /* where the rank on each side receives rows of copies, */
    void *position[CUDA_SIDES];            /* its positions, */
    unsigned *done[CUDA_SIDES];            /* launch.passes = queue: steps of its bricks and of those around them, */
    int32_t rank[CUDA_SIDES];              /* and which one that is */
    void *frame[CUDA_MOST_PEERS]
               [CUDA_FRAME_COLUMNS]; /* the packed rows of each for a frame, if this rank writes some of them */
    unsigned epoch;                  /* barriers so far */
    unsigned turn;                   /* which check the next queue has */
    unsigned n_blocks;               /* that are through with a kernel; 0 between two of them */
} CudaPeers;

/* A copy of an atom at the border: its number among those of the side, in the lowest bits; whether the atom has another one; and the
 * side, in the uppermost five bits. */
typedef uint32_t CudaCopy;
enum { CUDA_COPY_BITS = 26, CUDA_SIDE_SHIFT = CUDA_COPY_BITS + 1 };
#define CUDA_NO_COPY 0xffffffffu

/* With several processes CudaGrid has the cells of this rank's domain and of the halo around it, in local numbers: 0 is the first one
 * of the halo. In memory the domain's own cells come first, those of the halo follow side by side. All domains have as many cells. */
typedef struct CudaDomain {
    int32_t n_own[3];                  /* cells of the domain, */
    int32_t halo[3];                   /* layers of cells around it: 1 along axes that are cut, */
    int32_t first[3];                  /* global number of local cell 0, */
    int32_t n_all[3];                  /* and cells of the whole box */
    int32_t grid[3], rank;             /* of ranks */
    uint32_t sides;                    /* a bit for each side that another rank has copies on, and sends copies from */
    int32_t place_of_side[CUDA_SIDES]; /* of its first halo cell in the order of memory */
    CudaHaloTable *table;
    void *rows;           /* [row_room] AtomRow of kernels/domain.cuh: atoms and copies on their way */
    void *rows_in;        /* [row_room] and the received ones */
    int32_t *leaving;     /* [room] atoms that leave */
    int32_t *destination; /* [row_room] and the ranks that they go to */
    int32_t *out;         /* [row_room] atoms that others have copies of, side by side */
    int32_t *out_cell;    /* [cells of the halo] of a border cell the first of its atoms among those of its side */
    void *sent;           /* [row_room] their positions in messages */
    /* launch.passes = queue, launch.persistent: the first copy of an own atom, and of each copy the next one of the same atom, in the
     * order of out */
    CudaCopy *first_copy; /* [room] */
    CudaCopy *next_copy;  /* [row_room] */
    /* parallel.transport = nccl: [inbox_room] atoms that leave, those of a side from first_migrant on, and atoms that come */
    void *migrants, *migrants_in;
    int32_t row_room, inbox_room;
    /* parallel.transport = direct, nccl: columns of the own atoms, in the order of memory, for a frame; with nccl, on rank 0, those of all
     * ranks, one after the other, and their ids */
    void *frame_rows, *frame_ids;
    int64_t n_frame_rows, first_id, n_ids; /* rows that NCCL brings; ids that this rank writes */
    /* launch.persistent: bricks that blocks can hold at once; of each, its rows and the atoms that it stages */
    int32_t held_bricks, held_rows, held_staged;
    int32_t n_ranks;
    int32_t n_rooms; /* parallel.transport = nccl: how often rooms of messages have changed: graphs end with them */
    CudaPeers *peers;
    long long patience_ns; /* how long a kernel waits for a word or a position */
} CudaDomain;

/* force.kernel = brick. A block of threads takes a brick, and stages its atoms and those in range of it in shared
 * memory, each as the image that is near, in lines of cells along x. */
typedef struct CudaBrick {
    double origin[3];   /* the origin of staged positions */
    float origin_f[3];  /* the same in single precision, for pairs that are */
    int64_t source;     /* of its atoms, the first in CudaBricks.source */
    int64_t slice;      /* of its rows, the first in the list: see kernels/bricks/tile.cuh */
    int32_t begin, end; /* slots of its own atoms */
    int32_t n_staged;
    int32_t has_images; /* any of them is not where the particle is, but a whole box away */
} CudaBrick;

/* Numbers that images of a brick are staged by: two for each axis and number that two bits of an image may be. */
enum { CUDA_IMAGES_ALONG = 4, CUDA_SHIFTS = 3 * CUDA_IMAGES_ALONG * 2 };

typedef struct CudaBricks {
    CudaBrick *table; /* [bricks] */
    void *shifts;     /* [bricks] Shifts of kernels/bricks/tile.cuh, CUDA_SHIFTS numbers each */
    int32_t *source;  /* [source_capacity] the particle that is staged */
    uint8_t *image;   /* [source_capacity] and its image: see kernels/bricks/tile.cuh; with has_images */
    int64_t source_capacity, slice_capacity;
    int32_t capacity;               /* atoms that a block has room for */
    int32_t cell_bytes, warp_bytes; /* of the tables that the search has after them: of cells, of each warp */
} CudaBricks;

/* Histograms of the distances of pairs: kernels/count_pairs.cuh. */
typedef struct CudaPairCount {
    MdPairCells cells;
    double range;
    void *atoms;                /* [n_stored] vectors of four: atoms in the order of cells, */
    int32_t *cell_of;           /* [n_stored] and the cell of each */
    int32_t *begin;             /* [cells + 1] the first of each cell, and how many atoms have a place */
    int32_t *cursor;            /* [cells] one after the last */
    unsigned long long *counts; /* [MD_COUNTED_ROWS][kinds][bins] */
} CudaPairCount;

/* launch.passes = queue: kernels/batches/step_queue.cuh */
typedef struct CudaQueue {
    unsigned *counts; /* [2] that are taken; blocks that are through: zero but in a launch */
    /* [bricks] by position in space, x fastest: the step up to whose drift its atoms have come. With several processes among
     * those of the bricks around, which their ranks write: kernels/batches/queue_border.cuh */
    unsigned *done;
    int32_t *brick; /* [bricks] by position in space: the brick there, in CudaBricks.table */
    CudaQueueCheck *check;
} CudaQueue;

/* Entry k of row i is entries[i * row_stride + k * entry_stride]. 64 bits: a list has more than 2^31. */
typedef struct CudaList {
    void *entries;   /* int32_t, or uint16_t of bricks; in a sort of few cells their keys */
    int32_t *counts; /* may exceed capacity while a build overflows */
    int64_t row_stride, entry_stride;
    int32_t capacity;
    int32_t n_rows; /* of atoms, or of clusters of atoms */
} CudaList;

/* Results of kernels for the host. Zeroed before each build; results of many threads grow by an integer atomicMax or
 * atomicAdd. */
typedef struct CudaMeasures {
    unsigned long long entries; /* of the list */
    unsigned moved_sq;          /* float bits: largest squared displacement from the positions of the build */
    /* launch.fuse = step: the same at every other step, which is measured while the other is read. */
    unsigned moved_sq_odd;
    unsigned stopped_in; /* launch.passes = queue: 1 + the copy with the state of a device that stops; 0: it goes on */
    int32_t largest_count;      /* of a row */
    unsigned high[3], low[3];   /* float keys (common.cuh) of the largest x, and of the largest -x */
    int32_t staged;             /* force.kernel = brick: atoms of the fullest block, */
    unsigned long long sources; /* and of all blocks together, */
    unsigned long long slices;  /* and slices of all their rows */
    /* launch.barrier = local: rows of the largest brick, and whether any brick has one beside it of which it stages no atom */
    int32_t rows, sides_without_halo;
} CudaMeasures;

/* Why the device has stopped: with device-check the list is too old for the forces of this step; the last search
 * found more entries than there is room for. */
enum { CUDA_STOPPED_STALE = 1, CUDA_STOPPED_FULL = 2 };
/* Both, why and at which step (that of CudaDeviceStatus), in a word. */
#define CUDA_STOP_WORD(why, step) (4ull * (step) + (why))
#define CUDA_STOP_WHY(word)       ((word) % 4)
#define CUDA_STOP_STEP(word)      ((word) / 4)

/* The device status: counts and results of kernels, in device memory. */
typedef struct CudaDeviceStatus {
    CudaMeasures measures;
    unsigned long long fault_step; /* of the earliest fault; all bits set, as in the next member: none */
    /* [step % CUDA_GRAPH_STEPS] id, then the displacement as float bits */
    unsigned long long fault_key[CUDA_GRAPH_STEPS];
    unsigned long long step;         /* the last one whose forces were begun, or would have been: see batches/steps.c */
    unsigned long long pass_step[2]; /* launch.fuse = step: that of the forces that come of [a copy of the positions] */
    unsigned long long late_build;   /* the last build that came late, as 1 + its step; */
    long long built_step;     /* neighbor.predict: of the last build; negative for a list restored by a restart */
    double ahead;             /* and the time that its positions are ahead of the atoms */
    unsigned n_late;          /* how many did */
    unsigned n_grid_barriers; /* batches that used the barrier of the grid instead of launch.barrier = local */
    unsigned n_rolled_back;   /* the same that rolled back: a list was too old earlier than speculated */
    /* Lists by kernels: atoms that have gone to other ranks; rows and positions of copies that were sent */
    unsigned long long n_migrated, n_rows_sent, n_places_sent;
    /* Quanta of heat (physics/bath_atoms.h) of drifts that count; and [pass] of those of a queue whose passes may not: 0 between launches */
    unsigned long long heat, heat_of_pass[CUDA_GRAPH_STEPS];
    unsigned drifted; /* the drift of step + 1 is done */
    unsigned stopped; /* the stop flag, CUDA_STOPPED_...: kernels return at once until the host clears it */
} CudaDeviceStatus;

/* The host-visible status: in mapped host memory, so that the host reads it without a copy. */
typedef struct CudaHostStatus {
    int fault;
    unsigned long long stopped; /* CUDA_STOP_WORD; 0: it goes on */
    unsigned long long step;    /* the last one whose forces were begun */
    int silent;                 /* 1 + a rank that has not answered in time; 0: none; -1: it is not known which */
    /* Several processes, since the last list: the atoms of this one and its copies, and the results of all ranks, CUDA_LIST_... */
    int n_own, n_copies;
    unsigned list;
    int largest_cell; /* the sort of few cells: particles of a cell for whose keys there was no room; 0: there was for all */
} CudaHostStatus;

/* Sums over pairs, and after them in the totals sums over atoms. Each group ends with the components of a tensor (MD_XX, ...),
 * if analysis.pressure = tensor. */
enum { CUDA_POTENTIAL, CUDA_TRUNCATION, CUDA_VIRIAL, CUDA_PAIRS, CUDA_VIRIAL_TENSOR };
enum { CUDA_KINETIC, CUDA_MOMENTUM, CUDA_FORCE_SQ = CUDA_MOMENTUM + 3, CUDA_KINETIC_TENSOR };
enum { CUDA_MAX_SUM_BLOCKS = 1024 };
#define CUDA_PAIR_TOTALS(has_tensor) (CUDA_VIRIAL_TENSOR + ((has_tensor) ? MD_N_TENSOR : 0))
#define CUDA_ATOM_TOTALS(has_tensor) (CUDA_KINETIC_TENSOR + ((has_tensor) ? MD_N_TENSOR : 0))
/* MD_SPLIT_PARTS of each, with reduce.accumulate = reproducible */
enum { CUDA_MOST_TOTALS = 3 * (CUDA_PAIR_TOTALS(1) + CUDA_ATOM_TOTALS(1)) };

/* The results of a step for the host, as of its end: the head of the sums of a ring slot. With reduce.finish = host the partial sums of
 * pairs and atoms follow it. */
typedef struct CudaRowHead {
    double totals[CUDA_MOST_TOTALS];
    unsigned long long fault_step, fault_key; /* as in CudaDeviceStatus, the key of that step */
    long long heat;                           /* the same */
    long long step;                           /* -1 until all of it is there: a device that is stopped leaves it so */
} CudaRowHead;

/* output.pack = padded: numbers that part the components of a tile, see kernels/gather.cu. */
enum { CUDA_TILE_PAD = 11 };

enum { CUDA_BARRIER_STRIDE = 32 }; /* unsigned: a line of 128 bytes */

/* Cells, and one more, of which each block of the sort has room for the begins. */
enum { CUDA_FEW_CELLS = 4096 };
enum { CUDA_MAX_BLOCK = 1024 }; /* threads, on every GPU */

enum { CUDA_CLUSTER = 8 }; /* atoms of a cluster: force.kernel = cluster */

/* force.kernel = brick: cells of a brick and around it that a block can look into, and their atoms; those that it can stage, which
 * an entry of 16 bits tells apart (one of them, the first, is beyond any range, for the end of a row); entries that are read at
 * once. */
enum { CUDA_BRICK_STENCIL = 1024, CUDA_MAX_CANDIDATES = 8192, CUDA_MAX_STAGED = (1 << 12) - 1, CUDA_QUAD = 4 };
/* The four entries of a quad are read in turns, beginning with this one by thread `part` of the `threads` that share a row. With
 * neighbor.distances = matrix entry k of row r is in group k ^ (r mod 8) of the eight groups of banks; so by these turns the
 * eight threads whose reads are served at once, of one row or of some side by side, always read from eight groups. */
#define CUDA_FIRST_OF_QUAD(part, threads) ((part) % 8 / 2 * (8 / ((threads) < 8 ? (threads) : 8)) % 4)
/* Threads of the resident kernel on a multiprocessor that its registers are to leave room for. */
enum { CUDA_BRICK_THREADS = 832 };
/* Room for atoms beside those that are staged: that one, and seven that the search may read after the last. */
enum { CUDA_STAGED_BESIDE = 8 };
/* neighbor.distances = matrix: rows that a warp searches at a time. With memory.brick_grid = device and device-2 16 would leave warps
 * without work. */
#define CUDA_ROWS_PER_WARP(brick_grid) ((brick_grid) == MD_BRICK_GRID_CELLS ? 16 : 8)
/* neighbor.distances = matrix: room of a warp for entries of each row that are not stored yet. */
enum { CUDA_MOST_SPARES = 16 };

/* The particles in restart files. */
enum { CUDA_RAW_POSITION, CUDA_RAW_VELOCITY, CUDA_RAW_FORCE, CUDA_RAW_REFERENCE };

/* Counted by kernels that are compiled with MD_COUNT. */
enum { CUDA_COUNT_TESTED, CUDA_COUNT_INSIDE, CUDA_COUNT_ATOMICS, CUDA_N_COUNTS };

typedef struct CudaArguments {
    /* Atoms that this GPU moves; and with the copies after them. With several processes both are in CudaHaloTable, and these have
     * room for them. stride: from an array to its second copy (launch.fuse = step, memory.sort). */
    int32_t n_own, n_stored, stride;
    CudaParticles now, spare; /* spare: where a reordering writes to, but positions; only where memory.sort reorders */
    CudaVectors reference;    /* Pair: the list positions of the last build, see physics/predict.h */
    double length[3], inverse[3];               /* box; inverse 0: open axis (physics/box.h) */
    float length_f[3], rest_f[3], inverse_f[3]; /* length is length_f + rest_f, to 48 bits */
    double half_step, whole_step, fault_sq, range_sq;
    float half_step_f, whole_step_f, fault_sq_f;
    float stale_sq;            /* largest squared displacement that is allowed: half the skin */
    double inverse_mass_of[8]; /* type */
    const void *pairs;         /* MdPair of the precision of pairs, [n_types * n_types] */

    CudaList list;
    CudaGrid grid;
    int32_t *place; /* [n_atoms] that of the cell of a particle; this and the next four: see stage_cells in arrays.c */
    /* The next two unless cells are few. */
    int32_t *arrival;    /* [n_atoms] how many came to that cell before it: any order */
    void *slot_key;      /* [n_atoms] sort keys in a cell (kernels/sort.cu), by cell, there in order of arrival */
    int32_t *slot_atom;  /* [n_atoms] particles by cell, within a cell by their keys; with memory.sort = none */
    int32_t *slot_cell;  /* [n_atoms] cell of a slot */
    int32_t *cell_count; /* [n_cells + 1] particles of each cell, cells in their order in memory; zero before a sort */
    int32_t *cell_start; /* [n_cells + 1] first slot of each cell, in the same order */
    int32_t *cell_place; /* [n_cells] where a cell stands in that order; unless they stand row by row */
    int32_t *place_cell; /* [n_cells] the cell that stands there; the same */
    int32_t *scan_sums;  /* of the blocks of a scan */
    CudaBricks bricks;
    CudaQueue queue;

    CudaDeviceStatus *status;
    CudaHostStatus *host_status;
    double *partials;             /* sums of blocks, [quantity][part][n_partials] */
    double *tree;                 /* reduce.method = global: room for one value a thread */
    double *totals;               /* [quantity][part] */
    CudaPairCount pair_count;
    unsigned long long *counters; /* [CUDA_N_COUNTS], with MD_COUNT */
    unsigned *barrier;            /* two words, kernels/batches/barrier.cuh, each in its own line */
    int64_t n_force_items;        /* threads of a force kernel; of bricks: bricks, a block each */
    int32_t *place_of_id;         /* [n_atoms] where a particle is in memory; unless output.pack = naive */
    CudaDomain domain;            /* of several processes */
    double *observed;             /* samples of an analysis: [MD_OBSERVED_ROWS][MD_OBSERVE_N][types][MD_SPLIT_PARTS] */
    MdBathAtoms bath;             /* a thermostat on each atom: MD_BATH */
    int64_t step_offset;          /* its steps are those of the caller: so many more than the device counts */

    /* of one call; n is the first of these (stages/graph.c) */
    int32_t n;             /* how many: cells of a scan, partial sums */
    int32_t first_row;     /* gather: the rows of `in` and `out` are of these atoms, */
    int32_t n_rows;        /* so many at most */
    int32_t first_total;   /* that sums go to */
    int32_t raw_quantity;  /* CUDA_RAW_... */
    int32_t buffer;        /* of the two copies of the positions, the one to begin with */
    int32_t barrier_word;  /* of the two of the grid's barrier */
    int32_t keys_per_cell; /* room for so many in a sort of few cells; 0: it is one of many */
    int32_t kick_first;    /* integrate: the second half kick of the step before comes first */
    int32_t begins;        /* step_resident, by launch.fuse = step: with forces, the drift of the first step is done */
    int32_t drifts;        /* the same: ends with the drift of the step after the last one */
    int32_t speculative;   /* the same: steps before blocks have to look for displacements; launch.barrier = local */
    double shift[3];       /* of velocities, after the factor */
    double factor;         /* of velocities; sort_wrap: time since the list was used last, negative: not counted */
    const void *in;
    void *out; /* sort_rank_few: counts of the next sort */
    CudaRowHead *row;
    int64_t row_step; /* that goes into it */
    uint32_t observe,
        origins; /* quantities of a sample, and those that have their origin here: bits by MD_OBSERVE_... */
    int32_t observed_row, count_row;
    unsigned long long kept_step; /* at whose end a queue has kept the velocities of a sample; 0: none */
} CudaArguments;

#endif
