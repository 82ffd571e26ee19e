/* The configuration: one field for each option of options.def. */
#ifndef MD_DECK_CONFIG_H
#define MD_DECK_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "deck/choices.h"

#define MD_AUTO_INT INT64_MIN
#define MD_MAX_LIST 64 /* entries of a list option */

typedef struct MdIntList {
    int n;
    int64_t values[MD_MAX_LIST];
} MdIntList;

typedef struct MdRealList {
    int n;
    double values[MD_MAX_LIST];
} MdRealList;

#define MD_FIELD_INT       int64_t
#define MD_FIELD_INT_AUTO  int64_t
#define MD_FIELD_REAL      double
#define MD_FIELD_REAL_AUTO double
#define MD_FIELD_TIME      double
#define MD_FIELD_CHOICE    int
#define MD_FIELD_CHOICES   MdIntList
#define MD_FIELD_INTS      MdIntList
#define MD_FIELD_REALS     MdRealList
#define MD_FIELD_TEXT      char *
#define MD_FIELD_PATH      char *

/* One field `section_key` for each row of options.def. */
typedef struct MdConfig {
#define OPTION(section, key, type, value, low, high, set, unit, kind, help) MD_FIELD_##type section##_##key;
#include "deck/options.def"
#undef OPTION
} MdConfig;

_Static_assert((int)MD_UNITS_LJ == (int)MD_STYLE_LJ && (int)MD_UNITS_METAL == (int)MD_STYLE_METAL, "one order");

/* Units of the numbers shown; number shown / number inside. */
static inline MdUnits md_config_units(const MdConfig *config) { return (MdUnits)config->system_units; }
static inline const char *md_config_unit(const MdConfig *config, MdQuantity quantity) {
    return md_unit_name(md_config_units(config), quantity);
}
static inline const char *md_config_unit_after(const MdConfig *config, MdQuantity quantity) {
    return md_unit_after(md_config_units(config), quantity);
}
static inline double md_config_factor(const MdConfig *config, MdQuantity quantity) {
    return md_unit_factor(md_config_units(config), quantity);
}

/* Whether the domains of several processes share the system: parallel.grid, once it is resolved. */
static inline bool md_config_has_domains(const MdConfig *config) {
    for (int a = 0; a < config->parallel_grid.n; a++)
        if (config->parallel_grid.values[a] > 1) return true;
    return false;
}

/* The rows by number: MD_OPTION_system_dimension, ... */
enum {
#define OPTION(section, key, type, value, low, high, set, unit, kind, help) MD_OPTION_##section##_##key,
#include "deck/options.def"
#undef OPTION
    MD_N_OPTIONS
};

static inline bool md_is_auto(double value) { return value != value; }

#endif
