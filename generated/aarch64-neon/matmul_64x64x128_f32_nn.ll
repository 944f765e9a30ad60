; matmul_64x64x128_f32_nn
; target    aarch64-neon: aarch64 with asimd fp
; schedule  mainloop=blis mr=13 nr=8 mc=65 kc=128 nc=64
; tasks     1 of 65 x 64: 1 batches x 1 x 1 blocks
; memory
;   %a  f32, shape 64 x 128, strides 128, 1 elements
;   %b  f32, shape 128 x 64, strides 64, 1 elements
;   %out  f32, shape 64 x 64, strides 64, 1 elements
target triple = "aarch64-unknown-linux-gnu"
;
; A product by BLIS blocking. A task is an mc x nc block of out. For each kc of K it packs its part
; of A once; then, for each panel of nr columns, it packs B and multiplies every mr rows of A with
; it, the mr x nr sums in registers.
;
; scratch on the stack, float:
;   %a.pack  37440 bytes, [mc][kc], 576 bytes a row
;   %b.pack  4096 bytes, [kc][nr], 32 bytes a row
;   %acc     16640 bytes, [mc][nc], 256 bytes a row

define void @matmul_64x64x128_f32_nn(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [37440 x i8], align 64
  %b.pack = alloca [4096 x i8], align 64
  %acc = alloca [16640 x i8], align 64
  ; rows past M are multiplied and dropped; zero, so that they are defined
  br label %a.clear.enter
a.clear.enter:
  br label %a.clear.head
a.clear.head:
  %a.clear = phi i64 [ 0, %a.clear.enter ], [ %a.clear.after, %a.clear.latch ]
  %a.clear.more = icmp ult i64 %a.clear, 37440
  br i1 %a.clear.more, label %a.clear.body, label %a.clear.done
a.clear.body:
  %a.clear.at = getelementptr i8, ptr %a.pack, i64 %a.clear
  store <16 x i8> zeroinitializer, ptr %a.clear.at, align 16
  br label %a.clear.latch
a.clear.latch:
  %a.clear.after = add nuw i64 %a.clear, 16
  br label %a.clear.head
a.clear.done:
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; -- addresses: a task is (batch, block of rows, block of columns), the last one fastest
  br label %k0.enter
k0.enter:
  br label %k0.head
k0.head:
  %k0 = phi i64 [ 0, %k0.enter ], [ %k0.after, %k0.latch ]
  %k0.more = icmp ult i64 %k0, 128
  br i1 %k0.more, label %k0.body, label %k0.done
k0.body:

  ; -- prologue: pack A, one run of k after the other
  %a.k.offset = mul nuw i64 %k0, 4
  %a.k = getelementptr i8, ptr %a, i64 %a.k.offset
  br label %pa.enter
pa.enter:
  br label %pa.head
pa.head:
  %pa = phi i64 [ 0, %pa.enter ], [ %pa.after, %pa.latch ]
  %pa.more = icmp ult i64 %pa, 64
  br i1 %pa.more, label %pa.body, label %pa.done
pa.body:
  %pa.from.offset = mul nuw i64 %pa, 512
  %pa.from = getelementptr i8, ptr %a.k, i64 %pa.from.offset
  %pa.to.offset = mul nuw i64 %pa, 576
  %pa.to = getelementptr i8, ptr %a.pack, i64 %pa.to.offset
  br label %pv.enter
pv.enter:
  br label %pv.head
pv.head:
  %pv = phi i64 [ 0, %pv.enter ], [ %pv.after, %pv.latch ]
  %pv.more = icmp ult i64 %pv, 128
  br i1 %pv.more, label %pv.body, label %pv.done
pv.body:
  %pv.from.offset = mul nuw i64 %pv, 4
  %pv.from = getelementptr i8, ptr %pa.from, i64 %pv.from.offset
  %pv.x = load <4 x float>, ptr %pv.from, align 4
  %pv.to.offset = mul nuw i64 %pv, 4
  %pv.to = getelementptr i8, ptr %pa.to, i64 %pv.to.offset
  store <4 x float> %pv.x, ptr %pv.to, align 16
  br label %pv.latch
pv.latch:
  %pv.after = add nuw i64 %pv, 4
  br label %pv.head
pv.done:
  br label %pa.latch
pa.latch:
  %pa.after = add nuw i64 %pa, 1
  br label %pa.head
pa.done:

  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 64
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; -- prologue: pack a panel of B
  %b.k.offset = mul nuw i64 %k0, 256
  %b.k = getelementptr i8, ptr %b, i64 %b.k.offset
  %b.j.offset = mul nuw i64 %j, 4
  %b.panel = getelementptr i8, ptr %b.k, i64 %b.j.offset
  br label %pb.enter
pb.enter:
  br label %pb.head
pb.head:
  %pb = phi i64 [ 0, %pb.enter ], [ %pb.after, %pb.latch ]
  %pb.more = icmp ult i64 %pb, 128
  br i1 %pb.more, label %pb.body, label %pb.done
pb.body:
  %pb.from.offset = mul nuw i64 %pb, 256
  %pb.from = getelementptr i8, ptr %b.panel, i64 %pb.from.offset
  %pb.to.offset = mul nuw i64 %pb, 32
  %pb.to = getelementptr i8, ptr %b.pack, i64 %pb.to.offset
  %pb.n0.to = getelementptr i8, ptr %pb.to, i64 0
  %pb.n0.from = getelementptr i8, ptr %pb.from, i64 0
  %pb.n0 = load <4 x float>, ptr %pb.n0.from, align 4
  store <4 x float> %pb.n0, ptr %pb.n0.to, align 16
  %pb.n1.to = getelementptr i8, ptr %pb.to, i64 16
  %pb.n1.from = getelementptr i8, ptr %pb.from, i64 16
  %pb.n1 = load <4 x float>, ptr %pb.n1.from, align 4
  store <4 x float> %pb.n1, ptr %pb.n1.to, align 16
  br label %pb.latch
pb.latch:
  %pb.after = add nuw i64 %pb, 1
  br label %pb.head
pb.done:

  ; -- mainloop: mr x nr sums
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, 64
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %i.a.offset = mul nuw i64 %i, 576
  %i.a = getelementptr i8, ptr %a.pack, i64 %i.a.offset
  %i.acc.row = mul nuw i64 %i, 256
  %i.acc.column = mul nuw i64 %j, 4
  %i.acc.offset = add nuw i64 %i.acc.row, %i.acc.column
  %i.acc = getelementptr i8, ptr %acc, i64 %i.acc.offset
  %sum_m0_n0.at = getelementptr i8, ptr %i.acc, i64 0
  %sum_m0_n1.at = getelementptr i8, ptr %i.acc, i64 16
  %sum_m1_n0.at = getelementptr i8, ptr %i.acc, i64 256
  %sum_m1_n1.at = getelementptr i8, ptr %i.acc, i64 272
  %sum_m2_n0.at = getelementptr i8, ptr %i.acc, i64 512
  %sum_m2_n1.at = getelementptr i8, ptr %i.acc, i64 528
  %sum_m3_n0.at = getelementptr i8, ptr %i.acc, i64 768
  %sum_m3_n1.at = getelementptr i8, ptr %i.acc, i64 784
  %sum_m4_n0.at = getelementptr i8, ptr %i.acc, i64 1024
  %sum_m4_n1.at = getelementptr i8, ptr %i.acc, i64 1040
  %sum_m5_n0.at = getelementptr i8, ptr %i.acc, i64 1280
  %sum_m5_n1.at = getelementptr i8, ptr %i.acc, i64 1296
  %sum_m6_n0.at = getelementptr i8, ptr %i.acc, i64 1536
  %sum_m6_n1.at = getelementptr i8, ptr %i.acc, i64 1552
  %sum_m7_n0.at = getelementptr i8, ptr %i.acc, i64 1792
  %sum_m7_n1.at = getelementptr i8, ptr %i.acc, i64 1808
  %sum_m8_n0.at = getelementptr i8, ptr %i.acc, i64 2048
  %sum_m8_n1.at = getelementptr i8, ptr %i.acc, i64 2064
  %sum_m9_n0.at = getelementptr i8, ptr %i.acc, i64 2304
  %sum_m9_n1.at = getelementptr i8, ptr %i.acc, i64 2320
  %sum_m10_n0.at = getelementptr i8, ptr %i.acc, i64 2560
  %sum_m10_n1.at = getelementptr i8, ptr %i.acc, i64 2576
  %sum_m11_n0.at = getelementptr i8, ptr %i.acc, i64 2816
  %sum_m11_n1.at = getelementptr i8, ptr %i.acc, i64 2832
  %sum_m12_n0.at = getelementptr i8, ptr %i.acc, i64 3072
  %sum_m12_n1.at = getelementptr i8, ptr %i.acc, i64 3088
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m2_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m3_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m3_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n1.next, %k.latch ]
  %sum_m4_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %sum_m4_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m4_n1.next, %k.latch ]
  %sum_m5_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n0.next, %k.latch ]
  %sum_m5_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m5_n1.next, %k.latch ]
  %sum_m6_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m6_n0.next, %k.latch ]
  %sum_m6_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m6_n1.next, %k.latch ]
  %sum_m7_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m7_n0.next, %k.latch ]
  %sum_m7_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m7_n1.next, %k.latch ]
  %sum_m8_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m8_n0.next, %k.latch ]
  %sum_m8_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m8_n1.next, %k.latch ]
  %sum_m9_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m9_n0.next, %k.latch ]
  %sum_m9_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m9_n1.next, %k.latch ]
  %sum_m10_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m10_n0.next, %k.latch ]
  %sum_m10_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m10_n1.next, %k.latch ]
  %sum_m11_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m11_n0.next, %k.latch ]
  %sum_m11_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m11_n1.next, %k.latch ]
  %sum_m12_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m12_n0.next, %k.latch ]
  %sum_m12_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m12_n1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 128
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 32
  %k.b = getelementptr i8, ptr %b.pack, i64 %k.b.offset
  %b_n0.at = getelementptr i8, ptr %k.b, i64 0
  %b_n0 = load <4 x float>, ptr %b_n0.at, align 16
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %i.a, i64 %k.a.offset
  %a_m0.at = getelementptr i8, ptr %k.a, i64 0
  %a_m0.scalar = load float, ptr %a_m0.at, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m1.at = getelementptr i8, ptr %k.a, i64 576
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <4 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <4 x float> %a_m1.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m2.at = getelementptr i8, ptr %k.a, i64 1152
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <4 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <4 x float> %a_m2.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m3.at = getelementptr i8, ptr %k.a, i64 1728
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <4 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <4 x float> %a_m3.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m4.at = getelementptr i8, ptr %k.a, i64 2304
  %a_m4.scalar = load float, ptr %a_m4.at, align 4
  %a_m4.first = insertelement <4 x float> poison, float %a_m4.scalar, i32 0
  %a_m4 = shufflevector <4 x float> %a_m4.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m5.at = getelementptr i8, ptr %k.a, i64 2880
  %a_m5.scalar = load float, ptr %a_m5.at, align 4
  %a_m5.first = insertelement <4 x float> poison, float %a_m5.scalar, i32 0
  %a_m5 = shufflevector <4 x float> %a_m5.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m6.at = getelementptr i8, ptr %k.a, i64 3456
  %a_m6.scalar = load float, ptr %a_m6.at, align 4
  %a_m6.first = insertelement <4 x float> poison, float %a_m6.scalar, i32 0
  %a_m6 = shufflevector <4 x float> %a_m6.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m7.at = getelementptr i8, ptr %k.a, i64 4032
  %a_m7.scalar = load float, ptr %a_m7.at, align 4
  %a_m7.first = insertelement <4 x float> poison, float %a_m7.scalar, i32 0
  %a_m7 = shufflevector <4 x float> %a_m7.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m8.at = getelementptr i8, ptr %k.a, i64 4608
  %a_m8.scalar = load float, ptr %a_m8.at, align 4
  %a_m8.first = insertelement <4 x float> poison, float %a_m8.scalar, i32 0
  %a_m8 = shufflevector <4 x float> %a_m8.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m9.at = getelementptr i8, ptr %k.a, i64 5184
  %a_m9.scalar = load float, ptr %a_m9.at, align 4
  %a_m9.first = insertelement <4 x float> poison, float %a_m9.scalar, i32 0
  %a_m9 = shufflevector <4 x float> %a_m9.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m10.at = getelementptr i8, ptr %k.a, i64 5760
  %a_m10.scalar = load float, ptr %a_m10.at, align 4
  %a_m10.first = insertelement <4 x float> poison, float %a_m10.scalar, i32 0
  %a_m10 = shufflevector <4 x float> %a_m10.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m11.at = getelementptr i8, ptr %k.a, i64 6336
  %a_m11.scalar = load float, ptr %a_m11.at, align 4
  %a_m11.first = insertelement <4 x float> poison, float %a_m11.scalar, i32 0
  %a_m11 = shufflevector <4 x float> %a_m11.first, <4 x float> poison, <4 x i32> zeroinitializer
  %a_m12.at = getelementptr i8, ptr %k.a, i64 6912
  %a_m12.scalar = load float, ptr %a_m12.at, align 4
  %a_m12.first = insertelement <4 x float> poison, float %a_m12.scalar, i32 0
  %a_m12 = shufflevector <4 x float> %a_m12.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m1_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n0, <4 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m1, <4 x float> %b_n1, <4 x float> %sum_m1_n1)
  %sum_m2_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n0, <4 x float> %sum_m2_n0)
  %sum_m2_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m2, <4 x float> %b_n1, <4 x float> %sum_m2_n1)
  %sum_m3_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n0, <4 x float> %sum_m3_n0)
  %sum_m3_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m3, <4 x float> %b_n1, <4 x float> %sum_m3_n1)
  %sum_m4_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n0, <4 x float> %sum_m4_n0)
  %sum_m4_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m4, <4 x float> %b_n1, <4 x float> %sum_m4_n1)
  %sum_m5_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n0, <4 x float> %sum_m5_n0)
  %sum_m5_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m5, <4 x float> %b_n1, <4 x float> %sum_m5_n1)
  %sum_m6_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m6, <4 x float> %b_n0, <4 x float> %sum_m6_n0)
  %sum_m6_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m6, <4 x float> %b_n1, <4 x float> %sum_m6_n1)
  %sum_m7_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m7, <4 x float> %b_n0, <4 x float> %sum_m7_n0)
  %sum_m7_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m7, <4 x float> %b_n1, <4 x float> %sum_m7_n1)
  %sum_m8_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m8, <4 x float> %b_n0, <4 x float> %sum_m8_n0)
  %sum_m8_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m8, <4 x float> %b_n1, <4 x float> %sum_m8_n1)
  %sum_m9_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m9, <4 x float> %b_n0, <4 x float> %sum_m9_n0)
  %sum_m9_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m9, <4 x float> %b_n1, <4 x float> %sum_m9_n1)
  %sum_m10_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m10, <4 x float> %b_n0, <4 x float> %sum_m10_n0)
  %sum_m10_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m10, <4 x float> %b_n1, <4 x float> %sum_m10_n1)
  %sum_m11_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m11, <4 x float> %b_n0, <4 x float> %sum_m11_n0)
  %sum_m11_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m11, <4 x float> %b_n1, <4 x float> %sum_m11_n1)
  %sum_m12_n0.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m12, <4 x float> %b_n0, <4 x float> %sum_m12_n0)
  %sum_m12_n1.next = call <4 x float> @llvm.fma.v4f32(<4 x float> %a_m12, <4 x float> %b_n1, <4 x float> %sum_m12_n1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <4 x float> %sum_m0_n0, ptr %sum_m0_n0.at, align 16
  store <4 x float> %sum_m0_n1, ptr %sum_m0_n1.at, align 16
  store <4 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 16
  store <4 x float> %sum_m1_n1, ptr %sum_m1_n1.at, align 16
  store <4 x float> %sum_m2_n0, ptr %sum_m2_n0.at, align 16
  store <4 x float> %sum_m2_n1, ptr %sum_m2_n1.at, align 16
  store <4 x float> %sum_m3_n0, ptr %sum_m3_n0.at, align 16
  store <4 x float> %sum_m3_n1, ptr %sum_m3_n1.at, align 16
  store <4 x float> %sum_m4_n0, ptr %sum_m4_n0.at, align 16
  store <4 x float> %sum_m4_n1, ptr %sum_m4_n1.at, align 16
  store <4 x float> %sum_m5_n0, ptr %sum_m5_n0.at, align 16
  store <4 x float> %sum_m5_n1, ptr %sum_m5_n1.at, align 16
  store <4 x float> %sum_m6_n0, ptr %sum_m6_n0.at, align 16
  store <4 x float> %sum_m6_n1, ptr %sum_m6_n1.at, align 16
  store <4 x float> %sum_m7_n0, ptr %sum_m7_n0.at, align 16
  store <4 x float> %sum_m7_n1, ptr %sum_m7_n1.at, align 16
  store <4 x float> %sum_m8_n0, ptr %sum_m8_n0.at, align 16
  store <4 x float> %sum_m8_n1, ptr %sum_m8_n1.at, align 16
  store <4 x float> %sum_m9_n0, ptr %sum_m9_n0.at, align 16
  store <4 x float> %sum_m9_n1, ptr %sum_m9_n1.at, align 16
  store <4 x float> %sum_m10_n0, ptr %sum_m10_n0.at, align 16
  store <4 x float> %sum_m10_n1, ptr %sum_m10_n1.at, align 16
  store <4 x float> %sum_m11_n0, ptr %sum_m11_n0.at, align 16
  store <4 x float> %sum_m11_n1, ptr %sum_m11_n1.at, align 16
  store <4 x float> %sum_m12_n0, ptr %sum_m12_n0.at, align 16
  store <4 x float> %sum_m12_n1, ptr %sum_m12_n1.at, align 16
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 13
  br label %i.head
i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 8
  br label %j.head
j.done:
  br label %k0.latch
k0.latch:
  %k0.after = add nuw i64 %k0, 128
  br label %k0.head
k0.done:

  ; -- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 64
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.offset = mul nuw i64 %m, 256
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.offset
  %out.offset = mul nuw i64 %m, 256
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 64
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %x.acc.offset = mul nuw i64 %n, 4
  %x.acc.at = getelementptr i8, ptr %acc.row, i64 %x.acc.offset
  %x.out.offset = mul nuw i64 %n, 4
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  %x.acc = load <4 x float>, ptr %x.acc.at, align 16
  store <4 x float> %x.acc, ptr %x.out.at, align 4
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 4
  br label %n.head
n.done:
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
  ; -- exit
  ret void
}

declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
