/* Memory of the device, pinned memory of the host and managed memory. Each allocation has pages of its own, ends at a
 * page without access and begins after one; the rest of its first page is filled with a pattern that is checked when it
 * is freed. Addresses are given out once only, so that freed memory stays without access. Memory of the device has access
 * only while the emulator is at work: the host must not touch it. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator.h"

/* Ends are aligned for the largest vector that a kernel moves at once; what is behind the last byte is checked as well. */
enum { PAGE = 4096, ALIGNMENT = 32, FENCE = 0xa5 };
#ifdef EMULATOR_IDLE
enum { FILL = 0 }; /* as it comes: counts that nobody counts are read, and make room */
#else
enum { FILL = 0xff };
#endif

typedef struct Allocation {
    char *base; /* of the pages with access */
    size_t mapped, bytes;
    char *data;
    enum EmulatorSpace space;
    bool freed, is_mapped; /* of another process */
    int file;              /* -1: nobody else can map it */
    const char *call;
    size_t next; /* of those that are not freed; SIZE_MAX: none */
} Allocation;

static Allocation *allocations; /* by ascending address; freed ones stay, to be recognised */
static size_t n_allocations, room;
static size_t used; /* bytes of the device */
static char *next_address = (char *)0x200000000000;
static size_t first_live = SIZE_MAX;
static bool is_open;   /* whether memory of the device has access */
static bool is_shared; /* memory of another process has been mapped */

static void set_access(int access) {
    for (size_t k = first_live; k != SIZE_MAX; k = allocations[k].next)
        if (allocations[k].space == EMULATOR_DEVICE &&
            mprotect(allocations[k].base, allocations[k].mapped, access) != 0)
            emulator_fail("mprotect");
    is_open = access != PROT_NONE;
}

void emulator_memory_open(void) {
    if (!is_open) set_access(PROT_READ | PROT_WRITE);
}

void emulator_memory_close(void) {
    if (is_open) set_access(PROT_NONE);
}

static const char *space_name(enum EmulatorSpace space) {
    static const char *const names[] = {"foreign", "device", "pinned host", "managed"};
    return names[space];
}

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void fence(const Allocation *a, unsigned char value, bool check) {
    const unsigned char *begin = (const unsigned char *)a->base, *end = begin + a->mapped;
    const unsigned char *data = (const unsigned char *)a->data;
    for (const unsigned char *p = begin; p < end; p++) {
        if (p == data) p += a->bytes;
        if (p >= end) break;
        if (!check) *(unsigned char *)(uintptr_t)p = value;
        else if (*p != value)
            emulator_fail("%s memory of %zu bytes (%s) was written %s", space_name(a->space), a->bytes, a->call,
                          p < data ? "before its begin" : "behind its end");
    }
}

static void make_room(void) {
    if (n_allocations < room) return;
    room = room ? 2 * room : 256;
    allocations = realloc(allocations, room * sizeof *allocations);
    if (!allocations) emulator_fail("no memory");
}

void *emulator_memory_allocate(enum EmulatorSpace space, size_t bytes, const char *call) {
    if (space != EMULATOR_PINNED && bytes > EMULATOR_MEMORY - used) return NULL;
    make_room();
    emulator_memory_open();
    size_t aligned = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Allocation a = {.mapped = pages(aligned), .bytes = bytes, .space = space, .file = -1, .call = call};
    char *map = mmap(next_address, a.mapped + 2 * PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (map != next_address) emulator_fail("%s: the system gave no memory for %zu bytes", call, bytes);
    next_address += a.mapped + 2 * PAGE;
    a.base = map + PAGE;
    if (mprotect(a.base, a.mapped, PROT_READ | PROT_WRITE) != 0) emulator_fail("%s: mprotect", call);
    a.data = a.base + a.mapped - aligned;
    if (FILL != 0) memset(a.data, FILL, bytes);
    fence(&a, FENCE, false);
    if (space != EMULATOR_PINNED) used += bytes;
    a.next = first_live;
    first_live = n_allocations;
    allocations[n_allocations++] = a;
    return a.data;
}

/* The allocation whose pages, or the ones without access around it, hold address; NULL: none. */
static Allocation *find(const void *address) {
    size_t low = 0, high = n_allocations;
    const char *at = address;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (at < allocations[middle].base - PAGE) high = middle;
        else low = middle + 1;
    }
    if (low == 0) return NULL;
    Allocation *a = &allocations[low - 1];
    return at < a->base + a->mapped + PAGE ? a : NULL;
}

static Allocation *find_for_free(enum EmulatorSpace space, void *data, const char *call) {
    Allocation *a = find(data);
    if (!a || a->data != data) emulator_fail("%s of %p, which is not the begin of an allocation", call, data);
    if (a->freed) emulator_fail("%s of %p, which is freed already", call, data);
    bool fits = space == a->space || (space == EMULATOR_DEVICE && a->space == EMULATOR_MANAGED);
    if (!fits) emulator_fail("%s of %s memory (%s)", call, space_name(a->space), a->call);
    return a;
}

void emulator_memory_check_free(enum EmulatorSpace space, void *data, const char *call) {
    find_for_free(space, data, call);
}

void emulator_memory_free(enum EmulatorSpace space, void *data, const char *call) {
    Allocation *a = find_for_free(space, data, call);
    if (a->is_mapped != (strcmp(call, "cudaIpcCloseMemHandle") == 0))
        emulator_fail("%s of memory of %s process", call, a->is_mapped ? "another" : "this");
    emulator_memory_open();
    if (!a->is_mapped) fence(a, FENCE, true);
    if (a->file >= 0) close(a->file);
    a->freed = true;
    size_t *link = &first_live;
    while (&allocations[*link] != a) link = &allocations[*link].next;
    *link = a->next;
    if (a->space != EMULATOR_PINNED && !a->is_mapped) used -= a->bytes;
    /* The addresses stay taken, the memory goes back. */
    if (mmap(a->base, a->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != a->base)
        emulator_fail("%s: mmap", call);
}

/* --- memory that other processes map --- */

void emulator_memory_export(void *data, EmulatorHandle *handle) {
    Allocation *a = find_for_free(EMULATOR_DEVICE, data, "cudaIpcGetMemHandle");
    if (a->is_mapped) emulator_fail("cudaIpcGetMemHandle of memory of another process");
    emulator_memory_open();
    if (a->file < 0) {
        a->file = memfd_create("emulator", 0);
        if (a->file < 0 || ftruncate(a->file, (off_t)a->mapped) != 0 ||
            pwrite(a->file, a->base, a->mapped, 0) != (ssize_t)a->mapped ||
            mmap(a->base, a->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, a->file, 0) != a->base)
            emulator_fail("cudaIpcGetMemHandle: no shared memory of %zu bytes", a->mapped);
    }
    *handle = (EmulatorHandle){.process = getpid(),
                               .file = a->file,
                               .mapped = a->mapped,
                               .bytes = a->bytes,
                               .offset = (size_t)(a->data - a->base)};
}

void *emulator_memory_import(const EmulatorHandle *handle) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->process, handle->file);
    const int file = open(path, O_RDWR);
    make_room();
    emulator_memory_open();
    Allocation a = {.mapped = handle->mapped,
                    .bytes = handle->bytes,
                    .space = EMULATOR_DEVICE,
                    .is_mapped = true,
                    .file = file,
                    .call = "cudaIpcOpenMemHandle"};
    a.base = next_address + PAGE;
    next_address += a.mapped + 2 * PAGE;
    if (handle->process == getpid() || file < 0 ||
        mmap(a.base, a.mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0) != a.base)
        emulator_fail("cudaIpcOpenMemHandle: %s cannot be mapped", path);
    a.data = a.base + handle->offset;
    a.next = first_live;
    first_live = n_allocations;
    allocations[n_allocations++] = a;
    is_shared = true;
    return a.data;
}

bool emulator_memory_is_shared(void) { return is_shared; }

bool emulator_memory_is_lost(const void *to, size_t bytes) {
    const Allocation *a = find(to);
    return a && a->is_mapped && emulator_setting("MDMINI_EMULATOR_LOSES", -1) == (long)bytes;
}

enum EmulatorSpace emulator_memory_space(const void *data, size_t bytes, const char *call) {
    const Allocation *a = find(data);
    if (!a) return emulator_module_holds(data, bytes) ? EMULATOR_DEVICE : EMULATOR_FOREIGN;
    const char *begin = data;
    if (a->freed) emulator_fail("%s: %p is in %s memory that is freed", call, data, space_name(a->space));
    if (begin < a->data || begin > a->data + a->bytes || bytes > (size_t)(a->data + a->bytes - begin))
        emulator_fail("%s: %zu bytes from byte %td of %s memory of %zu bytes (%s)", call, bytes, begin - a->data,
                      space_name(a->space), a->bytes, a->call);
    return a->space;
}

void emulator_memory_describe(const void *address, char *text, size_t size) {
    const Allocation *a = find(address);
    const char *at = address;
    if (!a) snprintf(text, size, "outside of all memory of the device");
    else if (a->freed) snprintf(text, size, "in %s memory of %zu bytes that is freed", space_name(a->space), a->bytes);
    else if (at < a->data)
        snprintf(text, size, "%td bytes before %s memory of %zu bytes (%s)", a->data - at, space_name(a->space),
                 a->bytes, a->call);
    else
        snprintf(text, size, "byte %td of %s memory of %zu bytes (%s)", at - a->data, space_name(a->space), a->bytes,
                 a->call);
}

size_t emulator_memory_used(void) { return used; }

size_t emulator_memory_report(void) {
    size_t n = 0;
    for (size_t k = first_live; k != SIZE_MAX; k = allocations[k].next) {
        const Allocation *a = &allocations[k];
        if (n++ < 16)
            fprintf(stderr, "emulator: %zu bytes of %s memory not freed (%s)\n", a->bytes, space_name(a->space),
                    a->call);
    }
    return n;
}
