/* Consistency check of a program: its parts must agree with each other and with its kernels.
 * Names are resolved to numbers and offsets. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

/* Index the names of `count` structs of `size` bytes; a name is `offset` bytes into its struct. */
static kgen_status make_index(name_index *into, const char *kind, const void *things, size_t count,
                              size_t size, size_t offset, arena *memory)
{
    TRY(kgen_index_create(into, count, memory));
    kgen_index_add(into, things, count, size, offset);
    const char *wrong = kgen_index_sort(into, false);
    return wrong == NULL ? KGEN_OK
                         : kgen_bundle_error("%s '%.60s' occurs twice or has no name", kind, wrong);
}

/* Names of values, and of the memories of each kind. */
typedef struct names {
    name_index values, memories[IN_STATE + 1];
    const repeat *in;  /* repetition whose moves are in `moves`; NULL: none */
    int64_t *moves;    /* by value, in bytes per turn; NULL: the program has no repetitions */
    uint64_t *nbytes;  /* by value: bytes of its memory; NULL likewise */
} names;

static kgen_status make_names(names *into, const kgen_program *of, arena *memory)
{
    const size_t of_value = offsetof(value, tensor) + offsetof(kgen_tensor, name);
    name_index *memories = into->memories;
    TRY(make_index(&memories[IN_WEIGHTS], "weight", of->weights, of->num_weights,
                   sizeof *of->weights, offsetof(weight, name), memory));
    TRY(make_index(&memories[IN_STATE], "state", of->states, of->num_states, sizeof *of->states,
                   offsetof(state, name), memory));
    TRY(make_index(&into->values, "value", of->values, of->num_values, sizeof *of->values, of_value,
                   memory));
    TRY(make_index(&memories[IN_INPUT], "input", of->inputs, of->num_inputs, sizeof *of->inputs,
                   of_value, memory));
    return make_index(&memories[IN_OUTPUT], "output", of->outputs, of->num_outputs,
                      sizeof *of->outputs, of_value, memory);
}

/* ---- memories and values --------------------------------------------------------------------- */

static kgen_status check_memories(const kgen_program *of)
{
    for (size_t i = 0; i < of->num_weights; i++) {
        const weight *one = &of->weights[i];
        const char *digest = one->file.sha256;
        if (one->file.nbytes < 1)
            return kgen_bundle_error("weight %.60s has %lld bytes", one->name,
                                     (long long)one->file.nbytes);
        /* The name is weights/ and 16 digits of the digest, so that no file of another folder is
         * opened. */
        bool fits = strlen(digest) == 64 && strspn(digest, "0123456789abcdef") == 64 &&
                    strncmp(one->file.file, "weights/", 8) == 0 &&
                    strncmp(one->file.file + 8, digest, 16) == 0 &&
                    strcmp(one->file.file + 24, ".bin") == 0;
        if (!fits)
            return kgen_bundle_error("weight %.60s is in '%.60s', which is not named by its digest",
                                     one->name, one->file.file);
    }
    for (size_t i = 0; i < of->num_states; i++)
        if (of->states[i].nbytes < 1)
            return kgen_bundle_error("state %.60s has %lld bytes", of->states[i].name,
                                     (long long)of->states[i].nbytes);
    if (of->arena_nbytes < 0)
        return kgen_bundle_error("its arena has %lld bytes", (long long)of->arena_nbytes);
    return KGEN_OK;
}

/* Find the size of a value's memory; return false if the memory does not exist. */
static bool find_memory(const kgen_program *of, const names *by, value *one, uint64_t *nbytes)
{
    *nbytes = (uint64_t)of->arena_nbytes;
    if (one->kind == IN_ARENA)
        return *one->memory == 0;
    if (!kgen_index_find(&by->memories[one->kind], one->memory, &one->number))
        return false;
    if (one->kind == IN_WEIGHTS)
        *nbytes = (uint64_t)of->weights[one->number].file.nbytes;
    else if (one->kind == IN_STATE)
        *nbytes = (uint64_t)of->states[one->number].nbytes;
    else
        *nbytes = (one->kind == IN_INPUT ? of->inputs : of->outputs)[one->number].tensor.nbytes;
    return true;
}

static kgen_status check_tensors(value *several, size_t count, int64_t schema_version)
{
    for (size_t i = 0; i < count; i++) {
        kgen_tensor *one = &several[i].tensor;
        TRY(kgen_check_tensor(one, one->name));
        if (one->nbytes == 0 && schema_version < 3)
            return kgen_bundle_error("%.60s has a size of 0; in schema %lld sizes are 1 or more",
                                     one->name, (long long)schema_version);
        if (one->dtype >= KGEN_S16 && schema_version < 4)
            return kgen_bundle_error("%.60s is %s, a type that schema %lld lacks", one->name,
                                     kgen_dtype_name(one->dtype), (long long)schema_version);
    }
    return KGEN_OK;
}

enum { PLACE_BYTES = 128 };

/* Write the address of a value at an offset, for messages. */
static const char *shown_place(const value *one, int64_t offset, char into[PLACE_BYTES])
{
    static const char *const kinds[] = KGEN_WORDS_PLACE_KIND;
    int used = snprintf(into, PLACE_BYTES, "%s%s%.60s", kinds[one->kind],
                        *one->memory != 0 ? " " : "", one->memory);
    if (offset != 0 && used > 0 && used < PLACE_BYTES)
        snprintf(into + used, (size_t)(PLACE_BYTES - used), " + %lld", (long long)offset);
    return into;
}

static kgen_status check_values(const kgen_program *of, const names *by, int64_t schema_version)
{
    TRY(check_tensors(of->values, of->num_values, schema_version));
    TRY(check_tensors(of->inputs, of->num_inputs, schema_version));
    TRY(check_tensors(of->outputs, of->num_outputs, schema_version));
    for (size_t i = 0; i < of->num_values; i++) {
        value *one = &of->values[i];
        const char *name = one->tensor.name;
        char place[PLACE_BYTES];
        uint64_t nbytes = 0;
        if (!find_memory(of, by, one, &nbytes))
            return kgen_bundle_error("value %.60s is in %s, which does not exist", name,
                                     shown_place(one, one->offset, place));
        if (one->offset < 0 || one->offset % (int64_t)kgen_dtype_size(one->tensor.dtype) != 0)
            return kgen_bundle_error("value %.60s is at %s, which is not a multiple of its "
                                     "element size", name, shown_place(one, one->offset, place));
        if ((uint64_t)one->offset > nbytes || one->tensor.nbytes > nbytes - (uint64_t)one->offset)
            return kgen_bundle_error("value %.60s of %zu bytes at %s ends past the %llu bytes "
                                     "there", name, one->tensor.nbytes,
                                     shown_place(one, one->offset, place),
                                     (unsigned long long)nbytes);
        if (by->nbytes != NULL)
            by->nbytes[i] = nbytes;
    }
    return KGEN_OK;
}

bool kgen_is_alike(const kgen_tensor *a, const kgen_tensor *b)
{
    size_t nbytes = (size_t)a->rank * sizeof *a->shape;
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, nbytes) == 0 && memcmp(a->strides, b->strides, nbytes) == 0;
}

/* Check that inputs and outputs are contiguous values, each at the start of its own memory. */
static kgen_status check_interface(const kgen_program *of, const names *by, value *several,
                                   size_t count, place_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        value *one = &several[i];
        const char *name = one->tensor.name;
        size_t number;
        bool own = one->kind == kind && strcmp(one->memory, name) == 0 && one->offset == 0 &&
                   kgen_is_packed(&one->tensor) && kgen_index_find(&by->values, name, &number);
        if (own) {
            const value *other = &of->values[number];
            own = other->kind == kind && strcmp(other->memory, name) == 0 && other->offset == 0 &&
                  kgen_is_alike(&one->tensor, &other->tensor);
        }
        if (!own)
            return kgen_bundle_error("%s %.60s is not a packed value in memory of its own",
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
                kgen_index_find(&by->values, called[end], &number) ? &of->values[number] : NULL;
            if (is == NULL || is->kind != IN_STATE || is->number != i || is->offset != 0)
                return kgen_bundle_error("state %.60s has no value '%.60s' at its start", one->name,
                                         called[end]);
            if (is->tensor.nbytes == 0)
                return kgen_bundle_error("state %.60s has no elements", one->name);
            one->tensor = is->tensor;
            one->tensor.name = one->name;
        }
    }
    return KGEN_OK;
}

/* Find the outputs that hold sizes of others; they must follow all other outputs. */
static kgen_status find_sizes(kgen_program *of, const bool *is_size)
{
    size_t first = 0, last = of->num_outputs;
    while (first < of->num_outputs && !is_size[first])
        first++;
    while (last > first && is_size[last - 1])
        last--;
    of->num_sizes = of->num_outputs - last;
    return first == last
               ? KGEN_OK
               : kgen_bundle_error("the size %.60s comes before output %.60s; sizes come behind "
                                   "all other outputs", of->outputs[first].tensor.name,
                                   of->outputs[last - 1].tensor.name);
}

/* Check outputs whose sizes depend on data: each axis has one size, held by an output of one s64,
 * whose own size does not depend on data. */
static kgen_status check_counts(kgen_program *of, const names *by, arena *memory)
{
    bool *is_size;
    ALLOC(is_size, memory, of->num_outputs);
    unsigned *axes;
    ALLOC(axes, memory, of->num_outputs);
    for (size_t i = 0; i < of->num_counts; i++) {
        count *one = &of->counts[i];
        if (!kgen_index_find(&by->memories[IN_OUTPUT], one->output, &one->of) ||
            !kgen_index_find(&by->memories[IN_OUTPUT], one->size, &one->in))
            return kgen_bundle_error("the size of output %.60s is %.60s, and one of the two is not "
                                     "an output", one->output, one->size);
        const kgen_tensor *is = &of->outputs[one->of].tensor, *size = &of->outputs[one->in].tensor;
        if (one->axis < 0 || one->axis >= is->rank)
            return kgen_bundle_error("output %.60s has no axis %lld; its rank is %d", one->output,
                                     (long long)one->axis, is->rank);
        if (size->dtype != KGEN_S64 || size->nbytes != sizeof(int64_t))
            return kgen_bundle_error("the size %.60s of output %.60s is not one s64", one->size,
                                     one->output);
        if ((axes[one->of] >> one->axis & 1) != 0)
            return kgen_bundle_error("output %.60s has two sizes along axis %lld", one->output,
                                     (long long)one->axis);
        axes[one->of] |= 1U << one->axis;
        is_size[one->in] = true;
    }
    for (size_t i = 0; i < of->num_counts; i++)
        if (is_size[of->counts[i].of])
            return kgen_bundle_error("output %.60s is a size, and its own size %.60s depends on "
                                     "data", of->counts[i].output, of->counts[i].size);
    return find_sizes(of, is_size);
}

/* ---- steps ----------------------------------------------------------------------------------- */

bool kgen_may_be_written(const value *one)
{
    return one->kind == IN_ARENA || one->kind == IN_OUTPUT || one->kind == IN_STATE;
}

/* Return the alignment of a tensor in bytes, by the family of the target. CUDA and HIP kernels
 * load 16 bytes at once. Vulkan devices require at most 256 for a storage buffer. CPU kernels
 * accept any address of an element. */
static int alignment(const char *family)
{
    if (strcmp(family, "cuda") == 0 || strcmp(family, "amdgpu") == 0)
        return 16;
    return strcmp(family, "vulkan") == 0 ? 256 : 1;
}

/* Return whether two values start at the same byte. */
static bool is_at(const bound *a, const bound *b)
{
    return a->is->kind == b->is->kind &&
           (a->is->kind == IN_ARENA || a->is->number == b->is->number) && a->offset == b->offset;
}

/* Check that a value stays inside its memory in all turns of a repetition. */
static kgen_status check_move(const value *one, int64_t nbytes, int64_t turns, uint64_t memory)
{
    const char *name = one->tensor.name;
    uint64_t last = (uint64_t)turns - 1, offset = (uint64_t)one->offset;
    uint64_t room = nbytes < 0 ? offset : memory - one->tensor.nbytes - offset;
    uint64_t apart = nbytes < 0 ? 0 - (uint64_t)nbytes : (uint64_t)nbytes;
    if (nbytes % (int64_t)kgen_dtype_size(one->tensor.dtype) != 0)
        return kgen_bundle_error("value %.60s moves by %lld bytes, which is not a multiple of its "
                                 "element size", name, (long long)nbytes);
    if (apart > room / last)
        return kgen_bundle_error("value %.60s moves by %lld bytes in each of %lld turns, and "
                                 "leaves its memory of %llu bytes", name, (long long)nbytes,
                                 (long long)turns, (unsigned long long)memory);
    return KGEN_OK;
}

/* Fill in `moves` for the repetition of a step. Repetitions are visited in order. */
static kgen_status settle_moves(const kgen_program *of, names *by, const repeat *in)
{
    size_t number;
    if (in == by->in)
        return KGEN_OK;
    const json *old = by->in == NULL || by->in->moves == NULL ? NULL : by->in->moves->as.first;
    for (; old != NULL; old = old->next)
        if (kgen_index_find(&by->values, old->name, &number))
            by->moves[number] = 0;
    by->in = in;
    const json *one = in == NULL || in->moves == NULL ? NULL : in->moves->as.first;
    for (; one != NULL; one = one->next) {
        if (!kgen_index_find(&by->values, one->name, &number))
            return kgen_bundle_error("its repetition moves '%.60s', which is not a value",
                                     one->name);
        TRY(check_move(&of->values[number], one->as.integer, in->turns, by->nbytes[number]));
        by->moves[number] = one->as.integer;
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
        return kgen_bundle_error("it binds no %.60s, which the kernel takes", name);
    if (!kgen_index_find(&by->values, called->as.text, &number))
        return kgen_bundle_error("%.60s is '%.60s', which is not a value", name, called->as.text);
    const value *is = &of->values[number];
    int64_t offset = is->offset + (one->turn == 0 ? 0 : one->turn * by->moves[number]);
    one->values[slot] = (bound){is, offset};
    const char *called_value = is->tensor.name;
    char place[PLACE_BYTES];
    if (is->tensor.dtype != wanted->tensor.dtype)
        return kgen_bundle_error("%.60s is %.60s, which is %s; the kernel takes %s", name,
                                 called_value, kgen_dtype_name(is->tensor.dtype),
                                 kgen_dtype_name(wanted->tensor.dtype));
    if (is->tensor.nbytes != wanted->tensor.nbytes)
        return kgen_bundle_error("%.60s is %.60s, which spans %zu bytes; the kernel takes %zu",
                                 name, called_value, is->tensor.nbytes, wanted->tensor.nbytes);
    if (offset % alignment(kernel->family) != 0)
        return kgen_bundle_error("%.60s is %.60s, at %s; the target takes multiples of %d", name,
                                 called_value, shown_place(is, offset, place),
                                 alignment(kernel->family));
    if (wanted->tensor.role == KGEN_OUTPUT && !kgen_may_be_written(is))
        return kgen_bundle_error("%.60s is %.60s, in %s, which is read-only", name, called_value,
                                 shown_place(is, offset, place));
    return KGEN_OK;
}

static kgen_status check_step(const kgen_program *of, names *by, const manifest *all,
                              size_t number, arena *memory)
{
    step *one = &of->steps[number];
    TRY(settle_moves(of, by, one->in));
    const char *name = kgen_qualified(of->target, one->kernel_key, memory);
    if (name == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    one->kernel = kgen_manifest_find(all, name);
    if (one->kernel == NULL)
        return kgen_bundle_error("the bundle has no such kernel");
    for (size_t i = 0; i < one->num_after; i++)
        if (one->after[i] < 0 || (uint64_t)one->after[i] >= number)
            return kgen_bundle_error("it depends on step %lld, which is not earlier",
                                     (long long)one->after[i]);
    const kgen_kernel *kernel = one->kernel;
    if (one->bindings->count != kernel->num_arguments)
        return kgen_bundle_error("it binds %zu tensors; the kernel takes %zu", one->bindings->count,
                                 kernel->num_arguments);
    ALLOC(one->values, memory, kernel->num_parameters);
    for (size_t slot = 0; slot < kernel->num_parameters; slot++)
        if (kernel->parameters[slot].stored == NULL)
            TRY(bind(of, by, kernel, one, slot));
    if (kernel->overwritten_table != NULL)
        for (size_t slot = 0; slot < kernel->num_parameters; slot++) {
            const bound *table = &one->values[kernel->overwritten_table - kernel->parameters];
            const bound *out = &one->values[slot];
            if (kernel->parameters[slot].tensor.role == KGEN_OUTPUT && !is_at(table, out))
                return kgen_bundle_error("it writes rows of %.60s, but its output is elsewhere",
                                         kernel->overwritten_table->tensor.name);
        }
    return KGEN_OK;
}

static kgen_status check(kgen_program *of, const manifest *all, arena *memory)
{
    names by;
    memset(&by, 0, sizeof by);
    if (*of->name == 0 || *of->target == 0)
        return kgen_bundle_error("it has no name or no target");
    TRY(make_names(&by, of, memory));
    if (of->num_repeats > 0) {
        ALLOC(by.moves, memory, of->num_values);
        ALLOC(by.nbytes, memory, of->num_values);
    }
    TRY(check_memories(of));
    TRY(check_values(of, &by, all->schema_version));
    if (of->num_outputs == 0)
        return kgen_bundle_error("it has no outputs");
    TRY(check_interface(of, &by, of->inputs, of->num_inputs, IN_INPUT));
    TRY(check_interface(of, &by, of->outputs, of->num_outputs, IN_OUTPUT));
    TRY(check_states(of, &by));
    TRY(check_counts(of, &by, memory));
    TRY(kgen_write_out(of, memory));
    for (size_t i = 0; i < of->num_steps; i++) {
        const char *called = of->steps[i].kernel_key;
        TRY(kgen_within(check_step(of, &by, all, i, memory), "step %zu (%.120s): ", i, called));
    }
    return kgen_check_order(of, memory);
}

kgen_status kgen_check_program(kgen_program *program, const manifest *all, arena *memory)
{
    return kgen_within(check(program, all, memory), "program %s: ", program->qualified_name);
}
