"""Source lines of machine instructions, for metrics that count instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from kgen.check.execute.runners import Reader, text_of
from kgen.check.static import hot_loop
from kgen.check.static.hot_loop import WORDS, WorkKind
from kgen.check.static.machine_code import MachineInstruction, instructions
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen


@frozen
class SourceLines:
    """Text of a kernel, its machine instructions with their lines, and those of the hot loop."""

    text: str
    family: str
    code: tuple[MachineInstruction, ...]
    loop: tuple[MachineInstruction, ...]

    def of(self, metric: str) -> Counter[int]:
        """Return, per line, how many of its instructions a metric counts.

        The result is empty for metrics that do not count instructions.
        """
        choose = _CHOICES.get(metric)
        found = () if choose is None else choose(self)
        return Counter(ins.line for ins in found if ins.line is not None)


def locate(reader: Reader, entry: KernelEntry) -> SourceLines:
    """Assemble a kernel again with debug information. Raises AssembleError."""
    code = instructions(reader, entry, lines=True)
    loop = hot_loop.find(code, WORDS[entry.target.family])
    text = next(a for a in entry.artifacts if a.is_text)
    return SourceLines(
        text=text_of(reader, text),
        family=entry.target.family,
        code=tuple(code),
        loop=() if loop is None else tuple(code[i] for i in loop.body),
    )


Choice = Callable[[SourceLines], tuple[MachineInstruction, ...]]


def _spills(found: SourceLines) -> tuple[MachineInstruction, ...]:
    return tuple(ins for ins in found.code if ins.spill)


def _other_than_matrix(found: SourceLines) -> tuple[MachineInstruction, ...]:
    words = WORDS[found.family]
    kind = next(
        (k for k in WorkKind if any(words.does(k, ins) for ins in found.loop)), WorkKind.MATRIX
    )
    return tuple(ins for ins in found.loop if not words.does(kind, ins))


_CHOICES: Mapping[str, Choice] = {
    "spills": _spills,
    "stack": _spills,
    "code_bytes": lambda found: found.code,
    "hot_loop_instructions": lambda found: found.loop,
    "hot_loop_spills": lambda found: tuple(ins for ins in found.loop if ins.spill),
    "matrix_share": _other_than_matrix,
    "loads_per_matrix": lambda found: tuple(
        ins for ins in found.loop if WORDS[found.family].is_load(ins)
    ),
}
