#include "output/pipeline.h"

#include "base/clock.h"
#include "base/memory.h"

struct MdPipeline {
    MdH5md *file;
    MdFrame slot;
    double seconds;
};

static size_t real_bytes(const MdH5mdSpec *spec) {
    return spec->precision == MD_FILE_PRECISION_DOUBLE ? sizeof(double) : sizeof(float);
}

uint64_t md_pipeline_bytes(const MdH5mdSpec *spec) {
    uint64_t reals = 1 + (uint64_t)spec->velocities + (uint64_t)spec->forces;
    return (uint64_t)spec->n_atoms * 3 * (reals * real_bytes(spec) + (spec->images ? sizeof(int32_t) : 0));
}

static void destroy(MdPipeline *pipeline) {
    md_free(pipeline->slot.position);
    md_free(pipeline->slot.velocity);
    md_free(pipeline->slot.force);
    md_free(pipeline->slot.image);
    md_free(pipeline);
}

MdPipeline *md_pipeline_create(const char *path, const MdH5mdSpec *spec, MdErrors *errors) {
    MdPipeline *pipeline = md_alloc(1, sizeof *pipeline, "output pipeline");
    size_t count = (size_t)spec->n_atoms * 3, bytes = real_bytes(spec);
    pipeline->slot.precision = spec->precision;
    pipeline->slot.position = md_alloc(count, bytes, "frame positions");
    if (spec->velocities) pipeline->slot.velocity = md_alloc(count, bytes, "frame velocities");
    if (spec->forces) pipeline->slot.force = md_alloc(count, bytes, "frame forces");
    if (spec->images) pipeline->slot.image = md_alloc(count, sizeof(int32_t), "frame images");
    pipeline->file = md_h5md_create(path, spec, errors);
    if (pipeline->file) return pipeline;
    destroy(pipeline);
    return NULL;
}

MdStatus md_pipeline_put(MdPipeline *pipeline, const MdBackendOps *ops, void *context, const MdThermo *thermo,
                         MdErrors *errors) {
    double start = md_clock_s();
    pipeline->slot.step = thermo->step;
    pipeline->slot.time = thermo->time;
    MdStatus status = ops->gather(context, &pipeline->slot);
    if (status == MD_OK) status = md_h5md_append(pipeline->file, &pipeline->slot, thermo, errors);
    pipeline->seconds += md_clock_s() - start;
    return status;
}

MdStatus md_pipeline_close(MdPipeline *pipeline, MdErrors *errors) {
    if (!pipeline) return MD_OK;
    MdStatus status = md_h5md_close(pipeline->file, errors);
    destroy(pipeline);
    return status;
}

double md_pipeline_seconds(const MdPipeline *pipeline) { return pipeline->seconds; }
