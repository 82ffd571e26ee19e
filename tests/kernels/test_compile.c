/* Every kernel compiles without a message, for every value of every switch, on machines without a GPU: NVRTC needs none.
 *
 * MDMINI_TEST_COMPILE: "sample" (or not set): each OF_BASEth value beside the defaults for compute capability 9.0, and each
 * OF_OTHERSth of all else, which have kernels of every stage; "singles": each value beside the defaults and beside naive values,
 * and for 8.0, as run/gpu-check.sh has it; "pairs": in place of single values every pair of them, which takes minutes. */
#define _XOPEN_SOURCE 700
#include <elf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backends.h"
#include "check.h"
#include "design.h"
#include "state.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/backend.h"
#include "cuda/stages/stages.h"
#include "microbench/cuda/row.h"

/* resolve asks the device what `auto` becomes; here it becomes whatever comes first. */
static MdStatus resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    (void)plan;
    md_resolve_sort(config, config->force_kernel == MD_KERNEL_BRICK ? MD_SORT_BRICK : MD_SORT_CELL, "", choices);
    if (config->memory_brick_grid == MD_BRICK_GRID_AUTO) config->memory_brick_grid = MD_BRICK_GRID_CELLS;
    if (config->memory_brick_cells == MD_BRICK_CELLS_AUTO) config->memory_brick_cells = MD_BRICK_CELLS_2;
    if (config->force_kernel == MD_KERNEL_AUTO) config->force_kernel = MD_KERNEL_LIST;
    if (config->force_threads_per_atom == MD_THREADS_AUTO) config->force_threads_per_atom = MD_THREADS_8;
    if (config->neighbor_threads_per_atom == MD_ROW_THREADS_AUTO) config->neighbor_threads_per_atom = MD_ROW_THREADS_1;
    if (config->neighbor_distances == MD_DISTANCES_AUTO) config->neighbor_distances = MD_DISTANCES_THREAD;
    if (config->memory_staging == MD_STAGING_AUTO) config->memory_staging = MD_STAGING_REGISTERS;
    md_resolve_arithmetic(config, NULL);
    if (config->launch_graph == MD_GRAPH_AUTO) config->launch_graph = MD_GRAPH_OFF;
    if (config->launch_persistent == MD_PERSISTENT_AUTO) config->launch_persistent = MD_PERSISTENT_OFF;
    if (config->launch_fuse == MD_FUSE_AUTO) config->launch_fuse = MD_FUSE_ON;
    if (config->launch_passes == MD_PASSES_AUTO) config->launch_passes = MD_PASSES_KERNELS;
    return md_variants_check(md_backend_cuda.variants(), "cuda", config, errors);
}

enum { OF_BASE = 3, OF_OTHERS = 16 };

static bool ends_with(const char *text, const char *end) {
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Of the combinations beside the defaults, and of the others, each which is compiled; 0: none. */
typedef struct Share {
    int of_base, of_others;
} Share;

static bool is_taken(int share, int *n) { return share > 0 && (*n)++ % share == 0; }

static void compile_design(const MdBackendOps *ops, const char *const *words, DesignKind kind, const char *fixed,
                           Share share, int compute_capability, bool counting) {
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    MdSystemPlan plan = state_plan(system);
    MdConfig base = *md_deck_config(deck);
    Design *design = design_create(ops, &base, kind, fixed, &plan, 1);
    int n_refused = 0, n = 0, n_base = 0, n_others = 0;
    for (int k = 0; k < design_count(design); k++) {
        const char *purpose = design_purpose(design, k);
        const bool is_base = ends_with(purpose, ", from base");
        if (!is_taken(is_base ? share.of_base : share.of_others, is_base ? &n_base : &n_others)) continue;
        n++;
        char text[2048];
        MdConfig config = base;
        MdErrors *errors = md_errors_create();
        design_apply(design, k, &config);
        design_describe(design, k, text, sizeof text);
        check_context("sm_%d %s", compute_capability, text);
        if (resolve(&config, &plan, NULL, errors) == MD_OK) {
            const CudaTarget target = {.config = &config,
                                       .box = &plan.box,
                                       .potential = &plan.potential,
                                       .n_atoms = plan.n_atoms,
                                       .n_all = plan.n_atoms,
                                       .compute_capability = compute_capability,
                                       .counting = counting};
            if (!CHECK(cuda_kernels_try(&target, errors) == MD_OK)) md_errors_print(errors, stdout);
        } else n_refused++;
        md_errors_destroy(errors);
    }
    printf("sm_%d: %d combinations, %d of them refused\n", compute_capability, n, n_refused);
    CHECK(n > 0 && 4 * n_refused < n);
    design_destroy(design);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

/* Kernels of several processes: what each transport can have. */
static void compile_domains(void) {
    static const char *const cases[][6] = {
        {"staged", "launch.fuse=off", "neighbor.rebuild=host-check", "run.precision=double", "analysis.msd_every=2"},
        {"staged", "launch.fuse=step", "neighbor.rebuild=every", "system.types=2"},
        {"cuda-aware", "launch.fuse=on", "neighbor.rebuild=every", "run.precision=mixed", "analysis.pressure=tensor"},
        {"nccl", "launch.fuse=step", "neighbor.rebuild=device-check", "run.precision=double"},
        {"direct", "launch.fuse=on", "neighbor.rebuild=device-check", "run.precision=single", "analysis.rdf_every=5"},
        {"direct", "launch.fuse=step", "neighbor.rebuild=every", "launch.passes=queue", "ensemble.thermostat=langevin"},
        {"staged", "launch.fuse=step", "neighbor.rebuild=device-check", "run.precision=mixed"},
        {"direct", "launch.fuse=step", "neighbor.rebuild=every", "launch.persistent=on", "launch.barrier=local"},
        {"direct", "launch.fuse=step", "neighbor.rebuild=device-check", "launch.persistent=on", "launch.barrier=local"},
    };
    for (int k = 0; k < (int)(sizeof cases / sizeof cases[0]); k++) {
        char transport[64];
        snprintf(transport, sizeof transport, "parallel.transport=%s", cases[k][0]);
        const char *words[] = {"system.density=0.8442",
                               "system.cells=8",
                               "system.fractions=1",
                               "force.kernel=brick",
                               "memory.sort=brick",
                               "memory.layout=vec4",
                               "memory.load=global",
                               "parallel.grid=2 1 1",
                               transport,
                               cases[k][1],
                               cases[k][2],
                               cases[k][3],
                               cases[k][4],
                               NULL};
        MdDeck *deck = state_deck(words);
        MdSystem *system = state_system(deck);
        const MdSystemPlan plan = state_plan(system);
        MdErrors *errors = md_errors_create();
        MdConfig config = *md_deck_config(deck);
        check_context("%s, %s, %s, %s", cases[k][0], cases[k][1], cases[k][2], cases[k][3]);
        const CudaTarget target = {.config = &config,
                                   .box = &plan.box,
                                   .potential = &plan.potential,
                                   .n_atoms = plan.n_atoms,
                                   .compute_capability = k % 2 == 0 ? 80 : 90};
        if (!CHECK(resolve(&config, &plan, NULL, errors) == MD_OK && cuda_kernels_try(&target, errors) == MD_OK))
            md_errors_print(errors, stdout);
        md_errors_destroy(errors);
        md_system_destroy(system);
        md_deck_destroy(deck);
    }
}

/* Images are kept under the name of their stage. */
static void check_stages(const char *folder) {
    for (int stage = 0; stage < CUDA_N_STAGES; stage++) {
        char pattern[64];
        glob_t found;
        check_context("stage %s", cuda_stage_names[stage]);
        snprintf(pattern, sizeof pattern, "%s/%s-*", folder, cuda_stage_names[stage]);
        CHECK(glob(pattern, 0, NULL, &found) == 0);
        globfree(&found);
    }
}

static void compile_ceilings(int compute_capability) {
    MdErrors *errors = md_errors_create();
    check_context("sm_%d ceilings", compute_capability);
    if (!CHECK(cuda_ceilings_try(compute_capability, errors) == MD_OK)) md_errors_print(errors, stdout);
    md_errors_destroy(errors);
}

/* --- launch.registers -------------------------------------------------------------------------------------------------- */

/* The most registers that a thread of any kernel takes, from the attributes in a CUBIN (section .nv.info); 0 where the image is
 * none, as that of the emulated GPU. */
static unsigned most_registers(const CudaImage *image) {
    enum { SIZED = 4, REGISTERS = 0x2f };
    const char *bytes = image->bytes;
    if (memcmp(bytes, ELFMAG, SELFMAG) != 0) return 0;
    const Elf64_Ehdr *head = (const void *)bytes;
    const Elf64_Shdr *sections = (const void *)(bytes + head->e_shoff);
    const char *names = bytes + sections[head->e_shstrndx].sh_offset;
    unsigned most = 0;
    for (int k = 0; k < head->e_shnum; k++) {
        if (strcmp(names + sections[k].sh_name, ".nv.info") != 0) continue;
        const unsigned char *at = (const unsigned char *)bytes + sections[k].sh_offset, *end = at + sections[k].sh_size;
        while (at + 12 <= end) {
            unsigned of_kernel; /* behind the number of its symbol */
            memcpy(&of_kernel, at + 8, sizeof of_kernel);
            if (at[0] == SIZED && at[1] == REGISTERS && of_kernel > most) most = of_kernel;
            at += 4 + (at[0] == SIZED ? at[2] | at[3] << 8 : 0);
        }
    }
    return most;
}

/* A cap holds for every kernel of the force stage, which takes more without. */
static void test_registers(const char *const *words) {
    static const int64_t caps[] = {0, 32};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    const MdSystemPlan plan = state_plan(system);
    MdErrors *errors = md_errors_create();
    for (int k = 0; k < 2; k++) {
        MdConfig config = *md_deck_config(deck);
        config.run_precision = MD_PRECISION_DOUBLE;
        config.launch_bounds = MD_OFF;
        config.launch_registers = caps[k];
        check_context("launch.registers = %d", (int)caps[k]);
        if (!CHECK(resolve(&config, &plan, NULL, errors) == MD_OK)) break;
        const CudaTarget target = {.config = &config,
                                   .box = &plan.box,
                                   .potential = &plan.potential,
                                   .n_atoms = plan.n_atoms,
                                   .compute_capability = 90};
        CudaImage image;
        if (!CHECK(cuda_compile(&target, "cuda/kernels/force", 128, &image, errors) == MD_OK)) break;
        const unsigned most = most_registers(&image);
        cuda_image_free(&image);
        if (most == 0) break;
        CHECK(caps[k] > 0 ? most <= caps[k] : most > caps[1]);
    }
    md_errors_print(errors, stdout);
    md_errors_destroy(errors);
    md_system_destroy(system);
    md_deck_destroy(deck);
}

int main(void) {
    /* Units that a switch does not concern are compiled once. */
    char folder[] = "/tmp/mdmini-kernels-XXXXXX", command[64];
    if (!CHECK(mkdtemp(folder) != NULL)) return check_finish();
    setenv("MDMINI_KERNEL_CACHE", folder, 1);
    MdBackendOps ops = md_backend_cuda;
    ops.resolve = resolve;
    const char *melt[] = {"system.density=0.8442", "system.cells=5", NULL};
    const char *mixture[] = {"system.dimension=2",
                             "system.start=square",
                             "system.density=0.8",
                             "system.cells=20",
                             "system.types=2",
                             "system.fractions=1",
                             "potential.shift=force",
                             "system.boundary=periodic open",
                             NULL};
    const char *set = getenv("MDMINI_TEST_COMPILE");
    const bool sampled = !set || strcmp(set, "sample") == 0, in_pairs = !sampled && strcmp(set, "pairs") == 0;
    if (!sampled && !in_pairs && strcmp(set, "singles") != 0)
        md_panic("MDMINI_TEST_COMPILE=%s: sample, singles or pairs is needed", set);
    const bool is_one = design_is_narrowed(); /* of the switches: kernels of ceilings have none */
    const Share all = {1, 1}, of_90 = {OF_BASE, OF_OTHERS}, of_80 = {sampled ? OF_OTHERS : 1, 0};
    /* The headers of cooperative groups and CUB take longer to compile than all kernels: each alone, not in pairs. */
    compile_design(&ops, melt, in_pairs ? DESIGN_PAIRS : DESIGN_SINGLES, "reduce.method",
                   sampled && !is_one ? of_90 : all, 90, false);
    /* Products of matrices in double are of 9.0. What stands beside naive values was compiled above. */
    compile_design(&ops, mixture, DESIGN_SINGLES, "neighbor.distances", is_one ? all : of_80, 80, true);
    if (!is_one) compile_domains();
    if (!is_one) check_stages(folder);
    if (!is_one) test_registers(melt);
    for (int capability = sampled ? 90 : 80; capability <= 90 && !is_one; capability += 10)
        compile_ceilings(capability);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_finish();
}
#else
int main(void) {
    printf("built without the cuda backend: nothing to compile\n");
    return 77;
}
#endif
