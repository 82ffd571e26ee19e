/* Whether positions have enough bits: far from the origin, or in a wide box, single precision
 * is coarse. */
#ifndef MD_REPORT_PLACES_H
#define MD_REPORT_PLACES_H

#include "report/record.h"

/* After planning. An input error, with a remedy, if rounding would make the energies wrong. */
MdStatus md_places_check(const MdRecord *record);

/* The warning for the log, with the size of the error; NULL: none. From malloc. */
char *md_places_warning(const MdRecord *record);

/* The same for steps that are short compared with the rounding of a position. */
char *md_places_warning_of_motion(const MdRecord *record);

#endif
