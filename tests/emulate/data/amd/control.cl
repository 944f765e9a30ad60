// Control flow, generic pointers and a matrix instruction. Compiled as kernels.cl is, for CPU gfx90a
// with LEVEL 0 and 2.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef unsigned int uint;
typedef half half4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));

// Steps until 3n+1 reaches 1: every lane leaves the loop when it is done.
kernel void collatz(global const uint *in, global uint *out) {
  uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  uint n = in[i], steps = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    if (++steps == 500)
      break;
  }
  out[i] = steps;
}

// A stack machine: each lane runs its own program of 8 instructions of 4 bits.
kernel void interpreter(global const uint *programs, global int *out) {
  uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  int stack[9], top = 0;
  stack[0] = (int)i;
  for (uint program = programs[i]; program; program >>= 4) {
    switch (program & 15) {
    case 1: stack[++top] = 1; break;
    case 2: stack[top + 1] = stack[top]; ++top; break;
    case 3: if (top) { stack[top - 1] += stack[top]; --top; } break;
    case 4: if (top) { stack[top - 1] *= stack[top]; --top; } break;
    case 5: stack[top] = -stack[top]; break;
    case 6: if (stack[top] < 0) continue; stack[top] -= 3; break;
    case 7: goto done;
    default: stack[top] ^= (int)(program & 15); break;
    }
  }
done:
  out[i] = stack[top];
}

// Odd lanes read their neighbour's value in local memory, even ones their own in global memory.
kernel void either_memory(global int *in, global int *out) {
  local int tile[64];
  uint lane = __builtin_amdgcn_workitem_id_x();
  uint i = __builtin_amdgcn_workgroup_id_x() * 64 + lane;
  tile[lane] = in[i] * 2;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  generic int *from = lane & 1 ? (generic int *)&tile[lane ^ 1] : (generic int *)&in[i];
  out[i] = *from;
}

// C = A B of 16x16 by one wave; B is stored by columns.
kernel void matrix_product(global const half4 *a, global const half4 *b, global float *c) {
  uint lane = __builtin_amdgcn_workitem_id_x();
  uint row = lane % 16, part = lane / 16;
  float4 sum = 0;
  sum = __builtin_amdgcn_mfma_f32_16x16x16f16(a[row * 4 + part], b[row * 4 + part], sum, 0, 0, 0);
  for (uint r = 0; r < 4; r++)
    c[(part * 4 + r) * 16 + row] = sum[r];
}
