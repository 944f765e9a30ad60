; ModuleID = 'control.cl'
source_filename = "control.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@either_memory.tile = internal addrspace(3) global [64 x i32] undef, align 4
@.str = private unnamed_addr addrspace(4) constant [10 x i8] c"workgroup\00", align 1

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @collatz(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #0 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !7 !kernel_arg_base_type !7 !kernel_arg_type_qual !8 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = addrspacecast ptr addrspace(5) %3 to ptr
  %6 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %5, align 8
  store ptr addrspace(1) %1, ptr %6, align 8
  %7 = load ptr addrspace(1), ptr %5, align 8
  %8 = load ptr addrspace(1), ptr %6, align 8
  call void @__clang_ocl_kern_imp_collatz(ptr addrspace(1) noundef align 4 %7, ptr addrspace(1) noundef align 4 %8) #5
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_collatz(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #1 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !7 !kernel_arg_base_type !7 !kernel_arg_type_qual !8 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca i32, align 4, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = addrspacecast ptr addrspace(5) %3 to ptr
  %9 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %8, align 8
  store ptr addrspace(1) %1, ptr %9, align 8
  %10 = call i32 @llvm.amdgcn.workgroup.id.x()
  %11 = mul i32 %10, 64
  %12 = call i32 @llvm.amdgcn.workitem.id.x()
  %13 = add i32 %11, %12
  store i32 %13, ptr addrspace(5) %5, align 4
  %14 = load ptr addrspace(1), ptr %8, align 8
  %15 = load i32, ptr addrspace(5) %5, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i32, ptr addrspace(1) %14, i64 %16
  %18 = load i32, ptr addrspace(1) %17, align 4
  store i32 %18, ptr addrspace(5) %6, align 4
  store i32 0, ptr addrspace(5) %7, align 4
  br label %19

19:                                               ; preds = %39, %2
  %20 = load i32, ptr addrspace(5) %6, align 4
  %21 = icmp ne i32 %20, 1
  br i1 %21, label %22, label %40

22:                                               ; preds = %19
  %23 = load i32, ptr addrspace(5) %6, align 4
  %24 = and i32 %23, 1
  %25 = icmp ne i32 %24, 0
  br i1 %25, label %26, label %30

26:                                               ; preds = %22
  %27 = load i32, ptr addrspace(5) %6, align 4
  %28 = mul i32 3, %27
  %29 = add i32 %28, 1
  br label %33

30:                                               ; preds = %22
  %31 = load i32, ptr addrspace(5) %6, align 4
  %32 = udiv i32 %31, 2
  br label %33

33:                                               ; preds = %30, %26
  %34 = phi i32 [ %29, %26 ], [ %32, %30 ]
  store i32 %34, ptr addrspace(5) %6, align 4
  %35 = load i32, ptr addrspace(5) %7, align 4
  %36 = add i32 %35, 1
  store i32 %36, ptr addrspace(5) %7, align 4
  %37 = icmp eq i32 %36, 500
  br i1 %37, label %38, label %39

38:                                               ; preds = %33
  br label %40

39:                                               ; preds = %33
  br label %19

40:                                               ; preds = %38, %19
  %41 = load i32, ptr addrspace(5) %7, align 4
  %42 = load ptr addrspace(1), ptr %9, align 8
  %43 = load i32, ptr addrspace(5) %5, align 4
  %44 = zext i32 %43 to i64
  %45 = getelementptr inbounds nuw i32, ptr addrspace(1) %42, i64 %44
  store i32 %41, ptr addrspace(1) %45, align 4
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @interpreter(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #0 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !9 !kernel_arg_base_type !9 !kernel_arg_type_qual !8 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = addrspacecast ptr addrspace(5) %3 to ptr
  %6 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %5, align 8
  store ptr addrspace(1) %1, ptr %6, align 8
  %7 = load ptr addrspace(1), ptr %5, align 8
  %8 = load ptr addrspace(1), ptr %6, align 8
  call void @__clang_ocl_kern_imp_interpreter(ptr addrspace(1) noundef align 4 %7, ptr addrspace(1) noundef align 4 %8) #5
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_interpreter(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #1 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !9 !kernel_arg_base_type !9 !kernel_arg_type_qual !8 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca i32, align 4, addrspace(5)
  %6 = alloca [9 x i32], align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = addrspacecast ptr addrspace(5) %3 to ptr
  %10 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %9, align 8
  store ptr addrspace(1) %1, ptr %10, align 8
  %11 = call i32 @llvm.amdgcn.workgroup.id.x()
  %12 = mul i32 %11, 64
  %13 = call i32 @llvm.amdgcn.workitem.id.x()
  %14 = add i32 %12, %13
  store i32 %14, ptr addrspace(5) %5, align 4
  store i32 0, ptr addrspace(5) %7, align 4
  %15 = load i32, ptr addrspace(5) %5, align 4
  %16 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 0
  store i32 %15, ptr addrspace(5) %16, align 4
  %17 = load ptr addrspace(1), ptr %9, align 8
  %18 = load i32, ptr addrspace(5) %5, align 4
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i32, ptr addrspace(1) %17, i64 %19
  %21 = load i32, ptr addrspace(1) %20, align 4
  store i32 %21, ptr addrspace(5) %8, align 4
  br label %22

22:                                               ; preds = %110, %2
  %23 = load i32, ptr addrspace(5) %8, align 4
  %24 = icmp ne i32 %23, 0
  br i1 %24, label %25, label %113

25:                                               ; preds = %22
  %26 = load i32, ptr addrspace(5) %8, align 4
  %27 = and i32 %26, 15
  switch i32 %27, label %101 [
    i32 1, label %28
    i32 2, label %33
    i32 3, label %44
    i32 4, label %61
    i32 5, label %78
    i32 6, label %87
    i32 7, label %100
  ]

28:                                               ; preds = %25
  %29 = load i32, ptr addrspace(5) %7, align 4
  %30 = add nsw i32 %29, 1
  store i32 %30, ptr addrspace(5) %7, align 4
  %31 = sext i32 %30 to i64
  %32 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %31
  store i32 1, ptr addrspace(5) %32, align 4
  br label %109

33:                                               ; preds = %25
  %34 = load i32, ptr addrspace(5) %7, align 4
  %35 = sext i32 %34 to i64
  %36 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %35
  %37 = load i32, ptr addrspace(5) %36, align 4
  %38 = load i32, ptr addrspace(5) %7, align 4
  %39 = add nsw i32 %38, 1
  %40 = sext i32 %39 to i64
  %41 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %40
  store i32 %37, ptr addrspace(5) %41, align 4
  %42 = load i32, ptr addrspace(5) %7, align 4
  %43 = add nsw i32 %42, 1
  store i32 %43, ptr addrspace(5) %7, align 4
  br label %109

44:                                               ; preds = %25
  %45 = load i32, ptr addrspace(5) %7, align 4
  %46 = icmp ne i32 %45, 0
  br i1 %46, label %47, label %60

47:                                               ; preds = %44
  %48 = load i32, ptr addrspace(5) %7, align 4
  %49 = sext i32 %48 to i64
  %50 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %49
  %51 = load i32, ptr addrspace(5) %50, align 4
  %52 = load i32, ptr addrspace(5) %7, align 4
  %53 = sub nsw i32 %52, 1
  %54 = sext i32 %53 to i64
  %55 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %54
  %56 = load i32, ptr addrspace(5) %55, align 4
  %57 = add nsw i32 %56, %51
  store i32 %57, ptr addrspace(5) %55, align 4
  %58 = load i32, ptr addrspace(5) %7, align 4
  %59 = add nsw i32 %58, -1
  store i32 %59, ptr addrspace(5) %7, align 4
  br label %60

60:                                               ; preds = %47, %44
  br label %109

61:                                               ; preds = %25
  %62 = load i32, ptr addrspace(5) %7, align 4
  %63 = icmp ne i32 %62, 0
  br i1 %63, label %64, label %77

64:                                               ; preds = %61
  %65 = load i32, ptr addrspace(5) %7, align 4
  %66 = sext i32 %65 to i64
  %67 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %66
  %68 = load i32, ptr addrspace(5) %67, align 4
  %69 = load i32, ptr addrspace(5) %7, align 4
  %70 = sub nsw i32 %69, 1
  %71 = sext i32 %70 to i64
  %72 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %71
  %73 = load i32, ptr addrspace(5) %72, align 4
  %74 = mul nsw i32 %73, %68
  store i32 %74, ptr addrspace(5) %72, align 4
  %75 = load i32, ptr addrspace(5) %7, align 4
  %76 = add nsw i32 %75, -1
  store i32 %76, ptr addrspace(5) %7, align 4
  br label %77

77:                                               ; preds = %64, %61
  br label %109

78:                                               ; preds = %25
  %79 = load i32, ptr addrspace(5) %7, align 4
  %80 = sext i32 %79 to i64
  %81 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %80
  %82 = load i32, ptr addrspace(5) %81, align 4
  %83 = sub nsw i32 0, %82
  %84 = load i32, ptr addrspace(5) %7, align 4
  %85 = sext i32 %84 to i64
  %86 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %85
  store i32 %83, ptr addrspace(5) %86, align 4
  br label %109

87:                                               ; preds = %25
  %88 = load i32, ptr addrspace(5) %7, align 4
  %89 = sext i32 %88 to i64
  %90 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %89
  %91 = load i32, ptr addrspace(5) %90, align 4
  %92 = icmp slt i32 %91, 0
  br i1 %92, label %93, label %94

93:                                               ; preds = %87
  br label %110

94:                                               ; preds = %87
  %95 = load i32, ptr addrspace(5) %7, align 4
  %96 = sext i32 %95 to i64
  %97 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %96
  %98 = load i32, ptr addrspace(5) %97, align 4
  %99 = sub nsw i32 %98, 3
  store i32 %99, ptr addrspace(5) %97, align 4
  br label %109

100:                                              ; preds = %25
  br label %114

101:                                              ; preds = %25
  %102 = load i32, ptr addrspace(5) %8, align 4
  %103 = and i32 %102, 15
  %104 = load i32, ptr addrspace(5) %7, align 4
  %105 = sext i32 %104 to i64
  %106 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %105
  %107 = load i32, ptr addrspace(5) %106, align 4
  %108 = xor i32 %107, %103
  store i32 %108, ptr addrspace(5) %106, align 4
  br label %109

109:                                              ; preds = %101, %94, %78, %77, %60, %33, %28
  br label %110

110:                                              ; preds = %109, %93
  %111 = load i32, ptr addrspace(5) %8, align 4
  %112 = lshr i32 %111, 4
  store i32 %112, ptr addrspace(5) %8, align 4
  br label %22

113:                                              ; preds = %22
  br label %114

114:                                              ; preds = %113, %100
  %115 = load i32, ptr addrspace(5) %7, align 4
  %116 = sext i32 %115 to i64
  %117 = getelementptr inbounds [9 x i32], ptr addrspace(5) %6, i64 0, i64 %116
  %118 = load i32, ptr addrspace(5) %117, align 4
  %119 = load ptr addrspace(1), ptr %10, align 8
  %120 = load i32, ptr addrspace(5) %5, align 4
  %121 = zext i32 %120 to i64
  %122 = getelementptr inbounds nuw i32, ptr addrspace(1) %119, i64 %121
  store i32 %118, ptr addrspace(1) %122, align 4
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @either_memory(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #0 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = addrspacecast ptr addrspace(5) %3 to ptr
  %6 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %5, align 8
  store ptr addrspace(1) %1, ptr %6, align 8
  %7 = load ptr addrspace(1), ptr %5, align 8
  %8 = load ptr addrspace(1), ptr %6, align 8
  call void @__clang_ocl_kern_imp_either_memory(ptr addrspace(1) noundef align 4 %7, ptr addrspace(1) noundef align 4 %8) #5
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_either_memory(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #1 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !10 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca i32, align 4, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca ptr, align 8, addrspace(5)
  %8 = addrspacecast ptr addrspace(5) %3 to ptr
  %9 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %8, align 8
  store ptr addrspace(1) %1, ptr %9, align 8
  %10 = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 %10, ptr addrspace(5) %5, align 4
  %11 = call i32 @llvm.amdgcn.workgroup.id.x()
  %12 = mul i32 %11, 64
  %13 = load i32, ptr addrspace(5) %5, align 4
  %14 = add i32 %12, %13
  store i32 %14, ptr addrspace(5) %6, align 4
  %15 = load ptr addrspace(1), ptr %8, align 8
  %16 = load i32, ptr addrspace(5) %6, align 4
  %17 = zext i32 %16 to i64
  %18 = getelementptr inbounds nuw i32, ptr addrspace(1) %15, i64 %17
  %19 = load i32, ptr addrspace(1) %18, align 4
  %20 = mul nsw i32 %19, 2
  %21 = load i32, ptr addrspace(5) %5, align 4
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw [64 x i32], ptr addrspace(3) @either_memory.tile, i64 0, i64 %22
  store i32 %20, ptr addrspace(3) %23, align 4
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %24 = load i32, ptr addrspace(5) %5, align 4
  %25 = and i32 %24, 1
  %26 = icmp ne i32 %25, 0
  br i1 %26, label %27, label %33

27:                                               ; preds = %2
  %28 = load i32, ptr addrspace(5) %5, align 4
  %29 = xor i32 %28, 1
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw [64 x i32], ptr addrspace(3) @either_memory.tile, i64 0, i64 %30
  %32 = addrspacecast ptr addrspace(3) %31 to ptr
  br label %39

33:                                               ; preds = %2
  %34 = load ptr addrspace(1), ptr %8, align 8
  %35 = load i32, ptr addrspace(5) %6, align 4
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i32, ptr addrspace(1) %34, i64 %36
  %38 = addrspacecast ptr addrspace(1) %37 to ptr
  br label %39

39:                                               ; preds = %33, %27
  %40 = phi ptr [ %32, %27 ], [ %38, %33 ]
  store ptr %40, ptr addrspace(5) %7, align 8
  %41 = load ptr, ptr addrspace(5) %7, align 8
  %42 = load i32, ptr %41, align 4
  %43 = load ptr addrspace(1), ptr %9, align 8
  %44 = load i32, ptr addrspace(5) %6, align 4
  %45 = zext i32 %44 to i64
  %46 = getelementptr inbounds nuw i32, ptr addrspace(1) %43, i64 %45
  store i32 %42, ptr addrspace(1) %46, align 4
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @matrix_product(ptr addrspace(1) noundef align 8 %0, ptr addrspace(1) noundef align 8 %1, ptr addrspace(1) noundef align 4 %2) #0 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca ptr addrspace(1), align 8, addrspace(5)
  %7 = addrspacecast ptr addrspace(5) %4 to ptr
  %8 = addrspacecast ptr addrspace(5) %5 to ptr
  %9 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %7, align 8
  store ptr addrspace(1) %1, ptr %8, align 8
  store ptr addrspace(1) %2, ptr %9, align 8
  %10 = load ptr addrspace(1), ptr %7, align 8
  %11 = load ptr addrspace(1), ptr %8, align 8
  %12 = load ptr addrspace(1), ptr %9, align 8
  call void @__clang_ocl_kern_imp_matrix_product(ptr addrspace(1) noundef align 8 %10, ptr addrspace(1) noundef align 8 %11, ptr addrspace(1) noundef align 4 %12) #5
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_matrix_product(ptr addrspace(1) noundef align 8 %0, ptr addrspace(1) noundef align 8 %1, ptr addrspace(1) noundef align 4 %2) #1 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca ptr addrspace(1), align 8, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = alloca i32, align 4, addrspace(5)
  %10 = alloca <4 x float>, align 16, addrspace(5)
  %11 = alloca i32, align 4, addrspace(5)
  %12 = addrspacecast ptr addrspace(5) %4 to ptr
  %13 = addrspacecast ptr addrspace(5) %5 to ptr
  %14 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %12, align 8
  store ptr addrspace(1) %1, ptr %13, align 8
  store ptr addrspace(1) %2, ptr %14, align 8
  %15 = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 %15, ptr addrspace(5) %7, align 4
  %16 = load i32, ptr addrspace(5) %7, align 4
  %17 = urem i32 %16, 16
  store i32 %17, ptr addrspace(5) %8, align 4
  %18 = load i32, ptr addrspace(5) %7, align 4
  %19 = udiv i32 %18, 16
  store i32 %19, ptr addrspace(5) %9, align 4
  store <4 x float> zeroinitializer, ptr addrspace(5) %10, align 16
  %20 = load ptr addrspace(1), ptr %12, align 8
  %21 = load i32, ptr addrspace(5) %8, align 4
  %22 = mul i32 %21, 4
  %23 = load i32, ptr addrspace(5) %9, align 4
  %24 = add i32 %22, %23
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw <4 x half>, ptr addrspace(1) %20, i64 %25
  %27 = load <4 x half>, ptr addrspace(1) %26, align 8
  %28 = load ptr addrspace(1), ptr %13, align 8
  %29 = load i32, ptr addrspace(5) %8, align 4
  %30 = mul i32 %29, 4
  %31 = load i32, ptr addrspace(5) %9, align 4
  %32 = add i32 %30, %31
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw <4 x half>, ptr addrspace(1) %28, i64 %33
  %35 = load <4 x half>, ptr addrspace(1) %34, align 8
  %36 = load <4 x float>, ptr addrspace(5) %10, align 16
  %37 = call contract <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %27, <4 x half> %35, <4 x float> %36, i32 0, i32 0, i32 0)
  store <4 x float> %37, ptr addrspace(5) %10, align 16
  store i32 0, ptr addrspace(5) %11, align 4
  br label %38

38:                                               ; preds = %55, %3
  %39 = load i32, ptr addrspace(5) %11, align 4
  %40 = icmp ult i32 %39, 4
  br i1 %40, label %41, label %58

41:                                               ; preds = %38
  %42 = load <4 x float>, ptr addrspace(5) %10, align 16
  %43 = load i32, ptr addrspace(5) %11, align 4
  %44 = extractelement <4 x float> %42, i32 %43
  %45 = load ptr addrspace(1), ptr %14, align 8
  %46 = load i32, ptr addrspace(5) %9, align 4
  %47 = mul i32 %46, 4
  %48 = load i32, ptr addrspace(5) %11, align 4
  %49 = add i32 %47, %48
  %50 = mul i32 %49, 16
  %51 = load i32, ptr addrspace(5) %8, align 4
  %52 = add i32 %50, %51
  %53 = zext i32 %52 to i64
  %54 = getelementptr inbounds nuw float, ptr addrspace(1) %45, i64 %53
  store float %44, ptr addrspace(1) %54, align 4
  br label %55

55:                                               ; preds = %41
  %56 = load i32, ptr addrspace(5) %11, align 4
  %57 = add i32 %56, 1
  store i32 %57, ptr addrspace(5) %11, align 4
  br label %38

58:                                               ; preds = %38
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #2

; Function Attrs: convergent nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #3

; Function Attrs: convergent nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32 immarg, i32 immarg, i32 immarg) #4

attributes #0 = { convergent noinline norecurse nounwind optnone "amdgpu-flat-work-group-size"="1,256" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { convergent noinline norecurse nounwind optnone "amdgpu-flat-work-group-size"="1,256" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nofree nounwind willreturn }
attributes #4 = { convergent nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }
attributes #5 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2, !3}
!opencl.ocl.version = !{!4}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{i32 7, !"frame-pointer", i32 2}
!4 = !{i32 2, i32 0}
!5 = !{i32 1, i32 1}
!6 = !{!"none", !"none"}
!7 = !{!"uint*", !"uint*"}
!8 = !{!"const", !""}
!9 = !{!"uint*", !"int*"}
!10 = !{!"int*", !"int*"}
!11 = !{!"", !""}
!12 = !{i32 1, i32 1, i32 1}
!13 = !{!"none", !"none", !"none"}
!14 = !{!"half4*", !"half4*", !"float*"}
!15 = !{!"half __attribute__((ext_vector_type(4)))*", !"half __attribute__((ext_vector_type(4)))*", !"float*"}
!16 = !{!"const", !"const", !""}
