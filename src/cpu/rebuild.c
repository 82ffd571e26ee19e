/* When the list is too old, by neighbor.rebuild, and what is made anew then: order of memory, domains and halo, cells, list. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cpu/context.h"
#include "physics/predict.h"

void md_cpu_finish_kick(MdCpuContext *c) {
    if (!c->kick_waits) return;
    const double start_s = md_clock_s();
    c->kernels->kick(c);
    c->kick_waits = false;
    md_trace_span(c->track, MD_TRACE_STEPS, "half kick", start_s, md_clock_s(), c->step);
}

double md_cpu_largest_displacement_sq(const MdCpuContext *c) {
    double largest = 0;
    for (int64_t b = 0; b < c->n_blocks; b++) largest = fmax(largest, c->partial[b].displacement_sq);
    return largest;
}

/* At fixed intervals the last use before a rebuild tells how far atoms got, for the count of late rebuilds. */
static bool looks_at_displacements(const MdCpuContext *c, int64_t step) {
    if (c->rebuild == MD_REBUILD_EVERY) return (step + 1) % c->every == 0;
    return c->rebuild == MD_REBUILD_HOST_CHECK;
}

static void look_at_displacements(MdCpuContext *c) {
    const double start_s = md_clock_s();
    c->kernels->find_displacements(c);
    c->largest_sq = md_cpu_largest_displacement_sq(c);
    md_cpu_add_time(c, MD_CPU_NEIGHBOR, start_s); /* a call of the stage is a search */
}

/* The largest displacement over all ranks, and whether any has a fault: a list is made by all, or by none. */
static void agree(MdCpuContext *c) {
    if (!md_cpu_has_ranks(c)) return;
    const double start_s = md_clock_s();
    double values[2] = {c->largest_sq, c->fault.step >= 0};
    md_comm_max(c->comm, values, 2);
    c->largest_sq = values[0];
    c->halted = values[1] > 0;
    md_cpu_add_time(c, MD_CPU_HALO, start_s);
}

static bool rebuild_is_due(MdCpuContext *c, int64_t step) {
    const bool every = c->rebuild == MD_REBUILD_EVERY;
    const bool due = !c->built || (every && step % c->every == 0 && step != c->last_build_step);
    if (!due && looks_at_displacements(c, step)) look_at_displacements(c);
    if (due || !every) agree(c);
    return due || (!every && 2 * sqrt(c->largest_sq) > c->skin);
}

/* The positions that cells and list are made from. */
static void find_places(MdCpuContext *c, int64_t age) {
    const size_t bytes = (size_t)c->n_padded * (c->state_double ? sizeof(double) : sizeof(float));
    if (c->predict == MD_PREDICT_VELOCITY) c->kernels->look_ahead(c, md_predict_time((double)age, c->timestep));
    else
        for (int a = 0; a < 3; a++) memcpy(c->built_at[a], c->position[a], bytes);
}

/* Prepares the data of the force kernel from the current particles, `age` steps after the last time. */
static void build(MdCpuContext *c, int64_t age) {
    double start_s = md_clock_s();
    md_cpu_finish_kick(c);
    if (c->per_call) md_cpu_take_rebuild(c);
    find_places(c, age);
    c->kernels->wrap(c);
    md_cpu_trade_places(c);
    md_cpu_make_grid(c);
    const double exchanged_s = c->statistics.rank.exchange_seconds;
    md_cpu_arrange_atoms(c);
    const double moved_s = c->statistics.rank.exchange_seconds - exchanged_s;
    c->kernels->place_atoms(c);
    c->built = true;
    c->largest_sq = c->used_sq = 0;
    md_cpu_end_stage(c, MD_CPU_SORT, start_s + moved_s); /* of several ranks that which is not the next stage's */
    if (md_cpu_has_ranks(c)) md_cpu_end_stage(c, MD_CPU_MIGRATE, md_clock_s() - moved_s);
    start_s = md_clock_s();
    if (c->kernel == MD_KERNEL_LIST) md_cpu_build_list(c);
    if (c->kernel == MD_KERNEL_CELL) md_cpu_measure_cells(c);
    if (c->per_call) md_cpu_release_rebuild(c);
    md_cpu_trade_places(c);
    if (c->predict == MD_PREDICT_VELOCITY) {
        c->kernels->place_atoms(c);
        c->halo.is_stale = true; /* the atoms are not where the list was made for */
    }
    if (c->kernel != MD_KERNEL_PAIRS) md_cpu_end_stage(c, MD_CPU_NEIGHBOR, start_s);
}

MdStatus md_cpu_rebuild(void *context) {
    MdCpuContext *c = context;
    const int64_t step = c->step > c->last_build_step ? c->step : c->last_build_step;
    build(c, c->built ? step - c->last_build_step : 0);
    c->last_build_step = step;
    return MD_OK;
}

MdStatus md_cpu_update_neighbors(void *context, int64_t step) {
    MdCpuContext *c = context;
    md_cpu_finish_kick(c);
    const bool due = rebuild_is_due(c, step);
    if (due && c->built && c->step < step) { /* no drift since the last use, as at the end of a run */
        look_at_displacements(c);
        agree(c);
    }
    if (!due || c->step < step) c->used_sq = c->largest_sq;
    /* After a fault the motion is over: the old list is still safe to use, a new one could be of any size. */
    if (!due || (c->built && c->halted)) return MD_OK;
    if (c->built) {
        c->statistics.n_rebuilds++;
        /* Kernels that walk all pairs miss none. */
        if (2 * sqrt(c->used_sq) > c->skin && c->kernel != MD_KERNEL_PAIRS) c->statistics.n_late_rebuilds++;
    }
    build(c, c->built ? step - c->last_build_step : 0);
    c->last_build_step = step;
    return MD_OK;
}
