/* Race check of a program: a step must wait (`after`) for every earlier step whose results it
 * reads or overwrites, so that any order that a runtime derives from `after` is correct.
 *
 * Accesses are found in trees over their byte ranges, so that the cost of a step is the number of
 * overlapping accesses. A budget in proportion to the program's accesses bounds all comparisons. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Budget of comparisons: EACH per access plus ANY per program. A test of two strided tensors
 * costs STRIDED comparisons; after WORK steps it gives up and reports an overlap. */
enum { EACH = 64, ANY = 65536, STRIDED = 64, WORK = 1000 };

/* ---- accesses -------------------------------------------------------------------------------- */

/* Access of a step to a tensor in memory that steps write. */
typedef struct step_access {
    size_t step;
    const value *is;
    const parameter *of; /* tensor as the kernel declares it */
    uint64_t start, end;
    bool writes, is_whole; /* is_whole: it touches every byte from its start to its end */
} step_access;

/* Return whether a tensor touches every byte of its range. */
static bool is_whole(const kgen_tensor *tensor)
{
    int64_t nbytes = (int64_t)kgen_dtype_size(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++)
        if (!kgen_multiply(&nbytes, tensor->shape[i]))
            return false;
    return (size_t)nbytes == tensor->nbytes;
}

/* Compare the memories of two accesses. */
static int by_memory(const step_access *a, const step_access *b)
{
    size_t one = a->is->kind == IN_ARENA ? 0 : a->is->number;
    size_t other = b->is->kind == IN_ARENA ? 0 : b->is->number;
    if (a->is->kind != b->is->kind)
        return a->is->kind < b->is->kind ? -1 : 1;
    return (one > other) - (one < other);
}

static int by_span(const void *a, const void *b)
{
    const step_access *one = *(step_access *const *)a, *other = *(step_access *const *)b;
    int order = by_memory(one, other);
    if (order == 0)
        order = (one->start > other->start) - (one->start < other->start);
    if (order == 0)
        order = (one->end > other->end) - (one->end < other->end);
    return order != 0 ? order : (one > other) - (one < other);
}

/* ---- tensors with gaps ----------------------------------------------------------------------- */

/* Distances between bytes of two tensors: all sums of n_i x steps_i, least_i <= n_i <= most_i. */
typedef struct distances {
    int count;
    int64_t steps[2 * KGEN_MAX_RANK + 2], least[2 * KGEN_MAX_RANK + 2],
        most[2 * KGEN_MAX_RANK + 2];
    int work;
} distances;

static void add_steps(distances *into, int64_t step, int64_t least, int64_t most)
{
    int i = 0;
    if (step == 0 || (least == 0 && most == 0))
        return;
    while (i < into->count && into->steps[i] > step)
        i++;
    if (i < into->count && into->steps[i] == step) {
        into->least[i] += least;
        into->most[i] += most;
        return;
    }
    for (int k = into->count++; k > i; k--) {
        into->steps[k] = into->steps[k - 1];
        into->least[k] = into->least[k - 1];
        into->most[k] = into->most[k - 1];
    }
    into->steps[i] = step;
    into->least[i] = least;
    into->most[i] = most;
}

/* Return whether the steps from `i` on can sum to the distance; true if that takes too much work.
 */
static bool reaches(distances *of, int i, int64_t distance)
{
    if (--of->work < 0)
        return true;
    if (i == of->count)
        return distance == 0;
    int64_t below = 0, above = 0; /* range of the sums of later, smaller steps */
    for (int k = i + 1; k < of->count; k++) {
        below += of->least[k] * of->steps[k];
        above += of->most[k] * of->steps[k];
    }
    int64_t step = of->steps[i];
    /* Bounds of n for which the later steps can reach distance - n x step. */
    int64_t first = distance - above, last = distance - below;
    first = first >= 0 ? (first + step - 1) / step : -(-first / step);
    last = last >= 0 ? last / step : -((-last + step - 1) / step);
    first = first > of->least[i] ? first : of->least[i];
    last = last < of->most[i] ? last : of->most[i];
    for (int64_t n = first; n <= last; n++)
        if (reaches(of, i + 1, distance - n * step))
            return true;
    return false;
}

/* Return whether two accesses with overlapping ranges touch the same byte. Distances do not
 * exceed the sum of both ranges. */
static bool share_an_element(const step_access *a, const step_access *b)
{
    const step_access *both[] = {a, b};
    distances of;
    if ((a->end - a->start) + (b->end - b->start) > INT64_MAX)
        return true;
    memset(&of, 0, sizeof of);
    of.work = WORK;
    for (int side = 0; side < 2; side++) {
        const kgen_tensor *is = &both[side]->of->tensor;
        int64_t itemsize = (int64_t)kgen_dtype_size(is->dtype), sign = side == 0 ? 1 : -1;
        for (int i = 0; i < is->rank; i++) {
            int64_t reach = sign * (is->shape[i] - 1);
            add_steps(&of, is->strides[i] * itemsize, reach < 0 ? reach : 0,
                      reach > 0 ? reach : 0);
        }
        int64_t bytes = sign * (itemsize - 1);
        add_steps(&of, 1, bytes < 0 ? bytes : 0, bytes > 0 ? bytes : 0);
    }
    return reaches(&of, 0, (int64_t)(b->start - a->start));
}

static bool take(uint64_t *budget, uint64_t comparisons)
{
    bool left = *budget >= comparisons;
    *budget = left ? *budget - comparisons : 0;
    return left;
}

/* Return whether two accesses to one memory touch the same byte; false, with `spent` set, if the
 * budget is used up. */
static bool meet(const step_access *a, const step_access *b, uint64_t *budget, bool *spent)
{
    *spent = *spent || !take(budget, 1);
    if (*spent || a->end <= b->start || b->end <= a->start)
        return false;
    if (a->is_whole && b->is_whole)
        return true;
    *spent = !take(budget, STRIDED);
    return !*spent && share_an_element(a, b);
}

/* ---- trees of spans -------------------------------------------------------------------------- */

/* Accesses of the program, sorted by memory and byte range. The leaves of each tree are accesses;
 * a node holds the largest end of the accesses below it that are entered in the tree. */
typedef struct spans {
    step_access **sorted;
    size_t count, leaves;
    uint64_t *ends[2]; /* trees of reads and of writes */
} spans;

static void set_end(spans *of, bool writes, size_t leaf, uint64_t end)
{
    uint64_t *ends = of->ends[writes];
    size_t node = of->leaves + leaf;
    for (ends[node] = end; node > 1;) {
        node /= 2;
        ends[node] = ends[2 * node] > ends[2 * node + 1] ? ends[2 * node] : ends[2 * node + 1];
    }
}

/* Return the first leaf after the given memory's accesses that start below `start`. */
static size_t first_from(const spans *of, const step_access *one, uint64_t start)
{
    size_t low = 0, high = of->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const step_access *other = of->sorted[middle];
        int order = by_memory(other, one);
        if (order < 0 || (order == 0 && other->start < start))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Return the first leaf of [first, behind) whose access is entered and ends after `start`;
 * `behind` if there is none. */
static size_t next_overlap(const spans *of, bool writes, size_t first, size_t behind,
                           uint64_t start)
{
    const uint64_t *ends = of->ends[writes];
    size_t node = of->leaves + first;
    if (first >= behind)
        return behind;
    while (ends[node] <= start) {
        while (node % 2 == 1) { /* a right child: continue with the subtree to the right */
            node /= 2;
            if (node <= 1)
                return behind;
        }
        node++;
    }
    while (node < of->leaves)
        node = ends[2 * node] > start ? 2 * node : 2 * node + 1;
    return node - of->leaves < behind ? node - of->leaves : behind;
}

/* ---- ancestors of a step --------------------------------------------------------------------- */

/* Set of step numbers: all below `full`, and `full` + i for each bit i that is set. Most steps
 * wait for nearly all earlier ones, so that few bits are needed. */
typedef struct ancestors {
    size_t full, num_words;
    uint64_t *words;
} ancestors;

static bool is_before(const ancestors *of, size_t step)
{
    if (step < of->full)
        return true;
    size_t bit = step - of->full;
    return bit / 64 < of->num_words && (of->words[bit / 64] >> bit % 64 & 1) == 1;
}

/* Compute the ancestors of a step: the steps of its `after`, and their ancestors. `room` has
 * space for one bit per step. */
static kgen_status find_ancestors(ancestors *into, const step *of, const ancestors *earlier,
                                  uint64_t *room, arena *memory)
{
    size_t full = 0, end = 0;
    for (size_t i = 0; i < of->num_after; i++) {
        const ancestors *one = &earlier[of->after[i]];
        size_t last = one->full + 64 * one->num_words, own = (size_t)of->after[i] + 1;
        full = one->full > full ? one->full : full;
        end = last > end ? last : end;
        end = own > end ? own : end;
    }
    size_t base = full / 64, count = end > full ? end / 64 + 1 - base : 0;
    memset(room, 0, count * sizeof *room);
    for (size_t i = 0; i < of->num_after; i++) {
        const ancestors *one = &earlier[of->after[i]];
        size_t own = (size_t)of->after[i];
        if (own >= 64 * base)
            room[own / 64 - base] |= (uint64_t)1 << own % 64;
        for (size_t w = 0; w < one->num_words; w++) {
            size_t at = one->full + 64 * w, word = at / 64;
            if (word >= base)
                room[word - base] |= one->words[w] << at % 64;
            if (at % 64 != 0 && word + 1 >= base && word + 1 - base < count)
                room[word + 1 - base] |= one->words[w] >> (64 - at % 64);
        }
    }
    for (size_t step = 64 * base; step < full; step++)
        room[step / 64 - base] |= (uint64_t)1 << step % 64;
    while (full < end && (room[full / 64 - base] >> full % 64 & 1) == 1)
        full++;
    size_t left = full >= end ? 0 : (end - full + 63) / 64;
    into->full = full;
    ALLOC(into->words, memory, left);
    for (size_t w = 0; w < left; w++) {
        size_t at = full + 64 * w, word = at / 64 - base;
        into->words[w] = room[word] >> at % 64;
        if (at % 64 != 0 && word + 1 < count)
            into->words[w] |= room[word + 1] << (64 - at % 64);
    }
    while (left > 0 && into->words[left - 1] == 0)
        left--;
    into->num_words = left;
    return KGEN_OK;
}

/* ---- check ----------------------------------------------------------------------------------- */

typedef struct order {
    const kgen_program *of;
    step_access *all;       /* accesses of all steps, in order */
    size_t *leaves;    /* by access: its leaf */
    spans tree;
    ancestors *before; /* by step */
    uint64_t budget, most;
    bool spent;
    bool *written; /* whether a step has written each output, then each state */
    arena *memory;
} order;

static kgen_status in_step(const order *of, size_t number, kgen_status status)
{
    return kgen_within(status, "step %zu (%.120s) ", number, of->of->steps[number].kernel_key);
}

static kgen_status too_many(const order *of)
{
    return kgen_bundle_error("its steps share memory more than %llu times, the limit",
                             (unsigned long long)of->most);
}

static kgen_status find_accesses(order *of, size_t *starts)
{
    size_t bindings = 0, count = 0;
    for (size_t i = 0; i < of->of->num_steps; i++)
        bindings += of->of->steps[i].bindings->count;
    ALLOC(of->all, of->memory, bindings);
    ALLOC(of->leaves, of->memory, bindings);
    ALLOC(of->tree.sorted, of->memory, bindings);
    of->budget = of->most = ANY + (uint64_t)EACH * bindings;
    for (size_t i = 0; i < of->of->num_steps; i++) {
        const step *one = &of->of->steps[i];
        starts[i] = count;
        for (size_t slot = 0; slot < one->kernel->num_parameters; slot++) {
            const parameter *param = &one->kernel->parameters[slot];
            const value *is = one->values[slot].is;
            uint64_t start = (uint64_t)one->values[slot].offset;
            if (is == NULL || !kgen_may_be_written(is))
                continue;
            step_access *made = &of->all[count];
            of->tree.sorted[count++] = made;
            *made = (step_access){i, is, param, start, start + param->tensor.nbytes,
                             param->tensor.role == KGEN_OUTPUT, is_whole(&param->tensor)};
        }
    }
    starts[of->of->num_steps] = count;
    qsort(of->tree.sorted, count, sizeof *of->tree.sorted, by_span);
    of->tree.count = count;
    for (size_t i = 0; i < count; i++)
        of->leaves[of->tree.sorted[i] - of->all] = i;
    for (of->tree.leaves = 1; of->tree.leaves < count;)
        of->tree.leaves *= 2;
    for (int i = 0; i < 2; i++) {
        ALLOC(of->tree.ends[i], of->memory, 2 * of->tree.leaves);
    }
    return KGEN_OK;
}

/* Check that a step waits for all earlier accesses that conflict with one of its own: both touch
 * the same byte, and one of them writes it. Accesses that a later one has overwritten completely
 * are not entered any more: a step that waits for the later one waits for both. */
static kgen_status check_conflicts(order *of, const step_access *one)
{
    const spans *tree = &of->tree;
    size_t behind = first_from(tree, one, one->end), low = first_from(tree, one, 0);
    bool found = false;
    for (int writes = 1; writes >= (one->writes ? 0 : 1); writes--)
        for (size_t leaf = low;; leaf++) {
            leaf = next_overlap(tree, writes, leaf, behind, one->start);
            if (leaf >= behind)
                break;
            const step_access *other = tree->sorted[leaf];
            if (!meet(one, other, &of->budget, &of->spent)) {
                if (of->spent)
                    return too_many(of);
                continue;
            }
            found = true;
            if (is_before(&of->before[one->step], other->step))
                continue;
            return in_step(
                of, one->step,
                kgen_bundle_error("%s %.60s and step %zu %s %.60s, at the same bytes; `after` "
                                  "must name step %zu", one->writes ? "writes" : "reads",
                                  one->is->tensor.name, other->step,
                                  other->writes ? "writes" : "reads", other->is->tensor.name,
                                  other->step));
        }
    if (one->writes && one->is->kind == IN_OUTPUT)
        of->written[one->is->number] = true;
    if (one->writes && one->is->kind == IN_STATE)
        of->written[of->of->num_outputs + one->is->number] = true;
    if (one->writes || found || one->is->kind == IN_STATE)
        return KGEN_OK;
    return in_step(of, one->step, kgen_bundle_error("reads %.60s, which no earlier step writes",
                                                    one->is->tensor.name));
}

/* Check that the accesses of one step do not overlap one that writes, unless the kernel computes
 * the output in place. `first` to `last` are the accesses of a step, sorted by range. */
static kgen_status check_apart(order *of, step_access *const *first, step_access *const *last)
{
    for (step_access *const *a = first; a < last; a++)
        for (step_access *const *b = a + 1;
             b < last && by_memory(*a, *b) == 0 && (*b)->start < (*a)->end; b++) {
            if (!(*a)->writes && !(*b)->writes)
                continue;
            if (!meet(*a, *b, &of->budget, &of->spent)) {
                if (of->spent)
                    return too_many(of);
                continue;
            }
            const step_access *read = (*a)->writes ? *b : *a, *written = (*a)->writes ? *a : *b;
            kgen_kernel *kernel = of->of->steps[read->step].kernel;
            if (kgen_settle_in_place(kernel, of->memory) != KGEN_OK)
                return KGEN_ERROR_OUT_OF_MEMORY;
            if (!read->writes && read->start == written->start &&
                kernel->in_place[read->of - kernel->parameters])
                continue;
            return in_step(of, read->step,
                           kgen_bundle_error("takes %.60s and %.60s, which overlap in memory",
                                             read->is->tensor.name, written->is->tensor.name));
        }
    return KGEN_OK;
}

/* Enter an access in its tree, and remove accesses of other steps that it overwrites completely. */
static void enter(order *of, const step_access *one)
{
    spans *tree = &of->tree;
    if (one->writes && one->is_whole) {
        size_t first = first_from(tree, one, one->start), behind = first_from(tree, one, one->end);
        for (int writes = 0; writes < 2; writes++)
            for (size_t leaf = first;; leaf++) {
                leaf = next_overlap(tree, writes, leaf, behind, one->start);
                if (leaf >= behind)
                    break;
                const step_access *other = tree->sorted[leaf];
                if (other->end <= one->end && other->step != one->step)
                    set_end(tree, writes, leaf, 0);
            }
    }
    set_end(tree, one->writes, of->leaves[one - of->all], one->end);
}

static kgen_status order_step(order *of, size_t number, size_t start, size_t end, uint64_t *room,
                              step_access **sorted)
{
    TRY(find_ancestors(&of->before[number], &of->of->steps[number], of->before, room, of->memory));
    for (size_t i = start; i < end; i++)
        TRY(check_conflicts(of, &of->all[i]));
    for (size_t i = start; i < end; i++)
        sorted[i - start] = &of->all[i];
    qsort(sorted, end - start, sizeof *sorted, by_span);
    TRY(check_apart(of, sorted, sorted + (end - start)));
    for (size_t i = start; i < end; i++)
        enter(of, &of->all[i]);
    return KGEN_OK;
}

kgen_status kgen_check_order(const kgen_program *program, arena *memory)
{
    order of;
    memset(&of, 0, sizeof of);
    of.of = program;
    of.memory = memory;
    size_t count = program->num_steps, words = count / 64 + 3;
    size_t *starts;
    ALLOC(starts, memory, count + 1);
    uint64_t *room;
    ALLOC(room, memory, words);
    step_access **sorted;
    ALLOC(sorted, memory, KGEN_MOST_TENSORS);
    ALLOC(of.before, memory, count);
    ALLOC(of.written, memory, program->num_outputs + program->num_states);
    TRY(find_accesses(&of, starts));
    for (size_t i = 0; i < count; i++)
        TRY(order_step(&of, i, starts[i], starts[i + 1], room, sorted));
    for (size_t i = 0; i < program->num_outputs; i++)
        if (!of.written[i] && program->outputs[i].tensor.nbytes > 0)
            return kgen_bundle_error("no step writes output %.60s",
                                     program->outputs[i].tensor.name);
    for (size_t i = 0; i < program->num_states; i++)
        if (!of.written[program->num_outputs + i])
            return kgen_bundle_error("no step writes state %.60s", program->states[i].name);
    return KGEN_OK;
}
