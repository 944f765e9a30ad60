// Kernels that kgen did not write, for the emulator of LLVM IR. Compiled by clang 22 (the dev
// dependency ziglang carries it) to the .ll files beside this one: for CPU gfx90a with LEVEL 0 and
// 2, for gfx1100 with 2.
//
//   python -m ziglang clang -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=CPU -nogpulib
//          -cl-no-stdinc -ffp-contract=fast -fno-ident -fno-unroll-loops -fno-vectorize
//          -S -emit-llvm -OLEVEL kernels.cl -o kernels.CPU.OLEVEL.ll

typedef unsigned int uint;
typedef unsigned char uchar;

#define THREADS 256
#define INFINITY __builtin_inff()
#define ADD_GLOBAL(at, value)                                                                      \
  __scoped_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define ADD_LOCAL(at, value)                                                                       \
  __scoped_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)
#define lane_count __builtin_amdgcn_wavefrontsize()

static uint thread(void) { return __builtin_amdgcn_workitem_id_x(); }
static uint group(void) { return __builtin_amdgcn_workgroup_id_x(); }
static uint group_y(void) { return __builtin_amdgcn_workgroup_id_y(); }

static void barrier_local(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// c[n, n] = a[n, n] b[n, n], n a multiple of 16; 16 x 16 threads by hand.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
matmul_tiled(__global const float *a, __global const float *b, __global float *c, int n) {
  __local float a_tile[16][16], b_tile[16][17];
  uint x = thread() % 16, y = thread() / 16;
  uint row = group_y() * 16 + y, column = group() * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    a_tile[y][x] = a[row * n + k + x];
    b_tile[y][x] = b[(k + y) * n + column];
    barrier_local();
    for (int i = 0; i < 16; i++)
      sum += a_tile[y][i] * b_tile[i][x];
    barrier_local();
  }
  c[row * n + column] = sum;
}

// The sum of count numbers in one atomic addition per workgroup.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
reduce_sum(__global const int *in, __global int *out, int count) {
  __local int partial[THREADS];
  int sum = 0;
  for (uint i = group() * THREADS + thread(); i < count; i += 4 * THREADS)
    sum += in[i];
  partial[thread()] = sum;
  barrier_local();
  for (uint half_ = THREADS / 2; half_ > 0; half_ /= 2) {
    if (thread() < half_)
      partial[thread()] += partial[thread() + half_];
    barrier_local();
  }
  if (thread() == 0)
    ADD_GLOBAL(out, partial[0]);
}

// How often each byte occurs: counted in LDS, then added up in global memory.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
histogram(__global const uchar *in, __global uint *bins, int count) {
  __local uint mine[256];
  mine[thread()] = 0;
  barrier_local();
  for (uint i = group() * THREADS + thread(); i < count; i += 3 * THREADS)
    ADD_LOCAL(&mine[in[i]], 1);
  barrier_local();
  if (mine[thread()])
    ADD_GLOBAL(&bins[thread()], mine[thread()]);
}

// Softmax of each row of columns numbers: one workgroup per row.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
softmax_rows(__global const float *in, __global float *out, int columns) {
  __local float shared[THREADS];
  __global const float *row = in + group() * columns;
  float most = -INFINITY;
  for (int i = thread(); i < columns; i += THREADS)
    most = __builtin_fmaxf(most, row[i]);
  shared[thread()] = most;
  barrier_local();
  for (uint half_ = THREADS / 2; half_ > 0; half_ /= 2) {
    if (thread() < half_)
      shared[thread()] = __builtin_fmaxf(shared[thread()], shared[thread() + half_]);
    barrier_local();
  }
  most = shared[0];
  barrier_local();
  float sum = 0;
  for (int i = thread(); i < columns; i += THREADS)
    sum += __builtin_amdgcn_exp2f((row[i] - most) * 1.44269504f);
  shared[thread()] = sum;
  barrier_local();
  for (uint half_ = THREADS / 2; half_ > 0; half_ /= 2) {
    if (thread() < half_)
      shared[thread()] += shared[thread() + half_];
    barrier_local();
  }
  float scale = __builtin_amdgcn_rcpf(shared[0]);
  for (int i = thread(); i < columns; i += THREADS)
    out[group() * columns + i] = __builtin_amdgcn_exp2f((row[i] - most) * 1.44269504f) * scale;
}

// out[i] = in[i - 1] - 2 in[i] + in[i + 1], zero beyond the ends, through a tile with a halo.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
stencil(__global const float *in, __global float *out, int count) {
  __local float tile[THREADS + 2];
  int i = group() * THREADS + thread();
  tile[thread() + 1] = i < count ? in[i] : 0;
  if (thread() == 0)
    tile[0] = i > 0 ? in[i - 1] : 0;
  if (thread() == THREADS - 1)
    tile[THREADS + 1] = i + 1 < count ? in[i + 1] : 0;
  barrier_local();
  if (i < count)
    out[i] = tile[thread()] - 2 * tile[thread() + 1] + tile[thread() + 2];
}

// out[x, y] = in[y, x] for a square of n, a multiple of 16.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
transpose(__global const short *in, __global short *out, int n) {
  __local short tile[16][17];
  uint x = thread() % 16, y = thread() / 16;
  tile[y][x] = in[(group_y() * 16 + y) * n + group() * 16 + x];
  barrier_local();
  out[(group() * 16 + y) * n + group_y() * 16 + x] = tile[x][y];
}

// An inclusive sum over each wave by permutes, one number per thread.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
scan_waves(__global const int *in, __global int *out) {
  uint lane = __builtin_amdgcn_mbcnt_lo(~0u, 0);
  if (lane_count == 64)
    lane = __builtin_amdgcn_mbcnt_hi(~0u, lane);
  int sum = in[group() * THREADS + thread()];
  for (uint step = 1; step < lane_count; step *= 2) {
    int below = __builtin_amdgcn_ds_bpermute((lane - step) * 4, sum);
    if (lane >= step)
      sum += below;
  }
  out[group() * THREADS + thread()] = sum;
}

// Every workgroup sums its part; the last one to finish sums the parts.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
sum_in_two_steps(__global const float *in, __global float *parts, __global uint *ticket,
                 __global float *out, uint groups) {
  __local float shared[THREADS];
  __local uint mine;
  shared[thread()] = in[group() * THREADS + thread()];
  barrier_local();
  for (uint half_ = THREADS / 2; half_ > 0; half_ /= 2) {
    if (thread() < half_)
      shared[thread()] += shared[thread() + half_];
    barrier_local();
  }
  if (thread() == 0) {
    parts[group()] = shared[0];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    mine = ADD_GLOBAL(ticket, 1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  }
  barrier_local();
  if (mine == groups - 1 && thread() == 0) {
    float sum = 0;
    for (uint i = 0; i < groups; i++)
      sum += parts[i];
    *out = sum;
  }
}
