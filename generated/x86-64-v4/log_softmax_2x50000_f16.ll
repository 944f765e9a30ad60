; log_softmax_2x50000_f16
;
; computes:  out = log_softmax(x)
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=1,unroll=4,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (model)
; launch:    2 tasks of up to 1 row
; arguments: x: input f16[2, 50000], strides [50000, 1]
;            out: output f16[2, 50000], strides [50000, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal <16 x float> @exp2_nonpositive(<16 x float> %x, <16 x float> %factor) #2 {
  %y.lowest = fdiv <16 x float> splat (float 0xC05F800000000000), %factor
  %y.isnormal = fcmp uge <16 x float> %x, %y.lowest
  %y.kept = bitcast <16 x i1> %y.isnormal to i16
  %y.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> %factor, <16 x float> splat (float 0x4168000FE0000000))
  %y.n = fsub <16 x float> %y.shifted, splat (float 0x4168000FE0000000)
  %y.minus.n = fneg <16 x float> %y.n
  %y.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> %factor, <16 x float> %y.minus.n)
  %y.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F838397A0000000), <16 x float> %y.r, <16 x float> splat (float 0x3FAC90F3A0000000))
  %y.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h1, <16 x float> %y.r, <16 x float> splat (float 0x3FCEC08C60000000))
  %y.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h2, <16 x float> %y.r, <16 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h3, <16 x float> %y.r, <16 x float> splat (float 0x3FF0000000000000))
  %y = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %y.p, <16 x float> %y.n, <16 x float> zeroinitializer, i16 %y.kept, i32 4)
  ret <16 x float> %y
}

define internal <16 x float> @log2(<16 x float> %x) #2 {
  %y.is.small = fcmp olt <16 x float> %x, splat (float 0x3810000000000000)
  %y.larger = fmul <16 x float> %x, splat (float 0x4170000000000000)
  %y.x = select <16 x i1> %y.is.small, <16 x float> %y.larger, <16 x float> %x
  %y.less = select <16 x i1> %y.is.small, <16 x float> splat (float 0x4038000000000000), <16 x float> zeroinitializer
  %y.bits = bitcast <16 x float> %y.x to <16 x i32>
  %y.offset = sub <16 x i32> %y.bits, splat (i32 1060439283)
  %y.i = ashr <16 x i32> %y.offset, splat (i32 23)
  %y.n.scaled = sitofp <16 x i32> %y.i to <16 x float>
  %y.n = fsub <16 x float> %y.n.scaled, %y.less
  %y.power = shl <16 x i32> %y.i, splat (i32 23)
  %y.m.bits = sub <16 x i32> %y.bits, %y.power
  %y.m = bitcast <16 x i32> %y.m.bits to <16 x float>
  %y.above = fadd <16 x float> %y.m, splat (float 0x3FF0000000000000)
  %y.below = fadd <16 x float> %y.m, splat (float 0xBFF0000000000000)
  %y.u = fdiv <16 x float> %y.below, %y.above
  %y.square = fmul <16 x float> %y.u, %y.u
  %y.series.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FDBA1AA60000000), <16 x float> %y.square, <16 x float> splat (float 0x3FE2747140000000))
  %y.series.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.series.h1, <16 x float> %y.square, <16 x float> splat (float 0x3FEEC70E60000000))
  %y.series = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.series.h2, <16 x float> %y.square, <16 x float> splat (float 0x4007154760000000))
  %y.finite = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.u, <16 x float> %y.series, <16 x float> %y.n)
  %y.beyond = fcmp uge <16 x float> %x, splat (float 0x7FF0000000000000)
  %y.any = select <16 x i1> %y.beyond, <16 x float> %x, <16 x float> %y.finite
  %y.is.zero = fcmp oeq <16 x float> %x, zeroinitializer
  %y.or.zero = select <16 x i1> %y.is.zero, <16 x float> splat (float 0xFFF0000000000000), <16 x float> %y.any
  %y.negative = fcmp olt <16 x float> %x, zeroinitializer
  %y = select <16 x i1> %y.negative, <16 x float> splat (float 0x7FF8000000000000), <16 x float> %y.or.zero
  ret <16 x float> %y
}

define void @log_softmax_2x50000_f16(ptr %x.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %begin, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %end
  br i1 %row.more, label %row.body, label %row.done
row.body:

  %x.row.term0 = mul nuw i64 %row, 100000
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %out.row.term0 = mul nuw i64 %row, 100000
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- mainloop: maxnum = maxnum(x)
  br label %maxnum.u.enter
maxnum.u.enter:
  br label %maxnum.u.head
maxnum.u.head:
  %maxnum.u = phi i64 [ 0, %maxnum.u.enter ], [ %maxnum.u.after, %maxnum.u.latch ]
  %maxnum.u0.fold.maxnum = phi <16 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u0.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u1.fold.maxnum = phi <16 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u1.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u2.fold.maxnum = phi <16 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u2.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u3.fold.maxnum = phi <16 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u3.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u.more = icmp ult i64 %maxnum.u, 49984
  br i1 %maxnum.u.more, label %maxnum.u.body, label %maxnum.u.done
maxnum.u.body:
  %maxnum.u0.x.at = getelementptr i16, ptr %x.row, i64 %maxnum.u
  %maxnum.u0.x.bits = load <16 x i16>, ptr %maxnum.u0.x.at, align 2
  %maxnum.u0.x.half = bitcast <16 x i16> %maxnum.u0.x.bits to <16 x half>
  %maxnum.u0.x = fpext <16 x half> %maxnum.u0.x.half to <16 x float>
  %maxnum.u0.fold.maxnum.next.above = fcmp ogt <16 x float> %maxnum.u0.x, %maxnum.u0.fold.maxnum
  %maxnum.u0.fold.maxnum.next = select <16 x i1> %maxnum.u0.fold.maxnum.next.above, <16 x float> %maxnum.u0.x, <16 x float> %maxnum.u0.fold.maxnum
  %maxnum.u1.first.i = add nuw i64 %maxnum.u, 16
  %maxnum.u1.x.at = getelementptr i16, ptr %x.row, i64 %maxnum.u1.first.i
  %maxnum.u1.x.bits = load <16 x i16>, ptr %maxnum.u1.x.at, align 2
  %maxnum.u1.x.half = bitcast <16 x i16> %maxnum.u1.x.bits to <16 x half>
  %maxnum.u1.x = fpext <16 x half> %maxnum.u1.x.half to <16 x float>
  %maxnum.u1.fold.maxnum.next.above = fcmp ogt <16 x float> %maxnum.u1.x, %maxnum.u1.fold.maxnum
  %maxnum.u1.fold.maxnum.next = select <16 x i1> %maxnum.u1.fold.maxnum.next.above, <16 x float> %maxnum.u1.x, <16 x float> %maxnum.u1.fold.maxnum
  %maxnum.u2.first.i = add nuw i64 %maxnum.u, 32
  %maxnum.u2.x.at = getelementptr i16, ptr %x.row, i64 %maxnum.u2.first.i
  %maxnum.u2.x.bits = load <16 x i16>, ptr %maxnum.u2.x.at, align 2
  %maxnum.u2.x.half = bitcast <16 x i16> %maxnum.u2.x.bits to <16 x half>
  %maxnum.u2.x = fpext <16 x half> %maxnum.u2.x.half to <16 x float>
  %maxnum.u2.fold.maxnum.next.above = fcmp ogt <16 x float> %maxnum.u2.x, %maxnum.u2.fold.maxnum
  %maxnum.u2.fold.maxnum.next = select <16 x i1> %maxnum.u2.fold.maxnum.next.above, <16 x float> %maxnum.u2.x, <16 x float> %maxnum.u2.fold.maxnum
  %maxnum.u3.first.i = add nuw i64 %maxnum.u, 48
  %maxnum.u3.x.at = getelementptr i16, ptr %x.row, i64 %maxnum.u3.first.i
  %maxnum.u3.x.bits = load <16 x i16>, ptr %maxnum.u3.x.at, align 2
  %maxnum.u3.x.half = bitcast <16 x i16> %maxnum.u3.x.bits to <16 x half>
  %maxnum.u3.x = fpext <16 x half> %maxnum.u3.x.half to <16 x float>
  %maxnum.u3.fold.maxnum.next.above = fcmp ogt <16 x float> %maxnum.u3.x, %maxnum.u3.fold.maxnum
  %maxnum.u3.fold.maxnum.next = select <16 x i1> %maxnum.u3.fold.maxnum.next.above, <16 x float> %maxnum.u3.x, <16 x float> %maxnum.u3.fold.maxnum
  br label %maxnum.u.latch
maxnum.u.latch:
  %maxnum.u.after = add nuw i64 %maxnum.u, 64
  br label %maxnum.u.head, !llvm.loop !1
maxnum.u.done:
  %maxnum.u1.fold.maxnum.joined.above = fcmp ogt <16 x float> %maxnum.u0.fold.maxnum, %maxnum.u1.fold.maxnum
  %maxnum.u1.fold.maxnum.joined = select <16 x i1> %maxnum.u1.fold.maxnum.joined.above, <16 x float> %maxnum.u0.fold.maxnum, <16 x float> %maxnum.u1.fold.maxnum
  %maxnum.u2.fold.maxnum.joined.above = fcmp ogt <16 x float> %maxnum.u1.fold.maxnum.joined, %maxnum.u2.fold.maxnum
  %maxnum.u2.fold.maxnum.joined = select <16 x i1> %maxnum.u2.fold.maxnum.joined.above, <16 x float> %maxnum.u1.fold.maxnum.joined, <16 x float> %maxnum.u2.fold.maxnum
  %maxnum.u3.fold.maxnum.joined.above = fcmp ogt <16 x float> %maxnum.u2.fold.maxnum.joined, %maxnum.u3.fold.maxnum
  %maxnum.u3.fold.maxnum.joined = select <16 x i1> %maxnum.u3.fold.maxnum.joined.above, <16 x float> %maxnum.u2.fold.maxnum.joined, <16 x float> %maxnum.u3.fold.maxnum
  br label %maxnum.s.enter
maxnum.s.enter:
  br label %maxnum.s.head
maxnum.s.head:
  %maxnum.s = phi i64 [ 49984, %maxnum.s.enter ], [ %maxnum.s.after, %maxnum.s.latch ]
  %maxnum.s0.fold.maxnum = phi <16 x float> [ %maxnum.u3.fold.maxnum.joined, %maxnum.s.enter ], [ %maxnum.s0.fold.maxnum.next, %maxnum.s.latch ]
  %maxnum.s.more = icmp ult i64 %maxnum.s, 50000
  br i1 %maxnum.s.more, label %maxnum.s.body, label %maxnum.s.done
maxnum.s.body:
  %maxnum.s0.x.at = getelementptr i16, ptr %x.row, i64 %maxnum.s
  %maxnum.s0.x.bits = load <16 x i16>, ptr %maxnum.s0.x.at, align 2
  %maxnum.s0.x.half = bitcast <16 x i16> %maxnum.s0.x.bits to <16 x half>
  %maxnum.s0.x = fpext <16 x half> %maxnum.s0.x.half to <16 x float>
  %maxnum.s0.fold.maxnum.next.above = fcmp ogt <16 x float> %maxnum.s0.x, %maxnum.s0.fold.maxnum
  %maxnum.s0.fold.maxnum.next = select <16 x i1> %maxnum.s0.fold.maxnum.next.above, <16 x float> %maxnum.s0.x, <16 x float> %maxnum.s0.fold.maxnum
  br label %maxnum.s.latch
maxnum.s.latch:
  %maxnum.s.after = add nuw i64 %maxnum.s, 16
  br label %maxnum.s.head, !llvm.loop !1
maxnum.s.done:
  %maxnum.by8 = shufflevector <16 x float> %maxnum.s0.fold.maxnum, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %maxnum.by8.folded.above = fcmp ogt <16 x float> %maxnum.s0.fold.maxnum, %maxnum.by8
  %maxnum.by8.folded = select <16 x i1> %maxnum.by8.folded.above, <16 x float> %maxnum.s0.fold.maxnum, <16 x float> %maxnum.by8
  %maxnum.by4 = shufflevector <16 x float> %maxnum.by8.folded, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11>
  %maxnum.by4.folded.above = fcmp ogt <16 x float> %maxnum.by8.folded, %maxnum.by4
  %maxnum.by4.folded = select <16 x i1> %maxnum.by4.folded.above, <16 x float> %maxnum.by8.folded, <16 x float> %maxnum.by4
  %maxnum.by2 = shufflevector <16 x float> %maxnum.by4.folded, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5, i32 10, i32 11, i32 8, i32 9, i32 14, i32 15, i32 12, i32 13>
  %maxnum.by2.folded.above = fcmp ogt <16 x float> %maxnum.by4.folded, %maxnum.by2
  %maxnum.by2.folded = select <16 x i1> %maxnum.by2.folded.above, <16 x float> %maxnum.by4.folded, <16 x float> %maxnum.by2
  %maxnum.by1 = shufflevector <16 x float> %maxnum.by2.folded, <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6, i32 9, i32 8, i32 11, i32 10, i32 13, i32 12, i32 15, i32 14>
  %row.maxnum.above = fcmp ogt <16 x float> %maxnum.by2.folded, %maxnum.by1
  %row.maxnum = select <16 x i1> %row.maxnum.above, <16 x float> %maxnum.by2.folded, <16 x float> %maxnum.by1

  ; ---- mainloop: sum = sum(exp2_nonpositive(x - maxnum, 1.4426950408889634))
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.u0.fold.sum = phi <16 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u0.fold.sum.next, %sum.u.latch ]
  %sum.u1.fold.sum = phi <16 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u1.fold.sum.next, %sum.u.latch ]
  %sum.u2.fold.sum = phi <16 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u2.fold.sum.next, %sum.u.latch ]
  %sum.u3.fold.sum = phi <16 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u3.fold.sum.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 49984
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:
  %sum.u0.x.at = getelementptr i16, ptr %x.row, i64 %sum.u
  %sum.u0.x.bits = load <16 x i16>, ptr %sum.u0.x.at, align 2
  %sum.u0.x.half = bitcast <16 x i16> %sum.u0.x.bits to <16 x half>
  %sum.u0.x = fpext <16 x half> %sum.u0.x.half to <16 x float>
  %sum.u0_sub = fsub <16 x float> %sum.u0.x, %row.maxnum
  %sum.u0_exp2_nonpositive = call <16 x float> @exp2_nonpositive(<16 x float> %sum.u0_sub, <16 x float> splat (float 0x3FF7154760000000))
  %sum.u0.fold.sum.next = fadd <16 x float> %sum.u0_exp2_nonpositive, %sum.u0.fold.sum
  %sum.u1.first.i = add nuw i64 %sum.u, 16
  %sum.u1.x.at = getelementptr i16, ptr %x.row, i64 %sum.u1.first.i
  %sum.u1.x.bits = load <16 x i16>, ptr %sum.u1.x.at, align 2
  %sum.u1.x.half = bitcast <16 x i16> %sum.u1.x.bits to <16 x half>
  %sum.u1.x = fpext <16 x half> %sum.u1.x.half to <16 x float>
  %sum.u1_sub = fsub <16 x float> %sum.u1.x, %row.maxnum
  %sum.u1_exp2_nonpositive = call <16 x float> @exp2_nonpositive(<16 x float> %sum.u1_sub, <16 x float> splat (float 0x3FF7154760000000))
  %sum.u1.fold.sum.next = fadd <16 x float> %sum.u1_exp2_nonpositive, %sum.u1.fold.sum
  %sum.u2.first.i = add nuw i64 %sum.u, 32
  %sum.u2.x.at = getelementptr i16, ptr %x.row, i64 %sum.u2.first.i
  %sum.u2.x.bits = load <16 x i16>, ptr %sum.u2.x.at, align 2
  %sum.u2.x.half = bitcast <16 x i16> %sum.u2.x.bits to <16 x half>
  %sum.u2.x = fpext <16 x half> %sum.u2.x.half to <16 x float>
  %sum.u2_sub = fsub <16 x float> %sum.u2.x, %row.maxnum
  %sum.u2_exp2_nonpositive = call <16 x float> @exp2_nonpositive(<16 x float> %sum.u2_sub, <16 x float> splat (float 0x3FF7154760000000))
  %sum.u2.fold.sum.next = fadd <16 x float> %sum.u2_exp2_nonpositive, %sum.u2.fold.sum
  %sum.u3.first.i = add nuw i64 %sum.u, 48
  %sum.u3.x.at = getelementptr i16, ptr %x.row, i64 %sum.u3.first.i
  %sum.u3.x.bits = load <16 x i16>, ptr %sum.u3.x.at, align 2
  %sum.u3.x.half = bitcast <16 x i16> %sum.u3.x.bits to <16 x half>
  %sum.u3.x = fpext <16 x half> %sum.u3.x.half to <16 x float>
  %sum.u3_sub = fsub <16 x float> %sum.u3.x, %row.maxnum
  %sum.u3_exp2_nonpositive = call <16 x float> @exp2_nonpositive(<16 x float> %sum.u3_sub, <16 x float> splat (float 0x3FF7154760000000))
  %sum.u3.fold.sum.next = fadd <16 x float> %sum.u3_exp2_nonpositive, %sum.u3.fold.sum
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 64
  br label %sum.u.head, !llvm.loop !1
sum.u.done:
  %sum.u1.fold.sum.joined = fadd <16 x float> %sum.u0.fold.sum, %sum.u1.fold.sum
  %sum.u2.fold.sum.joined = fadd <16 x float> %sum.u1.fold.sum.joined, %sum.u2.fold.sum
  %sum.u3.fold.sum.joined = fadd <16 x float> %sum.u2.fold.sum.joined, %sum.u3.fold.sum
  br label %sum.s.enter
sum.s.enter:
  br label %sum.s.head
sum.s.head:
  %sum.s = phi i64 [ 49984, %sum.s.enter ], [ %sum.s.after, %sum.s.latch ]
  %sum.s0.fold.sum = phi <16 x float> [ %sum.u3.fold.sum.joined, %sum.s.enter ], [ %sum.s0.fold.sum.next, %sum.s.latch ]
  %sum.s.more = icmp ult i64 %sum.s, 50000
  br i1 %sum.s.more, label %sum.s.body, label %sum.s.done
sum.s.body:
  %sum.s0.x.at = getelementptr i16, ptr %x.row, i64 %sum.s
  %sum.s0.x.bits = load <16 x i16>, ptr %sum.s0.x.at, align 2
  %sum.s0.x.half = bitcast <16 x i16> %sum.s0.x.bits to <16 x half>
  %sum.s0.x = fpext <16 x half> %sum.s0.x.half to <16 x float>
  %sum.s0_sub = fsub <16 x float> %sum.s0.x, %row.maxnum
  %sum.s0_exp2_nonpositive = call <16 x float> @exp2_nonpositive(<16 x float> %sum.s0_sub, <16 x float> splat (float 0x3FF7154760000000))
  %sum.s0.fold.sum.next = fadd <16 x float> %sum.s0_exp2_nonpositive, %sum.s0.fold.sum
  br label %sum.s.latch
sum.s.latch:
  %sum.s.after = add nuw i64 %sum.s, 16
  br label %sum.s.head, !llvm.loop !1
sum.s.done:
  %sum.by8 = shufflevector <16 x float> %sum.s0.fold.sum, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum.by8.folded = fadd <16 x float> %sum.s0.fold.sum, %sum.by8
  %sum.by4 = shufflevector <16 x float> %sum.by8.folded, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11>
  %sum.by4.folded = fadd <16 x float> %sum.by8.folded, %sum.by4
  %sum.by2 = shufflevector <16 x float> %sum.by4.folded, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5, i32 10, i32 11, i32 8, i32 9, i32 14, i32 15, i32 12, i32 13>
  %sum.by2.folded = fadd <16 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <16 x float> %sum.by2.folded, <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6, i32 9, i32 8, i32 11, i32 10, i32 13, i32 12, i32 15, i32 14>
  %row.sum = fadd <16 x float> %sum.by2.folded, %sum.by1

  ; ---- epilogue: out = log_softmax(x)
  %row2_log2 = call <16 x float> @log2(<16 x float> %row.sum)
  %row2_mul = fmul <16 x float> %row2_log2, splat (float 0x3FE62E4300000000)
  br label %out.u.enter
out.u.enter:
  br label %out.u.head
out.u.head:
  %out.u = phi i64 [ 0, %out.u.enter ], [ %out.u.after, %out.u.latch ]
  %out.u.more = icmp ult i64 %out.u, 49984
  br i1 %out.u.more, label %out.u.body, label %out.u.done
out.u.body:
  %out.u0.x.at = getelementptr i16, ptr %x.row, i64 %out.u
  %out.u0.x.bits = load <16 x i16>, ptr %out.u0.x.at, align 2
  %out.u0.x.half = bitcast <16 x i16> %out.u0.x.bits to <16 x half>
  %out.u0.x = fpext <16 x half> %out.u0.x.half to <16 x float>
  %out.u0_sub = fsub <16 x float> %out.u0.x, %row.maxnum
  %out.u0_sub2 = fsub <16 x float> %out.u0_sub, %row2_mul
  %out.u0.out.at = getelementptr i16, ptr %out.row, i64 %out.u
  %out.u0.out.stored.half = fptrunc <16 x float> %out.u0_sub2 to <16 x half>
  %out.u0.out.stored = bitcast <16 x half> %out.u0.out.stored.half to <16 x i16>
  store <16 x i16> %out.u0.out.stored, ptr %out.u0.out.at, align 2
  %out.u1.first.i = add nuw i64 %out.u, 16
  %out.u1.x.at = getelementptr i16, ptr %x.row, i64 %out.u1.first.i
  %out.u1.x.bits = load <16 x i16>, ptr %out.u1.x.at, align 2
  %out.u1.x.half = bitcast <16 x i16> %out.u1.x.bits to <16 x half>
  %out.u1.x = fpext <16 x half> %out.u1.x.half to <16 x float>
  %out.u1_sub = fsub <16 x float> %out.u1.x, %row.maxnum
  %out.u1_sub2 = fsub <16 x float> %out.u1_sub, %row2_mul
  %out.u1.out.at = getelementptr i16, ptr %out.row, i64 %out.u1.first.i
  %out.u1.out.stored.half = fptrunc <16 x float> %out.u1_sub2 to <16 x half>
  %out.u1.out.stored = bitcast <16 x half> %out.u1.out.stored.half to <16 x i16>
  store <16 x i16> %out.u1.out.stored, ptr %out.u1.out.at, align 2
  %out.u2.first.i = add nuw i64 %out.u, 32
  %out.u2.x.at = getelementptr i16, ptr %x.row, i64 %out.u2.first.i
  %out.u2.x.bits = load <16 x i16>, ptr %out.u2.x.at, align 2
  %out.u2.x.half = bitcast <16 x i16> %out.u2.x.bits to <16 x half>
  %out.u2.x = fpext <16 x half> %out.u2.x.half to <16 x float>
  %out.u2_sub = fsub <16 x float> %out.u2.x, %row.maxnum
  %out.u2_sub2 = fsub <16 x float> %out.u2_sub, %row2_mul
  %out.u2.out.at = getelementptr i16, ptr %out.row, i64 %out.u2.first.i
  %out.u2.out.stored.half = fptrunc <16 x float> %out.u2_sub2 to <16 x half>
  %out.u2.out.stored = bitcast <16 x half> %out.u2.out.stored.half to <16 x i16>
  store <16 x i16> %out.u2.out.stored, ptr %out.u2.out.at, align 2
  %out.u3.first.i = add nuw i64 %out.u, 48
  %out.u3.x.at = getelementptr i16, ptr %x.row, i64 %out.u3.first.i
  %out.u3.x.bits = load <16 x i16>, ptr %out.u3.x.at, align 2
  %out.u3.x.half = bitcast <16 x i16> %out.u3.x.bits to <16 x half>
  %out.u3.x = fpext <16 x half> %out.u3.x.half to <16 x float>
  %out.u3_sub = fsub <16 x float> %out.u3.x, %row.maxnum
  %out.u3_sub2 = fsub <16 x float> %out.u3_sub, %row2_mul
  %out.u3.out.at = getelementptr i16, ptr %out.row, i64 %out.u3.first.i
  %out.u3.out.stored.half = fptrunc <16 x float> %out.u3_sub2 to <16 x half>
  %out.u3.out.stored = bitcast <16 x half> %out.u3.out.stored.half to <16 x i16>
  store <16 x i16> %out.u3.out.stored, ptr %out.u3.out.at, align 2
  br label %out.u.latch
out.u.latch:
  %out.u.after = add nuw i64 %out.u, 64
  br label %out.u.head, !llvm.loop !1
out.u.done:
  br label %out.s.enter
out.s.enter:
  br label %out.s.head
out.s.head:
  %out.s = phi i64 [ 49984, %out.s.enter ], [ %out.s.after, %out.s.latch ]
  %out.s.more = icmp ult i64 %out.s, 50000
  br i1 %out.s.more, label %out.s.body, label %out.s.done
out.s.body:
  %out.s0.x.at = getelementptr i16, ptr %x.row, i64 %out.s
  %out.s0.x.bits = load <16 x i16>, ptr %out.s0.x.at, align 2
  %out.s0.x.half = bitcast <16 x i16> %out.s0.x.bits to <16 x half>
  %out.s0.x = fpext <16 x half> %out.s0.x.half to <16 x float>
  %out.s0_sub = fsub <16 x float> %out.s0.x, %row.maxnum
  %out.s0_sub2 = fsub <16 x float> %out.s0_sub, %row2_mul
  %out.s0.out.at = getelementptr i16, ptr %out.row, i64 %out.s
  %out.s0.out.stored.half = fptrunc <16 x float> %out.s0_sub2 to <16 x half>
  %out.s0.out.stored = bitcast <16 x half> %out.s0.out.stored.half to <16 x i16>
  store <16 x i16> %out.s0.out.stored, ptr %out.s0.out.at, align 2
  br label %out.s.latch
out.s.latch:
  %out.s.after = add nuw i64 %out.s, 16
  br label %out.s.head, !llvm.loop !1
out.s.done:
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.roundeven.v16f32(<16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.reduce.ps.512(<16 x float>, i32 immarg, <16 x float>, i16, i32 immarg)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
