; ModuleID = 'kernels.cl'
source_filename = "kernels.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@matmul_tiled.a_tile = internal unnamed_addr addrspace(3) global [16 x [16 x float]] undef, align 4
@matmul_tiled.b_tile = internal unnamed_addr addrspace(3) global [16 x [17 x float]] undef, align 4
@reduce_sum.partial = internal unnamed_addr addrspace(3) global [256 x i32] undef, align 4
@histogram.mine = internal addrspace(3) global [256 x i32] undef, align 4
@softmax_rows.shared = internal unnamed_addr addrspace(3) global [256 x float] undef, align 4
@stencil.tile = internal unnamed_addr addrspace(3) global [258 x float] undef, align 4
@transpose.tile = internal unnamed_addr addrspace(3) global [16 x [17 x i16]] undef, align 2
@sum_in_two_steps.shared = internal unnamed_addr addrspace(3) global [256 x float] undef, align 4
@sum_in_two_steps.mine = internal unnamed_addr addrspace(3) global i32 undef, align 4

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @matmul_tiled(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef readonly align 4 captures(none) %1, ptr addrspace(1) noundef writeonly align 4 captures(none) %2, i32 noundef %3) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 !reqd_work_group_size !12 {
  %5 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %6 = and i32 %5, 15
  %7 = lshr i32 %5, 4
  %8 = tail call noundef i32 @llvm.amdgcn.workgroup.id.y()
  %9 = shl i32 %8, 4
  %10 = add i32 %9, %7
  %11 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %12 = shl i32 %11, 4
  %13 = or disjoint i32 %12, %6
  %14 = icmp sgt i32 %3, 0
  %15 = mul i32 %3, %10
  br i1 %14, label %16, label %50

16:                                               ; preds = %4
  %17 = add i32 %15, %6
  %18 = getelementptr inbounds nuw [16 x float], ptr addrspace(3) @matmul_tiled.a_tile, i32 %7
  %19 = getelementptr inbounds nuw float, ptr addrspace(3) %18, i32 %6
  %20 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) @matmul_tiled.b_tile, i32 %7
  %21 = getelementptr inbounds nuw float, ptr addrspace(3) %20, i32 %6
  %22 = getelementptr inbounds nuw float, ptr addrspace(3) @matmul_tiled.b_tile, i32 %6
  br label %23

23:                                               ; preds = %16, %36
  %24 = phi i32 [ 0, %16 ], [ %37, %36 ]
  %25 = phi float [ 0.000000e+00, %16 ], [ %47, %36 ]
  %26 = add i32 %17, %24
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %27
  %29 = load float, ptr addrspace(1) %28, align 4, !tbaa !13, !amdgpu.noclobber !15
  store float %29, ptr addrspace(3) %19, align 4, !tbaa !13
  %30 = add nuw i32 %24, %7
  %31 = mul i32 %30, %3
  %32 = add i32 %31, %13
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %33
  %35 = load float, ptr addrspace(1) %34, align 4, !tbaa !13, !amdgpu.noclobber !15
  store float %35, ptr addrspace(3) %21, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %39

36:                                               ; preds = %39
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %37 = add nuw nsw i32 %24, 16
  %38 = icmp slt i32 %37, %3
  br i1 %38, label %23, label %50, !llvm.loop !16

39:                                               ; preds = %23, %39
  %40 = phi i32 [ 0, %23 ], [ %48, %39 ]
  %41 = phi float [ %25, %23 ], [ %47, %39 ]
  %42 = getelementptr inbounds nuw float, ptr addrspace(3) %18, i32 %40
  %43 = load float, ptr addrspace(3) %42, align 4, !tbaa !13
  %44 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) %22, i32 %40
  %45 = load float, ptr addrspace(3) %44, align 4, !tbaa !13
  %46 = fmul contract float %43, %45
  %47 = fadd contract float %41, %46
  %48 = add nuw nsw i32 %40, 1
  %49 = icmp eq i32 %48, 16
  br i1 %49, label %36, label %39, !llvm.loop !18

50:                                               ; preds = %36, %4
  %51 = phi float [ 0.000000e+00, %4 ], [ %47, %36 ]
  %52 = add i32 %15, %13
  %53 = zext i32 %52 to i64
  %54 = getelementptr inbounds nuw float, ptr addrspace(1) %2, i64 %53
  store float %51, ptr addrspace(1) %54, align 4, !tbaa !13
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nounwind
define protected void @__clang_ocl_kern_imp_matmul_tiled(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef readonly align 4 captures(none) %1, ptr addrspace(1) noundef writeonly align 4 captures(none) %2, i32 noundef %3) local_unnamed_addr #1 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 !reqd_work_group_size !12 {
  %5 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %6 = and i32 %5, 15
  %7 = lshr i32 %5, 4
  %8 = tail call noundef i32 @llvm.amdgcn.workgroup.id.y()
  %9 = shl i32 %8, 4
  %10 = add i32 %9, %7
  %11 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %12 = shl i32 %11, 4
  %13 = or disjoint i32 %12, %6
  %14 = icmp sgt i32 %3, 0
  %15 = mul i32 %3, %10
  br i1 %14, label %16, label %23

16:                                               ; preds = %4
  %17 = add i32 %15, %6
  %18 = getelementptr inbounds nuw [16 x float], ptr addrspace(3) @matmul_tiled.a_tile, i32 %7
  %19 = getelementptr inbounds nuw float, ptr addrspace(3) %18, i32 %6
  %20 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) @matmul_tiled.b_tile, i32 %7
  %21 = getelementptr inbounds nuw float, ptr addrspace(3) %20, i32 %6
  %22 = getelementptr inbounds nuw float, ptr addrspace(3) @matmul_tiled.b_tile, i32 %6
  br label %28

23:                                               ; preds = %41, %4
  %24 = phi float [ 0.000000e+00, %4 ], [ %52, %41 ]
  %25 = add i32 %15, %13
  %26 = zext i32 %25 to i64
  %27 = getelementptr inbounds nuw float, ptr addrspace(1) %2, i64 %26
  store float %24, ptr addrspace(1) %27, align 4, !tbaa !13
  ret void

28:                                               ; preds = %16, %41
  %29 = phi i32 [ 0, %16 ], [ %42, %41 ]
  %30 = phi float [ 0.000000e+00, %16 ], [ %52, %41 ]
  %31 = add i32 %17, %29
  %32 = zext i32 %31 to i64
  %33 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %32
  %34 = load float, ptr addrspace(1) %33, align 4, !tbaa !13
  store float %34, ptr addrspace(3) %19, align 4, !tbaa !13
  %35 = add nuw i32 %29, %7
  %36 = mul i32 %35, %3
  %37 = add i32 %36, %13
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %38
  %40 = load float, ptr addrspace(1) %39, align 4, !tbaa !13
  store float %40, ptr addrspace(3) %21, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %44

41:                                               ; preds = %44
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %42 = add nuw nsw i32 %29, 16
  %43 = icmp slt i32 %42, %3
  br i1 %43, label %28, label %23, !llvm.loop !16

44:                                               ; preds = %28, %44
  %45 = phi i32 [ 0, %28 ], [ %53, %44 ]
  %46 = phi float [ %30, %28 ], [ %52, %44 ]
  %47 = getelementptr inbounds nuw float, ptr addrspace(3) %18, i32 %45
  %48 = load float, ptr addrspace(3) %47, align 4, !tbaa !13
  %49 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) %22, i32 %45
  %50 = load float, ptr addrspace(3) %49, align 4, !tbaa !13
  %51 = fmul contract float %48, %50
  %52 = fadd contract float %46, %51
  %53 = add nuw nsw i32 %45, 1
  %54 = icmp eq i32 %53, 16
  br i1 %54, label %41, label %44, !llvm.loop !18
}

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @reduce_sum(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #2 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !21 !kernel_arg_base_type !21 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = icmp ult i32 %7, %2
  br i1 %8, label %12, label %9

9:                                                ; preds = %12, %3
  %10 = phi i32 [ 0, %3 ], [ %18, %12 ]
  %11 = getelementptr inbounds nuw i32, ptr addrspace(3) @reduce_sum.partial, i32 %6
  store i32 %10, ptr addrspace(3) %11, align 4, !tbaa !4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %23

12:                                               ; preds = %3, %12
  %13 = phi i32 [ %18, %12 ], [ 0, %3 ]
  %14 = phi i32 [ %19, %12 ], [ %7, %3 ]
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %15
  %17 = load i32, ptr addrspace(1) %16, align 4, !tbaa !4, !amdgpu.noclobber !15
  %18 = add nsw i32 %17, %13
  %19 = add i32 %14, 1024
  %20 = icmp ult i32 %19, %2
  br i1 %20, label %12, label %9, !llvm.loop !23

21:                                               ; preds = %31
  %22 = icmp eq i32 %6, 0
  br i1 %22, label %34, label %37

23:                                               ; preds = %9, %31
  %24 = phi i32 [ 128, %9 ], [ %32, %31 ]
  %25 = icmp samesign ult i32 %6, %24
  br i1 %25, label %26, label %31

26:                                               ; preds = %23
  %27 = getelementptr inbounds nuw i32, ptr addrspace(3) %11, i32 %24
  %28 = load i32, ptr addrspace(3) %27, align 4, !tbaa !4
  %29 = load i32, ptr addrspace(3) %11, align 4, !tbaa !4
  %30 = add nsw i32 %29, %28
  store i32 %30, ptr addrspace(3) %11, align 4, !tbaa !4
  br label %31

31:                                               ; preds = %26, %23
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %32 = lshr i32 %24, 1
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %21, label %23, !llvm.loop !24

34:                                               ; preds = %21
  %35 = load i32, ptr addrspace(3) @reduce_sum.partial, align 4, !tbaa !4
  %36 = atomicrmw add ptr addrspace(1) %1, i32 %35 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  br label %37

37:                                               ; preds = %21, %34
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nounwind
define protected void @__clang_ocl_kern_imp_reduce_sum(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #3 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !21 !kernel_arg_base_type !21 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = icmp ult i32 %7, %2
  br i1 %8, label %12, label %9

9:                                                ; preds = %12, %3
  %10 = phi i32 [ 0, %3 ], [ %18, %12 ]
  %11 = getelementptr inbounds nuw i32, ptr addrspace(3) @reduce_sum.partial, i32 %6
  store i32 %10, ptr addrspace(3) %11, align 4, !tbaa !4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %23

12:                                               ; preds = %3, %12
  %13 = phi i32 [ %18, %12 ], [ 0, %3 ]
  %14 = phi i32 [ %19, %12 ], [ %7, %3 ]
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %15
  %17 = load i32, ptr addrspace(1) %16, align 4, !tbaa !4
  %18 = add nsw i32 %17, %13
  %19 = add i32 %14, 1024
  %20 = icmp ult i32 %19, %2
  br i1 %20, label %12, label %9, !llvm.loop !23

21:                                               ; preds = %31
  %22 = icmp eq i32 %6, 0
  br i1 %22, label %34, label %37

23:                                               ; preds = %9, %31
  %24 = phi i32 [ 128, %9 ], [ %32, %31 ]
  %25 = icmp samesign ult i32 %6, %24
  br i1 %25, label %26, label %31

26:                                               ; preds = %23
  %27 = getelementptr inbounds nuw i32, ptr addrspace(3) %11, i32 %24
  %28 = load i32, ptr addrspace(3) %27, align 4, !tbaa !4
  %29 = load i32, ptr addrspace(3) %11, align 4, !tbaa !4
  %30 = add nsw i32 %29, %28
  store i32 %30, ptr addrspace(3) %11, align 4, !tbaa !4
  br label %31

31:                                               ; preds = %26, %23
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %32 = lshr i32 %24, 1
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %21, label %23, !llvm.loop !24

34:                                               ; preds = %21
  %35 = load i32, ptr addrspace(3) @reduce_sum.partial, align 4, !tbaa !4
  %36 = atomicrmw add ptr addrspace(1) %1, i32 %35 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  br label %37

37:                                               ; preds = %34, %21
  ret void
}

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @histogram(ptr addrspace(1) noundef readonly align 1 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #2 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !25 !kernel_arg_base_type !25 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %5 = getelementptr inbounds nuw i32, ptr addrspace(3) @histogram.mine, i32 %4
  store i32 0, ptr addrspace(3) %5, align 4, !tbaa !4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %6 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %7 = shl i32 %6, 8
  %8 = add i32 %7, %4
  %9 = icmp ult i32 %8, %2
  br i1 %9, label %13, label %10

10:                                               ; preds = %13, %3
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %11 = load i32, ptr addrspace(3) %5, align 4, !tbaa !4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %27, label %23

13:                                               ; preds = %3, %13
  %14 = phi i32 [ %21, %13 ], [ %8, %3 ]
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i8, ptr addrspace(1) %0, i64 %15
  %17 = load i8, ptr addrspace(1) %16, align 1, !tbaa !26, !amdgpu.noclobber !15
  %18 = zext i8 %17 to i32
  %19 = getelementptr inbounds nuw i32, ptr addrspace(3) @histogram.mine, i32 %18
  %20 = atomicrmw add ptr addrspace(3) %19, i32 1 syncscope("workgroup") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  %21 = add i32 %14, 768
  %22 = icmp ult i32 %21, %2
  br i1 %22, label %13, label %10, !llvm.loop !27

23:                                               ; preds = %10
  %24 = zext nneg i32 %4 to i64
  %25 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %24
  %26 = atomicrmw add ptr addrspace(1) %25, i32 %11 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  br label %27

27:                                               ; preds = %10, %23
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nounwind
define protected void @__clang_ocl_kern_imp_histogram(ptr addrspace(1) noundef readonly align 1 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #3 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !25 !kernel_arg_base_type !25 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %5 = getelementptr inbounds nuw i32, ptr addrspace(3) @histogram.mine, i32 %4
  store i32 0, ptr addrspace(3) %5, align 4, !tbaa !4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %6 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %7 = shl i32 %6, 8
  %8 = add i32 %7, %4
  %9 = icmp ult i32 %8, %2
  br i1 %9, label %13, label %10

10:                                               ; preds = %13, %3
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %11 = load i32, ptr addrspace(3) %5, align 4, !tbaa !4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %27, label %23

13:                                               ; preds = %3, %13
  %14 = phi i32 [ %21, %13 ], [ %8, %3 ]
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i8, ptr addrspace(1) %0, i64 %15
  %17 = load i8, ptr addrspace(1) %16, align 1, !tbaa !26
  %18 = zext i8 %17 to i32
  %19 = getelementptr inbounds nuw i32, ptr addrspace(3) @histogram.mine, i32 %18
  %20 = atomicrmw add ptr addrspace(3) %19, i32 1 syncscope("workgroup") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  %21 = add i32 %14, 768
  %22 = icmp ult i32 %21, %2
  br i1 %22, label %13, label %10, !llvm.loop !27

23:                                               ; preds = %10
  %24 = zext nneg i32 %4 to i64
  %25 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %24
  %26 = atomicrmw add ptr addrspace(1) %25, i32 %11 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  br label %27

27:                                               ; preds = %23, %10
  ret void
}

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @softmax_rows(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #2 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !28 !kernel_arg_base_type !28 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %5 = mul i32 %2, %4
  %6 = zext i32 %5 to i64
  %7 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %6
  %8 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %9 = icmp slt i32 %8, %2
  br i1 %9, label %13, label %10

10:                                               ; preds = %13, %3
  %11 = phi float [ 0xFFF0000000000000, %3 ], [ %19, %13 ]
  %12 = getelementptr inbounds nuw float, ptr addrspace(3) @softmax_rows.shared, i32 %8
  store float %11, ptr addrspace(3) %12, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %24

13:                                               ; preds = %3, %13
  %14 = phi float [ %19, %13 ], [ 0xFFF0000000000000, %3 ]
  %15 = phi i32 [ %20, %13 ], [ %8, %3 ]
  %16 = zext nneg i32 %15 to i64
  %17 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %16
  %18 = load float, ptr addrspace(1) %17, align 4, !tbaa !13, !amdgpu.noclobber !15
  %19 = tail call contract float @llvm.maxnum.f32(float %14, float %18)
  %20 = add nuw nsw i32 %15, 256
  %21 = icmp slt i32 %20, %2
  br i1 %21, label %13, label %10, !llvm.loop !29

22:                                               ; preds = %32
  %23 = load float, ptr addrspace(3) @softmax_rows.shared, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %9, label %37, label %35

24:                                               ; preds = %10, %32
  %25 = phi i32 [ 128, %10 ], [ %33, %32 ]
  %26 = icmp samesign ult i32 %8, %25
  br i1 %26, label %27, label %32

27:                                               ; preds = %24
  %28 = getelementptr inbounds nuw float, ptr addrspace(3) %12, i32 %25
  %29 = load float, ptr addrspace(3) %12, align 4, !tbaa !13
  %30 = load float, ptr addrspace(3) %28, align 4, !tbaa !13
  %31 = tail call contract float @llvm.maxnum.f32(float %29, float %30)
  store float %31, ptr addrspace(3) %12, align 4, !tbaa !13
  br label %32

32:                                               ; preds = %27, %24
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %33 = lshr i32 %25, 1
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %22, label %24, !llvm.loop !30

35:                                               ; preds = %37, %22
  %36 = phi float [ 0.000000e+00, %22 ], [ %46, %37 ]
  store float %36, ptr addrspace(3) %12, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %52

37:                                               ; preds = %22, %37
  %38 = phi i32 [ %47, %37 ], [ %8, %22 ]
  %39 = phi float [ %46, %37 ], [ 0.000000e+00, %22 ]
  %40 = zext nneg i32 %38 to i64
  %41 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %40
  %42 = load float, ptr addrspace(1) %41, align 4, !tbaa !13, !amdgpu.noclobber !15
  %43 = fsub contract float %42, %23
  %44 = fmul contract float %43, 0x3FF7154760000000
  %45 = tail call contract float @llvm.amdgcn.exp2.f32(float %44)
  %46 = fadd contract float %39, %45
  %47 = add nuw nsw i32 %38, 256
  %48 = icmp slt i32 %47, %2
  br i1 %48, label %37, label %35, !llvm.loop !31

49:                                               ; preds = %60
  %50 = load float, ptr addrspace(3) @softmax_rows.shared, align 4, !tbaa !13
  %51 = tail call contract float @llvm.amdgcn.rcp.f32(float %50)
  br i1 %9, label %63, label %77

52:                                               ; preds = %35, %60
  %53 = phi i32 [ 128, %35 ], [ %61, %60 ]
  %54 = icmp samesign ult i32 %8, %53
  br i1 %54, label %55, label %60

55:                                               ; preds = %52
  %56 = getelementptr inbounds nuw float, ptr addrspace(3) %12, i32 %53
  %57 = load float, ptr addrspace(3) %56, align 4, !tbaa !13
  %58 = load float, ptr addrspace(3) %12, align 4, !tbaa !13
  %59 = fadd contract float %57, %58
  store float %59, ptr addrspace(3) %12, align 4, !tbaa !13
  br label %60

60:                                               ; preds = %55, %52
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %61 = lshr i32 %53, 1
  %62 = icmp eq i32 %61, 0
  br i1 %62, label %49, label %52, !llvm.loop !32

63:                                               ; preds = %49, %63
  %64 = phi i32 [ %75, %63 ], [ %8, %49 ]
  %65 = zext nneg i32 %64 to i64
  %66 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %65
  %67 = load float, ptr addrspace(1) %66, align 4, !tbaa !13
  %68 = fsub contract float %67, %23
  %69 = fmul contract float %68, 0x3FF7154760000000
  %70 = tail call contract float @llvm.amdgcn.exp2.f32(float %69)
  %71 = fmul contract float %51, %70
  %72 = add i32 %64, %5
  %73 = zext i32 %72 to i64
  %74 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %73
  store float %71, ptr addrspace(1) %74, align 4, !tbaa !13
  %75 = add nuw nsw i32 %64, 256
  %76 = icmp slt i32 %75, %2
  br i1 %76, label %63, label %77, !llvm.loop !33

77:                                               ; preds = %63, %49
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nounwind
define protected void @__clang_ocl_kern_imp_softmax_rows(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #3 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !28 !kernel_arg_base_type !28 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %5 = mul i32 %2, %4
  %6 = zext i32 %5 to i64
  %7 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %6
  %8 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %9 = icmp slt i32 %8, %2
  br i1 %9, label %13, label %10

10:                                               ; preds = %13, %3
  %11 = phi float [ 0xFFF0000000000000, %3 ], [ %19, %13 ]
  %12 = getelementptr inbounds nuw float, ptr addrspace(3) @softmax_rows.shared, i32 %8
  store float %11, ptr addrspace(3) %12, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %24

13:                                               ; preds = %3, %13
  %14 = phi float [ %19, %13 ], [ 0xFFF0000000000000, %3 ]
  %15 = phi i32 [ %20, %13 ], [ %8, %3 ]
  %16 = zext nneg i32 %15 to i64
  %17 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %16
  %18 = load float, ptr addrspace(1) %17, align 4, !tbaa !13
  %19 = tail call contract float @llvm.maxnum.f32(float %14, float %18)
  %20 = add nuw nsw i32 %15, 256
  %21 = icmp slt i32 %20, %2
  br i1 %21, label %13, label %10, !llvm.loop !29

22:                                               ; preds = %32
  %23 = load float, ptr addrspace(3) @softmax_rows.shared, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %9, label %37, label %35

24:                                               ; preds = %10, %32
  %25 = phi i32 [ 128, %10 ], [ %33, %32 ]
  %26 = icmp samesign ult i32 %8, %25
  br i1 %26, label %27, label %32

27:                                               ; preds = %24
  %28 = getelementptr inbounds nuw float, ptr addrspace(3) %12, i32 %25
  %29 = load float, ptr addrspace(3) %12, align 4, !tbaa !13
  %30 = load float, ptr addrspace(3) %28, align 4, !tbaa !13
  %31 = tail call contract float @llvm.maxnum.f32(float %29, float %30)
  store float %31, ptr addrspace(3) %12, align 4, !tbaa !13
  br label %32

32:                                               ; preds = %27, %24
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %33 = lshr i32 %25, 1
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %22, label %24, !llvm.loop !30

35:                                               ; preds = %37, %22
  %36 = phi float [ 0.000000e+00, %22 ], [ %46, %37 ]
  store float %36, ptr addrspace(3) %12, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %52

37:                                               ; preds = %22, %37
  %38 = phi i32 [ %47, %37 ], [ %8, %22 ]
  %39 = phi float [ %46, %37 ], [ 0.000000e+00, %22 ]
  %40 = zext nneg i32 %38 to i64
  %41 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %40
  %42 = load float, ptr addrspace(1) %41, align 4, !tbaa !13
  %43 = fsub contract float %42, %23
  %44 = fmul contract float %43, 0x3FF7154760000000
  %45 = tail call contract float @llvm.amdgcn.exp2.f32(float %44)
  %46 = fadd contract float %39, %45
  %47 = add nuw nsw i32 %38, 256
  %48 = icmp slt i32 %47, %2
  br i1 %48, label %37, label %35, !llvm.loop !31

49:                                               ; preds = %60
  %50 = load float, ptr addrspace(3) @softmax_rows.shared, align 4, !tbaa !13
  %51 = tail call contract float @llvm.amdgcn.rcp.f32(float %50)
  br i1 %9, label %64, label %63

52:                                               ; preds = %35, %60
  %53 = phi i32 [ 128, %35 ], [ %61, %60 ]
  %54 = icmp samesign ult i32 %8, %53
  br i1 %54, label %55, label %60

55:                                               ; preds = %52
  %56 = getelementptr inbounds nuw float, ptr addrspace(3) %12, i32 %53
  %57 = load float, ptr addrspace(3) %56, align 4, !tbaa !13
  %58 = load float, ptr addrspace(3) %12, align 4, !tbaa !13
  %59 = fadd contract float %57, %58
  store float %59, ptr addrspace(3) %12, align 4, !tbaa !13
  br label %60

60:                                               ; preds = %55, %52
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %61 = lshr i32 %53, 1
  %62 = icmp eq i32 %61, 0
  br i1 %62, label %49, label %52, !llvm.loop !32

63:                                               ; preds = %64, %49
  ret void

64:                                               ; preds = %49, %64
  %65 = phi i32 [ %76, %64 ], [ %8, %49 ]
  %66 = zext nneg i32 %65 to i64
  %67 = getelementptr inbounds nuw float, ptr addrspace(1) %7, i64 %66
  %68 = load float, ptr addrspace(1) %67, align 4, !tbaa !13
  %69 = fsub contract float %68, %23
  %70 = fmul contract float %69, 0x3FF7154760000000
  %71 = tail call contract float @llvm.amdgcn.exp2.f32(float %70)
  %72 = fmul contract float %51, %71
  %73 = add i32 %65, %5
  %74 = zext i32 %73 to i64
  %75 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %74
  store float %72, ptr addrspace(1) %75, align 4, !tbaa !13
  %76 = add nuw nsw i32 %65, 256
  %77 = icmp slt i32 %76, %2
  br i1 %77, label %64, label %63, !llvm.loop !33
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn
define protected amdgpu_kernel void @stencil(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #4 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !28 !kernel_arg_base_type !28 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = icmp slt i32 %7, %2
  br i1 %8, label %9, label %13

9:                                                ; preds = %3
  %10 = sext i32 %7 to i64
  %11 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %10
  %12 = load float, ptr addrspace(1) %11, align 4, !tbaa !13, !amdgpu.noclobber !15
  br label %13

13:                                               ; preds = %9, %3
  %14 = phi contract float [ %12, %9 ], [ 0.000000e+00, %3 ]
  %15 = getelementptr inbounds nuw float, ptr addrspace(3) @stencil.tile, i32 %6
  %16 = getelementptr inbounds nuw i8, ptr addrspace(3) %15, i32 4
  store float %14, ptr addrspace(3) %16, align 4, !tbaa !13
  switch i32 %6, label %35 [
    i32 0, label %17
    i32 255, label %26
  ]

17:                                               ; preds = %13
  %18 = icmp sgt i32 %7, 0
  br i1 %18, label %19, label %24

19:                                               ; preds = %17
  %20 = zext nneg i32 %7 to i64
  %21 = getelementptr float, ptr addrspace(1) %0, i64 %20
  %22 = getelementptr i8, ptr addrspace(1) %21, i64 -4
  %23 = load float, ptr addrspace(1) %22, align 4, !tbaa !13
  br label %24

24:                                               ; preds = %19, %17
  %25 = phi contract float [ %23, %19 ], [ 0.000000e+00, %17 ]
  store float %25, ptr addrspace(3) @stencil.tile, align 4, !tbaa !13
  br label %35

26:                                               ; preds = %13
  %27 = add nsw i32 %7, 1
  %28 = icmp slt i32 %27, %2
  br i1 %28, label %29, label %33

29:                                               ; preds = %26
  %30 = sext i32 %27 to i64
  %31 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %30
  %32 = load float, ptr addrspace(1) %31, align 4, !tbaa !13, !amdgpu.noclobber !15
  br label %33

33:                                               ; preds = %29, %26
  %34 = phi contract float [ %32, %29 ], [ 0.000000e+00, %26 ]
  store float %34, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @stencil.tile, i32 1028), align 4, !tbaa !13
  br label %35

35:                                               ; preds = %24, %13, %33
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %8, label %36, label %46

36:                                               ; preds = %35
  %37 = load float, ptr addrspace(3) %15, align 4, !tbaa !13
  %38 = load float, ptr addrspace(3) %16, align 4, !tbaa !13
  %39 = fmul contract float %38, 2.000000e+00
  %40 = fsub contract float %37, %39
  %41 = getelementptr inbounds nuw i8, ptr addrspace(3) %15, i32 8
  %42 = load float, ptr addrspace(3) %41, align 4, !tbaa !13
  %43 = fadd contract float %42, %40
  %44 = sext i32 %7 to i64
  %45 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %44
  store float %43, ptr addrspace(1) %45, align 4, !tbaa !13
  br label %46

46:                                               ; preds = %35, %36
  ret void
}

; Function Attrs: alwaysinline convergent mustprogress nofree norecurse nounwind willreturn
define protected void @__clang_ocl_kern_imp_stencil(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1, i32 noundef %2) local_unnamed_addr #5 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !28 !kernel_arg_base_type !28 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 8
  %6 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %7 = add i32 %5, %6
  %8 = icmp slt i32 %7, %2
  br i1 %8, label %9, label %13

9:                                                ; preds = %3
  %10 = sext i32 %7 to i64
  %11 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %10
  %12 = load float, ptr addrspace(1) %11, align 4, !tbaa !13
  br label %13

13:                                               ; preds = %3, %9
  %14 = phi contract float [ %12, %9 ], [ 0.000000e+00, %3 ]
  %15 = getelementptr inbounds nuw float, ptr addrspace(3) @stencil.tile, i32 %6
  %16 = getelementptr inbounds nuw i8, ptr addrspace(3) %15, i32 4
  store float %14, ptr addrspace(3) %16, align 4, !tbaa !13
  switch i32 %6, label %35 [
    i32 0, label %17
    i32 255, label %26
  ]

17:                                               ; preds = %13
  %18 = icmp sgt i32 %7, 0
  br i1 %18, label %19, label %24

19:                                               ; preds = %17
  %20 = zext nneg i32 %7 to i64
  %21 = getelementptr float, ptr addrspace(1) %0, i64 %20
  %22 = getelementptr i8, ptr addrspace(1) %21, i64 -4
  %23 = load float, ptr addrspace(1) %22, align 4, !tbaa !13
  br label %24

24:                                               ; preds = %17, %19
  %25 = phi contract float [ %23, %19 ], [ 0.000000e+00, %17 ]
  store float %25, ptr addrspace(3) @stencil.tile, align 4, !tbaa !13
  br label %35

26:                                               ; preds = %13
  %27 = add nsw i32 %7, 1
  %28 = icmp slt i32 %27, %2
  br i1 %28, label %29, label %33

29:                                               ; preds = %26
  %30 = sext i32 %27 to i64
  %31 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %30
  %32 = load float, ptr addrspace(1) %31, align 4, !tbaa !13
  br label %33

33:                                               ; preds = %26, %29
  %34 = phi contract float [ %32, %29 ], [ 0.000000e+00, %26 ]
  store float %34, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @stencil.tile, i32 1028), align 4, !tbaa !13
  br label %35

35:                                               ; preds = %24, %13, %33
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %8, label %36, label %46

36:                                               ; preds = %35
  %37 = load float, ptr addrspace(3) %15, align 4, !tbaa !13
  %38 = load float, ptr addrspace(3) %16, align 4, !tbaa !13
  %39 = fmul contract float %38, 2.000000e+00
  %40 = fsub contract float %37, %39
  %41 = getelementptr inbounds nuw i8, ptr addrspace(3) %15, i32 8
  %42 = load float, ptr addrspace(3) %41, align 4, !tbaa !13
  %43 = fadd contract float %42, %40
  %44 = sext i32 %7 to i64
  %45 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %44
  store float %43, ptr addrspace(1) %45, align 4, !tbaa !13
  br label %46

46:                                               ; preds = %36, %35
  ret void
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn
define protected amdgpu_kernel void @transpose(ptr addrspace(1) noundef readonly align 2 captures(none) %0, ptr addrspace(1) noundef writeonly align 2 captures(none) %1, i32 noundef %2) local_unnamed_addr #6 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !34 !kernel_arg_base_type !34 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %5 = and i32 %4, 15
  %6 = lshr i32 %4, 4
  %7 = tail call noundef i32 @llvm.amdgcn.workgroup.id.y()
  %8 = shl i32 %7, 4
  %9 = add i32 %8, %6
  %10 = mul i32 %2, %9
  %11 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %12 = shl i32 %11, 4
  %13 = or disjoint i32 %5, %12
  %14 = add i32 %13, %10
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i16, ptr addrspace(1) %0, i64 %15
  %17 = load i16, ptr addrspace(1) %16, align 2, !tbaa !35, !amdgpu.noclobber !15
  %18 = getelementptr inbounds nuw [17 x i16], ptr addrspace(3) @transpose.tile, i32 %6
  %19 = getelementptr inbounds nuw i16, ptr addrspace(3) %18, i32 %5
  store i16 %17, ptr addrspace(3) %19, align 2, !tbaa !35
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %20 = getelementptr inbounds nuw [17 x i16], ptr addrspace(3) @transpose.tile, i32 %5
  %21 = getelementptr inbounds nuw i16, ptr addrspace(3) %20, i32 %6
  %22 = load i16, ptr addrspace(3) %21, align 2, !tbaa !35
  %23 = add i32 %12, %6
  %24 = mul i32 %2, %23
  %25 = or disjoint i32 %5, %8
  %26 = add i32 %25, %24
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i16, ptr addrspace(1) %1, i64 %27
  store i16 %22, ptr addrspace(1) %28, align 2, !tbaa !35
  ret void
}

; Function Attrs: alwaysinline convergent mustprogress nofree norecurse nounwind willreturn
define protected void @__clang_ocl_kern_imp_transpose(ptr addrspace(1) noundef readonly align 2 captures(none) %0, ptr addrspace(1) noundef writeonly align 2 captures(none) %1, i32 noundef %2) local_unnamed_addr #7 !kernel_arg_addr_space !19 !kernel_arg_access_qual !20 !kernel_arg_type !34 !kernel_arg_base_type !34 !kernel_arg_type_qual !22 !reqd_work_group_size !12 {
  %4 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %5 = and i32 %4, 15
  %6 = lshr i32 %4, 4
  %7 = tail call noundef i32 @llvm.amdgcn.workgroup.id.y()
  %8 = shl i32 %7, 4
  %9 = add i32 %8, %6
  %10 = mul i32 %2, %9
  %11 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %12 = shl i32 %11, 4
  %13 = or disjoint i32 %5, %12
  %14 = add i32 %13, %10
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i16, ptr addrspace(1) %0, i64 %15
  %17 = load i16, ptr addrspace(1) %16, align 2, !tbaa !35
  %18 = getelementptr inbounds nuw [17 x i16], ptr addrspace(3) @transpose.tile, i32 %6
  %19 = getelementptr inbounds nuw i16, ptr addrspace(3) %18, i32 %5
  store i16 %17, ptr addrspace(3) %19, align 2, !tbaa !35
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %20 = getelementptr inbounds nuw [17 x i16], ptr addrspace(3) @transpose.tile, i32 %5
  %21 = getelementptr inbounds nuw i16, ptr addrspace(3) %20, i32 %6
  %22 = load i16, ptr addrspace(3) %21, align 2, !tbaa !35
  %23 = add i32 %12, %6
  %24 = mul i32 %2, %23
  %25 = or disjoint i32 %5, %8
  %26 = add i32 %25, %24
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i16, ptr addrspace(1) %1, i64 %27
  store i16 %22, ptr addrspace(1) %28, align 2, !tbaa !35
  ret void
}

; Function Attrs: convergent nofree norecurse nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @scan_waves(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #8 !kernel_arg_addr_space !37 !kernel_arg_access_qual !38 !kernel_arg_type !39 !kernel_arg_base_type !39 !kernel_arg_type_qual !40 !reqd_work_group_size !12 {
  %3 = tail call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %4 = tail call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %3)
  %5 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %6 = shl i32 %5, 8
  %7 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %8 = add i32 %6, %7
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %9
  %11 = load i32, ptr addrspace(1) %10, align 4, !tbaa !4, !amdgpu.noclobber !15
  br label %12

12:                                               ; preds = %2, %12
  %13 = phi i32 [ 1, %2 ], [ %21, %12 ]
  %14 = phi i32 [ %11, %2 ], [ %20, %12 ]
  %15 = sub i32 %4, %13
  %16 = shl i32 %15, 2
  %17 = tail call i32 @llvm.amdgcn.ds.bpermute(i32 %16, i32 %14)
  %18 = icmp ult i32 %4, %13
  %19 = select i1 %18, i32 0, i32 %17
  %20 = add nsw i32 %19, %14
  %21 = shl nuw nsw i32 %13, 1
  %22 = icmp samesign ult i32 %13, 32
  br i1 %22, label %12, label %23, !llvm.loop !41

23:                                               ; preds = %12
  %24 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %9
  store i32 %20, ptr addrspace(1) %24, align 4, !tbaa !4
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nounwind memory(argmem: readwrite)
define protected void @__clang_ocl_kern_imp_scan_waves(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #9 !kernel_arg_addr_space !37 !kernel_arg_access_qual !38 !kernel_arg_type !39 !kernel_arg_base_type !39 !kernel_arg_type_qual !40 !reqd_work_group_size !12 {
  %3 = tail call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %4 = tail call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %3)
  %5 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %6 = shl i32 %5, 8
  %7 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %8 = add i32 %6, %7
  %9 = zext i32 %8 to i64
  %10 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %9
  %11 = load i32, ptr addrspace(1) %10, align 4, !tbaa !4
  br label %14

12:                                               ; preds = %14
  %13 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %9
  store i32 %22, ptr addrspace(1) %13, align 4, !tbaa !4
  ret void

14:                                               ; preds = %2, %14
  %15 = phi i32 [ 1, %2 ], [ %23, %14 ]
  %16 = phi i32 [ %11, %2 ], [ %22, %14 ]
  %17 = sub i32 %4, %15
  %18 = shl i32 %17, 2
  %19 = tail call i32 @llvm.amdgcn.ds.bpermute(i32 %18, i32 %16)
  %20 = icmp ult i32 %4, %15
  %21 = select i1 %20, i32 0, i32 %19
  %22 = add nsw i32 %21, %16
  %23 = shl nuw nsw i32 %15, 1
  %24 = icmp samesign ult i32 %15, 32
  br i1 %24, label %14, label %12, !llvm.loop !41
}

; Function Attrs: convergent nofree norecurse nounwind
define protected amdgpu_kernel void @sum_in_two_steps(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, ptr addrspace(1) noundef align 4 captures(none) %2, ptr addrspace(1) noundef writeonly align 4 captures(none) %3, i32 noundef %4) local_unnamed_addr #2 !kernel_arg_addr_space !42 !kernel_arg_access_qual !43 !kernel_arg_type !44 !kernel_arg_base_type !44 !kernel_arg_type_qual !45 !reqd_work_group_size !12 {
  %6 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %7 = shl i32 %6, 8
  %8 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %9 = add i32 %7, %8
  %10 = zext i32 %9 to i64
  %11 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %10
  %12 = load float, ptr addrspace(1) %11, align 4, !tbaa !13, !amdgpu.noclobber !15
  %13 = getelementptr inbounds nuw float, ptr addrspace(3) @sum_in_two_steps.shared, i32 %8
  store float %12, ptr addrspace(3) %13, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %16

14:                                               ; preds = %24
  %15 = icmp ne i32 %8, 0
  br i1 %15, label %32, label %27

16:                                               ; preds = %5, %24
  %17 = phi i32 [ 128, %5 ], [ %25, %24 ]
  %18 = icmp samesign ult i32 %8, %17
  br i1 %18, label %19, label %24

19:                                               ; preds = %16
  %20 = getelementptr inbounds nuw float, ptr addrspace(3) %13, i32 %17
  %21 = load float, ptr addrspace(3) %20, align 4, !tbaa !13
  %22 = load float, ptr addrspace(3) %13, align 4, !tbaa !13
  %23 = fadd contract float %21, %22
  store float %23, ptr addrspace(3) %13, align 4, !tbaa !13
  br label %24

24:                                               ; preds = %19, %16
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %25 = lshr i32 %17, 1
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %14, label %16, !llvm.loop !46

27:                                               ; preds = %14
  %28 = load float, ptr addrspace(3) @sum_in_two_steps.shared, align 4, !tbaa !13
  %29 = zext i32 %6 to i64
  %30 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %29
  store float %28, ptr addrspace(1) %30, align 4, !tbaa !13
  fence syncscope("agent") release
  %31 = atomicrmw add ptr addrspace(1) %2, i32 1 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  store i32 %31, ptr addrspace(3) @sum_in_two_steps.mine, align 4, !tbaa !4
  fence syncscope("agent") acquire
  br label %32

32:                                               ; preds = %27, %14
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %33 = load i32, ptr addrspace(3) @sum_in_two_steps.mine, align 4, !tbaa !4
  %34 = add i32 %4, -1
  %35 = icmp ne i32 %33, %34
  %36 = or i1 %15, %35
  br i1 %36, label %50, label %37

37:                                               ; preds = %32
  %38 = icmp eq i32 %4, 0
  br i1 %38, label %39, label %41

39:                                               ; preds = %41, %37
  %40 = phi float [ 0.000000e+00, %37 ], [ %47, %41 ]
  store float %40, ptr addrspace(1) %3, align 4, !tbaa !13
  br label %50

41:                                               ; preds = %37, %41
  %42 = phi i32 [ %48, %41 ], [ 0, %37 ]
  %43 = phi float [ %47, %41 ], [ 0.000000e+00, %37 ]
  %44 = zext i32 %42 to i64
  %45 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %44
  %46 = load float, ptr addrspace(1) %45, align 4, !tbaa !13
  %47 = fadd contract float %43, %46
  %48 = add nuw i32 %42, 1
  %49 = icmp eq i32 %48, %4
  br i1 %49, label %39, label %41, !llvm.loop !47

50:                                               ; preds = %32, %39
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nounwind
define protected void @__clang_ocl_kern_imp_sum_in_two_steps(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef align 4 captures(none) %1, ptr addrspace(1) noundef align 4 captures(none) %2, ptr addrspace(1) noundef writeonly align 4 captures(none) %3, i32 noundef %4) local_unnamed_addr #3 !kernel_arg_addr_space !42 !kernel_arg_access_qual !43 !kernel_arg_type !44 !kernel_arg_base_type !44 !kernel_arg_type_qual !45 !reqd_work_group_size !12 {
  %6 = tail call noundef i32 @llvm.amdgcn.workgroup.id.x()
  %7 = shl i32 %6, 8
  %8 = tail call noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x()
  %9 = add i32 %7, %8
  %10 = zext i32 %9 to i64
  %11 = getelementptr inbounds nuw float, ptr addrspace(1) %0, i64 %10
  %12 = load float, ptr addrspace(1) %11, align 4, !tbaa !13
  %13 = getelementptr inbounds nuw float, ptr addrspace(3) @sum_in_two_steps.shared, i32 %8
  store float %12, ptr addrspace(3) %13, align 4, !tbaa !13
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %16

14:                                               ; preds = %24
  %15 = icmp ne i32 %8, 0
  br i1 %15, label %32, label %27

16:                                               ; preds = %5, %24
  %17 = phi i32 [ 128, %5 ], [ %25, %24 ]
  %18 = icmp samesign ult i32 %8, %17
  br i1 %18, label %19, label %24

19:                                               ; preds = %16
  %20 = getelementptr inbounds nuw float, ptr addrspace(3) %13, i32 %17
  %21 = load float, ptr addrspace(3) %20, align 4, !tbaa !13
  %22 = load float, ptr addrspace(3) %13, align 4, !tbaa !13
  %23 = fadd contract float %21, %22
  store float %23, ptr addrspace(3) %13, align 4, !tbaa !13
  br label %24

24:                                               ; preds = %19, %16
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %25 = lshr i32 %17, 1
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %14, label %16, !llvm.loop !46

27:                                               ; preds = %14
  %28 = load float, ptr addrspace(3) @sum_in_two_steps.shared, align 4, !tbaa !13
  %29 = zext i32 %6 to i64
  %30 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %29
  store float %28, ptr addrspace(1) %30, align 4, !tbaa !13
  fence syncscope("agent") release
  %31 = atomicrmw add ptr addrspace(1) %2, i32 1 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !15, !amdgpu.no.remote.memory !15
  store i32 %31, ptr addrspace(3) @sum_in_two_steps.mine, align 4, !tbaa !4
  fence syncscope("agent") acquire
  br label %32

32:                                               ; preds = %27, %14
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %33 = load i32, ptr addrspace(3) @sum_in_two_steps.mine, align 4, !tbaa !4
  %34 = add i32 %4, -1
  %35 = icmp ne i32 %33, %34
  %36 = or i1 %15, %35
  br i1 %36, label %50, label %37

37:                                               ; preds = %32
  %38 = icmp eq i32 %4, 0
  br i1 %38, label %39, label %41

39:                                               ; preds = %41, %37
  %40 = phi float [ 0.000000e+00, %37 ], [ %47, %41 ]
  store float %40, ptr addrspace(1) %3, align 4, !tbaa !13
  br label %50

41:                                               ; preds = %37, %41
  %42 = phi i32 [ %48, %41 ], [ 0, %37 ]
  %43 = phi float [ %47, %41 ], [ 0.000000e+00, %37 ]
  %44 = zext i32 %42 to i64
  %45 = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %44
  %46 = load float, ptr addrspace(1) %45, align 4, !tbaa !13
  %47 = fadd contract float %43, %46
  %48 = add nuw i32 %42, 1
  %49 = icmp eq i32 %48, %4
  br i1 %49, label %39, label %41, !llvm.loop !47

50:                                               ; preds = %32, %39
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #10

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.y() #10

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #10

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #11

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #12

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.amdgcn.exp2.f32(float) #12

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.amdgcn.rcp.f32(float) #12

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32) #13

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32) #13

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32) #14

attributes #0 = { convergent nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { alwaysinline convergent nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #2 = { convergent nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #3 = { alwaysinline convergent nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #4 = { convergent mustprogress nofree norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #5 = { alwaysinline convergent mustprogress nofree norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #6 = { convergent mustprogress nofree norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #7 = { alwaysinline convergent mustprogress nofree norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #8 = { convergent nofree norecurse nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #9 = { alwaysinline convergent nofree norecurse nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #10 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #11 = { convergent mustprogress nocallback nofree nounwind willreturn }
attributes #12 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #13 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }
attributes #14 = { convergent mustprogress nocallback nofree nounwind willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2}
!opencl.ocl.version = !{!3}
!llvm.errno.tbaa = !{!4}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{i32 2, i32 0}
!4 = !{!5, !5, i64 0}
!5 = !{!"int", !6, i64 0}
!6 = !{!"omnipotent char", !7, i64 0}
!7 = !{!"Simple C/C++ TBAA"}
!8 = !{i32 1, i32 1, i32 1, i32 0}
!9 = !{!"none", !"none", !"none", !"none"}
!10 = !{!"float*", !"float*", !"float*", !"int"}
!11 = !{!"const", !"const", !"", !""}
!12 = !{i32 256, i32 1, i32 1}
!13 = !{!14, !14, i64 0}
!14 = !{!"float", !6, i64 0}
!15 = !{}
!16 = distinct !{!16, !17}
!17 = !{!"llvm.loop.unroll.disable"}
!18 = distinct !{!18, !17}
!19 = !{i32 1, i32 1, i32 0}
!20 = !{!"none", !"none", !"none"}
!21 = !{!"int*", !"int*", !"int"}
!22 = !{!"const", !"", !""}
!23 = distinct !{!23, !17}
!24 = distinct !{!24, !17}
!25 = !{!"uchar*", !"uint*", !"int"}
!26 = !{!6, !6, i64 0}
!27 = distinct !{!27, !17}
!28 = !{!"float*", !"float*", !"int"}
!29 = distinct !{!29, !17}
!30 = distinct !{!30, !17}
!31 = distinct !{!31, !17}
!32 = distinct !{!32, !17}
!33 = distinct !{!33, !17}
!34 = !{!"short*", !"short*", !"int"}
!35 = !{!36, !36, i64 0}
!36 = !{!"short", !6, i64 0}
!37 = !{i32 1, i32 1}
!38 = !{!"none", !"none"}
!39 = !{!"int*", !"int*"}
!40 = !{!"const", !""}
!41 = distinct !{!41, !17}
!42 = !{i32 1, i32 1, i32 1, i32 1, i32 0}
!43 = !{!"none", !"none", !"none", !"none", !"none"}
!44 = !{!"float*", !"float*", !"uint*", !"float*", !"uint"}
!45 = !{!"const", !"", !"", !"", !""}
!46 = distinct !{!46, !17}
!47 = distinct !{!47, !17}
