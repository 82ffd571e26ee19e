/* Work counters: plain loops over the pairs that the kernels would meet, in no timed path. */
#include <math.h>

#include "cpu/context.h"

/* Pairs whose distance a force call computes: entries of rows, all pairs, or those of the cells around. */
static int64_t count_force_tested(const MdCpuContext *c) {
    if (c->kernel == MD_KERNEL_LIST) return c->statistics.n_entries;
    if (c->kernel == MD_KERNEL_PAIRS) return c->n_atoms * (c->n_atoms - 1);
    const int64_t n_cells = md_cpu_count_cells(c);
    int64_t n_tested = 0;
    for (int32_t cell = 0; cell < n_cells; cell++) {
        MdCpuRun runs[MD_CPU_MAX_RUNS];
        const int64_t n_own = c->cell_start[cell + 1] - c->cell_start[cell];
        for (int r = md_cpu_find_runs(c, cell, runs); n_own && r-- > 0;)
            n_tested += n_own * (runs[r].end - runs[r].start);
        n_tested -= n_own; /* itself */
    }
    return n_tested;
}

static bool in_range(const MdCpuContext *c, int64_t i, int64_t j) {
    const double range = c->cutoff + c->skin;
    double r_sq = 0;
    for (int a = 0; a < 3; a++) {
        const double d = md_cpu_state(c, c->position, a, i) - md_cpu_state(c, c->position, a, j);
        const double nearest = md_nearest_image_d(d, c->box.length[a], md_box_inverse(&c->box, a));
        r_sq += nearest * nearest;
    }
    return r_sq < range * range;
}

/* The build of the last list: from each atom to those around it, or with neighbor.write = atomic to those of
 * them in later slots. */
static void count_search(MdCpuContext *c, MdCounters *counters) {
    const bool atomic = c->write == MD_LIST_WRITE_ATOMIC;
    int64_t n_tested = 0, n_inside = 0;
#pragma omp parallel for num_threads(c->n_threads) schedule(static) reduction(+ : n_tested, n_inside)
    for (int64_t i = 0; i < c->n_atoms; i++) {
        MdCpuRun runs[MD_CPU_MAX_RUNS];
        for (int r = md_cpu_find_runs(c, c->cell[i], runs); r-- > 0;)
            for (int64_t slot = runs[r].start; slot < runs[r].end; slot++) {
                if (slot == c->slot_of[i] || (atomic && slot < c->slot_of[i])) continue;
                n_tested++;
                n_inside += in_range(c, i, c->atom_in[slot]);
            }
    }
    counters->search_pairs_tested = n_tested;
    counters->search_pairs_inside = n_inside;
    counters->search_atomics = !atomic ? 0 : c->list == MD_LIST_HALF ? n_inside : 2 * n_inside;
}

void md_cpu_count(MdCpuContext *c, MdCounters *counters) {
    const bool list = c->kernel == MD_KERNEL_LIST, half = c->list == MD_LIST_HALF;
    *counters = (MdCounters){-1, -1, -1, -1, -1, -1, -1, -1};
    counters->force_pairs_tested = count_force_tested(c);
    /* The kernel that computes energies counts the pairs inside; forces come out as they were. */
    c->forces(c, md_potential_embeds(&c->potential) ? MD_CPU_EMBEDDED : MD_CPU_PAIRS, true, 0, c->n_blocks);
    double pairs = 0;
    for (int64_t b = 0; b < c->n_blocks; b++) pairs += c->partial[b].pairs;
    counters->force_pairs_inside = llround(half ? pairs : 2 * pairs);
    /* Three components of the second atom of each pair, and of the first once a row. */
    counters->force_atomics = half ? 3 * (counters->force_pairs_inside + c->n_padded) : 0;
    if (!list) return;
    counters->list_entries = c->statistics.n_entries;
    counters->list_bytes = (int64_t)sizeof(int32_t) * (c->statistics.n_entries + c->n_atoms);
    if (c->per_call) md_cpu_take_rebuild(c);
    md_cpu_trade_places(c);
    md_cpu_make_grid(c);
    md_cpu_divide_grid(c);
    md_cpu_find_cells(c);
    count_search(c, counters);
    md_cpu_trade_places(c);
    if (c->per_call) md_cpu_release_rebuild(c);
}
