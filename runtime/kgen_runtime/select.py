"""Device selection: which devices exist, and which one runs a bundle with which kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from kgen_runtime.backend import Backend, Described, DeviceInfo, choose_code
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.manifest import ArtifactEntry, KernelEntry
from kgen_runtime.schema.program import Program
from kgen_runtime.values import frozen

#: Requirements of each backend, best backend first. Each backend is a module of `backends/`,
#: imported when it is first needed.
REQUIREMENTS: Mapping[str, str] = {
    "cuda": "NVIDIA's driver, and the extra `cuda`",
    "hip": "AMD's driver, and the extra `hip`",
    "vulkan": "a Vulkan driver, and the extra `vulkan`",
    "webgpu": "the extra `webgpu`; it runs Vulkan code on Vulkan, Metal or Direct3D 12",
    "cpu": "an x86-64 or AArch64 CPU, with Linux, macOS or, on x86-64, Windows",
    "reference": "nothing: scalar Python computes every kernel from its spec, slowly",
}
BACKENDS = tuple(REQUIREMENTS)
#: Backends that are used only by name. WebGPU checks every access of a kernel, and its devices may
#: also be devices of another backend. The reference runs no machine code.
ON_REQUEST = ("webgpu", "reference")


@frozen
class Devices:
    """Devices of this machine, and the reason for each backend without a device."""

    devices: tuple[DeviceInfo, ...]
    unavailable: Mapping[str, str]

    def __iter__(self) -> Iterator[DeviceInfo]:
        return iter(self.devices)


@frozen
class SelectedKernel:
    """Kernel that runs on the chosen device, with the best artifact of each module."""

    entry: KernelEntry
    code: Mapping[str, ArtifactEntry]


@frozen
class ProgramChoice:
    """Program that runs on the chosen device, with its kernels by key."""

    program: Program
    kernels: Mapping[str, SelectedKernel]


@frozen
class Selection:
    """Open device and what it will run. `skipped` gives the reason for each other entry, by entry
    name."""

    backend: Backend
    choices: tuple[SelectedKernel, ...]
    programs: tuple[ProgramChoice, ...] = ()
    skipped: Mapping[str, str]

    @property
    def all_choices(self) -> tuple[SelectedKernel, ...]:
        """Chosen kernels, and the kernels of less suitable targets that chosen programs need."""
        several = [*self.choices, *(c for p in self.programs for c in p.kernels.values())]
        return tuple({choice.entry.name: choice for choice in several}.values())

    @property
    def runs_something(self) -> bool:
        """Whether a kernel runs on the device, or a program that needs no kernels."""
        return bool(self.choices or self.programs)

    @property
    def score(self) -> tuple[int, int]:
        """Number of programs, then of kernels, that run: the larger the better."""
        return len(self.programs), len(self.choices)


def backend_class(name: str) -> type[Backend]:
    """Return the backend of this name. Raises ArgumentError if there is none."""
    if name not in BACKENDS:
        raise ArgumentError(f"device={name} is unknown; known are {', '.join(BACKENDS)}")
    module = import_module(f"kgen_runtime.backends.{name}")
    found: type[Backend] = getattr(module, f"{name.capitalize()}Backend")
    return found


def devices() -> Devices:
    """Return all devices of this machine that can run kernels."""
    found: list[DeviceInfo] = []
    unavailable = {}
    for name in BACKENDS:
        try:
            found += backend_class(name).devices()
        except DeviceError as error:
            unavailable[name] = str(error)
    return Devices(devices=tuple(found), unavailable=unavailable)


def open_device(device: str, *, num_threads: int | None = None) -> Backend:
    """Open a device by its id, such as ``cuda:1``; without a number, the first one.

    Raises ArgumentError for an invalid id, DeviceError if the device does not exist.
    """
    return _open_best(device, (), (), num_threads)


def _open_best(
    device: str,
    entries: Sequence[KernelEntry],
    programs: Sequence[Program],
    num_threads: int | None,
) -> Backend:
    """Open a device. Without a number, open the device of the backend that runs most programs, then
    most kernels, and prefer a GPU to software."""
    if not isinstance(device, str):
        raise ArgumentError(f"device={device!r} is not a device id; give one such as cpu:0")
    name, _, number = device.partition(":")
    cls = backend_class(name)
    if not (number or "0").isdecimal():
        raise ArgumentError(f"device={device}: {number} is not a number; write {name}:0")
    try:
        infos = cls.devices()
    except DeviceError as error:
        raise DeviceError(
            f"device={device}: {error}; leave device out to take the best device here"
        ) from error
    if int(number or 0) not in [info.index for info in infos]:
        raise DeviceError(
            f"device={device} does not exist; this machine has "
            f"{', '.join(i.id for i in infos) or 'none'}"
        )
    if num_threads is not None and name != "cpu":
        raise ArgumentError(
            f"num_threads={num_threads} applies to the CPU only; leave it out for {device}"
        )
    if number or len(infos) < 2:
        return _open(cls, int(number or 0), num_threads)

    def suits(info: DeviceInfo) -> tuple[int, int, bool]:
        device = Described(backend=cls, capabilities=info.capabilities)
        found, _ = best_programs(device, programs, entries, info.id)
        choices, _ = best_entries(device, entries, info.id)
        return (len(found), len(choices), info.kind != "software")

    return _open(cls, max(infos, key=suits).index, num_threads)


def _open(cls: type[Backend], index: int, num_threads: int | None) -> Backend:
    if num_threads is None or cls.name != "cpu":
        return cls(index)
    from kgen_runtime.backends.cpu import CpuBackend

    return CpuBackend(index, num_threads=num_threads)


def select(
    entries: Sequence[KernelEntry],
    programs: Sequence[Program] = (),
    *,
    device: str | None = None,
    num_threads: int | None = None,
) -> Selection:
    """Open the named device, or the one that runs most programs, then most kernels.

    Ties go to the better backend. Automatic selection never takes a software device or a backend of
    `ON_REQUEST`. Raises DeviceError, with one reason per backend, if no device runs any of them.
    """
    if device is not None:
        return _named(entries, programs, device, num_threads)
    wanted = len({program.name for program in programs})
    most = len({entry.key for entry in entries})
    refusals: dict[str, str] = {}
    best: Selection | None = None
    for candidate in _candidates(entries, programs, num_threads, refusals):
        if best is not None and candidate.score <= best.score:
            candidate.backend.close()
            continue
        if best is not None:
            best.backend.close()
        best = candidate
        if len(best.programs) == wanted and (wanted or len(best.choices) == most):
            break
    if best is None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refusals.items())
        raise DeviceError(
            f"no device here runs a kernel of this bundle ({reasons}); "
            "build it for a target of this machine, such as native"
        )
    return best


def _named(
    entries: Sequence[KernelEntry],
    programs: Sequence[Program],
    device: str,
    num_threads: int | None,
) -> Selection:
    opened = _open_best(device, entries, programs, num_threads)
    selection = choose(opened, entries, programs)
    if not selection.runs_something:
        selection.backend.close()
        reasons = "; ".join(dict.fromkeys(selection.skipped.values()))
        raise DeviceError(f"{device} runs no kernel of this bundle: {reasons}")
    return selection


def _candidates(
    entries: Sequence[KernelEntry],
    programs: Sequence[Program],
    num_threads: int | None,
    refusals: dict[str, str],
) -> Iterator[Selection]:
    """Yield a selection for each permitted device that runs something; `refusals` receives the
    reason for each other backend."""
    found = {artifact.format for entry in entries for artifact in entry.artifacts}
    for name in BACKENDS:
        if name in ON_REQUEST:
            continue
        try:
            cls = backend_class(name)
            if entries and not (found & set(cls.formats)):
                # Looking for devices would import a driver's package, which is slow.
                refusals[name] = f"the bundle has no {' or '.join(cls.formats)}"
                continue
            infos = [info for info in cls.devices() if info.kind != "software"]
            refusals[name] = "only a software device exists; name it to use it"
            for info in infos:
                selection = choose(_open(cls, info.index, num_threads), entries, programs)
                if selection.runs_something:
                    yield selection
                    continue
                selection.backend.close()
                refusals[name] = next(iter(selection.skipped.values()), "the bundle is empty")
        except DeviceError as error:
            refusals[name] = str(error)


def choose(
    backend: Backend, entries: Sequence[KernelEntry], programs: Sequence[Program] = ()
) -> Selection:
    """Return the best entry of every kernel and program for this device; a tie goes to the first
    one."""
    choices, skipped = best_entries(backend.described, entries, backend.info.id)
    found, others = best_programs(backend.described, programs, entries, backend.info.id)
    return Selection(
        backend=backend,
        choices=tuple(choices.values()),
        programs=tuple(found.values()),
        skipped=skipped | others,
    )


def best_programs(
    device: Described, programs: Sequence[Program], entries: Sequence[KernelEntry], place: str
) -> tuple[dict[str, ProgramChoice], dict[str, str]]:
    """Return the chosen program of each name, whose kernels all run on the device, and the reason
    against each other program by qualified name."""
    by_name = {entry.name: entry for entry in entries}
    chosen: dict[str, ProgramChoice] = {}
    skipped: dict[str, str] = {}
    ranks: dict[str, tuple[int, ...]] = {}
    for program in programs:
        kernels: dict[str, SelectedKernel] = {}
        for entry in (by_name[name] for name in program.kernels):
            code, refusal = choose_code(device, entry)
            if not code:
                skipped[program.qualified_name] = f"{entry.name}: {refusal}"
                break
            kernels[entry.key] = SelectedKernel(entry=entry, code=code)
        else:
            rank = min((_rank(device, choice) for choice in kernels.values()), default=())
            old = chosen.get(program.name)
            if old is None or rank > ranks[program.name]:
                chosen[program.name] = ProgramChoice(program=program, kernels=kernels)
                ranks[program.name] = rank
                loser = old.program if old is not None else None
            else:
                loser = program
            if loser is not None:
                winner = chosen[program.name].program.target
                skipped[loser.qualified_name] = f"{winner} is better for {place}, or precedes it"
    return chosen, skipped


def best_entries(
    device: Described, entries: Sequence[KernelEntry], place: str
) -> tuple[dict[str, SelectedKernel], dict[str, str]]:
    """Return the chosen kernel of each key, and the reason against each other entry by entry
    name."""
    chosen: dict[str, SelectedKernel] = {}
    skipped: dict[str, str] = {}
    others: list[SelectedKernel] = []
    for entry in entries:
        code, refusal = choose_code(device, entry)
        if not code:
            skipped[entry.name] = refusal
            continue
        new, old = SelectedKernel(entry=entry, code=code), chosen.get(entry.key)
        if old is None or _rank(device, new) > _rank(device, old):
            chosen[entry.key], loser = new, old
        else:
            loser = new
        others += [loser] if loser is not None else []
    for loser in others:
        winner = chosen[loser.entry.key]
        name = winner.entry.target.name
        skipped[loser.entry.name] = f"{name} is better for {place}"
        if _rank(device, winner) == _rank(device, loser):
            skipped[loser.entry.name] = f"{name} is as good for {place} and precedes it"
    return chosen, skipped


def _rank(device: Described, choice: SelectedKernel) -> tuple[int, ...]:
    """Order artifacts: machine code before code that the driver compiles, then by use of the
    device."""
    artifact = choice.code[choice.entry.launches[0].module]
    return (-device.backend.formats.index(artifact.format), *device.backend.rank(artifact))
