"""Histograms of pairs (analysis.rdf_every). See killers.py."""
from .killers import *  # the words of the table

PAIR_COUNTS = "cuda/kernels/count_pairs.cuh"
PARTNERS, OF_PAIRS = (f"{PAIR_COUNTS} {name}(" for name in ("void count_partners", "k_observe_pairs"))
VISIT = PAIR_COUNTS + " struct PairCounts "
mutant("histogram: the cell before counts again", PARTNERS, "k == 0 ? x : x - 1", "x - 1", rdf())
mutant("histogram: an atom counts itself", PARTNERS, "? s + 1 :", "? s :", rdf())
mutant("histogram: a line is left out", PARTNERS, "MD_DIMENSION == 3 ? 5 : 2", "MD_DIMENSION == 3 ? 4 : 2", rdf())
mutant("histogram 2-D: a line is left out", PARTNERS, "MD_DIMENSION == 3 ? 5 : 2", "MD_DIMENSION == 3 ? 5 : 1", rdf())
mutant("histogram: not the image", PARTNERS, "(u - first + corner)", "corner", rdf())
mutant("histogram: y of another cell", PARTNERS, "own.y - dy * edge_y", "own.y + dy * edge_y", rdf())
mutant("histogram: the last cell of a run is left out", PARTNERS, "a.pair_count.cursor[line + last]", "a.pair_count.begin[line + last]", rdf())
mutant("histogram: from one side", VISIT, ": 2;", ": 1;", rdf())
mutant("histogram: bins of r squared", VISIT, "sqrt(r_sq) * per_width", "r_sq * per_width", rdf())
mutant("histogram: types swapped", PAIR_COUNTS + " k_observe_pair_atoms(", "(unsigned)load_type(a.now, i)", "(unsigned)(MD_N_TYPES - 1 - load_type(a.now, i))", rdf())
mutant("histogram: one copy of the histogram is taken", OF_PAIRS, "copy < count_copies", "copy < 1", rdf())
mutant("histogram: the histogram is not cleared", OF_PAIRS, "s_counts[k] = 0;", "if (k > 0) s_counts[k] = 0; else s_counts[k] = 2;", rdf())
mutant("histogram: cells begin one late", PAIR_COUNTS + " k_observe_pair_lines(", "first + up_to - own", "first + up_to", rdf())
mutant("histogram: a second chunk of a line begins anew", PAIR_COUNTS + " k_observe_pair_lines(", "first += __shfl_sync(whole_warp, up_to, 31);", "", rdf("test_long"))
mutant("histogram: coordinates from the cell, not the segment", PAIR_COUNTS + " int find_cell(", "cx % segment", "0", rdf())
mutant("histogram: with copies twice", VISIT, "(word / own_bit) + (word_of_other / own_bit)", "2", rdf("test_two_ranks"))
