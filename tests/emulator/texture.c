/* Texture objects over linear memory, read element by element. */
#include <stdio.h>
#include <stdlib.h>

#include "emulator.h"

typedef struct Texture {
    const char *data;
    size_t bytes;
    unsigned element; /* bytes */
    enum cudaChannelFormatKind kind;
    struct Texture *next;
} Texture;

static Texture *textures;

EMULATOR_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                                                 const struct cudaTextureDesc *texture,
                                                 const struct cudaResourceViewDesc *view) {
    emulator_enter();
    if (resource->resType != cudaResourceTypeLinear || view)
        emulator_fail("only textures over linear memory are emulated");
    if (texture->readMode != cudaReadModeElementType || texture->normalizedCoords)
        emulator_fail("only textures that give elements as they are, by index, are emulated");
    const struct cudaChannelFormatDesc *d = &resource->res.linear.desc;
    if (d->x != 32 || (d->y != 0 && d->y != 32) || (d->z != 0 && d->z != 32) || d->w != d->z)
        emulator_fail("cudaCreateTextureObject: elements of %d, %d, %d, %d bits", d->x, d->y, d->z, d->w);
    enum EmulatorSpace space =
        emulator_memory_space(resource->res.linear.devPtr, resource->res.linear.sizeInBytes, "cudaCreateTextureObject");
    if (space == EMULATOR_FOREIGN) emulator_fail("cudaCreateTextureObject over memory that is not the device's");
    Texture *t = calloc(1, sizeof *t);
    if (!t) emulator_fail("no memory");
    *t = (Texture){resource->res.linear.devPtr, resource->res.linear.sizeInBytes,
                   (unsigned)(d->x + d->y + d->z + d->w) / 8, d->f, textures};
    textures = t;
    *object = (cudaTextureObject_t)(uintptr_t)t;
    emulator_leave();
    return cudaSuccess;
}

static Texture **find(cudaTextureObject_t object) {
    for (Texture **link = &textures; *link; link = &(*link)->next)
        if ((cudaTextureObject_t)(uintptr_t)*link == object) return link;
    return NULL;
}

EMULATOR_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    emulator_enter();
    emulator_drain_all(); /* a kernel that waits may use it */
    Texture **link = find(object);
    if (!link) emulator_fail("%llu is no texture object", (unsigned long long)object);
    Texture *texture = *link;
    *link = texture->next;
    free(texture);
    emulator_leave();
    return cudaSuccess;
}

const void *emulator_texel(unsigned long long object, long long index, unsigned size, int kind, const char *where) {
    static const enum cudaChannelFormatKind kinds[] = {cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned,
                                                       cudaChannelFormatKindFloat};
    Texture **link = find(object);
    if (!link) emulator_fail("%s from %llu, which is no texture object", where, object);
    const Texture *t = *link;
    if (t->element != size || t->kind != kinds[kind])
        emulator_fail("%s of another type than the elements of the texture", where);
    if (index < 0 || (unsigned long long)index >= t->bytes / size)
        emulator_fail("%s of element %lld of a texture of %zu", where, index, t->bytes / size);
    return t->data + (size_t)index * size;
}

size_t emulator_report_textures(void) {
    size_t n = 0;
    for (const Texture *t = textures; t; t = t->next) n++;
    if (n > 0) fprintf(stderr, "emulator: %zu texture objects not destroyed\n", n);
    return n;
}
