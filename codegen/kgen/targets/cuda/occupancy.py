"""How many warps an SM holds at once, by the rules of NVIDIA's occupancy calculator.

CUDA C++ Programming Guide 12.9, "Hardware Multithreading" and "Technical Specifications per Compute
Capability"; Nsight Compute, "Occupancy Calculator".
"""

from __future__ import annotations

import math

from kgen.targets.base import Target
from kgen.targets.cuda.devices import PARTITIONS, device_of
from kgen.targets.device import Occupancy
from kgen_runtime.manifest import Launch, Resources

#: Registers of a lane are given in eights, those of an SM's partition to its own warps.
REGISTER_UNIT = 8
#: Shared memory that the system takes for each CTA, from compute capability 8.0 on.
RESERVED_SHARED = 1024


def occupancy(target: Target, resources: Resources, launch: Launch) -> Occupancy:
    """Warps per SM of one launch. Resources are per thread (registers) and CTA (shared memory)."""
    device = device_of(target)
    warps = -(-math.prod(launch.block) // target.subgroup)
    each = -(-(resources.registers or 1) // REGISTER_UNIT) * REGISTER_UNIT * target.subgroup
    file = target.limits["registers_per_block"] // PARTITIONS
    reserved = RESERVED_SHARED if target.limits["compute_capability"] >= 80 else 0
    shared = (resources.shared_memory or 0) + reserved
    ctas = {
        "registers": file // each * PARTITIONS // warps,
        "shared memory": device.shared // shared if shared else device.blocks,
        "threads": device.threads // (warps * target.subgroup),
        "CTAs": device.blocks,
    }
    fit = min(ctas.values())
    return Occupancy(
        warps=fit * warps,
        most=device.threads // target.subgroup,
        unit="SM",
        workgroups=fit,
        holder="SM",
        allowed={name: count * warps for name, count in ctas.items()},
    )
