"""Seeded bugs: a program that is right, one change of its text, and what must be reported.

An outcome is one word: ``clean``, the kind of the emulator's fault, the kind of a warning with
``warning: `` before it, or ``wrong-result`` where the program ends without a fault but what it
leaves in memory is not what it should be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kgen.emulate import EmulationFault, LaunchReport

CLEAN = "clean"
WRONG_RESULT = "wrong-result"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A kernel and its launch on fixed data.

    `execute` runs a text in place of `source` under a scheduler seed; it gives the emulator's
    report and whether the results are right. `arch` is the processor to assemble for.
    """

    name: str
    language: Literal["ptx", "llvm"]
    arch: str
    source: str
    execute: Callable[[str, int], tuple[LaunchReport, bool]]

    def outcome(self, source: str, seed: int = 0) -> str:
        try:
            report, right = self.execute(source, seed)
        except EmulationFault as found:
            return found.fault.kind
        if not right:
            return WRONG_RESULT
        return f"warning: {report.warnings[0].kind}" if report.warnings else CLEAN


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """`pattern` (^ and $ match at lines) becomes `replacement` where it matches, which is `times`.

    `expected` is the outcome that it must have under `seed`. `why` says what the bug is, or why
    today's emulators let it pass.
    """

    program: Callable[[], Program]
    name: str
    pattern: str
    replacement: str
    expected: str
    times: int = 1
    seed: int = 0
    why: str = ""

    def apply(self) -> str:
        """The program's text with the bug in it."""
        before = self.program().source
        after, found = re.subn(self.pattern, self.replacement, before, flags=re.MULTILINE)
        assert found == self.times, f"{self.pattern} matches {found} times, not {self.times}"
        assert after != before, f"{self.replacement} changes nothing"
        return after

    def outcome(self) -> str:
        return self.program().outcome(self.apply(), self.seed)


def bugs(
    program: Callable[[], Program], expected: str, *rows: tuple[str, str, str]
) -> tuple[Mutation, ...]:
    """Mutations of one program with one outcome: (name, pattern, replacement) of each."""
    return tuple(
        Mutation(
            program=program, name=name, pattern=pattern, replacement=replacement, expected=expected
        )
        for name, pattern, replacement in rows
    )
