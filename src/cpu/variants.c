/* Variants of the cpu backend, and the cost of a call of each.
 *
 * Model (mixed precision, n neighbours a row). Bytes count the traffic between the caches of a core and main
 * memory if no array stays in cache: each array once a call, an entry of the list 4 bytes; neighbours
 * are found in cache, since memory follows the cells. Operations are those of the useful lanes. */
#include "cpu/context.h"

static const MdVariant rows[] = {
    {"memory", "memory.allocation=per-call", "", "", 0, 0, 0, 0,
     "forces and the arrays of a rebuild are allocated, cleared and freed in each step: page faults"},
    {"memory", "memory.allocation=once", "", "", 0, 0, 0, 0,
     "everything is allocated at start; the loop makes no system calls for memory"},
    {"memory", "memory.layout=aos", "", "", 0, 0, 0, 0,
     "positions as packed xyz: a neighbour may straddle two cache lines; types are loaded separately"},
    {"memory", "memory.layout=soa", "", "", 0, 0, 0, 0,
     "positions as separate arrays: a neighbour costs three lines, and gather instructions load lane by lane"},
    {"memory", "memory.layout=vec4", "", "", 0, 0, 0, 0,
     "positions as x, y, z and type side by side: a neighbour is one load from one line, transposed in registers"},
    {"sort", "memory.sort=none", "", "", 36, 9, 0, 0,
     "finds the cell of each atom and does not sort: neighbours drift apart in memory as atoms move"},
    {"sort", "memory.sort=cell", "", "", 248, 9, 0, 0,
     "sorts every array by cells at each rebuild: neighbours stay near in memory; faster if the arrays exceed the "
     "caches"},
    {"sort", "memory.sort=morton", "", "", 284, 9, 0, 0,
     "cells along the Z curve: stretches of memory are compact in space; sorts twice, since the search needs rows of "
     "cells"},
    {"sort", "memory.sort=hilbert", "", "", 284, 9, 0, 0,
     "cells along the Hilbert curve, which does not jump; its keys are computed once for a grid"},
    {"sort", "neighbor.predict=off", "", "", 0, 0, 0, 0, "a list is rebuilt when an atom has moved half the skin"},
    {"sort", "neighbor.predict=velocity", "neighbor.rebuild=host-check|device-check", "", 64, 17, 0, 0,
     "one more pass over velocities and over the positions for the pair loops; a list lasts 1.5 times as long"},
    {"neighbor", "neighbor.search=brute", "", "", 24, MD_NO_MODEL, 0, 0, "all pairs: N tests an atom"},
    {"neighbor", "neighbor.search=cell", "", "", 36, 0, 0, 45, "the cells around an atom: some seven tests an entry"},
    {"neighbor", "neighbor.write=atomic", "", "neighbor.sorted=on", 0, 0, 8, 0,
     "each pair tested once; an atomic addition for each entry; the order of a row depends on timing"},
    {"neighbor", "neighbor.write=nonatomic", "", "", 0, 0, 4, 0,
     "each pair tested twice; a thread owns its rows and writes each once"},
    {"neighbor", "neighbor.list=half", "", "no", 0, 0, 0, 0,
     "half the entries and the arithmetic; three atomic additions a pair, whose order depends on timing"},
    {"neighbor", "neighbor.list=full", "", "", 0, 0, 0, 0,
     "each pair in both rows: twice the arithmetic, in full registers, without atomics"},
    {"neighbor", "neighbor.sorted=off", "", "", 0, 0, 0, 0, "entries of a row in the order of the search, by cells"},
    {"neighbor", "neighbor.sorted=on", "", "", 0, 0, 0, 40,
     "a sort of each row at a rebuild; forces read memory in one direction"},
    {"force", "force.kernel=pairs", "", "", 32, MD_NO_MODEL, 0, 0, "N distances an atom each step, no list"},
    {"force", "force.kernel=list", "", "", 32, 6, 4, 27,
     "a list is built now and then; about three in four of its pairs are inside the cutoff"},
    {"force", "force.kernel=cell", "", "", 32, MD_NO_MODEL, 0, 0,
     "no list: the cells around are copied side by side, so no load is scattered; one pair in ten is inside the "
     "cutoff"},
    {"force", "force.cutoff_test=branch", "", "", 0, 0, 0, 0,
     "pair by pair, nothing is computed beyond the cutoff; one lane of a register, and mispredicted branches"},
    {"force", "force.cutoff_test=select", "", "", 0, 0, 0, 0,
     "whole registers with masks: pairs beyond the cutoff are computed and discarded"},
    {"force", "force.arithmetic=ieee", "", "", 0, 0, 0, 0,
     "divisions and roots as the standard rounds them: slow instructions, but few of them in a pair"},
    {"force", "force.arithmetic=fast", "", "", 0, 0, 0, 0,
     "approximate reciprocals, refined to about the last bit: more instructions, none of them slow"},
    {"force", "force.energy=every-step", "", "", 0, 0, 0, 14, "energy, virial and count of every pair at every step"},
    {"force", "force.energy=on-output", "", "", 0, 0, 0, 0, "a separate loop for the steps that need only forces"},
    {"integrate", "neighbor.rebuild=every", "", "", 148, 24, 0, 0,
     "half kick, drift, limits and the positions for the pair loops; nothing tests whether the list is stale"},
    {"integrate", "neighbor.rebuild=host-check", "", "", 148, 24, 0, 0,
     "a separate pass each step finds the largest displacement (its time counts as neighbor)"},
    {"integrate", "neighbor.rebuild=device-check", "", "", 172, 33, 0, 0,
     "the pass of the drift also finds the largest displacement: reads the positions at the build"},
    {"integrate", "launch.fuse=off", "", "", 192, 0, 0, 0,
     "both half kicks, drift, positions and displacement each in a pass over main memory"},
    {"integrate", "launch.fuse=on", "", "", 0, 0, 0, 0, "one pass a step, with the last half kick of the step before"},
    {"reduce", "reduce.accumulate=single", "run.precision=single|mixed", "", 40, 24, 0, 0,
     "floats, blocks added as a tree: 24 bits, a rounding at each addition"},
    {"reduce", "reduce.accumulate=compensated", "run.precision=single|mixed", "", 40, 60, 0, 0,
     "pairs of floats: the rounding error of each addition is kept, for some more operations"},
    {"reduce", "reduce.accumulate=double", "", "", 40, 24, 0, 0,
     "doubles: in a sum in order a processor adds them as fast as floats"},
    {"reduce", "reduce.accumulate=reproducible", "", "", 40, 79, 0, 0,
     "three doubles of whole quanta, so that no addition rounds: the same bits in any order and for any number of "
     "processes; twelve additions a value"},
    {"gather", "", "", "", 60, 0, 0, 0, "one scattered write an atom"},
    {"halo", "parallel.overlap=off", "", "", 0, 0, 0, 0,
     "positions of the halo are exchanged first; nothing is computed meanwhile"},
    {"halo", "parallel.overlap=on", "", "", 0, 0, 0, 0,
     "meanwhile blocks of atoms without neighbours in the halo are computed; one more parallel region a step"},
    {"output", "output.pipeline=off", "", "", 0, 0, 0, 0, "the steps wait while rows and frames are written"},
    {"output", "output.pipeline=on", "", "", 0, 0, 0, 0,
     "a separate thread writes; it takes a core from the steps if they use all cores"},
};

MdVariantTable md_cpu_variants(void) {
    MdVariantTable table = {rows, (int)(sizeof rows / sizeof rows[0])};
    return table;
}
