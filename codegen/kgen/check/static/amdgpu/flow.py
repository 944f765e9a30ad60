"""Data flow: the state before each instruction, over all paths to it.

A state counts for instructions that came before how much came after them: the least, of several
paths. So an instruction that may be too near on one path is too near.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen.check.static.amdgpu.decode import Decoded
from kgen_runtime.values import frozen

State = dict[int, int]
"""By the place of an earlier instruction: how many of some kind have come after it, at least."""
Step = Callable[[State, Decoded], State]


@frozen
class Finding:
    """Finding: an instruction that runs too early."""

    at: int
    instruction: str
    after: str
    """The instruction that it is too early after."""
    what: str

    def __str__(self) -> str:
        return f"instruction {self.at}, `{self.instruction}`: {self.what} (after `{self.after}`)"


def states_before(code: Sequence[Decoded], step: Step) -> list[State]:
    """The state before each instruction; `step` gives the one after it, and changes none."""
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
