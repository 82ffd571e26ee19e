#include "base/checksum.h"

#include <string.h>

static const uint64_t prime[5] = {UINT64_C(0x9E3779B185EBCA87), UINT64_C(0xC2B2AE3D27D4EB4F),
                                  UINT64_C(0x165667B19E3779F9), UINT64_C(0x85EBCA77C2B2AE63),
                                  UINT64_C(0x27D4EB2F165667C5)};

static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static uint64_t read_word(const unsigned char *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static uint64_t mix(uint64_t lane, uint64_t word) { return rotate(lane + word * prime[1], 31) * prime[0]; }

static void add_stripe(MdChecksum *sum, const unsigned char *stripe) {
    for (int k = 0; k < 4; k++) sum->lane[k] = mix(sum->lane[k], read_word(stripe + 8 * k));
}

MdChecksum md_checksum_begin(void) {
    return (MdChecksum){.lane = {prime[0] + prime[1], prime[1], 0, UINT64_C(0) - prime[0]}};
}

void md_checksum_add(MdChecksum *sum, const void *data, size_t n_bytes) {
    const unsigned char *from = data;
    const size_t held = sum->n_bytes % 32, missing = 32 - held;
    sum->n_bytes += n_bytes;
    if (held > 0) {
        const size_t n = n_bytes < missing ? n_bytes : missing;
        memcpy(sum->rest + held, from, n);
        from += n;
        n_bytes -= n;
        if (n < missing) return;
        add_stripe(sum, sum->rest);
    }
    for (; n_bytes >= 32; n_bytes -= 32, from += 32) add_stripe(sum, from);
    if (n_bytes > 0) memcpy(sum->rest, from, n_bytes);
}

uint64_t md_checksum_value(const MdChecksum *sum) {
    uint64_t h = prime[4];
    if (sum->n_bytes >= 32) {
        static const int bits[4] = {1, 7, 12, 18};
        h = 0;
        for (int k = 0; k < 4; k++) h += rotate(sum->lane[k], bits[k]);
        for (int k = 0; k < 4; k++) h = (h ^ mix(0, sum->lane[k])) * prime[0] + prime[3];
    }
    h += sum->n_bytes;
    const unsigned char *from = sum->rest;
    size_t n = sum->n_bytes % 32;
    for (; n >= 8; n -= 8, from += 8) h = rotate(h ^ mix(0, read_word(from)), 27) * prime[0] + prime[3];
    if (n >= 4) {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        h = rotate(h ^ word * prime[0], 23) * prime[1] + prime[2];
        n -= 4;
        from += 4;
    }
    for (; n > 0; n--, from++) h = rotate(h ^ *from * prime[4], 11) * prime[0];
    h = (h ^ h >> 33) * prime[1];
    h = (h ^ h >> 29) * prime[2];
    return h ^ h >> 32;
}

uint64_t md_checksum(const void *data, size_t n_bytes) {
    MdChecksum sum = md_checksum_begin();
    md_checksum_add(&sum, data, n_bytes);
    return md_checksum_value(&sum);
}
