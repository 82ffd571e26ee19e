/* The input: deck files, coordinate tables and `section.key=value` overrides, read into one checked configuration.
 *
 * Layers are applied in the order of the command line; a later one wins over an earlier one. A file may have a key
 * once. Every problem of every layer is reported, as `file:line: section.key: value, allowed values`. */
#ifndef MD_DECK_DECK_H
#define MD_DECK_DECK_H

#include <stdio.h>

#include "base/status.h"
#include "deck/config.h"
#include "physics/bath_atoms.h"

typedef struct MdDeck MdDeck;

/* Reads the layers: each argument is a file, or `section.key=value`. NULL, with the problems in errors, when any of
 * them cannot be used. A file that is no deck but a table of coordinates or XYZ sets system.start = file, system.file,
 * system.dimension and an open boundary. */
MdDeck *md_deck_read(int n_arguments, char *const *arguments, MdErrors *errors);
/* The deck of a resumed run: the deck of its restart file, and the arguments on top of it. Keys of the physics and
 * the precision may not change, except run.steps. */
typedef struct MdDeckSaved {
    const char *path; /* of the restart file, for messages */
    const char *name; /* of the run's first deck */
    const char *text; /* the effective deck */
} MdDeckSaved;
MdDeck *md_deck_resume(const MdDeckSaved *saved, int n_arguments, char *const *arguments, MdErrors *errors);
/* The options of a command that simulates nothing: only overrides, and only of these options (ended by -1). name: the
 * default of output.name; command: for messages. */
MdDeck *md_deck_read_overrides(const char *name, const char *command, const int *options, int n_arguments,
                               char *const *arguments, MdErrors *errors);
void md_deck_destroy(MdDeck *deck);

const MdConfig *md_deck_config(const MdDeck *deck);

/* The deck of a run that is resumed, as its restart file has it; NULL for a new run. It lives as long as deck. */
const MdDeck *md_deck_before(const MdDeck *deck);

/* Where the value of an option came from: `default`, `file:line`, `command line`. */
const char *md_deck_origin(const MdDeck *deck, int option);

/* A backend's message has values, but not their origin: `section.key=value: ..., but section.key is value ...`.
 * Adds the origin of the first key in front, and those of the others after their values; text from malloc. Other
 * messages stay as they are. deck: an MdDeck; for md_errors_finish. */
char *md_deck_place(const void *deck, const char *message);

/* The first file of the command line, without folder and ending: the default of output.name. */
const char *md_deck_name(const MdDeck *deck);

/* The files of the command line, in order; NULL for k beyond the last. */
const char *md_deck_file(const MdDeck *deck, int k);

/* The bytes of system.file, with a 0 after them, where they came through a pipe and cannot be read again; else NULL. */
const char *md_deck_stream(const MdDeck *deck, size_t *n);

/* The effective deck: every key with its value and origin, as a deck that reproduces the run when read again (paths
 * absolute). Keys without effect are comments; so are the switches that `backend` lacks, by
 * lacking (by option; both NULL: not known), unless the deck gives them and leaves the backend open. Text from malloc. */
char *md_deck_effective_text(const MdDeck *deck, const bool *lacking, const char *backend);

/* Whether the temperature ramp ends at the last step of the run: such a run cannot be extended. */
bool md_deck_ramp_ends(const MdConfig *config);

/* The value of an option as written in a deck; text from malloc. */
char *md_deck_value_text(const MdDeck *deck, int option);
char *md_config_value_text(const MdConfig *config, int option);
/* The target temperature of the thermostat. */
MdRamp md_config_target(const MdConfig *config);
/* The relaxation time of the kinetic energy by the thermostat: ensemble.relaxation, or by ensemble.friction, or by default. */
double md_config_relaxation(const MdConfig *config);
/* Degrees of freedom: a thermostat on each atom moves the centre of mass, too; otherwise the total momentum stays, and D are less. */
double md_config_degrees(const MdConfig *config, int64_t n_atoms, int dimension);

/* --- the table itself, for help, reference page, JSON --- */

typedef enum MdOptionKind { MD_KIND_PHYSICS, MD_KIND_PERFORMANCE, MD_KIND_OUTPUT, MD_KIND_DEBUG } MdOptionKind;

typedef enum MdListFormat { MD_LIST_TEXT, MD_LIST_JSON, MD_LIST_MARKDOWN } MdListFormat;

const char *md_option_name(int option); /* `section.key` */
MdOptionKind md_option_kind(int option);
int md_option_by_name(const char *name); /* -1: there is none */

/* A switch: an option of kind performance that is one of some words, of the run itself: system.random is none, which is
 * over before a stage of a backend begins. */
bool md_option_is_switch(int option);
/* Its words, ended by NULL; and which one config has. */
const char *const *md_switch_words(int option);
int md_switch_value(const MdConfig *config, int option);
void md_switch_set(MdConfig *config, int option, int value);

/* Whether a file or the command line gave the option: 0 not, else the number of the layer. */
int md_deck_layer(const MdDeck *deck, int option);
/* Whether it has the value of the table, or is off: where the option has no effect, giving that is no error. */
bool md_deck_asks_nothing(const MdDeck *deck, int option);

/* Some options have an effect only while another has certain values (neighbor.every: with neighbor.rebuild = every). */
bool md_option_has_effect(const MdConfig *config, int option);
/* Whether it has an effect with another value of run.backend only (run.threads on a GPU). */
bool md_option_is_of_other_backend(int option, const char *backend);
/* The missing condition of an option, `section.key = word or word`; NULL when it has an effect. Text from malloc. */
char *md_option_lack(const MdConfig *config, int option);

/* The whole table, for --list-options. */
void md_options_print(FILE *stream, MdListFormat format);
/* Prints a cell of a Markdown table, with `|` escaped, then `end`. */
void md_print_cell(FILE *stream, const char *text, const char *end);

#endif
