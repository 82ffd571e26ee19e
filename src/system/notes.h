/* Lines for the log about a file that was read: what is interpreted specially, or not used. */
#ifndef MD_SYSTEM_NOTES_H
#define MD_SYSTEM_NOTES_H

typedef struct MdNotes {
    int n;
    char **text; /* [n], from malloc */
} MdNotes;

/* Adds a line; control characters become `?`. */
void md_notes_add(MdNotes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void md_notes_free(MdNotes *notes);

#endif
