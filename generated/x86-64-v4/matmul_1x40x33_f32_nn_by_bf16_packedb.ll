; matmul_1x40x33_f32_nn_by_bf16_packedb
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=ahead,mr=1,nr=48,mc=1,kc=33,nc=48,pack_a=0,pack_b=0,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8,ahead=3264,level=2,prefetch_a=4 (tuned)
; launch:    1 task of up to 1 x 40 outputs; 1 x 1 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
; arguments: a: input f32[1, 33], strides [33, 1]
;            b: input bf16[3, 17, 16, 2], strides [544, 32, 2, 1], prepacked: (k, n) at [n / 16][k / 2][n % 16][k
;              % 2], zero past K and N
;            out: output f32[1, 40], strides [40, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_1x40(ptr noalias %a, ptr noalias %b, ptr noalias %out) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0.k0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.k0.next, %k.latch ]
  %sum_m0_n0.k1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.k1.next, %k.latch ]
  %sum_m0_n1.k0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.k0.next, %k.latch ]
  %sum_m0_n1.k1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.k1.next, %k.latch ]
  %sum_m0_n2.k0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.k0.next, %k.latch ]
  %sum_m0_n2.k1 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.k1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 33
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 32
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.pairs = load <16 x i32>, ptr %k.b, align 2
  %b_n0.lower = shl <16 x i32> %b_n0.pairs, splat (i32 16)
  %b_n0.upper = and <16 x i32> %b_n0.pairs, splat (i32 -65536)
  %b_n0_k0 = bitcast <16 x i32> %b_n0.lower to <16 x float>
  %b_n0_k1 = bitcast <16 x i32> %b_n0.upper to <16 x float>
  %b_n1.at = getelementptr i8, ptr %k.b, i64 1088
  %b_n1.pairs = load <16 x i32>, ptr %b_n1.at, align 2
  %b_n1.lower = shl <16 x i32> %b_n1.pairs, splat (i32 16)
  %b_n1.upper = and <16 x i32> %b_n1.pairs, splat (i32 -65536)
  %b_n1_k0 = bitcast <16 x i32> %b_n1.lower to <16 x float>
  %b_n1_k1 = bitcast <16 x i32> %b_n1.upper to <16 x float>
  %b_n2.at = getelementptr i8, ptr %k.b, i64 2176
  %b_n2.pairs = load <16 x i32>, ptr %b_n2.at, align 2
  %b_n2.lower = shl <16 x i32> %b_n2.pairs, splat (i32 16)
  %b_n2.upper = and <16 x i32> %b_n2.pairs, splat (i32 -65536)
  %b_n2_k0 = bitcast <16 x i32> %b_n2.lower to <16 x float>
  %b_n2_k1 = bitcast <16 x i32> %b_n2.upper to <16 x float>
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %k.second = add nuw i64 %k, 1
  %k.inside = icmp ult i64 %k.second, 33
  %a_m0_k0.scalar = load float, ptr %k.a, align 4
  %a_m0_k0.first = insertelement <16 x float> poison, float %a_m0_k0.scalar, i32 0
  %a_m0_k0 = shufflevector <16 x float> %a_m0_k0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.k0.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m0_k0, <16 x float> %b_n0_k0, <16 x float> %sum_m0_n0.k0)
  %sum_m0_n1.k0.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m0_k0, <16 x float> %b_n1_k0, <16 x float> %sum_m0_n1.k0)
  %a_m0_k0.low = shufflevector <16 x float> %a_m0_k0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n2.b_k0 = shufflevector <16 x float> %b_n2_k0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n2.low_k0 = shufflevector <16 x float> %sum_m0_n2.k0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n2.half_k0 = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0_k0.low, <8 x float> %sum_m0_n2.b_k0, <8 x float> %sum_m0_n2.low_k0)
  %sum_m0_n2.k0.next = shufflevector <8 x float> %sum_m0_n2.half_k0, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m0_k1.at.k = getelementptr i8, ptr %k.a, i64 4
  %a_m0_k1.at = select i1 %k.inside, ptr %a_m0_k1.at.k, ptr @zero
  %a_m0_k1.scalar = load float, ptr %a_m0_k1.at, align 4
  %a_m0_k1.first = insertelement <16 x float> poison, float %a_m0_k1.scalar, i32 0
  %a_m0_k1 = shufflevector <16 x float> %a_m0_k1.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.k1.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m0_k1, <16 x float> %b_n0_k1, <16 x float> %sum_m0_n0.k1)
  %sum_m0_n1.k1.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m0_k1, <16 x float> %b_n1_k1, <16 x float> %sum_m0_n1.k1)
  %a_m0_k1.low = shufflevector <16 x float> %a_m0_k1, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n2.b_k1 = shufflevector <16 x float> %b_n2_k1, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n2.low_k1 = shufflevector <16 x float> %sum_m0_n2.k1, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n2.half_k1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0_k1.low, <8 x float> %sum_m0_n2.b_k1, <8 x float> %sum_m0_n2.low_k1)
  %sum_m0_n2.k1.next = shufflevector <8 x float> %sum_m0_n2.half_k1, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 2
  br label %k.head
k.done:
  %sum_m0_n0 = fadd <16 x float> %sum_m0_n0.k0, %sum_m0_n0.k1
  %sum_m0_n1 = fadd <16 x float> %sum_m0_n1.k0, %sum_m0_n1.k1
  %sum_m0_n2 = fadd <16 x float> %sum_m0_n2.k0, %sum_m0_n2.k1
  ; ---- epilogue
  store <16 x float> %sum_m0_n0, ptr %out, align 4
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 64
  store <16 x float> %sum_m0_n1, ptr %sum_m0_n1.out.at, align 4
  %sum_m0_n2.out.at = getelementptr i8, ptr %out, i64 128
  call void @llvm.masked.store.v16f32.p0(<16 x float> %sum_m0_n2, ptr align 4 %sum_m0_n2.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  ret void
}

; Zero in place of the element of A after the last k, where B is zero too.
@zero = private unnamed_addr constant float 0.0
define void @matmul_1x40x33_f32_nn_by_bf16_packedb(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
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

  ; ---- the remainder panel

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ 0, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 1
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.a.offset = mul nuw i64 %r.i, 132
  %r.w.a = getelementptr i8, ptr %a, i64 %r.w.a.offset
  %r.w.row = mul nuw i64 %r.i, 160
  %r.w.out = getelementptr i8, ptr %out, i64 %r.w.row
  call void @tile_1x40(ptr %r.w.a, ptr %b, ptr %r.w.out)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 1
  br label %r.i.head
r.i.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
