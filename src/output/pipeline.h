/* The way of thermo rows and frames from the backend to the log and into the trajectory files.
 *
 * The producer, the thread of the steps, puts a request into the ring and goes on; the backend fills the slot in the order of the
 * device's work; the consumer, the writer thread, waits for each slot in turn, makes the thermo row of its sums, hands it on and
 * appends the frame to the file. So the steps wait for neither device, bus nor disk, unless all slots or frame buffers are taken: then they
 * wait for the writer (back-pressure), and that is counted. With output.pipeline = off the same is done in line, by the
 * thread of the steps, one request at a time. Owners of a slot: backend/ring.h.
 *
 * Between create and close only the writer calls HDF5. The first error wins: nothing is written after it, and put returns
 * it, so that the run ends; messages travel with the call that returns the status. Rows and frames of a motion that has
 * become unstable are not written: MD_ERROR_PHYSICS without a message, ops->fault says more. */
#ifndef MD_OUTPUT_PIPELINE_H
#define MD_OUTPUT_PIPELINE_H

#include "output/trajectory.h"

typedef struct MdPipeline MdPipeline;

typedef struct MdPipelineSpec {
    const MdBackendOps *ops;
    void *context; /* of the backend; must live until close */
    const MdConfig *config;
    const MdBox *box;
    int64_t n_atoms;
    struct MdComm *comm; /* of all ranks, each of which has a pipeline: rank 0 writes. NULL: one process */
    const MdTrajectorySpec *trajectory; /* NULL: there are only rows */
    /* Gets each thermo row, in order, on the writer's thread. */
    void (*take_row)(void *user, const MdThermo *row);
    void *user;
    MdTrace *trace; /* NULL: none */
} MdPipelineSpec;

typedef struct MdPipelineStatistics {
    int64_t n_rows, n_frames; /* written */
    uint64_t frame_bytes;     /* of these frames, as numbers in memory */
    uint64_t file_bytes;      /* that they took in the files: compressed, or as text */
    double put_s;           /* host time that the steps spent in put, without waits for the device to make its steps, */
    int64_t n_full;         /* of that in waits for a slot: how often all were taken, */
    double full_s;          /* and how long it took the writer to give one back */
    double drain_s;         /* in waits for the writer to end with all that was under way; commits not counted */
    double device_s;        /* in waits for the device before these */
    double copy_s, write_s; /* device to host (NaN: not measured), and in the file */
} MdPipelineStatistics;

/* Creates ring, files and writer. NULL, with the problem in errors. */
MdPipeline *md_pipeline_create(const MdPipelineSpec *spec, MdErrors *errors);

/* Requests the output that is due (output/schedule.h) of the current particles, after `step`, which computed energies. heat:
 * of the thermostat so far. Returns at once, unless it has to wait for a slot. An error may be that of an earlier
 * request. */
MdStatus md_pipeline_put(MdPipeline *pipeline, int64_t step, unsigned due, double heat, MdErrors *errors);

/* Waits until all that was put is written: rows handed on, frames given to the file. Of several processes all come here. */
MdStatus md_pipeline_drain(MdPipeline *pipeline, MdErrors *errors);

/* The same, and until it is safe on the disk: flushed and synced. */
MdStatus md_pipeline_commit(MdPipeline *pipeline, MdErrors *errors);

/* The files, while the writer is at rest: after create, drain or commit. NULL: this rank has none, or the pipeline is NULL. */
MdTrajectory *md_pipeline_files(const MdPipeline *pipeline);

/* Waits for pending requests, ends the writer and closes the file. Accepts NULL. */
MdStatus md_pipeline_close(MdPipeline *pipeline, MdErrors *errors);

/* Of all that was put since the last call; call drain before. */
MdPipelineStatistics md_pipeline_take_statistics(MdPipeline *pipeline);

/* The ring of a run with these switches. */
MdRingSpec md_pipeline_ring(const MdConfig *config);
/* Whether a switch has an effect in such a loop. Switches for packing, buffering and copying frames have none without frames:
 * the sums of rows always arrive in pinned memory, and are then copied in the stream of the kernels. */
bool md_pipeline_uses(const MdConfig *config, int option);

#endif
