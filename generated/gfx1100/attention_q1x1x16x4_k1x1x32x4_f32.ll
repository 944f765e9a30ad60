; attention_q1x1x16x4_k1x1x32x4_f32
;
; computes:  out = softmax(0.5 * Q @ K^T) @ V, accumulated in f32
; target:    gfx1100
; schedule:  mainloop=fma,block_m=8,block_n=16,num_warps=1,num_stages=1,packs_heads=0,split_k=1 (user)
; launch:    1 x 2 x 1 workgroups of 32 threads, waves of 32
; method:    online softmax over 2 blocks of 16 keys; queries, scores and results stay in registers
; memory:    LDS, 512 B
;            @k_tile: f32 [line of 4 elements: 1][slot of 1 key: 16], 256 B, slot = position
;            @v_tile: f32 [line of 4 keys: 4][slot of 1 element: 4], 256 B, slot = position
; arguments: q: input f32[1, 1, 16, 4], strides [64, 64, 4, 1]
;            k: input f32[1, 1, 32, 4], strides [128, 128, 4, 1]
;            v: input f32[1, 1, 32, 4], strides [128, 128, 4, 1]
;            out: output f32[1, 1, 16, 4], strides [64, 64, 4, 1]

target triple = "amdgcn-amd-amdhsa"

@k_tile = internal addrspace(3) global [1 x [1 x [16 x [4 x float]]]] poison, align 16
@v_tile = internal addrspace(3) global [1 x [4 x [4 x [4 x float]]]] poison, align 16

define amdgpu_kernel void @attention_q1x1x16x4_k1x1x32x4_f32(
    ptr addrspace(1) noalias readonly %q,
    ptr addrspace(1) noalias readonly %k,
    ptr addrspace(1) noalias readonly %v,
    ptr addrspace(1) noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 32) i32 @llvm.amdgcn.workitem.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 8
  %rows_left = sub nuw nsw i32 16, %first_row
  %lane = and i32 %thread, 31
  %wave.of_thread = lshr i32 %thread, 5
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %wave_row = mul nuw nsw i32 %wave, 8
  ; the lane's query in an MMA tile, and its group among the lanes of that query
  %lane_row = and i32 %lane, 7
  %lane_group = lshr i32 %lane, 3
  %other_lane.d8.number = xor i32 %lane, 8
  %other_lane.d8 = shl nuw nsw i32 %other_lane.d8.number, 2
  %other_lane.d16.number = xor i32 %lane, 16
  %other_lane.d16 = shl nuw nsw i32 %other_lane.d16.number, 2
  %weight_lane.0 = shl nuw nsw i32 %lane_row, 2
  %weight_lane.1 = add nuw nsw i32 %weight_lane.0, 32
  %weight_lane.2 = add nuw nsw i32 %weight_lane.1, 32
  %weight_lane.3 = add nuw nsw i32 %weight_lane.2, 32

  ; K: chunks of 1 x 2 (row x k)
  %k.c0.k.chunk = urem i32 %thread, 2
  %k.c0.k = mul nuw nsw i32 %k.c0.k.chunk, 2
  %k.c0.row.chunk = udiv i32 %thread, 2
  %k.c0.key_bytes = mul nuw nsw i32 %k.c0.row.chunk, 16
  %k.c0.element_bytes = mul nuw nsw i32 %k.c0.k, 4
  %k.c0.inside = add nuw nsw i32 %k.c0.key_bytes, %k.c0.element_bytes
  %k.c0.lds_line = udiv i32 %k.c0.k, 4
  %k.c0.element = urem i32 %k.c0.k, 4
  %k.first.block.row = zext i32 0 to i64
  %k.first.block.row_offset = mul nuw nsw i64 %k.first.block.row, 4
  %k.first.block = getelementptr float, ptr addrspace(1) %k, i64 %k.first.block.row_offset
  ; V: chunks of 1 x 2 (row x k)
  %v.c0.part = urem i32 %thread, 2
  %v.c0.group = udiv i32 %thread, 2
  %v.c0.row.chunk = urem i32 %v.c0.group, 4
  %v.c0.k.chunk = udiv i32 %v.c0.group, 4
  %v.c0.k.slot = mul nuw nsw i32 %v.c0.k.chunk, 2
  %v.c0.k.part = add nuw nsw i32 %v.c0.k.slot, %v.c0.part
  %v.c0.k = mul nuw nsw i32 %v.c0.k.part, 2
  ; the key whose weight is at this depth
  %v.c0.key.bits0 = and i32 %v.c0.k, 15
  %v.c0.key_bytes = mul nuw nsw i32 %v.c0.key.bits0, 16
  %v.c0.element_bytes = mul nuw nsw i32 %v.c0.row.chunk, 4
  %v.c0.inside = add nuw nsw i32 %v.c0.key_bytes, %v.c0.element_bytes
  %v.c0.lds_line = udiv i32 %v.c0.k, 4
  %v.c0.element = urem i32 %v.c0.k, 4
  %v.first.block.row = zext i32 0 to i64
  %v.first.block.row_offset = mul nuw nsw i64 %v.first.block.row, 4
  %v.first.block = getelementptr float, ptr addrspace(1) %v, i64 %v.first.block.row_offset
  ; a lane's registers of a result are neighbouring elements of the head
  %lane_element.bits0 = and i32 %lane_group, 3

; ---- prologue: queries, and the first block of keys
  ; the wave's queries, as B
  %q.block.row = zext i32 %first_row to i64
  %q.block.row_offset = mul nuw nsw i64 %q.block.row, 4
  %q.block = getelementptr float, ptr addrspace(1) %q, i64 %q.block.row_offset
  %q.rows = call i32 @llvm.smin.i32(i32 %rows_left, i32 8)
  %q.rows_before = add nsw i32 %q.rows, -1
  %q.row_bytes = mul nuw nsw i32 %q.rows_before, 16
  %q.bytes = add nuw nsw i32 %q.row_bytes, 16
  %q.bytes.wide = zext i32 %q.bytes to i64
  %q.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %q.block, i16 0, i64 %q.bytes.wide, i32 822243328)
  %q.n0.lane_row = add nuw nsw i32 %wave_row, %lane_row
  %q.n0.bytes = mul nuw nsw i32 %q.n0.lane_row, 16
  %q.n0.g0.words = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %q.buffer, i32 %q.n0.bytes, i32 0, i32 0)
  %q.n0.g0 = bitcast <4 x i32> %q.n0.g0.words to <4 x float>
  %q.n0.g0.p0 = shufflevector <4 x float> %q.n0.g0, <4 x float> poison, <1 x i32> <i32 0>
  %q.n0.g0.p1 = shufflevector <4 x float> %q.n0.g0, <4 x float> poison, <1 x i32> <i32 1>
  %q.n0.g0.p2 = shufflevector <4 x float> %q.n0.g0, <4 x float> poison, <1 x i32> <i32 2>
  %q.n0.g0.p3 = shufflevector <4 x float> %q.n0.g0, <4 x float> poison, <1 x i32> <i32 3>
  %keys.first.any = call i32 @llvm.smax.i32(i32 32, i32 0)
  %keys.first.some = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %keys.first.any)
  %keys.first = call i32 @llvm.smin.i32(i32 %keys.first.some, i32 16)
  %k.first.keys_bytes = mul nuw nsw i32 %keys.first, 16
  %k.first.bytes.wide = zext i32 %k.first.keys_bytes to i64
  %k.first.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %k.first.block, i16 0, i64 %k.first.bytes.wide, i32 822243328)
  %k.first.c0.l0.words = call <2 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v2i32(ptr addrspace(8) %k.first.buffer, i32 %k.c0.inside, i32 0, i32 0)
  %k.first.c0.l0 = bitcast <2 x i32> %k.first.c0.l0.words to <2 x float>
  %v.first.keys_bytes = mul nuw nsw i32 %keys.first, 16
  %v.first.bytes.wide = zext i32 %v.first.keys_bytes to i64
  %v.first.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v.first.block, i16 0, i64 %v.first.bytes.wide, i32 822243328)
  %v.first.c0.l0.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.first.buffer, i32 %v.c0.inside, i32 0, i32 0)
  %v.first.c0.l0 = bitcast i32 %v.first.c0.l0.words to float
  %v.first.c0.l1.at = add nuw i32 %v.c0.inside, 16
  %v.first.c0.l1.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.first.buffer, i32 %v.first.c0.l1.at, i32 0, i32 0)
  %v.first.c0.l1 = bitcast i32 %v.first.c0.l1.words to float
  %k.first.c0.s0.at = getelementptr [1 x [1 x [16 x [4 x float]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c0.lds_line, i32 %k.c0.row.chunk, i32 %k.c0.element
  store <2 x float> %k.first.c0.l0, ptr addrspace(3) %k.first.c0.s0.at, align 8
  %v.first.c0.s0.0 = insertelement <2 x float> poison, float %v.first.c0.l0, i32 0
  %v.first.c0.s0 = insertelement <2 x float> %v.first.c0.s0.0, float %v.first.c0.l1, i32 1
  %v.first.c0.s0.at = getelementptr [1 x [4 x [4 x [4 x float]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 %v.c0.lds_line, i32 %v.c0.row.chunk, i32 %v.c0.element
  store <2 x float> %v.first.c0.s0, ptr addrspace(3) %v.first.c0.s0.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  br label %loop

; ---- mainloop: load the next block of keys, multiply this one
loop:
  %key = phi i32 [ 0, %entry ], [ %key.next, %exponents ]
  %k.block = phi ptr addrspace(1) [ %k.first.block, %entry ], [ %k.next.block, %exponents ]
  %v.block = phi ptr addrspace(1) [ %v.first.block, %entry ], [ %v.next.block, %exponents ]
  %far.start = phi i32 [ 1, %entry ], [ %far.now, %exponents ]
  %max.n0.start = phi float [ 0xC7EFFFFFE0000000, %entry ], [ %max.n0.now, %exponents ]
  %limit.n0.start = phi float [ 0xC7EFFFFFE0000000, %entry ], [ %limit.n0.now, %exponents ]
  %minus.n0.start = phi float [ 0x0000000000000000, %entry ], [ %minus.n0.now, %exponents ]
  %sum.n0.start = phi float [ 0x0000000000000000, %entry ], [ %sum.n0.next, %exponents ]
  %acc.j0.n0.start = phi <1 x float> [ zeroinitializer, %entry ], [ %acc.j0.n0.next, %exponents ]
  %key.next = add nuw nsw i32 %key, 16
  %keys.next.left = sub nsw i32 32, %key.next
  %keys.next.any = call i32 @llvm.smax.i32(i32 %keys.next.left, i32 0)
  %keys.next.some = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %keys.next.any)
  %keys.next = call i32 @llvm.smin.i32(i32 %keys.next.some, i32 16)
  %k.next.block = getelementptr i8, ptr addrspace(1) %k.block, i64 256
  %k.next.keys_bytes = mul nuw nsw i32 %keys.next, 16
  %k.next.bytes.wide = zext i32 %k.next.keys_bytes to i64
  %k.next.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %k.next.block, i16 0, i64 %k.next.bytes.wide, i32 822243328)
  %k.next.c0.l0.words = call <2 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v2i32(ptr addrspace(8) %k.next.buffer, i32 %k.c0.inside, i32 0, i32 0)
  %k.next.c0.l0 = bitcast <2 x i32> %k.next.c0.l0.words to <2 x float>
  %v.next.block = getelementptr i8, ptr addrspace(1) %v.block, i64 256
  %v.next.keys_bytes = mul nuw nsw i32 %keys.next, 16
  %v.next.bytes.wide = zext i32 %v.next.keys_bytes to i64
  %v.next.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v.next.block, i16 0, i64 %v.next.bytes.wide, i32 822243328)
  %v.next.c0.l0.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.next.buffer, i32 %v.c0.inside, i32 0, i32 0)
  %v.next.c0.l0 = bitcast i32 %v.next.c0.l0.words to float
  %v.next.c0.l1.at = add nuw i32 %v.c0.inside, 16
  %v.next.c0.l1.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.next.buffer, i32 %v.next.c0.l1.at, i32 0, i32 0)
  %v.next.c0.l1 = bitcast i32 %v.next.c0.l1.words to float
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; scores
  %k.f0.g0.first = getelementptr [1 x [1 x [16 x [4 x float]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 0, i32 %lane_group, i32 0
  %k.f0.g0 = load <4 x float>, ptr addrspace(3) %k.f0.g0.first, align 16
  %k.f0.g0.p0 = shufflevector <4 x float> %k.f0.g0, <4 x float> poison, <1 x i32> <i32 0>
  %k.f0.g0.p1 = shufflevector <4 x float> %k.f0.g0, <4 x float> poison, <1 x i32> <i32 1>
  %k.f0.g0.p2 = shufflevector <4 x float> %k.f0.g0, <4 x float> poison, <1 x i32> <i32 2>
  %k.f0.g0.p3 = shufflevector <4 x float> %k.f0.g0, <4 x float> poison, <1 x i32> <i32 3>
  %k.f1.g0.first = getelementptr [1 x [1 x [16 x [4 x float]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 0, i32 %lane_group, i32 0
  %k.f1.g0.at = getelementptr <4 x float>, ptr addrspace(3) %k.f1.g0.first, i32 4
  %k.f1.g0 = load <4 x float>, ptr addrspace(3) %k.f1.g0.at, align 16
  %k.f1.g0.p0 = shufflevector <4 x float> %k.f1.g0, <4 x float> poison, <1 x i32> <i32 0>
  %k.f1.g0.p1 = shufflevector <4 x float> %k.f1.g0, <4 x float> poison, <1 x i32> <i32 1>
  %k.f1.g0.p2 = shufflevector <4 x float> %k.f1.g0, <4 x float> poison, <1 x i32> <i32 2>
  %k.f1.g0.p3 = shufflevector <4 x float> %k.f1.g0, <4 x float> poison, <1 x i32> <i32 3>
  %k.f2.g0.first = getelementptr [1 x [1 x [16 x [4 x float]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 0, i32 %lane_group, i32 0
  %k.f2.g0.at = getelementptr <4 x float>, ptr addrspace(3) %k.f2.g0.first, i32 8
  %k.f2.g0 = load <4 x float>, ptr addrspace(3) %k.f2.g0.at, align 16
  %k.f2.g0.p0 = shufflevector <4 x float> %k.f2.g0, <4 x float> poison, <1 x i32> <i32 0>
  %k.f2.g0.p1 = shufflevector <4 x float> %k.f2.g0, <4 x float> poison, <1 x i32> <i32 1>
  %k.f2.g0.p2 = shufflevector <4 x float> %k.f2.g0, <4 x float> poison, <1 x i32> <i32 2>
  %k.f2.g0.p3 = shufflevector <4 x float> %k.f2.g0, <4 x float> poison, <1 x i32> <i32 3>
  %k.f3.g0.first = getelementptr [1 x [1 x [16 x [4 x float]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 0, i32 %lane_group, i32 0
  %k.f3.g0.at = getelementptr <4 x float>, ptr addrspace(3) %k.f3.g0.first, i32 12
  %k.f3.g0 = load <4 x float>, ptr addrspace(3) %k.f3.g0.at, align 16
  %k.f3.g0.p0 = shufflevector <4 x float> %k.f3.g0, <4 x float> poison, <1 x i32> <i32 0>
  %k.f3.g0.p1 = shufflevector <4 x float> %k.f3.g0, <4 x float> poison, <1 x i32> <i32 1>
  %k.f3.g0.p2 = shufflevector <4 x float> %k.f3.g0, <4 x float> poison, <1 x i32> <i32 2>
  %k.f3.g0.p3 = shufflevector <4 x float> %k.f3.g0, <4 x float> poison, <1 x i32> <i32 3>
  %s.t0.n0.step0 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f0.g0.p0, <1 x float> %q.n0.g0.p0, <1 x float> zeroinitializer)
  %s.t1.n0.step0 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f1.g0.p0, <1 x float> %q.n0.g0.p0, <1 x float> zeroinitializer)
  %s.t2.n0.step0 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f2.g0.p0, <1 x float> %q.n0.g0.p0, <1 x float> zeroinitializer)
  %s.t3.n0.step0 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f3.g0.p0, <1 x float> %q.n0.g0.p0, <1 x float> zeroinitializer)
  %s.t0.n0.step1 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f0.g0.p1, <1 x float> %q.n0.g0.p1, <1 x float> %s.t0.n0.step0)
  %s.t1.n0.step1 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f1.g0.p1, <1 x float> %q.n0.g0.p1, <1 x float> %s.t1.n0.step0)
  %s.t2.n0.step1 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f2.g0.p1, <1 x float> %q.n0.g0.p1, <1 x float> %s.t2.n0.step0)
  %s.t3.n0.step1 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f3.g0.p1, <1 x float> %q.n0.g0.p1, <1 x float> %s.t3.n0.step0)
  %s.t0.n0.step2 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f0.g0.p2, <1 x float> %q.n0.g0.p2, <1 x float> %s.t0.n0.step1)
  %s.t1.n0.step2 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f1.g0.p2, <1 x float> %q.n0.g0.p2, <1 x float> %s.t1.n0.step1)
  %s.t2.n0.step2 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f2.g0.p2, <1 x float> %q.n0.g0.p2, <1 x float> %s.t2.n0.step1)
  %s.t3.n0.step2 = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f3.g0.p2, <1 x float> %q.n0.g0.p2, <1 x float> %s.t3.n0.step1)
  %s.t0.n0.product = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f0.g0.p3, <1 x float> %q.n0.g0.p3, <1 x float> %s.t0.n0.step2)
  %s.t1.n0.product = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f1.g0.p3, <1 x float> %q.n0.g0.p3, <1 x float> %s.t1.n0.step2)
  %s.t2.n0.product = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f2.g0.p3, <1 x float> %q.n0.g0.p3, <1 x float> %s.t2.n0.step2)
  %s.t3.n0.product = call <1 x float> @llvm.fma.v1f32(<1 x float> %k.f3.g0.p3, <1 x float> %q.n0.g0.p3, <1 x float> %s.t3.n0.step2)
  ; maxima of the lane
  %s.t0.n0.r0 = extractelement <1 x float> %s.t0.n0.product, i32 0
  %s.t1.n0.r0 = extractelement <1 x float> %s.t1.n0.product, i32 0
  %s.t1.n0.most0 = call float @llvm.maxnum.f32(float %s.t0.n0.r0, float %s.t1.n0.r0)
  %s.t2.n0.r0 = extractelement <1 x float> %s.t2.n0.product, i32 0
  %s.t2.n0.most0 = call float @llvm.maxnum.f32(float %s.t1.n0.most0, float %s.t2.n0.r0)
  %s.t3.n0.r0 = extractelement <1 x float> %s.t3.n0.product, i32 0
  %most.n0 = call float @llvm.maxnum.f32(float %s.t2.n0.most0, float %s.t3.n0.r0)
  %grows.n0 = fcmp ogt float %most.n0, %limit.n0.start
  %votes = call i32 @llvm.amdgcn.ballot.i32(i1 %grows.n0)
  %some_grows = icmp ne i32 %votes, 0
  br i1 %some_grows, label %rescale, label %weigh

; some query of the wave has a new maximum
rescale:
  %new.n0.bits8 = bitcast float %most.n0 to i32
  %new.n0.theirs8 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d8, i32 %new.n0.bits8)
  %new.n0.other8 = bitcast i32 %new.n0.theirs8 to float
  %new.n0.d8 = call float @llvm.maxnum.f32(float %most.n0, float %new.n0.other8)
  %new.n0.bits16 = bitcast float %new.n0.d8 to i32
  %new.n0.theirs16 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d16, i32 %new.n0.bits16)
  %new.n0.other16 = bitcast i32 %new.n0.theirs16 to float
  %new.n0 = call float @llvm.maxnum.f32(float %new.n0.d8, float %new.n0.other16)
  %max.n0.grown = call float @llvm.maxnum.f32(float %new.n0, float %max.n0.start)
  %limit.n0.grown = fadd float %max.n0.grown, 0x40262E4300000000
  %minus.n0.near = fmul float %max.n0.grown, 0xBFE7154760000000
  %exponent.n0.size = call float @llvm.fabs.f32(float %minus.n0.near)
  %is_far.n0 = fcmp ogt float %exponent.n0.size, 0x4130000000000000
  %far.grown = call i32 @llvm.amdgcn.ballot.i32(i1 %is_far.n0)
  %subtracted = icmp ne i32 %far.start, 0
  %subtracts = icmp ne i32 %far.grown, 0
  ; factor of earlier sums: exponents change with the subtracted maximum and the addend
  %minus.n0.grown = select i1 %subtracts, float 0x0000000000000000, float %minus.n0.near
  %from.n0 = select i1 %subtracted, float %max.n0.start, float 0x0000000000000000
  %to.n0 = select i1 %subtracts, float %max.n0.grown, float 0x0000000000000000
  %less.n0 = fsub float %from.n0, %to.n0
  %more.n0 = fsub float %minus.n0.grown, %minus.n0.start
  %less.n0.log2 = fmul float %less.n0, 0x3FE7154760000000
  %exponent.n0 = fadd float %less.n0.log2, %more.n0
  %factor.n0 = call float @llvm.amdgcn.exp2.f32(float %exponent.n0)
  %sum.n0.grown = fmul float %sum.n0.start, %factor.n0
  %factor.n0.all.lane = insertelement <1 x float> poison, float %factor.n0, i32 0
  %factor.n0.all = shufflevector <1 x float> %factor.n0.all.lane, <1 x float> poison, <1 x i32> zeroinitializer
  %acc.j0.n0.grown = fmul <1 x float> %acc.j0.n0.start, %factor.n0.all
  br label %weigh

weigh:
  %far.now = phi i32 [ %far.start, %loop ], [ %far.grown, %rescale ]
  %max.n0.now = phi float [ %max.n0.start, %loop ], [ %max.n0.grown, %rescale ]
  %limit.n0.now = phi float [ %limit.n0.start, %loop ], [ %limit.n0.grown, %rescale ]
  %minus.n0.now = phi float [ %minus.n0.start, %loop ], [ %minus.n0.grown, %rescale ]
  %sum.n0.now = phi float [ %sum.n0.start, %loop ], [ %sum.n0.grown, %rescale ]
  %acc.j0.n0.now = phi <1 x float> [ %acc.j0.n0.start, %loop ], [ %acc.j0.n0.grown, %rescale ]
  %is_far = icmp ne i32 %far.now, 0
  br i1 %is_far, label %subtract, label %exponents

; scores less their maxima, before the exponents of 2 are rounded
subtract:
  %max.n0.all.lane = insertelement <1 x float> poison, float %max.n0.now, i32 0
  %max.n0.all = shufflevector <1 x float> %max.n0.all.lane, <1 x float> poison, <1 x i32> zeroinitializer
  %s.t0.n0.less = fsub <1 x float> %s.t0.n0.product, %max.n0.all
  %s.t1.n0.less = fsub <1 x float> %s.t1.n0.product, %max.n0.all
  %s.t2.n0.less = fsub <1 x float> %s.t2.n0.product, %max.n0.all
  %s.t3.n0.less = fsub <1 x float> %s.t3.n0.product, %max.n0.all
  br label %exponents

exponents:
  %s.t0.n0.near = phi <1 x float> [ %s.t0.n0.product, %weigh ], [ %s.t0.n0.less, %subtract ]
  %s.t1.n0.near = phi <1 x float> [ %s.t1.n0.product, %weigh ], [ %s.t1.n0.less, %subtract ]
  %s.t2.n0.near = phi <1 x float> [ %s.t2.n0.product, %weigh ], [ %s.t2.n0.less, %subtract ]
  %s.t3.n0.near = phi <1 x float> [ %s.t3.n0.product, %weigh ], [ %s.t3.n0.less, %subtract ]
  ; weights of the queries in tile 0
  %minus.n0.all.lane = insertelement <1 x float> poison, float %minus.n0.now, i32 0
  %minus.n0.all = shufflevector <1 x float> %minus.n0.all.lane, <1 x float> poison, <1 x i32> zeroinitializer
  %s.t0.n0.exponents = call <1 x float> @llvm.fma.v1f32(<1 x float> %s.t0.n0.near, <1 x float> splat (float 0x3FE7154760000000), <1 x float> %minus.n0.all)
  %s.t0.n0.exponent0 = extractelement <1 x float> %s.t0.n0.exponents, i32 0
  %s.t0.n0.weight0 = call float @llvm.amdgcn.exp2.f32(float %s.t0.n0.exponent0)
  %s.t0.n0.weights = insertelement <1 x float> poison, float %s.t0.n0.weight0, i32 0
  %s.t1.n0.exponents = call <1 x float> @llvm.fma.v1f32(<1 x float> %s.t1.n0.near, <1 x float> splat (float 0x3FE7154760000000), <1 x float> %minus.n0.all)
  %s.t1.n0.exponent0 = extractelement <1 x float> %s.t1.n0.exponents, i32 0
  %s.t1.n0.weight0 = call float @llvm.amdgcn.exp2.f32(float %s.t1.n0.exponent0)
  %s.t1.n0.weights = insertelement <1 x float> poison, float %s.t1.n0.weight0, i32 0
  %s.t1.n0.total = fadd <1 x float> %s.t0.n0.weights, %s.t1.n0.weights
  %s.t2.n0.exponents = call <1 x float> @llvm.fma.v1f32(<1 x float> %s.t2.n0.near, <1 x float> splat (float 0x3FE7154760000000), <1 x float> %minus.n0.all)
  %s.t2.n0.exponent0 = extractelement <1 x float> %s.t2.n0.exponents, i32 0
  %s.t2.n0.weight0 = call float @llvm.amdgcn.exp2.f32(float %s.t2.n0.exponent0)
  %s.t2.n0.weights = insertelement <1 x float> poison, float %s.t2.n0.weight0, i32 0
  %s.t2.n0.total = fadd <1 x float> %s.t1.n0.total, %s.t2.n0.weights
  %s.t3.n0.exponents = call <1 x float> @llvm.fma.v1f32(<1 x float> %s.t3.n0.near, <1 x float> splat (float 0x3FE7154760000000), <1 x float> %minus.n0.all)
  %s.t3.n0.exponent0 = extractelement <1 x float> %s.t3.n0.exponents, i32 0
  %s.t3.n0.weight0 = call float @llvm.amdgcn.exp2.f32(float %s.t3.n0.exponent0)
  %s.t3.n0.weights = insertelement <1 x float> poison, float %s.t3.n0.weight0, i32 0
  %s.t3.n0.total = fadd <1 x float> %s.t2.n0.total, %s.t3.n0.weights
  %total.n0 = extractelement <1 x float> %s.t3.n0.total, i32 0
  %sum.n0.next = fadd float %sum.n0.now, %total.n0
  ; weights as B of the second product
  %s.t0.n0.word = bitcast <1 x float> %s.t0.n0.weights to i32
  %p.n0.g0.p0.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.0, i32 %s.t0.n0.word)
  %p.n0.g0.p0 = bitcast i32 %p.n0.g0.p0.word to <1 x float>
  %p.n0.g0.p1.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.1, i32 %s.t0.n0.word)
  %p.n0.g0.p1 = bitcast i32 %p.n0.g0.p1.word to <1 x float>
  %p.n0.g0.p2.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.2, i32 %s.t0.n0.word)
  %p.n0.g0.p2 = bitcast i32 %p.n0.g0.p2.word to <1 x float>
  %p.n0.g0.p3.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.3, i32 %s.t0.n0.word)
  %p.n0.g0.p3 = bitcast i32 %p.n0.g0.p3.word to <1 x float>
  %s.t1.n0.word = bitcast <1 x float> %s.t1.n0.weights to i32
  %p.n0.g1.p0.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.0, i32 %s.t1.n0.word)
  %p.n0.g1.p0 = bitcast i32 %p.n0.g1.p0.word to <1 x float>
  %p.n0.g1.p1.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.1, i32 %s.t1.n0.word)
  %p.n0.g1.p1 = bitcast i32 %p.n0.g1.p1.word to <1 x float>
  %p.n0.g1.p2.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.2, i32 %s.t1.n0.word)
  %p.n0.g1.p2 = bitcast i32 %p.n0.g1.p2.word to <1 x float>
  %p.n0.g1.p3.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.3, i32 %s.t1.n0.word)
  %p.n0.g1.p3 = bitcast i32 %p.n0.g1.p3.word to <1 x float>
  %s.t2.n0.word = bitcast <1 x float> %s.t2.n0.weights to i32
  %p.n0.g2.p0.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.0, i32 %s.t2.n0.word)
  %p.n0.g2.p0 = bitcast i32 %p.n0.g2.p0.word to <1 x float>
  %p.n0.g2.p1.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.1, i32 %s.t2.n0.word)
  %p.n0.g2.p1 = bitcast i32 %p.n0.g2.p1.word to <1 x float>
  %p.n0.g2.p2.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.2, i32 %s.t2.n0.word)
  %p.n0.g2.p2 = bitcast i32 %p.n0.g2.p2.word to <1 x float>
  %p.n0.g2.p3.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.3, i32 %s.t2.n0.word)
  %p.n0.g2.p3 = bitcast i32 %p.n0.g2.p3.word to <1 x float>
  %s.t3.n0.word = bitcast <1 x float> %s.t3.n0.weights to i32
  %p.n0.g3.p0.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.0, i32 %s.t3.n0.word)
  %p.n0.g3.p0 = bitcast i32 %p.n0.g3.p0.word to <1 x float>
  %p.n0.g3.p1.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.1, i32 %s.t3.n0.word)
  %p.n0.g3.p1 = bitcast i32 %p.n0.g3.p1.word to <1 x float>
  %p.n0.g3.p2.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.2, i32 %s.t3.n0.word)
  %p.n0.g3.p2 = bitcast i32 %p.n0.g3.p2.word to <1 x float>
  %p.n0.g3.p3.word = call i32 @llvm.amdgcn.ds.bpermute(i32 %weight_lane.3, i32 %s.t3.n0.word)
  %p.n0.g3.p3 = bitcast i32 %p.n0.g3.p3.word to <1 x float>
  ; results
  %v.f0.g0.first = getelementptr [1 x [4 x [4 x [4 x float]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 0, i32 %lane_element.bits0, i32 0
  %v.f0.g0 = load <4 x float>, ptr addrspace(3) %v.f0.g0.first, align 16
  %v.f0.g0.p0 = shufflevector <4 x float> %v.f0.g0, <4 x float> poison, <1 x i32> <i32 0>
  %v.f0.g0.p1 = shufflevector <4 x float> %v.f0.g0, <4 x float> poison, <1 x i32> <i32 1>
  %v.f0.g0.p2 = shufflevector <4 x float> %v.f0.g0, <4 x float> poison, <1 x i32> <i32 2>
  %v.f0.g0.p3 = shufflevector <4 x float> %v.f0.g0, <4 x float> poison, <1 x i32> <i32 3>
  %acc.j0.n0.step0 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g0.p0, <1 x float> %p.n0.g0.p0, <1 x float> %acc.j0.n0.now)
  %acc.j0.n0.step1 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g0.p1, <1 x float> %p.n0.g0.p1, <1 x float> %acc.j0.n0.step0)
  %acc.j0.n0.step2 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g0.p2, <1 x float> %p.n0.g0.p2, <1 x float> %acc.j0.n0.step1)
  %acc.j0.n0.step3 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g0.p3, <1 x float> %p.n0.g0.p3, <1 x float> %acc.j0.n0.step2)
  %v.f0.g1.first = getelementptr [1 x [4 x [4 x [4 x float]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 1, i32 %lane_element.bits0, i32 0
  %v.f0.g1 = load <4 x float>, ptr addrspace(3) %v.f0.g1.first, align 16
  %v.f0.g1.p0 = shufflevector <4 x float> %v.f0.g1, <4 x float> poison, <1 x i32> <i32 0>
  %v.f0.g1.p1 = shufflevector <4 x float> %v.f0.g1, <4 x float> poison, <1 x i32> <i32 1>
  %v.f0.g1.p2 = shufflevector <4 x float> %v.f0.g1, <4 x float> poison, <1 x i32> <i32 2>
  %v.f0.g1.p3 = shufflevector <4 x float> %v.f0.g1, <4 x float> poison, <1 x i32> <i32 3>
  %acc.j0.n0.step4 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g1.p0, <1 x float> %p.n0.g1.p0, <1 x float> %acc.j0.n0.step3)
  %acc.j0.n0.step5 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g1.p1, <1 x float> %p.n0.g1.p1, <1 x float> %acc.j0.n0.step4)
  %acc.j0.n0.step6 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g1.p2, <1 x float> %p.n0.g1.p2, <1 x float> %acc.j0.n0.step5)
  %acc.j0.n0.step7 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g1.p3, <1 x float> %p.n0.g1.p3, <1 x float> %acc.j0.n0.step6)
  %v.f0.g2.first = getelementptr [1 x [4 x [4 x [4 x float]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 2, i32 %lane_element.bits0, i32 0
  %v.f0.g2 = load <4 x float>, ptr addrspace(3) %v.f0.g2.first, align 16
  %v.f0.g2.p0 = shufflevector <4 x float> %v.f0.g2, <4 x float> poison, <1 x i32> <i32 0>
  %v.f0.g2.p1 = shufflevector <4 x float> %v.f0.g2, <4 x float> poison, <1 x i32> <i32 1>
  %v.f0.g2.p2 = shufflevector <4 x float> %v.f0.g2, <4 x float> poison, <1 x i32> <i32 2>
  %v.f0.g2.p3 = shufflevector <4 x float> %v.f0.g2, <4 x float> poison, <1 x i32> <i32 3>
  %acc.j0.n0.step8 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g2.p0, <1 x float> %p.n0.g2.p0, <1 x float> %acc.j0.n0.step7)
  %acc.j0.n0.step9 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g2.p1, <1 x float> %p.n0.g2.p1, <1 x float> %acc.j0.n0.step8)
  %acc.j0.n0.step10 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g2.p2, <1 x float> %p.n0.g2.p2, <1 x float> %acc.j0.n0.step9)
  %acc.j0.n0.step11 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g2.p3, <1 x float> %p.n0.g2.p3, <1 x float> %acc.j0.n0.step10)
  %v.f0.g3.first = getelementptr [1 x [4 x [4 x [4 x float]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 3, i32 %lane_element.bits0, i32 0
  %v.f0.g3 = load <4 x float>, ptr addrspace(3) %v.f0.g3.first, align 16
  %v.f0.g3.p0 = shufflevector <4 x float> %v.f0.g3, <4 x float> poison, <1 x i32> <i32 0>
  %v.f0.g3.p1 = shufflevector <4 x float> %v.f0.g3, <4 x float> poison, <1 x i32> <i32 1>
  %v.f0.g3.p2 = shufflevector <4 x float> %v.f0.g3, <4 x float> poison, <1 x i32> <i32 2>
  %v.f0.g3.p3 = shufflevector <4 x float> %v.f0.g3, <4 x float> poison, <1 x i32> <i32 3>
  %acc.j0.n0.step12 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g3.p0, <1 x float> %p.n0.g3.p0, <1 x float> %acc.j0.n0.step11)
  %acc.j0.n0.step13 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g3.p1, <1 x float> %p.n0.g3.p1, <1 x float> %acc.j0.n0.step12)
  %acc.j0.n0.step14 = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g3.p2, <1 x float> %p.n0.g3.p2, <1 x float> %acc.j0.n0.step13)
  %acc.j0.n0.next = call <1 x float> @llvm.fma.v1f32(<1 x float> %v.f0.g3.p3, <1 x float> %p.n0.g3.p3, <1 x float> %acc.j0.n0.step14)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; all waves have read the block
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %k.next.c0.s0.at = getelementptr [1 x [1 x [16 x [4 x float]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c0.lds_line, i32 %k.c0.row.chunk, i32 %k.c0.element
  store <2 x float> %k.next.c0.l0, ptr addrspace(3) %k.next.c0.s0.at, align 8
  %v.next.c0.s0.0 = insertelement <2 x float> poison, float %v.next.c0.l0, i32 0
  %v.next.c0.s0 = insertelement <2 x float> %v.next.c0.s0.0, float %v.next.c0.l1, i32 1
  %v.next.c0.s0.at = getelementptr [1 x [4 x [4 x [4 x float]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 %v.c0.lds_line, i32 %v.c0.row.chunk, i32 %v.c0.element
  store <2 x float> %v.next.c0.s0, ptr addrspace(3) %v.next.c0.s0.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  %more = icmp slt i32 %key.next, 32
  br i1 %more, label %loop, label %last

; ---- epilogue: results divided by the sums of weights
last:
  %sum.n0.bits8 = bitcast float %sum.n0.next to i32
  %sum.n0.theirs8 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d8, i32 %sum.n0.bits8)
  %sum.n0.other8 = bitcast i32 %sum.n0.theirs8 to float
  %sum.n0.d8 = fadd float %sum.n0.next, %sum.n0.other8
  %sum.n0.bits16 = bitcast float %sum.n0.d8 to i32
  %sum.n0.theirs16 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d16, i32 %sum.n0.bits16)
  %sum.n0.other16 = bitcast i32 %sum.n0.theirs16 to float
  %sum.n0 = fadd float %sum.n0.d8, %sum.n0.other16
  %empty.n0 = fcmp oeq float %sum.n0, 0x0000000000000000
  %share.n0 = call float @llvm.amdgcn.rcp.f32(float %sum.n0)
  %out.block.row = zext i32 %first_row to i64
  %out.block.row_offset = mul nuw nsw i64 %out.block.row, 4
  %out.block = getelementptr float, ptr addrspace(1) %out, i64 %out.block.row_offset
  %out.rows = call i32 @llvm.smin.i32(i32 %rows_left, i32 8)
  %out.bytes = mul nuw nsw i32 %out.rows, 16
  %out.bytes.wide = zext i32 %out.bytes to i64
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 %out.bytes.wide, i32 822243328)
  %out.n0.lane_row = add nuw nsw i32 %wave_row, %lane_row
  %out.n0.row_bytes = mul nuw nsw i32 %out.n0.lane_row, 16
  %share.n0.all.lane = insertelement <1 x float> poison, float %share.n0, i32 0
  %share.n0.all = shufflevector <1 x float> %share.n0.all.lane, <1 x float> poison, <1 x i32> zeroinitializer
  %mean.j0.n0 = fmul <1 x float> %acc.j0.n0.next, %share.n0.all
  %result.j0.n0 = select i1 %empty.n0, <1 x float> zeroinitializer, <1 x float> %mean.j0.n0
  %out.n0.j0.r0.in_row = mul nuw nsw i32 %lane_group, 4
  %out.n0.j0.r0.inside = add nuw nsw i32 %out.n0.row_bytes, %out.n0.j0.r0.in_row
  %out.n0.j0.r0.sums = extractelement <1 x float> %result.j0.n0, i32 0
  %out.n0.j0.r0.words = bitcast float %out.n0.j0.r0.sums to i32
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %out.n0.j0.r0.words, ptr addrspace(8) %out.buffer, i32 %out.n0.j0.r0.inside, i32 0, i32 0)

; ---- exit
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare void @llvm.amdgcn.sched.barrier(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.amdgcn.ballot.i32(i1)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare float @llvm.amdgcn.exp2.f32(float)
declare float @llvm.amdgcn.rcp.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.fabs.f32(float)
declare <1 x float> @llvm.fma.v1f32(<1 x float>, <1 x float>, <1 x float>)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare <2 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v2i32(ptr addrspace(8), i32, i32, i32 immarg)
declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32, ptr addrspace(8), i32, i32, i32 immarg)

attributes #0 = {
  nounwind
  "target-cpu"="gfx1100"
  "target-features"="-real-true16"
  "amdgpu-flat-work-group-size"="32,32"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; The fences order accesses to LDS, not to global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
