; layer_norm_2x3x4x10_3x4x1_3x4x1_axes2_f32
;
; computes:  out = layer_norm(x, scale, shift, 1e-05)
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=1638,unroll=4,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (model)
; launch:    1 task of up to 6 rows
; arguments: x: input f32[2, 3, 4, 10], strides [120, 40, 10, 1]
;            scale: input f32[3, 4, 1], strides [4, 1, 1]
;            shift: input f32[3, 4, 1], strides [4, 1, 1]
;            out: output f32[2, 3, 4, 10], strides [120, 40, 10, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @layer_norm_2x3x4x10_3x4x1_3x4x1_axes2_f32(ptr %x.ptr, ptr %scale.ptr, ptr %shift.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %row.start = mul nuw i64 %begin, 1638
  %row.stop.tasks = mul nuw i64 %end, 1638
  %row.stop.less = icmp ult i64 %row.stop.tasks, 6
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 6
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %row.start, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %row.stop
  br i1 %row.more, label %row.body, label %row.done
row.body:
  %row.at0 = udiv i64 %row, 3
  %row.at1 = urem i64 %row, 3
  %x.row.term0 = mul nuw i64 %row.at0, 480
  %x.row0 = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %x.row.term1 = mul nuw i64 %row.at1, 160
  %x.row = getelementptr i8, ptr %x.row0, i64 %x.row.term1
  %scale.row.term0 = mul nuw i64 %row.at1, 16
  %scale.row = getelementptr i8, ptr %scale.ptr, i64 %scale.row.term0
  %shift.row.term0 = mul nuw i64 %row.at1, 16
  %shift.row = getelementptr i8, ptr %shift.ptr, i64 %shift.row.term0
  %out.row.term0 = mul nuw i64 %row, 160
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- mainloop: sum = sum(x)
  br label %sum.line.enter
sum.line.enter:
  br label %sum.line.head
sum.line.head:
  %sum.line = phi i64 [ 0, %sum.line.enter ], [ %sum.line.after, %sum.line.latch ]
  %sum.line.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.line.enter ], [ %sum.t0.fold.sum, %sum.line.latch ]
  %sum.line.more = icmp ult i64 %sum.line, 4
  br i1 %sum.line.more, label %sum.line.body, label %sum.line.done
sum.line.body:

  %sum.line.x.at.term0 = mul nuw i64 %sum.line, 40
  %sum.line.x.at = getelementptr i8, ptr %x.row, i64 %sum.line.x.at.term0
  br label %sum.s.enter
sum.s.enter:
  br label %sum.s.head
sum.s.head:
  %sum.s = phi i64 [ 0, %sum.s.enter ], [ %sum.s.after, %sum.s.latch ]
  %sum.s0.fold.sum = phi <8 x float> [ %sum.line.fold.sum, %sum.s.enter ], [ %sum.s0.fold.sum.next, %sum.s.latch ]
  %sum.s.more = icmp ult i64 %sum.s, 8
  br i1 %sum.s.more, label %sum.s.body, label %sum.s.done
sum.s.body:
  %sum.s0.x.at = getelementptr float, ptr %sum.line.x.at, i64 %sum.s
  %sum.s0.x = load <8 x float>, ptr %sum.s0.x.at, align 4
  %sum.s0.fold.sum.next = fadd <8 x float> %sum.s0.x, %sum.s0.fold.sum
  br label %sum.s.latch
sum.s.latch:
  %sum.s.after = add nuw i64 %sum.s, 8
  br label %sum.s.head, !llvm.loop !1
sum.s.done:
  %sum.t0.x.at = getelementptr float, ptr %sum.line.x.at, i64 8
  %sum.t0.x = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %sum.t0.x.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %sum.t0.fold.sum.there = select <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> %sum.t0.x, <8 x float> splat (float 0x0000000000000000)
  %sum.t0.fold.sum = fadd <8 x float> %sum.t0.fold.sum.there, %sum.s0.fold.sum
  br label %sum.line.latch
sum.line.latch:
  %sum.line.after = add nuw i64 %sum.line, 1
  br label %sum.line.head
sum.line.done:
  %sum.by4 = shufflevector <8 x float> %sum.line.fold.sum, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %sum.by4.folded = fadd <8 x float> %sum.line.fold.sum, %sum.by4
  %sum.by2 = shufflevector <8 x float> %sum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %sum.by2.folded = fadd <8 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <8 x float> %sum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.sum = fadd <8 x float> %sum.by2.folded, %sum.by1

  ; ---- mainloop: sum2 = sum((x - sum * 0.025) * (x - sum * 0.025))
  %row1_mul = fmul <8 x float> %row.sum, splat (float 0x3F999999A0000000)
  br label %sum2.line.enter
sum2.line.enter:
  br label %sum2.line.head
sum2.line.head:
  %sum2.line = phi i64 [ 0, %sum2.line.enter ], [ %sum2.line.after, %sum2.line.latch ]
  %sum2.line.fold.sum2 = phi <8 x float> [ splat (float 0x0000000000000000), %sum2.line.enter ], [ %sum2.t0.fold.sum2, %sum2.line.latch ]
  %sum2.line.more = icmp ult i64 %sum2.line, 4
  br i1 %sum2.line.more, label %sum2.line.body, label %sum2.line.done
sum2.line.body:

  %sum2.line.x.at.term0 = mul nuw i64 %sum2.line, 40
  %sum2.line.x.at = getelementptr i8, ptr %x.row, i64 %sum2.line.x.at.term0
  br label %sum2.s.enter
sum2.s.enter:
  br label %sum2.s.head
sum2.s.head:
  %sum2.s = phi i64 [ 0, %sum2.s.enter ], [ %sum2.s.after, %sum2.s.latch ]
  %sum2.s0.fold.sum2 = phi <8 x float> [ %sum2.line.fold.sum2, %sum2.s.enter ], [ %sum2.s0.fold.sum2.next, %sum2.s.latch ]
  %sum2.s.more = icmp ult i64 %sum2.s, 8
  br i1 %sum2.s.more, label %sum2.s.body, label %sum2.s.done
sum2.s.body:
  %sum2.s0.x.at = getelementptr float, ptr %sum2.line.x.at, i64 %sum2.s
  %sum2.s0.x = load <8 x float>, ptr %sum2.s0.x.at, align 4
  %sum2.s0_sub = fsub <8 x float> %sum2.s0.x, %row1_mul
  %sum2.s0.fold.sum2.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum2.s0_sub, <8 x float> %sum2.s0_sub, <8 x float> %sum2.s0.fold.sum2)
  br label %sum2.s.latch
sum2.s.latch:
  %sum2.s.after = add nuw i64 %sum2.s, 8
  br label %sum2.s.head, !llvm.loop !1
sum2.s.done:
  %sum2.t0.x.at = getelementptr float, ptr %sum2.line.x.at, i64 8
  %sum2.t0.x = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %sum2.t0.x.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %sum2.t0_sub = fsub <8 x float> %sum2.t0.x, %row1_mul
  %sum2.t0_mul = fmul <8 x float> %sum2.t0_sub, %sum2.t0_sub
  %sum2.t0.fold.sum2.there = select <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> %sum2.t0_mul, <8 x float> splat (float 0x0000000000000000)
  %sum2.t0.fold.sum2 = fadd <8 x float> %sum2.t0.fold.sum2.there, %sum2.s0.fold.sum2
  br label %sum2.line.latch
sum2.line.latch:
  %sum2.line.after = add nuw i64 %sum2.line, 1
  br label %sum2.line.head
sum2.line.done:
  %sum2.by4 = shufflevector <8 x float> %sum2.line.fold.sum2, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %sum2.by4.folded = fadd <8 x float> %sum2.line.fold.sum2, %sum2.by4
  %sum2.by2 = shufflevector <8 x float> %sum2.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %sum2.by2.folded = fadd <8 x float> %sum2.by4.folded, %sum2.by2
  %sum2.by1 = shufflevector <8 x float> %sum2.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.sum2 = fadd <8 x float> %sum2.by2.folded, %sum2.by1

  ; ---- epilogue: out = layer_norm(x, scale, shift, 1e-05)
  %row2_mul = fmul <8 x float> %row.sum2, splat (float 0x3F999999A0000000)
  %row2_add = fadd <8 x float> %row2_mul, splat (float 0x3EE4F8B580000000)
  %row2_rsqrt.root = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %row2_add)
  %row2_rsqrt = fdiv <8 x float> splat (float 0x3FF0000000000000), %row2_rsqrt.root
  br label %out.line.enter
out.line.enter:
  br label %out.line.head
out.line.head:
  %out.line = phi i64 [ 0, %out.line.enter ], [ %out.line.after, %out.line.latch ]
  %out.line.more = icmp ult i64 %out.line, 4
  br i1 %out.line.more, label %out.line.body, label %out.line.done
out.line.body:

  %out.line.start = mul nuw i64 %out.line, 10
  %out.line.x.at.term0 = mul nuw i64 %out.line, 40
  %out.line.x.at = getelementptr i8, ptr %x.row, i64 %out.line.x.at.term0
  %out.line.scale.at.term0 = mul nuw i64 %out.line, 4
  %out.line.scale.at = getelementptr i8, ptr %scale.row, i64 %out.line.scale.at.term0
  %out.line.scale.all.one.scalar = load float, ptr %out.line.scale.at, align 4
  %out.line.scale.all.one = insertelement <8 x float> zeroinitializer, float %out.line.scale.all.one.scalar, i32 0
  %out.line.scale.all = shufflevector <8 x float> %out.line.scale.all.one, <8 x float> poison, <8 x i32> zeroinitializer
  %out.line.shift.at.term0 = mul nuw i64 %out.line, 4
  %out.line.shift.at = getelementptr i8, ptr %shift.row, i64 %out.line.shift.at.term0
  %out.line.shift.all.one.scalar = load float, ptr %out.line.shift.at, align 4
  %out.line.shift.all.one = insertelement <8 x float> zeroinitializer, float %out.line.shift.all.one.scalar, i32 0
  %out.line.shift.all = shufflevector <8 x float> %out.line.shift.all.one, <8 x float> poison, <8 x i32> zeroinitializer
  br label %out.s.enter
out.s.enter:
  br label %out.s.head
out.s.head:
  %out.s = phi i64 [ 0, %out.s.enter ], [ %out.s.after, %out.s.latch ]
  %out.s.more = icmp ult i64 %out.s, 8
  br i1 %out.s.more, label %out.s.body, label %out.s.done
out.s.body:
  %out.s0.column.place = add nuw i64 %out.line.start, %out.s
  %out.s0.x.at = getelementptr float, ptr %out.line.x.at, i64 %out.s
  %out.s0.x = load <8 x float>, ptr %out.s0.x.at, align 4
  %out.s0_sub = fsub <8 x float> %out.s0.x, %row1_mul
  %out.s0_mul = fmul <8 x float> %out.s0_sub, %row2_rsqrt
  %out.s0_mul2 = fmul <8 x float> %out.s0_mul, %out.line.scale.all
  %out.s0_add = fadd <8 x float> %out.s0_mul2, %out.line.shift.all
  %out.s0.out.at = getelementptr float, ptr %out.row, i64 %out.s0.column.place
  store <8 x float> %out.s0_add, ptr %out.s0.out.at, align 4
  br label %out.s.latch
out.s.latch:
  %out.s.after = add nuw i64 %out.s, 8
  br label %out.s.head, !llvm.loop !1
out.s.done:
  %out.t0.column.place = add nuw i64 %out.line.start, 8
  %out.t0.x.at = getelementptr float, ptr %out.line.x.at, i64 8
  %out.t0.x = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %out.t0.x.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %out.t0_sub = fsub <8 x float> %out.t0.x, %row1_mul
  %out.t0_mul = fmul <8 x float> %out.t0_sub, %row2_rsqrt
  %out.t0_mul2 = fmul <8 x float> %out.t0_mul, %out.line.scale.all
  %out.t0_add = fadd <8 x float> %out.t0_mul2, %out.line.shift.all
  %out.t0.out.at = getelementptr float, ptr %out.row, i64 %out.t0.column.place
  %out.t0.out.part0 = shufflevector <8 x float> %out.t0_add, <8 x float> poison, <2 x i32> <i32 0, i32 1>
  store <2 x float> %out.t0.out.part0, ptr %out.t0.out.at, align 4
  br label %out.line.latch
out.line.latch:
  %out.line.after = add nuw i64 %out.line, 1
  br label %out.line.head
out.line.done:
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
