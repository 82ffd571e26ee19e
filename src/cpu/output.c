/* The slots of the cpu backend: arrays of its own that the compute threads fill while the caller waits, so that the
 * writer's thread finds them ready whenever it looks. The thread that hands a request on (output/pipeline.c, by a mutex)
 * orders what is written here before what is read there. */
#include "base/memory.h"
#include "cpu/context.h"

static void *take(MdCpuContext *c, const MdSlotSpec *spec, unsigned quantity, const char *what) {
    const size_t bytes = (size_t)md_frame_bytes(c->n_atoms, spec->quantities & quantity, spec->precision);
    return bytes ? md_cpu_take(c, (int64_t)bytes, 1, what) : NULL;
}

/* With `counting` set, only adds up the sizes. */
static void take_slots(MdCpuContext *c, const MdSlotSpec *spec) {
    MdCpuSlots *slots = &c->slots;
    slots->rows = md_cpu_take(c, spec->n_rows, sizeof *slots->rows, "slots of sums");
    slots->frames = md_cpu_take(c, spec->n_frames, sizeof *slots->frames, "slots of frames");
    for (int k = 0; k < spec->n_frames; k++) {
        const MdFrame frame = {.precision = spec->precision,
                               .position = take(c, spec, MD_FRAME_POSITION, "positions of a frame"),
                               .velocity = take(c, spec, MD_FRAME_VELOCITY, "velocities of a frame"),
                               .force = take(c, spec, MD_FRAME_FORCE, "forces of a frame"),
                               .image = take(c, spec, MD_FRAME_IMAGE, "images of a frame")};
        if (!c->counting) slots->frames[k] = frame;
    }
}

MdMemory md_cpu_slots_estimate(const MdConfig *config, const MdSystemPlan *plan, const MdSlotSpec *spec) {
    (void)config;
    MdCpuContext c = {.counting = true, .n_atoms = plan->n_atoms};
    take_slots(&c, spec);
    return (MdMemory){.host_bytes = c.host_bytes};
}

MdStatus md_cpu_slots_create(void *context, const MdSlotSpec *spec) {
    MdCpuContext *c = context;
    md_require(!c->slots.rows);
    take_slots(c, spec);
    c->slots.spec = *spec;
    return MD_OK;
}

void md_cpu_slots_free(MdCpuContext *c) {
    const MdCpuSlots *slots = &c->slots;
    for (int k = 0; k < slots->spec.n_frames; k++) {
        md_free(slots->frames[k].position);
        md_free(slots->frames[k].velocity);
        md_free(slots->frames[k].force);
        md_free(slots->frames[k].image);
    }
    md_free(slots->rows);
    md_free(slots->frames);
}

MdFrame md_cpu_slots_frame(const MdCpuContext *c, const MdOutputRequest *request) {
    md_require(request->frame < c->slots.spec.n_frames);
    md_require((request->quantities & ~c->slots.spec.quantities) == 0);
    MdFrame frame = c->slots.frames[request->frame];
    frame.step = request->step;
    if (!(request->quantities & MD_FRAME_POSITION)) frame.position = NULL;
    if (!(request->quantities & MD_FRAME_VELOCITY)) frame.velocity = NULL;
    if (!(request->quantities & MD_FRAME_FORCE)) frame.force = NULL;
    if (!(request->quantities & MD_FRAME_IMAGE)) frame.image = NULL;
    return frame;
}

MdStatus md_cpu_output_wait(void *context, const MdOutputRequest *request, MdOutput *output) {
    const MdCpuContext *c = context;
    const MdCpuRow *row = &c->slots.rows[request->row];
    *output = (MdOutput){.filled = true, .sums = row->sums, .fault = row->fault};
    if (request->frame >= 0) output->frame = md_cpu_slots_frame(c, request);
    return MD_OK;
}

MdStatus md_cpu_output_settle(void *context) {
    (void)context; /* every slot was full when output_begin returned */
    return MD_OK;
}
