#define _POSIX_C_SOURCE 200809L
#include "output/restart.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "deck/table.h"
#include "output/path.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "restart files are written as numbers lie in memory");

static const char magic[16] = "mdmini restart";

typedef struct Head {
    char magic[16];
    uint32_t version, byte_order;
    uint64_t checksum; /* of all bytes before it */
} Head;

typedef struct SectionHead {
    char name[MD_RESTART_NAME_BYTES];
    uint64_t n_bytes;
    uint64_t checksum; /* of all bytes before it */
} SectionHead;

_Static_assert(sizeof(Head) == 32 && sizeof(SectionHead) == 40, "no gaps");

enum { BYTE_ORDER_MARK = 0x01020304, MAX_SECTIONS = 64, BLOCK_BYTES = 1 << 20 };

typedef struct Section {
    SectionHead head;
    off_t offset; /* of its bytes */
} Section;

struct MdRestart {
    char *path, *aside; /* aside: FILE.tmp, while it is written */
    MdErrors *errors;
    FILE *file;
    MdStatus status; /* of writing: the first failure */
    bool keep;       /* the file of before */
    Section sections[MAX_SECTIONS];
    int n_sections;
    MdChecksum whole, data; /* data: of the section that is open */
    uint64_t n_left;        /* of it */
};

static uint64_t padding(uint64_t n_bytes) { return (8 - n_bytes % 8) % 8; }

/* --- writing ------------------------------------------------------------------------------------------------------ */

static MdStatus fail_write(MdRestart *r, const char *what) {
    if (r->status == MD_OK)
        r->status = md_fail(r->errors, MD_ERROR_OUTPUT, "%s: %s: %s", r->aside, what, strerror(errno));
    return r->status;
}

static void put(MdRestart *r, const void *data, uint64_t n_bytes) {
    if (r->status == MD_OK && n_bytes > 0 && fwrite(data, 1, n_bytes, r->file) != n_bytes) fail_write(r, "write");
}

static void put_checksum(MdRestart *r, uint64_t checksum) {
    md_checksum_add(&r->whole, &checksum, sizeof checksum);
    put(r, &checksum, sizeof checksum);
}

static void end_section(MdRestart *r) {
    static const char zeros[8];
    if (r->n_sections == 0) return;
    md_require(r->n_left == 0);
    put(r, zeros, padding(r->sections[r->n_sections - 1].head.n_bytes));
    put_checksum(r, md_checksum_value(&r->data));
}

MdRestart *md_restart_create(const char *path, bool keep, MdErrors *errors) {
    MdRestart *r = md_alloc(1, sizeof *r, "restart file");
    Head head = {.version = MD_RESTART_VERSION, .byte_order = BYTE_ORDER_MARK};
    r->path = md_copy_text(path);
    r->aside = md_format("%s.tmp", path);
    r->errors = errors;
    r->keep = keep;
    r->whole = md_checksum_begin();
    r->file = fopen(r->aside, "wb");
    if (!r->file) {
        fail_write(r, "cannot be made");
        md_restart_close(r);
        return NULL;
    }
    memcpy(head.magic, magic, sizeof magic);
    head.checksum = md_checksum(&head, offsetof(Head, checksum));
    put(r, &head, sizeof head);
    return r;
}

MdStatus md_restart_begin(MdRestart *r, const char *name, uint64_t n_bytes) {
    if (r->status != MD_OK) return r->status; /* the section before it may have ended early */
    end_section(r);
    md_require(r->n_sections < MAX_SECTIONS && strlen(name) < MD_RESTART_NAME_BYTES);
    SectionHead *head = &r->sections[r->n_sections++].head;
    memset(head, 0, sizeof *head);
    memcpy(head->name, name, strlen(name));
    head->n_bytes = n_bytes;
    head->checksum = md_checksum(head, offsetof(SectionHead, checksum));
    put(r, head, offsetof(SectionHead, checksum));
    put_checksum(r, head->checksum);
    r->data = md_checksum_begin();
    r->n_left = n_bytes;
    return r->status;
}

MdStatus md_restart_write(MdRestart *r, const void *data, uint64_t n_bytes) {
    if (r->status != MD_OK) return r->status;
    md_require(n_bytes <= r->n_left);
    md_checksum_add(&r->data, data, n_bytes);
    r->n_left -= n_bytes;
    put(r, data, n_bytes);
    return r->status;
}

/* The file of before gets another name, aside, and the new one takes over its first: there is a whole file under the name
 * at every moment. Only then is the other name that of the older generation, so that a failure in between costs neither; one
 * at the end costs the generation before, not the new state. Where a file cannot have two names, it is renamed. Returns
 * whether the new one stands. */
static bool take_place(MdRestart *r) {
    char *previous = md_format("%s.prev", r->path), *before = md_format("%s.prev.tmp", r->path);
    struct stat there;
    const bool keep = r->keep && stat(r->path, &there) == 0 && S_ISREG(there.st_mode);
    unlink(before); /* of a program that was killed here */
    if (keep && link(r->path, before) != 0 && rename(r->path, before) != 0)
        fail_write(r, "the file of before could not be kept as .prev");
    const bool stands = r->status == MD_OK && rename(r->aside, r->path) == 0;
    if (r->status == MD_OK && !stands) fail_write(r, "cannot be renamed");
    if (stands && keep && rename(before, previous) != 0) fail_write(r, "the file of before could not be kept as .prev");
    if (keep && r->status != MD_OK) {
        if (!stands) rename(before, r->path); /* does nothing where it has two names */
        unlink(before);
    }
    free(previous);
    free(before);
    return stands;
}

static void end_file(MdRestart *r) {
    md_restart_begin(r, "end", sizeof(uint64_t));
    const uint64_t whole = md_checksum_value(&r->whole);
    md_restart_write(r, &whole, sizeof whole);
    end_section(r);
}

MdStatus md_restart_commit(MdRestart *r, MdStatus so_far, bool *stands) {
    if (r->status == MD_OK) r->status = so_far;
    if (r->status == MD_OK) end_file(r);
    if (r->status == MD_OK && (fflush(r->file) != 0 || fdatasync(fileno(r->file)) != 0)) fail_write(r, "write");
    if (fclose(r->file) != 0) fail_write(r, "write");
    r->file = NULL;
    *stands = r->status == MD_OK && take_place(r);
    if (!*stands) unlink(r->aside);
    else if (!md_path_sync_folder(r->path)) fail_write(r, "the folder could not be brought to the disk");
    const MdStatus status = r->status;
    md_restart_close(r);
    return status;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool refuse(MdRestart *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The reason, and other files to resume from. */
static bool refuse(MdRestart *r, const char *format, ...) {
    MdText reason = {0};
    va_list arguments;
    va_start(arguments, format);
    md_text_add_list(&reason, format, arguments);
    va_end(arguments);
    char *previous = md_format("%s.prev", r->path), *file = md_shell_path(previous);
    const size_t n = strlen(r->path);
    const bool older = n < 5 || strcmp(r->path + n - 5, ".prev") != 0;
    if (older && access(previous, R_OK) == 0)
        md_text_add(&reason, "; the one before it is there: mdmini --restart %s", file);
    md_fail(r->errors, MD_ERROR_INPUT, "%s: %s", r->path, reason.text);
    free(reason.text);
    free(file);
    free(previous);
    return false;
}

static bool get(MdRestart *r, void *data, size_t n_bytes) { return fread(data, 1, n_bytes, r->file) == n_bytes; }

static bool read_head(MdRestart *r) {
    Head head;
    if (!get(r, &head, sizeof head) || memcmp(head.magic, magic, sizeof magic) != 0)
        return refuse(r, "this is no restart file of mdmini");
    if (head.byte_order != BYTE_ORDER_MARK || head.checksum != md_checksum(&head, offsetof(Head, checksum)))
        return refuse(r, "the restart file is damaged: its head");
    if (head.version == MD_RESTART_VERSION) return true;
    return refuse(r,
                  "a restart file of version %u, and this program reads version %d: resume it with the program that "
                  "wrote it",
                  head.version, MD_RESTART_VERSION);
}

/* Reads over the bytes of a section; false when they are damaged. */
static bool check_data(MdRestart *r, const Section *section, uint64_t *checksum) {
    char *block = md_alloc(BLOCK_BYTES, 1, "restart file");
    uint64_t stored, zeros = 0, left = section->head.n_bytes;
    MdChecksum sum = md_checksum_begin();
    bool good = true;
    while (good && left > 0) {
        const size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        good = get(r, block, n);
        if (good) md_checksum_add(&sum, block, n);
        left -= n;
    }
    md_free(block);
    good = good && get(r, &zeros, padding(section->head.n_bytes)) && zeros == 0 && get(r, &stored, sizeof stored);
    *checksum = md_checksum_value(&sum);
    return good && stored == *checksum;
}

/* Reads the next section. *end: it was the last one. */
static bool read_section(MdRestart *r, bool *end) {
    uint64_t checksum, whole = 0;
    if (r->n_sections == MAX_SECTIONS) return refuse(r, "the restart file is damaged: too many sections");
    Section *section = &r->sections[r->n_sections];
    if (!get(r, &section->head, sizeof section->head) ||
        section->head.checksum != md_checksum(&section->head, offsetof(SectionHead, checksum)) ||
        memchr(section->head.name, '\0', MD_RESTART_NAME_BYTES) == NULL)
        return refuse(r, "the restart file is damaged: it breaks off, or is overwritten, after %d sections",
                      r->n_sections);
    section->offset = ftello(r->file);
    *end = strcmp(section->head.name, "end") == 0;
    if (!check_data(r, section, &checksum))
        return refuse(r, "the restart file is damaged: section %s", section->head.name);
    md_checksum_add(&r->whole, &section->head.checksum, sizeof checksum);
    if (*end) whole = md_checksum_value(&r->whole);
    md_checksum_add(&r->whole, &checksum, sizeof checksum);
    r->n_sections++;
    if (!*end) return true;
    uint64_t stored;
    if (section->head.n_bytes == sizeof stored && fseeko(r->file, section->offset, SEEK_SET) == 0 &&
        get(r, &stored, sizeof stored) && stored == whole && fseeko(r->file, sizeof stored, SEEK_CUR) == 0)
        return true;
    return refuse(r, "the restart file is damaged: its parts do not belong together");
}

static bool check_all(MdRestart *r) {
    if (!read_head(r)) return false;
    for (bool end = false; !end;)
        if (!read_section(r, &end)) return false;
    if (fgetc(r->file) == EOF) return true;
    return refuse(r, "the restart file is damaged: it goes on after its end");
}

static void refuse_missing(MdRestart *r) {
    char *question = md_nearest_file(r->path);
    refuse(r, "No such file or directory%s",
           *question ? question
                     : "; a run leaves a restart file at an early stop, and, unless restart.every is 0, at its end");
    free(question);
}

MdRestart *md_restart_open(const char *path, MdErrors *errors) {
    MdRestart *r = md_alloc(1, sizeof *r, "restart file");
    struct stat there;
    r->path = md_copy_text(path);
    r->errors = errors;
    r->whole = md_checksum_begin();
    r->file = fopen(path, "rb");
    if (!r->file && errno == ENOENT) refuse_missing(r);
    else if (!r->file) refuse(r, "%s", strerror(errno));
    else if (fstat(fileno(r->file), &there) != 0 || !S_ISREG(there.st_mode)) refuse(r, "not a plain file");
    else if (check_all(r)) return r;
    md_restart_close(r);
    return NULL;
}

static const Section *find(const MdRestart *r, const char *name) {
    for (int k = 0; k < r->n_sections; k++)
        if (strcmp(r->sections[k].head.name, name) == 0) return &r->sections[k];
    return NULL;
}

uint64_t md_restart_bytes(const MdRestart *r, const char *name) {
    const Section *section = find(r, name);
    return section ? section->head.n_bytes : UINT64_MAX;
}

MdStatus md_restart_find(MdRestart *r, const char *name, uint64_t n_bytes) {
    const Section *section = find(r, name);
    if (!section) return md_fail(r->errors, MD_ERROR_INPUT, "%s: there is no section %s in it", r->path, name);
    if (section->head.n_bytes != n_bytes)
        return md_fail(r->errors, MD_ERROR_INPUT, "%s: section %s has %llu bytes, and %llu are needed: not of this run",
                       r->path, name, (unsigned long long)section->head.n_bytes, (unsigned long long)n_bytes);
    r->n_left = n_bytes;
    if (fseeko(r->file, section->offset, SEEK_SET) == 0) return MD_OK;
    return md_fail(r->errors, MD_ERROR_INTERNAL, "%s: %s", r->path, strerror(errno));
}

MdStatus md_restart_read(MdRestart *r, void *data, uint64_t n_bytes) {
    md_require(n_bytes <= r->n_left);
    r->n_left -= n_bytes;
    if (get(r, data, n_bytes)) return MD_OK;
    return md_fail(r->errors, MD_ERROR_INTERNAL, "%s: could not be read again: %s", r->path,
                   ferror(r->file) ? strerror(errno) : "it became shorter");
}

MdStatus md_restart_skip(MdRestart *r, uint64_t n_bytes) {
    md_require(n_bytes <= r->n_left);
    r->n_left -= n_bytes;
    if (fseeko(r->file, (off_t)n_bytes, SEEK_CUR) == 0) return MD_OK;
    return md_fail(r->errors, MD_ERROR_INTERNAL, "%s: %s", r->path, strerror(errno));
}

char *md_restart_text(MdRestart *r, const char *name) {
    const uint64_t n = md_restart_bytes(r, name);
    if (n == UINT64_MAX) return NULL;
    char *text = calloc(1, n + 1);
    if (!text) md_panic("no memory for section %s of %s", name, r->path);
    if (md_restart_find(r, name, n) == MD_OK && md_restart_read(r, text, n) == MD_OK) return text;
    free(text);
    return NULL;
}

void md_restart_close(MdRestart *r) {
    if (!r) return;
    if (r->file) fclose(r->file);
    free(r->path);
    free(r->aside);
    md_free(r);
}
