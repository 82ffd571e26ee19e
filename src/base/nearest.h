/* "Did you mean": the nearest of the names that could have been meant. */
#ifndef MD_BASE_NEAREST_H
#define MD_BASE_NEAREST_H

/* The nearest name seen so far, by the number of slips (a letter wrong, missing, too many, or two swapped). */
typedef struct MdNearest {
    const char *wanted, *best;
    int distance;
} MdNearest;

MdNearest md_nearest_begin(const char *wanted);
void md_nearest_offer(MdNearest *nearest, const char *name);
/* The best name if it is near enough to be meant; else NULL. */
const char *md_nearest_name(const MdNearest *nearest);

/* `; did you mean "NAME"?`, or nothing for NULL; text from malloc. */
char *md_nearest_question(const char *name);

/* The same for a file that is not there: the name nearest to it in its folder, the folder before it as in path. */
char *md_nearest_file(const char *path);

#endif
