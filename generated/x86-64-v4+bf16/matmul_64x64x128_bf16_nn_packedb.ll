; matmul_64x64x128_bf16_nn_packedb
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v4+bf16, x86_64; requires abm avx avx2 avx512_bf16 avx512bw avx512cd avx512dq avx512f
;              avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=dot,mr=4,nr=32,mc=64,kc=128,nc=64,pack_a=0,pack_b=0,ahead=0,keep_b=0,packing_ahead=8 (user)
; launch:    1 task of up to 64 x 64 outputs; 1 x 1 blocks
; method:    BLIS blocking with vdpbf16ps, 2 of K per instruction: a task computes an mc x nc block of out, kc of
;              K at a time; for each panel of nr columns of B, packed in groups of 2 of K, it visits every mr
;              rows of A, with mr x nr accumulators in registers
; arguments: a: input bf16[64, 128], strides [128, 1]
;            b: input bf16[4, 64, 16, 2], strides [2048, 32, 2, 1], prepacked: (k, n) at [n / 16][k / 2][n %
;              16][k % 2], zero past K and N
;            out: output bf16[64, 64], strides [64, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_4x32(ptr noalias %a, ptr noalias %b, ptr noalias %out) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m1_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m2_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m3_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m3_n1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 64
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.stored = load <32 x i16>, ptr %k.b, align 2
  %b_n1.at = getelementptr i8, ptr %k.b, i64 4096
  %b_n1.stored = load <32 x i16>, ptr %b_n1.at, align 2
  %b_n0 = bitcast <32 x i16> %b_n0.stored to <32 x bfloat>
  %b_n1 = bitcast <32 x i16> %b_n1.stored to <32 x bfloat>
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 2
  %a_m0.bits.first = insertelement <16 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <16 x i32> %a_m0.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m0 = bitcast <16 x i32> %a_m0.bits to <32 x bfloat>
  %sum_m0_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m0_n0, <32 x bfloat> %a_m0, <32 x bfloat> %b_n0)
  %sum_m0_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m0_n1, <32 x bfloat> %a_m0, <32 x bfloat> %b_n1)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 256
  %a_m1.group = load i32, ptr %a_m1.at, align 2
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <32 x bfloat>
  %sum_m1_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m1_n0, <32 x bfloat> %a_m1, <32 x bfloat> %b_n0)
  %sum_m1_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m1_n1, <32 x bfloat> %a_m1, <32 x bfloat> %b_n1)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 512
  %a_m2.group = load i32, ptr %a_m2.at, align 2
  %a_m2.bits.first = insertelement <16 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <16 x i32> %a_m2.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m2 = bitcast <16 x i32> %a_m2.bits to <32 x bfloat>
  %sum_m2_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m2_n0, <32 x bfloat> %a_m2, <32 x bfloat> %b_n0)
  %sum_m2_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m2_n1, <32 x bfloat> %a_m2, <32 x bfloat> %b_n1)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 768
  %a_m3.group = load i32, ptr %a_m3.at, align 2
  %a_m3.bits.first = insertelement <16 x i32> poison, i32 %a_m3.group, i32 0
  %a_m3.bits = shufflevector <16 x i32> %a_m3.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m3 = bitcast <16 x i32> %a_m3.bits to <32 x bfloat>
  %sum_m3_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m3_n0, <32 x bfloat> %a_m3, <32 x bfloat> %b_n0)
  %sum_m3_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m3_n1, <32 x bfloat> %a_m3, <32 x bfloat> %b_n1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head, !llvm.loop !0
k.done:
  ; ---- epilogue
  %sum_m0_n0.stored.bfloat = fptrunc <16 x float> %sum_m0_n0 to <16 x bfloat>
  %sum_m0_n0.stored = bitcast <16 x bfloat> %sum_m0_n0.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m0_n0.stored, ptr %out, align 2
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m0_n1.stored.bfloat = fptrunc <16 x float> %sum_m0_n1 to <16 x bfloat>
  %sum_m0_n1.stored = bitcast <16 x bfloat> %sum_m0_n1.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m0_n1.stored, ptr %sum_m0_n1.out.at, align 2
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 128
  %sum_m1_n0.stored.bfloat = fptrunc <16 x float> %sum_m1_n0 to <16 x bfloat>
  %sum_m1_n0.stored = bitcast <16 x bfloat> %sum_m1_n0.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m1_n0.stored, ptr %sum_m1_n0.out.at, align 2
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 160
  %sum_m1_n1.stored.bfloat = fptrunc <16 x float> %sum_m1_n1 to <16 x bfloat>
  %sum_m1_n1.stored = bitcast <16 x bfloat> %sum_m1_n1.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m1_n1.stored, ptr %sum_m1_n1.out.at, align 2
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 256
  %sum_m2_n0.stored.bfloat = fptrunc <16 x float> %sum_m2_n0 to <16 x bfloat>
  %sum_m2_n0.stored = bitcast <16 x bfloat> %sum_m2_n0.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m2_n0.stored, ptr %sum_m2_n0.out.at, align 2
  %sum_m2_n1.out.at = getelementptr i8, ptr %out, i64 288
  %sum_m2_n1.stored.bfloat = fptrunc <16 x float> %sum_m2_n1 to <16 x bfloat>
  %sum_m2_n1.stored = bitcast <16 x bfloat> %sum_m2_n1.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m2_n1.stored, ptr %sum_m2_n1.out.at, align 2
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 384
  %sum_m3_n0.stored.bfloat = fptrunc <16 x float> %sum_m3_n0 to <16 x bfloat>
  %sum_m3_n0.stored = bitcast <16 x bfloat> %sum_m3_n0.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m3_n0.stored, ptr %sum_m3_n0.out.at, align 2
  %sum_m3_n1.out.at = getelementptr i8, ptr %out, i64 416
  %sum_m3_n1.stored.bfloat = fptrunc <16 x float> %sum_m3_n1 to <16 x bfloat>
  %sum_m3_n1.stored = bitcast <16 x bfloat> %sum_m3_n1.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m3_n1.stored, ptr %sum_m3_n1.out.at, align 2
  ret void
}

define void @matmul_64x64x128_bf16_nn_packedb(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest

  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 64
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 256
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 64
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 256
  %p.w.a = getelementptr i8, ptr %a, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 128
  %p.w.column = mul nuw i64 %j, 2
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.out = getelementptr i8, ptr %out, i64 %p.w.corner
  call void @tile_4x32(ptr %p.w.a, ptr %p.b, ptr %p.w.out)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 4
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 32
  br label %j.head
j.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Unroll by two: the branch predictor predicts the exit of a short loop only, and with more steps LLVM
; moves loads up until it runs out of registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
