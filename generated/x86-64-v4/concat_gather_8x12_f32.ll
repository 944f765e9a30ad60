; concat_gather_8x12_f32
;
; computes:  out = concat(transpose(x), gather(table, index, 0), 0)
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=5461,unroll=1,nontemporal=0,prefetch=2048 (user)
; launch:    1 task of up to 8 rows
; arguments: x: input f32[12, 5], strides [5, 1]
;            table: input f32[9, 12], strides [12, 1]
;            index: input s32[3], strides [1]
;            out: output f32[8, 12], strides [12, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @concat_gather_8x12_f32(ptr %x.ptr, ptr %table.ptr, ptr %index.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 5461
  %end.unit.tasks = mul nuw i64 %end, 5461
  %end.unit.less = icmp ult i64 %end.unit.tasks, 8
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 8
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %begin.unit, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %end.unit
  br i1 %r.more, label %r.body, label %r.done
r.body:

  %within_1.past = sub i64 %r, 5
  %within_1.holds = icmp ult i64 %within_1.past, 3
  %within_1.all.first = insertelement <16 x i1> poison, i1 %within_1.holds, i32 0
  %within_1.all = shufflevector <16 x i1> %within_1.all.first, <16 x i1> poison, <16 x i32> zeroinitializer
  %index_2.term0 = mul i64 %r, 4
  %index_2.sum0 = add i64 -20, %index_2.term0
  %index_2.guarded0 = select i1 %within_1.holds, i64 %index_2.sum0, i64 0
  %index_2.row = getelementptr i8, ptr %index.ptr, i64 %index_2.guarded0
  %index_2.stored = load i32, ptr %index_2.row, align 4
  %index_2.index = sext i32 %index_2.stored to i64
  %within_2.negative = icmp slt i64 %index_2.index, 0
  %within_2.behind = add i64 %index_2.index, 9
  %within_2.place = select i1 %within_2.negative, i64 %within_2.behind, i64 %index_2.index
  %within_2.holds = icmp ult i64 %within_2.place, 9
  %within_2.all.first = insertelement <16 x i1> poison, i1 %within_2.holds, i32 0
  %within_2.all = shufflevector <16 x i1> %within_2.all.first, <16 x i1> poison, <16 x i32> zeroinitializer
  %within_3.holds = icmp ult i64 %r, 5
  %within_3.all.first = insertelement <16 x i1> poison, i1 %within_3.holds, i32 0
  %within_3.all = shufflevector <16 x i1> %within_3.all.first, <16 x i1> poison, <16 x i32> zeroinitializer
  %x.term0 = mul i64 %r, 4
  %x.guarded0 = select i1 %within_3.holds, i64 %x.term0, i64 0
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.guarded0
  %table.term0 = mul i64 %within_2.place, 48
  %table.guarded0 = select i1 %within_1.holds, i64 %table.term0, i64 0
  %table.guarded1 = select i1 %within_2.holds, i64 %table.guarded0, i64 0
  %table.row = getelementptr i8, ptr %table.ptr, i64 %table.guarded1
  %out.row.offset = mul nuw i64 %r, 48
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.offset

  ; ---- epilogue: the last 12 elements of a row
  %has.tail = icmp ult i64 0, 12
  br i1 %has.tail, label %t.do, label %t.done
t.do:
  br label %t.x.enter
t.x.enter:
  br i1 %within_3.holds, label %t.x.do, label %t.x.done
t.x.do:
  %t.x.read.s0 = load float, ptr %x.row, align 4
  %t.x.read.v1 = insertelement <16 x float> zeroinitializer, float %t.x.read.s0, i32 0
  %t.x.read.p1 = getelementptr i8, ptr %x.row, i64 20
  %t.x.read.s1 = load float, ptr %t.x.read.p1, align 4
  %t.x.read.v2 = insertelement <16 x float> %t.x.read.v1, float %t.x.read.s1, i32 1
  %t.x.read.p2 = getelementptr i8, ptr %x.row, i64 40
  %t.x.read.s2 = load float, ptr %t.x.read.p2, align 4
  %t.x.read.v3 = insertelement <16 x float> %t.x.read.v2, float %t.x.read.s2, i32 2
  %t.x.read.p3 = getelementptr i8, ptr %x.row, i64 60
  %t.x.read.s3 = load float, ptr %t.x.read.p3, align 4
  %t.x.read.v4 = insertelement <16 x float> %t.x.read.v3, float %t.x.read.s3, i32 3
  %t.x.read.p4 = getelementptr i8, ptr %x.row, i64 80
  %t.x.read.s4 = load float, ptr %t.x.read.p4, align 4
  %t.x.read.v5 = insertelement <16 x float> %t.x.read.v4, float %t.x.read.s4, i32 4
  %t.x.read.p5 = getelementptr i8, ptr %x.row, i64 100
  %t.x.read.s5 = load float, ptr %t.x.read.p5, align 4
  %t.x.read.v6 = insertelement <16 x float> %t.x.read.v5, float %t.x.read.s5, i32 5
  %t.x.read.p6 = getelementptr i8, ptr %x.row, i64 120
  %t.x.read.s6 = load float, ptr %t.x.read.p6, align 4
  %t.x.read.v7 = insertelement <16 x float> %t.x.read.v6, float %t.x.read.s6, i32 6
  %t.x.read.p7 = getelementptr i8, ptr %x.row, i64 140
  %t.x.read.s7 = load float, ptr %t.x.read.p7, align 4
  %t.x.read.v8 = insertelement <16 x float> %t.x.read.v7, float %t.x.read.s7, i32 7
  %t.x.read.p8 = getelementptr i8, ptr %x.row, i64 160
  %t.x.read.s8 = load float, ptr %t.x.read.p8, align 4
  %t.x.read.v9 = insertelement <16 x float> %t.x.read.v8, float %t.x.read.s8, i32 8
  %t.x.read.p9 = getelementptr i8, ptr %x.row, i64 180
  %t.x.read.s9 = load float, ptr %t.x.read.p9, align 4
  %t.x.read.v10 = insertelement <16 x float> %t.x.read.v9, float %t.x.read.s9, i32 9
  %t.x.read.p10 = getelementptr i8, ptr %x.row, i64 200
  %t.x.read.s10 = load float, ptr %t.x.read.p10, align 4
  %t.x.read.v11 = insertelement <16 x float> %t.x.read.v10, float %t.x.read.s10, i32 10
  %t.x.read.p11 = getelementptr i8, ptr %x.row, i64 220
  %t.x.read.s11 = load float, ptr %t.x.read.p11, align 4
  %t.x.read = insertelement <16 x float> %t.x.read.v11, float %t.x.read.s11, i32 11
  br label %t.x.done
t.x.done:
  %t.x = phi <16 x float> [ %t.x.read, %t.x.do ], [ zeroinitializer, %t.x.enter ]
  %t.table = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %table.row, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %t.result_select = select <16 x i1> %within_2.all, <16 x float> %t.table, <16 x float> splat (float 0x0000000000000000)
  %t.result = select <16 x i1> %within_3.all, <16 x float> %t.x, <16 x float> %t.result_select
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

declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
