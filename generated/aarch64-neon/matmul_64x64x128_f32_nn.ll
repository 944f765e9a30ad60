; matmul_64x64x128_f32_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    aarch64-neon, aarch64; requires asimd fp
; schedule:  mainloop=blis,mr=6,nr=16,mc=66,kc=128,nc=64,pack_a=0,pack_b=1,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8 (tuned)
; launch:    1 task of up to 64 x 64 outputs; 1 x 1 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
; memory:    stack, 8192 B
;            %b.pack: float [kc][nr], 64 B per row, 8192 B
; arguments: a: input f32[64, 128], strides [128, 1]
;            b: input f32[128, 64], strides [64, 1]
;            out: output f32[64, 64], strides [64, 1]

target triple = "aarch64-unknown-linux-gnu"

define internal void @tile_6x16(ptr noalias %a, ptr noalias %b, ptr noalias %out) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m1_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n3.next, %k.latch ]
  %sum_m2_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m2_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n2.next, %k.latch ]
  %sum_m2_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n3.next, %k.latch ]
  %sum_m3_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m3_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n1.next, %k.latch ]
  %sum_m3_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n2.next, %k.latch ]
  %sum_m3_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n3.next, %k.latch ]
  %sum_m4_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %sum_m4_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n1.next, %k.latch ]
  %sum_m4_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n2.next, %k.latch ]
  %sum_m4_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n3.next, %k.latch ]
  %sum_m5_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n0.next, %k.latch ]
  %sum_m5_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n1.next, %k.latch ]
  %sum_m5_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n2.next, %k.latch ]
  %sum_m5_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 128
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 16
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 16
  %b_n2.at = getelementptr i8, ptr %k.b, i64 32
  %b_n2 = load <4 x float>, ptr %b_n2.at, align 16
  %b_n3.at = getelementptr i8, ptr %k.b, i64 48
  %b_n3 = load <4 x float>, ptr %b_n3.at, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n2, <4 x float> %sum_m0_n2)
  %sum_m0_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n3, <4 x float> %sum_m0_n3)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 512
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <4 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <4 x float> %a_m1.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m1_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n0, <4 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n1, <4 x float> %sum_m1_n1)
  %sum_m1_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n2, <4 x float> %sum_m1_n2)
  %sum_m1_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n3, <4 x float> %sum_m1_n3)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 1024
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <4 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <4 x float> %a_m2.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m2_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n0, <4 x float> %sum_m2_n0)
  %sum_m2_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n1, <4 x float> %sum_m2_n1)
  %sum_m2_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n2, <4 x float> %sum_m2_n2)
  %sum_m2_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n3, <4 x float> %sum_m2_n3)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 1536
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <4 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <4 x float> %a_m3.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m3_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n0, <4 x float> %sum_m3_n0)
  %sum_m3_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n1, <4 x float> %sum_m3_n1)
  %sum_m3_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n2, <4 x float> %sum_m3_n2)
  %sum_m3_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n3, <4 x float> %sum_m3_n3)
  %a_m4.at = getelementptr i8, ptr %k.a, i64 2048
  %a_m4.scalar = load float, ptr %a_m4.at, align 4
  %a_m4.first = insertelement <4 x float> poison, float %a_m4.scalar, i32 0
  %a_m4 = shufflevector <4 x float> %a_m4.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m4_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n0, <4 x float> %sum_m4_n0)
  %sum_m4_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n1, <4 x float> %sum_m4_n1)
  %sum_m4_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n2, <4 x float> %sum_m4_n2)
  %sum_m4_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n3, <4 x float> %sum_m4_n3)
  %a_m5.at = getelementptr i8, ptr %k.a, i64 2560
  %a_m5.scalar = load float, ptr %a_m5.at, align 4
  %a_m5.first = insertelement <4 x float> poison, float %a_m5.scalar, i32 0
  %a_m5 = shufflevector <4 x float> %a_m5.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m5_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n0, <4 x float> %sum_m5_n0)
  %sum_m5_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n1, <4 x float> %sum_m5_n1)
  %sum_m5_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n2, <4 x float> %sum_m5_n2)
  %sum_m5_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n3, <4 x float> %sum_m5_n3)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  store <4 x float> %sum_m0_n0, ptr %out, align 4
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  store <4 x float> %sum_m0_n1, ptr %sum_m0_n1.out.at, align 4
  %sum_m0_n2.out.at = getelementptr i8, ptr %out, i64 32
  store <4 x float> %sum_m0_n2, ptr %sum_m0_n2.out.at, align 4
  %sum_m0_n3.out.at = getelementptr i8, ptr %out, i64 48
  store <4 x float> %sum_m0_n3, ptr %sum_m0_n3.out.at, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 256
  store <4 x float> %sum_m1_n0, ptr %sum_m1_n0.out.at, align 4
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 272
  store <4 x float> %sum_m1_n1, ptr %sum_m1_n1.out.at, align 4
  %sum_m1_n2.out.at = getelementptr i8, ptr %out, i64 288
  store <4 x float> %sum_m1_n2, ptr %sum_m1_n2.out.at, align 4
  %sum_m1_n3.out.at = getelementptr i8, ptr %out, i64 304
  store <4 x float> %sum_m1_n3, ptr %sum_m1_n3.out.at, align 4
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 512
  store <4 x float> %sum_m2_n0, ptr %sum_m2_n0.out.at, align 4
  %sum_m2_n1.out.at = getelementptr i8, ptr %out, i64 528
  store <4 x float> %sum_m2_n1, ptr %sum_m2_n1.out.at, align 4
  %sum_m2_n2.out.at = getelementptr i8, ptr %out, i64 544
  store <4 x float> %sum_m2_n2, ptr %sum_m2_n2.out.at, align 4
  %sum_m2_n3.out.at = getelementptr i8, ptr %out, i64 560
  store <4 x float> %sum_m2_n3, ptr %sum_m2_n3.out.at, align 4
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 768
  store <4 x float> %sum_m3_n0, ptr %sum_m3_n0.out.at, align 4
  %sum_m3_n1.out.at = getelementptr i8, ptr %out, i64 784
  store <4 x float> %sum_m3_n1, ptr %sum_m3_n1.out.at, align 4
  %sum_m3_n2.out.at = getelementptr i8, ptr %out, i64 800
  store <4 x float> %sum_m3_n2, ptr %sum_m3_n2.out.at, align 4
  %sum_m3_n3.out.at = getelementptr i8, ptr %out, i64 816
  store <4 x float> %sum_m3_n3, ptr %sum_m3_n3.out.at, align 4
  %sum_m4_n0.out.at = getelementptr i8, ptr %out, i64 1024
  store <4 x float> %sum_m4_n0, ptr %sum_m4_n0.out.at, align 4
  %sum_m4_n1.out.at = getelementptr i8, ptr %out, i64 1040
  store <4 x float> %sum_m4_n1, ptr %sum_m4_n1.out.at, align 4
  %sum_m4_n2.out.at = getelementptr i8, ptr %out, i64 1056
  store <4 x float> %sum_m4_n2, ptr %sum_m4_n2.out.at, align 4
  %sum_m4_n3.out.at = getelementptr i8, ptr %out, i64 1072
  store <4 x float> %sum_m4_n3, ptr %sum_m4_n3.out.at, align 4
  %sum_m5_n0.out.at = getelementptr i8, ptr %out, i64 1280
  store <4 x float> %sum_m5_n0, ptr %sum_m5_n0.out.at, align 4
  %sum_m5_n1.out.at = getelementptr i8, ptr %out, i64 1296
  store <4 x float> %sum_m5_n1, ptr %sum_m5_n1.out.at, align 4
  %sum_m5_n2.out.at = getelementptr i8, ptr %out, i64 1312
  store <4 x float> %sum_m5_n2, ptr %sum_m5_n2.out.at, align 4
  %sum_m5_n3.out.at = getelementptr i8, ptr %out, i64 1328
  store <4 x float> %sum_m5_n3, ptr %sum_m5_n3.out.at, align 4
  ret void
}

define internal void @tile_5x16(ptr noalias %a, ptr noalias %b, ptr noalias %out) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m1_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n3.next, %k.latch ]
  %sum_m2_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m2_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n2.next, %k.latch ]
  %sum_m2_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n3.next, %k.latch ]
  %sum_m3_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m3_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n1.next, %k.latch ]
  %sum_m3_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n2.next, %k.latch ]
  %sum_m3_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n3.next, %k.latch ]
  %sum_m4_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %sum_m4_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n1.next, %k.latch ]
  %sum_m4_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n2.next, %k.latch ]
  %sum_m4_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 128
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 16
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 16
  %b_n2.at = getelementptr i8, ptr %k.b, i64 32
  %b_n2 = load <4 x float>, ptr %b_n2.at, align 16
  %b_n3.at = getelementptr i8, ptr %k.b, i64 48
  %b_n3 = load <4 x float>, ptr %b_n3.at, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n2, <4 x float> %sum_m0_n2)
  %sum_m0_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n3, <4 x float> %sum_m0_n3)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 512
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <4 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <4 x float> %a_m1.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m1_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n0, <4 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n1, <4 x float> %sum_m1_n1)
  %sum_m1_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n2, <4 x float> %sum_m1_n2)
  %sum_m1_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n3, <4 x float> %sum_m1_n3)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 1024
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <4 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <4 x float> %a_m2.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m2_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n0, <4 x float> %sum_m2_n0)
  %sum_m2_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n1, <4 x float> %sum_m2_n1)
  %sum_m2_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n2, <4 x float> %sum_m2_n2)
  %sum_m2_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n3, <4 x float> %sum_m2_n3)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 1536
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <4 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <4 x float> %a_m3.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m3_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n0, <4 x float> %sum_m3_n0)
  %sum_m3_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n1, <4 x float> %sum_m3_n1)
  %sum_m3_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n2, <4 x float> %sum_m3_n2)
  %sum_m3_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n3, <4 x float> %sum_m3_n3)
  %a_m4.at = getelementptr i8, ptr %k.a, i64 2048
  %a_m4.scalar = load float, ptr %a_m4.at, align 4
  %a_m4.first = insertelement <4 x float> poison, float %a_m4.scalar, i32 0
  %a_m4 = shufflevector <4 x float> %a_m4.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m4_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n0, <4 x float> %sum_m4_n0)
  %sum_m4_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n1, <4 x float> %sum_m4_n1)
  %sum_m4_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n2, <4 x float> %sum_m4_n2)
  %sum_m4_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n3, <4 x float> %sum_m4_n3)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  store <4 x float> %sum_m0_n0, ptr %out, align 4
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  store <4 x float> %sum_m0_n1, ptr %sum_m0_n1.out.at, align 4
  %sum_m0_n2.out.at = getelementptr i8, ptr %out, i64 32
  store <4 x float> %sum_m0_n2, ptr %sum_m0_n2.out.at, align 4
  %sum_m0_n3.out.at = getelementptr i8, ptr %out, i64 48
  store <4 x float> %sum_m0_n3, ptr %sum_m0_n3.out.at, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 256
  store <4 x float> %sum_m1_n0, ptr %sum_m1_n0.out.at, align 4
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 272
  store <4 x float> %sum_m1_n1, ptr %sum_m1_n1.out.at, align 4
  %sum_m1_n2.out.at = getelementptr i8, ptr %out, i64 288
  store <4 x float> %sum_m1_n2, ptr %sum_m1_n2.out.at, align 4
  %sum_m1_n3.out.at = getelementptr i8, ptr %out, i64 304
  store <4 x float> %sum_m1_n3, ptr %sum_m1_n3.out.at, align 4
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 512
  store <4 x float> %sum_m2_n0, ptr %sum_m2_n0.out.at, align 4
  %sum_m2_n1.out.at = getelementptr i8, ptr %out, i64 528
  store <4 x float> %sum_m2_n1, ptr %sum_m2_n1.out.at, align 4
  %sum_m2_n2.out.at = getelementptr i8, ptr %out, i64 544
  store <4 x float> %sum_m2_n2, ptr %sum_m2_n2.out.at, align 4
  %sum_m2_n3.out.at = getelementptr i8, ptr %out, i64 560
  store <4 x float> %sum_m2_n3, ptr %sum_m2_n3.out.at, align 4
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 768
  store <4 x float> %sum_m3_n0, ptr %sum_m3_n0.out.at, align 4
  %sum_m3_n1.out.at = getelementptr i8, ptr %out, i64 784
  store <4 x float> %sum_m3_n1, ptr %sum_m3_n1.out.at, align 4
  %sum_m3_n2.out.at = getelementptr i8, ptr %out, i64 800
  store <4 x float> %sum_m3_n2, ptr %sum_m3_n2.out.at, align 4
  %sum_m3_n3.out.at = getelementptr i8, ptr %out, i64 816
  store <4 x float> %sum_m3_n3, ptr %sum_m3_n3.out.at, align 4
  %sum_m4_n0.out.at = getelementptr i8, ptr %out, i64 1024
  store <4 x float> %sum_m4_n0, ptr %sum_m4_n0.out.at, align 4
  %sum_m4_n1.out.at = getelementptr i8, ptr %out, i64 1040
  store <4 x float> %sum_m4_n1, ptr %sum_m4_n1.out.at, align 4
  %sum_m4_n2.out.at = getelementptr i8, ptr %out, i64 1056
  store <4 x float> %sum_m4_n2, ptr %sum_m4_n2.out.at, align 4
  %sum_m4_n3.out.at = getelementptr i8, ptr %out, i64 1072
  store <4 x float> %sum_m4_n3, ptr %sum_m4_n3.out.at, align 4
  ret void
}

define internal void @tile_6x16_packing(ptr noalias %a, ptr noalias %b, ptr noalias %pack, ptr noalias %out) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m1_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n3.next, %k.latch ]
  %sum_m2_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m2_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n2.next, %k.latch ]
  %sum_m2_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n3.next, %k.latch ]
  %sum_m3_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m3_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n1.next, %k.latch ]
  %sum_m3_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n2.next, %k.latch ]
  %sum_m3_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n3.next, %k.latch ]
  %sum_m4_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %sum_m4_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n1.next, %k.latch ]
  %sum_m4_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n2.next, %k.latch ]
  %sum_m4_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n3.next, %k.latch ]
  %sum_m5_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n0.next, %k.latch ]
  %sum_m5_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n1.next, %k.latch ]
  %sum_m5_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n2.next, %k.latch ]
  %sum_m5_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 128
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 256
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %k.pack.offset = mul nuw i64 %k, 64
  %k.pack = getelementptr i8, ptr %pack, i64 %k.pack.offset
  %k.ahead.0 = getelementptr i8, ptr %k.b, i64 8192
  call void @llvm.prefetch.p0(ptr %k.ahead.0, i32 0, i32 3, i32 1)
  %b_n0 = load <4 x float>, ptr %k.b, align 4
  store <4 x float> %b_n0, ptr %k.pack, align 16
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1.to = getelementptr i8, ptr %k.pack, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 4
  store <4 x float> %b_n1, ptr %b_n1.to, align 16
  %b_n2.at = getelementptr i8, ptr %k.b, i64 32
  %b_n2.to = getelementptr i8, ptr %k.pack, i64 32
  %b_n2 = load <4 x float>, ptr %b_n2.at, align 4
  store <4 x float> %b_n2, ptr %b_n2.to, align 16
  %b_n3.at = getelementptr i8, ptr %k.b, i64 48
  %b_n3.to = getelementptr i8, ptr %k.pack, i64 48
  %b_n3 = load <4 x float>, ptr %b_n3.at, align 4
  store <4 x float> %b_n3, ptr %b_n3.to, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n2, <4 x float> %sum_m0_n2)
  %sum_m0_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n3, <4 x float> %sum_m0_n3)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 512
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <4 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <4 x float> %a_m1.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m1_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n0, <4 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n1, <4 x float> %sum_m1_n1)
  %sum_m1_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n2, <4 x float> %sum_m1_n2)
  %sum_m1_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n3, <4 x float> %sum_m1_n3)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 1024
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <4 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <4 x float> %a_m2.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m2_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n0, <4 x float> %sum_m2_n0)
  %sum_m2_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n1, <4 x float> %sum_m2_n1)
  %sum_m2_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n2, <4 x float> %sum_m2_n2)
  %sum_m2_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n3, <4 x float> %sum_m2_n3)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 1536
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <4 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <4 x float> %a_m3.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m3_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n0, <4 x float> %sum_m3_n0)
  %sum_m3_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n1, <4 x float> %sum_m3_n1)
  %sum_m3_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n2, <4 x float> %sum_m3_n2)
  %sum_m3_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n3, <4 x float> %sum_m3_n3)
  %a_m4.at = getelementptr i8, ptr %k.a, i64 2048
  %a_m4.scalar = load float, ptr %a_m4.at, align 4
  %a_m4.first = insertelement <4 x float> poison, float %a_m4.scalar, i32 0
  %a_m4 = shufflevector <4 x float> %a_m4.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m4_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n0, <4 x float> %sum_m4_n0)
  %sum_m4_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n1, <4 x float> %sum_m4_n1)
  %sum_m4_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n2, <4 x float> %sum_m4_n2)
  %sum_m4_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n3, <4 x float> %sum_m4_n3)
  %a_m5.at = getelementptr i8, ptr %k.a, i64 2560
  %a_m5.scalar = load float, ptr %a_m5.at, align 4
  %a_m5.first = insertelement <4 x float> poison, float %a_m5.scalar, i32 0
  %a_m5 = shufflevector <4 x float> %a_m5.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m5_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n0, <4 x float> %sum_m5_n0)
  %sum_m5_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n1, <4 x float> %sum_m5_n1)
  %sum_m5_n2.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n2, <4 x float> %sum_m5_n2)
  %sum_m5_n3.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n3, <4 x float> %sum_m5_n3)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  store <4 x float> %sum_m0_n0, ptr %out, align 4
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  store <4 x float> %sum_m0_n1, ptr %sum_m0_n1.out.at, align 4
  %sum_m0_n2.out.at = getelementptr i8, ptr %out, i64 32
  store <4 x float> %sum_m0_n2, ptr %sum_m0_n2.out.at, align 4
  %sum_m0_n3.out.at = getelementptr i8, ptr %out, i64 48
  store <4 x float> %sum_m0_n3, ptr %sum_m0_n3.out.at, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 256
  store <4 x float> %sum_m1_n0, ptr %sum_m1_n0.out.at, align 4
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 272
  store <4 x float> %sum_m1_n1, ptr %sum_m1_n1.out.at, align 4
  %sum_m1_n2.out.at = getelementptr i8, ptr %out, i64 288
  store <4 x float> %sum_m1_n2, ptr %sum_m1_n2.out.at, align 4
  %sum_m1_n3.out.at = getelementptr i8, ptr %out, i64 304
  store <4 x float> %sum_m1_n3, ptr %sum_m1_n3.out.at, align 4
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 512
  store <4 x float> %sum_m2_n0, ptr %sum_m2_n0.out.at, align 4
  %sum_m2_n1.out.at = getelementptr i8, ptr %out, i64 528
  store <4 x float> %sum_m2_n1, ptr %sum_m2_n1.out.at, align 4
  %sum_m2_n2.out.at = getelementptr i8, ptr %out, i64 544
  store <4 x float> %sum_m2_n2, ptr %sum_m2_n2.out.at, align 4
  %sum_m2_n3.out.at = getelementptr i8, ptr %out, i64 560
  store <4 x float> %sum_m2_n3, ptr %sum_m2_n3.out.at, align 4
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 768
  store <4 x float> %sum_m3_n0, ptr %sum_m3_n0.out.at, align 4
  %sum_m3_n1.out.at = getelementptr i8, ptr %out, i64 784
  store <4 x float> %sum_m3_n1, ptr %sum_m3_n1.out.at, align 4
  %sum_m3_n2.out.at = getelementptr i8, ptr %out, i64 800
  store <4 x float> %sum_m3_n2, ptr %sum_m3_n2.out.at, align 4
  %sum_m3_n3.out.at = getelementptr i8, ptr %out, i64 816
  store <4 x float> %sum_m3_n3, ptr %sum_m3_n3.out.at, align 4
  %sum_m4_n0.out.at = getelementptr i8, ptr %out, i64 1024
  store <4 x float> %sum_m4_n0, ptr %sum_m4_n0.out.at, align 4
  %sum_m4_n1.out.at = getelementptr i8, ptr %out, i64 1040
  store <4 x float> %sum_m4_n1, ptr %sum_m4_n1.out.at, align 4
  %sum_m4_n2.out.at = getelementptr i8, ptr %out, i64 1056
  store <4 x float> %sum_m4_n2, ptr %sum_m4_n2.out.at, align 4
  %sum_m4_n3.out.at = getelementptr i8, ptr %out, i64 1072
  store <4 x float> %sum_m4_n3, ptr %sum_m4_n3.out.at, align 4
  %sum_m5_n0.out.at = getelementptr i8, ptr %out, i64 1280
  store <4 x float> %sum_m5_n0, ptr %sum_m5_n0.out.at, align 4
  %sum_m5_n1.out.at = getelementptr i8, ptr %out, i64 1296
  store <4 x float> %sum_m5_n1, ptr %sum_m5_n1.out.at, align 4
  %sum_m5_n2.out.at = getelementptr i8, ptr %out, i64 1312
  store <4 x float> %sum_m5_n2, ptr %sum_m5_n2.out.at, align 4
  %sum_m5_n3.out.at = getelementptr i8, ptr %out, i64 1328
  store <4 x float> %sum_m5_n3, ptr %sum_m5_n3.out.at, align 4
  ret void
}

define void @matmul_64x64x128_f32_nn(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %b.pack = alloca [8192 x i8], align 64
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
  %p.b.offset = mul nuw i64 %j, 4
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset
  ; ---- prologue: pack the panel
  %p.f.column = mul nuw i64 %j, 4
  %p.f.out = getelementptr i8, ptr %out, i64 %p.f.column
  call void @tile_6x16_packing(ptr %a, ptr %p.b, ptr %b.pack, ptr %p.f.out)

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 6, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 54
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 512
  %p.w.a = getelementptr i8, ptr %a, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 256
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.out = getelementptr i8, ptr %out, i64 %p.w.corner
  call void @tile_6x16(ptr %p.w.a, ptr %b.pack, ptr %p.w.out)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 6
  br label %p.i.head
p.i.done:
  br label %p.low.enter
p.low.enter:
  br label %p.low.head
p.low.head:
  %p.low = phi i64 [ 54, %p.low.enter ], [ %p.low.after, %p.low.latch ]
  %p.low.more = icmp ult i64 %p.low, 64
  br i1 %p.low.more, label %p.low.body, label %p.low.done
p.low.body:
  %p.e.a.offset = mul nuw i64 %p.low, 512
  %p.e.a = getelementptr i8, ptr %a, i64 %p.e.a.offset
  %p.e.row = mul nuw i64 %p.low, 256
  %p.e.column = mul nuw i64 %j, 4
  %p.e.corner = add nuw i64 %p.e.row, %p.e.column
  %p.e.out = getelementptr i8, ptr %out, i64 %p.e.corner
  call void @tile_5x16(ptr %p.e.a, ptr %b.pack, ptr %p.e.out)
  br label %p.low.latch
p.low.latch:
  %p.low.after = add nuw i64 %p.low, 5
  br label %p.low.head
p.low.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 16
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

declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
