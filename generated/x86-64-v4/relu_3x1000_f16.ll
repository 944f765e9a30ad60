; relu_3x1000_f16
; out = max(x, 0); a NaN stays NaN
; target    x86-64-v4: x86_64 with abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=stream,task=65536,unroll=4,nontemporal=0 (model)
; tasks     1 of 65536 elements
; memory
;   %x  f16, shape 3 x 1000, strides 1000, 1 elements
;   %out  f16, shape 3 x 1000, strides 1000, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; relu on the bits: what lies from -0 to -infinity (sign bit set, no NaN) becomes 0. The tasks of a
; range lie side by side, so the whole range is one stream.

define void @relu_3x1000_f16(ptr %x, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  ; -- addresses
  %start = mul nuw i64 %begin, 65536
  %stop.tasks = mul nuw i64 %end, 65536
  %stop.less = icmp ult i64 %stop.tasks, 3000
  %stop = select i1 %stop.less, i64 %stop.tasks, i64 3000
  %length = sub nuw i64 %stop, %start

  ; -- mainloop: 4 vectors of 32 elements a step
  %unrolled.length = and i64 %length, -128
  %unrolled.stop = add nuw i64 %start, %unrolled.length
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ %start, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, %unrolled.stop
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %i.offset = mul nuw i64 %i, 2
  %i.x = getelementptr i8, ptr %x, i64 %i.offset
  %i.out = getelementptr i8, ptr %out, i64 %i.offset
  %x0.at = getelementptr i8, ptr %i.x, i64 0
  %x0 = load <32 x i16>, ptr %x0.at, align 2
  %x1.at = getelementptr i8, ptr %i.x, i64 64
  %x1 = load <32 x i16>, ptr %x1.at, align 2
  %x2.at = getelementptr i8, ptr %i.x, i64 128
  %x2 = load <32 x i16>, ptr %x2.at, align 2
  %x3.at = getelementptr i8, ptr %i.x, i64 192
  %x3 = load <32 x i16>, ptr %x3.at, align 2
  %x0.distance = sub <32 x i16> %x0, splat (i16 -32768)
  %x0.negative = icmp ule <32 x i16> %x0.distance, splat (i16 31744)
  %x0.relu = select <32 x i1> %x0.negative, <32 x i16> zeroinitializer, <32 x i16> %x0
  %y0.at = getelementptr i8, ptr %i.out, i64 0
  store <32 x i16> %x0.relu, ptr %y0.at, align 2
  %x1.distance = sub <32 x i16> %x1, splat (i16 -32768)
  %x1.negative = icmp ule <32 x i16> %x1.distance, splat (i16 31744)
  %x1.relu = select <32 x i1> %x1.negative, <32 x i16> zeroinitializer, <32 x i16> %x1
  %y1.at = getelementptr i8, ptr %i.out, i64 64
  store <32 x i16> %x1.relu, ptr %y1.at, align 2
  %x2.distance = sub <32 x i16> %x2, splat (i16 -32768)
  %x2.negative = icmp ule <32 x i16> %x2.distance, splat (i16 31744)
  %x2.relu = select <32 x i1> %x2.negative, <32 x i16> zeroinitializer, <32 x i16> %x2
  %y2.at = getelementptr i8, ptr %i.out, i64 128
  store <32 x i16> %x2.relu, ptr %y2.at, align 2
  %x3.distance = sub <32 x i16> %x3, splat (i16 -32768)
  %x3.negative = icmp ule <32 x i16> %x3.distance, splat (i16 31744)
  %x3.relu = select <32 x i1> %x3.negative, <32 x i16> zeroinitializer, <32 x i16> %x3
  %y3.at = getelementptr i8, ptr %i.out, i64 192
  store <32 x i16> %x3.relu, ptr %y3.at, align 2
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 128
  br label %i.head
i.done:

  ; -- epilogue: whole vectors that are left
  %whole.length = and i64 %length, -32
  %whole.stop = add nuw i64 %start, %whole.length
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ %unrolled.stop, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, %whole.stop
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %s.offset = mul nuw i64 %s, 2
  %s.x = getelementptr i8, ptr %x, i64 %s.offset
  %s.out = getelementptr i8, ptr %out, i64 %s.offset
  %s.v = load <32 x i16>, ptr %s.x, align 2
  %s.v.distance = sub <32 x i16> %s.v, splat (i16 -32768)
  %s.v.negative = icmp ule <32 x i16> %s.v.distance, splat (i16 31744)
  %s.v.relu = select <32 x i1> %s.v.negative, <32 x i16> zeroinitializer, <32 x i16> %s.v
  store <32 x i16> %s.v.relu, ptr %s.out, align 2
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 32
  br label %s.head
s.done:

  ; -- epilogue: the last 24 elements of the tensor
  %has.tail = icmp ult i64 %whole.stop, %stop
  br i1 %has.tail, label %t.do, label %t.done
t.do:
  %t.offset = mul nuw i64 %whole.stop, 2
  %t.x = getelementptr i8, ptr %x, i64 %t.offset
  %t.out = getelementptr i8, ptr %out, i64 %t.offset
  %t.v = call <32 x i16> @llvm.masked.load.v32i16.p0(ptr align 2 %t.x, <32 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <32 x i16> zeroinitializer)
  %t.v.distance = sub <32 x i16> %t.v, splat (i16 -32768)
  %t.v.negative = icmp ule <32 x i16> %t.v.distance, splat (i16 31744)
  %t.v.relu = select <32 x i1> %t.v.negative, <32 x i16> zeroinitializer, <32 x i16> %t.v
  call void @llvm.masked.store.v32i16.p0(<32 x i16> %t.v.relu, ptr align 2 %t.out, <32 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %t.done
t.done:
  ; -- exit
  ret void
}

declare <32 x i16> @llvm.masked.load.v32i16.p0(ptr, <32 x i1>, <32 x i16>)
declare void @llvm.masked.store.v32i16.p0(<32 x i16>, ptr, <32 x i1>)

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
