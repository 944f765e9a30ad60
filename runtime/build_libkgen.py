"""Compile runtime/c into the Python package: python runtime/build_libkgen.py [--force].

The library is kgen_runtime/native/libkgen.so, libkgen.dylib or kgen.dll, for the system and the
architecture of this machine. It is compiled if it is missing or a source is newer. wheel_tags.py
compiles it into wheels, for other systems too.
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
#: Platform tags of the released wheels, and zig's target triples. Both name the oldest supported
#: version of the system.
TRIPLES = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "win_amd64": "x86_64-windows-gnu",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
}
#: C compilers of the machine, in order of preference. Without one, the package ziglang is used.
COMPILERS = ("cc", "gcc", "clang")
FLAGS = (
    *("-std=c99", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-asynchronous-unwind-tables"),
    *("-DKGEN_BUILDING", "-shared"),
)
#: Further flags by the library's file name. On Linux, -Bsymbolic keeps calls inside of the library
#: from another copy of libkgen in the process, such as an application's own.
SYSTEM_FLAGS = {
    "libkgen.so": ("-pthread", "-Wl,-soname,libkgen.so", "-Wl,-Bsymbolic"),
    "libkgen.dylib": ("-install_name", "@rpath/libkgen.dylib"),
    "kgen.dll": ("-DKGEN_DLL",),
}
#: Flags with which zig makes a small library for a wheel. On Linux, nothing unwinds C frames, so
#: tables for that are left out. Windows 10 has a printf that conforms to C99. Of zig's compiler
#: runtime, kgen.dll needs only the stack probe; the other libraries need nothing.
SMALL = {
    "libkgen.so": (
        "-s",
        "-rtlib=none",
        "-fno-jump-tables",
        "-fno-unwind-tables",
        "-fomit-frame-pointer",
        "-Wl,--hash-style=gnu",
    ),
    "libkgen.dylib": ("-s", "-rtlib=none", "-fno-jump-tables", "-Wl,-x"),
    "kgen.dll": (
        "-Os",
        "-s",
        "-D__USE_MINGW_ANSI_STDIO=0",
        "-rtlib=none",
        "../windows_stack_probe.c",
    ),
}


def file_name(platform: str) -> str:
    """Return the library's file name on a platform, given a wheel's tag or `sys.platform`."""
    if platform.startswith("win"):
        return "kgen.dll"
    return "libkgen.dylib" if platform.startswith(("macosx", "darwin")) else "libkgen.so"


def library_path() -> Path:
    """Return the path of this machine's library."""
    return NATIVE / file_name(sys.platform)


def build(*, force: bool = False) -> Path:
    """Compile the library if it is missing or older than a source, and return its path.

    Raises SystemExit, in one line, if there is no compiler or it fails."""
    made = library_path()
    sources = [*SOURCES.glob("*.c"), *SOURCES.glob("*.h"), Path(__file__)]
    if not force and made.exists():
        age = made.stat().st_mtime
        if all(path.stat().st_mtime <= age for path in sources):
            return made
    NATIVE.mkdir(exist_ok=True)
    # The file is replaced in one step: other processes may have the old one open.
    with tempfile.TemporaryDirectory(dir=NATIVE) as folder:
        compiled(Path(folder)).replace(made)
    return made


def compiled(folder: Path, platform: str = "") -> Path:
    """Compile the library into a folder, for a platform of `TRIPLES` or, without one, for this
    machine. Returns its path. The same version of zig writes the same bytes on every machine.

    Raises SystemExit, in one line, if there is no compiler or it fails."""
    made = folder.resolve() / file_name(platform or sys.platform)
    cc = [*zig(), "-target", TRIPLES[platform]] if platform else compiler()
    flags = (*FLAGS, *SYSTEM_FLAGS[made.name], *(SMALL[made.name] if platform else ()))
    # Relative names keep the path of this folder out of the library.
    names = sorted(path.name for path in SOURCES.glob("*.c"))
    command = [*cc, *flags, *names, "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SOURCES)
    if done.returncode != 0:
        first = re.search(r".*error.*", done.stderr)
        reason = first[0] if first else done.stderr.strip()
        raise SystemExit(f"libkgen cannot be compiled: {' '.join(command[:2])}: {reason}")
    return made


def compiler() -> list[str]:
    """Return the command of the C compiler; zig compiles for the baseline CPU."""
    found = c_compiler()
    return [*zig(), "-mcpu=baseline"] if found is None else [found]


def c_compiler() -> str | None:
    """Return the path of this machine's C compiler, or None."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def zig() -> list[str]:
    """Return the command of zig's C compiler."""
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise SystemExit(
        "libkgen cannot be compiled: there is no cc, gcc or clang; install one, or run "
        "pip install ziglang"
    )


if __name__ == "__main__":
    build(force="--force" in sys.argv[1:])
