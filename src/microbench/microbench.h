/* Measurements without a simulation. --ceilings: the machine, by elementary kernels (host/, cpu/, cuda/, kernels/). --bench:
 * each variant of a stage of the program (stages/). */
#ifndef MD_MICROBENCH_MICROBENCH_H
#define MD_MICROBENCH_MICROBENCH_H

#include "microbench/host/table.h"
#include "microbench/stages/bench.h"

/* md_ceilings_run on the backends that are built in. */
MdStatus md_microbench_ceilings(int n_arguments, char *const *arguments, bool quick, const char *command, MdComm *comm,
                                MdLog *log, MdErrors *errors);

#endif
