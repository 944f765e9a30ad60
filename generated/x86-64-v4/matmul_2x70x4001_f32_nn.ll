; matmul_2x70x4001_f32_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=outer,mr=2,nr=32,mc=2,kc=256,nc=96,pack_a=0,pack_b=0,parts=4,prefetch=0,apart=1,level=2,tasks_per_pass=21,halves=0,words=0 (tuned)
; launch:    1 task of up to 2 x 70 outputs; 1 x 1 blocks
; method:    outer-product GEMV: a task computes nc columns of out for all rows of A; it reads B in blocks of kc
;              rows, each as 4 parallel streams of rows
; memory:    stack, 4864 B
;            %acc.room: float [mc][nc], 384 B per row, half a page from B modulo the page size, 4864 B
; arguments: a: input f32[2, 4001], strides [4001, 1]
;            b: input f32[4001, 70], strides [70, 1]
;            out: output f32[2, 70], strides [70, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @outer_4(ptr noalias %a, ptr noalias %b, ptr noalias %acc, i64 %part) #1 {
enter:
  %a0_k0.element = load float, ptr %a, align 4
  %a0_k0.first = insertelement <16 x float> poison, float %a0_k0.element, i32 0
  %a0_k0 = shufflevector <16 x float> %a0_k0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a1_k0.element.row = getelementptr i8, ptr %a, i64 16004
  %a1_k0.element = load float, ptr %a1_k0.element.row, align 4
  %a1_k0.first = insertelement <16 x float> poison, float %a1_k0.element, i32 0
  %a1_k0 = shufflevector <16 x float> %a1_k0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %b.k1.offset = mul nuw i64 %part, 280
  %b.k1 = getelementptr i8, ptr %b, i64 %b.k1.offset
  %a0_k1.element.offset = mul nuw i64 %part, 4
  %a0_k1.element.at = getelementptr i8, ptr %a, i64 %a0_k1.element.offset
  %a0_k1.element = load float, ptr %a0_k1.element.at, align 4
  %a0_k1.first = insertelement <16 x float> poison, float %a0_k1.element, i32 0
  %a0_k1 = shufflevector <16 x float> %a0_k1.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a1_k1.element.offset = mul nuw i64 %part, 4
  %a1_k1.element.row = getelementptr i8, ptr %a, i64 16004
  %a1_k1.element.at = getelementptr i8, ptr %a1_k1.element.row, i64 %a1_k1.element.offset
  %a1_k1.element = load float, ptr %a1_k1.element.at, align 4
  %a1_k1.first = insertelement <16 x float> poison, float %a1_k1.element, i32 0
  %a1_k1 = shufflevector <16 x float> %a1_k1.first, <16 x float> poison, <16 x i32> zeroinitializer
  %k2.b.rows = mul nuw i64 %part, 2
  %b.k2.offset = mul nuw i64 %k2.b.rows, 280
  %b.k2 = getelementptr i8, ptr %b, i64 %b.k2.offset
  %a0_k2.element.k = mul nuw i64 %part, 2
  %a0_k2.element.offset = mul nuw i64 %a0_k2.element.k, 4
  %a0_k2.element.at = getelementptr i8, ptr %a, i64 %a0_k2.element.offset
  %a0_k2.element = load float, ptr %a0_k2.element.at, align 4
  %a0_k2.first = insertelement <16 x float> poison, float %a0_k2.element, i32 0
  %a0_k2 = shufflevector <16 x float> %a0_k2.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a1_k2.element.k = mul nuw i64 %part, 2
  %a1_k2.element.offset = mul nuw i64 %a1_k2.element.k, 4
  %a1_k2.element.row = getelementptr i8, ptr %a, i64 16004
  %a1_k2.element.at = getelementptr i8, ptr %a1_k2.element.row, i64 %a1_k2.element.offset
  %a1_k2.element = load float, ptr %a1_k2.element.at, align 4
  %a1_k2.first = insertelement <16 x float> poison, float %a1_k2.element, i32 0
  %a1_k2 = shufflevector <16 x float> %a1_k2.first, <16 x float> poison, <16 x i32> zeroinitializer
  %k3.b.rows = mul nuw i64 %part, 3
  %b.k3.offset = mul nuw i64 %k3.b.rows, 280
  %b.k3 = getelementptr i8, ptr %b, i64 %b.k3.offset
  %a0_k3.element.k = mul nuw i64 %part, 3
  %a0_k3.element.offset = mul nuw i64 %a0_k3.element.k, 4
  %a0_k3.element.at = getelementptr i8, ptr %a, i64 %a0_k3.element.offset
  %a0_k3.element = load float, ptr %a0_k3.element.at, align 4
  %a0_k3.first = insertelement <16 x float> poison, float %a0_k3.element, i32 0
  %a0_k3 = shufflevector <16 x float> %a0_k3.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a1_k3.element.k = mul nuw i64 %part, 3
  %a1_k3.element.offset = mul nuw i64 %a1_k3.element.k, 4
  %a1_k3.element.row = getelementptr i8, ptr %a, i64 16004
  %a1_k3.element.at = getelementptr i8, ptr %a1_k3.element.row, i64 %a1_k3.element.offset
  %a1_k3.element = load float, ptr %a1_k3.element.at, align 4
  %a1_k3.first = insertelement <16 x float> poison, float %a1_k3.element, i32 0
  %a1_k3 = shufflevector <16 x float> %a1_k3.first, <16 x float> poison, <16 x i32> zeroinitializer
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 64
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %n_n0.b = mul nuw i64 %n, 4
  %n_n0_m0 = getelementptr float, ptr %acc, i64 %n
  %n_n0_m0_v0.x0 = load <16 x float>, ptr %n_n0_m0, align 64
  %n_n0_m1.row = getelementptr i8, ptr %acc, i64 384
  %n_n0_m1 = getelementptr float, ptr %n_n0_m1.row, i64 %n
  %n_n0_m1_v0.x0 = load <16 x float>, ptr %n_n0_m1, align 64
  %n_n0_bk0_v0.at = getelementptr i8, ptr %b, i64 %n_n0.b
  %n_n0_bk0_v0 = load <16 x float>, ptr %n_n0_bk0_v0.at, align 4
  %n_n0_m0_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k0, <16 x float> %n_n0_bk0_v0, <16 x float> %n_n0_m0_v0.x0)
  %n_n0_m1_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k0, <16 x float> %n_n0_bk0_v0, <16 x float> %n_n0_m1_v0.x0)
  %n_n0_bk1_v0.at = getelementptr i8, ptr %b.k1, i64 %n_n0.b
  %n_n0_bk1_v0 = load <16 x float>, ptr %n_n0_bk1_v0.at, align 4
  %n_n0_m0_v0.x2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k1, <16 x float> %n_n0_bk1_v0, <16 x float> %n_n0_m0_v0.x1)
  %n_n0_m1_v0.x2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k1, <16 x float> %n_n0_bk1_v0, <16 x float> %n_n0_m1_v0.x1)
  %n_n0_bk2_v0.at = getelementptr i8, ptr %b.k2, i64 %n_n0.b
  %n_n0_bk2_v0 = load <16 x float>, ptr %n_n0_bk2_v0.at, align 4
  %n_n0_m0_v0.x3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k2, <16 x float> %n_n0_bk2_v0, <16 x float> %n_n0_m0_v0.x2)
  %n_n0_m1_v0.x3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k2, <16 x float> %n_n0_bk2_v0, <16 x float> %n_n0_m1_v0.x2)
  %n_n0_bk3_v0.at = getelementptr i8, ptr %b.k3, i64 %n_n0.b
  %n_n0_bk3_v0 = load <16 x float>, ptr %n_n0_bk3_v0.at, align 4
  %n_n0_m0_v0.x4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k3, <16 x float> %n_n0_bk3_v0, <16 x float> %n_n0_m0_v0.x3)
  %n_n0_m1_v0.x4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k3, <16 x float> %n_n0_bk3_v0, <16 x float> %n_n0_m1_v0.x3)
  store <16 x float> %n_n0_m0_v0.x4, ptr %n_n0_m0, align 64
  store <16 x float> %n_n0_m1_v0.x4, ptr %n_n0_m1, align 64
  %n_n16.n = add nuw i64 %n, 16
  %n_n16.b = mul nuw i64 %n_n16.n, 4
  %n_n16_m0 = getelementptr float, ptr %acc, i64 %n_n16.n
  %n_n16_m0_v0.x0 = load <16 x float>, ptr %n_n16_m0, align 64
  %n_n16_m1.row = getelementptr i8, ptr %acc, i64 384
  %n_n16_m1 = getelementptr float, ptr %n_n16_m1.row, i64 %n_n16.n
  %n_n16_m1_v0.x0 = load <16 x float>, ptr %n_n16_m1, align 64
  %n_n16_bk0_v0.at = getelementptr i8, ptr %b, i64 %n_n16.b
  %n_n16_bk0_v0 = load <16 x float>, ptr %n_n16_bk0_v0.at, align 4
  %n_n16_m0_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k0, <16 x float> %n_n16_bk0_v0, <16 x float> %n_n16_m0_v0.x0)
  %n_n16_m1_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k0, <16 x float> %n_n16_bk0_v0, <16 x float> %n_n16_m1_v0.x0)
  %n_n16_bk1_v0.at = getelementptr i8, ptr %b.k1, i64 %n_n16.b
  %n_n16_bk1_v0 = load <16 x float>, ptr %n_n16_bk1_v0.at, align 4
  %n_n16_m0_v0.x2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k1, <16 x float> %n_n16_bk1_v0, <16 x float> %n_n16_m0_v0.x1)
  %n_n16_m1_v0.x2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k1, <16 x float> %n_n16_bk1_v0, <16 x float> %n_n16_m1_v0.x1)
  %n_n16_bk2_v0.at = getelementptr i8, ptr %b.k2, i64 %n_n16.b
  %n_n16_bk2_v0 = load <16 x float>, ptr %n_n16_bk2_v0.at, align 4
  %n_n16_m0_v0.x3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k2, <16 x float> %n_n16_bk2_v0, <16 x float> %n_n16_m0_v0.x2)
  %n_n16_m1_v0.x3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k2, <16 x float> %n_n16_bk2_v0, <16 x float> %n_n16_m1_v0.x2)
  %n_n16_bk3_v0.at = getelementptr i8, ptr %b.k3, i64 %n_n16.b
  %n_n16_bk3_v0 = load <16 x float>, ptr %n_n16_bk3_v0.at, align 4
  %n_n16_m0_v0.x4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k3, <16 x float> %n_n16_bk3_v0, <16 x float> %n_n16_m0_v0.x3)
  %n_n16_m1_v0.x4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k3, <16 x float> %n_n16_bk3_v0, <16 x float> %n_n16_m1_v0.x3)
  store <16 x float> %n_n16_m0_v0.x4, ptr %n_n16_m0, align 64
  store <16 x float> %n_n16_m1_v0.x4, ptr %n_n16_m1, align 64
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 32
  br label %n.head
n.done:
  %e_n0_m0 = getelementptr float, ptr %acc, i64 64
  %e_n0_m0_v0.x0 = load <16 x float>, ptr %e_n0_m0, align 64
  %e_n0_m1.row = getelementptr i8, ptr %acc, i64 384
  %e_n0_m1 = getelementptr float, ptr %e_n0_m1.row, i64 64
  %e_n0_m1_v0.x0 = load <16 x float>, ptr %e_n0_m1, align 64
  %e_n0_bk0_v0.at = getelementptr i8, ptr %b, i64 256
  %e_n0_bk0_v0 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %e_n0_bk0_v0.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %e_n0_m0_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k0, <16 x float> %e_n0_bk0_v0, <16 x float> %e_n0_m0_v0.x0)
  %e_n0_m1_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k0, <16 x float> %e_n0_bk0_v0, <16 x float> %e_n0_m1_v0.x0)
  %e_n0_bk1_v0.at = getelementptr i8, ptr %b.k1, i64 256
  %e_n0_bk1_v0 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %e_n0_bk1_v0.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %e_n0_m0_v0.x2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k1, <16 x float> %e_n0_bk1_v0, <16 x float> %e_n0_m0_v0.x1)
  %e_n0_m1_v0.x2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k1, <16 x float> %e_n0_bk1_v0, <16 x float> %e_n0_m1_v0.x1)
  %e_n0_bk2_v0.at = getelementptr i8, ptr %b.k2, i64 256
  %e_n0_bk2_v0 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %e_n0_bk2_v0.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %e_n0_m0_v0.x3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k2, <16 x float> %e_n0_bk2_v0, <16 x float> %e_n0_m0_v0.x2)
  %e_n0_m1_v0.x3 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k2, <16 x float> %e_n0_bk2_v0, <16 x float> %e_n0_m1_v0.x2)
  %e_n0_bk3_v0.at = getelementptr i8, ptr %b.k3, i64 256
  %e_n0_bk3_v0 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %e_n0_bk3_v0.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %e_n0_m0_v0.x4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k3, <16 x float> %e_n0_bk3_v0, <16 x float> %e_n0_m0_v0.x3)
  %e_n0_m1_v0.x4 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k3, <16 x float> %e_n0_bk3_v0, <16 x float> %e_n0_m1_v0.x3)
  store <16 x float> %e_n0_m0_v0.x4, ptr %e_n0_m0, align 64
  store <16 x float> %e_n0_m1_v0.x4, ptr %e_n0_m1, align 64
  ret void
}

define internal void @outer_1(ptr noalias %a, ptr noalias %b, ptr noalias %acc, i64 %part) #1 {
enter:
  %a0_k0.element = load float, ptr %a, align 4
  %a0_k0.first = insertelement <16 x float> poison, float %a0_k0.element, i32 0
  %a0_k0 = shufflevector <16 x float> %a0_k0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a1_k0.element.row = getelementptr i8, ptr %a, i64 16004
  %a1_k0.element = load float, ptr %a1_k0.element.row, align 4
  %a1_k0.first = insertelement <16 x float> poison, float %a1_k0.element, i32 0
  %a1_k0 = shufflevector <16 x float> %a1_k0.first, <16 x float> poison, <16 x i32> zeroinitializer
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 64
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %n_n0.b = mul nuw i64 %n, 4
  %n_n0_m0 = getelementptr float, ptr %acc, i64 %n
  %n_n0_m0_v0.x0 = load <16 x float>, ptr %n_n0_m0, align 64
  %n_n0_m1.row = getelementptr i8, ptr %acc, i64 384
  %n_n0_m1 = getelementptr float, ptr %n_n0_m1.row, i64 %n
  %n_n0_m1_v0.x0 = load <16 x float>, ptr %n_n0_m1, align 64
  %n_n0_bk0_v0.at = getelementptr i8, ptr %b, i64 %n_n0.b
  %n_n0_bk0_v0 = load <16 x float>, ptr %n_n0_bk0_v0.at, align 4
  %n_n0_m0_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k0, <16 x float> %n_n0_bk0_v0, <16 x float> %n_n0_m0_v0.x0)
  %n_n0_m1_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k0, <16 x float> %n_n0_bk0_v0, <16 x float> %n_n0_m1_v0.x0)
  store <16 x float> %n_n0_m0_v0.x1, ptr %n_n0_m0, align 64
  store <16 x float> %n_n0_m1_v0.x1, ptr %n_n0_m1, align 64
  %n_n16.n = add nuw i64 %n, 16
  %n_n16.b = mul nuw i64 %n_n16.n, 4
  %n_n16_m0 = getelementptr float, ptr %acc, i64 %n_n16.n
  %n_n16_m0_v0.x0 = load <16 x float>, ptr %n_n16_m0, align 64
  %n_n16_m1.row = getelementptr i8, ptr %acc, i64 384
  %n_n16_m1 = getelementptr float, ptr %n_n16_m1.row, i64 %n_n16.n
  %n_n16_m1_v0.x0 = load <16 x float>, ptr %n_n16_m1, align 64
  %n_n16_bk0_v0.at = getelementptr i8, ptr %b, i64 %n_n16.b
  %n_n16_bk0_v0 = load <16 x float>, ptr %n_n16_bk0_v0.at, align 4
  %n_n16_m0_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k0, <16 x float> %n_n16_bk0_v0, <16 x float> %n_n16_m0_v0.x0)
  %n_n16_m1_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k0, <16 x float> %n_n16_bk0_v0, <16 x float> %n_n16_m1_v0.x0)
  store <16 x float> %n_n16_m0_v0.x1, ptr %n_n16_m0, align 64
  store <16 x float> %n_n16_m1_v0.x1, ptr %n_n16_m1, align 64
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 32
  br label %n.head
n.done:
  %e_n0_m0 = getelementptr float, ptr %acc, i64 64
  %e_n0_m0_v0.x0 = load <16 x float>, ptr %e_n0_m0, align 64
  %e_n0_m1.row = getelementptr i8, ptr %acc, i64 384
  %e_n0_m1 = getelementptr float, ptr %e_n0_m1.row, i64 64
  %e_n0_m1_v0.x0 = load <16 x float>, ptr %e_n0_m1, align 64
  %e_n0_bk0_v0.at = getelementptr i8, ptr %b, i64 256
  %e_n0_bk0_v0 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %e_n0_bk0_v0.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %e_n0_m0_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0_k0, <16 x float> %e_n0_bk0_v0, <16 x float> %e_n0_m0_v0.x0)
  %e_n0_m1_v0.x1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1_k0, <16 x float> %e_n0_bk0_v0, <16 x float> %e_n0_m1_v0.x0)
  store <16 x float> %e_n0_m0_v0.x1, ptr %e_n0_m0, align 64
  store <16 x float> %e_n0_m1_v0.x1, ptr %e_n0_m1, align 64
  ret void
}

define void @matmul_2x70x4001_f32_nn(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %acc.room = alloca [4864 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest

  ; ---- prologue: initialise the sums
  %acc.room.address = ptrtoint ptr %acc.room to i64
  %b.address = ptrtoint ptr %b to i64
  %acc.wanted = add i64 %b.address, 2048
  %acc.gap.pages = sub i64 %acc.wanted, %acc.room.address
  %acc.gap = and i64 %acc.gap.pages, 4032
  %acc = getelementptr i8, ptr %acc.room, i64 %acc.gap
  br label %acc.clear.enter
acc.clear.enter:
  br label %acc.clear.head
acc.clear.head:
  %acc.clear = phi i64 [ 0, %acc.clear.enter ], [ %acc.clear.after, %acc.clear.latch ]
  %acc.clear.more = icmp ult i64 %acc.clear, 768
  br i1 %acc.clear.more, label %acc.clear.body, label %acc.clear.done
acc.clear.body:
  %acc.clear.at = getelementptr i8, ptr %acc, i64 %acc.clear
  store <64 x i8> zeroinitializer, ptr %acc.clear.at, align 64
  br label %acc.clear.latch
acc.clear.latch:
  %acc.clear.after = add nuw i64 %acc.clear, 64
  br label %acc.clear.head
acc.clear.done:

  ; ---- mainloop: blocks of K; rows of B 64 apart are multiplied together
  br label %block.enter
block.enter:
  br label %block.head
block.head:
  %block = phi i64 [ 0, %block.enter ], [ %block.after, %block.latch ]
  %block.more = icmp ult i64 %block, 3840
  br i1 %block.more, label %block.body, label %block.done
block.body:
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ 0, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, 64
  br i1 %row.more, label %row.body, label %row.done
row.body:
  %k = add nuw i64 %block, %row
  %w.a.offset = mul nuw i64 %k, 4
  %w.a = getelementptr i8, ptr %a, i64 %w.a.offset
  %w.b.offset = mul nuw i64 %k, 280
  %w.b = getelementptr i8, ptr %b, i64 %w.b.offset
  call void @outer_4(ptr %w.a, ptr %w.b, ptr %acc, i64 64)
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  br label %block.latch
block.latch:
  %block.after = add nuw i64 %block, 256
  br label %block.head
block.done:
  ; ---- remainder of K; rows of B 40 apart are multiplied together
  br label %rest.enter
rest.enter:
  br label %rest.head
rest.head:
  %rest = phi i64 [ 3840, %rest.enter ], [ %rest.after, %rest.latch ]
  %rest.more = icmp ult i64 %rest, 3880
  br i1 %rest.more, label %rest.body, label %rest.done
rest.body:
  %r.a.offset = mul nuw i64 %rest, 4
  %r.a = getelementptr i8, ptr %a, i64 %r.a.offset
  %r.b.offset = mul nuw i64 %rest, 280
  %r.b = getelementptr i8, ptr %b, i64 %r.b.offset
  call void @outer_4(ptr %r.a, ptr %r.b, ptr %acc, i64 40)
  br label %rest.latch
rest.latch:
  %rest.after = add nuw i64 %rest, 1
  br label %rest.head
rest.done:
  ; ---- remainder of K
  %l.a = getelementptr i8, ptr %a, i64 16000
  %l.b = getelementptr i8, ptr %b, i64 1120000
  call void @outer_1(ptr %l.a, ptr %l.b, ptr %acc, i64 1)

  ; ---- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 2
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.row.offset = mul nuw i64 %m, 384
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  %out.offset = mul nuw i64 %m, 280
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 64
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %x.acc.at.offset = mul nuw i64 %n, 4
  %x.acc.at = getelementptr i8, ptr %acc.row, i64 %x.acc.at.offset
  %x.acc = load <16 x float>, ptr %x.acc.at, align 64
  %x.out.offset = mul nuw i64 %n, 4
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  store <16 x float> %x.acc, ptr %x.out.at, align 4
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 16
  br label %n.head
n.done:
  %t.acc.at = getelementptr i8, ptr %acc.row, i64 256
  %t.acc = load <16 x float>, ptr %t.acc.at, align 64
  %t.out.at = getelementptr i8, ptr %out.row, i64 256
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t.acc, ptr align 4 %t.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %m.latch
m.latch:
  %m.after = add nuw i64 %m, 1
  br label %m.head
m.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
