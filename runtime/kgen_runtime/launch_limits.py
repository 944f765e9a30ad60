"""Limits of a launch on each kind of device, and the one check of launches against them.

A driver refuses a launch beyond these limits only when the kernel is launched. So code that plans,
packs, checks, verifies, emulates or loads a kernel calls `refusal` or `kernel_refusal` first. The
limits of a target are defined here and nowhere else.

Sources: CUDA C++ Programming Guide 12.9, "Technical Specifications per Compute Capability" and
"Thread Block Clusters"; NVIDIA's cuda_occupancy.h, cudaOccMaxBlocksPerSMRegsLimit, for how the
hardware counts a CTA's registers; PTX ISA 8.7, "Kernel Function Parameters"; LLVM 22,
AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule, getAddressableLocalMemorySize) and
AMDGPUUsage, "Kernel Descriptor"; HSA Platform System Architecture, "Kernel dispatch packet"; HIP,
hipModuleLaunchKernel; Vulkan 1.3, "Required Limits".
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

from kgen_runtime.manifest import Extent3, KernelEntry, Launch
from kgen_runtime.values import frozen

KIB = 1024
#: Stands where a device has no limit of a kind, or none that a number of 63 bits could pass.
UNLIMITED = 2**63 - 1


@frozen
class Registers:
    """A thread has `per_thread` at most; those of all threads of a workgroup come from a `file`.

    They are given to a subgroup of `lanes` threads at a time, `unit` or a multiple for each thread,
    and the file is cut in `parts` that hold subgroups in turn: an SM's partitions, a CU's SIMDs.
    """

    per_thread: int
    file: int
    unit: int
    lanes: int
    parts: int = 4

    def needed(self, per_thread: int, threads: int) -> int:
        """Return the registers that a workgroup takes: all parts count as equally full."""
        subgroups = -(-threads // self.lanes)
        each = -(-per_thread // self.unit) * self.unit * self.lanes
        return each * -(-subgroups // self.parts) * self.parts


@frozen
class Limits:
    """The most that one launch may have on a device.

    `grid` counts workgroups and `block` threads, by dimension; `grid_threads` is the product of
    both in a dimension, `workgroup` the threads of all three, `cluster` the workgroups of a
    cluster. `shared_memory` is what a workgroup has in bytes, of which the code may declare
    `static_shared_memory`. `parameters` are bytes; `buffers` tensors, of `buffer_bytes` each.
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
    """Resources of a kernel's code that its launch does not state: registers per thread, bytes of
    `static_shared_memory` per workgroup and of `parameters`, tensors, bytes of the largest one."""

    static_shared_memory: int = 0
    registers: int = 0
    parameters: int = 0
    buffers: int = 0
    buffer_bytes: int = 0


NOTHING_BESIDE = Usage()


def refusal(launch: Launch, limits: Limits, usage: Usage = NOTHING_BESIDE) -> str | None:
    """Why no such device launches this, or None: value, limit and remedy in one line."""
    return next(_excesses(launch, limits, usage), None)


def kernel_refusal(entry: KernelEntry, limits: Limits) -> str | None:
    """Return the refusal of a kernel's launches, whose resources its manifest states. The message
    names the launch if there are several."""
    maps = {map_.name for map_ in entry.tensor_maps}
    sizes = entry.sizes
    used = entry.resources
    # Of several kernels in a module the manifest has the most that one of them takes.
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
    """Return the bytes of a launch's pointers and tensor maps, as C lays them out."""
    end = 0
    for argument in launch.arguments:
        size, align = MAP if argument in maps else POINTER
        end = -(-end // align) * align + size
    return end


def limits_of(entry: KernelEntry) -> Limits:
    """Return the limits of the kernel's target; for Vulkan, those that its code requires."""
    if entry.target.family != "vulkan":
        return target_limits(entry.target.family, entry.target.arch)
    declared: dict[str, int] = {}
    for artifact in entry.artifacts:
        declared |= artifact.requires.get("limits", {})
    return vulkan_limits(declared, entry.target.name)


def target_limits(family: str, arch: str) -> Limits:
    """Return the limits that every device of a target has."""
    if family == "cuda":
        return cuda_limits(arch)
    if family == "amdgpu":
        return amdgpu_limits(arch)
    return vulkan_limits({}, arch) if family == "vulkan" else CPU


def known_devices(family: str) -> tuple[str, ...]:
    """Return compilers' names of the NVIDIA (`cuda`) or AMD GPUs whose own limits are known."""
    if family == "amdgpu":
        return tuple(_AMDGPU)
    # Those with features of their own, then of their family (PTX ISA 8.8, ".target").
    suffixes = {number: ("", "a", "f")[: 1 + (number >= 90) + (number >= 100)] for number in _CUDA}
    return tuple(f"sm_{number}{suffix}" for number in _CUDA for suffix in suffixes[number])


#: Bytes that an argument has among a kernel's parameters, and that it is aligned to.
POINTER, MAP = (8, 8), (128, 64)

_SMALLER = "try fewer stages or a smaller block tile"
_FEWER = "try a larger block tile or a smaller shape"
_LIGHTER = "try a smaller tile per thread or warp"


def _excesses(launch: Launch, limits: Limits, usage: Usage) -> Iterator[str]:
    """Yield one line for each limit that the launch exceeds."""
    for name in ("grid", "block", "cluster"):
        extent: Extent3 = getattr(launch, name)
        if min(extent) < 1:
            yield f"{name}={extent} is empty; each number must be 1 or more"
    if launch.dynamic_shared_memory < 0:
        yield f"{launch.dynamic_shared_memory} bytes of dynamic shared memory; give 0 or more"
    for value, limit, what, remedy in _measures(launch, limits, usage):
        if value > limit:
            yield f"{value} {what}; {limits.device} allows {limit}; {remedy}"
    for axis, groups, cluster in zip("xyz", launch.grid, launch.cluster, strict=True):
        if groups % cluster:
            yield (
                f"{groups} workgroups along {axis} of the grid are not a multiple of the cluster "
                f"of {cluster}; try {-(-groups // cluster) * cluster}"
            )


#: A value, its limit, what it is and what to do where it is beyond.
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
    """`shared`: KiB per block after opt-in."""
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


#: By compute capability. Clusters of 8 are portable; some chips run 16 with the kernel's leave.
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


#: What the largest one allows stands for a device that is not known; its driver knows more.
_ANY_CUDA = _cuda(227, cluster=16)


def cuda_limits(arch: str) -> Limits:
    """Return the limits of sm_80, sm_90a and so on; of an unknown one, those that all share."""
    number = arch.removeprefix("sm_").rstrip("af")
    found = _CUDA.get(int(number), _ANY_CUDA) if number.isdecimal() else _ANY_CUDA
    return dataclasses.replace(found, device=arch or "any NVIDIA GPU")


# -- AMD ------------------------------------------------------------------------------------------

#: The four SIMDs that one workgroup's waves are given to.
SIMDS = 4


def _amdgpu(wave: int, *, lds: int, per_lane: int, of_simd: int, unit: int) -> Limits:
    """`lds`: KiB per workgroup; vector registers of a lane, `of_simd` for all waves on a SIMD."""
    return Limits(
        device="",
        # A dimension has 32 bits of threads in the dispatch packet; HIP allows 16 bits of y and z.
        grid=(2**31 - 1, 65535, 65535),
        grid_threads=2**32 - 1,
        block=(1024, 1024, 1024),
        workgroup=1024,
        shared_memory=lds * KIB,
        static_shared_memory=lds * KIB,
        registers=Registers(
            per_thread=per_lane, file=of_simd * wave * SIMDS, unit=unit, lanes=wave, parts=SIMDS
        ),
        # The kernel descriptor holds their size in 32 bits.
        parameters=2**32 - 1,
    )


_CDNA = _amdgpu(64, lds=64, per_lane=512, of_simd=512, unit=8)
_GCN = _amdgpu(64, lds=64, per_lane=256, of_simd=256, unit=4)
_RDNA1 = _amdgpu(32, lds=64, per_lane=256, of_simd=1024, unit=8)
_RDNA2 = _amdgpu(32, lds=64, per_lane=256, of_simd=1024, unit=16)
#: The larger register file of the larger chips.
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
    """Return the limits of gfx942 and so on; of an unknown one, those that all share."""
    found = _AMDGPU.get(arch.partition(":")[0], _ANY_AMDGPU)
    return dataclasses.replace(found, device=arch or "any AMD GPU")


# -- Vulkan and CPUs ------------------------------------------------------------------------------

#: The least that each limit of VkPhysicalDeviceLimits may be. Of limits per dimension it is the one
#: that kernels use: the least count, the first size.
VULKAN_GUARANTEED: Mapping[str, int] = {
    "maxComputeSharedMemorySize": 16 * KIB,
    "maxComputeWorkGroupCount": 65535,
    "maxComputeWorkGroupInvocations": 128,
    "maxComputeWorkGroupSize": 128,
    "maxPerStageDescriptorStorageBuffers": 4,
    "maxStorageBufferRange": 128 * KIB * KIB,
}


def vulkan_limits(has: Mapping[str, int], device: str) -> Limits:
    """Return the limits of a device that `has` these limits, and otherwise Vulkan's guarantees."""
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

#: What a launch is beyond on every device: nothing to run, or clusters that are not whole.
ANYTHING = Limits(
    device="any device",
    grid=(UNLIMITED,) * 3,
    block=(UNLIMITED,) * 3,
    workgroup=UNLIMITED,
    cluster=UNLIMITED,
    shared_memory=UNLIMITED,
    static_shared_memory=UNLIMITED,
)
