; matmul_64x64x128_f32_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64, x86_64; requires sse2
; schedule:  mainloop=blis,mr=2,nr=16,mc=64,kc=64,nc=32,pack_a=0,pack_b=0,sums_in_out=0,tasks_per_pass=1,prefetch_panel=0,keep_b=0,packing_ahead=8,packing_ahead_narrow=32,pair_sums=8 (tuned)
; launch:    2 tasks of up to 64 x 32 outputs; 1 x 2 blocks
; method:    BLIS blocking: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr
;              columns of B it visits every mr rows of A, with mr x nr accumulators in registers
; memory:    stack, 12288 B
;            %acc: float [mc][nc], 192 B per row, 12288 B
; arguments: a: input f32[64, 128], strides [128, 1]
;            b: input f32[128, 64], strides [64, 1]
;            out: output f32[64, 64], strides [64, 1]

target triple = "x86_64-unknown-linux-gnu"

define internal void @tile_2x16(ptr noalias %a, ptr noalias %b, ptr noalias %acc, ptr noalias %ahead) #1 {
enter:
  %sum_m0_n0.start = load <4 x float>, ptr %acc, align 16
  %sum_m0_n1.at = getelementptr i8, ptr %acc, i64 16
  %sum_m0_n1.start = load <4 x float>, ptr %sum_m0_n1.at, align 16
  %sum_m0_n2.at = getelementptr i8, ptr %acc, i64 32
  %sum_m0_n2.start = load <4 x float>, ptr %sum_m0_n2.at, align 16
  %sum_m0_n3.at = getelementptr i8, ptr %acc, i64 48
  %sum_m0_n3.start = load <4 x float>, ptr %sum_m0_n3.at, align 16
  %sum_m1_n0.at = getelementptr i8, ptr %acc, i64 192
  %sum_m1_n0.start = load <4 x float>, ptr %sum_m1_n0.at, align 16
  %sum_m1_n1.at = getelementptr i8, ptr %acc, i64 208
  %sum_m1_n1.start = load <4 x float>, ptr %sum_m1_n1.at, align 16
  %sum_m1_n2.at = getelementptr i8, ptr %acc, i64 224
  %sum_m1_n2.start = load <4 x float>, ptr %sum_m1_n2.at, align 16
  %sum_m1_n3.at = getelementptr i8, ptr %acc, i64 240
  %sum_m1_n3.start = load <4 x float>, ptr %sum_m1_n3.at, align 16
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %sum_m0_n0 = phi <4 x float> [ %sum_m0_n0.start, %k.enter ], [ %sum_m0_n0.next, %k.latch ]
  %sum_m0_n1 = phi <4 x float> [ %sum_m0_n1.start, %k.enter ], [ %sum_m0_n1.next, %k.latch ]
  %sum_m0_n2 = phi <4 x float> [ %sum_m0_n2.start, %k.enter ], [ %sum_m0_n2.next, %k.latch ]
  %sum_m0_n3 = phi <4 x float> [ %sum_m0_n3.start, %k.enter ], [ %sum_m0_n3.next, %k.latch ]
  %sum_m1_n0 = phi <4 x float> [ %sum_m1_n0.start, %k.enter ], [ %sum_m1_n0.next, %k.latch ]
  %sum_m1_n1 = phi <4 x float> [ %sum_m1_n1.start, %k.enter ], [ %sum_m1_n1.next, %k.latch ]
  %sum_m1_n2 = phi <4 x float> [ %sum_m1_n2.start, %k.enter ], [ %sum_m1_n2.next, %k.latch ]
  %sum_m1_n3 = phi <4 x float> [ %sum_m1_n3.start, %k.enter ], [ %sum_m1_n3.next, %k.latch ]
  %k.more = icmp ult i64 %k, 64
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.ahead.offset = mul nuw i64 %k, 2
  %k.ahead = getelementptr i8, ptr %ahead, i64 %k.ahead.offset
  call void @llvm.prefetch.p0(ptr %k.ahead, i32 0, i32 2, i32 1)
  %k.b.offset = mul nuw i64 %k, 256
  %k.b = getelementptr i8, ptr %b, i64 %k.b.offset
  %b_n0 = load <4 x float>, ptr %k.b, align 4
  %b_n1.at = getelementptr i8, ptr %k.b, i64 16
  %b_n1 = load <4 x float>, ptr %b_n1.at, align 4
  %b_n2.at = getelementptr i8, ptr %k.b, i64 32
  %b_n2 = load <4 x float>, ptr %b_n2.at, align 4
  %b_n3.at = getelementptr i8, ptr %k.b, i64 48
  %b_n3 = load <4 x float>, ptr %b_n3.at, align 4
  %k.a.offset = mul nuw i64 %k, 4
  %k.a = getelementptr i8, ptr %a, i64 %k.a.offset
  %a_m0.scalar = load float, ptr %k.a, align 4
  %a_m0.first = insertelement <4 x float> poison, float %a_m0.scalar, i32 0
  %a_m0 = shufflevector <4 x float> %a_m0.first, <4 x float> poison, <4 x i32> zeroinitializer
  %sum_m0_n0.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n0, <4 x float> %sum_m0_n0)
  %sum_m0_n1.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n1, <4 x float> %sum_m0_n1)
  %sum_m0_n2.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n2, <4 x float> %sum_m0_n2)
  %sum_m0_n3.next = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a_m0, <4 x float> %b_n3, <4 x float> %sum_m0_n3)
  %a_m1.at = getelementptr i8, ptr %k.a, i64 512
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
  store <4 x float> %sum_m0_n0, ptr %acc, align 16
  store <4 x float> %sum_m0_n1, ptr %sum_m0_n1.at, align 16
  store <4 x float> %sum_m0_n2, ptr %sum_m0_n2.at, align 16
  store <4 x float> %sum_m0_n3, ptr %sum_m0_n3.at, align 16
  store <4 x float> %sum_m1_n0, ptr %sum_m1_n0.at, align 16
  store <4 x float> %sum_m1_n1, ptr %sum_m1_n1.at, align 16
  store <4 x float> %sum_m1_n2, ptr %sum_m1_n2.at, align 16
  store <4 x float> %sum_m1_n3, ptr %sum_m1_n3.at, align 16
  ret void
}

define void @matmul_64x64x128_f32_nn(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %acc = alloca [12288 x i8], align 64
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest
  %block.n = urem i64 %task, 2
  %n0 = mul nuw i64 %block.n, 32

  %b.n0.offset = mul nuw i64 %n0, 4
  %b.n0 = getelementptr i8, ptr %b, i64 %b.n0.offset

  br label %acc.clear.enter
acc.clear.enter:
  br label %acc.clear.head
acc.clear.head:
  %acc.clear = phi i64 [ 0, %acc.clear.enter ], [ %acc.clear.after, %acc.clear.latch ]
  %acc.clear.more = icmp ult i64 %acc.clear, 12288
  br i1 %acc.clear.more, label %acc.clear.body, label %acc.clear.done
acc.clear.body:
  %acc.clear.at = getelementptr i8, ptr %acc, i64 %acc.clear
  store <16 x i8> zeroinitializer, ptr %acc.clear.at, align 16
  br label %acc.clear.latch
acc.clear.latch:
  %acc.clear.after = add nuw i64 %acc.clear, 16
  br label %acc.clear.head
acc.clear.done:
  br label %k0.enter
k0.enter:
  br label %k0.head
k0.head:
  %k0 = phi i64 [ 0, %k0.enter ], [ %k0.after, %k0.latch ]
  %k0.more = icmp ult i64 %k0, 128
  br i1 %k0.more, label %k0.body, label %k0.done
k0.body:

  %a.k.offset = mul nuw i64 %k0, 4
  %a.k = getelementptr i8, ptr %a, i64 %a.k.offset
  %b.k.offset = mul nuw i64 %k0, 256
  %b.k = getelementptr i8, ptr %b.n0, i64 %b.k.offset
  %ahead.next = add nuw i64 %k0, 64
  %ahead.is_inside = icmp ult i64 %ahead.next, 128
  %ahead.k = select i1 %ahead.is_inside, i64 64, i64 0
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 32
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; ---- a panel of nr columns
  %p.b.offset = mul nuw i64 %j, 4
  %p.b = getelementptr i8, ptr %b.k, i64 %p.b.offset

  ; ---- mainloop: register tiles, from the top to the bottom
  br label %p.i.enter
p.i.enter:
  br label %p.i.head
p.i.head:
  %p.i = phi i64 [ 0, %p.i.enter ], [ %p.i.after, %p.i.latch ]
  %p.i.more = icmp ult i64 %p.i, 64
  br i1 %p.i.more, label %p.i.body, label %p.i.done
p.i.body:
  %p.w.a.offset = mul nuw i64 %p.i, 512
  %p.w.a = getelementptr i8, ptr %a.k, i64 %p.w.a.offset
  %p.w.row = mul nuw i64 %p.i, 192
  %p.w.column = mul nuw i64 %j, 4
  %p.w.corner = add nuw i64 %p.w.row, %p.w.column
  %p.w.acc = getelementptr i8, ptr %acc, i64 %p.w.corner
  %p.w.next.part = udiv i64 %p.i, 2
  %p.w.next.panel = mul nuw i64 %j, 256
  %p.w.next.share = mul nuw i64 %p.w.next.part, 128
  %p.w.next.start = add nuw i64 %p.w.next.panel, %p.w.next.share
  %p.w.next.row = udiv i64 %p.w.next.start, 128
  %p.w.next.column = urem i64 %p.w.next.start, 128
  %p.w.next.k = add nuw i64 %p.w.next.row, %ahead.k
  %p.w.next.offset = mul nuw i64 %p.w.next.k, 256
  %p.w.next = getelementptr i8, ptr %b.k, i64 %p.w.next.offset
  %p.w.ahead = getelementptr i8, ptr %p.w.next, i64 %p.w.next.column
  call void @tile_2x16(ptr %p.w.a, ptr %p.b, ptr %p.w.acc, ptr %p.w.ahead)
  br label %p.i.latch
p.i.latch:
  %p.i.after = add nuw i64 %p.i, 2
  br label %p.i.head
p.i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 16
  br label %j.head
j.done:
  br label %k0.latch
k0.latch:
  %k0.after = add nuw i64 %k0, 64
  br label %k0.head
k0.done:

  %out.n0.offset = mul nuw i64 %n0, 4
  %out.n0 = getelementptr i8, ptr %out, i64 %out.n0.offset
  ; ---- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 64
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.row.offset = mul nuw i64 %m, 192
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.row.offset
  %out.offset = mul nuw i64 %m, 256
  %out.row = getelementptr i8, ptr %out.n0, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 32
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %x.acc.at.offset = mul nuw i64 %n, 4
  %x.acc.at = getelementptr i8, ptr %acc.row, i64 %x.acc.at.offset
  %x.acc = load <4 x float>, ptr %x.acc.at, align 16
  %x.out.offset = mul nuw i64 %n, 4
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  store <4 x float> %x.acc, ptr %x.out.at, align 4
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 4
  br label %n.head
n.done:
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

declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)
declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)
attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
attributes #1 = { noinline noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="128" "prefer-vector-width"="128" }
