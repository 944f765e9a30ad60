; matmul_33x17x40_f16_nt_bias_relu
;
; computes:  out = relu(A @ B + bias), accumulated in f32
; target:    gfx1100
; schedule:  mainloop=mma,block_m=32,block_n=16,block_k=32,num_stages=2,warp_m=16,warp_n=16,group_m=1,num_xcds=1,split_k=1,num_workgroups=0,stream_k=0 (user)
; launch:    2 x 2 x 1 workgroups of 64 threads, waves of 32
; method:    K loop: 1 tile of 32 and a remainder of 8
; memory:    LDS, 6144 B
;            @a_tile: f16 [stage: 2][line of 8 k: 4][slot of 1 m: 32], 4096 B, slot = position ^ (line << 1 & 7)
;            @b_tile: f16 [stage: 2][line of 8 k: 4][slot of 1 n: 16], 2048 B, slot = position ^ (line << 1 & 7)
; arguments: a: input f16[33, 40], strides [40, 1]
;            b: input f16[17, 40], strides [40, 1]
;            bias: input f16[17], strides [1]
;            out: output f16[33, 17], strides [17, 1]

target triple = "amdgcn-amd-amdhsa"

@a_tile = internal addrspace(3) global [2 x [4 x [32 x [8 x half]]]] poison, align 16
@b_tile = internal addrspace(3) global [2 x [4 x [16 x [8 x half]]]] poison, align 16

define amdgpu_kernel void @matmul_33x17x40_f16_nt_bias_relu(
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
  %first_row = mul nuw nsw i32 %block_m, 32
  %first_column = mul nuw nsw i32 %block_n, 16
  ; A: chunks of 1 x 8 (m x k), 4 side by side along k
  %a.first_row = zext i32 %first_row to i64
  %a.row_offset = mul nuw nsw i64 %a.first_row, 40
  %a.tile.first = getelementptr half, ptr addrspace(1) %a, i64 %a.row_offset
  ; rows past the last read the last row; their results are not stored
  %a.row_limit = sub nuw nsw i32 32, %first_row
  %a.c0.k.chunk = urem i32 %thread, 4
  %a.c0.k = mul nuw nsw i32 %a.c0.k.chunk, 8
  %a.c0.row.chunk = udiv i32 %thread, 4
  %a.c0.row.exists = call i32 @llvm.umin.i32(i32 %a.c0.row.chunk, i32 %a.row_limit)
  %a.c0.line = mul nuw nsw i32 %a.c0.row.exists, 40
  %a.c0.narrow = add nuw nsw i32 %a.c0.line, %a.c0.k
  %a.c0.offset = zext i32 %a.c0.narrow to i64
  %a.c0.lds_line = udiv i32 %a.c0.k, 8
  %a.c0.slot.scaled = shl i32 %a.c0.lds_line, 1
  %a.c0.slot.low = and i32 %a.c0.slot.scaled, 7
  %a.c0.slot = xor i32 %a.c0.row.chunk, %a.c0.slot.low
  %a.c1 = add nuw nsw i32 %thread, 64
  %a.c1.k.chunk = urem i32 %a.c1, 4
  %a.c1.k = mul nuw nsw i32 %a.c1.k.chunk, 8
  %a.c1.row.chunk = udiv i32 %a.c1, 4
  %a.c1.row.exists = call i32 @llvm.umin.i32(i32 %a.c1.row.chunk, i32 %a.row_limit)
  %a.c1.line = mul nuw nsw i32 %a.c1.row.exists, 40
  %a.c1.narrow = add nuw nsw i32 %a.c1.line, %a.c1.k
  %a.c1.offset = zext i32 %a.c1.narrow to i64
  %a.c1.lds_line = udiv i32 %a.c1.k, 8
  %a.c1.slot.scaled = shl i32 %a.c1.lds_line, 1
  %a.c1.slot.low = and i32 %a.c1.slot.scaled, 7
  %a.c1.slot = xor i32 %a.c1.row.chunk, %a.c1.slot.low
  ; B: chunks of 8 x 1 (k x n), 4 side by side along k
  %b.first_row = zext i32 %first_column to i64
  %b.row_offset = mul nuw nsw i64 %b.first_row, 40
  %b.tile.first = getelementptr half, ptr addrspace(1) %b, i64 %b.row_offset
  ; rows past the last read the last row; their results are not stored
  %b.row_limit = sub nuw nsw i32 16, %first_column
  %b.c0.k.chunk = urem i32 %thread, 4
  %b.c0.k = mul nuw nsw i32 %b.c0.k.chunk, 8
  %b.c0.row.chunk = udiv i32 %thread, 4
  %b.c0.row.exists = call i32 @llvm.umin.i32(i32 %b.c0.row.chunk, i32 %b.row_limit)
  %b.c0.line = mul nuw nsw i32 %b.c0.row.exists, 40
  %b.c0.narrow = add nuw nsw i32 %b.c0.line, %b.c0.k
  %b.c0.offset = zext i32 %b.c0.narrow to i64
  %b.c0.lds_line = udiv i32 %b.c0.k, 8
  %b.c0.slot.scaled = shl i32 %b.c0.lds_line, 1
  %b.c0.slot.low = and i32 %b.c0.slot.scaled, 7
  %b.c0.slot = xor i32 %b.c0.row.chunk, %b.c0.slot.low
  ; the wave's position among 2 x 1 warp tiles of 16 x 16
  %lane = and i32 %thread, 31
  %wave.of_thread = lshr i32 %thread, 5
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %warp_row = mul nuw nsw i32 %wave, 16
  ; the lane's row of A and column of B in an MMA tile, and the LDS lines that it loads; MMA tiles with
  ; the same swizzle are at constant distances
  %lane_row = and i32 %lane, 15
  %lane_group = lshr i32 %lane, 4
  %a.fragment = add nuw nsw i32 %warp_row, %lane_row
  %a.t0.slot1 = xor i32 %a.fragment, 2
  %a.t0.slot2 = xor i32 %a.fragment, 4
  %a.t0.slot3 = xor i32 %a.fragment, 6
  %b.t0.slot1 = xor i32 %lane_row, 2
  %b.t0.slot2 = xor i32 %lane_row, 4
  %b.t0.slot3 = xor i32 %lane_row, 6

; ---- prologue: the first tile
  %a.first.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.first, i64 %a.c0.offset
  %a.first.c0.l0 = load <8 x half>, ptr addrspace(1) %a.first.c0.l0.at, align 2
  %a.first.c1.l0.at = getelementptr half, ptr addrspace(1) %a.tile.first, i64 %a.c1.offset
  %a.first.c1.l0 = load <8 x half>, ptr addrspace(1) %a.first.c1.l0.at, align 2
  %b.first.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.first, i64 %b.c0.offset
  %b.first.c0.l0 = load <8 x half>, ptr addrspace(1) %b.first.c0.l0.at, align 2
  %a.first.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.first.c0.l0, ptr addrspace(3) %a.first.c0.s0.at, align 16
  %a.first.c1.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 %a.c1.lds_line, i32 %a.c1.slot, i32 0
  store <8 x half> %a.first.c1.l0, ptr addrspace(3) %a.first.c1.s0.at, align 16
  %b.first.c0.s0.at = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <8 x half> %b.first.c0.l0, ptr addrspace(3) %b.first.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %tail

; ---- mainloop, remainder: load the partial tile, multiply the previous one
tail:
  %a.tile.tail = getelementptr half, ptr addrspace(1) %a.tile.first, i64 32
  %b.tile.tail = getelementptr half, ptr addrspace(1) %b.tile.first, i64 32
  ; depths from 8 on are past K and read as zero
  %a.tail.c0.l0.exists = icmp ult i32 %a.c0.k, 8
  %a.tail.c0.l0.offset = select i1 %a.tail.c0.l0.exists, i64 %a.c0.offset, i64 0
  %a.tail.c0.l0.at = getelementptr half, ptr addrspace(1) %a.tile.tail, i64 %a.tail.c0.l0.offset
  %a.tail.c0.l0.read = load <8 x half>, ptr addrspace(1) %a.tail.c0.l0.at, align 2
  %a.tail.c0.l0 = select i1 %a.tail.c0.l0.exists, <8 x half> %a.tail.c0.l0.read, <8 x half> zeroinitializer
  %a.tail.c1.l0.exists = icmp ult i32 %a.c1.k, 8
  %a.tail.c1.l0.offset = select i1 %a.tail.c1.l0.exists, i64 %a.c1.offset, i64 0
  %a.tail.c1.l0.at = getelementptr half, ptr addrspace(1) %a.tile.tail, i64 %a.tail.c1.l0.offset
  %a.tail.c1.l0.read = load <8 x half>, ptr addrspace(1) %a.tail.c1.l0.at, align 2
  %a.tail.c1.l0 = select i1 %a.tail.c1.l0.exists, <8 x half> %a.tail.c1.l0.read, <8 x half> zeroinitializer
  ; depths from 8 on are past K and read as zero
  %b.tail.c0.l0.exists = icmp ult i32 %b.c0.k, 8
  %b.tail.c0.l0.offset = select i1 %b.tail.c0.l0.exists, i64 %b.c0.offset, i64 0
  %b.tail.c0.l0.at = getelementptr half, ptr addrspace(1) %b.tile.tail, i64 %b.tail.c0.l0.offset
  %b.tail.c0.l0.read = load <8 x half>, ptr addrspace(1) %b.tail.c0.l0.at, align 2
  %b.tail.c0.l0 = select i1 %b.tail.c0.l0.exists, <8 x half> %b.tail.c0.l0.read, <8 x half> zeroinitializer
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; depths from 0 on
  %a.tail.0.g0.line0.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 0, i32 %a.fragment, i32 0
  %a.tail.0.g0.line0 = load <8 x half>, ptr addrspace(3) %a.tail.0.g0.line0.first, align 16
  %a.tail.0.g0.line1.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 1, i32 %a.t0.slot1, i32 0
  %a.tail.0.g0.line1 = load <8 x half>, ptr addrspace(3) %a.tail.0.g0.line1.first, align 16
  %a.tail.0.g0 = shufflevector <8 x half> %a.tail.0.g0.line0, <8 x half> %a.tail.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.tail.0.g0.line0.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 0, i32 %lane_row, i32 0
  %b.tail.0.g0.line0 = load <8 x half>, ptr addrspace(3) %b.tail.0.g0.line0.first, align 16
  %b.tail.0.g0.line1.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 1, i32 %b.t0.slot1, i32 0
  %b.tail.0.g0.line1 = load <8 x half>, ptr addrspace(3) %b.tail.0.g0.line1.first, align 16
  %b.tail.0.g0 = shufflevector <8 x half> %b.tail.0.g0.line0, <8 x half> %b.tail.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.tail.s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.tail.0.g0, <16 x half> %b.tail.0.g0, <8 x float> zeroinitializer)
  ; depths from 16 on
  %a.tail.0.g1.line2.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 2, i32 %a.t0.slot2, i32 0
  %a.tail.0.g1.line2 = load <8 x half>, ptr addrspace(3) %a.tail.0.g1.line2.first, align 16
  %a.tail.0.g1.line3.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 0, i32 3, i32 %a.t0.slot3, i32 0
  %a.tail.0.g1.line3 = load <8 x half>, ptr addrspace(3) %a.tail.0.g1.line3.first, align 16
  %a.tail.0.g1 = shufflevector <8 x half> %a.tail.0.g1.line2, <8 x half> %a.tail.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.tail.0.g1.line2.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 2, i32 %b.t0.slot2, i32 0
  %b.tail.0.g1.line2 = load <8 x half>, ptr addrspace(3) %b.tail.0.g1.line2.first, align 16
  %b.tail.0.g1.line3.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 0, i32 3, i32 %b.t0.slot3, i32 0
  %b.tail.0.g1.line3 = load <8 x half>, ptr addrspace(3) %b.tail.0.g1.line3.first, align 16
  %b.tail.0.g1 = shufflevector <8 x half> %b.tail.0.g1.line2, <8 x half> %b.tail.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.tail = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.tail.0.g1, <16 x half> %b.tail.0.g1, <8 x float> %acc.m0.n0.tail.s0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %a.tail.c0.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c0.lds_line, i32 %a.c0.slot, i32 0
  store <8 x half> %a.tail.c0.l0, ptr addrspace(3) %a.tail.c0.s0.at, align 16
  %a.tail.c1.s0.at = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 %a.c1.lds_line, i32 %a.c1.slot, i32 0
  store <8 x half> %a.tail.c1.l0, ptr addrspace(3) %a.tail.c1.s0.at, align 16
  %b.tail.c0.s0.at = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 %b.c0.lds_line, i32 %b.c0.slot, i32 0
  store <8 x half> %b.tail.c0.l0, ptr addrspace(3) %b.tail.c0.s0.at, align 16
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %last

; ---- mainloop: multiply the last tile
last:
  ; depths from 0 on
  %a.last.0.g0.line0.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 0, i32 %a.fragment, i32 0
  %a.last.0.g0.line0 = load <8 x half>, ptr addrspace(3) %a.last.0.g0.line0.first, align 16
  %a.last.0.g0.line1.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 1, i32 %a.t0.slot1, i32 0
  %a.last.0.g0.line1 = load <8 x half>, ptr addrspace(3) %a.last.0.g0.line1.first, align 16
  %a.last.0.g0 = shufflevector <8 x half> %a.last.0.g0.line0, <8 x half> %a.last.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.last.0.g0.line0.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 0, i32 %lane_row, i32 0
  %b.last.0.g0.line0 = load <8 x half>, ptr addrspace(3) %b.last.0.g0.line0.first, align 16
  %b.last.0.g0.line1.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 1, i32 %b.t0.slot1, i32 0
  %b.last.0.g0.line1 = load <8 x half>, ptr addrspace(3) %b.last.0.g0.line1.first, align 16
  %b.last.0.g0 = shufflevector <8 x half> %b.last.0.g0.line0, <8 x half> %b.last.0.g0.line1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.last.s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.last.0.g0, <16 x half> %b.last.0.g0, <8 x float> %acc.m0.n0.tail)
  ; depths from 16 on
  %a.last.0.g1.line2.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 2, i32 %a.t0.slot2, i32 0
  %a.last.0.g1.line2 = load <8 x half>, ptr addrspace(3) %a.last.0.g1.line2.first, align 16
  %a.last.0.g1.line3.first = getelementptr [2 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @a_tile, i32 0, i32 1, i32 3, i32 %a.t0.slot3, i32 0
  %a.last.0.g1.line3 = load <8 x half>, ptr addrspace(3) %a.last.0.g1.line3.first, align 16
  %a.last.0.g1 = shufflevector <8 x half> %a.last.0.g1.line2, <8 x half> %a.last.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %b.last.0.g1.line2.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 2, i32 %b.t0.slot2, i32 0
  %b.last.0.g1.line2 = load <8 x half>, ptr addrspace(3) %b.last.0.g1.line2.first, align 16
  %b.last.0.g1.line3.first = getelementptr [2 x [4 x [16 x [8 x half]]]], ptr addrspace(3) @b_tile, i32 0, i32 1, i32 3, i32 %b.t0.slot3, i32 0
  %b.last.0.g1.line3 = load <8 x half>, ptr addrspace(3) %b.last.0.g1.line3.first, align 16
  %b.last.0.g1 = shufflevector <8 x half> %b.last.0.g1.line2, <8 x half> %b.last.0.g1.line3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %acc.m0.n0.last = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a.last.0.g1, <16 x half> %b.last.0.g1, <8 x float> %acc.m0.n0.last.s0)
  call void @llvm.amdgcn.sched.barrier(i32 0)

; ---- epilogue: result register r of a lane is one row of an MMA tile
  %out.first_row = zext i32 %first_row to i64
  %out.first_column = zext i32 %first_column to i64
  %out.row_offset = mul nuw nsw i64 %out.first_row, 17
  %out.first = add nuw nsw i64 %out.row_offset, %out.first_column
  %out.block = getelementptr half, ptr addrspace(1) %out, i64 %out.first
  %bias.block = getelementptr half, ptr addrspace(1) %bias, i64 %out.first_column
  %rows_left = sub nuw nsw i32 33, %first_row
  %columns_left = sub nuw nsw i32 17, %first_column
  %rows_inside = call i32 @llvm.umin.i32(i32 %rows_left, i32 32)
  %bytes_inside = mul nuw nsw i32 %rows_inside, 34
  %out.bytes = zext i32 %bytes_inside to i64
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 %out.bytes, i32 822243328)
  %out.row = add nuw nsw i32 %warp_row, %lane_group
  %column0.wide = zext i32 %lane_row to i64
  %column0.exists = icmp ult i32 %lane_row, %columns_left
  %column0.offset = mul nuw nsw i32 %lane_row, 2
  %column0.bytes = select i1 %column0.exists, i32 %column0.offset, i32 -2147483648
  %column0.inside = select i1 %column0.exists, i64 %column0.wide, i64 0
  %column0.bias.at = getelementptr half, ptr addrspace(1) %bias.block, i64 %column0.inside
  %column0.bias.stored = load half, ptr addrspace(1) %column0.bias.at, align 2
  %column0.bias = fpext half %column0.bias.stored to float
  ; row 0
  %row.m0.r0.bytes = mul nuw nsw i32 %out.row, 34
  %m0.c0.r0 = extractelement <8 x float> %acc.m0.n0.last, i32 0
  %m0.c0.r0.at = add i32 %row.m0.r0.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r0.finished_add = fadd contract float %m0.c0.r0, %column0.bias
  %m0.c0.r0.finished_less_equal = fcmp ole float %m0.c0.r0.finished_add, 0x0000000000000000
  %m0.c0.r0.finished = select i1 %m0.c0.r0.finished_less_equal, float 0x0000000000000000, float %m0.c0.r0.finished_add
  %m0.c0.r0.rounded = fptrunc float %m0.c0.r0.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r0.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r0.at, i32 0, i32 0)
  ; row 2
  %row.m0.r1 = add nuw nsw i32 %out.row, 2
  %row.m0.r1.bytes = mul nuw nsw i32 %row.m0.r1, 34
  %m0.c0.r1 = extractelement <8 x float> %acc.m0.n0.last, i32 1
  %m0.c0.r1.at = add i32 %row.m0.r1.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r1.finished_add = fadd contract float %m0.c0.r1, %column0.bias
  %m0.c0.r1.finished_less_equal = fcmp ole float %m0.c0.r1.finished_add, 0x0000000000000000
  %m0.c0.r1.finished = select i1 %m0.c0.r1.finished_less_equal, float 0x0000000000000000, float %m0.c0.r1.finished_add
  %m0.c0.r1.rounded = fptrunc float %m0.c0.r1.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r1.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r1.at, i32 0, i32 0)
  ; row 4
  %row.m0.r2 = add nuw nsw i32 %out.row, 4
  %row.m0.r2.bytes = mul nuw nsw i32 %row.m0.r2, 34
  %m0.c0.r2 = extractelement <8 x float> %acc.m0.n0.last, i32 2
  %m0.c0.r2.at = add i32 %row.m0.r2.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r2.finished_add = fadd contract float %m0.c0.r2, %column0.bias
  %m0.c0.r2.finished_less_equal = fcmp ole float %m0.c0.r2.finished_add, 0x0000000000000000
  %m0.c0.r2.finished = select i1 %m0.c0.r2.finished_less_equal, float 0x0000000000000000, float %m0.c0.r2.finished_add
  %m0.c0.r2.rounded = fptrunc float %m0.c0.r2.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r2.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r2.at, i32 0, i32 0)
  ; row 6
  %row.m0.r3 = add nuw nsw i32 %out.row, 6
  %row.m0.r3.bytes = mul nuw nsw i32 %row.m0.r3, 34
  %m0.c0.r3 = extractelement <8 x float> %acc.m0.n0.last, i32 3
  %m0.c0.r3.at = add i32 %row.m0.r3.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r3.finished_add = fadd contract float %m0.c0.r3, %column0.bias
  %m0.c0.r3.finished_less_equal = fcmp ole float %m0.c0.r3.finished_add, 0x0000000000000000
  %m0.c0.r3.finished = select i1 %m0.c0.r3.finished_less_equal, float 0x0000000000000000, float %m0.c0.r3.finished_add
  %m0.c0.r3.rounded = fptrunc float %m0.c0.r3.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r3.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r3.at, i32 0, i32 0)
  ; row 8
  %row.m0.r4 = add nuw nsw i32 %out.row, 8
  %row.m0.r4.bytes = mul nuw nsw i32 %row.m0.r4, 34
  %m0.c0.r4 = extractelement <8 x float> %acc.m0.n0.last, i32 4
  %m0.c0.r4.at = add i32 %row.m0.r4.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r4.finished_add = fadd contract float %m0.c0.r4, %column0.bias
  %m0.c0.r4.finished_less_equal = fcmp ole float %m0.c0.r4.finished_add, 0x0000000000000000
  %m0.c0.r4.finished = select i1 %m0.c0.r4.finished_less_equal, float 0x0000000000000000, float %m0.c0.r4.finished_add
  %m0.c0.r4.rounded = fptrunc float %m0.c0.r4.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r4.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r4.at, i32 0, i32 0)
  ; row 10
  %row.m0.r5 = add nuw nsw i32 %out.row, 10
  %row.m0.r5.bytes = mul nuw nsw i32 %row.m0.r5, 34
  %m0.c0.r5 = extractelement <8 x float> %acc.m0.n0.last, i32 5
  %m0.c0.r5.at = add i32 %row.m0.r5.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r5.finished_add = fadd contract float %m0.c0.r5, %column0.bias
  %m0.c0.r5.finished_less_equal = fcmp ole float %m0.c0.r5.finished_add, 0x0000000000000000
  %m0.c0.r5.finished = select i1 %m0.c0.r5.finished_less_equal, float 0x0000000000000000, float %m0.c0.r5.finished_add
  %m0.c0.r5.rounded = fptrunc float %m0.c0.r5.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r5.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r5.at, i32 0, i32 0)
  ; row 12
  %row.m0.r6 = add nuw nsw i32 %out.row, 12
  %row.m0.r6.bytes = mul nuw nsw i32 %row.m0.r6, 34
  %m0.c0.r6 = extractelement <8 x float> %acc.m0.n0.last, i32 6
  %m0.c0.r6.at = add i32 %row.m0.r6.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r6.finished_add = fadd contract float %m0.c0.r6, %column0.bias
  %m0.c0.r6.finished_less_equal = fcmp ole float %m0.c0.r6.finished_add, 0x0000000000000000
  %m0.c0.r6.finished = select i1 %m0.c0.r6.finished_less_equal, float 0x0000000000000000, float %m0.c0.r6.finished_add
  %m0.c0.r6.rounded = fptrunc float %m0.c0.r6.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r6.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r6.at, i32 0, i32 0)
  ; row 14
  %row.m0.r7 = add nuw nsw i32 %out.row, 14
  %row.m0.r7.bytes = mul nuw nsw i32 %row.m0.r7, 34
  %m0.c0.r7 = extractelement <8 x float> %acc.m0.n0.last, i32 7
  %m0.c0.r7.at = add i32 %row.m0.r7.bytes, %column0.bytes
  ; relu(A @ B + bias)
  %m0.c0.r7.finished_add = fadd contract float %m0.c0.r7, %column0.bias
  %m0.c0.r7.finished_less_equal = fcmp ole float %m0.c0.r7.finished_add, 0x0000000000000000
  %m0.c0.r7.finished = select i1 %m0.c0.r7.finished_less_equal, float 0x0000000000000000, float %m0.c0.r7.finished_add
  %m0.c0.r7.rounded = fptrunc float %m0.c0.r7.finished to half
  call void @llvm.amdgcn.raw.ptr.buffer.store.f16(half %m0.c0.r7.rounded, ptr addrspace(8) %out.buffer, i32 %m0.c0.r7.at, i32 0, i32 0)

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
declare void @llvm.amdgcn.raw.ptr.buffer.store.f16(half, ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)

attributes #0 = {
  nounwind
  "target-cpu"="gfx1100"
  "amdgpu-flat-work-group-size"="64,64"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; The fences order accesses to LDS, not to global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
