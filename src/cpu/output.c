/* Output of the cpu backend: the compute threads fill the slot while the producer waits, so that what is ISSUED has arrived. The
 * mutex of the ring (backend/ring.h) orders what is written here before what the consumer reads. */
#include "base/memory.h"
#include "cpu/context.h"

static void *take(MdCpuContext *c, const MdRingSpec *spec, unsigned quantity, const char *what) {
    const size_t bytes = (size_t)md_frame_bytes(c->n_atoms, spec->quantities & quantity, spec->precision);
    return bytes ? md_cpu_take(c, (int64_t)bytes, 1, what) : NULL;
}

/* With `counting` set, only adds up the sizes. */
static void take_slots(MdCpuContext *c, const MdRingSpec *spec) {
    MdCpuOutput *output = &c->output;
    output->slots = md_cpu_take(c, spec->n_slots, sizeof *output->slots, "ring slots");
    output->frames = md_cpu_take(c, spec->n_frames, sizeof *output->frames, "frame buffers");
    for (int k = 0; k < spec->n_frames; k++) {
        const MdFrame frame = {.precision = spec->precision,
                               .position = take(c, spec, MD_FRAME_POSITION, "positions of a frame"),
                               .velocity = take(c, spec, MD_FRAME_VELOCITY, "velocities of a frame"),
                               .force = take(c, spec, MD_FRAME_FORCE, "forces of a frame"),
                               .image = take(c, spec, MD_FRAME_IMAGE, "images of a frame")};
        if (!c->counting) output->frames[k] = frame;
    }
}

MdMemory md_cpu_output_estimate(const MdConfig *config, const MdSystemPlan *plan, const MdRingSpec *spec) {
    (void)config;
    MdCpuContext c = {.counting = true, .n_atoms = plan->n_atoms};
    take_slots(&c, spec);
    return (MdMemory){.host_bytes = c.host_bytes};
}

MdStatus md_cpu_output_create(void *context, MdRing *ring) {
    MdCpuContext *c = context;
    md_require(!c->output.slots);
    take_slots(c, &ring->spec);
    c->output.spec = ring->spec;
    c->output.ring = ring;
    return MD_OK;
}

void md_cpu_output_free(MdCpuContext *c) {
    const MdCpuOutput *output = &c->output;
    for (int k = 0; k < output->spec.n_frames; k++) {
        md_free(output->frames[k].position);
        md_free(output->frames[k].velocity);
        md_free(output->frames[k].force);
        md_free(output->frames[k].image);
    }
    md_free(output->slots);
    md_free(output->frames);
}

MdFrame md_cpu_output_frame(const MdCpuContext *c, const MdOutputRequest *request) {
    md_require(request->frame < c->output.spec.n_frames);
    md_require((request->quantities & ~c->output.spec.quantities) == 0);
    MdFrame frame = c->output.frames[request->frame];
    frame.step = request->step;
    if (!(request->quantities & MD_FRAME_POSITION)) frame.position = NULL;
    if (!(request->quantities & MD_FRAME_VELOCITY)) frame.velocity = NULL;
    if (!(request->quantities & MD_FRAME_FORCE)) frame.force = NULL;
    if (!(request->quantities & MD_FRAME_IMAGE)) frame.image = NULL;
    return frame;
}

MdStatus md_cpu_output_wait(void *context, const MdOutputRequest *request, MdOutput *output) {
    const MdCpuContext *c = context;
    const MdCpuSlot *slot = &c->output.slots[request->slot];
    const int64_t issue = md_ring_wait(c->output.ring, request->slot);
    md_require(md_ring_arrive(c->output.ring, request, issue, &slot->step));
    *output = (MdOutput){.arrived = true, .sums = slot->sums, .fault = slot->fault};
    if (request->frame >= 0) output->frame = md_cpu_output_frame(c, request);
    return MD_OK;
}

MdStatus md_cpu_output_settle(void *context) {
    (void)context; /* every slot was full when output_begin returned */
    return MD_OK;
}
