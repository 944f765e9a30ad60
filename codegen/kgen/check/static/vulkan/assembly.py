"""Parsers of the assembly texts of RADV and NVK (Mesa's drivers for AMD and NVIDIA)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from kgen.check.static.machine_code import MachineInstruction
from kgen_runtime.values import frozen

#: Opcode and operands of one instruction, or the name of a label.
Line = tuple[str, str] | str

_RADV_LABEL = re.compile(r"^(BB\d+):")
#: Text in place of an instruction that the driver's LLVM cannot print.
_UNKNOWN = "(invalid instruction)"
_NVK_BLOCK = re.compile(r"^block\S* \d+ (L\d+) \[(.*?)\]")
#: Results and predicate before the opcode.
_NVK_CODE = re.compile(r"^\s+(?:@\S+\s+)?(?:[\w. ]+?\s+=\s+)?([a-z][\w.]*)\S*(?:\s+(.*))?$")


def parse_radv(text: str) -> list[MachineInstruction]:
    """Return the instructions of RADV's assembly; a dual-issued pair is two instructions."""
    return _located(_radv_lines(text))


def parse_nvk(text: str) -> list[MachineInstruction]:
    return _located(_nvk_lines(text))


def _radv_lines(text: str) -> Iterator[Line]:
    for line in text.splitlines():
        if (label := _RADV_LABEL.match(line)) is not None:
            yield label[1]
        elif line.startswith(_UNKNOWN):
            yield "unknown", ""
        elif line.startswith("\t"):
            for part in line.partition(";")[0].split("::"):
                opcode, _, operands = part.strip().partition(" ")
                if opcode:
                    yield opcode, operands


def _nvk_lines(text: str) -> Iterator[Line]:
    for block in _with_whole_loops(list(_nvk_blocks(text))):
        yield block.label
        yield from block.lines


@frozen
class NvkBlock:
    """Basic block of NVK's assembly, and the labels of its predecessors."""

    label: str
    before: tuple[int, ...]
    lines: list[Line] = field(default_factory=list)


def _nvk_blocks(text: str) -> Iterator[NvkBlock]:
    block = None
    for line in text.splitlines():
        if (head := _NVK_BLOCK.match(line)) is not None:
            if block is not None:
                yield block
            block = NvkBlock(label=head[1], before=tuple(map(int, re.findall(r"\d+", head[2]))))
        elif (code := _NVK_CODE.match(line.partition("//")[0].rstrip())) is not None:
            assert block is not None, line
            block.lines.append((code[1], code[2] or ""))
    if block is not None:
        yield block


def _with_whole_loops(blocks: list[NvkBlock]) -> list[NvkBlock]:
    """Return the blocks with those of each loop next to one another.

    NVK places what follows a loop before the loop's last block.
    """
    order = list(range(len(blocks)))
    ends = ((last, head) for head, block in enumerate(blocks) for last in block.before)
    for last, head in sorted((e for e in ends if e[0] >= e[1]), key=lambda e: e[1] - e[0]):
        inside, pending = {head}, [last]
        while pending:
            if (number := pending.pop()) not in inside:
                inside.add(number)
                pending += blocks[number].before
        span = slice(order.index(head), order.index(last) + 1)
        order[span] = sorted(order[span], key=lambda number: number not in inside)
    return [blocks[number] for number in order]


def _located(lines: Iterator[Line]) -> list[MachineInstruction]:
    """Return the instructions with their branch targets; a branch's last operand is a label."""
    labels: dict[str, int] = {}
    found: list[tuple[str, str]] = []
    for line in lines:
        if isinstance(line, str):
            labels[line] = len(found)
        else:
            found.append(line)
    return [
        MachineInstruction(
            opcode=opcode,
            operands=operands,
            goes_to=labels.get(operands.rpartition(" ")[2]) if "bra" in opcode else None,
        )
        for opcode, operands in found
    ]
