#include "report/overlap.h"

#include <math.h>

/* If the writer writes for this share of the loop, the steps wait for it. */
static const double busy_share = 0.9;

typedef struct Overlap {
    double lost_s;                              /* that the thread of the steps spent with output */
    double waited_s;                            /* of that in waits for copies and files */
    double work_s;                              /* copies and files took */
    double hidden;                              /* share of the work that the steps did not wait for; NaN: no work */
    double frame_bytes_per_s, file_bytes_per_s; /* of numbers, and of their form in the files; NaN: no frames */
    bool at_file_speed;                         /* the files are the slowest part of the run */
    uint64_t slots_bytes;                       /* of the host, at most in use for frames on their way */
    MdRingSpec ring;
} Overlap;

static Overlap find_overlap(const MdRecord *r) {
    const MdPipelineStatistics *w = &r->written;
    const bool aside = r->config->output_pipeline == MD_ON;
    const MdRingSpec ring = md_pipeline_ring(r->config);
    const double copy_s = isfinite(w->copy_s) ? w->copy_s : 0;
    Overlap o = {.lost_s = w->put_s + w->drain_s, .work_s = copy_s + w->write_s, .ring = ring};
    /* In line all of it is waited for; copies to pageable memory are, wherever they are made. */
    o.waited_s = !aside ? o.work_s : w->full_s + w->drain_s;
    if (aside && r->config->output_host_memory == MD_HOST_MEMORY_PAGEABLE) o.waited_s += copy_s;
    o.hidden = w->n_frames > 0 ? fmax(0, 1 - o.waited_s / o.work_s) : NAN;
    o.frame_bytes_per_s = w->n_frames > 0 ? (double)w->frame_bytes / w->write_s : NAN;
    o.file_bytes_per_s = w->n_frames > 0 ? (double)w->file_bytes / w->write_s : NAN;
    o.at_file_speed = (w->n_full > 0 || !aside) && w->write_s > busy_share * r->loop_seconds;
    const int64_t n_rows = ring.by_blocks ? md_comm_block_size(r->comm, r->plan.n_atoms) : r->plan.n_atoms;
    o.slots_bytes = (uint64_t)ring.n_frames * md_frame_bytes(n_rows, ring.quantities, ring.precision);
    return o;
}

static double mebibytes(uint64_t bytes) { return (double)bytes / (1024.0 * 1024.0); }

static void log_frames(MdRecord *r, const Overlap *o) {
    const MdPipelineStatistics *w = &r->written;
    md_log(r->log, "          frames: %lld of %.4g MiB in all, written%s in %.3f s: %.4g MB/s of numbers",
           (long long)w->n_frames, mebibytes(w->frame_bytes), r->comm && o->ring.by_blocks ? " by all ranks" : "",
           w->write_s, 1e-6 * o->frame_bytes_per_s);
    if (w->file_bytes != w->frame_bytes)
        md_log(r->log, ", %.4g MB/s into the files, where they take %.4g MiB", 1e-6 * o->file_bytes_per_s,
               mebibytes(w->file_bytes));
    if (w->copy_s > 0) md_log(r->log, ", copied to the host in %.3f s", w->copy_s);
    md_log(r->log, "\n          %.1f%% of copying and writing hidden behind the steps; %lld waits for a slot, %.3f s\n",
           100 * o->hidden, (long long)w->n_full, w->full_s);
    md_log(r->log,
           "          frame buffers: %d of %.4g MiB each, so at most %.4g MiB of the host for frames on their way\n",
           o->ring.n_frames, mebibytes(o->slots_bytes) / o->ring.n_frames, mebibytes(o->slots_bytes));
    if (o->at_file_speed)
        md_log(r->log, "          the run goes at the speed of its files: they were written for %.0f%% of the loop\n",
               100 * w->write_s / r->loop_seconds);
}

void md_overlap_log(MdRecord *r) {
    const Overlap o = find_overlap(r);
    md_log(r->log, "\noutput    the steps spent %.3f s with it (%.2f%% of the loop), %lld row%s of the table\n",
           o.lost_s, 100 * o.lost_s / r->loop_seconds, (long long)r->written.n_rows, r->written.n_rows == 1 ? "" : "s");
    if (r->written.n_frames > 0) log_frames(r, &o);
}

void md_overlap_write(MdJson *json, const MdRecord *r) {
    const Overlap o = find_overlap(r);
    const MdPipelineStatistics *w = &r->written;
    md_json_begin_object(json, "output");
    md_json_int(json, "rows", w->n_rows);
    md_json_int(json, "frames", w->n_frames);
    md_json_int(json, "frame_bytes", (int64_t)w->frame_bytes); /* of all frames, as numbers */
    md_json_int(json, "file_bytes", (int64_t)w->file_bytes);   /* that they take in the files */
    md_json_real(json, "steps_seconds", o.lost_s);
    md_json_real(json, "steps_share", o.lost_s / r->loop_seconds);
    md_json_int(json, "waits_for_a_slot", w->n_full);
    md_json_real(json, "wait_seconds", w->full_s);
    md_json_real(json, "drain_seconds", w->drain_s);
    md_json_real(json, "copy_seconds", w->copy_s);
    md_json_real(json, "write_seconds", w->write_s);
    md_json_real(json, "frame_bytes_per_second", o.frame_bytes_per_s);
    md_json_real(json, "file_bytes_per_second", o.file_bytes_per_s);
    md_json_real(json, "hidden_share", o.hidden);
    md_json_bool(json, "at_file_speed", o.at_file_speed);
    md_json_int(json, "slots", o.ring.n_frames);
    md_json_int(json, "slots_host_bytes", (int64_t)o.slots_bytes);
    md_json_end_object(json);
}
