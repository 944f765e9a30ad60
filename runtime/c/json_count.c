/* Counts of bytes, nesting and values in a manifest's text, checked before the text is parsed. */
#include "internal.h"


static kgen_status beyond(long long most, const char *what, const char *name)
{
    return kgen_bundle_error("manifest.json has more than %lld %s, the limit (%s); build it "
                             "again, as several bundles", most, what, name);
}

kgen_status kgen_json_count(const char *text, uint64_t nbytes)
{
    uint64_t values = 1;
    int64_t level = 0;
    bool inside = false; /* inside a text */
    if (nbytes > KGEN_MOST_MANIFEST_BYTES)
        return beyond(KGEN_MOST_MANIFEST_BYTES, "bytes", "manifest_bytes");
    for (uint64_t i = 0; i < nbytes && level >= 0; i++) {
        char c = text[i];
        if (c == '\\') {
            i++; /* an escaped character is not a quote */
        } else if (c == '"') {
            inside = !inside;
        } else if (!inside) {
            bool opens = c == '[' || c == '{';
            values += opens || c == ',';
            level += opens;
            level -= c == ']' || c == '}';
        }
        if (level > KGEN_MOST_NESTING)
            return beyond(KGEN_MOST_NESTING, "levels of lists and objects", "nesting");
        if (values > KGEN_MOST_JSON_VALUES)
            return beyond(KGEN_MOST_JSON_VALUES, "values", "json_values");
    }
    return KGEN_OK;
}
