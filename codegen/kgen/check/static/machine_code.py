"""Machine instructions of a kernel as a list.

NVIDIA's are read from the cubin. For AMD and CPUs, the LLVM that made the machine code prints them
from the same IR in the same way, since few machines have a disassembler for them. SPIR-V is
compiled by a driver, so its own instructions are the closest form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from kgen import targets
from kgen.check.execute.runners import Reader, text_of
from kgen.check.static.disassemble import run_tool
from kgen.errors import AssembleError
from kgen.targets.llvm_lines import with_lines
from kgen_runtime.manifest import ArtifactEntry, KernelEntry
from kgen_runtime.values import frozen

#: Bytes per SASS instruction from compute capability 7.0 on.
SASS_BYTES = 16


@frozen
class MachineInstruction:
    """Instruction of a disassembly.

    `goes_to` is the index of a branch's target (the first of several). `spill` says that the
    instruction stores a register to the stack or loads it back. `line` is the line of the rendered
    text, counted from 1, if requested and known.
    """

    opcode: str
    operands: str = ""
    goes_to: int | None = None
    spill: bool = False
    line: int | None = None


def instructions(
    reader: Reader, entry: KernelEntry, *, lines: bool = False
) -> list[MachineInstruction]:
    """Return the instructions of a kernel, entry point after entry point.

    With `lines` the kernel's text is assembled again with debug information. Raises AssembleError
    if a tool is missing, or is not the version that made the machine code.
    """
    return _READERS[entry.target.family](reader, entry, lines)


# ------------------------------------------------------------------------------------ NVIDIA

#: Accesses to local memory, which kgen's kernels use for spills only.
_SASS_SPILLS = ("STL", "LDL")


def _sass(reader: Reader, entry: KernelEntry, lines: bool) -> list[MachineInstruction]:
    artifact = _artifact(entry, "cubin")
    code = _with_lines(reader, entry) if lines else reader.read(artifact)
    places = _places(run_tool("cubin", ("-c", "-gp"), code, artifact.file)) if lines else {}
    return parse_cubin(code, artifact.file, places)


def parse_cubin(
    code: bytes, name: str, places: Mapping[str, Sequence[int | None]] = MappingProxyType({})
) -> list[MachineInstruction]:
    """Return the instructions of a cubin; `name` is for messages.

    `places` has the source lines of each function's instructions. Raises AssembleError if nvdisasm
    is missing or fails.
    """
    found: list[MachineInstruction] = []
    for function in json.loads(run_tool("cubin", ("-json",), code, name))[1]:
        first = len(found)
        known = places.get(function["function-name"], ())
        for i, each in enumerate(function["sass-instructions"]):
            opcode, operands = each["opcode"].partition(".")[0], each.get("operands", "")
            target = re.search(r"0x([0-9a-f]+)\s*$", operands) if opcode == "BRA" else None
            found.append(
                MachineInstruction(
                    opcode=opcode,
                    operands=operands,
                    goes_to=first + int(target[1], 16) // SASS_BYTES if target else None,
                    spill=opcode in _SASS_SPILLS,
                    line=known[i] if i < len(known) else None,
                )
            )
    return found


def _with_lines(reader: Reader, entry: KernelEntry) -> bytes:
    """Return the kernel's cubin, assembled again with line information.

    Raises AssembleError if another version of ptxas made the original.
    """
    from kgen.targets.cuda.assemble import cubin_with_lines

    _check_made_here(reader, entry)
    return cubin_with_lines(text_of(reader, _artifact(entry, "ptx")), entry.target.arch)


_SASS_FUNCTION = re.compile(r"^\.text\.(\w+):$")
_SASS_PLACE = re.compile(r'^\s*//## File "\.nv_debug_ptx_txt", line (\d+)')
_SASS_CODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/")


def _places(text: str) -> dict[str, list[int | None]]:
    """Return the PTX line of each instruction, by function, from `nvdisasm -gp` output."""
    found: dict[str, list[int | None]] = {}
    lines: list[int | None] = []
    at: int | None = None
    for line in text.splitlines():
        if (function := _SASS_FUNCTION.match(line)) is not None:
            lines = found.setdefault(function[1], [])
        elif (place := _SASS_PLACE.match(line)) is not None:
            at = int(place[1])
        elif _SASS_CODE.match(line):
            lines.append(at)
    return found


# ------------------------------------------------------------------------------------ LLVM

_LABEL = re.compile(r"^(\.L\w+):")
_LINE = re.compile(r"^\s+([a-z][\w.]*)(?:\s+(.*))?$")
#: Comments of x86, AArch64 and AMDGPU; a # before a digit is an immediate in AArch64.
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|;)(?:\s+(.*))?$")
_PLACE = re.compile(r"^\s+\.loc\s+\d+\s+(\d+)")
_SPILL = re.compile(r"\d+-byte (Folded )?(Spill|Reload)")


def _amdgpu(reader: Reader, entry: KernelEntry, lines: bool) -> list[MachineInstruction]:
    from kgen.targets.amdgpu.assemble import assembly

    return parse_assembly(assembly(_ir(reader, entry, lines), targets.find(entry.target.name)))


def _cpu(reader: Reader, entry: KernelEntry, lines: bool) -> list[MachineInstruction]:
    from kgen.targets.cpu.assemble import assembly

    code = _artifact(entry, f"elf-{entry.target.arch}")
    text = assembly(_ir(reader, entry, lines), entry.target.arch, code.requires.get("features", ()))
    return parse_assembly(text)


def _ir(reader: Reader, entry: KernelEntry, lines: bool) -> str:
    """Return the kernel's LLVM IR. Raises AssembleError if another LLVM made its machine code."""
    _check_made_here(reader, entry)
    text = text_of(reader, _artifact(entry, "llvm-ir"))
    return with_lines(text) if lines else text


def _check_made_here(reader: Reader, entry: KernelEntry) -> None:
    for tool in targets.family(entry.target.family).toolchain():
        made_by = reader.manifest.provenance.get(tool.name)
        if made_by != tool.version:
            raise AssembleError(
                f"{entry.name} was built with {tool.name} {made_by}, and {tool.version} is "
                "installed here, which makes other code; build the bundle again"
            )


def parse_assembly(text: str) -> list[MachineInstruction]:
    """Return the instructions of LLVM's assembly text, without directives.

    LLVM marks spills in comments; without them (no `set_asm_verbosity`) none is found.
    """
    labels: dict[str, int] = {}
    found: list[tuple[str, str, bool, int | None]] = []
    at: int | None = None
    for line in text.splitlines():
        comment = _COMMENT.search(line)
        code = line[: comment.start()] if comment else line
        if (label := _LABEL.match(code)) is not None:
            labels[label[1]] = len(found)
        elif (place := _PLACE.match(code)) is not None:
            at = int(place[1]) or None
        elif (words := _LINE.match(code)) is not None:
            spill = comment is not None and bool(_SPILL.search(comment[1] or ""))
            found.append((words[1], (words[2] or "").strip(), spill, at))
    return [
        MachineInstruction(
            opcode=opcode,
            operands=operands,
            # The last operand of a branch is its label.
            goes_to=labels.get(operands.rpartition(",")[2].strip()),
            spill=spill,
            line=line_number,
        )
        for opcode, operands, spill, line_number in found
    ]


# ------------------------------------------------------------------------------------ SPIR-V

_RESULT = re.compile(r"^(%\w+) = ")


def _spirv(reader: Reader, entry: KernelEntry, lines: bool) -> list[MachineInstruction]:
    return parse_spirv(text_of(reader, _artifact(entry, "spirv-asm")))


def parse_spirv(text: str) -> list[MachineInstruction]:
    """Return the instructions of SPIR-V assembly from the first function on.

    An instruction of an extended set has its own name as opcode (Fma).
    """
    labels: dict[str, int] = {}
    found: list[tuple[str, Sequence[str], int]] = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith(";"):
            continue
        result = _RESULT.match(line)
        opcode, *operands = line[result.end() if result else 0 :].split()
        if opcode != "OpFunction" and not found:
            continue
        if opcode == "OpLabel" and result is not None:
            labels[result[1]] = len(found)
        if opcode == "OpExtInst":
            _type, _set, opcode, *operands = operands
        found.append((opcode, operands, number))
    return [
        MachineInstruction(
            opcode=opcode,
            operands=" ".join(operands),
            goes_to=min((labels[name] for name in operands if name in labels), default=None)
            if opcode.startswith("OpBranch")
            else None,
            line=number,
        )
        for opcode, operands, number in found
    ]


def _artifact(entry: KernelEntry, form: str) -> ArtifactEntry:
    for artifact in entry.artifacts:
        if artifact.format == form:
            return artifact
    raise AssembleError(f"{entry.name} has no {form} file; build the bundle again")


_READERS: Mapping[str, Callable[[Reader, KernelEntry, bool], list[MachineInstruction]]] = {
    "cuda": _sass,
    "amdgpu": _amdgpu,
    "cpu": _cpu,
    "vulkan": _spirv,
}
