/* Limits of attention's inputs: numbers of keys in kv_length, and pages in page_table.
 *
 * Kernels clamp what is out of range, and the result would be wrong without an error. So values in
 * the caller's memory are checked before a run. */
#include "internal.h"

#include <string.h>

/* Read a whole number of 1 or more; return false for any other value. */
static bool read_size(const json *value, int64_t *size)
{
    if (value == NULL || value->kind != JSON_INT || value->as.integer < 1)
        return false;
    *size = value->as.integer;
    return true;
}

/* Return the argument of this name if it is a packed s32 tensor of this rank; else NULL. */
static const parameter *find_argument(const kgen_kernel *of, const char *name, int rank)
{
    for (size_t i = 0; i < of->num_arguments; i++) {
        const kgen_tensor *one = &of->arguments[i]->tensor;
        if (strcmp(one->name, name) == 0)
            return one->dtype == KGEN_S32 && one->rank == rank && kgen_is_packed(one)
                       ? of->arguments[i]
                       : NULL;
    }
    return NULL;
}

void kgen_settle_key_limits(kgen_kernel *of)
{
    const json *k = kgen_json_member(of->spec, "k");
    key_limits *limits = &of->keys;
    if (strcmp(of->op, "attention") != 0 || k == NULL || k->kind != JSON_LIST || k->count != 4 ||
        !read_size(k->as.first->next->next, &limits->most))
        return;
    limits->length = find_argument(of, "kv_length", 1);
    const parameter *table = find_argument(of, "page_table", 2);
    if (limits->length != NULL && table != NULL &&
        table->tensor.shape[0] == limits->length->tensor.shape[0] &&
        read_size(kgen_json_member(of->spec, "page_size"), &limits->page_size) &&
        read_size(kgen_json_member(of->spec, "pages"), &limits->pages))
        limits->table = table;
}

static int32_t number_at(const void *numbers, int64_t at)
{
    int32_t found;
    memcpy(&found, (const char *)numbers + (size_t)at * sizeof found, sizeof found);
    return found;
}

/* Check the pages of the keys before `count` of batch element `b`. */
static kgen_status check_pages(const key_limits *of, const char *who, const void *pages, int64_t b,
                               int64_t count)
{
    const parameter *table = of->table;
    int64_t columns = table->tensor.shape[1];
    int64_t used = count < 1 ? 0 : kgen_pieces(count, of->page_size);
    for (int64_t i = 0; i < used && i < columns; i++) {
        int32_t page = number_at(pages, b * columns + i);
        if (page < 0 || page >= of->pages)
            return kgen_argument_error("%s: page_table[%lld, %lld]=%ld is no page of k and v; give "
                                       "0 to %lld for the keys before kv_length[%lld]=%lld", who,
                                       (long long)b, (long long)i, (long)page,
                                       (long long)of->pages - 1, (long long)b, (long long)count);
    }
    return KGEN_OK;
}

kgen_status kgen_check_keys(const key_limits *of, const char *who, const char *name,
                            const void *lengths, const void *pages)
{
    for (int64_t b = 0; b < of->length->tensor.shape[0]; b++) {
        int32_t count = number_at(lengths, b);
        if (count > of->most)
            return kgen_argument_error("%s: %.120s[%lld]=%ld exceeds the %lld keys of k and v; "
                                       "give 0 to %lld, or build it for more keys", who, name,
                                       (long long)b, (long)count, (long long)of->most,
                                       (long long)of->most);
        if (pages != NULL)
            TRY(check_pages(of, who, pages, b, count));
    }
    return KGEN_OK;
}
