/* The recorder of the timeline: rooms are bounded, what finds none is counted, names are as JSON wants them, and a clock
 * can be put right. What a run records is judged by tests/run/test_trace.py. */
#define _XOPEN_SOURCE 700
#include "base/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "check.h"

/* The text of a file; free(). */
static char *read_text(const char *path) {
    FILE *file = fopen(path, "r");
    md_require(file);
    char *text = calloc(1, 1 << 16);
    const size_t n = fread(text, 1, (1 << 16) - 1, file);
    md_require(text && n > 0);
    fclose(file);
    return text;
}

static char *save(const MdTrace *trace) {
    MdErrors *errors = md_errors_create();
    CHECK(md_trace_save(trace, "trace.json", errors) == MD_OK && md_errors_count(errors) == 0);
    CHECK(access("trace.json.tmp", F_OK) != 0);
    md_errors_destroy(errors);
    return read_text("trace.json");
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

static void test_none(void) {
    check_context("no trace");
    MdTraceTrack *track = md_trace_track(NULL, MD_TRACE_HOST, "steps");
    CHECK(!track);
    md_trace_span(track, MD_TRACE_STEPS, "force", 0, 1, 1);
    md_trace_batch(track, MD_TRACE_STEPS, "batch", 0, 1, 1, 16);
    md_trace_value(track, "slots", 0, 1);
    md_trace_stretch(track, 0, 2);
    CHECK(md_trace_count(NULL) == 0 && md_trace_dropped(NULL) == 0);
    md_trace_destroy(NULL);
}

static void test_bound(void) {
    check_context("bound");
    MdTrace *trace = md_trace_create(4);
    MdTraceTrack *steps = md_trace_track(trace, MD_TRACE_HOST, "steps");
    MdTraceTrack *writer = md_trace_track(trace, MD_TRACE_HOST, "writer");
    CHECK(steps != writer && md_trace_track(trace, MD_TRACE_HOST, "steps") == steps);
    CHECK(md_trace_track(trace, MD_TRACE_DEVICE, "steps") != steps);
    const double start = md_clock_s();
    for (int k = 0; k < 10; k++) md_trace_span(steps, MD_TRACE_STEPS, "force", start + k, start + k + 0.5, k);
    for (int k = 0; k < 3; k++) md_trace_value(writer, "slots", start + k, k);
    CHECK(md_trace_count(trace) == 7 && md_trace_dropped(trace) == 6);
    char *text = save(trace);
    CHECK(strstr(text, "\"events\": 7, \"dropped\": 6"));
    CHECK(count(text, "\"ph\": \"X\"") == 4 && count(text, "\"ph\": \"C\"") == 3);
    CHECK(count(text, "\"thread_name\"") == 3); /* a track without events is there as well */
    CHECK(strstr(text, "\"step\": 3}") && !strstr(text, "\"step\": 4}"));
    free(text);
    md_trace_destroy(trace);
}

static void test_names(void) {
    check_context("names");
    MdTrace *trace = md_trace_create(4);
    MdTraceTrack *track = md_trace_track(trace, MD_TRACE_DEVICE, "compute stream");
    md_trace_name_process(trace, MD_TRACE_DEVICE, "a \"GPU\" with a \\ and a\nnew line");
    md_trace_batch(track, MD_TRACE_STEPS, "steps", 1, 2, 32, 16);
    md_trace_span(track, MD_TRACE_COPY, "copy", 1, 2, -1);
    char *text = save(trace);
    CHECK(strstr(text, "\"a  GPU  with a   and a new line\""));
    CHECK(strstr(text, "\"cat\": \"steps\", \"args\": {\"step\": 32, \"n_steps\": 16}}"));
    CHECK(strstr(text, "\"cat\": \"copy\"}"));
    free(text);
    md_trace_destroy(trace);
}

/* Times are microseconds from the creation. A device whose clock runs at half the rate: what it calls 1 s is 2 s. */
static void test_times(void) {
    check_context("times");
    const double before = md_clock_s();
    MdTrace *trace = md_trace_create(4);
    const double after = md_clock_s(), origin = after + 1;
    MdTraceTrack *track = md_trace_track(trace, MD_TRACE_DEVICE, "compute stream");
    md_trace_span(track, MD_TRACE_STEPS, "force", origin + 1, origin + 1.5, 1);
    md_trace_value(track, "slots", origin + 1, 3);
    md_trace_stretch(track, origin, 2);
    char *text = save(trace), *span = strstr(text, "\"ts\": "), *value = span ? strstr(span + 1, "\"ts\": ") : NULL;
    double begin = 0, duration = 0, time = 0, number = 0;
    CHECK(span && sscanf(span, "\"ts\": %lf, \"dur\": %lf", &begin, &duration) == 2);
    CHECK(value && sscanf(value, "\"ts\": %lf, \"args\": {\"value\": %lf", &time, &number) == 2);
    CHECK(begin >= 3e6 - 0.001 && begin <= 3e6 + 1e6 * (after - before) + 0.001);
    CHECK(duration > 1e6 - 0.002 && duration < 1e6 + 0.002);
    CHECK(time == begin && number == 3);
    free(text);
    md_trace_destroy(trace);
}

static void test_refused(void) {
    check_context("cannot be written");
    MdTrace *trace = md_trace_create(1);
    MdErrors *errors = md_errors_create();
    CHECK(md_trace_save(trace, "no/such/folder.json", errors) == MD_ERROR_OUTPUT && md_errors_count(errors) == 1);
    md_errors_destroy(errors);
    if (access("/dev/full", W_OK) == 0) {
        md_require(symlink("/dev/full", "full.json.tmp") == 0); /* the file aside */
        MdTraceTrack *track = md_trace_track(trace, MD_TRACE_HOST, "steps");
        md_trace_span(track, MD_TRACE_STEPS, "force", 0, 1, 1);
        errors = md_errors_create();
        CHECK(md_trace_save(trace, "full.json", errors) == MD_ERROR_OUTPUT);
        CHECK(md_errors_count(errors) == 1 && strstr(md_errors_text(errors, 0), "full.json: No space left on device"));
        CHECK(access("full.json", F_OK) != 0 && access("full.json.tmp", F_OK) != 0);
        md_errors_destroy(errors);
    }
    md_trace_destroy(trace);
}

int main(void) {
    char root[] = "test_trace_XXXXXX";
    md_require(mkdtemp(root) && chdir(root) == 0);
    test_none();
    test_bound();
    test_names();
    test_times();
    test_refused();
    remove("trace.json");
    md_require(chdir("..") == 0 && rmdir(root) == 0);
    return check_finish();
}
