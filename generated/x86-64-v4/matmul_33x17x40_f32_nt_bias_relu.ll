; matmul_33x17x40_f32_nt_bias_relu
;
; computes:  out = relu(A @ B + bias), accumulated in f32
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=blis,mr=2,nr=16,mc=34,kc=40,nc=32,pack_a=0,pack_b=1,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8 (user)
; launch:    1 task of up to 33 x 17 outputs; 1 x 1 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
; memory:    stack, 2560 B
;            %b.pack: float [kc][nr], 64 B per row, 2560 B
; arguments: a: input f32[33, 40], strides [40, 1]
;            b: input f32[17, 40], strides [40, 1]
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
  %b_n0 = load <16 x float>, ptr %k.b, align 64
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
  %b_n0 = load <16 x float>, ptr %k.b, align 64
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
  %b_n0 = load <16 x float>, ptr %k.b, align 64
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
  %b_n0 = load <16 x float>, ptr %k.b, align 64
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

define void @matmul_33x17x40_f32_nt_bias_relu(ptr %a, ptr %b, ptr %bias, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %b.pack = alloca [2560 x i8], align 64
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
  ; ---- prologue: pack the panel
  br label %p.bs.v.enter
p.bs.v.enter:
  br label %p.bs.v.head
p.bs.v.head:
  %p.bs.v = phi i64 [ 0, %p.bs.v.enter ], [ %p.bs.v.after, %p.bs.v.latch ]
  %p.bs.v.more = icmp ult i64 %p.bs.v, 1
  br i1 %p.bs.v.more, label %p.bs.v.body, label %p.bs.v.done
p.bs.v.body:
  %p.bs.v.from.offset = mul nuw i64 %p.bs.v, 2560
  %p.bs.v.from = getelementptr i8, ptr %p.b, i64 %p.bs.v.from.offset
  %p.bs.v.to.offset = mul nuw i64 %p.bs.v, 64
  %p.bs.v.to = getelementptr i8, ptr %b.pack, i64 %p.bs.v.to.offset
  br label %p.bs.s.enter
p.bs.s.enter:
  br label %p.bs.s.head
p.bs.s.head:
  %p.bs.s = phi i64 [ 0, %p.bs.s.enter ], [ %p.bs.s.after, %p.bs.s.latch ]
  %p.bs.s.more = icmp ult i64 %p.bs.s, 32
  br i1 %p.bs.s.more, label %p.bs.s.body, label %p.bs.s.done
p.bs.s.body:
  %p.bs.s.from.offset = mul nuw i64 %p.bs.s, 4
  %p.bs.s.from = getelementptr i8, ptr %p.bs.v.from, i64 %p.bs.s.from.offset
  %p.bs.s.to.offset = mul nuw i64 %p.bs.s, 64
  %p.bs.s.to = getelementptr i8, ptr %p.bs.v.to, i64 %p.bs.s.to.offset
  %p.bs.s.0.r0 = load <16 x float>, ptr %p.bs.s.from, align 4
  %p.bs.s.at1 = getelementptr i8, ptr %p.bs.s.from, i64 160
  %p.bs.s.0.r1 = load <16 x float>, ptr %p.bs.s.at1, align 4
  %p.bs.s.at2 = getelementptr i8, ptr %p.bs.s.from, i64 320
  %p.bs.s.0.r2 = load <16 x float>, ptr %p.bs.s.at2, align 4
  %p.bs.s.at3 = getelementptr i8, ptr %p.bs.s.from, i64 480
  %p.bs.s.0.r3 = load <16 x float>, ptr %p.bs.s.at3, align 4
  %p.bs.s.at4 = getelementptr i8, ptr %p.bs.s.from, i64 640
  %p.bs.s.0.r4 = load <16 x float>, ptr %p.bs.s.at4, align 4
  %p.bs.s.at5 = getelementptr i8, ptr %p.bs.s.from, i64 800
  %p.bs.s.0.r5 = load <16 x float>, ptr %p.bs.s.at5, align 4
  %p.bs.s.at6 = getelementptr i8, ptr %p.bs.s.from, i64 960
  %p.bs.s.0.r6 = load <16 x float>, ptr %p.bs.s.at6, align 4
  %p.bs.s.at7 = getelementptr i8, ptr %p.bs.s.from, i64 1120
  %p.bs.s.0.r7 = load <16 x float>, ptr %p.bs.s.at7, align 4
  %p.bs.s.at8 = getelementptr i8, ptr %p.bs.s.from, i64 1280
  %p.bs.s.0.r8 = load <16 x float>, ptr %p.bs.s.at8, align 4
  %p.bs.s.at9 = getelementptr i8, ptr %p.bs.s.from, i64 1440
  %p.bs.s.0.r9 = load <16 x float>, ptr %p.bs.s.at9, align 4
  %p.bs.s.at10 = getelementptr i8, ptr %p.bs.s.from, i64 1600
  %p.bs.s.0.r10 = load <16 x float>, ptr %p.bs.s.at10, align 4
  %p.bs.s.at11 = getelementptr i8, ptr %p.bs.s.from, i64 1760
  %p.bs.s.0.r11 = load <16 x float>, ptr %p.bs.s.at11, align 4
  %p.bs.s.at12 = getelementptr i8, ptr %p.bs.s.from, i64 1920
  %p.bs.s.0.r12 = load <16 x float>, ptr %p.bs.s.at12, align 4
  %p.bs.s.at13 = getelementptr i8, ptr %p.bs.s.from, i64 2080
  %p.bs.s.0.r13 = load <16 x float>, ptr %p.bs.s.at13, align 4
  %p.bs.s.at14 = getelementptr i8, ptr %p.bs.s.from, i64 2240
  %p.bs.s.0.r14 = load <16 x float>, ptr %p.bs.s.at14, align 4
  %p.bs.s.at15 = getelementptr i8, ptr %p.bs.s.from, i64 2400
  %p.bs.s.0.r15 = load <16 x float>, ptr %p.bs.s.at15, align 4
  %p.bs.s.1.r0 = shufflevector <16 x float> %p.bs.s.0.r0, <16 x float> %p.bs.s.0.r8, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r8 = shufflevector <16 x float> %p.bs.s.0.r0, <16 x float> %p.bs.s.0.r8, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r1 = shufflevector <16 x float> %p.bs.s.0.r1, <16 x float> %p.bs.s.0.r9, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r9 = shufflevector <16 x float> %p.bs.s.0.r1, <16 x float> %p.bs.s.0.r9, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r2 = shufflevector <16 x float> %p.bs.s.0.r2, <16 x float> %p.bs.s.0.r10, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r10 = shufflevector <16 x float> %p.bs.s.0.r2, <16 x float> %p.bs.s.0.r10, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r3 = shufflevector <16 x float> %p.bs.s.0.r3, <16 x float> %p.bs.s.0.r11, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r11 = shufflevector <16 x float> %p.bs.s.0.r3, <16 x float> %p.bs.s.0.r11, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r4 = shufflevector <16 x float> %p.bs.s.0.r4, <16 x float> %p.bs.s.0.r12, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r12 = shufflevector <16 x float> %p.bs.s.0.r4, <16 x float> %p.bs.s.0.r12, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r5 = shufflevector <16 x float> %p.bs.s.0.r5, <16 x float> %p.bs.s.0.r13, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r13 = shufflevector <16 x float> %p.bs.s.0.r5, <16 x float> %p.bs.s.0.r13, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r6 = shufflevector <16 x float> %p.bs.s.0.r6, <16 x float> %p.bs.s.0.r14, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r14 = shufflevector <16 x float> %p.bs.s.0.r6, <16 x float> %p.bs.s.0.r14, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.1.r7 = shufflevector <16 x float> %p.bs.s.0.r7, <16 x float> %p.bs.s.0.r15, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23>
  %p.bs.s.1.r15 = shufflevector <16 x float> %p.bs.s.0.r7, <16 x float> %p.bs.s.0.r15, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r0 = shufflevector <16 x float> %p.bs.s.1.r0, <16 x float> %p.bs.s.1.r4, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r4 = shufflevector <16 x float> %p.bs.s.1.r0, <16 x float> %p.bs.s.1.r4, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r1 = shufflevector <16 x float> %p.bs.s.1.r1, <16 x float> %p.bs.s.1.r5, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r5 = shufflevector <16 x float> %p.bs.s.1.r1, <16 x float> %p.bs.s.1.r5, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r2 = shufflevector <16 x float> %p.bs.s.1.r2, <16 x float> %p.bs.s.1.r6, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r6 = shufflevector <16 x float> %p.bs.s.1.r2, <16 x float> %p.bs.s.1.r6, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r3 = shufflevector <16 x float> %p.bs.s.1.r3, <16 x float> %p.bs.s.1.r7, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r7 = shufflevector <16 x float> %p.bs.s.1.r3, <16 x float> %p.bs.s.1.r7, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r8 = shufflevector <16 x float> %p.bs.s.1.r8, <16 x float> %p.bs.s.1.r12, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r12 = shufflevector <16 x float> %p.bs.s.1.r8, <16 x float> %p.bs.s.1.r12, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r9 = shufflevector <16 x float> %p.bs.s.1.r9, <16 x float> %p.bs.s.1.r13, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r13 = shufflevector <16 x float> %p.bs.s.1.r9, <16 x float> %p.bs.s.1.r13, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r10 = shufflevector <16 x float> %p.bs.s.1.r10, <16 x float> %p.bs.s.1.r14, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r14 = shufflevector <16 x float> %p.bs.s.1.r10, <16 x float> %p.bs.s.1.r14, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.2.r11 = shufflevector <16 x float> %p.bs.s.1.r11, <16 x float> %p.bs.s.1.r15, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 16, i32 17, i32 18, i32 19, i32 8, i32 9, i32 10, i32 11, i32 24, i32 25, i32 26, i32 27>
  %p.bs.s.2.r15 = shufflevector <16 x float> %p.bs.s.1.r11, <16 x float> %p.bs.s.1.r15, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 20, i32 21, i32 22, i32 23, i32 12, i32 13, i32 14, i32 15, i32 28, i32 29, i32 30, i32 31>
  %p.bs.s.3.r0 = shufflevector <16 x float> %p.bs.s.2.r0, <16 x float> %p.bs.s.2.r2, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r2 = shufflevector <16 x float> %p.bs.s.2.r0, <16 x float> %p.bs.s.2.r2, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r1 = shufflevector <16 x float> %p.bs.s.2.r1, <16 x float> %p.bs.s.2.r3, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r3 = shufflevector <16 x float> %p.bs.s.2.r1, <16 x float> %p.bs.s.2.r3, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r4 = shufflevector <16 x float> %p.bs.s.2.r4, <16 x float> %p.bs.s.2.r6, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r6 = shufflevector <16 x float> %p.bs.s.2.r4, <16 x float> %p.bs.s.2.r6, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r5 = shufflevector <16 x float> %p.bs.s.2.r5, <16 x float> %p.bs.s.2.r7, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r7 = shufflevector <16 x float> %p.bs.s.2.r5, <16 x float> %p.bs.s.2.r7, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r8 = shufflevector <16 x float> %p.bs.s.2.r8, <16 x float> %p.bs.s.2.r10, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r10 = shufflevector <16 x float> %p.bs.s.2.r8, <16 x float> %p.bs.s.2.r10, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r9 = shufflevector <16 x float> %p.bs.s.2.r9, <16 x float> %p.bs.s.2.r11, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r11 = shufflevector <16 x float> %p.bs.s.2.r9, <16 x float> %p.bs.s.2.r11, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r12 = shufflevector <16 x float> %p.bs.s.2.r12, <16 x float> %p.bs.s.2.r14, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r14 = shufflevector <16 x float> %p.bs.s.2.r12, <16 x float> %p.bs.s.2.r14, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.3.r13 = shufflevector <16 x float> %p.bs.s.2.r13, <16 x float> %p.bs.s.2.r15, <16 x i32> <i32 0, i32 1, i32 16, i32 17, i32 4, i32 5, i32 20, i32 21, i32 8, i32 9, i32 24, i32 25, i32 12, i32 13, i32 28, i32 29>
  %p.bs.s.3.r15 = shufflevector <16 x float> %p.bs.s.2.r13, <16 x float> %p.bs.s.2.r15, <16 x i32> <i32 2, i32 3, i32 18, i32 19, i32 6, i32 7, i32 22, i32 23, i32 10, i32 11, i32 26, i32 27, i32 14, i32 15, i32 30, i32 31>
  %p.bs.s.4.r0 = shufflevector <16 x float> %p.bs.s.3.r0, <16 x float> %p.bs.s.3.r1, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r1 = shufflevector <16 x float> %p.bs.s.3.r0, <16 x float> %p.bs.s.3.r1, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r2 = shufflevector <16 x float> %p.bs.s.3.r2, <16 x float> %p.bs.s.3.r3, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r3 = shufflevector <16 x float> %p.bs.s.3.r2, <16 x float> %p.bs.s.3.r3, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r4 = shufflevector <16 x float> %p.bs.s.3.r4, <16 x float> %p.bs.s.3.r5, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r5 = shufflevector <16 x float> %p.bs.s.3.r4, <16 x float> %p.bs.s.3.r5, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r6 = shufflevector <16 x float> %p.bs.s.3.r6, <16 x float> %p.bs.s.3.r7, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r7 = shufflevector <16 x float> %p.bs.s.3.r6, <16 x float> %p.bs.s.3.r7, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r8 = shufflevector <16 x float> %p.bs.s.3.r8, <16 x float> %p.bs.s.3.r9, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r9 = shufflevector <16 x float> %p.bs.s.3.r8, <16 x float> %p.bs.s.3.r9, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r10 = shufflevector <16 x float> %p.bs.s.3.r10, <16 x float> %p.bs.s.3.r11, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r11 = shufflevector <16 x float> %p.bs.s.3.r10, <16 x float> %p.bs.s.3.r11, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r12 = shufflevector <16 x float> %p.bs.s.3.r12, <16 x float> %p.bs.s.3.r13, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r13 = shufflevector <16 x float> %p.bs.s.3.r12, <16 x float> %p.bs.s.3.r13, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  %p.bs.s.4.r14 = shufflevector <16 x float> %p.bs.s.3.r14, <16 x float> %p.bs.s.3.r15, <16 x i32> <i32 0, i32 16, i32 2, i32 18, i32 4, i32 20, i32 6, i32 22, i32 8, i32 24, i32 10, i32 26, i32 12, i32 28, i32 14, i32 30>
  %p.bs.s.4.r15 = shufflevector <16 x float> %p.bs.s.3.r14, <16 x float> %p.bs.s.3.r15, <16 x i32> <i32 1, i32 17, i32 3, i32 19, i32 5, i32 21, i32 7, i32 23, i32 9, i32 25, i32 11, i32 27, i32 13, i32 29, i32 15, i32 31>
  store <16 x float> %p.bs.s.4.r0, ptr %p.bs.s.to, align 64
  %p.bs.s.to1 = getelementptr i8, ptr %p.bs.s.to, i64 64
  store <16 x float> %p.bs.s.4.r1, ptr %p.bs.s.to1, align 64
  %p.bs.s.to2 = getelementptr i8, ptr %p.bs.s.to, i64 128
  store <16 x float> %p.bs.s.4.r2, ptr %p.bs.s.to2, align 64
  %p.bs.s.to3 = getelementptr i8, ptr %p.bs.s.to, i64 192
  store <16 x float> %p.bs.s.4.r3, ptr %p.bs.s.to3, align 64
  %p.bs.s.to4 = getelementptr i8, ptr %p.bs.s.to, i64 256
  store <16 x float> %p.bs.s.4.r4, ptr %p.bs.s.to4, align 64
  %p.bs.s.to5 = getelementptr i8, ptr %p.bs.s.to, i64 320
  store <16 x float> %p.bs.s.4.r5, ptr %p.bs.s.to5, align 64
  %p.bs.s.to6 = getelementptr i8, ptr %p.bs.s.to, i64 384
  store <16 x float> %p.bs.s.4.r6, ptr %p.bs.s.to6, align 64
  %p.bs.s.to7 = getelementptr i8, ptr %p.bs.s.to, i64 448
  store <16 x float> %p.bs.s.4.r7, ptr %p.bs.s.to7, align 64
  %p.bs.s.to8 = getelementptr i8, ptr %p.bs.s.to, i64 512
  store <16 x float> %p.bs.s.4.r8, ptr %p.bs.s.to8, align 64
  %p.bs.s.to9 = getelementptr i8, ptr %p.bs.s.to, i64 576
  store <16 x float> %p.bs.s.4.r9, ptr %p.bs.s.to9, align 64
  %p.bs.s.to10 = getelementptr i8, ptr %p.bs.s.to, i64 640
  store <16 x float> %p.bs.s.4.r10, ptr %p.bs.s.to10, align 64
  %p.bs.s.to11 = getelementptr i8, ptr %p.bs.s.to, i64 704
  store <16 x float> %p.bs.s.4.r11, ptr %p.bs.s.to11, align 64
  %p.bs.s.to12 = getelementptr i8, ptr %p.bs.s.to, i64 768
  store <16 x float> %p.bs.s.4.r12, ptr %p.bs.s.to12, align 64
  %p.bs.s.to13 = getelementptr i8, ptr %p.bs.s.to, i64 832
  store <16 x float> %p.bs.s.4.r13, ptr %p.bs.s.to13, align 64
  %p.bs.s.to14 = getelementptr i8, ptr %p.bs.s.to, i64 896
  store <16 x float> %p.bs.s.4.r14, ptr %p.bs.s.to14, align 64
  %p.bs.s.to15 = getelementptr i8, ptr %p.bs.s.to, i64 960
  store <16 x float> %p.bs.s.4.r15, ptr %p.bs.s.to15, align 64
  br label %p.bs.s.latch
p.bs.s.latch:
  %p.bs.s.after = add nuw i64 %p.bs.s, 16
  br label %p.bs.s.head
p.bs.s.done:
  br label %p.bs.v.latch
p.bs.v.latch:
  %p.bs.v.after = add nuw i64 %p.bs.v, 1
  br label %p.bs.v.head
p.bs.v.done:
  br label %p.pb.enter
p.pb.enter:
  br label %p.pb.head
p.pb.head:
  %p.pb = phi i64 [ 32, %p.pb.enter ], [ %p.pb.after, %p.pb.latch ]
  %p.pb.more = icmp ult i64 %p.pb, 40
  br i1 %p.pb.more, label %p.pb.body, label %p.pb.done
p.pb.body:
  %p.pb.from.offset = mul nuw i64 %p.pb, 4
  %p.pb.from = getelementptr i8, ptr %p.b, i64 %p.pb.from.offset
  %p.pb.to.offset = mul nuw i64 %p.pb, 64
  %p.pb.to = getelementptr i8, ptr %b.pack, i64 %p.pb.to.offset
  %p.pb.n0.s0 = load float, ptr %p.pb.from, align 4
  %p.pb.n0.v1 = insertelement <16 x float> zeroinitializer, float %p.pb.n0.s0, i32 0
  %p.pb.n0.p1 = getelementptr i8, ptr %p.pb.from, i64 160
  %p.pb.n0.s1 = load float, ptr %p.pb.n0.p1, align 4
  %p.pb.n0.v2 = insertelement <16 x float> %p.pb.n0.v1, float %p.pb.n0.s1, i32 1
  %p.pb.n0.p2 = getelementptr i8, ptr %p.pb.from, i64 320
  %p.pb.n0.s2 = load float, ptr %p.pb.n0.p2, align 4
  %p.pb.n0.v3 = insertelement <16 x float> %p.pb.n0.v2, float %p.pb.n0.s2, i32 2
  %p.pb.n0.p3 = getelementptr i8, ptr %p.pb.from, i64 480
  %p.pb.n0.s3 = load float, ptr %p.pb.n0.p3, align 4
  %p.pb.n0.v4 = insertelement <16 x float> %p.pb.n0.v3, float %p.pb.n0.s3, i32 3
  %p.pb.n0.p4 = getelementptr i8, ptr %p.pb.from, i64 640
  %p.pb.n0.s4 = load float, ptr %p.pb.n0.p4, align 4
  %p.pb.n0.v5 = insertelement <16 x float> %p.pb.n0.v4, float %p.pb.n0.s4, i32 4
  %p.pb.n0.p5 = getelementptr i8, ptr %p.pb.from, i64 800
  %p.pb.n0.s5 = load float, ptr %p.pb.n0.p5, align 4
  %p.pb.n0.v6 = insertelement <16 x float> %p.pb.n0.v5, float %p.pb.n0.s5, i32 5
  %p.pb.n0.p6 = getelementptr i8, ptr %p.pb.from, i64 960
  %p.pb.n0.s6 = load float, ptr %p.pb.n0.p6, align 4
  %p.pb.n0.v7 = insertelement <16 x float> %p.pb.n0.v6, float %p.pb.n0.s6, i32 6
  %p.pb.n0.p7 = getelementptr i8, ptr %p.pb.from, i64 1120
  %p.pb.n0.s7 = load float, ptr %p.pb.n0.p7, align 4
  %p.pb.n0.v8 = insertelement <16 x float> %p.pb.n0.v7, float %p.pb.n0.s7, i32 7
  %p.pb.n0.p8 = getelementptr i8, ptr %p.pb.from, i64 1280
  %p.pb.n0.s8 = load float, ptr %p.pb.n0.p8, align 4
  %p.pb.n0.v9 = insertelement <16 x float> %p.pb.n0.v8, float %p.pb.n0.s8, i32 8
  %p.pb.n0.p9 = getelementptr i8, ptr %p.pb.from, i64 1440
  %p.pb.n0.s9 = load float, ptr %p.pb.n0.p9, align 4
  %p.pb.n0.v10 = insertelement <16 x float> %p.pb.n0.v9, float %p.pb.n0.s9, i32 9
  %p.pb.n0.p10 = getelementptr i8, ptr %p.pb.from, i64 1600
  %p.pb.n0.s10 = load float, ptr %p.pb.n0.p10, align 4
  %p.pb.n0.v11 = insertelement <16 x float> %p.pb.n0.v10, float %p.pb.n0.s10, i32 10
  %p.pb.n0.p11 = getelementptr i8, ptr %p.pb.from, i64 1760
  %p.pb.n0.s11 = load float, ptr %p.pb.n0.p11, align 4
  %p.pb.n0.v12 = insertelement <16 x float> %p.pb.n0.v11, float %p.pb.n0.s11, i32 11
  %p.pb.n0.p12 = getelementptr i8, ptr %p.pb.from, i64 1920
  %p.pb.n0.s12 = load float, ptr %p.pb.n0.p12, align 4
  %p.pb.n0.v13 = insertelement <16 x float> %p.pb.n0.v12, float %p.pb.n0.s12, i32 12
  %p.pb.n0.p13 = getelementptr i8, ptr %p.pb.from, i64 2080
  %p.pb.n0.s13 = load float, ptr %p.pb.n0.p13, align 4
  %p.pb.n0.v14 = insertelement <16 x float> %p.pb.n0.v13, float %p.pb.n0.s13, i32 13
  %p.pb.n0.p14 = getelementptr i8, ptr %p.pb.from, i64 2240
  %p.pb.n0.s14 = load float, ptr %p.pb.n0.p14, align 4
  %p.pb.n0.v15 = insertelement <16 x float> %p.pb.n0.v14, float %p.pb.n0.s14, i32 14
  %p.pb.n0.p15 = getelementptr i8, ptr %p.pb.from, i64 2400
  %p.pb.n0.s15 = load float, ptr %p.pb.n0.p15, align 4
  %p.pb.n0 = insertelement <16 x float> %p.pb.n0.v15, float %p.pb.n0.s15, i32 15
  store <16 x float> %p.pb.n0, ptr %p.pb.to, align 64
  br label %p.pb.latch
p.pb.latch:
  %p.pb.after = add nuw i64 %p.pb, 1
  br label %p.pb.head
p.pb.done:

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
  call void @tile_2x16(ptr %p.w.a, ptr %b.pack, ptr %p.w.out, ptr %p.w.bias)
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
  call void @tile_1x16(ptr %p.e.a, ptr %b.pack, ptr %p.e.out, ptr %p.e.bias)
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 16
  br label %j.head
j.done:
  ; ---- the remainder panel
  %r.b = getelementptr i8, ptr %b, i64 2560
  ; ---- prologue: pack the panel
  br label %r.pg.enter
r.pg.enter:
  br label %r.pg.head
r.pg.head:
  %r.pg = phi i64 [ 0, %r.pg.enter ], [ %r.pg.after, %r.pg.latch ]
  %r.pg.more = icmp ult i64 %r.pg, 40
  br i1 %r.pg.more, label %r.pg.body, label %r.pg.done
r.pg.body:
  %r.pg.from.offset = mul nuw i64 %r.pg, 4
  %r.pg.from = getelementptr i8, ptr %r.b, i64 %r.pg.from.offset
  %r.pg.to.offset = mul nuw i64 %r.pg, 64
  %r.pg.to = getelementptr i8, ptr %b.pack, i64 %r.pg.to.offset
  %r.pg.n0.s0 = load float, ptr %r.pg.from, align 4
  %r.pg.n0 = insertelement <16 x float> zeroinitializer, float %r.pg.n0.s0, i32 0
  store <16 x float> %r.pg.n0, ptr %r.pg.to, align 64
  br label %r.pg.latch
r.pg.latch:
  %r.pg.after = add nuw i64 %r.pg, 1
  br label %r.pg.head
r.pg.done:

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
  call void @tile_2x1(ptr %r.w.a, ptr %b.pack, ptr %r.w.out, ptr %r.w.bias)
  br label %r.i.latch
r.i.latch:
  %r.i.after = add nuw i64 %r.i, 2
  br label %r.i.head
r.i.done:
  %r.e.a = getelementptr i8, ptr %a, i64 5120
  %r.e.out = getelementptr i8, ptr %out, i64 2240
  %r.e.bias = getelementptr i8, ptr %bias, i64 64
  call void @tile_1x1(ptr %r.e.a, ptr %b.pack, ptr %r.e.out, ptr %r.e.bias)
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
