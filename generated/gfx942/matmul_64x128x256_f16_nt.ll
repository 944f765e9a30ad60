; matmul_64x128x256_f16_nt
;
; computes:  out = A @ B, accumulated in f32
; target:    gfx942
; schedule:  mainloop=pingpong,block_m=64,block_n=128,block_k=64,num_stages=1,warp_m=32,warp_n=32,group_m=1,num_xcds=1,split_k=1,num_workgroups=0,stream_k=0 (user)
; launch:    1 x 1 x 1 workgroups of 512 threads, waves of 64
; method:    K loop: 4 tiles of 64
; memory:    LDS, 24576 B
;            @a_tile: f16 [stage: 1][line of 8 k: 8][slot of 1 m: 64], 8192 B, slot = position ^ (line & 7)
;            @b_tile: f16 [stage: 1][line of 8 k: 8][slot of 1 n: 128], 16384 B, slot = position ^ (line & 7)
; arguments: a: input f16[64, 256], strides [256, 1]
;            b: input f16[128, 256], strides [256, 1]
;            out: output f16[64, 128], strides [128, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [1 x [8 x [64 x [8 x half]]]] poison, align 16
@b_tile = internal addrspace(3) global [1 x [8 x [128 x [8 x half]]]] poison, align 16

define amdgpu_kernel void @matmul_64x128x256_f16_nt(
    ptr addrspace(1) inreg noalias readonly %a,
    ptr addrspace(1) inreg noalias readonly %b,
    ptr addrspace(1) inreg noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 512) i32 @llvm.amdgcn.workitem.id.x()
  %block_n = call i32 @llvm.amdgcn.workgroup.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 64
  %first_column = mul nuw nsw i32 %block_n, 128
  ; A: chunks of 1 x 8 (m x k), 8 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 256
  %a.tile.first = getelementptr half, ptr addrspace(1) %a, i64 %a.row_offset
  %a.c0.k.chunk = urem i32 %thread, 8
  %a.c0.k = mul nuw nsw i32 %a.c0.k.chunk, 8
  %a.c0.row.chunk = udiv i32 %thread, 8
  %a.c0.line = mul nuw nsw i32 %a.c0.row.chunk, 256
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k
  %a.c0.offset = zext i32 %a.c0.narrow to i64
  %a.c0.lds_line = udiv i32 %a.c0.k, 8
  %a.c0.slot.low = and i32 %a.c0.lds_line, 7
  %a.c0.slot = xor i32 %a.c0.row.chunk, %a.c0.slot.low
  ; B: chunks of 8 x 1 (k x n), 8 side by side along k
  %b.first_row = zext i32 %first_column to i64
  %b.row_offset = mul nuw nsw i64 %b.first_row, 256
  %b.tile.first = getelementptr half, ptr addrspace(1) %b, i64 %b.row_offset
  %b.c0.k.chunk = urem i32 %thread, 8
  %b.c0.k = mul nuw nsw i32 %b.c0.k.chunk, 8
  %b.c0.row.chunk = udiv i32 %thread, 8
  %b.c0.line = mul nuw nsw i32 %b.c0.row.chunk, 256
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.k
  %b.c0.offset = zext i32 %b.c0.narrow to i64
  %b.c0.lds_line = udiv i32 %b.c0.k, 8
  %b.c0.slot.low = and i32 %b.c0.lds_line, 7
  %b.c0.slot = xor i32 %b.c0.row.chunk, %b.c0.slot.low
  %b.c1 = add nuw nsw i32 %thread, 512
  %b.c1.k.chunk = urem i32 %b.c1, 8
  %b.c1.k = mul nuw nsw i32 %b.c1.k.chunk, 8
  %b.c1.row.chunk = udiv i32 %b.c1, 8
  %b.c1.line = mul nuw nsw i32 %b.c1.row.chunk, 256
  %b.c1.narrow = add nuw nsw i32 %b.c1.line, %b.c1.k
  %b.c1.offset = zext i32 %b.c1.narrow to i64
  %b.c1.lds_line = udiv i32 %b.c1.k, 8
  %b.c1.slot.low = and i32 %b.c1.lds_line, 7
  %b.c1.slot = xor i32 %b.c1.row.chunk, %b.c1.slot.low
  ; the wave's position among 2 x 4 warp tiles of 32 x 32
  %lane = and i32 %thread, 63
  %wave.of_thread = lshr i32 %thread, 6
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %wave_m = udiv i32 %wave, 4
  %wave_n = urem i32 %wave, 4
  %warp_row = mul nuw nsw i32 %wave_m, 32
  %warp_column = mul nuw nsw i32 %wave_n, 32
  ; the lane's row of A and column of B in an MMA tile, and the LDS lines that it loads; MMA tiles with
  ; the same swizzle are at constant distances
  %lane_row = and i32 %lane, 31
  %lane_group = lshr i32 %lane, 5
  %line2 = add nuw nsw i32 %lane_group, 2
  %line4 = add nuw nsw i32 %lane_group, 4
  %line6 = add nuw nsw i32 %lane_group, 6
  %a.fragment = add nuw nsw i32 %warp_row, %lane_row
  %a.t0.slot0.low = and i32 %lane_group, 7
  %a.t0.slot0 = xor i32 %a.fragment, %a.t0.slot0.low
  %a.t0.slot2.low = and i32 %line2, 7
  %a.t0.slot2 = xor i32 %a.fragment, %a.t0.slot2.low
  %a.t0.slot4.low = and i32 %line4, 7
  %a.t0.slot4 = xor i32 %a.fragment, %a.t0.slot4.low
  %a.t0.slot6.low = and i32 %line6, 7
  %a.t0.slot6 = xor i32 %a.fragment, %a.t0.slot6.low
  %b.fragment = add nuw nsw i32 %warp_column, %lane_row
  %b.t0.slot0.low = and i32 %lane_group, 7
  %b.t0.slot0 = xor i32 %b.fragment, %b.t0.slot0.low
  %b.t0.slot2.low = and i32 %line2, 7
  %b.t0.slot2 = xor i32 %b.fragment, %b.t0.slot2.low
  %b.t0.slot4.low = and i32 %line4, 7
  %b.t0.slot4 = xor i32 %b.fragment, %b.t0.slot4.low
  %b.t0.slot6.low = and i32 %line6, 7
  %b.t0.slot6 = xor i32 %b.fragment, %b.t0.slot6.low

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load <8 x half>, ptr addrspace(1) %a.first.c0.l0.at, align 2
  %b.first.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load <8 x half>, ptr addrspace(1) %b.first.c0.l0.at, align 2
  %b.first.c1.l0.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c1.offset
  %b.first.c1.l0 = load <8 x half>, ptr addrspace(1) %b.first.c1.l0.at, align 2
  %a.first.c0.s0.at = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.first.c0.l0, ptr addrspace(3) %a.first.c0.s0.at, align 16
  %b.first.c0.s0.at = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <8 x half> %b.first.c0.l0, ptr addrspace(3) %b.first.c0.s0.at, align 16
  %b.first.c1.s0.at = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c1.lds_line, i32 %b.c1.slot, i32 0
  store <8 x half> %b.first.c1.l0, ptr addrspace(3) %b.first.c1.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  ; the second half of the waves passes one extra barrier, so it stays one barrier behind
  %second_half = icmp uge i32 %wave, 4
  br i1 %second_half, label %fall_behind, label %apart
fall_behind:
  call void @llvm.amdgcn.s.barrier()
  br label %apart
apart:
  br label %loop

; ---- mainloop: multiply tile i, load tile i + 1
loop:
  %i = phi i32 [ 0, %apart ], [ %i.next, %loop ]
  %a.tile.start = phi ptr addrspace(1) [ %a.tile.first, %apart ], [ %a.tile.loop, %loop ]
  %b.tile.start = phi ptr addrspace(1) [ %b.tile.first, %apart ], [ %b.tile.loop, %loop ]
  %acc.m0.n0.start = phi <16 x float> [ zeroinitializer, %apart ], [ %acc.m0.n0.loop, %loop ]
  %a.tile.loop = getelementptr half, ptr addrspace(1) %a.tile.start, i64 64
  %b.tile.loop = getelementptr half, ptr addrspace(1) %b.tile.start, i64 64
  ; phase 0: the next tile of A from memory, fragments 0 from LDS; then multiply fragments 0
  %a.loop.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.loop, i64 %a.c0.offset
  %a.loop.c0.l0 = load <8 x half>, ptr addrspace(1) %a.loop.c0.l0.at, align 2
  ; depths from 0 on
  %a.loop.0.g0.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.loop.0.g0 = load <8 x half>, ptr addrspace(3) %a.loop.0.g0.first, align 16
  %a.loop.0.g0.p0 = shufflevector <8 x half> %a.loop.0.g0, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.loop.0.g0.p1 = shufflevector <8 x half> %a.loop.0.g0, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.loop.0.g0.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t0.slot0, i32 0
  %b.loop.0.g0 = load <8 x half>, ptr addrspace(3) %b.loop.0.g0.first, align 16
  %b.loop.0.g0.p0 = shufflevector <8 x half> %b.loop.0.g0, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.loop.0.g0.p1 = shufflevector <8 x half> %b.loop.0.g0, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.loop.s0 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g0.p0, <4 x half> %b.loop.0.g0.p0, <16 x float> %acc.m0.n0.start, i32 0, i32 0, i32 0)
  %acc.m0.n0.loop.s1 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g0.p1, <4 x half> %b.loop.0.g0.p1, <16 x float> %acc.m0.n0.loop.s0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 1: the next tile of B from memory, fragments 1 from LDS; then multiply fragments 1
  %b.loop.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 %b.c0.offset
  %b.loop.c0.l0 = load <8 x half>, ptr addrspace(1) %b.loop.c0.l0.at, align 2
  %b.loop.c1.l0.at = getelementptr half, ptr addrspace(1) %b.tile.loop, i64 %b.c1.offset
  %b.loop.c1.l0 = load <8 x half>, ptr addrspace(1) %b.loop.c1.l0.at, align 2
  ; depths from 16 on
  %a.loop.0.g1.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line2, i32 %a.t0.slot2, i32 0
  %a.loop.0.g1 = load <8 x half>, ptr addrspace(3) %a.loop.0.g1.first, align 16
  %a.loop.0.g1.p0 = shufflevector <8 x half> %a.loop.0.g1, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.loop.0.g1.p1 = shufflevector <8 x half> %a.loop.0.g1, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.loop.0.g1.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line2, i32 %b.t0.slot2, i32 0
  %b.loop.0.g1 = load <8 x half>, ptr addrspace(3) %b.loop.0.g1.first, align 16
  %b.loop.0.g1.p0 = shufflevector <8 x half> %b.loop.0.g1, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.loop.0.g1.p1 = shufflevector <8 x half> %b.loop.0.g1, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.loop.s2 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g1.p0, <4 x half> %b.loop.0.g1.p0, <16 x float> %acc.m0.n0.loop.s1, i32 0, i32 0, i32 0)
  %acc.m0.n0.loop.s3 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g1.p1, <4 x half> %b.loop.0.g1.p1, <16 x float> %acc.m0.n0.loop.s2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 2: fragments 2, 3 from LDS; then multiply fragments 2
  ; depths from 32 on
  %a.loop.0.g2.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line4, i32 %a.t0.slot4, i32 0
  %a.loop.0.g2 = load <8 x half>, ptr addrspace(3) %a.loop.0.g2.first, align 16
  %a.loop.0.g2.p0 = shufflevector <8 x half> %a.loop.0.g2, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.loop.0.g2.p1 = shufflevector <8 x half> %a.loop.0.g2, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.loop.0.g2.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line4, i32 %b.t0.slot4, i32 0
  %b.loop.0.g2 = load <8 x half>, ptr addrspace(3) %b.loop.0.g2.first, align 16
  %b.loop.0.g2.p0 = shufflevector <8 x half> %b.loop.0.g2, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.loop.0.g2.p1 = shufflevector <8 x half> %b.loop.0.g2, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  ; depths from 48 on
  %a.loop.0.g3.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line6, i32 %a.t0.slot6, i32 0
  %a.loop.0.g3 = load <8 x half>, ptr addrspace(3) %a.loop.0.g3.first, align 16
  %a.loop.0.g3.p0 = shufflevector <8 x half> %a.loop.0.g3, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.loop.0.g3.p1 = shufflevector <8 x half> %a.loop.0.g3, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.loop.0.g3.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line6, i32 %b.t0.slot6, i32 0
  %b.loop.0.g3 = load <8 x half>, ptr addrspace(3) %b.loop.0.g3.first, align 16
  %b.loop.0.g3.p0 = shufflevector <8 x half> %b.loop.0.g3, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.loop.0.g3.p1 = shufflevector <8 x half> %b.loop.0.g3, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.loop.s4 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g2.p0, <4 x half> %b.loop.0.g2.p0, <16 x float> %acc.m0.n0.loop.s3, i32 0, i32 0, i32 0)
  %acc.m0.n0.loop.s5 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g2.p1, <4 x half> %b.loop.0.g2.p1, <16 x float> %acc.m0.n0.loop.s4, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 3: the next tile to LDS; then multiply fragments 3
  %a.loop.c0.s0.at = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.loop.c0.l0, ptr addrspace(3) %a.loop.c0.s0.at, align 16
  %b.loop.c0.s0.at = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <8 x half> %b.loop.c0.l0, ptr addrspace(3) %b.loop.c0.s0.at, align 16
  %b.loop.c1.s0.at = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c1.lds_line, i32 %b.c1.slot, i32 0
  store <8 x half> %b.loop.c1.l0, ptr addrspace(3) %b.loop.c1.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.loop.s6 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g3.p0, <4 x half> %b.loop.0.g3.p0, <16 x float> %acc.m0.n0.loop.s5, i32 0, i32 0, i32 0)
  %acc.m0.n0.loop = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.loop.0.g3.p1, <4 x half> %b.loop.0.g3.p1, <16 x float> %acc.m0.n0.loop.s6, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %i.next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %i.next, 3
  br i1 %more, label %loop, label %rejoin, !llvm.loop !2

rejoin:
  ; the first half waits until the second half has finished the loop
  br i1 %second_half, label %last, label %catch_up
catch_up:
  call void @llvm.amdgcn.s.barrier()
  br label %last

; ---- mainloop: multiply the last tile
last:
  ; depths from 0 on
  %a.last.0.g0.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.last.0.g0 = load <8 x half>, ptr addrspace(3) %a.last.0.g0.first, align 16
  %a.last.0.g0.p0 = shufflevector <8 x half> %a.last.0.g0, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.last.0.g0.p1 = shufflevector <8 x half> %a.last.0.g0, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.last.0.g0.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t0.slot0, i32 0
  %b.last.0.g0 = load <8 x half>, ptr addrspace(3) %b.last.0.g0.first, align 16
  %b.last.0.g0.p0 = shufflevector <8 x half> %b.last.0.g0, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.last.0.g0.p1 = shufflevector <8 x half> %b.last.0.g0, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s0 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g0.p0, <4 x half> %b.last.0.g0.p0, <16 x float> %acc.m0.n0.loop, i32 0, i32 0, i32 0)
  %acc.m0.n0.last.s1 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g0.p1, <4 x half> %b.last.0.g0.p1, <16 x float> %acc.m0.n0.last.s0, i32 0, i32 0, i32 0)
  ; depths from 16 on
  %a.last.0.g1.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line2, i32 %a.t0.slot2, i32 0
  %a.last.0.g1 = load <8 x half>, ptr addrspace(3) %a.last.0.g1.first, align 16
  %a.last.0.g1.p0 = shufflevector <8 x half> %a.last.0.g1, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.last.0.g1.p1 = shufflevector <8 x half> %a.last.0.g1, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.last.0.g1.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line2, i32 %b.t0.slot2, i32 0
  %b.last.0.g1 = load <8 x half>, ptr addrspace(3) %b.last.0.g1.first, align 16
  %b.last.0.g1.p0 = shufflevector <8 x half> %b.last.0.g1, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.last.0.g1.p1 = shufflevector <8 x half> %b.last.0.g1, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s2 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g1.p0, <4 x half> %b.last.0.g1.p0, <16 x float> %acc.m0.n0.last.s1, i32 0, i32 0, i32 0)
  %acc.m0.n0.last.s3 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g1.p1, <4 x half> %b.last.0.g1.p1, <16 x float> %acc.m0.n0.last.s2, i32 0, i32 0, i32 0)
  ; depths from 32 on
  %a.last.0.g2.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line4, i32 %a.t0.slot4, i32 0
  %a.last.0.g2 = load <8 x half>, ptr addrspace(3) %a.last.0.g2.first, align 16
  %a.last.0.g2.p0 = shufflevector <8 x half> %a.last.0.g2, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.last.0.g2.p1 = shufflevector <8 x half> %a.last.0.g2, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.last.0.g2.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line4, i32 %b.t0.slot4, i32 0
  %b.last.0.g2 = load <8 x half>, ptr addrspace(3) %b.last.0.g2.first, align 16
  %b.last.0.g2.p0 = shufflevector <8 x half> %b.last.0.g2, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.last.0.g2.p1 = shufflevector <8 x half> %b.last.0.g2, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s4 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g2.p0, <4 x half> %b.last.0.g2.p0, <16 x float> %acc.m0.n0.last.s3, i32 0, i32 0, i32 0)
  %acc.m0.n0.last.s5 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g2.p1, <4 x half> %b.last.0.g2.p1, <16 x float> %acc.m0.n0.last.s4, i32 0, i32 0, i32 0)
  ; depths from 48 on
  %a.last.0.g3.first = getelementptr [1 x [8 x [64 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line6, i32 %a.t0.slot6, i32 0
  %a.last.0.g3 = load <8 x half>, ptr addrspace(3) %a.last.0.g3.first, align 16
  %a.last.0.g3.p0 = shufflevector <8 x half> %a.last.0.g3, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %a.last.0.g3.p1 = shufflevector <8 x half> %a.last.0.g3, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %b.last.0.g3.first = getelementptr [1 x [8 x [128 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line6, i32 %b.t0.slot6, i32 0
  %b.last.0.g3 = load <8 x half>, ptr addrspace(3) %b.last.0.g3.first, align 16
  %b.last.0.g3.p0 = shufflevector <8 x half> %b.last.0.g3, <8 x half> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %b.last.0.g3.p1 = shufflevector <8 x half> %b.last.0.g3, <8 x half> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s6 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g3.p0, <4 x half> %b.last.0.g3.p0, <16 x float> %acc.m0.n0.last.s5, i32 0, i32 0, i32 0)
  %acc.m0.n0.last = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a.last.0.g3.p1, <4 x half> %b.last.0.g3.p1, <16 x float> %acc.m0.n0.last.s6, i32 0, i32 0, i32 0)

; ---- epilogue: result register r of a lane is one row of an MMA tile
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 128
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr half, ptr addrspace(1) %out, i64 %out.first
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 16384, i32 159744)
  %out.lane_row = mul nuw nsw i32 %lane_group, 4
  %out.row = add nuw nsw i32 %warp_row, %out.lane_row
  %out.column = add nuw nsw i32 %warp_column, %lane_row
  %column0.bytes = mul nuw nsw i32 %out.column, 2
  ; row 0
  %row.m0.r0.bytes = mul nuw nsw i32 %out.row, 256
  %m0.c0.r0 = extractelement <16 x float> %acc.m0.n0.last, i32 0
  %m0.c0.r0.at = add i32 %row.m0.r0.bytes, %column0.bytes
  %m0.c0.r0.rounded = fptrunc float %m0.c0.r0 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r0.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r0.at, i32 0, i32 0)
  ; row 1
  %row.m0.r1 = add nuw nsw i32 %out.row, 1
  %row.m0.r1.bytes = mul nuw nsw i32 %row.m0.r1, 256
  %m0.c0.r1 = extractelement <16 x float> %acc.m0.n0.last, i32 1
  %m0.c0.r1.at = add i32 %row.m0.r1.bytes, %column0.bytes
  %m0.c0.r1.rounded = fptrunc float %m0.c0.r1 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r1.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r1.at, i32 0, i32 0)
  ; row 2
  %row.m0.r2 = add nuw nsw i32 %out.row, 2
  %row.m0.r2.bytes = mul nuw nsw i32 %row.m0.r2, 256
  %m0.c0.r2 = extractelement <16 x float> %acc.m0.n0.last, i32 2
  %m0.c0.r2.at = add i32 %row.m0.r2.bytes, %column0.bytes
  %m0.c0.r2.rounded = fptrunc float %m0.c0.r2 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r2.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r2.at, i32 0, i32 0)
  ; row 3
  %row.m0.r3 = add nuw nsw i32 %out.row, 3
  %row.m0.r3.bytes = mul nuw nsw i32 %row.m0.r3, 256
  %m0.c0.r3 = extractelement <16 x float> %acc.m0.n0.last, i32 3
  %m0.c0.r3.at = add i32 %row.m0.r3.bytes, %column0.bytes
  %m0.c0.r3.rounded = fptrunc float %m0.c0.r3 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r3.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r3.at, i32 0, i32 0)
  ; row 8
  %row.m0.r4 = add nuw nsw i32 %out.row, 8
  %row.m0.r4.bytes = mul nuw nsw i32 %row.m0.r4, 256
  %m0.c0.r4 = extractelement <16 x float> %acc.m0.n0.last, i32 4
  %m0.c0.r4.at = add i32 %row.m0.r4.bytes, %column0.bytes
  %m0.c0.r4.rounded = fptrunc float %m0.c0.r4 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r4.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r4.at, i32 0, i32 0)
  ; row 9
  %row.m0.r5 = add nuw nsw i32 %out.row, 9
  %row.m0.r5.bytes = mul nuw nsw i32 %row.m0.r5, 256
  %m0.c0.r5 = extractelement <16 x float> %acc.m0.n0.last, i32 5
  %m0.c0.r5.at = add i32 %row.m0.r5.bytes, %column0.bytes
  %m0.c0.r5.rounded = fptrunc float %m0.c0.r5 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r5.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r5.at, i32 0, i32 0)
  ; row 10
  %row.m0.r6 = add nuw nsw i32 %out.row, 10
  %row.m0.r6.bytes = mul nuw nsw i32 %row.m0.r6, 256
  %m0.c0.r6 = extractelement <16 x float> %acc.m0.n0.last, i32 6
  %m0.c0.r6.at = add i32 %row.m0.r6.bytes, %column0.bytes
  %m0.c0.r6.rounded = fptrunc float %m0.c0.r6 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r6.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r6.at, i32 0, i32 0)
  ; row 11
  %row.m0.r7 = add nuw nsw i32 %out.row, 11
  %row.m0.r7.bytes = mul nuw nsw i32 %row.m0.r7, 256
  %m0.c0.r7 = extractelement <16 x float> %acc.m0.n0.last, i32 7
  %m0.c0.r7.at = add i32 %row.m0.r7.bytes, %column0.bytes
  %m0.c0.r7.rounded = fptrunc float %m0.c0.r7 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r7.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r7.at, i32 0, i32 0)
  ; row 16
  %row.m0.r8 = add nuw nsw i32 %out.row, 16
  %row.m0.r8.bytes = mul nuw nsw i32 %row.m0.r8, 256
  %m0.c0.r8 = extractelement <16 x float> %acc.m0.n0.last, i32 8
  %m0.c0.r8.at = add i32 %row.m0.r8.bytes, %column0.bytes
  %m0.c0.r8.rounded = fptrunc float %m0.c0.r8 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r8.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r8.at, i32 0, i32 0)
  ; row 17
  %row.m0.r9 = add nuw nsw i32 %out.row, 17
  %row.m0.r9.bytes = mul nuw nsw i32 %row.m0.r9, 256
  %m0.c0.r9 = extractelement <16 x float> %acc.m0.n0.last, i32 9
  %m0.c0.r9.at = add i32 %row.m0.r9.bytes, %column0.bytes
  %m0.c0.r9.rounded = fptrunc float %m0.c0.r9 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r9.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r9.at, i32 0, i32 0)
  ; row 18
  %row.m0.r10 = add nuw nsw i32 %out.row, 18
  %row.m0.r10.bytes = mul nuw nsw i32 %row.m0.r10, 256
  %m0.c0.r10 = extractelement <16 x float> %acc.m0.n0.last, i32 10
  %m0.c0.r10.at = add i32 %row.m0.r10.bytes, %column0.bytes
  %m0.c0.r10.rounded = fptrunc float %m0.c0.r10 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r10.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r10.at, i32 0, i32 0)
  ; row 19
  %row.m0.r11 = add nuw nsw i32 %out.row, 19
  %row.m0.r11.bytes = mul nuw nsw i32 %row.m0.r11, 256
  %m0.c0.r11 = extractelement <16 x float> %acc.m0.n0.last, i32 11
  %m0.c0.r11.at = add i32 %row.m0.r11.bytes, %column0.bytes
  %m0.c0.r11.rounded = fptrunc float %m0.c0.r11 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r11.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r11.at, i32 0, i32 0)
  ; row 24
  %row.m0.r12 = add nuw nsw i32 %out.row, 24
  %row.m0.r12.bytes = mul nuw nsw i32 %row.m0.r12, 256
  %m0.c0.r12 = extractelement <16 x float> %acc.m0.n0.last, i32 12
  %m0.c0.r12.at = add i32 %row.m0.r12.bytes, %column0.bytes
  %m0.c0.r12.rounded = fptrunc float %m0.c0.r12 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r12.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r12.at, i32 0, i32 0)
  ; row 25
  %row.m0.r13 = add nuw nsw i32 %out.row, 25
  %row.m0.r13.bytes = mul nuw nsw i32 %row.m0.r13, 256
  %m0.c0.r13 = extractelement <16 x float> %acc.m0.n0.last, i32 13
  %m0.c0.r13.at = add i32 %row.m0.r13.bytes, %column0.bytes
  %m0.c0.r13.rounded = fptrunc float %m0.c0.r13 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r13.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r13.at, i32 0, i32 0)
  ; row 26
  %row.m0.r14 = add nuw nsw i32 %out.row, 26
  %row.m0.r14.bytes = mul nuw nsw i32 %row.m0.r14, 256
  %m0.c0.r14 = extractelement <16 x float> %acc.m0.n0.last, i32 14
  %m0.c0.r14.at = add i32 %row.m0.r14.bytes, %column0.bytes
  %m0.c0.r14.rounded = fptrunc float %m0.c0.r14 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r14.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r14.at, i32 0, i32 0)
  ; row 27
  %row.m0.r15 = add nuw nsw i32 %out.row, 27
  %row.m0.r15.bytes = mul nuw nsw i32 %row.m0.r15, 256
  %m0.c0.r15 = extractelement <16 x float> %acc.m0.n0.last, i32 15
  %m0.c0.r15.at = add i32 %row.m0.r15.bytes, %column0.bytes
  %m0.c0.r15.rounded = fptrunc float %m0.c0.r15 to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r15.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r15.at, i32 0, i32 0)

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.f16(half, ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half>, <4 x half>, <16 x float>, i32 immarg, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.s.setprio(i16 immarg)

attributes #0 = {
  nounwind
  "target-cpu"="gfx942"
  "amdgpu-flat-work-group-size"="512,512"
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
