; log_softmax_2x50000_f16
; out = x - max(x) - log(sum(exp(x - max(x)))), row by row
; target    x86-64-v4: x86_64 with abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=stream,task=1,unroll=4,nontemporal=0 (model)
; tasks     2 of 1 rows
; memory
;   %x  f16, shape 2 x 50000, strides 50000, 1 elements
;   %out  f16, shape 2 x 50000, strides 50000, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; A row at a time: its maximum m; the sum of exp(x - m); then x - m - log sum.
; A NaN, a +infinity or a row of -infinity makes the sum NaN, and so every element of the row.

define void @log_softmax_2x50000_f16(ptr %x, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  ; -- addresses
  %row.start = mul nuw i64 %begin, 1
  %row.stop = mul nuw i64 %end, 1
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %row.start, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %row.stop
  br i1 %r.more, label %r.body, label %r.done
r.body:
  %x.offset = mul nuw i64 %r, 100000
  %x.row = getelementptr i8, ptr %x, i64 %x.offset
  %out.offset = mul nuw i64 %r, 100000
  %out.row = getelementptr i8, ptr %out, i64 %out.offset

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
  %max.u.more = icmp ult i64 %max.u, 49984
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
  br label %max.s.enter
max.s.enter:
  br label %max.s.head
max.s.head:
  %max.s = phi i64 [ 49984, %max.s.enter ], [ %max.s.after, %max.s.latch ]
  %max.w = phi <16 x float> [ %max.v3.joined, %max.s.enter ], [ %max.w.next, %max.s.latch ]
  %max.s.more = icmp ult i64 %max.s, 50000
  br i1 %max.s.more, label %max.s.body, label %max.s.done
max.s.body:
  %max.w.in.offset = mul nuw i64 %max.s, 2
  %max.w.in.at = getelementptr i8, ptr %x.row, i64 %max.w.in.offset
  %max.w.x.bits = load <16 x i16>, ptr %max.w.in.at, align 2
  %max.w.x.half = bitcast <16 x i16> %max.w.x.bits to <16 x half>
  %max.w.x = fpext <16 x half> %max.w.x.half to <16 x float>
  %max.w.next.above = fcmp ogt <16 x float> %max.w.x, %max.w
  %max.w.next = select <16 x i1> %max.w.next.above, <16 x float> %max.w.x, <16 x float> %max.w
  br label %max.s.latch
max.s.latch:
  %max.s.after = add nuw i64 %max.s, 16
  br label %max.s.head
max.s.done:
  ; a copy, under the name that the row goes on with
  %max = bitcast <16 x float> %max.w to <16 x float>
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
  %sum.u.more = icmp ult i64 %sum.u, 49984
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
  %sum.v3.next = fadd <16 x float> %sum.v3, %sum.v3.exp
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 64
  br label %sum.u.head
sum.u.done:
  %sum.v1.joined = fadd <16 x float> %sum.v0, %sum.v1
  %sum.v2.joined = fadd <16 x float> %sum.v1.joined, %sum.v2
  %sum.v3.joined = fadd <16 x float> %sum.v2.joined, %sum.v3
  br label %sum.s.enter
sum.s.enter:
  br label %sum.s.head
sum.s.head:
  %sum.s = phi i64 [ 49984, %sum.s.enter ], [ %sum.s.after, %sum.s.latch ]
  %sum.w = phi <16 x float> [ %sum.v3.joined, %sum.s.enter ], [ %sum.w.next, %sum.s.latch ]
  %sum.s.more = icmp ult i64 %sum.s, 50000
  br i1 %sum.s.more, label %sum.s.body, label %sum.s.done
sum.s.body:
  %sum.w.in.offset = mul nuw i64 %sum.s, 2
  %sum.w.in.at = getelementptr i8, ptr %x.row, i64 %sum.w.in.offset
  %sum.w.x.bits = load <16 x i16>, ptr %sum.w.in.at, align 2
  %sum.w.x.half = bitcast <16 x i16> %sum.w.x.bits to <16 x half>
  %sum.w.x = fpext <16 x half> %sum.w.x.half to <16 x float>
  %sum.w.below = fsub <16 x float> %sum.w.x, %m
  %sum.w.exp.islow = fcmp olt <16 x float> %sum.w.below, splat (float 0xC05A000000000000)
  %sum.w.exp.x = select <16 x i1> %sum.w.exp.islow, <16 x float> splat (float 0xC05A000000000000), <16 x float> %sum.w.below
  %sum.w.exp.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.w.exp.x, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %sum.w.exp.n = fsub <16 x float> %sum.w.exp.shifted, splat (float 0x4168000000000000)
  %sum.w.exp.minus.n = fneg <16 x float> %sum.w.exp.n
  %sum.w.exp.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.w.exp.minus.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %sum.w.exp.x)
  %sum.w.exp.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA52258E0000000), <16 x float> %sum.w.exp.r, <16 x float> splat (float 0x3FC571CC20000000))
  %sum.w.exp.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.w.exp.p.h1, <16 x float> %sum.w.exp.r, <16 x float> splat (float 0x3FE0006B60000000))
  %sum.w.exp.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.w.exp.p.h2, <16 x float> %sum.w.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.w.exp.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum.w.exp.p.h3, <16 x float> %sum.w.exp.r, <16 x float> splat (float 0x3FF0000000000000))
  %sum.w.exp = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %sum.w.exp.p, <16 x float> %sum.w.exp.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %sum.w.next = fadd <16 x float> %sum.w, %sum.w.exp
  br label %sum.s.latch
sum.s.latch:
  %sum.s.after = add nuw i64 %sum.s, 16
  br label %sum.s.head
sum.s.done:
  ; a copy, under the name that the row goes on with
  %sum = bitcast <16 x float> %sum.w to <16 x float>
  %sum.scalar = call reassoc float @llvm.vector.reduce.fadd.v16f32(float 0.0, <16 x float> %sum)
  %sum.vector.first = insertelement <16 x float> poison, float %sum.scalar, i32 0
  %sum.vector = shufflevector <16 x float> %sum.vector.first, <16 x float> poison, <16 x i32> zeroinitializer
  %log.sum.bits = bitcast <16 x float> %sum.vector to <16 x i32>
  %log.sum.offset = sub <16 x i32> %log.sum.bits, splat (i32 1060439283)
  %log.sum.i = ashr <16 x i32> %log.sum.offset, splat (i32 23)
  %log.sum.n = sitofp <16 x i32> %log.sum.i to <16 x float>
  %log.sum.power = shl <16 x i32> %log.sum.i, splat (i32 23)
  %log.sum.m.bits = sub <16 x i32> %log.sum.bits, %log.sum.power
  %log.sum.m = bitcast <16 x i32> %log.sum.m.bits to <16 x float>
  %log.sum.above = fadd <16 x float> %log.sum.m, splat (float 0x3FF0000000000000)
  %log.sum.below = fadd <16 x float> %log.sum.m, splat (float 0xBFF0000000000000)
  %log.sum.u = fdiv <16 x float> %log.sum.below, %log.sum.above
  %log.sum.square = fmul <16 x float> %log.sum.u, %log.sum.u
  %log.sum.series.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FCC71C720000000), <16 x float> %log.sum.square, <16 x float> splat (float 0x3FD24924A0000000))
  %log.sum.series.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %log.sum.series.h1, <16 x float> %log.sum.square, <16 x float> splat (float 0x3FD99999A0000000))
  %log.sum.series.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %log.sum.series.h2, <16 x float> %log.sum.square, <16 x float> splat (float 0x3FE5555560000000))
  %log.sum.series = call <16 x float> @llvm.fma.v16f32(<16 x float> %log.sum.series.h3, <16 x float> %log.sum.square, <16 x float> splat (float 0x4000000000000000))
  %log.sum.m.log = fmul <16 x float> %log.sum.u, %log.sum.series
  %log.sum.finite = call <16 x float> @llvm.fma.v16f32(<16 x float> %log.sum.n, <16 x float> splat (float 0x3FE62E4300000000), <16 x float> %log.sum.m.log)
  %log.sum.isnan = fcmp uno <16 x float> %sum.vector, %sum.vector
  %log.sum = select <16 x i1> %log.sum.isnan, <16 x float> %sum.vector, <16 x float> %log.sum.finite

  ; -- epilogue: out
  br label %o.enter
o.enter:
  br label %o.head
o.head:
  %o = phi i64 [ 0, %o.enter ], [ %o.after, %o.latch ]
  %o.more = icmp ult i64 %o, 50000
  br i1 %o.more, label %o.body, label %o.done
o.body:
  %o.v.in.offset = mul nuw i64 %o, 2
  %o.v.in.at = getelementptr i8, ptr %x.row, i64 %o.v.in.offset
  %o.v.x.bits = load <16 x i16>, ptr %o.v.in.at, align 2
  %o.v.x.half = bitcast <16 x i16> %o.v.x.bits to <16 x half>
  %o.v.x = fpext <16 x half> %o.v.x.half to <16 x float>
  %o.v.below = fsub <16 x float> %o.v.x, %m
  %o.v.y = fsub <16 x float> %o.v.below, %log.sum
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

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
