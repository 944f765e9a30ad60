; conv2d_1x8x4x3_8x8x3x3_f32_nhwc_hwio_p1_winograd2_packedb
;
; computes:  out = convolution(A, B) with padding 1x1x1x1, math winograd2, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=winograd,mr=2,nr=8,mc=2,kc=8,nc=8,pack_a=1,pack_b=0,ahead=0,in_workspace=0 (user)
; launch:    2 tasks of up to 2 x 8 outputs; 2 x 1 blocks; rows are tiles
; method:    Winograd F(2x2, 3x3): a tile of 2 x 2 outputs sees 4 x 4 inputs; its transform has 16 positions,
;              each a GEMM of tiles x channels by channels x outputs
; memory:    stack, 6784 B
;            %a.pack: transformed tiles, [16][mc][kc], 96 B per row, 4096 B
;            %acc: their sums, [16][mc][nc], 32 B per row, 2048 B
;            %patch: inputs of a cut tile, 512 B
;            %block: outputs of a tile, 128 B
; arguments: a: input f32[1, 4, 3, 8], strides [96, 24, 8, 1]
;            b: input f32[1, 128, 8, 1], strides [1024, 8, 1, 1], prepacked: (k, n) at [n / 8][k / 1][n % 8][k %
;              1], zero past K and N
;            out: output f32[1, 4, 3, 8], strides [96, 24, 8, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_2x8(ptr noalias %a, ptr noalias %b, ptr noalias %acc) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 8
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 32
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <8 x float>, ptr %k.b, align 4
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
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <8 x float> %sum_m0_n0, ptr %acc, align 32
  %sum_m1_n0.at = getelementptr i8, ptr %acc, i64 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 32
  ret void
}

; Transform the inputs of a tile, whose rows and columns are %row and %column bytes apart, to all positions.
define internal void @transform_inputs(ptr noalias %from, i64 %row, i64 %column, ptr noalias %to) #1 {
enter:
  %x0_0 = load <8 x float>, ptr %from, align 4
  %x0_1.at = getelementptr i8, ptr %from, i64 %column
  %x0_1 = load <8 x float>, ptr %x0_1.at, align 4
  %x0_2.at.offset = mul nuw i64 %column, 2
  %x0_2.at = getelementptr i8, ptr %from, i64 %x0_2.at.offset
  %x0_2 = load <8 x float>, ptr %x0_2.at, align 4
  %x0_3.at.offset = mul nuw i64 %column, 3
  %x0_3.at = getelementptr i8, ptr %from, i64 %x0_3.at.offset
  %x0_3 = load <8 x float>, ptr %x0_3.at, align 4
  %x1_0.row = getelementptr i8, ptr %from, i64 %row
  %x1_0 = load <8 x float>, ptr %x1_0.row, align 4
  %x1_1.row = getelementptr i8, ptr %from, i64 %row
  %x1_1.at = getelementptr i8, ptr %x1_1.row, i64 %column
  %x1_1 = load <8 x float>, ptr %x1_1.at, align 4
  %x1_2.row = getelementptr i8, ptr %from, i64 %row
  %x1_2.at.offset = mul nuw i64 %column, 2
  %x1_2.at = getelementptr i8, ptr %x1_2.row, i64 %x1_2.at.offset
  %x1_2 = load <8 x float>, ptr %x1_2.at, align 4
  %x1_3.row = getelementptr i8, ptr %from, i64 %row
  %x1_3.at.offset = mul nuw i64 %column, 3
  %x1_3.at = getelementptr i8, ptr %x1_3.row, i64 %x1_3.at.offset
  %x1_3 = load <8 x float>, ptr %x1_3.at, align 4
  %x2_0.row.offset = mul nuw i64 %row, 2
  %x2_0.row = getelementptr i8, ptr %from, i64 %x2_0.row.offset
  %x2_0 = load <8 x float>, ptr %x2_0.row, align 4
  %x2_1.row.offset = mul nuw i64 %row, 2
  %x2_1.row = getelementptr i8, ptr %from, i64 %x2_1.row.offset
  %x2_1.at = getelementptr i8, ptr %x2_1.row, i64 %column
  %x2_1 = load <8 x float>, ptr %x2_1.at, align 4
  %x2_2.row.offset = mul nuw i64 %row, 2
  %x2_2.row = getelementptr i8, ptr %from, i64 %x2_2.row.offset
  %x2_2.at.offset = mul nuw i64 %column, 2
  %x2_2.at = getelementptr i8, ptr %x2_2.row, i64 %x2_2.at.offset
  %x2_2 = load <8 x float>, ptr %x2_2.at, align 4
  %x2_3.row.offset = mul nuw i64 %row, 2
  %x2_3.row = getelementptr i8, ptr %from, i64 %x2_3.row.offset
  %x2_3.at.offset = mul nuw i64 %column, 3
  %x2_3.at = getelementptr i8, ptr %x2_3.row, i64 %x2_3.at.offset
  %x2_3 = load <8 x float>, ptr %x2_3.at, align 4
  %x3_0.row.offset = mul nuw i64 %row, 3
  %x3_0.row = getelementptr i8, ptr %from, i64 %x3_0.row.offset
  %x3_0 = load <8 x float>, ptr %x3_0.row, align 4
  %x3_1.row.offset = mul nuw i64 %row, 3
  %x3_1.row = getelementptr i8, ptr %from, i64 %x3_1.row.offset
  %x3_1.at = getelementptr i8, ptr %x3_1.row, i64 %column
  %x3_1 = load <8 x float>, ptr %x3_1.at, align 4
  %x3_2.row.offset = mul nuw i64 %row, 3
  %x3_2.row = getelementptr i8, ptr %from, i64 %x3_2.row.offset
  %x3_2.at.offset = mul nuw i64 %column, 2
  %x3_2.at = getelementptr i8, ptr %x3_2.row, i64 %x3_2.at.offset
  %x3_2 = load <8 x float>, ptr %x3_2.at, align 4
  %x3_3.row.offset = mul nuw i64 %row, 3
  %x3_3.row = getelementptr i8, ptr %from, i64 %x3_3.row.offset
  %x3_3.at.offset = mul nuw i64 %column, 3
  %x3_3.at = getelementptr i8, ptr %x3_3.row, i64 %x3_3.at.offset
  %x3_3 = load <8 x float>, ptr %x3_3.at, align 4
  %column0.0 = fsub <8 x float> %x0_0, %x2_0
  %column0.1 = fadd <8 x float> %x2_0, %x1_0
  %column0.2 = fsub <8 x float> %x2_0, %x1_0
  %column0.3 = fsub <8 x float> %x1_0, %x3_0
  %column1.0 = fsub <8 x float> %x0_1, %x2_1
  %column1.1 = fadd <8 x float> %x2_1, %x1_1
  %column1.2 = fsub <8 x float> %x2_1, %x1_1
  %column1.3 = fsub <8 x float> %x1_1, %x3_1
  %column2.0 = fsub <8 x float> %x0_2, %x2_2
  %column2.1 = fadd <8 x float> %x2_2, %x1_2
  %column2.2 = fsub <8 x float> %x2_2, %x1_2
  %column2.3 = fsub <8 x float> %x1_2, %x3_2
  %column3.0 = fsub <8 x float> %x0_3, %x2_3
  %column3.1 = fadd <8 x float> %x2_3, %x1_3
  %column3.2 = fsub <8 x float> %x2_3, %x1_3
  %column3.3 = fsub <8 x float> %x1_3, %x3_3
  %row0.0 = fsub <8 x float> %column0.0, %column2.0
  %row0.1 = fadd <8 x float> %column2.0, %column1.0
  %row0.2 = fsub <8 x float> %column2.0, %column1.0
  %row0.3 = fsub <8 x float> %column1.0, %column3.0
  %row1.0 = fsub <8 x float> %column0.1, %column2.1
  %row1.1 = fadd <8 x float> %column2.1, %column1.1
  %row1.2 = fsub <8 x float> %column2.1, %column1.1
  %row1.3 = fsub <8 x float> %column1.1, %column3.1
  %row2.0 = fsub <8 x float> %column0.2, %column2.2
  %row2.1 = fadd <8 x float> %column2.2, %column1.2
  %row2.2 = fsub <8 x float> %column2.2, %column1.2
  %row2.3 = fsub <8 x float> %column1.2, %column3.2
  %row3.0 = fsub <8 x float> %column0.3, %column2.3
  %row3.1 = fadd <8 x float> %column2.3, %column1.3
  %row3.2 = fsub <8 x float> %column2.3, %column1.3
  %row3.3 = fsub <8 x float> %column1.3, %column3.3
  store <8 x float> %row0.0, ptr %to, align 32
  %to.256 = getelementptr i8, ptr %to, i64 256
  store <8 x float> %row0.1, ptr %to.256, align 32
  %to.512 = getelementptr i8, ptr %to, i64 512
  store <8 x float> %row0.2, ptr %to.512, align 32
  %to.768 = getelementptr i8, ptr %to, i64 768
  store <8 x float> %row0.3, ptr %to.768, align 32
  %to.1024 = getelementptr i8, ptr %to, i64 1024
  store <8 x float> %row1.0, ptr %to.1024, align 32
  %to.1280 = getelementptr i8, ptr %to, i64 1280
  store <8 x float> %row1.1, ptr %to.1280, align 32
  %to.1536 = getelementptr i8, ptr %to, i64 1536
  store <8 x float> %row1.2, ptr %to.1536, align 32
  %to.1792 = getelementptr i8, ptr %to, i64 1792
  store <8 x float> %row1.3, ptr %to.1792, align 32
  %to.2048 = getelementptr i8, ptr %to, i64 2048
  store <8 x float> %row2.0, ptr %to.2048, align 32
  %to.2304 = getelementptr i8, ptr %to, i64 2304
  store <8 x float> %row2.1, ptr %to.2304, align 32
  %to.2560 = getelementptr i8, ptr %to, i64 2560
  store <8 x float> %row2.2, ptr %to.2560, align 32
  %to.2816 = getelementptr i8, ptr %to, i64 2816
  store <8 x float> %row2.3, ptr %to.2816, align 32
  %to.3072 = getelementptr i8, ptr %to, i64 3072
  store <8 x float> %row3.0, ptr %to.3072, align 32
  %to.3328 = getelementptr i8, ptr %to, i64 3328
  store <8 x float> %row3.1, ptr %to.3328, align 32
  %to.3584 = getelementptr i8, ptr %to, i64 3584
  store <8 x float> %row3.2, ptr %to.3584, align 32
  %to.3840 = getelementptr i8, ptr %to, i64 3840
  store <8 x float> %row3.3, ptr %to.3840, align 32
  ret void
}

; Transform the sums of all positions of a tile to its outputs.
define internal void @transform_sums(ptr noalias %from, ptr noalias %to) #1 {
enter:
  %x0_0 = load <8 x float>, ptr %from, align 32
  %x0_1.at = getelementptr i8, ptr %from, i64 128
  %x0_1 = load <8 x float>, ptr %x0_1.at, align 32
  %x0_2.at = getelementptr i8, ptr %from, i64 256
  %x0_2 = load <8 x float>, ptr %x0_2.at, align 32
  %x0_3.at = getelementptr i8, ptr %from, i64 384
  %x0_3 = load <8 x float>, ptr %x0_3.at, align 32
  %x1_0.at = getelementptr i8, ptr %from, i64 512
  %x1_0 = load <8 x float>, ptr %x1_0.at, align 32
  %x1_1.at = getelementptr i8, ptr %from, i64 640
  %x1_1 = load <8 x float>, ptr %x1_1.at, align 32
  %x1_2.at = getelementptr i8, ptr %from, i64 768
  %x1_2 = load <8 x float>, ptr %x1_2.at, align 32
  %x1_3.at = getelementptr i8, ptr %from, i64 896
  %x1_3 = load <8 x float>, ptr %x1_3.at, align 32
  %x2_0.at = getelementptr i8, ptr %from, i64 1024
  %x2_0 = load <8 x float>, ptr %x2_0.at, align 32
  %x2_1.at = getelementptr i8, ptr %from, i64 1152
  %x2_1 = load <8 x float>, ptr %x2_1.at, align 32
  %x2_2.at = getelementptr i8, ptr %from, i64 1280
  %x2_2 = load <8 x float>, ptr %x2_2.at, align 32
  %x2_3.at = getelementptr i8, ptr %from, i64 1408
  %x2_3 = load <8 x float>, ptr %x2_3.at, align 32
  %x3_0.at = getelementptr i8, ptr %from, i64 1536
  %x3_0 = load <8 x float>, ptr %x3_0.at, align 32
  %x3_1.at = getelementptr i8, ptr %from, i64 1664
  %x3_1 = load <8 x float>, ptr %x3_1.at, align 32
  %x3_2.at = getelementptr i8, ptr %from, i64 1792
  %x3_2 = load <8 x float>, ptr %x3_2.at, align 32
  %x3_3.at = getelementptr i8, ptr %from, i64 1920
  %x3_3 = load <8 x float>, ptr %x3_3.at, align 32
  %column0.x1_0.sum = fadd <8 x float> %x1_0, %x2_0
  %column0.x1_0.difference = fsub <8 x float> %x1_0, %x2_0
  %column0.0 = fadd <8 x float> %x0_0, %column0.x1_0.sum
  %column0.1 = fsub <8 x float> %column0.x1_0.difference, %x3_0
  %column1.x1_1.sum = fadd <8 x float> %x1_1, %x2_1
  %column1.x1_1.difference = fsub <8 x float> %x1_1, %x2_1
  %column1.0 = fadd <8 x float> %x0_1, %column1.x1_1.sum
  %column1.1 = fsub <8 x float> %column1.x1_1.difference, %x3_1
  %column2.x1_2.sum = fadd <8 x float> %x1_2, %x2_2
  %column2.x1_2.difference = fsub <8 x float> %x1_2, %x2_2
  %column2.0 = fadd <8 x float> %x0_2, %column2.x1_2.sum
  %column2.1 = fsub <8 x float> %column2.x1_2.difference, %x3_2
  %column3.x1_3.sum = fadd <8 x float> %x1_3, %x2_3
  %column3.x1_3.difference = fsub <8 x float> %x1_3, %x2_3
  %column3.0 = fadd <8 x float> %x0_3, %column3.x1_3.sum
  %column3.1 = fsub <8 x float> %column3.x1_3.difference, %x3_3
  %row0.column1.0.sum = fadd <8 x float> %column1.0, %column2.0
  %row0.column1.0.difference = fsub <8 x float> %column1.0, %column2.0
  %row0.0 = fadd <8 x float> %column0.0, %row0.column1.0.sum
  %row0.1 = fsub <8 x float> %row0.column1.0.difference, %column3.0
  %row1.column1.1.sum = fadd <8 x float> %column1.1, %column2.1
  %row1.column1.1.difference = fsub <8 x float> %column1.1, %column2.1
  %row1.0 = fadd <8 x float> %column0.1, %row1.column1.1.sum
  %row1.1 = fsub <8 x float> %row1.column1.1.difference, %column3.1
  store <8 x float> %row0.0, ptr %to, align 32
  %to.32 = getelementptr i8, ptr %to, i64 32
  store <8 x float> %row0.1, ptr %to.32, align 32
  %to.64 = getelementptr i8, ptr %to, i64 64
  store <8 x float> %row1.0, ptr %to.64, align 32
  %to.96 = getelementptr i8, ptr %to, i64 96
  store <8 x float> %row1.1, ptr %to.96, align 32
  ret void
}

define void @conv2d_1x8x4x3_8x8x3x3_f32_nhwc_hwio_p1_winograd2_packedb(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [4096 x i8], align 64
  %acc = alloca [2048 x i8], align 64
  %patch = alloca [512 x i8], align 64
  %block = alloca [128 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest
  %block.m = urem i64 %task, 2
  %m0 = mul nuw i64 %block.m, 2

  ; ---- prologue: transform the inputs of the block's tiles
  br label %t.enter
t.enter:
  br label %t.head
t.head:
  %t = phi i64 [ 0, %t.enter ], [ %t.after, %t.latch ]
  %t.more = icmp ult i64 %t, 2
  br i1 %t.more, label %t.body, label %t.done
t.body:
  %t.tile = add nuw i64 %m0, %t
  %t.image = udiv i64 %t.tile, 4
  %t.y.count = udiv i64 %t.tile, 2
  %t.y = urem i64 %t.y.count, 2
  %t.x = urem i64 %t.tile, 2
  %t.at.image.offset = mul nuw i64 %t.image, 384
  %t.at.image = getelementptr i8, ptr %a, i64 %t.at.image.offset
  %t.y.first = mul nuw i64 %t.y, 2
  %t.y.from = sub i64 %t.y.first, 1
  %t.y.offset = mul i64 %t.y.from, 96
  %t.y.missing = sub i64 0, %t.y.from
  %t.y.start = call i64 @llvm.smax.i64(i64 %t.y.missing, i64 0)
  %t.y.left = sub i64 4, %t.y.from
  %t.y.stop = call i64 @llvm.smin.i64(i64 %t.y.left, i64 4)
  %t.y.length = sub i64 %t.y.stop, %t.y.start
  %t.y.iscut = icmp ne i64 %t.y.length, 4
  %t.x.first = mul nuw i64 %t.x, 2
  %t.x.from = sub i64 %t.x.first, 1
  %t.x.offset = mul i64 %t.x.from, 32
  %t.x.missing = sub i64 0, %t.x.from
  %t.x.start = call i64 @llvm.smax.i64(i64 %t.x.missing, i64 0)
  %t.x.left = sub i64 3, %t.x.from
  %t.x.stop = call i64 @llvm.smin.i64(i64 %t.x.left, i64 4)
  %t.x.length = sub i64 %t.x.stop, %t.x.start
  %t.x.iscut = icmp ne i64 %t.x.length, 4
  %t.at.y = getelementptr i8, ptr %t.at.image, i64 %t.y.offset
  %t.at.x = getelementptr i8, ptr %t.at.y, i64 %t.x.offset
  %t.iscut = or i1 %t.y.iscut, %t.x.iscut
  %t.to.offset = mul nuw i64 %t, 96
  %t.to = getelementptr i8, ptr %a.pack, i64 %t.to.offset
  br i1 %t.iscut, label %t.outside.do, label %t.outside.done
t.outside.do:
  br label %t.clear.enter
t.clear.enter:
  br label %t.clear.head
t.clear.head:
  %t.clear = phi i64 [ 0, %t.clear.enter ], [ %t.clear.after, %t.clear.latch ]
  %t.clear.more = icmp ult i64 %t.clear, 512
  br i1 %t.clear.more, label %t.clear.body, label %t.clear.done
t.clear.body:
  %t.clear.at = getelementptr i8, ptr %patch, i64 %t.clear
  store <32 x i8> zeroinitializer, ptr %t.clear.at, align 32
  br label %t.clear.latch
t.clear.latch:
  %t.clear.after = add nuw i64 %t.clear, 32
  br label %t.clear.head
t.clear.done:
  br label %t.outside.done
t.outside.done:
  br label %c.enter
c.enter:
  br label %c.head
c.head:
  %c = phi i64 [ 0, %c.enter ], [ %c.after, %c.latch ]
  %c.more = icmp ult i64 %c, 8
  br i1 %c.more, label %c.body, label %c.done
c.body:
  %c.from.offset = mul nuw i64 %c, 4
  %c.from = getelementptr i8, ptr %t.at.x, i64 %c.from.offset
  %c.to.offset = mul nuw i64 %c, 4
  %c.to = getelementptr i8, ptr %t.to, i64 %c.to.offset
  br i1 %t.iscut, label %c.tile.cut, label %c.tile.whole
c.tile.whole:
  call void @transform_inputs(ptr %c.from, i64 96, i64 32, ptr %c.to)
  br label %c.tile.joined
c.tile.cut:
  br label %cp.y.enter
cp.y.enter:
  br label %cp.y.head
cp.y.head:
  %cp.y = phi i64 [ %t.y.start, %cp.y.enter ], [ %cp.y.after, %cp.y.latch ]
  %cp.y.more = icmp ult i64 %cp.y, %t.y.stop
  br i1 %cp.y.more, label %cp.y.body, label %cp.y.done
cp.y.body:
  %cp.y.from.offset = mul nuw i64 %cp.y, 96
  %cp.y.from = getelementptr i8, ptr %c.from, i64 %cp.y.from.offset
  %cp.y.to.offset = mul nuw i64 %cp.y, 128
  %cp.y.to = getelementptr i8, ptr %patch, i64 %cp.y.to.offset
  br label %cp.x.enter
cp.x.enter:
  br label %cp.x.head
cp.x.head:
  %cp.x = phi i64 [ %t.x.start, %cp.x.enter ], [ %cp.x.after, %cp.x.latch ]
  %cp.x.more = icmp ult i64 %cp.x, %t.x.stop
  br i1 %cp.x.more, label %cp.x.body, label %cp.x.done
cp.x.body:
  %cp.x.from.offset = mul nuw i64 %cp.x, 32
  %cp.x.from = getelementptr i8, ptr %cp.y.from, i64 %cp.x.from.offset
  %cp.x.to.offset = mul nuw i64 %cp.x, 32
  %cp.x.to = getelementptr i8, ptr %cp.y.to, i64 %cp.x.to.offset
  %cp.input = load <8 x float>, ptr %cp.x.from, align 4
  store <8 x float> %cp.input, ptr %cp.x.to, align 32
  br label %cp.x.latch
cp.x.latch:
  %cp.x.after = add nuw i64 %cp.x, 1
  br label %cp.x.head
cp.x.done:
  br label %cp.y.latch
cp.y.latch:
  %cp.y.after = add nuw i64 %cp.y, 1
  br label %cp.y.head
cp.y.done:
  call void @transform_inputs(ptr %patch, i64 128, i64 32, ptr %c.to)
  br label %c.tile.joined
c.tile.joined:
  br label %c.latch
c.latch:
  %c.after = add nuw i64 %c, 8
  br label %c.head
c.done:
  br label %t.latch
t.latch:
  %t.after = add nuw i64 %t, 1
  br label %t.head
t.done:
  br label %position.enter
position.enter:
  br label %position.head
position.head:
  %position = phi i64 [ 0, %position.enter ], [ %position.after, %position.latch ]
  %position.more = icmp ult i64 %position, 16
  br i1 %position.more, label %position.body, label %position.done
position.body:
  %a.position.offset = mul nuw i64 %position, 256
  %a.position = getelementptr i8, ptr %a.pack, i64 %a.position.offset
  %acc.position.offset = mul nuw i64 %position, 128
  %acc.position = getelementptr i8, ptr %acc, i64 %acc.position.offset
  %b.position.offset = mul nuw i64 %position, 256
  %b.position = getelementptr i8, ptr %b, i64 %b.position.offset
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 8
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 512
  %p.b = getelementptr i8, ptr %b.position, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 2
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 96
  %p.w.a = getelementptr i8, ptr %a.position, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 32
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.acc = getelementptr i8, ptr %acc.position, i64 %p.w.corner
  call void @tile_2x8(ptr %p.w.a, ptr %p.b, ptr %p.w.acc)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 2
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 8
  br label %j.head
j.done:
  br label %position.latch
position.latch:
  %position.after = add nuw i64 %position, 1
  br label %position.head
position.done:

  ; ---- epilogue: transform the sums of each tile to outputs
  br label %o.enter
o.enter:
  br label %o.head
o.head:
  %o = phi i64 [ 0, %o.enter ], [ %o.after, %o.latch ]
  %o.more = icmp ult i64 %o, 2
  br i1 %o.more, label %o.body, label %o.done
o.body:
  %o.tile = add nuw i64 %m0, %o
  %o.image = udiv i64 %o.tile, 4
  %o.y.count = udiv i64 %o.tile, 2
  %o.y = urem i64 %o.y.count, 2
  %o.x = urem i64 %o.tile, 2
  %o.at.image = mul nuw i64 %o.image, 96
  %o.y.first = mul nuw i64 %o.y, 2
  %o.y.left = sub nuw i64 4, %o.y.first
  %o.y.stop.less = icmp ult i64 %o.y.left, 2
  %o.y.stop = select i1 %o.y.stop.less, i64 %o.y.left, i64 2
  %o.y.elements = mul nuw i64 %o.y.first, 24
  %o.at.y = add nuw i64 %o.at.image, %o.y.elements
  %o.x.first = mul nuw i64 %o.x, 2
  %o.x.left = sub nuw i64 3, %o.x.first
  %o.x.stop.less = icmp ult i64 %o.x.left, 2
  %o.x.stop = select i1 %o.x.stop.less, i64 %o.x.left, i64 2
  %o.x.elements = mul nuw i64 %o.x.first, 8
  %o.at.x = add nuw i64 %o.at.y, %o.x.elements
  %o.out.offset = mul nuw i64 %o.at.x, 4
  %o.out = getelementptr i8, ptr %out, i64 %o.out.offset
  %o.sums.offset = mul nuw i64 %o, 32
  %o.sums = getelementptr i8, ptr %acc, i64 %o.sums.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 8
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %w.sums.offset = mul nuw i64 %n, 4
  %w.sums = getelementptr i8, ptr %o.sums, i64 %w.sums.offset
  call void @transform_sums(ptr %w.sums, ptr %block)
  br label %w.y.enter
w.y.enter:
  br label %w.y.head
w.y.head:
  %w.y = phi i64 [ 0, %w.y.enter ], [ %w.y.after, %w.y.latch ]
  %w.y.more = icmp ult i64 %w.y, %o.y.stop
  br i1 %w.y.more, label %w.y.body, label %w.y.done
w.y.body:
  %w.y.sums.offset = mul nuw i64 %w.y, 64
  %w.y.sums = getelementptr i8, ptr %block, i64 %w.y.sums.offset
  %w.y.elements = mul nuw i64 %w.y, 24
  %w.y.element = add nuw i64 %w.y.elements, %n
  br label %w.x.enter
w.x.enter:
  br label %w.x.head
w.x.head:
  %w.x = phi i64 [ 0, %w.x.enter ], [ %w.x.after, %w.x.latch ]
  %w.x.more = icmp ult i64 %w.x, %o.x.stop
  br i1 %w.x.more, label %w.x.body, label %w.x.done
w.x.body:
  %w.x.sums.offset = mul nuw i64 %w.x, 32
  %w.x.sums = getelementptr i8, ptr %w.y.sums, i64 %w.x.sums.offset
  %w.output = load <8 x float>, ptr %w.x.sums, align 32
  %w.x.elements = mul nuw i64 %w.x, 8
  %w.x.element = add nuw i64 %w.y.element, %w.x.elements
  %w.out.at.offset = mul nuw i64 %w.x.element, 4
  %w.out.at = getelementptr i8, ptr %o.out, i64 %w.out.at.offset
  store <8 x float> %w.output, ptr %w.out.at, align 4
  br label %w.x.latch
w.x.latch:
  %w.x.after = add nuw i64 %w.x, 1
  br label %w.x.head
w.x.done:
  br label %w.y.latch
w.y.latch:
  %w.y.after = add nuw i64 %w.y, 1
  br label %w.y.head
w.y.done:
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 8
  br label %n.head
n.done:
  br label %o.latch
o.latch:
  %o.after = add nuw i64 %o, 1
  br label %o.head
o.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
