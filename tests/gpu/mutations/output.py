"""Sums, and particles on their way out. See killers.py."""
from .killers import *  # the words of the table

# --- reduce ------------------------------------------------------------------------------------------------------------

BLOCK = "cuda/kernels/reduce.cuh"
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
for kind, words in (("double", "double"), ("float", "single run.precision=single"), ("Compensated", "compensated run.precision=mixed"), ("MdSplitSum", "reproducible")):
    mutant(f"halve {kind}: a third", BLOCK + f" void halve({kind}", "0.5f * sum.high" if kind == "Compensated" else "0.5", "0.3f * sum.high" if kind == "Compensated" else "0.3",
           tests(f"{LIST} reduce.accumulate={words}"))
REPRODUCIBLE = "reduce.accumulate=reproducible"
mutant("reproducible: the second part is left out", BLOCK + " void add_split(MdSplitSum", "sum.part[k] += part;", "if (k != 1) sum.part[k] += part;", tests(REPRODUCIBLE, "reproducible sums"))
mutant("reproducible: what is left is forgotten", BLOCK + " void add_split(MdSplitSum", "value = __dsub_rn(value, part);", "", tests(REPRODUCIBLE, "reproducible sums"))
mutant("reproducible: quanta that are too fine", BLOCK + " void add(MdSplitSum", "add_split<MD_SUM_BITS", "add_split<-20 + MD_SUM_BITS", over_ranks("test_bits", "thermostat"))
mutant("reproducible: the first part alone is handed on", BLOCK + " void add_to_totals(", "k % sum_parts", "0", tests(REPRODUCIBLE, "reproducible sums"))
for finish, old, new in (("atomic", "atomicAdd(&a.totals[first + k], sum);", "a.totals[first + k] += sum;"),
                         ("two-pass", "(int64_t)k * gridDim.x + blockIdx.x] = sum;", "(int64_t)k * gridDim.x + blockIdx.x] = blockIdx.x + 1 < gridDim.x ? sum : 0;"),
                         ("host", "(int64_t)k * gridDim.x + blockIdx.x] = sum;", "(int64_t)k * gridDim.x + blockIdx.x] = blockIdx.x + 1 < gridDim.x ? sum : 0;")):
    mutant(f"finish {finish}: " + ("a plain addition" if finish == "atomic" else "the last block is left out"), BLOCK + " void store_sum(", old, new,
           on_gpu(tests(f"reduce.finish={finish} launch.block_size=32")) if finish == "atomic" else tests(
               f"reduce.finish={finish} launch.block_size=32"))
mutant("number of pairs in single", BLOCK + " void add_to_totals(", "(double)sums[CUDA_PAIRS - FIRST];", "0;",
       tests("reduce.accumulate=single run.precision=single"))
REDUCE = "cuda/kernels/reduce.cu"
mutant("reduce sums: the last atom is left out", REDUCE + " k_reduce_sums(", "i < own_atoms(a);", "i < own_atoms(a) - 1;", tests())
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
mutant("reduce finish: into the next total", REDUCE + " k_reduce_finish(", "a.first_total + blockIdx.x", "a.first_total", tests(TWO))
# --- gather ------------------------------------------------------------------------------------------------------------

GATHER, GATHER_STATE = "cuda/kernels/gather.cu", "cuda/kernels/gather_state.cuh"
for kernel in ("types", "positions", "velocities", "images"):
    mutant(f"import {kernel}: the last atom is left out", GATHER_STATE + f" k_gather_import_{kernel}(", "if (i < 0) return;", "if (i < 0 || i == own_atoms(a) - 1) return;", tests())
mutant("import types: mass of type 0", GATHER_STATE + " k_gather_import_types(", "a.inverse_mass_of[type]", "a.inverse_mass_of[0]", tests())
mutant("import types: all of type 0", GATHER_STATE + " k_gather_import_types(", "((const int32_t *)a.in)[thread_index()];", "0;", tests())
mutant("import types: ids from one", GATHER_STATE + " k_gather_import_types(", "(has_domain ? a.n : 0) + i}", "i > 0 ? i - 1 : 0}", tests())
mutant("import: y for z", GATHER_STATE + " Vec3<T> import_vector(", "(T)xyz[2]", "(T)xyz[1]", tests())
mutant("import velocities: mass is lost", GATHER_STATE + " void import_velocity(", "load_velocity(a.now, i).w", "Pair(1)", tests("memory.layout=vec4"))
mutant("import images: y for z", GATHER_STATE + " k_gather_import_images(", "image[1], image[2]", "image[1], image[1]", tests())
mutant("gather: not wrapped", GATHER + " Wrapped<Out> wrapped(", "wrap((double)x.x, a.length[0], a.inverse[0], &tag.ix, round)", "(Out)x.x", tests())
mutant("gather: image z of y", GATHER + " Wrapped<Out> wrapped(", "tag.iy, tag.iz}", "tag.iy, tag.iy}", tests(), rows(), overlap(STEPWISE))
mutant("gather images: without those of the past", GATHER + " void gather_images(", "a.now.tag[i])", "CudaTag{0, 0, 0, 0})", tests(), rows(), overlap(STEPWISE))
mutant("gather vectors: z negated", GATHER + " void gather_vectors(", "(Out)v.z", "(Out)-v.z", tests())
NAIVE, SHARED, PADDED = ("output.pack=" + pack for pack in ("naive", "shared", "padded"))
mutant("gather naive: in memory's order", GATHER + " void gather_rows(", "(has_domain ? i : a.now.tag[i].id)", "i", tests(NAIVE + " memory.sort=cell"))
mutant("gather naive: y for z", GATHER + " void gather_rows(", "row[2] = x.z;", "row[2] = x.y;", tests(NAIVE))
mutant("gather naive: the last atom is left out", GATHER + " void gather_rows(", "if (i >= own_atoms(a)) return;", "if (i >= own_atoms(a) - 1) return;", tests(NAIVE))
mutant("gather places: in memory's order", GATHER + " k_gather_places(", "a.place_of_id[a.now.tag[i].id] = i;", "a.place_of_id[i] = i;", tests("memory.sort=cell"))
mutant("gather places: the last atom is left out", GATHER + " k_gather_places(", "i < own_atoms(a))", "i < own_atoms(a) - 1)", tests(), rows())
for pack in (SHARED, PADDED):
    mutant(f"gather {pack}: y for z", GATHER + " void gather_rows(", "+ t] = x.z;", "+ t] = x.y;", tests(pack))
    mutant(f"gather {pack}: no barrier", GATHER + " void gather_rows(", ("if (id >= 0) {", "__syncthreads();"), (LATE + " if (id >= 0) {", ";"), barrier(pack + " launch.block_size=128"))
    mutant(f"gather {pack}: the last number is left out", GATHER + " void gather_rows(", "k < 3 * n_rows;", "k < 3 * n_rows - 1;", tests(pack))
    mutant(f"gather {pack}: rows beyond the last", GATHER + " void gather_rows(", "min(min(own_atoms(a) - a.first_row, a.n_rows) - first, MD_BLOCK);", "MD_BLOCK;",
           tests(pack), overlap(STEPWISE))
mutant("gather padded: read without the pad", GATHER + " void gather_rows(", "k % 3 * tile_edge", "k % 3 * MD_BLOCK", tests(PADDED))
for what in ("positions", "velocities", "forces"):
    mutant(f"gather {what} single: nothing", GATHER + f" k_gather_{what}_single(", "{ gather_", "{ if (blockIdx.x > 0) gather_", tests())
mutant("seal: output of a stopped step counts", REDUCE + " k_reduce_seal(", "a.status->stopped ? -1 : a.row_step", "a.row_step", overlap(STEPWISE), overlap(BY_GRAPH))
mutant("seal: another total", REDUCE + " k_reduce_seal(", "a.totals[t]", "a.totals[0]", tests())
mutant("seal: no fault", REDUCE + " k_reduce_seal(", "fault_step = a.status->fault_step;", "fault_step = ~0ull;", overlap("every, step by step"))  # a stop would hide it

# --- observe -----------------------------------------------------------------------------------------------------------

OBSERVE = "cuda/kernels/observe.cu"
mutant("observe: the image is left out", OBSERVE + " double displacement_of(", "(double)x.y, tag.iy,", "(double)x.y, 0,", sampled("test_gas"))
mutant("observe: the image of another axis", OBSERVE + " double displacement_of(", "(double)x.x, tag.ix,", "(double)x.x, tag.iz,", sampled("test_gas"))
mutant("observe: the origin of another atom", OBSERVE + " double displacement_of(", "(double *)a.now.msd_origin + 3 * i;", "(double *)a.now.msd_origin + i / 2 * 6;", sampled("test_frames"))
mutant("observe: the origin stays that of the first window", OBSERVE + " double displacement_of(", "if (is_due(a.origins, MD_OBSERVE_DISPLACEMENT)) origin[axis] = now[axis];",
       "if (is_due(a.origins, MD_OBSERVE_DISPLACEMENT) && origin[axis] == 0) origin[axis] = now[axis];", sampled("test_frames"))
mutant("observe: two axes", OBSERVE + " double displacement_of(", "axis < 3;", "axis < 2;", sampled("test_frames"))
mutant("observe: the half kick that is due is left out", OBSERVE + " Vec3<Pair> velocity_of(", "if (a.kick_first) half_kick(a, load<Pair>(a.now.force, i), &v);", "", sampled("test_frames"))
mutant("observe: a half kick that is not due", OBSERVE + " Vec3<Pair> velocity_of(", "if (a.kick_first)", "", sampled("test_frames"))
mutant("observe: the first velocity of another atom", OBSERVE + " double velocities_of(", "(Pair *)a.now.vacf_origin + 3 * i;", "(Pair *)a.now.vacf_origin + i / 2 * 6;", sampled("test_frames"))
mutant("observe: the last atom is left out", OBSERVE + " k_observe_motion(", "i < own_atoms(a);", "i < own_atoms(a) - 1;", sampled("test_frames"))
mutant("observe: the other types", OBSERVE + " void add_of_type(", "t == type ?", "t != type ?", sampled("test_frames"))
mutant("observe: a device that has stopped", OBSERVE + " k_observe_motion(", ": comes_again(a)) return;", ": false) return;", sampled("test_seldom"))
mutant("observe: a list that will be too old", "cuda/kernels/stale.cuh bool comes_again(", " || is_too_old(a, &a.status->measures.moved_sq)", "", sampled("test_batches"))
mutant("observe: kept velocities are lost by a later stop", OBSERVE + " k_observe_motion(", " && a.status->step <= a.kept_step", "", sampled("test_batches"))
mutant("observe: kept velocities count twice", OBSERVE + " k_observe_motion(", "a.status->stopped && a.status->step <= a.kept_step", "false", sampled("test_batches"))
mutant("observe: velocities kept by the second pass", "cuda/kernels/batches/step.cu struct IntegrateAtom ", "item_place()->pass == 0", "item_place()->pass == 1", sampled("test_batches"))
mutant("observe: kept velocities of another atom", "cuda/kernels/integrate.cuh Pair *kept_velocity(", "vacf_origin + 3 * i", "vacf_origin + i / 2 * 6", sampled("test_batches"))
mutant("observe: the row of another sample", OBSERVE + " k_observe_motion(", "a.observed + a.observed_row *", "a.observed + a.observed_row / 2 *", sampled("test_frames"))
mutant("observe: plain additions", OBSERVE + " k_observe_motion(", "atomicAdd(", PLAIN, on_gpu(sampled("test_memory")))
COLUMNS = "cuda/kernels/columns.cuh"
mutant("columns: they stay behind", COLUMNS + " void store_columns(", ")[i] = entries.name;)", ")[i];)", sampled("test_frames"))
