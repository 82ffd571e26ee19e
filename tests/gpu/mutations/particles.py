"""Positions, layouts and the box; the sort. See killers.py."""
from .killers import *  # the words of the table

# --- positions, layouts, box ------------------------------------------------------------------------------------------

for layout, old, new in (("aos", "return Vec3<T>{xyz[0], xyz[1], xyz[2]};", "return Vec3<T>{xyz[0], xyz[1], xyz[1]};"),
                         ("soa", "((const T *)v.part[2])[i]}", "((const T *)v.part[1])[i]}"),
                         ("vec4", "return Vec3<T>{x.x, x.y, x.z};", "return Vec3<T>{x.x, x.x, x.z};")):
    mutant(f"load {layout}: one component for another", COMMON + " Vec3<T> load(", old, new,
           tests(f"memory.layout={layout}"))
mutant("store aos: z is lost", COMMON + " void store(", "xyz[2] = x.z;", "", tests("memory.layout=aos"))
mutant("store soa: z is lost", COMMON + " void store(", "((T *)v.part[2])[i] = x.z;", "", tests("memory.layout=soa"))
mutant("store vec4: the fourth is lost", COMMON + " void store(", "x.z, w}", "x.z, T(0)}", tests("memory.layout=vec4"))
mutant("load_full: the fourth of another", COMMON + " Full<T> load_full(", "x.z}, x.w}", "x.z}, x.z}", tests("memory.layout=vec4"))
mutant("load_type vec4: always 0", COMMON + " int load_type(", "return type_of(word_of(((const Vec4<Pair> *)p.position.part[0])[i + from].w));",
       "return 0;", tests("memory.layout=vec4"))
MIXED = "run.precision=mixed "
mutant("store_position: nothing is written", COMMON + " void store_place(", "store<Pair>(p.position, i + to, place.rounded, word_bits(place.word));", "", tests(MIXED))
mutant("place_of: low bits of another axis", COMMON + " Place place_of(", "low_in_word(low[2], 2)", "low_in_word(low[1], 2)", held(MIXED))
mutant("store_position: no low bits but with vec4", COMMON + " void store_place(", "p.low[i] = place.word;", "", held(MIXED + "memory.layout=soa"))
mutant("place_of: the type below the low bits", COMMON, "(unsigned)type << type_shift", "(unsigned)type", held(MIXED), tests(MIXED))
mutant("storable: cut off", COMMON + " State storable(", "+ (1ll << (dropped_bits - 1))", "", held(MIXED, "3-D uneven, near bits"))
mutant("storable: the rest is kept", COMMON + " State storable(", "& ~((1ll << dropped_bits) - 1)", "",
       bits(MIXED + "force.kernel=brick launch.fuse=step launch.persistent=on"))
mutant("storable: small numbers stay", COMMON + " State storable(", "is_small ? 0.0 : ", "", held(MIXED, "3-D uneven, near bits"))
mutant("split: not the nearest float", COMMON + " Pair split(", "__double_as_longlong(x) + low_half", "__double_as_longlong(x)", held(MIXED))
mutant("join: from the float on", COMMON + " double join(", " - low_half", "", held(MIXED), tests(MIXED))
mutant("join: low bits of x for y", COMMON + " Vec3<State> join(", "low_of_word(word, 1)", "low_of_word(word, 0)", held(MIXED), tests(MIXED))
mutant("word: without the last bits", COMMON + " unsigned low_in_word(", " | (low & 1u) << (last_bits_shift + axis)", "", held(MIXED))
mutant("word: the last bit of x for all", COMMON + " unsigned low_of_word(", "(last_bits_shift + axis)", "last_bits_shift", held(MIXED))
mutant("copy_rounded: the word stays behind", COMMON + " Vec3<Pair> copy_rounded(", "position.part[0])[j].w", "position.part[0])[i].w", AGAIN_TYPES, UNFORESEEN)
mutant("reorder: the word stays behind", "cuda/kernels/sort.cu int put_into_slot(", "sorted.rounded.v, sorted.rounded.w", "sorted.rounded.v, Pair(0)", held(MIXED), tests(MIXED))
mutant("reorder: low bits of another", "cuda/kernels/sort.cu Carried pick_up(", "from.low[i]", "from.low[0]", held(MIXED + "memory.layout=aos memory.sort=cell"))
for axis, letter in enumerate("xyz"):
    mutant(f"separation: no image along {letter}", SEPARATION + " Vec3<Pair> separation(",
           f"if (MD_PERIODIC_{letter.upper()}) ", "if (false) ",
           tests("neighbor.search=brute force.kernel=list", "3-D"))
mutant("separation: by an edge as single precision has it", SEPARATION + " Pair nearest_image(", "if constexpr (!is_double)", "if constexpr (false)", boundary("mixed, list"))
mutant("separation: z does not count", SEPARATION + " Vec3<Pair> separation(", "x.z - y.z : Pair(0)", "Pair(0) : Pair(0)",
       tests("neighbor.search=brute"))
mutant("squared: minus", SEPARATION + " Pair squared(", "d.x * d.x + d.y * d.y + d.z * d.z", "d.x * d.x + d.y * d.y - d.z * d.z", tests())
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
mutant("fetch_atom: every atom is of type 0", POSITION + " Atom fetch_atom(", "MD_SEVERAL_TYPES ? fetch(p.type, i) : 0", "0",
       tests("memory.layout=aos"))
mutant("fetch_atom vec4: every atom is of type 0", POSITION + " Atom atom_at(", "MD_SEVERAL_TYPES ? type_of(place.word) : 0", "0",
       tests("memory.layout=vec4"))

# --- sort --------------------------------------------------------------------------------------------------------------

mutant("sort wrap: x stays outside", SORT + " unsigned wrap_into_cell(", "x.x = wrap_ahead(x.x, way.x, a.length[0], a.inverse[0], &tag.ix, round);", "",
       rows(CELLS), tests(CELLS))
mutant("sort wrap: z by the edge of y", SORT + " unsigned wrap_into_cell(", "a.length[2]", "a.length[1]", tests(CELLS), rows(CELLS))
mutant("sort wrap: the tag stays", SORT + " unsigned wrap_into_cell(", " a.now.tag[i] = tag;", " ;", tests(CELLS))
for axis, systems in ("x", BOTH), ("y", "2-D mixed boundary, 2 types"), ("z", BOTH):
    mutant(f"sort wrap: who leaves along {axis} alone keeps the image", SORT + " unsigned wrap_into_cell(", f"tag.i{axis} != before.i{axis}", "false", tests(CELLS, systems))
mutant("sort wrap: no reference positions", SORT + " unsigned wrap_into_cell(", "store<Pair>(a.reference, i, place, Pair(0));", "",
       tests(CELLS + " memory.sort=none neighbor.rebuild=host-check"), rows(CELLS + " memory.sort=none neighbor.rebuild=host-check"))
mutant("sort wrap: no lateness", SORT + " k_sort_wrap(", "was_too_far(a, i, x)", "false", rows("neighbor.search=cell", "never late|late"))
mutant("sort wrap: lateness of the first thread", SORT + " k_sort_wrap(", "__syncthreads_or(is_there && was_too_far(a, i, x))", "was_too_far(a, i, x)", rows("neighbor.search=cell", "one is late"))
mutant("sort wrap: lateness of the wrong moment", SORT + " bool was_too_far(", "x.y - time * v.y", "x.y + 9 * time * v.y", rows("neighbor.search=cell", "never late|late"))
mutant("sort wrap: each atom is a late build", SORT + " void book_lateness(", "if (atomicMax(&a.status->late_build, build) < build) ", "", rows("neighbor.search=cell", "never late|late"))
mutant("sort wrap: measures of the builds before", SORT + " k_sort_wrap(", "a.status->measures = CudaMeasures{};", "", CROWDS)
mutant("sort wrap: the last atom is left out", SORT + " k_sort_wrap(", "is_there = i < own_atoms(a);", "is_there = i < own_atoms(a) - 1;",
       held(CELLS + " memory.sort=none"))
mutant("cell_along: next cell", GRID + " int cell_along(", "floor((x - origin) * inverse_edge)", "floor((x - origin) * inverse_edge + 0.5)",
       tests(CELLS), rows(CELLS))
mutant("cell_along: no upper clamp", GRID + " int cell_along(", "(double)(n - 1)", "(double)n",
       rows(CELLS, "2-D, far atoms|3-D, far atoms"), tests(CELLS, "3-D open, 3 types"))
mutant("cell number: y and z swapped", GRID + " int cell_number(", "(at.z * grid.n[1] + at.y) * grid.n[0] + at.x", "(at.y * grid.n[1] + at.z) * grid.n[0] + at.x",
       tests(CELLS, "3-D uneven, shift force|3-D"))
BY_WARP = COUNT_IN_CELL + " int count_particle("
IN_NO_ORDER = CELLS + " memory.sort=none"
mutant("sort bin: plain addition", BY_WARP, "= atomicAdd(", f"= {PLAIN}", on_gpu(tests(CELLS)))
mutant("sort bin: plain addition, in no order", BY_WARP, "return atomicAdd(", f"return {PLAIN}", on_gpu(tests(IN_NO_ORDER)))
mutant("sort bin: arrival from one, in no order", BY_WARP, "return atomicAdd(count, 1);", "return atomicAdd(count, 1) + 1;", tests(IN_NO_ORDER))
mutant("sort bin: arrival from one", BY_WARP, "__popc(same));", "__popc(same)) + 1;", tests(CELLS))
mutant("sort bin: a warp is one atom", BY_WARP, "atomicAdd(count, __popc(same))", "atomicAdd(count, 1)", tests(CELLS))
mutant("sort bin: a warp is in one place", BY_WARP, "+ __popc(same & ((1u << lane) - 1))", "+ 0", tests(CELLS))
mutant("sort bin: a warp is of one cell", BY_WARP, "__match_any_sync(lanes_below(n), place)", "__match_any_sync(lanes_below(n), 0)", tests(CELLS))
mutant("sort bin: the last atom is left out", SORT + " unsigned wrap_into_cell(", "    count_in_cell(", "    if (i + 1 < stored_atoms(a)) count_in_cell(", tests(CELLS))
mutant("sort bin: makes the same cells again otherwise", SORT + " k_sort_bin(", "load<Pair>(a.now.position, i)", "load<Pair>(a.now.position, 0)", AGAIN)
SCAN = CELLS + " launch.block_size=32"
FEW = CELLS + " launch.block_size=64"  # for one block, in several rounds
mutant("block_scan: one round too few", SCANS + " int block_scan(", "distance < 32", "distance < 16", tests(SCAN, MANY))
mutant("block_scan: off by a lane", SCANS + " int block_scan(", "lane >= distance", "lane > distance", tests(SCAN, MANY))
mutant("block_scan: sum of another lane", SCANS + " int block_scan(", "lane == 31", "lane == 30", held(FEW, "3-D dilute, many cells"), tests(CELLS, MANY))
mutant("block_scan: a warp twice", SCANS + " int block_scan(", "w < warp ?", "w <= warp ?", held(FEW, "3-D dilute, many cells"), tests(CELLS, MANY))
mutant("block_scan: no barrier", SCANS + " int block_scan(", "__syncthreads(); /* all sums", "/* all sums",
       barrier(CELLS + " launch.block_size=256", MANY))
mutant("scan tiles: sum of another thread", SORT + " k_sort_scan_tiles(", "threadIdx.x == MD_BLOCK - 1", "threadIdx.x == MD_BLOCK - 2", tests(SCAN, MANY))
for some, cells in (("few", (held(FEW, "3-D dilute, many cells"), tests(CELLS, MANY))), ("sums", (tests(SCAN, MANY),))):
    mutant(f"scan {some}: inclusive", SORT + " void scan_by_block(", "next = up_to - sum;", "next = up_to;", *cells)
    mutant(f"scan {some}: neighbours share a place", SORT + " void scan_by_block(", "next += own[k];", "", *cells)
    mutant(f"scan {some}: the last number is left out", SORT + " void scan_by_block(", "if (begin + k < n) starts", "if (begin + k < n - 1) starts", *cells)
mutant("scan few: rounds forget", SORT + " void scan_by_block(", "before = s_before;", "", held(FEW, "3-D dilute, many cells"))
mutant("scan few: no barrier after the write", SORT + " void scan_by_block(", "        __syncthreads();\n", "", held(FEW, "3-D dilute, many cells"),
       *barrier(CELLS, MANY))
mutant("scan finish: inclusive", SORT + " k_sort_scan_finish(", "+ sum - own", "+ sum", tests(SCAN, MANY))
mutant("scan finish: the last number is left out", SORT + " k_sort_scan_finish(", "if (k >= a.n) return;", "if (k >= a.n - 1) return;", tests(SCAN, MANY))
mutant("scan finish: counts stay", SORT + " k_sort_scan_finish(", "a.cell_count[k] = 0;", "", tests(SCAN, MANY), held(SCAN))
FEW_RANKS = SORT + " k_sort_rank_few("
mutant("rank few: counts stay", FEW_RANKS, "((int *)a.out)[k] = 0;", "", rows(FEW, IN_MOTION))
mutant("rank few: nobody else knows the starts", FEW_RANKS, "a.cell_start[k] = is_sorted(a) ? s_start[k] : 0;", ";", tests(CELLS))
mutant("rank few: the first starts alone", FEW_RANKS, "k < a.n; k += grid_size()", "k < min(a.n, 8); k += grid_size()", tests(CELLS))
mutant("rank few: the last atom is left out", FEW_RANKS, "is_there = i < sorted_slots(a) &&", "is_there = i < sorted_slots(a) - 1 &&", tests(CELLS))
mutant("rank few: from the first slot on", FEW_RANKS, "place, begin + smaller, sorted", "place, smaller, sorted", tests(CELLS))
mutant("rank few: a crowd is cut off", FEW_RANKS, "fits = n <= a.keys_per_cell;", "fits = true;", MANY_KEYS)
mutant("rank few: a crowd is not told of", FEW_RANKS, "a.host_status->largest_cell = n;", "a.host_status->largest_cell;", FEW_CELLS)
mutant("rank few: told of when there is none", FEW_RANKS, "if (!fits)", "", FEW_CELLS)
mutant("rank few: all atoms are one crowd", SORT + " int count_smaller_of_all(", "a.place[i] == place && ", "", MANY_KEYS)
mutant("keys: one more than there is room for", COUNT_IN_CELL + " void count_at(", "arrival < a.keys_per_cell", "arrival <= a.keys_per_cell", MANY_KEYS)
mutant("keys: those of the cell before", COUNT_IN_CELL + " SlotKey *keys_of_few(", "(int64_t)place * a.keys_per_cell", "(int64_t)max(place - 1, 0) * a.keys_per_cell", tests(CELLS))
mutant("sort bin: all arrive first", COUNT_IN_CELL + " void count_at(", "a.arrival[i] = arrival;", "a.arrival[i] = 0;", tests(SCAN, MANY))
mutant("scatter: without arrival", SORT + " k_sort_scatter(", " + a.arrival[i]]", "]", tests(SCAN, MANY))
mutant("rank: the cell's last is not counted", SORT + " k_sort_rank(", "end - begin, slot_key", "end - begin - 1, slot_key", tests(SCAN, MANY), held(SCAN))
mutant("count smaller: nor the last but seven", SORT + " int count_smaller(", "first < n;", "first + at_once <= n;", tests(CELLS))
mutant("count smaller: eight where there are fewer", SORT + " int count_smaller(", "first + k < n ? keys[first + k] : key", "keys[first + k]", emulated(tests(CELLS)), tests(SCAN, MANY))
mutant("count smaller: equal ids", SORT + " int count_smaller(", "other[k] < key", "other[k] <= key", tests(CELLS))
mutant("rank: slots of another cell", SORT + " int put_into_slot(", "a.place_cell[place] : place;", "max(a.place_cell[place] - 1, 0) : max(place - 1, 0);", tests(CELLS))
mutant("rank: places for cells", SORT + " int put_into_slot(", "is_placed ? a.place_cell[place] : place", "place", tests(CELLS + " memory.sort=hilbert"))
SORTED = CELLS + " memory.sort=cell"
mutant("rank: order of arrival", SORT + " k_sort_rank(", "count_smaller((const SlotKey *)a.slot_key + begin, end - begin, slot_key(a, i))", "a.arrival[i]", bits("force.kernel=cell memory.sort=cell"))
mutant("reorder: tags of another", SORT + " Carried pick_up(", "from.tag[i]", "from.tag[0]", tests(SORTED))
mutant("reorder: types of another", SORT + " Carried pick_up(", "from.type[i]", "from.type[0]",
       tests(SORTED + " memory.layout=soa"))
mutant("reorder: masses stay behind", SORT + " void put_down(", "[i] = carried.v.w;", "[i] = ((Pair *)to.inverse_mass)[0];",
       tests(SORTED + " memory.layout=soa"))
mutant("reorder: velocities of another", SORT + " Carried pick_up(", "load_velocity(from, i)", "load_velocity(from, 0)", tests(SORTED))
mutant("reorder: no reference positions", SORT + " put_into_slot(", "store<Pair>(a.reference, slot, place_ahead(sorted.rounded.v, way_ahead(a, sorted.carried.v.v)), Pair(0));", ";",
       tests(SORTED + " neighbor.rebuild=host-check"), rows(SORTED + " neighbor.rebuild=host-check"))
CARRY = SORT + " void put_down("
mutant("carry: velocities stay", CARRY, "store<Pair>(to.velocity, i, carried.v.v, carried.v.w);", "", tests(SORTED))
mutant("carry: tags stay", CARRY, "to.tag[i] = carried.tag;", "", tests(SORTED))
mutant("carry: types stay", CARRY, "to.type[i] = carried.type;", "", tests(SORTED + " memory.layout=soa"))
mutant("carry: last bits stay", CARRY, "if (is_mixed) to.low[i] = carried.low;", "", tests(SORTED + " memory.layout=soa run.precision=mixed"))
mutant("carry: masses stay", CARRY, "((Pair *)to.inverse_mass)[i] = carried.v.w;", "", tests(SORTED + " memory.layout=aos"))
mutant("rank: the last atom is left out", SORT + " k_sort_rank(", "if (i >= sorted_slots(a) ||", "if (i >= sorted_slots(a) - 1 ||", tests(SCAN, MANY))

for curve, old, new in (
        ("morton", "return md_curve_morton((uint32_t)x, (uint32_t)y, (uint32_t)z);", "return 0;"),
        ("hilbert", "return md_curve_hilbert(MD_DIMENSION, bits - level, (uint32_t)x, (uint32_t)y, (uint32_t)z);", "return 0;")):
    CURVE = f"{CELLS} memory.sort={curve}"
    mutant(f"curve {curve}: no order", SORT + " uint64_t octant_key(", old, new, tests(CURVE))
    mutant(f"curve {curve}: the first octant is left out", SORT + " k_sort_curve(", "octant = 0;", "octant = 1;", tests(CURVE), held(CURVE))
    mutant(f"curve {curve}: cells in rows", SORT + " k_sort_curve(", "put_cell(a, c, place);", "put_cell(a, c, c);", held(CURVE))
    mutant(f"curve {curve}: the last cell is left out", SORT + " k_sort_curve(", "if (c >= a.n) return;", "if (c >= a.n - 1) return;", held(CURVE))
mutant("curve: its own octant counts", SORT + " k_sort_curve(", ">= own) continue;", "> own) continue;", tests(CELLS + " memory.sort=morton"))
mutant("curve: octants reach beyond the grid", SORT + " int octant_cells(", "min(max(n - (o << level), 0), 1 << level)", "1 << level",
       tests(CELLS + " memory.sort=morton"))
mutant("curve hilbert: the last octant is left out", SORT + " k_sort_curve(", "octant < 1 << MD_DIMENSION", "octant < (1 << MD_DIMENSION) - 1",
       held(CELLS + " memory.sort=hilbert"))  # Morton's is never before another
mutant("curve hilbert: of another size", SORT + " uint64_t octant_key(", "bits - level", "bits", held(CELLS + " memory.sort=hilbert"))
