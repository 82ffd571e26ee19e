"""Lists of where atoms will be: neighbor.predict. See killers.py."""
from .killers import *  # the words of the table


def ahead(*systems):
    return Killer(f"test_predict ({'|'.join(systems)})", "test_predict", (("MDMINI_TEST_SYSTEM", "|".join(systems)),))


VELOCITY = " neighbor.predict=velocity neighbor.rebuild=device-check"
PLACES = rows(CELLS + " memory.sort=cell" + VELOCITY, IN_MOTION)
PLACES_OF_NONE = rows(CELLS + " memory.sort=none" + VELOCITY, IN_MOTION)
IN_BRICKS = (ahead("suddenly fast, bricks"), ahead("fast, bricks"))
SUDDENLY = ahead("suddenly fast, default")
RESUMED = Killer("test_state (velocity)", "test_state", (("MDMINI_TEST_ONLY", CELLS + VELOCITY),))

mutant("predict: bricks are divided by where atoms are", SORT + " k_sort_bin(", "predicts ? way_ahead", "false ? way_ahead", CROWDS)

FORMULA = "physics/predict.h"
SHARE = FORMULA + " MD_HD float MD_PREDICT_NAME("
mutant("predict: no limit", SHARE, "way_sq <= most_sq ? 1 : way_sq < 1e30f ? sqrtf(most_sq / way_sq) : 0", "1", SUDDENLY)
mutant("predict: up to twice the skin", SHARE, "(float)(MD_PREDICT_SHARE * MD_PREDICT_SHARE) *", "16 *", SUDDENLY)
mutant("predict: what is no number", SHARE, "way_sq < 1e30f ? sqrtf(most_sq / way_sq) : 0", "1", SUDDENLY, FAULTS)
mutant("predict: to the end of the interval", FORMULA + " md_predict_time(", "0.5 *", "1.0 *", PLACES)

WAY = AHEAD_PLACES + " way_ahead("
mutant("predict: z stays", WAY, "plain_product(time, v.z)}", "0}", PLACES)
mutant("predict: y as x", WAY, "plain_product(time, v.y), plain", "plain_product(time, v.x), plain", PLACES)
mutant("predict: scaled but for y", WAY, "plain_product(scale, way.y)", "way.y", PLACES, SUDDENLY)
mutant("predict: a limit along x and y", WAY, "plain_product(way.z, way.z)", "Pair(0)", SUDDENLY, PLACES)
mutant("predict: behind", AHEAD_PLACES + " place_ahead(", "plain_sum(rounded.x, way.x)", "plain_sum(rounded.x, -way.x)", PLACES)

AGE = SORT + " k_sort_look_ahead("
mutant("predict: age since the start", AGE, "a.status->built_step = step;", "", PLACES)
mutant("predict: age without the last step", AGE, "+ a.status->drifted", "", ahead("fast, bricks"))
mutant("predict: every thread looks", AGE, "if (thread_index() > 0) return;", "", emulated(PLACES))
mutant("predict: a restart forgets the age", AGE, "(step - a.status->built_step)", "(step - (a.status->built_step < 0 ? 0 : a.status->built_step))", RESUMED)

IMAGE = SORT + " wrap_ahead("
mutant("predict: atoms do not go with their places", IMAGE, "return round((double)x - boxes * length);", "return x;", ahead("fast, rows"), PLACES)
mutant("predict: images stay", IMAGE, "*image += boxes;", "", ahead("fast, rows"), PLACES)
mutant("predict: wrapped by itself", IMAGE, "wrap((double)x + (double)way, length, inverse, &boxes, round);", "wrap((double)x, length, inverse, &boxes, round);", ahead("suddenly fast, rows"), ahead("fast, rows"))
mutant("predict: in the cell where it is", SORT + " unsigned wrap_into_cell(", "count_in_cell(a, i, place, tag.id);", "count_in_cell(a, i, rounded, tag.id);", ahead("fast, rows"))
mutant("predict: the place of the atom, in no order", SORT + " unsigned wrap_into_cell(", "store<Pair>(a.reference, i, place,", "store<Pair>(a.reference, i, rounded,", PLACES_OF_NONE)
mutant("predict: the place of the atom", SORT + " put_into_slot(", "place_ahead(sorted.rounded.v, way_ahead(a, sorted.carried.v.v))", "sorted.rounded.v", PLACES)
mutant("predict: ordered by where it is", SORT + " SlotKey slot_key(", "key_at(place_ahead(rounded, way), id)", "key_at(rounded, id)", IN_BRICKS)
mutant("predict: searched where it is", GRID + " list_place(", "predicts ? a.reference : a.now.position", "a.now.position", PLACES)
mutant("predict: staged where it is", "cuda/kernels/bricks/load_tile.cuh Atom searched_particle(", "if constexpr (!predicts) return fetch", "return fetch", IN_BRICKS)
