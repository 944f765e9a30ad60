; conv2d_1x5x4x6_8x5x3x3_f32_nhwc_hwio_p1
;
; computes:  out = convolution(A, B) with padding 1x1x1x1, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=blis,mr=4,nr=8,mc=8,kc=45,nc=8,pack_a=1,pack_b=0,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8 (user)
; launch:    3 tasks of up to 8 x 8 outputs; 3 x 1 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
; memory:    stack, 2048 B
;            %a.pack: float [mc][kc], 256 B per row, 2048 B
; arguments: a: input f32[1, 4, 6, 5], strides [120, 30, 5, 1]
;            b: input f32[3, 3, 5, 8], strides [120, 40, 8, 1]
;            out: output f32[1, 4, 6, 8], strides [192, 48, 8, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_4x8(ptr noalias %a, ptr noalias %b, ptr noalias %out, i64 %steps) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m2_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m3_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m3_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, %steps
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
  %a_m1.at = getelementptr i8, ptr %k.a, i64 256
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <8 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <8 x float> %a_m1.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m1_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n0, <8 x float> %sum_m1_n0)
  %a_m2.at = getelementptr i8, ptr %k.a, i64 512
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <8 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <8 x float> %a_m2.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m2_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n0, <8 x float> %sum_m2_n0)
  %a_m3.at = getelementptr i8, ptr %k.a, i64 768
  %a_m3.scalar = load float, ptr %a_m3.at, align 4
  %a_m3.first = insertelement <8 x float> poison, float %a_m3.scalar, i32 0
  %a_m3 = shufflevector <8 x float> %a_m3.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m3_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m3, <8 x float> %b_n0, <8 x float> %sum_m3_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  store <8 x float> %sum_m0_n0, ptr %out, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.out.at, align 4
  %sum_m2_n0.out.at = getelementptr i8, ptr %out, i64 64
  store <8 x float> %sum_m2_n0, ptr %sum_m2_n0.out.at, align 4
  %sum_m3_n0.out.at = getelementptr i8, ptr %out, i64 96
  store <8 x float> %sum_m3_n0, ptr %sum_m3_n0.out.at, align 4
  ret void
}

define void @conv2d_1x5x4x6_8x5x3x3_f32_nhwc_hwio_p1(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [2048 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest
  %block.m = urem i64 %task, 3
  %m0 = mul nuw i64 %block.m, 8

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
  %w.image.offset = mul nuw i64 %w.image, 480
  %w.base = getelementptr i8, ptr %a, i64 %w.image.offset
  %w.y.count = udiv i64 %w.row, 6
  %w.y.position = urem i64 %w.y.count, 4
  %w.y = sub i64 %w.y.position, 1
  %w.y.offset = mul i64 %w.y, 120
  %w.x.position = urem i64 %w.row, 6
  %w.x = sub i64 %w.x.position, 1
  %w.x.offset = mul i64 %w.x, 20
  %w.at.y = getelementptr i8, ptr %w.base, i64 %w.y.offset
  %w.at.x = getelementptr i8, ptr %w.at.y, i64 %w.x.offset
  ; elements of a segment inside the image
  %w.left = sub i64 0, %w.x
  %w.left.elements = mul i64 %w.left, 5
  %w.low = call i64 @llvm.smax.i64(i64 %w.left.elements, i64 0)
  %w.right = sub i64 6, %w.x
  %w.right.elements = mul i64 %w.right, 5
  %w.high = call i64 @llvm.smin.i64(i64 %w.right.elements, i64 15)
  %w.to.offset = mul nuw i64 %pa, 256
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
  %ws.y.offset = mul nuw i64 %ws.y.place, 120
  %ws.at.y = getelementptr i8, ptr %w.at.x, i64 %ws.y.offset
  %ws.inside.y = and i1 true, %ws.y.inside
  %ws.to.bytes = mul i64 %ws.k, 4
  %ws.to = getelementptr i8, ptr %w.to, i64 %ws.to.bytes
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
  %zl.to.offset = mul i64 %zl, 4
  %zl.to = getelementptr i8, ptr %ws.to, i64 %zl.to.offset
  store <8 x float> zeroinitializer, ptr %zl.to, align 4
  br label %zl.latch
zl.latch:
  %zl.after = add nuw i64 %zl, 8
  br label %zl.head
zl.done:
  %ws.whole.length = and i64 %ws.length, -8
  %ws.whole = add i64 %ws.low, %ws.whole.length
  br label %wsv.enter
wsv.enter:
  br label %wsv.head
wsv.head:
  %wsv = phi i64 [ %ws.low, %wsv.enter ], [ %wsv.after, %wsv.latch ]
  %wsv.more = icmp ult i64 %wsv, %ws.whole
  br i1 %wsv.more, label %wsv.body, label %wsv.done
wsv.body:
  %wsv.from.offset = mul i64 %wsv, 4
  %wsv.from = getelementptr i8, ptr %ws.at.y, i64 %wsv.from.offset
  %wsv.x = load <8 x float>, ptr %wsv.from, align 4
  %wsv.to.offset = mul i64 %wsv, 4
  %wsv.to = getelementptr i8, ptr %ws.to, i64 %wsv.to.offset
  store <8 x float> %wsv.x, ptr %wsv.to, align 4
  br label %wsv.latch
wsv.latch:
  %wsv.after = add nuw i64 %wsv, 8
  br label %wsv.head
wsv.done:
  %wst.some = icmp ult i64 %ws.whole, %ws.high
  br i1 %wst.some, label %wst.do, label %wst.done
wst.do:
  %wst.left = sub i64 %ws.high, %ws.whole
  %wst.few = trunc i64 %wst.left to i32
  %wst.one = insertelement <8 x i32> poison, i32 %wst.few, i32 0
  %wst.all = shufflevector <8 x i32> %wst.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %wst.mask = icmp ugt <8 x i32> %wst.all, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %wst.from.offset = mul i64 %ws.whole, 4
  %wst.from = getelementptr i8, ptr %ws.at.y, i64 %wst.from.offset
  %wst.x = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %wst.from, <8 x i1> %wst.mask, <8 x float> zeroinitializer)
  %wst.to.offset = mul i64 %ws.whole, 4
  %wst.to = getelementptr i8, ptr %ws.to, i64 %wst.to.offset
  store <8 x float> %wst.x, ptr %wst.to, align 4
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
  %zh.to.offset = mul i64 %zh, 4
  %zh.to = getelementptr i8, ptr %ws.to, i64 %zh.to.offset
  store <8 x float> zeroinitializer, ptr %zh.to, align 4
  br label %zh.latch
zh.latch:
  %zh.after = add nuw i64 %zh, 8
  br label %zh.head
zh.done:
  br label %segment.joined
segment.whole:
  br label %wv.enter
wv.enter:
  br label %wv.head
wv.head:
  %wv = phi i64 [ 0, %wv.enter ], [ %wv.after, %wv.latch ]
  %wv.more = icmp ult i64 %wv, 8
  br i1 %wv.more, label %wv.body, label %wv.done
wv.body:
  %wv.from.offset = mul i64 %wv, 4
  %wv.from = getelementptr i8, ptr %ws.at.y, i64 %wv.from.offset
  %wv.x = load <8 x float>, ptr %wv.from, align 4
  %wv.to.offset = mul i64 %wv, 4
  %wv.to = getelementptr i8, ptr %ws.to, i64 %wv.to.offset
  store <8 x float> %wv.x, ptr %wv.to, align 4
  br label %wv.latch
wv.latch:
  %wv.after = add nuw i64 %wv, 8
  br label %wv.head
wv.done:
  %wt.from = getelementptr i8, ptr %ws.at.y, i64 28
  %wt.x = load <8 x float>, ptr %wt.from, align 4
  %wt.to = getelementptr i8, ptr %ws.to, i64 28
  store <8 x float> %wt.x, ptr %wt.to, align 4
  br label %segment.joined
segment.joined:
  br label %ws.latch
ws.latch:
  %ws.after = add nuw i64 %ws, 1
  br label %ws.head
ws.done:
  br label %window.joined
window.inner:
  %wi0.x = load <8 x float>, ptr %w.at.x, align 4
  store <8 x float> %wi0.x, ptr %w.to, align 4
  %wi1.from = getelementptr i8, ptr %w.at.x, i64 28
  %wi1.x = load <8 x float>, ptr %wi1.from, align 4
  %wi1.to = getelementptr i8, ptr %w.to, i64 28
  store <8 x float> %wi1.x, ptr %wi1.to, align 4
  %wi2.from = getelementptr i8, ptr %w.at.x, i64 120
  %wi2.x = load <8 x float>, ptr %wi2.from, align 4
  %wi2.to = getelementptr i8, ptr %w.to, i64 60
  store <8 x float> %wi2.x, ptr %wi2.to, align 4
  %wi3.from = getelementptr i8, ptr %w.at.x, i64 148
  %wi3.x = load <8 x float>, ptr %wi3.from, align 4
  %wi3.to = getelementptr i8, ptr %w.to, i64 88
  store <8 x float> %wi3.x, ptr %wi3.to, align 4
  %wi4.from = getelementptr i8, ptr %w.at.x, i64 240
  %wi4.x = load <8 x float>, ptr %wi4.from, align 4
  %wi4.to = getelementptr i8, ptr %w.to, i64 120
  store <8 x float> %wi4.x, ptr %wi4.to, align 4
  %wi5.from = getelementptr i8, ptr %w.at.x, i64 268
  %wi5.x = load <8 x float>, ptr %wi5.from, align 4
  %wi5.to = getelementptr i8, ptr %w.to, i64 148
  store <8 x float> %wi5.x, ptr %wi5.to, align 4
  br label %window.joined
window.joined:
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
  %p.b.offset = mul nuw i64 %j, 4
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 8
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 256
  %p.w.a = getelementptr i8, ptr %a.pack, i64 %p.w.a.offset
  %p.w.inside.first = add nuw i64 %p.i, %m0
  %p.w.inside.last = add nuw i64 %p.w.inside.first, 3
  %p.w.inside.first.at = udiv i64 %p.w.inside.first, 6
  %p.w.inside.last.at = udiv i64 %p.w.inside.last, 6
  ; places of the kernel from the first one that the last window sees to the last one of the first
  %p.w.inside.padding = sub i64 1, %p.w.inside.last.at
  %p.w.inside.padding.some = call i64 @llvm.smax.i64(i64 %p.w.inside.padding, i64 0)
  %p.w.inside.seen = sub i64 5, %p.w.inside.first.at
  %p.w.inside.stop.place = call i64 @llvm.smin.i64(i64 %p.w.inside.seen, i64 3)
  %p.w.inside.begin.k = mul nuw i64 %p.w.inside.padding.some, 15
  %p.w.inside.begin.least = call i64 @llvm.smax.i64(i64 %p.w.inside.begin.k, i64 0)
  %p.w.inside.begin = call i64 @llvm.smin.i64(i64 %p.w.inside.begin.least, i64 45)
  %p.w.inside.stop.k = mul nuw i64 %p.w.inside.stop.place, 15
  %p.w.inside.stop.least = call i64 @llvm.smax.i64(i64 %p.w.inside.stop.k, i64 0)
  %p.w.inside.stop = call i64 @llvm.smin.i64(i64 %p.w.inside.stop.least, i64 45)
  %p.w.inside.steps = sub nuw i64 %p.w.inside.stop, %p.w.inside.begin
  %p.w.inside.a.offset = mul nuw i64 %p.w.inside.begin, 4
  %p.w.inside.a = getelementptr i8, ptr %p.w.a, i64 %p.w.inside.a.offset
  %p.w.inside.b.offset = mul nuw i64 %p.w.inside.begin, 32
  %p.w.inside.b = getelementptr i8, ptr %p.b, i64 %p.w.inside.b.offset
  %p.w.row = mul nuw i64 %p.i, 32
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.out = getelementptr i8, ptr %out.m0, i64 %p.w.corner
  call void @tile_4x8(ptr %p.w.inside.a, ptr %p.w.inside.b, ptr %p.w.out, i64 %p.w.inside.steps)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 4
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

declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
