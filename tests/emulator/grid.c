/* Runs the blocks of a launch.
 *
 * Threads run one after another in random order, each until it ends or waits. The thread that completes a barrier goes
 * on at once, the others when their turn comes: so any thread may be the first behind a barrier, and one that runs ahead
 * of the others shows whether a barrier is missing. Static shared memory is where the variables of the module are, so
 * there is one of it; blocks that live at the same time (cooperative launches, queues) are swapped. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator.h"

/* Of blocks that live together, another one may come after any thread, on average after so many. */
enum { TURN_THREADS = 128 };
/* Turns in which threads did nothing but ask for another one, after which they never will do anything else. */
enum { PAGE = 4096, SPIN_LIMIT = 200 * 1000 };

EmulatorLane *emulator_running;

static const EmulatorLaunch *launch;
static EmulatorBlock *blocks; /* that live now */
static unsigned n_blocks;
static unsigned n_at_grid; /* threads at the barrier of the grid */
static void *shared;       /* static shared memory of the module */
static size_t shared_bytes;
static EmulatorBlock *owner; /* of the contents of shared */
static char *dynamic_end;    /* of the dynamic shared memory of one block; a page without access follows */
static long preempt = -1;
static long long n_looks, slept; /* for other processes, in this launch; when it has last slept */
static long spins;               /* turns since a thread has ended or a barrier was complete */

/* Of blocks that live at the same time, in turns. Half of them begin late. Three things happen in half of the launches each: a
 * quarter of the blocks now and then fall behind, so that others go through some of what these have not done yet (not as far
 * where they may all meet, since each of them would wait for the last); and where they do not meet, who has found an extreme
 * falls behind before it is told, and warps of a block are left out until the others wait for them. */
enum { MOST_LATE = 16, TURNS_TO_FALL = 16, MOST_BEHIND = 128, MOST_BEHIND_OF_ALL = 16 };
static bool news_is_slow, warps_are_slow;

const EmulatorLaunch *emulator_launched(void) { return launch; }

void emulator_describe_lane(const EmulatorLane *lane, char *text, size_t size) {
    const EmulatorThread *t = &lane->visible;
    snprintf(text, size, "kernel %s, block (%u,%u,%u) of (%u,%u,%u), thread (%u,%u,%u) of (%u,%u,%u)",
             launch->function->kernel->name, t->block.x, t->block.y, t->block.z, t->grid_size.x, t->grid_size.y,
             t->grid_size.z, t->thread.x, t->thread.y, t->thread.z, t->block_size.x, t->block_size.y, t->block_size.z);
}

void emulator_lane_body(EmulatorFiber *fiber);
void emulator_lane_body(EmulatorFiber *fiber) {
    (void)fiber;
    launch->function->kernel->call(launch->arguments);
}

void emulator_lane_wait(EmulatorLane *lane, enum EmulatorState state) {
    lane->state = state;
    emulator_fiber_pause(&lane->fiber);
}

/* --- barriers ------------------------------------------------------------------------------------------------------- */

static void fail_at_different_barriers(const EmulatorLane *one, const EmulatorLane *other) {
    emulator_running = NULL;
    char text[512];
    emulator_describe_lane(one, text, sizeof text);
    emulator_fail("%s waits at the barrier of %s, but thread (%u,%u,%u) at that of %s: divergent barrier", text,
                  one->where, other->visible.thread.x, other->visible.thread.y, other->visible.thread.z, other->where);
}

/* Lets the threads of block go when all that live are at the barrier. */
static void check_barrier(EmulatorBlock *block) {
    if (block->n_arrived < block->n_live || block->n_live == 0) return;
    const EmulatorLane *first = NULL;
    int count = 0;
    for (unsigned t = 0; t < block->n_threads; t++) {
        const EmulatorLane *lane = &block->lanes[t];
        if (lane->state != EMULATOR_AT_BARRIER) continue;
        if (!first) first = lane;
        if (lane->where != first->where && strcmp(lane->where, first->where) != 0)
            fail_at_different_barriers(first, lane);
        if (lane->operation != first->operation) fail_at_different_barriers(first, lane);
        count += (int)lane->value;
    }
    for (unsigned t = 0; t < block->n_threads; t++) {
        EmulatorLane *lane = &block->lanes[t];
        if (lane->state != EMULATOR_AT_BARRIER) continue;
        lane->answer = first->operation == EMULATOR_BARRIER_AND  ? count == (int)block->n_live
                       : first->operation == EMULATOR_BARRIER_OR ? count > 0
                                                                 : count;
        lane->state = EMULATOR_READY;
    }
    block->n_arrived = 0;
    spins = 0;
}

static void check_grid_barrier(void) {
    unsigned live = 0;
    for (unsigned b = 0; b < n_blocks; b++) live += blocks[b].n_live;
    if (n_at_grid < live) return;
    for (unsigned b = 0; b < n_blocks; b++)
        for (unsigned t = 0; t < blocks[b].n_threads; t++)
            if (blocks[b].lanes[t].state == EMULATOR_AT_BARRIER) blocks[b].lanes[t].state = EMULATOR_READY;
    n_at_grid = 0;
    spins = 0;
}

static int barrier(int operation, int predicate, const char *where) {
    EmulatorLane *lane = emulator_running;
    lane->operation = operation;
    lane->value = (unsigned long long)predicate;
    lane->where = where;
    lane->state = EMULATOR_AT_BARRIER;
    if (operation == EMULATOR_BARRIER_GRID) {
        if (!launch->cooperative) emulator_fail("%s: barrier of the grid in a launch that is not cooperative", where);
        n_at_grid++;
        check_grid_barrier();
    } else {
        lane->home->n_arrived++;
        check_barrier(lane->home);
    }
    if (lane->state != EMULATOR_READY) emulator_fiber_pause(&lane->fiber);
    return lane->answer;
}

static void yield(void) { emulator_lane_wait(emulator_running, EMULATOR_YIELDED); }

/* They need processors that this one waits on: after some looks of all threads it sleeps. */
static void yield_to_others(void) {
    const long long look_ns = 50000, sleep_us = 200;
    spins = 0; /* they may take their time */
    if (n_looks++ == 0) slept = emulator_nanoseconds();
    if (emulator_nanoseconds() - slept >= look_ns) {
        usleep(sleep_us);
        slept = emulator_nanoseconds();
    }
    yield();
}

static long long nanoseconds(void) { return emulator_nanoseconds(); }

static void at_atomic(int is_news) {
    if (is_news && news_is_slow && emulator_random() % 4 != 0) {
        emulator_running->home->late = emulator_random() % MOST_BEHIND;
        spins = 0;
        yield();
    }
    if (preempt <= 0 || emulator_random() % (uint32_t)preempt != 0) return;
    spins = 0; /* this is not the thread's own wish */
    yield();
}

static void fail_at(const char *message, const char *where) { emulator_fail("%s: %s", where, message); }

const EmulatorServices emulator_services = {.barrier = barrier,
                                            .warp = emulator_warp,
                                            .yield = yield,
                                            .yield_to_others = yield_to_others,
                                            .nanoseconds = nanoseconds,
                                            .at_atomic = at_atomic,
                                            .texel = emulator_texel,
                                            .fail = fail_at};

/* --- blocks --------------------------------------------------------------------------------------------------------- */

static unsigned threads_of(EmulatorIndex size) { return size.x * size.y * size.z; }

bool emulator_beyond_shared(const void *address) {
    return dynamic_end && (const char *)address >= dynamic_end && (const char *)address < dynamic_end + PAGE;
}

static void *dynamic_begin(void) { return dynamic_end - ((launch->dynamic_shared + 31u) & ~31u); }

/* All of it is there from the first launch on: a block sees the end of its own part. */
static void make_dynamic_shared(void) {
    if (dynamic_end) return;
    size_t bytes = (emulator_gpu()->shared_opt_in + PAGE - 1) / PAGE * PAGE;
    char *base = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + bytes, PAGE, PROT_NONE) != 0) emulator_fail("no memory");
    dynamic_end = base + bytes;
}

static void block_begin(EmulatorBlock *block, EmulatorIndex index) {
    unsigned n = threads_of(launch->block);
    block->index = index;
    block->n_threads = block->n_live = n;
    block->n_arrived = 0;
    memset(block->warp_live, 0, sizeof block->warp_live);
    memset(block->warp_waiting, 0, sizeof block->warp_waiting);
    EmulatorThread visible = {
        .block = index, .block_size = launch->block, .grid_size = launch->grid, .dynamic_shared = dynamic_begin()};
    for (unsigned t = 0; t < n; t++) {
        EmulatorLane *lane = &block->lanes[t];
        lane->visible = visible;
        lane->visible.lane = t % EMULATOR_WARP;
        lane->fiber = (EmulatorFiber){.stack = -1};
        lane->home = block;
        lane->state = EMULATOR_READY;
        block->warp_live[t / EMULATOR_WARP] |= 1u << t % EMULATOR_WARP;
        lane->visible.thread = visible.thread;
        if (++visible.thread.x == launch->block.x) {
            visible.thread.x = 0;
            if (++visible.thread.y == launch->block.y) {
                visible.thread.y = 0;
                visible.thread.z++;
            }
        }
    }
}

/* Makes the shared memory that of block; a block that has not run finds 0xff bytes. */
static void shared_switch(EmulatorBlock *block, bool starts) {
    size_t dynamic = (size_t)(dynamic_end - (char *)dynamic_begin());
    if (owner && owner != block && owner->static_shared) {
        memcpy(owner->static_shared, shared, shared_bytes);
        memcpy((char *)owner->static_shared + shared_bytes, dynamic_begin(), dynamic);
    }
    if (starts) {
        if (shared_bytes > 0) memset(shared, 0xff, shared_bytes);
        memset(dynamic_begin(), 0xff, dynamic);
    } else if (owner != block) {
        memcpy(shared, block->static_shared, shared_bytes);
        memcpy(dynamic_begin(), (char *)block->static_shared + shared_bytes, dynamic);
    }
    owner = block;
}

static void end_lane(EmulatorBlock *block, EmulatorLane *lane, unsigned t) {
    if (launch->dependent && !lane->visible.has_waited)
        emulator_fail("%s: launched as a dependent kernel, and does not wait for those before it",
                      launch->function->kernel->name);
    lane->state = EMULATOR_DONE;
    spins = 0;
    block->n_live--;
    block->warp_live[t / EMULATOR_WARP] &= ~(1u << t % EMULATOR_WARP);
    if (block->warp_waiting[t / EMULATOR_WARP]) emulator_warp_check(block, t / EMULATOR_WARP);
    if (block->n_arrived > 0) check_barrier(block);
    if (n_at_grid > 0) check_grid_barrier();
}

/* A step through the numbers below n that visits each once. */
static unsigned random_stride(unsigned n) {
    static const unsigned primes[] = {1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097};
    for (unsigned k = emulator_random();; k++) {
        unsigned prime = primes[k % (sizeof primes / sizeof primes[0])];
        if (n % prime != 0) return prime % n ? prime % n : 1;
    }
}

/* Runs threads of block until all wait, have yielded or ended, or until another block is to come first. Returns whether
 * any ran; *yielded: some want another turn. */
static bool block_turn(EmulatorBlock *block, bool *yielded) {
    EmulatorThread **self = launch->function->module->self;
    const unsigned n_warps = (block->n_threads + EMULATOR_WARP - 1) / EMULATOR_WARP;
    unsigned left_out = warps_are_slow ? emulator_random() % n_warps : n_warps; /* n_warps: none */
    bool ran = false, interrupted = false;
    *yielded = false;
    while (!interrupted) {
        bool progress = false;
        unsigned n = block->n_threads, stride = random_stride(n), t = emulator_random() % n;
        for (unsigned k = 0; k < n && !interrupted; k++) {
            EmulatorLane *lane = &block->lanes[t];
            if (lane->state == EMULATOR_READY && t / EMULATOR_WARP != left_out) {
                progress = true;
                *self = &lane->visible;
                emulator_running = lane;
                emulator_fiber_run(&lane->fiber);
                if (lane->fiber.ended) end_lane(block, lane, t);
                interrupted = n_blocks > 1 && emulator_random() % TURN_THREADS == 0;
            }
            t += stride;
            if (t >= n) t -= n;
        }
        if (!progress && left_out == n_warps) break;
        if (!progress) left_out = n_warps;
        ran = ran || progress;
    }
    emulator_running = NULL;
    for (unsigned t = 0; t < block->n_threads; t++)
        if (block->lanes[t].state == EMULATOR_YIELDED) {
            block->lanes[t].state = EMULATOR_READY;
            *yielded = true;
        }
    return ran;
}

/* No thread gets on: says for what they wait, and who does not come. */
static _Noreturn void fail_stuck(const EmulatorBlock *block) {
    unsigned at_barrier = 0;
    const EmulatorLane *waiting = NULL, *missing = NULL;
    for (unsigned t = 0; t < block->n_threads; t++) {
        const EmulatorLane *lane = &block->lanes[t];
        if (lane->state == EMULATOR_AT_BARRIER) {
            at_barrier++;
            if (!waiting) waiting = lane;
        } else if (lane->state == EMULATOR_AT_WARP) {
            missing = lane;
        }
    }
    char text[512], other[512];
    if (missing) {
        unsigned warp = (unsigned)(missing - block->lanes) / EMULATOR_WARP;
        emulator_describe_lane(missing, text, sizeof text);
        emulator_fail(
            "%s waits in the warp collective of %s with mask 0x%08x; lanes 0x%08x of the mask do not come%s%s", text,
            missing->where, missing->mask, missing->mask & block->warp_live[warp] & ~block->warp_waiting[warp],
            waiting ? ", others wait at the barrier of " : "", waiting ? waiting->where : "");
    }
    if (!waiting) emulator_fail("%s: all threads spin for ever", launch->function->kernel->name);
    emulator_describe_lane(waiting, other, sizeof other);
    emulator_fail("%s waits at the barrier of %s, which %u of the %u live threads of the block have reached", other,
                  waiting->where, at_barrier, block->n_live);
}

static void run_single(EmulatorIndex index) {
    blocks[0].n_live = 0;
    block_begin(&blocks[0], index);
    owner = NULL;
    shared_switch(&blocks[0], true);
    for (spins = 0; blocks[0].n_live > 0; spins++) {
        bool yielded;
        block_turn(&blocks[0], &yielded);
        if (blocks[0].n_live > 0 && (!yielded || spins > SPIN_LIMIT)) fail_stuck(&blocks[0]);
    }
}

static EmulatorIndex index_at(unsigned long long b) {
    return (EmulatorIndex){(unsigned)(b % launch->grid.x), (unsigned)(b / launch->grid.x % launch->grid.y),
                           (unsigned)(b / launch->grid.x / launch->grid.y)};
}

static void run_together(unsigned long long first, unsigned n) {
    unsigned live = n;
    bool *begun = calloc(n, sizeof *begun);
    bool *is_slow = calloc(n, sizeof *is_slow);
    const bool some_are_slow = emulator_random() % 2 == 0;
    const unsigned most_behind = launch->cooperative ? MOST_BEHIND_OF_ALL : MOST_BEHIND;
    news_is_slow = !launch->cooperative && emulator_random() % 2 == 0;
    warps_are_slow = !launch->cooperative && emulator_random() % 2 == 0;
    owner = NULL;
    for (unsigned b = 0; b < n; b++) block_begin(&blocks[b], index_at(first + b));
    for (unsigned b = 0; b < n; b++) is_slow[b] = some_are_slow && emulator_random() % 4 == 0;
    for (unsigned b = 0; b < n; b++) blocks[b].late = emulator_random() % 2 ? emulator_random() % MOST_LATE : 0;
    for (spins = 0; live > 0; spins++) {
        bool any_ran = false, any_yielded = false;
        unsigned stride = random_stride(n), b = emulator_random() % n;
        for (unsigned k = 0; k < n; k++, b = (b + stride) % n) {
            EmulatorBlock *block = &blocks[b];
            if (block->n_live == 0) continue;
            if (block->late > 0) {
                block->late--;
                any_yielded = true;
                continue;
            }
            bool yielded;
            shared_switch(block, !begun[b]);
            begun[b] = true;
            any_ran = block_turn(block, &yielded) || any_ran;
            any_yielded = any_yielded || yielded;
            if (block->n_live == 0) live--;
            if (is_slow[b] && emulator_random() % TURNS_TO_FALL == 0) block->late = emulator_random() % most_behind;
        }
        if (live > 0 && ((!any_ran && !any_yielded) || spins > SPIN_LIMIT))
            for (b = 0; b < n; b++)
                if (blocks[b].n_live > 0) fail_stuck(&blocks[b]);
    }
    news_is_slow = warps_are_slow = false;
    free(begun);
    free(is_slow);
}

/* Room for the threads of n blocks. */
static void make_blocks(unsigned n) {
    static size_t room; /* threads */
    static unsigned room_blocks;
    static EmulatorLane *lanes;
    size_t threads = (size_t)n * threads_of(launch->block);
    if (threads > room) {
        free(lanes);
        lanes = malloc((room = threads) * sizeof *lanes);
    }
    if (n > room_blocks) {
        free(blocks);
        blocks = calloc(room_blocks = n, sizeof *blocks);
    }
    if (!lanes || !blocks) emulator_fail("no memory");
    n_blocks = n;
    for (unsigned b = 0; b < n; b++) blocks[b].lanes = lanes + (size_t)b * threads_of(launch->block);
}

/* Blocks first .. first + n - 1. */
static void run_group(unsigned long long first, unsigned n) {
    make_blocks(n);
    size_t dynamic = (size_t)(dynamic_end - (char *)dynamic_begin());
    char *copies = malloc(n * (shared_bytes + dynamic) + 1);
    if (!copies) emulator_fail("no memory");
    for (unsigned b = 0; b < n; b++) blocks[b].static_shared = copies + b * (shared_bytes + dynamic);
    run_together(first, n);
    for (unsigned b = 0; b < n; b++) blocks[b].static_shared = NULL;
    free(copies);
}

/* Kernels k_..._queue: their blocks take work from a queue in turn, and wait for what was taken before. One after the other
 * none would ever wait, so they live together; but not all of them need: some come when others have ended. */
static bool is_queue(const EmulatorLaunch *what) {
    const char *name = what->function->kernel->name, *end = strrchr(name, '_');
    return end && strcmp(end, "_queue") == 0;
}

static void run_queue(unsigned long long n) {
    const size_t shared_all = launch->function->static_shared + launch->dynamic_shared;
    const unsigned most = (unsigned)emulator_occupancy(threads_of(launch->block), shared_all) * emulator_gpu()->n_sms;
    for (unsigned long long first = 0, group; first < n; first += group) {
        group = n - first < most ? n - first : most;
        if (emulator_random() % 4 == 0) group = 1 + emulator_random() % group;
        run_group(first, (unsigned)group);
    }
}

void emulator_grid_run(const EmulatorLaunch *what) {
    if (preempt < 0) preempt = emulator_setting("MDMINI_EMULATOR_PREEMPT", 0);
    launch = what;
    n_looks = 0;
    make_dynamic_shared();
    shared = emulator_module_shared(what->function->module);
    shared_bytes = what->function->module->shared_bytes;
    n_at_grid = 0;
    unsigned long long n = (unsigned long long)what->grid.x * what->grid.y * what->grid.z;
    if (what->cooperative) {
        run_group(0, (unsigned)n);
    } else if (is_queue(what)) {
        run_queue(n);
    } else {
        make_blocks(1);
        /* Random order: blocks b, b + stride, ... with a stride that has no divisor in common with their number. */
        unsigned long long b = emulator_random() % n, stride = n > 1024 ? 1 : random_stride((unsigned)n);
        for (unsigned long long k = 0; k < n; k++, b = (b + stride) % n) run_single(index_at(b));
    }
    launch = NULL;
}
