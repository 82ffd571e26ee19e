/* NAME.h5: the trajectory as H5MD 1.1 (de Buyl, Colberg, Hoefling, Comput. Phys. Commun. 185, 1546 (2014)), laid out so
 * that MDAnalysis, VMD's plugin, pyh5md and h5dump open it as it is. Only src/output/h5* sees HDF5.
 *
 * MDAnalysis does not know the ending .h5 and expects units where there are none; it opens the file with
 *     u = MDAnalysis.Universe.empty(n_atoms, trajectory=False)
 *     u.load_new("xy.h5", format="H5MD", convert_units=False)
 *
 * Two-dimensional systems are embedded in three components (z = 0, third boundary none). Rows are in id order.
 *
 * A frame is safe once it is committed: after any failure of the process md_h5md_recover makes the rest a
 * file that every reader opens, with every committed frame in it. All calls on one file, and all calls of HDF5 in the
 * program, come from one thread at a time. */
#ifndef MD_OUTPUT_H5MD_H
#define MD_OUTPUT_H5MD_H

#include "backend/backend.h"
#include "output/curves.h"

typedef struct MdH5md MdH5md;

/* The quantities of a particle in the file, each at its own steps. */
enum { MD_H5MD_POSITION, MD_H5MD_VELOCITY, MD_H5MD_FORCE, MD_H5MD_IMAGE, MD_H5MD_N_QUANTITIES };

typedef struct MdH5mdSpec {
    int64_t n_atoms;
    MdBox box;
    int n_types;
    const int32_t *type;                 /* [n_atoms] */
    const double *mass;                  /* [n_types] */
    const char *type_name[MD_MAX_TYPES]; /* [n_types], for VMD */
    MdUnits units;                       /* of all numbers; with lj none is named */
    int precision;                       /* MD_FILE_PRECISION_SINGLE or _DOUBLE */
    int compression;                     /* MD_COMPRESSION_NONE, or the level of gzip: 1 to 9 */
    bool unwrapped;                      /* the meaning of positions, for readers of the file */
    bool has_tensor;                     /* the pressure tensor is an observable, too */
    int64_t every[MD_H5MD_N_QUANTITIES]; /* steps between two frames, 0: not in the file. Positions above 0; images 0 or
                                            as positions. Velocities and forces at other steps than the
                                            positions are in separate particles groups */
    int64_t last_step;                   /* of the run: all quantities are due there, too */
    int64_t commit_frames;               /* frames of positions between two commits, from 1 */
    double commit_seconds;               /* and the longest time that an appended frame waits for one */
    const char *run_id;                  /* of the run whose frames these are: other files are not continued */
    const char *deck;                    /* effective deck, text */
    const char *provenance;              /* JSON text, of this process */
    MdCurves *const *curves;             /* [n_curves] of an analysis, as they are when the file is opened */
    int n_curves;
} MdH5mdSpec;

/* The part of an earlier run's file that stays; for a run without a trajectory so far, the steps that are over. */
typedef struct MdH5mdKept {
    int64_t last_step[MD_H5MD_N_QUANTITIES]; /* of each quantity */
    int64_t n_frames;                        /* that it has of positions up to there, at least */
    /* A free name for the old file, if it is rewritten and has content of other programs. */
    const char *aside;
} MdH5mdKept;

/* Where the particles of a frame lie in the file: atom i begins piece_bytes * (i / piece_atoms) + row_bytes * (i % piece_atoms) bytes after
 * `first`. */
typedef struct MdH5mdPlace {
    int64_t first, piece_atoms, piece_bytes, row_bytes;
} MdH5mdPlace;

/* Creates the file without frames, and room for the frames after the steps that are over (kept; NULL:
 * the run begins). NULL, with the problem in errors (MD_ERROR_OUTPUT). */
MdH5md *md_h5md_create(const char *path, const MdH5mdSpec *spec, const MdH5mdKept *kept, MdErrors *errors);

/* Appends those arrays of the frame that are not NULL and, with positions, the observables of the same step; commits
 * when that is due. frame->precision is that of the spec. MD_ERROR_OUTPUT (disk full, file deleted, more frames than
 * planned): nothing more can be appended; committed frames stay readable, and the file can still be closed. */
MdStatus md_h5md_append(MdH5md *file, const MdFrame *frame, const MdThermo *thermo, MdErrors *errors);

/* From now on append lets `put` write the particles of a frame directly to their offsets in the file; false: it
 * has failed, and reported it. Not for files with compression; an error if HDF5 does not give the offsets of chunks (before 1.10.5). */
typedef bool (*MdH5mdPut)(void *user, int quantity, const MdH5mdPlace *place, MdErrors *errors);
MdStatus md_h5md_leave_particles(MdH5md *file, MdH5mdPut put, void *user, MdErrors *errors);

/* By md_clock_s, the time of the next commit by the spec; INFINITY: no frame waits. append checks it
 * as well, but the time of the next frame is unknown. */
double md_h5md_commit_due_s(const MdH5md *file);

/* Hands all frames over to the system, in an order that a kill at any moment leaves whole. sync: waits until they are
 * on the disk, as a restart file needs that refers to them. */
MdStatus md_h5md_commit(MdH5md *file, bool sync, MdErrors *errors);

/* Frames of positions appended so far, those of before a restart included. */
int64_t md_h5md_frames(const MdH5md *file);

/* Bytes that the particles of the frames appended by this program take in the file: compressed, where it is. */
uint64_t md_h5md_stored_bytes(const MdH5md *file);

/* The curves of the spec as they are now; from the next commit on they are in the file. */
MdStatus md_h5md_put_curves(MdH5md *file, MdCurves *const *curves, int n, MdErrors *errors);

/* The final report of the process that writes the file, JSON text: goes into the file when it is closed. */
void md_h5md_describe(MdH5md *file, const char *text);

/* Commits, syncs and closes; the status says whether everything reached the disk. Accepts NULL. */
MdStatus md_h5md_close(MdH5md *file, MdErrors *errors);

/* The result of md_h5md_recover. */
typedef struct MdH5mdRecovery {
    bool changed; /* false: the file is as it was, byte for byte: in good order, or */
    bool uncut;   /* stored by another program, in a form that frames which are not whole are not taken out of */
    /* Of positions, velocities and forces with separate steps, and of those that go with the positions; frames
     * kept (-1: no such quantity, or it goes with the positions), dropped, and the last step kept (-1: none). */
    struct {
        int64_t n_kept, n_dropped, last_step;
    } series[MD_H5MD_IMAGE];
} MdH5mdRecovery;

/* Makes of a file that a killed program or a full disk has left a file that every reader opens: all frames up to the
 * first that is not whole. Done again, it changes nothing. MD_ERROR_INPUT, with the reason and the file as it was: it is not
 * a trajectory of mdmini, is damaged beyond repair, or a program is writing to it. */
MdStatus md_h5md_recover(const char *path, MdH5mdRecovery *recovery, MdErrors *errors);

/* The result of a recovery as text, a few words a line; free(). */
char *md_h5md_describe_recovery(const char *path, const MdH5mdRecovery *recovery);

/* The changes that are needed to continue it. */
typedef struct MdH5mdContinued {
    /* Frames beyond those kept: of positions, and of velocities and forces with separate steps. */
    int64_t n_dropped[MD_H5MD_IMAGE];
    bool copied;                /* all frames kept were written again, because of at least one of these: */
    int precision, compression; /* of the file as it was; the spec may have others */
    bool regrouped;             /* velocities or forces come, or are at other steps than they were */
    bool grown;                 /* there are more frames to come than it had room for */
    bool reformed;              /* another program has stored it without chunks, with other filters or types */
    /* The first content of a copied file that mdmini does not write; "": none. */
    char added[128];
} MdH5mdContinued;

/* Continues the file of an earlier run: recovers it, drops frames after those kept and makes room for those that the spec
 * plans after it. Where the spec asks for more frames than were planned, other intervals, precision or compression, the
 * file is copied, beside itself, into one that has room for them; the frames stay, and additions of other programs in a file of another
 * name. MD_ERROR_INPUT when it is not there, is of another run or other particles, has fewer frames, has images or unwrapped
 * positions where the spec has not, or the other way round, or is stored in a way that this HDF5 cannot read; no frame is touched
 * then. */
MdH5md *md_h5md_reopen(const char *path, const MdH5mdSpec *spec, const MdH5mdKept *kept, MdErrors *errors);

/* Of a file that was reopened; of another: nothing. */
MdH5mdContinued md_h5md_continued(const MdH5md *file);

/* Whether md_h5md_reopen would refuse the file; continued: its changes. Changes nothing; so a truncated file,
 * which must be recovered first, is refused as well. */
MdStatus md_h5md_check(const char *path, const MdH5mdSpec *spec, const MdH5mdKept *kept, MdH5mdContinued *continued,
                       MdErrors *errors);

/* Bytes of the frames that the spec plans from a step on, before compression. */
uint64_t md_h5md_bytes(const MdH5mdSpec *spec, int64_t from);

/* Bytes of host memory that writing a frame takes besides it. */
uint64_t md_h5md_packing_bytes(const MdH5mdSpec *spec);

/* Version of the HDF5 library at run time, `1.10.8`. */
const char *md_h5md_library_version(char buffer[32]);

#endif
