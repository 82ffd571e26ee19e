/* NAME.h5: the trajectory as H5MD 1.1 (de Buyl, Colberg, Hoefling, Comput. Phys. Commun. 185, 1546 (2014)), laid out so
 * that MDAnalysis, VMD's plugin, pyh5md and h5dump open it as it is. Only this module sees HDF5.
 *
 * MDAnalysis does not know the ending .h5 and expects units where there are none; it opens the file with
 *     u = MDAnalysis.Universe.empty(n_atoms, trajectory=False)
 *     u.load_new("xy.h5", format="H5MD", convert_units=False)
 *
 * Two-dimensional systems are embedded in three components (z = 0, third boundary none). Rows are in id order. */
#ifndef MD_OUTPUT_H5MD_H
#define MD_OUTPUT_H5MD_H

#include "backend/backend.h"

typedef struct MdH5md MdH5md;

typedef struct MdH5mdSpec {
    int64_t n_atoms;
    MdBox box;
    int n_types;
    const int32_t *type;                 /* [n_atoms] */
    const double *mass;                  /* [n_types] */
    const char *type_name[MD_MAX_TYPES]; /* [n_types], for VMD */
    int precision;                       /* MD_FILE_PRECISION_SINGLE or _DOUBLE */
    bool velocities, forces, images;
    int64_t n_frames;       /* planned: no more than these can be appended */
    const char *deck;       /* effective deck, text */
    const char *provenance; /* JSON text */
} MdH5mdSpec;

/* Creates the file with everything but frames in it. NULL, with the problem in errors (MD_ERROR_OUTPUT). */
MdH5md *md_h5md_create(const char *path, const MdH5mdSpec *spec, MdErrors *errors);

/* Appends one frame and the observables of the same step, and flushes. frame->precision is that of the spec, and the
 * arrays that the spec asks for are not NULL. MD_ERROR_OUTPUT (disk full, more frames than planned): the frames so far
 * stay readable, and the file can still be closed. */
MdStatus md_h5md_append(MdH5md *file, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors);

/* Hands all frames over to the system; sync: waits until they are on the disk. */
MdStatus md_h5md_commit(MdH5md *file, bool sync, MdErrors *errors);

/* Flushes and closes; the status says whether everything reached the file. Accepts NULL. */
MdStatus md_h5md_close(MdH5md *file, MdErrors *errors);

/* Version of the HDF5 library at run time, `1.10.8`. */
const char *md_h5md_library_version(char buffer[32]);

#endif
