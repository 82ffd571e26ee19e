#include "backends/backends.h"
#include "report/listing.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/version.h"
#include "output/h5md.h"
#include "base/json.h"

void md_print_help(FILE *stream) {
    fputs(
        "mdmini: molecular dynamics of simple fluids, with every optimisation a switch of the input file\n"
        "\n"
        "usage: mdmini [--check | --bench STAGE] FILE... [section.key=value...]\n"
        "       mpirun -n N mdmini [--check] FILE... [section.key=value...]\n"
        "       mdmini [--check] --restart NAME.restart [section.key=value...]\n"
        "       mdmini --ceilings [--quick] [GROUP...] [section.key=value...]\n"
        "       mdmini --recover NAME.h5\n"
        "\n"
        "  FILE                a deck ([section], key = value, # comment); several are layered, later ones win.\n"
        "                      Or a table of coordinates (two or three columns), or an XYZ file.\n"
        "  section.key=value   sets one option; later arguments win over earlier ones, files included\n"
        "\n"
        "  --check             read and check everything, print the effective deck and the memory it needs; without "
        "the\n"
        "                      GPU of the deck: as much of it as possible, and what is missing\n"
        "  --bench STAGE       time every variant of a stage (sort, neighbor, force, integrate, reduce, gather, a "
        "whole\n"
        "                      step, or all) on fixed configurations of the deck, each checked first;\n"
        "                      writes NAME.bench.json. --melt N: steps to the melted one (default: run.steps)\n"
        "  --ceilings          measure the limits of this machine: memory, arithmetic, atomics, copies, latencies, "
        "each\n"
        "                      naive and best, each result checked; writes ceilings.json. GROUP: bandwidth,\n"
        "                      arithmetic, ... (default: all), or one row of a group, \"bandwidth:stride 32\";\n"
        "                      --quick: tiny sizes, only to check the results\n"
        "  --restart NAME.restart   continues a run that was stopped, or that gets more run.steps\n"
        "  --recover NAME.h5   repairs the trajectory of a killed run: every reader opens it, with all committed\n"
        "                      frames; does not change an intact file\n"
        "  --list-options[=text|json|markdown]    every option: type, default, range, meaning\n"
        "  --list-variants[=text|json|markdown]   every implementation of every stage, for each backend\n"
        "  --list-ceilings[=text|json|markdown]   every elementary kernel of --ceilings, by group\n"
        "  --device[=text|json]                   the processor and the GPUs of this machine, and what they support\n"
        "  --version           version, commit, compilers, libraries, backends\n"
        "  --help              this text\n"
        "\n"
        "With mpirun, or srun --mpi=pmix, N processes make one run, each with a part of the box (parallel.grid) and,\n"
        "on the cuda backend, a GPU. MDMINI_ALONE=1 in the environment runs each process independently.\n"
        "\n"
        "A run NAME writes NAME.log, NAME.json, NAME.csv, NAME.restart and, if frames are requested, the trajectory\n"
        "NAME.h5 in the working directory (output.directory).\n"
        "Exit codes: 0 passed; 1 internal or hardware failure; 2 bad input; 3 verification failed;\n"
        "4 output could not be written; 75 stopped early by a signal or run.walltime, to be resumed with --restart.\n"
        "\n"
        "example: mdmini inputs/melt.txt system.cells=63 run.backend=cuda\n"
        "         mpirun -n 4 mdmini inputs/melt.txt run.backend=cpu\n"
        "         mpirun --bind-to none -n 2 mdmini inputs/melt.txt system.cells=63 run.backend=cuda\n",
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
    fprintf(stream, "MPI:       %s\n", v->mpi[0] ? v->mpi : "none, so that a run is one process");
    fprintf(stream, "backends: ");
    for (const MdBackendOps *const *ops = md_backends(); *ops; ops++) {
        char libraries[128];
        fprintf(stream, "%s %s (%s)", ops == md_backends() ? "" : ",", (*ops)->name,
                (*ops)->libraries(libraries, sizeof libraries));
    }
    fputc('\n', stream);
}

bool md_parse_listing(const char *argument, const char *name, bool has_page, MdListFormat *format) {
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return false;
    const char *rest = argument + length;
    if (*rest == '\0' || strcmp(rest, "=text") == 0) return *format = MD_LIST_TEXT, true;
    if (strcmp(rest, "=json") == 0) return *format = MD_LIST_JSON, true;
    if (has_page && strcmp(rest, "=markdown") == 0) return *format = MD_LIST_MARKDOWN, true;
    fprintf(stderr, "mdmini: error: %s: allowed are %s, %s=text, %s=json%s%s%s\n", argument, name, name, name,
            has_page ? ", " : "", has_page ? name : "", has_page ? "=markdown" : "");
    exit(MD_ERROR_INPUT);
}

/* --- variants ----------------------------------------------------------------------------------------------------- */

/* Whether row k is the first of its stage. */
static bool begins_stage(MdVariantTable table, int k) {
    for (int j = 0; j < k; j++)
        if (strcmp(table.rows[j].stage, table.rows[k].stage) == 0) return false;
    return true;
}

/* The switch of a row, `force.kernel`, and its value; both empty for a stage without a switch. */
static void split_value(const MdVariant *row, char key[64], const char **value) {
    const char *equals = strchr(row->value, '=');
    snprintf(key, 64, "%.*s", equals ? (int)(equals - row->value) : 0, row->value);
    *value = equals ? equals + 1 : "";
}

/* `yes`, `no`, or the condition under which it is. */
static const char *deterministic_word(const MdVariant *row) {
    return row->deterministic[0] ? row->deterministic : "yes";
}

static void print_stage_text(FILE *stream, MdVariantTable table, const char *stage) {
    fprintf(stream, "  %s\n", stage);
    for (int k = 0; k < table.n_rows; k++) {
        const MdVariant *row = &table.rows[k];
        if (strcmp(row->stage, stage) != 0) continue;
        fprintf(stream, "    %-30s %s\n", row->value, row->cost);
        if (row->needs[0]) fprintf(stream, "%35sneeds %s\n", "", row->needs);
        if (row->deterministic[0]) fprintf(stream, "%35sdeterministic: %s\n", "", row->deterministic);
    }
}

static void print_row_json(MdJson *json, const char *backend, const MdVariant *row) {
    char key[64];
    const char *value;
    split_value(row, key, &value);
    md_json_begin_object(json, NULL);
    md_json_text(json, "backend", backend);
    md_json_text(json, "stage", row->stage);
    md_json_text(json, "switch", key);
    md_json_text(json, "value", value);
    md_json_text(json, "needs", row->needs);
    md_json_text(json, "deterministic", deterministic_word(row));
    md_json_real(json, "bytes_per_atom", row->bytes_per_atom);
    md_json_real(json, "flops_per_atom", row->flops_per_atom);
    md_json_real(json, "bytes_per_entry", row->bytes_per_entry);
    md_json_real(json, "flops_per_entry", row->flops_per_entry);
    md_json_text(json, "cost", row->cost);
    md_json_end_object(json);
}

static void print_backend_json(MdJson *json, const char *name, MdVariantTable table) {
    md_json_begin_object(json, NULL);
    md_json_text(json, "name", name);
    md_json_bool(json, "built_in", md_backend_find(name) != NULL);
    md_json_begin_array(json, "lacks");
    for (int k = 0; k < MD_N_OPTIONS; k++)
        if (md_variants_lack(table, k) || md_option_is_of_other_backend(k, name))
            md_json_text(json, NULL, md_option_name(k));
    md_json_end_array(json);
    md_json_begin_array(json, "variants");
    for (int k = 0; k < table.n_rows; k++) print_row_json(json, name, &table.rows[k]);
    md_json_end_array(json);
    md_json_end_object(json);
}

static void print_backend_text(FILE *stream, const char *name, MdVariantTable table) {
    fprintf(stream, "%s%s\n", name, md_backend_find(name) ? "" : " (not built in)");
    for (int k = 0; k < table.n_rows; k++)
        if (begins_stage(table, k)) print_stage_text(stream, table, table.rows[k].stage);
    const char *separator = "  no such stage: ";
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (!md_variants_lack(table, k)) continue;
        fprintf(stream, "%s%s", separator, md_option_name(k));
        separator = ", ";
    }
    fputs(separator[0] == ',' ? "\n" : "", stream);
}

/* `32 N + 4 E`; a model without either is a dash. */
static void print_model(FILE *stream, double per_atom, double per_entry) {
    if (isnan(per_atom + per_entry)) {
        fputs("no model | ", stream);
        return;
    }
    if (per_atom != 0) fprintf(stream, "%g N", per_atom);
    if (per_entry != 0) fprintf(stream, "%s%g E", per_atom == 0 ? "" : per_entry < 0 ? " " : " + ", per_entry);
    fputs(per_atom == 0 && per_entry == 0 ? "- | " : " | ", stream);
}

static void print_stage_markdown(FILE *stream, MdVariantTable table, const char *stage) {
    fprintf(stream,
            "\n### %s\n\n| switch and value | needs | same bits | bytes | operations | what it costs |\n"
            "|---|---|---|---|---|---|\n",
            stage);
    for (int k = 0; k < table.n_rows; k++) {
        const MdVariant *row = &table.rows[k];
        if (strcmp(row->stage, stage) != 0) continue;
        fputs("| ", stream);
        md_print_cell(stream, row->value[0] ? row->value : "(no switch)", " | ");
        md_print_cell(stream, row->needs, " | ");
        md_print_cell(stream, deterministic_word(row), " | ");
        print_model(stream, row->bytes_per_atom, row->bytes_per_entry);
        print_model(stream, row->flops_per_atom, row->flops_per_entry);
        fprintf(stream, "%s |\n", row->cost);
    }
}

static void print_backend_markdown(FILE *stream, const char *name, MdVariantTable table) {
    fprintf(stream, "\n## %s\n", name);
    const char *separator = "\nThis backend has no stage for ";
    size_t column = 0; /* of the line so far: prose ends before 110 */
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (!md_variants_lack(table, k)) continue;
        const char *key = md_option_name(k);
        const bool fits = column + strlen(key) < 108;
        column = (fits ? column + strlen(separator) : 0) + strlen(key);
        fprintf(stream, "%s%s", fits ? separator : ",\n", key);
        separator = ", ";
    }
    fputs(separator[0] == ',' ? ".\n" : "", stream);
    for (int k = 0; k < table.n_rows; k++)
        if (begins_stage(table, k)) print_stage_markdown(stream, table, table.rows[k].stage);
}

static const char variants_introduction[] =
    "# Variants\n"
    "\n"
    "This page lists what each backend implements for each switch. `SWITCHES.md` explains the switches. The program\n"
    "prints this page: `mdmini --list-variants=markdown > inputs/VARIANTS.md`.\n"
    "\n"
    "If a deck does not meet the needs of a row, the run is refused before anything is allocated. The column \"same\n"
    "bits\" says whether two runs of one input on one machine agree to the last bit, or under which condition. Bytes\n"
    "and operations are a model of one call of the stage in mixed precision, for N atoms and E entries of the list.\n"
    "For the total, add the selected rows. Operations of forces are those of Lennard-Jones; other forms, and\n"
    "potential.shift = switch, have no model of them.\n";

void md_print_variants(FILE *stream, MdListFormat format) {
    MdJson *json = format == MD_LIST_JSON ? md_json_create() : NULL;
    MdVariantTable table;
    if (json) md_json_begin_object(json, NULL);
    if (json) md_json_begin_array(json, "backends");
    if (format == MD_LIST_MARKDOWN) fputs(variants_introduction, stream);
    const char *name;
    for (int k = 0; (name = md_backend_table(k, &table)) != NULL; k++) {
        if (format == MD_LIST_TEXT) print_backend_text(stream, name, table);
        if (format == MD_LIST_JSON) print_backend_json(json, name, table);
        if (format == MD_LIST_MARKDOWN) print_backend_markdown(stream, name, table);
    }
    if (!json) return;
    md_json_end_array(json);
    md_json_end_object(json);
    fputs(md_json_string(json), stream);
    md_json_destroy(json);
}
