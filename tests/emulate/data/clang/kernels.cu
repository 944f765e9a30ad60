// Small CUDA kernels whose PTX, as clang makes it, the emulator must run. Compiled by clang 22 (the
// dev dependency ziglang carries it), without a CUDA SDK, to the .ptx files beside this one; LEVEL 0
// keeps every variable in local memory and passes generic addresses.
//
//   python -m ziglang clang --target=x86_64-linux-gnu -x cuda --cuda-device-only
//          --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -ffp-contract=fast -fno-unroll-loops
//          -OLEVEL -S kernels.cu -o kernels.OLEVEL.ptx
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ static inline int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
__device__ static inline int block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ static inline int threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
__device__ static inline int index() { return block() * threads() + thread(); }

// A stable counting sort of bytes' low two bits within a block of 64, by ballots.
extern "C" __global__ void partition(const u8 *in, u8 *out)
{
    __shared__ u32 votes[2][4];
    int lane = thread() % 32, warp = thread() / 32;
    u8 value = in[index()];
    for (int digit = 0; digit < 4; digit++) {
        u32 vote = __nvvm_vote_ballot_sync(~0u, (value & 3) == digit);
        if (lane == 0)
            votes[warp][digit] = vote;
    }
    __syncthreads();
    int place = 0;
    for (int digit = 0; digit < (value & 3); digit++)
        place += __builtin_popcount(votes[0][digit]) + __builtin_popcount(votes[1][digit]);
    if (warp)
        place += __builtin_popcount(votes[0][value & 3]);
    place += __builtin_popcount(votes[warp][value & 3] & ((1u << lane) - 1));
    out[block() * threads() + place] = value;
}

// What a virtual machine of five instructions computes: a switch in a loop, calls, a struct by value.
struct Program {
    u8 code[12];
    int argument;
};

__device__ __attribute__((noinline)) static int power(int base, int exponent)
{
    int result = 1;
    for (; exponent > 0; exponent--)
        result *= base;
    return result;
}

__device__ __attribute__((noinline)) static int step(int code, int value, int argument)
{
    switch (code) {
    case 0: return value + argument;
    case 1: return value * 3;
    case 2: return value ^ 0x55;
    case 3: return value / (argument | 1);
    case 4: return power(value % 10, argument % 5);
    case 5: return value < 0 ? -value : value;
    case 6: return value >> 2;
    default: return value;
    }
}

extern "C" __global__ void interpret(const int *in, int *out, struct Program program)
{
    int value = in[index()];
    for (int i = 0; i < 12; i++)
        value = step(program.code[i], value, program.argument);
    out[index()] = value;
}

// Quotients and remainders of all widths.
extern "C" __global__ void divide(const long long *a, const long long *b, long long *out)
{
    int i = index();
    long long x = a[i], y = b[i];
    u64 ux = x, uy = y;
    out[i] = x / y + (long long)(ux % uy) * 3 + (int)x / (int)y + (short)x % (short)y +
             (long long)((u32)x / (u32)y) + (long long)__nvvm_mulhi_ll(x, y);
}

// A prefix sum over a block of 128: shuffles in warps, shared memory between them.
extern "C" __global__ void scan(const int *in, int *out)
{
    __shared__ int totals[4];
    int lane = thread() % 32, warp = thread() / 32, sum = in[index()];
    for (int distance = 1; distance < 32; distance *= 2) {
        int other = __nvvm_shfl_sync_up_i32(~0u, sum, distance, 0);
        if (lane >= distance)
            sum += other;
    }
    if (lane == 31)
        totals[warp] = sum;
    __syncthreads();
    for (int before = 0; before < warp; before++)
        sum += totals[before];
    out[index()] = sum;
}

// The largest of floats, and how often each block saw one above a bound: loops of compare and swap.
extern "C" __global__ void largest(const float *in, float *most, u64 *count, float bound)
{
    float value = in[index()];
    int *place = (int *)most;
    int seen = *(volatile int *)place;
    while (__builtin_bit_cast(float, seen) < value) {
        int old = __nvvm_atom_cas_gen_i(place, seen, __builtin_bit_cast(int, value));
        if (old == seen)
            break;
        seen = old;
    }
    if (value > bound)
        __nvvm_atom_add_gen_ll((long long *)&count[block()], 1);
}

// Polynomials by Horner's rule in double and half precision; coefficients in constant memory.
__constant__ double coefficients[5] = {1.0, -0.5, 0.25, -0.125, 0.0625};

extern "C" __global__ void horner(const double *in, double *out, _Float16 *small)
{
    double x = in[index()], sum = 0;
    _Float16 y = (_Float16)x, rough = 0;
    for (int i = 4; i >= 0; i--) {
        sum = sum * x + coefficients[i];
        rough = rough * y + (_Float16)coefficients[i];
    }
    out[index()] = sum;
    small[index()] = rough;
}

// out = a b for 16x16 tiles of half precision on tensor cores, one warp.
extern "C" __global__ void tensor(const int *a, const int *b, float *out)
{
    int left[8], right[8];
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    __hmma_m16n16k16_ld_a(left, a, 16, 0);
    __hmma_m16n16k16_ld_b(right, b, 16, 0);
    __hmma_m16n16k16_mma_f32f32(sum, left, right, sum, 0, 0);
    __hmma_m16n16k16_st_c_f32(out, sum, 16, 0);
}

// Reverses blocks of 128 words through asynchronous copies.
extern "C" __global__ void reverse(const u32 *in, u32 *out)
{
    __shared__ u32 tile[128];
    typedef __attribute__((address_space(3))) void *Shared;
    typedef __attribute__((address_space(1))) const void *Global;
    __nvvm_cp_async_ca_shared_global_4((Shared)(&tile[thread()]), (Global)(in + index()));
    __nvvm_cp_async_commit_group();
    __nvvm_cp_async_wait_group(0);
    __syncthreads();
    out[index()] = tile[127 - thread()];
}
