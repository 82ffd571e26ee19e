#define _POSIX_C_SOURCE 200809L
#include "base/nearest.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Names are short; a longer word is like none of them. */
enum { LONGEST_NAME = 63 };

static int least(int a, int b) { return a < b ? a : b; }

/* The optimal string alignment distance, letter case aside (Damerau 1964: most slips are one of the four). */
static int slips(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b), d[LONGEST_NAME + 1][LONGEST_NAME + 1];
    for (int i = 0; i <= n; i++) d[i][0] = i;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            d[i][j] = least(d[i - 1][j - 1] + (x != y), least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

MdNearest md_nearest_begin(const char *wanted) { return (MdNearest){.wanted = wanted, .distance = LONGEST_NAME + 1}; }

void md_nearest_offer(MdNearest *nearest, const char *name) {
    if (strlen(nearest->wanted) > LONGEST_NAME || strlen(name) > LONGEST_NAME) return;
    int distance = slips(nearest->wanted, name);
    if (distance >= nearest->distance) return;
    nearest->distance = distance;
    nearest->best = name;
}

/* Whether one is the other with its letters in another order. */
static bool same_letters(const char *a, const char *b) {
    int more[256] = {0};
    for (; *a; a++) more[tolower((unsigned char)*a)]++;
    for (; *b; b++) more[tolower((unsigned char)*b)]--;
    for (int c = 0; c < 256; c++)
        if (more[c] != 0) return false;
    return true;
}

const char *md_nearest_name(const MdNearest *nearest) {
    if (!nearest->best || nearest->distance <= 1) return nearest->best;
    /* One slip in four letters, and seldom in the first: beyond that the suggestion would be noise. */
    const bool same_first = tolower((unsigned char)*nearest->best) == tolower((unsigned char)*nearest->wanted);
    const bool is_near = nearest->distance <= (int)(strlen(nearest->best) + 1) / 4 ||
                         (nearest->distance == 2 && same_letters(nearest->best, nearest->wanted));
    return same_first && is_near ? nearest->best : NULL;
}

char *md_nearest_question(const char *name) {
    return name ? md_format("; did you mean \"%s\"?", name) : md_copy_text("");
}

/* No hidden file, and no name that could command the terminal. */
static int is_shown(const struct dirent *entry) {
    for (const char *c = entry->d_name; *c; c++)
        if (iscntrl((unsigned char)*c)) return 0;
    return entry->d_name[0] != '.';
}

char *md_nearest_file(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? md_format("%.*s", (int)(slash + 1 - path), path) : md_copy_text("");
    struct dirent **entries;
    int n = scandir(*folder ? folder : ".", &entries, is_shown, alphasort);
    MdNearest nearest = md_nearest_begin(slash ? slash + 1 : path);
    for (int k = 0; k < n; k++) /* the name itself: a link that leads nowhere */
        if (strcmp(entries[k]->d_name, nearest.wanted) != 0) md_nearest_offer(&nearest, entries[k]->d_name);
    const char *best = md_nearest_name(&nearest);
    char *meant = best ? md_format("%s%s", folder, best) : NULL, *question = md_nearest_question(meant);
    for (int k = 0; k < n; k++) free(entries[k]);
    if (n >= 0) free(entries);
    free(folder);
    free(meant);
    return question;
}
