"""Data flow analysis: the state before each instruction, over all paths to it.

A state counts what came after earlier instructions. Where paths join, the smaller count wins, so an
instruction that may come too early on one path is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen.check.static.amdgpu.decode import Decoded
from kgen_runtime.values import frozen

State = dict[int, int]
"""Least number of relevant instructions after an earlier instruction, by the index of the
latter."""
Step = Callable[[State, Decoded], State]


@frozen
class Finding:
    """Instruction that runs too early."""

    at: int
    instruction: str
    after: str
    """Instruction whose result is not complete yet."""
    what: str

    def __str__(self) -> str:
        return f"instruction {self.at}, `{self.instruction}`: {self.what} (after `{self.after}`)"


def states_before(code: Sequence[Decoded], step: Step) -> list[State]:
    """Return the state before each instruction; `step` returns a new state after it."""
    before: list[State | None] = [None] * len(code)
    before[0] = {}
    waiting = [0]
    while waiting:
        at = waiting.pop()
        after = step(before[at] or {}, code[at])
        for following in _following(code[at], len(code)):
            joined = _joined(before[following], after)
            if joined != before[following]:
                before[following] = joined
                waiting.append(following)
    return [state or {} for state in before]


def _following(ins: Decoded, end: int) -> list[int]:
    following = [ins.at + 1] if ins.goes_on and ins.at + 1 < end else []
    return following if ins.goes_to is None else [*following, ins.goes_to]


def _joined(one: State | None, other: State) -> State:
    if one is None:
        return dict(other)
    return one | {at: min(count, one.get(at, count)) for at, count in other.items()}
