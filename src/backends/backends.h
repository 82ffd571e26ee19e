/* The list of backends. Code that only runs a backend gets its operations and includes only backend/backend.h. */
#ifndef MD_BACKENDS_H
#define MD_BACKENDS_H

#include "backend/backend.h"

/* The backends that are built in; NULL ends the list. The first is the cpu. */
const MdBackendOps *const *md_backends(void);
const MdBackendOps *md_backend_find(const char *name); /* NULL when not built in */

/* The variants tables of all backends, also of those not built in: name and table by number; NULL ends. */
const char *md_backend_table(int k, MdVariantTable *table);

/* The library of random numbers that is built in; NULL: only the Philox of src/system. */
const struct MdRandomSource *md_backend_random(void);
/* The same numbers from the GPU that was probed last; NULL where it makes none, and why in reason (room for size
 * characters). */
const struct MdRandomSource *md_backend_random_on_device(char *reason, size_t size);

#endif
