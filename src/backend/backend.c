#include "backend/backend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

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
}

void md_variant_describe(MdVariantTable table, const char *stage, const char *name, MdStageTime *time) {
    for (int k = 0; k < table.n_rows; k++) {
        const MdVariant *row = &table.rows[k];
        if (strcmp(row->stage, stage) != 0 || strcmp(row->name, name) != 0) continue;
        snprintf(time->stage, sizeof time->stage, "%s", row->stage);
        snprintf(time->asked, sizeof time->asked, "%s", row->switches);
        snprintf(time->ran, sizeof time->ran, "%s", row->name);
        return;
    }
    md_panic("no variant %s of stage %s", name, stage);
}
