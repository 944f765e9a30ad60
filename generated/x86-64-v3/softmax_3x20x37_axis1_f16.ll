; softmax_3x20x37_axis1_f16
;
; computes:  out = softmax(x)
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=409,unroll=2,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (model)
; launch:    1 task of up to 15 vectors of rows
; method:    a vector holds one column of 8 adjacent rows
; memory:    stack, 640 B
;            %kept0: f32, values of a row kept between phases, 640 B
; arguments: x: input f16[3, 20, 37], strides [740, 37, 1]
;            out: output f16[3, 20, 37], strides [740, 37, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal <8 x float> @exp2_nonpositive(<8 x float> %x, <8 x float> %factor) #2 {
  %y.lowest = fdiv <8 x float> splat (float 0xC05FC00000000000), %factor
  %y.islow = fcmp olt <8 x float> %x, %y.lowest
  %y.x = select <8 x i1> %y.islow, <8 x float> %y.lowest, <8 x float> %x
  %y.shifted = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.x, <8 x float> %factor, <8 x float> splat (float 0x4168000FE0000000))
  %y.n = fsub <8 x float> %y.shifted, splat (float 0x4168000FE0000000)
  %y.minus.n = fneg <8 x float> %y.n
  %y.r = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.x, <8 x float> %factor, <8 x float> %y.minus.n)
  %y.p.h1 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F838397A0000000), <8 x float> %y.r, <8 x float> splat (float 0x3FAC90F3A0000000))
  %y.p.h2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h1, <8 x float> %y.r, <8 x float> splat (float 0x3FCEC08C60000000))
  %y.p.h3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h2, <8 x float> %y.r, <8 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h3, <8 x float> %y.r, <8 x float> splat (float 0x3FF0000000000000))
  %y.biased = bitcast <8 x float> %y.shifted to <8 x i32>
  %y.power.bits = shl <8 x i32> %y.biased, splat (i32 23)
  %y.power = bitcast <8 x i32> %y.power.bits to <8 x float>
  %y = fmul <8 x float> %y.p, %y.power
  ret <8 x float> %y
}

define void @softmax_3x20x37_axis1_f16(ptr %x.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  %kept0 = alloca [640 x i8], align 64
  ; ---- addresses
  %unit.start = mul nuw i64 %begin, 409
  %unit.stop.tasks = mul nuw i64 %end, 409
  %unit.stop.less = icmp ult i64 %unit.stop.tasks, 15
  %unit.stop = select i1 %unit.stop.less, i64 %unit.stop.tasks, i64 15
  br label %unit.enter
unit.enter:
  br label %unit.head
unit.head:
  %unit = phi i64 [ %unit.start, %unit.enter ], [ %unit.after, %unit.latch ]
  %unit.more = icmp ult i64 %unit, %unit.stop
  br i1 %unit.more, label %unit.body, label %unit.done
unit.body:
  %unit.line = udiv i64 %unit, 5
  %unit.in.line = urem i64 %unit, 5
  %line.row = mul nuw i64 %unit.line, 37
  %row.whole = mul nuw i64 %unit.in.line, 8
  %row.in.line.less = icmp ult i64 %row.whole, 29
  %row.in.line = select i1 %row.in.line.less, i64 %row.whole, i64 29
  %row = add nuw i64 %line.row, %row.in.line
  %row.at0 = udiv i64 %row, 37
  %row.at1 = urem i64 %row, 37
  %x.row.term0 = mul nuw i64 %row.at0, 1480
  %x.row0 = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %x.row.term1 = mul nuw i64 %row.at1, 2
  %x.row = getelementptr i8, ptr %x.row0, i64 %x.row.term1
  %out.row.term0 = mul nuw i64 %row.at0, 1480
  %out.row0 = getelementptr i8, ptr %out.ptr, i64 %out.row.term0
  %out.row.term1 = mul nuw i64 %row.at1, 2
  %out.row = getelementptr i8, ptr %out.row0, i64 %out.row.term1

  ; ---- mainloop: maxnum = maxnum(x)
  br label %maxnum.u.enter
maxnum.u.enter:
  br label %maxnum.u.head
maxnum.u.head:
  %maxnum.u = phi i64 [ 0, %maxnum.u.enter ], [ %maxnum.u.after, %maxnum.u.latch ]
  %maxnum.u0.fold.maxnum = phi <8 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u0.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u1.fold.maxnum = phi <8 x float> [ splat (float 0xFFF0000000000000), %maxnum.u.enter ], [ %maxnum.u1.fold.maxnum.next, %maxnum.u.latch ]
  %maxnum.u.more = icmp ult i64 %maxnum.u, 20
  br i1 %maxnum.u.more, label %maxnum.u.body, label %maxnum.u.done
maxnum.u.body:

  %maxnum.u0.x.at.term0 = mul nuw i64 %maxnum.u, 74
  %maxnum.u0.x.at = getelementptr i8, ptr %x.row, i64 %maxnum.u0.x.at.term0
  %maxnum.u0.x.bits = load <8 x i16>, ptr %maxnum.u0.x.at, align 2
  %maxnum.u0.x.half = bitcast <8 x i16> %maxnum.u0.x.bits to <8 x half>
  %maxnum.u0.x = fpext <8 x half> %maxnum.u0.x.half to <8 x float>
  %maxnum.u0.fold.maxnum.next.above = fcmp ogt <8 x float> %maxnum.u0.x, %maxnum.u0.fold.maxnum
  %maxnum.u0.fold.maxnum.next = select <8 x i1> %maxnum.u0.fold.maxnum.next.above, <8 x float> %maxnum.u0.x, <8 x float> %maxnum.u0.fold.maxnum
  %maxnum.u1.first.i = add nuw i64 %maxnum.u, 1

  %maxnum.u1.x.at.term0 = mul nuw i64 %maxnum.u1.first.i, 74
  %maxnum.u1.x.at = getelementptr i8, ptr %x.row, i64 %maxnum.u1.x.at.term0
  %maxnum.u1.x.bits = load <8 x i16>, ptr %maxnum.u1.x.at, align 2
  %maxnum.u1.x.half = bitcast <8 x i16> %maxnum.u1.x.bits to <8 x half>
  %maxnum.u1.x = fpext <8 x half> %maxnum.u1.x.half to <8 x float>
  %maxnum.u1.fold.maxnum.next.above = fcmp ogt <8 x float> %maxnum.u1.x, %maxnum.u1.fold.maxnum
  %maxnum.u1.fold.maxnum.next = select <8 x i1> %maxnum.u1.fold.maxnum.next.above, <8 x float> %maxnum.u1.x, <8 x float> %maxnum.u1.fold.maxnum
  br label %maxnum.u.latch
maxnum.u.latch:
  %maxnum.u.after = add nuw i64 %maxnum.u, 2
  br label %maxnum.u.head
maxnum.u.done:
  %maxnum.u1.fold.maxnum.joined.above = fcmp ogt <8 x float> %maxnum.u0.fold.maxnum, %maxnum.u1.fold.maxnum
  %maxnum.u1.fold.maxnum.joined = select <8 x i1> %maxnum.u1.fold.maxnum.joined.above, <8 x float> %maxnum.u0.fold.maxnum, <8 x float> %maxnum.u1.fold.maxnum
  %row.maxnum = bitcast <8 x float> %maxnum.u1.fold.maxnum.joined to <8 x float>

  ; ---- mainloop: sum = sum(exp2_nonpositive(x - maxnum, 1.4426950408889634))
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.u0.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u0.fold.sum.next, %sum.u.latch ]
  %sum.u1.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u1.fold.sum.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 20
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:

  %sum.u0.x.at.term0 = mul nuw i64 %sum.u, 74
  %sum.u0.x.at = getelementptr i8, ptr %x.row, i64 %sum.u0.x.at.term0
  %sum.u0.x.bits = load <8 x i16>, ptr %sum.u0.x.at, align 2
  %sum.u0.x.half = bitcast <8 x i16> %sum.u0.x.bits to <8 x half>
  %sum.u0.x = fpext <8 x half> %sum.u0.x.half to <8 x float>
  %sum.u0.kept.0.at = getelementptr <8 x float>, ptr %kept0, i64 %sum.u
  %sum.u0_sub = fsub <8 x float> %sum.u0.x, %row.maxnum
  %sum.u0_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %sum.u0_sub, <8 x float> splat (float 0x3FF7154760000000))
  %sum.u0.fold.sum.next = fadd <8 x float> %sum.u0_exp2_nonpositive, %sum.u0.fold.sum
  store <8 x float> %sum.u0_exp2_nonpositive, ptr %sum.u0.kept.0.at, align 4
  %sum.u1.first.i = add nuw i64 %sum.u, 1

  %sum.u1.x.at.term0 = mul nuw i64 %sum.u1.first.i, 74
  %sum.u1.x.at = getelementptr i8, ptr %x.row, i64 %sum.u1.x.at.term0
  %sum.u1.x.bits = load <8 x i16>, ptr %sum.u1.x.at, align 2
  %sum.u1.x.half = bitcast <8 x i16> %sum.u1.x.bits to <8 x half>
  %sum.u1.x = fpext <8 x half> %sum.u1.x.half to <8 x float>
  %sum.u1.kept.0.at = getelementptr <8 x float>, ptr %kept0, i64 %sum.u1.first.i
  %sum.u1_sub = fsub <8 x float> %sum.u1.x, %row.maxnum
  %sum.u1_exp2_nonpositive = call <8 x float> @exp2_nonpositive(<8 x float> %sum.u1_sub, <8 x float> splat (float 0x3FF7154760000000))
  %sum.u1.fold.sum.next = fadd <8 x float> %sum.u1_exp2_nonpositive, %sum.u1.fold.sum
  store <8 x float> %sum.u1_exp2_nonpositive, ptr %sum.u1.kept.0.at, align 4
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 2
  br label %sum.u.head
sum.u.done:
  %sum.u1.fold.sum.joined = fadd <8 x float> %sum.u0.fold.sum, %sum.u1.fold.sum
  %row.sum = bitcast <8 x float> %sum.u1.fold.sum.joined to <8 x float>

  ; ---- epilogue: out = softmax(x)
  %row2_reciprocal = fdiv <8 x float> splat (float 0x3FF0000000000000), %row.sum
  br label %out.u.enter
out.u.enter:
  br label %out.u.head
out.u.head:
  %out.u = phi i64 [ 0, %out.u.enter ], [ %out.u.after, %out.u.latch ]
  %out.u.more = icmp ult i64 %out.u, 20
  br i1 %out.u.more, label %out.u.body, label %out.u.done
out.u.body:

  %out.u0.kept.0.at = getelementptr <8 x float>, ptr %kept0, i64 %out.u
  %out.u0.kept.0 = load <8 x float>, ptr %out.u0.kept.0.at, align 4
  %out.u0_mul = fmul <8 x float> %out.u0.kept.0, %row2_reciprocal
  %out.u0.out.at.term0 = mul nuw i64 %out.u, 74
  %out.u0.out.at = getelementptr i8, ptr %out.row, i64 %out.u0.out.at.term0
  %out.u0.out.stored.half = fptrunc <8 x float> %out.u0_mul to <8 x half>
  %out.u0.out.stored = bitcast <8 x half> %out.u0.out.stored.half to <8 x i16>
  store <8 x i16> %out.u0.out.stored, ptr %out.u0.out.at, align 2
  %out.u1.first.i = add nuw i64 %out.u, 1

  %out.u1.kept.0.at = getelementptr <8 x float>, ptr %kept0, i64 %out.u1.first.i
  %out.u1.kept.0 = load <8 x float>, ptr %out.u1.kept.0.at, align 4
  %out.u1_mul = fmul <8 x float> %out.u1.kept.0, %row2_reciprocal
  %out.u1.out.at.term0 = mul nuw i64 %out.u1.first.i, 74
  %out.u1.out.at = getelementptr i8, ptr %out.row, i64 %out.u1.out.at.term0
  %out.u1.out.stored.half = fptrunc <8 x float> %out.u1_mul to <8 x half>
  %out.u1.out.stored = bitcast <8 x half> %out.u1.out.stored.half to <8 x i16>
  store <8 x i16> %out.u1.out.stored, ptr %out.u1.out.at, align 2
  br label %out.u.latch
out.u.latch:
  %out.u.after = add nuw i64 %out.u, 2
  br label %out.u.head
out.u.done:
  br label %unit.latch
unit.latch:
  %unit.after = add nuw i64 %unit, 1
  br label %unit.head
unit.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
