"""Execution of aarch64 kernels under user-mode qemu, without an aarch64 system.

The kernel, its buffers and a few instructions that call it become one static executable: it runs
all tasks, writes every buffer to its standard output and exits. Each buffer either ends at the end
of a page or begins at the start of one, with an unmapped page beyond, so that an access past that
end faults. Instruction encodings: Arm Architecture Reference Manual, C6.2. System calls: Linux,
asm-generic/unistd.h.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen import temporary
from kgen.errors import EmulationError
from kgen.parallel import children
from kgen.targets import elf
from kgen_runtime.values import frozen

QEMU = "qemu-aarch64"
#: Emulated CPUs: an Armv8.0 core, and one with dot products. A kernel that uses undeclared features
#: ends with an illegal instruction.
BASELINE, WITH_DOTPROD = "cortex-a53", "neoverse-n1"

EM_AARCH64 = 183
ET_EXEC = 2
PAGE = 0x10000
CODE_BASE = 0x10000000
START = 0x20000000
BUFFERS = 0x100000000
SYS_WRITE, SYS_EXIT = 64, 93
REGISTER_ARGUMENTS = 8

SVC = 0xD4000001
ADD_X1_X1_X0 = 0x8B000021
SUBS_X2_X2_X0 = 0xEB000042
CMP_X0_0 = 0xF100001F


def available() -> bool:
    return shutil.which(QEMU) is not None


@frozen
class ElfSegment:
    """ELF segment: bytes at an address with the rights `flags`.

    The address is congruent to the file offset modulo the page size.
    """

    address: int
    flags: int
    data: bytes


def run_aarch64(
    code: bytes,
    entry: str,
    arguments: Sequence[npt.NDArray[Any] | int],
    tasks: int,
    *,
    at_end: bool = True,
    features: Collection[str] = (),
) -> None:
    """Call ``entry(arguments..., 0, tasks)`` of a shared object; buffers change in place.

    Arrays must be C-contiguous and are passed as pointers, integers by value. With `at_end` the
    unmapped page follows each buffer, otherwise it precedes it. `features` are those that the code
    requires. Raises EmulationError if qemu is not installed or the kernel does not return.
    """
    if not available():
        raise EmulationError(f"{QEMU} is not installed; apt install qemu-user")
    image, function = load(code, entry)
    values, segments, buffers = [], list(image), []
    at = BUFFERS
    for argument in arguments:
        if isinstance(argument, int):
            values.append(argument)
            continue
        data = argument.tobytes()
        room = elf.align(len(data), PAGE)
        at += room + PAGE
        address = at - (len(data) if at_end else room)
        values.append(address)
        buffers.append((argument, address))
        segments.append(ElfSegment(address=address, flags=elf.PF_R | elf.PF_W, data=data))
    values += [0, tasks]
    start = start_code(function, values, [(where, array.nbytes) for array, where in buffers])
    segments.append(ElfSegment(address=START, flags=elf.PF_R | elf.PF_X, data=start))
    cpu = WITH_DOTPROD if "asimddp" in features else BASELINE
    output = execute(executable(segments), entry, cpu)
    expected = sum(array.nbytes for array, _ in buffers)
    if len(output) != expected:
        raise EmulationError(f"{entry}: {QEMU} gave {len(output)} of {expected} bytes")
    at = 0
    for array, _ in buffers:
        flat = np.frombuffer(output, array.dtype, array.size, at)
        array[...] = flat.reshape(array.shape)
        at += array.nbytes


def load(code: bytes, entry: str) -> tuple[list[ElfSegment], int]:
    """Return a shared object's segments at their addresses, and a function's address."""
    header = elf.HEADER.unpack_from(code)
    program_headers, count, machine = header[5], header[10], header[2]
    if machine != EM_AARCH64:
        raise EmulationError(f"{entry}: the code is not for aarch64")
    segments, dynamic = [], {}
    for i in range(count):
        kind, flags, offset, address, _, size, _, _ = elf.SEGMENT.unpack_from(
            code, program_headers + i * elf.SEGMENT.size
        )
        if kind == elf.PT_LOAD:
            data = code[offset : offset + size]
            segments.append(ElfSegment(address=CODE_BASE + address, flags=flags, data=data))
        elif kind == elf.PT_DYNAMIC:
            dynamic = dict(elf.DYNAMIC.iter_unpack(code[offset : offset + size]))
    # The tables of the dynamic section lie in the first segment, which begins the file.
    strings, symbols = dynamic[elf.DT_STRTAB], dynamic[elf.DT_SYMTAB]
    for at in range(symbols, strings - elf.SYMBOL.size + 1, elf.SYMBOL.size):
        name, _, _, _, value, _ = elf.SYMBOL.unpack_from(code, at)
        if elf.string_at(code, strings + name) == entry:
            return segments, CODE_BASE + value
    raise EmulationError(f"{entry}: the code has no such function")


def start_code(function: int, values: Sequence[int], outputs: Sequence[tuple[int, int]]) -> bytes:
    """Return code that calls a function, writes (address, size) each, and exits with status 0."""
    on_stack = values[REGISTER_ARGUMENTS:]
    frame = elf.align(8 * len(on_stack), 16)
    words = [0xD10003FF | frame << 10]  # sub sp, sp, #frame
    for i, value in enumerate(on_stack):
        words += [*move(9, value), 0xF90003E0 | i << 10 | 9]  # str x9, [sp, #8 i]
    for i, value in enumerate(values[:REGISTER_ARGUMENTS]):
        words += move(i, value)
    words += [*move(16, function), 0xD63F0000 | 16 << 5]  # blr x16
    for address, size in outputs:
        words += [*move(1, address), *move(2, size)]
        # A write may be partial. A failed one ends the loop, and the output is short.
        words += [*move(0, 1), *move(8, SYS_WRITE), SVC, CMP_X0_0]
        words += [branch(0b1101, 4), ADD_X1_X1_X0, SUBS_X2_X2_X0]  # b.le: past the loop
        words += [branch(0b0001, -13)]  # b.ne: back to x0 = 1
    words += [*move(0, 0), *move(8, SYS_EXIT), SVC]
    return b"".join(word.to_bytes(4, "little") for word in words)


def move(register: int, value: int) -> list[int]:
    """Return movz and three movk, which load any 64-bit value."""
    parts = [(value >> 16 * i) & 0xFFFF for i in range(4)]
    opcodes = [0xD2800000, *[0xF2800000] * 3]
    return [
        opcode | i << 21 | part << 5 | register
        for i, (opcode, part) in enumerate(zip(opcodes, parts, strict=True))
    ]


def branch(condition: int, words: int) -> int:
    """Return b.cond to an instruction `words` instructions away."""
    return 0x54000000 | (words & 0x7FFFF) << 5 | condition


def executable(segments: Sequence[ElfSegment]) -> bytes:
    """Return a static executable of these segments, which starts at START."""
    headers, body = [], bytearray(elf.HEADER.size + elf.SEGMENT.size * len(segments))
    for segment in segments:
        offset = elf.align(len(body), PAGE) + segment.address % PAGE
        body += bytes(offset - len(body)) + segment.data
        size = len(segment.data)
        address = segment.address
        headers.append(
            elf.SEGMENT.pack(elf.PT_LOAD, segment.flags, offset, address, address, size, size, PAGE)
        )
    header = elf.HEADER.pack(
        b"\x7fELF\x02\x01\x01" + bytes(9),
        ET_EXEC,
        EM_AARCH64,
        1,
        START,
        elf.HEADER.size,
        0,
        0,
        elf.HEADER.size,
        elf.SEGMENT.size,
        len(segments),
        elf.SECTION.size,
        0,
        0,
    )
    table = header + b"".join(headers)
    body[: len(table)] = table
    return bytes(body)


def execute(program: bytes, name: str, cpu: str) -> bytes:
    """Run a program under qemu and return its output.

    The temporary folder also receives the core file of a crash.
    """
    with temporary.folder() as folder:
        path = folder / "kernel"
        path.write_bytes(program)
        path.chmod(0o700)
        done = subprocess.run(
            [QEMU, "-cpu", cpu, str(path)],
            cwd=folder,
            capture_output=True,
            check=False,
            preexec_fn=children.tied(),
        )
    if done.returncode:
        number = -done.returncode if done.returncode < 0 else done.returncode - 128
        known = {s.value: s.name for s in signal.Signals}
        reason = known.get(number, f"status {done.returncode}")
        raise EmulationError(
            f"{name} under {QEMU} -cpu {cpu} ended with {reason}; "
            "it accessed memory outside of its buffers, or used an instruction that the CPU lacks"
        )
    return done.stdout
