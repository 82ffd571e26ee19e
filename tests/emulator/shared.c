/* How much static shared memory each kernel of a library uses: the thread-local variables that its code, and the code of
 * the functions that it calls, refers to. The linker leaves the references in the library (--emit-relocs). */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

typedef struct Library {
    const char *bytes, *names;
    const Elf64_Shdr *sections;
    unsigned n_sections;
    const Elf64_Sym *symbols;
    size_t n_symbols;
    bool *seen; /* symbols */
} Library;

static Library open_library(const char *bytes) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)bytes;
    Library l = {.bytes = bytes, .sections = (const Elf64_Shdr *)(bytes + head->e_shoff), .n_sections = head->e_shnum};
    for (unsigned s = 0; s < l.n_sections; s++)
        if (l.sections[s].sh_type == SHT_SYMTAB) {
            l.symbols = (const Elf64_Sym *)(bytes + l.sections[s].sh_offset);
            l.n_symbols = l.sections[s].sh_size / sizeof *l.symbols;
            l.names = bytes + l.sections[l.sections[s].sh_link].sh_offset;
        }
    return l;
}

/* The function at an address. */
static size_t function_at(const Library *l, uint64_t address) {
    for (size_t k = 0; k < l->n_symbols; k++) {
        const Elf64_Sym *symbol = &l->symbols[k];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && address >= symbol->st_value &&
            address < symbol->st_value + symbol->st_size)
            return k;
    }
    return l->n_symbols;
}

/* Bytes of what symbol k is or refers to and nobody has referred to before. */
static size_t add_up(const Library *l, size_t k) {
    if (k >= l->n_symbols || l->seen[k]) return 0;
    const Elf64_Sym *symbol = &l->symbols[k];
    l->seen[k] = true;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS) return (symbol->st_size + 15) / 16 * 16;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) return 0;
    size_t sum = 0;
    for (unsigned s = 0; s < l->n_sections; s++) {
        if (l->sections[s].sh_type != SHT_RELA) continue;
        const Elf64_Rela *entries = (const Elf64_Rela *)(l->bytes + l->sections[s].sh_offset);
        for (size_t r = 0; r < l->sections[s].sh_size / sizeof *entries; r++) {
            if (entries[r].r_offset < symbol->st_value || entries[r].r_offset >= symbol->st_value + symbol->st_size)
                continue;
            size_t target = ELF64_R_SYM(entries[r].r_info);
            if (target < l->n_symbols && ELF64_ST_TYPE(l->symbols[target].st_info) == STT_SECTION)
                target =
                    function_at(l, l->symbols[target].st_value + (uint64_t)entries[r].r_addend + 4); /* of a call */
            sum += add_up(l, target);
        }
    }
    return sum;
}

size_t emulator_static_shared(const char *bytes, const char *kernel) {
    Library l = open_library(bytes);
    l.seen = calloc(l.n_symbols + 1, sizeof *l.seen);
    if (!l.seen) emulator_fail("no memory");
    size_t sum = 0;
    for (size_t k = 0; k < l.n_symbols; k++)
        if (ELF64_ST_TYPE(l.symbols[k].st_info) == STT_FUNC && strcmp(l.names + l.symbols[k].st_name, kernel) == 0)
            sum = add_up(&l, k);
    free(l.seen);
    return sum;
}
