/* Variants of the cpu backend, and what a call of each costs.
 *
 * Model (mixed precision, n neighbours a row). Bytes are those that must move between the caches of a core and main
 * memory when nothing of the arrays stays in cache: each array once a call, an entry of the list 4 bytes; neighbours
 * are found in cache, since memory follows the cells. Operations are those of the useful lanes. */
#include "cpu/context.h"

static const MdVariant rows[] = {
    {"sort", "memory.sort=none", "", "", 36, 9, 0, 0,
     "finds the cell of each atom and leaves memory as it is: neighbours drift apart in it as atoms move"},
    {"sort", "memory.sort=cell", "", "", 200, 9, 0, 0,
     "moves every array into the order of cells at each rebuild: neighbours stay near; gains once caches are exceeded"},
    {"neighbor", "neighbor.search=brute", "", "", 24, 0, 0, 22,
     "all pairs: N tests an atom"},
    {"neighbor", "neighbor.search=cell", "", "", 36, 0, 0, 45,
     "the cells around an atom"},
    {"neighbor", "neighbor.write=atomic", "", "neighbor.sorted=on", 0, 0, 8, 0,
     "each pair tested once; two atomic additions a pair; order of a row depends on timing"},
    {"neighbor", "neighbor.write=nonatomic", "", "", 0, 0, 4, 0,
     "each pair tested twice; a thread owns its rows and writes each once"},
    {"neighbor", "neighbor.list=full", "", "", 0, 0, 0, 0,
     "each pair in both rows"},
    {"neighbor", "neighbor.order=row", "", "", 0, 0, 0, 0,
     "lanes are the entries of one row; three sums over lanes an atom, last register partly idle"},
    {"neighbor", "neighbor.order=column", "", "", 0, 0, 0, 0,
     "lanes are 16 atoms; no sum over lanes, idle where rows of a slice differ in length"},
    {"neighbor", "neighbor.sorted=off", "", "", 0, 0, 0, 0,
     "rows as they were found"},
    {"force", "force.kernel=list", "", "", 32, 6, 4, 27,
     "each pair twice, in full registers"},
    {"force", "force.cutoff_test=select", "", "", 0, 0, 0, 0,
     "arithmetic on all lanes, masked"},
    {"force", "force.arithmetic=fast", "", "", 0, 0, 0, 0,
     ""},
    {"force", "force.unroll=4", "", "", 0, 0, 0, 0,
     ""},
    {"force", "force.energy=on-output", "", "", 0, 0, 0, 0,
     ""},
    {"integrate", "neighbor.rebuild=every", "", "", 172, 24, 0, 0,
     "half kick, drift, limits and the positions for the pair loops in one pass; the other half kick in another"},
    {"integrate", "neighbor.rebuild=device-check", "", "", 196, 33, 0, 0,
     "the pass of the drift finds the largest displacement too: reads where the atoms were at the build"},
    {"integrate", "launch.fuse=on", "", "", 0, 0, 0, 0,
     ""},
    {"reduce", "reduce.accumulate=double", "", "", 40, 24, 0, 0,
     "sums of 128 atoms each, added in order: the same bits for any number of threads"},
    {"gather", "", "", "", 60, 0, 0, 0,
     "one scattered write an atom; one thread"},
    {"memory", "memory.layout=vec4", "", "", 0, 0, 0, 0,
     ""},
    {"memory", "memory.allocation=once", "", "", 0, 0, 0, 0,
     ""},
};

MdVariantTable md_cpu_variants(void) {
    MdVariantTable table = {rows, (int)(sizeof rows / sizeof rows[0])};
    return table;
}
