; argmax_3x100_f32_to_s32
;
; computes:  out = argmax(x)
; target:    x86-64-v4, x86_64; requires abm avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c
;              fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=stream,task=655,unroll=4,nontemporal=0,prefetch=0,online=0,variance_head=0,keep_in_output=0,kept_bytes=131072,prefetch_next_row=0 (model)
; launch:    1 task of up to 3 rows
; arguments: x: input f32[3, 100], strides [100, 1]
;            out: output s32[3], strides [1]

target triple = "x86_64-unknown-linux-gnu"

define void @argmax_3x100_f32_to_s32(ptr %x.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %row.start = mul nuw i64 %begin, 655
  %row.stop.tasks = mul nuw i64 %end, 655
  %row.stop.less = icmp ult i64 %row.stop.tasks, 3
  %row.stop = select i1 %row.stop.less, i64 %row.stop.tasks, i64 3
  br label %row.enter
row.enter:
  br label %row.head
row.head:
  %row = phi i64 [ %row.start, %row.enter ], [ %row.after, %row.latch ]
  %row.more = icmp ult i64 %row, %row.stop
  br i1 %row.more, label %row.body, label %row.done
row.body:

  %x.row.term0 = mul nuw i64 %row, 400
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %out.row.term0 = mul nuw i64 %row, 4
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.term0

  ; ---- mainloop: max = max(x), min = min(select(or(equal(x, max), not(equal(x, x))), column, 100))
  br label %max_min.u.enter
max_min.u.enter:
  br label %max_min.u.head
max_min.u.head:
  %max_min.u = phi i64 [ 0, %max_min.u.enter ], [ %max_min.u.after, %max_min.u.latch ]
  %max_min.u0.fold.max = phi <16 x float> [ splat (float 0xFFF0000000000000), %max_min.u.enter ], [ %max_min.u0.fold.max.next, %max_min.u.latch ]
  %max_min.u0.fold.min = phi <16 x float> [ splat (float 0x0000000000000000), %max_min.u.enter ], [ %max_min.u0.fold.min.next, %max_min.u.latch ]
  %max_min.u1.fold.max = phi <16 x float> [ splat (float 0xFFF0000000000000), %max_min.u.enter ], [ %max_min.u1.fold.max.next, %max_min.u.latch ]
  %max_min.u1.fold.min = phi <16 x float> [ splat (float 0x0000000000000000), %max_min.u.enter ], [ %max_min.u1.fold.min.next, %max_min.u.latch ]
  %max_min.u2.fold.max = phi <16 x float> [ splat (float 0xFFF0000000000000), %max_min.u.enter ], [ %max_min.u2.fold.max.next, %max_min.u.latch ]
  %max_min.u2.fold.min = phi <16 x float> [ splat (float 0x0000000000000000), %max_min.u.enter ], [ %max_min.u2.fold.min.next, %max_min.u.latch ]
  %max_min.u3.fold.max = phi <16 x float> [ splat (float 0xFFF0000000000000), %max_min.u.enter ], [ %max_min.u3.fold.max.next, %max_min.u.latch ]
  %max_min.u3.fold.min = phi <16 x float> [ splat (float 0x0000000000000000), %max_min.u.enter ], [ %max_min.u3.fold.min.next, %max_min.u.latch ]
  %max_min.u.more = icmp ult i64 %max_min.u, 64
  br i1 %max_min.u.more, label %max_min.u.body, label %max_min.u.done
max_min.u.body:
  %max_min.u0.x.at = getelementptr float, ptr %x.row, i64 %max_min.u
  %max_min.u0.x = load <16 x float>, ptr %max_min.u0.x.at, align 4
  %max_min.u0.first.column.float = sitofp i64 %max_min.u to float
  %max_min.u0.first.column.first = insertelement <16 x float> poison, float %max_min.u0.first.column.float, i32 0
  %max_min.u0.first.column = shufflevector <16 x float> %max_min.u0.first.column.first, <16 x float> poison, <16 x i32> zeroinitializer
  %max_min.u0.column = fadd <16 x float> %max_min.u0.first.column, <float 0x0000000000000000, float 0x3FF0000000000000, float 0x4000000000000000, float 0x4008000000000000, float 0x4010000000000000, float 0x4014000000000000, float 0x4018000000000000, float 0x401C000000000000, float 0x4020000000000000, float 0x4022000000000000, float 0x4024000000000000, float 0x4026000000000000, float 0x4028000000000000, float 0x402A000000000000, float 0x402C000000000000, float 0x402E000000000000>
  %max_min.u0.fold.min.next_less_equal = fcmp ole <16 x float> %max_min.u0.x, %max_min.u0.fold.max
  %max_min.u0.fold.min.next_not = xor <16 x i1> %max_min.u0.fold.min.next_less_equal, splat (i1 true)
  %max_min.u0.fold.min.next_equal = fcmp oeq <16 x float> %max_min.u0.fold.max, %max_min.u0.fold.max
  %max_min.u0.fold.min.next_and = and <16 x i1> %max_min.u0.fold.min.next_not, %max_min.u0.fold.min.next_equal
  %max_min.u0.fold.max.next = select <16 x i1> %max_min.u0.fold.min.next_and, <16 x float> %max_min.u0.x, <16 x float> %max_min.u0.fold.max
  %max_min.u0.fold.min.next = select <16 x i1> %max_min.u0.fold.min.next_and, <16 x float> %max_min.u0.column, <16 x float> %max_min.u0.fold.min
  %max_min.u1.first.i = add nuw i64 %max_min.u, 16
  %max_min.u1.x.at = getelementptr float, ptr %x.row, i64 %max_min.u1.first.i
  %max_min.u1.x = load <16 x float>, ptr %max_min.u1.x.at, align 4
  %max_min.u1.column = fadd <16 x float> %max_min.u0.column, splat (float 0x4030000000000000)
  %max_min.u1.fold.min.next_less_equal = fcmp ole <16 x float> %max_min.u1.x, %max_min.u1.fold.max
  %max_min.u1.fold.min.next_not = xor <16 x i1> %max_min.u1.fold.min.next_less_equal, splat (i1 true)
  %max_min.u1.fold.min.next_equal = fcmp oeq <16 x float> %max_min.u1.fold.max, %max_min.u1.fold.max
  %max_min.u1.fold.min.next_and = and <16 x i1> %max_min.u1.fold.min.next_not, %max_min.u1.fold.min.next_equal
  %max_min.u1.fold.max.next = select <16 x i1> %max_min.u1.fold.min.next_and, <16 x float> %max_min.u1.x, <16 x float> %max_min.u1.fold.max
  %max_min.u1.fold.min.next = select <16 x i1> %max_min.u1.fold.min.next_and, <16 x float> %max_min.u1.column, <16 x float> %max_min.u1.fold.min
  %max_min.u2.first.i = add nuw i64 %max_min.u, 32
  %max_min.u2.x.at = getelementptr float, ptr %x.row, i64 %max_min.u2.first.i
  %max_min.u2.x = load <16 x float>, ptr %max_min.u2.x.at, align 4
  %max_min.u2.column = fadd <16 x float> %max_min.u0.column, splat (float 0x4040000000000000)
  %max_min.u2.fold.min.next_less_equal = fcmp ole <16 x float> %max_min.u2.x, %max_min.u2.fold.max
  %max_min.u2.fold.min.next_not = xor <16 x i1> %max_min.u2.fold.min.next_less_equal, splat (i1 true)
  %max_min.u2.fold.min.next_equal = fcmp oeq <16 x float> %max_min.u2.fold.max, %max_min.u2.fold.max
  %max_min.u2.fold.min.next_and = and <16 x i1> %max_min.u2.fold.min.next_not, %max_min.u2.fold.min.next_equal
  %max_min.u2.fold.max.next = select <16 x i1> %max_min.u2.fold.min.next_and, <16 x float> %max_min.u2.x, <16 x float> %max_min.u2.fold.max
  %max_min.u2.fold.min.next = select <16 x i1> %max_min.u2.fold.min.next_and, <16 x float> %max_min.u2.column, <16 x float> %max_min.u2.fold.min
  %max_min.u3.first.i = add nuw i64 %max_min.u, 48
  %max_min.u3.x.at = getelementptr float, ptr %x.row, i64 %max_min.u3.first.i
  %max_min.u3.x = load <16 x float>, ptr %max_min.u3.x.at, align 4
  %max_min.u3.column = fadd <16 x float> %max_min.u0.column, splat (float 0x4048000000000000)
  %max_min.u3.fold.min.next_less_equal = fcmp ole <16 x float> %max_min.u3.x, %max_min.u3.fold.max
  %max_min.u3.fold.min.next_not = xor <16 x i1> %max_min.u3.fold.min.next_less_equal, splat (i1 true)
  %max_min.u3.fold.min.next_equal = fcmp oeq <16 x float> %max_min.u3.fold.max, %max_min.u3.fold.max
  %max_min.u3.fold.min.next_and = and <16 x i1> %max_min.u3.fold.min.next_not, %max_min.u3.fold.min.next_equal
  %max_min.u3.fold.max.next = select <16 x i1> %max_min.u3.fold.min.next_and, <16 x float> %max_min.u3.x, <16 x float> %max_min.u3.fold.max
  %max_min.u3.fold.min.next = select <16 x i1> %max_min.u3.fold.min.next_and, <16 x float> %max_min.u3.column, <16 x float> %max_min.u3.fold.min
  br label %max_min.u.latch
max_min.u.latch:
  %max_min.u.after = add nuw i64 %max_min.u, 64
  br label %max_min.u.head, !llvm.loop !1
max_min.u.done:
  %max_min.u1.fold.max.joined = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max_min.u0.fold.max, <16 x float> %max_min.u1.fold.max)
  %max_min.u2.fold.max.joined = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max_min.u1.fold.max.joined, <16 x float> %max_min.u2.fold.max)
  %max_min.u3.fold.max.joined = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max_min.u2.fold.max.joined, <16 x float> %max_min.u3.fold.max)
  %max_min.u0.fold.min.moved_equal = fcmp oeq <16 x float> %max_min.u0.fold.max, %max_min.u1.fold.max.joined
  %max_min.u0.fold.min.moved_equal2 = fcmp oeq <16 x float> %max_min.u0.fold.max, %max_min.u0.fold.max
  %max_min.u0.fold.min.moved_not = xor <16 x i1> %max_min.u0.fold.min.moved_equal2, splat (i1 true)
  %max_min.u0.fold.min.moved_or = or <16 x i1> %max_min.u0.fold.min.moved_equal, %max_min.u0.fold.min.moved_not
  %max_min.u0.fold.min.moved_select = select <16 x i1> %max_min.u0.fold.min.moved_or, <16 x float> %max_min.u0.fold.min, <16 x float> splat (float 0x4059000000000000)
  %max_min.u1.fold.min.moved_equal = fcmp oeq <16 x float> %max_min.u1.fold.max, %max_min.u1.fold.max.joined
  %max_min.u1.fold.min.moved_equal2 = fcmp oeq <16 x float> %max_min.u1.fold.max, %max_min.u1.fold.max
  %max_min.u1.fold.min.moved_not = xor <16 x i1> %max_min.u1.fold.min.moved_equal2, splat (i1 true)
  %max_min.u1.fold.min.moved_or = or <16 x i1> %max_min.u1.fold.min.moved_equal, %max_min.u1.fold.min.moved_not
  %max_min.u1.fold.min.moved_select = select <16 x i1> %max_min.u1.fold.min.moved_or, <16 x float> %max_min.u1.fold.min, <16 x float> splat (float 0x4059000000000000)
  %max_min.u1.fold.min.joined = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %max_min.u0.fold.min.moved_select, <16 x float> %max_min.u1.fold.min.moved_select)
  %max_min.u1.fold.min.joined.moved_equal = fcmp oeq <16 x float> %max_min.u1.fold.max.joined, %max_min.u2.fold.max.joined
  %max_min.u1.fold.min.joined.moved_equal2 = fcmp oeq <16 x float> %max_min.u1.fold.max.joined, %max_min.u1.fold.max.joined
  %max_min.u1.fold.min.joined.moved_not = xor <16 x i1> %max_min.u1.fold.min.joined.moved_equal2, splat (i1 true)
  %max_min.u1.fold.min.joined.moved_or = or <16 x i1> %max_min.u1.fold.min.joined.moved_equal, %max_min.u1.fold.min.joined.moved_not
  %max_min.u1.fold.min.joined.moved_select = select <16 x i1> %max_min.u1.fold.min.joined.moved_or, <16 x float> %max_min.u1.fold.min.joined, <16 x float> splat (float 0x4059000000000000)
  %max_min.u2.fold.min.moved_equal = fcmp oeq <16 x float> %max_min.u2.fold.max, %max_min.u2.fold.max.joined
  %max_min.u2.fold.min.moved_equal2 = fcmp oeq <16 x float> %max_min.u2.fold.max, %max_min.u2.fold.max
  %max_min.u2.fold.min.moved_not = xor <16 x i1> %max_min.u2.fold.min.moved_equal2, splat (i1 true)
  %max_min.u2.fold.min.moved_or = or <16 x i1> %max_min.u2.fold.min.moved_equal, %max_min.u2.fold.min.moved_not
  %max_min.u2.fold.min.moved_select = select <16 x i1> %max_min.u2.fold.min.moved_or, <16 x float> %max_min.u2.fold.min, <16 x float> splat (float 0x4059000000000000)
  %max_min.u2.fold.min.joined = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %max_min.u1.fold.min.joined.moved_select, <16 x float> %max_min.u2.fold.min.moved_select)
  %max_min.u2.fold.min.joined.moved_equal = fcmp oeq <16 x float> %max_min.u2.fold.max.joined, %max_min.u3.fold.max.joined
  %max_min.u2.fold.min.joined.moved_equal2 = fcmp oeq <16 x float> %max_min.u2.fold.max.joined, %max_min.u2.fold.max.joined
  %max_min.u2.fold.min.joined.moved_not = xor <16 x i1> %max_min.u2.fold.min.joined.moved_equal2, splat (i1 true)
  %max_min.u2.fold.min.joined.moved_or = or <16 x i1> %max_min.u2.fold.min.joined.moved_equal, %max_min.u2.fold.min.joined.moved_not
  %max_min.u2.fold.min.joined.moved_select = select <16 x i1> %max_min.u2.fold.min.joined.moved_or, <16 x float> %max_min.u2.fold.min.joined, <16 x float> splat (float 0x4059000000000000)
  %max_min.u3.fold.min.moved_equal = fcmp oeq <16 x float> %max_min.u3.fold.max, %max_min.u3.fold.max.joined
  %max_min.u3.fold.min.moved_equal2 = fcmp oeq <16 x float> %max_min.u3.fold.max, %max_min.u3.fold.max
  %max_min.u3.fold.min.moved_not = xor <16 x i1> %max_min.u3.fold.min.moved_equal2, splat (i1 true)
  %max_min.u3.fold.min.moved_or = or <16 x i1> %max_min.u3.fold.min.moved_equal, %max_min.u3.fold.min.moved_not
  %max_min.u3.fold.min.moved_select = select <16 x i1> %max_min.u3.fold.min.moved_or, <16 x float> %max_min.u3.fold.min, <16 x float> splat (float 0x4059000000000000)
  %max_min.u3.fold.min.joined = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %max_min.u2.fold.min.joined.moved_select, <16 x float> %max_min.u3.fold.min.moved_select)
  br label %max_min.s.enter
max_min.s.enter:
  br label %max_min.s.head
max_min.s.head:
  %max_min.s = phi i64 [ 64, %max_min.s.enter ], [ %max_min.s.after, %max_min.s.latch ]
  %max_min.s0.fold.max = phi <16 x float> [ %max_min.u3.fold.max.joined, %max_min.s.enter ], [ %max_min.s0.fold.max.next, %max_min.s.latch ]
  %max_min.s0.fold.min = phi <16 x float> [ %max_min.u3.fold.min.joined, %max_min.s.enter ], [ %max_min.s0.fold.min.next, %max_min.s.latch ]
  %max_min.s.more = icmp ult i64 %max_min.s, 96
  br i1 %max_min.s.more, label %max_min.s.body, label %max_min.s.done
max_min.s.body:
  %max_min.s0.x.at = getelementptr float, ptr %x.row, i64 %max_min.s
  %max_min.s0.x = load <16 x float>, ptr %max_min.s0.x.at, align 4
  %max_min.s0.first.column.float = sitofp i64 %max_min.s to float
  %max_min.s0.first.column.first = insertelement <16 x float> poison, float %max_min.s0.first.column.float, i32 0
  %max_min.s0.first.column = shufflevector <16 x float> %max_min.s0.first.column.first, <16 x float> poison, <16 x i32> zeroinitializer
  %max_min.s0.column = fadd <16 x float> %max_min.s0.first.column, <float 0x0000000000000000, float 0x3FF0000000000000, float 0x4000000000000000, float 0x4008000000000000, float 0x4010000000000000, float 0x4014000000000000, float 0x4018000000000000, float 0x401C000000000000, float 0x4020000000000000, float 0x4022000000000000, float 0x4024000000000000, float 0x4026000000000000, float 0x4028000000000000, float 0x402A000000000000, float 0x402C000000000000, float 0x402E000000000000>
  %max_min.s0.fold.min.next_less_equal = fcmp ole <16 x float> %max_min.s0.x, %max_min.s0.fold.max
  %max_min.s0.fold.min.next_not = xor <16 x i1> %max_min.s0.fold.min.next_less_equal, splat (i1 true)
  %max_min.s0.fold.min.next_equal = fcmp oeq <16 x float> %max_min.s0.fold.max, %max_min.s0.fold.max
  %max_min.s0.fold.min.next_and = and <16 x i1> %max_min.s0.fold.min.next_not, %max_min.s0.fold.min.next_equal
  %max_min.s0.fold.max.next = select <16 x i1> %max_min.s0.fold.min.next_and, <16 x float> %max_min.s0.x, <16 x float> %max_min.s0.fold.max
  %max_min.s0.fold.min.next = select <16 x i1> %max_min.s0.fold.min.next_and, <16 x float> %max_min.s0.column, <16 x float> %max_min.s0.fold.min
  br label %max_min.s.latch
max_min.s.latch:
  %max_min.s.after = add nuw i64 %max_min.s, 16
  br label %max_min.s.head, !llvm.loop !1
max_min.s.done:
  %max_min.t0.x.at = getelementptr float, ptr %x.row, i64 96
  %max_min.t0.x = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %max_min.t0.x.at, <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> zeroinitializer)
  %max_min.t0.first.column.float = sitofp i64 96 to float
  %max_min.t0.first.column.first = insertelement <16 x float> poison, float %max_min.t0.first.column.float, i32 0
  %max_min.t0.first.column = shufflevector <16 x float> %max_min.t0.first.column.first, <16 x float> poison, <16 x i32> zeroinitializer
  %max_min.t0.column = fadd <16 x float> %max_min.t0.first.column, <float 0x0000000000000000, float 0x3FF0000000000000, float 0x4000000000000000, float 0x4008000000000000, float 0x4010000000000000, float 0x4014000000000000, float 0x4018000000000000, float 0x401C000000000000, float 0x4020000000000000, float 0x4022000000000000, float 0x4024000000000000, float 0x4026000000000000, float 0x4028000000000000, float 0x402A000000000000, float 0x402C000000000000, float 0x402E000000000000>
  %max_min.t0.fold.max.there = select <16 x i1> <i1 1, i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0, i1 0>, <16 x float> %max_min.t0.x, <16 x float> splat (float 0xFFF0000000000000)
  %max_min.t0.fold.min_less_equal = fcmp ole <16 x float> %max_min.t0.fold.max.there, %max_min.s0.fold.max
  %max_min.t0.fold.min_not = xor <16 x i1> %max_min.t0.fold.min_less_equal, splat (i1 true)
  %max_min.t0.fold.min_equal = fcmp oeq <16 x float> %max_min.s0.fold.max, %max_min.s0.fold.max
  %max_min.t0.fold.min_and = and <16 x i1> %max_min.t0.fold.min_not, %max_min.t0.fold.min_equal
  %max_min.t0.fold.max = select <16 x i1> %max_min.t0.fold.min_and, <16 x float> %max_min.t0.fold.max.there, <16 x float> %max_min.s0.fold.max
  %max_min.t0.fold.min = select <16 x i1> %max_min.t0.fold.min_and, <16 x float> %max_min.t0.column, <16 x float> %max_min.s0.fold.min
  %max.by8 = shufflevector <16 x float> %max_min.t0.fold.max, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %max.by8.folded = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max_min.t0.fold.max, <16 x float> %max.by8)
  %max.by4 = shufflevector <16 x float> %max.by8.folded, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11>
  %max.by4.folded = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max.by8.folded, <16 x float> %max.by4)
  %max.by2 = shufflevector <16 x float> %max.by4.folded, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5, i32 10, i32 11, i32 8, i32 9, i32 14, i32 15, i32 12, i32 13>
  %max.by2.folded = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max.by4.folded, <16 x float> %max.by2)
  %max.by1 = shufflevector <16 x float> %max.by2.folded, <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6, i32 9, i32 8, i32 11, i32 10, i32 13, i32 12, i32 15, i32 14>
  %row.max = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %max.by2.folded, <16 x float> %max.by1)
  %min.moved_equal = fcmp oeq <16 x float> %max_min.t0.fold.max, %row.max
  %min.moved_equal2 = fcmp oeq <16 x float> %max_min.t0.fold.max, %max_min.t0.fold.max
  %min.moved_not = xor <16 x i1> %min.moved_equal2, splat (i1 true)
  %min.moved_or = or <16 x i1> %min.moved_equal, %min.moved_not
  %min.moved_select = select <16 x i1> %min.moved_or, <16 x float> %max_min.t0.fold.min, <16 x float> splat (float 0x4059000000000000)
  %min.by8 = shufflevector <16 x float> %min.moved_select, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %min.by8.folded = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %min.moved_select, <16 x float> %min.by8)
  %min.by4 = shufflevector <16 x float> %min.by8.folded, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11>
  %min.by4.folded = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %min.by8.folded, <16 x float> %min.by4)
  %min.by2 = shufflevector <16 x float> %min.by4.folded, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 0, i32 1, i32 6, i32 7, i32 4, i32 5, i32 10, i32 11, i32 8, i32 9, i32 14, i32 15, i32 12, i32 13>
  %min.by2.folded = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %min.by4.folded, <16 x float> %min.by2)
  %min.by1 = shufflevector <16 x float> %min.by2.folded, <16 x float> poison, <16 x i32> <i32 1, i32 0, i32 3, i32 2, i32 5, i32 4, i32 7, i32 6, i32 9, i32 8, i32 11, i32 10, i32 13, i32 12, i32 15, i32 14>
  %row.min = call nsz <16 x float> @llvm.minimum.v16f32(<16 x float> %min.by2.folded, <16 x float> %min.by1)

  ; ---- epilogue: out = argmax(x)
  %row.out.whole = call <16 x float> @llvm.roundeven.v16f32(<16 x float> %row.min)

  %out.stored = call <16 x i32> @llvm.fptosi.sat.v16i32.v16f32(<16 x float> %row.out.whole)
  %out.stored.alone = extractelement <16 x i32> %out.stored, i32 0
  store i32 %out.stored.alone, ptr %out.row, align 4
  br label %row.latch
row.latch:
  %row.after = add nuw i64 %row, 1
  br label %row.head
row.done:
  ; ---- exit
  ret void
}

declare <16 x float> @llvm.maximum.v16f32(<16 x float>, <16 x float>)
declare <16 x float> @llvm.minimum.v16f32(<16 x float>, <16 x float>)
declare <16 x float> @llvm.roundeven.v16f32(<16 x float>)
declare <16 x i32> @llvm.fptosi.sat.v16i32.v16f32(<16 x float>)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Do not unroll further: the schedule sets the unrolling.
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
