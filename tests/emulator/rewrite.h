#ifndef MD_EMULATOR_REWRITE_H
#define MD_EMULATOR_REWRITE_H

#include <stdbool.h>

/* Preprocessed CUDA C++ as C++ for g++, with the table of its kernels behind it. To be freed. */
char *emulator_rewrite(const char *source);

#endif
