/* A stand-in for the driver's libnvidia-ml.so.1, with answers from a script, for tests of what reads it
 * (src/sensors/nvml.c). Built twice: with STAND_IN_OLD it lacks the functions that came with later drivers.
 *
 * The script is the environment variable NVML_SCRIPT: `function=answer,answer,...;function=...`, where each answer serves
 * one call and the last one all that follow. An answer is a number; `!4`: the error of that number; `ramp:1000:500`: 1000,
 * and 500 a millisecond from the first call on; `hang`: none ever; `late:300`: 0, after 300 milliseconds. The name of a
 * function that is asked for one of several things has its number behind it: nvmlDeviceGetClockInfo.1. Processes are
 * `own/bytes` or `pid/bytes`. What the script does not name has the defaults below. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_KEYS = 64, SUCCESS = 0, NOT_FOUND = 6 };

typedef struct Call {
    char key[64];
    int n;
    double first_ms;
} Call;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Call calls[MAX_KEYS];

static const char defaults[] = "nvmlDeviceGetClockInfo.1=1980;nvmlDeviceGetClockInfo.2=2619;"
                               "nvmlDeviceGetMaxClockInfo.1=1980;nvmlDeviceGetMaxClockInfo.2=2619;"
                               "nvmlDeviceGetTemperature.0=41;nvmlDeviceGetPowerUsage=500000;"
                               "nvmlDeviceGetEnforcedPowerLimit=700000;"
                               "nvmlDeviceGetPowerManagementDefaultLimit=700000;"
                               "nvmlDeviceGetTotalEnergyConsumption=ramp:123456:500;nvmlDeviceGetEccMode=1;"
                               "nvmlDeviceGetPersistenceMode=1;nvmlDeviceGetMigMode=0;"
                               "nvmlDeviceGetComputeRunningProcesses=own/1048576;";

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* The n-th answer for key in text, or its last one; false: text does not name it. */
static int find_answer(const char *text, const char *key, int n, char answer[128]) {
    const size_t length = strlen(key);
    for (; text && *text; text = strchr(text, ';'), text += text != NULL) {
        if (strncmp(text, key, length) != 0 || text[length] != '=') continue;
        const char *from = text + length + 1;
        for (; n > 0; n--) {
            const size_t word = strcspn(from, ",;");
            if (from[word] != ',') break;
            from += word + 1;
        }
        snprintf(answer, 128, "%.*s", (int)strcspn(from, ",;"), from);
        return 1;
    }
    return 0;
}

static Call *count(const char *key) {
    int k = 0;
    while (k < MAX_KEYS - 1 && calls[k].key[0] && strcmp(calls[k].key, key) != 0) k++;
    if (!calls[k].key[0]) {
        snprintf(calls[k].key, sizeof calls[k].key, "%s", key);
        calls[k].first_ms = now_ms();
    }
    return &calls[k];
}

static void wait_for(char answer[128]) {
    int ms;
    while (strcmp(answer, "hang") == 0) pause();
    if (sscanf(answer, "late:%d", &ms) != 1) return;
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = 1000000L * (ms % 1000)};
    nanosleep(&time, NULL);
    snprintf(answer, 128, "0");
}

/* The text of the next answer; an error's number, or 0. */
static int next(const char *key, char answer[128]) {
    pthread_mutex_lock(&mutex);
    Call *call = count(key);
    if (!find_answer(getenv("NVML_SCRIPT"), key, call->n, answer) && !find_answer(defaults, key, call->n, answer))
        snprintf(answer, 128, "0");
    call->n++;
    double from, per_ms;
    if (sscanf(answer, "ramp:%lf:%lf", &from, &per_ms) == 2)
        snprintf(answer, 128, "%.0f", from + per_ms * (now_ms() - call->first_ms));
    pthread_mutex_unlock(&mutex);
    wait_for(answer);
    return answer[0] == '!' ? atoi(answer + 1) : SUCCESS;
}

static int number(const char *key, unsigned long long *value) {
    char answer[128];
    const int code = next(key, answer);
    if (code == SUCCESS) *value = strtoull(answer, NULL, 10);
    return code;
}

static int number_of(const char *name, int what, unsigned *value) {
    char key[64];
    unsigned long long wide;
    snprintf(key, sizeof key, "%s.%d", name, what);
    const int code = number(key, &wide);
    if (code == SUCCESS) *value = (unsigned)wide;
    return code;
}

static int narrow(const char *key, unsigned *value) {
    unsigned long long wide;
    const int code = number(key, &wide);
    if (code == SUCCESS) *value = (unsigned)wide;
    return code;
}

static int text(const char *key, const char *value, char *to, unsigned size) {
    char answer[128];
    const int code = next(key, answer);
    if (code == SUCCESS) snprintf(to, size, "%s", value);
    return code;
}

static int find(const char *key, const char *wanted, const char *name, void **device) {
    char answer[128];
    const int code = next(key, answer);
    *device = &mutex;
    return code == SUCCESS && strcmp(wanted, name) != 0 ? NOT_FOUND : code;
}

#define DEVICE void *device
#define EXPORT(declaration)                                                                                            \
    int declaration;                                                                                                   \
    int declaration

EXPORT(nvmlInit_v2(void)) {
    char answer[128];
    return next("nvmlInit_v2", answer);
}
EXPORT(nvmlShutdown(void)) {
    char answer[128];
    return next("nvmlShutdown", answer);
}
EXPORT(nvmlSystemGetDriverVersion(char *to, unsigned size)) {
    return text("nvmlSystemGetDriverVersion", "999.88.77", to, size);
}
EXPORT(nvmlSystemGetNVMLVersion(char *to, unsigned size)) {
    return text("nvmlSystemGetNVMLVersion", "stand-in", to, size);
}
EXPORT(nvmlDeviceGetHandleByUUID(const char *uuid, void **device)) {
    return find("nvmlDeviceGetHandleByUUID", "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", uuid, device);
}
EXPORT(nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)) {
    return find("nvmlDeviceGetHandleByPciBusId_v2", "0000:00:00.0", bus_id, device);
}
EXPORT(nvmlDeviceGetName(DEVICE, char *to, unsigned size)) {
    (void)device;
    return text("nvmlDeviceGetName", "GPU of the stand-in", to, size);
}
EXPORT(nvmlDeviceGetUUID(DEVICE, char *to, unsigned size)) {
    (void)device;
    return text("nvmlDeviceGetUUID", "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", to, size);
}

#define NUMBER(name)                                                                                                   \
    EXPORT(name(DEVICE, unsigned *value)) { return (void)device, narrow(#name, value); }
#define NUMBER_OF(name)                                                                                                \
    EXPORT(name(DEVICE, int what, unsigned *value)) { return (void)device, number_of(#name, what, value); }
#define LONG(name)                                                                                                     \
    EXPORT(name(DEVICE, unsigned long long *value)) { return (void)device, number(#name, value); }
#define MODES(name)                                                                                                    \
    EXPORT(name(DEVICE, unsigned *value, unsigned *later)) { return (void)device, *later = 0, narrow(#name, value); }

MODES(nvmlDeviceGetMigMode)
MODES(nvmlDeviceGetEccMode)
NUMBER(nvmlDeviceGetPersistenceMode)
NUMBER(nvmlDeviceGetEnforcedPowerLimit)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit)
NUMBER_OF(nvmlDeviceGetMaxClockInfo)
NUMBER_OF(nvmlDeviceGetClockInfo)
NUMBER_OF(nvmlDeviceGetTemperature)
NUMBER(nvmlDeviceGetPowerUsage)
LONG(nvmlDeviceGetCurrentClocksThrottleReasons)

EXPORT(nvmlDeviceGetTotalEccErrors(DEVICE, int kind, int counter, unsigned long long *value)) {
    (void)device, (void)counter;
    return number(kind == 0 ? "nvmlDeviceGetTotalEccErrors.corrected" : "nvmlDeviceGetTotalEccErrors.uncorrected",
                  value);
}

#ifndef STAND_IN_OLD
LONG(nvmlDeviceGetTotalEnergyConsumption)
LONG(nvmlDeviceGetCurrentClocksEventReasons)

typedef struct Process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
} Process;

/* All answers of the script at once. */
EXPORT(nvmlDeviceGetComputeRunningProcesses_v3(DEVICE, unsigned *n, Process *list)) {
    static const char key[] = "nvmlDeviceGetComputeRunningProcesses";
    char answer[128], before[128] = "";
    (void)device;
    const char *script = getenv("NVML_SCRIPT"), *source = find_answer(script, key, 0, answer) ? script : defaults;
    for (unsigned k = 0;; k++) {
        find_answer(source, key, (int)k, answer);
        if (answer[0] == '!') return atoi(answer + 1);
        if (k > 0 && strcmp(answer, before) == 0) return *n = k, SUCCESS; /* the last one again */
        list[k].pid = strncmp(answer, "own", 3) == 0 ? (unsigned)getpid() : (unsigned)atoi(answer);
        list[k].bytes = strtoull(strchr(answer, '/') + 1, NULL, 10);
        snprintf(before, sizeof before, "%s", answer);
    }
}
#endif
