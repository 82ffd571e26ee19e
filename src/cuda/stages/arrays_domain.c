/* The arrays that only several processes have: atoms sent to other ranks and received from them, and their counts. */
#include "cuda/stages/array_table.h"

/* Other processes map whole pages of the GPU: mapped arrays have separate pages. */
size_t cuda_arrays_exported(const CudaContext *context, size_t n, size_t size) {
    const size_t of_page = ((size_t)2 << 20) / size + 1;
    return context->config.parallel_transport == MD_TRANSPORT_DIRECT && context->comm && n < of_page ? of_page : n;
}

/* With nccl rank 0 has the rows of all. */
int64_t cuda_frame_rows(const CudaContext *context) {
    const bool has_all = context->config.parallel_transport == MD_TRANSPORT_NCCL && md_comm_is_root(context->comm);
    return has_all ? context->n_all : context->room;
}

size_t cuda_frame_rows_bytes(const CudaContext *context) {
    return cuda_arrays_exported(context, cuda_frame_offset(context, CUDA_FRAME_COLUMNS, cuda_frame_rows(context)), 1);
}

void cuda_arrays_add_domain(CudaContext *context, CudaArrays *arrays) {
    CudaDomain *d = &context->arguments.domain;
    const size_t n = (size_t)d->row_room, n_atoms = (size_t)context->room, row = cuda_domain_row_bytes(context);
    cuda_array_keep(arrays, &d->table, 1, sizeof *d->table, "counts of a domain");
    cuda_array_keep(arrays, &d->rows, n, row, "atoms that are sent");
    cuda_array_keep(arrays, &d->rows_in, cuda_arrays_exported(context, n, row), row, "atoms that are received");
    cuda_array_keep(arrays, &d->leaving, n_atoms, sizeof *d->leaving, "atoms that leave");
    cuda_array_keep(arrays, &d->destination, n, sizeof *d->destination, "ranks that they go to");
    cuda_array_keep(arrays, &d->out, n, sizeof *d->out, "atoms of the border");
    cuda_array_keep(arrays, &d->out_cell, (size_t)context->max_cells, sizeof *d->out_cell, "cells of the border");
    cuda_array_keep(arrays, &d->sent, n, 4 * context->facts.pair_size, "positions that are sent");
    if (context->config.parallel_transport == MD_TRANSPORT_NCCL) {
        cuda_array_keep(arrays, &d->migrants, (size_t)d->inbox_room, row, "atoms that leave");
        cuda_array_keep(arrays, &d->migrants_in, (size_t)d->inbox_room, row, "atoms that come");
    }
    if (context->config.parallel_transport == MD_TRANSPORT_DIRECT) {
        const size_t bytes = CUDA_MAILBOX_BYTES + (size_t)d->inbox_room * row;
        cuda_array_keep(arrays, &d->peers, 1, sizeof *d->peers, "memory of other GPUs");
        cuda_array_keep(arrays, &context->halo.mailbox, cuda_arrays_exported(context, bytes, 1), 1, "mailbox");
    }
    if (cuda_output_joins(context) && context->output.spec.n_frames > 0)
        cuda_array_keep(arrays, &d->frame_rows, cuda_frame_rows_bytes(context), 1, "rows of a frame");
    if (context->facts.lists_copies) {
        md_require(n <= (size_t)1 << CUDA_COPY_BITS);
        cuda_array_keep(arrays, &d->first_copy, n_atoms, sizeof *d->first_copy, "copies of atoms");
        cuda_array_keep(arrays, &d->next_copy, n, sizeof *d->next_copy, "copies of atoms");
    }
}

void cuda_arrays_add_domain_pinned(CudaContext *context, CudaArrays *arrays) {
    CudaHalo *h = &context->halo;
    const size_t n = (size_t)context->arguments.domain.row_room, row = cuda_domain_row_bytes(context);
    cuda_array_add(arrays, CUDA_STAGING, &h->h_out, n, row, "atoms that are sent");
    cuda_array_add(arrays, CUDA_STAGING, &h->h_in, n, row, "atoms that are received");
    cuda_array_keep(arrays, &h->sent_tables, CUDA_SENT_TABLES, sizeof *h->sent_tables, "counts of a domain");
    cuda_array_keep(arrays, &h->h_moved_sq, 1, sizeof *h->h_moved_sq, "largest displacement");
    cuda_array_keep(arrays, &h->h_peers, 1, sizeof *h->h_peers, "memory of other GPUs");
}
