/* Bundle reader: opens and checks the archive, the manifest and the files that it names. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MANIFEST[] = "manifest.json";

/* ---- files ----------------------------------------------------------------------------------- */

static kgen_status map_file(kgen_bundle *of, const char *path, const char *shown, mapping **into)
{
    char reason[OS_REASON_BYTES] = "";
    mapping *made;
    ALLOC(made, &of->memory, 1);
    switch (kgen_os_map_file(path, &made->data, &made->nbytes, reason)) {
    case OS_DONE:
        break;
    case OS_NOT_FOUND:
        return kgen_fail(KGEN_ERROR_NOT_FOUND, "%s: cannot read: %s; check the path", shown, reason);
    case OS_NO_MEMORY:
        return kgen_fail(KGEN_ERROR_OUT_OF_MEMORY, "%s: cannot be mapped: %s", shown, reason);
    case OS_REFUSED:
        return kgen_bundle_error("%s: cannot read: %s; give a file that can be read", shown,
                                 reason);
    }
    if (of->maps) {
        made->next = of->mappings;
        *into = of->mappings = made;
        return KGEN_OK;
    }
    /* Align the copy to a page like a mapping, so that weights are used in place. */
    char *copy = (char *)kgen_alloc_tensor(&of->memory, (uint64_t)made->nbytes + KGEN_PAGE);
    if (copy != NULL)
        copy += (KGEN_PAGE - (uintptr_t)copy % KGEN_PAGE) % KGEN_PAGE;
    if (copy != NULL && made->data != NULL)
        memcpy(copy, made->data, made->nbytes);
    if (made->data != NULL)
        kgen_os_unmap_file(made->data, made->nbytes);
    made->data = copy;
    *into = made;
    return copy == NULL ? KGEN_ERROR_OUT_OF_MEMORY : KGEN_OK;
}

kgen_status kgen_check_size(const stored_file *of, uint64_t nbytes)
{
    if (of->nbytes >= 0 && nbytes == (uint64_t)of->nbytes)
        return KGEN_OK;
    return kgen_fail(KGEN_ERROR_INTEGRITY,
                     "%.120s has %llu bytes, the manifest says %lld; it was changed after it was "
                     "built; build or copy the bundle again",
                     of->file, (unsigned long long)nbytes, (long long)of->nbytes);
}

static kgen_status damaged(const stored_file *of)
{
    return kgen_fail(KGEN_ERROR_INTEGRITY,
                     "%.120s is missing or damaged; build or copy the bundle again", of->file);
}

/* Return the record of a file of the archive; NULL if the archive does not have the file. */
used_file *kgen_find_used(const kgen_bundle *in, const char *name)
{
    const zip_entry *entry = kgen_zip_find(&in->archive, name);
    return entry == NULL ? NULL : &in->files[entry - in->archive.entries];
}

/* Check a file's digest, and its checksum if it is in the archive. */
kgen_status kgen_check_digest(const kgen_bundle *in, const stored_file *of, const void *data,
                                uint64_t nbytes)
{
    char own[65] = "";
    used_file *file = kgen_find_used(in, of->file);
    char *digest = file == NULL ? own : file->digest;
    if (*digest == 0) {
        kgen_sha256(data, (size_t)nbytes, digest);
        const zip_entry *entry = kgen_zip_find(&in->archive, of->file);
        if (file != NULL)
            file->is_damaged = !kgen_zip_crc_is_right(entry);
    }
    if (strcmp(digest, of->sha256) != 0)
        return kgen_fail(KGEN_ERROR_INTEGRITY,
                         "%.120s has sha256 %.12s..., the manifest says %.12s...; it was changed "
                         "after it was built; build or copy the bundle again",
                         of->file, digest, of->sha256);
    return file != NULL && file->is_damaged ? damaged(of) : KGEN_OK;
}

/* Find a file's bytes in the archive, and check their number. */
kgen_status kgen_find_file(const kgen_bundle *in, const stored_file *of,
                             const unsigned char **data)
{
    const zip_entry *entry = kgen_zip_find(&in->archive, of->file);
    *data = entry == NULL ? NULL : entry->data;
    if (*data == NULL)
        return damaged(of);
    return kgen_check_size(of, entry->nbytes);
}

/* Map a file of weights beside the bundle, and check its size. */
kgen_status kgen_find_beside(kgen_bundle *of, const stored_file *file,
                               const unsigned char **data)
{
    mapping *found = NULL;
    kgen_status status = KGEN_ERROR_NOT_FOUND;
    if (of->folder != NULL) {
        size_t nbytes = strlen(of->folder) + strlen(file->file) + 1;
        char *path = (char *)kgen_alloc(&of->memory, nbytes, 1);
        if (path == NULL)
            return KGEN_ERROR_OUT_OF_MEMORY;
        snprintf(path, nbytes, "%s%s", of->folder, file->file);
        status = map_file(of, path, file->file, &found);
    }
    if (status == KGEN_ERROR_NOT_FOUND)
        return kgen_fail(KGEN_ERROR_INTEGRITY,
                         "%s is neither in the bundle nor beside it; build or copy the bundle "
                         "again, its weights with it",
                         file->file);
    TRY(status);
    *data = (const unsigned char *)found->data;
    return kgen_check_size(file, found->nbytes);
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void name_file(kgen_bundle *in, const char *file)
{
    zip_entry *entry = kgen_zip_find(&in->archive, file);
    if (entry != NULL)
        entry->is_named = true;
}

/* Refuse a file of the archive that the manifest does not name. */
static kgen_status check_file_names(kgen_bundle *of)
{
    name_file(of, MANIFEST);
    for (size_t i = 0; i < of->all.num_kernels; i++) {
        const kgen_kernel *kernel = &of->all.kernels[i];
        for (size_t a = 0; a < kernel->num_artifacts; a++)
            name_file(of, kernel->artifacts[a].file.file);
        for (size_t c = 0; c < kernel->num_constants; c++)
            name_file(of, kernel->constants[c].file.file);
    }
    for (size_t i = 0; i < of->all.num_programs; i++)
        for (size_t w = 0; w < of->all.programs[i].num_weights; w++)
            name_file(of, of->all.programs[i].weights[w].file.file);
    return kgen_zip_check_names(&of->archive);
}

static kgen_status check_manifest(kgen_bundle *of, const json *data)
{
    TRY(kgen_manifest_read(&of->all, data, &of->memory));
    for (size_t i = 0; i < of->all.num_kernels; i++) {
        of->all.kernels[i].bundle = of;
        TRY(kgen_check_kernel(&of->all.kernels[i], &of->memory));
    }
    for (size_t i = 0; i < of->all.num_programs; i++) {
        of->all.programs[i].bundle = of;
        TRY(kgen_check_program(&of->all.programs[i], &of->all, &of->memory));
    }
    return KGEN_OK;
}

/* Parse and check the text of a manifest. */
static kgen_status parse_manifest(kgen_bundle *of, const char *text, size_t nbytes)
{
    const json *data;
    TRY(kgen_json_count(text, nbytes));
    TRY(kgen_json_parse(text, nbytes, &of->memory, &data));
    return kgen_with_remedy(check_manifest(of, data));
}

static kgen_status read_manifest(kgen_bundle *of)
{
    const zip_entry *entry = kgen_zip_find(&of->archive, MANIFEST);
    if (entry != NULL && entry->nbytes > KGEN_MOST_MANIFEST_BYTES)
        return kgen_json_count(NULL, entry->nbytes); /* too long: refused without reading it */
    if (entry == NULL || !kgen_zip_crc_is_right(entry))
        return kgen_bundle_error("not a kgen bundle, or a truncated one; make one with kgen "
                                 "build -o");
    TRY(parse_manifest(of, (const char *)entry->data, (size_t)entry->nbytes));
    return check_file_names(of);
}

/* ---- opening --------------------------------------------------------------------------------- */

static kgen_status read_bundle(kgen_bundle *of, const char *path, const void *data, uint64_t nbytes)
{
    kgen_status status = KGEN_OK;
    if (path != NULL) {
        mapping *file = NULL;
        size_t folder = (size_t)(kgen_os_file_name(path) - path); /* including the separator */
        of->folder = kgen_text(&of->memory, path, folder);
        TRY(of->folder == NULL ? KGEN_ERROR_OUT_OF_MEMORY : map_file(of, path, of->name, &file));
        data = file->data;
        nbytes = file->nbytes;
    }
    status = kgen_zip_open(&of->archive, data, nbytes, &of->memory);
    if (status == KGEN_OK)
        of->files = (used_file *)kgen_alloc(&of->memory, of->archive.count, sizeof *of->files);
    if (status == KGEN_OK && of->files == NULL)
        status = KGEN_ERROR_OUT_OF_MEMORY;
    if (status == KGEN_OK)
        status = read_manifest(of);
    return kgen_within(status, "%s: ", of->name);
}

kgen_status kgen_read(const char *path, const void *data, size_t nbytes, const char *name, int maps,
                      kgen_bundle **bundle)
{
    kgen_bundle *made = (kgen_bundle *)calloc(1, sizeof *made);
    if (made == NULL)
        return kgen_no_memory(sizeof *made);
    char shown[64];
    snprintf(shown, sizeof shown, "a bundle of %zu bytes", nbytes);
    name = name != NULL ? name : path != NULL ? path : shown;
    kgen_os_lock_create(&made->lock);
    made->maps = maps != 0;
    made->name = kgen_text(&made->memory, name, strlen(name));
    kgen_status status = made->name == NULL ? KGEN_ERROR_OUT_OF_MEMORY
                                            : read_bundle(made, path, data, nbytes);
    if (status != KGEN_OK)
        kgen_close(made);
    else
        *bundle = made;
    return status;
}

/* ---- for other runtimes ---------------------------------------------------------------------- */

const char *kgen_manifest_text(const kgen_bundle *bundle, size_t *nbytes)
{
    const zip_entry *entry = kgen_zip_find(&bundle->archive, MANIFEST);
    *nbytes = (size_t)entry->nbytes;
    return (const char *)entry->data;
}

kgen_status kgen_manifest_check(const char *text, size_t nbytes)
{
    kgen_bundle *made = (kgen_bundle *)calloc(1, sizeof *made);
    if (made == NULL)
        return kgen_no_memory(sizeof *made);
    kgen_os_lock_create(&made->lock);
    kgen_status status = parse_manifest(made, text, nbytes);
    kgen_close(made);
    return status;
}

kgen_status kgen_file_data(kgen_bundle *bundle, const char *file, int64_t nbytes,
                           const char *sha256, int may_be_beside, const void **data)
{
    const stored_file wanted = {file, sha256, nbytes};
    const unsigned char *found = NULL;
    bool is_inside = kgen_zip_find(&bundle->archive, file) != NULL;
    kgen_status status = is_inside || may_be_beside == 0 ? kgen_find_file(bundle, &wanted, &found)
                                                         : kgen_find_beside(bundle, &wanted, &found);
    if (status == KGEN_OK && sha256 != NULL)
        status = kgen_check_digest(bundle, &wanted, found, (uint64_t)nbytes);
    *data = found;
    return kgen_within(status, "%s: ", bundle->name);
}

kgen_status kgen_copy_check(kgen_bundle *bundle, const char *file, const void *copy, int64_t nbytes,
                            const char *sha256)
{
    const stored_file wanted = {file, sha256, nbytes};
    used_file *known = kgen_find_used(bundle, file);
    if (known != NULL)
        *known->digest = 0; /* computed again, from the copy */
    return kgen_within(kgen_check_digest(bundle, &wanted, copy, (uint64_t)nbytes), "%s: ",
                       bundle->name);
}

/* ---- programs, for the Python runtime -------------------------------------------------------- */

kgen_program *kgen_read_program(const kgen_bundle *bundle, const char *name)
{
    for (size_t i = 0; i < bundle->all.num_programs; i++)
        if (strcmp(bundle->all.programs[i].qualified_name, name) == 0)
            return &bundle->all.programs[i];
    kgen_fail(KGEN_ERROR_NOT_FOUND, "the bundle has no program '%.120s'", name);
    return NULL;
}

kgen_status kgen_settle_kernel(kgen_bundle *bundle, const char *name, const uint64_t *functions,
                               const void *const *constants)
{
    kgen_kernel *kernel = kgen_manifest_find(&bundle->all, name);
    if (kernel == NULL)
        return kgen_fail(KGEN_ERROR_NOT_FOUND, "the bundle has no kernel '%.120s'", name);
    for (size_t i = 0; i < kernel->num_launches; i++)
        kgen_settle_launch(&kernel->launches[i], functions[i]);
    for (size_t i = 0; i < kernel->num_parameters; i++)
        kernel->parameters[i].constant = constants[i];
    return KGEN_OK;
}

void kgen_settle_weights(kgen_program *program, const void *const *weights)
{
    for (size_t i = 0; i < program->num_weights; i++)
        program->weights[i].data = (const unsigned char *)weights[i];
}
