"""Launch of a kernel: read its text, lay out memory, and run its workgroups in chunks."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from kgen.emulate.counting.instructions import Events, report
from kgen.emulate.faults import FaultLog
from kgen.emulate.limits import check_launch
from kgen.emulate.llvm.counting.counts import executed
from kgen.emulate.llvm.counting.traffic import WaveTraffic
from kgen.emulate.llvm.exec.flow import execute
from kgen.emulate.llvm.exec.hidden import place_hidden
from kgen.emulate.llvm.exec.machine import Machine
from kgen.emulate.llvm.exec.placement import place_globals, static_lds
from kgen.emulate.llvm.frontend.decode import decode
from kgen.emulate.llvm.frontend.granules import granule
from kgen.emulate.llvm.frontend.module import LlvmFunction, Module
from kgen.emulate.llvm.frontend.parser import parse
from kgen.emulate.llvm.frontend.processor import allowed_numerics, wave_size
from kgen.emulate.llvm.frontend.program import CompiledFunction
from kgen.emulate.llvm.frontend.provenance import written_by
from kgen.emulate.llvm.memory.global_memory import GlobalBuffer, GlobalMemory
from kgen.emulate.llvm.memory.lds import Lds
from kgen.emulate.llvm.memory.spaces import ChunkMemory, stack_buffer
from kgen.emulate.llvm.order.device_clocks import DeviceClocks
from kgen.emulate.llvm.order.global_races import GlobalShadow
from kgen.emulate.llvm.order.lds_races import LdsShadow
from kgen.emulate.llvm.types import CONSTANT, GLOBAL, LDS, Array, LlvmType, Pointer
from kgen.emulate.report import Fault, LaunchReport
from kgen.emulate.request import Request
from kgen.emulate.wording import listed, shorten
from kgen.errors import EmulationError
from kgen_runtime.launch_limits import Usage, amdgpu_limits

Argument = np.ndarray[Any, Any] | np.generic

#: Lanes that run in lockstep: enough to hide the cost of a step of the interpreter, few enough that
#: the registers of a kernel stay in caches.
_CHUNK_LANES = 1 << 15
#: Bytes of LDS, with its checks, that a chunk may hold.
_CHUNK_LDS_BYTES = 64 << 20
#: Limit on the steps of a launch: a constant, and steps in proportion to the bytes of its memory. A
#: GPU's loop that ends has at most one iteration per byte. The single lane of a CPU does all the
#: work, so it has a few.
_FREE_STEPS = 20_000
_CPU_STEPS_PER_BYTE = 8
#: Workgroups of which only one wave runs at a time, with a seed.
_HELD_BACK = 16


def run(source: str, request: Request) -> LaunchReport:
    """Execute a function of a module of textual LLVM IR; see :func:`kgen.emulate.run`.

    An AMDGPU kernel runs workgroups of lanes. A function for a CPU runs as one lane, with a grid
    and a block of one. :mod:`wave_turns` decides which waves run.
    """
    start = time.perf_counter()
    module = parse(source)
    entry = request.entry
    function = module.functions.get(entry)
    if function is None:
        known = listed(sorted(module.functions), entry)
        raise EmulationError(f"no function {shorten(entry)} in the module; it defines {known}")
    if not function.kernel and (request.grid, request.block) != ((1, 1, 1), (1, 1, 1)):
        raise EmulationError(
            f"{shorten(entry)} is not an amdgpu_kernel: give it a grid and a block of (1, 1, 1)"
        )
    if function.kernel:
        limits = amdgpu_limits(request.arch or function.attributes.get("target-cpu", ""))
        usage = Usage(static_shared_memory=static_lds(module, entry))
        check_launch(request, limits, usage)
    launch = _Launch(module, function, request)
    selected = request.in_order()
    with np.errstate(all="ignore"), launch.faults.collected():
        launch.start(selected)
        for chunk in launch.chunks(selected):
            launch.run(chunk)
    return report(
        executed(launch.programs.values(), launch.waves_of, launch.lanes_of),
        launch.events,
        launch.traffic,
        workgroups=len(selected),
        grid=request.grid,
        start=start,
        subgroup_width=launch.wave,
        warnings=launch.warnings,
    )


class _Launch:
    def __init__(self, module: Module, function: LlvmFunction, request: Request) -> None:
        self.module = module
        self.function = function
        self.checks = request.checks
        self.faults = FaultLog(request.most_faults)
        self.warnings: list[Fault] = []
        self.strict = request.strict
        self.seed = request.seed
        self.processor = function.attributes.get("target-cpu", "")
        self.numerics = allowed_numerics(request.numerics, self.processor)
        self.random = np.random.default_rng(self.seed) if self.seed else None
        self.block = request.block
        self.wave = wave_size(function) if function.kernel else 1
        self.lanes = -(-math.prod(self.block) // self.wave) * self.wave
        self.races: GlobalShadow | None = None
        self.memory = GlobalMemory()
        self.events = Events()
        self.waves_of: Counter[object] = Counter()
        self.lanes_of: Counter[object] = Counter()
        self.traffic = WaveTraffic(self.processor) if request.profile else None
        self.arguments = [
            self._argument(parameter.name, parameter.type, argument)
            for parameter, argument in _paired(function, request.arguments)
        ]
        self.placement = place_globals(module, self.memory, request.dynamic_shared)
        self.hidden = place_hidden(module, self.memory, request.grid, self.block)
        self.programs = decode(module, function.name, tuple(self.placement.symbols.items()))
        self.stack = 0 if function.kernel else self.memory.add(stack_buffer())

    # -- memory ---------------------------------------------------------------------------------

    def _argument(self, name: str, type_: LlvmType, argument: Argument) -> Any:
        if isinstance(argument, np.ndarray):
            if not isinstance(type_, Pointer):
                raise EmulationError(f"argument {name} has type {type_}; it cannot be an array")
            if not argument.flags.c_contiguous:
                raise EmulationError(f"argument {name} must be C-contiguous")
            data = argument.reshape(-1).view(np.uint8)
            address = self.memory.add(
                GlobalBuffer(
                    name=f"argument {name}",
                    symbol=name,
                    data=data,
                    writable=argument.flags.writeable,
                )
            )
            return np.full((1, 1), address, np.int64)
        if isinstance(type_, Pointer) or argument.dtype.itemsize != type_.dtype.itemsize:
            raise EmulationError(f"argument {name} has type {type_}; it cannot be {argument.dtype}")
        return np.full((1, 1), argument).view(type_.dtype)

    # -- execution ------------------------------------------------------------------------------

    def start(self, coordinates: Array) -> None:
        """Prepare the workgroups with these coordinates, in order."""
        if not self.checks or not self.function.kernel:
            return
        written = written_by(self.module, self.function.name)
        buffers = self.memory.buffers
        clocks = DeviceClocks(self.lanes, self.wave, len(coordinates))
        self.races = GlobalShadow(
            buffers,
            [i for i, b in enumerate(buffers) if written is None or b.symbol in written],
            granule=granule(self.module, (GLOBAL, CONSTANT)),
            clocks=clocks,
            coordinates=coordinates,
        )

    def chunks(self, coordinates: Array) -> Iterable[Array]:
        by_lanes = _CHUNK_LANES // self.lanes
        by_lds = (
            _CHUNK_LDS_BYTES // self.placement.lds_size if self.placement.lds_size else by_lanes
        )
        step = max(1, min(by_lanes, by_lds))
        return (coordinates[i : i + step] for i in range(0, len(coordinates), step))

    def run(self, coordinates: Array) -> None:
        shadow = None
        size, lanes = math.prod(self.block), self.lanes
        if self.races is not None:
            self.races.clocks.begin(len(coordinates))
        if self.checks and self.placement.lds_size:
            unit = granule(self.module, (LDS,))
            shadow = LdsShadow(
                self.placement.lds_size,
                unit,
                lanes,
                self.wave,
                gaps=self.placement.gaps,
                arrays=self.placement.arrays,
                strict=self.strict,
            )
        machine = Machine(
            module=self.module,
            entry=self.function.name,
            wave=self.wave,
            block=self.block,
            coordinates=coordinates,
            memory=ChunkMemory(
                shared=self.memory,
                lds=Lds(self.placement.lds_size, len(coordinates), shadow),
                private=np.empty((0, 0), np.uint8),
                stack=self.stack,
                hidden=self.hidden,
            ),
            checks=self.checks,
            faults=self.faults,
            warnings=self.warnings,
            events=self.events,
            waves_of=self.waves_of,
            lanes_of=self.lanes_of,
            random=None if self._has_barriers_in_calls() else self.random,
            seed=self.seed,
            processor=self.processor,
            numerics=self.numerics,
            races=self.races,
            traffic=self.traffic,
            steps=self._steps(),
        )
        if lanes != size:
            machine.mask = machine.lane_numbers() < size
        machine.call = partial(_call, machine, self.programs)
        execute(machine, self.programs[self.function.name], self.arguments)
        machine.finish()

    def _steps(self) -> int:
        if self.stack:
            return _FREE_STEPS + self.memory.bytes * _CPU_STEPS_PER_BYTE
        one_by_one = self.lanes // self.wave * _HELD_BACK if self.seed else 1
        return (_FREE_STEPS + self.memory.bytes) * one_by_one

    def _has_barriers_in_calls(self) -> bool:
        """Return whether called functions have barriers. All lanes of a workgroup must reach those
        in one call, which only lockstep guarantees."""
        called = (p for name, p in self.programs.items() if name != self.function.name)
        return any(segment.barrier for program in called for segment in program.segments)


def _call(
    machine: Machine, programs: Mapping[str, CompiledFunction], name: str, arguments: list[Any]
) -> Any:
    top = machine.memory.stack_top
    machine.depth += 1
    result = execute(machine, programs[name], arguments)
    machine.depth -= 1
    machine.memory.stack_top = top
    return result


def _paired(
    function: LlvmFunction, arguments: Sequence[Argument]
) -> Iterable[tuple[Any, Argument]]:
    if len(arguments) != len(function.parameters):
        raise EmulationError(
            f"{shorten(function.name)}: number of arguments is {len(arguments)}; pass "
            f"{len(function.parameters)} in the order of its definition"
        )
    return zip(function.parameters, arguments, strict=True)
