#define _DEFAULT_SOURCE 1
#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/memory.h"
#include "deck/choices.h"

/* A person sees no more than a few pictures a second; a log wants few lines. */
#define BAR_INTERVAL_S   0.2
#define PLAIN_INTERVAL_S 60.0
enum { MAX_WIDTH = 100, NUMBERS_WIDTH = 62, MIN_BAR = 8 };
/* Steps between two looks at the clock: a look costs some twenty nanoseconds, and steps may slow down in between. */
enum { MAX_STRIDE = 64 };

struct MdProgress {
    MdProgressSpec spec;
    int mode; /* auto resolved */
    bool blocks;
    pthread_mutex_t mutex; /* of the terminal: the bar, or somebody's lines; and of visible */
    bool visible;
    int bar_width;
    int64_t next_look, last_step;   /* step of the next look at the clock, and of the last */
    double interval_s;              /* between displays */
    double start_s, last_s, next_s; /* of the run, of the last look, of the next display */
};

static bool locale_is_utf8(void) {
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int k = 0; k < 3; k++) {
        const char *value = getenv(variables[k]);
        if (!value || !*value) continue;
        return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8") || strstr(value, "utf-8");
    }
    return false;
}

static int terminal_width(const MdProgressSpec *spec) {
    struct winsize size;
    if (!spec->terminal || ioctl(fileno(spec->stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col < MAX_WIDTH ? size.ws_col : MAX_WIDTH;
}

MdProgress *md_progress_create(const MdProgressSpec *spec) {
    MdProgress *progress = md_alloc(1, sizeof *progress, "progress");
    const char *terminal = getenv("TERM");
    bool dumb = !terminal || !*terminal || strcmp(terminal, "dumb") == 0;
    pthread_mutex_init(&progress->mutex, NULL);
    progress->spec = *spec;
    progress->mode = spec->mode;
    if (spec->mode == MD_PROGRESS_AUTO) progress->mode = spec->terminal && !dumb ? MD_PROGRESS_BAR : MD_PROGRESS_PLAIN;
    progress->blocks = locale_is_utf8();
    /* One column stays free: a full line makes some terminals wrap. */
    progress->bar_width = terminal_width(spec) - NUMBERS_WIDTH - 1;
    if (progress->bar_width < MIN_BAR) progress->bar_width = 0;
    progress->interval_s = progress->mode == MD_PROGRESS_BAR ? BAR_INTERVAL_S : PLAIN_INTERVAL_S;
    progress->start_s = progress->last_s = spec->clock_s();
    progress->next_s = progress->start_s + progress->interval_s;
    progress->next_look = progress->mode == MD_PROGRESS_OFF ? INT64_MAX : 1;
    return progress;
}

static void clear(MdProgress *progress) {
    if (!progress->visible) return;
    fputs("\r\033[K", progress->spec.stream);
    fflush(progress->spec.stream);
    progress->visible = false;
}

void md_progress_destroy(MdProgress *progress) {
    if (!progress) return;
    clear(progress);
    pthread_mutex_destroy(&progress->mutex);
    md_free(progress);
}

void md_progress_pause(MdProgress *progress) {
    if (!progress) return;
    pthread_mutex_lock(&progress->mutex);
    clear(progress);
}

void md_progress_resume(MdProgress *progress) {
    if (progress) pthread_mutex_unlock(&progress->mutex);
}

/* 7 s, 1:05, 2:03:04, 5 d 01:00:00 */
static void format_duration(char text[32], double seconds) {
    if (!(seconds < 1e9)) {
        snprintf(text, 32, "?");
        return;
    }
    long long s = llround(seconds), days = s / 86400, hours = s / 3600 % 24, minutes = s / 60 % 60;
    if (days) snprintf(text, 32, "%lld d %02lld:%02lld:%02lld", days, hours, minutes, s % 60);
    else if (hours) snprintf(text, 32, "%lld:%02lld:%02lld", hours, minutes, s % 60);
    else if (minutes) snprintf(text, 32, "%lld:%02lld", minutes, s % 60);
    else snprintf(text, 32, "%lld s", s);
}

static void draw_bar(MdProgress *progress, double share) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    FILE *stream = progress->spec.stream;
    double filled = share * progress->bar_width;
    int full = (int)filled, part = progress->blocks ? (int)((filled - full) * 8) : 0;
    fputs(progress->blocks ? "▕" : "[", stream);
    for (int k = 0; k < full; k++) fputs(progress->blocks ? "█" : "#", stream);
    fputs(eighths[part], stream);
    for (int k = full + (part > 0); k < progress->bar_width; k++) fputs(progress->blocks ? " " : ".", stream);
    fputs(progress->blocks ? "▏" : "]", stream);
}

static void show(MdProgress *progress, int64_t step, double now_s) {
    FILE *stream = progress->spec.stream;
    double elapsed_s = now_s - progress->start_s, share = (double)step / (double)progress->spec.n_steps;
    double per_s = (double)step / elapsed_s;
    char left[32], elapsed[32];
    format_duration(left, (double)(progress->spec.n_steps - step) / per_s);
    format_duration(elapsed, elapsed_s);
    if (progress->mode == MD_PROGRESS_PLAIN) {
        fprintf(stream, "step %" PRId64 " of %" PRId64 " (%.1f %%), %.4g steps/s, %s left, %s elapsed\n", step,
                progress->spec.n_steps, 100 * share, per_s, left, elapsed);
    } else {
        fprintf(stream, "\r%3d %% ", (int)(100 * share));
        if (progress->bar_width) draw_bar(progress, share);
        fprintf(stream, " %.4g steps/s, %s left, %s elapsed\033[K", per_s, left, elapsed);
        progress->visible = true;
    }
    fflush(stream);
}

void md_progress_update(MdProgress *progress, int64_t step) {
    if (step < progress->next_look) return;
    double now_s = progress->spec.clock_s(), passed_s = now_s - progress->last_s;
    if (now_s >= progress->next_s && step <= progress->spec.n_steps) {
        pthread_mutex_lock(&progress->mutex);
        show(progress, step, now_s);
        pthread_mutex_unlock(&progress->mutex);
        progress->next_s = now_s + progress->interval_s;
    }
    double stride = MAX_STRIDE;
    if (passed_s > 0) stride = (double)(step - progress->last_step) * 0.1 * progress->interval_s / passed_s;
    progress->next_look = step + (stride < 1 ? 1 : stride < MAX_STRIDE ? (int64_t)stride : MAX_STRIDE);
    progress->last_step = step;
    progress->last_s = now_s;
}
