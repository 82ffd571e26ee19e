/* A restart file in memory, of one backend: what it saves, and what another context is loaded from. */
#ifndef MD_TESTS_STORE_H
#define MD_TESTS_STORE_H

#include "walk.h"

typedef struct Section {
    char name[24];
    size_t begin, n_bytes;
} Section;

typedef struct Store {
    MdState state;
    char *bytes;
    size_t n, room, at; /* at: where the section that is open is */
    Section sections[32];
    int n_sections;
} Store;

/* Store is the caller's to free. */
bool store_save(Store *store, const WalkRun *run, int64_t step);
bool store_load(Store *store, const WalkRun *run, const MdSystem *system);
/* Order of memory, places, forces, list: everything that was saved, byte by byte. */
void store_check_same(const Store *a, const Store *b);
void store_free(Store *store);

#endif
