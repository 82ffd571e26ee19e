/* Name, version and build of this program; from the build system. */
#ifndef MD_BASE_VERSION_H
#define MD_BASE_VERSION_H

typedef struct MdVersion {
    const char *version;    /* 0.2.0 */
    const char *commit;     /* short hash, or `unknown` outside a checkout */
    int dirty;              /* 1: the checkout had uncommitted changes */
    const char *build_type; /* Release, ... */
    const char *c_compiler; /* name and version */
    const char *c_flags;
    const char *cuda; /* toolkit that it was built with; empty without the cuda backend */
    const char *hdf5; /* version of the headers */
    const char *mpi;  /* name and version; empty without it: several processes are refused */
} MdVersion;

const MdVersion *md_version(void);

#endif
