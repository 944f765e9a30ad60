/* Consistency check of a kernel's manifest: sizes, launches and arguments must agree with each
 * other.
 *
 * Digests ensure that the code is the one that the manifest names. No check covers what the code
 * does with its arguments ("Trust" in docs/reference/bundle-format.md). The spec is not checked
 * here; a consumer that computes from it, such as the reference, compares it with the parameters.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Largest depth of a packed matrix. */
enum { MAX_PACKED_DEPTH = 64 };

/* ---- tensors --------------------------------------------------------------------------------- */

kgen_status kgen_check_tensor(kgen_tensor *tensor, const char *name)
{
    int64_t extent = 1, itemsize = (int64_t)kgen_dtype_size(tensor->dtype);
    bool fits = true, is_empty = false;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t n = tensor->shape[i], step = tensor->strides[i];
        if (n < 0 || step < 0)
            return kgen_bundle_error("%.60s has a size or a stride below 0", name);
        is_empty = is_empty || n == 0;
        int64_t reach = n > 0 ? n - 1 : 0;
        fits = fits && kgen_multiply(&reach, step) && kgen_multiply(&step, itemsize) &&
               !__builtin_add_overflow(extent, reach, &extent);
    }
    if (!fits || !kgen_multiply(&extent, itemsize))
        return kgen_bundle_error("%.60s spans more than %lld bytes, the limit", name,
                                 (long long)INT64_MAX);
    tensor->nbytes = is_empty ? 0 : (size_t)extent;
    return KGEN_OK;
}

/* Check a tensor that a kernel reads or writes: it must have elements, because programs contain
 * no steps without work. */
static kgen_status check_filled(kgen_tensor *tensor, const char *name)
{
    kgen_status status = kgen_check_tensor(tensor, name);
    if (status == KGEN_OK && tensor->nbytes == 0)
        return kgen_bundle_error("%.60s has no elements; the tensors of a kernel have 1 or more",
                                 name);
    return status;
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

/* Return whether no two elements overlap: sorted by size, each stride exceeds the reach of the
 * smaller ones. */
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

/* Return whether the shape of a packed tensor follows from its packing: batch, panels, steps,
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
    for (int64_t i = 0; i < of->order.num_runs; i++) {
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

static kgen_status check_parameters(kgen_kernel *of)
{
    size_t outputs = 0;
    for (size_t i = 0; i < of->num_parameters; i++) {
        parameter *one = &of->parameters[i];
        const char *name = one->tensor.name;
        TRY(check_filled(&one->tensor, name));
        TRY(check_filled(&one->unpacked, name));
        if (one->tensor.packed && !packing_fits(one))
            return kgen_bundle_error("%.60s has a packing that does not fit its shape", name);
        if (one->tensor.role != KGEN_OUTPUT)
            continue;
        outputs++;
        if (one->tensor.packed || !is_disjoint(&one->tensor))
            return kgen_bundle_error("elements of %.60s overlap, or are packed", name);
    }
    return outputs > 0 ? KGEN_OK : kgen_bundle_error("it has no outputs");
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_cpu(const kgen_kernel *of)
{
    return strcmp(of->family, "cpu") == 0;
}

/* Return the number of slots: parameters, then workspaces, then tensor maps. */
static size_t num_slots(const kgen_kernel *of)
{
    return of->num_parameters + of->num_workspaces + of->num_maps;
}

static bool is_map(const kgen_kernel *of, size_t slot)
{
    return slot >= of->num_parameters + of->num_workspaces;
}

static const char *slot_name(const kgen_kernel *of, size_t slot)
{
    if (is_map(of, slot))
        return of->maps[slot - of->num_parameters - of->num_workspaces].name;
    return slot < of->num_parameters ? of->parameters[slot].tensor.name
                                     : of->workspaces[slot - of->num_parameters].name;
}

/* Return the bytes of a parameter or workspace. */
static uint64_t slot_bytes(const kgen_kernel *of, size_t slot)
{
    return slot < of->num_parameters ? of->parameters[slot].tensor.nbytes
                                     : (uint64_t)of->workspaces[slot - of->num_parameters].nbytes;
}

/* Return whether a name is an ASCII identifier: the Python runtime makes it an attribute. */
static bool is_operation(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "_0123456789";
    return *name != 0 && strchr("_0123456789", *name) == NULL &&
           strspn(name, letters) == strlen(name);
}

static kgen_status check_names(const kgen_kernel *of, name_index *slots, arena *memory)
{
    const json *spec_op = kgen_json_member(of->spec, "op");
    const char *in_spec = spec_op == NULL || spec_op->kind != JSON_TEXT ? "" : spec_op->as.text;
    TRY(kgen_index_create(slots, num_slots(of), memory));
    kgen_index_add(slots, of->parameters, of->num_parameters, sizeof *of->parameters,
                   offsetof(parameter, tensor) + offsetof(kgen_tensor, name));
    kgen_index_add(slots, of->workspaces, of->num_workspaces, sizeof *of->workspaces,
                   offsetof(workspace, name));
    kgen_index_add(slots, of->maps, of->num_maps, sizeof *of->maps, offsetof(tensor_map, name));
    const char *twice = kgen_index_sort(slots, true);
    if (twice != NULL)
        return kgen_bundle_error("%.60s is used as a name twice", twice);
    if (*of->key == 0 || !is_operation(of->op))
        return kgen_bundle_error("op='%.60s' or key='%.60s' is not a valid name", of->op, of->key);
    /* Kernels of expressions are called by the names of their functions. */
    if (strcmp(in_spec, of->op) != 0 && strcmp(in_spec, "elementwise") != 0 &&
        strcmp(in_spec, "rowwise") != 0)
        return kgen_bundle_error("op=%.60s is '%.60s' in its spec", of->op, in_spec);
    return KGEN_OK;
}

static kgen_status check_workspaces(const kgen_kernel *of)
{
    for (size_t i = 0; i < of->num_workspaces; i++)
        if (of->workspaces[i].nbytes < 1)
            return kgen_bundle_error("%.60s has %lld bytes; a workspace has 1 or more",
                                     of->workspaces[i].name, (long long)of->workspaces[i].nbytes);
    return KGEN_OK;
}

/* ---- tensor maps ----------------------------------------------------------------------------- */

/* Limits on dimensions of a tensor map and elements of its box (cuTensorMapEncodeTiled). */
enum { MAX_MAP_RANK = 5, MAX_BOX = 256 };

static kgen_status check_map(const kgen_kernel *of, const name_index *slots, tensor_map *one)
{
    kgen_tensor *is = &one->tensor;
    if (!kgen_index_find(slots, one->viewed, &one->slot) || is_map(of, one->slot))
        return kgen_bundle_error("%.60s views %.60s, which does not exist", one->name, one->viewed);
    if (is->rank == 0 || one->num_box != (size_t)is->rank)
        return kgen_bundle_error("%.60s needs one number per dimension", one->name);
    if (is->rank > MAX_MAP_RANK)
        return kgen_bundle_error("%.60s has %d dimensions; a tensor map has up to %d", one->name,
                                 is->rank, MAX_MAP_RANK);
    TRY(check_filled(is, one->name));
    if (is->nbytes > slot_bytes(of, one->slot))
        return kgen_bundle_error("%.60s spans %zu bytes; %.60s has %llu", one->name, is->nbytes,
                                 one->viewed, (unsigned long long)slot_bytes(of, one->slot));
    bool fits = is->strides[is->rank - 1] == 1;
    for (size_t i = 0; i < one->num_box; i++)
        fits = fits && 1 <= one->box[i] && one->box[i] <= MAX_BOX;
    if (!fits)
        return kgen_bundle_error("%.60s has a box or stride that is not supported; boxes are 1 to "
                                 "%d", one->name, MAX_BOX);
    return KGEN_OK;
}

static kgen_status check_maps(const kgen_kernel *of, const name_index *slots)
{
    if (of->num_maps > 0 && is_cpu(of))
        return kgen_bundle_error("it has tensor maps, which CPU code does not support");
    for (size_t i = 0; i < of->num_maps; i++)
        TRY(check_map(of, slots, &of->maps[i]));
    return KGEN_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Find the constants; all other parameters become arguments of calls. */
static kgen_status settle_arguments(kgen_kernel *of, const name_index *slots, arena *memory)
{
    for (size_t i = 0; i < of->num_constants; i++) {
        const constant *one = &of->constants[i];
        size_t slot;
        bool is_one = kgen_index_find(slots, one->parameter, &slot) && slot < of->num_parameters;
        parameter *its = is_one ? &of->parameters[slot] : NULL;
        if (its == NULL || its->tensor.role != KGEN_INPUT || its->stored != NULL ||
            one->file.nbytes < 0 || (uint64_t)one->file.nbytes != its->tensor.nbytes)
            return kgen_bundle_error("%.60s does not hold an input %.60s", one->file.file,
                                     one->parameter);
        its->stored = &one->file;
    }
    ALLOC(of->arguments, memory, of->num_parameters);
    for (size_t i = 0; i < of->num_parameters; i++)
        if (of->parameters[i].stored == NULL)
            of->arguments[of->num_arguments++] = &of->parameters[i];
    return KGEN_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Check that a launch takes each argument once. Parameters, and maps of them, must be in the
 * order of the kernel's parameters, which is the order in the code. */
static kgen_status check_arguments(const kgen_kernel *of, const name_index *slots, launch *one,
                                   bool *taken, arena *memory)
{
    size_t last = 0;
    if (one->num_arguments > MAX_POINTERS && is_cpu(of))
        return kgen_bundle_error("a launch takes %zu tensors; the CPU allows %d",
                                 one->num_arguments, MAX_POINTERS);
    ALLOC(one->slots, memory, one->num_arguments);
    memset(taken, 0, num_slots(of) * sizeof *taken);
    for (size_t i = 0; i < one->num_arguments; i++) {
        const char *name = one->arguments[i];
        if (!kgen_index_find(slots, name, &one->slots[i]))
            return kgen_bundle_error("no argument is called %.60s", name);
        size_t slot = one->slots[i];
        if (taken[slot])
            return kgen_bundle_error("a launch takes %.60s twice", name);
        taken[slot] = true;
        if (is_map(of, slot))
            slot = of->maps[slot - of->num_parameters - of->num_workspaces].slot;
        if (slot >= of->num_parameters)
            continue;
        if (slot < last)
            return kgen_bundle_error("argument %.60s of a launch is in the wrong order", name);
        last = slot;
    }
    return KGEN_OK;
}

/* Check that a CPU launch has no more tasks than bytes that it may write. */
static kgen_status check_tasks(const kgen_kernel *of, const launch *one)
{
    uint64_t most = 0;
    for (size_t i = 0; i < one->num_arguments; i++) {
        size_t slot = one->slots[i];
        bool is_input =
            slot < of->num_parameters && of->parameters[slot].tensor.role != KGEN_OUTPUT;
        uint64_t nbytes = is_input ? 0 : slot_bytes(of, slot);
        most = nbytes > UINT64_MAX - most ? UINT64_MAX : most + nbytes;
    }
    if ((uint64_t)one->grid[0] > most)
        return kgen_bundle_error("grid=(%lld, 1, 1) has more tasks than the %llu bytes they write",
                                 (long long)one->grid[0], (unsigned long long)most);
    return KGEN_OK;
}

/* Check that a launch is not empty, has whole clusters, and has counts that fit 64 bits. The
 * limits of GPUs are checked when a device is chosen, so that only the kernels beyond them are
 * left out. */
static kgen_status check_extents(const kgen_kernel *of, const launch *one)
{
    static const char *const names[] = {"grid", "block", "cluster"};
    const int64_t *extents[] = {one->grid, one->block, one->cluster};
    int64_t threads = 1, groups = 1;
    bool fits = true;
    for (int i = 0; i < 3; i++) {
        const int64_t *is = extents[i];
        if (is[0] < 1 || is[1] < 1 || is[2] < 1)
            return kgen_bundle_error("%s=(%lld, %lld, %lld) is empty; each number must be 1 or "
                                     "more", names[i], (long long)is[0], (long long)is[1],
                                     (long long)is[2]);
    }
    if (one->shared_memory < 0)
        return kgen_bundle_error("%lld bytes of dynamic shared memory; it must be 0 or more",
                                 (long long)one->shared_memory);
    for (int axis = 0; axis < 3; axis++) {
        int64_t along = one->grid[axis];
        fits = fits && kgen_multiply(&along, one->block[axis]) &&
               kgen_multiply(&threads, one->block[axis]) &&
               kgen_multiply(&groups, one->cluster[axis]);
        if (one->grid[axis] % one->cluster[axis] != 0)
            return kgen_bundle_error("%lld workgroups along %c of the grid are not a multiple of "
                                     "the cluster of %lld", (long long)one->grid[axis], "xyz"[axis],
                                     (long long)one->cluster[axis]);
    }
    if (!fits)
        return kgen_bundle_error("a launch has more threads than 64 bits count");
    if (!is_cpu(of))
        return KGEN_OK;
    for (int axis = 1; axis < 3; axis++)
        if (one->grid[axis] != 1)
            return kgen_bundle_error("%lld workgroups along %c of the grid; the CPU allows 1",
                                     (long long)one->grid[axis], "xyz"[axis]);
    if (threads != 1 || groups != 1 || one->shared_memory != 0)
        return kgen_bundle_error("a launch has a block, a cluster or shared memory, which CPU "
                                 "code does not support");
    return check_tasks(of, one);
}

/* Return the number of elements of the largest output, to which tiles refer. */
static int64_t largest_output(const kgen_kernel *of)
{
    int64_t most = 0;
    for (size_t i = 0; i < of->num_parameters; i++) {
        const kgen_tensor *one = &of->parameters[i].tensor;
        int64_t elements = 1;
        for (int axis = 0; axis < one->rank; axis++)
            elements *= one->shape[axis]; /* cannot overflow: no element shares a place */
        if (one->role == KGEN_OUTPUT && elements > most)
            most = elements;
    }
    return most;
}

/* Check that a launch's tiles cover the output. */
static kgen_status check_tile(const kgen_kernel *of, const launch *one, const tiling *is)
{
    static const char none[] = "its tile does not fit its output";
    int64_t elements = 1, pieces = 1;
    if (is->rank == 0 || is->rank != is->num_extent || is->rank != is->num_axes || is->parts < 1)
        return kgen_bundle_error(none);
    for (size_t i = 0; i < is->rank; i++) {
        bool fits = is->shape[i] > 0 && is->extent[i] > 0 && -1 <= is->axes[i] && is->axes[i] <= 2;
        if (!fits || !kgen_multiply(&elements, is->shape[i]))
            return kgen_bundle_error(none);
        pieces *= kgen_pieces(is->shape[i], is->extent[i]); /* not more than elements */
    }
    if (elements != largest_output(of))
        return kgen_bundle_error(none);
    if (is->has_walk) {
        bool fits = is->rank >= 2 && is->group > 0 && 0 <= is->shared && is->shared <= pieces &&
                    is->steps >= 0;
        return fits ? KGEN_OK : kgen_bundle_error("its walk does not fit its tiles");
    }
    for (size_t i = 0; i < is->rank; i++) {
        int64_t along = kgen_pieces(is->shape[i], is->extent[i]);
        int same = 0;
        for (size_t other = 0; other < is->rank; other++)
            same += is->axes[other] == is->axes[i];
        if (is->axes[i] < 0 || same > 1)
            continue;
        /* The grid has whole clusters: workgroups of the last one may have no tile. */
        int64_t cluster = one->cluster[is->axes[i]];
        bool covers = i > 0 || kgen_multiply(&along, is->parts);
        int64_t whole = kgen_pieces(along, cluster);
        covers = covers && kgen_multiply(&whole, cluster) && one->grid[is->axes[i]] == whole;
        if (!covers)
            return kgen_bundle_error("grid=[%lld, %lld, %lld] does not match the tiles of "
                                     "dimension %zu", (long long)one->grid[0],
                                     (long long)one->grid[1], (long long)one->grid[2], i);
    }
    return KGEN_OK;
}

static kgen_status check_launches(const kgen_kernel *of, const name_index *slots, arena *memory)
{
    if (of->num_launches == 0)
        return kgen_bundle_error("it has no launches");
    bool *used, *taken;
    ALLOC(used, memory, num_slots(of));
    ALLOC(taken, memory, num_slots(of));
    for (size_t i = 0; i < of->num_launches; i++) {
        launch *one = &of->launches[i];
        TRY(check_arguments(of, slots, one, taken, memory));
        TRY(check_extents(of, one));
        if (one->tile != NULL)
            TRY(check_tile(of, one, one->tile));
        for (size_t a = 0; a < one->num_arguments; a++)
            used[one->slots[a]] = true;
    }
    for (size_t i = 0; i < of->num_maps; i++)
        used[of->maps[i].slot] = true;
    for (size_t i = 0; i < num_slots(of); i++)
        if (!used[i])
            return kgen_bundle_error("no launch uses %.60s", slot_name(of, i));
    return KGEN_OK;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool are_features(const json *value)
{
    if (value->kind != JSON_LIST)
        return false;
    for (const json *one = value->as.first; one != NULL; one = one->next)
        if (one->kind != JSON_TEXT || *one->as.text == 0)
            return false;
    return true;
}

static bool are_ints(const json *value, json_kind kind)
{
    if (value->kind != kind)
        return false;
    for (const json *one = value->as.first; one != NULL; one = one->next)
        if (one->kind != JSON_INT)
            return false;
    return true;
}

/* Return whether a text is numbers separated by points. */
static bool is_api(const json *value)
{
    if (value->kind != JSON_TEXT)
        return false;
    for (const char *at = value->as.text;; at++) {
        size_t digits = strspn(at, "0123456789");
        at += digits;
        if (digits == 0 || (*at != 0 && *at != '.'))
            return false;
        if (*at == 0)
            return true;
    }
}

/* Return whether a known requirement has a value of the right type. Backends refuse unknown
 * requirements by name. */
static bool is_requirement(const json *one)
{
    if (strcmp(one->name, "arch") == 0)
        return one->kind == JSON_TEXT;
    if (strcmp(one->name, "features") == 0)
        return are_features(one);
    if (strcmp(one->name, "compute_capability") == 0 || strcmp(one->name, "cuda") == 0)
        return are_ints(one, JSON_LIST) && one->count == 2;
    if (strcmp(one->name, "exact") == 0)
        return one->kind == JSON_BOOL;
    if (strcmp(one->name, "api") == 0)
        return is_api(one);
    return strcmp(one->name, "limits") != 0 || are_ints(one, JSON_OBJECT);
}

/* Return whether devices of a family run or read a format; unknown formats are allowed for all. */
static bool is_for(const char *format, const char *family)
{
    static const struct {
        char format[12], families[2][8];
    } formats[] = KGEN_FORMATS;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].format, format) != 0)
            continue;
        for (size_t f = 0; f < 2; f++)
            if (*family != 0 && strcmp(formats[i].families[f], family) == 0)
                return true;
        return false;
    }
    return true;
}

static kgen_status check_artifacts(const kgen_kernel *of)
{
    for (size_t i = 0; i < of->num_launches; i++) {
        bool found = false;
        for (size_t a = 0; a < of->num_artifacts; a++)
            found = found || (strcmp(of->artifacts[a].role, "source") != 0 &&
                              strcmp(of->artifacts[a].module, of->launches[i].module) == 0);
        if (!found)
            return kgen_bundle_error("it has no code for its module %.60s", of->launches[i].module);
    }
    for (size_t i = 0; i < of->num_artifacts; i++) {
        const artifact *one = &of->artifacts[i];
        if (!is_for(one->format, of->family))
            return kgen_bundle_error("%.60s is %s, which is not for %.60s", one->file.file,
                                     one->format, of->family);
        const json *first = one->requires_ == NULL ? NULL : one->requires_->as.first;
        for (const json *each = first; each != NULL; each = each->next)
            if (!is_requirement(each))
                return kgen_bundle_error("%.60s requires %.60s, which has no valid value",
                                         one->file.file, each->name);
    }
    return KGEN_OK;
}

static kgen_status check_parts(kgen_kernel *of, arena *memory)
{
    name_index slots;
    TRY(check_names(of, &slots, memory));
    TRY(check_parameters(of));
    TRY(check_workspaces(of));
    TRY(check_maps(of, &slots));
    TRY(settle_arguments(of, &slots, memory));
    TRY(check_launches(of, &slots, memory));
    TRY(check_artifacts(of));
    kgen_settle_key_limits(of);
    return kgen_settle_table(of);
}

kgen_status kgen_check_kernel(kgen_kernel *kernel, arena *memory)
{
    return kgen_within(check_parts(kernel, memory), "%s: ", kernel->name);
}
