"""Integration, and many steps in one launch. See killers.py."""
from .killers import *  # the words of the table

# --- integrate ---------------------------------------------------------------------------------------------------------

MOVE = "cuda/kernels/integrate.cuh"
FUSED, APART = "launch.fuse=on launch.graph=off launch.persistent=off", "launch.fuse=off launch.graph=off launch.persistent=off"
mutant("half_kick: wrong sign", MOVE + " void half_kick(", "v->v.y += c", "v->v.y -= c", tests(FUSED))
mutant("half_kick: whole kick", MOVE + " void half_kick(", "half_step(a) * v->w", "half_step(a) * 2 * v->w", tests(FUSED))
mutant("half_kick: without mass", MOVE + " void half_kick(", "half_step(a) * v->w", "half_step(a)", tests(FUSED))
mutant("half_kick: z is lost", MOVE + " void half_kick(", "v->v.z += c * f.z;", "", tests(FUSED))
mutant("drift: z is lost", MOVE + " void drift(", "x->z + (State)d.z", "x->z", tests(FUSED))
mutant("drift: half a step", "cuda/kernels/bath.cuh Vec3<Pair> pass_drift(", "whole_step(a)", "half_step(a)", tests(FUSED))
mutant("drift: faults pass", MOVE + " void drift(", "distance_sq <= fault_sq(a)", "true", FAULTS)
mutant("raise_fault: step before", MOVE + " void raise_fault(", "a.status->step + 1;", "a.status->step;", FAULTS)
RAISE = MOVE + " void raise_fault("
mutant("raise_fault: later steps replace it", RAISE, "if (atomicMin(counts ? &a.status->fault_step : &a.queue.check->fault_step, step) < step) return;", "a.status->fault_step = step;", FAULTS)
mutant("raise_fault: what was found first", RAISE, "if (atomicMin(counts ? &a.status->fault_step : &a.queue.check->fault_step, step) < step) return;",
       "const unsigned long long seen = atomicCAS(&a.status->fault_step, ~0ull, step);\n    if (seen != ~0ull && seen != step) return;", LEAPERS)
mutant("raise_fault: later steps are noted as well", RAISE, ", step) < step) return;", ", step) == 0) return;", LEAPERS)
mutant("raise_fault: the last one to tell", RAISE, "atomicMin(&a.status->fault_key[step % CUDA_GRAPH_STEPS],", "atomicExch(&a.status->fault_key[step % CUDA_GRAPH_STEPS],", LEAPERS, FAULTS)
mutant("raise_fault: another id", RAISE, "(unsigned long long)id << 32", "(unsigned long long)(id + 1) << 32", FAULTS)
mutant("displacement: z does not count", COMMON + " float displacement_sq(", " + dz * dz", "", rows("neighbor.rebuild=host-check " + APART, IN_MOTION),
       rows(DEVICE, IN_MOTION))
for fuse, switches in (("on", FUSED), ("off", APART)):
    mutant(f"displacement: always 0, fuse {fuse}", COMMON + " float displacement_sq(", "(float)(dx * dx", "0 * (float)(dx * dx",
           rows("neighbor.rebuild=host-check " + switches, IN_MOTION))
mutant("integrate_atom: the kick before is forgotten", MOVE + " void move(", "if (kick_first) half_kick(a, f, &moving->v);", "", tests(FUSED))
mutant("integrate_atom: kicked once too often", MOVE + " void move(", "if (kick_first) half_kick", "half_kick", tests(FUSED))
mutant("integrate_atom: velocity is not stored", MOVE + " float integrate_by(", "store<Pair>(to.velocity, i, moving.v.v, moving.v.w);", "", tests(FUSED))
mutant("integrate_atom: drift by the old velocity", MOVE + " void move(", "drift(a, i, noise, type, motion, moving, heat);", "Moving old = *moving; old.v = load_velocity(a.now, i); drift(a, i, noise, type, motion, &old, heat); moving->x = old.x;", tests(FUSED))
STEP = "cuda/kernels/integrate.cu"
mutant("kick_drift: the last atom is left out", STEP + " k_integrate_kick_drift(", "if (i < own_atoms(a))", "if (i < own_atoms(a) - 1)", tests(FUSED))
mutant("kick_drift: the displacement of the last block", STEP + " k_integrate_kick_drift(", "if (threadIdx.x == 0)", "if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)",
       rows("neighbor.rebuild=host-check " + FUSED, IN_MOTION))
mutant("kick_drift: moves on while stopped", STEP + " k_integrate_kick_drift(", "if (a.status->stopped) return;", "", rows(DEVICE + " " + FUSED, IN_MOTION))
mutant("kick: the last atom is left out", STEP + " k_integrate_kick(", "if (i >= own_atoms(a)) return;", "if (i >= own_atoms(a) - 1) return;", tests(APART), tests(FUSED))
mutant("drift kernel: the last atom is left out", STEP + " k_integrate_drift(", "if (i < own_atoms(a))", "if (i < own_atoms(a) - 1)", tests(APART))
mutant("drift kernel: does not say so", STEP + " k_integrate_drift(", "a.status->drifted = 1;", ";", rows(DEVICE + " " + APART, IN_MOTION))
mutant("check: the last block is left out", STEP + " k_integrate_check(", "if (i < own_atoms(a))", "if (i < own_atoms(a) && blockIdx.x + 1 < gridDim.x)",
       rows("neighbor.rebuild=host-check launch.block_size=128 " + APART, IN_MOTION))
mutant("check: a plain maximum", STEP + " k_integrate_check(", "atomicMax(&a.status->measures.moved_sq, __float_as_uint(moved_sq[0]));",
       "a.status->measures.moved_sq = __float_as_uint(moved_sq[0]);", rows("neighbor.rebuild=host-check launch.block_size=32 " + APART, IN_MOTION))
mutant("scale: z is left out", STEP + " k_integrate_scale(", "v.v.z = (Pair)((double)v.v.z * a.factor + a.shift[2]);", "", tests())
mutant("scale: the last atom is left out", STEP + " k_integrate_scale(", "if (i >= own_atoms(a)) return;", "if (i >= own_atoms(a) - 1) return;", tests())
BATH = "cuda/kernels/bath.cuh"
# Friction and noise on each atom: test_backends walks them with each value of each switch.
mutant("bath: the noise of another atom", BATH + " Noise draw_noise(", "(unsigned)a.now.tag[i].id", "(unsigned)i", tests())
mutant("bath: the noise of the step before", BATH + " Noise draw_noise_of(", "+ a.step_offset;", "+ a.step_offset - 1;", tests())
mutant("bath: the mass is left out", BATH + " Pair bath_width(", "a.bath.root[type]", "1", tests())
mutant("bath: it goes on after its last step", BATH + " Noise draw_noise_of(", "noise.step <= a.bath.last_action", "true", tests())
mutant("bath: drift by the new velocity alone", BATH + " Vec3<Pair> pass_drift(", "half_step(a) * both", "whole_step(a) * after", tests())
mutant("bath: heat without mass", BATH + " Vec3<Pair> pass_drift(", "whole_quanta(quanta * energy)", "whole_quanta((Pair)(1 / a.bath.quantum) * energy)", tests())
mutant("bath: heat of a discarded pass counts", "cuda/kernels/batches/step_queue.cuh void end_heat(", "if (pass < n_passes) sum", "sum", queue("unforeseen"))
mutant("bath: heat of steps that are made again counts twice", "cuda/kernels/batches/step.cu void make_fused_steps(", "                heat = Heat{};\n", "", SPECULATION)
mutant("bath: heat of the first warp alone", BATH + " void take_heat(", "warp < n_warps", "warp < 1", tests("launch.block_size=128"))

# --- steps in one launch ---------------------------------------------------------------------------------------------------

RESIDENT = "cuda/kernels/batches/step.cu"
PERSISTENT = "launch.persistent=on launch.fuse=on neighbor.rebuild="
mutant("resident: no barrier after the drift", RESIDENT + " void make_steps(", "grid_barrier<false>(barrier, false);\n        /* the whole", "/* the whole",
       tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), tests(PERSISTENT + "every", seed=12), race(PERSISTENT + "every"))
mutant("resident: no barrier after the forces", RESIDENT + " void make_steps(", "forces);\n        grid_barrier<false>(barrier, false);", "forces);",
       tests(PERSISTENT + "every launch.block_size=32"), tests(PERSISTENT + "every launch.block_size=32", seed=11),
       tests(PERSISTENT + "every launch.block_size=32", seed=12), race(PERSISTENT + "every"))
mutant("resident: the last block is left out", RESIDENT + " void make_steps(", "block < n_blocks;", "block < n_blocks - 1;",
       tests(PERSISTENT + "every run.precision=double"))  # where forces that are a step old are far off
mutant("resident: one step too few", RESIDENT + " void make_steps(", "step < a.n;", "step < a.n - 1;", tests(PERSISTENT + "every"))
mutant("resident: goes on while stopped", RESIDENT + " void make_steps(", "if (force_begin(a, &a.status->measures.moved_sq)) return;", "force_begin(a, &a.status->measures.moved_sq);", UNFORESEEN)
mutant("resident: the drift is not told", RESIDENT + " void make_steps(", "*(volatile unsigned *)&a.status->drifted = 1;", ";", tests(PERSISTENT + "device-check"),
       rows(PERSISTENT + "device-check", IN_MOTION))
BARRIER = "cuda/kernels/batches/barrier.cuh"
mutant("grid barrier: does not wait", BARRIER + " bool grid_barrier(", "< barrier->target) {", "< 0u) {",
       tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), tests(PERSISTENT + "every", seed=12))
mutant("grid barrier: threads do not wait for their block", BARRIER + " bool grid_barrier(", "    __syncthreads();\n    return false;",
       "    return false;", tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), race(PERSISTENT + "every"))
mutant("grid barrier: flags are not raised", BARRIER + " bool grid_barrier(", "if (FLAGS && raises) atomicOr", "if (false) atomicOr", UNFORESEEN)
mutant("grid barrier: one thread sees the flag", BARRIER + " bool grid_barrier(", "return __syncthreads_or(raised);", "{ __syncthreads(); return raised; }", UNFORESEEN)
mutant("grid barrier: arrivals of the launch before last", BARRIER + " GridBarrier begin_barrier(", "if (thread_index() == 0)", "if (false)",
       tests(PERSISTENT + "every"), tests(PERSISTENT + "every", seed=11), tests(PERSISTENT + "every", seed=12), UNFORESEEN)
ONE_PASS, PASSES = "launch.persistent=on launch.fuse=step neighbor.rebuild=every", RESIDENT + " void make_fused_steps("
mutant("one pass: reads what it writes", PASSES, "{from, a.stride - from, now", "{from, from, now", tests(ONE_PASS), tests(ONE_PASS, seed=11),
       tests(ONE_PASS, seed=12), UNFORESEEN)
mutant("one pass: the other copy is not read", PASSES, "        from = a.stride - from;", "", tests(ONE_PASS), UNFORESEEN)
mutant("one pass: begins in the wrong copy", PASSES, "% 2 == 0", "% 2 != 0", tests(ONE_PASS), UNFORESEEN)
mutant("one pass: a drift at the end in the wrong copy", PASSES, "(a.n + a.drifts)", "a.n", tests(ONE_PASS), bits(ONE_PASS))
mutant("one pass: no drift at the end", PASSES, "is_last && !a.drifts", "is_last", tests(ONE_PASS), bits(ONE_PASS))
mutant("one pass: integrates what is integrated", PASSES, "if (!a.begins)", "", tests(ONE_PASS), bits(ONE_PASS))
mutant("one pass: waits for nobody after the first forces", PASSES, "(may_roll_back ? step >= apart : grid_wide)", "(may_roll_back && step >= apart)", tests(ONE_PASS), tests(ONE_PASS, seed=11), tests(ONE_PASS, seed=12),
       race(ONE_PASS))
mutant("one pass: a step that has stopped is booked again", PASSES, "a.begins ? a.status->pass_step[0] : ", "", UNFORESEEN)
mutant("pass: as of the step before", RESIDENT + " k_step_pass(", "[a.buffer] + 1;", "[a.buffer];", COLLISION)
mutant("pass: the next one is not told the step", RESIDENT + " k_step_pass(", "if (thread_index() == 0) a", "if (false) a", COLLISION)
mutant("drift of passes: does not tell the step", RESIDENT + " k_step_drift(", "if (i == 0) a", "if (false) a", COLLISION)
mutant("sort: does not tell the step", SORT + " k_sort_wrap(", "a.status->pass_step[0] = a.status->step + a.status->drifted;", "", COLLISION)
mutant("one pass: a drift at the end is not told", PASSES, "if (a.drifts) end_pass(a, moved_sq, 0);", "", UNFORESEEN)
mutant("one pass: no barrier between passes", PASSES, "barrier_of_all<has_check>(a, barrier, moved_sq > a.stale_sq)", "(moved_sq > a.stale_sq && has_check)", tests(ONE_PASS), tests(ONE_PASS, seed=11), tests(ONE_PASS, seed=12),
       race(ONE_PASS))
mutant("one pass: the last block is left out", RESIDENT + " void make_pass(", "block < n_blocks;", "block < n_blocks - 1;", tests(LIST + " " + ONE_PASS + " run.precision=double"))
mutant("one pass: goes on while stopped", PASSES, "if (has_check && __any_sync(whole_warp, stops)) {", "if (false) {", UNFORESEEN)
mutant("one pass: positions stay where they are", RESIDENT + " void bring_back(", "if (from == 0) return;", "return;", UNFORESEEN)
mutant("one pass: displacements are not told", PASSES, "moved_sq = end.moved_sq;", "", UNFORESEEN)
mutant("one pass: the step before", PASSES, "first + (unsigned long long)step;", "first + (unsigned long long)step - 1;", UNFORESEEN)
mutant("one pass: a stop is not told", RESIDENT + " void book_steps(", "if (stops) set_stop_flag(a, CUDA_STOPPED_STALE);", "", UNFORESEEN)
mutant("one pass: steps are not told", RESIDENT + " void book_steps(", "a.status->step = step;", "a.status->step = step - 1;", UNFORESEEN)
mutant("one pass: the last step is integrated", PASSES, "                      keeps,", "                      false,", tests(ONE_PASS), UNFORESEEN)
HELD, ON_CHIP = "cuda/kernels/batches/step_brick.cuh", BRICK + " " + ONE_PASS
mutant("held brick: sources of the first one", HELD + " void hold_sources(", "a.bricks.source[brick.source + s]", "a.bricks.source[s]", tests(ON_CHIP))
mutant("held brick: images are ignored", HELD + " void hold_sources(", "is_there && brick.has_images ?", "false ?", tests(ON_CHIP))
mutant("held brick: images of the first round", HELD + " ImageShift held_shift(", "held.images >> (8 * k)", "held.images", tests(ON_CHIP + " launch.block_size=64"))
mutant("held brick: by an edge as single precision has it", HELD + " void hold_brick(", "is_as_copied(brick) ?",
       "is_as_copied(brick) || fabs(((const Pair *)shifts_of_brick(a, (int)blockIdx.x))[threadIdx.x]) < 1e-4 ?", boundary("ways"))
mutant("held brick: shifts of the first brick", HELD + " void hold_brick(", "shifts_of_brick(a, (int)blockIdx.x)", "shifts_of_brick(a, 0)", tests(ON_CHIP + " memory.brick_grid=device", "3-D"))
mutant("held brick: copies that are measured from elsewhere", HELD + " void hold_brick(", "is_as_copied(brick) ?", "false ?", tests(ON_CHIP + " run.precision=single memory.staging=async memory.brick_cells=1"))
mutant("held brick: the last row is left out", HELD + " void hold_brick(", "r < brick.end - brick.begin", "r < brick.end - brick.begin - 1", tests(ON_CHIP))
mutant("held brick: no barrier", HELD + " void hold_brick(", "__syncthreads();", "", barrier(ON_CHIP))
mutant("held brick: velocities are lost", HELD + " void put_back(", "store<Pair>(a.now.velocity, held.i, moving.v.v, moving.v.w);", "", tests(ON_CHIP), UNFORESEEN)
mutant("held brick: not put back at a stop", PASSES, "            if (has_bricks) put_back(a, held);", "", UNFORESEEN)
mutant("held brick: not put back at the end", PASSES, "    if (has_bricks) put_back(a, held);\n    add_heat", "    add_heat", tests(ON_CHIP))
mutant("held brick: atoms do not keep what they gain", HELD + " float integrate_held(", "atom->moving = moving;", "", tests(ON_CHIP))
mutant("held brick: its atoms stay where they were", HELD + " float integrate_held(", "held->own.v = staged_place", "Vec3<Pair> unused_place = staged_place", tests(ON_CHIP))
mutant("held brick: others do not see its atoms move", HELD + " float integrate_held(", "store_position(a.now, held->i, moving.x, held->own.type, motion.to);", "", tests(ON_CHIP))
mutant("held brick: threads of a row before each other", HELD + " float integrate_held(", "if (threads_per_atom > 1) __syncwarp();", "", barrier(ON_CHIP))
mutant("held brick: displacements are not told", HELD + " float integrate_held(", "displacement_sq(place.rounded, atom->reference)", "0", UNFORESEEN)
mutant("held brick: four rounds of staging", HELD + " void stage_held(", "stage_brick(a, brick, *shifts_place(), held_sources * MD_BLOCK, from, atoms);", "", tests(ON_CHIP + " launch.block_size=32"))
mutant("held brick: no barrier after staging", HELD + " void pass_held(", "__syncthreads(); /* all atoms", "/* all atoms", barrier(ON_CHIP))
mutant("held brick: parts are not added up", HELD + " void pass_held(", "add_up_row(&force);", "", tests(ON_CHIP))
mutant("held brick: quads are turned into others", "cuda/kernels/bricks/force.cuh uint64_t quad_in_turn(", "__byte_perm(high, low, turn)", "__byte_perm(high, high, turn)", tests(OF_BRICK + " " + ONE_PASS + " neighbor.distances=matrix force.threads_per_atom=8"))
mutant("held brick: one round of rows", HELD + " void pass_held(", "later_rows(", "if (false) later_rows(", tests(ON_CHIP + " launch.block_size=32"))
mutant("held brick: other bricks are left out", RESIDENT + " void make_pass(", "block += (int)gridDim.x;\n    }", "block = n_blocks;\n    }",
       tests(ON_CHIP + " memory.brick_cells=1 launch.block_size=1024"))
mutant("held brick: its forces are not kept", RESIDENT + " struct EndRow ", "Forces::finish(held->i, force);", ";", tests(ON_CHIP))
LOCAL, LOCAL_BARRIER = "cuda/kernels/batches/step_local.cuh", ON_CHIP + " launch.barrier=local launch.block_size=1024 force.threads_per_atom=2"
mutant("local: y is lost", LOCAL + " TaggedPlace tagged_place(", "(float)place.rounded.y", "(float)place.rounded.x", BARRIER_USE)
mutant("local: z is lost", LOCAL + " TaggedPlace tagged_place(", "(float)place.rounded.z", "(float)place.rounded.x", BARRIER_USE)
mutant("local: all are of the first type", LOCAL + " TaggedPlace tagged_place(", "place.word & ~tag_bits", "place.word & 0xffffffu", BARRIER_USE)
mutant("local: low bits are lost", LOCAL + " TaggedPlace tagged_place(", "place.word & ~tag_bits", "place.word & 0xf000000u", ACCURACY)
mutant("local: of the step before last", HELD + " void stage_tagged(", "tagged[k].tag() != tag", "tagged[k].tag() != tag && (tagged[k].tag() ^ 2u << 28) != tag", BARRIER_USE)
mutant("local: of any step", HELD + " void stage_tagged(", "tagged[k].tag() != tag", "tagged[k].tag() == (no_tag & tag_bits)", BARRIER_USE)
mutant("local: sources of the first round", HELD + " void stage_tagged(", "while (tagged[k].tag() != tag &&", "while (k < 1 && tagged[k].tag() != tag &&", BARRIER_USE)
mutant("local: images are ignored", HELD + " void stage_tagged(", "staged_image(shift, place)", "staged_place(corner_of(*brick_place()), place)", BARRIER_USE)
mutant("held brick: shifts along the first axes alone", HELD + " void hold_brick(", "threadIdx.x < CUDA_SHIFTS", "threadIdx.x < CUDA_SHIFTS / 2", tests(ON_CHIP + " memory.brick_grid=device", "3-D"))
mutant("local: overwrites what is read", HELD + " void pass_held(", "        __syncthreads(); /* all have", "        /* all have", race(LOCAL_BARRIER, cells=8))
mutant("local: tags that a place may have", LOCAL + " unsigned tag_of(", "0x80000000u | ", "", *LATECOMERS)
mutant("local: unmarks what others have left after a build", PASSES, ("if (!a.begins)\n        for", "moved_sq = fmaxf("), ("for", "if (!a.begins) moved_sq = fmaxf("), *LATECOMERS)
NOTED, SIDES = "cuda/kernels/bricks/search.cuh void note_grid_barrier(", "cuda/kernels/bricks/search.cuh unsigned all_sides("
CHOSEN = "cuda/kernels/bricks/load_tile.cuh int choose_candidates("
mutant("local: sides without an atom are not seen", NOTED, "if (sides != all_sides(region)) atomicMax", "if (false) atomicMax", BARRIER_USE)
mutant("local: one side with atoms is enough", NOTED, "sides != all_sides(region)", "(sides & ~(1u << in_brick)) == 0", BARRIER_USE)
mutant("local: sides of the last warp", CHOSEN, "atomicOr(sides, found);", "*sides = found;", BARRIER_USE)
mutant("local: sides are not told", CHOSEN, "if (is_local && found != 0) atomicOr(sides, found);", "", BARRIER_USE)
mutant("local: sides of what is not staged", CHOSEN, "if (is_staged) found", "if (cell >= 0) found", BARRIER_USE)
mutant("local: the cells of the brick for those around it", "cuda/kernels/bricks/load_tile.cuh int side_of_cell(", "own < region.own_size[axis] ? 1 : 2", "own <= region.own_size[axis] ? 1 : 2", BARRIER_USE)
mutant("local: the same layer for all", "cuda/kernels/bricks/load_tile.cuh int side_of_cell(", "line / region.size[1]}", "0}", BARRIER_USE)
mutant("local: sides that an open axis has not", SIDES, "region.size[axis] > before + region.own_size[axis] ? 4u : 0u", "true ? 4u : 0u", BARRIER_USE)
mutant("local: sides before an open axis", SIDES, "before > 0 ? 1u : 0u", "true ? 1u : 0u", BARRIER_USE)
mutant("local: edges are no sides", SIDES, "along[0] << (9 * z + 3 * y)", "(y == 1 || z == 1 ? along[0] : 2u) << (9 * z + 3 * y)", BARRIER_USE)
NEEDS_BARRIER = RESIDENT + " bool needs_grid_barrier("
mutant("local: bricks without a block are not seen", NEEDS_BARRIER, "force_blocks(a) > (int)gridDim.x ||", "", emulated(BARRIER_USE))
mutant("local: too many rows are not seen", NEEDS_BARRIER, "found.rows > MD_BLOCK / threads_per_atom ||", "", BARRIER_USE)
mutant("local: too many sources are not seen", NEEDS_BARRIER, "found.staged > held_sources * MD_BLOCK ||", "", BARRIER_USE)
mutant("local: rows are not told", "cuda/kernels/bricks/search.cuh void note_grid_barrier(", "atomicMax(&measures->rows, brick.end - brick.begin);", ";", BARRIER_USE)
mutant("local: the barrier of the grid as well", NEEDS_BARRIER, "const bool needed = ", "const bool needed = true || ", BARRIER_USE)
mutant("local: places of the last pass are tagged", PASSES, ": !grid_wide && !is_last;", ": !grid_wide;", BARRIER_USE)
mutant("local: places are tagged with the barrier of the grid", PASSES, ": !grid_wide && !is_last;", ": !is_last;", BARRIER_USE)
mutant("local: barriers of the grid are not counted", NEEDS_BARRIER, "a.status->n_grid_barriers++;", ";", BARRIER_USE)
BACK_AGAIN, APART, LOWER = HELD + " void roll_back(", RESIDENT + " int passes_apart(", BARRIER + " void lower_flags("
mutant("local, checked: the barrier of the grid from the begin", APART, "return apart > 1 ? apart : 0;", "return 0;", SPECULATION, BARRIER_USE)
mutant("local, checked: speculates to the end", APART, "min(a.speculative, a.n - 1)", "a.n", SPECULATION, BARRIER_USE)
mutant("local, checked: no rollback", PASSES, "            if (__any_sync(whole_warp, stops)) {", "            if (false) {", SPECULATION, BARRIER_USE)
mutant("local, checked: a rollback is not counted", PASSES, "a.status->n_rolled_back++;", ";", SPECULATION, BARRIER_USE)
mutant("local, checked: from the copy that was read last", PASSES, "                from = begin;", "", SPECULATION, BARRIER_USE)
mutant("local, checked: the distance of the last pass alone", PASSES, "may_come_again ? moved_sq : 0", "0", SPECULATION)
mutant("local, checked: a fault is told before it counts", PASSES, "now + 1, may_come_again}", "now + 1, false}", SPECULATION)
mutant("local, checked: a fault of passes that come again is told", PASSES, "tell_fault(a, stops ? first : now);", "tell_fault(a, now);", SPECULATION)
mutant("local, checked: faults are not told", PASSES, "tell_fault(a, stops ? first : now);", ";", SPECULATION)
TOLD = MOVE + " void tell_fault("
mutant("local, checked: ids of discarded faults stay", TOLD, "for (int k = 0; k < CUDA_GRAPH_STEPS; k++) a.status->fault_key[k] = ~0ull;", "", SPECULATION)
mutant("local, checked: steps of discarded faults stay", TOLD, "a.queue.check->fault_step = ~0ull;", "", SPECULATION)
mutant("local, checked: places are tagged with the barrier of the grid", PASSES, "step + 1 < apart :", "step < apart :", SPECULATION, BARRIER_USE)
mutant("local, checked: flags stay up", LOWER, "if (thread_index() == 0) atomicAnd(barrier->word, ~barrier_flags);", "", SPECULATION, BARRIER_USE)
mutant("local, checked: where an atom began is not kept", HELD + " void hold_brick(", "atom->keep(atom->moving.x);", "", SPECULATION, BARRIER_USE)
mutant("local, checked: atoms stay where they came to", BACK_AGAIN, "atom->moving = Moving{load_velocity(a.now, held->i), begin};", "", SPECULATION, BARRIER_USE)
mutant("local, checked: atoms stay as fast as they became", BACK_AGAIN, "load_velocity(a.now, held->i)", "atom->moving.v", SPECULATION, BARRIER_USE)
mutant("local, checked: others see where atoms came to", BACK_AGAIN, "store_position(a.now, held->i, begin, held->own.type, from);", ";", SPECULATION, BARRIER_USE)
mutant("local, checked: the own place stays", BACK_AGAIN, "held->own.v = staged_place", "Vec3<Pair> unused_place = staged_place", SPECULATION, BARRIER_USE)
BY_KERNELS, PASS = "neighbor.rebuild=every launch.fuse=step launch.persistent=off launch.graph=on launch.passes=kernels", RESIDENT + " k_step_pass("
mutant("passes: a device that was stopped goes on", PASS, "if (was_stopped(a, moved_sq_of(a, a.buffer))) return;", "", UNFORESEEN)
mutant("passes: blocks that come late are let go", "cuda/kernels/force.cuh bool was_stopped(", " && !is_too_old(a, moved_sq)", "", emulated(UNFORESEEN))
mutant("passes: positions stay where they are", PASS, "bring_back(a, from);", "", UNFORESEEN)
mutant("passes: the displacement of the step before", PASS, "if (force_begin(a, moved_sq_of(a, a.buffer)))", "if (force_begin(a, moved_sq_of(a, a.buffer + 1)))", UNFORESEEN)
mutant("passes: reads what it writes", PASS, "{from, a.stride - from, 0", "{from, from, 0", tests(BY_KERNELS), UNFORESEEN)
mutant("passes: a fault of the step before", RESIDENT + " struct IntegratePass ", "[a.buffer]) + 1;", "[a.buffer]);", COLLISION)
mutant("passes: displacements are not told", PASS, "end_pass(a, pass.moved_sq, a.buffer + 1);", "end_pass(a, 0, a.buffer + 1);", UNFORESEEN)
mutant("passes: begin in the first copy", RESIDENT + " k_step_drift(", "a.buffer * (int64_t)a.stride, 0,", "0, 0,", tests(BY_KERNELS), UNFORESEEN)
mutant("passes: the first displacements are those of everybody", RESIDENT + " k_step_drift(", "end_pass(a, moved_sq, a.buffer);", "end_pass(a, moved_sq, 0);", UNFORESEEN)
mutant("resident: forces are added to the last ones", RESIDENT + " void integrate_share(", "if constexpr (forces_add)", "if constexpr (false)",
       tests(PERSISTENT + "every " + SPLIT + "atomic"))

# --- passes by a queue ---------------------------------------------------------------------------------------------------

LINE = "cuda/kernels/batches/step_queue.cuh"
TAKE, AROUND, LEAVE, QUEUED = LINE + " void take_item(", LINE + " int brick_around(", LINE + " void end_queue(", RESIDENT + " k_step_queue("
WORD, LAST = LINE + " bool wait_for_word(", LINE + " bool is_last_to_leave("
mutant("queue: nobody waits", WORD, "while (word &&", "while (false &&", queue())
mutant("queue: waits for the pass before last", TAKE, "least = (unsigned)step;", "least = (unsigned)step - 1;", queue())
mutant("queue: waits for its own brick", TAKE, "brick_around(a.grid, place, lane)", "place", queue())
mutant("queue: waits for 26 of 27, but for the last", TAKE, "lane < 27", "lane < 26", queue())
mutant("queue: waits for 26 of 27, but for the first", TAKE, "lane < 27", "lane > 0 && lane < 27", queue())
mutant("queue: the second pass does not wait", TAKE, "pass > 0 &&", "pass > 1 &&", queue())
mutant("queue: waits along y and z", AROUND, "k % 3 - 1, m[0]", "0, m[0]", queue())
mutant("queue: waits along x and z", AROUND, "k / 3 % 3 - 1", "0", queue())
mutant("queue: waits along x and y", AROUND, "k / 9 - 1", "0", queue())
mutant("queue: lines as long as columns", AROUND, "line % m[1], k", "line % m[0], k", queue())
mutant("queue: waits for nobody around the edge", LINE + " int brick_beside(", "wraps ? (beside + m) % m : at", "at", queue())
mutant("queue: takes steps of the box for open", AROUND, "m[0], grid.wraps[0]", "m[0], grid.wraps[2]", queue("5 x 2 x 1 bricks"))
mutant("queue: beyond the last brick", TAKE, "+ shift) % n_bricks", ") % n_bricks + shift", queue())
mutant("queue: a pass begins in the midst of the one before", TAKE, "item - pass * n_bricks + shift", "item - pass * n_bricks + shift + (item & 1)", queue())
mutant("queue: bricks as they stand in the table", TAKE, "a.queue.brick[place]", "place", queue("2-D, 8 x 3 uneven bricks"))
mutant("search: tells the queue another brick", "cuda/kernels/bricks/load_tile.cuh void enter_brick(", "= b;", "= brick_by_size(a.grid, b);", queue("2-D, 8 x 3 uneven bricks"))
mutant("queue: the item is not waited for", LINE + " bool begin_item(", "__syncthreads();", "", queue(), race(OF_BRICK + " launch.passes=queue"))
mutant("queue: the last pass is left out", LINE + " bool begin_item(", "->pass < a.n", "->pass < a.n - 1", queue())
mutant("queue: a pass too many", LINE + " bool begin_item(", "->pass < a.n", "->pass <= a.n", queue())
mutant("queue: told before it is stored", LINE + " void end_item(", "__syncthreads();", "", queue())
mutant("queue: told to be of the step before", LINE + " void end_item(", "->step + 1", "->step", queue())
mutant("queue: told of the item that comes next", LINE + " void end_item(", "done[place], done);", "done[item_place()->place], done);", queue())
mutant("queue: told of the brick in the table", LINE + " void end_item(", "item_place()->place", "item_place()->brick", queue("2-D, 8 x 3 uneven bricks"))
mutant("queue: the next launch finds it empty", LEAVE, "a.queue.counts[0] = a.queue.counts[1] = 0;", "a.queue.counts[1] = 0;", queue())
mutant("queue: nobody is the last of the next launch", LEAVE, "a.queue.counts[0] = a.queue.counts[1] = 0;", "a.queue.counts[0] = 0;", queue())
mutant("queue: ready for the next launch before all have left", LAST, "+ 1 < gridDim.x", "> 0", queue())
mutant("queue: steps are not told", LEAVE, "a.status->step = stops ? end : end - 1;", "", queue("collision"))
mutant("queue: one copy alone", QUEUED, "(a.buffer + item->pass) % 2", "a.buffer", queue())
mutant("queue: begins in the other copy", QUEUED, "(a.buffer + item->pass) % 2", "item->pass % 2", queue())
mutant("queue: reads what it writes", QUEUED, "{from, a.stride - from, item", "{from, from, item", queue())
mutant("queue: as of the step before", QUEUED, "item->step + 1", "item->step", queue("collision"))
mutant("queue: a device that was stopped goes on", QUEUED, "if (*(volatile unsigned *)&a.status->stopped) return;", "", FULL)

# --- with a check of displacements -----------------------------------------------------------------------------------------

CHECKED = queue("lone", "checked: 5 x 2 x 1 bricks") + queue("unforeseen", "checked: 5 x 4 x 6 bricks, 2 types")[:1]
# What shows in few orders only: in one of the first six that were tried. So there are many.
RARE = queue("lone", seeds=range(14, 26))
VAIN, NOTE, FINISH, ITEM_END = LINE + " bool is_replayed(", LINE + " void note_distance(", LINE + " int end_check(", LINE + " void end_item("
COPY, BACK = MOVE + " struct CopyOf<true>", RESIDENT + " k_step_bring_back("
mutant("queue, checked: nobody stops", VAIN, "return is_checked_queue &&", "return false &&", CHECKED)
mutant("queue, checked: stops a pass early", VAIN, "<= pass;", "<= pass + 1;", CHECKED)
mutant("queue, checked: stops a pass late", VAIN, "->stop <= pass;", "->stop + 1 <= pass;", CHECKED)
mutant("queue, checked: does not wait for the pass before the last", TAKE, "lane == 27) {", "false) {", CHECKED)
mutant("queue, checked: waits for the pass before that one", TAKE, "made[pass - 2]", "made[pass > 2 ? pass - 3 : 0]", CHECKED)
mutant("queue, checked: the third pass does not wait", TAKE, "is_checked_queue && pass > 1 &&", "is_checked_queue && pass > 2 &&", RARE)
mutant("queue, checked: waits for all but one brick", TAKE, "least = n_bricks;", "least = n_bricks - 1;", CHECKED)
mutant("queue, checked: looks before it waits", TAKE, ("    bool replayed = wait_for", "replayed = __any_sync(whole_warp, replayed || is_replayed(a, pass));"),
       ("    const bool before = is_replayed(a, pass);\n    bool replayed = wait_for", "replayed = __any_sync(whole_warp, replayed || before);"), CHECKED)
mutant("queue, checked: who waits is not let go", WORD, "replayed = is_replayed(a, pass);", "", CHECKED)
mutant("queue, checked: a lane stops by itself", TAKE, "__any_sync(whole_warp, replayed || is_replayed(a, pass))", "replayed", CHECKED)
mutant("queue, checked: told before it is known", ITEM_END, ("    if (is_checked_queue) note_distance(a, moved_sq);\n", "book_brick(a, pass);"),
       ("", "book_brick(a, pass);\n    if (is_checked_queue && moved_sq > a.stale_sq) { atomicMin(&a.queue.check->stop, (unsigned)pass + 1); "
        "if (pass == a.n - 1) atomicMax(&a.queue.check->far, __float_as_uint(moved_sq)); }"), CHECKED)
mutant("queue, checked: bricks are counted before they are stored", ITEM_END, ("is_checked_queue && threadIdx.x == telling_thread", "    __syncthreads();"),
       ("false", "    if (is_checked_queue && threadIdx.x == telling_thread) book_brick(a, pass);\n    __syncthreads();"), CHECKED)
mutant("queue, checked: bricks are counted of the next item", ITEM_END, "book_brick(a, pass)", "book_brick(a, item_place()->pass)", CHECKED)
mutant("queue, checked: displacements are not told", NOTE, "atomicMin(&check->stop, failing);", "", CHECKED)
mutant("queue, checked: the pass itself is discarded", NOTE, "(unsigned)pass + 1", "(unsigned)pass", CHECKED)
mutant("queue, checked: the last to tell is right", NOTE, "atomicMin(&check->stop, failing);", "*(volatile unsigned *)&check->stop = failing;", RARE)
mutant("queue, checked: what the last pass moves is not told", NOTE, "atomicMax(&check->far, __float_as_uint(moved_sq));", ";", CHECKED)
mutant("queue, checked: nor to the next kernel", FINISH, "if (stop == n)", "if (false)", CHECKED)
mutant("queue, checked: the first list is not looked at", QUEUED, "= is_too_old(a, moved_sq_of(a, a.buffer));", "= false;", CHECKED)
mutant("queue, checked: the first list is not told of", LINE + " unsigned first_failing(", "is_too_old(a, moved_sq_of(a, a.buffer)) ? 0 :", "", CHECKED)
mutant("queue, checked: the other displacements of the first list", QUEUED, "moved_sq_of(a, a.buffer)", "moved_sq_of(a, a.buffer + 1)", CHECKED)
mutant("queue, checked: a discarded pass counts", FINISH, "(int)(stop < n ? stop : n)", "(int)(stop < n ? stop + 1 : n)", CHECKED)
mutant("queue, checked: all passes count", FINISH, "(int)(stop < n ? stop : n)", "(int)n", CHECKED)
mutant("queue, checked: counts stay", LINE + " void clear_check(", "check->made[pass] = check->ranks_through[pass] = 0;", ";", CHECKED)
mutant("queue, checked: stops for ever", LINE + " void clear_check(", "check->stop = ~0u;", "", CHECKED)
mutant("queue, checked: does not stop", LEAVE, "set_stop_flag(a, CUDA_STOPPED_STALE);", "", CHECKED)
mutant("queue, checked: stops a step early", LEAVE, "a.status->step = stops ? end : end - 1;", "a.status->step = end - 1;", CHECKED)
mutant("queue, checked: the drift is to be booked again", LEAVE, "a.status->drifted = !stops;", "a.status->drifted = 1;", CHECKED)
mutant("queue, checked: nothing is brought back", LEAVE, "1 + (unsigned)(a.buffer + n_passes) % 2;", "1;", CHECKED)
mutant("queue, checked: brought back from the other copy", LEAVE, "(unsigned)(a.buffer + n_passes) % 2;", "(unsigned)(a.buffer + n_passes + 1) % 2;", CHECKED)
mutant("queue, checked: bricks stay beyond the step that counts", BACK, "a.queue.done[place] = (unsigned)a.status->step;", ";", CHECKED)
mutant("queue, checked: positions are not brought back", BACK, "copy_rounded(a.now.position, i, a.now.position, i + (int64_t)a.stride);", "", CHECKED)
mutant("queue, checked: velocities are not brought back", BACK, "store<Pair>(a.now.velocity, i, v.v, v.w);", "", CHECKED)
mutant("queue, checked: last bits are not brought back", BACK, "if (is_mixed && !is_vec4)", "if (false)", CHECKED)
mutant("queue, checked: the last atom is not brought back", BACK, "i >= own_atoms(a)", "i >= own_atoms(a) - 1", CHECKED)
mutant("queue, checked: one copy of the velocities", COPY, "copy.velocity = a.spare.velocity;", "", CHECKED)
mutant("queue, checked: one copy of the last bits", COPY, "copy.low = a.spare.low;", "", CHECKED)
mutant("queue, checked: reads the copy that it writes", MOVE + " float integrate_by(", "&from = MotionCopy::at(a, motion.from)", "&from = MotionCopy::at(a, motion.to)", CHECKED)
mutant("queue, checked: faults are not told", FINISH, "tell_fault(a, first + (unsigned long long)n_passes);", "", queue("checked collision"))
mutant("queue, checked: faults of the last pass are not told", TOLD, "step <= last", "step < last", queue("discarded fault"))
mutant("queue, checked: discarded faults are told", FINISH, "tell_fault(a, first + (unsigned long long)n_passes);", "tell_fault(a, first + (unsigned long long)n_passes + 1);", queue("discarded fault"))
