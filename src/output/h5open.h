/* A trajectory as it lies on the disk, perhaps after a kill. Private to src/output/h5*. */
#ifndef MD_OUTPUT_H5OPEN_H
#define MD_OUTPUT_H5OPEN_H

#include "output/h5file.h"

/* Opens the series of the file at calls->path, flags as for H5Fopen, into a new MdH5md whose spec has n_atoms, precision,
 * compression and unwrapped. Where a series is missing or of another shape than this program writes, it fails: that is
 * a file of something else, told as MD_ERROR_INPUT. NULL then. */
MdH5md *md_h5_open(MdH5Calls *calls, unsigned flags);

/* The same for reading only, although the file may have the mark of a killed writer; refuses a truncated
 * file. h5recover.c */
MdH5md *md_h5_open_as_it_is(MdH5Calls *calls);

/* The first n steps of a timeline; md_free. */
int64_t *md_h5_read_steps(MdH5Calls *calls, const MdH5md *file, int timeline, int64_t n);

/* h5added.c: the first thing in the file that this program does not write; "": there is none. */
void md_h5_find_added(MdH5Calls *calls, const MdH5md *file, char *name, size_t size);

/* Frames of a timeline that are whole: all its series have them, and their steps increase. Compressed frames must be
 * readable, and all have to lie in the first n_bytes of the file (0: not looked at). */
int64_t md_h5_whole_rows(MdH5Calls *calls, const MdH5md *file, int timeline, uint64_t n_bytes);

#endif
