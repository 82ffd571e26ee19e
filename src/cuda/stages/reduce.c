/* Stage reduce, host side; the kernels and their ladder are in kernels/reduce.cu and kernels/reduce.cuh.
 *
 * A kernel that sums ends in add_to_totals (reduce.cuh) and is launched between cuda_reduce_begin and cuda_reduce_finish,
 * in any stage. */
#include "cuda/stages/stages.h"

_Static_assert(CUDA_MOST_TOTALS == MD_SPLIT_PARTS * (CUDA_PAIR_TOTALS(1) + CUDA_ATOM_TOTALS(1)),
               "all parts of all sums");

/* Of so many sums. */
static int count_parts(const CudaContext *context, int n_sums) { return n_sums * context->facts.sum_parts; }

/* Extremes need no partial sums, only memory for a tree. */
void cuda_reduce_begin_extremes(CudaContext *context) {
    if (context->config.reduce_method == MD_METHOD_GLOBAL) cuda_memory_begin(context, CUDA_SCRATCH);
}

void cuda_reduce_end_extremes(CudaContext *context) {
    if (context->config.reduce_method == MD_METHOD_GLOBAL) cuda_memory_end(context, CUDA_SCRATCH);
}

void cuda_reduce_begin(CudaContext *context, int first, int n_sums, int64_t n_blocks) {
    const int n_parts = count_parts(context, n_sums);
    const size_t count = (size_t)n_parts * (size_t)n_blocks;
    cuda_memory_begin(context, CUDA_SCRATCH);
    /* A kernel that finds the device stopped writes nothing, but later kernels still read. */
    if (context->config.reduce_scratch == MD_SCRATCH_PER_CALL && context->arguments.partials)
        CUDA_CHECK(cudaMemsetAsync(context->arguments.partials, 0, count * sizeof(double), context->stream));
    if (context->config.reduce_finish == MD_FINISH_ATOMIC)
        CUDA_CHECK(cudaMemsetAsync(&context->arguments.totals[count_parts(context, first)], 0,
                                   (size_t)n_parts * sizeof(double), context->stream));
}

/* With `host` partial sums wait on the device until somebody asks for sums. */
static CudaPartials *kept_partials(CudaContext *context, int first) {
    return first == CUDA_POTENTIAL ? &context->pair_partials : &context->atom_partials;
}

void cuda_reduce_finish(CudaContext *context, int first, int n_sums, int64_t n_blocks) {
    const int n_parts = count_parts(context, n_sums);
    const size_t count = (size_t)n_parts * (size_t)n_blocks;
    switch (context->config.reduce_finish) {
    case MD_FINISH_HOST: {
        CudaPartials *partials = kept_partials(context, first);
        CUDA_CHECK(cudaMemcpyAsync(partials->sums, context->arguments.partials, count * sizeof(double),
                                   cudaMemcpyDefault, context->stream));
        partials->n = n_blocks;
        break;
    }
    case MD_FINISH_TWO_PASS:
        context->arguments.first_total = count_parts(context, first);
        context->arguments.n = (int32_t)n_blocks;
        cuda_launch_blocks(context, CUDA_K_reduce_finish, n_parts);
        break;
    default: break; /* atomic: the totals are there */
    }
    cuda_memory_end(context, CUDA_SCRATCH);
}

/* --- rows: the sums of a step for the host -------------------------------------------------------------------------- */

static double *partials_of(CudaRowHead *head) { return (double *)(head + 1); }
static size_t count_pairs(const CudaRow *row) { return (size_t)(row->n_pairs * row->pair_sums * row->n_parts); }
static size_t count_atoms(const CudaRow *row) { return (size_t)(row->n_atoms * row->atom_sums * row->n_parts); }

/* The partial sums move after the head, where the next step does not overwrite them. */
static void keep_partials(CudaContext *context, CudaRow *row) {
    double *to = partials_of(row->d_head);
    row->n_pairs = context->pair_partials.n;
    row->n_atoms = context->atom_partials.n;
    CUDA_CHECK(cudaMemcpyAsync(to, context->pair_partials.sums, count_pairs(row) * sizeof(double), cudaMemcpyDefault,
                               context->stream));
    CUDA_CHECK(cudaMemcpyAsync(to + count_pairs(row), context->atom_partials.sums, count_atoms(row) * sizeof(double),
                               cudaMemcpyDefault, context->stream));
}

void cuda_reduce_row(CudaContext *context, CudaRow *row, int64_t step) {
    const int blocks = cuda_reduce_blocks(context), first = context->facts.pair_sums, n_sums = context->facts.atom_sums;
    cuda_timing_begin(context, CUDA_REDUCE);
    cuda_memory_need_forces(context);
    cuda_reduce_begin(context, first, n_sums, blocks);
    cuda_launch_blocks(context, CUDA_K_reduce_sums, blocks);
    cuda_reduce_finish(context, first, n_sums, blocks);
    row->n_parts = context->facts.sum_parts;
    row->pair_sums = first;
    row->atom_sums = n_sums;
    row->adds = context->config.reduce_finish == MD_FINISH_HOST;
    row->bath = &context->arguments.bath;
    if (row->adds) keep_partials(context, row);
    context->arguments.row = row->d_head;
    context->arguments.row_step = step;
    cuda_launch_blocks(context, CUDA_K_reduce_seal, 1);
    cuda_timing_end(context);
}

void cuda_reduce_copy_row(const CudaRow *row, cudaStream_t stream) {
    const size_t partials = row->adds ? count_pairs(row) + count_atoms(row) : 0;
    CUDA_CHECK(cudaMemcpyAsync(row->h_head, row->d_head, sizeof(CudaRowHead) + partials * sizeof(double),
                               cudaMemcpyDefault, stream));
}

/* n_totals of the sums of n blocks each, in the order of the blocks. */
static void add_on_host(const double *partials, int64_t n, int n_totals, double *totals) {
    for (int q = 0; q < n_totals; q++) {
        totals[q] = 0;
        for (int64_t k = 0; k < n; k++) totals[q] += partials[q * n + k];
    }
}

/* sum: of those over pairs, or pair_sums on, of those over atoms. */
static MdSplitSum total_of(const CudaRow *row, int sum_number) {
    MdSplitSum sum = {{0}};
    for (int k = 0; k < row->n_parts; k++) sum.part[k] = row->h_head->totals[sum_number * row->n_parts + k];
    return sum;
}

void cuda_reduce_read_row(const CudaRow *row, MdSumParts *sums) {
    double *totals = row->h_head->totals;
    const int n = row->n_parts;
    if (row->adds) {
        const double *partials = partials_of(row->h_head);
        add_on_host(partials, row->n_pairs, row->pair_sums * n, totals);
        add_on_host(partials + count_pairs(row), row->n_atoms, row->atom_sums * n, &totals[row->pair_sums * n]);
    }
    sums->pairs = total_of(row, CUDA_PAIRS);
    sums->potential = total_of(row, CUDA_POTENTIAL);
    sums->truncation = total_of(row, CUDA_TRUNCATION);
    sums->virial = total_of(row, CUDA_VIRIAL);
    const int atoms = row->pair_sums;
    sums->kinetic = total_of(row, atoms + CUDA_KINETIC);
    for (int axis = 0; axis < 3; axis++) sums->momentum[axis] = total_of(row, atoms + CUDA_MOMENTUM + axis);
    sums->force_sq_mass = total_of(row, atoms + CUDA_FORCE_SQ);
    for (int k = 0; k < MD_N_TENSOR; k++) {
        const bool is_there = row->pair_sums > CUDA_VIRIAL_TENSOR;
        sums->virial_tensor[k] = is_there ? total_of(row, CUDA_VIRIAL_TENSOR + k) : (MdSplitSum){{0}};
        sums->kinetic_tensor[k] = is_there ? total_of(row, atoms + CUDA_KINETIC_TENSOR + k) : (MdSplitSum){{0}};
    }
    sums->heat = md_heat_bath_sum(row->bath, row->h_head->heat);
}

void cuda_reduce_sums(CudaContext *context, MdSumParts *sums) {
    cuda_reduce_row(context, &context->sums, context->step);
    cuda_reduce_copy_row(&context->sums, context->stream);
    cuda_wait_stream(context, "wait: sums");
    cuda_reduce_read_row(&context->sums, sums);
}

void cuda_reduce_measure(CudaContext *context) {
    CudaMeasures *measures = &context->arguments.status->measures;
    CUDA_CHECK(cudaMemsetAsync(&measures->high, 0, sizeof measures->high, context->stream));
    CUDA_CHECK(cudaMemsetAsync(&measures->low, 0, sizeof measures->low, context->stream));
    cuda_reduce_begin_extremes(context);
    cuda_launch_blocks(context, CUDA_K_reduce_measure, cuda_reduce_blocks(context));
    cuda_reduce_end_extremes(context);
}
