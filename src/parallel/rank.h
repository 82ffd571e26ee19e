/* Which of several processes this one is. A run is one process as yet, rank 0 of 1; what is known already is the number
 * of the process on its node, as batch systems and MPI launchers tell it, since the choice of the GPU follows from it
 * when many independent runs share a node. */
#ifndef MD_PARALLEL_RANK_H
#define MD_PARALLEL_RANK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Number of this process among those of its node; 0 when nobody tells. */
int md_rank_local(void);

#ifdef __cplusplus
}
#endif
#endif
