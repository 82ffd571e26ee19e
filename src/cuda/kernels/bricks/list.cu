/* Stage neighbor for force.kernel = brick; the ladder is in neighbor.cu. */
#include "cuda/kernels/bricks/search.cuh"
#if MD_SW_neighbor_distances == MD_DISTANCES_MATRIX /* not for older GPUs */
#include "cuda/kernels/bricks/search_matrix.cuh"
#endif

#if MD_SW_neighbor_distances == MD_DISTANCES_MATRIX
typedef RowsByWarps BrickRows;
#else
typedef RowsByThreads BrickRows;
#endif
#if MD_SW_neighbor_distances == MD_DISTANCES_MATRIX && MD_SW_memory_brick_grid != MD_BRICK_GRID_CELLS
#define MD_BRICK_THREADS MD_SHARED_THREADS(MD_SW_memory_brick_grid)
#elif MD_SW_neighbor_distances == MD_DISTANCES_MATRIX
#define MD_BRICK_THREADS 1024 /* products take 64 registers */
#elif MD_SW_run_precision != MD_PRECISION_DOUBLE
#define MD_BRICK_THREADS 1152 /* four blocks of 288 threads on a multiprocessor, as its shared memory allows */
#else
#define MD_BRICK_THREADS MD_BOUND_THREADS
#endif
/* Reads position or reference [n_stored], cell_start; writes bricks, list, counts [n], measures. */
MD_KERNEL_OF(MD_BRICK_THREADS) k_neighbor_brick(MD_ARGUMENTS) { search_brick<BrickRows>(a, (int)blockIdx.x); }
