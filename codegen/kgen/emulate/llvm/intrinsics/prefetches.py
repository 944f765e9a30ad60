"""Software prefetches: they change no result and are counted in a profile."""

from __future__ import annotations

from collections.abc import Callable

from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.frontend.program import Build
from kgen.emulate.llvm.types import Array


def _prefetch(ins: LlvmInstruction) -> Callable[..., None]:
    """Build a prefetch, whose operands are ``(pointer, writes, locality, is_data)``.

    Source: LLVM Language Reference, "llvm.prefetch".
    """

    def prefetch(m: Machine, pointer: Array, *_: Array) -> None:
        if m.traffic is not None:
            m.traffic.prefetched(m, ins, pointer, m.memory.shared.is_inside(pointer))

    return prefetch


EFFECTS: dict[str, Build] = {"llvm.prefetch": _prefetch}
