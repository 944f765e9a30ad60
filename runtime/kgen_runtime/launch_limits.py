"""Launch limits of each kind of device, and the check of launches against them.

A driver reports an excess only when the kernel is launched. Code that plans, packs, checks,
verifies, emulates or loads a kernel therefore calls `refusal` or `kernel_refusal` first. The limits
of targets are defined in this module only.

Sources:

- CUDA C++ Programming Guide 12.9, "Technical Specifications per Compute Capability" and "Thread
  Block Clusters"
- NVIDIA's cuda_occupancy.h, cudaOccMaxBlocksPerSMRegsLimit: allocation of a CTA's registers
- PTX ISA 8.7, "Kernel Function Parameters"
- LLVM 22, AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule,
  getAddressableLocalMemorySize), and AMDGPUUsage, "Kernel Descriptor"
- HSA Platform System Architecture, "Kernel dispatch packet"
- HIP, hipModuleLaunchKernel
- Vulkan 1.3, "Required Limits"
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

from kgen_runtime.manifest import Extent3, KernelEntry, Launch
from kgen_runtime.values import frozen

KIB = 1024
#: Value of a limit that a device does not have, or that no 63-bit number exceeds.
UNLIMITED = 2**63 - 1


@frozen
class Registers:
    """Register file of a workgroup: `file` registers in all, at most `per_thread` for a thread.

    Registers are allocated per subgroup of `lanes` threads, in multiples of `unit` per thread. The
    file is divided into `parts` (partitions of an SM, SIMDs of a CU), over which subgroups are
    distributed in turn.
    """

    per_thread: int
    file: int
    unit: int
    lanes: int
    parts: int = 4

    def needed(self, per_thread: int, threads: int) -> int:
        """Return the registers that a workgroup allocates, with all parts as full as the fullest
        one."""
        subgroups = -(-threads // self.lanes)
        each = -(-per_thread // self.unit) * self.unit * self.lanes
        return each * -(-subgroups // self.parts) * self.parts


@frozen
class Limits:
    """Largest launch that a device supports.

    - `grid`: workgroups in each dimension; `block`: threads in each dimension
    - `grid_threads`: product of both in one dimension
    - `workgroup`: threads of a workgroup in all dimensions; `cluster`: workgroups of a cluster
    - `shared_memory`: bytes of a workgroup, of which code may declare `static_shared_memory`
    - `parameters`: bytes; `buffers`: number of tensors; `buffer_bytes`: bytes of one tensor
    """

    device: str
    grid: Extent3
    block: Extent3
    workgroup: int
    grid_threads: int = UNLIMITED
    cluster: int = 1
    shared_memory: int
    static_shared_memory: int
    registers: Registers | None = None
    parameters: int = UNLIMITED
    buffers: int = UNLIMITED
    buffer_bytes: int = UNLIMITED


@frozen
class Usage:
    """Resources of a kernel's code that its launch does not state.

    - `static_shared_memory`: bytes per workgroup; `registers`: per thread
    - `parameters`: bytes; `buffers`: number of tensors; `buffer_bytes`: bytes of the largest tensor
    """

    static_shared_memory: int = 0
    registers: int = 0
    parameters: int = 0
    buffers: int = 0
    buffer_bytes: int = 0


NOTHING_BESIDE = Usage()


def refusal(launch: Launch, limits: Limits, usage: Usage = NOTHING_BESIDE) -> str | None:
    """Return why no device with these limits launches this, or None. The reason is one line with
    value, limit and remedy."""
    return next(_excesses(launch, limits, usage), None)


def kernel_refusal(entry: KernelEntry, limits: Limits) -> str | None:
    """Return why no device with these limits launches the kernel, or None. Resources are read from
    the manifest. The message names the launch if there are several."""
    maps = {map_.name for map_ in entry.tensor_maps}
    sizes = entry.sizes
    used = entry.resources
    # The manifest states the maximum over the kernels of a module.
    static = max(0, (used.shared_memory or 0) - entry.launches[0].dynamic_shared_memory)
    for launch in entry.launches:
        usage = Usage(
            static_shared_memory=static,
            registers=used.registers or 0,
            parameters=parameter_bytes(launch, maps),
            buffers=len(launch.arguments),
            buffer_bytes=max((sizes.get(a, 0) for a in launch.arguments), default=0),
        )
        if (why := refusal(launch, limits, usage)) is not None:
            return why if len(entry.launches) == 1 else f"{launch.entry_point}: {why}"
    return None


def parameter_bytes(launch: Launch, maps: Collection[str]) -> int:
    """Return the bytes of a launch's pointers and tensor maps in C layout."""
    end = 0
    for argument in launch.arguments:
        size, align = MAP if argument in maps else POINTER
        end = -(-end // align) * align + size
    return end


def limits_of(entry: KernelEntry) -> Limits:
    """Return the limits of the kernel's target; for Vulkan, the limits that its code requires."""
    if entry.target.family != "vulkan":
        return target_limits(entry.target.family, entry.target.arch)
    declared: dict[str, int] = {}
    for artifact in entry.artifacts:
        declared |= artifact.requires.get("limits", {})
    return vulkan_limits(declared, entry.target.name)


def target_limits(family: str, arch: str) -> Limits:
    """Return the limits that every device of a target supports."""
    if family == "cuda":
        return cuda_limits(arch)
    if family == "amdgpu":
        return amdgpu_limits(arch)
    return vulkan_limits({}, arch) if family == "vulkan" else CPU


def known_devices(family: str) -> tuple[str, ...]:
    """Return the compilers' names of the NVIDIA (`cuda`) or AMD GPUs whose own limits are known."""
    if family == "amdgpu":
        return tuple(_AMDGPU)
    # Suffixes "a" and "f": features of one architecture and of its family (PTX ISA 8.8, ".target").
    suffixes = {number: ("", "a", "f")[: 1 + (number >= 90) + (number >= 100)] for number in _CUDA}
    return tuple(f"sm_{number}{suffix}" for number in _CUDA for suffix in suffixes[number])


#: Size and alignment, in bytes, of a pointer and of a tensor map among a kernel's parameters.
POINTER, MAP = (8, 8), (128, 64)

_SMALLER = "try fewer stages or a smaller block tile"
_FEWER = "try a larger block tile or a smaller shape"
_LIGHTER = "try a smaller tile per thread or warp"


def _excesses(launch: Launch, limits: Limits, usage: Usage) -> Iterator[str]:
    """Yield one message for each limit that the launch exceeds."""
    for name in ("grid", "block", "cluster"):
        extent: Extent3 = getattr(launch, name)
        if min(extent) < 1:
            yield f"{name}={extent} is empty; each number must be 1 or more"
    if launch.dynamic_shared_memory < 0:
        yield f"{launch.dynamic_shared_memory} bytes of dynamic shared memory; it must be 0 or more"
    for value, limit, what, remedy in _measures(launch, limits, usage):
        if value > limit:
            yield f"{value} {what}; {limits.device} allows {limit}; {remedy}"
    for axis, groups, cluster in zip("xyz", launch.grid, launch.cluster, strict=True):
        if groups % cluster:
            yield (
                f"{groups} workgroups along {axis} of the grid are not a multiple of the cluster "
                f"of {cluster}; try {-(-groups // cluster) * cluster}"
            )


#: Value, limit, name of the measured quantity, and remedy if the value exceeds the limit.
_Measure = tuple[int, int, str, str]


def _measures(launch: Launch, limits: Limits, usage: Usage) -> Iterator[_Measure]:
    sizes = zip("xyz", launch.grid, limits.grid, launch.block, limits.block, strict=True)
    for axis, groups, most, width, widest in sizes:
        yield groups, most, f"workgroups along {axis} of the grid", _FEWER
        yield groups * width, limits.grid_threads, f"threads along {axis} of the grid", _FEWER
        yield width, widest, f"threads along {axis} of a workgroup", f"try {widest} or fewer"
    threads, most = math.prod(launch.block), limits.workgroup
    yield threads, most, "threads per workgroup", f"try {most} or fewer"
    most = limits.cluster
    fewer = f"try {most} or fewer" if most > 1 else "leave the cluster out"
    yield math.prod(launch.cluster), most, "workgroups in a cluster", fewer
    static, dynamic = usage.static_shared_memory, launch.dynamic_shared_memory
    parts = f" ({static} static, {dynamic} dynamic)" if static and dynamic else ""
    shared = f"bytes of shared memory{parts}"
    yield static + dynamic, limits.shared_memory, shared, _SMALLER
    most = limits.static_shared_memory
    yield static, most, "bytes of static shared memory", "make it dynamic shared memory"
    if (file := limits.registers) is not None:
        each, needed = usage.registers, file.needed(usage.registers, threads)
        yield each, file.per_thread, "registers per thread", _LIGHTER
        yield needed, file.file, f"registers for {threads} threads of {each} each", _LIGHTER
    yield usage.parameters, limits.parameters, "bytes of parameters", "pass fewer"
    yield (
        usage.buffers,
        limits.buffers,
        "tensors",
        "use an expression or epilogue with fewer tensors",
    )
    yield usage.buffer_bytes, limits.buffer_bytes, "bytes in a tensor", "split the problem"


# -- NVIDIA ---------------------------------------------------------------------------------------


def _cuda(shared: int, *, file: int = 64 * KIB, cluster: int = 1) -> Limits:
    """Return the limits of one compute capability. `shared`: KiB per block after opt-in."""
    return Limits(
        device="",
        grid=(2**31 - 1, 65535, 65535),
        block=(1024, 1024, 64),
        workgroup=1024,
        cluster=cluster,
        shared_memory=shared * KIB,
        static_shared_memory=48 * KIB,
        registers=Registers(per_thread=255, file=file, unit=8, lanes=32),
        parameters=32764,
    )


#: Limits by compute capability. Clusters of 8 are portable; some chips run 16 if the kernel opts
#: in.
_CUDA: Mapping[int, Limits] = {
    50: _cuda(48),
    52: _cuda(48),
    53: _cuda(48, file=32 * KIB),
    60: _cuda(48),
    61: _cuda(48),
    62: _cuda(48, file=32 * KIB),
    70: _cuda(96),
    72: _cuda(96),
    75: _cuda(64),
    80: _cuda(163),
    86: _cuda(99),
    87: _cuda(163),
    89: _cuda(99),
    90: _cuda(227, cluster=16),
    100: _cuda(227, cluster=16),
    101: _cuda(227, cluster=16),
    103: _cuda(227, cluster=16),
    110: _cuda(227, cluster=16),
    120: _cuda(99, cluster=8),
    121: _cuda(99, cluster=8),
}


#: Limits of an unknown device: those of the largest known one. Its driver checks the exact ones.
_ANY_CUDA = _cuda(227, cluster=16)


def cuda_limits(arch: str) -> Limits:
    """Return the limits of sm_80, sm_90a and so on; for an unknown name, those of the largest known
    GPU."""
    number = arch.removeprefix("sm_").rstrip("af")
    found = _CUDA.get(int(number), _ANY_CUDA) if number.isdecimal() else _ANY_CUDA
    return dataclasses.replace(found, device=arch or "any NVIDIA GPU")


# -- AMD ------------------------------------------------------------------------------------------

#: SIMDs over which the waves of one workgroup are distributed.
SIMDS = 4


def _amdgpu(wave: int, *, lds: int, per_lane: int, of_simd: int, unit: int) -> Limits:
    """Return the limits of an AMD GPU.

    `lds`: KiB per workgroup; `per_lane`: vector registers of a lane; `of_simd`: registers per lane
    for all waves on a SIMD; `unit`: allocation granularity of registers.
    """
    return Limits(
        device="",
        # The dispatch packet has 32 bits for the threads of a dimension; HIP limits y and z to 16
        # bits.
        grid=(2**31 - 1, 65535, 65535),
        grid_threads=2**32 - 1,
        block=(1024, 1024, 1024),
        workgroup=1024,
        shared_memory=lds * KIB,
        static_shared_memory=lds * KIB,
        registers=Registers(
            per_thread=per_lane, file=of_simd * wave * SIMDS, unit=unit, lanes=wave, parts=SIMDS
        ),
        # The kernel descriptor stores the size in 32 bits.
        parameters=2**32 - 1,
    )


_CDNA = _amdgpu(64, lds=64, per_lane=512, of_simd=512, unit=8)
_GCN = _amdgpu(64, lds=64, per_lane=256, of_simd=256, unit=4)
_RDNA1 = _amdgpu(32, lds=64, per_lane=256, of_simd=1024, unit=8)
_RDNA2 = _amdgpu(32, lds=64, per_lane=256, of_simd=1024, unit=16)
#: Chips with the larger register file.
_RDNA3 = _amdgpu(32, lds=64, per_lane=256, of_simd=1536, unit=24)

_AMDGPU: Mapping[str, Limits] = {
    **dict.fromkeys(("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"), _GCN),
    "gfx908": dataclasses.replace(_CDNA, registers=_GCN.registers),
    **dict.fromkeys(("gfx90a", "gfx940", "gfx941", "gfx942"), _CDNA),
    "gfx950": dataclasses.replace(_CDNA, shared_memory=160 * KIB, static_shared_memory=160 * KIB),
    **dict.fromkeys(("gfx1010", "gfx1011", "gfx1012", "gfx1013"), _RDNA1),
    **dict.fromkeys((f"gfx103{i}" for i in range(7)), _RDNA2),
    **dict.fromkeys(("gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"), _RDNA3),
    **dict.fromkeys(("gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153"), _RDNA2),
}


_ANY_AMDGPU = dataclasses.replace(_AMDGPU["gfx950"], registers=None)


def amdgpu_limits(arch: str) -> Limits:
    """Return the limits of gfx942 and so on; for an unknown name, those of gfx950 without
    registers."""
    found = _AMDGPU.get(arch.partition(":")[0], _ANY_AMDGPU)
    return dataclasses.replace(found, device=arch or "any AMD GPU")


# -- Vulkan and CPUs ------------------------------------------------------------------------------

#: Smallest value that Vulkan allows for each limit of VkPhysicalDeviceLimits. A limit per dimension
#: is represented by the dimension that kernels use: the smallest count, the first size.
VULKAN_GUARANTEED: Mapping[str, int] = {
    "maxComputeSharedMemorySize": 16 * KIB,
    "maxComputeWorkGroupCount": 65535,
    "maxComputeWorkGroupInvocations": 128,
    "maxComputeWorkGroupSize": 128,
    "maxPerStageDescriptorStorageBuffers": 4,
    "maxStorageBufferRange": 128 * KIB * KIB,
}


def vulkan_limits(has: Mapping[str, int], device: str) -> Limits:
    """Return the limits of a device with the limits `has`, and Vulkan's guaranteed minimum for the
    others."""
    values = {**VULKAN_GUARANTEED, **has}
    count, shared = values["maxComputeWorkGroupCount"], values["maxComputeSharedMemorySize"]
    return Limits(
        device=device,
        grid=(count, count, count),
        block=(values["maxComputeWorkGroupSize"], 128, 64),
        workgroup=values["maxComputeWorkGroupInvocations"],
        shared_memory=shared,
        static_shared_memory=shared,
        buffers=values["maxPerStageDescriptorStorageBuffers"],
        buffer_bytes=values["maxStorageBufferRange"],
    )


#: Most pointers that libkgen passes to a function (MAX_POINTERS in runtime/c/internal.h). Tasks are
#: counted in 64 bits.
CPU_POINTERS = 24
CPU = Limits(
    device="the CPU",
    grid=(UNLIMITED, 1, 1),
    block=(1, 1, 1),
    workgroup=1,
    shared_memory=0,
    static_shared_memory=0,
    buffers=CPU_POINTERS,
)
