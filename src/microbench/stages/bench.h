/* mdmini --bench STAGE: the cost of each variant of a stage on fixed configurations.
 *
 * Every row of the variants table of that stage, and of the stages memory and launch, which affect all, is set
 * against the deck's own setting, the base (a part of a step is issued separately, without launch.graph and
 * launch.persistent). It is checked first: forces, energy, virial and pairs against the reference
 * within the bounds of a run's own verification, there and after some steps, and conservation over them. Then calls are
 * timed by the host clock in batches that are long against it, base and variants in random order, round after round.
 * A variant that fails the check is shown as FAILED and has no speed.
 *
 * Configurations: ordered, as the deck starts; melted, after run.steps of the deck (or --melt); shuffled, the melted
 * particles handed over in random order, so that memory knows nothing of space. */
#ifndef MD_BENCH_BENCH_H
#define MD_BENCH_BENCH_H

#include "report/record.h"

/* Whether there is such a stage; `all` is one. If not, the problem goes to errors. */
MdStatus md_bench_find(const char *stage, MdErrors *errors);

/* Times the stage for a planned record; prints tables and writes record->files.json. melt_steps: MD_AUTO_INT takes
 * run.steps. The status is MD_ERROR_PHYSICS when a variant failed its check. */
MdStatus md_bench_run(MdRecord *record, const char *stage, int64_t melt_steps);

#endif
