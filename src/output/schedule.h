/* The output that is due at a step. */
#ifndef MD_OUTPUT_SCHEDULE_H
#define MD_OUTPUT_SCHEDULE_H

#include <stdbool.h>

#include "backend/backend.h"

/* Kinds of output, as bits of a mask: first the quantities of particles, by the bits of the backend's frames. */
enum {
    MD_DUE_POSITION = MD_FRAME_POSITION, /* a frame of the trajectory: positions, box and observables */
    MD_DUE_VELOCITY = MD_FRAME_VELOCITY, /* velocities in the trajectory */
    MD_DUE_FORCE = MD_FRAME_FORCE,
    MD_DUE_IMAGE = MD_FRAME_IMAGE,
    MD_DUE_TRAJECTORY = MD_DUE_POSITION | MD_DUE_VELOCITY | MD_DUE_FORCE | MD_DUE_IMAGE,
    MD_DUE_XYZ = 16,   /* a frame of the XYZ file */
    MD_DUE_THERMO = 32 /* a row of the thermo table */
};

/* Every `every` steps from step 0 on, and at the last step; never for every = 0. */
static inline bool md_schedule_due(int64_t every, int64_t step, int64_t last_step) {
    return every > 0 && (step % every == 0 || step == last_step);
}

/* How often that is in the steps from `from` (included) to last_step. */
static inline int64_t md_schedule_count(int64_t every, int64_t from, int64_t last_step) {
    if (every == 0 || from > last_step) return 0;
    int64_t before = from > 0 ? (from - 1) / every + 1 : 0;
    return last_step / every + 1 - before + (last_step % every != 0);
}

/* Whether the output of the last step of a run stays when the run is continued, perhaps with another interval
 * and to another last step. Output that was written only because the run ended is removed: the result is that of a run that
 * was longer from the start. */
static inline bool md_schedule_stays(int64_t every_before, int64_t every, int64_t step, int64_t last_step) {
    return every_before == 0 || step % every_before == 0 || md_schedule_due(every, step, last_step);
}

/* Samples of an analysis: every `every` steps from `from` on, never for every = 0. And the first after `step`; INT64_MAX: none. */
static inline bool md_schedule_samples(int64_t every, int64_t from, int64_t step) {
    return every > 0 && step >= from && (step - from) % every == 0;
}
static inline int64_t md_schedule_next_sample(int64_t every, int64_t from, int64_t step) {
    return every == 0 ? INT64_MAX : step < from ? from : step + every - (step - from) % every;
}

/* All output that is due at a step. */
static inline unsigned md_schedule_mask(const MdConfig *config, int64_t step) {
    const struct {
        int64_t every;
        unsigned bit;
    } rows[] = {{config->output_thermo_every, MD_DUE_THERMO},       {config->output_frames_every, MD_DUE_POSITION},
                {config->output_velocities_every, MD_DUE_VELOCITY}, {config->output_forces_every, MD_DUE_FORCE},
                {config->output_images_every, MD_DUE_IMAGE},        {config->output_xyz_every, MD_DUE_XYZ}};
    unsigned mask = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (md_schedule_due(rows[k].every, step, config->run_steps)) mask |= rows[k].bit;
    return mask;
}

/* The first step after `step` at which output or an analysis is due; at the latest the last one. */
static inline int64_t md_schedule_next(const MdConfig *config, int64_t step) {
    const int64_t every[] = {config->output_thermo_every, config->output_frames_every, config->output_velocities_every,
                             config->output_forces_every, config->output_images_every, config->output_xyz_every,
                             config->restart_every};
    const int64_t samples[] = {md_schedule_next_sample(config->analysis_msd_every, config->analysis_msd_from, step),
                               md_schedule_next_sample(config->analysis_vacf_every, config->analysis_msd_from, step),
                               md_schedule_next_sample(config->analysis_rdf_every, config->analysis_rdf_from, step)};
    int64_t next = config->run_steps;
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
        if (samples[k] < next) next = samples[k];
    for (size_t k = 0; k < sizeof every / sizeof *every; k++)
        if (every[k] > 0 && (step / every[k] + 1) * every[k] < next) next = (step / every[k] + 1) * every[k];
    return next;
}

/* The quantities that a frame must have for the output that is due, MD_FRAME_...; 0: no frame. */
static inline unsigned md_schedule_quantities(const MdConfig *config, unsigned due) {
    unsigned quantities = due & MD_DUE_TRAJECTORY;
    if (due & MD_DUE_XYZ) {
        quantities |= MD_DUE_POSITION;
        if (config->output_xyz_velocities != MD_XYZ_VELOCITIES_OFF) quantities |= MD_DUE_VELOCITY;
    }
    if ((quantities & MD_DUE_POSITION) && config->output_unwrapped == MD_ON) quantities |= MD_DUE_IMAGE;
    return quantities;
}

/* Those of all frames of a run together. */
static inline unsigned md_schedule_all_quantities(const MdConfig *config) {
    return md_schedule_quantities(config, md_schedule_mask(config, 0)); /* everything is due at the start */
}

/* In the run; that of the last step is written after the loop. */
static inline bool md_schedule_restart(const MdConfig *config, int64_t step) {
    return config->restart_every > 0 && step % config->restart_every == 0 && step < config->run_steps;
}

#endif
