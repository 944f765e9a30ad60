; matmul_64x64x128_bf16_nn
; out = A @ B, summed in f32
; target    x86-64-amx: x86_64 with abm amx_bf16 amx_tile avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3
; schedule  mainloop=amx mr=32 nr=32 mc=64 kc=128 nc=64 pack_a=True pack_b=True
; tasks     1 of 64 x 64: 1 batches x 1 x 1 blocks
; memory
;   %a  bf16, shape 64 x 128, strides 128, 1 elements
;   %b  bf16, shape 128 x 64, strides 64, 1 elements
;   %out  bf16, shape 64 x 64, strides 64, 1 elements
target triple = "x86_64-unknown-linux-gnu"
;
; A bf16 product on AMX tiles, blocked as BLIS does. A task is an mc x nc block of out. For each kc
; of K it packs its part of A once; then, for each panel of nr columns, it packs B in groups of 2 k and
; multiplies every mr rows of A with it, the sums in tile registers.
;
; scratch on the stack:
;   %a.pack  20480 bytes, bf16 [mc][kc], 320 bytes a row, zero past K
;   %b.pack  8192 bytes, bf16 [kc/2][nr][2], 128 bytes a row, zero past K and N
;   %acc     16384 bytes, float [mc][nc], 256 bytes a row

; LDTILECFG: palette 1; eight tiles of 64 bytes a row and 16 rows.
@tiles = private unnamed_addr constant <{ i8, [15 x i8], [8 x i16], [8 x i16], [8 x i8], [8 x i8] }> <{ i8 1, [15 x i8] zeroinitializer, [8 x i16] [i16 64, i16 64, i16 64, i16 64, i16 64, i16 64, i16 64, i16 64], [8 x i16] zeroinitializer, [8 x i8] [i8 16, i8 16, i8 16, i8 16, i8 16, i8 16, i8 16, i8 16], [8 x i8] zeroinitializer }>, align 64

define void @matmul_64x64x128_bf16_nn(ptr %a, ptr %b, ptr %out, i64 %begin, i64 %end) #0 {
entry:
  %a.pack = alloca [20480 x i8], align 64
  %b.pack = alloca [8192 x i8], align 64
  %acc = alloca [16384 x i8], align 64
  call void @llvm.x86.ldtilecfg(ptr @tiles)
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
  %k0.more = icmp ult i64 %k0, 128
  br i1 %k0.more, label %k0.body, label %k0.done
k0.body:

  ; -- prologue: pack A
  %a.k.offset = mul nuw i64 %k0, 2
  %a.k = getelementptr i8, ptr %a, i64 %a.k.offset
  br label %pa.enter
pa.enter:
  br label %pa.head
pa.head:
  %pa = phi i64 [ 0, %pa.enter ], [ %pa.after, %pa.latch ]
  %pa.more = icmp ult i64 %pa, 64
  br i1 %pa.more, label %pa.body, label %pa.done
pa.body:
  %pa.from.offset = mul nuw i64 %pa, 256
  %pa.from = getelementptr i8, ptr %a.k, i64 %pa.from.offset
  %pa.to.offset = mul nuw i64 %pa, 320
  %pa.to = getelementptr i8, ptr %a.pack, i64 %pa.to.offset
  br label %pv.enter
pv.enter:
  br label %pv.head
pv.head:
  %pv = phi i64 [ 0, %pv.enter ], [ %pv.after, %pv.latch ]
  %pv.more = icmp ult i64 %pv, 128
  br i1 %pv.more, label %pv.body, label %pv.done
pv.body:
  %pv.v.from = getelementptr i16, ptr %pa.from, i64 %pv
  %pv.v.x = load <32 x i16>, ptr %pv.v.from, align 2
  %pv.v.to = getelementptr i16, ptr %pa.to, i64 %pv
  store <32 x i16> %pv.v.x, ptr %pv.v.to, align 64
  br label %pv.latch
pv.latch:
  %pv.after = add nuw i64 %pv, 32
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
  %j.more = icmp ult i64 %j, 64
  br i1 %j.more, label %j.body, label %j.done
j.body:
  ; -- prologue: pack a panel of B
  %b.k.offset = mul nuw i64 %k0, 128
  %b.k = getelementptr i8, ptr %b, i64 %b.k.offset
  %b.j.offset = mul nuw i64 %j, 2
  %b.panel = getelementptr i8, ptr %b.k, i64 %b.j.offset
  br label %pb.enter
pb.enter:
  br label %pb.head
pb.head:
  %pb = phi i64 [ 0, %pb.enter ], [ %pb.after, %pb.latch ]
  %pb.more = icmp ult i64 %pb, 64
  br i1 %pb.more, label %pb.body, label %pb.done
pb.body:
  %pb.from.offset = mul nuw i64 %pb, 256
  %pb.from = getelementptr i8, ptr %b.panel, i64 %pb.from.offset
  %pb.to.offset = mul nuw i64 %pb, 128
  %pb.to = getelementptr i8, ptr %b.pack, i64 %pb.to.offset
  %pb.n0.to = getelementptr i8, ptr %pb.to, i64 0
  %pb.n0.from = getelementptr i8, ptr %pb.from, i64 0
  %pb.n0.k0.from = getelementptr i8, ptr %pb.n0.from, i64 0
  %pb.n0.k0 = load <16 x i16>, ptr %pb.n0.k0.from, align 2
  %pb.n0.k1.from = getelementptr i8, ptr %pb.n0.from, i64 128
  %pb.n0.k1 = load <16 x i16>, ptr %pb.n0.k1.from, align 2
  %pb.n0 = shufflevector <16 x i16> %pb.n0.k0, <16 x i16> %pb.n0.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %pb.n0, ptr %pb.n0.to, align 64
  %pb.n1.to = getelementptr i8, ptr %pb.to, i64 64
  %pb.n1.from = getelementptr i8, ptr %pb.from, i64 32
  %pb.n1.k0.from = getelementptr i8, ptr %pb.n1.from, i64 0
  %pb.n1.k0 = load <16 x i16>, ptr %pb.n1.k0.from, align 2
  %pb.n1.k1.from = getelementptr i8, ptr %pb.n1.from, i64 128
  %pb.n1.k1 = load <16 x i16>, ptr %pb.n1.k1.from, align 2
  %pb.n1 = shufflevector <16 x i16> %pb.n1.k0, <16 x i16> %pb.n1.k1, <32 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23, i32 8, i32 24, i32 9, i32 25, i32 10, i32 26, i32 11, i32 27, i32 12, i32 28, i32 13, i32 29, i32 14, i32 30, i32 15, i32 31>
  store <32 x i16> %pb.n1, ptr %pb.n1.to, align 64
  br label %pb.latch
pb.latch:
  %pb.after = add nuw i64 %pb, 1
  br label %pb.head
pb.done:

  ; -- mainloop: mr x nr sums in tiles
  br label %i.enter
i.enter:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %i.enter ], [ %i.after, %i.latch ]
  %i.more = icmp ult i64 %i, 64
  br i1 %i.more, label %i.body, label %i.done
i.body:
  %i.a.offset = mul nuw i64 %i, 320
  %i.a = getelementptr i8, ptr %a.pack, i64 %i.a.offset
  %i.acc.row = mul nuw i64 %i, 256
  %i.acc.column = mul nuw i64 %j, 4
  %i.acc.offset = add nuw i64 %i.acc.row, %i.acc.column
  %i.acc = getelementptr i8, ptr %acc, i64 %i.acc.offset
  %i.acc.t0 = getelementptr i8, ptr %i.acc, i64 0
  %i.acc.t1 = getelementptr i8, ptr %i.acc, i64 64
  %i.acc.t2 = getelementptr i8, ptr %i.acc, i64 4096
  %i.acc.t3 = getelementptr i8, ptr %i.acc, i64 4160
  call void @llvm.x86.tilezero(i8 0)
  call void @llvm.x86.tilezero(i8 1)
  call void @llvm.x86.tilezero(i8 2)
  call void @llvm.x86.tilezero(i8 3)
  br label %k.enter
k.enter:
  br label %k.head
k.head:
  %k = phi i64 [ 0, %k.enter ], [ %k.after, %k.latch ]
  %k.more = icmp ult i64 %k, 128
  br i1 %k.more, label %k.body, label %k.done
k.body:
  %k.a.offset = mul nuw i64 %k, 2
  %k.a = getelementptr i8, ptr %i.a, i64 %k.a.offset
  %k.group = lshr i64 %k, 1
  %k.b.offset = mul nuw i64 %k.group, 128
  %k.b = getelementptr i8, ptr %b.pack, i64 %k.b.offset
  %k.a.t4 = getelementptr i8, ptr %k.a, i64 0
  call void @llvm.x86.tileloadd64(i8 4, ptr %k.a.t4, i64 320)
  %k.a.t5 = getelementptr i8, ptr %k.a, i64 5120
  call void @llvm.x86.tileloadd64(i8 5, ptr %k.a.t5, i64 320)
  %k.b.t6 = getelementptr i8, ptr %k.b, i64 0
  call void @llvm.x86.tileloadd64(i8 6, ptr %k.b.t6, i64 128)
  %k.b.t7 = getelementptr i8, ptr %k.b, i64 64
  call void @llvm.x86.tileloadd64(i8 7, ptr %k.b.t7, i64 128)
  call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 6)
  call void @llvm.x86.tdpbf16ps(i8 1, i8 4, i8 7)
  call void @llvm.x86.tdpbf16ps(i8 2, i8 5, i8 6)
  call void @llvm.x86.tdpbf16ps(i8 3, i8 5, i8 7)
  br label %k.latch
k.latch:
  %k.after = add nuw i64 %k, 32
  br label %k.head, !llvm.loop !0
k.done:
  call void @llvm.x86.tilestored64(i8 0, ptr %i.acc.t0, i64 256)
  call void @llvm.x86.tilestored64(i8 1, ptr %i.acc.t1, i64 256)
  call void @llvm.x86.tilestored64(i8 2, ptr %i.acc.t2, i64 256)
  call void @llvm.x86.tilestored64(i8 3, ptr %i.acc.t3, i64 256)
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
  br label %k0.latch
k0.latch:
  %k0.after = add nuw i64 %k0, 128
  br label %k0.head
k0.done:

  ; -- epilogue
  br label %m.enter
m.enter:
  br label %m.head
m.head:
  %m = phi i64 [ 0, %m.enter ], [ %m.after, %m.latch ]
  %m.more = icmp ult i64 %m, 64
  br i1 %m.more, label %m.body, label %m.done
m.body:
  %acc.offset = mul nuw i64 %m, 256
  %acc.row = getelementptr i8, ptr %acc, i64 %acc.offset
  %out.offset = mul nuw i64 %m, 128
  %out.row = getelementptr i8, ptr %out, i64 %out.offset
  br label %n.enter
n.enter:
  br label %n.head
n.head:
  %n = phi i64 [ 0, %n.enter ], [ %n.after, %n.latch ]
  %n.more = icmp ult i64 %n, 64
  br i1 %n.more, label %n.body, label %n.done
n.body:
  %x.acc.offset = mul nuw i64 %n, 4
  %x.acc.at = getelementptr i8, ptr %acc.row, i64 %x.acc.offset
  %x.acc = load <16 x float>, ptr %x.acc.at, align 64
  %x.out.offset = mul nuw i64 %n, 2
  %x.out.at = getelementptr i8, ptr %out.row, i64 %x.out.offset
  %x.acc.stored.bits = bitcast <16 x float> %x.acc to <16 x i32>
  %x.acc.stored.high = lshr <16 x i32> %x.acc.stored.bits, splat (i32 16)
  %x.acc.stored.odd = and <16 x i32> %x.acc.stored.high, splat (i32 1)
  %x.acc.stored.bias = add <16 x i32> %x.acc.stored.odd, splat (i32 32767)
  %x.acc.stored.carried = add <16 x i32> %x.acc.stored.bits, %x.acc.stored.bias
  %x.acc.stored.rounded = lshr <16 x i32> %x.acc.stored.carried, splat (i32 16)
  %x.acc.stored.quiet = or <16 x i32> %x.acc.stored.high, splat (i32 64)
  %x.acc.stored.isnan = fcmp uno <16 x float> %x.acc, %x.acc
  %x.acc.stored.chosen = select <16 x i1> %x.acc.stored.isnan, <16 x i32> %x.acc.stored.quiet, <16 x i32> %x.acc.stored.rounded
  %x.acc.stored = trunc <16 x i32> %x.acc.stored.chosen to <16 x i16>
  store <16 x i16> %x.acc.stored, ptr %x.out.at, align 2
  br label %n.latch
n.latch:
  %n.after = add nuw i64 %n, 16
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
  ; -- exit
  call void @llvm.x86.tilerelease()
  ret void
}

declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)

attributes #0 = { nounwind "no-builtins" "min-legal-vector-width"="512" "prefer-vector-width"="512" }
; Unrolled, the addresses of all tiles would not fit the registers.
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
