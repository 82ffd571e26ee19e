/* Properties=name:kind:count:name:kind:count... */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "system/xyz_read.h"

/* Of each role: the names of its columns, as ASE, OVITO, LAMMPS, GPUMD, QUIP and chemfiles write them; the kinds that may stand
 * for it, the one to write first; and how many columns it has. */
static const struct {
    const char *names, *kinds;
    int count;
} forms[XYZ_N_ROLES] = {[XYZ_SPECIES] = {"species symbols symbol element elements", "SI", 1},
                        [XYZ_TYPE] = {"type types atom_types", "SI", 1},
                        [XYZ_NUMBER] = {"Z numbers atomic_numbers", "I", 1},
                        [XYZ_POSITION] = {"pos position positions", "RI", 3},
                        [XYZ_VELOCITY] = {"velo vel velocity velocities", "RI", 3},
                        [XYZ_MOMENTUM] = {"momenta momentum", "RI", 3},
                        [XYZ_MASS] = {"mass masses", "RI", 1},
                        [XYZ_ID] = {"id ids", "I", 1}};

static XyzRole find_role(const char *name) {
    for (int role = 0; role < XYZ_N_ROLES; role++)
        for (const char *word = forms[role].names; *word; word += strspn(word, " ")) {
            const size_t length = strcspn(word, " ");
            const bool one_letter = length == 1; /* Z is a number of an element, z a coordinate */
            if (length == strlen(name) && (one_letter ? strncmp : strncasecmp)(word, name, length) == 0)
                return (XyzRole)role;
            word += length;
        }
    return XYZ_UNUSED;
}

void md_xyz_list_name(char **list, const char *name) {
    char *longer = *list ? md_format("%s, %s", *list, name) : md_copy_text(name);
    free(*list);
    *list = longer;
}

static void add_columns(XyzColumns *columns, XyzRole role, int count) {
    unsigned char *grown = realloc(columns->role, (size_t)(columns->n + count));
    if (!grown) md_panic("no memory for %d columns", columns->n + count);
    columns->role = grown;
    memset(grown + columns->n, (int)role, (size_t)count);
    if (role < XYZ_N_ROLES) {
        columns->first[role] = columns->n;
        columns->count[role] = count;
    }
    columns->n += count;
}

static XyzColumns no_columns(void) {
    XyzColumns columns = {.n = 0};
    for (int r = 0; r < XYZ_N_ROLES; r++) columns.first[r] = -1;
    return columns;
}

XyzColumns md_xyz_plain_columns(void) {
    XyzColumns columns = no_columns();
    add_columns(&columns, XYZ_SPECIES, 1);
    add_columns(&columns, XYZ_POSITION, 3);
    return columns;
}

typedef struct Property {
    char *name, *kind, *count; /* as written; NULL: missing */
} Property;

/* The next name:kind:count of *text, which is moved after it and becomes NULL at the end. */
static Property next_property(char **text) {
    char *field[3] = {NULL, NULL, NULL};
    for (int k = 0; k < 3 && *text; k++) {
        field[k] = *text;
        *text = strchr(field[k], ':');
        if (*text) *(*text)++ = 0;
    }
    return (Property){field[0], field[1], field[2]};
}

/* Columns of a property as written, 0 when it is not understood. */
static int property_count(const Property *property) {
    if (!property->count || !property->kind[0] || property->kind[1] || !strchr("RISLrisl", property->kind[0])) return 0;
    char *end;
    const long count = strtol(property->count, &end, 10);
    return isdigit((unsigned char)*property->count) && !*end && count <= 1000 ? (int)count : 0;
}

/* Whether the property serves for the role. */
static bool fits(const Property *property, XyzRole role, int count, int dimension) {
    const bool flat = dimension == 2 && forms[role].count == 3 && count == 2;
    return strchr(forms[role].kinds, toupper((unsigned char)property->kind[0])) && (count == forms[role].count || flat);
}

static bool read_property(MdLines *lines, const Property *property, int dimension, XyzColumns *columns, char **unused) {
    const int count = property_count(property);
    if (count == 0) {
        md_lines_problem(lines,
                         "Properties: `%.40s` is not understood; columns are name:kind:count, with species:S:1, "
                         "pos:R:3 and perhaps velo:R:3 among them",
                         property->name);
        return false;
    }
    const XyzRole role = find_role(property->name);
    if (role == XYZ_UNUSED) {
        md_xyz_list_name(unused, property->name);
    } else if (!fits(property, role, count, dimension)) {
        md_lines_problem(lines, "Properties: `%s:%s:%s` cannot be used; %s:%c:%d is possible%s", property->name,
                         property->kind, property->count, property->name, forms[role].kinds[0], forms[role].count,
                         fits(property, role, count, 2) ? ", and this with system.dimension = 2" : "");
        return false;
    } else if (columns->first[role] >= 0) {
        md_lines_problem(lines, "Properties: `%s` is one too many: other columns hold the same", property->name);
        return false;
    }
    if (role == XYZ_VELOCITY) columns->velocity_per_fs = strcasecmp(property->name, "vel") == 0;
    add_columns(columns, role, count);
    return true;
}

/* Types name the species where nothing else does. */
static void settle_types(XyzColumns *columns, char **unused) {
    const int type = columns->first[XYZ_TYPE];
    if (type < 0) return;
    const bool named = columns->first[XYZ_SPECIES] >= 0 || columns->first[XYZ_NUMBER] >= 0;
    columns->role[type] = named ? XYZ_UNUSED : XYZ_SPECIES;
    if (named) md_xyz_list_name(unused, "type");
    else columns->first[XYZ_SPECIES] = type;
}

void md_xyz_read_properties(MdLines *lines, char *text, int dimension, XyzColumns *columns, char **unused) {
    free(columns->role);
    *columns = no_columns();
    columns->exact = true;
    for (char *rest = text; rest;) {
        const Property property = next_property(&rest);
        if (!read_property(lines, &property, dimension, columns, unused)) return;
    }
    settle_types(columns, unused);
    if (columns->first[XYZ_POSITION] < 0 || (columns->first[XYZ_SPECIES] < 0 && columns->first[XYZ_NUMBER] < 0))
        md_lines_problem(lines, "Properties: species:S:1 (or Z:I:1) and pos:R:3 are needed%s%s",
                         *unused ? "; not understood: " : "", *unused ? *unused : "");
}
