/* launch.passes = queue with several processes (parallel.transport = direct). At the border of the domain a position goes to all
 * copies of the atom as soon as it has moved (IntegrateAtom in step.cu), and the block that has finished the brick then stores
 * the step that the brick has reached. So a brick waits for those around it in the same way on any rank. How all discard the same
 * passes: step_queue.cuh.
 *
 * The steps of bricks stand in a grid that has, along axes that are cut, a layer more on either side: the bricks there are those of
 * the ranks around. All domains have as many bricks. */
#ifndef MD_CUDA_QUEUE_BORDER_CUH
#define MD_CUDA_QUEUE_BORDER_CUH

#include "cuda/kernels/bricks/load_tile.cuh"
#include "cuda/kernels/system_words.cuh"

/* Where a brick is among those of the domain; one step beyond them along a cut axis it is of another rank. */
struct BrickAt {
    int c[3];
};

__device__ inline BrickAt brick_at(const CudaGrid &grid, int place) {
    const int *m = grid.n_bricks, line = place / m[0];
    return BrickAt{{place - line * m[0], line % m[1], line / m[1]}};
}

__device__ inline int place_of_steps(const CudaArguments &a, const BrickAt &at) {
    int place = 0;
    for (int axis = 2; axis >= 0; axis--) {
        const int halo = a.domain.halo[axis];
        place = place * (a.grid.n_bricks[axis] + 2 * halo) + at.c[axis] + halo;
    }
    return place;
}

/* The last of them. */
__device__ inline BrickAt last_place_of_steps(const CudaArguments &a) {
    BrickAt at;
    for (int axis = 0; axis < 3; axis++) at.c[axis] = a.grid.n_bricks[axis] - 1 + a.domain.halo[axis];
    return at;
}

/* The side of the domain beyond which `at` is; own_side: it is within. */
__device__ inline int side_of_brick(const CudaArguments &a, const BrickAt &at) {
    int side = 0;
    for (int axis = 2; axis >= 0; axis--)
        side = 3 * side + (at.c[axis] < 0 ? 0 : at.c[axis] < a.grid.n_bricks[axis] ? 1 : 2);
    return side;
}

/* The steps of number k of the 27 bricks around the one at `place`; of one that is not there, its own. *owner: the rank that
 * writes them; -1: this one. */
__device__ inline const unsigned *steps_around(const CudaArguments &a, int place, int k, int *owner) {
    const BrickAt own = brick_at(a.grid, place);
    BrickAt at = own;
    for (int axis = 0; axis < 3; axis++) {
        const int m = a.grid.n_bricks[axis], beside = own.c[axis] + side_along(k, axis);
        if (beside >= 0 && beside < m) at.c[axis] = beside;
        else if (a.domain.halo[axis] > 0) at.c[axis] = beside;
        else if (a.grid.wraps[axis]) at.c[axis] = (beside + m) % m;
    }
    const int side = side_of_brick(a, at);
    const bool is_others = side != own_side && (a.domain.sides >> side & 1u) != 0;
    *owner = is_others ? a.domain.peers->rank[side] : -1;
    return &a.queue.done[place_of_steps(a, side == own_side || is_others ? at : own)];
}

/* Whether the brick is the last one along an axis that is cut. */
__device__ inline bool is_at_border(const CudaArguments &a, int place) {
    const BrickAt at = brick_at(a.grid, place);
    bool border = false;
    for (int axis = 0; axis < 3; axis++)
        border = border || (a.domain.halo[axis] > 0 && (at.c[axis] == 0 || at.c[axis] == a.grid.n_bricks[axis] - 1));
    return border;
}

/* Whether others have copies of atoms of the brick on that side: it is the last one towards it. */
__device__ inline bool is_beside(const CudaArguments &a, const BrickAt &at, int side) {
    bool beside = (a.domain.sides >> side & 1u) != 0;
    for (int axis = 0; axis < 3; axis++) {
        const int step = side_along(side, axis);
        if (step < 0) beside = beside && at.c[axis] == 0;
        if (step > 0) beside = beside && at.c[axis] == a.grid.n_bricks[axis] - 1;
    }
    return beside;
}

/* Where the rank on a side has the steps of the brick. */
__device__ inline unsigned *steps_there(const CudaArguments &a, const BrickAt &at, int side) {
    BrickAt there = at;
    for (int axis = 0; axis < 3; axis++) there.c[axis] -= side_along(side, axis) * a.grid.n_bricks[axis];
    return &a.domain.peers->done[side][place_of_steps(a, there)];
}

/* Of the warp that stores the steps: not the one that takes items. */
constexpr int telling_thread = MD_BLOCK > 64 ? 32 : 0;

/* By all threads of a block, when the positions of a brick at the border are stored: stores that it has reached step `done`. The telling
 * thread goes on when all ranks are told. */
__device__ inline void tell_others(const CudaArguments &a, int place, unsigned done) {
    const BrickAt at = brick_at(a.grid, place);
    const int side = (int)threadIdx.x - telling_thread;
    if (side >= 0 && side < CUDA_SIDES && is_beside(a, at, side)) ptx_st_release_sys(steps_there(a, at, side), done);
    __syncwarp();
}

#endif
