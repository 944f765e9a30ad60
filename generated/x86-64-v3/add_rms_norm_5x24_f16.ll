; add_rms_norm_5x24_f16
;
; computes:  h = x + residual; out = rms_norm(h, w, 1e-05)
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=2730,unroll=4,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (model)
; launch:    1 task of up to 5 rows
; arguments: x: input f16[5, 24], strides [24, 1]
;            residual: input f16[5, 24], strides [24, 1]
;            w: input f16[24], strides [1]
;            h: output f16[5, 24], strides [24, 1]
;            out: output f16[5, 24], strides [24, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @add_rms_norm_5x24_f16(ptr %x.ptr, ptr %residual.ptr, ptr %w.ptr, ptr %h.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %row.start = mul nuw i64 %begin, 2730
  %row.stop.tasks = mul nuw i64 %end, 2730
  %row.stop.less = icmp ult i64 %row.stop.tasks, 5
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 5
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %row.start, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %row.stop
  br i1 %row.more, label %row.body, label %row.done
row.body:

  %x.row.term0 = mul nuw i64 %row, 48
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %residual.row.term0 = mul nuw i64 %row, 48
  %residual.row = getelementptr i8, ptr %residual.ptr, i64 %residual.row.term0
  %h.row.term0 = mul nuw i64 %row, 48
  %h.row = getelementptr i8, ptr %h.ptr, i64 %h.row.term0
  %out.row.term0 = mul nuw i64 %row, 48
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- mainloop: sum = sum((x + residual) * (x + residual))
  br label %sum.s.enter
sum.s.enter:
  br label %sum.s.head
sum.s.head:
  %sum.s = phi i64 [ 0, %sum.s.enter ], [ %sum.s.after, %sum.s.latch ]
  %sum.s0.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.s.enter ], [ %sum.s0.fold.sum.next, %sum.s.latch ]
  %sum.s.more = icmp ult i64 %sum.s, 24
  br i1 %sum.s.more, label %sum.s.body, label %sum.s.done
sum.s.body:
  %sum.s0.x.at = getelementptr i16, ptr %x.row, i64 %sum.s
  %sum.s0.x.bits = load <8 x i16>, ptr %sum.s0.x.at, align 2
  %sum.s0.x.half = bitcast <8 x i16> %sum.s0.x.bits to <8 x half>
  %sum.s0.x = fpext <8 x half> %sum.s0.x.half to <8 x float>
  %sum.s0.residual.at = getelementptr i16, ptr %residual.row, i64 %sum.s
  %sum.s0.residual.bits = load <8 x i16>, ptr %sum.s0.residual.at, align 2
  %sum.s0.residual.half = bitcast <8 x i16> %sum.s0.residual.bits to <8 x half>
  %sum.s0.residual = fpext <8 x half> %sum.s0.residual.half to <8 x float>
  %sum.s0_add = fadd <8 x float> %sum.s0.x, %sum.s0.residual
  %sum.s0.fold.sum.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum.s0_add, <8 x float> %sum.s0_add, <8 x float> %sum.s0.fold.sum)
  br label %sum.s.latch
sum.s.latch:
  %sum.s.after = add nuw i64 %sum.s, 8
  br label %sum.s.head, !llvm.loop !1
sum.s.done:
  %sum.by4 = shufflevector <8 x float> %sum.s0.fold.sum, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %sum.by4.folded = fadd <8 x float> %sum.s0.fold.sum, %sum.by4
  %sum.by2 = shufflevector <8 x float> %sum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %sum.by2.folded = fadd <8 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <8 x float> %sum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.sum = fadd <8 x float> %sum.by2.folded, %sum.by1

  ; ---- epilogue: h = x + residual; out = rms_norm(h, w, 1e-05)
  %row1_mul = fmul <8 x float> %row.sum, splat (float 0x3FA5555560000000)
  %row1_add = fadd <8 x float> %row1_mul, splat (float 0x3EE4F8B580000000)
  %row1_rsqrt.root = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %row1_add)
  %row1_rsqrt = fdiv <8 x float> splat (float 0x3FF0000000000000), %row1_rsqrt.root
  br label %out.s.enter
out.s.enter:
  br label %out.s.head
out.s.head:
  %out.s = phi i64 [ 0, %out.s.enter ], [ %out.s.after, %out.s.latch ]
  %out.s.more = icmp ult i64 %out.s, 24
  br i1 %out.s.more, label %out.s.body, label %out.s.done
out.s.body:
  %out.s0.x.at = getelementptr i16, ptr %x.row, i64 %out.s
  %out.s0.x.bits = load <8 x i16>, ptr %out.s0.x.at, align 2
  %out.s0.x.half = bitcast <8 x i16> %out.s0.x.bits to <8 x half>
  %out.s0.x = fpext <8 x half> %out.s0.x.half to <8 x float>
  %out.s0.residual.at = getelementptr i16, ptr %residual.row, i64 %out.s
  %out.s0.residual.bits = load <8 x i16>, ptr %out.s0.residual.at, align 2
  %out.s0.residual.half = bitcast <8 x i16> %out.s0.residual.bits to <8 x half>
  %out.s0.residual = fpext <8 x half> %out.s0.residual.half to <8 x float>
  %out.s0.w.at = getelementptr i16, ptr %w.ptr, i64 %out.s
  %out.s0.w.bits = load <8 x i16>, ptr %out.s0.w.at, align 2
  %out.s0.w.half = bitcast <8 x i16> %out.s0.w.bits to <8 x half>
  %out.s0.w = fpext <8 x half> %out.s0.w.half to <8 x float>
  %out.s0_add = fadd <8 x float> %out.s0.x, %out.s0.residual
  %out.s0_mul = fmul <8 x float> %out.s0_add, %row1_rsqrt
  %out.s0_mul2 = fmul <8 x float> %out.s0_mul, %out.s0.w
  %out.s0.h.at = getelementptr i16, ptr %h.row, i64 %out.s
  %out.s0.h.stored.half = fptrunc <8 x float> %out.s0_add to <8 x half>
  %out.s0.h.stored = bitcast <8 x half> %out.s0.h.stored.half to <8 x i16>
  store <8 x i16> %out.s0.h.stored, ptr %out.s0.h.at, align 2
  %out.s0.out.at = getelementptr i16, ptr %out.row, i64 %out.s
  %out.s0.out.stored.half = fptrunc <8 x float> %out.s0_mul2 to <8 x half>
  %out.s0.out.stored = bitcast <8 x half> %out.s0.out.stored.half to <8 x i16>
  store <8 x i16> %out.s0.out.stored, ptr %out.s0.out.at, align 2
  br label %out.s.latch
out.s.latch:
  %out.s.after = add nuw i64 %out.s, 8
  br label %out.s.head, !llvm.loop !1
out.s.done:
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

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
