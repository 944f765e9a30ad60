"""Number of warps that an SM holds at once, by the rules of NVIDIA's occupancy calculator.

CUDA C++ Programming Guide 12.9, "Hardware Multithreading" and "Technical Specifications per Compute
Capability"; Nsight Compute, "Occupancy Calculator".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kgen.targets.base import Target
from kgen.targets.cuda.devices import PARTITIONS, Device, device_of
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.device import Occupancy
from kgen_runtime.manifest import Launch, Resources

#: Registers of an SM, a quarter of them in each partition; and the unit of a lane's registers.
REGISTERS, REGISTER_UNIT = 65536, 8


def occupancy(target: Target, resources: Resources, launch: Launch) -> Occupancy:
    """Return the warps per SM of a launch. Resources are per thread (registers) and per CTA (shared
    memory)."""
    device = device_of(target)
    warps = -(-math.prod(launch.block) // WARP_SIZE)
    ctas = ctas_per_sm(device, warps, resources.registers or 1, resources.shared_memory or 0)
    fit = min(ctas.values())
    return Occupancy(
        warps=fit * warps,
        most=device.threads // WARP_SIZE,
        unit="SM",
        workgroups=fit,
        holder="SM",
        allowed={name: count * warps for name, count in ctas.items()},
    )


def ctas_per_sm(device: Device, warps: int, registers: int, shared: int) -> Mapping[str, int]:
    """Return the number of CTAs that each resource of an SM allows at once.

    A CTA has this number of `warps`, of `registers` per thread, and of bytes of `shared` memory.
    """
    each = -(-registers // REGISTER_UNIT) * REGISTER_UNIT * WARP_SIZE
    bytes_each = shared + device.reserved_shared
    return {
        "registers": REGISTERS // PARTITIONS // each * PARTITIONS // warps,
        "shared memory": device.shared // bytes_each if bytes_each else device.blocks,
        "threads": device.threads // (warps * WARP_SIZE),
        "CTAs": device.blocks,
    }
