; matmul_64x64x128_s8_nn_scalea_scaleb_scaleout
;
; computes:  out = scale_out * (scale_a * scale_b * A @ B), accumulated in s32
; target:    x86-64-v4+vnni, x86_64; requires abm avx avx2 avx512_vnni avx512bw avx512cd avx512dq avx512f
;              avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=dot,mr=2,nr=32,mc=32,kc=128,nc=64,pack_a=0,pack_b=1,ahead=0,keep_b=1,packing_ahead=8 (user)
; launch:    2 tasks of up to 32 x 64 outputs; 2 x 1 blocks
; method:    BLIS blocking with vpdpbusd, 4 of K per instruction: a task computes an mc x nc block of out, kc of
;              K at a time; for each panel of nr columns of B, packed in groups of 4 of K, it visits every mr
;              rows of A, with mr x nr accumulators in registers
;            zero-point compensation: vpdpbusd reads B as unsigned; elements of B get +128, and the sums of row i
;              start at -128 * (A[i, 0] + A[i, 1] + ...)
; memory:    stack, 8320 B
;            %a.starts: i32 [mc], 128 B
;            %b.pack: s8 [kc/4][nr][4], 128 B per row, zero past K and N, 8192 B
; arguments: a: input s8[64, 128], strides [128, 1]
;            b: input s8[128, 64], strides [64, 1]
;            scale_a: input f32[1], strides [1]
;            scale_b: input f32[1], strides [1]
;            scale_out: input f32[1], strides [1]
;            out: output s8[64, 64], strides [64, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_2x32(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %scale_a, ptr noalias %scale_b, ptr noalias %scale_out, ptr noalias %starts) #1 {
enter:
  %start_m0 = load i32, ptr %starts, align 4
  %start_m1.at = getelementptr i32, ptr %starts, i64 1
  %start_m1 = load i32, ptr %start_m1.at, align 4
  %sum_m0_n0.start.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n0.start = shufflevector <16 x i32> %sum_m0_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n1.start.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n1.start = shufflevector <16 x i32> %sum_m0_n1.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.start.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n0.start = shufflevector <16 x i32> %sum_m1_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n1.start.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n1.start = shufflevector <16 x i32> %sum_m1_n1.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x i32> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <16 x i32> [ %sum_m0_n1.start, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m1_n0 = phi <16 x i32> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <16 x i32> [ %sum_m1_n1.start, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 32
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 128
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.stored = load <64 x i8>, ptr %k.b, align 64
  %b_n1.at = getelementptr i8, ptr %k.b, i64 64
  %b_n1.stored = load <64 x i8>, ptr %b_n1.at, align 64
  %b_n0 = xor <64 x i8> %b_n0.stored, splat (i8 -128)
  %b_n1 = xor <64 x i8> %b_n1.stored, splat (i8 -128)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <16 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <16 x i32> %a_m0.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m0 = bitcast <16 x i32> %a_m0.bits to <64 x i8>
  %sum_m0_n0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0, <64 x i8> %b_n0, <64 x i8> %a_m0)
  %sum_m0_n1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n1, <64 x i8> %b_n1, <64 x i8> %a_m0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 128
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <64 x i8>
  %sum_m1_n0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n0, <64 x i8> %b_n0, <64 x i8> %a_m1)
  %sum_m1_n1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n1, <64 x i8> %b_n1, <64 x i8> %a_m1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head, !llvm.loop !0
k.done:
  ; ---- epilogue
  %scale_a.all.element = load float, ptr %scale_a, align 4
  %scale_a.all.first = insertelement <16 x float> poison, float %scale_a.all.element, i32 0
  %scale_a.all = shufflevector <16 x float> %scale_a.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %scale_b.all.element = load float, ptr %scale_b, align 4
  %scale_b.all.first = insertelement <16 x float> poison, float %scale_b.all.element, i32 0
  %scale_b.all = shufflevector <16 x float> %scale_b.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %scale_out.all.element = load float, ptr %scale_out, align 4
  %scale_out.all.first = insertelement <16 x float> poison, float %scale_out.all.element, i32 0
  %scale_out.all = shufflevector <16 x float> %scale_out.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.rounded = sitofp <16 x i32> %sum_m0_n0 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m0_n0.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m0_n0.finished_mul2 = fmul <16 x float> %sum_m0_n0.rounded, %sum_m0_n0.finished_mul
  %sum_m0_n0.finished = fmul <16 x float> %sum_m0_n0.finished_mul2, %scale_out.all
  %sum_m0_n0.finished.stored.known = fcmp ord <16 x float> %sum_m0_n0.finished, %sum_m0_n0.finished
  %sum_m0_n0.finished.stored.number = select <16 x i1> %sum_m0_n0.finished.stored.known, <16 x float> %sum_m0_n0.finished, <16 x float> zeroinitializer
  %sum_m0_n0.finished.stored.below = fcmp olt <16 x float> %sum_m0_n0.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m0_n0.finished.stored.least = select <16 x i1> %sum_m0_n0.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m0_n0.finished.stored.number
  %sum_m0_n0.finished.stored.above = fcmp ogt <16 x float> %sum_m0_n0.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m0_n0.finished.stored.most = select <16 x i1> %sum_m0_n0.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m0_n0.finished.stored.least
  %sum_m0_n0.finished.stored.shifted = fadd <16 x float> %sum_m0_n0.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m0_n0.finished.stored.shifted.bits = bitcast <16 x float> %sum_m0_n0.finished.stored.shifted to <16 x i32>
  %sum_m0_n0.finished.stored = trunc <16 x i32> %sum_m0_n0.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m0_n0.finished.stored, ptr %out, align 1
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  %sum_m0_n1.rounded = sitofp <16 x i32> %sum_m0_n1 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m0_n1.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m0_n1.finished_mul2 = fmul <16 x float> %sum_m0_n1.rounded, %sum_m0_n1.finished_mul
  %sum_m0_n1.finished = fmul <16 x float> %sum_m0_n1.finished_mul2, %scale_out.all
  %sum_m0_n1.finished.stored.known = fcmp ord <16 x float> %sum_m0_n1.finished, %sum_m0_n1.finished
  %sum_m0_n1.finished.stored.number = select <16 x i1> %sum_m0_n1.finished.stored.known, <16 x float> %sum_m0_n1.finished, <16 x float> zeroinitializer
  %sum_m0_n1.finished.stored.below = fcmp olt <16 x float> %sum_m0_n1.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m0_n1.finished.stored.least = select <16 x i1> %sum_m0_n1.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m0_n1.finished.stored.number
  %sum_m0_n1.finished.stored.above = fcmp ogt <16 x float> %sum_m0_n1.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m0_n1.finished.stored.most = select <16 x i1> %sum_m0_n1.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m0_n1.finished.stored.least
  %sum_m0_n1.finished.stored.shifted = fadd <16 x float> %sum_m0_n1.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m0_n1.finished.stored.shifted.bits = bitcast <16 x float> %sum_m0_n1.finished.stored.shifted to <16 x i32>
  %sum_m0_n1.finished.stored = trunc <16 x i32> %sum_m0_n1.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m0_n1.finished.stored, ptr %sum_m0_n1.out.at, align 1
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 64
  %sum_m1_n0.rounded = sitofp <16 x i32> %sum_m1_n0 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m1_n0.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m1_n0.finished_mul2 = fmul <16 x float> %sum_m1_n0.rounded, %sum_m1_n0.finished_mul
  %sum_m1_n0.finished = fmul <16 x float> %sum_m1_n0.finished_mul2, %scale_out.all
  %sum_m1_n0.finished.stored.known = fcmp ord <16 x float> %sum_m1_n0.finished, %sum_m1_n0.finished
  %sum_m1_n0.finished.stored.number = select <16 x i1> %sum_m1_n0.finished.stored.known, <16 x float> %sum_m1_n0.finished, <16 x float> zeroinitializer
  %sum_m1_n0.finished.stored.below = fcmp olt <16 x float> %sum_m1_n0.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m1_n0.finished.stored.least = select <16 x i1> %sum_m1_n0.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m1_n0.finished.stored.number
  %sum_m1_n0.finished.stored.above = fcmp ogt <16 x float> %sum_m1_n0.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m1_n0.finished.stored.most = select <16 x i1> %sum_m1_n0.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m1_n0.finished.stored.least
  %sum_m1_n0.finished.stored.shifted = fadd <16 x float> %sum_m1_n0.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m1_n0.finished.stored.shifted.bits = bitcast <16 x float> %sum_m1_n0.finished.stored.shifted to <16 x i32>
  %sum_m1_n0.finished.stored = trunc <16 x i32> %sum_m1_n0.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m1_n0.finished.stored, ptr %sum_m1_n0.out.at, align 1
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 80
  %sum_m1_n1.rounded = sitofp <16 x i32> %sum_m1_n1 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m1_n1.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m1_n1.finished_mul2 = fmul <16 x float> %sum_m1_n1.rounded, %sum_m1_n1.finished_mul
  %sum_m1_n1.finished = fmul <16 x float> %sum_m1_n1.finished_mul2, %scale_out.all
  %sum_m1_n1.finished.stored.known = fcmp ord <16 x float> %sum_m1_n1.finished, %sum_m1_n1.finished
  %sum_m1_n1.finished.stored.number = select <16 x i1> %sum_m1_n1.finished.stored.known, <16 x float> %sum_m1_n1.finished, <16 x float> zeroinitializer
  %sum_m1_n1.finished.stored.below = fcmp olt <16 x float> %sum_m1_n1.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m1_n1.finished.stored.least = select <16 x i1> %sum_m1_n1.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m1_n1.finished.stored.number
  %sum_m1_n1.finished.stored.above = fcmp ogt <16 x float> %sum_m1_n1.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m1_n1.finished.stored.most = select <16 x i1> %sum_m1_n1.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m1_n1.finished.stored.least
  %sum_m1_n1.finished.stored.shifted = fadd <16 x float> %sum_m1_n1.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m1_n1.finished.stored.shifted.bits = bitcast <16 x float> %sum_m1_n1.finished.stored.shifted to <16 x i32>
  %sum_m1_n1.finished.stored = trunc <16 x i32> %sum_m1_n1.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m1_n1.finished.stored, ptr %sum_m1_n1.out.at, align 1
  ret void
}

define internal void @tile_2x32_packing(ptr noalias %a, ptr noalias %b, ptr noalias %pack, ptr noalias %out, ptr noalias %scale_a, ptr noalias %scale_b, ptr noalias %scale_out, ptr noalias %starts) #1 {
enter:
  %start_m0 = load i32, ptr %starts, align 4
  %start_m1.at = getelementptr i32, ptr %starts, i64 1
  %start_m1 = load i32, ptr %start_m1.at, align 4
  %sum_m0_n0.start.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n0.start = shufflevector <16 x i32> %sum_m0_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m0_n1.start.first = insertelement <16 x i32> poison, i32 %start_m0, i32 0
  %sum_m0_n1.start = shufflevector <16 x i32> %sum_m0_n1.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.start.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n0.start = shufflevector <16 x i32> %sum_m1_n0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %sum_m1_n1.start.first = insertelement <16 x i32> poison, i32 %start_m1, i32 0
  %sum_m1_n1.start = shufflevector <16 x i32> %sum_m1_n1.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x i32> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <16 x i32> [ %sum_m0_n1.start, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m1_n0 = phi <16 x i32> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <16 x i32> [ %sum_m1_n1.start, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 32
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 256
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %k.pack.offset = mul nuw i64 %k, 128
  %k.pack = getelementptr i8, ptr %pack, i64 %k.pack.offset
  %k.ahead.0 = getelementptr i8, ptr %k.b, i64 2048
  call void @llvm.prefetch.p0(ptr %k.ahead.0, i32 0, i32 3, i32 1)
  %k.ahead.1 = getelementptr i8, ptr %k.b, i64 2112
  call void @llvm.prefetch.p0(ptr %k.ahead.1, i32 0, i32 3, i32 1)
  %k.ahead.2 = getelementptr i8, ptr %k.b, i64 2176
  call void @llvm.prefetch.p0(ptr %k.ahead.2, i32 0, i32 3, i32 1)
  %k.ahead.3 = getelementptr i8, ptr %k.b, i64 2240
  call void @llvm.prefetch.p0(ptr %k.ahead.3, i32 0, i32 3, i32 1)
  %b_n0.stored.k0 = load <16 x i8>, ptr %k.b, align 1
  %b_n0.stored.k1.from = getelementptr i8, ptr %k.b, i64 64
  %b_n0.stored.k1 = load <16 x i8>, ptr %b_n0.stored.k1.from, align 1
  %b_n0.stored.k2.from = getelementptr i8, ptr %k.b, i64 128
  %b_n0.stored.k2 = load <16 x i8>, ptr %b_n0.stored.k2.from, align 1
  %b_n0.stored.k3.from = getelementptr i8, ptr %k.b, i64 192
  %b_n0.stored.k3 = load <16 x i8>, ptr %b_n0.stored.k3.from, align 1
  %b_n0.stored.k01 = shufflevector <16 x i8> %b_n0.stored.k0, <16 x i8> %b_n0.stored.k1, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n0.stored.k23 = shufflevector <16 x i8> %b_n0.stored.k2, <16 x i8> %b_n0.stored.k3, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n0.stored = shufflevector <32 x i8> %b_n0.stored.k01, <32 x i8> %b_n0.stored.k23, <64 x i32> <i32 0, i32 16, i32 32, i32 48, i32 1, i32 17, i32 33, i32 49, i32 2, i32 18, i32 34, i32 50, i32 3, i32 19, i32 35, i32 51, i32 4, i32 20, i32 36, i32 52, i32 5, i32 21, i32 37, i32 53, i32 6, i32 22, i32 38, i32 54, i32 7, i32 23, i32 39, i32 55, i32 8, i32 24, i32 40, i32 56, i32 9, i32 25, i32 41, i32 57, i32 10, i32 26, i32 42, i32 58, i32 11, i32 27, i32 43, i32 59, i32 12, i32 28, i32 44, i32 60, i32 13, i32 29, i32 45, i32 61, i32 14, i32 30, i32 46, i32 62, i32 15, i32 31, i32 47, i32 63>
  store <64 x i8> %b_n0.stored, ptr %k.pack, align 64
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1.to = getelementptr i8, ptr %k.pack, i64 64
  %b_n1.stored.k0 = load <16 x i8>, ptr %b_n1.at, align 1
  %b_n1.stored.k1.from = getelementptr i8, ptr %b_n1.at, i64 64
  %b_n1.stored.k1 = load <16 x i8>, ptr %b_n1.stored.k1.from, align 1
  %b_n1.stored.k2.from = getelementptr i8, ptr %b_n1.at, i64 128
  %b_n1.stored.k2 = load <16 x i8>, ptr %b_n1.stored.k2.from, align 1
  %b_n1.stored.k3.from = getelementptr i8, ptr %b_n1.at, i64 192
  %b_n1.stored.k3 = load <16 x i8>, ptr %b_n1.stored.k3.from, align 1
  %b_n1.stored.k01 = shufflevector <16 x i8> %b_n1.stored.k0, <16 x i8> %b_n1.stored.k1, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n1.stored.k23 = shufflevector <16 x i8> %b_n1.stored.k2, <16 x i8> %b_n1.stored.k3, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %b_n1.stored = shufflevector <32 x i8> %b_n1.stored.k01, <32 x i8> %b_n1.stored.k23, <64 x i32> <i32 0, i32 16, i32 32, i32 48, i32 1, i32 17, i32 33, i32 49, i32 2, i32 18, i32 34, i32 50, i32 3, i32 19, i32 35, i32 51, i32 4, i32 20, i32 36, i32 52, i32 5, i32 21, i32 37, i32 53, i32 6, i32 22, i32 38, i32 54, i32 7, i32 23, i32 39, i32 55, i32 8, i32 24, i32 40, i32 56, i32 9, i32 25, i32 41, i32 57, i32 10, i32 26, i32 42, i32 58, i32 11, i32 27, i32 43, i32 59, i32 12, i32 28, i32 44, i32 60, i32 13, i32 29, i32 45, i32 61, i32 14, i32 30, i32 46, i32 62, i32 15, i32 31, i32 47, i32 63>
  store <64 x i8> %b_n1.stored, ptr %b_n1.to, align 64
  %b_n0 = xor <64 x i8> %b_n0.stored, splat (i8 -128)
  %b_n1 = xor <64 x i8> %b_n1.stored, splat (i8 -128)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <16 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <16 x i32> %a_m0.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m0 = bitcast <16 x i32> %a_m0.bits to <64 x i8>
  %sum_m0_n0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0, <64 x i8> %b_n0, <64 x i8> %a_m0)
  %sum_m0_n1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n1, <64 x i8> %b_n1, <64 x i8> %a_m0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 128
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <64 x i8>
  %sum_m1_n0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n0, <64 x i8> %b_n0, <64 x i8> %a_m1)
  %sum_m1_n1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m1_n1, <64 x i8> %b_n1, <64 x i8> %a_m1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %scale_a.all.element = load float, ptr %scale_a, align 4
  %scale_a.all.first = insertelement <16 x float> poison, float %scale_a.all.element, i32 0
  %scale_a.all = shufflevector <16 x float> %scale_a.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %scale_b.all.element = load float, ptr %scale_b, align 4
  %scale_b.all.first = insertelement <16 x float> poison, float %scale_b.all.element, i32 0
  %scale_b.all = shufflevector <16 x float> %scale_b.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %scale_out.all.element = load float, ptr %scale_out, align 4
  %scale_out.all.first = insertelement <16 x float> poison, float %scale_out.all.element, i32 0
  %scale_out.all = shufflevector <16 x float> %scale_out.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.rounded = sitofp <16 x i32> %sum_m0_n0 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m0_n0.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m0_n0.finished_mul2 = fmul <16 x float> %sum_m0_n0.rounded, %sum_m0_n0.finished_mul
  %sum_m0_n0.finished = fmul <16 x float> %sum_m0_n0.finished_mul2, %scale_out.all
  %sum_m0_n0.finished.stored.known = fcmp ord <16 x float> %sum_m0_n0.finished, %sum_m0_n0.finished
  %sum_m0_n0.finished.stored.number = select <16 x i1> %sum_m0_n0.finished.stored.known, <16 x float> %sum_m0_n0.finished, <16 x float> zeroinitializer
  %sum_m0_n0.finished.stored.below = fcmp olt <16 x float> %sum_m0_n0.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m0_n0.finished.stored.least = select <16 x i1> %sum_m0_n0.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m0_n0.finished.stored.number
  %sum_m0_n0.finished.stored.above = fcmp ogt <16 x float> %sum_m0_n0.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m0_n0.finished.stored.most = select <16 x i1> %sum_m0_n0.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m0_n0.finished.stored.least
  %sum_m0_n0.finished.stored.shifted = fadd <16 x float> %sum_m0_n0.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m0_n0.finished.stored.shifted.bits = bitcast <16 x float> %sum_m0_n0.finished.stored.shifted to <16 x i32>
  %sum_m0_n0.finished.stored = trunc <16 x i32> %sum_m0_n0.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m0_n0.finished.stored, ptr %out, align 1
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  %sum_m0_n1.rounded = sitofp <16 x i32> %sum_m0_n1 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m0_n1.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m0_n1.finished_mul2 = fmul <16 x float> %sum_m0_n1.rounded, %sum_m0_n1.finished_mul
  %sum_m0_n1.finished = fmul <16 x float> %sum_m0_n1.finished_mul2, %scale_out.all
  %sum_m0_n1.finished.stored.known = fcmp ord <16 x float> %sum_m0_n1.finished, %sum_m0_n1.finished
  %sum_m0_n1.finished.stored.number = select <16 x i1> %sum_m0_n1.finished.stored.known, <16 x float> %sum_m0_n1.finished, <16 x float> zeroinitializer
  %sum_m0_n1.finished.stored.below = fcmp olt <16 x float> %sum_m0_n1.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m0_n1.finished.stored.least = select <16 x i1> %sum_m0_n1.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m0_n1.finished.stored.number
  %sum_m0_n1.finished.stored.above = fcmp ogt <16 x float> %sum_m0_n1.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m0_n1.finished.stored.most = select <16 x i1> %sum_m0_n1.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m0_n1.finished.stored.least
  %sum_m0_n1.finished.stored.shifted = fadd <16 x float> %sum_m0_n1.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m0_n1.finished.stored.shifted.bits = bitcast <16 x float> %sum_m0_n1.finished.stored.shifted to <16 x i32>
  %sum_m0_n1.finished.stored = trunc <16 x i32> %sum_m0_n1.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m0_n1.finished.stored, ptr %sum_m0_n1.out.at, align 1
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 64
  %sum_m1_n0.rounded = sitofp <16 x i32> %sum_m1_n0 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m1_n0.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m1_n0.finished_mul2 = fmul <16 x float> %sum_m1_n0.rounded, %sum_m1_n0.finished_mul
  %sum_m1_n0.finished = fmul <16 x float> %sum_m1_n0.finished_mul2, %scale_out.all
  %sum_m1_n0.finished.stored.known = fcmp ord <16 x float> %sum_m1_n0.finished, %sum_m1_n0.finished
  %sum_m1_n0.finished.stored.number = select <16 x i1> %sum_m1_n0.finished.stored.known, <16 x float> %sum_m1_n0.finished, <16 x float> zeroinitializer
  %sum_m1_n0.finished.stored.below = fcmp olt <16 x float> %sum_m1_n0.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m1_n0.finished.stored.least = select <16 x i1> %sum_m1_n0.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m1_n0.finished.stored.number
  %sum_m1_n0.finished.stored.above = fcmp ogt <16 x float> %sum_m1_n0.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m1_n0.finished.stored.most = select <16 x i1> %sum_m1_n0.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m1_n0.finished.stored.least
  %sum_m1_n0.finished.stored.shifted = fadd <16 x float> %sum_m1_n0.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m1_n0.finished.stored.shifted.bits = bitcast <16 x float> %sum_m1_n0.finished.stored.shifted to <16 x i32>
  %sum_m1_n0.finished.stored = trunc <16 x i32> %sum_m1_n0.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m1_n0.finished.stored, ptr %sum_m1_n0.out.at, align 1
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 80
  %sum_m1_n1.rounded = sitofp <16 x i32> %sum_m1_n1 to <16 x float>
  ; A @ B * (scale_a * scale_b) * scale_out
  %sum_m1_n1.finished_mul = fmul <16 x float> %scale_a.all, %scale_b.all
  %sum_m1_n1.finished_mul2 = fmul <16 x float> %sum_m1_n1.rounded, %sum_m1_n1.finished_mul
  %sum_m1_n1.finished = fmul <16 x float> %sum_m1_n1.finished_mul2, %scale_out.all
  %sum_m1_n1.finished.stored.known = fcmp ord <16 x float> %sum_m1_n1.finished, %sum_m1_n1.finished
  %sum_m1_n1.finished.stored.number = select <16 x i1> %sum_m1_n1.finished.stored.known, <16 x float> %sum_m1_n1.finished, <16 x float> zeroinitializer
  %sum_m1_n1.finished.stored.below = fcmp olt <16 x float> %sum_m1_n1.finished.stored.number, splat (float 0xC060000000000000)
  %sum_m1_n1.finished.stored.least = select <16 x i1> %sum_m1_n1.finished.stored.below, <16 x float> splat (float 0xC060000000000000), <16 x float> %sum_m1_n1.finished.stored.number
  %sum_m1_n1.finished.stored.above = fcmp ogt <16 x float> %sum_m1_n1.finished.stored.least, splat (float 0x405FC00000000000)
  %sum_m1_n1.finished.stored.most = select <16 x i1> %sum_m1_n1.finished.stored.above, <16 x float> splat (float 0x405FC00000000000), <16 x float> %sum_m1_n1.finished.stored.least
  %sum_m1_n1.finished.stored.shifted = fadd <16 x float> %sum_m1_n1.finished.stored.most, splat (float 0x4168000000000000)
  %sum_m1_n1.finished.stored.shifted.bits = bitcast <16 x float> %sum_m1_n1.finished.stored.shifted to <16 x i32>
  %sum_m1_n1.finished.stored = trunc <16 x i32> %sum_m1_n1.finished.stored.shifted.bits to <16 x i8>
  store <16 x i8> %sum_m1_n1.finished.stored, ptr %sum_m1_n1.out.at, align 1
  ret void
}

define void @matmul_64x64x128_s8_nn_scalea_scaleb_scaleout(ptr %a, ptr %b, ptr %scale_a, ptr %scale_b, ptr %scale_out, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.starts = alloca [32 x i32], align 64
  %b.pack = alloca [8192 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of columns, block of rows), last fastest
  %block.m = urem i64 %task, 2
  %m0 = mul nuw i64 %block.m, 32
  %packs.first = icmp eq i64 %task, %begin
  %packs.next = icmp eq i64 %block.m, 0
  %packs = or i1 %packs.first, %packs.next

  %a.m0.offset = mul nuw i64 %m0, 128
  %a.m0 = getelementptr i8, ptr %a, i64 %a.m0.offset
  %out.m0.offset = mul nuw i64 %m0, 64
  %out.m0 = getelementptr i8, ptr %out, i64 %out.m0.offset

  ; ---- prologue: compensation for +128 on each element of B
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ 0, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, 32
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %s.a.offset = mul nuw i64 %s, 128
  %s.a = getelementptr i8, ptr %a.m0, i64 %s.a.offset
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
  %sk.more = icmp ult i64 %sk, 128
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
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 64
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b = getelementptr i8, ptr %b, i64 %j
  %p.b.pack.offset = mul nuw i64 %j, 128
  %p.b.pack = getelementptr i8, ptr %b.pack, i64 %p.b.pack.offset
  ; ---- prologue: pack the panel, unless an earlier task has
  br i1 %packs, label %p.pack.do, label %p.pack.done
p.pack.do:
  %p.f.out = getelementptr i8, ptr %out.m0, i64 %j
  call void @tile_2x32_packing(ptr %a.m0, ptr %p.b, ptr %p.b.pack, ptr %p.f.out, ptr %scale_a, ptr %scale_b, ptr %scale_out, ptr %a.starts)
  br label %p.pack.done
p.pack.done:
  %p.first = select i1 %packs, i64 2, i64 0

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ %p.first, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 32
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 128
  %p.w.a = getelementptr i8, ptr %a.m0, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 64
  %p.w.corner = add nuw i64 %p.w.row, %j
  %p.w.out = getelementptr i8, ptr %out.m0, i64 %p.w.corner
  %p.w.starts = getelementptr i32, ptr %a.starts, i64 %p.i
  call void @tile_2x32(ptr %p.w.a, ptr %p.b.pack, ptr %p.w.out, ptr %scale_a, ptr %scale_b, ptr %scale_out, ptr %p.w.starts)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 2
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

declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <64 x i8>, <64 x i8>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Unroll by two: the branch predictor predicts the exit of a short loop only, and with more steps LLVM
; moves loads up until it runs out of registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
