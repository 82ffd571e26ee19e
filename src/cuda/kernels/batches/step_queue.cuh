/* launch.passes = queue: all passes of a batch in one launch, by a dynamic work queue of persistent blocks. If each pass is a
 * separate kernel, multiprocessors idle at its end until the last block has finished; here a block that has finished a brick
 * takes the next one, of the same pass or of the one after.
 *
 * An item of the queue is a brick of a pass. Items are queued pass after pass, and the blocks, as many as the GPU holds, take
 * them from a counter. A block begins its item when the bricks around it, 27 with itself, have finished the pass before: then
 * the positions that it reads are complete, and no block still reads those that it overwrites, since a pass reads one copy of the
 * positions and writes the other. An item depends only on items before it in the queue, and their blocks have begun: there is
 * no deadlock, with any number of blocks in any order.
 *
 * Bricks are queued in the order of their positions, and each pass begins a layer of them further on than the pass before. Otherwise
 * the first layer would wait for the last one of the pass before, around the periodic edge, and with it the whole GPU; so
 * between a brick and the bricks that it waits for there is nearly a pass minus two layers.
 *
 * The writes of a block are published by a release of its first thread after a barrier, and acquired
 * before one, as in barrier.cuh: the acquire also drops what L1 holds of the positions. Plain loads only: see step.cu.
 *
 * neighbor.rebuild = device-check. If pass p moves an atom too far for the list, no later pass counts, and the last block to leave
 * stops the device at the forces of pass p + 1. By then other bricks may have made that pass: speculatively. It destroys nothing:
 * velocities, too, are read from one copy and written to the other, so that the result of pass p stays where pass p + 1 has read
 * it. Pass p + 2 would overwrite it: so a brick begins a pass only when all bricks have finished the pass before the last, and
 * then it is known whether one of these has moved an atom too far. By the order of the queue they nearly always have. From then
 * on blocks leave, also those that wait for bricks that are no longer made. Faults of atoms are reported in the end, since
 * those of a discarded pass do not count. A kernel after the queue copies back the second copies, and resets bricks
 * to the step that counts, or the replay would not wait for them. So the result does not depend on the order of the blocks.
 *
 * With several processes a pass is over when it is on all GPUs. The block with which it is over on one first tells the others the pass
 * from which on the list is too old, if it knows one, and then that the pass is over (ranks_through). When the last block has left on
 * all, a barrier of the GPUs finds the first such pass of all, and all discard the same. Others write into the check of the next launch
 * as soon as they have passed that barrier: so there are two checks in turn, and each GPU clears the next one before it. */
#ifndef MD_CUDA_STEP_QUEUE_CUH
#define MD_CUDA_STEP_QUEUE_CUH

#include "cuda/kernels/batches/barrier.cuh"
#include "cuda/kernels/batches/copies.cuh"
#include "cuda/kernels/batches/queue_border.cuh"
#include "cuda/kernels/force.cuh"
#include "cuda/kernels/gpu_barrier.cuh"
#include "cuda/kernels/integrate.cuh"

#ifndef MD_HAS_PTX_BY_NAME /* compilers without an assembler for PTX have these functions */
__device__ inline void ptx_st_release_gpu(unsigned *place, unsigned value) {
#if __CUDA_ARCH__ >= 700
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
#else
    __threadfence();
    *(volatile unsigned *)place = value;
#endif
}
#endif

/* Pass `pass` over the brick at `place`, of which `brick` is the number in the table; from a.n on there is no such pass. In
 * shared memory, although all threads could compute it: the forces of a row take all registers. */
struct QueueItem {
    int pass, place, brick;
    bool is_at_border;       /* of a domain */
    unsigned long long step; /* of the forces */
};

/* That of the block. */
__device__ inline QueueItem *item_place(void) {
    __shared__ QueueItem s_item;
    return &s_item;
}

/* Bricks of a layer across the last axis that has several. */
__device__ inline int layer_of_bricks(const int (&m)[3]) { return m[2] > 1 ? m[0] * m[1] : m[1] > 1 ? m[0] : 1; }

/* Along an axis of m bricks the one `step` further than `at`, or where there is none, that one itself. */
__device__ inline int brick_beside(int at, int step, int m, bool wraps) {
    const int beside = at + step;
    if (beside >= 0 && beside < m) return beside;
    return wraps ? (beside + m) % m : at;
}

/* Number k of the 27 bricks around the one at `place`. Some are the same where an axis has one or two, or is open. */
__device__ inline int brick_around(const CudaGrid &grid, int place, int k) {
    const int *m = grid.n_bricks, line = place / m[0];
    const int x = brick_beside(place - line * m[0], k % 3 - 1, m[0], grid.wraps[0]);
    const int y = brick_beside(line % m[1], k / 3 % 3 - 1, m[1], grid.wraps[1]);
    const int z = brick_beside(line / m[1], k / 9 - 1, m[2], grid.wraps[2]);
    return (z * m[1] + y) * m[0] + x;
}

/* That of the forces of the first pass; until the last block leaves. */
__device__ inline unsigned long long first_step(const CudaArguments &a) { return a.status->pass_step[a.buffer]; }

/* Several processes: that of this launch. Others may write into it from their first pass on, and begin the next launch when this one is
 * over: so there are two in turn. In shared memory. */
__device__ inline CudaQueueCheck **check_place(void) {
    __shared__ CudaQueueCheck *s_check;
    return &s_check;
}
__device__ inline CudaQueueCheck *check_of(const CudaArguments &a, int rank) {
    return &a.domain.peers->mailbox[rank]->check[a.domain.peers->turn];
}
__device__ inline CudaQueueCheck *own_check(const CudaArguments &a) {
    if constexpr (has_domain) return *check_place();
    else return a.queue.check;
}

/* By all threads, before the first item; a barrier follows. */
__device__ inline void find_check(const CudaArguments &a) {
    if (has_domain && is_checked_queue && threadIdx.x == 0) *check_place() = check_of(a, a.domain.rank);
}

/* Whether it is known that the list is too old for the forces of a pass, or of one before. */
__device__ inline bool is_replayed(const CudaArguments &a, unsigned pass) {
    return is_checked_queue && *(const volatile unsigned *)&own_check(a)->stop <= pass;
}

/* Spins until *word >= least or the pass is discarded; returns whether it is. owner: the rank that writes the word, named if it stays
 * silent; -1: this one; from n_ranks on: any other. */
__device__ inline bool wait_for_word(const CudaArguments &a, const unsigned *word, unsigned least, int owner,
                                     unsigned pass) {
    Patience patience;
    bool replayed = false;
    while (word && !replayed &&
           (int)((has_domain && owner >= 0 ? ptx_ld_acquire_sys(word) : ptx_ld_acquire_gpu(word)) - least) < 0) {
        replayed = is_replayed(a, pass);
        if (has_domain && patience.is_over(a, owner < 0 || owner >= a.domain.n_ranks ? -1 : 1 + owner)) break;
    }
    return replayed;
}

/* By a warp: takes an item, and returns when the block may begin it; one after the last: none is left. A brick that has
 * finished the pass of step s has s + 1; earlier values are of earlier steps. Items fit 32 bits: cuda_brick_check
 * sees to it. */
__device__ inline void take_item(const CudaArguments &a, int lane) {
    const unsigned n_bricks = (unsigned)a.n_force_items;
    unsigned item = 0;
    if (lane == 0) item = atomicAdd(&a.queue.counts[0], 1u);
    item = __shfl_sync(whole_warp, item, 0);
    const unsigned pass = item / n_bricks;
    const unsigned shift = pass * (unsigned)layer_of_bricks(a.grid.n_bricks);
    const int place = (int)((item - pass * n_bricks + shift) % n_bricks);
    const unsigned long long step = first_step(a) + pass;
    const int brick = a.queue.brick[place]; /* on its way while others are looked at */
    const unsigned *word = nullptr;
    unsigned least = (unsigned)step;
    int owner = -1;
    if (pass > 0 && pass < (unsigned)a.n && lane < 27) {
        if constexpr (has_domain) word = steps_around(a, place, lane, &owner);
        else word = &a.queue.done[brick_around(a.grid, place, lane)];
    }
    if (is_checked_queue && pass > 1 && pass < (unsigned)a.n && lane == 27) {
        word = &own_check(a)->made[pass - 2];
        least = n_bricks;
    }
    if (has_domain && is_checked_queue && lane == 28 && pass > 1 && pass < (unsigned)a.n) {
        word = &own_check(a)->ranks_through[pass - 2];
        owner = a.domain.n_ranks;
        least = (unsigned)owner - 1;
    }
    bool replayed = wait_for_word(a, word, least, owner, pass);
    /* after the waits, so that it covers all of the pass before the last */
    if (is_checked_queue) replayed = __any_sync(whole_warp, replayed || is_replayed(a, pass));
    if (lane == 0)
        *item_place() = QueueItem{replayed ? a.n : (int)pass, place, brick, has_domain && is_at_border(a, place), step};
}

/* By all threads: begins with the next item; false when there is none. The last warp takes it, so that thread 0 may still be
 * at end_item, where it waits until its writes have reached the L2. */
__device__ inline bool begin_item(const CudaArguments &a) {
    const int lane = (int)threadIdx.x - (MD_BLOCK - 32);
    if (lane >= 0) take_item(a, lane);
    __syncthreads(); /* the item and its inputs are complete */
    return item_place()->pass < a.n;
}

/* By a thread whose atoms have moved that far. The result after the last pass is reported by others. */
__device__ inline void note_distance(const CudaArguments &a, float moved_sq) {
    CudaQueueCheck *check = own_check(a);
    const int pass = item_place()->pass;
    if (!(moved_sq > a.stale_sq)) return;
    const unsigned failing = (unsigned)pass + 1;
#if MD_DOMAIN
    atomicMin_system(&check->stop, failing); /* others write it as well */
#else
    atomicMin(&check->stop, failing);
#endif
    if (pass == a.n - 1) atomicMax(&check->far, __float_as_uint(moved_sq));
}

/* By one thread: a brick is through with a pass. */
__device__ inline void book_brick(const CudaArguments &a, int pass) {
#if MD_DOMAIN
    /* With the last one the pass is over on this GPU; but before others learn that, they learn which pass fails. */
    CudaQueueCheck *check = own_check(a);
    __threadfence(); /* the results of the block come before, */
    if (atomicAdd(&check->made[pass], 1u) + 1 < (unsigned)a.n_force_items) return;
    __threadfence(); /* and those of others */
    const unsigned stop = *(const volatile unsigned *)&check->stop;
    for (int rank = 0; rank < a.domain.n_ranks && stop != ~0u; rank++) atomicMin_system(&check_of(a, rank)->stop, stop);
    __threadfence_system();
    for (int rank = 0; rank < a.domain.n_ranks; rank++)
        if (rank != a.domain.rank) atomicAdd_system(&check_of(a, rank)->ranks_through[pass], 1u);
#else
    ptx_red_release_gpu_add(&own_check(a)->made[pass], 1u);
#endif
}

/* By all threads: publishes their writes. The heat of a pass counts when it is known that the pass does. */
__device__ inline void end_item(const CudaArguments &a, float moved_sq, const Heat &heat) {
    const int place = item_place()->place, pass = item_place()->pass;
    const unsigned done = (unsigned)item_place()->step + 1;
    if (is_checked_queue) note_distance(a, moved_sq);
    const bool is_at_border = has_domain && item_place()->is_at_border;
    leave_heat(heat);
    __syncthreads(); /* all rows are stored, and the item was read by all */
    if (threadIdx.x == telling_thread) take_heat(is_checked_queue ? &a.status->heat_of_pass[pass] : &a.status->heat);
    if constexpr (has_domain) {
        if (is_at_border) tell_others(a, place, done);
        /* After what others are told: the next pass of the brick begins by this word, and tells them the next step. */
        if (threadIdx.x == telling_thread)
            ptx_st_release_gpu(&a.queue.done[place_of_steps(a, brick_at(a.grid, place))], done);
    } else if (threadIdx.x == 0) {
        ptx_st_release_gpu(&a.queue.done[place], done);
    }
    if (is_checked_queue && threadIdx.x == telling_thread) book_brick(a, pass);
}

/* No pass is made, and none is known to fail. */
__device__ inline void clear_check(CudaQueueCheck *check) {
    for (int pass = 0; pass < CUDA_GRAPH_STEPS; pass++) check->made[pass] = check->ranks_through[pass] = 0;
    check->stop = ~0u;
    check->far = 0;
}

/* The first pass of a.n that does not count; a.n: the one after the last; ~0: none. */
__device__ inline unsigned first_failing(const CudaArguments &a) {
    return is_too_old(a, moved_sq_of(a, a.buffer)) ? 0 : *(const volatile unsigned *)&own_check(a)->stop;
}

/* How many of the passes count: those before the first discarded one. If the last pass has moved an atom too far, the next kernel sees it,
 * and not before: blocks that come late read the same word. */
__device__ inline int end_check(const CudaArguments &a, unsigned long long first, unsigned stop) {
    const unsigned n = (unsigned)a.n, far = *(const volatile unsigned *)&own_check(a)->far;
    const int n_passes = (int)(stop < n ? stop : n);
    if (stop == n) /* several processes: the atom may be another's, and any distance is too far */
        a.status->measures.moved_sq = has_domain ? 0x7f800000u /* infinity */ : far;
    tell_fault(a, first + (unsigned long long)n_passes);
    return n_passes;
}

/* The heat of the passes that count. By one thread, when all are over. */
__device__ inline void end_heat(const CudaArguments &a, int n_passes) {
    unsigned long long sum = 0;
    for (int pass = 0; has_bath && pass < a.n; pass++) {
        if (pass < n_passes) sum += *(volatile unsigned long long *)&a.status->heat_of_pass[pass];
        a.status->heat_of_pass[pass] = 0;
    }
    if (has_bath) a.status->heat += sum;
}

/* By the last block to leave: makes the queue ready for the next launch, and the books are as after the last pass that counts: until now
 * others may come late and read them as of the first. By one thread. */
__device__ inline void end_queue(const CudaArguments &a, unsigned long long first, int n_passes) {
    const bool stops = n_passes < a.n;
    if (is_checked_queue) end_heat(a, n_passes);
    const unsigned long long end = first + (unsigned long long)n_passes; /* its drift is done */
    a.queue.counts[0] = a.queue.counts[1] = 0;
    if (!stops) a.status->pass_step[(a.buffer + a.n) % 2] = end;
    a.status->step = stops ? end : end - 1;
    a.status->drifted = !stops;
    if (has_domain) count_places(a, n_passes);
    *(volatile unsigned long long *)&a.host_status->step = a.status->step;
    if (!stops) return;
    a.status->measures.stopped_in = 1 + (unsigned)(a.buffer + n_passes) % 2;
    set_stop_flag(a, CUDA_STOPPED_STALE);
}

/* By thread 0 of a block for which there is nothing left: whether it is the last one. */
__device__ inline bool is_last_to_leave(const CudaArguments &a) {
    if (is_checked_queue) __threadfence(); /* the results of the block come before */
    if (atomicAdd(&a.queue.counts[1], 1u) + 1 < gridDim.x) return false;
    if (is_checked_queue) __threadfence();
    return true;
}

/* Several processes: when the last block leaves on all GPUs, they agree on how many passes count. By all threads. */
__device__ inline void leave_with_others(const CudaArguments &a) {
    __shared__ bool s_last;
    const unsigned long long first = first_step(a);
    const unsigned none = (unsigned)a.n + 1;
    if (threadIdx.x == 0) s_last = is_last_to_leave(a);
    __syncthreads(); /* the answer is there */
    if (!s_last) return;
    CudaPeers *peers = a.domain.peers;
    /* for the next launch, which comes after the barrier */
    if (threadIdx.x == 0) clear_check(&peers->mailbox[a.domain.rank]->check[1 - peers->turn]);
    __threadfence_system();
    const unsigned stop = none - gpu_barrier(a, none - min(first_failing(a), none)).largest;
    if (threadIdx.x > 0) return;
    peers->turn = 1 - peers->turn;
    end_queue(a, first, end_check(a, first, stop));
}

/* By all threads of a block for which there is nothing left. */
__device__ inline void leave_queue(const CudaArguments &a) {
    if constexpr (has_domain && is_checked_queue) {
        leave_with_others(a);
        return;
    }
    if (threadIdx.x > 0) return;
    const unsigned long long first = first_step(a);
    if (!is_last_to_leave(a)) return;
    const int n_passes = is_checked_queue ? end_check(a, first, first_failing(a)) : a.n;
    if (is_checked_queue) clear_check(own_check(a));
    end_queue(a, first, n_passes);
}

#endif
