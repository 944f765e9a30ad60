; softmax_3x100_f16
; out = exp(x - max(x)) / sum(exp(x - max(x))), row by row
; target    x86-64: x86_64 with sse2
; schedule  mainloop=stream,task=655,unroll=1,nontemporal=0 (model)
; tasks     1 of 655 rows
; memory
;   %x  f16, shape 3 x 100, strides 100, 1 elements
;   %out  f16, shape 3 x 100, strides 100, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; A row at a time: its maximum m; the sum of exp(x - m); then exp(x - m) / sum.
; A NaN, a +infinity or a row of -infinity makes the sum NaN, and so every element of the row.
; scratch on the stack: %row  400 bytes, the exponentials of a row

define void @softmax_3x100_f16(ptr %x, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %row = alloca [400 x i8], align 64
  ; -- addresses
  %row.start = mul nuw i64 %begin, 655
  %row.stop.tasks = mul nuw i64 %end, 655
  %row.stop.less = icmp ult i64 %row.stop.tasks, 3
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 3
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %row.start, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %row.stop
  br i1 %r.more, label %r.body, label %r.done
r.body:
  %x.offset = mul nuw i64 %r, 200
  %x.row = getelementptr i8, ptr %x, i64 %x.offset
  %out.offset = mul nuw i64 %r, 200
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  %stage.row = getelementptr i8, ptr %row, i64 0

  ; -- prologue: the maximum; a comparison with NaN is false, so NaN is left out
  br label %max.u.enter
max.u.enter:
  br label %max.u.head
max.u.head:
  %max.u = phi i64 [ 0, %max.u.enter ], [ %max.u.after, %max.u.latch ]
  %max.v0 = phi <4 x float> [ splat (float 0xFFF0000000000000), %max.u.enter ], [ %max.v0.next, %max.u.latch ]
  %max.u.more = icmp ult i64 %max.u, 100
  br i1 %max.u.more, label %max.u.body, label %max.u.done
max.u.body:
  %max.v0.i = add nuw i64 %max.u, 0
  %max.v0.in.offset = mul nuw i64 %max.v0.i, 2
  %max.v0.in.at = getelementptr i8, ptr %x.row, i64 %max.v0.in.offset
  %max.v0.x.bits = load <4 x i16>, ptr %max.v0.in.at, align 2
  %max.v0.x.wide = sext <4 x i16> %max.v0.x.bits to <4 x i32>
  %max.v0.x.sign = and <4 x i32> %max.v0.x.wide, splat (i32 -2147483648)
  %max.v0.x.high = shl <4 x i32> %max.v0.x.wide, splat (i32 13)
  %max.v0.x.size.bits = and <4 x i32> %max.v0.x.high, splat (i32 268427264)
  %max.v0.x.small = bitcast <4 x i32> %max.v0.x.size.bits to <4 x float>
  %max.v0.x.size = fmul <4 x float> %max.v0.x.small, splat (float 0x46F0000000000000)
  %max.v0.x.isspecial = fcmp oge <4 x float> %max.v0.x.size, splat (float 0x40F0000000000000)
  %max.v0.x.number = bitcast <4 x float> %max.v0.x.size to <4 x i32>
  %max.v0.x.special = or <4 x i32> %max.v0.x.number, splat (i32 2139095040)
  %max.v0.x.magnitude = select <4 x i1> %max.v0.x.isspecial, <4 x i32> %max.v0.x.special, <4 x i32> %max.v0.x.number
  %max.v0.x.signed = or <4 x i32> %max.v0.x.magnitude, %max.v0.x.sign
  %max.v0.x = bitcast <4 x i32> %max.v0.x.signed to <4 x float>
  %max.v0.next.above = fcmp ogt <4 x float> %max.v0.x, %max.v0
  %max.v0.next = select <4 x i1> %max.v0.next.above, <4 x float> %max.v0.x, <4 x float> %max.v0
  br label %max.u.latch
max.u.latch:
  %max.u.after = add nuw i64 %max.u, 4
  br label %max.u.head
max.u.done:
  ; a copy, under the name that the row goes on with
  %max = bitcast <4 x float> %max.v0 to <4 x float>
  %max.scalar = call nnan float @llvm.vector.reduce.fmax.v4f32(<4 x float> %max)
  %m.first = insertelement <4 x float> poison, float %max.scalar, i32 0
  %m = shufflevector <4 x float> %m.first, <4 x float> poison, <4 x i32> zeroinitializer

  ; -- mainloop: the sum of exponentials
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.v0 = phi <4 x float> [ zeroinitializer, %sum.u.enter ], [ %sum.v0.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 100
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:
  %sum.v0.i = add nuw i64 %sum.u, 0
  %sum.v0.in.offset = mul nuw i64 %sum.v0.i, 2
  %sum.v0.in.at = getelementptr i8, ptr %x.row, i64 %sum.v0.in.offset
  %sum.v0.x.bits = load <4 x i16>, ptr %sum.v0.in.at, align 2
  %sum.v0.x.wide = sext <4 x i16> %sum.v0.x.bits to <4 x i32>
  %sum.v0.x.sign = and <4 x i32> %sum.v0.x.wide, splat (i32 -2147483648)
  %sum.v0.x.high = shl <4 x i32> %sum.v0.x.wide, splat (i32 13)
  %sum.v0.x.size.bits = and <4 x i32> %sum.v0.x.high, splat (i32 268427264)
  %sum.v0.x.small = bitcast <4 x i32> %sum.v0.x.size.bits to <4 x float>
  %sum.v0.x.size = fmul <4 x float> %sum.v0.x.small, splat (float 0x46F0000000000000)
  %sum.v0.x.isspecial = fcmp oge <4 x float> %sum.v0.x.size, splat (float 0x40F0000000000000)
  %sum.v0.x.number = bitcast <4 x float> %sum.v0.x.size to <4 x i32>
  %sum.v0.x.special = or <4 x i32> %sum.v0.x.number, splat (i32 2139095040)
  %sum.v0.x.magnitude = select <4 x i1> %sum.v0.x.isspecial, <4 x i32> %sum.v0.x.special, <4 x i32> %sum.v0.x.number
  %sum.v0.x.signed = or <4 x i32> %sum.v0.x.magnitude, %sum.v0.x.sign
  %sum.v0.x = bitcast <4 x i32> %sum.v0.x.signed to <4 x float>
  %sum.v0.below = fsub <4 x float> %sum.v0.x, %m
  %sum.v0.exp.islow = fcmp olt <4 x float> %sum.v0.below, splat (float 0xC05A000000000000)
  %sum.v0.exp.x = select <4 x i1> %sum.v0.exp.islow, <4 x float> splat (float 0xC05A000000000000), <4 x float> %sum.v0.below
  %sum.v0.exp.shifted = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %sum.v0.exp.x, <4 x float> splat (float 0x3FF7154760000000), <4 x float> splat (float 0x4168000000000000))
  %sum.v0.exp.n = fsub <4 x float> %sum.v0.exp.shifted, splat (float 0x4168000000000000)
  %sum.v0.exp.minus.n = fneg <4 x float> %sum.v0.exp.n
  %sum.v0.exp.r.high = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %sum.v0.exp.minus.n, <4 x float> splat (float 0x3FE6300000000000), <4 x float> %sum.v0.exp.x)
  %sum.v0.exp.r = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %sum.v0.exp.minus.n, <4 x float> splat (float 0xBF2BD01060000000), <4 x float> %sum.v0.exp.r.high)
  %sum.v0.exp.p.h1 = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> splat (float 0x3FA52258E0000000), <4 x float> %sum.v0.exp.r, <4 x float> splat (float 0x3FC571CC20000000))
  %sum.v0.exp.p.h2 = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %sum.v0.exp.p.h1, <4 x float> %sum.v0.exp.r, <4 x float> splat (float 0x3FE0006B60000000))
  %sum.v0.exp.p.h3 = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %sum.v0.exp.p.h2, <4 x float> %sum.v0.exp.r, <4 x float> splat (float 0x3FF0000000000000))
  %sum.v0.exp.p = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %sum.v0.exp.p.h3, <4 x float> %sum.v0.exp.r, <4 x float> splat (float 0x3FF0000000000000))
  %sum.v0.exp.magic.bits = bitcast <4 x float> %sum.v0.exp.shifted to <4 x i32>
  %sum.v0.exp.i.half = ashr <4 x i32> %sum.v0.exp.magic.bits, splat (i32 1)
  %sum.v0.exp.i.rest = sub <4 x i32> %sum.v0.exp.magic.bits, %sum.v0.exp.i.half
  %sum.v0.exp.half.biased = add <4 x i32> %sum.v0.exp.i.half, splat (i32 127)
  %sum.v0.exp.half.bits = shl <4 x i32> %sum.v0.exp.half.biased, splat (i32 23)
  %sum.v0.exp.half = bitcast <4 x i32> %sum.v0.exp.half.bits to <4 x float>
  %sum.v0.exp.rest.biased = add <4 x i32> %sum.v0.exp.i.rest, splat (i32 127)
  %sum.v0.exp.rest.bits = shl <4 x i32> %sum.v0.exp.rest.biased, splat (i32 23)
  %sum.v0.exp.rest = bitcast <4 x i32> %sum.v0.exp.rest.bits to <4 x float>
  %sum.v0.exp.scaled = fmul <4 x float> %sum.v0.exp.p, %sum.v0.exp.half
  %sum.v0.exp = fmul <4 x float> %sum.v0.exp.scaled, %sum.v0.exp.rest
  %sum.v0.stage.offset = mul nuw i64 %sum.v0.i, 4
  %sum.v0.stage.at = getelementptr i8, ptr %stage.row, i64 %sum.v0.stage.offset
  store <4 x float> %sum.v0.exp, ptr %sum.v0.stage.at, align 4
  %sum.v0.next = fadd <4 x float> %sum.v0, %sum.v0.exp
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 4
  br label %sum.u.head
sum.u.done:
  ; a copy, under the name that the row goes on with
  %sum = bitcast <4 x float> %sum.v0 to <4 x float>
  %sum.scalar = call reassoc float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %sum)
  %sum.vector.first = insertelement <4 x float> poison, float %sum.scalar, i32 0
  %sum.vector = shufflevector <4 x float> %sum.vector.first, <4 x float> poison, <4 x i32> zeroinitializer
  %inverse = fdiv <4 x float> splat (float 0x3FF0000000000000), %sum.vector

  ; -- epilogue: out
  br label %o.enter
o.enter:
  br label %o.head
o.head:
  %o = phi i64 [ 0, %o.enter ], [ %o.after, %o.latch ]
  %o.more = icmp ult i64 %o, 100
  br i1 %o.more, label %o.body, label %o.done
o.body:
  %o.v.stage.offset = mul nuw i64 %o, 4
  %o.v.stage.at = getelementptr i8, ptr %stage.row, i64 %o.v.stage.offset
  %o.v.exp = load <4 x float>, ptr %o.v.stage.at, align 4
  %o.v.y = fmul <4 x float> %o.v.exp, %inverse
  %o.v.out.offset = mul nuw i64 %o, 2
  %o.v.out.at = getelementptr i8, ptr %out.row, i64 %o.v.out.offset
  %o.v.y.stored.bits = bitcast <4 x float> %o.v.y to <4 x i32>
  %o.v.y.stored.size = and <4 x i32> %o.v.y.stored.bits, splat (i32 2147483647)
  %o.v.y.stored.number = bitcast <4 x i32> %o.v.y.stored.size to <4 x float>
  %o.v.y.stored.shifted = lshr <4 x i32> %o.v.y.stored.size, splat (i32 13)
  %o.v.y.stored.odd = and <4 x i32> %o.v.y.stored.shifted, splat (i32 1)
  %o.v.y.stored.bias = add <4 x i32> %o.v.y.stored.odd, splat (i32 -939520001)
  %o.v.y.stored.carried = add <4 x i32> %o.v.y.stored.size, %o.v.y.stored.bias
  %o.v.y.stored.normal = lshr <4 x i32> %o.v.y.stored.carried, splat (i32 13)
  %o.v.y.stored.half = fadd <4 x float> %o.v.y.stored.number, splat (float 0x3FE0000000000000)
  %o.v.y.stored.half.bits = bitcast <4 x float> %o.v.y.stored.half to <4 x i32>
  %o.v.y.stored.subnormal = sub <4 x i32> %o.v.y.stored.half.bits, splat (i32 1056964608)
  %o.v.y.stored.issmall = fcmp olt <4 x float> %o.v.y.stored.number, splat (float 0x3F10000000000000)
  %o.v.y.stored.finite = select <4 x i1> %o.v.y.stored.issmall, <4 x i32> %o.v.y.stored.subnormal, <4 x i32> %o.v.y.stored.normal
  %o.v.y.stored.islarge = fcmp oge <4 x float> %o.v.y.stored.number, splat (float 0x40EFFE0000000000)
  %o.v.y.stored.real = select <4 x i1> %o.v.y.stored.islarge, <4 x i32> splat (i32 31744), <4 x i32> %o.v.y.stored.finite
  %o.v.y.stored.payload = and <4 x i32> %o.v.y.stored.shifted, splat (i32 511)
  %o.v.y.stored.quiet = or <4 x i32> %o.v.y.stored.payload, splat (i32 32256)
  %o.v.y.stored.isnan = fcmp uno <4 x float> %o.v.y, %o.v.y
  %o.v.y.stored.magnitude = select <4 x i1> %o.v.y.stored.isnan, <4 x i32> %o.v.y.stored.quiet, <4 x i32> %o.v.y.stored.real
  %o.v.y.stored.high = lshr <4 x i32> %o.v.y.stored.bits, splat (i32 16)
  %o.v.y.stored.sign = and <4 x i32> %o.v.y.stored.high, splat (i32 32768)
  %o.v.y.stored.signed = or <4 x i32> %o.v.y.stored.magnitude, %o.v.y.stored.sign
  %o.v.y.stored = trunc <4 x i32> %o.v.y.stored.signed to <4 x i16>
  store <4 x i16> %o.v.y.stored, ptr %o.v.out.at, align 2
  br label %o.latch
o.latch:
  %o.after = add nuw i64 %o, 4
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

declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare float @llvm.vector.reduce.fmax.v4f32(<4 x float>)
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
