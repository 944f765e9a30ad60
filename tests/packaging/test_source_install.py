"""Installation of the runtime from source: the machine's compiler or zig compiles libkgen."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import build_libkgen
from tests import needs
from tests.binaries import elf

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime"

pytestmark = pytest.mark.slow

#: A function of the build backend, called as pip does; `hide` is a module that is not there.
BACKEND = """
import sys
hide, function, *words = sys.argv[1:]
sys.modules[hide] = None
import hatchling.build
print(getattr(hatchling.build, function)(*words))
"""


@pytest.fixture
def source(distributions: Mapping[str, Path], tmp_path: Path) -> Path:
    """Return the unpacked sdist."""
    with tarfile.open(distributions["sdist"]) as archive:
        archive.extractall(tmp_path / "sdist")
    (found,) = (tmp_path / "sdist").iterdir()
    return found


def backend(
    source: Path, *words: str, hide: str = "none", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BACKEND, hide, *words],
        cwd=source,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_the_sdist_holds_every_file_of_the_runtime(source: Path) -> None:
    """The sdist has regular files, because a link's target would be missing."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."],
        cwd=RUNTIME,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {name for name in listed.stdout.splitlines() if (RUNTIME / name).exists()}
    found = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert found - {"PKG-INFO", ".gitignore"} == expected
    assert not [path for path in source.rglob("*") if path.is_symlink()]


def test_pip_installs_the_sdist(distributions: Mapping[str, Path], tmp_path: Path) -> None:
    """`cc` compiles libkgen, for this machine alone."""
    needs.program("cc", "gcc")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(tmp_path / "site")]
    subprocess.run([*command, str(distributions["sdist"])], check=True, capture_output=True)
    library = tmp_path / "site" / "kgen_runtime" / "native" / "libkgen.so"
    assert "kgen_open" in elf.read(library.read_bytes()).exports
    (wheel,) = (tmp_path / "site").glob("*.dist-info/WHEEL")
    assert f"Tag: py3-none-linux_{os.uname().machine}\n" in wheel.read_text()


def test_an_editable_installation_compiles_into_the_checkout(source: Path, tmp_path: Path) -> None:
    made = source / "kgen_runtime" / "native" / "libkgen.so"
    assert not made.exists()
    done = backend(source, "build_editable", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert made.exists() and len(list(tmp_path.glob("*-py3-none-any.whl"))) == 1


def test_without_a_compiler_zig_is_used(source: Path, tmp_path: Path) -> None:
    """The build backend requests zig from pip."""
    empty = {"PATH": str(tmp_path)}
    question = "get_requires_for_build_wheel"
    asked = backend(source, question, **empty).stdout
    assert "ziglang" in asked and "ziglang" not in backend(source, question).stdout
    assert "ziglang" in backend(source, question, KGEN_WHEEL="win_amd64").stdout
    done = backend(source, "build_wheel", str(tmp_path), **empty)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.whl"))) == 1


@pytest.mark.parametrize("function", ["build_wheel", "build_editable"])
def test_without_any_compiler_one_line_says_so(function: str, source: Path, tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path)}
    done = backend(source, function, str(tmp_path), hide="ziglang", **empty)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("libkgen cannot be compiled: there is no cc, gcc or clang")


def test_an_unknown_platform_is_one_line(source: Path, tmp_path: Path) -> None:
    done = backend(source, "build_wheel", str(tmp_path), KGEN_WHEEL="win32")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "KGEN_WHEEL=win32" in done.stderr
    assert all(platform in done.stderr for platform in build_libkgen.TRIPLES)
