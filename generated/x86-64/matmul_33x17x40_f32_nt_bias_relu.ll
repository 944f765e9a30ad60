; matmul_33x17x40_f32_nt_bias_relu
;
; computes:  out = relu(A @ B + bias), accumulated in f32
; target:    x86-64, x86_64; requires sse2
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
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m1_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 16
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 16
  %b_n2.at = getelementptr i8, ptr %k.b, i64 32
  %b_n2 = load <4 x float>, ptr %b_n2.at, align 16
  %b_n3.at = getelementptr i8, ptr %k.b, i64 48
  %b_n3 = load <4 x float>, ptr %b_n3.at, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n2, <4 x float> %sum_m0_n2)
  %sum_m0_n3.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n3, <4 x float> %sum_m0_n3)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 160
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <4 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <4 x float> %a_m1.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m1_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m1, <4 x float> %b_n0, <4 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m1, <4 x float> %b_n1, <4 x float> %sum_m1_n1)
  %sum_m1_n2.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m1, <4 x float> %b_n2, <4 x float> %sum_m1_n2)
  %sum_m1_n3.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m1, <4 x float> %b_n3, <4 x float> %sum_m1_n3)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias = load <4 x float>, ptr %bias, align 4
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <4 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <4 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <4 x i1> %sum_m0_n0.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n0.finished_add
  store <4 x float> %sum_m0_n0.finished, ptr %out, align 4
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  %sum_m0_n1.bias.at = getelementptr i8, ptr %bias, i64 16
  %sum_m0_n1.bias = load <4 x float>, ptr %sum_m0_n1.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m0_n1.finished_add = fadd <4 x float> %sum_m0_n1, %sum_m0_n1.bias
  %sum_m0_n1.finished_less_equal = fcmp ole <4 x float> %sum_m0_n1.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n1.finished = select <4 x i1> %sum_m0_n1.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n1.finished_add
  store <4 x float> %sum_m0_n1.finished, ptr %sum_m0_n1.out.at, align 4
  %sum_m0_n2.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m0_n2.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m0_n2.bias = load <4 x float>, ptr %sum_m0_n2.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m0_n2.finished_add = fadd <4 x float> %sum_m0_n2, %sum_m0_n2.bias
  %sum_m0_n2.finished_less_equal = fcmp ole <4 x float> %sum_m0_n2.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n2.finished = select <4 x i1> %sum_m0_n2.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n2.finished_add
  store <4 x float> %sum_m0_n2.finished, ptr %sum_m0_n2.out.at, align 4
  %sum_m0_n3.out.at = getelementptr i8, ptr %out, i64 48
  %sum_m0_n3.bias.at = getelementptr i8, ptr %bias, i64 48
  %sum_m0_n3.bias = load <4 x float>, ptr %sum_m0_n3.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m0_n3.finished_add = fadd <4 x float> %sum_m0_n3, %sum_m0_n3.bias
  %sum_m0_n3.finished_less_equal = fcmp ole <4 x float> %sum_m0_n3.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n3.finished = select <4 x i1> %sum_m0_n3.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n3.finished_add
  store <4 x float> %sum_m0_n3.finished, ptr %sum_m0_n3.out.at, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 68
  %sum_m1_n0.bias = load <4 x float>, ptr %bias, align 4
  ; relu(A @ B + bias)
  %sum_m1_n0.finished_add = fadd <4 x float> %sum_m1_n0, %sum_m1_n0.bias
  %sum_m1_n0.finished_less_equal = fcmp ole <4 x float> %sum_m1_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n0.finished = select <4 x i1> %sum_m1_n0.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m1_n0.finished_add
  store <4 x float> %sum_m1_n0.finished, ptr %sum_m1_n0.out.at, align 4
  %sum_m1_n1.out.at = getelementptr i8, ptr %out, i64 84
  %sum_m1_n1.bias.at = getelementptr i8, ptr %bias, i64 16
  %sum_m1_n1.bias = load <4 x float>, ptr %sum_m1_n1.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m1_n1.finished_add = fadd <4 x float> %sum_m1_n1, %sum_m1_n1.bias
  %sum_m1_n1.finished_less_equal = fcmp ole <4 x float> %sum_m1_n1.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n1.finished = select <4 x i1> %sum_m1_n1.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m1_n1.finished_add
  store <4 x float> %sum_m1_n1.finished, ptr %sum_m1_n1.out.at, align 4
  %sum_m1_n2.out.at = getelementptr i8, ptr %out, i64 100
  %sum_m1_n2.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m1_n2.bias = load <4 x float>, ptr %sum_m1_n2.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m1_n2.finished_add = fadd <4 x float> %sum_m1_n2, %sum_m1_n2.bias
  %sum_m1_n2.finished_less_equal = fcmp ole <4 x float> %sum_m1_n2.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n2.finished = select <4 x i1> %sum_m1_n2.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m1_n2.finished_add
  store <4 x float> %sum_m1_n2.finished, ptr %sum_m1_n2.out.at, align 4
  %sum_m1_n3.out.at = getelementptr i8, ptr %out, i64 116
  %sum_m1_n3.bias.at = getelementptr i8, ptr %bias, i64 48
  %sum_m1_n3.bias = load <4 x float>, ptr %sum_m1_n3.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m1_n3.finished_add = fadd <4 x float> %sum_m1_n3, %sum_m1_n3.bias
  %sum_m1_n3.finished_less_equal = fcmp ole <4 x float> %sum_m1_n3.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n3.finished = select <4 x i1> %sum_m1_n3.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m1_n3.finished_add
  store <4 x float> %sum_m1_n3.finished, ptr %sum_m1_n3.out.at, align 4
  ret void
}

define internal void @tile_2x1(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 160
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <4 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <4 x float> %a_m1.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m1_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m1, <4 x float> %b_n0, <4 x float> %sum_m1_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias.scalar = load float, ptr %bias, align 4
  %sum_m0_n0.bias = insertelement <4 x float> zeroinitializer, float %sum_m0_n0.bias.scalar, i32 0
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <4 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <4 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <4 x i1> %sum_m0_n0.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n0.finished_add
  %sum_m0_n0.finished.alone = extractelement <4 x float> %sum_m0_n0.finished, i32 0
  store float %sum_m0_n0.finished.alone, ptr %out, align 4
  %sum_m1_n0.out.at = getelementptr i8, ptr %out, i64 68
  %sum_m1_n0.bias.scalar = load float, ptr %bias, align 4
  %sum_m1_n0.bias = insertelement <4 x float> zeroinitializer, float %sum_m1_n0.bias.scalar, i32 0
  ; relu(A @ B + bias)
  %sum_m1_n0.finished_add = fadd <4 x float> %sum_m1_n0, %sum_m1_n0.bias
  %sum_m1_n0.finished_less_equal = fcmp ole <4 x float> %sum_m1_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m1_n0.finished = select <4 x i1> %sum_m1_n0.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m1_n0.finished_add
  %sum_m1_n0.finished.alone = extractelement <4 x float> %sum_m1_n0.finished, i32 0
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
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 16
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 16
  %b_n2.at = getelementptr i8, ptr %k.b, i64 32
  %b_n2 = load <4 x float>, ptr %b_n2.at, align 16
  %b_n3.at = getelementptr i8, ptr %k.b, i64 48
  %b_n3 = load <4 x float>, ptr %b_n3.at, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n2, <4 x float> %sum_m0_n2)
  %sum_m0_n3.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n3, <4 x float> %sum_m0_n3)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias = load <4 x float>, ptr %bias, align 4
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <4 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <4 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <4 x i1> %sum_m0_n0.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n0.finished_add
  store <4 x float> %sum_m0_n0.finished, ptr %out, align 4
  %sum_m0_n1.out.at = getelementptr i8, ptr %out, i64 16
  %sum_m0_n1.bias.at = getelementptr i8, ptr %bias, i64 16
  %sum_m0_n1.bias = load <4 x float>, ptr %sum_m0_n1.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m0_n1.finished_add = fadd <4 x float> %sum_m0_n1, %sum_m0_n1.bias
  %sum_m0_n1.finished_less_equal = fcmp ole <4 x float> %sum_m0_n1.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n1.finished = select <4 x i1> %sum_m0_n1.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n1.finished_add
  store <4 x float> %sum_m0_n1.finished, ptr %sum_m0_n1.out.at, align 4
  %sum_m0_n2.out.at = getelementptr i8, ptr %out, i64 32
  %sum_m0_n2.bias.at = getelementptr i8, ptr %bias, i64 32
  %sum_m0_n2.bias = load <4 x float>, ptr %sum_m0_n2.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m0_n2.finished_add = fadd <4 x float> %sum_m0_n2, %sum_m0_n2.bias
  %sum_m0_n2.finished_less_equal = fcmp ole <4 x float> %sum_m0_n2.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n2.finished = select <4 x i1> %sum_m0_n2.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n2.finished_add
  store <4 x float> %sum_m0_n2.finished, ptr %sum_m0_n2.out.at, align 4
  %sum_m0_n3.out.at = getelementptr i8, ptr %out, i64 48
  %sum_m0_n3.bias.at = getelementptr i8, ptr %bias, i64 48
  %sum_m0_n3.bias = load <4 x float>, ptr %sum_m0_n3.bias.at, align 4
  ; relu(A @ B + bias)
  %sum_m0_n3.finished_add = fadd <4 x float> %sum_m0_n3, %sum_m0_n3.bias
  %sum_m0_n3.finished_less_equal = fcmp ole <4 x float> %sum_m0_n3.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n3.finished = select <4 x i1> %sum_m0_n3.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n3.finished_add
  store <4 x float> %sum_m0_n3.finished, ptr %sum_m0_n3.out.at, align 4
  ret void
}

define internal void @tile_1x1(ptr noalias %a, ptr noalias %b, ptr noalias %out, ptr noalias %bias) #1 {
enter:
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 64
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 16
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  ; ---- epilogue
  %sum_m0_n0.bias.scalar = load float, ptr %bias, align 4
  %sum_m0_n0.bias = insertelement <4 x float> zeroinitializer, float %sum_m0_n0.bias.scalar, i32 0
  ; relu(A @ B + bias)
  %sum_m0_n0.finished_add = fadd <4 x float> %sum_m0_n0, %sum_m0_n0.bias
  %sum_m0_n0.finished_less_equal = fcmp ole <4 x float> %sum_m0_n0.finished_add, splat (float 0x0000000000000000)
  %sum_m0_n0.finished = select <4 x i1> %sum_m0_n0.finished_less_equal, <4 x float> splat (float 0x0000000000000000), <4 x float> %sum_m0_n0.finished_add
  %sum_m0_n0.finished.alone = extractelement <4 x float> %sum_m0_n0.finished, i32 0
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
  %p.bs.v.more = icmp ult i64 %p.bs.v, 4
  br i1 %p.bs.v.more, label %p.bs.v.body, label %p.bs.v.done
p.bs.v.body:
  %p.bs.v.from.offset = mul nuw i64 %p.bs.v, 640
  %p.bs.v.from = getelementptr i8, ptr %p.b, i64 %p.bs.v.from.offset
  %p.bs.v.to.offset = mul nuw i64 %p.bs.v, 16
  %p.bs.v.to = getelementptr i8, ptr %b.pack, i64 %p.bs.v.to.offset
  br label %p.bs.s.enter
p.bs.s.enter:
  br label %p.bs.s.head
p.bs.s.head:
  %p.bs.s = phi i64 [ 0, %p.bs.s.enter ], [ %p.bs.s.after, %p.bs.s.latch ]
  %p.bs.s.more = icmp ult i64 %p.bs.s, 40
  br i1 %p.bs.s.more, label %p.bs.s.body, label %p.bs.s.done
p.bs.s.body:
  %p.bs.s.from.offset = mul nuw i64 %p.bs.s, 4
  %p.bs.s.from = getelementptr i8, ptr %p.bs.v.from, i64 %p.bs.s.from.offset
  %p.bs.s.to.offset = mul nuw i64 %p.bs.s, 64
  %p.bs.s.to = getelementptr i8, ptr %p.bs.v.to, i64 %p.bs.s.to.offset
  %p.bs.s.0.r0 = load <4 x float>, ptr %p.bs.s.from, align 4
  %p.bs.s.at1 = getelementptr i8, ptr %p.bs.s.from, i64 160
  %p.bs.s.0.r1 = load <4 x float>, ptr %p.bs.s.at1, align 4
  %p.bs.s.at2 = getelementptr i8, ptr %p.bs.s.from, i64 320
  %p.bs.s.0.r2 = load <4 x float>, ptr %p.bs.s.at2, align 4
  %p.bs.s.at3 = getelementptr i8, ptr %p.bs.s.from, i64 480
  %p.bs.s.0.r3 = load <4 x float>, ptr %p.bs.s.at3, align 4
  %p.bs.s.1.r0 = shufflevector <4 x float> %p.bs.s.0.r0, <4 x float> %p.bs.s.0.r2, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %p.bs.s.1.r2 = shufflevector <4 x float> %p.bs.s.0.r0, <4 x float> %p.bs.s.0.r2, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %p.bs.s.1.r1 = shufflevector <4 x float> %p.bs.s.0.r1, <4 x float> %p.bs.s.0.r3, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %p.bs.s.1.r3 = shufflevector <4 x float> %p.bs.s.0.r1, <4 x float> %p.bs.s.0.r3, <4 x i32> <i32 2, i32 3, i32 6, i32 7>
  %p.bs.s.2.r0 = shufflevector <4 x float> %p.bs.s.1.r0, <4 x float> %p.bs.s.1.r1, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %p.bs.s.2.r1 = shufflevector <4 x float> %p.bs.s.1.r0, <4 x float> %p.bs.s.1.r1, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  %p.bs.s.2.r2 = shufflevector <4 x float> %p.bs.s.1.r2, <4 x float> %p.bs.s.1.r3, <4 x i32> <i32 0, i32 4, i32 2, i32 6>
  %p.bs.s.2.r3 = shufflevector <4 x float> %p.bs.s.1.r2, <4 x float> %p.bs.s.1.r3, <4 x i32> <i32 1, i32 5, i32 3, i32 7>
  store <4 x float> %p.bs.s.2.r0, ptr %p.bs.s.to, align 16
  %p.bs.s.to1 = getelementptr i8, ptr %p.bs.s.to, i64 64
  store <4 x float> %p.bs.s.2.r1, ptr %p.bs.s.to1, align 16
  %p.bs.s.to2 = getelementptr i8, ptr %p.bs.s.to, i64 128
  store <4 x float> %p.bs.s.2.r2, ptr %p.bs.s.to2, align 16
  %p.bs.s.to3 = getelementptr i8, ptr %p.bs.s.to, i64 192
  store <4 x float> %p.bs.s.2.r3, ptr %p.bs.s.to3, align 16
  br label %p.bs.s.latch
p.bs.s.latch:
  %p.bs.s.after = add nuw i64 %p.bs.s, 4
  br label %p.bs.s.head
p.bs.s.done:
  br label %p.bs.v.latch
p.bs.v.latch:
  %p.bs.v.after = add nuw i64 %p.bs.v, 1
  br label %p.bs.v.head
p.bs.v.done:

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
  %r.pg.n0 = insertelement <4 x float> zeroinitializer, float %r.pg.n0.s0, i32 0
  store <4 x float> %r.pg.n0, ptr %r.pg.to, align 16
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

declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare <4 x float> @llvm.fabs.v4f32(<4 x float>)
declare <4 x float> @llvm.copysign.v4f32(<4 x float>, <4 x float>)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
