; relu_add_12x10_f32
;
; computes:  out = relu(permute(x, 1, 0) + b)
; target:    x86-64-v3, x86_64; requires abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=transposed,task=819 (model)
; launch:    1 task of up to 2 blocks
; arguments: x: input f32[10, 12], strides [12, 1]
;            b: input f32[10], strides [1]
;            out: output f32[12, 10], strides [10, 1]

target triple = "x86_64-unknown-linux-gnu"

define void @relu_add_12x10_f32(ptr %x.ptr, ptr %b.ptr, ptr %out.ptr, i64 %begin, i64 %end) #0 {
entry:
  ; ---- addresses
  %begin.unit = mul nuw i64 %begin, 819
  %end.unit.tasks = mul nuw i64 %end, 819
  %end.unit.less = icmp ult i64 %end.unit.tasks, 2
  %end.unit = select i1 %end.unit.less, i64 %end.unit.tasks, i64 2
  br label %blocks.enter
blocks.enter:
  br label %blocks.head
blocks.head:
  %blocks = phi i64 [ %begin.unit, %blocks.enter ], [ %blocks.after, %blocks.latch ]
  %blocks.more = icmp ult i64 %blocks, %end.unit
  br i1 %blocks.more, label %blocks.body, label %blocks.done
blocks.body:
  %block.outer = udiv i64 %blocks, 2
  %block.number = urem i64 %blocks, 2
  %block.far = mul nuw i64 %block.number, 8
  %block.row.less = icmp ult i64 %block.far, 4
  %block.row = select i1 %block.row.less, i64 %block.far, i64 4
  %block.first = mul nuw i64 %block.outer, 12
  %r = add nuw i64 %block.first, %block.row

  %x.row.term0 = mul nuw i64 %r, 4
  %x.row = getelementptr i8, ptr %x.ptr, i64 %x.row.term0
  %out.row.offset = mul nuw i64 %r, 40
  %out.row = getelementptr i8, ptr %out.ptr, i64 %out.row.offset

  ; ---- mainloop: 8 rows of 8 elements per step, transposed in registers
  br label %columns.enter
columns.enter:
  br label %columns.head
columns.head:
  %columns = phi i64 [ 0, %columns.enter ], [ %columns.after, %columns.latch ]
  %columns.more = icmp ult i64 %columns, 10
  br i1 %columns.more, label %columns.body, label %columns.done
columns.body:
  %c.less = icmp ult i64 %columns, 2
  %c = select i1 %c.less, i64 %columns, i64 2
  %b.x.from.offset = mul nuw i64 %c, 48
  %b.x.from = getelementptr i8, ptr %x.row, i64 %b.x.from.offset
  %b.x.0.r0 = load <8 x float>, ptr %b.x.from, align 4
  %b.x.at1 = getelementptr i8, ptr %b.x.from, i64 48
  %b.x.0.r1 = load <8 x float>, ptr %b.x.at1, align 4
  %b.x.at2 = getelementptr i8, ptr %b.x.from, i64 96
  %b.x.0.r2 = load <8 x float>, ptr %b.x.at2, align 4
  %b.x.at3 = getelementptr i8, ptr %b.x.from, i64 144
  %b.x.0.r3 = load <8 x float>, ptr %b.x.at3, align 4
  %b.x.at4 = getelementptr i8, ptr %b.x.from, i64 192
  %b.x.0.r4 = load <8 x float>, ptr %b.x.at4, align 4
  %b.x.at5 = getelementptr i8, ptr %b.x.from, i64 240
  %b.x.0.r5 = load <8 x float>, ptr %b.x.at5, align 4
  %b.x.at6 = getelementptr i8, ptr %b.x.from, i64 288
  %b.x.0.r6 = load <8 x float>, ptr %b.x.at6, align 4
  %b.x.at7 = getelementptr i8, ptr %b.x.from, i64 336
  %b.x.0.r7 = load <8 x float>, ptr %b.x.at7, align 4
  %b.x.1.r0 = shufflevector <8 x float> %b.x.0.r0, <8 x float> %b.x.0.r4, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.1.r1 = shufflevector <8 x float> %b.x.0.r0, <8 x float> %b.x.0.r4, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.1.r2 = shufflevector <8 x float> %b.x.0.r1, <8 x float> %b.x.0.r5, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.1.r3 = shufflevector <8 x float> %b.x.0.r1, <8 x float> %b.x.0.r5, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.1.r4 = shufflevector <8 x float> %b.x.0.r2, <8 x float> %b.x.0.r6, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.1.r5 = shufflevector <8 x float> %b.x.0.r2, <8 x float> %b.x.0.r6, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.1.r6 = shufflevector <8 x float> %b.x.0.r3, <8 x float> %b.x.0.r7, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.1.r7 = shufflevector <8 x float> %b.x.0.r3, <8 x float> %b.x.0.r7, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.2.r0 = shufflevector <8 x float> %b.x.1.r0, <8 x float> %b.x.1.r4, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.2.r1 = shufflevector <8 x float> %b.x.1.r0, <8 x float> %b.x.1.r4, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.2.r2 = shufflevector <8 x float> %b.x.1.r1, <8 x float> %b.x.1.r5, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.2.r3 = shufflevector <8 x float> %b.x.1.r1, <8 x float> %b.x.1.r5, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.2.r4 = shufflevector <8 x float> %b.x.1.r2, <8 x float> %b.x.1.r6, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.2.r5 = shufflevector <8 x float> %b.x.1.r2, <8 x float> %b.x.1.r6, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.2.r6 = shufflevector <8 x float> %b.x.1.r3, <8 x float> %b.x.1.r7, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.2.r7 = shufflevector <8 x float> %b.x.1.r3, <8 x float> %b.x.1.r7, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.3.r0 = shufflevector <8 x float> %b.x.2.r0, <8 x float> %b.x.2.r4, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.3.r1 = shufflevector <8 x float> %b.x.2.r0, <8 x float> %b.x.2.r4, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.3.r2 = shufflevector <8 x float> %b.x.2.r1, <8 x float> %b.x.2.r5, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.3.r3 = shufflevector <8 x float> %b.x.2.r1, <8 x float> %b.x.2.r5, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.3.r4 = shufflevector <8 x float> %b.x.2.r2, <8 x float> %b.x.2.r6, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.3.r5 = shufflevector <8 x float> %b.x.2.r2, <8 x float> %b.x.2.r6, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.x.3.r6 = shufflevector <8 x float> %b.x.2.r3, <8 x float> %b.x.2.r7, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %b.x.3.r7 = shufflevector <8 x float> %b.x.2.r3, <8 x float> %b.x.2.r7, <8 x i32> <i32 4, i32 12, i32 5, i32 13, i32 6, i32 14, i32 7, i32 15>
  %b.b.at = getelementptr float, ptr %b.ptr, i64 %c
  %b.b = load <8 x float>, ptr %b.b.at, align 4
  %b0.out.at = getelementptr float, ptr %out.row, i64 %c
  %b0.result_add = fadd <8 x float> %b.x.3.r0, %b.b
  %b0.result_less_equal = fcmp ole <8 x float> %b0.result_add, splat (float 0x0000000000000000)
  %b0.result = select <8 x i1> %b0.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b0.result_add
  store <8 x float> %b0.result, ptr %b0.out.at, align 4
  %b1.out.element = add nuw i64 %c, 10
  %b1.out.at = getelementptr float, ptr %out.row, i64 %b1.out.element
  %b1.result_add = fadd <8 x float> %b.x.3.r1, %b.b
  %b1.result_less_equal = fcmp ole <8 x float> %b1.result_add, splat (float 0x0000000000000000)
  %b1.result = select <8 x i1> %b1.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b1.result_add
  store <8 x float> %b1.result, ptr %b1.out.at, align 4
  %b2.out.element = add nuw i64 %c, 20
  %b2.out.at = getelementptr float, ptr %out.row, i64 %b2.out.element
  %b2.result_add = fadd <8 x float> %b.x.3.r2, %b.b
  %b2.result_less_equal = fcmp ole <8 x float> %b2.result_add, splat (float 0x0000000000000000)
  %b2.result = select <8 x i1> %b2.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b2.result_add
  store <8 x float> %b2.result, ptr %b2.out.at, align 4
  %b3.out.element = add nuw i64 %c, 30
  %b3.out.at = getelementptr float, ptr %out.row, i64 %b3.out.element
  %b3.result_add = fadd <8 x float> %b.x.3.r3, %b.b
  %b3.result_less_equal = fcmp ole <8 x float> %b3.result_add, splat (float 0x0000000000000000)
  %b3.result = select <8 x i1> %b3.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b3.result_add
  store <8 x float> %b3.result, ptr %b3.out.at, align 4
  %b4.out.element = add nuw i64 %c, 40
  %b4.out.at = getelementptr float, ptr %out.row, i64 %b4.out.element
  %b4.result_add = fadd <8 x float> %b.x.3.r4, %b.b
  %b4.result_less_equal = fcmp ole <8 x float> %b4.result_add, splat (float 0x0000000000000000)
  %b4.result = select <8 x i1> %b4.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b4.result_add
  store <8 x float> %b4.result, ptr %b4.out.at, align 4
  %b5.out.element = add nuw i64 %c, 50
  %b5.out.at = getelementptr float, ptr %out.row, i64 %b5.out.element
  %b5.result_add = fadd <8 x float> %b.x.3.r5, %b.b
  %b5.result_less_equal = fcmp ole <8 x float> %b5.result_add, splat (float 0x0000000000000000)
  %b5.result = select <8 x i1> %b5.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b5.result_add
  store <8 x float> %b5.result, ptr %b5.out.at, align 4
  %b6.out.element = add nuw i64 %c, 60
  %b6.out.at = getelementptr float, ptr %out.row, i64 %b6.out.element
  %b6.result_add = fadd <8 x float> %b.x.3.r6, %b.b
  %b6.result_less_equal = fcmp ole <8 x float> %b6.result_add, splat (float 0x0000000000000000)
  %b6.result = select <8 x i1> %b6.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b6.result_add
  store <8 x float> %b6.result, ptr %b6.out.at, align 4
  %b7.out.element = add nuw i64 %c, 70
  %b7.out.at = getelementptr float, ptr %out.row, i64 %b7.out.element
  %b7.result_add = fadd <8 x float> %b.x.3.r7, %b.b
  %b7.result_less_equal = fcmp ole <8 x float> %b7.result_add, splat (float 0x0000000000000000)
  %b7.result = select <8 x i1> %b7.result_less_equal, <8 x float> splat (float 0x0000000000000000), <8 x float> %b7.result_add
  store <8 x float> %b7.result, ptr %b7.out.at, align 4
  br label %columns.latch
columns.latch:
  %columns.after = add nuw i64 %columns, 8
  br label %columns.head
columns.done:
  br label %blocks.latch
blocks.latch:
  %blocks.after = add nuw i64 %blocks, 1
  br label %blocks.head
blocks.done:
  ; ---- exit
  ret void
}

declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
