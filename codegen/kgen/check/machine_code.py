"""A kernel's machine instructions, and the loop in which it spends its time.

NVIDIA's are read from the cubin. Those of LLVM's families are printed by the LLVM that made the
machine code, from the same IR in the same way, since few machines have a disassembler for them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kgen import targets
from kgen.check.disassemble import run_tool
from kgen.check.execute import Reader
from kgen.errors import AssembleError
from kgen_runtime.manifest import ArtifactEntry, KernelEntry

#: SASS instructions of compute capability 7.0 and later.
SASS_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """`goes_to` is the index of the instruction that a branch may go to."""

    opcode: str
    operands: str = ""
    goes_to: int | None = None


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop's instructions by opcode, `products` of them matrix instructions, or multiply-adds
    where it has none of those (`matrix` says which), and `loads` loads. `unrolled`: there is no
    loop, the compiler has unrolled it; these are all instructions."""

    opcodes: Counter[str]
    unrolled: bool
    matrix: bool
    products: int
    loads: int

    @property
    def instructions(self) -> int:
        return self.opcodes.total()

    def mix(self, most: int = 8) -> str:
        """The opcodes that there are most of, in words."""
        shown = ", ".join(f"{count} {opcode}" for opcode, count in self.opcodes.most_common(most))
        what = "all" if self.unrolled else "the hot loop's"
        kind = "matrix instructions" if self.matrix else "multiply-adds"
        return (
            f"{what} {self.instructions} instructions: {self.products} {kind}, {self.loads} loads "
            f"({shown})"
        )


@dataclass(frozen=True, kw_only=True)
class Words:
    """How a family's instructions are told apart."""

    matrix: re.Pattern[str]
    fma: re.Pattern[str]
    is_load: Callable[[Instruction], bool]


def hot_loop(reader: Reader, entry: KernelEntry) -> Loop | None:
    """The innermost loop with most of the products; None if there are none, and for SPIR-V.

    Raises AssembleError if a tool is missing, or is not the version that made the machine code.
    """
    family = entry.target.family
    if family not in _READERS:
        return None
    return find_loop(_READERS[family](reader, entry), WORDS[family])


def find_loop(instructions: Sequence[Instruction], words: Words) -> Loop | None:
    """The same in a list of instructions. A loop is what lies between a branch and an earlier
    instruction that it goes to; matrix instructions outside of all are of one that is unrolled."""
    loops = {
        range(ins.goes_to, i + 1)
        for i, ins in enumerate(instructions)
        if ins.goes_to is not None and ins.goes_to <= i
    }
    everything = range(len(instructions))
    for pattern, bodies in (
        (words.matrix, loops),
        (words.matrix, {everything}),
        (words.fma, loops),
    ):
        products = {
            body: sum(bool(pattern.match(instructions[i].opcode)) for i in body) for body in bodies
        }
        holding = [body for body, count in products.items() if count]
        inner = [a for a in holding if not any(_inside(b, a) for b in holding)]
        if inner:
            body = max(inner, key=lambda body: (products[body], -len(body)))
            loop = [instructions[i] for i in body]
            return Loop(
                opcodes=Counter(ins.opcode for ins in loop),
                unrolled=body not in loops,
                matrix=pattern is words.matrix,
                products=products[body],
                loads=sum(words.is_load(ins) for ins in loop),
            )
    return None


def _inside(small: range, large: range) -> bool:
    return small != large and small.start >= large.start and small.stop <= large.stop


# ------------------------------------------------------------------------------------ NVIDIA


def _sass(reader: Reader, entry: KernelEntry) -> list[Instruction]:
    artifact = _artifact(entry, "cubin")
    functions = json.loads(run_tool("cubin", ("-json",), reader.read(artifact), artifact.file))[1]
    found: list[Instruction] = []
    for function in functions:
        first = len(found)
        for each in function["sass-instructions"]:
            opcode, operands = each["opcode"].partition(".")[0], each.get("operands", "")
            target = re.search(r"0x([0-9a-f]+)\s*$", operands) if opcode == "BRA" else None
            goes_to = first + int(target[1], 16) // SASS_BYTES if target else None
            found.append(Instruction(opcode=opcode, operands=operands, goes_to=goes_to))
    return found


# ------------------------------------------------------------------------------------ LLVM

_LABEL = re.compile(r"^(\.L\w+):")
_LINE = re.compile(r"^\s+([a-z][\w.]*)(?:\s+([^;#\n]*))?")


def _amdgpu(reader: Reader, entry: KernelEntry) -> list[Instruction]:
    from kgen.targets.amdgpu.assemble import assembly

    return parse_assembly(assembly(_ir(reader, entry), targets.find(entry.target.name)))


def _cpu(reader: Reader, entry: KernelEntry) -> list[Instruction]:
    from kgen.targets.cpu.assemble import assembly

    code = _artifact(entry, f"elf-{entry.target.arch}")
    text = assembly(_ir(reader, entry), entry.target.arch, code.requires["features"])
    return parse_assembly(text)


def _ir(reader: Reader, entry: KernelEntry) -> str:
    """The kernel's LLVM IR. Raises AssembleError if another LLVM made its machine code."""
    for tool in targets.family(entry.target.family).toolchain():
        made_by = reader.manifest.provenance.get(tool.name)
        if made_by != tool.version:
            raise AssembleError(f"{entry.name} was made by LLVM {made_by}, here is {tool.version}")
    return reader.read(_artifact(entry, "llvm-ir")).decode()


def parse_assembly(text: str) -> list[Instruction]:
    """The instructions of LLVM's assembly text; directives are left out."""
    labels: dict[str, int] = {}
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if (label := _LABEL.match(line)) is not None:
            labels[label[1]] = len(found)
        elif (words := _LINE.match(line)) is not None:
            found.append((words[1], (words[2] or "").strip()))
    return [
        Instruction(opcode=opcode, operands=operands, goes_to=_target(operands, labels))
        for opcode, operands in found
    ]


def _target(operands: str, labels: Mapping[str, int]) -> int | None:
    """Where a branch goes: its last operand is a label."""
    return labels.get(operands.rpartition(",")[2].strip())


def _loads_on_cpu(ins: Instruction) -> bool:
    """x86 loads with most instructions: the destination comes last, and memory in parentheses."""
    if ins.opcode.startswith(("lea", "prefetch")):
        return False
    memory = "(" in ins.operands and not ins.operands.endswith(")")
    return memory or ins.opcode.startswith(("ld", "tileload"))


#: Constants (LDC) and the bookkeeping of copies (LDGDEPBAR) are no loads of data.
_SASS_LOAD = re.compile(r"(LD|LDG|LDL|LDS|LDSM|LDGSTS|UTMALDG|UBLKCP)$")
_AMD_LOAD = re.compile(r"(global|buffer|flat|scratch|ds|s)_(load|read)")

WORDS: Mapping[str, Words] = {
    "cuda": Words(
        matrix=re.compile(r"[A-Z]+MMA$"),
        fma=re.compile(r"[DFH]FMA2?$"),
        is_load=lambda ins: bool(_SASS_LOAD.match(ins.opcode)),
    ),
    "amdgpu": Words(
        matrix=re.compile(r"v_s?w?(mfma|mfmac|mma|mmac)"),
        fma=re.compile(r"v_(pk_|dual_)?(fma|fmac|mac|dot)"),
        is_load=lambda ins: bool(_AMD_LOAD.match(ins.opcode)),
    ),
    "cpu": Words(
        matrix=re.compile(r"td[pc]|[bsu]m?mmla|bfmmla"),
        fma=re.compile(r"vfn?m(add|sub)|vdp|fml[as]|bfdot"),
        is_load=_loads_on_cpu,
    ),
}
_READERS: Mapping[str, Callable[[Reader, KernelEntry], list[Instruction]]] = {
    "cuda": _sass,
    "amdgpu": _amdgpu,
    "cpu": _cpu,
}


def _artifact(entry: KernelEntry, form: str) -> ArtifactEntry:
    for artifact in entry.artifacts:
        if artifact.format == form:
            return artifact
    raise AssembleError(f"{entry.name} holds no {form} to read instructions from")
