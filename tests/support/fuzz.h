/* A fuzzer for every build: mutates files at hand by seeded random numbers, and hands them to a reader that clang's
 * libFuzzer can call as well (LLVMFuzzerTestOneInput). An input that brings the reader down is left in fuzz.crash. */
#ifndef MD_TESTS_FUZZ_H
#define MD_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct FuzzPlan {
    const char *const *folders; /* of the source tree whose files are mutated; ended by NULL */
    const char *const *endings; /* of the names of those files; ended by NULL */
    /* Text to be put in: a word that the reader knows, or a piece that is most often legal; n bytes, kept until the
     * next call. draw(below) gives the random numbers. */
    const char *(*piece)(uint64_t (*draw)(uint64_t below), size_t *n);
} FuzzPlan;

/* Runs for the seconds (3) and with the seed (1) of the command line: --seconds S --seed N. Returns the number of
 * inputs; -1 when MDMINI_SOURCE does not name the source tree (said so). */
long fuzz_run(const FuzzPlan *plan, int argc, char **argv);

#endif
