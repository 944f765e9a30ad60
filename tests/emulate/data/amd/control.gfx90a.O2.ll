; ModuleID = 'control.cl'
source_filename = "control.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@either_memory.tile = internal unnamed_addr addrspace(3) global [64 x i32] undef, align 4

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @collatz(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
  %3 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %4 = shl i32 %3, 6
  %5 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %6 = add i32 %4, %5
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %7
  %9 = load i32, ptr addrspace(1) %8, align 4, !tbaa !4, !amdgpu.noclobber !12
  %10 = icmp eq i32 %9, 1
  br i1 %10, label %27, label %11

11:                                               ; preds = %2, %21
  %12 = phi i32 [ %22, %21 ], [ %9, %2 ]
  %13 = phi i32 [ %23, %21 ], [ 0, %2 ]
  %14 = and i32 %12, 1
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %19, label %16

16:                                               ; preds = %11
  %17 = mul i32 %12, 3
  %18 = add i32 %17, 1
  br label %21

19:                                               ; preds = %11
  %20 = lshr exact i32 %12, 1
  br label %21

21:                                               ; preds = %19, %16
  %22 = phi i32 [ %18, %16 ], [ %20, %19 ]
  %23 = add nuw nsw i32 %13, 1
  %24 = icmp ne i32 %23, 500
  %25 = icmp ne i32 %22, 1
  %26 = select i1 %24, i1 %25, i1 false
  br i1 %26, label %11, label %27, !llvm.loop !13

27:                                               ; preds = %21, %2
  %28 = phi i32 [ 0, %2 ], [ %23, %21 ]
  %29 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %7
  store i32 %28, ptr addrspace(1) %29, align 4, !tbaa !4
  ret void
}

; Function Attrs: alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected void @__clang_ocl_kern_imp_collatz(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #1 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
  %3 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %4 = shl i32 %3, 6
  %5 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %6 = add i32 %4, %5
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %7
  %9 = load i32, ptr addrspace(1) %8, align 4, !tbaa !4
  %10 = icmp eq i32 %9, 1
  br i1 %10, label %27, label %11

11:                                               ; preds = %2, %21
  %12 = phi i32 [ %22, %21 ], [ %9, %2 ]
  %13 = phi i32 [ %23, %21 ], [ 0, %2 ]
  %14 = and i32 %12, 1
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %19, label %16

16:                                               ; preds = %11
  %17 = mul i32 %12, 3
  %18 = add i32 %17, 1
  br label %21

19:                                               ; preds = %11
  %20 = lshr exact i32 %12, 1
  br label %21

21:                                               ; preds = %19, %16
  %22 = phi i32 [ %18, %16 ], [ %20, %19 ]
  %23 = add nuw nsw i32 %13, 1
  %24 = icmp ne i32 %23, 500
  %25 = icmp ne i32 %22, 1
  %26 = select i1 %24, i1 %25, i1 false
  br i1 %26, label %11, label %27, !llvm.loop !13

27:                                               ; preds = %21, %2
  %28 = phi i32 [ 0, %2 ], [ %23, %21 ]
  %29 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %7
  store i32 %28, ptr addrspace(1) %29, align 4, !tbaa !4
  ret void
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @interpreter(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #0 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !15 !kernel_arg_base_type !15 !kernel_arg_type_qual !11 {
  %3 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %4 = shl i32 %3, 6
  %5 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %6 = add i32 %4, %5
  %7 = insertelement <9 x i32> <i32 poison, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>, i32 %6, i64 0
  %8 = zext i32 %6 to i64
  %9 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %8
  %10 = load i32, ptr addrspace(1) %9, align 4, !tbaa !4, !amdgpu.noclobber !12
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %59, label %12

12:                                               ; preds = %2, %54
  %13 = phi i32 [ %57, %54 ], [ %10, %2 ]
  %14 = phi i32 [ %56, %54 ], [ 0, %2 ]
  %15 = phi <9 x i32> [ %55, %54 ], [ %7, %2 ]
  %16 = and i32 %13, 15
  switch i32 %16, label %50 [
    i32 1, label %17
    i32 2, label %20
    i32 3, label %24
    i32 4, label %32
    i32 5, label %40
    i32 6, label %44
    i32 7, label %59
  ]

17:                                               ; preds = %12
  %18 = add nsw i32 %14, 1
  %19 = insertelement <9 x i32> %15, i32 1, i32 %18
  br label %54

20:                                               ; preds = %12
  %21 = extractelement <9 x i32> %15, i32 %14
  %22 = add nsw i32 %14, 1
  %23 = insertelement <9 x i32> %15, i32 %21, i32 %22
  br label %54

24:                                               ; preds = %12
  %25 = icmp eq i32 %14, 0
  br i1 %25, label %54, label %26

26:                                               ; preds = %24
  %27 = extractelement <9 x i32> %15, i32 %14
  %28 = add i32 %14, -1
  %29 = extractelement <9 x i32> %15, i32 %28
  %30 = add nsw i32 %29, %27
  %31 = insertelement <9 x i32> %15, i32 %30, i32 %28
  br label %54

32:                                               ; preds = %12
  %33 = icmp eq i32 %14, 0
  br i1 %33, label %54, label %34

34:                                               ; preds = %32
  %35 = extractelement <9 x i32> %15, i32 %14
  %36 = add i32 %14, -1
  %37 = extractelement <9 x i32> %15, i32 %36
  %38 = mul nsw i32 %37, %35
  %39 = insertelement <9 x i32> %15, i32 %38, i32 %36
  br label %54

40:                                               ; preds = %12
  %41 = extractelement <9 x i32> %15, i32 %14
  %42 = sub nsw i32 0, %41
  %43 = insertelement <9 x i32> %15, i32 %42, i32 %14
  br label %54

44:                                               ; preds = %12
  %45 = extractelement <9 x i32> %15, i32 %14
  %46 = icmp slt i32 %45, 0
  br i1 %46, label %54, label %47

47:                                               ; preds = %44
  %48 = add nsw i32 %45, -3
  %49 = insertelement <9 x i32> %15, i32 %48, i32 %14
  br label %54

50:                                               ; preds = %12
  %51 = extractelement <9 x i32> %15, i32 %14
  %52 = xor i32 %16, %51
  %53 = insertelement <9 x i32> %15, i32 %52, i32 %14
  br label %54

54:                                               ; preds = %50, %47, %44, %40, %34, %32, %26, %24, %20, %17
  %55 = phi <9 x i32> [ %53, %50 ], [ %19, %17 ], [ %23, %20 ], [ %31, %26 ], [ %15, %24 ], [ %39, %34 ], [ %15, %32 ], [ %43, %40 ], [ %15, %44 ], [ %49, %47 ]
  %56 = phi i32 [ %14, %50 ], [ %18, %17 ], [ %22, %20 ], [ %28, %26 ], [ 0, %24 ], [ %36, %34 ], [ 0, %32 ], [ %14, %40 ], [ %14, %44 ], [ %14, %47 ]
  %57 = lshr i32 %13, 4
  %58 = icmp eq i32 %57, 0
  br i1 %58, label %59, label %12, !llvm.loop !16

59:                                               ; preds = %12, %54, %2
  %60 = phi <9 x i32> [ %7, %2 ], [ %15, %12 ], [ %55, %54 ]
  %61 = phi i32 [ 0, %2 ], [ %14, %12 ], [ %56, %54 ]
  %62 = extractelement <9 x i32> %60, i32 %61
  %63 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %8
  store i32 %62, ptr addrspace(1) %63, align 4, !tbaa !4
  ret void
}

; Function Attrs: alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected void @__clang_ocl_kern_imp_interpreter(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #1 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !15 !kernel_arg_base_type !15 !kernel_arg_type_qual !11 {
  %3 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %4 = shl i32 %3, 6
  %5 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %6 = add i32 %4, %5
  %7 = insertelement <9 x i32> <i32 poison, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>, i32 %6, i64 0
  %8 = zext i32 %6 to i64
  %9 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %8
  %10 = load i32, ptr addrspace(1) %9, align 4, !tbaa !4
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %59, label %12

12:                                               ; preds = %2, %54
  %13 = phi i32 [ %57, %54 ], [ %10, %2 ]
  %14 = phi i32 [ %56, %54 ], [ 0, %2 ]
  %15 = phi <9 x i32> [ %55, %54 ], [ %7, %2 ]
  %16 = and i32 %13, 15
  switch i32 %16, label %50 [
    i32 1, label %17
    i32 2, label %20
    i32 3, label %24
    i32 4, label %32
    i32 5, label %40
    i32 6, label %44
    i32 7, label %59
  ]

17:                                               ; preds = %12
  %18 = add nsw i32 %14, 1
  %19 = insertelement <9 x i32> %15, i32 1, i32 %18
  br label %54

20:                                               ; preds = %12
  %21 = extractelement <9 x i32> %15, i32 %14
  %22 = add nsw i32 %14, 1
  %23 = insertelement <9 x i32> %15, i32 %21, i32 %22
  br label %54

24:                                               ; preds = %12
  %25 = icmp eq i32 %14, 0
  br i1 %25, label %54, label %26

26:                                               ; preds = %24
  %27 = extractelement <9 x i32> %15, i32 %14
  %28 = add i32 %14, -1
  %29 = extractelement <9 x i32> %15, i32 %28
  %30 = add nsw i32 %29, %27
  %31 = insertelement <9 x i32> %15, i32 %30, i32 %28
  br label %54

32:                                               ; preds = %12
  %33 = icmp eq i32 %14, 0
  br i1 %33, label %54, label %34

34:                                               ; preds = %32
  %35 = extractelement <9 x i32> %15, i32 %14
  %36 = add i32 %14, -1
  %37 = extractelement <9 x i32> %15, i32 %36
  %38 = mul nsw i32 %37, %35
  %39 = insertelement <9 x i32> %15, i32 %38, i32 %36
  br label %54

40:                                               ; preds = %12
  %41 = extractelement <9 x i32> %15, i32 %14
  %42 = sub nsw i32 0, %41
  %43 = insertelement <9 x i32> %15, i32 %42, i32 %14
  br label %54

44:                                               ; preds = %12
  %45 = extractelement <9 x i32> %15, i32 %14
  %46 = icmp slt i32 %45, 0
  br i1 %46, label %54, label %47

47:                                               ; preds = %44
  %48 = add nsw i32 %45, -3
  %49 = insertelement <9 x i32> %15, i32 %48, i32 %14
  br label %54

50:                                               ; preds = %12
  %51 = extractelement <9 x i32> %15, i32 %14
  %52 = xor i32 %16, %51
  %53 = insertelement <9 x i32> %15, i32 %52, i32 %14
  br label %54

54:                                               ; preds = %17, %20, %40, %47, %50, %26, %24, %34, %32, %44
  %55 = phi <9 x i32> [ %53, %50 ], [ %19, %17 ], [ %23, %20 ], [ %31, %26 ], [ %15, %24 ], [ %39, %34 ], [ %15, %32 ], [ %43, %40 ], [ %15, %44 ], [ %49, %47 ]
  %56 = phi i32 [ %14, %50 ], [ %18, %17 ], [ %22, %20 ], [ %28, %26 ], [ 0, %24 ], [ %36, %34 ], [ 0, %32 ], [ %14, %40 ], [ %14, %44 ], [ %14, %47 ]
  %57 = lshr i32 %13, 4
  %58 = icmp eq i32 %57, 0
  br i1 %58, label %59, label %12, !llvm.loop !16

59:                                               ; preds = %54, %12, %2
  %60 = phi <9 x i32> [ %7, %2 ], [ %55, %54 ], [ %15, %12 ]
  %61 = phi i32 [ 0, %2 ], [ %56, %54 ], [ %14, %12 ]
  %62 = extractelement <9 x i32> %60, i32 %61
  %63 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %8
  store i32 %62, ptr addrspace(1) %63, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn
define protected amdgpu_kernel void @either_memory(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #2 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !17 !kernel_arg_base_type !17 !kernel_arg_type_qual !18 {
  %3 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %4 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 6
  %6 = add i32 %5, %3
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %7
  %9 = load i32, ptr addrspace(1) %8, align 4, !tbaa !4, !amdgpu.noclobber !12
  %10 = shl nsw i32 %9, 1
  %11 = getelementptr inbounds nuw i32, ptr addrspace(3) @either_memory.tile, i32 %3
  store i32 %10, ptr addrspace(3) %11, align 4, !tbaa !4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %12 = and i32 %3, 1
  %13 = icmp eq i32 %12, 0
  %14 = and i32 %3, 1022
  %15 = getelementptr inbounds nuw i32, ptr addrspace(3) @either_memory.tile, i32 %14
  %16 = addrspacecast ptr addrspace(3) %15 to ptr
  %17 = addrspacecast ptr addrspace(1) %8 to ptr
  %18 = select i1 %13, ptr %17, ptr %16
  %19 = load i32, ptr %18, align 4, !tbaa !4, !noalias.addrspace !19
  %20 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %7
  store i32 %19, ptr addrspace(1) %20, align 4, !tbaa !4
  ret void
}

; Function Attrs: alwaysinline convergent mustprogress nofree norecurse nounwind willreturn
define protected void @__clang_ocl_kern_imp_either_memory(ptr addrspace(1) noundef readonly align 4 captures(none) %0, ptr addrspace(1) noundef writeonly align 4 captures(none) %1) local_unnamed_addr #3 !kernel_arg_addr_space !8 !kernel_arg_access_qual !9 !kernel_arg_type !17 !kernel_arg_base_type !17 !kernel_arg_type_qual !18 {
  %3 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %4 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %5 = shl i32 %4, 6
  %6 = add i32 %5, %3
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspace(1) %0, i64 %7
  %9 = load i32, ptr addrspace(1) %8, align 4, !tbaa !4
  %10 = shl nsw i32 %9, 1
  %11 = getelementptr inbounds nuw i32, ptr addrspace(3) @either_memory.tile, i32 %3
  store i32 %10, ptr addrspace(3) %11, align 4, !tbaa !4
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %12 = and i32 %3, 1
  %13 = icmp eq i32 %12, 0
  %14 = and i32 %3, 1022
  %15 = getelementptr inbounds nuw i32, ptr addrspace(3) @either_memory.tile, i32 %14
  %16 = addrspacecast ptr addrspace(3) %15 to ptr
  %17 = addrspacecast ptr addrspace(1) %8 to ptr
  %18 = select i1 %13, ptr %17, ptr %16
  %19 = load i32, ptr %18, align 4, !tbaa !4, !noalias.addrspace !19
  %20 = getelementptr inbounds nuw i32, ptr addrspace(1) %1, i64 %7
  store i32 %19, ptr addrspace(1) %20, align 4, !tbaa !4
  ret void
}

; Function Attrs: convergent nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected amdgpu_kernel void @matrix_product(ptr addrspace(1) noundef readonly align 8 captures(none) %0, ptr addrspace(1) noundef readonly align 8 captures(none) %1, ptr addrspace(1) noundef writeonly align 4 captures(none) %2) local_unnamed_addr #4 !kernel_arg_addr_space !20 !kernel_arg_access_qual !21 !kernel_arg_type !22 !kernel_arg_base_type !23 !kernel_arg_type_qual !24 {
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %5 = and i32 %4, 15
  %6 = lshr i32 %4, 4
  %7 = shl nuw nsw i32 %5, 2
  %8 = add nuw nsw i32 %7, %6
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw <4 x half>, ptr addrspace(1) %0, i64 %9
  %11 = load <4 x half>, ptr addrspace(1) %10, align 8, !tbaa !25, !amdgpu.noclobber !12
  %12 = getelementptr inbounds nuw <4 x half>, ptr addrspace(1) %1, i64 %9
  %13 = load <4 x half>, ptr addrspace(1) %12, align 8, !tbaa !25, !amdgpu.noclobber !12
  %14 = tail call contract <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %11, <4 x half> %13, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %15 = shl nuw nsw i32 %6, 6
  %16 = or disjoint i32 %15, %5
  br label %17

17:                                               ; preds = %3, %17
  %18 = phi i32 [ 0, %3 ], [ %24, %17 ]
  %19 = extractelement <4 x float> %14, i32 %18
  %20 = shl nuw nsw i32 %18, 4
  %21 = add nuw nsw i32 %20, %16
  %22 = zext nneg i32 %21 to i64
  %23 = getelementptr inbounds nuw float, ptr addrspace(1) %2, i64 %22
  store float %19, ptr addrspace(1) %23, align 4, !tbaa !26
  %24 = add nuw nsw i32 %18, 1
  %25 = icmp eq i32 %24, 4
  br i1 %25, label %26, label %17, !llvm.loop !28

26:                                               ; preds = %17
  ret void
}

; Function Attrs: alwaysinline convergent nofree norecurse nosync nounwind memory(argmem: readwrite)
define protected void @__clang_ocl_kern_imp_matrix_product(ptr addrspace(1) noundef readonly align 8 captures(none) %0, ptr addrspace(1) noundef readonly align 8 captures(none) %1, ptr addrspace(1) noundef writeonly align 4 captures(none) %2) local_unnamed_addr #5 !kernel_arg_addr_space !20 !kernel_arg_access_qual !21 !kernel_arg_type !22 !kernel_arg_base_type !23 !kernel_arg_type_qual !24 {
  %4 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %5 = and i32 %4, 15
  %6 = lshr i32 %4, 4
  %7 = shl nuw nsw i32 %5, 2
  %8 = add nuw nsw i32 %7, %6
  %9 = zext nneg i32 %8 to i64
  %10 = getelementptr inbounds nuw <4 x half>, ptr addrspace(1) %0, i64 %9
  %11 = load <4 x half>, ptr addrspace(1) %10, align 8, !tbaa !25
  %12 = getelementptr inbounds nuw <4 x half>, ptr addrspace(1) %1, i64 %9
  %13 = load <4 x half>, ptr addrspace(1) %12, align 8, !tbaa !25
  %14 = tail call contract <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %11, <4 x half> %13, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %15 = shl nuw nsw i32 %6, 6
  %16 = or disjoint i32 %15, %5
  br label %18

17:                                               ; preds = %18
  ret void

18:                                               ; preds = %3, %18
  %19 = phi i32 [ 0, %3 ], [ %25, %18 ]
  %20 = extractelement <4 x float> %14, i32 %19
  %21 = shl nuw nsw i32 %19, 4
  %22 = add nuw nsw i32 %21, %16
  %23 = zext nneg i32 %22 to i64
  %24 = getelementptr inbounds nuw float, ptr addrspace(1) %2, i64 %23
  store float %20, ptr addrspace(1) %24, align 4, !tbaa !26
  %25 = add nuw nsw i32 %19, 1
  %26 = icmp eq i32 %25, 4
  br i1 %26, label %17, label %18, !llvm.loop !28
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #6

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #6

; Function Attrs: convergent mustprogress nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #7

; Function Attrs: convergent mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32 immarg, i32 immarg, i32 immarg) #8

attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { alwaysinline nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #2 = { convergent mustprogress nofree norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #3 = { alwaysinline convergent mustprogress nofree norecurse nounwind willreturn "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #4 = { convergent nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #5 = { alwaysinline convergent nofree norecurse nosync nounwind memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #6 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { convergent mustprogress nocallback nofree nounwind willreturn }
attributes #8 = { convergent mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }

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
!8 = !{i32 1, i32 1}
!9 = !{!"none", !"none"}
!10 = !{!"uint*", !"uint*"}
!11 = !{!"const", !""}
!12 = !{}
!13 = distinct !{!13, !14}
!14 = !{!"llvm.loop.unroll.disable"}
!15 = !{!"uint*", !"int*"}
!16 = distinct !{!16, !14}
!17 = !{!"int*", !"int*"}
!18 = !{!"", !""}
!19 = !{i32 2, i32 3, i32 4, i32 10}
!20 = !{i32 1, i32 1, i32 1}
!21 = !{!"none", !"none", !"none"}
!22 = !{!"half4*", !"half4*", !"float*"}
!23 = !{!"half __attribute__((ext_vector_type(4)))*", !"half __attribute__((ext_vector_type(4)))*", !"float*"}
!24 = !{!"const", !"const", !""}
!25 = !{!6, !6, i64 0}
!26 = !{!27, !27, i64 0}
!27 = !{!"float", !6, i64 0}
!28 = distinct !{!28, !14}
