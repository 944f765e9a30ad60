/* What a program in the manifest says, held against its kernels and against itself; names become
 * places and numbers.
 *
 * As kgen_runtime/schema/program_check.py, but for what steps wait for: this runtime makes them one
 * after another, in their order. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static kgen_status refuse_program(const char *why)
{
    return kgen_fail(KGEN_ERROR_BUNDLE, "%s", why);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Names of things of one kind, sorted, with the number of each. */
typedef struct named {
    const char *name;
    size_t number;
} named;

typedef struct name_index {
    named *all;
    size_t count;
} name_index;

static int by_its_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Of `count` things of `size` bytes, whose names are `offset` bytes from their starts. */
static kgen_status make_index(name_index *into, const char *kind, const void *things, size_t count,
                              size_t size, size_t offset, arena *memory)
{
    into->count = count;
    into->all = (named *)kgen_alloc(memory, count, sizeof *into->all);
    if (into->all == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        memcpy(&into->all[i].name, (const char *)things + i * size + offset, sizeof(char *));
        into->all[i].number = i;
    }
    qsort(into->all, count, sizeof *into->all, by_its_name);
    for (size_t i = 0; i < count; i++) {
        const char *name = into->all[i].name;
        if (*name == 0 || (i > 0 && strcmp(into->all[i - 1].name, name) == 0))
            return kgen_fail(KGEN_ERROR_BUNDLE, "%s '%.60s' occurs twice or has no name", kind,
                             name);
    }
    return KGEN_OK;
}

/* The number of what has this name; false if nothing has. */
static bool look_up(const name_index *in, const char *name, size_t *number)
{
    named wanted = {name, 0};
    const named *found =
        (const named *)bsearch(&wanted, in->all, in->count, sizeof wanted, by_its_name);
    if (found != NULL)
        *number = found->number;
    return found != NULL;
}

typedef struct names {
    name_index inputs, outputs, states, weights, values;
} names;

static kgen_status make_names(names *into, const kgen_program *of, arena *memory)
{
    const size_t of_value = offsetof(value, tensor) + offsetof(kgen_tensor, name);
    kgen_status status = make_index(&into->weights, "weight", of->weights, of->num_weights,
                                    sizeof *of->weights, offsetof(weight, name), memory);
    if (status == KGEN_OK)
        status = make_index(&into->states, "state", of->states, of->num_states,
                            sizeof *of->states, offsetof(state, name), memory);
    if (status == KGEN_OK)
        status = make_index(&into->values, "value", of->values, of->num_values,
                            sizeof *of->values, of_value, memory);
    if (status == KGEN_OK)
        status = make_index(&into->inputs, "input", of->inputs, of->num_inputs,
                            sizeof *of->inputs, of_value, memory);
    if (status == KGEN_OK)
        status = make_index(&into->outputs, "output", of->outputs, of->num_outputs,
                            sizeof *of->outputs, of_value, memory);
    return status;
}

/* ---- memories and values --------------------------------------------------------------------- */

static kgen_status check_memories(const kgen_program *of)
{
    for (size_t i = 0; i < of->num_weights; i++) {
        const weight *one = &of->weights[i];
        const char *digest = one->file.sha256;
        if (one->file.nbytes < 1)
            return kgen_fail(KGEN_ERROR_BUNDLE, "weight %.60s has %lld bytes", one->name,
                             (long long)one->file.nbytes);
        /* weights/ and the first 16 digits: so that no file is looked for elsewhere. */
        bool fits = strlen(digest) == 64 && strspn(digest, "0123456789abcdef") == 64 &&
                    strncmp(one->file.file, "weights/", 8) == 0 &&
                    strncmp(one->file.file + 8, digest, 16) == 0 &&
                    strcmp(one->file.file + 24, ".bin") == 0;
        if (!fits)
            return kgen_fail(KGEN_ERROR_BUNDLE,
                             "weight %.60s is in '%.60s', which is not named by its digest",
                             one->name, one->file.file);
    }
    for (size_t i = 0; i < of->num_states; i++)
        if (of->states[i].nbytes < 1)
            return kgen_fail(KGEN_ERROR_BUNDLE, "state %.60s has %lld bytes", of->states[i].name,
                             (long long)of->states[i].nbytes);
    if (of->arena_nbytes < 0)
        return kgen_fail(KGEN_ERROR_BUNDLE, "its arena has %lld bytes",
                         (long long)of->arena_nbytes);
    return KGEN_OK;
}

/* The bytes of the memory that a value lies in; false if there is no such memory. */
static bool find_memory(const kgen_program *of, const names *by, value *one, uint64_t *nbytes)
{
    switch (one->kind) {
    case IN_ARENA:
        *nbytes = (uint64_t)of->arena_nbytes;
        return *one->memory == 0;
    case IN_WEIGHTS:
        if (!look_up(&by->weights, one->memory, &one->number))
            return false;
        *nbytes = (uint64_t)of->weights[one->number].file.nbytes;
        return true;
    case IN_STATE:
        if (!look_up(&by->states, one->memory, &one->number))
            return false;
        *nbytes = (uint64_t)of->states[one->number].nbytes;
        return true;
    case IN_INPUT:
        if (!look_up(&by->inputs, one->memory, &one->number))
            return false;
        *nbytes = of->inputs[one->number].tensor.nbytes;
        return true;
    case IN_OUTPUT:
        if (!look_up(&by->outputs, one->memory, &one->number))
            return false;
        *nbytes = of->outputs[one->number].tensor.nbytes;
        return true;
    }
    return false;
}

static kgen_status check_values(const kgen_program *of, const names *by)
{
    for (size_t i = 0; i < of->num_values; i++) {
        value *one = &of->values[i];
        const char *name = one->tensor.name;
        uint64_t nbytes = 0;
        if (!find_memory(of, by, one, &nbytes))
            return kgen_fail(KGEN_ERROR_BUNDLE, "value %.60s lies in '%.60s', which does not exist",
                             name, one->memory);
        if (one->offset < 0 || one->offset % (int64_t)kgen_dtype_size(one->tensor.dtype) != 0)
            return kgen_fail(KGEN_ERROR_BUNDLE,
                             "value %.60s lies at %lld, which is not a multiple of its element "
                             "size",
                             name, (long long)one->offset);
        if ((uint64_t)one->offset > nbytes || one->tensor.nbytes > nbytes - (uint64_t)one->offset)
            return kgen_fail(KGEN_ERROR_BUNDLE,
                             "value %.60s of %zu bytes at %lld ends past the %llu bytes there",
                             name, one->tensor.nbytes, (long long)one->offset,
                             (unsigned long long)nbytes);
    }
    return KGEN_OK;
}

static bool is_alike(const kgen_tensor *a, const kgen_tensor *b)
{
    size_t nbytes = (size_t)a->rank * sizeof *a->shape;
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, nbytes) == 0 && memcmp(a->strides, b->strides, nbytes) == 0;
}

/* Inputs and outputs are packed values at the start of memory of their own. */
static kgen_status check_interface(const kgen_program *of, const names *by, value *several,
                                   size_t count, place_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        value *one = &several[i];
        const char *name = one->tensor.name;
        size_t number;
        bool own = one->kind == kind && strcmp(one->memory, name) == 0 && one->offset == 0 &&
                   kgen_is_packed(&one->tensor) && look_up(&by->values, name, &number);
        if (own) {
            const value *other = &of->values[number];
            own = other->kind == kind && strcmp(other->memory, name) == 0 && other->offset == 0 &&
                  is_alike(&one->tensor, &other->tensor);
        }
        if (!own)
            return kgen_fail(KGEN_ERROR_BUNDLE,
                             "%s %.60s is not a packed value in memory of its own",
                             kind == IN_INPUT ? "input" : "output", name);
        one->tensor.role = kind == IN_INPUT ? KGEN_INPUT : KGEN_OUTPUT;
    }
    return KGEN_OK;
}

static kgen_status check_states(const kgen_program *of, const names *by)
{
    for (size_t i = 0; i < of->num_states; i++) {
        state *one = &of->states[i];
        const char *const called[] = {one->output, one->input};
        for (int end = 0; end < 2; end++) {
            size_t number;
            const value *is =
                look_up(&by->values, called[end], &number) ? &of->values[number] : NULL;
            if (is == NULL || is->kind != IN_STATE || is->number != i || is->offset != 0)
                return kgen_fail(KGEN_ERROR_BUNDLE, "state %.60s has no value '%.60s' at its start",
                                 one->name, called[end]);
            one->tensor = is->tensor;
            one->tensor.name = one->name;
        }
    }
    return KGEN_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool may_be_written(const value *one)
{
    return one->kind == IN_ARENA || one->kind == IN_OUTPUT || one->kind == IN_STATE;
}

/* Whether two values span a byte together. */
static bool meet(const value *a, const value *b)
{
    return a->kind == b->kind && (a->kind == IN_ARENA || a->number == b->number) &&
           (uint64_t)a->offset < (uint64_t)b->offset + b->tensor.nbytes &&
           (uint64_t)b->offset < (uint64_t)a->offset + a->tensor.nbytes;
}

/* Whether a tensor touches every byte that it spans. */
static bool is_whole(const kgen_tensor *tensor)
{
    int64_t nbytes = (int64_t)kgen_dtype_size(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++)
        if (!kgen_multiply(&nbytes, tensor->shape[i]))
            return false;
    return (size_t)nbytes == tensor->nbytes;
}

/* What a step writes lies beside all else that it takes, or upon an input of the same bytes,
 * element upon element. (Tensors with gaps may lie in each other's gaps.) */
static kgen_status check_apart(const kgen_kernel *kernel, const step *one)
{
    for (size_t i = 0; i < kernel->num_parameters; i++) {
        const value *out = one->values[i];
        if (out == NULL || kernel->parameters[i].tensor.role != KGEN_OUTPUT)
            continue;
        for (size_t j = 0; j < kernel->num_parameters; j++) {
            const value *other = one->values[j];
            if (j == i || other == NULL || !meet(out, other))
                continue;
            bool upon = kernel->parameters[j].tensor.role == KGEN_INPUT &&
                        out->offset == other->offset;
            if (!upon && is_whole(&kernel->parameters[i].tensor) &&
                is_whole(&kernel->parameters[j].tensor))
                return kgen_fail(KGEN_ERROR_BUNDLE,
                                 "it takes %.60s and %.60s, which overlap in memory",
                                 out->tensor.name, other->tensor.name);
        }
    }
    return KGEN_OK;
}

static kgen_status bind(const kgen_program *of, const names *by, const kgen_kernel *kernel,
                        step *one, size_t slot)
{
    const parameter *wanted = &kernel->parameters[slot];
    const char *name = wanted->tensor.name;
    const json *called = kgen_json_member(one->bindings, name);
    size_t number;
    if (called == NULL)
        return kgen_fail(KGEN_ERROR_BUNDLE, "it binds no %.60s, which the kernel takes", name);
    if (!look_up(&by->values, called->as.text, &number))
        return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s is '%.60s', which is not a value", name,
                         called->as.text);
    const value *is = one->values[slot] = &of->values[number];
    if (is->tensor.dtype != wanted->tensor.dtype || is->tensor.nbytes != wanted->tensor.nbytes)
        return kgen_fail(KGEN_ERROR_BUNDLE,
                         "%.60s is %.60s, %zu bytes of %s; the kernel takes %zu of %s", name,
                         is->tensor.name, is->tensor.nbytes, kgen_dtype_name(is->tensor.dtype),
                         wanted->tensor.nbytes, kgen_dtype_name(wanted->tensor.dtype));
    if (wanted->tensor.role == KGEN_OUTPUT && !may_be_written(is))
        return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s is %.60s, which is read-only", name,
                         is->tensor.name);
    return KGEN_OK;
}

static kgen_status check_step(const kgen_program *of, const names *by, const manifest *all,
                              size_t number, arena *memory)
{
    step *one = &of->steps[number];
    const char *name = kgen_qualified(of->target, one->kernel_key, memory);
    if (name == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    one->kernel = kgen_manifest_find(all, name);
    if (one->kernel == NULL)
        return refuse_program("the bundle has no such kernel");
    for (size_t i = 0; i < one->num_after; i++)
        if (one->after[i] < 0 || (uint64_t)one->after[i] >= number)
            return kgen_fail(KGEN_ERROR_BUNDLE, "it depends on step %lld, which is not earlier",
                             (long long)one->after[i]);
    const kgen_kernel *kernel = one->kernel;
    if (strcmp(kernel->family, "cpu") != 0)
        return KGEN_OK;
    if (one->bindings->count != kernel->num_arguments)
        return kgen_fail(KGEN_ERROR_BUNDLE, "it binds %zu tensors; the kernel takes %zu",
                         one->bindings->count, kernel->num_arguments);
    one->values = (const value **)kgen_alloc(memory, kernel->num_parameters, sizeof *one->values);
    if (one->values == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    for (size_t slot = 0; slot < kernel->num_parameters; slot++) {
        kgen_status status =
            kernel->parameters[slot].stored != NULL ? KGEN_OK : bind(of, by, kernel, one, slot);
        if (status != KGEN_OK)
            return status;
    }
    if (kernel->lies_upon != NULL)
        for (size_t slot = 0; slot < kernel->num_parameters; slot++) {
            const value *table = one->values[kernel->lies_upon - kernel->parameters];
            const value *out = one->values[slot];
            if (kernel->parameters[slot].tensor.role == KGEN_OUTPUT &&
                (!meet(table, out) || table->offset != out->offset))
                return kgen_fail(KGEN_ERROR_BUNDLE,
                                 "it writes rows of %.60s, but its output lies elsewhere",
                                 kernel->lies_upon->tensor.name);
        }
    return check_apart(kernel, one);
}

/* That all outputs and states are written. */
static kgen_status check_written(const kgen_program *of, arena *memory)
{
    bool *outputs = (bool *)kgen_alloc(memory, of->num_outputs, sizeof *outputs);
    bool *states = (bool *)kgen_alloc(memory, of->num_states, sizeof *states);
    if (outputs == NULL || states == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < of->num_steps; i++) {
        const step *one = &of->steps[i];
        if (one->values == NULL)
            return KGEN_OK; /* another device's program */
        for (size_t slot = 0; slot < one->kernel->num_parameters; slot++) {
            const value *is = one->values[slot];
            if (is == NULL || one->kernel->parameters[slot].tensor.role != KGEN_OUTPUT)
                continue;
            if (is->kind == IN_OUTPUT)
                outputs[is->number] = true;
            if (is->kind == IN_STATE)
                states[is->number] = true;
        }
    }
    for (size_t i = 0; i < of->num_outputs; i++)
        if (!outputs[i])
            return kgen_fail(KGEN_ERROR_BUNDLE, "no step writes output %.60s",
                             of->outputs[i].tensor.name);
    for (size_t i = 0; i < of->num_states; i++)
        if (!states[i])
            return kgen_fail(KGEN_ERROR_BUNDLE, "no step writes state %.60s", of->states[i].name);
    return KGEN_OK;
}

static kgen_status check(kgen_program *of, const manifest *all, arena *memory)
{
    names by;
    memset(&by, 0, sizeof by);
    if (*of->name == 0 || *of->target == 0)
        return refuse_program("it has no name or no target");
    kgen_status status = make_names(&by, of, memory);
    if (status == KGEN_OK)
        status = check_memories(of);
    if (status == KGEN_OK)
        status = check_values(of, &by);
    if (status == KGEN_OK && of->num_outputs == 0)
        return refuse_program("it has no outputs");
    if (status == KGEN_OK)
        status = check_interface(of, &by, of->inputs, of->num_inputs, IN_INPUT);
    if (status == KGEN_OK)
        status = check_interface(of, &by, of->outputs, of->num_outputs, IN_OUTPUT);
    if (status == KGEN_OK)
        status = check_states(of, &by);
    if (status == KGEN_OK && of->num_steps == 0)
        return refuse_program("it has no steps");
    for (size_t i = 0; i < of->num_steps && status == KGEN_OK; i++) {
        status = check_step(of, &by, all, i, memory);
        if (status == KGEN_ERROR_BUNDLE)
            kgen_within("", "step %zu (%.120s): ", i, of->steps[i].kernel_key);
    }
    return status == KGEN_OK ? check_written(of, memory) : status;
}

kgen_status kgen_check_program(kgen_program *program, const manifest *all, arena *memory)
{
    kgen_status status = check(program, all, memory);
    if (status == KGEN_ERROR_BUNDLE)
        kgen_within("; build the bundle again", "program %s: ", program->qualified_name);
    return status;
}
