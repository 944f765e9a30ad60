"""Which CTAs of a launch run, in what order, and how many at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgen.emulate.ptx.chunk import Index3, Launch
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.frontend.syntax import Kernel, Register
from kgen.errors import EmulationError

#: Threads that run in lockstep: enough to hide the interpreter, few enough for the host's cache.
_THREADS = 1 << 15
#: The same for a kernel whose CTAs wait for each other.
_THREADS_TOGETHER = 1 << 18
_STRONG = frozenset(["volatile", "relaxed", "acquire"])
#: Bytes of shared memory, with what the checks keep of it, that a chunk of CTAs may take.
_SHARED_BYTES = 1 << 29


def ordered(launch: Launch, workgroups: Sequence[Index3] | None) -> list[Index3]:
    """The CTAs to run, those of a cluster together and in the order of their ranks.

    Of `workgroups`, whole clusters run. The clusters run in the order of their numbers, or shuffled
    by a seed other than 0. Raises EmulationError for a CTA outside the grid.
    """
    grid, cluster = launch.grid, launch.cluster
    count = [g // c for g, c in zip(grid, cluster, strict=True)]
    if workgroups is None:
        found = _numbers(count)
    else:
        found = list(dict.fromkeys(_cluster_of(cta, launch) for cta in workgroups))
    if launch.seed:
        order = np.random.default_rng(launch.seed).permutation(len(found))
        found = [found[i] for i in order]
    a, b, c = cluster
    return [(a * x + i, b * y + j, c * z + k) for x, y, z in found for i, j, k in _numbers(cluster)]


def _numbers(count: Sequence[int]) -> list[Index3]:
    x_count, y_count, z_count = count
    return [(x, y, z) for z in range(z_count) for y in range(y_count) for x in range(x_count)]


def _cluster_of(cta: Index3, launch: Launch) -> Index3:
    if any(not 0 <= i < g for i, g in zip(cta, launch.grid, strict=True)):
        raise EmulationError(f"workgroup {cta} is outside the grid {launch.grid}")
    (x, y, z), (a, b, c) = cta, launch.cluster
    return int(x) // a, int(y) // b, int(z) // c


def ctas_at_once(machine: Machine) -> int:
    """How many CTAs make a chunk: whole clusters, at least one."""
    launch, cluster = machine.launch, machine.cluster
    kept = 8 * (1 + launch.warps * cluster) // machine.granule + 2
    by_memory = _SHARED_BYTES // max(1, launch.shared_bytes * kept)
    threads = _THREADS_TOGETHER if _waits_for_others(machine.kernel) else _THREADS
    most = min(threads // (32 * launch.warps), by_memory)
    return max(1, most // cluster) * cluster


def _waits_for_others(kernel: Kernel) -> bool:
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
