; softmax_5x70_f16
; out = exp(x - max(x)) / sum(exp(x - max(x))), row by row
; target    x86-64-v4: x86_64 with abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=stream,task=936,unroll=4,nontemporal=0 (model)
; tasks     1 of 936 rows
; memory
;   %x  f16, shape 5 x 70, strides 70, 1 elements
;   %out  f16, shape 5 x 70, strides 70, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; A row at a time: its maximum m; the sum of exp(x - m); then exp(x - m) / sum.
; A NaN, a +infinity or a row of -infinity makes the sum NaN, and so every element of the row.
; scratch on the stack: %row  320 bytes, the exponentials of a row

define void @softmax_5x70_f16(ptr %x, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %row = alloca [320 x i8], align 64
  ; -- addresses
  %row.start = mul nuw i64 %begin, 936
  %row.stop.tasks = mul nuw i64 %end, 936
  %row.stop.less = icmp ult i64 %row.stop.tasks, 5
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 5
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %row.start, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %row.stop
  br i1 %r.more, label %r.body, label %r.done
r.body:
  %x.offset = mul nuw i64 %r, 140
  %x.row = getelementptr i8, ptr %x, i64 %x.offset
  %out.offset = mul nuw i64 %r, 140
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  %stage.row = getelementptr i8, ptr %row, i64 0

  ; -- prologue: the maximum; a comparison with NaN is false, so NaN is left out
  br label %max.u.enter
max.u.enter:
  br label %max.u.head
max.u.head:
  %max.u = phi i64 [ 0, %max.u.enter ], [ %max.u.after, %max.u.latch ]
  %max.v0 = phi <16 x float> [ splat (float 0xFFF0000000000000), %max.u.enter ], [ %max.v0.next, %max.u.latch ]
  %max.v1 = phi <16 x float> [ splat (float 0xFFF0000000000000), %max.u.enter ], [ %max.v1.next, %max.u.latch ]
  %max.v2 = phi <16 x float> [ splat (float 0xFFF0000000000000), %max.u.enter ], [ %max.v2.next, %max.u.latch ]
  %max.v3 = phi <16 x float> [ splat (float 0xFFF0000000000000), %max.u.enter ], [ %max.v3.next, %max.u.latch ]
  %max.u.more = icmp ult i64 %max.u, 64
  br i1 %max.u.more, label %max.u.body, label %max.u.done
max.u.body:
  %max.v0.i = add nuw i64 %max.u, 0
  %max.v0.in.offset = mul nuw i64 %max.v0.i, 2
  %max.v0.in.at = getelementptr i8, ptr %x.row, i64 %max.v0.in.offset
  %max.v0.x.bits = load <16 x i16>, ptr %max.v0.in.at, align 2
  %max.v0.x.half = bitcast <16 x i16> %max.v0.x.bits to <16 x half>
  %max.v0.x = fpext <16 x half> %max.v0.x.half to <16 x float>
  %max.v0.next.above = fcmp ogt <16 x float> %max.v0.x, %max.v0
  %max.v0.next = select <16 x i1> %max.v0.next.above, <16 x float> %max.v0.x, <16 x float> %max.v0
  %max.v1.i = add nuw i64 %max.u, 16
  %max.v1.in.offset = mul nuw i64 %max.v1.i, 2
  %max.v1.in.at = getelementptr i8, ptr %x.row, i64 %max.v1.in.offset
  %max.v1.x.bits = load <16 x i16>, ptr %max.v1.in.at, align 2
  %max.v1.x.half = bitcast <16 x i16> %max.v1.x.bits to <16 x half>
  %max.v1.x = fpext <16 x half> %max.v1.x.half to <16 x float>
  %max.v1.next.above = fcmp ogt <16 x float> %max.v1.x, %max.v1
  %max.v1.next = select <16 x i1> %max.v1.next.above, <16 x float> %max.v1.x, <16 x float> %max.v1
  %max.v2.i = add nuw i64 %max.u, 32
  %max.v2.in.offset = mul nuw i64 %max.v2.i, 2
  %max.v2.in.at = getelementptr i8, ptr %x.row, i64 %max.v2.in.offset
  %max.v2.x.bits = load <16 x i16>, ptr %max.v2.in.at, align 2
  %max.v2.x.half = bitcast <16 x i16> %max.v2.x.bits to <16 x half>
  %max.v2.x = fpext <16 x half> %max.v2.x.half to <16 x float>
  %max.v2.next.above = fcmp ogt <16 x float> %max.v2.x, %max.v2
  %max.v2.next = select <16 x i1> %max.v2.next.above, <16 x float> %max.v2.x, <16 x float> %max.v2
  %max.v3.i = add nuw i64 %max.u, 48
  %max.v3.in.offset = mul nuw i64 %max.v3.i, 2
  %max.v3.in.at = getelementptr i8, ptr %x.row, i64 %max.v3.in.offset
  %max.v3.x.bits = load <16 x i16>, ptr %max.v3.in.at, align 2
  %max.v3.x.half = bitcast <16 x i16> %max.v3.x.bits to <16 x half>
  %max.v3.x = fpext <16 x half> %max.v3.x.half to <16 x float>
  %max.v3.next.above = fcmp ogt <16 x float> %max.v3.x, %max.v3
  %max.v3.next = select <16 x i1> %max.v3.next.above, <16 x float> %max.v3.x, <16 x float> %max.v3
  br label %max.u.latch
max.u.latch:
  %max.u.after = add nuw i64 %max.u, 64
  br label %max.u.head
max.u.done:
  %max.v1.joined.above = fcmp ogt <16 x float> %max.v0, %max.v1
  %max.v1.joined = select <16 x i1> %max.v1.joined.above, <16 x float> %max.v0, <16 x float> %max.v1
  %max.v2.joined.above = fcmp ogt <16 x float> %max.v1.joined, %max.v2
  %max.v2.joined = select <16 x i1> %max.v2.joined.above, <16 x float> %max.v1.joined, <16 x float> %max.v2
  %max.v3.joined.above = fcmp ogt <16 x float> %max.v2.joined, %max.v3
  %max.v3.joined = select <16 x i1> %max.v3.joined.above, <16 x float> %max.v2.joined, <16 x float> %max.v3
  %max.t.in.offset = mul nuw i64 64, 2
  %max.t.in.at = getelementptr i8, ptr %x.row, i64 %max.t.in.offset
  %max.t.x.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %max.t.in.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> splat (i16 64512))
  %max.t.x.half = bitcast <16 x i16> %max.t.x.bits to <16 x half>
  %max.t.x = fpext <16 x half> %max.t.x.half to <16 x float>
  %max.t.above = fcmp ogt <16 x float> %max.t.x, %max.v3.joined
  %max.t = select <16 x i1> %max.t.above, <16 x float> %max.t.x, <16 x float> %max.v3.joined
  ; a copy, under the name that the row goes on with
  %max = bitcast <16 x float> %max.t to <16 x float>
  %max.scalar = call nnan float @llvm.vector.reduce.fmax.v16f32(<16 x float> %max)
  %m.first = insertelement <16 x float> poison, float %max.scalar, i32 0
  %m = shufflevector <16 x float> %m.first, <16 x float> poison, <16 x i32> zeroinitializer

  ; -- mainloop: the sum of exponentials
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.v0 = phi <16 x float> [ zeroinitializer, %sum.u.enter ], [ %sum.v0.next, %sum.u.latch ]
  %sum.v1 = phi <16 x float> [ zeroinitializer, %sum.u.enter ], [ %sum.v1.next, %sum.u.latch ]
  %sum.v2 = phi <16 x float> [ zeroinitializer, %sum.u.enter ], [ %sum.v2.next, %sum.u.latch ]
  %sum.v3 = phi <16 x float> [ zeroinitializer, %sum.u.enter ], [ %sum.v3.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 64
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:
  %sum.v0.i = add nuw i64 %sum.u, 0
  %sum.v0.in.offset = mul nuw i64 %sum.v0.i, 2
  %sum.v0.in.at = getelementptr i8, ptr %x.row, i64 %sum.v0.in.offset
  %sum.v0.x.bits = load <16 x i16>, ptr %sum.v0.in.at, align 2
  %sum.v0.x.half = bitcast <16 x i16> %sum.v0.x.bits to <16 x half>
  %sum.v0.x = fpext <16 x half> %sum.v0.x.half to <16 x float>
  %sum.v0.below = fsub <16 x float> %sum.v0.x, %m
  %sum.v0.exp.islow = fcmp olt <16 x float> %sum.v0.below, splat (float 0xC05A000000000000)
  %sum.v0.exp.x = select <16 x i1> %sum.v0.exp.islow, <16 x float> splat (float 0xC05A000000000000), <16 x float> %sum.v0.below
  %sum.v0.exp.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v0.exp.x, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %sum.v0.exp.n = fsub <16 x float> %sum.v0.exp.shifted, splat (float 0x4168000000000000)
  %sum.v0.exp.minus.n = fneg <16 x float> %sum.v0.exp.n
  %sum.v0.exp.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v0.exp.minus.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %sum.v0.exp.x)
  %sum.v0.exp.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA52258E0000000), <16 x float> %sum.v0.exp.r, <16 x float> splat (float 0x3FC571CC20000000))
  %sum.v0.exp.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v0.exp.p.h1, <16 x float> %sum.v0.exp.r, <16 x float> splat (float 0x3FE0006B60000000))
  %sum.v0.exp.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v0.exp.p.h2, <16 x float> %sum.v0.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v0.exp.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v0.exp.p.h3, <16 x float> %sum.v0.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v0.exp = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %sum.v0.exp.p, <16 x float> %sum.v0.exp.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %sum.v0.stage.offset = mul nuw i64 %sum.v0.i, 4
  %sum.v0.stage.at = getelementptr i8, ptr %stage.row, i64 %sum.v0.stage.offset
  store <16 x float> %sum.v0.exp, ptr %sum.v0.stage.at, align 4
  %sum.v0.next = fadd <16 x float> %sum.v0, %sum.v0.exp
  %sum.v1.i = add nuw i64 %sum.u, 16
  %sum.v1.in.offset = mul nuw i64 %sum.v1.i, 2
  %sum.v1.in.at = getelementptr i8, ptr %x.row, i64 %sum.v1.in.offset
  %sum.v1.x.bits = load <16 x i16>, ptr %sum.v1.in.at, align 2
  %sum.v1.x.half = bitcast <16 x i16> %sum.v1.x.bits to <16 x half>
  %sum.v1.x = fpext <16 x half> %sum.v1.x.half to <16 x float>
  %sum.v1.below = fsub <16 x float> %sum.v1.x, %m
  %sum.v1.exp.islow = fcmp olt <16 x float> %sum.v1.below, splat (float 0xC05A000000000000)
  %sum.v1.exp.x = select <16 x i1> %sum.v1.exp.islow, <16 x float> splat (float 0xC05A000000000000), <16 x float> %sum.v1.below
  %sum.v1.exp.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v1.exp.x, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %sum.v1.exp.n = fsub <16 x float> %sum.v1.exp.shifted, splat (float 0x4168000000000000)
  %sum.v1.exp.minus.n = fneg <16 x float> %sum.v1.exp.n
  %sum.v1.exp.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v1.exp.minus.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %sum.v1.exp.x)
  %sum.v1.exp.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA52258E0000000), <16 x float> %sum.v1.exp.r, <16 x float> splat (float 0x3FC571CC20000000))
  %sum.v1.exp.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v1.exp.p.h1, <16 x float> %sum.v1.exp.r, <16 x float> splat (float 0x3FE0006B60000000))
  %sum.v1.exp.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v1.exp.p.h2, <16 x float> %sum.v1.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v1.exp.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v1.exp.p.h3, <16 x float> %sum.v1.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v1.exp = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %sum.v1.exp.p, <16 x float> %sum.v1.exp.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %sum.v1.stage.offset = mul nuw i64 %sum.v1.i, 4
  %sum.v1.stage.at = getelementptr i8, ptr %stage.row, i64 %sum.v1.stage.offset
  store <16 x float> %sum.v1.exp, ptr %sum.v1.stage.at, align 4
  %sum.v1.next = fadd <16 x float> %sum.v1, %sum.v1.exp
  %sum.v2.i = add nuw i64 %sum.u, 32
  %sum.v2.in.offset = mul nuw i64 %sum.v2.i, 2
  %sum.v2.in.at = getelementptr i8, ptr %x.row, i64 %sum.v2.in.offset
  %sum.v2.x.bits = load <16 x i16>, ptr %sum.v2.in.at, align 2
  %sum.v2.x.half = bitcast <16 x i16> %sum.v2.x.bits to <16 x half>
  %sum.v2.x = fpext <16 x half> %sum.v2.x.half to <16 x float>
  %sum.v2.below = fsub <16 x float> %sum.v2.x, %m
  %sum.v2.exp.islow = fcmp olt <16 x float> %sum.v2.below, splat (float 0xC05A000000000000)
  %sum.v2.exp.x = select <16 x i1> %sum.v2.exp.islow, <16 x float> splat (float 0xC05A000000000000), <16 x float> %sum.v2.below
  %sum.v2.exp.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v2.exp.x, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %sum.v2.exp.n = fsub <16 x float> %sum.v2.exp.shifted, splat (float 0x4168000000000000)
  %sum.v2.exp.minus.n = fneg <16 x float> %sum.v2.exp.n
  %sum.v2.exp.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v2.exp.minus.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %sum.v2.exp.x)
  %sum.v2.exp.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA52258E0000000), <16 x float> %sum.v2.exp.r, <16 x float> splat (float 0x3FC571CC20000000))
  %sum.v2.exp.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v2.exp.p.h1, <16 x float> %sum.v2.exp.r, <16 x float> splat (float 0x3FE0006B60000000))
  %sum.v2.exp.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v2.exp.p.h2, <16 x float> %sum.v2.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v2.exp.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v2.exp.p.h3, <16 x float> %sum.v2.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v2.exp = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %sum.v2.exp.p, <16 x float> %sum.v2.exp.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %sum.v2.stage.offset = mul nuw i64 %sum.v2.i, 4
  %sum.v2.stage.at = getelementptr i8, ptr %stage.row, i64 %sum.v2.stage.offset
  store <16 x float> %sum.v2.exp, ptr %sum.v2.stage.at, align 4
  %sum.v2.next = fadd <16 x float> %sum.v2, %sum.v2.exp
  %sum.v3.i = add nuw i64 %sum.u, 48
  %sum.v3.in.offset = mul nuw i64 %sum.v3.i, 2
  %sum.v3.in.at = getelementptr i8, ptr %x.row, i64 %sum.v3.in.offset
  %sum.v3.x.bits = load <16 x i16>, ptr %sum.v3.in.at, align 2
  %sum.v3.x.half = bitcast <16 x i16> %sum.v3.x.bits to <16 x half>
  %sum.v3.x = fpext <16 x half> %sum.v3.x.half to <16 x float>
  %sum.v3.below = fsub <16 x float> %sum.v3.x, %m
  %sum.v3.exp.islow = fcmp olt <16 x float> %sum.v3.below, splat (float 0xC05A000000000000)
  %sum.v3.exp.x = select <16 x i1> %sum.v3.exp.islow, <16 x float> splat (float 0xC05A000000000000), <16 x float> %sum.v3.below
  %sum.v3.exp.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v3.exp.x, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %sum.v3.exp.n = fsub <16 x float> %sum.v3.exp.shifted, splat (float 0x4168000000000000)
  %sum.v3.exp.minus.n = fneg <16 x float> %sum.v3.exp.n
  %sum.v3.exp.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v3.exp.minus.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %sum.v3.exp.x)
  %sum.v3.exp.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA52258E0000000), <16 x float> %sum.v3.exp.r, <16 x float> splat (float 0x3FC571CC20000000))
  %sum.v3.exp.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v3.exp.p.h1, <16 x float> %sum.v3.exp.r, <16 x float> splat (float 0x3FE0006B60000000))
  %sum.v3.exp.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v3.exp.p.h2, <16 x float> %sum.v3.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v3.exp.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.v3.exp.p.h3, <16 x float> %sum.v3.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.v3.exp = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %sum.v3.exp.p, <16 x float> %sum.v3.exp.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %sum.v3.stage.offset = mul nuw i64 %sum.v3.i, 4
  %sum.v3.stage.at = getelementptr i8, ptr %stage.row, i64 %sum.v3.stage.offset
  store <16 x float> %sum.v3.exp, ptr %sum.v3.stage.at, align 4
  %sum.v3.next = fadd <16 x float> %sum.v3, %sum.v3.exp
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 64
  br label %sum.u.head
sum.u.done:
  %sum.v1.joined = fadd <16 x float> %sum.v0, %sum.v1
  %sum.v2.joined = fadd <16 x float> %sum.v1.joined, %sum.v2
  %sum.v3.joined = fadd <16 x float> %sum.v2.joined, %sum.v3
  %sum.t.in.offset = mul nuw i64 64, 2
  %sum.t.in.at = getelementptr i8, ptr %x.row, i64 %sum.t.in.offset
  %sum.t.x.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %sum.t.in.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i16> splat (i16 64512))
  %sum.t.x.half = bitcast <16 x i16> %sum.t.x.bits to <16 x half>
  %sum.t.x = fpext <16 x half> %sum.t.x.half to <16 x float>
  %sum.t.below = fsub <16 x float> %sum.t.x, %m
  %sum.t.exp.islow = fcmp olt <16 x float> %sum.t.below, splat (float 0xC05A000000000000)
  %sum.t.exp.x = select <16 x i1> %sum.t.exp.islow, <16 x float> splat (float 0xC05A000000000000), <16 x float> %sum.t.below
  %sum.t.exp.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.t.exp.x, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %sum.t.exp.n = fsub <16 x float> %sum.t.exp.shifted, splat (float 0x4168000000000000)
  %sum.t.exp.minus.n = fneg <16 x float> %sum.t.exp.n
  %sum.t.exp.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.t.exp.minus.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %sum.t.exp.x)
  %sum.t.exp.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA52258E0000000), <16 x float> %sum.t.exp.r, <16 x float> splat (float 0x3FC571CC20000000))
  %sum.t.exp.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.t.exp.p.h1, <16 x float> %sum.t.exp.r, <16 x float> splat (float 0x3FE0006B60000000))
  %sum.t.exp.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.t.exp.p.h2, <16 x float> %sum.t.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.t.exp.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.t.exp.p.h3, <16 x float> %sum.t.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.t.exp = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %sum.t.exp.p, <16 x float> %sum.t.exp.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %sum.t.stage.offset = mul nuw i64 64, 4
  %sum.t.stage.at = getelementptr i8, ptr %stage.row, i64 %sum.t.stage.offset
  call void @llvm.masked.store.v16f32.p0(<16 x float> %sum.t.exp, ptr align 4 %sum.t.stage.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum.t = fadd <16 x float> %sum.v3.joined, %sum.t.exp
  ; a copy, under the name that the row goes on with
  %sum = bitcast <16 x float> %sum.t to <16 x float>
  %sum.scalar = call reassoc float @llvm.vector.reduce.fadd.v16f32(float 0.0, <16 x float> %sum)
  %sum.vector.first = insertelement <16 x float> poison, float %sum.scalar, i32 0
  %sum.vector = shufflevector <16 x float> %sum.vector.first, <16 x float> poison, <16 x i32> zeroinitializer
  %inverse = fdiv <16 x float> splat (float 0x3FF0000000000000), %sum.vector

  ; -- epilogue: out
  br label %o.enter
o.enter:
  br label %o.head
o.head:
  %o = phi i64 [ 0, %o.enter ], [ %o.after, %o.latch ]
  %o.more = icmp ult i64 %o, 64
  br i1 %o.more, label %o.body, label %o.done
o.body:
  %o.v.stage.offset = mul nuw i64 %o, 4
  %o.v.stage.at = getelementptr i8, ptr %stage.row, i64 %o.v.stage.offset
  %o.v.exp = load <16 x float>, ptr %o.v.stage.at, align 4
  %o.v.y = fmul <16 x float> %o.v.exp, %inverse
  %o.v.out.offset = mul nuw i64 %o, 2
  %o.v.out.at = getelementptr i8, ptr %out.row, i64 %o.v.out.offset
  %o.v.y.stored.half = fptrunc <16 x float> %o.v.y to <16 x half>
  %o.v.y.stored = bitcast <16 x half> %o.v.y.stored.half to <16 x i16>
  store <16 x i16> %o.v.y.stored, ptr %o.v.out.at, align 2
  br label %o.latch
o.latch:
  %o.after = add nuw i64 %o, 16
  br label %o.head
o.done:
  %o.tail.stage.offset = mul nuw i64 64, 4
  %o.tail.stage.at = getelementptr i8, ptr %stage.row, i64 %o.tail.stage.offset
  %o.tail.exp = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %o.tail.stage.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %o.tail.y = fmul <16 x float> %o.tail.exp, %inverse
  %o.tail.out.offset = mul nuw i64 64, 2
  %o.tail.out.at = getelementptr i8, ptr %out.row, i64 %o.tail.out.offset
  %o.tail.y.stored.half = fptrunc <16 x float> %o.tail.y to <16 x half>
  %o.tail.y.stored = bitcast <16 x half> %o.tail.y.stored.half to <16 x i16>
  call void @llvm.masked.store.v16i16.p0(<16 x i16> %o.tail.y.stored, ptr align 2 %o.tail.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %r.latch
r.latch:
  %r.after = add nuw i64 %r, 1
  br label %r.head
r.done:
  ; -- exit
  ret void
}

declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare float @llvm.vector.reduce.fmax.v16f32(<16 x float>)
declare float @llvm.vector.reduce.fadd.v16f32(float, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
declare void @llvm.masked.store.v16i16.p0(<16 x i16>, ptr, <16 x i1>)

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
