/* Output of the cpu backend: the compute threads fill the slot while the producer waits, so that an ISSUED slot is complete. The
 * mutex of the ring (backend/ring.h) orders these writes before the reads of the consumer. With several ranks each
 * has its own particles in its slot, and the consumers bring them together on rank 0. */
#include "base/memory.h"
#include "cpu/context.h"

static void *take(MdCpuContext *c, const MdRingSpec *spec, int64_t n_rows, unsigned quantity, const char *what) {
    const size_t bytes = (size_t)md_frame_bytes(n_rows, spec->quantities & quantity, spec->precision);
    return bytes ? md_cpu_take(c, (int64_t)bytes, 1, what) : NULL;
}

static MdFrame take_frame(MdCpuContext *c, const MdRingSpec *spec, int64_t n_rows) {
    return (MdFrame){.precision = spec->precision,
                     .position = take(c, spec, n_rows, MD_FRAME_POSITION, "positions of a frame"),
                     .velocity = take(c, spec, n_rows, MD_FRAME_VELOCITY, "velocities of a frame"),
                     .force = take(c, spec, n_rows, MD_FRAME_FORCE, "forces of a frame"),
                     .image = take(c, spec, n_rows, MD_FRAME_IMAGE, "images of a frame")};
}

/* With `counting` set, only adds up the sizes. n_own: atoms of this rank. */
static void take_slots(MdCpuContext *c, const MdRingSpec *spec, int64_t n_own, bool has_ranks) {
    MdCpuOutput *output = &c->output;
    output->slots = md_cpu_take(c, spec->n_slots, sizeof *output->slots, "ring slots");
    output->parts = md_cpu_take(c, spec->n_frames, sizeof *output->parts, "frame buffers");
    for (int k = 0; k < spec->n_frames; k++) {
        const MdPart part = {.frame = take_frame(c, spec, n_own),
                             .ids = has_ranks ? md_cpu_take(c, n_own, sizeof(int32_t), "ids of a frame") : NULL,
                             .room = n_own};
        if (!c->counting) output->parts[k] = part;
    }
    if (has_ranks && spec->n_frames > 0)
        output->whole = take_frame(c, spec, md_ranks_frame_room(c->comm, c->n_all, spec->by_blocks));
}

MdMemory md_cpu_output_estimate(const MdConfig *config, const MdSystemPlan *plan, const MdRingSpec *spec) {
    (void)config;
    MdCpuContext c = {.counting = true, .n_all = plan->n_atoms, .comm = plan->comm};
    take_slots(&c, spec, md_cpu_share(plan->n_atoms, plan->comm), plan->comm != NULL);
    return (MdMemory){.host_bytes = c.host_bytes};
}

MdStatus md_cpu_output_create(void *context, MdRing *ring) {
    MdCpuContext *c = context;
    md_require(!c->output.slots);
    take_slots(c, &ring->spec, c->n_atoms, md_cpu_has_ranks(c));
    c->output.spec = ring->spec;
    c->output.ring = ring;
    return MD_OK;
}

void md_cpu_output_free(MdCpuContext *c) {
    MdCpuOutput *output = &c->output;
    MdPart whole = {.frame = output->whole};
    for (int k = 0; k < output->spec.n_frames; k++) md_part_free(&output->parts[k]);
    md_part_free(&whole);
    md_free(output->slots);
    md_free(output->parts);
}

/* Only the quantities of the request. */
static MdFrame narrow(const MdFrame *frame, const MdOutputRequest *request) {
    MdFrame narrowed = *frame;
    narrowed.step = request->step;
    if (!(request->quantities & MD_FRAME_POSITION)) narrowed.position = NULL;
    if (!(request->quantities & MD_FRAME_VELOCITY)) narrowed.velocity = NULL;
    if (!(request->quantities & MD_FRAME_FORCE)) narrowed.force = NULL;
    if (!(request->quantities & MD_FRAME_IMAGE)) narrowed.image = NULL;
    return narrowed;
}

MdFrame md_cpu_output_frame(MdCpuContext *c, const MdOutputRequest *request) {
    md_require(request->frame < c->output.spec.n_frames);
    md_require((request->quantities & ~c->output.spec.quantities) == 0);
    MdPart *part = &c->output.parts[request->frame];
    if (md_cpu_has_ranks(c)) md_part_prepare(part, c->output.spec.quantities, c->output.spec.precision, c->n_atoms);
    return narrow(&part->frame, request);
}

int32_t *md_cpu_output_ids(const MdCpuContext *c, const MdOutputRequest *request) {
    return c->output.parts[request->frame].ids;
}

MdStatus md_cpu_output_wait(void *context, const MdOutputRequest *request, MdOutput *output) {
    MdCpuContext *c = context;
    const MdCpuSlot *slot = &c->output.slots[request->slot];
    MdComm *comm = c->output.ring->comm;
    const int64_t issue = md_ring_wait(c->output.ring, request->slot);
    md_require(md_ring_arrive(c->output.ring, request, issue, &slot->step));
    *output = (MdOutput){.arrived = true, .sums = md_ranks_sums(comm, &slot->sums)};
    output->fault = md_ranks_first_fault(comm, slot->fault);
    if (request->frame < 0) return MD_OK;
    MdPart part = c->output.parts[request->frame];
    part.frame = narrow(&part.frame, request);
    if (comm) {
        output->frame = narrow(&c->output.whole, request);
        md_ranks_send_frame(comm, &part, c->n_all, c->output.spec.by_blocks, &output->frame);
    } else {
        output->frame = part.frame;
    }
    return MD_OK;
}

MdStatus md_cpu_output_settle(void *context) {
    (void)context; /* every slot was full when output_begin returned */
    return MD_OK;
}
