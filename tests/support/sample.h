/* Trajectories of made-up frames: frame t is of step 50 t and time 0.25 t, and every number in it follows from t, the
 * quantity, the particle and the axis. test_readers.py has the same formulas. */
#ifndef MD_TESTS_SAMPLE_H
#define MD_TESTS_SAMPLE_H

#include "output/h5md.h"

typedef struct Sample {
    const char *name;
    int64_t n_atoms, n_planned, n_written;
    MdBox box;
    int n_types, precision, compression;
    int64_t every[MD_H5MD_N_QUANTITIES]; /* steps; of positions 50 */
} Sample;

/* Of the sample, with a commit after each frame; the arrays in it stay until sample_free_spec. */
MdH5mdSpec sample_spec(const Sample *sample);
void sample_free_spec(MdH5mdSpec *spec);

MdH5md *sample_create(const char *path, const Sample *sample, MdErrors *errors);

/* Frame t, with the quantities that are due there. */
MdStatus sample_append(MdH5md *file, const Sample *sample, int64_t t, MdErrors *errors);

/* The file opens plainly; it holds the frames 0 .. n - 1, n from n_least to n_most, with the right numbers, and of every
 * quantity those that are due among them. Returns n; -1 when it does not open. */
int64_t sample_check(const char *path, const Sample *sample, int64_t n_least, int64_t n_most);

/* A plain file and a compressed one, of 20 frames. */
extern const Sample sample_plain, sample_gzip;

/* Makes a file of the first n frames. */
void sample_write(const char *path, const Sample *sample, int64_t n);

/* All of a file, to be freed, NULL where there is none; and a file of these bytes. */
char *sample_read_file(const char *path, size_t *size);
void sample_write_file(const char *path, const char *bytes, size_t size);

#endif
