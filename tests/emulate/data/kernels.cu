// Small CUDA kernels whose PTX, as nvcc makes it, the emulator must run:
//   nvcc -arch=sm_80 -ptx kernels.cu -o kernels.ptx
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

// out = a b with 16 x 16 tiles in shared memory; any m, n, k.
extern "C" __global__ void tiled_matmul(const float *a, const float *b, float *out, int m, int n, int k)
{
    __shared__ float a_tile[16][16], b_tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k0 = 0; k0 < k; k0 += 16) {
        a_tile[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0.f;
        b_tile[y][x] = k0 + y < k && column < n ? b[(k0 + y) * n + column] : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && column < n)
        out[row * n + column] = sum;
}

// out = a b^T on tensor cores through shared memory filled by asynchronous copies, two stages.
extern "C" __global__ void tensor_matmul(const __half *a, const __half *b, float *out, int n, int k)
{
    using namespace nvcuda;
    __shared__ __align__(16) __half tiles[2][2][32][24];
    int thread = threadIdx.x, warp = thread / 32;
    int m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
    int which = thread / 64, row = thread % 64 / 2, part = thread % 2 * 8;
    const __half *from = (which ? b + (size_t)(n0 + row) * k : a + (size_t)(m0 + row) * k) + part;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.f);
    __pipeline_memcpy_async(&tiles[0][which][row][part], from, 16);
    __pipeline_commit();
    for (int k0 = 0, stage = 0; k0 < k; k0 += 16, stage ^= 1) {
        if (k0 + 16 < k)
            __pipeline_memcpy_async(&tiles[stage ^ 1][which][row][part], from + k0 + 16, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
        wmma::load_matrix_sync(left, &tiles[stage][0][warp / 2 * 16][0], 24);
        wmma::load_matrix_sync(right, &tiles[stage][1][warp % 2 * 16][0], 24);
        wmma::mma_sync(sum, left, right, sum);
        __syncthreads();
    }
    float *to = out + (size_t)(m0 + warp / 2 * 16) * n + n0 + warp % 2 * 16;
    wmma::store_matrix_sync(to, sum, n, wmma::mem_row_major);
}

// Rows of a softmax: shuffles within warps, shared memory between them.
extern "C" __global__ void softmax(const float *in, __nv_bfloat16 *out, int columns)
{
    __shared__ float partial[32];
    const float *row = in + (size_t)blockIdx.x * columns;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        most = fmaxf(most, row[i]);
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (lane == 0)
        partial[warp] = most;
    __syncthreads();
    most = partial[lane % warps];
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(row[i] - most);
    for (int step = 16; step; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < warps ? partial[lane] : 0.f;
        for (int step = 16; step; step /= 2)
            sum += __shfl_down_sync(~0u, sum, step);
        if (lane == 0)
            partial[0] = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[(size_t)blockIdx.x * columns + i] = __float2bfloat16(expf(row[i] - most) / partial[0]);
}

// Counts of the values below 16, with one counter array per block.
extern "C" __global__ void histogram(const unsigned *in, unsigned *counts, int size)
{
    __shared__ unsigned own[16];
    if (threadIdx.x < 16)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
        if (in[i] < 16)
            atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 16)
        atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

// Steps until 1 in the 3 n + 1 problem: a loop of another length in every lane.
extern "C" __global__ void collatz(const unsigned *in, int *steps, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    unsigned long long n = in[i];
    int count = 0;
    while (n != 1) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        count++;
    }
    steps[i] = count;
}

// The five numbers around the middle of nine, through an array indexed at run time (local memory).
extern "C" __global__ void medians(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int values[9];
    for (int j = 0; j < 9; j++) {
        int value = in[9 * i + j], at = j;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
    for (int j = 0; j < 5; j++)
        out[5 * i + j] = values[2 + j];
}

// Functions with several cases, tables and double precision.
extern "C" __global__ void functions(const float *in, float *out, double *wide, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    float y;
    switch (i % 8) {
    case 0: y = sinf(x); break;
    case 1: y = expf(x); break;
    case 2: y = logf(fabsf(x)); break;
    case 3: y = tanhf(x); break;
    case 4: y = erff(x); break;
    case 5: y = sqrtf(fabsf(x)); break;
    case 6: y = 1.f / x; break;
    default: y = floorf(x); break;
    }
    out[i] = y;
    wide[i] = exp((double)x) / (1.0 + (double)y * y);
}

// Pairs of half precision: x * scale + shift, at least zero.
extern "C" __global__ void half_pairs(const __half2 *in, __half2 *out, float scale, float shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 y = __hfma2(in[i], __float2half2_rn(scale), __float2half2_rn(shift));
    out[i] = __hmax2(y, __float2half2_rn(0.f));
}

// A transposition through dynamic shared memory.
extern "C" __global__ void transpose(const unsigned char *in, unsigned char *out, int rows, int columns)
{
    extern __shared__ unsigned char tile[];
    int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += blockDim.y)
        if (x < columns && y0 + j < rows)
            tile[j * 33 + threadIdx.x] = in[(y0 + j) * columns + x];
    __syncthreads();
    int x_out = y0 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y)
        if (x_out < rows && blockIdx.x * 32 + j < columns)
            out[(blockIdx.x * 32 + j) * rows + x_out] = tile[threadIdx.x * 33 + j];
}
