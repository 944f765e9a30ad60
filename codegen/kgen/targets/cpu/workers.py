"""The runtime's thread pool as machine code, made from a template like a kernel.

`make generated` writes it to runtime/kgen_runtime/native/, for every architecture, so that the
runtime needs no compiler; a test holds that it is what the template gives.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen import render
from kgen.targets.cpu.assemble import compile_object
from kgen.targets.cpu.linker import link
from kgen_runtime.backends.cpu.workers import POOL
from kgen_runtime.launch_limits import CPU_POINTERS

#: x86's PAUSE and Arm's YIELD: the core may give its time to its other thread.
PAUSE = {
    "x86_64": ("@llvm.x86.sse2.pause()", "@llvm.x86.sse2.pause()"),
    "aarch64": ("@llvm.aarch64.hint(i32 1)", "@llvm.aarch64.hint(i32)"),
}
ARCHITECTURES = tuple(PAUSE)
#: The number of futex(2): Linux, arch/x86/entry/syscalls/syscall_64.tbl and
#: include/uapi/asm-generic/unistd.h.
FUTEX = {"x86_64": 202, "aarch64": 98}
#: Linux, include/uapi/linux/futex.h: FUTEX_WAIT and FUTEX_WAKE, FUTEX_PRIVATE_FLAG.
FUTEX_WAIT, FUTEX_WAKE = 128, 129
#: Linux, include/uapi/linux/time.h.
CLOCK_MONOTONIC = 1
#: Where in a job the kernel's pointers begin.
POINTERS = 40
#: Turns of an idle worker's loop before it sleeps: about 50 us.
SPINS = 4096
#: Fields of the pool's state.
PLACE, OPEN, NUMBER = 1 << 16, 1 << 32, 1 << 33


def source(arch: str) -> str:
    """The module's text."""
    pause, declaration = PAUSE[arch]
    values: Mapping[str, object] = {
        "arch": arch,
        "pool": POOL,
        "pointers": range(POINTERS, POINTERS + 8 * CPU_POINTERS, 8),
        "counts": range(1, CPU_POINTERS + 1),
        "pause": pause,
        "pause_declaration": declaration,
        "futex_number": FUTEX[arch],
        "futex_wait": FUTEX_WAIT,
        "futex_wake": FUTEX_WAKE,
        "spins": SPINS,
        "monotonic": CLOCK_MONOTONIC,
        "place": PLACE,
        "open": OPEN,
        "number": NUMBER,
        "closed": -NUMBER | 0xFFFF,
    }
    return render.text("cpu/workers.ll.j2", values)


def shared_object(arch: str) -> bytes:
    return link(compile_object(source(arch), arch, ()))
