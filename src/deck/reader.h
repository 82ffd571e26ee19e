/* Inside the deck module: the deck itself, and the layers that go into it. */
#ifndef MD_DECK_READER_H
#define MD_DECK_READER_H

#include "deck/table.h"
#include "deck/value.h"

struct MdDeck {
    MdConfig config; /* once it is settled, in the units of the program */
    MdConfig given;  /* then as the deck gives it; shares its texts */
    bool is_settled;
    char *origin[MD_N_OPTIONS]; /* NULL: default */
    /* The layer that gave the value: files and groups of overrides count from 1; 0 is the default. */
    int layer[MD_N_OPTIONS];
    /* Something was wrong where this option is, or may have been, given: checks that rest on it would mislead. */
    bool doubtful[MD_N_OPTIONS];
    int n_layers;
    char *name;   /* of the first file */
    char **files; /* all of them, in order */
    int n_files;
    char *stream, *stream_path; /* coordinates that came through a pipe, and its name; NULL: they did not */
    size_t stream_bytes;
    bool is_saved;  /* the deck comes from a restart file */
    MdDeck *before; /* of a run that is resumed: as it was saved; NULL: a new run */
};

/* Every option at its default. */
MdDeck *md_deck_create(void);

/* Sets an option; the deck becomes the owner of the value's memory. */
void md_deck_set(MdDeck *deck, int option, const MdValue *value, const char *origin);

/* Puts an option back to its default. */
void md_deck_reset(MdDeck *deck, int option);

/* Applies one file whose n bytes (and a 0 after them) are in memory: a deck, or coordinates, told apart by content;
 * whether they are coordinates. path as the user gave it, for messages; relative paths in the deck are seen from
 * folder. */
bool md_deck_read_text(MdDeck *deck, const char *path, const char *folder, const char *text, size_t n,
                       MdErrors *errors);

/* Applies the arguments of a command line in their order. The first file gives the deck its name, if it has none. */
void md_deck_read_layers(MdDeck *deck, int n_arguments, char *const *arguments, MdErrors *errors);

/* Applies one file; whether it holds coordinates. */
bool md_deck_read_file(MdDeck *deck, const char *path, MdErrors *errors);

/* Reads system.file into memory if it is a pipe, once all layers have been applied. */
void md_deck_keep_stream(MdDeck *deck);

/* Whether an argument is an override and not a file: it has a `=`, and no `/` before it. */
bool md_deck_is_override(const char *argument);

/* Whether a word is the name of an option, `run.steps`. */
bool md_deck_names_option(const char *word);

/* Applies one `section.key=value`. */
void md_deck_read_override(MdDeck *deck, const char *argument, MdErrors *errors);

/* After the cross checks: refuses defaults that suit only reduced units, and converts the numbers of the deck. */
void md_deck_settle_units(MdDeck *deck, MdErrors *errors);

/* Cross checks, except those of the system (md_system_plan). Options that a later layer made pointless go back to their
 * defaults. */
void md_deck_check(MdDeck *deck, MdErrors *errors);

#endif
