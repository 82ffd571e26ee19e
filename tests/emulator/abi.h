/* What the emulator and the kernels that it compiles share: read as C11 by the one and, in front of prelude.h, as C++ by
 * the others. No header is included here: kernels see no host headers. */
#ifndef MD_EMULATOR_ABI_H
#define MD_EMULATOR_ABI_H

typedef struct EmulatorIndex {
    unsigned x, y, z;
} EmulatorIndex;

/* A thread as its kernel sees it. */
typedef struct EmulatorThread {
    EmulatorIndex thread, block, block_size, grid_size;
    unsigned lane, has_waited; /* has_waited: for the kernels before its own */
    void *dynamic_shared;
} EmulatorThread;

enum { EMULATOR_BARRIER, EMULATOR_BARRIER_COUNT, EMULATOR_BARRIER_AND, EMULATOR_BARRIER_OR, EMULATOR_BARRIER_GRID };

enum {
    EMULATOR_WARP_SYNC,
    EMULATOR_WARP_SHUFFLE,
    EMULATOR_WARP_BALLOT,
    EMULATOR_WARP_MATCH,
    EMULATOR_WARP_ADD,
    EMULATOR_WARP_MIN,
    EMULATOR_WARP_MAX,
    EMULATOR_WARP_MIN_UNSIGNED,
    EMULATOR_WARP_MAX_UNSIGNED,
    EMULATOR_WARP_AND,
    EMULATOR_WARP_OR,
    EMULATOR_WARP_XOR,
    EMULATOR_WARP_MULTIPLY /* value: the lane's EmulatorMatrices, whose product is filled in */
};

/* What a lane has of mma.m16n8k4 in double (PTX ISA), or of its upper half, mma.m8n8k4. */
typedef struct EmulatorMatrices {
    double a[2], b, add[4], product[4];
} EmulatorMatrices;

enum { EMULATOR_TEXEL_SIGNED, EMULATOR_TEXEL_UNSIGNED, EMULATOR_TEXEL_FLOAT };

/* What the emulator does for a kernel; where: file and line of the call. */
typedef struct EmulatorServices {
    int (*barrier)(int operation, int predicate, const char *where);
    /* source: the lane to read from, for the shuffle. Values are bit patterns. */
    unsigned long long (*warp)(int operation, unsigned mask, unsigned long long value, int source, const char *where);
    void (*yield)(void);
    void (*yield_to_others)(void); /* the same for who waits for another process */
    long long (*nanoseconds)(void);
    void (*at_atomic)(int is_news); /* is_news: an extreme, of which others may be waiting to hear */
    const void *(*texel)(unsigned long long texture, long long index, unsigned size, int kind, const char *where);
    void (*fail)(const char *message, const char *where);
} EmulatorServices;

typedef struct EmulatorKernel {
    const char *name;
    void (*call)(void **arguments);
    unsigned n_arguments;
    const unsigned *argument_bytes;
    unsigned max_threads; /* of __launch_bounds__, 0: none */
} EmulatorKernel;

/* The one symbol by which a compiled program is found. */
typedef struct EmulatorProgram {
    const EmulatorServices **services;
    EmulatorThread **self; /* the thread that runs */
    const EmulatorKernel *kernels;
    unsigned n_kernels;
} EmulatorProgram;

#endif
