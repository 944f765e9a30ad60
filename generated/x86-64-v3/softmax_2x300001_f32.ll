; softmax_2x300001_f32
;
; computes:  out = softmax(x)
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=split,task=65536,unroll=2,nontemporal=0,prefetch=0,variance_head=0 (model)
; launch:    softmax_2x300001_f32_partial0: 10 tasks
;            softmax_2x300001_f32: 10 tasks of up to 65536 columns of a row
; method:    rows are split into 5 parts of 65536 columns; each launch reads every row once and combines the
;              partial results of the launch before it; partial results take 128 B per row, 64 B per reduction
; arguments: x: input f32[2, 300001], strides [300001, 1]
;            out: output f32[2, 300001], strides [300001, 1]
;            partial.results: workspace 256 B

target triple = "x86_64-unknown-linux-gnu"

define internal <8 x float> @exp2_nonpositive(<8 x float> %x, <8 x float> %factor) #2 {
  %y.lowest = fdiv <8 x float> splat (float 0xC05FC00000000000), %factor
  %y.islow = fcmp olt <8 x float> %x, %y.lowest
  %y.x = select <8 x i1> %y.islow, <8 x float> %y.lowest, <8 x float> %x
  %y.shifted = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.x, <8 x float> %factor, <8 x float> splat (float 0x4168000FE0000000))
  %y.n = fsub <8 x float> %y.shifted, splat (float 0x4168000FE0000000)
  %y.minus.n = fneg <8 x float> %y.n
  %y.r = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.x, <8 x float> %factor, <8 x float> %y.minus.n)
  %y.p.h1 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F55CA8840000000), <8 x float> %y.r, <8 x float> splat (float 0x3F83CDB7A0000000))
  %y.p.h2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h1, <8 x float> %y.r, <8 x float> splat (float 0x3FAC6B3AE0000000))
  %y.p.h3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h2, <8 x float> %y.r, <8 x float> splat (float 0x3FCEBF9F00000000))
  %y.p.h4 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h3, <8 x float> %y.r, <8 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h4, <8 x float> %y.r, <8 x float> splat (float 0x3FF0000000000000))
  %y.biased = bitcast <8 x float> %y.shifted to <8 x i32>
  %y.power.bits = shl <8 x i32> %y.biased, splat (i32 23)
  %y.power = bitcast <8 x i32> %y.power.bits to <8 x float>
  %y = fmul <8 x float> %y.p, %y.power
  ret <8 x float> %y
}

define void @softmax_2x300001_f32_partial0(ptr %x.ptr, ptr %partial.results.ptr, i64 %begin, i64 %end) #0 {
entry:
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses
  %row = udiv i64 %task, 5
  %part = urem i64 %task, 5
  %part.start = mul nuw i64 %part, 65536
  %part.end = add nuw i64 %part.start, 65536
  %part.unrolled.less = icmp ult i64 %part.end, 300000
  %part.unrolled = select i1 %part.unrolled.less, i64 %part.end, i64 300000
  %part.whole.less = icmp ult i64 %part.end, 300000
  %part.whole = select i1 %part.whole.less, i64 %part.end, i64 300000
  %part.stop.less = icmp ult i64 %part.end, 300001
  %part.stop = select i1 %part.stop.less, i64 %part.end, i64 300001
  %record.term0 = mul nuw i64 %row, 128
  %record = getelementptr i8, ptr %partial.results.ptr, i64 %record.term0

  %x.row.term0 = mul nuw i64 %row, 1200004
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0

  ; ---- mainloop: maxnum = maxnum(x), sum = sum(exp2_nonpositive(x - maxnum, 1.4426950408889634))
  br label %maxnum_sum.u.enter
maxnum_sum.u.enter:
  br label %maxnum_sum.u.head
maxnum_sum.u.head:
  %maxnum_sum.u = phi i64 [ %part.start, %maxnum_sum.u.enter ], [ %maxnum_sum.u.after, %maxnum_sum.u.latch ]
  %maxnum_sum.u0.fold.maxnum = phi <8 x float> [ splat (float 0xC7EFFFFFE0000000), %maxnum_sum.u.enter ], [ %maxnum_sum.u0.fold.maxnum.next, %maxnum_sum.u.latch ]
  %maxnum_sum.u0.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %maxnum_sum.u.enter ], [ %maxnum_sum.u0.fold.sum.next, %maxnum_sum.u.latch ]
  %maxnum_sum.u.more = icmp ult i64 %maxnum_sum.u, %part.unrolled
  br i1 %maxnum_sum.u.more, label %maxnum_sum.u.body, label %maxnum_sum.u.done
maxnum_sum.u.body:
  %maxnum_sum.u0.x.at = getelementptr float, ptr %x.row, i64 %maxnum_sum.u
  %maxnum_sum.u0.x = load <8 x float>, ptr %maxnum_sum.u0.x.at, align 4
  %maxnum_sum.u1.first.i = add nuw i64 %maxnum_sum.u, 8
  %maxnum_sum.u1.x.at = getelementptr float, ptr %x.row, i64 %maxnum_sum.u1.first.i
  %maxnum_sum.u1.x = load <8 x float>, ptr %maxnum_sum.u1.x.at, align 4
  %maxnum_sum.u0.fold.maxnum.next.unit1.total.above = fcmp ogt <8 x float> %maxnum_sum.u1.x, %maxnum_sum.u0.x
  %maxnum_sum.u0.fold.maxnum.next.unit1.total = select <8 x i1> %maxnum_sum.u0.fold.maxnum.next.unit1.total.above, <8 x float> %maxnum_sum.u1.x, <8 x float> %maxnum_sum.u0.x
  %maxnum_sum.u0.fold.maxnum.next.above = fcmp ogt <8 x float> %maxnum_sum.u0.fold.maxnum.next.unit1.total, %maxnum_sum.u0.fold.maxnum
  %maxnum_sum.u0.fold.maxnum.next = select <8 x i1> %maxnum_sum.u0.fold.maxnum.next.above, <8 x float> %maxnum_sum.u0.fold.maxnum.next.unit1.total, <8 x float> %maxnum_sum.u0.fold.maxnum
  %maxnum_sum.u0.fold.sum.next.unit0_sub = fsub <8 x float> %maxnum_sum.u0.x, %maxnum_sum.u0.fold.maxnum.next
  %maxnum_sum.u0.fold.sum.next.unit0_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %maxnum_sum.u0.fold.sum.next.unit0_sub, <8 x float> splat (float 0x3FF7154760000000))
  %maxnum_sum.u0.fold.sum.next.unit1_sub = fsub <8 x float> %maxnum_sum.u1.x, %maxnum_sum.u0.fold.maxnum.next
  %maxnum_sum.u0.fold.sum.next.unit1_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %maxnum_sum.u0.fold.sum.next.unit1_sub, <8 x float> splat (float 0x3FF7154760000000))
  %maxnum_sum.u0.fold.sum.next.unit1.total = fadd <8 x float> %maxnum_sum.u0.fold.sum.next.unit1_exp2_nonpositive, %maxnum_sum.u0.fold.sum.next.unit0_exp2_nonpositive
  %maxnum_sum.u0.fold.sum.next.moved_sub = fsub <8 x float> %maxnum_sum.u0.fold.maxnum, %maxnum_sum.u0.fold.maxnum.next
  %maxnum_sum.u0.fold.sum.next.moved_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %maxnum_sum.u0.fold.sum.next.moved_sub, <8 x float> splat (float 0x3FF7154760000000))
  %maxnum_sum.u0.fold.sum.next.moved_mul = fmul <8 x float> %maxnum_sum.u0.fold.sum, %maxnum_sum.u0.fold.sum.next.moved_exp2_nonpositive
  %maxnum_sum.u0.fold.sum.next = fadd <8 x float> %maxnum_sum.u0.fold.sum.next.unit1.total, %maxnum_sum.u0.fold.sum.next.moved_mul
  br label %maxnum_sum.u.latch
maxnum_sum.u.latch:
  %maxnum_sum.u.after = add nuw i64 %maxnum_sum.u, 16
  br label %maxnum_sum.u.head, !llvm.loop !1
maxnum_sum.u.done:
  br label %maxnum_sum.t.enter
maxnum_sum.t.enter:
  br label %maxnum_sum.t.head
maxnum_sum.t.head:
  %maxnum_sum.t = phi i64 [ %part.whole, %maxnum_sum.t.enter ], [ %maxnum_sum.t.after, %maxnum_sum.t.latch ]
  %maxnum_sum.t0.fold.maxnum = phi <8 x float> [ %maxnum_sum.u0.fold.maxnum, %maxnum_sum.t.enter ], [ %maxnum_sum.t0.fold.maxnum.next, %maxnum_sum.t.latch ]
  %maxnum_sum.t0.fold.sum = phi <8 x float> [ %maxnum_sum.u0.fold.sum, %maxnum_sum.t.enter ], [ %maxnum_sum.t0.fold.sum.next, %maxnum_sum.t.latch ]
  %maxnum_sum.t.more = icmp ult i64 %maxnum_sum.t, %part.stop
  br i1 %maxnum_sum.t.more, label %maxnum_sum.t.body, label %maxnum_sum.t.done
maxnum_sum.t.body:
  %maxnum_sum.t0.x.at = getelementptr float, ptr %x.row, i64 %maxnum_sum.t
  %maxnum_sum.t0.x.scalar = load float, ptr %maxnum_sum.t0.x.at, align 4
  %maxnum_sum.t0.x = insertelement <8 x float> zeroinitializer, float %maxnum_sum.t0.x.scalar, i32 0
  %maxnum_sum.t0.fold.maxnum.next.unit0.there = select <8 x i1> <i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> %maxnum_sum.t0.x, <8 x float> splat (float 0xC7EFFFFFE0000000)
  %maxnum_sum.t0.fold.maxnum.next.above = fcmp ogt <8 x float> %maxnum_sum.t0.fold.maxnum.next.unit0.there, %maxnum_sum.t0.fold.maxnum
  %maxnum_sum.t0.fold.maxnum.next = select <8 x i1> %maxnum_sum.t0.fold.maxnum.next.above, <8 x float> %maxnum_sum.t0.fold.maxnum.next.unit0.there, <8 x float> %maxnum_sum.t0.fold.maxnum
  %maxnum_sum.t0.fold.sum.next.unit0_sub = fsub <8 x float> %maxnum_sum.t0.x, %maxnum_sum.t0.fold.maxnum.next
  %maxnum_sum.t0.fold.sum.next.unit0_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %maxnum_sum.t0.fold.sum.next.unit0_sub, <8 x float> splat (float 0x3FF7154760000000))
  %maxnum_sum.t0.fold.sum.next.unit0.there = select <8 x i1> <i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> %maxnum_sum.t0.fold.sum.next.unit0_exp2_nonpositive, <8 x float> splat (float 0x0000000000000000)
  %maxnum_sum.t0.fold.sum.next.moved_sub = fsub <8 x float> %maxnum_sum.t0.fold.maxnum, %maxnum_sum.t0.fold.maxnum.next
  %maxnum_sum.t0.fold.sum.next.moved_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %maxnum_sum.t0.fold.sum.next.moved_sub, <8 x float> splat (float 0x3FF7154760000000))
  %maxnum_sum.t0.fold.sum.next.moved_mul = fmul <8 x float> %maxnum_sum.t0.fold.sum, %maxnum_sum.t0.fold.sum.next.moved_exp2_nonpositive
  %maxnum_sum.t0.fold.sum.next = fadd <8 x float> %maxnum_sum.t0.fold.sum.next.unit0.there, %maxnum_sum.t0.fold.sum.next.moved_mul
  br label %maxnum_sum.t.latch
maxnum_sum.t.latch:
  %maxnum_sum.t.after = add nuw i64 %maxnum_sum.t, 8
  br label %maxnum_sum.t.head, !llvm.loop !1
maxnum_sum.t.done:
  %maxnum.by4 = shufflevector <8 x float> %maxnum_sum.t0.fold.maxnum, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %maxnum.by4.folded.above = fcmp ogt <8 x float> %maxnum_sum.t0.fold.maxnum, %maxnum.by4
  %maxnum.by4.folded = select <8 x i1> %maxnum.by4.folded.above, <8 x float> %maxnum_sum.t0.fold.maxnum, <8 x float> %maxnum.by4
  %maxnum.by2 = shufflevector <8 x float> %maxnum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %maxnum.by2.folded.above = fcmp ogt <8 x float> %maxnum.by4.folded, %maxnum.by2
  %maxnum.by2.folded = select <8 x i1> %maxnum.by2.folded.above, <8 x float> %maxnum.by4.folded, <8 x float> %maxnum.by2
  %maxnum.by1 = shufflevector <8 x float> %maxnum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.maxnum.above = fcmp ogt <8 x float> %maxnum.by2.folded, %maxnum.by1
  %row.maxnum = select <8 x i1> %row.maxnum.above, <8 x float> %maxnum.by2.folded, <8 x float> %maxnum.by1
  %sum.moved_sub = fsub <8 x float> %maxnum_sum.t0.fold.maxnum, %row.maxnum
  %sum.moved_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %sum.moved_sub, <8 x float> splat (float 0x3FF7154760000000))
  %sum.moved_mul = fmul <8 x float> %maxnum_sum.t0.fold.sum, %sum.moved_exp2_nonpositive
  %sum.by4 = shufflevector <8 x float> %sum.moved_mul, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %sum.by4.folded = fadd <8 x float> %sum.moved_mul, %sum.by4
  %sum.by2 = shufflevector <8 x float> %sum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %sum.by2.folded = fadd <8 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <8 x float> %sum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.sum = fadd <8 x float> %sum.by2.folded, %sum.by1
  %row.maxnum.at.term0 = mul nuw i64 %part, 4
  %row.maxnum.at = getelementptr i8, ptr %record, i64 %row.maxnum.at.term0
  %row.maxnum.saved.alone = extractelement <8 x float> %row.maxnum, i32 0
  store float %row.maxnum.saved.alone, ptr %row.maxnum.at, align 4
  %row.sum.at.term0 = mul nuw i64 %part, 4
  %row.sum.at = getelementptr i8, ptr %record, i64 %row.sum.at.term0
  %row.sum.saved.at = getelementptr i8, ptr %row.sum.at, i64 64
  %row.sum.saved.alone = extractelement <8 x float> %row.sum, i32 0
  store float %row.sum.saved.alone, ptr %row.sum.saved.at, align 4
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

define void @softmax_2x300001_f32(ptr %x.ptr, ptr %out.ptr, ptr %partial.results.ptr, i64 %begin, i64 %end) #0 {
entry:
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses
  %row = udiv i64 %task, 5
  %part = urem i64 %task, 5
  %part.start = mul nuw i64 %part, 65536
  %part.end = add nuw i64 %part.start, 65536
  %part.unrolled.less = icmp ult i64 %part.end, 300000
  %part.unrolled = select i1 %part.unrolled.less, i64 %part.end, i64 300000
  %part.whole.less = icmp ult i64 %part.end, 300000
  %part.whole = select i1 %part.whole.less, i64 %part.end, i64 300000
  %part.stop.less = icmp ult i64 %part.end, 300001
  %part.stop = select i1 %part.stop.less, i64 %part.end, i64 300001
  %record.term0 = mul nuw i64 %row, 128
  %record = getelementptr i8, ptr %partial.results.ptr, i64 %record.term0

  %x.row.term0 = mul nuw i64 %row, 1200004
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %out.row.term0 = mul nuw i64 %row, 1200004
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- partial results: maxnum = maxnum(x), sum = sum(exp2_nonpositive(x - maxnum, 1.4426950408889634))
  %maxnum_sum.p0.fold.maxnum = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %record, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> splat (float 0xC7EFFFFFE0000000))
  %maxnum_sum.p0.fold.sum.at = getelementptr i8, ptr %record, i64 64
  %maxnum_sum.p0.fold.sum = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %maxnum_sum.p0.fold.sum.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> splat (float 0x0000000000000000))
  %maxnum.by4 = shufflevector <8 x float> %maxnum_sum.p0.fold.maxnum, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %maxnum.by4.folded.above = fcmp ogt <8 x float> %maxnum_sum.p0.fold.maxnum, %maxnum.by4
  %maxnum.by4.folded = select <8 x i1> %maxnum.by4.folded.above, <8 x float> %maxnum_sum.p0.fold.maxnum, <8 x float> %maxnum.by4
  %maxnum.by2 = shufflevector <8 x float> %maxnum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %maxnum.by2.folded.above = fcmp ogt <8 x float> %maxnum.by4.folded, %maxnum.by2
  %maxnum.by2.folded = select <8 x i1> %maxnum.by2.folded.above, <8 x float> %maxnum.by4.folded, <8 x float> %maxnum.by2
  %maxnum.by1 = shufflevector <8 x float> %maxnum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.maxnum.above = fcmp ogt <8 x float> %maxnum.by2.folded, %maxnum.by1
  %row.maxnum = select <8 x i1> %row.maxnum.above, <8 x float> %maxnum.by2.folded, <8 x float> %maxnum.by1
  %sum.moved_sub = fsub <8 x float> %maxnum_sum.p0.fold.maxnum, %row.maxnum
  %sum.moved_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %sum.moved_sub, <8 x float> splat (float 0x3FF7154760000000))
  %sum.moved_mul = fmul <8 x float> %maxnum_sum.p0.fold.sum, %sum.moved_exp2_nonpositive
  %sum.by4 = shufflevector <8 x float> %sum.moved_mul, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %sum.by4.folded = fadd <8 x float> %sum.moved_mul, %sum.by4
  %sum.by2 = shufflevector <8 x float> %sum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %sum.by2.folded = fadd <8 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <8 x float> %sum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.sum = fadd <8 x float> %sum.by2.folded, %sum.by1

  ; ---- epilogue: out = softmax(x)
  %row1_reciprocal = fdiv <8 x float> splat (float 0x3FF0000000000000), %row.sum
  br label %out.u.enter
out.u.enter:
  br label %out.u.head
out.u.head:
  %out.u = phi i64 [ %part.start, %out.u.enter ], [ %out.u.after, %out.u.latch ]
  %out.u.more = icmp ult i64 %out.u, %part.unrolled
  br i1 %out.u.more, label %out.u.body, label %out.u.done
out.u.body:
  %out.u0.x.at = getelementptr float, ptr %x.row, i64 %out.u
  %out.u0.x = load <8 x float>, ptr %out.u0.x.at, align 4
  %out.u0_sub = fsub <8 x float> %out.u0.x, %row.maxnum
  %out.u0_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %out.u0_sub, <8 x float> splat (float 0x3FF7154760000000))
  %out.u0_mul = fmul <8 x float> %out.u0_exp2_nonpositive, %row1_reciprocal
  %out.u0.out.at = getelementptr float, ptr %out.row, i64 %out.u
  store <8 x float> %out.u0_mul, ptr %out.u0.out.at, align 4
  %out.u1.first.i = add nuw i64 %out.u, 8
  %out.u1.x.at = getelementptr float, ptr %x.row, i64 %out.u1.first.i
  %out.u1.x = load <8 x float>, ptr %out.u1.x.at, align 4
  %out.u1_sub = fsub <8 x float> %out.u1.x, %row.maxnum
  %out.u1_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %out.u1_sub, <8 x float> splat (float 0x3FF7154760000000))
  %out.u1_mul = fmul <8 x float> %out.u1_exp2_nonpositive, %row1_reciprocal
  %out.u1.out.at = getelementptr float, ptr %out.row, i64 %out.u1.first.i
  store <8 x float> %out.u1_mul, ptr %out.u1.out.at, align 4
  br label %out.u.latch
out.u.latch:
  %out.u.after = add nuw i64 %out.u, 16
  br label %out.u.head, !llvm.loop !1
out.u.done:
  br label %out.t.enter
out.t.enter:
  br label %out.t.head
out.t.head:
  %out.t = phi i64 [ %part.whole, %out.t.enter ], [ %out.t.after, %out.t.latch ]
  %out.t.more = icmp ult i64 %out.t, %part.stop
  br i1 %out.t.more, label %out.t.body, label %out.t.done
out.t.body:
  %out.t0.x.at = getelementptr float, ptr %x.row, i64 %out.t
  %out.t0.x.scalar = load float, ptr %out.t0.x.at, align 4
  %out.t0.x = insertelement <8 x float> zeroinitializer, float %out.t0.x.scalar, i32 0
  %out.t0_sub = fsub <8 x float> %out.t0.x, %row.maxnum
  %out.t0_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %out.t0_sub, <8 x float> splat (float 0x3FF7154760000000))
  %out.t0_mul = fmul <8 x float> %out.t0_exp2_nonpositive, %row1_reciprocal
  %out.t0.out.at = getelementptr float, ptr %out.row, i64 %out.t
  %out.t0.out.alone = extractelement <8 x float> %out.t0_mul, i32 0
  store float %out.t0.out.alone, ptr %out.t0.out.at, align 4
  br label %out.t.latch
out.t.latch:
  %out.t.after = add nuw i64 %out.t, 8
  br label %out.t.head, !llvm.loop !1
out.t.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
