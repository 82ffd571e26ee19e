/* Building the neighbour list: room for it, the repeat after an overflow, and the way out of it by id.
 *
 * Every row has the same room. A row that needs more is counted to its end but not written past it; then the room
 * grows to the longest row and a tenth, and the build is repeated. That is rare (the first room is a fifth and
 * sixteen above the mean of a uniform fluid) and costs one build. Rows of equal room waste that much memory, and save
 * the pass that would have to count each row before the first entry is written. */
#include <string.h>

#include "base/memory.h"
#include "cpu/context.h"

/* Whole registers are loaded from a row, so the step from row to row is a multiple of the widest. */
static int64_t stride_for(int64_t capacity) { return (capacity + MD_CPU_SLICE - 1) / MD_CPU_SLICE * MD_CPU_SLICE; }

void md_cpu_release_list(MdCpuContext *c) {
    c->entries = md_cpu_release(c, c->entries, c->atom_room * c->stride + MD_CPU_SPARE, sizeof(int32_t));
    c->buffers = md_cpu_release(c, c->buffers, md_cpu_buffer_entries(c), sizeof(int32_t));
}

void md_cpu_allocate_list(MdCpuContext *c, int64_t capacity) {
    md_cpu_release_list(c); /* first: both at once would be the peak of the memory */
    c->capacity = capacity;
    c->stride = stride_for(capacity);
    c->room = c->list == MD_LIST_HALF ? 2 * c->stride : c->stride;
    c->entries = md_cpu_take(c, c->atom_room * c->stride + MD_CPU_SPARE, sizeof(int32_t), "neighbour list");
}

int64_t md_cpu_row_step(const MdCpuContext *c) { return c->room + MD_CPU_SPARE; }

int64_t md_cpu_buffer_entries(const MdCpuContext *c) {
    return (int64_t)c->n_threads * MD_CPU_SLICE * md_cpu_row_step(c);
}

int32_t *md_cpu_row_buffers(const MdCpuContext *c, int thread) {
    return c->buffers + (int64_t)thread * MD_CPU_SLICE * md_cpu_row_step(c);
}

bool md_cpu_is_near(const MdCpuContext *c, int64_t i, int64_t j) {
    double r_sq = 0;
    for (int a = 0; a < 3; a++) {
        if (c->box.periodic[a]) continue; /* one open axis is enough to be far apart */
        const double d = md_cpu_state(c, c->position, a, i) - md_cpu_state(c, c->position, a, j);
        r_sq += d * d;
    }
    /* Far means by a whole period; a quarter more than the range is neither that nor a matter of rounding. */
    return r_sq < 1.25 * (c->cutoff + c->skin) * (c->cutoff + c->skin);
}

int64_t md_cpu_drop_far(const MdCpuContext *c, int64_t i, int32_t *row, int64_t n) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++)
        if (md_cpu_is_near(c, i, row[k])) row[kept++] = row[k];
    return kept;
}

int64_t md_cpu_keep_own(int64_t i, int32_t *row, int64_t n) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++)
        if (md_cpu_owns(i, row[k])) row[kept++] = row[k];
    return kept;
}

/* Shell sort: rows are short, and stretches of them ascend already. Gaps of Ciura, Lecture Notes in Computer Science
 * 2138, 106 (2001). */
void md_cpu_sort_row(int32_t *row, int64_t n) {
    static const int64_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int64_t k = gaps[g]; k < n; k++) {
            const int32_t entry = row[k];
            int64_t to = k;
            for (; to >= gaps[g] && row[to - gaps[g]] > entry; to -= gaps[g]) row[to] = row[to - gaps[g]];
            row[to] = entry;
        }
}

void md_cpu_build_list(MdCpuContext *c) {
    c->kernels->fill_candidates(c);
    for (;;) {
        int64_t longest = c->kernels->build_rows(c);
        if (longest <= c->capacity) break;
        c->statistics.n_overflows++;
        md_cpu_allocate_list(c, longest + longest / 10);
        c->buffers = md_cpu_take(c, md_cpu_buffer_entries(c), sizeof(int32_t), "row buffers");
    }
    int64_t n_entries = 0;
    for (int64_t i = 0; i < c->n_atoms; i++) n_entries += c->count[i];
    c->statistics.n_entries = n_entries;
    const double rows_of_a_pair = c->list == MD_LIST_HALF ? 1 : 2;
    c->statistics.neighbors_per_atom = 2 / rows_of_a_pair * (double)n_entries / (double)c->n_atoms;
}

MdStatus md_cpu_export_rows(MdCpuContext *c, MdRows *rows) {
    memset(rows, 0, sizeof *rows);
    if (c->kernel != MD_KERNEL_LIST)
        return md_fail(c->errors, MD_ERROR_INPUT, "there is no neighbour list to show: take force.kernel = list");
    if (!c->built) return md_fail(c->errors, MD_ERROR_INTERNAL, "no neighbour list has been built yet");
    rows->n_atoms = c->n_atoms;
    rows->offsets = md_alloc((size_t)c->n_atoms + 1, sizeof *rows->offsets, "exported list");
    for (int64_t i = 0; i < c->n_atoms; i++) rows->offsets[c->id[i] + 1] = c->count[i];
    for (int64_t id = 0; id < c->n_atoms; id++) rows->offsets[id + 1] += rows->offsets[id];
    rows->ids = md_alloc((size_t)rows->offsets[c->n_atoms], sizeof *rows->ids, "exported list");
    for (int64_t i = 0; i < c->n_atoms; i++) {
        const int32_t *row = c->entries + i / MD_CPU_SLICE * MD_CPU_SLICE * c->stride + i % MD_CPU_SLICE;
        int32_t *to = rows->ids + rows->offsets[c->id[i]];
        for (int64_t k = 0; k < c->count[i]; k++) to[k] = c->id[row[k * MD_CPU_SLICE]];
    }
    return MD_OK;
}
