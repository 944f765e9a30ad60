"""Facts about the devices of a target: how much of a kernel one holds, and how fast it can be.

Correctness does not depend on them; they serve to choose schedules and to predict time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kgen.spec import Attention, Conv2d, Math, Matmul, Spec
from kgen_runtime.values import frozen


@frozen
class Multiplied:
    """Arithmetic of a kernel: the type of its factors, which is a name in :attr:`Rates.flops`, and
    the number of products of that type that give one product of the problem."""

    operands: str
    products: int = 1


def multiplied(spec: Spec) -> Multiplied:
    """Return the arithmetic of a kernel whose operands are multiplied in their stored type."""
    if isinstance(spec, Matmul) and spec.math is not Math.EXACT:
        # With operands split in two, a product of f32 is three products of tf32.
        return Multiplied(operands="tf32", products=3 if spec.math is Math.TF32X3 else 1)
    if isinstance(spec, Matmul | Conv2d | Attention):
        return Multiplied(operands=str(spec.dtype))
    return Multiplied(operands="f32")


@frozen
class Occupancy:
    """How many `warps` (waves) a `unit` of the device holds at once, of at most `most`.

    `allowed` says how many each resource alone would allow. `workgroups` of them share a `holder`:
    an SM, or the CU or WGP whose SIMDs are the units.
    """

    warps: int
    most: int
    unit: str
    workgroups: int
    holder: str
    allowed: Mapping[str, int]

    @property
    def limits(self) -> tuple[str, ...]:
        """Resources that allow no more."""
        return tuple(name for name, warps in self.allowed.items() if warps <= self.warps)

    @property
    def sentence(self) -> str:
        groups = "workgroup" if self.workgroups == 1 else "workgroups"
        words = "warps" if self.unit == "SM" else "waves"
        return (
            f"{self.warps} of {self.most} {words} per {self.unit} ({self.workgroups} {groups} per "
            f"{self.holder}), limited by {' and '.join(self.limits)}"
        )

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"allowed": dict(self.allowed), "limits": list(self.limits)}


@frozen
class Rates:
    """Peak rates of a well-known device of a target, per second.

    - `units`: SMs, CUs or cores.
    - `flops`: by the type of the operands, including ``tf32``, for dense products with sums in f32
      (s32 for s8).
    - `dram` and `l2`: bytes. `issues`: instructions of warps in all units. None: not published.
    - `latency`: seconds of a load from DRAM.
    - `reach`: by opcode, the part of `flops` that an instruction reaches if another one is faster.
    """

    device: str
    units: int
    flops: Mapping[str, float]
    dram: float
    l2: float | None = None
    issues: float | None = None
    latency: float | None = None
    reach: Mapping[str, float] = field(default_factory=dict)
