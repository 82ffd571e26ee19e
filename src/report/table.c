#include "report/table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/replace.h"
#include "deck/units.h"

/* An open box has no pressure: an empty field. */
static void write_field(FILE *file, double value) {
    char text[MD_NUMBER_BYTES];
    fprintf(file, ",%s", isfinite(value) ? md_number_write(text, value) : "");
}

static void write_row(FILE *file, const MdConfig *config, const MdThermo *row) {
    const MdThermo t = md_thermo_shown(config, row);
    const double values[] = {t.time, t.temperature, t.potential, t.total, t.conserved, t.pressure};
    fprintf(file, "%lld", (long long)t.step);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) write_field(file, values[k]);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(config, k)) write_field(file, t.pressure_tensor[k]);
    fputc('\n', file);
}

static void write_all(FILE *file, const void *data) {
    const MdRecord *r = data;
    const char *energy = md_config_unit(r->config, MD_ENERGY),
               *pressure = md_config_unit(r->config, md_unit_pressure(r->plan.box.dimension));
    fprintf(file,
            "step,time (%s),temperature (%s),potential energy per atom (%s),total energy per atom (%s),"
            "conserved energy per atom (%s),pressure (%s)",
            md_config_unit(r->config, MD_TIME), md_config_unit(r->config, MD_TEMPERATURE), energy, energy, energy,
            pressure);
    for (int k = 0; k < MD_N_TENSOR; k++)
        if (md_config_shows_tensor(r->config, k)) fprintf(file, ",pressure %s (%s)", md_tensor_names[k], pressure);
    fputc('\n', file);
    for (size_t k = 0; k < r->history.n; k++) write_row(file, r->config, &r->history.rows[k]);
}

MdStatus md_table_open(MdRecord *r) {
    if (md_replace_file(r->files.csv, write_all, r, r->errors) != MD_OK) return MD_ERROR_OUTPUT;
    r->table = fopen(r->files.csv, "a");
    return r->table ? MD_OK : md_fail(r->errors, MD_ERROR_OUTPUT, "%s: %s", r->files.csv, strerror(errno));
}

void md_table_add(MdRecord *r, const MdThermo *row) {
    write_row(r->table, r->config, row);
    fflush(r->table);
}

MdStatus md_table_close(MdRecord *r) {
    if (!r->table) return MD_OK;
    const bool failed = ferror(r->table) != 0, closed = fclose(r->table) == 0;
    r->table = NULL;
    if (!failed && closed) return MD_OK;
    return md_fail(r->errors, MD_ERROR_OUTPUT, "%s: could not be written to the end", r->files.csv);
}
