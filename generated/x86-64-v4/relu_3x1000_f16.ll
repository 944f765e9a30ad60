; relu_3x1000_f16
;
; computes:  out = relu(x)
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=65536,unroll=4,nontemporal=0,prefetch=2048 (model)
; launch:    1 task of up to 3000 elements
; arguments: x: input f16[3, 1000], strides [1000, 1]
;            out: output f16[3, 1000], strides [1000, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @relu_3x1000_f16(ptr %x.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 65536
  %end.unit.tasks = mul nuw i64 %end, 65536
  %end.unit.less = icmp ult i64 %end.unit.tasks, 3000
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 3000

  ; ---- mainloop: 4 vectors of 32 elements per step
  %length = sub nuw i64 %end.unit, %begin.unit
  %unrolled.length = and i64 %length, -128
  %unrolled.stop = add nuw i64 %begin.unit, %unrolled.length
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ %begin.unit, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, %unrolled.stop
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %u0.x.at = getelementptr i16, ptr %x.ptr, i64 %i
  %u0.out.at = getelementptr i16, ptr %out.ptr, i64 %i
  %u0.x = load <32 x i16>, ptr %u0.x.at, align 2
  %u1.first.i = add nuw i64 %i, 32
  %u1.x.at = getelementptr i16, ptr %x.ptr, i64 %u1.first.i
  %u1.out.at = getelementptr i16, ptr %out.ptr, i64 %u1.first.i
  %u1.x = load <32 x i16>, ptr %u1.x.at, align 2
  %u2.first.i = add nuw i64 %i, 64
  %u2.x.at = getelementptr i16, ptr %x.ptr, i64 %u2.first.i
  %u2.out.at = getelementptr i16, ptr %out.ptr, i64 %u2.first.i
  %u2.x = load <32 x i16>, ptr %u2.x.at, align 2
  %u3.first.i = add nuw i64 %i, 96
  %u3.x.at = getelementptr i16, ptr %x.ptr, i64 %u3.first.i
  %u3.out.at = getelementptr i16, ptr %out.ptr, i64 %u3.first.i
  %u3.x = load <32 x i16>, ptr %u3.x.at, align 2
  %u0.result.distance = sub <32 x i16> %u0.x, splat (i16 -32768)
  %u0.result.negative = icmp ule <32 x i16> %u0.result.distance, splat (i16 31744)
  %u0.result = select <32 x i1> %u0.result.negative, <32 x i16> zeroinitializer, <32 x i16> %u0.x
  store <32 x i16> %u0.result, ptr %u0.out.at, align 2
  %u1.result.distance = sub <32 x i16> %u1.x, splat (i16 -32768)
  %u1.result.negative = icmp ule <32 x i16> %u1.result.distance, splat (i16 31744)
  %u1.result = select <32 x i1> %u1.result.negative, <32 x i16> zeroinitializer, <32 x i16> %u1.x
  store <32 x i16> %u1.result, ptr %u1.out.at, align 2
  %u2.result.distance = sub <32 x i16> %u2.x, splat (i16 -32768)
  %u2.result.negative = icmp ule <32 x i16> %u2.result.distance, splat (i16 31744)
  %u2.result = select <32 x i1> %u2.result.negative, <32 x i16> zeroinitializer, <32 x i16> %u2.x
  store <32 x i16> %u2.result, ptr %u2.out.at, align 2
  %u3.result.distance = sub <32 x i16> %u3.x, splat (i16 -32768)
  %u3.result.negative = icmp ule <32 x i16> %u3.result.distance, splat (i16 31744)
  %u3.result = select <32 x i1> %u3.result.negative, <32 x i16> zeroinitializer, <32 x i16> %u3.x
  store <32 x i16> %u3.result, ptr %u3.out.at, align 2
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 128
  br label %i.head
i.done:

  ; ---- epilogue: remaining whole vectors
  %rest.length = sub nuw i64 %end.unit, %unrolled.stop
  %whole.length = and i64 %rest.length, -32
  %whole.stop = add nuw i64 %unrolled.stop, %whole.length
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ %unrolled.stop, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, %whole.stop
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %w.x.at = getelementptr i16, ptr %x.ptr, i64 %s
  %w.out.at = getelementptr i16, ptr %out.ptr, i64 %s
  %w.x = load <32 x i16>, ptr %w.x.at, align 2
  %w.result.distance = sub <32 x i16> %w.x, splat (i16 -32768)
  %w.result.negative = icmp ule <32 x i16> %w.result.distance, splat (i16 31744)
  %w.result = select <32 x i1> %w.result.negative, <32 x i16> zeroinitializer, <32 x i16> %w.x
  store <32 x i16> %w.result, ptr %w.out.at, align 2
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 32
  br label %s.head
s.done:

  ; ---- epilogue: the last 24 elements of a row
  %has.tail = icmp ult i64 %whole.stop, %end.unit
  br i1 %has.tail, label %t.do, label %t.done
t.do:
  %t.x.at = getelementptr i16, ptr %x.ptr, i64 %whole.stop
  %t.out.at = getelementptr i16, ptr %out.ptr, i64 %whole.stop
  %t.x = call <32 x i16> @llvm.masked.load.v32i16.p0(ptr align 2 %t.x.at, <32 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x i16> zeroinitializer)
  %t.result.distance = sub <32 x i16> %t.x, splat (i16 -32768)
  %t.result.negative = icmp ule <32 x i16> %t.result.distance, splat (i16 31744)
  %t.result = select <32 x i1> %t.result.negative, <32 x i16> zeroinitializer, <32 x i16> %t.x
  call void @llvm.masked.store.v32i16.p0(<32 x i16> %t.result, ptr align 2 %t.out.at, <32 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %t.done
t.done:
  ; ---- exit
  ret void
}

declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, <32 x i1>, <32 x i16>)
declare void @llvm.masked.store.v32i16.p0(<32 x i16>, ptr, <32 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
