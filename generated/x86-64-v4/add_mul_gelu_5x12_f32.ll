; add_mul_gelu_5x12_f32
;
; computes:  out = gelu(x + bias) * scale + residual
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=5461,unroll=1,nontemporal=0,prefetch=2048 (user)
; launch:    1 task of up to 5 rows
; arguments: x: input f32[5, 12], strides [12, 1]
;            bias: input f32[12], strides [1]
;            scale: input f32[1], strides [1]
;            residual: input f32[5, 12], strides [12, 1]
;            out: output f32[5, 12], strides [12, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal <16 x float> @exp2_nonpositive(<16 x float> %x, <16 x float> %factor) #2 {
  %y.lowest = fdiv <16 x float> splat (float 0xC05F800000000000), %factor
  %y.isnormal = fcmp uge <16 x float> %x, %y.lowest
  %y.kept = bitcast <16 x i1> %y.isnormal to i16
  %y.shifted = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> %factor, <16 x float> splat (float 0x4168000FE0000000))
  %y.n = fsub <16 x float> %y.shifted, splat (float 0x4168000FE0000000)
  %y.minus.n = fneg <16 x float> %y.n
  %y.r = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> %factor, <16 x float> %y.minus.n)
  %y.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F55CA8840000000), <16 x float> %y.r, <16 x float> splat (float 0x3F83CDB7A0000000))
  %y.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h1, <16 x float> %y.r, <16 x float> splat (float 0x3FAC6B3AE0000000))
  %y.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h2, <16 x float> %y.r, <16 x float> splat (float 0x3FCEBF9F00000000))
  %y.p.h4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h3, <16 x float> %y.r, <16 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h4, <16 x float> %y.r, <16 x float> splat (float 0x3FF0000000000000))
  %y = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %y.p, <16 x float> %y.n, <16 x float> zeroinitializer, i16 %y.kept, i32 4)
  ret <16 x float> %y
}

define void @add_mul_gelu_5x12_f32(ptr %x.ptr, ptr %bias.ptr, ptr %scale.ptr, ptr %residual.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 5461
  %end.unit.tasks = mul nuw i64 %end, 5461
  %end.unit.less = icmp ult i64 %end.unit.tasks, 5
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 5
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %begin.unit, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %end.unit
  br i1 %r.more, label %r.body, label %r.done
r.body:

  %x.row.term0 = mul nuw i64 %r, 48
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %scale.one.scalar = load float, ptr %scale.ptr, align 4
  %scale.one = insertelement <16 x float> zeroinitializer, float %scale.one.scalar, i32 0
  %scale.all = shufflevector <16 x float> %scale.one, <16 x float> poison, <16 x i32> zeroinitializer
  %residual.row.term0 = mul nuw i64 %r, 48
  %residual.row = getelementptr i8, ptr %residual.ptr, i64 %residual.row.term0
  %out.row.offset = mul nuw i64 %r, 48
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.offset

  ; ---- epilogue: the last 12 elements of a row
  %has.tail = icmp ult i64 0, 12
  br i1 %has.tail, label %t.do, label %t.done
t.do:
  %t.x = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %x.row, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %t.bias = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %bias.ptr, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %t.residual = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %residual.row, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %t.result_add = fadd <16 x float> %t.x, %t.bias
  %t.result_less = fcmp olt <16 x float> %t.result_add, splat (float 0x0000000000000000)
  %t.result_abs = call <16 x float> @llvm.fabs.v16f32(<16 x float> %t.result_add)
  %t.result_fma = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_abs, <16 x float> splat (float 0x3FD301CCC0000000), <16 x float> splat (float 0x3FF0000000000000))
  %t.result_reciprocal = fdiv <16 x float> splat (float 0x3FF0000000000000), %t.result_fma
  %t.result_fma2 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FA4115EE0000000), <16 x float> %t.result_reciprocal, <16 x float> splat (float 0xBFC6D85600000000))
  %t.result_fma3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma2, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0x3FD054AAC0000000))
  %t.result_fma4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma3, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0xBFBA02E440000000))
  %t.result_fma5 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma4, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0x3FC41C16E0000000))
  %t.result_fma6 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma5, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0x3FB6B1DA00000000))
  %t.result_fma7 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma6, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0x3FBF2D6100000000))
  %t.result_fma8 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma7, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0x3FBE3FF3C0000000))
  %t.result_fma9 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t.result_fma8, <16 x float> %t.result_reciprocal, <16 x float> splat (float 0x3EEB34B580000000))
  %t.result_mul = fmul <16 x float> %t.result_add, %t.result_add
  %t.result_mul2 = fmul <16 x float> %t.result_mul, splat (float 0xBFE7154760000000)
  %t.result_exp2_nonpositive = call <16 x float> @exp2_nonpositive(<16 x float> %t.result_mul2, <16 x float> splat (float 0x3FF0000000000000))
  %t.result_mul3 = fmul <16 x float> %t.result_fma9, %t.result_exp2_nonpositive
  %t.result_sub = fsub <16 x float> splat (float 0x3FF0000000000000), %t.result_mul3
  %t.result_select = select <16 x i1> %t.result_less, <16 x float> %t.result_mul3, <16 x float> %t.result_sub
  %t.result_mul4 = fmul <16 x float> %t.result_add, %t.result_select
  %t.result_mul5 = fmul <16 x float> %t.result_mul4, %scale.all
  %t.result = fadd <16 x float> %t.result_mul5, %t.residual
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t.result, ptr align 4 %out.row, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>)
  br label %t.done
t.done:
  br label %r.latch
r.latch:
  %r.after = add nuw i64 %r, 1
  br label %r.head
r.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.roundeven.v16f32(<16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.reduce.ps.512(<16 x float>, i32 immarg, <16 x float>, i16, i32 immarg)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
