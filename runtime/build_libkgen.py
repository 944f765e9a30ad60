"""Compile runtime/c into the Python package: python runtime/build_libkgen.py [--force].

The library is kgen_runtime/native/libkgen.so, libkgen.dylib or kgen.dll, for the system and the
architecture of this machine. It is compiled if it is missing or a source is newer.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "c"
NATIVE = HERE / "kgen_runtime" / "native"
#: File name by `sys.platform`; every other system is a POSIX one with .so files.
FILE_NAMES = {"win32": "kgen.dll", "darwin": "libkgen.dylib"}
#: Compilers by preference; zig is the Python package ziglang's.
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c99", "-O2", "-fPIC", "-fvisibility=hidden", "-DKGEN_BUILDING", "-shared")
WINDOWS_FLAGS = ("-DKGEN_DLL",)


def library_path() -> Path:
    """Path of the library of this machine."""
    return NATIVE / FILE_NAMES.get(sys.platform, "libkgen.so")


def build(*, force: bool = False) -> Path:
    """Compile the library if it is missing or older than a source, and return its path.

    Raises SystemExit, in one line, if there is no compiler or it fails."""
    made = library_path()
    sources = [*sorted(SOURCES.glob("*.c")), *SOURCES.glob("*.h"), Path(__file__)]
    if not force and made.exists():
        age = made.stat().st_mtime
        if all(path.stat().st_mtime <= age for path in sources):
            return made
    NATIVE.mkdir(exist_ok=True)
    # Whole, or not at all: other processes may have the old file open.
    with tempfile.TemporaryDirectory(dir=NATIVE) as folder:
        making = Path(folder) / made.name
        command = [
            *compiler(),
            *FLAGS,
            *(WINDOWS_FLAGS if sys.platform == "win32" else ("-pthread",)),
            *(str(path) for path in sources if path.suffix == ".c"),
            "-o",
            str(making),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            first = re.search(r".*error.*", done.stderr)
            reason = first[0] if first else done.stderr.strip()
            raise SystemExit(f"libkgen cannot be compiled: {' '.join(command[:2])}: {reason}")
        making.replace(made)
    return made


def compiler() -> list[str]:
    """Command of the C compiler; zig is held to the baseline CPU."""
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    raise SystemExit(
        "libkgen cannot be compiled: there is no cc, gcc or clang; install one, or run "
        "pip install ziglang"
    )


if __name__ == "__main__":
    build(force="--force" in sys.argv[1:])
