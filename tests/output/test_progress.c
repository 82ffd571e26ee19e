/* The progress display, by a clock of our own: what is written when, and what an idle update costs. */
#define _POSIX_C_SOURCE 200809L
#include "report/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"
#include "deck/choices.h"

static double now_s;
static int n_looks;
static double fake_clock_s(void) {
    n_looks++;
    return now_s;
}

typedef struct Display {
    char *text;
    size_t length;
    FILE *stream;
    MdProgress *progress;
} Display;

static void open_display(Display *display, int mode, bool terminal, int64_t n_steps) {
    now_s = 1000;
    n_looks = 0;
    display->stream = open_memstream(&display->text, &display->length);
    MdProgressSpec spec = {mode, n_steps, display->stream, terminal, fake_clock_s};
    display->progress = md_progress_create(&spec);
    fflush(display->stream);
}

static void close_display(Display *display) {
    md_progress_destroy(display->progress);
    fclose(display->stream);
    free(display->text);
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* Steps at a steady pace, from the first to the last. */
static void run(Display *display, int64_t n_steps, double seconds_per_step) {
    for (int64_t step = 1; step <= n_steps; step++) {
        now_s += seconds_per_step;
        md_progress_update(display->progress, step);
    }
    fflush(display->stream);
}

static void test_plain(void) {
    check_context("plain lines");
    Display display;
    open_display(&display, MD_PROGRESS_AUTO, false, 100000);
    run(&display, 100000, 0.01); /* 1000 s */
    int lines = count(display.text, "\n");
    CHECK(lines >= 14 && lines <= 16); /* one in 60 s, seen up to 6 s late */
    CHECK(!strchr(display.text, '\r') && !strchr(display.text, '\033'));
    long long step, total;
    double percent, speed;
    CHECK(sscanf(display.text, "step %lld of %lld (%lf %%), %lf steps/s,", &step, &total, &percent, &speed) == 4);
    CHECK(total == 100000 && step >= 6000 && step <= 6600);
    CHECK_NEAR(percent, (double)step / 1000, 0.06);
    CHECK_NEAR(speed, 100, 0.1);
    CHECK(strstr(display.text, "15:40 left, 1:00 elapsed") || strstr(display.text, "15:3"));
    CHECK(n_looks < 100000 / 50); /* the clock is looked at seldom */
    close_display(&display);
}

static void test_bar(void) {
    check_context("bar");
    setenv("LC_ALL", "C", 1);
    Display display;
    open_display(&display, MD_PROGRESS_AUTO, true, 1000);
    run(&display, 1000, 0.01); /* 10 s */
    int drawn = count(display.text, "\r");
    CHECK(drawn >= 40 && drawn <= 50);
    CHECK(!strchr(display.text, '\n') && strchr(display.text, '#'));
    for (char *line = strtok(display.text, "\r"); line; line = strtok(NULL, "\r"))
        if (!CHECK(strlen(line) < 80 + strlen("\033[K"))) break;
    md_progress_pause(display.progress);
    md_progress_resume(display.progress);
    fflush(display.stream);
    CHECK(display.length > 4 && strcmp(display.text + display.length - 4, "\r\033[K") == 0);
    size_t before = display.length;
    md_progress_pause(display.progress);
    md_progress_resume(display.progress);
    fflush(display.stream);
    CHECK(display.length == before); /* nothing is there to be cleared */
    close_display(&display);

    check_context("bar of blocks");
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    open_display(&display, MD_PROGRESS_BAR, false, 1000);
    run(&display, 500, 0.01);
    CHECK(strstr(display.text, "█") && !strchr(display.text, '#'));
    close_display(&display);
    setenv("LC_ALL", "C", 1);
}

/* A step may suddenly take long: the display must not fall asleep over it. */
static void test_uneven(void) {
    check_context("slow after fast");
    Display display;
    open_display(&display, MD_PROGRESS_BAR, true, 1000000000);
    run(&display, 10000, 1e-6);
    int looks = n_looks;
    for (int64_t step = 10001; step <= 10000 + 20000; step++) {
        now_s += 1;
        md_progress_update(display.progress, step);
    }
    fflush(display.stream);
    CHECK(n_looks - looks > 19000);
    close_display(&display);
}

static void test_modes(void) {
    check_context("dumb terminal");
    setenv("TERM", "dumb", 1);
    Display display;
    open_display(&display, MD_PROGRESS_AUTO, true, 1000);
    run(&display, 1000, 0.1);
    CHECK(!strchr(display.text, '\r') && count(display.text, "\n") == 1);
    close_display(&display);
    setenv("TERM", "xterm", 1);

    check_context("off");
    open_display(&display, MD_PROGRESS_OFF, true, 1000);
    run(&display, 1000, 10);
    CHECK(display.length == 0);
    close_display(&display);
    md_progress_destroy(NULL);
}

/* An update that shows nothing must be lost in a step, the shortest of which takes microseconds. */
static void test_cost(void) {
    check_context("cost");
    FILE *stream = fopen("/dev/null", "w");
    enum { N = 20000000 };
    MdProgressSpec spec = {MD_PROGRESS_BAR, N, stream, false, md_clock_s};
    MdProgress *progress = md_progress_create(&spec);
    double start_s = md_clock_s();
    for (int64_t step = 1; step <= N; step++) md_progress_update(progress, step);
    double per_update_s = (md_clock_s() - start_s) / N;
    printf("%.2f ns an update\n", 1e9 * per_update_s);
    CHECK(per_update_s < 50e-9);
    md_progress_destroy(progress);
    fclose(stream);
}

int main(void) {
    setenv("TERM", "xterm", 1);
    test_plain();
    test_bar();
    test_uneven();
    test_modes();
    test_cost();
    return check_finish();
}
