#include "system/notes.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

void md_notes_add(MdNotes *notes, const char *format, ...) {
    MdText text = {0};
    va_list arguments;
    va_start(arguments, format);
    md_text_add_list(&text, format, arguments);
    va_end(arguments);
    char **grown = realloc(notes->text, ((size_t)notes->n + 1) * sizeof *grown);
    if (!grown) md_panic("no memory for a note");
    notes->text = grown;
    char *line = notes->text[notes->n++] = md_text_take(&text);
    for (char *p = line; *p; p++)
        if (iscntrl((unsigned char)*p)) *p = '?'; /* input must not control the terminal */
}

void md_notes_free(MdNotes *notes) {
    for (int k = 0; k < notes->n; k++) free(notes->text[k]);
    free(notes->text);
    *notes = (MdNotes){0};
}
