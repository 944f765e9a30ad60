"""The NVIDIA targets: features, one row each, and the limits of launches that plans ask for.

Sources: :mod:`kgen_runtime.launch_limits`; PTX ISA 8.7, the "PTX ISA Notes" and "Target ISA Notes"
of each instruction (features) and the "Release Notes" (PTX versions); CUDA Compatibility (drivers).
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.targets.base import Target
from kgen_runtime.launch_limits import cuda_limits

WARP_SIZE = 32

#: Features that templates and plans may ask for, with the PTX version (times ten) that added each.
FEATURES: Mapping[str, int] = {
    "ldmatrix": 65,
    "cvt_pack": 65,  # cvt.pack.sat of integers to 8 bits
    "mma_m16n8k8": 65,  # f16, f32 accumulators
    "mma_m16n8k16": 70,  # f16, f32 accumulators
    "bf16_mma": 70,  # m16n8k16 on bf16
    "tf32_mma": 70,  # m16n8k8 on tf32, and cvt.rna.tf32.f32
    "cp_async": 70,
    "bf16_cvt": 70,  # cvt.rn.bf16.f32 and packed cvt.rn.{f16x2,bf16x2}.f32
    "max_nan": 70,  # max.NaN on f32, f16x2 and bf16x2
    "s8_mma_m8n8k16": 65,
    "s8_mma_m16n8k32": 70,
    "fp8_mma": 84,  # m16n8k32 on e4m3 and e5m2, f32 accumulators; cvt of pairs of them
    "fp8_tensor_cores": 84,  # mma on fp8 is one instruction; else ptxas converts to f16
    "clusters": 78,  # CTAs that synchronise and write to one another's shared memory
    "wgmma": 80,  # with TMA, mbarrier.try_wait and setmaxnreg
}
TURING = frozenset({"ldmatrix", "cvt_pack", "mma_m16n8k8", "s8_mma_m8n8k16"})
AMPERE = frozenset(FEATURES) - {"clusters", "wgmma", "fp8_mma", "fp8_tensor_cores"}
ADA = AMPERE | {"fp8_mma", "fp8_tensor_cores"}
HOPPER = AMPERE | {"fp8_mma", "clusters", "wgmma"}

#: PTX versions (times ten), and the CUDA release whose drivers were the first to accept each.
PTX_CUDA: Mapping[int, tuple[int, int]] = {
    63: (10, 0),
    65: (10, 2),
    70: (11, 0),
    71: (11, 1),
    78: (11, 8),
    80: (12, 0),
    84: (12, 4),
    87: (12, 8),
}

#: Machine code of the CUDA 12.9 assembler loads on every 12.x driver that knows the chip.
CUBIN_CUDA = (12, 0)


def _target(name: str, features: frozenset[str], *, ptx: int) -> Target:
    """Return a target; `ptx` is the lowest PTX version that has it."""
    launch = cuda_limits(name)
    assert launch.registers is not None
    limits = {
        "compute_capability": int(name.removeprefix("sm_").rstrip("a")),
        "ptx_version": ptx,
        "threads_per_block": launch.workgroup,
        "registers_per_thread": launch.registers.per_thread,
        "registers_per_block": launch.registers.file,
        "static_shared_memory": launch.static_shared_memory,
        "dynamic_shared_memory": launch.shared_memory,
        "grid_x": launch.grid[0],
        "grid_y": launch.grid[1],
        "grid_z": launch.grid[2],
    }
    return Target(
        name=name, family="cuda", arch=name, subgroup=WARP_SIZE, features=features, limits=limits
    )


def cubin_cuda(target: Target) -> tuple[int, int]:
    """Return the lowest CUDA version of a driver that loads the target's machine code."""
    return max(CUBIN_CUDA, PTX_CUDA[target.limits["ptx_version"]])


TARGETS: tuple[Target, ...] = (
    _target("sm_75", TURING, ptx=63),
    _target("sm_80", AMPERE, ptx=70),
    _target("sm_86", AMPERE, ptx=71),
    _target("sm_89", ADA, ptx=78),
    _target("sm_90a", HOPPER, ptx=80),
    _target("sm_120", ADA, ptx=87),
)
