/* The functions of the stages of the cuda backend, each in its file; see context.h. */
#ifndef MD_CUDA_STAGES_H
#define MD_CUDA_STAGES_H

#include "cuda/bricks/bricks.h"
#include "cuda/context/context.h"
#include "cuda/device/check.h"
#include "cuda/device/device.h"

/* --- kernels.c --- */
extern const char *const cuda_stage_names[CUDA_N_STAGES];
/* Compiles and loads all kernels that the switches of context->config select. A switch that this GPU does not support is an input
 * error. Needs box and potential. */
MdStatus cuda_kernels_create(CudaContext *context);
void cuda_kernels_destroy(CudaContext *context);
/* After the room of a brick's block has changed. */
MdStatus cuda_kernels_fit_shared(CudaContext *context);
/* Copies pair_table to wherever kernels have it as a __constant__ array. */
void cuda_kernels_set_parameters(CudaContext *context);

/* Until end, force calls and searches are done by kernels that count (MD_COUNT), compiled now. end in any case. */
typedef struct CudaUncounted {
    CUmodule modules[CUDA_N_UNITS];
    CudaKernel kernels[CUDA_N_KERNELS];
} CudaUncounted;
MdStatus cuda_kernels_begin_counting(CudaContext *context, CudaUncounted *plain);
void cuda_kernels_end_counting(CudaContext *context, const CudaUncounted *plain);

/* --- launch.c --- */
/* Launches on the stream of the context; checks as check.kernels says. */
void cuda_launch_blocks(CudaContext *context, CudaKernelId id, int64_t n_blocks);
void cuda_launch(CudaContext *context, CudaKernelId id, int64_t n_threads);
/* At most n_blocks, and no more than the GPU holds at once. */
void cuda_launch_filling(CudaContext *context, CudaKernelId id, int64_t n_blocks);
/* The same, with all of them there at the same time. */
void cuda_launch_resident(CudaContext *context, CudaKernelId id, int64_t n_blocks);
/* check.kernels = off: at a wait, whether all launches before it were accepted. */
void cuda_kernels_check(const CudaContext *context);

/* --- kernel_report.c --- */
/* The choices of launch.block_size = auto: `sort:256,neighbor:128,...`; one line a unit in choices. */
void cuda_kernels_describe_blocks(const CudaContext *context, char *text, size_t size);
void cuda_kernels_report(const CudaContext *context, MdStatistics *statistics);

/* --- graph.c --- */
bool cuda_graph_serves(const CudaContext *context); /* whether work is to be issued so */
/* Issues the work of issue(context, n) as a graph. It may depend only on n, the arguments up to CudaArguments.n and, if it
 * reads them, the grid and the counts of its cells, and must not change those arguments. */
typedef void (*CudaGraphWork)(CudaContext *context, int n);
void cuda_graph_launch(CudaContext *context, CudaGraphs *graphs, bool reads_grid, CudaGraphWork issue, int n);
/* At set-up: the first graph of a process takes the driver some 2.5 ms (H200), as long as 600 steps of 4,000 atoms. */
void cuda_graph_prepare(CudaContext *context);
void cuda_graph_destroy(CudaGraphs *graphs);

/* --- allocate.c --- */

/* An array in the memory that memory.space says; pooled: from the stream-ordered pool. If it does not fit, a failure of the
 * given kind. */
MdStatus cuda_allocate(CudaContext *context, void **where, size_t bytes, bool pooled, const char *what,
                       MdStatus failure);
void cuda_release(CudaContext *context, void *data); /* NULL: nothing */
void cuda_pool_keep(const CudaContext *context);     /* the pool keeps freed memory, until it is trimmed */
void cuda_pool_trim(const CudaContext *context);

/* --- columns.c --- */
/* The columns of physics/columns.def that are there and have an array each. Returns how many. */
typedef struct CudaColumn {
    int column; /* MD_COLUMN_... */
    void **array;
} CudaColumn;
int cuda_columns(const CudaContext *context, CudaParticles *p, CudaColumn columns[MD_N_COLUMNS]);

/* --- memory.c, arrays.c --- */
enum { CUDA_CHUNK_BYTES = 4 << 20 }; /* large enough for the full rate of the bus, small enough to pin */

/* Fixes grid bounds, strides and capacity of the list from the switches, and allocates every array. On failure the
 * message is in errors, and cuda_memory_free cleans up. */
MdStatus cuda_memory_allocate(CudaContext *context);
void cuda_memory_free(CudaContext *context);
/* The same sizes without a device. */
MdMemory cuda_memory_estimate(CudaContext *context);
MdMemory cuda_memory_held(CudaContext *context); /* at most so far */

/* Arrays of one use. If they are not kept (memory.allocation, reduce.scratch), begin allocates the missing ones, and
 * end frees them. */
typedef enum CudaGroup {
    CUDA_KEPT,    /* never given back */
    CUDA_FORCES,  /* from the force kernel to the drift that uses them last */
    CUDA_REBUILD, /* cells, and the second copy of reordered arrays */
    CUDA_STAGING, /* of particles on their way in or out */
    CUDA_SCRATCH  /* of reductions */
} CudaGroup;
void cuda_memory_begin(CudaContext *context, CudaGroup group);
void cuda_memory_end(CudaContext *context, CudaGroup group);
/* Before forces are read: they must be those of the particles. If they are not kept, they are zero. */
void cuda_memory_need_forces(CudaContext *context);

/* Makes room for rows of at least `count` entries; the list is lost. */
MdStatus cuda_memory_grow_list(CudaContext *context, int32_t count);
/* Room for at least so many atoms, which stay; for so many rows on their way, which do not. */
MdStatus cuda_memory_grow_atoms(CudaContext *context, int64_t n);
MdStatus cuda_memory_grow_rows(CudaContext *context, int64_t n);
/* Once arrays are allocated, grown or exchanged: those that share memory with others. */
void cuda_arrays_share(CudaContext *context);
size_t cuda_arrays_few_keys_bytes(const CudaContext *context); /* room for the keys of a sort of few cells */

/* Room for the bricks of the grid, for so many staged atoms, and so many slices of rows. */
MdStatus cuda_memory_grow_bricks(CudaContext *context, int64_t n_sources, int64_t n_slices);
/* Device to host through the pinned chunks, after all work issued so far; waits. */
void cuda_memory_download(CudaContext *context, void *host, const void *device, size_t bytes);
/* No sample has been taken. */
void cuda_memory_clear_samples(CudaContext *context);
void cuda_memory_clear_counts(CudaContext *context); /* nor any pair been counted */
/* The same of chunks of so many bytes, CUDA_CHUNK_BYTES at most: chunk(of, k) issues the work that makes chunk k, and returns where it
 * will be until the next one is made. */
typedef const void *CudaChunk(CudaContext *context, const void *of, size_t k);
void cuda_memory_download_chunks(CudaContext *context, void *host, size_t bytes, size_t chunk_bytes, CudaChunk *chunk,
                                 const void *of);
/* Copies the status of the device to the host; with wait, h_status is valid on return, otherwise after status_copied. */
void cuda_status_read(CudaContext *context, bool wait);
/* Lets a device that is stopped go on, where no sort does. */
void cuda_status_release(CudaContext *context);

/* --- timing.c --- */
void cuda_timing_create(CudaContext *context);
void cuda_timing_destroy(CudaContext *context);
void cuda_timing_begin(CudaContext *context, CudaStage stage);
void cuda_timing_end(CudaContext *context);
/* The same for n_calls calls at once: begin has counted one. */
void cuda_timing_end_batch(CudaContext *context, int n_calls);
/* Sort and search in one, where it is known how they share the time. Batches after them may be timed with them. */
bool cuda_timing_knows_shares(const CudaContext *context);
void cuda_timing_begin_list(CudaContext *context);
void cuda_timing_end_list(CudaContext *context);
/* Before the device may be idle: work issued from now on is not timed with earlier work. */
void cuda_timing_break(CudaContext *context);
/* Where it has already had nothing to do: the open times are dropped. */
void cuda_timing_drop(CudaContext *context);
void cuda_timing_book(CudaContext *context); /* all calls that have completed */
void cuda_timing_report(CudaContext *context, CudaStage stage, MdStageTime *time);

/* With a trace every call is timed and recorded; with NULL all that has been issued is waited for and recorded. */
void cuda_timing_trace(CudaContext *context, MdTrace *trace);
/* Begins and ends a copy on the stream, only for the trace. Begin returns NULL where there is none. */
CudaSpan *cuda_timing_begin_copy(CudaContext *context, cudaStream_t stream, const char *name);
void cuda_timing_end_copy(CudaSpan *span, cudaStream_t stream);

/* --- trace.c --- */
void cuda_trace_begin(CudaContext *context, MdTrace *trace);
void cuda_trace_end(CudaContext *context);                          /* when all spans are placed */
void cuda_trace_name_stream(cudaStream_t stream, const char *name); /* for NVIDIA's profilers, base/nvtx.h */
/* Records a span whose events have completed, of that length. */
void cuda_trace_place(CudaContext *context, CudaSpan *span, double seconds);
/* Waiting of the thread that issues the steps, by name on the timeline. */
void cuda_wait_stream(CudaContext *context, const char *what);
void cuda_wait_event(CudaContext *context, cudaEvent_t event, const char *what);
/* Ends the run if a kernel has given up waiting for another rank: its data are missing. */
void cuda_check_peers(const CudaContext *context);
void cuda_wait_record(CudaContext *context, const char *what, double begin_s); /* that it waited until now */

/* Compiles every unit that the switches need and throws the code away; a message of the compiler is a failure (with an
 * empty cache). For tests on machines without a GPU. */
MdStatus cuda_kernels_try(const CudaTarget *target, MdErrors *errors);
/* Threads of a block of the unit, as asked for; with auto where the search for the best occupancy begins, which keeps those of bricks. */
int cuda_kernels_block_size(const CudaTarget *target, int unit);

/* --- sizes.c --- */
int cuda_sort_count_cells(const CudaGrid *grid);
int64_t cuda_brick_count(const CudaGrid *grid);
int64_t cuda_neighbor_threads(const CudaContext *context); /* of a search for rows */
/* Threads of a force kernel that holds all atoms at once; of bricks: bricks. */
int64_t cuda_force_items(const CudaContext *context);
/* The blocks of kernel `id`, which computes forces. */
int64_t cuda_force_blocks(const CudaContext *context, CudaKernelId id);
/* Of the energy path, and so its partial sums: blocks go through several bricks where there are very many. */
int64_t cuda_force_sum_blocks(const CudaContext *context);
/* At any block size: known without a device. Blocks of 32 threads; larger ones have no more threads in all, up to one
 * block. */
int64_t cuda_force_most_blocks(const CudaContext *context);
size_t cuda_force_shared_bytes(const CudaContext *context, int block); /* dynamic shared memory of a block */
int cuda_sum_blocks(const CudaContext *context, CudaKernelId id);      /* of a kernel that sums over the particles */
int cuda_reduce_blocks(const CudaContext *context);                    /* of k_reduce_sums */
int64_t cuda_reduce_most_blocks(const CudaContext *context);           /* at any block size */
/* Dynamic shared memory that the reductions of a kernel need. */
size_t cuda_reduce_dynamic_shared(const CudaContext *context, CudaKernelId id, int block_size);
/* The same in parts: sums of the particles and of the last forces with energy into the row on the device, as those of
 * `step`; to the host; and there, when it has arrived, to sums. */
size_t cuda_reduce_row_bytes(const CudaContext *context);

/* --- grid.c --- */
int cuda_grid_most_cells(CudaContext *context);          /* that any grid of this system has; needs no device */
size_t cuda_sort_few_counts(const CudaContext *context); /* room for the counts of few cells, once max_cells is known */
/* The cells and bricks of a grid: as many cells as there is room for at edges of at least the range, and fewer where there would be
 * more than max_cells (a system that is mostly void) or where bricks want them longer. */
void cuda_grid_fill(CudaContext *context, const double extent[3], CudaGrid *grid);
void cuda_grid_set_edges(CudaGrid *grid);
void cuda_grid_extent(const CudaContext *context, double extent[3]); /* that the grid of the moment was filled for */
/* The grid of the box, along open axes of the particles as measured. */
void cuda_grid_plan(CudaContext *context);

/* --- room_plan.c, room.c --- */
/* Their size and the room of a block, as far as they do not depend on the grid; and the part that does. */
void cuda_brick_plan(CudaContext *context);
void cuda_brick_plan_tables(CudaContext *context);
CudaBricks cuda_brick_room(const CudaContext *context, int32_t atoms); /* of a block, for so many atoms */
int64_t cuda_brick_most_slices(int64_t n_atoms, double n_bricks);
/* After a search, by its counts: false if it must be repeated, with more room. */
MdStatus cuda_brick_make_room(CudaContext *context, bool *fits);

/* --- domain.c: several processes; all agree on changes --- */
/* The domain and the room of this process, once box, range and n_all are known. comm NULL: it has all. */
void cuda_domain_configure(CudaContext *context, MdComm *comm);
void cuda_domain_set_rows(CudaContext *context, int64_t n); /* room for atoms and copies on their way */
/* Whether lists are made by kernels, once the hosts have made the first: parallel.transport = nccl, direct. */
static inline bool cuda_domain_lists_by_kernels(const CudaContext *context) {
    const int transport = context->config.parallel_transport;
    return context->comm && (transport == MD_TRANSPORT_NCCL || transport == MD_TRANSPORT_DIRECT);
}
/* Sets the number of atoms, of any domains, without copies. */
void cuda_domain_set_own(CudaContext *context, int64_t n_own);
/* The extent of the whole, which may have to be longer, and of a domain. */
void cuda_domain_share(const CudaContext *context, double whole[3], double part[3]);
/* The rank that owns a position, by the grid of the whole box. */
int cuda_domain_owner(const CudaContext *context, const CudaGrid *whole, const double place[3]);
void cuda_domain_set_cells(CudaContext *context, CudaGrid *grid); /* a grid over the domain becomes one with the halo */
/* Of so many cells, or bricks, along each axis, with a layer more on each side along axes that are cut. */
int64_t cuda_domain_count(const CudaContext *context, const int32_t n[3]);
void cuda_domain_upload(CudaContext *context); /* the table, to the device; and from there, which waits */
void cuda_domain_download(CudaContext *context);
/* Lists by kernels: the counts of the last one, which is complete. */
void cuda_domain_confirm(CudaContext *context);
MdStatus cuda_domain_agree(CudaContext *context, MdStatus status); /* the gravest of all */
/* Whether the motion is over; with several processes, known to all. */
static inline bool cuda_has_fault(const CudaContext *context) {
    return context->comm ? context->halo.has_fault : context->h_host_status->fault != 0;
}
size_t cuda_domain_row_bytes(const CudaContext *context); /* of an atom on its way */

/* --- migrate.c --- */
MdStatus cuda_migrate(CudaContext *context);

/* --- peers.c: parallel.transport = direct --- */
MdStatus cuda_peers_create(CudaContext *context);
void cuda_peers_destroy(CudaContext *context);
/* Collective, around the growth of arrays that others may have mapped. Whether arrays of any rank grow: then no rank maps any. */
bool cuda_peers_release(CudaContext *context, bool grows);
/* The worst status of all ranks; released memory is mapped again. */
MdStatus cuda_peers_take(CudaContext *context, bool released, MdStatus status);

/* --- halo.c --- */
MdStatus cuda_halo_join(CudaContext *context); /* parallel.transport = nccl: all ranks, which try a first exchange */
MdStatus cuda_halo_make(CudaContext *context); /* rows of copies to all ranks that need them, and from all */
/* Behind the own atoms, to be sorted with them; n_cells above 0: into their cells. */
void cuda_halo_arrive(CudaContext *context, int n_cells);
/* Lists by kernels: atoms to their new owners; with nccl the copies in `rows` to the ranks that need them; in the end all stop, or all go on. */
void cuda_halo_send_migrants(CudaContext *context);
void cuda_halo_send_copies(CudaContext *context);
void cuda_halo_end_list(CudaContext *context);
/* Before forces from that copy of the positions: updates the positions of the halo and the largest displacement of all ranks.
 * Does nothing for one process, or if no atom has moved. */
void cuda_halo_update(CudaContext *context, int copy);
void cuda_halo_barrier(CudaContext *context); /* of all GPUs: all kernels are complete */
void cuda_halo_begin(CudaContext *context);   /* copies are in the first of the positions, as they are after a list */
void cuda_halo_forget(CudaContext *context);  /* the code that issues steps does not know the earlier work */

/* --- sort.c --- */
MdStatus cuda_sort_particles(CudaContext *context);
/* Several processes: whether kernels bring all that is to be sorted; and after a sort that lacked room for it, the host. */
bool cuda_sort_by_kernels(const CudaContext *context);
MdStatus cuda_sort_repeat(CudaContext *context);
/* The same in parts, for issuing it with other kernels: the preparation and the argument; the kernel; the results. */
int cuda_sort_prepare(CudaContext *context);
void cuda_sort_issue(CudaContext *context, int n_cells);
void cuda_sort_take(CudaContext *context);
/* The cells of another grid, for particles that are where they were at a build. */
void cuda_sort_again(CudaContext *context, const CudaGrid *grid);
/* The same for particles that have just come there from a file, of several processes without their copies. */
MdStatus cuda_sort_restored(CudaContext *context, const CudaGrid *grid);

/* --- neighbor.c --- */
/* Wraps, sorts and builds the list again. Too little room stops the device. With waits, or if the host must decide
 * meanwhile, the list is complete on return; otherwise `unconfirmed` says that cuda_neighbor_fit may be needed. */
MdStatus cuda_neighbor_build(CudaContext *context, bool waits);
/* After the last search: makes room for all that it found, and repeats it until it fits. */
MdStatus cuda_neighbor_fit(CudaContext *context);
/* The same for particles with the positions and the order of an earlier build: makes its list again. */
MdStatus cuda_neighbor_build_again(CudaContext *context, const CudaGrid *grid);
/* Whether rebuild=every or host-check has anything to do at this step; and it: builds where the rule says so. */
bool cuda_neighbor_acts(const CudaContext *context, int64_t step);
MdStatus cuda_neighbor_update(CudaContext *context, int64_t step);
/* Capacity, rows, entries, late builds, when the device is done. */
void cuda_neighbor_statistics(CudaContext *context, MdStatistics *statistics);
MdStatus cuda_neighbor_export(CudaContext *context, MdRows *rows);

/* --- force.c --- */
void cuda_force_zero(CudaContext *context); /* the forces on all atoms */
/* Issues the kernel, and with_energy the sums of its blocks. */
void cuda_force_issue(CudaContext *context, bool with_energy);
void cuda_force_compute(CudaContext *context, bool with_energy); /* the same as a call of the stage, timed */

/* --- integrate.c --- */
/* The integration up to the drift; kick_first: with the second half kick of the step before. */
void cuda_integrate_issue(CudaContext *context, bool kick_first);
void cuda_integrate_drift(CudaContext *context, bool kick_first); /* the same as a call of the stage, timed */
void cuda_integrate_kick(CudaContext *context);                   /* a separate half kick, timed */
void cuda_integrate_scale(CudaContext *context, double factor, const double shift[3]);
void cuda_integrate_descend(CudaContext *context, double keep, double push, double move, double most);
MdFault cuda_integrate_fault(CudaContext *context);
MdFault cuda_integrate_read_fault(unsigned long long step, unsigned long long key, int64_t step_offset);

/* --- reduce.c --- */
/* Before and after a kernel that adds to the totals first .. first + n_sums - 1 (add_to_totals in reduce.cuh), of n_blocks
 * blocks. */
void cuda_reduce_begin(CudaContext *context, int first, int n_sums, int64_t n_blocks);
void cuda_reduce_finish(CudaContext *context, int first, int n_sums, int64_t n_blocks);
/* Before and after a kernel that finds extremes (block_max). */
void cuda_reduce_begin_extremes(CudaContext *context);
void cuda_reduce_end_extremes(CudaContext *context);
void cuda_reduce_sums(CudaContext *context, MdSumParts *sums); /* waits */
void cuda_reduce_row(CudaContext *context, CudaRow *row, int64_t step);
void cuda_reduce_copy_row(const CudaRow *row, cudaStream_t stream);
void cuda_reduce_read_row(const CudaRow *row, MdSumParts *sums);
/* The bounding box of the particles, into the measures of the status. */
void cuda_reduce_measure(CudaContext *context);

/* --- gather.c --- */
/* Into device memory: rows of quantity k (bit k of MD_FRAME_...) by id; with several processes the own rows as they are, and
 * their ids. */
void cuda_gather_quantity(CudaContext *context, int k, int precision, void *out);
void cuda_gather_ids(CudaContext *context, void *out);
/* Rows of the own atoms by a kernel, through the staging memory, CUDA_STAGED_ROWS at a time: from `out` of the kernel into memory of
 * the host, which waits; and from there to `in`: the host must wait for the stream before it changes them. */
enum { CUDA_STAGED_ROWS = 1 << 14 };
static inline int64_t cuda_staged_rows(const CudaContext *context) {
    return context->room < CUDA_STAGED_ROWS ? context->room : CUDA_STAGED_ROWS;
}
void cuda_gather_download(CudaContext *context, CudaKernelId kernel, void *host, size_t row_bytes);
void cuda_gather_upload(CudaContext *context, CudaKernelId kernel, const void *host, size_t row_bytes);
/* Column k of the rows that this rank writes, by id, from the packed rows of all ranks: domain.frame_rows. */
void cuda_gather_joined(CudaContext *context, int k, int precision, void *out);
/* Into memory of the caller, at once; waits. Of several processes collective: to each the rows of its block of ids. */
void cuda_gather_frame(CudaContext *context, MdFrame *frame);

/* --- output.c --- */
/* Queues all that fills the slot of a request, for the first time or again. */
void cuda_output_issue(CudaContext *context, const MdOutputRequest *request);
MdStatus cuda_output_wait(void *context, const MdOutputRequest *request, MdOutput *output);

/* --- output_buffers.c --- */
MdMemory cuda_output_estimate(CudaContext *context, const MdRingSpec *spec);
MdStatus cuda_output_create(void *context, MdRing *ring);
void cuda_output_destroy(CudaContext *context);
uint64_t cuda_output_host_bytes(const CudaContext *context); /* that are taken */
/* Room in an unused frame buffer for the current atoms. */
void cuda_output_fit(CudaContext *context, CudaFrameBuffer *frame);
/* --- sizes.c, and cuda_frame_rows in arrays_domain.c --- */
bool cuda_output_joins(const CudaContext *context);       /* GPUs put frames together: direct, nccl if rank 0 writes */
int64_t cuda_frame_rows(const CudaContext *context);      /* rows that a rank has room for then, */
size_t cuda_frame_rows_bytes(const CudaContext *context); /* and their bytes */
/* Of a frame buffer with room for so many rows: where a column begins, a quantity or the ids; and the bytes of n rows of it. */
size_t cuda_frame_offset(const CudaContext *context, int k, int64_t room);
size_t cuda_frame_column_bytes(const CudaContext *context, int k, int64_t n);
/* --- state.c, state_save.c --- */
void cuda_state_import(CudaContext *context, const MdSystem *system);
/* For restart files; all steps are done. */
MdStatus cuda_state_save(CudaContext *context, MdState *state);
MdStatus cuda_state_load(CudaContext *context, MdState *state);
MdStatus cuda_state_check_list(CudaContext *context, MdState *state); /* of a context that is only configured */

/* --- observe.c --- */
/* A sample of the particles: of positions, and of velocities at the end of the step, for which the half kick may still be due.
 * kept_step: the velocities are those that the first pass of a queue has kept at the end of that step; 0: the present ones. */
void cuda_observe_issue(CudaContext *context, const MdObservation *observation, int64_t kept_step);
/* --- count_pairs.c --- */
void cuda_count_plan(CudaContext *context, int64_t n_atoms); /* of the whole system; before the arrays are made */
/* A histogram of the present positions, into a row of the counts. */
void cuda_count_issue(CudaContext *context, int row);
/* For `counted` of backend.h, when all steps are done. */
void cuda_count_take(CudaContext *context, int n_rows, int64_t *counts);

/* For `observed` of backend.h, when all steps are done. */
void cuda_observe_take(CudaContext *context, int n_rows, double *sums);

/* --- texture.c --- */
void cuda_textures_create(CudaContext *context); /* nothing without memory.load = texture; after the arrays */
void cuda_textures_destroy(CudaContext *context);

/* --- counters.c --- */
/* For `count` of backend.h, when all steps are done. */
MdStatus cuda_counters_take(CudaContext *context, MdCounters *counters);

#endif
