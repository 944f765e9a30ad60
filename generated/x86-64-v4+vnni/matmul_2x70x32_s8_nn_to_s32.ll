; matmul_2x70x32_s8_nn_to_s32
;
; computes:  out = A @ B, accumulated in s32
; target:    x86-64-v4+vnni, x86_64; requires abm avx avx2 avx512_vnni avx512bw avx512cd avx512dq avx512f
;              avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=dot,mr=2,nr=64,mc=2,kc=8,nc=64,pack_a=0,pack_b=0,ahead=0,keep_b=0,packing_ahead=8 (user)
; launch:    2 tasks of up to 2 x 64 outputs; 1 x 2 blocks
; method:    BLIS blocking with vpdpbusd, 4 of K per instruction: a task computes an mc x nc block of out, kc of
;              K at a time; for each panel of nr columns of B, packed in groups of 4 of K, it visits every mr
;              rows of A, with mr x nr accumulators in registers
;            zero-point compensation: vpdpbusd reads B as unsigned; elements of B get +128, and the sums of row i
;              start at -128 * (A[i, 0] + A[i, 1] + ...)
; memory:    stack, 648 B
;            %a.starts: i32 [mc], 8 B
;            %acc: i32 [mc][nc], 320 B per row, 640 B
; arguments: a: input s8[2, 32], strides [32, 1]
;            b: input s8[32, 70], strides [70, 1]
;            out: output s32[2, 70], strides [70, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_2x64(ptr noalias %a, ptr noalias %b, ptr noalias %acc, ptr noalias %ahead, ptr noalias %starts) #1 {
enter:
  %start_m0 = load i32, ptr %starts, align 4
  %start_m1.at = getelementptr i32, ptr %starts, i64 1
  %start_m1 = load i32, ptr %start_m1.at, align 4
  %sum_m0_n0.before = load <16 x i32>, ptr %acc, align 64
  %sum_m0_n0.row.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n0.row = shufflevector <16 x i32> %sum_m0_n0.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.start = add <16 x i32> %sum_m0_n0.before, %sum_m0_n0.row
  %sum_m0_n1.at = getelementptr i8, ptr %acc, i64 64
  %sum_m0_n1.before = load <16 x i32>, ptr %sum_m0_n1.at, align 64
  %sum_m0_n1.row.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n1.row = shufflevector <16 x i32> %sum_m0_n1.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n1.start = add <16 x i32> %sum_m0_n1.before, %sum_m0_n1.row
  %sum_m0_n2.at = getelementptr i8, ptr %acc, i64 128
  %sum_m0_n2.before = load <16 x i32>, ptr %sum_m0_n2.at, align 64
  %sum_m0_n2.row.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n2.row = shufflevector <16 x i32> %sum_m0_n2.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n2.start = add <16 x i32> %sum_m0_n2.before, %sum_m0_n2.row
  %sum_m0_n3.at = getelementptr i8, ptr %acc, i64 192
  %sum_m0_n3.before = load <16 x i32>, ptr %sum_m0_n3.at, align 64
  %sum_m0_n3.row.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n3.row = shufflevector <16 x i32> %sum_m0_n3.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n3.start = add <16 x i32> %sum_m0_n3.before, %sum_m0_n3.row
  %sum_m1_n0.at = getelementptr i8, ptr %acc, i64 320
  %sum_m1_n0.before = load <16 x i32>, ptr %sum_m1_n0.at, align 64
  %sum_m1_n0.row.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n0.row = shufflevector <16 x i32> %sum_m1_n0.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.start = add <16 x i32> %sum_m1_n0.before, %sum_m1_n0.row
  %sum_m1_n1.at = getelementptr i8, ptr %acc, i64 384
  %sum_m1_n1.before = load <16 x i32>, ptr %sum_m1_n1.at, align 64
  %sum_m1_n1.row.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n1.row = shufflevector <16 x i32> %sum_m1_n1.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n1.start = add <16 x i32> %sum_m1_n1.before, %sum_m1_n1.row
  %sum_m1_n2.at = getelementptr i8, ptr %acc, i64 448
  %sum_m1_n2.before = load <16 x i32>, ptr %sum_m1_n2.at, align 64
  %sum_m1_n2.row.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n2.row = shufflevector <16 x i32> %sum_m1_n2.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n2.start = add <16 x i32> %sum_m1_n2.before, %sum_m1_n2.row
  %sum_m1_n3.at = getelementptr i8, ptr %acc, i64 512
  %sum_m1_n3.before = load <16 x i32>, ptr %sum_m1_n3.at, align 64
  %sum_m1_n3.row.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n3.row = shufflevector <16 x i32> %sum_m1_n3.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n3.start = add <16 x i32> %sum_m1_n3.before, %sum_m1_n3.row
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x i32> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <16 x i32> [ %sum_m0_n1.start, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <16 x i32> [ %sum_m0_n2.start, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <16 x i32> [ %sum_m0_n3.start, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %sum_m1_n0 = phi <16 x i32> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <16 x i32> [ %sum_m1_n1.start, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <16 x i32> [ %sum_m1_n2.start, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m1_n3 = phi <16 x i32> [ %sum_m1_n3.start, %k.enter ], [ %sum_m1_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 2
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.ahead.offset = mul nuw i64 %k, 256
  %k.ahead = getelementptr i8, ptr %ahead, i64 %k.ahead.offset
  call void @llvm.prefetch.p0(ptr %k.ahead, i32 0, i32 2, i32 1)
  %k.ahead.64 = getelementptr i8, ptr %k.ahead, i64 64
  call void @llvm.prefetch.p0(ptr %k.ahead.64, i32 0, i32 2, i32 1)
  %k.ahead.128 = getelementptr i8, ptr %k.ahead, i64 128
  call void @llvm.prefetch.p0(ptr %k.ahead.128, i32 0, i32 2, i32 1)
  %k.ahead.192 = getelementptr i8, ptr %k.ahead, i64 192
  call void @llvm.prefetch.p0(ptr %k.ahead.192, i32 0, i32 2, i32 1)
  %k.b.offset = mul nuw i64 %k, 280
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.k0 = load <64 x i8>, ptr %k.b, align 1
  %b_n0.k1.at = getelementptr i8, ptr %k.b, i64 70
  %b_n0.k1 = load <64 x i8>, ptr %b_n0.k1.at, align 1
  %b_n0.k2.at = getelementptr i8, ptr %k.b, i64 140
  %b_n0.k2 = load <64 x i8>, ptr %b_n0.k2.at, align 1
  %b_n0.k3.at = getelementptr i8, ptr %k.b, i64 210
  %b_n0.k3 = load <64 x i8>, ptr %b_n0.k3.at, align 1
  %b_n0.stored.u0 = shufflevector <64 x i8> %b_n0.k0, <64 x i8> %b_n0.k1, <64 x i32> <i32 0, i32 64, i32 1, i32 65, i32 2, i32 66, i32 3, i32 67, i32 4, i32 68, i32 5, i32 69, i32 6, i32 70, i32 7, i32 71, i32 16, i32 80, i32 17, i32 81, i32 18, i32 82, i32 19, i32 83, i32 20, i32 84, i32 21, i32 85, i32 22, i32 86, i32 23, i32 87, i32 32, i32 96, i32 33, i32 97, i32 34, i32 98, i32 35, i32 99, i32 36, i32 100, i32 37, i32 101, i32 38, i32 102, i32 39, i32 103, i32 48, i32 112, i32 49, i32 113, i32 50, i32 114, i32 51, i32 115, i32 52, i32 116, i32 53, i32 117, i32 54, i32 118, i32 55, i32 119>
  %b_n0.stored.u1 = shufflevector <64 x i8> %b_n0.k0, <64 x i8> %b_n0.k1, <64 x i32> <i32 8, i32 72, i32 9, i32 73, i32 10, i32 74, i32 11, i32 75, i32 12, i32 76, i32 13, i32 77, i32 14, i32 78, i32 15, i32 79, i32 24, i32 88, i32 25, i32 89, i32 26, i32 90, i32 27, i32 91, i32 28, i32 92, i32 29, i32 93, i32 30, i32 94, i32 31, i32 95, i32 40, i32 104, i32 41, i32 105, i32 42, i32 106, i32 43, i32 107, i32 44, i32 108, i32 45, i32 109, i32 46, i32 110, i32 47, i32 111, i32 56, i32 120, i32 57, i32 121, i32 58, i32 122, i32 59, i32 123, i32 60, i32 124, i32 61, i32 125, i32 62, i32 126, i32 63, i32 127>
  %b_n0.stored.u2 = shufflevector <64 x i8> %b_n0.k2, <64 x i8> %b_n0.k3, <64 x i32> <i32 0, i32 64, i32 1, i32 65, i32 2, i32 66, i32 3, i32 67, i32 4, i32 68, i32 5, i32 69, i32 6, i32 70, i32 7, i32 71, i32 16, i32 80, i32 17, i32 81, i32 18, i32 82, i32 19, i32 83, i32 20, i32 84, i32 21, i32 85, i32 22, i32 86, i32 23, i32 87, i32 32, i32 96, i32 33, i32 97, i32 34, i32 98, i32 35, i32 99, i32 36, i32 100, i32 37, i32 101, i32 38, i32 102, i32 39, i32 103, i32 48, i32 112, i32 49, i32 113, i32 50, i32 114, i32 51, i32 115, i32 52, i32 116, i32 53, i32 117, i32 54, i32 118, i32 55, i32 119>
  %b_n0.stored.u3 = shufflevector <64 x i8> %b_n0.k2, <64 x i8> %b_n0.k3, <64 x i32> <i32 8, i32 72, i32 9, i32 73, i32 10, i32 74, i32 11, i32 75, i32 12, i32 76, i32 13, i32 77, i32 14, i32 78, i32 15, i32 79, i32 24, i32 88, i32 25, i32 89, i32 26, i32 90, i32 27, i32 91, i32 28, i32 92, i32 29, i32 93, i32 30, i32 94, i32 31, i32 95, i32 40, i32 104, i32 41, i32 105, i32 42, i32 106, i32 43, i32 107, i32 44, i32 108, i32 45, i32 109, i32 46, i32 110, i32 47, i32 111, i32 56, i32 120, i32 57, i32 121, i32 58, i32 122, i32 59, i32 123, i32 60, i32 124, i32 61, i32 125, i32 62, i32 126, i32 63, i32 127>
  %b_n0.stored = shufflevector <64 x i8> %b_n0.stored.u0, <64 x i8> %b_n0.stored.u2, <64 x i32> <i32 0, i32 1, i32 64, i32 65, i32 2, i32 3, i32 66, i32 67, i32 4, i32 5, i32 68, i32 69, i32 6, i32 7, i32 70, i32 71, i32 16, i32 17, i32 80, i32 81, i32 18, i32 19, i32 82, i32 83, i32 20, i32 21, i32 84, i32 85, i32 22, i32 23, i32 86, i32 87, i32 32, i32 33, i32 96, i32 97, i32 34, i32 35, i32 98, i32 99, i32 36, i32 37, i32 100, i32 101, i32 38, i32 39, i32 102, i32 103, i32 48, i32 49, i32 112, i32 113, i32 50, i32 51, i32 114, i32 115, i32 52, i32 53, i32 116, i32 117, i32 54, i32 55, i32 118, i32 119>
  %b_n1.stored = shufflevector <64 x i8> %b_n0.stored.u0, <64 x i8> %b_n0.stored.u2, <64 x i32> <i32 8, i32 9, i32 72, i32 73, i32 10, i32 11, i32 74, i32 75, i32 12, i32 13, i32 76, i32 77, i32 14, i32 15, i32 78, i32 79, i32 24, i32 25, i32 88, i32 89, i32 26, i32 27, i32 90, i32 91, i32 28, i32 29, i32 92, i32 93, i32 30, i32 31, i32 94, i32 95, i32 40, i32 41, i32 104, i32 105, i32 42, i32 43, i32 106, i32 107, i32 44, i32 45, i32 108, i32 109, i32 46, i32 47, i32 110, i32 111, i32 56, i32 57, i32 120, i32 121, i32 58, i32 59, i32 122, i32 123, i32 60, i32 61, i32 124, i32 125, i32 62, i32 63, i32 126, i32 127>
  %b_n2.stored = shufflevector <64 x i8> %b_n0.stored.u1, <64 x i8> %b_n0.stored.u3, <64 x i32> <i32 0, i32 1, i32 64, i32 65, i32 2, i32 3, i32 66, i32 67, i32 4, i32 5, i32 68, i32 69, i32 6, i32 7, i32 70, i32 71, i32 16, i32 17, i32 80, i32 81, i32 18, i32 19, i32 82, i32 83, i32 20, i32 21, i32 84, i32 85, i32 22, i32 23, i32 86, i32 87, i32 32, i32 33, i32 96, i32 97, i32 34, i32 35, i32 98, i32 99, i32 36, i32 37, i32 100, i32 101, i32 38, i32 39, i32 102, i32 103, i32 48, i32 49, i32 112, i32 113, i32 50, i32 51, i32 114, i32 115, i32 52, i32 53, i32 116, i32 117, i32 54, i32 55, i32 118, i32 119>
  %b_n3.stored = shufflevector <64 x i8> %b_n0.stored.u1, <64 x i8> %b_n0.stored.u3, <64 x i32> <i32 8, i32 9, i32 72, i32 73, i32 10, i32 11, i32 74, i32 75, i32 12, i32 13, i32 76, i32 77, i32 14, i32 15, i32 78, i32 79, i32 24, i32 25, i32 88, i32 89, i32 26, i32 27, i32 90, i32 91, i32 28, i32 29, i32 92, i32 93, i32 30, i32 31, i32 94, i32 95, i32 40, i32 41, i32 104, i32 105, i32 42, i32 43, i32 106, i32 107, i32 44, i32 45, i32 108, i32 109, i32 46, i32 47, i32 110, i32 111, i32 56, i32 57, i32 120, i32 121, i32 58, i32 59, i32 122, i32 123, i32 60, i32 61, i32 124, i32 125, i32 62, i32 63, i32 126, i32 127>
  %b_n0 = xor <64 x i8> %b_n0.stored, splat (i8 -128)
  %b_n1 = xor <64 x i8> %b_n1.stored, splat (i8 -128)
  %b_n2 = xor <64 x i8> %b_n2.stored, splat (i8 -128)
  %b_n3 = xor <64 x i8> %b_n3.stored, splat (i8 -128)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <16 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <16 x i32> %a_m0.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m0 = bitcast <16 x i32> %a_m0.bits to <64 x i8>
  %sum_m0_n0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0, <64 x i8> %b_n0, <64 x i8> %a_m0)
  %sum_m0_n1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n1, <64 x i8> %b_n1, <64 x i8> %a_m0)
  %sum_m0_n2.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n2, <64 x i8> %b_n2, <64 x i8> %a_m0)
  %sum_m0_n3.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n3, <64 x i8> %b_n3, <64 x i8> %a_m0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 32
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <64 x i8>
  %sum_m1_n0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n0, <64 x i8> %b_n0, <64 x i8> %a_m1)
  %sum_m1_n1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n1, <64 x i8> %b_n1, <64 x i8> %a_m1)
  %sum_m1_n2.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n2, <64 x i8> %b_n2, <64 x i8> %a_m1)
  %sum_m1_n3.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n3, <64 x i8> %b_n3, <64 x i8> %a_m1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head, !llvm.loop !0
k.done:
  store <16 x i32> %sum_m0_n0, ptr %acc, align 64
  store <16 x i32> %sum_m0_n1, ptr %sum_m0_n1.at, align 64
  store <16 x i32> %sum_m0_n2, ptr %sum_m0_n2.at, align 64
  store <16 x i32> %sum_m0_n3, ptr %sum_m0_n3.at, align 64
  store <16 x i32> %sum_m1_n0, ptr %sum_m1_n0.at, align 64
  store <16 x i32> %sum_m1_n1, ptr %sum_m1_n1.at, align 64
  store <16 x i32> %sum_m1_n2, ptr %sum_m1_n2.at, align 64
  store <16 x i32> %sum_m1_n3, ptr %sum_m1_n3.at, align 64
  ret void
}

define internal void @tile_2x6(ptr noalias %a, ptr noalias %b, ptr noalias %acc, ptr noalias %ahead, ptr noalias %starts) #1 {
enter:
  %start_m0 = load i32, ptr %starts, align 4
  %start_m1.at = getelementptr i32, ptr %starts, i64 1
  %start_m1 = load i32, ptr %start_m1.at, align 4
  %sum_m0_n0.before = load <16 x i32>, ptr %acc, align 64
  %sum_m0_n0.row.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n0.row = shufflevector <16 x i32> %sum_m0_n0.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.start = add <16 x i32> %sum_m0_n0.before, %sum_m0_n0.row
  %sum_m1_n0.at = getelementptr i8, ptr %acc, i64 320
  %sum_m1_n0.before = load <16 x i32>, ptr %sum_m1_n0.at, align 64
  %sum_m1_n0.row.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n0.row = shufflevector <16 x i32> %sum_m1_n0.row.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.start = add <16 x i32> %sum_m1_n0.before, %sum_m1_n0.row
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x i32> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <16 x i32> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 2
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.ahead.offset = mul nuw i64 %k, 256
  %k.ahead = getelementptr i8, ptr %ahead, i64 %k.ahead.offset
  call void @llvm.prefetch.p0(ptr %k.ahead, i32 0, i32 2, i32 1)
  %k.ahead.64 = getelementptr i8, ptr %k.ahead, i64 64
  call void @llvm.prefetch.p0(ptr %k.ahead.64, i32 0, i32 2, i32 1)
  %k.ahead.128 = getelementptr i8, ptr %k.ahead, i64 128
  call void @llvm.prefetch.p0(ptr %k.ahead.128, i32 0, i32 2, i32 1)
  %k.ahead.192 = getelementptr i8, ptr %k.ahead, i64 192
  call void @llvm.prefetch.p0(ptr %k.ahead.192, i32 0, i32 2, i32 1)
  %k.b.offset = mul nuw i64 %k, 280
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.stored.k0 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %k.b, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k1.from = getelementptr i8, ptr %k.b, i64 70
  %b_n0.stored.k1 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %b_n0.stored.k1.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k2.from = getelementptr i8, ptr %k.b, i64 140
  %b_n0.stored.k2 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %b_n0.stored.k2.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k3.from = getelementptr i8, ptr %k.b, i64 210
  %b_n0.stored.k3 = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %b_n0.stored.k3.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %b_n0.stored.k01 = shufflevector <16 x i8> %b_n0.stored.k0, <16 x i8> %b_n0.stored.k1, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n0.stored.k23 = shufflevector <16 x i8> %b_n0.stored.k2, <16 x i8> %b_n0.stored.k3, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n0.stored = shufflevector <32 x i8> %b_n0.stored.k01, <32 x i8> %b_n0.stored.k23, <64 x i32> <i32 0, i32 16, i32 32, i32 48, i32 1, i32 17, i32 33, i32 49, i32 2, i32 18, i32 34, i32 50, i32 3, i32 19, i32 35, i32 51, i32 4, i32 20, i32 36, i32 52, i32 5, i32 21, i32 37, i32 53, i32 6, i32 22, i32 38, i32 54, i32 7, i32 23, i32 39, i32 55, i32 8, i32 24, i32 40, i32 56, i32 9, i32 25, i32 41, i32 57, i32 10, i32 26, i32 42, i32 58, i32 11, i32 27, i32 43, i32 59, i32 12, i32 28, i32 44, i32 60, i32 13, i32 29, i32 45, i32 61, i32 14, i32 30, i32 46, i32 62, i32 15, i32 31, i32 47, i32 63>
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
  %a_m1.at = getelementptr i8, ptr %k.a, i64 32
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <64 x i8>
  %a_m1.low = shufflevector <64 x i8> %a_m1, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m1_n0.b = shufflevector <64 x i8> %b_n0, <64 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m1_n0.low = shufflevector <16 x i32> %sum_m1_n0, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.half = call <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32> %sum_m1_n0.low, <32 x i8> %sum_m1_n0.b, <32 x i8> %a_m1.low)
  %sum_m1_n0.next = shufflevector <8 x i32> %sum_m1_n0.half, <8 x i32> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head, !llvm.loop !0
k.done:
  store <16 x i32> %sum_m0_n0, ptr %acc, align 64
  store <16 x i32> %sum_m1_n0, ptr %sum_m1_n0.at, align 64
  ret void
}

define void @matmul_2x70x32_s8_nn_to_s32(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.starts = alloca [2 x i32], align 64
  %acc = alloca [640 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest
  %block.n = urem i64 %task, 2
  %n0 = mul nuw i64 %block.n, 64
  %columns.left = sub i64 70, %n0
  %columns.less = icmp ult i64 %columns.left, 64
  %columns = select i1 %columns.less, i64 %columns.left, i64 64
  %columns.whole = and i64 %columns, -16
  %panels.left.over = urem i64 %columns, 64
  %panels.whole = sub i64 %columns, %panels.left.over
  %b.n0 = getelementptr i8, ptr %b, i64 %n0

  br label %acc.clear.enter
acc.clear.enter:
  br label %acc.clear.head
acc.clear.head:
  %acc.clear = phi i64 [ 0, %acc.clear.enter ], [ %acc.clear.after, %acc.clear.latch ]
  %acc.clear.more = icmp ult i64 %acc.clear, 640
  br i1 %acc.clear.more, label %acc.clear.body, label %acc.clear.done
acc.clear.body:
  %acc.clear.at = getelementptr i8, ptr %acc, i64 %acc.clear
  store <64 x i8> zeroinitializer, ptr %acc.clear.at, align 64
  br label %acc.clear.latch
acc.clear.latch:
  %acc.clear.after = add nuw i64 %acc.clear, 64
  br label %acc.clear.head
acc.clear.done:
  br label %k0.enter
k0.enter:
  br label %k0.head
k0.head:
  %k0 = phi i64 [ 0, %k0.enter ], [ %k0.after, %k0.latch ]
  %k0.more = icmp ult i64 %k0, 32
  br i1 %k0.more, label %k0.body, label %k0.done
k0.body:
  %k.isfirst = icmp eq i64 %k0, 0
  %k.islast = icmp uge i64 %k0, 24
  %a.k = getelementptr i8, ptr %a, i64 %k0
  %b.k.offset = mul nuw i64 %k0, 70
  %b.k = getelementptr i8, ptr %b.n0, i64 %b.k.offset
  %ahead.next = add nuw i64 %k0, 8
  %ahead.is_inside = icmp ult i64 %ahead.next, 32
  %ahead.k = select i1 %ahead.is_inside, i64 8, i64 0
  ; ---- prologue: compensation for +128 on each element of B
  br label %sr.enter
sr.enter:
  br label %sr.head
sr.head:
  %sr = phi i64 [ 0, %sr.enter ], [ %sr.after, %sr.latch ]
  %sr.more = icmp ult i64 %sr, 2
  br i1 %sr.more, label %sr.body, label %sr.done
sr.body:
  %sr.a.offset = mul nuw i64 %sr, 32
  %sr.a = getelementptr i8, ptr %a.k, i64 %sr.a.offset
  %sr.at = getelementptr i32, ptr %a.starts, i64 %sr
  br label %srk.enter
srk.enter:
  br label %srk.head
srk.head:
  %srk = phi i64 [ 0, %srk.enter ], [ %srk.after, %srk.latch ]
  %sr.sums_m0 = phi <16 x i32> [ zeroinitializer, %srk.enter ], [ %sr.sums_m0.next, %srk.latch ]
  %srk.more = icmp ult i64 %srk, 0
  br i1 %srk.more, label %srk.body, label %srk.done
srk.body:
  %srk.m0.at = getelementptr i8, ptr %sr.a, i64 %srk
  %srk.m0 = load <64 x i8>, ptr %srk.m0.at, align 1
  %sr.sums_m0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sr.sums_m0, <64 x i8> splat (i8 -128), <64 x i8> %srk.m0)
  br label %srk.latch
srk.latch:
  %srk.after = add nuw i64 %srk, 64
  br label %srk.head
srk.done:
  %sr.tail_m0 = call <64 x i8> @llvm.masked.load.v64i8.p0(ptr align 1 %sr.a, <64 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <64 x i8> zeroinitializer)
  %sr.sums_m0.all = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sr.sums_m0, <64 x i8> splat (i8 -128), <64 x i8> %sr.tail_m0)
  %sr.f0.low = shufflevector <16 x i32> %sr.sums_m0.all, <16 x i32> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sr.f0.high = shufflevector <16 x i32> %sr.sums_m0.all, <16 x i32> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sr.f0 = add <8 x i32> %sr.f0.low, %sr.f0.high
  %sr.f1.low = shufflevector <8 x i32> %sr.f0, <8 x i32> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %sr.f1.high = shufflevector <8 x i32> %sr.f0, <8 x i32> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %sr.f1 = add <4 x i32> %sr.f1.low, %sr.f1.high
  %sr.f2.low = shufflevector <4 x i32> %sr.f1, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %sr.f2.high = shufflevector <4 x i32> %sr.f1, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %sr.f2 = add <2 x i32> %sr.f2.low, %sr.f2.high
  %sr.f3.low = shufflevector <2 x i32> %sr.f2, <2 x i32> poison, <1 x i32> <i32 0>
  %sr.f3.high = shufflevector <2 x i32> %sr.f2, <2 x i32> poison, <1 x i32> <i32 1>
  %sr.f3 = add <1 x i32> %sr.f3.low, %sr.f3.high
  %sr.starts = sub <1 x i32> zeroinitializer, %sr.f3
  store <1 x i32> %sr.starts, ptr %sr.at, align 4
  br label %sr.latch
sr.latch:
  %sr.after = add nuw i64 %sr, 1
  br label %sr.head
sr.done:
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, %panels.whole
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b = getelementptr i8, ptr %b.k, i64 %j

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 2
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 32
  %p.w.a = getelementptr i8, ptr %a.k, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 320
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.acc = getelementptr i8, ptr %acc, i64 %p.w.corner
  %p.w.starts = getelementptr i32, ptr %a.starts, i64 %p.i
  %p.w.next.panel = mul nuw i64 %j, 8
  %p.w.next.row = udiv i64 %p.w.next.panel, 64
  %p.w.next.column = urem i64 %p.w.next.panel, 64
  %p.w.next.k = add nuw i64 %p.w.next.row, %ahead.k
  %p.w.next.offset = mul nuw i64 %p.w.next.k, 70
  %p.w.next = getelementptr i8, ptr %b.k, i64 %p.w.next.offset
  %p.w.ahead = getelementptr i8, ptr %p.w.next, i64 %p.w.next.column
  call void @tile_2x64(ptr %p.w.a, ptr %p.b, ptr %p.w.acc, ptr %p.w.ahead, ptr %p.w.starts)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 2
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 64
  br label %j.head
j.done:
  %right.panel.some = icmp ult i64 %panels.whole, %columns
  br i1 %right.panel.some, label %right.panel.do, label %right.panel.done
right.panel.do:
  ; ---- the remainder panel
  %r.b = getelementptr i8, ptr %b.k, i64 %panels.whole

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ 0, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 2
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.a.offset = mul nuw i64 %r.i, 32
  %r.w.a = getelementptr i8, ptr %a.k, i64 %r.w.a.offset
  %r.w.row = mul nuw i64 %r.i, 320
  %r.w.column = mul nuw i64 %panels.whole, 4
  %r.w.corner = add nuw i64 %r.w.row, %r.w.column
  %r.w.acc = getelementptr i8, ptr %acc, i64 %r.w.corner
  %r.w.starts = getelementptr i32, ptr %a.starts, i64 %r.i
  %r.w.next.panel = mul nuw i64 %panels.whole, 8
  %r.w.next.row = udiv i64 %r.w.next.panel, 64
  %r.w.next.column = urem i64 %r.w.next.panel, 64
  %r.w.next.k = add nuw i64 %r.w.next.row, %ahead.k
  %r.w.next.offset = mul nuw i64 %r.w.next.k, 70
  %r.w.next = getelementptr i8, ptr %b.k, i64 %r.w.next.offset
  %r.w.ahead = getelementptr i8, ptr %r.w.next, i64 %r.w.next.column
  call void @tile_2x6(ptr %r.w.a, ptr %r.b, ptr %r.w.acc, ptr %r.w.ahead, ptr %r.w.starts)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 2
  br label %r.i.head
r.i.done:
  br label %right.panel.done
right.panel.done:
  br label %k0.latch
k0.latch:
  %k0.after = add nuw i64 %k0, 8
  br label %k0.head
k0.done:
  ; ---- reorder the sums from lanes to columns
  br label %so.m.enter
so.m.enter:
  br label %so.m.head
so.m.head:
  %so.m = phi i64 [ 0, %so.m.enter ], [ %so.m.after, %so.m.latch ]
  %so.m.more = icmp ult i64 %so.m, 2
  br i1 %so.m.more, label %so.m.body, label %so.m.done
so.m.body:
  %so.row.offset = mul nuw i64 %so.m, 320
  %so.row = getelementptr i8, ptr %acc, i64 %so.row.offset
  br label %so.n.enter
so.n.enter:
  br label %so.n.head
so.n.head:
  %so.n = phi i64 [ 0, %so.n.enter ], [ %so.n.after, %so.n.latch ]
  %so.n.more = icmp ult i64 %so.n, %panels.whole
  br i1 %so.n.more, label %so.n.body, label %so.n.done
so.n.body:
  %so.at = getelementptr i32, ptr %so.row, i64 %so.n
  %so.lanes = load <64 x i32>, ptr %so.at, align 64
  %so.columns = shufflevector <64 x i32> %so.lanes, <64 x i32> poison, <64 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 32, i32 33, i32 34, i32 35, i32 48, i32 49, i32 50, i32 51, i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 36, i32 37, i32 38, i32 39, i32 52, i32 53, i32 54, i32 55, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27, i32 40, i32 41, i32 42, i32 43, i32 56, i32 57, i32 58, i32 59, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31, i32 44, i32 45, i32 46, i32 47, i32 60, i32 61, i32 62, i32 63>
  store <64 x i32> %so.columns, ptr %so.at, align 64
  br label %so.n.latch
so.n.latch:
  %so.n.after = add nuw i64 %so.n, 64
  br label %so.n.head
so.n.done:
  br label %so.m.latch
so.m.latch:
  %so.m.after = add nuw i64 %so.m, 1
  br label %so.m.head
so.m.done:

  %out.n0.offset = mul nuw i64 %n0, 4
  %out.n0 = getelementptr i8, ptr %out, i64 %out.n0.offset
  ; ---- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 2
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.row.offset = mul nuw i64 %m, 320
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  %out.offset = mul nuw i64 %m, 280
  %out.row = getelementptr i8, ptr %out.n0, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, %columns.whole
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %x.acc.at.offset = mul nuw i64 %n, 4
  %x.acc.at = getelementptr i8, ptr %acc.row, i64 %x.acc.at.offset
  %x.acc = load <16 x i32>, ptr %x.acc.at, align 64
  %x.out.offset = mul nuw i64 %n, 4
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  store <16 x i32> %x.acc, ptr %x.out.at, align 4
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 16
  br label %n.head
n.done:
  %n.tail.some = icmp ne i64 %columns.whole, %columns
  br i1 %n.tail.some, label %n.tail.do, label %n.tail.done
n.tail.do:
  %t.acc.at.offset = mul nuw i64 %columns.whole, 4
  %t.acc.at = getelementptr i8, ptr %acc.row, i64 %t.acc.at.offset
  %t.acc = load <16 x i32>, ptr %t.acc.at, align 64
  %t.out.offset = mul nuw i64 %columns.whole, 4
  %t.out.at = getelementptr i8, ptr %out.row, i64 %t.out.offset
  call void @llvm.masked.store.v16i32.p0(<16 x i32> %t.acc, ptr align 4 %t.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %n.tail.done
n.tail.done:
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

declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <64 x i8>, <64 x i8>)
declare <8 x i32> @llvm.x86.avx512.vpdpbusd.256(<8 x i32>, <32 x i8>, <32 x i8>)
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
