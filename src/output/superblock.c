#include "output/superblock.h"

#include <string.h>

enum { OLD_SIZE_OF_OFFSETS = 13, OLD_END = 40 }; /* of version 0 */
enum { VERSION = 8, SIZE_OF_OFFSETS = 9, SIZE_OF_LENGTHS = 10, FLAGS = 11, END = 28, CHECKSUM = 44 };

static uint32_t rotate(uint32_t x, int k) { return x << k | x >> (32 - k); }

static uint32_t word(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint64_t offset(const unsigned char *bytes) { return (uint64_t)word(bytes) | (uint64_t)word(bytes + 4) << 32; }

/* Hash of the 44 bytes before it: lookup3, R. Jenkins, 2006, with which the format guards all its metadata. 44 bytes are
 * three blocks of twelve, and a last one of eight. */
static uint32_t checksum(const unsigned char *bytes) {
    uint32_t a = 0xdeadbeef + CHECKSUM, b = a, c = a;
    for (int at = 0; at < 36; at += 12) {
        a += word(bytes + at), b += word(bytes + at + 4), c += word(bytes + at + 8);
        a -= c, a ^= rotate(c, 4), c += b;
        b -= a, b ^= rotate(a, 6), a += c;
        c -= b, c ^= rotate(b, 8), b += a;
        a -= c, a ^= rotate(c, 16), c += b;
        b -= a, b ^= rotate(a, 19), a += c;
        c -= b, c ^= rotate(b, 4), b += a;
    }
    a += word(bytes + 36), b += word(bytes + 40);
    c ^= b, c -= rotate(b, 14);
    a ^= c, a -= rotate(c, 11);
    b ^= a, b -= rotate(a, 25);
    c ^= b, c -= rotate(b, 16);
    a ^= c, a -= rotate(c, 4);
    b ^= a, b -= rotate(a, 14);
    c ^= b, c -= rotate(b, 24);
    return c;
}

static void put(unsigned char *bytes, uint64_t value, int n) {
    for (int k = 0; k < n; k++) bytes[k] = (unsigned char)(value >> (8 * k) & 255);
}

const char *md_superblock_read(MdSuperblock *superblock, const unsigned char bytes[MD_SUPERBLOCK_BYTES]) {
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    if (memcmp(bytes, signature, sizeof signature) != 0) return "is not an HDF5 file";
    *superblock = (MdSuperblock){.is_foreign = bytes[VERSION] < 2};
    if (bytes[VERSION] == 0 && bytes[OLD_SIZE_OF_OFFSETS] == 8) {
        superblock->end = offset(bytes + OLD_END);
        return NULL;
    }
    if ((bytes[VERSION] != 2 && bytes[VERSION] != 3) || bytes[SIZE_OF_OFFSETS] != 8 || bytes[SIZE_OF_LENGTHS] != 8)
        return "is an HDF5 file of another make than mdmini writes";
    if (word(bytes + CHECKSUM) != checksum(bytes)) return "is damaged in its first bytes, and cannot be recovered";
    memcpy(superblock->bytes, bytes, MD_SUPERBLOCK_BYTES);
    superblock->marked = bytes[VERSION] == 3 && bytes[FLAGS] != 0; /* in version 2 the mark means nothing */
    superblock->end = offset(bytes + END);
    return NULL;
}

void md_superblock_mend(MdSuperblock *superblock, uint64_t end) {
    superblock->bytes[FLAGS] = 0;
    superblock->marked = false;
    superblock->end = end;
    put(superblock->bytes + END, end, 8);
    put(superblock->bytes + CHECKSUM, checksum(superblock->bytes), 4);
}
