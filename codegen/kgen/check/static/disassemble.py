"""Disassembly of a kernel's machine code, by the disassembler of its instruction set."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

from kgen import temporary
from kgen.emulate.wording import shorten
from kgen.errors import AssembleError, BundleError
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.values import frozen


@frozen
class Disassembler:
    """Programs that print machine code; the first that is installed is used.

    `package` is the command that installs one.
    """

    programs: tuple[str, ...]
    arguments: tuple[str, ...]
    package: str


LLVM_OBJDUMP = (*(f"llvm-objdump-{version}" for version in range(22, 18, -1)), "llvm-objdump")

DISASSEMBLERS = {
    "cubin": Disassembler(
        programs=("nvdisasm",), arguments=("-c",), package="pip install nvidia-cuda-nvdisasm"
    ),
    "elf-x86_64": Disassembler(
        programs=("objdump",),
        arguments=("--disassemble", "--no-show-raw-insn", "-M", "intel"),
        package="apt install binutils",
    ),
    "elf-aarch64": Disassembler(
        programs=("aarch64-linux-gnu-objdump", *LLVM_OBJDUMP),
        arguments=("--disassemble", "--no-show-raw-insn"),
        package="apt install binutils-aarch64-linux-gnu",
    ),
    "hsaco": Disassembler(
        programs=LLVM_OBJDUMP,
        arguments=("--disassemble", "--no-show-raw-insn"),
        package="apt install llvm-19 (gfx950 needs LLVM 20 or newer)",
    ),
    "spirv": Disassembler(
        programs=("spirv-dis",), arguments=("--no-color",), package="apt install spirv-tools"
    ),
}


def disassemble(bundle: BundleFile, entry: KernelEntry) -> str:
    """Return the disassembly of a kernel's machine code (SPIR-V for Vulkan).

    Raises AssembleError if the disassembler is missing or fails, naming what to install.
    """
    for artifact in entry.artifacts:
        if (tool := DISASSEMBLERS.get(artifact.format)) is not None:
            return run_tool(artifact.format, tool.arguments, bundle.read(artifact), artifact.file)
    raise BundleError(f"{entry.name} has no machine code to disassemble; build the bundle again")


def run_tool(form: str, arguments: tuple[str, ...], code: bytes, name: str) -> str:
    """Return what the disassembler of a format prints for code of this name.

    Raises AssembleError if the program is missing or fails, naming what to install.
    """
    tool = DISASSEMBLERS[form]
    program = next(filter(None, map(_find, tool.programs)), None)
    if program is None:
        raise AssembleError(
            f"{tool.programs[0]}, which disassembles {shorten(name, 200)}, is not installed; "
            f"{tool.package}"
        )
    with temporary.folder() as folder:
        file = Path(name).name
        (folder / file).write_bytes(code)
        # Run in the file's folder: the output has the file's name, but not the temporary folder's.
        command = [program, *arguments, file]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        first = done.stderr.strip().partition("\n")[0]
        raise AssembleError(
            f"{Path(program).name} cannot read {shorten(name, 200)}: {shorten(first, 150)}; "
            f"{tool.package}"
        )
    return done.stdout


def _find(program: str) -> str | None:
    """Return the path of a program in a PyPI wheel (nvidia/*/bin) or on the PATH, or None."""
    site = Path(sysconfig.get_path("purelib"))
    for path in sorted(site.glob(f"nvidia/*/bin/{program}")):
        return str(path)
    return shutil.which(program)
