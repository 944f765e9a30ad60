"""SPIR-V as Metal Shading Language, by spirv-cross."""

from __future__ import annotations

import shutil
import subprocess

from kgen import temporary
from kgen.errors import AssembleError

PROGRAM = "spirv-cross"
#: MSL 3.0 as an argument of spirv-cross.
VERSION = "30000"


def translate(module: bytes, kernel: str) -> bytes:
    """Return a module as MSL text.

    The arguments of a launch are the buffers 0, 1 and so on. The block of the launch is the size of
    the threadgroup, which MSL does not contain. Raises AssembleError if spirv-cross is missing or
    refuses the module.
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
