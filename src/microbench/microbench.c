#include "microbench/microbench.h"

#include "microbench/cpu/backend.h"
#include "microbench/host/ceilings.h"
#ifdef MDMINI_HAVE_CUDA
#include "microbench/cuda/backend.h"
#endif

MdStatus md_microbench_ceilings(int n_arguments, char *const *arguments, bool quick, const char *command, MdComm *comm,
                                MdLog *log, MdErrors *errors) {
    static const MdCeilingsBackend *const backends[] = {&md_ceilings_of_cpu,
#ifdef MDMINI_HAVE_CUDA
                                                        &md_ceilings_of_cuda,
#endif
                                                        NULL};
    return md_ceilings_run(backends, n_arguments, arguments, quick, command, comm, log, errors);
}
