; matmul_64x64x128_bf16_nn
;
; computes:  out = A @ B, accumulated in f32
; target:    x86-64-amx, x86_64; requires abm amx_bf16 amx_tile avx avx2 avx512_bf16 avx512bw avx512cd avx512dq
;              avx512f avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule:  mainloop=amx,mr=32,nr=32,mc=64,kc=128,nc=64,pack_a=0,pack_b=1,prefetch_panel=0,packer=2,a_in_workspace=0,band_groups=8 (tuned)
; launch:    1 task of up to 64 x 64 outputs; 1 x 1 blocks
; method:    AMX tiles: a task computes an mc x nc block of out, kc of K at a time; for each panel of nr columns
;              of B it visits every mr rows of A, with mr x nr accumulators in tile registers; epilogue and
;              conversion of a tile overlap the products of the next
;            each step packs a part of the panel of B that the next steps multiply
; memory:    stack, 20480 B
;            %b.pack: bf16 [2][nr/16][kc/32] tiles, 16384 B
;            %last: float [mr][nr], 4096 B
; arguments: a: input bf16[64, 128], strides [128, 1]
;            b: input bf16[128, 64], strides [64, 1]
;            out: output bf16[64, 64], strides [64, 1]

target triple = "x86_64-unknown-linux-gnu"

; LDTILECFG: palette 1; bytes per row and rows of each tile register.
@tiles = private unnamed_addr constant <{ i8, [15 x i8], [8 x i16], [8 x i16], [8 x i8], [8 x i8] }> <{ i8 1, [15 x i8] zeroinitializer, [8 x i16] [i16 64, i16 64, i16 64, i16 64, i16 64, i16 64, i16 64, i16 64], [8 x i16] zeroinitializer, [8 x i8] [i8 16, i8 16, i8 16, i8 16, i8 16, i8 16, i8 16, i8 16], [8 x i8] zeroinitializer }>, align 64

define void @matmul_64x64x128_bf16_nn(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %b.pack = alloca [16384 x i8], align 64
  %last = alloca [4096 x i8], align 64
  %b.turn = alloca i64, align 8
  %last.steps = alloca i64, align 8
  %last.m = alloca i64, align 8
  %last.n = alloca i64, align 8
  call void @llvm.x86.ldtilecfg(ptr @tiles)
  br label %task.enter
task.enter:
  br label %task.head
task.head:
  %task = phi i64 [ %begin, %task.enter ], [ %task.after, %task.latch ]
  %task.more = icmp ult i64 %task, %end
  br i1 %task.more, label %task.body, label %task.done
task.body:
  ; ---- addresses: task index = (batch, block of rows, block of columns), last fastest

  ; ---- prologue: pack the first part of B
  br label %first.g.enter
first.g.enter:
  br label %first.g.head
first.g.head:
  %first.g = phi i64 [ 0, %first.g.enter ], [ %first.g.after, %first.g.latch ]
  %first.g.more = icmp ult i64 %first.g, 64
  br i1 %first.g.more, label %first.g.body, label %first.g.done
first.g.body:
  %first.g.from.offset = mul nuw i64 %first.g, 256
  %first.g.from = getelementptr i8, ptr %b, i64 %first.g.from.offset
  %first.g.to.offset = mul nuw i64 %first.g, 64
  %first.g.to = getelementptr i8, ptr %b.pack, i64 %first.g.to.offset
  %first.c0.k0 = load <16 x i16>, ptr %first.g.from, align 2
  %first.c0.k1.from = getelementptr i8, ptr %first.g.from, i64 128
  %first.c0.k1 = load <16 x i16>, ptr %first.c0.k1.from, align 2
  %first.c0 = shufflevector <16 x i16> %first.c0.k0, <16 x i16> %first.c0.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %first.c0, ptr %first.g.to, align 64
  %first.c1.from = getelementptr i8, ptr %first.g.from, i64 32
  %first.c1.k0 = load <16 x i16>, ptr %first.c1.from, align 2
  %first.c1.k1.from = getelementptr i8, ptr %first.c1.from, i64 128
  %first.c1.k1 = load <16 x i16>, ptr %first.c1.k1.from, align 2
  %first.c1 = shufflevector <16 x i16> %first.c1.k0, <16 x i16> %first.c1.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %first.c1.to = getelementptr i8, ptr %first.g.to, i64 4096
  store <32 x i16> %first.c1, ptr %first.c1.to, align 64
  br label %first.g.latch
first.g.latch:
  %first.g.after = add nuw i64 %first.g, 1
  br label %first.g.head
first.g.done:
  store i64 0, ptr %b.turn, align 8

  ; ---- mainloop
  store i64 0, ptr %last.steps, align 8
  store i64 0, ptr %last.m, align 8
  store i64 0, ptr %last.n, align 8
  br label %j.enter
j.enter:
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.enter ], [ %j.after, %j.latch ]
  %j.more = icmp ult i64 %j, 64
  br i1 %j.more, label %j.body, label %j.done
j.body:
  %j.right = add nuw i64 %j, 32
  %j.next.less = icmp ult i64 %j.right, 32
  %j.next = select i1 %j.next.less, i64 %j.right, i64 32
  %part.at = load i64, ptr %b.turn, align 8
  %part = getelementptr i8, ptr %b.pack, i64 %part.at
  %next.at = xor i64 %part.at, 8192
  store i64 %next.at, ptr %b.turn, align 8
  %next.to = getelementptr i8, ptr %b.pack, i64 %next.at
  %next.from.offset = mul nuw i64 %j.next, 2
  %next.from = getelementptr i8, ptr %b, i64 %next.from.offset
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, 64
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %i.a.offset = mul nuw i64 %i, 256
  %i.a = getelementptr i8, ptr %a, i64 %i.a.offset
  ; groups of B that this register tile packs
  %i.number = udiv i64 %i, 32
  %i.group.all = mul nuw i64 %i.number, 8
  %i.group = and i64 %i.group.all, 15
  %i.pack.from.offset = mul nuw i64 %i.group, 256
  %i.pack.from = getelementptr i8, ptr %next.from, i64 %i.pack.from.offset
  %i.pack.to.offset = mul nuw i64 %i.group, 64
  %i.pack.to = getelementptr i8, ptr %next.to, i64 %i.pack.to.offset
  %last.open = load i64, ptr %last.steps, align 8
  %last.row0 = load i64, ptr %last.m, align 8
  %last.column0 = load i64, ptr %last.n, align 8
  %last.out.row = mul nuw i64 %last.row0, 128
  %last.out.column = mul nuw i64 %last.column0, 2
  %last.out.corner = add nuw i64 %last.out.row, %last.out.column
  %last.out = getelementptr i8, ptr %out, i64 %last.out.corner
  call void @llvm.x86.tileloadd64(i8 6, ptr %part, i64 64)
  call void @llvm.x86.tileloaddt164(i8 4, ptr %i.a, i64 256)
  call void @llvm.x86.tilestored64(i8 0, ptr %last, i64 128)
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 6)
  %s.first.b.t7 = getelementptr i8, ptr %part, i64 4096
  call void @llvm.x86.tileloadd64(i8 7, ptr %s.first.b.t7, i64 64)
  %s.first.to1 = getelementptr i8, ptr %last, i64 64
  call void @llvm.x86.tilestored64(i8 1, ptr %s.first.to1, i64 128)
  call void @llvm.x86.tilezero(i8 1)
  call void @llvm.x86.tdpbf16ps(i8 1, i8 4, i8 7)
  %s.first.a.t5 = getelementptr i8, ptr %i.a, i64 4096
  call void @llvm.x86.tileloaddt164(i8 5, ptr %s.first.a.t5, i64 256)
  %s.first.to2 = getelementptr i8, ptr %last, i64 2048
  call void @llvm.x86.tilestored64(i8 2, ptr %s.first.to2, i64 128)
  call void @llvm.x86.tilezero(i8 2)
  call void @llvm.x86.tdpbf16ps(i8 2, i8 5, i8 6)
  %s.first.to3 = getelementptr i8, ptr %last, i64 2112
  call void @llvm.x86.tilestored64(i8 3, ptr %s.first.to3, i64 128)
  call void @llvm.x86.tilezero(i8 3)
  call void @llvm.x86.tdpbf16ps(i8 3, i8 5, i8 7)
  br label %s.first.pack.g.enter
s.first.pack.g.enter:
  br label %s.first.pack.g.head
s.first.pack.g.head:
  %s.first.pack.g = phi i64 [ 0, %s.first.pack.g.enter ], [ %s.first.pack.g.after, %s.first.pack.g.latch ]
  %s.first.pack.g.more = icmp ult i64 %s.first.pack.g, 8
  br i1 %s.first.pack.g.more, label %s.first.pack.g.body, label %s.first.pack.g.done
s.first.pack.g.body:
  %s.first.pack.g.from.offset = mul nuw i64 %s.first.pack.g, 256
  %s.first.pack.g.from = getelementptr i8, ptr %i.pack.from, i64 %s.first.pack.g.from.offset
  %s.first.pack.g.to.offset = mul nuw i64 %s.first.pack.g, 64
  %s.first.pack.g.to = getelementptr i8, ptr %i.pack.to, i64 %s.first.pack.g.to.offset
  %s.first.pack.c0.k0 = load <16 x i16>, ptr %s.first.pack.g.from, align 2
  %s.first.pack.c0.k1.from = getelementptr i8, ptr %s.first.pack.g.from, i64 128
  %s.first.pack.c0.k1 = load <16 x i16>, ptr %s.first.pack.c0.k1.from, align 2
  %s.first.pack.c0 = shufflevector <16 x i16> %s.first.pack.c0.k0, <16 x i16> %s.first.pack.c0.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %s.first.pack.c0, ptr %s.first.pack.g.to, align 64
  %s.first.pack.c1.from = getelementptr i8, ptr %s.first.pack.g.from, i64 32
  %s.first.pack.c1.k0 = load <16 x i16>, ptr %s.first.pack.c1.from, align 2
  %s.first.pack.c1.k1.from = getelementptr i8, ptr %s.first.pack.c1.from, i64 128
  %s.first.pack.c1.k1 = load <16 x i16>, ptr %s.first.pack.c1.k1.from, align 2
  %s.first.pack.c1 = shufflevector <16 x i16> %s.first.pack.c1.k0, <16 x i16> %s.first.pack.c1.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %s.first.pack.c1.to = getelementptr i8, ptr %s.first.pack.g.to, i64 4096
  store <32 x i16> %s.first.pack.c1, ptr %s.first.pack.c1.to, align 64
  br label %s.first.pack.g.latch
s.first.pack.g.latch:
  %s.first.pack.g.after = add nuw i64 %s.first.pack.g, 1
  br label %s.first.pack.g.head
s.first.pack.g.done:
  br label %s.enter
s.enter:
  br label %s.head
s.head:
  %s = phi i64 [ 1, %s.enter ], [ %s.after, %s.latch ]
  %s.more = icmp ult i64 %s, 4
  br i1 %s.more, label %s.body, label %s.done
s.body:
  %s.b.offset = mul nuw i64 %s, 1024
  %s.b = getelementptr i8, ptr %part, i64 %s.b.offset
  %s.a.offset = mul nuw i64 %s, 64
  %s.a = getelementptr i8, ptr %i.a, i64 %s.a.offset
  call void @llvm.x86.tileloadd64(i8 6, ptr %s.b, i64 64)
  call void @llvm.x86.tileloaddt164(i8 4, ptr %s.a, i64 256)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 6)
  %s.b.t7 = getelementptr i8, ptr %s.b, i64 4096
  call void @llvm.x86.tileloadd64(i8 7, ptr %s.b.t7, i64 64)
  call void @llvm.x86.tdpbf16ps(i8 1, i8 4, i8 7)
  %s.a.t5 = getelementptr i8, ptr %s.a, i64 4096
  call void @llvm.x86.tileloaddt164(i8 5, ptr %s.a.t5, i64 256)
  call void @llvm.x86.tdpbf16ps(i8 2, i8 5, i8 6)
  call void @llvm.x86.tdpbf16ps(i8 3, i8 5, i8 7)
  %s.pack.from.offset = mul nuw i64 %s, 4096
  %s.pack.from = getelementptr i8, ptr %i.pack.from, i64 %s.pack.from.offset
  %s.pack.to.offset = mul nuw i64 %s, 1024
  %s.pack.to = getelementptr i8, ptr %i.pack.to, i64 %s.pack.to.offset
  br label %s.pack.g.enter
s.pack.g.enter:
  br label %s.pack.g.head
s.pack.g.head:
  %s.pack.g = phi i64 [ 0, %s.pack.g.enter ], [ %s.pack.g.after, %s.pack.g.latch ]
  %s.pack.g.more = icmp ult i64 %s.pack.g, 8
  br i1 %s.pack.g.more, label %s.pack.g.body, label %s.pack.g.done
s.pack.g.body:
  %s.pack.g.from.offset = mul nuw i64 %s.pack.g, 256
  %s.pack.g.from = getelementptr i8, ptr %s.pack.from, i64 %s.pack.g.from.offset
  %s.pack.g.to.offset = mul nuw i64 %s.pack.g, 64
  %s.pack.g.to = getelementptr i8, ptr %s.pack.to, i64 %s.pack.g.to.offset
  %s.pack.c0.k0 = load <16 x i16>, ptr %s.pack.g.from, align 2
  %s.pack.c0.k1.from = getelementptr i8, ptr %s.pack.g.from, i64 128
  %s.pack.c0.k1 = load <16 x i16>, ptr %s.pack.c0.k1.from, align 2
  %s.pack.c0 = shufflevector <16 x i16> %s.pack.c0.k0, <16 x i16> %s.pack.c0.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %s.pack.c0, ptr %s.pack.g.to, align 64
  %s.pack.c1.from = getelementptr i8, ptr %s.pack.g.from, i64 32
  %s.pack.c1.k0 = load <16 x i16>, ptr %s.pack.c1.from, align 2
  %s.pack.c1.k1.from = getelementptr i8, ptr %s.pack.c1.from, i64 128
  %s.pack.c1.k1 = load <16 x i16>, ptr %s.pack.c1.k1.from, align 2
  %s.pack.c1 = shufflevector <16 x i16> %s.pack.c1.k0, <16 x i16> %s.pack.c1.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  %s.pack.c1.to = getelementptr i8, ptr %s.pack.g.to, i64 4096
  store <32 x i16> %s.pack.c1, ptr %s.pack.c1.to, align 64
  br label %s.pack.g.latch
s.pack.g.latch:
  %s.pack.g.after = add nuw i64 %s.pack.g, 1
  br label %s.pack.g.head
s.pack.g.done:
  ; finish rows of the previous register tile
  %s.turn = sub nuw i64 %s, 1
  %s.finishes = icmp ult i64 %s.turn, %last.open
  br i1 %s.finishes, label %s.finish.do, label %s.finish.done
s.finish.do:
  %s.f.first.even = mul nuw i64 %s.turn, 11
  ; the last rows overlap the previous ones
  %s.f.first.less = icmp ult i64 %s.f.first.even, 21
  %s.f.first = select i1 %s.f.first.less, i64 %s.f.first.even, i64 21
  br label %s.f.i.enter
s.f.i.enter:
  br label %s.f.i.head
s.f.i.head:
  %s.f.i = phi i64 [ 0, %s.f.i.enter ], [ %s.f.i.after, %s.f.i.latch ]
  %s.f.i.more = icmp ult i64 %s.f.i, 11
  br i1 %s.f.i.more, label %s.f.i.body, label %s.f.i.done
s.f.i.body:
  %s.f.row = add nuw i64 %s.f.first, %s.f.i
  %s.f.sums.offset = mul nuw i64 %s.f.row, 128
  %s.f.sums = getelementptr i8, ptr %last, i64 %s.f.sums.offset
  %s.f.out.offset = mul nuw i64 %s.f.row, 128
  %s.f.out = getelementptr i8, ptr %last.out, i64 %s.f.out.offset
  %s.f.n0.sums = load <16 x float>, ptr %s.f.sums, align 64
  %s.f.n0.sums.stored.bfloat = fptrunc <16 x float> %s.f.n0.sums to <16 x bfloat>
  %s.f.n0.sums.stored = bitcast <16 x bfloat> %s.f.n0.sums.stored.bfloat to <16 x i16>
  store <16 x i16> %s.f.n0.sums.stored, ptr %s.f.out, align 2
  %s.f.n16.sums.at = getelementptr i8, ptr %s.f.sums, i64 64
  %s.f.n16.sums = load <16 x float>, ptr %s.f.n16.sums.at, align 64
  %s.f.n16.out.at = getelementptr i8, ptr %s.f.out, i64 32
  %s.f.n16.sums.stored.bfloat = fptrunc <16 x float> %s.f.n16.sums to <16 x bfloat>
  %s.f.n16.sums.stored = bitcast <16 x bfloat> %s.f.n16.sums.stored.bfloat to <16 x i16>
  store <16 x i16> %s.f.n16.sums.stored, ptr %s.f.n16.out.at, align 2
  br label %s.f.i.latch
s.f.i.latch:
  %s.f.i.after = add nuw i64 %s.f.i, 1
  br label %s.f.i.head
s.f.i.done:
  br label %s.finish.done
s.finish.done:
  br label %s.latch
s.latch:
  %s.after = add nuw i64 %s, 1
  br label %s.head, !llvm.loop !0
s.done:
  store i64 3, ptr %last.steps, align 8
  store i64 %i, ptr %last.m, align 8
  store i64 %j, ptr %last.n, align 8
  br label %i.latch
i.latch:
  %i.after = add nuw i64 %i, 32
  br label %i.head
i.done:
  br label %j.latch
j.latch:
  %j.after = add nuw i64 %j, 32
  br label %j.head
j.done:

  ; ---- epilogue of the last register tile
  call void @llvm.x86.tilestored64(i8 0, ptr %last, i64 128)
  %rest.to1 = getelementptr i8, ptr %last, i64 64
  call void @llvm.x86.tilestored64(i8 1, ptr %rest.to1, i64 128)
  %rest.to2 = getelementptr i8, ptr %last, i64 2048
  call void @llvm.x86.tilestored64(i8 2, ptr %rest.to2, i64 128)
  %rest.to3 = getelementptr i8, ptr %last, i64 2112
  call void @llvm.x86.tilestored64(i8 3, ptr %rest.to3, i64 128)
  %rest.row0 = load i64, ptr %last.m, align 8
  %rest.column0 = load i64, ptr %last.n, align 8
  %rest.out.row = mul nuw i64 %rest.row0, 128
  %rest.out.column = mul nuw i64 %rest.column0, 2
  %rest.out.corner = add nuw i64 %rest.out.row, %rest.out.column
  %rest.out = getelementptr i8, ptr %out, i64 %rest.out.corner
  br label %rest.row.enter
rest.row.enter:
  br label %rest.row.head
rest.row.head:
  %rest.row = phi i64 [ 0, %rest.row.enter ], [ %rest.row.after, %rest.row.latch ]
  %rest.row.more = icmp ult i64 %rest.row, 32
  br i1 %rest.row.more, label %rest.row.body, label %rest.row.done
rest.row.body:
  %rest.r.sums.offset = mul nuw i64 %rest.row, 128
  %rest.r.sums = getelementptr i8, ptr %last, i64 %rest.r.sums.offset
  %rest.r.out.offset = mul nuw i64 %rest.row, 128
  %rest.r.out = getelementptr i8, ptr %rest.out, i64 %rest.r.out.offset
  %rest.r.n0.sums = load <16 x float>, ptr %rest.r.sums, align 64
  %rest.r.n0.sums.stored.bfloat = fptrunc <16 x float> %rest.r.n0.sums to <16 x bfloat>
  %rest.r.n0.sums.stored = bitcast <16 x bfloat> %rest.r.n0.sums.stored.bfloat to <16 x i16>
  store <16 x i16> %rest.r.n0.sums.stored, ptr %rest.r.out, align 2
  %rest.r.n16.sums.at = getelementptr i8, ptr %rest.r.sums, i64 64
  %rest.r.n16.sums = load <16 x float>, ptr %rest.r.n16.sums.at, align 64
  %rest.r.n16.out.at = getelementptr i8, ptr %rest.r.out, i64 32
  %rest.r.n16.sums.stored.bfloat = fptrunc <16 x float> %rest.r.n16.sums to <16 x bfloat>
  %rest.r.n16.sums.stored = bitcast <16 x bfloat> %rest.r.n16.sums.stored.bfloat to <16 x i16>
  store <16 x i16> %rest.r.n16.sums.stored, ptr %rest.r.n16.out.at, align 2
  br label %rest.row.latch
rest.row.latch:
  %rest.row.after = add nuw i64 %rest.row, 1
  br label %rest.row.head
rest.row.done:
  br label %task.latch
task.latch:
  %task.after = add nuw i64 %task, 1
  br label %task.head
task.done:
  ; ---- exit
  call void @llvm.x86.tilerelease()
  ret void
}

declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.tileloaddt164(i8 immarg, ptr, i64)
declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)

attributes #0 = { noredzone nounwind "no-builtins" "probe-stack"="inline-asm" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Do not unroll: the addresses of all tiles would not fit in registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
