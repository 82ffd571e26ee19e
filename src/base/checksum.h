/* XXH64, a checksum of 64 bits at the speed of memory (Y. Collet, xxHash, specification 0.1.1), with seed 0. It finds every
 * damage that is not made on purpose. */
#ifndef MD_BASE_CHECKSUM_H
#define MD_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

typedef struct MdChecksum {
    uint64_t lane[4];
    uint64_t n_bytes;
    unsigned char rest[32]; /* the n_bytes % 32 that wait for a whole stripe */
} MdChecksum;

MdChecksum md_checksum_begin(void);
void md_checksum_add(MdChecksum *sum, const void *data, size_t n_bytes); /* in pieces of any size */
uint64_t md_checksum_value(const MdChecksum *sum);

/* Of one piece. */
uint64_t md_checksum(const void *data, size_t n_bytes);

#endif
