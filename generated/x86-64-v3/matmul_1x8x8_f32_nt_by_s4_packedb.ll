; matmul_1x8x8_f32_nt_by_s4_packedb
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=limbs,mr=1,nr=8,mc=1,kc=32,nc=8,pack_a=1,pack_b=0,ahead=0 (user)
; launch:    1 task of up to 1 x 8 outputs; 1 x 1 blocks
; method:    byte products by vpmaddubsw: A is in block floating point, each block of 32 of K with one exponent
;              and 3 signed bytes per element; a task computes an mc x nc block of out, panels of nr columns of B
;              times mr rows of A
; memory:    stack, 200 B
;            %acc: float [mc][nc], 32 B per row, 32 B
;            %limbs: s8 [mc][K / 32][3][32], 160 B per row, zero past K, 160 B
;            %blocks: [mc][K / 32] of f32 scale and s32[1] initial sums of its limbs, 8 B per row, 8 B
; arguments: a: input f32[1, 8], strides [8, 1]
;            b: input u8[1, 1, 8, 18], strides [144, 144, 18, 1], prepacked: [n / 8][k / 18][runs of 2, 4, 4, 4,
;              4][n % 8], zero past K and N
;            out: output f32[1, 8], strides [8, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal i1 @limbs_of_row(ptr noalias %a, ptr noalias %limbs, ptr noalias %blocks) #1 {
enter:
  %e.p0 = load <8 x float>, ptr %a, align 4
  %e.p0.bits = bitcast <8 x float> %e.p0 to <8 x i32>
  %e.p0.size = and <8 x i32> %e.p0.bits, splat (i32 2147483647)
  %e.p0.most = call <8 x i32> @llvm.umax.v8i32(<8 x i32> %e.p0.size, <8 x i32> zeroinitializer)
  %e.most = call i32 @llvm.vector.reduce.umax.v8i32(<8 x i32> %e.p0.most)
  ; every byte of an integer is at most 127; the unit is 2^-22 of the block's power of two, whose biased exponent is at least 64
  %e.exponent.bits = add i32 %e.most, 66048
  %e.exponent = lshr i32 %e.exponent.bits, 23
  %e.exponent.kept = call i32 @llvm.umax.i32(i32 %e.exponent, i32 64)
  %e.unit.exponent = sub i32 %e.exponent.kept, 22
  %e.unit = shl i32 %e.unit.exponent, 23
  store i32 %e.unit, ptr %blocks, align 4
  %e.per.exponent = sub i32 276, %e.exponent.kept
  %e.per.bits = shl i32 %e.per.exponent, 23
  %e.per.one = bitcast i32 %e.per.bits to float
  %e.per.first = insertelement <8 x float> poison, float %e.per.one, i32 0
  %e.per = shufflevector <8 x float> %e.per.first, <8 x float> poison, <8 x i32> zeroinitializer
  %e.l1 = getelementptr i8, ptr %limbs, i64 32
  %e.l2 = getelementptr i8, ptr %limbs, i64 64
  %e.p0.units = fmul <8 x float> %e.p0, %e.per
  %e.p0.rounded = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %e.p0.units)
  %e.p0.integers = fptosi <8 x float> %e.p0.rounded to <8 x i32>
  %e.p0.more = add <8 x i32> %e.p0.integers, splat (i32 8421504)
  %e.p0.signed = xor <8 x i32> %e.p0.more, splat (i32 8421504)
  %e.p0.l0 = trunc <8 x i32> %e.p0.signed to <8 x i8>
  store <8 x i8> %e.p0.l0, ptr %limbs, align 1
  %e.p0.l1.low = lshr <8 x i32> %e.p0.signed, splat (i32 8)
  %e.p0.l1 = trunc <8 x i32> %e.p0.l1.low to <8 x i8>
  store <8 x i8> %e.p0.l1, ptr %e.l1, align 1
  %e.p0.l2.low = lshr <8 x i32> %e.p0.signed, splat (i32 16)
  %e.p0.l2 = trunc <8 x i32> %e.p0.l2.low to <8 x i8>
  store <8 x i8> %e.p0.l2, ptr %e.l2, align 1
  %e.p8.l0.to = getelementptr i8, ptr %limbs, i64 8
  %e.p8.l1.to = getelementptr i8, ptr %e.l1, i64 8
  %e.p8.l2.to = getelementptr i8, ptr %e.l2, i64 8
  store <8 x i8> zeroinitializer, ptr %e.p8.l0.to, align 1
  store <8 x i8> zeroinitializer, ptr %e.p8.l1.to, align 1
  store <8 x i8> zeroinitializer, ptr %e.p8.l2.to, align 1
  %e.p16.l0.to = getelementptr i8, ptr %limbs, i64 16
  %e.p16.l1.to = getelementptr i8, ptr %e.l1, i64 16
  %e.p16.l2.to = getelementptr i8, ptr %e.l2, i64 16
  store <8 x i8> zeroinitializer, ptr %e.p16.l0.to, align 1
  store <8 x i8> zeroinitializer, ptr %e.p16.l1.to, align 1
  store <8 x i8> zeroinitializer, ptr %e.p16.l2.to, align 1
  %e.p24.l0.to = getelementptr i8, ptr %limbs, i64 24
  %e.p24.l1.to = getelementptr i8, ptr %e.l1, i64 24
  %e.p24.l2.to = getelementptr i8, ptr %e.l2, i64 24
  store <8 x i8> zeroinitializer, ptr %e.p24.l0.to, align 1
  store <8 x i8> zeroinitializer, ptr %e.p24.l1.to, align 1
  store <8 x i8> zeroinitializer, ptr %e.p24.l2.to, align 1
  %e.start_l0.p0 = add <8 x i32> zeroinitializer, %e.p0.integers
  %e.start_l0.sum = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %e.start_l0.p0)
  %e.start_l0 = mul i32 %e.start_l0.sum, -8
  %e.start_l0.at = getelementptr i8, ptr %blocks, i64 4
  store i32 %e.start_l0, ptr %e.start_l0.at, align 4
  %all.most = call i32 @llvm.umax.i32(i32 0, i32 %e.most)
  %exponent.bits = add i32 %all.most, 66048
  %exponent = lshr i32 %exponent.bits, 23
  %above = sub i32 %exponent, 96
  %inside = icmp ult i32 %above, 159
  %none = icmp eq i32 %all.most, 0
  %fits = or i1 %inside, %none
  ret i1 %fits
}

define internal void @tile_1x8(ptr noalias %limbs, ptr noalias %blocks, ptr noalias %b, ptr noalias %acc) #1 {
enter:
  br label %block.enter
block.enter:
  br label %block.head
block.head:
  %block = phi i64 [ 0, %block.enter ], [ %block.after, %block.latch ]
  %sum_m0_n0 = phi <8 x float> [ zeroinitializer, %block.enter ], [ %sum_m0_n0.next, %block.latch ]
  %block.more = icmp ult i64 %block, 1
  br i1 %block.more, label %block.body, label %block.done
block.body:
  %block.limbs.offset = mul nuw i64 %block, 96
  %block.b.offset = mul nuw i64 %block, 144
  %block.b = getelementptr i8, ptr %b, i64 %block.b.offset
  %block.data.offset = mul nuw i64 %block, 8
  %block.data = getelementptr i8, ptr %blocks, i64 %block.data.offset
  %block.limbs = getelementptr i8, ptr %limbs, i64 %block.limbs.offset
  %n0.scale.bits = load <8 x i16>, ptr %block.b, align 2
  %n0.scale.half = bitcast <8 x i16> %n0.scale.bits to <8 x half>
  %n0.scale = fpext <8 x half> %n0.scale.half to <8 x float>
  %n0.numbers = getelementptr i8, ptr %block.b, i64 16
  %m0.unit.one = load float, ptr %block.data, align 4
  %m0.unit.first = insertelement <8 x float> poison, float %m0.unit.one, i32 0
  %m0.unit = shufflevector <8 x float> %m0.unit.first, <8 x float> poison, <8 x i32> zeroinitializer
  %m0.l0.start.at = getelementptr i8, ptr %block.data, i64 4
  %m0.l0.start.one = load i32, ptr %m0.l0.start.at, align 4
  %m0.l0.start.first = insertelement <8 x i32> poison, i32 %m0.l0.start.one, i32 0
  %m0.l0.start = shufflevector <8 x i32> %m0.l0.start.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1 = getelementptr i8, ptr %block.limbs, i64 32
  %m0.l2 = getelementptr i8, ptr %block.limbs, i64 64
  br label %at.enter
at.enter:
  br label %at.head
at.head:
  %at = phi i64 [ 0, %at.enter ], [ %at.after, %at.latch ]
  %sum_m0_n0.l0 = phi <16 x i16> [ zeroinitializer, %at.enter ], [ %sum_m0_n0.l0.next, %at.latch ]
  %sum_m0_n0.l1 = phi <16 x i16> [ zeroinitializer, %at.enter ], [ %sum_m0_n0.l1.next, %at.latch ]
  %sum_m0_n0.l2 = phi <16 x i16> [ zeroinitializer, %at.enter ], [ %sum_m0_n0.l2.next, %at.latch ]
  %at.more = icmp ult i64 %at, 128
  br i1 %at.more, label %at.body, label %at.done
at.body:
  %at.k = lshr i64 %at, 3
  %n0.turn = getelementptr i8, ptr %n0.numbers, i64 %at
  %m0.l0.turn = getelementptr i8, ptr %block.limbs, i64 %at.k
  %m0.l1.turn = getelementptr i8, ptr %m0.l1, i64 %at.k
  %m0.l2.turn = getelementptr i8, ptr %m0.l2, i64 %at.k
  %n0.b0 = load <32 x i8>, ptr %n0.turn, align 1
  %n0.f0 = and <32 x i8> %n0.b0, splat (i8 15)
  %m0.l0.f0.group = load i32, ptr %m0.l0.turn, align 4
  %m0.l0.f0.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f0.group, i32 0
  %m0.l0.f0.all = shufflevector <8 x i32> %m0.l0.f0.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f0 = bitcast <8 x i32> %m0.l0.f0.all to <32 x i8>
  %sum_m0_n0.l0.f0.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f0, <32 x i8> %m0.l0.f0)
  %sum_m0_n0.l0.f0 = add <16 x i16> %sum_m0_n0.l0, %sum_m0_n0.l0.f0.pairs
  %m0.l1.f0.group = load i32, ptr %m0.l1.turn, align 4
  %m0.l1.f0.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f0.group, i32 0
  %m0.l1.f0.all = shufflevector <8 x i32> %m0.l1.f0.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f0 = bitcast <8 x i32> %m0.l1.f0.all to <32 x i8>
  %sum_m0_n0.l1.f0.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f0, <32 x i8> %m0.l1.f0)
  %sum_m0_n0.l1.f0 = add <16 x i16> %sum_m0_n0.l1, %sum_m0_n0.l1.f0.pairs
  %m0.l2.f0.group = load i32, ptr %m0.l2.turn, align 4
  %m0.l2.f0.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f0.group, i32 0
  %m0.l2.f0.all = shufflevector <8 x i32> %m0.l2.f0.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f0 = bitcast <8 x i32> %m0.l2.f0.all to <32 x i8>
  %sum_m0_n0.l2.f0.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f0, <32 x i8> %m0.l2.f0)
  %sum_m0_n0.l2.f0 = add <16 x i16> %sum_m0_n0.l2, %sum_m0_n0.l2.f0.pairs
  %n0.f1.words = bitcast <32 x i8> %n0.b0 to <16 x i16>
  %n0.f1.moved = lshr <16 x i16> %n0.f1.words, splat (i16 4)
  %n0.f1.bytes = bitcast <16 x i16> %n0.f1.moved to <32 x i8>
  %n0.f1 = and <32 x i8> %n0.f1.bytes, splat (i8 15)
  %m0.l0.f1.at = getelementptr i8, ptr %m0.l0.turn, i64 16
  %m0.l0.f1.group = load i32, ptr %m0.l0.f1.at, align 4
  %m0.l0.f1.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f1.group, i32 0
  %m0.l0.f1.all = shufflevector <8 x i32> %m0.l0.f1.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f1 = bitcast <8 x i32> %m0.l0.f1.all to <32 x i8>
  %sum_m0_n0.l0.f1.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f1, <32 x i8> %m0.l0.f1)
  %sum_m0_n0.l0.f1 = add <16 x i16> %sum_m0_n0.l0.f0, %sum_m0_n0.l0.f1.pairs
  %m0.l1.f1.at = getelementptr i8, ptr %m0.l1.turn, i64 16
  %m0.l1.f1.group = load i32, ptr %m0.l1.f1.at, align 4
  %m0.l1.f1.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f1.group, i32 0
  %m0.l1.f1.all = shufflevector <8 x i32> %m0.l1.f1.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f1 = bitcast <8 x i32> %m0.l1.f1.all to <32 x i8>
  %sum_m0_n0.l1.f1.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f1, <32 x i8> %m0.l1.f1)
  %sum_m0_n0.l1.f1 = add <16 x i16> %sum_m0_n0.l1.f0, %sum_m0_n0.l1.f1.pairs
  %m0.l2.f1.at = getelementptr i8, ptr %m0.l2.turn, i64 16
  %m0.l2.f1.group = load i32, ptr %m0.l2.f1.at, align 4
  %m0.l2.f1.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f1.group, i32 0
  %m0.l2.f1.all = shufflevector <8 x i32> %m0.l2.f1.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f1 = bitcast <8 x i32> %m0.l2.f1.all to <32 x i8>
  %sum_m0_n0.l2.f1.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f1, <32 x i8> %m0.l2.f1)
  %sum_m0_n0.l2.f1 = add <16 x i16> %sum_m0_n0.l2.f0, %sum_m0_n0.l2.f1.pairs
  %n0.b1.at = getelementptr i8, ptr %n0.turn, i64 32
  %n0.b1 = load <32 x i8>, ptr %n0.b1.at, align 1
  %n0.f2 = and <32 x i8> %n0.b1, splat (i8 15)
  %m0.l0.f2.at = getelementptr i8, ptr %m0.l0.turn, i64 4
  %m0.l0.f2.group = load i32, ptr %m0.l0.f2.at, align 4
  %m0.l0.f2.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f2.group, i32 0
  %m0.l0.f2.all = shufflevector <8 x i32> %m0.l0.f2.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f2 = bitcast <8 x i32> %m0.l0.f2.all to <32 x i8>
  %sum_m0_n0.l0.f2.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f2, <32 x i8> %m0.l0.f2)
  %sum_m0_n0.l0.f2 = add <16 x i16> %sum_m0_n0.l0.f1, %sum_m0_n0.l0.f2.pairs
  %m0.l1.f2.at = getelementptr i8, ptr %m0.l1.turn, i64 4
  %m0.l1.f2.group = load i32, ptr %m0.l1.f2.at, align 4
  %m0.l1.f2.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f2.group, i32 0
  %m0.l1.f2.all = shufflevector <8 x i32> %m0.l1.f2.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f2 = bitcast <8 x i32> %m0.l1.f2.all to <32 x i8>
  %sum_m0_n0.l1.f2.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f2, <32 x i8> %m0.l1.f2)
  %sum_m0_n0.l1.f2 = add <16 x i16> %sum_m0_n0.l1.f1, %sum_m0_n0.l1.f2.pairs
  %m0.l2.f2.at = getelementptr i8, ptr %m0.l2.turn, i64 4
  %m0.l2.f2.group = load i32, ptr %m0.l2.f2.at, align 4
  %m0.l2.f2.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f2.group, i32 0
  %m0.l2.f2.all = shufflevector <8 x i32> %m0.l2.f2.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f2 = bitcast <8 x i32> %m0.l2.f2.all to <32 x i8>
  %sum_m0_n0.l2.f2.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f2, <32 x i8> %m0.l2.f2)
  %sum_m0_n0.l2.f2 = add <16 x i16> %sum_m0_n0.l2.f1, %sum_m0_n0.l2.f2.pairs
  %n0.f3.words = bitcast <32 x i8> %n0.b1 to <16 x i16>
  %n0.f3.moved = lshr <16 x i16> %n0.f3.words, splat (i16 4)
  %n0.f3.bytes = bitcast <16 x i16> %n0.f3.moved to <32 x i8>
  %n0.f3 = and <32 x i8> %n0.f3.bytes, splat (i8 15)
  %m0.l0.f3.at = getelementptr i8, ptr %m0.l0.turn, i64 20
  %m0.l0.f3.group = load i32, ptr %m0.l0.f3.at, align 4
  %m0.l0.f3.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f3.group, i32 0
  %m0.l0.f3.all = shufflevector <8 x i32> %m0.l0.f3.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f3 = bitcast <8 x i32> %m0.l0.f3.all to <32 x i8>
  %sum_m0_n0.l0.f3.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f3, <32 x i8> %m0.l0.f3)
  %sum_m0_n0.l0.f3 = add <16 x i16> %sum_m0_n0.l0.f2, %sum_m0_n0.l0.f3.pairs
  %m0.l1.f3.at = getelementptr i8, ptr %m0.l1.turn, i64 20
  %m0.l1.f3.group = load i32, ptr %m0.l1.f3.at, align 4
  %m0.l1.f3.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f3.group, i32 0
  %m0.l1.f3.all = shufflevector <8 x i32> %m0.l1.f3.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f3 = bitcast <8 x i32> %m0.l1.f3.all to <32 x i8>
  %sum_m0_n0.l1.f3.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f3, <32 x i8> %m0.l1.f3)
  %sum_m0_n0.l1.f3 = add <16 x i16> %sum_m0_n0.l1.f2, %sum_m0_n0.l1.f3.pairs
  %m0.l2.f3.at = getelementptr i8, ptr %m0.l2.turn, i64 20
  %m0.l2.f3.group = load i32, ptr %m0.l2.f3.at, align 4
  %m0.l2.f3.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f3.group, i32 0
  %m0.l2.f3.all = shufflevector <8 x i32> %m0.l2.f3.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f3 = bitcast <8 x i32> %m0.l2.f3.all to <32 x i8>
  %sum_m0_n0.l2.f3.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f3, <32 x i8> %m0.l2.f3)
  %sum_m0_n0.l2.f3 = add <16 x i16> %sum_m0_n0.l2.f2, %sum_m0_n0.l2.f3.pairs
  %n0.b2.at = getelementptr i8, ptr %n0.turn, i64 64
  %n0.b2 = load <32 x i8>, ptr %n0.b2.at, align 1
  %n0.f4 = and <32 x i8> %n0.b2, splat (i8 15)
  %m0.l0.f4.at = getelementptr i8, ptr %m0.l0.turn, i64 8
  %m0.l0.f4.group = load i32, ptr %m0.l0.f4.at, align 4
  %m0.l0.f4.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f4.group, i32 0
  %m0.l0.f4.all = shufflevector <8 x i32> %m0.l0.f4.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f4 = bitcast <8 x i32> %m0.l0.f4.all to <32 x i8>
  %sum_m0_n0.l0.f4.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f4, <32 x i8> %m0.l0.f4)
  %sum_m0_n0.l0.f4 = add <16 x i16> %sum_m0_n0.l0.f3, %sum_m0_n0.l0.f4.pairs
  %m0.l1.f4.at = getelementptr i8, ptr %m0.l1.turn, i64 8
  %m0.l1.f4.group = load i32, ptr %m0.l1.f4.at, align 4
  %m0.l1.f4.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f4.group, i32 0
  %m0.l1.f4.all = shufflevector <8 x i32> %m0.l1.f4.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f4 = bitcast <8 x i32> %m0.l1.f4.all to <32 x i8>
  %sum_m0_n0.l1.f4.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f4, <32 x i8> %m0.l1.f4)
  %sum_m0_n0.l1.f4 = add <16 x i16> %sum_m0_n0.l1.f3, %sum_m0_n0.l1.f4.pairs
  %m0.l2.f4.at = getelementptr i8, ptr %m0.l2.turn, i64 8
  %m0.l2.f4.group = load i32, ptr %m0.l2.f4.at, align 4
  %m0.l2.f4.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f4.group, i32 0
  %m0.l2.f4.all = shufflevector <8 x i32> %m0.l2.f4.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f4 = bitcast <8 x i32> %m0.l2.f4.all to <32 x i8>
  %sum_m0_n0.l2.f4.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f4, <32 x i8> %m0.l2.f4)
  %sum_m0_n0.l2.f4 = add <16 x i16> %sum_m0_n0.l2.f3, %sum_m0_n0.l2.f4.pairs
  %n0.f5.words = bitcast <32 x i8> %n0.b2 to <16 x i16>
  %n0.f5.moved = lshr <16 x i16> %n0.f5.words, splat (i16 4)
  %n0.f5.bytes = bitcast <16 x i16> %n0.f5.moved to <32 x i8>
  %n0.f5 = and <32 x i8> %n0.f5.bytes, splat (i8 15)
  %m0.l0.f5.at = getelementptr i8, ptr %m0.l0.turn, i64 24
  %m0.l0.f5.group = load i32, ptr %m0.l0.f5.at, align 4
  %m0.l0.f5.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f5.group, i32 0
  %m0.l0.f5.all = shufflevector <8 x i32> %m0.l0.f5.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f5 = bitcast <8 x i32> %m0.l0.f5.all to <32 x i8>
  %sum_m0_n0.l0.f5.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f5, <32 x i8> %m0.l0.f5)
  %sum_m0_n0.l0.f5 = add <16 x i16> %sum_m0_n0.l0.f4, %sum_m0_n0.l0.f5.pairs
  %m0.l1.f5.at = getelementptr i8, ptr %m0.l1.turn, i64 24
  %m0.l1.f5.group = load i32, ptr %m0.l1.f5.at, align 4
  %m0.l1.f5.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f5.group, i32 0
  %m0.l1.f5.all = shufflevector <8 x i32> %m0.l1.f5.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f5 = bitcast <8 x i32> %m0.l1.f5.all to <32 x i8>
  %sum_m0_n0.l1.f5.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f5, <32 x i8> %m0.l1.f5)
  %sum_m0_n0.l1.f5 = add <16 x i16> %sum_m0_n0.l1.f4, %sum_m0_n0.l1.f5.pairs
  %m0.l2.f5.at = getelementptr i8, ptr %m0.l2.turn, i64 24
  %m0.l2.f5.group = load i32, ptr %m0.l2.f5.at, align 4
  %m0.l2.f5.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f5.group, i32 0
  %m0.l2.f5.all = shufflevector <8 x i32> %m0.l2.f5.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f5 = bitcast <8 x i32> %m0.l2.f5.all to <32 x i8>
  %sum_m0_n0.l2.f5.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f5, <32 x i8> %m0.l2.f5)
  %sum_m0_n0.l2.f5 = add <16 x i16> %sum_m0_n0.l2.f4, %sum_m0_n0.l2.f5.pairs
  %n0.b3.at = getelementptr i8, ptr %n0.turn, i64 96
  %n0.b3 = load <32 x i8>, ptr %n0.b3.at, align 1
  %n0.f6 = and <32 x i8> %n0.b3, splat (i8 15)
  %m0.l0.f6.at = getelementptr i8, ptr %m0.l0.turn, i64 12
  %m0.l0.f6.group = load i32, ptr %m0.l0.f6.at, align 4
  %m0.l0.f6.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f6.group, i32 0
  %m0.l0.f6.all = shufflevector <8 x i32> %m0.l0.f6.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f6 = bitcast <8 x i32> %m0.l0.f6.all to <32 x i8>
  %sum_m0_n0.l0.f6.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f6, <32 x i8> %m0.l0.f6)
  %sum_m0_n0.l0.f6 = add <16 x i16> %sum_m0_n0.l0.f5, %sum_m0_n0.l0.f6.pairs
  %m0.l1.f6.at = getelementptr i8, ptr %m0.l1.turn, i64 12
  %m0.l1.f6.group = load i32, ptr %m0.l1.f6.at, align 4
  %m0.l1.f6.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f6.group, i32 0
  %m0.l1.f6.all = shufflevector <8 x i32> %m0.l1.f6.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f6 = bitcast <8 x i32> %m0.l1.f6.all to <32 x i8>
  %sum_m0_n0.l1.f6.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f6, <32 x i8> %m0.l1.f6)
  %sum_m0_n0.l1.f6 = add <16 x i16> %sum_m0_n0.l1.f5, %sum_m0_n0.l1.f6.pairs
  %m0.l2.f6.at = getelementptr i8, ptr %m0.l2.turn, i64 12
  %m0.l2.f6.group = load i32, ptr %m0.l2.f6.at, align 4
  %m0.l2.f6.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f6.group, i32 0
  %m0.l2.f6.all = shufflevector <8 x i32> %m0.l2.f6.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f6 = bitcast <8 x i32> %m0.l2.f6.all to <32 x i8>
  %sum_m0_n0.l2.f6.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f6, <32 x i8> %m0.l2.f6)
  %sum_m0_n0.l2.f6 = add <16 x i16> %sum_m0_n0.l2.f5, %sum_m0_n0.l2.f6.pairs
  %n0.f7.words = bitcast <32 x i8> %n0.b3 to <16 x i16>
  %n0.f7.moved = lshr <16 x i16> %n0.f7.words, splat (i16 4)
  %n0.f7.bytes = bitcast <16 x i16> %n0.f7.moved to <32 x i8>
  %n0.f7 = and <32 x i8> %n0.f7.bytes, splat (i8 15)
  %m0.l0.f7.at = getelementptr i8, ptr %m0.l0.turn, i64 28
  %m0.l0.f7.group = load i32, ptr %m0.l0.f7.at, align 4
  %m0.l0.f7.all.first = insertelement <8 x i32> poison, i32 %m0.l0.f7.group, i32 0
  %m0.l0.f7.all = shufflevector <8 x i32> %m0.l0.f7.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l0.f7 = bitcast <8 x i32> %m0.l0.f7.all to <32 x i8>
  %sum_m0_n0.l0.next.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f7, <32 x i8> %m0.l0.f7)
  %sum_m0_n0.l0.next = add <16 x i16> %sum_m0_n0.l0.f6, %sum_m0_n0.l0.next.pairs
  %m0.l1.f7.at = getelementptr i8, ptr %m0.l1.turn, i64 28
  %m0.l1.f7.group = load i32, ptr %m0.l1.f7.at, align 4
  %m0.l1.f7.all.first = insertelement <8 x i32> poison, i32 %m0.l1.f7.group, i32 0
  %m0.l1.f7.all = shufflevector <8 x i32> %m0.l1.f7.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l1.f7 = bitcast <8 x i32> %m0.l1.f7.all to <32 x i8>
  %sum_m0_n0.l1.next.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f7, <32 x i8> %m0.l1.f7)
  %sum_m0_n0.l1.next = add <16 x i16> %sum_m0_n0.l1.f6, %sum_m0_n0.l1.next.pairs
  %m0.l2.f7.at = getelementptr i8, ptr %m0.l2.turn, i64 28
  %m0.l2.f7.group = load i32, ptr %m0.l2.f7.at, align 4
  %m0.l2.f7.all.first = insertelement <8 x i32> poison, i32 %m0.l2.f7.group, i32 0
  %m0.l2.f7.all = shufflevector <8 x i32> %m0.l2.f7.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %m0.l2.f7 = bitcast <8 x i32> %m0.l2.f7.all to <32 x i8>
  %sum_m0_n0.l2.next.pairs = call <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8> %n0.f7, <32 x i8> %m0.l2.f7)
  %sum_m0_n0.l2.next = add <16 x i16> %sum_m0_n0.l2.f6, %sum_m0_n0.l2.next.pairs
  br label %at.latch
at.latch:
  %at.after = add nuw i64 %at, 128
  br label %at.head
at.done:
  ; the last limb is multiplied by 256, because it is added to the next lower one
  %sum_m0_n0.l0.wide = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %sum_m0_n0.l0, <16 x i16> splat (i16 1))
  %sum_m0_n0.l1.wide = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %sum_m0_n0.l1, <16 x i16> splat (i16 1))
  %sum_m0_n0.l2.wide = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %sum_m0_n0.l2, <16 x i16> splat (i16 256))
  %sum_m0_n0.upper = add <8 x i32> %sum_m0_n0.l2.wide, %sum_m0_n0.l1.wide
  %sum_m0_n0.lower = add <8 x i32> %sum_m0_n0.l0.wide, %m0.l0.start
  %sum_m0_n0.upper.up = shl <8 x i32> %sum_m0_n0.upper, splat (i32 8)
  %sum_m0_n0.units = add <8 x i32> %sum_m0_n0.upper.up, %sum_m0_n0.lower
  %sum_m0_n0.float = sitofp <8 x i32> %sum_m0_n0.units to <8 x float>
  %sum_m0_n0.scale = fmul <8 x float> %m0.unit, %n0.scale
  %sum_m0_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n0.float, <8 x float> %sum_m0_n0.scale, <8 x float> %sum_m0_n0)
  br label %block.latch
block.latch:
  %block.after = add nuw i64 %block, 1
  br label %block.head
block.done:
  store <8 x float> %sum_m0_n0, ptr %acc, align 32
  ret void
}

define internal void @floats(ptr noalias %a, ptr noalias %b, ptr noalias %acc, i64 %rows, i64 %columns) #1 {
enter:
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, %rows
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %a.row.offset = mul nuw i64 %m, 32
  %a.row = getelementptr i8, ptr %a, i64 %a.row.offset
  %acc.row.offset = mul nuw i64 %m, 32
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, %columns
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %panel.offset = mul nuw i64 %n, 18
  %panel = getelementptr i8, ptr %b, i64 %panel.offset
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum.next, %k.latch ]
  %k.more = icmp ult i64 %k, 8
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %a.at = getelementptr float, ptr %a.row, i64 %k
  %a.one = load float, ptr %a.at, align 4
  %a.all.first = insertelement <8 x float> poison, float %a.one, i32 0
  %a.all = shufflevector <8 x float> %a.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %block = lshr i64 %k, 5
  %block.at.offset = mul nuw i64 %block, 144
  %block.at = getelementptr i8, ptr %panel, i64 %block.at.offset
  %place = and i64 %k, 31
  %group = and i64 %place, 12
  %group.offset = mul nuw i64 %group, 8
  %numbers.block = getelementptr i8, ptr %block.at, i64 16
  %numbers.at = getelementptr i8, ptr %numbers.block, i64 %group.offset
  %numbers = load <8 x i32>, ptr %numbers.at, align 1
  %place.word = trunc i64 %place to i32
  %byte = and i32 %place.word, 3
  %byte.bits = shl i32 %byte, 3
  %half = lshr i32 %place.word, 4
  %half.bits = shl i32 %half, 2
  %bits = add i32 %byte.bits, %half.bits
  %bits.all.first = insertelement <8 x i32> poison, i32 %bits, i32 0
  %bits.all = shufflevector <8 x i32> %bits.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %moved = lshr <8 x i32> %numbers, %bits.all
  %from.zero = and <8 x i32> %moved, splat (i32 15)
  %number = add <8 x i32> %from.zero, splat (i32 -8)
  %number.float = sitofp <8 x i32> %number to <8 x float>
  %scale.bits = load <8 x i16>, ptr %block.at, align 2
  %scale.half = bitcast <8 x i16> %scale.bits to <8 x half>
  %scale = fpext <8 x half> %scale.half to <8 x float>
  %weight = fmul <8 x float> %number.float, %scale
  %sum.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a.all, <8 x float> %weight, <8 x float> %sum)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  %sum.at = getelementptr float, ptr %acc.row, i64 %n
  store <8 x float> %sum, ptr %sum.at, align 32
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 8
  br label %n.head
n.done:
  br label %m.latch
m.latch:
  %m.after = add nuw i64 %m, 1
  br label %m.head
m.done:
  ret void
}

define void @matmul_1x8x8_f32_nt_by_s4_packedb(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %acc = alloca [32 x i8], align 64
  %limbs = alloca [160 x i8], align 64
  %blocks = alloca [8 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest

  ; ---- prologue: A in block floating point
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ 0, %row.enter ], [ %row.after, %row.latch ]
  %fit = phi i1 [ true, %row.enter ], [ %fit.next, %row.latch ]
  %row.more = icmp ult i64 %row, 1
  br i1 %row.more, label %row.body, label %row.done
row.body:
  %row.a.offset = mul nuw i64 %row, 32
  %row.a = getelementptr i8, ptr %a, i64 %row.a.offset
  %row.limbs.offset = mul nuw i64 %row, 160
  %row.limbs = getelementptr i8, ptr %limbs, i64 %row.limbs.offset
  %row.blocks.offset = mul nuw i64 %row, 8
  %row.blocks = getelementptr i8, ptr %blocks, i64 %row.blocks.offset
  %row.fits = call i1 @limbs_of_row(ptr %row.a, ptr %row.limbs, ptr %row.blocks)
  %fit.next = and i1 %fit, %row.fits
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:

  ; ---- mainloop
  br i1 %fit, label %as.limbs, label %as.floats
as.floats:
  call void @floats(ptr %a, ptr %b, ptr %acc, i64 1, i64 8)
  br label %multiplied
as.limbs:
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 8
  br i1 %j.more, label %j.body, label %j.done
j.body:
  %p.b.offset = mul nuw i64 %j, 18
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset
  %p.acc = getelementptr float, ptr %acc, i64 %j
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 1
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.limbs.offset = mul nuw i64 %p.i, 160
  %p.w.limbs = getelementptr i8, ptr %limbs, i64 %p.w.limbs.offset
  %p.w.blocks.offset = mul nuw i64 %p.i, 8
  %p.w.blocks = getelementptr i8, ptr %blocks, i64 %p.w.blocks.offset
  %p.w.acc.offset = mul nuw i64 %p.i, 32
  %p.w.acc = getelementptr i8, ptr %p.acc, i64 %p.w.acc.offset
  call void @tile_1x8(ptr %p.w.limbs, ptr %p.w.blocks, ptr %p.b, ptr %p.w.acc)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 1
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 8
  br label %j.head
j.done:
  br label %multiplied
multiplied:

  ; ---- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 1
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.row.offset = mul nuw i64 %m, 32
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  %out.offset = mul nuw i64 %m, 32
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 8
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

declare <16 x i16> @llvm.x86.avx2.pmadd.ub.sw(<32 x i8>, <32 x i8>)
declare <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16>, <16 x i16>)
declare <8 x i32> @llvm.umax.v8i32(<8 x i32>, <8 x i32>)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.vector.reduce.umax.v8i32(<8 x i32>)
declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
