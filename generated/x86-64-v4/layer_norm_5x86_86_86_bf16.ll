; layer_norm_5x86_86_86_bf16
;
; computes:  out = layer_norm(x, scale, shift, 1e-05)
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=762,unroll=2,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (user)
; launch:    1 task of up to 5 rows
; arguments: x: input bf16[5, 86], strides [86, 1]
;            scale: input bf16[86], strides [1]
;            shift: input bf16[86], strides [1]
;            out: output bf16[5, 86], strides [86, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @layer_norm_5x86_86_86_bf16(ptr %x.ptr, ptr %scale.ptr, ptr %shift.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %row.start = mul nuw i64 %begin, 762
  %row.stop.tasks = mul nuw i64 %end, 762
  %row.stop.less = icmp ult i64 %row.stop.tasks, 5
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 5
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %row.start, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %row.stop
  br i1 %row.more, label %row.body, label %row.done
row.body:

  %x.row.term0 = mul nuw i64 %row, 172
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %out.row.term0 = mul nuw i64 %row, 172
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- mainloop: sum = sum(x)
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.u0.fold.sum = phi <16 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u0.fold.sum.next, %sum.u.latch ]
  %sum.u1.fold.sum = phi <16 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u1.fold.sum.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 64
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:
  %sum.u0.x.at = getelementptr i16, ptr %x.row, i64 %sum.u
  %sum.u0.x.bits = load <16 x i16>, ptr %sum.u0.x.at, align 2
  %sum.u0.x.wide = zext <16 x i16> %sum.u0.x.bits to <16 x i32>
  %sum.u0.x.high = shl <16 x i32> %sum.u0.x.wide, splat (i32 16)
  %sum.u0.x = bitcast <16 x i32> %sum.u0.x.high to <16 x float>
  %sum.u0.fold.sum.next = fadd <16 x float> %sum.u0.x, %sum.u0.fold.sum
  %sum.u1.first.i = add nuw i64 %sum.u, 16
  %sum.u1.x.at = getelementptr i16, ptr %x.row, i64 %sum.u1.first.i
  %sum.u1.x.bits = load <16 x i16>, ptr %sum.u1.x.at, align 2
  %sum.u1.x.wide = zext <16 x i16> %sum.u1.x.bits to <16 x i32>
  %sum.u1.x.high = shl <16 x i32> %sum.u1.x.wide, splat (i32 16)
  %sum.u1.x = bitcast <16 x i32> %sum.u1.x.high to <16 x float>
  %sum.u1.fold.sum.next = fadd <16 x float> %sum.u1.x, %sum.u1.fold.sum
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 32
  br label %sum.u.head, !llvm.loop !1
sum.u.done:
  %sum.u1.fold.sum.joined = fadd <16 x float> %sum.u0.fold.sum, %sum.u1.fold.sum
  br label %sum.s.enter
sum.s.enter:
  br label %sum.s.head
sum.s.head:
  %sum.s = phi i64 [ 64, %sum.s.enter ], [ %sum.s.after, %sum.s.latch ]
  %sum.s0.fold.sum = phi <16 x float> [ %sum.u1.fold.sum.joined, %sum.s.enter ], [ %sum.s0.fold.sum.next, %sum.s.latch ]
  %sum.s.more = icmp ult i64 %sum.s, 80
  br i1 %sum.s.more, label %sum.s.body, label %sum.s.done
sum.s.body:
  %sum.s0.x.at = getelementptr i16, ptr %x.row, i64 %sum.s
  %sum.s0.x.bits = load <16 x i16>, ptr %sum.s0.x.at, align 2
  %sum.s0.x.wide = zext <16 x i16> %sum.s0.x.bits to <16 x i32>
  %sum.s0.x.high = shl <16 x i32> %sum.s0.x.wide, splat (i32 16)
  %sum.s0.x = bitcast <16 x i32> %sum.s0.x.high to <16 x float>
  %sum.s0.fold.sum.next = fadd <16 x float> %sum.s0.x, %sum.s0.fold.sum
  br label %sum.s.latch
sum.s.latch:
  %sum.s.after = add nuw i64 %sum.s, 16
  br label %sum.s.head, !llvm.loop !1
sum.s.done:
  %sum.t0.x.at = getelementptr i16, ptr %x.row, i64 80
  %sum.t0.x.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %sum.t0.x.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %sum.t0.x.wide = zext <16 x i16> %sum.t0.x.bits to <16 x i32>
  %sum.t0.x.high = shl <16 x i32> %sum.t0.x.wide, splat (i32 16)
  %sum.t0.x = bitcast <16 x i32> %sum.t0.x.high to <16 x float>
  %sum.t0.fold.sum.there = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> %sum.t0.x, <16 x float> splat (float 0x0000000000000000)
  %sum.t0.fold.sum = fadd <16 x float> %sum.t0.fold.sum.there, %sum.s0.fold.sum
  %sum.by8 = shufflevector <16 x float> %sum.t0.fold.sum, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum.by8.folded = fadd <16 x float> %sum.t0.fold.sum, %sum.by8
  %sum.by4 = shufflevector <16 x float> %sum.by8.folded, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11>
  %sum.by4.folded = fadd <16 x float> %sum.by8.folded, %sum.by4
  %sum.by2 = shufflevector <16 x float> %sum.by4.folded, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5, i32 10, i32 11, i32 8, i32 9, i32 14, i32 15, i32 12, i32 13>
  %sum.by2.folded = fadd <16 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <16 x float> %sum.by2.folded, <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6, i32 9, i32 8, i32 11, i32 10, i32 13, i32 12, i32 15, i32 14>
  %row.sum = fadd <16 x float> %sum.by2.folded, %sum.by1

  ; ---- mainloop: sum2
  %row1_mul = fmul <16 x float> %row.sum, splat (float 0x3F87D05F40000000)
  br label %sum2.u.enter
sum2.u.enter:
  br label %sum2.u.head
sum2.u.head:
  %sum2.u = phi i64 [ 0, %sum2.u.enter ], [ %sum2.u.after, %sum2.u.latch ]
  %sum2.u0.fold.sum2 = phi <16 x float> [ splat (float 0x0000000000000000), %sum2.u.enter ], [ %sum2.u0.fold.sum2.next, %sum2.u.latch ]
  %sum2.u1.fold.sum2 = phi <16 x float> [ splat (float 0x0000000000000000), %sum2.u.enter ], [ %sum2.u1.fold.sum2.next, %sum2.u.latch ]
  %sum2.u.more = icmp ult i64 %sum2.u, 64
  br i1 %sum2.u.more, label %sum2.u.body, label %sum2.u.done
sum2.u.body:
  %sum2.u0.x.at = getelementptr i16, ptr %x.row, i64 %sum2.u
  %sum2.u0.x.bits = load <16 x i16>, ptr %sum2.u0.x.at, align 2
  %sum2.u0.x.wide = zext <16 x i16> %sum2.u0.x.bits to <16 x i32>
  %sum2.u0.x.high = shl <16 x i32> %sum2.u0.x.wide, splat (i32 16)
  %sum2.u0.x = bitcast <16 x i32> %sum2.u0.x.high to <16 x float>
  %sum2.u0_sub = fsub <16 x float> %sum2.u0.x, %row1_mul
  %sum2.u0.fold.sum2.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum2.u0_sub, <16 x float> %sum2.u0_sub, <16 x float> %sum2.u0.fold.sum2)
  %sum2.u1.first.i = add nuw i64 %sum2.u, 16
  %sum2.u1.x.at = getelementptr i16, ptr %x.row, i64 %sum2.u1.first.i
  %sum2.u1.x.bits = load <16 x i16>, ptr %sum2.u1.x.at, align 2
  %sum2.u1.x.wide = zext <16 x i16> %sum2.u1.x.bits to <16 x i32>
  %sum2.u1.x.high = shl <16 x i32> %sum2.u1.x.wide, splat (i32 16)
  %sum2.u1.x = bitcast <16 x i32> %sum2.u1.x.high to <16 x float>
  %sum2.u1_sub = fsub <16 x float> %sum2.u1.x, %row1_mul
  %sum2.u1.fold.sum2.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum2.u1_sub, <16 x float> %sum2.u1_sub, <16 x float> %sum2.u1.fold.sum2)
  br label %sum2.u.latch
sum2.u.latch:
  %sum2.u.after = add nuw i64 %sum2.u, 32
  br label %sum2.u.head, !llvm.loop !1
sum2.u.done:
  %sum2.u1.fold.sum2.joined = fadd <16 x float> %sum2.u0.fold.sum2, %sum2.u1.fold.sum2
  br label %sum2.s.enter
sum2.s.enter:
  br label %sum2.s.head
sum2.s.head:
  %sum2.s = phi i64 [ 64, %sum2.s.enter ], [ %sum2.s.after, %sum2.s.latch ]
  %sum2.s0.fold.sum2 = phi <16 x float> [ %sum2.u1.fold.sum2.joined, %sum2.s.enter ], [ %sum2.s0.fold.sum2.next, %sum2.s.latch ]
  %sum2.s.more = icmp ult i64 %sum2.s, 80
  br i1 %sum2.s.more, label %sum2.s.body, label %sum2.s.done
sum2.s.body:
  %sum2.s0.x.at = getelementptr i16, ptr %x.row, i64 %sum2.s
  %sum2.s0.x.bits = load <16 x i16>, ptr %sum2.s0.x.at, align 2
  %sum2.s0.x.wide = zext <16 x i16> %sum2.s0.x.bits to <16 x i32>
  %sum2.s0.x.high = shl <16 x i32> %sum2.s0.x.wide, splat (i32 16)
  %sum2.s0.x = bitcast <16 x i32> %sum2.s0.x.high to <16 x float>
  %sum2.s0_sub = fsub <16 x float> %sum2.s0.x, %row1_mul
  %sum2.s0.fold.sum2.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum2.s0_sub, <16 x float> %sum2.s0_sub, <16 x float> %sum2.s0.fold.sum2)
  br label %sum2.s.latch
sum2.s.latch:
  %sum2.s.after = add nuw i64 %sum2.s, 16
  br label %sum2.s.head, !llvm.loop !1
sum2.s.done:
  %sum2.t0.x.at = getelementptr i16, ptr %x.row, i64 80
  %sum2.t0.x.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %sum2.t0.x.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %sum2.t0.x.wide = zext <16 x i16> %sum2.t0.x.bits to <16 x i32>
  %sum2.t0.x.high = shl <16 x i32> %sum2.t0.x.wide, splat (i32 16)
  %sum2.t0.x = bitcast <16 x i32> %sum2.t0.x.high to <16 x float>
  %sum2.t0_sub = fsub <16 x float> %sum2.t0.x, %row1_mul
  %sum2.t0_mul = fmul <16 x float> %sum2.t0_sub, %sum2.t0_sub
  %sum2.t0.fold.sum2.there = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> %sum2.t0_mul, <16 x float> splat (float 0x0000000000000000)
  %sum2.t0.fold.sum2 = fadd <16 x float> %sum2.t0.fold.sum2.there, %sum2.s0.fold.sum2
  %sum2.by8 = shufflevector <16 x float> %sum2.t0.fold.sum2, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum2.by8.folded = fadd <16 x float> %sum2.t0.fold.sum2, %sum2.by8
  %sum2.by4 = shufflevector <16 x float> %sum2.by8.folded, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11>
  %sum2.by4.folded = fadd <16 x float> %sum2.by8.folded, %sum2.by4
  %sum2.by2 = shufflevector <16 x float> %sum2.by4.folded, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5, i32 10, i32 11, i32 8, i32 9, i32 14, i32 15, i32 12, i32 13>
  %sum2.by2.folded = fadd <16 x float> %sum2.by4.folded, %sum2.by2
  %sum2.by1 = shufflevector <16 x float> %sum2.by2.folded, <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6, i32 9, i32 8, i32 11, i32 10, i32 13, i32 12, i32 15, i32 14>
  %row.sum2 = fadd <16 x float> %sum2.by2.folded, %sum2.by1

  ; ---- epilogue: out = layer_norm(x, scale, shift, 1e-05)
  %row2_mul = fmul <16 x float> %row.sum2, splat (float 0x3F87D05F40000000)
  %row2_add = fadd <16 x float> %row2_mul, splat (float 0x3EE4F8B580000000)
  %row2_rsqrt.root = call <16 x float> @llvm.sqrt.v16f32(<16 x float> %row2_add)
  %row2_rsqrt = fdiv <16 x float> splat (float 0x3FF0000000000000), %row2_rsqrt.root
  br label %out.u.enter
out.u.enter:
  br label %out.u.head
out.u.head:
  %out.u = phi i64 [ 0, %out.u.enter ], [ %out.u.after, %out.u.latch ]
  %out.u.more = icmp ult i64 %out.u, 64
  br i1 %out.u.more, label %out.u.body, label %out.u.done
out.u.body:
  %out.u0.x.at = getelementptr i16, ptr %x.row, i64 %out.u
  %out.u0.x.bits = load <16 x i16>, ptr %out.u0.x.at, align 2
  %out.u0.x.wide = zext <16 x i16> %out.u0.x.bits to <16 x i32>
  %out.u0.x.high = shl <16 x i32> %out.u0.x.wide, splat (i32 16)
  %out.u0.x = bitcast <16 x i32> %out.u0.x.high to <16 x float>
  %out.u0.scale.at = getelementptr i16, ptr %scale.ptr, i64 %out.u
  %out.u0.scale.bits = load <16 x i16>, ptr %out.u0.scale.at, align 2
  %out.u0.scale.wide = zext <16 x i16> %out.u0.scale.bits to <16 x i32>
  %out.u0.scale.high = shl <16 x i32> %out.u0.scale.wide, splat (i32 16)
  %out.u0.scale = bitcast <16 x i32> %out.u0.scale.high to <16 x float>
  %out.u0.shift.at = getelementptr i16, ptr %shift.ptr, i64 %out.u
  %out.u0.shift.bits = load <16 x i16>, ptr %out.u0.shift.at, align 2
  %out.u0.shift.wide = zext <16 x i16> %out.u0.shift.bits to <16 x i32>
  %out.u0.shift.high = shl <16 x i32> %out.u0.shift.wide, splat (i32 16)
  %out.u0.shift = bitcast <16 x i32> %out.u0.shift.high to <16 x float>
  %out.u0_sub = fsub <16 x float> %out.u0.x, %row1_mul
  %out.u0_mul = fmul <16 x float> %out.u0_sub, %row2_rsqrt
  %out.u0_mul2 = fmul <16 x float> %out.u0_mul, %out.u0.scale
  %out.u0_add = fadd <16 x float> %out.u0_mul2, %out.u0.shift
  %out.u0.out.at = getelementptr i16, ptr %out.row, i64 %out.u
  %out.u0.out.stored.bits = bitcast <16 x float> %out.u0_add to <16 x i32>
  %out.u0.out.stored.high = lshr <16 x i32> %out.u0.out.stored.bits, splat (i32 16)
  %out.u0.out.stored.odd = and <16 x i32> %out.u0.out.stored.high, splat (i32 1)
  %out.u0.out.stored.bias = add <16 x i32> %out.u0.out.stored.odd, splat (i32 32767)
  %out.u0.out.stored.carried = add <16 x i32> %out.u0.out.stored.bits, %out.u0.out.stored.bias
  %out.u0.out.stored.rounded = lshr <16 x i32> %out.u0.out.stored.carried, splat (i32 16)
  %out.u0.out.stored.quiet = or <16 x i32> %out.u0.out.stored.high, splat (i32 64)
  %out.u0.out.stored.isnan = fcmp uno <16 x float> %out.u0_add, %out.u0_add
  %out.u0.out.stored.chosen = select <16 x i1> %out.u0.out.stored.isnan, <16 x i32> %out.u0.out.stored.quiet, <16 x i32> %out.u0.out.stored.rounded
  %out.u0.out.stored = trunc <16 x i32> %out.u0.out.stored.chosen to <16 x i16>
  store <16 x i16> %out.u0.out.stored, ptr %out.u0.out.at, align 2
  %out.u1.first.i = add nuw i64 %out.u, 16
  %out.u1.x.at = getelementptr i16, ptr %x.row, i64 %out.u1.first.i
  %out.u1.x.bits = load <16 x i16>, ptr %out.u1.x.at, align 2
  %out.u1.x.wide = zext <16 x i16> %out.u1.x.bits to <16 x i32>
  %out.u1.x.high = shl <16 x i32> %out.u1.x.wide, splat (i32 16)
  %out.u1.x = bitcast <16 x i32> %out.u1.x.high to <16 x float>
  %out.u1.scale.at = getelementptr i16, ptr %scale.ptr, i64 %out.u1.first.i
  %out.u1.scale.bits = load <16 x i16>, ptr %out.u1.scale.at, align 2
  %out.u1.scale.wide = zext <16 x i16> %out.u1.scale.bits to <16 x i32>
  %out.u1.scale.high = shl <16 x i32> %out.u1.scale.wide, splat (i32 16)
  %out.u1.scale = bitcast <16 x i32> %out.u1.scale.high to <16 x float>
  %out.u1.shift.at = getelementptr i16, ptr %shift.ptr, i64 %out.u1.first.i
  %out.u1.shift.bits = load <16 x i16>, ptr %out.u1.shift.at, align 2
  %out.u1.shift.wide = zext <16 x i16> %out.u1.shift.bits to <16 x i32>
  %out.u1.shift.high = shl <16 x i32> %out.u1.shift.wide, splat (i32 16)
  %out.u1.shift = bitcast <16 x i32> %out.u1.shift.high to <16 x float>
  %out.u1_sub = fsub <16 x float> %out.u1.x, %row1_mul
  %out.u1_mul = fmul <16 x float> %out.u1_sub, %row2_rsqrt
  %out.u1_mul2 = fmul <16 x float> %out.u1_mul, %out.u1.scale
  %out.u1_add = fadd <16 x float> %out.u1_mul2, %out.u1.shift
  %out.u1.out.at = getelementptr i16, ptr %out.row, i64 %out.u1.first.i
  %out.u1.out.stored.bits = bitcast <16 x float> %out.u1_add to <16 x i32>
  %out.u1.out.stored.high = lshr <16 x i32> %out.u1.out.stored.bits, splat (i32 16)
  %out.u1.out.stored.odd = and <16 x i32> %out.u1.out.stored.high, splat (i32 1)
  %out.u1.out.stored.bias = add <16 x i32> %out.u1.out.stored.odd, splat (i32 32767)
  %out.u1.out.stored.carried = add <16 x i32> %out.u1.out.stored.bits, %out.u1.out.stored.bias
  %out.u1.out.stored.rounded = lshr <16 x i32> %out.u1.out.stored.carried, splat (i32 16)
  %out.u1.out.stored.quiet = or <16 x i32> %out.u1.out.stored.high, splat (i32 64)
  %out.u1.out.stored.isnan = fcmp uno <16 x float> %out.u1_add, %out.u1_add
  %out.u1.out.stored.chosen = select <16 x i1> %out.u1.out.stored.isnan, <16 x i32> %out.u1.out.stored.quiet, <16 x i32> %out.u1.out.stored.rounded
  %out.u1.out.stored = trunc <16 x i32> %out.u1.out.stored.chosen to <16 x i16>
  store <16 x i16> %out.u1.out.stored, ptr %out.u1.out.at, align 2
  br label %out.u.latch
out.u.latch:
  %out.u.after = add nuw i64 %out.u, 32
  br label %out.u.head, !llvm.loop !1
out.u.done:
  br label %out.s.enter
out.s.enter:
  br label %out.s.head
out.s.head:
  %out.s = phi i64 [ 64, %out.s.enter ], [ %out.s.after, %out.s.latch ]
  %out.s.more = icmp ult i64 %out.s, 80
  br i1 %out.s.more, label %out.s.body, label %out.s.done
out.s.body:
  %out.s0.x.at = getelementptr i16, ptr %x.row, i64 %out.s
  %out.s0.x.bits = load <16 x i16>, ptr %out.s0.x.at, align 2
  %out.s0.x.wide = zext <16 x i16> %out.s0.x.bits to <16 x i32>
  %out.s0.x.high = shl <16 x i32> %out.s0.x.wide, splat (i32 16)
  %out.s0.x = bitcast <16 x i32> %out.s0.x.high to <16 x float>
  %out.s0.scale.at = getelementptr i16, ptr %scale.ptr, i64 %out.s
  %out.s0.scale.bits = load <16 x i16>, ptr %out.s0.scale.at, align 2
  %out.s0.scale.wide = zext <16 x i16> %out.s0.scale.bits to <16 x i32>
  %out.s0.scale.high = shl <16 x i32> %out.s0.scale.wide, splat (i32 16)
  %out.s0.scale = bitcast <16 x i32> %out.s0.scale.high to <16 x float>
  %out.s0.shift.at = getelementptr i16, ptr %shift.ptr, i64 %out.s
  %out.s0.shift.bits = load <16 x i16>, ptr %out.s0.shift.at, align 2
  %out.s0.shift.wide = zext <16 x i16> %out.s0.shift.bits to <16 x i32>
  %out.s0.shift.high = shl <16 x i32> %out.s0.shift.wide, splat (i32 16)
  %out.s0.shift = bitcast <16 x i32> %out.s0.shift.high to <16 x float>
  %out.s0_sub = fsub <16 x float> %out.s0.x, %row1_mul
  %out.s0_mul = fmul <16 x float> %out.s0_sub, %row2_rsqrt
  %out.s0_mul2 = fmul <16 x float> %out.s0_mul, %out.s0.scale
  %out.s0_add = fadd <16 x float> %out.s0_mul2, %out.s0.shift
  %out.s0.out.at = getelementptr i16, ptr %out.row, i64 %out.s
  %out.s0.out.stored.bits = bitcast <16 x float> %out.s0_add to <16 x i32>
  %out.s0.out.stored.high = lshr <16 x i32> %out.s0.out.stored.bits, splat (i32 16)
  %out.s0.out.stored.odd = and <16 x i32> %out.s0.out.stored.high, splat (i32 1)
  %out.s0.out.stored.bias = add <16 x i32> %out.s0.out.stored.odd, splat (i32 32767)
  %out.s0.out.stored.carried = add <16 x i32> %out.s0.out.stored.bits, %out.s0.out.stored.bias
  %out.s0.out.stored.rounded = lshr <16 x i32> %out.s0.out.stored.carried, splat (i32 16)
  %out.s0.out.stored.quiet = or <16 x i32> %out.s0.out.stored.high, splat (i32 64)
  %out.s0.out.stored.isnan = fcmp uno <16 x float> %out.s0_add, %out.s0_add
  %out.s0.out.stored.chosen = select <16 x i1> %out.s0.out.stored.isnan, <16 x i32> %out.s0.out.stored.quiet, <16 x i32> %out.s0.out.stored.rounded
  %out.s0.out.stored = trunc <16 x i32> %out.s0.out.stored.chosen to <16 x i16>
  store <16 x i16> %out.s0.out.stored, ptr %out.s0.out.at, align 2
  br label %out.s.latch
out.s.latch:
  %out.s.after = add nuw i64 %out.s, 16
  br label %out.s.head, !llvm.loop !1
out.s.done:
  %out.t0.x.at = getelementptr i16, ptr %x.row, i64 80
  %out.t0.x.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %out.t0.x.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %out.t0.x.wide = zext <16 x i16> %out.t0.x.bits to <16 x i32>
  %out.t0.x.high = shl <16 x i32> %out.t0.x.wide, splat (i32 16)
  %out.t0.x = bitcast <16 x i32> %out.t0.x.high to <16 x float>
  %out.t0.scale.at = getelementptr i16, ptr %scale.ptr, i64 80
  %out.t0.scale.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %out.t0.scale.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %out.t0.scale.wide = zext <16 x i16> %out.t0.scale.bits to <16 x i32>
  %out.t0.scale.high = shl <16 x i32> %out.t0.scale.wide, splat (i32 16)
  %out.t0.scale = bitcast <16 x i32> %out.t0.scale.high to <16 x float>
  %out.t0.shift.at = getelementptr i16, ptr %shift.ptr, i64 80
  %out.t0.shift.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %out.t0.shift.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %out.t0.shift.wide = zext <16 x i16> %out.t0.shift.bits to <16 x i32>
  %out.t0.shift.high = shl <16 x i32> %out.t0.shift.wide, splat (i32 16)
  %out.t0.shift = bitcast <16 x i32> %out.t0.shift.high to <16 x float>
  %out.t0_sub = fsub <16 x float> %out.t0.x, %row1_mul
  %out.t0_mul = fmul <16 x float> %out.t0_sub, %row2_rsqrt
  %out.t0_mul2 = fmul <16 x float> %out.t0_mul, %out.t0.scale
  %out.t0_add = fadd <16 x float> %out.t0_mul2, %out.t0.shift
  %out.t0.out.at = getelementptr i16, ptr %out.row, i64 80
  %out.t0.out.stored.bits = bitcast <16 x float> %out.t0_add to <16 x i32>
  %out.t0.out.stored.high = lshr <16 x i32> %out.t0.out.stored.bits, splat (i32 16)
  %out.t0.out.stored.odd = and <16 x i32> %out.t0.out.stored.high, splat (i32 1)
  %out.t0.out.stored.bias = add <16 x i32> %out.t0.out.stored.odd, splat (i32 32767)
  %out.t0.out.stored.carried = add <16 x i32> %out.t0.out.stored.bits, %out.t0.out.stored.bias
  %out.t0.out.stored.rounded = lshr <16 x i32> %out.t0.out.stored.carried, splat (i32 16)
  %out.t0.out.stored.quiet = or <16 x i32> %out.t0.out.stored.high, splat (i32 64)
  %out.t0.out.stored.isnan = fcmp uno <16 x float> %out.t0_add, %out.t0_add
  %out.t0.out.stored.chosen = select <16 x i1> %out.t0.out.stored.isnan, <16 x i32> %out.t0.out.stored.quiet, <16 x i32> %out.t0.out.stored.rounded
  %out.t0.out.stored = trunc <16 x i32> %out.t0.out.stored.chosen to <16 x i16>
  %out.t0.out.stored.part0 = shufflevector <16 x i16> %out.t0.out.stored, <16 x i16> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  store <4 x i16> %out.t0.out.stored.part0, ptr %out.t0.out.at, align 2
  %out.t0.out.stored.part4 = shufflevector <16 x i16> %out.t0.out.stored, <16 x i16> poison, <2 x i32> <i32 4, i32 5>
  %out.t0.out.stored.part4.at = getelementptr i16, ptr %out.t0.out.at, i64 4
  store <2 x i16> %out.t0.out.stored.part4, ptr %out.t0.out.stored.part4.at, align 2
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.sqrt.v16f32(<16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
declare void @llvm.masked.store.v16i16.p0(<16 x i16>, ptr, <16 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
