/* Collectives of a warp. The lane that completes one computes the answers of all and goes on; it waits for every live
 * lane of its mask, and these have to ask for the same with the same mask. */
#include "emulator.h"

static const unsigned long long nothing = ~0ull; /* what a lane gets that reads from none */

static unsigned long long reduce(int operation, unsigned long long a, unsigned long long b) {
    long long sa = (long long)a, sb = (long long)b;
    switch (operation) {
    case EMULATOR_WARP_ADD: return a + b;
    case EMULATOR_WARP_MIN: return sa < sb ? a : b;
    case EMULATOR_WARP_MAX: return sa > sb ? a : b;
    case EMULATOR_WARP_MIN_UNSIGNED: return a < b ? a : b;
    case EMULATOR_WARP_MAX_UNSIGNED: return a > b ? a : b;
    case EMULATOR_WARP_AND: return a & b;
    case EMULATOR_WARP_OR: return a | b;
    default: return a ^ b;
    }
}

/* Lane 4 g + t has a[g][t], a[g + 8][t], b[t][g], and of the product rows g, g, g + 8, g + 8 and columns 2 t, 2 t + 1 of each. */
static void multiply(const EmulatorLane *lanes, unsigned lane) {
    EmulatorMatrices *own = (EmulatorMatrices *)lanes[lane].value; /* NOLINT: an address of this process */
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = lane / 4, column = 2 * (lane % 4) + e % 2;
        own->product[e] = own->add[e];
        for (unsigned k = 0; k < 4; k++)
            own->product[e] += ((const EmulatorMatrices *)lanes[4 * row + k].value)->a[e / 2] *
                               ((const EmulatorMatrices *)lanes[4 * column + k].value)->b;
    }
}

static unsigned long long answer(const EmulatorLane *lanes, unsigned taking_part, unsigned lane) {
    const EmulatorLane *self = &lanes[lane];
    unsigned long long result = 0;
    bool first = true;
    if (self->operation == EMULATOR_WARP_SYNC) return 0;
    if (self->operation == EMULATOR_WARP_MULTIPLY) {
        if (taking_part != 0xffffffffu) emulator_fail("%s: matrices are multiplied by all lanes of a warp", self->where);
        multiply(lanes, lane);
        return 0;
    }
    if (self->operation == EMULATOR_WARP_SHUFFLE)
        return taking_part >> self->source & 1u ? lanes[self->source].value : nothing;
    for (unsigned l = 0; l < EMULATOR_WARP; l++) {
        if (!(taking_part >> l & 1u)) continue;
        if (self->operation == EMULATOR_WARP_BALLOT) result |= lanes[l].value << l;
        else if (self->operation == EMULATOR_WARP_MATCH)
            result |= (unsigned long long)(lanes[l].value == self->value) << l;
        else result = first ? lanes[l].value : reduce(self->operation, result, lanes[l].value);
        first = false;
    }
    return result;
}

/* Completes the collective that lane waits in, if all have come. */
static bool complete(EmulatorBlock *block, unsigned warp, unsigned lane) {
    EmulatorLane *lanes = &block->lanes[warp * EMULATOR_WARP];
    unsigned mask = lanes[lane].mask, taking_part = mask & block->warp_live[warp];
    if (taking_part & ~block->warp_waiting[warp]) return false;
    for (unsigned l = 0; l < EMULATOR_WARP; l++) {
        if (!(taking_part >> l & 1u) || lanes[l].mask != mask) {
            if (taking_part >> l & 1u) return false;
            continue;
        }
        if (lanes[l].operation != lanes[lane].operation)
            emulator_fail("lanes %u and %u of a warp are in different collectives, of %s and %s", lane, l,
                          lanes[lane].where, lanes[l].where);
    }
    unsigned long long answers[EMULATOR_WARP];
    for (unsigned l = 0; l < EMULATOR_WARP; l++)
        if (taking_part >> l & 1u) answers[l] = answer(lanes, taking_part, l);
    for (unsigned l = 0; l < EMULATOR_WARP; l++)
        if (taking_part >> l & 1u) {
            lanes[l].value = answers[l];
            lanes[l].state = EMULATOR_READY;
        }
    block->warp_waiting[warp] &= ~taking_part;
    return true;
}

void emulator_warp_check(EmulatorBlock *block, unsigned warp) {
    for (unsigned l = 0; l < EMULATOR_WARP; l++)
        if (block->warp_waiting[warp] >> l & 1u) complete(block, warp, l);
}

unsigned long long emulator_warp(int operation, unsigned mask, unsigned long long value, int source,
                                 const char *where) {
    EmulatorLane *self = emulator_running;
    EmulatorBlock *block = self->home;
    unsigned warp = (unsigned)(self - block->lanes) / EMULATOR_WARP, lane = self->visible.lane;
    if (!(mask >> lane & 1u))
        emulator_fail("%s: the mask 0x%08x of the warp collective lacks the calling lane %u", where, mask, lane);
    self->operation = operation;
    self->mask = mask;
    self->value = value;
    self->source = source & (EMULATOR_WARP - 1);
    self->where = where;
    self->state = EMULATOR_AT_WARP;
    block->warp_waiting[warp] |= 1u << lane;
    if (!complete(block, warp, lane)) emulator_fiber_pause(&self->fiber);
    return self->value;
}
