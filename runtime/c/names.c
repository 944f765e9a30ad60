/* Index of names, by which parts of a manifest refer to each other. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int by_its_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

kgen_status kgen_index_create(name_index *into, size_t most, arena *memory)
{
    into->count = 0;
    into->all = (named *)kgen_alloc(memory, most, sizeof *into->all);
    return into->all == NULL ? KGEN_ERROR_OUT_OF_MEMORY : KGEN_OK;
}

void kgen_index_add(name_index *into, const void *things, size_t count, size_t size, size_t offset)
{
    for (size_t i = 0; i < count; i++) {
        named *made = &into->all[into->count];
        memcpy(&made->name, (const char *)things + i * size + offset, sizeof(char *));
        made->number = into->count++;
    }
}

const char *kgen_index_sort(name_index *of, bool may_be_empty)
{
    qsort(of->all, of->count, sizeof *of->all, by_its_name);
    for (size_t i = 0; i < of->count; i++) {
        const char *name = of->all[i].name;
        if ((*name == 0 && !may_be_empty) ||
            (i > 0 && strcmp(of->all[i - 1].name, name) == 0))
            return name;
    }
    return NULL;
}

bool kgen_index_find(const name_index *in, const char *name, size_t *number)
{
    named wanted = {name, 0};
    const named *found =
        (const named *)bsearch(&wanted, in->all, in->count, sizeof wanted, by_its_name);
    if (found != NULL)
        *number = found->number;
    return found != NULL;
}
