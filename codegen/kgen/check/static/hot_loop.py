"""The loop in which a kernel spends its time, found in its machine instructions."""

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
    """A loop's instructions, those at `body`, by opcode: `work` of them do what the kernel is for,
    `loads` load data, `spills` put registers on the stack or take them back. `unrolled`: there is
    no loop, the compiler has unrolled it; these are all instructions."""

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
        """The part of the instructions that does the work."""
        return self.work / self.instructions

    def mix(self, most: int = 8) -> str:
        """The opcodes that there are most of, in words."""
        return mix(self.opcodes, most)

    def to_json(self) -> dict[str, Any]:
        opcodes = dict(self.opcodes.most_common())
        fields = vars(self) | {"instructions": self.instructions, "opcodes": opcodes}
        del fields["body"]
        return fields


def mix(opcodes: Counter[str], most: int = 8) -> str:
    """The opcodes that there are most of, in words."""
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
    """The innermost loop with most of the matrix instructions; else, if there are some outside of
    all loops, all code; else the loop with most multiply-adds, or the function that loops call for
    them, whose own loop is unrolled; else the loop with most loads."""
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
    """A loop is what lies between a branch and an earlier instruction that it goes to."""
    return {
        range(ins.goes_to, i + 1)
        for i, ins in enumerate(code)
        if ins.goes_to is not None and ins.goes_to <= i
    }


def functions_in(code: Sequence[MachineInstruction]) -> set[range]:
    """Ranges of instructions between returns, on CPUs; a kernel for a GPU has no functions."""
    ends = [i + 1 for i, ins in enumerate(code) if ins.opcode in ("ret", "retq")]
    return {range(start, end) for start, end in itertools.pairwise([0, *ends])}


def innermost(loops: Collection[range]) -> list[range]:
    """Loops that contain no other loop."""
    return [a for a in loops if not any(_inside(b, a) for b in loops)]


def _inside(small: range, large: range) -> bool:
    return small != large and small.start >= large.start and small.stop <= large.stop


def _loads_on_cpu(ins: MachineInstruction) -> bool:
    """x86 loads with most instructions: the destination comes last, and memory in parentheses."""
    if ins.opcode.startswith(("lea", "prefetch")):
        return False
    operands = re.sub(r"\s*\{%k\d\}", "", ins.operands)
    memory = "(" in operands and not operands.endswith(")")
    return memory or ins.opcode.startswith(("ld", "tileload"))


#: Constants (LDC) and the bookkeeping of copies (LDGDEPBAR) are no loads of data.
_SASS_LOAD = re.compile(r"(LD|LDG|LDL|LDS|LDSM|LDGSTS|UTMALDG|UBLKCP)$")
_AMD_LOAD = re.compile(r"(global|buffer|flat|scratch|ds|s)_(load|read)")
_SPIRV_LOAD = re.compile(r"Op(Load|CooperativeMatrixLoadKHR)$")
_NVK_LOAD = re.compile(r"(ld\.(global|shared|local)|ldsm)")

#: By family; `nvk` is the assembly that NVIDIA's Vulkan driver of Mesa prints.
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
