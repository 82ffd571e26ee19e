"""Pair forces, but those of bricks. See killers.py."""
from .killers import *  # the words of the table

# --- force -------------------------------------------------------------------------------------------------------------

PAIR, FORCES, ENERGIES = "cuda/kernels/pair.cuh", "cuda/kernels/pair.cuh struct Forces ", "cuda/kernels/pair.cuh struct ForcesAndEnergies "
for kind, switch in (("branch", "force.cutoff_test=branch"), ("select", "force.cutoff_test=select")):
    mutant(f"add_pair {kind}: no cutoff", PAIR + " void add_pair_at(", "counts && r_sq < pair->cutoff_sq", "counts",
           tests(f"{LIST} {switch}"))
mutant("add_pair: itself counts", PAIR + " void add_pair_at(", "counts && r_sq <", "r_sq <", tests("force.kernel=pairs"))
mutant("add_pair: wrong sign", FORCES, "force->y += f * d.y;", "force->y -= f * d.y;", tests(LIST))
mutant("add_pair: z does not count", FORCES, "if (MD_DIMENSION == 3) force->z", "if (false) force->z", tests(LIST))
mutant("add_pair select: force beyond the cutoff", FORCES, "if (is_branching || inside) {", "if (true) {",
       tests(LIST + " force.cutoff_test=select"))
mutant("add_pair: energy without shift", ENERGIES, "md_pair_energy_at(pair, r_sq, MD_SHIFT)", "md_pair_energy_at(pair, r_sq, MD_SHIFT_ENERGY)",
       tests(LIST, "3-D uneven, shift force"))
mutant("add_pair: force without shift", FORCES, "md_pair_force_at(pair, r_sq, MD_SHIFT)", "md_pair_force_at(pair, r_sq, MD_SHIFT_NONE)",
       tests(LIST, "3-D uneven, shift force"))
mutant("add_pair: energy negated", ENERGIES, "md_pair_energy_at(pair,", "-md_pair_energy_at(pair,", tests(LIST))
mutant("add_pair: no truncation", ENERGIES, "(double)pair->truncation", "0.0", tests(LIST, "3-D"))
mutant("add_pair: virial without r", ENERGIES, "(double)((has_common_factor ? f * pair->p[0] : f) * r_sq)", "(double)f", tests(LIST))
mutant("add_pair: the virial without the factor", ENERGIES, "has_common_factor ? f * pair->p[0] : f", "f", tests(LIST, "3-D"))
mutant("whole_force: without the factor", FORCES, "if constexpr (has_common_factor)", "if constexpr (false)", tests(LIST, "3-D"))
mutant("whole_force: z without the factor", FORCES, "factor * sum.z", "sum.z", tests(LIST, "3-D"))
mutant("whole_force: the factor twice", PAIR, "MD_N_TYPES == 1 && !MD_SHIFTS_FORCE(MD_SHIFT) && !is_half", "MD_N_TYPES == 1 && !is_half", tests(LIST, "3-D uneven, shift force"))
mutant("whole_force: half lists without the factor", PAIR, "MD_N_TYPES == 1 && !MD_SHIFTS_FORCE(MD_SHIFT) && !is_half", "MD_N_TYPES == 1 && !MD_SHIFTS_FORCE(MD_SHIFT)", tests(LIST + " neighbor.list=half", "3-D"))
for kernel, file, function in (("pairs", "pairs", "force_block_pairs"), ("pairs-tiled", "pairs", "force_block_tiled"), ("cell", "cell", "force_block_cell"),
                               ("cluster", "cluster", "force_block_cluster"), ("list", "list", "force_block_list")):
    mutant(f"force {kernel}: the factor is left out", f"cuda/kernels/force_{file}.cuh void {function}(", "visitor.whole(pairs, sum)", "sum",
           tests(f"force.kernel={kernel}", "3-D"))
mutant("force brick: the factor is left out", "cuda/kernels/bricks/force.cuh", "visitor.whole(pairs, sum)", "sum", tests("force.kernel=brick memory.sort=brick", "3-D"))
mutant("add_pair: pairs not counted", ENERGIES, "add(sums[CUDA_PAIRS], 1);", "", tests(LIST))
TENSOR, WITH_TENSOR = "cuda/kernels/tensor.cuh struct RowTensor ", "3-D mixed boundary, 2 types"
mutant("tensor: a component of other axes", TENSOR, "part[MD_XZ] += fx * d.z;", "part[MD_XZ] += fy * d.z;", tests(LIST, WITH_TENSOR))
mutant("tensor: xy and xz swapped", TENSOR, "sums[CUDA_VIRIAL_TENSOR + k]", "sums[CUDA_VIRIAL_TENSOR + (k == MD_XY ? MD_XZ : k == MD_XZ ? MD_XY : k)]", tests(LIST, WITH_TENSOR))
mutant("tensor: without the factor", TENSOR, "(double)(factor * part[k])", "(double)part[k]", tests(LIST, "2-D uneven"))
mutant("tensor: the row before counts again", TENSOR, "part[k] = 0;", "", tests(OF_BRICK + " launch.block_size=64", "3-D uneven, shift force"))
mutant("tensor: pairs counted twice", "cuda/kernels/force.cu k_force_energy(", "q < pair_totals", "q < CUDA_VIRIAL_TENSOR", tests(LIST, WITH_TENSOR))
mutant("tensor: half lists halved", "cuda/kernels/force.cu k_force_energy(", "if constexpr (has_both_directions)", "if constexpr (true)", tests(LIST + " neighbor.list=half", WITH_TENSOR))
mutant("tensor cluster: of lanes with a row alone", "cuda/kernels/force_cluster.cuh void force_block_cluster(", "sum = visitor.whole(", "if (lane < CUDA_CLUSTER) sum = visitor.whole(",
       tests("force.kernel=cluster", WITH_TENSOR))
mutant("tensor: kinetic xz of other axes", "cuda/kernels/reduce.cu k_reduce_sums(", "mass * vx * vz", "mass * vy * vz", tests(LIST, WITH_TENSOR))
mutant("tensor: parts beyond a block stay behind", "cuda/kernels/reduce.cu k_reduce_seal(", "if constexpr (n > 32)", "if constexpr (false)",
       tests(LIST + " reduce.accumulate=reproducible launch.block_size=32", WITH_TENSOR))
HALF = LIST + " neighbor.list=half"
mutant("half: same sign on the other atom", FORCES, "Vec3<Pair>{-f * d.x", "Vec3<Pair>{f * d.x", tests(HALF))
mutant("half: the other atom gets nothing", FORCES, "if (is_half && inside) add_force", "if (false) add_force", tests(HALF))
mutant("half: own row is written, not added", FORCES, "if constexpr (forces_add) add_force(a, i, force);",
       "if constexpr (is_summed_in_memory) add_force(a, i, force);", tests(HALF))
for layout in LAYOUTS:
    mutant(f"add_force {layout}: wrong place", PAIR + " void add_force(", "is_aos ? 3 * i : is_vec4 ? 4 * i : i",
           "(is_aos ? 3 * i : is_vec4 ? 4 * i : i) + 1", tests(f"{HALF} memory.layout={layout}"))
mutant("add_force: plain additions", PAIR + " void add_force(", "atomicAdd(x, f.x);", PLAIN + "x, f.x);", on_gpu(tests(HALF)))
mutant("add_force: z is lost", PAIR + " void add_force(", "if (MD_DIMENSION == 3) atomicAdd", "if (false) atomicAdd", tests(HALF))
for where in ("global", "argument", "constant"):
    mutant(f"parameters {where}: of one type", "cuda/kernels/" + ("pair.cuh"), {
        "global": "#define MD_PAIR_TABLE      ((const PairParameters *)a.pairs)",
        "argument": "#define MD_PAIR_TABLE      table.pair",
        "constant": "#define MD_PAIR_TABLE      c_pair_table.pair"}[where], {
            "global": "#define MD_PAIR_TABLE      ((const PairParameters *)a.pairs + 1)",
            "argument": "#define MD_PAIR_TABLE      (table.pair + 1)",
            "constant": "#define MD_PAIR_TABLE      (c_pair_table.pair + 1)"}[where],
           tests(f"{LIST} memory.parameters={where}"))

PAIRS = "cuda/kernels/force_pairs.cuh"
mutant("force pairs: the last atom is left out", PAIRS + " void force_block_pairs(", "j < stored_atoms(a);", "j < stored_atoms(a) - 1;", tests("force.kernel=pairs"))
mutant("force pairs: the last row is left out", PAIRS + " void force_block_pairs(", "if (i >= own_atoms(a)) return;", "if (i >= own_atoms(a) - 1) return;",
       tests("force.kernel=pairs"))
mutant("force pairs: the row of another type", PAIRS + " void force_block_pairs(", "own.type * MD_N_TYPES", "0", tests("force.kernel=pairs"))
TILED = "force.kernel=pairs-tiled"
mutant("force pairs-tiled: the last tile is left out", PAIRS + " void force_block_tiled(", "first < stored_atoms(a);", "first + MD_BLOCK < stored_atoms(a);", tests(TILED))
mutant("force pairs-tiled: the last of a tile is left out", PAIRS + " void force_block_tiled(", "k < size;", "k < size - 1;", tests(TILED))
mutant("force pairs-tiled: itself counts", PAIRS + " void force_block_tiled(", "first + k != i", "true", tests(TILED))
mutant("force pairs-tiled: the last tile is full", PAIRS + " void force_block_tiled(", "min(MD_BLOCK, stored_atoms(a) - first)", "MD_BLOCK", tests(TILED))
mutant("force pairs-tiled: no barrier before a tile", PAIRS + " void force_block_tiled(", "__syncthreads(); /* the tile before", "/* the tile before",
       barrier(TILED))
mutant("force pairs-tiled: no barrier after a tile", PAIRS + " void force_block_tiled(", "__syncthreads(); /* this tile", "/* this tile", barrier(TILED))

ROWS = "cuda/kernels/force_list.cuh"
mutant("force list: the last pair of a row is left out", ROWS + " void force_block_list(", "k < count;", "k < count - 1;", tests(LIST), tests(HALF))
mutant("force list: the last row is left out", ROWS + " void force_block_list(", "if (i < own_atoms(a)) {", "if (i < own_atoms(a) - 1) {", tests(LIST))
mutant("force list: the row of another type", ROWS + " void force_block_list(", "own.type * MD_N_TYPES", "0", tests(LIST))
mutant("force list: the last row is not stored", ROWS + " void force_block_list(", "|| i >= own_atoms(a)) return;", "|| i >= own_atoms(a) - 1) return;", tests(LIST))
for sums in ("atomic", "shared", "shuffle"):
    split = SPLIT + sums
    mutant(f"force list-split {sums}: each thread skips its last", ROWS + " void force_block_list(", "k < count;", "k < count - threads_per_atom;", tests(split))
    mutant(f"force list-split {sums}: threads walk the same", ROWS + " void force_block_list(", "k = (int)threadIdx.x % threads_per_atom;", "k = 0;", tests(split))
    mutant(f"force list-split {sums}: rows of the next block", ROWS + " void force_block_list(", "block * (MD_BLOCK / threads_per_atom)", "block * MD_BLOCK", tests(split))
mutant("sum_row shared: one part too few", ROWS + " bool sum_row(", "k < threads_per_atom;", "k < threads_per_atom - 1;", tests(SPLIT + "shared"))
mutant("sum_row shared: z is lost", ROWS + " bool sum_row(", "*sum += s_part[t + k];", "sum->x += s_part[t + k].x, sum->y += s_part[t + k].y;", tests(SPLIT + "shared"))
mutant("sum_row shared: no barrier", ROWS + " bool sum_row(", "__syncthreads(); /* all parts", "/* all parts", barrier(SPLIT + "shared launch.block_size=256"))
for kernel, switches in (("list-split", SPLIT + "shuffle"), ("brick", SHARED_ROWS)):
    mutant(f"add up row, {kernel}: one step too few", ADD_UP, "distance = threads_per_atom / 2;", "distance = threads_per_atom / 4;", tests(switches))
    mutant(f"add up row, {kernel}: z is lost", PAIR + " void add_lane(Vec3", "if (MD_DIMENSION == 3) add_lane", "if (false) add_lane", tests(switches))
mutant("sum_row atomic: stored, not added", FORCES, "if constexpr (forces_add) add_force(a, i, force);",
       "if constexpr (is_half) add_force(a, i, force);", tests(SPLIT + "atomic"))

BLOCKS, OF_CELLS = "cuda/kernels/force_cell.cuh", "force.kernel=cell"
mutant("force cell: the last atom of a cell is left out", BLOCKS + " void add_cell(", "k < size;", "k < size - 1;", tests(OF_CELLS))
mutant("force cell: itself counts", BLOCKS + " void add_cell(", "counts && first + k != i", "counts", tests(OF_CELLS))
mutant("force cell: crowds end at a warp", BLOCKS + " void add_cell(", "first < end;", "first < min(end, begin + 16);", tests(OF_CELLS, "3-D|3-D uneven, shift force"))
mutant("force cell: no barrier before the stage is used again", BLOCKS + " void add_cell(", "__syncwarp(); /* the atoms before", "/* the atoms before", barrier(OF_CELLS))
mutant("force cell: no barrier", BLOCKS + " void add_cell(", "__syncwarp(); /* these", "/* these", barrier(OF_CELLS))
mutant("force cell: warps share a stage", BLOCKS + " void force_block_cell(", "s_atoms + 32 * warp", "s_atoms", barrier(OF_CELLS + " launch.block_size=128"))
mutant("force cell: the last cell is left out", BLOCKS + " void force_block_cell(", "c >= grid.n[0] * grid.n[1] * grid.n[2]", "c >= grid.n[0] * grid.n[1] * grid.n[2] - 1",
       tests(OF_CELLS))
mutant("force cell: the row of another type", BLOCKS + " void force_block_cell(", "own.type * MD_N_TYPES", "0", tests(OF_CELLS))
CLUSTER, OF_CLUSTERS = "cuda/kernels/force_cluster.cuh", "force.kernel=cluster"
mutant("force cluster: the last cluster of a row is left out", CLUSTER + " void force_block_cluster(", "k < count;", "k < count - 1;", tests(OF_CLUSTERS))
mutant("force cluster: one turn", CLUSTER + " void force_block_cluster(", "turn < CUDA_CLUSTER;", "turn < cluster_lanes;", tests(OF_CLUSTERS))
mutant("force cluster: the last row is left out", CLUSTER + " void force_block_cluster(", "c >= a.list.n_rows", "c >= a.list.n_rows - 1", tests(OF_CLUSTERS))
mutant("force cluster: padding counts", CLUSTER + " void force_block_cluster(", "j <= last && ", "", tests(OF_CLUSTERS))
mutant("force cluster: itself counts", CLUSTER + " void force_block_cluster(", "j <= last && j != i", "j <= last", tests(OF_CLUSTERS))
mutant("force cluster: lanes are not all added", CLUSTER + " void force_block_cluster(", "distance < 32;", "distance < 16;", tests(OF_CLUSTERS))
mutant("force cluster: z is lost", CLUSTER + " void force_block_cluster(", "add_lane(&sum, distance);", "add_lane(&sum.x, distance), add_lane(&sum.y, distance);", tests(OF_CLUSTERS))
ROWS_OF_CLUSTERS = "cuda/kernels/cluster.cuh"
mutant("clusters: twice in a row", ROWS_OF_CLUSTERS + " bool is_listed(", "return __any_sync(whole_warp, found);", "return false && __any_sync(whole_warp, found);", tests(OF_CLUSTERS))
mutant("clusters: one turn", ROWS_OF_CLUSTERS + " bool is_near(", "turn < CUDA_CLUSTER;", "turn < 32 / CUDA_CLUSTER;", tests(OF_CLUSTERS))
mutant("clusters: a lane decides", ROWS_OF_CLUSTERS + " bool is_near(", "return __any_sync(whole_warp, near);", "return __all_sync(whole_warp, near);", tests(OF_CLUSTERS))
mutant("clusters: the last one of a cell is left out", ROWS_OF_CLUSTERS + " void add_clusters(", "j <= (end - 1) / CUDA_CLUSTER", "j < (end - 1) / CUDA_CLUSTER", tests(OF_CLUSTERS))
mutant("clusters: past the capacity", ROWS_OF_CLUSTERS + " void add_clusters(", " && *count < a.list.capacity", "", held(OF_CLUSTERS))
mutant("clusters: no barrier after an entry", ROWS_OF_CLUSTERS + " void add_clusters(", "__syncwarp(); /* the entry", "/* the entry", tests(OF_CLUSTERS, seed=11),
       tests(OF_CLUSTERS, seed=12), tests(OF_CLUSTERS, seed=13))  # memory: racecheck does not look, and a GPU's warps stay together
mutant("clusters: around the first particle only", ROWS_OF_CLUSTERS + " void search_clusters(", "k < size;", "k < 1;", tests(OF_CLUSTERS))
mutant("clusters: the last row is left out", ROWS_OF_CLUSTERS + " void search_clusters(", "c >= a.list.n_rows", "c >= a.list.n_rows - 1", tests(OF_CLUSTERS))

FORCE = "cuda/kernels/force.cu"
mutant("force energy: pairs counted twice", FORCE + " k_force_energy(", "halve(sums[q]);", "(void)0;", tests(LIST))
mutant("force energy: half lists halved", FORCE + " k_force_energy(", "if constexpr (has_both_directions)", "if constexpr (true)", tests(HALF))
mutant("force energy: forces are not stored", FORCE + " k_force_energy(", "force_block(a, MD_PAIR_TABLE, block, energies);",
       "if (blockIdx.x + 1 < gridDim.x) force_block(a, MD_PAIR_TABLE, block, energies);", tests(LIST))
mutant("force energy: a brick a block", FORCE + " k_force_energy(", "block < n_blocks;", "block < min(n_blocks, (int)gridDim.x);", tests(BRICK + " memory.brick_cells=1", MANY))
mutant("force plain: the last block is left out", FORCE + " k_force_plain(", "force_block(a,",
       "if (blockIdx.x + 1 < gridDim.x) force_block(a,",
       tests(LIST + " launch.persistent=off launch.graph=off"))
BEGIN = "cuda/kernels/force.cuh bool force_begin("
mutant("force_begin: never stops", "cuda/kernels/stale.cuh bool is_too_old(", "> a.stale_sq", "> 4 * a.stale_sq", rows(DEVICE, IN_MOTION))
mutant("force: a full list is walked", "cuda/kernels/force.cu k_force_plain(", "if (was_stopped(a, &a.status->measures.moved_sq)) return;", "", emulated(FULL))
mutant("force_begin: the device goes on", BEGIN, "if (stops) set_stop_flag(a, CUDA_STOPPED_STALE);", "", rows(DEVICE, IN_MOTION))
mutant("force_begin: steps are not counted", BEGIN, "a.status->step += 1;", "", rows(DEVICE, IN_MOTION), tests(DEVICE))
mutant("force_begin: a step is counted again", BEGIN, "a.status->drifted = 0;", "", UNFORESEEN)
