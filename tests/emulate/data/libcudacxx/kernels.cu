// What libcu++ and cuda_fp16.hpp make of waits, clocks and inline assembly. The PTX is made with
//   nvcc -ptx -arch=sm_80 kernels.cu        (CUDA 13.0)
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>

#pragma nv_diag_suppress 20054

using Barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void roots(const __half2* x, __half2* y)
{
    y[threadIdx.x] = h2sqrt(x[threadIdx.x]);
}

// Each thread copies a word, and reads that of another when all have.
extern "C" __global__ void reversed(const int* x, int* y)
{
    __shared__ int tile[128];
    __shared__ Barrier barrier;
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(tile + threadIdx.x, x + threadIdx.x, cuda::aligned_size_t<4>(4), barrier);
    barrier.arrive_and_wait();
    y[threadIdx.x] = tile[127 - threadIdx.x];
}

// Two copies on two barriers. With `early` the second is read when the first is there.
template <bool early>
__device__ void two(const int* x, int* y)
{
    __shared__ int tile[2][128];
    __shared__ Barrier barrier[2];
    if (threadIdx.x < 2)
        init(barrier + threadIdx.x, blockDim.x);
    __syncthreads();
    for (int i = 0; i < 2; i++)
        cuda::memcpy_async(tile[i] + threadIdx.x, x + 128 * i + threadIdx.x, cuda::aligned_size_t<4>(4),
                           barrier[i]);
    auto first = barrier[0].arrive(), second = barrier[1].arrive();
    barrier[0].wait(std::move(first));
    if (!early)
        barrier[1].wait(std::move(second));
    y[threadIdx.x] = tile[0][127 - threadIdx.x] + tile[1][127 - threadIdx.x];
}
extern "C" __global__ void both(const int* x, int* y) { two<false>(x, y); }
extern "C" __global__ void hasty(const int* x, int* y) { two<true>(x, y); }

// The sum of n rows of 128 words, with two stages.
extern "C" __global__ void rows(const int* x, int* y, int n)
{
    __shared__ int tile[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int i = -1; i < n; i++) {
        if (i + 1 < n) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tile[i + 1 & 1], x + 128 * (i + 1), cuda::aligned_size_t<16>(512),
                               pipeline);
            pipeline.producer_commit();
        }
        if (i < 0)
            continue;
        pipeline.consumer_wait();
        sum += tile[i & 1][127 - threadIdx.x];
        pipeline.consumer_release();
    }
    y[threadIdx.x] = sum;
    __syncthreads();
}

// What a thread that waits for `cycles` and then sleeps has measured.
extern "C" __global__ void delay(long long cycles, long long* y)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
    long long middle = clock64();
    __nanosleep(1000);
    y[2 * threadIdx.x] = middle - start;
    y[2 * threadIdx.x + 1] = clock64() - middle;
}
