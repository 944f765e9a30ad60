"""A loaded bundle: one callable per kernel, on one device."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np

from kgen_runtime import select
from kgen_runtime.archive import Source
from kgen_runtime.array import Array, Memory
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.bundle import BundleFile
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.calls.loaded import close_after
from kgen_runtime.calls.operations import Operations
from kgen_runtime.calls.program import LoadedProgram
from kgen_runtime.calls.session import Weights
from kgen_runtime.errors import ArgumentError, BundleError, DeviceError, UnknownOperation
from kgen_runtime.known_names import known_names
from kgen_runtime.uncopied import Uncopied

if TYPE_CHECKING:
    from kgen_runtime.calls.dispatch import Dispatch


def load(
    path: Source,
    *,
    device: str | None = None,
    num_threads: int | None = None,
    verify: Literal["code", "all"] = "code",
    map: bool = True,
) -> Kernels:
    """Load a bundle's kernels and programs on the best device here, or on a named one.

    `path` may also be the bundle's bytes, or a file that is open for reading them, which stays so.
    `device` is an id such as ``cuda:1``, ``cpu``, ``vulkan:0`` or ``reference``; `num_threads` is
    for the CPU (default: every core). Digests are checked before a driver sees a byte; those of
    programs' weights, which are mapped and not read, with ``verify="all"``. While weights are
    mapped, their file has to stay as it is, or be replaced by renaming another over it. With
    ``map=False`` they are read into memory, and nothing that happens to the file matters.

    Raises BundleError for a file that is no good bundle, DeviceError if nothing here runs it.
    """
    if verify not in ("code", "all"):
        raise ArgumentError(f"verify={verify!r} is unknown; give 'code' or 'all'")
    with _uncollected(), BundleFile(path, map=map) as bundle:
        manifest = bundle.manifest
        selection = select.select(
            manifest.kernels, manifest.programs, device=device, num_threads=num_threads
        )
        try:
            backend, choices = selection.backend, selection.all_choices
            stored: dict[str, Memory] = {}
            for constant in (c for choice in choices for c in choice.entry.constants):
                data = bundle.read(constant)  # every kernel's claim on a file is checked
                if constant.file not in stored:
                    stored[constant.file] = Memory.of(backend, np.frombuffer(data, np.uint8))
            handles = backend.load_all([(c.entry, _code(bundle, c)) for c in choices])
            kernels = {
                choice.entry.name: Kernel(backend, choice.entry, handle, stored)
                for choice, handle in zip(choices, handles, strict=True)
            }
            weights = Weights(backend, bundle, check=verify == "all")
            programs = [
                LoadedProgram(
                    backend,
                    chosen.program,
                    {key: kernels[c.entry.name] for key, c in chosen.kernels.items()},
                    weights.of(chosen.program),
                )
                for chosen in selection.programs
            ]
        except BaseException:
            selection.backend.close()
            raise
    by_key = [kernels[choice.entry.name] for choice in selection.choices]
    every = [program.qualified_name for program in manifest.programs]
    return Kernels(backend, by_key, selection.skipped, programs, every)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which would walk over all modules again and again while a
    manifest becomes thousands of objects, none of which is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _code(bundle: BundleFile, choice: select.Choice) -> dict[str, Code]:
    """The machine code of every module, checked."""
    return {
        module: Code(artifact=artifact, data=bundle.read(artifact))
        for module, artifact in choice.code.items()
    }


class Programs(dict[str, LoadedProgram]):
    """A bundle's programs that run on `device`, by name; `skipped` says why others do not."""

    def __init__(
        self, programs: Sequence[LoadedProgram], device: str, skipped: Mapping[str, str]
    ) -> None:
        super().__init__((program.entry.name, program) for program in programs)
        self._device = device
        self._skipped = skipped

    def __missing__(self, name: str) -> NoReturn:
        hint = _hint(str(name), self, "programs", self._skipped)
        raise ArgumentError(f"no program {name} on {self._device}; {hint}")


class Kernels(Uncopied, Operations, Mapping[str, Kernel]):
    """The kernels of a bundle that run on one device: a mapping by key, an attribute per operation.

    Use it as a context manager, or call `close`; arrays should be gone by then. What is dropped
    without that is given back when the last kernel, prepared call and array of it is gone.
    `skipped` says, by ``target/key``, why the bundle's other entries were not taken.
    """

    def __init__(
        self,
        backend: Backend,
        kernels: Sequence[Kernel],
        skipped: Mapping[str, str],
        programs: Sequence[LoadedProgram] = (),
        every_program: Sequence[str] = (),
    ) -> None:
        self.backend = backend
        self._every_program = every_program
        self.skipped = skipped
        #: The bundle's programs that run on this device, by name.
        self.programs = Programs(programs, self.device.id, skipped)
        self._kernels = {kernel.key: kernel for kernel in kernels}
        self._ops = dict.fromkeys(kernel.entry.op for kernel in kernels)
        if taken := [op for op in self._ops if hasattr(type(self), op)]:
            raise BundleError(
                f"op={taken[0]} is reserved and cannot name an operation; build the bundle again"
            )

    @property
    def device(self) -> DeviceInfo:
        return self.backend.info

    @property
    def program(self) -> LoadedProgram:
        """The bundle's one program. Raises ArgumentError if it has none here, or several."""
        if len(self.programs) == 1:
            return next(iter(self.programs.values()))
        if self.programs:
            raise ArgumentError(
                "the bundle has several programs; choose one as programs[name]: "
                f"{', '.join(self.programs)}"
            )
        if not self._every_program:
            raise ArgumentError("the bundle has no program; make one with kgen compile MODEL.onnx")
        name = self._every_program[0]
        raise ArgumentError(
            f"the bundle has no program that runs on {self.device.id}; "
            f"{name} is not used: {self.skipped[name]}"
        )

    def __getitem__(self, key: str) -> Kernel:
        if key in self._kernels:
            return self._kernels[key]
        hint = _hint(str(key), self, "kernels", self.skipped)
        raise ArgumentError(f"no kernel {key} on {self.device.id}; {hint}")

    def __contains__(self, key: object) -> bool:
        return key in self._kernels

    def get(self, key: str, default: Any = None) -> Any:
        """The kernel of this key, or `default`."""
        return self._kernels.get(key, default)

    if not TYPE_CHECKING:  # a type checker would believe in any operation

        def __getattr__(self, op: str) -> Dispatch:
            """Operations are attributes, made when they are first asked for."""
            if op.startswith("_"):  # what Python's protocols and notebooks ask for
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {op!r}")
            if op in self._ops:
                from kgen_runtime.calls.dispatch import Dispatch

                found = Dispatch(op, [k for k in self._kernels.values() if k.entry.op == op])
                # From now on an attribute of its own: Python finds it in a tenth of the time.
                self.__dict__[op] = found
                return found
            for name, reason in self.skipped.items():
                if f"{name.partition('/')[2]}_".startswith(f"{op}_"):
                    raise UnknownOperation(
                        f"no kernel for {op} on {self.device.id}; {name} is not used: {reason}"
                    )
            known = known_names(op, self._ops, "operations here")
            raise UnknownOperation(f"no kernel for {op} on {self.device.id}; {known}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._ops})

    def __repr__(self) -> str:
        return f"<Kernels on {self.device.id} ({self.device.name}): {', '.join(self)}>"

    def to_device(self, value: Any, bits_of: str | None = None) -> Array:
        """A copy of a numpy or host DLPack array in the device's memory, strides included.

        `bits_of` is the 8-bit float (e4m3, e5m2, e4m3fnuz, e5m2fnuz) whose bits a uint8 array
        holds.
        """
        return Array.from_host(self.backend, value, bits_of)

    def synchronize(self, stream: int | None = None) -> None:
        """Wait until everything launched is done."""
        self.backend.synchronize(stream)

    def close(self) -> None:
        """Give the kernels and the device back; safe to call twice, and while other threads are in
        calls: the last of these then gives them back. Calls that begin later are refused."""
        with suppress(DeviceError):  # what a lost device had is gone
            self.backend.synchronize()
        loaded = [kernel.close() for kernel in self._kernels.values()]
        loaded += [one for program in self.programs.values() for one in program.close()]
        close_after(self.backend, [one for one in loaded if one is not None])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _hint(missing: str, known: Iterable[str], what: str, skipped: Mapping[str, str]) -> str:
    """Return why the entry of this name does not run here, or the names that do."""
    for name, reason in skipped.items():
        if missing in (name, name.partition("/")[2]):
            return f"{name} is not used: {reason}"
    return known_names(missing, known, f"{what} here")
