/* Loader of CPU machine code: maps the shared objects of a whole bundle at once.
 *
 * A kernel is a shared object without imports, relocations and state
 * (docs/reference/bundle-format.md), so that loading it means mapping its segments. An object
 * that needs more from a loader is refused, and so is one whose headers do not fit its bytes. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* ELF (System V ABI, gABI 4.1, 64-bit): sizes and constants. */
enum {
    HEADER_BYTES = 64,
    SEGMENT_BYTES = 56,
    DYNAMIC_BYTES = 16,
    SYMBOL_BYTES = 24,
    ET_DYN = 3,
    PT_LOAD = 1,
    PT_DYNAMIC = 2,
    PF_X = 1,
    PF_W = 2,
    DT_NULL = 0,
    DT_HASH = 4,
    DT_STRTAB = 5,
    DT_SYMTAB = 6,
    DT_STRSZ = 10,
    DT_SYMENT = 11
};
/* kgen's linker makes few segments. Addresses exceed the file's size only by padding to pages of
 * 64 KiB. */
enum { MAX_SEGMENTS = 16, GAPS = 0x40000 };

static kgen_status refuse_object(const char *why)
{
    return kgen_fail(KGEN_ERROR_DEVICE, "its code cannot be mapped: %s; build it again", why);
}

/* Mapped part of an object: read-only bytes. */
typedef struct part {
    uint64_t address, nbytes;
    const unsigned char *data;
    bool is_code;
} part;

typedef struct parts {
    part all[MAX_SEGMENTS];
    int count;
    uint64_t hash, strings, symbols; /* table addresses; 0 (the ELF header): missing */
} parts;

static kgen_status read_dynamic(const unsigned char *data, uint64_t nbytes, parts *into)
{
    for (; nbytes >= DYNAMIC_BYTES; data += DYNAMIC_BYTES, nbytes -= DYNAMIC_BYTES) {
        uint64_t tag = kgen_number(data, 8), of = kgen_number(data + 8, 8);
        if (tag == DT_NULL)
            break;
        else if (tag == DT_HASH)
            into->hash = of;
        else if (tag == DT_STRTAB)
            into->strings = of;
        else if (tag == DT_SYMTAB)
            into->symbols = of;
        else if (tag != DT_STRSZ && tag != DT_SYMENT)
            return refuse_object("it needs a dynamic loader");
    }
    return KGEN_OK;
}

static kgen_status read_parts(const object *of, parts *into)
{
    const unsigned char *data = of->data;
    memset(into, 0, sizeof *into);
    if (of->nbytes < HEADER_BYTES || memcmp(data, "\177ELF\2\1\1", 7) != 0 ||
        kgen_number(data + 16, 2) != ET_DYN || kgen_number(data + 54, 2) != SEGMENT_BYTES)
        return refuse_object("it is not a shared object");
    if (kgen_number(data + 18, 2) != KGEN_ELF_MACHINE)
        return refuse_object("it is not for " KGEN_ARCH);
    uint64_t table = kgen_number(data + 32, 8), count = kgen_number(data + 56, 2);
    if (count > MAX_SEGMENTS || table > of->nbytes || count * SEGMENT_BYTES > of->nbytes - table)
        return refuse_object("its headers are damaged");
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *segment = data + table + i * SEGMENT_BYTES;
        uint64_t kind = kgen_number(segment, 4), flags = kgen_number(segment + 4, 4);
        uint64_t offset = kgen_number(segment + 8, 8), address = kgen_number(segment + 16, 8);
        uint64_t nbytes = kgen_number(segment + 32, 8), in_memory = kgen_number(segment + 40, 8);
        if (offset > of->nbytes || nbytes > of->nbytes - offset)
            return refuse_object("it is truncated");
        if (kind == PT_DYNAMIC)
            TRY(read_dynamic(data + offset, nbytes, into));
        /* The writable segment is for the dynamic loader. */
        if (kind != PT_LOAD || (flags & PF_W) != 0)
            continue;
        if (in_memory != nbytes || address > of->nbytes + GAPS ||
            nbytes > of->nbytes + GAPS - address)
            return refuse_object("a segment is larger in memory than in the file");
        into->all[into->count++] =
            (part){address, nbytes, data + offset, (flags & PF_X) != 0};
    }
    if (into->hash == 0 || into->strings == 0 || into->symbols == 0)
        return refuse_object("it exports no functions");
    return KGEN_OK;
}

/* Return `nbytes` bytes at an address, and the remaining bytes of their part in *left; NULL
 * outside of the parts. */
static const unsigned char *bytes_at(const parts *of, uint64_t address, uint64_t nbytes,
                                     uint64_t *left)
{
    for (int i = 0; i < of->count; i++) {
        const part *one = &of->all[i];
        if (one->address <= address && address - one->address < one->nbytes) {
            uint64_t behind = one->nbytes - (address - one->address);
            if (left != NULL)
                *left = behind;
            return nbytes <= behind ? one->data + (address - one->address) : NULL;
        }
    }
    return NULL;
}

kgen_status kgen_object_place(object *of, uint64_t *total)
{
    parts found;
    TRY(read_parts(of, &found));
    of->base = *total;
    of->size = 0;
    for (int i = 0; i < found.count; i++)
        if (found.all[i].address + found.all[i].nbytes > of->size)
            of->size = found.all[i].address + found.all[i].nbytes;
    *total += (of->size + KGEN_PAGE - 1) / KGEN_PAGE * KGEN_PAGE;
    return KGEN_OK;
}

kgen_status kgen_library_function(const os_code *in, const object *of, const char *name,
                                  uint64_t *at)
{
    parts found;
    TRY(read_parts(of, &found));
    uint64_t text_left = 0, symbols_left = 0;
    const unsigned char *hash = bytes_at(&found, found.hash, 8, NULL);
    const unsigned char *strings = bytes_at(&found, found.strings, 1, &text_left);
    const unsigned char *symbols = bytes_at(&found, found.symbols, 1, &symbols_left);
    if (hash == NULL || strings == NULL || symbols == NULL)
        return refuse_object("its tables are outside of the file");
    uint64_t count = kgen_number(hash + 4, 4);
    if (count > symbols_left / SYMBOL_BYTES)
        return refuse_object("its headers are damaged");
    size_t length = strlen(name);
    for (uint64_t i = 1; i < count; i++) {
        const unsigned char *symbol = symbols + i * SYMBOL_BYTES;
        uint64_t text = kgen_number(symbol, 4), address = kgen_number(symbol + 8, 8);
        if (text >= text_left || length >= text_left - text ||
            memcmp(strings + text, name, length + 1) != 0)
            continue;
        for (int p = 0; p < found.count; p++) {
            const part *one = &found.all[p];
            if (one->is_code && one->address <= address && address - one->address < one->nbytes) {
                *at = (uint64_t)(uintptr_t)in->address + of->base + address;
                return KGEN_OK;
            }
        }
    }
    return kgen_fail(KGEN_ERROR_DEVICE, "its code has no function %.120s; build it again", name);
}

kgen_status kgen_library_map(os_code *into, const object *objects, size_t count, const char *name)
{
    if (count == 0) /* program without steps */
        return KGEN_OK;
    const object *last = &objects[count - 1];
    uint64_t nbytes = last->base + (last->size + KGEN_PAGE - 1) / KGEN_PAGE * KGEN_PAGE;
    char reason[OS_REASON_BYTES] = "";
    bool is_done = kgen_os_code_begin(into, nbytes, name, reason);
    for (size_t i = 0; is_done && i < count; i++) {
        parts found;
        kgen_status status = read_parts(&objects[i], &found);
        if (status != KGEN_OK) {
            kgen_os_code_free(into);
            return status;
        }
        for (int p = 0; is_done && p < found.count; p++) {
            const part *one = &found.all[p];
            is_done = kgen_os_code_write(into, objects[i].base + one->address, one->data,
                                         one->nbytes, reason);
        }
    }
    if (is_done && kgen_os_code_end(into, reason))
        return KGEN_OK;
    return kgen_fail(KGEN_ERROR_DEVICE,
                     "the code cannot be mapped: %s; allow this process more memory, and "
                     "executable mappings",
                     reason);
}

/* ---- for the Python runtime (kgen_backend.h) ------------------------------------------------- */

struct kgen_code {
    os_code memory;
};

static kgen_status map_all(kgen_code *into, object *all, size_t count, const char *name)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        TRY(kgen_object_place(&all[i], &total));
    return kgen_library_map(&into->memory, all, count, name);
}

kgen_status kgen_code_map(const kgen_object *objects, size_t num_objects, kgen_function *functions,
                          size_t num_functions, const char *name, kgen_code **code)
{
    kgen_code *made = (kgen_code *)calloc(1, sizeof *made);
    object *all = (object *)calloc(num_objects + 1, sizeof *all);
    kgen_status status = made == NULL || all == NULL ? kgen_no_memory(sizeof *made) : KGEN_OK;
    for (size_t i = 0; i < num_objects && status == KGEN_OK; i++) {
        all[i].data = (const unsigned char *)objects[i].data;
        all[i].nbytes = objects[i].nbytes;
    }
    if (status == KGEN_OK)
        status = map_all(made, all, num_objects, name);
    for (size_t i = 0; i < num_functions && status == KGEN_OK; i++)
        status = kgen_library_function(&made->memory, &all[functions[i].object], functions[i].name,
                                       &functions[i].address);
    free(all);
    if (status == KGEN_OK) {
        *code = made;
    } else {
        kgen_code_unmap(made);
    }
    return kgen_within(status, "%s: ", name);
}

void kgen_code_unmap(kgen_code *code)
{
    if (code != NULL && code->memory.address != NULL)
        kgen_os_code_free(&code->memory);
    free(code);
}
