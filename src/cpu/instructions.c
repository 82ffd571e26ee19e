/* Which instruction set the kernels run with: compiled for several, chosen when the program starts, so that one binary
 * runs on every processor of its architecture and uses its best instructions. */
#include <stdlib.h>
#include <string.h>

#include "cpu/context.h"

static const char *const set_names[MD_CPU_N_INSTRUCTIONS] = {
#if defined(__x86_64__)
    "x86-64",
#else
    "baseline",
#endif
    "x86-64-v3", "x86-64-v4"};

static MdCpuInstructions best_set(void) {
    MdCpuInstructions best = MD_CPU_BASELINE;
#ifdef MDMINI_CPU_V3
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        best = MD_CPU_V3;
#endif
#ifdef MDMINI_CPU_V4
    if (best == MD_CPU_V3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        best = MD_CPU_V4;
#endif
    return best;
}

MdStatus md_cpu_find_instructions(MdCpuInstructions *set, MdErrors *errors) {
    const MdCpuInstructions best = best_set();
    const char *wanted = getenv("MDMINI_INSTRUCTIONS");
    *set = best;
    if (!wanted) return MD_OK;
    for (int k = 0; k <= (int)best; k++)
        if (strcmp(wanted, set_names[k]) == 0) {
            *set = (MdCpuInstructions)k;
            return MD_OK;
        }
    return md_fail(errors, MD_ERROR_INPUT,
                   "environment: MDMINI_INSTRUCTIONS: read `%s`; this processor supports the built-in sets up to %s",
                   wanted, set_names[best]);
}

const char *md_cpu_instructions_name(MdCpuInstructions set) { return set_names[set]; }

const MdCpuKernels *md_cpu_kernels(MdCpuInstructions set, int precision) {
#ifdef MDMINI_CPU_V4
    if (set == MD_CPU_V4) return md_cpu_kernels_v4(precision);
#endif
#ifdef MDMINI_CPU_V3
    if (set == MD_CPU_V3) return md_cpu_kernels_v3(precision);
#endif
    (void)set;
    return md_cpu_kernels_baseline(precision);
}

/* The kernels of each form, for the instruction sets that are compiled (CMakeLists.txt). */
#define DECLARE(name, word, file, ...)                                                                                 \
    MdCpuForces *md_cpu_forces_##file##_baseline(bool is_double);                                                      \
    MdCpuForces *md_cpu_forces_##file##_v3(bool is_double);                                                            \
    MdCpuForces *md_cpu_forces_##file##_v4(bool is_double);
MD_FORMS(DECLARE)
#undef DECLARE

MdCpuForces *md_cpu_forces(MdCpuInstructions set, int form, bool is_double) {
#ifdef MDMINI_CPU_V3
#define V3(file) md_cpu_forces_##file##_v3
#else
#define V3(file) NULL
#endif
#ifdef MDMINI_CPU_V4
#define V4(file) md_cpu_forces_##file##_v4
#else
#define V4(file) NULL
#endif
#define ROW(name, word, file, ...) {md_cpu_forces_##file##_baseline, V3(file), V4(file)},
    static MdCpuForces *(*const forces[][MD_CPU_N_INSTRUCTIONS])(bool is_double) = {MD_FORMS(ROW)};
#undef ROW
    return forces[form][set](is_double);
}
