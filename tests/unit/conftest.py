"""Hand-made kernel entries for tests without a family's code, and a CPU of the test's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgen.spec import Matmul, Spec
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import (
    ArtifactEntry,
    Extent3,
    KernelEntry,
    Launch,
    Resources,
    TargetEntry,
    Tile,
    Tolerance,
)
from tests import fake_cpu as fake

EntryFor = Callable[..., KernelEntry]


@pytest.fixture(scope="session")
def entry_for() -> EntryFor:
    """Return an entry of a spec, as `kgen.bundle` would write it, with one artifact."""

    def make(
        spec: Spec, *, grid: Extent3 = (1, 1, 1), tile: Tile | None = None, factor: float = 2.0
    ) -> KernelEntry:
        names = tuple(p.name for p in spec.parameters)
        f32 = DType.F64 if spec.dtype is DType.F64 else DType.F32
        accumulate = spec.accumulate if isinstance(spec, Matmul) else f32
        return KernelEntry(
            key=spec.key,
            op=spec.op,
            spec=spec.to_json(),
            target=TargetEntry(name="native", family="cpu", arch="x86-64"),
            schedule={},
            parameters=spec.parameters,
            launches=(Launch(entry_point=spec.key, grid=grid, arguments=names, tile=tile),),
            artifacts=(
                ArtifactEntry(
                    file="k.o", format="elf-x86_64", role="machine-code", sha256="", nbytes=0
                ),
            ),
            resources=Resources(),
            tolerance=Tolerance(
                accumulate=accumulate, factor=factor, function_error=1e-6, reason="by hand"
            ),
        )

    return make


@pytest.fixture
def fake_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[fake.FakeCpu]:
    folder = tmp_path / "fake-cpu"
    folder.mkdir()
    yield fake.FakeCpu(monkeypatch, folder)
    fake.forget()
