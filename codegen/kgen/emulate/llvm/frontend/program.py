"""Compiled function: closures over numbered registers, in segments.

A segment is a part of a block without a barrier inside. Positions in a program are the indices of
its segments, in the order of :mod:`topology`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kgen.emulate.llvm.counting.classes import class_of, matrix_name
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.frontend.module import LlvmInstruction
from kgen.emulate.llvm.types import Array
from kgen_runtime.values import frozen

#: Registers. Each holds an array, or a tuple of values for a struct; None before its definition.
Registers = list[Any]
#: Entry of a table of instructions or intrinsics; see :mod:`kgen.emulate.llvm.ops`.
Build = Callable[[LlvmInstruction], Callable[..., Any]]
Step = Callable[[Machine, Registers], None]


def fixed(function: Callable[..., Any]) -> Build:
    """Return the entry of a function that is the same for all instructions of a name."""
    return lambda ins: function


#: Positions of lanes that do not run: at a barrier, and finished. They are larger than any
#: segment's index, so that the lowest position can run if any can.
WAITING = 1 << 30
DONE = WAITING + 1


@frozen
class Edge:
    """Edge out of a segment: its destination, and the registers that phis assign on it."""

    target: int
    moves: tuple[tuple[int, int], ...] = ()
    """(destination, source) pairs, all read before any is written."""


@dataclass(kw_only=True, eq=False)
class CodeSegment:
    """Straight-line run of instructions that ends in a branch, a return or a barrier."""

    steps: tuple[Step, ...]
    escaping: tuple[int, ...]
    """Registers written here and read elsewhere: lanes that are not here must keep theirs."""
    choose: Callable[[Registers], int | Array]
    """The index of the edge taken: an int, or one per lane."""
    edges: tuple[Edge, ...]
    terminator: LlvmInstruction
    barrier: bool
    """Lanes wait for their workgroup before they take the (only) edge."""
    instructions: tuple[LlvmInstruction, ...]
    """Instructions without phis, the terminator last."""

    @cached_property
    def counted(self) -> tuple[tuple[int, str, str | None], ...]:
        """Line, class and name of the matrix instruction, for every instruction that does
        something."""
        return tuple(
            (ins.line, class_, matrix_name(ins))
            for ins in self.instructions
            if (class_ := class_of(ins)) is not None
        )


@frozen
class CompiledFunction:
    """Function compiled to segments of Python callables."""

    name: str
    segments: tuple[CodeSegment, ...]
    template: tuple[Any, ...]
    """The registers at entry: constants in place, parameters and results None."""
    parameters: tuple[int, ...]
    result: int
    """The register that ret writes."""
