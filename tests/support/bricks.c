#include "bricks.h"

#ifdef MDMINI_HAVE_CUDA
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "check.h"
#include "state.h"

MdSystem *bricks_crowd(int edge, double spacing, double box) {
    char cells[64], length[64];
    snprintf(cells, sizeof cells, "system.cells=%d", edge);
    snprintf(length, sizeof length, "system.density=%.17g", 1 / (spacing * spacing * spacing));
    const char *words[] = {"system.start=sc", cells, length, NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    md_deck_destroy(deck);
    for (int64_t k = 0; k < 3 * system->n_atoms; k++)
        system->position[k] = fabs(system->position[k] + 0.1 * spacing * sin(12.9898 * (double)k));
    for (int a = 0; a < 3; a++) system->box.length[a] = box;
    return system;
}

MdConfig bricks_config(int cells, int distances) {
    MdConfig config = state_config();
    config.neighbor_distances = distances;
    config.force_kernel = MD_KERNEL_BRICK;
    config.memory_sort = MD_SORT_BRICK;
    config.memory_brick_grid = MD_BRICK_GRID_CELLS;
    config.memory_brick_cells = cells;
    return config;
}

static double distance_sq(const MdSystem *system, int64_t i, int64_t j) {
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        double d = system->position[3 * i + a] - system->position[3 * j + a];
        if (system->box.periodic[a]) d -= system->box.length[a] * floor(d / system->box.length[a] + 0.5);
        sum += d * d;
    }
    return sum;
}

/* Pairs of ids, (lower, higher), that are missing, there though out of range, or not in both rows. Pairs this close to the
 * range may be either: places of some 10 in single precision. */
static int64_t count_wrong(const MdRows *rows, const MdSystem *system, double range) {
    const double unsure = 1e-4;
    const size_t n = (size_t)system->n_atoms;
    unsigned char *found = md_alloc(n * n, 1, "pairs");
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t k = rows->offsets[i]; k < rows->offsets[i + 1]; k++) {
            unsigned char *entry = &found[(size_t)i * n + (size_t)rows->ids[k]];
            n_wrong += *entry != 0 || rows->ids[k] == i;
            *entry = 1;
        }
    for (int64_t i = 0; i < system->n_atoms; i++)
        for (int64_t j = 0; j < i; j++) {
            const int both = found[(size_t)i * n + (size_t)j] + found[(size_t)j * n + (size_t)i];
            const double r = sqrt(distance_sq(system, i, j));
            n_wrong += both == 1 || (both == 0 && r < range - unsure) || (both == 2 && r > range + unsure);
        }
    md_free(found);
    return n_wrong;
}

static void *downloaded(CudaContext *context, const void *device, size_t bytes) {
    void *host = md_alloc(bytes, 1, "copy of the device");
    cuda_memory_download(context, host, device, bytes);
    return host;
}

/* A brick in space; where it ends the grid along an open axis it has no end. */
typedef struct Place {
    double low[3], high[3];
} Place;

static Place place_of_brick(const CudaGrid *grid, int dimension, const CudaBrick *brick) {
    Place place = {{0, 0, 0}, {0, 0, 0}};
    for (int a = 0; a < dimension; a++) {
        const int64_t n = grid->n[a], m = grid->n_bricks[a],
                      first = llround((brick->origin[a] - grid->origin[a]) * grid->inverse_edge[a]),
                      end = (((first + 1) * m - 1) / n + 1) * n / m;
        place.low[a] = grid->wraps[a] || first > 0 ? brick->origin[a] : -INFINITY;
        place.high[a] =
            grid->wraps[a] || end < n ? grid->origin[a] + (double)end / grid->inverse_edge[a] : (double)INFINITY;
    }
    return place;
}

/* Images of atom i that are so near to it. */
static int64_t images_near(const MdSystem *system, const Place *place, int64_t i, double range) {
    const MdBox *box = &system->box;
    const int z = box->dimension == 3 && box->periodic[2], y = box->periodic[1], x = box->periodic[0];
    int64_t n = 0;
    for (int layer = -z; layer <= z; layer++)
        for (int line = -y; line <= y; line++)
            for (int cell = -x; cell <= x; cell++) {
                const int boxes[3] = {cell, line, layer};
                double sum = 0;
                for (int a = 0; a < box->dimension; a++) {
                    const double at = system->position[3 * i + a] + boxes[a] * box->length[a];
                    sum += pow(fmax(fmax(place->low[a] - at, at - place->high[a]), 0), 2);
                }
                n += sum <= range * range;
            }
    return n;
}

/* Each brick stages what is in range of it, and no more than rounding may make of that. */
static void check_staged(CudaContext *context, const MdSystem *system) {
    const CudaGrid *grid = &context->arguments.grid;
    const int64_t n_bricks = cuda_brick_count(grid);
    CudaBrick *bricks = downloaded(context, context->arguments.bricks.table, (size_t)n_bricks * sizeof *bricks);
    double farthest = 0;
    int64_t n_wrong = 0, n_own = 0;
    for (int a = 0; a < system->box.dimension; a++)
        farthest = fmax(farthest, fabs(grid->origin[a]) + grid->n[a] / grid->inverse_edge[a]);
    const double margin = 1e-3 * context->range + 1e-6 * farthest;
    for (int64_t b = 0; b < n_bricks; b++) {
        const Place place = place_of_brick(grid, system->box.dimension, &bricks[b]);
        int64_t least = 0, most = 0;
        n_own += bricks[b].end - bricks[b].begin;
        for (int64_t i = 0; bricks[b].end > bricks[b].begin && i < system->n_atoms; i++) {
            least += images_near(system, &place, i, context->range - 1e-4);
            most += images_near(system, &place, i, context->range + 2 * margin);
        }
        if (bricks[b].n_staged >= least && bricks[b].n_staged <= most) continue;
        if (n_wrong++ == 0)
            printf("brick %lld stages %d atoms, of %lld to %lld that are near\n", (long long)b, bricks[b].n_staged,
                   (long long)least, (long long)most);
    }
    CHECK(n_wrong == 0 && n_own == system->n_atoms);
    md_free(bricks);
}

/* Number k of an array in the precision of pairs. */
static double pair_number(const CudaContext *context, const void *numbers, int64_t k) {
    return context->facts.pair_size == sizeof(double) ? ((const double *)numbers)[k]
                                                      : (double)((const float *)numbers)[k];
}

/* The numbers that images of each brick are staged by, which come to where the image is from its corner, to far more digits than
 * pairs have, and of which the small one is added to a small number. */
static void check_shifts(CudaContext *context, const MdSystem *system) {
    const int64_t n_bricks = cuda_brick_count(&context->arguments.grid);
    const size_t shifts_bytes = CUDA_SHIFTS * context->facts.pair_size;
    const bool is_double = context->facts.pair_size == sizeof(double);
    CudaBrick *bricks = downloaded(context, context->arguments.bricks.table, (size_t)n_bricks * sizeof *bricks);
    void *shifts = downloaded(context, context->arguments.bricks.shifts, (size_t)n_bricks * shifts_bytes);
    int64_t n_wrong = 0;
    for (int64_t b = 0; b < n_bricks; b++)
        for (int axis = 0; axis < system->box.dimension; axis++) {
            const int boxes = system->box.periodic[axis] ? 1 : 0;
            const double corner = is_double ? bricks[b].origin[axis] : (double)bricks[b].origin_f[axis];
            for (int box = -boxes; box <= boxes; box++) {
                const int64_t k = CUDA_SHIFTS * b + 2 * (CUDA_IMAGES_ALONG * axis + box + 1);
                const double first = pair_number(context, shifts, k), second = pair_number(context, shifts, k + 1);
                const double way = box * system->box.length[axis] - corner;
                const double small = fabs(box > 0 ? first : second), large = fabs(box > 0 ? second : first);
                if (fabs(first + second - way) <= ldexp(fabs(way), -46) && small <= ldexp(large, -23)) continue;
                if (n_wrong++ == 0)
                    printf("brick %lld, axis %d, %d boxes away: %.17g and %.17g for %.17g\n", (long long)b, axis, box,
                           first, second, way);
            }
        }
    CHECK(n_wrong == 0);
    md_free(bricks), md_free(shifts);
}

bool bricks_check_list(const WalkRun *run, const MdSystem *system) {
    MdRows rows;
    MdStatistics statistics;
    if (!walk_ok(run, run->ops->export_rows(run->context, &rows))) return false;
    const CudaContext *context = run->context;
    run->ops->statistics(run->context, &statistics);
    CHECK(statistics.n_entries == rows.offsets[system->n_atoms]);
    CHECK(count_wrong(&rows, system, context->range) == 0);
    md_rows_free(&rows);
    return true;
}

bool bricks_check_rows(const WalkRun *run, const MdSystem *system) {
    if (!bricks_check_list(run, system)) return false;
    check_staged(run->context, system);
    check_shifts(run->context, system);
    return true;
}

/* Entry k of a row, as kernels/bricks/tile.cuh arranges them. */
static int staged_of(const uint64_t *quads, int64_t capacity, int64_t slice, int lane, int k) {
    const uint64_t quad = quads[(slice * (capacity / CUDA_QUAD) + k / CUDA_QUAD) * 32 + lane];
    return (int)(quad >> (16 * (k % CUDA_QUAD)) & 0xffff) / 16;
}

double bricks_read_turns(CudaContext *context) {
    enum { GROUPS = 8, SERVED = 8 };
    const CudaArguments *a = &context->arguments;
    const int64_t n_bricks = cuda_brick_count(&a->grid), capacity = a->list.capacity;
    cuda_status_read(context, true);
    const size_t n_entries = (size_t)context->h_status->measures.slices * 32 * (size_t)capacity;
    CudaBrick *bricks = downloaded(context, a->bricks.table, (size_t)n_bricks * sizeof *bricks);
    int32_t *counts = downloaded(context, a->list.counts, (size_t)context->room * sizeof *counts);
    uint64_t *quads = downloaded(context, a->list.entries, n_entries * sizeof(uint16_t));
    int64_t n_reads = 0, n_turns = 0;
    for (int64_t b = 0; b < n_bricks; b++)
        for (int first = 0; first + SERVED <= bricks[b].end - bricks[b].begin; first += SERVED) {
            int least = INT32_MAX;
            for (int r = first; r < first + SERVED; r++)
                if (counts[bricks[b].begin + r] < least) least = counts[bricks[b].begin + r];
            for (int k = 0; k < least; k++) {
                int count[GROUPS] = {0}, most = 0;
                for (int r = first; r < first + SERVED; r++) {
                    const int group = staged_of(quads, capacity, bricks[b].slice + r / 32, r % 32, k) % GROUPS;
                    if (++count[group] > most) most = count[group];
                }
                n_turns += most;
                n_reads++;
            }
        }
    md_free(bricks), md_free(counts), md_free(quads);
    return (double)n_turns / (double)n_reads;
}

double bricks_move_to_places(CudaContext *context, MdSystem *system) {
    const size_t n = (size_t)system->n_atoms;
    float(*place)[4] = md_alloc(n, sizeof *place, "places of the list");
    CudaTag *tag = md_alloc(n, sizeof *tag, "tags");
    double longest_sq = 0;
    cuda_memory_download(context, place, context->arguments.reference.part[0], n * sizeof *place);
    cuda_memory_download(context, tag, context->arguments.now.tag, n * sizeof *tag);
    for (size_t i = 0; i < n; i++) {
        double *x = system->position + 3 * tag[i].id, way_sq = 0;
        for (int a = 0; a < 3; a++) {
            way_sq += pow(place[i][a] - x[a], 2);
            x[a] = (double)place[i][a];
        }
        longest_sq = fmax(longest_sq, way_sq);
    }
    md_free(place), md_free(tag);
    return sqrt(longest_sq);
}

#endif
