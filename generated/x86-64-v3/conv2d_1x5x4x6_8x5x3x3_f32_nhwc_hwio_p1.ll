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

define internal void @tile_4x8(ptr noalias %a, ptr noalias %b, ptr noalias %out) #1 {
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
  %k.more = icmp ult i64 %k, 45
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
  ; elements of a segment inside of the image
  %w.left = sub i64 0, %w.x
  %w.left.elements = mul i64 %w.left, 5
  %w.low = call i64 @llvm.smax.i64(i64 %w.left.elements, i64 0)
  %w.right = sub i64 6, %w.x
  %w.right.elements = mul i64 %w.right, 5
  %w.high = call i64 @llvm.smin.i64(i64 %w.right.elements, i64 15)
  %w.to.offset = mul nuw i64 %pa, 256
  %w.to = getelementptr i8, ptr %a.pack, i64 %w.to.offset
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ 0, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, 3
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %s.k = mul nuw i64 %s, 15
  %s.begins = sub i64 0, %s.k
  %s.start = call i64 @llvm.smax.i64(i64 %s.begins, i64 0)
  %s.ends = sub i64 45, %s.k
  %s.stop = call i64 @llvm.smin.i64(i64 %s.ends, i64 15)
  %s.y.place = urem i64 %s, 3
  %s.y = add i64 %w.y, %s.y.place
  %s.y.inside = icmp ult i64 %s.y, 4
  %s.y.offset = mul nuw i64 %s.y.place, 120
  %s.at.y = getelementptr i8, ptr %w.at.x, i64 %s.y.offset
  %s.inside.y = and i1 true, %s.y.inside
  %s.to.bytes = mul i64 %s.k, 4
  %s.to = getelementptr i8, ptr %w.to, i64 %s.to.bytes
  %s.low.least = call i64 @llvm.smax.i64(i64 %w.low, i64 %s.start)
  %s.low.here = call i64 @llvm.smin.i64(i64 %s.low.least, i64 %s.stop)
  %s.high.most = call i64 @llvm.smin.i64(i64 %w.high, i64 %s.stop)
  %s.high.here = call i64 @llvm.smax.i64(i64 %s.high.most, i64 %s.low.here)
  %s.low = select i1 %s.inside.y, i64 %s.low.here, i64 %s.stop
  %s.high = select i1 %s.inside.y, i64 %s.high.here, i64 %s.stop
  br label %zl.enter
zl.enter:
  br label %zl.head
zl.head:
  %zl = phi i64 [ %s.start, %zl.enter ], [ %zl.after, %zl.latch ]
  %zl.more = icmp ult i64 %zl, %s.low
  br i1 %zl.more, label %zl.body, label %zl.done
zl.body:
  %zl.to.offset = mul i64 %zl, 4
  %zl.to = getelementptr i8, ptr %s.to, i64 %zl.to.offset
  store <8 x float> zeroinitializer, ptr %zl.to, align 4
  br label %zl.latch
zl.latch:
  %zl.after = add nuw i64 %zl, 8
  br label %zl.head
zl.done:
  %s.length = sub i64 %s.high, %s.low
  %s.whole.length = and i64 %s.length, -8
  %s.whole = add i64 %s.low, %s.whole.length
  br label %sv.enter
sv.enter:
  br label %sv.head
sv.head:
  %sv = phi i64 [ %s.low, %sv.enter ], [ %sv.after, %sv.latch ]
  %sv.more = icmp ult i64 %sv, %s.whole
  br i1 %sv.more, label %sv.body, label %sv.done
sv.body:
  %sv.from.offset = mul i64 %sv, 4
  %sv.from = getelementptr i8, ptr %s.at.y, i64 %sv.from.offset
  %sv.x = load <8 x float>, ptr %sv.from, align 4
  %sv.to.offset = mul i64 %sv, 4
  %sv.to = getelementptr i8, ptr %s.to, i64 %sv.to.offset
  store <8 x float> %sv.x, ptr %sv.to, align 4
  br label %sv.latch
sv.latch:
  %sv.after = add nuw i64 %sv, 8
  br label %sv.head
sv.done:
  %st.some = icmp ult i64 %s.whole, %s.high
  br i1 %st.some, label %st.do, label %st.done
st.do:
  %st.left = sub i64 %s.high, %s.whole
  %st.one = insertelement <8 x i64> poison, i64 %st.left, i32 0
  %st.all = shufflevector <8 x i64> %st.one, <8 x i64> poison, <8 x i32> zeroinitializer
  %st.mask = icmp ugt <8 x i64> %st.all, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %st.from.offset = mul i64 %s.whole, 4
  %st.from = getelementptr i8, ptr %s.at.y, i64 %st.from.offset
  %st.x = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %st.from, <8 x i1> %st.mask, <8 x float> zeroinitializer)
  %st.to.offset = mul i64 %s.whole, 4
  %st.to = getelementptr i8, ptr %s.to, i64 %st.to.offset
  store <8 x float> %st.x, ptr %st.to, align 4
  br label %st.done
st.done:
  br label %zh.enter
zh.enter:
  br label %zh.head
zh.head:
  %zh = phi i64 [ %s.high, %zh.enter ], [ %zh.after, %zh.latch ]
  %zh.more = icmp ult i64 %zh, %s.stop
  br i1 %zh.more, label %zh.body, label %zh.done
zh.body:
  %zh.to.offset = mul i64 %zh, 4
  %zh.to = getelementptr i8, ptr %s.to, i64 %zh.to.offset
  store <8 x float> zeroinitializer, ptr %zh.to, align 4
  br label %zh.latch
zh.latch:
  %zh.after = add nuw i64 %zh, 8
  br label %zh.head
zh.done:
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 1
  br label %s.head
s.done:
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
  %p.w.row = mul nuw i64 %p.i, 32
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.out = getelementptr i8, ptr %out.m0, i64 %p.w.corner
  call void @tile_4x8(ptr %p.w.a, ptr %p.b, ptr %p.w.out)
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
