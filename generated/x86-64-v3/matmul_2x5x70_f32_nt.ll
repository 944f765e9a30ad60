; matmul_2x5x70_f32_nt
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=inner,mr=2,nr=2,mc=2,kc=70,nc=6,pack_a=0,pack_b=0,unroll=2,prefetch=2,level=2 (tuned)
; launch:    1 task of up to 2 x 5 outputs; 1 x 1 blocks
; method:    inner products: vectors of 8 along K, which is contiguous in A and B; a task computes an mc x nc
;              block of out in mr x nr tiles; the nr columns of B are distant, each a stream of its own that
;              continues in the next tile
; memory:    stack, 64 B
;            %acc: float [mc][nc], 32 B per row, 64 B
; arguments: a: input f32[2, 70], strides [70, 1]
;            b: input f32[5, 70], strides [70, 1]
;            out: output f32[2, 5], strides [5, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_2x2(ptr noalias %a, ptr noalias %b, ptr noalias %acc, i64 %spread) #1 {
enter:
  %b.n1.offset = mul nuw i64 %spread, 280
  %b.n1 = getelementptr i8, ptr %b, i64 %b.n1.offset
  %acc.n1 = getelementptr float, ptr %acc, i64 %spread
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0_k0.next, %k.latch ]
  %sum_m0_n0_k1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0_k1.next, %k.latch ]
  %sum_m0_n1_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1_k0.next, %k.latch ]
  %sum_m0_n1_k1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1_k1.next, %k.latch ]
  %sum_m1_n0_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0_k0.next, %k.latch ]
  %sum_m1_n0_k1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0_k1.next, %k.latch ]
  %sum_m1_n1_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1_k0.next, %k.latch ]
  %sum_m1_n1_k1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1_k1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 64
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.k0.b_n0.at = getelementptr float, ptr %b, i64 %k
  %k.k0.b_n0 = load <8 x float>, ptr %k.k0.b_n0.at, align 4
  %k.k0.b_n1.at = getelementptr float, ptr %b.n1, i64 %k
  %k.k0.b_n1 = load <8 x float>, ptr %k.k0.b_n1.at, align 4
  %k.k0.a_m0.at = getelementptr float, ptr %a, i64 %k
  %k.k0.a_m0 = load <8 x float>, ptr %k.k0.a_m0.at, align 4
  %k.k0.a_m1.row = getelementptr i8, ptr %a, i64 280
  %k.k0.a_m1.at = getelementptr float, ptr %k.k0.a_m1.row, i64 %k
  %k.k0.a_m1 = load <8 x float>, ptr %k.k0.a_m1.at, align 4
  %sum_m0_n0_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0, <8 x float> %k.k0.b_n0, <8 x float> %sum_m0_n0_k0)
  %sum_m0_n1_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0, <8 x float> %k.k0.b_n1, <8 x float> %sum_m0_n1_k0)
  %sum_m1_n0_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m1, <8 x float> %k.k0.b_n0, <8 x float> %sum_m1_n0_k0)
  %sum_m1_n1_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m1, <8 x float> %k.k0.b_n1, <8 x float> %sum_m1_n1_k0)
  %k.k1 = add nuw i64 %k, 8
  %k.k1.b_n0.at = getelementptr float, ptr %b, i64 %k.k1
  %k.k1.b_n0 = load <8 x float>, ptr %k.k1.b_n0.at, align 4
  %k.k1.b_n1.at = getelementptr float, ptr %b.n1, i64 %k.k1
  %k.k1.b_n1 = load <8 x float>, ptr %k.k1.b_n1.at, align 4
  %k.k1.a_m0.at = getelementptr float, ptr %a, i64 %k.k1
  %k.k1.a_m0 = load <8 x float>, ptr %k.k1.a_m0.at, align 4
  %k.k1.a_m1.row = getelementptr i8, ptr %a, i64 280
  %k.k1.a_m1.at = getelementptr float, ptr %k.k1.a_m1.row, i64 %k.k1
  %k.k1.a_m1 = load <8 x float>, ptr %k.k1.a_m1.at, align 4
  %sum_m0_n0_k1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k1.a_m0, <8 x float> %k.k1.b_n0, <8 x float> %sum_m0_n0_k1)
  %sum_m0_n1_k1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k1.a_m0, <8 x float> %k.k1.b_n1, <8 x float> %sum_m0_n1_k1)
  %sum_m1_n0_k1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k1.a_m1, <8 x float> %k.k1.b_n0, <8 x float> %sum_m1_n0_k1)
  %sum_m1_n1_k1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k1.a_m1, <8 x float> %k.k1.b_n1, <8 x float> %sum_m1_n1_k1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 16
  br label %k.head
k.done:
  %r.k0.b_n0.at = getelementptr float, ptr %b, i64 64
  %r.k0.b_n0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.b_n0.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %r.k0.b_n1.at = getelementptr float, ptr %b.n1, i64 64
  %r.k0.b_n1 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.b_n1.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %r.k0.a_m0.at = getelementptr float, ptr %a, i64 64
  %r.k0.a_m0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.a_m0.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %r.k0.a_m1.row = getelementptr i8, ptr %a, i64 280
  %r.k0.a_m1.at = getelementptr float, ptr %r.k0.a_m1.row, i64 64
  %r.k0.a_m1 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.a_m1.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %sum_m0_n0_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %r.k0.a_m0, <8 x float> %r.k0.b_n0, <8 x float> %sum_m0_n0_k0)
  %sum_m0_n1_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %r.k0.a_m0, <8 x float> %r.k0.b_n1, <8 x float> %sum_m0_n1_k0)
  %sum_m1_n0_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %r.k0.a_m1, <8 x float> %r.k0.b_n0, <8 x float> %sum_m1_n0_k0)
  %sum_m1_n1_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %r.k0.a_m1, <8 x float> %r.k0.b_n1, <8 x float> %sum_m1_n1_k0)
  ; ---- reduce each vector sum to a number
  %sum_m0_n0.1 = fadd <8 x float> %sum_m0_n0_k0.rest, %sum_m0_n0_k1
  %sum_m0_n1.1 = fadd <8 x float> %sum_m0_n1_k0.rest, %sum_m0_n1_k1
  %sum_m0_n0.all.f0.low = shufflevector <8 x float> %sum_m0_n0.1, <8 x float> %sum_m0_n1.1, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %sum_m0_n0.all.f0.high = shufflevector <8 x float> %sum_m0_n0.1, <8 x float> %sum_m0_n1.1, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %sum_m0_n0.all.f0 = fadd <8 x float> %sum_m0_n0.all.f0.low, %sum_m0_n0.all.f0.high
  %sum_m0_n0.all.f1.low = shufflevector <8 x float> %sum_m0_n0.all.f0, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %sum_m0_n0.all.f1.high = shufflevector <8 x float> %sum_m0_n0.all.f0, <8 x float> poison, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %sum_m0_n0.all.f1 = fadd <4 x float> %sum_m0_n0.all.f1.low, %sum_m0_n0.all.f1.high
  %sum_m0_n0.all.f2.low = shufflevector <4 x float> %sum_m0_n0.all.f1, <4 x float> poison, <2 x i32> <i32 0, i32 2>
  %sum_m0_n0.all.f2.high = shufflevector <4 x float> %sum_m0_n0.all.f1, <4 x float> poison, <2 x i32> <i32 1, i32 3>
  %sum_m0_n0.all.f2 = fadd <2 x float> %sum_m0_n0.all.f2.low, %sum_m0_n0.all.f2.high
  %sum_m0_n0.all = extractelement <2 x float> %sum_m0_n0.all.f2, i64 0
  store float %sum_m0_n0.all, ptr %acc, align 4
  %sum_m0_n1.all = extractelement <2 x float> %sum_m0_n0.all.f2, i64 1
  store float %sum_m0_n1.all, ptr %acc.n1, align 4
  %sum_m1_n0.1 = fadd <8 x float> %sum_m1_n0_k0.rest, %sum_m1_n0_k1
  %sum_m1_n1.1 = fadd <8 x float> %sum_m1_n1_k0.rest, %sum_m1_n1_k1
  %sum_m1_n0.all.f0.low = shufflevector <8 x float> %sum_m1_n0.1, <8 x float> %sum_m1_n1.1, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %sum_m1_n0.all.f0.high = shufflevector <8 x float> %sum_m1_n0.1, <8 x float> %sum_m1_n1.1, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %sum_m1_n0.all.f0 = fadd <8 x float> %sum_m1_n0.all.f0.low, %sum_m1_n0.all.f0.high
  %sum_m1_n0.all.f1.low = shufflevector <8 x float> %sum_m1_n0.all.f0, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %sum_m1_n0.all.f1.high = shufflevector <8 x float> %sum_m1_n0.all.f0, <8 x float> poison, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %sum_m1_n0.all.f1 = fadd <4 x float> %sum_m1_n0.all.f1.low, %sum_m1_n0.all.f1.high
  %sum_m1_n0.all.f2.low = shufflevector <4 x float> %sum_m1_n0.all.f1, <4 x float> poison, <2 x i32> <i32 0, i32 2>
  %sum_m1_n0.all.f2.high = shufflevector <4 x float> %sum_m1_n0.all.f1, <4 x float> poison, <2 x i32> <i32 1, i32 3>
  %sum_m1_n0.all.f2 = fadd <2 x float> %sum_m1_n0.all.f2.low, %sum_m1_n0.all.f2.high
  %sum_m1_n0.all = extractelement <2 x float> %sum_m1_n0.all.f2, i64 0
  %sum_m1_n0.row = getelementptr i8, ptr %acc, i64 32
  store float %sum_m1_n0.all, ptr %sum_m1_n0.row, align 4
  %sum_m1_n1.all = extractelement <2 x float> %sum_m1_n0.all.f2, i64 1
  %sum_m1_n1.row = getelementptr i8, ptr %acc.n1, i64 32
  store float %sum_m1_n1.all, ptr %sum_m1_n1.row, align 4
  ret void
}
define internal void @tile_2x1(ptr noalias %a, ptr noalias %b, ptr noalias %acc, i64 %spread) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0_k0.next, %k.latch ]
  %sum_m0_n0_k1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0_k1.next, %k.latch ]
  %sum_m1_n0_k0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0_k0.next, %k.latch ]
  %sum_m1_n0_k1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0_k1.next, %k.latch ]
  %k.more = icmp ult i64 %k, 64
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.k0.b_n0.at = getelementptr float, ptr %b, i64 %k
  %k.k0.b_n0 = load <8 x float>, ptr %k.k0.b_n0.at, align 4
  %k.k0.a_m0.at = getelementptr float, ptr %a, i64 %k
  %k.k0.a_m0 = load <8 x float>, ptr %k.k0.a_m0.at, align 4
  %k.k0.a_m1.row = getelementptr i8, ptr %a, i64 280
  %k.k0.a_m1.at = getelementptr float, ptr %k.k0.a_m1.row, i64 %k
  %k.k0.a_m1 = load <8 x float>, ptr %k.k0.a_m1.at, align 4
  %sum_m0_n0_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m0, <8 x float> %k.k0.b_n0, <8 x float> %sum_m0_n0_k0)
  %sum_m1_n0_k0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k0.a_m1, <8 x float> %k.k0.b_n0, <8 x float> %sum_m1_n0_k0)
  %k.k1 = add nuw i64 %k, 8
  %k.k1.b_n0.at = getelementptr float, ptr %b, i64 %k.k1
  %k.k1.b_n0 = load <8 x float>, ptr %k.k1.b_n0.at, align 4
  %k.k1.a_m0.at = getelementptr float, ptr %a, i64 %k.k1
  %k.k1.a_m0 = load <8 x float>, ptr %k.k1.a_m0.at, align 4
  %k.k1.a_m1.row = getelementptr i8, ptr %a, i64 280
  %k.k1.a_m1.at = getelementptr float, ptr %k.k1.a_m1.row, i64 %k.k1
  %k.k1.a_m1 = load <8 x float>, ptr %k.k1.a_m1.at, align 4
  %sum_m0_n0_k1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k1.a_m0, <8 x float> %k.k1.b_n0, <8 x float> %sum_m0_n0_k1)
  %sum_m1_n0_k1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %k.k1.a_m1, <8 x float> %k.k1.b_n0, <8 x float> %sum_m1_n0_k1)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 16
  br label %k.head
k.done:
  %r.k0.b_n0.at = getelementptr float, ptr %b, i64 64
  %r.k0.b_n0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.b_n0.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %r.k0.a_m0.at = getelementptr float, ptr %a, i64 64
  %r.k0.a_m0 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.a_m0.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %r.k0.a_m1.row = getelementptr i8, ptr %a, i64 280
  %r.k0.a_m1.at = getelementptr float, ptr %r.k0.a_m1.row, i64 64
  %r.k0.a_m1 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %r.k0.a_m1.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> zeroinitializer)
  %sum_m0_n0_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %r.k0.a_m0, <8 x float> %r.k0.b_n0, <8 x float> %sum_m0_n0_k0)
  %sum_m1_n0_k0.rest = call <8 x float> @llvm.fma.v8f32(<8 x float> %r.k0.a_m1, <8 x float> %r.k0.b_n0, <8 x float> %sum_m1_n0_k0)
  ; ---- reduce each vector sum to a number
  %sum_m0_n0.1 = fadd <8 x float> %sum_m0_n0_k0.rest, %sum_m0_n0_k1
  %sum_m0_n0.all.f0.low = shufflevector <8 x float> %sum_m0_n0.1, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %sum_m0_n0.all.f0.high = shufflevector <8 x float> %sum_m0_n0.1, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.all.f0 = fadd <4 x float> %sum_m0_n0.all.f0.low, %sum_m0_n0.all.f0.high
  %sum_m0_n0.all.f1.low = shufflevector <4 x float> %sum_m0_n0.all.f0, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %sum_m0_n0.all.f1.high = shufflevector <4 x float> %sum_m0_n0.all.f0, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %sum_m0_n0.all.f1 = fadd <2 x float> %sum_m0_n0.all.f1.low, %sum_m0_n0.all.f1.high
  %sum_m0_n0.all.f2.low = shufflevector <2 x float> %sum_m0_n0.all.f1, <2 x float> poison, <1 x i32> <i32 0>
  %sum_m0_n0.all.f2.high = shufflevector <2 x float> %sum_m0_n0.all.f1, <2 x float> poison, <1 x i32> <i32 1>
  %sum_m0_n0.all.f2 = fadd <1 x float> %sum_m0_n0.all.f2.low, %sum_m0_n0.all.f2.high
  %sum_m0_n0.all = extractelement <1 x float> %sum_m0_n0.all.f2, i64 0
  store float %sum_m0_n0.all, ptr %acc, align 4
  %sum_m1_n0.1 = fadd <8 x float> %sum_m1_n0_k0.rest, %sum_m1_n0_k1
  %sum_m1_n0.all.f0.low = shufflevector <8 x float> %sum_m1_n0.1, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %sum_m1_n0.all.f0.high = shufflevector <8 x float> %sum_m1_n0.1, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.all.f0 = fadd <4 x float> %sum_m1_n0.all.f0.low, %sum_m1_n0.all.f0.high
  %sum_m1_n0.all.f1.low = shufflevector <4 x float> %sum_m1_n0.all.f0, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %sum_m1_n0.all.f1.high = shufflevector <4 x float> %sum_m1_n0.all.f0, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %sum_m1_n0.all.f1 = fadd <2 x float> %sum_m1_n0.all.f1.low, %sum_m1_n0.all.f1.high
  %sum_m1_n0.all.f2.low = shufflevector <2 x float> %sum_m1_n0.all.f1, <2 x float> poison, <1 x i32> <i32 0>
  %sum_m1_n0.all.f2.high = shufflevector <2 x float> %sum_m1_n0.all.f1, <2 x float> poison, <1 x i32> <i32 1>
  %sum_m1_n0.all.f2 = fadd <1 x float> %sum_m1_n0.all.f2.low, %sum_m1_n0.all.f2.high
  %sum_m1_n0.all = extractelement <1 x float> %sum_m1_n0.all.f2, i64 0
  %sum_m1_n0.row = getelementptr i8, ptr %acc, i64 32
  store float %sum_m1_n0.all, ptr %sum_m1_n0.row, align 4
  ret void
}
define void @matmul_2x5x70_f32_nt(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
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
  %j.more = icmp ult i64 %j, 2
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 280
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
  call void @tile_2x2(ptr %p.w.a, ptr %p.b, ptr %p.w.acc, i64 2)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 2
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 1
  br label %j.head
j.done:
  ; ---- the remainder panel
  %r.b = getelementptr i8, ptr %b, i64 1120

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ 0, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 2
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.a.offset = mul nuw i64 %r.i, 280
  %r.w.a = getelementptr i8, ptr %a, i64 %r.w.a.offset
  %r.w.row = mul nuw i64 %r.i, 32
  %r.w.corner = add nuw i64 %r.w.row, 16
  %r.w.acc = getelementptr i8, ptr %acc, i64 %r.w.corner
  call void @tile_2x1(ptr %r.w.a, ptr %r.b, ptr %r.w.acc, i64 1)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 2
  br label %r.i.head
r.i.done:

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
