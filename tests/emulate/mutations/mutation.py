"""Seeded bugs: a kernel that is right, one change of its text, and the verdict that must follow.

A verdict is one word: ``clean``, the kind of the emulator's fault, the kind of a warning with
``warning: `` before it, or how the results in memory are wrong, with no fault: ``wrong-result``, or
``special-value`` if only NaN and infinities among the inputs show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kgen.emulate import EmulationFault, LaunchReport, run

Array = npt.NDArray[Any]

CLEAN = "clean"
WRONG_RESULT = "wrong-result"
SPECIAL_VALUE = "special-value"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A kernel and its launch on fixed data.

    `execute` runs a text in place of `source` under a scheduler seed. It returns the emulator's
    report, and the verdict on the results. `arch` is the processor to assemble for.
    """

    name: str
    language: Literal["ptx", "llvm", "spirv"]
    arch: str
    source: str
    execute: Callable[[str, int], tuple[LaunchReport | None, str]]

    def verdict(self, source: str, seed: int = 0) -> str:
        try:
            report, results = self.execute(source, seed)
        except EmulationFault as found:
            return found.fault.kind
        if results != CLEAN or report is None or not report.warnings:
            return results
        return f"warning: {report.warnings[0].kind}"


def written_by_hand(
    name: str,
    source: str,
    wanted: Array,
    arrange: Callable[[Array], Sequence[Array | np.generic]],
    *,
    language: Literal["ptx", "llvm"] = "ptx",
    arch: str = "sm_90a",
    **launch: Any,
) -> Program:
    """Program of a kernel that no template renders. `arrange` gives the launch's arguments around a
    fresh output, which has to become `wanted`."""

    def execute(source: str, seed: int) -> tuple[LaunchReport, str]:
        out = np.zeros_like(wanted)
        arguments = list(arrange(out))
        report = run(
            source, language=language, entry=name, arguments=arguments, seed=seed, **launch
        )
        return report, CLEAN if (out == wanted).all() else WRONG_RESULT

    return Program(name=name, language=language, arch=arch, source=source, execute=execute)


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """Seeded bug: `pattern` (^ and $ match at lines) becomes `replacement`.

    `pattern` matches `times` times, or any number of times above 0 if that is None. Every match is
    replaced, or the match number `place` alone. `expected` is the verdict that must follow under
    `seed`. `why` says what the bug is, or why today's emulators let it pass.
    """

    program: Callable[[], Program]
    name: str
    pattern: str
    replacement: str
    expected: str
    times: int | None = 1
    place: int | None = None
    seed: int = 0
    why: str = ""

    def apply(self) -> str:
        """Return the program's text with the bug."""
        before = self.program().source
        found = list(re.finditer(self.pattern, before, re.MULTILINE))
        assert found, f"{self.pattern} does not match"
        assert len(found) == (self.times or len(found)), (
            f"{self.pattern} matches {len(found)} times, not {self.times}"
        )
        pieces, end = [], 0
        for match in found if self.place is None else found[self.place :][:1]:
            pieces += [before[end : match.start()], match.expand(self.replacement)]
            end = match.end()
        after = "".join([*pieces, before[end:]])
        assert after != before, f"{self.replacement} changes nothing"
        return after

    def verdict(self) -> str:
        return self.program().verdict(self.apply(), self.seed)


def bugs(
    program: Callable[[], Program],
    expected: str,
    *rows: tuple[str, str, str],
    times: int | None = 1,
    place: int | None = None,
) -> tuple[Mutation, ...]:
    """Mutations of one program with one verdict: (name, pattern, replacement) of each."""
    return tuple(
        Mutation(
            program=program,
            name=name,
            pattern=pattern,
            replacement=replacement,
            expected=expected,
            times=times,
            place=place,
        )
        for name, pattern, replacement in rows
    )


def bugs_in_each_place(
    program: Callable[[], Program],
    expected: str,
    name: str,
    pattern: str,
    replacement: str,
    times: int,
) -> tuple[Mutation, ...]:
    """Mutations of a program: one for each of the `times` matches of a pattern."""
    return tuple(
        mutation
        for place in range(times)
        for mutation in bugs(
            program,
            expected,
            (f"{name}-{place}", pattern, replacement),
            times=times,
            place=place,
        )
    )
