#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

typedef struct Bytes {
    uint8_t *data;
    size_t n;
} Bytes;

enum { MAX_BYTES = 8192, MAX_SEEDS = 512 };

static Bytes seeds[MAX_SEEDS];
static int n_seeds;
static uint64_t random_state;
static long n_executions;

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t draw(uint64_t below) {
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return below ? (z ^ z >> 31) % below : 0;
}

static const char *const *wanted_endings;

static int is_wanted(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    for (const char *const *ending = wanted_endings; dot && *ending; ending++)
        if (strcmp(dot, *ending) == 0) return 1;
    return 0;
}

static void read_seed(const char *folder, const char *name) {
    char *path = md_format("%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    Bytes *seed = &seeds[n_seeds++];
    seed->data = malloc(MAX_BYTES);
    md_require(file && seed->data);
    seed->n = fread(seed->data, 1, MAX_BYTES / 2, file);
    fclose(file);
    free(path);
}

/* The files of a folder in the order of their names, so that one seed gives the same inputs everywhere. */
static void read_folder(const char *source, const char *name) {
    char *folder = md_format("%s/%s", source, name);
    struct dirent **entries;
    int n = scandir(folder, &entries, is_wanted, alphasort);
    md_require(n > 0 && n_seeds + n <= MAX_SEEDS);
    for (int k = 0; k < n; k++) {
        read_seed(folder, entries[k]->d_name);
        free(entries[k]);
    }
    free(entries);
    free(folder);
}

/* Opens a gap of n bytes at `at`, if there is room; returns whether it did. */
static bool open_gap(Bytes *text, size_t at, size_t n) {
    if (text->n + n > MAX_BYTES) return false;
    memmove(text->data + at + n, text->data + at, text->n - at);
    text->n += n;
    return true;
}

static void insert(Bytes *text, const void *piece, size_t n) {
    size_t at = draw(text->n + 1);
    if (open_gap(text, at, n)) memcpy(text->data + at, piece, n);
}

static void mutate(Bytes *text, const FuzzPlan *plan) {
    size_t at = draw(text->n), n = draw(text->n - at < 64 ? text->n - at + 1 : 64);
    const Bytes *other = &seeds[draw((uint64_t)n_seeds)];
    uint8_t byte = (uint8_t)draw(256);
    const char *word;
    switch (draw(7)) {
    case 0:
        if (text->n) text->data[at] = byte;
        break;
    case 1: insert(text, &byte, 1); break;
    case 2: /* a piece goes */
        memmove(text->data + at, text->data + at + n, text->n - at - n);
        text->n -= n;
        break;
    case 3: /* a piece stands twice */
        if (open_gap(text, at, n)) memcpy(text->data + at, text->data + at + n, n);
        break;
    case 4: /* a piece of another deck */
        at = draw(other->n);
        insert(text, other->data + at, draw(other->n - at + 1));
        break;
    default:
        word = plan->piece(draw, &n);
        insert(text, word, n);
        break;
    }
}

/* --- what is left of a crash --- */

static Bytes text;   /* the input */
static bool running; /* the reader has it */

static void save_input(void) {
    if (!running) return;
    running = false;
    FILE *file = fopen("fuzz.crash", "wb");
    if (file && fwrite(text.data, 1, text.n, file) == text.n && fclose(file) == 0)
        fprintf(stderr, "execution %ld: the input is in fuzz.crash\n", n_executions);
}

/* Under the address sanitizer its own report must come first: it calls back when it is done. */
#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*callback)(void));
static void catch_crashes(void) {
    __sanitizer_set_death_callback(save_input);
    atexit(save_input);
}
#else
static void save_and_end(int signal_number) {
    save_input();
    _exit(128 + signal_number);
}

static void catch_crashes(void) {
    signal(SIGABRT, save_and_end);
    signal(SIGSEGV, save_and_end);
    atexit(save_input); /* md_panic ends by exit */
}
#endif

long fuzz_run(const FuzzPlan *plan, int argc, char **argv) {
    const char *source = getenv("MDMINI_SOURCE");
    double seconds = 3;
    uint64_t seed = 1;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--seconds") == 0) seconds = strtod(argv[k + 1], NULL);
        if (strcmp(argv[k], "--seed") == 0) seed = strtoull(argv[k + 1], NULL, 10);
    }
    if (!source) {
        printf("skipped: MDMINI_SOURCE does not name the source tree\n");
        return -1;
    }
    wanted_endings = plan->endings;
    for (const char *const *folder = plan->folders; *folder; folder++) read_folder(source, *folder);
    catch_crashes();

    text.data = malloc(MAX_BYTES);
    md_require(text.data != NULL);
    random_state = seed;
    for (double end = md_clock_s() + seconds; md_clock_s() < end; n_executions++) {
        const Bytes *start = &seeds[draw((uint64_t)n_seeds)];
        memcpy(text.data, start->data, text.n = start->n);
        for (uint64_t m = draw(6); m > 0; m--) mutate(&text, plan);
        running = true;
        LLVMFuzzerTestOneInput(text.data, text.n);
        running = false;
    }
    printf("%ld executions from %d files, seed %llu\n", n_executions, n_seeds, (unsigned long long)seed);
    free(text.data);
    for (int k = 0; k < n_seeds; k++) free(seeds[k].data);
    return n_executions;
}
