/* Blocks of rows that several write into one file: each byte lies where the place says, whatever the pieces, and nothing else changes; a file
 * that may not grow is a failure. What the processes of a run do with it: parallel/test_ranks_frames.py. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/block.h"
#include "base/memory.h"
#include "check.h"
#include "output/collective.h"

enum { FILE_BYTES = 20000, UNTOUCHED = 0xee };

static int make_file(unsigned char *bytes) {
    char path[] = "/tmp/mdmini-collective-XXXXXX";
    const int descriptor = mkstemp(path);
    if (descriptor < 0) exit(1);
    unlink(path);
    memset(bytes, UNTOUCHED, FILE_BYTES);
    CHECK(pwrite(descriptor, bytes, FILE_BYTES, 0) == FILE_BYTES);
    return descriptor;
}

/* Byte b of atom i. */
static unsigned char value(int64_t i, int64_t b) { return (unsigned char)(7 * i + b + 1); }

static void test_blocks(const MdH5mdPlace *place, int64_t n_atoms, int n_ranks) {
    static unsigned char expected[FILE_BYTES], found[FILE_BYTES];
    const int descriptor = make_file(expected);
    for (int64_t i = 0; i < n_atoms; i++)
        for (int64_t b = 0; b < place->row_bytes; b++)
            expected[place->first + place->piece_bytes * (i / place->piece_atoms) +
                     place->row_bytes * (i % place->piece_atoms) + b] = value(i, b);
    for (int rank = n_ranks - 1; rank >= 0; rank--) {
        const int64_t begin = md_block_begin(n_atoms, rank, n_ranks),
                      n = md_block_begin(n_atoms, rank + 1, n_ranks) - begin;
        unsigned char *rows = md_alloc((size_t)n, (size_t)place->row_bytes, "rows");
        for (int64_t k = 0; k < n * place->row_bytes; k++)
            rows[k] = value(begin + k / place->row_bytes, k % place->row_bytes);
        CHECK(md_collective_write(descriptor, place, begin, n, rows));
        md_free(rows);
    }
    CHECK(pread(descriptor, found, FILE_BYTES, 0) == FILE_BYTES);
    CHECK(memcmp(found, expected, FILE_BYTES) == 0);
    close(descriptor);
}

static void test_no_room(void) {
    static unsigned char bytes[FILE_BYTES];
    const int descriptor = make_file(bytes);
    const MdH5mdPlace place = {.first = FILE_BYTES - 60, .piece_atoms = 100, .piece_bytes = 1200, .row_bytes = 12};
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = FILE_BYTES;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(md_collective_write(descriptor, &place, 0, 5, bytes)); /* just fits */
    errno = 0;
    CHECK(!md_collective_write(descriptor, &place, 0, 6, bytes) && errno == EFBIG); /* after a short write */
    setrlimit(RLIMIT_FSIZE, &before);
    close(descriptor);
    CHECK(!md_collective_write(descriptor, &place, 0, 1, bytes) && errno == EBADF);
}

int main(void) {
    static const MdH5mdPlace places[] = {
        {100, 1000, 12000, 12}, /* one piece */
        {0, 100, 1200, 12},     /* many, side by side */
        {4096, 64, 800, 12},    /* with room at the end of each */
        {50, 7, 168, 24},       /* fewer atoms than a block */
        {8, 1, 24, 24},
    };
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
        for (int64_t n_atoms = 1; n_atoms < 700; n_atoms += 111)
            for (int n_ranks = 1; n_ranks <= 8; n_ranks += 3) {
                check_context("place %zu, %lld atoms, %d ranks", k, (long long)n_atoms, n_ranks);
                test_blocks(&places[k], n_atoms, n_ranks);
            }
    test_no_room();
    return check_finish();
}
