"""An emulator of PTX: one entry point, all threads of many CTAs in lockstep, with checks.

The semantics are those of the PTX ISA 8.7, whose sections the modules name. There are no caches
and there is no time: an instruction's effect is complete before the next starts, except for
asynchronous copies, which finish as late as they may.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.emulate.limits import check_launch
from kgen.emulate.numerics import Numerics
from kgen.emulate.ptx.asynchronous.pending_registers import protected
from kgen.emulate.ptx.chunk import Index3, Launch
from kgen.emulate.ptx.exec.arguments import copies, place, restore
from kgen.emulate.ptx.exec.dispatch import ctas_at_once, ordered
from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.exec.operations import Step
from kgen.emulate.ptx.exec.scheduler import Scheduler, is_exchange
from kgen.emulate.ptx.frontend.decode import Decoder
from kgen.emulate.ptx.frontend.parser import parse
from kgen.emulate.ptx.frontend.syntax import Instruction, Kernel
from kgen.emulate.ptx.frontend.words import Unsupported, Words
from kgen.emulate.ptx.memory.spaces import GlobalMemory
from kgen.emulate.ptx.ops import BUILDERS
from kgen.emulate.ptx.races.remote import check_remote_accesses
from kgen.emulate.report import EmulationFault, Report, UnknownInstruction
from kgen.emulate.tensor_map import TensorMap
from kgen.errors import EmulationError
from kgen_runtime.launch_limits import Usage, cuda_limits

#: Turns of loops that any launch may take.
_FREE_TURNS = 50_000
#: The widest granule of the checks: the widest access.
_GRANULE = 16


def run(
    source: str,
    *,
    entry: str,
    grid: Index3,
    block: Index3,
    arguments: Sequence[npt.NDArray[Any] | np.generic | TensorMap],
    dynamic_shared: int = 0,
    workgroups: Sequence[Index3] | None = None,
    checks: bool = True,
    profile: bool = False,
    cluster: Index3 = (1, 1, 1),
    numerics: Numerics | None = None,
    seed: int = 0,
    arch: str | None = None,
    strict: bool = False,
) -> Report:
    """Run one launch of a PTX entry point; see :func:`kgen.emulate.run`.

    Bounds and alignment are always checked; `checks` adds races and uninitialised shared memory.
    The CTAs run in the order of their numbers, or shuffled by a `seed` other than 0.
    """
    kernel = parse(source, entry)

    def once(*, collectives_order: bool = False) -> Report:
        start = time.perf_counter()
        memory = GlobalMemory()
        placed = place(kernel, memory, arguments)
        launch = Launch(
            grid=grid,
            block=block,
            parameters=placed.parameters,
            tensor_maps=placed.tensor_maps,
            shared_bytes=kernel.dynamic_shared + dynamic_shared,
            checks=checks,
            profile=profile,
            cluster=_cluster(kernel, cluster),
            seed=seed,
            strict=strict,
            collectives_order=collectives_order,
            numerics=numerics or Numerics(),
        )
        _check_launch(kernel, launch, dynamic_shared, arch)
        return _run(kernel, launch, memory, workgroups, start)

    if strict or not checks or not any(map(is_exchange, kernel.instructions)):
        return once()
    before = copies(arguments)
    try:
        return once()
    except EmulationFault as found:
        if found.fault.kind != "race":
            raise
        restore(arguments, before)
        return _excused(found, lambda: once(collectives_order=True))


def _excused(found: EmulationFault, again: Callable[[], Report]) -> Report:
    """A report with a warning in place of a race, if there is none where collectives order memory.

    Raises EmulationFault for what is wrong all the same.
    """
    try:
        report = again()
    except EmulationFault as other:
        same = (other.fault.kind, other.fault.line) == (found.fault.kind, found.fault.line)
        raise (found if same else other) from None
    message = f"{found.fault.message}; only a warp collective, which orders no memory, is between"
    warning = replace(found.fault, kind="order-by-collective", message=message)
    return replace(report, warnings=(warning, *report.warnings))


def _run(
    kernel: Kernel,
    launch: Launch,
    memory: GlobalMemory,
    workgroups: Sequence[Index3] | None,
    start: float,
) -> Report:
    machine = Machine(kernel, launch, memory, _GRANULE)
    machine.on_end.append(lambda: check_remote_accesses(machine, machine.shared.shadow))
    steps = _decode(machine)
    ctas = ordered(launch, workgroups)
    scheduler = Scheduler(machine, steps, most_turns(memory))
    chunk = ctas_at_once(machine)
    with np.errstate(all="ignore"):
        for first in range(0, len(ctas), chunk):
            machine.reset(ctas[first : first + chunk])
            scheduler.run()
    counts, traffic = scheduler.counts, machine.traffic
    x, y, z = launch.grid
    return Report(
        workgroups_run=len(ctas),
        workgroups_total=x * y * z,
        instructions=sum(counts.issued),
        seconds=time.perf_counter() - start,
        counters=counts.counters(traffic),
        lines={} if traffic is None else counts.lines(traffic),
        warnings=tuple(scheduler.warnings),
    )


def most_turns(memory: GlobalMemory) -> int:
    """A loop that turns more often than the buffers have words, and some times, has no end."""
    return _FREE_TURNS + sum(len(buffer) for buffer in memory.buffers) // 4


def _check_launch(kernel: Kernel, launch: Launch, dynamic_shared: int, arch: str | None) -> None:
    usage = Usage(
        static_shared_memory=kernel.static_shared,
        parameters=max((p.offset + p.size for p in kernel.parameters), default=0),
    )
    check_launch(
        kernel.name,
        cuda_limits(arch or kernel.target),
        usage,
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        dynamic_shared=dynamic_shared,
    )
    required, most = kernel.required_block, kernel.max_threads
    if required is not None and launch.block != (*required, 1, 1)[:3]:
        raise EmulationError(f"{kernel.name} requires blocks of {required}, not {launch.block}")
    if most is not None and launch.threads > most:
        raise EmulationError(
            f"{kernel.name} allows {most} threads in a block, not {launch.threads}"
        )
    if launch.numerics.flush_subnormals:
        raise EmulationError("flush_subnormals: NVIDIA's tensor cores keep subnormals")


def _cluster(kernel: Kernel, given: Index3) -> Index3:
    """The CTAs of a cluster, which a kernel may require."""
    if kernel.required_cluster is None:
        return given
    x, y, z = (*kernel.required_cluster, 1, 1)[:3]
    if given not in ((1, 1, 1), (x, y, z)):
        raise EmulationError(f"{kernel.name} requires clusters of {(x, y, z)}, not {given}")
    return x, y, z


def _decode(machine: Machine) -> list[Step]:
    decoder = Decoder(machine)
    for space in ("global", "const"):
        data = _module_data(machine.kernel, space)
        decoder.module_spaces[space] = machine.memory.add(f"the .{space} variables", data)
    steps = [_step(decoder, instruction) for instruction in machine.kernel.instructions]
    return protected(decoder, steps)


def _module_data(kernel: Kernel, space: str) -> npt.NDArray[np.uint8]:
    """The initial bytes of a state space's module variables."""
    data = np.zeros(kernel.spaces.get(space, 0), np.uint8)
    for variable in kernel.variables.values():
        if variable.space == space and variable.data:
            stored = np.frombuffer(variable.data, np.uint8)
            data[variable.offset : variable.offset + variable.size] = stored
    return data


def _step(decoder: Decoder, instruction: Instruction) -> Step:
    decoder.line = instruction.line
    try:
        guard = None if instruction.guard is None else decoder.predicate(instruction.guard)
        build = BUILDERS[instruction.words[0]]
        operation = build(decoder, Words(instruction.words[1:]), instruction.operands)
    except (Unsupported, KeyError, IndexError, ValueError):
        raise UnknownInstruction(decoder.kernel.name, instruction.text, instruction.line) from None
    return Step(instruction=instruction, guard=guard, operation=operation)
