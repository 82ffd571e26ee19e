/* Bricks, or supercells: tiles of cells whose atoms a block of threads loads into shared memory, with those around them
 * (the halo). Their sizes depend only on the configuration and the GPU. */
#ifndef MD_CUDA_BRICKS_H
#define MD_CUDA_BRICKS_H

#include "backend/backend.h"
#include "cuda/bricks/division.h"
#include "cuda/context/facts.h"
#include "cuda/context/shared.h"
#include "cuda/device/compile.h"

/* --- shape.c --- */
/* Threads of a block: threads_per_atom for each row, and a row for each atom of a brick, or for two. range: of the list. */
int cuda_brick_block_size(const CudaTarget *target, double range, int threads_per_atom);
/* Rounds in which a block of so many threads stages its brick, as the resident kernel holds them: in a uniform system with some
 * room, and no more than there are bytes for their images. Where a block stages more, passes use the barrier of the grid. 1 for
 * other kernels, which hold none. */
enum { CUDA_MOST_HELD_SOURCES = 4 };
int cuda_brick_held_sources(const CudaTarget *target, int block);
/* Whether a block of the resident kernel holds a brick of a uniform system, with a thread or several for each row, and its staged atoms:
 * else launch.barrier = local would use the barrier of the grid anyway (needs_grid_barrier). */
bool cuda_brick_is_held(const CudaTarget *target);
/* The same for the search, which may have other blocks; and the dynamic shared memory of its blocks. */
int cuda_brick_search_block_size(const CudaTarget *target, double range);
size_t cuda_brick_search_bytes(const CudaBricks *bricks, const MdConfig *config, int block);
size_t cuda_brick_force_bytes(const CudaBricks *bricks, const MdConfig *config); /* of a block that computes forces */
/* The most shared memory that a block of any kernel takes, static and dynamic, in a uniform system. */
size_t cuda_brick_shared_bytes(const MdConfig *config, const MdSystemPlan *plan);
void cuda_brick_set_room(CudaBricks *bricks, const MdConfig *config, int cells, int dimension, int32_t atoms);
size_t cuda_brick_staged_bytes(const MdConfig *config); /* of an atom, in the search */
/* Additional memory of the resident kernel for each row of a block (HeldAtom of kernels/batches/step_brick.cuh). */
size_t cuda_brick_held_bytes(const MdConfig *config, int block);

/* --- choices.c: the choices of `auto`, and refusals --- */
/* Atoms up to which launch.persistent = auto takes the resident kernel, with that memory.brick_grid. */
int64_t cuda_most_resident(int brick_grid, const MdConfig *config);
/* neighbor.distances = matrix, memory.staging = async: from which compute capability on. */
enum { CUDA_MATRIX_CAPABILITY = 90, CUDA_COPY_CAPABILITY = 80 };
/* Whether blocks have room for a brick of one cell, at least; whether every multiprocessor gets a brick that is worth its
 * staging. */
bool cuda_brick_fits(const MdConfig *config, const MdSystemPlan *plan);
bool cuda_brick_is_enough(const MdConfig *config, const MdSystemPlan *plan);
void cuda_brick_resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices);
/* Whether launch.barrier = local gains with the check of displacements, too, for blocks that hold their bricks. */
bool cuda_brick_suits_speculation(const MdConfig *config, const MdSystemPlan *plan);
/* memory.staging, once launch.passes is known. */
void cuda_brick_resolve_staging(MdConfig *config, MdChoices *choices);
MdStatus cuda_brick_check(const MdConfig *config, const MdSystemPlan *plan, MdErrors *errors);
/* Whether blocks of these bricks would need more room than there is; and of which kind, in words. */
bool cuda_brick_lacks_room(const MdConfig *config, const MdSystemPlan *plan, char *what, size_t size);

#endif
