#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "system/coordinates_rows.h"

typedef struct Place {
    int64_t id, row;
} Place;

static int compare_places(const void *a, const void *b) {
    const Place *p = a, *q = b;
    if (p->id != q->id) return p->id < q->id ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

/* Permutes the array, if there is one, to the new order of atoms; entries of `size` bytes. */
static void *gather(void *array, size_t size, const Place *places, int64_t n) {
    if (!array) return NULL;
    char *sorted = malloc((size_t)n * size);
    if (!sorted) md_panic("no memory for coordinates (%zu bytes)", (size_t)n * size);
    for (int64_t k = 0; k < n; k++)
        memcpy(sorted + (size_t)k * size, (const char *)array + (size_t)places[k].row * size, size);
    free(array);
    return sorted;
}

static void move_atoms(MdCoordinates *c, const Place *places) {
    c->position = gather(c->position, 3 * sizeof(double), places, c->n_atoms);
    c->velocity = gather(c->velocity, 3 * sizeof(double), places, c->n_atoms);
    c->momentum = gather(c->momentum, 3 * sizeof(double), places, c->n_atoms);
    c->id = gather(c->id, sizeof(int64_t), places, c->n_atoms);
    c->type = gather(c->type, sizeof(int32_t), places, c->n_atoms);
    c->line = gather(c->line, sizeof(int32_t), places, c->n_atoms);
}

void md_coordinates_sort(MdCoordinates *c, MdLines *lines) {
    const int64_t n = c->n_atoms;
    Place *places = md_alloc((size_t)n, sizeof *places, "the order of ids");
    bool moved = false;
    for (int64_t k = 0; k < n; k++) {
        places[k] = (Place){.id = c->id[k], .row = k};
        moved = moved || (k > 0 && c->id[k] < c->id[k - 1]);
    }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t k = 1; k < n; k++) {
        if (places[k].id != places[k - 1].id) continue;
        lines->number = c->line[places[k].row];
        md_lines_problem(lines, "the id %" PRId64 " is in line %d as well", places[k].id,
                         (int)c->line[places[k - 1].row]);
    }
    if (lines->n_problems == 0 && moved) {
        move_atoms(c, places);
        md_coordinates_note(c, "atoms are in the order of their ids");
    }
    const int64_t first = places[0].id, last = places[n - 1].id;
    if ((first != 0 && first != 1) || last - first != n - 1)
        md_coordinates_note(c, "their ids, %" PRId64 " to %" PRId64 ", are replaced by 1 to %" PRId64 " in that order",
                            first, last, n);
    md_free(places);
}
