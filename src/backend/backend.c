#include "backend/backend.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/variants.h"

const MdBackendOps *const *md_backends(void) {
    static const MdBackendOps *const backends[] = {&md_backend_cpu,
#ifdef MDMINI_HAVE_CUDA
                                                   &md_backend_cuda,
#endif
                                                   NULL};
    return backends;
}

const MdBackendOps *md_backend_find(const char *name) {
    for (const MdBackendOps *const *ops = md_backends(); *ops; ops++)
        if (strcmp((*ops)->name, name) == 0) return *ops;
    return NULL;
}

const char *md_backend_table(int k, MdVariantTable *table) {
    static const char *const names[] = {"cpu", "cuda"};
    if (k < 0 || k > 1) return NULL;
    *table = k == 0 ? md_backend_cpu.variants() : md_cuda_variants();
    return names[k];
}

void md_rows_free(MdRows *rows) {
    md_free(rows->offsets);
    md_free(rows->ids);
    memset(rows, 0, sizeof *rows);
}

void md_statistics_subtract(MdStatistics *after, const MdStatistics *before) {
    after->n_rebuilds -= before->n_rebuilds;
    after->n_late_rebuilds -= before->n_late_rebuilds;
    after->n_overflows -= before->n_overflows;
    for (int k = 0; k < after->n_stages; k++) {
        after->stages[k].calls -= before->stages[k].calls;
        if (isfinite(before->stages[k].seconds)) after->stages[k].seconds -= before->stages[k].seconds;
    }
    for (int k = 0; k < after->n_kernels; k++) after->kernels[k].launches -= before->kernels[k].launches;
}

void md_choices_add(MdChoices *choices, const char *option, const char *value, const char *reason, ...) {
    if (!choices) return;
    md_require(choices->n < MD_MAX_CHOICES);
    MdChoice *row = &choices->rows[choices->n++];
    snprintf(row->option, sizeof row->option, "%s", option);
    snprintf(row->value, sizeof row->value, "%s", value);
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(row->reason, sizeof row->reason, reason, arguments);
    va_end(arguments);
}

void md_resolve_arithmetic(MdConfig *config, MdChoices *choices) {
    if (config->force_arithmetic != MD_ARITHMETIC_AUTO) return;
    bool is_double = config->run_precision == MD_PRECISION_DOUBLE;
    config->force_arithmetic = is_double ? MD_ARITHMETIC_IEEE : MD_ARITHMETIC_FAST;
    md_choices_add(choices, "force.arithmetic", is_double ? "ieee" : "fast", "pairs are in %s precision",
                   is_double ? "double" : "single");
}
