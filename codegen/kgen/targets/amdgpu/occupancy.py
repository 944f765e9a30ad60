"""Number of waves that a SIMD holds at once, by LLVM's own rules.

Sources: LLVM 22, AMDGPUBaseInfo.cpp (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU,
getNumWavesPerEUWithNumSGPRs, getMaxWorkGroupsPerCU) and AMDGPUSubtarget.cpp
(getOccupancyWithWorkGroupSizes); AMDGPUUsage, "Kernel Descriptor", for the granules.
"""

from __future__ import annotations

import math

from kgen.targets.base import Target
from kgen.targets.device import Occupancy
from kgen_runtime.launch_limits import SIMDS, amdgpu_limits
from kgen_runtime.manifest import Launch, Resources
from kgen_runtime.values import frozen


@frozen
class Simd:
    """Resources of one SIMD: at most `waves`, and `registers` per lane in units of `granule`.

    Four SIMDs share a `holder`, which has `lds` bytes, and barriers for `workgroups`. The holder is
    a CU on CDNA, and a WGP of two CUs on RDNA.

    `scalars` is None unless the waves of a SIMD share scalar registers. Otherwise it is a pair: a
    kernel with more scalar registers than the first number can have only the second number of
    waves.
    """

    waves: int
    registers: int
    granule: int
    holder: str
    lds: int
    workgroups: int
    scalars: tuple[int, int] | None = None


def _simd(arch: str) -> Simd:
    limits = amdgpu_limits(arch)
    assert limits.registers is not None
    given, lanes = limits.registers, limits.registers.lanes
    of_lane = given.file // (SIMDS * lanes)
    if lanes == 64:  # CDNA
        return Simd(
            waves=8,
            registers=of_lane,
            granule=given.unit,
            holder="CU",
            lds=limits.shared_memory,
            workgroups=16,
            scalars=(100, 7),
        )
    return Simd(
        waves=16,
        registers=of_lane,
        granule=given.unit,
        holder="WGP",
        lds=2 * limits.shared_memory,
        workgroups=32,
    )


def occupancy(target: Target, resources: Resources, launch: Launch) -> Occupancy:
    """Return the waves per SIMD of a launch on an idle device."""
    simd = _simd(target.arch)
    waves = -(-math.prod(launch.block) // target.subgroup)
    groups = {"LDS": simd.lds // resources.shared_memory} if resources.shared_memory else {}
    if waves > 1:  # a workgroup of one wave needs no barrier
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
