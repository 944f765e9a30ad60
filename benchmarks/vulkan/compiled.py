"""Kernels of kgen and of IREE, compiled for GPUs by Mesa's drivers, without a GPU."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Row
from benchmarks.vulkan.problems import Problem
from kgen.bundle import pack
from kgen.check.static.vulkan.compiled import DriverCompilation, compiled, compiled_module
from kgen.check.verify.run import opened
from kgen.pipeline import kernel
from kgen.spec.text import parse
from kgen.targets import find
from kgen_runtime.manifest import Launch

PROBLEMS: tuple[tuple[Problem, str], ...] = (
    (Problem("matmul", (1024, 1024, 1024)), "vulkan1.3"),
    (Problem("matmul", (1024, 1024, 1024), "f16"), "vulkan1.3+coopmat"),
    (Problem("matmul", (1, 4096, 4096)), "vulkan1.3"),
    (Problem("attention", (1, 32, 512, 64), "f16"), "vulkan1.3+coopmat"),
    (Problem("attention", (1, 32, 512, 128), "f16"), "vulkan1.3+coopmat"),
)
#: Metrics of a compiled kernel.
METRICS = (
    "registers",
    "occupancy",
    "spills",
    "matrix_share",
    "others_per_matrix",
    "scalar_loads",
)
#: IREE's name of each driver's GPU: a Radeon RX 7900, a GeForce RTX 3090.
TARGETS = {"radv": "rdna3", "nvk": "ampere"}


def ours(problem: Problem, target: str) -> tuple[DriverCompilation, ...]:
    with opened(pack([kernel(parse(problem.kernel), find(target))])) as reader:
        return compiled(reader, reader.manifest.kernels[0])


def irees(problem: Problem) -> Iterator[DriverCompilation]:
    """Compile the module that IREE makes for each driver's GPU."""
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


def row(problem: str, whose: str, each: DriverCompilation) -> Row:
    """Return the row of a kernel and a compiler: registers, occupancy, counts of the hot loop."""
    variant = {"kernel": whose, "compiler": each.compiler}
    if each.reason is not None:
        return Row(table="compiled", work=problem, variant=variant, values={"reason": each.reason})
    loads = ", ".join(f"{n} {op}" for op, n in each.loads.most_common(4))
    values = {name: each.metrics[name] for name in METRICS if name in each.metrics}
    return Row(
        table="compiled",
        work=problem,
        variant=variant,
        values=values | ({"loads_of_the_hot_loop": loads} if loads else {}),
    )


def rows(has_iree: bool) -> Iterator[Row]:
    """Yield rows of kgen's kernels and, if IREE is installed, of IREE's products."""
    for problem, target in PROBLEMS:
        yield from (row(problem.name, "kgen", each) for each in ours(problem, target))
        if has_iree and problem.op == "matmul":
            yield from (row(problem.name, "IREE", each) for each in irees(problem))
