"""Machine code of Vulkan kernels: RADV compiles for gfx1100, NVK for sm_86, without a GPU.

Each driver runs in its own process (:mod:`compiler`). If a driver is not installed, or its device
does not support the kernel, the result is a reason instead of numbers.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from kgen.check.execute.runners import Reader
from kgen.check.static import hot_loop
from kgen.check.static.hot_loop import WORDS, Loop, WorkKind
from kgen.check.static.machine_code import MachineInstruction
from kgen.check.static.vulkan import drivers
from kgen.check.static.vulkan.assembly import parse_nvk, parse_radv
from kgen.check.static.vulkan.drivers import Driver
from kgen.errors import DeviceError
from kgen.parallel import children
from kgen_runtime.manifest import KernelEntry, Launch
from kgen_runtime.values import frozen


@frozen
class DriverCompiler:
    """Driver as a compiler: how its assembly is parsed, and which metrics its numbers belong to.

    `words` is a key of :data:`hot_loop.WORDS`. Numbers of one metric are added.
    """

    name: str
    driver: Driver
    assembly: str
    parse: Callable[[str], list[MachineInstruction]]
    words: str
    numbers: Mapping[str, str]
    #: Instructions that compute in all lanes, if distinguishable.
    vector: re.Pattern[str] | None
    #: Loads of at most 32 bits from buffers.
    scalar_load: re.Pattern[str]


COMPILERS: tuple[DriverCompiler, ...] = (
    DriverCompiler(
        name="radv",
        driver=drivers.RADV,
        assembly="Assembly",
        parse=parse_radv,
        words="amdgpu",
        numbers={
            "VGPRs": "registers",
            "Spilled VGPRs": "spills",
            "Spilled SGPRs": "spills",
            "LDS size": "shared_memory",
            "Code size": "code_bytes",
            "Subgroups per SIMD": "occupancy",
        },
        vector=re.compile(r"v_"),
        scalar_load=re.compile(
            r"(buffer|global|flat)_load_(b32|dword$|d?(16|8)|[iu]\d+|s(short|byte))"
        ),
    ),
    DriverCompiler(
        name="nvk",
        driver=drivers.NVK,
        assembly="NAK assembly",
        parse=parse_nvk,
        words="nvk",
        numbers={
            "Number of GPRs": "registers",
            "Spills to memory": "spills",
            "Fills from memory": "spills",
            "Code size": "code_bytes",
            "Max warps/SM": "occupancy",
        },
        vector=None,
        scalar_load=re.compile(r"ld\.global\S*\.[bui](32|16|8)$"),
    ),
)
#: Metrics of which the minimum, or the maximum, over the launches is the kernel's.
LEAST, MOST = frozenset({"occupancy"}), frozenset({"registers", "shared_memory"})


@frozen
class DriverCompilation:
    """Code that one driver compiles a kernel to, or the `reason` for its absence.

    Reasons: the driver is not installed, or its GPU does not run the kernel (`refused`). `metrics`
    go by the names of :mod:`kgen.check.gate.metrics`, without the driver's; `loads` counts the
    loads of the hot loop by opcode, which says their width.
    """

    compiler: str
    device: str = ""
    version: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    loop: Loop | None = None
    loads: Counter[str] = field(default_factory=Counter)
    reason: str | None = None
    refused: bool = False

    def gives(self, metric: str) -> bool:
        """Whether a metric is named after this driver."""
        return metric.startswith(f"{self.compiler}.")

    def note(self) -> str:
        """Return the driver, its version and the instruction mix of the hot loop as text."""
        loop = "" if self.loop is None else f"; hot loop: {self.loop.mix()}"
        return f"{self.device.strip()}, Mesa {self.version}{loop}"

    def to_json(self) -> dict[str, Any]:
        fields = vars(self) | {"metrics": dict(self.metrics), "loads": dict(self.loads)}
        return fields | {"loop": None if self.loop is None else self.loop.to_json()}


def compiled(reader: Reader, entry: KernelEntry) -> tuple[DriverCompilation, ...]:
    """Return the result of each driver for a Vulkan kernel; empty without SPIR-V in the bundle."""
    modules = [
        (reader.read(artifact), artifact.requires)
        for artifact in entry.artifacts
        if artifact.format == "spirv"
    ]
    request = _request(entry.launches, modules)
    return tuple(_compiled(compiler, request) for compiler in COMPILERS) if modules else ()


def compiled_module(
    name: str, module: bytes, launch: Launch, features: Sequence[str] = ()
) -> DriverCompilation:
    """Return the result of a driver, by name, for any module that requires these features."""
    (compiler,) = (compiler for compiler in COMPILERS if compiler.name == name)
    return _compiled(compiler, _request([launch], [(module, {"features": list(features)})]))


def _request(
    launches: Sequence[Launch], modules: Sequence[tuple[bytes, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the request for the compiler's process."""
    fields = ("entry_point", "grid", "block", "arguments")
    return {
        "launches": [{name: getattr(launch, name) for name in fields} for launch in launches],
        "artifacts": [
            {"requires": dict(requires), "code": base64.b64encode(code).decode()}
            for code, requires in modules
        ],
    }


def _compiled(compiler: DriverCompiler, request: Mapping[str, Any]) -> DriverCompilation:
    try:
        command, environment = compiler.driver.command(["-m", "kgen.check.static.vulkan.compiler"])
    except DeviceError as error:
        return DriverCompilation(compiler=compiler.name, reason=str(error))
    done = subprocess.run(
        command,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=children.tied(),
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return DriverCompilation(compiler=compiler.name, reason=f"its compiler failed: {last}")
    answer = json.loads(done.stdout)
    where = {name: answer.get(name, "") for name in ("device", "version")}
    if "reason" in answer:
        return DriverCompilation(
            compiler=compiler.name, reason=answer["reason"], refused=True, **where
        )
    metrics = _merged([_numbers(compiler, launch["numbers"]) for launch in answer["launches"]])
    codes = [compiler.parse(launch["texts"][compiler.assembly]) for launch in answer["launches"]]
    code, loop = _hottest(codes, compiler.words)
    if loop is None:
        return DriverCompilation(compiler=compiler.name, metrics=metrics, **where)
    inside = [code[i] for i in loop.body]
    is_load = WORDS[compiler.words].is_load
    loads = Counter(ins.opcode for ins in inside if is_load(ins))
    return DriverCompilation(
        compiler=compiler.name,
        metrics=metrics | _of_loop(compiler, loop, loads),
        loop=loop,
        loads=loads,
        **where,
    )


def _numbers(compiler: DriverCompiler, told: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for theirs, ours in compiler.numbers.items():
        found[ours] = found.get(ours, 0) + told[theirs]
    return found


def _merged(launches: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return a kernel's numbers from those of its launches."""
    merged = {}
    for name in launches[0]:
        values = [launch[name] for launch in launches]
        merged[name] = (min if name in LEAST else max if name in MOST else sum)(values)
    return merged


def _hottest(
    codes: Sequence[list[MachineInstruction]], words: str
) -> tuple[list[MachineInstruction], Loop | None]:
    """Return the code and the hot loop of the launch whose loop does most of the kernel's work."""
    order = list(WorkKind)
    found = [(code, hot_loop.find(code, WORDS[words])) for code in codes]
    loops = [(code, loop) for code, loop in found if loop is not None]
    if not loops:
        return codes[0], None
    return max(loops, key=lambda each: (-order.index(each[1].kind), each[1].work))


def _of_loop(compiler: DriverCompiler, loop: Loop, loads: Counter[str]) -> dict[str, float]:
    opcodes = loop.opcodes
    found: dict[str, float] = {
        "hot_loop_instructions": loop.instructions,
        "scalar_loads": sum(n for op, n in loads.items() if compiler.scalar_load.match(op)),
    }
    if loop.kind is WorkKind.LOAD:
        return found
    found["others_per_matrix"] = (loop.instructions - loop.work) / loop.work
    if compiler.vector is not None:
        vector = sum(n for op, n in opcodes.items() if compiler.vector.match(op))
        found["matrix_share"] = loop.work / vector
    if loop.kind is WorkKind.MATRIX:
        found["matrix_instructions"] = loop.work
    return found
