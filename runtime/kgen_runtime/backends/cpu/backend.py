"""CPU backend: kernels are shared objects that libkgen maps and runs.

A kernel is a function ``(pointers..., begin, end)`` that computes the tasks [begin, end). It keeps
no state, so that any number of threads may call it concurrently; ctypes releases the interpreter
lock during a call. libkgen decides how many threads share the tasks of a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from kgen_runtime import libkgen
from kgen_runtime.backend import Backend, Code, DeviceInfo
from kgen_runtime.backends.cpu.code import MappedCode
from kgen_runtime.backends.cpu.jobs import (
    ALONE_TRIALS,
    CpuLaunch,
    Jobs,
    Launcher,
    arguments_of,
    prepared,
)
from kgen_runtime.errors import ArgumentError, DeviceError
from kgen_runtime.launch_limits import CPU, Limits
from kgen_runtime.memory import dlpack
from kgen_runtime.memory.host import bytes_at, host_bytes, zero_bytes
from kgen_runtime.this_cpu import core_count, this_cpu

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes
    from kgen_runtime.calls.program_handle import ProgramHandle
    from kgen_runtime.calls.session import Held, ProgramKernels, SessionMaker
    from kgen_runtime.manifest import ArtifactEntry, KernelEntry

#: Alignment of buffers in bytes, as the Backend protocol requires; a multiple of the cache line.
ALIGNMENT = 256


class Loaded:
    """Loaded kernel. Its code stays mapped while any kernel of the same mapping is loaded."""

    def __init__(self, launches: list[CpuLaunch], code: MappedCode | None) -> None:
        self.launches, self.code = launches, code


#: More threads than any CPU has cores; operating systems refuse some 30 000.
MAX_THREADS = 1024


class CpuBackend(Backend):
    """CPU of this machine. `num_threads` limits the threads of one launch; None means all cores.

    Launches are finished when `launch` returns; there are no streams. Buffers are addresses, in
    memory of `alloc` or of the caller.
    """

    name: ClassVar[str] = "cpu"
    formats: ClassVar[tuple[str, ...]] = ("elf-x86_64", "elf-aarch64")
    memory: ClassVar[int | None] = dlpack.HOST

    def __init__(self, index: int = 0, num_threads: int | None = None) -> None:
        if index != 0:
            raise DeviceError(f"cpu:{index} does not exist; there is one CPU device, cpu:0")
        if num_threads is not None and (
            type(num_threads) is not int or not 1 <= num_threads <= MAX_THREADS
        ):
            raise ArgumentError(
                f"num_threads={num_threads!r} is out of range; give 1 to {MAX_THREADS}"
            )
        self.info = device_info()
        self.num_threads = num_threads or min(core_count(), MAX_THREADS)
        self._owned: dict[int, HostBytes] = {}

    @classmethod
    def devices(cls) -> tuple[DeviceInfo, ...]:
        return (device_info(),)

    def close(self) -> None:
        """Do nothing: the threads belong to the process."""

    @staticmethod
    def limits(capabilities: Mapping[str, Any]) -> Limits:
        return CPU

    @staticmethod
    def refusal(artifact: ArtifactEntry, capabilities: Mapping[str, Any]) -> str | None:
        requires = artifact.requires
        if unknown := sorted(requires.keys() - {"arch", "features"}):
            return (
                f"{artifact.file} requires {unknown[0]}, which this runtime does not know; upgrade "
                "the runtime"
            )
        if (arch := requires.get("arch")) != (machine := capabilities["arch"]):
            return (
                f"{artifact.file} is for {arch}, not for {machine}; build it for a target of this "
                "machine"
            )
        missing = sorted(set(requires.get("features", ())) - set(capabilities["features"]))
        if missing:
            who = "the CPU lacks"
            if "amx_tile" in missing:
                who += " or the system denies to this process"
            return (
                f"{artifact.file} needs {', '.join(missing)}, which {who}; "
                "build for native or for a lower level, such as x86-64"
            )
        return None

    def alloc(self, nbytes: int) -> int:
        return self._own(host_bytes(nbytes + ALIGNMENT))

    def alloc_zeroed(self, nbytes: int) -> int:
        return self._own(zero_bytes(nbytes + ALIGNMENT))

    def clear(self, buffer: int, nbytes: int) -> None:
        bytes_at(buffer, nbytes)[:] = 0

    def _own(self, memory: HostBytes) -> int:
        address = memory.ctypes.data + -memory.ctypes.data % ALIGNMENT
        self._owned[address] = memory
        return address

    def free(self, buffer: int) -> None:
        del self._owned[buffer]

    def view(self, buffer: int, offset: int, nbytes: int) -> int:
        return buffer + offset

    def borrow(self, host: HostBytes) -> int:
        return host.ctypes.data

    def copy_to_device(self, buffer: int, host: HostBytes) -> None:
        bytes_at(buffer, host.size)[:] = host

    def copy_from_device(self, host: HostBytes, buffer: int) -> None:
        host[:] = bytes_at(buffer, host.size)

    def load(self, entry: KernelEntry, code: Mapping[str, Code]) -> Loaded:
        """Load a kernel. Raises DeviceError if its code cannot be mapped or the system denies
        AMX."""
        (loaded,) = self.load_all([(entry, code)])
        return loaded

    def load_all(self, kernels: Sequence[tuple[KernelEntry, Mapping[str, Code]]]) -> list[Loaded]:
        """Load kernels and map their code in one mapping. Raises the errors of `load`."""
        codes = [c for _, code in kernels for c in code.values()]
        if any("amx_tile" in c.artifact.requires.get("features", ()) for c in codes):
            libkgen.check(libkgen.library().kgen_cpu_request_tiles())
        # Kernels that name the same file share its bytes.
        objects = {id(c.data): c.data for c in codes}
        numbers = {key: number for number, key in enumerate(objects)}
        launches = [(launch, code) for e, code in kernels for launch in e.launches]
        entries = [entry for entry, _ in kernels]
        mapped = MappedCode(
            [*objects.values()],
            [(o.entry_point, numbers[id(code[o.module].data)]) for o, code in launches],
            "+".join([entries[0].name, *(e.key for e in entries[1:])]),
        )
        addresses = iter(mapped.addresses)
        return [
            Loaded([CpuLaunch(launch, next(addresses)) for launch in e.launches], mapped)
            for e in entries
        ]

    def unload(self, kernel: Loaded) -> None:
        kernel.launches.clear()
        kernel.code = None

    def launch(self, kernel: Loaded, buffers: Mapping[str, int], stream: int | None = None) -> None:
        self.launcher(kernel, [*buffers])([*buffers.values()], stream)

    def launcher(
        self, kernel: Loaded, names: Sequence[str]
    ) -> Callable[[list[int], int | None], None]:
        run = Launcher([*kernel.launches], self.num_threads, names).run

        def launch(addresses: list[int], stream: int | None) -> None:
            if stream is not None:
                self.refuse_stream(stream)
            run(addresses)

        return launch

    def prepare(
        self, kernel: Loaded, buffers: Mapping[str, int], stream: int | None = None
    ) -> Callable[[], None]:
        self.refuse_stream(stream)
        pointers = [buffers[name] for name in arguments_of(kernel.launches)]
        return prepared(Jobs(self.num_threads, kernel.launches, pointers, ALONE_TRIALS))

    def sessions(
        self, handle: ProgramHandle, kernels: ProgramKernels, weights: Mapping[str, Held]
    ) -> SessionMaker:
        from kgen_runtime.backends.cpu.cpu_session import CpuSession, settle

        settle(handle, kernels, weights)
        return partial(CpuSession, handle, self, kernels, weights, self.num_threads)

    def synchronize(self, stream: int | None = None) -> None:
        """Return immediately: launches are finished when `launch` returns."""


def device_info() -> DeviceInfo:
    here = this_cpu()
    return DeviceInfo(
        backend="cpu",
        index=0,
        name=here.name,
        kind="cpu",
        capabilities={
            "arch": here.arch,
            "features": tuple(sorted(here.features)),
            "cores": core_count(),
        },
    )
