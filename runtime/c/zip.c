/* Reader of uncompressed zip archives in one strict form.
 *
 * PKWARE's APPNOTE, sections 4.3.7 to 4.3.16, with its 64-bit records. Files follow one another
 * from the first byte, the directory follows the last file in the same order, and the end record
 * is the last 22 bytes. There are no other bytes, no two files overlap or share a name, and the
 * header of each file agrees with the directory. The rules are in
 * docs/reference/bundle-format.md. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END_64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    /* Newest format version that is read, times ten. */
    VERSION = 63,
    UTF_8 = 1 << 11, /* the only flag that an uncompressed file may have */
    EXTRA_64 = 1
};
/* Placeholder for a 64-bit number, which is in the end record or the extra field for 64 bits. */
static const uint64_t ELSEWHERE = 0xffffffff;

static bool has_magic(const unsigned char *at, int third, int fourth)
{
    return at[0] == 'P' && at[1] == 'K' && at[2] == third && at[3] == fourth;
}

static kgen_status no_bundle(const char *why)
{
    return kgen_bundle_error("not a kgen bundle, or a truncated one%s; make one with kgen build -o",
                             why);
}

static kgen_status about(const char *name, const char *what)
{
    char why[128];
    snprintf(why, sizeof why, " ('%.60s' %s)", name, what);
    return no_bundle(why);
}

typedef struct directory {
    uint64_t start, nbytes, count;
} directory;

/* Return whether a number of the 32-bit end record equals its 64-bit value or is the placeholder.
 */
static bool agrees(uint64_t number, uint64_t wide, uint64_t elsewhere)
{
    return number == wide || number == elsewhere;
}

/* Find the directory from the end record; return false if the record breaks a rule. */
static bool find_directory(const zip *archive, directory *found)
{
    if (archive->nbytes < END_BYTES)
        return false;
    uint64_t end = archive->nbytes - END_BYTES;
    const unsigned char *record = archive->data + end;
    uint64_t here = kgen_number(record + 8, 2), offset = kgen_number(record + 16, 4);
    /* The archive has one disk, number 0, and no comment. */
    if (!has_magic(record, 5, 6) || kgen_number(record + 4, 4) != 0 ||
        kgen_number(record + 20, 2) != 0)
        return false;
    found->count = kgen_number(record + 10, 2);
    found->nbytes = kgen_number(record + 12, 4);
    if (here != found->count)
        return false;
    if (end >= LOCATOR_BYTES && has_magic(record - LOCATOR_BYTES, 6, 7)) {
        const unsigned char *locator = record - LOCATOR_BYTES;
        if (end < LOCATOR_BYTES + END_64_BYTES)
            return false;
        end -= LOCATOR_BYTES + END_64_BYTES;
        record = archive->data + end;
        if (kgen_number(locator + 4, 4) != 0 || kgen_number(locator + 8, 8) != end ||
            kgen_number(locator + 16, 4) != 1 || !has_magic(record, 6, 6) ||
            kgen_number(record + 4, 8) != END_64_BYTES - 12 ||
            kgen_number(record + 14, 2) > VERSION || kgen_number(record + 16, 8) != 0)
            return false;
        directory wide = {kgen_number(record + 48, 8), kgen_number(record + 40, 8),
                          kgen_number(record + 32, 8)};
        if (kgen_number(record + 24, 8) != wide.count ||
            !agrees(found->count, wide.count, 0xffff) ||
            !agrees(found->nbytes, wide.nbytes, ELSEWHERE) ||
            !agrees(offset, wide.start, ELSEWHERE))
            return false;
        *found = wide;
        offset = wide.start;
    }
    found->start = offset;
    return found->nbytes <= end && offset == end - found->nbytes &&
           found->count <= found->nbytes / ENTRY_BYTES;
}

/* Replace placeholders by the 64-bit numbers of the extra field, which must hold no others. */
static bool widen(const unsigned char *extra, uint64_t nbytes, uint64_t **numbers, int count)
{
    const unsigned char *found = NULL;
    uint64_t found_bytes = 0;
    while (nbytes > 0) {
        if (nbytes < 4)
            return false;
        uint64_t kind = kgen_number(extra, 2), length = kgen_number(extra + 2, 2);
        if (length > nbytes - 4 || (kind == EXTRA_64 && found != NULL))
            return false;
        if (kind == EXTRA_64) {
            found = extra + 4;
            found_bytes = length;
        }
        extra += 4 + length;
        nbytes -= 4 + length;
    }
    uint64_t wanted = 0;
    for (int i = 0; i < count; i++)
        wanted += *numbers[i] == ELSEWHERE ? 8 : 0;
    if (found_bytes != wanted || (found != NULL) != (wanted > 0))
        return false;
    for (int i = 0; i < count; i++)
        if (*numbers[i] == ELSEWHERE) {
            *numbers[i] = kgen_number(found, 8);
            found += 8;
        }
    return true;
}

/* Return whether a file name is valid: parts of printable ASCII between slashes, without
 * backslashes; no part is empty, `.` or `..`. */
static bool is_name(const unsigned char *name, uint64_t length)
{
    uint64_t part = 0; /* start of the part */
    for (uint64_t i = 0; i <= length; i++) {
        if (i < length && name[i] != '/') {
            if (name[i] < ' ' || name[i] > '~' || name[i] == '\\')
                return false;
            continue;
        }
        uint64_t nbytes = i - part;
        if (nbytes == 0 || (nbytes <= 2 && memcmp(name + part, "..", (size_t)nbytes) == 0))
            return false;
        part = i + 1;
    }
    return true;
}

/* Check that a file's header at `*at` agrees with `record`, its entry of the directory. Advance
 * `*at` to the file's data. */
static bool check_header(const zip *archive, const directory *in, const unsigned char *record,
                         uint64_t nbytes, uint64_t *at)
{
    const unsigned char *header = archive->data + *at;
    uint64_t left = in->start - *at;
    if (left < LOCAL_BYTES || !has_magic(header, 3, 4) || kgen_number(header + 4, 2) > VERSION)
        return false;
    uint64_t own_packed = kgen_number(header + 18, 4), own_nbytes = kgen_number(header + 22, 4);
    uint64_t name = kgen_number(header + 26, 2), extra = kgen_number(header + 28, 2);
    uint64_t *numbers[2] = {&own_nbytes, &own_packed};
    left -= LOCAL_BYTES;
    /* Flags, method, time, date and checksum. */
    if (memcmp(header + 6, record + 8, 12) != 0 || name != kgen_number(record + 28, 2) ||
        left < name + extra || memcmp(header + LOCAL_BYTES, record + ENTRY_BYTES, (size_t)name) ||
        !widen(header + LOCAL_BYTES + name, extra, numbers, 2) || own_nbytes != nbytes ||
        own_packed != nbytes || left - name - extra < nbytes)
        return false;
    *at += LOCAL_BYTES + name + extra;
    return true;
}

/* Read the directory entry at `*at`, whose file has its header at `*header`. Advance both to the
 * next file. */
static kgen_status read_entry(const zip *archive, const directory *in, uint64_t *at,
                              uint64_t *header, arena *memory, zip_entry *into)
{
    uint64_t left = in->start + in->nbytes - *at;
    const unsigned char *record = archive->data + *at;
    if (left < ENTRY_BYTES || !has_magic(record, 1, 2) || kgen_number(record + 6, 2) > VERSION ||
        kgen_number(record + 32, 4) != 0) /* no comment; disk 0 */
        return no_bundle("");
    uint64_t flags = kgen_number(record + 8, 2), method = kgen_number(record + 10, 2);
    uint64_t packed = kgen_number(record + 20, 4), nbytes = kgen_number(record + 24, 4);
    uint64_t name = kgen_number(record + 28, 2), extra = kgen_number(record + 30, 2);
    uint64_t offset = kgen_number(record + 42, 4);
    if (left - ENTRY_BYTES < name + extra)
        return no_bundle("");
    const unsigned char *text = record + ENTRY_BYTES;
    if (!is_name(text, name))
        return no_bundle(" (a file has an invalid name)");
    uint64_t *numbers[3] = {&nbytes, &packed, &offset};
    if (!widen(text + name, extra, numbers, 3))
        return no_bundle("");
    into->name = kgen_text(memory, (const char *)text, (size_t)name);
    if (into->name == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    if (method != 0 || packed != nbytes || (flags & ~(uint64_t)UTF_8) != 0)
        return about(into->name, "is compressed");
    if (offset != *header)
        return about(into->name, "does not start where the file before it ends");
    if (*header > in->start || !check_header(archive, in, record, nbytes, header))
        return about(into->name, "has a header that differs from the directory");
    into->data = archive->data + *header;
    into->nbytes = nbytes;
    into->crc = (uint32_t)kgen_number(record + 16, 4);
    *header += nbytes;
    *at += ENTRY_BYTES + name + extra;
    return KGEN_OK;
}

static int by_entry_name(const void *a, const void *b)
{
    return strcmp(((const zip_entry *)a)->name, ((const zip_entry *)b)->name);
}

kgen_status kgen_zip_open(zip *archive, const void *data, uint64_t nbytes, arena *memory)
{
    directory found;
    archive->data = (const unsigned char *)data;
    archive->nbytes = nbytes;
    if (!find_directory(archive, &found))
        return no_bundle("");
    archive->count = (size_t)found.count;
    ALLOC(archive->entries, memory, archive->count);
    uint64_t at = found.start, header = 0;
    for (size_t i = 0; i < archive->count; i++) {
        TRY(read_entry(archive, &found, &at, &header, memory, &archive->entries[i]));
    }
    if (at != found.start + found.nbytes || header != found.start)
        return no_bundle(" (it has bytes that belong to no file)");
    qsort(archive->entries, archive->count, sizeof *archive->entries, by_entry_name);
    for (size_t i = 1; i < archive->count; i++)
        if (by_entry_name(&archive->entries[i - 1], &archive->entries[i]) == 0)
            return about(archive->entries[i].name, "occurs twice");
    return KGEN_OK;
}

zip_entry *kgen_zip_find(const zip *archive, const char *name)
{
    zip_entry wanted = {name, NULL, 0, 0, false};
    return (zip_entry *)bsearch(&wanted, archive->entries, archive->count, sizeof wanted, by_entry_name);
}

kgen_status kgen_zip_check_names(const zip *archive)
{
    for (size_t i = 0; i < archive->count; i++)
        if (!archive->entries[i].is_named)
            return about(archive->entries[i].name, "is not in the manifest");
    return KGEN_OK;
}

bool kgen_zip_crc_is_right(const zip_entry *entry)
{
    /* table[k][b] is the CRC of byte b followed by k zero bytes, for the polynomial 0xedb88320
     * (slicing-by-8). */
    uint32_t table[8][256];
    for (uint32_t i = 0; i < 256; i++) {
        table[0][i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[0][i] = table[0][i] >> 1 ^ (table[0][i] & 1 ? 0xedb88320 : 0);
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    uint32_t crc = 0xffffffff;
    const unsigned char *at = entry->data;
    uint64_t left = entry->nbytes;
    for (; left >= 8; at += 8, left -= 8) {
        uint32_t low = crc ^ (uint32_t)kgen_number(at, 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
              table[0][at[7]];
    }
    for (; left > 0; at++, left--)
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 255];
    return ~crc == entry->crc;
}
