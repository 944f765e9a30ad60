/* What a CPU kernel's manifest says in one place, held against what it says in the others.
 *
 * As kgen_runtime/schema/kernel_check.py, but that nothing is held against the spec, which this
 * runtime does not read: what is checked is what memory depends on. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a packed matrix that lie side by side, at most. */
enum { MAX_PACKED_DEPTH = 64 };

static kgen_status refuse_kernel(const char *why)
{
    return kgen_fail(KGEN_ERROR_BUNDLE, "%s", why);
}

/* ---- tensors --------------------------------------------------------------------------------- */

kgen_status kgen_check_tensor(kgen_tensor *tensor, const char *name)
{
    int64_t extent = 1, itemsize = (int64_t)kgen_dtype_size(tensor->dtype);
    bool fits = true;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t n = tensor->shape[i], step = tensor->strides[i];
        if (n < 1 || step < 0)
            return kgen_fail(KGEN_ERROR_BUNDLE, ": %.60s has a size below 1 or a stride below 0",
                             name);
        int64_t reach = n - 1;
        fits = fits && kgen_multiply(&reach, step) && kgen_multiply(&step, itemsize) &&
               !__builtin_add_overflow(extent, reach, &extent);
    }
    if (!fits || !kgen_multiply(&extent, itemsize))
        return kgen_fail(KGEN_ERROR_BUNDLE, ": %.60s spans more than %lld bytes, the limit", name,
                         (long long)INT64_MAX);
    tensor->nbytes = (size_t)extent;
    return KGEN_OK;
}

bool kgen_is_packed(const kgen_tensor *tensor)
{
    int64_t step = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->strides[i] != step || !kgen_multiply(&step, tensor->shape[i]))
            return false;
    }
    return true;
}

/* Whether every element has a place of its own: each step leads past all that smaller ones
 * reach. */
static bool is_disjoint(const kgen_tensor *tensor)
{
    bool seen[KGEN_MAX_RANK] = {false};
    int64_t reached = 0;
    for (int round = 0; round < tensor->rank; round++) {
        int least = -1;
        for (int i = 0; i < tensor->rank; i++) {
            if (seen[i])
                continue;
            int64_t step = tensor->strides[i];
            if (least < 0 || step < tensor->strides[least] ||
                (step == tensor->strides[least] && tensor->shape[i] < tensor->shape[least]))
                least = i;
        }
        seen[least] = true;
        if (tensor->shape[least] > 1 && tensor->strides[least] <= reached)
            return false;
        reached += (tensor->shape[least] - 1) * tensor->strides[least];
    }
    return true;
}

/* Whether the shape of a packed tensor is that which its packing gives: batch, panels, steps,
 * width, depth. */
static bool packing_fits(const parameter *of)
{
    const kgen_tensor *packed = &of->tensor, *matrix = &of->unpacked;
    int rank = matrix->rank;
    if (rank < 2 || packed->rank != rank + 2)
        return false;
    const int64_t *last = packed->shape + rank - 2;
    int64_t rows = matrix->shape[rank - 2], columns = matrix->shape[rank - 1];
    int64_t k = of->order.transposed ? columns : rows, n = of->order.transposed ? rows : columns;
    int64_t width = of->order.width, depth = of->order.depth;
    if (width < 1 || depth < 1 || depth > MAX_PACKED_DEPTH || last[2] != width || last[3] != depth)
        return false;
    int64_t sum = 0;
    for (size_t i = 0; i < of->order.num_runs; i++) {
        if (of->order.runs[i] < 1 || of->order.runs[i] > depth - sum)
            return false;
        sum += of->order.runs[i];
    }
    if (of->order.num_runs > 0 ? sum != depth : (depth & (depth - 1)) != 0)
        return false;
    return memcmp(packed->shape, matrix->shape, (size_t)(rank - 2) * sizeof *last) == 0 &&
           kgen_pieces(n, width) <= last[0] && kgen_pieces(k, depth) <= last[1] &&
           kgen_is_packed(packed);
}

static kgen_status check_parameters(const kgen_kernel *of)
{
    size_t outputs = 0;
    for (size_t i = 0; i < of->num_parameters; i++) {
        const parameter *one = &of->parameters[i];
        if (one->tensor.packed && !packing_fits(one))
            return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s has a packing that does not fit its shape",
                             one->tensor.name);
        if (one->tensor.role != KGEN_OUTPUT)
            continue;
        outputs++;
        if (one->tensor.packed || !is_disjoint(&one->tensor))
            return kgen_fail(KGEN_ERROR_BUNDLE, "elements of %.60s overlap, or are packed",
                             one->tensor.name);
    }
    return outputs > 0 ? KGEN_OK : refuse_kernel("it has no outputs");
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t num_slots(const kgen_kernel *of)
{
    return of->num_parameters + of->num_workspaces;
}

static const char *slot_name(const kgen_kernel *of, size_t slot)
{
    return slot < of->num_parameters ? of->parameters[slot].tensor.name
                                     : of->workspaces[slot - of->num_parameters].name;
}

/* The number of a tensor or workspace; -1 for none of this name. */
static int slot_of(const kgen_kernel *of, const char *name)
{
    for (size_t i = 0; i < num_slots(of); i++)
        if (strcmp(slot_name(of, i), name) == 0)
            return (int)i;
    return -1;
}

static kgen_status check_names(const kgen_kernel *of)
{
    if (*of->key == 0)
        return refuse_kernel("it has no key");
    if (of->num_maps > 0)
        return refuse_kernel("it has tensor maps, which CPU code does not take");
    for (size_t i = 0; i < num_slots(of); i++)
        if (slot_of(of, slot_name(of, i)) != (int)i)
            return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s is used as a name twice",
                             slot_name(of, i));
    for (size_t i = 0; i < of->num_workspaces; i++)
        if (of->workspaces[i].nbytes < 1)
            return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s has %lld bytes; a workspace has 1 or more",
                             of->workspaces[i].name, (long long)of->workspaces[i].nbytes);
    return KGEN_OK;
}

/* Constants, and the arguments of calls, which are all other parameters. */
static kgen_status settle_arguments(kgen_kernel *of, arena *memory)
{
    for (size_t i = 0; i < of->num_constants; i++) {
        const constant *one = &of->constants[i];
        int slot = slot_of(of, one->parameter);
        parameter *its = slot < 0 || (size_t)slot >= of->num_parameters ? NULL
                                                                         : &of->parameters[slot];
        if (its == NULL || its->tensor.role != KGEN_INPUT || its->stored != NULL ||
            one->file.nbytes < 0 || (size_t)one->file.nbytes != its->tensor.nbytes)
            return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s does not hold an input %.60s",
                             one->file.file, one->parameter);
        its->stored = &one->file;
    }
    of->arguments = (parameter **)kgen_alloc(memory, of->num_parameters, sizeof *of->arguments);
    if (of->arguments == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < of->num_parameters; i++)
        if (of->parameters[i].stored == NULL)
            of->arguments[of->num_arguments++] = &of->parameters[i];
    return KGEN_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Each argument once, parameters in their own order, which is that of the code. */
static kgen_status check_arguments(const kgen_kernel *of, launch *one)
{
    bool taken[MAX_SLOTS] = {false};
    int last = -1;
    if (one->num_arguments > MAX_POINTERS)
        return kgen_fail(KGEN_ERROR_BUNDLE, "a launch takes %zu tensors; the CPU allows %d",
                         one->num_arguments, MAX_POINTERS);
    for (size_t i = 0; i < one->num_arguments; i++) {
        int slot = one->slots[i] = slot_of(of, one->arguments[i]);
        if (slot < 0)
            return kgen_fail(KGEN_ERROR_BUNDLE, "no argument is called %.60s", one->arguments[i]);
        if (taken[slot])
            return kgen_fail(KGEN_ERROR_BUNDLE, "a launch takes %.60s twice", one->arguments[i]);
        taken[slot] = true;
        if ((size_t)slot >= of->num_parameters)
            continue;
        if (slot < last)
            return kgen_fail(KGEN_ERROR_BUNDLE, "argument %.60s of a launch is in the wrong order",
                             one->arguments[i]);
        last = slot;
    }
    return KGEN_OK;
}

/* Something to run on a CPU, and no more tasks than bytes that they may write. */
static kgen_status check_extents(const kgen_kernel *of, const launch *one)
{
    for (int axis = 0; axis < 3; axis++)
        if (one->grid[axis] < 1 || (axis > 0 && one->grid[axis] != 1) || one->block[axis] != 1 ||
            one->cluster[axis] != 1)
            return kgen_fail(KGEN_ERROR_BUNDLE,
                             "grid=%lldx%lldx%lld, or a block or cluster, is none of a CPU's: "
                             "tasks, 1 or more, along x alone",
                             (long long)one->grid[0], (long long)one->grid[1],
                             (long long)one->grid[2]);
    if (one->shared_memory != 0)
        return refuse_kernel("a launch asks for shared memory, which a CPU has none of");
    uint64_t most = 0;
    for (size_t i = 0; i < one->num_arguments; i++) {
        size_t slot = (size_t)one->slots[i], nbytes = 0;
        if (slot >= of->num_parameters)
            nbytes = (size_t)of->workspaces[slot - of->num_parameters].nbytes;
        else if (of->parameters[slot].tensor.role == KGEN_OUTPUT)
            nbytes = of->parameters[slot].tensor.nbytes;
        most = nbytes > UINT64_MAX - most ? UINT64_MAX : most + nbytes;
    }
    if ((uint64_t)one->grid[0] > most)
        return kgen_fail(KGEN_ERROR_BUNDLE, "grid=%lld has more tasks than the %llu bytes they "
                                            "write",
                         (long long)one->grid[0], (unsigned long long)most);
    return KGEN_OK;
}

/* Elements of the largest output, which tiles are of. */
static int64_t largest_output(const kgen_kernel *of)
{
    int64_t most = 0;
    for (size_t i = 0; i < of->num_parameters; i++) {
        const kgen_tensor *one = &of->parameters[i].tensor;
        int64_t elements = 1;
        for (int axis = 0; axis < one->rank; axis++)
            elements *= one->shape[axis]; /* an output has a place for each: no overflow */
        if (one->role == KGEN_OUTPUT && elements > most)
            most = elements;
    }
    return most;
}

/* That the grid covers the output with a launch's tile. */
static kgen_status check_tile(const kgen_kernel *of, const launch *one, const tiling *is)
{
    static const char none[] = "its tile does not fit its output";
    int64_t elements = 1, pieces = 1;
    if (is->rank == 0 || is->rank != is->num_extent || is->rank != is->num_axes || is->parts < 1)
        return refuse_kernel(none);
    for (size_t i = 0; i < is->rank; i++) {
        bool fits = is->shape[i] > 0 && is->extent[i] > 0 && -1 <= is->axes[i] && is->axes[i] <= 2;
        if (!fits || !kgen_multiply(&elements, is->shape[i]))
            return refuse_kernel(none);
        pieces *= kgen_pieces(is->shape[i], is->extent[i]); /* no more than elements */
    }
    if (elements != largest_output(of))
        return refuse_kernel(none);
    if (is->has_walk) {
        bool fits = is->rank >= 2 && is->group > 0 && 0 <= is->shared && is->shared <= pieces &&
                    is->steps >= 0;
        return fits ? KGEN_OK : refuse_kernel("its walk does not fit its tiles");
    }
    for (size_t i = 0; i < is->rank; i++) {
        int64_t along = kgen_pieces(is->shape[i], is->extent[i]);
        int same = 0;
        for (size_t other = 0; other < is->rank; other++)
            same += is->axes[other] == is->axes[i];
        if (is->axes[i] < 0 || same > 1)
            continue;
        if ((i == 0 && !kgen_multiply(&along, is->parts)) || one->grid[is->axes[i]] != along)
            return kgen_fail(KGEN_ERROR_BUNDLE,
                             "grid=%lld does not match the tiles of dimension %zu",
                             (long long)one->grid[is->axes[i]], i);
    }
    return KGEN_OK;
}

static kgen_status check_launches(const kgen_kernel *of)
{
    bool used[MAX_SLOTS] = {false};
    if (of->num_launches == 0)
        return refuse_kernel("it has no launches");
    for (size_t i = 0; i < of->num_launches; i++) {
        launch *one = &of->launches[i];
        kgen_status status = check_arguments(of, one);
        if (status == KGEN_OK)
            status = check_extents(of, one);
        if (status == KGEN_OK && one->tile != NULL)
            status = check_tile(of, one, one->tile);
        if (status != KGEN_OK)
            return status;
        for (size_t a = 0; a < one->num_arguments; a++)
            used[one->slots[a]] = true;
    }
    for (size_t i = 0; i < num_slots(of); i++)
        if (!used[i])
            return kgen_fail(KGEN_ERROR_BUNDLE, "no launch uses %.60s", slot_name(of, i));
    return KGEN_OK;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool is_features(const json *value)
{
    if (value->kind != JSON_LIST)
        return false;
    for (const json *one = value->as.first; one != NULL; one = one->next)
        if (one->kind != JSON_TEXT || *one->as.text == 0)
            return false;
    return true;
}

static kgen_status check_artifacts(const kgen_kernel *of)
{
    static const char *const others[] = {"cubin", "ptx", "hsaco", "spirv", "spirv-asm", "msl"};
    for (size_t i = 0; i < of->num_artifacts; i++) {
        const artifact *one = &of->artifacts[i];
        for (size_t other = 0; other < sizeof others / sizeof *others; other++)
            if (strcmp(one->format, others[other]) == 0)
                return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s is %s, which is not for cpu",
                                 one->file.file, one->format);
        const json *first = one->requires_ == NULL ? NULL : one->requires_->as.first;
        for (const json *each = first; each != NULL; each = each->next)
            if ((strcmp(each->name, "arch") == 0 && each->kind != JSON_TEXT) ||
                (strcmp(each->name, "features") == 0 && !is_features(each)))
                return kgen_fail(KGEN_ERROR_BUNDLE, "%.60s requires %s, which is not a valid value",
                                 one->file.file, each->name);
    }
    for (size_t i = 0; i < of->num_launches; i++) {
        bool found = false;
        for (size_t a = 0; a < of->num_artifacts; a++)
            found = found || (strcmp(of->artifacts[a].role, "source") != 0 &&
                              strcmp(of->artifacts[a].module, of->launches[i].module) == 0);
        if (!found)
            return kgen_fail(KGEN_ERROR_BUNDLE, "it has no code for its module %.60s",
                             of->launches[i].module);
    }
    return KGEN_OK;
}

/* ---- scatter --------------------------------------------------------------------------------- */

static size_t name_length(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return strspn(text, letters);
}

/* A scatter writes rows of its table and leaves the others, so its output has to lie upon that: the
 * first argument of a formula `scatter(table, ...)` or `name = scatter(table, ...)`. */
static kgen_status settle_table(kgen_kernel *of)
{
    static const char call[] = "scatter(";
    const json *op = kgen_json_member(of->spec, "op");
    const json *expression = kgen_json_member(of->spec, "expression");
    if (op == NULL || op->kind != JSON_TEXT || strcmp(op->as.text, "elementwise") != 0 ||
        expression == NULL || expression->kind != JSON_TEXT)
        return KGEN_OK;
    for (const char *at = expression->as.text; at != NULL;) {
        at += strspn(at, " ;");
        size_t length = name_length(at);
        const char *sign = at + length + strspn(at + length, " ");
        if (length > 0 && *sign == '=')
            at = sign + 1 + strspn(sign + 1, " ");
        if (strncmp(at, call, sizeof call - 1) == 0) {
            at += sizeof call - 1;
            at += strspn(at, " ");
            length = name_length(at);
            for (size_t i = 0; i < of->num_arguments; i++) {
                const char *name = of->arguments[i]->tensor.name;
                if (strlen(name) == length && memcmp(name, at, length) == 0)
                    of->lies_upon = of->arguments[i];
            }
            return of->lies_upon != NULL ? KGEN_OK
                                         : refuse_kernel("the table of its scatter is no input");
        }
        at = strchr(at, ';');
    }
    return KGEN_OK;
}

kgen_status kgen_check_kernel(kgen_kernel *kernel, arena *memory)
{
    kgen_status status = check_names(kernel);
    if (status == KGEN_OK)
        status = check_parameters(kernel);
    if (status == KGEN_OK)
        status = settle_arguments(kernel, memory);
    if (status == KGEN_OK)
        status = check_launches(kernel);
    if (status == KGEN_OK)
        status = check_artifacts(kernel);
    if (status == KGEN_OK)
        status = settle_table(kernel);
    if (status == KGEN_ERROR_BUNDLE)
        kgen_within("; build the bundle again", "%s: ", kernel->name);
    return status;
}
