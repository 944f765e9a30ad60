; attention_q1x1x16x32_k1x1x48x32_f16_causal
;
; computes:  out = softmax(0.176777 * Q @ K^T of keys within causal top_left) @ V, accumulated in f32
; target:    gfx950
; schedule:  mainloop=pingpong,block_m=32,block_n=32,num_warps=2,num_stages=4,packs_heads=0,split_k=1 (user)
; launch:    1 x 1 x 1 workgroups of 128 threads, waves of 64
; method:    online softmax over up to 2 blocks of 32 keys; queries, scores and results stay in registers
; memory:    LDS, 16384 B
;            @k_tile: f16 [line of 8 elements: 4][slot of 1 key: 32], 8192 B, slot = position ^ (line << 1 & 15)
;            @v_tile: f16 [line of 8 keys: 4][slot of 1 element: 32], 8192 B, slot = position ^ (position >> 1 &
;              15)
; arguments: q: input f16[1, 1, 16, 32], strides [512, 512, 32, 1]
;            k: input f16[1, 1, 48, 32], strides [1536, 1536, 32, 1]
;            v: input f16[1, 1, 48, 32], strides [1536, 1536, 32, 1]
;            out: output f16[1, 1, 16, 32], strides [512, 512, 32, 1]

target triple = "amdgcn-amd-amdhsa"

@k_tile = internal addrspace(3) global [4 x [4 x [32 x [8 x half]]]] poison, align 16
@v_tile = internal addrspace(3) global [4 x [4 x [32 x [8 x half]]]] poison, align 16

define amdgpu_kernel void @attention_q1x1x16x32_k1x1x48x32_f16_causal(
    ptr addrspace(1) inreg noalias readonly %q,
    ptr addrspace(1) inreg noalias readonly %k,
    ptr addrspace(1) inreg noalias readonly %v,
    ptr addrspace(1) inreg noalias writeonly %out
) #0 {

; ---- addresses
entry:
  %thread = call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %block_m = call i32 @llvm.amdgcn.workgroup.id.y()
  %first_row = mul nuw nsw i32 %block_m, 32
  %rows_left = sub nuw nsw i32 16, %first_row
  %lane = and i32 %thread, 63
  %wave.of_thread = lshr i32 %thread, 6
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave.of_thread)
  %wave_row = mul nuw nsw i32 %wave, 16
  ; the lane's query in an MMA tile, and its group among the lanes of that query
  %lane_row = and i32 %lane, 15
  %lane_group = lshr i32 %lane, 4
  %other_lane.d16.number = xor i32 %lane, 16
  %other_lane.d16 = shl nuw nsw i32 %other_lane.d16.number, 2
  %other_lane.d32.number = xor i32 %lane, 32
  %other_lane.d32 = shl nuw nsw i32 %other_lane.d32.number, 2
  ; blocks of keys that some query of the workgroup attends to, at least one
  %rows_end.full = add nuw nsw i32 %first_row, 32
  %rows_end = call i32 @llvm.smin.i32(i32 %rows_end.full, i32 16)
  %reach = call i32 @llvm.smin.i32(i32 %rows_end, i32 48)
  %reach.up = add nsw i32 %reach, 31
  %reach.whole = and i32 %reach.up, -32
  %end_key = call i32 @llvm.smax.i32(i32 %reach.whole, i32 32)
  ; keys that the wave's queries attend to
  %wave_query = add nuw nsw i32 %first_row, %wave_row
  %wave_stop.reach = add nsw i32 %wave_query, 1
  %wave_stop = call i32 @llvm.smin.i32(i32 %wave_stop.reach, i32 48)
  %group_key = mul nuw nsw i32 %lane_group, 4
  %position.n0.lane = add nsw i32 %wave_query, %lane_row
  %stop.n0.reach = add nsw i32 %position.n0.lane, 1
  %stop.n0.end = call i32 @llvm.smin.i32(i32 %stop.n0.reach, i32 48)
  %stop.n0 = sub nsw i32 %stop.n0.end, %group_key
  ; K: chunks of 1 x 1 (row x k)
  %k.c0.k.chunk = urem i32 %thread, 32
  %k.c0.row.chunk = udiv i32 %thread, 32
  %k.c0.key_bytes = mul nuw nsw i32 %k.c0.row.chunk, 64
  %k.c0.element_bytes = mul nuw nsw i32 %k.c0.k.chunk, 2
  %k.c0.inside = add nuw nsw i32 %k.c0.key_bytes, %k.c0.element_bytes
  %k.c0.lds_line = udiv i32 %k.c0.k.chunk, 8
  %k.c0.element = urem i32 %k.c0.k.chunk, 8
  %k.c0.slot.scaled = shl i32 %k.c0.lds_line, 1
  %k.c0.slot.low = and i32 %k.c0.slot.scaled, 15
  %k.c0.slot = xor i32 %k.c0.row.chunk, %k.c0.slot.low
  %k.c1 = add nuw nsw i32 %thread, 128
  %k.c1.k.chunk = urem i32 %k.c1, 32
  %k.c1.row.chunk = udiv i32 %k.c1, 32
  %k.c1.key_bytes = mul nuw nsw i32 %k.c1.row.chunk, 64
  %k.c1.element_bytes = mul nuw nsw i32 %k.c1.k.chunk, 2
  %k.c1.inside = add nuw nsw i32 %k.c1.key_bytes, %k.c1.element_bytes
  %k.c1.lds_line = udiv i32 %k.c1.k.chunk, 8
  %k.c1.element = urem i32 %k.c1.k.chunk, 8
  %k.c1.slot.scaled = shl i32 %k.c1.lds_line, 1
  %k.c1.slot.low = and i32 %k.c1.slot.scaled, 15
  %k.c1.slot = xor i32 %k.c1.row.chunk, %k.c1.slot.low
  %k.c2 = add nuw nsw i32 %thread, 256
  %k.c2.k.chunk = urem i32 %k.c2, 32
  %k.c2.row.chunk = udiv i32 %k.c2, 32
  %k.c2.key_bytes = mul nuw nsw i32 %k.c2.row.chunk, 64
  %k.c2.element_bytes = mul nuw nsw i32 %k.c2.k.chunk, 2
  %k.c2.inside = add nuw nsw i32 %k.c2.key_bytes, %k.c2.element_bytes
  %k.c2.lds_line = udiv i32 %k.c2.k.chunk, 8
  %k.c2.element = urem i32 %k.c2.k.chunk, 8
  %k.c2.slot.scaled = shl i32 %k.c2.lds_line, 1
  %k.c2.slot.low = and i32 %k.c2.slot.scaled, 15
  %k.c2.slot = xor i32 %k.c2.row.chunk, %k.c2.slot.low
  %k.c3 = add nuw nsw i32 %thread, 384
  %k.c3.k.chunk = urem i32 %k.c3, 32
  %k.c3.row.chunk = udiv i32 %k.c3, 32
  %k.c3.key_bytes = mul nuw nsw i32 %k.c3.row.chunk, 64
  %k.c3.element_bytes = mul nuw nsw i32 %k.c3.k.chunk, 2
  %k.c3.inside = add nuw nsw i32 %k.c3.key_bytes, %k.c3.element_bytes
  %k.c3.lds_line = udiv i32 %k.c3.k.chunk, 8
  %k.c3.element = urem i32 %k.c3.k.chunk, 8
  %k.c3.slot.scaled = shl i32 %k.c3.lds_line, 1
  %k.c3.slot.low = and i32 %k.c3.slot.scaled, 15
  %k.c3.slot = xor i32 %k.c3.row.chunk, %k.c3.slot.low
  %k.c4 = add nuw nsw i32 %thread, 512
  %k.c4.k.chunk = urem i32 %k.c4, 32
  %k.c4.row.chunk = udiv i32 %k.c4, 32
  %k.c4.key_bytes = mul nuw nsw i32 %k.c4.row.chunk, 64
  %k.c4.element_bytes = mul nuw nsw i32 %k.c4.k.chunk, 2
  %k.c4.inside = add nuw nsw i32 %k.c4.key_bytes, %k.c4.element_bytes
  %k.c4.lds_line = udiv i32 %k.c4.k.chunk, 8
  %k.c4.element = urem i32 %k.c4.k.chunk, 8
  %k.c4.slot.scaled = shl i32 %k.c4.lds_line, 1
  %k.c4.slot.low = and i32 %k.c4.slot.scaled, 15
  %k.c4.slot = xor i32 %k.c4.row.chunk, %k.c4.slot.low
  %k.c5 = add nuw nsw i32 %thread, 640
  %k.c5.k.chunk = urem i32 %k.c5, 32
  %k.c5.row.chunk = udiv i32 %k.c5, 32
  %k.c5.key_bytes = mul nuw nsw i32 %k.c5.row.chunk, 64
  %k.c5.element_bytes = mul nuw nsw i32 %k.c5.k.chunk, 2
  %k.c5.inside = add nuw nsw i32 %k.c5.key_bytes, %k.c5.element_bytes
  %k.c5.lds_line = udiv i32 %k.c5.k.chunk, 8
  %k.c5.element = urem i32 %k.c5.k.chunk, 8
  %k.c5.slot.scaled = shl i32 %k.c5.lds_line, 1
  %k.c5.slot.low = and i32 %k.c5.slot.scaled, 15
  %k.c5.slot = xor i32 %k.c5.row.chunk, %k.c5.slot.low
  %k.c6 = add nuw nsw i32 %thread, 768
  %k.c6.k.chunk = urem i32 %k.c6, 32
  %k.c6.row.chunk = udiv i32 %k.c6, 32
  %k.c6.key_bytes = mul nuw nsw i32 %k.c6.row.chunk, 64
  %k.c6.element_bytes = mul nuw nsw i32 %k.c6.k.chunk, 2
  %k.c6.inside = add nuw nsw i32 %k.c6.key_bytes, %k.c6.element_bytes
  %k.c6.lds_line = udiv i32 %k.c6.k.chunk, 8
  %k.c6.element = urem i32 %k.c6.k.chunk, 8
  %k.c6.slot.scaled = shl i32 %k.c6.lds_line, 1
  %k.c6.slot.low = and i32 %k.c6.slot.scaled, 15
  %k.c6.slot = xor i32 %k.c6.row.chunk, %k.c6.slot.low
  %k.c7 = add nuw nsw i32 %thread, 896
  %k.c7.k.chunk = urem i32 %k.c7, 32
  %k.c7.row.chunk = udiv i32 %k.c7, 32
  %k.c7.key_bytes = mul nuw nsw i32 %k.c7.row.chunk, 64
  %k.c7.element_bytes = mul nuw nsw i32 %k.c7.k.chunk, 2
  %k.c7.inside = add nuw nsw i32 %k.c7.key_bytes, %k.c7.element_bytes
  %k.c7.lds_line = udiv i32 %k.c7.k.chunk, 8
  %k.c7.element = urem i32 %k.c7.k.chunk, 8
  %k.c7.slot.scaled = shl i32 %k.c7.lds_line, 1
  %k.c7.slot.low = and i32 %k.c7.slot.scaled, 15
  %k.c7.slot = xor i32 %k.c7.row.chunk, %k.c7.slot.low
  %k.first.block.row = zext i32 0 to i64
  %k.first.block.row_offset = mul nuw nsw i64 %k.first.block.row, 32
  %k.first.block = getelementptr half, ptr addrspace(1) %k, i64 %k.first.block.row_offset
  ; V: chunks of 2 x 4 (row x k)
  %v.c0.part = urem i32 %thread, 2
  %v.c0.group = udiv i32 %thread, 2
  %v.c0.row.chunk = urem i32 %v.c0.group, 16
  %v.c0.row = mul nuw nsw i32 %v.c0.row.chunk, 2
  %v.c0.k.chunk = udiv i32 %v.c0.group, 16
  %v.c0.k.slot = mul nuw nsw i32 %v.c0.k.chunk, 2
  %v.c0.k.part = add nuw nsw i32 %v.c0.k.slot, %v.c0.part
  %v.c0.k = mul nuw nsw i32 %v.c0.k.part, 4
  ; the key whose weight is at this depth
  %v.c0.key.bits0 = and i32 %v.c0.k, 3
  %v.c0.key.bits1 = and i32 %v.c0.k, 24
  %v.c0.key.bits1.moved = lshr i32 %v.c0.key.bits1, 1
  %v.c0.key.with1 = or disjoint i32 %v.c0.key.bits0, %v.c0.key.bits1.moved
  %v.c0.key.bits2 = and i32 %v.c0.k, 4
  %v.c0.key.bits2.moved = shl nuw nsw i32 %v.c0.key.bits2, 2
  %v.c0.key = or disjoint i32 %v.c0.key.with1, %v.c0.key.bits2.moved
  %v.c0.key_bytes = mul nuw nsw i32 %v.c0.key, 64
  %v.c0.element_bytes = mul nuw nsw i32 %v.c0.row, 2
  %v.c0.inside = add nuw nsw i32 %v.c0.key_bytes, %v.c0.element_bytes
  %v.c0.lds_line = udiv i32 %v.c0.k, 8
  %v.c0.element = urem i32 %v.c0.k, 8
  %v.c0.swizzled.high = lshr i32 %v.c0.row, 1
  %v.c0.swizzled.low = and i32 %v.c0.swizzled.high, 15
  %v.c0.swizzled = xor i32 %v.c0.row, %v.c0.swizzled.low
  %v.c0.p1.position = add nuw nsw i32 %v.c0.row, 1
  %v.c0.p1.swizzled.high = lshr i32 %v.c0.p1.position, 1
  %v.c0.p1.swizzled.low = and i32 %v.c0.p1.swizzled.high, 15
  %v.c0.p1.swizzled = xor i32 %v.c0.p1.position, %v.c0.p1.swizzled.low
  %v.first.block.row = zext i32 0 to i64
  %v.first.block.row_offset = mul nuw nsw i64 %v.first.block.row, 32
  %v.first.block = getelementptr half, ptr addrspace(1) %v, i64 %v.first.block.row_offset
  %k.second.block = getelementptr i8, ptr addrspace(1) %k.first.block, i64 2048
  %v.second.block = getelementptr i8, ptr addrspace(1) %v.first.block, i64 2048
  ; a lane's registers of a result are neighbouring elements of the head
  %lane_element.bits0 = and i32 %lane_row, 15
  %k.t0.slot0.scaled = shl i32 %lane_group, 1
  %k.t0.slot0.low = and i32 %k.t0.slot0.scaled, 15
  %k.t0.slot0 = xor i32 %lane_row, %k.t0.slot0.low
  %v.t0.swizzled.high = lshr i32 %lane_element.bits0, 1
  %v.t0.swizzled.low = and i32 %v.t0.swizzled.high, 15
  %v.t0.swizzled = xor i32 %lane_element.bits0, %v.t0.swizzled.low
  %v.t1.position = add nuw nsw i32 %lane_element.bits0, 16
  %v.t1.swizzled.high = lshr i32 %v.t1.position, 1
  %v.t1.swizzled.low = and i32 %v.t1.swizzled.high, 15
  %v.t1.swizzled = xor i32 %v.t1.position, %v.t1.swizzled.low

; ---- prologue: queries, and the first two blocks of keys
  ; the wave's queries, as B
  %q.block.row = zext i32 %first_row to i64
  %q.block.row_offset = mul nuw nsw i64 %q.block.row, 32
  %q.block = getelementptr half, ptr addrspace(1) %q, i64 %q.block.row_offset
  %q.rows = call i32 @llvm.smin.i32(i32 %rows_left, i32 32)
  %q.rows_before = add nsw i32 %q.rows, -1
  %q.row_bytes = mul nuw nsw i32 %q.rows_before, 64
  %q.bytes = add nuw nsw i32 %q.row_bytes, 64
  %q.bytes.wide = zext i32 %q.bytes to i64
  %q.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %q.block, i16 0, i64 %q.bytes.wide, i32 159744)
  %q.group_bytes = mul nuw nsw i32 %lane_group, 16
  %q.n0.lane_row = add nuw nsw i32 %wave_row, %lane_row
  %q.n0.bytes = mul nuw nsw i32 %q.n0.lane_row, 64
  %q.n0.at = add nuw nsw i32 %q.n0.bytes, %q.group_bytes
  %q.n0.g0.words = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %q.buffer, i32 %q.n0.at, i32 0, i32 0)
  %q.n0.g0 = bitcast <4 x i32> %q.n0.g0.words to <8 x half>

  %keys.first.any = call i32 @llvm.smax.i32(i32 48, i32 0)
  %keys.first.some = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %keys.first.any)
  %keys.first = call i32 @llvm.smin.i32(i32 %keys.first.some, i32 32)
  %k.first.keys_bytes = mul nuw nsw i32 %keys.first, 64
  %k.first.bytes.wide = zext i32 %k.first.keys_bytes to i64
  %k.first.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %k.first.block, i16 0, i64 %k.first.bytes.wide, i32 159744)
  %k.first.c0.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c0.inside, i32 0, i32 0)
  %k.first.c1.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c1.inside, i32 0, i32 0)
  %k.first.c2.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c2.inside, i32 0, i32 0)
  %k.first.c3.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c3.inside, i32 0, i32 0)
  %k.first.c4.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c4.inside, i32 0, i32 0)
  %k.first.c5.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c5.inside, i32 0, i32 0)
  %k.first.c6.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c6.inside, i32 0, i32 0)
  %k.first.c7.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.first.buffer, i32 %k.c7.inside, i32 0, i32 0)
  %v.first.keys_bytes = mul nuw nsw i32 %keys.first, 64
  %v.first.bytes.wide = zext i32 %v.first.keys_bytes to i64
  %v.first.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v.first.block, i16 0, i64 %v.first.bytes.wide, i32 159744)
  %v.first.c0.l0.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.first.buffer, i32 %v.c0.inside, i32 0, i32 0)
  %v.first.c0.l0 = bitcast i32 %v.first.c0.l0.words to <2 x half>
  %v.first.c0.l1.at = add nuw i32 %v.c0.inside, 64
  %v.first.c0.l1.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.first.buffer, i32 %v.first.c0.l1.at, i32 0, i32 0)
  %v.first.c0.l1 = bitcast i32 %v.first.c0.l1.words to <2 x half>
  %v.first.c0.l2.at = add nuw i32 %v.c0.inside, 128
  %v.first.c0.l2.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.first.buffer, i32 %v.first.c0.l2.at, i32 0, i32 0)
  %v.first.c0.l2 = bitcast i32 %v.first.c0.l2.words to <2 x half>
  %v.first.c0.l3.at = add nuw i32 %v.c0.inside, 192
  %v.first.c0.l3.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.first.buffer, i32 %v.first.c0.l3.at, i32 0, i32 0)
  %v.first.c0.l3 = bitcast i32 %v.first.c0.l3.words to <2 x half>
  %keys.second.any = call i32 @llvm.smax.i32(i32 16, i32 0)
  %keys.second.some = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %keys.second.any)
  %keys.second = call i32 @llvm.smin.i32(i32 %keys.second.some, i32 32)
  %k.second.keys_bytes = mul nuw nsw i32 %keys.second, 64
  %k.second.bytes.wide = zext i32 %k.second.keys_bytes to i64
  %k.second.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %k.second.block, i16 0, i64 %k.second.bytes.wide, i32 159744)
  %k.second.c0.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c0.inside, i32 0, i32 0)
  %k.second.c1.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c1.inside, i32 0, i32 0)
  %k.second.c2.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c2.inside, i32 0, i32 0)
  %k.second.c3.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c3.inside, i32 0, i32 0)
  %k.second.c4.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c4.inside, i32 0, i32 0)
  %k.second.c5.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c5.inside, i32 0, i32 0)
  %k.second.c6.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c6.inside, i32 0, i32 0)
  %k.second.c7.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.second.buffer, i32 %k.c7.inside, i32 0, i32 0)
  %v.second.keys_bytes = mul nuw nsw i32 %keys.second, 64
  %v.second.bytes.wide = zext i32 %v.second.keys_bytes to i64
  %v.second.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v.second.block, i16 0, i64 %v.second.bytes.wide, i32 159744)
  %v.second.c0.l0.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.second.buffer, i32 %v.c0.inside, i32 0, i32 0)
  %v.second.c0.l0 = bitcast i32 %v.second.c0.l0.words to <2 x half>
  %v.second.c0.l1.at = add nuw i32 %v.c0.inside, 64
  %v.second.c0.l1.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.second.buffer, i32 %v.second.c0.l1.at, i32 0, i32 0)
  %v.second.c0.l1 = bitcast i32 %v.second.c0.l1.words to <2 x half>
  %v.second.c0.l2.at = add nuw i32 %v.c0.inside, 128
  %v.second.c0.l2.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.second.buffer, i32 %v.second.c0.l2.at, i32 0, i32 0)
  %v.second.c0.l2 = bitcast i32 %v.second.c0.l2.words to <2 x half>
  %v.second.c0.l3.at = add nuw i32 %v.c0.inside, 192
  %v.second.c0.l3.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.second.buffer, i32 %v.second.c0.l3.at, i32 0, i32 0)
  %v.second.c0.l3 = bitcast i32 %v.second.c0.l3.words to <2 x half>
  %k.first.c0.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c0.lds_line, i32 %k.c0.slot, i32 %k.c0.element
  store half %k.first.c0.l0, ptr addrspace(3) %k.first.c0.s0.at, align 2
  %k.first.c1.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c1.lds_line, i32 %k.c1.slot, i32 %k.c1.element
  store half %k.first.c1.l0, ptr addrspace(3) %k.first.c1.s0.at, align 2
  %k.first.c2.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c2.lds_line, i32 %k.c2.slot, i32 %k.c2.element
  store half %k.first.c2.l0, ptr addrspace(3) %k.first.c2.s0.at, align 2
  %k.first.c3.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c3.lds_line, i32 %k.c3.slot, i32 %k.c3.element
  store half %k.first.c3.l0, ptr addrspace(3) %k.first.c3.s0.at, align 2
  %k.first.c4.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c4.lds_line, i32 %k.c4.slot, i32 %k.c4.element
  store half %k.first.c4.l0, ptr addrspace(3) %k.first.c4.s0.at, align 2
  %k.first.c5.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c5.lds_line, i32 %k.c5.slot, i32 %k.c5.element
  store half %k.first.c5.l0, ptr addrspace(3) %k.first.c5.s0.at, align 2
  %k.first.c6.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c6.lds_line, i32 %k.c6.slot, i32 %k.c6.element
  store half %k.first.c6.l0, ptr addrspace(3) %k.first.c6.s0.at, align 2
  %k.first.c7.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 0, i32 %k.c7.lds_line, i32 %k.c7.slot, i32 %k.c7.element
  store half %k.first.c7.l0, ptr addrspace(3) %k.first.c7.s0.at, align 2
  %v.first.c0.l0.0 = extractelement <2 x half> %v.first.c0.l0, i32 0
  %v.first.c0.l0.1 = extractelement <2 x half> %v.first.c0.l0, i32 1
  %v.first.c0.l1.0 = extractelement <2 x half> %v.first.c0.l1, i32 0
  %v.first.c0.l1.1 = extractelement <2 x half> %v.first.c0.l1, i32 1
  %v.first.c0.l2.0 = extractelement <2 x half> %v.first.c0.l2, i32 0
  %v.first.c0.l2.1 = extractelement <2 x half> %v.first.c0.l2, i32 1
  %v.first.c0.l3.0 = extractelement <2 x half> %v.first.c0.l3, i32 0
  %v.first.c0.l3.1 = extractelement <2 x half> %v.first.c0.l3, i32 1
  %v.first.c0.s0.0 = insertelement <4 x half> poison, half %v.first.c0.l0.0, i32 0
  %v.first.c0.s0.1 = insertelement <4 x half> %v.first.c0.s0.0, half %v.first.c0.l1.0, i32 1
  %v.first.c0.s0.2 = insertelement <4 x half> %v.first.c0.s0.1, half %v.first.c0.l2.0, i32 2
  %v.first.c0.s0 = insertelement <4 x half> %v.first.c0.s0.2, half %v.first.c0.l3.0, i32 3
  %v.first.c0.s1.0 = insertelement <4 x half> poison, half %v.first.c0.l0.1, i32 0
  %v.first.c0.s1.1 = insertelement <4 x half> %v.first.c0.s1.0, half %v.first.c0.l1.1, i32 1
  %v.first.c0.s1.2 = insertelement <4 x half> %v.first.c0.s1.1, half %v.first.c0.l2.1, i32 2
  %v.first.c0.s1 = insertelement <4 x half> %v.first.c0.s1.2, half %v.first.c0.l3.1, i32 3
  %v.first.c0.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 %v.c0.lds_line, i32 %v.c0.swizzled, i32 %v.c0.element
  store <4 x half> %v.first.c0.s0, ptr addrspace(3) %v.first.c0.s0.at, align 8
  %v.first.c0.s1.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 0, i32 %v.c0.lds_line, i32 %v.c0.p1.swizzled, i32 %v.c0.element
  store <4 x half> %v.first.c0.s1, ptr addrspace(3) %v.first.c0.s1.at, align 8
  %k.second.c0.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c0.lds_line, i32 %k.c0.slot, i32 %k.c0.element
  store half %k.second.c0.l0, ptr addrspace(3) %k.second.c0.s0.at, align 2
  %k.second.c1.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c1.lds_line, i32 %k.c1.slot, i32 %k.c1.element
  store half %k.second.c1.l0, ptr addrspace(3) %k.second.c1.s0.at, align 2
  %k.second.c2.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c2.lds_line, i32 %k.c2.slot, i32 %k.c2.element
  store half %k.second.c2.l0, ptr addrspace(3) %k.second.c2.s0.at, align 2
  %k.second.c3.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c3.lds_line, i32 %k.c3.slot, i32 %k.c3.element
  store half %k.second.c3.l0, ptr addrspace(3) %k.second.c3.s0.at, align 2
  %k.second.c4.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c4.lds_line, i32 %k.c4.slot, i32 %k.c4.element
  store half %k.second.c4.l0, ptr addrspace(3) %k.second.c4.s0.at, align 2
  %k.second.c5.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c5.lds_line, i32 %k.c5.slot, i32 %k.c5.element
  store half %k.second.c5.l0, ptr addrspace(3) %k.second.c5.s0.at, align 2
  %k.second.c6.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c6.lds_line, i32 %k.c6.slot, i32 %k.c6.element
  store half %k.second.c6.l0, ptr addrspace(3) %k.second.c6.s0.at, align 2
  %k.second.c7.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 1, i32 %k.c7.lds_line, i32 %k.c7.slot, i32 %k.c7.element
  store half %k.second.c7.l0, ptr addrspace(3) %k.second.c7.s0.at, align 2
  %v.second.c0.l0.0 = extractelement <2 x half> %v.second.c0.l0, i32 0
  %v.second.c0.l0.1 = extractelement <2 x half> %v.second.c0.l0, i32 1
  %v.second.c0.l1.0 = extractelement <2 x half> %v.second.c0.l1, i32 0
  %v.second.c0.l1.1 = extractelement <2 x half> %v.second.c0.l1, i32 1
  %v.second.c0.l2.0 = extractelement <2 x half> %v.second.c0.l2, i32 0
  %v.second.c0.l2.1 = extractelement <2 x half> %v.second.c0.l2, i32 1
  %v.second.c0.l3.0 = extractelement <2 x half> %v.second.c0.l3, i32 0
  %v.second.c0.l3.1 = extractelement <2 x half> %v.second.c0.l3, i32 1
  %v.second.c0.s0.0 = insertelement <4 x half> poison, half %v.second.c0.l0.0, i32 0
  %v.second.c0.s0.1 = insertelement <4 x half> %v.second.c0.s0.0, half %v.second.c0.l1.0, i32 1
  %v.second.c0.s0.2 = insertelement <4 x half> %v.second.c0.s0.1, half %v.second.c0.l2.0, i32 2
  %v.second.c0.s0 = insertelement <4 x half> %v.second.c0.s0.2, half %v.second.c0.l3.0, i32 3
  %v.second.c0.s1.0 = insertelement <4 x half> poison, half %v.second.c0.l0.1, i32 0
  %v.second.c0.s1.1 = insertelement <4 x half> %v.second.c0.s1.0, half %v.second.c0.l1.1, i32 1
  %v.second.c0.s1.2 = insertelement <4 x half> %v.second.c0.s1.1, half %v.second.c0.l2.1, i32 2
  %v.second.c0.s1 = insertelement <4 x half> %v.second.c0.s1.2, half %v.second.c0.l3.1, i32 3
  %v.second.c0.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 1, i32 %v.c0.lds_line, i32 %v.c0.swizzled, i32 %v.c0.element
  store <4 x half> %v.second.c0.s0, ptr addrspace(3) %v.second.c0.s0.at, align 8
  %v.second.c0.s1.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 1, i32 %v.c0.lds_line, i32 %v.c0.p1.swizzled, i32 %v.c0.element
  store <4 x half> %v.second.c0.s1, ptr addrspace(3) %v.second.c0.s1.at, align 8
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  ; the second half of the waves passes one extra barrier, so it stays one barrier behind
  %second_half = icmp uge i32 %wave, 1
  br i1 %second_half, label %fall_behind, label %apart
fall_behind:
  call void @llvm.amdgcn.s.barrier()
  br label %apart
apart:
  br label %loop

; ---- mainloop: load the next block of keys, multiply this one
loop:
  %key = phi i32 [ 0, %apart ], [ %key.next, %exponents ]
  %k.block = phi ptr addrspace(1) [ %k.second.block, %apart ], [ %k.next.block, %exponents ]
  %v.block = phi ptr addrspace(1) [ %v.second.block, %apart ], [ %v.next.block, %exponents ]
  %stage = phi i32 [ 0, %apart ], [ %stage.next, %exponents ]
  %far.start = phi i64 [ 1, %apart ], [ %far.now, %exponents ]
  %max.n0.start = phi float [ 0xC7EFFFFFE0000000, %apart ], [ %max.n0.now, %exponents ]
  %limit.n0.start = phi float [ 0xC7EFFFFFE0000000, %apart ], [ %limit.n0.now, %exponents ]
  %minus.n0.start = phi float [ 0x0000000000000000, %apart ], [ %minus.n0.now, %exponents ]
  %sum.n0.start = phi float [ 0x0000000000000000, %apart ], [ %sum.n0.next, %exponents ]
  %acc.j0.n0.start = phi <4 x float> [ zeroinitializer, %apart ], [ %acc.j0.n0.next, %exponents ]
  %acc.j1.n0.start = phi <4 x float> [ zeroinitializer, %apart ], [ %acc.j1.n0.next, %exponents ]
  %stage.after = add nuw nsw i32 %stage, 1
  %stage.next = and i32 %stage.after, 3
  %key.next = add nuw nsw i32 %key, 32
  ; scores
  ; at raised priority, so that these products overlap with the softmax of another wave
  call void @llvm.amdgcn.s.setprio(i16 1)
  %k.f0.g0.first = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage, i32 %lane_group, i32 %k.t0.slot0, i32 0
  %k.f0.g0 = load <8 x half>, ptr addrspace(3) %k.f0.g0.first, align 16
  %k.f1.g0.first = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage, i32 %lane_group, i32 %k.t0.slot0, i32 0
  %k.f1.g0.at = getelementptr <8 x half>, ptr addrspace(3) %k.f1.g0.first, i32 16
  %k.f1.g0 = load <8 x half>, ptr addrspace(3) %k.f1.g0.at, align 16
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %s.t0.n0.product = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half> %k.f0.g0, <8 x half> %q.n0.g0, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %s.t1.n0.product = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half> %k.f1.g0, <8 x half> %q.n0.g0, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %key.loaded = add nuw nsw i32 %key.next, 32
  %keys.next.left = sub nsw i32 48, %key.loaded
  %keys.next.any = call i32 @llvm.smax.i32(i32 %keys.next.left, i32 0)
  %keys.next.some = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %keys.next.any)
  %keys.next = call i32 @llvm.smin.i32(i32 %keys.next.some, i32 32)
  %k.next.block = getelementptr i8, ptr addrspace(1) %k.block, i64 2048
  %k.next.keys_bytes = mul nuw nsw i32 %keys.next, 64
  %k.next.bytes.wide = zext i32 %k.next.keys_bytes to i64
  %k.next.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %k.next.block, i16 0, i64 %k.next.bytes.wide, i32 159744)
  %k.next.c0.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c0.inside, i32 0, i32 0)
  %k.next.c1.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c1.inside, i32 0, i32 0)
  %k.next.c2.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c2.inside, i32 0, i32 0)
  %k.next.c3.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c3.inside, i32 0, i32 0)
  %k.next.c4.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c4.inside, i32 0, i32 0)
  %k.next.c5.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c5.inside, i32 0, i32 0)
  %k.next.c6.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c6.inside, i32 0, i32 0)
  %k.next.c7.l0 = call half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8) %k.next.buffer, i32 %k.c7.inside, i32 0, i32 0)
  %v.next.block = getelementptr i8, ptr addrspace(1) %v.block, i64 2048
  %v.next.keys_bytes = mul nuw nsw i32 %keys.next, 64
  %v.next.bytes.wide = zext i32 %v.next.keys_bytes to i64
  %v.next.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v.next.block, i16 0, i64 %v.next.bytes.wide, i32 159744)
  %v.next.c0.l0.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.next.buffer, i32 %v.c0.inside, i32 0, i32 0)
  %v.next.c0.l0 = bitcast i32 %v.next.c0.l0.words to <2 x half>
  %v.next.c0.l1.at = add nuw i32 %v.c0.inside, 64
  %v.next.c0.l1.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.next.buffer, i32 %v.next.c0.l1.at, i32 0, i32 0)
  %v.next.c0.l1 = bitcast i32 %v.next.c0.l1.words to <2 x half>
  %v.next.c0.l2.at = add nuw i32 %v.c0.inside, 128
  %v.next.c0.l2.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.next.buffer, i32 %v.next.c0.l2.at, i32 0, i32 0)
  %v.next.c0.l2 = bitcast i32 %v.next.c0.l2.words to <2 x half>
  %v.next.c0.l3.at = add nuw i32 %v.c0.inside, 192
  %v.next.c0.l3.words = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %v.next.buffer, i32 %v.next.c0.l3.at, i32 0, i32 0)
  %v.next.c0.l3 = bitcast i32 %v.next.c0.l3.words to <2 x half>
  call void asm sideeffect "", "~{memory}"()
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; keys that are not attended to
  %block_end = add nsw i32 %key, 32
  %ends_inside = icmp slt i32 %wave_stop, %block_end
  br i1 %ends_inside, label %edge, label %attended
edge:
  %stop.n0.here = sub nsw i32 %stop.n0, %key
  %stop.n0.all.lane = insertelement <4 x i32> poison, i32 %stop.n0.here, i32 0
  %stop.n0.all = shufflevector <4 x i32> %stop.n0.all.lane, <4 x i32> poison, <4 x i32> zeroinitializer
  %s.t0.n0.before = icmp sgt <4 x i32> %stop.n0.all, <i32 0, i32 1, i32 2, i32 3>
  %s.t0.n0.kept = select <4 x i1> %s.t0.n0.before, <4 x float> %s.t0.n0.product, <4 x float> splat (float 0xFFF0000000000000)
  %s.t1.n0.before = icmp sgt <4 x i32> %stop.n0.all, <i32 16, i32 17, i32 18, i32 19>
  %s.t1.n0.kept = select <4 x i1> %s.t1.n0.before, <4 x float> %s.t1.n0.product, <4 x float> splat (float 0xFFF0000000000000)
  br label %attended
attended:
  %s.t0.n0.attended = phi <4 x float> [ %s.t0.n0.product, %loop ], [ %s.t0.n0.kept, %edge ]
  %s.t1.n0.attended = phi <4 x float> [ %s.t1.n0.product, %loop ], [ %s.t1.n0.kept, %edge ]
  ; maxima of the lane
  %s.t0.n0.r0 = extractelement <4 x float> %s.t0.n0.attended, i32 0
  %s.t0.n0.r1 = extractelement <4 x float> %s.t0.n0.attended, i32 1
  %s.t0.n0.most1 = call float @llvm.maxnum.f32(float %s.t0.n0.r0, float %s.t0.n0.r1)
  %s.t0.n0.r2 = extractelement <4 x float> %s.t0.n0.attended, i32 2
  %s.t0.n0.most2 = call float @llvm.maxnum.f32(float %s.t0.n0.most1, float %s.t0.n0.r2)
  %s.t0.n0.r3 = extractelement <4 x float> %s.t0.n0.attended, i32 3
  %s.t0.n0.most3 = call float @llvm.maxnum.f32(float %s.t0.n0.most2, float %s.t0.n0.r3)
  %s.t1.n0.r0 = extractelement <4 x float> %s.t1.n0.attended, i32 0
  %s.t1.n0.most0 = call float @llvm.maxnum.f32(float %s.t0.n0.most3, float %s.t1.n0.r0)
  %s.t1.n0.r1 = extractelement <4 x float> %s.t1.n0.attended, i32 1
  %s.t1.n0.most1 = call float @llvm.maxnum.f32(float %s.t1.n0.most0, float %s.t1.n0.r1)
  %s.t1.n0.r2 = extractelement <4 x float> %s.t1.n0.attended, i32 2
  %s.t1.n0.most2 = call float @llvm.maxnum.f32(float %s.t1.n0.most1, float %s.t1.n0.r2)
  %s.t1.n0.r3 = extractelement <4 x float> %s.t1.n0.attended, i32 3
  %most.n0 = call float @llvm.maxnum.f32(float %s.t1.n0.most2, float %s.t1.n0.r3)
  %grows.n0 = fcmp ogt float %most.n0, %limit.n0.start
  %votes = call i64 @llvm.amdgcn.ballot.i64(i1 %grows.n0)
  %some_grows = icmp ne i64 %votes, 0
  br i1 %some_grows, label %rescale, label %weigh

; some query of the wave has a new maximum
rescale:
  %new.n0.bits16 = bitcast float %most.n0 to i32
  %new.n0.theirs16 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d16, i32 %new.n0.bits16)
  %new.n0.other16 = bitcast i32 %new.n0.theirs16 to float
  %new.n0.d16 = call float @llvm.maxnum.f32(float %most.n0, float %new.n0.other16)
  %new.n0.bits32 = bitcast float %new.n0.d16 to i32
  %new.n0.theirs32 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d32, i32 %new.n0.bits32)
  %new.n0.other32 = bitcast i32 %new.n0.theirs32 to float
  %new.n0 = call float @llvm.maxnum.f32(float %new.n0.d16, float %new.n0.other32)
  %max.n0.grown = call float @llvm.maxnum.f32(float %new.n0, float %max.n0.start)
  %limit.n0.grown = fadd float %max.n0.grown, 0x403F5E4660000000
  %minus.n0.near = fmul float %max.n0.grown, 0xBFD0527DC0000000
  %exponent.n0.size = call float @llvm.fabs.f32(float %minus.n0.near)
  %is_far.n0 = fcmp ogt float %exponent.n0.size, 0x4130000000000000
  %far.grown = call i64 @llvm.amdgcn.ballot.i64(i1 %is_far.n0)
  %subtracted = icmp ne i64 %far.start, 0
  %subtracts = icmp ne i64 %far.grown, 0
  ; factor of earlier sums: exponents change with the subtracted maximum and the addend
  %minus.n0.grown = select i1 %subtracts, float 0x0000000000000000, float %minus.n0.near
  %from.n0 = select i1 %subtracted, float %max.n0.start, float 0x0000000000000000
  %to.n0 = select i1 %subtracts, float %max.n0.grown, float 0x0000000000000000
  %less.n0 = fsub float %from.n0, %to.n0
  %more.n0 = fsub float %minus.n0.grown, %minus.n0.start
  %less.n0.log2 = fmul float %less.n0, 0x3FD0527DC0000000
  %exponent.n0 = fadd float %less.n0.log2, %more.n0
  %factor.n0 = call float @llvm.amdgcn.exp2.f32(float %exponent.n0)
  %sum.n0.grown = fmul float %sum.n0.start, %factor.n0
  %factor.n0.all.lane = insertelement <4 x float> poison, float %factor.n0, i32 0
  %factor.n0.all = shufflevector <4 x float> %factor.n0.all.lane, <4 x float> poison, <4 x i32> zeroinitializer
  %acc.j0.n0.grown = fmul <4 x float> %acc.j0.n0.start, %factor.n0.all
  %acc.j1.n0.grown = fmul <4 x float> %acc.j1.n0.start, %factor.n0.all
  br label %weigh

weigh:
  %far.now = phi i64 [ %far.start, %attended ], [ %far.grown, %rescale ]
  %max.n0.now = phi float [ %max.n0.start, %attended ], [ %max.n0.grown, %rescale ]
  %limit.n0.now = phi float [ %limit.n0.start, %attended ], [ %limit.n0.grown, %rescale ]
  %minus.n0.now = phi float [ %minus.n0.start, %attended ], [ %minus.n0.grown, %rescale ]
  %sum.n0.now = phi float [ %sum.n0.start, %attended ], [ %sum.n0.grown, %rescale ]
  %acc.j0.n0.now = phi <4 x float> [ %acc.j0.n0.start, %attended ], [ %acc.j0.n0.grown, %rescale ]
  %acc.j1.n0.now = phi <4 x float> [ %acc.j1.n0.start, %attended ], [ %acc.j1.n0.grown, %rescale ]
  %is_far = icmp ne i64 %far.now, 0
  br i1 %is_far, label %subtract, label %exponents

; scores less their maxima, before the exponents of 2 are rounded
subtract:
  %max.n0.all.lane = insertelement <4 x float> poison, float %max.n0.now, i32 0
  %max.n0.all = shufflevector <4 x float> %max.n0.all.lane, <4 x float> poison, <4 x i32> zeroinitializer
  %s.t0.n0.less = fsub <4 x float> %s.t0.n0.attended, %max.n0.all
  %s.t1.n0.less = fsub <4 x float> %s.t1.n0.attended, %max.n0.all
  br label %exponents

exponents:
  %s.t0.n0.near = phi <4 x float> [ %s.t0.n0.attended, %weigh ], [ %s.t0.n0.less, %subtract ]
  %s.t1.n0.near = phi <4 x float> [ %s.t1.n0.attended, %weigh ], [ %s.t1.n0.less, %subtract ]
  ; weights of the queries in tile 0
  %minus.n0.all.lane = insertelement <4 x float> poison, float %minus.n0.now, i32 0
  %minus.n0.all = shufflevector <4 x float> %minus.n0.all.lane, <4 x float> poison, <4 x i32> zeroinitializer
  %s.t0.n0.exponents = call <4 x float> @llvm.fma.v4f32(<4 x float> %s.t0.n0.near, <4 x float> splat (float 0x3FD0527DC0000000), <4 x float> %minus.n0.all)
  %s.t0.n0.exponent0 = extractelement <4 x float> %s.t0.n0.exponents, i32 0
  %s.t0.n0.weight0 = call float @llvm.amdgcn.exp2.f32(float %s.t0.n0.exponent0)
  %s.t0.n0.weights.to0 = insertelement <4 x float> poison, float %s.t0.n0.weight0, i32 0
  %s.t0.n0.exponent1 = extractelement <4 x float> %s.t0.n0.exponents, i32 1
  %s.t0.n0.weight1 = call float @llvm.amdgcn.exp2.f32(float %s.t0.n0.exponent1)
  %s.t0.n0.weights.to1 = insertelement <4 x float> %s.t0.n0.weights.to0, float %s.t0.n0.weight1, i32 1
  %s.t0.n0.exponent2 = extractelement <4 x float> %s.t0.n0.exponents, i32 2
  %s.t0.n0.weight2 = call float @llvm.amdgcn.exp2.f32(float %s.t0.n0.exponent2)
  %s.t0.n0.weights.to2 = insertelement <4 x float> %s.t0.n0.weights.to1, float %s.t0.n0.weight2, i32 2
  %s.t0.n0.exponent3 = extractelement <4 x float> %s.t0.n0.exponents, i32 3
  %s.t0.n0.weight3 = call float @llvm.amdgcn.exp2.f32(float %s.t0.n0.exponent3)
  %s.t0.n0.weights = insertelement <4 x float> %s.t0.n0.weights.to2, float %s.t0.n0.weight3, i32 3
  %s.t1.n0.exponents = call <4 x float> @llvm.fma.v4f32(<4 x float> %s.t1.n0.near, <4 x float> splat (float 0x3FD0527DC0000000), <4 x float> %minus.n0.all)
  %s.t1.n0.exponent0 = extractelement <4 x float> %s.t1.n0.exponents, i32 0
  %s.t1.n0.weight0 = call float @llvm.amdgcn.exp2.f32(float %s.t1.n0.exponent0)
  %s.t1.n0.weights.to0 = insertelement <4 x float> poison, float %s.t1.n0.weight0, i32 0
  %s.t1.n0.exponent1 = extractelement <4 x float> %s.t1.n0.exponents, i32 1
  %s.t1.n0.weight1 = call float @llvm.amdgcn.exp2.f32(float %s.t1.n0.exponent1)
  %s.t1.n0.weights.to1 = insertelement <4 x float> %s.t1.n0.weights.to0, float %s.t1.n0.weight1, i32 1
  %s.t1.n0.exponent2 = extractelement <4 x float> %s.t1.n0.exponents, i32 2
  %s.t1.n0.weight2 = call float @llvm.amdgcn.exp2.f32(float %s.t1.n0.exponent2)
  %s.t1.n0.weights.to2 = insertelement <4 x float> %s.t1.n0.weights.to1, float %s.t1.n0.weight2, i32 2
  %s.t1.n0.exponent3 = extractelement <4 x float> %s.t1.n0.exponents, i32 3
  %s.t1.n0.weight3 = call float @llvm.amdgcn.exp2.f32(float %s.t1.n0.exponent3)
  %s.t1.n0.weights = insertelement <4 x float> %s.t1.n0.weights.to2, float %s.t1.n0.weight3, i32 3
  %s.t1.n0.total = fadd <4 x float> %s.t0.n0.weights, %s.t1.n0.weights
  %total.n0.w2.low = shufflevector <4 x float> %s.t1.n0.total, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %total.n0.w2.high = shufflevector <4 x float> %s.t1.n0.total, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %total.n0.w2 = fadd <2 x float> %total.n0.w2.low, %total.n0.w2.high
  %total.n0.low = extractelement <2 x float> %total.n0.w2, i32 0
  %total.n0.high = extractelement <2 x float> %total.n0.w2, i32 1
  %total.n0 = fadd float %total.n0.low, %total.n0.high
  %sum.n0.next = fadd float %sum.n0.now, %total.n0
  ; weights as B of the second product
  %s.t0.n0.rounded = fptrunc <4 x float> %s.t0.n0.weights to <4 x half>
  %s.t1.n0.rounded = fptrunc <4 x float> %s.t1.n0.weights to <4 x half>
  %p.n0.g0 = shufflevector <4 x half> %s.t0.n0.rounded, <4 x half> %s.t1.n0.rounded, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %stage.stored = xor i32 %stage, 2
  %k.next.c0.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c0.lds_line, i32 %k.c0.slot, i32 %k.c0.element
  store half %k.next.c0.l0, ptr addrspace(3) %k.next.c0.s0.at, align 2
  %k.next.c1.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c1.lds_line, i32 %k.c1.slot, i32 %k.c1.element
  store half %k.next.c1.l0, ptr addrspace(3) %k.next.c1.s0.at, align 2
  %k.next.c2.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c2.lds_line, i32 %k.c2.slot, i32 %k.c2.element
  store half %k.next.c2.l0, ptr addrspace(3) %k.next.c2.s0.at, align 2
  %k.next.c3.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c3.lds_line, i32 %k.c3.slot, i32 %k.c3.element
  store half %k.next.c3.l0, ptr addrspace(3) %k.next.c3.s0.at, align 2
  %k.next.c4.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c4.lds_line, i32 %k.c4.slot, i32 %k.c4.element
  store half %k.next.c4.l0, ptr addrspace(3) %k.next.c4.s0.at, align 2
  %k.next.c5.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c5.lds_line, i32 %k.c5.slot, i32 %k.c5.element
  store half %k.next.c5.l0, ptr addrspace(3) %k.next.c5.s0.at, align 2
  %k.next.c6.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c6.lds_line, i32 %k.c6.slot, i32 %k.c6.element
  store half %k.next.c6.l0, ptr addrspace(3) %k.next.c6.s0.at, align 2
  %k.next.c7.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @k_tile, i32 0, i32 %stage.stored, i32 %k.c7.lds_line, i32 %k.c7.slot, i32 %k.c7.element
  store half %k.next.c7.l0, ptr addrspace(3) %k.next.c7.s0.at, align 2
  %v.next.c0.l0.0 = extractelement <2 x half> %v.next.c0.l0, i32 0
  %v.next.c0.l0.1 = extractelement <2 x half> %v.next.c0.l0, i32 1
  %v.next.c0.l1.0 = extractelement <2 x half> %v.next.c0.l1, i32 0
  %v.next.c0.l1.1 = extractelement <2 x half> %v.next.c0.l1, i32 1
  %v.next.c0.l2.0 = extractelement <2 x half> %v.next.c0.l2, i32 0
  %v.next.c0.l2.1 = extractelement <2 x half> %v.next.c0.l2, i32 1
  %v.next.c0.l3.0 = extractelement <2 x half> %v.next.c0.l3, i32 0
  %v.next.c0.l3.1 = extractelement <2 x half> %v.next.c0.l3, i32 1
  %v.next.c0.s0.0 = insertelement <4 x half> poison, half %v.next.c0.l0.0, i32 0
  %v.next.c0.s0.1 = insertelement <4 x half> %v.next.c0.s0.0, half %v.next.c0.l1.0, i32 1
  %v.next.c0.s0.2 = insertelement <4 x half> %v.next.c0.s0.1, half %v.next.c0.l2.0, i32 2
  %v.next.c0.s0 = insertelement <4 x half> %v.next.c0.s0.2, half %v.next.c0.l3.0, i32 3
  %v.next.c0.s1.0 = insertelement <4 x half> poison, half %v.next.c0.l0.1, i32 0
  %v.next.c0.s1.1 = insertelement <4 x half> %v.next.c0.s1.0, half %v.next.c0.l1.1, i32 1
  %v.next.c0.s1.2 = insertelement <4 x half> %v.next.c0.s1.1, half %v.next.c0.l2.1, i32 2
  %v.next.c0.s1 = insertelement <4 x half> %v.next.c0.s1.2, half %v.next.c0.l3.1, i32 3
  %v.next.c0.s0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 %stage.stored, i32 %v.c0.lds_line, i32 %v.c0.swizzled, i32 %v.c0.element
  store <4 x half> %v.next.c0.s0, ptr addrspace(3) %v.next.c0.s0.at, align 8
  %v.next.c0.s1.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 %stage.stored, i32 %v.c0.lds_line, i32 %v.c0.p1.swizzled, i32 %v.c0.element
  store <4 x half> %v.next.c0.s1, ptr addrspace(3) %v.next.c0.s1.at, align 8
  %v.f0.g0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 %stage, i32 %lane_group, i32 %v.t0.swizzled, i32 0
  %v.f0.g0 = load <8 x half>, ptr addrspace(3) %v.f0.g0.at, align 16
  %v.f1.g0.at = getelementptr [4 x [4 x [32 x [8 x half]]]], ptr addrspace(3) @v_tile, i32 0, i32 %stage, i32 %lane_group, i32 %v.t1.swizzled, i32 0
  %v.f1.g0 = load <8 x half>, ptr addrspace(3) %v.f1.g0.at, align 16
  call void @llvm.amdgcn.sched.barrier(i32 0)
  fence syncscope("workgroup") release, !mmra !1
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; results
  call void @llvm.amdgcn.s.setprio(i16 1)
  %acc.j0.n0.next = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half> %v.f0.g0, <8 x half> %p.n0.g0, <4 x float> %acc.j0.n0.now, i32 0, i32 0, i32 0)
  %acc.j1.n0.next = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half> %v.f1.g0, <8 x half> %p.n0.g0, <4 x float> %acc.j1.n0.now, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.setprio(i16 0)
  %more = icmp slt i32 %key.next, %end_key
  br i1 %more, label %loop, label %rejoin

rejoin:
  ; the first half waits until the second half has finished the loop
  br i1 %second_half, label %last, label %catch_up
catch_up:
  call void @llvm.amdgcn.s.barrier()
  br label %last

; ---- epilogue: results divided by the sums of weights
last:
  %sum.n0.bits16 = bitcast float %sum.n0.next to i32
  %sum.n0.theirs16 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d16, i32 %sum.n0.bits16)
  %sum.n0.other16 = bitcast i32 %sum.n0.theirs16 to float
  %sum.n0.d16 = fadd float %sum.n0.next, %sum.n0.other16
  %sum.n0.bits32 = bitcast float %sum.n0.d16 to i32
  %sum.n0.theirs32 = call i32 @llvm.amdgcn.ds.bpermute(i32 %other_lane.d32, i32 %sum.n0.bits32)
  %sum.n0.other32 = bitcast i32 %sum.n0.theirs32 to float
  %sum.n0 = fadd float %sum.n0.d16, %sum.n0.other32
  %empty.n0 = fcmp oeq float %sum.n0, 0x0000000000000000
  %share.n0 = call float @llvm.amdgcn.rcp.f32(float %sum.n0)
  %out.block.row = zext i32 %first_row to i64
  %out.block.row_offset = mul nuw nsw i64 %out.block.row, 32
  %out.block = getelementptr half, ptr addrspace(1) %out, i64 %out.block.row_offset
  %out.rows = call i32 @llvm.smin.i32(i32 %rows_left, i32 32)
  %out.bytes = mul nuw nsw i32 %out.rows, 64
  %out.bytes.wide = zext i32 %out.bytes to i64
  %out.buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out.block, i16 0, i64 %out.bytes.wide, i32 159744)
  %out.group_element = mul nuw nsw i32 %lane_group, 4
  %out.n0.lane_row = add nuw nsw i32 %wave_row, %lane_row
  %out.n0.row_bytes = mul nuw nsw i32 %out.n0.lane_row, 64
  %share.n0.all.lane = insertelement <4 x float> poison, float %share.n0, i32 0
  %share.n0.all = shufflevector <4 x float> %share.n0.all.lane, <4 x float> poison, <4 x i32> zeroinitializer
  %mean.j0.n0 = fmul <4 x float> %acc.j0.n0.next, %share.n0.all
  %result.j0.n0 = select i1 %empty.n0, <4 x float> zeroinitializer, <4 x float> %mean.j0.n0
  %mean.j1.n0 = fmul <4 x float> %acc.j1.n0.next, %share.n0.all
  %result.j1.n0 = select i1 %empty.n0, <4 x float> zeroinitializer, <4 x float> %mean.j1.n0
  %out.n0.j0.r0.in_row = mul nuw nsw i32 %out.group_element, 2
  %out.n0.j0.r0.inside = add nuw nsw i32 %out.n0.row_bytes, %out.n0.j0.r0.in_row
  %out.n0.j0.r0.sums = shufflevector <4 x float> %result.j0.n0, <4 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %out.n0.j0.r0.rounded = fptrunc <4 x float> %out.n0.j0.r0.sums to <4 x half>
  %out.n0.j0.r0.words = bitcast <4 x half> %out.n0.j0.r0.rounded to <2 x i32>
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %out.n0.j0.r0.words, ptr addrspace(8) %out.buffer, i32 %out.n0.j0.r0.inside, i32 0, i32 0)
  %out.n0.j1.r0.element = add nuw nsw i32 %out.group_element, 16
  %out.n0.j1.r0.in_row = mul nuw nsw i32 %out.n0.j1.r0.element, 2
  %out.n0.j1.r0.inside = add nuw nsw i32 %out.n0.row_bytes, %out.n0.j1.r0.in_row
  %out.n0.j1.r0.sums = shufflevector <4 x float> %result.j1.n0, <4 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %out.n0.j1.r0.rounded = fptrunc <4 x float> %out.n0.j1.r0.sums to <4 x half>
  %out.n0.j1.r0.words = bitcast <4 x half> %out.n0.j1.r0.rounded to <2 x i32>
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32> %out.n0.j1.r0.words, ptr addrspace(8) %out.buffer, i32 %out.n0.j1.r0.inside, i32 0, i32 0)

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
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare float @llvm.amdgcn.exp2.f32(float)
declare float @llvm.amdgcn.rcp.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.fabs.f32(float)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half>, <8 x half>, <4 x float>, i32 immarg, i32 immarg, i32 immarg)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32 immarg)
declare half @llvm.amdgcn.raw.ptr.buffer.load.f16(ptr addrspace(8), i32, i32, i32 immarg)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v2i32(<2 x i32>, ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.s.setprio(i16 immarg)

attributes #0 = {
  nounwind
  "target-cpu"="gfx950"
  "amdgpu-flat-work-group-size"="128,128"
  "uniform-work-group-size"="true"
  "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id"
}

; Code object version 5, which ROCm 5.5 and later load.
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
; The fences order accesses to LDS, not to global memory.
!1 = !{!"amdgpu-synchronize-as", !"local"}
