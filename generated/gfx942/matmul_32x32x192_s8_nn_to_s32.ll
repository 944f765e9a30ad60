; matmul_32x32x192_s8_nn_to_s32
;
; computes:  out = A @ B, accumulated in s32
; target:    gfx942
; schedule:  mainloop=mma,block_m=32,block_n=32,block_k=64,num_stages=2,warp_m=16,warp_n=32,group_m=1,num_xcds=1,split_k=1,num_workgroups=0,stream_k=0 (user)
; launch:    1 x 1 x 1 workgroups of 128 threads, waves of 64
; method:    K loop: 3 tiles of 64
; memory:    LDS, 8192 B
;            @a_tile: s8 [stage: 2][line of 16 k: 4][slot of 1 m: 32], 4096 B, slot = position ^ (line << 1 & 7)
;            @b_tile: s8 [stage: 2][line of 16 k: 4][slot of 1 n: 32], 4096 B, slot = position ^ (position >> 1 &
;              7)
; arguments: a: input s8[32, 192], strides [192, 1]
;            b: input s8[192, 32], strides [32, 1]
;            out: output s32[32, 32], strides [32, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [4 x [32 x [16 x i8]]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [4 x [32 x [16 x i8]]]] poison, align 16

define amdgpu_kernel void @matmul_32x32x192_s8_nn_to_s32(
    ptr addrspace(1) inreg noalias readonly %a,
    ptr addrspace(1) inreg noalias readonly %b,
    ptr addrspace(1) inreg noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %block_n = call i32 @llvm.amdgcn.workgroup.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 32
  %first_column = mul nuw nsw i32 %block_n, 32
  ; A: chunks of 1 x 16 (m x k), 4 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 192
  %a.tile.first = getelementptr i8, ptr addrspace(1) %a, i64 %a.row_offset
  %a.c0.k.chunk = urem i32 %thread, 4
  %a.c0.k = mul nuw nsw i32 %a.c0.k.chunk, 16
  %a.c0.row.chunk = udiv i32 %thread, 4
  %a.c0.line = mul nuw nsw i32 %a.c0.row.chunk, 192
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k
  %a.c0.units = udiv i32 %a.c0.narrow, 2
  %a.c0.offset = zext i32 %a.c0.units to i64
  %a.c0.lds_line = udiv i32 %a.c0.k, 16
  %a.c0.slot.scaled = shl i32 %a.c0.lds_line, 1
  %a.c0.slot.low = and i32 %a.c0.slot.scaled, 7
  %a.c0.slot = xor i32 %a.c0.row.chunk, %a.c0.slot.low
  ; B: chunks of 4 x 4 (k x n), 8 side by side along n
  %b.first_row = zext i32 %first_column to i64
  %b.tile.first = getelementptr i8, ptr addrspace(1) %b, i64 %b.first_row
  %b.c0.part = urem i32 %thread, 4
  %b.c0.group = udiv i32 %thread, 4
  %b.c0.row.chunk = urem i32 %b.c0.group, 8
  %b.c0.row = mul nuw nsw i32 %b.c0.row.chunk, 4
  %b.c0.k.chunk = udiv i32 %b.c0.group, 8
  %b.c0.k.slot = mul nuw nsw i32 %b.c0.k.chunk, 4
  %b.c0.k.part = add nuw nsw i32 %b.c0.k.slot, %b.c0.part
  %b.c0.k = mul nuw nsw i32 %b.c0.k.part, 4
  %b.c0.line = mul nuw nsw i32 %b.c0.k, 32
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.row
  %b.c0.units = udiv i32 %b.c0.narrow, 2
  %b.c0.offset = zext i32 %b.c0.units to i64
  %b.c0.l1.narrow = add nuw nsw i32 %b.c0.narrow, 32
  %b.c0.l1.units = udiv i32 %b.c0.l1.narrow, 2
  %b.c0.l1.offset = zext i32 %b.c0.l1.units to i64
  %b.c0.l2.narrow = add nuw nsw i32 %b.c0.narrow, 64
  %b.c0.l2.units = udiv i32 %b.c0.l2.narrow, 2
  %b.c0.l2.offset = zext i32 %b.c0.l2.units to i64
  %b.c0.l3.narrow = add nuw nsw i32 %b.c0.narrow, 96
  %b.c0.l3.units = udiv i32 %b.c0.l3.narrow, 2
  %b.c0.l3.offset = zext i32 %b.c0.l3.units to i64
  %b.c0.lds_line = udiv i32 %b.c0.k, 16
  %b.c0.element = urem i32 %b.c0.k, 16
  ; in every block of 32 rows, rows 2 apart are adjacent
  %b.c0.position.first = urem i32 %b.c0.row, 32
  %b.c0.position.block = sub nuw nsw i32 %b.c0.row, %b.c0.position.first
  %b.c0.position.tile = urem i32 %b.c0.row, 2
  %b.c0.position.lane = udiv i32 %b.c0.position.first, 2
  %b.c0.position.tile_start = mul nuw nsw i32 %b.c0.position.tile, 16
  %b.c0.position.in_block = add nuw nsw i32 %b.c0.position.tile_start, %b.c0.position.lane
  %b.c0.position = add nuw nsw i32 %b.c0.position.block, %b.c0.position.in_block
  %b.c0.swizzled.high = lshr i32 %b.c0.position, 1
  %b.c0.swizzled.low = and i32 %b.c0.swizzled.high, 7
  %b.c0.swizzled = xor i32 %b.c0.position, %b.c0.swizzled.low
  %b.c0.p1.position = add nuw nsw i32 %b.c0.position, 1
  %b.c0.p1.swizzled.high = lshr i32 %b.c0.p1.position, 1
  %b.c0.p1.swizzled.low = and i32 %b.c0.p1.swizzled.high, 7
  %b.c0.p1.swizzled = xor i32 %b.c0.p1.position, %b.c0.p1.swizzled.low
  %b.c0.p16.position = add nuw nsw i32 %b.c0.position, 16
  %b.c0.p16.swizzled.high = lshr i32 %b.c0.p16.position, 1
  %b.c0.p16.swizzled.low = and i32 %b.c0.p16.swizzled.high, 7
  %b.c0.p16.swizzled = xor i32 %b.c0.p16.position, %b.c0.p16.swizzled.low
  %b.c0.p17.position = add nuw nsw i32 %b.c0.position, 17
  %b.c0.p17.swizzled.high = lshr i32 %b.c0.p17.position, 1
  %b.c0.p17.swizzled.low = and i32 %b.c0.p17.swizzled.high, 7
  %b.c0.p17.swizzled = xor i32 %b.c0.p17.position, %b.c0.p17.swizzled.low
  ; the wave's position among 2 x 1 warp tiles of 16 x 32
  %lane = and i32 %thread, 63
  %wave.of_thread = lshr i32 %thread, 6
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %warp_row = mul nuw nsw i32 %wave, 16
  ; the lane's row of A and column of B in an MMA tile, and the LDS lines that it loads; MMA tiles with
  ; the same swizzle are at constant distances
  %lane_row = and i32 %lane, 15
  %lane_group = lshr i32 %lane, 4
  %a.fragment = add nuw nsw i32 %warp_row, %lane_row
  %a.t0.slot0.scaled = shl i32 %lane_group, 1
  %a.t0.slot0.low = and i32 %a.t0.slot0.scaled, 7
  %a.t0.slot0 = xor i32 %a.fragment, %a.t0.slot0.low
  %b.t0.swizzled.high = lshr i32 %lane_row, 1
  %b.t0.swizzled.low = and i32 %b.t0.swizzled.high, 7
  %b.t0.swizzled = xor i32 %lane_row, %b.t0.swizzled.low
  %b.t1.position = add nuw nsw i32 %lane_row, 16
  %b.t1.swizzled.high = lshr i32 %b.t1.position, 1
  %b.t1.swizzled.low = and i32 %b.t1.swizzled.high, 7
  %b.t1.swizzled = xor i32 %b.t1.position, %b.t1.swizzled.low

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load <16 x i8>, ptr addrspace(1) %a.first.c0.l0.at, align 1
  %b.first.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load <4 x i8>, ptr addrspace(1) %b.first.c0.l0.at, align 1
  %b.first.c0.l1.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.first, i64 %b.c0.l1.offset
  %b.first.c0.l1 = load <4 x i8>, ptr addrspace(1) %b.first.c0.l1.at, align 1
  %b.first.c0.l2.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.first, i64 %b.c0.l2.offset
  %b.first.c0.l2 = load <4 x i8>, ptr addrspace(1) %b.first.c0.l2.at, align 1
  %b.first.c0.l3.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.first, i64 %b.c0.l3.offset
  %b.first.c0.l3 = load <4 x i8>, ptr addrspace(1) %b.first.c0.l3.at, align 1
  %a.first.c0.s0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <16 x i8> %a.first.c0.l0, ptr addrspace(3) %a.first.c0.s0.at, align 16
  %b.first.c0.l0.words = bitcast <4 x i8> %b.first.c0.l0 to <1 x i32>
  %b.first.c0.l1.words = bitcast <4 x i8> %b.first.c0.l1 to <1 x i32>
  %b.first.c0.l2.words = bitcast <4 x i8> %b.first.c0.l2 to <1 x i32>
  %b.first.c0.l3.words = bitcast <4 x i8> %b.first.c0.l3 to <1 x i32>
  %b.first.c0.q0.0.in0 = extractelement <1 x i32> %b.first.c0.l0.words, i32 0
  %b.first.c0.q0.0.in1 = extractelement <1 x i32> %b.first.c0.l1.words, i32 0
  %b.first.c0.q0.0.in2 = extractelement <1 x i32> %b.first.c0.l2.words, i32 0
  %b.first.c0.q0.0.in3 = extractelement <1 x i32> %b.first.c0.l3.words, i32 0
  %b.first.c0.q0.0.pairs0 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.in1, i32 %b.first.c0.q0.0.in0, i32 83952640)
  %b.first.c0.q0.0.pairs1 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.in1, i32 %b.first.c0.q0.0.in0, i32 117638658)
  %b.first.c0.q0.0.pairs2 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.in3, i32 %b.first.c0.q0.0.in2, i32 83952640)
  %b.first.c0.q0.0.pairs3 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.in3, i32 %b.first.c0.q0.0.in2, i32 117638658)
  %b.first.c0.q0.0.out0 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.pairs2, i32 %b.first.c0.q0.0.pairs0, i32 84148480)
  %b.first.c0.q0.0.out1 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.pairs2, i32 %b.first.c0.q0.0.pairs0, i32 117834498)
  %b.first.c0.q0.0.out2 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.pairs3, i32 %b.first.c0.q0.0.pairs1, i32 84148480)
  %b.first.c0.q0.0.out3 = call i32 @llvm.amdgcn.perm(i32 %b.first.c0.q0.0.pairs3, i32 %b.first.c0.q0.0.pairs1, i32 117834498)
  %b.first.c0.s0.words0 = insertelement <1 x i32> poison, i32 %b.first.c0.q0.0.out0, i32 0
  %b.first.c0.s1.words0 = insertelement <1 x i32> poison, i32 %b.first.c0.q0.0.out1, i32 0
  %b.first.c0.s2.words0 = insertelement <1 x i32> poison, i32 %b.first.c0.q0.0.out2, i32 0
  %b.first.c0.s3.words0 = insertelement <1 x i32> poison, i32 %b.first.c0.q0.0.out3, i32 0
  %b.first.c0.s0 = bitcast <1 x i32> %b.first.c0.s0.words0 to <4 x i8>
  %b.first.c0.s1 = bitcast <1 x i32> %b.first.c0.s1.words0 to <4 x i8>
  %b.first.c0.s2 = bitcast <1 x i32> %b.first.c0.s2.words0 to <4 x i8>
  %b.first.c0.s3 = bitcast <1 x i32> %b.first.c0.s3.words0 to <4 x i8>
  %b.first.c0.s0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x i8> %b.first.c0.s0, ptr addrspace(3) %b.first.c0.s0.at, align 4
  %b.first.c0.s1.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p16.swizzled, i32 %b.c0.element
  store <4 x i8> %b.first.c0.s1, ptr addrspace(3) %b.first.c0.s1.at, align 4
  %b.first.c0.s2.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x i8> %b.first.c0.s2, ptr addrspace(3) %b.first.c0.s2.at, align 4
  %b.first.c0.s3.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p17.swizzled, i32 %b.c0.element
  store <4 x i8> %b.first.c0.s3, ptr addrspace(3) %b.first.c0.s3.at, align 4
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %b.tile.loop.near = getelementptr i8, ptr addrspace(1) %b.tile.first, i64 2048
  %b.tile.loop.first = call ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1) %b.tile.loop.near)
  %b.tile.loop.second.near = getelementptr i8, ptr addrspace(1) %b.tile.first, i64 4096
  %b.tile.loop.second.first = call ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1) %b.tile.loop.second.near)
  br label %loop

; ---- mainloop: load tile i + 1, multiply tile i
loop:
  %trip = phi i32 [ 0, %entry ], [ %trip.next, %loop.second ]
  %a.tile.start = phi ptr addrspace(1) [ %a.tile.first, %entry ], [ %a.tile.loop.second, %loop.second ]
  %b.tile.loop = phi ptr addrspace(1) [ %b.tile.loop.first, %entry ], [ %b.tile.loop.next, %loop.second ]
  %b.tile.loop.second = phi ptr addrspace(1) [ %b.tile.loop.second.first, %entry ], [ %b.tile.loop.second.next, %loop.second ]
  %acc.m0.n0.start = phi <4 x i32> [ zeroinitializer, %entry ], [ %acc.m0.n0.loop.second, %loop.second ]
  %acc.m0.n1.start = phi <4 x i32> [ zeroinitializer, %entry ], [ %acc.m0.n1.loop.second, %loop.second ]
  %a.tile.loop = getelementptr i8, ptr addrspace(1) %a.tile.start, i64 64
  %a.loop.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %a.tile.loop, i64 %a.c0.offset
  %a.loop.c0.l0 = load <16 x i8>, ptr addrspace(1) %a.loop.c0.l0.at, align 1
  %b.loop.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop, i64 %b.c0.offset
  %b.loop.c0.l0 = load <4 x i8>, ptr addrspace(1) %b.loop.c0.l0.at, align 1
  %b.loop.c0.l1.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop, i64 %b.c0.l1.offset
  %b.loop.c0.l1 = load <4 x i8>, ptr addrspace(1) %b.loop.c0.l1.at, align 1
  %b.loop.c0.l2.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop, i64 %b.c0.l2.offset
  %b.loop.c0.l2 = load <4 x i8>, ptr addrspace(1) %b.loop.c0.l2.at, align 1
  %b.loop.c0.l3.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop, i64 %b.c0.l3.offset
  %b.loop.c0.l3 = load <4 x i8>, ptr addrspace(1) %b.loop.c0.l3.at, align 1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.loop.0.g0.first = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.loop.0.g0 = load <4 x i32>, ptr addrspace(3) %a.loop.0.g0.first, align 16
  %a.loop.0.g0.p0.words = shufflevector <4 x i32> %a.loop.0.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %a.loop.0.g0.p0 = bitcast <2 x i32> %a.loop.0.g0.p0.words to i64
  %a.loop.0.g0.p1.words = shufflevector <4 x i32> %a.loop.0.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %a.loop.0.g0.p1 = bitcast <2 x i32> %a.loop.0.g0.p1.words to i64
  %b.loop.0.g0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t0.swizzled, i32 0
  %b.loop.0.g0 = load <4 x i32>, ptr addrspace(3) %b.loop.0.g0.at, align 16
  %b.loop.0.g0.p0.words = shufflevector <4 x i32> %b.loop.0.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %b.loop.0.g0.p0 = bitcast <2 x i32> %b.loop.0.g0.p0.words to i64
  %b.loop.0.g0.p1.words = shufflevector <4 x i32> %b.loop.0.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %b.loop.0.g0.p1 = bitcast <2 x i32> %b.loop.0.g0.p1.words to i64
  %b.loop.1.g0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t1.swizzled, i32 0
  %b.loop.1.g0 = load <4 x i32>, ptr addrspace(3) %b.loop.1.g0.at, align 16
  %b.loop.1.g0.p0.words = shufflevector <4 x i32> %b.loop.1.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %b.loop.1.g0.p0 = bitcast <2 x i32> %b.loop.1.g0.p0.words to i64
  %b.loop.1.g0.p1.words = shufflevector <4 x i32> %b.loop.1.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %b.loop.1.g0.p1 = bitcast <2 x i32> %b.loop.1.g0.p1.words to i64
  %acc.m0.n0.loop.s0 = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.0.g0.p0, i64 %b.loop.0.g0.p0, <4 x i32> %acc.m0.n0.start, i32 0, i32 0, i32 0)
  %acc.m0.n1.loop.s0 = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.0.g0.p0, i64 %b.loop.1.g0.p0, <4 x i32> %acc.m0.n1.start, i32 0, i32 0, i32 0)
  %acc.m0.n0.loop = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.0.g0.p1, i64 %b.loop.0.g0.p1, <4 x i32> %acc.m0.n0.loop.s0, i32 0, i32 0, i32 0)
  %acc.m0.n1.loop = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.0.g0.p1, i64 %b.loop.1.g0.p1, <4 x i32> %acc.m0.n1.loop.s0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.c0.s0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <16 x i8> %a.loop.c0.l0, ptr addrspace(3) %a.loop.c0.s0.at, align 16
  %b.loop.c0.l0.words = bitcast <4 x i8> %b.loop.c0.l0 to <1 x i32>
  %b.loop.c0.l1.words = bitcast <4 x i8> %b.loop.c0.l1 to <1 x i32>
  %b.loop.c0.l2.words = bitcast <4 x i8> %b.loop.c0.l2 to <1 x i32>
  %b.loop.c0.l3.words = bitcast <4 x i8> %b.loop.c0.l3 to <1 x i32>
  %b.loop.c0.q0.0.in0 = extractelement <1 x i32> %b.loop.c0.l0.words, i32 0
  %b.loop.c0.q0.0.in1 = extractelement <1 x i32> %b.loop.c0.l1.words, i32 0
  %b.loop.c0.q0.0.in2 = extractelement <1 x i32> %b.loop.c0.l2.words, i32 0
  %b.loop.c0.q0.0.in3 = extractelement <1 x i32> %b.loop.c0.l3.words, i32 0
  %b.loop.c0.q0.0.pairs0 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.in1, i32 %b.loop.c0.q0.0.in0, i32 83952640)
  %b.loop.c0.q0.0.pairs1 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.in1, i32 %b.loop.c0.q0.0.in0, i32 117638658)
  %b.loop.c0.q0.0.pairs2 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.in3, i32 %b.loop.c0.q0.0.in2, i32 83952640)
  %b.loop.c0.q0.0.pairs3 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.in3, i32 %b.loop.c0.q0.0.in2, i32 117638658)
  %b.loop.c0.q0.0.out0 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.pairs2, i32 %b.loop.c0.q0.0.pairs0, i32 84148480)
  %b.loop.c0.q0.0.out1 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.pairs2, i32 %b.loop.c0.q0.0.pairs0, i32 117834498)
  %b.loop.c0.q0.0.out2 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.pairs3, i32 %b.loop.c0.q0.0.pairs1, i32 84148480)
  %b.loop.c0.q0.0.out3 = call i32 @llvm.amdgcn.perm(i32 %b.loop.c0.q0.0.pairs3, i32 %b.loop.c0.q0.0.pairs1, i32 117834498)
  %b.loop.c0.s0.words0 = insertelement <1 x i32> poison, i32 %b.loop.c0.q0.0.out0, i32 0
  %b.loop.c0.s1.words0 = insertelement <1 x i32> poison, i32 %b.loop.c0.q0.0.out1, i32 0
  %b.loop.c0.s2.words0 = insertelement <1 x i32> poison, i32 %b.loop.c0.q0.0.out2, i32 0
  %b.loop.c0.s3.words0 = insertelement <1 x i32> poison, i32 %b.loop.c0.q0.0.out3, i32 0
  %b.loop.c0.s0 = bitcast <1 x i32> %b.loop.c0.s0.words0 to <4 x i8>
  %b.loop.c0.s1 = bitcast <1 x i32> %b.loop.c0.s1.words0 to <4 x i8>
  %b.loop.c0.s2 = bitcast <1 x i32> %b.loop.c0.s2.words0 to <4 x i8>
  %b.loop.c0.s3 = bitcast <1 x i32> %b.loop.c0.s3.words0 to <4 x i8>
  %b.loop.c0.s0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.c0.s0, ptr addrspace(3) %b.loop.c0.s0.at, align 4
  %b.loop.c0.s1.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.p16.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.c0.s1, ptr addrspace(3) %b.loop.c0.s1.at, align 4
  %b.loop.c0.s2.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.c0.s2, ptr addrspace(3) %b.loop.c0.s2.at, align 4
  %b.loop.c0.s3.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.p17.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.c0.s3, ptr addrspace(3) %b.loop.c0.s3.at, align 4
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop.second
loop.second:
  %a.tile.loop.second = getelementptr i8, ptr addrspace(1) %a.tile.loop, i64 64
  %a.loop.second.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.offset
  %a.loop.second.c0.l0 = load <16 x i8>, ptr addrspace(1) %a.loop.second.c0.l0.at, align 1
  %b.loop.second.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.offset
  %b.loop.second.c0.l0 = load <4 x i8>, ptr addrspace(1) %b.loop.second.c0.l0.at, align 1
  %b.loop.second.c0.l1.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l1.offset
  %b.loop.second.c0.l1 = load <4 x i8>, ptr addrspace(1) %b.loop.second.c0.l1.at, align 1
  %b.loop.second.c0.l2.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l2.offset
  %b.loop.second.c0.l2 = load <4 x i8>, ptr addrspace(1) %b.loop.second.c0.l2.at, align 1
  %b.loop.second.c0.l3.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.l3.offset
  %b.loop.second.c0.l3 = load <4 x i8>, ptr addrspace(1) %b.loop.second.c0.l3.at, align 1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.loop.second.0.g0.first = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.loop.second.0.g0 = load <4 x i32>, ptr addrspace(3) %a.loop.second.0.g0.first, align 16
  %a.loop.second.0.g0.p0.words = shufflevector <4 x i32> %a.loop.second.0.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %a.loop.second.0.g0.p0 = bitcast <2 x i32> %a.loop.second.0.g0.p0.words to i64
  %a.loop.second.0.g0.p1.words = shufflevector <4 x i32> %a.loop.second.0.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %a.loop.second.0.g0.p1 = bitcast <2 x i32> %a.loop.second.0.g0.p1.words to i64
  %b.loop.second.0.g0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %lane_group, i32 %b.t0.swizzled, i32 0
  %b.loop.second.0.g0 = load <4 x i32>, ptr addrspace(3) %b.loop.second.0.g0.at, align 16
  %b.loop.second.0.g0.p0.words = shufflevector <4 x i32> %b.loop.second.0.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %b.loop.second.0.g0.p0 = bitcast <2 x i32> %b.loop.second.0.g0.p0.words to i64
  %b.loop.second.0.g0.p1.words = shufflevector <4 x i32> %b.loop.second.0.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %b.loop.second.0.g0.p1 = bitcast <2 x i32> %b.loop.second.0.g0.p1.words to i64
  %b.loop.second.1.g0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %lane_group, i32 %b.t1.swizzled, i32 0
  %b.loop.second.1.g0 = load <4 x i32>, ptr addrspace(3) %b.loop.second.1.g0.at, align 16
  %b.loop.second.1.g0.p0.words = shufflevector <4 x i32> %b.loop.second.1.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %b.loop.second.1.g0.p0 = bitcast <2 x i32> %b.loop.second.1.g0.p0.words to i64
  %b.loop.second.1.g0.p1.words = shufflevector <4 x i32> %b.loop.second.1.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %b.loop.second.1.g0.p1 = bitcast <2 x i32> %b.loop.second.1.g0.p1.words to i64
  %acc.m0.n0.loop.second.s0 = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.second.0.g0.p0, i64 %b.loop.second.0.g0.p0, <4 x i32> %acc.m0.n0.loop, i32 0, i32 0, i32 0)
  %acc.m0.n1.loop.second.s0 = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.second.0.g0.p0, i64 %b.loop.second.1.g0.p0, <4 x i32> %acc.m0.n1.loop, i32 0, i32 0, i32 0)
  %acc.m0.n0.loop.second = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.second.0.g0.p1, i64 %b.loop.second.0.g0.p1, <4 x i32> %acc.m0.n0.loop.second.s0, i32 0, i32 0, i32 0)
  %acc.m0.n1.loop.second = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.loop.second.0.g0.p1, i64 %b.loop.second.1.g0.p1, <4 x i32> %acc.m0.n1.loop.second.s0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.second.c0.s0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <16 x i8> %a.loop.second.c0.l0, ptr addrspace(3) %a.loop.second.c0.s0.at, align 16
  %b.loop.second.c0.l0.words = bitcast <4 x i8> %b.loop.second.c0.l0 to <1 x i32>
  %b.loop.second.c0.l1.words = bitcast <4 x i8> %b.loop.second.c0.l1 to <1 x i32>
  %b.loop.second.c0.l2.words = bitcast <4 x i8> %b.loop.second.c0.l2 to <1 x i32>
  %b.loop.second.c0.l3.words = bitcast <4 x i8> %b.loop.second.c0.l3 to <1 x i32>
  %b.loop.second.c0.q0.0.in0 = extractelement <1 x i32> %b.loop.second.c0.l0.words, i32 0
  %b.loop.second.c0.q0.0.in1 = extractelement <1 x i32> %b.loop.second.c0.l1.words, i32 0
  %b.loop.second.c0.q0.0.in2 = extractelement <1 x i32> %b.loop.second.c0.l2.words, i32 0
  %b.loop.second.c0.q0.0.in3 = extractelement <1 x i32> %b.loop.second.c0.l3.words, i32 0
  %b.loop.second.c0.q0.0.pairs0 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.in1, i32 %b.loop.second.c0.q0.0.in0, i32 83952640)
  %b.loop.second.c0.q0.0.pairs1 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.in1, i32 %b.loop.second.c0.q0.0.in0, i32 117638658)
  %b.loop.second.c0.q0.0.pairs2 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.in3, i32 %b.loop.second.c0.q0.0.in2, i32 83952640)
  %b.loop.second.c0.q0.0.pairs3 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.in3, i32 %b.loop.second.c0.q0.0.in2, i32 117638658)
  %b.loop.second.c0.q0.0.out0 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.pairs2, i32 %b.loop.second.c0.q0.0.pairs0, i32 84148480)
  %b.loop.second.c0.q0.0.out1 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.pairs2, i32 %b.loop.second.c0.q0.0.pairs0, i32 117834498)
  %b.loop.second.c0.q0.0.out2 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.pairs3, i32 %b.loop.second.c0.q0.0.pairs1, i32 84148480)
  %b.loop.second.c0.q0.0.out3 = call i32 @llvm.amdgcn.perm(i32 %b.loop.second.c0.q0.0.pairs3, i32 %b.loop.second.c0.q0.0.pairs1, i32 117834498)
  %b.loop.second.c0.s0.words0 = insertelement <1 x i32> poison, i32 %b.loop.second.c0.q0.0.out0, i32 0
  %b.loop.second.c0.s1.words0 = insertelement <1 x i32> poison, i32 %b.loop.second.c0.q0.0.out1, i32 0
  %b.loop.second.c0.s2.words0 = insertelement <1 x i32> poison, i32 %b.loop.second.c0.q0.0.out2, i32 0
  %b.loop.second.c0.s3.words0 = insertelement <1 x i32> poison, i32 %b.loop.second.c0.q0.0.out3, i32 0
  %b.loop.second.c0.s0 = bitcast <1 x i32> %b.loop.second.c0.s0.words0 to <4 x i8>
  %b.loop.second.c0.s1 = bitcast <1 x i32> %b.loop.second.c0.s1.words0 to <4 x i8>
  %b.loop.second.c0.s2 = bitcast <1 x i32> %b.loop.second.c0.s2.words0 to <4 x i8>
  %b.loop.second.c0.s3 = bitcast <1 x i32> %b.loop.second.c0.s3.words0 to <4 x i8>
  %b.loop.second.c0.s0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.second.c0.s0, ptr addrspace(3) %b.loop.second.c0.s0.at, align 4
  %b.loop.second.c0.s1.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p16.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.second.c0.s1, ptr addrspace(3) %b.loop.second.c0.s1.at, align 4
  %b.loop.second.c0.s2.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p1.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.second.c0.s2, ptr addrspace(3) %b.loop.second.c0.s2.at, align 4
  %b.loop.second.c0.s3.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.p17.swizzled, i32 %b.c0.element
  store <4 x i8> %b.loop.second.c0.s3, ptr addrspace(3) %b.loop.second.c0.s3.at, align 4
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %b.tile.loop.next = getelementptr i8, ptr addrspace(1) %b.tile.loop, i64 4096
  %b.tile.loop.second.next = getelementptr i8, ptr addrspace(1) %b.tile.loop.second, i64 4096
  %trip.next = add nuw nsw i32 %trip, 1
  %more = icmp ult i32 %trip.next, 1
  br i1 %more, label %loop, label %last, !llvm.loop !2

; ---- mainloop: multiply the last tile
last:
  ; depths from 0 on
  %a.last.0.g0.first = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.last.0.g0 = load <4 x i32>, ptr addrspace(3) %a.last.0.g0.first, align 16
  %a.last.0.g0.p0.words = shufflevector <4 x i32> %a.last.0.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %a.last.0.g0.p0 = bitcast <2 x i32> %a.last.0.g0.p0.words to i64
  %a.last.0.g0.p1.words = shufflevector <4 x i32> %a.last.0.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %a.last.0.g0.p1 = bitcast <2 x i32> %a.last.0.g0.p1.words to i64
  %b.last.0.g0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t0.swizzled, i32 0
  %b.last.0.g0 = load <4 x i32>, ptr addrspace(3) %b.last.0.g0.at, align 16
  %b.last.0.g0.p0.words = shufflevector <4 x i32> %b.last.0.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %b.last.0.g0.p0 = bitcast <2 x i32> %b.last.0.g0.p0.words to i64
  %b.last.0.g0.p1.words = shufflevector <4 x i32> %b.last.0.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %b.last.0.g0.p1 = bitcast <2 x i32> %b.last.0.g0.p1.words to i64
  %b.last.1.g0.at = getelementptr [2 x [4 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t1.swizzled, i32 0
  %b.last.1.g0 = load <4 x i32>, ptr addrspace(3) %b.last.1.g0.at, align 16
  %b.last.1.g0.p0.words = shufflevector <4 x i32> %b.last.1.g0, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %b.last.1.g0.p0 = bitcast <2 x i32> %b.last.1.g0.p0.words to i64
  %b.last.1.g0.p1.words = shufflevector <4 x i32> %b.last.1.g0, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %b.last.1.g0.p1 = bitcast <2 x i32> %b.last.1.g0.p1.words to i64
  %acc.m0.n0.last.s0 = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.last.0.g0.p0, i64 %b.last.0.g0.p0, <4 x i32> %acc.m0.n0.loop.second, i32 0, i32 0, i32 0)
  %acc.m0.n1.last.s0 = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.last.0.g0.p0, i64 %b.last.1.g0.p0, <4 x i32> %acc.m0.n1.loop.second, i32 0, i32 0, i32 0)
  %acc.m0.n0.last = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.last.0.g0.p1, i64 %b.last.0.g0.p1, <4 x i32> %acc.m0.n0.last.s0, i32 0, i32 0, i32 0)
  %acc.m0.n1.last = call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64 %a.last.0.g0.p1, i64 %b.last.1.g0.p1, <4 x i32> %acc.m0.n1.last.s0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)

; ---- epilogue: result register r of a lane is one row of an MMA tile
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 32
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr i32, ptr addrspace(1) %out, i64 %out.first
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 4096, i32 159744)
  %out.lane_row = mul nuw nsw i32 %lane_group, 4
  %out.row = add nuw nsw i32 %warp_row, %out.lane_row
  %lane_column = mul nuw nsw i32 %lane_row, 2
  %column0.bytes = mul nuw nsw i32 %lane_column, 4
  ; row 0
  %row.m0.r0.bytes = mul nuw nsw i32 %out.row, 128
  %m0.c0.r0.e0 = extractelement <4 x i32> %acc.m0.n0.last, i32 0
  %m0.c0.r0.v0 = insertelement <2 x i32> poison, i32 %m0.c0.r0.e0, i32 0
  %m0.c0.r0.e1 = extractelement <4 x i32> %acc.m0.n1.last, i32 0
  %m0.c0.r0 = insertelement <2 x i32> %m0.c0.r0.v0, i32 %m0.c0.r0.e1, i32 1
  %m0.c0.r0.at = add i32 %row.m0.r0.bytes, %column0.bytes
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m0.c0.r0, ptr addrspace(8) %out.buffer, i32 %m0.c0.r0.at, i32 0, i32 0)
  ; row 1
  %row.m0.r1 = add nuw nsw i32 %out.row, 1
  %row.m0.r1.bytes = mul nuw nsw i32 %row.m0.r1, 128
  %m0.c0.r1.e0 = extractelement <4 x i32> %acc.m0.n0.last, i32 1
  %m0.c0.r1.v0 = insertelement <2 x i32> poison, i32 %m0.c0.r1.e0, i32 0
  %m0.c0.r1.e1 = extractelement <4 x i32> %acc.m0.n1.last, i32 1
  %m0.c0.r1 = insertelement <2 x i32> %m0.c0.r1.v0, i32 %m0.c0.r1.e1, i32 1
  %m0.c0.r1.at = add i32 %row.m0.r1.bytes, %column0.bytes
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m0.c0.r1, ptr addrspace(8) %out.buffer, i32 %m0.c0.r1.at, i32 0, i32 0)
  ; row 2
  %row.m0.r2 = add nuw nsw i32 %out.row, 2
  %row.m0.r2.bytes = mul nuw nsw i32 %row.m0.r2, 128
  %m0.c0.r2.e0 = extractelement <4 x i32> %acc.m0.n0.last, i32 2
  %m0.c0.r2.v0 = insertelement <2 x i32> poison, i32 %m0.c0.r2.e0, i32 0
  %m0.c0.r2.e1 = extractelement <4 x i32> %acc.m0.n1.last, i32 2
  %m0.c0.r2 = insertelement <2 x i32> %m0.c0.r2.v0, i32 %m0.c0.r2.e1, i32 1
  %m0.c0.r2.at = add i32 %row.m0.r2.bytes, %column0.bytes
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m0.c0.r2, ptr addrspace(8) %out.buffer, i32 %m0.c0.r2.at, i32 0, i32 0)
  ; row 3
  %row.m0.r3 = add nuw nsw i32 %out.row, 3
  %row.m0.r3.bytes = mul nuw nsw i32 %row.m0.r3, 128
  %m0.c0.r3.e0 = extractelement <4 x i32> %acc.m0.n0.last, i32 3
  %m0.c0.r3.v0 = insertelement <2 x i32> poison, i32 %m0.c0.r3.e0, i32 0
  %m0.c0.r3.e1 = extractelement <4 x i32> %acc.m0.n1.last, i32 3
  %m0.c0.r3 = insertelement <2 x i32> %m0.c0.r3.v0, i32 %m0.c0.r3.e1, i32 1
  %m0.c0.r3.at = add i32 %row.m0.r3.bytes, %column0.bytes
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %m0.c0.r3, ptr addrspace(8) %out.buffer, i32 %m0.c0.r3.at, i32 0, i32 0)

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1))
declare i32 @llvm.amdgcn.perm(i32, i32, i32)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32>, ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64, i64, <4 x i32>, i32 immarg, i32 immarg, i32 immarg)

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
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
