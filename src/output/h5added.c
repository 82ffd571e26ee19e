/* Content that other programs added to a trajectory. A rewritten file has only this program's content; an old one with more is kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blanks.h"
#include "base/memory.h"
#include "output/h5open.h"

/* All that h5head.c and h5process.c write: groups and datasets, and attributes as `object@name`. The group of the author goes into the
 * new file as it is. */
static const char known[] =
    "h5md h5md@version h5md/creator h5md/creator@name h5md/creator@version h5md/modules h5md/modules/thermodynamics "
    "h5md/modules/thermodynamics@version h5md/modules/units h5md/modules/units@version particles observables "
    "observables@dimension parameters parameters/mdmini "
    "parameters/mdmini@dimension parameters/mdmini@n_restarts parameters/mdmini@run_id parameters/mdmini@unit_style "
    "parameters/mdmini@positions parameters/mdmini/deck parameters/mdmini/provenance parameters/mdmini/schedule "
    "parameters/vmd_structure parameters/vmd_structure/indexOfSpecies parameters/vmd_structure/name "
    "parameters/vmd_structure/type parameters/vmd_structure/radius parameters/vmd_structure/atomicnumber";
/* And of each group of particles, and of each element. */
static const char *const groups[] = {"particles/all", "particles/all_velocity", "particles/all_force"};
static const char of_group[] =
    "/species /id /mass /mass@unit /box /box@dimension /box@boundary /box/edges /box/edges@unit";
static const char of_element[] = "/value /value@unit /step /time /time@unit";

typedef struct Search {
    const char *object; /* whose attributes are looked at */
    char *name;
    size_t size;
} Search;

/* The rest of name after begin; NULL: it begins otherwise. */
static const char *rest(const char *name, const char *begin) {
    const size_t n = strlen(begin);
    return strncmp(name, begin, n) == 0 ? name + n : NULL;
}

/* Whether it is the object at path, or belongs to it by these words. */
static bool is_part(const char *name, const char *path, const char *words) {
    const char *part = rest(name, path);
    return part && (!*part || md_text_has_word(words, " ", part));
}

static bool is_known(const char *name) {
    const char *of_author = rest(name, "h5md/author"), *process = rest(name, "parameters/mdmini/process_");
    const char *of_analysis = rest(name, "parameters/mdmini/analysis");
    if (of_analysis && strchr("/@", *of_analysis)) return true;
    if (of_author && strchr("/@", *of_author)) return true; /* or nothing follows */
    if (process && *process && !process[strspn(process, "0123456789")]) return true;
    if (md_text_has_word(known, " ", name)) return true;
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        if (is_part(name, groups[k], of_group)) return true;
    for (int element = 0; element < N_ELEMENTS; element++) {
        const bool apart = element == MD_H5MD_VELOCITY || element == MD_H5MD_FORCE;
        if (is_part(name, md_h5_element(element, 0), of_element)) return true;
        if (apart && is_part(name, md_h5_element(element, element), of_element)) return true;
    }
    return false;
}

static herr_t look_at_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user) {
    (void)object, (void)info;
    Search *search = user;
    char *path = md_format("%s@%s", search->object, name);
    const bool added = !is_known(path);
    if (added) snprintf(search->name, search->size, "attribute %s of /%s", name, search->object);
    free(path);
    return added;
}

/* Links of this program are hard ones. */
static herr_t look_at_link(hid_t group, const char *name, const H5L_info_t *info, void *user) {
    Search *search = user;
    if (info->type != H5L_TYPE_HARD || !is_known(name)) {
        snprintf(search->name, search->size, "/%s", name);
        return 1;
    }
    search->object = name;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    const herr_t found = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_attribute, search);
    H5Oclose(object);
    return found;
}

void md_h5_find_added(MdH5Calls *calls, const MdH5md *file, char *name, size_t size) {
    Search search = {"", name, size};
    *name = 0;
    H5_CALL(calls, H5Aiterate2(file->file, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_attribute, &search));
    if (!*name) H5_CALL(calls, H5Lvisit(file->file, H5_INDEX_NAME, H5_ITER_INC, look_at_link, &search));
}
