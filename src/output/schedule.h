/* When something is due. */
#ifndef MD_OUTPUT_SCHEDULE_H
#define MD_OUTPUT_SCHEDULE_H

#include <stdbool.h>

#include "deck/deck.h"

/* Every `every` steps from step 0 on, and at the last step; never for every = 0. */
static inline bool md_schedule_due(int64_t every, int64_t step, int64_t last_step) {
    return every > 0 && (step % every == 0 || step == last_step);
}

static inline int64_t md_schedule_count(int64_t every, int64_t last_step) {
    return every > 0 ? last_step / every + 1 + (last_step % every != 0) : 0;
}

static inline bool md_schedule_thermo(const MdConfig *config, int64_t step) {
    return md_schedule_due(config->output_thermo_every, step, config->run_steps);
}

static inline bool md_schedule_frame(const MdConfig *config, int64_t step) {
    return md_schedule_due(config->output_frames_every, step, config->run_steps);
}

#endif
