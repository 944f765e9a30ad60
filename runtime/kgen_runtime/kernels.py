"""Loading a bundle: one callable per kernel and per program, on one device."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np

from kgen_runtime import select
from kgen_runtime.array import Array, Memory
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.bundle import BundleFile, Source
from kgen_runtime.calls.kernel import Kernel
from kgen_runtime.calls.loaded import close_after
from kgen_runtime.calls.operations import Operations
from kgen_runtime.calls.program import LoadedProgram
from kgen_runtime.calls.program_handle import ProgramHandle
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
    """Load a bundle's kernels and programs on the best device, or on a named one.

    - `path`: path, the bundle's bytes, or a binary file open for reading, which stays open
    - `device`: backend such as `cuda`, or a backend with a number, `cuda:1`; a backend without a
      number means its device that runs the most of the bundle; default: the best device
    - `num_threads`: CPU threads per launch, 1 to 1024, including the caller's; 1 starts no threads;
      default: every CPU that the process, or its container, may use
    - `verify`: `"code"` (default) checks the digests of code and constants before a driver reads
      them; `"all"` also checks the digests of weights, which reads all weights
    - `map`: `True` (default) maps weights from the file, which must not change; `False` reads them
      into memory

    Raises BundleError for a file that is not a bundle, DeviceError if no device runs it.
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
                # Read for each kernel, even if the file is known: each kernel's digest is checked.
                data = bundle.read(constant)
                if constant.file not in stored:
                    stored[constant.file] = Memory.of(backend, np.frombuffer(data, np.uint8))
            codes = [(choice.entry, _code(bundle, choice)) for choice in choices]
            handles = backend.load_all(codes) if codes else []
            kernels = {
                choice.entry.name: Kernel(backend, choice.entry, handle, stored)
                for choice, handle in zip(choices, handles, strict=True)
            }
            weights = Weights(backend, bundle, check=verify == "all")
            programs = [
                LoadedProgram(
                    backend,
                    ProgramHandle(bundle.opened, chosen.program),
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
    """Disable the garbage collector for a block that creates many objects and no garbage, such as
    the decoding of a manifest."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _code(bundle: BundleFile, choice: select.SelectedKernel) -> dict[str, Code]:
    """Return the machine code of every module, with its digest checked."""
    return {
        module: Code(artifact=artifact, data=bundle.read(artifact))
        for module, artifact in choice.code.items()
    }


class Programs(dict[str, LoadedProgram]):
    """Programs that run on `device`, by name; `skipped` gives the reason for each other program."""

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
    """Kernels of a bundle on one device: a mapping by key, with an attribute for each operation.
    Use it as a context manager, or call `close`. Otherwise, code and memory are released with the
    last reference to a kernel, prepared call or array."""

    #: programs that run on this device, by name
    programs: Programs
    #: reason for each entry of the bundle that is not used, by `target/key`
    skipped: Mapping[str, str]

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
        self.programs = Programs(programs, self.device.id, skipped)
        self._kernels = {kernel.key: kernel for kernel in kernels}
        self._ops = dict.fromkeys(kernel.entry.op for kernel in kernels)
        if taken := [op for op in self._ops if hasattr(type(self), op)]:
            raise BundleError(
                f"op={taken[0]} is reserved and cannot name an operation; build the bundle again"
            )

    @property
    def device(self) -> DeviceInfo:
        """Device of the kernels: `id` (`cpu:0`), `name`, `kind` (`cpu`, `gpu` or `software`)."""
        return self.backend.info

    @property
    def program(self) -> LoadedProgram:
        """Only program of the bundle. Raises ArgumentError if there is none, or several."""
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
        """Return the kernel of a key, or `default`."""
        return self._kernels.get(key, default)

    if not TYPE_CHECKING:  # A type checker would otherwise accept any operation.

        def __getattr__(self, op: str) -> Dispatch:
            """Create the dispatcher of an operation on first access."""
            if op.startswith("_"):  # Python's protocols and notebooks look up such names.
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {op!r}")
            if op in self._ops:
                from kgen_runtime.calls.dispatch import Dispatch

                found = Dispatch(op, [k for k in self._kernels.values() if k.entry.op == op])
                # Stored as an attribute, so that later accesses bypass __getattr__.
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
        """Copy a numpy or host DLPack array to the device's memory, strides included. `bits_of`
        names the 8-bit float (`e4m3`, `e5m2`, `e4m3fnuz`, `e5m2fnuz`) whose bits a uint8 array
        holds."""
        return Array.from_host(self.backend, value, bits_of)

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for the launches on the device, or on one stream."""
        self.backend.synchronize(stream)

    def close(self) -> None:
        """Release code and memory after the running calls of other threads end. Later calls raise
        DeviceError. The end of a `with` block closes, too."""
        with suppress(DeviceError):  # A lost device has nothing left to wait for.
            self.backend.synchronize()
        loaded = [kernel.close() for kernel in self._kernels.values()]
        loaded += [one for program in self.programs.values() for one in program.close()]
        close_after(self.backend, [one for one in loaded if one is not None])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _hint(missing: str, known: Iterable[str], what: str, skipped: Mapping[str, str]) -> str:
    """Return the reason why the entry of this name does not run here, else the known names."""
    for name, reason in skipped.items():
        if missing in (name, name.partition("/")[2]):
            return f"{name} is not used: {reason}"
    return known_names(missing, known, f"{what} here")
