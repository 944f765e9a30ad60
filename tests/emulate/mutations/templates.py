"""Rendered kernels as programs to mutate. Matrices are of whole numbers, whose sums are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen import bundle, pipeline, targets
from kgen.check.execute.places import EmulatorExecutor
from kgen.check.tensors import Bytes
from kgen.check.verify import inputs
from kgen.check.verify import run as verify
from kgen.emulate import LaunchReport
from kgen.errors import VerificationError
from kgen.schedule import Schedule
from kgen.spec.text import parse
from kgen_runtime.manifest import Extent3, KernelEntry
from tests.emulate.mutations.mutation import Program


class Seeded(EmulatorExecutor):
    """The emulator under one scheduler seed; it keeps the report of the last launch."""

    def __init__(self, entry: KernelEntry, form: str, source: str, seed: int) -> None:
        super().__init__(entry, form, source)
        self._seed = seed
        self.report: LaunchReport | None = None

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        self.report = self.reports(buffers, workgroups, seed=self._seed, strict=True)[-1]


def rendered(spec: str, target: str, schedule: Schedule | None = None) -> Program:
    """The kernel of one target for a spec as `kgen perf` writes it."""
    kernel = pipeline.kernel(parse(spec), targets.find(target), schedule)
    (entry,) = bundle.pack([kernel]).manifest.kernels
    form = "ptx" if entry.target.family == "cuda" else "llvm-ir"
    exact = entry.op == "matmul"
    data = next(data for data in inputs.data_sets(entry, seed=0) if data.whole == exact)
    expected = tuple(verify.expectation(entry, data, None, 0))

    def execute(source: str, seed: int) -> tuple[LaunchReport, bool]:
        executor = Seeded(entry, form, source, seed)
        try:
            right = verify.run(executor, entry, data, None, seed, expected).passed
        except VerificationError:
            right = False
        assert executor.report is not None
        return executor.report, right

    return Program(
        name=entry.name,
        language="ptx" if form == "ptx" else "llvm",
        arch=entry.target.arch,
        source=kernel.source.text,
        execute=execute,
    )
