/* Opening and closing of bundles: loads code, constants and weights after checking them. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024 };
/* Alignment of weights and constants that are used in place: a cache line. */
enum { LINE = 64 };

/* ---- constants and weights ------------------------------------------------------------------- */

/* Leave aligned bytes in place; copy others to an aligned address. */
static kgen_status settle_bytes(kgen_bundle *of, const unsigned char **data, uint64_t nbytes)
{
    if ((uintptr_t)*data % LINE == 0)
        return KGEN_OK;
    unsigned char *copy = (unsigned char *)kgen_alloc_tensor(&of->memory, nbytes);
    if (copy == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    memcpy(copy, *data, (size_t)nbytes);
    *data = copy;
    return KGEN_OK;
}

static kgen_status load_constants(kgen_bundle *of, kgen_kernel *kernel)
{
    for (size_t i = 0; i < kernel->num_parameters; i++) {
        const stored_file *file = kernel->parameters[i].stored;
        const unsigned char *data = NULL;
        if (file == NULL)
            continue;
        TRY(kgen_find_file(of, file, &data));
        TRY(kgen_check_digest(of, file, data, (uint64_t)file->nbytes));
        used_file *used = kgen_find_used(of, file->file);
        if (used->settled == NULL) {
            TRY(settle_bytes(of, &data, (uint64_t)file->nbytes));
            used->settled = data;
        }
        kernel->parameters[i].constant = used->settled;
    }
    return KGEN_OK;
}

static kgen_status load_weight(kgen_bundle *of, weight *one, bool verify)
{
    const unsigned char *data = NULL;
    bool is_inside = kgen_zip_find(&of->archive, one->file.file) != NULL;
    TRY(is_inside ? kgen_find_file(of, &one->file, &data)
                  : kgen_find_beside(of, &one->file, &data));
    if (verify)
        TRY(kgen_check_digest(of, &one->file, data, (uint64_t)one->file.nbytes));
    TRY(settle_bytes(of, &data, (uint64_t)one->file.nbytes));
    one->data = data;
    return KGEN_OK;
}

static int by_digest(const void *a, const void *b)
{
    return strcmp((*(weight *const *)a)->file.sha256, (*(weight *const *)b)->file.sha256);
}

/* Load the weights of all chosen programs; weights of equal digest, which share a file, are
 * loaded once. */
static kgen_status load_weights(kgen_bundle *of, bool verify)
{
    const selection *chosen = &of->chosen;
    size_t count = 0;
    for (size_t i = 0; i < chosen->num_programs; i++)
        count += chosen->programs[i]->num_weights;
    weight **all;
    ALLOC(all, &of->memory, count);
    count = 0;
    for (size_t i = 0; i < chosen->num_programs; i++)
        for (size_t w = 0; w < chosen->programs[i]->num_weights; w++)
            all[count++] = &chosen->programs[i]->weights[w];
    qsort(all, count, sizeof *all, by_digest);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && by_digest(&all[i - 1], &all[i]) == 0) {
            all[i]->data = all[i - 1]->data;
            TRY(kgen_check_size(&all[i]->file, (uint64_t)all[i - 1]->file.nbytes));
        } else {
            TRY(load_weight(of, all[i], verify));
        }
    }
    return KGEN_OK;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Copy the code of a launch and check the copy: the file may change between check and mapping. */
static kgen_status load_object(kgen_bundle *of, const artifact *code, object *into,
                               uint64_t *total)
{
    const unsigned char *data = NULL;
    TRY(kgen_find_file(of, &code->file, &data));
    into->nbytes = (uint64_t)code->file.nbytes;
    unsigned char *copy = (unsigned char *)malloc(into->nbytes + 1); /* malloc(0) may return NULL */
    if (copy == NULL)
        return kgen_no_memory(into->nbytes);
    memcpy(copy, data, into->nbytes);
    into->data = copy;
    *kgen_find_used(of, code->file.file)->digest = 0; /* computed again, from the copy */
    TRY(kgen_check_digest(of, &code->file, into->data, into->nbytes));
    return kgen_object_place(into, total);
}

static bool needs_tiles(const artifact *code)
{
    const json *features =
        code->requires_ == NULL ? NULL : kgen_json_member(code->requires_, "features");
    for (const json *one = features == NULL ? NULL : features->as.first; one != NULL;
         one = one->next)
        if (strcmp(one->as.text, "amx_tile") == 0)
            return true;
    return false;
}

/* Set the object of a launch's code: the object of an earlier launch of the same file, or a new
 * one after the others, which occupy *total bytes of address space. */
static kgen_status share_object(kgen_bundle *of, launch *one, object *objects, size_t *count,
                                uint64_t *total)
{
    const artifact *code = one->code;
    used_file *file = kgen_find_used(of, code->file.file);
    if (file != NULL && file->object > 0) {
        one->object = file->object - 1;
        TRY(kgen_check_size(&code->file, objects[one->object].nbytes));
        return kgen_check_digest(of, &code->file, NULL, 0);
    }
    object *made = &objects[one->object = (*count)++];
    TRY(load_object(of, code, made, total));
    file->object = *count;
    return KGEN_OK;
}

/* Load the objects of all loaded kernels, one after another. */
static kgen_status load_objects(kgen_bundle *of, object *objects, size_t *count)
{
    uint64_t total = 0;
    for (size_t k = 0; k < of->all.num_kernels; k++) {
        kgen_kernel *kernel = &of->all.kernels[k];
        for (size_t i = 0; kernel->loaded && i < kernel->num_launches; i++) {
            launch *one = &kernel->launches[i];
            kgen_status status = share_object(of, one, objects, count, &total);
            if (status == KGEN_OK && needs_tiles(one->code))
                status = kgen_cpu_request_tiles();
            if (status == KGEN_ERROR_DEVICE)
                return kgen_within(status, "%s: ", kernel->name);
            TRY(status);
        }
    }
    return KGEN_OK;
}

/* Set the functions of the launches once the library is mapped. */
static kgen_status settle_functions(kgen_bundle *of, const object *objects)
{
    for (size_t k = 0; k < of->all.num_kernels; k++) {
        kgen_kernel *kernel = &of->all.kernels[k];
        for (size_t i = 0; kernel->loaded && i < kernel->num_launches; i++) {
            launch *one = &kernel->launches[i];
            uint64_t function = 0;
            TRY(kgen_within(kgen_library_function(&of->code, &objects[one->object],
                                                  one->entry_point, &function),
                            "%s: ", kernel->name));
            kgen_settle_launch(one, function);
        }
    }
    return KGEN_OK;
}

static kgen_status load_code(kgen_bundle *of)
{
    char name[256];
    size_t most = 0, count = 0, used = 0;
    *name = 0;
    for (size_t k = 0; k < of->all.num_kernels; k++) {
        const kgen_kernel *kernel = &of->all.kernels[k];
        if (!kernel->loaded)
            continue;
        if (used + 1 < sizeof name) {
            int more = snprintf(name + used, sizeof name - used, "%s%s", used > 0 ? "+" : "",
                                used > 0 ? kernel->key : kernel->name);
            used += more > 0 ? (size_t)more : 0;
        }
        most += kernel->num_launches;
    }
    object *objects;
    ALLOC(objects, &of->memory, most);
    kgen_status status = load_objects(of, objects, &count);
    if (status == KGEN_OK)
        status = kgen_library_map(&of->code, objects, count, name);
    if (status == KGEN_OK)
        status = settle_functions(of, objects);
    for (size_t i = 0; i < count; i++)
        free((void *)objects[i].data); /* copy of load_object */
    return status;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static kgen_status load(kgen_bundle *of, bool verify)
{
    cpu here = {0};
    TRY(kgen_cpu_open(&here, &of->memory));
    TRY(kgen_select(&of->chosen, &of->all, &here, &of->memory));
    /* Programs may need kernels that were not chosen for their key. */
    for (size_t i = 0; i < of->chosen.num_kernels; i++)
        of->chosen.kernels[i]->loaded = true;
    for (size_t i = 0; i < of->chosen.num_programs; i++)
        for (size_t s = 0; s < of->chosen.programs[i]->num_steps; s++)
            of->chosen.programs[i]->steps[s].kernel->loaded = true;
    for (size_t i = 0; i < of->all.num_kernels; i++)
        if (of->all.kernels[i].loaded)
            TRY(load_constants(of, &of->all.kernels[i]));
    TRY(load_code(of));
    TRY(load_weights(of, verify));
    of->threads = kgen_pool_create(of->num_threads);
    return of->threads == NULL ? KGEN_ERROR_OUT_OF_MEMORY : KGEN_OK;
}

/* Open a bundle from the path, or from `data` if the path is NULL. */
static kgen_status open_bundle(const char *path, const void *data, size_t nbytes,
                               const kgen_options *options, kgen_bundle **bundle)
{
    static const kgen_options defaults = {0, 0};
    if (options == NULL)
        options = &defaults;
    if (bundle == NULL || (path == NULL && data == NULL))
        return kgen_argument_error("the bundle to open, or the pointer for it, is NULL");
    if (options->num_threads < 0 || options->num_threads > MAX_THREADS)
        return kgen_argument_error("num_threads=%d is out of range; give 1 to %d, or 0 for all "
                                   "CPUs of this process", options->num_threads, MAX_THREADS);
    kgen_bundle *made = NULL;
    TRY(kgen_read(path, data, nbytes, NULL, 1, &made));
    made->num_threads = options->num_threads > 0 ? options->num_threads : kgen_os_cpu_count();
    if (made->num_threads > MAX_THREADS)
        made->num_threads = MAX_THREADS;
    kgen_status status = load(made, options->verify_weights != 0);
    if (status != KGEN_OK) {
        kgen_within(status, "%s: ", made->name);
        kgen_close(made);
        return status;
    }
    *bundle = made;
    return KGEN_OK;
}

kgen_status kgen_open(const char *path, const kgen_options *options, kgen_bundle **bundle)
{
    return open_bundle(path, NULL, 0, options, bundle);
}

kgen_status kgen_open_memory(const void *data, size_t nbytes, const kgen_options *options,
                             kgen_bundle **bundle)
{
    return open_bundle(NULL, data, nbytes, options, bundle);
}

void kgen_close(kgen_bundle *bundle)
{
    if (bundle == NULL)
        return;
    kgen_pool_destroy(bundle->threads);
    for (size_t i = 0; i < bundle->all.num_kernels; i++)
        kgen_scratch_destroy_all(&bundle->all.kernels[i]);
    if (bundle->code.address != NULL)
        kgen_os_code_free(&bundle->code);
    for (mapping *one = bundle->mappings; one != NULL; one = one->next)
        if (one->data != NULL)
            kgen_os_unmap_file(one->data, one->nbytes);
    kgen_os_lock_destroy(&bundle->lock);
    kgen_free_all(&bundle->memory);
    free(bundle);
}

/* ---- queries --------------------------------------------------------------------------------- */

int kgen_num_threads(const kgen_bundle *bundle)
{
    return bundle == NULL ? 0 : bundle->num_threads;
}

size_t kgen_num_skipped(const kgen_bundle *bundle)
{
    return bundle == NULL ? 0 : bundle->chosen.num_left_out;
}

const char *kgen_skipped_name(const kgen_bundle *bundle, size_t index)
{
    return index < kgen_num_skipped(bundle) ? bundle->chosen.left_out[index].name : NULL;
}

const char *kgen_skipped_reason(const kgen_bundle *bundle, size_t index)
{
    return index < kgen_num_skipped(bundle) ? bundle->chosen.left_out[index].reason : NULL;
}

size_t kgen_num_kernels(const kgen_bundle *bundle)
{
    return bundle == NULL ? 0 : bundle->chosen.num_kernels;
}

kgen_kernel *kgen_kernel_at(const kgen_bundle *bundle, size_t index)
{
    return index < kgen_num_kernels(bundle) ? bundle->chosen.kernels[index] : NULL;
}

/* Set the message of a search by name that found nothing: why the entry was skipped, or that there
 * is none. */
static void miss(const kgen_bundle *bundle, const char *kind, const char *by, const char *name)
{
    if (bundle == NULL) {
        kgen_null_handle("bundle");
        return;
    }
    for (size_t i = 0; name != NULL && i < bundle->chosen.num_left_out; i++) {
        const skipped *one = &bundle->chosen.left_out[i];
        const char *behind = strrchr(one->name, '/');
        if (behind != NULL && strcmp(behind + 1, name) == 0) {
            kgen_fail(KGEN_ERROR_NOT_FOUND, "no %s '%.120s' runs here: %s", kind, name, one->reason);
            return;
        }
    }
    kgen_fail(KGEN_ERROR_NOT_FOUND,
              "no %s '%.120s' runs here: the bundle has no %s of this %s; kgen inspect lists them",
              kind, name == NULL ? "NULL" : name, kind, by);
}

kgen_kernel *kgen_find_kernel(const kgen_bundle *bundle, const char *key)
{
    for (size_t i = 0; key != NULL && i < kgen_num_kernels(bundle); i++)
        if (strcmp(bundle->chosen.kernels[i]->key, key) == 0)
            return bundle->chosen.kernels[i];
    miss(bundle, "kernel", "key", key);
    return NULL;
}

size_t kgen_num_programs(const kgen_bundle *bundle)
{
    return bundle == NULL ? 0 : bundle->chosen.num_programs;
}

kgen_program *kgen_program_at(const kgen_bundle *bundle, size_t index)
{
    return index < kgen_num_programs(bundle) ? bundle->chosen.programs[index] : NULL;
}

kgen_program *kgen_find_program(const kgen_bundle *bundle, const char *name)
{
    size_t count = kgen_num_programs(bundle);
    for (size_t i = 0; i < count; i++)
        if (name == NULL ? count == 1 : strcmp(bundle->chosen.programs[i]->name, name) == 0)
            return bundle->chosen.programs[i];
    if (name == NULL && bundle != NULL)
        kgen_fail(KGEN_ERROR_NOT_FOUND,
                  "the bundle has %zu programs that run here; pass the name of one", count);
    else
        miss(bundle, "program", "name", name);
    return NULL;
}
