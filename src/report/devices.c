#include "report/devices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backends.h"
#include "base/json.h"
#include "base/memory.h"
#include "deck/reader.h"

/* --- text ---------------------------------------------------------------------------------------------------------- */

/* `49152 bytes (48 KiB)` */
static void print_bytes(FILE *stream, int64_t n) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    double size = (double)n / 1024;
    int unit = 0;
    for (; size >= 1024 && unit < 2; unit++) size /= 1024;
    fprintf(stream, "%" PRId64 " bytes (%.4g %s)", n, size, units[unit]);
}

static void print_fact(FILE *stream, const MdDeviceFact *fact) {
    fprintf(stream, "  %-46s ", fact->what);
    if (fact->n == 0) fputs(fact->text, stream);
    else if (fact->is_yes_or_no) fputs(fact->numbers[0] ? "yes" : "no", stream);
    else if (strcmp(fact->unit, "bytes") == 0) print_bytes(stream, fact->numbers[0]);
    else {
        for (int k = 0; k < fact->n; k++) fprintf(stream, "%s%" PRId64, k > 0 ? " x " : "", fact->numbers[k]);
        fprintf(stream, "%s%s", fact->unit[0] ? " " : "", fact->unit);
    }
    fputc('\n', stream);
}

static void print_device(FILE *stream, const char *backend, int number, const MdDescription *description) {
    fprintf(stream, "%s %d: %s\n", backend, number, description->name);
    for (int k = 0; k < description->n; k++) print_fact(stream, &description->facts[k]);
}

/* --- JSON ---------------------------------------------------------------------------------------------------------- */

static void write_fact(MdJson *json, const MdDeviceFact *fact) {
    if (fact->n == 0) md_json_text(json, fact->key, fact->text);
    else if (fact->is_yes_or_no) md_json_bool(json, fact->key, fact->numbers[0] != 0);
    else if (fact->n == 1) md_json_int(json, fact->key, fact->numbers[0]);
    else {
        md_json_begin_array(json, fact->key);
        for (int k = 0; k < fact->n; k++) md_json_int(json, NULL, fact->numbers[k]);
        md_json_end_array(json);
    }
}

static void write_device(MdJson *json, const char *backend, int number, const MdDescription *description) {
    md_json_begin_object(json, NULL);
    md_json_text(json, "backend", backend);
    md_json_int(json, "number", number);
    md_json_text(json, "name", description->name);
    for (int k = 0; k < description->n; k++) write_fact(json, &description->facts[k]);
    md_json_end_object(json);
}

/* --- all of them --------------------------------------------------------------------------------------------------- */

/* Why a backend has no device; from md_alloc. */
static char *reason_of(const MdErrors *errors) {
    static const char key[] = "run.backend=cuda: ";
    const char *text = md_errors_count(errors) > 0 ? md_errors_text(errors, 0) : "it does not say why";
    return md_copy_text(strncmp(text, key, sizeof key - 1) == 0 ? text + sizeof key - 1 : text);
}

/* Its devices; the reason where there is none, else NULL. */
static char *show_backend(const MdBackendOps *ops, const MdConfig *config, FILE *stream, MdJson *json) {
    MdErrors *errors = md_errors_create();
    MdDescription *description = md_alloc(1, sizeof *description, "description of a device");
    int number = 0;
    for (; ops->describe(config, number, description, errors); number++) {
        if (json) write_device(json, ops->name, number, description);
        else print_device(stream, ops->name, number, description);
        memset(description, 0, sizeof *description);
    }
    char *reason = number == 0 ? reason_of(errors) : NULL;
    md_free(description);
    md_errors_destroy(errors);
    return reason;
}

void md_devices_print(FILE *stream, MdListFormat format) {
    MdJson *json = format == MD_LIST_JSON ? md_json_create() : NULL;
    MdDeck *deck = md_deck_create();
    MdVariantTable table;
    const char *name;
    char *reasons[8] = {NULL};
    int n = 0;
    if (json) md_json_begin_object(json, NULL);
    if (json) md_json_begin_array(json, "devices");
    for (; (name = md_backend_table(n, &table)) != NULL; n++) {
        md_require(n < (int)(sizeof reasons / sizeof reasons[0]));
        const MdBackendOps *ops = md_backend_find(name);
        reasons[n] = ops ? show_backend(ops, md_deck_config(deck), stream, json)
                         : md_copy_text("this program was built without that backend");
        if (reasons[n] && !json) fprintf(stream, "%s: none: %s\n", name, reasons[n]);
    }
    if (json) md_json_end_array(json);
    if (json) md_json_begin_object(json, "missing");
    for (int k = 0; k < n; k++) {
        if (json && reasons[k]) md_json_text(json, md_backend_table(k, &table), reasons[k]);
        free(reasons[k]);
    }
    if (json) md_json_end_object(json);
    if (json) md_json_end_object(json);
    if (json) fputs(md_json_string(json), stream);
    md_json_destroy(json);
    md_deck_destroy(deck);
}
