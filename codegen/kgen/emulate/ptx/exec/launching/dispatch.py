"""How many CTAs of a launch run at a time."""

from __future__ import annotations

from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.frontend.syntax import PtxKernel, Register

#: Threads that run in lockstep: enough to hide the interpreter, few enough for the host's cache.
_THREADS = 1 << 15
#: The same for a kernel whose CTAs wait for each other.
_THREADS_TOGETHER = 1 << 18
_STRONG = frozenset(["volatile", "relaxed", "acquire"])
#: Bytes of shared memory, with what the checks keep of it, that a chunk of CTAs may take.
_SHARED_BYTES = 1 << 29
#: Bytes of local memory that a chunk of CTAs may take.
_LOCAL_BYTES = 1 << 30


def ctas_at_once(machine: Machine) -> int:
    """How many CTAs make a chunk: whole clusters, at least one."""
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
    """Whether a loop looks at global memory for what another CTA may write.

    All CTAs then run together, as far as there is room, and in the order of their numbers; one that
    waits for a CTA that has no room is in a deadlock, as it may be on a GPU.
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
