"""What the scheduler counts while it runs, and how a report shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.emulate.counters import MEANING
from kgen.emulate.ptx.counting.classes import class_of, matrix_name
from kgen.emulate.report import LineCounts
from kgen.emulate.traffic import TRAFFIC

if TYPE_CHECKING:
    from kgen.emulate.ptx.counting.traffic import Traffic
    from kgen.emulate.ptx.frontend.syntax import Instruction


class Counts:
    """Sums over all chunks, for each instruction by its index."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self.instructions = instructions
        #: Warps that issued it.
        self.issued = [0] * len(instructions)
        #: Lanes for which it did something; all that reach it, for a branch.
        self.lanes = [0] * len(instructions)
        #: Warps whose lanes a branch parted.
        self.divergent_branches = 0
        #: The most barriers of a whole CTA that one CTA passed.
        self.barriers = 0

    def counters(self, traffic: Traffic | None) -> dict[str, int]:
        """The counters of a report. Without a profile, `traffic` is None."""
        found = Counter(dict.fromkeys((name for name in MEANING if name not in TRAFFIC), 0))
        by_words: Counter[tuple[str, ...]] = Counter()
        for instruction, warps in zip(self.instructions, self.issued, strict=True):
            by_words[instruction.words] += warps
        for words, warps in by_words.items():
            found[class_of(words)] += warps
            if (name := matrix_name(words)) is not None:
                found[f"matrix.{name}"] += warps
        found["instructions"] = sum(self.issued)
        found["lane_instructions"] = sum(self.lanes)
        found["barriers"] = self.barriers
        found["divergent_branches"] = self.divergent_branches
        return dict(found) if traffic is None else {**found, **traffic.counters()}

    def lines(self, traffic: Traffic) -> dict[int, LineCounts]:
        """The counts of every source line that was executed, in the order of the lines."""
        found: dict[int, LineCounts] = {}
        counted = zip(self.instructions, self.issued, self.lanes, strict=True)
        for instruction, warps, lanes in counted:
            if warps:
                line = found.setdefault(instruction.line, LineCounts())
                line.kind = class_of(instruction.words)
                line.issued += warps
                line.lanes += lanes
        for number, requests in traffic.by_line.items():
            if number in found:
                requests.add_to(found[number])
        return dict(sorted(found.items()))
