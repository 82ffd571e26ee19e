#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double rate(double amount, double seconds) { return amount > 0 && seconds > 0 ? amount / seconds * 1e-9 : NAN; }

MdFigures md_figures_of_work(MdWork work, double seconds) {
    return (MdFigures){work, rate(work.bytes, seconds), rate(work.flops, seconds)};
}

MdFigures md_figures_of_stage(const MdBackendOps *ops, const MdConfig *config, const MdStageTime *stage, double n_atoms,
                              double n_entries) {
    MdWork work = md_variants_work(ops->variants(), stage->stage, config, n_atoms, n_entries);
    return md_figures_of_work(work, stage->calls > 0 ? stage->seconds / (double)stage->calls : NAN);
}

static bool has_stage(const MdStatistics *statistics, const char *name) {
    for (int k = 0; k < statistics->n_stages; k++)
        if (strcmp(statistics->stages[k].stage, name) == 0) return true;
    return false;
}

void md_figures_complete(MdStatistics *statistics, const MdBackendOps *ops, const MdConfig *config,
                         const MdConfig *asked, bool has_ranks) {
    MdVariantTable table = ops->variants();
    for (int k = 0; k < table.n_rows; k++) {
        const char *name = table.rows[k].stage;
        if (has_stage(statistics, name)) continue;
        md_require(statistics->n_stages < MD_MAX_STAGES);
        MdStageTime *stage = &statistics->stages[statistics->n_stages++];
        *stage = (MdStageTime){.seconds = NAN};
        snprintf(stage->stage, sizeof stage->stage, "%s", name);
        md_variants_describe(table, name, asked, stage->asked, sizeof stage->asked);
        if (has_ranks || strcmp(name, "halo") != 0)
            md_variants_describe(table, name, config, stage->ran, sizeof stage->ran);
    }
}

const char *md_figure_text(char text[MD_FIGURE_BYTES], double value) {
    if (!isfinite(value)) return "-";
    snprintf(text, MD_FIGURE_BYTES, value < 99.95 ? "%.1f" : "%.0f", value);
    return text;
}
