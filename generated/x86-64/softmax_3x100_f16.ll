; softmax_3x100_f16
;
; computes:  out = softmax(x)
; target:    x86-64, x86_64; requires sse2
; schedule:  mainloop=stream,task=655,unroll=1,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (model)
; launch:    1 task of up to 3 rows
; memory:    stack, 400 B
;            %kept0: f32, values of a row kept between phases, 400 B
; arguments: x: input f16[3, 100], strides [100, 1]
;            out: output f16[3, 100], strides [100, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal <4 x float> @exp2_nonpositive(<4 x float> %x, <4 x float> %factor) #2 {
  %y.lowest = fdiv <4 x float> splat (float 0xC05FC00000000000), %factor
  %y.islow = fcmp olt <4 x float> %x, %y.lowest
  %y.x = select <4 x i1> %y.islow, <4 x float> %y.lowest, <4 x float> %x
  %y.shifted = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %y.x, <4 x float> %factor, <4 x float> splat (float 0x4168000FE0000000))
  %y.n = fsub <4 x float> %y.shifted, splat (float 0x4168000FE0000000)
  %y.minus.n = fneg <4 x float> %y.n
  %y.r = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %y.x, <4 x float> %factor, <4 x float> %y.minus.n)
  %y.p.h1 = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> splat (float 0x3F838397A0000000), <4 x float> %y.r, <4 x float> splat (float 0x3FAC90F3A0000000))
  %y.p.h2 = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %y.p.h1, <4 x float> %y.r, <4 x float> splat (float 0x3FCEC08C60000000))
  %y.p.h3 = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %y.p.h2, <4 x float> %y.r, <4 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %y.p.h3, <4 x float> %y.r, <4 x float> splat (float 0x3FF0000000000000))
  %y.biased = bitcast <4 x float> %y.shifted to <4 x i32>
  %y.power.bits = shl <4 x i32> %y.biased, splat (i32 23)
  %y.power = bitcast <4 x i32> %y.power.bits to <4 x float>
  %y = fmul <4 x float> %y.p, %y.power
  ret <4 x float> %y
}

define void @softmax_3x100_f16(ptr %x.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  %kept0 = alloca [400 x i8], align 64
  ; ---- addresses
  %row.start = mul nuw i64 %begin, 655
  %row.stop.tasks = mul nuw i64 %end, 655
  %row.stop.less = icmp ult i64 %row.stop.tasks, 3
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 3
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %row.start, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %row.stop
  br i1 %row.more, label %row.body, label %row.done
row.body:

  %x.row.term0 = mul nuw i64 %row, 200
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %out.row.term0 = mul nuw i64 %row, 200
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- mainloop: maxnum = maxnum(x)
  br label %maxnum.u.enter
maxnum.u.enter:
  br label %maxnum.u.head
maxnum.u.head:
  %maxnum.u = phi i64 [ 0, %maxnum.u.enter ], [ %maxnum.u.after, %maxnum.u.latch ]
  %maxnum.u0.fold.maxnum = phi <4 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u0.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u.more = icmp ult i64 %maxnum.u, 100
  br i1 %maxnum.u.more, label %maxnum.u.body, label %maxnum.u.done
maxnum.u.body:
  %maxnum.u0.x.at = getelementptr i16, ptr %x.row, i64 %maxnum.u
  %maxnum.u0.x.bits = load <4 x i16>, ptr %maxnum.u0.x.at, align 2
  %maxnum.u0.x.wide = sext <4 x i16> %maxnum.u0.x.bits to <4 x i32>
  %maxnum.u0.x.sign = and <4 x i32> %maxnum.u0.x.wide, splat (i32 -2147483648)
  %maxnum.u0.x.high = shl <4 x i32> %maxnum.u0.x.wide, splat (i32 13)
  %maxnum.u0.x.size.bits = and <4 x i32> %maxnum.u0.x.high, splat (i32 268427264)
  %maxnum.u0.x.small = bitcast <4 x i32> %maxnum.u0.x.size.bits to <4 x float>
  %maxnum.u0.x.size = fmul <4 x float> %maxnum.u0.x.small, splat (float 0x46F0000000000000)
  %maxnum.u0.x.isspecial = fcmp oge <4 x float> %maxnum.u0.x.size, splat (float 0x40F0000000000000)
  %maxnum.u0.x.number = bitcast <4 x float> %maxnum.u0.x.size to <4 x i32>
  %maxnum.u0.x.special = or <4 x i32> %maxnum.u0.x.number, splat (i32 2139095040)
  %maxnum.u0.x.magnitude = select <4 x i1> %maxnum.u0.x.isspecial, <4 x i32> %maxnum.u0.x.special, <4 x i32> %maxnum.u0.x.number
  %maxnum.u0.x.signed = or <4 x i32> %maxnum.u0.x.magnitude, %maxnum.u0.x.sign
  %maxnum.u0.x = bitcast <4 x i32> %maxnum.u0.x.signed to <4 x float>
  %maxnum.u0.fold.maxnum.next.above = fcmp ogt <4 x float> %maxnum.u0.x, %maxnum.u0.fold.maxnum
  %maxnum.u0.fold.maxnum.next = select <4 x i1> %maxnum.u0.fold.maxnum.next.above, <4 x float> %maxnum.u0.x, <4 x float> %maxnum.u0.fold.maxnum
  br label %maxnum.u.latch
maxnum.u.latch:
  %maxnum.u.after = add nuw i64 %maxnum.u, 4
  br label %maxnum.u.head, !llvm.loop !1
maxnum.u.done:
  %maxnum.by2 = shufflevector <4 x float> %maxnum.u0.fold.maxnum, <4 x float> poison, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %maxnum.by2.folded.above = fcmp ogt <4 x float> %maxnum.u0.fold.maxnum, %maxnum.by2
  %maxnum.by2.folded = select <4 x i1> %maxnum.by2.folded.above, <4 x float> %maxnum.u0.fold.maxnum, <4 x float> %maxnum.by2
  %maxnum.by1 = shufflevector <4 x float> %maxnum.by2.folded, <4 x float> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %row.maxnum.above = fcmp ogt <4 x float> %maxnum.by2.folded, %maxnum.by1
  %row.maxnum = select <4 x i1> %row.maxnum.above, <4 x float> %maxnum.by2.folded, <4 x float> %maxnum.by1

  ; ---- mainloop: sum = sum(exp2_nonpositive(x - maxnum, 1.4426950408889634))
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.u0.fold.sum = phi <4 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u0.fold.sum.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 100
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:
  %sum.u0.x.at = getelementptr i16, ptr %x.row, i64 %sum.u
  %sum.u0.x.bits = load <4 x i16>, ptr %sum.u0.x.at, align 2
  %sum.u0.x.wide = sext <4 x i16> %sum.u0.x.bits to <4 x i32>
  %sum.u0.x.sign = and <4 x i32> %sum.u0.x.wide, splat (i32 -2147483648)
  %sum.u0.x.high = shl <4 x i32> %sum.u0.x.wide, splat (i32 13)
  %sum.u0.x.size.bits = and <4 x i32> %sum.u0.x.high, splat (i32 268427264)
  %sum.u0.x.small = bitcast <4 x i32> %sum.u0.x.size.bits to <4 x float>
  %sum.u0.x.size = fmul <4 x float> %sum.u0.x.small, splat (float 0x46F0000000000000)
  %sum.u0.x.isspecial = fcmp oge <4 x float> %sum.u0.x.size, splat (float 0x40F0000000000000)
  %sum.u0.x.number = bitcast <4 x float> %sum.u0.x.size to <4 x i32>
  %sum.u0.x.special = or <4 x i32> %sum.u0.x.number, splat (i32 2139095040)
  %sum.u0.x.magnitude = select <4 x i1> %sum.u0.x.isspecial, <4 x i32> %sum.u0.x.special, <4 x i32> %sum.u0.x.number
  %sum.u0.x.signed = or <4 x i32> %sum.u0.x.magnitude, %sum.u0.x.sign
  %sum.u0.x = bitcast <4 x i32> %sum.u0.x.signed to <4 x float>
  %sum.u0.kept.0.at = getelementptr float, ptr %kept0, i64 %sum.u
  %sum.u0_sub = fsub <4 x float> %sum.u0.x, %row.maxnum
  %sum.u0_exp2_nonpositive = call <4 x float> @exp2_nonpositive(<4 x float> %sum.u0_sub, <4 x float> splat (float 0x3FF7154760000000))
  %sum.u0.fold.sum.next = fadd <4 x float> %sum.u0_exp2_nonpositive, %sum.u0.fold.sum
  store <4 x float> %sum.u0_exp2_nonpositive, ptr %sum.u0.kept.0.at, align 4
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 4
  br label %sum.u.head, !llvm.loop !1
sum.u.done:
  %sum.by2 = shufflevector <4 x float> %sum.u0.fold.sum, <4 x float> poison, <4 x i32> <i32 2, i32 3, i32 0, i32 1>
  %sum.by2.folded = fadd <4 x float> %sum.u0.fold.sum, %sum.by2
  %sum.by1 = shufflevector <4 x float> %sum.by2.folded, <4 x float> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %row.sum = fadd <4 x float> %sum.by2.folded, %sum.by1

  ; ---- epilogue: out = softmax(x)
  %row2_reciprocal = fdiv <4 x float> splat (float 0x3FF0000000000000), %row.sum
  br label %out.u.enter
out.u.enter:
  br label %out.u.head
out.u.head:
  %out.u = phi i64 [ 0, %out.u.enter ], [ %out.u.after, %out.u.latch ]
  %out.u.more = icmp ult i64 %out.u, 100
  br i1 %out.u.more, label %out.u.body, label %out.u.done
out.u.body:
  %out.u0.kept.0.at = getelementptr float, ptr %kept0, i64 %out.u
  %out.u0.kept.0 = load <4 x float>, ptr %out.u0.kept.0.at, align 4
  %out.u0_mul = fmul <4 x float> %out.u0.kept.0, %row2_reciprocal
  %out.u0.out.at = getelementptr i16, ptr %out.row, i64 %out.u
  %out.u0.out.stored.bits = bitcast <4 x float> %out.u0_mul to <4 x i32>
  %out.u0.out.stored.size = and <4 x i32> %out.u0.out.stored.bits, splat (i32 2147483647)
  %out.u0.out.stored.number = bitcast <4 x i32> %out.u0.out.stored.size to <4 x float>
  %out.u0.out.stored.shifted = lshr <4 x i32> %out.u0.out.stored.size, splat (i32 13)
  %out.u0.out.stored.odd = and <4 x i32> %out.u0.out.stored.shifted, splat (i32 1)
  %out.u0.out.stored.bias = add <4 x i32> %out.u0.out.stored.odd, splat (i32 -939520001)
  %out.u0.out.stored.carried = add <4 x i32> %out.u0.out.stored.size, %out.u0.out.stored.bias
  %out.u0.out.stored.normal = lshr <4 x i32> %out.u0.out.stored.carried, splat (i32 13)
  %out.u0.out.stored.half = fadd <4 x float> %out.u0.out.stored.number, splat (float 0x3FE0000000000000)
  %out.u0.out.stored.half.bits = bitcast <4 x float> %out.u0.out.stored.half to <4 x i32>
  %out.u0.out.stored.subnormal = sub <4 x i32> %out.u0.out.stored.half.bits, splat (i32 1056964608)
  %out.u0.out.stored.issmall = fcmp olt <4 x float> %out.u0.out.stored.number, splat (float 0x3F10000000000000)
  %out.u0.out.stored.finite = select <4 x i1> %out.u0.out.stored.issmall, <4 x i32> %out.u0.out.stored.subnormal, <4 x i32> %out.u0.out.stored.normal
  %out.u0.out.stored.islarge = fcmp oge <4 x float> %out.u0.out.stored.number, splat (float 0x40EFFE0000000000)
  %out.u0.out.stored.real = select <4 x i1> %out.u0.out.stored.islarge, <4 x i32> splat (i32 31744), <4 x i32> %out.u0.out.stored.finite
  %out.u0.out.stored.payload = and <4 x i32> %out.u0.out.stored.shifted, splat (i32 511)
  %out.u0.out.stored.quiet = or <4 x i32> %out.u0.out.stored.payload, splat (i32 32256)
  %out.u0.out.stored.isnan = fcmp uno <4 x float> %out.u0_mul, %out.u0_mul
  %out.u0.out.stored.magnitude = select <4 x i1> %out.u0.out.stored.isnan, <4 x i32> %out.u0.out.stored.quiet, <4 x i32> %out.u0.out.stored.real
  %out.u0.out.stored.high = lshr <4 x i32> %out.u0.out.stored.bits, splat (i32 16)
  %out.u0.out.stored.sign = and <4 x i32> %out.u0.out.stored.high, splat (i32 32768)
  %out.u0.out.stored.signed = or <4 x i32> %out.u0.out.stored.magnitude, %out.u0.out.stored.sign
  %out.u0.out.stored = trunc <4 x i32> %out.u0.out.stored.signed to <4 x i16>
  store <4 x i16> %out.u0.out.stored, ptr %out.u0.out.at, align 2
  br label %out.u.latch
out.u.latch:
  %out.u.after = add nuw i64 %out.u, 4
  br label %out.u.head, !llvm.loop !1
out.u.done:
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  ; ---- exit
  ret void
}

declare <4 x float> @llvm.fabs.v4f32(<4 x float>)
declare <4 x float> @llvm.copysign.v4f32(<4 x float>, <4 x float>)
declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
