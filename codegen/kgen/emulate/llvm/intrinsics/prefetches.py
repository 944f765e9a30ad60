"""Software prefetches: no effect on a result, and a count in a profile."""

from __future__ import annotations

from collections.abc import Callable

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.types import Array


def _prefetch(ins: LlvmInstruction) -> Callable[..., None]:
    """``(pointer, writes, locality, is_data)`` (LLVM Language Reference, "llvm.prefetch")"""

    def prefetch(m: Machine, pointer: Array, *_: Array) -> None:
        if m.traffic is not None:
            m.traffic.prefetched(m, ins, pointer, m.memory.shared.is_inside(pointer))

    return prefetch


EFFECTS: dict[str, Build] = {"llvm.prefetch": _prefetch}
