/* The curves that order cells: every cell has a key of its own, Morton's is the plain interleaving, and along Hilbert's
 * each cell shares a face with the next, in two and three dimensions, on whole cubes and on parts of them. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "physics/curve.h"

typedef struct Cell {
    uint64_t key;
    int at[3];
} Cell;

static int compare(const void *a, const void *b) {
    const uint64_t left = ((const Cell *)a)->key, right = ((const Cell *)b)->key;
    return (left > right) - (left < right);
}

static void test_hilbert(int dimension, int bits) {
    enum { MOST = 1 << 12 };
    static Cell cells[MOST];
    const int n = 1 << bits, nz = dimension == 3 ? n : 1, count = n * n * nz;
    check_context("hilbert, dimension %d, %d bits", dimension, bits);
    if (!CHECK(count <= MOST)) return;
    for (int k = 0; k < count; k++) {
        Cell *cell = &cells[k];
        *cell = (Cell){0, {k % n, k / n % n, k / n / n}};
        cell->key =
            md_curve_hilbert(dimension, bits, (uint32_t)cell->at[0], (uint32_t)cell->at[1], (uint32_t)cell->at[2]);
    }
    qsort(cells, (size_t)count, sizeof *cells, compare);
    int n_jumps = 0, n_same = 0;
    for (int k = 1; k < count; k++) {
        int distance = 0;
        for (int a = 0; a < 3; a++) distance += abs(cells[k].at[a] - cells[k - 1].at[a]);
        n_jumps += distance != 1;
        n_same += cells[k].key == cells[k - 1].key;
    }
    CHECK(n_jumps == 0);
    CHECK(n_same == 0);
    CHECK(cells[0].key == 0);
    if (dimension == 3) CHECK(cells[count - 1].key == (uint64_t)count - 1);
}

static void test_morton(void) {
    check_context("morton");
    int n_wrong = 0;
    for (int round = 0; round < 1000; round++) {
        uint32_t at[3];
        uint64_t expected = 0;
        for (int a = 0; a < 3; a++)
            at[a] = ((uint32_t)rand() * 77773u + (uint32_t)rand()) & ((1u << MD_CURVE_BITS) - 1);
        for (int b = 0; b < MD_CURVE_BITS; b++)
            for (int a = 0; a < 3; a++) expected |= (uint64_t)(at[a] >> b & 1) << (3 * b + a);
        n_wrong += md_curve_morton(at[0], at[1], at[2]) != expected;
    }
    CHECK(n_wrong == 0);
}

static void test_bits(void) {
    check_context("bits");
    CHECK(md_curve_bits(1) == 1 && md_curve_bits(2) == 1 && md_curve_bits(3) == 2 && md_curve_bits(4) == 2);
    CHECK(md_curve_bits(5) == 3 && md_curve_bits(1u << 20) == 20 && md_curve_bits(UINT32_MAX) == MD_CURVE_BITS);
}

int main(void) {
    for (int bits = 1; bits <= 4; bits++)
        for (int dimension = 2; dimension <= 3; dimension++) test_hilbert(dimension, bits);
    test_morton();
    test_bits();
    return check_finish();
}
