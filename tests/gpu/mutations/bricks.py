"""Bricks: their order, their lists, their forces. See killers.py."""
from .killers import *  # the words of the table

# Of bricks of two cells along an edge and of more, of blocks that have a round for all rows and of those that have several.
BRICKS = (tests(BRICK), tests(BRICK + " memory.brick_cells=2"))
ROUNDS = BRICK + " memory.brick_cells=3 launch.block_size=32 force.threads_per_atom=1"

PLACES = SORT + " int place_in_bricks("
mutant("place in bricks: y and z swapped in a brick", PLACES, "((at.z - low[2]) * size[1] + at.y - low[1])", "((at.y - low[1]) * size[2] + at.z - low[2])",
       held("memory.sort=brick"))
mutant("place in bricks: lines end with their brick", PLACES, "* n[0] + size[2] * size[1] * low[0]", "* size[0] + size[2] * size[1] * low[0]",
       tests(BRICK), held("memory.sort=brick"))
mutant("place in bricks: layers of one cell", PLACES, "size[2] * low[1]", "low[1]", held("memory.sort=brick memory.brick_cells=2"))
mutant("place in bricks: bricks of one line", PLACES, "size[2] * size[1] * low[0]", "size[1] * low[0]", held("memory.sort=brick memory.brick_cells=2"))
mutant("place in bricks: cells in rows", SORT + " k_sort_curve(", "place_in_bricks(a.grid, a.grid.n, at)", "c", held("memory.sort=brick"))
mutant("brick_of: that of the cell before", GRID + " int brick_of(", "((int64_t)c + 1)", "(int64_t)(c > 0 ? c : 1)", held("memory.sort=brick"))
mutant("brick_of: rounded the other way", GRID + " int brick_of(", "(((int64_t)c + 1) * n_bricks - 1) / n", "(int64_t)c * n_bricks / n",
       tests(BRICK), held("memory.sort=brick memory.brick_cells=2"))

STAGED = "cuda/kernels/bricks/tile.cuh"
for letter, bits in (("x", "image & 3"), ("y", "image >> 2 & 3"), ("z", "image >> 4 & 3")):
    mutant(f"staged: the image on the other side along {letter}", STAGED + " ImageShift shift_of_image(", f"[{bits}]", f"[2 - ({bits})]", BRICKS)
    mutant(f"staged: another origin along {letter}", STAGED + " Atom staged_particle(", "staged_atom(staged_place(origin, place), place);",
           f"[&] {{ Atom atom = staged_atom(staged_place(origin, place), place); if (particle % 2 == 0) atom.v.{letter} += origin.{letter}; return atom; }}();", BRICKS)
LOW = STAGED + " Pair with_low_bits("
mutant("staged: floats alone", STAGED, "stages_low_bits = is_mixed && is_vec4;", "stages_low_bits = false;", ACCURACY)
mutant("staged: low bits of x for all", LOW, "(unsigned)axis) << 4", "0u) << 4", ACCURACY)
mutant("staged: low bits of the size of 1", LOW, "__float_as_uint((float)rounded) & 0xff800000u", "0x3f800000u", ACCURACY)
mutant("staged: low bits without their sign", LOW, "& 0xff800000u", "& 0x7f800000u", ACCURACY)
mutant("staged: low bits twice as large", LOW, "0x1p-16f", "0x1p-15f", ACCURACY)
mutant("staged: all of the range of the low bits is added", LOW, "(1 + 0x1p-8f)", "1", ACCURACY)
mutant("staged: images by floats alone", STAGED, "return with_low_bits(staged_image(shift, place.rounded), place);", "return staged_image(shift, place.rounded);", ACCURACY)
ALONG, SHIFTS = "cuda/kernels/bricks/load_tile.cuh Shift shift_along(", "cuda/kernels/bricks/load_tile.cuh void list_shifts("
mutant("shifts: by an edge as single precision has it", ALONG, "a.length[axis]", "(double)(float)a.length[axis]", boundary("mixed, brick"))
mutant("shifts: what a float lacks is left out", ALONG, "Shift{most, rest}", "Shift{most, 0}", boundary("mixed, brick"))
mutant("shifts: what a float lacks is left out on the upper side", ALONG, "Shift{rest, most}", "Shift{0, most}", CROWDS)
mutant("shifts: what a float lacks comes last on both sides", ALONG, "boxes > 0 ?", "boxes > 1 ?", CROWDS)
mutant("shifts: an image from the corner of the box", ALONG, "(double)corner", "0", BRICKS)
mutant("shifts: of the brick before", SHIFTS, "shifts_of_brick(a, b)", "shifts_of_brick(a, b > 0 ? b - 1 : b)", BRICKS)
mutant("shifts: along two axes alone", SHIFTS, "axis >= 3", "axis >= 2", BRICKS)
mutant("shifts: of another corner", SHIFTS, "bounds.origin[axis]", "bounds.origin[0]", BRICKS)
mutant("staged: x and y swapped in the image", STAGED + " int image_at(", "(y + 1) << 2 | (x + 1)", "(x + 1) << 2 | (y + 1)", BRICKS)
mutant("staged: the end of a row is an atom of the corner", STAGED + " Atom nowhere(", "Vec3<Pair>{Pair(1e9), Pair(1e9), Pair(1e9)}", "Vec3<Pair>{0, 0, 0}", BRICKS)
mutant("staged: entries without their place", STAGED + " uint64_t staged_entry(", "16 * staged", "16 * staged + 16", BRICKS)
mutant("staged: the place of another", STAGED + " const Atom &staged_at(", "entry * (sizeof(Atom) / 16)", "entry",
       tests(BRICK + " run.precision=double"))
mutant("slices: of one row", STAGED + " uint64_t *brick_quads(", "brick.slice + row / 32", "brick.slice", tests(BRICK + " memory.brick_cells=2"))
mutant("slices: the first one of all bricks", STAGED + " uint64_t *brick_quads(", "(brick.slice + row / 32)", "(row / 32)", BRICKS)
mutant("slices: as long as one quad", STAGED + " uint64_t *brick_quads(", "(a.list.capacity / CUDA_QUAD) * 32", "32", BRICKS)

BRICK_BUILD, BRICK_STAGE = "cuda/kernels/bricks/search.cuh", "cuda/kernels/bricks/load_tile.cuh"
REGION = BRICK_STAGE + " Region region_of("
mutant("region: without its upper cells", REGION, "end + 1 : end", "end : end", BRICKS)
mutant("region: without its lower cells", REGION, "low - 1 : low", "low : low", BRICKS)
mutant("region: no cells beyond the upper face", REGION, "grid.wraps[k] || has_behind(a, k, end)", "has_behind(a, k, end)", BRICKS)
mutant("region: no cells beyond the lower face", REGION, "grid.wraps[k] || has_before(a, k, low)", "has_before(a, k, low)", BRICKS)
mutant("region: cells beyond an open upper face", REGION, "grid.wraps[k] || has_behind(a, k, end)", "true", CROWDS)
mutant("region: cells beyond an open lower face", REGION, "grid.wraps[k] || has_before(a, k, low)", "true", CROWDS)
mutant("region: the next brick", REGION, "line / grid.n_bricks[1]}", "0}", BRICKS)
BY_SIZE, UNEVEN = BRICK_STAGE + " int brick_by_size(", (tests(BRICK + " memory.brick_cells=2"), tests(BRICK))
mutant("bricks by size: large ones as if they came first", BRICK_STAGE + " int brick_of_size(", "((j + 1) * (int64_t)m - 1) / n_large", "j", UNEVEN)
mutant("bricks by size: halves", BY_SIZE, "small & 4) == 0", "small & 4) != 0", UNEVEN)
mutant("bricks by size: twice", BY_SIZE, "j / n[0] % n[1]", "0", UNEVEN)
CELL_THERE = BRICK_STAGE + " int cell_of_region("
mutant("cell of region: not wrapped", CELL_THERE, "wrapped_cell(c[axis], grid.n[axis])", "min(max(c[axis], 0), grid.n[axis] - 1)", BRICKS)
mutant("cell of region: the image on the other side", CELL_THERE, "global < 0 ? -1 : global >= cells_of_box(a, axis) ? 1 : 0", "global < 0 ? 1 : global >= cells_of_box(a, axis) ? -1 : 0",
       BRICKS)
mutant("cell of region: y and z swapped", CELL_THERE, "wrapped[2] * grid.n[1] + wrapped[1]", "wrapped[1] * grid.n[2] + wrapped[2]", BRICKS)
LISTED = BRICK_STAGE + " bool list_cells("
mutant("list cells: the last one is left out", LISTED, "k < n_cells; k += MD_BLOCK", "k < n_cells - 1; k += MD_BLOCK", BRICKS)
mutant("list cells: one round", LISTED, "k < n_cells; k += MD_BLOCK", "k < min(n_cells, MD_BLOCK); k += MD_BLOCK", tests(ROUNDS))
mutant("list cells: images of one thread", LISTED, "images = __syncthreads_or(images);", "__syncthreads();", BRICKS)
mutant("list cells: an image as the particle", LISTED, "cells.image[k] = (uint8_t)image;", "cells.image[k] = no_image;", BRICKS)
mutant("list cells: no barrier before the sums", LISTED, "images = __syncthreads_or(images);", "", barrier(BRICK), barrier(BRICK + " memory.brick_cells=2"))
mutant("list cells: no barrier after the sums", LISTED, "__syncthreads(); /* the sums", "/* the sums", barrier(BRICK))
SUMS = BRICK_STAGE + " void add_up("
mutant("add up: sums begin anew", SUMS, "before += __shfl_sync(whole_warp, sum, 31);", "", BRICKS)
UP_TO = BRICK_STAGE + " int sum_up_to("
mutant("sums of a warp: of 16", UP_TO, "distance < 32;", "distance < 16;", BRICKS)
mutant("sums of a warp: of others", UP_TO, "if ((int)threadIdx.x % 32 >= distance) value", "value", BRICKS)
mutant("add up: the first sum", SUMS, "values[0] = 0;", "values[0] = 1;", BRICKS)
mutant("add up: one round", SUMS, "first < n;", "first < min(n, 32);", BRICKS)
SEEN = BRICK_STAGE + " Bounds search_bounds("
mutant("bounds: the brick is a cell", SEEN, "(Pair)(size * edge)", "(Pair)edge", tests(BRICK + " memory.brick_cells=2"), IN_RANGE, BEYOND_FACES)
mutant("bounds: low ends of an open axis", SEEN, "Pair(0) : Pair(-1e30)", "Pair(0) : Pair(0)", IN_RANGE, BEYOND_FACES)
mutant("bounds: high ends of an open axis", SEEN, ": Pair(1e30)", ": (Pair)(size * edge)", IN_RANGE, BEYOND_FACES)
mutant("bounds: low ends are open", SEEN, "wraps || low > 0 ? Pair(0)", "false ? Pair(0)", IN_RANGE, BEYOND_FACES)
mutant("bounds: high ends are open", SEEN, "wraps || low + size < n ?", "false ?", IN_RANGE, BEYOND_FACES)
mutant("bounds: ends of a periodic axis are open", SEEN, ("wraps || low > 0 ?", "wraps || low + size"), ("low > 0 ?", "low + size"), IN_RANGE, BEYOND_FACES)
mutant("bounds: no margin for what is far from the origin", SEEN, " + 1e-6 * farthest", "", IN_RANGE, BEYOND_FACES)
mutant("bounds: a margin of a tenth of the range", SEEN, "1e-3 * sqrt(a.range_sq)", "0.1 * sqrt(a.range_sq)", IN_RANGE, BEYOND_FACES)
NEAR_BRICK, BEYOND_BRICK = BRICK_STAGE + " bool is_near_brick(", BRICK_STAGE + " Pair beyond_brick("
mutant("near brick: everything is", NEAR_BRICK, "!(squared(d) > bounds.range_sq)", "true", IN_RANGE, BEYOND_FACES)
mutant("near brick: the cutoff itself", NEAR_BRICK, "> bounds.range_sq", "> (Pair)0.8 * bounds.range_sq", rows(BRICK), IN_RANGE, BEYOND_FACES)
mutant("near brick: a longer range", NEAR_BRICK, "> bounds.range_sq", "> (Pair)1.2 * bounds.range_sq", IN_RANGE, BEYOND_FACES)
for number, letter in enumerate("xyz"):
    mutant(f"near brick: {letter} does not count", NEAR_BRICK, f"beyond_brick(bounds, {number}, v.{letter})", "Pair(0)", IN_RANGE, BEYOND_FACES)
mutant("near brick: x for y", NEAR_BRICK, "beyond_brick(bounds, 1, v.y)", "beyond_brick(bounds, 1, v.x)", BRICKS)
mutant("near brick: below it is near", BEYOND_BRICK, "max(below, above)", "above", IN_RANGE, BEYOND_FACES)
mutant("near brick: above it is near", BEYOND_BRICK, "max(below, above)", "below", IN_RANGE, BEYOND_FACES)
mutant("near brick: rounding counts against it", BEYOND_BRICK, "- bounds.margin", "+ bounds.margin", rows(BRICK), IN_RANGE, BEYOND_FACES)
WHICH_CELLS = BRICK_STAGE + " void find_cells("
mutant("find cells: the one before", WHICH_CELLS, "<= first + k", "< first + k", BRICKS)
mutant("find cells: without the first step", WHICH_CELLS, "1 << (31 - __clz(n_cells))", "1 << (31 - __clz(n_cells)) >> 1", BRICKS)
mutant("find cells: without the last step", WHICH_CELLS, "step > 0;", "step > 1;", BRICKS)
mutant("find cells: of the first round in all", WHICH_CELLS, "<= first + k * MD_BLOCK", "<= first", BRICKS)
mutant("find cells: beyond the last", WHICH_CELLS, "cells.first[min(cell[k] + step, n_cells)]", "cells.first[cell[k] + step]", emulated(tests(BRICK)), emulated(tests(BRICK + " memory.brick_cells=2")))
VISITED = BRICK_STAGE + " void visit("
mutant("visit: the last one is left out", VISITED, "c >= n ||", "c >= n - 1 ||", BRICKS)
mutant("visit: those behind the last", VISITED, "c >= n || !is_wanted(c)", "!is_wanted(c)", BRICKS)
mutant("visit: the first of the cell", VISITED, " + c - cells.first[cell]", "", BRICKS)
mutant("visit: images are ignored", VISITED, "cells.image[visited->cell[k]]", "no_image", BRICKS)
mutant("visit: particles of the first round", VISITED, "searched_particle(a, visited->particle[k])", "searched_particle(a, visited->particle[0])", BRICKS)
CHOSEN = BRICK_STAGE + " int choose_candidates("
mutant("choose candidates: more than there is room for", CHOSEN, "if (n_groups > most_groups) return n;", "", emulated(FEW_BRICKS))
mutant("choose candidates: none where there are more than there is room for", CHOSEN, "if (n_groups > most_groups) return n;", "if (n_groups > most_groups) return 0;", FEW_BRICKS)
mutant("choose candidates: all are said to be staged", CHOSEN, "return candidates->before[n_groups];", "return n;", IN_RANGE)
mutant("choose candidates: the first round alone", CHOSEN, "round = (n - 1) / candidates_of_round", "round = 0", tests(ROUNDS))
mutant("choose candidates: without the first round", CHOSEN, "round >= 0;", "round > 0;", BRICKS)
mutant("choose candidates: those of the brick alone", CHOSEN, "(side == in_brick || is_near_brick(bounds, visited->atom[k].v))", "side == in_brick", BRICKS)
mutant("choose candidates: those of a group are not counted", CHOSEN, "= __popc(staged);", "= 32;", BRICKS)
mutant("choose candidates: groups one place early", CHOSEN, "candidates->before[c / 32 + 1]", "candidates->before[c / 32]", BRICKS)
mutant("choose candidates: the last group is left out", CHOSEN, "if (lane != 0 || c >= n) continue;", "if (lane != 0 || c + 32 >= n) continue;", BRICKS)
mutant("choose candidates: groups are not added up", CHOSEN, "add_up(candidates->before, n_groups)", "add_up(candidates->before, 1)", BRICKS)
mutant("choose candidates: no barrier before the sums", CHOSEN, "__syncthreads(); /* the counts", "/* the counts", barrier(BRICK))
mutant("choose candidates: no barrier after the sums", CHOSEN, "__syncthreads(); /* the sums", "/* the sums", barrier(BRICK))
mutant("is chosen: all are", BRICK_STAGE + " bool is_chosen(", "(candidates.is_staged[c / 32] >> (c % 32) & 1u) != 0", "true", BRICKS)
PLACED = BRICK_STAGE + " int staged_before("
mutant("staged before: all of a group", PLACED, "(lane == 0 ? 0 : __popc(candidates.is_staged[group] & ((1u << lane) - 1)))", "__popc(candidates.is_staged[min(group, most_groups - 1)])", BRICKS)
mutant("staged before: itself", PLACED, "((1u << lane) - 1)", "((2u << lane) - 1)", BRICKS)
mutant("staged before: groups begin anew", PLACED, "candidates.before[group] + ", "", BRICKS)
COUNTED_CELLS = BRICK_STAGE + " void count_staged("
mutant("count staged: without the sum of all", COUNTED_CELLS, "k <= n_cells; k += MD_BLOCK", "k < n_cells; k += MD_BLOCK", BRICKS)
mutant("count staged: one round of cells", COUNTED_CELLS, "k <= n_cells; k += MD_BLOCK", "k <= min(n_cells, MD_BLOCK - 1); k += MD_BLOCK", tests(ROUNDS))
mutant("stage round: one too early", BRICK_STAGE + " void stage_round(", "atoms[1 + staged_before", "atoms[staged_before", BRICKS)
BOOKED = BRICK_STAGE + " void book_round("
mutant("book round: sources of the slot before", BOOKED, "= visited.particle[k];", "= max(visited.particle[k] - 1, 0);", BRICKS)
mutant("book round: sources of all bricks in one place", BOOKED, "a.bricks.source[source]", "a.bricks.source[source - brick.source]", BRICKS)
mutant("book round: images are not written down", BOOKED, "if (brick.has_images) a", "if (false) a", BRICKS)
mutant("book round: images of all bricks in one place", BOOKED, "a.bricks.image[source]", "a.bricks.image[source - brick.source]", BRICKS)
STAGING = BRICK_STAGE + " void stage_rounds("
mutant("stage rounds: the second is the last", STAGING, "first < cells.first[n_cells];", "first < min(cells.first[n_cells], 2 * candidates_of_round);", tests(ROUNDS))
mutant("stage rounds: one is left out", STAGING, "; first += candidates_of_round) {", "; first += 2 * candidates_of_round) {", tests(ROUNDS))
mutant("stage rounds: later ones are not staged", STAGING, "        stage_round(candidates, first, *visited, atoms);", "", tests(ROUNDS))
mutant("stage rounds: sources of later ones are not written down", STAGING, "        book_round(a, brick, cells, candidates, first, *visited);\n    }", "    }", tests(ROUNDS))
QUADS = BRICK_BUILD + " void store_quad("
mutant("store quad: past the capacity", QUADS, "if (quad < row->n_quads) ", "", held(BRICK))
mutant("store quad: in the place of the last", QUADS, "(row->count - 1) / CUDA_QUAD", "row->count / CUDA_QUAD - 1", BRICKS)
mutant("store quad: side by side", QUADS, "quad * 32", "quad", BRICKS)
mutant("append: entries in the wrong order", BRICK_BUILD + " void append_staged(", "row->last >> 16 | staged_entry(staged) << 48", "row->last << 16 | staged_entry(staged)",
       BRICKS)
mutant("append: counts stop at the capacity", BRICK_BUILD + " void append_staged(", "row->count++;", "if (row->count < CUDA_QUAD * row->n_quads) row->count++;",
       held(BRICK))
ROW_END = BRICK_BUILD + " void end_row("
mutant("brick row: its rest is lost", ROW_END, "store_quad(row);", "", BRICKS)
mutant("brick row: its rest stands too high", ROW_END, "row->last >>= 16 * (CUDA_QUAD - n);", "", BRICKS)
FOUND = BRICK_BUILD + " int take_next("
mutant("take next: the last one again", FOUND, "*left &= *left - 1;", "if (*left & (*left - 1)) *left &= *left - 1;", BRICKS)
mutant("take next: a word later", FOUND, "*first + __ffs", "*first + 1 + __ffs", BRICKS)
APPENDED = BRICK_BUILD + " void append_found("
mutant("append found: quads begin where they like", APPENDED, "n > 0 && row->count % CUDA_QUAD != 0; n--", "false; n--", CROWDS)
mutant("append found: the rest is lost", APPENDED, "    for (; n > 0; n--)", "    for (; n > 1; n--)", BRICKS)
mutant("append found: whole quads are not stored", APPENDED, "        store_quad(row);", "        ;", BRICKS)
mutant("append found: whole quads of one entry", APPENDED, "<< (16 * k)", "<< 16", BRICKS)
mutant("append found: again", APPENDED, "found->n = found->n_atoms = 0;", "", CROWDS)
NEAR = BRICK_BUILD + " unsigned near_mask("
mutant("near: z does not count", NEAR, "place.z - other.z : Pair(0)", "Pair(0) : Pair(0)", rows(BRICK))
mutant("near: everything", NEAR, "squared(d) < (Pair)a.range_sq", "true", rows(BRICK))
mutant("near: the cutoff itself", NEAR, "< (Pair)a.range_sq", "< (Pair)(0.8 * a.range_sq)", rows(BRICK))
mutant("near: columns8 on top of each other", NEAR, "column8 << k", "column8", BRICKS)
mutant("near: what is behind the last", NEAR, "n < 32 ? mask & ((1u << n) - 1) : mask", "mask", BRICKS)
SEARCHED = BRICK_BUILD + " void search_staged("
mutant("search staged: itself", SEARCHED, "if ((unsigned)(own - first) < 32u) mask", "if (false) mask", rows(BRICK))
mutant("search staged: not the one a word away", SEARCHED, "if ((unsigned)(own - first) < 32u) mask &= ~(1u << (own - first))", "mask &= ~(1u << ((own - first) & 31))", BRICKS)
mutant("search staged: the last word is left out", SEARCHED, "first < end; first += 32", "first + 32 <= end; first += 32", BRICKS)
mutant("search staged: atoms uncounted", SEARCHED, "found->n_atoms += __popc(mask);", "found->n_atoms += 1;", BRICKS)
mutant("search staged: found without an end", SEARCHED, "if (found->n == FOUND_WORDS) append_found(found, row);", "if (found->n == FOUND_WORDS) found->n = found->n_atoms = 0;", CROWDS)
BEYOND = BRICK_BUILD + " int first_beyond("
mutant("first beyond: one too late", BEYOND, "return low;", "return low + 1;", BRICKS)
mutant("first beyond: the other half", BEYOND, "atoms[middle].v.x < x", "!(atoms[middle].v.x < x)", BRICKS)
LINE_GAP = BRICK_BUILD + " Pair gap("
mutant("gap: to the wrong border below", LINE_GAP, "x - (Pair)c * edge", "x - (Pair)(c - 1) * edge", BRICKS)
mutant("gap: to the wrong border above", LINE_GAP, "(Pair)(c + 1) * edge - x", "(Pair)(c + 2) * edge - x", BRICKS)
OWN_ROW = BRICK_BUILD + " void search_row("
mutant("search row: without the layer above", OWN_ROW, "layer <= min(z + 1, region.size[2] - 1)", "layer <= z", BRICKS)
mutant("search row: without the layer below", OWN_ROW, "layer = max(z - 1, 0)", "layer = z", BRICKS)
mutant("search row: without the line above", OWN_ROW, "line <= min(y + 1, region.size[1] - 1)", "line <= y", BRICKS)
mutant("search row: without the line below", OWN_ROW, "line = max(y - 1, 0)", "line = y", BRICKS)
mutant("search row: without the cell behind", OWN_ROW, "x_high = min(x + 1, region.size[0] - 1)", "x_high = x", BRICKS)
mutant("search row: without the cell before", OWN_ROW, "x_low = max(x - 1, 0)", "x_low = x", BRICKS)
mutant("search row: lines beyond a face", OWN_ROW, "line = max(y - 1, 0)", "line = y - 1", CROWDS)
mutant("search row: cells beyond a face", OWN_ROW, "x_low = max(x - 1, 0)", "x_low = x - 1", CROWDS)
mutant("search row: another for itself", BRICK_BUILD + " int own_place(", "slot - cells.begin[cell]", "slot - cells.begin[cell] + 1", BRICKS)
mutant("search row: gaps of y twice", OWN_ROW, "(dy > 0 ? dy * dy : 0)", "(dy > 0 ? 2 * dy * dy : 0)", BRICKS)
mutant("search row: gaps of y for z", OWN_ROW, "gap(place.z, at.z - region.own_low[2],", "gap(place.y, at.y - region.own_low[1],", BRICKS)
mutant("search row: gaps from the corner of the grid", OWN_ROW, "at.y - region.own_low[1]", "at.y", tests(BRICK + " memory.brick_cells=1"))
mutant("search row: reach ahead only", OWN_ROW, "place.x - reach", "place.x", BRICKS)
mutant("search row: reach behind only", OWN_ROW, "place.x + reach", "place.x", BRICKS)
mutant("search row: no margin for rounding along y", OWN_ROW, "bounds.edge[1]) - bounds.margin", "bounds.edge[1])", IN_RANGE, BEYOND_FACES)
mutant("search row: no margin for rounding along z", OWN_ROW, "bounds.edge[2]) - bounds.margin", "bounds.edge[2])", IN_RANGE, BEYOND_FACES)
mutant("search row: its rest is lost", OWN_ROW, "append_found(&found, row);", "", BRICKS)
mutant("search row: no end", OWN_ROW, "    end_row(row);", "", BRICKS)
IN_CELL = COUNT_IN_CELL + " SlotKey key_at("
mutant("slot key: bricks by id", IN_CELL, "(uint64_t)float_key((float)x.x) << 32", "(uint64_t)0", tests(BRICK), held("memory.sort=brick"))
mutant("slot key: by y", IN_CELL, ".x) << 32", ".y) << 32", tests(BRICK), held("memory.sort=brick"))
mutant("slot key: equal places by chance", IN_CELL, " | (unsigned)id;", ";", held("memory.sort=brick"))
BEGUN = BRICK_BUILD + " CudaBrick begin_brick("
mutant("begin brick: from the cell after", BEGUN, "brick.begin = cells.begin[low];", "brick.begin = cells.begin[low] + cells.first[low + 1] - cells.first[low];", BRICKS)
mutant("begin brick: it ends before its last cell", BEGUN, " + cells.first[high + 1] - cells.first[high]", "", BRICKS)
mutant("begin brick: its last cell is that of the region", BEGUN, "first[k] + region.own_size[k] - 1", "region.size[k] - 1", BRICKS)
mutant("begin brick: images go unseen", BEGUN, "brick.has_images = has_images;", "brick.has_images = false;", BRICKS)
mutant("begin brick: slices overlap", BEGUN, "(brick.end - brick.begin + 31ull) / 32", "(brick.end - brick.begin + 0ull) / 32", BRICKS)
mutant("begin brick: sources overlap", BEGUN, "(unsigned long long)n_sources)", "(unsigned long long)n_sources / 2)", BRICKS)
mutant("begin brick: the fullest one goes unseen", BEGUN, "atomicMax(&a.status->measures.staged, brick.n_staged);", "", CROWDS)
mutant("begin brick: slices by plain addition", BEGUN, "(int64_t)atomicAdd(&a.status->measures.slices, ", f"(int64_t){PLAIN}&a.status->measures.slices, ", on_gpu(tests(BRICK)))
mutant("begin brick: sources by plain addition", BEGUN, "(int64_t)atomicAdd(&a.status->measures.sources, ", f"(int64_t){PLAIN}&a.status->measures.sources, ", on_gpu(tests(BRICK)))
SEARCH_BRICK = BRICK_BUILD + " void search_brick("
ALL_ROWS = BRICK_BUILD + " RowsByThreads {"
mutant("search brick: beyond its room", SEARCH_BRICK, "s_brick.n_staged > a.bricks.capacity ||", "", CROWDS)
mutant("search brick: beyond the list of sources", SEARCH_BRICK, "s_brick.source + s_brick.n_staged > a.bricks.source_capacity ||", "", emulated(FEW_BRICKS))
mutant("search brick: beyond the last slice", SEARCH_BRICK, "s_brick.slice + (s_brick.end - s_brick.begin + 31) / 32 > a.bricks.slice_capacity", "false", emulated(CROWDS))
mutant("search brick: the first round beyond its room", SEARCH_BRICK, "if (n_staged <= a.bricks.capacity) {", "{", emulated(CROWDS))
mutant("search brick: rows though there is no room", ALL_ROWS, "if (brick.n_staged >= 0) search", "search", CROWDS)
mutant("search brick: staged though there is no room", SEARCH_BRICK, "if (s_brick.n_staged > 0) {", "{", CROWDS)
mutant("search brick: one round of rows", ALL_ROWS, "r < brick.end - brick.begin;", "r < min(brick.end - brick.begin, MD_BLOCK);", tests(ROUNDS), rows(ROUNDS))
ROW_BOOKED = BRICK_BUILD + " void book_row("
mutant("book row: counts of others", ROW_BOOKED, "a.list.counts[brick.begin + row]", "a.list.counts[row]", BRICKS)
mutant("book row: the largest goes unseen", ROW_BOOKED, "atomicMax(&tally->largest, count);", "", FULL, CROWDS)
mutant("book row: its entries are not counted", ROW_BOOKED, "atomicAdd(&tally->entries, (unsigned)count);", "", rows(BRICK))
mutant("book row: plain addition", ROW_BOOKED, "atomicAdd(&tally->entries, (unsigned)count);", "tally->entries += (unsigned)count;", on_gpu(rows(BRICK)), race(BRICK))
mutant("search brick: no barrier after its beginning", SEARCH_BRICK, "__syncthreads(); /* the brick", "/* the brick", barrier(BRICK))
mutant("search brick: no barrier after staging", SEARCH_BRICK, "__syncthreads(); /* all atoms", "/* all atoms", barrier(BRICK))
mutant("search brick: goes on though there is no room", SEARCH_BRICK, "s_tally.entries, s_brick.n_staged < 0);", "s_tally.entries, false);", FULL, CROWDS)

BY_MATRIX, BY_WORDS = "cuda/kernels/bricks/search_matrix.cuh", "cuda/kernels/bricks/search_matrix_words.cuh"
MATRIX = OF_BRICK + " neighbor.distances=matrix"
MATRICES = (tests(MATRIX), tests(MATRIX + " memory.brick_cells=2"), rows(MATRIX))
SIXTEENS = (tests(MATRIX), tests(MATRIX + " memory.brick_cells=2"), tests(MATRIX + " launch.block_size=32"), CROWDS)
mutant("points: no square of z", BY_WORDS + " void set_staged(", "x * x + y * y + z * z", "x * x + y * y", MATRICES)
mutant("points: the rest of the last column8 is what it was", BY_MATRIX + " RowsByWarps {", "(n + k - 1) / in_column8 == (n - 1) / in_column8", "false", MATRICES, CROWDS)
mutant("points: entry 0 is the corner", BY_MATRIX + " RowsByWarps {", "set_staged(&points[0], nowhere())", "points[0] = Point{0, 0, 0, 0}", MATRICES)
mutant("most of a warp: of the lane below", BY_WORDS + " int most_up_to(", "distance < 32", "distance < 2", SIXTEENS)
REACH = BY_WORDS + " void reach_of_rows("
mutant("reach: rows of the first line only", REACH, "begins &= begins - 1;", "begins = 1u << 16;", SIXTEENS)
mutant("reach: lines below only", REACH, "dy <= 2", "dy <= 1", MATRICES)
mutant("reach: layers below only", REACH, "dz <= 2", "dz <= 1", MATRICES)
mutant("reach: from the last row on", REACH, "fminf(*low, lowest - reach)", "fminf(*low, highest - reach)", SIXTEENS)
mutant("reach: up to the first row", REACH, "fmaxf(*high, highest + reach)", "fmaxf(*high, lowest + reach)", SIXTEENS)
BOTH_ENDS = BY_WORDS + " void first_beyond_both("
mutant("first beyond both: less than half is left", BOTH_ENDS, "left - left / 2", "left / 2", MATRICES)
mutant("first beyond both: up to the low end", BOTH_ENDS, "at_end < high", "at_end < low", MATRICES)
mutant("first beyond both: from the high end on", BOTH_ENDS, "at_begin < low", "at_begin < high", MATRICES)
COLUMNS = BY_WORDS + " void load_columns("
mutant("load columns: the first two twice", COLUMNS, "k < 2 ? places.x : places.y", "places.x", MATRICES)
mutant("load columns: each second one is the one before", COLUMNS, "? 0x4410 : 0x4432", "? 0x4410 : 0x4410", MATRICES)
EIGHTS = BY_WORDS + " int list_columns8("
mutant("columns8: those of two lines twice", EIGHTS, "begin < end ? max(begin / in_column8, lane == 0 ? behind : before) : last", "begin < end ? begin / in_column8 : last", SIXTEENS)
mutant("columns8: the last of a line is left out", EIGHTS, "(end + in_column8 - 1) / in_column8", "end / in_column8", SIXTEENS)
mutant("columns8: rows meet themselves", EIGHTS, "*place = of_own + own / in_column8;", "*place = -1;", MATRICES)
TESTED = BY_WORDS + " void test_columns8("
BY_EIGHT = tests(MATRIX + " memory.brick_grid=device")
mutant("test columns8: the second four are the first", TESTED, "next + columns8_at_once, others", "next, others", BY_EIGHT)
mutant("test columns8: the third four are the second", TESTED, "next + 2 * columns8_at_once, columns", "next + columns8_at_once, columns", BY_EIGHT)
mutant("test columns8: always the first column8", TESTED, "left -= 2 * columns8_at_once, next += 2 * columns8_at_once", "left -= 2 * columns8_at_once", BY_EIGHT)
mutant("test columns8: the second four are left out", TESTED, "if (left <= columns8_at_once) break;", "if (left <= 2 * columns8_at_once) break;", BY_EIGHT)
mutant("test columns8: what is tested for nothing", TESTED, "(columns8_of_word - tested) & wanted", "(columns8_of_word - tested)", MATRICES)
mutant("test columns8: words that are not full stand too low", TESTED, "= near[side][group] << (columns8_of_word - tested)", "= near[side][group]", MATRICES)
mutant("test columns8: another for itself", TESTED, "own & rows.is_own[side][group]", "own & rows.is_own[side][1 - group]", MATRICES)
TAKEN = BY_MATRIX + " int take("
mutant("take: the first word again", TAKEN, "stream->next += 1;", "", SIXTEENS)
mutant("take: though it is not wanted", TAKEN, "__funnelshift_lc(0, is_wanted,", "__funnelshift_lc(0, 1,", SIXTEENS)
mutant("entries: of the other group", BY_MATRIX + " unsigned entry_of(", "+ group);", "+ 1 - group);", MATRICES)
BY_GROUPS = BY_MATRIX + " void store_by_groups("
mutant("store by groups: lanes on top of each other", BY_GROUPS, "int k = row.before;", "int k = 0;", SIXTEENS)
DEALT = BY_MATRIX + " Deal deal_row("
mutant("deal: all rows begin with the same group of banks", DEALT, "group) ^ rotation;", "group);", IN_RANGE)
mutant("deal: shares rounded down", DEALT, "(row.n + in_column8 - 1 - deal.first[group]) / in_column8", "row.n / in_column8", MATRICES)
mutant("deal: gaps of all lanes alike", DEALT, "deal.gap = (both - here) & 0xffff;", "deal.gap = 0;", MATRICES)
mutant("deal: spares of all lanes in one place", DEALT, "deal.spares_before = (both - here) >> 16;", "deal.spares_before = 0;", MATRICES)
mutant("deal: more spares than there is room for", DEALT, ">> 16;\n    deal.spares_before", "& 0;\n    deal.spares_before", SIXTEENS)
mutant("spares: those of the second group over the first's", BY_MATRIX + " void put_spares(", "(group == 0 ? 0 : deal.spare[0])", "0", MATRICES)
ROUND = BY_MATRIX + " void store_round("
mutant("round: gaps are not filled", ROUND, "is_own ? place : *gap", "place", MATRICES)
mutant("round: the same gap again", ROUND, "*gap += is_there & !is_own;", "", MATRICES)
mutant("round: the end of a row is what it was", ROUND, "is_there ? found", "true ? found", MATRICES)
STORED = BY_MATRIX + " void store_rows("
mutant("store rows: the first round is one of own entries", STORED, "j < all_own;", "j < max(all_own, 1);", tests(MATRIX + " memory.brick_cells=2"))
mutant("store rows: own entries by the most of a lane", STORED, "all_own = __reduce_min_sync", "all_own = __reduce_max_sync", SIXTEENS)
mutant("store rows: own entries of the first row alone", STORED, "least_own = min(", "if (side == 0) least_own = min(", SIXTEENS)
mutant("store rows: places of the round before", BY_MATRIX + " void store_rounds(", "to[side] += in_column8 / CUDA_QUAD * 32 * CUDA_QUAD / 2;", "", SIXTEENS)
mutant("store rows: the rounds of the first row", STORED, "most = max(most, rows[side].n);", "if (side == 0) most = rows[side].n;", SIXTEENS)
mutant("store rows: past the capacity", BY_MATRIX + " void store_rounds(", "first + in_column8 * j < rows[side].n_stored", "first + in_column8 * j < rows[side].n", held(MATRIX))
SIXTEEN = BY_MATRIX + " void search_at_once("
mutant("sixteen: rows that are not there", SIXTEEN, "if (r >= n_rows) shared[side].count[0] = shared[side].count[1] = 0;", "", COUNTED)
mutant("sixteen: the cutoff itself", SIXTEEN, "- a.range_sq", "- 0.8 * a.range_sq", rows(MATRIX))
mutant("sixteen: words of all but the last", SIXTEEN, "first < n_columns8; first += columns8_of_word", "first + columns8_of_word < n_columns8; first += columns8_of_word", SIXTEENS)
mutant("search brick: no barrier before its rows are counted", SEARCH_BRICK, "__syncthreads(); /* all rows", "/* all rows", CROWDS, race(MATRIX))
MATRIX_ROWS = BY_MATRIX + " RowsByWarps {"
mutant("matrix rows: one round", MATRIX_ROWS, "first < n_rows; first", "first < min(n_rows, rows_of_round); first", SIXTEENS)
mutant("matrix rows: cells of the round before", MATRIX_ROWS, "cell = next_cell;", "", SIXTEENS)
mutant("matrix rows: cells of the first row", MATRIX_ROWS, "slot_of_lane(brick, first)]", "brick.begin]", SIXTEENS)
mutant("matrix rows: eights begin where sixteens do", MATRIX_ROWS, "first = rows_at_once * warp", "first = 16 * warp", tests(MATRIX + " memory.brick_grid=device"))
mutant("matrix rows: sixteens begin where eights do", MATRIX_ROWS, "MD_BLOCK / 32 * rows_at_once", "MD_BLOCK / 32 * 16", tests(MATRIX + " memory.brick_grid=device launch.block_size=32"))
mutant("matrix rows: one table for all warps", MATRIX_ROWS, "warp * a.bricks.warp_bytes", "0", SIXTEENS)
mutant("matrix rows: though there is no room", MATRIX_ROWS, "if (brick.n_staged < 0) {", "if (false) {", CROWDS)

OF_BRICKS = "cuda/kernels/bricks/force.cuh"
STAGES = OF_BRICKS + " void stage_atoms("
mutant("force brick: the last atom is not staged", STAGES, "if (s < brick.n_staged) atoms", "if (s < brick.n_staged - 1) atoms", BRICKS)
mutant("force brick: one round of staging", STAGES, "first < brick.n_staged;", "first < min(brick.n_staged, MD_BLOCK);", tests(ROUNDS))
mutant("force brick: rounds of staging leave one out", STAGES, "first += staged_at_once * MD_BLOCK", "first += staged_at_once * MD_BLOCK + 1", tests(ROUNDS))
mutant("force brick: images are ignored", STAGES, "IMAGES ? staged_image", "false ? staged_image", BRICKS)
mutant("force brick: staged atoms seen from elsewhere", STAGES, "staged_place(origin,", "staged_place(Vec3<Pair>{0, 0, 0},", BRICKS)
mutant("force brick: no brick has images", OF_BRICKS + " void stage_brick(", "if (brick.has_images)", "if (false)", BRICKS)
mutant("force brick: sources of the first brick", STAGES, "a.bricks.source + brick.source", "a.bricks.source", BRICKS)
mutant("force brick: the end of a row is an atom", OF_BRICKS + " void stage_brick(", "atoms[0] = nowhere();", "atoms[0] = Atom{};", BRICKS)
PAIRS_OF_QUAD = OF_BRICKS + " void add_quad("
mutant("force brick: the last entry of a quad is left out", PAIRS_OF_QUAD, "k < CUDA_QUAD;", "k < CUDA_QUAD - 1;", BRICKS)
AHEAD, EIGHT = OF_BRICKS + " Atom take_ahead(", tests(OF_BRICK + " force.threads_per_atom=8")
mutant("atoms ahead: of the same quad", AHEAD, "entry_of_quad(next,", "entry_of_quad(quad,", EIGHT)
mutant("atoms ahead: one twice", AHEAD, "further = k + atoms_ahead", "further = k + atoms_ahead - 1", EIGHT)
mutant("atoms ahead: the one that was asked for last", AHEAD, "const Atom taken = ahead->next[k % places_ahead];", "const Atom taken = ahead->next[(k + 1) % places_ahead];", EIGHT)
mutant("atoms ahead: begun with one twice", OF_BRICKS + " AtomsAhead atoms_of_quad(", "entry_of_quad(quad, k)", "entry_of_quad(quad, 0)", EIGHT)
mutant("atoms ahead: behind a quad that quad again", OF_BRICKS + " void add_round(", "round.next[k + 1]", "round.next[k]", EIGHT)
ENTRY = OF_BRICKS + " unsigned entry_of_quad("
mutant("force brick: the first two entries twice", ENTRY, "k < 2 ? quad : quad >> 32", "quad", BRICKS)
mutant("force brick: each second entry is the one before", ENTRY, "? 0x4410 : 0x4432", "? 0x4410 : 0x4410", BRICKS)
mutant("force brick: z does not count", PAIRS_OF_QUAD, "own.v.z - other.v.z : Pair(0)", "Pair(0) : Pair(0)", BRICKS)
mutant("force brick: the row of another type", PAIRS_OF_QUAD, "own.type * MD_N_TYPES", "0", BRICKS)
mutant("force brick: another's type", PAIRS_OF_QUAD, "MD_N_TYPES == 1 ? 0 : other.type", "0", BRICKS)
mutant("force brick: the end of a row is counted where it is read first", PAIRS_OF_QUAD, "(k + first_of_quad()) % CUDA_QUAD < n", "k < n", COUNTED)
BEGINS = OF_BRICKS + " RowBegin begin_row("
ROW_FORCE, ROW_PART, EACH_ROW, LATER_ROWS = (
    OF_BRICKS + " " + head for head in ("typename Visitor::Row sum_of_part(", "RowPart part_of_row(", "void round_of_rows(", "void later_rows("))
# A thread a row, which is long: two rounds of quads take turns, and a warp goes on to the end of its longest row.
ALONE = tests(BRICK + " memory.brick_cells=2 force.threads_per_atom=1")
mutant("force brick: a double round for one quad is left out", ROW_FORCE, "most > 0;", "most > CUDA_QUAD;", BRICKS)
mutant("force brick: a rest is no quad", OF_BRICKS + " QuadsAhead quads_of_round(", "row.count > quad * quad_step", "row.count >= quad * quad_step + CUDA_QUAD", BRICKS)
mutant("force brick: behind a short row is what stands there", OF_BRICKS + " QuadsAhead quads_of_round(", "row.count > quad * quad_step ? quad_in_turn(&row.quads[quad * threads_per_atom * 32]) : no_quad", "quad_in_turn(&row.quads[quad * threads_per_atom * 32])", emulated(tests(BRICK + " memory.brick_cells=2 force.threads_per_atom=1")))
LOADS = OF_BRICKS + " Atom load_staged("
mutant("force brick: z for y of what is staged", LOADS, "{x, y, z}", "{x, z, z}", tests(BRICK + " force.threads_per_atom=1"))
mutant("force brick: what is staged has no type", LOADS, "__float_as_int(w)", "0", tests(BRICK + " force.threads_per_atom=1"))
mutant("force blocks: threads in place of bricks", "cuda/kernels/force.cuh int force_blocks(", "? 1 : MD_BLOCK", "? MD_BLOCK : MD_BLOCK", BRICKS)
mutant("force blocks: the last one is left out", "cuda/kernels/force.cuh int force_blocks(", "+ items_of_block - 1)", ")", tests("force.kernel=list force.energy=every-step"))
mutant("force brick: behind a row is an atom", OF_BRICKS, "no_quad = 0;", "no_quad = 16;", tests(BRICK + " memory.brick_cells=2 force.threads_per_atom=1"))
mutant("force brick: quads of the rows beside", ROW_FORCE, "quads += 2 * quads_ahead * threads_per_atom * 32;", "quads += 2 * quads_ahead * threads_per_atom;", ALONE)
mutant("force brick: rounds of threads of a row overlap", ROW_FORCE, "quads += 2 * quads_ahead * threads_per_atom * 32;", "quads += 2 * quads_ahead * 32;", tests(OF_BRICK + " force.threads_per_atom=2"))
mutant("force brick: a later round for this one", ROW_FORCE, "own, ahead, rest.count", "own, next, rest.count", BRICKS)
mutant("force brick: measured from another origin", BEGINS, "corner_of(brick)", "Vec3<Pair>{0, 0, 0}", BRICKS)
mutant("force brick: the count of another row", ROW_PART, "a.list.counts[brick.begin + r]", "a.list.counts[r]", BRICKS)
EACH_BRICK = OF_BRICKS + " void force_block_brick("
mutant("force brick: no barrier", EACH_BRICK, "__syncthreads(); /* all atoms", "/* all atoms", barrier(BRICK))
mutant("force brick: no barrier before the next brick", EACH_BRICK, "__syncthreads(); /* the atoms staged", "/* the atoms staged",
       barrier(BRICK + " memory.brick_cells=1 launch.block_size=1024 launch.persistent=on neighbor.rebuild=every", cells=14))
mutant("force brick: one round of rows", LATER_ROWS, "first < brick.end - brick.begin;", "false;", tests(ROUNDS))
mutant("force brick: two rounds of rows", LATER_ROWS, "first < brick.end - brick.begin;", "first < min(brick.end - brick.begin, 2 * rows_of_round);", tests(BRICK + " memory.brick_cells=2 launch.block_size=32"))
mutant("force brick: rows of a later round", BEGINS, "part_of_row(a, brick, r)", "part_of_row(a, brick, r % MD_BLOCK)", tests(ROUNDS))
mutant("force brick: shifts of the first brick", EACH_BRICK, "*shifts_of_brick(a, b)", "*shifts_of_brick(a, 0)", BRICKS)
mutant("force brick: later rows of the first brick", EACH_BRICK, "&a.bricks.table[b]", "a.bricks.table", tests(ROUNDS))
mutant("force brick: the atom of another row", BEGINS, "brick.begin + r, from", "brick.begin, from", BRICKS)
mutant("force brick: a thread behind the rows has one", BEGINS, "RowBegin begin = {};", "RowBegin begin = {}; begin.own.type = 1 << 28;", emulated(tests(BRICK + " memory.brick_cells=2 force.threads_per_atom=1")))
mutant("force brick: threads of a row walk the same", ROW_PART, "(int)threadIdx.x % threads_per_atom;", "0;", tests(SHARED_ROWS))
mutant("force brick: rows of the next round in this one", EACH_ROW, "(int)threadIdx.x / threads_per_atom;", "(int)threadIdx.x;", tests(SHARED_ROWS))
mutant("force brick: rounds of one thread a row", "cuda/kernels/bricks/force.cuh", "rows_of_round = MD_BLOCK / threads_per_atom", "rows_of_round = MD_BLOCK", tests(SHARED_ROWS + " launch.block_size=32"))
mutant("force brick: parts are not added up", EACH_ROW, "add_up_row(&sum);", "", tests(SHARED_ROWS))
mutant("force brick: parts as long as their row", ROW_PART, " - part * CUDA_QUAD}", "}", tests(SHARED_ROWS))
mutant("force brick: a double round for one quad of a part is left out", ROW_FORCE, "most > 0;", "most > (threads_per_atom > 1) * quad_step;", tests(SHARED_ROWS))
mutant("force brick: forces of others", EACH_ROW, "visitor.finish(brick.begin + r,", "visitor.finish(r,", BRICKS)
mutant("force brick: the warp ends with its first row", ROW_FORCE, "most = most_of_warp(row.count)", "most = __shfl_sync(whole_warp, row.count, 0)", ALONE)
mutant("force brick: the round before once more", ROW_FORCE, "quads_of_round(rest, 1)", "quads_of_round(rest, 0)", ALONE)
mutant("force brick: no third round", ROW_FORCE, "most -= 2 * of_round", "most = 0", ALONE)
mutant("force brick: the third round is the second", ROW_FORCE, "ahead = quads_of_round(rest, 2)", "ahead = quads_of_round(rest, 1)", ALONE)
mutant("force brick: rounds of the first quads", ROW_FORCE, "rest.quads += 2 * quads_ahead * threads_per_atom * 32;", "", ALONE)
mutant("force brick: rows do not get shorter", ROW_FORCE, "rest.count -= 2 * of_round;", "", emulated(ALONE))
mutant("force brick: the last quad of a warp is left out", OF_BRICKS + " void add_round(", "most <= k * quad_step", "most <= (k + 1) * quad_step", ALONE)

# memory.staging = async.
COPIED = BRICK + " memory.staging=async force.threads_per_atom=1"
COPIES = OF_BRICKS + " void copy_atoms("
def copied(more=""):
    return tests(COPIED + " memory.brick_cells=2" + more), tests(COPIED + " memory.brick_cells=3 launch.block_size=32" + more)


ASYNC = copied()
mutant("copies: the last atom is not copied", COPIES, "if (s >= brick.n_staged) continue;", "if (s >= brick.n_staged - 1) continue;", ASYNC)
mutant("copies: those of the first brick", COPIES, "a.bricks.source + brick.source", "a.bricks.source", ASYNC)
mutant("copies: one round", COPIES, "first < brick.n_staged;", "first < min(brick.n_staged, MD_BLOCK);", ASYNC)
mutant("copies: half of an atom", COPIES, "parts = (int)sizeof(Atom) / 16", "parts = 1", tests(COPIED + " memory.brick_cells=2 run.precision=double", "3-D open, 3 types"))
mutant("copies: images, too", OF_BRICKS + " void stage_brick(", "if (brick.has_images)", "if (brick.has_images && !copies_async)", ASYNC)
mutant("copies: measured from the corner of the brick", OF_BRICKS + " bool is_as_copied(", "copies_async && !stages_low_bits && !brick.has_images", "false", copied(" run.precision=single"))
mutant("copies: the other copy of the positions", COPIES, "a.now.position.part[0] + from", "a.now.position.part[0]", tests(COPIED + " launch.fuse=step launch.persistent=off memory.brick_cells=2", BOTH + "|3-D open, 3 types"))
mutant("copies: places stay as they were copied", COPIES, "if constexpr (!stages_low_bits) return;", "return;", copied(" run.precision=mixed"))
mutant("copies: the last place stays as it was copied", COPIES, "begin + (int)threadIdx.x; s < brick.n_staged;", "begin + (int)threadIdx.x; s < brick.n_staged - 1;", copied(" run.precision=mixed"))
mutant("copies: one round of places is measured", COPIES, "s += MD_BLOCK", "s = brick.n_staged", copied(" run.precision=mixed"))
mutant("copies: nobody waits for them", COPIES, "MD_WAIT_FOR_COPIES();", "", tuple(on_gpu(killer) for killer in ASYNC))

mutant("force brick: the next brick", EACH_BRICK, "brick = a.bricks.table[b]", "brick = a.bricks.table[b > 0 ? b - 1 : 0]", BRICKS)
