/* Random numbers of cuRAND. */
#ifndef MD_CUDA_RANDOM_CURAND_H
#define MD_CUDA_RANDOM_CURAND_H

#include <stdbool.h>

#include "system/random_source.h"

/* All generators of the deck. On the host they need no GPU; on the device the current GPU makes the same numbers, bit for
 * bit, a chunk at a time, which is copied back. A generator's memory there is freed with it. */
extern const MdRandomSource cuda_random_on_host, cuda_random_on_device;

/* Whether the current GPU makes numbers; why not goes to reason (room for size characters). */
bool cuda_random_has_device(char *reason, size_t size);

#endif
