/* Rows of a GPU: what passes between the GPUs of two processes. Ranks 0 and 1 exchange, both ways at once; more ranks
 * take part in what is of all ranks. Sizes are decimal: 1 MB is 250,000 floats. */
#include "microbench/host/rows_cuda.h"

#define WORDS(n_words, n_rounds)                                                                                       \
    ROW("peers", "tagged words, " #n_words, MD_MICROSECONDS, 16 * (n_words), 0, n_rounds, 3, 1, n_words,               \
        "words of 16 bytes with a sequence tag, stored into the other GPU's memory, which looks for each until its "   \
        "tag is there: time of a round",                                                                               \
        "every word of every round")
#define COPIES(way, size, n_floats, quick_, shows_)                                                                    \
    ROW("peers", way ", " size, MD_GB_PER_S, 4, 0, n_floats, quick_, 1, 0, shows_, "every element")
#define ENGINE "a copy engine writes to the other GPU's memory (cudaMemcpyAsync): rate of each direction"
#define STORES "the threads of a kernel store there: rate of each direction"
#define STAGED(size, n_exchanges, n_floats)                                                                            \
    ROW("peers", "staged, " size, MD_MICROSECONDS, 4 * (n_floats), 0, n_exchanges, 3, 1, n_floats,                     \
        "device, pinned memory, MPI, pinned memory, device, as parallel.transport = staged has it: time of an "        \
        "exchange",                                                                                                    \
        "every element")

const MdCeiling md_ceilings_cuda_peers[] = {
    ROW("peers", "flag, relaxed", MD_MICROSECONDS, 8, 0, 2000, 20, 1, 0,
        "a word goes to and fro between two GPUs: time of one way", "every word"),
    ROW("peers", "flag, release and acquire", MD_MICROSECONDS, 8, 0, 2000, 20, 1, 0,
        "the same with order at system scope: what was stored before the word is there for who sees it",
        "every word, and the number stored before it"),
    WORDS(32, 1000),
    WORDS(1000, 1000),
    WORDS(10000, 1000),
    WORDS(33800, 500),
    WORDS(135200, 200),
    COPIES("copy engine", "1 MB", 250000, 4099, ENGINE),
    COPIES("copy engine", "10 MB", 2500000, 4103, ENGINE),
    COPIES("copy engine", "100 MB", 25000000, 4111, ENGINE),
    COPIES("stores", "1 MB", 250000, 4099, STORES),
    COPIES("stores", "10 MB", 2500000, 4103, STORES),
    COPIES("stores", "100 MB", 25000000, 4111, STORES),
    ROW("peers", "barrier of all GPUs", MD_MICROSECONDS, 8, 0, 500, 5, 1, 0,
        "kernels of one block, each with a barrier of the GPUs of all ranks: time of a kernel",
        "what another rank has stored before each, and the largest number of all"),
    STAGED("32 KB", 100, 8000),
    STAGED("256 KB", 50, 64000),
    STAGED("2 MB", 10, 500000),
    {0}};
