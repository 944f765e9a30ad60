; h_add_x_residual_out_rms_norm_h_w_1e_05_4a7d0d6f_5x86_5x86_86_f16
; h = x + residual; out = rms_norm(h, w, 1e-05)
; target    x86-64-v3: x86_64 with abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=stream,task=762,unroll=4,nontemporal=0 (model)
; tasks     1 of 762 rows
; memory
;   %x.ptr  f16, shape 5 x 86, strides 86, 1 elements
;   %residual.ptr  f16, shape 5 x 86, strides 86, 1 elements
;   %w.ptr  f16, shape 86, strides 1 elements
;   %h.ptr  f16, shape 5 x 86, strides 86, 1 elements
;   %out.ptr  f16, shape 5 x 86, strides 86, 1 elements
target triple = "x86_64-unknown-linux-gnu"

define void @h_add_x_residual_out_rms_norm_h_w_1e_05_4a7d0d6f_5x86_5x86_86_f16(ptr %x.ptr, ptr %residual.ptr, ptr %w.ptr, ptr %h.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; -- addresses
  %row.start = mul nuw i64 %begin, 762
  %row.stop.tasks = mul nuw i64 %end, 762
  %row.stop.less = icmp ult i64 %row.stop.tasks, 5
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 5
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %row.start, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %row.stop
  br i1 %row.more, label %row.body, label %row.done
row.body:

  %x.row.term0 = mul nuw i64 %row, 172
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %residual.row.term0 = mul nuw i64 %row, 172
  %residual.row = getelementptr i8, ptr %residual.ptr, i64 %residual.row.term0
  %h.row.term0 = mul nuw i64 %row, 172
  %h.row = getelementptr i8, ptr %h.ptr, i64 %h.row.term0
  %out.row.term0 = mul nuw i64 %row, 172
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; -- mainloop: sum = sum((x + residual) * (x + residual))
  br label %sum.u.enter
sum.u.enter:
  br label %sum.u.head
sum.u.head:
  %sum.u = phi i64 [ 0, %sum.u.enter ], [ %sum.u.after, %sum.u.latch ]
  %sum.u0.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u0.fold.sum.next, %sum.u.latch ]
  %sum.u1.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u1.fold.sum.next, %sum.u.latch ]
  %sum.u2.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u2.fold.sum.next, %sum.u.latch ]
  %sum.u3.fold.sum = phi <8 x float> [ splat (float 0x0000000000000000), %sum.u.enter ], [ %sum.u3.fold.sum.next, %sum.u.latch ]
  %sum.u.more = icmp ult i64 %sum.u, 64
  br i1 %sum.u.more, label %sum.u.body, label %sum.u.done
sum.u.body:
  %sum.u0.x.at = getelementptr i16, ptr %x.row, i64 %sum.u
  %sum.u0.x.bits = load <8 x i16>, ptr %sum.u0.x.at, align 2
  %sum.u0.x.half = bitcast <8 x i16> %sum.u0.x.bits to <8 x half>
  %sum.u0.x = fpext <8 x half> %sum.u0.x.half to <8 x float>
  %sum.u0.residual.at = getelementptr i16, ptr %residual.row, i64 %sum.u
  %sum.u0.residual.bits = load <8 x i16>, ptr %sum.u0.residual.at, align 2
  %sum.u0.residual.half = bitcast <8 x i16> %sum.u0.residual.bits to <8 x half>
  %sum.u0.residual = fpext <8 x half> %sum.u0.residual.half to <8 x float>
  %sum.u0_add = fadd <8 x float> %sum.u0.x, %sum.u0.residual
  %sum.u0_mul = fmul <8 x float> %sum.u0_add, %sum.u0_add
  %sum.u0.fold.sum.next = fadd <8 x float> %sum.u0_mul, %sum.u0.fold.sum
  %sum.u1.first.i = add nuw i64 %sum.u, 8
  %sum.u1.x.at = getelementptr i16, ptr %x.row, i64 %sum.u1.first.i
  %sum.u1.x.bits = load <8 x i16>, ptr %sum.u1.x.at, align 2
  %sum.u1.x.half = bitcast <8 x i16> %sum.u1.x.bits to <8 x half>
  %sum.u1.x = fpext <8 x half> %sum.u1.x.half to <8 x float>
  %sum.u1.residual.at = getelementptr i16, ptr %residual.row, i64 %sum.u1.first.i
  %sum.u1.residual.bits = load <8 x i16>, ptr %sum.u1.residual.at, align 2
  %sum.u1.residual.half = bitcast <8 x i16> %sum.u1.residual.bits to <8 x half>
  %sum.u1.residual = fpext <8 x half> %sum.u1.residual.half to <8 x float>
  %sum.u1_add = fadd <8 x float> %sum.u1.x, %sum.u1.residual
  %sum.u1_mul = fmul <8 x float> %sum.u1_add, %sum.u1_add
  %sum.u1.fold.sum.next = fadd <8 x float> %sum.u1_mul, %sum.u1.fold.sum
  %sum.u2.first.i = add nuw i64 %sum.u, 16
  %sum.u2.x.at = getelementptr i16, ptr %x.row, i64 %sum.u2.first.i
  %sum.u2.x.bits = load <8 x i16>, ptr %sum.u2.x.at, align 2
  %sum.u2.x.half = bitcast <8 x i16> %sum.u2.x.bits to <8 x half>
  %sum.u2.x = fpext <8 x half> %sum.u2.x.half to <8 x float>
  %sum.u2.residual.at = getelementptr i16, ptr %residual.row, i64 %sum.u2.first.i
  %sum.u2.residual.bits = load <8 x i16>, ptr %sum.u2.residual.at, align 2
  %sum.u2.residual.half = bitcast <8 x i16> %sum.u2.residual.bits to <8 x half>
  %sum.u2.residual = fpext <8 x half> %sum.u2.residual.half to <8 x float>
  %sum.u2_add = fadd <8 x float> %sum.u2.x, %sum.u2.residual
  %sum.u2_mul = fmul <8 x float> %sum.u2_add, %sum.u2_add
  %sum.u2.fold.sum.next = fadd <8 x float> %sum.u2_mul, %sum.u2.fold.sum
  %sum.u3.first.i = add nuw i64 %sum.u, 24
  %sum.u3.x.at = getelementptr i16, ptr %x.row, i64 %sum.u3.first.i
  %sum.u3.x.bits = load <8 x i16>, ptr %sum.u3.x.at, align 2
  %sum.u3.x.half = bitcast <8 x i16> %sum.u3.x.bits to <8 x half>
  %sum.u3.x = fpext <8 x half> %sum.u3.x.half to <8 x float>
  %sum.u3.residual.at = getelementptr i16, ptr %residual.row, i64 %sum.u3.first.i
  %sum.u3.residual.bits = load <8 x i16>, ptr %sum.u3.residual.at, align 2
  %sum.u3.residual.half = bitcast <8 x i16> %sum.u3.residual.bits to <8 x half>
  %sum.u3.residual = fpext <8 x half> %sum.u3.residual.half to <8 x float>
  %sum.u3_add = fadd <8 x float> %sum.u3.x, %sum.u3.residual
  %sum.u3_mul = fmul <8 x float> %sum.u3_add, %sum.u3_add
  %sum.u3.fold.sum.next = fadd <8 x float> %sum.u3_mul, %sum.u3.fold.sum
  br label %sum.u.latch
sum.u.latch:
  %sum.u.after = add nuw i64 %sum.u, 32
  br label %sum.u.head
sum.u.done:
  %sum.u1.fold.sum.joined = fadd <8 x float> %sum.u0.fold.sum, %sum.u1.fold.sum
  %sum.u2.fold.sum.joined = fadd <8 x float> %sum.u1.fold.sum.joined, %sum.u2.fold.sum
  %sum.u3.fold.sum.joined = fadd <8 x float> %sum.u2.fold.sum.joined, %sum.u3.fold.sum
  br label %sum.s.enter
sum.s.enter:
  br label %sum.s.head
sum.s.head:
  %sum.s = phi i64 [ 64, %sum.s.enter ], [ %sum.s.after, %sum.s.latch ]
  %sum.s0.fold.sum = phi <8 x float> [ %sum.u3.fold.sum.joined, %sum.s.enter ], [ %sum.s0.fold.sum.next, %sum.s.latch ]
  %sum.s.more = icmp ult i64 %sum.s, 80
  br i1 %sum.s.more, label %sum.s.body, label %sum.s.done
sum.s.body:
  %sum.s0.x.at = getelementptr i16, ptr %x.row, i64 %sum.s
  %sum.s0.x.bits = load <8 x i16>, ptr %sum.s0.x.at, align 2
  %sum.s0.x.half = bitcast <8 x i16> %sum.s0.x.bits to <8 x half>
  %sum.s0.x = fpext <8 x half> %sum.s0.x.half to <8 x float>
  %sum.s0.residual.at = getelementptr i16, ptr %residual.row, i64 %sum.s
  %sum.s0.residual.bits = load <8 x i16>, ptr %sum.s0.residual.at, align 2
  %sum.s0.residual.half = bitcast <8 x i16> %sum.s0.residual.bits to <8 x half>
  %sum.s0.residual = fpext <8 x half> %sum.s0.residual.half to <8 x float>
  %sum.s0_add = fadd <8 x float> %sum.s0.x, %sum.s0.residual
  %sum.s0_mul = fmul <8 x float> %sum.s0_add, %sum.s0_add
  %sum.s0.fold.sum.next = fadd <8 x float> %sum.s0_mul, %sum.s0.fold.sum
  br label %sum.s.latch
sum.s.latch:
  %sum.s.after = add nuw i64 %sum.s, 8
  br label %sum.s.head
sum.s.done:
  %sum.t0.x.at = getelementptr i16, ptr %x.row, i64 80
  %sum.t0.x.bits = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %sum.t0.x.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %sum.t0.x.half = bitcast <8 x i16> %sum.t0.x.bits to <8 x half>
  %sum.t0.x = fpext <8 x half> %sum.t0.x.half to <8 x float>
  %sum.t0.residual.at = getelementptr i16, ptr %residual.row, i64 80
  %sum.t0.residual.bits = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %sum.t0.residual.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %sum.t0.residual.half = bitcast <8 x i16> %sum.t0.residual.bits to <8 x half>
  %sum.t0.residual = fpext <8 x half> %sum.t0.residual.half to <8 x float>
  %sum.t0_add = fadd <8 x float> %sum.t0.x, %sum.t0.residual
  %sum.t0_mul = fmul <8 x float> %sum.t0_add, %sum.t0_add
  %sum.t0.fold.sum.there = select <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x float> %sum.t0_mul, <8 x float> splat (float 0x0000000000000000)
  %sum.t0.fold.sum = fadd <8 x float> %sum.t0.fold.sum.there, %sum.s0.fold.sum
  %sum.by4 = shufflevector <8 x float> %sum.t0.fold.sum, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %sum.by4.folded = fadd <8 x float> %sum.t0.fold.sum, %sum.by4
  %sum.by2 = shufflevector <8 x float> %sum.by4.folded, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5>
  %sum.by2.folded = fadd <8 x float> %sum.by4.folded, %sum.by2
  %sum.by1 = shufflevector <8 x float> %sum.by2.folded, <8 x float> poison, <8 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6>
  %row.sum = fadd <8 x float> %sum.by2.folded, %sum.by1

  ; -- epilogue: h = x + residual; out = rms_norm(h, w, 1e-05)
  %row1_mul = fmul <8 x float> %row.sum, splat (float 0x3F87D05F40000000)
  %row1_add = fadd <8 x float> %row1_mul, splat (float 0x3EE4F8B580000000)
  %row1_rsqrt.root = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %row1_add)
  %row1_rsqrt = fdiv <8 x float> splat (float 0x3FF0000000000000), %row1_rsqrt.root
  br label %out.u.enter
out.u.enter:
  br label %out.u.head
out.u.head:
  %out.u = phi i64 [ 0, %out.u.enter ], [ %out.u.after, %out.u.latch ]
  %out.u.more = icmp ult i64 %out.u, 64
  br i1 %out.u.more, label %out.u.body, label %out.u.done
out.u.body:
  %out.u0.x.at = getelementptr i16, ptr %x.row, i64 %out.u
  %out.u0.x.bits = load <8 x i16>, ptr %out.u0.x.at, align 2
  %out.u0.x.half = bitcast <8 x i16> %out.u0.x.bits to <8 x half>
  %out.u0.x = fpext <8 x half> %out.u0.x.half to <8 x float>
  %out.u0.residual.at = getelementptr i16, ptr %residual.row, i64 %out.u
  %out.u0.residual.bits = load <8 x i16>, ptr %out.u0.residual.at, align 2
  %out.u0.residual.half = bitcast <8 x i16> %out.u0.residual.bits to <8 x half>
  %out.u0.residual = fpext <8 x half> %out.u0.residual.half to <8 x float>
  %out.u0.w.at = getelementptr i16, ptr %w.ptr, i64 %out.u
  %out.u0.w.bits = load <8 x i16>, ptr %out.u0.w.at, align 2
  %out.u0.w.half = bitcast <8 x i16> %out.u0.w.bits to <8 x half>
  %out.u0.w = fpext <8 x half> %out.u0.w.half to <8 x float>
  %out.u0_add = fadd <8 x float> %out.u0.x, %out.u0.residual
  %out.u0_mul = fmul <8 x float> %out.u0_add, %row1_rsqrt
  %out.u0_mul2 = fmul <8 x float> %out.u0_mul, %out.u0.w
  %out.u0.h.at = getelementptr i16, ptr %h.row, i64 %out.u
  %out.u0.h.stored.half = fptrunc <8 x float> %out.u0_add to <8 x half>
  %out.u0.h.stored = bitcast <8 x half> %out.u0.h.stored.half to <8 x i16>
  store <8 x i16> %out.u0.h.stored, ptr %out.u0.h.at, align 2
  %out.u0.out.at = getelementptr i16, ptr %out.row, i64 %out.u
  %out.u0.out.stored.half = fptrunc <8 x float> %out.u0_mul2 to <8 x half>
  %out.u0.out.stored = bitcast <8 x half> %out.u0.out.stored.half to <8 x i16>
  store <8 x i16> %out.u0.out.stored, ptr %out.u0.out.at, align 2
  %out.u1.first.i = add nuw i64 %out.u, 8
  %out.u1.x.at = getelementptr i16, ptr %x.row, i64 %out.u1.first.i
  %out.u1.x.bits = load <8 x i16>, ptr %out.u1.x.at, align 2
  %out.u1.x.half = bitcast <8 x i16> %out.u1.x.bits to <8 x half>
  %out.u1.x = fpext <8 x half> %out.u1.x.half to <8 x float>
  %out.u1.residual.at = getelementptr i16, ptr %residual.row, i64 %out.u1.first.i
  %out.u1.residual.bits = load <8 x i16>, ptr %out.u1.residual.at, align 2
  %out.u1.residual.half = bitcast <8 x i16> %out.u1.residual.bits to <8 x half>
  %out.u1.residual = fpext <8 x half> %out.u1.residual.half to <8 x float>
  %out.u1.w.at = getelementptr i16, ptr %w.ptr, i64 %out.u1.first.i
  %out.u1.w.bits = load <8 x i16>, ptr %out.u1.w.at, align 2
  %out.u1.w.half = bitcast <8 x i16> %out.u1.w.bits to <8 x half>
  %out.u1.w = fpext <8 x half> %out.u1.w.half to <8 x float>
  %out.u1_add = fadd <8 x float> %out.u1.x, %out.u1.residual
  %out.u1_mul = fmul <8 x float> %out.u1_add, %row1_rsqrt
  %out.u1_mul2 = fmul <8 x float> %out.u1_mul, %out.u1.w
  %out.u1.h.at = getelementptr i16, ptr %h.row, i64 %out.u1.first.i
  %out.u1.h.stored.half = fptrunc <8 x float> %out.u1_add to <8 x half>
  %out.u1.h.stored = bitcast <8 x half> %out.u1.h.stored.half to <8 x i16>
  store <8 x i16> %out.u1.h.stored, ptr %out.u1.h.at, align 2
  %out.u1.out.at = getelementptr i16, ptr %out.row, i64 %out.u1.first.i
  %out.u1.out.stored.half = fptrunc <8 x float> %out.u1_mul2 to <8 x half>
  %out.u1.out.stored = bitcast <8 x half> %out.u1.out.stored.half to <8 x i16>
  store <8 x i16> %out.u1.out.stored, ptr %out.u1.out.at, align 2
  %out.u2.first.i = add nuw i64 %out.u, 16
  %out.u2.x.at = getelementptr i16, ptr %x.row, i64 %out.u2.first.i
  %out.u2.x.bits = load <8 x i16>, ptr %out.u2.x.at, align 2
  %out.u2.x.half = bitcast <8 x i16> %out.u2.x.bits to <8 x half>
  %out.u2.x = fpext <8 x half> %out.u2.x.half to <8 x float>
  %out.u2.residual.at = getelementptr i16, ptr %residual.row, i64 %out.u2.first.i
  %out.u2.residual.bits = load <8 x i16>, ptr %out.u2.residual.at, align 2
  %out.u2.residual.half = bitcast <8 x i16> %out.u2.residual.bits to <8 x half>
  %out.u2.residual = fpext <8 x half> %out.u2.residual.half to <8 x float>
  %out.u2.w.at = getelementptr i16, ptr %w.ptr, i64 %out.u2.first.i
  %out.u2.w.bits = load <8 x i16>, ptr %out.u2.w.at, align 2
  %out.u2.w.half = bitcast <8 x i16> %out.u2.w.bits to <8 x half>
  %out.u2.w = fpext <8 x half> %out.u2.w.half to <8 x float>
  %out.u2_add = fadd <8 x float> %out.u2.x, %out.u2.residual
  %out.u2_mul = fmul <8 x float> %out.u2_add, %row1_rsqrt
  %out.u2_mul2 = fmul <8 x float> %out.u2_mul, %out.u2.w
  %out.u2.h.at = getelementptr i16, ptr %h.row, i64 %out.u2.first.i
  %out.u2.h.stored.half = fptrunc <8 x float> %out.u2_add to <8 x half>
  %out.u2.h.stored = bitcast <8 x half> %out.u2.h.stored.half to <8 x i16>
  store <8 x i16> %out.u2.h.stored, ptr %out.u2.h.at, align 2
  %out.u2.out.at = getelementptr i16, ptr %out.row, i64 %out.u2.first.i
  %out.u2.out.stored.half = fptrunc <8 x float> %out.u2_mul2 to <8 x half>
  %out.u2.out.stored = bitcast <8 x half> %out.u2.out.stored.half to <8 x i16>
  store <8 x i16> %out.u2.out.stored, ptr %out.u2.out.at, align 2
  %out.u3.first.i = add nuw i64 %out.u, 24
  %out.u3.x.at = getelementptr i16, ptr %x.row, i64 %out.u3.first.i
  %out.u3.x.bits = load <8 x i16>, ptr %out.u3.x.at, align 2
  %out.u3.x.half = bitcast <8 x i16> %out.u3.x.bits to <8 x half>
  %out.u3.x = fpext <8 x half> %out.u3.x.half to <8 x float>
  %out.u3.residual.at = getelementptr i16, ptr %residual.row, i64 %out.u3.first.i
  %out.u3.residual.bits = load <8 x i16>, ptr %out.u3.residual.at, align 2
  %out.u3.residual.half = bitcast <8 x i16> %out.u3.residual.bits to <8 x half>
  %out.u3.residual = fpext <8 x half> %out.u3.residual.half to <8 x float>
  %out.u3.w.at = getelementptr i16, ptr %w.ptr, i64 %out.u3.first.i
  %out.u3.w.bits = load <8 x i16>, ptr %out.u3.w.at, align 2
  %out.u3.w.half = bitcast <8 x i16> %out.u3.w.bits to <8 x half>
  %out.u3.w = fpext <8 x half> %out.u3.w.half to <8 x float>
  %out.u3_add = fadd <8 x float> %out.u3.x, %out.u3.residual
  %out.u3_mul = fmul <8 x float> %out.u3_add, %row1_rsqrt
  %out.u3_mul2 = fmul <8 x float> %out.u3_mul, %out.u3.w
  %out.u3.h.at = getelementptr i16, ptr %h.row, i64 %out.u3.first.i
  %out.u3.h.stored.half = fptrunc <8 x float> %out.u3_add to <8 x half>
  %out.u3.h.stored = bitcast <8 x half> %out.u3.h.stored.half to <8 x i16>
  store <8 x i16> %out.u3.h.stored, ptr %out.u3.h.at, align 2
  %out.u3.out.at = getelementptr i16, ptr %out.row, i64 %out.u3.first.i
  %out.u3.out.stored.half = fptrunc <8 x float> %out.u3_mul2 to <8 x half>
  %out.u3.out.stored = bitcast <8 x half> %out.u3.out.stored.half to <8 x i16>
  store <8 x i16> %out.u3.out.stored, ptr %out.u3.out.at, align 2
  br label %out.u.latch
out.u.latch:
  %out.u.after = add nuw i64 %out.u, 32
  br label %out.u.head
out.u.done:
  br label %out.s.enter
out.s.enter:
  br label %out.s.head
out.s.head:
  %out.s = phi i64 [ 64, %out.s.enter ], [ %out.s.after, %out.s.latch ]
  %out.s.more = icmp ult i64 %out.s, 80
  br i1 %out.s.more, label %out.s.body, label %out.s.done
out.s.body:
  %out.s0.x.at = getelementptr i16, ptr %x.row, i64 %out.s
  %out.s0.x.bits = load <8 x i16>, ptr %out.s0.x.at, align 2
  %out.s0.x.half = bitcast <8 x i16> %out.s0.x.bits to <8 x half>
  %out.s0.x = fpext <8 x half> %out.s0.x.half to <8 x float>
  %out.s0.residual.at = getelementptr i16, ptr %residual.row, i64 %out.s
  %out.s0.residual.bits = load <8 x i16>, ptr %out.s0.residual.at, align 2
  %out.s0.residual.half = bitcast <8 x i16> %out.s0.residual.bits to <8 x half>
  %out.s0.residual = fpext <8 x half> %out.s0.residual.half to <8 x float>
  %out.s0.w.at = getelementptr i16, ptr %w.ptr, i64 %out.s
  %out.s0.w.bits = load <8 x i16>, ptr %out.s0.w.at, align 2
  %out.s0.w.half = bitcast <8 x i16> %out.s0.w.bits to <8 x half>
  %out.s0.w = fpext <8 x half> %out.s0.w.half to <8 x float>
  %out.s0_add = fadd <8 x float> %out.s0.x, %out.s0.residual
  %out.s0_mul = fmul <8 x float> %out.s0_add, %row1_rsqrt
  %out.s0_mul2 = fmul <8 x float> %out.s0_mul, %out.s0.w
  %out.s0.h.at = getelementptr i16, ptr %h.row, i64 %out.s
  %out.s0.h.stored.half = fptrunc <8 x float> %out.s0_add to <8 x half>
  %out.s0.h.stored = bitcast <8 x half> %out.s0.h.stored.half to <8 x i16>
  store <8 x i16> %out.s0.h.stored, ptr %out.s0.h.at, align 2
  %out.s0.out.at = getelementptr i16, ptr %out.row, i64 %out.s
  %out.s0.out.stored.half = fptrunc <8 x float> %out.s0_mul2 to <8 x half>
  %out.s0.out.stored = bitcast <8 x half> %out.s0.out.stored.half to <8 x i16>
  store <8 x i16> %out.s0.out.stored, ptr %out.s0.out.at, align 2
  br label %out.s.latch
out.s.latch:
  %out.s.after = add nuw i64 %out.s, 8
  br label %out.s.head
out.s.done:
  %out.t0.x.at = getelementptr i16, ptr %x.row, i64 80
  %out.t0.x.bits = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %out.t0.x.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %out.t0.x.half = bitcast <8 x i16> %out.t0.x.bits to <8 x half>
  %out.t0.x = fpext <8 x half> %out.t0.x.half to <8 x float>
  %out.t0.residual.at = getelementptr i16, ptr %residual.row, i64 80
  %out.t0.residual.bits = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %out.t0.residual.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %out.t0.residual.half = bitcast <8 x i16> %out.t0.residual.bits to <8 x half>
  %out.t0.residual = fpext <8 x half> %out.t0.residual.half to <8 x float>
  %out.t0.w.at = getelementptr i16, ptr %w.ptr, i64 80
  %out.t0.w.bits = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %out.t0.w.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>, <8 x i16> zeroinitializer)
  %out.t0.w.half = bitcast <8 x i16> %out.t0.w.bits to <8 x half>
  %out.t0.w = fpext <8 x half> %out.t0.w.half to <8 x float>
  %out.t0_add = fadd <8 x float> %out.t0.x, %out.t0.residual
  %out.t0_mul = fmul <8 x float> %out.t0_add, %row1_rsqrt
  %out.t0_mul2 = fmul <8 x float> %out.t0_mul, %out.t0.w
  %out.t0.h.at = getelementptr i16, ptr %h.row, i64 80
  %out.t0.h.stored.half = fptrunc <8 x float> %out.t0_add to <8 x half>
  %out.t0.h.stored = bitcast <8 x half> %out.t0.h.stored.half to <8 x i16>
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %out.t0.h.stored, ptr align 2 %out.t0.h.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>)
  %out.t0.out.at = getelementptr i16, ptr %out.row, i64 80
  %out.t0.out.stored.half = fptrunc <8 x float> %out.t0_mul2 to <8 x half>
  %out.t0.out.stored = bitcast <8 x half> %out.t0.out.stored.half to <8 x i16>
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %out.t0.out.stored, ptr align 2 %out.t0.out.at, <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0, i1 0>)
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  ; -- exit
  ret void
}

declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr, <8 x i1>, <8 x i16>)
declare void @llvm.masked.store.v8i16.p0(<8 x i16>, ptr, <8 x i1>)

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="256" "prefer-vector-width"="256" }

