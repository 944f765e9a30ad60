"""GPU programs run on the CPU, as text: PTX and LLVM IR, all lanes of many workgroups at once.

Nothing here knows how kgen plans or renders a kernel: instructions are implemented from their
documents, so that a mistake of the planner is not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from kgen.emulate.numerics import Numerics
from kgen.emulate.report import EmulationFault, Fault, Index3, LaunchReport, UnknownInstruction
from kgen.emulate.request import Request
from kgen.emulate.tensor_map import TensorMap
from kgen.errors import EmulationError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "EmulationFault",
    "Fault",
    "LaunchReport",
    "Numerics",
    "TensorMap",
    "UnknownInstruction",
    "run",
]

#: Workgroups that one run may have: the checks number them in 20 bits (ptx/tags.py).
MAX_WORKGROUPS = (1 << 20) - 1


def run(
    source: str,
    *,
    language: Literal["ptx", "llvm"],
    entry: str,
    grid: Index3,
    block: Index3,
    arguments: Sequence[npt.NDArray[Any] | np.generic | TensorMap],
    dynamic_shared: int = 0,
    workgroups: Sequence[Index3] | None = None,
    checks: bool = True,
    profile: bool = False,
    cluster: Index3 = (1, 1, 1),
    numerics: Numerics | None = None,
    seed: int = 0,
    arch: str | None = None,
    strict: bool = False,
    most_faults: int = 1,
) -> LaunchReport:
    """Run one launch of the entry point.

    An ndarray argument is a pointer to a global buffer of exactly its bytes (C-contiguous, written
    in place); a numpy scalar is passed by value; a TensorMap is one of PTX, in 128 bytes by value
    or behind a pointer. `dynamic_shared` is in bytes. `workgroups` runs only these, at most
    MAX_WORKGROUPS. `cluster` is the CTAs of a thread block cluster (PTX). `arch` (sm_90, gfx942) is
    the device whose limits the launch is held against, by default the one that the text names.
    `profile` counts the traffic of the memories too, and by source line. The result is the same for
    the same `seed`, the counters are so for every seed. With `strict`, unordered writes of the same
    value, and order that rests on a warp collective (PTX), are faults and not warnings. A run goes
    on after a fault that leaves other lanes as they are, until it has met `most_faults` distinct
    ones. `numerics` are what the sums of matrix instructions lose beside f32 arithmetic; nothing if
    None.

    Raises EmulationFault for a fault of the program (races, out-of-bounds and the like are looked
    for if `checks`), UnknownInstruction for a word that is not known, EmulationError for a source
    that does not parse, arguments that do not fit its parameters, and a launch that the device
    would refuse.
    """
    count = math.prod(grid) if workgroups is None else len(workgroups)
    if count > MAX_WORKGROUPS:
        raise EmulationError(
            f"the launch has {count} workgroups; one run takes at most {MAX_WORKGROUPS}; use a "
            "smaller grid, or name some of its workgroups"
        )
    if language == "ptx":
        from kgen.emulate import ptx as emulator
    else:
        from kgen.emulate import llvm as emulator  # type: ignore[no-redef]
    request = Request(
        entry=entry,
        grid=grid,
        block=block,
        arguments=arguments,
        dynamic_shared=dynamic_shared,
        workgroups=workgroups,
        checks=checks,
        profile=profile,
        cluster=cluster,
        numerics=numerics or Numerics(),
        seed=seed,
        arch=arch,
        strict=strict,
        most_faults=most_faults,
    )
    return emulator.run(source, request)
