/* The driver API: modules, functions and launches. A module is a shared library, loaded from memory. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator.h"

static EmulatorModule *modules;

static EmulatorModule *module_at(CUmodule handle) {
    for (EmulatorModule *m = modules; m; m = m->next)
        if (m == (EmulatorModule *)handle) return m;
    emulator_fail("%p is no module", (void *)handle);
}

static EmulatorFunction *function_at(CUfunction handle) {
    EmulatorFunction *function = (EmulatorFunction *)handle;
    for (EmulatorModule *m = modules; m; m = m->next)
        if (function >= m->functions && function < m->functions + m->n_functions) return function;
    emulator_fail("%p is no function", (void *)handle);
}

/* --- static shared memory: the thread-local variables of the library ------------------------------------------------ */

typedef struct Search {
    const char *base;
    void *data;
    size_t bytes;
} Search;

static int look_at_library(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    Search *search = context;
    if ((const char *)info->dlpi_addr != search->base) return 0;
    for (int k = 0; k < info->dlpi_phnum; k++)
        if (info->dlpi_phdr[k].p_type == PT_TLS) search->bytes = info->dlpi_phdr[k].p_memsz;
    search->data = info->dlpi_tls_data;
    return 1;
}

static Search look(const EmulatorModule *module) {
    Search search = {.base = module->base};
    dl_iterate_phdr(look_at_library, &search);
    return search;
}

void *emulator_module_shared(const EmulatorModule *module) {
    if (module->shared_bytes == 0) return NULL;
    void (*touch)(void) = (void (*)(void))dlsym(module->library, "emulator_touch_shared");
    touch(); /* this thread of the host has none before it has used one */
    return look(module).data;
}

/* --- modules -------------------------------------------------------------------------------------------------------- */

/* The file stays open while the library is loaded: the loader takes a path that it knows for the library that it has. */
static void *load_library(const EmulatorImage *image, int *descriptor, char *why, size_t size) {
    int file = memfd_create("kernels", 0);
    const char *bytes = (const char *)(image + 1);
    for (size_t done = 0; file >= 0 && done < image->bytes;) {
        ssize_t n = write(file, bytes + done, image->bytes - done);
        if (n <= 0) emulator_fail("cannot write a library into memory");
        done += (size_t)n;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) snprintf(why, size, "%s", dlerror());
    *descriptor = file;
    return library;
}

/* More than a block has is what ptxas would have refused. */
static size_t static_shared(const EmulatorImage *image, const EmulatorKernel *kernel) {
    size_t bytes = emulator_static_shared((const char *)(image + 1), kernel->name);
    if (bytes > EMULATOR_SHARED)
        emulator_fail("%s has %zu bytes of static shared memory, more than %d", kernel->name, bytes, EMULATOR_SHARED);
    return bytes;
}

EMULATOR_API CUresult cuModuleLoadData(CUmodule *handle, const void *data) {
    const EmulatorImage *image = data;
    if (memcmp(image->magic, "EMULATED KERNELS", sizeof image->magic) != 0 || image->abi != emulator_abi())
        return CUDA_ERROR_NO_BINARY_FOR_GPU; /* code of a real GPU, or of another emulator */
    emulator_enter();
    if (emulator_capture_forbids("cuModuleLoadData")) {
        emulator_leave();
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    char why[512];
    EmulatorModule *m = calloc(1, sizeof *m);
    if (!m) emulator_fail("no memory");
    m->library = load_library(image, &m->file, why, sizeof why);
    if (!m->library) emulator_fail("cuModuleLoadData: %s", why);
    const EmulatorProgram *program = dlsym(m->library, "emulator_program");
    struct link_map *map;
    dlinfo(m->library, RTLD_DI_LINKMAP, &map);
    m->base = (const char *)map->l_addr;
    m->shared_bytes = look(m).bytes;
    *program->services = &emulator_services;
    m->self = program->self;
    m->n_functions = program->n_kernels;
    m->functions = calloc(m->n_functions + 1, sizeof *m->functions);
    if (!m->functions) emulator_fail("no memory");
    for (unsigned k = 0; k < m->n_functions; k++)
        m->functions[k] = (EmulatorFunction){m, &program->kernels[k], static_shared(image, &program->kernels[k]),
                                             EMULATOR_SHARED, CU_SHAREDMEM_CARVEOUT_DEFAULT};
    m->next = modules;
    modules = m;
    *handle = (CUmodule)m;
    emulator_leave();
    return CUDA_SUCCESS;
}

EMULATOR_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *options,
                                         void **values) {
    (void)n, (void)options, (void)values;
    return cuModuleLoadData(module, image);
}

EMULATOR_API CUresult cuModuleUnload(CUmodule handle) {
    emulator_enter();
    EmulatorModule *m = module_at(handle);
    emulator_drain_all(); /* kernels of it may be queued */
    EmulatorModule **link = &modules;
    while (*link != m) link = &(*link)->next;
    *link = m->next;
    dlclose(m->library);
    close(m->file);
    free(m->functions);
    free(m);
    emulator_leave();
    return CUDA_SUCCESS;
}

size_t emulator_count_modules(void) {
    size_t n = 0;
    for (const EmulatorModule *m = modules; m; m = m->next) n++;
    return n;
}

EMULATOR_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
    emulator_enter();
    EmulatorModule *m = module_at(handle);
    CUresult result = CUDA_ERROR_NOT_FOUND;
    for (unsigned k = 0; k < m->n_functions; k++)
        if (strcmp(m->functions[k].kernel->name, name) == 0) {
            *function = (CUfunction)&m->functions[k];
            result = CUDA_SUCCESS;
        }
    emulator_leave();
    return result;
}

EMULATOR_API CUresult cuModuleGetGlobal(CUdeviceptr *data, size_t *bytes, CUmodule handle, const char *name) {
    emulator_enter();
    EmulatorModule *m = module_at(handle);
    void *symbol = dlsym(m->library, name);
    Dl_info info;
    ElfW(Sym) *entry = NULL;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (symbol && dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) && entry && info.dli_saddr == symbol) {
        if (data) *data = (CUdeviceptr)(uintptr_t)symbol;
        if (bytes) *bytes = entry->st_size;
        result = CUDA_SUCCESS;
    }
    emulator_leave();
    return result;
}

bool emulator_module_holds(const void *data, size_t bytes) {
    for (const EmulatorModule *m = modules; m; m = m->next) {
        Dl_info info;
        ElfW(Sym) *entry = NULL;
        if (!dladdr1(data, &info, (void **)&entry, RTLD_DL_SYMENT) || info.dli_fbase != (void *)(uintptr_t)m->base)
            continue;
        if (entry && (const char *)data + bytes <= (const char *)info.dli_saddr + entry->st_size) return true;
        emulator_fail("copy beyond the end of %s", info.dli_sname ? info.dli_sname : "a variable of a module");
    }
    return false;
}

/* --- functions ------------------------------------------------------------------------------------------------------ */

/* Of a thread: as many as the compiler is said to take, "160" or "32,k_force=64,k_step=168": of kernels whose names begin so, the
 * last that fits; the first number of kernels without a bound. */
static unsigned registers(const EmulatorFunction *function) {
    const bool bounded = function->kernel->max_threads > 0;
    unsigned found =
        bounded ? EMULATOR_REGISTERS : (unsigned)emulator_setting("MDMINI_EMULATOR_REGISTERS", EMULATOR_REGISTERS);
    const char *text = getenv("MDMINI_EMULATOR_REGISTERS");
    for (const char *name = text ? strchr(text, ',') : NULL; name; name = strchr(name, ',')) {
        const size_t length = strcspn(++name, "=,");
        if (name[length] == '=' && strncmp(function->kernel->name, name, length) == 0)
            found = (unsigned)strtol(name + length + 1, NULL, 10);
    }
    return found;
}

static unsigned max_threads(const EmulatorFunction *function) {
    const unsigned fit = EMULATOR_SM_REGISTERS / registers(function) / EMULATOR_WARP * EMULATOR_WARP;
    const unsigned most = fit < EMULATOR_MAX_THREADS ? fit : EMULATOR_MAX_THREADS;
    const unsigned bound = function->kernel->max_threads;
    return bound > 0 && bound < most ? bound : most;
}

EMULATOR_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
    emulator_enter();
    const EmulatorFunction *function = function_at(handle);
    CUresult result = CUDA_SUCCESS;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)max_threads(function); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)function->static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)registers(function); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = emulator_gpu()->compute_capability; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = (int)function->max_dynamic_shared; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
    default: result = CUDA_ERROR_INVALID_VALUE; break;
    }
    emulator_leave();
    return result;
}

EMULATOR_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    emulator_enter();
    EmulatorFunction *function = function_at(handle);
    CUresult result = CUDA_SUCCESS;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || (size_t)value + function->static_shared > emulator_gpu()->shared_opt_in)
            result = CUDA_ERROR_INVALID_VALUE;
        else function->max_dynamic_shared = (unsigned)value;
    } else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100) result = CUDA_ERROR_INVALID_VALUE;
        else function->carveout = value;
    } else {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    emulator_leave();
    return result;
}

EMULATOR_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                                  size_t dynamic_shared) {
    emulator_enter();
    const EmulatorFunction *function = function_at(handle);
    *blocks = (unsigned)threads > max_threads(function)
                  ? 0
                  : emulator_occupancy((unsigned)threads, function->static_shared + dynamic_shared);
    emulator_leave();
    return CUDA_SUCCESS;
}

EMULATOR_API CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, CUfunction handle,
                                                       CUoccupancyB2DSize shared_of_block, size_t dynamic_shared,
                                                       int limit) {
    int best = 0, largest = 0, blocks = 0;
    cuFuncGetAttribute(&largest, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle);
    if (limit > 0 && limit < largest) largest = limit;
    for (int threads = largest / EMULATOR_WARP * EMULATOR_WARP; threads > 0; threads -= EMULATOR_WARP) {
        size_t shared = shared_of_block ? shared_of_block(threads) : dynamic_shared;
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, threads, shared);
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *block = threads;
        *min_grid = blocks * (int)emulator_gpu()->n_sms;
    }
    return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- launches ------------------------------------------------------------------------------------------------------- */

void **emulator_copy_arguments(const EmulatorKernel *kernel, void *const *arguments) {
    size_t head = (kernel->n_arguments * sizeof(void *) + 63) / 64 * 64, bytes = head + 64;
    for (unsigned k = 0; k < kernel->n_arguments; k++) bytes += (kernel->argument_bytes[k] + 63) / 64 * 64;
    void **copy = aligned_alloc(64, bytes / 64 * 64);
    if (!copy) emulator_fail("no memory");
    char *place = (char *)copy + head;
    for (unsigned k = 0; k < kernel->n_arguments; k++) {
        copy[k] = memcpy(place, arguments[k], kernel->argument_bytes[k]);
        place += (kernel->argument_bytes[k] + 63) / 64 * 64;
    }
    return copy;
}

static void check_launch(const EmulatorLaunch *launch) {
    const EmulatorFunction *function = launch->function;
    const char *name = function->kernel->name;
    unsigned threads = launch->block.x * launch->block.y * launch->block.z, bytes = 0;
    if (threads == 0 || threads > EMULATOR_MAX_THREADS || launch->block.z > 64)
        emulator_fail("launch of %s with blocks of %u x %u x %u threads", name, launch->block.x, launch->block.y,
                      launch->block.z);
    if (threads > max_threads(function))
        emulator_fail("launch of %s with blocks of %u threads, more than its launch bounds of %u", name, threads,
                      max_threads(function));
    if (launch->grid.x == 0 || launch->grid.y == 0 || launch->grid.z == 0 || launch->grid.x > 2147483647u ||
        launch->grid.y > 65535 || launch->grid.z > 65535)
        emulator_fail("launch of %s with a grid of %u x %u x %u blocks", name, launch->grid.x, launch->grid.y,
                      launch->grid.z);
    if (launch->dynamic_shared > function->max_dynamic_shared ||
        (function->max_dynamic_shared == EMULATOR_SHARED &&
         launch->dynamic_shared + function->static_shared > EMULATOR_SHARED))
        emulator_fail("launch of %s with %u bytes of dynamic shared memory beside %zu static ones; it may have %u",
                      name, launch->dynamic_shared, function->static_shared, function->max_dynamic_shared);
    for (unsigned k = 0; k < function->kernel->n_arguments; k++) bytes += function->kernel->argument_bytes[k];
    if (bytes > EMULATOR_MAX_ARGUMENT_BYTES) emulator_fail("launch of %s with %u bytes of arguments", name, bytes);
}

static CUresult launch(EmulatorLaunch what, CUstream stream, void **arguments, void **extra) {
    if (extra) emulator_fail("arguments of a launch by a buffer are not emulated");
    check_launch(&what);
    size_t threads = (size_t)what.block.x * what.block.y * what.block.z;
    if (what.cooperative) {
        size_t shared = what.function->static_shared + what.dynamic_shared;
        if ((unsigned long long)what.grid.x * what.grid.y * what.grid.z >
            (unsigned long long)emulator_occupancy((unsigned)threads, shared) * emulator_gpu()->n_sms)
            return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    EmulatorOp *op = emulator_op(EMULATOR_OP_LAUNCH);
    op->launch = what;
    op->launch.arguments = emulator_copy_arguments(what.function->kernel, arguments);
    return (CUresult)emulator_issue(stream, op);
}

EMULATOR_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                       void **extra) {
    emulator_enter();
    EmulatorLaunch what = {.function = function_at(function),
                           .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                           .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                           .dynamic_shared = config->sharedMemBytes};
    for (unsigned k = 0; k < config->numAttrs; k++) {
        if (config->attrs[k].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            emulator_fail("attribute %d of a launch is not emulated", (int)config->attrs[k].id);
        what.dependent = config->attrs[k].value.programmaticStreamSerializationAllowed != 0;
        if (what.dependent && emulator_gpu()->compute_capability < 90)
            emulator_fail("a dependent launch needs compute capability 9.0");
    }
    CUresult result = launch(what, config->hStream, arguments, extra);
    emulator_leave();
    return result;
}

EMULATOR_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                                unsigned block_x, unsigned block_y, unsigned block_z,
                                                unsigned dynamic_shared, CUstream stream, void **arguments) {
    emulator_enter();
    EmulatorLaunch what = {.function = function_at(function),
                           .grid = {grid_x, grid_y, grid_z},
                           .block = {block_x, block_y, block_z},
                           .dynamic_shared = dynamic_shared,
                           .cooperative = true};
    CUresult result = launch(what, stream, arguments, NULL);
    emulator_leave();
    return result;
}
