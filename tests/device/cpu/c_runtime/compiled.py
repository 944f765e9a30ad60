"""Compile the C runtime, and run a small program on top of it."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgen.spec import DType
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Program
from tests import needs

ROOT = Path(__file__).parents[4]
SOURCES = ROOT / "runtime" / "c"
HERE = Path(__file__).parent
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
PLAIN = (*WARNINGS, "-O2")
SANITIZED = (*WARNINGS, "-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover")
THREADS = (*WARNINGS, "-g", "-O1", "-fsanitize=thread")
#: Linker flags with which `fuzz.c` can make allocations of the runtime fail.
WRAPPED = ("-Wl,--wrap=malloc", "-Wl,--wrap=calloc")
#: With a wrong size in a bundle, allocations fail instead of aborting.
OPTIONS = {"ASAN_OPTIONS": "allocator_may_return_null=1", "TSAN_OPTIONS": "halt_on_error=1"}

Array = npt.NDArray[Any]


def compiler(name: str = "cc", package: str = "gcc") -> str:
    needs.program(name, package)
    return name


def compiled(
    folder: Path,
    name: str,
    flags: Sequence[str],
    source: Path | None = None,
    linking: Sequence[str] = (),
    own_flags: Sequence[str] | None = None,
) -> Path:
    """Compile a program with the whole runtime, once for all processes. The program itself is
    compiled with `own_flags` if given."""
    cc = compiler()
    made = folder / f"{name}-{'-'.join(f.strip('-').replace('=', '-') for f in flags[-3:])}"
    with (folder / "program.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            objects = runtime(folder, cc, flags)
            own = str(source or HERE / f"{name}.c")
            own_flags = flags if own_flags is None else own_flags
            run(
                [
                    cc,
                    *own_flags,
                    f"-I{SOURCES}",
                    own,
                    *objects,
                    *linking,
                    "-o",
                    str(made),
                    "-pthread",
                ]
            )
    return made


def runtime(folder: Path, cc: str, flags: Sequence[str]) -> list[str]:
    """Compile the runtime with these flags, once for all processes; return the objects."""
    place = folder / f"c-runtime{''.join(flags)}"
    with (folder / "c-runtime.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            making = place.with_suffix(".making")
            making.mkdir()
            sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
            run([cc, *flags, "-c", *sources], cwd=making)
            making.rename(place)
    return [str(path) for path in sorted(place.glob("*.o"))]


def run(command: Sequence[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr


class Driver:
    """Runs `driver.c`, whose first comment lists its commands."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def ask(
        self,
        bundle: Path | str,
        *words: object,
        threads: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), str(bundle), str(threads), *map(str, words)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **OPTIONS, **(environment or {})},
            timeout=120,
        )

    def done(self, bundle: Path | str, *words: object, **options: Any) -> str:
        """Run a command of the driver and return what it prints. Raises AssertionError if it
        fails."""
        done = self.ask(bundle, *words, **options)
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
        return done.stdout

    def refused(self, bundle: Path | str, *words: object, **options: Any) -> str:
        """Return the status and message of an error, one line."""
        done = self.ask(bundle, *words, **options)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr.strip()


def arrays(entry: KernelEntry, seed: int = 0) -> list[Array]:
    """Return values for the inputs of a kernel, packed according to their parameters."""
    rng = np.random.default_rng(seed)
    return [values(rng, p.dtype, p.shape) for p in entry.arguments]


def values(rng: np.random.Generator, dtype: DType, shape: Sequence[int]) -> Array:
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        return rng.integers(0 if dtype is DType.U8 else -9, 9, shape).astype(dtype.storage)
    found = rng.standard_normal(shape).astype("f")
    if dtype is DType.BF16:
        return (found.view(np.uint32) >> 16).astype(np.uint16)
    return found.astype(dtype.storage)


def spread(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return the bytes that a tensor with these strides spans; gaps are filled with a pattern."""
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    flat = np.frombuffer(b"\x5a" * (extent * array.itemsize), array.dtype).copy()
    steps = tuple(s * array.itemsize for s in strides)
    np.lib.stride_tricks.as_strided(flat, shape, steps)[...] = array.reshape(shape)
    return flat


def write(folder: Path, name: str, data: Array | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes())
    return path


def files_of(entry: KernelEntry, inputs: Sequence[Array], folder: Path) -> list[Path]:
    """Return a file per argument, in the manifest's order; files of inputs are written."""
    given = dict(zip((p.name for p in entry.arguments), inputs, strict=True))
    files = []
    for p in entry.parameters:
        if p.name in given:
            data = spread(given[p.name], p.shape, p.strides)
            files.append(write(folder, p.name, data))
        elif p.role == "output":
            files.append(folder / p.name)
    return files


def program_files(program: Program, inputs: Mapping[str, Array], folder: Path) -> list[Path]:
    files = [write(folder, f"input-{i}", inputs[v.name]) for i, v in enumerate(program.inputs)]
    return files + [folder / f"output-{i}" for i in range(len(program.outputs))]
