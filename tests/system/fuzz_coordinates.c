/* What a fuzzer calls: one input is read as a file of coordinates, in two and in three dimensions. Nothing may crash,
 * leak or leave a message that does not fit a line; what was accepted must be whole and come back when it is written.
 *
 * test_fuzz_coordinates.c runs it with mutations of the files at hand. With clang's libFuzzer:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests/support -o fuzz_coordinates
 *       tests/system/fuzz_coordinates.c src/system/?*.c src/deck/?*.c src/base/[c-s]*.c -lm
 *   mkdir -p corpus && ./fuzz_coordinates -max_total_time=600 corpus tests/system/files tests/deck/bad */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "deck/table.h"
#include "fuzz.h"
#include "system/coordinates.h"

static long n_accepted;

static void require_printable(const char *text) {
    for (const char *c = text; c && *c; c++) md_require((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static MdCoordinates *read_text(const char *text, size_t size, int dimension) {
    MdErrors *errors = md_errors_create();
    MdCoordinates *c = md_coordinates_read("fuzz.xyz", text, size, dimension, errors);
    md_require((c == NULL) == (md_errors_count(errors) > 0));
    for (int k = 0; k < md_errors_count(errors); k++) require_printable(md_errors_text(errors, k));
    md_errors_destroy(errors);
    return c;
}

/* What the header promises of coordinates that were read. */
static void require_whole(const MdCoordinates *c, int dimension) {
    md_require(c->n_atoms >= 2 && c->n_types >= 0 && c->n_types <= MD_MAX_TYPES &&
               (c->type != NULL) == (c->n_types > 0));
    require_printable(c->note);
    for (int a = 0; a < 3; a++) md_require(isfinite(c->lattice[a]) && c->lattice[a] >= 0 && isfinite(c->origin[a]));
    for (int t = 0; t < c->n_types; t++) md_require(c->symbol[t][0] && c->mass[t] >= 0 && isfinite(c->mass[t]));
    for (int64_t i = 0; i < c->n_atoms; i++) {
        md_require(c->line[i] > 0 && (!c->id || i == 0 || c->id[i] > c->id[i - 1]));
        md_require(!c->type || (c->type[i] >= 0 && c->type[i] < c->n_types));
        for (int64_t k = 3 * i; k < 3 * i + 3; k++)
            md_require(isfinite(c->position[k]) && (!c->velocity || isfinite(c->velocity[k])) &&
                       (!c->momentum || isfinite(c->momentum[k])));
        md_require(dimension == 3 || c->position[3 * i + 2] == 0);
    }
}

/* Extended XYZ that says the same in the plainest way; text from malloc. */
static char *write_plainly(const MdCoordinates *c) {
    MdText text = {0};
    md_text_add(&text, "%lld\n", (long long)c->n_atoms);
    if (c->has_lattice)
        md_text_add(&text, "Lattice=\"%.17g 0 0 0 %.17g 0 0 0 %.17g\" ", c->lattice[0], c->lattice[1], c->lattice[2]);
    if (c->has_pbc) md_text_add(&text, "pbc=\"%d %d %d\" ", c->pbc[0], c->pbc[1], c->pbc[2]);
    md_text_add(&text, "Properties=species:S:1:pos:R:3%s\n", c->velocity ? ":velo:R:3" : "");
    for (int64_t i = 0; i < c->n_atoms; i++) {
        const double *x = c->position + 3 * i, *v = c->velocity + 3 * i;
        md_text_add(&text, "%s %.17g %.17g %.17g", c->type ? c->symbol[c->type[i]] : "A", x[0], x[1], x[2]);
        if (c->velocity) md_text_add(&text, " %.17g %.17g %.17g", v[0], v[1], v[2]);
        md_text_add(&text, "\n");
    }
    return md_text_take(&text);
}

static void require_return(const MdCoordinates *c, int dimension) {
    char *text = write_plainly(c);
    MdCoordinates *again = read_text(text, strlen(text), dimension);
    const size_t vectors = 3 * (size_t)c->n_atoms * sizeof(double);
    md_require(again && again->n_atoms == c->n_atoms && again->has_lattice == c->has_lattice);
    md_require(memcmp(again->lattice, c->lattice, sizeof c->lattice) == 0 &&
               memcmp(again->pbc, c->pbc, sizeof c->pbc) == 0);
    md_require(memcmp(again->position, c->position, vectors) == 0);
    md_require((again->velocity != NULL) == (c->velocity != NULL));
    md_require(!c->velocity || memcmp(again->velocity, c->velocity, vectors) == 0);
    md_coordinates_destroy(again);
    free(text);
}

/* Masses, box and places as a run would take them. */
static void settle(MdCoordinates *c, int dimension) {
    static const double mass[MD_MAX_TYPES] = {1, 2, 1, 2, 1, 2, 1, 2};
    MdErrors *errors = md_errors_create();
    MdBox box = {.dimension = dimension, .length = {1, 1, 1}};
    for (int a = 0; a < dimension; a++) {
        box.periodic[a] = c->has_lattice && c->lattice[a] > 1e-3;
        if (box.periodic[a]) box.length[a] = c->lattice[a];
    }
    md_coordinates_use_masses(c, mass, "fuzz.xyz", errors);
    md_coordinates_settle(c, &box, "fuzz.xyz", errors);
    for (int k = 0; k < md_errors_count(errors); k++) require_printable(md_errors_text(errors, k));
    md_errors_destroy(errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1); /* of the very size, so that the address sanitizer sees one byte too far */
    md_require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (int dimension = 2; dimension <= 3; dimension++) {
        MdCoordinates *c = read_text(text, size, dimension);
        if (!c) continue;
        n_accepted++;
        require_whole(c, dimension);
        require_return(c, dimension);
        settle(c, dimension);
        md_coordinates_destroy(c);
    }
    free(text);
    return 0;
}
