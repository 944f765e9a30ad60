; mul_silu_3x100_bf16
;
; computes:  out = silu(gate) * up
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=65536,unroll=1,nontemporal=0,prefetch=2048 (user)
; launch:    1 task of up to 300 elements
; arguments: gate: input bf16[3, 100], strides [100, 1]
;            up: input bf16[3, 100], strides [100, 1]
;            out: output bf16[3, 100], strides [100, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal <16 x float> @exp2(<16 x float> %x) #2 {
  %y.n = call <16 x float> @llvm.roundeven.v16f32(<16 x float> %x)
  ; VREDUCEPS: x - n, and 0 for infinity
  %y.r = call <16 x float> @llvm.x86.avx512.mask.reduce.ps.512(<16 x float> %x, i32 0, <16 x float> zeroinitializer, i16 -1, i32 4)
  %y.p.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F55CA8840000000), <16 x float> %y.r, <16 x float> splat (float 0x3F83CDB7A0000000))
  %y.p.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h1, <16 x float> %y.r, <16 x float> splat (float 0x3FAC6B3AE0000000))
  %y.p.h3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h2, <16 x float> %y.r, <16 x float> splat (float 0x3FCEBF9F00000000))
  %y.p.h4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h3, <16 x float> %y.r, <16 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <16 x float> @llvm.fma.v16f32(<16 x float> %y.p.h4, <16 x float> %y.r, <16 x float> splat (float 0x3FF0000000000000))
  %y = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %y.p, <16 x float> %y.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  ret <16 x float> %y
}

define void @mul_silu_3x100_bf16(ptr %gate.ptr, ptr %up.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 65536
  %end.unit.tasks = mul nuw i64 %end, 65536
  %end.unit.less = icmp ult i64 %end.unit.tasks, 300
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 300

  ; ---- mainloop: 1 vectors of 16 elements per step
  %length = sub nuw i64 %end.unit, %begin.unit
  %unrolled.length = and i64 %length, -16
  %unrolled.stop = add nuw i64 %begin.unit, %unrolled.length
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ %begin.unit, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, %unrolled.stop
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %u0.gate.at = getelementptr i16, ptr %gate.ptr, i64 %i
  %u0.up.at = getelementptr i16, ptr %up.ptr, i64 %i
  %u0.out.at = getelementptr i16, ptr %out.ptr, i64 %i
  %u0.gate.bits = load <16 x i16>, ptr %u0.gate.at, align 2
  %u0.gate.wide = zext <16 x i16> %u0.gate.bits to <16 x i32>
  %u0.gate.high = shl <16 x i32> %u0.gate.wide, splat (i32 16)
  %u0.gate = bitcast <16 x i32> %u0.gate.high to <16 x float>
  %u0.up.bits = load <16 x i16>, ptr %u0.up.at, align 2
  %u0.up.wide = zext <16 x i16> %u0.up.bits to <16 x i32>
  %u0.up.high = shl <16 x i32> %u0.up.wide, splat (i32 16)
  %u0.up = bitcast <16 x i32> %u0.up.high to <16 x float>
  %u0.result_mul = fmul <16 x float> %u0.gate, splat (float 0xBFF7154760000000)
  %u0.result_exp2 = call <16 x float> @exp2(<16 x float> %u0.result_mul)
  %u0.result_add = fadd <16 x float> %u0.result_exp2, splat (float 0x3FF0000000000000)
  %u0.result_reciprocal = fdiv <16 x float> splat (float 0x3FF0000000000000), %u0.result_add
  %u0.result_mul2 = fmul <16 x float> %u0.gate, %u0.result_reciprocal
  %u0.result = fmul <16 x float> %u0.result_mul2, %u0.up
  %u0.result.stored.bits = bitcast <16 x float> %u0.result to <16 x i32>
  %u0.result.stored.high = lshr <16 x i32> %u0.result.stored.bits, splat (i32 16)
  %u0.result.stored.odd = and <16 x i32> %u0.result.stored.high, splat (i32 1)
  %u0.result.stored.bias = add <16 x i32> %u0.result.stored.odd, splat (i32 32767)
  %u0.result.stored.carried = add <16 x i32> %u0.result.stored.bits, %u0.result.stored.bias
  %u0.result.stored.rounded = lshr <16 x i32> %u0.result.stored.carried, splat (i32 16)
  %u0.result.stored.quiet = or <16 x i32> %u0.result.stored.high, splat (i32 64)
  %u0.result.stored.isnan = fcmp uno <16 x float> %u0.result, %u0.result
  %u0.result.stored.chosen = select <16 x i1> %u0.result.stored.isnan, <16 x i32> %u0.result.stored.quiet, <16 x i32> %u0.result.stored.rounded
  %u0.result.stored = trunc <16 x i32> %u0.result.stored.chosen to <16 x i16>
  store <16 x i16> %u0.result.stored, ptr %u0.out.at, align 2
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 16
  br label %i.head
i.done:

  ; ---- epilogue: the last 12 elements of a row
  %has.tail = icmp ult i64 %unrolled.stop, %end.unit
  br i1 %has.tail, label %t.do, label %t.done
t.do:
  %t.gate.at = getelementptr i16, ptr %gate.ptr, i64 %unrolled.stop
  %t.up.at = getelementptr i16, ptr %up.ptr, i64 %unrolled.stop
  %t.out.at = getelementptr i16, ptr %out.ptr, i64 %unrolled.stop
  %t.gate.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %t.gate.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %t.gate.wide = zext <16 x i16> %t.gate.bits to <16 x i32>
  %t.gate.high = shl <16 x i32> %t.gate.wide, splat (i32 16)
  %t.gate = bitcast <16 x i32> %t.gate.high to <16 x float>
  %t.up.bits = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %t.up.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x i16> zeroinitializer)
  %t.up.wide = zext <16 x i16> %t.up.bits to <16 x i32>
  %t.up.high = shl <16 x i32> %t.up.wide, splat (i32 16)
  %t.up = bitcast <16 x i32> %t.up.high to <16 x float>
  %t.result_mul = fmul <16 x float> %t.gate, splat (float 0xBFF7154760000000)
  %t.result_exp2 = call <16 x float> @exp2(<16 x float> %t.result_mul)
  %t.result_add = fadd <16 x float> %t.result_exp2, splat (float 0x3FF0000000000000)
  %t.result_reciprocal = fdiv <16 x float> splat (float 0x3FF0000000000000), %t.result_add
  %t.result_mul2 = fmul <16 x float> %t.gate, %t.result_reciprocal
  %t.result = fmul <16 x float> %t.result_mul2, %t.up
  %t.result.stored.bits = bitcast <16 x float> %t.result to <16 x i32>
  %t.result.stored.high = lshr <16 x i32> %t.result.stored.bits, splat (i32 16)
  %t.result.stored.odd = and <16 x i32> %t.result.stored.high, splat (i32 1)
  %t.result.stored.bias = add <16 x i32> %t.result.stored.odd, splat (i32 32767)
  %t.result.stored.carried = add <16 x i32> %t.result.stored.bits, %t.result.stored.bias
  %t.result.stored.rounded = lshr <16 x i32> %t.result.stored.carried, splat (i32 16)
  %t.result.stored.quiet = or <16 x i32> %t.result.stored.high, splat (i32 64)
  %t.result.stored.isnan = fcmp uno <16 x float> %t.result, %t.result
  %t.result.stored.chosen = select <16 x i1> %t.result.stored.isnan, <16 x i32> %t.result.stored.quiet, <16 x i32> %t.result.stored.rounded
  %t.result.stored = trunc <16 x i32> %t.result.stored.chosen to <16 x i16>
  call void @llvm.masked.store.v16i16.p0(<16 x i16> %t.result.stored, ptr align 2 %t.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>)
  br label %t.done
t.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.roundeven.v16f32(<16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.reduce.ps.512(<16 x float>, i32 immarg, <16 x float>, i16, i32 immarg)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
declare void @llvm.masked.store.v16i16.p0(<16 x i16>, ptr, <16 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
