/* How the emulator stops a program, and small things that all of it needs. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emulator.h"

_Noreturn void emulator_fail(const char *format, ...) {
    char message[1024], thread[512] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (emulator_running) emulator_describe_lane(emulator_running, thread, sizeof thread);
    fflush(stdout);
    fprintf(stderr, "emulator: %s%s%s\n", thread, thread[0] ? ": " : "", message);
    fflush(NULL);
    _exit(EMULATOR_EXIT); /* no handlers at exit: whatever is not freed now is no news */
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    if (!emulator_running) { /* the program's own fault, or it touched device memory */
        char place[256];
        emulator_memory_describe(info->si_addr, place, sizeof place);
        if (number == SIGSEGV && strncmp(place, "outside", 7) != 0) {
            fprintf(stderr, "emulator: the host accesses %p, %s\n", info->si_addr, place);
            _exit(EMULATOR_EXIT);
        }
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (number == SIGILL) emulator_fail("index outside of an array, or code that cannot be reached");
    if (number == SIGFPE) emulator_fail("integer division by zero");
    if (emulator_fiber_overflow(info->si_addr)) emulator_fail("stack overflow: too much local memory");
    if (emulator_beyond_shared(info->si_addr)) emulator_fail("access behind the dynamic shared memory");
    char place[256];
    emulator_memory_describe(info->si_addr, place, sizeof place);
    emulator_fail("access to %p, %s", info->si_addr, place);
}

void emulator_catch_signals(void) {
    static char stack[64 * 1024]; /* a fiber that has overflown its own has none */
    static _Thread_local bool done;
    if (done) return;
    done = true;
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternative, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) sigaction(numbers[k], &action, NULL);
}

static void at_exit(int code, void *unused) {
    (void)unused;
    if (emulator_setting("MDMINI_EMULATOR_LEAKS", 1) == 0) return;
    size_t n =
        emulator_memory_report() + emulator_report_streams() + emulator_report_graphs() + emulator_report_textures();
    size_t modules = emulator_count_modules();
    if (modules > 0) fprintf(stderr, "emulator: %zu module%s not unloaded\n", modules, modules == 1 ? "" : "s");
    if (n + modules == 0) return;
    fflush(NULL);
    if (code == 0) _exit(EMULATOR_EXIT);
}

static pthread_mutex_t lock;
static int depth; /* of calls that hold it */

static void start(void) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
    on_exit(at_exit, NULL);
}

void emulator_enter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    if (depth++ == 0) emulator_catch_signals();
}

void emulator_leave(void) {
    if (--depth == 0) emulator_memory_close();
    pthread_mutex_unlock(&lock);
}

long emulator_setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

uint32_t emulator_random(void) { /* xorshift */
    static uint64_t state;
    if (state == 0) state = ((uint64_t)emulator_setting("MDMINI_EMULATOR_SEED", 1) + 1) * 0x9e3779b97f4a7c15u | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

int64_t emulator_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t emulator_hash(uint64_t hash, const void *data, size_t bytes) { /* FNV-1a, of words where it can */
    const unsigned char *p = data;
    for (; bytes >= 8; p += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    for (; bytes > 0; p++, bytes--) hash = (hash ^ *p) * 0x100000001b3u;
    return hash ^ hash >> 31;
}
