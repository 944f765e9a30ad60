; matmul_64x64x128_f16_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    gfx1100
; schedule:  mainloop=mma,block_m=32,block_n=32,block_k=32,num_stages=2,warp_m=16,warp_n=16,group_m=1,num_xcds=1,split_k=1,num_workgroups=0,stream_k=0 (user)
; launch:    2 x 2 x 1 workgroups of 128 threads, waves of 32
; method:    K loop: 4 tiles of 32
; memory:    LDS, 8192 B
;            @a_tile: f16 [stage: 2][line of 8 k: 4][slot of 1 m: 32], 4096 B, slot = position ^ (line << 1 & 7)
;            @b_tile: f16 [stage: 2][line of 8 k: 4][slot of 1 n: 32], 4096 B, slot = position ^ (position >> 1 &
;              7)
; arguments: a: input f16[64, 128], strides [128, 1]
;            b: input f16[128, 64], strides [64, 1]
;            out: output f16[64, 64], strides [64, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [4 x [32 x [8 x half]]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [4 x [32 x [8 x half]]]] poison, align 16

define amdgpu_kernel void @matmul_64x64x128_f16_nn(
    ptr addrspace(1) noalias readonly %a,
    ptr addrspace(1) noalias readonly %b,
    ptr addrspace(1) noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %block_n = call i32 @llvm.amdgcn.workgroup.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 32
  %first_column = mul nuw nsw i32 %block_n, 32
  ; A: chunks of 1 x 8 (m x k), 4 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 128
  %a.tile.first = getelementptr half, ptr addrspace(1) %a, i64 %a.row_offset
  %a.c0.k.chunk = urem i32 %thread, 4
  %a.c0.k = mul nuw nsw i32 %a.c0.k.chunk, 8
  %a.c0.row.chunk = udiv i32 %thread, 4
  %a.c0.line = mul nuw nsw i32 %a.c0.row.chunk, 128
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k
  %a.c0.offset = zext i32 %a.c0.narrow to i64
  %a.c0.lds_line = udiv i32 %a.c0.k, 8
  %a.c0.slot.scaled = shl i32 %a.c0.lds_line, 1
  %a.c0.slot.low = and i32 %a.c0.slot.scaled, 7
  %a.c0.slot = xor i32 %a.c0.row.chunk, %a.c0.slot.low
  ; B: chunks of 4 x 2 (k x n), 16 side by side along n
  %b.first_row = zext i32 %first_column to i64
  %b.tile.first = getelementptr half, ptr addrspace(1) %b, i64 %b.first_row
  %b.c0.part = urem i32 %thread, 2
  %b.c0.group = udiv i32 %thread, 2
  %b.c0.row.chunk = urem i32 %b.c0.group, 16
  %b.c0.row = mul nuw nsw i32 %b.c0.row.chunk, 2
  %b.c0.k.chunk = udiv i32 %b.c0.group, 16
  %b.c0.k.slot = mul nuw nsw i32 %b.c0.k.chunk, 2
  %b.c0.k.part = add nuw nsw i32 %b.c0.k.slot, %b.c0.part
  %b.c0.k = mul nuw nsw i32 %b.c0.k.part, 4
  %b.c0.line = mul nuw nsw i32 %b.c0.k, 64
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.row
  %b.c0.offset = zext i32 %b.c0.narrow to i64
  %b.c0.l1.narrow = add nuw nsw i32 %b.c0.narrow, 64
  %b.c0.l1.offset = zext i32 %b.c0.l1.narrow to i64
  %b.c0.l2.narrow = add nuw nsw i32 %b.c0.narrow, 128
  %b.c0.l2.offset = zext i32 %b.c0.l2.narrow to i64
  %b.c0.l3.narrow = add nuw nsw i32 %b.c0.narrow, 192
  %b.c0.l3.offset = zext i32 %b.c0.l3.narrow to i64
  %b.c0.lds_line = udiv i32 %b.c0.k, 8
  %b.c0.element = urem i32 %b.c0.k, 8
  %b.c0.swizzled.high = lshr i32 %b.c0.row, 1
  %b.c0.swizzled.low = and i32 %b.c0.swizzled.high, 7
  %b.c0.swizzled = xor i32 %b.c0.row, %b.c0.swizzled.low
  %b.c0.p1.position = add nuw nsw i32 %b.c0.row, 1
  %b.c0.p1.swizzled.high = lshr i32 %b.c0.p1.position, 1
  %b.c0.p1.swizzled.low = and i32 %b.c0.p1.swizzled.high, 7
  %b.c0.p1.swizzled = xor i32 %b.c0.p1.position, %b.c0.p1.swizzled.low
  ; the wave's position among 2 x 2 warp tiles of 16 x 16
  %lane = and i32 %thread, 31
  %wave.of_thread = lshr i32 %thread, 5
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %wave_m = udiv i32 %wave, 2
  %wave_n = urem i32 %wave, 2
  %warp_row = mul nuw nsw i32 %wave_m, 16
  %warp_column = mul nuw nsw i32 %wave_n, 16
  ; the lane's row of A and column of B in an MMA tile, and the LDS lines that it loads; MMA tiles with
  ; the same swizzle are at constant distances
  %lane_row = and i32 %lane, 15
  %lane_group = lshr i32 %lane, 4
  %a.fragment = add nuw nsw i32 %warp_row, %lane_row
  %a.t0.slot1 = xor i32 %a.fragment, 2
  %a.t0.slot2 = xor i32 %a.fragment, 4
  %a.t0.slot3 = xor i32 %a.fragment, 6
  %b.fragment = add nuw nsw i32 %warp_column, %lane_row
  %b.t0.swizzled.high = lshr i32 %b.fragment, 1
  %b.t0.swizzled.low = and i32 %b.t0.swizzled.high, 7
  %b.t0.swizzled = xor i32 %b.fragment, %b.t0.swizzled.low

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load <8 x half>, ptr addrspace(1) %a.first.c0.l0.at, align 2
  %b.first.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load <2 x half>, ptr addrspace(1) %b.first.c0.l0.at, align 2
  %b.first.c0.l1.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c0.l1.offset
  %b.first.c0.l1 = load <2 x half>, ptr addrspace(1) %b.first.c0.l1.at, align 2
  %b.first.c0.l2.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c0.l2.offset
  %b.first.c0.l2 = load <2 x half>, ptr addrspace(1) %b.first.c0.l2.at, align 2
  %b.first.c0.l3.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c0.l3.offset
  %b.first.c0.l3 = load <2 x half>, ptr addrspace(1) %b.first.c0.l3.at, align 2
  %a.first.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.first.c0.l0, ptr addrspace(3) %a.first.c0.s0.at, align 16
  %b.first.c0.l0.0 = extractelement <2 x half> %b.first.c0.l0, i32 0
  %b.first.c0.l0.1 = extractelement <2 x half> %b.first.c0.l0, i32 1
  %b.first.c0.l1.0 = extractelement <2 x half> %b.first.c0.l1, i32 0
  %b.first.c0.l1.1 = extractelement <2 x half> %b.first.c0.l1, i32 1
  %b.first.c0.l2.0 = extractelement <2 x half> %b.first.c0.l2, i32 0
  %b.first.c0.l2.1 = extractelement <2 x half> %b.first.c0.l2, i32 1
  %b.first.c0.l3.0 = extractelement <2 x half> %b.first.c0.l3, i32 0
  %b.first.c0.l3.1 = extractelement <2 x half> %b.first.c0.l3, i32 1
  %b.first.c0.s0.0 = insertelement <4 x half> poison, half %b.first.c0.l0.0, i32 0
  %b.first.c0.s0.1 = insertelement <4 x half> %b.first.c0.s0.0, half %b.first.c0.l1.0, i32 1
  %b.first.c0.s0.2 = insertelement <4 x half> %b.first.c0.s0.1, half %b.first.c0.l2.0, i32 2
  %b.first.c0.s0 = insertelement <4 x half> %b.first.c0.s0.2, half %b.first.c0.l3.0, i32 3
  %b.first.c0.s1.0 = insertelement <4 x half> poison, half %b.first.c0.l0.1, i32 0
  %b.first.c0.s1.1 = insertelement <4 x half> %b.first.c0.s1.0, half %b.first.c0.l1.1, i32 1
  %b.first.c0.s1.2 = insertelement <4 x half> %b.first.c0.s1.1, half %b.first.c0.l2.1, i32 2
  %b.first.c0.s1 = insertelement <4 x half> %b.first.c0.s1.2, half %b.first.c0.l3.1, i32 3
  %b.first.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x half> %b.first.c0.s0, ptr addrspace(3) %b.first.c0.s0.at, align 8
  %b.first.c0.s1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x half> %b.first.c0.s1, ptr addrspace(3) %b.first.c0.s1.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %peeled

; ---- mainloop: remainder step
peeled:
  %a.tile.peeled = getelementptr half, ptr addrspace(1) %a.tile.first, i64 32
  %b.tile.peeled = getelementptr half, ptr addrspace(1) %b.tile.first, i64 2048
  %a.peeled.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.peeled, i64 %a.c0.offset
  %a.peeled.c0.l0 = load <8 x half>, ptr addrspace(1) %a.peeled.c0.l0.at, align 2
  %b.peeled.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.peeled, i64 %b.c0.offset
  %b.peeled.c0.l0 = load <2 x half>, ptr addrspace(1) %b.peeled.c0.l0.at, align 2
  %b.peeled.c0.l1.at = getelementptr half, ptr addrspace(1) %b.tile.peeled, i64 %b.c0.l1.offset
  %b.peeled.c0.l1 = load <2 x half>, ptr addrspace(1) %b.peeled.c0.l1.at, align 2
  %b.peeled.c0.l2.at = getelementptr half, ptr addrspace(1) %b.tile.peeled, i64 %b.c0.l2.offset
  %b.peeled.c0.l2 = load <2 x half>, ptr addrspace(1) %b.peeled.c0.l2.at, align 2
  %b.peeled.c0.l3.at = getelementptr half, ptr addrspace(1) %b.tile.peeled, i64 %b.c0.l3.offset
  %b.peeled.c0.l3 = load <2 x half>, ptr addrspace(1) %b.peeled.c0.l3.at, align 2
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.peeled.0.g0.line0.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 0, i32 %a.fragment, i32 0
  %a.peeled.0.g0.line0 = load <8 x half>, ptr addrspace(3) %a.peeled.0.g0.line0.first, align 16
  %a.peeled.0.g0.line1.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 1, i32 %a.t0.slot1, i32 0
  %a.peeled.0.g0.line1 = load <8 x half>, ptr addrspace(3) %a.peeled.0.g0.line1.first, align 16
  %a.peeled.0.g0 = shufflevector <8 x half> %a.peeled.0.g0.line0, <8 x half> %a.peeled.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.peeled.0.g0.line0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 0, i32 %b.t0.swizzled, i32 0
  %b.peeled.0.g0.line0 = load <8 x half>, ptr addrspace(3) %b.peeled.0.g0.line0.at, align 16
  %b.peeled.0.g0.line1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 1, i32 %b.t0.swizzled, i32 0
  %b.peeled.0.g0.line1 = load <8 x half>, ptr addrspace(3) %b.peeled.0.g0.line1.at, align 16
  %b.peeled.0.g0 = shufflevector <8 x half> %b.peeled.0.g0.line0, <8 x half> %b.peeled.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.peeled.s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.peeled.0.g0, <16 x half> %b.peeled.0.g0, <8 x float> zeroinitializer)
  ; depths from 16 on
  %a.peeled.0.g1.line2.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 2, i32 %a.t0.slot2, i32 0
  %a.peeled.0.g1.line2 = load <8 x half>, ptr addrspace(3) %a.peeled.0.g1.line2.first, align 16
  %a.peeled.0.g1.line3.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 3, i32 %a.t0.slot3, i32 0
  %a.peeled.0.g1.line3 = load <8 x half>, ptr addrspace(3) %a.peeled.0.g1.line3.first, align 16
  %a.peeled.0.g1 = shufflevector <8 x half> %a.peeled.0.g1.line2, <8 x half> %a.peeled.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.peeled.0.g1.line2.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 2, i32 %b.t0.swizzled, i32 0
  %b.peeled.0.g1.line2 = load <8 x half>, ptr addrspace(3) %b.peeled.0.g1.line2.at, align 16
  %b.peeled.0.g1.line3.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 3, i32 %b.t0.swizzled, i32 0
  %b.peeled.0.g1.line3 = load <8 x half>, ptr addrspace(3) %b.peeled.0.g1.line3.at, align 16
  %b.peeled.0.g1 = shufflevector <8 x half> %b.peeled.0.g1.line2, <8 x half> %b.peeled.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.peeled = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.peeled.0.g1, <16 x half> %b.peeled.0.g1, <8 x float> %acc.m0.n0.peeled.s0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.peeled.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.peeled.c0.l0, ptr addrspace(3) %a.peeled.c0.s0.at, align 16
  %b.peeled.c0.l0.0 = extractelement <2 x half> %b.peeled.c0.l0, i32 0
  %b.peeled.c0.l0.1 = extractelement <2 x half> %b.peeled.c0.l0, i32 1
  %b.peeled.c0.l1.0 = extractelement <2 x half> %b.peeled.c0.l1, i32 0
  %b.peeled.c0.l1.1 = extractelement <2 x half> %b.peeled.c0.l1, i32 1
  %b.peeled.c0.l2.0 = extractelement <2 x half> %b.peeled.c0.l2, i32 0
  %b.peeled.c0.l2.1 = extractelement <2 x half> %b.peeled.c0.l2, i32 1
  %b.peeled.c0.l3.0 = extractelement <2 x half> %b.peeled.c0.l3, i32 0
  %b.peeled.c0.l3.1 = extractelement <2 x half> %b.peeled.c0.l3, i32 1
  %b.peeled.c0.s0.0 = insertelement <4 x half> poison, half %b.peeled.c0.l0.0, i32 0
  %b.peeled.c0.s0.1 = insertelement <4 x half> %b.peeled.c0.s0.0, half %b.peeled.c0.l1.0, i32 1
  %b.peeled.c0.s0.2 = insertelement <4 x half> %b.peeled.c0.s0.1, half %b.peeled.c0.l2.0, i32 2
  %b.peeled.c0.s0 = insertelement <4 x half> %b.peeled.c0.s0.2, half %b.peeled.c0.l3.0, i32 3
  %b.peeled.c0.s1.0 = insertelement <4 x half> poison, half %b.peeled.c0.l0.1, i32 0
  %b.peeled.c0.s1.1 = insertelement <4 x half> %b.peeled.c0.s1.0, half %b.peeled.c0.l1.1, i32 1
  %b.peeled.c0.s1.2 = insertelement <4 x half> %b.peeled.c0.s1.1, half %b.peeled.c0.l2.1, i32 2
  %b.peeled.c0.s1 = insertelement <4 x half> %b.peeled.c0.s1.2, half %b.peeled.c0.l3.1, i32 3
  %b.peeled.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x half> %b.peeled.c0.s0, ptr addrspace(3) %b.peeled.c0.s0.at, align 8
  %b.peeled.c0.s1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x half> %b.peeled.c0.s1, ptr addrspace(3) %b.peeled.c0.s1.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %b.tile.loop.near = getelementptr half, ptr addrspace(1) %b.tile.peeled, i64 2048
  %b.tile.loop.first = call ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1) %b.tile.loop.near)
  %b.tile.loop.second.near = getelementptr half, ptr addrspace(1) %b.tile.peeled, i64 4096
  %b.tile.loop.second.first = call ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1) %b.tile.loop.second.near)
  br label %loop

; ---- mainloop: load tile i + 1, multiply tile i
loop:
  %trip = phi i32 [ 0, %peeled ], [ %trip.next, %loop.second ]
  %a.tile.start = phi ptr addrspace(1) [ %a.tile.peeled, %peeled ], [ %a.tile.loop.second, %loop.second ]
  %b.tile.loop = phi ptr addrspace(1) [ %b.tile.loop.first, %peeled ], [ %b.tile.loop.next, %loop.second ]
  %b.tile.loop.second = phi ptr addrspace(1) [ %b.tile.loop.second.first, %peeled ], [ %b.tile.loop.second.next, %loop.second ]
  %acc.m0.n0.start = phi <8 x float> [ %acc.m0.n0.peeled, %peeled ], [ %acc.m0.n0.loop.second, %loop.second ]
  %a.tile.loop = getelementptr half, ptr addrspace(1) %a.tile.start, i64 32
  %a.loop.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.loop, i64 %a.c0.offset
  %a.loop.c0.l0 = load <8 x half>, ptr addrspace(1) %a.loop.c0.l0.at, align 2
  %b.loop.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 %b.c0.offset
  %b.loop.c0.l0 = load <2 x half>, ptr addrspace(1) %b.loop.c0.l0.at, align 2
  %b.loop.c0.l1.at = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 %b.c0.l1.offset
  %b.loop.c0.l1 = load <2 x half>, ptr addrspace(1) %b.loop.c0.l1.at, align 2
  %b.loop.c0.l2.at = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 %b.c0.l2.offset
  %b.loop.c0.l2 = load <2 x half>, ptr addrspace(1) %b.loop.c0.l2.at, align 2
  %b.loop.c0.l3.at = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 %b.c0.l3.offset
  %b.loop.c0.l3 = load <2 x half>, ptr addrspace(1) %b.loop.c0.l3.at, align 2
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.loop.0.g0.line0.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 0, i32 %a.fragment, i32 0
  %a.loop.0.g0.line0 = load <8 x half>, ptr addrspace(3) %a.loop.0.g0.line0.first, align 16
  %a.loop.0.g0.line1.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 1, i32 %a.t0.slot1, i32 0
  %a.loop.0.g0.line1 = load <8 x half>, ptr addrspace(3) %a.loop.0.g0.line1.first, align 16
  %a.loop.0.g0 = shufflevector <8 x half> %a.loop.0.g0.line0, <8 x half> %a.loop.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.loop.0.g0.line0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 0, i32 %b.t0.swizzled, i32 0
  %b.loop.0.g0.line0 = load <8 x half>, ptr addrspace(3) %b.loop.0.g0.line0.at, align 16
  %b.loop.0.g0.line1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 1, i32 %b.t0.swizzled, i32 0
  %b.loop.0.g0.line1 = load <8 x half>, ptr addrspace(3) %b.loop.0.g0.line1.at, align 16
  %b.loop.0.g0 = shufflevector <8 x half> %b.loop.0.g0.line0, <8 x half> %b.loop.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.loop.s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.loop.0.g0, <16 x half> %b.loop.0.g0, <8 x float> %acc.m0.n0.start)
  ; depths from 16 on
  %a.loop.0.g1.line2.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 2, i32 %a.t0.slot2, i32 0
  %a.loop.0.g1.line2 = load <8 x half>, ptr addrspace(3) %a.loop.0.g1.line2.first, align 16
  %a.loop.0.g1.line3.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 3, i32 %a.t0.slot3, i32 0
  %a.loop.0.g1.line3 = load <8 x half>, ptr addrspace(3) %a.loop.0.g1.line3.first, align 16
  %a.loop.0.g1 = shufflevector <8 x half> %a.loop.0.g1.line2, <8 x half> %a.loop.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.loop.0.g1.line2.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 2, i32 %b.t0.swizzled, i32 0
  %b.loop.0.g1.line2 = load <8 x half>, ptr addrspace(3) %b.loop.0.g1.line2.at, align 16
  %b.loop.0.g1.line3.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 3, i32 %b.t0.swizzled, i32 0
  %b.loop.0.g1.line3 = load <8 x half>, ptr addrspace(3) %b.loop.0.g1.line3.at, align 16
  %b.loop.0.g1 = shufflevector <8 x half> %b.loop.0.g1.line2, <8 x half> %b.loop.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.loop = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.loop.0.g1, <16 x half> %b.loop.0.g1, <8 x float> %acc.m0.n0.loop.s0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.loop.c0.l0, ptr addrspace(3) %a.loop.c0.s0.at, align 16
  %b.loop.c0.l0.0 = extractelement <2 x half> %b.loop.c0.l0, i32 0
  %b.loop.c0.l0.1 = extractelement <2 x half> %b.loop.c0.l0, i32 1
  %b.loop.c0.l1.0 = extractelement <2 x half> %b.loop.c0.l1, i32 0
  %b.loop.c0.l1.1 = extractelement <2 x half> %b.loop.c0.l1, i32 1
  %b.loop.c0.l2.0 = extractelement <2 x half> %b.loop.c0.l2, i32 0
  %b.loop.c0.l2.1 = extractelement <2 x half> %b.loop.c0.l2, i32 1
  %b.loop.c0.l3.0 = extractelement <2 x half> %b.loop.c0.l3, i32 0
  %b.loop.c0.l3.1 = extractelement <2 x half> %b.loop.c0.l3, i32 1
  %b.loop.c0.s0.0 = insertelement <4 x half> poison, half %b.loop.c0.l0.0, i32 0
  %b.loop.c0.s0.1 = insertelement <4 x half> %b.loop.c0.s0.0, half %b.loop.c0.l1.0, i32 1
  %b.loop.c0.s0.2 = insertelement <4 x half> %b.loop.c0.s0.1, half %b.loop.c0.l2.0, i32 2
  %b.loop.c0.s0 = insertelement <4 x half> %b.loop.c0.s0.2, half %b.loop.c0.l3.0, i32 3
  %b.loop.c0.s1.0 = insertelement <4 x half> poison, half %b.loop.c0.l0.1, i32 0
  %b.loop.c0.s1.1 = insertelement <4 x half> %b.loop.c0.s1.0, half %b.loop.c0.l1.1, i32 1
  %b.loop.c0.s1.2 = insertelement <4 x half> %b.loop.c0.s1.1, half %b.loop.c0.l2.1, i32 2
  %b.loop.c0.s1 = insertelement <4 x half> %b.loop.c0.s1.2, half %b.loop.c0.l3.1, i32 3
  %b.loop.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x half> %b.loop.c0.s0, ptr addrspace(3) %b.loop.c0.s0.at, align 8
  %b.loop.c0.s1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x half> %b.loop.c0.s1, ptr addrspace(3) %b.loop.c0.s1.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop.second
loop.second:
  %a.tile.loop.second = getelementptr half, ptr addrspace(1) %a.tile.loop, i64 32
  %a.loop.second.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.offset
  %a.loop.second.c0.l0 = load <8 x half>, ptr addrspace(1) %a.loop.second.c0.l0.at, align 2
  %b.loop.second.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.offset
  %b.loop.second.c0.l0 = load <2 x half>, ptr addrspace(1) %b.loop.second.c0.l0.at, align 2
  %b.loop.second.c0.l1.at = getelementptr half, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l1.offset
  %b.loop.second.c0.l1 = load <2 x half>, ptr addrspace(1) %b.loop.second.c0.l1.at, align 2
  %b.loop.second.c0.l2.at = getelementptr half, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l2.offset
  %b.loop.second.c0.l2 = load <2 x half>, ptr addrspace(1) %b.loop.second.c0.l2.at, align 2
  %b.loop.second.c0.l3.at = getelementptr half, ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l3.offset
  %b.loop.second.c0.l3 = load <2 x half>, ptr addrspace(1) %b.loop.second.c0.l3.at, align 2
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.loop.second.0.g0.line0.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 0, i32 %a.fragment, i32 0
  %a.loop.second.0.g0.line0 = load <8 x half>, ptr addrspace(3) %a.loop.second.0.g0.line0.first, align 16
  %a.loop.second.0.g0.line1.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 1, i32 %a.t0.slot1, i32 0
  %a.loop.second.0.g0.line1 = load <8 x half>, ptr addrspace(3) %a.loop.second.0.g0.line1.first, align 16
  %a.loop.second.0.g0 = shufflevector <8 x half> %a.loop.second.0.g0.line0, <8 x half> %a.loop.second.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.loop.second.0.g0.line0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 0, i32 %b.t0.swizzled, i32 0
  %b.loop.second.0.g0.line0 = load <8 x half>, ptr addrspace(3) %b.loop.second.0.g0.line0.at, align 16
  %b.loop.second.0.g0.line1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 1, i32 %b.t0.swizzled, i32 0
  %b.loop.second.0.g0.line1 = load <8 x half>, ptr addrspace(3) %b.loop.second.0.g0.line1.at, align 16
  %b.loop.second.0.g0 = shufflevector <8 x half> %b.loop.second.0.g0.line0, <8 x half> %b.loop.second.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.loop.second.s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.loop.second.0.g0, <16 x half> %b.loop.second.0.g0, <8 x float> %acc.m0.n0.loop)
  ; depths from 16 on
  %a.loop.second.0.g1.line2.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 2, i32 %a.t0.slot2, i32 0
  %a.loop.second.0.g1.line2 = load <8 x half>, ptr addrspace(3) %a.loop.second.0.g1.line2.first, align 16
  %a.loop.second.0.g1.line3.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 3, i32 %a.t0.slot3, i32 0
  %a.loop.second.0.g1.line3 = load <8 x half>, ptr addrspace(3) %a.loop.second.0.g1.line3.first, align 16
  %a.loop.second.0.g1 = shufflevector <8 x half> %a.loop.second.0.g1.line2, <8 x half> %a.loop.second.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.loop.second.0.g1.line2.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 2, i32 %b.t0.swizzled, i32 0
  %b.loop.second.0.g1.line2 = load <8 x half>, ptr addrspace(3) %b.loop.second.0.g1.line2.at, align 16
  %b.loop.second.0.g1.line3.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 3, i32 %b.t0.swizzled, i32 0
  %b.loop.second.0.g1.line3 = load <8 x half>, ptr addrspace(3) %b.loop.second.0.g1.line3.at, align 16
  %b.loop.second.0.g1 = shufflevector <8 x half> %b.loop.second.0.g1.line2, <8 x half> %b.loop.second.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.loop.second = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.loop.second.0.g1, <16 x half> %b.loop.second.0.g1, <8 x float> %acc.m0.n0.loop.second.s0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.second.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.loop.second.c0.l0, ptr addrspace(3) %a.loop.second.c0.s0.at, align 16
  %b.loop.second.c0.l0.0 = extractelement <2 x half> %b.loop.second.c0.l0, i32 0
  %b.loop.second.c0.l0.1 = extractelement <2 x half> %b.loop.second.c0.l0, i32 1
  %b.loop.second.c0.l1.0 = extractelement <2 x half> %b.loop.second.c0.l1, i32 0
  %b.loop.second.c0.l1.1 = extractelement <2 x half> %b.loop.second.c0.l1, i32 1
  %b.loop.second.c0.l2.0 = extractelement <2 x half> %b.loop.second.c0.l2, i32 0
  %b.loop.second.c0.l2.1 = extractelement <2 x half> %b.loop.second.c0.l2, i32 1
  %b.loop.second.c0.l3.0 = extractelement <2 x half> %b.loop.second.c0.l3, i32 0
  %b.loop.second.c0.l3.1 = extractelement <2 x half> %b.loop.second.c0.l3, i32 1
  %b.loop.second.c0.s0.0 = insertelement <4 x half> poison, half %b.loop.second.c0.l0.0, i32 0
  %b.loop.second.c0.s0.1 = insertelement <4 x half> %b.loop.second.c0.s0.0, half %b.loop.second.c0.l1.0, i32 1
  %b.loop.second.c0.s0.2 = insertelement <4 x half> %b.loop.second.c0.s0.1, half %b.loop.second.c0.l2.0, i32 2
  %b.loop.second.c0.s0 = insertelement <4 x half> %b.loop.second.c0.s0.2, half %b.loop.second.c0.l3.0, i32 3
  %b.loop.second.c0.s1.0 = insertelement <4 x half> poison, half %b.loop.second.c0.l0.1, i32 0
  %b.loop.second.c0.s1.1 = insertelement <4 x half> %b.loop.second.c0.s1.0, half %b.loop.second.c0.l1.1, i32 1
  %b.loop.second.c0.s1.2 = insertelement <4 x half> %b.loop.second.c0.s1.1, half %b.loop.second.c0.l2.1, i32 2
  %b.loop.second.c0.s1 = insertelement <4 x half> %b.loop.second.c0.s1.2, half %b.loop.second.c0.l3.1, i32 3
  %b.loop.second.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x half> %b.loop.second.c0.s0, ptr addrspace(3) %b.loop.second.c0.s0.at, align 8
  %b.loop.second.c0.s1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x half> %b.loop.second.c0.s1, ptr addrspace(3) %b.loop.second.c0.s1.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %b.tile.loop.next = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 4096
  %b.tile.loop.second.next = getelementptr half, ptr addrspace(1) %b.tile.loop.second, i64 4096
  %trip.next = add nuw nsw i32 %trip, 1
  %more = icmp ult i32 %trip.next, 1
  br i1 %more, label %loop, label %last, !llvm.loop !2

; ---- mainloop: multiply the last tile
last:
  ; depths from 0 on
  %a.last.0.g0.line0.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 0, i32 %a.fragment, i32 0
  %a.last.0.g0.line0 = load <8 x half>, ptr addrspace(3) %a.last.0.g0.line0.first, align 16
  %a.last.0.g0.line1.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 1, i32 %a.t0.slot1, i32 0
  %a.last.0.g0.line1 = load <8 x half>, ptr addrspace(3) %a.last.0.g0.line1.first, align 16
  %a.last.0.g0 = shufflevector <8 x half> %a.last.0.g0.line0, <8 x half> %a.last.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.last.0.g0.line0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 0, i32 %b.t0.swizzled, i32 0
  %b.last.0.g0.line0 = load <8 x half>, ptr addrspace(3) %b.last.0.g0.line0.at, align 16
  %b.last.0.g0.line1.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 1, i32 %b.t0.swizzled, i32 0
  %b.last.0.g0.line1 = load <8 x half>, ptr addrspace(3) %b.last.0.g0.line1.at, align 16
  %b.last.0.g0 = shufflevector <8 x half> %b.last.0.g0.line0, <8 x half> %b.last.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.last.s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.last.0.g0, <16 x half> %b.last.0.g0, <8 x float> %acc.m0.n0.loop.second)
  ; depths from 16 on
  %a.last.0.g1.line2.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 2, i32 %a.t0.slot2, i32 0
  %a.last.0.g1.line2 = load <8 x half>, ptr addrspace(3) %a.last.0.g1.line2.first, align 16
  %a.last.0.g1.line3.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 3, i32 %a.t0.slot3, i32 0
  %a.last.0.g1.line3 = load <8 x half>, ptr addrspace(3) %a.last.0.g1.line3.first, align 16
  %a.last.0.g1 = shufflevector <8 x half> %a.last.0.g1.line2, <8 x half> %a.last.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.last.0.g1.line2.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 2, i32 %b.t0.swizzled, i32 0
  %b.last.0.g1.line2 = load <8 x half>, ptr addrspace(3) %b.last.0.g1.line2.at, align 16
  %b.last.0.g1.line3.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 3, i32 %b.t0.swizzled, i32 0
  %b.last.0.g1.line3 = load <8 x half>, ptr addrspace(3) %b.last.0.g1.line3.at, align 16
  %b.last.0.g1 = shufflevector <8 x half> %b.last.0.g1.line2, <8 x half> %b.last.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.last = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.last.0.g1, <16 x half> %b.last.0.g1, <8 x float> %acc.m0.n0.last.s0)
  call void @llvm.amdgcn.sched.barrier(i32 0)

; ---- epilogue: result register r of a lane is one row of an MMA tile
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 64
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr half, ptr addrspace(1) %out, i64 %out.first
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 4096, i32 822243328)
  %out.row = add nuw nsw i32 %warp_row, %lane_group
  %out.column = add nuw nsw i32 %warp_column, %lane_row
  %column0.bytes = mul nuw nsw i32 %out.column, 2
  ; row 0
  %row.m0.r0.bytes = mul nuw nsw i32 %out.row, 128
  %m0.c0.r0 = extractelement <8 x float> %acc.m0.n0.last, i32 0
  %m0.c0.r0.at = add i32 %row.m0.r0.bytes, %column0.bytes
  %m0.c0.r0.rounded = fptrunc float %m0.c0.r0 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r0.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r0.at, i32 0, i32 0)
  ; row 2
  %row.m0.r1 = add nuw nsw i32 %out.row, 2
  %row.m0.r1.bytes = mul nuw nsw i32 %row.m0.r1, 128
  %m0.c0.r1 = extractelement <8 x float> %acc.m0.n0.last, i32 1
  %m0.c0.r1.at = add i32 %row.m0.r1.bytes, %column0.bytes
  %m0.c0.r1.rounded = fptrunc float %m0.c0.r1 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r1.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r1.at, i32 0, i32 0)
  ; row 4
  %row.m0.r2 = add nuw nsw i32 %out.row, 4
  %row.m0.r2.bytes = mul nuw nsw i32 %row.m0.r2, 128
  %m0.c0.r2 = extractelement <8 x float> %acc.m0.n0.last, i32 2
  %m0.c0.r2.at = add i32 %row.m0.r2.bytes, %column0.bytes
  %m0.c0.r2.rounded = fptrunc float %m0.c0.r2 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r2.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r2.at, i32 0, i32 0)
  ; row 6
  %row.m0.r3 = add nuw nsw i32 %out.row, 6
  %row.m0.r3.bytes = mul nuw nsw i32 %row.m0.r3, 128
  %m0.c0.r3 = extractelement <8 x float> %acc.m0.n0.last, i32 3
  %m0.c0.r3.at = add i32 %row.m0.r3.bytes, %column0.bytes
  %m0.c0.r3.rounded = fptrunc float %m0.c0.r3 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r3.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r3.at, i32 0, i32 0)
  ; row 8
  %row.m0.r4 = add nuw nsw i32 %out.row, 8
  %row.m0.r4.bytes = mul nuw nsw i32 %row.m0.r4, 128
  %m0.c0.r4 = extractelement <8 x float> %acc.m0.n0.last, i32 4
  %m0.c0.r4.at = add i32 %row.m0.r4.bytes, %column0.bytes
  %m0.c0.r4.rounded = fptrunc float %m0.c0.r4 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r4.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r4.at, i32 0, i32 0)
  ; row 10
  %row.m0.r5 = add nuw nsw i32 %out.row, 10
  %row.m0.r5.bytes = mul nuw nsw i32 %row.m0.r5, 128
  %m0.c0.r5 = extractelement <8 x float> %acc.m0.n0.last, i32 5
  %m0.c0.r5.at = add i32 %row.m0.r5.bytes, %column0.bytes
  %m0.c0.r5.rounded = fptrunc float %m0.c0.r5 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r5.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r5.at, i32 0, i32 0)
  ; row 12
  %row.m0.r6 = add nuw nsw i32 %out.row, 12
  %row.m0.r6.bytes = mul nuw nsw i32 %row.m0.r6, 128
  %m0.c0.r6 = extractelement <8 x float> %acc.m0.n0.last, i32 6
  %m0.c0.r6.at = add i32 %row.m0.r6.bytes, %column0.bytes
  %m0.c0.r6.rounded = fptrunc float %m0.c0.r6 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r6.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r6.at, i32 0, i32 0)
  ; row 14
  %row.m0.r7 = add nuw nsw i32 %out.row, 14
  %row.m0.r7.bytes = mul nuw nsw i32 %row.m0.r7, 128
  %m0.c0.r7 = extractelement <8 x float> %acc.m0.n0.last, i32 7
  %m0.c0.r7.at = add i32 %row.m0.r7.bytes, %column0.bytes
  %m0.c0.r7.rounded = fptrunc float %m0.c0.r7 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r7.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r7.at, i32 0, i32 0)

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
declare void @llvm.amdgcn.raw.ptr.buffer.store.f16(half, ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)

attributes #0 = {
  nounwind
  "target-cpu"="gfx1100"
  "target-features"="-real-true16"
  "amdgpu-flat-work-group-size"="128,128"
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
