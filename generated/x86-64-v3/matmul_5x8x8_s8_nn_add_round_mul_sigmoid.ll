; matmul_5x8x8_s8_nn_add_round_mul_sigmoid
;
; computes:  out = round(sigmoid(min(max(round(A @ B * scale), -140), 115) * slope) * 256) + -128, accumulated in
;              s32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=dot,mr=5,nr=8,mc=5,kc=8,nc=8,pack_a=1,pack_b=1,ahead=0,keep_b=0,packing_ahead=8 (user)
; launch:    1 task of up to 5 x 8 outputs; 1 x 1 blocks
; method:    BLIS blocking with vpmaddwd, 2 of K per instruction: a task computes an mc x nc block of out, kc of
;              K at a time; for each panel of nr columns of B, packed in groups of 2 of K, it visits every mr
;              rows of A, with mr x nr accumulators in registers
; memory:    stack, 1352 B
;            %a.pack: s16 [mc][kc], 96 B per row, zero past K, 480 B
;            %b.pack: s8 [kc/2][nr][2], 16 B per row, zero past K and N, 64 B
;            %table: results by byte, in parts of 16, 808 B
; arguments: a: input s8[5, 8], strides [8, 1]
;            b: input s8[8, 8], strides [8, 1]
;            scale: input f32[8], strides [1]
;            slope: input f32[1], strides [1]
;            out: output s8[5, 8], strides [8, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_5x8(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %scale, ptr noalias %operand_slope, ptr noalias %table) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m2_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m3_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m4_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 4
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 16
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.stored = load <16 x i8>, ptr %k.b, align 16
  %b_n0 = sext <16 x i8> %b_n0.stored to <16 x i16>
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <8 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <8 x i32> %a_m0.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m0 = bitcast <8 x i32> %a_m0.bits to <16 x i16>
  %sum_m0_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m0, <16 x i16> %b_n0)
  %sum_m0_n0.next = add <8 x i32> %sum_m0_n0, %sum_m0_n0.next.products
  %a_m1.at = getelementptr i8, ptr %k.a, i64 96
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <8 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <8 x i32> %a_m1.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m1 = bitcast <8 x i32> %a_m1.bits to <16 x i16>
  %sum_m1_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m1, <16 x i16> %b_n0)
  %sum_m1_n0.next = add <8 x i32> %sum_m1_n0, %sum_m1_n0.next.products
  %a_m2.at = getelementptr i8, ptr %k.a, i64 192
  %a_m2.group = load i32, ptr %a_m2.at, align 1
  %a_m2.bits.first = insertelement <8 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <8 x i32> %a_m2.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m2 = bitcast <8 x i32> %a_m2.bits to <16 x i16>
  %sum_m2_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m2, <16 x i16> %b_n0)
  %sum_m2_n0.next = add <8 x i32> %sum_m2_n0, %sum_m2_n0.next.products
  %a_m3.at = getelementptr i8, ptr %k.a, i64 288
  %a_m3.group = load i32, ptr %a_m3.at, align 1
  %a_m3.bits.first = insertelement <8 x i32> poison, i32 %a_m3.group, i32 0
  %a_m3.bits = shufflevector <8 x i32> %a_m3.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m3 = bitcast <8 x i32> %a_m3.bits to <16 x i16>
  %sum_m3_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m3, <16 x i16> %b_n0)
  %sum_m3_n0.next = add <8 x i32> %sum_m3_n0, %sum_m3_n0.next.products
  %a_m4.at = getelementptr i8, ptr %k.a, i64 384
  %a_m4.group = load i32, ptr %a_m4.at, align 1
  %a_m4.bits.first = insertelement <8 x i32> poison, i32 %a_m4.group, i32 0
  %a_m4.bits = shufflevector <8 x i32> %a_m4.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m4 = bitcast <8 x i32> %a_m4.bits to <16 x i16>
  %sum_m4_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m4, <16 x i16> %b_n0)
  %sum_m4_n0.next = add <8 x i32> %sum_m4_n0, %sum_m4_n0.next.products
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head, !llvm.loop !0
k.done:
  ; ---- epilogue
  %operand_slope.all.element = load float, ptr %operand_slope, align 4
  %operand_slope.all.first = insertelement <8 x float> poison, float %operand_slope.all.element, i32 0
  %operand_slope.all = shufflevector <8 x float> %operand_slope.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m0_n0.rounded = sitofp <8 x i32> %sum_m0_n0 to <8 x float>
  %sum_m0_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m0_n0.finished = fmul <8 x float> %sum_m0_n0.rounded, %sum_m0_n0.scale
  %sum_m0_n0.known = fcmp ord <8 x float> %sum_m0_n0.finished, %sum_m0_n0.finished
  %sum_m0_n0.far = fcmp ogt <8 x float> %sum_m0_n0.finished, splat (float 0x41D0000000000000)
  %sum_m0_n0.near = select <8 x i1> %sum_m0_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m0_n0.finished
  %sum_m0_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m0_n0.near)
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 8
  %sum_m1_n0.rounded = sitofp <8 x i32> %sum_m1_n0 to <8 x float>
  %sum_m1_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m1_n0.finished = fmul <8 x float> %sum_m1_n0.rounded, %sum_m1_n0.scale
  %sum_m1_n0.known = fcmp ord <8 x float> %sum_m1_n0.finished, %sum_m1_n0.finished
  %sum_m1_n0.far = fcmp ogt <8 x float> %sum_m1_n0.finished, splat (float 0x41D0000000000000)
  %sum_m1_n0.near = select <8 x i1> %sum_m1_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m1_n0.finished
  %sum_m1_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m1_n0.near)
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 16
  %sum_m2_n0.rounded = sitofp <8 x i32> %sum_m2_n0 to <8 x float>
  %sum_m2_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m2_n0.finished = fmul <8 x float> %sum_m2_n0.rounded, %sum_m2_n0.scale
  %sum_m2_n0.known = fcmp ord <8 x float> %sum_m2_n0.finished, %sum_m2_n0.finished
  %sum_m2_n0.far = fcmp ogt <8 x float> %sum_m2_n0.finished, splat (float 0x41D0000000000000)
  %sum_m2_n0.near = select <8 x i1> %sum_m2_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m2_n0.finished
  %sum_m2_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m2_n0.near)
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 24
  %sum_m3_n0.rounded = sitofp <8 x i32> %sum_m3_n0 to <8 x float>
  %sum_m3_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m3_n0.finished = fmul <8 x float> %sum_m3_n0.rounded, %sum_m3_n0.scale
  %sum_m3_n0.known = fcmp ord <8 x float> %sum_m3_n0.finished, %sum_m3_n0.finished
  %sum_m3_n0.far = fcmp ogt <8 x float> %sum_m3_n0.finished, splat (float 0x41D0000000000000)
  %sum_m3_n0.near = select <8 x i1> %sum_m3_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m3_n0.finished
  %sum_m3_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m3_n0.near)
  %sum_m0_n0.bytes.known.lower = shufflevector <8 x i1> %sum_m0_n0.known, <8 x i1> %sum_m1_n0.known, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.known.upper = shufflevector <8 x i1> %sum_m2_n0.known, <8 x i1> %sum_m3_n0.known, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.known = shufflevector <16 x i1> %sum_m0_n0.bytes.known.lower, <16 x i1> %sum_m0_n0.bytes.known.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.bytes.whole.lower = shufflevector <8 x i32> %sum_m0_n0.whole, <8 x i32> %sum_m1_n0.whole, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.whole.upper = shufflevector <8 x i32> %sum_m2_n0.whole, <8 x i32> %sum_m3_n0.whole, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.whole = shufflevector <16 x i32> %sum_m0_n0.bytes.whole.lower, <16 x i32> %sum_m0_n0.bytes.whole.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.bytes.words.least = call <32 x i32> @llvm.smax.v32i32(<32 x i32> %sum_m0_n0.bytes.whole, <32 x i32> splat (i32 -32768))
  %sum_m0_n0.bytes.words.most = call <32 x i32> @llvm.smin.v32i32(<32 x i32> %sum_m0_n0.bytes.words.least, <32 x i32> splat (i32 32767))
  %sum_m0_n0.bytes.words = trunc <32 x i32> %sum_m0_n0.bytes.words.most to <32 x i16>
  %sum_m0_n0.bytes.sum = call <32 x i16> @llvm.sadd.sat.v32i16(<32 x i16> %sum_m0_n0.bytes.words, <32 x i16> splat (i16 12))
  %sum_m0_n0.bytes.packed.least = call <32 x i16> @llvm.smax.v32i16(<32 x i16> %sum_m0_n0.bytes.sum, <32 x i16> splat (i16 -128))
  %sum_m0_n0.bytes.packed.most = call <32 x i16> @llvm.smin.v32i16(<32 x i16> %sum_m0_n0.bytes.packed.least, <32 x i16> splat (i16 127))
  %sum_m0_n0.bytes.packed = trunc <32 x i16> %sum_m0_n0.bytes.packed.most to <32 x i8>
  %sum_m4_n0.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m4_n0.rounded = sitofp <8 x i32> %sum_m4_n0 to <8 x float>
  %sum_m4_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m4_n0.finished = fmul <8 x float> %sum_m4_n0.rounded, %sum_m4_n0.scale
  %sum_m4_n0.known = fcmp ord <8 x float> %sum_m4_n0.finished, %sum_m4_n0.finished
  %sum_m4_n0.far = fcmp ogt <8 x float> %sum_m4_n0.finished, splat (float 0x41D0000000000000)
  %sum_m4_n0.near = select <8 x i1> %sum_m4_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m4_n0.finished
  %sum_m4_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m4_n0.near)
  %sum_m4_n0.bytes.known.lower = shufflevector <8 x i1> %sum_m4_n0.known, <8 x i1> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.known.upper = shufflevector <8 x i1> zeroinitializer, <8 x i1> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.known = shufflevector <16 x i1> %sum_m4_n0.bytes.known.lower, <16 x i1> %sum_m4_n0.bytes.known.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m4_n0.bytes.whole.lower = shufflevector <8 x i32> %sum_m4_n0.whole, <8 x i32> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.whole.upper = shufflevector <8 x i32> zeroinitializer, <8 x i32> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.whole = shufflevector <16 x i32> %sum_m4_n0.bytes.whole.lower, <16 x i32> %sum_m4_n0.bytes.whole.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m4_n0.bytes.words.least = call <32 x i32> @llvm.smax.v32i32(<32 x i32> %sum_m4_n0.bytes.whole, <32 x i32> splat (i32 -32768))
  %sum_m4_n0.bytes.words.most = call <32 x i32> @llvm.smin.v32i32(<32 x i32> %sum_m4_n0.bytes.words.least, <32 x i32> splat (i32 32767))
  %sum_m4_n0.bytes.words = trunc <32 x i32> %sum_m4_n0.bytes.words.most to <32 x i16>
  %sum_m4_n0.bytes.sum = call <32 x i16> @llvm.sadd.sat.v32i16(<32 x i16> %sum_m4_n0.bytes.words, <32 x i16> splat (i16 12))
  %sum_m4_n0.bytes.packed.least = call <32 x i16> @llvm.smax.v32i16(<32 x i16> %sum_m4_n0.bytes.sum, <32 x i16> splat (i16 -128))
  %sum_m4_n0.bytes.packed.most = call <32 x i16> @llvm.smin.v32i16(<32 x i16> %sum_m4_n0.bytes.packed.least, <32 x i16> splat (i16 127))
  %sum_m4_n0.bytes.packed = trunc <32 x i16> %sum_m4_n0.bytes.packed.most to <32 x i8>
  %sum_m0_n0.bytes.found = call <32 x i8> @looked_up(<32 x i8> %sum_m0_n0.bytes.packed, ptr %table)
  %sum_m0_n0.bytes.nan.at = getelementptr i8, ptr %table, i64 512
  %sum_m0_n0.bytes.nan = load <32 x i8>, ptr %sum_m0_n0.bytes.nan.at, align 32
  %sum_m0_n0.bytes = select <32 x i1> %sum_m0_n0.bytes.known, <32 x i8> %sum_m0_n0.bytes.found, <32 x i8> %sum_m0_n0.bytes.nan
  %sum_m0_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  store <8 x i8> %sum_m0_n0.result, ptr %out, align 1
  %sum_m1_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  store <8 x i8> %sum_m1_n0.result, ptr %sum_m1_n0.out.at, align 1
  %sum_m2_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  store <8 x i8> %sum_m2_n0.result, ptr %sum_m2_n0.out.at, align 1
  %sum_m3_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  store <8 x i8> %sum_m3_n0.result, ptr %sum_m3_n0.out.at, align 1
  %sum_m4_n0.bytes.found = call <32 x i8> @looked_up(<32 x i8> %sum_m4_n0.bytes.packed, ptr %table)
  %sum_m4_n0.bytes.nan.at = getelementptr i8, ptr %table, i64 512
  %sum_m4_n0.bytes.nan = load <32 x i8>, ptr %sum_m4_n0.bytes.nan.at, align 32
  %sum_m4_n0.bytes = select <32 x i1> %sum_m4_n0.bytes.known, <32 x i8> %sum_m4_n0.bytes.found, <32 x i8> %sum_m4_n0.bytes.nan
  %sum_m4_n0.result = shufflevector <32 x i8> %sum_m4_n0.bytes, <32 x i8> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  store <8 x i8> %sum_m4_n0.result, ptr %sum_m4_n0.out.at, align 1
  ret void
}

define internal void @tile_5x8_packing(ptr noalias %a, ptr noalias %b, ptr noalias %pack, ptr noalias %out, ptr noalias %scale, ptr noalias %operand_slope, ptr noalias %table) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m2_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m3_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %sum_m4_n0 = phi <8 x i32> [ zeroinitializer, %k.enter ], [ %sum_m4_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 4
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 16
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %k.pack.offset = mul nuw i64 %k, 16
  %k.pack = getelementptr i8, ptr %pack, i64 %k.pack.offset
  %b_n0.stored.k0 = load <8 x i8>, ptr %k.b, align 1
  %b_n0.stored.k1.from = getelementptr i8, ptr %k.b, i64 8
  %b_n0.stored.k1 = load <8 x i8>, ptr %b_n0.stored.k1.from, align 1
  %b_n0.stored = shufflevector <8 x i8> %b_n0.stored.k0, <8 x i8> %b_n0.stored.k1, <16 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11, i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  store <16 x i8> %b_n0.stored, ptr %k.pack, align 16
  %b_n0 = sext <16 x i8> %b_n0.stored to <16 x i16>
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.group = load i32, ptr %k.a, align 1
  %a_m0.bits.first = insertelement <8 x i32> poison, i32 %a_m0.group, i32 0
  %a_m0.bits = shufflevector <8 x i32> %a_m0.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m0 = bitcast <8 x i32> %a_m0.bits to <16 x i16>
  %sum_m0_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m0, <16 x i16> %b_n0)
  %sum_m0_n0.next = add <8 x i32> %sum_m0_n0, %sum_m0_n0.next.products
  %a_m1.at = getelementptr i8, ptr %k.a, i64 96
  %a_m1.group = load i32, ptr %a_m1.at, align 1
  %a_m1.bits.first = insertelement <8 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <8 x i32> %a_m1.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m1 = bitcast <8 x i32> %a_m1.bits to <16 x i16>
  %sum_m1_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m1, <16 x i16> %b_n0)
  %sum_m1_n0.next = add <8 x i32> %sum_m1_n0, %sum_m1_n0.next.products
  %a_m2.at = getelementptr i8, ptr %k.a, i64 192
  %a_m2.group = load i32, ptr %a_m2.at, align 1
  %a_m2.bits.first = insertelement <8 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <8 x i32> %a_m2.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m2 = bitcast <8 x i32> %a_m2.bits to <16 x i16>
  %sum_m2_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m2, <16 x i16> %b_n0)
  %sum_m2_n0.next = add <8 x i32> %sum_m2_n0, %sum_m2_n0.next.products
  %a_m3.at = getelementptr i8, ptr %k.a, i64 288
  %a_m3.group = load i32, ptr %a_m3.at, align 1
  %a_m3.bits.first = insertelement <8 x i32> poison, i32 %a_m3.group, i32 0
  %a_m3.bits = shufflevector <8 x i32> %a_m3.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m3 = bitcast <8 x i32> %a_m3.bits to <16 x i16>
  %sum_m3_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m3, <16 x i16> %b_n0)
  %sum_m3_n0.next = add <8 x i32> %sum_m3_n0, %sum_m3_n0.next.products
  %a_m4.at = getelementptr i8, ptr %k.a, i64 384
  %a_m4.group = load i32, ptr %a_m4.at, align 1
  %a_m4.bits.first = insertelement <8 x i32> poison, i32 %a_m4.group, i32 0
  %a_m4.bits = shufflevector <8 x i32> %a_m4.bits.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %a_m4 = bitcast <8 x i32> %a_m4.bits to <16 x i16>
  %sum_m4_n0.next.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %a_m4, <16 x i16> %b_n0)
  %sum_m4_n0.next = add <8 x i32> %sum_m4_n0, %sum_m4_n0.next.products
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %operand_slope.all.element = load float, ptr %operand_slope, align 4
  %operand_slope.all.first = insertelement <8 x float> poison, float %operand_slope.all.element, i32 0
  %operand_slope.all = shufflevector <8 x float> %operand_slope.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m0_n0.rounded = sitofp <8 x i32> %sum_m0_n0 to <8 x float>
  %sum_m0_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m0_n0.finished = fmul <8 x float> %sum_m0_n0.rounded, %sum_m0_n0.scale
  %sum_m0_n0.known = fcmp ord <8 x float> %sum_m0_n0.finished, %sum_m0_n0.finished
  %sum_m0_n0.far = fcmp ogt <8 x float> %sum_m0_n0.finished, splat (float 0x41D0000000000000)
  %sum_m0_n0.near = select <8 x i1> %sum_m0_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m0_n0.finished
  %sum_m0_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m0_n0.near)
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 8
  %sum_m1_n0.rounded = sitofp <8 x i32> %sum_m1_n0 to <8 x float>
  %sum_m1_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m1_n0.finished = fmul <8 x float> %sum_m1_n0.rounded, %sum_m1_n0.scale
  %sum_m1_n0.known = fcmp ord <8 x float> %sum_m1_n0.finished, %sum_m1_n0.finished
  %sum_m1_n0.far = fcmp ogt <8 x float> %sum_m1_n0.finished, splat (float 0x41D0000000000000)
  %sum_m1_n0.near = select <8 x i1> %sum_m1_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m1_n0.finished
  %sum_m1_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m1_n0.near)
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 16
  %sum_m2_n0.rounded = sitofp <8 x i32> %sum_m2_n0 to <8 x float>
  %sum_m2_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m2_n0.finished = fmul <8 x float> %sum_m2_n0.rounded, %sum_m2_n0.scale
  %sum_m2_n0.known = fcmp ord <8 x float> %sum_m2_n0.finished, %sum_m2_n0.finished
  %sum_m2_n0.far = fcmp ogt <8 x float> %sum_m2_n0.finished, splat (float 0x41D0000000000000)
  %sum_m2_n0.near = select <8 x i1> %sum_m2_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m2_n0.finished
  %sum_m2_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m2_n0.near)
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 24
  %sum_m3_n0.rounded = sitofp <8 x i32> %sum_m3_n0 to <8 x float>
  %sum_m3_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m3_n0.finished = fmul <8 x float> %sum_m3_n0.rounded, %sum_m3_n0.scale
  %sum_m3_n0.known = fcmp ord <8 x float> %sum_m3_n0.finished, %sum_m3_n0.finished
  %sum_m3_n0.far = fcmp ogt <8 x float> %sum_m3_n0.finished, splat (float 0x41D0000000000000)
  %sum_m3_n0.near = select <8 x i1> %sum_m3_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m3_n0.finished
  %sum_m3_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m3_n0.near)
  %sum_m0_n0.bytes.known.lower = shufflevector <8 x i1> %sum_m0_n0.known, <8 x i1> %sum_m1_n0.known, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.known.upper = shufflevector <8 x i1> %sum_m2_n0.known, <8 x i1> %sum_m3_n0.known, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.known = shufflevector <16 x i1> %sum_m0_n0.bytes.known.lower, <16 x i1> %sum_m0_n0.bytes.known.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.bytes.whole.lower = shufflevector <8 x i32> %sum_m0_n0.whole, <8 x i32> %sum_m1_n0.whole, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.whole.upper = shufflevector <8 x i32> %sum_m2_n0.whole, <8 x i32> %sum_m3_n0.whole, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.bytes.whole = shufflevector <16 x i32> %sum_m0_n0.bytes.whole.lower, <16 x i32> %sum_m0_n0.bytes.whole.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m0_n0.bytes.words.least = call <32 x i32> @llvm.smax.v32i32(<32 x i32> %sum_m0_n0.bytes.whole, <32 x i32> splat (i32 -32768))
  %sum_m0_n0.bytes.words.most = call <32 x i32> @llvm.smin.v32i32(<32 x i32> %sum_m0_n0.bytes.words.least, <32 x i32> splat (i32 32767))
  %sum_m0_n0.bytes.words = trunc <32 x i32> %sum_m0_n0.bytes.words.most to <32 x i16>
  %sum_m0_n0.bytes.sum = call <32 x i16> @llvm.sadd.sat.v32i16(<32 x i16> %sum_m0_n0.bytes.words, <32 x i16> splat (i16 12))
  %sum_m0_n0.bytes.packed.least = call <32 x i16> @llvm.smax.v32i16(<32 x i16> %sum_m0_n0.bytes.sum, <32 x i16> splat (i16 -128))
  %sum_m0_n0.bytes.packed.most = call <32 x i16> @llvm.smin.v32i16(<32 x i16> %sum_m0_n0.bytes.packed.least, <32 x i16> splat (i16 127))
  %sum_m0_n0.bytes.packed = trunc <32 x i16> %sum_m0_n0.bytes.packed.most to <32 x i8>
  %sum_m4_n0.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m4_n0.rounded = sitofp <8 x i32> %sum_m4_n0 to <8 x float>
  %sum_m4_n0.scale = load <8 x float>, ptr %scale, align 4
  %sum_m4_n0.finished = fmul <8 x float> %sum_m4_n0.rounded, %sum_m4_n0.scale
  %sum_m4_n0.known = fcmp ord <8 x float> %sum_m4_n0.finished, %sum_m4_n0.finished
  %sum_m4_n0.far = fcmp ogt <8 x float> %sum_m4_n0.finished, splat (float 0x41D0000000000000)
  %sum_m4_n0.near = select <8 x i1> %sum_m4_n0.far, <8 x float> splat (float 0x41D0000000000000), <8 x float> %sum_m4_n0.finished
  %sum_m4_n0.whole = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %sum_m4_n0.near)
  %sum_m4_n0.bytes.known.lower = shufflevector <8 x i1> %sum_m4_n0.known, <8 x i1> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.known.upper = shufflevector <8 x i1> zeroinitializer, <8 x i1> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.known = shufflevector <16 x i1> %sum_m4_n0.bytes.known.lower, <16 x i1> %sum_m4_n0.bytes.known.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m4_n0.bytes.whole.lower = shufflevector <8 x i32> %sum_m4_n0.whole, <8 x i32> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.whole.upper = shufflevector <8 x i32> zeroinitializer, <8 x i32> zeroinitializer, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %sum_m4_n0.bytes.whole = shufflevector <16 x i32> %sum_m4_n0.bytes.whole.lower, <16 x i32> %sum_m4_n0.bytes.whole.upper, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %sum_m4_n0.bytes.words.least = call <32 x i32> @llvm.smax.v32i32(<32 x i32> %sum_m4_n0.bytes.whole, <32 x i32> splat (i32 -32768))
  %sum_m4_n0.bytes.words.most = call <32 x i32> @llvm.smin.v32i32(<32 x i32> %sum_m4_n0.bytes.words.least, <32 x i32> splat (i32 32767))
  %sum_m4_n0.bytes.words = trunc <32 x i32> %sum_m4_n0.bytes.words.most to <32 x i16>
  %sum_m4_n0.bytes.sum = call <32 x i16> @llvm.sadd.sat.v32i16(<32 x i16> %sum_m4_n0.bytes.words, <32 x i16> splat (i16 12))
  %sum_m4_n0.bytes.packed.least = call <32 x i16> @llvm.smax.v32i16(<32 x i16> %sum_m4_n0.bytes.sum, <32 x i16> splat (i16 -128))
  %sum_m4_n0.bytes.packed.most = call <32 x i16> @llvm.smin.v32i16(<32 x i16> %sum_m4_n0.bytes.packed.least, <32 x i16> splat (i16 127))
  %sum_m4_n0.bytes.packed = trunc <32 x i16> %sum_m4_n0.bytes.packed.most to <32 x i8>
  %sum_m0_n0.bytes.found = call <32 x i8> @looked_up(<32 x i8> %sum_m0_n0.bytes.packed, ptr %table)
  %sum_m0_n0.bytes.nan.at = getelementptr i8, ptr %table, i64 512
  %sum_m0_n0.bytes.nan = load <32 x i8>, ptr %sum_m0_n0.bytes.nan.at, align 32
  %sum_m0_n0.bytes = select <32 x i1> %sum_m0_n0.bytes.known, <32 x i8> %sum_m0_n0.bytes.found, <32 x i8> %sum_m0_n0.bytes.nan
  %sum_m0_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  store <8 x i8> %sum_m0_n0.result, ptr %out, align 1
  %sum_m1_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  store <8 x i8> %sum_m1_n0.result, ptr %sum_m1_n0.out.at, align 1
  %sum_m2_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  store <8 x i8> %sum_m2_n0.result, ptr %sum_m2_n0.out.at, align 1
  %sum_m3_n0.result = shufflevector <32 x i8> %sum_m0_n0.bytes, <32 x i8> poison, <8 x i32> <i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  store <8 x i8> %sum_m3_n0.result, ptr %sum_m3_n0.out.at, align 1
  %sum_m4_n0.bytes.found = call <32 x i8> @looked_up(<32 x i8> %sum_m4_n0.bytes.packed, ptr %table)
  %sum_m4_n0.bytes.nan.at = getelementptr i8, ptr %table, i64 512
  %sum_m4_n0.bytes.nan = load <32 x i8>, ptr %sum_m4_n0.bytes.nan.at, align 32
  %sum_m4_n0.bytes = select <32 x i1> %sum_m4_n0.bytes.known, <32 x i8> %sum_m4_n0.bytes.found, <32 x i8> %sum_m4_n0.bytes.nan
  %sum_m4_n0.result = shufflevector <32 x i8> %sum_m4_n0.bytes, <32 x i8> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  store <8 x i8> %sum_m4_n0.result, ptr %sum_m4_n0.out.at, align 1
  ret void
}

define void @matmul_5x8x8_s8_nn_add_round_mul_sigmoid(ptr %a, ptr %b, ptr %scale, ptr %operand_slope, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [480 x i8], align 64
  %b.pack = alloca [64 x i8], align 64
  %table = alloca [808 x i8], align 64

  ; ---- prologue: fill the table of results
  %operand_slope.all.element = load float, ptr %operand_slope, align 4
  %operand_slope.all.first = insertelement <8 x float> poison, float %operand_slope.all.element, i32 0
  %operand_slope.all = shufflevector <8 x float> %operand_slope.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  br label %byte.enter
byte.enter:
  br label %byte.head
byte.head:
  %byte = phi i64 [ 0, %byte.enter ], [ %byte.after, %byte.latch ]
  %byte.more = icmp ult i64 %byte, 264
  br i1 %byte.more, label %byte.body, label %byte.done
byte.body:
  %byte.first.float = sitofp i64 %byte to float
  %byte.first.first = insertelement <8 x float> poison, float %byte.first.float, i32 0
  %byte.first = shufflevector <8 x float> %byte.first.first, <8 x float> poison, <8 x i32> zeroinitializer
  %byte.any = fadd <8 x float> %byte.first, <float 0xC061800000000000, float 0xC061600000000000, float 0xC061400000000000, float 0xC061200000000000, float 0xC061000000000000, float 0xC060E00000000000, float 0xC060C00000000000, float 0xC060A00000000000>
  %byte.limited = bitcast <8 x float> %byte.any to <8 x float>
  %byte.is_number = icmp ult i64 %byte, 256
  %byte.number = select i1 %byte.is_number, <8 x float> %byte.limited, <8 x float> splat (float 0x7FF8000000000000)
  %byte.result_mul = fmul <8 x float> %byte.number, %operand_slope.all
  %byte.result_mul2 = fmul <8 x float> %byte.result_mul, splat (float 0xBFF7154760000000)
  %byte.result_exp2 = call <8 x float> @exp2(<8 x float> %byte.result_mul2)
  %byte.result_add = fadd <8 x float> %byte.result_exp2, splat (float 0x3FF0000000000000)
  %byte.result_reciprocal = fdiv <8 x float> splat (float 0x3FF0000000000000), %byte.result_add
  %byte.result_mul3 = fmul <8 x float> %byte.result_reciprocal, splat (float 0x4070000000000000)
  %byte.result_round = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %byte.result_mul3)
  %byte.result = fadd <8 x float> %byte.result_round, splat (float 0xC060000000000000)
  %byte.offset = add nuw i64 %byte, 544
  %byte.at = getelementptr i8, ptr %table, i64 %byte.offset
  %byte.result.stored.known = fcmp ord <8 x float> %byte.result, %byte.result
  %byte.result.stored.number = select <8 x i1> %byte.result.stored.known, <8 x float> %byte.result, <8 x float> zeroinitializer
  %byte.result.stored.below = fcmp olt <8 x float> %byte.result.stored.number, splat (float 0xC060000000000000)
  %byte.result.stored.least = select <8 x i1> %byte.result.stored.below, <8 x float> splat (float 0xC060000000000000), <8 x float> %byte.result.stored.number
  %byte.result.stored.above = fcmp ogt <8 x float> %byte.result.stored.least, splat (float 0x405FC00000000000)
  %byte.result.stored.most = select <8 x i1> %byte.result.stored.above, <8 x float> splat (float 0x405FC00000000000), <8 x float> %byte.result.stored.least
  %byte.result.stored.shifted = fadd <8 x float> %byte.result.stored.most, splat (float 0x4168000000000000)
  %byte.result.stored.shifted.bits = bitcast <8 x float> %byte.result.stored.shifted to <8 x i32>
  %byte.result.stored = trunc <8 x i32> %byte.result.stored.shifted.bits to <8 x i8>
  store <8 x i8> %byte.result.stored, ptr %byte.at, align 1
  br label %byte.latch
byte.latch:
  %byte.after = add nuw i64 %byte, 8
  br label %byte.head
byte.done:
  %table.part0.plain.at = getelementptr i8, ptr %table, i64 544
  %table.part0.plain = load <16 x i8>, ptr %table.part0.plain.at, align 16
  %table.part0 = shufflevector <16 x i8> %table.part0.plain, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  store <32 x i8> %table.part0, ptr %table, align 32
  %table.part1.plain.at = getelementptr i8, ptr %table, i64 560
  %table.part1.plain = load <16 x i8>, ptr %table.part1.plain.at, align 16
  %table.part1.change = xor <16 x i8> %table.part1.plain, %table.part0.plain
  %table.part1 = shufflevector <16 x i8> %table.part1.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part1.at = getelementptr i8, ptr %table, i64 32
  store <32 x i8> %table.part1, ptr %table.part1.at, align 32
  %table.part2.plain.at = getelementptr i8, ptr %table, i64 576
  %table.part2.plain = load <16 x i8>, ptr %table.part2.plain.at, align 16
  %table.part2.change = xor <16 x i8> %table.part2.plain, %table.part1.plain
  %table.part2 = shufflevector <16 x i8> %table.part2.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part2.at = getelementptr i8, ptr %table, i64 64
  store <32 x i8> %table.part2, ptr %table.part2.at, align 32
  %table.part3.plain.at = getelementptr i8, ptr %table, i64 592
  %table.part3.plain = load <16 x i8>, ptr %table.part3.plain.at, align 16
  %table.part3.change = xor <16 x i8> %table.part3.plain, %table.part2.plain
  %table.part3 = shufflevector <16 x i8> %table.part3.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part3.at = getelementptr i8, ptr %table, i64 96
  store <32 x i8> %table.part3, ptr %table.part3.at, align 32
  %table.part4.plain.at = getelementptr i8, ptr %table, i64 608
  %table.part4.plain = load <16 x i8>, ptr %table.part4.plain.at, align 16
  %table.part4.change = xor <16 x i8> %table.part4.plain, %table.part3.plain
  %table.part4 = shufflevector <16 x i8> %table.part4.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part4.at = getelementptr i8, ptr %table, i64 128
  store <32 x i8> %table.part4, ptr %table.part4.at, align 32
  %table.part5.plain.at = getelementptr i8, ptr %table, i64 624
  %table.part5.plain = load <16 x i8>, ptr %table.part5.plain.at, align 16
  %table.part5.change = xor <16 x i8> %table.part5.plain, %table.part4.plain
  %table.part5 = shufflevector <16 x i8> %table.part5.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part5.at = getelementptr i8, ptr %table, i64 160
  store <32 x i8> %table.part5, ptr %table.part5.at, align 32
  %table.part6.plain.at = getelementptr i8, ptr %table, i64 640
  %table.part6.plain = load <16 x i8>, ptr %table.part6.plain.at, align 16
  %table.part6.change = xor <16 x i8> %table.part6.plain, %table.part5.plain
  %table.part6 = shufflevector <16 x i8> %table.part6.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part6.at = getelementptr i8, ptr %table, i64 192
  store <32 x i8> %table.part6, ptr %table.part6.at, align 32
  %table.part7.plain.at = getelementptr i8, ptr %table, i64 656
  %table.part7.plain = load <16 x i8>, ptr %table.part7.plain.at, align 16
  %table.part7.change = xor <16 x i8> %table.part7.plain, %table.part6.plain
  %table.part7 = shufflevector <16 x i8> %table.part7.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part7.at = getelementptr i8, ptr %table, i64 224
  store <32 x i8> %table.part7, ptr %table.part7.at, align 32
  %table.part8.plain.at = getelementptr i8, ptr %table, i64 672
  %table.part8.plain = load <16 x i8>, ptr %table.part8.plain.at, align 16
  %table.part8 = shufflevector <16 x i8> %table.part8.plain, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part8.at = getelementptr i8, ptr %table, i64 256
  store <32 x i8> %table.part8, ptr %table.part8.at, align 32
  %table.part9.plain.at = getelementptr i8, ptr %table, i64 688
  %table.part9.plain = load <16 x i8>, ptr %table.part9.plain.at, align 16
  %table.part9.change = xor <16 x i8> %table.part9.plain, %table.part8.plain
  %table.part9 = shufflevector <16 x i8> %table.part9.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part9.at = getelementptr i8, ptr %table, i64 288
  store <32 x i8> %table.part9, ptr %table.part9.at, align 32
  %table.part10.plain.at = getelementptr i8, ptr %table, i64 704
  %table.part10.plain = load <16 x i8>, ptr %table.part10.plain.at, align 16
  %table.part10.change = xor <16 x i8> %table.part10.plain, %table.part9.plain
  %table.part10 = shufflevector <16 x i8> %table.part10.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part10.at = getelementptr i8, ptr %table, i64 320
  store <32 x i8> %table.part10, ptr %table.part10.at, align 32
  %table.part11.plain.at = getelementptr i8, ptr %table, i64 720
  %table.part11.plain = load <16 x i8>, ptr %table.part11.plain.at, align 16
  %table.part11.change = xor <16 x i8> %table.part11.plain, %table.part10.plain
  %table.part11 = shufflevector <16 x i8> %table.part11.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part11.at = getelementptr i8, ptr %table, i64 352
  store <32 x i8> %table.part11, ptr %table.part11.at, align 32
  %table.part12.plain.at = getelementptr i8, ptr %table, i64 736
  %table.part12.plain = load <16 x i8>, ptr %table.part12.plain.at, align 16
  %table.part12.change = xor <16 x i8> %table.part12.plain, %table.part11.plain
  %table.part12 = shufflevector <16 x i8> %table.part12.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part12.at = getelementptr i8, ptr %table, i64 384
  store <32 x i8> %table.part12, ptr %table.part12.at, align 32
  %table.part13.plain.at = getelementptr i8, ptr %table, i64 752
  %table.part13.plain = load <16 x i8>, ptr %table.part13.plain.at, align 16
  %table.part13.change = xor <16 x i8> %table.part13.plain, %table.part12.plain
  %table.part13 = shufflevector <16 x i8> %table.part13.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part13.at = getelementptr i8, ptr %table, i64 416
  store <32 x i8> %table.part13, ptr %table.part13.at, align 32
  %table.part14.plain.at = getelementptr i8, ptr %table, i64 768
  %table.part14.plain = load <16 x i8>, ptr %table.part14.plain.at, align 16
  %table.part14.change = xor <16 x i8> %table.part14.plain, %table.part13.plain
  %table.part14 = shufflevector <16 x i8> %table.part14.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part14.at = getelementptr i8, ptr %table, i64 448
  store <32 x i8> %table.part14, ptr %table.part14.at, align 32
  %table.part15.plain.at = getelementptr i8, ptr %table, i64 784
  %table.part15.plain = load <16 x i8>, ptr %table.part15.plain.at, align 16
  %table.part15.change = xor <16 x i8> %table.part15.plain, %table.part14.plain
  %table.part15 = shufflevector <16 x i8> %table.part15.change, <16 x i8> poison, <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %table.part15.at = getelementptr i8, ptr %table, i64 480
  store <32 x i8> %table.part15, ptr %table.part15.at, align 32
  %table.nan.plain = getelementptr i8, ptr %table, i64 800
  %table.nan.byte = load i8, ptr %table.nan.plain, align 1
  %table.nan.first = insertelement <32 x i8> poison, i8 %table.nan.byte, i32 0
  %table.nan = shufflevector <32 x i8> %table.nan.first, <32 x i8> poison, <32 x i32> zeroinitializer
  %table.nan.at = getelementptr i8, ptr %table, i64 512
  store <32 x i8> %table.nan, ptr %table.nan.at, align 32
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest

  ; ---- prologue: pack A
  br label %pa.enter
pa.enter:
  br label %pa.head
pa.head:
  %pa = phi i64 [ 0, %pa.enter ], [ %pa.after, %pa.latch ]
  %pa.more = icmp ult i64 %pa, 5
  br i1 %pa.more, label %pa.body, label %pa.done
pa.body:
  %pa.from.offset = mul nuw i64 %pa, 8
  %pa.from = getelementptr i8, ptr %a, i64 %pa.from.offset
  %pa.to.offset = mul nuw i64 %pa, 96
  %pa.to = getelementptr i8, ptr %a.pack, i64 %pa.to.offset
  %pt.v.x = call <16 x i8> @llvm.masked.load.v16i8.p0(ptr align 1 %pa.from, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x i8> zeroinitializer)
  %pt.v.wide = sext <16 x i8> %pt.v.x to <16 x i16>
  store <16 x i16> %pt.v.wide, ptr %pa.to, align 32
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
  %j.more = icmp ult i64 %j, 8
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b = getelementptr i8, ptr %b, i64 %j
  ; ---- prologue: pack the panel
  %p.f.scale.offset = mul nuw i64 %j, 4
  %p.f.out = getelementptr i8, ptr %out, i64 %j
  %p.f.scale = getelementptr i8, ptr %scale, i64 %p.f.scale.offset
  call void @tile_5x8_packing(ptr %a.pack, ptr %p.b, ptr %b.pack, ptr %p.f.out, ptr %p.f.scale, ptr %operand_slope, ptr %table)

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 5, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 5
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 96
  %p.w.a = getelementptr i8, ptr %a.pack, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 8
  %p.w.corner = add nuw i64 %p.w.row, %j
  %p.w.scale.offset = mul nuw i64 %j, 4
  %p.w.out = getelementptr i8, ptr %out, i64 %p.w.corner
  %p.w.scale = getelementptr i8, ptr %scale, i64 %p.w.scale.offset
  call void @tile_5x8(ptr %p.w.a, ptr %b.pack, ptr %p.w.out, ptr %p.w.scale, ptr %operand_slope, ptr %table)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 5
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 8
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

declare <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16>, <16 x i16>)
define internal <32 x i8> @looked_up(<32 x i8> %index, ptr noalias %table) #1 {
  %lower = xor <32 x i8> %index, splat (i8 -128)
  %part0.entries = load <32 x i8>, ptr %table, align 32
  %part0 = bitcast <32 x i8> %lower to <32 x i8>
  %part0.found = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part0.entries, <32 x i8> %part0)
  %part1.at = getelementptr i8, ptr %table, i64 32
  %part1.entries = load <32 x i8>, ptr %part1.at, align 32
  %part1 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part0, <32 x i8> splat (i8 16))
  %part1.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part1.entries, <32 x i8> %part1)
  %part1.found = xor <32 x i8> %part0.found, %part1.own
  %part2.at = getelementptr i8, ptr %table, i64 64
  %part2.entries = load <32 x i8>, ptr %part2.at, align 32
  %part2 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part1, <32 x i8> splat (i8 16))
  %part2.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part2.entries, <32 x i8> %part2)
  %part2.found = xor <32 x i8> %part1.found, %part2.own
  %part3.at = getelementptr i8, ptr %table, i64 96
  %part3.entries = load <32 x i8>, ptr %part3.at, align 32
  %part3 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part2, <32 x i8> splat (i8 16))
  %part3.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part3.entries, <32 x i8> %part3)
  %part3.found = xor <32 x i8> %part2.found, %part3.own
  %part4.at = getelementptr i8, ptr %table, i64 128
  %part4.entries = load <32 x i8>, ptr %part4.at, align 32
  %part4 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part3, <32 x i8> splat (i8 16))
  %part4.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part4.entries, <32 x i8> %part4)
  %part4.found = xor <32 x i8> %part3.found, %part4.own
  %part5.at = getelementptr i8, ptr %table, i64 160
  %part5.entries = load <32 x i8>, ptr %part5.at, align 32
  %part5 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part4, <32 x i8> splat (i8 16))
  %part5.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part5.entries, <32 x i8> %part5)
  %part5.found = xor <32 x i8> %part4.found, %part5.own
  %part6.at = getelementptr i8, ptr %table, i64 192
  %part6.entries = load <32 x i8>, ptr %part6.at, align 32
  %part6 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part5, <32 x i8> splat (i8 16))
  %part6.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part6.entries, <32 x i8> %part6)
  %part6.found = xor <32 x i8> %part5.found, %part6.own
  %part7.at = getelementptr i8, ptr %table, i64 224
  %part7.entries = load <32 x i8>, ptr %part7.at, align 32
  %part7 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part6, <32 x i8> splat (i8 16))
  %part7.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part7.entries, <32 x i8> %part7)
  %part7.found = xor <32 x i8> %part6.found, %part7.own
  %part8.at = getelementptr i8, ptr %table, i64 256
  %part8.entries = load <32 x i8>, ptr %part8.at, align 32
  %part8 = bitcast <32 x i8> %index to <32 x i8>
  %part8.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part8.entries, <32 x i8> %part8)
  %part8.found = xor <32 x i8> %part7.found, %part8.own
  %part9.at = getelementptr i8, ptr %table, i64 288
  %part9.entries = load <32 x i8>, ptr %part9.at, align 32
  %part9 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part8, <32 x i8> splat (i8 16))
  %part9.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part9.entries, <32 x i8> %part9)
  %part9.found = xor <32 x i8> %part8.found, %part9.own
  %part10.at = getelementptr i8, ptr %table, i64 320
  %part10.entries = load <32 x i8>, ptr %part10.at, align 32
  %part10 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part9, <32 x i8> splat (i8 16))
  %part10.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part10.entries, <32 x i8> %part10)
  %part10.found = xor <32 x i8> %part9.found, %part10.own
  %part11.at = getelementptr i8, ptr %table, i64 352
  %part11.entries = load <32 x i8>, ptr %part11.at, align 32
  %part11 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part10, <32 x i8> splat (i8 16))
  %part11.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part11.entries, <32 x i8> %part11)
  %part11.found = xor <32 x i8> %part10.found, %part11.own
  %part12.at = getelementptr i8, ptr %table, i64 384
  %part12.entries = load <32 x i8>, ptr %part12.at, align 32
  %part12 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part11, <32 x i8> splat (i8 16))
  %part12.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part12.entries, <32 x i8> %part12)
  %part12.found = xor <32 x i8> %part11.found, %part12.own
  %part13.at = getelementptr i8, ptr %table, i64 416
  %part13.entries = load <32 x i8>, ptr %part13.at, align 32
  %part13 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part12, <32 x i8> splat (i8 16))
  %part13.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part13.entries, <32 x i8> %part13)
  %part13.found = xor <32 x i8> %part12.found, %part13.own
  %part14.at = getelementptr i8, ptr %table, i64 448
  %part14.entries = load <32 x i8>, ptr %part14.at, align 32
  %part14 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part13, <32 x i8> splat (i8 16))
  %part14.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part14.entries, <32 x i8> %part14)
  %part14.found = xor <32 x i8> %part13.found, %part14.own
  %part15.at = getelementptr i8, ptr %table, i64 480
  %part15.entries = load <32 x i8>, ptr %part15.at, align 32
  %part15 = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %part14, <32 x i8> splat (i8 16))
  %part15.own = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> %part15.entries, <32 x i8> %part15)
  %part15.found = xor <32 x i8> %part14.found, %part15.own
  ret <32 x i8> %part15.found
}
declare <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float>)
declare <32 x i16> @llvm.sadd.sat.v32i16(<32 x i16>, <32 x i16>)
declare <32 x i32> @llvm.smin.v32i32(<32 x i32>, <32 x i32>)
declare <32 x i32> @llvm.smax.v32i32(<32 x i32>, <32 x i32>)
declare <32 x i16> @llvm.smin.v32i16(<32 x i16>, <32 x i16>)
declare <32 x i16> @llvm.smax.v32i16(<32 x i16>, <32 x i16>)
declare <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8>, <32 x i8>)
declare <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8>, <32 x i8>)

define internal <8 x float> @exp2(<8 x float> %x) #2 {
  %y.islow = fcmp olt <8 x float> %x, splat (float 0xC062C00000000000)
  %y.low = select <8 x i1> %y.islow, <8 x float> splat (float 0xC062C00000000000), <8 x float> %x
  %y.ishigh = fcmp ogt <8 x float> %y.low, splat (float 0x4060200000000000)
  %y.x = select <8 x i1> %y.ishigh, <8 x float> splat (float 0x4060200000000000), <8 x float> %y.low
  %y.shifted = fadd <8 x float> %y.x, splat (float 0x4168000000000000)
  %y.n = fsub <8 x float> %y.shifted, splat (float 0x4168000000000000)
  %y.r = fsub <8 x float> %y.x, %y.n
  %y.p.h1 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F55CA8840000000), <8 x float> %y.r, <8 x float> splat (float 0x3F83CDB7A0000000))
  %y.p.h2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h1, <8 x float> %y.r, <8 x float> splat (float 0x3FAC6B3AE0000000))
  %y.p.h3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h2, <8 x float> %y.r, <8 x float> splat (float 0x3FCEBF9F00000000))
  %y.p.h4 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h3, <8 x float> %y.r, <8 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h4, <8 x float> %y.r, <8 x float> splat (float 0x3FF0000000000000))
  %y.magic.bits = bitcast <8 x float> %y.shifted to <8 x i32>
  %y.i.half = ashr <8 x i32> %y.magic.bits, splat (i32 1)
  %y.i.rest = sub <8 x i32> %y.magic.bits, %y.i.half
  %y.half.biased = add <8 x i32> %y.i.half, splat (i32 127)
  %y.half.bits = shl <8 x i32> %y.half.biased, splat (i32 23)
  %y.half = bitcast <8 x i32> %y.half.bits to <8 x float>
  %y.rest.biased = add <8 x i32> %y.i.rest, splat (i32 127)
  %y.rest.bits = shl <8 x i32> %y.rest.biased, splat (i32 23)
  %y.rest = bitcast <8 x i32> %y.rest.bits to <8 x float>
  %y.scaled = fmul <8 x float> %y.p, %y.half
  %y = fmul <8 x float> %y.scaled, %y.rest
  ret <8 x float> %y
}

attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)

declare <8 x float> @llvm.roundeven.v8f32(<8 x float>)
declare <8 x float> @llvm.maximum.v8f32(<8 x float>, <8 x float>)
declare <8 x float> @llvm.minimum.v8f32(<8 x float>, <8 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
declare <16 x i8> @llvm.masked.load.v16i8.p0(ptr, <16 x i1>, <16 x i8>)
declare void @llvm.masked.store.v16i8.p0(<16 x i8>, ptr, <16 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
; Unroll by two: the branch predictor predicts the exit of a short loop only, and with more steps LLVM
; moves loads up until it runs out of registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
