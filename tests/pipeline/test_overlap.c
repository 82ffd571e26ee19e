/* Output beside the steps: whatever the switches of output and however steps are issued, rows, frames and the end of the
 * motion are the same bits as written in line; a slow writer holds the steps up and loses nothing; a writer that fails ends
 * the run; what comes after a fault of the motion is not written. MDMINI_TEST_SYSTEM as in walk.h: the names of modes, or
 * finish. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integrate/verlet.h"
#include "judge.h"
#include "output/pipeline.h"
#include "output/schedule.h"
#include "state.h"

enum { N_STEPS = 48, FRAME_EVERY = 3, ROW_EVERY = 2, DEADLOCK_S = 300 };

/* --- a backend that is looked at from outside ---------------------------------------------------------------------- */

/* What came out of the slots, on its way to the file. Only the thread of output_wait writes. */
typedef struct Seen {
    uint64_t hash;        /* of all rows and frames, in order */
    uint64_t frame_bytes; /* of the arrays of all frames */
    int n_rows, n_frames;
    int64_t last_step;
} Seen;

static struct Spy { /* of the run of the moment */
    const MdBackendOps *real;
    int64_t n_atoms;
    Seen seen;
    int fail_at; /* the request, from 0, whose slot cannot be had; -1: none */
    int n_waits;

    /* A writer that is slower than any steps: it holds each frame back until the thread of the steps gives up (which it
     * shows by output_settle) or asks for all of them. */
    bool holds_back, drains;
    bool is_ahead; /* the host issues steps without a look at faults */
    pthread_mutex_t mutex;
    pthread_cond_t settled;
    int n_settled, n_passed;
} spy = {.fail_at = -1, .mutex = PTHREAD_MUTEX_INITIALIZER, .settled = PTHREAD_COND_INITIALIZER};

static void hold_back(void) {
    pthread_mutex_lock(&spy.mutex);
    while (spy.n_passed == spy.n_settled && !spy.drains) pthread_cond_wait(&spy.settled, &spy.mutex);
    spy.n_passed++;
    pthread_mutex_unlock(&spy.mutex);
}

static MdStatus spy_settle(void *context) {
    MdStatus status = spy.real->output_settle(context);
    pthread_mutex_lock(&spy.mutex);
    spy.n_settled++;
    pthread_cond_broadcast(&spy.settled);
    pthread_mutex_unlock(&spy.mutex);
    return status;
}

static void let_drain(bool drains) {
    pthread_mutex_lock(&spy.mutex);
    spy.drains = drains;
    spy.n_settled = spy.n_passed = 0;
    pthread_cond_broadcast(&spy.settled);
    pthread_mutex_unlock(&spy.mutex);
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (size_t k = 0; k < bytes; k++) hash = (hash ^ at[k]) * UINT64_C(1099511628211);
    return hash;
}

/* A frame brings what was asked for, and nothing else. */
static void see_frame(Seen *seen, const MdFrame *frame, unsigned quantities, int64_t n_atoms) {
    const size_t n = 3 * (size_t)n_atoms, real = frame->precision == MD_FILE_PRECISION_DOUBLE ? 8 : 4;
    const struct {
        unsigned quantity;
        const void *values;
        size_t bytes;
    } arrays[] = {{MD_FRAME_POSITION, frame->position, n * real},
                  {MD_FRAME_VELOCITY, frame->velocity, n * real},
                  {MD_FRAME_FORCE, frame->force, n * real},
                  {MD_FRAME_IMAGE, frame->image, n * sizeof *frame->image}};
    seen->hash = mix(seen->hash, &frame->step, sizeof frame->step);
    for (int k = 0; k < 4; k++) {
        CHECK((arrays[k].values != NULL) == ((quantities & arrays[k].quantity) != 0));
        if (!arrays[k].values) continue;
        seen->hash = mix(seen->hash, arrays[k].values, arrays[k].bytes);
        seen->frame_bytes += arrays[k].bytes;
    }
    seen->n_frames++;
}

static MdStatus spy_wait(void *context, const MdOutputRequest *request, MdOutput *output) {
    if (spy.n_waits++ == spy.fail_at) return MD_ERROR_OUTPUT;
    MdStatus status = spy.real->output_wait(context, request, output);
    if (status != MD_OK || !output->arrived || output->fault.step >= 0) return status;
    spy.seen.hash = mix(spy.seen.hash, &output->sums, sizeof output->sums);
    if (request->frame < 0) return status;
    CHECK(output->frame.step == request->step);
    see_frame(&spy.seen, &output->frame, request->quantities, spy.n_atoms);
    if (spy.holds_back) hold_back();
    return status;
}

static void take_row(void *user, const MdThermo *row) {
    Seen *seen = user;
    seen->hash = mix(seen->hash, row, sizeof *row);
    seen->n_rows++;
    seen->last_step = row->step;
}

/* --- a run ---------------------------------------------------------------------------------------------------------- */

typedef struct Result {
    Seen seen;
    uint64_t end; /* of the particles at the end */
    MdStatus status;
    int64_t last_step; /* that was made */
    int64_t fault;     /* step of it; -1: none */
    MdPipelineStatistics statistics;
    char message[256];
} Result;

static MdStatus put(MdPipeline *pipeline, const MdConfig *config, int64_t step, MdErrors *errors) {
    const unsigned due = md_schedule_mask(config, step);
    return due ? md_pipeline_put(pipeline, step, due, 0.5, errors) : MD_OK;
}

static MdStatus make_steps(const WalkRun *run, MdPipeline *pipeline, Result *result, MdErrors *errors) {
    MdStatus status = put(pipeline, &run->config, 0, errors);
    for (int64_t step = 0, next; status == MD_OK && step < N_STEPS;) {
        next = md_schedule_next(&run->config, step);
        if (step < N_STEPS / 2 && next > N_STEPS / 2) next = N_STEPS / 2;
        const bool with_energy = md_schedule_mask(&run->config, next) != 0;
        status = run->ops->advance(run->context, step + 1, next - step, with_energy);
        step = next;
        if (status == MD_OK && !spy.is_ahead && run->ops->fault(run->context).step >= 0) status = MD_ERROR_PHYSICS;
        if (status == MD_OK) status = put(pipeline, &run->config, step, errors);
        if (status == MD_OK) result->last_step = step;
        /* A commit in between changes nothing. */
        if (status != MD_OK || step != N_STEPS / 2) continue;
        let_drain(true);
        status = md_pipeline_commit(pipeline, errors);
        let_drain(false);
    }
    let_drain(true);
    return status;
}

static uint64_t hash_end(const WalkRun *run, const MdSystem *system) {
    Gathered gathered;
    if (!judge_gather(run, system, &gathered)) return 0;
    const size_t n = 3 * (size_t)system->n_atoms;
    uint64_t hash = mix(0, gathered.position, n * sizeof(double));
    hash = mix(hash, gathered.velocity, n * sizeof(double));
    hash = mix(hash, gathered.image, n * sizeof(int32_t));
    judge_gathered_free(&gathered);
    return hash;
}

static MdTrajectorySpec trajectory(const MdSystem *system, const MdConfig *config, const char *path) {
    MdTrajectorySpec spec = {.h5_path = path,
                             .h5md = {.n_atoms = system->n_atoms,
                                      .box = system->box,
                                      .n_types = system->potential.n_types,
                                      .type = system->type,
                                      .mass = system->mass,
                                      .precision = config->output_precision,
                                      .every = {config->output_frames_every, config->output_velocities_every,
                                                config->output_forces_every, config->output_images_every},
                                      .last_step = N_STEPS,
                                      .commit_frames = 1,
                                      .commit_seconds = 10,
                                      .run_id = "0123456789abcdef",
                                      .deck = "",
                                      .provenance = "{}"}};
    for (int t = 0; t < spec.h5md.n_types; t++) spec.h5md.type_name[t] = "A";
    return spec;
}

/* One run through the pipeline, into a file. */
static bool run_through(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system, const char *path,
                        Result *result) {
    WalkRun run;
    MdErrors *errors = md_errors_create();
    *result = (Result){.last_step = 0};
    alarm(DEADLOCK_S);
    if (!walk_create(&run, ops, config, system)) return false;
    MdBackendOps watched = *run.ops;
    spy.real = run.ops;
    spy.n_atoms = system->n_atoms;
    spy.seen = (Seen){.last_step = -1};
    spy.n_waits = 0;
    watched.output_wait = spy_wait;
    watched.output_settle = spy_settle;
    let_drain(false);
    const MdTrajectorySpec files = trajectory(system, &run.config, path);
    const MdPipelineSpec spec = {.ops = &watched,
                                 .context = run.context,
                                 .config = &run.config,
                                 .box = &system->box,
                                 .n_atoms = system->n_atoms,
                                 .trajectory = &files,
                                 .take_row = take_row,
                                 .user = &spy.seen};
    MdPipeline *pipeline = md_pipeline_create(&spec, errors);
    for (int k = 0; !pipeline && k < md_errors_count(errors); k++) printf("    %s\n", md_errors_text(errors, k));
    bool ok = CHECK(pipeline != NULL) && walk_ok(&run, md_verlet_start(run.ops, run.context, true));
    if (ok) {
        result->status = make_steps(&run, pipeline, result, errors);
        MdStatus drained = md_pipeline_drain(pipeline, errors);
        if (result->status == MD_OK) result->status = drained;
        result->statistics = md_pipeline_take_statistics(pipeline);
        result->fault = run.ops->fault(run.context).step;
    }
    if (pipeline) md_pipeline_close(pipeline, errors);
    if (md_errors_count(errors) > 0) snprintf(result->message, sizeof result->message, "%s", md_errors_text(errors, 0));
    result->seen = spy.seen;
    if (ok && result->status == MD_OK) result->end = hash_end(&run, system);
    walk_destroy(&run);
    md_errors_destroy(errors);
    alarm(0);
    return ok;
}

/* --- the same bits --------------------------------------------------------------------------------------------------- */

typedef struct Mode {
    const char *name;
    int rebuild, graph, persistent;
} Mode;

static const Mode modes[] = {
    {"every, step by step", MD_REBUILD_EVERY, MD_GRAPH_OFF, MD_PERSISTENT_OFF},
    {"every, graph", MD_REBUILD_EVERY, MD_GRAPH_ON, MD_PERSISTENT_OFF},
    {"every, resident", MD_REBUILD_EVERY, MD_GRAPH_OFF, MD_PERSISTENT_ON},
    {"host-check", MD_REBUILD_HOST_CHECK, MD_GRAPH_OFF, MD_PERSISTENT_OFF},
    {"device-check, step by step", MD_REBUILD_DEVICE_CHECK, MD_GRAPH_OFF, MD_PERSISTENT_OFF},
    {"device-check, graph", MD_REBUILD_DEVICE_CHECK, MD_GRAPH_ON, MD_PERSISTENT_OFF},
    {"device-check, resident", MD_REBUILD_DEVICE_CHECK, MD_GRAPH_OFF, MD_PERSISTENT_ON},
};
enum { N_MODES = sizeof modes / sizeof modes[0], N_MEMORIES = 4, N_PACKS = 3 };

static MdConfig make_config(const MdConfig *base, const Mode *mode) {
    MdConfig config = *base;
    config.neighbor_rebuild = mode->rebuild;
    config.neighbor_every = 5;
    config.neighbor_skin = 0.12; /* lasts for a few steps: a device that checks stops often */
    config.launch_graph = mode->graph;
    config.launch_persistent = mode->persistent;
    config.run_steps = N_STEPS;
    config.output_thermo_every = ROW_EVERY;
    config.output_frames_every = config.output_images_every = FRAME_EVERY;
    config.output_velocities_every = config.output_forces_every = 2 * FRAME_EVERY; /* not all in every frame */
    config.output_pipeline = MD_OFF;
    config.output_host_memory = MD_HOST_MEMORY_PAGEABLE;
    config.output_pack = MD_PACK_NAIVE;
    return config;
}

static void check_same(const MdBackendOps *ops, const MdConfig *config, const MdSystem *system, const char *path,
                       const Result *expected) {
    Result result;
    if (!run_through(ops, config, system, path, &result)) return;
    CHECK(result.status == MD_OK);
    CHECK(result.seen.n_rows == expected->seen.n_rows && result.seen.n_frames == expected->seen.n_frames);
    CHECK(result.seen.hash == expected->seen.hash);
    CHECK(result.end == expected->end);
    CHECK(result.statistics.n_frames == result.seen.n_frames && result.statistics.n_rows == result.seen.n_rows);
    CHECK(result.statistics.frame_bytes == result.seen.frame_bytes);
}

/* Each kind of host memory with each way to pack; slots, streams, sums and precision of the file take turns. */
static void test_mode(const MdBackendOps *ops, const MdConfig *base, const Mode *mode, const MdSystem *system,
                      const char *path) {
    MdConfig config = make_config(base, mode);
    const bool has_device = strcmp(ops->name, "cuda") == 0;
    Result expected[2];
    for (int precision = 0; precision < 2; precision++) {
        check_context("%s %s in line", ops->name, mode->name);
        config.output_precision = precision;
        if (!run_through(ops, &config, system, path, &expected[precision])) return;
        CHECK(expected[precision].status == MD_OK);
        CHECK(expected[precision].seen.n_frames == N_STEPS / FRAME_EVERY + 1);
        CHECK(expected[precision].seen.n_rows == N_STEPS / ROW_EVERY + 1);
        CHECK(expected[precision].seen.last_step == N_STEPS);
        CHECK(expected[precision].statistics.frame_bytes == expected[precision].seen.frame_bytes);
    }
    config.output_pipeline = MD_ON;
    for (int k = 0; k < (has_device ? N_MEMORIES * N_PACKS : 3); k++) {
        config.output_host_memory = k % N_MEMORIES;
        config.output_pack = k % N_PACKS;
        config.output_streams = k % 5 % 2;
        config.output_slots = 1 + k % 3;
        config.output_precision = k / 3 % 2;
        check_context("%s %s host_memory=%d pack=%d streams=%d slots=%d precision=%d", ops->name, mode->name,
                      config.output_host_memory, config.output_pack, config.output_streams + 1,
                      (int)config.output_slots, config.output_precision);
        check_same(ops, &config, system, path, &expected[config.output_precision]);
    }
}

/* The sums of blocks that the host adds up, or that arrive in any order of the atoms, are as good as those in line. */
static void test_finish(const MdBackendOps *ops, const MdConfig *base, const MdSystem *system, const char *path) {
    static const int finishes[] = {MD_FINISH_HOST, MD_FINISH_TWO_PASS};
    for (int k = 0; k < 2; k++) {
        for (int scratch = 0; scratch < 2; scratch++) {
            MdConfig config = make_config(base, &modes[4]);
            Result expected;
            config.reduce_finish = finishes[k];
            config.reduce_scratch = scratch;
            check_context("%s reduce.finish=%d scratch=%d", ops->name, finishes[k], scratch);
            if (!run_through(ops, &config, system, path, &expected)) return;
            config.output_pipeline = MD_ON;
            check_same(ops, &config, system, path, &expected);
        }
    }
}

/* --- a slow writer, a writer that fails, a motion that fails ----------------------------------------------------------- */

static void test_slow_writer(const MdBackendOps *ops, const MdConfig *base, const Mode *mode, const MdSystem *system,
                             const char *path) {
    MdConfig config = make_config(base, mode);
    Result expected, result;
    check_context("%s slow writer, %s", ops->name, mode->name);
    if (!run_through(ops, &config, system, path, &expected)) return;
    CHECK(expected.statistics.n_full == 0);
    config.output_pipeline = MD_ON;
    config.output_slots = 2;
    spy.holds_back = true;
    if (run_through(ops, &config, system, path, &result)) {
        /* All frames wait but those that fill the ring: once from the start, and once after the commit in between. */
        const int n_frames = N_STEPS / FRAME_EVERY + 1;
        CHECK(result.status == MD_OK && result.seen.hash == expected.seen.hash && result.end == expected.end);
        CHECK(result.statistics.n_full == n_frames - 2 * config.output_slots);
        CHECK(result.statistics.full_s > 0 && result.statistics.put_s >= result.statistics.full_s);
    }
    spy.holds_back = false;
}

static void test_failing_writer(const MdBackendOps *ops, const MdConfig *base, const Mode *mode, const MdSystem *system,
                                const char *path) {
    MdConfig config = make_config(base, mode);
    for (int pipeline = MD_OFF; pipeline <= MD_ON; pipeline++)
        for (int fail_at = 0; fail_at < 12; fail_at += 4) {
            Result result;
            check_context("%s %s, pipeline %d, request %d fails", ops->name, mode->name, pipeline, fail_at);
            config.output_pipeline = pipeline;
            config.output_slots = 1;
            spy.fail_at = fail_at;
            if (!run_through(ops, &config, system, path, &result)) break;
            CHECK(result.status == MD_ERROR_OUTPUT);
            CHECK(strstr(result.message, "output of step") != NULL);
            CHECK(spy.n_waits == fail_at + 1); /* nothing is written after the first error */
            if (pipeline == MD_OFF) CHECK(result.last_step < N_STEPS / 2);
        }
    spy.fail_at = -1;
}

/* Too long a step, in a motion that goes on for a while: the same rows and frames up to the fault, and none after it. */
static void test_fault(const MdBackendOps *ops, const MdConfig *base, const Mode *mode, const MdSystem *system,
                       const char *path) {
    MdConfig config = make_config(base, mode);
    Result expected, result;
    config.run_timestep = 0.035;
    check_context("%s fault, %s", ops->name, mode->name);
    if (!run_through(ops, &config, system, path, &expected)) return;
    CHECK(expected.status == MD_ERROR_PHYSICS && expected.seen.n_frames > 0);
    CHECK(expected.fault > 1 && expected.fault < N_STEPS && expected.seen.last_step < expected.fault);
    config.output_pipeline = MD_ON;
    if (!run_through(ops, &config, system, path, &result)) return;
    CHECK(result.status == MD_ERROR_PHYSICS && !*result.message);
    CHECK(result.fault == expected.fault);
    CHECK(result.seen.n_rows == expected.seen.n_rows && result.seen.hash == expected.seen.hash);
    check_context("%s fault that the host does not see in time, %s", ops->name, mode->name);
    spy.is_ahead = true;
    if (run_through(ops, &config, system, path, &result)) {
        CHECK(result.status == MD_ERROR_PHYSICS);
        CHECK(result.seen.n_rows == expected.seen.n_rows && result.seen.hash == expected.seen.hash);
    }
    spy.is_ahead = false;
}

static void test_one(const MdBackendOps *ops, const MdConfig *base, const Mode *mode, const MdSystem *system,
                     const char *path) {
    test_mode(ops, base, mode, system, path);
    test_fault(ops, base, mode, system, path);
    if (mode->rebuild == MD_REBUILD_EVERY) return; /* the writer does not see how steps are issued */
    test_slow_writer(ops, base, mode, system, path);
    test_failing_writer(ops, base, mode, system, path);
}

/* Without frames nothing is packed, held or copied; the thread that writes rows is there all the same. */
static void test_uses(const MdConfig *base) {
    static const int of_frames[] = {MD_OPTION_output_streams, MD_OPTION_output_host_memory, MD_OPTION_output_pack};
    for (int frames = 0; frames < 3; frames++) {
        MdConfig config = *base;
        config.output_frames_every = frames == 1 ? FRAME_EVERY : 0;
        config.output_xyz_every = frames == 2 ? FRAME_EVERY : 0;
        check_context("frames of kind %d", frames);
        for (int k = 0; k < 3; k++) CHECK(md_pipeline_uses(&config, of_frames[k]) == (frames > 0));
        CHECK(md_pipeline_uses(&config, MD_OPTION_output_pipeline));
        CHECK(md_pipeline_uses(&config, MD_OPTION_memory_layout));
    }
}

int main(void) {
    const char *words[] = {"system.start=fcc", "system.density=0.8442", "system.temperature=1.44", "system.cells=4",
                           NULL};
    char folder[] = "pipeline-XXXXXX", path[64];
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/overlap.h5", folder);
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    MdConfig base = *md_deck_config(deck);
    base.run_threads = 1;
    test_uses(&base);
    for (const MdBackendOps *ops = walk_backend(NULL, &base); ops; ops = walk_backend(ops, &base)) {
        const bool has_device = strcmp(ops->name, "cuda") == 0;
        for (int k = 0; k < N_MODES; k++) {
            const bool for_all = modes[k].graph == MD_GRAPH_OFF && modes[k].persistent == MD_PERSISTENT_OFF;
            if ((has_device || for_all) && walk_wants(modes[k].name)) test_one(ops, &base, &modes[k], system, path);
        }
        if (has_device && walk_wants("finish")) test_finish(ops, &base, system, path);
    }
    remove(path);
    rmdir(folder);
    md_system_destroy(system);
    md_deck_destroy(deck);
    return check_finish();
}
