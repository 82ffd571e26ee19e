/* What the stages of the cuda backend offer each other, each in its file; see context.h. */
#ifndef MD_CUDA_STAGES_H
#define MD_CUDA_STAGES_H

#include "cuda/context.h"

/* --- sort.c --- */
bool cuda_sort_needs_cells(const CudaContext *context);
bool cuda_sort_reorders(const CudaContext *context);
bool cuda_sort_places_cells(const CudaContext *context); /* by a table, not row by row */
int cuda_sort_most_cells(CudaContext *context);          /* that any grid of this system has; needs no device */
size_t cuda_sort_few_counts(const CudaContext *context); /* room for the counts of few cells, once max_cells is known */
int cuda_sort_count_cells(const CudaGrid *grid);
/* Cells of an axis that long, for a list of that range, while they are not too many in all. */
double cuda_sort_cells_along(double extent, double range);
/* The cells and bricks of a grid: as many cells as there is room for at edges of at least the range, and fewer where there would be
 * more than max_cells (a system that is mostly void) or where bricks want them longer. */
void cuda_sort_fill(CudaContext *context, const double extent[3], CudaGrid *grid);
void cuda_sort_particles(CudaContext *context, bool by_graph);
/* The same in parts, for who issues it with other kernels: what comes before it, and its argument; it; what comes of it. */
int cuda_sort_prepare(CudaContext *context);
void cuda_sort_issue(CudaContext *context, int n_cells);
void cuda_sort_take(CudaContext *context);
/* The cells of the grid, for particles that are where they were at a build. */
void cuda_sort_again(CudaContext *context, const CudaGrid *grid);

/* --- neighbor.c --- */
/* Wraps, sorts and builds the list anew. What has no room halts the device. With waits, or where the host must decide on the
 * way, all is well on return; otherwise `unconfirmed` says that cuda_neighbor_fit may be needed. */
MdStatus cuda_neighbor_build(CudaContext *context, bool waits);
/* After the last search: makes room for all that it found, and repeats it until it fits. */
MdStatus cuda_neighbor_fit(CudaContext *context);
/* The same for particles that are in the places and the order of a former build: makes its list again. */
MdStatus cuda_neighbor_build_again(CudaContext *context, const CudaGrid *grid);
/* Whether rebuild=every or host-check has anything to do at this step; and it: builds where the rule says so. */
bool cuda_neighbor_acts(const CudaContext *context, int64_t step);
MdStatus cuda_neighbor_update(CudaContext *context, int64_t step);
bool cuda_neighbor_halves(const CudaContext *context); /* neighbor.list = half */
bool cuda_neighbor_compresses(const MdConfig *config); /* neighbor.index = 16 */
size_t cuda_neighbor_entry_bytes(const CudaContext *context);
/* How far apart the particles of a listed pair may be: the longest cutoff and the skin. */
double cuda_neighbor_range(const MdConfig *config, const MdPotential *potential);
int64_t cuda_neighbor_threads(const CudaContext *context); /* of a search for rows */
/* Capacity, rows, entries, late builds, when the device is done. */
void cuda_neighbor_statistics(CudaContext *context, MdStatistics *statistics);
MdStatus cuda_neighbor_export(CudaContext *context, MdRows *rows);

/* --- force.c --- */
bool cuda_force_has_list(const CudaContext *context);
bool cuda_force_has_clusters(const CudaContext *context); /* its rows are those of clusters */
bool cuda_force_has_bricks(const CudaContext *context);   /* they stand in slices of bricks */
/* Threads of a force kernel that holds all atoms at once; of bricks: bricks. */
int64_t cuda_force_items(const CudaContext *context);
/* The blocks of kernel `id`, which computes forces. */
int64_t cuda_force_blocks(const CudaContext *context, CudaKernelId id);
/* Of the energy path, and so its partial sums: blocks go through several bricks where there are very many. */
int64_t cuda_force_sum_blocks(const CudaContext *context);
/* At any block size: known without a device. Blocks of 32 threads; larger ones have no more threads in all, up to one
 * block. */
int64_t cuda_force_most_blocks(const CudaContext *context);
/* Bytes of a number: of all that is stored; of a position on its way. */
size_t cuda_pair_size(const MdConfig *config);
size_t cuda_state_size(const MdConfig *config);
int cuda_force_row_threads(const MdConfig *config);                    /* that share a row */
size_t cuda_force_shared_bytes(const CudaContext *context, int block); /* dynamic shared memory of a block */
size_t cuda_force_held_bytes(const MdConfig *config, int block);       /* and in the resident kernel beside that */
/* Whether blocks of the resident kernel may have to make passes again: launch.barrier = local with device-check. */
bool cuda_force_may_go_back(const MdConfig *config);
void cuda_force_zero(CudaContext *context); /* the forces on all atoms */
/* Issues the kernel, and with_energy the sums of its blocks. */
void cuda_force_issue(CudaContext *context, bool with_energy);

/* --- integrate.c --- */
void cuda_integrate_scale(CudaContext *context, double factor, const double shift[3]);
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
int cuda_reduce_blocks(const CudaContext *context);          /* of a sum over the particles */
int64_t cuda_reduce_most_blocks(const CudaContext *context); /* at any block size */
/* Dynamic shared memory that the reductions of a kernel need. */
size_t cuda_reduce_dynamic_shared(const CudaContext *context, CudaKernelId id, int block_size);
void cuda_reduce_sums(CudaContext *context, MdSums *sums); /* waits */
/* The same in parts: sums of the particles and of the last forces with energy into the row on the device, as those of
 * `step`; to the host; and there, when it has arrived, to sums. */
size_t cuda_reduce_row_bytes(const CudaContext *context);
void cuda_reduce_row(CudaContext *context, CudaRow *row, int64_t step);
void cuda_reduce_copy_row(const CudaRow *row, cudaStream_t stream);
void cuda_reduce_read_row(const CudaRow *row, MdSums *sums);
/* The bounding box of the particles, into the watch. */
void cuda_reduce_measure(CudaContext *context);

/* --- gather.c --- */
void cuda_gather_import(CudaContext *context, const MdSystem *system);
/* Host array to staging, and the kernel that reads it there. The next upload waits for that on the stream; who changes the
 * array has to wait for it. */
void cuda_gather_upload(CudaContext *context, CudaKernelId kernel, const void *host, size_t bytes);
void cuda_gather_frame(CudaContext *context, MdFrame *frame);
/* One quantity (MD_FRAME_...) by id into out, on the device; precision of the frame. */
void cuda_gather_quantity(CudaContext *context, unsigned quantity, int precision, void *out);

/* --- brick.c --- */
bool cuda_brick_sorts(const CudaContext *context); /* memory.sort = brick */
int64_t cuda_brick_count(const CudaGrid *grid);
/* The bricks of a grid that has as many cells as there is room for, and fewer cells where these would not fit the bricks. */
void cuda_brick_divide(const CudaContext *context, const double extent[3], CudaGrid *grid);
/* Their size and the room of a block, as far as they do not depend on the grid; and what does. */
void cuda_brick_plan(CudaContext *context);
void cuda_brick_plan_tables(CudaContext *context);
/* Threads of a block, row_threads of which share a row: with one for each atom of a brick, or for two. range: of the list. */
int cuda_brick_block_size(const CudaTarget *target, double range, int row_threads);
/* Rounds in which a block of so many threads stages its brick, as the resident kernel holds them: in a uniform system with some
 * room, and no more than there are bytes for their images. Blocks that stage more meet. 1 for other kernels, which hold none. */
enum { CUDA_MOST_HELD_SOURCES = 4 };
int cuda_brick_held_sources(const CudaTarget *target, int block);
/* Whether a block of the resident kernel holds a brick of a uniform system, with a thread or several for each row, and what it stages:
 * else all blocks would meet between passes, as with the barrier of the grid, and mark places in vain (must_meet). */
bool cuda_brick_is_held(const CudaTarget *target);
bool cuda_brick_has_matrices(const MdConfig *config); /* neighbor.distances */
/* Rows that a warp searches for at a time by matrices. */
int cuda_brick_rows_of_warp(const MdConfig *config);
/* And of the search, which may have others; and what a block of it needs of dynamic shared memory. */
int cuda_brick_search_block_size(const CudaTarget *target, double range);
size_t cuda_brick_search_bytes(const CudaBricks *bricks, const MdConfig *config, int block);
size_t cuda_brick_force_bytes(const CudaBricks *bricks, const MdConfig *config); /* of a block that computes forces */
/* The most shared memory that a block of any kernel takes, static and dynamic, in a uniform system. */
size_t cuda_brick_shared_bytes(const MdConfig *config, const MdSystemPlan *plan);
/* After a search, by what it measured: false where it is to be made again, for which there is more room now. */
MdStatus cuda_brick_make_room(CudaContext *context, bool *fits);

/* --- output.c --- */
MdMemory cuda_slots_estimate(CudaContext *context, const MdSlotSpec *spec);
MdStatus cuda_slots_create(void *context, const MdSlotSpec *spec);
void cuda_slots_destroy(CudaContext *context);
MdStatus cuda_output_begin(void *context, const MdOutputRequest *request);
MdStatus cuda_output_wait(void *context, const MdOutputRequest *request, MdOutput *output);
MdStatus cuda_output_settle(void *context);
uint64_t cuda_slots_host_bytes(const CudaContext *context); /* that are taken */
/* Queues all that fills the slots of a request. */
void cuda_output_issue(CudaContext *context, const MdOutputRequest *request);

/* --- state.c: restart files; all steps are done --- */
MdStatus cuda_state_save(CudaContext *context, MdState *state);
MdStatus cuda_state_load(CudaContext *context, MdState *state);

/* --- steps.c --- */
void cuda_steps_kick_drift(CudaContext *context, int64_t step);
MdStatus cuda_steps_update_neighbors(CudaContext *context, int64_t step);
MdStatus cuda_steps_rebuild(CudaContext *context);
void cuda_steps_compute_forces(CudaContext *context, bool with_energy);
void cuda_steps_kick(CudaContext *context);
/* Everything that was asked for is done (device-check) or issued, to effect: for those who look at particles or sums. */
MdStatus cuda_steps_finish(CudaContext *context);
/* Output at the end of the step, and again if the device has halted before it. */
MdStatus cuda_steps_output(CudaContext *context, const MdOutputRequest *request);
/* Everything that was asked for is issued, to effect; with device-check it is done, unless a fault has ended the motion. */
MdStatus cuda_steps_settle(CudaContext *context);
void cuda_steps_destroy(CudaContext *context);

/* --- texture.c --- */
void cuda_textures_create(CudaContext *context); /* nothing without memory.load = texture; after the arrays */
void cuda_textures_destroy(CudaContext *context);

/* --- counters.c --- */
/* For `count` of backend.h, when all steps are done. */
MdStatus cuda_counters_take(CudaContext *context, MdCounters *counters);

/* --- what `auto` becomes, and what is refused: resolve.c, force.c, choices.c --- */
/* Atoms up to which launch.persistent = auto takes the resident kernel, with that memory.brick_grid. */
int64_t cuda_most_resident(int brick_grid, const MdConfig *config);
/* What `auto` becomes in the stage force, and what a system or driver does not allow. */
void cuda_force_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices);
/* neighbor.distances = matrix, memory.staging = async: from which compute capability on. */
enum { CUDA_MATRIX_CAPABILITY = 90, CUDA_COPY_CAPABILITY = 80 };
/* Whether blocks have room for a brick of one cell, at least; whether every multiprocessor gets a brick that is worth its
 * staging. */
bool cuda_brick_fits(const MdConfig *config, const MdSystemPlan *plan);
bool cuda_brick_is_enough(const MdConfig *config, const MdSystemPlan *plan);
void cuda_brick_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices);
/* Whether launch.barrier = local gains with the check of displacements, too, for blocks that hold their bricks. */
bool cuda_brick_suits_trust(const MdConfig *config, const MdSystemPlan *plan);
/* memory.staging, once launch.passes is known. */
void cuda_brick_resolve_staging(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices);
MdStatus cuda_brick_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors);
/* Whether blocks of these bricks would need more room than there is; and what, in words. */
bool cuda_brick_lacks_room(const MdConfig *config, const MdSystemPlan *plan, char *what, size_t size);
MdStatus cuda_force_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors);
MdStatus cuda_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors);

#endif
