#include "report/continued.h"

#include <stdlib.h>

#include "base/memory.h"

static void log_line(const MdRecord *r, const char *prefix, const char *head, const char *text) {
    if (*prefix) md_log(r->log, "%s%s %s\n", prefix, head, text);
    else md_log_wrapped(r->log, head, text);
}

/* Appends `3 frames of run.h5`. */
static void add_frames(MdText *text, int64_t n, const char *what, const char *path) {
    if (n == 0) return;
    md_text_add(text, "%s%lld %s%s of %s", text->length ? ", " : "", (long long)n, what, n == 1 ? "" : "s", path);
}

static void log_dropped(const MdRecord *r, const char *prefix) {
    const MdTrajectoryContinued *c = &r->resume.continued;
    MdText text = {0};
    add_frames(&text, c->h5.n_dropped[MD_H5MD_POSITION], "frame", r->files.h5);
    add_frames(&text, c->h5.n_dropped[MD_H5MD_VELOCITY], "frame", "its velocities");
    add_frames(&text, c->h5.n_dropped[MD_H5MD_FORCE], "frame", "its forces");
    add_frames(&text, c->n_xyz_dropped, "frame", r->files.xyz);
    char *dropped = md_text_take(&text);
    char *line = md_format("%s: after step %lld, or at it as the end of a run; due output is written again", dropped,
                           (long long)r->resume.from_step);
    if (*dropped) log_line(r, prefix, *prefix ? "drops    " : "dropped  ", line);
    free(dropped);
    free(line);
}

static void log_missing(const MdRecord *r, const char *prefix) {
    MdText text = {0};
    add_frames(&text, r->resume.n_missing, "frame", r->files.h5 ? r->files.h5 : "the trajectory");
    add_frames(&text, r->resume.n_xyz_missing, "frame", r->files.xyz ? r->files.xyz : "the XYZ file");
    char *missing = md_text_take(&text);
    char *line = md_format("%s up to step %lld: they could not be written before the run ended, and stay missing",
                           missing, (long long)r->resume.from_step);
    if (*missing) log_line(r, prefix, "missing  ", line);
    free(missing);
    free(line);
}

/* `; output.compression is gzip-1 (command line) and was none`. */
static void add_change(MdText *text, const MdRecord *r, int option, const MdConfig *before) {
    char *now = md_deck_value_text(r->deck, option), *then = md_config_value_text(before, option);
    md_text_add(text, "%s%s is %s (%s) and was %s", text->length ? "; " : "", md_option_name(option), now,
                md_deck_origin(r->deck, option), then);
    free(now);
    free(then);
}

/* Why the trajectory was copied; NULL: it was not. From malloc. */
static char *describe_copy(const MdRecord *r) {
    const MdH5mdContinued *c = &r->resume.continued.h5;
    if (!c->copied) return NULL;
    MdText text = {0};
    MdConfig before = *r->config; /* as the file has it */
    before.output_compression = c->compression;
    before.output_precision = c->precision;
    if (c->compression != r->config->output_compression) add_change(&text, r, MD_OPTION_output_compression, &before);
    if (c->precision != r->config->output_precision) {
        add_change(&text, r, MD_OPTION_output_precision, &before);
        md_text_add(&text, ", so that the frames of before are %s",
                    c->precision == MD_FILE_PRECISION_DOUBLE ? "rounded" : "as they were rounded then");
    }
    if (c->regrouped) md_text_add(&text, "%svelocities or forces come, or at other steps", text.length ? "; " : "");
    if (c->reformed) md_text_add(&text, "%sanother program has stored it in another form", text.length ? "; " : "");
    if (c->grown) md_text_add(&text, "%smore frames are to come than it had room for", text.length ? "; " : "");
    if (*c->added)
        md_text_add(&text, "; the file as it was stays, as %s, for it holds %s, which mdmini did not write",
                    r->files.h5_aside, c->added);
    return md_text_take(&text);
}

static void log_copied(const MdRecord *r, const char *prefix) {
    char *why = describe_copy(r);
    if (!why) return;
    char *line = md_format("%s, with all frames that stay: %s", r->files.h5, why);
    log_line(r, prefix, *prefix ? "rewrites " : "rewritten", line);
    free(line);
    free(why);
}

void md_continued_log(const MdRecord *r, const char *prefix) {
    log_missing(r, prefix);
    log_dropped(r, prefix);
    log_copied(r, prefix);
}

void md_continued_write(MdJson *json, const MdRecord *r) {
    const MdTrajectoryContinued *c = &r->resume.continued;
    char *why = describe_copy(r);
    md_json_int(json, "missing_frames", r->resume.n_missing);
    md_json_int(json, "missing_xyz_frames", r->resume.n_xyz_missing);
    md_json_int(json, "dropped_frames", c->h5.n_dropped[MD_H5MD_POSITION]);
    md_json_int(json, "dropped_velocity_frames", c->h5.n_dropped[MD_H5MD_VELOCITY]);
    md_json_int(json, "dropped_force_frames", c->h5.n_dropped[MD_H5MD_FORCE]);
    md_json_int(json, "dropped_xyz_frames", c->n_xyz_dropped);
    md_json_text(json, "rewritten", why); /* null: the trajectory goes on in the same file */
    free(why);
}
