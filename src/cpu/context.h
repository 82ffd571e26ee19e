/* Shared by the files of the cpu backend: its arrays, and the kernels that are compiled for each instruction set.
 *
 * Memory layout. Particles are structures of arrays (position[axis][i]) in memory order, which is the order of cells
 * after a rebuild with memory.sort = cell; id[i] is the particle. Besides the state there is `place`, the pair positions,
 * a copy of the positions in the form that the pair loops read: x, y, z and type side by side, so that one neighbour costs one cache
 * line and one load of 16 bytes (32 in double).
 *
 * Precision. In double the copy is the position itself. In single and mixed it holds whole numbers of 32 bits, the box
 * edge (or, along an open axis, some stretch much longer than the reach of the list) being 2^32. A difference of two
 * is exact and wraps by overflow, and is turned into a float after the subtraction: its rounding is relative to the
 * distance of the pair and not to the size of the box. Forces are floats, sums over particles are doubles.
 *
 * Several ranks. The grid of cells is that of the whole box on every rank, and each has the atoms of its domain, a box of these
 * cells (parallel/domain.h). In the same arrays, after the entries for its own atoms, are copies of the atoms in the cells around it, the
 * halo: their pair positions, types and ids, and their positions as of the last build. The order of candidates
 * is the same for any number of ranks: cells row by row, and in a cell by id. So a row has the same atoms in the
 * same order, and a force the same bits.
 *
 * The list. Rows have room for `stride` entries. Slices of 16 rows keep entry k of their rows side by side:
 * entries + slice * 16 * stride + k * 16 + i % 16, so that the lanes of a register are 16 atoms and no sum over lanes is
 * needed. Entries past the end of a row are valid
 * indices (0, or entries of an earlier list): they are loaded and masked. */
#ifndef MD_CPU_CONTEXT_H
#define MD_CPU_CONTEXT_H

#include "backend/heat_bath.h"
#include "backend/backend.h"
#include "backend/ranks.h"
#include "cpu/sums.h"
#include "parallel/comm.h"
#include "parallel/domain.h"
#include "system/pair_count.h"

enum {
    MD_CPU_SLICE = 16,   /* rows of a slice: the lanes of the widest register in single precision */
    MD_CPU_BLOCK = 128,  /* atoms whose sums are formed by one thread, and then added up in order */
    MD_CPU_SPARE = 16,   /* entries after the end of a buffer that a whole register may write */
    MD_CPU_TOGETHER = 4, /* atoms that a register of candidates is compared with at a time */
    MD_CPU_REACH = 4     /* most cells along x that the list reaches over */
};

/* Sums of one block of atoms. */
enum {
    MD_CPU_POTENTIAL,
    MD_CPU_TRUNCATION,
    MD_CPU_VIRIAL,
    MD_CPU_VIRIAL_TENSOR, /* the components, with analysis.pressure = tensor */
    MD_CPU_END_OF_PAIRS = MD_CPU_VIRIAL_TENSOR + MD_N_TENSOR,
    MD_CPU_EMBEDDING = MD_CPU_END_OF_PAIRS, /* of a many-body form: F of the densities */
    MD_CPU_KINETIC,
    MD_CPU_FORCE_SQ_MASS,
    MD_CPU_MOMENTUM, /* and y, z */
    MD_CPU_KINETIC_TENSOR = MD_CPU_MOMENTUM + 3,
    MD_CPU_N_SUMS = MD_CPU_KINETIC_TENSOR + MD_N_TENSOR
};
typedef struct MdCpuPartial {
    MdCpuSum sum[MD_CPU_N_SUMS];
    double pairs;           /* exact, independent of the type of the sums */
    double displacement_sq; /* largest */
    int64_t n_faults;
    /* With a thermostat on each atom: quanta of heat of the drift; of the faults that with the smallest id, and how far it went. */
    int64_t heat;
    int32_t fault_id;
    double fault_displacement;
} MdCpuPartial;

/* Cells; along an axis with n = 1 there is nothing to search but the cell itself. */
typedef struct MdCpuGrid {
    int32_t n[3], reach[3];
    bool wraps[3];                /* neighbours are found across the boundary */
    double low[3], per_length[3]; /* cell = (position - low) * per_length, held to 0 .. n - 1 */
} MdCpuGrid;

typedef struct MdCpuRanked {
    uint64_t key;
    int32_t cell;
} MdCpuRanked;

enum {
    MD_CPU_SORT,
    MD_CPU_NEIGHBOR,
    MD_CPU_FORCE,
    MD_CPU_INTEGRATE,
    MD_CPU_REDUCE,
    MD_CPU_GATHER,
    MD_CPU_OBSERVE,
    MD_CPU_HALO, /* of several ranks: positions of the halo, and atoms that go to another rank */
    MD_CPU_MIGRATE,
    MD_CPU_N_STAGES
};

struct MdCpuKernels;
struct MdCpuContext;
/* Forces, and with energy the sums of pairs, of blocks begin .. end - 1 as block_order has them. A many-body form has two passes: the
 * first one makes F' of the densities, which the second one needs of the atoms and of their neighbours. */
enum { MD_CPU_PAIRS, MD_CPU_DENSITIES, MD_CPU_EMBEDDED };
typedef void MdCpuForces(struct MdCpuContext *c, int pass, bool with_energy, int64_t begin, int64_t end);

/* The columns of this backend. */
#define MD_CPU_COLUMNS(COLUMN)                                                                                         \
    MD_COLUMNS(COLUMN)                                                                                                 \
    COLUMN(built_at, STATE, 3, "positions of the last build", 0, PACKED, ALWAYS) /* see physics/predict.h */
#define MD_CPU_WORD           int32_t
#define MD_CPU_STATE          void /* float or double */
#define MD_CPU_PAIR           void
#define MD_CPU_DOUBLE         double
#define MD_CPU_ARRAYS_1(name) *name
#define MD_CPU_ARRAYS_3(name) *name[3]
#define MD_CPU_FIELD(name, number, components, what, traits, cuda, when)                                               \
    MD_CPU_##number MD_CPU_ARRAYS_##components(name);
#define MD_CPU_COUNT(name, number, components, what, traits, cuda, when) +(components)

enum { MD_CPU_N_COLUMNS = MD_N_COLUMNS + 1, MD_CPU_N_ARRAYS = 0 MD_CPU_COLUMNS(MD_CPU_COUNT) };

/* Where pairs are counted: coordinates from the corner of the cell. */
typedef struct MdCpuPairAtom {
    double x[3];
    int32_t type, id;
    bool is_own; /* else a copy */
} MdCpuPairAtom;

typedef struct MdCpuSlot { /* the content of a slot of the ring; as of the end of a step */
    long long step;
    MdSumParts sums;
    MdFault fault;
} MdCpuSlot;

typedef struct MdCpuHalo {
    /* As of the last build: copies, and atoms that others have copies of, of all sides together. */
    int64_t n_atoms, n_out;
    int32_t in_first[MD_N_SIDES + 1], out_first[MD_N_SIDES + 1]; /* of these the first of each side */
    int32_t *out;          /* [out_room] own atoms that others have copies of: side by side, and of a side by cell */
    int32_t *cell;         /* [cell_room] local cells of the copies */
    char *sent, *received; /* [out_room], [received_room] rows of positions in messages */
    int64_t out_room, cell_room, received_room;
    bool is_stale; /* atoms have moved since positions were exchanged */
} MdCpuHalo;

typedef struct MdCpuOutput {
    MdRing *ring; /* the caller's; may be gone when the context goes */
    MdRingSpec spec;
    MdCpuSlot *slots; /* [spec.n_slots] */
    MdPart *parts;    /* [spec.n_frames]: the frame buffers; one rank has all particles, by id, and no ids beside */
    MdFrame whole;    /* several ranks: the rows that its consumer writes */
} MdCpuOutput;

typedef struct MdCpuContext {
    const struct MdCpuKernels *kernels;
    MdCpuForces *forces;
    MdErrors *errors;
    int n_threads, precision;
    bool state_double, pair_double;

    /* from the configuration */
    double timestep, cutoff, skin, fault_distance;
    int sort, search, write, list, rebuild, predict, layout, kernel, cutoff_test, arithmetic;
    MdCpuAccumulate accumulate;
    bool sorted, fuse, per_call, energy_always, has_tensor, overlap;
    int64_t every;

    /* the system */
    MdComm *comm; /* the caller's */
    MdDomain domain;
    int64_t n_all;                /* atoms of all ranks */
    int64_t n_atoms, n_padded;    /* own ones; padded to whole blocks */
    int64_t atom_room, halo_room; /* of the arrays, in atoms; whole blocks. The halo begins at atom_room */
    int64_t n_places;             /* both, and a register more */
    MdBox box;
    MdPotential potential;
    double mass[MD_MAX_TYPES];
    double period[3]; /* length in sigma of 2^32 steps of a pair position */

    /* the particles, in memory order: the arrays of the columns, also one after the other; [n_places] as all of these */
    union {
        struct {
            MD_CPU_COLUMNS(MD_CPU_FIELD)
        };
        void *arrays[MD_CPU_N_ARRAYS];
    };
    void *place;
    void *scratch_double; /* one array each, for reordering */
    void *scratch_word;
    bool is_there[MD_CPU_N_COLUMNS]; /* the column; else its arrays are NULL */
    bool moves_forces;               /* while atoms are sorted: they are of use afterwards */
    bool kick_waits; /* the second half kick of the last step is left to the pass of the next one: launch.fuse */

    /* cells, and the particles in the order of cells: slots */
    MdCpuGrid grid;                    /* of the whole box */
    int32_t first_cell[3], n_cells[3]; /* cells that this rank sees, with its halo: numbers in the grid, and how many */
    int32_t *cell_start;               /* [cells + 1] of these, as all that follows */
    int64_t cell_room;
    int32_t *cell, *slot_of, *atom_in;     /* of an atom: its cell and slot; of a slot: its atom */
    void *candidate[3];                    /* pair positions by slot */
    int32_t *rank;                         /* rank of each cell along the curve */
    MdCpuRanked *ranked;                   /* room to find it */
    int32_t ranked_cells[3], ranked_reach; /* that rank was found for */

    /* the list */
    int32_t *entries, *count;
    int32_t *block_order; /* [n_blocks] first the blocks without a neighbour in the halo; of one rank all, in order */
    int64_t n_interior;   /* these */
    int32_t *buffers;     /* [n_threads][MD_CPU_SLICE][room + MD_CPU_SPARE]: rows while they are found */
    uint8_t *crosses;     /* by slice: axes along which some pair of it reaches across the boundary, as in MdCpuRun */
    int64_t capacity, stride, room; /* room: of a row while it is found; of a half list that of both halves */
    /* the atoms around a cell, by thread: force.kernel = cell */
    void *around; /* [n_threads][x, y, z, type][around_room] */
    int32_t *around_atoms;
    int64_t around_room;
    void *table;       /* [pairs, densities, densities the other way round][types][types][pieces][4], and then
                        * [types][pieces][4] of F, of potential.tables, in the precision of pairs */
    void *slope;       /* [n_places] of a many-body form: F' of the density at each atom; as forces */
    bool wants_energy; /* of the forces that are computed */
    bool built;        /* list or cells, or other data of the force kernel */
    bool far_apart;    /* an open axis is longer than the period of pair positions */
    /* largest squared displacement from the positions at the build: now, and when the list was last used */
    double largest_sq, used_sq;

    MdCpuPartial *partial; /* by block */
    int64_t n_blocks;
    MdSumParts pair_sums; /* those of the last forces with energy */
    MdSplitSum *observed; /* [MD_OBSERVED_ROWS][MD_OBSERVE_N][types] samples; NULL: the deck asks for none */
    MdBathAtoms bath;
    int64_t heat; /* quanta of all drifts, own atoms */
    MdPairCount pair_count;
    int64_t *counted;          /* [MD_COUNTED_ROWS][kinds][bins]; NULL: the deck asks for none; as these: */
    MdCpuPairAtom *pair_atoms; /* [n_places] in the order of cells */
    int32_t *pair_start;       /* [cells + 2] the first of each */
    MdFault fault;
    bool halted; /* some rank has a fault: agreed, so that all end at the same step */
    MdCpuHalo halo;
    MdCpuOutput output;
    int64_t step; /* the last one that was begun */
    int64_t last_build_step;
    MdTraceTrack *track; /* NULL: no trace */
    uint64_t host_bytes;
    bool counting; /* arrays are counted, not allocated: for the estimate */
    MdStatistics statistics;
} MdCpuContext;

typedef struct MdCpuKernels {
    /* n_kicks: 2 if the last half kick of the step before is pending. Also fills place, and displacement_sq
     * and n_faults of partial. */
    void (*kick_drift)(MdCpuContext *c, int n_kicks);
    void (*kick)(MdCpuContext *c);
    void (*place_atoms)(MdCpuContext *c);             /* place from position */
    void (*look_ahead)(MdCpuContext *c, double time); /* built_at: where atoms will be by then; not wrapped */
    void (*wrap)(MdCpuContext *c); /* built_at into the box, and positions by as many boxes; images */
    void (*find_displacements)(MdCpuContext *c);
    void (*sum)(MdCpuContext *c);
    void (*fill_candidates)(MdCpuContext *c);
    int64_t (*build_rows)(MdCpuContext *c); /* returns the longest row, which may exceed the capacity */
} MdCpuKernels;

typedef enum MdCpuInstructions { MD_CPU_BASELINE, MD_CPU_V3, MD_CPU_V4, MD_CPU_N_INSTRUCTIONS } MdCpuInstructions;

/* The kernels for a precision (MD_PRECISION_...), compiled for one instruction set. */
const MdCpuKernels *md_cpu_kernels_baseline(int precision);
const MdCpuKernels *md_cpu_kernels_v3(int precision); /* where MDMINI_CPU_V3 and V4 are defined */
const MdCpuKernels *md_cpu_kernels_v4(int precision);

/* The best set that this processor has; the environment variable MDMINI_INSTRUCTIONS may name a lesser one, for tests
 * and comparisons. */
MdStatus md_cpu_find_instructions(MdCpuInstructions *set, MdErrors *errors);
const char *md_cpu_instructions_name(MdCpuInstructions set);
const MdCpuKernels *md_cpu_kernels(MdCpuInstructions set, int precision);
/* The forces of a form (MD_POTENTIAL_...). */
MdCpuForces *md_cpu_forces(MdCpuInstructions set, int form, bool is_double);

static inline bool md_cpu_has_ranks(const MdCpuContext *c) { return c->comm != NULL; }

/* grid.c: the cells */
/* Cells along each axis of a box, before any is made coarser, and how many of them the list reaches over. */
void md_cpu_first_cells(const MdBox *box, double range, int32_t cells[3], int32_t reach[3]);
void md_cpu_make_grid(MdCpuContext *c);   /* collective */
void md_cpu_divide_grid(MdCpuContext *c); /* n_cells, first_cell and the domain, by the grid */
void md_cpu_find_cell(const MdCpuContext *c, int64_t i, int32_t at[3]); /* of the atom, in the grid */
/* Among those of this rank; at: as of first_cell. */
int32_t md_cpu_cell_number(const MdCpuContext *c, const int32_t at[3]);
int64_t md_cpu_count_cells(const MdCpuContext *c);
/* Most cells of a grid. */
static inline int64_t md_cpu_cells_limit(int64_t n_atoms) {
    const int64_t limit = 2 * n_atoms + 1024;
    return limit < INT32_MAX ? limit : INT32_MAX;
}

/* columns.c: the columns, one array for each component */
size_t md_cpu_number_bytes(const MdCpuContext *c, int array);
const MdColumn *md_cpu_column(int array);
int md_cpu_first_array(int column);
bool md_cpu_is_there(const MdCpuContext *c, int array);
/* Whether it goes where its atom goes. */
bool md_cpu_moves(const MdCpuContext *c, int array);
/* Arrays whose entries stand side by side in a row that is sent. */
typedef struct MdCpuRow {
    int n, array[MD_CPU_N_ARRAYS];
    size_t size[MD_CPU_N_ARRAYS], bytes; /* of an entry, of the row */
} MdCpuRow;
MdCpuRow md_cpu_row_of_atom(const MdCpuContext *c);
MdCpuRow md_cpu_row_of_copy(const MdCpuContext *c);
void md_cpu_pack_row(const MdCpuContext *c, const MdCpuRow *row, int64_t i, char *to);
void md_cpu_unpack_row(MdCpuContext *c, const MdCpuRow *row, int64_t i, const char *from);
/* from [n_atoms][components]: numbers as in MdSystem. */
void md_cpu_fill_column(MdCpuContext *c, int column, const void *from);

/* sort.c: the order of memory, by memory.sort, and the cells of the atoms, as far as somebody needs them. */
void md_cpu_sort_atoms(MdCpuContext *c);   /* own atoms */
void md_cpu_find_cells(MdCpuContext *c);   /* the atoms of the cells; memory stays */
void md_cpu_number_slots(MdCpuContext *c); /* slots from cells */

/* halo.c: copies of the atoms around a domain. Collective. */
/* With the current grid: sends atoms to the ranks that own their positions, orders memory, and makes the halo again. Forces, if
 * they are still needed, go with the atoms. One rank only orders memory. */
void md_cpu_arrange_atoms(MdCpuContext *c);
/* Current positions from the ranks that own the atoms: begin sends, end waits for them. */
void md_cpu_begin_halo(MdCpuContext *c);
void md_cpu_end_halo(MdCpuContext *c);
/* The same of F' of a many-body form, after the densities of all own atoms. */
void md_cpu_begin_slopes(MdCpuContext *c);
void md_cpu_end_slopes(MdCpuContext *c);
void md_cpu_free_halo(MdCpuContext *c);
uint64_t md_cpu_halo_bytes(const MdCpuContext *c); /* for halo_room copies, and the data to make them at a list */

/* migrate.c: sends each atom to the rank that owns its position; c->position has the positions of the build. Collective. */
void md_cpu_migrate(MdCpuContext *c);
/* For a moment at the first list, where nearly all atoms go somewhere. */
uint64_t md_cpu_migrate_bytes(MdCpuContext *c);

/* Swaps in the positions of the build, for making cells and list, and back. */
void md_cpu_trade_places(MdCpuContext *c);

/* The room that the cell kernel needs for the atoms around a cell. */
void md_cpu_measure_cells(MdCpuContext *c);

/* A stretch of slots that may hold neighbours. */
typedef struct MdCpuRun {
    int32_t start, end;
    int crosses; /* a bit for each axis, x the lowest: the boundary lies, or may lie, between */
} MdCpuRun;

enum { MD_CPU_ALL_AXES = 7 };
enum { MD_CPU_MAX_RUNS = 18 }; /* three by three rows of cells, each in two parts when it crosses the boundary */

/* Where the neighbours of the atoms of a cell are; each slot once. */
int md_cpu_find_runs(const MdCpuContext *c, int32_t cell, MdCpuRun runs[MD_CPU_MAX_RUNS]);

int32_t md_cpu_cell_of_slot(const MdCpuContext *c, int64_t slot);

/* rebuild.c: when the list is too old, and what is made anew then. Collective. */
/* The half kick that launch.fuse leaves to the next step, for whoever looks before. */
void md_cpu_finish_kick(MdCpuContext *c);
/* Of the last pass over the blocks that looked. */
double md_cpu_largest_displacement_sq(const MdCpuContext *c);
MdStatus md_cpu_update_neighbors(void *context, int64_t step);
MdStatus md_cpu_rebuild(void *context);

/* timing.c: times of the stages, MD_CPU_... */
void md_cpu_name_stages(MdCpuContext *c, const MdConfig *config, const MdConfig *asked);
void md_cpu_add_time(MdCpuContext *c, int stage, double start_s); /* beside its calls */
void md_cpu_end_stage(MdCpuContext *c, int stage, double start_s);

/* list.c */
/* Whether two atoms are near along the open axes, where pair positions repeat. */
bool md_cpu_is_near(const MdCpuContext *c, int64_t i, int64_t j);
/* Of a half list, the pair is in row i, or in row j: about half of the pairs in each, however memory is ordered. */
static inline bool md_cpu_owns(int64_t i, int64_t j) { return ((i + j) % 2 != 0) == (i < j); }
int64_t md_cpu_keep_own(int64_t i, int32_t *row, int64_t n); /* pairs that row i owns; returns how many */
void md_cpu_sort_row(int32_t *row, int64_t n);
/* Removes atoms from row that are near only because pair positions along an open axis repeat; returns how many stay. */
int64_t md_cpu_drop_far(const MdCpuContext *c, int64_t i, int32_t *row, int64_t n);
void md_cpu_build_list(MdCpuContext *c);
void md_cpu_release_list(MdCpuContext *c);
void md_cpu_allocate_list(MdCpuContext *c, int64_t capacity); /* without the row buffers, which live within a build */
int64_t md_cpu_buffer_entries(const MdCpuContext *c);
/* The buffers of a thread, for the rows of a slice, and the entries from one to the next. */
int32_t *md_cpu_row_buffers(const MdCpuContext *c, int thread);
int64_t md_cpu_row_step(const MdCpuContext *c);
MdStatus md_cpu_export_rows(MdCpuContext *c, MdRows *rows);

/* variants.c */
MdVariantTable md_cpu_variants(void);

/* plan.c */
MdStatus md_cpu_probe(const MdConfig *config, const MdComm *comm, MdMachine *machine, MdErrors *errors);
bool md_cpu_describe(const MdConfig *config, int number, MdDescription *description, MdErrors *errors);
MdStatus md_cpu_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors);
MdMemory md_cpu_estimate(const MdConfig *config, const MdSystemPlan *plan);
double md_cpu_position_roundoff(const MdConfig *config);
double md_cpu_rounding(const MdConfig *config, const MdBox *box, double extent, double spread);

/* particles.c: in and out, by id */
/* Particles per volume; along an open axis of the extent that they have, but no less than the cutoff. */
double md_cpu_density(const MdSystem *system);
void md_cpu_copy_particles(MdCpuContext *c, const MdSystem *system);
void md_cpu_gather(const MdCpuContext *c, const MdFrame *frame, int32_t *ids); /* rows as of ids; NULL: by id */

/* output.c */
MdMemory md_cpu_output_estimate(const MdConfig *config, const MdSystemPlan *plan, const MdRingSpec *spec);
MdStatus md_cpu_output_create(void *context, MdRing *ring);
void md_cpu_output_free(MdCpuContext *c);
/* Where a request wants its particles; ids: NULL for rows by id. */
MdFrame md_cpu_output_frame(MdCpuContext *c, const MdOutputRequest *request);
int32_t *md_cpu_output_ids(const MdCpuContext *c, const MdOutputRequest *request);
MdStatus md_cpu_output_wait(void *context, const MdOutputRequest *request, MdOutput *output);
MdStatus md_cpu_output_settle(void *context);
/* state.c: the whole state, into a restart file and out of it. Half kicks are done, arrays for forces are there. */
MdStatus md_cpu_save(MdCpuContext *c, MdState *state);
MdStatus md_cpu_load(MdCpuContext *c, MdState *state);
MdStatus md_cpu_check_list(const MdConfig *config, const MdSystemPlan *plan, MdState *state);

/* observe.c: a sample of the own atoms, with velocities of the whole step. */
void md_cpu_observe(MdCpuContext *c, const MdObservation *observation);
/* count_pairs.c: a histogram into a row of counted. */
void md_cpu_count_pairs(MdCpuContext *c, int row);

/* count.c */
void md_cpu_count(MdCpuContext *c, MdCounters *counters);

/* One component of the state of atom i. */
static inline double md_cpu_state(const MdCpuContext *c, void *const array[3], int axis, int64_t i) {
    return c->state_double ? ((const double *)array[axis])[i] : (double)((const float *)array[axis])[i];
}

/* context.c */
/* c->comm is set, or NULL. n_all: atoms of all ranks. n_atoms: of this one, to begin with. */
void md_cpu_configure(MdCpuContext *c, const MdConfig *config, int64_t n_all, int64_t n_atoms, const MdBox *box,
                      const MdPotential *potential);
void md_cpu_fill_table(MdCpuContext *c);                 /* c->table, when it is there */
int64_t md_cpu_share(int64_t n_all, const MdComm *comm); /* atoms of a rank, of so many shared out evenly */
void md_cpu_set_atoms(MdCpuContext *c, int64_t n_atoms);
/* Of the arrays, before they are made: own atoms and copies, filled up to whole blocks, and cells. */
void md_cpu_set_room(MdCpuContext *c, int64_t n_atoms, int64_t n_halo, int64_t n_cells);
/* Zeroed memory that is counted in host_bytes; release takes it off again and frees it, if there is any: NULL. */
void *md_cpu_take(MdCpuContext *c, int64_t count, size_t size, const char *what);
void *md_cpu_release(MdCpuContext *c, void *memory, int64_t count, size_t size);
void md_cpu_allocate_around(MdCpuContext *c, int64_t room);

/* Numbers of c->table: of a function of r of all pairs of types, and of all. */
static inline int64_t md_cpu_table_of_pairs(const MdPotential *potential) {
    const int64_t kinds = (int64_t)potential->n_types * potential->n_types;
    return kinds * (potential->tables->pair[0].n - 1) * 4;
}
static inline int64_t md_cpu_table_size(const MdPotential *potential) {
    if (!potential->tables) return 0;
    return 3 * md_cpu_table_of_pairs(potential) +
           (int64_t)potential->n_types * (potential->tables->embedding[0].n - 1) * 4;
}

/* arrays.c: makes and frees all arrays. */
/* density: particles per volume, for the first room of rows. */
void md_cpu_allocate(MdCpuContext *c, const MdConfig *config, double density);
/* Makes room for so many own atoms, copies and cells. The atoms stay; list, pair positions and cells are lost. */
void md_cpu_make_room(MdCpuContext *c, int64_t n_atoms, int64_t n_halo, int64_t n_cells);
void md_cpu_free(MdCpuContext *c);
/* Arrays that live within a step; with memory.allocation = per-call they are made and freed in it. */
void md_cpu_take_forces(MdCpuContext *c);
void md_cpu_release_forces(MdCpuContext *c);
void md_cpu_take_rebuild(MdCpuContext *c);
void md_cpu_release_rebuild(MdCpuContext *c);

#endif
