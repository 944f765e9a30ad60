; scatter_2x1x8_f32
;
; computes:  out = scatter(cache, pos, rows, 1)
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=8192,unroll=1,nontemporal=0,prefetch=2048 (user)
; launch:    1 task of up to 2 rows
; arguments: cache: input f32[2, 12, 8], strides [96, 8, 1]
;            pos: input s64[1], strides [1]
;            rows: input f32[2, 1, 8], strides [8, 8, 1]
;            out: output f32[2, 12, 8], strides [96, 8, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @scatter_2x1x8_f32(ptr %cache.ptr, ptr %pos.ptr, ptr %rows.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 8192
  %end.unit.tasks = mul nuw i64 %end, 8192
  %end.unit.less = icmp ult i64 %end.unit.tasks, 2
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 2
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %begin.unit, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %end.unit
  br i1 %r.more, label %r.body, label %r.done
r.body:

  %pos.index = load i64, ptr %pos.ptr, align 8
  %within_1.negative = icmp slt i64 %pos.index, 0
  %within_1.behind = add i64 %pos.index, 12
  %within_1.place = select i1 %within_1.negative, i64 %within_1.behind, i64 %pos.index
  %within_1.holds = icmp ult i64 %within_1.place, 12
  %within_1.all.first = insertelement <8 x i1> poison, i1 %within_1.holds, i32 0
  %within_1.all = shufflevector <8 x i1> %within_1.all.first, <8 x i1> poison, <8 x i32> zeroinitializer
  %rows.row.term0 = mul nuw i64 %r, 32
  %rows.row = getelementptr i8, ptr %rows.ptr, i64 %rows.row.term0
  %out.term0 = mul i64 %r, 384
  %out.term1 = mul i64 %within_1.place, 32
  %out.sum1 = add i64 %out.term0, %out.term1
  %out.guarded0 = select i1 %within_1.holds, i64 %out.sum1, i64 0
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.guarded0
  ; an index outside the tensor stores nothing
  br i1 %within_1.holds, label %row.do, label %row.done
row.do:

  ; ---- mainloop: 1 vectors of 8 elements per step
  %unrolled.length = and i64 8, -8
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, %unrolled.length
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %u0.rows.at = getelementptr float, ptr %rows.row, i64 %i
  %u0.out.at = getelementptr float, ptr %out.row, i64 %i
  %u0.rows = load <8 x float>, ptr %u0.rows.at, align 4

  store <8 x float> %u0.rows, ptr %u0.out.at, align 4
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 8
  br label %i.head
i.done:
  br label %row.done
row.done:
  br label %r.latch
r.latch:
  %r.after = add nuw i64 %r, 1
  br label %r.head
r.done:
  ; ---- exit
  ret void
}

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
