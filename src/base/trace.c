/* The file: {"otherData": {...}, "traceEvents": [...]}, times in microseconds from the creation of the trace. Events: `X` a
 * span, `C` a value, `M` the names of processes and threads. The form is described in Google's `Trace Event Format`. */
#include "base/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/replace.h"
#include "base/version.h"

enum { VALUE = MD_TRACE_N_KINDS }; /* instead of a kind */

typedef struct Event {
    const char *name;
    double begin_s, end_s; /* of a value: its time, and it */
    int64_t step;
    int32_t n_steps, kind;
} Event;

struct MdTraceTrack {
    char name[32];
    MdTraceProcess process;
    int64_t n, room, n_dropped;
    Event *events;
};

struct MdTrace {
    double origin_s, device_error_s;
    int64_t n_events;
    int n_tracks;
    MdTraceTrack tracks[MD_TRACE_MAX_TRACKS];
    char process_name[MD_TRACE_N_PROCESSES][160];
};

static const char *const kind_names[MD_TRACE_N_KINDS] = {
    [MD_TRACE_PHASE] = "phase", [MD_TRACE_STEPS] = "steps", [MD_TRACE_LIST] = "list",  [MD_TRACE_GATHER] = "gather",
    [MD_TRACE_COPY] = "copy",   [MD_TRACE_WAIT] = "wait",   [MD_TRACE_WRITE] = "write"};

MdTrace *md_trace_create(int64_t n_events) {
    MdTrace *trace = md_alloc(1, sizeof *trace, "trace");
    trace->n_events = n_events;
    trace->origin_s = md_clock_s();
    md_trace_name_process(trace, MD_TRACE_HOST, "host");
    md_trace_name_process(trace, MD_TRACE_DEVICE, "device");
    return trace;
}

void md_trace_destroy(MdTrace *trace) {
    if (!trace) return;
    for (int k = 0; k < trace->n_tracks; k++) md_free(trace->tracks[k].events);
    md_free(trace);
}

uint64_t md_trace_bytes(int64_t n_events) {
    return sizeof(MdTrace) + MD_TRACE_MAX_TRACKS * (uint64_t)n_events * sizeof(Event);
}

MdTraceTrack *md_trace_track(MdTrace *trace, MdTraceProcess process, const char *name) {
    if (!trace) return NULL;
    for (int k = 0; k < trace->n_tracks; k++)
        if (trace->tracks[k].process == process && strcmp(trace->tracks[k].name, name) == 0) return &trace->tracks[k];
    md_require(trace->n_tracks < MD_TRACE_MAX_TRACKS);
    MdTraceTrack *track = &trace->tracks[trace->n_tracks++];
    snprintf(track->name, sizeof track->name, "%s", name);
    track->process = process;
    track->room = trace->n_events;
    track->events = md_alloc((size_t)trace->n_events, sizeof *track->events, "events of the trace");
    return track;
}

void md_trace_name_process(MdTrace *trace, MdTraceProcess process, const char *name) {
    if (trace) snprintf(trace->process_name[process], sizeof trace->process_name[process], "%s", name);
}

static void add(MdTraceTrack *track, Event event) {
    if (track->n < track->room) track->events[track->n++] = event;
    else track->n_dropped++;
}

void md_trace_add(MdTraceTrack *track, MdTraceKind kind, const char *name, double begin_s, double end_s, int64_t step,
                  int64_t n_steps) {
    add(track, (Event){name, begin_s, end_s, step, (int32_t)n_steps, (int32_t)kind});
}

void md_trace_add_value(MdTraceTrack *track, const char *name, double time_s, double value) {
    add(track, (Event){name, time_s, value, -1, 1, VALUE});
}

void md_trace_stretch(MdTraceTrack *track, double origin_s, double factor) {
    for (int64_t k = 0; track && k < track->n; k++) {
        Event *event = &track->events[k];
        event->begin_s = origin_s + (event->begin_s - origin_s) * factor;
        if (event->kind != VALUE) event->end_s = origin_s + (event->end_s - origin_s) * factor;
    }
}

void md_trace_set_device_error(MdTrace *trace, double seconds) { trace->device_error_s = seconds; }

int64_t md_trace_count(const MdTrace *trace) {
    int64_t n = 0;
    for (int k = 0; trace && k < trace->n_tracks; k++) n += trace->tracks[k].n;
    return n;
}

int64_t md_trace_dropped(const MdTrace *trace) {
    int64_t n = 0;
    for (int k = 0; trace && k < trace->n_tracks; k++) n += trace->tracks[k].n_dropped;
    return n;
}

/* --- the file ------------------------------------------------------------------------------------------------------ */

/* For the program's own names, and the name of a GPU: characters that JSON forbids become blanks. */
static void write_text(FILE *file, const char *text) {
    putc('"', file);
    for (; *text; text++) putc((unsigned char)*text < 32 || *text == '"' || *text == '\\' ? ' ' : *text, file);
    putc('"', file);
}

typedef struct Writer {
    FILE *file;
    const MdTrace *trace;
    const char *separator; /* before the next event */
} Writer;

static void begin_event(Writer *writer, const char *phase, int k) {
    fprintf(writer->file, "%s{\"ph\": \"%s\", \"pid\": %d, \"tid\": %d, \"name\": ", writer->separator, phase,
            (int)writer->trace->tracks[k].process + 1, k + 1);
    writer->separator = ",\n";
}

/* `what` (process_name, thread_name) of track k. */
static void write_name(Writer *writer, int k, const char *what, const char *name) {
    begin_event(writer, "M", k);
    fprintf(writer->file, "\"%s\", \"args\": {\"name\": ", what);
    write_text(writer->file, name);
    fprintf(writer->file, "}}");
}

/* Nanoseconds are as much as the clock gives. */
static void write_event(Writer *writer, int k, const Event *event) {
    FILE *file = writer->file;
    const bool is_value = event->kind == VALUE;
    begin_event(writer, is_value ? "C" : "X", k);
    write_text(file, event->name);
    fprintf(file, ", \"ts\": %.3f", 1e6 * (event->begin_s - writer->trace->origin_s));
    if (is_value) {
        fprintf(file, ", \"args\": {\"value\": %.9g}}", event->end_s);
        return;
    }
    fprintf(file, ", \"dur\": %.3f, \"cat\": \"%s\"", 1e6 * (event->end_s - event->begin_s), kind_names[event->kind]);
    if (event->step >= 0) {
        fprintf(file, ", \"args\": {\"step\": %" PRId64, event->step);
        if (event->n_steps != 1) fprintf(file, ", \"n_steps\": %" PRId32, event->n_steps);
        putc('}', file);
    }
    putc('}', file);
}

static void write_file(FILE *file, const void *data) {
    const MdTrace *trace = data;
    Writer writer = {.file = file, .trace = trace, .separator = ""};
    fprintf(file,
            "{\"displayTimeUnit\": \"ms\",\n\"otherData\": {\"program\": \"mdmini %s\", \"events\": %" PRId64
            ", \"dropped\": %" PRId64 ", \"device_error_us\": %.3f},\n\"traceEvents\": [\n",
            md_version()->version, md_trace_count(trace), md_trace_dropped(trace), 1e6 * trace->device_error_s);
    for (int k = 0; k < trace->n_tracks; k++) {
        const MdTraceTrack *track = &trace->tracks[k];
        write_name(&writer, k, "process_name", trace->process_name[track->process]);
        write_name(&writer, k, "thread_name", track->name);
    }
    for (int k = 0; k < trace->n_tracks; k++)
        for (int64_t e = 0; e < trace->tracks[k].n; e++) write_event(&writer, k, &trace->tracks[k].events[e]);
    fprintf(file, "\n]}\n");
}

MdStatus md_trace_save(const MdTrace *trace, const char *path, MdErrors *errors) {
    return md_replace_file(path, write_file, trace, errors);
}
