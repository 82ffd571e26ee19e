/* Everything that the bits of a run depend on. */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "checkpoint/file.h"
#include "deck/table.h"
#include "physics/bath.h"

/* Options that cannot change a bit: the device, monitoring, the way of output into files, and the source of the random
 * numbers of the start. */
static bool shapes_bits(int option) {
    return md_option_kind(option) == MD_KIND_PERFORMANCE && strncmp(md_option_name(option), "output.", 7) != 0 &&
           option != MD_OPTION_parallel_grid && option != MD_OPTION_run_backend && option != MD_OPTION_run_threads &&
           option != MD_OPTION_run_device && option != MD_OPTION_check_kernels && option != MD_OPTION_system_random;
}

char *md_bits_switches(const MdRecord *r) {
    MdText text = {0};
    if (r->resume.list_verified) md_text_add(&text, "list=made for the verification\n");
    md_text_add(&text, "backend=%s\n", r->ops->name);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (!shapes_bits(k) || !md_option_has_effect(r->config, k) || r->lacking[k]) continue;
        char *value = md_config_value_text(r->config, k);
        md_text_add(&text, "%s=%s\n", md_option_name(k), value);
        free(value);
    }
    return md_text_take(&text);
}

/* `domains: 2 1 1`, where the bits may hang on them: also by sums that a thermostat takes velocities from. */
static void add_domains(const MdRecord *r, MdText *text) {
    const MdIntList *grid = &r->config->parallel_grid;
    const bool takes_sums = r->config->ensemble_thermostat != MD_THERMOSTAT_NONE &&
                            !(md_bath_traits(r->config->ensemble_thermostat) & MD_BATH_BY_ATOM) &&
                            r->config->reduce_accumulate != MD_ACCUMULATE_REPRODUCIBLE;
    if (!r->ops->bits_follow_grid && !takes_sums) return;
    md_text_add(text, "domains:");
    for (int a = 0; a < 3; a++) md_text_add(text, " %d", grid->n > a ? (int)grid->values[a] : 1);
    md_text_add(text, "\n");
}

/* The last part of the details of a cpu is its instruction set. */
char *md_bits_origin(const MdRecord *r) {
    const MdVersion *version = md_version();
    const char *last = strrchr(r->machine.details, ',');
    MdText text = {0};
    md_text_add(&text, "program: %s (%s%s)\nmachine: %s%s\n", version->version, version->commit,
                version->dirty ? ", dirty" : "", r->machine.name, last ? last : "");
    add_domains(r, &text);
    return md_text_take(&text);
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line != '\0');
}

/* The line of text that begins with the key (up to = or :) that `line` begins with; NULL: none does. */
static const char *find_key(const char *text, const char *line) {
    const size_t n = strcspn(line, "=:\n");
    while (*text && strncmp(text, line, n + 1) != 0) text = next_line(text);
    return *text ? text : NULL;
}

/* Whether the line is of a key that is no more, with the value that everything has now. */
static bool is_former(const char *line) {
    char section[32], key[32], value[32];
    if (sscanf(line, "%31[^.=:\n].%31[^=:\n]=%31[^\n]", section, key, value) != 3) return false;
    const MdFormerKey *former = md_former_key(section, key);
    return former && strcmp(former->value, value) == 0;
}

char *md_bits_difference(const char *before, const char *now) {
    MdText text = {0};
    for (const char *was = before; *was; was = next_line(was)) {
        const char *is = find_key(now, was), *joint = text.length ? "; " : "";
        const int n = (int)strcspn(was, "\n"), m = is ? (int)strcspn(is, "\n") : 0;
        if (!is && is_former(was)) continue;
        if (!is) md_text_add(&text, "%sit was %.*s, which has no part in it now", joint, n, was);
        else if (n != m || strncmp(was, is, (size_t)n) != 0)
            md_text_add(&text, "%sit was %.*s and is %.*s", joint, n, was, m, is);
    }
    for (const char *is = now; *is; is = next_line(is))
        if (!find_key(before, is))
            md_text_add(&text, "%sit is %.*s, which had no part in it before", text.length ? "; " : "",
                        (int)strcspn(is, "\n"), is);
    return text.length ? md_text_take(&text) : NULL;
}
