/* --list-ceilings: the table as text, as JSON, and as the page inputs/CEILINGS.md. */
#include <string.h>

#include "base/json.h"
#include "microbench/host/table.h"

static const char introduction[] =
    "# Ceilings\n"
    "\n"
    "What a machine can do at best, and what naive code leaves of it: `mdmini --ceilings` measures the elementary\n"
    "kernels that courses use, each from its naive to its best form. Every result is checked; a wrong one is\n"
    "FAILED, has no figure, and the exit code is 3. This page is printed by the program:\n"
    "`mdmini --list-ceilings=markdown > inputs/CEILINGS.md`. [COURSE.md](COURSE.md) goes through the rows by the\n"
    "chapters of five texts, with figures.\n"
    "\n"
    "    mdmini --ceilings                       # all that this machine has; about two minutes; writes ceilings.json\n"
    "    mdmini --ceilings bandwidth arithmetic  # these groups alone\n"
    "    mdmini --ceilings 'bandwidth:stride 32' # one row of a group\n"
    "    mdmini --ceilings --quick               # tiny sizes: are all results right? its figures mean nothing\n"
    "    mdmini --ceilings run.backend=cpu run.threads=4 output.directory=results output.name=laptop\n"
    "    mpirun -n 2 mdmini --ceilings peers     # what passes between two processes, and between their GPUs\n"
    "\n"
    "Options that it takes: `run.backend` (auto: the CPU, and the GPU where there is one), `run.device`,\n"
    "`run.threads`, `output.directory`, `output.name` (default `ceilings`), `output.existing`, `parallel.timeout`.\n"
    "\n"
    "The group `peers` is measured by several processes, and all others by one: elsewhere its rows are left out. "
    "Ranks\n"
    "0 and 1 exchange; more of them take part in the all-reduce and in the barrier. A time is that of the slowest\n"
    "rank, and a result is right where it is on all. Rows of memory that another GPU stores in need ranks of one\n"
    "node, each with a GPU of its own that the others can access, and CUDA IPC; what is missing, the table says.\n"
    "\n"
    "A figure is the median of six to nine rounds of a batch of calls of 5 ms or more, after a warm-up; the spread\n"
    "is that of an interval of the median of 95 % confidence or more (`confidence` in the JSON), in per cent of it.\n"
    "The rows of the CPU have 30 s together, those of the GPU two minutes. Each row that is named has a first round\n"
    "before any has a second, in the order of the names, those of little work first; where none is named, each has\n"
    "all its rounds at once. A row that had fewer than six rounds says so; rows whose turn did not come are left\n"
    "out, and the verdict tells how many are left out.\n"
    "Sizes marked + grow until each array is four times all caches of the last level (McCalpin, STREAM), so that it\n"
    "is main memory that is measured; a row for which there is not so much memory is left out. GB/s count the bytes\n"
    "that must move, once each; GFLOP/s count a fused multiply-add as two operations; G/s are 1e9 elements a second,\n"
    "and those of the group `operations` 1e9 operations.\n"
    "What the data sheet says is computed from what the device tells of itself (memory clock and width of the bus;\n"
    "multiprocessors, clock, and lanes of the compute capability); where it tells nothing stands `unknown`.\n"
    "\n"
    "Sums in single precision also show what rounding leaves of them: of 100,000,000 numbers 1.23, whose sum is\n"
    "123,000,000, behind the verdict and as `sum` in the JSON.\n"
    "\n"
    "`ceilings.json` holds the rows (`results`), those left out with their `reason` (`left_out`: how many), the\n"
    "number of processes (`ranks`), the provenance, and in `ceilings` what a roofline needs: `memory_bandwidth`,\n"
    "`l2_bandwidth`, `shared_bandwidth` in GB/s, `peak_single`, `peak_double` in GFLOP/s, each by backend, null\n"
    "where it was not measured: `ceilings[\"memory_bandwidth\"][\"cuda\"]`.\n";

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
