/* The directory of a zip whose files are stored as they are, which is what a bundle is.
 *
 * PKWARE's APPNOTE, sections 4.3.7 to 4.3.16, with its 64-bit records. Nothing that a directory
 * claims is believed: places are held against the archive's size, and what is compressed or
 * encrypted is no file of ours. */
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
    MAX_COMMENT = 0xffff,
    /* The version of the format that is read here, times ten. */
    VERSION = 63,
    ENCRYPTED = 1,
    EXTRA_64 = 1
};
/* Stands where a number of 64 bits is elsewhere. */
static const uint64_t ELSEWHERE = 0xffffffff;

static bool has_magic(const unsigned char *at, int third, int fourth)
{
    return at[0] == 'P' && at[1] == 'K' && at[2] == third && at[3] == fourth;
}

static kgen_status no_bundle(const char *why)
{
    return kgen_fail(KGEN_ERROR_BUNDLE,
                     "not a kgen bundle, or not all of one%s; make one with kgen build -o", why);
}

typedef struct directory {
    uint64_t start, nbytes, count;
    uint64_t before; /* what is in front of the archive moves all places in it */
} directory;

/* The record at the end of the archive; false if there is none. */
static bool find_directory(const zip *archive, directory *found)
{
    if (archive->nbytes < END_BYTES)
        return false;
    uint64_t end = archive->nbytes - END_BYTES, first = 0;
    if (end > MAX_COMMENT)
        first = end - MAX_COMMENT;
    while (!has_magic(archive->data + end, 5, 6)) {
        if (end == first)
            return false;
        end--;
    }
    const unsigned char *record = archive->data + end;
    if (end + END_BYTES + kgen_number(record + 20, 2) != archive->nbytes)
        return false;
    uint64_t offset = kgen_number(record + 16, 4);
    found->count = kgen_number(record + 10, 2);
    found->nbytes = kgen_number(record + 12, 4);
    if (found->nbytes == ELSEWHERE || offset == ELSEWHERE || found->count == 0xffff) {
        if (end < LOCATOR_BYTES || !has_magic(record - LOCATOR_BYTES, 6, 7))
            return false;
        uint64_t at = kgen_number(record - LOCATOR_BYTES + 8, 8);
        if (end < END_64_BYTES || at > end - END_64_BYTES)
            return false;
        record = archive->data + at;
        end = at;
        if (!has_magic(record, 6, 6))
            return false;
        found->count = kgen_number(record + 32, 8);
        found->nbytes = kgen_number(record + 40, 8);
        offset = kgen_number(record + 48, 8);
    }
    if (found->nbytes > end || offset > end - found->nbytes)
        return false;
    found->before = end - found->nbytes - offset;
    found->start = found->before + offset;
    return true;
}

/* The 64-bit forms of the numbers that are elsewhere, from the extra field. */
static bool widen(const unsigned char *extra, uint64_t nbytes, uint64_t *numbers[3])
{
    while (nbytes >= 4) {
        uint64_t kind = kgen_number(extra, 2), length = kgen_number(extra + 2, 2);
        extra += 4;
        nbytes -= 4;
        if (length > nbytes)
            return false;
        if (kind != EXTRA_64) {
            extra += length;
            nbytes -= length;
            continue;
        }
        for (int i = 0; i < 3; i++) {
            if (*numbers[i] != ELSEWHERE)
                continue;
            if (length < 8)
                return false;
            *numbers[i] = kgen_number(extra, 8);
            extra += 8;
            length -= 8;
        }
        return true;
    }
    return false;
}

/* The entry at `*at`, which is then where the next one starts. */
static kgen_status read_entry(const zip *archive, const directory *in, uint64_t *at, arena *memory,
                              zip_entry *into)
{
    uint64_t end = in->start + in->nbytes;
    const unsigned char *record = archive->data + *at;
    if (end - *at < ENTRY_BYTES || !has_magic(record, 1, 2) || kgen_number(record + 6, 2) > VERSION)
        return no_bundle("");
    uint64_t flags = kgen_number(record + 8, 2), method = kgen_number(record + 10, 2);
    uint64_t packed = kgen_number(record + 20, 4), nbytes = kgen_number(record + 24, 4);
    uint64_t name = kgen_number(record + 28, 2), extra = kgen_number(record + 30, 2);
    uint64_t comment = kgen_number(record + 32, 2), offset = kgen_number(record + 42, 4);
    if (end - *at - ENTRY_BYTES < name + extra + comment)
        return no_bundle("");
    const unsigned char *text = record + ENTRY_BYTES;
    uint64_t *numbers[3] = {&nbytes, &packed, &offset};
    bool is_wide = nbytes == ELSEWHERE || packed == ELSEWHERE || offset == ELSEWHERE;
    if (is_wide && !widen(text + name, extra, numbers))
        return no_bundle("");
    into->name = kgen_text(memory, (const char *)text, (size_t)name);
    if (into->name == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    if (strlen(into->name) != name || offset > archive->nbytes - in->before)
        return no_bundle("");
    if (method != 0 || packed != nbytes || flags & ENCRYPTED) {
        char why[96];
        snprintf(why, sizeof why, " ('%.60s' is compressed)", into->name);
        return no_bundle(why);
    }
    into->header = in->before + offset;
    into->nbytes = nbytes;
    into->crc = (uint32_t)kgen_number(record + 16, 4);
    *at += ENTRY_BYTES + name + extra + comment;
    return KGEN_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const zip_entry *)a)->name, ((const zip_entry *)b)->name);
}

kgen_status kgen_zip_open(zip *archive, const void *data, uint64_t nbytes, arena *memory)
{
    directory found;
    archive->data = data;
    archive->nbytes = nbytes;
    if (!find_directory(archive, &found) || found.count > found.nbytes / ENTRY_BYTES)
        return no_bundle("");
    archive->count = (size_t)found.count;
    archive->entries = kgen_alloc(memory, archive->count, sizeof *archive->entries);
    if (archive->entries == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    uint64_t at = found.start, total = 0;
    for (size_t i = 0; i < archive->count; i++) {
        kgen_status status = read_entry(archive, &found, &at, memory, &archive->entries[i]);
        if (status != KGEN_OK)
            return status;
        if (archive->entries[i].nbytes > nbytes - total)
            return no_bundle(" (its files are larger than it is)");
        total += archive->entries[i].nbytes;
    }
    qsort(archive->entries, archive->count, sizeof *archive->entries, by_name);
    for (size_t i = 1; i < archive->count; i++)
        if (by_name(&archive->entries[i - 1], &archive->entries[i]) == 0)
            return no_bundle(" (a file of it is there twice)");
    return KGEN_OK;
}

const zip_entry *kgen_zip_find(const zip *archive, const char *name)
{
    zip_entry wanted = {name, 0, 0, 0};
    return bsearch(&wanted, archive->entries, archive->count, sizeof wanted, by_name);
}

const unsigned char *kgen_zip_data(const zip *archive, const zip_entry *entry)
{
    if (entry->header > archive->nbytes || archive->nbytes - entry->header < LOCAL_BYTES)
        return NULL;
    const unsigned char *header = archive->data + entry->header;
    uint64_t skipped = LOCAL_BYTES + kgen_number(header + 26, 2) + kgen_number(header + 28, 2);
    uint64_t left = archive->nbytes - entry->header;
    if (!has_magic(header, 3, 4) || skipped > left || entry->nbytes > left - skipped)
        return NULL;
    return header + skipped;
}

bool kgen_zip_crc_is_right(const zip *archive, const zip_entry *entry)
{
    const unsigned char *data = kgen_zip_data(archive, entry);
    if (data == NULL)
        return false;
    /* What four bits become, of the polynomial 0xedb88320. */
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int bit = 0; bit < 4; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    uint32_t crc = 0xffffffff;
    for (uint64_t i = 0; i < entry->nbytes; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc == entry->crc;
}
