"""libkgen in each wheel of the runtime: built for the system of the tag, linked only to the
system's libraries, with the same bytes each time; executed if a loader or an emulator is
installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import build_libkgen
import kgen
from scripts import runtime_wheels
from tests import needs
from tests.binaries import elf, macho, pe
from tests.device.cpu.c_runtime.test_other_systems import LINKER_NAMES, SHARED_RUNTIME
from tests.wine import Wine

ROOT = Path(__file__).parents[2]
WHEEL_BYTES, LIBRARY_BYTES = 350_000, 120 << 10
PLATFORMS = tuple(build_libkgen.TRIPLES)
LINUX = tuple(name for name in PLATFORMS if "linux" in name)
MACOS = tuple(name for name in PLATFORMS if name.startswith("macosx"))
#: Libraries that every glibc system has.
GLIBC = re.compile(r"libc\.so\.6|libpthread\.so\.0|ld-linux-(x86-64|aarch64)\.so\.[12]")
#: Libraries that every Windows 10 has.
WINDOWS = re.compile(r"KERNEL32\.dll|api-ms-win-crt-\w+-l1-1-0\.dll")

pytestmark = pytest.mark.slow


def library(wheel: Path) -> tuple[str, bytes]:
    """Return file name and bytes of libkgen."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if re.search(r"/native/(lib)?kgen\.", n))
        return name.rpartition("/")[2], archive.read(name)


def declared() -> set[str]:
    """Return the functions that the headers of runtime/c export."""
    text = "".join(path.read_text() for path in build_libkgen.SOURCES.glob("*.h"))
    found = set(re.findall(r"^KGEN_API [^;(]*?(kgen_\w+)\(", text, re.MULTILINE))
    assert len(found) > 50
    return found


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_library_is_small_and_names_no_folder(
    platform: str, distributions: Mapping[str, Path]
) -> None:
    wheel = distributions[platform]
    name, data = library(wheel)
    assert name == build_libkgen.file_name(platform)
    # Apple silicon rounds each segment up to 16 KiB.
    nbytes = sum(macho.read(data).segments.values()) if platform in MACOS else len(data)
    assert wheel.stat().st_size < WHEEL_BYTES and nbytes < LIBRARY_BYTES
    for folder in (ROOT, Path.home(), Path(sys.prefix), wheel.parent, Path(tempfile.gettempdir())):
        assert str(folder).encode() + b"/" not in data


@pytest.mark.parametrize("platform", LINUX)
def test_linux(platform: str, distributions: Mapping[str, Path]) -> None:
    """No symbol is newer than the C library of the tag."""
    found = elf.read(library(distributions[platform])[1])
    kind, major, minor, arch = platform.split("_", 3)
    assert found.arch == arch and found.name == "libkgen.so" and not found.search
    assert set(found.exports) == declared() and not found.has_symbols
    assert found.binds_own_names
    both = elf.WRITE | elf.EXECUTE
    assert not any(flags & both == both for flags in found.protections)
    if kind == "musllinux":
        assert set(found.libraries) <= {"libc.so"} and not found.versions
        return
    assert all(GLIBC.fullmatch(name) for name in found.libraries)
    versions = [name.removeprefix("GLIBC_") for names in found.versions.values() for name in names]
    newest = max(tuple(map(int, version.split("."))) for version in versions)
    assert newest <= (int(major), int(minor))


@pytest.mark.parametrize("platform", MACOS)
def test_macos(platform: str, distributions: Mapping[str, Path]) -> None:
    found = macho.read(library(distributions[platform])[1])
    _, major, minor, arch = platform.split("_", 3)
    assert found.arch == arch and found.kind == "dylib"
    assert found.system == (int(major), int(minor))
    assert found.name == "@rpath/libkgen.dylib" and not found.search
    assert found.libraries == ["/usr/lib/libSystem.B.dylib"]
    exported = {name.removeprefix("_") for name in found.exports} - {*LINKER_NAMES}
    assert exported == declared()
    assert found.is_signed or arch != "arm64"
    both = macho.WRITE | macho.EXECUTE
    assert not any(protection & both == both for protection in found.protections.values())


def test_windows(distributions: Mapping[str, Path]) -> None:
    found = pe.read(library(distributions["win_amd64"])[1])
    assert found.arch == "x86_64" and found.name == "kgen.dll" and found.system <= (10, 0)
    assert set(found.exports) == declared()
    assert all(WINDOWS.fullmatch(name) for name in found.libraries)
    assert found.characteristics & pe.HARDENED == pe.HARDENED
    both = pe.WRITE | pe.EXECUTE
    assert not any(flags & both == both for flags in found.protections.values())


def test_the_sdist_makes_the_same_wheels(distributions: Mapping[str, Path], tmp_path: Path) -> None:
    """Wheels built in another folder have the same bytes; one wheel for each format of
    libraries."""
    with tarfile.open(distributions["sdist"]) as archive:
        archive.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    for platform in (LINUX[0], MACOS[0], "win_amd64"):
        again = runtime_wheels.build(tmp_path, "wheel", platform, source)
        assert again.name == distributions[platform].name
        assert again.read_bytes() == distributions[platform].read_bytes(), platform


@pytest.mark.parametrize("platform", [*LINUX[:3], "win_amd64"])
def test_a_c_program_runs_with_it(
    platform: str,
    distributions: Mapping[str, Path],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The documents' example is linked with the library of a wheel."""
    if platform == "win_amd64":
        wine: Wine = request.getfixturevalue("wine")
    else:
        words = loader(platform)
    name, data = library(distributions[platform])
    (tmp_path / name).write_bytes(data)
    example = ROOT / "examples" / "encoder"
    target = "aarch64-neon" if platform.endswith("aarch64") else "x86-64"
    kgen.compile_model(example.with_suffix(".onnx"), [target]).bundle.save(
        tmp_path / "encoder.kgen"
    )
    triple = build_libkgen.TRIPLES[platform]
    command = [*build_libkgen.zig(), *SHARED_RUNTIME, "-target", triple]
    command += ["-DKGEN_DLL"] if name.endswith(".dll") else ["-Wl,-rpath,$ORIGIN", "-dynamic"]
    command += [f"-I{build_libkgen.SOURCES}", str(example.with_suffix(".c")), name]
    subprocess.run([*command, "-o", "encoder.exe"], check=True, cwd=tmp_path, capture_output=True)
    if platform == "win_amd64":
        done = wine.run(["encoder.exe"], tmp_path)
    else:
        command = [*words, "./encoder.exe"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.stdout == "-0.382 0.312 -0.569\n", done.stderr


def loader(platform: str) -> list[str]:
    """Return the words before a program of a platform. Skip the test if it cannot run."""
    if platform.endswith("aarch64"):
        libraries = Path("/usr/aarch64-linux-gnu")
        needs.program("qemu-aarch64", "qemu-user")
        missing = None if libraries.is_dir() else f"{libraries} is not there"
        needs.debian("libc6-arm64-cross", missing)
        return ["qemu-aarch64", "-L", str(libraries)]
    if os.uname().machine != "x86_64":
        pytest.skip("this CPU is not x86-64")
    if platform.startswith("musllinux"):
        found = Path("/lib/ld-musl-x86_64.so.1")
        needs.debian("musl", None if found.exists() else f"{found} is not there")
        return [str(found)]
    if shutil.which("ldd") is None:
        pytest.skip("this system is not a glibc one")
    return []
