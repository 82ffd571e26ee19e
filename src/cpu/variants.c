/* Variants of the cpu backend, and what a call of each costs.
 *
 * Model (mixed precision, n neighbours a row). Bytes are those that must move between the caches of a core and main
 * memory when nothing of the arrays stays in cache: each array once a call, an entry of the list 4 bytes; neighbours
 * are found in cache, since memory follows the cells. Operations are those of the useful lanes. */
#include "cpu/context.h"

static const MdVariant rows[] = {
    {"sort", "none", "memory.sort=none", "", true, 36, 9, 0, 0,
     "finds the cell of each atom and leaves memory as it is: neighbours drift apart in it as atoms move"},
    {"sort", "cell", "memory.sort=cell", "", true, 200, 9, 0, 0,
     "moves every array into the order of cells at each rebuild: neighbours stay near; gains once caches are exceeded"},
    {"neighbor", "brute-atomic", "neighbor.search=brute neighbor.write=atomic", "", false, 24, 0, 8, 11,
     "all pairs once: N/2 tests an atom; two atomic additions a pair"},
    {"neighbor", "brute-nonatomic", "neighbor.search=brute neighbor.write=nonatomic", "", true, 24, 0, 4, 22,
     "all pairs twice: N tests an atom; no atomics"},
    {"neighbor", "cell-atomic", "neighbor.search=cell neighbor.write=atomic", "", false, 36, 0, 8, 28,
     "half of the cells around are searched; two atomic additions a pair; order of a row depends on timing"},
    {"neighbor", "cell-nonatomic", "neighbor.search=cell neighbor.write=nonatomic", "", true, 36, 0, 4, 45,
     "all cells around are searched; a thread owns its rows and writes each once"},
    {"force", "row", "neighbor.order=row", "list by rows", true, 32, 12, 4, 27,
     "lanes are the entries of one row; three sums over lanes an atom, last register partly idle"},
    {"force", "column", "neighbor.order=column", "list by columns", true, 32, 0, 4, 27,
     "lanes are 16 atoms; no sum over lanes, idle where rows of a slice differ in length"},
    {"integrate", "every", "neighbor.rebuild=every", "", true, 172, 24, 0, 0,
     "half kick, drift, limits and the positions for the pair loops in one pass; the other half kick in another"},
    {"integrate", "host-check", "neighbor.rebuild=host-check", "", true, 196, 33, 0, 0,
     "the same pass finds the largest displacement too: reads where the atoms were at the build"},
    {"reduce", "blocks", "", "", true, 40, 24, 0, 0,
     "sums of 128 atoms each, added in order: the same bits for any number of threads"},
    {"gather", "by-id", "", "", true, 60, 0, 0, 0, "one scattered write an atom; one thread"},
};

MdVariantTable md_cpu_variants(void) {
    MdVariantTable table = {rows, (int)(sizeof rows / sizeof rows[0])};
    return table;
}
