/* What stands in the memory of the GPU after a build, which no result shows: particles in the order of memory.sort, the
 * positions that displacements are counted from, sorted rows in the order of memory; and a search that finds no room
 * counts on, but writes nothing past the capacity of a row. Looks into the context of the cuda backend. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "check.h"
#include "walk.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/stages/stages.h"
#include "judge.h"
#include "physics/curve.h"

/* Switches that change nothing of this. */
#define NOT_OF_MEMORY                                                                                                  \
    "memory.allocation memory.load memory.parameters neighbor.rebuild force.threads_per_atom force.partial_sums "      \
    "force.arithmetic force.cutoff_test force.unroll force.energy reduce.method reduce.addressing reduce.per_thread "  \
    "reduce.finish reduce.scratch reduce.accumulate launch.fuse launch.graph launch.persistent"

/* --- vectors in the layout of the run ------------------------------------------------------------------------------- */

static size_t n_parts(const CudaContext *context) { return context->config.memory_layout == MD_LAYOUT_SOA ? 3 : 1; }
static size_t width(const CudaContext *context) {
    return context->config.memory_layout == MD_LAYOUT_SOA ? 1 : context->config.memory_layout == MD_LAYOUT_AOS ? 3 : 4;
}

static void fill(CudaContext *context, void *device, int byte, size_t bytes) {
    CUDA_CHECK(cudaMemsetAsync(device, byte, bytes, context->stream));
}

/* Not a number, everywhere. */
static void spoil(CudaContext *context, const CudaVectors *vectors, size_t size) {
    for (size_t k = 0; k < n_parts(context); k++)
        fill(context, vectors->part[k], 0xff, (size_t)context->room * width(context) * size);
}

static void *download(CudaContext *context, const void *device, size_t count, size_t size) {
    void *host = md_alloc(count, size, "an array of the device");
    cuda_memory_download(context, host, device, count * size);
    return host;
}

/* [n_atoms][3], of numbers of `size` bytes. */
static double *vectors(CudaContext *context, const CudaVectors *from, size_t size) {
    const size_t n = (size_t)context->room, wide = width(context), parts = n_parts(context);
    double *xyz = md_alloc(3 * n, sizeof *xyz, "vectors of the device");
    for (size_t part = 0; part < parts; part++) {
        void *raw = download(context, from->part[part], n * wide, size);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < 3 / parts; k++) {
                const size_t at = i * wide + k;
                xyz[3 * i + part + k] = size == sizeof(float) ? (double)((float *)raw)[at] : ((double *)raw)[at];
            }
        md_free(raw);
    }
    return xyz;
}

/* Positions with the bits that mixed precision keeps apart. The bits of a double as an integer go up by one for the next number
 * further from zero; the word counts such steps, of 2^20, from 256 of them nearer to zero than the float is. */
static double *whole_places(CudaContext *context) {
    const CudaParticles *now = &context->arguments.now;
    double *x = vectors(context, &now->position, context->facts.pair_size);
    if (context->config.run_precision != MD_PRECISION_MIXED) return x;
    const bool with_them = context->config.memory_layout == MD_LAYOUT_VEC4;
    const size_t n = (size_t)context->room, words_each = with_them ? 4 : 1;
    uint32_t *words = download(context, with_them ? now->position.part[0] : now->low, words_each * n, sizeof *words);
    for (size_t k = 0; k < 3 * n; k++) {
        const uint32_t word = words[with_them ? 4 * (k / 3) + 3 : k / 3];
        const int64_t steps = (int64_t)((word >> 8 * (k % 3) & 255) << 1 | (word >> (28 + k % 3) & 1)) - 256;
        int64_t bits;
        memcpy(&bits, &x[k], sizeof bits);
        bits += steps * (1 << 20);
        memcpy(&x[k], &bits, sizeof bits);
    }
    md_free(words);
    return x;
}

/* --- order ---------------------------------------------------------------------------------------------------------- */

/* Bricks row by row, and the cells of each row by row. Cells are shared out evenly: brick b of m begins with the first cell
 * c of n for which c m >= b n. */
static uint64_t brick_key(const CudaGrid *grid, const uint32_t c[3]) {
    uint64_t brick = 0, cell = 0;
    for (int a = 2; a >= 0; a--) {
        const uint64_t n = (uint64_t)grid->n[a], m = (uint64_t)grid->n_bricks[a];
        uint64_t b = 0, first = 0;
        for (uint64_t other = 1; other < m; other++)
            if (other * n / m <= c[a]) {
                b = other;
                first = other * n / m;
            }
        brick = brick * m + b;
        cell = cell << 10 | (c[a] - first);
    }
    return brick << 32 | cell;
}

/* Where memory.sort puts a particle at x, before those with a larger number. */
static uint64_t order_key(const CudaContext *context, const double x[3]) {
    const CudaGrid *grid = &context->arguments.grid;
    uint32_t c[3], most = 1;
    for (int a = 0; a < 3; a++) {
        double cell = floor((x[a] - grid->origin[a]) * grid->inverse_edge[a]);
        c[a] = (uint32_t)fmin(fmax(cell, 0), grid->n[a] - 1);
        if ((uint32_t)grid->n[a] > most) most = (uint32_t)grid->n[a];
    }
    switch (context->config.memory_sort) {
    case MD_SORT_NONE: return 0;
    case MD_SORT_MORTON: return md_curve_morton(c[0], c[1], c[2]);
    case MD_SORT_HILBERT: return md_curve_hilbert(context->box.dimension, md_curve_bits(most), c[0], c[1], c[2]);
    case MD_SORT_BRICK: return brick_key(grid, c);
    default: return ((uint64_t)c[2] * (uint64_t)grid->n[1] + c[1]) * (uint64_t)grid->n[0] + c[0];
    }
}

/* Each particle once, by key; within a cell by id, in bricks by x first. */
static int64_t count_out_of_order(const CudaContext *context, const double *x, const CudaTag *tag) {
    int64_t n_wrong = 0;
    for (int i = 1; i < context->room; i++) {
        const uint64_t before = order_key(context, x + 3 * (i - 1)), key = order_key(context, x + 3 * i);
        const float x_before = (float)x[3 * (i - 1)], x_now = (float)x[3 * i];
        const bool by_x = context->config.memory_sort == MD_SORT_BRICK && x_before != x_now;
        const bool ordered = by_x ? x_before < x_now : tag[i - 1].id < tag[i].id;
        n_wrong += before > key || (before == key && !ordered);
    }
    return n_wrong;
}

/* Places inside the box, which with their images are those of the system; and what pairs see of them, now and as the
 * reference of displacements. */
static int64_t count_misplaced(CudaContext *context, const MdSystem *system, const double *x, const CudaTag *tag) {
    const CudaArguments *a = &context->arguments;
    const double u = tolerance_place_roundoff(context->config.run_precision);
    double *seen = vectors(context, &a->now.position, context->facts.pair_size);
    double *reference = vectors(context, &a->reference, context->facts.pair_size);
    int64_t n_wrong = 0;
    for (int64_t k = 0; k < 3 * (int64_t)context->room; k++) {
        const int64_t i = k / 3, axis = k % 3, there = 3 * (int64_t)tag[i].id + axis;
        const int32_t image = axis == 0 ? tag[i].ix : axis == 1 ? tag[i].iy : tag[i].iz;
        const double length = system->box.periodic[axis] ? system->box.length[axis] : 0;
        const double pair = context->facts.pair_size == sizeof(float) ? (double)(float)x[k] : x[k];
        const double off = x[k] - system->position[there] + (image - system->image[there]) * length;
        /* One rounding; of what was wrapped, one of each step of that, too. An image is exact in double. */
        const double place = fabs(system->position[there]);
        const bool stayed = image == system->image[there] && (length == 0 || system->position[there] >= 0);
        const double allowed = stayed ? u * place + 0x1p-100 : 4 * u * (place + length) + DBL_EPSILON * 8 * length;
        const bool is_nearest = fabs(seen[k] - x[k]) <= fabs(pair - x[k]); /* either of two */
        n_wrong += !(is_nearest && reference[k] == seen[k] && fabs(off) <= allowed);
        n_wrong += length > 0 && !(x[k] >= 0 && x[k] < length);
    }
    md_free(seen), md_free(reference);
    return n_wrong;
}

/* Rows whose neighbours do not stand in the order of memory. */
static int64_t count_unsorted(const WalkRun *run, const CudaTag *tag) {
    const CudaContext *context = run->context;
    MdRows rows = {0};
    if (!walk_ok(run, run->ops->export_rows(run->context, &rows))) return -1;
    int64_t n_wrong = 0, *place = md_alloc((size_t)context->room, sizeof *place, "places of ids");
    for (int64_t i = 0; i < context->room; i++) place[tag[i].id] = i;
    for (int64_t i = 0; i < rows.n_atoms; i++)
        for (int64_t k = rows.offsets[i] + 1; k < rows.offsets[i + 1]; k++)
            n_wrong += place[rows.ids[k - 1]] >= place[rows.ids[k]];
    md_free(place);
    md_rows_free(&rows);
    return n_wrong;
}

static bool check_memory(const WalkRun *run, const MdSystem *system) {
    CudaContext *context = run->context;
    const CudaArguments *a = &context->arguments;
    CudaTag *tag = download(context, a->now.tag, (size_t)context->room, sizeof *tag);
    double *x = whole_places(context);
    bool ok = true;
    for (int i = 0; ok && i < context->room; i++) ok = CHECK(tag[i].id >= 0 && tag[i].id < context->room);
    ok = ok && CHECK(count_out_of_order(context, x, tag) == 0) && CHECK(count_misplaced(context, system, x, tag) == 0);
    if (ok && run->config.neighbor_sorted == MD_ON && md_option_has_effect(&run->config, MD_OPTION_neighbor_sorted))
        ok = CHECK(count_unsorted(run, tag) == 0);
    md_free(tag), md_free(x);
    return ok;
}

/* --- capacity ------------------------------------------------------------------------------------------------------- */

static void search(CudaContext *context) {
    static const CudaKernelId kernels[] = {[MD_SEARCH_BRUTE] = CUDA_K_neighbor_brute,
                                           [MD_SEARCH_BRUTE_TILED] = CUDA_K_neighbor_brute_tiled,
                                           [MD_SEARCH_CELL] = CUDA_K_neighbor_cell};
    const CudaList *list = &context->arguments.list;
    if (context->facts.has_bricks)
        cuda_launch_blocks(context, CUDA_K_neighbor_brick, cuda_brick_count(&context->arguments.grid));
    else if (context->facts.has_clusters) cuda_launch(context, CUDA_K_neighbor_cluster, 32 * (int64_t)list->n_rows);
    else cuda_launch(context, kernels[context->config.neighbor_search], cuda_neighbor_threads(context));
}

/* The same for slices of bricks (kernels/bricks/tile.cuh), with room for one quad a row: those of all rows come first then, and
 * what is behind them stays as it was. */
static void check_capacity_of_bricks(const WalkRun *run) {
    CudaContext *context = run->context;
    CudaList *list = &context->arguments.list;
    const int64_t n_bricks = cuda_brick_count(&context->arguments.grid);
    const int64_t n_slices = (int64_t)context->h_status->measures.slices;
    const size_t n_quads = (size_t)context->arguments.bricks.slice_capacity * 32 * (size_t)list->capacity / CUDA_QUAD;
    int32_t *needed = download(context, list->counts, (size_t)context->room, sizeof *needed);
    list->capacity = CUDA_QUAD;
    fill(context, list->counts, 0, (size_t)context->room * sizeof *needed);
    fill(context, list->entries, 0xff, n_quads * sizeof(uint64_t));
    fill(context, &context->arguments.status->measures, 0, sizeof(CudaMeasures)); /* where sources are booked */
    search(context);
    int32_t *counts = download(context, list->counts, (size_t)context->room, sizeof *counts);
    uint64_t *quads = download(context, list->entries, n_quads, sizeof *quads);
    CudaBrick *bricks = download(context, context->arguments.bricks.table, (size_t)n_bricks, sizeof *bricks);
    int64_t n_past = 0, n_lost = 0, n_miscounted = 0, n_over = 0;
    for (size_t k = (size_t)n_slices * 32; k < n_quads; k++) n_past += quads[k] != UINT64_MAX;
    for (int64_t b = 0; b < n_bricks; b++)
        for (int32_t i = bricks[b].begin; i < bricks[b].end; i++) {
            const int64_t row = i - bricks[b].begin, slice = bricks[b].slice + row / 32;
            n_lost += needed[i] > 0 && quads[slice * 32 + row % 32] == UINT64_MAX;
            n_over += needed[i] > CUDA_QUAD;
            n_miscounted += counts[i] != needed[i];
        }
    CHECK(n_over > 0);
    CHECK(n_past == 0);
    CHECK(n_lost == 0);
    CHECK(n_miscounted == 0);
    md_free(needed), md_free(counts), md_free(quads), md_free(bricks);
}

/* Searched again with a smaller capacity in an array as large as before. */
static void check_capacity(const WalkRun *run) {
    enum { ROOM = 2 };
    CudaContext *context = run->context;
    CudaList *list = &context->arguments.list;
    const size_t n_rows = (size_t)list->n_rows, size = sizeof(int32_t);
    const int32_t capacity = list->capacity;
    const int64_t n_stored = (list->n_rows - 1) * list->row_stride + (capacity - 1) * list->entry_stride + 1;
    int32_t *needed = download(context, list->counts, n_rows, sizeof *needed);
    list->capacity = ROOM;
    fill(context, list->counts, 0, n_rows * sizeof *needed);
    fill(context, list->entries, 0xff, (size_t)n_stored * size);
    search(context);
    int32_t *counts = download(context, list->counts, n_rows, sizeof *counts);
    char *entries = download(context, list->entries, (size_t)n_stored, size);
    static const char untouched[sizeof(int32_t)] = {-1, -1, -1, -1};
    int64_t n_past = 0, n_lost = 0, n_miscounted = 0, n_over = 0;
    for (int64_t i = 0; i < list->n_rows; i++) {
        n_over += needed[i] > ROOM;
        /* clusters that were not stored are found again */
        n_miscounted += context->facts.has_clusters ? counts[i] < needed[i] : counts[i] != needed[i];
        for (int64_t k = 0; k < capacity; k++) {
            const char *entry = entries + (size_t)(i * list->row_stride + k * list->entry_stride) * size;
            const bool written = memcmp(entry, untouched, size) != 0;
            if (k >= ROOM) n_past += written;
            else if (k < needed[i]) n_lost += !written;
        }
    }
    CHECK(n_over > 0);
    CHECK(n_past == 0);
    CHECK(n_lost == 0);
    CHECK(n_miscounted == 0);
    md_free(needed), md_free(counts), md_free(entries);
}

/* --- the walk ------------------------------------------------------------------------------------------------------- */

static const Case more_cells = {"3-D dilute, many cells",
                                {3, 1500, 0.10, 0.30, 2.5, 0.3, {true, true, true}, true, 1, MD_SHIFT_ENERGY, 31},
                                0,
                                false,
                                false};

static const Case near_bits = {"3-D uneven, near bits",
                               {3, 300, 0.10, 0.30, 2.5, 0.3, {true, true, true}, true, 1, MD_SHIFT_ENERGY, 32},
                               0,
                               false,
                               false};

/* Coordinates where the bits of a double turn over, or are the last: of systems whose name says so. */
static void put_near_bits(MdSystem *system) {
    const double length = system->box.length[0];
    const double special[] = {0,
                              -0.0,
                              1e-42,
                              -1e-42,
                              1e-310,
                              2e-310,
                              3e-310,
                              5e-311,
                              7e-311,
                              2e-311,
                              nextafter(length, 0),
                              -nextafter(length, 0),
                              length,
                              8 - 1e-9,
                              8 - 1e-7,
                              8,
                              8 + 1e-9,
                              8 + 7e-10,
                              16 - 2e-9,
                              16 + 1e-6,
                              4 - 1e-10,
                              4 + 0x1.8p-31,
                              4 + 0x1.8p-30};
    for (size_t k = 0; k < sizeof special / sizeof *special; k++) system->position[3 * (k + 1)] = special[k];
}

/* Many of its atoms, the first and the last among them, a box away from where they belong; another in the last cell. */
static MdSystem *make_strayed(const Case *c, MdConfig *config) {
    MdSystem *system = cases_make(c, config);
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int a = 0; a < system->box.dimension; a++) {
            const int boxes = i == 0 || i == system->n_atoms - 1 ? 1 : (int)((i + a) % 5) - 2;
            if (!system->box.periodic[a] || (boxes != 1 && boxes != -1)) continue;
            system->position[3 * i + a] += boxes * system->box.length[a];
            system->image[3 * i + a] -= boxes;
        }
    const int64_t cornered = system->n_atoms / 2;
    for (int a = 0; a < system->box.dimension; a++)
        if (system->box.periodic[a]) system->position[3 * cornered + a] = system->box.length[a] * (1 - 0x1p-10);
    if (strstr(c->name, "near bits")) put_near_bits(system);
    return system;
}

static void check_combination(Walk *walk, const char *name, const MdConfig *base, const MdSystem *system) {
    WalkRun run;
    if (!walk_create_next(walk, &run, name, base, system)) return;
    CudaContext *context = run.context;
    bool ok = true;
    /* Built twice: the second time from the order of the first. What a build leaves out does not pass for what another
     * context may have left there. */
    for (int build = 0; ok && build < 2; build++) {
        spoil(context, &context->arguments.reference, context->facts.pair_size);
        if (build == 0 && context->arguments.cell_place)
            fill(context, context->arguments.cell_place, 0, (size_t)context->max_cells * sizeof(int32_t));
        ok = walk_ok(&run, build == 0 ? run.ops->update_neighbors(run.context, 0) : run.ops->rebuild(run.context)) &&
             check_memory(&run, system);
    }
    if (ok && context->facts.has_bricks) check_capacity_of_bricks(&run);
    else if (ok && context->facts.has_list) check_capacity(&run);
    walk_destroy(&run);
}

static void test_memory(const MdBackendOps *ops) {
    /* flat and not, edges of different length, few cells and many, one type and two, an open axis */
    const Case *cases[] = {&cases_table[1], &cases_table[2], &cases_table[4], &cases_table[6], &more_cells, &near_bits};
    enum { N_CASES = sizeof cases / sizeof cases[0] };
    MdConfig base[N_CASES];
    MdSystem *system[N_CASES];
    MdSystemPlan plan[N_CASES];
    for (int k = 0; k < N_CASES; k++) {
        base[k] = state_config();
        system[k] = make_strayed(cases[k], &base[k]);
        plan[k] = state_plan(system[k]);
    }
    Walk walk;
    for (walk_begin(&walk, ops, &base[0], DESIGN_SINGLES, NOT_OF_MEMORY, plan, N_CASES); walk_next(&walk);)
        for (int k = 0; k < N_CASES; k++) check_combination(&walk, cases[k]->name, &base[k], system[k]);
    for (int k = 0; k < N_CASES; k++) md_system_destroy(system[k]);
}

int main(void) {
    MdConfig config = state_config();
    const MdBackendOps *ops = walk_cuda(&config);
    if (!ops) return walk_no_cuda();
    test_memory(ops);
    return check_finish();
}
#else
int main(void) { return walk_no_cuda(); }
#endif
