"""How many waves a SIMD holds at once, by the rules that LLVM itself prints by.

Sources: LLVM 22, AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU,
getNumWavesPerEUWithNumSGPRs, getMaxWorkGroupsPerCU) and AMDGPUSubtarget.cpp
(getOccupancyWithWorkGroupSizes); AMDGPUUsage, "Kernel Descriptor", for the granules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kgen.targets.amdgpu.limits import KIB
from kgen.targets.base import Target
from kgen.targets.device import Occupancy
from kgen_runtime.manifest import Launch, Resources

SIMDS = 4


@dataclass(frozen=True, kw_only=True)
class Simd:
    """What one SIMD has: `waves`, and `registers` of each lane, given in units of `granule`.

    Four share the `lds` bytes and the barriers (of so many `workgroups`) of their `holder`: a CU,
    or from RDNA on the WGP of two CUs, which LLVM compiles for. `scalars`: more scalar registers
    than the first number allow the second of waves only, where they are shared.
    """

    waves: int
    registers: int
    granule: int
    holder: str
    lds: int
    workgroups: int
    scalars: tuple[int, int] | None = None


def _cdna(lds: int) -> Simd:
    return Simd(
        waves=8, registers=512, granule=8, holder="CU", lds=lds, workgroups=16, scalars=(100, 7)
    )


def _rdna(registers: int, granule: int) -> Simd:
    return Simd(
        waves=16, registers=registers, granule=granule, holder="WGP", lds=128 * KIB, workgroups=32
    )


SIMD_OF: Mapping[str, Simd] = {
    "gfx90a": _cdna(64 * KIB),
    "gfx942": _cdna(64 * KIB),
    "gfx950": _cdna(160 * KIB),
    "gfx1030": _rdna(1024, 16),
    "gfx1100": _rdna(1536, 24),
    "gfx1201": _rdna(1536, 24),
}


def occupancy(target: Target, resources: Resources, launch: Launch) -> Occupancy:
    """Waves per SIMD of one launch, as if the device had nothing else to do."""
    simd = SIMD_OF[target.arch]
    waves = -(-math.prod(launch.block) // target.subgroup)
    groups = {"LDS": simd.lds // resources.shared_memory} if resources.shared_memory else {}
    if waves > 1:  # A workgroup of one wave needs no barrier.
        groups["workgroups"] = simd.workgroups
    registers = -(-max(resources.registers or 0, 1) // simd.granule) * simd.granule
    allowed = {"registers": simd.registers // registers}
    if simd.scalars is not None and (resources.scalar_registers or 0) > simd.scalars[0]:
        allowed["scalar registers"] = simd.scalars[1]
    allowed |= {name: -(-count * waves // SIMDS) for name, count in groups.items()}
    allowed["waves"] = simd.waves
    fit = max(1, min(allowed.values()))
    return Occupancy(
        warps=fit,
        most=simd.waves,
        unit="SIMD",
        workgroups=max(1, min(fit * SIMDS // waves, *groups.values(), simd.waves * SIMDS)),
        holder=simd.holder,
        allowed=allowed,
    )
