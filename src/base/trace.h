/* The timeline of a run: the work of each thread and each stream over time, in the trace format that Perfetto
 * (https://ui.perfetto.dev) and chrome://tracing open.
 *
 * A trace has tracks: threads of the host (`steps`, `writer`) and streams of the device (`compute stream`, `copy
 * stream`). One thread at a time records on a track, into memory that was reserved when the track was made: no lock, no
 * allocation, no wait. If that memory is full, further spans are dropped and counted. Without a trace a track is NULL,
 * and recording on it is one test of a pointer. */
#ifndef MD_BASE_TRACE_H
#define MD_BASE_TRACE_H

#include <stdint.h>

#include "base/status.h"

typedef struct MdTrace MdTrace;
typedef struct MdTraceTrack MdTraceTrack;

/* Whose tracks stand together in the picture. */
typedef enum MdTraceProcess { MD_TRACE_HOST, MD_TRACE_DEVICE, MD_TRACE_N_PROCESSES } MdTraceProcess;

/* The kind of work of a span: its colour. */
typedef enum MdTraceKind {
    MD_TRACE_PHASE,  /* setup, loop, ...: of the whole run */
    MD_TRACE_STEPS,  /* forces and integration */
    MD_TRACE_LIST,   /* sort and search of a rebuild */
    MD_TRACE_GATHER, /* sums and frames on the side of the particles */
    MD_TRACE_COPY,   /* between device and host */
    MD_TRACE_WAIT,   /* of the host, for the device, a slot, the disk */
    MD_TRACE_WRITE,  /* into files */
    MD_TRACE_N_KINDS
} MdTraceKind;

enum { MD_TRACE_MAX_TRACKS = 6, MD_TRACE_EVENTS = 1 << 18 }; /* events: of a track in a run, 10 MiB */

/* n_events: room of each track. The time of the trace begins now. */
MdTrace *md_trace_create(int64_t n_events);
void md_trace_destroy(MdTrace *trace); /* accepts NULL */

/* Bytes of host memory that a trace takes at most. */
uint64_t md_trace_bytes(int64_t n_events);

/* The track of that name, made if there is none; NULL where trace is NULL. For the thread that created the trace;
 * other threads get the track as an argument. name is copied. */
MdTraceTrack *md_trace_track(MdTrace *trace, MdTraceProcess process, const char *name);

/* For the text of a process beside its tracks, such as the name of a GPU; copied. */
void md_trace_name_process(MdTrace *trace, MdTraceProcess process, const char *name);

void md_trace_add(MdTraceTrack *track, MdTraceKind kind, const char *name, double begin_s, double end_s, int64_t step,
                  int64_t n_steps);
void md_trace_add_value(MdTraceTrack *track, const char *name, double time_s, double value);

/* A span from begin_s to end_s on md_clock_s, of step or frame number `step` (-1: of none). name is not copied: a
 * constant, or text that lives as long as the trace. Spans of a track do not overlap. */
static inline void md_trace_span(MdTraceTrack *track, MdTraceKind kind, const char *name, double begin_s, double end_s,
                                 int64_t step) {
    if (track) md_trace_add(track, kind, name, begin_s, end_s, step, 1);
}

/* The same for one span of n_steps steps that end with `step`. */
static inline void md_trace_batch(MdTraceTrack *track, MdTraceKind kind, const char *name, double begin_s, double end_s,
                                  int64_t step, int64_t n_steps) {
    if (track) md_trace_add(track, kind, name, begin_s, end_s, step, n_steps);
}

/* A number that changes with time, such as the slots in use: its value from time_s on. Threads that change the same
 * number record it on their own tracks, under the same name. */
static inline void md_trace_value(MdTraceTrack *track, const char *name, double time_s, double value) {
    if (track) md_trace_add_value(track, name, time_s, value);
}

/* Corrects a clock that ran at another rate: every time of the track becomes origin_s + (time - origin_s) * factor.
 * Accepts NULL. */
void md_trace_stretch(MdTraceTrack *track, double origin_s, double factor);

/* The possible offset between times of the device and of the host, for readers of the file. */
void md_trace_set_device_error(MdTrace *trace, double seconds);

int64_t md_trace_count(const MdTrace *trace);   /* events kept; 0 for NULL */
int64_t md_trace_dropped(const MdTrace *trace); /* events that found no room; 0 for NULL */

/* Writes the file aside and renames it; when no other thread records any more. MD_ERROR_OUTPUT when it cannot. */
MdStatus md_trace_save(const MdTrace *trace, const char *path, MdErrors *errors);

#endif
