; relu_3x1000_f32
;
; computes:  out = relu(x)
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=65536,unroll=4,nontemporal=1,prefetch=2048 (user)
; launch:    1 task of up to 3000 elements
; method:    non-temporal stores of aligned vectors; the first and the last vector of a range are ordinary stores
;              that overlap their neighbours
; arguments: x: input f32[3, 1000], strides [1000, 1]
;            out: output f32[3, 1000], strides [1000, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @relu_3x1000_f32(ptr %x.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 65536
  %end.unit.tasks = mul nuw i64 %end, 65536
  %end.unit.less = icmp ult i64 %end.unit.tasks, 3000
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 3000

  ; ---- prologue: the first vector, which contain the first aligned address
  %f.x.at = getelementptr float, ptr %x.ptr, i64 %begin.unit
  %f.out.at = getelementptr float, ptr %out.ptr, i64 %begin.unit
  %f.x = load <8 x float>, ptr %f.x.at, align 4
  %f.result_less_equal = fcmp ole <8 x float> %f.x, splat (float 0x0000000000000000)
  %f.result = select <8 x i1> %f.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %f.x
  store <8 x float> %f.result, ptr %f.out.at, align 4
  %address = ptrtoint ptr %f.out.at to i64
  %address.minus = sub i64 0, %address
  %gap.bytes = and i64 %address.minus, 31
  %gap = lshr i64 %gap.bytes, 2
  %aligned.start = add nuw i64 %begin.unit, %gap
  %length = sub nuw i64 %end.unit, %aligned.start
  %unrolled.length = and i64 %length, -32
  %unrolled.stop = add nuw i64 %aligned.start, %unrolled.length
  %whole.length = and i64 %length, -8
  %whole.stop = add nuw i64 %aligned.start, %whole.length

  ; ---- mainloop: 4 vectors of 8 elements per step
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ %aligned.start, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, %unrolled.stop
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %u0.x.at = getelementptr float, ptr %x.ptr, i64 %i
  %u0.out.at = getelementptr float, ptr %out.ptr, i64 %i
  %x.ahead0 = getelementptr i8, ptr %u0.x.at, i64 2048
  call void @llvm.prefetch.p0(ptr %x.ahead0, i32 0, i32 3, i32 1)
  %x.ahead1 = getelementptr i8, ptr %u0.x.at, i64 2112
  call void @llvm.prefetch.p0(ptr %x.ahead1, i32 0, i32 3, i32 1)
  %u0.x = load <8 x float>, ptr %u0.x.at, align 4
  %u1.first.i = add nuw i64 %i, 8
  %u1.x.at = getelementptr float, ptr %x.ptr, i64 %u1.first.i
  %u1.out.at = getelementptr float, ptr %out.ptr, i64 %u1.first.i
  %u1.x = load <8 x float>, ptr %u1.x.at, align 4
  %u2.first.i = add nuw i64 %i, 16
  %u2.x.at = getelementptr float, ptr %x.ptr, i64 %u2.first.i
  %u2.out.at = getelementptr float, ptr %out.ptr, i64 %u2.first.i
  %u2.x = load <8 x float>, ptr %u2.x.at, align 4
  %u3.first.i = add nuw i64 %i, 24
  %u3.x.at = getelementptr float, ptr %x.ptr, i64 %u3.first.i
  %u3.out.at = getelementptr float, ptr %out.ptr, i64 %u3.first.i
  %u3.x = load <8 x float>, ptr %u3.x.at, align 4
  %u0.result_less_equal = fcmp ole <8 x float> %u0.x, splat (float 0x0000000000000000)
  %u0.result = select <8 x i1> %u0.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %u0.x
  store <8 x float> %u0.result, ptr %u0.out.at, align 32, !nontemporal !0
  %u1.result_less_equal = fcmp ole <8 x float> %u1.x, splat (float 0x0000000000000000)
  %u1.result = select <8 x i1> %u1.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %u1.x
  store <8 x float> %u1.result, ptr %u1.out.at, align 32, !nontemporal !0
  %u2.result_less_equal = fcmp ole <8 x float> %u2.x, splat (float 0x0000000000000000)
  %u2.result = select <8 x i1> %u2.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %u2.x
  store <8 x float> %u2.result, ptr %u2.out.at, align 32, !nontemporal !0
  %u3.result_less_equal = fcmp ole <8 x float> %u3.x, splat (float 0x0000000000000000)
  %u3.result = select <8 x i1> %u3.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %u3.x
  store <8 x float> %u3.result, ptr %u3.out.at, align 32, !nontemporal !0
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 32
  br label %i.head
i.done:

  ; ---- epilogue: remaining whole vectors, then the last one
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ %unrolled.stop, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, %whole.stop
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %w.x.at = getelementptr float, ptr %x.ptr, i64 %s
  %w.out.at = getelementptr float, ptr %out.ptr, i64 %s
  %w.x = load <8 x float>, ptr %w.x.at, align 4
  %w.result_less_equal = fcmp ole <8 x float> %w.x, splat (float 0x0000000000000000)
  %w.result = select <8 x i1> %w.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %w.x
  store <8 x float> %w.result, ptr %w.out.at, align 4
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 8
  br label %s.head
s.done:
  %last.start = sub nuw i64 %end.unit, 8
  %l.x.at = getelementptr float, ptr %x.ptr, i64 %last.start
  %l.out.at = getelementptr float, ptr %out.ptr, i64 %last.start
  %l.x = load <8 x float>, ptr %l.x.at, align 4
  %l.result_less_equal = fcmp ole <8 x float> %l.x, splat (float 0x0000000000000000)
  %l.result = select <8 x i1> %l.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %l.x
  store <8 x float> %l.result, ptr %l.out.at, align 4
  ; non-temporal stores are visible to other threads from here on
  fence seq_cst
  ; ---- exit
  ret void
}

declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{i32 1}
