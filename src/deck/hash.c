#define _POSIX_C_SOURCE 200809L
#include "deck/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "deck/table.h"

/* Where files go says nothing of the run. */
static bool names_output(int option) {
    return option == MD_OPTION_output_name ||
           (md_option_row(option)->type == MD_TYPE_PATH && md_option_kind(option) != MD_KIND_PHYSICS);
}

/* Only a plain file: opening a pipe would wait for another writer. */
static bool hash_file(const char *path, uint64_t *value) {
    char block[65536];
    struct stat there;
    FILE *file = stat(path, &there) == 0 && S_ISREG(there.st_mode) ? fopen(path, "rb") : NULL;
    if (!file) return false;
    MdChecksum sum = md_checksum_begin();
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) md_checksum_add(&sum, block, n);
    const bool read = !ferror(file);
    fclose(file);
    *value = md_checksum_value(&sum);
    return read;
}

/* Of the coordinate file, or of the content of a pipe. */
static bool hash_coordinates(const MdDeck *deck, uint64_t *value) {
    size_t n_bytes;
    const char *stream = md_deck_stream(deck, &n_bytes);
    if (!stream) return hash_file(md_deck_config(deck)->system_file, value);
    *value = md_checksum(stream, n_bytes);
    return true;
}

static void add_option(MdChecksum *sum, const MdDeck *deck, int option, MdDeckHash *hash) {
    char *value = md_deck_value_text(deck, option), *line;
    uint64_t content = 0;
    if (option == MD_OPTION_system_file) {
        if (!hash_coordinates(deck, &content)) hash->missing = "system.file cannot be read any more";
        free(value);
        value = md_format("%016" PRIx64, content);
    } else if (option == MD_OPTION_potential_file) {
        if (!hash_file(md_deck_config(deck)->potential_file, &content))
            hash->missing = "potential.file cannot be read any more";
        free(value);
        value = md_format("%016" PRIx64, content);
    }
    line = md_format("%s = %s\n", md_option_name(option), value);
    md_checksum_add(sum, line, strlen(line));
    free(value);
    free(line);
}

MdDeckHash md_deck_hash(const MdDeck *deck, bool physics_alone) {
    MdDeckHash hash = {0};
    MdChecksum sum = md_checksum_begin();
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        if (physics_alone && md_option_kind(k) != MD_KIND_PHYSICS) continue;
        if (names_output(k) || !md_option_has_effect(md_deck_config(deck), k)) continue;
        hash.holds[k] = true;
        add_option(&sum, deck, k, &hash);
    }
    hash.value = md_checksum_value(&sum);
    return hash;
}
