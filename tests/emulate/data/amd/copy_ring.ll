; out[i] = sum over rounds of in[round, 127 - i]: u32, two waves of 64, for CDNA 3 (gfx942).
;
; Each wave loads 64 words of a round straight into LDS, one round ahead, in two stages; each lane
; reads what the other wave has loaded. A release fence waits for the loads of its own wave.
;
; Launch: 128 threads, one workgroup.
target triple = "amdgcn-amd-amdhsa"

@ring = internal addrspace(3) global [2 x [128 x i32]] poison, align 16

define amdgpu_kernel void @copy_ring(
    ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %count) #0 {
entry:
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %first = and i32 %thread, 64
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %first)
  %to = getelementptr [2 x [128 x i32]], ptr addrspace(3) @ring, i32 0, i32 0, i32 %wave
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %thread
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %from, ptr addrspace(3) %to, i32 4, i32 0, i32 0)
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %loop

loop:
  %round = phi i32 [ 0, %entry ], [ %round.next, %read ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %read ]
  %round.next = add i32 %round, 1
  %more = icmp ult i32 %round.next, %count
  br i1 %more, label %ahead, label %read

ahead:
  %ahead.stage = and i32 %round.next, 1
  %ahead.to = getelementptr [2 x [128 x i32]], ptr addrspace(3) @ring, i32 0, i32 %ahead.stage, i32 %wave
  %ahead.word = mul i32 %round.next, 128
  %ahead.from = getelementptr i32, ptr addrspace(1) %from, i32 %ahead.word
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %ahead.from, ptr addrspace(3) %ahead.to, i32 4, i32 0, i32 0)
  br label %read

read:
  %stage = and i32 %round, 1
  %other = xor i32 %thread, 127
  %at = getelementptr [2 x [128 x i32]], ptr addrspace(3) @ring, i32 0, i32 %stage, i32 %other
  %word = load i32, ptr addrspace(3) %at, align 4
  %sum.next = add i32 %sum, %word
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %more, label %loop, label %done

done:
  %out.at = getelementptr i32, ptr addrspace(1) %out, i32 %thread
  store i32 %sum.next, ptr addrspace(1) %out.at, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32 immarg, i32 immarg, i32 immarg)

attributes #0 = { "target-cpu"="gfx942" "amdgpu-flat-work-group-size"="128,128" }

; on a fence: of global memory alone
!0 = !{!"amdgpu-synchronize-as", !"global"}
