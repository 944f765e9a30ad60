"""Loading libkgen into Python, and the build that compiles it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import build_libkgen
from kgen_runtime import errors, libkgen
from kgen_runtime.bundle import BundleFile

HEADER = build_libkgen.SOURCES / "kgen.h"


@pytest.fixture(autouse=True)
def _opened_anew() -> Iterator[None]:
    libkgen.library.cache_clear()
    yield
    libkgen.library.cache_clear()


def test_the_abi_version_is_that_of_the_header() -> None:
    assert f"#define KGEN_ABI_VERSION {libkgen.ABI_VERSION}\n" in HEADER.read_text()
    assert libkgen.library().kgen_abi_version() == libkgen.ABI_VERSION


#: First digits of the digest of the declarations of kgen_backend.h and kgen_reader.h, by
#: KGEN_BACKEND_VERSION. A change of them is a new version with a line of its own.
DECLARATIONS = {1: "a7e47d3c769153b9", 2: "e7240922e80932b6"}


def test_a_change_of_the_backend_raises_its_version() -> None:
    texts = [
        (build_libkgen.SOURCES / f"kgen_{name}.h").read_text() for name in ("backend", "reader")
    ]
    assert f"#define KGEN_BACKEND_VERSION {libkgen.BACKEND_VERSION}\n" in texts[0]
    assert libkgen.library().kgen_backend_version() == libkgen.BACKEND_VERSION
    code = re.sub(r"/\*[\s\S]*?\*/|#define KGEN_BACKEND_VERSION.*", "", "".join(texts))
    digest = hashlib.sha256(" ".join(code.split()).encode()).hexdigest()[:16]
    assert DECLARATIONS.get(libkgen.BACKEND_VERSION) == digest, (
        "raise KGEN_BACKEND_VERSION and libkgen.BACKEND_VERSION, and add the digest"
    )
    assert len(set(DECLARATIONS.values())) == len(DECLARATIONS)


def test_every_signature_is_declared() -> None:
    """Each signature has as many arguments as in the headers."""
    texts = [path.read_text() for path in build_libkgen.SOURCES.glob("kgen*.h")]
    code = re.sub(r"/\*[\s\S]*?\*/|^#.*", "", "".join(texts), flags=re.MULTILINE)
    found = dict(re.findall(r"^KGEN_API [^;(]*?(\w+)\(([^;]*)\);", code, re.MULTILINE))
    for name, (_, *arguments) in libkgen.SIGNATURES.items():
        declared = [] if found[name] == "void" else found[name].split(",")
        assert len(declared) == len(arguments), name


@pytest.mark.parametrize("kind", ["ABI", "backend"])
def test_another_version_of_the_backend_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    version = getattr(libkgen, f"{kind.upper()}_VERSION")
    monkeypatch.setattr(libkgen, f"{kind.upper()}_VERSION", 99)
    with pytest.raises(
        errors.DeviceError,
        match=rf"^libkgen\.so has {kind} version {version}; this runtime needs 99; install .*\.py$",
    ):
        libkgen.library()


def test_a_library_without_a_backend_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Older:
        @staticmethod
        def kgen_abi_version() -> int:
            return libkgen.ABI_VERSION

    monkeypatch.setattr("ctypes.CDLL", lambda _: Older)
    message = f"has backend version 0; this runtime needs {libkgen.BACKEND_VERSION};"
    with pytest.raises(errors.DeviceError, match=message):
        libkgen.library()


def test_errors_are_in_the_order_of_the_header() -> None:
    text = HEADER.read_text()
    names = re.findall(r"^    KGEN_ERROR_(\w+)", text, re.MULTILINE)
    assert len(names) == len(libkgen._ERRORS)
    with pytest.raises(errors.OutOfMemory):
        libkgen.check(1 + names.index("OUT_OF_MEMORY"))
    with pytest.raises(errors.VersionError):
        libkgen.check(1 + names.index("VERSION"))


def test_a_missing_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libkgen, "FILE_NAME", "nothing.so")
    with pytest.raises(errors.DeviceError, match=r"nothing\.so.*build_libkgen\.py$"):
        libkgen.library()


def test_no_bundle_is_read_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libkgen, "FILE_NAME", "nothing.so")
    with pytest.raises(errors.DeviceError, match=r"nothing\.so.*build_libkgen\.py$"):
        BundleFile(b"PK")


def test_another_version_is_named_before_its_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libkgen, "ABI_VERSION", 99)
    monkeypatch.setitem(libkgen.SIGNATURES, "kgen_of_tomorrow", (None,))
    with pytest.raises(errors.DeviceError, match="has ABI version 1; this runtime needs 99"):
        libkgen.library()


def test_a_library_without_a_function_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(libkgen.SIGNATURES, "kgen_of_tomorrow", (None,))
    with pytest.raises(errors.DeviceError, match=r"kgen_of_tomorrow.*build_libkgen\.py$"):
        libkgen.library()


@pytest.fixture
def fake_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a `cc` that writes a file and records its run; the package's folder is a copy."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "cc"
    script.write_text(
        f'#!/bin/sh\necho run >> {tmp_path}/runs\nfor word; do last=$word; done\necho x > "$last"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(build_libkgen, "NATIVE", tmp_path / "native")
    return tmp_path


@pytest.mark.integration
def test_the_library_is_built_when_a_source_is_newer(
    fake_compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = fake_compiler / "c"
    shutil.copytree(build_libkgen.SOURCES, sources)
    monkeypatch.setattr(build_libkgen, "SOURCES", sources)

    def runs() -> int:
        build_libkgen.build()
        return (fake_compiler / "runs").read_text().count("run")

    assert runs() == 1
    made = build_libkgen.library_path()
    os.utime(made, (2e9, 2e9))
    assert runs() == 1
    os.utime(sources / "pool.c", (2e9 + 1, 2e9 + 1))
    assert runs() == 2


@pytest.mark.integration
def test_a_compiler_that_fails_leaves_the_library(fake_compiler: Path) -> None:
    made = build_libkgen.build()
    (fake_compiler / "bin" / "cc").write_text("#!/bin/sh\necho 'pool.c: error: no' >&2\nexit 1\n")
    with pytest.raises(SystemExit, match=r"cannot be compiled: .*pool\.c: error: no$"):
        build_libkgen.build(force=True)
    assert made.read_text() == "x\n"


def test_a_machine_without_a_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_libkgen, "COMPILERS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="there is no cc, gcc or clang"):
        build_libkgen.compiler()
