/* The columns of the atoms as arrays, and as rows that are sent. */
#include <string.h>

#include "cpu/context.h"

static const MdColumn columns[MD_CPU_N_COLUMNS] = {MD_CPU_COLUMNS(MD_COLUMN_ENTRY)};

int md_cpu_first_array(int column) {
    int array = 0;
    for (int k = 0; k < column; k++) array += columns[k].components;
    return array;
}

static int column_of(int array) {
    int k = 0;
    for (; array >= columns[k].components; k++) array -= columns[k].components;
    return k;
}

const MdColumn *md_cpu_column(int array) { return &columns[column_of(array)]; }

bool md_cpu_is_there(const MdCpuContext *c, int array) { return c->is_there[column_of(array)]; }

size_t md_cpu_number_bytes(const MdCpuContext *c, int array) {
    return md_number_bytes(md_cpu_column(array)->number, c->precision);
}

bool md_cpu_moves(const MdCpuContext *c, int array) {
    return md_cpu_is_there(c, array) && (!(md_cpu_column(array)->traits & MD_COLUMN_MADE) || c->moves_forces);
}

/* --- rows ----------------------------------------------------------------------------------------------------------- */

static void add_array(const MdCpuContext *c, MdCpuRow *row, int array) {
    row->array[row->n] = array;
    row->bytes += row->size[row->n++] = md_cpu_number_bytes(c, array);
}

MdCpuRow md_cpu_row_of_atom(const MdCpuContext *c) {
    MdCpuRow row = {0};
    for (int k = 0; k < MD_CPU_N_ARRAYS; k++)
        if (md_cpu_moves(c, k)) add_array(c, &row, k);
    return row;
}

MdCpuRow md_cpu_row_of_copy(const MdCpuContext *c) {
    MdCpuRow row = {0};
    for (int k = 0; k < MD_CPU_N_ARRAYS; k++)
        if (md_cpu_is_there(c, k) && md_cpu_column(k)->traits & MD_COLUMN_HALO) add_array(c, &row, k);
    return row;
}

void md_cpu_pack_row(const MdCpuContext *c, const MdCpuRow *row, int64_t i, char *to) {
    for (int k = 0; k < row->n; to += row->size[k], k++)
        memcpy(to, (const char *)c->arrays[row->array[k]] + (size_t)i * row->size[k], row->size[k]);
}

void md_cpu_unpack_row(MdCpuContext *c, const MdCpuRow *row, int64_t i, const char *from) {
    for (int k = 0; k < row->n; from += row->size[k], k++)
        memcpy((char *)c->arrays[row->array[k]] + (size_t)i * row->size[k], from, row->size[k]);
}

/* --- in ------------------------------------------------------------------------------------------------------------- */

static void fill_array(const MdCpuContext *c, int array, const void *from, int components, int axis) {
    const MdNumber number = md_cpu_column(array)->number;
    const bool is_double = md_number_bytes(number, c->precision) == sizeof(double);
    for (int64_t i = 0; i < c->n_atoms; i++) {
        const int64_t at = components * i + axis;
        if (number == MD_NUMBER_WORD) ((int32_t *)c->arrays[array])[i] = ((const int32_t *)from)[at];
        else if (is_double) ((double *)c->arrays[array])[i] = ((const double *)from)[at];
        else ((float *)c->arrays[array])[i] = (float)((const double *)from)[at];
    }
}

void md_cpu_fill_column(MdCpuContext *c, int column, const void *from) {
    const int n = columns[column].components;
    for (int a = 0; a < n; a++) fill_array(c, md_cpu_first_array(column) + a, from, n, a);
}
