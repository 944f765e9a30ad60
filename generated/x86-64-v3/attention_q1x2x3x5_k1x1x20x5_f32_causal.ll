; attention_q1x2x3x5_k1x1x20x5_f32_causal
;
; computes:  out = softmax(0.447214 * Q @ K^T of keys within causal top_left) @ V, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=attention,block_q=4,block_k=8,mr=2,nv=1,pack_v=0,dots=0,pack_k=1 (user)
; launch:    2 tasks of up to 4 queries
; method:    online softmax over 8 keys at a time; K is transposed in registers, and both products are register
;              tiles of 2 x 8
; memory:    stack, 784 B
;            %queries: f32 [block_q][d], 128 B
;            %kt: transposed keys, f32 [d][block_k], 160 B
;            %scores: f32 [block_q][block_k], 128 B
;            %acc: sums of weighted values, f32 [block_q][dv], 128 B
;            %sums: sum of exponentials of each query, by lane, 128 B
;            %maxima: largest score of each query, 16 B
;            %starts: first key of each query, 32 B
;            %stops: end of the keys of each query, 32 B
;            %out.rows: address of each query's row of out, 32 B
; arguments: q: input f32[1, 2, 3, 5], strides [30, 15, 5, 1]
;            k: input f32[1, 1, 20, 5], strides [100, 100, 5, 1]
;            v: input f32[1, 1, 20, 5], strides [100, 100, 5, 1]
;            out: output f32[1, 2, 3, 5], strides [30, 15, 5, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal <8 x float> @exp2_nonpositive(<8 x float> %x, <8 x float> %factor) #2 {
  %y.lowest = fdiv <8 x float> splat (float 0xC05FC00000000000), %factor
  %y.islow = fcmp olt <8 x float> %x, %y.lowest
  %y.x = select <8 x i1> %y.islow, <8 x float> %y.lowest, <8 x float> %x
  %y.shifted = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.x, <8 x float> %factor, <8 x float> splat (float 0x4168000FE0000000))
  %y.n = fsub <8 x float> %y.shifted, splat (float 0x4168000FE0000000)
  %y.minus.n = fneg <8 x float> %y.n
  %y.r = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.x, <8 x float> %factor, <8 x float> %y.minus.n)
  %y.p.h1 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F55CA8840000000), <8 x float> %y.r, <8 x float> splat (float 0x3F83CDB7A0000000))
  %y.p.h2 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h1, <8 x float> %y.r, <8 x float> splat (float 0x3FAC6B3AE0000000))
  %y.p.h3 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h2, <8 x float> %y.r, <8 x float> splat (float 0x3FCEBF9F00000000))
  %y.p.h4 = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h3, <8 x float> %y.r, <8 x float> splat (float 0x3FE62E4300000000))
  %y.p = call <8 x float> @llvm.fma.v8f32(<8 x float> %y.p.h4, <8 x float> %y.r, <8 x float> splat (float 0x3FF0000000000000))
  %y.biased = bitcast <8 x float> %y.shifted to <8 x i32>
  %y.power.bits = shl <8 x i32> %y.biased, splat (i32 23)
  %y.power = bitcast <8 x i32> %y.power.bits to <8 x float>
  %y = fmul <8 x float> %y.p, %y.power
  ret <8 x float> %y
}

; register tile: %out = %a times %b
define internal void @scores_2_0(ptr noalias %a, ptr noalias %b, ptr noalias %out, i64 %steps) #1 {
enter:
  %sum_m1_n0.at = getelementptr i8, ptr %out, i64 32
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 5
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
  %a_m1.at = getelementptr i8, ptr %k.a, i64 32
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <8 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <8 x float> %a_m1.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m1_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n0, <8 x float> %sum_m1_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <8 x float> %sum_m0_n0, ptr %out, align 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 32
  ret void
}

; register tile: %out += %a times %b
define internal void @values_2_0(ptr noalias %a, ptr noalias %b, ptr noalias %out, i64 %steps) #1 {
enter:
  %sum_m0_n0.start = load <8 x float>, ptr %out, align 32
  %sum_m1_n0.at = getelementptr i8, ptr %out, i64 32
  %sum_m1_n0.start = load <8 x float>, ptr %sum_m1_n0.at, align 32
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, %steps
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 20
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %k.b, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <8 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <8 x float> %a_m0.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m0_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n0, <8 x float> %sum_m0_n0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 32
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <8 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <8 x float> %a_m1.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m1_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n0, <8 x float> %sum_m1_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <8 x float> %sum_m0_n0, ptr %out, align 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 32
  ret void
}

define void @attention_q1x2x3x5_k1x1x20x5_f32_causal(ptr %q, ptr %k, ptr %v, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %queries = alloca [128 x i8], align 64
  %kt = alloca [160 x i8], align 64
  %scores = alloca [128 x i8], align 64
  %acc = alloca [128 x i8], align 64
  %sums = alloca [128 x i8], align 64
  %maxima = alloca [16 x i8], align 64
  %starts = alloca [32 x i8], align 64
  %stops = alloca [32 x i8], align 64
  %out.rows = alloca [32 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: a block of queries of a batch element and K/V head
  %block = urem i64 %task, 2
  %pair = udiv i64 %task, 2
  %k.batch.offset = mul nuw i64 %pair, 400
  %k.batch = getelementptr i8, ptr %k, i64 %k.batch.offset
  %v.batch.offset = mul nuw i64 %pair, 400
  %v.batch = getelementptr i8, ptr %v, i64 %v.batch.offset
  %q.batch.offset = mul nuw i64 %pair, 120
  %q.batch = getelementptr i8, ptr %q, i64 %q.batch.offset
  %out.batch.offset = mul nuw i64 %pair, 120
  %out.batch = getelementptr i8, ptr %out, i64 %out.batch.offset
  %first.row = mul nuw i64 %block, 4
  %rows.left = sub i64 6, %first.row
  %rows.less = icmp ult i64 %rows.left, 4
  %rows = select i1 %rows.less, i64 %rows.left, i64 4
  %rows.odd = urem i64 %rows, 2
  %rows.whole = sub i64 %rows, %rows.odd
  %rows.some = icmp ne i64 %rows.odd, 0

  ; ---- prologue: scale queries; find the range of keys that each query attends to
  ; %keys.start, %keys.stop: keys that some query attends to; %all.start, %all.stop: all queries
  br label %r.enter
r.enter:
  br label %r.head
r.head:
  %r = phi i64 [ 0, %r.enter ], [ %r.after, %r.latch ]
  %keys.start = phi i64 [ 20, %r.enter ], [ %keys.start.next, %r.latch ]
  %keys.stop = phi i64 [ 0, %r.enter ], [ %keys.stop.next, %r.latch ]
  %all.start = phi i64 [ 0, %r.enter ], [ %all.start.next, %r.latch ]
  %all.stop = phi i64 [ 20, %r.enter ], [ %all.stop.next, %r.latch ]
  %r.more = icmp ult i64 %r, %rows
  br i1 %r.more, label %r.body, label %r.done
r.body:
  %r.number = add nuw i64 %first.row, %r
  %r.in.group = udiv i64 %r.number, 3
  %r.i = urem i64 %r.number, 3
  %r.q.head.offset = mul nuw i64 %r.in.group, 60
  %r.q.head = getelementptr i8, ptr %q.batch, i64 %r.q.head.offset
  %r.q.offset = mul nuw i64 %r.i, 20
  %r.q = getelementptr i8, ptr %r.q.head, i64 %r.q.offset
  %r.out.head.offset = mul nuw i64 %r.in.group, 60
  %r.out.head = getelementptr i8, ptr %out.batch, i64 %r.out.head.offset
  %r.out.offset = mul nuw i64 %r.i, 20
  %r.out = getelementptr i8, ptr %r.out.head, i64 %r.out.offset
  %r.out.at = getelementptr ptr, ptr %out.rows, i64 %r
  store ptr %r.out, ptr %r.out.at, align 8
  %r.end = add i64 %r.i, 1
  %r.end.some = call i64 @llvm.smax.i64(i64 %r.end, i64 0)
  %r.stop = call i64 @llvm.smin.i64(i64 %r.end.some, i64 20)
  %r.start.at = getelementptr i64, ptr %starts, i64 %r
  store i64 0, ptr %r.start.at, align 8
  %r.stop.at = getelementptr i64, ptr %stops, i64 %r
  store i64 %r.stop, ptr %r.stop.at, align 8
  %keys.start.next = call i64 @llvm.smin.i64(i64 %keys.start, i64 0)
  %keys.stop.next = call i64 @llvm.smax.i64(i64 %keys.stop, i64 %r.stop)
  %all.start.next = call i64 @llvm.smax.i64(i64 %all.start, i64 0)
  %all.stop.next = call i64 @llvm.smin.i64(i64 %all.stop, i64 %r.stop)
  %r.query.offset = mul nuw i64 %r, 32
  %r.query = getelementptr i8, ptr %queries, i64 %r.query.offset
  %r.x0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.q, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %r.x0.scaled = fmul <8 x float> %r.x0, splat (float 0x3FDC9F25C0000000)
  store <8 x float> %r.x0.scaled, ptr %r.query, align 32
  %r.acc.offset = mul nuw i64 %r, 32
  %r.acc = getelementptr i8, ptr %acc, i64 %r.acc.offset
  store <8 x float> zeroinitializer, ptr %r.acc, align 32
  %r.sums.offset = mul nuw i64 %r, 32
  %r.sums = getelementptr i8, ptr %sums, i64 %r.sums.offset
  store <8 x float> zeroinitializer, ptr %r.sums, align 32
  %r.maximum = getelementptr float, ptr %maxima, i64 %r
  store float 0xFFF0000000000000, ptr %r.maximum, align 4
  br label %r.latch
r.latch:
  %r.after = add nuw i64 %r, 1
  br label %r.head
r.done:
  br label %key.enter
key.enter:
  br label %key.head
key.head:
  %key = phi i64 [ %keys.start, %key.enter ], [ %key.after, %key.latch ]
  %key.more = icmp ult i64 %key, %keys.stop
  br i1 %key.more, label %key.body, label %key.done
key.body:
  ; ---- mainloop: a block of keys
  %keys.left = sub i64 %keys.stop, %key
  %here.less = icmp ult i64 %keys.left, 8
  %here = select i1 %here.less, i64 %keys.left, i64 8
  %key.end = add nuw i64 %key, 8
  %v.block.offset = mul nuw i64 %key, 20
  %v.block = getelementptr i8, ptr %v.batch, i64 %v.block.offset
  ; transpose the block's keys to %kt; the last key fills the last vector
  %last.key = sub i64 %keys.stop, 1
  br label %t.enter
t.enter:
  br label %t.head
t.head:
  %t = phi i64 [ 0, %t.enter ], [ %t.after, %t.latch ]
  %t.more = icmp ult i64 %t, %here
  br i1 %t.more, label %t.body, label %t.done
t.body:
  %t.first = add nuw i64 %key, %t
  %t.key0.less = icmp ult i64 %t.first, %last.key
  %t.key0 = select i1 %t.key0.less, i64 %t.first, i64 %last.key
  %t.row0.offset = mul nuw i64 %t.key0, 20
  %t.row0 = getelementptr i8, ptr %k.batch, i64 %t.row0.offset
  %t.key1.any = add nuw i64 %t.first, 1
  %t.key1.less = icmp ult i64 %t.key1.any, %last.key
  %t.key1 = select i1 %t.key1.less, i64 %t.key1.any, i64 %last.key
  %t.row1.offset = mul nuw i64 %t.key1, 20
  %t.row1 = getelementptr i8, ptr %k.batch, i64 %t.row1.offset
  %t.key2.any = add nuw i64 %t.first, 2
  %t.key2.less = icmp ult i64 %t.key2.any, %last.key
  %t.key2 = select i1 %t.key2.less, i64 %t.key2.any, i64 %last.key
  %t.row2.offset = mul nuw i64 %t.key2, 20
  %t.row2 = getelementptr i8, ptr %k.batch, i64 %t.row2.offset
  %t.key3.any = add nuw i64 %t.first, 3
  %t.key3.less = icmp ult i64 %t.key3.any, %last.key
  %t.key3 = select i1 %t.key3.less, i64 %t.key3.any, i64 %last.key
  %t.row3.offset = mul nuw i64 %t.key3, 20
  %t.row3 = getelementptr i8, ptr %k.batch, i64 %t.row3.offset
  %t.key4.any = add nuw i64 %t.first, 4
  %t.key4.less = icmp ult i64 %t.key4.any, %last.key
  %t.key4 = select i1 %t.key4.less, i64 %t.key4.any, i64 %last.key
  %t.row4.offset = mul nuw i64 %t.key4, 20
  %t.row4 = getelementptr i8, ptr %k.batch, i64 %t.row4.offset
  %t.key5.any = add nuw i64 %t.first, 5
  %t.key5.less = icmp ult i64 %t.key5.any, %last.key
  %t.key5 = select i1 %t.key5.less, i64 %t.key5.any, i64 %last.key
  %t.row5.offset = mul nuw i64 %t.key5, 20
  %t.row5 = getelementptr i8, ptr %k.batch, i64 %t.row5.offset
  %t.key6.any = add nuw i64 %t.first, 6
  %t.key6.less = icmp ult i64 %t.key6.any, %last.key
  %t.key6 = select i1 %t.key6.less, i64 %t.key6.any, i64 %last.key
  %t.row6.offset = mul nuw i64 %t.key6, 20
  %t.row6 = getelementptr i8, ptr %k.batch, i64 %t.row6.offset
  %t.key7.any = add nuw i64 %t.first, 7
  %t.key7.less = icmp ult i64 %t.key7.any, %last.key
  %t.key7 = select i1 %t.key7.less, i64 %t.key7.any, i64 %last.key
  %t.row7.offset = mul nuw i64 %t.key7, 20
  %t.row7 = getelementptr i8, ptr %k.batch, i64 %t.row7.offset
  %t.to = getelementptr float, ptr %kt, i64 %t
  %t0.0.r0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row0, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r1 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row1, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r2 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row2, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r3 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row3, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r4 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row4, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r5 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row5, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r6 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row6, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.0.r7 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %t.row7, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>, <8 x float> zeroinitializer)
  %t0.1.r0 = shufflevector <8 x float> %t0.0.r0, <8 x float> %t0.0.r4, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t0.1.r4 = shufflevector <8 x float> %t0.0.r0, <8 x float> %t0.0.r4, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t0.1.r1 = shufflevector <8 x float> %t0.0.r1, <8 x float> %t0.0.r5, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t0.1.r5 = shufflevector <8 x float> %t0.0.r1, <8 x float> %t0.0.r5, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t0.1.r2 = shufflevector <8 x float> %t0.0.r2, <8 x float> %t0.0.r6, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t0.1.r6 = shufflevector <8 x float> %t0.0.r2, <8 x float> %t0.0.r6, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t0.1.r3 = shufflevector <8 x float> %t0.0.r3, <8 x float> %t0.0.r7, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t0.1.r7 = shufflevector <8 x float> %t0.0.r3, <8 x float> %t0.0.r7, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t0.2.r0 = shufflevector <8 x float> %t0.1.r0, <8 x float> %t0.1.r2, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t0.2.r2 = shufflevector <8 x float> %t0.1.r0, <8 x float> %t0.1.r2, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t0.2.r1 = shufflevector <8 x float> %t0.1.r1, <8 x float> %t0.1.r3, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t0.2.r3 = shufflevector <8 x float> %t0.1.r1, <8 x float> %t0.1.r3, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t0.2.r4 = shufflevector <8 x float> %t0.1.r4, <8 x float> %t0.1.r6, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t0.2.r6 = shufflevector <8 x float> %t0.1.r4, <8 x float> %t0.1.r6, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t0.2.r5 = shufflevector <8 x float> %t0.1.r5, <8 x float> %t0.1.r7, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t0.2.r7 = shufflevector <8 x float> %t0.1.r5, <8 x float> %t0.1.r7, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t0.3.r0 = shufflevector <8 x float> %t0.2.r0, <8 x float> %t0.2.r1, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t0.3.r1 = shufflevector <8 x float> %t0.2.r0, <8 x float> %t0.2.r1, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t0.3.r2 = shufflevector <8 x float> %t0.2.r2, <8 x float> %t0.2.r3, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t0.3.r3 = shufflevector <8 x float> %t0.2.r2, <8 x float> %t0.2.r3, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t0.3.r4 = shufflevector <8 x float> %t0.2.r4, <8 x float> %t0.2.r5, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t0.3.r5 = shufflevector <8 x float> %t0.2.r4, <8 x float> %t0.2.r5, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t0.3.r6 = shufflevector <8 x float> %t0.2.r6, <8 x float> %t0.2.r7, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t0.3.r7 = shufflevector <8 x float> %t0.2.r6, <8 x float> %t0.2.r7, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  store <8 x float> %t0.3.r0, ptr %t.to, align 32
  %t0.to1 = getelementptr i8, ptr %t.to, i64 32
  store <8 x float> %t0.3.r1, ptr %t0.to1, align 32
  %t0.to2 = getelementptr i8, ptr %t.to, i64 64
  store <8 x float> %t0.3.r2, ptr %t0.to2, align 32
  %t0.to3 = getelementptr i8, ptr %t.to, i64 96
  store <8 x float> %t0.3.r3, ptr %t0.to3, align 32
  %t0.to4 = getelementptr i8, ptr %t.to, i64 128
  store <8 x float> %t0.3.r4, ptr %t0.to4, align 32
  br label %t.latch
t.latch:
  %t.after = add nuw i64 %t, 8
  br label %t.head
t.done:
  ; ---- scores: queries times keys
  br label %scores.row.enter
scores.row.enter:
  br label %scores.row.head
scores.row.head:
  %scores.row = phi i64 [ 0, %scores.row.enter ], [ %scores.row.after, %scores.row.latch ]
  %scores.row.more = icmp ult i64 %scores.row, %rows.whole
  br i1 %scores.row.more, label %scores.row.body, label %scores.row.done
scores.row.body:
  %scores.whole.a.offset = mul nuw i64 %scores.row, 32
  %scores.whole.a = getelementptr i8, ptr %queries, i64 %scores.whole.a.offset
  %scores.whole.out.offset = mul nuw i64 %scores.row, 32
  %scores.whole.out = getelementptr i8, ptr %scores, i64 %scores.whole.out.offset
  call void @scores_2_0(ptr %scores.whole.a, ptr %kt, ptr %scores.whole.out, i64 0)
  br label %scores.row.latch
scores.row.latch:
  %scores.row.after = add nuw i64 %scores.row, 2
  br label %scores.row.head
scores.row.done:
  ; ---- exponentials: exp(score - maximum), and each query's maximum and sum
  ; is there a query that does not attend to all keys of the block?
  %edge.start = icmp ult i64 %key, %all.start
  %edge.stop = icmp ugt i64 %key.end, %all.stop
  %edge = or i1 %edge.start, %edge.stop
  br i1 %edge, label %edge.part, label %edge.whole
edge.whole:
  br label %w.enter
w.enter:
  br label %w.head
w.head:
  %w = phi i64 [ 0, %w.enter ], [ %w.after, %w.latch ]
  %w.more = icmp ult i64 %w, %rows
  br i1 %w.more, label %w.body, label %w.done
w.body:
  %w.row.offset = mul nuw i64 %w, 32
  %w.row = getelementptr i8, ptr %scores, i64 %w.row.offset
  %w.s0.product = load <8 x float>, ptr %w.row, align 32
  %w.most0.above = fcmp ogt <8 x float> %w.s0.product, splat (float 0xFFF0000000000000)
  %w.most0 = select <8 x i1> %w.most0.above, <8 x float> %w.s0.product, <8 x float> splat (float 0xFFF0000000000000)
  %w.most = call nnan float @llvm.vector.reduce.fmax.v8f32(<8 x float> %w.most0)
  %w.old.at = getelementptr float, ptr %maxima, i64 %w
  %w.old = load float, ptr %w.old.at, align 4
  %w.grows = fcmp ogt float %w.most, %w.old
  %w.new = select i1 %w.grows, float %w.most, float %w.old
  store float %w.new, ptr %w.old.at, align 4
  ; if no key has been attended to yet, subtract 0: the exponential of -infinity is 0
  %w.none = fcmp oeq float %w.new, 0xFFF0000000000000
  %w.used = select i1 %w.none, float 0.0, float %w.new
  %w.used.all.first = insertelement <8 x float> poison, float %w.used, i32 0
  %w.used.all = shufflevector <8 x float> %w.used.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %w.sums.at.offset = mul nuw i64 %w, 32
  %w.sums.at = getelementptr i8, ptr %sums, i64 %w.sums.at.offset
  ; earlier sums are relative to the old maximum: multiply them by exp(old - new)
  %w.less = fsub float %w.old, %w.used
  %w.less.all.first = insertelement <8 x float> poison, float %w.less, i32 0
  %w.less.all = shufflevector <8 x float> %w.less.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %w.factor = call <8 x float> @exp2_nonpositive(<8 x float> %w.less.all, <8 x float> splat (float 0x3FF7154760000000))
  %w.sums = load <8 x float>, ptr %w.sums.at, align 32
  %w.total.start = fmul <8 x float> %w.sums, %w.factor
  %w.s0.less = fsub <8 x float> %w.s0.product, %w.used.all
  %w.s0.weight = call <8 x float> @exp2_nonpositive(<8 x float> %w.s0.less, <8 x float> splat (float 0x3FF7154760000000))
  store <8 x float> %w.s0.weight, ptr %w.row, align 32
  %w.total0 = fadd <8 x float> %w.total.start, %w.s0.weight
  store <8 x float> %w.total0, ptr %w.sums.at, align 32
  br i1 %w.grows, label %w.rescale.do, label %w.rescale.done
w.rescale.do:
  %w.acc.offset = mul nuw i64 %w, 32
  %w.acc = getelementptr i8, ptr %acc, i64 %w.acc.offset
  %w.acc0 = load <8 x float>, ptr %w.acc, align 32
  %w.acc0.scaled = fmul <8 x float> %w.acc0, %w.factor
  store <8 x float> %w.acc0.scaled, ptr %w.acc, align 32
  br label %w.rescale.done
w.rescale.done:
  br label %w.latch
w.latch:
  %w.after = add nuw i64 %w, 1
  br label %w.head
w.done:
  br label %edge.joined
edge.part:
  br label %e.enter
e.enter:
  br label %e.head
e.head:
  %e = phi i64 [ 0, %e.enter ], [ %e.after, %e.latch ]
  %e.more = icmp ult i64 %e, %rows
  br i1 %e.more, label %e.body, label %e.done
e.body:
  %e.row.offset = mul nuw i64 %e, 32
  %e.row = getelementptr i8, ptr %scores, i64 %e.row.offset
  %e.start.at = getelementptr i64, ptr %starts, i64 %e
  %e.start = load i64, ptr %e.start.at, align 8
  %e.start.word = trunc i64 %e.start to i32
  %e.start.all.first = insertelement <8 x i32> poison, i32 %e.start.word, i32 0
  %e.start.all = shufflevector <8 x i32> %e.start.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %e.stop.at = getelementptr i64, ptr %stops, i64 %e
  %e.stop = load i64, ptr %e.stop.at, align 8
  %e.stop.word = trunc i64 %e.stop to i32
  %e.stop.all.first = insertelement <8 x i32> poison, i32 %e.stop.word, i32 0
  %e.stop.all = shufflevector <8 x i32> %e.stop.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %e.key.word = trunc i64 %key to i32
  %e.key.all.first = insertelement <8 x i32> poison, i32 %e.key.word, i32 0
  %e.key.all = shufflevector <8 x i32> %e.key.all.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %e.keys = add <8 x i32> %e.key.all, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %e.s0.product = load <8 x float>, ptr %e.row, align 32
  %e.s0.keys = add <8 x i32> %e.keys, splat (i32 0)
  %e.s0.behind = icmp sge <8 x i32> %e.s0.keys, %e.start.all
  %e.s0.before = icmp slt <8 x i32> %e.s0.keys, %e.stop.all
  %e.s0.inside = and <8 x i1> %e.s0.behind, %e.s0.before
  %e.s0.score = select <8 x i1> %e.s0.inside, <8 x float> %e.s0.product, <8 x float> splat (float 0xFFF0000000000000)
  %e.most0.above = fcmp ogt <8 x float> %e.s0.score, splat (float 0xFFF0000000000000)
  %e.most0 = select <8 x i1> %e.most0.above, <8 x float> %e.s0.score, <8 x float> splat (float 0xFFF0000000000000)
  %e.most = call nnan float @llvm.vector.reduce.fmax.v8f32(<8 x float> %e.most0)
  %e.old.at = getelementptr float, ptr %maxima, i64 %e
  %e.old = load float, ptr %e.old.at, align 4
  %e.grows = fcmp ogt float %e.most, %e.old
  %e.new = select i1 %e.grows, float %e.most, float %e.old
  store float %e.new, ptr %e.old.at, align 4
  ; if no key has been attended to yet, subtract 0: the exponential of -infinity is 0
  %e.none = fcmp oeq float %e.new, 0xFFF0000000000000
  %e.used = select i1 %e.none, float 0.0, float %e.new
  %e.used.all.first = insertelement <8 x float> poison, float %e.used, i32 0
  %e.used.all = shufflevector <8 x float> %e.used.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %e.sums.at.offset = mul nuw i64 %e, 32
  %e.sums.at = getelementptr i8, ptr %sums, i64 %e.sums.at.offset
  ; earlier sums are relative to the old maximum: multiply them by exp(old - new)
  %e.less = fsub float %e.old, %e.used
  %e.less.all.first = insertelement <8 x float> poison, float %e.less, i32 0
  %e.less.all = shufflevector <8 x float> %e.less.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %e.factor = call <8 x float> @exp2_nonpositive(<8 x float> %e.less.all, <8 x float> splat (float 0x3FF7154760000000))
  %e.sums = load <8 x float>, ptr %e.sums.at, align 32
  %e.total.start = fmul <8 x float> %e.sums, %e.factor
  %e.s0.less = fsub <8 x float> %e.s0.score, %e.used.all
  %e.s0.weight = call <8 x float> @exp2_nonpositive(<8 x float> %e.s0.less, <8 x float> splat (float 0x3FF7154760000000))
  store <8 x float> %e.s0.weight, ptr %e.row, align 32
  %e.total0 = fadd <8 x float> %e.total.start, %e.s0.weight
  store <8 x float> %e.total0, ptr %e.sums.at, align 32
  br i1 %e.grows, label %e.rescale.do, label %e.rescale.done
e.rescale.do:
  %e.acc.offset = mul nuw i64 %e, 32
  %e.acc = getelementptr i8, ptr %acc, i64 %e.acc.offset
  %e.acc0 = load <8 x float>, ptr %e.acc, align 32
  %e.acc0.scaled = fmul <8 x float> %e.acc0, %e.factor
  store <8 x float> %e.acc0.scaled, ptr %e.acc, align 32
  br label %e.rescale.done
e.rescale.done:
  br label %e.latch
e.latch:
  %e.after = add nuw i64 %e, 1
  br label %e.head
e.done:
  br label %edge.joined
edge.joined:
  ; ---- values: add exponentials times values to %acc
  br label %values.row.enter
values.row.enter:
  br label %values.row.head
values.row.head:
  %values.row = phi i64 [ 0, %values.row.enter ], [ %values.row.after, %values.row.latch ]
  %values.row.more = icmp ult i64 %values.row, %rows.whole
  br i1 %values.row.more, label %values.row.body, label %values.row.done
values.row.body:
  %values.whole.a.offset = mul nuw i64 %values.row, 32
  %values.whole.a = getelementptr i8, ptr %scores, i64 %values.whole.a.offset
  %values.whole.out.offset = mul nuw i64 %values.row, 32
  %values.whole.out = getelementptr i8, ptr %acc, i64 %values.whole.out.offset
  call void @values_2_0(ptr %values.whole.a, ptr %v.block, ptr %values.whole.out, i64 %here)
  br label %values.row.latch
values.row.latch:
  %values.row.after = add nuw i64 %values.row, 2
  br label %values.row.head
values.row.done:
  br label %key.latch
key.latch:
  %key.after = add nuw i64 %key, 8
  br label %key.head
key.done:

  ; ---- epilogue: divide %acc by the sums of exponentials
  br label %f.enter
f.enter:
  br label %f.head
f.head:
  %f = phi i64 [ 0, %f.enter ], [ %f.after, %f.latch ]
  %f.more = icmp ult i64 %f, %rows
  br i1 %f.more, label %f.body, label %f.done
f.body:
  %f.sums.at.offset = mul nuw i64 %f, 32
  %f.sums.at = getelementptr i8, ptr %sums, i64 %f.sums.at.offset
  %f.sums = load <8 x float>, ptr %f.sums.at, align 32
  %f.total = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %f.sums)
  %f.per.total = fdiv float 1.0, %f.total
  %f.total.all.first = insertelement <8 x float> poison, float %f.total, i32 0
  %f.total.all = shufflevector <8 x float> %f.total.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %f.per.total.all.first = insertelement <8 x float> poison, float %f.per.total, i32 0
  %f.per.total.all = shufflevector <8 x float> %f.per.total.all.first, <8 x float> poison, <8 x i32> zeroinitializer
  %f.none = fcmp oeq <8 x float> %f.total.all, zeroinitializer
  %f.out.at = getelementptr ptr, ptr %out.rows, i64 %f
  %f.out.row = load ptr, ptr %f.out.at, align 8
  %f.acc.offset = mul nuw i64 %f, 32
  %f.acc = getelementptr i8, ptr %acc, i64 %f.acc.offset
  %f.x0.sum = load <8 x float>, ptr %f.acc, align 32
  %f.x0.ratio = fmul <8 x float> %f.x0.sum, %f.per.total.all
  %f.x0 = select <8 x i1> %f.none, <8 x float> zeroinitializer, <8 x float> %f.x0.ratio
  call void @llvm.masked.store.v8f32.p0(<8 x float> %f.x0, ptr align 4 %f.out.row, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0>)
  br label %f.latch
f.latch:
  %f.after = add nuw i64 %f, 1
  br label %f.head
f.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare float @llvm.vector.reduce.fmax.v8f32(<8 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #2 = { alwaysinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
