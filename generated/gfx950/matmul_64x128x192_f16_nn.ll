; matmul_64x128x192_f16_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    gfx950
; schedule:  mainloop=direct,block_m=64,block_n=128,block_k=64,num_stages=2,warp_m=32,warp_n=32,group_m=1,num_xcds=1,split_k=1,num_workgroups=0,stream_k=0 (user)
; launch:    1 x 1 x 1 workgroups of 512 threads, waves of 64
; method:    K loop: 3 tiles of 64
; memory:    LDS, 49152 B
;            @a_tile: f16 [stage: 2][m: 64][chunk of 8 k: 8], 16384 B, chunk = place ^ (m >> 1 & 7)
;            @b_tile: f16 [stage: 2][k: 64][chunk of 8 n: 16], 32768 B, chunk = place ^ (k << 2 & 12)
; arguments: a: input f16[64, 192], strides [192, 1]
;            b: input f16[192, 128], strides [128, 1]
;            out: output f16[64, 128], strides [128, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [64 x [64 x half]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [64 x [128 x half]]] poison, align 16

define amdgpu_kernel void @matmul_64x128x192_f16_nn(
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
  ; the wave's position among 2 x 4 warp tiles of 32 x 32
  %lane = and i32 %thread, 63
  %wave.of_thread = lshr i32 %thread, 6
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %wave_m = udiv i32 %wave, 4
  %wave_n = urem i32 %wave, 4
  %warp_row = mul nuw nsw i32 %wave_m, 32
  %warp_column = mul nuw nsw i32 %wave_n, 32
  ; the lane's copies
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 192
  %a.tile.first = getelementptr half, ptr addrspace(1) %a, i64 %a.row_offset
  ; A: a line is 8 chunks of 8 k; chunk = place ^ (m >> 1 & 7)
  %a.lds_line = udiv i32 %thread, 8
  %a.place = urem i32 %thread, 8
  %a.c0.turn.high = lshr i32 %a.lds_line, 1
  %a.c0.turn = and i32 %a.c0.turn.high, 7
  %a.c0.chunk = xor i32 %a.place, %a.c0.turn
  %a.c0.in_line = mul nuw nsw i32 %a.c0.chunk, 8
  %a.c0.line = mul nuw nsw i32 %a.lds_line, 192
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.in_line
  %a.c0.offset = zext i32 %a.c0.narrow to i64
  %a.c0.bytes = mul nuw nsw i32 %a.c0.narrow, 2
  %a.wave_line = mul nuw nsw i32 %wave, 8
  %a.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %a.tile.first, i16 0, i64 2147483647, i32 159744)
  %b.first_row = zext i32 %first_column to i64
  %b.tile.first = getelementptr half, ptr addrspace(1) %b, i64 %b.first_row
  ; B: a line is 16 chunks of 8 n; chunk = place ^ (k << 2 & 12)
  %b.lds_line = udiv i32 %thread, 16
  %b.place = urem i32 %thread, 16
  %b.c0.turn.scaled = shl i32 %b.lds_line, 2
  %b.c0.turn = and i32 %b.c0.turn.scaled, 12
  %b.c0.chunk = xor i32 %b.place, %b.c0.turn
  %b.c0.in_line = mul nuw nsw i32 %b.c0.chunk, 8
  %b.c0.line = mul nuw nsw i32 %b.lds_line, 128
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.in_line
  %b.c0.offset = zext i32 %b.c0.narrow to i64
  %b.c0.bytes = mul nuw nsw i32 %b.c0.narrow, 2
  %b.c1.lds_line = add nuw nsw i32 %b.lds_line, 32
  %b.c1.turn.scaled = shl i32 %b.c1.lds_line, 2
  %b.c1.turn = and i32 %b.c1.turn.scaled, 12
  %b.c1.chunk = xor i32 %b.place, %b.c1.turn
  %b.c1.in_line = mul nuw nsw i32 %b.c1.chunk, 8
  %b.c1.line = mul nuw nsw i32 %b.c1.lds_line, 128
  %b.c1.narrow = add nuw nsw i32 %b.c1.line, %b.c1.in_line
  %b.c1.offset = zext i32 %b.c1.narrow to i64
  %b.c1.bytes = mul nuw nsw i32 %b.c1.narrow, 2
  %b.wave_line = mul nuw nsw i32 %wave, 4
  %b.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %b.tile.first, i16 0, i64 2147483647, i32 159744)
  ; the lane's row of A and column of B in an MMA tile, and the chunks of depths that it loads
  %lane_row = and i32 %lane, 31
  %lane_group = lshr i32 %lane, 5
  %line2 = add nuw nsw i32 %lane_group, 2
  %line4 = add nuw nsw i32 %lane_group, 4
  %line6 = add nuw nsw i32 %lane_group, 6
  %block.lane = urem i32 %lane, 16
  %block.number = udiv i32 %lane, 16
  %block.depth = udiv i32 %block.lane, 4
  %block.part = urem i32 %block.lane, 4
  %block.first = mul nuw nsw i32 %block.part, 4
  %block.of_rows = urem i32 %block.number, 2
  %block.rows_before = mul nuw nsw i32 %block.of_rows, 16
  %block.row = add nuw nsw i32 %block.rows_before, %block.first
  %block.first_depth = mul nuw nsw i32 %lane_group, 8
  %a.fragment.line = add nuw nsw i32 %warp_row, %lane_row
  %a.fragment.turn.high = lshr i32 %lane_row, 1
  %a.fragment.turn = and i32 %a.fragment.turn.high, 7
  %a.chunk0 = xor i32 %lane_group, %a.fragment.turn
  %a.element0 = mul nuw nsw i32 %a.chunk0, 8
  %a.chunk2 = xor i32 %line2, %a.fragment.turn
  %a.element2 = mul nuw nsw i32 %a.chunk2, 8
  %a.chunk4 = xor i32 %line4, %a.fragment.turn
  %a.element4 = mul nuw nsw i32 %a.chunk4, 8
  %a.chunk6 = xor i32 %line6, %a.fragment.turn
  %a.element6 = mul nuw nsw i32 %a.chunk6, 8
  ; blocks of 4 depths x 16 rows, one per 16 lanes: a lane has 4 rows of one depth
  %b.fragment.line = add nuw nsw i32 %block.first_depth, %block.depth
  %b.fragment.turn.scaled = shl i32 %block.depth, 2
  %b.fragment.turn = and i32 %b.fragment.turn.scaled, 12
  %b.t0.row = add nuw nsw i32 %warp_column, %block.row
  %b.t0.unswizzled = udiv i32 %b.t0.row, 8
  %b.t0.chunk = xor i32 %b.t0.unswizzled, %b.fragment.turn
  %b.t0.in_line = mul nuw nsw i32 %b.t0.chunk, 8
  %b.t0.in_chunk = urem i32 %b.t0.row, 8
  %b.t0.element = add nuw nsw i32 %b.t0.in_line, %b.t0.in_chunk

; ---- prologue: the first tile
  %a.first.c0.to = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.wave_line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %a.buffer, ptr addrspace(3) %a.first.c0.to, i32 16, i32 %a.c0.bytes, i32 0, i32 0, i32 0), !alias.scope !3
  %b.first.c0.to = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.wave_line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b.buffer, ptr addrspace(3) %b.first.c0.to, i32 16, i32 %b.c0.bytes, i32 0, i32 0, i32 0), !alias.scope !3
  %b.first.c1.line = add nuw nsw i32 %b.wave_line, 32
  %b.first.c1.to = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.first.c1.line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b.buffer, ptr addrspace(3) %b.first.c1.to, i32 16, i32 %b.c1.bytes, i32 0, i32 0, i32 0), !alias.scope !3
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; the second half of the waves passes one extra barrier, so it stays one barrier behind
  %second_half = icmp uge i32 %wave, 4
  br i1 %second_half, label %fall_behind, label %apart
fall_behind:
  call void @llvm.amdgcn.s.barrier()
  br label %apart
apart:
  br label %loop

; ---- mainloop: multiply the tile in each stage, load the next two
loop:
  %trip = phi i32 [ 0, %apart ], [ %trip.next, %loop ]
  %a.start.ahead = phi i32 [ 0, %apart ], [ %a.odd.ahead, %loop ]
  %b.start.ahead = phi i32 [ 0, %apart ], [ %b.odd.ahead, %loop ]
  %acc.m0.n0.start = phi <16 x float> [ zeroinitializer, %apart ], [ %acc.m0.n0.odd, %loop ]
  %a.even.ahead = add nuw nsw i32 %a.start.ahead, 128
  %b.even.ahead = add nuw nsw i32 %b.start.ahead, 16384
  ; phase 0: copy the next tile of A to LDS, load fragments 0 from LDS; then multiply them
  %a.even.0.g0.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element0
  %a.even.0.g0 = load <8 x half>, ptr addrspace(3) %a.even.0.g0.at, align 16, !alias.scope !4, !noalias !3
  %b.even.0.g0.k0.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.fragment.line, i32 %b.t0.element
  %b.even.0.g0.k0 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g0.k0.at), !alias.scope !4, !noalias !3
  %b.even.0.g0.k4.line = add nuw nsw i32 %b.fragment.line, 4
  %b.even.0.g0.k4.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g0.k4.line, i32 %b.t0.element
  %b.even.0.g0.k4 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g0.k4.at), !alias.scope !4, !noalias !3
  %b.even.0.g0 = shufflevector <4 x half> %b.even.0.g0.k0, <4 x half> %b.even.0.g0.k4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %a.even.c0.to = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.wave_line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %a.buffer, ptr addrspace(3) %a.even.c0.to, i32 16, i32 %a.c0.bytes, i32 %a.even.ahead, i32 0, i32 0), !alias.scope !3
  call void @llvm.amdgcn.s.waitcnt(i32 49279) ; lgkmcnt(0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.even.s0 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.even.0.g0, <8 x half> %b.even.0.g0, <16 x float> %acc.m0.n0.start, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 1: copy the next tile of B to LDS, load fragments 1 from LDS; then multiply them
  %a.even.0.g1.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element2
  %a.even.0.g1 = load <8 x half>, ptr addrspace(3) %a.even.0.g1.at, align 16, !alias.scope !4, !noalias !3
  %b.even.0.g1.k16.line = add nuw nsw i32 %b.fragment.line, 16
  %b.even.0.g1.k16.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g1.k16.line, i32 %b.t0.element
  %b.even.0.g1.k16 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g1.k16.at), !alias.scope !4, !noalias !3
  %b.even.0.g1.k20.line = add nuw nsw i32 %b.fragment.line, 20
  %b.even.0.g1.k20.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g1.k20.line, i32 %b.t0.element
  %b.even.0.g1.k20 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g1.k20.at), !alias.scope !4, !noalias !3
  %b.even.0.g1 = shufflevector <4 x half> %b.even.0.g1.k16, <4 x half> %b.even.0.g1.k20, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %b.even.c0.to = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.wave_line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b.buffer, ptr addrspace(3) %b.even.c0.to, i32 16, i32 %b.c0.bytes, i32 %b.even.ahead, i32 0, i32 0), !alias.scope !3
  %b.even.c1.line = add nuw nsw i32 %b.wave_line, 32
  %b.even.c1.to = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.even.c1.line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b.buffer, ptr addrspace(3) %b.even.c1.to, i32 16, i32 %b.c1.bytes, i32 %b.even.ahead, i32 0, i32 0), !alias.scope !3
  call void @llvm.amdgcn.s.waitcnt(i32 49279) ; lgkmcnt(0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.even.s1 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.even.0.g1, <8 x half> %b.even.0.g1, <16 x float> %acc.m0.n0.even.s0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 2: load fragments 2 from LDS; then multiply them
  %a.even.0.g2.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element4
  %a.even.0.g2 = load <8 x half>, ptr addrspace(3) %a.even.0.g2.at, align 16, !alias.scope !4, !noalias !3
  %b.even.0.g2.k32.line = add nuw nsw i32 %b.fragment.line, 32
  %b.even.0.g2.k32.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g2.k32.line, i32 %b.t0.element
  %b.even.0.g2.k32 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g2.k32.at), !alias.scope !4, !noalias !3
  %b.even.0.g2.k36.line = add nuw nsw i32 %b.fragment.line, 36
  %b.even.0.g2.k36.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g2.k36.line, i32 %b.t0.element
  %b.even.0.g2.k36 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g2.k36.at), !alias.scope !4, !noalias !3
  %b.even.0.g2 = shufflevector <4 x half> %b.even.0.g2.k32, <4 x half> %b.even.0.g2.k36, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  call void @llvm.amdgcn.s.waitcnt(i32 49279) ; lgkmcnt(0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.even.s2 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.even.0.g2, <8 x half> %b.even.0.g2, <16 x float> %acc.m0.n0.even.s1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 3: load fragments 3 from LDS, wait for the copies; then multiply them
  %a.even.0.g3.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element6
  %a.even.0.g3 = load <8 x half>, ptr addrspace(3) %a.even.0.g3.at, align 16, !alias.scope !4, !noalias !3
  %b.even.0.g3.k48.line = add nuw nsw i32 %b.fragment.line, 48
  %b.even.0.g3.k48.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g3.k48.line, i32 %b.t0.element
  %b.even.0.g3.k48 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g3.k48.at), !alias.scope !4, !noalias !3
  %b.even.0.g3.k52.line = add nuw nsw i32 %b.fragment.line, 52
  %b.even.0.g3.k52.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.even.0.g3.k52.line, i32 %b.t0.element
  %b.even.0.g3.k52 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.even.0.g3.k52.at), !alias.scope !4, !noalias !3
  %b.even.0.g3 = shufflevector <4 x half> %b.even.0.g3.k48, <4 x half> %b.even.0.g3.k52, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.even = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.even.0.g3, <8 x half> %b.even.0.g3, <16 x float> %acc.m0.n0.even.s2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.odd.ahead = add nuw nsw i32 %a.even.ahead, 128
  %b.odd.ahead = add nuw nsw i32 %b.even.ahead, 16384
  ; phase 0: copy the next tile of A to LDS, load fragments 0 from LDS; then multiply them
  %a.odd.0.g0.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.fragment.line, i32 %a.element0
  %a.odd.0.g0 = load <8 x half>, ptr addrspace(3) %a.odd.0.g0.at, align 16, !alias.scope !4, !noalias !3
  %b.odd.0.g0.k0.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.fragment.line, i32 %b.t0.element
  %b.odd.0.g0.k0 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g0.k0.at), !alias.scope !4, !noalias !3
  %b.odd.0.g0.k4.line = add nuw nsw i32 %b.fragment.line, 4
  %b.odd.0.g0.k4.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g0.k4.line, i32 %b.t0.element
  %b.odd.0.g0.k4 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g0.k4.at), !alias.scope !4, !noalias !3
  %b.odd.0.g0 = shufflevector <4 x half> %b.odd.0.g0.k0, <4 x half> %b.odd.0.g0.k4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %a.odd.c0.to = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.wave_line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %a.buffer, ptr addrspace(3) %a.odd.c0.to, i32 16, i32 %a.c0.bytes, i32 %a.odd.ahead, i32 0, i32 0), !alias.scope !3
  call void @llvm.amdgcn.s.waitcnt(i32 49279) ; lgkmcnt(0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.odd.s0 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.odd.0.g0, <8 x half> %b.odd.0.g0, <16 x float> %acc.m0.n0.even, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 1: copy the next tile of B to LDS, load fragments 1 from LDS; then multiply them
  %a.odd.0.g1.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.fragment.line, i32 %a.element2
  %a.odd.0.g1 = load <8 x half>, ptr addrspace(3) %a.odd.0.g1.at, align 16, !alias.scope !4, !noalias !3
  %b.odd.0.g1.k16.line = add nuw nsw i32 %b.fragment.line, 16
  %b.odd.0.g1.k16.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g1.k16.line, i32 %b.t0.element
  %b.odd.0.g1.k16 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g1.k16.at), !alias.scope !4, !noalias !3
  %b.odd.0.g1.k20.line = add nuw nsw i32 %b.fragment.line, 20
  %b.odd.0.g1.k20.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g1.k20.line, i32 %b.t0.element
  %b.odd.0.g1.k20 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g1.k20.at), !alias.scope !4, !noalias !3
  %b.odd.0.g1 = shufflevector <4 x half> %b.odd.0.g1.k16, <4 x half> %b.odd.0.g1.k20, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %b.odd.c0.to = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.wave_line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b.buffer, ptr addrspace(3) %b.odd.c0.to, i32 16, i32 %b.c0.bytes, i32 %b.odd.ahead, i32 0, i32 0), !alias.scope !3
  %b.odd.c1.line = add nuw nsw i32 %b.wave_line, 32
  %b.odd.c1.to = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.odd.c1.line, i32 0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b.buffer, ptr addrspace(3) %b.odd.c1.to, i32 16, i32 %b.c1.bytes, i32 %b.odd.ahead, i32 0, i32 0), !alias.scope !3
  call void @llvm.amdgcn.s.waitcnt(i32 49279) ; lgkmcnt(0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.odd.s1 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.odd.0.g1, <8 x half> %b.odd.0.g1, <16 x float> %acc.m0.n0.odd.s0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 2: load fragments 2 from LDS; then multiply them
  %a.odd.0.g2.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.fragment.line, i32 %a.element4
  %a.odd.0.g2 = load <8 x half>, ptr addrspace(3) %a.odd.0.g2.at, align 16, !alias.scope !4, !noalias !3
  %b.odd.0.g2.k32.line = add nuw nsw i32 %b.fragment.line, 32
  %b.odd.0.g2.k32.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g2.k32.line, i32 %b.t0.element
  %b.odd.0.g2.k32 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g2.k32.at), !alias.scope !4, !noalias !3
  %b.odd.0.g2.k36.line = add nuw nsw i32 %b.fragment.line, 36
  %b.odd.0.g2.k36.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g2.k36.line, i32 %b.t0.element
  %b.odd.0.g2.k36 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g2.k36.at), !alias.scope !4, !noalias !3
  %b.odd.0.g2 = shufflevector <4 x half> %b.odd.0.g2.k32, <4 x half> %b.odd.0.g2.k36, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  call void @llvm.amdgcn.s.waitcnt(i32 49279) ; lgkmcnt(0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.odd.s2 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.odd.0.g2, <8 x half> %b.odd.0.g2, <16 x float> %acc.m0.n0.odd.s1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("wavefront") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("wavefront") acquire
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; phase 3: load fragments 3 from LDS, wait for the copies; then multiply them
  %a.odd.0.g3.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.fragment.line, i32 %a.element6
  %a.odd.0.g3 = load <8 x half>, ptr addrspace(3) %a.odd.0.g3.at, align 16, !alias.scope !4, !noalias !3
  %b.odd.0.g3.k48.line = add nuw nsw i32 %b.fragment.line, 48
  %b.odd.0.g3.k48.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g3.k48.line, i32 %b.t0.element
  %b.odd.0.g3.k48 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g3.k48.at), !alias.scope !4, !noalias !3
  %b.odd.0.g3.k52.line = add nuw nsw i32 %b.fragment.line, 52
  %b.odd.0.g3.k52.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.odd.0.g3.k52.line, i32 %b.t0.element
  %b.odd.0.g3.k52 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.odd.0.g3.k52.at), !alias.scope !4, !noalias !3
  %b.odd.0.g3 = shufflevector <4 x half> %b.odd.0.g3.k48, <4 x half> %b.odd.0.g3.k52, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.m0.n0.odd = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.odd.0.g3, <8 x half> %b.odd.0.g3, <16 x float> %acc.m0.n0.odd.s2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %trip.next = add nuw nsw i32 %trip, 1
  %more = icmp ult i32 %trip.next, 1
  br i1 %more, label %loop, label %behind, !llvm.loop !2

behind:
  ; the first half waits until the second half has finished its steps
  br i1 %second_half, label %last, label %catch_up
catch_up:
  call void @llvm.amdgcn.s.barrier()
  br label %last

; ---- mainloop: multiply the last tile
last:
  %a.last.0.g0.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element0
  %a.last.0.g0 = load <8 x half>, ptr addrspace(3) %a.last.0.g0.at, align 16, !alias.scope !4, !noalias !3
  %b.last.0.g0.k0.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.fragment.line, i32 %b.t0.element
  %b.last.0.g0.k0 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g0.k0.at), !alias.scope !4, !noalias !3
  %b.last.0.g0.k4.line = add nuw nsw i32 %b.fragment.line, 4
  %b.last.0.g0.k4.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g0.k4.line, i32 %b.t0.element
  %b.last.0.g0.k4 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g0.k4.at), !alias.scope !4, !noalias !3
  %b.last.0.g0 = shufflevector <4 x half> %b.last.0.g0.k0, <4 x half> %b.last.0.g0.k4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s0 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.last.0.g0, <8 x half> %b.last.0.g0, <16 x float> %acc.m0.n0.odd, i32 0, i32 0, i32 0)
  %a.last.0.g1.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element2
  %a.last.0.g1 = load <8 x half>, ptr addrspace(3) %a.last.0.g1.at, align 16, !alias.scope !4, !noalias !3
  %b.last.0.g1.k16.line = add nuw nsw i32 %b.fragment.line, 16
  %b.last.0.g1.k16.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g1.k16.line, i32 %b.t0.element
  %b.last.0.g1.k16 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g1.k16.at), !alias.scope !4, !noalias !3
  %b.last.0.g1.k20.line = add nuw nsw i32 %b.fragment.line, 20
  %b.last.0.g1.k20.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g1.k20.line, i32 %b.t0.element
  %b.last.0.g1.k20 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g1.k20.at), !alias.scope !4, !noalias !3
  %b.last.0.g1 = shufflevector <4 x half> %b.last.0.g1.k16, <4 x half> %b.last.0.g1.k20, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s1 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.last.0.g1, <8 x half> %b.last.0.g1, <16 x float> %acc.m0.n0.last.s0, i32 0, i32 0, i32 0)
  %a.last.0.g2.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element4
  %a.last.0.g2 = load <8 x half>, ptr addrspace(3) %a.last.0.g2.at, align 16, !alias.scope !4, !noalias !3
  %b.last.0.g2.k32.line = add nuw nsw i32 %b.fragment.line, 32
  %b.last.0.g2.k32.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g2.k32.line, i32 %b.t0.element
  %b.last.0.g2.k32 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g2.k32.at), !alias.scope !4, !noalias !3
  %b.last.0.g2.k36.line = add nuw nsw i32 %b.fragment.line, 36
  %b.last.0.g2.k36.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g2.k36.line, i32 %b.t0.element
  %b.last.0.g2.k36 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g2.k36.at), !alias.scope !4, !noalias !3
  %b.last.0.g2 = shufflevector <4 x half> %b.last.0.g2.k32, <4 x half> %b.last.0.g2.k36, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last.s2 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.last.0.g2, <8 x half> %b.last.0.g2, <16 x float> %acc.m0.n0.last.s1, i32 0, i32 0, i32 0)
  %a.last.0.g3.at = getelementptr [2 x [64 x [64 x half]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.fragment.line, i32 %a.element6
  %a.last.0.g3 = load <8 x half>, ptr addrspace(3) %a.last.0.g3.at, align 16, !alias.scope !4, !noalias !3
  %b.last.0.g3.k48.line = add nuw nsw i32 %b.fragment.line, 48
  %b.last.0.g3.k48.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g3.k48.line, i32 %b.t0.element
  %b.last.0.g3.k48 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g3.k48.at), !alias.scope !4, !noalias !3
  %b.last.0.g3.k52.line = add nuw nsw i32 %b.fragment.line, 52
  %b.last.0.g3.k52.at = getelementptr [2 x [64 x [128 x half]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.last.0.g3.k52.line, i32 %b.t0.element
  %b.last.0.g3.k52 = call <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3) %b.last.0.g3.k52.at), !alias.scope !4, !noalias !3
  %b.last.0.g3 = shufflevector <4 x half> %b.last.0.g3.k48, <4 x half> %b.last.0.g3.k52, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %a.last.0.g3, <8 x half> %b.last.0.g3, <16 x float> %acc.m0.n0.last.s2, i32 0, i32 0, i32 0)

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
declare ptr addrspace(1) @llvm.launder.invariant.group.p1(ptr addrspace(1))
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.f16(half, ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half>, <8 x half>, <16 x float>, i32 immarg, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.s.setprio(i16 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.s.waitcnt(i32 immarg)
declare <4 x half> @llvm.amdgcn.ds.read.tr16.b64.v4f16(ptr addrspace(3))

attributes #0 = {
  nounwind
  "target-cpu"="gfx950"
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
; Copies in flight and loads of fragments access different stages.
!3 = !{!5}
!4 = !{!6}
!5 = !{!5, !7, !"copies to LDS"}
!6 = !{!6, !7, !"fragments"}
!7 = !{!7, !"LDS"}
