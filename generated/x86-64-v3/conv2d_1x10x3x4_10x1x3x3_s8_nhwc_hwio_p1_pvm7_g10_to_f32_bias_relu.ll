; conv2d_1x10x3x4_10x1x3x3_s8_nhwc_hwio_p1_pvm7_g10_to_f32_bias_relu
;
; computes:  out = relu(convolution(A, B) + bias) with padding 1x1x1x1, padding value -7, 10 groups, accumulated
;              in s32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=depthwise,task=3,tile=4,columns=0,channels=0,prefetch=1 (model)
; launch:    1 task of up to 3 rows of the output
; method:    a row of the output in tiles of 4 outputs, whose sums stay in registers for all rows of the kernel;
;              each vector holds neighbouring channels
; arguments: a: input s8[1, 3, 4, 10], strides [120, 40, 10, 1]
;            b: input s8[3, 3, 1, 10], strides [30, 10, 10, 1]
;            bias: input f32[10], strides [1]
;            out: output f32[1, 3, 4, 10], strides [120, 40, 10, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @conv2d_1x10x3x4_10x1x3x3_s8_nhwc_hwio_p1_pvm7_g10_to_f32_bias_relu(ptr %a, ptr %b, ptr %bias, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %begin.row = mul nuw i64 %begin, 3
  %end.row = mul nuw i64 %end, 3
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ %begin.row, %r.enter ], [ %r.after, %r.latch ]
  %r.more = icmp ult i64 %r, %end.row
  br i1 %r.more, label %r.body, label %r.done
r.body:
  ; ---- addresses: a row of the output, and the first element of its windows, which may be padding
  %r.image = udiv i64 %r, 3
  %r.image.offset = mul nuw i64 %r.image, 120
  %r.image.from = getelementptr i8, ptr %a, i64 %r.image.offset
  %r.y.position = urem i64 %r, 3
  %r.y = sub i64 %r.y.position, 1
  %r.y.offset = mul i64 %r.y, 40
  %r.y.from = getelementptr i8, ptr %r.image.from, i64 %r.y.offset
  %r.from = getelementptr i8, ptr %r.y.from, i64 -10
  %r.element = mul nuw i64 %r, 40
  %r.out.offset = mul nuw i64 %r.element, 4
  %r.out = getelementptr i8, ptr %out, i64 %r.out.offset
  ; ---- outputs 0 to 4 of the row
  br label %x0.c.enter
x0.c.enter:
  br label %x0.c.head
x0.c.head:
  %x0.c = phi i64 [ 0, %x0.c.enter ], [ %x0.c.after, %x0.c.latch ]
  %x0.c.more = icmp ult i64 %x0.c, 8
  br i1 %x0.c.more, label %x0.c.body, label %x0.c.done
x0.c.body:
  %x0.w.from = getelementptr i8, ptr %r.from, i64 %x0.c
  %x0.w.b = getelementptr i8, ptr %b, i64 %x0.c
  %x0.w.bias.offset = mul nuw i64 %x0.c, 4
  %x0.w.bias.at = getelementptr i8, ptr %bias, i64 %x0.w.bias.offset
  %x0.w.bias = load <8 x float>, ptr %x0.w.bias.at, align 4
  %x0.w.ahead0 = getelementptr i8, ptr %x0.w.from, i64 140
  call void @llvm.prefetch.p0(ptr %x0.w.ahead0, i32 0, i32 3, i32 1)
  %x0.w.ahead1 = getelementptr i8, ptr %x0.w.from, i64 150
  call void @llvm.prefetch.p0(ptr %x0.w.ahead1, i32 0, i32 3, i32 1)
  %x0.w.ahead2 = getelementptr i8, ptr %x0.w.from, i64 160
  call void @llvm.prefetch.p0(ptr %x0.w.ahead2, i32 0, i32 3, i32 1)
  %x0.w.ahead3 = getelementptr i8, ptr %x0.w.from, i64 170
  call void @llvm.prefetch.p0(ptr %x0.w.ahead3, i32 0, i32 3, i32 1)
  ; products of each row of the kernel, added to the sums of the tile
  br label %x0.w.k.enter
x0.w.k.enter:
  br label %x0.w.k.head
x0.w.k.head:
  %x0.w.k = phi i64 [ 0, %x0.w.k.enter ], [ %x0.w.k.after, %x0.w.k.latch ]
  %x0.w.acc0 = phi <8 x i32> [ zeroinitializer, %x0.w.k.enter ], [ %x0.w.acc0.next, %x0.w.k.latch ]
  %x0.w.acc1 = phi <8 x i32> [ zeroinitializer, %x0.w.k.enter ], [ %x0.w.acc1.next, %x0.w.k.latch ]
  %x0.w.acc2 = phi <8 x i32> [ zeroinitializer, %x0.w.k.enter ], [ %x0.w.acc2.next, %x0.w.k.latch ]
  %x0.w.acc3 = phi <8 x i32> [ zeroinitializer, %x0.w.k.enter ], [ %x0.w.acc3.next, %x0.w.k.latch ]
  %x0.w.k.more = icmp ult i64 %x0.w.k, 3
  br i1 %x0.w.k.more, label %x0.w.k.body, label %x0.w.k.done
x0.w.k.body:
  %x0.w.k.b.offset = mul nuw i64 %x0.w.k, 30
  %x0.w.k.b = getelementptr i8, ptr %x0.w.b, i64 %x0.w.k.b.offset
  %x0.w.w0.bits = load <8 x i8>, ptr %x0.w.k.b, align 1
  %x0.w.w0 = sext <8 x i8> %x0.w.w0.bits to <8 x i32>
  %x0.w.w0.low = and <8 x i32> %x0.w.w0, splat (i32 65535)
  %x0.w.w0.words = bitcast <8 x i32> %x0.w.w0.low to <16 x i16>
  %x0.w.w1.at = getelementptr i8, ptr %x0.w.k.b, i64 10
  %x0.w.w1.bits = load <8 x i8>, ptr %x0.w.w1.at, align 1
  %x0.w.w1 = sext <8 x i8> %x0.w.w1.bits to <8 x i32>
  %x0.w.w1.low = and <8 x i32> %x0.w.w1, splat (i32 65535)
  %x0.w.w1.words = bitcast <8 x i32> %x0.w.w1.low to <16 x i16>
  %x0.w.w2.at = getelementptr i8, ptr %x0.w.k.b, i64 20
  %x0.w.w2.bits = load <8 x i8>, ptr %x0.w.w2.at, align 1
  %x0.w.w2 = sext <8 x i8> %x0.w.w2.bits to <8 x i32>
  %x0.w.w2.low = and <8 x i32> %x0.w.w2, splat (i32 65535)
  %x0.w.w2.words = bitcast <8 x i32> %x0.w.w2.low to <16 x i16>
  %x0.w.y.place = urem i64 %x0.w.k, 3
  %x0.w.y.offset = mul nuw i64 %x0.w.y.place, 40
  %x0.w.y.from = getelementptr i8, ptr %x0.w.from, i64 %x0.w.y.offset
  %x0.w.y = add i64 %r.y, %x0.w.y.place
  %x0.w.y.inside = icmp ult i64 %x0.w.y, 3
  %x0.w.y.all.inside = and i1 %x0.w.y.inside, true
  br i1 %x0.w.y.all.inside, label %x0.w.k.row.inside, label %x0.w.k.row.outside
x0.w.k.row.outside:
  %x0.w.z0.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z0.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z0.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.z0.p0 = add <8 x i32> %x0.w.acc0, %x0.w.z0.p0.products
  %x0.w.z0.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z0.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z0.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.z0.p1 = add <8 x i32> %x0.w.z0.p0, %x0.w.z0.p1.products
  %x0.w.z1.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z1.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z1.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.z1.p0 = add <8 x i32> %x0.w.acc1, %x0.w.z1.p0.products
  %x0.w.z0.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z0.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z0.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.z0.sum = add <8 x i32> %x0.w.z0.p1, %x0.w.z0.sum.products
  %x0.w.z1.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z1.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z1.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.z1.p1 = add <8 x i32> %x0.w.z1.p0, %x0.w.z1.p1.products
  %x0.w.z2.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z2.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z2.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.z2.p0 = add <8 x i32> %x0.w.acc2, %x0.w.z2.p0.products
  %x0.w.z1.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z1.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z1.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.z1.sum = add <8 x i32> %x0.w.z1.p1, %x0.w.z1.sum.products
  %x0.w.z2.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z2.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z2.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.z2.p1 = add <8 x i32> %x0.w.z2.p0, %x0.w.z2.p1.products
  %x0.w.z3.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z3.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z3.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.z3.p0 = add <8 x i32> %x0.w.acc3, %x0.w.z3.p0.products
  %x0.w.z2.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z2.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z2.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.z2.sum = add <8 x i32> %x0.w.z2.p1, %x0.w.z2.sum.products
  %x0.w.z3.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z3.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z3.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.z3.p1 = add <8 x i32> %x0.w.z3.p0, %x0.w.z3.p1.products
  %x0.w.z3.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.z3.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.z3.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.z3.sum = add <8 x i32> %x0.w.z3.p1, %x0.w.z3.sum.products
  br label %x0.w.k.row.joined
x0.w.k.row.inside:
  %x0.w.s0.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.s0.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s0.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.s0.p0 = add <8 x i32> %x0.w.acc0, %x0.w.s0.p0.products
  %x0.w.x10.at = getelementptr i8, ptr %x0.w.y.from, i64 10
  %x0.w.x10.bits = load <8 x i8>, ptr %x0.w.x10.at, align 1
  %x0.w.x10 = sext <8 x i8> %x0.w.x10.bits to <8 x i32>
  %x0.w.s0.p1.words = bitcast <8 x i32> %x0.w.x10 to <16 x i16>
  %x0.w.s0.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s0.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.s0.p1 = add <8 x i32> %x0.w.s0.p0, %x0.w.s0.p1.products
  %x0.w.s1.p0.words = bitcast <8 x i32> %x0.w.x10 to <16 x i16>
  %x0.w.s1.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s1.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.s1.p0 = add <8 x i32> %x0.w.acc1, %x0.w.s1.p0.products
  %x0.w.x20.at = getelementptr i8, ptr %x0.w.y.from, i64 20
  %x0.w.x20.bits = load <8 x i8>, ptr %x0.w.x20.at, align 1
  %x0.w.x20 = sext <8 x i8> %x0.w.x20.bits to <8 x i32>
  %x0.w.s0.sum.words = bitcast <8 x i32> %x0.w.x20 to <16 x i16>
  %x0.w.s0.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s0.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.s0.sum = add <8 x i32> %x0.w.s0.p1, %x0.w.s0.sum.products
  %x0.w.s1.p1.words = bitcast <8 x i32> %x0.w.x20 to <16 x i16>
  %x0.w.s1.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s1.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.s1.p1 = add <8 x i32> %x0.w.s1.p0, %x0.w.s1.p1.products
  %x0.w.s2.p0.words = bitcast <8 x i32> %x0.w.x20 to <16 x i16>
  %x0.w.s2.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s2.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.s2.p0 = add <8 x i32> %x0.w.acc2, %x0.w.s2.p0.products
  %x0.w.x30.at = getelementptr i8, ptr %x0.w.y.from, i64 30
  %x0.w.x30.bits = load <8 x i8>, ptr %x0.w.x30.at, align 1
  %x0.w.x30 = sext <8 x i8> %x0.w.x30.bits to <8 x i32>
  %x0.w.s1.sum.words = bitcast <8 x i32> %x0.w.x30 to <16 x i16>
  %x0.w.s1.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s1.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.s1.sum = add <8 x i32> %x0.w.s1.p1, %x0.w.s1.sum.products
  %x0.w.s2.p1.words = bitcast <8 x i32> %x0.w.x30 to <16 x i16>
  %x0.w.s2.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s2.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.s2.p1 = add <8 x i32> %x0.w.s2.p0, %x0.w.s2.p1.products
  %x0.w.s3.p0.words = bitcast <8 x i32> %x0.w.x30 to <16 x i16>
  %x0.w.s3.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s3.p0.words, <16 x i16> %x0.w.w0.words)
  %x0.w.s3.p0 = add <8 x i32> %x0.w.acc3, %x0.w.s3.p0.products
  %x0.w.x40.at = getelementptr i8, ptr %x0.w.y.from, i64 40
  %x0.w.x40.bits = load <8 x i8>, ptr %x0.w.x40.at, align 1
  %x0.w.x40 = sext <8 x i8> %x0.w.x40.bits to <8 x i32>
  %x0.w.s2.sum.words = bitcast <8 x i32> %x0.w.x40 to <16 x i16>
  %x0.w.s2.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s2.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.s2.sum = add <8 x i32> %x0.w.s2.p1, %x0.w.s2.sum.products
  %x0.w.s3.p1.words = bitcast <8 x i32> %x0.w.x40 to <16 x i16>
  %x0.w.s3.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s3.p1.words, <16 x i16> %x0.w.w1.words)
  %x0.w.s3.p1 = add <8 x i32> %x0.w.s3.p0, %x0.w.s3.p1.products
  %x0.w.s3.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.w.s3.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.w.s3.sum.words, <16 x i16> %x0.w.w2.words)
  %x0.w.s3.sum = add <8 x i32> %x0.w.s3.p1, %x0.w.s3.sum.products
  br label %x0.w.k.row.joined
x0.w.k.row.joined:
  %x0.w.acc0.next = phi <8 x i32> [ %x0.w.s0.sum, %x0.w.k.row.inside ], [ %x0.w.z0.sum, %x0.w.k.row.outside ]
  %x0.w.acc1.next = phi <8 x i32> [ %x0.w.s1.sum, %x0.w.k.row.inside ], [ %x0.w.z1.sum, %x0.w.k.row.outside ]
  %x0.w.acc2.next = phi <8 x i32> [ %x0.w.s2.sum, %x0.w.k.row.inside ], [ %x0.w.z2.sum, %x0.w.k.row.outside ]
  %x0.w.acc3.next = phi <8 x i32> [ %x0.w.s3.sum, %x0.w.k.row.inside ], [ %x0.w.z3.sum, %x0.w.k.row.outside ]
  br label %x0.w.k.latch
x0.w.k.latch:
  %x0.w.k.after = add nuw i64 %x0.w.k, 1
  br label %x0.w.k.head
x0.w.k.done:
  %x0.w.o0.out.offset = mul nuw i64 %x0.c, 4
  %x0.w.o0.out.at = getelementptr i8, ptr %r.out, i64 %x0.w.o0.out.offset
  %x0.w.o0.rounded = sitofp <8 x i32> %x0.w.acc0 to <8 x float>
  ; relu(A @ B + bias)
  %x0.w.o0.finished_add = fadd <8 x float> %x0.w.o0.rounded, %x0.w.bias
  %x0.w.o0.finished_less_equal = fcmp ole <8 x float> %x0.w.o0.finished_add, splat (float 0x0000000000000000)
  %x0.w.o0.finished = select <8 x i1> %x0.w.o0.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.w.o0.finished_add
  store <8 x float> %x0.w.o0.finished, ptr %x0.w.o0.out.at, align 4
  %x0.w.o1.out.element = add nuw i64 %x0.c, 10
  %x0.w.o1.out.offset = mul nuw i64 %x0.w.o1.out.element, 4
  %x0.w.o1.out.at = getelementptr i8, ptr %r.out, i64 %x0.w.o1.out.offset
  %x0.w.o1.rounded = sitofp <8 x i32> %x0.w.acc1 to <8 x float>
  ; relu(A @ B + bias)
  %x0.w.o1.finished_add = fadd <8 x float> %x0.w.o1.rounded, %x0.w.bias
  %x0.w.o1.finished_less_equal = fcmp ole <8 x float> %x0.w.o1.finished_add, splat (float 0x0000000000000000)
  %x0.w.o1.finished = select <8 x i1> %x0.w.o1.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.w.o1.finished_add
  store <8 x float> %x0.w.o1.finished, ptr %x0.w.o1.out.at, align 4
  %x0.w.o2.out.element = add nuw i64 %x0.c, 20
  %x0.w.o2.out.offset = mul nuw i64 %x0.w.o2.out.element, 4
  %x0.w.o2.out.at = getelementptr i8, ptr %r.out, i64 %x0.w.o2.out.offset
  %x0.w.o2.rounded = sitofp <8 x i32> %x0.w.acc2 to <8 x float>
  ; relu(A @ B + bias)
  %x0.w.o2.finished_add = fadd <8 x float> %x0.w.o2.rounded, %x0.w.bias
  %x0.w.o2.finished_less_equal = fcmp ole <8 x float> %x0.w.o2.finished_add, splat (float 0x0000000000000000)
  %x0.w.o2.finished = select <8 x i1> %x0.w.o2.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.w.o2.finished_add
  store <8 x float> %x0.w.o2.finished, ptr %x0.w.o2.out.at, align 4
  %x0.w.o3.out.element = add nuw i64 %x0.c, 30
  %x0.w.o3.out.offset = mul nuw i64 %x0.w.o3.out.element, 4
  %x0.w.o3.out.at = getelementptr i8, ptr %r.out, i64 %x0.w.o3.out.offset
  %x0.w.o3.rounded = sitofp <8 x i32> %x0.w.acc3 to <8 x float>
  ; relu(A @ B + bias)
  %x0.w.o3.finished_add = fadd <8 x float> %x0.w.o3.rounded, %x0.w.bias
  %x0.w.o3.finished_less_equal = fcmp ole <8 x float> %x0.w.o3.finished_add, splat (float 0x0000000000000000)
  %x0.w.o3.finished = select <8 x i1> %x0.w.o3.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.w.o3.finished_add
  store <8 x float> %x0.w.o3.finished, ptr %x0.w.o3.out.at, align 4
  br label %x0.c.latch
x0.c.latch:
  %x0.c.after = add nuw i64 %x0.c, 8
  br label %x0.c.head
x0.c.done:
  %x0.t.from = getelementptr i8, ptr %r.from, i64 8
  %x0.t.b = getelementptr i8, ptr %b, i64 8
  %x0.t.bias.at = getelementptr i8, ptr %bias, i64 32
  %x0.t.bias = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %x0.t.bias.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %x0.t.ahead0 = getelementptr i8, ptr %x0.t.from, i64 140
  call void @llvm.prefetch.p0(ptr %x0.t.ahead0, i32 0, i32 3, i32 1)
  %x0.t.ahead1 = getelementptr i8, ptr %x0.t.from, i64 150
  call void @llvm.prefetch.p0(ptr %x0.t.ahead1, i32 0, i32 3, i32 1)
  %x0.t.ahead2 = getelementptr i8, ptr %x0.t.from, i64 160
  call void @llvm.prefetch.p0(ptr %x0.t.ahead2, i32 0, i32 3, i32 1)
  %x0.t.ahead3 = getelementptr i8, ptr %x0.t.from, i64 170
  call void @llvm.prefetch.p0(ptr %x0.t.ahead3, i32 0, i32 3, i32 1)
  ; products of each row of the kernel, added to the sums of the tile
  br label %x0.t.k.enter
x0.t.k.enter:
  br label %x0.t.k.head
x0.t.k.head:
  %x0.t.k = phi i64 [ 0, %x0.t.k.enter ], [ %x0.t.k.after, %x0.t.k.latch ]
  %x0.t.acc0 = phi <8 x i32> [ zeroinitializer, %x0.t.k.enter ], [ %x0.t.acc0.next, %x0.t.k.latch ]
  %x0.t.acc1 = phi <8 x i32> [ zeroinitializer, %x0.t.k.enter ], [ %x0.t.acc1.next, %x0.t.k.latch ]
  %x0.t.acc2 = phi <8 x i32> [ zeroinitializer, %x0.t.k.enter ], [ %x0.t.acc2.next, %x0.t.k.latch ]
  %x0.t.acc3 = phi <8 x i32> [ zeroinitializer, %x0.t.k.enter ], [ %x0.t.acc3.next, %x0.t.k.latch ]
  %x0.t.k.more = icmp ult i64 %x0.t.k, 3
  br i1 %x0.t.k.more, label %x0.t.k.body, label %x0.t.k.done
x0.t.k.body:
  %x0.t.k.b.offset = mul nuw i64 %x0.t.k, 30
  %x0.t.k.b = getelementptr i8, ptr %x0.t.b, i64 %x0.t.k.b.offset
  %x0.t.w0.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.k.b, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.w0 = sext <8 x i8> %x0.t.w0.bits to <8 x i32>
  %x0.t.w0.low = and <8 x i32> %x0.t.w0, splat (i32 65535)
  %x0.t.w0.words = bitcast <8 x i32> %x0.t.w0.low to <16 x i16>
  %x0.t.w1.at = getelementptr i8, ptr %x0.t.k.b, i64 10
  %x0.t.w1.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.w1.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.w1 = sext <8 x i8> %x0.t.w1.bits to <8 x i32>
  %x0.t.w1.low = and <8 x i32> %x0.t.w1, splat (i32 65535)
  %x0.t.w1.words = bitcast <8 x i32> %x0.t.w1.low to <16 x i16>
  %x0.t.w2.at = getelementptr i8, ptr %x0.t.k.b, i64 20
  %x0.t.w2.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.w2.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.w2 = sext <8 x i8> %x0.t.w2.bits to <8 x i32>
  %x0.t.w2.low = and <8 x i32> %x0.t.w2, splat (i32 65535)
  %x0.t.w2.words = bitcast <8 x i32> %x0.t.w2.low to <16 x i16>
  %x0.t.y.place = urem i64 %x0.t.k, 3
  %x0.t.y.offset = mul nuw i64 %x0.t.y.place, 40
  %x0.t.y.from = getelementptr i8, ptr %x0.t.from, i64 %x0.t.y.offset
  %x0.t.y = add i64 %r.y, %x0.t.y.place
  %x0.t.y.inside = icmp ult i64 %x0.t.y, 3
  %x0.t.y.all.inside = and i1 %x0.t.y.inside, true
  br i1 %x0.t.y.all.inside, label %x0.t.k.row.inside, label %x0.t.k.row.outside
x0.t.k.row.outside:
  %x0.t.z0.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z0.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z0.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.z0.p0 = add <8 x i32> %x0.t.acc0, %x0.t.z0.p0.products
  %x0.t.z0.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z0.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z0.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.z0.p1 = add <8 x i32> %x0.t.z0.p0, %x0.t.z0.p1.products
  %x0.t.z1.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z1.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z1.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.z1.p0 = add <8 x i32> %x0.t.acc1, %x0.t.z1.p0.products
  %x0.t.z0.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z0.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z0.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.z0.sum = add <8 x i32> %x0.t.z0.p1, %x0.t.z0.sum.products
  %x0.t.z1.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z1.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z1.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.z1.p1 = add <8 x i32> %x0.t.z1.p0, %x0.t.z1.p1.products
  %x0.t.z2.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z2.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z2.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.z2.p0 = add <8 x i32> %x0.t.acc2, %x0.t.z2.p0.products
  %x0.t.z1.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z1.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z1.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.z1.sum = add <8 x i32> %x0.t.z1.p1, %x0.t.z1.sum.products
  %x0.t.z2.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z2.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z2.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.z2.p1 = add <8 x i32> %x0.t.z2.p0, %x0.t.z2.p1.products
  %x0.t.z3.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z3.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z3.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.z3.p0 = add <8 x i32> %x0.t.acc3, %x0.t.z3.p0.products
  %x0.t.z2.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z2.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z2.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.z2.sum = add <8 x i32> %x0.t.z2.p1, %x0.t.z2.sum.products
  %x0.t.z3.p1.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z3.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z3.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.z3.p1 = add <8 x i32> %x0.t.z3.p0, %x0.t.z3.p1.products
  %x0.t.z3.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.z3.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.z3.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.z3.sum = add <8 x i32> %x0.t.z3.p1, %x0.t.z3.sum.products
  br label %x0.t.k.row.joined
x0.t.k.row.inside:
  %x0.t.s0.p0.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.s0.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s0.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.s0.p0 = add <8 x i32> %x0.t.acc0, %x0.t.s0.p0.products
  %x0.t.x10.at = getelementptr i8, ptr %x0.t.y.from, i64 10
  %x0.t.x10.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.x10.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.x10 = sext <8 x i8> %x0.t.x10.bits to <8 x i32>
  %x0.t.s0.p1.words = bitcast <8 x i32> %x0.t.x10 to <16 x i16>
  %x0.t.s0.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s0.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.s0.p1 = add <8 x i32> %x0.t.s0.p0, %x0.t.s0.p1.products
  %x0.t.s1.p0.words = bitcast <8 x i32> %x0.t.x10 to <16 x i16>
  %x0.t.s1.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s1.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.s1.p0 = add <8 x i32> %x0.t.acc1, %x0.t.s1.p0.products
  %x0.t.x20.at = getelementptr i8, ptr %x0.t.y.from, i64 20
  %x0.t.x20.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.x20.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.x20 = sext <8 x i8> %x0.t.x20.bits to <8 x i32>
  %x0.t.s0.sum.words = bitcast <8 x i32> %x0.t.x20 to <16 x i16>
  %x0.t.s0.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s0.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.s0.sum = add <8 x i32> %x0.t.s0.p1, %x0.t.s0.sum.products
  %x0.t.s1.p1.words = bitcast <8 x i32> %x0.t.x20 to <16 x i16>
  %x0.t.s1.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s1.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.s1.p1 = add <8 x i32> %x0.t.s1.p0, %x0.t.s1.p1.products
  %x0.t.s2.p0.words = bitcast <8 x i32> %x0.t.x20 to <16 x i16>
  %x0.t.s2.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s2.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.s2.p0 = add <8 x i32> %x0.t.acc2, %x0.t.s2.p0.products
  %x0.t.x30.at = getelementptr i8, ptr %x0.t.y.from, i64 30
  %x0.t.x30.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.x30.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.x30 = sext <8 x i8> %x0.t.x30.bits to <8 x i32>
  %x0.t.s1.sum.words = bitcast <8 x i32> %x0.t.x30 to <16 x i16>
  %x0.t.s1.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s1.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.s1.sum = add <8 x i32> %x0.t.s1.p1, %x0.t.s1.sum.products
  %x0.t.s2.p1.words = bitcast <8 x i32> %x0.t.x30 to <16 x i16>
  %x0.t.s2.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s2.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.s2.p1 = add <8 x i32> %x0.t.s2.p0, %x0.t.s2.p1.products
  %x0.t.s3.p0.words = bitcast <8 x i32> %x0.t.x30 to <16 x i16>
  %x0.t.s3.p0.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s3.p0.words, <16 x i16> %x0.t.w0.words)
  %x0.t.s3.p0 = add <8 x i32> %x0.t.acc3, %x0.t.s3.p0.products
  %x0.t.x40.at = getelementptr i8, ptr %x0.t.y.from, i64 40
  %x0.t.x40.bits = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x0.t.x40.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i8> zeroinitializer)
  %x0.t.x40 = sext <8 x i8> %x0.t.x40.bits to <8 x i32>
  %x0.t.s2.sum.words = bitcast <8 x i32> %x0.t.x40 to <16 x i16>
  %x0.t.s2.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s2.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.s2.sum = add <8 x i32> %x0.t.s2.p1, %x0.t.s2.sum.products
  %x0.t.s3.p1.words = bitcast <8 x i32> %x0.t.x40 to <16 x i16>
  %x0.t.s3.p1.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s3.p1.words, <16 x i16> %x0.t.w1.words)
  %x0.t.s3.p1 = add <8 x i32> %x0.t.s3.p0, %x0.t.s3.p1.products
  %x0.t.s3.sum.words = bitcast <8 x i32> splat (i32 -7) to <16 x i16>
  %x0.t.s3.sum.products = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %x0.t.s3.sum.words, <16 x i16> %x0.t.w2.words)
  %x0.t.s3.sum = add <8 x i32> %x0.t.s3.p1, %x0.t.s3.sum.products
  br label %x0.t.k.row.joined
x0.t.k.row.joined:
  %x0.t.acc0.next = phi <8 x i32> [ %x0.t.s0.sum, %x0.t.k.row.inside ], [ %x0.t.z0.sum, %x0.t.k.row.outside ]
  %x0.t.acc1.next = phi <8 x i32> [ %x0.t.s1.sum, %x0.t.k.row.inside ], [ %x0.t.z1.sum, %x0.t.k.row.outside ]
  %x0.t.acc2.next = phi <8 x i32> [ %x0.t.s2.sum, %x0.t.k.row.inside ], [ %x0.t.z2.sum, %x0.t.k.row.outside ]
  %x0.t.acc3.next = phi <8 x i32> [ %x0.t.s3.sum, %x0.t.k.row.inside ], [ %x0.t.z3.sum, %x0.t.k.row.outside ]
  br label %x0.t.k.latch
x0.t.k.latch:
  %x0.t.k.after = add nuw i64 %x0.t.k, 1
  br label %x0.t.k.head
x0.t.k.done:
  %x0.t.o0.out.at = getelementptr i8, ptr %r.out, i64 32
  %x0.t.o0.rounded = sitofp <8 x i32> %x0.t.acc0 to <8 x float>
  ; relu(A @ B + bias)
  %x0.t.o0.finished_add = fadd <8 x float> %x0.t.o0.rounded, %x0.t.bias
  %x0.t.o0.finished_less_equal = fcmp ole <8 x float> %x0.t.o0.finished_add, splat (float 0x0000000000000000)
  %x0.t.o0.finished = select <8 x i1> %x0.t.o0.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.t.o0.finished_add
  call void @llvm.masked.store.v8f32.p0(<8 x float> %x0.t.o0.finished, ptr align 4 %x0.t.o0.out.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %x0.t.o1.out.at = getelementptr i8, ptr %r.out, i64 72
  %x0.t.o1.rounded = sitofp <8 x i32> %x0.t.acc1 to <8 x float>
  ; relu(A @ B + bias)
  %x0.t.o1.finished_add = fadd <8 x float> %x0.t.o1.rounded, %x0.t.bias
  %x0.t.o1.finished_less_equal = fcmp ole <8 x float> %x0.t.o1.finished_add, splat (float 0x0000000000000000)
  %x0.t.o1.finished = select <8 x i1> %x0.t.o1.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.t.o1.finished_add
  call void @llvm.masked.store.v8f32.p0(<8 x float> %x0.t.o1.finished, ptr align 4 %x0.t.o1.out.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %x0.t.o2.out.at = getelementptr i8, ptr %r.out, i64 112
  %x0.t.o2.rounded = sitofp <8 x i32> %x0.t.acc2 to <8 x float>
  ; relu(A @ B + bias)
  %x0.t.o2.finished_add = fadd <8 x float> %x0.t.o2.rounded, %x0.t.bias
  %x0.t.o2.finished_less_equal = fcmp ole <8 x float> %x0.t.o2.finished_add, splat (float 0x0000000000000000)
  %x0.t.o2.finished = select <8 x i1> %x0.t.o2.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.t.o2.finished_add
  call void @llvm.masked.store.v8f32.p0(<8 x float> %x0.t.o2.finished, ptr align 4 %x0.t.o2.out.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  %x0.t.o3.out.at = getelementptr i8, ptr %r.out, i64 152
  %x0.t.o3.rounded = sitofp <8 x i32> %x0.t.acc3 to <8 x float>
  ; relu(A @ B + bias)
  %x0.t.o3.finished_add = fadd <8 x float> %x0.t.o3.rounded, %x0.t.bias
  %x0.t.o3.finished_less_equal = fcmp ole <8 x float> %x0.t.o3.finished_add, splat (float 0x0000000000000000)
  %x0.t.o3.finished = select <8 x i1> %x0.t.o3.finished_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %x0.t.o3.finished_add
  call void @llvm.masked.store.v8f32.p0(<8 x float> %x0.t.o3.finished, ptr align 4 %x0.t.o3.out.at, <8 x i1> <i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>)
  br label %r.latch
r.latch:
  %r.after = add nuw i64 %r, 1
  br label %r.head
r.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
declare <8 x i8> @llvm.masked.load.v8i8.p0(ptr, <8 x i1>, <8 x i8>)
declare void @llvm.masked.store.v8i8.p0(<8 x i8>, ptr, <8 x i1>)
declare <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16>, <16 x i16>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
