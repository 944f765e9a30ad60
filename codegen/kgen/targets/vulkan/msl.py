"""SPIR-V as Metal Shading Language, by spirv-cross."""

from __future__ import annotations

import shutil
import subprocess

from kgen import temporary
from kgen.errors import AssembleError

PROGRAM = "spirv-cross"
#: MSL 3.0, as the program takes versions.
VERSION = "30000"


def translate(module: bytes, kernel: str) -> bytes:
    """The text of a module. A launch's arguments are the buffers 0, 1 and so on, and its block is
    the threadgroup, of which MSL says nothing.

    Raises AssembleError if the program is missing or refuses the module.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise AssembleError(
            f"{PROGRAM}, which translates {kernel} for Metal, is not installed; "
            f"apt install {PROGRAM}"
        )
    with temporary.folder() as folder:
        path = folder / "kernel.spv"
        path.write_bytes(module)
        options = ("--msl", "--msl-version", VERSION, "--msl-decoration-binding")
        done = subprocess.run([program, *options, str(path)], capture_output=True)
    if done.returncode:
        first = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise AssembleError(f"{PROGRAM} rejects {kernel}: {first}; build it for vulkan1.1")
    return done.stdout
