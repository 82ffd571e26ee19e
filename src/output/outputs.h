/* The table of the files of a run and how their names are made. Private to src/output/files.c. */
#ifndef MD_OUTPUT_OUTPUTS_H
#define MD_OUTPUT_OUTPUTS_H

#include "deck/deck.h"
#include "output/use.h"

/* The files that carry the name of a run. All of them are moved or refused, those too that this run does not write:
 * an xy.h5 of another run beside a new xy.json would be taken for its trajectory. So would an xy.xyz that a run has written; one
 * from elsewhere, or that this run starts from, is an output only where it is asked for. */
enum { H5, JSON, LOG, CSV, XYZ, MSD, VACF, RDF, NEIGHBORS, TRACE, RESTART, PREVIOUS, N_FILES };

/* A path as the parts before and after the number of a backup; path is their join. */
typedef struct Output {
    char *stem, *ending, *path;
} Output;

/* Of a deck. Those that this run has no use for have no path; md_outputs_free. */
void md_outputs_make(const MdDeck *deck, const MdFilesUse *use, Output outputs[N_FILES]);
void md_outputs_free(Output outputs[N_FILES]);

/* Whether files of these names can be made: folders that can be written to, no name too long, none that two files bear, or an
 * input. Touches nothing. */
MdStatus md_outputs_check(const MdDeck *deck, const MdFilesUse *use, const Output outputs[N_FILES], MdErrors *errors);

#endif
