"""Lists in rows. See killers.py."""
from .killers import *  # the words of the table

# --- lists ---------------------------------------------------------------------------------------------------------------

mutant("cell_end: one too few", GRID + " int cell_end(", "a.cell_start[cell_place(a, c) + 1]", "a.cell_start[cell_place(a, c) + 1] - 1", tests(CELLS))
mutant("slot_particle: the slot itself", GRID + " int slot_particle(", "return a.slot_atom[slot];", "return slot;", tests(CELLS + " memory.sort=none"))
mutant("cell_at: y for z", GRID + " Cell cell_at(", "line - layer * grid.n[1], layer}", "layer, line - layer * grid.n[1]}", tests(CELLS, "3-D|3-D uneven, shift force"))
mutant("stencil: no cell below", GRID + " void stencil(", "*low = n >= 3 ? -1 : 0;", "*low = 0;", tests(CELLS, "3-D"))
mutant("stencil: no cell above", GRID + " void stencil(", "*high = n >= 3 ? 1 : n - 1;", "*high = n >= 3 ? 0 : n - 1;", tests(CELLS, "3-D"))
mutant("stencil: a narrow axis is visited twice", GRID + " void stencil(", "*low = n >= 3 ? -1 : 0;", "*low = -1;", tests(CELLS, "smallest box 3-D"))
mutant("stencil: an open axis ends early", GRID + " void stencil(", "c < n - 1 ? 1 : 0", "c < n - 2 ? 1 : 0", tests(CELLS, "3-D open, 3 types"))
mutant("stencil: an open axis begins late", GRID + " void stencil(", "c > 0 ? -1 : 0", "c > 1 ? -1 : 0", tests(CELLS, "3-D open, 3 types"))
mutant("wrapped_cell: not round the upper end", GRID + " int wrapped_cell(", "c >= n ? c - n : c", "c >= n ? n - 1 : c", tests(CELLS, "3-D"))

NEIGHBOR = "cuda/kernels/neighbor.cu"
SORTED = "cuda/kernels/neighbor_sorted.cuh"
BRUTE, TILES = "neighbor.search=brute force.kernel=list", "neighbor.search=brute-tiled force.kernel=list"
ATOMIC, HALVES, NARROW = " neighbor.write=atomic", " neighbor.list=half", "smallest box 3-D|smallest box 2-D"
mutant("brute: the last atom is left out", NEIGHBOR + " k_neighbor_brute(", "j < stored_atoms(a);", "j < stored_atoms(a) - 1;", tests(BRUTE))
mutant("brute: the last row is left out", NEIGHBOR + " k_neighbor_brute(", "if (i >= own_atoms(a)) return;", "if (i >= own_atoms(a) - 1) return;", tests(BRUTE))
mutant("brute-tiled: the last tile is left out", NEIGHBOR + " k_neighbor_brute_tiled(", "first < stored_atoms(a);", "first + MD_BLOCK < stored_atoms(a);", tests(TILES))
mutant("brute-tiled: the last of a tile is left out", NEIGHBOR + " k_neighbor_brute_tiled(", "k < n;", "k < n - 1;", tests(TILES))
mutant("brute-tiled: the last row is left out", NEIGHBOR + " k_neighbor_brute_tiled(", "own < own_atoms(a);", "own < own_atoms(a) - 1;", tests(TILES))
mutant("brute-tiled: no barrier before a tile", NEIGHBOR + " k_neighbor_brute_tiled(", "__syncthreads(); /* the tile before", "/* the tile before",
       barrier(TILES))
mutant("brute-tiled: no barrier after a tile", NEIGHBOR + " k_neighbor_brute_tiled(", "__syncthreads(); /* the tile is", "/* the tile is", barrier(TILES))
mutant("cell search: no cell above along z", NEIGHBOR + " void search_cells(", "dz <= z_high", "dz < z_high", tests(CELLS, "3-D"))
mutant("cell search: no cell below along y", NEIGHBOR + " void search_cells(", "dy = y_low;", "dy = y_low + 1;", tests(CELLS, "3-D"))
mutant("cell search: the last cell of a line is left out", NEIGHBOR + " void search_cells(", "dx <= x_high;", "dx < x_high;", tests(CELLS + " memory.sort=morton", "3-D"))
mutant("cell search: lines end a cell early", NEIGHBOR + " void search_cells(", "first + last - dx)", "first)", tests(CELLS + " memory.sort=cell", "3-D uneven, shift force|2-D uneven"))
mutant("cell search: lines are not cut at the end of the grid", NEIGHBOR + " void search_cells(", "min(x_high, grid.n[0] - 1 - at.x)", "x_high",
       tests(CELLS + " memory.sort=cell", "3-D|2-D uneven"))
for axis in "xyz":
    mutant(f"cell search: image along {axis} forgotten", NEIGHBOR + " run_separation(", f"if (MD_PERIODIC_{axis.upper()}) d.{axis} -= run.shift.{axis};", "",
           tests(CELLS, "3-D uneven, shift force"))
mutant("cell search: image of the other side", NEIGHBOR + " int image_of(", "c < 0 ? -1", "c < 0 ? 1", tests(CELLS, "3-D uneven, shift force|2-D uneven"))
mutant("cell search: narrow axes are taken for wide ones", NEIGHBOR + " bool is_narrow(", "return (MD_PERIODIC_X", "return false;\n    return (MD_PERIODIC_X", tests(CELLS, NARROW), rows(CELLS, NARROW))
WARPS, BY_WARP = "force.kernel=list neighbor.threads_per_atom=32", NEIGHBOR + " void search_run_by_warp("
mutant("search by warps: the last candidates are left out", BY_WARP, "first < run.end; first += 32", "first + 32 <= run.end; first += 32", tests(WARPS))
mutant("search by warps: itself", BY_WARP, "tests(row->i, j)", "true", rows(WARPS))
mutant("search by warps: entries on top of each other", BY_WARP, "__popc(found & lanes_before)", "0", tests(WARPS))
mutant("search by warps: one place for all that were found", BY_WARP, "row->count += __popc(found);", "row->count += found != 0;", tests(WARPS))
mutant("search by warps: past the capacity", BY_WARP, "if (k < a.list.capacity) ", "", held(WARPS))
mutant("search by warps: half a warp", BY_WARP, "found >> lane & 1", "found >> lane & (lane < 16)", tests(WARPS))
mutant("cell search: the last row is left out", NEIGHBOR + " k_neighbor_cell(", "if (slot >= stored_atoms(a)) return;", "if (slot >= stored_atoms(a) - 1) return;", tests(CELLS))
mutant("search: range without skin", NEIGHBOR + " void try_pair(", "(Pair)a.range_sq", "(Pair)(a.range_sq * 0.85)", rows(CELLS), tests(CELLS))
mutant("search nonatomic: past the capacity", NEIGHBOR + " void append_to_own(", "if (row->count < a.list.capacity) *", "*", held(CELLS + " neighbor.order=row"))
mutant("search nonatomic: counts stop at the capacity", NEIGHBOR + " void append_to_own(", "row->count++;", "if (row->count < a.list.capacity) row->count++;",
       held(CELLS))
mutant("search atomic: past the capacity", NEIGHBOR + " void append(", "if (k < a.list.capacity) ", "", held(CELLS + ATOMIC))
mutant("search atomic: a plain addition", NEIGHBOR + " void append(", "atomicAdd(", PLAIN, on_gpu(rows(CELLS + ATOMIC, BOTH)))
mutant("search atomic: the other row gets nothing", NEIGHBOR + " void append_to_both(", "append(a, j, i);", ";", tests(CELLS + ATOMIC))
mutant("search atomic: each pair twice", NEIGHBOR + " bool tests(", "return i < j;", "return i != j;", tests(CELLS + ATOMIC))
mutant("search: itself", NEIGHBOR + " bool tests(", "else return i != j;", "else return true;", rows(CELLS))
mutant("half: a pair in both rows", NEIGHBOR + " bool tests(", "return i != j && owns(i, j);", "return i != j;", rows(CELLS + HALVES), tests(CELLS + HALVES))
mutant("half atomic: a pair in both rows", NEIGHBOR + " void append_to_both(", "if (!stores_once || owns(j, i))", "if (true)", rows(CELLS + HALVES + ATOMIC))
mutant("half: pairs of equal parity are lost", NEIGHBOR + " bool owns(", "(((i + j) & 1) != 0) == (i < j)", "(((i + j) & 1) != 0) && (i < j)", rows(CELLS + HALVES))
mutant("row ends without a count", NEIGHBOR + " void end_row(", "a.list.counts[row.i] = row.count;", "a.list.counts[row.i] = row.count - 1;", tests(CELLS))
for order in ("row", "column"):
    mutant(f"entries {order}: rows overlap", "cuda/kernels/list.cuh int32_t *row_entries(", "i * a.list.row_stride", "(i > 0 ? i - 1 : 0) * a.list.row_stride",
           tests(f"{CELLS} neighbor.order={order}"))
COUNT = "cuda/kernels/count.cuh void count_entries("
mutant("count: the largest row of another block", COUNT, "largest = max(largest, a.list.counts[i]);", "if (i > 0) largest = max(1, a.list.counts[1]);",
       rows(CELLS, BOTH))
mutant("count: the last row is left out", NEIGHBOR + " k_neighbor_count(", "a.list.n_rows", "a.list.n_rows - 1", rows(CELLS, BOTH))
mutant("count: the last thread is left out", COUNT, "i < end;", "i < end && threadIdx.x != MD_BLOCK - 1;", rows(CELLS, BOTH))
mutant("count: no barrier", COUNT, "__syncthreads(); /* all warps", "/* all warps",
       rows(CELLS, BOTH), rows(CELLS, BOTH, 11), rows(CELLS, BOTH, 12), race(CELLS))
mutant("count: the last warp is left out", COUNT, "warp < n_warps;", "warp < n_warps - 1;", rows(CELLS, BOTH))
mutant("count: one step too few", COUNT, "distance > 0;", "distance > 1;", rows(CELLS, BOTH))
BOOK = "cuda/kernels/count.cuh void book_entries("
mutant("count: a full list goes unseen", BOOK, "largest > a.list.capacity", "false", FULL)
mutant("count: a full list goes on", BOOK, "set_stop_flag(a, CUDA_STOPPED_FULL);", "{}", FULL)
mutant("stop flag: the kernels behind it go on", COMMON + " void set_stop_flag(", "a.status->stopped = why;", "", FULL)
mutant("stop flag: does not tell the host", COMMON + " void set_stop_flag(", "*(volatile unsigned long long *)&a.host_status->stopped = CUDA_STOP_WORD(why, a.status->step);", "", FULL)
mutant("stop flag: at no step", COMMON + " void set_stop_flag(", "CUDA_STOP_WORD(why, a.status->step);", "why;", rows(DEVICE, IN_MOTION))
mutant("wrap: a stopped device stays so", SORT + " k_sort_wrap(", "a.status->stopped = 0;", ";", rows(DEVICE, IN_MOTION))
mutant("count: plain addition", BOOK, "atomicAdd(&a.status->measures.entries, entries);", "a.status->measures.entries += entries;", on_gpu(rows(CELLS, BOTH)))
SORTED_ROWS = CELLS + " neighbor.sorted=on"
ASCENDING = SORTED_ROWS + " memory.sort=none"
mutant("sorted rows: the last merge is left out", SORTED + " void sort_by_warp(", "half < n;", "2 * half < n;", rows(ASCENDING))
mutant("sorted rows: the other way", SORTED + " void sort_by_warp(", "if (second < first)", "if (first < second)", rows(ASCENDING))
mutant("sorted rows: no step from opposite ends", SORTED + " void sort_by_warp(", "opposite = distance == half;", "opposite = false;", rows(ASCENDING))
mutant("sorted rows: no barrier", SORTED + " void sort_by_warp(", "__syncwarp(); /* the step", "/* the step", rows(ASCENDING), rows(ASCENDING, seed=11), race(SORTED_ROWS))
mutant("sorted rows: the last entry is lost", NEIGHBOR + " k_neighbor_sort_rows(", "k < n; k += 32) row.set", "k < n - 1; k += 32) row.set", rows(ASCENDING, seed=0),
       tests(SORTED_ROWS))
mutant("sorted rows: the last row is left out", NEIGHBOR + " k_neighbor_sort_rows(", "i >= own_atoms(a) ||", "i >= own_atoms(a) - 1 ||", rows(ASCENDING))
