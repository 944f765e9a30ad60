/* In-place outputs: finds the inputs whose memory a kernel's output may reuse.
 *
 * The table of a scatter always shares the output's memory. Another input may share it if it has
 * the shape and the strides of the output, and if the kernel reads each of its elements for the
 * last time when it writes that element. Such inputs are operands of element-wise expressions and
 * of epilogues, and rows of a row-wise operation that reduces the innermost axes. */
#include "internal.h"

#include <string.h>

static size_t name_length(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return strspn(text, letters);
}

static const char *text_of(const json *object, const char *name)
{
    const json *found = kgen_json_member(object, name);
    return found == NULL || found->kind != JSON_TEXT ? "" : found->as.text;
}

static bool is_word(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* ---- scatter --------------------------------------------------------------------------------- */

kgen_status kgen_settle_table(kgen_kernel *of)
{
    /* A formula `scatter(table, ...)` or `name = scatter(table, ...)`. */
    static const char call[] = "scatter(";
    if (strcmp(text_of(of->spec, "op"), "elementwise") != 0)
        return KGEN_OK;
    for (const char *at = text_of(of->spec, "expression"); at != NULL;) {
        at += strspn(at, " ;");
        size_t length = name_length(at);
        const char *sign = at + length + strspn(at + length, " ");
        if (length > 0 && *sign == '=')
            at = sign + 1 + strspn(sign + 1, " ");
        if (strncmp(at, call, sizeof call - 1) == 0) {
            at += sizeof call - 1;
            at += strspn(at, " ");
            length = name_length(at);
            for (size_t i = 0; i < of->num_arguments; i++)
                if (is_word(of->arguments[i]->tensor.name, at, length))
                    of->overwritten_table = of->arguments[i];
            return of->overwritten_table != NULL
                       ? KGEN_OK
                       : kgen_bundle_error("the table of its scatter is not an input");
        }
        at = strchr(at, ';');
    }
    return KGEN_OK;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Return whether a function is a view, which reads elements other than the one that is written. */
static bool is_view(const char *name, size_t length)
{
    static const char *const views[] = {"permute", "transpose", "expand", "slice",
                                        "pad",     "concat",    "gather", "scatter"};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (is_word(views[i], name, length))
            return true;
    return false;
}

/* Unmark the inputs that views of an expression read: no output may reuse their memory. */
static void leave_viewed(kgen_kernel *of, const char *expression)
{
    size_t level = 0, view = 0; /* bracket level inside the outermost view; 0 outside of views */
    for (const char *at = expression; *at != 0;) {
        size_t length = name_length(at);
        if (length == 0) {
            level += *at == '(';
            if (*at == ')' && level > 0) {
                view = view == level ? 0 : view;
                level--;
            }
            at++;
            continue;
        }
        const char *behind = at + length + strspn(at + length, " ");
        if (*behind == '(') {
            if (view == 0 && is_view(at, length))
                view = level + 1;
        } else if (view > 0) {
            for (size_t i = 0; i < of->num_parameters; i++)
                if (is_word(of->parameters[i].tensor.name, at, length))
                    of->in_place[i] = false;
        }
        at += length;
    }
}

static bool is_laid_alike(const parameter *a, const parameter *b)
{
    return !a->tensor.packed && !b->tensor.packed && kgen_is_alike(&a->tensor, &b->tensor);
}

/* Return whether the reduced axes of a row-wise operation are the last ones. Old specs have their
 * number, counted from the last axis. */
static bool reduces_last(const json *axes, int rank)
{
    bool seen[KGEN_MAX_RANK] = {false};
    if (axes == NULL || axes->kind != JSON_LIST || axes->count > (size_t)rank)
        return axes != NULL && axes->kind == JSON_INT;
    for (const json *one = axes->as.first; one != NULL; one = one->next) {
        if (one->kind != JSON_INT || one->as.integer < rank - (int64_t)axes->count ||
            one->as.integer >= rank || seen[one->as.integer])
            return false;
        seen[one->as.integer] = true;
    }
    return true;
}

static bool is_truthy(const json *value)
{
    if (value == NULL || value->kind == JSON_NULL)
        return false;
    if (value->kind == JSON_INT || value->kind == JSON_BOOL)
        return value->as.integer != 0;
    return value->kind != JSON_TEXT || *value->as.text != 0;
}

kgen_status kgen_settle_in_place(kgen_kernel *of, arena *memory)
{
    if (of->in_place != NULL)
        return KGEN_OK;
    ALLOC(of->in_place, memory, of->num_parameters);
    if (of->overwritten_table != NULL) {
        of->in_place[of->overwritten_table - of->parameters] = true;
        return KGEN_OK;
    }
    const parameter *out = NULL;
    for (size_t i = 0; i < of->num_parameters; i++) {
        if (of->parameters[i].tensor.role != KGEN_OUTPUT)
            continue;
        if (out != NULL)
            return KGEN_OK;
        out = &of->parameters[i];
    }
    /* A later launch may read what an earlier one wrote. With nontemporal stores or AMX, vectors
     * or tiles of the output may overlap, so that some elements are computed twice. */
    const char *op = text_of(of->spec, "op");
    if (of->num_launches != 1 || is_truthy(kgen_json_member(of->schedule, "nontemporal")) ||
        strcmp(text_of(of->schedule, "mainloop"), "amx") == 0)
        return KGEN_OK;
    if (strcmp(op, "rowwise") == 0 &&
        !reduces_last(kgen_json_member(of->spec, "axes"), out->tensor.rank))
        return KGEN_OK;
    bool is_product = strcmp(op, "matmul") == 0 || strcmp(op, "conv2d") == 0;
    if (!is_product && strcmp(op, "elementwise") != 0 && strcmp(op, "rowwise") != 0 &&
        strcmp(op, "relu") != 0 && strcmp(op, "softmax") != 0) /* operations of old bundles */
        return KGEN_OK;
    for (size_t i = 0; i < of->num_parameters; i++) {
        const parameter *one = &of->parameters[i];
        bool is_factor = is_product && (strcmp(one->tensor.name, "a") == 0 ||
                                        strcmp(one->tensor.name, "b") == 0);
        of->in_place[i] = one != out && one->stored == NULL && !is_factor &&
                          is_laid_alike(one, out);
    }
    if (!is_product)
        leave_viewed(of, text_of(of->spec, "expression"));
    return KGEN_OK;
}
