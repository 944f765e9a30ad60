/* Manifest reader: converts JSON to the types of internal.h and checks the type of every field.
 *
 * docs/reference/bundle-format.md defines the fields; manifest_schema.h lists them in the order
 * of the readers here. A field that is missing, unknown or of another type is refused. Fields
 * that no CPU kernel needs are checked and dropped. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- objects and lists ----------------------------------------------------------------------- */

typedef struct field {
    char name[24]; /* an array: a pointer would need a relocation when libkgen is loaded */
    json_kind kind; /* JSON_FLOAT: any number */
    bool is_optional;
    unsigned most; /* limit on the entries of a list or object; 0: none */
    char limit[12];
} field;

static const char *kind_name(json_kind kind)
{
    static const char *const names[] = {"null", "bool", "int", "float", "str", "list", "object"};
    return names[kind];
}

static kgen_status unexpected(const json *got, json_kind wanted)
{
    const char *expected = kind_name(wanted);
    if (got->kind == JSON_TEXT)
        return kgen_bundle_error(": expected %s, got '%.60s'", expected, got->as.text);
    if (got->kind == JSON_INT)
        return kgen_bundle_error(": expected %s, got %lld", expected, (long long)got->as.integer);
    return kgen_bundle_error(": expected %s, got %s", expected, kind_name(got->kind));
}

static bool is_of(const json *one, json_kind kind)
{
    return one->kind == kind || (kind == JSON_FLOAT && one->kind == JSON_INT);
}

/* Check the number of entries of a list or object before any entry is read. */
static kgen_status check_count(const json *one, const field *of)
{
    if (of->most == 0 || one->count <= of->most)
        return KGEN_OK;
    return kgen_bundle_error(".%s: %zu entries; the limit is %u (%s)", of->name, one->count,
                             of->most, of->limit);
}

/* Find the members of an object by field number; missing optional ones are NULL. */
static kgen_status members(const json *object, const field *fields, size_t count,
                           const json **found)
{
    memset(found, 0, count * sizeof *found);
    if (object->kind != JSON_OBJECT)
        return unexpected(object, JSON_OBJECT);
    for (const json *one = object->as.first; one != NULL; one = one->next) {
        size_t i = 0;
        while (i < count && strcmp(fields[i].name, one->name) != 0)
            i++;
        if (i == count || found[i] != NULL)
            return kgen_bundle_error(": %s field '%.60s'", i == count ? "unknown" : "a second",
                                     one->name);
        if (!is_of(one, fields[i].kind))
            return kgen_within(unexpected(one, fields[i].kind), ".%s", one->name);
        TRY(check_count(one, &fields[i]));
        found[i] = one;
    }
    for (size_t i = 0; i < count; i++)
        if (found[i] == NULL && !fields[i].is_optional)
            return kgen_bundle_error(": field '%s' missing", fields[i].name);
    return KGEN_OK;
}

/* Declare `fields` of one kind of object, and `found`, their values in `data`. */
#define READ_MEMBERS(data, kind)                                                                   \
    static const field fields[] = KGEN_FIELDS_##kind;                                              \
    const json *found[COUNT(fields)];                                                              \
    TRY(members(data, fields, COUNT(fields), found))

static const char *text_or(const json *one, const char *otherwise)
{
    return one == NULL ? otherwise : one->as.text;
}

static int64_t int_or(const json *one, int64_t otherwise)
{
    return one == NULL ? otherwise : one->as.integer;
}

static size_t length(const json *list)
{
    return list == NULL ? 0 : list->count;
}

static kgen_status each_is(const json *list, json_kind kind)
{
    for (const json *one = list == NULL ? NULL : list->as.first; one != NULL; one = one->next)
        if (!is_of(one, kind))
            return kgen_within(unexpected(one, kind), ".%s%s%.60s", list->name,
                               list->kind == JSON_OBJECT ? "." : "",
                               list->kind == JSON_OBJECT ? one->name : "");
    return KGEN_OK;
}

static kgen_status read_ints(const json *list, arena *memory, const int64_t **values,
                             size_t *count)
{
    *count = length(list);
    int64_t *made;
    ALLOC(made, memory, *count);
    TRY(each_is(list, JSON_INT));
    size_t i = 0;
    for (const json *one = list == NULL ? NULL : list->as.first; one != NULL; one = one->next)
        made[i++] = one->as.integer;
    *values = made;
    return KGEN_OK;
}

/* Reader of one entry of a list. */
typedef kgen_status element_reader(const json *data, arena *memory, void *into);

static kgen_status read_several(const json *list, arena *memory, size_t size,
                                element_reader *read, void *values, size_t *count)
{
    *count = length(list);
    char *made = (char *)kgen_alloc(memory, *count, size);
    if (made == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    memcpy(values, &made, sizeof made);
    size_t i = 0;
    for (const json *one = list == NULL ? NULL : list->as.first; one != NULL; one = one->next, i++)
        TRY(kgen_within(read(one, memory, made + size * i), ".%s[%zu]", list->name, i));
    return KGEN_OK;
}

/* Read the list of a field into the array `name` and its length `num_name`. */
#define READ_SEVERAL(field, name, read)                                                            \
    TRY(read_several(found[field], memory, sizeof *into->name, read, &into->name,                  \
                     &into->num_##name))

static kgen_status one_of(const json *text, const char *const *names, size_t count, int *number)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text->as.text, names[i]) == 0) {
            *number = (int)i;
            return KGEN_OK;
        }
    char known[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof known; i++) {
        int more = snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", names[i]);
        used += more > 0 ? (size_t)more : 0;
    }
    return kgen_bundle_error(".%s: '%.60s' is not one of %s", text->name, text->as.text, known);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const struct {
    char name[12];
    size_t nbytes;
} DTYPES[] = KGEN_DTYPES;

const char *kgen_dtype_name(kgen_dtype dtype)
{
    return (size_t)dtype < COUNT(DTYPES) ? DTYPES[dtype].name : NULL;
}

size_t kgen_dtype_size(kgen_dtype dtype)
{
    return (size_t)dtype < COUNT(DTYPES) ? DTYPES[dtype].nbytes : 0;
}

static kgen_status read_dtype(const json *text, kgen_dtype *dtype)
{
    const char *names[COUNT(DTYPES)];
    for (size_t i = 0; i < COUNT(DTYPES); i++)
        names[i] = DTYPES[i].name;
    int found = 0;
    kgen_status status = one_of(text, names, COUNT(DTYPES), &found);
    *dtype = (kgen_dtype)found;
    return status;
}

/* Read shape and strides of the tensor `name`. */
static kgen_status read_layout(const json *shape, const json *strides, const char *name,
                               arena *memory, kgen_tensor *into)
{
    const int64_t *sizes, *steps;
    size_t rank, count;
    TRY(read_ints(shape, memory, &sizes, &rank));
    TRY(read_ints(strides, memory, &steps, &count));
    if (rank != count)
        return kgen_bundle_error(": %.60s needs one stride per dimension", name);
    if (rank > KGEN_MAX_RANK)
        return kgen_bundle_error(": %.60s has %zu dimensions; the limit is %d", name, rank,
                                 KGEN_MAX_RANK);
    into->rank = (int)rank;
    memcpy(into->shape, sizes, rank * sizeof *sizes);
    memcpy(into->strides, steps, rank * sizeof *steps);
    return KGEN_OK;
}

static kgen_status read_packing(const json *data, arena *memory, parameter *into)
{
    READ_MEMBERS(data, PACKING);
    kgen_tensor *packed = &into->tensor, *matrix = &into->unpacked;
    kgen_packing *order = &into->order;
    size_t num_runs = 0;
    TRY(read_ints(found[5], memory, &order->runs, &num_runs));
    TRY(read_layout(found[0], found[1], packed->name, memory, matrix));
    packed->packed = 1;
    order->itemsize = (int64_t)kgen_dtype_size(packed->dtype);
    order->rank = matrix->rank;
    order->transposed = found[2]->as.integer != 0;
    order->width = found[3]->as.integer;
    order->depth = found[4]->as.integer;
    order->steps = packed->rank < 3 ? 0 : packed->shape[packed->rank - 3];
    order->num_runs = (int64_t)num_runs;
    memcpy(order->shape, matrix->shape, sizeof order->shape);
    memcpy(order->strides, matrix->strides, sizeof order->strides);
    return KGEN_OK;
}

static kgen_status read_parameter(const json *data, arena *memory, void *place)
{
    static const char *const roles[] = KGEN_WORDS_TENSOR_PARAM_ROLE;
    parameter *into = (parameter *)place;
    int role = 0;
    READ_MEMBERS(data, TENSOR_PARAM);
    TRY(one_of(found[1], roles, COUNT(roles), &role));
    TRY(read_dtype(found[2], &into->tensor.dtype));
    into->tensor.name = found[0]->as.text;
    into->tensor.role = role == 0 ? KGEN_INPUT : KGEN_OUTPUT;
    into->unpacked = into->tensor;
    TRY(read_layout(found[3], found[4], into->tensor.name, memory, &into->tensor));
    if (found[5] != NULL)
        return read_packing(found[5], memory, into);
    into->unpacked = into->tensor;
    return KGEN_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static kgen_status read_workspace(const json *data, arena *memory, void *place)
{
    static const char *const initial[] = KGEN_WORDS_WORKSPACE_INITIAL;
    (void)memory;
    workspace *into = (workspace *)place;
    int number;
    READ_MEMBERS(data, WORKSPACE);
    if (found[2] != NULL)
        TRY(one_of(found[2], initial, COUNT(initial), &number));
    into->name = found[0]->as.text;
    into->nbytes = found[1]->as.integer;
    return KGEN_OK;
}

static kgen_status read_tensor_map(const json *data, arena *memory, void *place)
{
    tensor_map *into = (tensor_map *)place;
    READ_MEMBERS(data, TENSOR_MAP);
    TRY(read_dtype(found[2], &into->tensor.dtype));
    TRY(read_ints(found[5], memory, &into->box, &into->num_box));
    int64_t swizzle = int_or(found[6], 0);
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return kgen_bundle_error(".swizzle: %lld is not one of 0, 32, 64, 128", (long long)swizzle);
    into->name = found[0]->as.text;
    into->viewed = found[1]->as.text;
    return read_layout(found[3], found[4], into->name, memory, &into->tensor);
}

static kgen_status read_walk(const json *data, tiling *into)
{
    READ_MEMBERS(data, WALK);
    into->has_walk = true;
    into->group = int_or(found[0], 1);
    into->shared = int_or(found[1], 0);
    into->steps = int_or(found[2], 0);
    return KGEN_OK;
}

static kgen_status read_tile(const json *data, arena *memory, const tiling **place)
{
    READ_MEMBERS(data, TILE);
    tiling *into;
    ALLOC(into, memory, 1);
    TRY(read_ints(found[0], memory, &into->shape, &into->rank));
    TRY(read_ints(found[1], memory, &into->extent, &into->num_extent));
    TRY(read_ints(found[2], memory, &into->axes, &into->num_axes));
    into->parts = int_or(found[4], 1);
    *place = into;
    return found[3] == NULL ? KGEN_OK : read_walk(found[3], into);
}

static kgen_status read_extent3(const json *list, arena *memory, int64_t into[3])
{
    const int64_t *values;
    size_t count;
    into[0] = into[1] = into[2] = 1;
    if (list == NULL)
        return KGEN_OK;
    TRY(read_ints(list, memory, &values, &count));
    if (count != 3)
        return kgen_bundle_error(".%s: expected 3 entries, got %zu", list->name, count);
    memcpy(into, values, 3 * sizeof *values);
    return KGEN_OK;
}

static kgen_status read_launch(const json *data, arena *memory, void *place)
{
    launch *into = (launch *)place;
    READ_MEMBERS(data, LAUNCH);
    TRY(read_extent3(found[2], memory, into->grid));
    TRY(read_extent3(found[3], memory, into->block));
    TRY(read_extent3(found[4], memory, into->cluster));
    TRY(each_is(found[6], JSON_TEXT));
    into->module = text_or(found[0], "main");
    into->entry_point = found[1]->as.text;
    into->shared_memory = int_or(found[5], 0);
    into->num_arguments = found[6]->count;
    ALLOC(into->arguments, memory, into->num_arguments);
    size_t i = 0;
    for (const json *one = found[6]->as.first; one != NULL; one = one->next)
        into->arguments[i++] = one->as.text;
    return found[7] == NULL ? KGEN_OK : read_tile(found[7], memory, &into->tile);
}

static kgen_status read_artifact(const json *data, arena *memory, void *place)
{
    static const char *const roles[] = KGEN_WORDS_ARTIFACT_ENTRY_ROLE;
    (void)memory;
    artifact *into = (artifact *)place;
    int role = 0;
    READ_MEMBERS(data, ARTIFACT_ENTRY);
    TRY(one_of(found[3], roles, COUNT(roles), &role));
    into->module = text_or(found[0], "main");
    into->format = found[2]->as.text;
    into->role = roles[role];
    into->file = (stored_file){found[1]->as.text, found[4]->as.text, found[5]->as.integer};
    into->requires_ = found[6];
    return KGEN_OK;
}

static kgen_status read_constant(const json *data, arena *memory, void *place)
{
    (void)memory;
    constant *into = (constant *)place;
    READ_MEMBERS(data, STORED_TENSOR);
    into->parameter = found[0]->as.text;
    into->file = (stored_file){found[1]->as.text, found[2]->as.text, found[3]->as.integer};
    return KGEN_OK;
}

/* Resources and tolerance are for people and for kgen verify: check their types only. */
static kgen_status check_resources(const json *data)
{
    READ_MEMBERS(data, RESOURCES);
    return each_is(found[7], JSON_TEXT);
}

static kgen_status check_tolerance(const json *data)
{
    static const char *const subnormals[] = KGEN_WORDS_TOLERANCE_SUBNORMALS;
    kgen_dtype dtype;
    int number;
    READ_MEMBERS(data, TOLERANCE);
    TRY(read_dtype(found[0], &dtype));
    if (found[4] != NULL)
        TRY(one_of(found[4], subnormals, COUNT(subnormals), &number));
    return each_is(found[5], JSON_TEXT);
}

static kgen_status read_target(const json *data, kgen_kernel *into)
{
    READ_MEMBERS(data, TARGET_ENTRY);
    into->target = found[0]->as.text;
    into->family = found[1]->as.text;
    return KGEN_OK;
}

const char *kgen_qualified(const char *target, const char *name, arena *memory)
{
    size_t nbytes = strlen(target) + strlen(name) + 2;
    char *made = (char *)kgen_alloc(memory, nbytes, 1);
    if (made != NULL)
        snprintf(made, nbytes, "%s/%s", target, name);
    return made;
}

static kgen_status read_kernel(const json *data, arena *memory, void *place)
{
    kgen_kernel *into = (kgen_kernel *)place;
    READ_MEMBERS(data, KERNEL_ENTRY);
    TRY(kgen_within(read_target(found[3], into), ".target"));
    READ_SEVERAL(5, parameters, read_parameter);
    READ_SEVERAL(6, workspaces, read_workspace);
    READ_SEVERAL(7, maps, read_tensor_map);
    READ_SEVERAL(8, launches, read_launch);
    READ_SEVERAL(9, artifacts, read_artifact);
    READ_SEVERAL(10, constants, read_constant);
    TRY(kgen_within(check_resources(found[11]), ".resources"));
    TRY(kgen_within(check_tolerance(found[12]), ".tolerance"));
    into->key = found[0]->as.text;
    into->op = found[1]->as.text;
    into->spec = found[2];
    into->schedule = found[4];
    into->name = kgen_qualified(into->target, into->key, memory);
    return into->name == NULL ? KGEN_ERROR_OUT_OF_MEMORY : KGEN_OK;
}

/* ---- programs -------------------------------------------------------------------------------- */

static kgen_status read_place(const json *data, value *into)
{
    static const char *const kinds[] = KGEN_WORDS_PLACE_KIND;
    int kind = 0;
    READ_MEMBERS(data, PLACE);
    TRY(one_of(found[0], kinds, COUNT(kinds), &kind));
    into->kind = (place_kind)kind;
    into->memory = text_or(found[1], "");
    into->offset = int_or(found[2], 0);
    return KGEN_OK;
}

static kgen_status read_value(const json *data, arena *memory, void *place)
{
    value *into = (value *)place;
    READ_MEMBERS(data, VALUE);
    TRY(read_dtype(found[1], &into->tensor.dtype));
    TRY(read_place(found[4], into));
    into->tensor.name = found[0]->as.text;
    return read_layout(found[2], found[3], into->tensor.name, memory, &into->tensor);
}

static kgen_status read_weight(const json *data, arena *memory, void *place)
{
    (void)memory;
    weight *into = (weight *)place;
    READ_MEMBERS(data, WEIGHT);
    into->name = found[0]->as.text;
    into->file = (stored_file){found[1]->as.text, found[2]->as.text, found[3]->as.integer};
    return KGEN_OK;
}

static kgen_status read_state(const json *data, arena *memory, void *place)
{
    (void)memory;
    state *into = (state *)place;
    READ_MEMBERS(data, STATE);
    into->name = found[0]->as.text;
    into->nbytes = found[1]->as.integer;
    into->input = found[2]->as.text;
    into->output = found[3]->as.text;
    return KGEN_OK;
}

static kgen_status read_step(const json *data, arena *memory, void *place)
{
    step *into = (step *)place;
    READ_MEMBERS(data, STEP);
    TRY(each_is(found[1], JSON_TEXT));
    TRY(each_is(found[2], JSON_TEXT));
    TRY(read_ints(found[3], memory, &into->after, &into->num_after));
    into->kernel_key = found[0]->as.text;
    into->bindings = found[1];
    into->nodes = found[2];
    return KGEN_OK;
}

static kgen_status read_repeat(const json *data, arena *memory, void *place)
{
    (void)memory;
    repeat *into = (repeat *)place;
    READ_MEMBERS(data, REPEAT);
    TRY(each_is(found[3], JSON_INT));
    *into = (repeat){found[0]->as.integer, found[1]->as.integer, found[2]->as.integer, found[3]};
    return KGEN_OK;
}

static kgen_status read_count(const json *data, arena *memory, void *place)
{
    (void)memory;
    count *into = (count *)place;
    READ_MEMBERS(data, COUNT);
    into->output = found[0]->as.text;
    into->axis = found[1]->as.integer;
    into->size = found[2]->as.text;
    return KGEN_OK;
}

static kgen_status read_program(const json *data, arena *memory, void *place)
{
    kgen_program *into = (kgen_program *)place;
    READ_MEMBERS(data, PROGRAM);
    READ_SEVERAL(2, inputs, read_value);
    READ_SEVERAL(3, outputs, read_value);
    READ_SEVERAL(4, states, read_state);
    READ_SEVERAL(5, values, read_value);
    READ_SEVERAL(6, weights, read_weight);
    READ_SEVERAL(8, steps, read_step);
    READ_SEVERAL(9, repeats, read_repeat);
    READ_SEVERAL(10, counts, read_count);
    into->name = found[0]->as.text;
    into->target = found[1]->as.text;
    into->arena_nbytes = found[7]->as.integer;
    into->qualified_name = kgen_qualified(into->target, into->name, memory);
    return into->qualified_name == NULL ? KGEN_ERROR_OUT_OF_MEMORY : KGEN_OK;
}

/* ---- manifest -------------------------------------------------------------------------------- */

static int by_kernel_name(const void *a, const void *b)
{
    return strcmp((*(kgen_kernel *const *)a)->name, (*(kgen_kernel *const *)b)->name);
}

static kgen_status check_program_names(const manifest *all, arena *memory)
{
    const char **names;
    ALLOC(names, memory, all->num_programs);
    for (size_t i = 0; i < all->num_programs; i++)
        names[i] = all->programs[i].qualified_name;
    qsort(names, all->num_programs, sizeof *names, kgen_by_text);
    for (size_t i = 1; i < all->num_programs; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return kgen_bundle_error("program %s: it occurs twice", names[i]);
    return KGEN_OK;
}

kgen_kernel *kgen_manifest_find(const manifest *all, const char *name)
{
    kgen_kernel wanted, *key = &wanted;
    wanted.name = name;
    kgen_kernel **found =
        (kgen_kernel **)bsearch(&key, all->by_name, all->num_kernels, sizeof *all->by_name,
                                by_kernel_name);
    return found == NULL ? NULL : *found;
}

/* Check the schema version. Schema 1 had no programs; schema 2 had neither repetitions nor
 * counts. */
static kgen_status check_version(const json *data, int64_t *into)
{
    const json *version = kgen_json_member(data, "schema_version");
    if (version == NULL)
        return kgen_bundle_error("manifest.json: no schema_version; this is not a kgen manifest");
    int64_t number = version->kind == JSON_INT ? version->as.integer : -1;
    if (number < KGEN_OLDEST_SCHEMA || number > KGEN_NEWEST_SCHEMA)
        return kgen_fail(KGEN_ERROR_VERSION,
                         "manifest schema %lld is not one that this runtime reads (%d to %d); "
                         "rebuild the bundle or use the runtime of the kgen that built it",
                         (long long)number, KGEN_OLDEST_SCHEMA, KGEN_NEWEST_SCHEMA);
    if (number == 1 && kgen_json_member(data, "programs") != NULL)
        return kgen_bundle_error("manifest: unknown field 'programs' of schema 1");
    const json *programs = kgen_json_member(data, "programs");
    bool is_list = programs != NULL && programs->kind == JSON_LIST;
    static const char *const later[] = {"repeats", "counts"};
    for (const json *one = is_list && number < 3 ? programs->as.first : NULL; one != NULL;
         one = one->next)
        for (size_t i = 0; one->kind == JSON_OBJECT && i < COUNT(later); i++)
            if (kgen_json_member(one, later[i]) != NULL)
                return kgen_bundle_error("manifest: unknown field '%s' of schema %lld", later[i],
                                         (long long)number);
    *into = number;
    return KGEN_OK;
}

static kgen_status read_entries(manifest *into, const json *data, arena *memory)
{
    READ_MEMBERS(data, MANIFEST);
    TRY(each_is(found[3], JSON_TEXT));
    READ_SEVERAL(1, kernels, read_kernel);
    READ_SEVERAL(2, programs, read_program);
    return KGEN_OK;
}

kgen_status kgen_manifest_read(manifest *into, const json *data, arena *memory)
{
    TRY(check_version(data, &into->schema_version));
    TRY(kgen_within(read_entries(into, data, memory), "manifest"));
    if (into->num_kernels == 0 && into->num_programs == 0)
        return kgen_bundle_error("manifest.kernels: it has no kernel and no program; a bundle "
                                 "needs one or more");
    ALLOC(into->by_name, memory, into->num_kernels);
    for (size_t i = 0; i < into->num_kernels; i++)
        into->by_name[i] = &into->kernels[i];
    qsort(into->by_name, into->num_kernels, sizeof *into->by_name, by_kernel_name);
    for (size_t i = 1; i < into->num_kernels; i++)
        if (by_kernel_name(&into->by_name[i - 1], &into->by_name[i]) == 0)
            return kgen_bundle_error("manifest.kernels: %s occurs twice", into->by_name[i]->name);
    return check_program_names(into, memory);
}
