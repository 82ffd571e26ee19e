/* MDMINI_CUDA=IDLE: in place of nvrtc.c, compile.c and module.c, a GPU of the size of a real one that runs nothing. NVRTC is the real one, and
 * what it compiles is kept (MDMINI_KERNEL_CACHE): run/precompile.sh makes the kernels that the tests of a GPU ask for, on a
 * machine without one. What a kernel takes of registers and static shared memory, on which the size of blocks depends, is read
 * from its CUBIN, an ELF file: sections .text.NAME, .nv.shared.NAME, and attributes in .nv.info and .nv.info.NAME. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

enum { ATTRIBUTE_MAX_THREADS = 0x05, ATTRIBUTE_REGISTERS = 0x2f, FORMAT_SIZED = 4, REGISTERS_OF_WARPS = 256 };

typedef struct IdleFunction {
    char name[64];
    unsigned registers, bound; /* bound: of __launch_bounds__, 0: none */
    size_t static_shared;      /* bytes, and so */
    size_t max_dynamic_shared;
} IdleFunction;

typedef struct IdleModule {
    char *image;
    IdleFunction *functions;
    int n_functions;
} IdleModule;

static _Atomic size_t n_modules;
static char a_global[1 << 16]; /* whatever variable is asked for */

size_t emulator_count_modules(void) { return n_modules; }
void *emulator_module_shared(const EmulatorModule *module) {
    (void)module;
    return NULL;
}
bool emulator_module_holds(const void *data, size_t bytes) {
    return (const char *)data >= a_global && (const char *)data + bytes <= a_global + sizeof a_global;
}

void **emulator_copy_arguments(const EmulatorKernel *kernel, void *const *arguments) {
    (void)kernel, (void)arguments;
    return NULL; /* no launch is issued */
}

/* --- CUBIN ----------------------------------------------------------------------------------------------------------- */

static const Elf64_Shdr *sections(const char *image) {
    return (const Elf64_Shdr *)(image + ((const Elf64_Ehdr *)image)->e_shoff);
}
static int count_sections(const char *image) { return ((const Elf64_Ehdr *)image)->e_shnum; }
static const char *section_name(const char *image, int k) {
    return image + sections(image)[((const Elf64_Ehdr *)image)->e_shstrndx].sh_offset + sections(image)[k].sh_name;
}

static size_t image_bytes(const char *image) {
    size_t end = ((const Elf64_Ehdr *)image)->e_shoff + (size_t)count_sections(image) * sizeof(Elf64_Shdr);
    for (int k = 0; k < count_sections(image); k++) {
        const Elf64_Shdr *s = &sections(image)[k];
        if (s->sh_type != SHT_NOBITS && s->sh_offset + s->sh_size > end) end = s->sh_offset + s->sh_size;
    }
    return end;
}

/* The section `part``name`; NULL: there is none. */
static const Elf64_Shdr *find_section(const char *image, const char *part, const char *name) {
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s%s", part, name);
    for (int k = 0; k < count_sections(image); k++)
        if (strcmp(section_name(image, k), wanted) == 0) return &sections(image)[k];
    return NULL;
}

static const char *symbol_name(const char *image, unsigned index, size_t *bytes) {
    for (int k = 0; k < count_sections(image); k++) {
        const Elf64_Shdr *s = &sections(image)[k];
        if (s->sh_type != SHT_SYMTAB || index >= s->sh_size / sizeof(Elf64_Sym)) continue;
        const Elf64_Sym *symbol = (const Elf64_Sym *)(image + s->sh_offset) + index;
        *bytes = symbol->st_size;
        return image + sections(image)[s->sh_link].sh_offset + symbol->st_name;
    }
    return NULL;
}

/* The first number of each attribute of that kind in a section, and for registers the one behind the symbol that it is of. */
static unsigned find_attribute(const char *image, const Elf64_Shdr *section, int kind, const char *of_symbol) {
    if (!section) return 0;
    const unsigned char *at = (const unsigned char *)image + section->sh_offset, *end = at + section->sh_size;
    while (at + 4 <= end) {
        const unsigned char format = at[0], attribute = at[1];
        const unsigned size = at[2] | (unsigned)at[3] << 8;
        unsigned numbers[2] = {0};
        at += 4;
        if (format != FORMAT_SIZED) continue; /* a value in place of the size */
        memcpy(numbers, at, size < sizeof numbers ? size : sizeof numbers);
        at += size;
        if (attribute != kind) continue;
        size_t bytes;
        const char *symbol = of_symbol ? symbol_name(image, numbers[0], &bytes) : NULL;
        if (!of_symbol) return numbers[0];
        if (symbol && strcmp(symbol, of_symbol) == 0) return numbers[1];
    }
    return 0;
}

/* --- driver ---------------------------------------------------------------------------------------------------------- */

EMULATOR_API CUresult cuModuleLoadData(CUmodule *handle, const void *data) {
    if (memcmp(data, ELFMAG, SELFMAG) != 0)
        emulator_fail("this NVRTC has only PTX for compute capability %d.%d: take a newer toolkit",
                      emulator_gpu()->compute_capability / 10, emulator_gpu()->compute_capability % 10);
    const size_t bytes = image_bytes(data);
    IdleModule *m = calloc(1, sizeof *m);
    m->image = malloc(bytes);
    m->functions = calloc((size_t)count_sections(data), sizeof *m->functions);
    if (!m->image || !m->functions) emulator_fail("no memory");
    memcpy(m->image, data, bytes);
    static const char text[] = ".text.";
    /* From 9.0 on the section of shared memory has what the system reserves, too. */
    const size_t reserved = emulator_gpu()->compute_capability < 90 ? 0 : emulator_gpu()->shared_reserved;
    for (int k = 0; k < count_sections(m->image); k++) {
        const char *name = section_name(m->image, k);
        if (strncmp(name, text, sizeof text - 1) != 0) continue;
        IdleFunction *f = &m->functions[m->n_functions++];
        snprintf(f->name, sizeof f->name, "%s", name + sizeof text - 1);
        const Elf64_Shdr *shared = find_section(m->image, ".nv.shared.", f->name);
        f->static_shared = shared ? shared->sh_size - reserved : 0;
        f->max_dynamic_shared = EMULATOR_SHARED - f->static_shared;
        f->bound = find_attribute(m->image, find_section(m->image, ".nv.info.", f->name), ATTRIBUTE_MAX_THREADS, NULL);
        f->registers = find_attribute(m->image, find_section(m->image, ".nv.info", ""), ATTRIBUTE_REGISTERS, f->name);
        if (f->registers == 0) emulator_fail("%s: the CUBIN does not tell its registers", f->name);
    }
    n_modules++;
    *handle = (CUmodule)m;
    return CUDA_SUCCESS;
}

EMULATOR_API CUresult cuModuleUnload(CUmodule handle) {
    IdleModule *m = (IdleModule *)handle;
    free(m->image);
    free(m->functions);
    free(m);
    n_modules--;
    return CUDA_SUCCESS;
}

EMULATOR_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
    const IdleModule *m = (IdleModule *)handle;
    for (int k = 0; k < m->n_functions; k++)
        if (strcmp(m->functions[k].name, name) == 0) {
            *function = (CUfunction)&m->functions[k];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

EMULATOR_API CUresult cuModuleGetGlobal(CUdeviceptr *data, size_t *bytes, CUmodule handle, const char *name) {
    const char *image = ((IdleModule *)handle)->image, *symbol;
    for (unsigned k = 0; (symbol = symbol_name(image, k, bytes)) != NULL; k++)
        if (strcmp(symbol, name) == 0 && *bytes <= sizeof a_global) {
            *data = (CUdeviceptr)(uintptr_t)a_global;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

/* Registers are given to warps 256 at a time, from four files that share the warps of a block. */
static unsigned warps_of_registers(const IdleFunction *f) {
    const unsigned of_warp =
        (f->registers * EMULATOR_WARP + REGISTERS_OF_WARPS - 1) / REGISTERS_OF_WARPS * REGISTERS_OF_WARPS;
    return EMULATOR_SM_REGISTERS / 4 / of_warp * 4;
}

static unsigned max_threads(const IdleFunction *f) {
    const unsigned fit = warps_of_registers(f) * EMULATOR_WARP;
    const unsigned most = fit < EMULATOR_MAX_THREADS ? fit : EMULATOR_MAX_THREADS;
    return f->bound > 0 && f->bound < most ? f->bound : most;
}

EMULATOR_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
    const IdleFunction *f = (IdleFunction *)handle;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)max_threads(f); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->static_shared; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)f->registers; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

EMULATOR_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    IdleFunction *f = (IdleFunction *)handle;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
    if (value < 0 || (size_t)value + f->static_shared > emulator_gpu()->shared_opt_in) return CUDA_ERROR_INVALID_VALUE;
    f->max_dynamic_shared = (size_t)value;
    return CUDA_SUCCESS;
}

EMULATOR_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                                  size_t dynamic_shared) {
    const IdleFunction *f = (IdleFunction *)handle;
    const unsigned warps = ((unsigned)threads + EMULATOR_WARP - 1) / EMULATOR_WARP;
    const int by_registers = (unsigned)threads > max_threads(f) ? 0 : (int)(warps_of_registers(f) / warps);
    *blocks = emulator_occupancy((unsigned)threads, f->static_shared + dynamic_shared);
    if (by_registers < *blocks) *blocks = by_registers;
    return CUDA_SUCCESS;
}

/* Nothing runs, but what a GPU would refuse is refused. */
static CUresult check_launch(CUfunction handle, unsigned threads, unsigned dynamic_shared) {
    const IdleFunction *f = (IdleFunction *)handle;
    if (threads == 0 || dynamic_shared > f->max_dynamic_shared) return CUDA_ERROR_INVALID_VALUE;
    return threads > max_threads(f) ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_SUCCESS;
}

EMULATOR_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                       void **extra) {
    (void)arguments, (void)extra;
    return check_launch(function, config->blockDimX * config->blockDimY * config->blockDimZ, config->sharedMemBytes);
}

EMULATOR_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                                unsigned block_x, unsigned block_y, unsigned block_z,
                                                unsigned dynamic_shared, CUstream stream, void **arguments) {
    (void)stream, (void)arguments;
    const unsigned threads = block_x * block_y * block_z;
    int blocks = 0;
    const CUresult result = check_launch(function, threads, dynamic_shared);
    if (result != CUDA_SUCCESS) return result;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)threads, dynamic_shared);
    return (uint64_t)grid_x * grid_y * grid_z > (uint64_t)blocks * emulator_gpu()->n_sms
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : CUDA_SUCCESS;
}
