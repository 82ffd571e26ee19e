/* What the files of the emulator's own test share. */
#ifndef EMULATOR_SELFTEST_PARTS_H
#define EMULATOR_SELFTEST_PARTS_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* --- selftest.c --- */
extern cudaStream_t stream;
void load(void); /* the kernels; finish: unloads them */
void finish(void);
CUfunction function(const char *name);
void launch(const char *name, unsigned blocks, unsigned threads, unsigned shared, void **arguments);
void *device(size_t bytes);
void to_device(void *data, const void *host, size_t bytes);
void to_host(void *host, const void *data, size_t bytes);

/* --- selftest_process.c: memory of another process --- */
enum { WORDS_BYTES = 2 * sizeof(unsigned long long) + 4 * sizeof(unsigned) };
void start_other(void); /* before the emulator has begun */
void meet_other(void);
void *map(void); /* WORDS_BYTES of its memory */
void test_other(void);

/* --- selftest_faults.c --- */
void test_faults(void);

#endif
