; matmul_16x32x64_bf16_nn_bias_gelu
;
; computes:  out = gelu(A @ B + bias), accumulated in f32
; target:    x86-64-v4+bf16, x86_64; requires abm avx avx2 avx512_bf16 avx512bw avx512cd avx512dq avx512f
;              avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=dot,mr=4,nr=32,mc=16,kc=64,nc=32,pack_a=0,pack_b=1,ahead=0,keep_b=0,packing_ahead=8 (user)
; launch:    1 task of up to 16 x 32 outputs; 1 x 1 blocks
; method:    BLIS blocking with vdpbf16ps, 2 of K per instruction: a task computes an mc x nc block of out, kc of
;              K at a time; for each panel of nr columns of B, packed in groups of 2 of K, it visits every mr
;              rows of A, with mr x nr accumulators in registers
; memory:    stack, 4096 B
;            %b.pack: bf16 [kc/2][nr][2], 128 B per row, zero past K and N, 4096 B
; arguments: a: input bf16[16, 64], strides [64, 1]
;            b: input bf16[64, 32], strides [32, 1]
;            bias: input bf16[32], strides [1]
;            out: output bf16[16, 32], strides [32, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_4x32(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
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
  %k.more = icmp ult i64 %k, 32
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 128
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0.stored = load <32 x i16>, ptr %k.b, align 64
  %b_n1.at = getelementptr i8, ptr %k.b, i64 64
  %b_n1.stored = load <32 x i16>, ptr %b_n1.at, align 64
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
  %a_m1.at = getelementptr i8, ptr %k.a, i64 128
  %a_m1.group = load i32, ptr %a_m1.at, align 2
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <32 x bfloat>
  %sum_m1_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m1_n0, <32 x bfloat> %a_m1, <32 x bfloat> %b_n0)
  %sum_m1_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m1_n1, <32 x bfloat> %a_m1, <32 x bfloat> %b_n1)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 256
  %a_m2.group = load i32, ptr %a_m2.at, align 2
  %a_m2.bits.first = insertelement <16 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <16 x i32> %a_m2.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m2 = bitcast <16 x i32> %a_m2.bits to <32 x bfloat>
  %sum_m2_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m2_n0, <32 x bfloat> %a_m2, <32 x bfloat> %b_n0)
  %sum_m2_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m2_n1, <32 x bfloat> %a_m2, <32 x bfloat> %b_n1)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 384
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
  %sum_m0_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m0_n0.bias.wide = zext <16 x i16> %sum_m0_n0.bias.bits to <16 x i32>
  %sum_m0_n0.bias.high = shl <16 x i32> %sum_m0_n0.bias.wide, splat (i32 16)
  %sum_m0_n0.bias = bitcast <16 x i32> %sum_m0_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <16 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m0_n0.finished_add)
  %sum_m0_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m0_n0.finished to <16 x bfloat>
  %sum_m0_n0.finished.stored = bitcast <16 x bfloat> %sum_m0_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m0_n0.finished.stored, ptr %out, align 2
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m0_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m0_n1.bias.bits = load <16 x i16>, ptr %sum_m0_n1.bias.at, align 2
  %sum_m0_n1.bias.wide = zext <16 x i16> %sum_m0_n1.bias.bits to <16 x i32>
  %sum_m0_n1.bias.high = shl <16 x i32> %sum_m0_n1.bias.wide, splat (i32 16)
  %sum_m0_n1.bias = bitcast <16 x i32> %sum_m0_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m0_n1.finished_add = fadd <16 x float> %sum_m0_n1, %sum_m0_n1.bias
  %sum_m0_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m0_n1.finished_add)
  %sum_m0_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m0_n1.finished to <16 x bfloat>
  %sum_m0_n1.finished.stored = bitcast <16 x bfloat> %sum_m0_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m0_n1.finished.stored, ptr %sum_m0_n1.out.at, align 2
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 64
  %sum_m1_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m1_n0.bias.wide = zext <16 x i16> %sum_m1_n0.bias.bits to <16 x i32>
  %sum_m1_n0.bias.high = shl <16 x i32> %sum_m1_n0.bias.wide, splat (i32 16)
  %sum_m1_n0.bias = bitcast <16 x i32> %sum_m1_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m1_n0.finished_add = fadd <16 x float> %sum_m1_n0, %sum_m1_n0.bias
  %sum_m1_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m1_n0.finished_add)
  %sum_m1_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m1_n0.finished to <16 x bfloat>
  %sum_m1_n0.finished.stored = bitcast <16 x bfloat> %sum_m1_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m1_n0.finished.stored, ptr %sum_m1_n0.out.at, align 2
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 96
  %sum_m1_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m1_n1.bias.bits = load <16 x i16>, ptr %sum_m1_n1.bias.at, align 2
  %sum_m1_n1.bias.wide = zext <16 x i16> %sum_m1_n1.bias.bits to <16 x i32>
  %sum_m1_n1.bias.high = shl <16 x i32> %sum_m1_n1.bias.wide, splat (i32 16)
  %sum_m1_n1.bias = bitcast <16 x i32> %sum_m1_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m1_n1.finished_add = fadd <16 x float> %sum_m1_n1, %sum_m1_n1.bias
  %sum_m1_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m1_n1.finished_add)
  %sum_m1_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m1_n1.finished to <16 x bfloat>
  %sum_m1_n1.finished.stored = bitcast <16 x bfloat> %sum_m1_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m1_n1.finished.stored, ptr %sum_m1_n1.out.at, align 2
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 128
  %sum_m2_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m2_n0.bias.wide = zext <16 x i16> %sum_m2_n0.bias.bits to <16 x i32>
  %sum_m2_n0.bias.high = shl <16 x i32> %sum_m2_n0.bias.wide, splat (i32 16)
  %sum_m2_n0.bias = bitcast <16 x i32> %sum_m2_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m2_n0.finished_add = fadd <16 x float> %sum_m2_n0, %sum_m2_n0.bias
  %sum_m2_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m2_n0.finished_add)
  %sum_m2_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m2_n0.finished to <16 x bfloat>
  %sum_m2_n0.finished.stored = bitcast <16 x bfloat> %sum_m2_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m2_n0.finished.stored, ptr %sum_m2_n0.out.at, align 2
  %sum_m2_n1.out.at = getelementptr i8, ptr %out, i64 160
  %sum_m2_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m2_n1.bias.bits = load <16 x i16>, ptr %sum_m2_n1.bias.at, align 2
  %sum_m2_n1.bias.wide = zext <16 x i16> %sum_m2_n1.bias.bits to <16 x i32>
  %sum_m2_n1.bias.high = shl <16 x i32> %sum_m2_n1.bias.wide, splat (i32 16)
  %sum_m2_n1.bias = bitcast <16 x i32> %sum_m2_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m2_n1.finished_add = fadd <16 x float> %sum_m2_n1, %sum_m2_n1.bias
  %sum_m2_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m2_n1.finished_add)
  %sum_m2_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m2_n1.finished to <16 x bfloat>
  %sum_m2_n1.finished.stored = bitcast <16 x bfloat> %sum_m2_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m2_n1.finished.stored, ptr %sum_m2_n1.out.at, align 2
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 192
  %sum_m3_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m3_n0.bias.wide = zext <16 x i16> %sum_m3_n0.bias.bits to <16 x i32>
  %sum_m3_n0.bias.high = shl <16 x i32> %sum_m3_n0.bias.wide, splat (i32 16)
  %sum_m3_n0.bias = bitcast <16 x i32> %sum_m3_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m3_n0.finished_add = fadd <16 x float> %sum_m3_n0, %sum_m3_n0.bias
  %sum_m3_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m3_n0.finished_add)
  %sum_m3_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m3_n0.finished to <16 x bfloat>
  %sum_m3_n0.finished.stored = bitcast <16 x bfloat> %sum_m3_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m3_n0.finished.stored, ptr %sum_m3_n0.out.at, align 2
  %sum_m3_n1.out.at = getelementptr i8, ptr %out, i64 224
  %sum_m3_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m3_n1.bias.bits = load <16 x i16>, ptr %sum_m3_n1.bias.at, align 2
  %sum_m3_n1.bias.wide = zext <16 x i16> %sum_m3_n1.bias.bits to <16 x i32>
  %sum_m3_n1.bias.high = shl <16 x i32> %sum_m3_n1.bias.wide, splat (i32 16)
  %sum_m3_n1.bias = bitcast <16 x i32> %sum_m3_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m3_n1.finished_add = fadd <16 x float> %sum_m3_n1, %sum_m3_n1.bias
  %sum_m3_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m3_n1.finished_add)
  %sum_m3_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m3_n1.finished to <16 x bfloat>
  %sum_m3_n1.finished.stored = bitcast <16 x bfloat> %sum_m3_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m3_n1.finished.stored, ptr %sum_m3_n1.out.at, align 2
  ret void
}

define internal void @tile_4x32_packing(ptr noalias %a, ptr noalias %b, ptr noalias %pack, ptr noalias %out, ptr noalias %bias) #1 {
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
  %k.more = icmp ult i64 %k, 32
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 128
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %k.pack.offset = mul nuw i64 %k, 128
  %k.pack = getelementptr i8, ptr %pack, i64 %k.pack.offset
  %k.ahead.0 = getelementptr i8, ptr %k.b, i64 1024
  call void @llvm.prefetch.p0(ptr %k.ahead.0, i32 0, i32 3, i32 1)
  %k.ahead.1 = getelementptr i8, ptr %k.b, i64 1088
  call void @llvm.prefetch.p0(ptr %k.ahead.1, i32 0, i32 3, i32 1)
  %b_n0.stored.k0 = load <16 x i16>, ptr %k.b, align 2
  %b_n0.stored.k1.from = getelementptr i8, ptr %k.b, i64 64
  %b_n0.stored.k1 = load <16 x i16>, ptr %b_n0.stored.k1.from, align 2
  %b_n0.stored = shufflevector <16 x i16> %b_n0.stored.k0, <16 x i16> %b_n0.stored.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %b_n0.stored, ptr %k.pack, align 64
  %b_n1.at = getelementptr i8, ptr %k.b, i64 32
  %b_n1.to = getelementptr i8, ptr %k.pack, i64 64
  %b_n1.stored.k0 = load <16 x i16>, ptr %b_n1.at, align 2
  %b_n1.stored.k1.from = getelementptr i8, ptr %b_n1.at, i64 64
  %b_n1.stored.k1 = load <16 x i16>, ptr %b_n1.stored.k1.from, align 2
  %b_n1.stored = shufflevector <16 x i16> %b_n1.stored.k0, <16 x i16> %b_n1.stored.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %b_n1.stored, ptr %b_n1.to, align 64
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
  %a_m1.at = getelementptr i8, ptr %k.a, i64 128
  %a_m1.group = load i32, ptr %a_m1.at, align 2
  %a_m1.bits.first = insertelement <16 x i32> poison, i32 %a_m1.group, i32 0
  %a_m1.bits = shufflevector <16 x i32> %a_m1.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m1 = bitcast <16 x i32> %a_m1.bits to <32 x bfloat>
  %sum_m1_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m1_n0, <32 x bfloat> %a_m1, <32 x bfloat> %b_n0)
  %sum_m1_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m1_n1, <32 x bfloat> %a_m1, <32 x bfloat> %b_n1)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 256
  %a_m2.group = load i32, ptr %a_m2.at, align 2
  %a_m2.bits.first = insertelement <16 x i32> poison, i32 %a_m2.group, i32 0
  %a_m2.bits = shufflevector <16 x i32> %a_m2.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m2 = bitcast <16 x i32> %a_m2.bits to <32 x bfloat>
  %sum_m2_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m2_n0, <32 x bfloat> %a_m2, <32 x bfloat> %b_n0)
  %sum_m2_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m2_n1, <32 x bfloat> %a_m2, <32 x bfloat> %b_n1)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 384
  %a_m3.group = load i32, ptr %a_m3.at, align 2
  %a_m3.bits.first = insertelement <16 x i32> poison, i32 %a_m3.group, i32 0
  %a_m3.bits = shufflevector <16 x i32> %a_m3.bits.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %a_m3 = bitcast <16 x i32> %a_m3.bits to <32 x bfloat>
  %sum_m3_n0.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m3_n0, <32 x bfloat> %a_m3, <32 x bfloat> %b_n0)
  %sum_m3_n1.next = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum_m3_n1, <32 x bfloat> %a_m3, <32 x bfloat> %b_n1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m0_n0.bias.wide = zext <16 x i16> %sum_m0_n0.bias.bits to <16 x i32>
  %sum_m0_n0.bias.high = shl <16 x i32> %sum_m0_n0.bias.wide, splat (i32 16)
  %sum_m0_n0.bias = bitcast <16 x i32> %sum_m0_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <16 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m0_n0.finished_add)
  %sum_m0_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m0_n0.finished to <16 x bfloat>
  %sum_m0_n0.finished.stored = bitcast <16 x bfloat> %sum_m0_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m0_n0.finished.stored, ptr %out, align 2
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m0_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m0_n1.bias.bits = load <16 x i16>, ptr %sum_m0_n1.bias.at, align 2
  %sum_m0_n1.bias.wide = zext <16 x i16> %sum_m0_n1.bias.bits to <16 x i32>
  %sum_m0_n1.bias.high = shl <16 x i32> %sum_m0_n1.bias.wide, splat (i32 16)
  %sum_m0_n1.bias = bitcast <16 x i32> %sum_m0_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m0_n1.finished_add = fadd <16 x float> %sum_m0_n1, %sum_m0_n1.bias
  %sum_m0_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m0_n1.finished_add)
  %sum_m0_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m0_n1.finished to <16 x bfloat>
  %sum_m0_n1.finished.stored = bitcast <16 x bfloat> %sum_m0_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m0_n1.finished.stored, ptr %sum_m0_n1.out.at, align 2
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 64
  %sum_m1_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m1_n0.bias.wide = zext <16 x i16> %sum_m1_n0.bias.bits to <16 x i32>
  %sum_m1_n0.bias.high = shl <16 x i32> %sum_m1_n0.bias.wide, splat (i32 16)
  %sum_m1_n0.bias = bitcast <16 x i32> %sum_m1_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m1_n0.finished_add = fadd <16 x float> %sum_m1_n0, %sum_m1_n0.bias
  %sum_m1_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m1_n0.finished_add)
  %sum_m1_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m1_n0.finished to <16 x bfloat>
  %sum_m1_n0.finished.stored = bitcast <16 x bfloat> %sum_m1_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m1_n0.finished.stored, ptr %sum_m1_n0.out.at, align 2
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 96
  %sum_m1_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m1_n1.bias.bits = load <16 x i16>, ptr %sum_m1_n1.bias.at, align 2
  %sum_m1_n1.bias.wide = zext <16 x i16> %sum_m1_n1.bias.bits to <16 x i32>
  %sum_m1_n1.bias.high = shl <16 x i32> %sum_m1_n1.bias.wide, splat (i32 16)
  %sum_m1_n1.bias = bitcast <16 x i32> %sum_m1_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m1_n1.finished_add = fadd <16 x float> %sum_m1_n1, %sum_m1_n1.bias
  %sum_m1_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m1_n1.finished_add)
  %sum_m1_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m1_n1.finished to <16 x bfloat>
  %sum_m1_n1.finished.stored = bitcast <16 x bfloat> %sum_m1_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m1_n1.finished.stored, ptr %sum_m1_n1.out.at, align 2
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 128
  %sum_m2_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m2_n0.bias.wide = zext <16 x i16> %sum_m2_n0.bias.bits to <16 x i32>
  %sum_m2_n0.bias.high = shl <16 x i32> %sum_m2_n0.bias.wide, splat (i32 16)
  %sum_m2_n0.bias = bitcast <16 x i32> %sum_m2_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m2_n0.finished_add = fadd <16 x float> %sum_m2_n0, %sum_m2_n0.bias
  %sum_m2_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m2_n0.finished_add)
  %sum_m2_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m2_n0.finished to <16 x bfloat>
  %sum_m2_n0.finished.stored = bitcast <16 x bfloat> %sum_m2_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m2_n0.finished.stored, ptr %sum_m2_n0.out.at, align 2
  %sum_m2_n1.out.at = getelementptr i8, ptr %out, i64 160
  %sum_m2_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m2_n1.bias.bits = load <16 x i16>, ptr %sum_m2_n1.bias.at, align 2
  %sum_m2_n1.bias.wide = zext <16 x i16> %sum_m2_n1.bias.bits to <16 x i32>
  %sum_m2_n1.bias.high = shl <16 x i32> %sum_m2_n1.bias.wide, splat (i32 16)
  %sum_m2_n1.bias = bitcast <16 x i32> %sum_m2_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m2_n1.finished_add = fadd <16 x float> %sum_m2_n1, %sum_m2_n1.bias
  %sum_m2_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m2_n1.finished_add)
  %sum_m2_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m2_n1.finished to <16 x bfloat>
  %sum_m2_n1.finished.stored = bitcast <16 x bfloat> %sum_m2_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m2_n1.finished.stored, ptr %sum_m2_n1.out.at, align 2
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 192
  %sum_m3_n0.bias.bits = load <16 x i16>, ptr %bias, align 2
  %sum_m3_n0.bias.wide = zext <16 x i16> %sum_m3_n0.bias.bits to <16 x i32>
  %sum_m3_n0.bias.high = shl <16 x i32> %sum_m3_n0.bias.wide, splat (i32 16)
  %sum_m3_n0.bias = bitcast <16 x i32> %sum_m3_n0.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m3_n0.finished_add = fadd <16 x float> %sum_m3_n0, %sum_m3_n0.bias
  %sum_m3_n0.finished = call <16 x float> @gelu(<16 x float> %sum_m3_n0.finished_add)
  %sum_m3_n0.finished.stored.bfloat = fptrunc <16 x float> %sum_m3_n0.finished to <16 x bfloat>
  %sum_m3_n0.finished.stored = bitcast <16 x bfloat> %sum_m3_n0.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m3_n0.finished.stored, ptr %sum_m3_n0.out.at, align 2
  %sum_m3_n1.out.at = getelementptr i8, ptr %out, i64 224
  %sum_m3_n1.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m3_n1.bias.bits = load <16 x i16>, ptr %sum_m3_n1.bias.at, align 2
  %sum_m3_n1.bias.wide = zext <16 x i16> %sum_m3_n1.bias.bits to <16 x i32>
  %sum_m3_n1.bias.high = shl <16 x i32> %sum_m3_n1.bias.wide, splat (i32 16)
  %sum_m3_n1.bias = bitcast <16 x i32> %sum_m3_n1.bias.high to <16 x float>
  ; gelu(A @ B + bias)
  %sum_m3_n1.finished_add = fadd <16 x float> %sum_m3_n1, %sum_m3_n1.bias
  %sum_m3_n1.finished = call <16 x float> @gelu(<16 x float> %sum_m3_n1.finished_add)
  %sum_m3_n1.finished.stored.bfloat = fptrunc <16 x float> %sum_m3_n1.finished to <16 x bfloat>
  %sum_m3_n1.finished.stored = bitcast <16 x bfloat> %sum_m3_n1.finished.stored.bfloat to <16 x i16>
  store <16 x i16> %sum_m3_n1.finished.stored, ptr %sum_m3_n1.out.at, align 2
  ret void
}

define void @matmul_16x32x64_bf16_nn_bias_gelu(ptr %a, ptr %b, ptr %bias, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %b.pack = alloca [4096 x i8], align 64
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
  %j.more = icmp ult i64 %j, 32
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 2
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset
  ; ---- prologue: pack the panel
  %p.f.column = mul nuw i64 %j, 2
  %p.f.bias.offset = mul nuw i64 %j, 2
  %p.f.out = getelementptr i8, ptr %out, i64 %p.f.column
  %p.f.bias = getelementptr i8, ptr %bias, i64 %p.f.bias.offset
  call void @tile_4x32_packing(ptr %a, ptr %p.b, ptr %b.pack, ptr %p.f.out, ptr %p.f.bias)

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 4, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 16
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 128
  %p.w.a = getelementptr i8, ptr %a, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 64
  %p.w.column = mul nuw i64 %j, 2
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.bias.offset = mul nuw i64 %j, 2
  %p.w.out = getelementptr i8, ptr %out, i64 %p.w.corner
  %p.w.bias = getelementptr i8, ptr %bias, i64 %p.w.bias.offset
  call void @tile_4x32(ptr %p.w.a, ptr %b.pack, ptr %p.w.out, ptr %p.w.bias)
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

; x/2 (1 + erf(x / sqrt 2))
define internal <16 x float> @gelu(<16 x float> %x) #2 {
  %size = call <16 x float> @llvm.fabs.v16f32(<16 x float> %x)
  %far = fcmp ogt <16 x float> %size, splat (float 0x402B333340000000)
  %z = select <16 x i1> %far, <16 x float> splat (float 0x402B333340000000), <16 x float> %size
  %tail.log2.shifted = fadd <16 x float> %z, splat (float 0x4168000000000000)
  %tail.log2.i = bitcast <16 x float> %tail.log2.shifted to <16 x i32>
  %tail.log2.c0 = call <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float> <float 0xBFDFB53D00000000, float 0xBFE2708F00000000, float 0xBFE46BE040000000, float 0xBFE5716580000000, float 0xBFE60001A0000000, float 0xBFE65347E0000000, float 0xBFE68714E0000000, float 0xBFE6A91840000000, float 0xBFE6C07560000000, float 0xBFE6D11F60000000, float 0xBFE6DD6300000000, float 0xBFE6E6A7E0000000, float 0xBFE6EDD220000000, float 0xBFE6F377C0000000, float 0xBFE6F619A0000000, float 0x0000000000000000>, <16 x i32> %tail.log2.i)
  %tail.log2.c1 = call <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float> <float 0xBFF25001E0000000, float 0xBFF0D99320000000, float 0xBFEBF683C0000000, float 0xBFE6F4C980000000, float 0xBFE31B2680000000, float 0xBFE0343380000000, float 0xBFDBFBF3E0000000, float 0xBFD88BCFE0000000, float 0xBFD5D17940000000, float 0xBFD39C92E0000000, float 0xBFD1CBA560000000, float 0xBFD0472040000000, float 0xBFCDFC2EC0000000, float 0xBFCBC84D20000000, float 0xBFCAAFA980000000, float 0x0000000000000000>, <16 x i32> %tail.log2.i)
  %tail.log2.c2 = call <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float> <float 0xBFF000BAC0000000, float 0xBFF06D8FC0000000, float 0xBFF285C700000000, float 0xBFF5998140000000, float 0xBFF8EE6A00000000, float 0xBFFC2BC960000000, float 0xBFFF31F680000000, float 0xC000FD03A0000000, float 0xC0024345A0000000, float 0xC0036E93A0000000, float 0xC004820740000000, float 0xC005808900000000, float 0xC0066CAB40000000, float 0xC00748A640000000, float 0xC007BD8220000000, float 0x0000000000000000>, <16 x i32> %tail.log2.i)
  %tail.log2.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> %tail.log2.c0, <16 x float> %z, <16 x float> %tail.log2.c1)
  %tail.log2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %tail.log2.h1, <16 x float> %z, <16 x float> %tail.log2.c2)
  %tail.n = call <16 x float> @llvm.roundeven.v16f32(<16 x float> %tail.log2)
  %tail.r = fsub <16 x float> %tail.log2, %tail.n
  %tail.power.h1 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3FAC3F75E0000000), <16 x float> %tail.r, <16 x float> splat (float 0x3FCF0DE1A0000000))
  %tail.power.h2 = call <16 x float> @llvm.fma.v16f32(<16 x float> %tail.power.h1, <16 x float> %tail.r, <16 x float> splat (float 0x3FE62F31A0000000))
  %tail.power = call <16 x float> @llvm.fma.v16f32(<16 x float> %tail.power.h2, <16 x float> %tail.r, <16 x float> splat (float 0x3FEFFF6920000000))
  %tail = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %tail.power, <16 x float> %tail.n, <16 x float> zeroinitializer, i16 -1, i32 4)
  %negative = fcmp olt <16 x float> %x, zeroinitializer
  %positive.part = select <16 x i1> %negative, <16 x float> zeroinitializer, <16 x float> %x
  %minus.z = fneg <16 x float> %z
  %y = call <16 x float> @llvm.fma.v16f32(<16 x float> %minus.z, <16 x float> %tail, <16 x float> %positive.part)
  ret <16 x float> %y
}

attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
declare <16 x float> @llvm.roundeven.v16f32(<16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32 immarg)
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare <16 x float> @llvm.x86.avx512.permvar.sf.512(<16 x float>, <16 x i32>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Unroll by two: the branch predictor predicts the exit of a short loop only, and with more steps LLVM
; moves loads up until it runs out of registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
