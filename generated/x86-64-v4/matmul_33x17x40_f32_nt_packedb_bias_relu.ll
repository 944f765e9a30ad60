; matmul_33x17x40_f32_nt_packedb_bias_relu
;
; computes:  out = relu(A @ B + bias), accumulated in f32
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=blis,mr=2,nr=16,mc=34,kc=40,nc=32,pack_a=0,pack_b=0,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8 (user)
; launch:    1 task of up to 33 x 17 outputs; 1 x 1 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
; arguments: a: input f32[33, 40], strides [40, 1]
;            b: input f32[2, 40, 16, 1], strides [640, 16, 1, 1], prepacked: (k, n) at [n / 16][k / 1][n % 16][k
;              % 1], zero past K and N
;            bias: input f32[17], strides [1]
;            out: output f32[33, 17], strides [17, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_2x16(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <16 x float>, ptr %k.b, align 4
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <16 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <16 x float> %a_m0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m0, <16 x float> %b_n0, <16 x float> %sum_m0_n0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 160
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <16 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <16 x float> %a_m1.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m1_n0.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m1, <16 x float> %b_n0, <16 x float> %sum_m1_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias = load <16 x float>, ptr %bias, align 4
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <16 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <16 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <16 x i1> %sum_m0_n0.finished_less_equal, <16 x float> splat (float 0x0000000000000000), <16 x float> %sum_m0_n0.finished_add
  store <16 x float> %sum_m0_n0.finished, ptr %out, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 68
  %sum_m1_n0.bias = load <16 x float>, ptr %bias, align 4
  ; relu(A @ B + bias)
  %sum_m1_n0.finished_add = fadd <16 x float> %sum_m1_n0, %sum_m1_n0.bias
  %sum_m1_n0.finished_less_equal = fcmp ole <16 x float> %sum_m1_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n0.finished = select <16 x i1> %sum_m1_n0.finished_less_equal, <16 x float> splat (float 0x0000000000000000), <16 x float> %sum_m1_n0.finished_add
  store <16 x float> %sum_m1_n0.finished, ptr %sum_m1_n0.out.at, align 4
  ret void
}

define internal void @tile_2x1(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <16 x float>, ptr %k.b, align 4
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <16 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <16 x float> %a_m0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a_m0.low = shufflevector <16 x float> %a_m0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.b = shufflevector <16 x float> %b_n0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.low = shufflevector <16 x float> %sum_m0_n0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.half = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0.low, <8 x float> %sum_m0_n0.b, <8 x float> %sum_m0_n0.low)
  %sum_m0_n0.next = shufflevector <8 x float> %sum_m0_n0.half, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  %a_m1.at = getelementptr i8, ptr %k.a, i64 160
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <16 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <16 x float> %a_m1.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a_m1.low = shufflevector <16 x float> %a_m1, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.b = shufflevector <16 x float> %b_n0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.low = shufflevector <16 x float> %sum_m1_n0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m1_n0.half = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1.low, <8 x float> %sum_m1_n0.b, <8 x float> %sum_m1_n0.low)
  %sum_m1_n0.next = shufflevector <8 x float> %sum_m1_n0.half, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias.scalar = load float, ptr %bias, align 4
  %sum_m0_n0.bias = insertelement <16 x float> zeroinitializer, float %sum_m0_n0.bias.scalar, i32 0
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <16 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <16 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <16 x i1> %sum_m0_n0.finished_less_equal, <16 x float> splat (float 0x0000000000000000), <16 x float> %sum_m0_n0.finished_add
  %sum_m0_n0.finished.alone = extractelement <16 x float> %sum_m0_n0.finished, i32 0
  store float %sum_m0_n0.finished.alone, ptr %out, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 68
  %sum_m1_n0.bias.scalar = load float, ptr %bias, align 4
  %sum_m1_n0.bias = insertelement <16 x float> zeroinitializer, float %sum_m1_n0.bias.scalar, i32 0
  ; relu(A @ B + bias)
  %sum_m1_n0.finished_add = fadd <16 x float> %sum_m1_n0, %sum_m1_n0.bias
  %sum_m1_n0.finished_less_equal = fcmp ole <16 x float> %sum_m1_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n0.finished = select <16 x i1> %sum_m1_n0.finished_less_equal, <16 x float> splat (float 0x0000000000000000), <16 x float> %sum_m1_n0.finished_add
  %sum_m1_n0.finished.alone = extractelement <16 x float> %sum_m1_n0.finished, i32 0
  store float %sum_m1_n0.finished.alone, ptr %sum_m1_n0.out.at, align 4
  ret void
}

define internal void @tile_1x16(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <16 x float>, ptr %k.b, align 4
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <16 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <16 x float> %a_m0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %sum_m0_n0.next = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_m0, <16 x float> %b_n0, <16 x float> %sum_m0_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias = load <16 x float>, ptr %bias, align 4
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <16 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <16 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <16 x i1> %sum_m0_n0.finished_less_equal, <16 x float> splat (float 0x0000000000000000), <16 x float> %sum_m0_n0.finished_add
  store <16 x float> %sum_m0_n0.finished, ptr %out, align 4
  ret void
}

define internal void @tile_1x1(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <16 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <16 x float>, ptr %k.b, align 4
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <16 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <16 x float> %a_m0.first, <16 x float> poison, <16 x i32> zeroinitializer
  %a_m0.low = shufflevector <16 x float> %a_m0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.b = shufflevector <16 x float> %b_n0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.low = shufflevector <16 x float> %sum_m0_n0, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %sum_m0_n0.half = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0.low, <8 x float> %sum_m0_n0.b, <8 x float> %sum_m0_n0.low)
  %sum_m0_n0.next = shufflevector <8 x float> %sum_m0_n0.half, <8 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison, i32 poison>
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias.scalar = load float, ptr %bias, align 4
  %sum_m0_n0.bias = insertelement <16 x float> zeroinitializer, float %sum_m0_n0.bias.scalar, i32 0
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <16 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <16 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <16 x i1> %sum_m0_n0.finished_less_equal, <16 x float> splat (float 0x0000000000000000), <16 x float> %sum_m0_n0.finished_add
  %sum_m0_n0.finished.alone = extractelement <16 x float> %sum_m0_n0.finished, i32 0
  store float %sum_m0_n0.finished.alone, ptr %out, align 4
  ret void
}

define void @matmul_33x17x40_f32_nt_packedb_bias_relu(ptr %a, ptr %b, ptr %bias, ptr %out, i64 %begin, i64 %end) #0 {
entry:
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
  %j.more = icmp ult i64 %j, 16
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 160
  %p.b = getelementptr i8, ptr %b, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 32
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 160
  %p.w.a = getelementptr i8, ptr %a, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 68
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.bias.offset = mul nuw i64 %j, 4
  %p.w.out = getelementptr i8, ptr %out, i64 %p.w.corner
  %p.w.bias = getelementptr i8, ptr %bias, i64 %p.w.bias.offset
  call void @tile_2x16(ptr %p.w.a, ptr %p.b, ptr %p.w.out, ptr %p.w.bias)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 2
  br label %p.i.head
p.i.done:
  %p.e.a = getelementptr i8, ptr %a, i64 5120
  %p.e.column = mul nuw i64 %j, 4
  %p.e.corner = add nuw i64 2176, %p.e.column
  %p.e.bias.offset = mul nuw i64 %j, 4
  %p.e.out = getelementptr i8, ptr %out, i64 %p.e.corner
  %p.e.bias = getelementptr i8, ptr %bias, i64 %p.e.bias.offset
  call void @tile_1x16(ptr %p.e.a, ptr %p.b, ptr %p.e.out, ptr %p.e.bias)
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 16
  br label %j.head
j.done:
  ; ---- the remainder panel
  %r.b = getelementptr i8, ptr %b, i64 2560

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %r.i.enter
r.i.enter:
  br label %r.i.head
r.i.head:
  %r.i = phi i64 [ 0, %r.i.enter ], [ %r.i.after, %r.i.latch ]
  %r.i.more = icmp ult i64 %r.i, 32
  br i1 %r.i.more, label %r.i.body, label %r.i.done
r.i.body:
  %r.w.a.offset = mul nuw i64 %r.i, 160
  %r.w.a = getelementptr i8, ptr %a, i64 %r.w.a.offset
  %r.w.row = mul nuw i64 %r.i, 68
  %r.w.corner = add nuw i64 %r.w.row, 64
  %r.w.out = getelementptr i8, ptr %out, i64 %r.w.corner
  %r.w.bias = getelementptr i8, ptr %bias, i64 64
  call void @tile_2x1(ptr %r.w.a, ptr %r.b, ptr %r.w.out, ptr %r.w.bias)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 2
  br label %r.i.head
r.i.done:
  %r.e.a = getelementptr i8, ptr %a, i64 5120
  %r.e.out = getelementptr i8, ptr %out, i64 2240
  %r.e.bias = getelementptr i8, ptr %bias, i64 64
  call void @tile_1x1(ptr %r.e.a, ptr %r.b, ptr %r.e.out, ptr %r.e.bias)
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
