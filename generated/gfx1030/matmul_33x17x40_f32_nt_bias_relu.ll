; matmul_33x17x40_f32_nt_bias_relu
;
; computes:  out = relu(A @ B + bias), accumulated in f32
; target:    gfx1030
; schedule:  mainloop=fma,block_m=16,block_n=16,block_k=8,num_stages=2,thread_m=2,thread_n=2 (user)
; launch:    2 x 3 x 1 workgroups of 64 threads, waves of 32
; method:    K loop: 5 tiles of 8
; memory:    LDS, 4096 B
;            @a_tile: f32 [stage: 2][line of 1 k: 8][slot of 4 m: 8], 2048 B, slot = position ^ (line & 7)
;            @b_tile: f32 [stage: 2][line of 1 k: 8][slot of 4 n: 8], 2048 B, slot = position ^ (line & 7)
; arguments: a: input f32[33, 40], strides [40, 1]
;            b: input f32[17, 40], strides [40, 1]
;            bias: input f32[17], strides [1]
;            out: output f32[33, 17], strides [17, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [8 x [8 x [4 x float]]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [8 x [8 x [4 x float]]]] poison, align 16

define amdgpu_kernel void @matmul_33x17x40_f32_nt_bias_relu(
    ptr addrspace(1) noalias readonly %a,
    ptr addrspace(1) noalias readonly %b,
    ptr addrspace(1) noalias readonly %bias,
    ptr addrspace(1) noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 64) i32 @llvm.amdgcn.workitem.id.x()
  %block_n = call i32 @llvm.amdgcn.workgroup.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 16
  %first_column = mul nuw nsw i32 %block_n, 16
  ; A: chunks of 2 x 1 (m x k), 8 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 40
  %a.tile.first = getelementptr float, ptr addrspace(1) %a, i64 %a.row_offset
  ; rows past the last read the last row; their results are not stored
  %a.row_limit = sub nuw nsw i32 32, %first_row
  %a.c0.k.chunk = urem i32 %thread, 8
  %a.c0.row.chunk = udiv i32 %thread, 8
  %a.c0.row = mul nuw nsw i32 %a.c0.row.chunk, 2
  %a.c0.row.exists = call i32 @llvm.umin.i32(i32 %a.c0.row, i32 %a.row_limit)
  %a.c0.line = mul nuw nsw i32 %a.c0.row.exists, 40
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k.chunk
  %a.c0.offset = zext i32 %a.c0.narrow to i64
  %a.c0.l1.row = add nuw nsw i32 %a.c0.row, 1
  %a.c0.l1.row.exists = call i32 @llvm.umin.i32(i32 %a.c0.l1.row, i32 %a.row_limit)
  %a.c0.l1.line = mul nuw nsw i32 %a.c0.l1.row.exists, 40
  %a.c0.l1.narrow = add nuw nsw i32 %a.c0.l1.line, %a.c0.k.chunk
  %a.c0.l1.offset = zext i32 %a.c0.l1.narrow to i64
  %a.c0.element = urem i32 %a.c0.row, 4
  %a.c0.position = udiv i32 %a.c0.row, 4
  %a.c0.slot.low = and i32 %a.c0.k.chunk, 7
  %a.c0.slot = xor i32 %a.c0.position, %a.c0.slot.low
  ; B: chunks of 1 x 2 (k x n), 8 side by side along k
  %b.first_row = zext i32 %first_column to i64
  %b.row_offset = mul nuw nsw i64 %b.first_row, 40
  %b.tile.first = getelementptr float, ptr addrspace(1) %b, i64 %b.row_offset
  ; rows past the last read the last row; their results are not stored
  %b.row_limit = sub nuw nsw i32 16, %first_column
  %b.c0.k.chunk = urem i32 %thread, 8
  %b.c0.row.chunk = udiv i32 %thread, 8
  %b.c0.row = mul nuw nsw i32 %b.c0.row.chunk, 2
  %b.c0.row.exists = call i32 @llvm.umin.i32(i32 %b.c0.row, i32 %b.row_limit)
  %b.c0.line = mul nuw nsw i32 %b.c0.row.exists, 40
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.k.chunk
  %b.c0.offset = zext i32 %b.c0.narrow to i64
  %b.c0.l1.row = add nuw nsw i32 %b.c0.row, 1
  %b.c0.l1.row.exists = call i32 @llvm.umin.i32(i32 %b.c0.l1.row, i32 %b.row_limit)
  %b.c0.l1.line = mul nuw nsw i32 %b.c0.l1.row.exists, 40
  %b.c0.l1.narrow = add nuw nsw i32 %b.c0.l1.line, %b.c0.k.chunk
  %b.c0.l1.offset = zext i32 %b.c0.l1.narrow to i64
  %b.c0.element = urem i32 %b.c0.row, 4
  %b.c0.position = udiv i32 %b.c0.row, 4
  %b.c0.slot.low = and i32 %b.c0.k.chunk, 7
  %b.c0.slot = xor i32 %b.c0.position, %b.c0.slot.low
  ; the thread's position among 8 x 8: its first row and column in the block tile
  %thread_m = udiv i32 %thread, 8
  %thread_n = urem i32 %thread, 8
  %thread_row = mul nuw nsw i32 %thread_m, 2
  %thread_column = mul nuw nsw i32 %thread_n, 2
  %a.g0.element = urem i32 %thread_row, 4
  %a.g0.position = udiv i32 %thread_row, 4
  %b.g0.element = urem i32 %thread_column, 4
  %b.g0.position = udiv i32 %thread_column, 4

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load float, ptr addrspace(1) %a.first.c0.l0.at, align 4
  %a.first.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.first, i64 %a.c0.l1.offset
  %a.first.c0.l1 = load float, ptr addrspace(1) %a.first.c0.l1.at, align 4
  %b.first.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load float, ptr addrspace(1) %b.first.c0.l0.at, align 4
  %b.first.c0.l1.at = getelementptr float, ptr addrspace(1) %b.tile.first, i64 %b.c0.l1.offset
  %b.first.c0.l1 = load float, ptr addrspace(1) %b.first.c0.l1.at, align 4
  %a.first.c0.s0.0 = insertelement <2 x float> poison, float %a.first.c0.l0, i32 0
  %a.first.c0.s0 = insertelement <2 x float> %a.first.c0.s0.0, float %a.first.c0.l1, i32 1
  %a.first.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.k.chunk, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.first.c0.s0, ptr addrspace(3) %a.first.c0.s0.at, align 8
  %b.first.c0.s0.0 = insertelement <2 x float> poison, float %b.first.c0.l0, i32 0
  %b.first.c0.s0 = insertelement <2 x float> %b.first.c0.s0.0, float %b.first.c0.l1, i32 1
  %b.first.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.k.chunk, i32 %b.c0.slot, i32 %b.c0.element
  store <2 x float> %b.first.c0.s0, ptr addrspace(3) %b.first.c0.s0.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop

; ---- mainloop: load tile i + 1, multiply tile i
loop:
  %trip = phi i32 [ 0, %entry ], [ %trip.next, %loop.second.multiplied ]
  %a.tile.start = phi ptr addrspace(1) [ %a.tile.first, %entry ], [ %a.tile.loop.second, %loop.second.multiplied ]
  %b.tile.start = phi ptr addrspace(1) [ %b.tile.first, %entry ], [ %b.tile.loop.second, %loop.second.multiplied ]
  %acc.m0.n0.start = phi <2 x float> [ zeroinitializer, %entry ], [ %acc.m0.n0.loop.second, %loop.second.multiplied ]
  %acc.m1.n0.start = phi <2 x float> [ zeroinitializer, %entry ], [ %acc.m1.n0.loop.second, %loop.second.multiplied ]
  %a.tile.loop = getelementptr float, ptr addrspace(1) %a.tile.start, i64 8
  %b.tile.loop = getelementptr float, ptr addrspace(1) %b.tile.start, i64 8
  %a.loop.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.loop, i64 %a.c0.offset
  %a.loop.c0.l0 = load float, ptr addrspace(1) %a.loop.c0.l0.at, align 4
  %a.loop.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.loop, i64 %a.c0.l1.offset
  %a.loop.c0.l1 = load float, ptr addrspace(1) %a.loop.c0.l1.at, align 4
  %b.loop.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.loop, i64 %b.c0.offset
  %b.loop.c0.l0 = load float, ptr addrspace(1) %b.loop.c0.l0.at, align 4
  %b.loop.c0.l1.at = getelementptr float, ptr addrspace(1) %b.tile.loop, i64 %b.c0.l1.offset
  %b.loop.c0.l1 = load float, ptr addrspace(1) %b.loop.c0.l1.at, align 4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  br label %loop.multiply
loop.multiply:
  %loop.k = phi i32 [ 0, %loop ], [ %loop.k.next, %loop.multiply ]
  %acc.m0.n0.loop.sum = phi <2 x float> [ %acc.m0.n0.start, %loop ], [ %acc.m0.n0.loop, %loop.multiply ]
  %acc.m1.n0.loop.sum = phi <2 x float> [ %acc.m1.n0.start, %loop ], [ %acc.m1.n0.loop, %loop.multiply ]
  %a.g0.slot.loop.low = and i32 %loop.k, 7
  %a.g0.slot.loop = xor i32 %a.g0.position, %a.g0.slot.loop.low
  %a.loop.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %loop.k, i32 %a.g0.slot.loop, i32 %a.g0.element
  %a.loop.g0 = load <2 x float>, ptr addrspace(3) %a.loop.g0.at, align 8
  %b.g0.slot.loop.low = and i32 %loop.k, 7
  %b.g0.slot.loop = xor i32 %b.g0.position, %b.g0.slot.loop.low
  %b.loop.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %loop.k, i32 %b.g0.slot.loop, i32 %b.g0.element
  %b.loop.g0 = load <2 x float>, ptr addrspace(3) %b.loop.g0.at, align 8
  %a.loop.m0 = shufflevector <2 x float> %a.loop.g0, <2 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.loop = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.m0, <2 x float> %b.loop.g0, <2 x float> %acc.m0.n0.loop.sum)
  %a.loop.m1 = shufflevector <2 x float> %a.loop.g0, <2 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.loop = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.m1, <2 x float> %b.loop.g0, <2 x float> %acc.m1.n0.loop.sum)
  %loop.k.next = add nuw nsw i32 %loop.k, 1
  %loop.k.more = icmp ult i32 %loop.k.next, 8
  br i1 %loop.k.more, label %loop.multiply, label %loop.multiplied, !llvm.loop !3
loop.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.c0.s0.0 = insertelement <2 x float> poison, float %a.loop.c0.l0, i32 0
  %a.loop.c0.s0 = insertelement <2 x float> %a.loop.c0.s0.0, float %a.loop.c0.l1, i32 1
  %a.loop.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.k.chunk, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.loop.c0.s0, ptr addrspace(3) %a.loop.c0.s0.at, align 8
  %b.loop.c0.s0.0 = insertelement <2 x float> poison, float %b.loop.c0.l0, i32 0
  %b.loop.c0.s0 = insertelement <2 x float> %b.loop.c0.s0.0, float %b.loop.c0.l1, i32 1
  %b.loop.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.k.chunk, i32 %b.c0.slot, i32 %b.c0.element
  store <2 x float> %b.loop.c0.s0, ptr addrspace(3) %b.loop.c0.s0.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop.second
loop.second:
  %a.tile.loop.second = getelementptr float, ptr addrspace(1) %a.tile.loop, i64 8
  %b.tile.loop.second = getelementptr float, ptr addrspace(1) %b.tile.loop, i64 8
  %a.loop.second.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.offset
  %a.loop.second.c0.l0 = load float, ptr addrspace(1) %a.loop.second.c0.l0.at, align 4
  %a.loop.second.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.l1.offset
  %a.loop.second.c0.l1 = load float, ptr addrspace(1) %a.loop.second.c0.l1.at, align 4
  %b.loop.second.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.offset
  %b.loop.second.c0.l0 = load float, ptr addrspace(1) %b.loop.second.c0.l0.at, align 4
  %b.loop.second.c0.l1.at = getelementptr float, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l1.offset
  %b.loop.second.c0.l1 = load float, ptr addrspace(1) %b.loop.second.c0.l1.at, align 4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  br label %loop.second.multiply
loop.second.multiply:
  %loop.second.k = phi i32 [ 0, %loop.second ], [ %loop.second.k.next, %loop.second.multiply ]
  %acc.m0.n0.loop.second.sum = phi <2 x float> [ %acc.m0.n0.loop, %loop.second ], [ %acc.m0.n0.loop.second, %loop.second.multiply ]
  %acc.m1.n0.loop.second.sum = phi <2 x float> [ %acc.m1.n0.loop, %loop.second ], [ %acc.m1.n0.loop.second, %loop.second.multiply ]
  %a.g0.slot.loop.second.low = and i32 %loop.second.k, 7
  %a.g0.slot.loop.second = xor i32 %a.g0.position, %a.g0.slot.loop.second.low
  %a.loop.second.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %loop.second.k, i32 %a.g0.slot.loop.second, i32 %a.g0.element
  %a.loop.second.g0 = load <2 x float>, ptr addrspace(3) %a.loop.second.g0.at, align 8
  %b.g0.slot.loop.second.low = and i32 %loop.second.k, 7
  %b.g0.slot.loop.second = xor i32 %b.g0.position, %b.g0.slot.loop.second.low
  %b.loop.second.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %loop.second.k, i32 %b.g0.slot.loop.second, i32 %b.g0.element
  %b.loop.second.g0 = load <2 x float>, ptr addrspace(3) %b.loop.second.g0.at, align 8
  %a.loop.second.m0 = shufflevector <2 x float> %a.loop.second.g0, <2 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.loop.second = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.second.m0, <2 x float> %b.loop.second.g0, <2 x float> %acc.m0.n0.loop.second.sum)
  %a.loop.second.m1 = shufflevector <2 x float> %a.loop.second.g0, <2 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.loop.second = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.second.m1, <2 x float> %b.loop.second.g0, <2 x float> %acc.m1.n0.loop.second.sum)
  %loop.second.k.next = add nuw nsw i32 %loop.second.k, 1
  %loop.second.k.more = icmp ult i32 %loop.second.k.next, 8
  br i1 %loop.second.k.more, label %loop.second.multiply, label %loop.second.multiplied, !llvm.loop !4
loop.second.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.second.c0.s0.0 = insertelement <2 x float> poison, float %a.loop.second.c0.l0, i32 0
  %a.loop.second.c0.s0 = insertelement <2 x float> %a.loop.second.c0.s0.0, float %a.loop.second.c0.l1, i32 1
  %a.loop.second.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.k.chunk, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.loop.second.c0.s0, ptr addrspace(3) %a.loop.second.c0.s0.at, align 8
  %b.loop.second.c0.s0.0 = insertelement <2 x float> poison, float %b.loop.second.c0.l0, i32 0
  %b.loop.second.c0.s0 = insertelement <2 x float> %b.loop.second.c0.s0.0, float %b.loop.second.c0.l1, i32 1
  %b.loop.second.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.k.chunk, i32 %b.c0.slot, i32 %b.c0.element
  store <2 x float> %b.loop.second.c0.s0, ptr addrspace(3) %b.loop.second.c0.s0.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %trip.next = add nuw nsw i32 %trip, 1
  %more = icmp ult i32 %trip.next, 2
  br i1 %more, label %loop, label %last, !llvm.loop !2

; ---- mainloop: multiply the last tile
last:
  br label %last.multiply
last.multiply:
  %last.k = phi i32 [ 0, %last ], [ %last.k.next, %last.multiply ]
  %acc.m0.n0.last.sum = phi <2 x float> [ %acc.m0.n0.loop.second, %last ], [ %acc.m0.n0.last, %last.multiply ]
  %acc.m1.n0.last.sum = phi <2 x float> [ %acc.m1.n0.loop.second, %last ], [ %acc.m1.n0.last, %last.multiply ]
  %a.g0.slot.last.low = and i32 %last.k, 7
  %a.g0.slot.last = xor i32 %a.g0.position, %a.g0.slot.last.low
  %a.last.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %last.k, i32 %a.g0.slot.last, i32 %a.g0.element
  %a.last.g0 = load <2 x float>, ptr addrspace(3) %a.last.g0.at, align 8
  %b.g0.slot.last.low = and i32 %last.k, 7
  %b.g0.slot.last = xor i32 %b.g0.position, %b.g0.slot.last.low
  %b.last.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %last.k, i32 %b.g0.slot.last, i32 %b.g0.element
  %b.last.g0 = load <2 x float>, ptr addrspace(3) %b.last.g0.at, align 8
  %a.last.m0 = shufflevector <2 x float> %a.last.g0, <2 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.last = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.last.m0, <2 x float> %b.last.g0, <2 x float> %acc.m0.n0.last.sum)
  %a.last.m1 = shufflevector <2 x float> %a.last.g0, <2 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.last = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.last.m1, <2 x float> %b.last.g0, <2 x float> %acc.m1.n0.last.sum)
  %last.k.next = add nuw nsw i32 %last.k, 1
  %last.k.more = icmp ult i32 %last.k.next, 8
  br i1 %last.k.more, label %last.multiply, label %last.multiplied, !llvm.loop !5
last.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)

; ---- epilogue
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 17
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr float, ptr addrspace(1) %out, i64 %out.first
  %bias.block = getelementptr float, ptr addrspace(1) %bias, i64 %out.first_column
  %rows_left = sub nuw nsw i32 33, %first_row
  %columns_left = sub nuw nsw i32 17, %first_column
  %rows_inside = call i32 @llvm.umin.i32(i32 %rows_left, i32 16)
  %bytes_inside = mul nuw nsw i32 %rows_inside, 68
  %out.bytes = zext i32 %bytes_inside to i64
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 %out.bytes, i32 822243328)
  %column0.wide = zext i32 %thread_column to i64
  %column0.exists = icmp ult i32 %thread_column, %columns_left
  %column0.offset = mul nuw nsw i32 %thread_column, 4
  %column0.bytes = select i1 %column0.exists, i32 %column0.offset, i32 -2147483648
  %column0.inside = select i1 %column0.exists, i64 %column0.wide, i64 0
  %column0.bias.at = getelementptr float, ptr addrspace(1) %bias.block, i64 %column0.inside
  %column0.bias = load float, ptr addrspace(1) %column0.bias.at, align 4
  %column1 = add nuw nsw i32 %thread_column, 1
  %column1.wide = zext i32 %column1 to i64
  %column1.exists = icmp ult i32 %column1, %columns_left
  %column1.offset = mul nuw nsw i32 %column1, 4
  %column1.bytes = select i1 %column1.exists, i32 %column1.offset, i32 -2147483648
  %column1.inside = select i1 %column1.exists, i64 %column1.wide, i64 0
  %column1.bias.at = getelementptr float, ptr addrspace(1) %bias.block, i64 %column1.inside
  %column1.bias = load float, ptr addrspace(1) %column1.bias.at, align 4
  ; row 0
  %row0.bytes = mul nuw nsw i32 %thread_row, 68
  %m0.n0.e0 = extractelement <2 x float> %acc.m0.n0.last, i32 0
  %m0.n0.e0.at = add i32 %row0.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.n0.e0.finished_add = fadd contract float %m0.n0.e0, %column0.bias
  %m0.n0.e0.finished_less_equal = fcmp ole float %m0.n0.e0.finished_add, 0x0000000000000000
  %m0.n0.e0.finished = select i1 %m0.n0.e0.finished_less_equal, float 0x0000000000000000, float %m0.n0.e0.finished_add
  %m0.n0.e0.words = bitcast float %m0.n0.e0.finished to i32
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %m0.n0.e0.words, ptr addrspace(8) %out.buffer, i32 %m0.n0.e0.at, i32 0, i32 0)
  %m0.n0.e1 = extractelement <2 x float> %acc.m0.n0.last, i32 1
  %m0.n0.e1.at = add i32 %row0.bytes, %column1.bytes
  ; relu(A @ B + bias)
  %m0.n0.e1.finished_add = fadd contract float %m0.n0.e1, %column1.bias
  %m0.n0.e1.finished_less_equal = fcmp ole float %m0.n0.e1.finished_add, 0x0000000000000000
  %m0.n0.e1.finished = select i1 %m0.n0.e1.finished_less_equal, float 0x0000000000000000, float %m0.n0.e1.finished_add
  %m0.n0.e1.words = bitcast float %m0.n0.e1.finished to i32
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %m0.n0.e1.words, ptr addrspace(8) %out.buffer, i32 %m0.n0.e1.at, i32 0, i32 0)
  ; row 1
  %row1 = add nuw nsw i32 %thread_row, 1
  %row1.bytes = mul nuw nsw i32 %row1, 68
  %m1.n0.e0 = extractelement <2 x float> %acc.m1.n0.last, i32 0
  %m1.n0.e0.at = add i32 %row1.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m1.n0.e0.finished_add = fadd contract float %m1.n0.e0, %column0.bias
  %m1.n0.e0.finished_less_equal = fcmp ole float %m1.n0.e0.finished_add, 0x0000000000000000
  %m1.n0.e0.finished = select i1 %m1.n0.e0.finished_less_equal, float 0x0000000000000000, float %m1.n0.e0.finished_add
  %m1.n0.e0.words = bitcast float %m1.n0.e0.finished to i32
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %m1.n0.e0.words, ptr addrspace(8) %out.buffer, i32 %m1.n0.e0.at, i32 0, i32 0)
  %m1.n0.e1 = extractelement <2 x float> %acc.m1.n0.last, i32 1
  %m1.n0.e1.at = add i32 %row1.bytes, %column1.bytes
  ; relu(A @ B + bias)
  %m1.n0.e1.finished_add = fadd contract float %m1.n0.e1, %column1.bias
  %m1.n0.e1.finished_less_equal = fcmp ole float %m1.n0.e1.finished_add, 0x0000000000000000
  %m1.n0.e1.finished = select i1 %m1.n0.e1.finished_less_equal, float 0x0000000000000000, float %m1.n0.e1.finished_add
  %m1.n0.e1.words = bitcast float %m1.n0.e1.finished to i32
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %m1.n0.e1.words, ptr addrspace(8) %out.buffer, i32 %m1.n0.e1.at, i32 0, i32 0)

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.umin.i32(i32, i32)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32, ptr addrspace(8), i32, i32, i32 immarg)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)

attributes #0 = {
  nounwind
  "target-cpu"="gfx1030"
  "amdgpu-flat-work-group-size"="64,64"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; The fences order accesses to LDS, not to global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
; Do not unroll the loop over k: the loads of all its steps would share the registers.
!2 = distinct !{!2, !{!"llvm.loop.unroll.disable"}}
; Unroll the loops over the depths of a tile 4 times: fully unrolled, they would spill.
!3 = distinct !{!3, !{!"llvm.loop.unroll.count", i32 4}}
!4 = distinct !{!4, !{!"llvm.loop.unroll.count", i32 4}}
!5 = distinct !{!5, !{!"llvm.loop.unroll.count", i32 4}}
