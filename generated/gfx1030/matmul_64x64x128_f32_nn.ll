; matmul_64x64x128_f32_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    gfx1030
; schedule:  mainloop=fma,block_m=16,block_n=16,block_k=8,num_stages=2,thread_m=4,thread_n=2 (user)
; launch:    4 x 4 x 1 workgroups of 32 threads, waves of 32
; method:    K loop: 16 tiles of 8
; memory:    LDS, 3072 B
;            @a_tile: f32 [stage: 2][line of 1 k: 8][slot of 4 m: 8], 2048 B, slot = position ^ (line >> 1 << 1 &
;              7)
;            @b_tile: f32 [stage: 2][line of 1 k: 8][slot of 4 n: 4], 1024 B, slot = position
; arguments: a: input f32[64, 128], strides [128, 1]
;            b: input f32[128, 64], strides [64, 1]
;            out: output f32[64, 64], strides [64, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [8 x [8 x [4 x float]]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [8 x [4 x [4 x float]]]] poison, align 16

define amdgpu_kernel void @matmul_64x64x128_f32_nn(
    ptr addrspace(1) noalias readonly %a,
    ptr addrspace(1) noalias readonly %b,
    ptr addrspace(1) noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 32) i32 @llvm.amdgcn.workitem.id.x()
  %block_n = call i32 @llvm.amdgcn.workgroup.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 16
  %first_column = mul nuw nsw i32 %block_n, 16
  ; A: chunks of 2 x 2 (m x k), 4 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 128
  %a.tile.first = getelementptr float, ptr addrspace(1) %a, i64 %a.row_offset
  %a.c0.k.chunk = urem i32 %thread, 4
  %a.c0.k = mul nuw nsw i32 %a.c0.k.chunk, 2
  %a.c0.row.chunk = udiv i32 %thread, 4
  %a.c0.row = mul nuw nsw i32 %a.c0.row.chunk, 2
  %a.c0.line = mul nuw nsw i32 %a.c0.row, 128
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k
  %a.c0.offset = zext i32 %a.c0.narrow to i64
  %a.c0.l1.narrow = add nuw nsw i32 %a.c0.narrow, 128
  %a.c0.l1.offset = zext i32 %a.c0.l1.narrow to i64
  %a.c0.lds_line1 = add nuw nsw i32 %a.c0.k, 1
  %a.c0.element = urem i32 %a.c0.row, 4
  %a.c0.position = udiv i32 %a.c0.row, 4
  %a.c0.slot.high = lshr i32 %a.c0.k, 1
  %a.c0.slot.scaled = shl i32 %a.c0.slot.high, 1
  %a.c0.slot.low = and i32 %a.c0.slot.scaled, 7
  %a.c0.slot = xor i32 %a.c0.position, %a.c0.slot.low
  ; B: chunks of 1 x 4 (k x n), 4 side by side along n
  %b.first_row = zext i32 %first_column to i64
  %b.tile.first = getelementptr float, ptr addrspace(1) %b, i64 %b.first_row
  %b.c0.row.chunk = urem i32 %thread, 4
  %b.c0.row = mul nuw nsw i32 %b.c0.row.chunk, 4
  %b.c0.k.chunk = udiv i32 %thread, 4
  %b.c0.line = mul nuw nsw i32 %b.c0.k.chunk, 64
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.row
  %b.c0.offset = zext i32 %b.c0.narrow to i64
  %b.c0.position = udiv i32 %b.c0.row, 4
  ; the thread's position among 4 x 8: its first row and column in the block tile
  %thread_m = udiv i32 %thread, 8
  %thread_n = urem i32 %thread, 8
  %thread_row = mul nuw nsw i32 %thread_m, 4
  %thread_column = mul nuw nsw i32 %thread_n, 2
  %a.g0.element = urem i32 %thread_row, 4
  %a.g0.position = udiv i32 %thread_row, 4
  %b.g0.element = urem i32 %thread_column, 4
  %b.g0.position = udiv i32 %thread_column, 4

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load <2 x float>, ptr addrspace(1) %a.first.c0.l0.at, align 4
  %a.first.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.first, i64 %a.c0.l1.offset
  %a.first.c0.l1 = load <2 x float>, ptr addrspace(1) %a.first.c0.l1.at, align 4
  %b.first.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load <4 x float>, ptr addrspace(1) %b.first.c0.l0.at, align 4
  %a.first.c0.l0.0 = extractelement <2 x float> %a.first.c0.l0, i32 0
  %a.first.c0.l0.1 = extractelement <2 x float> %a.first.c0.l0, i32 1
  %a.first.c0.l1.0 = extractelement <2 x float> %a.first.c0.l1, i32 0
  %a.first.c0.l1.1 = extractelement <2 x float> %a.first.c0.l1, i32 1
  %a.first.c0.s0.0 = insertelement <2 x float> poison, float %a.first.c0.l0.0, i32 0
  %a.first.c0.s0 = insertelement <2 x float> %a.first.c0.s0.0, float %a.first.c0.l1.0, i32 1
  %a.first.c0.s1.0 = insertelement <2 x float> poison, float %a.first.c0.l0.1, i32 0
  %a.first.c0.s1 = insertelement <2 x float> %a.first.c0.s1.0, float %a.first.c0.l1.1, i32 1
  %a.first.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.k, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.first.c0.s0, ptr addrspace(3) %a.first.c0.s0.at, align 8
  %a.first.c0.s1.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line1, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.first.c0.s1, ptr addrspace(3) %a.first.c0.s1.at, align 8
  %b.first.c0.s0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.k.chunk, i32 %b.c0.position, i32 0
  store <4 x float> %b.first.c0.l0, ptr addrspace(3) %b.first.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %peeled

; ---- mainloop: remainder step
peeled:
  %a.tile.peeled = getelementptr float, ptr addrspace(1) %a.tile.first, i64 8
  %b.tile.peeled = getelementptr float, ptr addrspace(1) %b.tile.first, i64 512
  %a.peeled.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.peeled, i64 %a.c0.offset
  %a.peeled.c0.l0 = load <2 x float>, ptr addrspace(1) %a.peeled.c0.l0.at, align 4
  %a.peeled.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.peeled, i64 %a.c0.l1.offset
  %a.peeled.c0.l1 = load <2 x float>, ptr addrspace(1) %a.peeled.c0.l1.at, align 4
  %b.peeled.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.peeled, i64 %b.c0.offset
  %b.peeled.c0.l0 = load <4 x float>, ptr addrspace(1) %b.peeled.c0.l0.at, align 4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  br label %peeled.multiply
peeled.multiply:
  %peeled.k = phi i32 [ 0, %peeled ], [ %peeled.k.next, %peeled.multiply ]
  %acc.m0.n0.peeled.sum = phi <2 x float> [ zeroinitializer, %peeled ], [ %acc.m0.n0.peeled, %peeled.multiply ]
  %acc.m1.n0.peeled.sum = phi <2 x float> [ zeroinitializer, %peeled ], [ %acc.m1.n0.peeled, %peeled.multiply ]
  %acc.m2.n0.peeled.sum = phi <2 x float> [ zeroinitializer, %peeled ], [ %acc.m2.n0.peeled, %peeled.multiply ]
  %acc.m3.n0.peeled.sum = phi <2 x float> [ zeroinitializer, %peeled ], [ %acc.m3.n0.peeled, %peeled.multiply ]
  %a.g0.slot.peeled.high = lshr i32 %peeled.k, 1
  %a.g0.slot.peeled.scaled = shl i32 %a.g0.slot.peeled.high, 1
  %a.g0.slot.peeled.low = and i32 %a.g0.slot.peeled.scaled, 7
  %a.g0.slot.peeled = xor i32 %a.g0.position, %a.g0.slot.peeled.low
  %a.peeled.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %peeled.k, i32 %a.g0.slot.peeled, i32 %a.g0.element
  %a.peeled.g0 = load <4 x float>, ptr addrspace(3) %a.peeled.g0.at, align 16
  %b.peeled.g0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %peeled.k, i32 %b.g0.position, i32 %b.g0.element
  %b.peeled.g0 = load <2 x float>, ptr addrspace(3) %b.peeled.g0.at, align 8
  %a.peeled.m0 = shufflevector <4 x float> %a.peeled.g0, <4 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.peeled = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.peeled.m0, <2 x float> %b.peeled.g0, <2 x float> %acc.m0.n0.peeled.sum)
  %a.peeled.m1 = shufflevector <4 x float> %a.peeled.g0, <4 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.peeled = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.peeled.m1, <2 x float> %b.peeled.g0, <2 x float> %acc.m1.n0.peeled.sum)
  %a.peeled.m2 = shufflevector <4 x float> %a.peeled.g0, <4 x float> poison, <2 x i32> <i32 2, i32 2>
  %acc.m2.n0.peeled = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.peeled.m2, <2 x float> %b.peeled.g0, <2 x float> %acc.m2.n0.peeled.sum)
  %a.peeled.m3 = shufflevector <4 x float> %a.peeled.g0, <4 x float> poison, <2 x i32> <i32 3, i32 3>
  %acc.m3.n0.peeled = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.peeled.m3, <2 x float> %b.peeled.g0, <2 x float> %acc.m3.n0.peeled.sum)
  %peeled.k.next = add nuw nsw i32 %peeled.k, 1
  %peeled.k.more = icmp ult i32 %peeled.k.next, 8
  br i1 %peeled.k.more, label %peeled.multiply, label %peeled.multiplied, !llvm.loop !3
peeled.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.peeled.c0.l0.0 = extractelement <2 x float> %a.peeled.c0.l0, i32 0
  %a.peeled.c0.l0.1 = extractelement <2 x float> %a.peeled.c0.l0, i32 1
  %a.peeled.c0.l1.0 = extractelement <2 x float> %a.peeled.c0.l1, i32 0
  %a.peeled.c0.l1.1 = extractelement <2 x float> %a.peeled.c0.l1, i32 1
  %a.peeled.c0.s0.0 = insertelement <2 x float> poison, float %a.peeled.c0.l0.0, i32 0
  %a.peeled.c0.s0 = insertelement <2 x float> %a.peeled.c0.s0.0, float %a.peeled.c0.l1.0, i32 1
  %a.peeled.c0.s1.0 = insertelement <2 x float> poison, float %a.peeled.c0.l0.1, i32 0
  %a.peeled.c0.s1 = insertelement <2 x float> %a.peeled.c0.s1.0, float %a.peeled.c0.l1.1, i32 1
  %a.peeled.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.k, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.peeled.c0.s0, ptr addrspace(3) %a.peeled.c0.s0.at, align 8
  %a.peeled.c0.s1.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line1, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.peeled.c0.s1, ptr addrspace(3) %a.peeled.c0.s1.at, align 8
  %b.peeled.c0.s0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.k.chunk, i32 %b.c0.position, i32 0
  store <4 x float> %b.peeled.c0.l0, ptr addrspace(3) %b.peeled.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %b.tile.loop.near = getelementptr float, ptr addrspace(1) %b.tile.peeled, i64 512
  %b.tile.loop.first = call ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1) %b.tile.loop.near)
  %b.tile.loop.second.near = getelementptr float, ptr addrspace(1) %b.tile.peeled, i64 1024
  %b.tile.loop.second.first = call ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1) %b.tile.loop.second.near)
  br label %loop

; ---- mainloop: load tile i + 1, multiply tile i
loop:
  %trip = phi i32 [ 0, %peeled.multiplied ], [ %trip.next, %loop.second.multiplied ]
  %a.tile.start = phi ptr addrspace(1) [ %a.tile.peeled, %peeled.multiplied ], [ %a.tile.loop.second, %loop.second.multiplied ]
  %b.tile.loop = phi ptr addrspace(1) [ %b.tile.loop.first, %peeled.multiplied ], [ %b.tile.loop.next, %loop.second.multiplied ]
  %b.tile.loop.second = phi ptr addrspace(1) [ %b.tile.loop.second.first, %peeled.multiplied ], [ %b.tile.loop.second.next, %loop.second.multiplied ]
  %acc.m0.n0.start = phi <2 x float> [ %acc.m0.n0.peeled, %peeled.multiplied ], [ %acc.m0.n0.loop.second, %loop.second.multiplied ]
  %acc.m1.n0.start = phi <2 x float> [ %acc.m1.n0.peeled, %peeled.multiplied ], [ %acc.m1.n0.loop.second, %loop.second.multiplied ]
  %acc.m2.n0.start = phi <2 x float> [ %acc.m2.n0.peeled, %peeled.multiplied ], [ %acc.m2.n0.loop.second, %loop.second.multiplied ]
  %acc.m3.n0.start = phi <2 x float> [ %acc.m3.n0.peeled, %peeled.multiplied ], [ %acc.m3.n0.loop.second, %loop.second.multiplied ]
  %a.tile.loop = getelementptr float, ptr addrspace(1) %a.tile.start, i64 8
  %a.loop.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.loop, i64 %a.c0.offset
  %a.loop.c0.l0 = load <2 x float>, ptr addrspace(1) %a.loop.c0.l0.at, align 4
  %a.loop.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.loop, i64 %a.c0.l1.offset
  %a.loop.c0.l1 = load <2 x float>, ptr addrspace(1) %a.loop.c0.l1.at, align 4
  %b.loop.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.loop, i64 %b.c0.offset
  %b.loop.c0.l0 = load <4 x float>, ptr addrspace(1) %b.loop.c0.l0.at, align 4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  br label %loop.multiply
loop.multiply:
  %loop.k = phi i32 [ 0, %loop ], [ %loop.k.next, %loop.multiply ]
  %acc.m0.n0.loop.sum = phi <2 x float> [ %acc.m0.n0.start, %loop ], [ %acc.m0.n0.loop, %loop.multiply ]
  %acc.m1.n0.loop.sum = phi <2 x float> [ %acc.m1.n0.start, %loop ], [ %acc.m1.n0.loop, %loop.multiply ]
  %acc.m2.n0.loop.sum = phi <2 x float> [ %acc.m2.n0.start, %loop ], [ %acc.m2.n0.loop, %loop.multiply ]
  %acc.m3.n0.loop.sum = phi <2 x float> [ %acc.m3.n0.start, %loop ], [ %acc.m3.n0.loop, %loop.multiply ]
  %a.g0.slot.loop.high = lshr i32 %loop.k, 1
  %a.g0.slot.loop.scaled = shl i32 %a.g0.slot.loop.high, 1
  %a.g0.slot.loop.low = and i32 %a.g0.slot.loop.scaled, 7
  %a.g0.slot.loop = xor i32 %a.g0.position, %a.g0.slot.loop.low
  %a.loop.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %loop.k, i32 %a.g0.slot.loop, i32 %a.g0.element
  %a.loop.g0 = load <4 x float>, ptr addrspace(3) %a.loop.g0.at, align 16
  %b.loop.g0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %loop.k, i32 %b.g0.position, i32 %b.g0.element
  %b.loop.g0 = load <2 x float>, ptr addrspace(3) %b.loop.g0.at, align 8
  %a.loop.m0 = shufflevector <4 x float> %a.loop.g0, <4 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.loop = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.m0, <2 x float> %b.loop.g0, <2 x float> %acc.m0.n0.loop.sum)
  %a.loop.m1 = shufflevector <4 x float> %a.loop.g0, <4 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.loop = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.m1, <2 x float> %b.loop.g0, <2 x float> %acc.m1.n0.loop.sum)
  %a.loop.m2 = shufflevector <4 x float> %a.loop.g0, <4 x float> poison, <2 x i32> <i32 2, i32 2>
  %acc.m2.n0.loop = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.m2, <2 x float> %b.loop.g0, <2 x float> %acc.m2.n0.loop.sum)
  %a.loop.m3 = shufflevector <4 x float> %a.loop.g0, <4 x float> poison, <2 x i32> <i32 3, i32 3>
  %acc.m3.n0.loop = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.m3, <2 x float> %b.loop.g0, <2 x float> %acc.m3.n0.loop.sum)
  %loop.k.next = add nuw nsw i32 %loop.k, 1
  %loop.k.more = icmp ult i32 %loop.k.next, 8
  br i1 %loop.k.more, label %loop.multiply, label %loop.multiplied, !llvm.loop !4
loop.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.c0.l0.0 = extractelement <2 x float> %a.loop.c0.l0, i32 0
  %a.loop.c0.l0.1 = extractelement <2 x float> %a.loop.c0.l0, i32 1
  %a.loop.c0.l1.0 = extractelement <2 x float> %a.loop.c0.l1, i32 0
  %a.loop.c0.l1.1 = extractelement <2 x float> %a.loop.c0.l1, i32 1
  %a.loop.c0.s0.0 = insertelement <2 x float> poison, float %a.loop.c0.l0.0, i32 0
  %a.loop.c0.s0 = insertelement <2 x float> %a.loop.c0.s0.0, float %a.loop.c0.l1.0, i32 1
  %a.loop.c0.s1.0 = insertelement <2 x float> poison, float %a.loop.c0.l0.1, i32 0
  %a.loop.c0.s1 = insertelement <2 x float> %a.loop.c0.s1.0, float %a.loop.c0.l1.1, i32 1
  %a.loop.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.k, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.loop.c0.s0, ptr addrspace(3) %a.loop.c0.s0.at, align 8
  %a.loop.c0.s1.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line1, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.loop.c0.s1, ptr addrspace(3) %a.loop.c0.s1.at, align 8
  %b.loop.c0.s0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.k.chunk, i32 %b.c0.position, i32 0
  store <4 x float> %b.loop.c0.l0, ptr addrspace(3) %b.loop.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop.second
loop.second:
  %a.tile.loop.second = getelementptr float, ptr addrspace(1) %a.tile.loop, i64 8
  %a.loop.second.c0.l0.at = getelementptr float, ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.offset
  %a.loop.second.c0.l0 = load <2 x float>, ptr addrspace(1) %a.loop.second.c0.l0.at, align 4
  %a.loop.second.c0.l1.at = getelementptr float, ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.l1.offset
  %a.loop.second.c0.l1 = load <2 x float>, ptr addrspace(1) %a.loop.second.c0.l1.at, align 4
  %b.loop.second.c0.l0.at = getelementptr float, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.offset
  %b.loop.second.c0.l0 = load <4 x float>, ptr addrspace(1) %b.loop.second.c0.l0.at, align 4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  br label %loop.second.multiply
loop.second.multiply:
  %loop.second.k = phi i32 [ 0, %loop.second ], [ %loop.second.k.next, %loop.second.multiply ]
  %acc.m0.n0.loop.second.sum = phi <2 x float> [ %acc.m0.n0.loop, %loop.second ], [ %acc.m0.n0.loop.second, %loop.second.multiply ]
  %acc.m1.n0.loop.second.sum = phi <2 x float> [ %acc.m1.n0.loop, %loop.second ], [ %acc.m1.n0.loop.second, %loop.second.multiply ]
  %acc.m2.n0.loop.second.sum = phi <2 x float> [ %acc.m2.n0.loop, %loop.second ], [ %acc.m2.n0.loop.second, %loop.second.multiply ]
  %acc.m3.n0.loop.second.sum = phi <2 x float> [ %acc.m3.n0.loop, %loop.second ], [ %acc.m3.n0.loop.second, %loop.second.multiply ]
  %a.g0.slot.loop.second.high = lshr i32 %loop.second.k, 1
  %a.g0.slot.loop.second.scaled = shl i32 %a.g0.slot.loop.second.high, 1
  %a.g0.slot.loop.second.low = and i32 %a.g0.slot.loop.second.scaled, 7
  %a.g0.slot.loop.second = xor i32 %a.g0.position, %a.g0.slot.loop.second.low
  %a.loop.second.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %loop.second.k, i32 %a.g0.slot.loop.second, i32 %a.g0.element
  %a.loop.second.g0 = load <4 x float>, ptr addrspace(3) %a.loop.second.g0.at, align 16
  %b.loop.second.g0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %loop.second.k, i32 %b.g0.position, i32 %b.g0.element
  %b.loop.second.g0 = load <2 x float>, ptr addrspace(3) %b.loop.second.g0.at, align 8
  %a.loop.second.m0 = shufflevector <4 x float> %a.loop.second.g0, <4 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.loop.second = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.second.m0, <2 x float> %b.loop.second.g0, <2 x float> %acc.m0.n0.loop.second.sum)
  %a.loop.second.m1 = shufflevector <4 x float> %a.loop.second.g0, <4 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.loop.second = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.second.m1, <2 x float> %b.loop.second.g0, <2 x float> %acc.m1.n0.loop.second.sum)
  %a.loop.second.m2 = shufflevector <4 x float> %a.loop.second.g0, <4 x float> poison, <2 x i32> <i32 2, i32 2>
  %acc.m2.n0.loop.second = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.second.m2, <2 x float> %b.loop.second.g0, <2 x float> %acc.m2.n0.loop.second.sum)
  %a.loop.second.m3 = shufflevector <4 x float> %a.loop.second.g0, <4 x float> poison, <2 x i32> <i32 3, i32 3>
  %acc.m3.n0.loop.second = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.loop.second.m3, <2 x float> %b.loop.second.g0, <2 x float> %acc.m3.n0.loop.second.sum)
  %loop.second.k.next = add nuw nsw i32 %loop.second.k, 1
  %loop.second.k.more = icmp ult i32 %loop.second.k.next, 8
  br i1 %loop.second.k.more, label %loop.second.multiply, label %loop.second.multiplied, !llvm.loop !5
loop.second.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.second.c0.l0.0 = extractelement <2 x float> %a.loop.second.c0.l0, i32 0
  %a.loop.second.c0.l0.1 = extractelement <2 x float> %a.loop.second.c0.l0, i32 1
  %a.loop.second.c0.l1.0 = extractelement <2 x float> %a.loop.second.c0.l1, i32 0
  %a.loop.second.c0.l1.1 = extractelement <2 x float> %a.loop.second.c0.l1, i32 1
  %a.loop.second.c0.s0.0 = insertelement <2 x float> poison, float %a.loop.second.c0.l0.0, i32 0
  %a.loop.second.c0.s0 = insertelement <2 x float> %a.loop.second.c0.s0.0, float %a.loop.second.c0.l1.0, i32 1
  %a.loop.second.c0.s1.0 = insertelement <2 x float> poison, float %a.loop.second.c0.l0.1, i32 0
  %a.loop.second.c0.s1 = insertelement <2 x float> %a.loop.second.c0.s1.0, float %a.loop.second.c0.l1.1, i32 1
  %a.loop.second.c0.s0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.k, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.loop.second.c0.s0, ptr addrspace(3) %a.loop.second.c0.s0.at, align 8
  %a.loop.second.c0.s1.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line1, i32 %a.c0.slot, i32 %a.c0.element
  store <2 x float> %a.loop.second.c0.s1, ptr addrspace(3) %a.loop.second.c0.s1.at, align 8
  %b.loop.second.c0.s0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.k.chunk, i32 %b.c0.position, i32 0
  store <4 x float> %b.loop.second.c0.l0, ptr addrspace(3) %b.loop.second.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %b.tile.loop.next = getelementptr float, ptr addrspace(1) %b.tile.loop, i64 1024
  %b.tile.loop.second.next = getelementptr float, ptr addrspace(1) %b.tile.loop.second, i64 1024
  %trip.next = add nuw nsw i32 %trip, 1
  %more = icmp ult i32 %trip.next, 7
  br i1 %more, label %loop, label %last, !llvm.loop !2

; ---- mainloop: multiply the last tile
last:
  br label %last.multiply
last.multiply:
  %last.k = phi i32 [ 0, %last ], [ %last.k.next, %last.multiply ]
  %acc.m0.n0.last.sum = phi <2 x float> [ %acc.m0.n0.loop.second, %last ], [ %acc.m0.n0.last, %last.multiply ]
  %acc.m1.n0.last.sum = phi <2 x float> [ %acc.m1.n0.loop.second, %last ], [ %acc.m1.n0.last, %last.multiply ]
  %acc.m2.n0.last.sum = phi <2 x float> [ %acc.m2.n0.loop.second, %last ], [ %acc.m2.n0.last, %last.multiply ]
  %acc.m3.n0.last.sum = phi <2 x float> [ %acc.m3.n0.loop.second, %last ], [ %acc.m3.n0.last, %last.multiply ]
  %a.g0.slot.last.high = lshr i32 %last.k, 1
  %a.g0.slot.last.scaled = shl i32 %a.g0.slot.last.high, 1
  %a.g0.slot.last.low = and i32 %a.g0.slot.last.scaled, 7
  %a.g0.slot.last = xor i32 %a.g0.position, %a.g0.slot.last.low
  %a.last.g0.at = getelementptr [2 x [8 x [8 x [4 x float]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %last.k, i32 %a.g0.slot.last, i32 %a.g0.element
  %a.last.g0 = load <4 x float>, ptr addrspace(3) %a.last.g0.at, align 16
  %b.last.g0.at = getelementptr [2 x [8 x [4 x [4 x float]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %last.k, i32 %b.g0.position, i32 %b.g0.element
  %b.last.g0 = load <2 x float>, ptr addrspace(3) %b.last.g0.at, align 8
  %a.last.m0 = shufflevector <4 x float> %a.last.g0, <4 x float> poison, <2 x i32> <i32 0, i32 0>
  %acc.m0.n0.last = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.last.m0, <2 x float> %b.last.g0, <2 x float> %acc.m0.n0.last.sum)
  %a.last.m1 = shufflevector <4 x float> %a.last.g0, <4 x float> poison, <2 x i32> <i32 1, i32 1>
  %acc.m1.n0.last = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.last.m1, <2 x float> %b.last.g0, <2 x float> %acc.m1.n0.last.sum)
  %a.last.m2 = shufflevector <4 x float> %a.last.g0, <4 x float> poison, <2 x i32> <i32 2, i32 2>
  %acc.m2.n0.last = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.last.m2, <2 x float> %b.last.g0, <2 x float> %acc.m2.n0.last.sum)
  %a.last.m3 = shufflevector <4 x float> %a.last.g0, <4 x float> poison, <2 x i32> <i32 3, i32 3>
  %acc.m3.n0.last = call <2 x float> @llvm.fma.v2f32(<2 x float> %a.last.m3, <2 x float> %b.last.g0, <2 x float> %acc.m3.n0.last.sum)
  %last.k.next = add nuw nsw i32 %last.k, 1
  %last.k.more = icmp ult i32 %last.k.next, 8
  br i1 %last.k.more, label %last.multiply, label %last.multiplied, !llvm.loop !6
last.multiplied:
  call void @llvm.amdgcn.sched.barrier(i32 0)

; ---- epilogue
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 64
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr float, ptr addrspace(1) %out, i64 %out.first
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 4096, i32 822243328)
  %column0.bytes = mul nuw nsw i32 %thread_column, 4
  ; row 0
  %row0.bytes = mul nuw nsw i32 %thread_row, 256
  %m0.n0.e0.at = add i32 %row0.bytes, %column0.bytes
  %m0.n0.e0.words = bitcast <2 x float> %acc.m0.n0.last to <2 x i32>
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m0.n0.e0.words, ptr addrspace(8) %out.buffer, i32 %m0.n0.e0.at, i32 0, i32 0)
  ; row 1
  %row1 = add nuw nsw i32 %thread_row, 1
  %row1.bytes = mul nuw nsw i32 %row1, 256
  %m1.n0.e0.at = add i32 %row1.bytes, %column0.bytes
  %m1.n0.e0.words = bitcast <2 x float> %acc.m1.n0.last to <2 x i32>
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m1.n0.e0.words, ptr addrspace(8) %out.buffer, i32 %m1.n0.e0.at, i32 0, i32 0)
  ; row 2
  %row2 = add nuw nsw i32 %thread_row, 2
  %row2.bytes = mul nuw nsw i32 %row2, 256
  %m2.n0.e0.at = add i32 %row2.bytes, %column0.bytes
  %m2.n0.e0.words = bitcast <2 x float> %acc.m2.n0.last to <2 x i32>
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m2.n0.e0.words, ptr addrspace(8) %out.buffer, i32 %m2.n0.e0.at, i32 0, i32 0)
  ; row 3
  %row3 = add nuw nsw i32 %thread_row, 3
  %row3.bytes = mul nuw nsw i32 %row3, 256
  %m3.n0.e0.at = add i32 %row3.bytes, %column0.bytes
  %m3.n0.e0.words = bitcast <2 x float> %acc.m3.n0.last to <2 x i32>
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m3.n0.e0.words, ptr addrspace(8) %out.buffer, i32 %m3.n0.e0.at, i32 0, i32 0)

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1))
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32>, ptr addrspace(8), i32, i32, i32 immarg)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)

attributes #0 = {
  nounwind
  "target-cpu"="gfx1030"
  "amdgpu-flat-work-group-size"="32,32"
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
!6 = distinct !{!6, !{!"llvm.loop.unroll.count", i32 4}}
