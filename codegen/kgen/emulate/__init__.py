"""Emulator of GPU programs: PTX and LLVM IR text, run on the CPU, all lanes of many workgroups at
once.

The emulator knows nothing about kgen's plans and templates. It implements instructions from their
documents, so that it does not repeat a mistake of the planner.

Masks are tested by np.count_nonzero: ndarray.any is slower, because it is a function in Python.
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

#: Most workgroups of a run: the checks number them in 20 bits (ptx/order/tags.py).
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

    - An ndarray argument is a pointer to a global buffer of exactly its bytes (C-contiguous,
      written in place). A numpy scalar is passed by value. A TensorMap is a tensor map of PTX: 128
      bytes by value or through a pointer.
    - `dynamic_shared`: bytes of dynamic shared memory.
    - `workgroups`: run only these, at most MAX_WORKGROUPS.
    - `cluster`: CTAs of a thread block cluster (PTX).
    - `arch` (sm_90, gfx942): device whose limits the launch must respect, by default the one that
      the text names.
    - `profile`: count memory traffic as well, and count by source line.
    - `seed`: schedule of the run. Equal seeds give equal results; counters are equal for all seeds.
    - `strict`: unordered writes of equal values, and order that depends on a warp collective (PTX),
      are faults instead of warnings.
    - `most_faults`: number of distinct faults after which a run ends. Before, it continues after a
      fault that does not affect other lanes.
    - `numerics`: precision that matrix instructions lose relative to f32 sums; None for nothing.

    Raises EmulationFault for a fault of the program (with `checks` also for races, out-of-bounds
    accesses and the like), UnknownInstruction for an unknown instruction, and EmulationError for a
    source that does not parse, arguments that do not fit its parameters, or a launch that the
    device would refuse.
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
