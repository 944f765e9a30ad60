"""Budgets of foreign kernels: PTX or AMDGPU LLVM IR files with a launch, counted by emulation.

::

    [[budget]]
    file = "kernels.ptx"           # relative to this file, as those of arguments
    entry = "collatz"
    grid = "4"
    block = "32"
    arguments = ["in:n.npy", "out:i32:100", "i32:100"]  # kgen emulate --arg without output files
    why = "the hot kernel of the solver"
    emulated = { instructions = 20000 }
"""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from kgen.check.gate.limits import BudgetLimit
from kgen.check.gate.metrics import Tier
from kgen.check.gate.values import Values, counted
from kgen.emulate.profile import Profile
from kgen.emulate.wording import shorten
from kgen.errors import EmulationError, SpecError
from kgen_runtime.values import frozen

LANGUAGES: Mapping[str, Literal["ptx", "llvm"]] = {".ptx": "ptx", ".ll": "llvm"}
_TO_PTX, _TO_IR = "compile to PTX with nvcc -ptx", "compile to LLVM IR with hipcc -S -emit-llvm"
#: Other kernel files, with the command that produces text for the emulator.
MACHINE_CODE = {
    **dict.fromkeys((".cubin", ".fatbin", ".o", ".so"), _TO_PTX),
    **dict.fromkeys((".hsaco", ".co"), f"{_TO_IR} --offload-device-only"),
    ".bc": "run llvm-dis on it",
}
SOURCES = {".cu": _TO_PTX, ".hip": f"{_TO_IR} --offload-device-only", ".cl": "compile to LLVM IR"}
ELF = b"\x7fELF"
#: Keys of an entry besides `why` and its tier, with their meaning; all but the first four have a
#: default.
MEANINGS = {
    "file": "file of PTX or AMDGPU LLVM IR; the path is relative to the file of budgets",
    "entry": "kernel of the file",
    "grid": "workgroups (CTAs), as for `kgen emulate`",
    "block": "threads per workgroup",
    "arguments": "as for `kgen emulate --arg`; outputs name no file, and paths are relative to the "
    "file of budgets; optional",
    "cluster": "CTAs of a thread block cluster; optional",
    "dynamic_shared": "bytes of dynamic shared memory; optional",
}
KEYS = tuple(MEANINGS)
REQUIRED = KEYS[:4]
Extent = tuple[int, int, int]


def is_source(name: str) -> bool:
    """Whether a kernel's name is that of a file that the emulator runs."""
    return Path(name).suffix in LANGUAGES


def language_of(file: str) -> Literal["ptx", "llvm"]:
    """Return the language of a kernel file by its suffix. Raises SpecError for another suffix."""
    suffix = Path(file).suffix
    if suffix in LANGUAGES:
        return LANGUAGES[suffix]
    shown = shorten(file, 200)
    if suffix in MACHINE_CODE:
        raise SpecError(f"file={shown}: this is machine code: {MACHINE_CODE[suffix]}")
    if suffix in SOURCES:
        raise SpecError(f"file={shown}: this is source code: {SOURCES[suffix]}")
    if suffix == ".kgen":
        raise SpecError(f"file={shown}: this is a bundle: run kgen verify --on emulator on it")
    raise SpecError(f"file={shown} must end in .ptx (PTX) or .ll (AMDGPU LLVM IR); rename it")


def read_text(file: str) -> str:
    """Return the text of a kernel file.

    Raises SpecError for a file that is not text or cannot be read.
    """
    from kgen.emulate.arguments import reason

    try:
        data = Path(file).read_bytes()
        if data.startswith(ELF):
            remedy = MACHINE_CODE[".cubin" if language_of(file) == "ptx" else ".hsaco"]
            raise SpecError(f"file={shorten(file, 200)}: this is machine code: {remedy}")
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()
    except (OSError, UnicodeDecodeError) as error:
        shown = shorten(file, 200)
        raise SpecError(
            f"file={shown} cannot be read: {reason(error)}; name a file of PTX or AMDGPU LLVM IR"
        ) from None


@frozen
class ForeignLaunch:
    """Launch of an entry point of a foreign file.

    `arguments` are texts of `kgen emulate --arg` whose outputs name no file.
    """

    file: str
    entry: str
    grid: str
    block: str
    arguments: tuple[str, ...] = ()
    cluster: str = "1"
    dynamic_shared: int = 0

    def __post_init__(self) -> None:
        language_of(self.file)
        for name in ("grid", "block", "cluster"):
            extent(name, getattr(self, name))

    @property
    def language(self) -> Literal["ptx", "llvm"]:
        return LANGUAGES[Path(self.file).suffix]

    def moved(self, to: Callable[[str], str]) -> ForeignLaunch:
        """Return the launch with all file names replaced."""
        arguments = tuple(_moved(text, to) for text in self.arguments)
        return replace(self, file=to(self.file), arguments=arguments)

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the keys and values of its entry that differ from their defaults."""
        for key in KEYS:
            value = getattr(self, key)
            if key in REQUIRED or value not in ((), "1", 0):
                yield key, list(value) if isinstance(value, tuple) else value


@frozen
class ForeignEntry:
    """Launch with its budgets; `folder` is that of the budget file."""

    launch: ForeignLaunch
    folder: Path
    why: str
    limits: tuple[BudgetLimit, ...]
    line: int
    against: None = None

    @property
    def kernel(self) -> str:
        return f"{self.launch.entry} of {self.launch.file}"

    @property
    def name(self) -> str:
        return f"{self.target_name}: {self.kernel} [{self.launch.grid} x {self.launch.block}]"

    @property
    def target_name(self) -> str:
        return self.launch.language

    @property
    def identity(self) -> object:
        return self.launch

    @property
    def schedule(self) -> Mapping[str, int | str]:
        return {}

    def on(self, core: str) -> ForeignEntry:
        return self

    def values(self, tiers: Collection[Tier]) -> Values:
        """Count the launch in the emulator.

        Raises SpecError for files that cannot be read, and EmulationError for a kernel with a
        fault.
        """
        if Tier.EMULATED not in tiers:
            return Values(numbers={})
        from kgen import emulate
        from kgen.emulate import arguments

        launch = self.launch.moved(lambda name: str(self.folder / name))
        source = read_text(launch.file)
        block = extent("block", launch.block)
        try:
            report = emulate.run(
                source,
                language=launch.language,
                entry=launch.entry,
                grid=extent("grid", launch.grid),
                block=block,
                cluster=extent("cluster", launch.cluster),
                dynamic_shared=launch.dynamic_shared,
                arguments=[given.value for given in arguments.parse(launch.arguments)],
                profile=True,
            )
        except MemoryError as error:
            raise EmulationError(f"{launch.entry}: {error}; pass smaller arrays") from None
        launched = Profile(
            entry=launch.entry,
            language=launch.language,
            source=source,
            threads=math.prod(block),
            report=report,
        )
        return Values(numbers=counted((launched,)), launches=(launched,))


def extent(name: str, text: str) -> Extent:
    """Return the sizes in `8`, `8,4` or `8x4x2`; missing sizes are 1.

    Raises SpecError, naming `name`.
    """
    from kgen.emulate.arguments import MOST_DIGITS

    parts = re.split("[,x]", text.lower())
    if len(parts) > 3:
        raise SpecError(f"{name} {shorten(text)} has {len(parts)} dimensions; give at most 3")
    if not all(
        re.fullmatch(rf"0*[1-9]\d{{0,{MOST_DIGITS - 1}}}", part, re.ASCII) for part in parts
    ):
        raise SpecError(
            f"{name} {shorten(text) or repr(text)} is not one to three integers of 1 or more; "
            "give X,Y,Z, as in 16,16"
        )
    x, y, z = [*map(int, parts), 1, 1][:3]
    return x, y, z


def without_outputs(text: str) -> str:
    """Return an argument without its output file: `out:f32:64:y.npy` becomes `out:f32:64`."""
    return _changed(text, lambda name: name, writes=False)


def _moved(text: str, to: Callable[[str], str]) -> str:
    """Return an argument with its input file renamed, and an output file that is never written.

    `kgen emulate` requires a name for each output.
    """
    return _changed(text, to, writes=True)


def _changed(text: str, to: Callable[[str], str], *, writes: bool) -> str:
    kind, _, rest = text.partition(":")
    unused = f":{to('unwritten.npy')}" if writes else ""
    if kind == "in":
        return f"in:{to(rest)}"
    if kind == "inout":
        return f"inout:{to(rest.partition(':')[0])}{unused}"
    if kind == "out":
        return f"out:{':'.join(rest.split(':')[:2])}{unused}"
    if kind == "tensormap":
        try:
            fields = dict(json.loads(rest))
        except (TypeError, ValueError):
            raise SpecError(
                f"argument {shorten(text, 120)} is not tensormap: and a JSON object; give one as "
                "for kgen emulate"
            ) from None
        if isinstance(fields.get("tensor"), str):
            fields["tensor"] = _changed(fields["tensor"], to, writes=writes)
        return f"tensormap:{json.dumps(fields)}"
    return text


def relative(launch: ForeignLaunch, folder: Path) -> ForeignLaunch:
    """Return the launch with file names relative to a folder, and outputs without files."""
    arguments = tuple(map(without_outputs, launch.arguments))
    files = replace(launch, arguments=()).moved(lambda name: os.path.relpath(name, folder))
    inputs = (
        _changed(text, lambda name: os.path.relpath(name, folder), writes=False)
        for text in arguments
    )
    return replace(files, arguments=tuple(inputs))
