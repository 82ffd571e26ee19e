#include "base/range.h"

MdStatus md_range_check(const MdRange *ranges, size_t n, const char *path, MdErrors *errors) {
    for (const MdRange *r = ranges; r < ranges + n; r++) {
        if (r->value >= r->least && r->value <= r->most) continue;
        return md_fail(errors, MD_ERROR_INPUT, "%s: %s: read %.15g; allowed: %.15g to %.15g", path, r->what, r->value,
                       r->least, r->most);
    }
    return MD_OK;
}
