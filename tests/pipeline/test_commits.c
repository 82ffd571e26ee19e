/* A commit that is asked for is made, also where one by time begins just before it, or is under way: what was put is then on the
 * disk. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "output/pipeline.h"
#include "output/schedule.h"
#include "parallel/engine.h"
#include "state.h"

/* In its first message the thread that asks waits until the writer begins to write; the writer, in its first write, until that thread sends
 * another one. Or it asks once the writer writes, which waits until it has sent one. */
static atomic_bool is_watched;
static atomic_int n_messages, n_writes, n_syncs;
static int last_message; /* that the writer waits for */

static void wait_for(const atomic_int *count, int least) {
    for (int k = 0; k < 3000 && *count < least; k++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void gather(const MdComm *comm, const void *own, size_t bytes, void *all) {
    memcpy(all, own, bytes);
    if (!is_watched || comm->is_duplicate) return; /* that of the writer */
    if (n_messages++ == 0) wait_for(&n_writes, 1);
}

static void *duplicate(const MdComm *comm) {
    (void)comm;
    return NULL;
}
static void finish(MdComm *comm) { (void)comm; }

int H5Fflush(int64_t object, int scope);
int H5Fflush(int64_t object, int scope) {
    int (*next)(int64_t, int);
    void *found = dlsym(RTLD_NEXT, "H5Fflush");
    memcpy(&next, &found, sizeof next);
    if (is_watched && n_writes++ == 0) wait_for(&n_messages, last_message);
    return next(object, scope);
}

int fdatasync(int file) {
    n_syncs += is_watched;
    return fsync(file);
}

/* --- a backend of which there are frames alone ---------------------------------------------------------------------- */

typedef struct Still {
    MdRing *ring;
    float *position;
} Still;

static MdStatus create(void *context, MdRing *ring) {
    ((Still *)context)->ring = ring;
    return MD_OK;
}

static MdStatus begin(void *context, const MdOutputRequest *request) {
    md_ring_begin(((Still *)context)->ring, request);
    md_ring_end(((Still *)context)->ring, request);
    return MD_OK;
}

static MdStatus settle(void *context) {
    (void)context;
    return MD_OK;
}

static MdStatus wait_output(void *context, const MdOutputRequest *request, MdOutput *output) {
    const Still *still = context;
    const long long step = request->step;
    CHECK(md_ring_arrive(still->ring, request, md_ring_wait(still->ring, request->slot), &step));
    *output = (MdOutput){
        .arrived = true, .fault = {.step = -1}, .frame = {.step = request->step, .position = still->position}};
    return MD_OK;
}

/* --- the commit ------------------------------------------------------------------------------------------------------ */

static void test_commit(const MdConfig *config, const MdSystem *system, const char *path, bool is_under_way) {
    static const MdCommEngine engine = {.gather = gather, .duplicate = duplicate, .finish = finish};
    static const MdBackendOps ops = {
        .output_create = create, .output_begin = begin, .output_settle = settle, .output_wait = wait_output};
    static char hosts[1][MD_HOST_NAME_SIZE] = {"here"};
    MdComm comm = {.engine = &engine, .size = 1, .node_size = 1, .hosts = hosts};
    Still still = {.position = md_alloc(3 * (size_t)system->n_atoms, sizeof(float), "positions")};
    MdErrors *errors = md_errors_create();
    const MdTrajectorySpec files = {.h5_path = path,
                                    .h5md = {.n_atoms = system->n_atoms,
                                             .box = system->box,
                                             .n_types = 1,
                                             .type_name = {"A"},
                                             .type = system->type,
                                             .mass = system->mass,
                                             .every = {config->output_frames_every},
                                             .last_step = 100,
                                             .commit_frames = 100,
                                             .commit_seconds = 1,
                                             .run_id = "0123456789abcdef",
                                             .deck = "",
                                             .provenance = "{}"}};
    const MdPipelineSpec spec = {.ops = &ops,
                                 .context = &still,
                                 .config = config,
                                 .box = &system->box,
                                 .n_atoms = system->n_atoms,
                                 .comm = &comm,
                                 .trajectory = &files};
    MdPipeline *pipeline = md_pipeline_create(&spec, errors);
    if (CHECK(pipeline != NULL)) {
        CHECK(md_pipeline_put(pipeline, 0, MD_DUE_POSITION, 0, errors) == MD_OK);
        CHECK(md_pipeline_drain(pipeline, errors) == MD_OK);
        n_messages = n_writes = n_syncs = 0;
        last_message = is_under_way ? 1 : 2;
        is_watched = true;
        if (is_under_way) {
            wait_for(&n_writes, 1);
            CHECK(n_writes == 1 && n_syncs == 0);
        }
        CHECK(md_pipeline_commit(pipeline, errors) == MD_OK);
        is_watched = false;
        CHECK(n_writes > 0 && n_messages >= last_message);
        CHECK(n_syncs == 1);
    }
    CHECK(md_pipeline_close(pipeline, errors) == MD_OK);
    md_free(still.position);
    md_errors_destroy(errors);
}

int main(void) {
    const char *words[] = {"system.start=fcc",       "system.density=0.8442", "system.cells=4",
                           "output.frames_every=10", "output.pipeline=on",    NULL};
    char folder[] = "commits-XXXXXX", path[64];
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/commits.h5", folder);
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    for (int is_under_way = 0; is_under_way < 2; is_under_way++) {
        check_context("a commit by time %s", is_under_way ? "is under way" : "begins");
        test_commit(md_deck_config(deck), system, path, is_under_way);
        remove(path);
    }
    rmdir(folder);
    md_system_destroy(system);
    md_deck_destroy(deck);
    return check_finish();
}
