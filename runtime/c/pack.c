/* A constant matrix in the order that a kernel takes it (docs/reference/bundle-format.md, "Packed
 * operands"). */
#include "internal.h"

#include <string.h>

/* Where the elements of k % depth = d lie among those of a panel's columns in one step: the first
 * column's, and how far apart neighbouring columns' are. */
static void place_in_step(const packing *of, int64_t d, int64_t *start, int64_t *step)
{
    *start = d;
    *step = of->depth;
    int64_t before = 0;
    for (size_t i = 0; i < of->num_runs; i++) {
        if (d < before + of->runs[i]) {
            *start = before * of->width + (d - before);
            *step = of->runs[i];
            return;
        }
        before += of->runs[i];
    }
}

/* One matrix of a batch. */
static void pack_matrix(const parameter *of, const unsigned char *matrix, unsigned char *packed)
{
    const kgen_tensor *from = &of->unpacked;
    size_t itemsize = kgen_dtype_size(from->dtype);
    int row = from->rank - 2, column = from->rank - 1;
    int axis_k = of->order.transposed ? column : row, axis_n = of->order.transposed ? row : column;
    int64_t width = of->order.width, depth = of->order.depth;
    int64_t steps = of->tensor.shape[of->tensor.rank - 3];
    for (int64_t k = 0; k < from->shape[axis_k]; k++) {
        int64_t start, apart;
        place_in_step(&of->order, k % depth, &start, &apart);
        for (int64_t n = 0; n < from->shape[axis_n]; n++) {
            int64_t block = (n / width * steps + k / depth) * width * depth;
            int64_t to = block + start + n % width * apart;
            int64_t at = k * from->strides[axis_k] + n * from->strides[axis_n];
            memcpy(packed + (size_t)to * itemsize, matrix + (size_t)at * itemsize, itemsize);
        }
    }
}

kgen_status kgen_pack(const kgen_kernel *kernel, size_t index, const void *matrix,
                      size_t matrix_nbytes, void *packed, size_t packed_nbytes)
{
    if (index >= kernel->num_arguments || !kernel->arguments[index]->tensor.packed)
        return kgen_fail(KGEN_ERROR_ARGUMENT,
                         "%s: argument %zu is not packed; build it with --constant b", kernel->key,
                         index);
    const parameter *of = kernel->arguments[index];
    const kgen_tensor *from = &of->unpacked;
    if (matrix == NULL || packed == NULL || matrix_nbytes < from->nbytes ||
        packed_nbytes < of->tensor.nbytes)
        return kgen_fail(KGEN_ERROR_ARGUMENT,
                         "%s: %s has %zu bytes, %zu packed; the call gives %zu and %zu",
                         kernel->key, from->name, from->nbytes, of->tensor.nbytes,
                         matrix == NULL ? 0 : matrix_nbytes, packed == NULL ? 0 : packed_nbytes);
    size_t itemsize = kgen_dtype_size(from->dtype), each = of->tensor.nbytes;
    int64_t at[KGEN_MAX_RANK] = {0}, batch = 1;
    int outer = from->rank - 2;
    for (int i = 0; i < outer; i++)
        batch *= from->shape[i]; /* the packed tensor has a place for each: no overflow */
    each /= (size_t)batch;
    memset(packed, 0, of->tensor.nbytes);
    for (int64_t number = 0; number < batch; number++) {
        int64_t offset = 0;
        for (int i = 0; i < outer; i++)
            offset += at[i] * from->strides[i];
        pack_matrix(of, (const unsigned char *)matrix + (size_t)offset * itemsize,
                    (unsigned char *)packed + (size_t)number * each);
        for (int i = outer - 1; i >= 0 && ++at[i] == from->shape[i]; i--)
            at[i] = 0;
    }
    return KGEN_OK;
}
