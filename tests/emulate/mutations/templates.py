"""Rendered kernels as programs to mutate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from kgen import bundle, targets
from kgen.check.execute.runners import EmulatorExecutor
from kgen.check.tensors import Bytes
from kgen.check.verify import inputs, sampling
from kgen.check.verify import run as verify
from kgen.emulate import LaunchReport
from kgen.errors import VerificationError
from kgen.schedule import Schedule
from kgen.spec.text import parse
from kgen_runtime.manifest import Extent3, KernelEntry
from tests.emulate.mutations.mutation import CLEAN, SPECIAL_VALUE, WRONG_RESULT, Program
from tests.emulate.text_only import text_only

Data = Literal["one", "every"]


class Seeded(EmulatorExecutor):
    """Emulator under one scheduler seed; it keeps the report of the last launch."""

    def __init__(self, entry: KernelEntry, form: str, source: str, seed: int) -> None:
        super().__init__(entry, form, source)
        self._seed = seed
        self.report: LaunchReport | None = None

    def run(
        self, buffers: Mapping[str, Bytes], workgroups: Sequence[Sequence[Extent3]] | None
    ) -> None:
        self.report = self.reports(buffers, workgroups, seed=self._seed, strict=True)[-1]


@cache
def rendered(
    spec: str,
    target: str,
    schedule: Schedule | None = None,
    *,
    data: Data = "one",
    workgroups: int | None = None,
) -> Program:
    """The kernel of one target for a spec as `kgen perf` writes it.

    `data` is one data set of verify, of whole numbers for products, whose sums are exact; or every
    data set, one after the other until one fails. `workgroups` run instead of all.
    """
    kernel = text_only(parse(spec), targets.find(target), schedule)
    (entry,) = bundle.pack([kernel]).manifest.kernels
    form = "ptx" if entry.target.family == "cuda" else "llvm-ir"
    sample = None if workgroups is None else sampling.sample(entry, workgroups, seed=0)
    assert workgroups is None or sample is not None, "every workgroup would run"
    exact = entry.op in ("matmul", "conv2d")
    sets = inputs.data_sets(entry, seed=0)
    if data == "one":
        sets = iter([next(found for found in sets if found.whole == exact)])
    expected = [(found, tuple(verify.expectation(entry, found, sample, 0))) for found in sets]

    def execute(source: str, seed: int) -> tuple[LaunchReport, str]:
        executor = Seeded(entry, form, source, seed)
        for found, results in expected:
            try:
                right = verify.run(executor, entry, found, sample, seed, results).passed
            except VerificationError:
                right = False
            assert executor.report is not None
            if not right:
                special = found.name == SPECIAL_VALUE
                return executor.report, SPECIAL_VALUE if special else WRONG_RESULT
        assert executor.report is not None
        return executor.report, CLEAN

    return Program(
        name=entry.name,
        language="ptx" if form == "ptx" else "llvm",
        arch=entry.target.arch,
        source=kernel.source.text,
        execute=execute,
    )


@dataclass(frozen=True, kw_only=True)
class Verified:
    """Factory of a rendered kernel that runs on every data set of verify."""

    spec: str
    target: str
    schedule: Schedule | None = None

    @property
    def __name__(self) -> str:
        return f"{self.target}-{self.spec}"

    def __call__(self) -> Program:
        return rendered(self.spec, self.target, self.schedule, data="every")
