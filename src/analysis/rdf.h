/* Radial distribution functions g(r), from histograms of the distances of pairs that the backend counts (system/pair_count.h).
 *
 * Of kind ab, in a shell of volume v: g = counts V / (N_a N_b' v), with N_b' = N_b - 1 for a = b, as an atom is no partner of itself. So g
 * of independent atoms is 1 in the mean, however few they are. Counts have each pair from both sides, also of a = b; of other a, b twice
 * N_a N_b. In two dimensions shells are rings.
 *
 * Samples are correlated, so the standard error comes from means of blocks of them: up to MD_RDF_BLOCKS; when there are so many, each two
 * become one of twice the length (H. Flyvbjerg and H. G. Petersen, J. Chem. Phys. 91, 461 (1989)). */
#ifndef MD_ANALYSIS_RDF_H
#define MD_ANALYSIS_RDF_H

#include "output/curves.h"
#include "system/pair_count.h"

enum { MD_RDF_BLOCKS = 20 };

/* In a restart file, with the arrays behind it; the head tells whether its counts are of the same samples. */
typedef struct MdRdfState {
    int64_t every, from, n_bins, n_kinds;
    double range;
    int64_t n_samples, n_blocks,
        block_samples; /* block_samples: of a whole block; the present one, after n_blocks, has the rest */
} MdRdfState;

typedef struct MdRdf {
    MdRdfState *state; /* NULL: the deck does not ask for it */
    uint64_t state_bytes;
    int64_t *block; /* [MD_RDF_BLOCKS][kinds][bins] counts, within state */
    MdPairCount count;
    MdBox box;
    int n_types;
    double n_atoms[MD_MAX_TYPES];
} MdRdf;

MdRdf md_rdf_create(const MdConfig *config, const MdSystemPlan *plan);
void md_rdf_free(MdRdf *rdf);
void md_rdf_weigh(MdRdf *rdf, const int64_t n_of_type[MD_MAX_TYPES]);
bool md_rdf_is_due(const MdRdf *rdf, int64_t step);
/* counts [kinds][bins] of the next sample. */
void md_rdf_add(MdRdf *rdf, const int64_t *counts);

/* Of each kind g, with its error, coordination number (mean number of atoms b up to the outer radius of the shell, around an atom a), and
 * pairs counted so far; of several kinds those of all atoms first. As shown; md_curves_destroy. */
MdCurves *md_rdf_curves(const MdRdf *rdf, const MdConfig *config);

#endif
