"""Hot loop: the loop in which a kernel spends its time, found in its machine instructions."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kgen.check.static.machine_code import MachineInstruction
from kgen_runtime.values import frozen


class WorkKind(StrEnum):
    """Kind of work of a hot loop."""

    MATRIX = "matrix instructions"
    FMA = "multiply-adds"
    LOAD = "loads"


@frozen
class Loop:
    """Hot loop, with its instructions at `body` counted by opcode.

    `work` of them are of the loop's kind, `loads` load data, and `spills` store a register to the
    stack or load it back. If `unrolled`, the compiler has left no loop, and these are all
    instructions.
    """

    kind: WorkKind
    body: range
    opcodes: Counter[str]
    work: int
    loads: int
    spills: int
    unrolled: bool

    @property
    def instructions(self) -> int:
        return self.opcodes.total()

    @property
    def share(self) -> float:
        """Fraction of the instructions that do the work."""
        return self.work / self.instructions

    def mix(self, most: int = 8) -> str:
        """Return the most frequent opcodes as text."""
        return mix(self.opcodes, most)

    def to_json(self) -> dict[str, Any]:
        opcodes = dict(self.opcodes.most_common())
        fields = vars(self) | {"instructions": self.instructions, "opcodes": opcodes}
        del fields["body"]
        return fields


def mix(opcodes: Counter[str], most: int = 8) -> str:
    """Return the most frequent opcodes as text."""
    found = opcodes.most_common(most)
    rest = opcodes.total() - sum(count for _, count in found)
    shown = ", ".join(f"{count} {opcode}" for opcode, count in found)
    return f"{shown}, {rest} others" if rest else shown


@frozen
class InstructionPatterns:
    """Patterns that classify a family's instructions."""

    matrix: re.Pattern[str]
    fma: re.Pattern[str]
    is_load: Callable[[MachineInstruction], bool]

    def does(self, kind: WorkKind, ins: MachineInstruction) -> bool:
        if kind is WorkKind.LOAD:
            return self.is_load(ins)
        return bool((self.matrix if kind is WorkKind.MATRIX else self.fma).match(ins.opcode))


def find(code: Sequence[MachineInstruction], words: InstructionPatterns) -> Loop | None:
    """Return the hot loop, or None. The first rule that finds work decides:

    - the innermost loop with most matrix instructions
    - all of the code, if it has matrix instructions outside of loops
    - the innermost loop with most multiply-adds
    - the function with most multiply-adds, whose own loop is unrolled
    - the innermost loop with most loads
    """
    everything = range(len(code))
    loops = loops_in(code)
    for kind, bodies in (
        (WorkKind.MATRIX, loops),
        (WorkKind.MATRIX, {everything}),
        (WorkKind.FMA, loops),
        (WorkKind.FMA, functions_in(code)),
        (WorkKind.LOAD, loops),
    ):
        counts = {body: sum(words.does(kind, code[i]) for i in body) for body in bodies}
        holding = innermost([body for body, count in counts.items() if count])
        if holding:
            body = max(holding, key=lambda body: (counts[body], -len(body)))
            inside = [code[i] for i in body]
            return Loop(
                kind=kind,
                body=body,
                opcodes=Counter(ins.opcode for ins in inside),
                work=counts[body],
                loads=sum(map(words.is_load, inside)),
                spills=sum(ins.spill for ins in inside),
                unrolled=body not in loops,
            )
    return None


def loops_in(code: Sequence[MachineInstruction]) -> set[range]:
    """Return the ranges between a backward branch and its target."""
    return {
        range(ins.goes_to, i + 1)
        for i, ins in enumerate(code)
        if ins.goes_to is not None and ins.goes_to <= i
    }


def functions_in(code: Sequence[MachineInstruction]) -> set[range]:
    """Return the ranges of instructions between returns; only CPU code has functions."""
    ends = [i + 1 for i, ins in enumerate(code) if ins.opcode in ("ret", "retq")]
    return {range(start, end) for start, end in itertools.pairwise([0, *ends])}


def innermost(loops: Collection[range]) -> list[range]:
    """Return the loops that contain no other loop."""
    return [a for a in loops if not any(_inside(b, a) for b in loops)]


def _inside(small: range, large: range) -> bool:
    return small != large and small.start >= large.start and small.stop <= large.stop


def _loads_on_cpu(ins: MachineInstruction) -> bool:
    """Whether an instruction loads.

    In x86 assembly a load has memory in parentheses, but not last.
    """
    if ins.opcode.startswith(("lea", "prefetch")):
        return False
    operands = re.sub(r"\s*\{%k\d\}", "", ins.operands)
    memory = "(" in operands and not operands.endswith(")")
    return memory or ins.opcode.startswith(("ld", "tileload"))


#: Constants (LDC) and the bookkeeping of copies (LDGDEPBAR) are not loads of data.
_SASS_LOAD = re.compile(r"(LD|LDG|LDL|LDS|LDSM|LDGSTS|UTMALDG|UBLKCP)$")
_AMD_LOAD = re.compile(r"(global|buffer|flat|scratch|ds|s)_(load|read)")
_SPIRV_LOAD = re.compile(r"Op(Load|CooperativeMatrixLoadKHR)$")
_NVK_LOAD = re.compile(r"(ld\.(global|shared|local)|ldsm)")

#: Patterns by family; `nvk` is the assembly that Mesa's Vulkan driver for NVIDIA prints.
WORDS: Mapping[str, InstructionPatterns] = {
    "cuda": InstructionPatterns(
        matrix=re.compile(r"[A-Z]+MMA$"),
        fma=re.compile(r"[DFH]FMA2?$"),
        is_load=lambda ins: bool(_SASS_LOAD.match(ins.opcode)),
    ),
    "amdgpu": InstructionPatterns(
        matrix=re.compile(r"v_s?w?(mfma|mfmac|mma|mmac)"),
        fma=re.compile(r"v_(pk_|dual_)?(fma|fmac|mac|dot)"),
        is_load=lambda ins: bool(_AMD_LOAD.match(ins.opcode)),
    ),
    "cpu": InstructionPatterns(
        matrix=re.compile(r"td[pc]|(s|u|us|bf)mmla"),
        fma=re.compile(r"vfn?m(add|sub)|vp?dp|v?pmadd|mulp[ds]|f?ml[as]|bfdot|[su]dot|[su]mlal"),
        is_load=_loads_on_cpu,
    ),
    "vulkan": InstructionPatterns(
        matrix=re.compile(r"OpCooperativeMatrixMulAddKHR$"),
        fma=re.compile(r"Fma$|OpSDot|OpUDot"),
        is_load=lambda ins: bool(_SPIRV_LOAD.match(ins.opcode)),
    ),
    "nvk": InstructionPatterns(
        matrix=re.compile(r"[a-z]+mma\."),
        fma=re.compile(r"[dfh]fma2?\b|idp4"),
        is_load=lambda ins: bool(_NVK_LOAD.match(ins.opcode)),
    ),
}
