"""The machine that a benchmark runs on, the day and the commit."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kgen.targets.cpu.host import native
from kgen_runtime.this_cpu import this_cpu

ROOT = Path(__file__).parents[1]
AMX, AVX512, AVX2, OTHER = "AMX", "AVX-512", "AVX2", "other"
#: CPU features that bound the speed of a kernel.
FEATURES = ("fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "asimd")
#: Folders whose uncommitted changes a result reports.
SOURCES = (
    "codegen",
    "runtime",
    "templates",
    "benchmarks",
    ":!benchmarks/results",
    "pyproject.toml",
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A CPU, with the GPU if the suite ran on one.

    `name` is the instruction set and the core, such as `AVX2, Zen 3`, or the GPU's name. A field is
    None if it is not known.
    """

    name: str
    cpu: str | None = None
    architecture: str | None = None
    cores: int | None = None
    features: tuple[str, ...] = ()
    memory_bytes: int | None = None
    gpu: str | None = None

    @property
    def slug(self) -> str:
        """Name as part of a file's name: `avx2-zen-3`."""
        kept = (c if c.isalnum() or c == "." else "-" for c in self.name.lower())
        return "-".join(filter(None, "".join(kept).split("-")))


def this_machine(gpu: str | None = None) -> Machine:
    """Describe this machine, with the GPU of that name."""
    known = this_cpu().features
    return Machine(
        name=gpu or cpu_kind(),
        cpu=this_cpu().name,
        architecture=platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        features=tuple(word for word in FEATURES if word in known),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        gpu=gpu,
    )


def cpu_kind() -> str:
    """Instruction set and core of the target `native`, such as `AVX-512, Zen 5`."""
    target = native()
    return f"{instructions_of(target.features)}, {target.device}"


def instructions_of(features: Collection[str]) -> str:
    """Widest vectors or tiles among CPU features."""
    if "amx_tile" in features:
        return AMX
    if "avx512f" in features:
        return AVX512
    return AVX2 if "avx2" in features else OTHER


def today() -> str:
    """Day in UTC, such as `2026-11-22`."""
    return str(datetime.datetime.now(datetime.UTC).date())


def commit() -> str | None:
    """Short hash of HEAD, with ` with changes` if sources differ; None outside of a checkout."""
    found = git("rev-parse", "--short=8", "HEAD")
    if found is None:
        return None
    return f"{found} with changes" if git("status", "--porcelain", "--", *SOURCES) else found


def git(*arguments: str) -> str | None:
    """Output of a git command in the checkout; None if it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.strip()
