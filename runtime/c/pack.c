/* Packing of constant matrices into the order that kernels read (docs/reference/bundle-format.md,
 * "Packed operands"). */
#include "internal.h"

#include <string.h>

/* Find the elements of row d = k % depth in one step of a panel: offset of the first column's
 * element, and distance between neighbouring columns, in elements. */
static void place_in_step(const kgen_packing *of, int64_t d, int64_t *start, int64_t *step)
{
    *start = d;
    *step = of->depth;
    int64_t before = 0;
    for (int64_t i = 0; i < of->num_runs; i++) {
        if (d < before + of->runs[i]) {
            *start = before * of->width + (d - before);
            *step = of->runs[i];
            return;
        }
        before += of->runs[i];
    }
}

/* Copy `count` elements; neighbours are `apart` bytes apart in `to` and `distance` bytes apart in
 * `from`. */
static void copy_elements(unsigned char *to, int64_t apart, const unsigned char *from,
                          int64_t distance, int64_t count, size_t itemsize)
{
    if (apart == (int64_t)itemsize && distance == apart) {
        memcpy(to, from, (size_t)count * itemsize);
        return;
    }
#define COPY(n)                                                                                   \
    case n:                                                                                       \
        for (int64_t i = 0; i < count; i++)                                                       \
            memcpy(to + i * apart, from + i * distance, n);                                       \
        break;
    switch (itemsize) {
        COPY(1) COPY(2) COPY(4) COPY(8)
    }
#undef COPY
}

/* Copy `count` groups of `depth` elements: contiguous in `to`; in `from`, one element of each of
 * `depth` rows that are `distance` bytes apart. Return false for sizes that only copy_elements
 * supports. */
static bool interleave(unsigned char *to, const unsigned char *from, int64_t distance,
                       int64_t count, int64_t depth, int64_t itemsize)
{
#define GROUPS(n, d)                                                                              \
    for (int64_t i = 0; i < count; i++)                                                           \
        for (int64_t j = 0; j < d; j++)                                                           \
            memcpy(to + (i * d + j) * n, from + j * distance + i * n, n);
    if (itemsize == 1 && depth == 4)
        GROUPS(1, 4)
    else if (itemsize == 2 && depth == 2)
        GROUPS(2, 2)
    else
        return false;
#undef GROUPS
    return true;
}

/* Pack or unpack one matrix of a batch, panel by panel. */
static void pack_matrix(const kgen_packing *of, unsigned char *matrix, unsigned char *packed,
                        bool unpacks)
{
    int64_t row = of->rank - 2, column = of->rank - 1;
    int64_t axis_k = of->transposed ? column : row, axis_n = of->transposed ? row : column;
    int64_t step_bytes = of->width * of->depth * of->itemsize;
    int64_t k_bytes = of->strides[axis_k] * of->itemsize;
    int64_t n_bytes = of->strides[axis_n] * of->itemsize;
    bool is_plain = !unpacks && of->num_runs == 0 && of->strides[axis_n] == 1;
    for (int64_t first = 0; first < of->shape[axis_n]; first += of->width) {
        int64_t left = of->shape[axis_n] - first, count = left < of->width ? left : of->width;
        for (int64_t k = 0; k < of->shape[axis_k]; k++) {
            int64_t start, apart;
            place_in_step(of, k % of->depth, &start, &apart);
            unsigned char *to = packed + k / of->depth * step_bytes + start * of->itemsize;
            unsigned char *at = matrix + k * k_bytes + first * n_bytes;
            if (is_plain && k % of->depth == 0 && k + of->depth <= of->shape[axis_k] &&
                interleave(to, at, k_bytes, count, of->depth, of->itemsize))
                k += of->depth - 1;
            else if (unpacks)
                copy_elements(at, n_bytes, to, apart * of->itemsize, count, (size_t)of->itemsize);
            else
                copy_elements(to, apart * of->itemsize, at, n_bytes, count, (size_t)of->itemsize);
        }
        packed += of->steps * step_bytes;
    }
}

void kgen_pack_matrices(const kgen_packing *of, void *matrix, void *packed, size_t packed_nbytes,
                        int unpacks)
{
    int64_t at[KGEN_MAX_RANK] = {0}, batch = 1, outer = of->rank - 2;
    for (int64_t i = 0; i < outer; i++)
        batch *= of->shape[i]; /* cannot overflow: the packed tensor has a place for each element */
    size_t each = packed_nbytes / (size_t)batch;
    if (!unpacks)
        memset(packed, 0, packed_nbytes);
    for (int64_t number = 0; number < batch; number++) {
        int64_t offset = 0;
        for (int64_t i = 0; i < outer; i++)
            offset += at[i] * of->strides[i];
        pack_matrix(of, (unsigned char *)matrix + offset * of->itemsize,
                    (unsigned char *)packed + (size_t)number * each, unpacks);
        for (int64_t i = outer - 1; i >= 0 && ++at[i] == of->shape[i]; i--)
            at[i] = 0;
    }
}

kgen_status kgen_pack(const kgen_kernel *kernel, size_t index, const void *matrix,
                      size_t matrix_nbytes, void *packed, size_t packed_nbytes)
{
    if (kernel == NULL)
        return kgen_null_handle("kernel");
    if (index >= kernel->num_arguments || !kernel->arguments[index]->tensor.packed)
        return kgen_argument_error("%s: argument %zu is not packed; build it with --constant b",
                                   kernel->key, index);
    const parameter *of = kernel->arguments[index];
    const kgen_tensor *from = &of->unpacked;
    if (matrix == NULL || packed == NULL || matrix_nbytes < from->nbytes ||
        packed_nbytes < of->tensor.nbytes)
        return kgen_argument_error("%s: %s has %zu bytes, %zu packed; the call gives %zu and %zu",
                                   kernel->key, from->name, from->nbytes, of->tensor.nbytes,
                                   matrix == NULL ? 0 : matrix_nbytes,
                                   packed == NULL ? 0 : packed_nbytes);
    kgen_pack_matrices(&of->order, (void *)matrix /* only read */, packed, of->tensor.nbytes, 0);
    return KGEN_OK;
}
