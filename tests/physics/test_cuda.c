/* What only the cuda backend promises: the work that its searches are counted with, how little is issued and skipped while the
 * device decides when the list is built, that it stops where the list is full, and which calls stand for themselves in
 * the times of stages. What it makes while the host does not look: test_ahead. MDMINI_TEST_SYSTEM as in walk.h: full, or melt. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/trace.h"
#include "check.h"
#include "state.h"
#include "walk.h"
#include "way.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/batches/steps.h"
#endif

static MdStageTime stage_of(const MdStatistics *statistics, const char *stage) {
    for (int k = 0; k < statistics->n_stages; k++)
        if (strcmp(statistics->stages[k].stage, stage) == 0) return statistics->stages[k];
    return (MdStageTime){.calls = 0};
}

static int64_t calls_of(const MdStatistics *statistics, const char *stage) { return stage_of(statistics, stage).calls; }

/* --- counters ------------------------------------------------------------------------------------------------------ */

/* Distances that a search of all pairs computes: with atomic each pair's once, otherwise those of all rows. */
static void test_counted(const MdBackendOps *ops, const MdSystem *system, int search, int write, int list) {
    MdConfig config = state_config();
    const double n = (double)system->n_atoms;
    const bool once = write == MD_LIST_WRITE_ATOMIC;
    MdCounters counters;
    MdStatistics before, after;
    WalkRun run;
    config.neighbor_skin = 0.3;
    config.force_kernel = MD_KERNEL_LIST;
    config.neighbor_search = search;
    config.neighbor_write = write;
    config.neighbor_list = list;
    config.neighbor_capacity = 4; /* it has to grow before anything is counted */
    check_context("search %s, write %s, list %s", md_switch_words(MD_OPTION_neighbor_search)[search],
                  md_switch_words(MD_OPTION_neighbor_write)[write], md_switch_words(MD_OPTION_neighbor_list)[list]);
    if (!walk_create(&run, ops, &config, system)) return;
    if (walk_prepare(&run)) {
        ops->statistics(run.context, &before);
        CHECK(walk_ok(&run, ops->count(run.context, &counters)));
        ops->statistics(run.context, &after);
        CHECK(counters.search_pairs_tested == (int64_t)(once ? n * (n - 1) / 2 : n * n));
        CHECK(counters.search_pairs_inside * (once && list == MD_LIST_FULL ? 2 : 1) == counters.list_entries);
        CHECK(after.n_overflows == before.n_overflows && after.n_rebuilds == before.n_rebuilds);
        CHECK(after.overflow_seconds == before.overflow_seconds &&
              (before.overflow_seconds > 0) == (before.n_overflows > 0));
    }
    walk_destroy(&run);
}

/* The largest change of a force component by what is counted; NaN where the forces could not be had. */
static double change_by_counting(WalkRun *run, const MdBackendOps *ops, const MdSystem *system, MdCounters *counters) {
    const size_t n = 3 * (size_t)system->n_atoms;
    double *force[2], change = 0;
    bool ok = true;
    for (int k = 0; k < 2; k++) {
        force[k] = md_alloc(n, sizeof(double), "test");
        MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .force = force[k]};
        ok = ok && walk_ok(run, ops->gather(run->context, &frame));
        if (k == 0) ok = ok && walk_ok(run, ops->count(run->context, counters));
    }
    for (size_t k = 0; ok && k < n; k++) change = fmax(change, fabs(force[1][k] - force[0][k]));
    md_free(force[0]);
    md_free(force[1]);
    return ok ? change : (double)NAN;
}

/* Bricks: what is counted inside is what rows hold, though a warp may have more rows than its brick, and forces are of no more;
 * and the forces are there afterwards. Returns how many pairs are in range of the forces. */
static int64_t test_counted_bricks(const MdBackendOps *ops, const MdSystem *system, int distances, int cells,
                                   int threads) {
    MdConfig config = state_config();
    MdCounters counters = {0};
    WalkRun run;
    config.neighbor_skin = 0.3;
    config.run_precision = MD_PRECISION_MIXED;
    config.force_kernel = MD_KERNEL_BRICK;
    config.memory_sort = MD_SORT_BRICK;
    config.memory_brick_cells = cells;
    config.force_threads_per_atom = threads;
    config.neighbor_distances = distances;
    check_context("bricks, distances %s, cells %s, threads per atom %s",
                  md_switch_words(MD_OPTION_neighbor_distances)[distances],
                  md_switch_words(MD_OPTION_memory_brick_cells)[cells],
                  md_switch_words(MD_OPTION_force_threads_per_atom)[threads]);
    if (!walk_create(&run, ops, &config, system)) return -1;
    if (walk_prepare(&run) && walk_ok(&run, ops->compute_forces(run.context, false))) {
        CHECK(change_by_counting(&run, ops, system, &counters) < 1e-3);
        CHECK(counters.search_pairs_inside == counters.list_entries && counters.list_entries > 0);
        CHECK(counters.search_pairs_tested >= counters.search_pairs_inside);
        CHECK(counters.force_pairs_tested == counters.list_entries);
    }
    walk_destroy(&run);
    return counters.force_pairs_inside;
}

/* Counting between the last use of a list and its late build leaves the lateness in the books. */
static void test_lateness(const MdBackendOps *ops, const MdSystem *system, bool counts) {
    MdConfig config = state_config();
    MdCounters counters;
    MdStatistics statistics;
    WalkRun run;
    config.neighbor_skin = 0.4;
    config.force_kernel = MD_KERNEL_LIST;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 40;
    check_context("rebuild every 40 steps, counted at step 39: %s", counts ? "yes" : "no");
    if (!walk_create(&run, ops, &config, system)) return;
    if (walk_prepare(&run) && walk_steps(&run, 1, 39) &&
        (!counts || walk_ok(&run, ops->count(run.context, &counters))) && walk_steps(&run, 40, 1)) {
        ops->statistics(run.context, &statistics);
        CHECK(statistics.n_rebuilds == 1 && statistics.n_late_rebuilds == 1);
    }
    walk_destroy(&run);
}

/* --- times of stages ------------------------------------------------------------------------------------------------ */

static void check_seconds(const MdStageTime *stage, double expected) {
    CHECK(fabs(stage->seconds - expected) <= 1e-12 * fabs(expected));
}

/* What was timed stands for what was not, but for the calls that stand for themselves. */
static void test_extended(void) {
    static const struct {
        MdStageTime stage;
        double seconds;
    } cases[] = {{{.calls = 0}, 0},
                 {{.calls = 30, .replayed = 10, .timed = 20, .timed_s = 2}, 4},
                 {{.calls = 30, .replayed = 10, .timed = 20, .timed_s = 2, .alone = 8, .alone_s = 5}, 5 + 3.2},
                 {{.calls = 28, .timed = 20, .timed_s = 2, .alone = 8, .alone_s = 5}, 5 + 2},
                 {{.calls = 40, .alone = 8, .alone_s = 5}, 25},
                 {{.calls = 8, .alone = 8, .alone_s = 5}, 5}};
    check_context("times of stages, extended");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        MdStageTime stage = cases[k].stage;
        md_stage_extend(&stage);
        check_seconds(&stage, cases[k].seconds);
    }
    MdStageTime untimed = {.calls = 3};
    md_stage_extend(&untimed);
    CHECK(isnan(untimed.seconds));
    static MdStatistics before, after;
    before.n_stages = after.n_stages = 1;
    before.stages[0] = cases[1].stage;
    after.stages[0] = (MdStageTime){.calls = 62, .replayed = 18, .timed = 30, .timed_s = 4, .alone = 10, .alone_s = 7};
    md_statistics_subtract(&after, &before);
    CHECK(after.stages[0].timed == 10 && after.stages[0].alone == 10);
    check_seconds(&after.stages[0], 7 + 0.2 * 30);
    before.stages[0] = cases[2].stage;
    after.stages[0] = (MdStageTime){.calls = 62, .replayed = 18, .timed = 30, .timed_s = 4, .alone = 10, .alone_s = 7};
    md_statistics_subtract(&after, &before);
    CHECK(after.stages[0].timed == 10 && after.stages[0].alone == 2);
    check_seconds(&after.stages[0], 2 + 0.2 * 38);
}

static MdConfig timed_config(int every, int graph, int persistent, int fuse) {
    MdConfig config = state_config();
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = every;
    config.force_kernel = MD_KERNEL_LIST;
    way_take(&config, (Way){graph, persistent, fuse, MD_PASSES_KERNELS});
    return config;
}

/* Of what runs often by itself, and of batches of the resident kernel: the first call, the seventeen after it, then one of
 * seventeen. */
static bool is_timed(int64_t call) { return call <= 17 || call % 17 == 1; }

static int64_t count_timed(int64_t calls) {
    int64_t n_timed = 0;
    for (int64_t call = 0; call < calls; call++) n_timed += is_timed(call);
    return n_timed;
}

/* Pieces of the run: the first step of each is issued by itself, since somebody has looked, and the others are a batch. Those of
 * the same length have one graph. */
static void test_times(const MdBackendOps *ops, const MdSystem *system, int graph, int persistent) {
    static const int pieces[] = {9, 9, 6, 9, 6, 12};
    enum { N_LATER = 120 }; /* more of 6 steps: events have come to be used again */
    const MdConfig config = timed_config(1000, graph, persistent, MD_FUSE_STEP);
    MdStatistics statistics;
    WalkRun run;
    check_context("times of stages, graph %s, persistent %s", md_switch_words(MD_OPTION_launch_graph)[graph],
                  md_switch_words(MD_OPTION_launch_persistent)[persistent]);
    if (!walk_create(&run, ops, &config, system)) return;
    CHECK(walk_prepare(&run));
    const int n_pieces = sizeof pieces / sizeof pieces[0];
    int64_t n_timed = 0;
    for (int k = 0, step = 1, n; k < n_pieces + N_LATER; k++, step += n) {
        n = k < n_pieces ? pieces[k] : 6;
        n_timed += persistent == MD_PERSISTENT_OFF || is_timed(k) ? n - 1 : 0;
        CHECK(walk_quiet_steps(&run, step, n) && walk_ok(&run, ops->finish(run.context)));
    }
    ops->statistics(run.context, &statistics);
    const MdStageTime step = stage_of(&statistics, "step");
    CHECK(step.calls == 8 + 8 + 5 + 8 + 5 + 11 + 5 * N_LATER && step.replayed == 0);
    /* the first batch stands for itself, with graphs or without; the one it makes serves the second and fourth */
    CHECK(step.alone == (graph == MD_GRAPH_ON ? 8 + 5 + 11 : 8));
    CHECK(step.alone + step.timed == n_timed);
    CHECK(step.alone_s > 0 && step.timed_s > 0);
    const MdStageTime force = stage_of(&statistics, "force");
    CHECK(force.calls > 2 * 17 && force.alone + force.timed == count_timed(force.calls));
    for (int k = 0; k < statistics.n_stages; k++) {
        const MdStageTime *stage = &statistics.stages[k];
        const double mean_s = stage->timed > 0 ? stage->timed_s / (double)stage->timed : 0;
        const int64_t rest = stage->calls + stage->replayed - stage->alone;
        if (strcmp(stage->stage, "step") != 0) CHECK(stage->alone == (stage->calls > 0));
        CHECK((stage->alone_s > 0) == (stage->alone > 0));
        if (stage->timed > 0) check_seconds(stage, stage->alone_s + mean_s * (double)rest);
    }
    walk_destroy(&run);
}

/* Of events around what made a graph (here of a stage that takes events at every call) nothing is left when sort and search in one
 * are timed by them. */
static void check_events_forget(void *backend_context) {
#ifdef MDMINI_HAVE_CUDA
    CudaContext *context = backend_context;
    int n_timed = 0;
    for (int k = 0; k < context->n_spans; k++) {
        cuda_timing_begin(context, CUDA_GATHER);
        if (context->open_span) context->open_span->is_alone = true;
        cuda_timing_end(context);
    }
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    for (int call = 0; call < 17; call++) {
        cuda_timing_begin_list(context);
        n_timed += context->open_span != NULL;
        CHECK(!context->open_span || !context->open_span->is_alone);
        cuda_timing_end_list(context);
        cuda_timing_break(context);
    }
    CHECK(n_timed == 1);
#else
    (void)backend_context;
#endif
}

/* A list for each step: sort and search come to be one graph. */
static void test_list_times(const MdBackendOps *ops, const MdSystem *system) {
    enum { N_STEPS = 60, N_ISSUED = 5 }; /* without a wait: all that is timed of these must find events */
    static const char *const stages[] = {"sort", "neighbor"};
    MdConfig config = timed_config(1, MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_OFF);
    MdStatistics statistics;
    WalkRun run;
    config.memory_sort = MD_SORT_CELL;
    check_context("times of lists");
    if (!walk_create(&run, ops, &config, system)) return;
    CHECK(walk_prepare(&run));
    for (int step = 1; step <= N_STEPS; step += N_ISSUED)
        CHECK(walk_quiet_steps(&run, step, N_ISSUED) && walk_ok(&run, ops->finish(run.context)));
    ops->statistics(run.context, &statistics);
    for (int k = 0; k < 2; k++) {
        const MdStageTime list = stage_of(&statistics, stages[k]);
        /* the first one, and the one that made a graph: of the two that do, since a rebuild swaps two copies, the second is untimed */
        CHECK(list.calls == N_STEPS + 1 && list.alone == 1 + 1 && list.alone + list.timed == count_timed(list.calls));
    }
    check_events_forget(run.context);
    walk_destroy(&run);
}

#ifdef MDMINI_HAVE_CUDA
static void open_window(CudaContext *context) {
    while (!context->open_span) {
        cuda_timing_begin_list(context);
        cuda_timing_end_list(context);
    }
}

enum { OF_WINDOW = 3 };
static const CudaStage stages_of_window[OF_WINDOW] = {CUDA_SORT, CUDA_NEIGHBOR, CUDA_STEP};

/* Time that stage k has had since `before`. */
static double gained(const CudaContext *context, const CudaTimer *before, int k) {
    return context->timers[stages_of_window[k]].timed_s - before[stages_of_window[k]].timed_s;
}

/* Two lists and twelve steps share the time between their events as they did before; with steps of which nothing is known, and where
 * the device has stopped, none gets any. */
static void check_shares(CudaContext *context) {
    enum { LISTS = 2, STEPS = 12 };
    static const int n_calls[OF_WINDOW] = {LISTS, LISTS, STEPS};
    CudaTimer before[CUDA_N_STAGES];
    double mean_s[OF_WINDOW], sum = 0;
    float milliseconds = 0;
    cuda_timing_book(context);
    memcpy(before, context->timers, sizeof before);
    for (int k = 0; k < OF_WINDOW; k++)
        mean_s[k] = before[stages_of_window[k]].timed_s / (double)before[stages_of_window[k]].timed;
    open_window(context);
    const CudaSpan *span = context->open_span;
    cuda_timing_begin(context, CUDA_STEP);
    cuda_timing_end_batch(context, STEPS);
    cuda_timing_begin_list(context);
    cuda_timing_end_list(context);
    CHECK(context->open_span == span);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_timing_break(context);
    CHECK(!context->open_span);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, span->begin, span->end));
    cuda_timing_book(context);
    for (int k = 0; k < OF_WINDOW; k++) {
        const double ratio = gained(context, before, k) * n_calls[0] * mean_s[0];
        CHECK(gained(context, before, k) > 0);
        CHECK(fabs(ratio - gained(context, before, 0) * n_calls[k] * mean_s[k]) <= 1e-6 * ratio);
        sum += gained(context, before, k);
    }
    CHECK(fabs(sum - 1e-3 * (double)milliseconds) <= 1e-6 * sum);

    open_window(context);
    cuda_timing_drop(context);
    CHECK(!context->open_span);
    context->timers[CUDA_STEP] = (CudaTimer){0};
    memcpy(before, context->timers, sizeof before);
    open_window(context);
    cuda_timing_begin(context, CUDA_STEP);
    cuda_timing_end_batch(context, STEPS);
    cuda_timing_break(context);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_timing_book(context);
    for (int k = 0; k < OF_WINDOW; k++) CHECK(gained(context, before, k) == 0);
    CHECK(context->timers[CUDA_SORT].timed == before[CUDA_SORT].timed && context->timers[CUDA_STEP].timed == 0);
}

/* With a trace each call has a span of its own. And a device that stops, here at the list that was just built: what was open is
 * not timed. */
static void check_interrupted(const WalkRun *run) {
    CudaContext *context = run->context;
    MdTrace *trace = md_trace_create(1000);
    open_window(context);
    run->ops->trace(context, trace);
    CHECK(!context->open_span);
    run->ops->trace(context, NULL);
    md_trace_destroy(trace);
    if (!walk_ok(run, run->ops->rebuild(context))) return;
    cuda_timing_book(context);
    open_window(context);
    const int64_t n_timed = context->timers[CUDA_SORT].timed;
    context->h_host_status->stopped = CUDA_STOP_WORD(CUDA_STOPPED_FULL, context->step);
    CHECK(walk_ok(run, cuda_steps_settle(context)) && !context->open_span && context->h_host_status->stopped == 0);
    CUDA_CHECK(cudaStreamSynchronize(context->stream));
    cuda_timing_book(context);
    CHECK(context->timers[CUDA_SORT].timed == n_timed);
}

/* Lists and the batches between them, which nobody looks at: one pair of events encloses eight of both, each seventeenth list, unless
 * one of them made a graph, as the first two do. Who waits ends that. */
static void test_windows(const MdBackendOps *ops, const MdSystem *system) {
    enum { EVERY = 4, N_LISTS = 90, IN_WINDOW = 8 };
    static const char *const stages[] = {"sort", "neighbor"};
    MdConfig config = timed_config(EVERY, MD_GRAPH_OFF, MD_PERSISTENT_ON, MD_FUSE_STEP);
    MdStatistics statistics;
    WalkRun run;
    config.memory_sort = MD_SORT_CELL;
    check_context("lists and steps timed as one");
    if (!walk_create(&run, ops, &config, system)) return;
    CHECK(walk_prepare(&run) && walk_quiet_steps(&run, 1, EVERY * N_LISTS + 2));
    const CudaContext *context = run.context;
    CHECK(context->open_span && context->open_span->n_lists > 0 && walk_ok(&run, cuda_steps_settle(run.context)));
    CHECK(!context->open_span && walk_ok(&run, ops->finish(run.context)));
    ops->statistics(run.context, &statistics);
    int64_t n_timed = 0; /* one by one, and in windows */
    for (int list = 0, left = 0; list <= N_LISTS; list++) {
        if (list > 17 && list % 17 == 1) left = list == 18 ? 1 : IN_WINDOW;
        n_timed += list <= 17 || left > 0;
        left -= left > 0;
    }
    for (int k = 0; k < 2; k++) {
        const MdStageTime list = stage_of(&statistics, stages[k]);
        /* apart: as with a list for each step, and the last window, in which a shorter batch makes its graph */
        CHECK(list.calls == N_LISTS + 1 && list.alone + list.timed == n_timed && list.alone < 1 + 2 + 1 + IN_WINDOW);
    }
    const MdStageTime step = stage_of(&statistics, "step");
    const int64_t of_batches = EVERY * n_timed; /* of the first ones, and of those in windows */
    CHECK(step.alone + step.timed > of_batches - 3 * EVERY && step.alone + step.timed < of_batches + 3 * EVERY);
    CHECK(step.timed > step.alone && step.timed_s > 0);
    check_interrupted(&run);
    check_shares(run.context);
    walk_destroy(&run);
}

/* Where memory keeps no order a build swaps nothing that steps read, though it has other counts each time: batches of a length have
 * one graph. */
static void test_one_graph(const MdBackendOps *ops, const MdSystem *system) {
    enum { EVERY = 4, N_LISTS = 6 };
    MdConfig config = timed_config(EVERY, MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_STEP);
    WalkRun run;
    int n_once = 0, n_twice = 0;
    config.memory_sort = MD_SORT_NONE;
    check_context("one graph of batches");
    if (!walk_create(&run, ops, &config, system)) return;
    const CudaContext *context = run.context;
    CHECK(walk_prepare(&run) && walk_quiet_steps(&run, 1, EVERY * N_LISTS) && walk_ok(&run, ops->finish(run.context)));
    CHECK(context->few_keys > 0);
    for (int kind = 0; kind < CUDA_N_BATCHES; kind++)
        for (int n = 0; n <= CUDA_GRAPH_STEPS; n++) {
            n_once += context->batch_graphs[kind][n].kept[0].exec != NULL;
            n_twice += context->batch_graphs[kind][n].kept[1].exec != NULL;
        }
    CHECK(n_once > 0 && n_twice == 0);
    walk_destroy(&run);
}
#else
static void test_one_graph(const MdBackendOps *ops, const MdSystem *system) {
    (void)ops;
    (void)system;
}

static void test_windows(const MdBackendOps *ops, const MdSystem *system) {
    (void)ops;
    (void)system;
}
#endif

/* --- steps issued and skipped ------------------------------------------------------------------------------------------ */

/* The list lasts some eight steps. Nobody looks at 400 of them, so that the host could run far ahead. */
static void test_waste(const MdBackendOps *ops, const MdSystem *system, Way way) {
    enum { N_STEPS = 400 };
    MdConfig config = state_config();
    MdStatistics statistics;
    WalkRun run;
    config.neighbor_skin = 0.4;
    config.force_kernel = MD_KERNEL_LIST;
    way_take(&config, way);
    check_context("%s", way_text(way));
    if (!walk_create(&run, ops, &config, system)) return;
    if (walk_prepare(&run) && walk_steps(&run, 1, N_STEPS) && walk_ok(&run, ops->finish(run.context))) {
        ops->statistics(run.context, &statistics);
        const int64_t builds = statistics.n_rebuilds, forces = walk_launches(&statistics, "k_force_plain");
        printf("%s: %d steps, list built %lld times, %lld force kernels without energy, %lld resident kernels, "
               "%lld calls\n",
               way_text(way), N_STEPS, (long long)builds, (long long)forces,
               (long long)walk_launches(&statistics, "k_step_resident"),
               (long long)(calls_of(&statistics, "step") + calls_of(&statistics, "force")));
        CHECK(builds > N_STEPS / 20 && builds < N_STEPS / 4);
        /* Two steps beyond the stop, those that it came early, and its own. */
        if (way.persistent == MD_PERSISTENT_OFF && way.graph == MD_GRAPH_ON) CHECK(forces <= N_STEPS + 4 * builds);
        if (way.persistent == MD_PERSISTENT_ON) CHECK(walk_launches(&statistics, "k_step_resident") <= 3 * builds);
    }
    walk_destroy(&run);
}

/* --- a list that fills up -------------------------------------------------------------------------------------------- */

enum { CROWDING_STEPS = 42 };

/* Everything falls towards the middle, so that rows become three times as long. Energies at every seventh step, and nobody
 * looks before the end. Returns how often room was made on the way; places: of the atoms at the end. */
static int64_t overflows_on_the_way(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system,
                                    double *places) {
    MdStatistics before = {0}, after = {0};
    WalkRun run;
    if (!walk_create(&run, ops, config, system)) return -1;
    CHECK(walk_prepare(&run));
    ops->statistics(run.context, &before);
    for (int step = 1; step <= CROWDING_STEPS; step += 7) CHECK(walk_steps(&run, step, 7));
    MdFrame frame = {.precision = MD_FILE_PRECISION_DOUBLE, .position = places};
    CHECK(walk_ok(&run, ops->gather(run.context, &frame)));
    ops->statistics(run.context, &after);
    CHECK(ops->fault(run.context).step < 0);
    CHECK(after.n_rebuilds > 3 && after.capacity > 0 && after.n_entries > before.n_entries);
    if (config->neighbor_rebuild == MD_REBUILD_EVERY)
        CHECK(after.n_rebuilds == CROWDING_STEPS / config->neighbor_every);
    CHECK(calls_of(&after, "step") + calls_of(&after, "force") == CROWDING_STEPS + 1); /* what was skipped is no call */
    walk_destroy(&run);
    return after.n_overflows - before.n_overflows;
}

/* The same bits as where there was room from the start. */
static void test_filling(const MdBackendOps *ops, int kernel, int rebuild, Way way) {
    const char *words[] = {"system.density=0.25", "system.start=sc", "system.cells=8", "system.temperature=0.5", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const size_t n = 3 * (size_t)system->n_atoms;
    MdConfig config = state_config();
    double *places = md_alloc(2 * n, sizeof *places, "positions"), *others = places + n;
    for (size_t k = 0; k < n; k++) system->velocity[k] -= 2.0 * (system->position[k] - 0.5 * system->box.length[k % 3]);
    config.neighbor_skin = 0.5;
    config.neighbor_rebuild = rebuild;
    config.neighbor_every = 6;
    config.force_kernel = kernel;
    way_take(&config, way);
    check_context("fills up: kernel %s, rebuild %s, %s", md_switch_words(MD_OPTION_force_kernel)[kernel],
                  md_switch_words(MD_OPTION_neighbor_rebuild)[rebuild], way_text(way));
    config.neighbor_capacity = (int)system->n_atoms;
    const int64_t roomy = overflows_on_the_way(ops, &config, system, places);
    config.neighbor_capacity = 4;
    const int64_t tight = overflows_on_the_way(ops, &config, system, others);
    CHECK(tight > roomy);
    CHECK(memcmp(places, others, n * sizeof *places) == 0);
    printf("a list that fills up: room was made %lld times on the way, %lld times where rows had enough\n",
           (long long)tight, (long long)roomy);
    md_free(places);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* A list is built at step 400 with energies and output, and nobody looks at the 300 steps behind it: what was asked for comes even
 * if that list found no room. Returns whether it did not; row: the output. */
static bool look_back(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system, MdOutput *row) {
    enum { BUILD = 400, BEHIND = 300 };
    const MdRingSpec one = {.n_slots = 1, .precision = MD_FILE_PRECISION_DOUBLE};
    const MdOutputRequest request = {.step = BUILD, .slot = 0, .frame = -1};
    MdStatistics before = {0}, after = {0};
    WalkRun run;
    if (!walk_create(&run, ops, config, system)) return false;
    MdRing *ring = md_ring_create(&one);
    CHECK(walk_ok(&run, ops->output_create(run.context, ring)) && walk_prepare(&run));
    ops->statistics(run.context, &before);
    CHECK(walk_steps(&run, 1, BUILD) && walk_ok(&run, ops->output_begin(run.context, &request)));
    CHECK(walk_quiet_steps(&run, BUILD + 1, BEHIND) && walk_ok(&run, ops->output_settle(run.context)));
    CHECK(walk_ok(&run, ops->output_wait(run.context, &request, row)) && row->arrived && row->fault.step < 0);
    ops->statistics(run.context, &after);
    walk_destroy(&run);
    md_ring_destroy(ring);
    return after.n_overflows > before.n_overflows;
}

static void test_far_behind(const MdBackendOps *ops, Way way) {
    const char *words[] = {"system.density=0.25", "system.start=sc", "system.cells=6", "system.temperature=0.1", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    MdConfig config = state_config();
    MdOutput rows[2] = {{0}, {0}};
    for (size_t k = 0; k < 3 * (size_t)system->n_atoms; k++)
        system->velocity[k] -= 0.15 * (system->position[k] - 0.5 * system->box.length[k % 3]);
    config.neighbor_skin = 0.5;
    config.neighbor_rebuild = MD_REBUILD_EVERY;
    config.neighbor_every = 400;
    config.force_kernel = MD_KERNEL_LIST;
    way_take(&config, way);
    check_context("output of a build far behind: %s", way_text(way));
    config.neighbor_capacity = (int)system->n_atoms;
    CHECK(!look_back(ops, &config, system, &rows[0]));
    config.neighbor_capacity = 4;
    CHECK(look_back(ops, &config, system, &rows[1]));
    CHECK(memcmp(&rows[0].sums, &rows[1].sums, sizeof rows[0].sums) == 0);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

static void test_full(const MdBackendOps *ops) {
    for (int k = 0; k < N_WAYS_AHEAD; k++) test_far_behind(ops, ways_ahead[k]);
    static const int rules[] = {MD_REBUILD_EVERY, MD_REBUILD_DEVICE_CHECK};
    for (int k = -1; k < N_WAYS_AHEAD; k++)
        for (size_t r = 0; r < 2; r++)
            test_filling(ops, MD_KERNEL_LIST, rules[r], k < 0 ? way_one_by_one : ways_ahead[k]);
    test_filling(ops, MD_KERNEL_LIST, MD_REBUILD_HOST_CHECK, way_call_by_call);
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_EVERY,
                 (Way){MD_GRAPH_OFF, MD_PERSISTENT_OFF, MD_FUSE_STEP, MD_PASSES_KERNELS});
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_EVERY, ways_queued[0]);
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_DEVICE_CHECK,
                 (Way){MD_GRAPH_ON, MD_PERSISTENT_OFF, MD_FUSE_ON, MD_PASSES_KERNELS});
    test_filling(ops, MD_KERNEL_BRICK, MD_REBUILD_DEVICE_CHECK, ways_queued[0]);
}

/* The longest row of a list for which its rows first had room for so many entries; after: what is said of it then. */
static int64_t longest_after_growth(const MdBackendOps *ops, MdConfig config, const MdSystem *system, int64_t room,
                                    MdStatistics *after) {
    WalkRun run;
    MdRows rows = {0};
    int64_t longest = 0;
    if (room > 0) config.neighbor_capacity = room;
    if (!walk_create(&run, ops, &config, system)) return 0;
    CHECK(walk_prepare(&run) && walk_ok(&run, ops->export_rows(run.context, &rows)));
    for (int64_t i = 0; i < rows.n_atoms; i++) {
        const int64_t length = rows.offsets[i + 1] - rows.offsets[i];
        if (length > longest) longest = length;
    }
    ops->statistics(run.context, after);
    md_rows_free(&rows);
    walk_destroy(&run);
    return longest;
}

/* A list whose longest row lacks some entries grows by as many again and up to the next quad, one that lacks many by a fifth; the time
 * for that is told. */
static void test_growth(const MdBackendOps *ops) {
    const char *words[] = {"system.density=0.8442", "system.cells=6", "system.temperature=2", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    static const int kernels[] = {MD_KERNEL_LIST, MD_KERNEL_BRICK};
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        MdConfig config = state_config();
        MdStatistics roomy = {0}, tight = {0}, empty = {0};
        config.force_kernel = kernels[k];
        check_context("growth: kernel %s", md_switch_words(MD_OPTION_force_kernel)[kernels[k]]);
        const int64_t longest = longest_after_growth(ops, config, system, system->n_atoms, &roomy),
                      room = (longest - 1) / 4 * 4, lacking = longest - room;
        CHECK(longest > 40 && (roomy.overflow_seconds > 0) == (roomy.n_overflows > 0)); /* those of bricks */
        CHECK(longest_after_growth(ops, config, system, room, &tight) == longest);
        CHECK(tight.n_overflows == roomy.n_overflows + 1 && tight.overflow_seconds > 0);
        CHECK(tight.capacity == (longest + lacking + 3) / 4 * 4);
        CHECK(longest_after_growth(ops, config, system, 1, &empty) == longest && empty.n_overflows > 0);
        CHECK(empty.capacity == (longest + longest / 5 + 1 + 3) / 4 * 4);
        const double both = empty.overflow_seconds;
        md_statistics_subtract(&empty, &tight);
        CHECK(empty.overflow_seconds == both - tight.overflow_seconds);
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

#ifdef MDMINI_HAVE_CUDA
/* A list that lacks an entry time after time gets 1, 2, 4, ... more than that, and never more than a fifth. */
static void test_growing_on(const MdBackendOps *ops) {
    const char *words[] = {"system.density=0.8442", "system.cells=6", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    MdConfig config = state_config();
    WalkRun run;
    config.force_kernel = MD_KERNEL_LIST;
    check_context("a list that grows time after time");
    if (walk_create(&run, ops, &config, system)) {
        CudaContext *context = run.context;
        CHECK(walk_prepare(&run) && context->list_slack == 0);
        for (int32_t slack = 1; slack <= 64; slack *= 2) {
            const int32_t count = context->arguments.list.capacity + 1, most = count / 5 + 1;
            CHECK(cuda_memory_grow_list(context, count) == MD_OK);
            CHECK(context->arguments.list.capacity == (count + (slack < most ? slack : most) + 3) / 4 * 4);
        }
        walk_destroy(&run);
    }
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* After a fault nothing is issued again. An output that the device has skipped by then is given up, and a
 * consumer that waits for it is told. */
static void test_skipped_before_fault(const MdBackendOps *ops, const MdSystem *system) {
    const MdRingSpec one = {.n_slots = 1, .precision = MD_FILE_PRECISION_DOUBLE};
    const MdOutputRequest request = {.step = 1, .slot = 0, .frame = -1};
    const unsigned stopped = CUDA_STOPPED_STALE;
    const MdConfig config = state_config();
    MdOutput row = {0};
    WalkRun run;
    check_context("output that was skipped before a fault");
    if (!walk_create(&run, ops, &config, system)) return;
    CudaContext *context = run.context;
    MdRing *ring = md_ring_create(&one);
    CHECK(walk_ok(&run, ops->output_create(context, ring)) && walk_prepare(&run) && walk_steps(&run, 1, 1));
    CHECK(cudaMemcpyAsync(&context->arguments.status->stopped, &stopped, sizeof stopped, cudaMemcpyDefault,
                          context->stream) == cudaSuccess);
    CHECK(walk_ok(&run, ops->output_begin(context, &request)));
    cuda_wait_stream(context, "wait: test");
    context->h_host_status->fault = 1;
    CHECK(walk_ok(&run, ops->output_settle(context)));
    if (CHECK(ring->abandoned)) CHECK(walk_ok(&run, ops->output_wait(context, &request, &row)) && !row.arrived);
    walk_destroy(&run);
    md_ring_destroy(ring);
}
#else
static void test_growing_on(const MdBackendOps *ops) { (void)ops; }

static void test_skipped_before_fault(const MdBackendOps *ops, const MdSystem *system) {
    (void)ops;
    (void)system;
}
#endif

static void test_melt(const MdBackendOps *ops) {
    const char *words[] = {"system.density=0.8442", "system.cells=4", "system.temperature=6",
                           NULL}; /* hot: 256 atoms */
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    for (int search = MD_SEARCH_BRUTE; search <= MD_SEARCH_BRUTE_TILED; search++)
        for (int write = 0; write < 2; write++)
            for (int list = 0; list < 2; list++) test_counted(ops, system, search, write, list);
    const bool has_matrices = walk_gpu_has(ops, 90, "neighbor.distances=matrix");
    for (int cells = MD_BRICK_CELLS_1; cells <= MD_BRICK_CELLS_2; cells++) {
        const int64_t n = test_counted_bricks(ops, system, MD_DISTANCES_THREAD, cells, MD_THREADS_1);
        CHECK(n > 0);
        if (!has_matrices) continue;
        CHECK(test_counted_bricks(ops, system, MD_DISTANCES_MATRIX, cells, MD_THREADS_1) == n);
        CHECK(test_counted_bricks(ops, system, MD_DISTANCES_MATRIX, cells, MD_THREADS_8) == n); /* in turns */
    }
    test_extended();
    test_times(ops, system, MD_GRAPH_ON, MD_PERSISTENT_OFF);
    test_times(ops, system, MD_GRAPH_OFF, MD_PERSISTENT_OFF);
    test_times(ops, system, MD_GRAPH_OFF, MD_PERSISTENT_ON);
    test_list_times(ops, system);
    test_windows(ops, system);
    test_one_graph(ops, system);
    test_lateness(ops, system, false);
    test_lateness(ops, system, true);
    test_waste(ops, system, ways_ahead[0]);
    test_waste(ops, system, ways_ahead[1]);
    test_waste(ops, system, way_call_by_call);
    test_skipped_before_fault(ops, system);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

int main(void) {
    const MdConfig base = state_config();
    const MdBackendOps *ops = walk_cuda(&base);
    if (!ops) return walk_no_cuda();
    if (walk_wants("full")) {
        test_full(ops);
        test_growth(ops);
        test_growing_on(ops);
    }
    if (walk_wants("melt")) test_melt(ops);
    return check_finish();
}
