/* The first 48 bytes of an HDF5 file: the superblock of versions 2 and 3, or of 0, (HDF5 File Format Specification, section II.A).
 *
 * After a kill two things keep readers from opening the file: the mark that it is open for writing, and
 * an end of file that is before the last written data. Both are repaired here, by the specification of the format, since
 * the library has no public function for it. */
#ifndef MD_OUTPUT_SUPERBLOCK_H
#define MD_OUTPUT_SUPERBLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { MD_SUPERBLOCK_BYTES = 48 };

typedef struct MdSuperblock {
    unsigned char bytes[MD_SUPERBLOCK_BYTES];
    bool marked;     /* open for writing, as readers see it */
    bool is_foreign; /* of version 0, in which other programs may write a copy: not to be mended */
    uint64_t end;    /* of the file, as HDF5 knows it: a shorter file is refused, bytes beyond it are free space */
} MdSuperblock;

/* NULL, or why these bytes at the start of a file are no superblock of that kind. */
const char *md_superblock_read(MdSuperblock *superblock, const unsigned char bytes[MD_SUPERBLOCK_BYTES]);

/* Sets mark and end, and the checksum over all. */
void md_superblock_mend(MdSuperblock *superblock, uint64_t end);

#endif
