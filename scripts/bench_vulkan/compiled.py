"""What the drivers' compilers for GPUs make of kgen's kernels and of IREE's, without a GPU."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kgen.bundle import pack
from kgen.check.static.vulkan.compiled import Compiled, compiled, compiled_module
from kgen.check.verify.run import opened
from kgen.pipeline import kernel
from kgen.spec.text import parse
from kgen.targets import find
from kgen_runtime.manifest import Launch
from scripts.bench_vulkan.problems import Problem

PROBLEMS: tuple[tuple[Problem, str], ...] = (
    (Problem("matmul", (1024, 1024, 1024)), "vulkan1.3"),
    (Problem("matmul", (1024, 1024, 1024), "f16"), "vulkan1.3+coopmat"),
    (Problem("matmul", (1, 4096, 4096)), "vulkan1.3"),
)
#: IREE's name of each driver's GPU: a Radeon RX 7900, a GeForce RTX 3090.
TARGETS = {"radv": "rdna3", "nvk": "ampere"}


def ours(problem: Problem, target: str) -> tuple[Compiled, ...]:
    with opened(pack([kernel(parse(problem.kernel), find(target))])) as reader:
        return compiled(reader, reader.manifest.kernels[0])


def irees(problem: Problem) -> Iterator[Compiled]:
    """Of the module that IREE compiles for each driver's GPU."""
    import iree.compiler

    for name, target in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder:
            dump = f"--iree-hal-dump-executable-binaries-to={folder}"
            options = [f"--iree-vulkan-target={target}", dump]
            iree.compiler.compile_str(
                problem.mlir, target_backends=["vulkan-spirv"], extra_args=options
            )
            code = max(Path(folder).glob("*.spv"), key=lambda path: path.stat().st_size)
            module = code.read_bytes()
        (entry_point,) = re.findall(rb"f_dispatch_\w+", module)[:1]
        launch = Launch(
            entry_point=entry_point.decode(), grid=(1, 1, 1), arguments=("a", "b", "out")
        )
        yield compiled_module(name, module, launch)


def table_row(problem: str, whose: str, each: Compiled) -> list[str]:
    """What one compiler makes of a kernel, under :data:`HEAD`."""
    if each.reason is not None:
        return [problem, whose, each.compiler, *["–"] * 6, each.reason]
    numbers = each.metrics
    cells = (
        f"{numbers[name]:.3g}" if name in numbers else "–"
        for name in (
            "registers",
            "occupancy",
            "spills",
            "matrix_share",
            "others_per_matrix",
            "scalar_loads",
        )
    )
    loads = ", ".join(f"{n} {op}" for op, n in each.loads.most_common(4))
    return [problem, whose, each.compiler, *cells, loads]


def rows() -> Iterator[list[str]]:
    for problem, target in PROBLEMS:
        for whose, found in (("kgen", ours(problem, target)), ("IREE", tuple(irees(problem)))):
            yield from (table_row(problem.name, whose, each) for each in found)


HEAD = (
    "problem",
    "kernel",
    "compiler",
    "registers",
    "waves or warps",
    "spills",
    "multiply-adds of vector instructions",
    "others for each of them",
    "loads of 32 bits or less",
    "loads of the hot loop",
)


def lines(moment: str) -> list[str]:
    """The section of the document."""
    table = list(rows())
    return [
        "",
        f"RADV for gfx1100 and NVK for sm_86. {moment}",
        "",
        f"| {' | '.join(HEAD)} |",
        f"|{' --- |' * len(HEAD)}",
        *(f"| {' | '.join(row)} |" for row in table),
        "",
    ]
