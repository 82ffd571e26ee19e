/* Where compiled kernels are kept between runs.
 *
 * MDMINI_KERNEL_CACHE names a folder, or none where it is empty; without it the folder is $XDG_CACHE_HOME/mdmini or
 * ~/.cache/mdmini, where that can be written. An image is kept under a name that tells all that went into it, so that programs,
 * versions and GPUs may share a folder. It is written aside and renamed, and a checksum ends it: jobs that start together
 * never see half of one, and one that a crash has damaged counts as not there.
 *
 * Images that the folder lacks are read from share/mdmini/kernels of the installed program, if it is there: the build
 * fills it (MDMINI_PRECOMPILE), or a centre does, once for all users (run/README.md). */
#ifndef MD_CUDA_CACHE_H
#define MD_CUDA_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A compiled file of kernels. */
typedef struct CudaImage {
    char *bytes; /* a cubin, or PTX */
    size_t size;
    char *messages; /* of the compiler; NULL: none */
    bool is_kept;   /* it was in the cache, or installed */
    bool is_installed;
} CudaImage;
void cuda_image_free(CudaImage *image);

/* A hash (FNV-1a) with that of a text in it. Of source text comments do not count, but the lines that they take do, since compiled
 * code names lines. */
uint64_t cuda_cache_hash(uint64_t hash, const char *text);
uint64_t cuda_cache_hash_source(uint64_t hash, const char *source);

typedef struct CudaCache {
    char folder[3072];    /* "": nothing is kept */
    char installed[3072]; /* only read; "": there is none, or nothing is to be kept */
    bool is_default;      /* bounded in size: the least recently used files are removed (CUDA_CACHE_BYTES) */
} CudaCache;

/* The default folder is made if it is not there. */
void cuda_cache_open(CudaCache *cache);

/* Reads the image of that name; false: it is not there, or damaged. Free the image in any case. */
bool cuda_cache_read(const CudaCache *cache, const char *name, CudaImage *image);

/* Keeps the image. Where that fails it is compiled again next time, no more. */
void cuda_cache_write(const CudaCache *cache, const char *name, const CudaImage *image);

/* If the default folder holds more bytes than that, removes the least recently used files until it holds three quarters of them; other
 * folders are left to the user. */
enum { CUDA_CACHE_BYTES = 256 << 20 };
void cuda_cache_trim(long long most_bytes);

#endif
