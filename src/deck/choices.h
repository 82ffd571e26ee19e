/* The named values of options. MD_CHOICES_<SET>(X) lists X(CONSTANT, "word") in the order of SWITCHES: naive first.
 * Each set becomes an enum of constants with the set in their name: MD_START_SQUARE (the set SWITCH: MD_OFF, MD_ON). */
#ifndef MD_DECK_CHOICES_H
#define MD_DECK_CHOICES_H

#include "physics/baths.def"
#include "physics/forms.def"

#define MD_CHOICES_NONE(X)
#define MD_CHOICES_SWITCH(X) X(OFF, "off") X(ON, "on")
#define MD_CHOICES_START(X)                                                                                            \
    X(SQUARE, "square") X(HEXAGONAL, "hexagonal") X(SC, "sc") X(BCC, "bcc") X(FCC, "fcc") X(RANDOM, "random")          \
    X(FILE, "file")
#define MD_CHOICES_BOUNDARY(X) X(PERIODIC, "periodic") X(OPEN, "open")
#define MD_CHOICES_GENERATOR(X)                                                                                        \
    X(PHILOX, "philox") X(XORWOW, "xorwow") X(MRG32K3A, "mrg32k3a") X(MT19937, "mt19937")
#define MD_CHOICES_RANDOM_PLACE(X) X(HOST, "host") X(DEVICE, "device") X(AUTO, "auto")
#define MD_CHOICES_POTENTIAL(X) MD_FORMS(X)
#define MD_CHOICES_MIXING(X) X(LORENTZ_BERTHELOT, "lorentz-berthelot") X(GEOMETRIC, "geometric")
#define MD_CHOICES_SHIFT(X) MD_SHIFTS(X)
#define MD_CHOICES_BACKEND(X) X(CPU, "cpu") X(CUDA, "cuda") X(AUTO, "auto")
#define MD_CHOICES_PRECISION(X) X(DOUBLE, "double") X(SINGLE, "single") X(MIXED, "mixed")
#define MD_CHOICES_THERMOSTAT(X) X(NONE, "none") MD_BATHS(X)
#define MD_CHOICES_SPACE(X)                                                                                            \
    X(MAPPED, "mapped") X(MANAGED, "managed") X(MANAGED_PREFETCH, "managed-prefetch") X(DEVICE, "device")
#define MD_CHOICES_ALLOCATION(X) X(PER_CALL, "per-call") X(POOL, "pool") X(ONCE, "once")
#define MD_CHOICES_LAYOUT(X) X(AOS, "aos") X(SOA, "soa") X(VEC4, "vec4")
#define MD_CHOICES_SORT(X)                                                                                             \
    X(NONE, "none") X(CELL, "cell") X(MORTON, "morton") X(HILBERT, "hilbert") X(BRICK, "brick")          \
    X(AUTO, "auto")
#define MD_CHOICES_TRANSPORT(X)                                                                                        \
    X(STAGED, "staged") X(CUDA_AWARE, "cuda-aware") X(NCCL, "nccl") X(DIRECT, "direct") X(AUTO, "auto")
#define MD_CHOICES_FRAMES(X) X(ROOT, "root") X(ALL, "all")
#define MD_CHOICES_BRICK_GRID(X) X(CELLS, "cells") X(DEVICE, "device") X(DEVICE_2, "device-2") X(AUTO, "auto")
#define MD_CHOICES_BRICK_CELLS(X) X(1, "1") X(2, "2") X(3, "3") X(4, "4") X(6, "6") X(8, "8") X(AUTO, "auto")
#define MD_CHOICES_STAGING(X) X(REGISTERS, "registers") X(ASYNC, "async") X(AUTO, "auto")
#define MD_CHOICES_CARVEOUT(X) X(DRIVER, "driver") X(L1, "l1") X(SHARED, "shared")
#define MD_CHOICES_LOAD(X) X(GLOBAL, "global") X(LDG, "ldg") X(TEXTURE, "texture")
#define MD_CHOICES_PARAMETERS(X) X(GLOBAL, "global") X(ARGUMENT, "argument") X(CONSTANT, "constant")
#define MD_CHOICES_SEARCH(X) X(BRUTE, "brute") X(BRUTE_TILED, "brute-tiled") X(CELL, "cell")
#define MD_CHOICES_ROW_THREADS(X) X(1, "1") X(32, "32") X(AUTO, "auto")
#define MD_CHOICES_DISTANCES(X) X(THREAD, "thread") X(MATRIX, "matrix") X(AUTO, "auto")
#define MD_CHOICES_LIST_WRITE(X) X(ATOMIC, "atomic") X(NONATOMIC, "nonatomic")
#define MD_CHOICES_LIST(X) X(HALF, "half") X(FULL, "full")
#define MD_CHOICES_LIST_ORDER(X) X(ROW, "row") X(COLUMN, "column")
#define MD_CHOICES_REBUILD(X) X(EVERY, "every") X(HOST_CHECK, "host-check") X(DEVICE_CHECK, "device-check")
#define MD_CHOICES_PREDICT(X) X(OFF, "off") X(VELOCITY, "velocity") X(AUTO, "auto")
#define MD_CHOICES_KERNEL(X)                                                                                           \
    X(PAIRS, "pairs") X(PAIRS_TILED, "pairs-tiled") X(LIST, "list") X(LIST_SPLIT, "list-split") X(CELL, "cell")        \
    X(CLUSTER, "cluster") X(BRICK, "brick") X(AUTO, "auto")
#define MD_CHOICES_THREADS(X)                                                                                          \
    X(1, "1") X(2, "2") X(4, "4") X(8, "8") X(16, "16") X(32, "32") X(AUTO, "auto")
#define MD_CHOICES_PARTIAL_SUMS(X) X(ATOMIC, "atomic") X(SHARED, "shared") X(SHUFFLE, "shuffle")
#define MD_CHOICES_CUTOFF_TEST(X) X(BRANCH, "branch") X(SELECT, "select")
#define MD_CHOICES_ARITHMETIC(X) X(IEEE, "ieee") X(FAST, "fast") X(AUTO, "auto")
#define MD_CHOICES_UNROLL(X) X(1, "1") X(2, "2") X(4, "4") X(8, "8")
#define MD_CHOICES_ENERGY(X) X(EVERY_STEP, "every-step") X(ON_OUTPUT, "on-output")
#define MD_CHOICES_METHOD(X)                                                                                           \
    X(GLOBAL, "global") X(SHARED, "shared") X(SHARED_DYNAMIC, "shared-dynamic") X(SYNCWARP, "syncwarp")                \
    X(SHUFFLE, "shuffle") X(COOPERATIVE, "cooperative") X(CUB, "cub")
#define MD_CHOICES_ADDRESSING(X) X(INTERLEAVED, "interleaved") X(SEQUENTIAL, "sequential")
#define MD_CHOICES_PER_THREAD(X) X(ONE, "one") X(GRID_STRIDE, "grid-stride")
#define MD_CHOICES_FINISH(X) X(HOST, "host") X(ATOMIC, "atomic") X(TWO_PASS, "two-pass")
#define MD_CHOICES_SCRATCH(X) X(PER_CALL, "per-call") X(STATIC, "static")
#define MD_CHOICES_ACCUMULATE(X) \
    X(SINGLE, "single") X(COMPENSATED, "compensated") X(DOUBLE, "double") X(REPRODUCIBLE, "reproducible")
#define MD_CHOICES_BLOCK_SIZE(X)                                                                                       \
    X(32, "32") X(64, "64") X(128, "128") X(256, "256") X(512, "512") X(1024, "1024") X(AUTO, "auto")
#define MD_CHOICES_FUSE(X) X(OFF, "off") X(ON, "on") X(STEP, "step") X(AUTO, "auto")
#define MD_CHOICES_GRAPH(X) X(OFF, "off") X(ON, "on") X(AUTO, "auto")
#define MD_CHOICES_PERSISTENT(X) X(OFF, "off") X(ON, "on") X(AUTO, "auto")
#define MD_CHOICES_BARRIER(X) X(GRID, "grid") X(LOCAL, "local") X(AUTO, "auto")
#define MD_CHOICES_PASSES(X) X(KERNELS, "kernels") X(QUEUE, "queue") X(AUTO, "auto")
#define MD_CHOICES_CHECK_KERNELS(X) X(SYNC, "sync") X(LAUNCH, "launch") X(OFF, "off")
#define MD_CHOICES_STREAMS(X) X(1, "1") X(2, "2")
#define MD_CHOICES_HOST_MEMORY(X)                                                                                      \
    X(PAGEABLE, "pageable") X(PINNED, "pinned") X(WRITE_COMBINED, "write-combined") X(MAPPED, "mapped")
#define MD_CHOICES_PACK(X) X(NAIVE, "naive") X(SHARED, "shared") X(PADDED, "padded")
#define MD_CHOICES_XYZ_VELOCITIES(X) X(OFF, "off") X(VELO, "velo") X(VEL, "vel") X(MOMENTA, "momenta")
#define MD_CHOICES_FILE_PRECISION(X) X(SINGLE, "single") X(DOUBLE, "double")
#define MD_CHOICES_COMPRESSION(X)                                                                                      \
    X(NONE, "none") X(1, "gzip-1") X(2, "gzip-2") X(3, "gzip-3") X(4, "gzip-4") X(5, "gzip-5") X(6, "gzip-6")          \
    X(7, "gzip-7") X(8, "gzip-8") X(9, "gzip-9")
#define MD_CHOICES_EXISTING(X) X(BACKUP, "backup") X(REFUSE, "refuse") X(OVERWRITE, "overwrite")
#define MD_CHOICES_PROGRESS(X) X(AUTO, "auto") X(BAR, "bar") X(PLAIN, "plain") X(OFF, "off")

#define MD_ENUM_SWITCH(name, word) MD_##name,
enum { MD_CHOICES_SWITCH(MD_ENUM_SWITCH) };
#define MD_ENUM_START(name, word) MD_START_##name,
enum { MD_CHOICES_START(MD_ENUM_START) };
#define MD_ENUM_BOUNDARY(name, word) MD_BOUNDARY_##name,
enum { MD_CHOICES_BOUNDARY(MD_ENUM_BOUNDARY) };
#define MD_ENUM_GENERATOR(name, word) MD_GENERATOR_##name,
enum { MD_CHOICES_GENERATOR(MD_ENUM_GENERATOR) };
#define MD_ENUM_RANDOM_PLACE(name, word) MD_RANDOM_PLACE_##name,
enum { MD_CHOICES_RANDOM_PLACE(MD_ENUM_RANDOM_PLACE) };
#define MD_ENUM_POTENTIAL(name, ...) MD_POTENTIAL_##name,
enum { MD_CHOICES_POTENTIAL(MD_ENUM_POTENTIAL) };
#define MD_ENUM_MIXING(name, word) MD_MIXING_##name,
enum { MD_CHOICES_MIXING(MD_ENUM_MIXING) };
#define MD_ENUM_BACKEND(name, word) MD_BACKEND_##name,
enum { MD_CHOICES_BACKEND(MD_ENUM_BACKEND) };
#define MD_ENUM_PRECISION(name, word) MD_PRECISION_##name,
enum { MD_CHOICES_PRECISION(MD_ENUM_PRECISION) };
#define MD_ENUM_THERMOSTAT(name, ...) MD_THERMOSTAT_##name,
enum { MD_CHOICES_THERMOSTAT(MD_ENUM_THERMOSTAT) };
#define MD_ENUM_SPACE(name, word) MD_SPACE_##name,
enum { MD_CHOICES_SPACE(MD_ENUM_SPACE) };
#define MD_ENUM_ALLOCATION(name, word) MD_ALLOCATION_##name,
enum { MD_CHOICES_ALLOCATION(MD_ENUM_ALLOCATION) };
#define MD_ENUM_LAYOUT(name, word) MD_LAYOUT_##name,
enum { MD_CHOICES_LAYOUT(MD_ENUM_LAYOUT) };
#define MD_ENUM_SORT(name, word) MD_SORT_##name,
enum { MD_CHOICES_SORT(MD_ENUM_SORT) };
#define MD_ENUM_TRANSPORT(name, word) MD_TRANSPORT_##name,
enum { MD_CHOICES_TRANSPORT(MD_ENUM_TRANSPORT) };
#define MD_ENUM_FRAMES(name, word) MD_FRAMES_##name,
enum { MD_CHOICES_FRAMES(MD_ENUM_FRAMES) };
#define MD_ENUM_BRICK_GRID(name, word) MD_BRICK_GRID_##name,
enum { MD_CHOICES_BRICK_GRID(MD_ENUM_BRICK_GRID) };
#define MD_ENUM_BRICK_CELLS(name, word) MD_BRICK_CELLS_##name,
enum { MD_CHOICES_BRICK_CELLS(MD_ENUM_BRICK_CELLS) };
#define MD_ENUM_STAGING(name, word) MD_STAGING_##name,
enum { MD_CHOICES_STAGING(MD_ENUM_STAGING) };
#define MD_ENUM_CARVEOUT(name, word) MD_CARVEOUT_##name,
enum { MD_CHOICES_CARVEOUT(MD_ENUM_CARVEOUT) };
#define MD_ENUM_LOAD(name, word) MD_LOAD_##name,
enum { MD_CHOICES_LOAD(MD_ENUM_LOAD) };
#define MD_ENUM_PARAMETERS(name, word) MD_PARAMETERS_##name,
enum { MD_CHOICES_PARAMETERS(MD_ENUM_PARAMETERS) };
#define MD_ENUM_SEARCH(name, word) MD_SEARCH_##name,
enum { MD_CHOICES_SEARCH(MD_ENUM_SEARCH) };
#define MD_ENUM_ROW_THREADS(name, word) MD_ROW_THREADS_##name,
enum { MD_CHOICES_ROW_THREADS(MD_ENUM_ROW_THREADS) };
#define MD_ENUM_DISTANCES(name, word) MD_DISTANCES_##name,
enum { MD_CHOICES_DISTANCES(MD_ENUM_DISTANCES) };
#define MD_ENUM_LIST_WRITE(name, word) MD_LIST_WRITE_##name,
enum { MD_CHOICES_LIST_WRITE(MD_ENUM_LIST_WRITE) };
#define MD_ENUM_LIST(name, word) MD_LIST_##name,
enum { MD_CHOICES_LIST(MD_ENUM_LIST) };
#define MD_ENUM_LIST_ORDER(name, word) MD_LIST_ORDER_##name,
enum { MD_CHOICES_LIST_ORDER(MD_ENUM_LIST_ORDER) };
#define MD_ENUM_REBUILD(name, word) MD_REBUILD_##name,
enum { MD_CHOICES_REBUILD(MD_ENUM_REBUILD) };
#define MD_ENUM_PREDICT(name, word) MD_PREDICT_##name,
enum { MD_CHOICES_PREDICT(MD_ENUM_PREDICT) };
#define MD_ENUM_KERNEL(name, word) MD_KERNEL_##name,
enum { MD_CHOICES_KERNEL(MD_ENUM_KERNEL) };
#define MD_ENUM_THREADS(name, word) MD_THREADS_##name,
enum { MD_CHOICES_THREADS(MD_ENUM_THREADS) };
#define MD_ENUM_PARTIAL_SUMS(name, word) MD_PARTIAL_SUMS_##name,
enum { MD_CHOICES_PARTIAL_SUMS(MD_ENUM_PARTIAL_SUMS) };
#define MD_ENUM_CUTOFF_TEST(name, word) MD_CUTOFF_TEST_##name,
enum { MD_CHOICES_CUTOFF_TEST(MD_ENUM_CUTOFF_TEST) };
#define MD_ENUM_ARITHMETIC(name, word) MD_ARITHMETIC_##name,
enum { MD_CHOICES_ARITHMETIC(MD_ENUM_ARITHMETIC) };
#define MD_ENUM_UNROLL(name, word) MD_UNROLL_##name,
enum { MD_CHOICES_UNROLL(MD_ENUM_UNROLL) };
#define MD_ENUM_ENERGY(name, word) MD_ENERGY_##name,
enum { MD_CHOICES_ENERGY(MD_ENUM_ENERGY) };
#define MD_ENUM_METHOD(name, word) MD_METHOD_##name,
enum { MD_CHOICES_METHOD(MD_ENUM_METHOD) };
#define MD_ENUM_ADDRESSING(name, word) MD_ADDRESSING_##name,
enum { MD_CHOICES_ADDRESSING(MD_ENUM_ADDRESSING) };
#define MD_ENUM_PER_THREAD(name, word) MD_PER_THREAD_##name,
enum { MD_CHOICES_PER_THREAD(MD_ENUM_PER_THREAD) };
#define MD_ENUM_FINISH(name, word) MD_FINISH_##name,
enum { MD_CHOICES_FINISH(MD_ENUM_FINISH) };
#define MD_ENUM_SCRATCH(name, word) MD_SCRATCH_##name,
enum { MD_CHOICES_SCRATCH(MD_ENUM_SCRATCH) };
#define MD_ENUM_ACCUMULATE(name, word) MD_ACCUMULATE_##name,
enum { MD_CHOICES_ACCUMULATE(MD_ENUM_ACCUMULATE) };
#define MD_ENUM_BLOCK_SIZE(name, word) MD_BLOCK_SIZE_##name,
enum { MD_CHOICES_BLOCK_SIZE(MD_ENUM_BLOCK_SIZE) };
#define MD_ENUM_FUSE(name, word) MD_FUSE_##name,
enum { MD_CHOICES_FUSE(MD_ENUM_FUSE) };
#define MD_ENUM_GRAPH(name, word) MD_GRAPH_##name,
enum { MD_CHOICES_GRAPH(MD_ENUM_GRAPH) };
#define MD_ENUM_PERSISTENT(name, word) MD_PERSISTENT_##name,
enum { MD_CHOICES_PERSISTENT(MD_ENUM_PERSISTENT) };
#define MD_ENUM_BARRIER(name, word) MD_BARRIER_##name,
enum { MD_CHOICES_BARRIER(MD_ENUM_BARRIER) };
#define MD_ENUM_PASSES(name, word) MD_PASSES_##name,
enum { MD_CHOICES_PASSES(MD_ENUM_PASSES) };
#define MD_ENUM_CHECK_KERNELS(name, word) MD_CHECK_KERNELS_##name,
enum { MD_CHOICES_CHECK_KERNELS(MD_ENUM_CHECK_KERNELS) };
#define MD_ENUM_STREAMS(name, word) MD_STREAMS_##name,
enum { MD_CHOICES_STREAMS(MD_ENUM_STREAMS) };
#define MD_ENUM_HOST_MEMORY(name, word) MD_HOST_MEMORY_##name,
enum { MD_CHOICES_HOST_MEMORY(MD_ENUM_HOST_MEMORY) };
#define MD_ENUM_PACK(name, word) MD_PACK_##name,
enum { MD_CHOICES_PACK(MD_ENUM_PACK) };
#define MD_ENUM_XYZ_VELOCITIES(name, word) MD_XYZ_VELOCITIES_##name,
enum { MD_CHOICES_XYZ_VELOCITIES(MD_ENUM_XYZ_VELOCITIES) };
#define MD_ENUM_FILE_PRECISION(name, word) MD_FILE_PRECISION_##name,
enum { MD_CHOICES_FILE_PRECISION(MD_ENUM_FILE_PRECISION) };
#define MD_ENUM_COMPRESSION(name, word) MD_COMPRESSION_##name,
enum { MD_CHOICES_COMPRESSION(MD_ENUM_COMPRESSION) };
#define MD_ENUM_EXISTING(name, word) MD_EXISTING_##name,
enum { MD_CHOICES_EXISTING(MD_ENUM_EXISTING) };
#define MD_ENUM_PROGRESS(name, word) MD_PROGRESS_##name,
enum { MD_CHOICES_PROGRESS(MD_ENUM_PROGRESS) };

#endif
