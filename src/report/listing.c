#include "report/listing.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/version.h"
#include "output/h5md.h"
#include "base/json.h"

void md_print_help(FILE *stream) {
    fputs("mdmini: molecular dynamics of simple fluids, with every optimisation a switch of the input file\n"
          "\n"
          "usage: mdmini [--check] FILE... [section.key=value...]\n"
          "\n"
          "  FILE                a deck ([section], key = value, # comment); several are layered, later ones win.\n"
          "                      Or a table of coordinates (two or three columns), or an XYZ file.\n"
          "  section.key=value   sets one option; wins over all files\n"
          "\n"
          "  --check             read and check everything, print the effective deck and the memory it needs\n"
          "  --list-options[=text|json|markdown]    every option: type, default, range, meaning\n"
          "  --list-variants[=text|json|markdown]   every implementation of every stage, for each backend\n"
          "  --version           version, commit, compilers, libraries, backends\n"
          "  --help              this text\n"
          "\n"
          "A run NAME leaves NAME.log, NAME.json and the trajectory NAME.h5 in the working directory.\n"
          "Exit codes: 0 passed; 1 internal or hardware failure; 2 bad input; 3 verification failed;\n"
          "4 output could not be written.\n"
          "\n"
          "example: mdmini inputs/melt.txt system.cells=63 run.backend=cuda\n",
          stream);
}

void md_print_version(FILE *stream) {
    const MdVersion *v = md_version();
    char hdf5[32];
    fprintf(stream, "mdmini %s (%s%s)\n", v->version, v->commit, v->dirty ? ", with uncommitted changes" : "");
    fprintf(stream, "build:     %s\n", v->build_type);
    fprintf(stream, "C:         %s, %s\n", v->c_compiler, v->c_flags[0] ? v->c_flags : "no flags");
    if (v->cuda[0]) fprintf(stream, "CUDA:      toolkit %s; kernels are compiled when the program starts\n", v->cuda);
    fprintf(stream, "HDF5:      %s (built with %s)\n", md_h5md_library_version(hdf5), v->hdf5);
    fprintf(stream, "backends: ");
    for (const MdBackendOps *const *ops = md_backends(); *ops; ops++) {
        char libraries[128];
        fprintf(stream, "%s %s (%s)", ops == md_backends() ? "" : ",", (*ops)->name,
                (*ops)->libraries(libraries, sizeof libraries));
    }
    fputc('\n', stream);
}

bool md_parse_listing(const char *argument, const char *name, MdListFormat *format) {
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return false;
    const char *rest = argument + length;
    if (*rest == '\0' || strcmp(rest, "=text") == 0) return *format = MD_LIST_TEXT, true;
    if (strcmp(rest, "=json") == 0) return *format = MD_LIST_JSON, true;
    if (strcmp(rest, "=markdown") == 0) return *format = MD_LIST_MARKDOWN, true;
    fprintf(stderr, "mdmini: error: %s: allowed are %s, %s=text, %s=json, %s=markdown\n", argument, name, name, name,
            name);
    exit(MD_ERROR_INPUT);
}

static void print_row_text(FILE *stream, const MdVariant *row) {
    fprintf(stream, "  %-10s %-32s %s\n", row->stage, row->value, row->cost);
    if (row->needs[0]) fprintf(stream, "  %-43s needs %s\n", "", row->needs);
    if (row->deterministic[0]) fprintf(stream, "  %-43s deterministic: %s\n", "", row->deterministic);
}

static void print_row_json(MdJson *json, const char *backend, const MdVariant *row) {
    md_json_begin_object(json, NULL);
    md_json_text(json, "backend", backend);
    md_json_text(json, "stage", row->stage);
    md_json_text(json, "value", row->value);
    md_json_text(json, "needs", row->needs);
    md_json_text(json, "deterministic", row->deterministic);
    md_json_real(json, "bytes_per_atom", row->bytes_per_atom);
    md_json_real(json, "flops_per_atom", row->flops_per_atom);
    md_json_real(json, "bytes_per_entry", row->bytes_per_entry);
    md_json_real(json, "flops_per_entry", row->flops_per_entry);
    md_json_text(json, "cost", row->cost);
    md_json_end_object(json);
}

void md_print_variants(FILE *stream, MdListFormat format) {
    MdJson *json = format == MD_LIST_JSON ? md_json_create() : NULL;
    if (json) md_json_begin_array(json, NULL);
    if (format == MD_LIST_MARKDOWN)
        fputs("| backend | stage | value | needs | deterministic | cost |\n|---|---|---|---|---|---|\n", stream);
    for (const MdBackendOps *const *ops = md_backends(); *ops; ops++) {
        MdVariantTable table = (*ops)->variants();
        if (format == MD_LIST_TEXT) fprintf(stream, "%s\n", (*ops)->name);
        for (int k = 0; k < table.n_rows; k++) {
            const MdVariant *row = &table.rows[k];
            if (format == MD_LIST_TEXT) print_row_text(stream, row);
            if (format == MD_LIST_JSON) print_row_json(json, (*ops)->name, row);
            if (format == MD_LIST_MARKDOWN)
                fprintf(stream, "| %s | %s | %s | %s | %s | %s |\n", (*ops)->name, row->stage, row->value, row->needs,
                        row->deterministic[0] ? row->deterministic : "yes", row->cost);
        }
    }
    if (json) {
        md_json_end_array(json);
        fputs(md_json_string(json), stream);
        md_json_destroy(json);
    }
}
