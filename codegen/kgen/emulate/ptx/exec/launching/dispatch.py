"""Number of CTAs of a launch that run at a time (a chunk)."""

from __future__ import annotations

from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.frontend.syntax import PtxKernel, Register

#: Threads in lockstep: enough to amortise the interpreter, few enough for the host's cache.
_THREADS = 1 << 15
#: Threads in lockstep for a kernel whose CTAs wait for each other.
_THREADS_TOGETHER = 1 << 18
_STRONG = frozenset(["volatile", "relaxed", "acquire"])
#: Limit on the shared memory of a chunk, in bytes, including the shadow memory of the checks.
_SHARED_BYTES = 1 << 29
#: Limit on the local memory of a chunk, in bytes.
_LOCAL_BYTES = 1 << 30


def ctas_at_once(machine: Machine) -> int:
    """Return the CTAs of a chunk: whole clusters, at least one."""
    launch, cluster = machine.launch, machine.cluster
    kept = 8 * (1 + launch.warps * cluster) // machine.granule + 2
    local = machine.kernel.spaces.get("local", 0) * 32 * launch.warps
    by_memory = min(
        _SHARED_BYTES // max(1, launch.shared_bytes * kept), _LOCAL_BYTES // max(1, local)
    )
    threads = _THREADS_TOGETHER if _waits_for_others(machine.kernel) else _THREADS
    most = min(threads // (32 * launch.warps), by_memory)
    return max(1, most // cluster) * cluster


def _waits_for_others(kernel: PtxKernel) -> bool:
    """Return whether a loop polls global memory that another CTA may write.

    All CTAs of such a kernel run together, as far as memory permits, in the order of their numbers.
    A CTA that waits for one outside the chunk is a deadlock, as it may be on a GPU.
    """
    looks = [
        index
        for index, instruction in enumerate(kernel.instructions)
        if instruction.words[0] in ("ld", "atom")
        and not any(word.startswith("shared") for word in instruction.words)
        and (instruction.words[0] == "atom" or _STRONG & set(instruction.words))
    ]
    return any(
        kernel.labels.get(operand.name, index) <= look <= index
        for index, instruction in enumerate(kernel.instructions)
        if instruction.words[0] == "bra"
        for operand in instruction.operands
        if isinstance(operand, Register)
        for look in looks
    )
