#define _POSIX_C_SOURCE 200809L
#include "sensors/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

/* --- the library ---------------------------------------------------------------------------------------------------- */

typedef void *Device;
typedef void (*Function)(void);
typedef int (*Call)(void);
typedef int (*GetVersion)(char *, unsigned);
typedef int (*FindDevice)(const char *, Device *);
typedef int (*GetText)(Device, char *, unsigned);
typedef int (*GetNumber)(Device, unsigned *);
typedef int (*GetNumberOf)(Device, int, unsigned *);
typedef int (*GetLong)(Device, unsigned long long *);
typedef int (*GetModes)(Device, unsigned *, unsigned *); /* now, and after the next reset */
typedef int (*GetErrors)(Device, int, int, unsigned long long *);
typedef struct Process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
} Process;
typedef int (*GetProcesses)(Device, unsigned *, Process *);

enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7, CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, VOLATILE = 0 };
enum { CORRECTED = 0, UNCORRECTED = 1 };

#define FUNCTIONS(X)                                                                                                   \
    X(INIT, "nvmlInit_v2")                                                                                             \
    X(SHUTDOWN, "nvmlShutdown")                                                                                        \
    X(DRIVER_VERSION, "nvmlSystemGetDriverVersion")                                                                    \
    X(NVML_VERSION, "nvmlSystemGetNVMLVersion")                                                                        \
    X(BY_UUID, "nvmlDeviceGetHandleByUUID")                                                                            \
    X(BY_BUS, "nvmlDeviceGetHandleByPciBusId_v2")                                                                      \
    X(NAME, "nvmlDeviceGetName")                                                                                       \
    X(UUID, "nvmlDeviceGetUUID")                                                                                       \
    X(MIG, "nvmlDeviceGetMigMode")                                                                                     \
    X(ECC, "nvmlDeviceGetEccMode")                                                                                     \
    X(PERSISTENCE, "nvmlDeviceGetPersistenceMode")                                                                     \
    X(LIMIT, "nvmlDeviceGetEnforcedPowerLimit")                                                                        \
    X(DEFAULT_LIMIT, "nvmlDeviceGetPowerManagementDefaultLimit")                                                       \
    X(MAX_CLOCK, "nvmlDeviceGetMaxClockInfo")                                                                          \
    X(CLOCK, "nvmlDeviceGetClockInfo")                                                                                 \
    X(TEMPERATURE, "nvmlDeviceGetTemperature")                                                                         \
    X(POWER, "nvmlDeviceGetPowerUsage")                                                                                \
    X(ENERGY, "nvmlDeviceGetTotalEnergyConsumption")                                                                   \
    X(EVENTS, "nvmlDeviceGetCurrentClocksEventReasons") /* since driver 535 the name of the next */                    \
    X(THROTTLE, "nvmlDeviceGetCurrentClocksThrottleReasons")                                                           \
    X(ECC_ERRORS, "nvmlDeviceGetTotalEccErrors")                                                                       \
    X(PROCESSES, "nvmlDeviceGetComputeRunningProcesses_v3")                                                            \
    X(PROCESSES_2, "nvmlDeviceGetComputeRunningProcesses_v2")

enum {
#define INDEX(id, name) F_##id,
    FUNCTIONS(INDEX) N_FUNCTIONS
};
#define NAME(id, name) name,
#define LACK(id, name) "the NVML library lacks " name,
static const char *const names[] = {FUNCTIONS(NAME)};
static const char *const lacks[] = {FUNCTIONS(LACK)};

struct MdNvml {
    void *library;
    Function function[N_FUNCTIONS]; /* NULL: this version lacks it */
    bool initialized;
    Device device;
    const char *missing; /* why nothing is known; NULL: the device is there */
};

static const char *error_text(int code) {
    static const char *const texts[] = {"NVML: no error",
                                        "NVML: not initialized",
                                        "NVML: invalid argument",
                                        "NVML: not supported by this device",
                                        "NVML: no permission",
                                        "NVML: already initialized",
                                        "NVML: not found",
                                        "NVML: insufficient size",
                                        "NVML: insufficient external power",
                                        "NVML: the driver is not loaded",
                                        "NVML: timeout",
                                        "NVML: a problem with interrupts",
                                        "NVML: a library is not found",
                                        "NVML: the driver lacks the function",
                                        "NVML: the device's infoROM is corrupted",
                                        "NVML: the GPU has fallen off the bus",
                                        "NVML: the GPU has to be reset",
                                        "NVML: the operating system blocked the request",
                                        "NVML: library and driver have different versions",
                                        "NVML: in use",
                                        "NVML: insufficient memory",
                                        "NVML: no data"};
    return code >= 0 && (size_t)code < sizeof texts / sizeof texts[0] ? texts[code] : "NVML: another error";
}

/* Why a function cannot be asked; NULL: it can. */
static const char *obstacle(const MdNvml *nvml, int function) {
    if (nvml->missing) return nvml->missing;
    return nvml->function[function] ? NULL : lacks[function];
}

/* --- one question each ---------------------------------------------------------------------------------------------- */

/* The forms of functions that give a number, by the types above. */
typedef enum Form { NUMBER, NUMBER_OF, LONG, MODES, ERRORS } Form;

/* what: the clock, sensor or kind of errors, for functions that have several. */
static MdReading ask(const MdNvml *nvml, int function, Form form, int what, double unit) {
    const Function call = nvml->function[function];
    const char *why = obstacle(nvml, function);
    unsigned value = 0, later = 0;
    unsigned long long large = 0;
    if (why) return md_no_reading(why);
    const int code = form == NUMBER      ? ((GetNumber)call)(nvml->device, &value)
                     : form == NUMBER_OF ? ((GetNumberOf)call)(nvml->device, what, &value)
                     : form == LONG      ? ((GetLong)call)(nvml->device, &large)
                     : form == MODES     ? ((GetModes)call)(nvml->device, &value, &later)
                                         : ((GetErrors)call)(nvml->device, what, VOLATILE, &large);
    if (code != SUCCESS) return md_no_reading(error_text(code));
    return md_reading(unit * (form == LONG || form == ERRORS ? (double)large : value));
}

static MdReadText ask_version(const MdNvml *nvml, int function) {
    const char *why = nvml->initialized ? NULL : nvml->missing; /* known without the device */
    MdReadText text = {0};
    if (!why && !nvml->function[function]) why = lacks[function];
    if (why) return md_no_text(why);
    const int code = ((GetVersion)nvml->function[function])(text.text, sizeof text.text);
    return code == SUCCESS ? text : md_no_text(error_text(code));
}

static MdReadText ask_text(const MdNvml *nvml, int function) {
    const char *why = obstacle(nvml, function);
    MdReadText text = {0};
    if (why) return md_no_text(why);
    const int code = ((GetText)nvml->function[function])(nvml->device, text.text, sizeof text.text);
    return code == SUCCESS ? text : md_no_text(error_text(code));
}

MdReading md_nvml_energy(const MdNvml *nvml) { return ask(nvml, F_ENERGY, LONG, 0, 1e-3); }

/* --- all of it ------------------------------------------------------------------------------------------------------ */

MdGpuFacts md_nvml_facts(const MdNvml *nvml) {
    MdGpuFacts facts = {.missing = nvml->missing,
                        .name = ask_text(nvml, F_NAME),
                        .uuid = ask_text(nvml, F_UUID),
                        .driver = ask_version(nvml, F_DRIVER_VERSION),
                        .nvml = ask_version(nvml, F_NVML_VERSION),
                        .mig = ask(nvml, F_MIG, MODES, 0, 1),
                        .ecc = ask(nvml, F_ECC, MODES, 0, 1),
                        .persistence = ask(nvml, F_PERSISTENCE, NUMBER, 0, 1),
                        .power_limit_w = ask(nvml, F_LIMIT, NUMBER, 0, 1e-3),
                        .power_limit_default_w = ask(nvml, F_DEFAULT_LIMIT, NUMBER, 0, 1e-3),
                        .sm_mhz_max = ask(nvml, F_MAX_CLOCK, NUMBER_OF, CLOCK_SM, 1),
                        .memory_mhz_max = ask(nvml, F_MAX_CLOCK, NUMBER_OF, CLOCK_MEMORY, 1)};
    return facts;
}

MdGpuPulse md_nvml_pulse(const MdNvml *nvml) {
    const int throttle = nvml->function[F_EVENTS] ? F_EVENTS : F_THROTTLE;
    return (MdGpuPulse){.sm_mhz = ask(nvml, F_CLOCK, NUMBER_OF, CLOCK_SM, 1),
                        .memory_mhz = ask(nvml, F_CLOCK, NUMBER_OF, CLOCK_MEMORY, 1),
                        .temperature_c = ask(nvml, F_TEMPERATURE, NUMBER_OF, SENSOR_GPU, 1),
                        .power_w = ask(nvml, F_POWER, NUMBER, 0, 1e-3),
                        .energy_j = md_nvml_energy(nvml),
                        .throttle = ask(nvml, throttle, LONG, 0, 1)};
}

/* The processes of the device; the library counts those that do not fit the array. */
enum { MAX_PROCESSES = 256 };

static void lack_processes(MdGpuState *state, const char *why) {
    state->n_processes = state->processes_bytes = md_no_reading(why);
    state->n_other_processes = state->other_processes_bytes = md_no_reading(why);
}

static void ask_processes(const MdNvml *nvml, MdGpuState *state) {
    const int function = nvml->function[F_PROCESSES] ? F_PROCESSES : F_PROCESSES_2;
    const char *why = obstacle(nvml, function);
    if (why) {
        lack_processes(state, why);
        return;
    }
    Process list[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES, n_own = 0;
    const int code = ((GetProcesses)nvml->function[function])(nvml->device, &n, list);
    if (code != SUCCESS || n > MAX_PROCESSES) {
        lack_processes(state, code == SUCCESS ? "NVML: insufficient size" : error_text(code));
        return;
    }
    double bytes = 0, own_bytes = 0; /* not known of a process: the sum is not known */
    for (unsigned k = 0; k < n; k++) {
        const double used = list[k].bytes == ~0ull ? (double)NAN : (double)list[k].bytes;
        const bool own = list[k].pid == (unsigned)getpid();
        bytes += used;
        n_own += own;
        if (own) own_bytes += used;
    }
    static const char hidden[] = "NVML: memory of a process is not available";
    static const char stranger[] = "this process is not among those that NVML names (they are numbered from outside a "
                                   "container)";
    state->n_processes = md_reading(n);
    state->processes_bytes = isnan(bytes) ? md_no_reading(hidden) : md_reading(bytes);
    state->n_other_processes = n_own ? md_reading(n - n_own) : md_no_reading(stranger);
    state->other_processes_bytes = !n_own         ? md_no_reading(stranger)
                                   : isnan(bytes) ? md_no_reading(hidden)
                                                  : md_reading(bytes - own_bytes);
}

MdGpuState md_nvml_state(const MdNvml *nvml) {
    MdGpuState state = {.pulse = md_nvml_pulse(nvml),
                        .ecc_corrected = ask(nvml, F_ECC_ERRORS, ERRORS, CORRECTED, 1),
                        .ecc_uncorrected = ask(nvml, F_ECC_ERRORS, ERRORS, UNCORRECTED, 1)};
    ask_processes(nvml, &state);
    return state;
}

const char *md_gpu_throttle_name(int bit) {
    static const char *const reasons[MD_GPU_N_THROTTLE] = {
        "idle",          "clocks_set",       "power_cap",        "hardware_slowdown",
        "sync_boost",    "thermal_software", "thermal_hardware", "power_brake",
        "display_clocks"};
    return bit >= 0 && bit < MD_GPU_N_THROTTLE ? reasons[bit] : NULL;
}

/* --- opening -------------------------------------------------------------------------------------------------------- */

/* Why there is no NVML to be asked; NULL: it is there. */
static const char *load(MdNvml *nvml) {
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library) return "no NVML library is here (libnvidia-ml.so.1, which comes with the driver)";
    for (int k = 0; k < N_FUNCTIONS; k++) {
        void *symbol = dlsym(nvml->library, names[k]);
        memcpy(&nvml->function[k], &symbol, sizeof symbol);
    }
    if (!nvml->function[F_INIT]) return lacks[F_INIT];
    const int code = ((Call)nvml->function[F_INIT])();
    nvml->initialized = code == SUCCESS;
    return code == SUCCESS ? NULL : error_text(code);
}

/* Under CUDA_VISIBLE_DEVICES the numbers of CUDA and NVML differ, and so do the orders of the two. An instance of a GPU (MIG) has
 * its own UUID and the bus id of the whole GPU. */
static const char *find_device(MdNvml *nvml, const char *uuid, const char *bus_id) {
    int code = 6;
    if (!nvml->function[F_BY_UUID] && !nvml->function[F_BY_BUS]) return lacks[F_BY_UUID];
    if (uuid[0] && nvml->function[F_BY_UUID]) code = ((FindDevice)nvml->function[F_BY_UUID])(uuid, &nvml->device);
    if (code != SUCCESS && bus_id[0] && nvml->function[F_BY_BUS])
        code = ((FindDevice)nvml->function[F_BY_BUS])(bus_id, &nvml->device);
    return code == SUCCESS ? NULL : code == 6 ? "NVML knows no GPU of this UUID and bus id" : error_text(code);
}

MdNvml *md_nvml_open(const char *uuid, const char *bus_id) {
    MdNvml *nvml = md_alloc(1, sizeof *nvml, "NVML");
    nvml->missing = load(nvml);
    if (!nvml->missing) nvml->missing = find_device(nvml, uuid, bus_id);
    return nvml;
}

MdNvml *md_nvml_absent(const char *why) {
    MdNvml *nvml = md_alloc(1, sizeof *nvml, "NVML");
    nvml->missing = why;
    return nvml;
}

void md_nvml_close(MdNvml *nvml) {
    if (!nvml) return;
    if (nvml->initialized && nvml->function[F_SHUTDOWN]) ((Call)nvml->function[F_SHUTDOWN])();
    if (nvml->library) dlclose(nvml->library);
    md_free(nvml);
}
