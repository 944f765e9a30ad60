"""Results that several tests of one run compute, in files: machine code of CPUs, and values of the
scalar reference.

`make test` runs tests/device/cpu again with AVX2 only, on kernels with equal IR and equal inputs;
schedules and targets of one spec share inputs. The name of a file is a digest of the whole input
and of all product sources, so that no result outlives a change. Tests of the code generator and of
the reference themselves compute everything; they are outside FOLDERS.
"""

from __future__ import annotations

import functools
import hashlib
import marshal
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

OPTION = "--kept"
TESTS = Path(__file__).parent
FOLDERS = tuple(f"{TESTS / name}/" for name in ("acceptance", "device", "emulate"))
SOURCES = tuple(TESTS.parent / name for name in ("codegen/kgen", "runtime/kgen_runtime"))

Compile = Callable[..., bytes]
Compute = Callable[..., list[float]]


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, help="folder of results that several tests compute")


class Kept:
    """The folder of results. Without one, everything is computed."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._is_installed = False

    def watch(self, item: pytest.Item) -> None:
        """Use the folder that the option names if the test is one that may."""
        named = item.config.getoption(OPTION)
        is_used = named is not None and str(item.path).startswith(FOLDERS)
        self.folder = item.config.rootpath / named if is_used else None
        if is_used and not self._is_installed:
            self._install()

    def _install(self) -> None:
        """Replace the product's functions in this process and those that it forks."""
        from kgen.check.verify import run as verification
        from kgen.targets.cpu import assemble

        self._is_installed = True
        assemble.compile_object = self.objects(assemble.compile_object)
        verification.scalar_values = self.values(verification.scalar_values)

    def objects(self, compile_object: Compile) -> Compile:
        """Return the function with its results in files."""

        def kept(text: str, arch: str, features: Sequence[str]) -> bytes:
            made = functools.partial(compile_object, text, arch, features)
            return self._result(made, repr((text, arch, tuple(features))).encode())

        return kept

    def values(self, scalar_values: Compute) -> Compute:
        """Return the function with its results in files."""

        def kept(
            spec: Mapping[str, Any],
            buffers: Mapping[str, Any],
            output: str,
            points: Sequence[tuple[int, ...]],
        ) -> list[float]:
            sizes = [(name, len(buffer)) for name, buffer in buffers.items()]
            found = self._result(
                lambda: marshal.dumps(scalar_values(spec, buffers, output, points)),
                repr((spec, output, points, sizes)).encode(),
                *buffers.values(),
            )
            values: list[float] = marshal.loads(found)
            return values

        return kept

    def _result(self, compute: Callable[[], bytes], *pieces: Any) -> bytes:
        """Return the result of an input: from its file, or computed and written."""
        if self.folder is None:
            return compute()
        digest = hashlib.sha256(_versions())
        for piece in pieces:
            digest.update(piece)
        path = self.folder / digest.hexdigest()
        try:
            return path.read_bytes()
        except FileNotFoundError:
            found = compute()
        # Other processes may read the file, so it appears whole.
        self.folder.mkdir(parents=True, exist_ok=True)
        making = path.with_suffix(f".{os.getpid()}")
        making.write_bytes(found)
        making.rename(path)
        return found


@functools.cache
def _versions() -> bytes:
    """Return a digest of the product's sources and of the version of LLVM."""
    from kgen.targets.llvm_ir import toolchain

    digest = hashlib.sha256(toolchain().version.encode())
    for path in sorted(path for root in SOURCES for path in root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


KEPT = Kept()
