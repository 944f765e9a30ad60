; relu_3x1000_f32
; out = max(x, 0); a NaN stays NaN
; target    x86-64-v3: x86_64 with abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=stream,task=65536,unroll=4,nontemporal=1 (user)
; tasks     1 of 65536 elements
; memory
;   %x  f32, shape 3 x 1000, strides 1000, 1 elements
;   %out  f32, shape 3 x 1000, strides 1000, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; relu on the bits: what lies from -0 to -infinity (sign bit set, no NaN) becomes 0. The tasks of a
; range lie side by side, so the whole range is one stream.
; out is written past the caches, which wants whole vectors of memory: the first and the last vector of
; a range go through the caches and share elements with their neighbours.

define void @relu_3x1000_f32(ptr %x, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  ; -- addresses
  %start = mul nuw i64 %begin, 65536
  %stop.tasks = mul nuw i64 %end, 65536
  %stop.less = icmp ult i64 %stop.tasks, 3000
  %stop = select i1 %stop.less, i64 %stop.tasks, i64 3000

  ; -- prologue: the first vector, in which the first aligned one begins
  %f.offset = mul nuw i64 %start, 4
  %f.x = getelementptr i8, ptr %x, i64 %f.offset
  %f.out = getelementptr i8, ptr %out, i64 %f.offset
  %f.v = load <8 x i32>, ptr %f.x, align 4
  %f.v.distance = sub <8 x i32> %f.v, splat (i32 -2147483648)
  %f.v.negative = icmp ule <8 x i32> %f.v.distance, splat (i32 2139095040)
  %f.v.relu = select <8 x i1> %f.v.negative, <8 x i32> zeroinitializer, <8 x i32> %f.v
  store <8 x i32> %f.v.relu, ptr %f.out, align 4
  %address = ptrtoint ptr %f.out to i64
  %address.minus = sub i64 0, %address
  %gap.bytes = and i64 %address.minus, 31
  %gap = lshr i64 %gap.bytes, 2
  %aligned.start = add nuw i64 %start, %gap
  %length = sub nuw i64 %stop, %aligned.start

  ; -- mainloop: 4 vectors of 8 elements a step
  %unrolled.length = and i64 %length, -32
  %unrolled.stop = add nuw i64 %aligned.start, %unrolled.length
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ %aligned.start, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, %unrolled.stop
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %i.offset = mul nuw i64 %i, 4
  %i.x = getelementptr i8, ptr %x, i64 %i.offset
  %i.out = getelementptr i8, ptr %out, i64 %i.offset
  %i.ahead0 = getelementptr i8, ptr %i.x, i64 2048
  call void @llvm.prefetch.p0(ptr %i.ahead0, i32 0, i32 3, i32 1)
  %i.ahead1 = getelementptr i8, ptr %i.x, i64 2112
  call void @llvm.prefetch.p0(ptr %i.ahead1, i32 0, i32 3, i32 1)
  %x0.at = getelementptr i8, ptr %i.x, i64 0
  %x0 = load <8 x i32>, ptr %x0.at, align 4
  %x1.at = getelementptr i8, ptr %i.x, i64 32
  %x1 = load <8 x i32>, ptr %x1.at, align 4
  %x2.at = getelementptr i8, ptr %i.x, i64 64
  %x2 = load <8 x i32>, ptr %x2.at, align 4
  %x3.at = getelementptr i8, ptr %i.x, i64 96
  %x3 = load <8 x i32>, ptr %x3.at, align 4
  %x0.distance = sub <8 x i32> %x0, splat (i32 -2147483648)
  %x0.negative = icmp ule <8 x i32> %x0.distance, splat (i32 2139095040)
  %x0.relu = select <8 x i1> %x0.negative, <8 x i32> zeroinitializer, <8 x i32> %x0
  %y0.at = getelementptr i8, ptr %i.out, i64 0
  store <8 x i32> %x0.relu, ptr %y0.at, align 32, !nontemporal !0
  %x1.distance = sub <8 x i32> %x1, splat (i32 -2147483648)
  %x1.negative = icmp ule <8 x i32> %x1.distance, splat (i32 2139095040)
  %x1.relu = select <8 x i1> %x1.negative, <8 x i32> zeroinitializer, <8 x i32> %x1
  %y1.at = getelementptr i8, ptr %i.out, i64 32
  store <8 x i32> %x1.relu, ptr %y1.at, align 32, !nontemporal !0
  %x2.distance = sub <8 x i32> %x2, splat (i32 -2147483648)
  %x2.negative = icmp ule <8 x i32> %x2.distance, splat (i32 2139095040)
  %x2.relu = select <8 x i1> %x2.negative, <8 x i32> zeroinitializer, <8 x i32> %x2
  %y2.at = getelementptr i8, ptr %i.out, i64 64
  store <8 x i32> %x2.relu, ptr %y2.at, align 32, !nontemporal !0
  %x3.distance = sub <8 x i32> %x3, splat (i32 -2147483648)
  %x3.negative = icmp ule <8 x i32> %x3.distance, splat (i32 2139095040)
  %x3.relu = select <8 x i1> %x3.negative, <8 x i32> zeroinitializer, <8 x i32> %x3
  %y3.at = getelementptr i8, ptr %i.out, i64 96
  store <8 x i32> %x3.relu, ptr %y3.at, align 32, !nontemporal !0
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 32
  br label %i.head
i.done:

  ; -- epilogue: whole vectors that are left, then the last one
  %whole.length = and i64 %length, -8
  %whole.stop = add nuw i64 %aligned.start, %whole.length
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ %unrolled.stop, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, %whole.stop
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %s.offset = mul nuw i64 %s, 4
  %s.x = getelementptr i8, ptr %x, i64 %s.offset
  %s.out = getelementptr i8, ptr %out, i64 %s.offset
  %s.v = load <8 x i32>, ptr %s.x, align 4
  %s.v.distance = sub <8 x i32> %s.v, splat (i32 -2147483648)
  %s.v.negative = icmp ule <8 x i32> %s.v.distance, splat (i32 2139095040)
  %s.v.relu = select <8 x i1> %s.v.negative, <8 x i32> zeroinitializer, <8 x i32> %s.v
  store <8 x i32> %s.v.relu, ptr %s.out, align 4
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 8
  br label %s.head
s.done:
  %last.start = sub nuw i64 %stop, 8
  %l.offset = mul nuw i64 %last.start, 4
  %l.x = getelementptr i8, ptr %x, i64 %l.offset
  %l.out = getelementptr i8, ptr %out, i64 %l.offset
  %l.v = load <8 x i32>, ptr %l.x, align 4
  %l.v.distance = sub <8 x i32> %l.v, splat (i32 -2147483648)
  %l.v.negative = icmp ule <8 x i32> %l.v.distance, splat (i32 2139095040)
  %l.v.relu = select <8 x i1> %l.v.negative, <8 x i32> zeroinitializer, <8 x i32> %l.v
  store <8 x i32> %l.v.relu, ptr %l.out, align 4
  ; what went past the caches is there for others from here on
  fence seq_cst
  ; -- exit
  ret void
}

declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{i32 1}
