/* The named values of options. MD_CHOICES_<SET>(X) lists X(CONSTANT, "word") in the order of SWITCHES: naive first.
 * Each set becomes an enum of constants with the set in their name: MD_START_SQUARE (the set SWITCH: MD_OFF, MD_ON). */
#ifndef MD_DECK_CHOICES_H
#define MD_DECK_CHOICES_H

#define MD_CHOICES_NONE(X)
#define MD_CHOICES_SWITCH(X) X(OFF, "off") X(ON, "on")
#define MD_CHOICES_START(X)                                                                                            \
    X(SQUARE, "square") X(HEXAGONAL, "hexagonal") X(SC, "sc") X(BCC, "bcc") X(FCC, "fcc") X(RANDOM, "random")          \
    X(FILE, "file")
#define MD_CHOICES_BOUNDARY(X) X(PERIODIC, "periodic") X(OPEN, "open")
#define MD_CHOICES_GENERATOR(X)                                                                                        \
    X(PHILOX, "philox") X(XORWOW, "xorwow") X(MRG32K3A, "mrg32k3a") X(MT19937, "mt19937")
#define MD_CHOICES_POTENTIAL(X) X(LJ, "lj") X(WCA, "wca")
#define MD_CHOICES_MIXING(X) X(LORENTZ_BERTHELOT, "lorentz-berthelot") X(GEOMETRIC, "geometric")
#define MD_CHOICES_SHIFT(X) X(NONE, "none") X(ENERGY, "energy") X(FORCE, "force")
#define MD_CHOICES_BACKEND(X) X(CPU, "cpu") X(CUDA, "cuda") X(AUTO, "auto")
#define MD_CHOICES_PRECISION(X) X(DOUBLE, "double") X(SINGLE, "single") X(MIXED, "mixed")
#define MD_CHOICES_THERMOSTAT(X) X(NONE, "none") X(RESCALE, "rescale")
#define MD_CHOICES_SORT(X) X(NONE, "none") X(CELL, "cell")
#define MD_CHOICES_SEARCH(X) X(BRUTE, "brute") X(CELL, "cell")
#define MD_CHOICES_LIST_WRITE(X) X(ATOMIC, "atomic") X(NONATOMIC, "nonatomic")
#define MD_CHOICES_LIST_ORDER(X) X(ROW, "row") X(COLUMN, "column")
#define MD_CHOICES_REBUILD(X) X(EVERY, "every") X(HOST_CHECK, "host-check")
#define MD_CHOICES_FILE_PRECISION(X) X(SINGLE, "single") X(DOUBLE, "double")
#define MD_CHOICES_EXISTING(X) X(BACKUP, "backup") X(REFUSE, "refuse") X(OVERWRITE, "overwrite")
#define MD_CHOICES_PROGRESS(X) X(AUTO, "auto") X(BAR, "bar") X(PLAIN, "plain") X(OFF, "off")

#define MD_ENUM_SWITCH(name, word) MD_##name,
enum { MD_CHOICES_SWITCH(MD_ENUM_SWITCH) };
#define MD_ENUM_START(name, word) MD_START_##name,
enum { MD_CHOICES_START(MD_ENUM_START) };
#define MD_ENUM_BOUNDARY(name, word) MD_BOUNDARY_##name,
enum { MD_CHOICES_BOUNDARY(MD_ENUM_BOUNDARY) };
#define MD_ENUM_GENERATOR(name, word) MD_GENERATOR_##name,
enum { MD_CHOICES_GENERATOR(MD_ENUM_GENERATOR) };
#define MD_ENUM_POTENTIAL(name, word) MD_POTENTIAL_##name,
enum { MD_CHOICES_POTENTIAL(MD_ENUM_POTENTIAL) };
#define MD_ENUM_MIXING(name, word) MD_MIXING_##name,
enum { MD_CHOICES_MIXING(MD_ENUM_MIXING) };
#define MD_ENUM_SHIFT(name, word) MD_SHIFT_##name,
enum { MD_CHOICES_SHIFT(MD_ENUM_SHIFT) };
#define MD_ENUM_BACKEND(name, word) MD_BACKEND_##name,
enum { MD_CHOICES_BACKEND(MD_ENUM_BACKEND) };
#define MD_ENUM_PRECISION(name, word) MD_PRECISION_##name,
enum { MD_CHOICES_PRECISION(MD_ENUM_PRECISION) };
#define MD_ENUM_THERMOSTAT(name, word) MD_THERMOSTAT_##name,
enum { MD_CHOICES_THERMOSTAT(MD_ENUM_THERMOSTAT) };
#define MD_ENUM_SORT(name, word) MD_SORT_##name,
enum { MD_CHOICES_SORT(MD_ENUM_SORT) };
#define MD_ENUM_SEARCH(name, word) MD_SEARCH_##name,
enum { MD_CHOICES_SEARCH(MD_ENUM_SEARCH) };
#define MD_ENUM_LIST_WRITE(name, word) MD_LIST_WRITE_##name,
enum { MD_CHOICES_LIST_WRITE(MD_ENUM_LIST_WRITE) };
#define MD_ENUM_LIST_ORDER(name, word) MD_LIST_ORDER_##name,
enum { MD_CHOICES_LIST_ORDER(MD_ENUM_LIST_ORDER) };
#define MD_ENUM_REBUILD(name, word) MD_REBUILD_##name,
enum { MD_CHOICES_REBUILD(MD_ENUM_REBUILD) };
#define MD_ENUM_FILE_PRECISION(name, word) MD_FILE_PRECISION_##name,
enum { MD_CHOICES_FILE_PRECISION(MD_ENUM_FILE_PRECISION) };
#define MD_ENUM_EXISTING(name, word) MD_EXISTING_##name,
enum { MD_CHOICES_EXISTING(MD_ENUM_EXISTING) };
#define MD_ENUM_PROGRESS(name, word) MD_PROGRESS_##name,
enum { MD_CHOICES_PROGRESS(MD_ENUM_PROGRESS) };

#endif
