/* The way of a frame from the backend into the trajectory file.
 *
 * Frames are written in line with the steps: gathered by id into the one slot there is, then appended. This interface
 * is the seam for a ring of slots and a writer thread: the step loop knows no more than put and close. */
#ifndef MD_OUTPUT_PIPELINE_H
#define MD_OUTPUT_PIPELINE_H

#include "output/h5md.h"

typedef struct MdPipeline MdPipeline;

/* Creates the file at path and the slots. NULL, with the problem in errors. */
MdPipeline *md_pipeline_create(const char *path, const MdH5mdSpec *spec, MdErrors *errors);

/* Puts the present particles of the backend, at the step of thermo, into the file. */
MdStatus md_pipeline_put(MdPipeline *pipeline, const MdBackendOps *ops, void *context, const MdThermo *thermo,
                         MdErrors *errors);

/* Waits for what is under way and closes the file. Accepts NULL. */
MdStatus md_pipeline_close(MdPipeline *pipeline, MdErrors *errors);

double md_pipeline_seconds(const MdPipeline *pipeline); /* host time in put */

/* Bytes of host memory that the slots take. */
uint64_t md_pipeline_bytes(const MdH5mdSpec *spec);

#endif
