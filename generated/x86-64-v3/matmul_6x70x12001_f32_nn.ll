; matmul_6x70x12001_f32_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=split-k,mr=6,nr=16,mc=6,kc=8,nc=80,pack_a=1,pack_b=0,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8,split_k=4 (tuned)
; launch:    matmul_6x70x12001_f32_nn_slices: 4 tasks
;            matmul_6x70x12001_f32_nn: 1 task of up to 6 x 70 outputs; 1 x 1 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
;            split-k: a task of the first launch computes a slice of 3008 of K; the second launch adds the
;              partial sums
; memory:    stack, 576 B
;            %a.pack: float [mc][kc], 96 B per row, 576 B
;            %partial.sums: float [4][mc][nc], 384 B per row, 9216 B, in a workspace
; arguments: a: input f32[6, 12001], strides [12001, 1]
;            b: input f32[12001, 70], strides [70, 1]
;            out: output f32[6, 70], strides [70, 1]
;            partial.sums: workspace 9216 B

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_6x16(ptr noalias %a, ptr noalias %b, ptr noalias %acc, ptr noalias %ahead, i64 %depth) #1 {
enter:
  %sum_m0_n0.start = load <8 x float>, ptr %acc, align 32
  %sum_m0_n1.at = getelementptr i8, ptr %acc, i64 32
  %sum_m0_n1.start = load <8 x float>, ptr %sum_m0_n1.at, align 32
  %sum_m1_n0.at = getelementptr i8, ptr %acc, i64 384
  %sum_m1_n0.start = load <8 x float>, ptr %sum_m1_n0.at, align 32
  %sum_m1_n1.at = getelementptr i8, ptr %acc, i64 416
  %sum_m1_n1.start = load <8 x float>, ptr %sum_m1_n1.at, align 32
  %sum_m2_n0.at = getelementptr i8, ptr %acc, i64 768
  %sum_m2_n0.start = load <8 x float>, ptr %sum_m2_n0.at, align 32
  %sum_m2_n1.at = getelementptr i8, ptr %acc, i64 800
  %sum_m2_n1.start = load <8 x float>, ptr %sum_m2_n1.at, align 32
  %sum_m3_n0.at = getelementptr i8, ptr %acc, i64 1152
  %sum_m3_n0.start = load <8 x float>, ptr %sum_m3_n0.at, align 32
  %sum_m3_n1.at = getelementptr i8, ptr %acc, i64 1184
  %sum_m3_n1.start = load <8 x float>, ptr %sum_m3_n1.at, align 32
  %sum_m4_n0.at = getelementptr i8, ptr %acc, i64 1536
  %sum_m4_n0.start = load <8 x float>, ptr %sum_m4_n0.at, align 32
  %sum_m4_n1.at = getelementptr i8, ptr %acc, i64 1568
  %sum_m4_n1.start = load <8 x float>, ptr %sum_m4_n1.at, align 32
  %sum_m5_n0.at = getelementptr i8, ptr %acc, i64 1920
  %sum_m5_n0.start = load <8 x float>, ptr %sum_m5_n0.at, align 32
  %sum_m5_n1.at = getelementptr i8, ptr %acc, i64 1952
  %sum_m5_n1.start = load <8 x float>, ptr %sum_m5_n1.at, align 32
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <8 x float> [ %sum_m0_n1.start, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <8 x float> [ %sum_m1_n1.start, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m2_n0 = phi <8 x float> [ %sum_m2_n0.start, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <8 x float> [ %sum_m2_n1.start, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m3_n0 = phi <8 x float> [ %sum_m3_n0.start, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m3_n1 = phi <8 x float> [ %sum_m3_n1.start, %k.enter ], [ %sum_m3_n1.next, %k.latch ]
  %sum_m4_n0 = phi <8 x float> [ %sum_m4_n0.start, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %sum_m4_n1 = phi <8 x float> [ %sum_m4_n1.start, %k.enter ], [ %sum_m4_n1.next, %k.latch ]
  %sum_m5_n0 = phi <8 x float> [ %sum_m5_n0.start, %k.enter ], [ %sum_m5_n0.next, %k.latch ]
  %sum_m5_n1 = phi <8 x float> [ %sum_m5_n1.start, %k.enter ], [ %sum_m5_n1.next, %k.latch ]
  %k.more = icmp ult i64 %k, %depth
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.ahead.offset = mul nuw i64 %k, 64
  %k.ahead = getelementptr i8, ptr %ahead, i64 %k.ahead.offset
  call void @llvm.prefetch.p0(ptr %k.ahead, i32 0, i32 2, i32 1)
  %k.b.offset = mul nuw i64 %k, 280
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <8 x float>, ptr %k.b, align 4
  %b_n1.at = getelementptr i8, ptr %k.b, i64 32
  %b_n1 = load <8 x float>, ptr %b_n1.at, align 4
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <8 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <8 x float> %a_m0.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m0_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n0, <8 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n1, <8 x float> %sum_m0_n1)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 96
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <8 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <8 x float> %a_m1.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m1_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n0, <8 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n1, <8 x float> %sum_m1_n1)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 192
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <8 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <8 x float> %a_m2.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m2_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n0, <8 x float> %sum_m2_n0)
  %sum_m2_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n1, <8 x float> %sum_m2_n1)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 288
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <8 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <8 x float> %a_m3.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m3_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m3, <8 x float> %b_n0, <8 x float> %sum_m3_n0)
  %sum_m3_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m3, <8 x float> %b_n1, <8 x float> %sum_m3_n1)
  %a_m4.at = getelementptr i8, ptr %k.a, i64 384
  %a_m4.scalar = load float, ptr %a_m4.at, align 4
  %a_m4.first = insertelement <8 x float> poison, float %a_m4.scalar, i32 0
  %a_m4 = shufflevector <8 x float> %a_m4.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m4_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m4, <8 x float> %b_n0, <8 x float> %sum_m4_n0)
  %sum_m4_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m4, <8 x float> %b_n1, <8 x float> %sum_m4_n1)
  %a_m5.at = getelementptr i8, ptr %k.a, i64 480
  %a_m5.scalar = load float, ptr %a_m5.at, align 4
  %a_m5.first = insertelement <8 x float> poison, float %a_m5.scalar, i32 0
  %a_m5 = shufflevector <8 x float> %a_m5.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m5_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m5, <8 x float> %b_n0, <8 x float> %sum_m5_n0)
  %sum_m5_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m5, <8 x float> %b_n1, <8 x float> %sum_m5_n1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <8 x float> %sum_m0_n0, ptr %acc, align 32
  store <8 x float> %sum_m0_n1, ptr %sum_m0_n1.at, align 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 32
  store <8 x float> %sum_m1_n1, ptr %sum_m1_n1.at, align 32
  store <8 x float> %sum_m2_n0, ptr %sum_m2_n0.at, align 32
  store <8 x float> %sum_m2_n1, ptr %sum_m2_n1.at, align 32
  store <8 x float> %sum_m3_n0, ptr %sum_m3_n0.at, align 32
  store <8 x float> %sum_m3_n1, ptr %sum_m3_n1.at, align 32
  store <8 x float> %sum_m4_n0, ptr %sum_m4_n0.at, align 32
  store <8 x float> %sum_m4_n1, ptr %sum_m4_n1.at, align 32
  store <8 x float> %sum_m5_n0, ptr %sum_m5_n0.at, align 32
  store <8 x float> %sum_m5_n1, ptr %sum_m5_n1.at, align 32
  ret void
}

define internal void @tile_6x6(ptr noalias %a, ptr noalias %b, ptr noalias %acc, ptr noalias %ahead, i64 %depth) #1 {
enter:
  %sum_m0_n0.start = load <8 x float>, ptr %acc, align 32
  %sum_m1_n0.at = getelementptr i8, ptr %acc, i64 384
  %sum_m1_n0.start = load <8 x float>, ptr %sum_m1_n0.at, align 32
  %sum_m2_n0.at = getelementptr i8, ptr %acc, i64 768
  %sum_m2_n0.start = load <8 x float>, ptr %sum_m2_n0.at, align 32
  %sum_m3_n0.at = getelementptr i8, ptr %acc, i64 1152
  %sum_m3_n0.start = load <8 x float>, ptr %sum_m3_n0.at, align 32
  %sum_m4_n0.at = getelementptr i8, ptr %acc, i64 1536
  %sum_m4_n0.start = load <8 x float>, ptr %sum_m4_n0.at, align 32
  %sum_m5_n0.at = getelementptr i8, ptr %acc, i64 1920
  %sum_m5_n0.start = load <8 x float>, ptr %sum_m5_n0.at, align 32
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m2_n0 = phi <8 x float> [ %sum_m2_n0.start, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m3_n0 = phi <8 x float> [ %sum_m3_n0.start, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m4_n0 = phi <8 x float> [ %sum_m4_n0.start, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %sum_m5_n0 = phi <8 x float> [ %sum_m5_n0.start, %k.enter ], [ %sum_m5_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, %depth
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.ahead.offset = mul nuw i64 %k, 64
  %k.ahead = getelementptr i8, ptr %ahead, i64 %k.ahead.offset
  call void @llvm.prefetch.p0(ptr %k.ahead, i32 0, i32 2, i32 1)
  %k.b.offset = mul nuw i64 %k, 280
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %k.b, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <8 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <8 x float> %a_m0.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m0_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n0, <8 x float> %sum_m0_n0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 96
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <8 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <8 x float> %a_m1.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m1_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n0, <8 x float> %sum_m1_n0)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 192
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <8 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <8 x float> %a_m2.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m2_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n0, <8 x float> %sum_m2_n0)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 288
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <8 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <8 x float> %a_m3.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m3_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m3, <8 x float> %b_n0, <8 x float> %sum_m3_n0)
  %a_m4.at = getelementptr i8, ptr %k.a, i64 384
  %a_m4.scalar = load float, ptr %a_m4.at, align 4
  %a_m4.first = insertelement <8 x float> poison, float %a_m4.scalar, i32 0
  %a_m4 = shufflevector <8 x float> %a_m4.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m4_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m4, <8 x float> %b_n0, <8 x float> %sum_m4_n0)
  %a_m5.at = getelementptr i8, ptr %k.a, i64 480
  %a_m5.scalar = load float, ptr %a_m5.at, align 4
  %a_m5.first = insertelement <8 x float> poison, float %a_m5.scalar, i32 0
  %a_m5 = shufflevector <8 x float> %a_m5.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m5_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m5, <8 x float> %b_n0, <8 x float> %sum_m5_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <8 x float> %sum_m0_n0, ptr %acc, align 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 32
  store <8 x float> %sum_m2_n0, ptr %sum_m2_n0.at, align 32
  store <8 x float> %sum_m3_n0, ptr %sum_m3_n0.at, align 32
  store <8 x float> %sum_m4_n0, ptr %sum_m4_n0.at, align 32
  store <8 x float> %sum_m5_n0, ptr %sum_m5_n0.at, align 32
  ret void
}

; Partial sums of the slices of K, one task per slice.
define void @matmul_6x70x12001_f32_nn_slices(ptr %a, ptr %b, ptr %partial.sums, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [576 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: a task is a slice of 3008 of K
  %slice.start = mul nuw i64 %task, 3008
  %slice.next = add nuw i64 %slice.start, 3008
  %slice.stop.less = icmp ult i64 %slice.next, 12001
  %slice.stop = select i1 %slice.stop.less, i64 %slice.next, i64 12001
  %acc.offset = mul nuw i64 %task, 2304
  %acc = getelementptr i8, ptr %partial.sums, i64 %acc.offset
  br label %acc.clear.enter
acc.clear.enter:
  br label %acc.clear.head
acc.clear.head:
  %acc.clear = phi i64 [ 0, %acc.clear.enter ], [ %acc.clear.after, %acc.clear.latch ]
  %acc.clear.more = icmp ult i64 %acc.clear, 2304
  br i1 %acc.clear.more, label %acc.clear.body, label %acc.clear.done
acc.clear.body:
  %acc.clear.at = getelementptr i8, ptr %acc, i64 %acc.clear
  store <32 x i8> zeroinitializer, ptr %acc.clear.at, align 32
  br label %acc.clear.latch
acc.clear.latch:
  %acc.clear.after = add nuw i64 %acc.clear, 32
  br label %acc.clear.head
acc.clear.done:

  ; ---- mainloop: blocks of K
  br label %k0.enter
k0.enter:
  br label %k0.head
k0.head:
  %k0 = phi i64 [ %slice.start, %k0.enter ], [ %k0.after, %k0.latch ]
  %k0.more = icmp ult i64 %k0, %slice.stop
  br i1 %k0.more, label %k0.body, label %k0.done
k0.body:
  %depth.left = sub i64 12001, %k0
  %depth.less = icmp ult i64 %depth.left, 8
  %depth = select i1 %depth.less, i64 %depth.left, i64 8
  %a.k.offset = mul nuw i64 %k0, 4
  %a.k = getelementptr i8, ptr %a, i64 %a.k.offset
  %b.k.offset = mul nuw i64 %k0, 280
  %b.k = getelementptr i8, ptr %b, i64 %b.k.offset
  %ahead.next = add nuw i64 %k0, 8
  %ahead.is_inside = icmp ult i64 %ahead.next, 12001
  %ahead.k = select i1 %ahead.is_inside, i64 8, i64 0
  ; ---- prologue: pack A
  %a.whole = and i64 %depth, -8
  br label %pa.enter
pa.enter:
  br label %pa.head
pa.head:
  %pa = phi i64 [ 0, %pa.enter ], [ %pa.after, %pa.latch ]
  %pa.more = icmp ult i64 %pa, 6
  br i1 %pa.more, label %pa.body, label %pa.done
pa.body:
  %pa.from.offset = mul nuw i64 %pa, 48004
  %pa.from = getelementptr i8, ptr %a.k, i64 %pa.from.offset
  %pa.to.offset = mul nuw i64 %pa, 96
  %pa.to = getelementptr i8, ptr %a.pack, i64 %pa.to.offset
  br label %pv.enter
pv.enter:
  br label %pv.head
pv.head:
  %pv = phi i64 [ 0, %pv.enter ], [ %pv.after, %pv.latch ]
  %pv.more = icmp ult i64 %pv, %a.whole
  br i1 %pv.more, label %pv.body, label %pv.done
pv.body:
  %pv.from.offset = mul nuw i64 %pv, 4
  %pv.from = getelementptr i8, ptr %pa.from, i64 %pv.from.offset
  %pv.x = load <8 x float>, ptr %pv.from, align 4
  %pv.to.offset = mul nuw i64 %pv, 4
  %pv.to = getelementptr i8, ptr %pa.to, i64 %pv.to.offset
  store <8 x float> %pv.x, ptr %pv.to, align 32
  br label %pv.latch
pv.latch:
  %pv.after = add nuw i64 %pv, 8
  br label %pv.head
pv.done:
  %pt.some = icmp ne i64 %a.whole, %depth
  br i1 %pt.some, label %pt.do, label %pt.done
pt.do:
  %pt.from.offset = mul nuw i64 %a.whole, 4
  %pt.from = getelementptr i8, ptr %pa.from, i64 %pt.from.offset
  %pt.x.scalar = load float, ptr %pt.from, align 4
  %pt.x = insertelement <8 x float> zeroinitializer, float %pt.x.scalar, i32 0
  %pt.to.offset = mul nuw i64 %a.whole, 4
  %pt.to = getelementptr i8, ptr %pa.to, i64 %pt.to.offset
  store <8 x float> %pt.x, ptr %pt.to, align 32
  br label %pt.done
pt.done:
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
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 4
  %p.b = getelementptr i8, ptr %b.k, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 6
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 96
  %p.w.a = getelementptr i8, ptr %a.pack, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 384
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.acc = getelementptr i8, ptr %acc, i64 %p.w.corner
  %p.w.next.panel = mul nuw i64 %j, 32
  %p.w.next.row = udiv i64 %p.w.next.panel, 320
  %p.w.next.column = urem i64 %p.w.next.panel, 320
  %p.w.next.k = add nuw i64 %p.w.next.row, %ahead.k
  %p.w.next.offset = mul nuw i64 %p.w.next.k, 280
  %p.w.next = getelementptr i8, ptr %b.k, i64 %p.w.next.offset
  %p.w.ahead = getelementptr i8, ptr %p.w.next, i64 %p.w.next.column
  call void @tile_6x16(ptr %p.w.a, ptr %p.b, ptr %p.w.acc, ptr %p.w.ahead, i64 %depth)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 6
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 16
  br label %j.head
j.done:
  ; ---- the remainder panel
  %r.b = getelementptr i8, ptr %b.k, i64 256

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ 0, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 6
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.a.offset = mul nuw i64 %r.i, 96
  %r.w.a = getelementptr i8, ptr %a.pack, i64 %r.w.a.offset
  %r.w.row = mul nuw i64 %r.i, 384
  %r.w.corner = add nuw i64 %r.w.row, 256
  %r.w.acc = getelementptr i8, ptr %acc, i64 %r.w.corner
  %r.w.next.k = add nuw i64 6, %ahead.k
  %r.w.next.offset = mul nuw i64 %r.w.next.k, 280
  %r.w.next = getelementptr i8, ptr %b.k, i64 %r.w.next.offset
  %r.w.ahead = getelementptr i8, ptr %r.w.next, i64 128
  call void @tile_6x6(ptr %r.w.a, ptr %r.b, ptr %r.w.acc, ptr %r.w.ahead, i64 %depth)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 6
  br label %r.i.head
r.i.done:
  br label %k0.latch
k0.latch:
  %k0.after = add nuw i64 %k0, 8
  br label %k0.head
k0.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

; Sum of the slices, and the epilogue: a single task.
define void @matmul_6x70x12001_f32_nn(ptr %out, ptr %partial.sums, i64 %begin, i64 %end) #0 {
entry:
  br label %x.enter
x.enter:
  br label %x.head
x.head:
  %x = phi i64 [ 0, %x.enter ], [ %x.after, %x.latch ]
  %x.more = icmp ult i64 %x, 2304
  br i1 %x.more, label %x.body, label %x.done
x.body:
  %x.at = getelementptr i8, ptr %partial.sums, i64 %x
  %x.sum0 = load <8 x float>, ptr %x.at, align 32
  %x.at1 = getelementptr i8, ptr %x.at, i64 2304
  %x.slice1 = load <8 x float>, ptr %x.at1, align 32
  %x.sum1 = fadd <8 x float> %x.sum0, %x.slice1
  %x.at2 = getelementptr i8, ptr %x.at, i64 4608
  %x.slice2 = load <8 x float>, ptr %x.at2, align 32
  %x.sum2 = fadd <8 x float> %x.sum1, %x.slice2
  %x.at3 = getelementptr i8, ptr %x.at, i64 6912
  %x.slice3 = load <8 x float>, ptr %x.at3, align 32
  %x.sum3 = fadd <8 x float> %x.sum2, %x.slice3
  store <8 x float> %x.sum3, ptr %x.at, align 32
  br label %x.latch
x.latch:
  %x.after = add nuw i64 %x, 32
  br label %x.head
x.done:

  ; ---- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 6
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.row.offset = mul nuw i64 %m, 384
  %acc.row = getelementptr i8, ptr %partial.sums, i64 %acc.row.offset
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
  %x.acc = load <8 x float>, ptr %x.acc.at, align 32
  %x.out.offset = mul nuw i64 %n, 4
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  store <8 x float> %x.acc, ptr %x.out.at, align 4
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 8
  br label %n.head
n.done:
  %t.acc.at = getelementptr i8, ptr %acc.row, i64 256
  %t.acc = load <8 x float>, ptr %t.acc.at, align 32
  %t.out.at = getelementptr i8, ptr %out.row, i64 256
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t.acc, ptr align 4 %t.out.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>)
  br label %m.latch
m.latch:
  %m.after = add nuw i64 %m, 1
  br label %m.head
m.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
