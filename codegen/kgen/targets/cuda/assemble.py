"""PTX to machine code with the ptxas of the wheel nvidia-cuda-nvcc-cu12; no driver, no SDK."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from kgen import temporary
from kgen.errors import AssembleError
from kgen.targets import elf
from kgen.targets.base import Artifact, Assembled, Plan, Source, Target
from kgen.targets.cuda.limits import PTX_CUDA, cubin_cuda
from kgen.targets.cuda.plan import CudaPlan
from kgen_runtime.manifest import Resources

WHEEL = "nvidia-cuda-nvcc-cu12"
#: Machine code of this assembler series loads on drivers from 525 on.
SERIES = "12.9"
PTXAS = "nvidia/cuda_nvcc/bin/ptxas"
#: Warnings of ptxas about code that it had to slow down: it serialised wgmma instructions (C7510
#: and neighbours), or added a fence that the source lacks (C7519).
_FINDING = re.compile(r"\(C75\d\d\).*")


@cache
def _wheel() -> tuple[str, Path]:
    """Return the version of the assembler's wheel and the folder that it is installed in.

    The name of the .dist-info folder has the version (PyPA, "Recording installed projects").
    Importing importlib.metadata would take longer than assembling a small kernel.
    """
    name = WHEEL.replace("-", "_")
    for folder in map(Path, sys.path):
        for found in folder.glob(f"{name}-*.dist-info"):
            return found.stem.removeprefix(f"{name}-"), folder
    raise AssembleError(f"ptxas is not installed; pip install {WHEEL}=={SERIES}.*")


def version() -> str:
    """Return the assembler's version. Raises AssembleError if its wheel is not installed."""
    return _wheel()[0]


def ptxas() -> Path:
    """Return the path of ptxas. Raises AssembleError if its wheel is missing or of another
    series."""
    if not version().startswith(f"{SERIES}."):
        raise AssembleError(
            f"ptxas of {WHEEL} {version()} is installed, and kgen requires {SERIES}; "
            f"pip install {WHEEL}=={SERIES}.*"
        )
    return _wheel()[1] / PTXAS


def assemble(source: Source, plan: Plan) -> Assembled:
    """Return the cubin, then the PTX itself. Raises AssembleError with ptxas's first error."""
    assert isinstance(plan, CudaPlan)
    with _folder() as folder:
        text, cubin = folder / "kernel.ptx", folder / "kernel.cubin"
        text.write_text(source.text)
        report = _run(
            [str(ptxas()), f"-arch={plan.target.arch}", "-v", "-o", str(cubin), str(text)],
            source.entry_point,
        )
        machine_code = cubin.read_bytes()
    dynamic = plan.launches[0].dynamic_shared_memory
    sections = elf.read(machine_code)
    entry_points = dict.fromkeys(launch.entry_point for launch in plan.launches)
    return Assembled(
        artifacts=(
            Artifact(
                format="cubin",
                extension="cubin",
                role="machine-code",
                data=machine_code,
                requires=_requires(plan.target, cubin_cuda(plan.target)),
            ),
            Artifact(
                format="ptx",
                extension="ptx",
                role="portable",
                data=source.text.encode(),
                requires=_requires(plan.target, PTX_CUDA[plan.ptx_version]),
            ),
        ),
        resources=replace(
            parse_report(report, dynamic),
            code_bytes=sum(sections.section(f".text.{name}").size for name in entry_points),
        ),
    )


def cubin_with_lines(text: str, arch: str) -> bytes:
    """Return the cubin of a PTX text with line information; the instructions are the same as
    without. Raises AssembleError."""
    with _folder() as folder:
        source, cubin = folder / "kernel.ptx", folder / "kernel.cubin"
        source.write_text(text)
        _run([str(ptxas()), f"-arch={arch}", "-lineinfo", "-o", str(cubin), str(source)], arch)
        return cubin.read_bytes()


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a temporary folder for the files of ptxas. Raises AssembleError if there is no room."""
    try:
        with temporary.folder() as folder:
            yield folder
    except OSError as error:
        raise AssembleError(
            f"a temporary file for ptxas cannot be written: {error.strerror}; free disk space, or "
            "set TMPDIR to another folder"
        ) from None


def _run(command: list[str], kernel: str) -> str:
    """Return the assembler's report about a kernel that it accepted."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AssembleError(
            f"ptxas cannot be run: {error.strerror}; pip install --force-reinstall {WHEEL}"
        ) from None
    report = done.stdout + done.stderr
    if done.returncode:
        lines = report.splitlines() or [f"exit status {done.returncode}"]
        first = next((line for line in lines if "error" in line or "fatal" in line), lines[0])
        # The file name is that of a temporary folder.
        message = re.sub(r"^ptxas \S*kernel\.ptx, ", "", first.strip())
        raise AssembleError(f"{kernel}: ptxas rejects the source: {message}")
    return report


def parse_report(report: str, dynamic_shared_memory: int = 0) -> Resources:
    """Return resources and findings from `ptxas -v`, with the shared memory that the launch adds.

    Each resource is the maximum over the kernels of the module.
    """

    def number(pattern: str) -> int:
        return max(map(int, re.findall(pattern, report)), default=0)

    return Resources(
        registers=number(r"Used (\d+) registers"),
        spills=number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
        stack=number(r"(\d+) bytes stack frame"),
        shared_memory=number(r"(\d+) bytes smem") + dynamic_shared_memory,
        findings=tuple(dict.fromkeys(_FINDING.findall(report))),
    )


def _requires(target: Target, cuda: tuple[int, int]) -> dict[str, object]:
    """Return the requirements: the compute capability, which `a` targets require exactly and others
    at least, and the lowest CUDA version."""
    return {
        "compute_capability": list(divmod(target.limits["compute_capability"], 10)),
        "exact": target.arch.endswith("a"),
        "cuda": list(cuda),
    }
