; conv2d_1x5x4x6_8x5x3x3_s8_nhwc_hwio_p1_pvm7_to_s32
;
; computes:  out = convolution(A, B) with padding 1x1x1x1, padding value -7, accumulated in s32
; target:    x86-64-v4+vnni, x86_64; requires abm avx avx2 avx512_vnni avx512bw avx512cd avx512dq avx512f
;              avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=dot,mr=4,nr=16,mc=8,kc=45,nc=16,pack_a=1,pack_b=1,ahead=0,keep_b=1,packing_ahead=8 (user)
; launch:    3 tasks of up to 8 x 8 outputs; 3 x 1 blocks
; method:    BLIS blocking with vpdpbusd, 4 of K per instruction: a task computes an mc x nc block of out, kc of
;              K at a time; for each panel of nr columns of B, packed in groups of 4 of K, it visits every mr
;              rows of A, with mr x nr accumulators in registers
;            zero-point compensation: vpdpbusd reads B as unsigned; elements of B get +128, and the sums of row i
;              start at -128 * (A[i, 0] + A[i, 1] + ...)
; memory:    stack, 1824 B
;            %a.pack: s8 [mc][kc], 128 B per row, zero past K, 1024 B
;            %a.starts: i32 [mc], 32 B
;            %b.pack: s8 [kc/4][nr][4], 64 B per row, zero past K and N, 768 B
; arguments: a: input s8[1, 4, 6, 5], strides [120, 30, 5, 1]
;            b: input s8[3, 3, 5, 8], strides [120, 40, 8, 1]
;            out: output s32[1, 4, 6, 8], strides [192, 48, 8, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_4x8(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %starts) #1 {
enter:
  %start_m0 = load i32, ptr %starts, align 4
  %start_m1.at = getelementptr i32, ptr %starts, i64 1
  %start_m1 = load i32, ptr %start_m1.at, align 4
  %start_m2.at = getelementptr i32, ptr %starts, i64 2
  %start_m2 = load i32, ptr %start_m2.at, align 4
  %start_m3.at = getelementptr i32, ptr %starts, i64 3
  %start_m3 = load i32, ptr %start_m3.at, align 4
  %sum_m0_n0.start.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n0.start = shufflevector <16 x i32> %sum_m0_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.start.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n0.start = shufflevector <16 x i32> %sum_m1_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m2_n0.start.first = insertelement <16 x i32> poison, i32 %start_m2, i32 0
  %sum_m2_n0.start = shufflevector <16 x i32> %sum_m2_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m3_n0.start.first = insertelement <16 x i32> poison, i32 %start_m3, i32 0
  %sum_m3_n0.start = shufflevector <16 x i32> %sum_m3_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x i32> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <16 x i32> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m2_n0 = phi <16 x i32> [ %sum_m2_n0.start, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m3_n0 = phi <16 x i32> [ %sum_m3_n0.start, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 12
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.stored = load <64 x i8>, ptr %k.b, align 64
  %b_n0 = xor <64 x i8> %b_n0.stored, splat (i8 -128)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <16 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <16 x i32> %a_m0.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m0 = bitcast <16 x i32> %a_m0.bits to <64 x i8>
  %a_m0.low = shufflevector <64 x i8> %a_m0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.low = shufflevector <16 x i32> %sum_m0_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m0_n0.low, <32 x i8> %sum_m0_n0.b, <32 x i8> %a_m0.low)
  %sum_m0_n0.next = shufflevector <8 x i32> %sum_m0_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m1.at = getelementptr i8, ptr %k.a, i64 128
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <64 x i8>
  %a_m1.low = shufflevector <64 x i8> %a_m1, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m1_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m1_n0.low = shufflevector <16 x i32> %sum_m1_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m1_n0.low, <32 x i8> %sum_m1_n0.b, <32 x i8> %a_m1.low)
  %sum_m1_n0.next = shufflevector <8 x i32> %sum_m1_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m2.at = getelementptr i8, ptr %k.a, i64 256
  %a_m2.group = load i32, ptr %a_m2.at, align 1
  %a_m2.bits.first = insertelement <16 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <16 x i32> %a_m2.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m2 = bitcast <16 x i32> %a_m2.bits to <64 x i8>
  %a_m2.low = shufflevector <64 x i8> %a_m2, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m2_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m2_n0.low = shufflevector <16 x i32> %sum_m2_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m2_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m2_n0.low, <32 x i8> %sum_m2_n0.b, <32 x i8> %a_m2.low)
  %sum_m2_n0.next = shufflevector <8 x i32> %sum_m2_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m3.at = getelementptr i8, ptr %k.a, i64 384
  %a_m3.group = load i32, ptr %a_m3.at, align 1
  %a_m3.bits.first = insertelement <16 x i32> poison, i32 %a_m3.group, i32 0
  %a_m3.bits = shufflevector <16 x i32> %a_m3.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m3 = bitcast <16 x i32> %a_m3.bits to <64 x i8>
  %a_m3.low = shufflevector <64 x i8> %a_m3, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m3_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m3_n0.low = shufflevector <16 x i32> %sum_m3_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m3_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m3_n0.low, <32 x i8> %sum_m3_n0.b, <32 x i8> %a_m3.low)
  %sum_m3_n0.next = shufflevector <8 x i32> %sum_m3_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head, !llvm.loop !0
k.done:
  ; ---- epilogue
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m0_n0, ptr align 4 %out, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 32
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m1_n0, ptr align 4 %sum_m1_n0.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 64
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m2_n0, ptr align 4 %sum_m2_n0.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 96
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m3_n0, ptr align 4 %sum_m3_n0.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  ret void
}

; Zeros in place of rows of B after the last k, for tiles that pack.
@zeros = private unnamed_addr constant [16 x i8] zeroinitializer, align 64
define internal void @tile_4x8_packing(ptr noalias %a, ptr noalias %b, ptr noalias %pack, ptr noalias %out, ptr noalias %starts) #1 {
enter:
  %start_m0 = load i32, ptr %starts, align 4
  %start_m1.at = getelementptr i32, ptr %starts, i64 1
  %start_m1 = load i32, ptr %start_m1.at, align 4
  %start_m2.at = getelementptr i32, ptr %starts, i64 2
  %start_m2 = load i32, ptr %start_m2.at, align 4
  %start_m3.at = getelementptr i32, ptr %starts, i64 3
  %start_m3 = load i32, ptr %start_m3.at, align 4
  %sum_m0_n0.start.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n0.start = shufflevector <16 x i32> %sum_m0_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.start.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n0.start = shufflevector <16 x i32> %sum_m1_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m2_n0.start.first = insertelement <16 x i32> poison, i32 %start_m2, i32 0
  %sum_m2_n0.start = shufflevector <16 x i32> %sum_m2_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m3_n0.start.first = insertelement <16 x i32> poison, i32 %start_m3, i32 0
  %sum_m3_n0.start = shufflevector <16 x i32> %sum_m3_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x i32> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <16 x i32> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m2_n0 = phi <16 x i32> [ %sum_m2_n0.start, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m3_n0 = phi <16 x i32> [ %sum_m3_n0.start, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 12
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 32
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %k.pack.offset = mul nuw i64 %k, 64
  %k.pack = getelementptr i8, ptr %pack, i64 %k.pack.offset
  %k.ahead.0 = getelementptr i8, ptr %k.b, i64 256
  call void @llvm.prefetch.p0(ptr %k.ahead.0, i32 0, i32 3, i32 1)
  %k.ahead.1 = getelementptr i8, ptr %k.b, i64 263
  call void @llvm.prefetch.p0(ptr %k.ahead.1, i32 0, i32 3, i32 1)
  %k.ahead.2 = getelementptr i8, ptr %k.b, i64 264
  call void @llvm.prefetch.p0(ptr %k.ahead.2, i32 0, i32 3, i32 1)
  %k.ahead.3 = getelementptr i8, ptr %k.b, i64 271
  call void @llvm.prefetch.p0(ptr %k.ahead.3, i32 0, i32 3, i32 1)
  %k.ahead.4 = getelementptr i8, ptr %k.b, i64 272
  call void @llvm.prefetch.p0(ptr %k.ahead.4, i32 0, i32 3, i32 1)
  %k.ahead.5 = getelementptr i8, ptr %k.b, i64 279
  call void @llvm.prefetch.p0(ptr %k.ahead.5, i32 0, i32 3, i32 1)
  %k.ahead.6 = getelementptr i8, ptr %k.b, i64 280
  call void @llvm.prefetch.p0(ptr %k.ahead.6, i32 0, i32 3, i32 1)
  %k.ahead.7 = getelementptr i8, ptr %k.b, i64 287
  call void @llvm.prefetch.p0(ptr %k.ahead.7, i32 0, i32 3, i32 1)
  %k.iscut = icmp eq i64 %k, 11
  %b_n0.stored.k0 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %k.b, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k1.row = getelementptr i8, ptr %k.b, i64 8
  %b_n0.stored.k1.from = select i1 %k.iscut, ptr @zeros, ptr %b_n0.stored.k1.row
  %b_n0.stored.k1 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %b_n0.stored.k1.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k2.row = getelementptr i8, ptr %k.b, i64 16
  %b_n0.stored.k2.from = select i1 %k.iscut, ptr @zeros, ptr %b_n0.stored.k2.row
  %b_n0.stored.k2 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %b_n0.stored.k2.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k3.row = getelementptr i8, ptr %k.b, i64 24
  %b_n0.stored.k3.from = select i1 %k.iscut, ptr @zeros, ptr %b_n0.stored.k3.row
  %b_n0.stored.k3 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %b_n0.stored.k3.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k01 = shufflevector <16 x i8> %b_n0.stored.k0, <16 x i8> %b_n0.stored.k1, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n0.stored.k23 = shufflevector <16 x i8> %b_n0.stored.k2, <16 x i8> %b_n0.stored.k3, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n0.stored = shufflevector <32 x i8> %b_n0.stored.k01, <32 x i8> %b_n0.stored.k23, <64 x i32> <i32 0, i32 16, i32 32, i32 48, i32 1, i32 17, i32 33, i32 49, i32 2, i32 18, i32 34, i32 50, i32 3, i32 19, i32 35, i32 51, i32 4, i32 20, i32 36, i32 52, i32 5, i32 21, i32 37, i32 53, i32 6, i32 22, i32 38, i32 54, i32 7, i32 23, i32 39, i32 55, i32 8, i32 24, i32 40, i32 56, i32 9, i32 25, i32 41, i32 57, i32 10, i32 26, i32 42, i32 58, i32 11, i32 27, i32 43, i32 59, i32 12, i32 28, i32 44, i32 60, i32 13, i32 29, i32 45, i32 61, i32 14, i32 30, i32 46, i32 62, i32 15, i32 31, i32 47, i32 63>
  store <64 x i8> %b_n0.stored, ptr %k.pack, align 64
  %b_n0 = xor <64 x i8> %b_n0.stored, splat (i8 -128)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <16 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <16 x i32> %a_m0.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m0 = bitcast <16 x i32> %a_m0.bits to <64 x i8>
  %a_m0.low = shufflevector <64 x i8> %a_m0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.low = shufflevector <16 x i32> %sum_m0_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m0_n0.low, <32 x i8> %sum_m0_n0.b, <32 x i8> %a_m0.low)
  %sum_m0_n0.next = shufflevector <8 x i32> %sum_m0_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m1.at = getelementptr i8, ptr %k.a, i64 128
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <64 x i8>
  %a_m1.low = shufflevector <64 x i8> %a_m1, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m1_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m1_n0.low = shufflevector <16 x i32> %sum_m1_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m1_n0.low, <32 x i8> %sum_m1_n0.b, <32 x i8> %a_m1.low)
  %sum_m1_n0.next = shufflevector <8 x i32> %sum_m1_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m2.at = getelementptr i8, ptr %k.a, i64 256
  %a_m2.group = load i32, ptr %a_m2.at, align 1
  %a_m2.bits.first = insertelement <16 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <16 x i32> %a_m2.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m2 = bitcast <16 x i32> %a_m2.bits to <64 x i8>
  %a_m2.low = shufflevector <64 x i8> %a_m2, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m2_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m2_n0.low = shufflevector <16 x i32> %sum_m2_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m2_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m2_n0.low, <32 x i8> %sum_m2_n0.b, <32 x i8> %a_m2.low)
  %sum_m2_n0.next = shufflevector <8 x i32> %sum_m2_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m3.at = getelementptr i8, ptr %k.a, i64 384
  %a_m3.group = load i32, ptr %a_m3.at, align 1
  %a_m3.bits.first = insertelement <16 x i32> poison, i32 %a_m3.group, i32 0
  %a_m3.bits = shufflevector <16 x i32> %a_m3.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m3 = bitcast <16 x i32> %a_m3.bits to <64 x i8>
  %a_m3.low = shufflevector <64 x i8> %a_m3, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m3_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m3_n0.low = shufflevector <16 x i32> %sum_m3_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m3_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m3_n0.low, <32 x i8> %sum_m3_n0.b, <32 x i8> %a_m3.low)
  %sum_m3_n0.next = shufflevector <8 x i32> %sum_m3_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m0_n0, ptr align 4 %out, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 32
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m1_n0, ptr align 4 %sum_m1_n0.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 64
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m2_n0, ptr align 4 %sum_m2_n0.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 96
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %sum_m3_n0, ptr align 4 %sum_m3_n0.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  ret void
}

define void @conv2d_1x5x4x6_8x5x3x3_s8_nhwc_hwio_p1_pvm7_to_s32(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [1024 x i8], align 64
  %a.starts = alloca [8 x i32], align 64
  %b.pack = alloca [768 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of columns, block of rows), last fastest
  %block.m = urem i64 %task, 3
  %m0 = mul nuw i64 %block.m, 8
  %packs.first = icmp eq i64 %task, %begin
  %packs.next = icmp eq i64 %block.m, 0
  %packs = or i1 %packs.first, %packs.next

  %out.m0.offset = mul nuw i64 %m0, 32
  %out.m0 = getelementptr i8, ptr %out, i64 %out.m0.offset

  ; ---- prologue: pack windows, one row of A after the other
  br label %pa.enter
pa.enter:
  br label %pa.head
pa.head:
  %pa = phi i64 [ 0, %pa.enter ], [ %pa.after, %pa.latch ]
  %pa.more = icmp ult i64 %pa, 8
  br i1 %pa.more, label %pa.body, label %pa.done
pa.body:
  ; a window: image, position along each axis, and its first element, which may be padding
  %w.row = add nuw i64 %m0, %pa
  %w.image = udiv i64 %w.row, 24
  %w.image.offset = mul nuw i64 %w.image, 120
  %w.base = getelementptr i8, ptr %a, i64 %w.image.offset
  %w.y.count = udiv i64 %w.row, 6
  %w.y.position = urem i64 %w.y.count, 4
  %w.y = sub i64 %w.y.position, 1
  %w.y.offset = mul i64 %w.y, 30
  %w.x.position = urem i64 %w.row, 6
  %w.x = sub i64 %w.x.position, 1
  %w.x.offset = mul i64 %w.x, 5
  %w.at.y = getelementptr i8, ptr %w.base, i64 %w.y.offset
  %w.at.x = getelementptr i8, ptr %w.at.y, i64 %w.x.offset
  ; elements of a segment inside the image
  %w.left = sub i64 0, %w.x
  %w.left.elements = mul i64 %w.left, 5
  %w.low = call i64 @llvm.smax.i64(i64 %w.left.elements, i64 0)
  %w.right = sub i64 6, %w.x
  %w.right.elements = mul i64 %w.right, 5
  %w.high = call i64 @llvm.smin.i64(i64 %w.right.elements, i64 15)
  %w.to.offset = mul nuw i64 %pa, 128
  %w.to = getelementptr i8, ptr %a.pack, i64 %w.to.offset
  %w.y.isin = icmp ult i64 %w.y, 2
  %w.y.all = and i1 true, %w.y.isin
  %w.x.isin = icmp ult i64 %w.x, 4
  %w.inside = and i1 %w.y.all, %w.x.isin
  br i1 %w.inside, label %window.inner, label %window.outer
window.outer:
  br label %ws.enter
ws.enter:
  br label %ws.head
ws.head:
  %ws = phi i64 [ 0, %ws.enter ], [ %ws.after, %ws.latch ]
  %ws.more = icmp ult i64 %ws, 3
  br i1 %ws.more, label %ws.body, label %ws.done
ws.body:
  %ws.k = mul nuw i64 %ws, 15
  %ws.begins = sub i64 0, %ws.k
  %ws.start = call i64 @llvm.smax.i64(i64 %ws.begins, i64 0)
  %ws.ends = sub i64 45, %ws.k
  %ws.stop = call i64 @llvm.smin.i64(i64 %ws.ends, i64 15)
  %ws.y.place = urem i64 %ws, 3
  %ws.y = add i64 %w.y, %ws.y.place
  %ws.y.inside = icmp ult i64 %ws.y, 4
  %ws.y.offset = mul nuw i64 %ws.y.place, 30
  %ws.at.y = getelementptr i8, ptr %w.at.x, i64 %ws.y.offset
  %ws.inside.y = and i1 true, %ws.y.inside
  %ws.to = getelementptr i8, ptr %w.to, i64 %ws.k
  %ws.low.least = call i64 @llvm.smax.i64(i64 %w.low, i64 %ws.start)
  %ws.low.here = call i64 @llvm.smin.i64(i64 %ws.low.least, i64 %ws.stop)
  %ws.high.most = call i64 @llvm.smin.i64(i64 %w.high, i64 %ws.stop)
  %ws.high.here = call i64 @llvm.smax.i64(i64 %ws.high.most, i64 %ws.low.here)
  %ws.low = select i1 %ws.inside.y, i64 %ws.low.here, i64 %ws.stop
  %ws.high = select i1 %ws.inside.y, i64 %ws.high.here, i64 %ws.stop
  %ws.length = sub i64 %ws.high, %ws.low
  %ws.iswhole = icmp eq i64 %ws.length, 15
  br i1 %ws.iswhole, label %segment.whole, label %segment.cut
segment.cut:
  br label %zl.enter
zl.enter:
  br label %zl.head
zl.head:
  %zl = phi i64 [ %ws.start, %zl.enter ], [ %zl.after, %zl.latch ]
  %zl.more = icmp ult i64 %zl, %ws.low
  br i1 %zl.more, label %zl.body, label %zl.done
zl.body:
  %zl.to = getelementptr i8, ptr %ws.to, i64 %zl
  store <64 x i8> splat (i8 -7), ptr %zl.to, align 1
  br label %zl.latch
zl.latch:
  %zl.after = add nuw i64 %zl, 64
  br label %zl.head
zl.done:
  %ws.whole.length = and i64 %ws.length, -64
  %ws.whole = add i64 %ws.low, %ws.whole.length
  br label %wsv.enter
wsv.enter:
  br label %wsv.head
wsv.head:
  %wsv = phi i64 [ %ws.low, %wsv.enter ], [ %wsv.after, %wsv.latch ]
  %wsv.more = icmp ult i64 %wsv, %ws.whole
  br i1 %wsv.more, label %wsv.body, label %wsv.done
wsv.body:
  %wsv.from = getelementptr i8, ptr %ws.at.y, i64 %wsv
  %wsv.x = load <64 x i8>, ptr %wsv.from, align 1
  %wsv.to = getelementptr i8, ptr %ws.to, i64 %wsv
  store <64 x i8> %wsv.x, ptr %wsv.to, align 1
  br label %wsv.latch
wsv.latch:
  %wsv.after = add nuw i64 %wsv, 64
  br label %wsv.head
wsv.done:
  %wst.some = icmp ult i64 %ws.whole, %ws.high
  br i1 %wst.some, label %wst.do, label %wst.done
wst.do:
  %wst.left = sub i64 %ws.high, %ws.whole
  %wst.few = trunc i64 %wst.left to i8
  %wst.one = insertelement <64 x i8> poison, i8 %wst.few, i32 0
  %wst.all = shufflevector <64 x i8> %wst.one, <64 x i8> poison, <64 x i32> zeroinitializer
  %wst.mask = icmp ugt <64 x i8> %wst.all, <i8 0, i8 1, i8 2, i8 3, i8 4, i8 5, i8 6, i8 7, i8 8, i8 9, i8 10, i8 11, i8 12, i8 13, i8 14, i8 15, i8 16, i8 17, i8 18, i8 19, i8 20, i8 21, i8 22, i8 23, i8 24, i8 25, i8 26, i8 27, i8 28, i8 29, i8 30, i8 31, i8 32, i8 33, i8 34, i8 35, i8 36, i8 37, i8 38, i8 39, i8 40, i8 41, i8 42, i8 43, i8 44, i8 45, i8 46, i8 47, i8 48, i8 49, i8 50, i8 51, i8 52, i8 53, i8 54, i8 55, i8 56, i8 57, i8 58, i8 59, i8 60, i8 61, i8 62, i8 63>
  %wst.from = getelementptr i8, ptr %ws.at.y, i64 %ws.whole
  %wst.x = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr align 1 %wst.from, <64 x i1> %wst.mask, <64 x i8> zeroinitializer)
  %wst.to = getelementptr i8, ptr %ws.to, i64 %ws.whole
  store <64 x i8> %wst.x, ptr %wst.to, align 1
  br label %wst.done
wst.done:
  br label %zh.enter
zh.enter:
  br label %zh.head
zh.head:
  %zh = phi i64 [ %ws.high, %zh.enter ], [ %zh.after, %zh.latch ]
  %zh.more = icmp ult i64 %zh, %ws.stop
  br i1 %zh.more, label %zh.body, label %zh.done
zh.body:
  %zh.to = getelementptr i8, ptr %ws.to, i64 %zh
  store <64 x i8> splat (i8 -7), ptr %zh.to, align 1
  br label %zh.latch
zh.latch:
  %zh.after = add nuw i64 %zh, 64
  br label %zh.head
zh.done:
  br label %segment.joined
segment.whole:
  %wt.x = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr align 1 %ws.at.y, <64 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <64 x i8> zeroinitializer)
  store <64 x i8> %wt.x, ptr %ws.to, align 1
  br label %segment.joined
segment.joined:
  br label %ws.latch
ws.latch:
  %ws.after = add nuw i64 %ws, 1
  br label %ws.head
ws.done:
  br label %window.joined
window.inner:
  %wi0.x = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr align 1 %w.at.x, <64 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <64 x i8> zeroinitializer)
  store <64 x i8> %wi0.x, ptr %w.to, align 1
  %wi1.from = getelementptr i8, ptr %w.at.x, i64 30
  %wi1.x = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr align 1 %wi1.from, <64 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <64 x i8> zeroinitializer)
  %wi1.to = getelementptr i8, ptr %w.to, i64 15
  store <64 x i8> %wi1.x, ptr %wi1.to, align 1
  %wi2.from = getelementptr i8, ptr %w.at.x, i64 60
  %wi2.x = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr align 1 %wi2.from, <64 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <64 x i8> zeroinitializer)
  %wi2.to = getelementptr i8, ptr %w.to, i64 30
  store <64 x i8> %wi2.x, ptr %wi2.to, align 1
  br label %window.joined
window.joined:
  %w.after = getelementptr i8, ptr %w.to, i64 45
  store <64 x i8> zeroinitializer, ptr %w.after, align 1
  br label %pa.latch
pa.latch:
  %pa.after = add nuw i64 %pa, 1
  br label %pa.head
pa.done:
  ; ---- prologue: compensation for +128 on each element of B
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ 0, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, 8
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %s.a.offset = mul nuw i64 %s, 128
  %s.a = getelementptr i8, ptr %a.pack, i64 %s.a.offset
  %s.a_m1 = getelementptr i8, ptr %s.a, i64 128
  %s.a_m2 = getelementptr i8, ptr %s.a, i64 256
  %s.a_m3 = getelementptr i8, ptr %s.a, i64 384
  %s.at = getelementptr i32, ptr %a.starts, i64 %s
  br label %sk.enter
sk.enter:
  br label %sk.head
sk.head:
  %sk = phi i64 [ 0, %sk.enter ], [ %sk.after, %sk.latch ]
  %s.sums_m0 = phi <16 x i32> [ zeroinitializer, %sk.enter ], [ %s.sums_m0.next, %sk.latch ]
  %s.sums_m1 = phi <16 x i32> [ zeroinitializer, %sk.enter ], [ %s.sums_m1.next, %sk.latch ]
  %s.sums_m2 = phi <16 x i32> [ zeroinitializer, %sk.enter ], [ %s.sums_m2.next, %sk.latch ]
  %s.sums_m3 = phi <16 x i32> [ zeroinitializer, %sk.enter ], [ %s.sums_m3.next, %sk.latch ]
  %sk.more = icmp ult i64 %sk, 64
  br i1 %sk.more, label %sk.body, label %sk.done
sk.body:
  %sk.m0.at = getelementptr i8, ptr %s.a, i64 %sk
  %sk.m0 = load <64 x i8>, ptr %sk.m0.at, align 1
  %s.sums_m0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %s.sums_m0, <64 x i8> splat (i8 -128), <64 x i8> %sk.m0)
  %sk.m1.at = getelementptr i8, ptr %s.a_m1, i64 %sk
  %sk.m1 = load <64 x i8>, ptr %sk.m1.at, align 1
  %s.sums_m1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %s.sums_m1, <64 x i8> splat (i8 -128), <64 x i8> %sk.m1)
  %sk.m2.at = getelementptr i8, ptr %s.a_m2, i64 %sk
  %sk.m2 = load <64 x i8>, ptr %sk.m2.at, align 1
  %s.sums_m2.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %s.sums_m2, <64 x i8> splat (i8 -128), <64 x i8> %sk.m2)
  %sk.m3.at = getelementptr i8, ptr %s.a_m3, i64 %sk
  %sk.m3 = load <64 x i8>, ptr %sk.m3.at, align 1
  %s.sums_m3.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %s.sums_m3, <64 x i8> splat (i8 -128), <64 x i8> %sk.m3)
  br label %sk.latch
sk.latch:
  %sk.after = add nuw i64 %sk, 64
  br label %sk.head
sk.done:
  %s.f0.low = shufflevector <16 x i32> %s.sums_m0, <16 x i32> %s.sums_m1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %s.f0.high = shufflevector <16 x i32> %s.sums_m0, <16 x i32> %s.sums_m1, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %s.f0 = add <16 x i32> %s.f0.low, %s.f0.high
  %s.f1.low = shufflevector <16 x i32> %s.sums_m2, <16 x i32> %s.sums_m3, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %s.f1.high = shufflevector <16 x i32> %s.sums_m2, <16 x i32> %s.sums_m3, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %s.f1 = add <16 x i32> %s.f1.low, %s.f1.high
  %s.f2.low = shufflevector <16 x i32> %s.f0, <16 x i32> %s.f1, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11, i32 16, i32 17, i32 18, i32 19, i32 24, i32 25, i32 26, i32 27>
  %s.f2.high = shufflevector <16 x i32> %s.f0, <16 x i32> %s.f1, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15, i32 20, i32 21, i32 22, i32 23, i32 28, i32 29, i32 30, i32 31>
  %s.f2 = add <16 x i32> %s.f2.low, %s.f2.high
  %s.f3.low = shufflevector <16 x i32> %s.f2, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 4, i32 5, i32 8, i32 9, i32 12, i32 13>
  %s.f3.high = shufflevector <16 x i32> %s.f2, <16 x i32> poison, <8 x i32> <i32 2, i32 3, i32 6, i32 7, i32 10, i32 11, i32 14, i32 15>
  %s.f3 = add <8 x i32> %s.f3.low, %s.f3.high
  %s.f4.low = shufflevector <8 x i32> %s.f3, <8 x i32> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %s.f4.high = shufflevector <8 x i32> %s.f3, <8 x i32> poison, <4 x i32> <i32 1, i32 3, i32 5, i32 7>
  %s.f4 = add <4 x i32> %s.f4.low, %s.f4.high
  %s.starts = sub <4 x i32> zeroinitializer, %s.f4
  store <4 x i32> %s.starts, ptr %s.at, align 4
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 4
  br label %s.head
s.done:
  ; ---- the remainder panel
  ; ---- prologue: pack the panel, unless an earlier task has
  br i1 %packs, label %r.pack.do, label %r.pack.done
r.pack.do:
  call void @tile_4x8_packing(ptr %a.pack, ptr %b, ptr %b.pack, ptr %out.m0, ptr %a.starts)
  br label %r.pack.done
r.pack.done:
  %r.first = select i1 %packs, i64 4, i64 0

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ %r.first, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 8
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.a.offset = mul nuw i64 %r.i, 128
  %r.w.a = getelementptr i8, ptr %a.pack, i64 %r.w.a.offset
  %r.w.row = mul nuw i64 %r.i, 32
  %r.w.out = getelementptr i8, ptr %out.m0, i64 %r.w.row
  %r.w.starts = getelementptr i32, ptr %a.starts, i64 %r.i
  call void @tile_4x8(ptr %r.w.a, ptr %b.pack, ptr %r.w.out, ptr %r.w.starts)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 4
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

declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <64 x i8>, <64 x i8>)
declare <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32>, <32 x i8>, <32 x i8>)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, <16 x i1>, <16 x i32>)
declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, <16 x i1>)
declare <16 x i8> @llvm.masked.load.v16i8.p0(ptr, <16 x i1>, <16 x i8>)
declare void @llvm.masked.store.v16i8.p0(<16 x i8>, ptr, <16 x i1>)
declare <64 x i8> @llvm.masked.load.v64i8.p0(ptr, <64 x i1>, <64 x i8>)
declare void @llvm.masked.store.v64i8.p0(<64 x i8>, ptr, <64 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Unroll by two: the branch predictor predicts the exit of a short loop only, and with more steps LLVM
; moves loads up until it runs out of registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
