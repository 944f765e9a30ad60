"""PTX emulator: runs one entry point, all threads of many CTAs in lockstep, with correctness
checks.

The semantics are those of PTX ISA 8.7; modules name its sections. There are no caches and no timing
model: the effect of an instruction is complete before the next one starts. Asynchronous copies are
the exception: they finish as late as the program permits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kgen.emulate.counting.instructions import report
from kgen.emulate.limits import check_launch
from kgen.emulate.ptx.chunk import PtxLaunch
from kgen.emulate.ptx.exec.launching.arguments import copies, place, restore
from kgen.emulate.ptx.exec.launching.dispatch import ctas_at_once
from kgen.emulate.ptx.exec.launching.prepared import keep, prepared
from kgen.emulate.ptx.exec.scheduler import Scheduler, is_exchange
from kgen.emulate.ptx.frontend.parser import parse
from kgen.emulate.ptx.frontend.syntax import PtxKernel
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.report import EmulationFault, Index3, LaunchReport
from kgen.emulate.request import Request
from kgen.errors import EmulationError
from kgen_runtime.launch_limits import Usage, cuda_limits

#: Loop iterations that any launch may execute.
_FREE_TURNS = 50_000


def run(source: str, request: Request) -> LaunchReport:
    """Run one launch of a PTX entry point; see :func:`kgen.emulate.run`.

    Bounds and alignment are always checked; `checks` adds races and uninitialised shared memory.
    """
    kernel = parse(source, request.entry)

    def once(*, collectives_order: bool = False) -> LaunchReport:
        start = time.perf_counter()
        memory = GlobalMemory()
        placed = place(kernel, memory, request.arguments)
        launch = PtxLaunch(
            **{**vars(request), "cluster": _cluster(kernel, request.cluster)},
            parameters=placed.parameters,
            mapped_elements=placed.mapped_elements,
            shared_bytes=kernel.dynamic_shared + request.dynamic_shared,
            collectives_order=collectives_order,
        )
        _check_launch(kernel, launch)
        return _run(kernel, launch, memory, start)

    if request.strict or not request.checks or not any(map(is_exchange, kernel.instructions)):
        return once()
    before = copies(request.arguments)
    try:
        return once()
    except EmulationFault as found:
        if found.fault.kind != "race":
            raise
        restore(request.arguments, before)
        return _excused(found, lambda: once(collectives_order=True))


def _excused(found: EmulationFault, again: Callable[[], LaunchReport]) -> LaunchReport:
    """Run again with warp collectives as memory order; return the report with the races as
    warnings.

    Raises EmulationFault if a race or another fault remains.
    """
    try:
        report = again()
    except EmulationFault as other:
        same = (other.fault.kind, other.fault.line) == (found.fault.kind, found.fault.line)
        others = other.faults[1:]
        if not same:
            raise
        both = EmulationFault(found.fault, others)
        both.printed = other.printed
        raise both from None
    warnings = [
        replace(
            fault,
            kind="order-by-collective",
            message=f"{fault.message}; only a warp collective is between, which orders no memory",
        )
        for fault in found.faults
    ]
    return replace(report, warnings=(*warnings, *report.warnings))


def _run(kernel: PtxKernel, launch: PtxLaunch, memory: GlobalMemory, start: float) -> LaunchReport:
    ready = prepared(kernel, launch, memory)
    machine, ctas = ready.machine, launch.in_order()
    scheduler = Scheduler(machine, ready.steps, most_turns(memory))
    chunk = ctas_at_once(machine)
    try:
        with np.errstate(all="ignore"), machine.faults.collected():
            for first in range(0, len(ctas), chunk):
                machine.reset(ctas[first : first + chunk])
                scheduler.run()
    except EmulationFault as found:
        found.printed = machine.printed.lines()
        raise
    traffic, printed = machine.traffic, machine.printed.lines()
    keep(ready)
    return report(
        scheduler.counts.executed(),
        scheduler.counts.events,
        traffic,
        workgroups=len(ctas),
        grid=launch.grid,
        start=start,
        warnings=scheduler.warnings,
        printed=printed,
    )


def most_turns(memory: GlobalMemory) -> int:
    """Return the limit on loop iterations of a launch: a constant plus the words of its buffers. A
    kernel that exceeds it is taken to be endless."""
    return _FREE_TURNS + sum(len(buffer) for buffer in memory.buffers) // 4


def _check_launch(kernel: PtxKernel, launch: PtxLaunch) -> None:
    usage = Usage(
        static_shared_memory=kernel.static_shared,
        parameters=max((p.offset + p.size for p in kernel.parameters), default=0),
    )
    check_launch(launch, cuda_limits(launch.arch or kernel.target), usage)
    required, most = kernel.required_block, kernel.max_threads
    if required is not None and launch.block != (*required, 1, 1)[:3]:
        raise EmulationError(f"{kernel.name} requires block {required}, not {launch.block}")
    if most is not None and launch.threads > most:
        raise EmulationError(
            f"{kernel.name} allows at most {most} threads per block, not {launch.threads}"
        )
    if launch.numerics.flush_subnormals:
        raise EmulationError(
            "numerics: flush_subnormals applies to gfx90a; NVIDIA's tensor cores keep subnormals"
        )


def _cluster(kernel: PtxKernel, given: Index3) -> Index3:
    """Return the cluster shape of the launch; the kernel may require one."""
    if kernel.required_cluster is None:
        return given
    x, y, z = (*kernel.required_cluster, 1, 1)[:3]
    if given not in ((1, 1, 1), (x, y, z)):
        raise EmulationError(f"{kernel.name} requires cluster {(x, y, z)}, not {given}")
    return x, y, z
