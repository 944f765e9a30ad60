; ModuleID = 'kernels.cl'
source_filename = "kernels.cl"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

@matmul_tiled.a_tile = internal addrspace(3) global [16 x [16 x float]] undef, align 4
@matmul_tiled.b_tile = internal addrspace(3) global [16 x [17 x float]] undef, align 4
@.str = private unnamed_addr addrspace(4) constant [10 x i8] c"workgroup\00", align 1
@reduce_sum.partial = internal addrspace(3) global [256 x i32] undef, align 4
@histogram.mine = internal addrspace(3) global [256 x i32] undef, align 4
@softmax_rows.shared = internal addrspace(3) global [256 x float] undef, align 4
@stencil.tile = internal addrspace(3) global [258 x float] undef, align 4
@transpose.tile = internal addrspace(3) global [16 x [17 x i16]] undef, align 2
@sum_in_two_steps.shared = internal addrspace(3) global [256 x float] undef, align 4
@sum_in_two_steps.mine = internal addrspace(3) global i32 undef, align 4
@.str.1 = private unnamed_addr addrspace(4) constant [6 x i8] c"agent\00", align 1

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @matmul_tiled(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, ptr addrspace(1) noundef align 4 %2, i32 noundef %3) #0 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !7 !kernel_arg_base_type !7 !kernel_arg_type_qual !8 !reqd_work_group_size !9 {
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca ptr addrspace(1), align 8, addrspace(5)
  %7 = alloca ptr addrspace(1), align 8, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = addrspacecast ptr addrspace(5) %5 to ptr
  %10 = addrspacecast ptr addrspace(5) %6 to ptr
  %11 = addrspacecast ptr addrspace(5) %7 to ptr
  %12 = addrspacecast ptr addrspace(5) %8 to ptr
  store ptr addrspace(1) %0, ptr %9, align 8
  store ptr addrspace(1) %1, ptr %10, align 8
  store ptr addrspace(1) %2, ptr %11, align 8
  store i32 %3, ptr %12, align 4
  %13 = load ptr addrspace(1), ptr %9, align 8
  %14 = load ptr addrspace(1), ptr %10, align 8
  %15 = load ptr addrspace(1), ptr %11, align 8
  %16 = load i32, ptr %12, align 4
  call void @__clang_ocl_kern_imp_matmul_tiled(ptr addrspace(1) noundef align 4 %13, ptr addrspace(1) noundef align 4 %14, ptr addrspace(1) noundef align 4 %15, i32 noundef %16) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_matmul_tiled(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, ptr addrspace(1) noundef align 4 %2, i32 noundef %3) #1 !kernel_arg_addr_space !5 !kernel_arg_access_qual !6 !kernel_arg_type !7 !kernel_arg_base_type !7 !kernel_arg_type_qual !8 !reqd_work_group_size !9 {
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca ptr addrspace(1), align 8, addrspace(5)
  %7 = alloca ptr addrspace(1), align 8, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = alloca i32, align 4, addrspace(5)
  %10 = alloca i32, align 4, addrspace(5)
  %11 = alloca i32, align 4, addrspace(5)
  %12 = alloca i32, align 4, addrspace(5)
  %13 = alloca float, align 4, addrspace(5)
  %14 = alloca i32, align 4, addrspace(5)
  %15 = alloca i32, align 4, addrspace(5)
  %16 = addrspacecast ptr addrspace(5) %5 to ptr
  %17 = addrspacecast ptr addrspace(5) %6 to ptr
  %18 = addrspacecast ptr addrspace(5) %7 to ptr
  %19 = addrspacecast ptr addrspace(5) %8 to ptr
  store ptr addrspace(1) %0, ptr %16, align 8
  store ptr addrspace(1) %1, ptr %17, align 8
  store ptr addrspace(1) %2, ptr %18, align 8
  store i32 %3, ptr %19, align 4
  %20 = call i32 @thread() #8
  %21 = urem i32 %20, 16
  store i32 %21, ptr addrspace(5) %9, align 4
  %22 = call i32 @thread() #8
  %23 = udiv i32 %22, 16
  store i32 %23, ptr addrspace(5) %10, align 4
  %24 = call i32 @group_y() #8
  %25 = mul i32 %24, 16
  %26 = load i32, ptr addrspace(5) %10, align 4
  %27 = add i32 %25, %26
  store i32 %27, ptr addrspace(5) %11, align 4
  %28 = call i32 @group() #8
  %29 = mul i32 %28, 16
  %30 = load i32, ptr addrspace(5) %9, align 4
  %31 = add i32 %29, %30
  store i32 %31, ptr addrspace(5) %12, align 4
  store float 0.000000e+00, ptr addrspace(5) %13, align 4
  store i32 0, ptr addrspace(5) %14, align 4
  br label %32

32:                                               ; preds = %96, %4
  %33 = load i32, ptr addrspace(5) %14, align 4
  %34 = load i32, ptr %19, align 4
  %35 = icmp slt i32 %33, %34
  br i1 %35, label %36, label %99

36:                                               ; preds = %32
  %37 = load ptr addrspace(1), ptr %16, align 8
  %38 = load i32, ptr addrspace(5) %11, align 4
  %39 = load i32, ptr %19, align 4
  %40 = mul i32 %38, %39
  %41 = load i32, ptr addrspace(5) %14, align 4
  %42 = add i32 %40, %41
  %43 = load i32, ptr addrspace(5) %9, align 4
  %44 = add i32 %42, %43
  %45 = zext i32 %44 to i64
  %46 = getelementptr inbounds nuw float, ptr addrspace(1) %37, i64 %45
  %47 = load float, ptr addrspace(1) %46, align 4
  %48 = load i32, ptr addrspace(5) %10, align 4
  %49 = zext i32 %48 to i64
  %50 = getelementptr inbounds nuw [16 x [16 x float]], ptr addrspace(3) @matmul_tiled.a_tile, i64 0, i64 %49
  %51 = load i32, ptr addrspace(5) %9, align 4
  %52 = zext i32 %51 to i64
  %53 = getelementptr inbounds nuw [16 x float], ptr addrspace(3) %50, i64 0, i64 %52
  store float %47, ptr addrspace(3) %53, align 4
  %54 = load ptr addrspace(1), ptr %17, align 8
  %55 = load i32, ptr addrspace(5) %14, align 4
  %56 = load i32, ptr addrspace(5) %10, align 4
  %57 = add i32 %55, %56
  %58 = load i32, ptr %19, align 4
  %59 = mul i32 %57, %58
  %60 = load i32, ptr addrspace(5) %12, align 4
  %61 = add i32 %59, %60
  %62 = zext i32 %61 to i64
  %63 = getelementptr inbounds nuw float, ptr addrspace(1) %54, i64 %62
  %64 = load float, ptr addrspace(1) %63, align 4
  %65 = load i32, ptr addrspace(5) %10, align 4
  %66 = zext i32 %65 to i64
  %67 = getelementptr inbounds nuw [16 x [17 x float]], ptr addrspace(3) @matmul_tiled.b_tile, i64 0, i64 %66
  %68 = load i32, ptr addrspace(5) %9, align 4
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) %67, i64 0, i64 %69
  store float %64, ptr addrspace(3) %70, align 4
  call void @barrier_local() #8
  store i32 0, ptr addrspace(5) %15, align 4
  br label %71

71:                                               ; preds = %92, %36
  %72 = load i32, ptr addrspace(5) %15, align 4
  %73 = icmp slt i32 %72, 16
  br i1 %73, label %74, label %95

74:                                               ; preds = %71
  %75 = load i32, ptr addrspace(5) %10, align 4
  %76 = zext i32 %75 to i64
  %77 = getelementptr inbounds nuw [16 x [16 x float]], ptr addrspace(3) @matmul_tiled.a_tile, i64 0, i64 %76
  %78 = load i32, ptr addrspace(5) %15, align 4
  %79 = sext i32 %78 to i64
  %80 = getelementptr inbounds [16 x float], ptr addrspace(3) %77, i64 0, i64 %79
  %81 = load float, ptr addrspace(3) %80, align 4
  %82 = load i32, ptr addrspace(5) %15, align 4
  %83 = sext i32 %82 to i64
  %84 = getelementptr inbounds [16 x [17 x float]], ptr addrspace(3) @matmul_tiled.b_tile, i64 0, i64 %83
  %85 = load i32, ptr addrspace(5) %9, align 4
  %86 = zext i32 %85 to i64
  %87 = getelementptr inbounds nuw [17 x float], ptr addrspace(3) %84, i64 0, i64 %86
  %88 = load float, ptr addrspace(3) %87, align 4
  %89 = fmul contract float %81, %88
  %90 = load float, ptr addrspace(5) %13, align 4
  %91 = fadd contract float %90, %89
  store float %91, ptr addrspace(5) %13, align 4
  br label %92

92:                                               ; preds = %74
  %93 = load i32, ptr addrspace(5) %15, align 4
  %94 = add nsw i32 %93, 1
  store i32 %94, ptr addrspace(5) %15, align 4
  br label %71

95:                                               ; preds = %71
  call void @barrier_local() #8
  br label %96

96:                                               ; preds = %95
  %97 = load i32, ptr addrspace(5) %14, align 4
  %98 = add nsw i32 %97, 16
  store i32 %98, ptr addrspace(5) %14, align 4
  br label %32

99:                                               ; preds = %32
  %100 = load float, ptr addrspace(5) %13, align 4
  %101 = load ptr addrspace(1), ptr %18, align 8
  %102 = load i32, ptr addrspace(5) %11, align 4
  %103 = load i32, ptr %19, align 4
  %104 = mul i32 %102, %103
  %105 = load i32, ptr addrspace(5) %12, align 4
  %106 = add i32 %104, %105
  %107 = zext i32 %106 to i64
  %108 = getelementptr inbounds nuw float, ptr addrspace(1) %101, i64 %107
  store float %100, ptr addrspace(1) %108, align 4
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @reduce_sum(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #0 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !12 !kernel_arg_base_type !12 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = addrspacecast ptr addrspace(5) %4 to ptr
  %8 = addrspacecast ptr addrspace(5) %5 to ptr
  %9 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %7, align 8
  store ptr addrspace(1) %1, ptr %8, align 8
  store i32 %2, ptr %9, align 4
  %10 = load ptr addrspace(1), ptr %7, align 8
  %11 = load ptr addrspace(1), ptr %8, align 8
  %12 = load i32, ptr %9, align 4
  call void @__clang_ocl_kern_imp_reduce_sum(ptr addrspace(1) noundef align 4 %10, ptr addrspace(1) noundef align 4 %11, i32 noundef %12) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_reduce_sum(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #1 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !12 !kernel_arg_base_type !12 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = alloca i32, align 4, addrspace(5)
  %10 = alloca i32, align 4, addrspace(5)
  %11 = alloca i32, align 4, addrspace(5)
  %12 = addrspacecast ptr addrspace(5) %4 to ptr
  %13 = addrspacecast ptr addrspace(5) %5 to ptr
  %14 = addrspacecast ptr addrspace(5) %6 to ptr
  %15 = addrspacecast ptr addrspace(5) %10 to ptr
  %16 = addrspacecast ptr addrspace(5) %11 to ptr
  store ptr addrspace(1) %0, ptr %12, align 8
  store ptr addrspace(1) %1, ptr %13, align 8
  store i32 %2, ptr %14, align 4
  store i32 0, ptr addrspace(5) %7, align 4
  %17 = call i32 @group() #8
  %18 = mul i32 %17, 256
  %19 = call i32 @thread() #8
  %20 = add i32 %18, %19
  store i32 %20, ptr addrspace(5) %8, align 4
  br label %21

21:                                               ; preds = %33, %3
  %22 = load i32, ptr addrspace(5) %8, align 4
  %23 = load i32, ptr %14, align 4
  %24 = icmp ult i32 %22, %23
  br i1 %24, label %25, label %36

25:                                               ; preds = %21
  %26 = load ptr addrspace(1), ptr %12, align 8
  %27 = load i32, ptr addrspace(5) %8, align 4
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i32, ptr addrspace(1) %26, i64 %28
  %30 = load i32, ptr addrspace(1) %29, align 4
  %31 = load i32, ptr addrspace(5) %7, align 4
  %32 = add nsw i32 %31, %30
  store i32 %32, ptr addrspace(5) %7, align 4
  br label %33

33:                                               ; preds = %25
  %34 = load i32, ptr addrspace(5) %8, align 4
  %35 = add i32 %34, 1024
  store i32 %35, ptr addrspace(5) %8, align 4
  br label %21

36:                                               ; preds = %21
  %37 = load i32, ptr addrspace(5) %7, align 4
  %38 = call i32 @thread() #8
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @reduce_sum.partial, i64 0, i64 %39
  store i32 %37, ptr addrspace(3) %40, align 4
  call void @barrier_local() #8
  store i32 128, ptr addrspace(5) %9, align 4
  br label %41

41:                                               ; preds = %61, %36
  %42 = load i32, ptr addrspace(5) %9, align 4
  %43 = icmp ugt i32 %42, 0
  br i1 %43, label %44, label %64

44:                                               ; preds = %41
  %45 = call i32 @thread() #8
  %46 = load i32, ptr addrspace(5) %9, align 4
  %47 = icmp ult i32 %45, %46
  br i1 %47, label %48, label %60

48:                                               ; preds = %44
  %49 = call i32 @thread() #8
  %50 = load i32, ptr addrspace(5) %9, align 4
  %51 = add i32 %49, %50
  %52 = zext i32 %51 to i64
  %53 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @reduce_sum.partial, i64 0, i64 %52
  %54 = load i32, ptr addrspace(3) %53, align 4
  %55 = call i32 @thread() #8
  %56 = zext i32 %55 to i64
  %57 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @reduce_sum.partial, i64 0, i64 %56
  %58 = load i32, ptr addrspace(3) %57, align 4
  %59 = add nsw i32 %58, %54
  store i32 %59, ptr addrspace(3) %57, align 4
  br label %60

60:                                               ; preds = %48, %44
  call void @barrier_local() #8
  br label %61

61:                                               ; preds = %60
  %62 = load i32, ptr addrspace(5) %9, align 4
  %63 = udiv i32 %62, 2
  store i32 %63, ptr addrspace(5) %9, align 4
  br label %41

64:                                               ; preds = %41
  %65 = call i32 @thread() #8
  %66 = icmp eq i32 %65, 0
  br i1 %66, label %67, label %73

67:                                               ; preds = %64
  %68 = load ptr addrspace(1), ptr %13, align 8
  %69 = load i32, ptr addrspace(3) @reduce_sum.partial, align 4
  store i32 %69, ptr %15, align 4
  %70 = load i32, ptr %15, align 4
  %71 = atomicrmw add ptr addrspace(1) %68, i32 %70 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !14, !amdgpu.no.remote.memory !14
  store i32 %71, ptr %16, align 4
  %72 = load i32, ptr %16, align 4
  br label %73

73:                                               ; preds = %67, %64
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @histogram(ptr addrspace(1) noundef align 1 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #0 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !15 !kernel_arg_base_type !15 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = addrspacecast ptr addrspace(5) %4 to ptr
  %8 = addrspacecast ptr addrspace(5) %5 to ptr
  %9 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %7, align 8
  store ptr addrspace(1) %1, ptr %8, align 8
  store i32 %2, ptr %9, align 4
  %10 = load ptr addrspace(1), ptr %7, align 8
  %11 = load ptr addrspace(1), ptr %8, align 8
  %12 = load i32, ptr %9, align 4
  call void @__clang_ocl_kern_imp_histogram(ptr addrspace(1) noundef align 1 %10, ptr addrspace(1) noundef align 4 %11, i32 noundef %12) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_histogram(ptr addrspace(1) noundef align 1 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #1 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !15 !kernel_arg_base_type !15 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = alloca i32, align 4, addrspace(5)
  %10 = alloca i32, align 4, addrspace(5)
  %11 = alloca i32, align 4, addrspace(5)
  %12 = addrspacecast ptr addrspace(5) %4 to ptr
  %13 = addrspacecast ptr addrspace(5) %5 to ptr
  %14 = addrspacecast ptr addrspace(5) %6 to ptr
  %15 = addrspacecast ptr addrspace(5) %8 to ptr
  %16 = addrspacecast ptr addrspace(5) %9 to ptr
  %17 = addrspacecast ptr addrspace(5) %10 to ptr
  %18 = addrspacecast ptr addrspace(5) %11 to ptr
  store ptr addrspace(1) %0, ptr %12, align 8
  store ptr addrspace(1) %1, ptr %13, align 8
  store i32 %2, ptr %14, align 4
  %19 = call i32 @thread() #8
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @histogram.mine, i64 0, i64 %20
  store i32 0, ptr addrspace(3) %21, align 4
  call void @barrier_local() #8
  %22 = call i32 @group() #8
  %23 = mul i32 %22, 256
  %24 = call i32 @thread() #8
  %25 = add i32 %23, %24
  store i32 %25, ptr addrspace(5) %7, align 4
  br label %26

26:                                               ; preds = %41, %3
  %27 = load i32, ptr addrspace(5) %7, align 4
  %28 = load i32, ptr %14, align 4
  %29 = icmp ult i32 %27, %28
  br i1 %29, label %30, label %44

30:                                               ; preds = %26
  %31 = load ptr addrspace(1), ptr %12, align 8
  %32 = load i32, ptr addrspace(5) %7, align 4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i8, ptr addrspace(1) %31, i64 %33
  %35 = load i8, ptr addrspace(1) %34, align 1
  %36 = zext i8 %35 to i64
  %37 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @histogram.mine, i64 0, i64 %36
  store i32 1, ptr %15, align 4
  %38 = load i32, ptr %15, align 4
  %39 = atomicrmw add ptr addrspace(3) %37, i32 %38 syncscope("workgroup") monotonic, align 4, !amdgpu.no.fine.grained.memory !14, !amdgpu.no.remote.memory !14
  store i32 %39, ptr %16, align 4
  %40 = load i32, ptr %16, align 4
  br label %41

41:                                               ; preds = %30
  %42 = load i32, ptr addrspace(5) %7, align 4
  %43 = add i32 %42, 768
  store i32 %43, ptr addrspace(5) %7, align 4
  br label %26

44:                                               ; preds = %26
  call void @barrier_local() #8
  %45 = call i32 @thread() #8
  %46 = zext i32 %45 to i64
  %47 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @histogram.mine, i64 0, i64 %46
  %48 = load i32, ptr addrspace(3) %47, align 4
  %49 = icmp ne i32 %48, 0
  br i1 %49, label %50, label %62

50:                                               ; preds = %44
  %51 = load ptr addrspace(1), ptr %13, align 8
  %52 = call i32 @thread() #8
  %53 = zext i32 %52 to i64
  %54 = getelementptr inbounds nuw i32, ptr addrspace(1) %51, i64 %53
  %55 = call i32 @thread() #8
  %56 = zext i32 %55 to i64
  %57 = getelementptr inbounds nuw [256 x i32], ptr addrspace(3) @histogram.mine, i64 0, i64 %56
  %58 = load i32, ptr addrspace(3) %57, align 4
  store i32 %58, ptr %17, align 4
  %59 = load i32, ptr %17, align 4
  %60 = atomicrmw add ptr addrspace(1) %54, i32 %59 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !14, !amdgpu.no.remote.memory !14
  store i32 %60, ptr %18, align 4
  %61 = load i32, ptr %18, align 4
  br label %62

62:                                               ; preds = %50, %44
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @softmax_rows(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #0 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !16 !kernel_arg_base_type !16 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = addrspacecast ptr addrspace(5) %4 to ptr
  %8 = addrspacecast ptr addrspace(5) %5 to ptr
  %9 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %7, align 8
  store ptr addrspace(1) %1, ptr %8, align 8
  store i32 %2, ptr %9, align 4
  %10 = load ptr addrspace(1), ptr %7, align 8
  %11 = load ptr addrspace(1), ptr %8, align 8
  %12 = load i32, ptr %9, align 4
  call void @__clang_ocl_kern_imp_softmax_rows(ptr addrspace(1) noundef align 4 %10, ptr addrspace(1) noundef align 4 %11, i32 noundef %12) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_softmax_rows(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #1 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !16 !kernel_arg_base_type !16 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca ptr addrspace(1), align 8, addrspace(5)
  %8 = alloca float, align 4, addrspace(5)
  %9 = alloca i32, align 4, addrspace(5)
  %10 = alloca i32, align 4, addrspace(5)
  %11 = alloca float, align 4, addrspace(5)
  %12 = alloca i32, align 4, addrspace(5)
  %13 = alloca i32, align 4, addrspace(5)
  %14 = alloca float, align 4, addrspace(5)
  %15 = alloca i32, align 4, addrspace(5)
  %16 = addrspacecast ptr addrspace(5) %4 to ptr
  %17 = addrspacecast ptr addrspace(5) %5 to ptr
  %18 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %16, align 8
  store ptr addrspace(1) %1, ptr %17, align 8
  store i32 %2, ptr %18, align 4
  %19 = load ptr addrspace(1), ptr %16, align 8
  %20 = call i32 @group() #8
  %21 = load i32, ptr %18, align 4
  %22 = mul i32 %20, %21
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw float, ptr addrspace(1) %19, i64 %23
  store ptr addrspace(1) %24, ptr addrspace(5) %7, align 8
  store float 0xFFF0000000000000, ptr addrspace(5) %8, align 4
  %25 = call i32 @thread() #8
  store i32 %25, ptr addrspace(5) %9, align 4
  br label %26

26:                                               ; preds = %38, %3
  %27 = load i32, ptr addrspace(5) %9, align 4
  %28 = load i32, ptr %18, align 4
  %29 = icmp slt i32 %27, %28
  br i1 %29, label %30, label %41

30:                                               ; preds = %26
  %31 = load float, ptr addrspace(5) %8, align 4
  %32 = load ptr addrspace(1), ptr addrspace(5) %7, align 8
  %33 = load i32, ptr addrspace(5) %9, align 4
  %34 = sext i32 %33 to i64
  %35 = getelementptr inbounds float, ptr addrspace(1) %32, i64 %34
  %36 = load float, ptr addrspace(1) %35, align 4
  %37 = call contract float @llvm.maxnum.f32(float %31, float %36)
  store float %37, ptr addrspace(5) %8, align 4
  br label %38

38:                                               ; preds = %30
  %39 = load i32, ptr addrspace(5) %9, align 4
  %40 = add nsw i32 %39, 256
  store i32 %40, ptr addrspace(5) %9, align 4
  br label %26

41:                                               ; preds = %26
  %42 = load float, ptr addrspace(5) %8, align 4
  %43 = call i32 @thread() #8
  %44 = zext i32 %43 to i64
  %45 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %44
  store float %42, ptr addrspace(3) %45, align 4
  call void @barrier_local() #8
  store i32 128, ptr addrspace(5) %10, align 4
  br label %46

46:                                               ; preds = %69, %41
  %47 = load i32, ptr addrspace(5) %10, align 4
  %48 = icmp ugt i32 %47, 0
  br i1 %48, label %49, label %72

49:                                               ; preds = %46
  %50 = call i32 @thread() #8
  %51 = load i32, ptr addrspace(5) %10, align 4
  %52 = icmp ult i32 %50, %51
  br i1 %52, label %53, label %68

53:                                               ; preds = %49
  %54 = call i32 @thread() #8
  %55 = zext i32 %54 to i64
  %56 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %55
  %57 = load float, ptr addrspace(3) %56, align 4
  %58 = call i32 @thread() #8
  %59 = load i32, ptr addrspace(5) %10, align 4
  %60 = add i32 %58, %59
  %61 = zext i32 %60 to i64
  %62 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %61
  %63 = load float, ptr addrspace(3) %62, align 4
  %64 = call contract float @llvm.maxnum.f32(float %57, float %63)
  %65 = call i32 @thread() #8
  %66 = zext i32 %65 to i64
  %67 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %66
  store float %64, ptr addrspace(3) %67, align 4
  br label %68

68:                                               ; preds = %53, %49
  call void @barrier_local() #8
  br label %69

69:                                               ; preds = %68
  %70 = load i32, ptr addrspace(5) %10, align 4
  %71 = udiv i32 %70, 2
  store i32 %71, ptr addrspace(5) %10, align 4
  br label %46

72:                                               ; preds = %46
  %73 = load float, ptr addrspace(3) @softmax_rows.shared, align 4
  store float %73, ptr addrspace(5) %8, align 4
  call void @barrier_local() #8
  store float 0.000000e+00, ptr addrspace(5) %11, align 4
  %74 = call i32 @thread() #8
  store i32 %74, ptr addrspace(5) %12, align 4
  br label %75

75:                                               ; preds = %91, %72
  %76 = load i32, ptr addrspace(5) %12, align 4
  %77 = load i32, ptr %18, align 4
  %78 = icmp slt i32 %76, %77
  br i1 %78, label %79, label %94

79:                                               ; preds = %75
  %80 = load ptr addrspace(1), ptr addrspace(5) %7, align 8
  %81 = load i32, ptr addrspace(5) %12, align 4
  %82 = sext i32 %81 to i64
  %83 = getelementptr inbounds float, ptr addrspace(1) %80, i64 %82
  %84 = load float, ptr addrspace(1) %83, align 4
  %85 = load float, ptr addrspace(5) %8, align 4
  %86 = fsub contract float %84, %85
  %87 = fmul contract float %86, 0x3FF7154760000000
  %88 = call contract float @llvm.amdgcn.exp2.f32(float %87)
  %89 = load float, ptr addrspace(5) %11, align 4
  %90 = fadd contract float %89, %88
  store float %90, ptr addrspace(5) %11, align 4
  br label %91

91:                                               ; preds = %79
  %92 = load i32, ptr addrspace(5) %12, align 4
  %93 = add nsw i32 %92, 256
  store i32 %93, ptr addrspace(5) %12, align 4
  br label %75

94:                                               ; preds = %75
  %95 = load float, ptr addrspace(5) %11, align 4
  %96 = call i32 @thread() #8
  %97 = zext i32 %96 to i64
  %98 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %97
  store float %95, ptr addrspace(3) %98, align 4
  call void @barrier_local() #8
  store i32 128, ptr addrspace(5) %13, align 4
  br label %99

99:                                               ; preds = %119, %94
  %100 = load i32, ptr addrspace(5) %13, align 4
  %101 = icmp ugt i32 %100, 0
  br i1 %101, label %102, label %122

102:                                              ; preds = %99
  %103 = call i32 @thread() #8
  %104 = load i32, ptr addrspace(5) %13, align 4
  %105 = icmp ult i32 %103, %104
  br i1 %105, label %106, label %118

106:                                              ; preds = %102
  %107 = call i32 @thread() #8
  %108 = load i32, ptr addrspace(5) %13, align 4
  %109 = add i32 %107, %108
  %110 = zext i32 %109 to i64
  %111 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %110
  %112 = load float, ptr addrspace(3) %111, align 4
  %113 = call i32 @thread() #8
  %114 = zext i32 %113 to i64
  %115 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @softmax_rows.shared, i64 0, i64 %114
  %116 = load float, ptr addrspace(3) %115, align 4
  %117 = fadd contract float %116, %112
  store float %117, ptr addrspace(3) %115, align 4
  br label %118

118:                                              ; preds = %106, %102
  call void @barrier_local() #8
  br label %119

119:                                              ; preds = %118
  %120 = load i32, ptr addrspace(5) %13, align 4
  %121 = udiv i32 %120, 2
  store i32 %121, ptr addrspace(5) %13, align 4
  br label %99

122:                                              ; preds = %99
  %123 = load float, ptr addrspace(3) @softmax_rows.shared, align 4
  %124 = call contract float @llvm.amdgcn.rcp.f32(float %123)
  store float %124, ptr addrspace(5) %14, align 4
  %125 = call i32 @thread() #8
  store i32 %125, ptr addrspace(5) %15, align 4
  br label %126

126:                                              ; preds = %150, %122
  %127 = load i32, ptr addrspace(5) %15, align 4
  %128 = load i32, ptr %18, align 4
  %129 = icmp slt i32 %127, %128
  br i1 %129, label %130, label %153

130:                                              ; preds = %126
  %131 = load ptr addrspace(1), ptr addrspace(5) %7, align 8
  %132 = load i32, ptr addrspace(5) %15, align 4
  %133 = sext i32 %132 to i64
  %134 = getelementptr inbounds float, ptr addrspace(1) %131, i64 %133
  %135 = load float, ptr addrspace(1) %134, align 4
  %136 = load float, ptr addrspace(5) %8, align 4
  %137 = fsub contract float %135, %136
  %138 = fmul contract float %137, 0x3FF7154760000000
  %139 = call contract float @llvm.amdgcn.exp2.f32(float %138)
  %140 = load float, ptr addrspace(5) %14, align 4
  %141 = fmul contract float %139, %140
  %142 = load ptr addrspace(1), ptr %17, align 8
  %143 = call i32 @group() #8
  %144 = load i32, ptr %18, align 4
  %145 = mul i32 %143, %144
  %146 = load i32, ptr addrspace(5) %15, align 4
  %147 = add i32 %145, %146
  %148 = zext i32 %147 to i64
  %149 = getelementptr inbounds nuw float, ptr addrspace(1) %142, i64 %148
  store float %141, ptr addrspace(1) %149, align 4
  br label %150

150:                                              ; preds = %130
  %151 = load i32, ptr addrspace(5) %15, align 4
  %152 = add nsw i32 %151, 256
  store i32 %152, ptr addrspace(5) %15, align 4
  br label %126

153:                                              ; preds = %126
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @stencil(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #0 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !16 !kernel_arg_base_type !16 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = addrspacecast ptr addrspace(5) %4 to ptr
  %8 = addrspacecast ptr addrspace(5) %5 to ptr
  %9 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %7, align 8
  store ptr addrspace(1) %1, ptr %8, align 8
  store i32 %2, ptr %9, align 4
  %10 = load ptr addrspace(1), ptr %7, align 8
  %11 = load ptr addrspace(1), ptr %8, align 8
  %12 = load i32, ptr %9, align 4
  call void @__clang_ocl_kern_imp_stencil(ptr addrspace(1) noundef align 4 %10, ptr addrspace(1) noundef align 4 %11, i32 noundef %12) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_stencil(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, i32 noundef %2) #1 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !16 !kernel_arg_base_type !16 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = addrspacecast ptr addrspace(5) %4 to ptr
  %9 = addrspacecast ptr addrspace(5) %5 to ptr
  %10 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %8, align 8
  store ptr addrspace(1) %1, ptr %9, align 8
  store i32 %2, ptr %10, align 4
  %11 = call i32 @group() #8
  %12 = mul i32 %11, 256
  %13 = call i32 @thread() #8
  %14 = add i32 %12, %13
  store i32 %14, ptr addrspace(5) %7, align 4
  %15 = load i32, ptr addrspace(5) %7, align 4
  %16 = load i32, ptr %10, align 4
  %17 = icmp slt i32 %15, %16
  br i1 %17, label %18, label %24

18:                                               ; preds = %3
  %19 = load ptr addrspace(1), ptr %8, align 8
  %20 = load i32, ptr addrspace(5) %7, align 4
  %21 = sext i32 %20 to i64
  %22 = getelementptr inbounds float, ptr addrspace(1) %19, i64 %21
  %23 = load float, ptr addrspace(1) %22, align 4
  br label %25

24:                                               ; preds = %3
  br label %25

25:                                               ; preds = %24, %18
  %26 = phi contract float [ %23, %18 ], [ 0.000000e+00, %24 ]
  %27 = call i32 @thread() #8
  %28 = add i32 %27, 1
  %29 = zext i32 %28 to i64
  %30 = getelementptr inbounds nuw [258 x float], ptr addrspace(3) @stencil.tile, i64 0, i64 %29
  store float %26, ptr addrspace(3) %30, align 4
  %31 = call i32 @thread() #8
  %32 = icmp eq i32 %31, 0
  br i1 %32, label %33, label %46

33:                                               ; preds = %25
  %34 = load i32, ptr addrspace(5) %7, align 4
  %35 = icmp sgt i32 %34, 0
  br i1 %35, label %36, label %43

36:                                               ; preds = %33
  %37 = load ptr addrspace(1), ptr %8, align 8
  %38 = load i32, ptr addrspace(5) %7, align 4
  %39 = sub nsw i32 %38, 1
  %40 = sext i32 %39 to i64
  %41 = getelementptr inbounds float, ptr addrspace(1) %37, i64 %40
  %42 = load float, ptr addrspace(1) %41, align 4
  br label %44

43:                                               ; preds = %33
  br label %44

44:                                               ; preds = %43, %36
  %45 = phi contract float [ %42, %36 ], [ 0.000000e+00, %43 ]
  store float %45, ptr addrspace(3) @stencil.tile, align 4
  br label %46

46:                                               ; preds = %44, %25
  %47 = call i32 @thread() #8
  %48 = icmp eq i32 %47, 255
  br i1 %48, label %49, label %64

49:                                               ; preds = %46
  %50 = load i32, ptr addrspace(5) %7, align 4
  %51 = add nsw i32 %50, 1
  %52 = load i32, ptr %10, align 4
  %53 = icmp slt i32 %51, %52
  br i1 %53, label %54, label %61

54:                                               ; preds = %49
  %55 = load ptr addrspace(1), ptr %8, align 8
  %56 = load i32, ptr addrspace(5) %7, align 4
  %57 = add nsw i32 %56, 1
  %58 = sext i32 %57 to i64
  %59 = getelementptr inbounds float, ptr addrspace(1) %55, i64 %58
  %60 = load float, ptr addrspace(1) %59, align 4
  br label %62

61:                                               ; preds = %49
  br label %62

62:                                               ; preds = %61, %54
  %63 = phi contract float [ %60, %54 ], [ 0.000000e+00, %61 ]
  store float %63, ptr addrspace(3) getelementptr inbounds ([258 x float], ptr addrspace(3) @stencil.tile, i64 0, i64 257), align 4
  br label %64

64:                                               ; preds = %62, %46
  call void @barrier_local() #8
  %65 = load i32, ptr addrspace(5) %7, align 4
  %66 = load i32, ptr %10, align 4
  %67 = icmp slt i32 %65, %66
  br i1 %67, label %68, label %90

68:                                               ; preds = %64
  %69 = call i32 @thread() #8
  %70 = zext i32 %69 to i64
  %71 = getelementptr inbounds nuw [258 x float], ptr addrspace(3) @stencil.tile, i64 0, i64 %70
  %72 = load float, ptr addrspace(3) %71, align 4
  %73 = call i32 @thread() #8
  %74 = add i32 %73, 1
  %75 = zext i32 %74 to i64
  %76 = getelementptr inbounds nuw [258 x float], ptr addrspace(3) @stencil.tile, i64 0, i64 %75
  %77 = load float, ptr addrspace(3) %76, align 4
  %78 = fmul contract float 2.000000e+00, %77
  %79 = fsub contract float %72, %78
  %80 = call i32 @thread() #8
  %81 = add i32 %80, 2
  %82 = zext i32 %81 to i64
  %83 = getelementptr inbounds nuw [258 x float], ptr addrspace(3) @stencil.tile, i64 0, i64 %82
  %84 = load float, ptr addrspace(3) %83, align 4
  %85 = fadd contract float %79, %84
  %86 = load ptr addrspace(1), ptr %9, align 8
  %87 = load i32, ptr addrspace(5) %7, align 4
  %88 = sext i32 %87 to i64
  %89 = getelementptr inbounds float, ptr addrspace(1) %86, i64 %88
  store float %85, ptr addrspace(1) %89, align 4
  br label %90

90:                                               ; preds = %68, %64
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @transpose(ptr addrspace(1) noundef align 2 %0, ptr addrspace(1) noundef align 2 %1, i32 noundef %2) #0 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !17 !kernel_arg_base_type !17 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = addrspacecast ptr addrspace(5) %4 to ptr
  %8 = addrspacecast ptr addrspace(5) %5 to ptr
  %9 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %7, align 8
  store ptr addrspace(1) %1, ptr %8, align 8
  store i32 %2, ptr %9, align 4
  %10 = load ptr addrspace(1), ptr %7, align 8
  %11 = load ptr addrspace(1), ptr %8, align 8
  %12 = load i32, ptr %9, align 4
  call void @__clang_ocl_kern_imp_transpose(ptr addrspace(1) noundef align 2 %10, ptr addrspace(1) noundef align 2 %11, i32 noundef %12) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_transpose(ptr addrspace(1) noundef align 2 %0, ptr addrspace(1) noundef align 2 %1, i32 noundef %2) #1 !kernel_arg_addr_space !10 !kernel_arg_access_qual !11 !kernel_arg_type !17 !kernel_arg_base_type !17 !kernel_arg_type_qual !13 !reqd_work_group_size !9 {
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca ptr addrspace(1), align 8, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = addrspacecast ptr addrspace(5) %4 to ptr
  %10 = addrspacecast ptr addrspace(5) %5 to ptr
  %11 = addrspacecast ptr addrspace(5) %6 to ptr
  store ptr addrspace(1) %0, ptr %9, align 8
  store ptr addrspace(1) %1, ptr %10, align 8
  store i32 %2, ptr %11, align 4
  %12 = call i32 @thread() #8
  %13 = urem i32 %12, 16
  store i32 %13, ptr addrspace(5) %7, align 4
  %14 = call i32 @thread() #8
  %15 = udiv i32 %14, 16
  store i32 %15, ptr addrspace(5) %8, align 4
  %16 = load ptr addrspace(1), ptr %9, align 8
  %17 = call i32 @group_y() #8
  %18 = mul i32 %17, 16
  %19 = load i32, ptr addrspace(5) %8, align 4
  %20 = add i32 %18, %19
  %21 = load i32, ptr %11, align 4
  %22 = mul i32 %20, %21
  %23 = call i32 @group() #8
  %24 = mul i32 %23, 16
  %25 = add i32 %22, %24
  %26 = load i32, ptr addrspace(5) %7, align 4
  %27 = add i32 %25, %26
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i16, ptr addrspace(1) %16, i64 %28
  %30 = load i16, ptr addrspace(1) %29, align 2
  %31 = load i32, ptr addrspace(5) %8, align 4
  %32 = zext i32 %31 to i64
  %33 = getelementptr inbounds nuw [16 x [17 x i16]], ptr addrspace(3) @transpose.tile, i64 0, i64 %32
  %34 = load i32, ptr addrspace(5) %7, align 4
  %35 = zext i32 %34 to i64
  %36 = getelementptr inbounds nuw [17 x i16], ptr addrspace(3) %33, i64 0, i64 %35
  store i16 %30, ptr addrspace(3) %36, align 2
  call void @barrier_local() #8
  %37 = load i32, ptr addrspace(5) %7, align 4
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw [16 x [17 x i16]], ptr addrspace(3) @transpose.tile, i64 0, i64 %38
  %40 = load i32, ptr addrspace(5) %8, align 4
  %41 = zext i32 %40 to i64
  %42 = getelementptr inbounds nuw [17 x i16], ptr addrspace(3) %39, i64 0, i64 %41
  %43 = load i16, ptr addrspace(3) %42, align 2
  %44 = load ptr addrspace(1), ptr %10, align 8
  %45 = call i32 @group() #8
  %46 = mul i32 %45, 16
  %47 = load i32, ptr addrspace(5) %8, align 4
  %48 = add i32 %46, %47
  %49 = load i32, ptr %11, align 4
  %50 = mul i32 %48, %49
  %51 = call i32 @group_y() #8
  %52 = mul i32 %51, 16
  %53 = add i32 %50, %52
  %54 = load i32, ptr addrspace(5) %7, align 4
  %55 = add i32 %53, %54
  %56 = zext i32 %55 to i64
  %57 = getelementptr inbounds nuw i16, ptr addrspace(1) %44, i64 %56
  store i16 %43, ptr addrspace(1) %57, align 2
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @scan_waves(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #0 !kernel_arg_addr_space !18 !kernel_arg_access_qual !19 !kernel_arg_type !20 !kernel_arg_base_type !20 !kernel_arg_type_qual !21 !reqd_work_group_size !9 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = addrspacecast ptr addrspace(5) %3 to ptr
  %6 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %5, align 8
  store ptr addrspace(1) %1, ptr %6, align 8
  %7 = load ptr addrspace(1), ptr %5, align 8
  %8 = load ptr addrspace(1), ptr %6, align 8
  call void @__clang_ocl_kern_imp_scan_waves(ptr addrspace(1) noundef align 4 %7, ptr addrspace(1) noundef align 4 %8) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_scan_waves(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1) #1 !kernel_arg_addr_space !18 !kernel_arg_access_qual !19 !kernel_arg_type !20 !kernel_arg_base_type !20 !kernel_arg_type_qual !21 !reqd_work_group_size !9 {
  %3 = alloca ptr addrspace(1), align 8, addrspace(5)
  %4 = alloca ptr addrspace(1), align 8, addrspace(5)
  %5 = alloca i32, align 4, addrspace(5)
  %6 = alloca i32, align 4, addrspace(5)
  %7 = alloca i32, align 4, addrspace(5)
  %8 = alloca i32, align 4, addrspace(5)
  %9 = addrspacecast ptr addrspace(5) %3 to ptr
  %10 = addrspacecast ptr addrspace(5) %4 to ptr
  store ptr addrspace(1) %0, ptr %9, align 8
  store ptr addrspace(1) %1, ptr %10, align 8
  %11 = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  store i32 %11, ptr addrspace(5) %5, align 4
  %12 = call i32 @llvm.amdgcn.wavefrontsize()
  %13 = icmp eq i32 %12, 64
  br i1 %13, label %14, label %17

14:                                               ; preds = %2
  %15 = load i32, ptr addrspace(5) %5, align 4
  %16 = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %15)
  store i32 %16, ptr addrspace(5) %5, align 4
  br label %17

17:                                               ; preds = %14, %2
  %18 = load ptr addrspace(1), ptr %9, align 8
  %19 = call i32 @group() #8
  %20 = mul i32 %19, 256
  %21 = call i32 @thread() #8
  %22 = add i32 %20, %21
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i32, ptr addrspace(1) %18, i64 %23
  %25 = load i32, ptr addrspace(1) %24, align 4
  store i32 %25, ptr addrspace(5) %6, align 4
  store i32 1, ptr addrspace(5) %7, align 4
  br label %26

26:                                               ; preds = %45, %17
  %27 = load i32, ptr addrspace(5) %7, align 4
  %28 = call i32 @llvm.amdgcn.wavefrontsize()
  %29 = icmp ult i32 %27, %28
  br i1 %29, label %30, label %48

30:                                               ; preds = %26
  %31 = load i32, ptr addrspace(5) %5, align 4
  %32 = load i32, ptr addrspace(5) %7, align 4
  %33 = sub i32 %31, %32
  %34 = mul i32 %33, 4
  %35 = load i32, ptr addrspace(5) %6, align 4
  %36 = call i32 @llvm.amdgcn.ds.bpermute(i32 %34, i32 %35)
  store i32 %36, ptr addrspace(5) %8, align 4
  %37 = load i32, ptr addrspace(5) %5, align 4
  %38 = load i32, ptr addrspace(5) %7, align 4
  %39 = icmp uge i32 %37, %38
  br i1 %39, label %40, label %44

40:                                               ; preds = %30
  %41 = load i32, ptr addrspace(5) %8, align 4
  %42 = load i32, ptr addrspace(5) %6, align 4
  %43 = add nsw i32 %42, %41
  store i32 %43, ptr addrspace(5) %6, align 4
  br label %44

44:                                               ; preds = %40, %30
  br label %45

45:                                               ; preds = %44
  %46 = load i32, ptr addrspace(5) %7, align 4
  %47 = mul i32 %46, 2
  store i32 %47, ptr addrspace(5) %7, align 4
  br label %26

48:                                               ; preds = %26
  %49 = load i32, ptr addrspace(5) %6, align 4
  %50 = load ptr addrspace(1), ptr %10, align 8
  %51 = call i32 @group() #8
  %52 = mul i32 %51, 256
  %53 = call i32 @thread() #8
  %54 = add i32 %52, %53
  %55 = zext i32 %54 to i64
  %56 = getelementptr inbounds nuw i32, ptr addrspace(1) %50, i64 %55
  store i32 %49, ptr addrspace(1) %56, align 4
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected amdgpu_kernel void @sum_in_two_steps(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, ptr addrspace(1) noundef align 4 %2, ptr addrspace(1) noundef align 4 %3, i32 noundef %4) #0 !kernel_arg_addr_space !22 !kernel_arg_access_qual !23 !kernel_arg_type !24 !kernel_arg_base_type !24 !kernel_arg_type_qual !25 !reqd_work_group_size !9 {
  %6 = alloca ptr addrspace(1), align 8, addrspace(5)
  %7 = alloca ptr addrspace(1), align 8, addrspace(5)
  %8 = alloca ptr addrspace(1), align 8, addrspace(5)
  %9 = alloca ptr addrspace(1), align 8, addrspace(5)
  %10 = alloca i32, align 4, addrspace(5)
  %11 = addrspacecast ptr addrspace(5) %6 to ptr
  %12 = addrspacecast ptr addrspace(5) %7 to ptr
  %13 = addrspacecast ptr addrspace(5) %8 to ptr
  %14 = addrspacecast ptr addrspace(5) %9 to ptr
  %15 = addrspacecast ptr addrspace(5) %10 to ptr
  store ptr addrspace(1) %0, ptr %11, align 8
  store ptr addrspace(1) %1, ptr %12, align 8
  store ptr addrspace(1) %2, ptr %13, align 8
  store ptr addrspace(1) %3, ptr %14, align 8
  store i32 %4, ptr %15, align 4
  %16 = load ptr addrspace(1), ptr %11, align 8
  %17 = load ptr addrspace(1), ptr %12, align 8
  %18 = load ptr addrspace(1), ptr %13, align 8
  %19 = load ptr addrspace(1), ptr %14, align 8
  %20 = load i32, ptr %15, align 4
  call void @__clang_ocl_kern_imp_sum_in_two_steps(ptr addrspace(1) noundef align 4 %16, ptr addrspace(1) noundef align 4 %17, ptr addrspace(1) noundef align 4 %18, ptr addrspace(1) noundef align 4 %19, i32 noundef %20) #8
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define protected void @__clang_ocl_kern_imp_sum_in_two_steps(ptr addrspace(1) noundef align 4 %0, ptr addrspace(1) noundef align 4 %1, ptr addrspace(1) noundef align 4 %2, ptr addrspace(1) noundef align 4 %3, i32 noundef %4) #1 !kernel_arg_addr_space !22 !kernel_arg_access_qual !23 !kernel_arg_type !24 !kernel_arg_base_type !24 !kernel_arg_type_qual !25 !reqd_work_group_size !9 {
  %6 = alloca ptr addrspace(1), align 8, addrspace(5)
  %7 = alloca ptr addrspace(1), align 8, addrspace(5)
  %8 = alloca ptr addrspace(1), align 8, addrspace(5)
  %9 = alloca ptr addrspace(1), align 8, addrspace(5)
  %10 = alloca i32, align 4, addrspace(5)
  %11 = alloca i32, align 4, addrspace(5)
  %12 = alloca i32, align 4, addrspace(5)
  %13 = alloca i32, align 4, addrspace(5)
  %14 = alloca float, align 4, addrspace(5)
  %15 = alloca i32, align 4, addrspace(5)
  %16 = addrspacecast ptr addrspace(5) %6 to ptr
  %17 = addrspacecast ptr addrspace(5) %7 to ptr
  %18 = addrspacecast ptr addrspace(5) %8 to ptr
  %19 = addrspacecast ptr addrspace(5) %9 to ptr
  %20 = addrspacecast ptr addrspace(5) %10 to ptr
  %21 = addrspacecast ptr addrspace(5) %12 to ptr
  %22 = addrspacecast ptr addrspace(5) %13 to ptr
  store ptr addrspace(1) %0, ptr %16, align 8
  store ptr addrspace(1) %1, ptr %17, align 8
  store ptr addrspace(1) %2, ptr %18, align 8
  store ptr addrspace(1) %3, ptr %19, align 8
  store i32 %4, ptr %20, align 4
  %23 = load ptr addrspace(1), ptr %16, align 8
  %24 = call i32 @group() #8
  %25 = mul i32 %24, 256
  %26 = call i32 @thread() #8
  %27 = add i32 %25, %26
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw float, ptr addrspace(1) %23, i64 %28
  %30 = load float, ptr addrspace(1) %29, align 4
  %31 = call i32 @thread() #8
  %32 = zext i32 %31 to i64
  %33 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @sum_in_two_steps.shared, i64 0, i64 %32
  store float %30, ptr addrspace(3) %33, align 4
  call void @barrier_local() #8
  store i32 128, ptr addrspace(5) %11, align 4
  br label %34

34:                                               ; preds = %54, %5
  %35 = load i32, ptr addrspace(5) %11, align 4
  %36 = icmp ugt i32 %35, 0
  br i1 %36, label %37, label %57

37:                                               ; preds = %34
  %38 = call i32 @thread() #8
  %39 = load i32, ptr addrspace(5) %11, align 4
  %40 = icmp ult i32 %38, %39
  br i1 %40, label %41, label %53

41:                                               ; preds = %37
  %42 = call i32 @thread() #8
  %43 = load i32, ptr addrspace(5) %11, align 4
  %44 = add i32 %42, %43
  %45 = zext i32 %44 to i64
  %46 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @sum_in_two_steps.shared, i64 0, i64 %45
  %47 = load float, ptr addrspace(3) %46, align 4
  %48 = call i32 @thread() #8
  %49 = zext i32 %48 to i64
  %50 = getelementptr inbounds nuw [256 x float], ptr addrspace(3) @sum_in_two_steps.shared, i64 0, i64 %49
  %51 = load float, ptr addrspace(3) %50, align 4
  %52 = fadd contract float %51, %47
  store float %52, ptr addrspace(3) %50, align 4
  br label %53

53:                                               ; preds = %41, %37
  call void @barrier_local() #8
  br label %54

54:                                               ; preds = %53
  %55 = load i32, ptr addrspace(5) %11, align 4
  %56 = udiv i32 %55, 2
  store i32 %56, ptr addrspace(5) %11, align 4
  br label %34

57:                                               ; preds = %34
  %58 = call i32 @thread() #8
  %59 = icmp eq i32 %58, 0
  br i1 %59, label %60, label %70

60:                                               ; preds = %57
  %61 = load float, ptr addrspace(3) @sum_in_two_steps.shared, align 4
  %62 = load ptr addrspace(1), ptr %17, align 8
  %63 = call i32 @group() #8
  %64 = zext i32 %63 to i64
  %65 = getelementptr inbounds nuw float, ptr addrspace(1) %62, i64 %64
  store float %61, ptr addrspace(1) %65, align 4
  fence syncscope("agent") release
  %66 = load ptr addrspace(1), ptr %18, align 8
  store i32 1, ptr %21, align 4
  %67 = load i32, ptr %21, align 4
  %68 = atomicrmw add ptr addrspace(1) %66, i32 %67 syncscope("agent") monotonic, align 4, !amdgpu.no.fine.grained.memory !14, !amdgpu.no.remote.memory !14
  store i32 %68, ptr %22, align 4
  %69 = load i32, ptr %22, align 4
  store i32 %69, ptr addrspace(3) @sum_in_two_steps.mine, align 4
  fence syncscope("agent") acquire
  br label %70

70:                                               ; preds = %60, %57
  call void @barrier_local() #8
  %71 = load i32, ptr addrspace(3) @sum_in_two_steps.mine, align 4
  %72 = load i32, ptr %20, align 4
  %73 = sub i32 %72, 1
  %74 = icmp eq i32 %71, %73
  br i1 %74, label %75, label %97

75:                                               ; preds = %70
  %76 = call i32 @thread() #8
  %77 = icmp eq i32 %76, 0
  br i1 %77, label %78, label %97

78:                                               ; preds = %75
  store float 0.000000e+00, ptr addrspace(5) %14, align 4
  store i32 0, ptr addrspace(5) %15, align 4
  br label %79

79:                                               ; preds = %91, %78
  %80 = load i32, ptr addrspace(5) %15, align 4
  %81 = load i32, ptr %20, align 4
  %82 = icmp ult i32 %80, %81
  br i1 %82, label %83, label %94

83:                                               ; preds = %79
  %84 = load ptr addrspace(1), ptr %17, align 8
  %85 = load i32, ptr addrspace(5) %15, align 4
  %86 = zext i32 %85 to i64
  %87 = getelementptr inbounds nuw float, ptr addrspace(1) %84, i64 %86
  %88 = load float, ptr addrspace(1) %87, align 4
  %89 = load float, ptr addrspace(5) %14, align 4
  %90 = fadd contract float %89, %88
  store float %90, ptr addrspace(5) %14, align 4
  br label %91

91:                                               ; preds = %83
  %92 = load i32, ptr addrspace(5) %15, align 4
  %93 = add i32 %92, 1
  store i32 %93, ptr addrspace(5) %15, align 4
  br label %79

94:                                               ; preds = %79
  %95 = load float, ptr addrspace(5) %14, align 4
  %96 = load ptr addrspace(1), ptr %19, align 8
  store float %95, ptr addrspace(1) %96, align 4
  br label %97

97:                                               ; preds = %94, %75, %70
  ret void
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define internal i32 @thread() #2 {
  %1 = alloca i32, align 4, addrspace(5)
  %2 = addrspacecast ptr addrspace(5) %1 to ptr
  %3 = call i32 @llvm.amdgcn.workitem.id.x()
  ret i32 %3
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define internal i32 @group_y() #2 {
  %1 = alloca i32, align 4, addrspace(5)
  %2 = addrspacecast ptr addrspace(5) %1 to ptr
  %3 = call i32 @llvm.amdgcn.workgroup.id.y()
  ret i32 %3
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define internal i32 @group() #2 {
  %1 = alloca i32, align 4, addrspace(5)
  %2 = addrspacecast ptr addrspace(5) %1 to ptr
  %3 = call i32 @llvm.amdgcn.workgroup.id.x()
  ret i32 %3
}

; Function Attrs: convergent noinline norecurse nounwind optnone
define internal void @barrier_local() #2 {
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.y() #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #3

; Function Attrs: convergent nocallback nofree nounwind willreturn
declare void @llvm.amdgcn.s.barrier() #4

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #5

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.amdgcn.exp2.f32(float) #5

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.amdgcn.rcp.f32(float) #5

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32) #6

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 32, 65) i32 @llvm.amdgcn.wavefrontsize() #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32) #6

; Function Attrs: convergent nocallback nofree nounwind willreturn memory(none)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32) #7

attributes #0 = { convergent noinline norecurse nounwind optnone "amdgpu-flat-work-group-size"="256,256" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" "uniform-work-group-size"="false" }
attributes #1 = { convergent noinline norecurse nounwind optnone "amdgpu-flat-work-group-size"="256,256" "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" }
attributes #2 = { convergent noinline norecurse nounwind optnone "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="gfx90a" "target-features"="+16-bit-insts,+atomic-buffer-global-pk-add-f16-insts,+atomic-fadd-rtn-insts,+atomic-fmin-fmax-global-f64,+ci-insts,+cube-insts,+cvt-pknorm-vop2-insts,+dl-insts,+dot1-insts,+dot10-insts,+dot2-insts,+dot3-insts,+dot4-insts,+dot5-insts,+dot6-insts,+dot7-insts,+dpp,+gfx8-insts,+gfx9-insts,+gfx90a-insts,+lerp-inst,+mai-insts,+qsad-insts,+s-memrealtime,+s-memtime-inst,+sad-insts,+wavefrontsize64" }
attributes #3 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nocallback nofree nounwind willreturn }
attributes #5 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }
attributes #7 = { convergent nocallback nofree nounwind willreturn memory(none) }
attributes #8 = { convergent nounwind }

!llvm.module.flags = !{!0, !1, !2, !3}
!opencl.ocl.version = !{!4}

!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!3 = !{i32 7, !"frame-pointer", i32 2}
!4 = !{i32 2, i32 0}
!5 = !{i32 1, i32 1, i32 1, i32 0}
!6 = !{!"none", !"none", !"none", !"none"}
!7 = !{!"float*", !"float*", !"float*", !"int"}
!8 = !{!"const", !"const", !"", !""}
!9 = !{i32 256, i32 1, i32 1}
!10 = !{i32 1, i32 1, i32 0}
!11 = !{!"none", !"none", !"none"}
!12 = !{!"int*", !"int*", !"int"}
!13 = !{!"const", !"", !""}
!14 = !{}
!15 = !{!"uchar*", !"uint*", !"int"}
!16 = !{!"float*", !"float*", !"int"}
!17 = !{!"short*", !"short*", !"int"}
!18 = !{i32 1, i32 1}
!19 = !{!"none", !"none"}
!20 = !{!"int*", !"int*"}
!21 = !{!"const", !""}
!22 = !{i32 1, i32 1, i32 1, i32 1, i32 0}
!23 = !{!"none", !"none", !"none", !"none", !"none"}
!24 = !{!"float*", !"float*", !"uint*", !"float*", !"uint"}
!25 = !{!"const", !"", !"", !"", !""}
