"""What a program's memory plan says: which step's results each step reads, and what lives when."""

from __future__ import annotations

from collections.abc import Mapping

from kgen_runtime.manifest import KernelEntry
from kgen_runtime.manifest_program import Program
from kgen_runtime.program_check import uses
from kgen_runtime.values import frozen


@frozen
class Block:
    """A value's bytes in the arena, from `start` to `end`, and the steps from the first that writes
    them to the last that reads them."""

    value: str
    start: int
    end: int
    first: int
    last: int


@frozen
class Flow:
    """`reads` are pairs of steps, (writer, reader); `inputs` and `outputs` pairs of a step and the
    name of an input that it reads, or of an output that it writes."""

    reads: tuple[tuple[int, int], ...]
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[tuple[int, str], ...]
    blocks: tuple[Block, ...]

    def occupied(self, step: int) -> int:
        """Bytes of the arena that live at a step."""
        spans = sorted((b.start, b.end) for b in self.blocks if b.first <= step <= b.last)
        total = at = 0
        for start, end in spans:
            total += max(0, end - max(start, at))
            at = max(at, end)
        return total


def flow(program: Program, kernels: Mapping[str, KernelEntry]) -> Flow:
    """That of a program; `kernels` are its bundle's by name."""
    reads: dict[tuple[int, int], None] = {}
    inputs: dict[tuple[int, str], None] = {}
    outputs: dict[tuple[int, str], None] = {}
    lives: dict[tuple[int, int, int], tuple[str, int]] = {}  # by step, start, end: value, last use
    for number, found in enumerate(uses(program, kernels)):
        for access, place, others in found:
            if access.writes:
                if place.kind == "arena":
                    lives[number, access.start, access.end] = (access.value, number)
                elif place.kind == "output":
                    outputs[number, place.name] = None
                continue
            if place.kind == "input":
                inputs[number, place.name] = None
            for other in others:
                if other.writes:
                    reads[other.step, number] = None
                    key = other.step, other.start, other.end
                    if key in lives:
                        lives[key] = (lives[key][0], number)
    return Flow(
        reads=tuple(reads),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        blocks=tuple(
            Block(value=value, start=start, end=end, first=first, last=last)
            for (first, start, end), (value, last) in lives.items()
        ),
    )
