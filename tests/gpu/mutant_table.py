"""The mutants: what is broken, where, and which tests are to notice.

A row: name; file and, after a blank, text from the first line of the function; what stands there exactly once; what takes its
place; killers, in the order in which they are tried. What would only change the speed does not belong here, nor does what
changes nothing that anybody could see.

tests(...)     tests/physics/test_backends: forces, sums, motion and gathering, in the combination nearest to the defaults
               that has these switches
rows(...)      tests/neighbor/test_rows: lists as sets, regrown from an overflow, in motion
bits(...)      tests/physics/test_dynamics: the same bits when run again
held(...)      tests/neighbor/test_memory: what stands in the memory of the GPU after a build
overlap(...)   tests/pipeline/test_overlap: rows and frames beside the steps, as the steps are issued there
FAULTS         of atoms that are too fast, with the defaults
FULL           a list that fills up while the host goes on
AGAIN          a list that a restart makes again
UNFORESEEN     a list that fails in the middle of a batch of steps
race(...)      racecheck of compute-sanitizer on a run of mdmini with these words: on a GPU, for shared memory
"""
from typing import NamedTuple


class Killer(NamedTuple):
    name: str
    program: str
    environment: tuple = ()
    words: tuple = ()
    only: str = ""  # "gpu" or "emulated"


class Mutant(NamedTuple):
    name: str
    file: str
    head: str
    old: tuple  # of texts, each once in its function
    new: tuple
    killers: tuple


def narrowed(program, switches, systems, seed):
    environment = (("MDMINI_TEST_ONLY", switches), ("MDMINI_TEST_SYSTEM", systems))
    if seed:
        environment += (("MDMINI_EMULATOR_SEED", str(seed)),)
    name = f"{program} ({switches})" if switches else program
    return Killer(name + (f", seed {seed}" if seed else ""), program, environment, only="emulated" if seed else "")


BOTH = "3-D mixed boundary, 2 types|2-D uneven"
IN_MOTION = "one moves|2-D in motion|3-D in motion"


def tests(switches="", systems=BOTH, seed=0):
    return narrowed("test_backends", switches, systems, seed)


def rows(switches="", systems=BOTH + "|" + IN_MOTION, seed=0):
    return narrowed("test_rows", switches, systems, seed)


def held(switches="", systems="3-D dilute, many cells|2-D dilute, many cells"):
    return narrowed("test_memory", switches, systems, 0)


def bits(switches=""):
    return narrowed("test_dynamics", switches, "bits", 0)


def overlap(mode):
    return Killer(f"test_overlap ({mode})", "test_overlap", (("MDMINI_TEST_MODE", mode),))


STEPWISE, BY_GRAPH = "device-check, step by step", "device-check, graph"


def on_gpu(killer):
    """Where threads run at the same time: those of the emulator stop at barriers only."""
    return killer._replace(only="gpu")


FAULTS = Killer("test_dynamics (faults)", "test_dynamics", (("MDMINI_TEST_SYSTEM", "faults"),))
COUNTED = Killer("test_cuda (melt)", "test_cuda", (("MDMINI_TEST_SYSTEM", "melt"),))
FULL = Killer("test_cuda (full)", "test_cuda", (("MDMINI_TEST_SYSTEM", "full"),))
AGAIN = Killer("test_state", "test_state", (("MDMINI_TEST_ONLY", "neighbor.search=cell force.kernel=list"),))
UNFORESEEN = Killer("test_cuda (unforeseen)", "test_cuda", (("MDMINI_TEST_SYSTEM", "unforeseen"),))
DECK = ("system.density=0.8442", "run.steps=24", "output.thermo_every=8", "output.frames_every=12")


def race(switches, cells=6):
    """cells: along an edge, of an fcc crystal."""
    return Killer(f"racecheck ({switches})", "racecheck", words=DECK + (f"system.cells={cells}",) + tuple(switches.split()))


def barrier(switches, systems=BOTH, cells=6):
    """Killers of a missing barrier: the emulator runs threads in an order that a seed gives. cells: of racecheck, on a GPU."""
    return (tests(switches, systems), *(tests(switches, systems, seed) for seed in (11, 12, 13)), race(switches, cells))


# Makes the first warp late: without the barrier that should wait for it, others overtake it, on a GPU as well.
LATE = "if (threadIdx.x < 32) __nanosleep(20000);"

# In place of "atomicAdd(": what another thread adds in between is lost.
PLAIN = "[](auto *at, auto by) { const auto old = *at; *at = old + by; return old; }("

MUTANTS = []


def mutant(name, place, old, new, *killers):
    file, _, head = place.partition(" ")
    flat = sum(((k,) if isinstance(k, Killer) else tuple(k) for k in killers), ())
    old, new = ((text,) if isinstance(text, str) else text for text in (old, new))
    MUTANTS.append(Mutant(name, file, head, old, new, flat))

# --- positions, layouts, box ------------------------------------------------------------------------------------------

COMMON = "cuda/kernels/common.cuh"
LAYOUTS = ("aos", "soa", "vec4")
for layout, old, new in (("aos", "return Vec3<T>{xyz[0], xyz[1], xyz[2]};", "return Vec3<T>{xyz[0], xyz[1], xyz[1]};"),
                         ("soa", "((const T *)v.part[2])[i]}", "((const T *)v.part[1])[i]}"),
                         ("vec4", "return Vec3<T>{x.x, x.y, x.z};", "return Vec3<T>{x.x, x.x, x.z};")):
    mutant(f"load {layout}: one component for another", COMMON + " Vec3<T> load(", old, new,
           tests(f"memory.layout={layout}"))
mutant("dependent: no kernel waits", COMMON + " void begin_kernel(", "ptx_griddepcontrol_wait();", "", tests("launch.dependent=on", seed=11))
mutant("store aos: z is lost", COMMON + " void store(", "xyz[2] = x.z;", "", tests("memory.layout=aos"))
mutant("store soa: z is lost", COMMON + " void store(", "((T *)v.part[2])[i] = x.z;", "", tests("memory.layout=soa"))
mutant("store vec4: the fourth is lost", COMMON + " void store(", "x.z, w}", "x.z, T(0)}", tests("memory.layout=vec4"))
mutant("load_full: the fourth of another", COMMON + " Full<T> load_full(", "x.z}, x.w}", "x.z}, x.z}", tests("memory.layout=vec4"))
mutant("load_type vec4: always 0", COMMON + " int load_type(", "return type_of(((const Vec4<Pair> *)p.position.part[0])[i + from].w);",
       "return 0;", tests("memory.layout=vec4"))
MIXED = "run.precision=mixed "
mutant("store_position: nothing is written", COMMON + " Vec3<Pair> store_position(", "store<Pair>(p.position, i + to, seen, word_bits(word));", "", tests(MIXED))
mutant("store_position: low bits of another axis", COMMON + " Vec3<Pair> store_position(", "low[2] << 2", "low[1] << 2", held(MIXED))
mutant("store_position: no low bits but with vec4", COMMON + " Vec3<Pair> store_position(", "p.low[i] = word;", "", held(MIXED + "memory.layout=soa"))
mutant("store_position: the type below the low bits", COMMON, "(unsigned)type << type_shift", "(unsigned)type", held(MIXED), tests(MIXED))
mutant("storable: cut off", COMMON + " State storable(", "+ (1ll << (dropped_bits - 1))", "", held(MIXED, "3-D uneven, near bits"))
mutant("storable: the rest is kept", COMMON + " State storable(", "& ~((1ll << dropped_bits) - 1)", "",
       bits(MIXED + "force.kernel=brick launch.fuse=step launch.persistent=on"))
mutant("storable: small numbers stay", COMMON + " State storable(", "is_small ? 0.0 : ", "", held(MIXED, "3-D uneven, near bits"))
mutant("split: not the nearest float", COMMON + " Pair split(", "__double_as_longlong(x) + low_half", "__double_as_longlong(x)", held(MIXED))
mutant("join: from the float on", COMMON + " double join(", " - low_half", "", held(MIXED), tests(MIXED))
mutant("join: low bits of x for y", COMMON + " Vec3<State> join(", "word >> CUDA_LOW_BITS)", "word)", held(MIXED), tests(MIXED))
mutant("copy_seen: the word stays behind", COMMON + " Vec3<Pair> copy_seen(", "position.part[0])[j].w", "position.part[0])[i].w", held(MIXED), tests(MIXED))
mutant("reorder: low bits stay behind", "cuda/kernels/sort.cu put_into_slot(", "a.now.low[i]", "a.now.low[slot]", held(MIXED + "memory.layout=aos memory.sort=cell"))
for axis, letter in enumerate("xyz"):
    mutant(f"separation: no image along {letter}", COMMON + " Vec3<Pair> separation(",
           f"if (MD_PERIODIC_{letter.upper()}) ", "if (false) ",
           tests("neighbor.search=brute force.kernel=list", "3-D"))
mutant("separation: z does not count", COMMON + " Vec3<Pair> separation(", "x.z - y.z : Pair(0)", "Pair(0) : Pair(0)",
       tests("neighbor.search=brute"))
mutant("squared: minus", COMMON + " Pair squared(", "d.x * d.x + d.y * d.y + d.z * d.z", "d.x * d.x + d.y * d.y - d.z * d.z", tests())
mutant("wrap: off by an image", COMMON + " auto wrap(", "*image += (int32_t)boxes;", "*image += (int32_t)boxes + 1;", tests())
mutant("wrap: the image counter stays", COMMON + " auto wrap(", "*image += (int32_t)boxes;", "", tests())
mutant("wrap: the image counter goes the other way", COMMON + " auto wrap(", "*image += (int32_t)boxes;", "*image -= (int32_t)boxes;", tests())
mutant("wrap: the upper face stays outside", COMMON + " auto wrap(", "if ((double)wrapped >= length)", "if (false)",
       tests("run.precision=single", "3-D"), held("run.precision=mixed", "3-D uneven, near bits"))
mutant("wrap: the other way", COMMON + " auto wrap(", "round(x - boxes * length)", "round(x + boxes * length)", tests(), rows())

POSITION = "cuda/kernels/position.cuh"
mutant("texture double vec4: zw from xy", POSITION + " Vec4<Pair> fetch_vec4(", "(int)(2 * i + 1)", "(int)(2 * i)",
       tests("memory.load=texture memory.layout=vec4 run.precision=double"))
mutant("texture double: halves swapped", POSITION + " Pair texel(", "__hiloint2double(halves.y, halves.x)",
       "__hiloint2double(halves.x, halves.y)", tests("memory.load=texture memory.layout=soa run.precision=double"))
mutant("texture vec4: y for x", POSITION + " Vec4<Pair> fetch_vec4(",
       "const float4 x = tex1Dfetch<float4>(p.texture[0], (int)i);\n        return Vec4<Pair>{(Pair)x.x",
       "const float4 x = tex1Dfetch<float4>(p.texture[0], (int)i);\n        return Vec4<Pair>{(Pair)x.y",
       tests("memory.load=texture memory.layout=vec4 run.precision=single"))
mutant("texture aos: y for z", POSITION + " Atom fetch_atom(", "texel(p.texture[0], at + 2)", "texel(p.texture[0], at + 1)",
       tests("memory.load=texture memory.layout=aos"))
mutant("texture soa: y for z", POSITION + " Atom fetch_atom(", "texel(p.texture[2], at)", "texel(p.texture[1], at)",
       tests("memory.load=texture memory.layout=soa"))
for load in ("global", "ldg"):
    mutant(f"fetch {load}: the next one", POSITION + " T fetch(",
           "return __ldg(array + i);" if load == "ldg" else "return array[i];",
           "return __ldg(array + i + 1);" if load == "ldg" else "return array[i + 1];", tests(f"memory.load={load}"))
mutant("fetch_vec4 double: w from z", POSITION + " Vec4<Pair> fetch_vec4(", "(Pair)zw.x, (Pair)zw.y}", "(Pair)zw.x, (Pair)zw.x}",
       tests("run.precision=double memory.layout=vec4 memory.load=ldg"))
mutant("fetch_atom: every atom is of type 0", POSITION + " Atom fetch_atom(", "MD_N_TYPES == 1 ? 0 : fetch(p.type, i)", "0",
       tests("memory.layout=aos"))
mutant("fetch_atom vec4: every atom is of type 0", POSITION + " Atom fetch_atom(", "MD_N_TYPES == 1 ? 0 : type_of(x.w)", "0",
       tests("memory.layout=vec4"))

# --- sort --------------------------------------------------------------------------------------------------------------

SORT = "cuda/kernels/sort.cu"
CELLS = "neighbor.search=cell force.kernel=list neighbor.threads_per_atom=1"
mutant("sort wrap: x stays outside", SORT + " k_sort_wrap(", "x.x = wrap((double)x.x, a.length[0], a.inverse[0], &tag.ix, round);", "",
       rows(CELLS), tests(CELLS))
mutant("sort wrap: z by the edge of y", SORT + " k_sort_wrap(", "a.length[2]", "a.length[1]", tests(CELLS), rows(CELLS))
mutant("sort wrap: the tag stays", SORT + " k_sort_wrap(", "a.now.tag[i] = tag;", "", tests(CELLS))
mutant("sort wrap: no reference positions", SORT + " k_sort_wrap(", "store<Pair>(a.reference, i, seen, Pair(0));", "",
       tests(CELLS + " memory.sort=none neighbor.rebuild=host-check"), rows(CELLS + " memory.sort=none neighbor.rebuild=host-check"))
mutant("sort wrap: no lateness", SORT + " k_sort_wrap(", "was_too_far(a, i, x)", "false", rows("neighbor.search=cell", "never late|late"))
mutant("sort wrap: lateness of the wrong moment", SORT + " bool was_too_far(", "x.y - time * v.y", "x.y + 9 * time * v.y", rows("neighbor.search=cell", "never late|late"))
mutant("sort wrap: each atom is a late build", SORT + " void book_lateness(", "if (atomicMax(&a.watch->late_build, build) < build) ", "", rows("neighbor.search=cell", "never late|late"))
mutant("sort wrap: the last atom is left out", SORT + " k_sort_wrap(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;",
       held(CELLS + " memory.sort=none"))
mutant("cell_along: next cell", SORT + " int cell_along(", "floor((x - origin) * inverse_edge)", "floor((x - origin) * inverse_edge + 0.5)",
       tests(CELLS), rows(CELLS))
mutant("cell_along: no upper clamp", SORT + " int cell_along(", "(double)(n - 1)", "(double)n",
       rows(CELLS, "2-D, far atoms|3-D, far atoms"), tests(CELLS, "3-D open, 3 types"))
mutant("cell_along: no lower clamp", SORT + " int cell_along(", "fmax(floor((x - origin) * inverse_edge), 0.0)",
       "floor((x - origin) * inverse_edge)", rows(CELLS, "2-D, far atoms|3-D, far atoms"), tests(CELLS, "3-D open, 3 types"))
mutant("sort bin: y and z swapped", SORT + " void count_in_cell(", "(cz * grid.n[1] + cy) * grid.n[0] + cx", "(cy * grid.n[1] + cz) * grid.n[0] + cx",
       tests(CELLS, "3-D uneven, shift force|3-D"))
mutant("sort bin: plain addition", SORT + " void count_in_cell(", "= atomicAdd(", f"= {PLAIN}", on_gpu(tests(CELLS)))
mutant("sort bin: arrival from one", SORT + " void count_in_cell(", ", 1);", ", 1) + 1;", tests(CELLS))
mutant("sort bin: the last atom is left out", SORT + " k_sort_wrap(", "if (a.n > 0) count", "if (a.n > 0 && i + 1 < a.n_atoms) count", tests(CELLS))
mutant("sort bin: makes the same cells again otherwise", SORT + " k_sort_bin(", "load<Pair>(a.now.position, i)", "load<Pair>(a.now.position, 0)", AGAIN)
MANY = "2-D dilute, many cells"
SCAN = CELLS + " launch.block_size=32"
FEW = CELLS + " launch.block_size=64"  # for one block, in several rounds
mutant("block_scan: one round too few", SORT + " int block_scan(", "distance < MD_BLOCK", "distance < MD_BLOCK / 2", tests(SCAN, MANY))
mutant("block_scan: off by a thread", SORT + " int block_scan(", "t >= distance ?", "t > distance ?", tests(SCAN, MANY))
mutant("block_scan: no barrier between rounds", SORT + " int block_scan(", "__syncthreads(); /* the round", "/* the round",
       barrier(CELLS + " launch.block_size=256", MANY))
mutant("scan tiles: sum of another thread", SORT + " k_sort_scan_tiles(", "threadIdx.x == MD_BLOCK - 1", "threadIdx.x == MD_BLOCK - 2", tests(SCAN, MANY))
for some, cells in (("few", (held(FEW, "3-D dilute, many cells"), tests(CELLS, MANY))), ("sums", (tests(SCAN, MANY),))):
    mutant(f"scan {some}: inclusive", SORT + " void scan_by_block(", "next = up_to - sum;", "next = up_to;", *cells)
    mutant(f"scan {some}: neighbours share a place", SORT + " void scan_by_block(", "next += own[k];", "", *cells)
    mutant(f"scan {some}: the last number is left out", SORT + " void scan_by_block(", "if (begin + k < n) v", "if (begin + k < n - 1) v", *cells)
mutant("scan few: rounds forget", SORT + " void scan_by_block(", "before = s_before;", "", held(FEW, "3-D dilute, many cells"))
mutant("scan few: no barrier after the write", SORT + " void scan_by_block(", "        __syncthreads();\n", "", held(FEW, "3-D dilute, many cells"),
       *barrier(CELLS, MANY))
mutant("scan finish: inclusive", SORT + " k_sort_scan_finish(", "+ sum - own", "+ sum", tests(SCAN, MANY))
mutant("scan finish: the last number is left out", SORT + " k_sort_scan_finish(", "if (k < a.n) a", "if (k < a.n - 1) a", tests(SCAN, MANY))
mutant("scatter: does not wait", SORT + " k_sort_scatter(", "begin_kernel();", "", tests(CELLS + " launch.dependent=on", seed=11))
mutant("scatter: without arrival", SORT + " k_sort_scatter(", " + a.arrival[i]]", "]", tests(CELLS))
mutant("rank: the cell's last is not counted", SORT + " k_sort_rank(", "s < end", "s < end - 1", tests(CELLS))
mutant("rank: equal ids", SORT + " k_sort_rank(", "keys[s] < key", "keys[s] <= key", tests(CELLS))
mutant("rank: slots of another cell", SORT + " k_sort_rank(", "a.slot_cell[slot] = c;", "a.slot_cell[slot] = c > 0 ? c - 1 : c;", tests(CELLS))
SORTED = CELLS + " memory.sort=cell"
mutant("rank: order of arrival", SORT + " k_sort_rank(", "slot += keys[s] < key;", "slot += s - begin < a.arrival[i];", bits(SORTED))
mutant("reorder: tags stay behind", SORT + " put_into_slot(", "a.spare.tag[slot] = a.now.tag[i];", "a.spare.tag[slot] = a.now.tag[slot];", tests(SORTED))
mutant("reorder: types stay behind", SORT + " put_into_slot(", "a.spare.type[slot] = a.now.type[i];", "a.spare.type[slot] = a.now.type[slot];",
       tests(SORTED + " memory.layout=soa"))
mutant("reorder: masses stay behind", SORT + " put_into_slot(", "[slot] = v.w;", "[slot] = ((Pair *)a.now.inverse_mass)[slot];",
       tests(SORTED + " memory.layout=soa"))
mutant("reorder: velocities of others", SORT + " put_into_slot(", "load_velocity(a.now, i)", "load_velocity(a.now, slot)", tests(SORTED))
mutant("reorder: no reference positions", SORT + " put_into_slot(", "store<Pair>(a.reference, slot, seen, Pair(0));", ";",
       tests(SORTED + " neighbor.rebuild=host-check"), rows(SORTED + " neighbor.rebuild=host-check"))
mutant("rank: the last atom is left out", SORT + " k_sort_rank(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests(SORTED))

for curve, old, new in (
        ("morton", "return md_curve_morton((uint32_t)x, (uint32_t)y, (uint32_t)z);", "return 0;"),
        ("hilbert", "return md_curve_hilbert(MD_DIMENSION, bits - level, (uint32_t)x, (uint32_t)y, (uint32_t)z);", "return 0;")):
    CURVE = f"{CELLS} memory.sort={curve}"
    mutant(f"curve {curve}: no order", SORT + " uint64_t octant_key(", old, new, tests(CURVE))
    mutant(f"curve {curve}: the first octant is left out", SORT + " k_sort_curve(", "octant = 0;", "octant = 1;", tests(CURVE), held(CURVE))
    mutant(f"curve {curve}: cells in rows", SORT + " k_sort_curve(", "a.cell_place[c] = place;", "a.cell_place[c] = c;", held(CURVE))
    mutant(f"curve {curve}: the last cell is left out", SORT + " k_sort_curve(", "if (c >= a.n) return;", "if (c >= a.n - 1) return;", held(CURVE))
mutant("curve: its own octant counts", SORT + " k_sort_curve(", ">= own) continue;", "> own) continue;", tests(CELLS + " memory.sort=morton"))
mutant("curve: octants reach beyond the grid", SORT + " int octant_cells(", "min(max(n - (o << level), 0), 1 << level)", "1 << level",
       tests(CELLS + " memory.sort=morton"))
mutant("curve hilbert: the last octant is left out", SORT + " k_sort_curve(", "octant < 1 << MD_DIMENSION", "octant < (1 << MD_DIMENSION) - 1",
       held(CELLS + " memory.sort=hilbert"))  # Morton's is never before another
mutant("curve hilbert: of another size", SORT + " uint64_t octant_key(", "bits - level", "bits", held(CELLS + " memory.sort=hilbert"))

# --- lists ---------------------------------------------------------------------------------------------------------------

GRID = "cuda/kernels/cells.cuh"
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
BRUTE, TILES = "neighbor.search=brute force.kernel=list", "neighbor.search=brute-tiled force.kernel=list"
ATOMIC, HALVES, NARROW = " neighbor.write=atomic", " neighbor.list=half", "smallest box 3-D|smallest box 2-D"
mutant("brute: the last atom is left out", NEIGHBOR + " k_neighbor_brute(", "j < a.n_atoms;", "j < a.n_atoms - 1;", tests(BRUTE))
mutant("brute: the last row is left out", NEIGHBOR + " k_neighbor_brute(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests(BRUTE))
mutant("brute-tiled: the last tile is left out", NEIGHBOR + " k_neighbor_brute_tiled(", "first < a.n_atoms;", "first + MD_BLOCK < a.n_atoms;", tests(TILES))
mutant("brute-tiled: the last of a tile is left out", NEIGHBOR + " k_neighbor_brute_tiled(", "k < n;", "k < n - 1;", tests(TILES))
mutant("brute-tiled: the last row is left out", NEIGHBOR + " k_neighbor_brute_tiled(", "own < a.n_atoms;", "own < a.n_atoms - 1;", tests(TILES))
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
mutant("cell search: the last row is left out", NEIGHBOR + " k_neighbor_cell(", "if (slot >= a.n_atoms) return;", "if (slot >= a.n_atoms - 1) return;", tests(CELLS))
mutant("search: range without skin", NEIGHBOR + " void try_pair(", "(Pair)a.range_sq", "(Pair)(a.range_sq * 0.85)", rows(CELLS), tests(CELLS))
mutant("search nonatomic: past the capacity", NEIGHBOR + " void try_pair(", "if (row->count < a.list.capacity) *", "*", held(CELLS + " neighbor.order=row"))
mutant("search nonatomic: counts stop at the capacity", NEIGHBOR + " void try_pair(", "row->count++;", "if (row->count < a.list.capacity) row->count++;",
       held(CELLS))
mutant("search atomic: past the capacity", NEIGHBOR + " void append(", "if (k < a.list.capacity) ", "", held(CELLS + ATOMIC))
mutant("search atomic: a plain addition", NEIGHBOR + " void append(", "atomicAdd(", PLAIN, on_gpu(rows(CELLS + ATOMIC, BOTH)))
mutant("search atomic: the other row gets nothing", NEIGHBOR + " void try_pair(", "append(a, j, theirs);", ";", tests(CELLS + ATOMIC))
mutant("search atomic: each pair twice", NEIGHBOR + " bool tests(", "return i < j;", "return i != j;", tests(CELLS + ATOMIC))
mutant("search: itself", NEIGHBOR + " bool tests(", "else return i != j;", "else return true;", rows(CELLS))
mutant("half: a pair in both rows", NEIGHBOR + " bool tests(", "return i != j && owns(i, j);", "return i != j;", rows(CELLS + HALVES), tests(CELLS + HALVES))
mutant("half atomic: a pair in both rows", NEIGHBOR + " void try_pair(", "if (!is_half || owns(j, row->i))", "if (true)", rows(CELLS + HALVES + ATOMIC))
mutant("half: pairs of equal parity are lost", NEIGHBOR + " bool owns(", "(((i + j) & 1) != 0) == (i < j)", "(((i + j) & 1) != 0) && (i < j)", rows(CELLS + HALVES))
mutant("row ends without a count", NEIGHBOR + " void end_row(", "a.list.counts[row.i] = row.count;", "a.list.counts[row.i] = row.count - 1;", tests(CELLS))
for order in ("row", "column"):
    mutant(f"entries {order}: rows overlap", "cuda/kernels/list.cuh Entry *row_entries(", "i * a.list.row_stride", "(i > 0 ? i - 1 : 0) * a.list.row_stride",
           tests(f"{CELLS} neighbor.order={order}"))
SMALL = CELLS + " memory.sort=cell neighbor.index=16"
CODES = "cuda/kernels/list.cuh"
mutant("index 16: without the cell", CODES + " int entry_atom(", "bases[entry / CUDA_MAX_CROWD]", "bases[13]", tests(SMALL))
mutant("index 16: the place is cut short", CODES + " Entry make_entry(", "(CUDA_MAX_CROWD - 1)", "(8 - 1)", tests(SMALL))
mutant("index 16: bases of another cell", CODES + " const int32_t *row_bases(", "a.slot_cell[i] * CUDA_STENCIL", "a.slot_cell[i] * (CUDA_STENCIL - 1)", tests(SMALL))
mutant("index 16: the way back is the way there", NEIGHBOR + " int step_back(", "? d : -d;", "? d : d;", tests(SMALL + ATOMIC))
mutant("index 16: the way back on a narrow axis", NEIGHBOR + " int step_back(", "grid.n[axis] < 3 ? d : -d;", "grid.n[axis] < 3 ? -d : -d;", tests(SMALL + ATOMIC, NARROW))
mutant("bases: not round the end", NEIGHBOR + " k_neighbor_bases(", "x = wrapped_cell(at.x + dx, grid.n[0])", "x = max(0, min(at.x + dx, grid.n[0] - 1))", tests(SMALL, "3-D"))
mutant("bases: the last cell is left out", NEIGHBOR + " k_neighbor_bases(", "if (c >= a.n) return;", "if (c >= a.n - 1) return;", tests(SMALL))
mutant("bases: z is left out", NEIGHBOR + " k_neighbor_bases(", "dz >= low[2] && dz <= high[2]", "dz == 0", tests(SMALL, "3-D"))
mutant("count: the largest row of another block", NEIGHBOR + " k_neighbor_count(", "largest = max(largest, a.list.counts[i]);", "if (i > 0) largest = max(1, a.list.counts[1]);",
       rows(CELLS, BOTH))
mutant("count: the last atom is left out", NEIGHBOR + " k_neighbor_count(", "i < a.list.n_rows;", "i < a.list.n_rows - 1;", rows(CELLS, BOTH))
mutant("count: no barrier", NEIGHBOR + " k_neighbor_count(", "__syncthreads(); /* all warps", "/* all warps",
       rows(CELLS, BOTH), rows(CELLS, BOTH, 11), rows(CELLS, BOTH, 12), race(CELLS))
mutant("count: the last warp is left out", NEIGHBOR + " k_neighbor_count(", "warp < n_warps;", "warp < n_warps - 1;", rows(CELLS, BOTH))
mutant("count: one step too few", NEIGHBOR + " k_neighbor_count(", "distance > 0;", "distance > 1;", rows(CELLS, BOTH))
mutant("count: a full list goes unseen", NEIGHBOR + " bool is_full(", "largest > a.list.capacity", "false", FULL)
mutant("count: a full list goes on", NEIGHBOR + " k_neighbor_count(", "if (is_full(a, largest)) halt(a, CUDA_HALTED_FULL);", "", FULL)
mutant("halt: the kernels behind it go on", COMMON + " void halt(", "a.watch->halted = why;", "", FULL)
mutant("halt: does not tell the host", COMMON + " void halt(", "*(volatile int *)&a.signals->halted = 1;", "", FULL)
mutant("count: plain addition", NEIGHBOR + " k_neighbor_count(", "atomicAdd(&a.watch->measures.entries, entries);", "a.watch->measures.entries += entries;", on_gpu(rows(CELLS, BOTH)))
SORTED_ROWS = CELLS + " neighbor.sorted=on"
ASCENDING = SORTED_ROWS + " memory.sort=none"
mutant("sorted rows: the last merge is left out", NEIGHBOR + " void sort_by_warp(", "half < n;", "2 * half < n;", rows(ASCENDING))
mutant("sorted rows: the other way", NEIGHBOR + " void sort_by_warp(", "if (second < first)", "if (first < second)", rows(ASCENDING))
mutant("sorted rows: no step from opposite ends", NEIGHBOR + " void sort_by_warp(", "opposite = distance == half;", "opposite = false;", rows(ASCENDING))
mutant("sorted rows: no barrier", NEIGHBOR + " void sort_by_warp(", "__syncwarp(); /* the step", "/* the step", rows(ASCENDING), rows(ASCENDING, seed=11), race(SORTED_ROWS))
mutant("sorted rows: the last entry is lost", NEIGHBOR + " k_neighbor_sort_rows(", "k < n; k += 32) row.set", "k < n - 1; k += 32) row.set", rows(ASCENDING, seed=0),
       tests(SORTED_ROWS))
mutant("sorted rows: the last row is left out", NEIGHBOR + " k_neighbor_sort_rows(", "i >= a.n_atoms ||", "i >= a.n_atoms - 1 ||", rows(ASCENDING))

mutant("sorted rows 16: by the entry", NEIGHBOR + " SortKey sort_key(", "return (int64_t)entry_atom(bases, entry) << 16 | entry;", "return entry;",
       held(SMALL + " neighbor.sorted=on"))

# --- force -------------------------------------------------------------------------------------------------------------

PAIR = "cuda/kernels/pair.cuh"
LIST = "force.kernel=list"
for kind, switch in (("branch", "force.cutoff_test=branch"), ("select", "force.cutoff_test=select")):
    mutant(f"add_pair {kind}: no cutoff", PAIR + " void add_pair_at(", "counts && r_sq < pair->cutoff_sq", "counts",
           tests(f"{LIST} {switch}"))
mutant("add_pair: itself counts", PAIR + " void add_pair_at(", "counts && r_sq <", "r_sq <", tests("force.kernel=pairs"))
mutant("add_pair: wrong sign", PAIR + " void add_pair_at(", "force->y += f * d.y;", "force->y -= f * d.y;", tests(LIST))
mutant("add_pair: z does not count", PAIR + " void add_pair_at(", "if (MD_DIMENSION == 3) force->z", "if (false) force->z", tests(LIST))
mutant("add_pair select: force beyond the cutoff", PAIR + " void add_pair_at(", "if (is_branching || inside) {", "if (true) {",
       tests(LIST + " force.cutoff_test=select"))
mutant("add_pair: energy without shift", PAIR + " void add_pair_at(", "MD_SHIFTED ? md_pair_energy_shifted(pair, r_sq) : ", "",
       tests(LIST, "3-D uneven, shift force"))
mutant("add_pair: force without shift", PAIR + " void add_pair_at(", "? md_pair_force_shifted(pair, r_sq)", "? md_pair_force(pair, r_sq)",
       tests(LIST, "3-D uneven, shift force"))
mutant("add_pair: energy negated", PAIR + " void add_pair_at(", "md_pair_energy_plain(pair, r_sq)", "-md_pair_energy_plain(pair, r_sq)", tests(LIST))
mutant("add_pair: no truncation", PAIR + " void add_pair_at(", "(double)pair->truncation", "0.0", tests(LIST, "3-D"))
mutant("add_pair: virial without r", PAIR + " void add_pair_at(", "(double)((has_common_factor ? f * pair->force_12 : f) * r_sq)", "(double)f", tests(LIST))
mutant("add_pair: the virial without the factor", PAIR + " void add_pair_at(", "has_common_factor ? f * pair->force_12 : f", "f", tests(LIST, "3-D"))
mutant("whole_force: without the factor", PAIR + " Vec3<Pair> whole_force(", "if constexpr (has_common_factor)", "if constexpr (false)", tests(LIST, "3-D"))
mutant("whole_force: z without the factor", PAIR + " Vec3<Pair> whole_force(", "factor * sum.z", "sum.z", tests(LIST, "3-D"))
mutant("whole_force: the factor twice", PAIR, "has_common_factor = MD_N_TYPES == 1 && !MD_SHIFTED && !is_half", "has_common_factor = MD_N_TYPES == 1 && !is_half", tests(LIST, "3-D uneven, shift force"))
mutant("whole_force: half lists without the factor", PAIR, "MD_N_TYPES == 1 && !MD_SHIFTED && !is_half", "MD_N_TYPES == 1 && !MD_SHIFTED", tests(LIST + " neighbor.list=half", "3-D"))
for kernel, file, function in (("pairs", "pairs", "force_block_pairs"), ("pairs-tiled", "pairs", "force_block_tiled"), ("cell", "cell", "force_block_cell"),
                               ("cluster", "cluster", "force_block_cluster"), ("list", "list", "force_block_list")):
    mutant(f"force {kernel}: the factor is left out", f"cuda/kernels/force_{file}.cuh void {function}(", "whole_force(pairs, force)", "force",
           tests(f"force.kernel={kernel}", "3-D"))
mutant("force brick: the factor is left out", "cuda/kernels/force_brick.cuh", "whole_force(pairs, force)", "force", tests("force.kernel=brick memory.sort=brick", "3-D"))
mutant("add_pair: pairs not counted", PAIR + " void add_pair_at(", "add(sums[CUDA_PAIRS], 1);", "", tests(LIST))
HALF = LIST + " neighbor.list=half"
mutant("half: same sign on the other atom", PAIR + " void add_pair_at(", "Vec3<Pair>{-f * d.x", "Vec3<Pair>{f * d.x", tests(HALF))
mutant("half: the other atom gets nothing", PAIR + " void add_pair_at(", "if (is_half && inside) add_force", "if (false) add_force", tests(HALF))
mutant("half: own row is written, not added", PAIR + " void finish_force(", "if constexpr (is_half) add_force(a, i, force);",
       "if constexpr (is_half) store<Pair>(a.now.force, i, force, Pair(0));", tests(HALF))
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
mutant("force pairs: the last atom is left out", PAIRS + " void force_block_pairs(", "j < a.n_atoms;", "j < a.n_atoms - 1;", tests("force.kernel=pairs"))
mutant("force pairs: the last row is left out", PAIRS + " void force_block_pairs(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;",
       tests("force.kernel=pairs"))
mutant("force pairs: the row of another type", PAIRS + " void force_block_pairs(", "own.type * MD_N_TYPES", "0", tests("force.kernel=pairs"))
TILED = "force.kernel=pairs-tiled"
mutant("force pairs-tiled: the last tile is left out", PAIRS + " void force_block_tiled(", "first < a.n_atoms;", "first + MD_BLOCK < a.n_atoms;", tests(TILED))
mutant("force pairs-tiled: the last of a tile is left out", PAIRS + " void force_block_tiled(", "k < size;", "k < size - 1;", tests(TILED))
mutant("force pairs-tiled: itself counts", PAIRS + " void force_block_tiled(", "first + k != i", "true", tests(TILED))
mutant("force pairs-tiled: the last tile is full", PAIRS + " void force_block_tiled(", "min(MD_BLOCK, a.n_atoms - first)", "MD_BLOCK", tests(TILED))
mutant("force pairs-tiled: no barrier before a tile", PAIRS + " void force_block_tiled(", "__syncthreads(); /* the tile before", "/* the tile before",
       barrier(TILED))
mutant("force pairs-tiled: no barrier after a tile", PAIRS + " void force_block_tiled(", "__syncthreads(); /* this tile", "/* this tile", barrier(TILED))

ROWS = "cuda/kernels/force_list.cuh"
mutant("force list: the last pair of a row is left out", ROWS + " void force_block_list(", "k < count;", "k < count - 1;", tests(LIST), tests(HALF))
mutant("force list: the last row is left out", ROWS + " void force_block_list(", "if (i < a.n_atoms) {", "if (i < a.n_atoms - 1) {", tests(LIST))
mutant("force list: the row of another type", ROWS + " void force_block_list(", "own.type * MD_N_TYPES", "0", tests(LIST))
mutant("force list: the last row is not stored", ROWS + " void force_block_list(", "|| i >= a.n_atoms) return;", "|| i >= a.n_atoms - 1) return;", tests(LIST))
for sums in ("atomic", "shared", "shuffle"):
    SPLIT = f"force.kernel=list-split force.threads_per_atom=8 force.partial_sums={sums}"
    mutant(f"force list-split {sums}: each thread skips its last", ROWS + " void force_block_list(", "k < count;", "k < count - row_threads;", tests(SPLIT))
    mutant(f"force list-split {sums}: threads walk the same", ROWS + " void force_block_list(", "k = (int)threadIdx.x % row_threads;", "k = 0;", tests(SPLIT))
    mutant(f"force list-split {sums}: rows of the next block", ROWS + " void force_block_list(", "block * (MD_BLOCK / row_threads)", "block * MD_BLOCK", tests(SPLIT))
SPLIT = "force.kernel=list-split force.threads_per_atom=8 force.partial_sums="
mutant("sum_row shared: one part too few", ROWS + " bool sum_row(", "k < row_threads;", "k < row_threads - 1;", tests(SPLIT + "shared"))
mutant("sum_row shared: z is lost", ROWS + " bool sum_row(", "force->z += s_part[t + k].z;", "", tests(SPLIT + "shared"))
mutant("sum_row shared: no barrier", ROWS + " bool sum_row(", "__syncthreads(); /* all parts", "/* all parts", barrier(SPLIT + "shared launch.block_size=256"))
ADD_UP, SHARED_ROWS = "cuda/kernels/pair.cuh void add_up_row(", "force.kernel=brick memory.sort=brick force.threads_per_atom=4"
for kernel, switches in (("list-split", SPLIT + "shuffle"), ("brick", SHARED_ROWS)):
    mutant(f"add up row, {kernel}: one step too few", ADD_UP, "distance = row_threads / 2;", "distance = row_threads / 4;", tests(switches))
    mutant(f"add up row, {kernel}: z is lost", ADD_UP, "if (MD_DIMENSION == 3) force->z", "if (false) force->z", tests(switches))
mutant("sum_row atomic: stored, not added", ROWS + " void force_block_list(", "if constexpr (is_summed_in_memory) add_force(a, i, force);",
       "if constexpr (is_summed_in_memory) store<Pair>(a.now.force, i, force, Pair(0));", tests(SPLIT + "atomic"))

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
mutant("force cluster: z is lost", CLUSTER + " void force_block_cluster(", "if (MD_DIMENSION == 3) force.z", "if (false) force.z", tests(OF_CLUSTERS))
ROWS_OF_CLUSTERS = "cuda/kernels/cluster.cuh"
mutant("clusters: twice in a row", ROWS_OF_CLUSTERS + " bool is_listed(", "return __any_sync(0xffffffffu, found);", "return false && __any_sync(0xffffffffu, found);", tests(OF_CLUSTERS))
mutant("clusters: one turn", ROWS_OF_CLUSTERS + " bool is_near(", "turn < CUDA_CLUSTER;", "turn < 32 / CUDA_CLUSTER;", tests(OF_CLUSTERS))
mutant("clusters: a lane decides", ROWS_OF_CLUSTERS + " bool is_near(", "return __any_sync(0xffffffffu, near);", "return __all_sync(0xffffffffu, near);", tests(OF_CLUSTERS))
mutant("clusters: the last one of a cell is left out", ROWS_OF_CLUSTERS + " void add_clusters(", "j <= (end - 1) / CUDA_CLUSTER", "j < (end - 1) / CUDA_CLUSTER", tests(OF_CLUSTERS))
mutant("clusters: past the capacity", ROWS_OF_CLUSTERS + " void add_clusters(", " && *count < a.list.capacity", "", held(OF_CLUSTERS))
mutant("clusters: no barrier after an entry", ROWS_OF_CLUSTERS + " void add_clusters(", "__syncwarp(); /* the entry", "/* the entry", tests(OF_CLUSTERS, seed=11),
       tests(OF_CLUSTERS, seed=12), tests(OF_CLUSTERS, seed=13))  # memory: racecheck does not look, and a GPU's warps stay together
mutant("clusters: around the first particle only", ROWS_OF_CLUSTERS + " void search_clusters(", "k < size;", "k < 1;", tests(OF_CLUSTERS))
mutant("clusters: the last row is left out", ROWS_OF_CLUSTERS + " void search_clusters(", "c >= a.list.n_rows", "c >= a.list.n_rows - 1", tests(OF_CLUSTERS))

# Of bricks of two cells along an edge and of more, of blocks that have a round for all rows and of those that have several.
OF_BRICK = "force.kernel=brick memory.sort=brick"
BRICK = OF_BRICK + " neighbor.distances=thread neighbor.bank_order=off"
BRICKS = (tests(BRICK), tests(BRICK + " memory.brick_cells=2"))
ROUNDS = BRICK + " launch.block_size=32 force.threads_per_atom=1"
CROWDS = Killer("test_bricks", "test_bricks")

PLACES = SORT + " int place_in_bricks("
mutant("place in bricks: y and z swapped in a brick", PLACES, "((at.z - low[2]) * size[1] + at.y - low[1])", "((at.y - low[1]) * size[2] + at.z - low[2])",
       held("memory.sort=brick"))
mutant("place in bricks: lines end with their brick", PLACES, "* grid.n[0] + size[2] * size[1] * low[0]", "* size[0] + size[2] * size[1] * low[0]",
       tests(BRICK), held("memory.sort=brick"))
mutant("place in bricks: layers of one cell", PLACES, "size[2] * low[1]", "low[1]", held("memory.sort=brick memory.brick_cells=2"))
mutant("place in bricks: bricks of one line", PLACES, "size[2] * size[1] * low[0]", "size[1] * low[0]", held("memory.sort=brick memory.brick_cells=2"))
mutant("place in bricks: cells in rows", SORT + " k_sort_curve(", "place_in_bricks(a.grid, cell_at(a.grid, c))", "c", held("memory.sort=brick"))
mutant("brick_of: that of the cell before", GRID + " int brick_of(", "((int64_t)c + 1)", "(int64_t)(c > 0 ? c : 1)", held("memory.sort=brick"))
mutant("brick_of: rounded the other way", GRID + " int brick_of(", "(((int64_t)c + 1) * n_bricks - 1) / n", "(int64_t)c * n_bricks / n",
       tests(BRICK), held("memory.sort=brick memory.brick_cells=2"))

STAGED = "cuda/kernels/staged.cuh"
for letter, boxes in (("x", "(image & 3) - 1"), ("y", "(image >> 2 & 3) - 1"), ("z", "(image >> 4 & 3) - 1")):
    mutant(f"staged: the image on the other side along {letter}", STAGED + " Vec3<Pair> shift_of_image(", f"(Pair)({boxes})", f"-(Pair)({boxes})",
           BRICKS)
    mutant(f"staged: another origin along {letter}", STAGED + " Atom staged_particle(", f"{letter} -= origin.{letter};",
           f"{letter} -= particle % 2 ? origin.{letter} : Pair(0);", BRICKS)
mutant("staged: x and y swapped in the image", STAGED + " int image_at(", "(y + 1) << 2 | (x + 1)", "(x + 1) << 2 | (y + 1)", BRICKS)
mutant("staged: the end of a row is an atom of the corner", STAGED + " Atom nowhere(", "Vec3<Pair>{Pair(1e9), Pair(1e9), Pair(1e9)}", "Vec3<Pair>{0, 0, 0}", BRICKS)
mutant("staged: entries without their place", STAGED + " uint64_t staged_entry(", "16 * staged", "16 * staged + 16", BRICKS)
mutant("staged: the place of another", STAGED + " const Atom &staged_at(", "entry * (sizeof(Atom) / 16)", "entry",
       tests(BRICK + " run.precision=double"))
mutant("slices: of one row", STAGED + " uint64_t *brick_quads(", "brick.slice + row / 32", "brick.slice", tests(BRICK + " memory.brick_cells=2"))
mutant("slices: the first one of all bricks", STAGED + " uint64_t *brick_quads(", "(brick.slice + row / 32)", "(row / 32)", BRICKS)
mutant("slices: as long as one quad", STAGED + " uint64_t *brick_quads(", "(a.list.capacity / CUDA_QUAD) * 32", "32", BRICKS)

BRICK_BUILD = "cuda/kernels/brick.cuh"
REGION = BRICK_BUILD + " Region region_of("
mutant("region: without its upper cells", REGION, "end + 1 : end", "end : end", BRICKS)
mutant("region: without its lower cells", REGION, "low - 1 : low", "low : low", BRICKS)
mutant("region: no cells beyond the upper face", REGION, "grid.wraps[k] || end < n", "end < n", BRICKS)
mutant("region: no cells beyond the lower face", REGION, "grid.wraps[k] || low > 0", "low > 0", BRICKS)
mutant("region: cells beyond an open upper face", REGION, "grid.wraps[k] || end < n", "true", CROWDS)
mutant("region: cells beyond an open lower face", REGION, "grid.wraps[k] || low > 0", "true", CROWDS)
mutant("region: the next brick", REGION, "line / grid.n_bricks[1]}", "0}", BRICKS)
CELL_THERE = BRICK_BUILD + " int cell_of_region("
mutant("cell of region: not wrapped", CELL_THERE, "wrapped_cell(c[axis], grid.n[axis])", "min(max(c[axis], 0), grid.n[axis] - 1)", BRICKS)
mutant("cell of region: the image on the other side", CELL_THERE, "c[axis] < 0 ? -1 : c[axis] >= grid.n[axis] ? 1 : 0", "c[axis] < 0 ? 1 : c[axis] >= grid.n[axis] ? -1 : 0",
       BRICKS)
mutant("cell of region: y and z swapped", CELL_THERE, "wrapped[2] * grid.n[1] + wrapped[1]", "wrapped[1] * grid.n[2] + wrapped[2]", BRICKS)
LISTED = BRICK_BUILD + " bool list_cells("
mutant("list cells: the last one is left out", LISTED, "k < n_cells; k += MD_BLOCK", "k < n_cells - 1; k += MD_BLOCK", BRICKS)
mutant("list cells: one round", LISTED, "k < n_cells; k += MD_BLOCK", "k < min(n_cells, MD_BLOCK); k += MD_BLOCK", tests(ROUNDS + " memory.brick_cells=2"))
mutant("list cells: images of one thread", LISTED, "images = __syncthreads_or(images);", "__syncthreads();", BRICKS)
mutant("list cells: an image as the particle", LISTED, "cells.image[k] = (uint8_t)image;", "cells.image[k] = no_image;", BRICKS)
mutant("list cells: sums begin anew", LISTED, "before += __shfl_sync(0xffffffffu, sum, 31);", "", BRICKS)
mutant("list cells: sums of 16", LISTED, "distance < 32;", "distance < 16;", BRICKS)
mutant("list cells: sums of others", LISTED, "if ((int)threadIdx.x >= distance) sum", "sum", BRICKS)
mutant("list cells: the first sum", LISTED, "cells.staged[0] = 0;", "cells.staged[0] = 1;", BRICKS)
mutant("list cells: no barrier before the sums", LISTED, "images = __syncthreads_or(images);", "", barrier(BRICK), barrier(BRICK + " memory.brick_cells=2"))
STAGING = BRICK_BUILD + " void stage_cells("
mutant("stage cells: one too early", STAGING, "atoms[1 + first + s]", "atoms[first + s]", BRICKS)
mutant("stage cells: the last atom of a cell is left out", STAGING, "s < n; s", "s < n - 1; s", BRICKS)
mutant("stage cells: crowds end at a warp", STAGING, "s < n; s", "s < min(n, 16); s", tests(BRICK))
mutant("stage cells: sources of the slot before", STAGING, "+ first + s] = particle;", "+ first + s] = max(particle - 1, 0);", BRICKS)
mutant("stage cells: sources of all bricks in one place", STAGING, "a.bricks.source[brick.source + first + s]", "a.bricks.source[first + s]", BRICKS)
mutant("stage cells: images are not written down", STAGING, "if (brick.has_images) a", "if (false) a", BRICKS)
mutant("stage cells: images of all bricks in one place", STAGING, "a.bricks.image[brick.source + first + s]", "a.bricks.image[first + s]", BRICKS)
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
BANKS = OF_BRICK + " neighbor.distances=thread neighbor.bank_order=on"
mutant("bank order: turns of all lanes alike", BRICK_BUILD + " unsigned bits_of_turn(", "+ (unsigned)turn - ", "- ", tests(BANKS))
mutant("bank order: groups of another number", BRICK_BUILD + " unsigned bits_of_turn(", "n_bank_groups == 8 ?", "n_bank_groups == 4 ?", tests(BANKS), tests(BANKS + " run.precision=double"))
FOUND = BRICK_BUILD + " int take_next("
mutant("take next: the last one again", FOUND, "*left &= *left - 1;", "if (*left & (*left - 1)) *left &= *left - 1;", BRICKS)
mutant("take next: a word later", FOUND, "*first + __ffs", "*first + 1 + __ffs", BRICKS)
IN_ORDER = BRICK_BUILD + " void append_in_order("
mutant("append in order: quads begin where they like", IN_ORDER, "n > 0 && row->count % CUDA_QUAD != 0; n--", "false; n--", CROWDS)
mutant("append in order: the rest is lost", IN_ORDER, "    for (; n > 0; n--)", "    for (; n > 1; n--)", BRICKS)
mutant("append in order: whole quads are not stored", IN_ORDER, "        store_quad(row);", "        ;", BRICKS)
mutant("append in order: whole quads of one entry", IN_ORDER, "<< (16 * k)", "<< 16", BRICKS)
TURNS = BRICK_BUILD + " void append_by_turns("
mutant("bank order: the last turn is left out", TURNS, "turn++) {\n            while", "turn++) {\n            if (turn == n_bank_groups - 1) continue;\n            while", tests(BANKS))
mutant("bank order: one round", TURNS, "any = true;\n        }", "any = false;\n        }", tests(BANKS))
mutant("bank order: of the word after", TURNS, "found.first[next[turn] - 1]", "found.first[next[turn]]", tests(BANKS))
mutant("append found: again", BRICK_BUILD + " void append_found(", "found->n = found->n_atoms = 0;", "", CROWDS)
NEAR = BRICK_BUILD + " unsigned near_mask("
mutant("near: z does not count", NEAR, "place.z - other.z : Pair(0)", "Pair(0) : Pair(0)", rows(BRICK))
mutant("near: everything", NEAR, "squared(d) < (Pair)a.range_sq", "true", rows(BRICK))
mutant("near: the cutoff itself", NEAR, "< (Pair)a.range_sq", "< (Pair)(0.8 * a.range_sq)", rows(BRICK))
mutant("near: eights on top of each other", NEAR, "eight << k", "eight", BRICKS)
mutant("near: what is behind the last", NEAR, "n < 32 ? mask & ((1u << n) - 1) : mask", "mask", BRICKS)
SEARCHED = BRICK_BUILD + " void search_staged("
mutant("search staged: itself", SEARCHED, "if ((unsigned)(own - first) < 32u) mask", "if (false) mask", rows(BRICK))
mutant("search staged: not the one a word away", SEARCHED, "if ((unsigned)(own - first) < 32u) mask &= ~(1u << (own - first))", "mask &= ~(1u << ((own - first) & 31))", BRICKS)
mutant("search staged: the last word is left out", SEARCHED, "first < end; first += 32", "first + 32 <= end; first += 32", BRICKS)
mutant("search staged: atoms uncounted", SEARCHED, "found->n_atoms += __popc(mask);", "found->n_atoms += 1;", BRICKS)
mutant("search staged: found without an end", SEARCHED, "if (found->n == FOUND_WORDS) append_found(found, row);", "if (found->n == FOUND_WORDS) found->n = found->n_atoms = 0;", CROWDS)
BEYOND = BRICK_BUILD + " int first_beyond("
mutant("first beyond: one too late", BEYOND, "return low;", "return low + 1;", BRICKS)
mutant("first beyond: the other half", BEYOND, "staged_x(atoms[middle]) < x", "!(staged_x(atoms[middle]) < x)", BRICKS)
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
mutant("search row: its rest is lost", OWN_ROW, "append_found(&found, row);", "", BRICKS)
mutant("search row: no end", OWN_ROW, "    end_row(row);", "", BRICKS)
IN_CELL = SORT + " SlotKey slot_key("
mutant("slot key: bricks by id", IN_CELL, "(uint64_t)float_key((float)load<Pair>(a.now.position, i + on_the_way(a)).x) << 32", "(uint64_t)0", tests(BRICK), held("memory.sort=brick"))
mutant("slot key: by y", IN_CELL, ".x) << 32", ".y) << 32", tests(BRICK), held("memory.sort=brick"))
mutant("slot key: equal places by chance", IN_CELL, " | (unsigned)id;", ";", held("memory.sort=brick"))
BEGUN = BRICK_BUILD + " CudaBrick begin_brick("
mutant("begin brick: from the cell after", BEGUN, "+ region.own_low[0]);", "+ min(region.own_low[0] + 1, grid.n[0] - 1));", BRICKS)
mutant("begin brick: it ends before its last cell", BEGUN, "brick.end = cell_end(", "brick.end = cell_begin(", BRICKS)
mutant("begin brick: images go unseen", BEGUN, "brick.has_images = has_images;", "brick.has_images = false;", BRICKS)
mutant("begin brick: slices overlap", BEGUN, "(brick.end - brick.begin + 31ull) / 32", "(brick.end - brick.begin + 0ull) / 32", BRICKS)
mutant("begin brick: sources overlap", BEGUN, "(unsigned long long)brick.n_staged)", "(unsigned long long)brick.n_staged / 2)", BRICKS)
mutant("begin brick: the fullest one goes unseen", BEGUN, "atomicMax(&a.watch->measures.staged, brick.n_staged);", "", CROWDS)
mutant("begin brick: slices by plain addition", BEGUN, "(int64_t)atomicAdd(&a.watch->measures.slices, ", f"(int64_t){PLAIN}&a.watch->measures.slices, ", on_gpu(tests(BRICK)))
mutant("begin brick: sources by plain addition", BEGUN, "(int64_t)atomicAdd(&a.watch->measures.sources, ", f"(int64_t){PLAIN}&a.watch->measures.sources, ", on_gpu(tests(BRICK)))
SEARCH_BRICK = BRICK_BUILD + " void search_brick("
ALL_ROWS = BRICK_BUILD + " void search_rows("
mutant("search brick: beyond its room", SEARCH_BRICK, "s_brick.n_staged > a.bricks.capacity ||", "", CROWDS)
mutant("search brick: beyond the list of sources", SEARCH_BRICK, "s_brick.source + s_brick.n_staged > a.bricks.source_capacity ||", "", CROWDS)
mutant("search brick: beyond the last slice", SEARCH_BRICK, "s_brick.slice + (s_brick.end - s_brick.begin + 31) / 32 > a.bricks.slice_capacity", "false", CROWDS)
mutant("search brick: rows though there is no room", ALL_ROWS, "if (brick.n_staged >= 0) search", "search", CROWDS)
mutant("search brick: staged though there is no room", SEARCH_BRICK, "if (s_brick.n_staged > 0) {", "{", CROWDS)
mutant("search brick: one round of rows", ALL_ROWS, "r < brick.end - brick.begin;", "r < min(brick.end - brick.begin, MD_BLOCK);", tests(ROUNDS), rows(ROUNDS))
mutant("search brick: counts of others", ALL_ROWS, "a.list.counts[brick.begin + r]", "a.list.counts[r]", BRICKS)
mutant("search brick: no barrier after its beginning", SEARCH_BRICK, "__syncthreads(); /* the brick", "/* the brick", barrier(BRICK))
mutant("search brick: no barrier after staging", SEARCH_BRICK, "__syncthreads(); /* all atoms", "/* all atoms", barrier(BRICK))

BY_MATRIX = "cuda/kernels/brick_matrix.cuh"
MATRIX = OF_BRICK + " neighbor.bank_order=on neighbor.distances=matrix"
MATRICES = (tests(MATRIX), tests(MATRIX + " memory.brick_cells=2"), rows(MATRIX))
SIXTEENS = (tests(MATRIX), tests(MATRIX + " memory.brick_cells=2"), tests(MATRIX + " launch.block_size=32"), CROWDS)
mutant("points: no square of z", BY_MATRIX + " void set_staged(", "x * x + y * y + z * z", "x * x + y * y", MATRICES)
mutant("points: the rest of the last eight is what it was", BY_MATRIX + " void end_staging(", "(n + k - 1) / in_eight == (n - 1) / in_eight", "false", MATRICES, CROWDS)
mutant("points: entry 0 is the corner", BY_MATRIX + " void end_staging(", "set_staged(&points[0], nowhere())", "points[0] = Point{0, 0, 0, 0}", MATRICES)
mutant("sums of a warp: of 16", BY_MATRIX + " int sum_up_to(", "distance < 32", "distance < 16", SIXTEENS)
mutant("most of a warp: of the lane below", BY_MATRIX + " int most_up_to(", "distance < 32", "distance < 2", SIXTEENS)
REACH = BY_MATRIX + " void reach_of_rows("
mutant("reach: rows of the first line only", REACH, "begins &= begins - 1;", "begins = 1u << 16;", SIXTEENS)
mutant("reach: lines below only", REACH, "dy <= 2", "dy <= 1", MATRICES)
mutant("reach: layers below only", REACH, "dz <= 2", "dz <= 1", MATRICES)
mutant("reach: from the last row on", REACH, "fminf(*low, lowest - reach)", "fminf(*low, highest - reach)", SIXTEENS)
mutant("reach: up to the first row", REACH, "fmaxf(*high, highest + reach)", "fmaxf(*high, lowest + reach)", SIXTEENS)
EIGHTS = BY_MATRIX + " int list_eights("
mutant("eights: those of two lines twice", EIGHTS, "begin < end ? max(begin / in_eight, lane == 0 ? behind : before) : last", "begin < end ? begin / in_eight : last", SIXTEENS)
mutant("eights: the last of a line is left out", EIGHTS, "(end + in_eight - 1) / in_eight", "end / in_eight", SIXTEENS)
mutant("eights: rows meet themselves", EIGHTS, "*place = of_own + own / in_eight;", "*place = -1;", MATRICES)
TESTED = BY_MATRIX + " void test_eights("
mutant("test eights: what is tested for nothing", TESTED, "(eights_of_word - tested) & wanted", "(eights_of_word - tested)", MATRICES)
mutant("test eights: words that are not full stand too low", TESTED, "= near[side][group] << (eights_of_word - tested)", "= near[side][group]", MATRICES)
mutant("test eights: another for itself", TESTED, "own & rows.is_own[side][group]", "own & rows.is_own[side][1 - group]", MATRICES)
TAKEN = BY_MATRIX + " int take("
mutant("take: the first word again", TAKEN, "stream->next += 1;", "", SIXTEENS)
mutant("take: though it is not wanted", TAKEN, "__funnelshift_lc(0, is_wanted,", "__funnelshift_lc(0, 1,", SIXTEENS)
mutant("entries: of the other group", BY_MATRIX + " unsigned entry_of(", "+ group);", "+ 1 - group);", MATRICES)
BY_GROUPS = BY_MATRIX + " void store_by_groups("
mutant("store by groups: lanes on top of each other", BY_GROUPS, "int k = row.before;", "int k = 0;", SIXTEENS)
DEALT = BY_MATRIX + " Deal deal_row("
mutant("deal: shares rounded down", DEALT, "(row.n + in_eight - 1 - deal.first[group]) / in_eight", "row.n / in_eight", MATRICES)
mutant("deal: gaps of all lanes alike", DEALT, "deal.gap = (both - here) & 0xffff;", "deal.gap = 0;", MATRICES)
mutant("deal: spares of all lanes in one place", DEALT, "deal.spares_before = (both - here) >> 16;", "deal.spares_before = 0;", MATRICES)
mutant("deal: more spares than there is room for", DEALT, ">> 16;\n    deal.spares_before", "& 0;\n    deal.spares_before", SIXTEENS)
mutant("spares: those of the second group over the first's", BY_MATRIX + " void put_spares(", "(group == 0 ? 0 : deal.spare[0])", "0", MATRICES)
ROUND = BY_MATRIX + " void store_round("
mutant("round: gaps are not filled", ROUND, "is_own ? place : *gap", "place", MATRICES)
mutant("round: the same gap again", ROUND, "*gap += is_there & !is_own;", "", MATRICES)
mutant("round: the end of a row is what it was", ROUND, "is_there ? found", "true ? found", MATRICES)
STORED = BY_MATRIX + " void store_rows("
mutant("store rows: the rounds of the first row", STORED, "max(rows[0].n, rows[1].n)", "rows[0].n", SIXTEENS)
mutant("store rows: past the capacity", STORED, "first + in_eight * j < rows[side].n_stored", "first + in_eight * j < rows[side].n", held(MATRIX))
SIXTEEN = BY_MATRIX + " void search_sixteen("
mutant("sixteen: rows that are not there", SIXTEEN, "if (r >= n_rows) shared[side].count[0] = shared[side].count[1] = 0;", "", COUNTED)
mutant("sixteen: the cutoff itself", SIXTEEN, "- a.range_sq", "- 0.8 * a.range_sq", rows(MATRIX))
mutant("sixteen: words of all but the last", SIXTEEN, "first < n_eights; first += eights_of_word", "first + eights_of_word < n_eights; first += eights_of_word", SIXTEENS)
MATRIX_ROWS = BY_MATRIX + " void search_rows("
mutant("matrix rows: one round", MATRIX_ROWS, "first < n_rows; first += MD_BLOCK / 32 * 16", "first < min(n_rows, MD_BLOCK / 2); first += MD_BLOCK / 32 * 16", SIXTEENS)
mutant("matrix rows: one table for all warps", MATRIX_ROWS, "warp * a.bricks.warp_bytes", "0", SIXTEENS)
mutant("matrix rows: though there is no room", MATRIX_ROWS, "if (brick.n_staged < 0) {", "if (false) {", CROWDS)

OF_BRICKS = "cuda/kernels/force_brick.cuh"
STAGES = OF_BRICKS + " void stage_atoms("
mutant("force brick: the last atom is not staged", STAGES, "if (s < brick.n_staged) atoms", "if (s < brick.n_staged - 1) atoms", BRICKS)
mutant("force brick: one round of staging", STAGES, "first < brick.n_staged;", "first < min(brick.n_staged, MD_BLOCK);", tests(ROUNDS))
mutant("force brick: rounds of staging leave one out", STAGES, "first += staged_at_once * MD_BLOCK", "first += staged_at_once * MD_BLOCK + 1", tests(ROUNDS))
mutant("force brick: images are ignored", STAGES, "if (IMAGES) add_shift", "if (false) add_shift", BRICKS)
mutant("force brick: staged atoms seen from elsewhere", STAGES, "staged_particle(a, origin, particle", "staged_particle(a, Vec3<Pair>{0, 0, 0}, particle", BRICKS)
mutant("force brick: no brick has images", OF_BRICKS + " void stage_brick(", "if (brick.has_images)", "if (false)", BRICKS)
mutant("force brick: sources of the first brick", STAGES, "a.bricks.source + brick.source", "a.bricks.source", BRICKS)
mutant("force brick: the end of a row is an atom", OF_BRICKS + " void stage_brick(", "atoms[0] = nowhere();", "atoms[0] = Atom{};", BRICKS)
PAIRS_OF_QUAD = OF_BRICKS + " void add_quad("
mutant("force brick: the last entry of a quad is left out", PAIRS_OF_QUAD, "k < CUDA_QUAD;", "k < CUDA_QUAD - 1;", BRICKS)
mutant("force brick: the first entry four times", PAIRS_OF_QUAD, "(quad >> (16 * k))", "quad", BRICKS)
mutant("force brick: z does not count", PAIRS_OF_QUAD, "own.v.z - other.v.z : Pair(0)", "Pair(0) : Pair(0)", BRICKS)
mutant("force brick: the row of another type", PAIRS_OF_QUAD, "own.type * MD_N_TYPES", "0", BRICKS)
mutant("force brick: another's type", PAIRS_OF_QUAD, "MD_N_TYPES == 1 ? 0 : other.type", "0", BRICKS)
ROW_FORCE, ROW_PART, EACH_ROW = (OF_BRICKS + head for head in (" Vec3<Pair> part_of_force(", " RowPart part_of_row(", " void brick_rows("))
mutant("force brick: the last quad of a row is left out", ROW_FORCE, "left > 0;", "left > CUDA_QUAD;", BRICKS)
mutant("force brick: a rest is no quad", ROW_FORCE, "left > (k + quads_ahead) * quad_step", "left >= (k + quads_ahead) * quad_step + CUDA_QUAD", BRICKS)
mutant("force brick: behind a short row is what stands there", OF_BRICKS + " QuadsAhead first_quads(", "row.count > k * quad_step ? row.quads[k * row_threads * 32] : no_quad", "row.quads[k * row_threads * 32]", tests(BRICK + " memory.brick_cells=2 force.threads_per_atom=1"))
mutant("force brick: behind a row is an atom", OF_BRICKS, "no_quad = 0;", "no_quad = 16;", tests(BRICK + " memory.brick_cells=2 force.threads_per_atom=1"))
mutant("force brick: quads of the rows beside", ROW_FORCE, "quads += quads_ahead * row_threads * 32;", "quads += quads_ahead * row_threads;", BRICKS)
mutant("force brick: a later quad for this one", ROW_FORCE, "own, quad, left", "own, ahead.next[k], left", BRICKS)
mutant("force brick: measured from another origin", EACH_ROW, "staged_origin(brick)", "Vec3<Pair>{0, 0, 0}", BRICKS)
mutant("force brick: the count of another row", ROW_PART, "a.list.counts[brick.begin + r]", "a.list.counts[r]", BRICKS)
EACH_BRICK = OF_BRICKS + " void force_block_brick("
mutant("force brick: no barrier", EACH_BRICK, "__syncthreads(); /* all atoms", "/* all atoms", barrier(BRICK))
mutant("force brick: no barrier before the next brick", EACH_BRICK, "__syncthreads(); /* what an earlier", "/* what an earlier",
       barrier(BRICK + " memory.brick_cells=1 launch.block_size=1024 launch.persistent=on neighbor.rebuild=every", cells=14))
mutant("force brick: one round of rows", EACH_ROW, "first < n_rows;", "first < min(n_rows, MD_BLOCK / row_threads);", tests(ROUNDS))
mutant("force brick: rows of a later round", EACH_ROW, "part_of_row(a, brick, r)", "part_of_row(a, brick, r % MD_BLOCK)", tests(ROUNDS))
mutant("force brick: threads of a row walk the same", ROW_PART, "(int)threadIdx.x % row_threads;", "0;", tests(SHARED_ROWS))
mutant("force brick: rows of the next round in this one", EACH_ROW, "(int)threadIdx.x / row_threads;", "(int)threadIdx.x;", tests(SHARED_ROWS))
mutant("force brick: rounds of one thread a row", EACH_ROW, "first += MD_BLOCK / row_threads", "first += MD_BLOCK", tests(SHARED_ROWS + " launch.block_size=32"))
mutant("force brick: parts are not added up", EACH_ROW, "add_up_row(&force);", "", tests(SHARED_ROWS))
mutant("force brick: parts as long as their row", ROW_PART, " - part * CUDA_QUAD}", "}", tests(SHARED_ROWS))
mutant("force brick: each part skips its last quad", ROW_FORCE, "left > 0;", "left > (row_threads > 1) * quad_step;", tests(SHARED_ROWS))
mutant("force brick: forces of others", EACH_ROW, "finish(brick.begin + r,", "finish(r,", BRICKS)
mutant("force brick: the next brick", EACH_BRICK, "a.bricks.table[b]", "a.bricks.table[b > 0 ? b - 1 : 0]", BRICKS)

FORCE = "cuda/kernels/force.cu"
mutant("force energy: pairs counted twice", FORCE + " k_force_energy(", "halve(sums[q]);", "(void)0;", tests(LIST))
mutant("force energy: half lists halved", FORCE + " k_force_energy(", "if constexpr (meets_twice)", "if constexpr (true)", tests(HALF))
mutant("force energy: forces are not stored", FORCE + " k_force_energy(", "force_block<true>(a, MD_PAIR_TABLE, block, sums);",
       "if (blockIdx.x + 1 < gridDim.x) force_block<true>(a, MD_PAIR_TABLE, block, sums);", tests(LIST))
mutant("force energy: a brick a block", FORCE + " k_force_energy(", "block < n_blocks;", "block < min(n_blocks, (int)gridDim.x);", tests(BRICK + " memory.brick_cells=1", MANY))
mutant("force plain: the last block is left out", FORCE + " k_force_plain(", "force_block<false>",
       "if (blockIdx.x + 1 < gridDim.x) force_block<false>",
       tests(LIST + " launch.persistent=off launch.graph=off"))
BEGIN = "cuda/kernels/force.cuh bool force_begin("
DEVICE = "neighbor.rebuild=device-check"
mutant("force_begin: never halts", "cuda/kernels/force.cuh bool is_too_old(", "> a.halt_sq", "> 4 * a.halt_sq", rows(DEVICE, IN_MOTION))
mutant("force: a full list is walked", "cuda/kernels/force.cu k_force_plain(", "if (was_halted(a, &a.watch->measures.moved_sq)) return;", "", FULL)
mutant("force_begin: the device goes on", BEGIN, "if (halts) halt(a, CUDA_HALTED_OLD);", "", rows(DEVICE, IN_MOTION))
mutant("force_begin: steps are not counted", BEGIN, "a.watch->step += 1;", "", rows(DEVICE, IN_MOTION), tests(DEVICE))
mutant("force_begin: a step is counted again", BEGIN, "a.watch->drifted = 0;", "", rows(DEVICE, IN_MOTION), tests(DEVICE))

# --- integrate ---------------------------------------------------------------------------------------------------------

MOVE = "cuda/kernels/integrate.cuh"
FUSED, APART = "launch.fuse=on launch.graph=off launch.persistent=off", "launch.fuse=off launch.graph=off launch.persistent=off"
mutant("half_kick: wrong sign", MOVE + " void half_kick(", "v->v.y += c", "v->v.y -= c", tests(FUSED))
mutant("half_kick: whole kick", MOVE + " void half_kick(", "(Pair)a.half_step * v->w", "(Pair)a.half_step * 2 * v->w", tests(FUSED))
mutant("half_kick: without mass", MOVE + " void half_kick(", "(Pair)a.half_step * v->w", "(Pair)a.half_step", tests(FUSED))
mutant("half_kick: z is lost", MOVE + " void half_kick(", "v->v.z += c * f.z;", "", tests(FUSED))
mutant("drift: z is lost", MOVE + " void drift(", "x->z + (State)d.z", "x->z", tests(FUSED))
mutant("drift: half a step", MOVE + " void drift(", "(Pair)a.whole_step", "(Pair)a.half_step", tests(FUSED))
mutant("drift: faults pass", MOVE + " void drift(", "distance_sq <= (Pair)a.fault_sq", "true", FAULTS)
mutant("raise_fault: step before", MOVE + " void raise_fault(", "a.watch->step + 1;", "a.watch->step;", FAULTS)
mutant("raise_fault: later steps replace it", MOVE + " void raise_fault(", "if (seen != ~0ull && seen != step) return;",
       "if (seen != ~0ull) a.watch->fault_step = step;", FAULTS)
mutant("raise_fault: another id", MOVE + " void raise_fault(", "(unsigned long long)id << 32", "(unsigned long long)(id + 1) << 32", FAULTS)
mutant("displacement: z does not count", COMMON + " float displacement_sq(", " + dz * dz", "", rows("neighbor.rebuild=host-check " + APART, IN_MOTION),
       rows(DEVICE, IN_MOTION))
for fuse, switches in (("on", FUSED), ("off", APART)):
    mutant(f"displacement: always 0, fuse {fuse}", COMMON + " float displacement_sq(", "(float)(dx * dx", "0 * (float)(dx * dx",
           rows("neighbor.rebuild=host-check " + switches, IN_MOTION))
mutant("integrate_atom: the kick before is forgotten", MOVE + " void move(", "if (kick_first) half_kick(a, f, &moving->v);", "", tests(FUSED))
mutant("integrate_atom: kicked once too often", MOVE + " void move(", "if (kick_first) half_kick", "half_kick", tests(FUSED))
mutant("integrate_atom: velocity is not stored", MOVE + " float integrate_by(", "store<Pair>(a.now.velocity, i, moving.v.v, moving.v.w);", "", tests(FUSED))
mutant("integrate_atom: drift by the old velocity", MOVE + " void move(", "drift(a, i, moving->v.v, &moving->x, step);", "drift(a, i, load_velocity(a.now, i).v, &moving->x, step);", tests(FUSED))
STEP = "cuda/kernels/integrate.cu"
mutant("kick_drift: the last atom is left out", STEP + " k_integrate_kick_drift(", "if (i < a.n_atoms)", "if (i < a.n_atoms - 1)", tests(FUSED))
mutant("kick_drift: the displacement of the last block", STEP + " k_integrate_kick_drift(", "if (threadIdx.x == 0)", "if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)",
       rows("neighbor.rebuild=host-check " + FUSED, IN_MOTION))
mutant("kick_drift: moves on while halted", STEP + " k_integrate_kick_drift(", "if (a.watch->halted) return;", "", rows(DEVICE + " " + FUSED, IN_MOTION))
mutant("kick: the last atom is left out", STEP + " k_integrate_kick(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests(APART), tests(FUSED))
mutant("drift kernel: the last atom is left out", STEP + " k_integrate_drift(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests(APART))
mutant("drift kernel: does not say so", STEP + " k_integrate_drift(", "a.watch->drifted = 1;", ";", rows(DEVICE + " " + APART, IN_MOTION))
mutant("check: the last block is left out", STEP + " k_integrate_check(", "if (i < a.n_atoms)", "if (i < a.n_atoms && blockIdx.x + 1 < gridDim.x)",
       rows("neighbor.rebuild=host-check launch.block_size=128 " + APART, IN_MOTION))
mutant("check: a plain maximum", STEP + " k_integrate_check(", "atomicMax(&a.watch->measures.moved_sq, __float_as_uint(moved_sq[0]));",
       "a.watch->measures.moved_sq = __float_as_uint(moved_sq[0]);", rows("neighbor.rebuild=host-check launch.block_size=32 " + APART, IN_MOTION))
mutant("scale: z is left out", STEP + " k_integrate_scale(", "v.v.z = (Pair)((double)v.v.z * a.factor);", "", tests())
mutant("scale: the last atom is left out", STEP + " k_integrate_scale(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests())

# --- reduce ------------------------------------------------------------------------------------------------------------

BLOCK = "cuda/kernels/block.cuh"
WIDE = " launch.block_size=256"
for method in ("global", "shared", "shared-dynamic", "syncwarp"):
    for addressing in ("interleaved", "sequential"):
        switches = f"reduce.method={method} reduce.addressing={addressing}" + WIDE
        mutant(f"tree {method} {addressing}: the last level is left out", BLOCK + " T tree_reduce(", "level < MD_BLOCK;", "level < MD_BLOCK / 2;", tests(switches))
        mutant(f"tree {method} {addressing}: no barrier between levels", BLOCK + " T tree_reduce(", "else __syncthreads();", "else ;", barrier(switches))
    mutant(f"tree {method}: no barrier before the place is used again", BLOCK + " T tree_reduce(",
           ("__syncthreads(); /* an earlier", "const bool adds"), ("/* an earlier", LATE + " const bool adds"),
           barrier(f"reduce.method={method} reduce.addressing=interleaved" + WIDE))
mutant("tree syncwarp: no barrier of the warp", BLOCK + " T tree_reduce(", "2 * stride <= 32) __syncwarp();", "2 * stride <= 32) ;",
       barrier("reduce.method=syncwarp" + WIDE))
mutant("tree syncwarp: a level beyond the warp", BLOCK + " T tree_reduce(", "2 * stride <= 32", "2 * stride <= 128", barrier("reduce.method=syncwarp" + WIDE))
mutant("tree interleaved: one thread in four", BLOCK + " T tree_reduce(", "t % (2 * stride) == 0", "t % (4 * stride) == 0",
       tests("reduce.method=shared reduce.addressing=interleaved"))
mutant("tree sequential: one thread too few", BLOCK + " T tree_reduce(", "t < stride;", "t < stride - 1;", tests("reduce.method=shared reduce.addressing=sequential"))
mutant("tree global: blocks share a place", BLOCK + " T *tree_place(", "(int64_t)blockIdx.x * MD_BLOCK", "0", on_gpu(tests("reduce.method=global launch.block_size=32")))
SHUFFLE = "reduce.method=shuffle" + WIDE
mutant("warp_reduce: one step too few", BLOCK + " T warp_reduce(", "distance > 0;", "distance > 1;", tests(SHUFFLE))
mutant("reduce_by_warps: the last warp is left out", BLOCK + " void reduce_by_warps(", "t < n_warps ?", "t < n_warps - 1 ?",
       tests(SHUFFLE))
mutant("reduce_by_warps: lanes beyond the warps", BLOCK + " void reduce_by_warps(", "t < n_warps ? s_of_warp[q][t]", "true ? s_of_warp[q][t % n_warps]",
       tests(BRICK + " launch.block_size=auto", "3-D|3-D uneven, shift force|2-D uneven"))
mutant("reduce_by_warps: no barrier", BLOCK + " void reduce_by_warps(", "__syncthreads(); /* all warps", "/* all warps", barrier(SHUFFLE))
mutant("block_max: a sum", BLOCK + " void block_max(", "block_reduce<TakeLargest>", "block_reduce<AddUp>", rows("neighbor.rebuild=host-check", IN_MOTION))
mutant("compensated: what is lost is lost", BLOCK + " void add(Compensated", "sum.low = __fadd_rn(sum.low, lost);", "",
       tests("reduce.accumulate=compensated run.precision=mixed", "compensated sums"))
mutant("compensated: threads forget the low part", BLOCK + " struct AddUp", "a.low + b.low", "a.low",
       tests("reduce.accumulate=compensated run.precision=mixed", "compensated sums"))
for kind in ("double", "float", "Compensated"):
    mutant(f"halve {kind}: a third", BLOCK + f" void halve({kind}", "0.5f * sum.high" if kind == "Compensated" else "0.5", "0.3f * sum.high" if kind == "Compensated" else "0.3",
           tests(f"{LIST} reduce.accumulate=" + {"double": "double", "float": "single run.precision=single", "Compensated": "compensated run.precision=mixed"}[kind]))
for finish, old, new in (("atomic", "atomicAdd(&a.totals[FIRST + q], sum);", "a.totals[FIRST + q] += sum;"),
                         ("two-pass", "(int64_t)q * gridDim.x + blockIdx.x] = sum;", "(int64_t)q * gridDim.x + blockIdx.x] = blockIdx.x + 1 < gridDim.x ? sum : 0;"),
                         ("host", "(int64_t)q * gridDim.x + blockIdx.x] = sum;", "(int64_t)q * gridDim.x + blockIdx.x] = blockIdx.x + 1 < gridDim.x ? sum : 0;")):
    mutant(f"finish {finish}: " + ("a plain addition" if finish == "atomic" else "the last block is left out"), BLOCK + " void add_to_totals(", old, new,
           on_gpu(tests(f"reduce.finish={finish} launch.block_size=32")) if finish == "atomic" else tests(
               f"reduce.finish={finish} launch.block_size=32"))
mutant("number of pairs in single", BLOCK + " void add_to_totals(", "(double)sums[CUDA_PAIRS - FIRST];", "0;",
       tests("reduce.accumulate=single run.precision=single"))
REDUCE = "cuda/kernels/reduce.cu"
mutant("reduce sums: the last atom is left out", REDUCE + " k_reduce_sums(", "i < a.n_atoms;", "i < a.n_atoms - 1;", tests())
mutant("reduce sums: kinetic energy without mass", REDUCE + " k_reduce_sums(", "0.5 * mass * (vx", "0.5 * (vx", tests())
mutant("reduce sums: no half", REDUCE + " k_reduce_sums(", "0.5 * mass", "mass", tests())
mutant("reduce sums: momentum of another axis", REDUCE + " k_reduce_sums(", "add(sums[3], mass * vz", "add(sums[3], mass * vy", tests())
mutant("reduce sums: forces without mass", REDUCE + " k_reduce_sums(", "(fx * fx + fy * fy + fz * fz) * inverse_mass", "(fx * fx + fy * fy + fz * fz)", tests())
for kind in ("one", "grid-stride"):
    mutant(f"reduce sums {kind}: the last block is left out", REDUCE + " k_reduce_sums(", "add_to_totals<",
           "if (blockIdx.x > 0 && blockIdx.x + 1 == gridDim.x) for (int q = 0; q < CUDA_ATOM_TOTALS; q++) sums[q] = Sum{};\n    add_to_totals<",
           tests(f"reduce.per_thread={kind} launch.block_size=32"))
TWO = "reduce.finish=two-pass launch.block_size=32"
mutant("reduce finish: the last partial sum is left out", REDUCE + " k_reduce_finish(", "k < a.n;", "k < a.n - 1;", tests(TWO))
mutant("reduce finish: one round only", REDUCE + " k_reduce_finish(", "k += MD_BLOCK", "k += a.n", tests(TWO))
mutant("reduce finish: into the next total", REDUCE + " k_reduce_finish(", "a.first + blockIdx.x", "a.first", tests(TWO))
# --- gather ------------------------------------------------------------------------------------------------------------

GATHER = "cuda/kernels/gather.cu"
for kernel in ("types", "positions", "velocities", "images"):
    mutant(f"import {kernel}: the last atom is left out", GATHER + f" k_gather_import_{kernel}(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests())
mutant("import types: mass of type 0", GATHER + " k_gather_import_types(", "a.inverse_mass_of[type]", "a.inverse_mass_of[0]", tests())
mutant("import types: all of type 0", GATHER + " k_gather_import_types(", "((const int32_t *)a.in)[i];", "0;", tests())
mutant("import types: ids from one", GATHER + " k_gather_import_types(", "CudaTag{0, 0, 0, i}", "CudaTag{0, 0, 0, i > 0 ? i - 1 : 0}", tests())
mutant("import: y for z", GATHER + " Vec3<T> import_vector(", "(T)xyz[2]", "(T)xyz[1]", tests())
mutant("import velocities: mass is lost", GATHER + " void import_velocity(", "load_velocity(a.now, i).w", "Pair(1)", tests("memory.layout=vec4"))
mutant("import images: y for z", GATHER + " k_gather_import_images(", "image[1], image[2]", "image[1], image[1]", tests())
mutant("gather: not wrapped", GATHER + " Wrapped<Out> wrapped(", "wrap((double)x.x, a.length[0], a.inverse[0], &tag.ix, round)", "(Out)x.x", tests())
mutant("gather: image z of y", GATHER + " Wrapped<Out> wrapped(", "tag.iy, tag.iz}", "tag.iy, tag.iy}", tests(), rows(), overlap(STEPWISE))
mutant("gather images: without those of the past", GATHER + " void gather_images(", "a.now.tag[i])", "CudaTag{0, 0, 0, 0})", tests(), rows(), overlap(STEPWISE))
mutant("gather vectors: z negated", GATHER + " void gather_vectors(", "(Out)v.z", "(Out)-v.z", tests())
NAIVE, SHARED, PADDED = ("output.pack=" + pack for pack in ("naive", "shared", "padded"))
mutant("gather naive: in memory's order", GATHER + " void gather_rows(", "(int64_t)a.now.tag[i].id", "(int64_t)i", tests(NAIVE + " memory.sort=cell"))
mutant("gather naive: y for z", GATHER + " void gather_rows(", "row[2] = x.z;", "row[2] = x.y;", tests(NAIVE))
mutant("gather naive: the last atom is left out", GATHER + " void gather_rows(", "if (i >= a.n_atoms) return;", "if (i >= a.n_atoms - 1) return;", tests(NAIVE))
mutant("gather places: in memory's order", GATHER + " k_gather_places(", "a.place_of_id[a.now.tag[i].id] = i;", "a.place_of_id[i] = i;", tests("memory.sort=cell"))
mutant("gather places: the last atom is left out", GATHER + " k_gather_places(", "i < a.n_atoms)", "i < a.n_atoms - 1)", tests(), rows())
for pack in (SHARED, PADDED):
    mutant(f"gather {pack}: y for z", GATHER + " void gather_rows(", "+ t] = x.z;", "+ t] = x.y;", tests(pack))
    mutant(f"gather {pack}: no barrier", GATHER + " void gather_rows(", ("if (id < a.n_atoms) {", "__syncthreads();"), (LATE + " if (id < a.n_atoms) {", ";"), barrier(pack + " launch.block_size=128"))
    mutant(f"gather {pack}: the last number is left out", GATHER + " void gather_rows(", "k < 3 * n_rows;", "k < 3 * n_rows - 1;", tests(pack))
    mutant(f"gather {pack}: rows beyond the last", GATHER + " void gather_rows(", "a.n_atoms - first < MD_BLOCK ? a.n_atoms - first : MD_BLOCK;", "MD_BLOCK;",
           tests(pack), overlap(STEPWISE))
mutant("gather padded: read without the pad", GATHER + " void gather_rows(", "k % 3 * tile_edge", "k % 3 * MD_BLOCK", tests(PADDED))
for what in ("positions", "velocities", "forces"):
    mutant(f"gather {what} single: nothing", GATHER + f" k_gather_{what}_single(", "{ gather_", "{ if (blockIdx.x > 0) gather_", tests())
mutant("seal: output of a halted step counts", REDUCE + " k_reduce_seal(", "a.watch->halted ? -1 : a.row_step", "a.row_step", overlap(STEPWISE), overlap(BY_GRAPH))
mutant("seal: another total", REDUCE + " k_reduce_seal(", "a.totals[t]", "a.totals[0]", tests())
mutant("seal: no fault", REDUCE + " k_reduce_seal(", "= a.watch->fault_step;", "= ~0ull;", overlap("every, step by step"))  # a halt would hide it

# --- steps in one launch ---------------------------------------------------------------------------------------------------

RESIDENT = "cuda/kernels/step.cu"
PERSISTENT = "launch.persistent=on launch.fuse=on neighbor.rebuild="
mutant("resident: no barrier after the drift", RESIDENT + " void make_steps(", "grid_barrier<false>(barrier, false);\n        /* the whole", "/* the whole",
       tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), tests(PERSISTENT + "every", seed=12), race(PERSISTENT + "every"))
mutant("resident: no barrier after the forces", RESIDENT + " void make_steps(", "unused);\n        grid_barrier<false>(barrier, false);", "unused);",
       tests(PERSISTENT + "every launch.block_size=32"), tests(PERSISTENT + "every launch.block_size=32", seed=11),
       tests(PERSISTENT + "every launch.block_size=32", seed=12), race(PERSISTENT + "every"))
mutant("resident: the last block is left out", RESIDENT + " void make_steps(", "block < n_blocks;", "block < n_blocks - 1;",
       tests(PERSISTENT + "every run.precision=double"))  # where forces that are a step old are far off
mutant("resident: one step too few", RESIDENT + " void make_steps(", "step < a.n;", "step < a.n - 1;", tests(PERSISTENT + "every"))
mutant("resident: goes on while halted", RESIDENT + " void make_steps(", "if (force_begin(a, &a.watch->measures.moved_sq)) return;", "force_begin(a, &a.watch->measures.moved_sq);", UNFORESEEN)
mutant("resident: the drift is not told", RESIDENT + " void make_steps(", "*(volatile unsigned *)&a.watch->drifted = 1;", ";", tests(PERSISTENT + "device-check"),
       rows(PERSISTENT + "device-check", IN_MOTION))
BARRIER = "cuda/kernels/barrier.cuh"
mutant("grid barrier: does not wait", BARRIER + " bool grid_barrier(", "< barrier->target) {", "< 0u) {",
       tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), tests(PERSISTENT + "every", seed=12))
mutant("grid barrier: threads do not wait for their block", BARRIER + " bool grid_barrier(", "    __syncthreads();\n    return false;",
       "    return false;", tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), race(PERSISTENT + "every"))
mutant("grid barrier: flags are not raised", BARRIER + " bool grid_barrier(", "if (FLAGS && raises) atomicOr", "if (false) atomicOr", UNFORESEEN)
mutant("grid barrier: one thread sees the flag", BARRIER + " bool grid_barrier(", "return __syncthreads_or(raised);", "{ __syncthreads(); return raised; }", UNFORESEEN)
mutant("grid barrier: arrivals of the launch before last", BARRIER + " GridBarrier begin_barrier(", "if (thread_index() == 0)", "if (false)",
       tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), tests(PERSISTENT + "every", seed=12), UNFORESEEN)
ONE_PASS, PASSES = "launch.persistent=on launch.fuse=step neighbor.rebuild=every", RESIDENT + " void make_fused_steps("
mutant("one pass: reads what it writes", PASSES, "{from, a.n_atoms - from, now", "{from, from, now", tests(ONE_PASS), tests(ONE_PASS, seed=11),
       tests(ONE_PASS, seed=12), UNFORESEEN)
mutant("one pass: the other copy is not read", PASSES, "        from = a.n_atoms - from;", "", tests(ONE_PASS), UNFORESEEN)
mutant("one pass: begins in the wrong copy", PASSES, "% 2 == 0", "% 2 != 0", tests(ONE_PASS), UNFORESEEN)
mutant("one pass: a drift at the end in the wrong copy", PASSES, "(a.n + a.drifts)", "a.n", tests(ONE_PASS), bits(ONE_PASS))
mutant("one pass: no drift at the end", PASSES, "is_last && !a.drifts", "is_last", tests(ONE_PASS), bits(ONE_PASS))
mutant("one pass: a drift at the end is not told", PASSES, "if (a.drifts) end_pass(a, moved_sq, 0);", "", UNFORESEEN)
mutant("one pass: no barrier between passes", PASSES, "grid_barrier<has_check>(barrier, moved_sq > a.halt_sq)", "(moved_sq > a.halt_sq && has_check)", tests(ONE_PASS), tests(ONE_PASS, seed=11), tests(ONE_PASS, seed=12),
       race(ONE_PASS))
mutant("one pass: the last block is left out", RESIDENT + " void make_pass(", "block < n_blocks;", "block < n_blocks - 1;", tests(ONE_PASS + " run.precision=double"))
mutant("one pass: goes on while halted", PASSES, "if (halts) { /*", "if (false) { /*", UNFORESEEN)
mutant("one pass: positions stay where they are", RESIDENT + " void bring_back(", "if (from == 0) return;", "return;", UNFORESEEN)
mutant("one pass: displacements are not told", PASSES, "moved_sq = end.integrate.moved_sq;", "", UNFORESEEN)
mutant("one pass: the step before", PASSES, "first + (unsigned long long)step;", "first + (unsigned long long)step - 1;", UNFORESEEN)
mutant("one pass: a halt is not told", RESIDENT + " void book_steps(", "if (halts) halt(a, CUDA_HALTED_OLD);", "", UNFORESEEN)
mutant("one pass: steps are not told", RESIDENT + " void book_steps(", "a.watch->step = step;", "a.watch->step = step - 1;", UNFORESEEN)
mutant("one pass: the last step is integrated", PASSES, "0}, is_last && !a.drifts};", "0}, false};", tests(ONE_PASS), UNFORESEEN)
HELD, ON_CHIP = "cuda/kernels/step_brick.cuh", BRICK + " " + ONE_PASS
mutant("held brick: sources of the first one", HELD + " void hold_sources(", "a.bricks.source[brick.source + s]", "a.bricks.source[s]", tests(ON_CHIP))
mutant("held brick: images are ignored", HELD + " void hold_sources(", "is_there && brick.has_images ?", "false ?", tests(ON_CHIP))
mutant("held brick: images of the first round", HELD + " void stage_held(", "held.images >> (8 * k)", "held.images", tests(ON_CHIP + " launch.block_size=64"))
mutant("held brick: the last row is left out", HELD + " void hold_brick(", "r < brick.end - brick.begin", "r < brick.end - brick.begin - 1", tests(ON_CHIP))
UNEVEN_BRICKS = ON_CHIP + " memory.brick_cells=2"
mutant("held brick: large ones as if they came first", HELD + " int brick_of_size(", "((j + 1) * m - 1) / n_large", "j", tests(UNEVEN_BRICKS), tests(ON_CHIP))
mutant("held brick: sizes by halves", HELD + " int brick_by_size(", "small & 4) == 0", "small & 4) != 0", tests(UNEVEN_BRICKS))
mutant("held brick: bricks twice", HELD + " int brick_by_size(", "j / n[0] % n[1]", "0", tests(UNEVEN_BRICKS))
mutant("held brick: no barrier", HELD + " void hold_brick(", "__syncthreads();", "", barrier(ON_CHIP))
mutant("held brick: velocities are lost", HELD + " void put_back(", "store<Pair>(a.now.velocity, held.i, moving.v.v, moving.v.w);", "", tests(ON_CHIP), UNFORESEEN)
mutant("held brick: not put back at a halt", PASSES, "            if (has_bricks) put_back(a, held);", "", UNFORESEEN)
mutant("held brick: not put back at the end", PASSES, "    if (has_bricks) put_back(a, held);\n    if", "    if", tests(ON_CHIP))
mutant("held brick: atoms do not keep what they gain", HELD + " float integrate_held(", "atom->moving = moving;", "", tests(ON_CHIP))
mutant("held brick: its atoms stay where they were", HELD + " float integrate_held(", "held->own.v = Vec3<Pair>", "Vec3<Pair> unused_place = Vec3<Pair>", tests(ON_CHIP))
mutant("held brick: others do not see its atoms move", HELD + " float integrate_held(", "store_position(a.now, held->i, moving.x, held->own.type, motion.to);", "", tests(ON_CHIP))
mutant("held brick: threads of a row before each other", HELD + " float integrate_held(", "if (row_threads > 1) __syncwarp();", "", barrier(ON_CHIP))
mutant("held brick: displacements are not told", HELD + " float integrate_held(", "displacement_sq(seen, atom->reference)", "0", UNFORESEEN)
mutant("held brick: four rounds of staging", HELD + " void stage_held(", "stage_brick(a, brick, HELD_SOURCES * MD_BLOCK, from, atoms);", "", tests(ON_CHIP + " launch.block_size=32"))
mutant("held brick: no barrier after staging", HELD + " void pass_held(", "__syncthreads(); /* all atoms", "/* all atoms", barrier(ON_CHIP))
mutant("held brick: parts are not added up", HELD + " void pass_held(", "add_up_row(&force);", "", tests(ON_CHIP))
mutant("held brick: one round of rows", HELD + " void pass_held(", "brick_rows<false>(", "if (false) brick_rows<false>(", tests(ON_CHIP + " launch.block_size=32"))
mutant("held brick: other bricks are left out", RESIDENT + " void make_pass(", "block += (int)gridDim.x;\n    }", "block = n_blocks;\n    }",
       tests(ON_CHIP + " memory.brick_cells=1 launch.block_size=1024"))
mutant("held brick: its forces are not kept", RESIDENT + " struct EndRow {", "finish_force(integrate.a, held->i, force);", ";", tests(ON_CHIP))
BY_KERNELS, PASS = "neighbor.rebuild=every launch.fuse=step launch.persistent=off launch.graph=on", RESIDENT + " k_step_pass("
mutant("passes: a device that was halted goes on", PASS, "if (was_halted(a, moved_sq_of(a, a.first))) return;", "", UNFORESEEN)
mutant("passes: blocks that come late are let go", "cuda/kernels/force.cuh bool was_halted(", " && !is_too_old(a, moved_sq)", "", UNFORESEEN)
mutant("passes: positions stay where they are", PASS, "bring_back(a, from);", "", UNFORESEEN)
mutant("passes: the displacement of the step before", PASS, "if (force_begin(a, moved_sq_of(a, a.first)))", "if (force_begin(a, moved_sq_of(a, a.first + 1)))", UNFORESEEN)
mutant("passes: reads what it writes", PASS, "{from, a.n_atoms - from, a.watch", "{from, from, a.watch", tests(BY_KERNELS), UNFORESEEN)
mutant("passes: displacements are not told", PASS, "end_pass(a, integrate.moved_sq, a.first + 1);", "end_pass(a, 0, a.first + 1);", UNFORESEEN)
mutant("passes: begin in the first copy", RESIDENT + " k_step_drift(", "a.first * (int64_t)a.n_atoms, 0}", "0, 0}", tests(BY_KERNELS), UNFORESEEN)
mutant("passes: the first displacements are those of everybody", RESIDENT + " k_step_drift(", "end_pass(a, moved_sq, a.first);", "end_pass(a, moved_sq, 0);", UNFORESEEN)
mutant("resident: forces are added to the last ones", RESIDENT + " void integrate_share(", "if constexpr (forces_add)", "if constexpr (false)",
       tests(PERSISTENT + "every " + SPLIT + "atomic"))
