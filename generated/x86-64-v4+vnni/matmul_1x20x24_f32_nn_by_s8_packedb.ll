; matmul_1x20x24_f32_nn_by_s8_packedb
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v4+vnni, x86_64; requires abm avx avx2 avx512_vnni avx512bw avx512cd avx512dq avx512f
;              avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=limbs,mr=1,nr=16,mc=1,kc=64,nc=32,pack_a=1,pack_b=0,ahead=0 (user)
; launch:    1 task of up to 1 x 20 outputs; 1 x 1 blocks
; method:    byte products by vpdpbusd: A is in block floating point, each block of 64 of K with one exponent and
;              4 signed bytes per element; a task computes an mc x nc block of out, panels of nr columns of B
;              times mr rows of A
; memory:    stack, 460 B
;            %acc: float [mc][nc], 128 B per row, 128 B
;            %limbs: s8 [mc][K / 64][4][64], 320 B per row, zero past K, 320 B
;            %blocks: [mc][K / 64] of f32 scale and s32[2] initial sums of its limbs, 12 B per row, 12 B
; arguments: a: input f32[1, 24], strides [24, 1]
;            b: input s8[2, 16, 16, 4], strides [1024, 64, 4, 1], prepacked: (k, n) at [n / 16][k / 4][n % 16][k
;              % 4], zero past K and N
;            out: output f32[1, 20], strides [20, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal i1 @limbs_of_row(ptr noalias %a, ptr noalias %limbs, ptr noalias %blocks) #1 {
enter:
  %e.p0 = load <16 x float>, ptr %a, align 4
  %e.p0.bits = bitcast <16 x float> %e.p0 to <16 x i32>
  %e.p0.size = and <16 x i32> %e.p0.bits, splat (i32 2147483647)
  %e.p0.most = call <16 x i32> @llvm.umax.v16i32(<16 x i32> %e.p0.size, <16 x i32> zeroinitializer)
  %e.p16.at = getelementptr float, ptr %a, i64 16
  %e.p16 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %e.p16.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %e.p16.bits = bitcast <16 x float> %e.p16 to <16 x i32>
  %e.p16.size = and <16 x i32> %e.p16.bits, splat (i32 2147483647)
  %e.p16.most = call <16 x i32> @llvm.umax.v16i32(<16 x i32> %e.p16.size, <16 x i32> %e.p0.most)
  %e.most = call i32 @llvm.vector.reduce.umax.v16i32(<16 x i32> %e.p16.most)
  ; every byte of an integer is at most 127; the unit is 2^-30 of the block's power of two, whose biased exponent is at least 64
  %e.exponent.bits = add i32 %e.most, 66048
  %e.exponent = lshr i32 %e.exponent.bits, 23
  %e.exponent.kept = call i32 @llvm.umax.i32(i32 %e.exponent, i32 64)
  %e.unit.exponent = sub i32 %e.exponent.kept, 30
  %e.unit = shl i32 %e.unit.exponent, 23
  store i32 %e.unit, ptr %blocks, align 4
  %e.per.exponent = sub i32 284, %e.exponent.kept
  %e.per.bits = shl i32 %e.per.exponent, 23
  %e.per.one = bitcast i32 %e.per.bits to float
  %e.per.first = insertelement <16 x float> poison, float %e.per.one, i32 0
  %e.per = shufflevector <16 x float> %e.per.first, <16 x float> poison, <16 x i32> zeroinitializer
  %e.l1 = getelementptr i8, ptr %limbs, i64 64
  %e.l2 = getelementptr i8, ptr %limbs, i64 128
  %e.l3 = getelementptr i8, ptr %limbs, i64 192
  %e.p0.units = fmul <16 x float> %e.p0, %e.per
  %e.p0.rounded = call <16 x float> @llvm.roundeven.v16f32(<16 x float> %e.p0.units)
  %e.p0.integers = fptosi <16 x float> %e.p0.rounded to <16 x i32>
  %e.p0.more = add <16 x i32> %e.p0.integers, splat (i32 2155905152)
  %e.p0.signed = xor <16 x i32> %e.p0.more, splat (i32 2155905152)
  %e.p0.upper.more = add <16 x i32> %e.p0.integers, splat (i32 32896)
  %e.p0.upper = ashr <16 x i32> %e.p0.upper.more, splat (i32 16)
  %e.p0.upper.up = shl <16 x i32> %e.p0.upper, splat (i32 16)
  %e.p0.lower = sub <16 x i32> %e.p0.integers, %e.p0.upper.up
  %e.p0.l0 = trunc <16 x i32> %e.p0.signed to <16 x i8>
  store <16 x i8> %e.p0.l0, ptr %limbs, align 1
  %e.p0.l1.low = lshr <16 x i32> %e.p0.signed, splat (i32 8)
  %e.p0.l1 = trunc <16 x i32> %e.p0.l1.low to <16 x i8>
  store <16 x i8> %e.p0.l1, ptr %e.l1, align 1
  %e.p0.l2.low = lshr <16 x i32> %e.p0.signed, splat (i32 16)
  %e.p0.l2 = trunc <16 x i32> %e.p0.l2.low to <16 x i8>
  store <16 x i8> %e.p0.l2, ptr %e.l2, align 1
  %e.p0.l3.low = lshr <16 x i32> %e.p0.signed, splat (i32 24)
  %e.p0.l3 = trunc <16 x i32> %e.p0.l3.low to <16 x i8>
  store <16 x i8> %e.p0.l3, ptr %e.l3, align 1
  %e.p16.l0.to = getelementptr i8, ptr %limbs, i64 16
  %e.p16.l1.to = getelementptr i8, ptr %e.l1, i64 16
  %e.p16.l2.to = getelementptr i8, ptr %e.l2, i64 16
  %e.p16.l3.to = getelementptr i8, ptr %e.l3, i64 16
  %e.p16.units = fmul <16 x float> %e.p16, %e.per
  %e.p16.rounded = call <16 x float> @llvm.roundeven.v16f32(<16 x float> %e.p16.units)
  %e.p16.integers = fptosi <16 x float> %e.p16.rounded to <16 x i32>
  %e.p16.more = add <16 x i32> %e.p16.integers, splat (i32 2155905152)
  %e.p16.signed = xor <16 x i32> %e.p16.more, splat (i32 2155905152)
  %e.p16.upper.more = add <16 x i32> %e.p16.integers, splat (i32 32896)
  %e.p16.upper = ashr <16 x i32> %e.p16.upper.more, splat (i32 16)
  %e.p16.upper.up = shl <16 x i32> %e.p16.upper, splat (i32 16)
  %e.p16.lower = sub <16 x i32> %e.p16.integers, %e.p16.upper.up
  %e.p16.l0 = trunc <16 x i32> %e.p16.signed to <16 x i8>
  store <16 x i8> %e.p16.l0, ptr %e.p16.l0.to, align 1
  %e.p16.l1.low = lshr <16 x i32> %e.p16.signed, splat (i32 8)
  %e.p16.l1 = trunc <16 x i32> %e.p16.l1.low to <16 x i8>
  store <16 x i8> %e.p16.l1, ptr %e.p16.l1.to, align 1
  %e.p16.l2.low = lshr <16 x i32> %e.p16.signed, splat (i32 16)
  %e.p16.l2 = trunc <16 x i32> %e.p16.l2.low to <16 x i8>
  store <16 x i8> %e.p16.l2, ptr %e.p16.l2.to, align 1
  %e.p16.l3.low = lshr <16 x i32> %e.p16.signed, splat (i32 24)
  %e.p16.l3 = trunc <16 x i32> %e.p16.l3.low to <16 x i8>
  store <16 x i8> %e.p16.l3, ptr %e.p16.l3.to, align 1
  %e.p32.l0.to = getelementptr i8, ptr %limbs, i64 32
  %e.p32.l1.to = getelementptr i8, ptr %e.l1, i64 32
  %e.p32.l2.to = getelementptr i8, ptr %e.l2, i64 32
  %e.p32.l3.to = getelementptr i8, ptr %e.l3, i64 32
  store <16 x i8> zeroinitializer, ptr %e.p32.l0.to, align 1
  store <16 x i8> zeroinitializer, ptr %e.p32.l1.to, align 1
  store <16 x i8> zeroinitializer, ptr %e.p32.l2.to, align 1
  store <16 x i8> zeroinitializer, ptr %e.p32.l3.to, align 1
  %e.p48.l0.to = getelementptr i8, ptr %limbs, i64 48
  %e.p48.l1.to = getelementptr i8, ptr %e.l1, i64 48
  %e.p48.l2.to = getelementptr i8, ptr %e.l2, i64 48
  %e.p48.l3.to = getelementptr i8, ptr %e.l3, i64 48
  store <16 x i8> zeroinitializer, ptr %e.p48.l0.to, align 1
  store <16 x i8> zeroinitializer, ptr %e.p48.l1.to, align 1
  store <16 x i8> zeroinitializer, ptr %e.p48.l2.to, align 1
  store <16 x i8> zeroinitializer, ptr %e.p48.l3.to, align 1
  %e.start_l0.p0 = add <16 x i32> zeroinitializer, %e.p0.lower
  %e.start_l0.p16 = add <16 x i32> %e.start_l0.p0, %e.p16.lower
  %e.start_l0.sum = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %e.start_l0.p16)
  %e.start_l0 = mul i32 %e.start_l0.sum, -128
  %e.start_l0.at = getelementptr i8, ptr %blocks, i64 4
  store i32 %e.start_l0, ptr %e.start_l0.at, align 4
  %e.start_l2.p0 = add <16 x i32> zeroinitializer, %e.p0.upper
  %e.start_l2.p16 = add <16 x i32> %e.start_l2.p0, %e.p16.upper
  %e.start_l2.sum = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %e.start_l2.p16)
  %e.start_l2 = mul i32 %e.start_l2.sum, -128
  %e.start_l2.at = getelementptr i8, ptr %blocks, i64 8
  store i32 %e.start_l2, ptr %e.start_l2.at, align 4
  %all.most = call i32 @llvm.umax.i32(i32 0, i32 %e.most)
  %exponent.bits = add i32 %all.most, 66048
  %exponent = lshr i32 %exponent.bits, 23
  %above = sub i32 %exponent, 96
  %inside = icmp ult i32 %above, 159
  %none = icmp eq i32 %all.most, 0
  %fits = or i1 %inside, %none
  ret i1 %fits
}

define internal void @tile_1x16(ptr noalias %limbs, ptr noalias %blocks, ptr noalias %b, ptr noalias %acc) #1 {
enter:
  br label %block.enter
block.enter:
  br label %block.head
block.head:
  %block = phi i64 [ 0, %block.enter ], [ %block.after, %block.latch ]
  %sum_m0_n0 = phi <16 x float> [ zeroinitializer, %block.enter ], [ %sum_m0_n0.next, %block.latch ]
  %block.more = icmp ult i64 %block, 1
  br i1 %block.more, label %block.body, label %block.done
block.body:
  %block.limbs.offset = mul nuw i64 %block, 256
  %block.b.offset = mul nuw i64 %block, 1024
  %block.b = getelementptr i8, ptr %b, i64 %block.b.offset
  %block.data.offset = mul nuw i64 %block, 12
  %block.data = getelementptr i8, ptr %blocks, i64 %block.data.offset
  %block.limbs = getelementptr i8, ptr %limbs, i64 %block.limbs.offset
  %m0.unit.one = load float, ptr %block.data, align 4
  %m0.unit.first = insertelement <16 x float> poison, float %m0.unit.one, i32 0
  %m0.unit = shufflevector <16 x float> %m0.unit.first, <16 x float> poison, <16 x i32> zeroinitializer
  %m0.l0.start.at = getelementptr i8, ptr %block.data, i64 4
  %m0.l0.start.one = load i32, ptr %m0.l0.start.at, align 4
  %m0.l0.start.first = insertelement <16 x i32> poison, i32 %m0.l0.start.one, i32 0
  %m0.l0.start = shufflevector <16 x i32> %m0.l0.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l1 = getelementptr i8, ptr %block.limbs, i64 64
  %m0.l2 = getelementptr i8, ptr %block.limbs, i64 128
  %m0.l2.start.at = getelementptr i8, ptr %block.data, i64 8
  %m0.l2.start.one = load i32, ptr %m0.l2.start.at, align 4
  %m0.l2.start.first = insertelement <16 x i32> poison, i32 %m0.l2.start.one, i32 0
  %m0.l2.start = shufflevector <16 x i32> %m0.l2.start.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l3 = getelementptr i8, ptr %block.limbs, i64 192
  br label %at.enter
at.enter:
  br label %at.head
at.head:
  %at = phi i64 [ 0, %at.enter ], [ %at.after, %at.latch ]
  %sum_m0_n0.l0 = phi <16 x i32> [ %m0.l0.start, %at.enter ], [ %sum_m0_n0.l0.next, %at.latch ]
  %sum_m0_n0.l1 = phi <16 x i32> [ zeroinitializer, %at.enter ], [ %sum_m0_n0.l1.next, %at.latch ]
  %sum_m0_n0.l2 = phi <16 x i32> [ %m0.l2.start, %at.enter ], [ %sum_m0_n0.l2.next, %at.latch ]
  %sum_m0_n0.l3 = phi <16 x i32> [ zeroinitializer, %at.enter ], [ %sum_m0_n0.l3.next, %at.latch ]
  %at.more = icmp ult i64 %at, 1024
  br i1 %at.more, label %at.body, label %at.done
at.body:
  %at.k = lshr i64 %at, 4
  %n0.turn = getelementptr i8, ptr %block.b, i64 %at
  %m0.l0.turn = getelementptr i8, ptr %block.limbs, i64 %at.k
  %m0.l1.turn = getelementptr i8, ptr %m0.l1, i64 %at.k
  %m0.l2.turn = getelementptr i8, ptr %m0.l2, i64 %at.k
  %m0.l3.turn = getelementptr i8, ptr %m0.l3, i64 %at.k
  %n0.b0 = load <64 x i8>, ptr %n0.turn, align 1
  %n0.f0 = xor <64 x i8> %n0.b0, splat (i8 -128)
  %m0.l0.f0.group = load i32, ptr %m0.l0.turn, align 4
  %m0.l0.f0.all.first = insertelement <16 x i32> poison, i32 %m0.l0.f0.group, i32 0
  %m0.l0.f0.all = shufflevector <16 x i32> %m0.l0.f0.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l0.f0 = bitcast <16 x i32> %m0.l0.f0.all to <64 x i8>
  %sum_m0_n0.l0.f0 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l0, <64 x i8> %n0.f0, <64 x i8> %m0.l0.f0)
  %m0.l1.f0.group = load i32, ptr %m0.l1.turn, align 4
  %m0.l1.f0.all.first = insertelement <16 x i32> poison, i32 %m0.l1.f0.group, i32 0
  %m0.l1.f0.all = shufflevector <16 x i32> %m0.l1.f0.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l1.f0 = bitcast <16 x i32> %m0.l1.f0.all to <64 x i8>
  %sum_m0_n0.l1.f0 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l1, <64 x i8> %n0.f0, <64 x i8> %m0.l1.f0)
  %m0.l2.f0.group = load i32, ptr %m0.l2.turn, align 4
  %m0.l2.f0.all.first = insertelement <16 x i32> poison, i32 %m0.l2.f0.group, i32 0
  %m0.l2.f0.all = shufflevector <16 x i32> %m0.l2.f0.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l2.f0 = bitcast <16 x i32> %m0.l2.f0.all to <64 x i8>
  %sum_m0_n0.l2.f0 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l2, <64 x i8> %n0.f0, <64 x i8> %m0.l2.f0)
  %m0.l3.f0.group = load i32, ptr %m0.l3.turn, align 4
  %m0.l3.f0.all.first = insertelement <16 x i32> poison, i32 %m0.l3.f0.group, i32 0
  %m0.l3.f0.all = shufflevector <16 x i32> %m0.l3.f0.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l3.f0 = bitcast <16 x i32> %m0.l3.f0.all to <64 x i8>
  %sum_m0_n0.l3.f0 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l3, <64 x i8> %n0.f0, <64 x i8> %m0.l3.f0)
  %n0.b1.at = getelementptr i8, ptr %n0.turn, i64 64
  %n0.b1 = load <64 x i8>, ptr %n0.b1.at, align 1
  %n0.f1 = xor <64 x i8> %n0.b1, splat (i8 -128)
  %m0.l0.f1.at = getelementptr i8, ptr %m0.l0.turn, i64 4
  %m0.l0.f1.group = load i32, ptr %m0.l0.f1.at, align 4
  %m0.l0.f1.all.first = insertelement <16 x i32> poison, i32 %m0.l0.f1.group, i32 0
  %m0.l0.f1.all = shufflevector <16 x i32> %m0.l0.f1.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l0.f1 = bitcast <16 x i32> %m0.l0.f1.all to <64 x i8>
  %sum_m0_n0.l0.f1 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l0.f0, <64 x i8> %n0.f1, <64 x i8> %m0.l0.f1)
  %m0.l1.f1.at = getelementptr i8, ptr %m0.l1.turn, i64 4
  %m0.l1.f1.group = load i32, ptr %m0.l1.f1.at, align 4
  %m0.l1.f1.all.first = insertelement <16 x i32> poison, i32 %m0.l1.f1.group, i32 0
  %m0.l1.f1.all = shufflevector <16 x i32> %m0.l1.f1.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l1.f1 = bitcast <16 x i32> %m0.l1.f1.all to <64 x i8>
  %sum_m0_n0.l1.f1 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l1.f0, <64 x i8> %n0.f1, <64 x i8> %m0.l1.f1)
  %m0.l2.f1.at = getelementptr i8, ptr %m0.l2.turn, i64 4
  %m0.l2.f1.group = load i32, ptr %m0.l2.f1.at, align 4
  %m0.l2.f1.all.first = insertelement <16 x i32> poison, i32 %m0.l2.f1.group, i32 0
  %m0.l2.f1.all = shufflevector <16 x i32> %m0.l2.f1.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l2.f1 = bitcast <16 x i32> %m0.l2.f1.all to <64 x i8>
  %sum_m0_n0.l2.f1 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l2.f0, <64 x i8> %n0.f1, <64 x i8> %m0.l2.f1)
  %m0.l3.f1.at = getelementptr i8, ptr %m0.l3.turn, i64 4
  %m0.l3.f1.group = load i32, ptr %m0.l3.f1.at, align 4
  %m0.l3.f1.all.first = insertelement <16 x i32> poison, i32 %m0.l3.f1.group, i32 0
  %m0.l3.f1.all = shufflevector <16 x i32> %m0.l3.f1.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l3.f1 = bitcast <16 x i32> %m0.l3.f1.all to <64 x i8>
  %sum_m0_n0.l3.f1 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l3.f0, <64 x i8> %n0.f1, <64 x i8> %m0.l3.f1)
  %n0.b2.at = getelementptr i8, ptr %n0.turn, i64 128
  %n0.b2 = load <64 x i8>, ptr %n0.b2.at, align 1
  %n0.f2 = xor <64 x i8> %n0.b2, splat (i8 -128)
  %m0.l0.f2.at = getelementptr i8, ptr %m0.l0.turn, i64 8
  %m0.l0.f2.group = load i32, ptr %m0.l0.f2.at, align 4
  %m0.l0.f2.all.first = insertelement <16 x i32> poison, i32 %m0.l0.f2.group, i32 0
  %m0.l0.f2.all = shufflevector <16 x i32> %m0.l0.f2.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l0.f2 = bitcast <16 x i32> %m0.l0.f2.all to <64 x i8>
  %sum_m0_n0.l0.f2 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l0.f1, <64 x i8> %n0.f2, <64 x i8> %m0.l0.f2)
  %m0.l1.f2.at = getelementptr i8, ptr %m0.l1.turn, i64 8
  %m0.l1.f2.group = load i32, ptr %m0.l1.f2.at, align 4
  %m0.l1.f2.all.first = insertelement <16 x i32> poison, i32 %m0.l1.f2.group, i32 0
  %m0.l1.f2.all = shufflevector <16 x i32> %m0.l1.f2.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l1.f2 = bitcast <16 x i32> %m0.l1.f2.all to <64 x i8>
  %sum_m0_n0.l1.f2 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l1.f1, <64 x i8> %n0.f2, <64 x i8> %m0.l1.f2)
  %m0.l2.f2.at = getelementptr i8, ptr %m0.l2.turn, i64 8
  %m0.l2.f2.group = load i32, ptr %m0.l2.f2.at, align 4
  %m0.l2.f2.all.first = insertelement <16 x i32> poison, i32 %m0.l2.f2.group, i32 0
  %m0.l2.f2.all = shufflevector <16 x i32> %m0.l2.f2.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l2.f2 = bitcast <16 x i32> %m0.l2.f2.all to <64 x i8>
  %sum_m0_n0.l2.f2 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l2.f1, <64 x i8> %n0.f2, <64 x i8> %m0.l2.f2)
  %m0.l3.f2.at = getelementptr i8, ptr %m0.l3.turn, i64 8
  %m0.l3.f2.group = load i32, ptr %m0.l3.f2.at, align 4
  %m0.l3.f2.all.first = insertelement <16 x i32> poison, i32 %m0.l3.f2.group, i32 0
  %m0.l3.f2.all = shufflevector <16 x i32> %m0.l3.f2.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l3.f2 = bitcast <16 x i32> %m0.l3.f2.all to <64 x i8>
  %sum_m0_n0.l3.f2 = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l3.f1, <64 x i8> %n0.f2, <64 x i8> %m0.l3.f2)
  %n0.b3.at = getelementptr i8, ptr %n0.turn, i64 192
  %n0.b3 = load <64 x i8>, ptr %n0.b3.at, align 1
  %n0.f3 = xor <64 x i8> %n0.b3, splat (i8 -128)
  %m0.l0.f3.at = getelementptr i8, ptr %m0.l0.turn, i64 12
  %m0.l0.f3.group = load i32, ptr %m0.l0.f3.at, align 4
  %m0.l0.f3.all.first = insertelement <16 x i32> poison, i32 %m0.l0.f3.group, i32 0
  %m0.l0.f3.all = shufflevector <16 x i32> %m0.l0.f3.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l0.f3 = bitcast <16 x i32> %m0.l0.f3.all to <64 x i8>
  %sum_m0_n0.l0.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l0.f2, <64 x i8> %n0.f3, <64 x i8> %m0.l0.f3)
  %m0.l1.f3.at = getelementptr i8, ptr %m0.l1.turn, i64 12
  %m0.l1.f3.group = load i32, ptr %m0.l1.f3.at, align 4
  %m0.l1.f3.all.first = insertelement <16 x i32> poison, i32 %m0.l1.f3.group, i32 0
  %m0.l1.f3.all = shufflevector <16 x i32> %m0.l1.f3.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l1.f3 = bitcast <16 x i32> %m0.l1.f3.all to <64 x i8>
  %sum_m0_n0.l1.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l1.f2, <64 x i8> %n0.f3, <64 x i8> %m0.l1.f3)
  %m0.l2.f3.at = getelementptr i8, ptr %m0.l2.turn, i64 12
  %m0.l2.f3.group = load i32, ptr %m0.l2.f3.at, align 4
  %m0.l2.f3.all.first = insertelement <16 x i32> poison, i32 %m0.l2.f3.group, i32 0
  %m0.l2.f3.all = shufflevector <16 x i32> %m0.l2.f3.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l2.f3 = bitcast <16 x i32> %m0.l2.f3.all to <64 x i8>
  %sum_m0_n0.l2.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l2.f2, <64 x i8> %n0.f3, <64 x i8> %m0.l2.f3)
  %m0.l3.f3.at = getelementptr i8, ptr %m0.l3.turn, i64 12
  %m0.l3.f3.group = load i32, ptr %m0.l3.f3.at, align 4
  %m0.l3.f3.all.first = insertelement <16 x i32> poison, i32 %m0.l3.f3.group, i32 0
  %m0.l3.f3.all = shufflevector <16 x i32> %m0.l3.f3.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %m0.l3.f3 = bitcast <16 x i32> %m0.l3.f3.all to <64 x i8>
  %sum_m0_n0.l3.next = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %sum_m0_n0.l3.f2, <64 x i8> %n0.f3, <64 x i8> %m0.l3.f3)
  br label %at.latch
at.latch:
  %at.after = add nuw i64 %at, 256
  br label %at.head
at.done:
  %sum_m0_n0.l3.up = shl <16 x i32> %sum_m0_n0.l3, splat (i32 8)
  %sum_m0_n0.upper = add <16 x i32> %sum_m0_n0.l3.up, %sum_m0_n0.l2
  %sum_m0_n0.l1.up = shl <16 x i32> %sum_m0_n0.l1, splat (i32 8)
  %sum_m0_n0.lower = add <16 x i32> %sum_m0_n0.l1.up, %sum_m0_n0.l0
  %sum_m0_n0.upper.float = sitofp <16 x i32> %sum_m0_n0.upper to <16 x float>
  %sum_m0_n0.lower.float = sitofp <16 x i32> %sum_m0_n0.lower to <16 x float>
  %sum_m0_n0.float = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum_m0_n0.upper.float, <16 x float> splat (float 0x40F0000000000000), <16 x float> %sum_m0_n0.lower.float)
  %sum_m0_n0.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %sum_m0_n0.float, <16 x float> %m0.unit, <16 x float> %sum_m0_n0)
  br label %block.latch
block.latch:
  %block.after = add nuw i64 %block, 1
  br label %block.head
block.done:
  store <16 x float> %sum_m0_n0, ptr %acc, align 64
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
  %a.row.offset = mul nuw i64 %m, 96
  %a.row = getelementptr i8, ptr %a, i64 %a.row.offset
  %acc.row.offset = mul nuw i64 %m, 128
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, %columns
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %panel.offset = mul nuw i64 %n, 64
  %panel = getelementptr i8, ptr %b, i64 %panel.offset
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum.next, %k.latch ]
  %k.more = icmp ult i64 %k, 24
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %a.at = getelementptr float, ptr %a.row, i64 %k
  %a.one = load float, ptr %a.at, align 4
  %a.all.first = insertelement <16 x float> poison, float %a.one, i32 0
  %a.all = shufflevector <16 x float> %a.all.first, <16 x float> poison, <16 x i32> zeroinitializer
  %block = lshr i64 %k, 6
  %block.at.offset = mul nuw i64 %block, 1024
  %block.at = getelementptr i8, ptr %panel, i64 %block.at.offset
  %place = and i64 %k, 63
  %group = and i64 %place, 60
  %group.offset = mul nuw i64 %group, 16
  %numbers.at = getelementptr i8, ptr %block.at, i64 %group.offset
  %numbers = load <16 x i32>, ptr %numbers.at, align 1
  %place.word = trunc i64 %place to i32
  %byte = and i32 %place.word, 3
  %byte.bits = shl i32 %byte, 3
  %bits = sub i32 24, %byte.bits
  %bits.all.first = insertelement <16 x i32> poison, i32 %bits, i32 0
  %bits.all = shufflevector <16 x i32> %bits.all.first, <16 x i32> poison, <16 x i32> zeroinitializer
  %moved = shl <16 x i32> %numbers, %bits.all
  %number = ashr <16 x i32> %moved, splat (i32 24)
  %weight = sitofp <16 x i32> %number to <16 x float>
  %sum.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a.all, <16 x float> %weight, <16 x float> %sum)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  %sum.at = getelementptr float, ptr %acc.row, i64 %n
  store <16 x float> %sum, ptr %sum.at, align 64
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 16
  br label %n.head
n.done:
  br label %m.latch
m.latch:
  %m.after = add nuw i64 %m, 1
  br label %m.head
m.done:
  ret void
}

define void @matmul_1x20x24_f32_nn_by_s8_packedb(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %acc = alloca [128 x i8], align 64
  %limbs = alloca [320 x i8], align 64
  %blocks = alloca [12 x i8], align 64
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
  %row.a.offset = mul nuw i64 %row, 96
  %row.a = getelementptr i8, ptr %a, i64 %row.a.offset
  %row.limbs.offset = mul nuw i64 %row, 320
  %row.limbs = getelementptr i8, ptr %limbs, i64 %row.limbs.offset
  %row.blocks.offset = mul nuw i64 %row, 12
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
  call void @floats(ptr %a, ptr %b, ptr %acc, i64 1, i64 32)
  br label %multiplied
as.limbs:
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 16
  br i1 %j.more, label %j.body, label %j.done
j.body:
  %p.b.offset = mul nuw i64 %j, 64
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
  %p.w.limbs.offset = mul nuw i64 %p.i, 320
  %p.w.limbs = getelementptr i8, ptr %limbs, i64 %p.w.limbs.offset
  %p.w.blocks.offset = mul nuw i64 %p.i, 12
  %p.w.blocks = getelementptr i8, ptr %blocks, i64 %p.w.blocks.offset
  %p.w.acc.offset = mul nuw i64 %p.i, 128
  %p.w.acc = getelementptr i8, ptr %p.acc, i64 %p.w.acc.offset
  call void @tile_1x16(ptr %p.w.limbs, ptr %p.w.blocks, ptr %p.b, ptr %p.w.acc)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 1
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 16
  br label %j.head
j.done:
  %r.b = getelementptr i8, ptr %b, i64 1024
  %r.acc = getelementptr float, ptr %acc, i64 16
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ 0, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 1
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.limbs.offset = mul nuw i64 %r.i, 320
  %r.w.limbs = getelementptr i8, ptr %limbs, i64 %r.w.limbs.offset
  %r.w.blocks.offset = mul nuw i64 %r.i, 12
  %r.w.blocks = getelementptr i8, ptr %blocks, i64 %r.w.blocks.offset
  %r.w.acc.offset = mul nuw i64 %r.i, 128
  %r.w.acc = getelementptr i8, ptr %r.acc, i64 %r.w.acc.offset
  call void @tile_1x16(ptr %r.w.limbs, ptr %r.w.blocks, ptr %r.b, ptr %r.w.acc)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 1
  br label %r.i.head
r.i.done:
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
  %acc.row.offset = mul nuw i64 %m, 128
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  %out.offset = mul nuw i64 %m, 80
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 16
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
  %t.acc.at = getelementptr i8, ptr %acc.row, i64 64
  %t.acc = load <16 x float>, ptr %t.acc.at, align 64
  %t.out.at = getelementptr i8, ptr %out.row, i64 64
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t.acc, ptr align 4 %t.out.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
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
declare <16 x i32> @llvm.umax.v16i32(<16 x i32>, <16 x i32>)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.vector.reduce.umax.v16i32(<16 x i32>)
declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)
declare <16 x float> @llvm.roundeven.v16f32(<16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
