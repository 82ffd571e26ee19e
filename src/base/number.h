/* Numbers as text. */
#ifndef MD_BASE_NUMBER_H
#define MD_BASE_NUMBER_H

enum { MD_NUMBER_BYTES = 32 }; /* the longest double in 17 digits takes 25 with its end */

/* The shortest of the forms with 15, 16 and 17 digits that reads back to the same bits. Returns text. */
const char *md_number_write(char text[MD_NUMBER_BYTES], double value);

#endif
