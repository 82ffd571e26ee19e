/* An emulator of the CUDA runtime, of the driver API and of NVRTC, as far as the cuda backend calls them: all kernels and
 * all host code of that backend run on a machine without a GPU, and faults that a GPU passes over in silence stop the
 * program. It is linked in place of those libraries with -DMDMINI_CUDA=EMULATED; of cuRAND only what needs a GPU is.
 *
 * How it works
 *   nvrtc.c                NVRTC: programs and their options
 *   compile.c, rewrite.c   the source goes through the C++ compiler of this machine, with prelude.h for the device
 *                          language. The "CUBIN" is a shared library.
 *   module.c               driver API: modules, functions, launches; what a launch may ask for is checked.
 *   shared.c               which kernel uses how much shared memory
 *   grid.c, warp.c         a thread is a fiber (fiber.c), switched at barriers and collectives of warps. Threads and
 *                          blocks run in random order, from a seed. A cooperative launch has all its blocks at once.
 *   stream.c, graph.c      streams are queues. Nothing runs when it is issued: work runs when the host waits for it.
 *   memory.c               device memory ends at a page without access and begins after one, starts as 0xff bytes, and
 *                          addresses are never used twice.
 *   runtime.c, device.c    the rest of the runtime API: an imaginary GPU with 1 GiB, by default of compute capability 9.0
 *                          and with 4 multiprocessors.
 *   random.c               cuRAND's generators of the device: those of the host in their place, which give the same numbers
 *   idle.c                 MDMINI_CUDA=IDLE: in place of nvrtc.c, compile.c and module.c, one that runs nothing
 *
 * What stops the program (exit code 99, with kernel, block and thread): a barrier that not all live threads of the block
 * reach, or that they reach at different places; a collective of a warp that lanes of its mask do not reach, or reach with
 * another mask; a launch beyond the limits; an access outside of device memory, outside of an array of known size, or of
 * freed memory; an access of the host to device memory; a copy beyond the ends of what it copies; a second or foreign free;
 * a graph capture that the hardware would refuse; at the end of the program, whatever was not freed.
 *
 * What is not followed: time and its order of magnitude; races (one thread runs at a time; other orders come with other
 * seeds); registers (32 for everything); caches; approximate functions, which are exact here. Cooperative groups and CUB
 * are the small headers of device/, which tell whether they are used rightly, not whether the toolkit's are right.
 *
 * Environment
 *   MDMINI_EMULATOR_SEED     order of blocks and threads (1)
 *   MDMINI_EMULATOR_PREEMPT  n: one atomic operation in n lets other threads go first (0: none)
 *   MDMINI_EMULATOR_STREAMS  late: work runs when it is waited for (default); early: when it is issued, as in any case once memory
 *                            of another process has been mapped; random: between
 *   MDMINI_EMULATOR_LEAKS    0: memory that is not freed at the end is no error
 *   MDMINI_EMULATOR_CACHE    folder that keeps compiled programs (one in the build; empty: none)
 *   MDMINI_EMULATOR_DEVICES  number of GPUs (1)
 *   MDMINI_EMULATOR_REACH    0: none can access the memory of another
 *   MDMINI_EMULATOR_IPC      0: memory cannot be given to other processes (CUDA IPC)
 *   MDMINI_EMULATOR_LOSES    n: a copy of n bytes to memory of another process does not come there: a fault to be found
 *   MDMINI_EMULATOR_GPU      CAPABILITY,MULTIPROCESSORS[,KIB], as 12.0,48 for an RTX 5070: what GPU it is (9.0,4; with IDLE
 *                            9.0,132). Threads, blocks and shared memory follow from the compute capability by the table of
 *                            the CUDA programming guide; KIB: the most shared memory of a block, in place of that
 *   MDMINI_EMULATOR_TARGET   the one architecture that NVRTC compiles for (75, 80 and 90)
 *   MDMINI_EMULATOR_NVRTC    the version that NVRTC says it has, as 12.4 (that of the toolkit) */
#ifndef MD_EMULATOR_H
#define MD_EMULATOR_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define EMULATOR_API __attribute__((visibility("default")))

enum {
    EMULATOR_EXIT = 99, /* exit code of a program that the emulator stopped */
    EMULATOR_WARP = 32,
    EMULATOR_MAX_THREADS = 1024, /* of a block */
    EMULATOR_SM_REGISTERS = 65536,
    EMULATOR_REGISTERS = 32,     /* of a thread */
    EMULATOR_SHARED = 48 * 1024, /* bytes, of a block that did not ask for more */
    EMULATOR_MAX_ARGUMENT_BYTES = 32764,
    EMULATOR_QUEUE = 4096 /* operations on a stream before the oldest half runs by itself */
};
#ifdef EMULATOR_IDLE
#define EMULATOR_MEMORY ((size_t)140 << 30)
#else
#define EMULATOR_MEMORY ((size_t)1 << 30)
#endif

/* --- fault.c --- */
/* Prints the message, with kernel, block and thread when one runs, and ends the program. */
_Noreturn void emulator_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emulator_catch_signals(void);
/* One lock around the whole emulator: every call of an API holds it. */
void emulator_enter(void);
void emulator_leave(void);
long emulator_setting(const char *name, long otherwise); /* an environment variable */
uint32_t emulator_random(void);
int64_t emulator_nanoseconds(void);

/* --- fiber.c --- */
typedef struct EmulatorFiber EmulatorFiber;
/* Runs fiber until it returns to emulator_fiber_pause or ends. A stack is taken when it starts and given back when it
 * ends, so that threads which never wait share one. */
void emulator_fiber_run(EmulatorFiber *fiber);
void emulator_fiber_pause(EmulatorFiber *fiber);
/* Whether the address is in the page below a stack. */
bool emulator_fiber_overflow(const void *address);

struct EmulatorFiber {
    void *pointer; /* of the stack, while it does not run */
    int stack;     /* -1: none */
    bool ended;
};

/* --- grid.c --- */
typedef struct EmulatorModule EmulatorModule;
typedef struct EmulatorFunction EmulatorFunction;

typedef struct EmulatorLaunch {
    const EmulatorFunction *function;
    EmulatorIndex grid, block;
    unsigned dynamic_shared; /* bytes */
    bool cooperative;
    bool dependent; /* programmatic: may come before the kernel before it has ended, and must wait for that */
    void **arguments;
} EmulatorLaunch;

enum EmulatorState {
    EMULATOR_READY,
    EMULATOR_YIELDED,    /* runs again when others had their turn */
    EMULATOR_AT_BARRIER, /* of the block, or of the grid */
    EMULATOR_AT_WARP,
    EMULATOR_DONE
};

typedef struct EmulatorBlock EmulatorBlock;
typedef struct EmulatorLane { /* a thread, in the emulator */
    EmulatorThread visible;   /* first: what the kernel sees */
    EmulatorFiber fiber;
    EmulatorBlock *home;
    enum EmulatorState state;
    /* what it waits for */
    int operation, source, answer;
    unsigned mask;
    unsigned long long value;
    const char *where;
} EmulatorLane;

struct EmulatorBlock {
    EmulatorIndex index;
    EmulatorLane *lanes;
    unsigned n_threads, n_live, n_arrived; /* arrived: at the barrier */
    unsigned late;                         /* rounds that it is left out, of blocks that live together */
    unsigned warp_live[EMULATOR_MAX_THREADS / EMULATOR_WARP], warp_waiting[EMULATOR_MAX_THREADS / EMULATOR_WARP];
    void *static_shared; /* its copy while another block runs */
};

extern const EmulatorServices emulator_services;
extern EmulatorLane *emulator_running; /* NULL: the host */
const EmulatorLaunch *emulator_launched(void);
void emulator_grid_run(const EmulatorLaunch *launch);
/* Pauses the running thread until state is EMULATOR_READY again. */
void emulator_lane_wait(EmulatorLane *lane, enum EmulatorState state);
/* Whether the address is in the page behind the dynamic shared memory. */
bool emulator_beyond_shared(const void *address);
void emulator_describe_lane(const EmulatorLane *lane, char *text, size_t size);

/* --- warp.c --- */
unsigned long long emulator_warp(int operation, unsigned mask, unsigned long long value, int source, const char *where);
/* A lane of this warp has ended: others may have waited for it alone. */
void emulator_warp_check(EmulatorBlock *block, unsigned warp);

/* --- module.c --- */
struct EmulatorModule {
    void *library;
    int file;
    EmulatorFunction *functions;
    unsigned n_functions;
    EmulatorThread **self;
    const char *base;    /* where the library lies */
    size_t shared_bytes; /* static shared memory of all its kernels: the thread-local part of the library */
    EmulatorModule *next;
};
struct EmulatorFunction {
    EmulatorModule *module;
    const EmulatorKernel *kernel;
    size_t static_shared;        /* bytes */
    unsigned max_dynamic_shared; /* bytes */
    int carveout;                /* that was asked for, in per cent; -1: none */
};
/* The static shared memory of a module; it is where the thread-local variables of this thread of the host are. */
void *emulator_module_shared(const EmulatorModule *module);
/* The head of what is passed off as a CUBIN; the shared library follows. */
typedef struct EmulatorImage {
    char magic[16]; /* EMULATED KERNELS */
    uint64_t abi;   /* hash of what both sides must agree on */
    uint64_t bytes;
} EmulatorImage;
/* Whether the bytes are a variable of a module; stops the program when they begin in one and end outside. */
bool emulator_module_holds(const void *data, size_t bytes);
uint64_t emulator_abi(void);
uint64_t emulator_hash(uint64_t hash, const void *data, size_t bytes);
size_t emulator_count_modules(void);

/* --- shared.c --- */
/* Bytes of static shared memory of a kernel, from the bytes of its library. */
size_t emulator_static_shared(const char *library, const char *kernel);

/* --- memory.c --- */
enum EmulatorSpace { EMULATOR_FOREIGN, EMULATOR_DEVICE, EMULATOR_PINNED, EMULATOR_MANAGED };
typedef struct EmulatorHandle { /* of memory, for other processes */
    int process, file;
    size_t mapped, bytes, offset;
} EmulatorHandle;
void emulator_memory_export(void *data, EmulatorHandle *handle);
void *emulator_memory_import(const EmulatorHandle *handle); /* freed as other memory */
bool emulator_memory_is_shared(void);                       /* something has been mapped from another process */
bool emulator_memory_is_lost(const void *to, size_t bytes); /* MDMINI_EMULATOR_LOSES */
/* NULL when out of memory. */
void *emulator_memory_allocate(enum EmulatorSpace space, size_t bytes, const char *call);
/* Stops the program when data is not the beginning of an allocation of that space; managed memory counts as device. */
void emulator_memory_free(enum EmulatorSpace space, void *data, const char *call);
void emulator_memory_check_free(enum EmulatorSpace space, void *data, const char *call);
/* The space of an address; stops the program when [data, data + bytes) leaves its allocation. */
enum EmulatorSpace emulator_memory_space(const void *data, size_t bytes, const char *call);
/* Where a faulting address lies, in words. */
void emulator_memory_describe(const void *address, char *text, size_t size);
/* Memory of the device is open to the emulator and to kernels, and closed while the host runs. */
void emulator_memory_open(void);
void emulator_memory_close(void);
size_t emulator_memory_used(void);
size_t emulator_memory_report(void); /* prints what is not freed; returns how many */

/* --- stream.c --- */
enum EmulatorKind {
    EMULATOR_OP_LAUNCH,
    EMULATOR_OP_COPY,
    EMULATOR_OP_SET,
    EMULATOR_OP_FREE,
    EMULATOR_OP_RECORD,
    EMULATOR_OP_WAIT,
    EMULATOR_OP_CALL,
    EMULATOR_OP_GRAPH
};
typedef struct EmulatorOp {
    struct EmulatorOp *next;
    enum EmulatorKind kind;
    EmulatorLaunch launch; /* owns its arguments */
    void *to;
    const void *from; /* its own copy when it was pageable memory of the host */
    bool owns_from;
    size_t bytes;
    int value;
    cudaEvent_t event;
    cudaStream_t stream; /* to wait for, up to: */
    int64_t sequence;
    cudaHostFn_t function;
    struct EmulatorGraph *graph;
} EmulatorOp;
typedef struct EmulatorQueue {
    EmulatorOp *first, *last;
} EmulatorQueue;

EmulatorOp *emulator_op(enum EmulatorKind kind);
void emulator_op_free(EmulatorOp *op);
void emulator_op_run(EmulatorOp *op);
void emulator_queue_append(EmulatorQueue *queue, EmulatorOp *op);
void emulator_queue_free(EmulatorQueue *queue);
/* A block of pointers to arguments, with the arguments behind them. */
void **emulator_copy_arguments(const EmulatorKernel *kernel, void *const *arguments);
/* Puts op into the queue of the stream, or into the graph that is captured from it. */
cudaError_t emulator_issue(cudaStream_t stream, EmulatorOp *op);
void emulator_drain_all(void);
EMULATOR_API void emulator_run_early(void); /* for libraries whose work waits for that of other processes */
/* Whether a capture goes on that forbids calls that wait or allocate; such a call spoils the capture. */
bool emulator_capture_forbids(const char *call);
cudaError_t emulator_error(cudaError_t error); /* remembers it for cudaGetLastError */
size_t emulator_report_streams(void);

/* --- graph.c --- */
typedef struct EmulatorGraph {
    EmulatorQueue ops;
    size_t n_ops;
    bool executable;
    struct EmulatorGraph *next;
} EmulatorGraph;
EmulatorGraph *emulator_graph_create(void);
void emulator_graph_run(EmulatorGraph *graph);
size_t emulator_report_graphs(void);
EMULATOR_API size_t emulator_graphs_that_call(cudaHostFn_t function); /* calls of it in graphs that are there */

/* --- texture.c --- */
const void *emulator_texel(unsigned long long texture, long long index, unsigned size, int kind, const char *where);
size_t emulator_report_textures(void);

/* --- device.c --- */
/* What MDMINI_EMULATOR_GPU says. */
typedef struct EmulatorGpu {
    int compute_capability; /* 90 for 9.0 */
    unsigned n_sms, sm_threads, sm_blocks;
    size_t sm_shared, shared_opt_in,
        shared_reserved; /* bytes: of a multiprocessor; of a block that asked; of each, by the system */
} EmulatorGpu;
const EmulatorGpu *emulator_gpu(void);
int emulator_occupancy(unsigned threads, size_t shared_bytes); /* blocks of a multiprocessor */

#endif
