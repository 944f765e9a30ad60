"""What is known of a kernel from its machine code alone, with nothing executed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kgen import targets
from kgen.check import machine_code
from kgen.check.execute import Reader
from kgen.check.machine_code import Loop
from kgen_runtime.manifest import KernelEntry


@dataclass(frozen=True, kw_only=True)
class Facts:
    """`metrics` by the names of :mod:`kgen.check.gate.metrics`; `loop` is the hot loop, if any."""

    metrics: Mapping[str, float]
    loop: Loop | None
    findings: tuple[str, ...] = ()

    @property
    def summary(self) -> str | None:
        """The hot loop's mix, in words."""
        return None if self.loop is None else self.loop.mix()


def facts(reader: Reader, entry: KernelEntry) -> Facts:
    """The facts of a kernel in a bundle. Raises AssembleError if a tool is missing."""
    loop = machine_code.hot_loop(reader, entry)
    metrics = _resources(entry) | _occupancy(entry) | ({} if loop is None else _of(loop))
    return Facts(metrics=metrics, loop=loop, findings=entry.resources.findings or ())


def _resources(entry: KernelEntry) -> dict[str, float]:
    """The manifest's numbers, and how many findings there are."""
    known = {name: n for name, n in vars(entry.resources).items() if n is not None}
    return {name: len(n) if isinstance(n, tuple) else n for name, n in known.items()}


def _of(loop: Loop) -> dict[str, float]:
    found: dict[str, float] = {
        "hot_loop_instructions": loop.instructions,
        "matrix_share": loop.products / loop.instructions,
        "loads_per_matrix": loop.loads / loop.products,
    }
    return found | ({"matrix_instructions": loop.products} if loop.matrix else {})


def _occupancy(entry: KernelEntry) -> dict[str, float]:
    """Warps that one SM holds at once, of the launch that fills it least; NVIDIA only.

    CUDA C++ Programming Guide 12.9, "Hardware Multithreading" and "Technical Specifications per
    Compute Capability": registers are given to warps in units of 8 for each lane.
    """
    if entry.target.family != "cuda" or entry.resources.registers is None:
        return {}
    from kgen.targets.cuda.devices import device_of
    from kgen.targets.cuda.model import REGISTER_UNIT, RESERVED_SHARED

    target = targets.find(entry.target.name)
    device, registers = device_of(target), entry.resources.registers
    each = -(-registers // REGISTER_UNIT) * REGISTER_UNIT * target.subgroup
    shared = (entry.resources.shared_memory or 0) + RESERVED_SHARED
    found = []
    for launch in entry.launches:
        warps = -(-math.prod(launch.block) // target.subgroup)
        ctas = min(
            device.blocks,
            device.threads // (warps * target.subgroup),
            target.limits["registers_per_block"] // (each * warps),
            device.shared // shared,
        )
        found.append(ctas * warps)
    return {"occupancy": min(found)}
