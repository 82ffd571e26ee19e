/* The trajectory as the modules that write, continue and recover it see it: series of rows on timelines. Private to
 * src/output/h5*.
 *
 * A series is a dataset that grows by a row with each frame of its timeline; each timeline has a series of steps and one of
 * times. Quantities at the steps of the positions share their timeline, by hard links in the file. Velocities
 * and forces at other steps are in separate particles groups, all_velocity and all_force: readers pair the quantities of one
 * group by the number of the frame, and would give positions the velocities of another step. */
#ifndef MD_OUTPUT_H5FILE_H
#define MD_OUTPUT_H5FILE_H

#include "output/h5calls.h"
#include "output/h5md.h"

/* In the order of writing: a frame whose step is there is complete. The quantities of particles come first, by their
 * numbers in h5md.h. */
enum {
    EDGES = MD_H5MD_N_QUANTITIES,
    PARTICLE_NUMBER,
    TEMPERATURE,
    PRESSURE,
    PRESSURE_TENSOR,
    DENSITY,
    POTENTIAL_ENERGY,
    KINETIC_ENERGY,
    INTERNAL_ENERGY,
    CONSERVED_ENERGY,
    N_ELEMENTS,
    TIME = N_ELEMENTS, /* of timeline t: TIME + 2 t */
    STEP               /* and STEP + 2 t */
};

/* Timelines bear the number of the first quantity on them; images are never the first. */
enum { N_TIMELINES = MD_H5MD_IMAGE, N_SERIES = N_ELEMENTS + 2 * N_TIMELINES };

typedef struct Series {
    hid_t dataset; /* 0: not in the file */
    hid_t type;    /* in memory */
    int timeline;
    int rank;
    hsize_t row[3]; /* extents with one frame: {1, ...} */
    char *rows;     /* BUFFER_ROWS rows that wait to be written; NULL for particles */
    size_t row_bytes;
    MdH5mdPlace first;  /* of row 0, where others write rows of particles; piece_atoms 0: not known yet */
    int64_t chunk_rows; /* that share a piece */
} Series;

typedef struct Timeline {
    int64_t planned;   /* rows; 0: there is no such timeline */
    int64_t capacity;  /* rows that the file has room for */
    int64_t n_rows;    /* appended */
    int64_t n_drained; /* of which the file holds the small series, too */
    int64_t n_committed;
} Timeline;

struct MdH5md {
    char *path;
    hid_t file;
    int descriptor; /* of the system, owned by HDF5 */
    Series series[N_SERIES];
    Timeline timeline[N_TIMELINES];
    MdH5mdSpec spec;
    double edges[9], density;
    char run_id[24];                /* of a file that was opened */
    MdH5mdContinued continued;      /* of one that was reopened */
    int n_restarts;                 /* how often the file was continued */
    char *description;              /* of the process, for the end; NULL: it says nothing */
    uint64_t stored_bytes;          /* of particles, appended */
    double committed_s, appended_s; /* when that was last done, by md_clock_s */
    MdH5mdPut put;                  /* writes the particles; NULL: HDF5 does */
    void *putter;                   /* goes to it */
    bool reformed;                  /* of one that was opened: see MdH5mdContinued */
    char elsewhere[64];             /* and a dataset of it whose numbers are in other files; "": there is none */
    bool broken;                    /* an append or a commit has failed: nothing more is written */
};

/* Rows of small series are gathered in memory and written together, at the latest when there are so many. */
enum { BUFFER_ROWS = 512 };

/* Paths in the file: of an element's group, and of the dataset of a series; free(). */
const char *md_h5_element(int element, int timeline);
char *md_h5_series_path(int series, int timeline);

/* Memory for a trajectory that is to be written; md_h5_release. */
MdH5md *md_h5_new(const char *path, const MdH5mdSpec *spec);

/* Fills in series k without its dataset: its timeline, type and shape. */
void md_h5_define_series(MdH5md *file, int k, int timeline);
/* The same for all series, for the quantities on these timelines (-1: not in the file). */
void md_h5_define_all(MdH5md *file, const int timelines[MD_H5MD_N_QUANTITIES]);

/* Creates the file at file->path with all that is not a frame, for the series defined and the rows planned. */
void md_h5_create_file(MdH5Calls *calls, MdH5md *file);

/* Everything in it except series: the author, the box, the particles' properties, the deck. */
void md_h5_write_head(MdH5Calls *calls, const MdH5md *file);

extern const char md_h5_schedule[]; /* where these notes are: */
/* Notes in the file which frames are due from now on, and which earlier ones stay, or are over (NULL: the run begins), and flushes it: readers
 * of a resumed run, perhaps with other intervals, can tell whether all its steps are there. */
void md_h5_note_schedule(MdH5Calls *calls, const MdH5md *file, const MdH5mdKept *kept);
/* The same with the notes of `from` so far, for its copy. */
void md_h5_copy_schedule(MdH5Calls *calls, const MdH5md *from, const MdH5md *to);

/* Notes that a process of the run begins to write to the file, with its provenance; its JSON text when it ends;
 * and the notes of earlier processes, for the copy. See h5process.c for the layout. */
void md_h5_begin_process(MdH5Calls *calls, const MdH5md *file);
void md_h5_end_process(MdH5Calls *calls, const MdH5md *file, const char *text);
void md_h5_copy_processes(MdH5Calls *calls, const MdH5md *from, const MdH5md *to);
uint64_t md_h5_process_bytes(const MdH5mdSpec *spec); /* that one takes in a new file */

/* Writes curves, for which it makes room where they are not there in this shape: before the file is written to otherwise. h5curves.c */
void md_h5_put_curves(MdH5Calls *calls, const MdH5md *file, MdCurves *const *curves, int n);
double md_h5_curves_bytes(MdCurves *const *curves, int n); /* that they take in a new file, at most */

/* Properties with which files are created and opened; with_marks: for a file that bears the mark of a writer. */
hid_t md_h5_file_access(MdH5Calls *calls, bool with_marks);

/* Finds the descriptor of an open file and takes the lock that tells md_h5md_recover, and another job of the same run, that
 * somebody is at work here; it ends with the file or the process. Fails where somebody else has it. */
void md_h5_lock(MdH5Calls *calls, MdH5md *file);

/* Makes an open file ready for appending; takes the lock. */
void md_h5_begin(MdH5Calls *calls, MdH5md *file);

/* Rows of a series in the file; grows or shrinks it to n. */
int64_t md_h5_rows(MdH5Calls *calls, const Series *series);
void md_h5_set_rows(MdH5Calls *calls, const Series *series, int64_t n);

/* n rows of a series from `first` on, which it has. */
void md_h5_write_rows(MdH5Calls *calls, const Series *series, int64_t first, int64_t n, const void *values);
void md_h5_read_rows(MdH5Calls *calls, const Series *series, int64_t first, int64_t n, void *values);

/* Closes the file, in any state, and frees. Accepts NULL. */
void md_h5_release(MdH5Calls *calls, MdH5md *file);

#endif
