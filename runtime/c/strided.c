/* Strided arrays: copied into the layout of a tensor before a kernel reads them. */
#include "internal.h"

#include <string.h>

/* Copy dimension `axis` and all inner ones. */
static void copy_axis(const kgen_tensor *of, int axis, const unsigned char *from,
                      const int64_t *strides, unsigned char *into)
{
    size_t itemsize = kgen_dtype_size(of->dtype);
    if (axis == of->rank) {
        memcpy(into, from, itemsize);
        return;
    }
    if (axis == of->rank - 1 && strides[axis] == 1 && of->strides[axis] == 1) {
        memcpy(into, from, (size_t)of->shape[axis] * itemsize);
        return;
    }
    int64_t step = strides[axis] * (int64_t)itemsize, own = of->strides[axis] * (int64_t)itemsize;
    for (int64_t i = 0; i < of->shape[axis]; i++)
        copy_axis(of, axis + 1, from + i * step, strides, into + i * own);
}

void kgen_copy_strided(const kgen_tensor *tensor, const void *data, const int64_t *strides,
                       void *into)
{
    copy_axis(tensor, 0, (const unsigned char *)data, strides == NULL ? tensor->strides : strides,
              (unsigned char *)into);
}

/* Return whether the strides select the same elements as the tensor's own strides. */
static bool are_own(const kgen_tensor *of, const int64_t *strides)
{
    for (int i = 0; strides != NULL && i < of->rank; i++)
        if (of->shape[i] > 1 && strides[i] != of->strides[i])
            return false;
    return true;
}

/* Set the pointer of one argument: to its data, or to a copy in the kernel's layout. */
static kgen_status settle_array(const kgen_kernel *of, const kgen_tensor *tensor,
                                const kgen_array *one, arena *memory, void **pointer)
{
    bool owns = are_own(tensor, one->strides);
    bool is_aligned = (uintptr_t)one->data % kgen_dtype_size(tensor->dtype) == 0;
    *pointer = one->data;
    if (one->data == NULL || (owns && (is_aligned || tensor->role == KGEN_OUTPUT)))
        return KGEN_OK; /* kgen_run_pointers checks the pointer */
    if (tensor->role == KGEN_OUTPUT || tensor->packed)
        return kgen_argument_error("%s: %s has other strides than the kernel %s; pass NULL as its "
                                   "strides", of->key, tensor->name,
                                   tensor->packed ? "reads" : "writes");
    *pointer = kgen_alloc_tensor(memory, tensor->nbytes);
    if (*pointer == NULL)
        return KGEN_ERROR_OUT_OF_MEMORY;
    kgen_copy_strided(tensor, one->data, one->strides, *pointer);
    return KGEN_OK;
}

kgen_status kgen_run_strided(kgen_kernel *kernel, const kgen_array *arguments, size_t count)
{
    void *pointers[KGEN_MOST_TENSORS] = {NULL};
    arena copies = {NULL, NULL, 0};
    kgen_status status = KGEN_OK;
    if (kernel == NULL || arguments == NULL || count != kernel->num_arguments)
        return kgen_run_pointers(kernel, arguments == NULL ? NULL : pointers, count);
    for (size_t i = 0; i < count && status == KGEN_OK; i++)
        status = settle_array(kernel, kgen_argument(kernel, i), &arguments[i], &copies,
                              &pointers[i]);
    if (status == KGEN_OK)
        status = kgen_run_pointers(kernel, pointers, count);
    kgen_free_all(&copies);
    return status;
}
