; matmul_2x5x70_f32_nt_by_s4
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=inner,mr=1,nr=5,mc=2,kc=70,nc=5,pack_a=0,pack_b=0,unroll=1,prefetch=0,level=2 (model)
; launch:    1 task of up to 2 x 5 outputs; 1 x 1 blocks
; method:    inner products: vectors of 32 along K, which is contiguous in A and B; a task computes an mc x nc
;              block of out in mr x nr tiles; the nr columns of B are distant, each a stream of its own that
;              continues in the next tile
; memory:    stack, 64 B
;            %acc: float [mc][nc], 32 B per row, 64 B
; arguments: a: input f32[2, 70], strides [70, 1]
;            b: input u8[5, 54], strides [54, 1]
;            out: output f32[2, 5], strides [5, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_1x5(ptr noalias %a, ptr noalias %b, ptr noalias %acc, i64 %spread) #1 {
enter:
  %b.n1.offset = mul nuw i64 %spread, 54
  %b.n1 = getelementptr i8, ptr %b, i64 %b.n1.offset
  %acc.n1 = getelementptr float, ptr %acc, i64 %spread
  %n2.index = mul nuw i64 %spread, 2
  %b.n2.offset = mul nuw i64 %n2.index, 54
  %b.n2 = getelementptr i8, ptr %b, i64 %b.n2.offset
  %acc.n2 = getelementptr float, ptr %acc, i64 %n2.index
  %n3.index = mul nuw i64 %spread, 3
  %b.n3.offset = mul nuw i64 %n3.index, 54
  %b.n3 = getelementptr i8, ptr %b, i64 %b.n3.offset
  %acc.n3 = getelementptr float, ptr %acc, i64 %n3.index
  %n4.index = mul nuw i64 %spread, 4
  %b.n4.offset = mul nuw i64 %n4.index, 54
  %b.n4 = getelementptr i8, ptr %b, i64 %b.n4.offset
  %acc.n4 = getelementptr float, ptr %acc, i64 %n4.index
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0_k0.next, %k.latch ]
  %sum_m0_n1_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1_k0.next, %k.latch ]
  %sum_m0_n2_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2_k0.next, %k.latch ]
  %sum_m0_n3_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n3_k0.next, %k.latch ]
  %sum_m0_n4_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n4_k0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 64
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.k0.block = lshr i64 %k, 5
  %k.k0.block.offset = mul nuw i64 %k.k0.block, 18
  %k.k0.b_n0.block = getelementptr i8, ptr %b, i64 %k.k0.block.offset
  %k.k0.b_n0.scale.bits = load i16, ptr %k.k0.b_n0.block, align 1
  %k.k0.b_n0.scale.first = insertelement <4 x i16> zeroinitializer, i16 %k.k0.b_n0.scale.bits, i32 0
  %k.k0.b_n0.scale.few.half = bitcast <4 x i16> %k.k0.b_n0.scale.first to <4 x half>
  %k.k0.b_n0.scale.few = fpext <4 x half> %k.k0.b_n0.scale.few.half to <4 x float>
  %k.k0.b_n0.scale = shufflevector <4 x float> %k.k0.b_n0.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %k.k0.b_n0_k0p0.at = getelementptr i8, ptr %k.k0.b_n0.block, i64 2
  %k.k0.b_n0_k0p0.bytes = load <8 x i8>, ptr %k.k0.b_n0_k0p0.at, align 1
  %k.k0.b_n0_k0p0.wide = zext <8 x i8> %k.k0.b_n0_k0p0.bytes to <8 x i32>
  %k.k0.b_n0_k0p0.half = and <8 x i32> %k.k0.b_n0_k0p0.wide, splat (i32 15)
  %k.k0.b_n0_k0p0.digits = or <8 x i32> %k.k0.b_n0_k0p0.half, splat (i32 1258291200)
  %k.k0.b_n0_k0p0.float = bitcast <8 x i32> %k.k0.b_n0_k0p0.digits to <8 x float>
  %k.k0.b_n0_k0p0 = fsub <8 x float> %k.k0.b_n0_k0p0.float, splat (float 0x4160000100000000)
  %k.k0.b_n0_k0p8.at = getelementptr i8, ptr %k.k0.b_n0.block, i64 10
  %k.k0.b_n0_k0p8.bytes = load <8 x i8>, ptr %k.k0.b_n0_k0p8.at, align 1
  %k.k0.b_n0_k0p8.wide = zext <8 x i8> %k.k0.b_n0_k0p8.bytes to <8 x i32>
  %k.k0.b_n0_k0p8.half = and <8 x i32> %k.k0.b_n0_k0p8.wide, splat (i32 15)
  %k.k0.b_n0_k0p8.digits = or <8 x i32> %k.k0.b_n0_k0p8.half, splat (i32 1258291200)
  %k.k0.b_n0_k0p8.float = bitcast <8 x i32> %k.k0.b_n0_k0p8.digits to <8 x float>
  %k.k0.b_n0_k0p8 = fsub <8 x float> %k.k0.b_n0_k0p8.float, splat (float 0x4160000100000000)
  %k.k0.b_n0_k0p16.at = getelementptr i8, ptr %k.k0.b_n0.block, i64 2
  %k.k0.b_n0_k0p16.bytes = load <8 x i8>, ptr %k.k0.b_n0_k0p16.at, align 1
  %k.k0.b_n0_k0p16.wide = zext <8 x i8> %k.k0.b_n0_k0p16.bytes to <8 x i32>
  %k.k0.b_n0_k0p16.half = lshr <8 x i32> %k.k0.b_n0_k0p16.wide, splat (i32 4)
  %k.k0.b_n0_k0p16.digits = or <8 x i32> %k.k0.b_n0_k0p16.half, splat (i32 1258291200)
  %k.k0.b_n0_k0p16.float = bitcast <8 x i32> %k.k0.b_n0_k0p16.digits to <8 x float>
  %k.k0.b_n0_k0p16 = fsub <8 x float> %k.k0.b_n0_k0p16.float, splat (float 0x4160000100000000)
  %k.k0.b_n0_k0p24.at = getelementptr i8, ptr %k.k0.b_n0.block, i64 10
  %k.k0.b_n0_k0p24.bytes = load <8 x i8>, ptr %k.k0.b_n0_k0p24.at, align 1
  %k.k0.b_n0_k0p24.wide = zext <8 x i8> %k.k0.b_n0_k0p24.bytes to <8 x i32>
  %k.k0.b_n0_k0p24.half = lshr <8 x i32> %k.k0.b_n0_k0p24.wide, splat (i32 4)
  %k.k0.b_n0_k0p24.digits = or <8 x i32> %k.k0.b_n0_k0p24.half, splat (i32 1258291200)
  %k.k0.b_n0_k0p24.float = bitcast <8 x i32> %k.k0.b_n0_k0p24.digits to <8 x float>
  %k.k0.b_n0_k0p24 = fsub <8 x float> %k.k0.b_n0_k0p24.float, splat (float 0x4160000100000000)
  %k.k0.b_n1.block = getelementptr i8, ptr %b.n1, i64 %k.k0.block.offset
  %k.k0.b_n1.scale.bits = load i16, ptr %k.k0.b_n1.block, align 1
  %k.k0.b_n1.scale.first = insertelement <4 x i16> zeroinitializer, i16 %k.k0.b_n1.scale.bits, i32 0
  %k.k0.b_n1.scale.few.half = bitcast <4 x i16> %k.k0.b_n1.scale.first to <4 x half>
  %k.k0.b_n1.scale.few = fpext <4 x half> %k.k0.b_n1.scale.few.half to <4 x float>
  %k.k0.b_n1.scale = shufflevector <4 x float> %k.k0.b_n1.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %k.k0.b_n1_k0p0.at = getelementptr i8, ptr %k.k0.b_n1.block, i64 2
  %k.k0.b_n1_k0p0.bytes = load <8 x i8>, ptr %k.k0.b_n1_k0p0.at, align 1
  %k.k0.b_n1_k0p0.wide = zext <8 x i8> %k.k0.b_n1_k0p0.bytes to <8 x i32>
  %k.k0.b_n1_k0p0.half = and <8 x i32> %k.k0.b_n1_k0p0.wide, splat (i32 15)
  %k.k0.b_n1_k0p0.digits = or <8 x i32> %k.k0.b_n1_k0p0.half, splat (i32 1258291200)
  %k.k0.b_n1_k0p0.float = bitcast <8 x i32> %k.k0.b_n1_k0p0.digits to <8 x float>
  %k.k0.b_n1_k0p0 = fsub <8 x float> %k.k0.b_n1_k0p0.float, splat (float 0x4160000100000000)
  %k.k0.b_n1_k0p8.at = getelementptr i8, ptr %k.k0.b_n1.block, i64 10
  %k.k0.b_n1_k0p8.bytes = load <8 x i8>, ptr %k.k0.b_n1_k0p8.at, align 1
  %k.k0.b_n1_k0p8.wide = zext <8 x i8> %k.k0.b_n1_k0p8.bytes to <8 x i32>
  %k.k0.b_n1_k0p8.half = and <8 x i32> %k.k0.b_n1_k0p8.wide, splat (i32 15)
  %k.k0.b_n1_k0p8.digits = or <8 x i32> %k.k0.b_n1_k0p8.half, splat (i32 1258291200)
  %k.k0.b_n1_k0p8.float = bitcast <8 x i32> %k.k0.b_n1_k0p8.digits to <8 x float>
  %k.k0.b_n1_k0p8 = fsub <8 x float> %k.k0.b_n1_k0p8.float, splat (float 0x4160000100000000)
  %k.k0.b_n1_k0p16.at = getelementptr i8, ptr %k.k0.b_n1.block, i64 2
  %k.k0.b_n1_k0p16.bytes = load <8 x i8>, ptr %k.k0.b_n1_k0p16.at, align 1
  %k.k0.b_n1_k0p16.wide = zext <8 x i8> %k.k0.b_n1_k0p16.bytes to <8 x i32>
  %k.k0.b_n1_k0p16.half = lshr <8 x i32> %k.k0.b_n1_k0p16.wide, splat (i32 4)
  %k.k0.b_n1_k0p16.digits = or <8 x i32> %k.k0.b_n1_k0p16.half, splat (i32 1258291200)
  %k.k0.b_n1_k0p16.float = bitcast <8 x i32> %k.k0.b_n1_k0p16.digits to <8 x float>
  %k.k0.b_n1_k0p16 = fsub <8 x float> %k.k0.b_n1_k0p16.float, splat (float 0x4160000100000000)
  %k.k0.b_n1_k0p24.at = getelementptr i8, ptr %k.k0.b_n1.block, i64 10
  %k.k0.b_n1_k0p24.bytes = load <8 x i8>, ptr %k.k0.b_n1_k0p24.at, align 1
  %k.k0.b_n1_k0p24.wide = zext <8 x i8> %k.k0.b_n1_k0p24.bytes to <8 x i32>
  %k.k0.b_n1_k0p24.half = lshr <8 x i32> %k.k0.b_n1_k0p24.wide, splat (i32 4)
  %k.k0.b_n1_k0p24.digits = or <8 x i32> %k.k0.b_n1_k0p24.half, splat (i32 1258291200)
  %k.k0.b_n1_k0p24.float = bitcast <8 x i32> %k.k0.b_n1_k0p24.digits to <8 x float>
  %k.k0.b_n1_k0p24 = fsub <8 x float> %k.k0.b_n1_k0p24.float, splat (float 0x4160000100000000)
  %k.k0.b_n2.block = getelementptr i8, ptr %b.n2, i64 %k.k0.block.offset
  %k.k0.b_n2.scale.bits = load i16, ptr %k.k0.b_n2.block, align 1
  %k.k0.b_n2.scale.first = insertelement <4 x i16> zeroinitializer, i16 %k.k0.b_n2.scale.bits, i32 0
  %k.k0.b_n2.scale.few.half = bitcast <4 x i16> %k.k0.b_n2.scale.first to <4 x half>
  %k.k0.b_n2.scale.few = fpext <4 x half> %k.k0.b_n2.scale.few.half to <4 x float>
  %k.k0.b_n2.scale = shufflevector <4 x float> %k.k0.b_n2.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %k.k0.b_n2_k0p0.at = getelementptr i8, ptr %k.k0.b_n2.block, i64 2
  %k.k0.b_n2_k0p0.bytes = load <8 x i8>, ptr %k.k0.b_n2_k0p0.at, align 1
  %k.k0.b_n2_k0p0.wide = zext <8 x i8> %k.k0.b_n2_k0p0.bytes to <8 x i32>
  %k.k0.b_n2_k0p0.half = and <8 x i32> %k.k0.b_n2_k0p0.wide, splat (i32 15)
  %k.k0.b_n2_k0p0.digits = or <8 x i32> %k.k0.b_n2_k0p0.half, splat (i32 1258291200)
  %k.k0.b_n2_k0p0.float = bitcast <8 x i32> %k.k0.b_n2_k0p0.digits to <8 x float>
  %k.k0.b_n2_k0p0 = fsub <8 x float> %k.k0.b_n2_k0p0.float, splat (float 0x4160000100000000)
  %k.k0.b_n2_k0p8.at = getelementptr i8, ptr %k.k0.b_n2.block, i64 10
  %k.k0.b_n2_k0p8.bytes = load <8 x i8>, ptr %k.k0.b_n2_k0p8.at, align 1
  %k.k0.b_n2_k0p8.wide = zext <8 x i8> %k.k0.b_n2_k0p8.bytes to <8 x i32>
  %k.k0.b_n2_k0p8.half = and <8 x i32> %k.k0.b_n2_k0p8.wide, splat (i32 15)
  %k.k0.b_n2_k0p8.digits = or <8 x i32> %k.k0.b_n2_k0p8.half, splat (i32 1258291200)
  %k.k0.b_n2_k0p8.float = bitcast <8 x i32> %k.k0.b_n2_k0p8.digits to <8 x float>
  %k.k0.b_n2_k0p8 = fsub <8 x float> %k.k0.b_n2_k0p8.float, splat (float 0x4160000100000000)
  %k.k0.b_n2_k0p16.at = getelementptr i8, ptr %k.k0.b_n2.block, i64 2
  %k.k0.b_n2_k0p16.bytes = load <8 x i8>, ptr %k.k0.b_n2_k0p16.at, align 1
  %k.k0.b_n2_k0p16.wide = zext <8 x i8> %k.k0.b_n2_k0p16.bytes to <8 x i32>
  %k.k0.b_n2_k0p16.half = lshr <8 x i32> %k.k0.b_n2_k0p16.wide, splat (i32 4)
  %k.k0.b_n2_k0p16.digits = or <8 x i32> %k.k0.b_n2_k0p16.half, splat (i32 1258291200)
  %k.k0.b_n2_k0p16.float = bitcast <8 x i32> %k.k0.b_n2_k0p16.digits to <8 x float>
  %k.k0.b_n2_k0p16 = fsub <8 x float> %k.k0.b_n2_k0p16.float, splat (float 0x4160000100000000)
  %k.k0.b_n2_k0p24.at = getelementptr i8, ptr %k.k0.b_n2.block, i64 10
  %k.k0.b_n2_k0p24.bytes = load <8 x i8>, ptr %k.k0.b_n2_k0p24.at, align 1
  %k.k0.b_n2_k0p24.wide = zext <8 x i8> %k.k0.b_n2_k0p24.bytes to <8 x i32>
  %k.k0.b_n2_k0p24.half = lshr <8 x i32> %k.k0.b_n2_k0p24.wide, splat (i32 4)
  %k.k0.b_n2_k0p24.digits = or <8 x i32> %k.k0.b_n2_k0p24.half, splat (i32 1258291200)
  %k.k0.b_n2_k0p24.float = bitcast <8 x i32> %k.k0.b_n2_k0p24.digits to <8 x float>
  %k.k0.b_n2_k0p24 = fsub <8 x float> %k.k0.b_n2_k0p24.float, splat (float 0x4160000100000000)
  %k.k0.b_n3.block = getelementptr i8, ptr %b.n3, i64 %k.k0.block.offset
  %k.k0.b_n3.scale.bits = load i16, ptr %k.k0.b_n3.block, align 1
  %k.k0.b_n3.scale.first = insertelement <4 x i16> zeroinitializer, i16 %k.k0.b_n3.scale.bits, i32 0
  %k.k0.b_n3.scale.few.half = bitcast <4 x i16> %k.k0.b_n3.scale.first to <4 x half>
  %k.k0.b_n3.scale.few = fpext <4 x half> %k.k0.b_n3.scale.few.half to <4 x float>
  %k.k0.b_n3.scale = shufflevector <4 x float> %k.k0.b_n3.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %k.k0.b_n3_k0p0.at = getelementptr i8, ptr %k.k0.b_n3.block, i64 2
  %k.k0.b_n3_k0p0.bytes = load <8 x i8>, ptr %k.k0.b_n3_k0p0.at, align 1
  %k.k0.b_n3_k0p0.wide = zext <8 x i8> %k.k0.b_n3_k0p0.bytes to <8 x i32>
  %k.k0.b_n3_k0p0.half = and <8 x i32> %k.k0.b_n3_k0p0.wide, splat (i32 15)
  %k.k0.b_n3_k0p0.digits = or <8 x i32> %k.k0.b_n3_k0p0.half, splat (i32 1258291200)
  %k.k0.b_n3_k0p0.float = bitcast <8 x i32> %k.k0.b_n3_k0p0.digits to <8 x float>
  %k.k0.b_n3_k0p0 = fsub <8 x float> %k.k0.b_n3_k0p0.float, splat (float 0x4160000100000000)
  %k.k0.b_n3_k0p8.at = getelementptr i8, ptr %k.k0.b_n3.block, i64 10
  %k.k0.b_n3_k0p8.bytes = load <8 x i8>, ptr %k.k0.b_n3_k0p8.at, align 1
  %k.k0.b_n3_k0p8.wide = zext <8 x i8> %k.k0.b_n3_k0p8.bytes to <8 x i32>
  %k.k0.b_n3_k0p8.half = and <8 x i32> %k.k0.b_n3_k0p8.wide, splat (i32 15)
  %k.k0.b_n3_k0p8.digits = or <8 x i32> %k.k0.b_n3_k0p8.half, splat (i32 1258291200)
  %k.k0.b_n3_k0p8.float = bitcast <8 x i32> %k.k0.b_n3_k0p8.digits to <8 x float>
  %k.k0.b_n3_k0p8 = fsub <8 x float> %k.k0.b_n3_k0p8.float, splat (float 0x4160000100000000)
  %k.k0.b_n3_k0p16.at = getelementptr i8, ptr %k.k0.b_n3.block, i64 2
  %k.k0.b_n3_k0p16.bytes = load <8 x i8>, ptr %k.k0.b_n3_k0p16.at, align 1
  %k.k0.b_n3_k0p16.wide = zext <8 x i8> %k.k0.b_n3_k0p16.bytes to <8 x i32>
  %k.k0.b_n3_k0p16.half = lshr <8 x i32> %k.k0.b_n3_k0p16.wide, splat (i32 4)
  %k.k0.b_n3_k0p16.digits = or <8 x i32> %k.k0.b_n3_k0p16.half, splat (i32 1258291200)
  %k.k0.b_n3_k0p16.float = bitcast <8 x i32> %k.k0.b_n3_k0p16.digits to <8 x float>
  %k.k0.b_n3_k0p16 = fsub <8 x float> %k.k0.b_n3_k0p16.float, splat (float 0x4160000100000000)
  %k.k0.b_n3_k0p24.at = getelementptr i8, ptr %k.k0.b_n3.block, i64 10
  %k.k0.b_n3_k0p24.bytes = load <8 x i8>, ptr %k.k0.b_n3_k0p24.at, align 1
  %k.k0.b_n3_k0p24.wide = zext <8 x i8> %k.k0.b_n3_k0p24.bytes to <8 x i32>
  %k.k0.b_n3_k0p24.half = lshr <8 x i32> %k.k0.b_n3_k0p24.wide, splat (i32 4)
  %k.k0.b_n3_k0p24.digits = or <8 x i32> %k.k0.b_n3_k0p24.half, splat (i32 1258291200)
  %k.k0.b_n3_k0p24.float = bitcast <8 x i32> %k.k0.b_n3_k0p24.digits to <8 x float>
  %k.k0.b_n3_k0p24 = fsub <8 x float> %k.k0.b_n3_k0p24.float, splat (float 0x4160000100000000)
  %k.k0.b_n4.block = getelementptr i8, ptr %b.n4, i64 %k.k0.block.offset
  %k.k0.b_n4.scale.bits = load i16, ptr %k.k0.b_n4.block, align 1
  %k.k0.b_n4.scale.first = insertelement <4 x i16> zeroinitializer, i16 %k.k0.b_n4.scale.bits, i32 0
  %k.k0.b_n4.scale.few.half = bitcast <4 x i16> %k.k0.b_n4.scale.first to <4 x half>
  %k.k0.b_n4.scale.few = fpext <4 x half> %k.k0.b_n4.scale.few.half to <4 x float>
  %k.k0.b_n4.scale = shufflevector <4 x float> %k.k0.b_n4.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %k.k0.b_n4_k0p0.at = getelementptr i8, ptr %k.k0.b_n4.block, i64 2
  %k.k0.b_n4_k0p0.bytes = load <8 x i8>, ptr %k.k0.b_n4_k0p0.at, align 1
  %k.k0.b_n4_k0p0.wide = zext <8 x i8> %k.k0.b_n4_k0p0.bytes to <8 x i32>
  %k.k0.b_n4_k0p0.half = and <8 x i32> %k.k0.b_n4_k0p0.wide, splat (i32 15)
  %k.k0.b_n4_k0p0.digits = or <8 x i32> %k.k0.b_n4_k0p0.half, splat (i32 1258291200)
  %k.k0.b_n4_k0p0.float = bitcast <8 x i32> %k.k0.b_n4_k0p0.digits to <8 x float>
  %k.k0.b_n4_k0p0 = fsub <8 x float> %k.k0.b_n4_k0p0.float, splat (float 0x4160000100000000)
  %k.k0.b_n4_k0p8.at = getelementptr i8, ptr %k.k0.b_n4.block, i64 10
  %k.k0.b_n4_k0p8.bytes = load <8 x i8>, ptr %k.k0.b_n4_k0p8.at, align 1
  %k.k0.b_n4_k0p8.wide = zext <8 x i8> %k.k0.b_n4_k0p8.bytes to <8 x i32>
  %k.k0.b_n4_k0p8.half = and <8 x i32> %k.k0.b_n4_k0p8.wide, splat (i32 15)
  %k.k0.b_n4_k0p8.digits = or <8 x i32> %k.k0.b_n4_k0p8.half, splat (i32 1258291200)
  %k.k0.b_n4_k0p8.float = bitcast <8 x i32> %k.k0.b_n4_k0p8.digits to <8 x float>
  %k.k0.b_n4_k0p8 = fsub <8 x float> %k.k0.b_n4_k0p8.float, splat (float 0x4160000100000000)
  %k.k0.b_n4_k0p16.at = getelementptr i8, ptr %k.k0.b_n4.block, i64 2
  %k.k0.b_n4_k0p16.bytes = load <8 x i8>, ptr %k.k0.b_n4_k0p16.at, align 1
  %k.k0.b_n4_k0p16.wide = zext <8 x i8> %k.k0.b_n4_k0p16.bytes to <8 x i32>
  %k.k0.b_n4_k0p16.half = lshr <8 x i32> %k.k0.b_n4_k0p16.wide, splat (i32 4)
  %k.k0.b_n4_k0p16.digits = or <8 x i32> %k.k0.b_n4_k0p16.half, splat (i32 1258291200)
  %k.k0.b_n4_k0p16.float = bitcast <8 x i32> %k.k0.b_n4_k0p16.digits to <8 x float>
  %k.k0.b_n4_k0p16 = fsub <8 x float> %k.k0.b_n4_k0p16.float, splat (float 0x4160000100000000)
  %k.k0.b_n4_k0p24.at = getelementptr i8, ptr %k.k0.b_n4.block, i64 10
  %k.k0.b_n4_k0p24.bytes = load <8 x i8>, ptr %k.k0.b_n4_k0p24.at, align 1
  %k.k0.b_n4_k0p24.wide = zext <8 x i8> %k.k0.b_n4_k0p24.bytes to <8 x i32>
  %k.k0.b_n4_k0p24.half = lshr <8 x i32> %k.k0.b_n4_k0p24.wide, splat (i32 4)
  %k.k0.b_n4_k0p24.digits = or <8 x i32> %k.k0.b_n4_k0p24.half, splat (i32 1258291200)
  %k.k0.b_n4_k0p24.float = bitcast <8 x i32> %k.k0.b_n4_k0p24.digits to <8 x float>
  %k.k0.b_n4_k0p24 = fsub <8 x float> %k.k0.b_n4_k0p24.float, splat (float 0x4160000100000000)
  %k.k0.a_m0_k0p0.at = getelementptr float, ptr %a, i64 %k
  %k.k0.a_m0_k0p0 = load <8 x float>, ptr %k.k0.a_m0_k0p0.at, align 4
  %k.k0.a_m0_k0p8.k = add nuw i64 %k, 8
  %k.k0.a_m0_k0p8.at = getelementptr float, ptr %a, i64 %k.k0.a_m0_k0p8.k
  %k.k0.a_m0_k0p8 = load <8 x float>, ptr %k.k0.a_m0_k0p8.at, align 4
  %k.k0.a_m0_k0p16.k = add nuw i64 %k, 16
  %k.k0.a_m0_k0p16.at = getelementptr float, ptr %a, i64 %k.k0.a_m0_k0p16.k
  %k.k0.a_m0_k0p16 = load <8 x float>, ptr %k.k0.a_m0_k0p16.at, align 4
  %k.k0.a_m0_k0p24.k = add nuw i64 %k, 24
  %k.k0.a_m0_k0p24.at = getelementptr float, ptr %a, i64 %k.k0.a_m0_k0p24.k
  %k.k0.a_m0_k0p24 = load <8 x float>, ptr %k.k0.a_m0_k0p24.at, align 4
  %sum_m0_n0_k0.next.part0 = fmul <8 x float> %k.k0.a_m0_k0p0, %k.k0.b_n0_k0p0
  %sum_m0_n0_k0.next.part1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p8, <8 x float> %k.k0.b_n0_k0p8, <8 x float> %sum_m0_n0_k0.next.part0)
  %sum_m0_n0_k0.next.part2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p16, <8 x float> %k.k0.b_n0_k0p16, <8 x float> %sum_m0_n0_k0.next.part1)
  %sum_m0_n0_k0.next.part3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p24, <8 x float> %k.k0.b_n0_k0p24, <8 x float> %sum_m0_n0_k0.next.part2)
  %sum_m0_n0_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n0_k0.next.part3, <8 x float> %k.k0.b_n0.scale, <8 x float> %sum_m0_n0_k0)
  %sum_m0_n1_k0.next.part0 = fmul <8 x float> %k.k0.a_m0_k0p0, %k.k0.b_n1_k0p0
  %sum_m0_n1_k0.next.part1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p8, <8 x float> %k.k0.b_n1_k0p8, <8 x float> %sum_m0_n1_k0.next.part0)
  %sum_m0_n1_k0.next.part2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p16, <8 x float> %k.k0.b_n1_k0p16, <8 x float> %sum_m0_n1_k0.next.part1)
  %sum_m0_n1_k0.next.part3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p24, <8 x float> %k.k0.b_n1_k0p24, <8 x float> %sum_m0_n1_k0.next.part2)
  %sum_m0_n1_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n1_k0.next.part3, <8 x float> %k.k0.b_n1.scale, <8 x float> %sum_m0_n1_k0)
  %sum_m0_n2_k0.next.part0 = fmul <8 x float> %k.k0.a_m0_k0p0, %k.k0.b_n2_k0p0
  %sum_m0_n2_k0.next.part1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p8, <8 x float> %k.k0.b_n2_k0p8, <8 x float> %sum_m0_n2_k0.next.part0)
  %sum_m0_n2_k0.next.part2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p16, <8 x float> %k.k0.b_n2_k0p16, <8 x float> %sum_m0_n2_k0.next.part1)
  %sum_m0_n2_k0.next.part3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p24, <8 x float> %k.k0.b_n2_k0p24, <8 x float> %sum_m0_n2_k0.next.part2)
  %sum_m0_n2_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n2_k0.next.part3, <8 x float> %k.k0.b_n2.scale, <8 x float> %sum_m0_n2_k0)
  %sum_m0_n3_k0.next.part0 = fmul <8 x float> %k.k0.a_m0_k0p0, %k.k0.b_n3_k0p0
  %sum_m0_n3_k0.next.part1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p8, <8 x float> %k.k0.b_n3_k0p8, <8 x float> %sum_m0_n3_k0.next.part0)
  %sum_m0_n3_k0.next.part2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p16, <8 x float> %k.k0.b_n3_k0p16, <8 x float> %sum_m0_n3_k0.next.part1)
  %sum_m0_n3_k0.next.part3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p24, <8 x float> %k.k0.b_n3_k0p24, <8 x float> %sum_m0_n3_k0.next.part2)
  %sum_m0_n3_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n3_k0.next.part3, <8 x float> %k.k0.b_n3.scale, <8 x float> %sum_m0_n3_k0)
  %sum_m0_n4_k0.next.part0 = fmul <8 x float> %k.k0.a_m0_k0p0, %k.k0.b_n4_k0p0
  %sum_m0_n4_k0.next.part1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p8, <8 x float> %k.k0.b_n4_k0p8, <8 x float> %sum_m0_n4_k0.next.part0)
  %sum_m0_n4_k0.next.part2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p16, <8 x float> %k.k0.b_n4_k0p16, <8 x float> %sum_m0_n4_k0.next.part1)
  %sum_m0_n4_k0.next.part3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0_k0p24, <8 x float> %k.k0.b_n4_k0p24, <8 x float> %sum_m0_n4_k0.next.part2)
  %sum_m0_n4_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n4_k0.next.part3, <8 x float> %k.k0.b_n4.scale, <8 x float> %sum_m0_n4_k0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 32
  br label %k.head
k.done:
  %r.k0.b_n0.block = getelementptr i8, ptr %b, i64 36
  %r.k0.b_n0.scale.bits = load i16, ptr %r.k0.b_n0.block, align 1
  %r.k0.b_n0.scale.first = insertelement <4 x i16> zeroinitializer, i16 %r.k0.b_n0.scale.bits, i32 0
  %r.k0.b_n0.scale.few.half = bitcast <4 x i16> %r.k0.b_n0.scale.first to <4 x half>
  %r.k0.b_n0.scale.few = fpext <4 x half> %r.k0.b_n0.scale.few.half to <4 x float>
  %r.k0.b_n0.scale = shufflevector <4 x float> %r.k0.b_n0.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %r.k0.b_n0_k0p0.at = getelementptr i8, ptr %r.k0.b_n0.block, i64 2
  %r.k0.b_n0_k0p0.bytes = load <8 x i8>, ptr %r.k0.b_n0_k0p0.at, align 1
  %r.k0.b_n0_k0p0.wide = zext <8 x i8> %r.k0.b_n0_k0p0.bytes to <8 x i32>
  %r.k0.b_n0_k0p0.half = and <8 x i32> %r.k0.b_n0_k0p0.wide, splat (i32 15)
  %r.k0.b_n0_k0p0.digits = or <8 x i32> %r.k0.b_n0_k0p0.half, splat (i32 1258291200)
  %r.k0.b_n0_k0p0.float = bitcast <8 x i32> %r.k0.b_n0_k0p0.digits to <8 x float>
  %r.k0.b_n0_k0p0 = fsub <8 x float> %r.k0.b_n0_k0p0.float, splat (float 0x4160000100000000)
  %r.k0.b_n1.block = getelementptr i8, ptr %b.n1, i64 36
  %r.k0.b_n1.scale.bits = load i16, ptr %r.k0.b_n1.block, align 1
  %r.k0.b_n1.scale.first = insertelement <4 x i16> zeroinitializer, i16 %r.k0.b_n1.scale.bits, i32 0
  %r.k0.b_n1.scale.few.half = bitcast <4 x i16> %r.k0.b_n1.scale.first to <4 x half>
  %r.k0.b_n1.scale.few = fpext <4 x half> %r.k0.b_n1.scale.few.half to <4 x float>
  %r.k0.b_n1.scale = shufflevector <4 x float> %r.k0.b_n1.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %r.k0.b_n1_k0p0.at = getelementptr i8, ptr %r.k0.b_n1.block, i64 2
  %r.k0.b_n1_k0p0.bytes = load <8 x i8>, ptr %r.k0.b_n1_k0p0.at, align 1
  %r.k0.b_n1_k0p0.wide = zext <8 x i8> %r.k0.b_n1_k0p0.bytes to <8 x i32>
  %r.k0.b_n1_k0p0.half = and <8 x i32> %r.k0.b_n1_k0p0.wide, splat (i32 15)
  %r.k0.b_n1_k0p0.digits = or <8 x i32> %r.k0.b_n1_k0p0.half, splat (i32 1258291200)
  %r.k0.b_n1_k0p0.float = bitcast <8 x i32> %r.k0.b_n1_k0p0.digits to <8 x float>
  %r.k0.b_n1_k0p0 = fsub <8 x float> %r.k0.b_n1_k0p0.float, splat (float 0x4160000100000000)
  %r.k0.b_n2.block = getelementptr i8, ptr %b.n2, i64 36
  %r.k0.b_n2.scale.bits = load i16, ptr %r.k0.b_n2.block, align 1
  %r.k0.b_n2.scale.first = insertelement <4 x i16> zeroinitializer, i16 %r.k0.b_n2.scale.bits, i32 0
  %r.k0.b_n2.scale.few.half = bitcast <4 x i16> %r.k0.b_n2.scale.first to <4 x half>
  %r.k0.b_n2.scale.few = fpext <4 x half> %r.k0.b_n2.scale.few.half to <4 x float>
  %r.k0.b_n2.scale = shufflevector <4 x float> %r.k0.b_n2.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %r.k0.b_n2_k0p0.at = getelementptr i8, ptr %r.k0.b_n2.block, i64 2
  %r.k0.b_n2_k0p0.bytes = load <8 x i8>, ptr %r.k0.b_n2_k0p0.at, align 1
  %r.k0.b_n2_k0p0.wide = zext <8 x i8> %r.k0.b_n2_k0p0.bytes to <8 x i32>
  %r.k0.b_n2_k0p0.half = and <8 x i32> %r.k0.b_n2_k0p0.wide, splat (i32 15)
  %r.k0.b_n2_k0p0.digits = or <8 x i32> %r.k0.b_n2_k0p0.half, splat (i32 1258291200)
  %r.k0.b_n2_k0p0.float = bitcast <8 x i32> %r.k0.b_n2_k0p0.digits to <8 x float>
  %r.k0.b_n2_k0p0 = fsub <8 x float> %r.k0.b_n2_k0p0.float, splat (float 0x4160000100000000)
  %r.k0.b_n3.block = getelementptr i8, ptr %b.n3, i64 36
  %r.k0.b_n3.scale.bits = load i16, ptr %r.k0.b_n3.block, align 1
  %r.k0.b_n3.scale.first = insertelement <4 x i16> zeroinitializer, i16 %r.k0.b_n3.scale.bits, i32 0
  %r.k0.b_n3.scale.few.half = bitcast <4 x i16> %r.k0.b_n3.scale.first to <4 x half>
  %r.k0.b_n3.scale.few = fpext <4 x half> %r.k0.b_n3.scale.few.half to <4 x float>
  %r.k0.b_n3.scale = shufflevector <4 x float> %r.k0.b_n3.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %r.k0.b_n3_k0p0.at = getelementptr i8, ptr %r.k0.b_n3.block, i64 2
  %r.k0.b_n3_k0p0.bytes = load <8 x i8>, ptr %r.k0.b_n3_k0p0.at, align 1
  %r.k0.b_n3_k0p0.wide = zext <8 x i8> %r.k0.b_n3_k0p0.bytes to <8 x i32>
  %r.k0.b_n3_k0p0.half = and <8 x i32> %r.k0.b_n3_k0p0.wide, splat (i32 15)
  %r.k0.b_n3_k0p0.digits = or <8 x i32> %r.k0.b_n3_k0p0.half, splat (i32 1258291200)
  %r.k0.b_n3_k0p0.float = bitcast <8 x i32> %r.k0.b_n3_k0p0.digits to <8 x float>
  %r.k0.b_n3_k0p0 = fsub <8 x float> %r.k0.b_n3_k0p0.float, splat (float 0x4160000100000000)
  %r.k0.b_n4.block = getelementptr i8, ptr %b.n4, i64 36
  %r.k0.b_n4.scale.bits = load i16, ptr %r.k0.b_n4.block, align 1
  %r.k0.b_n4.scale.first = insertelement <4 x i16> zeroinitializer, i16 %r.k0.b_n4.scale.bits, i32 0
  %r.k0.b_n4.scale.few.half = bitcast <4 x i16> %r.k0.b_n4.scale.first to <4 x half>
  %r.k0.b_n4.scale.few = fpext <4 x half> %r.k0.b_n4.scale.few.half to <4 x float>
  %r.k0.b_n4.scale = shufflevector <4 x float> %r.k0.b_n4.scale.few, <4 x float> poison, <8 x i32> zeroinitializer
  %r.k0.b_n4_k0p0.at = getelementptr i8, ptr %r.k0.b_n4.block, i64 2
  %r.k0.b_n4_k0p0.bytes = load <8 x i8>, ptr %r.k0.b_n4_k0p0.at, align 1
  %r.k0.b_n4_k0p0.wide = zext <8 x i8> %r.k0.b_n4_k0p0.bytes to <8 x i32>
  %r.k0.b_n4_k0p0.half = and <8 x i32> %r.k0.b_n4_k0p0.wide, splat (i32 15)
  %r.k0.b_n4_k0p0.digits = or <8 x i32> %r.k0.b_n4_k0p0.half, splat (i32 1258291200)
  %r.k0.b_n4_k0p0.float = bitcast <8 x i32> %r.k0.b_n4_k0p0.digits to <8 x float>
  %r.k0.b_n4_k0p0 = fsub <8 x float> %r.k0.b_n4_k0p0.float, splat (float 0x4160000100000000)
  %r.k0.a_m0_k0p0.at = getelementptr float, ptr %a, i64 64
  %r.k0.a_m0_k0p0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.a_m0_k0p0.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %sum_m0_n0_k0.rest.part0 = fmul <8 x float> %r.k0.a_m0_k0p0, %r.k0.b_n0_k0p0
  %sum_m0_n0_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n0_k0.rest.part0, <8 x float> %r.k0.b_n0.scale, <8 x float> %sum_m0_n0_k0)
  %sum_m0_n1_k0.rest.part0 = fmul <8 x float> %r.k0.a_m0_k0p0, %r.k0.b_n1_k0p0
  %sum_m0_n1_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n1_k0.rest.part0, <8 x float> %r.k0.b_n1.scale, <8 x float> %sum_m0_n1_k0)
  %sum_m0_n2_k0.rest.part0 = fmul <8 x float> %r.k0.a_m0_k0p0, %r.k0.b_n2_k0p0
  %sum_m0_n2_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n2_k0.rest.part0, <8 x float> %r.k0.b_n2.scale, <8 x float> %sum_m0_n2_k0)
  %sum_m0_n3_k0.rest.part0 = fmul <8 x float> %r.k0.a_m0_k0p0, %r.k0.b_n3_k0p0
  %sum_m0_n3_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n3_k0.rest.part0, <8 x float> %r.k0.b_n3.scale, <8 x float> %sum_m0_n3_k0)
  %sum_m0_n4_k0.rest.part0 = fmul <8 x float> %r.k0.a_m0_k0p0, %r.k0.b_n4_k0p0
  %sum_m0_n4_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %sum_m0_n4_k0.rest.part0, <8 x float> %r.k0.b_n4.scale, <8 x float> %sum_m0_n4_k0)
  ; ---- reduce each vector sum to a number

  %sum_m0_n0.all.f0.low = shufflevector <8 x float> %sum_m0_n0_k0.rest, <8 x float> %sum_m0_n1_k0.rest, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %sum_m0_n0.all.f0.high = shufflevector <8 x float> %sum_m0_n0_k0.rest, <8 x float> %sum_m0_n1_k0.rest, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.all.f0 = fadd <8 x float> %sum_m0_n0.all.f0.low, %sum_m0_n0.all.f0.high
  %sum_m0_n0.all.f1.low = shufflevector <8 x float> %sum_m0_n2_k0.rest, <8 x float> %sum_m0_n3_k0.rest, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %sum_m0_n0.all.f1.high = shufflevector <8 x float> %sum_m0_n2_k0.rest, <8 x float> %sum_m0_n3_k0.rest, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.all.f1 = fadd <8 x float> %sum_m0_n0.all.f1.low, %sum_m0_n0.all.f1.high
  %sum_m0_n0.all.f2.low = shufflevector <8 x float> %sum_m0_n4_k0.rest, <8 x float> %sum_m0_n4_k0.rest, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %sum_m0_n0.all.f2.high = shufflevector <8 x float> %sum_m0_n4_k0.rest, <8 x float> %sum_m0_n4_k0.rest, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.all.f2 = fadd <8 x float> %sum_m0_n0.all.f2.low, %sum_m0_n0.all.f2.high
  %sum_m0_n0.all.f3.low = shufflevector <8 x float> %sum_m0_n4_k0.rest, <8 x float> %sum_m0_n4_k0.rest, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %sum_m0_n0.all.f3.high = shufflevector <8 x float> %sum_m0_n4_k0.rest, <8 x float> %sum_m0_n4_k0.rest, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.all.f3 = fadd <8 x float> %sum_m0_n0.all.f3.low, %sum_m0_n0.all.f3.high
  %sum_m0_n0.all.f4.low = shufflevector <8 x float> %sum_m0_n0.all.f0, <8 x float> %sum_m0_n0.all.f1, <8 x i32> <i32 0, i32 1, i32 4, i32 5, i32 8, i32 9, i32 12, i32 13>
  %sum_m0_n0.all.f4.high = shufflevector <8 x float> %sum_m0_n0.all.f0, <8 x float> %sum_m0_n0.all.f1, <8 x i32> <i32 2, i32 3, i32 6, i32 7, i32 10, i32 11, i32 14, i32 15>
  %sum_m0_n0.all.f4 = fadd <8 x float> %sum_m0_n0.all.f4.low, %sum_m0_n0.all.f4.high
  %sum_m0_n0.all.f5.low = shufflevector <8 x float> %sum_m0_n0.all.f2, <8 x float> %sum_m0_n0.all.f3, <8 x i32> <i32 0, i32 1, i32 4, i32 5, i32 8, i32 9, i32 12, i32 13>
  %sum_m0_n0.all.f5.high = shufflevector <8 x float> %sum_m0_n0.all.f2, <8 x float> %sum_m0_n0.all.f3, <8 x i32> <i32 2, i32 3, i32 6, i32 7, i32 10, i32 11, i32 14, i32 15>
  %sum_m0_n0.all.f5 = fadd <8 x float> %sum_m0_n0.all.f5.low, %sum_m0_n0.all.f5.high
  %sum_m0_n0.all.f6.low = shufflevector <8 x float> %sum_m0_n0.all.f4, <8 x float> %sum_m0_n0.all.f5, <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14>
  %sum_m0_n0.all.f6.high = shufflevector <8 x float> %sum_m0_n0.all.f4, <8 x float> %sum_m0_n0.all.f5, <8 x i32> <i32 1, i32 3, i32 5, i32 7, i32 9, i32 11, i32 13, i32 15>
  %sum_m0_n0.all.f6 = fadd <8 x float> %sum_m0_n0.all.f6.low, %sum_m0_n0.all.f6.high
  %sum_m0_n0.all = extractelement <8 x float> %sum_m0_n0.all.f6, i64 0
  store float %sum_m0_n0.all, ptr %acc, align 4
  %sum_m0_n1.all = extractelement <8 x float> %sum_m0_n0.all.f6, i64 1
  store float %sum_m0_n1.all, ptr %acc.n1, align 4
  %sum_m0_n2.all = extractelement <8 x float> %sum_m0_n0.all.f6, i64 2
  store float %sum_m0_n2.all, ptr %acc.n2, align 4
  %sum_m0_n3.all = extractelement <8 x float> %sum_m0_n0.all.f6, i64 3
  store float %sum_m0_n3.all, ptr %acc.n3, align 4
  %sum_m0_n4.all = extractelement <8 x float> %sum_m0_n0.all.f6, i64 4
  store float %sum_m0_n4.all, ptr %acc.n4, align 4
  ret void
}
define void @matmul_2x5x70_f32_nt_by_s4(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %acc = alloca [64 x i8], align 64
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
  %j.more = icmp ult i64 %j, 1
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 54
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 2
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 280
  %p.w.a = getelementptr i8, ptr %a, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 32
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.acc = getelementptr i8, ptr %acc, i64 %p.w.corner
  call void @tile_1x5(ptr %p.w.a, ptr %p.b, ptr %p.w.acc, i64 1)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 1
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 1
  br label %j.head
j.done:

  ; ---- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 2
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.row.offset = mul nuw i64 %m, 32
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  %out.offset = mul nuw i64 %m, 20
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  %t.acc = load <8 x float>, ptr %acc.row, align 32
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t.acc, ptr align 4 %out.row, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
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

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
