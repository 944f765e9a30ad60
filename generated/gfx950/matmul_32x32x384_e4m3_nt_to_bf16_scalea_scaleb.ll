; matmul_32x32x384_e4m3_nt_to_bf16_scalea_scaleb
;
; computes:  out = scale_a * scale_b * A @ B, accumulated in f32
; target:    gfx950
; schedule:  mainloop=mma,block_m=32,block_n=32,block_k=128,num_stages=2,warp_m=16,warp_n=16,group_m=1,num_xcds=1,split_k=1,num_workgroups=0,stream_k=0 (user)
; launch:    1 x 1 x 1 workgroups of 256 threads, waves of 64
; method:    K loop: 3 tiles of 128
; memory:    LDS, 16384 B
;            @a_tile: e4m3 [stage: 2][line of 16 k: 8][slot of 1 m: 32], 8192 B, slot = position ^ (line << 1 &
;              15)
;            @b_tile: e4m3 [stage: 2][line of 16 k: 8][slot of 1 n: 32], 8192 B, slot = position ^ (line << 1 &
;              15)
; arguments: a: input e4m3[32, 384], strides [384, 1]
;            b: input e4m3[32, 384], strides [384, 1]
;            scale_a: input f32[1], strides [1]
;            scale_b: input f32[1], strides [1]
;            out: output bf16[32, 32], strides [32, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [8 x [32 x [16 x i8]]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [8 x [32 x [16 x i8]]]] poison, align 16

define amdgpu_kernel void @matmul_32x32x384_e4m3_nt_to_bf16_scalea_scaleb(
    ptr addrspace(1) inreg noalias readonly %a,
    ptr addrspace(1) inreg noalias readonly %b,
    ptr addrspace(1) inreg noalias readonly %scale_a,
    ptr addrspace(1) inreg noalias readonly %scale_b,
    ptr addrspace(1) inreg noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %block_n = call i32 @llvm.amdgcn.workgroup.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 32
  %first_column = mul nuw nsw i32 %block_n, 32
  ; A: chunks of 1 x 16 (m x k), 8 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 384
  %a.tile.first = getelementptr i8, ptr addrspace(1) %a, i64 %a.row_offset
  %a.c0.k.chunk = urem i32 %thread, 8
  %a.c0.k = mul nuw nsw i32 %a.c0.k.chunk, 16
  %a.c0.row.chunk = udiv i32 %thread, 8
  %a.c0.line = mul nuw nsw i32 %a.c0.row.chunk, 384
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k
  %a.c0.units = udiv i32 %a.c0.narrow, 2
  %a.c0.offset = zext i32 %a.c0.units to i64
  %a.c0.lds_line = udiv i32 %a.c0.k, 16
  %a.c0.slot.scaled = shl i32 %a.c0.lds_line, 1
  %a.c0.slot.low = and i32 %a.c0.slot.scaled, 15
  %a.c0.slot = xor i32 %a.c0.row.chunk, %a.c0.slot.low
  ; B: chunks of 16 x 1 (k x n), 8 side by side along k
  %b.first_row = zext i32 %first_column to i64
  %b.row_offset = mul nuw nsw i64 %b.first_row, 384
  %b.tile.first = getelementptr i8, ptr addrspace(1) %b, i64 %b.row_offset
  %b.c0.k.chunk = urem i32 %thread, 8
  %b.c0.k = mul nuw nsw i32 %b.c0.k.chunk, 16
  %b.c0.row.chunk = udiv i32 %thread, 8
  %b.c0.line = mul nuw nsw i32 %b.c0.row.chunk, 384
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.k
  %b.c0.units = udiv i32 %b.c0.narrow, 2
  %b.c0.offset = zext i32 %b.c0.units to i64
  %b.c0.lds_line = udiv i32 %b.c0.k, 16
  %b.c0.slot.scaled = shl i32 %b.c0.lds_line, 1
  %b.c0.slot.low = and i32 %b.c0.slot.scaled, 15
  %b.c0.slot = xor i32 %b.c0.row.chunk, %b.c0.slot.low
  ; the wave's position among 2 x 2 warp tiles of 16 x 16
  %lane = and i32 %thread, 63
  %wave.of_thread = lshr i32 %thread, 6
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %wave_m = udiv i32 %wave, 2
  %wave_n = urem i32 %wave, 2
  %warp_row = mul nuw nsw i32 %wave_m, 16
  %warp_column = mul nuw nsw i32 %wave_n, 16
  ; the lane's row of A and column of B in an MMA tile, and the LDS lines that it loads; MMA tiles with
  ; the same swizzle are at constant distances
  %lane_row = and i32 %lane, 15
  %lane_group = lshr i32 %lane, 4
  %line4 = add nuw nsw i32 %lane_group, 4
  %a.fragment = add nuw nsw i32 %warp_row, %lane_row
  %a.t0.slot0.scaled = shl i32 %lane_group, 1
  %a.t0.slot0.low = and i32 %a.t0.slot0.scaled, 15
  %a.t0.slot0 = xor i32 %a.fragment, %a.t0.slot0.low
  %a.t0.slot4.scaled = shl i32 %line4, 1
  %a.t0.slot4.low = and i32 %a.t0.slot4.scaled, 15
  %a.t0.slot4 = xor i32 %a.fragment, %a.t0.slot4.low
  %b.fragment = add nuw nsw i32 %warp_column, %lane_row
  %b.t0.slot0.scaled = shl i32 %lane_group, 1
  %b.t0.slot0.low = and i32 %b.t0.slot0.scaled, 15
  %b.t0.slot0 = xor i32 %b.fragment, %b.t0.slot0.low
  %b.t0.slot4.scaled = shl i32 %line4, 1
  %b.t0.slot4.low = and i32 %b.t0.slot4.scaled, 15
  %b.t0.slot4 = xor i32 %b.fragment, %b.t0.slot4.low

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load <16 x i8>, ptr addrspace(1) %a.first.c0.l0.at, align 1
  %b.first.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load <16 x i8>, ptr addrspace(1) %b.first.c0.l0.at, align 1
  %a.first.c0.s0.at = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <16 x i8> %a.first.c0.l0, ptr addrspace(3) %a.first.c0.s0.at, align 16
  %b.first.c0.s0.at = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <16 x i8> %b.first.c0.l0, ptr addrspace(3) %b.first.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop

; ---- mainloop: load tile i + 1, multiply tile i
loop:
  %trip = phi i32 [ 0, %entry ], [ %trip.next, %loop.second ]
  %a.tile.start = phi ptr addrspace(1) [ %a.tile.first, %entry ], [ %a.tile.loop.second, %loop.second ]
  %b.tile.start = phi ptr addrspace(1) [ %b.tile.first, %entry ], [ %b.tile.loop.second, %loop.second ]
  %acc.m0.n0.start = phi <4 x float> [ zeroinitializer, %entry ], [ %acc.m0.n0.loop.second, %loop.second ]
  %a.tile.loop = getelementptr i8, ptr addrspace(1) %a.tile.start, i64 128
  %b.tile.loop = getelementptr i8, ptr addrspace(1) %b.tile.start, i64 128
  %a.loop.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %a.tile.loop, i64 %a.c0.offset
  %a.loop.c0.l0 = load <16 x i8>, ptr addrspace(1) %a.loop.c0.l0.at, align 1
  %b.loop.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop, i64 %b.c0.offset
  %b.loop.c0.l0 = load <16 x i8>, ptr addrspace(1) %b.loop.c0.l0.at, align 1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.loop.0.g0.line0.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.loop.0.g0.line0 = load <4 x i32>, ptr addrspace(3) %a.loop.0.g0.line0.first, align 16
  %a.loop.0.g0.line4.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line4, i32 %a.t0.slot4, i32 0
  %a.loop.0.g0.line4 = load <4 x i32>, ptr addrspace(3) %a.loop.0.g0.line4.first, align 16
  %a.loop.0.g0 = shufflevector <4 x i32> %a.loop.0.g0.line0, <4 x i32> %a.loop.0.g0.line4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %b.loop.0.g0.line0.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t0.slot0, i32 0
  %b.loop.0.g0.line0 = load <4 x i32>, ptr addrspace(3) %b.loop.0.g0.line0.first, align 16
  %b.loop.0.g0.line4.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line4, i32 %b.t0.slot4, i32 0
  %b.loop.0.g0.line4 = load <4 x i32>, ptr addrspace(3) %b.loop.0.g0.line4.first, align 16
  %b.loop.0.g0 = shufflevector <4 x i32> %b.loop.0.g0.line0, <4 x i32> %b.loop.0.g0.line4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.loop = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32(<8 x i32> %a.loop.0.g0, <8 x i32> %b.loop.0.g0, <4 x float> %acc.m0.n0.start, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.c0.s0.at = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <16 x i8> %a.loop.c0.l0, ptr addrspace(3) %a.loop.c0.s0.at, align 16
  %b.loop.c0.s0.at = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <16 x i8> %b.loop.c0.l0, ptr addrspace(3) %b.loop.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop.second
loop.second:
  %a.tile.loop.second = getelementptr i8, ptr addrspace(1) %a.tile.loop, i64 128
  %b.tile.loop.second = getelementptr i8, ptr addrspace(1) %b.tile.loop, i64 128
  %a.loop.second.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %a.tile.loop.second, i64 %a.c0.offset
  %a.loop.second.c0.l0 = load <16 x i8>, ptr addrspace(1) %a.loop.second.c0.l0.at, align 1
  %b.loop.second.c0.l0.at = getelementptr [2 x i8], ptr addrspace(1) %b.tile.loop.second, i64 %b.c0.offset
  %b.loop.second.c0.l0 = load <16 x i8>, ptr addrspace(1) %b.loop.second.c0.l0.at, align 1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.loop.second.0.g0.line0.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.loop.second.0.g0.line0 = load <4 x i32>, ptr addrspace(3) %a.loop.second.0.g0.line0.first, align 16
  %a.loop.second.0.g0.line4.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %line4, i32 %a.t0.slot4, i32 0
  %a.loop.second.0.g0.line4 = load <4 x i32>, ptr addrspace(3) %a.loop.second.0.g0.line4.first, align 16
  %a.loop.second.0.g0 = shufflevector <4 x i32> %a.loop.second.0.g0.line0, <4 x i32> %a.loop.second.0.g0.line4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %b.loop.second.0.g0.line0.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %lane_group, i32 %b.t0.slot0, i32 0
  %b.loop.second.0.g0.line0 = load <4 x i32>, ptr addrspace(3) %b.loop.second.0.g0.line0.first, align 16
  %b.loop.second.0.g0.line4.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %line4, i32 %b.t0.slot4, i32 0
  %b.loop.second.0.g0.line4 = load <4 x i32>, ptr addrspace(3) %b.loop.second.0.g0.line4.first, align 16
  %b.loop.second.0.g0 = shufflevector <4 x i32> %b.loop.second.0.g0.line0, <4 x i32> %b.loop.second.0.g0.line4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.loop.second = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32(<8 x i32> %a.loop.second.0.g0, <8 x i32> %b.loop.second.0.g0, <4 x float> %acc.m0.n0.loop, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.loop.second.c0.s0.at = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <16 x i8> %a.loop.second.c0.l0, ptr addrspace(3) %a.loop.second.c0.s0.at, align 16
  %b.loop.second.c0.s0.at = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <16 x i8> %b.loop.second.c0.l0, ptr addrspace(3) %b.loop.second.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %trip.next = add nuw nsw i32 %trip, 1
  %more = icmp ult i32 %trip.next, 1
  br i1 %more, label %loop, label %last, !llvm.loop !2

; ---- mainloop: multiply the last tile
last:
  ; depths from 0 on
  %a.last.0.g0.line0.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %lane_group, i32 %a.t0.slot0, i32 0
  %a.last.0.g0.line0 = load <4 x i32>, ptr addrspace(3) %a.last.0.g0.line0.first, align 16
  %a.last.0.g0.line4.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %line4, i32 %a.t0.slot4, i32 0
  %a.last.0.g0.line4 = load <4 x i32>, ptr addrspace(3) %a.last.0.g0.line4.first, align 16
  %a.last.0.g0 = shufflevector <4 x i32> %a.last.0.g0.line0, <4 x i32> %a.last.0.g0.line4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %b.last.0.g0.line0.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %lane_group, i32 %b.t0.slot0, i32 0
  %b.last.0.g0.line0 = load <4 x i32>, ptr addrspace(3) %b.last.0.g0.line0.first, align 16
  %b.last.0.g0.line4.first = getelementptr [2 x [8 x [32 x [16 x i8]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %line4, i32 %b.t0.slot4, i32 0
  %b.last.0.g0.line4 = load <4 x i32>, ptr addrspace(3) %b.last.0.g0.line4.first, align 16
  %b.last.0.g0 = shufflevector <4 x i32> %b.last.0.g0.line0, <4 x i32> %b.last.0.g0.line4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %acc.m0.n0.last = call <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32(<8 x i32> %a.last.0.g0, <8 x i32> %b.last.0.g0, <4 x float> %acc.m0.n0.loop.second, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)

; ---- epilogue: result register r of a lane is one row of an MMA tile
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 32
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr bfloat, ptr addrspace(1) %out, i64 %out.first
  %scale_a.all = load float, ptr addrspace(1) %scale_a, align 4
  %scale_b.all = load float, ptr addrspace(1) %scale_b, align 4
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 2048, i32 159744)
  %out.lane_row = mul nuw nsw i32 %lane_group, 4
  %out.row = add nuw nsw i32 %warp_row, %out.lane_row
  %out.column = add nuw nsw i32 %warp_column, %lane_row
  %column0.bytes = mul nuw nsw i32 %out.column, 2
  ; row 0
  %row.m0.r0.bytes = mul nuw nsw i32 %out.row, 64
  %m0.c0.r0 = extractelement <4 x float> %acc.m0.n0.last, i32 0
  %m0.c0.r0.at = add i32 %row.m0.r0.bytes, %column0.bytes
  ; A @ B * (scale_a * scale_b)
  %m0.c0.r0.finished_mul = fmul contract float %scale_a.all, %scale_b.all
  %m0.c0.r0.finished = fmul contract float %m0.c0.r0, %m0.c0.r0.finished_mul
  %m0.c0.r0.rounded = fptrunc float %m0.c0.r0.finished to bfloat
  call void @llvm.amdgcn.raw.ptr.buffer.store.bf16(bfloat %m0.c0.r0.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r0.at, i32 0, i32 0)
  ; row 1
  %row.m0.r1 = add nuw nsw i32 %out.row, 1
  %row.m0.r1.bytes = mul nuw nsw i32 %row.m0.r1, 64
  %m0.c0.r1 = extractelement <4 x float> %acc.m0.n0.last, i32 1
  %m0.c0.r1.at = add i32 %row.m0.r1.bytes, %column0.bytes
  ; A @ B * (scale_a * scale_b)
  %m0.c0.r1.finished_mul = fmul contract float %scale_a.all, %scale_b.all
  %m0.c0.r1.finished = fmul contract float %m0.c0.r1, %m0.c0.r1.finished_mul
  %m0.c0.r1.rounded = fptrunc float %m0.c0.r1.finished to bfloat
  call void @llvm.amdgcn.raw.ptr.buffer.store.bf16(bfloat %m0.c0.r1.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r1.at, i32 0, i32 0)
  ; row 2
  %row.m0.r2 = add nuw nsw i32 %out.row, 2
  %row.m0.r2.bytes = mul nuw nsw i32 %row.m0.r2, 64
  %m0.c0.r2 = extractelement <4 x float> %acc.m0.n0.last, i32 2
  %m0.c0.r2.at = add i32 %row.m0.r2.bytes, %column0.bytes
  ; A @ B * (scale_a * scale_b)
  %m0.c0.r2.finished_mul = fmul contract float %scale_a.all, %scale_b.all
  %m0.c0.r2.finished = fmul contract float %m0.c0.r2, %m0.c0.r2.finished_mul
  %m0.c0.r2.rounded = fptrunc float %m0.c0.r2.finished to bfloat
  call void @llvm.amdgcn.raw.ptr.buffer.store.bf16(bfloat %m0.c0.r2.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r2.at, i32 0, i32 0)
  ; row 3
  %row.m0.r3 = add nuw nsw i32 %out.row, 3
  %row.m0.r3.bytes = mul nuw nsw i32 %row.m0.r3, 64
  %m0.c0.r3 = extractelement <4 x float> %acc.m0.n0.last, i32 3
  %m0.c0.r3.at = add i32 %row.m0.r3.bytes, %column0.bytes
  ; A @ B * (scale_a * scale_b)
  %m0.c0.r3.finished_mul = fmul contract float %scale_a.all, %scale_b.all
  %m0.c0.r3.finished = fmul contract float %m0.c0.r3, %m0.c0.r3.finished_mul
  %m0.c0.r3.rounded = fptrunc float %m0.c0.r3.finished to bfloat
  call void @llvm.amdgcn.raw.ptr.buffer.store.bf16(bfloat %m0.c0.r3.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r3.at, i32 0, i32 0)

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.bf16(bfloat, ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare <4 x float> @llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32(<8 x i32>, <8 x i32>, <4 x float>, i32 immarg, i32 immarg, i32 immarg, i32 immarg, i32 immarg, i32 immarg)

attributes #0 = {
  nounwind
  "target-cpu"="gfx950"
  "amdgpu-flat-work-group-size"="256,256"
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
