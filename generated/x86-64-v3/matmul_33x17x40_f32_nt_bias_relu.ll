; matmul_33x17x40_f32_nt_bias_relu
; target    x86-64-v3: x86_64 with abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=blis mr=3 nr=24 mc=33 kc=40 nc=24
; tasks     1 of 33 x 24: 1 batches x 1 x 1 blocks
; memory
;   %a  f32, shape 33 x 40, strides 40, 1 elements
;   %b  f32, shape 17 x 40, strides 40, 1 elements
;   %bias  f32, shape 17, strides 1 elements
;   %out  f32, shape 33 x 17, strides 17, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; A product by BLIS blocking. A task is an mc x nc block of out. For each kc of K it packs its part
; of A once; then, for each panel of nr columns, it packs B and multiplies every mr rows of A with
; it, the mr x nr sums in registers.
;
; scratch on the stack, float:
;   %a.pack  7392 bytes, [mc][kc], 224 bytes a row
;   %b.pack  3840 bytes, [kc][nr], 96 bytes a row
;   %acc     3168 bytes, [mc][nc], 96 bytes a row

define void @matmul_33x17x40_f32_nt_bias_relu(ptr %a, ptr %b, ptr %bias, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [7392 x i8], align 64
  %b.pack = alloca [3840 x i8], align 64
  %acc = alloca [3168 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; -- addresses: a task is (batch, block of rows, block of columns), the last one fastest
  br label %k0.enter
k0.enter:
  br label %k0.head
k0.head:
  %k0 = phi i64 [ 0, %k0.enter ], [ %k0.after, %k0.latch ]
  %k0.more = icmp ult i64 %k0, 40
  br i1 %k0.more, label %k0.body, label %k0.done
k0.body:

  ; -- prologue: pack A, one run of k after the other
  %a.k.offset = mul nuw i64 %k0, 4
  %a.k = getelementptr i8, ptr %a, i64 %a.k.offset
  br label %pa.enter
pa.enter:
  br label %pa.head
pa.head:
  %pa = phi i64 [ 0, %pa.enter ], [ %pa.after, %pa.latch ]
  %pa.more = icmp ult i64 %pa, 33
  br i1 %pa.more, label %pa.body, label %pa.done
pa.body:
  %pa.from.offset = mul nuw i64 %pa, 160
  %pa.from = getelementptr i8, ptr %a.k, i64 %pa.from.offset
  %pa.to.offset = mul nuw i64 %pa, 224
  %pa.to = getelementptr i8, ptr %a.pack, i64 %pa.to.offset
  br label %pv.enter
pv.enter:
  br label %pv.head
pv.head:
  %pv = phi i64 [ 0, %pv.enter ], [ %pv.after, %pv.latch ]
  %pv.more = icmp ult i64 %pv, 40
  br i1 %pv.more, label %pv.body, label %pv.done
pv.body:
  %pv.from.offset = mul nuw i64 %pv, 4
  %pv.from = getelementptr i8, ptr %pa.from, i64 %pv.from.offset
  %pv.x = load <8 x float>, ptr %pv.from, align 4
  %pv.to.offset = mul nuw i64 %pv, 4
  %pv.to = getelementptr i8, ptr %pa.to, i64 %pv.to.offset
  store <8 x float> %pv.x, ptr %pv.to, align 32
  br label %pv.latch
pv.latch:
  %pv.after = add nuw i64 %pv, 8
  br label %pv.head
pv.done:
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
  %j.more = icmp ult i64 %j, 17
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; -- prologue: pack a panel of B
  %b.k.offset = mul nuw i64 %k0, 4
  %b.k = getelementptr i8, ptr %b, i64 %b.k.offset
  %b.j.offset = mul nuw i64 %j, 160
  %b.panel = getelementptr i8, ptr %b.k, i64 %b.j.offset
  br label %pe.enter
pe.enter:
  br label %pe.head
pe.head:
  %pe = phi i64 [ 0, %pe.enter ], [ %pe.after, %pe.latch ]
  %pe.more = icmp ult i64 %pe, 40
  br i1 %pe.more, label %pe.body, label %pe.done
pe.body:
  %pe.from.offset = mul nuw i64 %pe, 4
  %pe.from = getelementptr i8, ptr %b.panel, i64 %pe.from.offset
  %pe.to.offset = mul nuw i64 %pe, 96
  %pe.to = getelementptr i8, ptr %b.pack, i64 %pe.to.offset
  %pe.n0.to = getelementptr i8, ptr %pe.to, i64 0
  %pe.n0.from = getelementptr i8, ptr %pe.from, i64 0
  %pe.n0.p0 = getelementptr i8, ptr %pe.n0.from, i64 0
  %pe.n0.s0 = load float, ptr %pe.n0.p0, align 4
  %pe.n0.v1 = insertelement <8 x float> zeroinitializer, float %pe.n0.s0, i32 0
  %pe.n0.p1 = getelementptr i8, ptr %pe.n0.from, i64 160
  %pe.n0.s1 = load float, ptr %pe.n0.p1, align 4
  %pe.n0.v2 = insertelement <8 x float> %pe.n0.v1, float %pe.n0.s1, i32 1
  %pe.n0.p2 = getelementptr i8, ptr %pe.n0.from, i64 320
  %pe.n0.s2 = load float, ptr %pe.n0.p2, align 4
  %pe.n0.v3 = insertelement <8 x float> %pe.n0.v2, float %pe.n0.s2, i32 2
  %pe.n0.p3 = getelementptr i8, ptr %pe.n0.from, i64 480
  %pe.n0.s3 = load float, ptr %pe.n0.p3, align 4
  %pe.n0.v4 = insertelement <8 x float> %pe.n0.v3, float %pe.n0.s3, i32 3
  %pe.n0.p4 = getelementptr i8, ptr %pe.n0.from, i64 640
  %pe.n0.s4 = load float, ptr %pe.n0.p4, align 4
  %pe.n0.v5 = insertelement <8 x float> %pe.n0.v4, float %pe.n0.s4, i32 4
  %pe.n0.p5 = getelementptr i8, ptr %pe.n0.from, i64 800
  %pe.n0.s5 = load float, ptr %pe.n0.p5, align 4
  %pe.n0.v6 = insertelement <8 x float> %pe.n0.v5, float %pe.n0.s5, i32 5
  %pe.n0.p6 = getelementptr i8, ptr %pe.n0.from, i64 960
  %pe.n0.s6 = load float, ptr %pe.n0.p6, align 4
  %pe.n0.v7 = insertelement <8 x float> %pe.n0.v6, float %pe.n0.s6, i32 6
  %pe.n0.p7 = getelementptr i8, ptr %pe.n0.from, i64 1120
  %pe.n0.s7 = load float, ptr %pe.n0.p7, align 4
  %pe.n0 = insertelement <8 x float> %pe.n0.v7, float %pe.n0.s7, i32 7
  store <8 x float> %pe.n0, ptr %pe.n0.to, align 32
  %pe.n1.to = getelementptr i8, ptr %pe.to, i64 32
  %pe.n1.from = getelementptr i8, ptr %pe.from, i64 1280
  %pe.n1.p0 = getelementptr i8, ptr %pe.n1.from, i64 0
  %pe.n1.s0 = load float, ptr %pe.n1.p0, align 4
  %pe.n1.v1 = insertelement <8 x float> zeroinitializer, float %pe.n1.s0, i32 0
  %pe.n1.p1 = getelementptr i8, ptr %pe.n1.from, i64 160
  %pe.n1.s1 = load float, ptr %pe.n1.p1, align 4
  %pe.n1.v2 = insertelement <8 x float> %pe.n1.v1, float %pe.n1.s1, i32 1
  %pe.n1.p2 = getelementptr i8, ptr %pe.n1.from, i64 320
  %pe.n1.s2 = load float, ptr %pe.n1.p2, align 4
  %pe.n1.v3 = insertelement <8 x float> %pe.n1.v2, float %pe.n1.s2, i32 2
  %pe.n1.p3 = getelementptr i8, ptr %pe.n1.from, i64 480
  %pe.n1.s3 = load float, ptr %pe.n1.p3, align 4
  %pe.n1.v4 = insertelement <8 x float> %pe.n1.v3, float %pe.n1.s3, i32 3
  %pe.n1.p4 = getelementptr i8, ptr %pe.n1.from, i64 640
  %pe.n1.s4 = load float, ptr %pe.n1.p4, align 4
  %pe.n1.v5 = insertelement <8 x float> %pe.n1.v4, float %pe.n1.s4, i32 4
  %pe.n1.p5 = getelementptr i8, ptr %pe.n1.from, i64 800
  %pe.n1.s5 = load float, ptr %pe.n1.p5, align 4
  %pe.n1.v6 = insertelement <8 x float> %pe.n1.v5, float %pe.n1.s5, i32 5
  %pe.n1.p6 = getelementptr i8, ptr %pe.n1.from, i64 960
  %pe.n1.s6 = load float, ptr %pe.n1.p6, align 4
  %pe.n1.v7 = insertelement <8 x float> %pe.n1.v6, float %pe.n1.s6, i32 6
  %pe.n1.p7 = getelementptr i8, ptr %pe.n1.from, i64 1120
  %pe.n1.s7 = load float, ptr %pe.n1.p7, align 4
  %pe.n1 = insertelement <8 x float> %pe.n1.v7, float %pe.n1.s7, i32 7
  store <8 x float> %pe.n1, ptr %pe.n1.to, align 32
  %pe.n2.to = getelementptr i8, ptr %pe.to, i64 64
  %pe.n2.from = getelementptr i8, ptr %pe.from, i64 2560
  %pe.n2.p0 = getelementptr i8, ptr %pe.n2.from, i64 0
  %pe.n2.s0 = load float, ptr %pe.n2.p0, align 4
  %pe.n2 = insertelement <8 x float> zeroinitializer, float %pe.n2.s0, i32 0
  store <8 x float> %pe.n2, ptr %pe.n2.to, align 32
  br label %pe.latch
pe.latch:
  %pe.after = add nuw i64 %pe, 1
  br label %pe.head
pe.done:

  ; -- mainloop: mr x nr sums
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, 33
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %i.a.offset = mul nuw i64 %i, 224
  %i.a = getelementptr i8, ptr %a.pack, i64 %i.a.offset
  %i.acc.row = mul nuw i64 %i, 96
  %i.acc.column = mul nuw i64 %j, 4
  %i.acc.offset = add nuw i64 %i.acc.row, %i.acc.column
  %i.acc = getelementptr i8, ptr %acc, i64 %i.acc.offset
  %sum_m0_n0.at = getelementptr i8, ptr %i.acc, i64 0
  %sum_m0_n1.at = getelementptr i8, ptr %i.acc, i64 32
  %sum_m0_n2.at = getelementptr i8, ptr %i.acc, i64 64
  %sum_m1_n0.at = getelementptr i8, ptr %i.acc, i64 96
  %sum_m1_n1.at = getelementptr i8, ptr %i.acc, i64 128
  %sum_m1_n2.at = getelementptr i8, ptr %i.acc, i64 160
  %sum_m2_n0.at = getelementptr i8, ptr %i.acc, i64 192
  %sum_m2_n1.at = getelementptr i8, ptr %i.acc, i64 224
  %sum_m2_n2.at = getelementptr i8, ptr %i.acc, i64 256
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m1_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m2_n0 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n0.next, %k.latch ]
  %sum_m2_n1 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n1.next, %k.latch ]
  %sum_m2_n2 = phi <8 x float> [ zeroinitializer, %k.enter ], [ %sum_m2_n2.next, %k.latch ]
  %k.more = icmp ult i64 %k, 40
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.b.offset = mul nuw i64 %k, 96
  %k.b = getelementptr i8, ptr %b.pack, i64 %k.b.offset
  %b_n0.at = getelementptr i8, ptr %k.b, i64 0
  %b_n0 = load <8 x float>, ptr %b_n0.at, align 32
  %b_n1.at = getelementptr i8, ptr %k.b, i64 32
  %b_n1 = load <8 x float>, ptr %b_n1.at, align 32
  %b_n2.at = getelementptr i8, ptr %k.b, i64 64
  %b_n2 = load <8 x float>, ptr %b_n2.at, align 32
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %i.a, i64 %k.a.offset
  %a_m0.at = getelementptr i8, ptr %k.a, i64 0
  %a_m0.scalar = load float, ptr %a_m0.at, align 4
  %a_m0.first = insertelement <8 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <8 x float> %a_m0.first, <8 x float> poison, <8 x i32> zeroinitializer
  %a_m1.at = getelementptr i8, ptr %k.a, i64 224
  %a_m1.scalar = load float, ptr %a_m1.at, align 4
  %a_m1.first = insertelement <8 x float> poison, float %a_m1.scalar, i32 0
  %a_m1 = shufflevector <8 x float> %a_m1.first, <8 x float> poison, <8 x i32> zeroinitializer
  %a_m2.at = getelementptr i8, ptr %k.a, i64 448
  %a_m2.scalar = load float, ptr %a_m2.at, align 4
  %a_m2.first = insertelement <8 x float> poison, float %a_m2.scalar, i32 0
  %a_m2 = shufflevector <8 x float> %a_m2.first, <8 x float> poison, <8 x i32> zeroinitializer
  %sum_m0_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n0, <8 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n1, <8 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m0, <8 x float> %b_n2, <8 x float> %sum_m0_n2)
  %sum_m1_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n0, <8 x float> %sum_m1_n0)
  %sum_m1_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n1, <8 x float> %sum_m1_n1)
  %sum_m1_n2.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m1, <8 x float> %b_n2, <8 x float> %sum_m1_n2)
  %sum_m2_n0.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n0, <8 x float> %sum_m2_n0)
  %sum_m2_n1.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n1, <8 x float> %sum_m2_n1)
  %sum_m2_n2.next = call <8 x float> @llvm.fma.v8f32(<8 x float> %a_m2, <8 x float> %b_n2, <8 x float> %sum_m2_n2)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 1
  br label %k.head
k.done:
  store <8 x float> %sum_m0_n0, ptr %sum_m0_n0.at, align 32
  store <8 x float> %sum_m0_n1, ptr %sum_m0_n1.at, align 32
  store <8 x float> %sum_m0_n2, ptr %sum_m0_n2.at, align 32
  store <8 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 32
  store <8 x float> %sum_m1_n1, ptr %sum_m1_n1.at, align 32
  store <8 x float> %sum_m1_n2, ptr %sum_m1_n2.at, align 32
  store <8 x float> %sum_m2_n0, ptr %sum_m2_n0.at, align 32
  store <8 x float> %sum_m2_n1, ptr %sum_m2_n1.at, align 32
  store <8 x float> %sum_m2_n2, ptr %sum_m2_n2.at, align 32
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 3
  br label %i.head
i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 24
  br label %j.head
j.done:
  br label %k0.latch
k0.latch:
  %k0.after = add nuw i64 %k0, 40
  br label %k0.head
k0.done:

  ; -- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 33
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.offset = mul nuw i64 %m, 96
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.offset
  %out.offset = mul nuw i64 %m, 68
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 16
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %x.acc.offset = mul nuw i64 %n, 4
  %x.acc.at = getelementptr i8, ptr %acc.row, i64 %x.acc.offset
  %x.out.offset = mul nuw i64 %n, 4
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  %x.bias.at = getelementptr i8, ptr %bias, i64 %x.out.offset
  %x.acc = load <8 x float>, ptr %x.acc.at, align 32
  ; x + bias
  %x.bias = load <8 x float>, ptr %x.bias.at, align 4
  %x.x1.bias = fadd <8 x float> %x.acc, %x.bias
  ; max(x, 0), NaN stays NaN
  %x.x2.relu.negative = fcmp olt <8 x float> %x.x1.bias, zeroinitializer
  %x.x2.relu = select <8 x i1> %x.x2.relu.negative, <8 x float> zeroinitializer, <8 x float> %x.x1.bias
  store <8 x float> %x.x2.relu, ptr %x.out.at, align 4
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 8
  br label %n.head
n.done:
  %t.acc.offset = mul nuw i64 16, 4
  %t.acc.at = getelementptr i8, ptr %acc.row, i64 %t.acc.offset
  %t.out.offset = mul nuw i64 16, 4
  %t.out.at = getelementptr i8, ptr %out.row, i64 %t.out.offset
  %t.bias.at = getelementptr i8, ptr %bias, i64 %t.out.offset
  %t.acc = load <8 x float>, ptr %t.acc.at, align 32
  ; x + bias
  %t.bias.scalar = load float, ptr %t.bias.at, align 4
  %t.bias = insertelement <8 x float> zeroinitializer, float %t.bias.scalar, i32 0
  %t.x1.bias = fadd <8 x float> %t.acc, %t.bias
  ; max(x, 0), NaN stays NaN
  %t.x2.relu.negative = fcmp olt <8 x float> %t.x1.bias, zeroinitializer
  %t.x2.relu = select <8 x i1> %t.x2.relu.negative, <8 x float> zeroinitializer, <8 x float> %t.x1.bias
  %t.x2.relu.scalar = extractelement <8 x float> %t.x2.relu, i32 0
  store float %t.x2.relu.scalar, ptr %t.out.at, align 4
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
  ; -- exit
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
