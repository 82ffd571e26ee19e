/* Whether the places of the atoms are kept well enough where they are: far from the origin, or in a wide box, a number of few
 * bits is coarse. */
#ifndef MD_REPORT_PLACES_H
#define MD_REPORT_PLACES_H

#include "report/record.h"

/* After planning. An input error, with what would do, where rounding would make the energies wrong. */
MdStatus md_places_check(const MdRecord *record);

/* What the log says of it, with the size of the error; NULL: nothing. From malloc. */
char *md_places_warning(const MdRecord *record);

/* The same of steps that are short beside what rounds a position. */
char *md_places_warning_of_motion(const MdRecord *record);

#endif
