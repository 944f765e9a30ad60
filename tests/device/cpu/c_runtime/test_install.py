"""Installing libkgen, and finding it with pkg-config and CMake."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import build_libkgen
import kgen
import kgen_runtime
from tests import needs
from tests.device.cpu.c_runtime.compiled import ROOT, SOURCES, compiler, run
from tests.specs import relu_of

CONSUMER = Path(__file__).parent / "consumer.cpp"
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C CXX)
{find}
add_executable(consumer "{source}")
target_link_libraries(consumer PRIVATE kgen::kgen)
"""

#: words[1] is the library, words[2] a file that is not a bundle.
OTHER_COPY = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "kgen.h"
void kgen_close(kgen_bundle *bundle) { (void)bundle; abort(); }
int main(int count, char **words)
{
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    kgen_bundle *bundle = NULL;
    kgen_status (*open)(const char *, const kgen_options *, kgen_bundle **);
    const char *(*error)(void);
    if (count != 3 || library == NULL)
        return 2;
    *(void **)&open = dlsym(library, "kgen_open");
    *(void **)&error = dlsym(library, "kgen_last_error");
    int status = open(words[2], NULL, &bundle);
    printf("%d %s\\n", status, error());
    return 0;
}
"""


@pytest.fixture(scope="module")
def relu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = kgen.build(relu_of((7, 1001), dtype="f32"), ["x86-64-v3"])
    return made.save(tmp_path_factory.mktemp("relu") / "relu.kgen")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a copy of the sources by make; return the prefix."""
    compiler()
    needs.program("make", "gcc")
    folder = tmp_path_factory.mktemp("install")
    shutil.copytree(SOURCES, folder / "runtime" / "c")
    shutil.copy(ROOT / "Makefile", folder)
    run(["make", "-s", "install", f"PREFIX={folder / 'prefix'}", "CFLAGS=-O2"], cwd=folder)
    return folder / "prefix"


def check(program: Path, relu: Path) -> None:
    done = subprocess.run([str(program), str(relu)], capture_output=True, text=True)
    assert done.stdout.startswith("0 2.5 0 "), done.stderr


def test_pkg_config(prefix: Path, relu: Path, tmp_path: Path) -> None:
    """The prefix may be moved after the installation."""
    needs.program("pkg-config", "pkg-config")
    moved = shutil.copytree(prefix, tmp_path / "moved here", symlinks=True)
    asked = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "kgen"],
        env={**os.environ, "PKG_CONFIG_PATH": str(moved / "lib" / "pkgconfig")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(prefix) not in asked.stdout
    rpath = f"-Wl,-rpath,{moved / 'lib'}"
    cxx = compiler("g++", "g++")
    run([cxx, str(CONSUMER), *shlex.split(asked.stdout), rpath, "-o", str(tmp_path / "consumer")])
    check(tmp_path / "consumer", relu)


#: Headers whose functions the shared library exports.
HEADERS = ("kgen.h", "kgen_reader.h", "kgen_backend.h")
#: A stripped shared library has at most so many bytes.
LARGEST = 120_000


def test_the_shared_library(prefix: Path, tmp_path: Path) -> None:
    """The library is small, has the ABI in its name, and exports what its headers declare."""
    needs.program("strip", "binutils")
    needs.program("nm", "binutils")
    library = prefix / "lib" / "libkgen.so.1"
    run(["strip", "-o", str(tmp_path / "stripped"), str(library)])
    assert (tmp_path / "stripped").stat().st_size < LARGEST
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    exported = {line.split()[2] for line in listed.stdout.splitlines()}
    header = "".join((SOURCES / name).read_text() for name in HEADERS)
    declared = {line.split("(")[0].split()[-1].lstrip("*") for line in header.splitlines()
                if line.startswith("KGEN_API ")}  # fmt: skip
    assert exported == declared and len(declared) > 50
    assert (prefix / "lib" / "libkgen.so").resolve() == library.resolve()


def test_another_copy_in_the_process(prefix: Path, tmp_path: Path) -> None:
    """The library calls its own functions, although the program exports one of the same name: an
    application may embed a Python whose package has another version of libkgen."""
    library = tmp_path / "libkgen.so"
    source = tmp_path / "other.c"
    source.write_text(OTHER_COPY)
    run([compiler(), "-rdynamic", f"-I{SOURCES}", str(source), "-ldl", "-o", str(tmp_path / "a")])
    for made in (prefix / "lib" / "libkgen.so", build_libkgen.library_path()):
        shutil.copy(made, library)
        done = subprocess.run([tmp_path / "a", library, source], capture_output=True, text=True)
        assert "other.c: not a kgen bundle" in done.stdout, done.stderr


@pytest.mark.parametrize("way", ["find_package", "add_subdirectory", "shared"])
def test_cmake(way: str, prefix: Path, relu: Path, tmp_path: Path) -> None:
    needs.program("cmake", "cmake")
    compiler("g++", "g++")
    version = kgen_runtime.__version__.rpartition(".")[0]
    find = f"find_package(kgen {version} REQUIRED)"
    if way != "find_package":
        find = f'add_subdirectory("{SOURCES}" kgen)'
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(find=find, source=CONSUMER))
    # Without a build type libkgen is optimised, as on docs/cpp-with-cmake.md, which takes longer.
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DBUILD_SHARED_LIBS={way == 'shared'}"]
    options += ["-DCMAKE_BUILD_TYPE=Debug"]
    run(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), *options])
    run(["cmake", "--build", str(tmp_path / "build")])
    check(tmp_path / "build" / "consumer", relu)
    assert [*(tmp_path / "build").rglob("libkgen.so*")] or way != "shared"


def test_cmake_refuses_another_version(prefix: Path, tmp_path: Path) -> None:
    needs.program("cmake", "cmake")
    compiler("g++", "g++")
    text = PROJECT.format(find="find_package(kgen 99.0 REQUIRED)", source=CONSUMER)
    (tmp_path / "CMakeLists.txt").write_text(text)
    where = f"-DCMAKE_PREFIX_PATH={prefix}"
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), where]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "99.0" in done.stderr
