/* --list-ceilings: the table as text, as JSON, and as the page inputs/CEILINGS.md. */
#include <string.h>

#include "base/json.h"
#include "microbench/host/table.h"

static const char introduction[] =
    "# Ceilings\n"
    "\n"
    "`mdmini --ceilings` measures the limits of a machine, and how far naive code stays below them. It runs the\n"
    "elementary kernels of CUDA courses, each from its naive to its best form. Every result is checked. A wrong\n"
    "result is marked FAILED and has no figure; the exit code is then 3. [COURSE.md](COURSE.md) goes through the\n"
    "rows by the chapters of five texts, with figures. The program prints this page:\n"
    "`mdmini --list-ceilings=markdown > inputs/CEILINGS.md`.\n"
    "\n"
    "    mdmini --ceilings                       # the CPU and the GPU; about two minutes; writes ceilings.json\n"
    "    mdmini --ceilings bandwidth arithmetic  # only these groups\n"
    "    mdmini --ceilings 'bandwidth:stride 32' # one row of a group\n"
    "    mdmini --ceilings --quick               # tiny sizes: only checks the results; the figures mean nothing\n"
    "    mdmini --ceilings run.backend=cpu run.threads=4 output.directory=results output.name=laptop\n"
    "    mpirun -n 2 mdmini --ceilings peers     # messages between two processes, and between their GPUs\n"
    "\n"
    "Allowed options: `run.backend` (auto: the CPU, and the GPU if there is one), `run.device`, `run.threads`,\n"
    "`output.directory`, `output.name` (default `ceilings`), `output.existing`, `parallel.timeout`.\n"
    "\n"
    "The group `peers` needs several processes, and all other groups need exactly one; rows that do not fit are left\n"
    "out. Ranks 0 and 1 exchange messages; all ranks take part in the all-reduce and in the barrier. The time is the\n"
    "time of the slowest rank, and a result is right if it is right on all ranks. Rows that store into the memory of\n"
    "another GPU need CUDA IPC and ranks on one node, each with its own GPU that the others can access.\n"
    "\n"
    "A round is a batch of calls that takes at least 5 ms. A figure is the median of six to nine rounds after a\n"
    "warm-up. The spread is the width of its confidence interval of 95 % or more (`confidence` in the JSON), in per\n"
    "cent of it. All rows of the CPU together have 30 s, all rows of the GPU two minutes. If you name no rows, each\n"
    "row has all its rounds at once. If you name rows, each has its first round before any has its second, in the\n"
    "order of the names, rows with little work first. A row with fewer than six rounds says so. Rows for which there\n"
    "was no time are left out; the verdict gives their number.\n"
    "\n"
    "Sizes marked + grow until each array is four times as large as all caches of the last level (McCalpin, STREAM),\n"
    "so that main memory is measured. A row is left out if the machine has too little memory for it. GB/s count each\n"
    "byte that must move once. GFLOP/s count a fused multiply-add as two operations. G/s are 1e9 elements a second;\n"
    "in the group `operations`, 1e9 operations a second.\n"
    "\n"
    "The values of the data sheet are computed from properties that the device reports: memory clock and bus width;\n"
    "multiprocessors, clock, and lanes of the compute capability. Missing ones are `unknown`.\n"
    "Rows of sums in single precision also show the rounding error: they add 100,000,000 numbers 1.23, whose sum is\n"
    "123,000,000. Their result follows the verdict, and is `sum` in the JSON.\n"
    "\n"
    "`ceilings.json` has the rows (`results`), the rows left out with their `reason` (`left_out`: how many), the\n"
    "number of processes (`ranks`), the provenance, and in `ceilings` the numbers for a roofline:\n"
    "`memory_bandwidth`, `l2_bandwidth`, `shared_bandwidth` in GB/s, `peak_single`, `peak_double` in GFLOP/s. Each\n"
    "has a value by backend, null if it was not measured: `ceilings[\"memory_bandwidth\"][\"cuda\"]`.\n";

static bool begins(int k, bool of_group) {
    const MdCeiling *row = md_ceiling_row(k), *before = k > 0 ? md_ceiling_row(k - 1) : NULL;
    if (!before || strcmp(before->backend, row->backend) != 0) return true;
    return of_group && strcmp(before->group, row->group) != 0;
}

/* `2^24`, where it is a power of two. */
static void size_text(int64_t size, char text[32]) {
    int bits = 0;
    while (size >> bits > 1) bits++;
    if (size == INT64_C(1) << bits && bits > 12) snprintf(text, 32, "2^%d", bits);
    else snprintf(text, 32, "%lld", (long long)size);
}

static const char *size_suffix(const MdCeiling *row) {
    return row->each ? " a thread" : row->dimension == 2 ? " squared" : row->dimension == 3 ? " cubed" : "";
}

static const char *threads_word(const MdCeiling *row) {
    static const char *const words[] = {
        [MD_THREADS_ONE] = "one", [MD_THREADS_ALL] = "all", [MD_THREADS_SWEEP] = "1, 2, 4, ... all"};
    return words[row->threads];
}

static void print_text(FILE *stream) {
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        if (begins(k, false)) fprintf(stream, "%s\n", row->backend);
        if (begins(k, true)) fprintf(stream, "  %s: %s\n", row->group, md_ceiling_group(row->group));
        fprintf(stream, "    %-26s %-8s %s\n", row->variant, md_ceiling_unit(row->unit), row->shows);
    }
}

static void print_json(FILE *stream) {
    MdJson *json = md_json_create();
    md_json_begin_array(json, NULL);
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        md_json_begin_object(json, NULL);
        md_json_text(json, "backend", row->backend);
        md_json_text(json, "group", row->group);
        md_json_text(json, "variant", row->variant);
        md_json_text(json, "unit", md_ceiling_unit(row->unit));
        md_json_real(json, "bytes", row->bytes);
        md_json_real(json, "operations", row->operations);
        md_json_int(json, "size", row->size);
        md_json_int(json, "quick_size", row->quick_size);
        md_json_int(json, "dimension", row->dimension);
        md_json_text(json, "threads", strcmp(row->backend, "cpu") == 0 ? threads_word(row) : NULL);
        md_json_text(json, "data_sheet", md_sheet_name(row->sheet));
        md_json_text(json, "roofline", md_roof_name(row->roof));
        md_json_text(json, "shows", row->shows);
        md_json_text(json, "check", row->check);
        md_json_end_object(json);
    }
    md_json_end_array(json);
    fputs(md_json_string(json), stream);
    md_json_destroy(json);
}

static void print_markdown(FILE *stream) {
    fputs(introduction, stream);
    const MdCeiling *row;
    for (int k = 0; (row = md_ceiling_row(k)) != NULL; k++) {
        const bool cpu = strcmp(row->backend, "cpu") == 0;
        if (begins(k, false)) fprintf(stream, "\n## %s\n", row->backend);
        if (begins(k, true))
            fprintf(stream,
                    "\n### %s\n\n%c%s.\n\n| variant | unit | size |%s bytes | operations | what it shows | check |\n"
                    "|---|---|---|%s---|---|---|---|\n",
                    row->group, md_ceiling_group(row->group)[0] - 'a' + 'A', md_ceiling_group(row->group) + 1,
                    cpu ? " threads |" : "", cpu ? "---|" : "");
        char size[32];
        size_text(row->size, size);
        fprintf(stream, "| %s | %s | %s%s%s | %s%s%g | %g | %s | %s |\n", row->variant, md_ceiling_unit(row->unit),
                size, row->outgrows ? "+" : "", size_suffix(row), cpu ? threads_word(row) : "", cpu ? " | " : "",
                row->bytes, row->operations, row->shows, row->check);
    }
}

void md_ceilings_print(FILE *stream, MdListFormat format) {
    if (format == MD_LIST_TEXT) print_text(stream);
    else if (format == MD_LIST_JSON) print_json(stream);
    else print_markdown(stream);
}
