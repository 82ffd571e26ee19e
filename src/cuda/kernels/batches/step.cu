/* Many steps in one launch, for systems that the GPU holds at once (launch.persistent).
 *
 * All blocks are resident (a cooperative launch sees to that), so that they can wait for each other: a barrier over the
 * grid costs about a microsecond, less than the launch of a kernel. Each thread keeps to its own particles in the
 * integration; the forces read positions that others wrote, so these must not come through the read-only path, which is not
 * coherent within a launch.
 *
 * launch.fuse = step: an atom is integrated by the thread that has its force, which is never written; one barrier a step.
 * launch.barrier = local: no barrier where none is needed, each block waits for positions that it reads (step_local.cuh).
 * Several processes (parallel.transport = direct): only launch.barrier = local, across GPUs; if a block needs more than that, a
 * barrier of all GPUs (barrier_of_all).
 * launch.passes = queue: for any number of atoms, by blocks that need not be resident (step_queue.cuh).
 *
 * Only steps without energies are made here. It stops before the forces of a step for which the list is too old. */
#include "cuda/kernels/batches/barrier.cuh"
#include "cuda/kernels/force.cuh"
#include "cuda/kernels/gpu_barrier.cuh"
#include "cuda/kernels/integrate.cuh"
#include "cuda/kernels/batches/step_brick.cuh"
#include "cuda/kernels/batches/step_queue.cuh"

constexpr bool has_check = MD_SW_neighbor_rebuild == MD_REBUILD_DEVICE_CHECK;

#if MD_SW_launch_fuse == MD_FUSE_STEP
constexpr bool has_bricks = MD_SW_force_kernel == MD_KERNEL_BRICK;

/* Several processes: sends the position of an own atom, without a tag, to all its copies. */
__device__ inline void copy_to_others(const CudaArguments &a, CudaCopy first, const Place &place, int64_t to) {
    const Vec4<Pair> position = {place.rounded.x, place.rounded.y, place.rounded.z, word_bits(place.word)};
    for_copies(a, first, to, [&](Vec4<Pair> *copy) { *copy = position; });
}

/* Integrates an atom as soon as its force is complete. Others may still need its old position, so the new one goes to another copy
 * (load_type in common.cuh). */
struct IntegrateAtom : Forces {
    Motion motion;
    float moved_sq;
    Heat heat;
    __device__ bool is_at_border(void) const { /* of a domain, in a queue of bricks */
        return has_domain && MD_SW_launch_passes == MD_PASSES_QUEUE && item_place()->is_at_border;
    }
    __device__ void prepare(int i) const {
        ask_for_velocity(MotionCopy::at(a, motion.from), i);
        if (has_bath) ptx_prefetch_l2(a.now.tag + i); /* the noise is that of its id */
        if (is_at_border()) ptx_prefetch_l2(a.domain.first_copy + i);
    }
    /* tells_others: several processes, and they may need it. */
    __device__ void integrate(int i, const Vec3<Pair> &force, bool tells_others) {
        Place left;
        CudaCopy copy = CUDA_NO_COPY; /* asked for at once */
        if constexpr (keeps_velocity) motion.keeps = item_place()->pass == 0;
        if (has_domain && tells_others) copy = a.domain.first_copy[i];
        moved_sq = fmaxf(moved_sq, integrate_by(a, i, force, true, has_check, motion, &left, &heat));
        if constexpr (has_domain) copy_to_others(a, copy, left, motion.to);
    }
    __device__ void finish(int i, const Vec3<Pair> &force) { integrate(i, force, is_at_border()); }
};

/* The end of a pass: its displacements, for the check of step `step`, and that there was a drift. */
__device__ inline void end_pass(const CudaArguments &a, float own_moved_sq, int step) {
    float moved_sq[1] = {own_moved_sq};
    if (has_check) {
        block_max<1>(a, moved_sq);
        if (threadIdx.x == 0) atomicMax(moved_sq_of(a, step), __float_as_uint(moved_sq[0]));
    }
    if (thread_index() == 0) *(volatile unsigned *)&a.status->drifted = 1;
}

/* Where the positions of a device that stops are, brought back to where everybody looks for them. */
__device__ inline void bring_back(const CudaArguments &a, int64_t from) {
    if (from == 0) return;
    for (int i = thread_index(); i < own_atoms(a); i += grid_size())
        copy_rounded(a.now.position, i, a.now.position, i + from);
}

/* Where a pass of the resident kernel leaves the force of a row: in memory by the last one, if that integrates nothing. */
struct EndRow : IntegrateAtom {
    bool keeps, is_last;
    unsigned tag; /* of the positions that it stores; no_tag: in the usual form */
    Noise noise;  /* of the atom that is held: it is drawn before the pass waits for positions */
    __device__ void prepare(int i) const {
        if (!keeps) IntegrateAtom::prepare(i);
    }
    __device__ void finish(int i, const Vec3<Pair> &force) {
        if (keeps) Forces::finish(i, force);
        else integrate(i, force, has_domain && !is_last);
    }
    __device__ void own(const Vec3<Pair> &force, HeldBrick *held) {
        if (!keeps)
            moved_sq = fmaxf(moved_sq, integrate_held<has_check>(a, force, motion, noise, tag, !is_last, held, &heat));
        else if (held->i >= 0 && threadIdx.x % threads_per_atom == 0) Forces::finish(held->i, force);
    }
};

/* Each block goes through its share of the rows. */
__device__ inline void make_pass(const CudaArguments &a, const PairParameters *pairs, int64_t from, unsigned tag,
                                 HeldBrick *held, EndRow &end) {
    const int n_blocks = force_blocks(a);
    int block = (int)blockIdx.x;
    if constexpr (has_bricks) {
        pass_held(a, pairs, from, tag, held, end);
        block += (int)gridDim.x;
    }
    for (; block < n_blocks; block += (int)gridDim.x) force_block_rows(a, pairs, block, from, end);
}

/* Where the launch has come to: the forces of `step` are begun, or would have been. By all threads. */
__device__ inline void book_steps(const CudaArguments &a, unsigned long long step, bool stops) {
    if (thread_index() != 0) return;
    a.status->step = step;
    *(volatile unsigned *)&a.status->drifted = 0;
    *(volatile unsigned long long *)&a.host_status->step = step;
    if (stops) set_stop_flag(a, CUDA_STOPPED_STALE);
}

/* A barrier of the grid; with several processes, of the grids of all GPUs. Returns whether any thread raises the flag. */
template <bool FLAGS> __device__ inline bool barrier_of_all(const CudaArguments &a, GridBarrier *barrier, bool raises) {
    if constexpr (!has_domain) return grid_barrier<FLAGS>(barrier, raises);
    __threadfence_system(); /* positions for others */
    bool raised = grid_barrier<FLAGS>(barrier, raises);
    if (blockIdx.x == 0) raised = gpu_barrier(a, raised).bits != 0;
    return grid_barrier<FLAGS>(barrier, raised);
}

/* Whether passes need the barrier of the grid, since a block could not do without: see step_local.cuh. */
__device__ inline bool needs_grid_barrier(const CudaArguments &a) {
    const CudaMeasures &found = a.status->measures;
    const bool needed = has_domain ? a.domain.table->needs_barrier != 0
                                   : force_blocks(a) > (int)gridDim.x || found.rows > MD_BLOCK / threads_per_atom ||
                                         found.staged > held_sources * MD_BLOCK || found.sides_without_halo > 0;
    if (needed && thread_index() == 0) a.status->n_grid_barriers++;
    return needed;
}

/* launch.barrier = local with device-check (may_roll_back): how many passes at the begin of the launch have no barrier of
 * the grid between them. Otherwise 0: all passes are as needs_grid_barrier says.
 *
 * Without a barrier of the grid a block cannot know whether the list is stale. A list lasts about as long as those before it: so
 * blocks speculate that it does (a.speculative steps), and only note how far their atoms have come. From there on they synchronise
 * at each step. If by then an atom was too far, all blocks roll back to where the launch began, and synchronise at every step. The
 * result is the same, and these steps are made twice. A fault among them is told when it is known that they count. */
__device__ inline int passes_apart(const CudaArguments &a, bool grid_wide) {
    if (grid_wide || !may_roll_back) return 0;
    const int apart = min(a.speculative, a.n - 1); /* before the last forces all wait for all */
    return apart > 1 ? apart : 0;
}

/* The first pass integrates by the forces that are there (unless that is done: a.begins), the last one computes forces and no
 * more, unless it drifts, too; each in between does both for every atom. A pass reads one copy of the positions and writes
 * the other, so that one barrier is between passes, which also tells whether any atom has gone too far for the list. In the
 * end the positions are where everybody else looks for them. */
__device__ inline void make_fused_steps(const CudaArguments &a, const PairParameters *pairs, GridBarrier *barrier) {
    /* after a build the sort has stored it: status->step may change before all blocks have begun */
    const unsigned long long first =
        a.begins ? a.status->pass_step[0] : *(volatile unsigned long long *)&a.status->step + 1;
    const int64_t begin = (a.n + a.drifts) % 2 == 0 ? a.stride : 0;
    int64_t from = begin;
    float moved_sq = 0;
    HeldBrick held;
    Heat heat; /* of the drifts since `step` was 0, and of those before */
    const bool tags = is_local && (a.drifts || has_check), grid_wide = !tags || needs_grid_barrier(a);
    /* apart: asked with may_roll_back only. Used in all cases, instead of grid_wide, it made 4,000 atoms 3 % slower
     * (run/results/h200). */
    int apart = passes_apart(a, grid_wide), step = 0;
    bool again = false;
    if (!a.begins)
        for (int i = thread_index(); i < own_atoms(a); i += grid_size()) {
            moved_sq = fmaxf(moved_sq, integrate_atom(a, i, true, has_check, &heat, Motion{0, from, first, false}));
            if (tags) untag(a, i + a.stride - from);
            if (has_domain) copy_to_others(a, a.domain.first_copy[i], fetch_place(a.now, i, from), from);
        }
    if (has_domain && tags && !a.begins)
        for (int i = own_atoms(a) + thread_index(); i < stored_atoms(a); i += grid_size())
            untag(a, i + a.stride - from);
    if (a.begins == 0) add_heat(a, heat); /* these count in any case; the barrier of the first step follows */
    heat = Heat{};
    for (; step < a.n; step++) {
        const bool waits = step > 0 ? (may_roll_back ? step >= apart : grid_wide)
                                    : !a.begins && !again; /* for more than the writes of earlier kernels */
        const bool stops = waits && barrier_of_all<has_check>(a, barrier, moved_sq > a.stale_sq),
                   is_last = step == a.n - 1;
        const unsigned long long now = first + (unsigned long long)step;
        if (may_roll_back && apart > 0 && step == apart) {
            if (thread_index() == 0) tell_fault(a, stops ? first : now);
            if (__any_sync(whole_warp, stops)) {
                if (thread_index() == 0) a.status->n_rolled_back++;
                roll_back(a, begin, &held);
                heat = Heat{};
                lower_flags(barrier);
                if (has_domain) barrier_of_all<false>(a, barrier, false); /* copies are there, too */
                again = true;
                from = begin;
                apart = 0;
                step = -1; /* goes on with step 0 */
                continue;
            }
        }
        if (has_bricks && step == 0 && !again) hold_brick<has_check>(a, from, &held);
        if (stops || is_last) book_steps(a, now, stops);
        /* the whole grid; asked by warps, so that a compiler sees that all lanes go the same way */
        if (has_check && __any_sync(whole_warp, stops)) {
            if (has_bricks) put_back(a, held);
            bring_back(a, from);
            add_heat(a, heat);
            return;
        }
        const bool may_come_again = may_roll_back && step < apart;
        const bool finds_tags = step > 0 && (may_roll_back ? step < apart : !grid_wide),
                   leaves_tags = may_roll_back ? step + 1 < apart : !grid_wide && !is_last;
        const unsigned wanted = finds_tags ? tag_of(now) : no_tag, left = leaves_tags ? tag_of(now + 1) : no_tag;
        const bool keeps = is_last && !a.drifts;
        EndRow end = {{a, {from, a.stride - from, now + 1, may_come_again}, may_come_again ? moved_sq : 0, heat},
                      keeps,
                      is_last,
                      left,
                      {}};
        if (has_bath && has_bricks && !keeps && held.i >= 0) end.noise = draw_noise(a, held.i, now + 1);
        make_pass(a, pairs, from, wanted, &held, end);
        moved_sq = end.moved_sq;
        heat = end.heat;
        from = a.stride - from;
    }
    if (has_bricks) put_back(a, held);
    add_heat(a, heat);
    if (a.drifts) end_pass(a, moved_sq, 0);
    if (has_domain && thread_index() == 0) count_places(a, a.n - a.begins);
}
#else
/* Integration of the particles of this block's share; their largest displacement goes to the measures. */
__device__ inline void integrate_share(const CudaArguments &a) {
    float moved_sq[1] = {0};
    Heat heat;
    for (int i = thread_index(); i < own_atoms(a); i += grid_size()) {
        const float one = integrate_atom(a, i, true, has_check, &heat);
        moved_sq[0] = fmaxf(moved_sq[0], one);
        if constexpr (forces_add) store<Pair>(a.now.force, i, Vec3<Pair>{0, 0, 0}, Pair(0));
    }
    add_heat(a, heat);
    if (!has_check) return;
    block_max<1>(a, moved_sq);
    if (threadIdx.x == 0) atomicMax(&a.status->measures.moved_sq, __float_as_uint(moved_sq[0]));
}

__device__ inline void make_steps(const CudaArguments &a, const PairParameters *pairs, GridBarrier *barrier) {
    const int n_blocks = force_blocks(a);
    Forces forces = {a};
    for (int step = 0; step < a.n; step++) {
        integrate_share(a);
        if (thread_index() == 0) *(volatile unsigned *)&a.status->drifted = 1;
        grid_barrier<false>(barrier, false);
        /* the whole grid: nothing writes the displacements now */
        if (force_begin(a, &a.status->measures.moved_sq)) return;
        for (int block = (int)blockIdx.x; block < n_blocks; block += (int)gridDim.x)
            force_block(a, pairs, block, forces);
        grid_barrier<false>(barrier, false);
    }
}
#endif

#if MD_SW_launch_fuse == MD_FUSE_STEP && MD_SW_launch_persistent != MD_PERSISTENT_ON /* a kernel a pass */
/* The passes of n steps as a kernel each: a.buffer says which copy of the positions, of the displacements, and of the number of
 * the step, is read; the last kernel, which computes forces and no more, is that of everybody and reads the first copy of the
 * first two. The first kernel is left out where forces come first, after a build. */

/* The first one: integrates by the forces that are there, into copy a.buffer. */
/* Reads velocity, position, force, reference [n]; writes velocity, position [n], measures.moved_sq. */
MD_KERNEL k_step_drift(MD_ARGUMENTS) {
    if (a.status->stopped) return; /* the whole grid: written by an earlier kernel */
    const int i = thread_index();
    float moved_sq = 0;
    Heat heat;
    if (i < own_atoms(a))
        moved_sq = integrate_atom(a, i, true, has_check, &heat, Motion{0, a.buffer * (int64_t)a.stride, 0, false});
    if (i == 0) a.status->pass_step[a.buffer] = a.status->step + 1;
    add_heat(a, heat);
    end_pass(a, moved_sq, a.buffer);
}

#if MD_SW_launch_passes == MD_PASSES_QUEUE
/* All a.n passes that k_step_pass would make, the first of which reads copy a.buffer. */
/* Reads position [n_stored], velocity [n], list, bricks; writes both copies of position and velocity [n], queue, status. */
MD_KERNEL_OF(MD_PLAIN_THREADS) k_step_queue(MD_FORCE_ARGUMENTS) {
    static_assert(has_bricks && has_check == is_checked_queue, "no host looks in the midst of it");
    if (*(volatile unsigned *)&a.status->stopped) return; /* by an earlier kernel: every block sees it */
    find_check(a);
    if constexpr (has_domain) find_copies(a);
    const bool is_old = is_too_old(a, moved_sq_of(a, a.buffer)); /* for every block, before any pass */
    while (!is_old && begin_item(a)) {
        const QueueItem *item = item_place();
        const int64_t from = (a.buffer + item->pass) % 2 * (int64_t)a.stride;
        IntegrateAtom integrate = {a, {from, a.stride - from, item->step + 1, is_checked_queue}, 0, {}};
        force_block_rows(a, MD_PAIR_TABLE, item->brick, from, integrate);
        end_item(a, integrate.moved_sq, integrate.heat);
    }
    leave_queue(a);
}

#if MD_SW_neighbor_rebuild == MD_REBUILD_DEVICE_CHECK
/* After a queue that has stopped the device: copies the state from the second copies to the first, and sets bricks to the drift
 * that counts. May run again: the second copies do not change until the build, which also clears the request for
 * this copy. */
/* Reads the second copy of position, velocity [n]; writes the first one, queue.done [bricks]. */
MD_KERNEL k_step_bring_back(MD_ARGUMENTS) {
    const int i = thread_index();
    const unsigned stopped_in = a.status->measures.stopped_in;
    if (stopped_in == 0) return;
    int64_t n_places = a.n_force_items;
    if (has_domain) n_places = place_of_steps(a, last_place_of_steps(a)) + 1;
    for (int64_t place = i; place < n_places; place += grid_size()) a.queue.done[place] = (unsigned)a.status->step;
    if (stopped_in == 1 || i >= own_atoms(a)) return;
    const CudaParticles &second = MotionCopy::at(a, a.stride);
    const Full<Pair> v = load_velocity(second, i);
    store<Pair>(a.now.velocity, i, v.v, v.w);
    if (is_mixed && !is_vec4) a.now.low[i] = second.low[i];
    copy_rounded(a.now.position, i, a.now.position, i + (int64_t)a.stride);
}
#endif
#else
/* The number of the step is asked for when the force is there: the loop of pairs wants the registers. */
struct IntegratePass : IntegrateAtom {
    __device__ void finish(int i, const Vec3<Pair> &force) {
        motion.step = *opaque(&a.status->pass_step[a.buffer]) + 1;
        IntegrateAtom::finish(i, force);
    }
};

/* Reads position [n_stored], velocity, reference [n], list; writes velocity, the other copy of position [n], measures. */
MD_KERNEL_OF(MD_PLAIN_THREADS) k_step_pass(MD_FORCE_ARGUMENTS) {
    if (was_stopped(a, moved_sq_of(a, a.buffer))) return;
    const int64_t from = a.buffer * (int64_t)a.stride;
    if (force_begin(a, moved_sq_of(a, a.buffer))) { /* the whole grid: its inputs were written by earlier kernels */
        bring_back(a, from);
        return;
    }
    if (thread_index() == 0) a.status->pass_step[1 - a.buffer] = a.status->pass_step[a.buffer] + 1;
    IntegratePass pass = {{a, {from, a.stride - from, 0, false}, 0, {}}};
    force_block_rows(a, MD_PAIR_TABLE, (int)blockIdx.x, from, pass);
    add_heat(a, pass.heat);
    end_pass(a, pass.moved_sq, a.buffer + 1);
}
#endif
#endif

#if MD_SW_force_kernel == MD_KERNEL_BRICK && MD_SW_memory_brick_grid != MD_BRICK_GRID_CELLS
#define MD_RESIDENT_THREADS MD_SHARED_THREADS(MD_SW_memory_brick_grid)
#elif MD_SW_force_kernel == MD_KERNEL_BRICK /* at 72 registers, of which it holds many from step to step */
#define MD_RESIDENT_THREADS CUDA_BRICK_THREADS
#else
#define MD_RESIDENT_THREADS MD_BOUND_THREADS
#endif
/* Reads position [n_stored], velocity, force [n], list; writes position, velocity, force [n], status. */
MD_KERNEL_OF(MD_RESIDENT_THREADS) k_step_resident(MD_FORCE_ARGUMENTS) {
    static_assert(!has_domain || MD_SW_launch_persistent != MD_PERSISTENT_ON || is_local, "copies have tags");
    GridBarrier barrier = begin_barrier(a);
    if (*(volatile unsigned *)&a.status->stopped) return; /* by an earlier launch: every block sees it */
    if constexpr (has_domain && MD_SW_launch_persistent == MD_PERSISTENT_ON) find_copies(a);
#if MD_SW_memory_parameters == MD_PARAMETERS_GLOBAL && MD_N_TYPES == 1
    const PairParameters only = *MD_PAIR_TABLE, *pairs = &only; /* in registers: a barrier drops what L1 holds */
#else
    const PairParameters *pairs = MD_PAIR_TABLE;
#endif
#if MD_SW_launch_fuse == MD_FUSE_STEP
    make_fused_steps(a, pairs, &barrier);
#else
    make_steps(a, pairs, &barrier);
#endif
}
